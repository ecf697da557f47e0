//! The dictionary against naive twins.

mod allocation;
mod behaviour;
mod flood;
mod hashers;
mod model;
mod panics;
