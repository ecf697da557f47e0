//! Any bytes as Megaco text.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::h248::text(bytes));
