//! Messages out of the files that the user names.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_tables::{Note, WebSocketSight};
use weir_ws::{
    ConnectionEvent, Direction, Event, Format, InputMessage, InputOptions, InputReader,
    InputReport, Opcode, Prefix,
};

use super::args::{InputArgs, InputFormat};
use super::capture;
use super::live::{self, Capture};
use crate::args::Global;
use crate::failure::Failure;
use crate::message::Messages;
use crate::progress::{Done, Progress};
use crate::refusal::Refusal;

/// The counts over all inputs.
#[derive(Debug, Default)]
pub(super) struct InputTotals {
    /// Different headers `Sec-WebSocket-Extensions` of responses.
    pub(super) extensions: Vec<String>,
    /// An input was damaged, and a message reports it.
    pub(super) damaged: bool,
    connections: u64,
    too_long: u64,
    no_message: u64,
    /// Messages of captures of which a part is missing.
    not_whole: u64,
    mid_stream: u64,
}

/// Reads all inputs, passes on every message, and reports damage.
pub(super) fn read(
    args: &InputArgs,
    global: Global,
    messages: Messages,
    each: &mut dyn FnMut(&InputMessage<'_>),
) -> Result<InputTotals, Failure> {
    let counters = Arc::new(InputCounters::default());
    counters.plan(&args.inputs);
    let seen = Arc::clone(&counters);
    let bar = !args.no_progress && !global.quiet && io::stderr().is_terminal();
    let progress = Progress::start(bar, move || seen.done());
    let mut totals = InputTotals::default();
    if let Some(capture) = args.live.start(messages)? {
        let outcome = crossing(capture, messages, &counters, &mut totals, each);
        progress.finish();
        outcome?;
        totals.report(args, messages);
        return Ok(totals);
    }
    for path in &args.inputs {
        let outcome = file(path, args, messages, &counters, &mut totals, each);
        if let Err(trouble) = outcome {
            match trouble {
                InputError::Refused(failure) => {
                    progress.finish();
                    return Err(failure);
                }
                InputError::Damaged(error, hint) => {
                    progress.finish();
                    messages.error(&format!(
                        "{}: {}",
                        name(path),
                        crate::message::chain(error.as_ref())
                    ));
                    messages.hint(&hint);
                    totals.damaged = true;
                }
            }
        }
    }
    progress.finish();
    totals.report(args, messages);
    Ok(totals)
}

enum InputError {
    Refused(Failure),
    /// An error of damaged input, with a hint.
    Damaged(Box<dyn std::error::Error>, String),
}

fn file(
    path: &Path,
    args: &InputArgs,
    messages: Messages,
    counters: &Arc<InputCounters>,
    totals: &mut InputTotals,
    each: &mut dyn FnMut(&InputMessage<'_>),
) -> Result<(), InputError> {
    let refused =
        |error: io::Error| InputError::Refused(Failure::file(Path::new(&name(path)), &error));
    let mut source: Box<dyn Read> = match path.as_os_str() == "-" {
        true => Box::new(io::stdin().lock()),
        false => Box::new(open(path).map_err(InputError::Refused)?),
    };
    let mut head = vec![0; HEAD_BYTES];
    let filled = fill(&mut source, &mut head).map_err(refused)?;
    head.truncate(filled);
    let base = totals.connections;
    let is_capture = match args.input_format {
        InputFormat::Auto => capture::is_capture(&head),
        wanted => wanted == InputFormat::Capture,
    };
    let is_compressed = capture::is_compressed(&head);
    if is_capture {
        let source = io::Cursor::new(head).chain(source);
        let outcome = captured(source, counters, totals, &mut |message| {
            let mut message = *message;
            message.connection = message.connection.saturating_add(base);
            each(&message);
        });
        let damaged = |error: weir_capture::Error| {
            let hint = match (error.location(), error.hint()) {
                (None, _) if is_compressed => {
                    let name = path.display();
                    format!("only captures are read compressed: gzip -dc {name} | weir ws study -")
                }
                (_, Some(hint)) => hint.to_owned(),
                _ => BEFORE.to_owned(),
            };
            InputError::Damaged(Box::new(error), hint)
        };
        for note in outcome.map_err(damaged)? {
            messages.note(&format!("{}: {note}", name(path)));
        }
        return Ok(());
    }
    let format = format(args.input_format, &head);
    let mut options = InputOptions::default();
    options.message_bytes_max = args.message_max;
    options.flow_bytes_max = options.flow_bytes_max.max(args.message_max);
    let mut numbered = |message: &InputMessage<'_>| {
        counters.messages.fetch_add(1, Ordering::Relaxed);
        let mut message = *message;
        message.connection = message.connection.saturating_add(base);
        each(&message);
    };
    let mut reader = InputReader::new(format, options);
    let mut piece = head;
    let outcome = loop {
        if piece.is_empty() {
            break reader.finish(&mut numbered);
        }
        counters
            .bytes
            .fetch_add(piece.len() as u64, Ordering::Relaxed);
        if let Err(error) = reader.feed(&piece, &mut numbered) {
            break Err(error);
        }
        piece.resize(PIECE_BYTES, 0);
        let read = fill(&mut source, &mut piece).map_err(refused)?;
        piece.truncate(read);
    };
    let report =
        outcome.map_err(|error| InputError::Damaged(Box::new(error), BEFORE.to_owned()))?;
    totals.add(&report);
    Ok(())
}

/// The messages of an interface, until the stop flag is set.
fn crossing(
    capture: Capture,
    messages: Messages,
    counters: &InputCounters,
    totals: &mut InputTotals,
    each: &mut dyn FnMut(&InputMessage<'_>),
) -> Result<(), Failure> {
    let mut meter = capture.meter;
    let outcome = captured(capture.packets, counters, totals, &mut |message| {
        if meter.take() {
            each(message);
        }
    });
    live::report(&capture.name, &capture.counts, messages);
    for note in outcome.map_err(|error| Failure::running(error.to_string()))? {
        messages.note(&format!("{}: {note}", capture.name));
    }
    Ok(())
}

/// The messages of a capture that are there as a whole.
fn captured(
    source: impl Read,
    counters: &InputCounters,
    totals: &mut InputTotals,
    each: &mut dyn FnMut(&InputMessage<'_>),
) -> Result<Vec<Note>, weir_capture::Error> {
    let before = counters.bytes.load(Ordering::Relaxed);
    let mut done = |bytes: u64, _: u64| {
        let bytes = before.saturating_add(bytes);
        counters.bytes.store(bytes, Ordering::Relaxed);
    };
    let mut connections = totals.connections;
    let base = connections;
    let outcome = capture::read(source, &mut done, &mut |sight: &WebSocketSight<'_>| {
        connections = connections.max(base.saturating_add(sight.ends.connection));
        match sight.event {
            ConnectionEvent::Handshake(_) => {
                let agreed = sight.ends.agreed.clone();
                totals.extension(agreed.unwrap_or_else(|| "no compression".to_owned()));
            }
            ConnectionEvent::MidStream => totals.mid_stream = totals.mid_stream.saturating_add(1),
            ConnectionEvent::Wire(direction, Event::Message(message)) => {
                if message.opcode.is_control() {
                    return;
                }
                if !message.whole {
                    totals.not_whole = totals.not_whole.saturating_add(1);
                    return;
                }
                counters.messages.fetch_add(1, Ordering::Relaxed);
                each(&InputMessage::new(
                    sight.ends.connection,
                    Some(direction),
                    message.opcode,
                    message.payload,
                ));
            }
            _ => {}
        }
    });
    totals.connections = connections.saturating_add(1);
    outcome
}

pub(super) fn open(path: &Path) -> Result<File, Failure> {
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        let message = format!("{} is a folder", path.display());
        let hint = format!("name files in it, such as {}/*", path.display());
        return Err(Refusal::usage(message, hint).into());
    }
    Ok(file)
}

/// Reads until the buffer is full or the source is at its end.
fn fill(source: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(room) = buffer.get_mut(filled..).filter(|room| !room.is_empty()) {
        match source.read(room) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn format(wanted: InputFormat, head: &[u8]) -> Format {
    match wanted {
        InputFormat::Auto | InputFormat::Capture => Format::sniff(head),
        InputFormat::Lines => Format::Lines,
        InputFormat::Records => Format::Records,
        InputFormat::Har => Format::Har,
        InputFormat::Mitmproxy => Format::Mitmproxy,
        InputFormat::U16 => Format::Prefixed(Prefix::U16),
        InputFormat::U32 => Format::Prefixed(Prefix::U32),
        InputFormat::U32le => Format::Prefixed(Prefix::U32Le),
        InputFormat::Varint => Format::Prefixed(Prefix::Varint),
    }
}

impl InputArgs {
    /// The names of the inputs, for titles.
    pub(super) fn title(&self) -> String {
        match &self.live.capture.interface {
            Some(interface) => format!("interface {interface}"),
            None => {
                let names = self.inputs.iter().map(|path| name(path));
                names.collect::<Vec<_>>().join(", ")
            }
        }
    }
}

/// The name of an input in messages.
pub(super) fn name(path: &Path) -> String {
    match path.as_os_str() == "-" {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    }
}

impl InputTotals {
    fn add(&mut self, report: &InputReport) {
        self.connections = self.connections.saturating_add(report.connections);
        self.too_long = self.too_long.saturating_add(report.too_long);
        self.no_message = self.no_message.saturating_add(report.damaged);
        for extension in &report.extensions {
            self.extension(extension.clone());
        }
    }

    fn extension(&mut self, extension: String) {
        if self.extensions.len() < EXTENSIONS_MAX && !self.extensions.contains(&extension) {
            self.extensions.push(extension);
        }
    }

    fn report(&mut self, args: &InputArgs, messages: Messages) {
        if self.too_long > 0 {
            messages.warning(&format!(
                "{} messages are longer than {} bytes and were skipped",
                self.too_long, args.message_max
            ));
            messages.hint("--message-max raises the limit");
        }
        if self.not_whole > 0 {
            messages.warning(&format!(
                "{} messages of the capture are incomplete and were left out",
                self.not_whole
            ));
            messages.hint("weir ws stats shows why");
        }
        if self.mid_stream > 0 {
            messages.note(&format!(
                "{} connections began before the capture",
                self.mid_stream
            ));
        }
        if self.no_message > 0 {
            messages.error(&format!(
                "{} records are not messages: payload missing, base64 damaged, or not JSON",
                self.no_message
            ));
            self.damaged = true;
        }
    }
}

#[derive(Debug, Default)]
struct InputCounters {
    bytes: AtomicU64,
    messages: AtomicU64,
    /// Bytes of all inputs; 0 when one of them is a pipe.
    total: AtomicU64,
}

impl InputCounters {
    fn plan(&self, paths: &[PathBuf]) {
        let size = |path: &PathBuf| {
            let metadata = std::fs::metadata(path).ok()?;
            metadata.is_file().then_some(metadata.len())
        };
        let sizes: Option<u64> = paths.iter().map(size).sum();
        self.total.store(sizes.unwrap_or(0), Ordering::Relaxed);
    }

    fn done(&self) -> Done {
        let total = self.total.load(Ordering::Relaxed);
        Done {
            bytes: self.bytes.load(Ordering::Relaxed),
            records: self.messages.load(Ordering::Relaxed),
            bytes_total: (total > 0).then_some(total),
            pieces: None,
        }
    }
}

/// The first messages of each direction, as if they were of one connection: what is measured and
/// studied on the side does not need all of them.
#[derive(Debug, Default)]
pub(super) struct MessageSample {
    /// The samples of unknown direction, to the server, and to the client.
    parts: [DirectionSample; 3],
    /// The direction of each message, for the study of reflected text.
    order: Vec<bool>,
}

#[derive(Debug, Default)]
struct DirectionSample {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    seen: u64,
}

impl MessageSample {
    /// Copies a message while there is room.
    pub(super) fn take(&mut self, message: &InputMessage<'_>) {
        if message.opcode.is_control() || message.opcode == Opcode::Continuation {
            return;
        }
        let slot = match message.direction {
            None => 0,
            Some(Direction::ToServer) => 1,
            Some(Direction::ToClient) => 2,
        };
        let Some(part) = self.parts.get_mut(slot) else {
            return;
        };
        part.seen = part.seen.saturating_add(message.payload.len() as u64);
        let full = part.bytes.len() + message.payload.len() > KEPT_BYTES_MAX;
        if (full && !part.ends.is_empty()) || part.ends.len() >= KEPT_MESSAGES_MAX {
            return;
        }
        part.bytes.extend_from_slice(message.payload);
        part.ends.push(part.bytes.len());
        if slot > 0 {
            self.order.push(slot == 1);
        }
    }

    /// The messages of the direction with the most bytes.
    pub(super) fn largest(&self) -> Vec<&[u8]> {
        let largest = self.parts.iter().max_by_key(|part| part.seen);
        largest.map(DirectionSample::messages).unwrap_or_default()
    }

    /// The messages of known direction, in order: true is from the client.
    pub(super) fn both(&self) -> Vec<(bool, &[u8])> {
        let [_, to_server, to_client] = &self.parts;
        let mut from_client = to_server.messages().into_iter();
        let mut from_server = to_client.messages().into_iter();
        self.order
            .iter()
            .filter_map(|&client| {
                let next = match client {
                    true => from_client.next(),
                    false => from_server.next(),
                };
                Some((client, next?))
            })
            .collect()
    }
}

impl DirectionSample {
    fn messages(&self) -> Vec<&[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins
            .zip(&self.ends)
            .filter_map(|(begin, &end)| self.bytes.get(begin..end))
            .collect()
    }
}

const BEFORE: &str = "the messages before it were read";
/// Enough to tell what a file is.
const HEAD_BYTES: usize = 16 << 10;
const PIECE_BYTES: usize = 256 << 10;
/// Bytes and messages that are kept of each direction.
const KEPT_BYTES_MAX: usize = 1 << 20;
const KEPT_MESSAGES_MAX: usize = 1 << 16;
const EXTENSIONS_MAX: usize = 1024;
