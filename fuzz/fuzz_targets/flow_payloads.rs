//! Frames of any link type, and what they carry.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::flow::payloads(bytes));
