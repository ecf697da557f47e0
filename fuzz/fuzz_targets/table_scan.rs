//! Any file, scanned for any columns with any predicate.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::table::run(bytes));
