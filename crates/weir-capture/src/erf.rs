//! ERF: records of 16 bytes of header and a payload, without a file header (Endace ERF types, version 21).

use std::io::Read;

use weir_bytes::{Reader as Bytes, Short, u64_be_at, u64_le_at};

use crate::{
    Error, Interface,
    buffer::Buffer,
    error::Reason,
    input::InputError,
    plausible::{Candidate, Plausible},
    stream::{FoundRecord, Span, Stream},
};

/// Reads records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Erf {
    /// Index of the interface that each port has become. Ports become interfaces in the order of
    /// their first records, padding included, as in Wireshark.
    ports: [Option<usize>; PORTS],
}

impl Erf {
    pub(crate) fn new() -> Self {
        Self {
            ports: [None; PORTS],
        }
    }

    /// The interface of the port that the flags of a record name.
    #[inline]
    fn interface<R: Read>(&mut self, stream: &mut Stream<R>, flags: u8) -> usize {
        let port = &mut self.ports[usize::from(flags) % PORTS];
        *port.get_or_insert_with(|| {
            let index = stream.interfaces.len();
            let mut interface = Interface::new(LINK_TYPE);
            // There are no more than four.
            interface.id = index as u32;
            // The names are those of Wireshark.
            let number = usize::from(flags) % PORTS;
            let letter = char::from(b'A' + flags % PORTS as u8);
            interface.name = Some(format!("Port {letter} (ERF Interface {number})"));
            stream.interfaces.push(interface);
            index
        })
    }

    /// A bit for each port that had a record.
    pub(crate) fn ports(&self) -> u8 {
        (0..PORTS).fold(0_u8, |known, port| {
            known | u8::from(self.ports[port].is_some()) << port
        })
    }

    /// Finds the next record that is not padding and passes over it.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as Reader::next")]
    pub(crate) fn find<R: Read>(
        &mut self,
        stream: &mut Stream<R>,
    ) -> Result<Option<FoundRecord>, Error> {
        loop {
            if stream.is_at_stop() {
                return Ok(None);
            }
            let Some(header) = RecordHeader::parse(stream.buffer.window()) else {
                if stream.more(HEADER_LEN, "the record header")? {
                    continue;
                }
                return Ok(None);
            };
            let record_len = usize::from(header.record_len);
            if record_len < HEADER_LEN || (record_len == HEADER_LEN && !header.is_pad()) {
                return Err(stream.damaged(Reason::Unexpected {
                    part: "the length of the record",
                    expected: "more than 16",
                    found: u64::from(header.record_len),
                }));
            }
            if stream.buffer.window().len() < record_len {
                stream.need(record_len, HEADER_LEN, "the record")?;
            }
            let interface = self.interface(stream, header.flags);
            if header.is_pad() {
                stream.buffer.consume(record_len);
                continue;
            }
            stream.number += 1;
            let found = FoundRecord {
                number: stream.number,
                offset: stream.buffer.offset(),
                time_ns: Some(time_ns(header.timestamp)),
                wire_len: u32::from(header.wire_len),
                flags: None,
                interface,
                data: Span {
                    position: stream.buffer.position(),
                    len: record_len,
                },
                comment: None,
            };
            stream.buffer.consume(record_len);
            return Ok(Some(found));
        }
    }
}

impl Plausible for Erf {
    fn record(&self, bytes: &[u8]) -> Option<Candidate> {
        let header = RecordHeader::parse(bytes)?;
        let len = usize::from(header.record_len);
        let record = bytes.get(..len).unwrap_or(bytes);
        let plausible = plausible_type(header.kind)
            && len >= HEADER_LEN
            && (header.is_pad() || record.len() < len || headers_len(record).is_ok());
        plausible.then(|| Candidate {
            len,
            time_ns: (!header.is_pad()).then(|| time_ns(header.timestamp)),
        })
    }

    fn header_len(&self) -> usize {
        HEADER_LEN
    }
}

/// Reads as much as it takes to tell whether the stream is ERF.
pub(crate) fn detect<R: Read>(buffer: &mut Buffer<R>) -> Result<bool, InputError> {
    let mut complete = false;
    loop {
        match chain(buffer.window(), complete) {
            Verdict::More(count) if !complete => complete = !buffer.ensure(count)?,
            verdict => return Ok(verdict == Verdict::Erf),
        }
    }
}

/// Whether a stream with this beginning is certainly ERF.
pub(crate) fn sniff(prefix: &[u8]) -> bool {
    chain(prefix, false) == Verdict::Erf
}

/// The fixed header of a record.
#[derive(Clone, Copy, Debug)]
struct RecordHeader {
    /// Seconds since 1970 in the high half, their fraction in the low one.
    timestamp: u64,
    /// Type, without the bit that says that an extension header follows.
    kind: u8,
    /// The port that captured it in bits 0 and 1.
    flags: u8,
    /// Bytes of the whole record.
    record_len: u16,
    wire_len: u16,
}

impl RecordHeader {
    /// Decodes the header at the start of `bytes`; `None` when there are fewer than 16.
    #[inline]
    fn parse(bytes: &[u8]) -> Option<Self> {
        let raw = bytes.first_chunk::<HEADER_LEN>()?;
        // All that stands behind the time, in one word.
        let word = u64_be_at(raw, 8)?;
        Some(Self {
            timestamp: u64_le_at(raw, 0)?,
            kind: (word >> 56) as u8 & 0x7f,
            flags: (word >> 48) as u8,
            record_len: (word >> 32) as u16,
            wire_len: word as u16,
        })
    }

    /// A record that only fills space.
    #[inline]
    fn is_pad(&self) -> bool {
        self.kind == TYPE_PAD
    }
}

/// 32.32 fixed point to nanoseconds, rounded to the nearest as Wireshark does.
#[inline]
fn time_ns(timestamp: u64) -> i64 {
    let seconds = (timestamp >> 32) as i64;
    let fraction = (timestamp & 0xffff_ffff) * 1_000_000_000;
    // The number is below 2^62 + 2^30, so that nothing overflows.
    seconds * 1_000_000_000 + ((fraction + (1 << 31)) >> 32) as i64
}

/// The result of looking at the first records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Erf,
    Other,
    /// The decision takes this many bytes at least.
    More(usize),
}

/// Searches a chain of plausible records at the start of a stream. `complete` says that `bytes` is the whole stream.
///
/// There is no magic number, so the first packets must agree, padding not counted: known types, lengths that
/// hold the headers of the type, times that neither fall by more than a second nor jump by more
/// than a year.
fn chain(bytes: &[u8], complete: bool) -> Verdict {
    let mut reader = Bytes::new(bytes);
    let mut before: Option<u64> = None;
    let mut packets = 0;
    for _ in 0..RECORDS_TO_TRY {
        if complete && reader.is_empty() && packets > 0 {
            return Verdict::Erf;
        }
        let record = reader.rest();
        let Some(header) = RecordHeader::parse(record) else {
            return Verdict::More(reader.offset() + HEADER_LEN);
        };
        let record_len = usize::from(header.record_len);
        if record_len < HEADER_LEN || !plausible_type(header.kind) {
            return Verdict::Other;
        }
        if !header.is_pad() && before.is_some_and(|before| !follows(before, header.timestamp)) {
            return Verdict::Other;
        }
        if reader.skip(record_len).is_err() {
            return Verdict::More(reader.offset() + record_len);
        }
        if !header.is_pad() {
            let record = record.get(..record_len).unwrap_or(record);
            if headers_len(record).is_err() {
                return Verdict::Other;
            }
            before = Some(header.timestamp);
            packets += 1;
            // No further record is checked: the verdict must not depend on the sizes in which the bytes came.
            if packets == RECORDS_MIN {
                return Verdict::Erf;
            }
        }
    }
    if packets > 0 {
        Verdict::Erf
    } else {
        Verdict::Other
    }
}

/// Whether a record with this time may follow one with that.
fn follows(before: u64, timestamp: u64) -> bool {
    if timestamp < before {
        // Reassembled ATM and several ports interleave up to a second out of order.
        (before - timestamp) >> 32 <= 1
    } else {
        (timestamp - before) >> 32 <= 366 * 24 * 3600
    }
}

/// Bytes of the record header, the extension headers and the header of the record type; fails when
/// the record is too short for them.
fn headers_len(record: &[u8]) -> Result<usize, Short> {
    let mut reader = Bytes::new(record);
    let [.., kind, _, _, _, _, _, _, _] = reader.array::<HEADER_LEN>()?;
    let mut extended = kind & 0x80 != 0;
    while extended {
        let [extension, ..] = reader.array::<8>()?;
        extended = extension & 0x80 != 0;
    }
    reader.skip(match kind & 0x7f {
        5..=9 | 12 | 17 | 18 => 4,
        2 | 11 | 16 | 20 => 2,
        _ => 0,
    })?;
    Ok(reader.offset())
}

/// Types that are assigned (1 to 27, and PAD) or may be later. 0 stood for records of the first
/// cards, which had another layout; those from 32, which Wireshark accepts too, would let text
/// pass for ERF.
fn plausible_type(kind: u8) -> bool {
    matches!(kind, 1..=31 | TYPE_PAD)
}

/// LINKTYPE_ERF.
const LINK_TYPE: u32 = 197;
const PORTS: usize = 4;
const HEADER_LEN: usize = 16;
const TYPE_PAD: u8 = 48;
/// The maximum number of records to check; a stream of padding alone is not taken for ERF.
const RECORDS_TO_TRY: usize = 20;
/// The number of packets that must be consistent when the stream continues.
const RECORDS_MIN: usize = 3;
