//! `weir h248`: Megaco messages shown, converted, checked and compared.
//!
//! The crate weir-h248 reads and compares messages; this module has the command line, files, folders and captures, and
//! writes the results.

mod check;
mod compare;
mod convert;
mod decode;
mod input;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use weir_h248::{
    BinaryOptions, DecodeOptions, EncodeOptions, Encoding, PackageSet, TextOptions, TextStyle,
};

use crate::args::Global;
use crate::message::Messages;
use crate::session::Failure;

/// `weir h248`.
#[derive(Args, Debug)]
#[command(
    about = "Show, convert, check and compare Megaco (H.248) messages",
    long_about = "Show, convert, check and compare Megaco (H.248) messages.\n\n\
        A message is found in files of its own, in folders of such files, and in captures (pcap, \
        pcapng, ERF). Its encoding is found by content: pretty or compact text, BER, PER, or Erlang's \
        external term format in any variant. '-' is standard input.",
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

/// The input options, shared by all commands.
#[derive(Args, Debug)]
#[command(next_help_heading = "Input")]
struct InputArgs {
    /// Files, folders, captures; '-' for standard input
    #[arg(value_name = "PATH", default_value = "-")]
    paths: Vec<PathBuf>,
    /// Files hold hexadecimal digits instead of octets
    #[arg(long)]
    hex: bool,
}

/// The options of decoding, shared by the commands that do not check messages.
#[derive(Args, Debug)]
#[command(next_help_heading = "Input")]
struct ReadArgs {
    /// Accept only text that follows the standard exactly
    #[arg(long)]
    strict: bool,
    /// Decode messages in this encoding, without detecting it
    #[arg(long, value_name = "ENCODING")]
    from: Option<From>,
    /// Show names and termination identifiers of binary encodings as numbers
    #[arg(long)]
    native: bool,
    /// File with packages: names, numbers and types beyond those of H.248.1 Annex E
    #[arg(long, value_name = "FILE", value_parser = packages_of)]
    packages: Option<&'static PackageSet>,
}

/// An encoding to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum From {
    /// Pretty or compact text
    Text,
    /// BER
    Ber,
    /// Aligned PER
    Per,
    /// Erlang's external term format, any variant
    Erl,
}

impl ReadArgs {
    fn options(&self) -> DecodeOptions {
        let mut options = DecodeOptions::default();
        if self.strict {
            options.text = TextOptions::strict();
        }
        options.binary = self.binary();
        options
    }

    fn binary(&self) -> BinaryOptions {
        let mut options = if self.native {
            BinaryOptions::native()
        } else {
            BinaryOptions::default()
        };
        options.packages = self.packages;
        options
    }

    fn encoding(&self) -> Option<Encoding> {
        Some(match self.from? {
            From::Text => Encoding::Compact,
            From::Ber => Encoding::Ber,
            From::Per => Encoding::Per,
            From::Erl => Encoding::Erl,
        })
    }
}

/// Reads a file of packages, which the program keeps until it ends.
fn packages_of(path: &str) -> Result<&'static PackageSet, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    match PackageSet::parse(&text) {
        Ok(set) => Ok(set.leak()),
        Err(error) => Err(error.to_string()),
    }
}

/// An encoding to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Target {
    /// Text with long keywords, one line per element
    Pretty,
    /// Text with short keywords, without white space
    Compact,
    /// BER of ASN.1
    Ber,
    /// Aligned PER of ASN.1
    Per,
    /// Erlang's external term format
    Erl,
    /// The same with records as short tuples (megaco_compressed)
    ErlMc,
    /// The same deflated (compressed)
    ErlZ,
    /// The same with both
    ErlMcZ,
}

impl Target {
    fn encoding(self) -> Encoding {
        match self {
            Self::Pretty => Encoding::Pretty,
            Self::Compact => Encoding::Compact,
            Self::Ber => Encoding::Ber,
            Self::Per => Encoding::Per,
            Self::Erl | Self::ErlMc | Self::ErlZ | Self::ErlMcZ => Encoding::Erl,
        }
    }

    fn is_text(self) -> bool {
        matches!(self, Self::Pretty | Self::Compact)
    }

    /// The extension of file names.
    fn extension(self) -> &'static str {
        match self {
            Self::Pretty | Self::Compact => "txt",
            Self::Ber => "ber",
            Self::Per => "per",
            _ => "erl",
        }
    }
}

/// The options of encoding.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
struct WriteArgs {
    /// Encoding to write
    #[arg(long, value_name = "ENCODING")]
    to: Target,
    /// Write text as Erlang's megaco does: lower case, quotes only where needed
    #[arg(long)]
    erlang: bool,
    /// Write atoms of Erlang terms as OTP 26 and later do
    #[arg(long)]
    utf8_atoms: bool,
    /// Write hexadecimal digits, one line per message
    #[arg(long)]
    to_hex: bool,
}

impl WriteArgs {
    fn options(&self, binary: BinaryOptions) -> EncodeOptions {
        let mut options = EncodeOptions::default();
        if self.erlang {
            options.text = TextStyle::erlang();
        }
        options.binary = binary;
        options.erl.megaco_compressed = matches!(self.to, Target::ErlMc | Target::ErlMcZ);
        options.erl.compressed = matches!(self.to, Target::ErlZ | Target::ErlMcZ);
        options.erl.utf8_atoms = self.utf8_atoms;
        options
    }
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

/// The state that all commands share.
#[derive(Clone, Copy)]
struct Context {
    messages: Messages,
    progress: bool,
    global: Global,
}

/// The exit code of success, or of damage, which was reported before.
fn exit(damaged: bool) -> ExitCode {
    ExitCode::from(u8::from(damaged))
}

/// Writes to standard output; false when its reader has gone.
fn print(octets: &[u8]) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(octets).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::running(format!("standard output: {error}"))),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_encodings_and_options() {
        for target in Target::value_variants() {
            let write = WriteArgs {
                to: *target,
                erlang: true,
                utf8_atoms: true,
                to_hex: false,
            };
            let options = write.options(BinaryOptions::native());
            assert_eq!(options.binary, BinaryOptions::native());
            assert_eq!(options.text, TextStyle::erlang());
            assert_eq!(
                options.erl.compressed,
                matches!(target, Target::ErlZ | Target::ErlMcZ)
            );
            assert_eq!(target.is_text(), target.extension() == "txt");
            let erl = target.encoding() == Encoding::Erl;
            assert_eq!(erl, target.extension() == "erl");
        }
    }
}
