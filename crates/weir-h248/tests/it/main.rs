//! Integration tests of weir-h248.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod corpus;
mod damage;
mod erlang;
mod extension;
mod generate;
mod otp;
mod packages;
mod rfc3525;
mod roundtrip;
mod verdicts;
mod verdicts_binary;
