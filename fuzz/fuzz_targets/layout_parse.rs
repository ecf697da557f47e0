//! Any text as a record layout, and bytes as its records.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::layout::parse(bytes));
