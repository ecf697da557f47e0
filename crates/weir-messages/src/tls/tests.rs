//! TLS and QUIC: hellos, certificates, published vectors, and what has no end.

use super::*;

/// The hello of the description of JA4 (FoxIO, `ja4/technical_details/JA4.md`).
fn chrome() -> ClientHello {
    ClientHello {
        version: 0x0303,
        suites: vec![
            0x0a0a, 0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8, 0xc013,
            0xc014, 0x009c, 0x009d, 0x002f, 0x0035,
        ],
        extensions: vec![
            0x1a1a, 0x001b, 0x0000, 0x0033, 0x0010, 0x4469, 0x0017, 0x002d, 0x000d, 0x0005, 0x0023,
            0x0012, 0x002b, 0xff01, 0x000b, 0x000a, 0x0015,
        ],
        protocols: vec!["h2".into(), "http/1.1".into()],
        first_protocol: b"h2".to_vec(),
        signatures: vec![
            0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601,
        ],
        versions: vec![0x2a2a, 0x0304, 0x0303],
        ..ClientHello::default()
    }
}

#[test]
fn ja4_is_that_of_its_description() {
    let found = ja4(&chrome(), Carrier::Tls);
    assert_eq!(found, "t13d1516h2_8daaf6152771_e5627efa2ab1");
}

#[test]
fn ja3_is_that_of_its_description() {
    // The two examples of https://github.com/salesforce/ja3.
    let hello = ClientHello {
        version: 769,
        suites: vec![47, 53, 5, 10, 49161, 49162, 49171, 49172, 50, 56, 19, 4],
        extensions: vec![0, 10, 11],
        groups: vec![23, 24, 25],
        point_formats: vec![0],
        ..ClientHello::default()
    };
    assert_eq!(
        ja3_text(&hello),
        "769,47-53-5-10-49161-49162-49171-49172-50-56-19-4,0-10-11,23-24-25,0"
    );
    assert_eq!(ja3(&hello), "ada70206e40642a3e4461f35503241d5");
    let hello = ClientHello {
        version: 769,
        suites: vec![4, 5, 10, 9, 100, 98, 3, 6, 19, 18, 99],
        ..ClientHello::default()
    };
    assert_eq!(ja3(&hello), "de350869b8c85de67a350c8d186f11e6");
}

/// A client hello in one record.
fn hello_record() -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend_from_slice(&[7; 32]);
    body.extend_from_slice(&[0, 0, 4, 0x13, 0x01, 0xc0, 0x2f, 1, 0]);
    let extensions = b"\0\0\0\x0e\0\x0c\0\0\x09weir.test\0\x10\0\x05\0\x03\x02h2";
    body.extend_from_slice(&(extensions.len() as u16).to_be_bytes());
    body.extend_from_slice(extensions);
    let mut message = vec![1, 0, 0, body.len() as u8];
    message.extend_from_slice(&body);
    let mut record = vec![22, 3, 1, 0, message.len() as u8];
    record.extend_from_slice(&message);
    record
}

#[test]
fn a_hello_is_read_in_pieces_of_any_size() {
    let record = hello_record();
    assert!(begins_with_hello(&record));
    for size in 1..=record.len() {
        let mut session = Session::new(Carrier::Tls);
        for piece in record.chunks(size) {
            assert_eq!(
                session.stream(1, piece, Stamp::default()),
                SessionState::More
            );
        }
        let hello = session.client.as_ref().unwrap();
        assert_eq!(hello.server_name.as_deref(), Some("weir.test"), "{size}");
        assert_eq!(hello.protocols, ["h2"]);
        assert_eq!(session.client_side(), Some(1));
    }
}

/// Nothing was known of a hello whose end was not captured, nor of the messages in front of a gap in their record.
#[test]
fn what_is_there_of_a_hello_that_was_cut_is_read() {
    let record = hello_record();
    let stamp = Stamp {
        time_ns: None,
        frame: 4,
    };
    let cut = |octets: &[u8]| {
        let mut session = Session::new(Carrier::Tls);
        session.stream(0, octets, stamp);
        assert!(session.client.is_none());
        session.gap(0);
        session
    };
    let all: [u16; 2] = [0x1301, 0xc02f];
    for (captured, suites, name) in [
        (80, &all[..], Some("weir.test")),
        (72, &all[..], Some("weir.test")),
        (71, &all[..], None),
        (52, &all[..], None),
        (50, &all[..], None),
        (49, &all[..1], None),
        (46, &all[..0], None),
    ] {
        let session = cut(&record[..captured]);
        let hello = session.client.as_ref().unwrap();
        assert_eq!(hello.suites, suites, "{captured}");
        assert_eq!(hello.server_name.as_deref(), name, "{captured}");
        assert!(hello.is_cut && hello.random == [7; 32]);
        assert_eq!(
            (session.client_stamp, session.client_side()),
            (stamp, Some(0))
        );
        assert_eq!(session.fault(), Some("bytes were not captured"));
    }
    assert!(cut(&record[..45]).client.is_none());
    let records = in_records(&record, 30);
    let mut session = cut(&records[..records.len() - 1]);
    let name = session.client.as_ref().unwrap().server_name.as_deref();
    assert_eq!(name, Some("weir.test"));

    // A certificate begins in the record of the server's hello.
    let mut answer = server_hello_of_1_2();
    answer[4] += 18;
    answer.extend_from_slice(&[11, 0, 0, 14]);
    session.stream(1, &answer, Stamp::default());
    assert_eq!(session.version(), None);
    session.gap(1);
    assert_eq!(session.version(), Some(0x0303));
    // The first certificate of a chain is there, and its second one is not.
    let chain: [u8; 14] = [11, 0, 0, 13, 0, 0, 10, 0, 0, 1, 5, 0, 0, 3];
    session.stream(1, &[&[22, 3, 3, 0, 17][..], &chain].concat(), stamp);
    assert!(session.certificates.is_empty());
    session.gap(1);
    assert_eq!(session.certificates.len(), 1);
    assert_eq!(session.resumed(), Some(false));
}

/// The same octets of a handshake in records of at most so many.
fn in_records(record: &[u8], size: usize) -> Vec<u8> {
    let mut records = Vec::new();
    for piece in record[5..].chunks(size) {
        records.extend_from_slice(&[22, 3, 1, 0, piece.len() as u8]);
        records.extend_from_slice(piece);
    }
    records
}

#[test]
fn a_hello_in_records_of_any_size_is_one() {
    let record = hello_record();
    for size in 1..=record.len() {
        let records = in_records(&record, size);
        assert!(begins_with_hello(&records), "{size}");
        let known = (0..records.len()).find(|length| begins_with_hello(&records[..*length]));
        for length in 0..known.unwrap() {
            assert!(may_begin_with_hello(&records[..length]), "{size}: {length}");
        }
        assert!(
            known.unwrap() <= 36 && !may_begin_with_hello(&records),
            "{size}"
        );
        let mut session = Session::new(Carrier::Tls);
        session.stream(0, &records, Stamp::default());
        let hello = session.client.as_ref().unwrap();
        assert_eq!(hello.server_name.as_deref(), Some("weir.test"), "{size}");
    }
    for other in [
        b"\x14\x03\x01\0\x01\x01" as &[u8],
        b"\x16\x03\x01\0\0GET ",
        b"\x16\x03\x01\0\x04\x01\0\0\x20",
        b"\x16\x03\x01\0\x04\x0b\0",
        b"GET ",
    ] {
        assert!(!begins_with_hello(other) && !may_begin_with_hello(other));
    }
}

/// Empty records, alerts and changes of cipher spec between the records of a hello take nothing from it.
#[test]
fn a_hello_with_other_records_between_its_own_is_read() {
    let record = hello_record();
    let others: [&[u8]; 3] = [
        &[22, 3, 1, 0, 0],
        &[21, 3, 1, 0, 2, 1, 90],
        &[20, 3, 1, 0, 1, 1],
    ];
    for other in others {
        for size in [1, 5, 40] {
            let mut records = Vec::new();
            for piece in record[5..].chunks(size) {
                records.extend_from_slice(&[22, 3, 1, 0, piece.len() as u8]);
                records.extend_from_slice(piece);
                if records.len() < record.len() {
                    records.extend_from_slice(other);
                }
            }
            assert!(begins_with_hello(&records), "{size}: {other:?}");
            let known = (0..records.len()).find(|length| begins_with_hello(&records[..*length]));
            for length in 0..known.unwrap() {
                assert!(may_begin_with_hello(&records[..length]), "{size}: {length}");
            }
            let mut session = Session::new(Carrier::Tls);
            session.stream(0, &records, Stamp::default());
            let hello = session.client.as_ref().unwrap();
            assert_eq!(hello.server_name.as_deref(), Some("weir.test"), "{size}");
        }
    }
    let behind_empty = [others[0], others[0], &record].concat();
    assert!(begins_with_hello(&behind_empty) && may_begin_with_hello(others[0]));
    let mut session = Session::new(Carrier::Tls);
    session.stream(0, &behind_empty, Stamp::default());
    assert!(session.client.is_some());
}

/// A datagram with a fragment of the hello.
fn datagram(version: [u8; 2], offset: usize, there: usize) -> Vec<u8> {
    let mut message = hello_record()[5..].to_vec();
    // The cookie of DTLS stands behind the session.
    message.insert(4 + 2 + 32 + 1, 0);
    let length = message.len() - 4;
    let mut bytes = vec![
        22,
        version[0],
        version[1],
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        1,
        0,
        12 + there as u8,
    ];
    bytes.extend_from_slice(&[
        1,
        0,
        0,
        length as u8,
        0,
        0,
        0,
        0,
        offset as u8,
        0,
        0,
        there as u8,
    ]);
    bytes.extend_from_slice(&message[4 + offset..4 + offset + there]);
    bytes
}

/// A hello of DTLS was not read when a snap length cut its datagram.
#[test]
fn what_is_there_of_a_hello_of_dtls_that_was_cut_is_read() {
    let length = hello_record().len() - 9 + 1;
    let hello = datagram([0xfe, 0xfd], 0, length);
    for (missing, name) in [(9, Some("weir.test")), (10, None)] {
        let mut session = Session::new(Carrier::Dtls);
        session.datagram(0, &hello[..hello.len() - missing], Stamp::default());
        let client = session.client.as_ref().unwrap();
        assert_eq!(client.server_name.as_deref(), name);
        assert!(client.is_cut && client.suites == [0x1301, 0xc02f]);
        assert_eq!(session.fault(), Some("bytes were not captured"));
    }
}

#[test]
fn fragments_of_a_hello_come_in_any_order() {
    let length = hello_record().len() - 9 + 1;
    let thirds = [(0, 30), (30, 20), (50, length - 50)];
    let orders = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]];
    for (order, version) in
        orders
            .into_iter()
            .zip([[0xfe, 0xfd], [0xfe, 0xff], [1, 0], [0xfe, 0xfd]])
    {
        let mut session = Session::new(Carrier::Dtls);
        for at in order {
            assert!(session.client.is_none());
            // Each comes twice, and overlaps the one before it.
            let (offset, there) = thirds[at];
            let more = if offset > 0 { 5 } else { 0 };
            for bytes in [
                datagram(version, offset, there),
                datagram(version, offset - more, there + more),
            ] {
                assert!(begins_with_datagram_hello(&bytes));
                session.datagram(1, &bytes, Stamp::default());
            }
        }
        let hello = session.client.as_ref().unwrap();
        assert_eq!(hello.server_name.as_deref(), Some("weir.test"), "{order:?}");
    }
}

/// A fragment of a message of this type and number, of 40 octets of which 20 come, in a datagram of DTLS.
fn half(kind: u8, number: u8, offset: usize, body: &[u8; 40]) -> Vec<u8> {
    let mut bytes = vec![22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 1, 0, 32];
    bytes.extend_from_slice(&[kind, 0, 0, 40, 0, number, 0, 0, offset as u8, 0, 0, 20]);
    bytes.extend_from_slice(&body[offset..offset + 20]);
    bytes
}

#[test]
fn fragments_of_several_messages_may_be_mixed() {
    let mut hello = [0; 40];
    hello[..2].copy_from_slice(&[0xfe, 0xfd]);
    // No session, a suite, and no extensions.
    hello[34..].copy_from_slice(&[0, 0xc0, 0x2f, 0, 0, 0]);
    // A certificate of 34 octets.
    let mut chain = [0; 40];
    chain[2] = 37;
    chain[5] = 34;
    let mut session = Session::new(Carrier::Dtls);
    for bytes in [
        half(11, 1, 20, &chain),
        half(2, 0, 20, &hello),
        half(11, 1, 0, &chain),
        half(2, 0, 0, &hello),
    ] {
        session.datagram(1, &bytes, Stamp::default());
    }
    assert!(session.server.is_some());
    assert_eq!(session.certificates.len(), 1);
    assert_eq!(session.held(), 0);
}

/// A whole message of this type and number in a datagram of DTLS, whose record has that number, too.
fn whole(kind: u8, number: u8, body: &[u8]) -> Vec<u8> {
    let length = u8::try_from(body.len()).unwrap();
    let mut bytes = vec![22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, number, 0, length + 12];
    bytes.extend_from_slice(&[kind, 0, 0, length, 0, number, 0, 0, 0, 0, 0, length]);
    bytes.extend_from_slice(body);
    bytes
}

/// A handshake whose certificates did not come was one that resumes a session, without a fault.
#[test]
fn messages_of_dtls_that_did_not_come_are_missing() {
    let mut client = hello_record()[9..].to_vec();
    client.insert(2 + 32 + 1, 0);
    let server = [&[0xfe, 0xfd][..], &[9; 32], &[0, 0xc0, 0x2f, 0]].concat();
    let certificate = [0, 0, 4, 0, 0, 1, 5];
    let half_certificate = {
        let mut bytes = whole(11, 1, &certificate[..4]);
        bytes[16] = 7;
        bytes
    };
    let change = |number: u8| vec![20, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, number, 0, 1, 1];
    let flights = [
        (0, whole(1, 0, &client)),
        (1, whole(2, 0, &server)),
        (1, whole(11, 1, &certificate)),
        (1, whole(14, 2, &[])),
        (0, whole(16, 1, &[7; 8])),
        (0, change(2)),
        (1, whole(4, 3, &[0; 6])),
        (1, change(4)),
    ];
    let told_by = |kept: &[usize]| {
        let mut session = Session::new(Carrier::Dtls);
        for at in kept {
            let (side, bytes) = &flights[*at];
            session.datagram(*side, bytes, Stamp::default());
        }
        assert!(session.client.is_some() && session.server.is_some());
        (session.resumed(), session.fault())
    };
    let missing = Some("bytes were not captured");
    assert_eq!(told_by(&[0, 1, 2, 3, 4, 5, 6, 7]), (Some(false), None));
    // Messages that are sent again have the same numbers.
    assert_eq!(
        told_by(&[0, 1, 1, 2, 3, 0, 2, 3, 4, 5, 6, 7]),
        (Some(false), None)
    );
    assert_eq!(told_by(&[0, 1, 3, 4, 5, 6, 7]), (Some(false), missing));
    assert_eq!(told_by(&[0, 1, 4, 5, 7]), (Some(false), missing));
    assert_eq!(told_by(&[0, 1, 5, 6, 7]), (None, missing));
    // The number of the last record alone shows that some are missing, which may have been sent again.
    assert_eq!(told_by(&[0, 1, 5, 7]), (None, None));

    let mut session = Session::new(Carrier::Dtls);
    for (side, bytes) in &flights[..2] {
        session.datagram(*side, bytes, Stamp::default());
    }
    session.datagram(1, &half_certificate, Stamp::default());
    assert_eq!(session.fault(), missing);
    session.datagram(1, &flights[2].1, Stamp::default());
    assert_eq!(session.fault(), None);
    assert_eq!(session.certificates.len(), 1);
}

/// Encrypted records of DTLS 1.3, whose header is another one (RFC 9147, 4), establish a connection.
#[test]
fn encrypted_records_of_dtls_1_3_are_data() {
    let mut client = hello_record()[5..].to_vec();
    client.insert(4 + 2 + 32 + 1, 0);
    let client = datagram([0xfe, 0xfd], 0, client.len() - 4);
    let mut server = vec![22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 58];
    server.extend_from_slice(&[2, 0, 0, 46, 0, 0, 0, 0, 0, 0, 0, 46, 0xfe, 0xfd]);
    server.extend_from_slice(&[9; 32]);
    server.extend_from_slice(&[0, 0x13, 0x01, 0, 0, 6, 0, 43, 0, 2, 0xfe, 0xfc]);
    let sealed = [0x2e, 0, 1, 0, 17].into_iter().chain([7; 17]);
    let sealed: Vec<u8> = sealed.collect();
    server.extend_from_slice(&sealed);
    let mut session = Session::new(Carrier::Dtls);
    session.datagram(0, &client, Stamp::default());
    session.datagram(1, &server, Stamp::default());
    assert_eq!(session.version(), Some(0xfefc));
    assert_eq!(session.established(), Some(false));
    let state = session.datagram(0, &sealed, Stamp::default());
    assert_eq!(state, SessionState::Done);
    assert_eq!(session.established(), Some(true));
}

#[test]
fn every_prefix_of_a_hello_waits() {
    let record = hello_record();
    for length in 0..record.len() {
        let mut session = Session::new(Carrier::Tls);
        assert_eq!(
            session.stream(0, &record[..length], Stamp::default()),
            SessionState::More
        );
        assert!(session.client.is_none(), "{length}");
        let body = record.get(9..length).unwrap_or_default();
        // The suites and the following fields are read as far as they are there.
        assert_eq!(
            ClientHello::parse(body, false).is_ok(),
            body.len() >= 37,
            "{length}"
        );
    }
}

#[test]
fn messages_without_end_are_passed_over() {
    let mut session = Session::new(Carrier::Tls);
    session.stream(0, &hello_record(), Stamp::default());
    // A certificate of 16 MiB, of which 20 MiB come.
    let mut record = vec![22, 3, 3, 0x40, 0];
    record.resize(5 + 0x4000, 0x41);
    let mut first = record.clone();
    first[5..9].copy_from_slice(&[11, 0xff, 0xff, 0xff]);
    session.stream(1, &first, Stamp::default());
    for _ in 0..1_200 {
        session.stream(1, &record, Stamp::default());
        assert!(
            session.held() <= 2 * HANDSHAKE_OCTETS_MAX,
            "{}",
            session.held()
        );
    }
    assert!(session.too_long >= 1);
    assert!(session.certificates.is_empty());
}

/// A server's hello of TLS 1.3 with this random, in one record, and an empty ChangeCipherSpec behind it.
fn server_hello_of_1_3(random: [u8; 32]) -> Vec<u8> {
    let mut record = vec![22, 3, 3, 0, 50, 2, 0, 0, 46, 3, 3];
    record.extend_from_slice(&random);
    record.extend_from_slice(&[0, 0x13, 0x01, 0, 0, 6, 0, 43, 0, 2, 3, 4]);
    record.extend_from_slice(&[20, 3, 3, 0, 1, 1]);
    record
}

#[test]
fn the_hello_of_a_server_that_asked_for_another_one_is_read() {
    let mut session = Session::new(Carrier::Tls);
    session.stream(0, &hello_record(), Stamp::default());
    session.stream(1, &server_hello_of_1_3(hello::RETRY), Stamp::default());
    assert!(session.was_retried && session.server.is_none());
    session.stream(0, &[20, 3, 3, 0, 1, 1], Stamp::default());
    session.stream(0, &hello_record(), Stamp::default());
    session.stream(1, &server_hello_of_1_3([9; 32]), Stamp::default());
    assert_eq!(session.version(), Some(0x0304));
}

/// A server's hello of TLS 1.2, in one record.
fn server_hello_of_1_2() -> Vec<u8> {
    let mut record = vec![22, 3, 3, 0, 42, 2, 0, 0, 38, 3, 3];
    record.extend_from_slice(&[9; 32]);
    record.extend_from_slice(&[0, 0xc0, 0x2f, 0]);
    record
}

/// The fields of one side are unknown where it was not captured, or not completely.
#[test]
fn what_was_not_seen_of_a_handshake_is_not_known() {
    const CHANGE: &[u8] = &[20, 3, 3, 0, 1, 1];
    const CERTIFICATE: &[u8] = &[22, 3, 3, 0, 11, 11, 0, 0, 7, 0, 0, 4, 0, 0, 1, 5];
    /// Octets of a side, or a gap.
    type Seen<'s> = (usize, Option<&'s [u8]>);
    let known_of = |seen: &[Seen<'_>]| {
        let mut session = Session::new(Carrier::Tls);
        for (side, bytes) in seen {
            match bytes {
                Some(bytes) => {
                    session.stream(*side, bytes, Stamp::default());
                }
                None => session.gap(*side),
            }
        }
        (session.resumed(), session.established(), session.retried())
    };
    let (yes, no) = (Some(true), Some(false));
    let (client, server) = (hello_record(), server_hello_of_1_2());
    let client: Seen<'_> = (0, Some(&client));
    let server: Seen<'_> = (1, Some(&server));
    let [from_client, from_server] = [0, 1].map(|side| (side, Some(CHANGE)));
    let certificate = (1, Some(CERTIFICATE));
    // All of it, with a certificate and without one.
    let full = [client, server, certificate, from_client, from_server];
    assert_eq!(known_of(&full), (no, yes, no));
    let resumed = [client, server, from_server, from_client];
    assert_eq!(known_of(&resumed), (yes, yes, no));
    // The certificate may be in what is missing.
    let lacking = [client, server, (1, None), from_client];
    assert_eq!(known_of(&lacking), (None, None, None));
    // One side alone, as far as its hello and further.
    assert_eq!(known_of(&[client]), (None, no, None));
    assert_eq!(known_of(&[client, from_client]), (None, None, None));
    assert_eq!(known_of(&[server, certificate]), (no, no, no));
    assert_eq!(
        known_of(&[server, certificate, from_server]),
        (no, None, no)
    );
    assert_eq!(Session::new(Carrier::Quic).established(), None);
    // The server's hello is missing, and both go on encrypted.
    let sealed = [CHANGE, &[22, 3, 3, 0, 4, 1, 2, 3, 4]].concat();
    let [from_client, from_server] = [0, 1].map(|side| (side, Some(&sealed[..])));
    let goes_on = [client, (1, None), from_client, from_server];
    assert_eq!(known_of(&goes_on), (None, yes, None));
    assert_eq!(known_of(&goes_on[..3]), (None, None, None));
    // A change of cipher spec is missing, and records behind it show that.
    const DATA: &[u8] = &[23, 3, 3, 0, 2, 7, 7];
    let [of_client, of_server] = [0, 1].map(|side| (side, Some(DATA)));
    let without_change = [client, server, certificate, of_client, from_server];
    assert_eq!(known_of(&without_change), (no, yes, no));
    // Few clients send data before the change of cipher spec of their server, of which nothing was captured.
    let finished = [client, server, certificate, from_client];
    assert_eq!(known_of(&finished), (no, no, no));
    let in_use = [client, server, certificate, from_client, of_client];
    assert_eq!(known_of(&in_use), (no, None, no));
    assert_eq!(
        known_of(&[client, of_client, of_server]),
        (None, None, None)
    );
}

/// The first octets of a server, which were not captured, were no answer in TLS; and where they were the request for another hello,
/// none was asked for.
#[test]
fn what_was_not_captured_in_front_of_a_hello_is_not_known() {
    let mut session = Session::new(Carrier::Tls);
    session.lacks_before([false, true]);
    session.stream(0, &hello_record(), Stamp::default());
    let rest = session.stream(1, &[0xd8, 1, 2, 3, 4, 5], Stamp::default());
    assert_eq!(rest, SessionState::More);
    assert_eq!(session.fault(), Some("bytes were not captured"));
    assert_eq!(session.established(), None);
    session.stream(1, &server_hello_of_1_3([9; 32]), Stamp::default());
    assert_eq!((session.version(), session.retried()), (Some(0x0304), None));

    let retried_of = |gaps: [bool; 2]| {
        let mut session = Session::new(Carrier::Tls);
        session.lacks_before(gaps);
        session.stream(0, &hello_record(), Stamp::default());
        session.stream(1, &server_hello_of_1_3([9; 32]), Stamp::default());
        session.retried()
    };
    assert_eq!(retried_of([false; 2]), Some(false));
    assert_eq!(retried_of([true, false]), Some(false));
    assert_eq!(retried_of([false, true]), None);

    // An answer in text is one of another protocol.
    for (answer, state) in [
        (&b"HTTP/1.1 400"[..], SessionState::NotTls),
        (&[0xd8; 9], SessionState::More),
    ] {
        let mut session = Session::new(Carrier::Tls);
        session.stream(0, &hello_record(), Stamp::default());
        session.begins_within(1);
        assert_eq!(session.stream(1, answer, Stamp::default()), state);
    }
}

/// A handshake whose server's hello was lost was open until its connection ended.
#[test]
fn a_handshake_without_the_hello_of_its_server_is_over_when_both_go_on_encrypted() {
    let mut session = Session::new(Carrier::Tls);
    session.stream(0, &hello_record(), Stamp::default());
    session.gap(1);
    for side in [0, 1] {
        session.stream(side, &[20, 3, 3, 0, 1, 1], Stamp::default());
    }
    let mut states = Vec::new();
    for side in [0, 1, 0, 1, 0, 1] {
        states.push(session.stream(side, &[23, 3, 3, 0, 2, 7, 7], Stamp::default()));
    }
    let mut expected = [SessionState::More; 6];
    expected[5] = SessionState::Done;
    assert_eq!(states, expected);
}

#[test]
fn a_hello_in_the_form_of_ssl_2_is_read() {
    let mut hello = b"\x80\x22\x01\x03\x01\0\x09\0\0\0\x10\0\0\x39\x07\0\xc0\0\0\x2f".to_vec();
    hello.extend_from_slice(&[7; 16]);
    assert!(begins_with_hello(&hello));
    for length in 0..hello.len() {
        assert!(!begins_with_hello(&hello[..length]), "{length}");
        assert!(may_begin_with_hello(&hello[..length]), "{length}");
    }
    assert!(!may_begin_with_hello(b"\x80\x22\x01\x02"));
    // The first record of a hello in segments of any size.
    for size in 1..hello.len() {
        let mut session = Session::new(Carrier::Tls);
        for piece in hello.chunks(size) {
            let state = session.stream(0, piece, Stamp::default());
            assert_eq!(state, SessionState::More, "{size}");
        }
        assert!(session.client.is_some(), "{size}");
    }
    let mut session = Session::new(Carrier::Tls);
    assert_eq!(
        session.stream(0, &hello, Stamp::default()),
        SessionState::More
    );
    let client = session.client.as_ref().unwrap();
    assert!(client.is_ssl2_form);
    assert_eq!(client.version, 0x0301);
    assert_eq!(client.suites, [0x39, 0x2f]);
    assert_eq!(client.random[..16], [0; 16]);
    assert_eq!(client.random[16..], [7; 16]);
    // The following octets are records.
    let record = server_hello_of_1_3([9; 32]);
    assert_eq!(
        session.stream(1, &record, Stamp::default()),
        SessionState::More
    );
    assert!(session.server.is_some());
}

/// RFC 5246, 6.2.1: two alerts in one record, or an alert in two, were left out.
#[test]
fn alerts_are_read_however_they_lie_in_records() {
    let alerts_of = |records: &[u8]| {
        let mut session = Session::new(Carrier::Tls);
        session.stream(0, &hello_record(), Stamp::default());
        session.stream(1, records, Stamp::default());
        let alerts = session.alerts.iter();
        let alerts: Vec<(u8, u8)> = alerts
            .map(|alert| (alert.level, alert.description))
            .collect();
        alerts
    };
    for records in [
        &[21, 3, 3, 0, 2, 1, 112, 21, 3, 3, 0, 2, 2, 40][..],
        &[21, 3, 3, 0, 4, 1, 112, 2, 40],
        &[21, 3, 3, 0, 1, 1, 21, 3, 3, 0, 3, 112, 2, 40],
    ] {
        assert_eq!(alerts_of(records), [(1, 112), (2, 40)], "{records:?}");
    }
    let sealed = [21, 3, 3, 0, 6, 9, 1, 2, 3, 4, 5];
    assert!(alerts_of(&sealed).is_empty());
}

#[test]
fn what_is_no_record_is_no_tls() {
    let mut session = Session::new(Carrier::Tls);
    assert_eq!(
        session.stream(0, b"GET / HTTP/1.1\r\n", Stamp::default()),
        SessionState::NotTls
    );
}

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let pairs = digits.chunks_exact(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// RFC 9001, A.3: the server's first packet, whose keys come of the client's `8394c8f03e515708`.
#[test]
fn the_first_packet_of_a_server_is_that_of_rfc_9001() {
    let packet = octets(
        "cf000000010008f067a5502a4262b5004075c0d95a482cd0991cd25b0aac406a
         5816b6394100f37a1c69797554780bb38cc5a99f5ede4cf73c3ec2493a1839b3
         dbcba3f6ea46c5b7684df3548e7ddeb9c3bf9c73cc3f3bded74b562bfb19fb84
         022f8ef4cdd93795d77d06edbb7aaf2f58891850abbdca3d20398c276456cbc4
         2158407dd074ee",
    );
    assert!(is_quic_initial(&packet));
    let hello = quic::tests_only_open(&packet, &octets("8394c8f03e515708")).unwrap();
    assert_eq!(hello.suite, 0x1301);
    assert_eq!(hello.chosen_version, Some(0x0304));
    for length in 0..packet.len() {
        assert!(!is_quic_initial(&packet[..length]), "{length}");
    }
    // Facebook's versions, and the drafts that they are made after.
    for version in [
        0xface_b001_u32,
        0xface_b002,
        0xface_b00e,
        0xff00_0015,
        0xff00_0016,
    ] {
        let mut other = packet.clone();
        other[1..5].copy_from_slice(&version.to_be_bytes());
        assert!(is_quic_initial(&other), "{version:x}");
    }
    // A server may send it without the fixed bit; a connection begins with none of that kind.
    let greased = quic::tests_only_greased(&packet, &octets("8394c8f03e515708"));
    assert_eq!(greased[0] & 0x40, 0);
    assert!(!is_quic_initial(&greased));
    let again = quic::tests_only_open(&greased, &octets("8394c8f03e515708"));
    assert_eq!(again, Some(hello));
}

/// RFC 9000, 7.5 and 19.6: pieces come in any order, and may overlap.
#[test]
fn pieces_of_the_handshake_are_put_in_order() {
    let body: Vec<u8> = (0..200).collect();
    let message = [&[1, 0, 0, 200], &body[..]].concat();
    let part = |from: usize, to: usize| (from, &message[from..to]);
    let expected = [(1, body.clone())];
    for pieces in [
        vec![part(0, 204)],
        vec![part(100, 204), part(0, 100)],
        vec![part(150, 204), part(50, 160), part(0, 60)],
        // The longer one of two pieces at one offset counts, whichever came first.
        vec![part(50, 204), part(50, 60), part(0, 50)],
        vec![part(50, 60), part(50, 204), part(0, 50)],
        vec![part(10, 20), part(5, 204), part(0, 7), part(0, 204)],
    ] {
        assert_eq!(quic::tests_only_messages(&pieces), expected);
    }
}

#[test]
fn identifiers_tell_whose_a_datagram_is() {
    let header = |destination: &[u8], source: &[u8]| {
        let mut bytes = vec![0xe0, 0, 0, 0, 1, destination.len() as u8];
        bytes.extend_from_slice(destination);
        bytes.push(source.len() as u8);
        bytes.extend_from_slice(source);
        bytes
    };
    let mut ids = QuicIds {
        version: 1,
        destination: b"first".to_vec(),
        source: b"client".to_vec(),
        client_side: 0,
        ..QuicIds::default()
    };
    assert!(ids.are_of(0, &header(b"first", b"client")));
    // The Retry was not captured.
    assert!(ids.are_of(0, &header(b"again", b"client")));
    assert!(!ids.are_of(0, &header(b"other", b"another")));
    assert!(ids.are_of(1, &header(b"client", b"server")));
    assert!(!ids.are_of(1, &header(b"another", b"server")));
    ids.server = Some(b"server".to_vec());
    assert!(ids.are_of(0, &header(b"server", b"client")));
    assert!(!ids.are_of(0, &header(b"second", b"client")));
    // One without octets is that of every such client.
    ids.source = Vec::new();
    assert!(!ids.are_of(1, &header(b"", b"another")));
    assert!(ids.are_of(1, &header(b"", b"server")));
    assert!(!ids.are_of(0, b"\x40short header"));
    // Both ends chose empty ones.
    ids.source.clear();
    ids.server = Some(Vec::new());
    assert!(ids.are_of(0, &header(b"", b"")));
    assert!(!ids.are_of(0, &header(b"", b"client")));
    assert!(ids.are_of(1, &header(b"", b"")));
    assert!(!ids.are_of(1, &header(b"", b"server")));
    assert!(!ids.are_of(0, &header(b"second", b"")));
}

#[test]
fn a_hello_of_dtls_says_what_is_random_of_it() {
    let mut hello = vec![22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 60];
    hello.extend([1, 0, 0, 48, 0, 0, 0, 0, 0, 0, 0, 48, 0xfe, 0xfd]);
    hello.extend([7; 46]);
    assert_eq!(random_of_datagram_hello(&hello), Some([7; 32]));
    assert_eq!(random_of_datagram_hello(&hello[..58]), None);
    let mut other = hello.clone();
    other[13] = 2;
    assert_eq!(random_of_datagram_hello(&other), None, "a server's");
    hello[21] = 1;
    assert_eq!(random_of_datagram_hello(&hello), None, "a later fragment");
}

#[test]
fn a_first_packet_that_is_written_is_read() {
    let message = &hello_record()[5..];
    let mut frames = vec![6, 0, 0x40, message.len() as u8];
    frames.extend_from_slice(message);
    for (first, version) in [(0xc0, 1), (0xd0, 0x6b33_43cf), (0x80, 1)] {
        let ids = [&b"server"[..], b"client"];
        let packet = write_quic_initial(first, version, ids, b"token", &frames).unwrap();
        assert!(packet.len() >= 1_200 && is_quic_initial(&packet));
        let mut session = Session::new(Carrier::Quic);
        session.datagram(1, &packet, Stamp::default());
        let hello = session.client.as_ref().unwrap();
        assert_eq!(hello.server_name.as_deref(), Some("weir.test"));
        assert_eq!(session.quic().unwrap().destination, b"server");
        for length in 0..packet.len() {
            assert!(!is_quic_initial(&packet[..length]), "{length}");
        }
    }
    // Without a token a client sets the fixed bit.
    let packet = write_quic_initial(0x80, 1, [b"server", b""], b"", &frames).unwrap();
    assert!(!is_quic_initial(&packet));
    assert_eq!(
        write_quic_initial(0xc0, 7, [b"server", b""], b"", &frames),
        None
    );
    assert_eq!(
        write_quic_initial(0xc0, 1, [b"s", b""], b"", &[0; 20_000]),
        None
    );
}

/// Octets of a handshake in a CRYPTO frame, behind so many others.
fn crypto(offset: u8, octets: &[u8]) -> Vec<u8> {
    [&[6, offset, 0x40, octets.len() as u8][..], octets].concat()
}

/// Nothing was read of a hello of which a packet of QUIC, or a fragment of DTLS, was not captured.
#[test]
fn what_is_there_of_a_hello_in_several_datagrams_is_read() {
    let frames = crypto(0, &hello_record()[5..72]);
    let first = write_quic_initial(0xc0, 1, [b"firstone", b"client"], b"", &frames).unwrap();
    for (carrier, sent) in [
        (Carrier::Quic, first),
        (Carrier::Dtls, datagram([0xfe, 0xfd], 0, 64)),
    ] {
        let mut session = Session::new(carrier);
        for frame in [3, 4] {
            let time_ns = None;
            session.datagram(0, &sent, Stamp { time_ns, frame });
        }
        assert!(session.client.is_none());
        session.end();
        assert_eq!(session.client_stamp.frame, 3);
        let hello = session.client.as_ref().unwrap();
        assert_eq!(hello.server_name.as_deref(), Some("weir.test"));
        assert!(hello.is_cut && hello.suites == [0x1301, 0xc02f]);
        assert_eq!(session.client_side(), Some(0));
        assert_eq!(session.fault(), Some("bytes were not captured"));
    }
}

/// What packets of QUIC say of those that were not captured, of the version, and of the end.
#[test]
fn packets_of_quic_say_what_was_not_captured() {
    const TO_SERVER: [&[u8]; 2] = [b"server", b"client"];
    const TO_CLIENT: [&[u8]; 2] = [b"client", b"server"];
    let of_client = |ids: [&[u8]; 2], frames: &[u8]| {
        quic::tests_only_initial(1, b"first", "client in", ids, frames)
    };
    let of_server = |version: u32, frames: &[u8]| {
        quic::tests_only_initial(version, b"first", "server in", TO_CLIENT, frames)
    };
    let hello = &server_hello_of_1_3([9; 32])[5..55];
    let called = [&b"first"[..], b"client"];
    let first = of_client(called, &crypto(0, &hello_record()[5..]));
    let session_of = |others: &[(usize, Vec<u8>)]| {
        let mut session = Session::new(Carrier::Quic);
        session.datagram(0, &first, Stamp::default());
        assert!(session.client.is_some());
        for (side, packet) in others {
            session.datagram(*side, packet, Stamp::default());
        }
        session
    };
    let missing = Some("bytes were not captured");
    assert_eq!(session_of(&[]).fault(), None);
    // The client acknowledges a packet of a server that calls itself otherwise.
    let acknowledges = of_client(TO_SERVER, &[2, 0, 0, 0, 0]);
    assert_eq!(session_of(&[(0, acknowledges.clone())]).fault(), missing);
    let whole = [(1, of_server(1, &crypto(0, hello))), (0, acknowledges)];
    assert_eq!(session_of(&whole).fault(), None);
    let rest = (1, of_server(1, &crypto(20, &hello[20..])));
    let session = session_of(&[rest]);
    assert!(session.server.is_none());
    assert_eq!(session.fault(), missing);
    // RFC 9368: a server answers in another version.
    let session = session_of(&[(1, of_server(0x6b33_43cf, &crypto(0, hello)))]);
    assert!(session.server.is_some());
    assert_eq!(session.quic().map(|ids| ids.version), Some(0x6b33_43cf));
    // RFC 9001, 4.8: no_application_protocol, which is sent twice.
    let closes = (1, of_server(1, &[2, 0, 0, 0, 0, 0x1c, 0x41, 0x78, 6, 0]));
    let session = session_of(&[closes.clone(), closes]);
    let alert = session.alerts.first().unwrap();
    assert_eq!(
        (alert.from_client, alert.level, alert.description),
        (false, 2, 120)
    );
    assert_eq!(session.alerts.len(), 1);
}

#[test]
fn datagrams_of_dtls_and_quic_are_known_by_their_headers() {
    let record = |kind: u8, body: &[u8]| {
        let header = [
            kind,
            0xfe,
            0xfd,
            0,
            1,
            0,
            0,
            0,
            0,
            0,
            7,
            0,
            body.len() as u8,
        ];
        [&header[..], body].concat()
    };
    let two = [record(22, b"hello"), record(20, &[1])].concat();
    assert!(is_of_datagram_records(&two, 0));
    for length in 1..two.len() {
        let is_whole = length == 18;
        assert_eq!(
            is_of_datagram_records(&two[..length], 0),
            is_whole,
            "{length}"
        );
        let begins = length >= 3;
        assert_eq!(
            is_of_datagram_records(&two[..length], 9),
            begins,
            "{length}"
        );
    }
    assert!(!is_of_datagram_records(&[&two[..], b"more"].concat(), 0));
    assert!(!is_of_datagram_records(b"", 0));
    // A record with a connection ID is as long as only the handshake says.
    assert!(is_of_datagram_records(&record(25, b"an ID and more"), 0));

    let long = |version: u32| {
        let mut packet = vec![0xc3];
        packet.extend(version.to_be_bytes());
        packet.extend([2, 7, 7, 0, 9]);
        packet
    };
    for version in [
        1,
        0x6b33_43cf,
        0xff00_001d,
        0xface_b00e,
        0x5130_3530,
        0x1a2a_3a4a,
    ] {
        assert!(has_quic_long_header(&long(version)), "{version:x}");
    }
    for version in [0, 2, 0xff00_0003, 0x5130_3436] {
        assert!(!has_quic_long_header(&long(version)), "{version:x}");
    }
    assert!(!has_quic_long_header(&[0x43, 0, 0, 0, 1, 2, 7, 7, 0, 9]));
    assert!(!has_quic_long_header(&long(1)[..6]));
}
