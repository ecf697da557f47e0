//! A server and the programs that ask it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod attacks;
mod behind;
mod catalog;
mod clients;
mod ending;
mod flight;
mod grafana;
mod hostile;
mod http;
mod loads;
mod messages;
mod psql;
mod refusals;
mod served;
mod settings;
mod silent;
mod startup;
mod tls;
mod values;
