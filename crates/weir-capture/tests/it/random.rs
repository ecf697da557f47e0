//! Random captures of every format are read back as they were written, however the bytes come in,
//! and every prefix of one gives a prefix of its records.

use std::io::Write;

use crate::common::*;
use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use weir_capture::{ErrorKind, ReadOptions, Reader};

/// A capture and what it holds.
#[derive(Clone, Debug)]
struct RandomCapture {
    bytes: Vec<u8>,
    kept: Vec<OwnedRecord>,
    /// The end of each record.
    ends: Vec<usize>,
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Little), Just(Big)]
}

fn data() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..100),
        1 => (any::<u8>(), 0..20_000_usize).prop_map(|(byte, len)| vec![byte; len]),
    ]
}

fn pcap() -> impl Strategy<Value = RandomCapture> {
    // Magic, version, bytes after the record header, nanoseconds in a unit.
    let variants = [
        (0xa1b2_c3d4, (2, 4), 0, 1000),
        (0xa1b2_c3d4, (2, 2), 0, 1000),
        (0xa1b2_3c4d, (2, 4), 0, 1),
        (0xa1b2_cd34, (2, 4), 8, 1000),
        (0x1c00_01ab, (2, 4), 0, 1000),
        (0x1c00_01ac, (2, 4), 0, 1),
    ];
    let record = (
        1_600_000_000..1_610_000_000_u32,
        0..1_000_000_u32,
        data(),
        0..9_u32,
    );
    (
        order(),
        prop::sample::select(variants.to_vec()),
        1..300_u32,
        prop::collection::vec(record, 0..12),
    )
        .prop_filter("AIX", |(_, (_, version, ..), network, _)| {
            *version != (2, 2) || *network > 24
        })
        .prop_map(|(order, (magic, version, more, unit), network, records)| {
            let mut bytes = pcap_header(order, magic, version, network);
            if magic >> 8 == 0x1c_0001 {
                bytes.extend([1, 2, 3, 4]);
            }
            let mut kept = Vec::new();
            let mut ends = Vec::new();
            for (number, (seconds, fraction, data, cut)) in (1..).zip(records) {
                let wire_len = data.len() as u32 + cut;
                kept.push(OwnedRecord {
                    number,
                    offset: bytes.len() as u64,
                    time_ns: Some(i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * unit),
                    wire_len,
                    link_type: network,
                    interface: 0,
                    section: 0,
                    data: data.clone(),
                    comment: None,
                    flags: None,
                });
                let mut lengths = [data.len() as u32, wire_len];
                if version == (2, 2) {
                    lengths.reverse();
                }
                let header = Bytes::new(order).u32(seconds).u32(fraction);
                let header = header.u32(lengths[0]).u32(lengths[1]);
                bytes.extend(header.raw(&vec![0; more]).raw(&data).bytes);
                ends.push(bytes.len());
            }
            RandomCapture { bytes, kept, ends }
        })
}

/// A block of a pcapng section.
#[derive(Clone, Debug)]
enum PcapngBlock {
    Interface {
        link_type: u16,
        snap_len: u32,
        resolution: Option<u8>,
        offset: Option<i32>,
    },
    Enhanced {
        interface: u32,
        ticks: u64,
        data: Vec<u8>,
        cut: u32,
        comment: Option<String>,
        flags: Option<u32>,
    },
    Obsolete {
        interface: u32,
        ticks: u64,
        data: Vec<u8>,
        cut: u32,
    },
    Simple {
        data: Vec<u8>,
        cut: u32,
    },
    Other {
        kind: u32,
        body: Vec<u8>,
    },
}

fn pcapng_block() -> impl Strategy<Value = PcapngBlock> {
    let packet = || (any::<u32>(), any::<u64>(), data(), 0..9_u32);
    prop_oneof![
        2 => (any::<u16>(), prop_oneof![Just(0), 1..200_u32], any::<Option<u8>>(), any::<Option<i32>>())
            .prop_map(|(link_type, snap_len, resolution, offset)| PcapngBlock::Interface {
                link_type, snap_len, resolution, offset
            }),
        6 => (packet(), any::<Option<String>>(), any::<Option<u32>>())
            .prop_map(|((interface, ticks, data, cut), comment, flags)| PcapngBlock::Enhanced {
                interface, ticks, data, cut, comment, flags
            }),
        1 => packet().prop_map(|(interface, ticks, data, cut)| PcapngBlock::Obsolete {
            interface: interface % 65_536, ticks, data, cut
        }),
        1 => (data(), 0..9_u32).prop_map(|(data, cut)| PcapngBlock::Simple { data, cut }),
        1 => (prop::sample::select(vec![4_u32, 5, 10, 0x777]), data())
            .prop_map(|(kind, body)| PcapngBlock::Other { kind, body }),
    ]
}

fn pcapng() -> impl Strategy<Value = RandomCapture> {
    let sections = prop::collection::vec(
        (order(), prop::collection::vec(pcapng_block(), 0..10)),
        1..4,
    );
    sections.prop_map(|sections| {
        let mut made = RandomCapture {
            bytes: Vec::new(),
            kept: Vec::new(),
            ends: Vec::new(),
        };
        for (number, (order, blocks)) in (0..).zip(sections) {
            made.bytes.extend(section(order));
            // Packets need an interface.
            let first = PcapngBlock::Interface {
                link_type: 1,
                snap_len: 0,
                resolution: None,
                offset: None,
            };
            let mut interfaces = Vec::new();
            for block in [vec![first], blocks].concat() {
                write_block(&mut made, order, number, &mut interfaces, block);
            }
        }
        made
    })
}

/// Link type, snapshot length, units in a second as numerator and denominator of nanoseconds,
/// offset in seconds.
type Described = (u32, u32, (i128, i128), i128);

fn write_block(
    made: &mut RandomCapture,
    order: Order,
    section: u32,
    interfaces: &mut Vec<Described>,
    block: PcapngBlock,
) {
    let mut kept = OwnedRecord {
        number: made.kept.len() as u64 + 1,
        offset: made.bytes.len() as u64,
        time_ns: None,
        wire_len: 0,
        link_type: 0,
        interface: 0,
        section,
        data: Vec::new(),
        comment: None,
        flags: None,
    };
    let time = |(_, _, (numerator, denominator), offset): Described, ticks: u64| {
        let ns = i128::from(ticks) * numerator / denominator + offset * 1_000_000_000;
        Some(ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
    };
    let bytes = match block {
        PcapngBlock::Interface {
            link_type,
            snap_len,
            resolution,
            offset,
        } => {
            // The resolutions stay within the range of an i128; other tests have the extremes.
            let resolution = resolution.map(|r| if r & 0x80 == 0 { r % 20 } else { r });
            let unit = match resolution {
                None => (1000, 1),
                Some(r) if r & 0x80 != 0 => (
                    1_000_000_000,
                    1_i128
                        .checked_shl(u32::from(r & 0x7f))
                        .filter(|&d| d > 0)
                        .unwrap_or(i128::MAX),
                ),
                Some(r @ 0..=9) => (10_i128.pow(9 - u32::from(r)), 1),
                Some(r) => (1, 10_i128.pow(u32::from(r) - 9)),
            };
            interfaces.push((link_type.into(), snap_len, unit, offset.unwrap_or(0).into()));
            let mut options = Vec::new();
            if let Some(resolution) = resolution {
                options.extend(option(order, 9, &[resolution]));
            }
            if let Some(offset) = offset {
                let offset = i64::from(offset);
                let value = if order == Big {
                    offset.to_be_bytes()
                } else {
                    offset.to_le_bytes()
                };
                options.extend(option(order, 14, &value));
            }
            made.bytes
                .extend(interface(order, link_type, snap_len, &options));
            return;
        }
        PcapngBlock::Other { kind, body } => {
            made.bytes.extend(crate::common::block(order, kind, &body));
            return;
        }
        PcapngBlock::Enhanced {
            interface,
            ticks,
            data,
            cut,
            comment,
            flags,
        } => {
            kept.interface = interface % interfaces.len() as u32;
            kept.time_ns = time(interfaces[kept.interface as usize], ticks);
            kept.wire_len = data.len() as u32 + cut;
            let mut options = Vec::new();
            if let Some(comment) = &comment {
                options.extend(option(order, 1, comment.as_bytes()));
            }
            if let Some(flags) = flags {
                options.extend(option(order, 2, &Bytes::new(order).u32(flags).bytes));
            }
            kept.comment = comment;
            kept.flags = flags;
            let bytes = enhanced(order, kept.interface, ticks, &data, kept.wire_len, &options);
            kept.data = data;
            bytes
        }
        PcapngBlock::Obsolete {
            interface,
            ticks,
            data,
            cut,
        } => {
            kept.interface = interface % interfaces.len() as u32;
            kept.time_ns = time(interfaces[kept.interface as usize], ticks);
            kept.wire_len = data.len() as u32 + cut;
            let bytes = obsolete(order, kept.interface as u16, ticks, &data, kept.wire_len);
            kept.data = data;
            bytes
        }
        PcapngBlock::Simple { data, cut } => {
            let snap_len = interfaces[0].1;
            kept.data = data;
            kept.wire_len = kept.data.len() as u32;
            if snap_len != 0 && kept.data.len() >= snap_len as usize {
                kept.data.truncate(snap_len as usize);
                kept.wire_len = snap_len + cut;
            }
            simple(order, &kept.data, kept.wire_len)
        }
    };
    kept.link_type = interfaces[kept.interface as usize].0;
    made.bytes.extend(bytes);
    made.kept.push(kept);
    made.ends.push(made.bytes.len());
}

fn erf_capture() -> impl Strategy<Value = RandomCapture> {
    let record = (
        0..2_u64 << 32,
        1..28_u8,
        any::<u8>(),
        data(),
        any::<u16>(),
        any::<bool>(),
    );
    prop::collection::vec(record, 1..12).prop_map(|records| {
        let mut made = RandomCapture {
            bytes: Vec::new(),
            kept: Vec::new(),
            ends: Vec::new(),
        };
        let mut ports = Vec::new();
        for (time, kind, flags, data, wire_len, padded) in records {
            let time = (1_700_000_000 << 32) + time;
            if padded {
                made.bytes.extend(erf(0, 48, flags, &data, 0));
            }
            // Room for the header of any type.
            let rest = [&[0; 4][..], &data].concat();
            let bytes = erf(time, kind, flags, &rest, wire_len);
            let rounded = (u128::from(time) * 1_000_000_000 + (1 << 31)) >> 32;
            made.kept.push(OwnedRecord {
                number: made.kept.len() as u64 + 1,
                offset: made.bytes.len() as u64,
                time_ns: Some(rounded as i64),
                wire_len: wire_len.into(),
                link_type: 197,
                interface: {
                    let port = flags & 3;
                    let seen = ports.iter().position(|seen| *seen == port);
                    seen.unwrap_or_else(|| {
                        ports.push(port);
                        ports.len() - 1
                    }) as u32
                },
                section: 0,
                data: bytes.clone(),
                comment: None,
                flags: None,
            });
            made.bytes.extend(bytes);
            made.ends.push(made.bytes.len());
        }
        made
    })
}

fn capture() -> impl Strategy<Value = RandomCapture> {
    prop_oneof![pcap(), pcapng(), erf_capture()]
}

fn options(buffer_bytes: usize) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.buffer_bytes = buffer_bytes;
    options
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_written_is_read(
        made in capture(),
        most in 1..5000_usize,
        seed in any::<u64>(),
        buffer_bytes in 4096..40_000_usize,
        split in any::<prop::sample::Index>(),
    ) {
        let (left, right) = made.bytes.split_at(split.index(made.bytes.len()));
        let zipped = [gzip(left), gzip(right)].concat();
        let zstd = [left, right].map(|part| zstd::encode_all(part, 1).unwrap()).concat();
        for source in [&made.bytes, &zipped, &zstd] {
            let source = Dribble::new(&source[..], most, seed);
            let (kept, error) = read_all(Reader::with_options(source, &options(buffer_bytes)));
            prop_assert!(error.is_none(), "{error:?}");
            prop_assert_eq!(&kept, &made.kept);
        }
    }

    #[test]
    fn a_prefix_gives_a_prefix(
        made in capture(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 8),
    ) {
        for cut in cuts {
            let prefix = &made.bytes[..cut.index(made.bytes.len())];
            let (kept, error) = read_all(Reader::with_options(prefix, &options(4096)));
            prop_assert!(kept.len() <= made.kept.len());
            prop_assert_eq!(&kept[..], &made.kept[..kept.len()]);
            // A record is missing only if it is cut: too little of an ERF is no ERF.
            let whole = made.ends.iter().filter(|&&end| end <= prefix.len());
            let unknown = error.is_some_and(|error| error.kind() == ErrorKind::UnknownFormat);
            prop_assert!(unknown || kept.len() == whole.count());
        }
    }

    #[test]
    fn changed_bytes_do_no_harm(
        made in capture(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        compression in 0..3,
    ) {
        let mut bytes = match compression {
            0 => made.bytes,
            1 => gzip(&made.bytes),
            _ => zstd::encode_all(&made.bytes[..], 1).unwrap(),
        };
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        let (kept, _) = read_all(Reader::with_options(&bytes[..], &options(4096)));
        // Each record takes up its data at least.
        let data: usize = kept.iter().map(|kept| kept.data.len()).sum();
        prop_assert!(compression > 0 || data <= bytes.len());
    }
}
