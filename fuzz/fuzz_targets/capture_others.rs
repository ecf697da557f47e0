//! Any bytes as a snoop capture, and as one of NetMon.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::capture::others(bytes));
