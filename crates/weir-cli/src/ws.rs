//! `weir ws`: which permessage-deflate settings fit this traffic, and what do connections use today?

mod advise;
mod args;
mod capture;
mod codecs;
mod cpu;
mod extra;
mod input;
mod live;
mod print;
mod stats;
mod study;

use std::process::ExitCode;

pub(crate) use args::Ws;
use args::WsCommand;

use crate::args::Global;
use crate::failure::Failure;
use crate::message::Messages;

/// Runs one of the commands.
pub(crate) fn run(ws: &Ws, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    match &ws.command {
        WsCommand::Study(study) => study::run(study, global, messages),
        WsCommand::Advise(advise) => advise::run(advise, global, messages),
        WsCommand::Stats(stats) => stats::run(stats, global, messages),
    }
}
