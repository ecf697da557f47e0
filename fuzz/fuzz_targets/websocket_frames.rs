//! Frames and handshakes: the same in pieces of any size, and bounded.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::websocket::frames(bytes));
