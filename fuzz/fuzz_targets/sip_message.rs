//! SIP messages: faults lie within them, and being strict agrees with them.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::sip::message(bytes));
