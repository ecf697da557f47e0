//! Display filters: errors lie within the text, and what is accepted decides on packets.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::filter::parse(bytes));
