//! Captures that are written by the rules are read back as they were written.
//!
//! The input becomes a plan ([`arbitrary`]); the writers of the test kit, which share nothing with the readers, follow
//! it. The expected records are computed here, in the most naive way.

use std::hash::{DefaultHasher, Hash, Hasher};

use arbitrary::{Arbitrary, Unstructured};
use weir_capture::{Format, Merge, Reader};
use weir_testkit::capture::{
    Endian, ErfRecord, ErfWriter, Interface, PcapVariant, PcapWriter, PcapngWriter,
};

use crate::capture::{self, Outcome, OwnedRecord};
use crate::dribble::Dribble;

/// A capture, and what is to be done to it.
#[derive(Arbitrary, Debug)]
struct Plan {
    file: File,
    pieces: [u8; 4],
    wrap: u8,
    cut: u16,
    damage: Vec<(u16, u8)>,
}

#[derive(Arbitrary, Debug)]
enum File {
    Pcap {
        big: bool,
        variant: u8,
        link_type: u16,
        packets: Vec<Packet>,
    },
    Pcapng {
        big: bool,
        parts: Vec<Part>,
    },
    Erf {
        records: Vec<Erf>,
    },
}

#[derive(Arbitrary, Debug)]
struct Packet {
    /// Microseconds since some moment of 2023, and nanoseconds.
    micros: u32,
    nanos: u16,
    /// Bytes that were cut off.
    missing: u16,
    data: Vec<u8>,
}

#[derive(Arbitrary, Debug)]
enum Part {
    Section {
        big: bool,
    },
    Interface {
        link_type: u16,
        snap_len: u8,
        resolution: u8,
        offset_s: Option<i32>,
        name: Option<String>,
    },
    Enhanced {
        interface: u8,
        packet: Packet,
        comment: Option<String>,
        flags: Option<u32>,
    },
    Obsolete {
        interface: u8,
        packet: Packet,
    },
    Simple {
        missing: u16,
        data: Vec<u8>,
    },
    Names(String),
    Secrets(Vec<u8>),
    Statistics {
        interface: u8,
    },
    Unknown {
        kind: u16,
        body: Vec<u8>,
    },
    Custom(Vec<u8>),
}

#[derive(Arbitrary, Debug)]
struct Erf {
    time: u32,
    nanos: u32,
    kind: u8,
    flags: u8,
    extensions: Vec<u64>,
    multi_channel: Option<u32>,
    wire_len: u16,
    padding_before: bool,
    payload: Vec<u8>,
}

/// A capture in bytes with its expected records, and where each ends.
#[derive(Default)]
struct BuiltCapture {
    bytes: Vec<u8>,
    records: Vec<OwnedRecord>,
    ends: Vec<usize>,
}

/// Writes the capture of a plan, reads it whole, in pieces, compressed, merged with itself, cut and
/// damaged.
pub fn run(bytes: &[u8]) {
    let Ok(plan) = Plan::arbitrary_take_rest(Unstructured::new(bytes)) else {
        return;
    };
    let (made, format) = match &plan.file {
        File::Pcap {
            big,
            variant,
            link_type,
            packets,
        } => (pcap(*big, *variant, *link_type, packets), Format::Pcap),
        File::Pcapng { big, parts } => (pcapng(*big, parts), Format::Pcapng),
        File::Erf { records } => (erf(records), Format::Erf),
    };
    let options = capture::options(Some(format));
    let wrapped = match plan.wrap % 3 {
        0 => made.bytes.clone(),
        1 => capture::gzip(&made.bytes),
        _ => capture::zstd(&made.bytes),
    };
    let pieces = plan.pieces.map(|piece| usize::from(piece) + 1);
    let Outcome { records, error, .. } = capture::read(Dribble::new(&wrapped, &pieces), &options);
    assert_eq!(error, None);
    assert_eq!(records, made.records);
    merged(&made, &options);

    let cut = usize::from(plan.cut) % (made.bytes.len() + 1);
    let before = capture::read(&made.bytes[..cut], &options).records;
    let whole = made.ends.iter().filter(|end| **end <= cut).count();
    assert_eq!(before, made.records[..whole], "cut at {cut}");

    if !plan.damage.is_empty() {
        let mut damaged = wrapped;
        for (place, change) in plan.damage {
            let place = usize::from(place) % damaged.len().max(1);
            if let Some(byte) = damaged.get_mut(place) {
                *byte ^= change;
            }
        }
        capture::check(&damaged, Some(format));
        capture::check(&damaged, None);
    }
}

/// Merged with itself, each record comes twice, and the order within each file stays.
fn merged(made: &BuiltCapture, options: &weir_capture::ReadOptions) {
    let readers = [&made.bytes, &made.bytes].map(|bytes| Reader::with_options(&bytes[..], options));
    let mut merge = Merge::new(readers.into_iter().flatten().collect());
    let mut seen = [0, 0];
    while let Some((file, record)) = merge.next().expect("a sound capture") {
        let expected = &made.records[seen[file]];
        assert_eq!(
            (record.number, record.time_ns),
            (expected.number, expected.time_ns)
        );
        assert_eq!(record.data.len(), expected.data_len);
        seen[file] += 1;
    }
    assert_eq!(seen, [made.records.len(); 2]);
}

fn pcap(big: bool, variant: u8, link_type: u16, packets: &[Packet]) -> BuiltCapture {
    let variant = match variant % 3 {
        0 => PcapVariant::Micro,
        1 => PcapVariant::Nano,
        _ => PcapVariant::Modified,
    };
    let header_len = if variant == PcapVariant::Modified {
        24
    } else {
        16
    };
    let mut made = BuiltCapture::default();
    let mut writer =
        PcapWriter::new(Vec::new(), link_type, 65_535, variant, endian(big)).expect("a Vec");
    let mut end = 24;
    for packet in packets {
        let (time_ns, wire_len) = (packet.time_ns(), packet.wire_len());
        writer
            .packet(time_ns, wire_len, &packet.data)
            .expect("a Vec");
        let unit = if variant == PcapVariant::Nano {
            1
        } else {
            1000
        };
        let mut kept = kept(&made, end, &packet.data);
        kept.time_ns = Some((time_ns / unit * unit) as i64);
        kept.wire_len = wire_len;
        kept.link_type = u32::from(link_type);
        end += header_len + packet.data.len();
        made.records.push(kept);
        made.ends.push(end);
    }
    made.bytes = writer.into_inner();
    assert_eq!(made.bytes.len(), end);
    made
}

/// The properties of a pcapng interface that a reader needs.
struct PcapngInterface {
    link_type: u16,
    snap_len: u32,
    resolution: Option<u8>,
    offset_s: Option<i64>,
    name: Option<String>,
}

fn pcapng(big: bool, parts: &[Part]) -> BuiltCapture {
    let mut made = BuiltCapture::default();
    let mut bytes = Vec::new();
    let mut writer = PcapngWriter::new(&mut bytes, endian(big), &[]).expect("a Vec");
    let mut order = endian(big);
    let mut interfaces: Vec<PcapngInterface> = Vec::new();
    let (mut section, mut uncounted) = (0, 0);
    // The writer owns the bytes while it lives: a record is at the sum of the blocks before it.
    let mut offsets = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let count = interfaces.len();
        let choose = |choice: u8| (count > 0).then(|| usize::from(choice) % count.max(1));
        match part {
            Part::Section { big } => {
                order = endian(*big);
                writer.section(order, &[]).expect("a Vec");
                interfaces.clear();
                section += 1;
            }
            Part::Interface {
                link_type,
                snap_len,
                resolution,
                offset_s,
                name,
            } => {
                let described = PcapngInterface {
                    link_type: *link_type,
                    snap_len: u32::from(*snap_len),
                    resolution: RESOLUTIONS[usize::from(*resolution) % RESOLUTIONS.len()],
                    offset_s: offset_s.map(i64::from),
                    name: name.as_deref().map(short),
                };
                let mut interface = Interface::new(*link_type);
                interface.snaplen = described.snap_len;
                interface.resolution = described.resolution;
                interface.offset_s = described.offset_s;
                if let Some(name) = &described.name {
                    interface = interface.name(name);
                }
                writer.interface(interface).expect("a Vec");
                interfaces.push(described);
            }
            Part::Enhanced {
                interface,
                packet,
                comment,
                flags,
            } => {
                let Some(interface) = choose(*interface) else {
                    continue;
                };
                let comment = comment.as_deref().map(short);
                let flag_bytes = flags.map(|flags| order.u32(flags));
                let mut options: Vec<(u16, &[u8])> = Vec::new();
                options.extend(comment.as_ref().map(|comment| (1, comment.as_bytes())));
                options.extend(flag_bytes.as_ref().map(|flags| (2, &flags[..])));
                let (time_ns, wire_len) = (packet.time_ns(), packet.wire_len());
                let id = interface as u32;
                writer
                    .packet(id, time_ns, wire_len, &packet.data, &options)
                    .expect("a Vec");
                let mut kept = interfaces[interface].kept(&made, packet);
                kept.interface = id;
                kept.comment = comment;
                kept.flags = *flags;
                made.records.push(kept);
                offsets.push((index, section, uncounted));
            }
            Part::Obsolete { interface, packet } => {
                let Some(interface) = choose(*interface) else {
                    continue;
                };
                let (time_ns, wire_len) = (packet.time_ns(), packet.wire_len());
                let id = interface as u16;
                writer
                    .obsolete_packet(id, 7, time_ns, wire_len, &packet.data)
                    .expect("a Vec");
                let mut kept = interfaces[interface].kept(&made, packet);
                kept.interface = u32::from(id);
                made.records.push(kept);
                offsets.push((index, section, uncounted));
            }
            Part::Simple { missing, data } => {
                let Some(first) = interfaces.first() else {
                    continue;
                };
                // The block does not say how much was captured: all, or the snap length.
                let whole = first.snap_len == 0 || data.len() < first.snap_len as usize;
                let wire_len = if whole {
                    data.len() as u32
                } else {
                    first.snap_len + u32::from(*missing)
                };
                writer.simple_packet(wire_len, data).expect("a Vec");
                let mut kept = kept(&made, 0, first.cut(data));
                kept.wire_len = wire_len;
                kept.link_type = u32::from(first.link_type);
                kept.name = first.shown_name();
                made.records.push(kept);
                offsets.push((index, section, uncounted));
            }
            Part::Names(name) => {
                let name = short(name);
                writer
                    .names(&[([10, 0, 0, 1].into(), &name)])
                    .expect("a Vec");
            }
            Part::Secrets(keys) => writer.secrets(keys).expect("a Vec"),
            Part::Statistics { interface } => {
                if let Some(interface) = choose(*interface) {
                    writer
                        .statistics(interface as u32, BASE_NS, 7, 1)
                        .expect("a Vec");
                }
            }
            Part::Unknown { kind, body } => {
                writer
                    .block(0x7700_0000 | u32::from(*kind), body)
                    .expect("a Vec");
            }
            Part::Custom(body) => {
                // Wireshark counts custom blocks as frames, and so do the numbers here.
                writer.block(0x0bad, body).expect("a Vec");
                uncounted += 1;
            }
        }
    }
    // The offsets of the packet blocks come from walking the lengths of all blocks.
    let mut packet_blocks = packet_blocks(&bytes).into_iter();
    for (kept, (_, section, uncounted)) in made.records.iter_mut().zip(offsets) {
        let (start, end) = packet_blocks.next().expect("as many blocks as packets");
        kept.offset = start as u64;
        kept.section = section;
        kept.number += uncounted;
        made.ends.push(end);
    }
    assert!(packet_blocks.next().is_none());
    made.bytes = bytes;
    made
}

/// Start and end of every packet block.
fn packet_blocks(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut big = false;
    while start < bytes.len() {
        let word = |at: usize, big: bool| {
            let word: [u8; 4] = bytes[at..at + 4].try_into().expect("four bytes");
            if big {
                u32::from_be_bytes(word)
            } else {
                u32::from_le_bytes(word)
            }
        };
        if word(start, false) == 0x0a0d_0d0a {
            big = word(start + 8, true) == 0x1a2b_3c4d;
        }
        let end = start + word(start + 4, big) as usize;
        if matches!(word(start, big), 2 | 3 | 6) {
            found.push((start, end));
        }
        start = end;
    }
    found
}

fn erf(records: &[Erf]) -> BuiltCapture {
    let mut made = BuiltCapture::default();
    let mut ports: Vec<u8> = Vec::new();
    let mut port_of = |flags: u8| match ports.iter().position(|port| *port == flags & 3) {
        Some(index) => index as u32,
        None => {
            ports.push(flags & 3);
            ports.len() as u32 - 1
        }
    };
    for record in records {
        let time_ns =
            u64::from(record.time) * 1_000_000_000 + u64::from(record.nanos % 1_000_000_000);
        let extensions = &record.extensions[..record.extensions.len().min(4)];
        let payload = &record.payload[..record.payload.len().min(60_000)];
        if record.padding_before {
            let mut writer = ErfWriter::new(&mut made.bytes);
            let pad = ErfRecord {
                kind: 48,
                flags: record.flags,
                ..ErfRecord::default()
            };
            writer.record(0, &pad).expect("a Vec");
            port_of(record.flags);
        }
        let kind = record.kind & 0x7f;
        let mut one = Vec::new();
        let mut writer = ErfWriter::new(&mut one);
        let written = ErfRecord {
            kind,
            flags: record.flags,
            extensions,
            loss_counter: 0,
            multi_channel: record.multi_channel,
            wire_len: record.wire_len,
            payload,
        };
        writer.record(time_ns, &written).expect("a Vec");
        // A record without any payload is not written by any card, and is refused.
        if one.len() == 16 && kind != 48 {
            continue;
        }
        let interface = port_of(record.flags);
        if kind == 48 {
            made.bytes.extend(one);
            continue;
        }
        let mut kept = kept(&made, made.bytes.len(), &one);
        kept.time_ns = Some(time_ns as i64);
        kept.wire_len = match record.wire_len {
            0 => payload.len() as u32,
            wire_len => u32::from(wire_len),
        };
        kept.link_type = 197;
        kept.interface = interface;
        let port = record.flags & 3;
        let letter = char::from(b'A' + port);
        kept.name = Some(format!("Port {letter} (ERF Interface {port})"));
        made.bytes.extend(one);
        made.records.push(kept);
        made.ends.push(made.bytes.len());
    }
    made
}

impl Packet {
    fn time_ns(&self) -> u64 {
        BASE_NS + u64::from(self.micros) * 1000 + u64::from(self.nanos % 1000)
    }

    fn wire_len(&self) -> u32 {
        self.data.len() as u32 + u32::from(self.missing)
    }
}

impl PcapngInterface {
    fn cut<'a>(&self, data: &'a [u8]) -> &'a [u8] {
        match self.snap_len {
            0 => data,
            snap_len => &data[..data.len().min(snap_len as usize)],
        }
    }

    /// The name as the reader shows it: it removes the zero byte at the end that some writers add.
    fn shown_name(&self) -> Option<String> {
        let name = self.name.as_deref()?.trim_end_matches('\0');
        (!name.is_empty()).then(|| name.to_owned())
    }

    fn kept(&self, made: &BuiltCapture, packet: &Packet) -> OwnedRecord {
        let mut kept = kept(made, 0, self.cut(&packet.data));
        kept.time_ns = Some(self.round(packet.time_ns()));
        kept.wire_len = packet.wire_len();
        kept.link_type = u32::from(self.link_type);
        kept.name = self.shown_name();
        kept
    }

    /// The time that is left of `time_ns` when it is counted in units of this interface.
    fn round(&self, time_ns: u64) -> i64 {
        let offset_ns = i128::from(self.offset_s.unwrap_or(0)) * 1_000_000_000;
        let since = i128::from(time_ns) - offset_ns;
        let since = since.max(0);
        let rounded = match self.resolution.unwrap_or(6) {
            bits if bits & 0x80 != 0 => {
                let bits = u32::from(bits & 0x7f);
                let ticks = ((since << bits) / 1_000_000_000) as u64;
                (i128::from(ticks) * 1_000_000_000) >> bits
            }
            digits => {
                let unit = 10_i128.pow(9 - u32::from(digits));
                since / unit * unit
            }
        };
        (rounded + offset_ns) as i64
    }
}

fn kept(made: &BuiltCapture, offset: usize, data: &[u8]) -> OwnedRecord {
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    OwnedRecord {
        number: made.records.len() as u64 + 1,
        offset: offset as u64,
        time_ns: None,
        wire_len: 0,
        link_type: 0,
        interface: 0,
        section: 0,
        name: None,
        data_len: data.len(),
        data_hash: hasher.finish(),
        comment: None,
        flags: None,
    }
}

fn endian(big: bool) -> Endian {
    if big { Endian::Big } else { Endian::Little }
}

/// No more than an option can hold.
fn short(text: &str) -> String {
    text.chars().take(100).collect()
}

/// A time in November 2023, in nanoseconds.
const BASE_NS: u64 = 1_700_000_000_000_000_000;

/// Seconds to nanoseconds, and binary fractions; `None` is microseconds without saying so.
const RESOLUTIONS: &[Option<u8>] = &[
    None,
    Some(0),
    Some(3),
    Some(6),
    Some(9),
    Some(0x80),
    Some(0x80 | 10),
    Some(0x80 | 20),
];
