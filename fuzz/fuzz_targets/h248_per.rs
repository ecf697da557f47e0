//! Any bytes as Megaco in PER.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::h248::per(bytes));
