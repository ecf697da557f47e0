//! Any program over any window, interpreted and compiled.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::program::run(bytes));
