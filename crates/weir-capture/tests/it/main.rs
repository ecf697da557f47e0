//! Tests over whole captures: made in every variant, damaged, compressed, and beside tshark.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod ahead;
mod common;
mod compressed;
mod damage;
mod erf;
mod files;
mod listed;
mod pcap;
mod pcapng;
mod random;
mod split;
mod times;
mod tshark;
mod write;
