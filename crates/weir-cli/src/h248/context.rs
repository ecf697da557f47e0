//! The state that the commands of `weir h248` share, their output and their exit status.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::args::Global;
use crate::failure::Failure;
use crate::message::Messages;

/// The state that all commands share.
#[derive(Clone, Copy)]
pub(super) struct Context {
    pub(super) messages: Messages,
    pub(super) progress: bool,
    pub(super) global: Global,
}

/// The exit code of success, or of damage, which was reported before.
pub(super) fn exit(damaged: bool) -> ExitCode {
    ExitCode::from(u8::from(damaged))
}

/// Writes to standard output; false when its reader has gone.
pub(super) fn print(octets: &[u8]) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(octets).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::running(format!("standard output: {error}"))),
    }
}
