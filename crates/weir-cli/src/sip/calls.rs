//! `weir sip calls`: a list of calls that grows, with a ladder of each.
//!
//! [`book`] has what is known, [`view`] what is looked at, [`draw`] makes characters of both; none of them knows a
//! terminal. [`reading`] fills the book on a thread of its own, [`screen`] has the terminal.

mod book;
mod draw;
mod keys;
mod reading;
mod saving;
mod screen;
mod spool;
mod view;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use clap::Args;
use weir_tables::Stop;

use self::book::Book;
use self::draw::Theme;
use self::reading::{Origin, SharedBook};
use self::saving::{Saving, Store};
use self::spool::Spool;
use self::view::View;
use super::ladder::{merged, paths};
use crate::args::{Databases, Global, Live, OutputArgs, Zone};
use crate::failure::Failure;
use crate::interface::{LiveCounts, SourceArgs};
use crate::message::Messages;
use crate::quantity::parse_size;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::signals;
use crate::target::Target;
use crate::watch::Refresh;

/// `weir sip calls`.
#[derive(Args, Debug)]
#[command(
    about = "List calls as they come, each with its ladder and messages",
    long_about = "List calls as they come, each with its ladder and messages.\n\n\
        On a terminal the list grows while packets arrive: '/' filters as you type, Enter draws the ladder of a \
        call, Enter again opens a message, 's' saves the packets of the call as a capture, 'q' or Escape goes \
        back. In a pipe, and with --format or -o, calls are rows: those of captures at once, those of an \
        interface as they end.",
    override_usage = "weir sip calls [OPTIONS] <FILE>...\n       weir sip calls -i <INTERFACE> [OPTIONS]",
    after_help = EXAMPLES
)]
pub(super) struct CallsArgs {
    /// Captures, globs, folders, addresses of stores (s3://…), or '-' for standard input; merged in the order of time
    #[arg(
        value_name = "FILE",
        required_unless_present = "live_source",
        conflicts_with = "live_source"
    )]
    files: Vec<String>,
    #[command(flatten)]
    source: SourceArgs,
    /// Memory for calls and messages; beyond it the oldest calls are dropped
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "256m", help_heading = "Resources")]
    memory_limit: usize,
    /// Disk space for packets of an interface, HEP or standard input, so that calls can be saved; beyond it the oldest are dropped
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "512m", help_heading = "Resources")]
    spool: usize,
    /// The output options.
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs `weir sip calls`.
pub(super) fn run(
    args: &CallsArgs,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let wants_rows = args.output.format.is_some() || !args.output.output.is_empty();
    if wants_rows || is_dumb || !io::stdout().is_terminal() {
        return rows(args, global, messages);
    }
    let session = Session::new(&weir_engine::Options::default(), messages, false)?;
    let (origin, counts, source) = origin(args, &session)?;
    let comes_once = counts.is_some() || args.files.iter().any(|file| file == "-");
    let spool = match comes_once {
        true => Some(Arc::new(Spool::new(args.spool as u64).map_err(
            |error| Failure::environment(format!("cannot create a folder for packets: {error}")),
        )?)),
        false => None,
    };
    let store = match &spool {
        Some(spool) => Store::Spool(Arc::clone(spool)),
        None => Store::Captures(args.files.clone()),
    };
    let shared = SharedBook::new(Book::new(args.memory_limit));
    let stop = Stop::default();
    signals::end_gracefully(stop.flag());
    args.source.capture.end_in_time(&stop);
    let reader = {
        let (shared, stop) = (shared.clone(), stop.clone());
        thread::spawn(move || reading::read(origin, &shared, &stop, spool.as_deref()))
    };
    let mut saving = Saving::new(store, global);
    let theme = Theme {
        colour: global.color.applies(true),
    };
    let view = View::new(comes_once);
    let shown = screen::show(&shared, view, &mut saving, &source, theme, &stop);
    stop.request();
    finish_saving(&mut saving, messages);
    // Standard input may block for ever; an interface is read to its end.
    if counts.is_some() {
        let _ = reader.join();
    }
    let book = shared.look();
    if let Some(counts) = counts {
        counts.report(&source, "use a larger --buffer", messages);
    }
    // The session reports files of folders and archives that were left out.
    session.close(false);
    for note in book.notes() {
        messages.note(&note);
    }
    for (error, hint) in &book.damage {
        messages.error(error);
        if let Some(hint) = hint {
            messages.hint(hint);
        }
    }
    shown.map_err(|error| Failure::environment(format!("the terminal: {error}")))?;
    Ok(ExitCode::from(u8::from(!book.damage.is_empty())))
}

/// The source of packets, the counters of live packets, and the name of the source.
fn origin(
    args: &CallsArgs,
    session: &Session,
) -> Result<(Origin, Option<LiveCounts>, String), Failure> {
    let Some((name, live)) = args.source.open()? else {
        let source = match args.files.as_slice() {
            [file] => file.clone(),
            files => format!(
                "{} and {} more",
                files.first().map_or("", String::as_str),
                files.len().saturating_sub(1)
            ),
        };
        return Ok((reading::open(session, &args.files)?, None, source));
    };
    let counts = live.counts();
    Ok((Origin::Live(name.clone(), live), Some(counts), name))
}

/// A capture that is under way is written to its end.
fn finish_saving(saving: &mut Saving, messages: Messages) {
    while saving.under_way > 0 {
        match saving.finished() {
            Some((text, true)) => messages.error(&text),
            Some((text, false)) => messages.note(&text),
            None => thread::sleep(std::time::Duration::from_millis(10)),
        }
    }
}

/// Calls as rows, for files and other programs.
fn rows(args: &CallsArgs, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    if args.source.is_named() {
        let sql = format!("SELECT {COLUMNS} FROM calls(live)");
        return crate::live::run(&live(args, sql), global, messages);
    }
    if args.files.is_empty() {
        return Err(Refusal::usage("no capture is named", "weir sip calls trace.pcap").into());
    }
    let merge = merged(&args.files);
    let sql = format!("SELECT {COLUMNS} FROM calls({}{merge})", paths(&args.files));
    let file = args.output.file(0, 1)?;
    if let Some(note) = args.output.note(file) {
        messages.note(&note);
    }
    let options = args
        .output
        .options(file, io::stdout().is_terminal(), global.color);
    let target = Target::optional(file, global)?;
    let out = Target::writer(target.as_ref());
    let session = Session::new(&weir_engine::Options::default(), messages, !global.quiet)?;
    let mut statements = session.parse(&sql)?.into();
    let mut out = Some(out);
    for planned in session.plan_next(&mut statements)? {
        let out = out.take().unwrap_or_else(|| Box::new(io::sink()));
        session.answer(planned, &options, out, Refresh::default())?;
    }
    if let Some(target) = target {
        target.keep()?;
    }
    Ok(session.close(false))
}

/// The same question to packets as they come.
fn live(args: &CallsArgs, sql: String) -> Live {
    Live {
        sql: Some(sql),
        zone: Zone::default(),
        databases: Databases::default(),
        source: args.source.clone(),
        list_interfaces: false,
        rotate: None,
        keep: None,
        write: None,
        count: None,
        every: None,
        output: args.output.clone(),
        stats: false,
    }
}

/// The columns of a row about a call.
const COLUMNS: &str = "call.number, sip.call_id, call.first, call.from, call.to, call.state, call.status, \
    call.duration, call.messages, call.mos, addr.src, port.src, addr.dst, port.dst";

const EXAMPLES: &str = "\
Examples:
  Calls as they come (with sudo, or after sudo setcap cap_net_raw+ep $(which weir)):
    weir sip calls -i eth0
  Those of captures:
    weir sip calls day/*.pcap
    weir sip calls s3://bucket/day/*.pcap.zst
  Those that another machine sees:
    ssh gateway tcpdump -U -w - port 5060 | weir sip calls -
  As rows:
    weir sip calls trace.pcap --format ndjson | jq .";
