//! SIP messages from packets of a capture or of an interface.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use weir_capture::{Reader, Record};
use weir_clf::{Flags, Passage, Retransmission, Time, Transport};
use weir_packet::{Decoder, Needs, Options};
use weir_tables::{Constant, Note, Predicate, SipMessage, SipMessages, SipTransport, Table};

use super::job::Job;
use crate::failure::Failure;
use crate::frame::frame_of;
use crate::interface::Source;

/// Logs the messages of a capture; `-` is standard input.
pub(super) fn capture(input: &Path, job: &mut Job<'_>) -> Result<(), Failure> {
    let is_file = input.as_os_str() != "-";
    let source: Box<dyn Read> = match is_file {
        false => Box::new(io::stdin()),
        true => Box::new(File::open(input).map_err(|error| Failure::file(input, &error))?),
    };
    let name = input.display().to_string();
    let source = job.passing.through(source);
    let reader =
        Reader::new(source).map_err(|error| Failure::environment(format!("{name}: {error}")))?;
    // Only a file is watched for the signal: the program that writes into a pipe gets it, too, and closes the pipe.
    log(&name, reader, is_file, job)
}

/// Logs messages as they arrive, until the stop flag is set.
pub(super) fn live(
    name: &str,
    source: Source,
    ports: &[u16],
    job: &mut Job<'_>,
) -> Result<(), Failure> {
    let counts = source.counts();
    let wanted = of_ports(ports);
    let started = source.start(name, wanted.as_ref(), Arc::clone(job.stop.flag()));
    let failed = |error: &dyn std::fmt::Display| Failure::environment(format!("{name}: {error}"));
    let (packets, note) = started.map_err(|error| failed(&error))?;
    let reader = Reader::new(packets).map_err(|error| failed(&error))?;
    job.messages.note(&note);
    let outcome = log(name, reader, false, job);
    let remedy = "use a larger --buffer, or fewer packets with --port";
    counts.report(name, remedy, job.messages);
    outcome
}

/// The packets from or to one of the ports; `None` when that is all of them.
fn of_ports(ports: &[u16]) -> Option<Predicate> {
    if ports.is_empty() {
        return None;
    }
    let table = Table::packets();
    let constants: Vec<Constant> = ports
        .iter()
        .map(|&port| Constant::Integer(port.into()))
        .collect();
    let sides = ["port.src", "port.dst"].into_iter().map(|name| {
        let column = table.columns().get(table.position(name)?)?;
        Some(Predicate::In(column.clone(), constants.clone()))
    });
    Some(Predicate::Or(sides.collect::<Option<_>>()?))
}

/// Reads packets to their end, or with `until_stop` until the stop flag is set.
fn log<R: Read>(
    name: &str,
    mut reader: Reader<R>,
    until_stop: bool,
    job: &mut Job<'_>,
) -> Result<(), Failure> {
    let mut packets = Packets::default();
    let mut untimed = 0_u64;
    let mut outcome = Ok(());
    while outcome.is_ok() && !(until_stop && job.stop.is_requested()) {
        let record = match reader.next() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(error) if error.is_pause() => {
                job.pause()?;
                continue;
            }
            Err(error) => {
                job.messages.error(&format!("{name}: {error}"));
                job.tally.damaged += 1;
                break;
            }
        };
        untimed += u64::from(record.time_ns.is_none());
        packets.take(&record, &mut |bytes, passage| {
            if outcome.is_ok() {
                outcome = job.message(bytes, passage);
            }
        });
    }
    packets.finish(&mut |bytes, passage| {
        if outcome.is_ok() {
            outcome = job.message(bytes, passage);
        }
    });
    outcome?;
    if untimed > 0 {
        job.messages.warning(&format!(
            "{name}: {untimed} packets have no time; logged as 1970"
        ));
    }
    for note in packets.notes() {
        job.messages.note(&format!("{name}: {note}"));
    }
    Ok(())
}

/// Finds the messages of a capture, as the table `sip` does.
struct Packets {
    decoder: Decoder,
    messages: SipMessages,
}

impl Default for Packets {
    fn default() -> Self {
        Self {
            decoder: Decoder::new(Options::default(), [Needs::All]),
            messages: SipMessages::new(),
        }
    }
}

impl Packets {
    /// Calls `each` with the messages that the packet completes.
    fn take(&mut self, record: &Record<'_>, each: &mut dyn FnMut(&[u8], &Passage)) {
        let packet = self.decoder.decode(frame_of(record));
        self.messages.packet(&packet, &mut |message| {
            each(message.bytes, &passage(message));
        });
    }

    /// The capture is over: calls `each` with what waited for missing segments.
    fn finish(&mut self, each: &mut dyn FnMut(&[u8], &Passage)) {
        self.messages
            .finish(&mut |message| each(message.bytes, &passage(message)));
    }

    /// The notes about records that were not read.
    fn notes(&self) -> Vec<Note> {
        self.messages.notes()
    }
}

fn passage(message: &SipMessage<'_>) -> Passage {
    let way = &message.way;
    Passage {
        time: Time::from_nanoseconds(way.time_ns.unwrap_or(0)),
        source: Some(way.source()),
        destination: Some(way.destination()),
        // An observer of packets keeps no transactions.
        flags: Flags {
            response: false,
            retransmission: Some(Retransmission::Stateless),
            sent: Some(false),
            transport: Some(match way.transport {
                SipTransport::Tcp => Transport::Tcp,
                SipTransport::Sctp => Transport::Sctp,
                SipTransport::WebSocket => Transport::WebSocket,
                _ => Transport::Udp,
            }),
            encrypted: Some(false),
        },
    }
}
