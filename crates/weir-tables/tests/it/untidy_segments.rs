//! Messages within segments of TCP, of which the first ones were not captured or some were lost.

use weir_testkit::packet::{Chunk, Ipv4, protocol, sctp, udp};

use crate::untidy::{
    CLIENT, SERVER, columns_of, from_the_middle, rows, watchdog, without_the_first,
};
use crate::wire::Connection;

/// Returns octets in segments of `size` octets, of a connection that began before the capture.
fn in_segments(port: u16, bytes: &[u8], size: usize) -> Vec<Vec<u8>> {
    let pieces: Vec<&[u8]> = bytes.chunks(size).collect();
    from_the_middle(port, &pieces)
}

/// A capture begins within a message, and no segment begins with one: messages of 56 octets each are found all the
/// same, and after a missing segment.
#[test]
fn messages_within_segments_are_found_from_the_middle() {
    let messages = watchdog().repeat(60);
    for (skipped, size) in [(1, 100), (13, 100), (41, 333), (55, 1_400)] {
        let mut packets = in_segments(3_868, &messages[skipped..], size);
        let (found, notes) = rows("diameter", &packets);
        assert_eq!(found, 59, "{skipped} by {size}");
        let lost = 56 - skipped;
        let note =
            format!("diameter: {lost} bytes of TCP streams are not part of a complete message");
        assert_eq!(notes, [note]);
        if packets.len() > 20 {
            packets.remove(10);
            let whole = 59 - size.div_ceil(56) - 1;
            let (found, _) = rows("diameter", &packets);
            assert!((whole..59).contains(&found), "{found}: {skipped} by {size}");
        }
    }
    let ends = ["192.0.2.1:5060", "192.0.2.2:5060"].map(|end| end.parse().unwrap());
    let sip = b"OPTIONS sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP x;branch=z9hG4bKa\r\nFrom: <sip:a@x>;tag=a\r\n\
        To: <sip:b@x>\r\nCall-ID: a\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n";
    let message = weir_messages::hep::write(3, ends[0], ends[1], 17, sip);
    let messages = message.repeat(20);
    for skipped in [1, 3, 5, 50, 150] {
        for size in [1_400, 333] {
            let packets = in_segments(9_060, &messages[skipped..], size);
            let (found, notes) = rows("sip", &packets);
            let lost = message.len() - skipped;
            let note = format!(
                "sip: {lost} bytes of TCP connections of HEP are not part of a complete message"
            );
            assert_eq!((found, notes), (19, vec![note]), "{skipped} by {size}");
            // The same behind a handshake.
            let packets = without_the_first(9_060, skipped, &messages, size);
            let columns = columns_of("sip", &packets, &["port.src"]);
            assert_eq!(columns, vec![["5060"]; 19], "{skipped} by {size}");
        }
    }
}

/// A connection whose first message has no sound length was left out, with all messages behind it.
#[test]
fn messages_behind_a_damaged_first_one_are_found() {
    for length in [0, 19, 57] {
        let mut messages = watchdog().repeat(3);
        messages[3] = length;
        let mut packets = Vec::new();
        let mut connection = Connection::open((CLIENT, 40_000), (SERVER, 3_868), &mut packets);
        connection.send_one(true, &messages, &mut packets);
        let note = "diameter: 56 bytes of TCP streams are not part of a complete message";
        let expected = (2, vec![note.to_owned()]);
        assert_eq!(rows("diameter", &packets), expected, "{length}");
    }
}

/// All but the first of several messages in one message of SCTP were left out without a word, and so were octets behind the last one.
#[test]
fn several_messages_in_one_of_sctp_are_messages() {
    for (port, behind, expected) in [(3_868, 0, 3), (9_999, 0, 3), (3_868, 7, 3)] {
        let mut payload = watchdog().repeat(3);
        payload.extend(vec![0; behind]);
        let chunk = Chunk::Data {
            tsn: 1,
            stream: 0,
            sequence: 0,
            protocol: 46,
            payload,
        };
        let packet = sctp(40_000, port, 1, &[chunk]);
        let packets = [Ipv4::new(CLIENT, SERVER, protocol::SCTP).packet(&packet)];
        let found = columns_of("diameter", &packets, &["diameter.length", "frame.number"]);
        assert_eq!(found, vec![["56", "1"]; expected], "{port} {behind}");
        let last = match behind {
            0 => "",
            _ => "octets behind the message begin no other one",
        };
        let found = columns_of("diameter", &packets, &["diameter.fault"]);
        assert_eq!(found, [[""], [""], [last]], "{port} {behind}");
    }
}

/// The same between ports of no protocol, also where a first line is in two segments.
#[test]
fn messages_within_segments_are_found_from_the_middle_between_any_ports() {
    let options = "OPTIONS sip:b@x SIP/2.0\r\nVia: SIP/2.0/TCP x;branch=z9hG4bKa\r\nFrom: <sip:a@x>;tag=a\r\n\
        To: <sip:b@x>\r\nCall-ID: a\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n";
    let diameter = watchdog();
    let sizes = [100, 333, 1_400, 60];
    for (table, message, sizes) in [
        ("diameter", &*diameter, &sizes[..3]),
        ("sip", options.as_bytes(), &sizes[..]),
    ] {
        let messages = message.repeat(20);
        for skipped in [13, 41, 55] {
            for &size in sizes {
                let packets = in_segments(5_999, &messages[skipped..], size);
                let (found, notes) = rows(table, &packets);
                assert_eq!(found, 19, "{table}: {skipped} by {size}");
                if size > message.len() {
                    let lost = message.len() - skipped;
                    let note = format!(
                        "{table}: {lost} bytes of TCP streams are not part of a complete message"
                    );
                    assert_eq!(notes, [note], "{skipped} by {size}");
                }
            }
        }
    }
    // A text with a message in it, such as a page of a manual, is not a message.
    let page = "HTTP/1.1 200 OK\r\n\r\nWrite:\nOPTIONS sip:b@x SIP/2.0\nand then a header.\n";
    let (found, notes) = rows("sip", &in_segments(5_999, page.as_bytes(), 1_400));
    assert_eq!((found, notes), (0, Vec::new()));
}

/// Messages without pairs, and those whose header is in several segments, had no rows between ports of no protocol, and those
/// without pairs had none on the port of peers either.
#[test]
fn small_messages_and_headers_in_several_segments_are_found_from_the_middle() {
    let whole = watchdog();
    let mut small = whole[..20].to_vec();
    small[3] = 20;
    for port in [3_868, 5_999] {
        for (message, skipped) in [(&small, 7), (&whole, 13), (&whole, 41), (&whole, 55)] {
            let messages = message.repeat(20);
            for size in [1, 3, 7, 20, 27, 31, 55, 56, 57] {
                let packets = in_segments(port, &messages[skipped..], size);
                let (found, _) = rows("diameter", &packets);
                let octets = message.len();
                assert_eq!(found, 19, "{port}: {skipped} of {octets} by {size}");
            }
        }
    }
}

/// Messages of STUN within segments had no rows where the connection began before the capture.
#[test]
fn messages_of_stun_are_found_from_the_middle() {
    let mut message = b"\0\x01\0\x08\x21\x12\xa4\x42abcdefghijkl".to_vec();
    message.extend(b"\0\x24\0\x04\0\0\0\x07");
    let messages = message.repeat(20);
    for port in [3_478, 5_999] {
        for skipped in [1, 5, 13, 27] {
            for size in [1, 3, 7, 20, 28, 41, 100] {
                let packets = in_segments(port, &messages[skipped..], size);
                let (found, _) = rows("stun", &packets);
                assert_eq!(found, 19, "{port}: {skipped} by {size}");
            }
        }
    }
    // Behind a gap the end of a cookie, and zeros behind it, look like empty data of a channel (RFC 8656, 12.4).
    message[8..].fill(0);
    let messages = message.repeat(4);
    let mut packets = in_segments(3_478, &messages, 7);
    packets.remove(5);
    assert_eq!(rows("stun", &packets).0, 3);
}

/// There was no word of a message of STUN whose length is not a number of words.
#[test]
fn messages_of_stun_with_a_wrong_length_are_counted() {
    for length in [0, 7, 9, 100] {
        let message = [
            &[0, 1, 0, length][..],
            b"\x21\x12\xa4\x42abcdefghijkl\0\x24\0\x04\0\0\0\x07",
        ]
        .concat();
        let datagram = udp(CLIENT.into(), SERVER.into(), 40_000, 3_478, &message);
        let packet = Ipv4::new(CLIENT, SERVER, protocol::UDP).packet(&datagram);
        let note = "stun: 1 datagrams on the protocol's ports are left out because they are not messages that could be decoded";
        let expected = (0, vec![note.to_owned()]);
        assert_eq!(rows("stun", &[packet]), expected, "{length}");
    }
}

/// A packet with a wrong length had the fault of octets that were not captured.
#[test]
fn packets_that_are_shorter_than_their_length_were_captured() {
    let mut bytes = vec![1, 7, 0, 64];
    bytes.extend([9; 16]);
    bytes.extend(b"\x01\x05bob");
    let datagram = udp(CLIENT.into(), SERVER.into(), 40_000, 1_812, &bytes);
    let packet = Ipv4::new(CLIENT, SERVER, protocol::UDP).packet(&datagram);
    let columns = ["radius.user_name", "radius.fault"];
    let expected = [["bob", "the message is shorter than its length says"]];
    assert_eq!(columns_of("radius", &[packet], &columns), expected);
}

/// Messages of the protocols that TCP carries one behind the other, each with its port.
pub(crate) fn streams() -> [(&'static str, u16, Vec<Vec<u8>>); 5] {
    let number = |n: u8| [b'0' + n / 10, b'0' + n % 10];
    let dns = |n: u8| {
        let [tens, ones] = number(n);
        let mut message = vec![n, ones, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0];
        message.extend([3, b'n', tens, ones, 7]);
        message.extend(b"example\0\0\x10\0\x01\xc0\x0c\0\x10\0\x01\0\0\0\x3c\0");
        message.extend([n + 2, n + 1]);
        message.extend(vec![b'x'; (n + 1).into()]);
        let length = message.len() as u8;
        [vec![0, length], message].concat()
    };
    let mqtt = |n: u8| {
        let [tens, ones] = number(n);
        let body = [b"\0\x04a/".as_slice(), &[tens, ones], &vec![0x30; n.into()]].concat();
        let publish = [vec![0x30, body.len() as u8], body].concat();
        if n % 4 == 2 { vec![0xc0, 0] } else { publish }
    };
    let radius = |n: u8| {
        let [tens, ones] = number(n);
        let mut packet = vec![1, n, 0, 29 + n];
        packet.extend([0xa5; 16]);
        packet.extend([1, 4, tens, ones, 4, 3, b'a', 31, 2 + n]);
        packet.extend(vec![b'3'; n.into()]);
        packet
    };
    let stun = |n: u8| {
        let mut message = vec![0, 1, 0, 8, 0x21, 0x12, 0xa4, 0x42];
        message.extend([n; 12]);
        message.extend([0, 0x24, 0, 4, 0, 0, 0, n]);
        message
    };
    let all = |one: &dyn Fn(u8) -> Vec<u8>| (0..40).map(one).collect();
    [
        ("dns", 53, all(&dns)),
        ("lookups", 53, all(&dns)),
        ("mqtt", 1_883, all(&mqtt)),
        ("radius", 2_083, all(&radius)),
        ("stun", 3_478, all(&stun)),
    ]
}

/// One of several segments is lost, or the first ones were not captured: only the messages within them are lost, and a
/// note counts octets that belong to no whole message, and those that were not captured.
#[test]
fn behind_a_gap_messages_are_found_within_segments() {
    for (table, port, messages) in streams() {
        let stream = messages.concat();
        let mut at = 0;
        let places: Vec<_> = messages
            .iter()
            .map(|message| {
                at += message.len();
                at - message.len()..at
            })
            .collect();
        for size in [37, 100, 333, 1_000] {
            // The first segment of these protocols is not removed: in a connection that began before the capture, only
            // a packet that is whole in a segment is found.
            let first = usize::from(["radius", "stun"].contains(&table));
            for lost in first..stream.len().div_ceil(size).min(9) - 1 {
                let gone = lost * size..(lost + 1) * size;
                let mut packets = in_segments(port, &stream, size);
                packets.remove(lost);
                let is_whole = |place: &&std::ops::Range<usize>| {
                    place.end <= gone.start || place.start >= gone.end
                };
                let whole = places.iter().filter(is_whole).count();
                let (found, notes) = rows(table, &packets);
                assert_eq!(found, whole, "{table} by {size} without {lost}: {notes:?}");
                let is_cut = places.iter().any(|it| {
                    it.contains(&gone.start) && it.start < gone.start
                        || it.contains(&gone.end) && it.start < gone.end
                });
                let note = "bytes of TCP streams are not part of a complete message";
                let is_counted = notes.iter().any(|it| it.contains(note));
                // Nothing says that segments precede the first one.
                let is_known = lost > 0 || is_cut;
                assert_eq!(
                    is_counted, is_known,
                    "{table} by {size} without {lost}: {notes:?}"
                );
            }
        }
    }
}

/// There was no word of messages that were lost as a whole, but of those of SIP behind others.
#[test]
fn messages_that_are_lost_as_a_whole_are_counted() {
    let same = |message: &[u8]| vec![message.to_vec(); 6];
    let megaco = |n: u8| {
        let text =
            format!("MEGACO/1 [192.0.2.1]:2944\nTransaction={n}{{Context=1{{Subtract=A/1}}}}");
        [&[3, 0, 0, text.len() as u8 + 4], text.as_bytes()].concat()
    };
    let megaco: Vec<Vec<u8>> = (1..7).map(megaco).collect();
    let options = b"OPTIONS sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP x;branch=z9hG4bKa\r\nFrom: <sip:a@x>;tag=a\r\n\
        To: <sip:b@x>\r\nCall-ID: a\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n";
    let ends = ["192.0.2.1:5060", "192.0.2.2:5060"].map(|end| end.parse().unwrap());
    let hep = weir_messages::hep::write(3, ends[0], ends[1], 17, options);
    let [of_tcp, of_megaco, of_hep] = [
        "bytes of TCP streams are not part of a complete message",
        "octets of TCP streams are not part of a complete message of Megaco",
        "bytes of TCP connections of HEP are not part of a complete message",
    ];
    let mut all: Vec<(&str, u16, Vec<Vec<u8>>, &str)> = vec![
        ("diameter", 3_868, same(&watchdog()), of_tcp),
        ("diameter", 5_999, same(&watchdog()), of_tcp),
        ("h248", 2_944, megaco.clone(), of_megaco),
        ("h248", 5_999, megaco, of_megaco),
        ("sip", 5_060, same(options), of_tcp),
        ("sip", 5_999, same(options), of_tcp),
        ("sip", 9_060, same(&hep), of_hep),
    ];
    for (table, port, mut messages) in streams() {
        messages.truncate(6);
        all.push((table, port, messages, of_tcp));
    }
    for (table, port, messages, note) in all {
        for lost in [0, 1, 3] {
            let mut packets = Vec::new();
            let ends = [(CLIENT, 40_000), (SERVER, port)];
            let mut connection = Connection::open(ends[0], ends[1], &mut packets);
            let handshake = packets.len();
            for message in &messages {
                connection.send_one(true, message, &mut packets);
            }
            packets.remove(handshake + lost);
            let octets = messages[lost].len();
            let expected = (5, vec![format!("{table}: {octets} {note}")]);
            assert_eq!(rows(table, &packets), expected, "{port} without {lost}");
        }
    }
}
