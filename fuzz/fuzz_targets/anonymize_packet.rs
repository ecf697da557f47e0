//! Packets that are given away: lengths, checksums and addresses are what they are to be.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::anonymize::packet(bytes));
