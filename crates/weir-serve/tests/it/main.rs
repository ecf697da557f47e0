//! A server and the programs that ask it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod clients;
mod http;
mod psql;
mod refusals;
mod served;
