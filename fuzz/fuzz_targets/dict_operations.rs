//! Any bytes as operations on a dictionary, beside a naive map.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::dict::run(bytes));
