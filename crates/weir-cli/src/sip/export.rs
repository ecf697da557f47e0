//! `weir sip export`: a call as a capture, and its audio as a WAV file.

mod sides;

use std::collections::HashSet;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, UInt32Type};
use clap::Args;
use weir_engine::{quote_literal, socket, texts};
use weir_messages::rtp::audio::{Law, SAMPLE_RATE, Track};

use self::sides::{Directions, Endpoint, Ends, Sides};
use super::ladder::{at, merged, no_call, paths};
use crate::args::Global;
use crate::failure::Failure;
use crate::message::Messages;
use crate::refusal::Refusal;
use crate::session::Session;
use crate::target::Target;

/// `weir sip export`.
#[derive(Args, Debug)]
#[command(
    about = "Write a call's packets, or its audio, to files",
    long_about = "Write a call's packets, or its audio, to files.\n\n\
        The capture has the SIP messages with the Call-ID and the RTP and RTCP that their SDP announced. The WAV file has G.711 \
        (A-law and µ-law) of one side on the left channel and of the other on the right, gaps as silence, up to an hour; the \
        caller is on the left if the capture shows who called, and the caller's audio and SIP have the same address.",
    after_help = EXAMPLES
)]
pub(super) struct ExportArgs {
    /// Captures; the packets of several are merged in the order of time
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    /// The Call-ID as in the messages
    #[arg(long, value_name = "ID")]
    call_id: String,
    /// The capture to write: x.pcap or x.pcapng
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The WAV file to write the audio to: x.wav
    #[arg(long, value_name = "FILE")]
    audio: Option<PathBuf>,
}

/// Runs `weir sip export`.
pub(super) fn run(
    args: &ExportArgs,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    if args.output.is_none() && args.audio.is_none() {
        return Err(Refusal::usage(
            "expected a file to write, found neither -o nor --audio",
            "-o call.pcap writes the packets, --audio call.wav the audio; both may be given",
        )
        .into());
    }
    if let Some(path) = args.output.as_deref().filter(|path| is_wav_name(path)) {
        return Err(Refusal::usage(
            format!("{} is not the name of a capture", path.display()),
            format!("--audio {} writes the audio", path.display()),
        )
        .into());
    }
    if let Some(path) = args.audio.as_deref().filter(|path| !is_wav_name(path)) {
        return Err(Refusal::usage(
            format!(
                "audio is written as a WAV file, found the name {}",
                path.display()
            ),
            "give the file a name that ends in .wav",
        )
        .into());
    }
    let mut code = ExitCode::SUCCESS;
    if let Some(path) = &args.audio {
        code = sound(args, path, global, messages)?;
    }
    if let Some(path) = &args.output {
        if args.audio.is_none() {
            let session = Session::new(&weir_engine::Options::default(), messages, !global.quiet)?;
            first_sender(&session, args)?;
        }
        code = crate::filter::call(&args.files, &args.call_id, path, global, messages)?;
    }
    Ok(code)
}

fn is_wav_name(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("wav"))
}

/// The address that sent the first message; an error when there is none.
fn first_sender(session: &Session, args: &ExportArgs) -> Result<String, Failure> {
    let found = first_source(session, args, "sip")?;
    found.ok_or_else(|| {
        // Damage may be the reason.
        session.report(false);
        no_call(&args.files, &args.call_id)
    })
}

/// The address that the call came from, where it is known which side called; an error when there is no message.
fn caller(session: &Session, args: &ExportArgs) -> Result<Option<String>, Failure> {
    match first_source(session, args, "calls")? {
        Some(caller) => Ok(Some(caller)),
        None => first_sender(session, args).map(|_| None),
    }
}

/// The first address of a sender that the rows of a table with the Call-ID have.
fn first_source(
    session: &Session,
    args: &ExportArgs,
    table: &str,
) -> Result<Option<String>, Failure> {
    let sql = format!(
        "SELECT addr.src AS src FROM {table}({}{}) WHERE sip.call_id = {} AND addr.src IS NOT NULL LIMIT 1",
        paths(&args.files),
        merged(&args.files),
        quote_literal(&args.call_id)
    );
    let mut found = None;
    for statement in session.parse(&sql)? {
        session.batches(statement, |batch| {
            let sources = texts(batch.column(0)).map_err(failed)?;
            found = found.take().or_else(|| at(&sources, 0).map(str::to_owned));
            Ok(())
        })?;
    }
    Ok(found)
}

/// The directions of a call's media that SDP announced as SRTP.
fn secure_directions(session: &Session, args: &ExportArgs) -> Result<HashSet<Ends>, Failure> {
    let sql = format!(
        "SELECT addr.src AS src, port.src AS src_port, addr.dst AS dst, port.dst AS dst_port FROM media({}{}) \
         WHERE sip.call_id = {} AND media.secure",
        paths(&args.files),
        merged(&args.files),
        quote_literal(&args.call_id)
    );
    let mut found = HashSet::new();
    for statement in session.parse(&sql)? {
        session.batches(statement, |batch| {
            let ends = EndColumns::of(batch).map_err(failed)?;
            found.extend((0..batch.num_rows()).map(|row| ends.at(row)));
            Ok(())
        })?;
    }
    Ok(found)
}

fn sound(
    args: &ExportArgs,
    path: &Path,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    let target = Target::new(path, global)?;
    let sql = format!(
        "SELECT frame.time AS time, addr.src AS src, port.src AS src_port, addr.dst AS dst, port.dst AS dst_port, \
         rtp.ssrc AS ssrc, rtp.timestamp AS timestamp, rtp.codec AS codec, rtp.payload AS payload \
         FROM rtp({}{}) WHERE sip.call_id = {}",
        paths(&args.files),
        merged(&args.files),
        quote_literal(&args.call_id)
    );
    // The first reading shows the directions, and the second one, which has the same notes, is the sound.
    let options = weir_engine::Options::default();
    let first = Session::new(&options, messages, !global.quiet)?;
    let caller = caller(&first, args)?;
    let secure = secure_directions(&first, args)?;
    let mut directions = Directions::default();
    each_packet(&first, &sql, &mut |packet| {
        if packet.law.is_some() && !secure.contains(&packet.ends) {
            directions.take(&packet.ends, packet.time_ns);
        }
    })?;
    drop(first);
    let session = Session::new(&options, messages, !global.quiet)?;
    let mut audio = CallAudio {
        sides: directions.sides(caller.as_deref()),
        secure,
        ..CallAudio::default()
    };
    each_packet(&session, &sql, &mut |packet| audio.take(packet))?;
    if audio.packets == 0 {
        session.close(false);
        let message = format!(
            "the call with Call-ID '{}' has no audio in G.711",
            args.call_id
        );
        return Err(Failure::running(message).with_hint(format!(
            "weir query \"SELECT media.codec, media.secure, media.packets FROM media({}) WHERE sip.call_id = {}\" lists its \
             streams",
            paths(&args.files),
            quote_literal(&args.call_id)
        )));
    }
    let wave = audio
        .wave()
        .map_err(|error| Failure::running(error.to_string()))?;
    target.put(&wave)?;
    if audio.others > 0 {
        messages.note(&format!(
            "{} audio packets of other codecs than G.711 were left out",
            audio.others
        ));
    }
    if audio.sealed > 0 {
        messages.note(&format!(
            "{} audio packets were left out, because they are encrypted (SRTP)",
            audio.sealed
        ));
    }
    if audio.of_other_legs > 0 {
        messages.note(&format!(
            "{} audio packets were left out, because another leg of the call has the sound of their side at the same time, as beyond a relay",
            audio.of_other_legs
        ));
    }
    let dropped: u64 = audio.tracks.iter().map(Track::dropped).sum();
    if dropped > 0 {
        messages.note(&format!(
            "{dropped} audio packets were left out, because they arrived more than an hour after the first"
        ));
    }
    Ok(session.close(false))
}

fn failed(error: arrow::error::ArrowError) -> Failure {
    Failure::running(error.to_string())
}

/// A packet of the audio of a call.
struct AudioPacket<'b> {
    time_ns: i64,
    ends: Ends,
    ssrc: u32,
    timestamp: u32,
    /// `None` for other codecs than G.711.
    law: Option<Law>,
    payload: &'b [u8],
}

/// Calls `each` with the packets of speech that a query finds.
fn each_packet(
    session: &Session,
    sql: &str,
    each: &mut dyn FnMut(AudioPacket<'_>),
) -> Result<(), Failure> {
    for statement in session.parse(sql)? {
        session.batches(statement, |batch| packets(batch, each).map_err(failed))?;
    }
    Ok(())
}

/// Calls `each` with the packets of speech of a batch.
fn packets(
    batch: &RecordBatch,
    each: &mut dyn FnMut(AudioPacket<'_>),
) -> Result<(), arrow::error::ArrowError> {
    let column = |name: &str| column(batch, name);
    let number = |name: &str| cast(column(name)?, &DataType::UInt32);
    let times = cast(column("time")?, &DataType::Int64)?;
    let times = times.as_primitive::<Int64Type>();
    let (ends, codec) = (EndColumns::of(batch)?, texts(column("codec")?)?);
    let (ssrc, timestamp) = (number("ssrc")?, number("timestamp")?);
    let payload = cast(column("payload")?, &DataType::Binary)?;
    let payload = payload.as_binary::<i32>();
    for row in 0..batch.num_rows() {
        let law = at(&codec, row).and_then(Law::of_codec);
        // Keys and comfort noise are no speech.
        let is_speech = at(&codec, row).is_none_or(|codec| {
            !["telephone-event", "CN"]
                .iter()
                .any(|name| codec.eq_ignore_ascii_case(name))
        });
        let is_whole = !times.is_null(row) && !payload.is_null(row);
        if !is_speech || (law.is_some() && !is_whole) {
            continue;
        }
        each(AudioPacket {
            time_ns: times.value(row),
            ends: ends.at(row),
            ssrc: number_at(&ssrc, row).unwrap_or_default(),
            timestamp: number_at(&timestamp, row).unwrap_or_default(),
            law,
            payload: payload.value(row),
        });
    }
    Ok(())
}

/// The columns with the ends of directions.
struct EndColumns {
    addresses: [StringArray; 2],
    ports: [ArrayRef; 2],
}

impl EndColumns {
    fn of(batch: &RecordBatch) -> Result<Self, arrow::error::ArrowError> {
        let port = |name| cast(column(batch, name)?, &DataType::UInt32);
        Ok(Self {
            addresses: [texts(column(batch, "src")?)?, texts(column(batch, "dst")?)?],
            ports: [port("src_port")?, port("dst_port")?],
        })
    }

    fn at(&self, row: usize) -> Ends {
        let end = |addresses: &StringArray, ports: &ArrayRef| {
            let address = at(addresses, row);
            let port = number_at(ports, row).and_then(|port| u16::try_from(port).ok());
            Endpoint {
                address: address.unwrap_or_default().to_owned(),
                socket: socket(address, port),
            }
        };
        let ([src, dst], [src_port, dst_port]) = (&self.addresses, &self.ports);
        (end(src, src_port), end(dst, dst_port))
    }
}

fn column<'b>(
    batch: &'b RecordBatch,
    name: &str,
) -> Result<&'b ArrayRef, arrow::error::ArrowError> {
    let missing = || arrow::error::ArrowError::SchemaError(format!("no column {name}"));
    batch.column_by_name(name).ok_or_else(missing)
}

/// The audio of a call.
#[derive(Debug, Default)]
struct CallAudio {
    sides: Sides,
    /// The directions that SDP announced as SRTP.
    secure: HashSet<Ends>,
    begin_ns: Option<i64>,
    tracks: [Track; 2],
    packets: u64,
    others: u64,
    sealed: u64,
    of_other_legs: u64,
}

impl CallAudio {
    fn take(&mut self, packet: AudioPacket<'_>) {
        let Some(law) = packet.law else {
            self.others = self.others.saturating_add(1);
            return;
        };
        if self.secure.contains(&packet.ends) {
            self.sealed = self.sealed.saturating_add(1);
            return;
        }
        let side = self.sides.of(&packet.ends);
        let Some(track) = side.and_then(|side| self.tracks.get_mut(side)) else {
            self.of_other_legs = self.of_other_legs.saturating_add(1);
            return;
        };
        let begin_ns = *self.begin_ns.get_or_insert(packet.time_ns);
        let since_ns = packet.time_ns.saturating_sub(begin_ns);
        track.push(since_ns, packet.ssrc, packet.timestamp, law, packet.payload);
        self.packets = self.packets.saturating_add(1);
    }

    /// The sound as a WAV file.
    fn wave(&self) -> Result<Vec<u8>, hound::Error> {
        let format = hound::WavSpec {
            channels: 2,
            sample_rate: SAMPLE_RATE,
            bits_per_sample: 16,
            sample_format: hound::SampleFormat::Int,
        };
        let mut file = Cursor::new(Vec::new());
        let mut writer = hound::WavWriter::new(&mut file, format)?;
        let [left, right] = &self.tracks;
        // Both begin with the one that has more before the beginning.
        let lead = left.lead().max(right.lead());
        let sides = [left, right].map(|track| (lead.saturating_sub(track.lead()), track.samples()));
        let lengths = sides.map(|(before, samples)| before.saturating_add(samples.len()));
        for at in 0..lengths[0].max(lengths[1]) {
            for (before, samples) in sides {
                let sample = at.checked_sub(before).and_then(|at| samples.get(at));
                writer.write_sample(sample.copied().unwrap_or(0))?;
            }
        }
        writer.finalize()?;
        Ok(file.into_inner())
    }
}

const EXAMPLES: &str = "\
Examples:
  weir sip export trace.pcap --call-id 1-23716@127.0.0.1 -o call.pcap
  weir sip export west.pcap east.pcap --call-id 1-23716@127.0.0.1 --audio call.wav";

fn number_at(array: &ArrayRef, row: usize) -> Option<u32> {
    let array = array.as_primitive::<UInt32Type>();
    array.is_valid(row).then(|| array.value(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_begin_together_where_the_first_packets_of_one_are_out_of_order() {
        let mut audio = CallAudio::default();
        let [left, right] = &mut audio.tracks;
        left.push(0, 1, 160, Law::Mu, &[0x80; 160]);
        left.push(1_000_000, 1, 0, Law::Mu, &[0x80; 160]);
        right.push(0, 2, 0, Law::Mu, &[0x00; 160]);
        let wave = audio.wave().unwrap();
        let reader = hound::WavReader::new(Cursor::new(wave)).unwrap();
        let samples: Vec<i16> = reader.into_samples().map(Result::unwrap).collect();
        let of = |side: usize| samples.iter().skip(side).step_by(2 * 160).copied();
        assert_eq!(of(0).collect::<Vec<_>>(), [32_124, 32_124]);
        assert_eq!(of(1).collect::<Vec<_>>(), [0, -32_124]);
    }
}
