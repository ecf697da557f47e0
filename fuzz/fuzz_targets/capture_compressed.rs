//! Streams of gzip, zstd, xz, bzip2 and lz4, and zip archives: hostile ones, and sound ones that were damaged.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::capture::compressed(bytes));
