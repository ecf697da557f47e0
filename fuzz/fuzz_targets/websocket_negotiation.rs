//! Headers of permessage-deflate: written and read again, and answers that clients accept.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::websocket::negotiation(bytes));
