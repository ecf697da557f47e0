//! `weir sip ladder`: the messages of a call as a ladder.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use arrow::array::{Array, StringArray};
use clap::{Args, ValueEnum};
use weir_engine::{CallLadder, quote_literal, texts};
use weir_sip::Ladder;

use crate::args::Global;
use crate::failure::{Failure, printed};
use crate::message::Messages;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::target::Target;
use weir_output::picture;

/// `weir sip ladder`.
#[derive(Args, Debug)]
#[command(
    about = "Draw the messages of a call as a ladder",
    long_about = "Draw the messages of a call as a ladder.\n\n\
        A column for each address and port, an arrow for each SIP message over UDP, TCP, SCTP or WebSocket \
        that has the Call-ID, with the seconds since the first. Messages that repeat another are drawn dotted. The streams \
        of sound and video that their SDP announced are bars, where they begin, with loss and MOS.",
    after_help = LADDER_EXAMPLES
)]
pub(super) struct LadderArgs {
    /// Captures; several are merged in the order of time
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// The Call-ID as in the messages; optional when there is only one call
    #[arg(long, value_name = "ID")]
    call_id: Option<String>,
    /// Format of the ladder [default: by the name of the output file, or text]
    #[arg(long, value_name = "FORMAT")]
    format: Option<LadderFormat>,
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LadderFormat {
    /// Characters, one line per message
    Text,
    /// A vector image
    Svg,
    /// A raster image, for programs without SVG
    Png,
    /// A page with the image
    Html,
}

impl LadderFormat {
    fn of_path(path: &Path) -> Result<Self, Refusal> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => Ok(Self::Svg),
            Some("html" | "htm") => Ok(Self::Html),
            Some("png") => Ok(Self::Png),
            Some("jpg" | "jpeg" | "gif" | "webp" | "pdf") => Err(Refusal::usage(
                format!(
                    "expected a ladder as text, SVG, PNG or HTML, found the name {}",
                    path.display()
                ),
                "name it x.png or x.svg, which browsers and editors show and turn into other images",
            )),
            _ => Ok(Self::Text),
        }
    }
}

/// Draws the ladder of a call of a capture on standard output.
pub(crate) fn show(
    file: &str,
    call_id: Option<&str>,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    let args = LadderArgs {
        files: vec![file.to_owned()],
        call_id: call_id.map(str::to_owned),
        format: None,
        output: None,
    };
    run(&args, global, messages)
}

/// Runs the command.
pub(super) fn run(
    args: &LadderArgs,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    let output = args
        .output
        .as_deref()
        .filter(|path| path.as_os_str() != "-");
    let format = match (args.format, output) {
        (Some(format), _) => format,
        (None, Some(path)) => LadderFormat::of_path(path)?,
        (None, None) => LadderFormat::Text,
    };
    let target = Target::optional(output, global)?;
    if format == LadderFormat::Png && target.is_none() && io::stdout().is_terminal() {
        return Err(Refusal::usage(
            "a PNG cannot be shown on a terminal",
            "-o ladder.png writes it",
        )
        .into());
    }
    let session = Session::new(&weir_engine::Options::default(), messages, !global.quiet)?;
    let call_id = match &args.call_id {
        Some(call_id) => call_id.clone(),
        None => only_call(&session, &args.files)?,
    };
    let Some(ladder) = drawn(&session, &args.files, &call_id)? else {
        // Damage may be the reason.
        session.close(false);
        return Err(no_call(&args.files, &call_id));
    };
    let drawn = match format {
        LadderFormat::Text
            if target.is_none() && global.color.applies(io::stdout().is_terminal()) =>
        {
            ladder.coloured_text().into_bytes()
        }
        LadderFormat::Text => ladder.text().into_bytes(),
        LadderFormat::Svg => ladder.svg().into_bytes(),
        LadderFormat::Html => ladder.html().into_bytes(),
        LadderFormat::Png => {
            let picture = picture::of_ladder(&ladder)?;
            if let Some(note) = &picture.note {
                messages.note(note);
            }
            picture.png
        }
    };
    match target {
        Some(target) => target.put(&drawn)?,
        None => {
            printed(io::stdout().write_all(&drawn))?;
        }
    }
    Ok(session.close(false))
}

/// The ladder of a call; `None` when no message has its Call-ID.
///
/// # Errors
/// When the captures cannot be read.
pub(crate) fn drawn(
    session: &Session,
    files: &[String],
    call_id: &str,
) -> Result<Option<Ladder>, Failure> {
    let failed = |error: arrow::error::ArrowError| Failure::running(error.to_string());
    let captures = format!("{}{}", paths(files), merged(files));
    let id = quote_literal(call_id);
    let mut call = CallLadder::default();
    for statement in session.parse(&CallLadder::messages_sql(&captures, &id))? {
        session.batches(statement, |batch| call.push_messages(batch).map_err(failed))?;
    }
    if call.messages().is_empty() {
        return Ok(None);
    }
    for statement in session.parse(&CallLadder::media_sql(&captures, &id))? {
        session.batches(statement, |batch| call.push_media(batch).map_err(failed))?;
    }
    Ok(call.drawn(&format!("Call-ID {call_id}")))
}

/// The Call-ID of the one call of captures.
fn only_call(session: &Session, files: &[String]) -> Result<String, Failure> {
    let merge = merged(files);
    let sql = format!(
        "SELECT sip.call_id AS id, call.from.user AS caller, call.to.user AS callee, call.state AS state \
         FROM calls({}{merge})",
        paths(files)
    );
    let mut calls = Vec::new();
    let mut count = 0_u64;
    for statement in session.parse(&sql)? {
        session.batches(statement, |batch| {
            let failed = |error: arrow::error::ArrowError| Failure::running(error.to_string());
            let columns = batch.columns().iter().map(texts);
            let columns: Vec<StringArray> = columns.collect::<Result<_, _>>().map_err(failed)?;
            for row in 0..batch.num_rows() {
                count += 1;
                if calls.len() < CALLS_SHOWN {
                    let values = columns.iter().map(|column| at(column, row).unwrap_or("-"));
                    calls.push(values.map(str::to_owned).collect::<Vec<_>>());
                }
            }
            Ok(())
        })?;
    }
    match calls.as_slice() {
        [] => {
            // Damage may be the reason.
            session.report(false);
            Err(Failure::running("no call found in the captures".to_owned()).with_hint(
                "a call begins with INVITE; SELECT DISTINCT sip.call_id FROM sip('trace.pcap') lists all Call-IDs",
            ))
        }
        [call] => Ok(call.first().cloned().unwrap_or_default()),
        calls => {
            let lines = calls.iter().map(|call| match call.as_slice() {
                [id, caller, callee, state] => format!("\n  {id}  {caller} -> {callee}  {state}"),
                other => other.join(" "),
            });
            let lines: String = lines.collect();
            let more = match count.saturating_sub(calls.len() as u64) {
                0 => String::new(),
                more => format!("\n  and {more} more"),
            };
            Err(Refusal::usage(
                format!("the captures have {count} calls: choose one with --call-id"),
                format!("the calls are{lines}{more}"),
            )
            .into())
        }
    }
}

/// Calls that are listed where one has to be chosen.
const CALLS_SHOWN: usize = 10;

/// Several captures are read in the order of time.
pub(super) fn merged(files: &[String]) -> &'static str {
    match files.len() {
        0 | 1 => "",
        _ => ", merge => true",
    }
}

/// There is no such call.
pub(super) fn no_call(files: &[String], call_id: &str) -> Failure {
    let message = format!("no SIP message with Call-ID '{call_id}'");
    Failure::running(message).with_hint(format!(
        "weir query \"SELECT sip.call_id, call.state FROM calls({})\" lists the calls",
        paths(files)
    ))
}

pub(super) fn paths(files: &[String]) -> String {
    let quoted: Vec<String> = files.iter().map(|file| quote_literal(file)).collect();
    quoted.join(", ")
}

pub(super) fn at(array: &StringArray, row: usize) -> Option<&str> {
    array.is_valid(row).then(|| array.value(row))
}

const LADDER_EXAMPLES: &str = "\
Examples:
  The call of a capture, or a list of its calls with their Call-IDs:
    weir sip ladder trace.pcap
  One of them in the terminal:
    weir sip ladder trace.pcap --call-id 1-23716@127.0.0.1
  As a page for a ticket, out of the captures of both sides:
    weir sip ladder west.pcap east.pcap --call-id 1-23716@127.0.0.1 -o call.html
  As a picture for a chat:
    weir sip ladder trace.pcap -o call.png";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_names_stays_a_literal() {
        assert_eq!(quote_literal("a'b' OR ''='"), "'a''b'' OR ''''='''");
        assert_eq!(paths(&["x".into(), "y'".into()]), "'x', 'y'''");
    }

    #[test]
    fn the_format_comes_from_the_name_of_the_file() {
        for (path, format) in [
            ("a.svg", LadderFormat::Svg),
            ("a.html", LadderFormat::Html),
            ("a.png", LadderFormat::Png),
            ("a.txt", LadderFormat::Text),
            ("a", LadderFormat::Text),
        ] {
            assert_eq!(LadderFormat::of_path(Path::new(path)).unwrap(), format);
        }
        assert!(LadderFormat::of_path(Path::new("a.jpg")).is_err());
    }
}
