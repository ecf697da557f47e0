//! Any bytes as a pcapng capture, in any pieces.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::capture::pcapng(bytes));
