//! Writers of small captures, byte by byte, and a source that reads as awkwardly as it may.

use std::io::{self, Read};

/// Byte order of what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Little,
    Big,
}

pub(crate) use Order::{Big, Little};

/// Bytes with numbers in one order.
#[derive(Clone, Debug)]
pub(crate) struct Bytes {
    order: Order,
    pub(crate) bytes: Vec<u8>,
}

impl Bytes {
    pub(crate) fn new(order: Order) -> Self {
        Self {
            order,
            bytes: Vec::new(),
        }
    }

    pub(crate) fn u16(mut self, number: u16) -> Self {
        self.bytes.extend(match self.order {
            Little => number.to_le_bytes(),
            Big => number.to_be_bytes(),
        });
        self
    }

    pub(crate) fn u32(mut self, number: u32) -> Self {
        self.bytes.extend(match self.order {
            Little => number.to_le_bytes(),
            Big => number.to_be_bytes(),
        });
        self
    }

    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    pub(crate) fn pad(mut self) -> Self {
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
        self
    }
}

/// A pcap file header of any magic and version.
pub(crate) fn pcap_header(order: Order, magic: u32, version: (u16, u16), network: u32) -> Vec<u8> {
    Bytes::new(order)
        .u32(magic)
        .u16(version.0)
        .u16(version.1)
        .u32(0)
        .u32(0)
        .u32(65_535)
        .u32(network)
        .bytes
}

/// An ordinary pcap record: seconds, fraction, captured bytes, length on the wire.
pub(crate) fn pcap_record(order: Order, time: (u32, u32), data: &[u8], wire_len: u32) -> Vec<u8> {
    pcap_record_with(order, time, data, wire_len, &[])
}

/// A pcap record with more bytes in its header.
pub(crate) fn pcap_record_with(
    order: Order,
    time: (u32, u32),
    data: &[u8],
    wire_len: u32,
    more: &[u8],
) -> Vec<u8> {
    Bytes::new(order)
        .u32(time.0)
        .u32(time.1)
        .u32(data.len() as u32)
        .u32(wire_len)
        .raw(more)
        .raw(data)
        .bytes
}

/// Any pcapng block.
pub(crate) fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let body = Bytes::new(order).raw(body).pad().bytes;
    let len = body.len() as u32 + 12;
    Bytes::new(order)
        .u32(kind)
        .u32(len)
        .raw(&body)
        .u32(len)
        .bytes
}

/// A pcapng option.
pub(crate) fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    Bytes::new(order)
        .u16(code)
        .u16(value.len() as u16)
        .raw(value)
        .pad()
        .bytes
}

/// A pcapng section header block of unknown section length.
pub(crate) fn section(order: Order) -> Vec<u8> {
    let body = Bytes::new(order)
        .u32(0x1a2b_3c4d)
        .u16(1)
        .u16(0)
        .raw(&[0xff; 8]);
    block(order, 0x0a0d_0d0a, &body.bytes)
}

/// A pcapng interface description block.
pub(crate) fn interface(order: Order, link_type: u16, snap_len: u32, options: &[u8]) -> Vec<u8> {
    let body = Bytes::new(order)
        .u16(link_type)
        .u16(0)
        .u32(snap_len)
        .raw(options);
    block(order, 1, &body.bytes)
}

/// A pcapng enhanced packet block.
pub(crate) fn enhanced(
    order: Order,
    interface: u32,
    ticks: u64,
    data: &[u8],
    wire_len: u32,
    options: &[u8],
) -> Vec<u8> {
    let body = Bytes::new(order)
        .u32(interface)
        .u32((ticks >> 32) as u32)
        .u32(ticks as u32)
        .u32(data.len() as u32)
        .u32(wire_len)
        .raw(data)
        .pad()
        .raw(options);
    block(order, 6, &body.bytes)
}

/// A pcapng simple packet block.
pub(crate) fn simple(order: Order, data: &[u8], wire_len: u32) -> Vec<u8> {
    block(order, 3, &Bytes::new(order).u32(wire_len).raw(data).bytes)
}

/// An obsolete pcapng packet block.
pub(crate) fn obsolete(
    order: Order,
    interface: u16,
    ticks: u64,
    data: &[u8],
    wire_len: u32,
) -> Vec<u8> {
    let body = Bytes::new(order)
        .u16(interface)
        .u16(0xffff)
        .u32((ticks >> 32) as u32)
        .u32(ticks as u32)
        .u32(data.len() as u32)
        .u32(wire_len)
        .raw(data);
    block(order, 2, &body.bytes)
}

/// An ERF record; `rest` is all that follows the header.
pub(crate) fn erf(timestamp: u64, kind: u8, flags: u8, rest: &[u8], wire_len: u16) -> Vec<u8> {
    Bytes::new(Big)
        .raw(&timestamp.to_le_bytes())
        .raw(&[kind, flags])
        .u16(rest.len() as u16 + 16)
        .u16(0)
        .u16(wire_len)
        .raw(rest)
        .bytes
}

/// A record, kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnedRecord {
    pub(crate) number: u64,
    pub(crate) offset: u64,
    pub(crate) time_ns: Option<i64>,
    pub(crate) wire_len: u32,
    pub(crate) link_type: u32,
    pub(crate) interface: u32,
    pub(crate) section: u32,
    pub(crate) data: Vec<u8>,
    pub(crate) comment: Option<String>,
    pub(crate) flags: Option<u32>,
}

impl OwnedRecord {
    pub(crate) fn new(record: &weir_capture::Record<'_>) -> Self {
        Self {
            number: record.number,
            offset: record.offset,
            time_ns: record.time_ns,
            wire_len: record.wire_len,
            link_type: record.link_type,
            interface: record.interface.id,
            section: record.interface.section,
            data: record.data.to_vec(),
            comment: record.comment.map(str::to_owned),
            flags: record.flags,
        }
    }
}

/// All records, and the error that ended them if one did. Checks that an error comes only once.
pub(crate) fn read_all<R: Read>(
    reader: Result<weir_capture::Reader<R>, weir_capture::Error>,
) -> (Vec<OwnedRecord>, Option<weir_capture::Error>) {
    let mut kept = Vec::new();
    let mut reader = match reader {
        Ok(reader) => reader,
        Err(error) => return (kept, Some(error)),
    };
    loop {
        match reader.next() {
            Ok(Some(record)) => kept.push(OwnedRecord::new(&record)),
            Ok(None) => return (kept, None),
            Err(error) => {
                assert!(matches!(reader.next(), Ok(None)), "the error comes once");
                return (kept, Some(error));
            }
        }
    }
}

/// All records of a capture that must be whole.
pub(crate) fn records(bytes: &[u8]) -> Vec<OwnedRecord> {
    let (kept, error) = read_all(weir_capture::Reader::new(bytes));
    assert!(error.is_none(), "{error:?}");
    kept
}

/// A reader of 1 to `most` bytes at a time that is interrupted now and then.
pub(crate) struct Dribble<R> {
    inner: R,
    most: usize,
    state: u64,
}

impl<R> Dribble<R> {
    pub(crate) fn new(inner: R, most: usize, seed: u64) -> Self {
        Self {
            inner,
            most,
            state: seed | 1,
        }
    }
}

impl<R: Read> Read for Dribble<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        if self.state.is_multiple_of(5) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = (self.state >> 8) as usize % self.most + 1;
        let most = most.min(out.len());
        self.inner.read(&mut out[..most])
    }
}
