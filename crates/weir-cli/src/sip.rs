//! `weir sip`: the commands for SIP calls besides SQL.

mod calls;
mod export;
mod ladder;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use crate::args::Global;
use crate::failure::Failure;
use crate::message::Messages;

pub(crate) use ladder::{drawn, show as show_ladder};

/// `weir sip`.
#[derive(Args, Debug)]
#[command(about = "Show and export SIP calls", arg_required_else_help = true)]
pub(crate) struct Sip {
    #[command(subcommand)]
    command: SipCommand,
}

#[derive(Debug, Subcommand)]
enum SipCommand {
    // The help of these commands is at their types.
    Calls(Box<calls::CallsArgs>),
    Ladder(ladder::LadderArgs),
    Export(export::ExportArgs),
}

/// Runs the command.
pub(crate) fn run(sip: &Sip, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    match &sip.command {
        SipCommand::Calls(args) => calls::run(args, global, messages),
        SipCommand::Ladder(args) => ladder::run(args, global, messages),
        SipCommand::Export(args) => export::run(args, global, messages),
    }
}
