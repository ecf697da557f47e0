//! `weir clf`: SIP logs written, searched, converted, watched and checked.

mod args;
mod check;
mod convert;
mod job;
mod log;
mod packets;
mod search;
mod tail;
mod write;

use std::process::ExitCode;

pub(crate) use args::Clf;
use args::ClfCommand;

use crate::args::Global;
use crate::failure::Failure;
use crate::message::Messages;

/// Runs one of the commands.
pub(crate) fn run(clf: &Clf, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    match &clf.command {
        ClfCommand::Write(write) => write::run(write, global, messages),
        ClfCommand::Search(search) => search::run(search, global, messages),
        ClfCommand::Convert(convert) => convert::convert(convert, global, messages),
        ClfCommand::Anonymize(anonymize) => convert::anonymize(anonymize, global, messages),
        ClfCommand::Index(index) => check::index(index, global, messages),
        ClfCommand::Check(check) => check::check(check, global, messages),
        ClfCommand::Tail(tail) => tail::run(tail, messages),
    }
}
