//! Any bytes as records of one of several layouts.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::layout::records(bytes));
