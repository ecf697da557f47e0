//! Hellos of QUIC behind what may come before them: other versions, a Retry packet, and data that a client sends early.

use std::net::Ipv4Addr;

use weir_messages::tls::write_quic_initial;
use weir_testkit::packet::{Ipv4, protocol, udp};

use crate::sip::{column, read_with_notes};
use crate::wire;

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// A datagram, and whether the client sends it.
type SentDatagram = (bool, Vec<u8>);

/// The names in the hellos of the rows of `tls`, and the notes.
fn names(sent: &[SentDatagram]) -> (Vec<String>, Vec<String>) {
    values(sent, "tls.handshake.extensions_server_name")
}

/// The values of a column of `tls`, and the notes.
fn values(sent: &[SentDatagram], name: &str) -> (Vec<String>, Vec<String>) {
    let packet = |(from_client, bytes): &SentDatagram| {
        let (client, server) = ((CLIENT, 50_000), (SERVER, 443));
        let (from, to) = match from_client {
            true => (client, server),
            false => (server, client),
        };
        let datagram = udp(from.0.into(), to.0.into(), from.1, to.1, bytes);
        Ipv4::new(from.0, to.0, protocol::UDP).packet(&datagram)
    };
    let packets: Vec<Vec<u8>> = sent.iter().map(packet).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    wire::write(&packets, &path);
    let (batch, notes) = read_with_notes("tls", &[&path], 100);
    (column(&batch, name), notes)
}

/// The client's hello with a server name (RFC 8446, 4.1.2).
pub(crate) fn hello() -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([7; 32]);
    body.extend(b"\0\0\x02\x13\x01\x01\0");
    body.extend(b"\0\x12\0\0\0\x0e\0\x0c\0\0\x09weir.test");
    [vec![1, 0, 0, body.len() as u8], body].concat()
}

/// A CRYPTO frame (RFC 9000, 19.6).
fn crypto(offset: usize, octets: &[u8]) -> Vec<u8> {
    let number = |number: usize| (0x4000 | number as u16).to_be_bytes();
    let mut frame = vec![6];
    frame.extend(number(offset));
    frame.extend(number(octets.len()));
    frame.extend(octets);
    frame
}

/// A client's first packet to a server that it calls so, with a part of its hello.
fn initial(first: u8, version: u32, server: &[u8], token: &[u8], frames: &[u8]) -> Vec<u8> {
    write_quic_initial(first, version, [server, b"client"], token, frames).unwrap()
}

/// A packet with a long header of this version (RFC 8999, 5.1).
fn long(first: u8, version: u32, [destination, source]: [&[u8]; 2], rest: &[u8]) -> Vec<u8> {
    let mut packet = vec![first];
    packet.extend(version.to_be_bytes());
    for id in [destination, source] {
        packet.push(id.len() as u8);
        packet.extend(id);
    }
    packet.extend(rest);
    packet
}

#[test]
fn the_hello_of_a_client_is_found_behind_what_comes_first() {
    let frames = crypto(0, &hello());
    let plain = initial(0xc0, 1, b"firstone", b"", &frames);
    // A version that makes the server say which ones it knows (RFC 9000, 15).
    let mut greased = plain.clone();
    greased[1..5].copy_from_slice(&[0x1a, 0x2a, 0x3a, 0x4a]);
    let versions = long(
        0x80,
        0,
        [b"client", b"firstone"],
        &[0xff, 0, 0, 0x1d, 0, 0, 0, 1],
    );
    let retry = long(0xf0, 1, [b"client", b"again"], &[9; 40]);
    let retried = initial(0xc0, 1, b"again", b"token", &frames);
    let mut early = long(0xd0, 1, [b"firstone", b"client"], &[20]);
    early.extend([5; 20]);
    let with_early = [early.clone(), plain.clone()].concat();
    let draft = initial(0xc0, 0xff00_001d, b"secondone", b"", &frames);
    let second_version = initial(0xd0, 0x6b33_43cf, b"firstone", b"", &frames);
    // A client that has been there before may leave out the fixed bit (RFC 9287, 3.1).
    let without_bit = initial(0x80, 1, b"firstone", b"token", &frames);
    let whole = hello();
    let (begun, rest) = whole.split_at(30);
    let parts = [crypto(30, rest), crypto(0, begun)];
    let [last, first] = parts.map(|part| initial(0xc0, 1, b"firstone", b"", &part));
    let cases: [(&str, Vec<SentDatagram>); 10] = [
        ("nothing", vec![(true, plain.clone())]),
        (
            "another version",
            vec![
                (true, greased),
                (false, versions.clone()),
                (true, plain.clone()),
            ],
        ),
        (
            "a Retry packet",
            vec![(false, retry.clone()), (true, retried.clone())],
        ),
        (
            "a first packet and a Retry packet",
            vec![(true, plain.clone()), (false, retry), (true, retried)],
        ),
        ("0-RTT", vec![(true, early), (true, plain.clone())]),
        ("0-RTT in its datagram", vec![(true, with_early)]),
        (
            "the same of a version that is refused",
            vec![(true, plain), (false, versions), (true, draft)],
        ),
        ("version 2", vec![(true, second_version)]),
        ("no fixed bit", vec![(true, without_bit)]),
        ("its own end", vec![(true, last), (true, first)]),
    ];
    for (case, sent) in cases {
        let expected = (vec!["weir.test".to_owned()], Vec::new());
        assert_eq!(names(&sent), expected, "{case}");
    }
}

/// A connection had no row where a part of its client's hello was not captured, or nothing of that hello.
#[test]
fn a_hello_without_its_end_has_what_is_there() {
    let frames = crypto(0, &hello()[..45]);
    let sent = [(true, initial(0xc0, 1, b"firstone", b"", &frames))];
    for (column, value) in [
        ("tls.fault", "bytes were not captured"),
        ("tls.handshake.version", "771"),
        ("port.src", "50000"),
        ("frame.number", "1"),
    ] {
        let expected = (vec![value.to_owned()], Vec::new());
        assert_eq!(values(&sent, column), expected, "{column}");
    }
}

/// Further packets of a connection in which both ends have empty connection IDs were counted as ones that could not be read.
#[test]
fn packets_between_empty_connection_ids_are_of_their_connection() {
    let frames = crypto(0, &hello());
    let first = write_quic_initial(0xc0, 1, [b"firstone", b""], b"", &frames).unwrap();
    // A packet without a token, sealed with keys of the first one's connection ID.
    let next = long(0xc0, 1, [b"", b""], &[&[0_u8, 20][..], &[5; 20]].concat());
    let expected = (vec!["weir.test".to_owned()], Vec::new());
    assert_eq!(names(&[(true, first), (true, next.clone())]), expected);
    // Without the first packet it is counted.
    let (names, notes) = names(&[(true, next)]);
    assert_eq!((names.len(), notes.len()), (0, 1), "{notes:?}");
}

/// The hello of a server that leaves out the fixed bit (RFC 9287, 3) was left out without a word where it was captured in front of
/// the client's. It is the packet of RFC 9001, A.3, sealed with that bit cleared.
#[test]
fn a_server_without_the_fixed_bit_may_come_first() {
    const ANSWER: &str = "8f000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a\
                          5816b6394100f37a1c69797554780bb38cc5a99f5ede4cf73c3ec2493a1839b3\
                          dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84\
                          022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca9c05cfa17372e9f250\
                          73a345b8789e3a";
    let pairs = ANSWER.as_bytes().chunks(2).map(|pair| {
        let digits = std::str::from_utf8(pair).unwrap();
        u8::from_str_radix(digits, 16).unwrap()
    });
    let mut answer: Vec<u8> = pairs.collect();
    answer.resize(1_200, 0);
    let id: &[u8] = b"\x83\x94\xc8\xf0\x3e\x51\x57\x08";
    let frames = crypto(0, &hello());
    let first = write_quic_initial(0xc0, 1, [id, b""], b"", &frames).unwrap();
    let [first, answer] = [(true, first), (false, answer)];
    let expected = (vec!["TLS_AES_128_GCM_SHA256".to_owned()], Vec::new());
    let in_order = [first.clone(), answer.clone()];
    assert_eq!(values(&in_order, "tls.cipher"), expected);
    assert_eq!(values(&[answer, first], "tls.cipher"), expected);
}

/// Connections of versions whose keys are not known were left out without a word.
#[test]
fn versions_without_keys_are_counted() {
    let datagram = |version: &[u8; 4]| {
        let mut datagram = long(0xc0, u32::from_be_bytes(*version), [b"firstone", b""], b"");
        datagram.resize(1_200, 9);
        datagram
    };
    let note =
        "tls: 1 QUIC datagrams were not read because the keys of their version are not known";
    for version in [b"Q050", b"\xff\0\0\x10", b"\xfa\xce\xb0\x0f"] {
        let (names, notes) = names(&[(true, datagram(version))]);
        assert_eq!((names.len(), notes), (0, vec![note.to_owned()]));
    }
    let (names, notes) = names(&[(true, datagram(b"\x1a\x2a\x3a\x4a"))]);
    assert_eq!((names.len(), notes), (0, Vec::new()));
}

/// Messages of DTLS whose hellos were not captured were left out without a word.
#[test]
fn messages_of_dtls_without_a_hello_are_counted() {
    // The end of the server's part (RFC 6347, 4.2.2), sent twice.
    let mut done = vec![22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 3, 0, 12];
    done.extend([14, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0]);
    let (found, notes) = names(&[(false, done.clone()), (false, done)]);
    assert_eq!(found, Vec::<String>::new());
    let [note] = notes.as_slice() else {
        panic!("{notes:?}");
    };
    assert!(note.contains("neither hello was captured"), "{note}");
}
