//! HAR, records, mitmproxy flows, lines, prefixes: the same in pieces of any size.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::websocket::input(bytes));
