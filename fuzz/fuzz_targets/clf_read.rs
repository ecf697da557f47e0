//! Any bytes as a SIP log, in each form.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::clf::read(bytes));
