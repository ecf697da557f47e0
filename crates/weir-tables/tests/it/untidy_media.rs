//! Media whose first packets come before what shows that they are media.

use std::io::Write as _;
use std::net::Ipv4Addr;

use weir_testkit::capture::{Endian, PcapVariant, PcapWriter};
use weir_testkit::packet::{Ipv4, protocol, tcp_flags, udp};

use crate::sip::{column, read_with_notes};
use crate::untidy_connections::{CLIENT, SERVER, rows, segment};
use crate::wire::{Connection, HostPort};

/// The sockets of the media.
const FROM: HostPort = (CLIENT.0, 4_000);
const TO: HostPort = (SERVER.0, 5_000);

fn datagram(from: HostPort, to: HostPort, bytes: &[u8]) -> Vec<u8> {
    let datagram = udp(from.0.into(), to.0.into(), from.1, to.1, bytes);
    Ipv4::new(from.0, to.0, protocol::UDP).packet(&datagram)
}

/// A packet of RTP with this source, number and timestamp.
const fn packet(source: u8, number: u8, timestamp: u8) -> [u8; 13] {
    [
        0x80, 0, 0, number, 0, 0, timestamp, 0, 0, 0, 0, source, 0xd5,
    ]
}

fn rtp(source: u8, number: u8, timestamp: u8) -> Vec<u8> {
    datagram(FROM, TO, &packet(source, number, timestamp))
}

fn invite() -> Vec<u8> {
    invite_with("RTP/AVP")
}

/// A request with a description of media at the second socket.
fn invite_with(profile: &str) -> Vec<u8> {
    let invite = text_of_invite(profile);
    datagram((TO.0, 5_060), (FROM.0, 5_060), invite.as_bytes())
}

fn text_of_invite(profile: &str) -> String {
    text_of_description(&format!("m=audio {} {profile} 0\r\n", TO.1))
}

/// A request with these lines about media at the address of the second socket.
fn text_of_description(media: &str) -> String {
    let body = format!("v=0\r\nc=IN IP4 {}\r\n{media}", TO.0);
    format!(
        "INVITE sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP x;branch=z9hG4bKa\r\nFrom: <sip:a@x>;tag=a\r\n\
         To: <sip:b@x>\r\nCall-ID: a\r\nCSeq: 1 INVITE\r\nContent-Type: application/sdp\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn packets_before_their_description_are_read() {
    for early in 1..=3 {
        let mut packets: Vec<Vec<u8>> = (0..early).map(|n| rtp(7, n, n)).collect();
        packets.push(invite());
        packets.extend((early..8).map(|n| rtp(7, n, n)));
        let setup = (early + 1).to_string();
        let columns = ["rtp.seq", "rtp.setup_frame", "sip.call_id"];
        let (found, _) = rows("rtp", &packets, &columns);
        let expected: Vec<[String; 3]> = (0..8)
            .map(|n: u8| [n.to_string(), setup.clone(), "a".to_owned()])
            .collect();
        assert_eq!(found, expected, "{early}");
        let (media, _) = rows("media", &packets, &["media.packets", "media.first_frame"]);
        assert_eq!(media, [["8", "1"]], "{early}");
    }
    // The next packet was sent before those that wait.
    let packets = [rtp(7, 5, 5), rtp(7, 6, 6), invite(), rtp(7, 4, 4)];
    let (found, _) = rows("rtp", &packets, &["rtp.seq"]);
    assert_eq!(found, [["5"], ["6"], ["4"]]);
    // A source that began anew has rows as well.
    let packets = [rtp(7, 200, 9), invite(), rtp(7, 1, 10), rtp(7, 2, 11)];
    let (found, _) = rows("rtp", &packets, &["rtp.seq"]);
    assert_eq!(found, [["200"], ["1"], ["2"]]);
}

/// The packets of a picture have one timestamp, so that more of them are waited for.
#[test]
fn packets_of_another_stream_between_the_same_sockets_are_read() {
    let mut packets = Vec::new();
    for n in 0..4 {
        packets.push(rtp(9, n, 0));
        packets.push(rtp(7, n, n));
    }
    packets.push(rtp(9, 4, 0));
    let (found, _) = rows("rtp", &packets, &["frame.number", "rtp.ssrc"]);
    let expected: Vec<[String; 2]> = (1..=9)
        .map(|frame| {
            let source = if frame % 2 == 1 { "9" } else { "7" };
            [frame.to_string(), source.to_owned()]
        })
        .collect();
    assert_eq!(found, expected);
}

/// A description that was cut within a port announced another one.
#[test]
fn a_description_that_was_cut_announces_what_its_whole_lines_say() {
    let invite = text_of_description("m=audio 5000 RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\n");
    let cut_behind = |words: &str| {
        let end = invite.find(words).unwrap() + words.len();
        datagram((TO.0, 5_060), (FROM.0, 5_060), &invite.as_bytes()[..end])
    };
    let to_port = |port: u16| datagram(FROM, (TO.0, port), &packet(7, 0, 0));
    let packets = [cut_behind("m=audio 50"), to_port(50)];
    let (found, _) = rows("rtp", &packets, &["rtp.seq"]);
    assert_eq!(found, Vec::<Vec<String>>::new());
    let packets = [cut_behind("a=rtp"), to_port(5_000)];
    let (found, _) = rows("rtp", &packets, &["rtp.seq"]);
    assert_eq!(found, [["0"]]);
}

/// Packets over TCP (RFC 4571) behind a loss that is not as long as packets are, and those of a connection whose beginning is missing.
#[test]
fn packets_over_tcp_are_found_behind_a_loss() {
    let octets = 2 + packet(7, 0, 0).len();
    let framed = |n| [&[0, octets as u8 - 2][..], &packet(7, n, n)].concat();
    let stream: Vec<u8> = (0..20).flat_map(framed).collect();
    for size in [15, 40, 64, 100] {
        for lost in 0..stream.len() / size {
            for has_start in [true, false] {
                let mut packets = vec![invite_with("TCP/RTP/AVP")];
                if has_start {
                    Connection::open(FROM, TO, &mut packets);
                }
                let gone = lost * size..(lost + 1) * size;
                for (at, piece) in stream.chunks(size).enumerate().filter(|it| it.0 != lost) {
                    let numbers = [1 + (at * size) as u32, 1];
                    packets.push(segment(FROM, TO, numbers, tcp_flags::ACK, piece));
                }
                let is_whole = |n: &usize| n * octets >= gone.end || (n + 1) * octets <= gone.start;
                let expected: Vec<[String; 1]> =
                    (0..20).filter(is_whole).map(|n| [n.to_string()]).collect();
                let (found, notes) = rows("rtp", &packets, &["rtp.seq"]);
                assert_eq!(found, expected, "{lost} by {size}, {has_start}: {notes:?}");
            }
        }
    }
}

/// Media on channels of TURN over TCP were lost behind a loss, up to the next message of STUN, and without a word in a connection whose
/// beginning is missing.
#[test]
fn media_on_channels_over_tcp_are_found_behind_a_loss() {
    let binding = b"\0\x01\0\0\x21\x12\xa4\x42transaction.";
    // Three octets fill up the last word.
    let on_channel = |n| [&b"\x40\x01\0\x0d"[..], &packet(7, n, n), &[0; 3]].concat();
    let octets = on_channel(0).len();
    let stream: Vec<u8> = (0..30).flat_map(on_channel).collect();
    let server = (TO.0, 3_478);
    for size in [20, 30, 50, 100] {
        for lost in 0..stream.len() / size {
            for has_start in [true, false] {
                let mut packets = Vec::new();
                if has_start {
                    Connection::open(FROM, server, &mut packets);
                    packets.push(segment(FROM, server, [1, 1], tcp_flags::ACK, binding));
                }
                let gone = lost * size..(lost + 1) * size;
                for (at, piece) in stream.chunks(size).enumerate().filter(|it| it.0 != lost) {
                    let numbers = [21 + (at * size) as u32, 1];
                    packets.push(segment(FROM, server, numbers, tcp_flags::ACK, piece));
                }
                let is_whole = |n: &usize| n * octets >= gone.end || (n + 1) * octets <= gone.start;
                let expected: Vec<[String; 1]> =
                    (0..30).filter(is_whole).map(|n| [n.to_string()]).collect();
                let (found, notes) = rows("rtp", &packets, &["rtp.seq"]);
                assert_eq!(found, expected, "{lost} by {size}, {has_start}: {notes:?}");
            }
        }
    }
}

/// Messages behind a lost segment are complete later than what they announce, which was of no call where it ended before.
#[test]
fn media_behind_a_description_that_waits_for_a_lost_segment_are_of_its_call() {
    let ends = [(TO.0, 40_001), (FROM.0, 5_060)];
    let [client, server] = ends;
    let mut packets = Vec::new();
    Connection::open(client, server, &mut packets);
    let invite = text_of_invite("RTP/AVP");
    // The first 200 octets of the client are missing.
    let numbers = [201, 1];
    packets.push(segment(
        client,
        server,
        numbers,
        tcp_flags::ACK,
        invite.as_bytes(),
    ));
    let setup = packets.len().to_string();
    let numbers = [1, 201 + invite.len() as u32];
    packets.push(segment(server, client, numbers, tcp_flags::ACK, b""));
    packets.extend((0..6).map(|n| rtp(7, n, n)));
    let columns = ["media.packets", "media.setup_frame", "sip.call_id"];
    let (found, notes) = rows("media", &packets, &columns);
    assert_eq!(found, [["6", &*setup, "a"]], "{notes:?}");
    let (found, _) = rows("calls", &packets, &["sip.call_id", "call.lost"]);
    assert_eq!(found, [["a", "0"]]);
    let (found, _) = rows("call_packets", &packets, &["frame.number", "call.protocol"]);
    let media = packets.len() - 5..=packets.len();
    let media = media.map(|frame| vec![frame.to_string(), "RTP".to_owned()]);
    let mut expected = vec![vec![setup, "SIP".to_owned()]];
    expected.extend(media);
    assert_eq!(found, expected);
}

/// A call whose description was complete behind its media, and which ended before the end of the capture, had no quality.
#[test]
fn calls_that_end_behind_a_late_description_have_their_media() {
    let ends = [(TO.0, 40_001), (FROM.0, 5_060)];
    let [client, server] = ends;
    let mut packets = Vec::new();
    Connection::open(client, server, &mut packets);
    let invite = text_of_invite("RTP/AVP");
    let bye = "BYE sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP x;branch=z9hG4bKb\r\nFrom: <sip:a@x>;tag=a\r\n\
         To: <sip:b@x>;tag=b\r\nCall-ID: a\r\nCSeq: 2 BYE\r\nContent-Length: 0\r\n\r\n";
    // The first 200 octets of the client are missing.
    let mut number = 201;
    let mut send = |packets: &mut Vec<Vec<u8>>, bytes: &[u8]| {
        packets.push(segment(client, server, [number, 1], tcp_flags::ACK, bytes));
        number += bytes.len() as u32;
    };
    send(&mut packets, invite.as_bytes());
    packets.extend((0..6).map(|n| rtp(7, n, n)));
    send(&mut packets, bye.as_bytes());
    // More than 1 MiB behind them shows that they do not come any more.
    for _ in 0..1_000 {
        send(&mut packets, "\r\n".repeat(700).as_bytes());
    }
    // Another call with the Call-ID ends the first one.
    let next = invite
        .replace("tag=a", "tag=c")
        .replace("z9hG4bKa", "z9hG4bKc");
    let next = next.replace("audio 5000", "audio 5002");
    packets.push(datagram((TO.0, 5_060), (FROM.0, 5_060), next.as_bytes()));
    let columns = ["call.end_reason", "call.lost"];
    let (found, notes) = rows("calls", &packets, &columns);
    assert_eq!(found, [["ended", "0"], ["input_ended", ""]], "{notes:?}");
}

/// RFC 3711, 3.1: SRTP encrypts padding and events. Packets whose last octet cannot be the length of padding were lost, and events
/// were keys that were not pressed.
#[test]
fn padding_and_events_of_srtp_are_not_legible() {
    let mut packets = vec![invite_with("RTP/SAVP")];
    for number in 0..6 {
        let mut bytes = packet(7, number, number);
        bytes[0] |= (number & 1) << 5;
        packets.push(datagram(FROM, TO, &bytes));
    }
    let event = [0x80, 101, 0, 6, 0, 0, 6, 0, 0, 0, 0, 7, 5, 0x8a, 3, 0x20];
    packets.push(datagram(FROM, TO, &event));
    let columns = [
        "media.packets",
        "media.lost",
        "media.octets",
        "media.dtmf",
        "media.events",
    ];
    let (found, _) = rows("media", &packets, &columns);
    assert_eq!(found, [["7", "0", "10", "", ""]]);
    let (found, _) = rows("rtp", &packets, &["rtp.seq", "rtpevent.event_id"]);
    let expected: Vec<[String; 2]> = (0..7).map(|n: u8| [n.to_string(), String::new()]).collect();
    assert_eq!(found, expected);
    // Those of RTP are: three packets have more padding than octets.
    packets[0] = invite();
    let (found, _) = rows("media", &packets, &columns);
    assert_eq!(found, [["7", "0", "7", "5", "1"]]);
}

/// Packets with a header extension or sources beyond their end were left out without a word, and padding beyond it was payload.
#[test]
fn packets_that_contradict_their_length_have_a_row_without_a_payload() {
    for profile in ["RTP/AVP", "RTP/SAVP"] {
        let mut packets = vec![invite_with(profile)];
        for number in 0..8 {
            let mut bytes = packet(7, number, number).to_vec();
            match number {
                3 => bytes[0] |= 15,
                4 => {
                    bytes[0] |= 0x10;
                    bytes.extend([0xde, 1, 0, 0xd5]);
                }
                5 => bytes[0] |= 0x20,
                _ => {}
            }
            packets.push(datagram(FROM, TO, &bytes));
        }
        let columns = ["rtp.seq", "rtp.ext.len", "rtp.payload_len", "rtp.fault"];
        let (found, notes) = rows("rtp", &packets, &columns);
        assert_eq!(notes, Vec::<String>::new());
        let padding = match profile {
            "RTP/AVP" => ["", "the padding is longer than the payload"],
            _ => ["1", ""],
        };
        let expected = [
            ["0", "", "1", ""],
            ["1", "", "1", ""],
            ["2", "", "1", ""],
            ["3", "", "", "the list of sources is longer than the packet"],
            [
                "4",
                "256",
                "",
                "the header extension is longer than the packet",
            ],
            ["5", "", padding[0], padding[1]],
            ["6", "", "1", ""],
            ["7", "", "1", ""],
        ];
        assert_eq!(found, expected, "{profile}");
        let (found, _) = rows("media", &packets, &["media.packets", "media.missing"]);
        assert_eq!(found, [["8", "0"]]);
    }
}

/// All reports of a datagram were left out where one packet of it was damaged.
#[test]
fn damaged_reports_have_rows_with_a_fault() {
    let report = [0x80, 201, 0, 1, 0, 0, 0, 7];
    let description = [0x81, 202, 0, 3, 0, 0, 0, 7, 1, 3, b'a', b'@', b'b', 0, 0, 0];
    let (long, short, trailing) = (
        "the packet is longer than the rest of the datagram",
        "the packet has no room for what it counts",
        "octets behind the packet are too few for another one",
    );
    for (at, octet, end, faults) in [
        (0, 0x80, 24, ["", ""]),
        (0, 0x81, 24, [short, ""]),
        (11, 4, 24, ["", long]),
        (0, 0x80, 25, ["", trailing]),
    ] {
        let mut bytes = [&report[..], &description, &[0]].concat();
        bytes[at] = octet;
        let sent = datagram((FROM.0, 4_001), (TO.0, 5_001), &bytes[..end]);
        let columns = ["rtcp.type", "rtcp.sdes.cname", "rtcp.fault", "sip.call_id"];
        let (found, notes) = rows("rtcp", &[invite(), sent.clone()], &columns);
        let expected = [["RR", "", faults[0], "a"], ["SDES", "a@b", faults[1], "a"]];
        assert_eq!(found, expected);
        assert_eq!(notes, Vec::<String>::new());
        // Those of SRTP may be encrypted.
        if end == 25 {
            let (found, notes) = rows("rtcp", &[invite_with("RTP/SAVP"), sent], &columns);
            assert_eq!((found.len(), notes.len()), (0, 1));
        }
    }
}

/// RFC 4733, 2.5.1.5: keys that follow each other without a pause may be in one packet. All but the first were left out.
#[test]
fn several_keys_of_one_packet_are_keys() {
    let described = "m=audio 5000 RTP/AVP 0 101\r\na=rtpmap:101 telephone-event/8000\r\n";
    let [key_1, key_2, key_3]: [[u8; 4]; 3] =
        [[1, 0x8a, 3, 0x20], [2, 0x8a, 1, 0x90], [3, 10, 0, 0xa0]];
    let end_of_3 = [3, 0x8a, 1, 0x90];
    let mut packets = vec![datagram(
        (TO.0, 5_060),
        (FROM.0, 5_060),
        text_of_description(described).as_bytes(),
    )];
    packets.extend((0..4).map(|n| rtp(7, n, n)));
    // The end of the first key comes in each packet again; the last one is of the third key alone, which began at 1,200.
    let payloads = [
        (0_u32, key_1.to_vec()),
        (0, [key_1, key_2].concat()),
        (0, [key_1, key_2, key_3].concat()),
        (0, [key_1, key_2, end_of_3].concat()),
        (1_200, end_of_3.to_vec()),
    ];
    for (number, (since, payload)) in payloads.iter().enumerate() {
        let marker = if number < 3 { 0x80 } else { 0 };
        let mut bytes = vec![0x80, marker | 101, 0, 4 + number as u8];
        bytes.extend(u32::to_be_bytes(8_000 + *since));
        bytes.extend([0, 0, 0, 7]);
        bytes.extend(payload);
        packets.push(datagram(FROM, TO, &bytes));
    }
    let columns = ["media.packets", "media.dtmf", "media.events"];
    let (found, _) = rows("media", &packets, &columns);
    assert_eq!(found, [["9", "123", "3"]]);
}

/// Streams that have one source between the same hosts had the reports of each other, and those behind the eighth had none.
#[test]
fn reports_are_of_the_stream_next_to_whose_sockets_they_are_sent() {
    let ends = |call: u8| {
        let port = 4 * u16::from(call);
        ((FROM.0, 4_000 + port), (TO.0, 5_000 + port))
    };
    let mut packets = Vec::new();
    for call in 0..10 {
        let (from, to) = ends(call);
        packets.extend((0..4).map(|n| datagram(from, to, &packet(7, n, n))));
    }
    for call in 0..10 {
        let (from, to) = ends(call);
        let mut report = vec![0x81, 201, 0, 7, 0, 0, 0, 9, 0, 0, 0, 7, 0, 0, 0, call];
        report.resize(32, 0);
        packets.push(datagram((to.0, to.1 + 1), (from.0, from.1 + 1), &report));
    }
    let columns = ["port.dst", "media.rtcp.reports", "media.rtcp.lost"];
    let (found, _) = rows("media", &packets, &columns);
    let expected: Vec<[String; 3]> = (0..10)
        .map(|call| [ends(call).1.1.to_string(), "1".to_owned(), call.to_string()])
        .collect();
    assert_eq!(found, expected);
}

/// Packets of a key that were overtaken by those of the next one: the keys were in the order of arrival.
#[test]
fn keys_are_in_the_order_in_which_they_were_pressed() {
    let described = "m=audio 5000 RTP/AVP 0 101\r\na=rtpmap:101 telephone-event/8000\r\n";
    let description = text_of_description(described);
    let mut packets = vec![datagram(
        (TO.0, 5_060),
        (FROM.0, 5_060),
        description.as_bytes(),
    )];
    // Number, timestamp, key and end.
    for (number, timestamp, key, is_end) in [
        (1, 1_000_u32, 1, true),
        (5, 9_000, 4, true),
        (6, 9_000, 4, true),
        (3, 5_000, 7, false),
        (4, 5_000, 7, true),
        (2, 3_000, 8, true),
        (7, 13_000, 0, true),
    ] {
        let mut bytes = vec![0x80, 101, 0, number];
        bytes.extend(timestamp.to_be_bytes());
        bytes.extend([0, 0, 0, 7, key, u8::from(is_end) << 7 | 10, 3, 0x20]);
        packets.push(datagram(FROM, TO, &bytes));
    }
    let (found, _) = rows("media", &packets, &["media.dtmf", "media.events"]);
    assert_eq!(found, [["18740", "5"]]);
}

/// A server that keeps the Call-ID in front of it and behind it has two calls. Each had the losses of both.
#[test]
fn legs_with_one_call_id_have_each_their_own_media() {
    let relay = Ipv4Addr::new(10, 0, 0, 9);
    let text = |line: &str, tags: [&str; 2], media: Option<HostPort>| {
        let body = media.map_or(String::new(), |(address, port)| {
            format!("v=0\r\nc=IN IP4 {address}\r\nm=audio {port} RTP/AVP 0\r\n")
        });
        let [from, to] = tags;
        let to = if to.is_empty() {
            String::new()
        } else {
            format!(";tag={to}")
        };
        format!(
            "{line}\r\nVia: SIP/2.0/UDP x;branch=z9hG4bK{from}\r\nFrom: <sip:a@x>;tag={from}\r\n\
             To: <sip:b@x>{to}\r\nCall-ID: a\r\nCSeq: 1 INVITE\r\nContent-Type: application/sdp\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let at = |address: Ipv4Addr| (address, 5_060);
    let (invite, answer) = ("INVITE sip:b@x SIP/2.0", "SIP/2.0 200 OK");
    let (first, second) = ((relay, 6_000), (relay, 6_002));
    let mut packets = vec![
        datagram(
            at(FROM.0),
            at(relay),
            text(invite, ["a", ""], Some(FROM)).as_bytes(),
        ),
        datagram(
            at(relay),
            at(TO.0),
            text(invite, ["c", ""], Some(second)).as_bytes(),
        ),
        datagram(
            at(TO.0),
            at(relay),
            text(answer, ["c", "d"], Some(TO)).as_bytes(),
        ),
        datagram(
            at(relay),
            at(FROM.0),
            text(answer, ["a", "b"], Some(first)).as_bytes(),
        ),
    ];
    for n in (0..20).filter(|n| *n != 5) {
        packets.push(datagram(FROM, first, &packet(7, n, n)));
    }
    for n in (0..20).filter(|n| n % 4 != 2) {
        packets.push(datagram(second, TO, &packet(7, n, n)));
    }
    let columns = ["call.from.tag", "call.lost"];
    let (found, notes) = rows("calls", &packets, &columns);
    assert_eq!(found, [["a", "1"], ["c", "5"]], "{notes:?}");
}

/// A clock that is set back within a call. The media began behind the last message of the call, by their times, and were not its own.
#[test]
fn a_call_has_its_media_where_the_clock_steps_back() {
    let bye = "BYE sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP x;branch=z9hG4bKb\r\nFrom: <sip:a@x>;tag=a\r\n\
         To: <sip:b@x>;tag=b\r\nCall-ID: a\r\nCSeq: 2 BYE\r\nContent-Length: 0\r\n\r\n";
    let mut packets = vec![(1_000, invite())];
    packets.extend((0..20).map(|n| (2_000 + 20 * u64::from(n), rtp(7, n, n))));
    packets.remove(9);
    for step_ms in [0, 600_000] {
        let mut packets = packets.clone();
        let last = datagram((TO.0, 5_060), (FROM.0, 5_060), bye.as_bytes());
        packets.push((4_000, last));
        for (time_ms, _) in packets.iter_mut().skip(10) {
            *time_ms += 1_000_000 - step_ms;
        }
        for (time_ms, _) in packets.iter_mut().take(10) {
            *time_ms += 1_000_000;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made.pcap");
        let file = std::fs::File::create(&path).unwrap();
        let mut writer =
            PcapWriter::new(file, 101, 65_535, PcapVariant::Nano, Endian::Little).unwrap();
        for (time_ms, packet) in &packets {
            let time_ns = 1_700_000_000_000_000_000 + time_ms * 1_000_000;
            writer.packet(time_ns, packet.len() as u32, packet).unwrap();
        }
        writer.into_inner().flush().unwrap();
        let (batch, notes) = read_with_notes("calls", &[&path], 10);
        assert_eq!(column(&batch, "call.lost"), ["1"], "{step_ms}: {notes:?}");
    }
}

/// The rows of streams come when these end, mostly with the last capture of several, whose name they had.
#[test]
fn streams_of_several_captures_have_their_own_files() {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<_> = ["a.pcap", "b.pcap", "c.pcap"]
        .map(|name| folder.path().join(name))
        .into();
    for (source, path) in (1..).zip(&paths) {
        let packets: Vec<Vec<u8>> = match source {
            // The last one has no media.
            3 => vec![invite()],
            _ => (0..6).map(|n| rtp(source, n, n)).collect(),
        };
        crate::wire::write(&packets, path);
    }
    let sources: Vec<&std::path::Path> = paths.iter().map(std::path::PathBuf::as_path).collect();
    let (batch, _) = read_with_notes("media", &sources, 10);
    assert_eq!(column(&batch, "rtp.ssrc"), ["1", "2"]);
    assert_eq!(column(&batch, "frame.number"), ["6", "6"]);
    let files: Vec<String> = paths
        .iter()
        .take(2)
        .map(|it| it.display().to_string())
        .collect();
    assert_eq!(column(&batch, "frame.file"), files);
}
