//! `weir h248 decode`.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use weir_h248::{
    Arena, Error, Message, TextStyle, decode, decode_as, encode_compact, encode_pretty,
};

use super::args::{InputArgs, ReadArgs};
use super::context::{Context, exit, print};
use super::input::{self, InputMessage, Next};
use crate::failure::Failure;

#[derive(Args, Debug)]
#[command(
    about = "Show messages of any encoding as text, JSON or a tree",
    after_help = EXAMPLES
)]
pub(super) struct Decode {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    read: ReadArgs,
    /// View of the messages
    #[arg(
        long = "as",
        value_name = "VIEW",
        default_value = "text",
        help_heading = "Output"
    )]
    view: View,
}

/// The ways to show messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum View {
    /// Pretty text
    Text,
    /// Compact text
    Compact,
    /// JSON; one line per message when there are several
    Json,
    /// A tree of all values
    Tree,
}

/// Shows each message; several have their names in front, as comments of the protocol.
pub(super) fn run(args: &Decode, context: Context) -> Result<ExitCode, Failure> {
    let mut damaged = false;
    let mut waiting: Option<InputMessage> = None;
    let mut several = false;
    // One message stays without a heading: whether there is another is known only then.
    let mut each = |found: InputMessage| {
        let Some(previous) = waiting.replace(found) else {
            return Ok(Next::Go);
        };
        several = true;
        show(args, context, &previous, true, &mut damaged)
    };
    let summary = input::messages(&args.input, context, &mut each)?;
    if let Some(last) = waiting {
        show(args, context, &last, several, &mut damaged)?;
    }
    if summary.count == 0 {
        context.messages.note("no Megaco message was found");
    }
    Ok(exit(damaged || summary.damaged))
}

fn show(
    args: &Decode,
    context: Context,
    found: &InputMessage,
    several: bool,
    damaged: &mut bool,
) -> Result<Next, Failure> {
    let arena = Arena::new();
    let shown = read(args, found, &arena).and_then(|message| view(args.view, &message, several));
    let text = match shown {
        Ok(text) => text,
        Err(error) => {
            *damaged = true;
            report(context, found, &error);
            return Ok(Next::Go);
        }
    };
    let mut out = Vec::new();
    if several && args.view != View::Json {
        out.extend_from_slice(format!("; {}\n", found.name).as_bytes());
    }
    out.extend_from_slice(&text);
    if !out.ends_with(b"\n") {
        out.push(b'\n');
    }
    if several && args.view != View::Json {
        out.push(b'\n');
    }
    Ok(if print(&out)? { Next::Go } else { Next::Stop })
}

fn read<'a>(
    args: &Decode,
    found: &'a InputMessage,
    arena: &'a Arena,
) -> Result<Message<'a>, Error> {
    let options = args.read.options();
    match args.read.encoding() {
        Some(encoding) => decode_as(encoding, &found.octets, arena, &options),
        None => decode(&found.octets, arena, &options),
    }
}

fn view(view: View, message: &Message<'_>, several: bool) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    match view {
        View::Text => encode_pretty(message, TextStyle::default(), &mut out)?,
        View::Compact => encode_compact(message, TextStyle::default(), &mut out)?,
        View::Json => out = message.to_json(!several).into_bytes(),
        View::Tree => out = message.to_tree().into_bytes(),
    }
    Ok(out)
}

/// Reports what is wrong with a message, and where, with the sender and the transaction that its head names.
pub(super) fn report(context: Context, found: &InputMessage, error: &Error) {
    let mut text = format!("{}: {error}", found.name);
    let arena = Arena::new();
    if let Ok(mini) = weir_h248::decode_mini(&found.octets, &arena) {
        let sender = mini.mid.to_text(TextStyle::default());
        text.push_str(&format!("\nversion {} from {sender}", mini.version));
        if let Some(id) = mini.transaction_id {
            text.push_str(&format!(", transaction {id}"));
        }
    }
    context.messages.error(&text);
}

const EXAMPLES: &str = "\
Examples:
  weir h248 decode message.per
  weir h248 decode trace.pcap --as json | jq .mess.version
  echo 300ca10a... | weir h248 decode --hex --as tree

Exit status: 0 success; 1 a message is damaged (the others were shown); 2 usage or environment; 3
failure while running.";
