//! The records of the RFCs, to the byte.

use weir_clf::{Encoder, Field, Form, Item, Optional, Optionals, Reader, rfc6873};

use crate::common::{Owned, read, shared, written};

/// The example of RFC 6873, section 5, decoded from its base64.
const SECTION_5: &[u8] = b"A000100,0053005C005E006D007D008F009E00A000BA00C700EB00F70100\n\
    1328821153.010\tRORUU\t1 INVITE\t-\tsip:192.0.2.10\t192.0.2.10:5060\t192.0.2.200:56485\t\
    sip:192.0.2.10\t-\tsip:1001@example.com:5060\tDL88360fa5fc\tDL70dff590c1-1079051554@example.com\t\
    S1781761-88\tC67651-11\n";

#[test]
fn the_record_of_rfc_6873_is_written_to_the_byte() {
    let (records, damage) = read(SECTION_5);
    assert!(damage.is_empty());
    assert_eq!(records[0].record().method(), Some(&b"INVITE"[..]));
    assert_eq!(written(&records, Form::Rfc6873), SECTION_5);
}

#[test]
fn the_vectors_are_written_to_the_byte() {
    for name in [
        "rfc6873-sec5-clf_record.bin",
        "rfc7355-5.1-ws.bin",
        "rfc7355-5.2-wss.bin",
    ] {
        let Some(log) = shared(name) else { return };
        let (records, damage) = read(&log);
        assert_eq!((records.len(), damage.len()), (1, 0), "{name}");
        // The records of RFC 7355 have an additional line feed.
        let record = log
            .strip_suffix(b"\n\n")
            .map_or(&log[..], |_| &log[..log.len() - 1]);
        assert_eq!(written(&records, Form::Rfc6873), record, "{name}");
        assert_eq!(rfc6873::check(&log), Ok(record.len()), "{name}");
    }
}

#[test]
fn the_examples_of_rfc_6872_become_the_derived_log() {
    let (Some(table), Some(log)) = (
        shared("rfc6872-sec9-vectors.tsv"),
        shared("rfc6872-sec9-as-6873.DERIVED.clf"),
    ) else {
        return;
    };
    let (records, damage) = read(&log);
    assert!(damage.is_empty());
    assert_eq!(written(&records, Form::Rfc6873), log);
    let table = String::from_utf8(table).unwrap();
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    let mut count = 0;
    for (row, record) in rows.zip(&records) {
        let cells: Vec<&str> = row.split('\t').collect();
        let [
            _,
            time,
            kind,
            direction,
            _,
            number,
            method,
            uri,
            dst,
            dst_port,
            src,
            src_port,
            to,
            to_tag,
            from,
            from_tag,
            call,
            status,
            server,
            client,
        ] = cells[..]
        else {
            panic!("{row}");
        };
        let address = |host: &str, port: &str| format!("{host}:{port}");
        let expected = [
            format!("{number} {method}"),
            status.into(),
            uri.into(),
            address(dst, dst_port),
            address(src, src_port),
            to.into(),
            to_tag.into(),
            from.into(),
            from_tag.into(),
            call.into(),
            server.into(),
            client.into(),
        ];
        for (field, expected) in Field::ALL.into_iter().zip(expected) {
            assert_eq!(record.record().field(field), expected.as_bytes(), "{row}");
        }
        let milliseconds = record.time.nanoseconds / 1_000_000;
        assert_eq!(time, format!("{}.{milliseconds:03}", record.time.seconds));
        assert_eq!(
            (kind == "r", Some(direction == "s")),
            (record.flags.response, record.flags.sent)
        );
        count += 1;
    }
    assert_eq!((count, records.len()), (20, 20));
}

#[test]
fn the_optional_fields_of_the_rfc_are_read_whatever_their_length_counts() {
    let Some(examples) = shared("rfc6873-sec4.4-optional-examples.txt") else {
        return;
    };
    let all: Vec<u8> = examples
        .iter()
        .copied()
        .filter(|&byte| byte != b'\n')
        .collect();
    let fields = Optionals::new(&all);
    assert_eq!(fields.damage(), None);
    let found: Vec<Optional<'_>> = fields.iter().collect();
    assert_eq!(found.len(), 6);
    let wrong: Vec<usize> = found
        .iter()
        .enumerate()
        .filter(|(_, field)| usize::from(field.length) != field.value.len())
        .map(|(place, _)| place)
        .collect();
    // The body counts a line break as one byte, and the last length is decimal.
    assert_eq!(wrong, [2, 5]);
    let mut body = Vec::new();
    let sdp = found[2].value.strip_prefix(b"application/sdp ").unwrap();
    found[2].decode(sdp, &mut body).unwrap();
    assert!(body.starts_with(b"v=0\r\no=alice 2890844526"));
    let mut signed = Vec::new();
    let (_, value) = std::str::from_utf8(found[3].value)
        .unwrap()
        .split_once(' ')
        .unwrap();
    found[3].decode(value.as_bytes(), &mut signed).unwrap();
    assert_eq!(&signed[..4], [0x30, 0x82, 0x01, 0x52]);
    assert_eq!((found[5].tag, found[5].vendor), (7, 32473));
    assert_eq!(
        fields.header("contact").unwrap().value,
        b"<sip:bob@192.0.2.4>"
    );
}

#[test]
fn line_feeds_between_records_are_no_damage() {
    let log = [SECTION_5, b"\n", SECTION_5, b"\r\n\n", SECTION_5].concat();
    let (records, damage) = read(&log);
    assert_eq!((records.len(), damage.len()), (3, 0));
}

#[test]
fn damage_is_located_and_what_follows_is_read() {
    let mut log = [SECTION_5, SECTION_5, SECTION_5].concat();
    log[SECTION_5.len() + 3] = b'x';
    let (records, damage) = read(&log);
    assert_eq!((records.len(), damage.len()), (2, 1));
    assert_eq!((damage[0].offset, damage[0].len), (256, 256));
    // The log is cut in the last record, and followed by zeros.
    for cut in 1..SECTION_5.len() {
        let mut log = [SECTION_5, &SECTION_5[..cut]].concat();
        let (records, damage) = read(&log);
        assert_eq!((records.len(), damage.len()), (1, 1), "cut at {cut}");
        log.extend_from_slice(&[0; 300]);
        let (records, damage) = read(&log);
        assert_eq!((records.len(), damage.len()), (1, 1), "cut at {cut}, zeros");
    }
}

#[test]
fn the_form_is_found_by_content() {
    let (records, _) = read(SECTION_5);
    for form in Form::ALL {
        let log = written(&records, form);
        let mut reader = Reader::new(&log[..]);
        let item = reader.next().unwrap();
        assert!(matches!(item, Some(Item::Record { .. })), "{form:?}");
        assert_eq!(reader.form(), Some(form));
    }
    let error = Reader::new(&b"Zjunk"[..]).next().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    assert!(Reader::new(&b"\n"[..]).next().unwrap().is_none());
    let mut encoder = Encoder::new(Form::Json);
    encoder.push(&Owned::record(&records[0]));
    assert!(encoder.losses().is_empty());
}
