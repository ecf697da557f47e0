//! `weir h248`: Megaco messages shown, converted, checked and compared.
//!
//! The crate weir-h248 reads and compares messages; this module has the command line, files, folders and captures, and
//! writes the results.

mod args;
mod check;
mod compare;
mod context;
mod convert;
mod decode;
mod input;

use std::io;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use context::Context;

use crate::args::Global;
use crate::failure::Failure;
use crate::message::Messages;

/// `weir h248`.
#[derive(Args, Debug)]
#[command(
    about = "Show, convert, check and compare Megaco (H.248) messages",
    long_about = "Show, convert, check and compare Megaco (H.248) messages.\n\n\
        A message is found in files of its own, in folders of such files, and in captures. Its \
        encoding is found by content: pretty or compact text, BER, PER, or Erlang's external term \
        format in any variant. '-' is standard input.",
    after_help = EXAMPLES,
    arg_required_else_help = true
)]
pub(crate) struct H248 {
    /// The command.
    #[command(subcommand)]
    command: H248Command,
}

#[derive(Debug, Subcommand)]
enum H248Command {
    Decode(decode::Decode),
    Encode(convert::Encode),
    Convert(convert::Convert),
    Check(check::Check),
    Compare(compare::Compare),
}

/// Runs a command of `weir h248`.
pub(crate) fn run(h248: &H248, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    let context = Context {
        messages,
        progress: !global.quiet && io::IsTerminal::is_terminal(&io::stderr()),
        global,
    };
    match &h248.command {
        H248Command::Decode(decode) => decode::run(decode, context),
        H248Command::Encode(encode) => convert::run_encode(encode, context),
        H248Command::Convert(convert) => convert::run(convert, context),
        H248Command::Check(check) => check::run(check, context),
        H248Command::Compare(compare) => compare::run(compare, context),
    }
}

const EXAMPLES: &str = "\
Examples:
  weir h248 decode message.ber
      a message as text, whatever its encoding
  weir h248 decode trace.pcap --as json
      every message of a capture, a line each
  weir h248 convert trace.pcap --to ber -o messages
      every message of a capture as a file of BER
  weir h248 check gateway/*.txt
      what does not keep to the standard, and where
  weir h248 compare messages -o report.html
      what the messages cost in every encoding
  weir query \"SELECT h248.command, count(*), avg(h248.delay) FROM h248('trace.pcap') GROUP BY 1\"
      the commands of a capture as a table";
