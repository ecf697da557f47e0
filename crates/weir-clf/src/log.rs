//! Writes a log: whole records, from several threads, in segments, each with its sidecar.

mod file;
mod writer;

pub use file::{Fsync, Repair, WriterOptions};
pub use writer::{Appender, Summary, WriteError, Writer};
