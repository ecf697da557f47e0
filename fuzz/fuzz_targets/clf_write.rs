//! Records with any bytes in their fields: no line is forged.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::clf::write(bytes));
