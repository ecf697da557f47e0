//! Tests beside stock zlib, python's websockets and the captures beside the checkout.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod advice;
mod common;
mod gaps;
mod grid;
mod inflate;
mod input;
mod interop;
mod memory;
mod snippets;
mod studies;
