//! Integration tests of weir-h248.

mod corpus;
