//! Commands that this build of the program does not have.

use std::ffi::OsString;

use clap::Args;

use crate::failure::Failure;
use crate::refusal::Refusal;

/// The arguments of a command that this build does not have.
#[derive(Args, Debug)]
#[command(after_help = GET)]
pub(crate) struct Absent {
    /// Arguments of the command
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<OsString>,
}

/// The reason why a command is not run, and how to get it.
pub(crate) fn refusal(what: &str) -> Failure {
    Refusal::usage(format!("this build of weir has no {what}"), GET).into()
}

/// The hint that names a build with all commands.
const GET: &str = "'cargo install --path crates/weir-cli --features full' builds weir with it; the packages have it, too";
