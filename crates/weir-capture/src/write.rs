//! The writer of captures: pcap with nanoseconds, and pcapng.

use std::{
    fmt,
    io::{self, Write},
};

/// Writes records as a capture.
///
/// Records are gathered and handed to the output whole, many at a time: what reaches a file before the
/// process dies ends with a whole record, or at worst with one that the system cut.
///
/// ```
/// use weir_capture::{Reader, Writer, WriteRecord};
///
/// let mut file = Vec::new();
/// let mut writer = Writer::pcap(&mut file);
/// writer.write(&WriteRecord::new(1, 1_700_000_000_000_000_001, &[0xff; 60]))?;
/// writer.finish()?;
/// let mut reader = Reader::new(&file[..])?;
/// assert_eq!(reader.next()?.map(|record| record.data.len()), Some(60));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer<W> {
    out: W,
    format: WriteFormat,
    /// Whole records on their way to the output.
    pending: Vec<u8>,
    records: u64,
}

enum WriteFormat {
    /// The link type is that of the first record, unless it was given.
    Pcap { link_type: Option<u32> },
    /// Link types and names of the interfaces described so far.
    Pcapng { interfaces: Vec<DescribedInterface> },
}

/// An interface that the file describes.
struct DescribedInterface {
    link_type: u32,
    name: Option<String>,
}

/// A record to write, unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteRecord<'a> {
    /// Nanoseconds since 1970 UTC.
    pub time_ns: i64,
    /// Bytes that the packet had on the wire, as the record header is to say.
    pub wire_len: u32,
    /// LINKTYPE_ number.
    pub link_type: u32,
    /// Name of the interface, which pcapng keeps.
    pub interface_name: Option<&'a str>,
    /// Comment on the packet, which pcapng keeps.
    pub comment: Option<&'a str>,
    /// The captured bytes.
    pub data: &'a [u8],
}

impl<'a> WriteRecord<'a> {
    /// A packet that was captured whole.
    #[must_use]
    pub fn new(link_type: u32, time_ns: i64, data: &'a [u8]) -> Self {
        Self {
            time_ns,
            wire_len: u32::try_from(data.len()).unwrap_or(u32::MAX),
            link_type,
            interface_name: None,
            comment: None,
            data,
        }
    }
}

impl<W: Write> Writer<W> {
    /// Writes pcap with times in nanoseconds. All records must have the link type of the first.
    pub const fn pcap(out: W) -> Self {
        Self::new(out, WriteFormat::Pcap { link_type: None })
    }

    /// Writes pcap for records of this link type. Its header is flushed at once, so that the file is a
    /// capture before it has a record.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn pcap_of(out: W, link_type: u32) -> Result<Self, WriteError> {
        let mut writer = Self::pcap(out);
        writer.begin_pcap(link_type);
        writer.flush()?;
        Ok(writer)
    }

    /// Writes pcapng: records may differ in link type, and keep comments and names of interfaces.
    pub fn pcapng(out: W) -> Self {
        let mut writer = Self::new(
            out,
            WriteFormat::Pcapng {
                interfaces: Vec::new(),
            },
        );
        let pending = &mut writer.pending;
        put(pending, &[SECTION_HEADER, 28, BYTE_ORDER_MAGIC, 1]);
        // The version is 1.0, and the length of the section is unknown.
        put(pending, &[u32::MAX, u32::MAX, 28]);
        writer
    }

    const fn new(out: W, format: WriteFormat) -> Self {
        Self {
            out,
            format,
            pending: Vec::new(),
            records: 0,
        }
    }

    /// Records written so far.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.records
    }

    /// The output: all records that were flushed.
    pub const fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Adds a record.
    ///
    /// # Errors
    /// When the format has no place for it, which is then not written, and when the output cannot be
    /// written.
    pub fn write(&mut self, record: &WriteRecord<'_>) -> Result<(), WriteError> {
        let captured = u32::try_from(record.data.len())
            .ok()
            .filter(|len| *len <= RECORD_BYTES_MAX)
            .ok_or(WriteError::Length(record.data.len()))?;
        match &self.format {
            WriteFormat::Pcap { .. } => self.write_pcap(record, captured)?,
            WriteFormat::Pcapng { .. } => self.write_pcapng(record, captured)?,
        }
        self.records = self.records.saturating_add(1);
        if self.pending.len() >= PENDING_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes all records to the output.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.out.write_all(&self.pending)?;
        self.pending.clear();
        Ok(self.out.flush()?)
    }

    /// Writes all records to the output and returns it. A pcap without records has the link type Ethernet.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn finish(mut self) -> Result<W, WriteError> {
        if let WriteFormat::Pcap { link_type: None } = self.format {
            self.begin_pcap(ETHERNET);
        }
        self.flush()?;
        Ok(self.out)
    }

    fn begin_pcap(&mut self, link_type: u32) {
        self.format = WriteFormat::Pcap {
            link_type: Some(link_type),
        };
        // The version is 2.4, and there is no time zone.
        let header = [PCAP_MAGIC_NS, 4 << 16 | 2, 0, 0, SNAP_LEN, link_type];
        put(&mut self.pending, &header);
    }

    fn write_pcap(&mut self, record: &WriteRecord<'_>, captured: u32) -> Result<(), WriteError> {
        let seconds = u32::try_from(record.time_ns.div_euclid(SECOND_NS))
            .map_err(|_| WriteError::Time(record.time_ns))?;
        // Less than a second, which fits.
        let fraction = record.time_ns.rem_euclid(SECOND_NS) as u32;
        match self.format {
            WriteFormat::Pcap {
                link_type: Some(expected),
            } if expected != record.link_type => {
                return Err(WriteError::LinkType {
                    expected,
                    found: record.link_type,
                });
            }
            WriteFormat::Pcap { link_type: Some(_) } => {}
            _ => self.begin_pcap(record.link_type),
        }
        put(
            &mut self.pending,
            &[seconds, fraction, captured, record.wire_len],
        );
        self.pending.extend_from_slice(record.data);
        Ok(())
    }

    fn write_pcapng(&mut self, record: &WriteRecord<'_>, captured: u32) -> Result<(), WriteError> {
        let time = u64::try_from(record.time_ns).map_err(|_| WriteError::Time(record.time_ns))?;
        let interface = self.interface(record)?;
        let pending = &mut self.pending;
        let start = pending.len();
        let high = (time >> 32) as u32;
        // The low half of the time is written second.
        let low = time as u32;
        let header = [ENHANCED_PACKET, 0, interface, high, low, captured];
        put(pending, &header);
        put(pending, &[record.wire_len]);
        put_padded(pending, record.data);
        if let Some(comment) = record.comment {
            put_option(pending, OPTION_COMMENT, comment.as_bytes());
            put(pending, &[OPTION_END]);
        }
        end_block(pending, start);
        Ok(())
    }

    /// The number of the interface that the record is from, described if it is new.
    fn interface(&mut self, record: &WriteRecord<'_>) -> Result<u32, WriteError> {
        let WriteFormat::Pcapng { interfaces } = &mut self.format else {
            return Ok(0);
        };
        // The last one is where the next packet is most likely from.
        let known = interfaces.iter().rposition(|one| {
            one.link_type == record.link_type && one.name.as_deref() == record.interface_name
        });
        if let Some(number) = known {
            return Ok(number as u32);
        }
        let number = u32::try_from(interfaces.len()).unwrap_or(u32::MAX);
        let link_type =
            u16::try_from(record.link_type).map_err(|_| WriteError::LinkTypeNumber {
                found: record.link_type,
            })?;
        if interfaces.len() >= INTERFACES_MAX {
            return Err(WriteError::Interfaces);
        }
        interfaces.push(DescribedInterface {
            link_type: record.link_type,
            name: record.interface_name.map(ToOwned::to_owned),
        });
        let pending = &mut self.pending;
        let start = pending.len();
        put(
            pending,
            &[INTERFACE_DESCRIPTION, 0, u32::from(link_type), 0],
        );
        if let Some(name) = record.interface_name {
            put_option(pending, OPTION_NAME, name.as_bytes());
        }
        put_option(pending, OPTION_RESOLUTION, &[NANOSECONDS]);
        put(pending, &[OPTION_END]);
        end_block(pending, start);
        Ok(number)
    }
}

impl<W> fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("records", &self.records)
            .field("pending_bytes", &self.pending.len())
            .finish_non_exhaustive()
    }
}

/// The reason why a record cannot be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The output cannot be written.
    Io(io::Error),
    /// pcap has one link type for all records.
    LinkType {
        /// The link type of the first record.
        expected: u32,
        /// The link type of this record.
        found: u32,
    },
    /// pcapng numbers link types with 16 bits.
    LinkTypeNumber {
        /// The link type of this record.
        found: u32,
    },
    /// The time, in nanoseconds since 1970, is outside of what the format can say: until 2106 in pcap,
    /// from 1970 in both.
    Time(i64),
    /// The record has more bytes than readers of captures take.
    Length(usize),
    /// There are more interfaces than a section may describe.
    Interfaces,
}

impl WriteError {
    /// The hint: half a sentence without a final full stop.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::LinkType { .. } | Self::Time(1..) => {
                Some("pcapng can hold it: name the file x.pcapng")
            }
            _ => None,
        }
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::LinkType { expected, found } => write!(
                f,
                "a pcap file has one link type: this one has {expected}, but a record has {found}"
            ),
            Self::LinkTypeNumber { found } => {
                write!(f, "pcapng has no link type as high as {found}")
            }
            Self::Time(time_ns) => write!(
                f,
                "the time {time_ns} ns since 1970 is outside the range of the format"
            ),
            Self::Length(len) => write!(
                f,
                "a record of {len} bytes is longer than the limit of {RECORD_BYTES_MAX} bytes"
            ),
            Self::Interfaces => write!(f, "more than {INTERFACES_MAX} interfaces"),
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn put(out: &mut Vec<u8>, words: &[u32]) {
    for word in words {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

fn put_padded(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(bytes);
    let padding = bytes.len().wrapping_neg() % 4;
    out.extend_from_slice(&[0; 3][..padding]);
}

/// An option; of a text longer than its length can say, the beginning.
fn put_option(out: &mut Vec<u8>, code: u16, bytes: &[u8]) {
    let len = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&len.to_le_bytes());
    put_padded(out, bytes.get(..usize::from(len)).unwrap_or(bytes));
}

/// Writes the length of the block that began at `start`: behind its type, and at its end.
fn end_block(out: &mut Vec<u8>, start: usize) {
    let len = u32::try_from(out.len() - start + 4).unwrap_or(u32::MAX);
    put(out, &[len]);
    if let Some(place) = out.get_mut(start + 4..start + 8) {
        place.copy_from_slice(&len.to_le_bytes());
    }
}

const PCAP_MAGIC_NS: u32 = 0xa1b2_3c4d;
/// The snapshot length is that of tcpdump; no limit is known.
const SNAP_LEN: u32 = 256 << 10;
const ETHERNET: u32 = 1;
const SECOND_NS: i64 = 1_000_000_000;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const OPTION_END: u32 = 0;
const OPTION_COMMENT: u16 = 1;
const OPTION_NAME: u16 = 2;
const OPTION_RESOLUTION: u16 = 9;
/// Units of 10 to the minus ninth of a second.
const NANOSECONDS: u8 = 9;

/// Bytes gathered before they are written.
const PENDING_BYTES: usize = 64 << 10;
/// The largest record that any link type may have, see [`crate::record_bytes_max_of`].
const RECORD_BYTES_MAX: u32 = 128 << 20;
/// The limit equals the default of [`crate::ReadOptions::interfaces_max`].
const INTERFACES_MAX: usize = 65_536;
