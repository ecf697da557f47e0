//! Mutated captures, and the queries that are run over them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_capture::Reader;
use weir_layout::Layout;
use weir_tables::{
    Aggregate, Branch, EXTRACTIONS, Expression, Function, Scan, ScanOptions, Setting, Settings,
    SharedScan, Source, Table,
};
use weir_testkit::capture::{Endian, PcapVariant, PcapWriter};
use weir_testkit::demo::{RECORDER_LAYOUT, write_demo};
use weir_testkit::mutate::{self, MutablePacket};
use weir_testkit::packet::{Ipv4, Tcp, protocol, tcp_flags, udp};
use weir_testkit::{Rng, trace};

/// A good capture.
struct Base {
    name: String,
    file: Vec<u8>,
    link_type: u16,
    packets: Vec<MutablePacket>,
    is_recorder: bool,
    is_generated: bool,
}

/// The captures that are mutated.
pub(crate) struct Bases {
    bases: Vec<Base>,
    /// The indices of captures that have many packets, or that the testkit made.
    rich: Vec<usize>,
}

/// A query that is run over a mutated capture.
pub(crate) struct Question {
    pub(crate) name: String,
    table: Table,
    is_recorder: bool,
    merge: bool,
    groups: Vec<&'static str>,
}

impl Bases {
    /// Captures made by the testkit, in `folder`, and all that lie in `others`.
    pub(crate) fn load(folder: &Path, others: &[PathBuf]) -> io::Result<Self> {
        let generated = folder.join("generated");
        write_demo(&generated)?;
        let file = |name: &str| fs::File::create(generated.join(name));
        trace::ethernet_pcap(file("ethernet.pcap")?, 1, GENERATED_BYTES)?;
        trace::frame_relay_erf(file("frame-relay.erf")?, 1, GENERATED_BYTES)?;
        trace::atm_erf(file("atm-trace.erf")?, 1, GENERATED_BYTES)?;
        telephone(file("telephone.pcap")?)?;
        let mut paths = Vec::new();
        walk(&generated, &mut paths)?;
        for other in others {
            walk(other, &mut paths)?;
        }
        paths.sort();
        let bases: Vec<Base> = paths.iter().filter_map(|path| Base::load(path)).collect();
        let is_rich = |base: &Base| base.is_generated || base.packets.len() >= PACKETS_MAX;
        let numbers = (0..bases.len()).filter(|number| is_rich(&bases[*number]));
        let rich = numbers.collect();
        Ok(Self { bases, rich })
    }

    pub(crate) const fn len(&self) -> usize {
        self.bases.len()
    }

    /// Writes the mutated capture number `number` of a seed to `path`; returns a description of its mutations, and
    /// whether it is a file of the recorder.
    pub(crate) fn write(&self, seed: u64, number: u64, path: &Path) -> io::Result<(String, bool)> {
        let mut random = Rng::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number);
        // Half of them are made of captures with many kinds of packets.
        let base = match random.percent(50) {
            true => &self.bases[*random.pick(&self.rich)],
            false => random.pick(&self.bases),
        };
        let as_packets = !base.packets.is_empty() && random.percent(75);
        let bytes = match as_packets {
            true => self.packets(&mut random, base)?,
            false => {
                let mut bytes = base.file.clone();
                for _ in 0..=random.below(8) {
                    // Mostly the header stays: without it a file is refused at once, which tests little.
                    let from = match random.percent(90) {
                        true => random.below(bytes.len() as u64 + 1) as usize,
                        false => 0,
                    };
                    let mut rest = bytes.split_off(from);
                    mutate::bytes(&mut random, &mut rest);
                    bytes.append(&mut rest);
                }
                bytes
            }
        };
        fs::File::create(path)?.write_all(&bytes)?;
        Ok((base.name.clone(), base.is_recorder))
    }

    fn packets(&self, random: &mut Rng, base: &Base) -> io::Result<Vec<u8>> {
        let len = base.packets.len();
        let many = 1 + random.below(PACKETS_MAX.min(len) as u64) as usize;
        // Half of them from the beginning, where connections begin.
        let from = match random.percent(50) {
            true => 0,
            false => random.below((len - many + 1) as u64) as usize,
        };
        let mut packets = base.packets[from..from + many].to_vec();
        let other = random.pick(&self.bases);
        mutate::packets(random, &mut packets, &other.packets);
        let link_type = match random.below(20) {
            0 => other.link_type,
            1 => random.below(300) as u16,
            _ => base.link_type,
        };
        let (variant, endian) = (PcapVariant::Nano, Endian::Big);
        let mut writer = PcapWriter::new(Vec::new(), link_type, 1 << 18, variant, endian)?;
        for packet in &packets {
            writer.packet(packet.time_ns, packet.wire_len, &packet.bytes)?;
        }
        Ok(writer.into_inner())
    }
}

impl Base {
    fn load(path: &Path) -> Option<Self> {
        let mut file = fs::read(path).ok()?;
        let name = path.file_name()?.to_string_lossy().into_owned();
        let is_recorder = name == "recorder.bin";
        let mut by_link: BTreeMap<u32, Vec<MutablePacket>> = BTreeMap::new();
        if let Ok(mut reader) = Reader::new(file.as_slice())
            && !is_recorder
        {
            while let Ok(Some(record)) = reader.next() {
                let packets = by_link.entry(record.link_type).or_default();
                packets.push(MutablePacket {
                    time_ns: record.time_ns.map_or(0, |ns| ns.max(0).unsigned_abs()),
                    wire_len: record.wire_len,
                    bytes: record.data.to_vec(),
                });
                if packets.len() >= RECORDS_MAX {
                    break;
                }
            }
        } else if !is_recorder {
            return None;
        }
        file.truncate(FILE_BYTES_MAX);
        let most = by_link.into_iter().max_by_key(|(_, packets)| packets.len());
        let (link_type, packets) = most.unwrap_or_default();
        Some(Self {
            name,
            file,
            link_type: u16::try_from(link_type).unwrap_or_default(),
            packets,
            is_recorder,
            is_generated: path
                .parent()
                .is_some_and(|folder| folder.ends_with("generated")),
        })
    }
}

/// A call with its sound, and small messages that no other of the generated captures has.
fn telephone(file: fs::File) -> io::Result<()> {
    const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
    let mut writer = PcapWriter::new(file, 101, 65_535, PcapVariant::Nano, Endian::Little)?;
    let mut time_ns = 1_700_000_000_000_000_000;
    let mut packet = |transport: u8, segment: &[u8]| {
        time_ns += 20_000_000;
        // The longest datagram comes in fragments.
        let packet = Ipv4::new(HERE, THERE, transport).identification(7);
        let mut packets = packet.fragments(segment, 200).into_iter();
        packets.try_for_each(|packet| writer.packet(time_ns, packet.len() as u32, &packet))
    };
    let datagram = |port: u16, bytes: &[u8]| udp(HERE.into(), THERE.into(), port, port, bytes);
    let body = "v=0\r\nc=IN IP4 10.0.0.2\r\nm=audio 30000 RTP/AVP 0 101\r\na=rtpmap:101 telephone-event/8000\r\n";
    let invite = format!(
        "INVITE sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\r\nFrom: <sip:a@x>;tag=1\r\n\
         To: <sip:b@x>\r\nCall-ID: c\r\nCSeq: 1 INVITE\r\nContent-Type: application/sdp\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    packet(protocol::UDP, &datagram(5_060, invite.as_bytes()))?;
    for n in 0..40_u8 {
        let kind = if n % 10 == 9 { 101 } else { 0 };
        let sound = [
            0x80,
            kind,
            0,
            n,
            0,
            0,
            n,
            0,
            0,
            0,
            0,
            7,
            n % 16,
            0x8a,
            3,
            0x20,
        ];
        packet(protocol::UDP, &datagram(30_000, &sound))?;
        // Another stream is not announced.
        packet(protocol::UDP, &datagram(40_000, &sound))?;
    }
    for (port, bytes) in [
        (30_001, REPORTS),
        (
            1_812,
            &b"\x01\x07\0\x1f0123456789abcdef\x01\x05bob\x04\x06\xc0\0\x02\x01"[..],
        ),
        (161, SNMP),
        (
            3_478,
            &b"\0\x01\0\x0c\x21\x12\xa4\x420123456789ab\0\x20\0\x08\0\x01\xa1\x47\xe1\x12\xa6\x43"
                [..],
        ),
        (2_427, MGCP),
    ] {
        packet(protocol::UDP, &datagram(port, bytes))?;
    }
    packet(SCTP, M3UA)?;
    let segment = |seq: u32, flags: u8, bytes: &[u8]| {
        let tcp = Tcp::new(50_000, 1_883).numbers(seq, 1).flags(flags);
        tcp.segment(HERE.into(), THERE.into(), bytes)
    };
    packet(protocol::TCP, &segment(0, tcp_flags::SYN, b""))?;
    packet(protocol::TCP, &segment(1, tcp_flags::ACK, MQTT))?;
    let segment = |seq: u32, flags: u8, bytes: &[u8]| {
        let tcp = Tcp::new(50_000, 3_868).numbers(seq, 1).flags(flags);
        tcp.segment(HERE.into(), THERE.into(), bytes)
    };
    packet(protocol::TCP, &segment(0, tcp_flags::SYN, b""))?;
    packet(protocol::TCP, &segment(1, tcp_flags::ACK, DIAMETER))
}

const SCTP: u8 = 132;
const MGCP: &[u8] = b"DLCX 1210 a/1@x MGCP 1.0\r\nC: A3\r\nP: PS=1, PL=1\r\n.\r\n200 7 OK\r\n\r\nv=0\r\nc=IN IP4 10.0.0.9\r\n\
    m=audio 3456 RTP/AVP 0\r\n";
const DIAMETER: &[u8] =
    b"\x01\0\0\x40\xc0\0\x01\x10\0\0\0\x04\0\0\0\x07\0\0\0\x08\0\0\x01\x07\x40\0\0\x0aab\0\0\
    \0\0\x01\xbb\x40\0\0\x14\0\0\x01\xc2\x40\0\0\x0c\0\0\0\x01\0\0\x01\xa0\x40\0\0\x0c\0\0\0\x01";
/// A message of M3UA that carries SCCP and TCAP, in a chunk of SCTP.
const M3UA: &[u8] = b"\x0b\x59\x0b\x59\0\0\0\x07\0\0\0\0\0\x03\0\x54\0\0\0\x0a\0\x01\0\0\0\0\0\x03\
    \x01\0\x01\x01\0\0\0\x44\0\x06\0\x08\0\0\0\x0a\x02\x10\0\x31\0\0\x04\x01\0\0\x08\x02\x03\x02\0\x05\
    \x09\0\x03\x05\x09\x02\x42\x06\x04\x43\x01\x04\x08\x13\x62\x11\x48\x01\x07\x6c\x0c\xa1\x0a\x02\x01\x01\
    \x02\x01\x02\x30\x02\x04\0\0\0\0";

const REPORTS: &[u8] = b"\x81\xc9\0\x07\0\0\0\x07\0\0\0\x08\x10\xff\xff\xfe\0\x01\0\x05\0\0\0\x0c\x33\x44\x55\x66\0\x01\0\0\
    \x81\xca\0\x03\0\0\0\x07\x01\x03a@b\0\0\0\x81\xcb\0\x01\0\0\0\x07";
const SNMP: &[u8] =
    b"\x30\x2c\x02\x01\0\x04\x06public\xa0\x1f\x02\x01\x26\x02\x01\0\x02\x01\0\x30\x14\x30\x12\
    \x06\x08\x2b\x06\x01\x02\x01\x01\x02\0\x06\x06\x2b\x06\x01\x84\x0c\x02";
const MQTT: &[u8] = b"\x10\x0e\0\x04MQTT\x04\x02\0\x3c\0\x02id\x33\x0a\0\x03a/b\0\x07hey";

impl Question {
    /// Returns every table with all its columns, those with arguments also with low limits, and groups of plain fields,
    /// for which packets are read in another way.
    pub(crate) fn all() -> Vec<Self> {
        let of = |name: &str, table: Table| Self {
            name: name.to_owned(),
            table,
            is_recorder: false,
            merge: false,
            groups: Vec::new(),
        };
        let mut all = vec![of("packets", Table::packets().with_records())];
        let mut merged = of("packets, merged", Table::packets());
        merged.merge = true;
        all.push(merged);
        for extraction in EXTRACTIONS {
            all.push(of(extraction.name, Table::extracted(extraction)));
            if extraction.arguments().next().is_none() {
                continue;
            }
            let mut settings = Settings::default();
            for (name, value) in [
                ("flows_max", Setting::Number(5)),
                ("details_max", Setting::Number(2)),
                ("vlan", Setting::Flag(true)),
                ("checksums", Setting::Flag(true)),
                ("tunnels", Setting::Word("inner")),
            ] {
                // Tables have some of these arguments each.
                let _ = extraction.set(&mut settings, name, Some(value));
            }
            let table = Table::extracted(extraction).with_settings(settings);
            all.push(of(&format!("{}, small limits", extraction.name), table));
        }
        for groups in GROUPS {
            let mut question = of(
                &format!("groups by {}", groups.join(", ")),
                Table::packets(),
            );
            question.groups = groups.to_vec();
            all.push(question);
        }
        let mut records = of("records", Table::records(&recorder()));
        records.is_recorder = true;
        all.push(records);
        all
    }

    /// Returns whether the query applies to a file of this kind.
    pub(crate) const fn is_asked_of(&self, is_recorder: bool) -> bool {
        self.is_recorder == is_recorder
    }

    /// Runs the query over a file, and returns the number of rows or records.
    pub(crate) fn ask(&self, path: &Path) -> u64 {
        let source = || match self.is_recorder {
            true => Source::records(path, Arc::new(recorder())),
            false => Source::capture(path),
        };
        let mut options = ScanOptions::default();
        options.merge = self.merge;
        let sources = match self.merge {
            true => vec![source(), source()],
            false => vec![source()],
        };
        if !self.groups.is_empty() {
            return self.count(sources, options);
        }
        let projection: Vec<usize> = (0..self.table.columns().len()).collect();
        let mut scan = Scan::new(&self.table, &projection, None, sources, options);
        let mut rows = 0;
        while let Some(batch) = scan
            .next_batch()
            .expect("arrays that fit, and no order promised")
        {
            rows += batch.num_rows() as u64;
        }
        // Damage is reported in texts, whose length has a bound, too.
        let errors = scan.take_errors();
        let told = errors.iter().map(|error| error.to_string().len());
        assert!(told.sum::<usize>() < 100_000);
        rows
    }

    fn count(&self, sources: Vec<Source>, options: ScanOptions) -> u64 {
        let column = |name: &&str| {
            let position = self.table.position(name).expect("a column");
            Expression::Column(self.table.columns()[position].clone())
        };
        let length = Expression::Integer {
            signed: false,
            of: Box::new(column(&"frame.len")),
        };
        let branch = Branch {
            predicate: None,
            keys: self.groups.iter().map(column).collect(),
            arguments: vec![None, Some(length)],
            filters: vec![None, None],
        };
        let functions = [Function::CountRows, Function::Sum];
        let groups = Aggregate::new(vec![branch], &functions).expect("keys and numbers");
        let counters = Arc::new(weir_tables::Counters::default());
        let scan = SharedScan::new(vec![groups], &[], sources, options);
        let mut scan = scan.with_counters(Arc::clone(&counters));
        while scan.step().expect("no order is promised") {}
        counters.totals().records
    }
}

/// The layout of the demo's recorder.
fn recorder() -> Layout {
    let mut alone = |path: &str| Err(format!("{path} is not wanted"));
    Layout::parse(RECORDER_LAYOUT, &mut alone).expect("the demo's layout is one")
}

/// Adds the files below a folder, or the file.
fn walk(path: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    for entry in fs::read_dir(path)? {
        walk(&entry?.path(), found)?;
    }
    Ok(())
}

const GROUPS: &[&[&str]] = &[
    &["ip.src", "ip.dst"],
    &["port.src", "port.dst", "proto"],
    &["addr.src", "frame.layers"],
    &["eth.type", "vlan.id", "fr.dlci", "atm.vci"],
];
const GENERATED_BYTES: u64 = 300_000;
const PACKETS_MAX: usize = 60;
const RECORDS_MAX: usize = 2_000;
const FILE_BYTES_MAX: usize = 64 << 10;
