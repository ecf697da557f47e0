//! Segments of one direction of TCP in any order.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::flow::reassemble(bytes));
