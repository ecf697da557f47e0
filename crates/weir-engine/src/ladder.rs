//! A call out of captures as a ladder: the statements for it, and the diagram of their answers.

use std::collections::HashMap;
use std::net::SocketAddr;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow::error::ArrowError;
use weir_packet::Address;
use weir_sip::{Caption, Ladder, Step, is_failure};

/// A call on its way to a ladder: the caller runs [`CallLadder::messages_sql`] and [`CallLadder::media_sql`], passes
/// the batches of the answers to it, and gets the drawing.
///
/// ```
/// let sql = weir_engine::CallLadder::messages_sql("'trace.pcap'", "'a84b4c76e66710'");
/// assert!(sql.ends_with("FROM sip('trace.pcap') WHERE sip.call_id = 'a84b4c76e66710'"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct CallLadder {
    messages: Vec<Step>,
    media: Vec<MediaStream>,
    is_cut: bool,
    text_bytes: usize,
}

/// The first column of each address that SIP came from.
type ColumnsOf<'l> = HashMap<&'l str, &'l str>;

/// A stream of sound, of video or of a fax of a call, as the table `media` has it.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct MediaStream {
    /// When its first packet came, in nanoseconds since 1970.
    pub start_ns: Option<i64>,
    /// The address that it came from.
    pub from: Option<String>,
    /// The port that it came from.
    pub from_port: Option<u16>,
    /// The address that it went to.
    pub to: Option<String>,
    /// The port that it went to.
    pub to_port: Option<u16>,
    /// `RTP` or `T.38`.
    pub protocol: Option<String>,
    /// The codec.
    pub codec: Option<String>,
    /// Packets that came.
    pub packets: Option<u64>,
    /// Packets that did not come; less than 0 where more came than were expected.
    pub lost: Option<i64>,
    /// The lost packets in percent of the expected ones.
    pub lost_percent: Option<f64>,
    /// Mean jitter in milliseconds.
    pub jitter_ms: Option<f64>,
    /// Mean opinion score, from 1 to 5.
    pub mos: Option<f64>,
}

impl CallLadder {
    /// Messages that are kept, more than a drawing has; and streams.
    pub const MESSAGES_MAX: usize = 20_000;
    /// Bytes of the messages that are kept.
    pub const TEXT_BYTES_MAX: usize = 16 << 20;

    /// The question for the messages of a call. `captures` are the arguments of a table function, as SQL writes them; so is
    /// `call_id`.
    #[must_use]
    pub fn messages_sql(captures: &str, call_id: &str) -> String {
        format!(
            "SELECT frame.time AS time, addr.src AS src, port.src AS src_port, \
             addr.dst AS dst, port.dst AS dst_port, sip.method AS method, sip.status_code AS status, \
             sip.reason_phrase AS reason, sip.cseq.seq AS seq, sip.cseq.method AS cseq_method, \
             sip.resend AS resend, frame.number AS frame, \
             coalesce(sip.request_line, sip.status_line) AS line, sip.msg_hdr AS head, sip.msg_body AS body, \
             lower(sip.content_type) LIKE 'application/sdp%' AND sip.msg_body IS NOT NULL AS sdp \
             FROM sip({captures}) WHERE sip.call_id = {call_id}"
        )
    }

    /// The question for its streams of media.
    #[must_use]
    pub fn media_sql(captures: &str, call_id: &str) -> String {
        format!(
            "SELECT media.start AS time, addr.src AS src, port.src AS src_port, addr.dst AS dst, port.dst AS dst_port, \
             media.protocol AS protocol, media.codec AS codec, media.packets AS packets, media.lost AS lost, media.lost_percent AS lost_percent, \
             media.jitter_mean AS jitter, media.mos AS mos FROM media({captures}) WHERE sip.call_id = {call_id}"
        )
    }

    /// Adds a batch of the answer of [`CallLadder::messages_sql`], up to [`CallLadder::MESSAGES_MAX`] messages in all.
    ///
    /// # Errors
    /// When it is the answer of another question.
    pub fn push_messages(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        steps(batch)?
            .into_iter()
            .for_each(|step| self.push_step(step));
        Ok(())
    }

    /// Adds a batch of the answer of [`CallLadder::media_sql`].
    ///
    /// # Errors
    /// When it is the answer of another question.
    pub fn push_media(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        streams(batch)?
            .into_iter()
            .for_each(|stream| self.push_stream(stream));
        Ok(())
    }

    /// Adds a message of another source.
    pub fn push_step(&mut self, step: Step) {
        let text = step.text.as_ref().map_or(0, String::len);
        self.text_bytes = self.text_bytes.saturating_add(text);
        match self.messages.len() < Self::MESSAGES_MAX && self.text_bytes <= Self::TEXT_BYTES_MAX {
            true => self.messages.push(step),
            false => self.is_cut = true,
        }
    }

    /// Adds a stream of another source.
    pub fn push_stream(&mut self, stream: MediaStream) {
        if self.media.len() < Self::MESSAGES_MAX {
            self.media.push(stream);
        }
    }

    /// The messages so far.
    #[must_use]
    pub fn messages(&self) -> &[Step] {
        &self.messages
    }

    /// There were more messages than are kept.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The streams so far.
    #[must_use]
    pub fn media(&self) -> &[MediaStream] {
        &self.media
    }

    /// The drawing, under a title; `None` when the call has no message.
    #[must_use]
    pub fn drawn(&self, title: &str) -> Option<Ladder> {
        if self.messages.is_empty() {
            return None;
        }
        let columns = self.columns();
        let bars = self.media.iter().map(|stream| bar(stream, &columns));
        let mut all: Vec<Step> = self.messages.iter().cloned().chain(bars).collect();
        all.sort_by_key(|step| step.time_ns);
        let mut ladder = Ladder::new(title);
        for step in all {
            ladder.push(step);
        }
        Some(ladder)
    }

    fn columns(&self) -> ColumnsOf<'_> {
        let mut columns = HashMap::new();
        for step in &self.messages {
            let column = step.from.as_str();
            let known = column.rsplit_once(':').map_or(column, |(known, _)| known);
            columns
                .entry(known.trim_matches(['[', ']']))
                .or_insert(column);
        }
        columns
    }
}

/// The bar of a stream. It has the column of the party that sent SIP from the same address.
fn bar(stream: &MediaStream, columns: &ColumnsOf<'_>) -> Step {
    let (from, to) = (stream.from.as_deref(), stream.to.as_deref());
    let of = |address: Option<&str>| columns.get(address?).copied();
    // The sockets replace the columns when both addresses are of one party, as behind a proxy: the bar would have no length.
    let (from, to) = match (of(from), of(to)) {
        (Some(from), Some(to)) if from != to => (from.to_owned(), to.to_owned()),
        _ => (socket(from, stream.from_port), socket(to, stream.to_port)),
    };
    Step {
        time_ns: stream.start_ns,
        from,
        to,
        label: stream.label(),
        is_media: true,
        ..Step::default()
    }
}

impl MediaStream {
    /// The label of its bar: codec, loss and score.
    #[must_use]
    pub fn label(&self) -> String {
        let protocol = self.protocol.as_deref().unwrap_or("RTP");
        let mut label = match (protocol, self.codec.as_deref()) {
            ("RTP", codec) => format!("RTP {}", codec.unwrap_or("?")),
            (other, _) => other.to_owned(),
        };
        if let Some(lost) = self.lost_percent {
            label.push_str(&format!(", {:.1} % lost", lost.max(0.0)));
        }
        if let Some(mos) = self.mos {
            label.push_str(&format!(", MOS {mos:.1}"));
        }
        label
    }

    /// The sockets of sender and receiver.
    #[must_use]
    pub fn ends(&self) -> (String, String) {
        (
            socket(self.from.as_deref(), self.from_port),
            socket(self.to.as_deref(), self.to_port),
        )
    }
}

/// The columns of a batch, by name.
struct Columns<'b>(&'b RecordBatch);

impl Columns<'_> {
    fn of(&self, name: &str) -> Result<&ArrayRef, ArrowError> {
        let missing = || ArrowError::SchemaError(format!("no column {name}"));
        self.0.column_by_name(name).ok_or_else(missing)
    }

    fn texts(&self, name: &str) -> Result<StringArray, ArrowError> {
        texts(self.of(name)?)
    }

    fn cast(&self, name: &str, to: &DataType) -> Result<ArrayRef, ArrowError> {
        cast(self.of(name)?, to)
    }
}

fn streams(batch: &RecordBatch) -> Result<Vec<MediaStream>, ArrowError> {
    let columns = Columns(batch);
    let times = columns.cast("time", &DataType::Int64)?;
    let lost = columns.cast("lost", &DataType::Int64)?;
    let packets = columns.cast("packets", &DataType::UInt64)?;
    let (src, dst) = (columns.texts("src")?, columns.texts("dst")?);
    let (protocol, codec) = (columns.texts("protocol")?, columns.texts("codec")?);
    let ports = |name| columns.cast(name, &DataType::UInt32);
    let (src_port, dst_port) = (ports("src_port")?, ports("dst_port")?);
    let amount = |name| columns.cast(name, &DataType::Float64);
    let (percent, jitter, mos) = (amount("lost_percent")?, amount("jitter")?, amount("mos")?);
    let whole = |array: &ArrayRef, row| {
        let array = array.as_primitive::<Int64Type>();
        array.is_valid(row).then(|| array.value(row))
    };
    let share = |array: &ArrayRef, row| {
        let array = array.as_primitive::<Float64Type>();
        array.is_valid(row).then(|| array.value(row))
    };
    let counts = packets.as_primitive::<UInt64Type>();
    let streams = (0..batch.num_rows()).map(|row| MediaStream {
        start_ns: whole(&times, row),
        from: at(&src, row).map(str::to_owned),
        from_port: port_at(&src_port, row),
        to: at(&dst, row).map(str::to_owned),
        to_port: port_at(&dst_port, row),
        protocol: at(&protocol, row).map(str::to_owned),
        codec: at(&codec, row).map(str::to_owned),
        packets: counts.is_valid(row).then(|| counts.value(row)),
        lost: whole(&lost, row),
        lost_percent: share(&percent, row),
        jitter_ms: share(&jitter, row),
        mos: share(&mos, row),
    });
    Ok(streams.collect())
}

/// The steps of a batch of [`CallLadder::messages_sql`].
fn steps(batch: &RecordBatch) -> Result<Vec<Step>, ArrowError> {
    let columns = Columns(batch);
    let column = |name| columns.of(name);
    let number = |name: &str| columns.cast(name, &DataType::UInt32);
    let text = |name: &str| columns.texts(name);
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
    // A response whose status line has no code of three digits has no method either; its code is 0, as in the digest of a message.
    let code = |row| {
        let code = number_at(&status, row).and_then(|status| u16::try_from(status).ok());
        method.is_null(row).then(|| code.unwrap_or(0))
    };
    let steps = (0..batch.num_rows()).map(|row| Step {
        time_ns: times.is_valid(row).then(|| times.value(row)),
        from: socket(at(&src, row), port_at(&src_port, row)),
        to: socket(at(&dst, row), port_at(&dst_port, row)),
        label: Caption {
            method: at(&method, row).map(str::as_bytes),
            status: code(row)
                .map(|status| (status, at(&reason, row).unwrap_or_default().as_bytes())),
            cseq: number_at(&seq, row)
                .map(|seq| (seq, at(&cseq_method, row).unwrap_or_default().as_bytes())),
            has_sdp: sdp.is_valid(row) && sdp.value(row),
        }
        .label(),
        is_repeat: resend.is_valid(row) && resend.value(row),
        is_response: method.is_null(row),
        is_failure: code(row).is_some_and(is_failure),
        frame: frames.is_valid(row).then(|| frames.value(row)),
        text: whole(&lines, &heads, &bodies, row),
        ..Step::default()
    });
    Ok(steps.collect())
}

/// The text of a message, if it is legible.
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

/// A column as texts, addresses as they are written.
///
/// # Errors
/// When it has a type that is not text and cannot become it.
pub fn texts(array: &ArrayRef) -> Result<StringArray, ArrowError> {
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

fn port_at(array: &ArrayRef, row: usize) -> Option<u16> {
    number_at(array, row).and_then(|port| u16::try_from(port).ok())
}

/// An address and a port as the heading of a column has them: `10.0.0.1:5060`, `[2001:db8::1]:5060`.
#[must_use]
pub fn socket(address: Option<&str>, port: Option<u16>) -> String {
    let address = address.unwrap_or("?");
    match (address.parse(), port) {
        (Ok(ip), Some(port)) => SocketAddr::new(ip, port).to_string(),
        (_, Some(port)) => format!("{address}:{port}"),
        (_, None) => address.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_are_sockets() {
        assert_eq!(socket(Some("10.0.0.1"), Some(5060)), "10.0.0.1:5060");
        assert_eq!(socket(Some("2001:db8::1"), Some(1)), "[2001:db8::1]:1");
        assert_eq!(socket(Some("::1"), None), "::1");
        assert_eq!(socket(None, None), "?");
    }

    #[test]
    fn a_stream_is_drawn_between_the_senders_of_sip_at_its_addresses() {
        let end = |port: u16| format!("10.0.0.{port}:5060");
        let step = |time, from, to| Step {
            time_ns: Some(time),
            from: end(from),
            to: end(to),
            label: "INVITE".to_owned(),
            ..Step::default()
        };
        let mut call = CallLadder::default();
        assert!(call.drawn("x").is_none());
        call.messages = vec![step(1, 1, 2), step(3, 2, 1)];
        call.media = vec![MediaStream {
            start_ns: Some(2),
            from: Some("10.0.0.1".to_owned()),
            from_port: Some(4000),
            to: Some("10.0.0.2".to_owned()),
            to_port: Some(4002),
            codec: Some("PCMA".to_owned()),
            lost_percent: Some(3.0),
            mos: Some(4.04),
            ..MediaStream::default()
        }];
        let of_party = bar(&call.media[0], &call.columns());
        assert_eq!((of_party.from, of_party.to), (end(1), end(2)));
        assert_eq!(of_party.label, "RTP PCMA, 3.0 % lost, MOS 4.0");
        assert_eq!(call.media[0].ends().0, "10.0.0.1:4000");
        let fax = MediaStream {
            protocol: Some("T.38".to_owned()),
            codec: Some("t38".to_owned()),
            lost_percent: Some(0.0),
            ..MediaStream::default()
        };
        assert_eq!(fax.label(), "T.38, 0.0 % lost");
        let text = call.drawn("x").unwrap().text();
        let at = |word: &str| text.find(word).unwrap();
        assert!(at("INVITE") < at("RTP PCMA"), "{text}");
    }

    /// Twenty thousand long messages were a gigabyte in the memory of a server.
    #[test]
    fn messages_that_are_kept_have_some_megabytes() {
        let step = Step {
            text: Some("x".repeat(CallLadder::TEXT_BYTES_MAX / 4)),
            ..Step::default()
        };
        let mut call = CallLadder::default();
        for _ in 0..4 {
            call.push_step(step.clone());
        }
        assert!(!call.is_cut());
        call.push_step(step);
        assert!(call.is_cut());
        assert_eq!(call.messages().len(), 4);
    }
}
