//! `rtp`, `rtcp` and `media` are compared with tshark: packets and reports field by field, streams with `tshark -z
//! rtp,streams`; over captures, and over generated calls with known faults.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;

use weir_testkit::Rng;
use weir_testkit::capture::{Endian, PcapVariant, PcapWriter};
use weir_testkit::packet::{Ipv4, protocol, udp};
use weir_testkit::peer::Question;

use super::{Comparison, is_same, protocols};
use crate::sip::{column, read_with_notes};
use crate::tshark;

type HostPort = (Ipv4Addr, u16);
/// The payload type and the clock rate of a side.
type MediaFormat = (u8, u64);

const CALLER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const CALLEE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// A capture under way: packets by their times.
#[derive(Default)]
struct Wire(Vec<(u64, Vec<u8>)>);

impl Wire {
    fn datagram(&mut self, time_ns: u64, from: HostPort, to: HostPort, payload: &[u8]) {
        let datagram = udp(from.0.into(), to.0.into(), from.1, to.1, payload);
        let packet = Ipv4::new(from.0, to.0, protocol::UDP).packet(&datagram);
        self.0.push((time_ns, packet));
    }

    fn write(mut self, path: &Path) {
        self.0.sort_by_key(|(time_ns, _)| *time_ns);
        let file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
        let mut writer =
            PcapWriter::new(file, 101, 65_535, PcapVariant::Nano, Endian::Little).unwrap();
        for (time_ns, packet) in &self.0 {
            let time_ns = 1_700_000_000_000_000_000 + time_ns;
            writer.packet(time_ns, packet.len() as u32, packet).unwrap();
        }
        writer.into_inner().flush().unwrap();
    }

    /// A message of the call, with a description of media on this port.
    fn sip(
        &mut self,
        time_ms: u64,
        from_caller: bool,
        line: &str,
        cseq: &str,
        media: Option<(u16, &str)>,
    ) {
        let ends = [(CALLER, 5_060), (CALLEE, 5_060)];
        let [from, to] = if from_caller {
            ends
        } else {
            [ends[1], ends[0]]
        };
        let body = media.map_or(String::new(), |(port, formats)| {
            let address = from.0;
            format!(
                "v=0\r\no=- 1 1 IN IP4 {address}\r\ns=-\r\nc=IN IP4 {address}\r\nt=0 0\r\n\
                 m=audio {port} RTP/AVP {formats} 13 101\r\na=rtpmap:101 telephone-event/8000\r\n\
                 a=rtpmap:98 red/8000\r\na=rtpmap:97 iLBC/8000\r\na=rtpmap:96 opus/48000/2\r\n"
            )
        });
        let tag = if cseq.contains("INVITE") && from_caller {
            ""
        } else {
            ";tag=b"
        };
        let kind = if body.is_empty() {
            ""
        } else {
            "Content-Type: application/sdp\r\n"
        };
        let text = format!(
            "{line}\r\nVia: SIP/2.0/UDP 10.0.0.1:5060;branch=z9hG4bK{}\r\nFrom: <sip:a@x>;tag=a\r\n\
             To: <sip:b@x>{tag}\r\nCall-ID: media-call\r\nCSeq: {cseq}\r\nMax-Forwards: 70\r\n{kind}\
             Content-Length: {}\r\n\r\n{body}",
            cseq.replace(' ', ""),
            body.len()
        );
        self.datagram(time_ms * 1_000_000, from, to, text.as_bytes());
    }
}

/// A stream that is generated.
struct Made {
    from: HostPort,
    to: HostPort,
    ssrc: u32,
    payload_type: u8,
    clock_rate: u64,
    packets: u64,
    /// The number of packets in a thousand that are lost.
    lost: u64,
    doubled: u64,
    overtaken: u64,
    /// The maximum delay of a packet in milliseconds.
    late_ms: u64,
    first_sequence: u16,
}

/// The numbers of packets that were sent, lost and doubled.
#[derive(Debug, Default, PartialEq)]
struct Done {
    packets: u64,
    lost: u64,
    doubled: u64,
}

fn rtp(made: &Made, n: u64, ticks: u64, marker: bool, payload_type: u8, payload: &[u8]) -> Vec<u8> {
    let sequence = made.first_sequence.wrapping_add(n as u16);
    let mut bytes = vec![0x80, u8::from(marker) << 7 | payload_type];
    bytes.extend(sequence.to_be_bytes());
    bytes.extend((4_294_900_000_u64.wrapping_add(ticks) as u32).to_be_bytes());
    bytes.extend(made.ssrc.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Sends a stream of packets of 20 ms from this time on.
fn send(wire: &mut Wire, random: &mut Rng, made: &Made, from_ms: u64) -> Done {
    let mut done = Done::default();
    for n in 0..made.packets {
        let is_inner = n > 0 && n + 1 < made.packets;
        if is_inner && random.below(1_000) < made.lost {
            done.lost += 1;
            continue;
        }
        let mut time_ns = (from_ms + 20 * n) * 1_000_000;
        if is_inner {
            time_ns += random.below(made.late_ms * 1_000_000 + 1);
            if random.below(1_000) < made.overtaken {
                time_ns += 21_000_000 + made.late_ms * 1_000_000;
            }
        }
        let ticks = n * 20 * made.clock_rate / 1_000;
        let packet = rtp(made, n, ticks, n == 0, made.payload_type, &[0x55; 160]);
        wire.datagram(time_ns, made.from, made.to, &packet);
        done.packets += 1;
        if is_inner && random.below(1_000) < made.doubled {
            wire.datagram(time_ns + 300_000, made.from, made.to, &packet);
            done.packets += 1;
            done.doubled += 1;
        }
    }
    done
}

/// A compound of a sender's report with one block, a description, and now and then an extended report.
fn reports(sender: u32, source: u32, n: u32, ntp: u64, answers: Option<(u32, u32)>) -> Vec<u8> {
    let mut bytes = vec![0x81, 200, 0, 12];
    bytes.extend(sender.to_be_bytes());
    bytes.extend(ntp.to_be_bytes());
    for word in [160 * n, 50 * n, 8_000 * n] {
        bytes.extend(word.to_be_bytes());
    }
    let (last, delay) = answers.unwrap_or_default();
    let lost = if n == 3 { 0xff_fffe } else { n };
    for word in [source, n << 24 | lost, 0x1_0000 + n, 7 * n, last, delay] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend([0x81, 202, 0, 4]);
    bytes.extend(sender.to_be_bytes());
    bytes.extend(b"\x01\x08me@10.00\0\0");
    if n.is_multiple_of(2) {
        bytes.extend([0x80, 207, 0, 10]);
        bytes.extend(sender.to_be_bytes());
        bytes.extend([7, 0, 0, 8]);
        bytes.extend(source.to_be_bytes());
        bytes.extend([1, 2, 3, 4, 0, 100, 0, 200, 0, 40, 0, 60]);
        bytes.extend([
            0xec, 0xc4, 50, 16, 90, 127, 43, 41, 0, 0, 0, 80, 0, 120, 0, 200,
        ]);
    }
    if n == 5 {
        bytes.extend([0x81, 203, 0, 3]);
        bytes.extend(sender.to_be_bytes());
        bytes.extend(b"\x05later\0\0");
    }
    bytes
}

/// Writes a call whose media have faults; returns the numbers of both directions.
fn call(path: &Path, seed: u64, caller: MediaFormat, callee: MediaFormat) -> [Done; 2] {
    let mut random = Rng::new(seed);
    let mut wire = Wire::default();
    let formats = |payload_type: u8| payload_type.to_string();
    wire.sip(
        0,
        true,
        "INVITE sip:b@x SIP/2.0",
        "1 INVITE",
        Some((30_000, &formats(callee.0))),
    );
    wire.sip(50, false, "SIP/2.0 180 Ringing", "1 INVITE", None);
    wire.sip(
        900,
        false,
        "SIP/2.0 200 OK",
        "1 INVITE",
        Some((40_000, &formats(caller.0))),
    );
    wire.sip(910, true, "ACK sip:b@x SIP/2.0", "1 ACK", None);
    let ends = [(CALLER, 30_000), (CALLEE, 40_000)];
    let there = Made {
        from: ends[0],
        to: ends[1],
        ssrc: 0x1111_1111,
        payload_type: caller.0,
        clock_rate: caller.1,
        packets: 1_500,
        lost: 20,
        doubled: 5,
        overtaken: 8,
        late_ms: 12,
        first_sequence: 65_000,
    };
    let back = Made {
        from: ends[1],
        to: ends[0],
        ssrc: 0x2222_2222,
        payload_type: callee.0,
        clock_rate: callee.1,
        lost: 3,
        doubled: 0,
        overtaken: 0,
        late_ms: 5,
        first_sequence: 1,
        ..there
    };
    let done = [
        send(&mut wire, &mut random, &there, 1_000),
        send(&mut wire, &mut random, &back, 1_010),
    ];
    let mut last = [None::<(u32, u64)>; 2];
    for n in 1..6_u32 {
        for (side, (made, other)) in [(&there, &back), (&back, &there)].into_iter().enumerate() {
            let time_ms = 1_000 + u64::from(n) * 5_000 + 700 * side as u64;
            let ntp = (3_900_000_000 + time_ms / 1_000) << 32 | u64::from(n) << 20;
            // The delay since the last report (DLSR) is shorter than the elapsed time by 80 ms, the round trip.
            let answers = last[1 - side].map(|(middle, then_ms)| {
                (middle, ((time_ms - then_ms - 80) * 65_536 / 1_000) as u32)
            });
            let compound = reports(made.ssrc, other.ssrc, n, ntp, answers);
            let up = |end: HostPort| (end.0, end.1 + 1);
            wire.datagram(
                time_ms * 1_000_000 + 3_333,
                up(made.from),
                up(made.to),
                &compound,
            );
            last[side] = Some(((ntp >> 16) as u32, time_ms));
        }
    }
    wire.sip(40_000, true, "BYE sip:b@x SIP/2.0", "2 BYE", None);
    wire.sip(40_010, false, "SIP/2.0 200 OK", "2 BYE", None);
    wire.write(path);
    done
}

/// The generated calls: seed, and the codecs of the two sides with their clock rates.
const CALLS: &[(u64, MediaFormat, MediaFormat)] = &[
    (1, (0, 8_000), (8, 8_000)),
    (2, (18, 8_000), (18, 8_000)),
    (3, (97, 8_000), (96, 48_000)),
];

/// A line of `tshark -z rtp,streams`.
#[derive(Debug)]
struct StreamLine {
    ssrc: u32,
    packets: i64,
    lost: i64,
    /// The deltas and jitters: least, mean, most.
    times: Vec<f64>,
}

fn lines(path: &Path, arguments: &[&str]) -> Vec<StreamLine> {
    let mut command = Question::to("tshark");
    command
        .arg("-n")
        .args(arguments)
        .args(["-q", "-z", "rtp,streams", "-r"]);
    let text = command.file(path).answer().unwrap().text();
    let line = |line: &str| {
        let at = line.find(" 0x")?;
        let ssrc = line.get(at + 3..at + 11)?;
        let rest = line.get(at + 11..)?;
        // The columns before the percentage are packets and lost, those behind it times.
        let (counts, times) = rest.split_once('(')?;
        let mut counts = counts.split_ascii_whitespace().rev();
        let (lost, packets) = (counts.next()?, counts.next()?);
        let times = times.split_once(')')?.1.split_ascii_whitespace();
        Some(StreamLine {
            ssrc: u32::from_str_radix(ssrc, 16).ok()?,
            packets: packets.parse().ok()?,
            lost: lost.parse().ok()?,
            times: times.filter_map(|time| time.parse().ok()).collect(),
        })
    };
    text.lines().filter_map(line).collect()
}

/// Returns our streams as such lines; those without a clock have jitters as tshark has them.
fn our_lines(path: &Path) -> Vec<StreamLine> {
    let (batch, _) = read_with_notes("media", &[path], 1_000);
    let text = |name: &str| column(&batch, name);
    let times = [
        "delta_min",
        "delta_mean",
        "delta_max",
        "jitter_min",
        "jitter_mean",
        "jitter_max",
    ]
    .map(|name| text(&format!("media.{name}")));
    let (ssrc, packets, lost) = (text("rtp.ssrc"), text("media.packets"), text("media.lost"));
    (0..batch.num_rows())
        .map(|row| StreamLine {
            ssrc: ssrc[row].parse().unwrap(),
            packets: packets[row].parse().unwrap(),
            lost: lost[row].parse().unwrap(),
            times: times
                .iter()
                .map(|all| all[row].parse().unwrap_or(0.0))
                .collect(),
        })
        .collect()
}

/// Compares streams: counts are the same, times within a hundredth.
#[track_caller]
fn same_lines(name: &str, theirs: &[StreamLine], ours: &[StreamLine]) {
    assert_eq!(theirs.len(), ours.len(), "{name}: {theirs:?} {ours:?}");
    for theirs in theirs {
        let ours = ours.iter().find(|it| it.ssrc == theirs.ssrc).unwrap();
        assert_eq!(
            (theirs.packets, theirs.lost),
            (ours.packets, ours.lost),
            "{name}: {theirs:?} {ours:?}"
        );
        for (at, (theirs_ms, ours_ms)) in theirs.times.iter().zip(&ours.times).enumerate() {
            // A time that tshark did not compute is -1.
            let theirs_ms = theirs_ms.max(0.0);
            let is_close = (theirs_ms - ours_ms).abs() <= 0.01 * theirs_ms + 0.001;
            assert!(is_close, "{name}: time {at} of {theirs:?}, ours {ours:?}");
        }
    }
}

#[test]
fn streams_are_those_of_tshark() {
    if !tshark::is_installed() {
        weir_testkit::missing("tshark", "nothing judges the streams of RTP");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for (seed, caller, callee) in CALLS {
        let path = folder.path().join(format!("{seed}.pcap"));
        let done = call(&path, *seed, *caller, *callee);
        let (theirs, ours) = (lines(&path, &[]), our_lines(&path));
        same_lines(&format!("call {seed}"), &theirs, &ours);
        compared += ours.len();
        // The rows also have the numbers of the generated call.
        let (batch, _) = read_with_notes("media", &[&path], 10);
        for (side, done) in done.iter().enumerate() {
            let number = |name: &str| column(&batch, name)[side].parse::<u64>().unwrap();
            let found = Done {
                packets: number("media.packets"),
                lost: number("media.missing"),
                doubled: number("media.duplicates"),
            };
            assert_eq!(found, *done, "side {side} of call {seed}");
        }
    }
    let (captures, _) = super::compared_captures();
    let protocols = protocols(&captures);
    for capture in &captures {
        if protocols[&capture.name].contains("rtp") {
            let announced: Vec<StreamLine> = our_lines(&capture.path)
                .into_iter()
                .filter(|ours| {
                    lines(&capture.path, &[])
                        .iter()
                        .any(|it| it.ssrc == ours.ssrc)
                })
                .collect();
            same_lines(&capture.name, &lines(&capture.path, &[]), &announced);
            compared += announced.len();
        }
    }
    println!("media: {compared} streams are those of tshark");
    assert!(compared >= 6);
}

#[test]
fn packets_and_reports_are_those_of_tshark() {
    if !tshark::is_installed() {
        weir_testkit::missing("tshark", "nothing judges the packets of RTP");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (seed, caller, callee) in CALLS {
        let path = folder.path().join(format!("{seed}.pcap"));
        call(&path, *seed, *caller, *callee);
        paths.push(path);
    }
    let (captures, _) = super::compared_captures();
    let protocols = protocols(&captures);
    let with_media = captures
        .iter()
        .filter(|it| protocols[&it.name].contains("rtp"));
    paths.extend(with_media.map(|it| it.path.clone()));
    for comparison in [&PACKETS, &REPORTS] {
        let (mut equal, mut all) = (0_u64, 0_u64);
        let mut different: BTreeMap<&str, (u64, String)> = BTreeMap::new();
        for path in &paths {
            let (theirs, ours) = (comparison.theirs(path), comparison.ours(path));
            let frames: BTreeSet<u64> = theirs.keys().chain(ours.keys()).copied().collect();
            for frame in frames {
                for (at, (name, _)) in comparison.fields.iter().enumerate() {
                    let of = |values: &super::FieldValues| {
                        values
                            .get(&frame)
                            .map(|it| it[at].clone())
                            .unwrap_or_default()
                    };
                    let (theirs, ours) = (of(&theirs), of(&ours));
                    if theirs.is_empty() && ours.is_empty() {
                        continue;
                    }
                    all += 1;
                    if is_same(&theirs, &ours) {
                        equal += 1;
                    } else {
                        let difference = format!(
                            "{}: packet {frame}: {theirs:?}, ours {ours:?}",
                            path.display()
                        );
                        different.entry(name).or_insert((0, difference)).0 += 1;
                    }
                }
            }
        }
        println!("{}: {equal} of {all} values are equal", comparison.table);
        assert!(different.is_empty(), "{different:#?}");
        assert!(all > 500, "{all}");
    }
}

const PACKETS: Comparison = Comparison {
    table: "rtp",
    frame: "frame.number",
    protocols: &["rtp"],
    filter: "rtp && !icmp",
    fields: &[
        ("rtp.padding", "rtp.padding"),
        ("rtp.ext", "rtp.ext"),
        ("rtp.cc", "rtp.cc"),
        ("rtp.marker", "rtp.marker"),
        ("rtp.p_type", "rtp.p_type"),
        ("rtp.seq", "rtp.seq"),
        ("rtp.timestamp", "rtp.timestamp"),
        ("rtp.ssrc", "rtp.ssrc"),
        ("rtp.csrc.item", "rtp.csrc.item"),
        ("rtp.ext.profile", "rtp.ext.profile"),
        ("rtp.ext.len", "rtp.ext.len"),
        ("rtpevent.event_id", "rtpevent.event_id"),
        ("rtpevent.duration", "rtpevent.duration"),
    ],
    // tshark needs an announcement, unless a preference lets it guess.
    without: Some(("rtp.setup_method", "content")),
    preferences: &[],
    differences: &[],
};

const REPORTS: Comparison = Comparison {
    table: "rtcp",
    frame: "frame.number",
    protocols: &["rtcp"],
    filter: "rtcp && !icmp",
    fields: &[
        ("rtcp.pt", "rtcp.pt"),
        ("rtcp.length", "rtcp.length"),
        ("rtcp.senderssrc", "rtcp.senderssrc"),
        ("rtcp.ssrc.identifier", "rtcp.ssrc.identifier"),
        ("rtcp.timestamp.ntp.msw", "rtcp.timestamp.ntp.msw"),
        ("rtcp.timestamp.ntp.lsw", "rtcp.timestamp.ntp.lsw"),
        ("rtcp.timestamp.rtp", "rtcp.timestamp.rtp"),
        ("rtcp.sender.packetcount", "rtcp.sender.packetcount"),
        ("rtcp.sender.octetcount", "rtcp.sender.octetcount"),
        ("rtcp.ssrc.fraction", "rtcp.ssrc.fraction"),
        ("rtcp.ssrc.cum_nr", "rtcp.ssrc.cum_nr"),
        ("rtcp.ssrc.ext_high", "rtcp.ssrc.ext_high"),
        ("rtcp.ssrc.jitter", "rtcp.ssrc.jitter"),
        ("rtcp.ssrc.lsr", "rtcp.ssrc.lsr"),
        ("rtcp.ssrc.dlsr", "rtcp.ssrc.dlsr"),
        ("rtcp.xr.bt", "rtcp.xr.bt"),
        (
            "rtcp.xr.voipmetrics.burstduration",
            "rtcp.xr.voipmetrics.burstduration",
        ),
        ("rtcp.xr.voipmetrics.rtdelay", "rtcp.xr.voipmetrics.rtdelay"),
        ("rtcp.xr.voipmetrics.esdelay", "rtcp.xr.voipmetrics.esdelay"),
        ("rtcp.xr.voipmetrics.rfactor", "rtcp.xr.voipmetrics.rfactor"),
        ("rtcp.xr.voipmetrics.moslq", "rtcp.xr.voipmetrics.moslq"),
        ("rtcp.xr.voipmetrics.moscq", "rtcp.xr.voipmetrics.moscq"),
    ],
    without: None,
    preferences: &[],
    differences: &[],
};

/// A stream that is found by content alone is one that tshark guesses too; tshark guesses far more.
#[test]
fn what_is_found_by_content_is_a_stream() {
    if !tshark::is_installed() {
        weir_testkit::missing("tshark", "nothing judges what is found by content");
        return;
    }
    let (captures, is_listed) = super::compared_captures();
    let (mut found, mut differences) = (0, Vec::new());
    for capture in captures {
        let ours = our_lines(&capture.path);
        if ours.is_empty() {
            continue;
        }
        let theirs = lines(&capture.path, &["--enable-heuristic", "rtp_udp"]);
        for ours in &ours {
            found += 1;
            if !theirs.iter().any(|it| it.ssrc == ours.ssrc) {
                differences.push(format!(
                    "{}\t{:#010x}\t{}",
                    capture.name, ours.ssrc, ours.packets
                ));
            }
        }
    }
    println!("media: {found} streams, of which tshark does not know {differences:#?}");
    if is_listed {
        assert_eq!(differences, NOT_GUESSED);
    }
}

/// Streams that tshark does not guess: capture, SSRC and packets. They are SRTP between port 443 and another, which
/// tshark decodes as QUIC; weir is right.
const NOT_GUESSED: [&str; 2] = [
    "ndpi/tests__cfgs__default__pcap__snapchat_call_v1.pcapng\t0x0ea53582\t355",
    "ndpi/tests__cfgs__default__pcap__snapchat_call_v1.pcapng\t0xd13d7af7\t8",
];

/// The media of a call show its keys, a pause, and its quality.
#[test]
fn media_of_a_call_have_its_keys_a_pause_and_its_quality() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("call.pcap");
    let mut wire = Wire::default();
    wire.sip(
        0,
        true,
        "INVITE sip:b@x SIP/2.0",
        "1 INVITE",
        Some((30_000, "0")),
    );
    wire.sip(
        900,
        false,
        "SIP/2.0 200 OK",
        "1 INVITE",
        Some((40_000, "0")),
    );
    let made = Made {
        from: (CALLER, 30_000),
        to: (CALLEE, 40_000),
        ssrc: 7,
        payload_type: 0,
        clock_rate: 8_000,
        packets: 200,
        lost: 0,
        doubled: 0,
        overtaken: 0,
        late_ms: 0,
        first_sequence: 10,
    };
    send(&mut wire, &mut Rng::new(1), &made, 1_000);
    let mut n = 200;
    for (key, event) in [4_u8, 2, 11].into_iter().enumerate() {
        for part in 1..4_u16 {
            let duration = (160 * part).to_be_bytes();
            let payload = [
                event,
                if part == 3 { 0x8a } else { 10 },
                duration[0],
                duration[1],
            ];
            let packet = rtp(
                &made,
                n,
                32_000 + 800 * key as u64,
                part == 1,
                101,
                &payload,
            );
            wire.datagram((1_000 + 20 * n) * 1_000_000, made.from, made.to, &packet);
            n += 1;
        }
    }
    let packet = rtp(&made, n, n * 160, false, 13, &[60]);
    wire.datagram((1_000 + 20 * n) * 1_000_000, made.from, made.to, &packet);
    wire.sip(9_000, true, "BYE sip:b@x SIP/2.0", "2 BYE", None);
    wire.write(&path);
    let (batch, notes) = read_with_notes("media", &[&path], 10);
    assert_eq!(notes, Vec::<String>::new());
    let of = |name: &str| column(&batch, name)[0].clone();
    assert_eq!(batch.num_rows(), 1);
    assert_eq!(
        (of("media.dtmf"), of("media.events")),
        ("42#".to_owned(), "3".to_owned())
    );
    assert_eq!(
        (of("media.codec"), of("media.comfort_noise")),
        ("PCMU".to_owned(), "1".to_owned())
    );
    assert_eq!(
        (of("sip.call_id"), of("media.found_by")),
        ("media-call".to_owned(), "sip".to_owned())
    );
    assert_eq!(
        (of("media.type"), of("media.secure")),
        ("audio".to_owned(), "false".to_owned())
    );
    assert_eq!(
        (of("media.lost"), of("media.late")),
        ("0".to_owned(), "0".to_owned())
    );
    let mos: f64 = of("media.mos").parse().unwrap();
    assert!((4.3..4.42).contains(&mos), "{mos}");
    let (calls, _) = read_with_notes("calls", &[&path], 10);
    assert_eq!(column(&calls, "call.mos")[0], of("media.mos"));
    assert_eq!(column(&calls, "call.lost")[0], "0");
    assert_eq!(column(&calls, "call.jitter")[0], of("media.jitter_mean"));
}

/// RFC 3264, 8.3.2: another offer may give the payload type to another codec, which was missing.
#[test]
fn all_codecs_of_a_payload_type_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("codecs.pcap");
    let mut wire = Wire::default();
    let mut made = Made {
        from: (CALLER, 30_000),
        to: (CALLEE, 40_000),
        ssrc: 7,
        payload_type: 99,
        clock_rate: 8_000,
        packets: 50,
        lost: 0,
        doubled: 0,
        overtaken: 0,
        late_ms: 0,
        first_sequence: 10,
    };
    for (offer, codec) in [(1, "G726-32/8000"), (2, "AMR/8000")] {
        let formats = format!("99\r\na=rtpmap:99 {codec}\r\na=x:");
        let (cseq, from_ms) = (format!("{offer} INVITE"), 2_000 * offer);
        let invite = "INVITE sip:b@x SIP/2.0";
        wire.sip(from_ms, true, invite, &cseq, Some((30_000, &formats)));
        let answer = Some((40_000, &*formats));
        wire.sip(from_ms + 100, false, "SIP/2.0 200 OK", &cseq, answer);
        send(&mut wire, &mut Rng::new(1), &made, from_ms + 200);
        made.first_sequence += 50;
    }
    wire.write(&path);
    let (batch, _) = read_with_notes("media", &[&path], 10);
    assert_eq!(column(&batch, "media.packets"), ["100"]);
    assert_eq!(column(&batch, "media.payload_types"), ["[99]"]);
    assert_eq!(column(&batch, "media.codecs"), ["[G726-32, AMR]"]);
}

/// RFC 3551, 4.5.2, and RFC 7587, 4.1: what a description gives these codecs is not the rate of their timestamps. Packets were
/// late, and the clock was twice as fast or slow.
#[test]
fn streams_with_doubtful_clock_rates_have_no_jitter() {
    let columns = [
        "media.codec",
        "media.lost",
        "media.clock_rate",
        "media.late",
        "media.jitter_mean",
        "media.clock_drift",
    ];
    for (codec, clock_rate, is_sure) in [
        ("G722/8000", 8_000, true),
        ("G722/16000", 8_000, false),
        ("opus/48000/2", 48_000, true),
        ("opus/16000", 48_000, false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clocks.pcap");
        let mut wire = Wire::default();
        let made = Made {
            from: (CALLER, 30_000),
            to: (CALLEE, 40_000),
            ssrc: 7,
            payload_type: 99,
            clock_rate,
            packets: 200,
            lost: 0,
            doubled: 0,
            overtaken: 0,
            late_ms: 0,
            first_sequence: 10,
        };
        let formats = format!("99\r\na=rtpmap:99 {codec}\r\na=x:");
        let invite = "INVITE sip:b@x SIP/2.0";
        wire.sip(0, true, invite, "1 INVITE", Some((30_000, &formats)));
        let answer = Some((40_000, &*formats));
        wire.sip(100, false, "SIP/2.0 200 OK", "1 INVITE", answer);
        send(&mut wire, &mut Rng::new(1), &made, 200);
        wire.write(&path);
        let (batch, _) = read_with_notes("media", &[&path], 10);
        let found = columns.map(|name| column(&batch, name)[0].clone());
        let name = codec.split('/').next().unwrap();
        assert_eq!(found[..2], [name, "0"]);
        let are_there = found[2..].iter().all(|it| !it.is_empty());
        assert_eq!(are_there, is_sure, "{found:?}");
        assert!(
            is_sure || found[2..].iter().all(String::is_empty),
            "{found:?}"
        );
    }
}

/// RFC 2198: each packet has the key and the one before it, and a key of which only copies arrived counts, too.
#[test]
fn keys_in_redundant_data_count_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("redundant.pcap");
    let mut wire = Wire::default();
    let invite = "INVITE sip:b@x SIP/2.0";
    wire.sip(0, true, invite, "1 INVITE", Some((30_000, "0 98")));
    let answer = Some((40_000, "0 98"));
    wire.sip(900, false, "SIP/2.0 200 OK", "1 INVITE", answer);
    let made = Made {
        from: (CALLER, 30_000),
        to: (CALLEE, 40_000),
        ssrc: 7,
        payload_type: 98,
        clock_rate: 8_000,
        packets: 0,
        lost: 0,
        doubled: 0,
        overtaken: 0,
        late_ms: 0,
        first_sequence: 10,
    };
    let keys = [4_u8, 2, 2, 11];
    let mut n = 0;
    for (at, key) in keys.into_iter().enumerate() {
        for part in 1..4_u8 {
            let event = [key, if part == 3 { 0x8a } else { 10 }, 0, 160];
            // The key before it began 800 ticks earlier.
            let mut payload = vec![0x80_u8 | 101, 0x0c, 0x80, 4, 101];
            match at.checked_sub(1) {
                Some(before) => payload.extend([keys[before], 0x8a, 0, 160]),
                None => payload = vec![101],
            }
            payload.extend(event);
            let packet = rtp(&made, n, 800 * at as u64, part == 1, 98, &payload);
            // All packets of the second key are lost.
            if at != 1 {
                wire.datagram((1_000 + 20 * n) * 1_000_000, made.from, made.to, &packet);
            }
            n += 1;
        }
    }
    wire.write(&path);
    let (batch, _) = read_with_notes("media", &[&path], 10);
    assert_eq!(column(&batch, "media.dtmf"), ["422#"]);
    assert_eq!(column(&batch, "media.events"), ["4"]);
}

/// A flood of possible streams, and of announcements, stays within the limits.
#[test]
fn floods_of_media_stay_within_their_limits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flood.pcap");
    let mut wire = Wire::default();
    let mut made = Made {
        from: (CALLER, 30_000),
        to: (CALLEE, 40_000),
        ssrc: 0,
        payload_type: 0,
        clock_rate: 8_000,
        packets: 1,
        lost: 0,
        doubled: 0,
        overtaken: 0,
        late_ms: 0,
        first_sequence: 10,
    };
    for n in 0..20_000_u32 {
        made.ssrc = n + 1;
        send(&mut wire, &mut Rng::new(1), &made, n.into());
    }
    // One of them becomes a stream after all.
    made.packets = 50;
    send(&mut wire, &mut Rng::new(1), &made, 30_000);
    // A flood of sources follows where there is a stream.
    made.packets = 1;
    for n in 0..70_000_u32 {
        made.ssrc = 0x1000_0000 + n;
        send(&mut wire, &mut Rng::new(1), &made, 31_000);
    }
    wire.write(&path);
    let (batch, notes) = read_with_notes("media", &[&path], 100_000);
    // Of the sources before the stream 8,191 others are known when it shows that there are media.
    assert_eq!(batch.num_rows(), 70_001 + 8_191);
    assert!(
        notes.iter().any(|note| note
            .contains("were written before their end because there were more than 65,536")),
        "{notes:?}"
    );
}
