//! Any bytes as Megaco in BER.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::h248::ber(bytes));
