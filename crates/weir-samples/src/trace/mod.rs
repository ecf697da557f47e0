//! Traces of any size for benchmarks, streamed at several hundred megabytes a second.
//!
//! The traffic is of about 4,000 flows at a time, most of them short and a few long, so that the
//! number of groups grows with the size as in a real trace; the default sizes are those of the
//! published measurements. The same seed and size give the same bytes everywhere, and a longer trace
//! begins with the shorter one. Every checksum is right. Times never step back.
//!
//! | kind | default | what |
//! |---|---|---|
//! | [`ethernet_pcap`] | 272 MB | 963,000 records of 283 bytes on average, 150,000 pairs of ports |
//! | [`frame_relay_erf`] | 260 MB | 917,000 multi-channel HDLC records of 283 bytes on average |
//! | [`atm_cells`] | 260 MB | 4.06 million records of 64 bytes, 400 virtual channels |
//! | [`atm_erf`] | 260 MB | the same cells as ERF records of 72 bytes |

mod atm;
mod ethernet;
mod frame_relay;
mod traffic;

pub use atm::{atm_cells, atm_erf};
pub use ethernet::ethernet_pcap;
pub use frame_relay::frame_relay_erf;

use std::io::{self, Write};

/// The size of a generated trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Records.
    pub records: u64,
    /// Bytes, file header included.
    pub bytes: u64,
}

/// Size of the Ethernet trace that the published measurements of today's tools used.
pub const ETHERNET_BYTES: u64 = 272_000_000;

/// Collects records and passes them on in large pieces, up to a number of bytes.
struct RecordSink<W> {
    out: W,
    buffer: Vec<u8>,
    left: u64,
    trace: Trace,
}

impl<W: Write> RecordSink<W> {
    fn new(out: W, bytes_max: u64) -> Self {
        let trace = Trace {
            records: 0,
            bytes: 0,
        };
        Self {
            out,
            buffer: Vec::with_capacity(PIECE_BYTES + 70_000),
            left: bytes_max,
            trace,
        }
    }

    /// Counts what `write` appends as a record; false, and nothing appended, when it does not fit
    /// any more.
    fn record(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<bool> {
        let fits = self.append(write)?;
        self.trace.records += u64::from(fits);
        Ok(fits)
    }

    fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<bool> {
        let start = self.buffer.len();
        write(&mut self.buffer);
        let len = (self.buffer.len() - start) as u64;
        if len > self.left {
            self.buffer.truncate(start);
            return Ok(false);
        }
        self.left -= len;
        self.trace.bytes += len;
        if self.buffer.len() >= PIECE_BYTES {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(true)
    }

    fn finish(mut self) -> io::Result<Trace> {
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.trace)
    }
}

const PIECE_BYTES: usize = 256 << 10;

/// 2026-01-01T00:00:00Z.
const START_NS: u64 = 1_767_225_600_000_000_000;
