//! T.38 that SIP announces, in datagrams that are no RTP, belongs to its call.

use std::net::Ipv4Addr;

use weir_packet::{Decoder, Frame, LinkType};
use weir_tables::{CallSight, CallWatch};
use weir_testkit::packet::{Ipv4, protocol, udp};

use crate::{sip, wire};

pub(crate) const SENDER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub(crate) const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

pub(crate) fn datagram(is_back: bool, ports: [u16; 2], payload: &[u8]) -> Vec<u8> {
    let (from, to) = if is_back {
        (RECEIVER, SENDER)
    } else {
        (SENDER, RECEIVER)
    };
    let datagram = udp(from.into(), to.into(), ports[0], ports[1], payload);
    Ipv4::new(from, to, protocol::UDP).packet(&datagram)
}

/// A message with this first line, which announces a fax at a port of its sender.
fn sip(first: &str, address: Ipv4Addr, port: u16) -> Vec<u8> {
    let media = format!("m=image {port} udptl t38\r\na=T38FaxVersion:0\r\n");
    message(first, 2, address, &media)
}

/// A message with this first line and number, which announces media of its sender.
pub(crate) fn message(first: &str, number: u32, address: Ipv4Addr, media: &str) -> Vec<u8> {
    let body = format!("v=0\r\nc=IN IP4 {address}\r\n{media}");
    format!(
        "{first}\r\nVia: SIP/2.0/UDP 10.0.0.1;branch=z9hG4bKa\r\nFrom: <sip:a@x>;tag=1\r\nTo: <sip:b@x>;tag=2\r\n\
         Call-ID: fax\r\nCSeq: {number} INVITE\r\nContent-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A packet of RTP of G.711.
pub(crate) fn rtp(ssrc: u8, number: u8) -> Vec<u8> {
    let timestamp = 160 * u32::from(number);
    let mut bytes = vec![0x80, 0, 0, number];
    bytes.extend(timestamp.to_be_bytes());
    bytes.extend([0, 0, 0, ssrc]);
    bytes.extend([0x55; 160]);
    bytes
}

/// A call with a fax of three datagrams and two back.
fn packets() -> Vec<Vec<u8>> {
    vec![
        datagram(
            false,
            [5060, 5060],
            &sip("INVITE sip:b@x SIP/2.0", SENDER, 4000),
        ),
        datagram(true, [5060, 5060], &sip("SIP/2.0 200 OK", RECEIVER, 5000)),
        datagram(false, [4000, 5000], b"\0\x01\x01\x06\0\0"),
        datagram(
            true,
            [5000, 4000],
            b"\x80\x00\x03\xc0\x01\x80\0\0\x01\x06\0\0\0\0",
        ),
        datagram(true, [5000, 4000], b"\x80\x01\x01\x06\0\0"),
        // This datagram is between other sockets.
        datagram(false, [4001, 5001], b"\0\x01\x01\x06\0\0"),
        // The datagram with number 3 is missing.
        datagram(false, [4000, 5000], b"\0\x02\x01\x06\0\0"),
        datagram(false, [4000, 5000], b"\0\x04\x01\x06\0\0"),
        // STUN keeps the binding of the NAT alive.
        datagram(
            false,
            [4000, 5000],
            b"\0\x01\0\0\x21\x12\xa4\x42abcdefghijkl",
        ),
    ]
}

#[test]
fn faxes_have_rows_of_media_and_count_for_their_calls() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fax.pcap");
    wire::write(&packets(), &path);
    let media = sip::read("media", &[&path], 10);
    let columns = [
        "media.protocol",
        "media.type",
        "media.codec",
        "sip.call_id",
        "port.dst",
        "media.packets",
        "media.lost",
        "rtp.ssrc",
        "media.mos",
    ];
    let columns = columns.map(|name| sip::column(&media, name));
    let rows: Vec<Vec<&str>> = (0..media.num_rows())
        .map(|row| columns.iter().map(|column| &*column[row]).collect())
        .collect();
    assert_eq!(
        rows,
        [
            ["T.38", "image", "t38", "fax", "5000", "3", "1", "", ""],
            ["T.38", "image", "t38", "fax", "4000", "2", "0", "", ""],
        ]
    );
    let calls = sip::read("calls", &[&path], 10);
    assert_eq!(sip::column(&calls, "call.lost"), ["1"]);
    assert_eq!(sip::read("rtp", &[&path], 10).num_rows(), 0);
}

#[test]
fn faxes_are_media_of_their_call() {
    let packets = packets();
    let mut watch = CallWatch::default();
    let mut decoder = Decoder::default();
    let mut found = Vec::new();
    for (number, data) in (1..).zip(&packets) {
        let mut frame = Frame::new(LinkType(101), data);
        frame.number = number;
        frame.time_ns = Some(number as i64 * 20_000_000);
        watch.packet(&decoder.decode(frame), &mut |sight| {
            if let CallSight::Media(media) = sight {
                let call = media.call_id.unwrap_or_default().to_owned();
                found.push((media.frame, call, media.protocol, media.is_rtp));
            }
        });
    }
    let expected: Vec<_> = [3, 4, 5, 7, 8]
        .map(|frame| (frame, "fax".to_owned(), "T.38", false))
        .to_vec();
    assert_eq!(found, expected);
}

/// RFC 3261, 14.1: the session goes on as it was when the offer of a fax is refused; and while it is not answered yet.
#[test]
fn sound_goes_on_where_a_fax_is_refused() {
    let audio = |port: u16| format!("m=audio {port} RTP/AVP 0\r\n");
    let fax = "m=image 4000 udptl t38\r\n";
    let to_b = |bytes: &[u8]| datagram(false, [4000, 5000], bytes);
    let to_a = |bytes: &[u8]| datagram(true, [5000, 4000], bytes);
    let signal = |is_back, bytes: &[u8]| datagram(is_back, [5060, 5060], bytes);
    for (response, rows) in [
        (
            "SIP/2.0 488 Not Acceptable Here",
            vec!["RTP 6", "RTP 5", "RTP 2"],
        ),
        ("SIP/2.0 200 OK", vec!["RTP 6", "RTP 5", "T.38 2"]),
    ] {
        let invite = message("INVITE sip:b@x SIP/2.0", 1, SENDER, &audio(4000));
        let answer = message("SIP/2.0 200 OK", 1, RECEIVER, &audio(5000));
        let offer = message("INVITE sip:b@x SIP/2.0", 2, SENDER, fax);
        let mut packets = vec![signal(false, &invite), signal(true, &answer)];
        for number in 0..6 {
            if number == 2 {
                packets.push(signal(false, &offer));
            }
            if number == 4 {
                packets.push(signal(true, &message(response, 2, RECEIVER, "")));
            }
            packets.push(to_b(&rtp(7, number)));
            if number < 5 {
                packets.push(to_a(&rtp(8, number)));
            }
        }
        // What begins behind the response is of what was agreed.
        if rows.contains(&"T.38 2") {
            packets.push(to_a(b"\0\x01\x01\x06\0\0"));
            packets.push(to_a(b"\0\x02\x01\x06\0\0"));
        } else {
            packets.push(to_a(&rtp(9, 1)));
            packets.push(to_a(&rtp(9, 2)));
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("refused.pcap");
        wire::write(&packets, &path);
        let media = sip::read("media", &[&path], 10);
        let [protocols, counts, lost, calls] = [
            "media.protocol",
            "media.packets",
            "media.lost",
            "sip.call_id",
        ]
        .map(|name| sip::column(&media, name));
        let found: Vec<_> = protocols
            .iter()
            .zip(&counts)
            .map(|(protocol, count)| format!("{protocol} {count}"))
            .collect();
        assert_eq!(found, rows, "{response}");
        assert!(lost.iter().all(|it| it == "0"), "{lost:?}");
        assert!(calls.iter().all(|it| it == "fax"), "{calls:?}");
    }
}
