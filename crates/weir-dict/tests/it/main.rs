//! Integration tests.
mod model;
