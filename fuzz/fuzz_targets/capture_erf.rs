//! Any bytes as an ERF capture, told its format or found by content.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::capture::erf(bytes));
