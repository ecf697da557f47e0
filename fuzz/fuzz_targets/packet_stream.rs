//! Packets and ATM cells through one decoder with tight limits.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::packet::stream(bytes));
