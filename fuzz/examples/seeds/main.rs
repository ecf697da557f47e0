//! Writes the seeds of every target to `corpus/<target>/`: small, sound inputs from which a fuzzer
//! finds its way. Always the same ones, so that running it again changes nothing.
//!
//! ```text
//! cargo run --no-default-features --example seeds
//! ```

mod frames;
mod messages;
mod sip;
mod websocket;

use std::fs;
use std::io;
use std::path::Path;

use weir_fuzz::layout::{LAYOUTS, SEPARATOR};
use weir_fuzz::packet::LINK_TYPES;
use weir_h248::{Arena, EncodeOptions, Encoding, TextOptions, decode_text, encode};
use weir_testkit::Rng;
use weir_testkit::capture::{
    Endian, ErfRecord, ErfWriter, Interface, PcapVariant, PcapWriter, PcapngWriter, erf_flags,
    erf_type, mc_atm, mc_hdlc,
};
use weir_testkit::packet::{CellHeader, FrameRelay};

use frames::{Seed, frames};

fn main() -> io::Result<()> {
    let frames = frames();
    let pcaps = pcaps(&frames)?;
    let pcapngs = pcapngs(&frames)?;
    let erfs = erfs(&frames)?;
    let captures: Vec<Seed> = [&pcaps[..], &pcapngs, &erfs].concat();
    write("capture_pcap", &pcaps)?;
    write("capture_pcapng", &pcapngs)?;
    write("capture_erf", &erfs)?;
    write("capture_compressed", &compressed(&captures))?;
    write("capture_structured", &random(8, 300))?;
    write("packet_decode", &packets(&frames))?;
    write("packet_stream", &streams(&frames))?;
    write("layout_parse", &layouts())?;
    write("layout_records", &records(&frames))?;
    write("table_scan", &scans(&captures, &frames))?;
    write("program_run", &random(8, 600))?;
    write("dict_operations", &random(8, 600))?;
    write("flow_reassemble", &random(6, 400))?;
    write("flow_packets", &random(6, 400))?;
    write("flow_fragments", &random(7, 200))?;
    write("flow_sctp", &random(8, 80))?;
    write("flow_payloads", &random(9, 400))?;
    for (target, seeds) in websocket::all().into_iter().chain(sip::all()) {
        write(target, &seeds)?;
    }
    for (target, seeds) in messages::all() {
        write(target, &seeds)?;
    }
    for (target, encoding) in [
        ("h248_text", Encoding::Compact),
        ("h248_ber", Encoding::Ber),
        ("h248_per", Encoding::Per),
        ("h248_erl", Encoding::Erl),
    ] {
        write(target, &messages(encoding))?;
    }
    Ok(())
}

/// Megaco messages in an encoding.
fn messages(encoding: Encoding) -> Vec<Seed> {
    const ID: &str = "11111111/00000000/00000000";
    let texts = [
        (
            "modify",
            format!(
                "!/1 [1.2.3.4]:5\nT=1{{C=-{{MF={ID}{{M{{ST=1{{O{{MO=SR,nt/jit=[1:2]}},L{{\nv=0\r\nc=IN IP4 $\r\n}}}}}},E=2{{al/of{{strict=exact}}}}}}}}}}"
            ),
        ),
        (
            "notify",
            format!(
                "!/3 [1.2.3.4]\nT=1{{C=1{{PR=15,EG,N={ID}{{OE=2{{19990729T22000000:dd/ce{{ds=\"12\"}}}}}}}}}}"
            ),
        ),
        (
            "service",
            "!/2 <mgc>:2944\nT=1{C=-{SC=root{SV{MT=RS,PF=resgw/1,RE=\"901 x\"}}}}".into(),
        ),
        (
            "embedded",
            format!(
                "!/3 gw\nT=1{{C=-{{MF={ID}{{E=2{{al/on{{KA,NBRN{{EM{{SG{{cg/rt{{SPADI=EX}}}},E=3{{al/of}}}}}},RSE}}}}}}}}}}"
            ),
        ),
        (
            "audit",
            format!(
                "!/2 [1::2]\nT=1{{C=-{{W-AV={ID}{{AT{{M{{TS{{SI}}}},SG{{SL=4{{ct/ct}}}},DM}}}}}}}}"
            ),
        ),
        (
            "reply",
            format!(
                "!/3 [1.2.3.4]\nP=1/2/&{{C=1{{AV={ID}{{SA{{rtp/ps=1}},PG{{al-1}}}},ER=502{{}}}}}}K{{9-13}}"
            ),
        ),
    ];
    texts
        .into_iter()
        .map(|(name, text)| {
            let arena = Arena::new();
            let message = decode_text(text.as_bytes(), &arena, TextOptions::strict())
                .expect("the seed is a message");
            let mut out = Vec::new();
            encode(&message, encoding, &EncodeOptions::default(), &mut out)
                .expect("every encoding has a place for the seed");
            (name.into(), out)
        })
        .collect()
}

/// A capture of each variant of pcap, with a few frames.
fn pcaps(frames: &[(u32, Seed)]) -> io::Result<Vec<Seed>> {
    let mut seeds = Vec::new();
    let some: Vec<_> = frames
        .iter()
        .filter(|(link_type, _)| *link_type == 1)
        .take(4)
        .collect();
    for (variant, endian, name) in [
        (PcapVariant::Micro, Endian::Little, "micro_little"),
        (PcapVariant::Micro, Endian::Big, "micro_big"),
        (PcapVariant::Nano, Endian::Little, "nano_little"),
        (PcapVariant::Nano, Endian::Big, "nano_big"),
        (PcapVariant::Modified, Endian::Little, "modified_little"),
        (PcapVariant::Modified, Endian::Big, "modified_big"),
    ] {
        let mut writer = PcapWriter::new(Vec::new(), 1, 96, variant, endian)?;
        for (index, (_, (_, frame))) in some.iter().enumerate() {
            writer.packet(
                TIME_NS + index as u64 * 1_000_001,
                frame.len() as u32,
                frame,
            )?;
        }
        seeds.push((name.to_owned(), writer.into_inner()));
    }
    let mut old = seeds[0].1.clone();
    // Version 2.2 has the lengths the other way round, and 2.3 either way.
    old[6] = 2;
    seeds.push(("version_2_2".to_owned(), old.clone()));
    old[6] = 3;
    seeds.push(("version_2_3".to_owned(), old));
    // Ixia's hardware: a number of bytes behind the file header.
    let mut ixia = seeds[2].1.clone();
    ixia[..4].copy_from_slice(&0x1c00_01ac_u32.to_le_bytes());
    let records_len = (ixia.len() - 24) as u32;
    ixia.splice(24..24, records_len.to_le_bytes());
    seeds.push(("ixia".to_owned(), ixia));
    // Nokia's variant has four more bytes in each record header, and no sign of it in the file header.
    let mut nokia = seeds[0].1[..24].to_vec();
    for (index, (_, (_, frame))) in some.iter().enumerate() {
        let len = frame.len().min(96) as u32;
        for number in [1_700_000_000, index as u32, len, len, 0] {
            nokia.extend(number.to_le_bytes());
        }
        nokia.extend(&frame[..len as usize]);
    }
    seeds.push(("nokia".to_owned(), nokia));
    seeds.push(("no_records".to_owned(), seeds[0].1[..24].to_vec()));
    seeds.push(("cut".to_owned(), seeds[1].1[..70].to_vec()));
    Ok(seeds)
}

/// pcapng with every kind of block, in both orders.
fn pcapngs(frames: &[(u32, Seed)]) -> io::Result<Vec<Seed>> {
    let mut seeds = Vec::new();
    for (endian, name) in [(Endian::Little, "little"), (Endian::Big, "big")] {
        let mut writer = PcapngWriter::new(Vec::new(), endian, &[(4, b"seeds")])?;
        let mut nano = Interface::new(1).name("eth0");
        nano.resolution = Some(9);
        let mut binary = Interface::new(107).option(3, b"a serial line");
        binary.resolution = Some(0x80 | 20);
        binary.offset_s = Some(-3600);
        binary.snaplen = 64;
        for (interface, link_type) in [(nano, 1), (binary, 107)] {
            let id = writer.interface(interface)?;
            for (_, (_, frame)) in frames.iter().filter(|(own, _)| *own == link_type).take(3) {
                let options: [(u16, &[u8]); 2] = [(1, b"a comment"), (2, &[1, 0, 0, 0])];
                writer.packet(id, TIME_NS, frame.len() as u32 + 4, frame, &options)?;
            }
        }
        writer.obsolete_packet(0, 3, TIME_NS, 60, &[0xff; 60])?;
        writer.simple_packet(60, &[0xff; 60])?;
        writer.names(&[([10, 0, 0, 1].into(), "one"), ([0; 16].into(), "any")])?;
        writer.secrets(b"CLIENT_RANDOM 00 00")?;
        writer.statistics(0, TIME_NS, 5, 1)?;
        writer.block(0x0bad, &[0, 0, 0x7f, 1])?;
        writer.block(0x7777_7777, &[1, 2, 3])?;
        writer.section(
            if endian == Endian::Big {
                Endian::Little
            } else {
                Endian::Big
            },
            &[],
        )?;
        let id = writer.interface(Interface::new(101))?;
        writer.packet(id, TIME_NS, 20, &[0x45; 20], &[])?;
        seeds.push((name.to_owned(), writer.into_inner()));
    }
    let mut empty = PcapngWriter::new(Vec::new(), Endian::Little, &[])?;
    empty.interface(Interface::new(1))?;
    seeds.push(("no_packets".to_owned(), empty.into_inner()));
    let cut = seeds[0].1[..seeds[0].1.len() / 2].to_vec();
    seeds.push(("cut".to_owned(), cut));
    Ok(seeds)
}

/// ERF records of the kinds that carry frame relay, ATM and Ethernet.
fn erfs(frames: &[(u32, Seed)]) -> io::Result<Vec<Seed>> {
    let mut seeds = Vec::new();
    let ethernet = &frames[0].1.1;
    let hdlc = FrameRelay::new(100).ip(&ethernet[14..]);
    let cell = CellHeader::new(0, 33).cell(&[0xaa; 48]);
    let pdu = [&CellHeader::new(1, 100).bytes()[..], &frames::llc_pdu()].concat();
    for (name, kind, multi_channel, payload) in [
        ("hdlc", erf_type::HDLC, None, &hdlc[..]),
        (
            "mc_hdlc",
            erf_type::MC_HDLC,
            Some(mc_hdlc(37, 0)),
            &hdlc[..],
        ),
        ("ethernet", erf_type::ETH, None, &ethernet[..]),
        ("atm", erf_type::ATM, None, &cell[..]),
        ("mc_atm", erf_type::MC_ATM, Some(mc_atm(5, 2)), &cell[..]),
        ("aal5", erf_type::AAL5, None, &pdu[..]),
        ("mc_aal5", erf_type::MC_AAL5, Some(mc_atm(9, 1)), &pdu[..]),
        ("ipv4", erf_type::IPV4, None, &ethernet[14..]),
    ] {
        let mut writer = ErfWriter::new(Vec::new());
        for index in 0..4_u8 {
            let record = ErfRecord {
                kind,
                flags: erf_flags::VARYING_LENGTH | index % 2,
                extensions: if index == 2 {
                    &[0x0400_0000_0000_0001, 0x0300_0000_0000_0002]
                } else {
                    &[]
                },
                loss_counter: 0,
                multi_channel,
                wire_len: 0,
                payload: &payload[..payload.len() - usize::from(index)],
            };
            writer.record(TIME_NS + u64::from(index) * 1_000, &record)?;
            if index == 1 {
                let pad = ErfRecord {
                    kind: erf_type::PAD,
                    ..ErfRecord::default()
                };
                writer.record(0, &pad)?;
            }
        }
        seeds.push((name.to_owned(), writer.into_inner()));
    }
    Ok(seeds)
}

/// Each mode of the target around a few captures.
fn compressed(captures: &[Seed]) -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (index, (name, capture)) in captures.iter().step_by(4).enumerate() {
        for mode in [3, 4 + index as u8 % 4, 8 + index as u8 % 4, 12 + index as u8 % 4] {
            let head = [mode, 100, 60, 0, 200, 1];
            seeds.push((format!("{name}_{mode}"), [&head[..], capture].concat()));
        }
    }
    let stored = b"\0\0\0\0\0\0\x1f\x8b\x08\x1c\0\0\0\0\0\x03\x02\0ab\x6e\0\x63\0\x01\x04\0\xfb\xff\xd4\xc3\xb2\xa1";
    seeds.push(("stored_block".to_owned(), stored.to_vec()));
    let run = b"\0\0\0\0\0\0\x28\xb5\x2f\xfd\x00\x58\x02\x80\x00\x2a\x03\x00\x02\x00";
    seeds.push(("zstd_run".to_owned(), run.to_vec()));
    seeds
}

/// Each frame with a header that asks for different columns.
fn packets(frames: &[(u32, Seed)]) -> Vec<Seed> {
    let mut rng = Rng::new(2);
    let seed = |(link_type, (name, frame)): &(u32, Seed)| {
        let mut bytes = vec![link_index(*link_type), 0, rng.next_u16() as u8 & 3];
        bytes.extend(rng.bytes(6));
        bytes.extend(frame);
        (name.clone(), bytes)
    };
    frames.iter().map(seed).collect()
}

/// Frames of one link type after the other through one decoder, and cells of several connections.
fn streams(frames: &[(u32, Seed)]) -> Vec<Seed> {
    let mut cells = Vec::new();
    let pdu = frames::aal5_pdu();
    for (interface, vci) in [(0_u8, 33_u16), (1, 34), (0, 35)] {
        cells.push(
            CellHeader::new(0, vci)
                .segment(&pdu)
                .iter()
                .map(|cell| erf_cell(interface, cell))
                .collect::<Vec<_>>(),
        );
    }
    let head = [0, 4, 0xff];
    let mut interleaved = head.to_vec();
    for index in 0..cells[0].len() {
        for connection in &cells {
            interleaved.extend(framed(197, &connection[index]));
        }
    }
    let mut seeds = vec![("interleaved_cells".to_owned(), interleaved)];
    // A connection that never ends its PDU; the odd length repeats each cell.
    let mut endless = head.to_vec();
    for _ in 0..8 {
        let mut cell = cells[0][0].clone();
        cell.resize(0x201, 0);
        endless.extend(framed(197, &cell));
    }
    endless.truncate(2048);
    seeds.push(("endless_pdu".to_owned(), endless));
    for (index, some) in frames.chunks(6).enumerate() {
        let mut stream = head.to_vec();
        for (link_type, (_, frame)) in some {
            stream.extend(framed(*link_type, frame));
        }
        stream.truncate(2048);
        seeds.push((format!("frames_{index}"), stream));
    }
    seeds
}

fn framed(link_type: u32, frame: &[u8]) -> Vec<u8> {
    let mut bytes = vec![
        link_index(link_type),
        frame.len() as u8,
        (frame.len() >> 8) as u8,
    ];
    bytes.extend(frame);
    bytes
}

fn erf_cell(interface: u8, cell: &[u8; 52]) -> Vec<u8> {
    let mut writer = ErfWriter::new(Vec::new());
    let record = ErfRecord {
        kind: erf_type::ATM,
        flags: interface,
        payload: cell,
        ..ErfRecord::default()
    };
    writer
        .record(TIME_NS, &record)
        .expect("a Vec takes all bytes");
    writer.into_inner()
}

/// The layouts, and some with what they extend and a few records.
fn layouts() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (index, (text, _)) in LAYOUTS.iter().enumerate() {
        let text = text.as_bytes();
        let text = text[..text.len().min(2040)].to_vec();
        seeds.push((format!("layout_{index}"), text));
    }
    let base =
        b"field = [{ name = \"a\", type = \"u8\" }, { name = \"b\", bits = 12 }, { bits = 4 }]";
    let child = b"extends = \"base.toml\"\nrecord.length = \"a + 3\"\nfield = [{ name = \"b\", override = true, type = \"i16\" }, { name = \"rest\", size = \"rest\" }]";
    let seed = [
        &child[..],
        SEPARATOR,
        base,
        SEPARATOR,
        b"\x02\x80\x00xy\x00\x01\x02",
    ]
    .concat();
    seeds.push(("extends".to_owned(), seed));
    let itself = b"extends = \"itself.toml\"".as_slice();
    seeds.push((
        "extends_itself".to_owned(),
        [itself, SEPARATOR, itself].concat(),
    ));
    for (name, text) in [
        ("syntax", "field = [{ name = "),
        ("unknown_type", "field = [{ name = \"a\", type = \"u12\" }]"),
        (
            "expression",
            "record.length = \"(a + 3) / 4 * 4 << 2 || !a && -a % 7 ^ 0xff\"\n[[field]]\nname = \"a\"\ntype = \"u8\"\nenum = { 1 = \"x\", -1 = \"y\" }\nwhen = \"1 == 1\"",
        ),
        (
            "overflow",
            "field = [{ name = \"a\", value = \"9223372036854775807 + 1\" }, { type = \"u8\" }]",
        ),
    ] {
        seeds.push((name.to_owned(), text.as_bytes().to_vec()));
    }
    seeds
}

/// Records of each layout; layouts without sample records get counting numbers.
fn records(frames: &[(u32, Seed)]) -> Vec<Seed> {
    let mut seeds = Vec::new();
    let frame = frames
        .iter()
        .find(|(link_type, _)| *link_type == 107)
        .map(|(_, (_, frame))| frame);
    let frame = frame.map_or(&[][..], Vec::as_slice);
    let mut recorder = Vec::new();
    for (kind, payload) in [
        (1_u8, frame),
        (2, &[0, 0, 1, 0, 0, 0, 0, 3]),
        (3, &[0, 0, 0, 9]),
    ] {
        recorder.extend([0x65, 0xa0, 0xc7, 0xd6, 0, 3, 0xd0, 0x90]);
        recorder.extend((16 + payload.len() as u16).to_be_bytes());
        recorder.extend((payload.len() as u16).to_be_bytes());
        recorder.extend([kind << 4 | 1, 1, 2, 24]);
        recorder.extend(payload);
    }
    let cells = [b"CELL", &[0x11; 24][..], &[0xa5; 24]].concat();
    let lines = b"17 644,me, ok\r\n-5 777,you, failed\r\n 1 0,x\r\n".to_vec();
    let marked =
        b"\xcf\x1a\x03abcpath\0\x02\0\x01\x02\x03\xee\xcf\x1a\0\0\0\0\0\0\xee??\xcf\x1a\x01"
            .to_vec();
    let kinds = [
        &[1, 20, 60, 0][..],
        &frame[..20.min(frame.len())],
        &[2, 30, 60, 0],
        &[0x45; 28],
        &[3, 0, 0, 0],
        &[7; 22],
    ]
    .concat();
    let computed =
        b"\x42\x00\x28\x03\x00\x01\xe0\x05\x00\x07optsaaaaaaaaaaaaaaaalabel and data".to_vec();
    for (index, bytes) in [
        recorder.clone(),
        recorder,
        cells,
        computed,
        lines,
        marked,
        kinds,
    ]
    .iter()
    .enumerate()
    {
        seeds.push((
            format!("layout_{index}"),
            [&[index as u8][..], bytes].concat(),
        ));
    }
    for index in 0..LAYOUTS.len() as u8 {
        let counting: Vec<u8> = (0..200).map(|byte: u8| byte.wrapping_mul(7)).collect();
        seeds.push((
            format!("counting_{index}"),
            [&[index][..], &counting].concat(),
        ));
    }
    seeds
}

/// Captures and records behind the choices of a scan.
fn scans(captures: &[Seed], frames: &[(u32, Seed)]) -> Vec<Seed> {
    let mut rng = Rng::new(3);
    let mut head = |first: u8| [&[first][..], &rng.bytes(15)].concat();
    let mut seeds = Vec::new();
    for (name, capture) in captures.iter().step_by(2) {
        seeds.push((
            format!("capture_{name}"),
            [head(1), capture.clone()].concat(),
        ));
    }
    for (name, bytes) in records(frames).into_iter().take(LAYOUTS.len()) {
        let index = bytes.first().copied().unwrap_or(0);
        seeds.push((
            format!("records_{name}"),
            [head(index << 2), bytes[1..].to_vec()].concat(),
        ));
    }
    seeds
}

fn random(count: u64, len: usize) -> Vec<Seed> {
    let one = |seed| (format!("random_{seed}"), Rng::new(seed).bytes(len));
    (0..count).map(one).collect()
}

/// The byte that chooses a link type.
fn link_index(link_type: u32) -> u8 {
    let index = LINK_TYPES.iter().position(|known| *known == link_type);
    index.map_or(0, |index| index as u8)
}

fn write(target: &str, seeds: &[Seed]) -> io::Result<()> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target);
    fs::create_dir_all(&dir)?;
    assert!(seeds.len() <= 40, "{target} has {} seeds", seeds.len());
    for (name, bytes) in seeds {
        assert!(
            bytes.len() <= 2048,
            "{target}/{name} has {} bytes",
            bytes.len()
        );
        fs::write(dir.join(name), bytes)?;
    }
    println!("{target}: {} seeds", seeds.len());
    Ok(())
}

/// A time in November 2023, in nanoseconds.
const TIME_NS: u64 = 1_700_000_000_123_456_789;
