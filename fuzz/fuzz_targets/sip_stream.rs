//! SIP streams: the same in pieces of any size; calls keep their limits.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::sip::stream(bytes));
