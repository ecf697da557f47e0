//! A server and the programs that ask it.

mod clients;
mod http;
mod psql;
mod refusals;
mod served;
