//! Writers of small captures, byte by byte, and a source that reads as awkwardly as it may.
#![allow(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "each test file uses its own part"
)]

use std::io::{self, Read};

/// Byte order of what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Little,
    Big,
}

pub use Order::{Big, Little};

/// Bytes with numbers in one order.
#[derive(Clone, Debug)]
pub struct Bytes {
    order: Order,
    pub bytes: Vec<u8>,
}

impl Bytes {
    pub fn new(order: Order) -> Self {
        Self {
            order,
            bytes: Vec::new(),
        }
    }

    pub fn u16(mut self, number: u16) -> Self {
        self.bytes.extend(match self.order {
            Little => number.to_le_bytes(),
            Big => number.to_be_bytes(),
        });
        self
    }

    pub fn u32(mut self, number: u32) -> Self {
        self.bytes.extend(match self.order {
            Little => number.to_le_bytes(),
            Big => number.to_be_bytes(),
        });
        self
    }

    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend(bytes);
        self
    }

    pub fn pad(mut self) -> Self {
        while !self.bytes.len().is_multiple_of(4) {
            self.bytes.push(0);
        }
        self
    }
}

/// A pcap file header of any magic and version.
pub fn pcap_header(order: Order, magic: u32, version: (u16, u16), network: u32) -> Vec<u8> {
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
pub fn pcap_record(order: Order, time: (u32, u32), data: &[u8], wire_len: u32) -> Vec<u8> {
    pcap_record_with(order, time, data, wire_len, &[])
}

/// A pcap record with more bytes in its header.
pub fn pcap_record_with(
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
pub fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
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
pub fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    Bytes::new(order)
        .u16(code)
        .u16(value.len() as u16)
        .raw(value)
        .pad()
        .bytes
}

/// A pcapng section header block of unknown section length.
pub fn section(order: Order) -> Vec<u8> {
    let body = Bytes::new(order)
        .u32(0x1a2b_3c4d)
        .u16(1)
        .u16(0)
        .raw(&[0xff; 8]);
    block(order, 0x0a0d_0d0a, &body.bytes)
}

/// A pcapng interface description block.
pub fn interface(order: Order, link_type: u16, snap_len: u32, options: &[u8]) -> Vec<u8> {
    let body = Bytes::new(order)
        .u16(link_type)
        .u16(0)
        .u32(snap_len)
        .raw(options);
    block(order, 1, &body.bytes)
}

/// A pcapng enhanced packet block.
pub fn enhanced(
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
pub fn simple(order: Order, data: &[u8], wire_len: u32) -> Vec<u8> {
    block(order, 3, &Bytes::new(order).u32(wire_len).raw(data).bytes)
}

/// An obsolete pcapng packet block.
pub fn obsolete(order: Order, interface: u16, ticks: u64, data: &[u8], wire_len: u32) -> Vec<u8> {
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
pub fn erf(timestamp: u64, kind: u8, flags: u8, rest: &[u8], wire_len: u16) -> Vec<u8> {
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
pub struct Kept {
    pub number: u64,
    pub offset: u64,
    pub time_ns: Option<i64>,
    pub wire_len: u32,
    pub link_type: u32,
    pub interface: u32,
    pub section: u32,
    pub data: Vec<u8>,
    pub comment: Option<String>,
    pub flags: Option<u32>,
}

impl Kept {
    pub fn new(record: &weir_capture::Record<'_>) -> Self {
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
pub fn read_all<R: Read>(
    reader: Result<weir_capture::Reader<R>, weir_capture::Error>,
) -> (Vec<Kept>, Option<weir_capture::Error>) {
    let mut kept = Vec::new();
    let mut reader = match reader {
        Ok(reader) => reader,
        Err(error) => return (kept, Some(error)),
    };
    loop {
        match reader.next() {
            Ok(Some(record)) => kept.push(Kept::new(&record)),
            Ok(None) => return (kept, None),
            Err(error) => {
                assert!(matches!(reader.next(), Ok(None)), "the error is told once");
                return (kept, Some(error));
            }
        }
    }
}

/// All records of a capture that must be whole.
pub fn records(bytes: &[u8]) -> Vec<Kept> {
    let (kept, error) = read_all(weir_capture::Reader::new(bytes));
    assert!(error.is_none(), "{error:?}");
    kept
}

/// Gives 1 to `most` bytes at a time, and is interrupted now and then.
pub struct Dribble<R> {
    inner: R,
    most: usize,
    state: u64,
}

impl<R> Dribble<R> {
    pub fn new(inner: R, most: usize, seed: u64) -> Self {
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
