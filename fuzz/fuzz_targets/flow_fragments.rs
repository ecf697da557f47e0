//! A datagram in fragments, in any order.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::flow::fragments(bytes));
