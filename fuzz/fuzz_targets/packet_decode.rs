//! One packet of any link type: every field, and the same values however few are asked for.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::packet::decode(bytes));
