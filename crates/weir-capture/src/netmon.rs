//! Captures of Microsoft's Network Monitor, version 2.
//!
//! The file header says where a table is that has the place of each frame. Frames lie one behind the other in its order
//! in what is written; they are read so, as a stream, and the table is what that is held against at the end. Times
//! before version 2.3 are those of the clock on the wall where the capture was made: no zone is known, and they are
//! taken for UTC.

use std::collections::HashMap;
use std::io::Read;

use chrono::{NaiveDate, NaiveTime};
use weir_bytes::{Endian, Reader as Bytes, Short};

use crate::{
    Error, Interface, ReadOptions,
    error::Reason,
    plausible::{Candidate, Plausible},
    stream::{FoundRecord, Span, Stream},
};

/// Reads frames.
#[derive(Debug)]
pub(crate) struct NetMon {
    options: ReadOptions,
    /// When the capture began, in nanoseconds since 1970.
    start_ns: i128,
    /// The link type of all frames, in version 2.0; later ones say it behind each frame.
    network: u16,
    minor: u8,
    table_at: u64,
    table_entries: u64,
    /// A checksum of the offsets of the frames so far.
    read: u64,
    places: u64,
    /// Index of the interface that each network type has become.
    networks: HashMap<u16, usize>,
}

/// Whether a stream with this beginning is NetMon.
pub(crate) fn sniff(prefix: &[u8]) -> bool {
    prefix.starts_with(MAGIC) && prefix.get(5).is_none_or(|major| *major == 2)
}

impl NetMon {
    /// Reads the file header.
    pub(crate) fn begin<R: Read>(
        stream: &mut Stream<R>,
        options: &ReadOptions,
    ) -> Result<Self, Error> {
        let in_header = |error: Error| error.in_file_header();
        stream
            .need(FILE_HEADER_LEN, 0, "the file header")
            .map_err(in_header)?;
        let mut fields = Bytes::new(stream.buffer.window());
        let header = FileHeader::read(&mut fields).map_err(|_| {
            in_header(stream.damaged(Reason::Cut {
                part: "the file header",
                needed: FILE_HEADER_LEN as u64,
                available: stream.buffer.window().len() as u64,
            }))
        })?;
        let unexpected = |part, expected, found| {
            in_header(stream.damaged(Reason::Unexpected {
                part,
                expected,
                found,
            }))
        };
        let Some(start_ns) = header.start_ns() else {
            return Err(unexpected(
                "the month of the start",
                "1 to 12",
                header.start[1].into(),
            ));
        };
        if (header.table_at as usize) < FILE_HEADER_LEN {
            return Err(unexpected(
                "the offset of the frame table",
                "an offset after the file header",
                header.table_at.into(),
            ));
        }
        let mut netmon = Self {
            options: options.clone(),
            start_ns,
            network: header.network,
            minor: header.minor,
            table_at: header.table_at.into(),
            table_entries: u64::from(header.table_len) / 4,
            read: 0,
            places: 0,
            networks: HashMap::new(),
        };
        stream.buffer.consume(FILE_HEADER_LEN);
        netmon
            .interface(stream, header.network)
            .map_err(in_header)?;
        Ok(netmon)
    }

    /// Finds the next frame and passes over it.
    pub(crate) fn find<R: Read>(
        &mut self,
        stream: &mut Stream<R>,
    ) -> Result<Option<FoundRecord>, Error> {
        loop {
            if stream.buffer.offset() >= self.table_at {
                self.check_table(stream)?;
                return Ok(None);
            }
            let header = FrameHeader::read(stream.buffer.window());
            let Ok(header) = header else {
                if stream.more(HEADER_LEN, "the frame header")? {
                    continue;
                }
                return Err(stream.damaged(Reason::Cut {
                    part: "the capture before its frame table",
                    needed: self.table_at,
                    available: stream.buffer.offset(),
                }));
            };
            // The limit is that of all networks; the network of a frame is after it.
            let limit = self.options.record_limit(u32::MAX);
            if header.captured > limit {
                return Err(stream.damaged(Reason::TooLarge {
                    part: "the captured length",
                    limit: limit.into(),
                    found: header.captured.into(),
                }));
            }
            let len = header.captured as usize;
            let total = HEADER_LEN + len + self.trailer_len();
            if stream.buffer.window().len() < total {
                stream.need(total, HEADER_LEN, "the frame")?;
            }
            let trailer = stream.buffer.window().get(HEADER_LEN + len..total);
            let (network, time_ns) = self.trailer(trailer.unwrap_or_default());
            self.note(stream.buffer.offset());
            let interface = self.interface(stream, network)?;
            stream.number += 1;
            // The number is below 2^64 * 1000.
            let since_start = i128::from(header.delta_us) * 1_000;
            let time_ns = stream.held(time_ns.unwrap_or(self.start_ns + since_start));
            let found = FoundRecord {
                number: stream.number,
                offset: stream.buffer.offset(),
                time_ns: Some(time_ns),
                wire_len: header.wire_len,
                flags: None,
                interface,
                data: Span {
                    position: stream.buffer.position() + HEADER_LEN,
                    len,
                },
                comment: None,
            };
            stream.buffer.consume(total);
            return Ok(Some(found));
        }
    }

    /// Adds the offset of a frame.
    fn note(&mut self, offset: u64) {
        self.read = self.read.saturating_add(1);
        self.places = fold(self.places, offset);
    }

    /// Holds the places of the frames that were read against the table.
    fn check_table<R: Read>(&self, stream: &mut Stream<R>) -> Result<(), Error> {
        let mut places = 0;
        let mut differs =
            stream.buffer.offset() != self.table_at || self.table_entries != self.read;
        for _ in 0..self.table_entries {
            if differs {
                break;
            }
            if stream.buffer.window().len() < 4 {
                stream.need(4, 0, "the frame table")?;
            }
            let place = Bytes::new(stream.buffer.window()).u32(Endian::Little);
            places = fold(places, place.unwrap_or_default().into());
            stream.buffer.consume(4);
        }
        differs |= places != self.places;
        match differs {
            false => Ok(()),
            true => Err(stream.damaged(Reason::Unexpected {
                part: "the number of frames in the frame table",
                expected: "the number of frames found at their offsets",
                found: self.table_entries,
            })),
        }
    }

    const fn trailer_len(&self) -> usize {
        match self.minor {
            0 => 0,
            1 => 2,
            2 => 6,
            _ => 15,
        }
    }

    /// The network of a frame, and its time in nanoseconds since 1970 where the trailer has one.
    fn trailer(&self, bytes: &[u8]) -> (u16, Option<i128>) {
        let mut fields = Bytes::new(bytes);
        let Ok(network) = fields.u16(Endian::Little) else {
            return (self.network, None);
        };
        let mut time = || -> Result<u64, Short> {
            // The process is skipped.
            fields.skip(4)?;
            fields.u64(Endian::Little)
        };
        let Ok(time) = time() else {
            return (network, None);
        };
        // The time is in units of 100 ns since 1601.
        (network, Some((i128::from(time) - FROM_1601_TO_1970) * 100))
    }

    /// The interface that a network has become.
    fn interface<R: Read>(&mut self, stream: &mut Stream<R>, network: u16) -> Result<usize, Error> {
        if let Some(known) = self.networks.get(&network) {
            return Ok(*known);
        }
        let index = self.networks.len();
        if index >= self.options.interfaces_max {
            let limit = self.options.interfaces_max as u64;
            return Err(stream.limit("the number of networks", limit, index as u64 + 1));
        }
        self.networks.insert(network, index);
        stream.interfaces.push(Interface::new(link_type(network)));
        Ok(index)
    }
}

impl Plausible for NetMon {
    fn record(&self, _: &[u8]) -> Option<Candidate> {
        // Such captures are small: they are read in one.
        None
    }

    fn header_len(&self) -> usize {
        HEADER_LEN
    }
}

/// The file header.
struct FileHeader {
    minor: u8,
    network: u16,
    /// Year, month, day of the week, day, hour, minute, second, millisecond.
    start: [u16; 8],
    table_at: u32,
    table_len: u32,
}

impl FileHeader {
    fn read(fields: &mut Bytes<'_>) -> Result<Self, Short> {
        fields.skip(MAGIC.len())?;
        let minor = fields.u8()?;
        fields.skip(1)?;
        let network = fields.u16(Endian::Little)?;
        let mut start = [0; 8];
        for part in &mut start {
            *part = fields.u16(Endian::Little)?;
        }
        Ok(Self {
            minor,
            network,
            start,
            table_at: fields.u32(Endian::Little)?,
            table_len: fields.u32(Endian::Little)?,
        })
    }

    /// Nanoseconds since 1970, taking the clock on the wall for UTC.
    fn start_ns(&self) -> Option<i128> {
        let [year, month, _, day, ..] = self.start;
        let [.., hour, minute, second, ms] = self.start.map(i64::from);
        let date = NaiveDate::from_ymd_opt(year.into(), month.into(), day.into())?;
        let midnight = date.and_time(NaiveTime::MIN).and_utc().timestamp();
        let seconds = midnight + (hour * 60 + minute) * 60 + second;
        Some(i128::from(seconds * 1000 + ms) * 1_000_000)
    }
}

/// The header of a frame.
struct FrameHeader {
    delta_us: u64,
    wire_len: u32,
    captured: u32,
}

impl FrameHeader {
    fn read(bytes: &[u8]) -> Result<Self, Short> {
        let mut fields = Bytes::new(bytes);
        Ok(Self {
            delta_us: fields.u64(Endian::Little)?,
            wire_len: fields.u32(Endian::Little)?,
            captured: fields.u32(Endian::Little)?,
        })
    }
}

/// A number of places in their order.
const fn fold(places: u64, place: u64) -> u64 {
    (places.rotate_left(5) ^ place).wrapping_mul(0x517c_c1b7_2722_0a95)
}

/// The LINKTYPE_ number of a network.
const fn link_type(network: u16) -> u32 {
    match network {
        1 => 1,
        // Token ring.
        2 => 6,
        // FDDI.
        3 => 10,
        // Tunnels and mobile networks have plain IP packets.
        7..=9 => 101,
        // The link types of libpcap.
        0xe000..=0xefff => network as u32 & 0xfff,
        other => OTHER | other as u32,
    }
}

/// The prefix of link types that are not in the registry: "NM", followed by the number.
const OTHER: u32 = 0x4e4d_0000;
const MAGIC: &[u8] = b"GMBU";
/// The length of the file header, of which the last half is reserved.
const FILE_HEADER_LEN: usize = 128;
const HEADER_LEN: usize = 16;
/// The time from 1601 to 1970 in units of 100 ns.
const FROM_1601_TO_1970: i128 = 116_444_736_000_000_000;
