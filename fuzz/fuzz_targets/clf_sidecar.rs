//! A sound SIP log with a sidecar that lies.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::clf::sidecar(bytes));
