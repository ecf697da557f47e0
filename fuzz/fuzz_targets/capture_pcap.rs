//! Any bytes as a pcap capture, in any pieces.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::capture::pcap(bytes));
