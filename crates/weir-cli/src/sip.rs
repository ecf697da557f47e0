//! `weir sip`: what can be done with SIP calls beside asking SQL.

mod calls;
mod export;

use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt32Type, UInt64Type};
use clap::{Args, Subcommand, ValueEnum};
use weir_packet::Address;
use weir_sip::{Caption, Ladder, Step, is_failure};

use crate::args::Global;
use crate::message::Messages;
use crate::refusal::Refusal;
use crate::session::{Failure, Session};
use crate::target::Target;

/// `weir sip`.
#[derive(Args, Debug)]
#[command(about = "Look at SIP calls", arg_required_else_help = true)]
pub(crate) struct Sip {
    #[command(subcommand)]
    command: SipCommand,
}

#[derive(Debug, Subcommand)]
enum SipCommand {
    // What they say of themselves stands at their types.
    Calls(Box<calls::CallsArgs>),
    Ladder(LadderArgs),
    Export(export::ExportArgs),
}

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
struct LadderArgs {
    /// Captures; several are merged in the order of time
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// The Call-ID, as it is written in the messages; not needed where there is one call
    #[arg(long, value_name = "ID")]
    call_id: Option<String>,
    /// How the ladder is drawn [default: by the name of the output file, or text]
    #[arg(long, value_name = "FORMAT")]
    format: Option<LadderFormat>,
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LadderFormat {
    /// Characters, one line a message
    Text,
    /// An image that browsers and editors show
    Svg,
    /// A page with the image
    Html,
}

impl LadderFormat {
    fn of_path(path: &Path) -> Result<Self, Refusal> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => Ok(Self::Svg),
            Some("html" | "htm") => Ok(Self::Html),
            Some("png" | "jpg" | "jpeg" | "gif" | "webp" | "pdf") => Err(Refusal::usage(
                format!(
                    "a ladder is text, SVG or HTML: {} would be none",
                    path.display()
                ),
                "name it x.svg, which browsers and editors show and turn into other images",
            )),
            _ => Ok(Self::Text),
        }
    }
}

/// Does what the user asked for.
pub(crate) fn run(sip: &Sip, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    match &sip.command {
        SipCommand::Calls(args) => calls::run(args, global, messages),
        SipCommand::Ladder(args) => ladder(args, global, messages),
        SipCommand::Export(args) => export::run(args, global, messages),
    }
}

fn ladder(args: &LadderArgs, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    let output = args
        .output
        .as_deref()
        .filter(|path| path.as_os_str() != "-");
    let format = match (args.format, output) {
        (Some(format), _) => format,
        (None, Some(path)) => LadderFormat::of_path(path)?,
        (None, None) => LadderFormat::Text,
    };
    let target = match output {
        Some(path) => Some(Target::new(path, global)?),
        None => None,
    };
    let session = Session::new(&weir_engine::Options::default(), messages, !global.quiet)?;
    let call_id = match &args.call_id {
        Some(call_id) => call_id.clone(),
        None => only_call(&session, &args.files)?,
    };
    let Some(ladder) = drawn(&session, &args.files, &call_id)? else {
        // What was found damaged may be why.
        session.close(false);
        return Err(no_call(&args.files, &call_id));
    };
    let drawn = match format {
        LadderFormat::Text
            if target.is_none() && global.color.applies(io::stdout().is_terminal()) =>
        {
            ladder.coloured_text()
        }
        LadderFormat::Text => ladder.text(),
        LadderFormat::Svg => ladder.svg(),
        LadderFormat::Html => ladder.html(),
    };
    match target {
        Some(target) => target.put(drawn.as_bytes())?,
        None => {
            crate::printed(io::stdout().write_all(drawn.as_bytes()))?;
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
    let mut all = Vec::new();
    for statement in session.parse(&statement(files, call_id))? {
        session.batches(statement, |batch| {
            // Beyond its limit the ladder only counts.
            let steps = steps(batch).map_err(failed)?;
            let room = (2 * Ladder::STEPS_MAX).saturating_sub(all.len());
            all.extend(steps.into_iter().take(room));
            Ok(())
        })?;
    }
    if all.is_empty() {
        return Ok(None);
    }
    let columns: Vec<String> = all.iter().map(|step| step.from.clone()).collect();
    for statement in session.parse(&media_statement(files, call_id))? {
        session.batches(statement, |batch| {
            all.extend(bars(batch, &columns).map_err(failed)?);
            Ok(())
        })?;
    }
    all.sort_by_key(|step| step.time_ns);
    let mut ladder = Ladder::new(&format!("Call-ID {call_id}"));
    for step in all {
        ladder.push(step);
    }
    Ok(Some(ladder))
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
        [] => Err(Failure::running("no call is in the captures".to_owned()).with_hint(
            "a call begins with INVITE; SELECT DISTINCT sip.call_id FROM sip('trace.pcap') lists what else is there",
        )),
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
                format!("{count} calls are in the captures: --call-id says which"),
                format!("they are{lines}{more}"),
            )
            .into())
        }
    }
}

/// Calls that are listed where one has to be chosen.
const CALLS_SHOWN: usize = 10;

/// Several captures are read in the order of time.
fn merged(files: &[String]) -> &'static str {
    match files.len() {
        0 | 1 => "",
        _ => ", merge => true",
    }
}

/// What the steps are made of.
fn statement(files: &[String], call_id: &str) -> String {
    format!(
        "SELECT frame.time AS time, addr.src AS src, port.src AS src_port, \
         addr.dst AS dst, port.dst AS dst_port, sip.method AS method, sip.status_code AS status, \
         sip.reason_phrase AS reason, sip.cseq.seq AS seq, sip.cseq.method AS cseq_method, \
         sip.resend AS resend, frame.number AS frame, \
         coalesce(sip.request_line, sip.status_line) AS line, sip.msg_hdr AS head, sip.msg_body AS body, \
         lower(sip.content_type) LIKE 'application/sdp%' AND sip.msg_body IS NOT NULL AS sdp \
         FROM sip({}{}) WHERE sip.call_id = {}",
        paths(files),
        merged(files),
        quoted(call_id)
    )
}

/// What the bars are made of.
fn media_statement(files: &[String], call_id: &str) -> String {
    format!(
        "SELECT media.start AS time, addr.src AS src, port.src AS src_port, addr.dst AS dst, port.dst AS dst_port, \
         media.codec AS codec, media.lost_percent AS lost, media.mos AS mos FROM media({}{}) WHERE sip.call_id = {}",
        paths(files),
        merged(files),
        quoted(call_id)
    )
}

/// The streams of a batch of [`media_statement`]. Who sent SIP from the same address has its column.
fn bars(batch: &RecordBatch, columns: &[String]) -> Result<Vec<Step>, arrow::error::ArrowError> {
    let column = |name: &str| -> Result<&ArrayRef, arrow::error::ArrowError> {
        let missing = || arrow::error::ArrowError::SchemaError(format!("no column {name}"));
        batch.column_by_name(name).ok_or_else(missing)
    };
    let number = |name: &str| cast(column(name)?, &DataType::UInt32);
    let share = |name: &str| cast(column(name)?, &DataType::Float64);
    let text = |name: &str| texts(column(name)?);
    let times = cast(column("time")?, &DataType::Int64)?;
    let times = times.as_primitive::<Int64Type>();
    let (src, dst, codec) = (text("src")?, text("dst")?, text("codec")?);
    let (src_port, dst_port) = (number("src_port")?, number("dst_port")?);
    let (lost, mos) = (share("lost")?, share("mos")?);
    let (lost, mos) = (
        lost.as_primitive::<Float64Type>(),
        mos.as_primitive::<Float64Type>(),
    );
    let bars = (0..batch.num_rows()).map(|row| {
        let (from, to) = (at(&src, row), at(&dst, row));
        let of_sip = (column_of(columns, from), column_of(columns, to));
        let (from, to) = match of_sip {
            (Some(from), Some(to)) if from != to => (from.clone(), to.clone()),
            _ => (
                socket(from, number_at(&src_port, row)),
                socket(to, number_at(&dst_port, row)),
            ),
        };
        let mut label = format!("RTP {}", at(&codec, row).unwrap_or("?"));
        if lost.is_valid(row) {
            label.push_str(&format!(", {:.1} % lost", lost.value(row).max(0.0)));
        }
        if mos.is_valid(row) {
            label.push_str(&format!(", MOS {:.1}", mos.value(row)));
        }
        Step {
            time_ns: times.is_valid(row).then(|| times.value(row)),
            from,
            to,
            label,
            is_media: true,
            ..Step::default()
        }
    });
    Ok(bars.collect())
}

/// The first column of an address.
fn column_of<'c>(columns: &'c [String], address: Option<&str>) -> Option<&'c String> {
    let address = address?;
    columns.iter().find(|column| {
        let known = column
            .rsplit_once(':')
            .map_or(column.as_str(), |(known, _)| known);
        known.trim_matches(['[', ']']) == address
    })
}

/// There is no such call.
fn no_call(files: &[String], call_id: &str) -> Failure {
    let message = format!("no SIP message with Call-ID '{call_id}'");
    Failure::running(message).with_hint(format!(
        "weir query \"SELECT sip.call_id, call.state FROM calls({})\" lists the calls",
        paths(files)
    ))
}

fn paths(files: &[String]) -> String {
    let quoted: Vec<String> = files.iter().map(|file| quoted(file)).collect();
    quoted.join(", ")
}

/// A literal of SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The steps of a batch of [`statement`].
fn steps(batch: &RecordBatch) -> Result<Vec<Step>, arrow::error::ArrowError> {
    let column = |name: &str| -> Result<&ArrayRef, arrow::error::ArrowError> {
        let missing = || arrow::error::ArrowError::SchemaError(format!("no column {name}"));
        batch.column_by_name(name).ok_or_else(missing)
    };
    let number = |name: &str| cast(column(name)?, &DataType::UInt32);
    let text = |name: &str| texts(column(name)?);
    let times = cast(column("time")?, &DataType::Int64)?;
    let times = times.as_primitive::<Int64Type>();
    let (src, dst) = (text("src")?, text("dst")?);
    let (src_port, dst_port) = (number("src_port")?, number("dst_port")?);
    let (method, reason, cseq_method) = (text("method")?, text("reason")?, text("cseq_method")?);
    let (status, seq) = (number("status")?, number("seq")?);
    let (resend, sdp) = (column("resend")?.as_boolean(), column("sdp")?.as_boolean());
    let frames = cast(column("frame")?, &DataType::UInt64)?;
    let frames = frames.as_primitive::<UInt64Type>();
    let (lines, heads, bodies) = (text("line")?, text("head")?, text("body")?);
    let steps = (0..batch.num_rows()).map(|row| Step {
        time_ns: times.is_valid(row).then(|| times.value(row)),
        from: socket(at(&src, row), number_at(&src_port, row)),
        to: socket(at(&dst, row), number_at(&dst_port, row)),
        label: Caption {
            method: at(&method, row).map(str::as_bytes),
            status: number_at(&status, row)
                .and_then(|status| u16::try_from(status).ok())
                .map(|status| (status, at(&reason, row).unwrap_or_default().as_bytes())),
            cseq: number_at(&seq, row)
                .map(|seq| (seq, at(&cseq_method, row).unwrap_or_default().as_bytes())),
            has_sdp: sdp.is_valid(row) && sdp.value(row),
        }
        .label(),
        is_repeat: resend.is_valid(row) && resend.value(row),
        is_failure: number_at(&status, row)
            .and_then(|status| u16::try_from(status).ok())
            .is_some_and(is_failure),
        frame: frames.is_valid(row).then(|| frames.value(row)),
        text: whole(&lines, &heads, &bodies, row),
        ..Step::default()
    });
    Ok(steps.collect())
}

/// A message as it came, as far as it is legible.
fn whole(
    lines: &StringArray,
    heads: &StringArray,
    bodies: &StringArray,
    row: usize,
) -> Option<String> {
    let line = at(lines, row)?;
    let head = at(heads, row).unwrap_or_default();
    let body = at(bodies, row).unwrap_or_default();
    Some(format!("{line}\n{}\n\n{body}", head.trim_end()))
}

/// Texts, and addresses as texts.
fn texts(array: &ArrayRef) -> Result<StringArray, arrow::error::ArrowError> {
    if let Some(addresses) = array.as_binary_view_opt() {
        let shown = addresses.iter().map(|bytes| {
            let address = Address::from_bytes(bytes?)?;
            Some(address.to_string())
        });
        return Ok(shown.collect());
    }
    Ok(cast(array, &DataType::Utf8)?.as_string::<i32>().clone())
}

fn at(array: &StringArray, row: usize) -> Option<&str> {
    array.is_valid(row).then(|| array.value(row))
}

fn number_at(array: &ArrayRef, row: usize) -> Option<u32> {
    let array = array.as_primitive::<UInt32Type>();
    array.is_valid(row).then(|| array.value(row))
}

/// The heading of a column.
fn socket(address: Option<&str>, port: Option<u32>) -> String {
    let address = address.unwrap_or("?");
    let port = port.and_then(|port| u16::try_from(port).ok());
    match (address.parse(), port) {
        (Ok(ip), Some(port)) => SocketAddr::new(ip, port).to_string(),
        (_, Some(port)) => format!("{address}:{port}"),
        (_, None) => address.to_owned(),
    }
}

const LADDER_EXAMPLES: &str = "\
Examples:
  The call of a capture, or a list of its calls with their Call-IDs:
    weir sip ladder trace.pcap
  One of them in the terminal:
    weir sip ladder trace.pcap --call-id 1-23716@127.0.0.1
  As a page for a ticket, out of the captures of both sides:
    weir sip ladder west.pcap east.pcap --call-id 1-23716@127.0.0.1 -o call.html";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_names_stays_a_literal() {
        assert_eq!(quoted("a'b' OR ''='"), "'a''b'' OR ''''='''");
        assert_eq!(paths(&["x".into(), "y'".into()]), "'x', 'y'''");
    }

    #[test]
    fn headings_are_sockets() {
        assert_eq!(socket(Some("10.0.0.1"), Some(5060)), "10.0.0.1:5060");
        assert_eq!(socket(Some("2001:db8::1"), Some(1)), "[2001:db8::1]:1");
        assert_eq!(socket(Some("::1"), None), "::1");
        assert_eq!(socket(None, Some(70_000)), "?");
    }

    #[test]
    fn the_format_comes_from_the_name_of_the_file() {
        for (path, format) in [
            ("a.svg", LadderFormat::Svg),
            ("a.html", LadderFormat::Html),
            ("a.txt", LadderFormat::Text),
            ("a", LadderFormat::Text),
        ] {
            assert_eq!(LadderFormat::of_path(Path::new(path)).unwrap(), format);
        }
        assert!(LadderFormat::of_path(Path::new("a.png")).is_err());
    }
}
