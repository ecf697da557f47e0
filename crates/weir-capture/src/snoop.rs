//! snoop, the format of captures of Solaris (RFC 1761).

use std::io::Read;

use weir_bytes::{Endian, Reader as Bytes, Short};

use crate::{
    Error, Interface, ReadOptions,
    error::Reason,
    plausible::{Candidate, Plausible},
    stream::{FoundRecord, Span, Stream},
};

/// Reads records.
#[derive(Debug)]
pub(crate) struct Snoop {
    record_bytes_max: u32,
    /// Bytes that fill up the record before.
    padding: u64,
}

/// The header of a record.
struct RecordHeader {
    wire_len: u32,
    captured: u32,
    record_len: u32,
    seconds: u32,
    microseconds: u32,
}

/// Whether a stream with this beginning is snoop.
pub(crate) fn sniff(prefix: &[u8]) -> bool {
    prefix.starts_with(MAGIC)
}

impl Snoop {
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
        let mut read = || -> Result<_, Short> {
            fields.skip(MAGIC.len())?;
            Ok((fields.u32(Endian::Big)?, fields.u32(Endian::Big)?))
        };
        // All of it is there.
        let (version, link) = read().unwrap_or_default();
        if version != 2 {
            let reason = Reason::Unexpected {
                part: "the version of the file",
                expected: "2",
                found: version.into(),
            };
            return Err(in_header(stream.damaged(reason)));
        }
        let link_type = link_type(link);
        stream.buffer.consume(FILE_HEADER_LEN);
        stream.interfaces.push(Interface::new(link_type));
        Ok(Self {
            record_bytes_max: options.record_limit(link_type),
            padding: 0,
        })
    }

    /// Finds the next record and passes over it.
    pub(crate) fn find<R: Read>(
        &mut self,
        stream: &mut Stream<R>,
    ) -> Result<Option<FoundRecord>, Error> {
        let padding = std::mem::take(&mut self.padding);
        if padding > 0 {
            let location = stream.location();
            match stream.buffer.skip(padding) {
                Ok(skipped) if skipped == padding => {}
                Ok(available) => {
                    let reason = Reason::Cut {
                        part: "the padding of the record before",
                        needed: padding,
                        available,
                    };
                    return Err(Error::damaged(reason, location));
                }
                Err(error) => return Err(Error::from(error).at(location)),
            }
        }
        let header = loop {
            match RecordHeader::read(stream.buffer.window()) {
                Ok(header) => break header,
                Err(_) if stream.more(HEADER_LEN, "the record header")? => {}
                Err(_) => return Ok(None),
            }
        };
        if header.captured > self.record_bytes_max {
            return Err(stream.damaged(Reason::TooLarge {
                part: "the captured length",
                limit: self.record_bytes_max.into(),
                found: header.captured.into(),
            }));
        }
        let len = header.captured as usize;
        let Some(padding) = u64::from(header.record_len).checked_sub((HEADER_LEN + len) as u64)
        else {
            return Err(stream.damaged(Reason::Unexpected {
                part: "the length of the record",
                expected: "enough for its header and the packet",
                found: header.record_len.into(),
            }));
        };
        let total = HEADER_LEN + len;
        if stream.buffer.window().len() < total {
            stream.need(total, HEADER_LEN, "the packet")?;
        }
        stream.number += 1;
        let found = FoundRecord {
            number: stream.number,
            offset: stream.buffer.offset(),
            time_ns: Some(
                i64::from(header.seconds) * 1_000_000_000 + i64::from(header.microseconds) * 1_000,
            ),
            wire_len: header.wire_len,
            flags: None,
            interface: 0,
            data: Span {
                position: stream.buffer.position() + HEADER_LEN,
                len,
            },
            comment: None,
        };
        stream.buffer.consume(total);
        self.padding = padding;
        Ok(Some(found))
    }
}

impl Plausible for Snoop {
    fn record(&self, _: &[u8]) -> Option<Candidate> {
        // Such captures are small: they are read in one.
        None
    }

    fn header_len(&self) -> usize {
        HEADER_LEN
    }
}

impl RecordHeader {
    fn read(bytes: &[u8]) -> Result<Self, Short> {
        let mut fields = Bytes::new(bytes);
        let wire_len = fields.u32(Endian::Big)?;
        let captured = fields.u32(Endian::Big)?;
        let record_len = fields.u32(Endian::Big)?;
        // Packets that were dropped before this one.
        fields.skip(4)?;
        Ok(Self {
            wire_len,
            captured,
            record_len,
            seconds: fields.u32(Endian::Big)?,
            microseconds: fields.u32(Endian::Big)?,
        })
    }
}

/// The LINKTYPE_ number of a data link type (RFC 1761, RFC 3827).
const fn link_type(number: u32) -> u32 {
    match number {
        // IEEE 802.3, Ethernet.
        0 | 4 => 1,
        // Token ring.
        2 => 6,
        // FDDI.
        8 => 10,
        // ATM, as SunATM.
        18 => 123,
        other => OTHER | (other & 0xffff),
    }
}

/// The prefix of link types that are not in the registry: "SN", followed by the number.
const OTHER: u32 = 0x534e_0000;
const MAGIC: &[u8] = b"snoop\0\0\0";
const FILE_HEADER_LEN: usize = 16;
const HEADER_LEN: usize = 24;
