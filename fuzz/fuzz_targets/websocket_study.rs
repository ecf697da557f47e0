//! A setting by itself gives what it gives within the grid.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::websocket::study(bytes));
