//! Integration tests of weir-sip.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod captures;
mod dialogs;
mod partial;
mod random;
mod script;
mod torture;
mod transactions;
