//! Decodes one packet of any link type: every field, and the same values when fewer columns are requested.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::packet::decode(bytes));
