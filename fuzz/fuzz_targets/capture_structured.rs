//! Captures written by the rules, then read back, merged, cut and damaged.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::structured::run(bytes));
