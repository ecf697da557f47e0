//! Tests of weir-flow from outside.

mod capture;
mod flows;
mod fragments;
mod hostile;
mod oracle;
mod sctp;
mod streams;
