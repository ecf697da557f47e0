//! `weir carve` and `weir sip export` take all that a call's messages came in, and its sound.

use std::net::Ipv4Addr;

use weir_testkit::capture::{Endian, PcapVariant, PcapWriter, link_type};
use weir_testkit::packet::{Ipv4, Tcp, ethernet, ethertype, protocol, tcp_flags, udp};

use crate::shell::{folder, run};

const CALLER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const CALLED: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const OTHER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 3);

fn datagram(src: Ipv4Addr, dst: Ipv4Addr, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let datagram = udp(src.into(), dst.into(), ports.0, ports.1, payload);
    let packet = Ipv4::new(src, dst, protocol::UDP).packet(&datagram);
    ethernet([2; 6], [4; 6], ethertype::IPV4, &packet)
}

fn message(line: &str, call: &str, address: Ipv4Addr, port: u16) -> Vec<u8> {
    // Only the answer has a tag of its own.
    let tag = match line.starts_with("SIP") {
        true => ";tag=2",
        false => "",
    };
    let sdp = format!(
        "v=0\r\no=- 1 1 IN IP4 {address}\r\ns=-\r\nc=IN IP4 {address}\r\nt=0 0\r\nm=audio {port} RTP/AVP 0\r\n"
    );
    format!(
        "{line}\r\nVia: SIP/2.0/UDP {CALLER};branch=z9hG4bK{call}\r\nFrom: <sip:a@x>;tag=1\r\nTo: <sip:b@x>{tag}\r\n\
         Call-ID: {call}\r\nCSeq: 1 INVITE\r\nContent-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{sdp}",
        sdp.len()
    )
    .into_bytes()
}

/// Two calls, each with ten packets of sound to the caller.
pub(super) fn calls() -> Vec<u8> {
    let mut packets = Vec::new();
    for (call, port) in [("first", 4_000), ("second", 4_100)] {
        let invite = message("INVITE sip:b@x SIP/2.0", call, CALLER, port);
        packets.push(datagram(CALLER, CALLED, (5060, 5060), &invite));
        let answer = message("SIP/2.0 200 OK", call, CALLED, port + 2);
        packets.push(datagram(CALLED, CALLER, (5060, 5060), &answer));
        for number in 0..10_u8 {
            let mut rtp = vec![0x80, 0, 0, number, 0, 0, number, 0xa0, 0, 0, 0, port as u8];
            rtp.extend([0x55; 160]);
            packets.push(datagram(CALLED, CALLER, (port + 2, port), &rtp));
        }
    }
    let (variant, endian) = (PcapVariant::Micro, Endian::Little);
    let mut writer =
        PcapWriter::new(Vec::new(), link_type::ETHERNET, 65_535, variant, endian).unwrap();
    for (time_ns, bytes) in (0..).map(|index| index * 20_000_000).zip(&packets) {
        writer.packet(time_ns, bytes.len() as u32, bytes).unwrap();
    }
    writer.into_inner()
}

/// The sound of a call was left behind.
#[test]
fn a_call_is_carved_with_its_sound() {
    let folder = folder("a_call_is_carved_with_its_sound");
    std::fs::write(folder.join("calls.pcap"), calls()).unwrap();
    for target in ["one.pcap", "one.pcapng.gz", "one.pcap.zst"] {
        let ended = run(
            &format!("weir carve calls.pcap --call-id second -o {target}"),
            &folder,
        );
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let asked = run(
            &format!(
                "weir query \"SELECT count(*), (SELECT count(*) FROM sip('{target}')), (SELECT count(*) FROM \
                 rtp('{target}') WHERE sip.call_id = 'second') FROM '{target}'\" --format csv -q | tail -1"
            ),
            &folder,
        );
        assert_eq!(asked.stdout.trim(), "12,2,10", "{target}: {}", asked.stderr);
    }
    // The first bytes show the compression.
    let packed = std::fs::read(folder.join("one.pcapng.gz")).unwrap();
    assert!(packed.starts_with(&[0x1f, 0x8b]));
    let packed = std::fs::read(folder.join("one.pcap.zst")).unwrap();
    assert!(packed.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]));
}

/// A call whose sides both speak, with RTCP; a packet of the called one is missing.
fn spoken() -> Vec<u8> {
    capture(&spoken_packets())
}

fn spoken_packets() -> Vec<Vec<u8>> {
    let invite = message("INVITE sip:b@x SIP/2.0", "spoken", CALLER, 4_000);
    let answer = message("SIP/2.0 200 OK", "spoken", CALLED, 4_002);
    let mut packets = vec![
        datagram(CALLER, CALLED, (5060, 5060), &invite),
        datagram(CALLED, CALLER, (5060, 5060), &answer),
    ];
    let rtp = |number: u8, ssrc: u8, octet: u8| {
        let stamp = (u32::from(number) * 160).to_be_bytes();
        let mut rtp = vec![0x80, 0, 0, number];
        rtp.extend(stamp);
        rtp.extend([0, 0, 0, ssrc]);
        rtp.extend([octet; 160]);
        rtp
    };
    for number in 0..10 {
        // The packets of the called side come first.
        if number != 5 {
            packets.push(datagram(
                CALLED,
                CALLER,
                (4_002, 4_000),
                &rtp(number, 7, 0x80),
            ));
        }
        packets.push(datagram(
            CALLER,
            CALLED,
            (4_000, 4_002),
            &rtp(number, 8, 0x00),
        ));
    }
    let report = [0x80, 0xc9, 0, 1, 0, 0, 0, 7];
    packets.push(datagram(CALLED, CALLER, (4_003, 4_001), &report));
    packets.push(datagram(CALLED, CALLER, (9, 9), b"other"));
    packets
}

fn capture(packets: &[Vec<u8>]) -> Vec<u8> {
    let (variant, endian) = (PcapVariant::Micro, Endian::Little);
    let mut writer =
        PcapWriter::new(Vec::new(), link_type::ETHERNET, 65_535, variant, endian).unwrap();
    for (time_ns, bytes) in (0..).map(|index| index * 10_000_000).zip(packets) {
        writer.packet(time_ns, bytes.len() as u32, bytes).unwrap();
    }
    writer.into_inner()
}

/// The samples of a WAV file, left and right in turn.
fn samples(path: &std::path::Path) -> Vec<i16> {
    let wave = std::fs::read(path).unwrap();
    let at = wave
        .windows(4)
        .position(|window| window == b"data")
        .unwrap()
        + 8;
    wave[at..]
        .chunks_exact(2)
        .map(|pair| i16::from_le_bytes([pair[0], pair[1]]))
        .collect()
}

/// The first message that was captured is that of the called one, whose address was taken for the caller's.
#[test]
fn the_sides_of_a_call_are_right_though_its_invite_is_missing() {
    let folder = folder("the_sides_of_a_call_are_right_though_its_invite_is_missing");
    let ringing = message("SIP/2.0 180 Ringing", "spoken", CALLED, 4_002);
    let mut packets = spoken_packets();
    packets[0] = datagram(CALLED, CALLER, (5060, 5060), &ringing);
    // RFC 3261 §13.2.1: an INVITE without an offer is answered by one, to which the ACK has the answer.
    for (method, cseq, at) in [("ACK", "1 ACK", 2), ("BYE", "2 BYE", packets.len())] {
        let within = message(
            &format!("{method} sip:b@x SIP/2.0"),
            "spoken",
            CALLER,
            4_000,
        );
        let within = String::from_utf8(within).unwrap();
        let within = within
            .replace("To: <sip:b@x>", "To: <sip:b@x>;tag=2")
            .replace("1 INVITE", cseq);
        let within = datagram(CALLER, CALLED, (5060, 5060), within.as_bytes());
        packets.insert(at, within);
    }
    std::fs::write(folder.join("rings.pcap"), capture(&packets)).unwrap();
    let ended = run(
        "weir sip export rings.pcap --call-id spoken --audio out.wav",
        &folder,
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let samples = samples(&folder.join("out.wav"));
    let loud = |side: usize| {
        samples
            .iter()
            .skip(side)
            .step_by(2)
            .find(|sample| **sample != 0)
    };
    assert_eq!((loud(0), loud(1)), (Some(&-32_124), Some(&32_124)));
    let columns = "SELECT addr.src, addr.dst, call.from.user, call.to.user, call.ended_by FROM calls('rings.pcap')";
    let asked = run(
        &format!("weir query \"{columns}\" --format csv -q | tail -1"),
        &folder,
    );
    assert_eq!(asked.stdout.trim(), "10.0.0.1,10.0.0.2,a,b,caller");
    let drawn = run("weir sip ladder rings.pcap --call-id spoken", &folder);
    let heading = drawn
        .stdout
        .lines()
        .find(|line| line.contains("10.0.0.2:5060"))
        .unwrap_or_default();
    let at = |end: &str| heading.find(end);
    assert!(
        at("10.0.0.1:5060") < at("10.0.0.2:5060") && at("10.0.0.1:5060").is_some(),
        "{}",
        drawn.stdout
    );
    // A capture without the INVITE does not show the caller, so the columns are empty.
    packets.remove(0);
    std::fs::write(folder.join("answered.pcap"), capture(&packets)).unwrap();
    let asked = run(
        &format!(
            "weir query \"{}\" --format csv -q | tail -1",
            columns.replace("rings", "answered")
        ),
        &folder,
    );
    assert_eq!(asked.stdout.trim(), ",,,,");
}

#[test]
fn a_call_is_exported_with_its_sound_on_both_sides() {
    let folder = folder("a_call_is_exported_with_its_sound_on_both_sides");
    std::fs::write(folder.join("spoken.pcap"), spoken()).unwrap();
    let ended = run(
        "weir sip export spoken.pcap --call-id spoken -o out.pcap --audio out.wav",
        &folder,
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let asked = run(
        "weir query \"SELECT count(*), (SELECT count(*) FROM rtcp('out.pcap')) FROM 'out.pcap'\" --format csv -q | tail -1",
        &folder,
    );
    assert_eq!(asked.stdout.trim(), "22,1", "{}", asked.stderr);
    let samples = samples(&folder.join("out.wav"));
    let track = |side: usize| samples.iter().skip(side).step_by(2).copied();
    // The caller, who says -32,124, is on the left; the called one, who says 32,124, on the right, silent where a packet is missing.
    assert!(track(0).all(|sample| sample == -32_124 || sample == 0));
    assert_eq!(track(0).filter(|sample| *sample != 0).count(), 1_600);
    assert!(track(1).all(|sample| sample == 32_124 || sample == 0));
    assert_eq!(track(1).filter(|sample| *sample != 0).count(), 9 * 160);
    assert_eq!(
        track(1)
            .skip(800)
            .take(160)
            .filter(|sample| *sample == 0)
            .count(),
        160
    );
    let drawn = run("weir sip ladder spoken.pcap --call-id spoken", &folder);
    let bars: Vec<&str> = drawn
        .stdout
        .lines()
        .filter(|line| line.contains("="))
        .collect();
    assert_eq!(bars.len(), 2, "{}", drawn.stdout);
    assert!(
        bars[0].contains("<") && bars[0].contains("RTP PCMU, 10.0 % lost, MOS "),
        "{}",
        bars[0]
    );
    assert!(
        bars[1].contains(">") && bars[1].contains("RTP PCMU, 0.0 % lost, MOS 4.4"),
        "{}",
        bars[1]
    );
    for (line, code) in [
        (
            "weir sip export spoken.pcap --call-id missing --audio none.wav",
            3,
        ),
        (
            "weir sip export spoken.pcap --call-id missing -o none.pcap",
            3,
        ),
        ("weir sip export spoken.pcap --call-id spoken", 2),
        (
            "weir sip export spoken.pcap --call-id spoken --audio call.mp3",
            2,
        ),
    ] {
        assert_eq!(run(line, &folder).code, Some(code), "{line}");
    }
    assert!(!folder.join("none.wav").exists() && !folder.join("none.pcap").exists());
}

/// Encrypted sound was written as noise.
#[test]
fn encrypted_sound_is_left_out() {
    let folder = folder("encrypted_sound_is_left_out");
    let mut packets = spoken_packets();
    let secure = |line, address, port| {
        let message = message(line, "spoken", address, port);
        let message = String::from_utf8(message).unwrap();
        let body = message.split("\r\n\r\n").nth(1).unwrap().len();
        let head = format!("Content-Length: {body}");
        message
            .replace("RTP/AVP", "RTP/SAVP")
            .replace(&head, &format!("Content-Length: {}", body + 1))
            .into_bytes()
    };
    let invite = secure("INVITE sip:b@x SIP/2.0", CALLER, 4_000);
    packets[0] = datagram(CALLER, CALLED, (5060, 5060), &invite);
    // The answer alone does not describe its side as encrypted.
    std::fs::write(folder.join("half.pcap"), capture(&packets)).unwrap();
    let line = "weir sip export half.pcap --call-id spoken --audio half.wav";
    let ended = run(line, &folder);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let note = "9 audio packets were left out, because they are encrypted (SRTP)";
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
    let samples = samples(&folder.join("half.wav"));
    assert!(
        samples
            .iter()
            .all(|sample| *sample == 0 || *sample == -32_124)
    );
    let answer = secure("SIP/2.0 200 OK", CALLED, 4_002);
    packets[1] = datagram(CALLED, CALLER, (5060, 5060), &answer);
    std::fs::write(folder.join("sealed.pcap"), capture(&packets)).unwrap();
    let line = "weir sip export sealed.pcap --call-id spoken --audio sealed.wav";
    let ended = run(line, &folder);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("has no audio in G.711"),
        "{}",
        ended.stderr
    );
    assert!(!folder.join("sealed.wav").exists());
}

/// Each party was on both sides.
#[test]
fn the_sound_of_a_call_over_a_relay_is_that_of_one_leg() {
    let folder = folder("the_sound_of_a_call_over_a_relay_is_that_of_one_leg");
    let invite = |address, port| message("INVITE sip:b@x SIP/2.0", "relayed", address, port);
    let answer = |address, port| message("SIP/2.0 200 OK", "relayed", address, port);
    let sip = (5060, 5060);
    let mut packets = vec![
        datagram(CALLER, OTHER, sip, &invite(CALLER, 4_000)),
        datagram(OTHER, CALLED, sip, &invite(OTHER, 4_100)),
        datagram(CALLED, OTHER, sip, &answer(CALLED, 4_002)),
        datagram(OTHER, CALLER, sip, &answer(OTHER, 4_102)),
    ];
    for number in 0..10_u8 {
        let rtp = |ssrc: u8, octet: u8| {
            let mut rtp = vec![0x80, 0, 0, number, 0, 0];
            rtp.extend((u16::from(number) * 160).to_be_bytes());
            rtp.extend([0, 0, 0, ssrc]);
            rtp.extend([octet; 160]);
            rtp
        };
        let (caller, called) = (rtp(8, 0x00), rtp(7, 0x80));
        packets.push(datagram(CALLER, OTHER, (4_000, 4_102), &caller));
        packets.push(datagram(OTHER, CALLED, (4_100, 4_002), &caller));
        packets.push(datagram(CALLED, OTHER, (4_002, 4_100), &called));
        packets.push(datagram(OTHER, CALLER, (4_102, 4_000), &called));
    }
    std::fs::write(folder.join("relayed.pcap"), capture(&packets)).unwrap();
    let ended = run(
        "weir sip export relayed.pcap --call-id relayed --audio out.wav",
        &folder,
    );
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let note = "20 audio packets were left out, because another leg of the call has the sound";
    assert!(ended.stderr.contains(note), "{}", ended.stderr);
    let samples = samples(&folder.join("out.wav"));
    for (side, heard) in [(0, -32_124), (1, 32_124)] {
        let mut track = samples.iter().skip(side).step_by(2).copied();
        assert!(track.all(|sample| sample == heard || sample == 0), "{side}");
    }
    assert_eq!(
        samples.iter().filter(|sample| **sample != 0).count(),
        2 * 1_600
    );
}

/// A call whose INVITE comes in three segments of TCP, whose answer in three fragments of IP, the last of them first, and that
/// has a fax; and packets of another call between them.
fn in_pieces() -> Vec<Vec<u8>> {
    let invite = message("INVITE sip:b@x SIP/2.0", "pieces", CALLER, 4_000);
    let body = format!(
        "v=0\r\nc=IN IP4 {CALLED}\r\nm=image 4002 udptl t38\r\na=x:{}\r\n",
        "y".repeat(500)
    );
    let answer = format!(
        "SIP/2.0 200 OK\r\nVia: SIP/2.0/TCP {CALLER};branch=z9hG4bKpieces\r\nFrom: <sip:a@x>;tag=1\r\n\
         To: <sip:b@x>;tag=2\r\nCall-ID: pieces\r\nCSeq: 1 INVITE\r\nContent-Type: application/sdp\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut fragments = Ipv4::new(CALLED, CALLER, protocol::UDP)
        .identification(7)
        .fragments(
            &udp(CALLED.into(), CALLER.into(), 5060, 5060, answer.as_bytes()),
            400,
        );
    assert_eq!(fragments.len(), 3);
    fragments.reverse();
    let mut ip_packets = Vec::new();
    let mut sent = 1;
    for piece in invite.chunks(invite.len().div_ceil(3)) {
        let tcp = Tcp::new(40_000, 5060)
            .flags(tcp_flags::ACK | tcp_flags::PSH)
            .numbers(sent, 1);
        let segment = tcp.segment(CALLER.into(), CALLED.into(), piece);
        ip_packets.push(Ipv4::new(CALLER, CALLED, protocol::TCP).packet(&segment));
        sent += piece.len() as u32;
    }
    ip_packets.extend(fragments);
    let framed = |packet: &Vec<u8>| ethernet([2; 6], [4; 6], ethertype::IPV4, packet);
    let mut packets: Vec<Vec<u8>> = ip_packets.iter().map(framed).collect();
    for number in 0..3 {
        let fax = [0, number, 1, 6, 0, 0];
        packets.push(datagram(CALLER, CALLED, (4_000, 4_002), &fax));
    }
    let other = message("INVITE sip:b@x SIP/2.0", "other", CALLER, 5_000);
    let other = datagram(CALLER, CALLED, (5060, 5060), &other);
    let apart = packets
        .iter()
        .flat_map(|packet| [other.clone(), packet.clone()]);
    apart.collect()
}

/// The export once had only the last packet of a message in several segments or fragments, and no faxes.
#[test]
fn a_call_is_exported_with_all_segments_and_fragments_and_its_fax() {
    let folder = folder("a_call_is_exported_with_all_segments_and_fragments_and_its_fax");
    let packets = in_pieces();
    std::fs::write(folder.join("pieces.pcap"), capture(&packets)).unwrap();
    let sql = "COPY (SELECT p.* FROM packets('pieces.pcap') p JOIN call_packets('pieces.pcap') c \
               ON p.frame.number = c.frame.number WHERE c.sip.call_id = 'pieces' ORDER BY p.frame.number) TO 'copied.pcap'";
    for line in [
        "weir sip export pieces.pcap --call-id pieces -o exported.pcap",
        "weir carve pieces.pcap --call-id pieces -o carved.pcap",
        &format!("weir query \"{sql}\""),
    ] {
        let ended = run(line, &folder);
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
    }
    let expected: Vec<u8> = {
        let (variant, endian) = (PcapVariant::Micro, Endian::Little);
        let mut writer =
            PcapWriter::new(Vec::new(), link_type::ETHERNET, 65_535, variant, endian).unwrap();
        for (index, bytes) in (0..).zip(&packets).filter(|(index, _)| index % 2 == 1) {
            let time_ns = index * 10_000_000;
            writer.packet(time_ns, bytes.len() as u32, bytes).unwrap();
        }
        writer.into_inner()
    };
    // The records follow the file headers.
    let records = |name: &str| std::fs::read(folder.join(name)).unwrap()[24..].to_vec();
    for name in ["exported.pcap", "carved.pcap", "copied.pcap"] {
        assert_eq!(records(name).len(), expected.len() - 24, "{name}");
        let asked = run(
            &format!(
                "weir query \"SELECT sip.cseq.method, sip.status_code, length(sip.msg_body) > 80, frame.number FROM sip('{name}') \
                 WHERE sip.call_id = 'pieces' ORDER BY frame.number\" --format csv -q"
            ),
            &folder,
        );
        let rows: Vec<&str> = asked.stdout.lines().skip(1).collect();
        assert_eq!(
            rows,
            ["INVITE,,true,3", "INVITE,200,true,6"],
            "{name}: {}",
            asked.stderr
        );
    }
}

/// A capture without packets was written without a word.
#[test]
fn a_capture_without_packets_is_reported() {
    let folder = folder("a_capture_without_packets_is_reported");
    std::fs::write(folder.join("calls.pcap"), calls()).unwrap();
    for (selects, note) in [
        ("--flow 999", "no packet is of flow 999"),
        ("--flow 999 --flow 1000", "no packet is of flow 999, 1000"),
        (
            "--call-id nope",
            "no packet is of a call with Call-ID 'nope'",
        ),
        ("--filter 'tcp.port == 1'", "no packet passes the filter"),
        ("--flow 1", ""),
        ("--filter udp", ""),
    ] {
        let ended = run(
            &format!("weir carve calls.pcap {selects} -o out.pcap --overwrite"),
            &folder,
        );
        assert_eq!(ended.code, Some(0), "{selects}: {}", ended.stderr);
        let is_told = ended.stderr.contains("out.pcap is empty");
        assert_eq!(is_told, !note.is_empty(), "{selects}: {}", ended.stderr);
        assert!(ended.stderr.contains(note), "{selects}: {}", ended.stderr);
    }
}

/// The last fragment of a packet alone was written.
#[test]
fn a_flow_is_carved_with_all_fragments() {
    let folder = folder("a_flow_is_carved_with_all_fragments");
    let cut = |to: Ipv4Addr, identification: u16, payload: &[u8]| -> Vec<Vec<u8>> {
        let datagram = udp(CALLER.into(), to.into(), 4_000, 4_001, payload);
        let packet = Ipv4::new(CALLER, to, protocol::UDP).identification(identification);
        let fragments = packet.fragments(&datagram, 100);
        let framed = |packet: &Vec<u8>| ethernet([2; 6], [4; 6], ethertype::IPV4, packet);
        fragments.iter().map(framed).collect()
    };
    let (one, other) = (cut(CALLED, 1, &[1; 200]), cut(OTHER, 2, &[2; 200]));
    assert_eq!((one.len(), other.len()), (3, 3));
    let mut packets: Vec<Vec<u8>> = Vec::new();
    for (one, other) in one.iter().rev().zip(&other) {
        packets.extend([one.clone(), other.clone()]);
    }
    // The last fragment of this packet is missing.
    packets.extend(cut(CALLED, 3, &[3; 200]).into_iter().take(2));
    packets.push(datagram(CALLER, CALLED, (4_000, 4_001), b"whole"));
    std::fs::write(folder.join("in.pcap"), capture(&packets)).unwrap();
    let ended = run("weir carve in.pcap --flow 1 -o out.pcap", &folder);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let expected = [0, 2, 4, 6, 7, 8].map(|at: usize| packets[at].len());
    let written = std::fs::read(folder.join("out.pcap")).unwrap();
    assert_eq!(
        written[24..].len(),
        expected.iter().map(|bytes| bytes + 16).sum()
    );
    let ended = run("weir carve - --flow 1 -o piped.pcap < in.pcap", &folder);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let piped = std::fs::read(folder.join("piped.pcap")).unwrap();
    assert!(piped == written, "{} bytes", piped.len());
    assert!(!ended.stderr.contains("fragments"), "{}", ended.stderr);
    // Without the first fragment it is not known what the others are of.
    let mut without = packets.clone();
    without.remove(4);
    std::fs::write(folder.join("without.pcap"), capture(&without)).unwrap();
    let ended = run("weir carve - --flow 2 -o rest.pcap < without.pcap", &folder);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let rest = [6, 7, 8].map(|at: usize| packets[at].len() + 16);
    let records = std::fs::read(folder.join("rest.pcap")).unwrap().len() - 24;
    assert_eq!(records, rest.iter().sum());
    assert!(
        ended.stderr.contains("2 fragments are of no flow"),
        "{}",
        ended.stderr
    );
    let asked = run(
        "weir query \"SELECT flow.id, frame.number FROM flow_fragments('in.pcap') ORDER BY 1, 2\" --format csv -q",
        &folder,
    );
    let rows: Vec<&str> = asked.stdout.lines().skip(1).collect();
    assert_eq!(
        rows,
        ["1,1", "1,3", "1,5", "1,7", "1,8", "2,2", "2,4", "2,6"],
        "{}",
        asked.stderr
    );
}
