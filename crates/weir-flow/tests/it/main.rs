//! Tests of weir-flow from outside.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod atm;
mod capture;
mod clocks;
mod flows;
mod fragments;
mod hostile;
mod late_handshakes;
mod missing;
mod networks;
mod oracle;
mod padded;
mod reused_ports;
mod sctp;
mod services;
mod short_way;
mod streams;
mod untidy;
mod zeek;
