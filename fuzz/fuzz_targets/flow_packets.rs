//! Packets through defragmentation, flows, streams and SCTP, with tight limits.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::flow::packets(bytes));
