//! RTP and RTCP: what is read is within the packet, and any stream has a loss and a quality.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::messages::rtp(bytes));
