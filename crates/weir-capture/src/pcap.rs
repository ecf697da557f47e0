//! pcap: a file header, then records of a fixed header and the packet
//! (draft-ietf-opsawg-pcap), and the variants that have been written over the years.

use std::io::Read;

use weir_bytes::{Endian, Reader as Bytes, Short};

use crate::{
    Error, Interface, ReadOptions, RecordFraming,
    error::Reason,
    plausible::{Candidate, Plausible},
    stream::{FoundRecord, Span, Stream},
};

/// The parameters of the file header.
#[derive(Clone, Debug)]
pub(crate) struct Pcap {
    swapped: bool,
    variant: Variant,
    lengths: Lengths,
    /// Nanoseconds in one unit of the second half of a time.
    fraction_ns: i64,
    header_len: usize,
    record_bytes_max: u32,
}

/// The layout of the record header, where the magic number does not determine it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    /// 16 bytes: seconds, fraction, captured and original length.
    Standard,
    /// 20 bytes: four more of unknown use (Nokia).
    Nokia,
    /// 24 bytes: interface index, protocol and packet type (patched libpcap of 1999).
    Patched24,
    /// 28 bytes: as that, and debugging information.
    Patched28,
}

/// The order of the two lengths of a record header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    /// Captured length first, since version 2.4.
    CapturedFirst,
    /// Original length first, before version 2.3 and on DG/UX.
    OriginalFirst,
    /// Version 2.3 was written both ways: the smaller one is the captured length.
    SmallerIsCaptured,
}

/// A record header, decoded.
#[derive(Clone, Copy, Debug)]
struct RecordHeader {
    seconds: u32,
    /// The fraction of a second in units of [`Pcap::fraction_ns`].
    fraction: u32,
    captured: u32,
    wire_len: u32,
}

/// The file header, decoded.
#[derive(Debug)]
struct FileHeader {
    pcap: Pcap,
    interface: Interface,
    /// Bytes of the file header.
    len: usize,
    /// The record headers may be of one of these layouts, most likely first.
    candidates: &'static [Variant],
}

impl Pcap {
    /// Reads the file header, and looks ahead at the first records.
    pub(crate) fn begin<R: Read>(
        stream: &mut Stream<R>,
        options: &ReadOptions,
    ) -> Result<Self, Error> {
        // The magic number first: it says how much more there is, and may come alone through a pipe.
        stream.buffer.try_ensure(MAGIC_LEN);
        let wanted = file_header_len(stream.buffer.window());
        stream
            .buffer
            .ensure(wanted)
            .map_err(|error| stream.input_error(error).in_file_header())?;
        let header = match file_header(stream.buffer.window(), options) {
            Ok(header) => header,
            Err(reason) => return Err(stream.damaged(reason).in_file_header()),
        };
        stream.buffer.consume(header.len);
        let mut pcap = header.pcap;
        if header.candidates.len() > 1 && !pcap.begins_plausibly(stream) {
            // Less is read ahead at the end of the file.
            stream.buffer.try_ensure(LOOK_AHEAD_BYTES);
            let window = stream.buffer.window();
            let start = window.get(..LOOK_AHEAD_BYTES).unwrap_or(window);
            pcap.choose(header.candidates, start);
        }
        stream.interfaces.push(header.interface);
        Ok(pcap)
    }

    /// Whether the first record, and the header after it, are plausible in the layout of the magic number. Reads the same bytes
    /// however they arrive, and waits for no more of a pipe than the header of the second packet.
    fn begins_plausibly<R: Read>(&self, stream: &mut Stream<R>) -> bool {
        if !stream.buffer.try_ensure(self.header_len) {
            // Too short for a record in any layout: the first call of `find` reports it.
            return true;
        }
        let Some(header) = self.header(stream.buffer.window()) else {
            return false;
        };
        if header.captured > self.record_bytes_max {
            return false;
        }
        let len = 2 * self.header_len + header.captured as usize;
        stream.buffer.try_ensure(len);
        let window = stream.buffer.window();
        let start = window.get(..len).unwrap_or(window);
        self.sensible_records(start).is_some()
    }

    /// See [`crate::Reader::framing`].
    pub(crate) fn framing(&self) -> RecordFraming {
        let (captured_len_at, wire_len_at) = match self.lengths {
            Lengths::OriginalFirst => (12, 8),
            Lengths::CapturedFirst | Lengths::SmallerIsCaptured => (8, 12),
        };
        RecordFraming::Pcap {
            header_len: self.header_len as u32,
            is_little_endian: !self.swapped,
            captured_len_at,
            wire_len_at,
            smaller_is_captured: self.lengths == Lengths::SmallerIsCaptured,
            // The value is at most 1000.
            fraction_ns: self.fraction_ns as u32,
            captured_len_max: self.record_bytes_max,
        }
    }

    /// Finds the next record and passes over it.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as Reader::next")]
    pub(crate) fn find<R: Read>(
        &self,
        stream: &mut Stream<R>,
    ) -> Result<Option<FoundRecord>, Error> {
        let header = loop {
            match self.header(stream.buffer.window()) {
                _ if stream.is_at_stop() => return Ok(None),
                Some(header) => break header,
                None if stream.more(self.header_len, "the record header")? => {}
                None => return Ok(None),
            }
        };
        if header.captured > self.record_bytes_max {
            return Err(stream.damaged(Reason::TooLarge {
                part: "the captured length",
                limit: u64::from(self.record_bytes_max),
                found: u64::from(header.captured),
            }));
        }
        let len = header.captured as usize;
        let record_len = self.header_len + len;
        if stream.buffer.window().len() < record_len {
            stream.need(record_len, self.header_len, "the packet")?;
        }
        stream.number += 1;
        let found = FoundRecord {
            number: stream.number,
            offset: stream.buffer.offset(),
            time_ns: Some(self.time_ns(&header)),
            wire_len: header.wire_len,
            flags: None,
            interface: 0,
            data: Span {
                position: stream.buffer.position() + self.header_len,
                len,
            },
            comment: None,
        };
        stream.buffer.consume(record_len);
        Ok(Some(found))
    }
}

impl Plausible for Pcap {
    fn record(&self, bytes: &[u8]) -> Option<Candidate> {
        let header = self.header(bytes)?;
        let plausible = header.captured <= self.record_bytes_max
            && header.captured <= header.wire_len
            && self.fraction_in_range(bytes);
        plausible.then(|| Candidate {
            len: self.header_len + header.captured as usize,
            time_ns: Some(self.time_ns(&header)),
        })
    }

    fn header_len(&self) -> usize {
        self.header_len
    }
}

/// Whether a stream with this beginning is pcap.
pub(crate) fn sniff(prefix: &[u8]) -> bool {
    magic(prefix).is_some()
}

struct Magic {
    endian: Endian,
    fraction_ns: i64,
    patched: bool,
    ixia: bool,
}

fn magic(prefix: &[u8]) -> Option<Magic> {
    let first = *prefix.first_chunk::<4>()?;
    let (little, big) = (u32::from_le_bytes(first), u32::from_be_bytes(first));
    [(Endian::Little, little), (Endian::Big, big)]
        .into_iter()
        .find_map(|(endian, number)| {
            let (fraction_ns, patched, ixia) = match number {
                MAGIC_MICROSECONDS => (1000, false, false),
                MAGIC_NANOSECONDS => (1, false, false),
                MAGIC_PATCHED => (1000, true, false),
                MAGIC_IXIA_HARDWARE => (1, false, true),
                MAGIC_IXIA_SOFTWARE => (1000, false, true),
                _ => return None,
            };
            Some(Magic {
                endian,
                fraction_ns,
                patched,
                ixia,
            })
        })
}

/// The length of the file header, by its first four bytes.
fn file_header_len(prefix: &[u8]) -> usize {
    match magic(prefix) {
        // One more number: how many bytes of records follow.
        Some(Magic { ixia: true, .. }) => FILE_HEADER_LEN + 4,
        _ => FILE_HEADER_LEN,
    }
}

/// Decodes the file header.
fn file_header(bytes: &[u8], options: &ReadOptions) -> Result<FileHeader, Reason> {
    let len = file_header_len(bytes);
    let cut = || Reason::Cut {
        part: "the file header",
        needed: len as u64,
        available: bytes.len() as u64,
    };
    let Some(magic) = magic(bytes) else {
        return Err(Reason::Unexpected {
            part: "the magic number",
            expected: "the magic number of pcap",
            found: u64::from(weir_bytes::u32_be_at(bytes, 0).unwrap_or_default()),
        });
    };
    if bytes.len() < len {
        return Err(cut());
    }
    let endian = magic.endian;
    let mut reader = Bytes::new(bytes);
    let mut fields = || -> Result<_, Short> {
        reader.skip(4)?;
        let major = reader.u16(endian)?;
        let minor = reader.u16(endian)?;
        // The zone and the accuracy of the times are skipped, as no writer fills them in.
        reader.skip(8)?;
        Ok((major, minor, reader.u32(endian)?, reader.u32(endian)?))
    };
    let (major, minor, snap_len, network) = fields().map_err(|_| cut())?;
    if major < 2 {
        return Err(Reason::Unexpected {
            part: "the major version",
            expected: "2",
            found: u64::from(major),
        });
    }
    let lengths = match (major, minor) {
        (2, 0..=2) | (543, _) => Lengths::OriginalFirst,
        (2, 3) => Lengths::SmallerIsCaptured,
        _ => Lengths::CapturedFirst,
    };
    let standard = magic.fraction_ns == 1000 && !magic.patched && !magic.ixia;
    let aix = match (standard, major, minor) {
        (true, 2, 2) => aix_link_type(network),
        _ => None,
    };
    // The upper half holds the length of the frame check sequence in units of 16 bits.
    let link_type = aix.unwrap_or(network & 0xffff);
    let mut interface = Interface::new(link_type);
    interface.snap_len = snap_len;
    if network & FCS_LEN_PRESENT != 0 {
        interface.fcs_len = Some(((network >> 28) as u8) * 2);
    }
    let candidates: &[Variant] =
        match (magic.patched, standard && lengths == Lengths::CapturedFirst) {
            (true, _) => &[Variant::Patched24, Variant::Patched28],
            (_, true) => &[Variant::Standard, Variant::Patched24, Variant::Nokia],
            _ => &[Variant::Standard],
        };
    let mut pcap = Pcap {
        swapped: endian == Endian::Big,
        variant: Variant::Standard,
        lengths,
        fraction_ns: if aix.is_some() { 1 } else { magic.fraction_ns },
        header_len: 0,
        record_bytes_max: options.record_limit(link_type),
    };
    pcap.set_variant(candidates.first().copied().unwrap_or(Variant::Standard));
    Ok(FileHeader {
        pcap,
        interface,
        len,
        candidates,
    })
}

/// AIX writes version 2.2, nanoseconds, and the interface type of RFC 1573 for a link type.
fn aix_link_type(network: u32) -> Option<u32> {
    match network {
        6 => Some(1),
        9 => Some(6),
        15 => Some(10),
        24 => Some(0),
        _ => None,
    }
}

impl Pcap {
    fn set_variant(&mut self, variant: Variant) {
        self.variant = variant;
        self.header_len = match variant {
            Variant::Standard => RECORD_HEADER_LEN,
            Variant::Nokia => RECORD_HEADER_LEN + 4,
            Variant::Patched24 => RECORD_HEADER_LEN + 8,
            Variant::Patched28 => RECORD_HEADER_LEN + 12,
        };
    }

    /// Decodes the record header at the start of `bytes`, which may be longer; `None` when it is
    /// shorter.
    #[inline]
    fn header(&self, bytes: &[u8]) -> Option<RecordHeader> {
        let raw = *bytes
            .get(..self.header_len)?
            .first_chunk::<RECORD_HEADER_LEN>()?;
        let number = |at: usize| {
            let [a, b, c, d] = [raw[at], raw[at + 1], raw[at + 2], raw[at + 3]];
            let number = u32::from_le_bytes([a, b, c, d]);
            if self.swapped {
                number.swap_bytes()
            } else {
                number
            }
        };
        let (mut captured, mut wire_len) = (number(8), number(12));
        if self.lengths != Lengths::CapturedFirst
            && (self.lengths == Lengths::OriginalFirst || captured > wire_len)
        {
            (captured, wire_len) = (wire_len, captured);
        }
        Some(RecordHeader {
            seconds: number(0),
            fraction: number(4),
            captured,
            wire_len,
        })
    }

    /// When the record was captured, in nanoseconds since 1970. A fraction above one second, which some
    /// writers produce, carries into the seconds.
    #[inline]
    fn time_ns(&self, header: &RecordHeader) -> i64 {
        // The sum is at most 2^32 * 10^9 + 2^32 * 10^3, which is less than 2^63.
        i64::from(header.seconds) * 1_000_000_000 + i64::from(header.fraction) * self.fraction_ns
    }

    /// Chooses among `candidates` by looking at the first records in `bytes`, which begin where the
    /// file header ends.
    ///
    /// The first candidate stays unless one of its first two records makes no sense while those of
    /// another do: a wrong layout shows in the second record, and damage further on is damage.
    /// `bytes` may end in the middle of a record, which speaks against no candidate.
    fn choose(&mut self, candidates: &[Variant], bytes: &[u8]) {
        let mut trial = self.clone();
        for &variant in candidates {
            trial.set_variant(variant);
            match trial.sensible_records(bytes) {
                Some(_) if variant == self.variant => return,
                Some(RECORDS_TO_BELIEVE) => return self.set_variant(variant),
                _ => {}
            }
        }
    }

    /// The number of first records that are whole and plausible; `None` when one is implausible.
    fn sensible_records(&self, mut bytes: &[u8]) -> Option<usize> {
        let mut before = None;
        for records in 0..RECORDS_TO_BELIEVE {
            let Some(header) = self.header(bytes) else {
                return Some(records);
            };
            let time_ns = self.time_ns(&header);
            let jump = before.map_or(0, |before: i64| time_ns.abs_diff(before));
            if header.captured > self.record_bytes_max
                || header.captured > header.wire_len
                || jump > YEAR_NS
                || !self.fraction_in_range(bytes)
            {
                return None;
            }
            before = Some(time_ns);
            let record_len = self.header_len.saturating_add(header.captured as usize);
            match bytes.get(record_len..) {
                Some(rest) => bytes = rest,
                None => return Some(records),
            }
        }
        Some(RECORDS_TO_BELIEVE)
    }

    fn fraction_in_range(&self, bytes: &[u8]) -> bool {
        let fraction = if self.swapped {
            weir_bytes::u32_be_at(bytes, 4)
        } else {
            weir_bytes::u32_le_at(bytes, 4)
        };
        fraction.is_some_and(|fraction| i64::from(fraction) * self.fraction_ns < 1_000_000_000)
    }
}

const MAGIC_MICROSECONDS: u32 = 0xa1b2_c3d4;
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Alexey Kuznetzov's patched libpcap, shipped by several Linux distributions in 1999.
const MAGIC_PATCHED: u32 = 0xa1b2_cd34;
const MAGIC_IXIA_HARDWARE: u32 = 0x1c00_01ac;
const MAGIC_IXIA_SOFTWARE: u32 = 0x1c00_01ab;

const MAGIC_LEN: usize = 4;
const FILE_HEADER_LEN: usize = 24;
const RECORD_HEADER_LEN: usize = 16;
const FCS_LEN_PRESENT: u32 = 0x0400_0000;
/// The number of bytes in which records of another layout are searched, when those of the usual one are implausible.
const LOOK_AHEAD_BYTES: usize = 128 << 10;
/// Whole records that must make sense before a layout other than the usual one is believed.
const RECORDS_TO_BELIEVE: usize = 2;
const YEAR_NS: u64 = 366 * 24 * 3600 * 1_000_000_000;
