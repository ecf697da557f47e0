//! Tests beside stock zlib, python's websockets and the captures beside the checkout.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;
mod grid;
mod inflate;
mod memory;
