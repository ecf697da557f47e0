//! Diameter, MGCP, M3UA, SCCP and TCAP: what is read is within the message.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::messages::telephone(bytes));
