//! `weir ws stats`: what the connections of captures agreed on, what it brings, and what is wrong.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_tables::{WebSocketEnds, WebSocketSight};
use weir_ws::{ConnectionEvent, Direction, Event, Message, ViolationKind, csv_value};

mod page;

use super::args::{ReportArgs, ReportFormat, Stats};
use super::print::{Sections, TextTable};
use super::{capture, input, live};
use crate::args::Global;
use crate::failure::Failure;
use crate::message::Messages;
use crate::progress::{Done, Progress};
use weir_output::grouped;
use weir_output::text::push_json_string;

/// Reads the captures, adds up, reports.
pub(super) fn run(args: &Stats, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    let format = args.report.chosen();
    let target = args.report.target(global)?;
    let counters = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    let progress = begin_progress(args, global, Arc::clone(&counters));
    for path in &args.captures {
        if path.as_os_str() != "-" {
            input::open(path)?;
        }
    }
    let mut audit = Audit::new();
    let mut damaged = false;
    if let Some(capture) = args.live.start(messages)? {
        let mut meter = capture.meter;
        let mut wanted = true;
        let mut done = |bytes: u64, records: u64| {
            counters.0.store(bytes, Ordering::Relaxed);
            counters.1.store(records, Ordering::Relaxed);
        };
        let outcome = capture::read(capture.packets, &mut done, &mut |sight| {
            if wanted && is_data(sight) {
                wanted = meter.take();
            }
            if wanted {
                audit.sight(0, sight);
            }
        });
        progress.finish();
        live::report(&capture.name, &capture.counts, messages);
        for note in outcome.map_err(|error| Failure::running(error.to_string()))? {
            messages.note(&format!("{}: {note}", capture.name));
        }
    }
    for (number, path) in args.captures.iter().enumerate() {
        let source: Box<dyn Read> = match path.as_os_str() == "-" {
            true => Box::new(io::stdin().lock()),
            false => Box::<File>::new(input::open(path)?),
        };
        let before = counters.0.load(Ordering::Relaxed);
        let mut done = |bytes: u64, records: u64| {
            counters
                .0
                .store(before.saturating_add(bytes), Ordering::Relaxed);
            counters.1.store(records, Ordering::Relaxed);
        };
        let mut each = |sight: &WebSocketSight<'_>| audit.sight(number, sight);
        match capture::read(source, &mut done, &mut each) {
            Ok(notes) => {
                for note in notes {
                    messages.note(&format!("{}: {note}", input::name(path)));
                }
            }
            Err(error) => {
                progress.finish();
                damaged = true;
                report_error(path, &error, messages);
            }
        }
    }
    progress.finish();
    let report = match format {
        ReportFormat::Csv => audit.csv(args),
        ReportFormat::Json => audit.json(args),
        ReportFormat::Html => audit.page(args),
        ReportFormat::Table => audit.tables(),
    };
    ReportArgs::write(target.as_ref(), &report)?;
    let faults = audit.violations.keys().any(|kind| is_fault(kind));
    Ok(ExitCode::from(u8::from(damaged || faults)))
}

/// Shows how many bytes and records were read, which are counted elsewhere.
fn begin_progress(args: &Stats, global: Global, seen: Arc<(AtomicU64, AtomicU64)>) -> Progress {
    let sizes = args
        .captures
        .iter()
        .map(|path| std::fs::metadata(path).ok());
    let total: Option<u64> = sizes.map(|size| size.map(|size| size.len())).sum();
    let bar = !args.no_progress && !global.quiet && io::stderr().is_terminal();
    Progress::start(bar, move || Done {
        bytes: seen.0.load(Ordering::Relaxed),
        records: seen.1.load(Ordering::Relaxed),
        bytes_total: total.filter(|&total| total > 0),
        pieces: None,
    })
}

/// A message that is not a control frame.
fn is_data(sight: &WebSocketSight<'_>) -> bool {
    matches!(sight.event, ConnectionEvent::Wire(_, Event::Message(message)) if !message.opcode.is_control())
}

fn report_error(path: &Path, error: &weir_capture::Error, messages: Messages) {
    let text = crate::message::chain(error);
    messages.error(&format!("{}: {text}", input::name(path)));
    if let Some(hint) = error.hint() {
        messages.hint(hint);
    }
}

/// All connections.
#[derive(Debug)]
struct Audit {
    /// The connections, by capture and number.
    connections: BTreeMap<(usize, u64), ConnectionLine>,
    /// The number of connections beyond [`CONNECTIONS_MAX`], which are only in the sums.
    further: u64,
    directions: [Sums; 2],
    /// Parameters that were agreed on, and how many connections did.
    agreed: HashMap<String, u64>,
    /// The number of violations of each kind.
    violations: BTreeMap<&'static str, u64>,
    /// The numbers of data messages of up to 1, 2, 4, 8 and so on bytes.
    sizes: [u64; 33],
    /// The numbers of data messages by the bytes of their payloads on the wire.
    wire_sizes: [u64; 33],
}

/// Connections with a line of their own.
const CONNECTIONS_MAX: usize = 1 << 16;
/// The number of connections in the printed table.
const CONNECTIONS_SHOWN: usize = 20;

#[derive(Debug)]
struct ConnectionLine {
    ends: WebSocketEnds,
    directions: [Sums; 2],
}

/// The sums of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    messages: u64,
    compressed: u64,
    control: u64,
    fragmented: u64,
    /// The bytes of data messages; `payload_bytes` is their size on the wire.
    message_bytes: u64,
    payload_bytes: u64,
    frame_bytes: u64,
    /// The bytes of messages that were sent compressed.
    inflated_bytes: u64,
    deflated_bytes: u64,
    distance_max: u32,
    stored_blocks: u64,
    fixed_blocks: u64,
    dynamic_blocks: u64,
    violations: u64,
}

impl Sums {
    fn add(&mut self, message: &Message<'_>) {
        self.frame_bytes = self.frame_bytes.saturating_add(message.frame_bytes);
        if message.opcode.is_control() {
            self.control += 1;
            return;
        }
        let bytes = message.payload.len() as u64;
        self.messages += 1;
        self.fragmented += u64::from(message.fragments > 1);
        self.message_bytes = self.message_bytes.saturating_add(bytes);
        self.payload_bytes = self
            .payload_bytes
            .saturating_add(message.payload_wire_bytes);
        if message.compressed {
            self.compressed += 1;
            self.inflated_bytes = self.inflated_bytes.saturating_add(bytes);
            self.deflated_bytes = self
                .deflated_bytes
                .saturating_add(message.payload_wire_bytes);
        }
        if let Some(inflated) = message.inflated {
            self.distance_max = self.distance_max.max(inflated.distance_max);
            self.stored_blocks += u64::from(inflated.stored_blocks);
            self.fixed_blocks += u64::from(inflated.fixed_blocks);
            self.dynamic_blocks += u64::from(inflated.dynamic_blocks);
        }
    }

    /// The ratio of the compressed messages.
    fn ratio(&self) -> Option<f64> {
        (self.inflated_bytes > 0).then(|| self.deflated_bytes as f64 / self.inflated_bytes as f64)
    }
}

/// Whether a violation is one of the standards, and not a limit or a gap of the capture.
fn is_fault(name: &str) -> bool {
    let beside = [
        ViolationKind::Cut,
        ViolationKind::Gap,
        ViolationKind::TooLong,
        ViolationKind::Bomb,
    ];
    let lost = ViolationKind::Inflate(weir_ws::InflateErrorKind::WindowLost);
    !beside.iter().chain([&lost]).any(|kind| kind.name() == name)
}

/// The class of [`Audit::sizes`] for a number of bytes.
fn class_of(bytes: u64) -> usize {
    let bits = u64::BITS - bytes.saturating_sub(1).leading_zeros();
    bits.min(32) as usize
}

impl Audit {
    fn new() -> Self {
        Self {
            connections: BTreeMap::new(),
            further: 0,
            directions: [Sums::default(); 2],
            agreed: HashMap::new(),
            violations: BTreeMap::new(),
            sizes: [0; 33],
            wire_sizes: [0; 33],
        }
    }

    fn sight(&mut self, capture: usize, sight: &WebSocketSight<'_>) {
        let key = (capture, sight.ends.connection);
        let room = self.connections.len() < CONNECTIONS_MAX;
        if let ConnectionEvent::Handshake(_) | ConnectionEvent::MidStream = sight.event {
            self.further += u64::from(!room);
            let agreed = match (&sight.ends.agreed, sight.ends.mid_stream) {
                (_, true) => "unknown: the connection began before the capture",
                (Some(agreed), _) => agreed,
                (None, _) => "no compression",
            };
            *self.agreed.entry(agreed.to_owned()).or_default() += 1;
            if room {
                let connection = ConnectionLine {
                    ends: sight.ends.clone(),
                    directions: [Sums::default(); 2],
                };
                self.connections.insert(key, connection);
            }
            if let ConnectionEvent::Handshake(handshake) = sight.event
                && handshake.fault.is_some()
            {
                *self.violations.entry(HANDSHAKE_FAULT).or_default() += 1;
            }
            return;
        }
        let ConnectionEvent::Wire(direction, event) = sight.event else {
            return;
        };
        let slot = usize::from(direction == Direction::ToClient);
        let own = self.connections.get_mut(&key);
        let own = own.and_then(|connection| connection.directions.get_mut(slot));
        for sums in own.into_iter().chain(self.directions.get_mut(slot)) {
            match event {
                Event::Message(message) => sums.add(&message),
                Event::Violation(_) => sums.violations += 1,
                _ => {}
            }
        }
        if let Event::Message(message) = event
            && !message.opcode.is_control()
        {
            let sizes = [
                (&mut self.sizes, message.payload.len() as u64),
                (&mut self.wire_sizes, message.payload_wire_bytes),
            ];
            for (classes, bytes) in sizes {
                if let Some(count) = classes.get_mut(class_of(bytes)) {
                    *count += 1;
                }
            }
        }
        if let Event::Violation(violation) = event {
            *self.violations.entry(violation.kind.name()).or_default() += 1;
        }
    }

    fn tables(&self) -> String {
        let mut text = format!("{} WebSocket connections\n", grouped(self.count()));
        self.totals().write(&mut text);
        self.by_connection(CONNECTIONS_SHOWN).write(&mut text);
        text
    }

    fn count(&self) -> u64 {
        self.connections.len() as u64 + self.further
    }

    /// The tables over all connections.
    fn totals(&self) -> Sections {
        let mut sections = Sections::default();
        let mut table = TextTable::new(&["negotiated", "connections"]);
        let mut agreed: Vec<_> = self.agreed.iter().collect();
        agreed.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
        for (parameters, count) in agreed.iter().take(CONNECTIONS_SHOWN) {
            table.row(vec![(*parameters).clone(), grouped(**count)]);
        }
        sections.table("Negotiated in the handshakes", table);
        let mut table = TextTable::new(&["", "to server", "to client"]);
        for (name, get) in LINES {
            table.row(vec![
                (*name).to_owned(),
                get(&self.directions[0]),
                get(&self.directions[1]),
            ]);
        }
        sections.table("All connections", table);
        let mut table = TextTable::new(&["violation", "times"]);
        for (kind, count) in &self.violations {
            table.row(vec![(*kind).to_owned(), grouped(*count)]);
        }
        sections.table("Violations, limits and missing bytes", table);
        sections
    }

    /// The table of the first `most` connections.
    fn by_connection(&self, most: usize) -> Sections {
        let mut sections = Sections::default();
        let headings = [
            "connection",
            "negotiated",
            "to server",
            "ratio",
            "to client",
            "ratio",
            "violations",
        ];
        let mut table = TextTable::new(&headings);
        for connection in self.connections.values().take(most) {
            let [to_server, to_client] = &connection.directions;
            let ratio = |sums: &Sums| sums.ratio().map_or("-".to_owned(), |r| format!("{r:.3}"));
            table.row(vec![
                connection.name(),
                connection.agreed().to_owned(),
                grouped(to_server.messages),
                ratio(to_server),
                grouped(to_client.messages),
                ratio(to_client),
                grouped(to_server.violations + to_client.violations),
            ]);
        }
        sections.table("Messages and ratio by connection", table);
        let hidden = self.count().saturating_sub(most as u64);
        if hidden > 0 {
            let hidden = grouped(hidden);
            sections.note(format!("{hidden} more connections: --format csv has them"));
        }
        sections
    }

    /// One line for each direction of each connection.
    fn csv(&self, args: &Stats) -> String {
        let mut text =
            String::from("capture,connection,client,server,target,agreed,mid_stream,direction");
        for (name, _) in NUMBERS {
            text.push(',');
            text.push_str(name);
        }
        text.push('\n');
        for (capture, connection, direction, sums) in self.lines(args) {
            let ends = &connection.ends;
            let target = ends
                .handshake
                .as_ref()
                .map_or("", |handshake| handshake.target.as_str());
            text.push_str(&format!(
                "{},{},{},{},{},{},{},{}",
                csv_value(&capture),
                ends.connection,
                end_text(ends.client),
                end_text(ends.server),
                csv_value(target),
                csv_value(connection.agreed()),
                ends.mid_stream,
                direction.name(),
            ));
            for (_, get) in NUMBERS {
                text.push_str(&format!(",{}", get(sums)));
            }
            text.push('\n');
        }
        text
    }

    /// An array of the same.
    fn json(&self, args: &Stats) -> String {
        let mut text = String::from("[");
        for (n, (capture, connection, direction, sums)) in self.lines(args).enumerate() {
            let ends = &connection.ends;
            text.push_str(if n > 0 { ",\n{" } else { "\n{" });
            let target = ends
                .handshake
                .as_ref()
                .map_or("", |handshake| handshake.target.as_str());
            let client = end_text(ends.client);
            let server = end_text(ends.server);
            let texts = [
                ("capture", capture.as_str()),
                ("client", &client),
                ("server", &server),
                ("target", target),
                ("agreed", connection.agreed()),
                ("direction", direction.name()),
            ];
            for (name, value) in texts {
                text.push_str(&format!("\"{name}\":"));
                push_json_string(&mut text, value);
                text.push(',');
            }
            text.push_str(&format!(
                "\"connection\":{},\"mid_stream\":{}",
                ends.connection, ends.mid_stream
            ));
            for (name, get) in NUMBERS {
                text.push_str(&format!(",\"{name}\":{}", get(sums)));
            }
            text.push('}');
        }
        text.push_str("\n]\n");
        text
    }

    fn lines(
        &self,
        args: &Stats,
    ) -> impl Iterator<Item = (String, &ConnectionLine, Direction, &Sums)> {
        let names: Vec<String> = match &args.live.capture.interface {
            Some(interface) => vec![interface.clone()],
            None => args.captures.iter().map(|path| input::name(path)).collect(),
        };
        self.connections
            .iter()
            .flat_map(move |((capture, _), connection)| {
                let name = names.get(*capture).cloned().unwrap_or_default();
                let directions = [Direction::ToServer, Direction::ToClient];
                let lines = directions.into_iter().zip(&connection.directions);
                lines.map(move |(direction, sums)| (name.clone(), connection, direction, sums))
            })
    }
}

const HANDSHAKE_FAULT: &str = "handshake breaks RFC 7692";

impl ConnectionLine {
    fn name(&self) -> String {
        let ends = &self.ends;
        let stream = ends.stream.map(|it| format!(", stream {it}"));
        let (client, server) = (end_text(ends.client), end_text(ends.server));
        format!("{client} > {server}{}", stream.unwrap_or_default())
    }

    fn agreed(&self) -> &str {
        match (&self.ends.agreed, self.ends.mid_stream) {
            (_, true) => "not known",
            (Some(agreed), _) => agreed,
            (None, _) => "no compression",
        }
    }
}

fn end_text(end: weir_flow::Endpoint) -> String {
    std::net::SocketAddr::new(end.address, end.port).to_string()
}

type ReportLine = (&'static str, fn(&Sums) -> String);

const LINES: &[ReportLine] = &[
    ("messages", |s| grouped(s.messages)),
    ("  sent compressed", |s| grouped(s.compressed)),
    ("  in fragments", |s| grouped(s.fragmented)),
    ("control frames", |s| grouped(s.control)),
    ("bytes of messages", |s| grouped(s.message_bytes)),
    ("bytes of payloads on the wire", |s| {
        grouped(s.payload_bytes)
    }),
    ("bytes of frames", |s| grouped(s.frame_bytes)),
    ("ratio of the compressed messages", |s| {
        s.ratio()
            .map_or("-".to_owned(), |ratio| format!("{ratio:.4}"))
    }),
    ("largest distance", |s| grouped(s.distance_max.into())),
    ("blocks stored, fixed, dynamic", |s| {
        format!(
            "{}, {}, {}",
            s.stored_blocks, s.fixed_blocks, s.dynamic_blocks
        )
    }),
    ("violations", |s| grouped(s.violations)),
];

type Number = (&'static str, fn(&Sums) -> u64);

const NUMBERS: &[Number] = &[
    ("messages", |s| s.messages),
    ("compressed_messages", |s| s.compressed),
    ("fragmented_messages", |s| s.fragmented),
    ("control_frames", |s| s.control),
    ("message_bytes", |s| s.message_bytes),
    ("payload_bytes", |s| s.payload_bytes),
    ("frame_bytes", |s| s.frame_bytes),
    ("inflated_bytes", |s| s.inflated_bytes),
    ("deflated_bytes", |s| s.deflated_bytes),
    ("distance_max", |s| s.distance_max.into()),
    ("stored_blocks", |s| s.stored_blocks),
    ("fixed_blocks", |s| s.fixed_blocks),
    ("dynamic_blocks", |s| s.dynamic_blocks),
    ("violations", |s| s.violations),
];
