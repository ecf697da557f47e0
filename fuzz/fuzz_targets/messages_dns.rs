//! DNS messages: names end, and lookups keep their limits.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::messages::dns(bytes));
