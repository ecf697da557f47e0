//! Statements run in processes of their own.
//!
//! What a statement of a few words can take is not known before it runs: a list of a million numbers beside each row of a
//! table, a plan as large as its text is short, a fault in a library. In the server's own process an allocation that fails, a stack that overflows or a
//! step that never looks up would end or hold up all connections. So the server plans and runs nothing itself. It hands each statement to a process
//! (`worker`) that it started from its own program (`link`), with what the session has been brought to by the statements before, and
//! gets columns and rows in Arrow's streaming format (`wire`) in pieces that are small enough for every protocol (`pieces`). Processes
//! that have ended their statement wait for the next (`pool`; `order` is the work that one is given). The pool looks at the memory that all of them have, as the system counts it; beyond the server's limit
//! the statement that holds most is ended, with its process (`victims`). A statement whose client has gone, or whose time is over, is ended the same way
//! where it does not end by itself at once.
//!
//! A server without a program for its workers, as tests of the protocols have it, runs statements in its own process.

mod link;
mod order;
mod pieces;
mod pool;
mod victims;
mod wire;
mod worker;

pub(crate) use link::Priority;
pub(crate) use order::{Order, Remote, StatementReports};
pub(crate) use pieces::bytes_of;
pub(crate) use pool::Pool;
pub use worker::work;
