//! The dictionary against naive twins.

mod allocation;
mod behaviour;
mod bytes;
mod expiry;
mod flood;
mod hashers;
mod model;
mod panics;
