//! The ATM traces.

use super::{RecordSink, START_NS, Trace};
use crate::Rng;
use crate::capture::{erf_timestamp, erf_type};
use crate::packet::{CellHeader, Ipv4, aal5_llc, aal5_unit, checksum, ethertype, protocol, udp};
use crate::words::text;
use std::io::{self, Write};

/// Writes records of 64 bytes as old DAG cards did: an ERF timestamp (eight bytes, little-endian),
/// the CRC-32 of the payload by AAL5's polynomial (four bytes, big-endian), the cell's header
/// without HEC (four), 48 bytes of payload. At most `bytes` bytes, no file header.
///
/// The cells are those of AAL5 units that carry UDP over IPv4 in LLC/SNAP, interleaved on 400
/// virtual channels (VPI 0 to 3, VCI 32 to 131), the low numbers busier than the high ones; the
/// last cell of a unit is marked.
///
/// # Errors
/// The errors of `out`.
///
/// ```
/// let mut file = Vec::new();
/// let trace = weir_samples::trace::atm_cells(&mut file, 1, 1_000)?;
/// assert_eq!((trace.records, file.len()), (15, 960));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn atm_cells(out: impl Write, seed: u64, bytes: u64) -> io::Result<Trace> {
    generate(out, seed, bytes, |file, time_ns, header, cell| {
        let mut record = [0; 64];
        record[..8].copy_from_slice(&erf_timestamp(time_ns).to_le_bytes());
        record[8..12].copy_from_slice(&cell.crc.to_be_bytes());
        record[12..16].copy_from_slice(&header.bytes());
        record[16..].copy_from_slice(&cell.payload);
        file.extend_from_slice(&record);
    })
}

/// Writes the same cells as [`atm_cells`] as ERF records of type `ATM`: 16 bytes of header, the
/// cell's 52 bytes without HEC, four of padding.
///
/// # Errors
/// The errors of `out`.
pub fn atm_erf(out: impl Write, seed: u64, bytes: u64) -> io::Result<Trace> {
    generate(out, seed, bytes, |file, time_ns, header, cell| {
        let mut record = [0; 72];
        record[..8].copy_from_slice(&erf_timestamp(time_ns).to_le_bytes());
        record[8..16].copy_from_slice(&[erf_type::ATM, 0, 0, 72, 0, 0, 0, 52]);
        record[16..68].copy_from_slice(&header.cell(&cell.payload));
        file.extend_from_slice(&record);
    })
}

/// A cell's payload and its CRC-32.
struct CellPayload {
    payload: [u8; 48],
    crc: u32,
}

/// A unit on its way.
struct Burst {
    channel: CellHeader,
    unit: usize,
    sent: usize,
}

fn generate(
    out: impl Write,
    seed: u64,
    bytes: u64,
    write: impl Fn(&mut Vec<u8>, u64, CellHeader, &CellPayload),
) -> io::Result<Trace> {
    let mut rng = Rng::new(seed);
    let units: Vec<Vec<CellPayload>> = (0..UNITS).map(|_| make_unit(&mut rng)).collect();
    let mut bursts = Vec::with_capacity(BURSTS);
    while bursts.len() < BURSTS {
        let burst = Burst::new(&mut rng, &bursts);
        bursts.push(burst);
    }
    let mut output = RecordSink::new(out, bytes);
    let mut time_ns = START_NS;
    loop {
        // A cell lasts 2.7 us at 155 Mbit/s; the line is half busy.
        time_ns += rng.between(2_726, 8_000);
        let index = rng.below(BURSTS as u64) as usize;
        let burst = &mut bursts[index];
        let unit = &units[burst.unit];
        let last = burst.sent + 1 == unit.len();
        let header = burst.channel.payload_type(u8::from(last));
        let cell = &unit[burst.sent];
        if !output.record(|file| write(file, time_ns, header, cell))? {
            return output.finish();
        }
        burst.sent += 1;
        if last {
            bursts[index] = Burst::new(&mut rng, &bursts);
        }
    }
}

impl Burst {
    /// A unit on a channel that none of `others` uses, for the cells of a channel are in sequence.
    fn new(rng: &mut Rng, others: &[Self]) -> Self {
        let channel = loop {
            // The smaller of two numbers: low channels are busier.
            let number = rng.below(400).min(rng.below(400));
            let channel = CellHeader::new((number % 4) as u8, 32 + (number / 4) as u16);
            if others.iter().all(|other| other.channel != channel) {
                break channel;
            }
        };
        Self {
            channel,
            unit: rng.below(UNITS as u64) as usize,
            sent: 0,
        }
    }
}

fn make_unit(rng: &mut Rng) -> Vec<CellPayload> {
    let (src, dst) = (
        [10, 0, 0, rng.next_u8()].into(),
        [10, 0, 1, rng.next_u8()].into(),
    );
    let len = if rng.percent(60) {
        rng.between(20, 120)
    } else {
        rng.between(200, 1_400)
    };
    let payload = text(rng, len as usize);
    let ports = (
        rng.between(1_024, 65_535) as u16,
        rng.between(5_000, 5_100) as u16,
    );
    let datagram = udp(
        std::net::IpAddr::V4(src),
        std::net::IpAddr::V4(dst),
        ports.0,
        ports.1,
        &payload,
    );
    let packet = Ipv4::new(src, dst, protocol::UDP).packet(&datagram);
    let unit = aal5_unit(&aal5_llc(ethertype::IPV4, &packet), 0);
    let (payloads, _) = unit.as_chunks::<48>();
    let cells = payloads.iter();
    cells
        .map(|&payload| CellPayload {
            payload,
            crc: checksum::crc32_aal5(&payload),
        })
        .collect()
}

/// Different units.
const UNITS: usize = 256;
/// Units that are on their way at a time.
const BURSTS: usize = 32;
