//! Tests over whole packets: every protocol, every prefix, hostile bytes, checksums.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod checksums;
mod common;
mod hostile;
mod link_layers;
mod protocols;
mod samples;
