//! `weir filter` and `weir carve`: packets by Wireshark's display filters, by flow and by call.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use weir_engine::quote_literal;

use crate::args::{Global, OutputArgs};
use crate::encoder::FileEncoder;
use crate::failure::Failure;
use crate::message::Messages;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::target::Target;
use crate::watch::Refresh;

/// `weir filter`.
#[derive(Args, Debug)]
#[command(
    about = "Select packets by a display filter of Wireshark",
    long_about = "Select packets by a display filter of Wireshark.\n\n\
        With -o x.pcap or x.pcapng the packets are written as a capture; otherwise their numbers are listed. Fields \
        are the columns of 'weir fields packets'; a field has a value for each header of its protocol, those in \
        tunnels included. The same filter works in SQL: WHERE display_filter('…').",
    after_help = FILTER_EXAMPLES
)]
pub(crate) struct Filter {
    /// The display filter
    pub(crate) filter: String,
    /// Captures, globs, or '-' for standard input
    #[arg(value_name = "IN", required = true)]
    pub(crate) captures: Vec<String>,
    /// The output options of the packets or their numbers.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `weir carve`.
#[derive(Args, Debug)]
#[command(
    about = "Write the packets of a flow, of a call or of a filter as a capture",
    after_help = CARVE_EXAMPLES
)]
pub(crate) struct Carve {
    /// Captures, globs, or '-' for standard input
    #[arg(value_name = "IN", required = true)]
    pub(crate) captures: Vec<String>,
    /// Packets of the flow with this number, as flows() and flow_packets() count
    #[arg(long, value_name = "ID", group = "what")]
    pub(crate) flow: Vec<u64>,
    /// Packets of the call with this Call-ID: all that its SIP messages came in, its RTP, RTCP and T.38
    #[arg(long, value_name = "ID", group = "what")]
    pub(crate) call_id: Option<String>,
    /// Packets that pass this display filter
    #[arg(long, value_name = "FILTER", group = "what")]
    pub(crate) filter: Option<String>,
    /// The capture to write: x.pcap or x.pcapng
    #[arg(short, long, value_name = "FILE", required = true)]
    pub(crate) output: PathBuf,
}

/// Runs `weir filter`.
pub(crate) fn run(
    filter: &Filter,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    let captures = list(&filter.captures);
    let condition = format!("display_filter({})", quote_literal(&filter.filter));
    if let ([path], None) = (filter.output.output.as_slice(), filter.output.format)
        && is_capture_name(path)
    {
        let select = format!("SELECT * FROM packets({captures}) WHERE {condition}");
        return copied(&select, path, NONE_PASSES, global, messages);
    }
    let file = filter.output.file(0, 1)?;
    if let Some(note) = filter.output.note(file) {
        messages.note(&note);
    }
    // The number says which packet it is when there is one capture.
    let is_one = filter.captures.len() == 1
        && filter
            .captures
            .iter()
            .all(|path| !path.contains(['*', '?', '[']));
    let columns = if is_one {
        "frame.number"
    } else {
        "frame.file, frame.number"
    };
    let sql = format!("SELECT {columns} FROM packets({captures}) WHERE {condition}");
    let options = filter
        .output
        .options(file, io::stdout().is_terminal(), global.color);
    let target = Target::optional(file, global)?;
    let out = Target::writer(target.as_ref());
    let session = session(global, messages)?;
    answered(&session, &sql, &options, out)?;
    if let Some(target) = target {
        target.keep()?;
    }
    Ok(session.close(false))
}

/// Runs `weir carve`.
pub(crate) fn carve(
    carve: &Carve,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    named_as_capture(&carve.output)?;
    let captures = list(&carve.captures);
    let (select, none) = match (&carve.call_id, &carve.filter) {
        (Some(call_id), _) => {
            let select = weir_engine::packets_of_call(&captures, &quote_literal(call_id));
            (select, none_of_call(call_id))
        }
        (None, Some(filter)) => {
            let filter = quote_literal(filter);
            let select =
                format!("SELECT * FROM packets({captures}) WHERE display_filter({filter})");
            (select, NONE_PASSES.to_owned())
        }
        (None, None) if !carve.flow.is_empty() => {
            let flows: Vec<String> = carve.flow.iter().map(ToString::to_string).collect();
            let flows = flows.join(", ");
            let select = of_flows(carve, &flows, global, messages)?;
            (select, format!("no packet is of flow {flows}"))
        }
        (None, None) => {
            return Err(Refusal::usage(
                "no option selects the packets",
                "--flow 5, --call-id 'a84b4c76e66710', or --filter 'tcp.port == 443'",
            )
            .into());
        }
    };
    copied(&select, &carve.output, &none, global, messages)
}

fn none_of_call(call_id: &str) -> String {
    format!("no packet is of a call with Call-ID '{call_id}'")
}

/// The query for the packets of flows, with all fragments.
fn of_flows(
    carve: &Carve,
    flows: &str,
    global: Global,
    messages: Messages,
) -> Result<String, Failure> {
    let captures = list(&carve.captures);
    // Standard input is read only once: what follows a fragment waits, within a limit, until the fragment's flow is known.
    if carve.captures.iter().any(|path| path == "-") {
        return Ok(format!(
            "SELECT * FROM flow_packets({captures}, fragments => true) WHERE flow.id IN ({flows})"
        ));
    }
    Ok(match is_fragmented(carve, flows, global, messages)? {
        true => weir_engine::packets_of_flows(&captures, flows),
        // This query reads the captures once, and no row waits for others.
        false => format!("SELECT * FROM flow_packets({captures}) WHERE flow.id IN ({flows})"),
    })
}

/// Whether packets of the flows came in fragments.
fn is_fragmented(
    carve: &Carve,
    flows: &str,
    global: Global,
    messages: Messages,
) -> Result<bool, Failure> {
    let captures = list(&carve.captures);
    let sql = format!(
        "SELECT flow.id FROM flow_fragments({captures}) WHERE flow.id IN ({flows}) LIMIT 1"
    );
    // Damage is reported by the later reading, which writes.
    let session = session(global, messages)?;
    let mut is_any = false;
    for statement in session.parse(&sql)? {
        session.batches(statement, |batch| {
            is_any |= batch.num_rows() > 0;
            Ok(())
        })?;
    }
    Ok(is_any)
}

/// Writes the packets of a call as a capture.
pub(crate) fn call(
    captures: &[String],
    call_id: &str,
    path: &Path,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    named_as_capture(path)?;
    let select = weir_engine::packets_of_call(&list(captures), &quote_literal(call_id));
    copied(&select, path, &none_of_call(call_id), global, messages)
}

fn named_as_capture(path: &Path) -> Result<(), Failure> {
    if is_capture_name(path) {
        return Ok(());
    }
    Err(Refusal::usage(
        format!("{} is not the name of a capture", path.display()),
        "use -o x.pcap or x.pcapng, or either with .gz or .zst after it",
    )
    .into())
}

/// Writes the packets of a query as a capture; `none` is what a note says where there are none.
fn copied(
    select: &str,
    path: &Path,
    none: &str,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    let Some(name) = path.to_str() else {
        return Err(Failure::environment(format!(
            "{}: the name is not UTF-8",
            path.display()
        )));
    };
    let sql = format!("COPY ({select}) TO {}", quote_literal(name));
    let session = session(global, messages)?;
    let options = OutputArgs::default().options(None, false, global.color);
    answered(&session, &sql, &options, Box::new(io::sink()))?;
    let code = session.close(false);
    let is_empty =
        weir_capture::open(path).is_ok_and(|mut reader| matches!(reader.next(), Ok(None)));
    if is_empty {
        messages.note(&format!("{none}: {} is empty", path.display()));
    }
    Ok(code)
}

fn session(global: Global, messages: Messages) -> Result<Session, Failure> {
    let mut options = weir_engine::Options::default();
    options.overwrite = global.overwrite;
    options.encoder = Some(Arc::new(FileEncoder));
    Session::new(&options, messages, !global.quiet)
}

fn answered(
    session: &Session,
    sql: &str,
    options: &weir_output::OutputOptions,
    out: Box<dyn Write + Send>,
) -> Result<(), Failure> {
    let mut statements: VecDeque<_> = session.parse(sql)?.into();
    let planned = session.plan_next(&mut statements)?;
    let mut out = Some(out);
    for planned in planned {
        let out = out.take().unwrap_or_else(|| Box::new(io::sink()));
        session.answer(planned, options, out, Refresh { every: None })?;
    }
    Ok(())
}

/// Captures as arguments of a table function.
fn list(captures: &[String]) -> String {
    let captures: Vec<String> = captures.iter().map(|path| quote_literal(path)).collect();
    captures.join(", ")
}

fn is_capture_name(path: &Path) -> bool {
    let unpacked = match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz" | "zst") => path.with_extension(""),
        _ => path.to_owned(),
    };
    let path = unpacked.as_path();
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| {
        ["pcap", "pcapng"]
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    })
}

/// The note where no packet passes a filter.
const NONE_PASSES: &str = "no packet passes the filter";

const FILTER_EXAMPLES: &str = "\
Examples:
  Packets of HTTPS with a network, as a capture:
    weir filter 'tcp.port == 443 && ip.addr == 10.0.0.0/8 and not dns' in.pcap -o out.pcap
  Their numbers:
    weir filter 'frame contains \"password\"' in.pcap
  How many, by address:
    weir query \"SELECT ip.src, count(*) FROM 'in.pcap'
                WHERE display_filter('tcp.flags.syn == 1') GROUP BY 1\"";

const CARVE_EXAMPLES: &str = "\
Examples:
  weir carve in.pcap --flow 5 -o flow.pcap
  weir carve day/*.pcap --call-id 'a84b4c76e66710@pc33' -o call.pcapng
  weir carve in.pcap --filter 'icmp.type == 3' -o unreachable.pcap";
