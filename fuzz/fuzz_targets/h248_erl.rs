//! Any bytes as Megaco in Erlang terms.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::h248::erl(bytes));
