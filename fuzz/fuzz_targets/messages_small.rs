//! RADIUS, SNMP, MQTT and STUN: what is read is within the message.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| weir_fuzz::messages::small(bytes));
