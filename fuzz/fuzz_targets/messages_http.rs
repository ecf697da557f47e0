//! HTTP/1: both directions in pieces of any size.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::messages::http(bytes));
