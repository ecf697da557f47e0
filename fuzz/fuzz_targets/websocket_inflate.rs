//! Hostile compressed messages with any window, and honest ones that come back.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::websocket::inflate(bytes));
