//! TLS, DTLS and QUIC: handshakes in pieces of any size keep their limits.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::messages::tls(bytes));
