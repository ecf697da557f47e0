//! Tests of the ends of records, and of bytes that are not records.

use super::{check, hex, layout, read_all};
use crate::{Framing, Layout, StopReason};

#[test]
fn records_are_fixed_counted_delimited_or_end_with_their_fields() {
    check(
        "record.length = 3\nfield = [{ name = \"a\", type = \"u8\" }]",
        "01aaaa 02bbbb 03cc",
        &["a=1", "a=2", "more: 3"],
    );
    check(
        "field = [{ name = \"a\", type = \"u16\" }]",
        "0001 0002 00",
        &["a=1", "a=2", "more: 2"],
    );
    check(
        r#"
        record.delimiter = "\r\n"
        field = [{ name = "a", type = "decimal", until = "," }, { name = "b", type = "ascii", size = "rest" }]
        "#,
        // "12,ab\r\n", "7,\r\n", "x\r\n", "5,last"
        "31322c61620d0a 372c0d0a 780d0a 352c6c617374",
        &[
            "a=12 b=\"ab\"",
            "a=7 b=\"\"",
            "a=- b=- ; ! a at byte 0: its terminating bytes are missing",
            "more: 7",
        ],
    );
    check(
        r#"
        field = [
            { name = "len", type = "u8" },
            { name = "name", type = "ascii", until = "\u0000" },
            { name = "body", size = "len" },
        ]
        payload = { protocol = "raw_ip", length = 2 }
        "#,
        "01 6100 aa 4500  00 00 4600  00 61",
        &[
            "len=1 name=\"a\" body=0xaa ; 101:4500",
            "len=0 name=\"\" body=0x ; 101:4600",
            "more: 3",
        ],
    );
}

#[test]
fn a_length_must_be_possible() {
    let text = r#"
        record = { length = "length + 2", length_max = 100 }
        field = [{ name = "type", type = "u8" }, { name = "length", type = "i16" }]
    "#;
    for (bytes, expected) in [
        ("01 0001", vec!["type=1 length=1"]),
        (
            "01 0000",
            vec!["damaged: at byte 0: a record of 2 bytes, allowed are 3 to 100"],
        ),
        (
            "01 8000",
            vec!["damaged: at byte 0: a record of -32766 bytes, allowed are 3 to 100"],
        ),
        (
            "01 0063",
            vec!["damaged: at byte 0: a record of 101 bytes, allowed are 3 to 100"],
        ),
        ("01 0062", vec!["more: 100"]),
        ("01 00", vec!["more: 3"]),
    ] {
        assert_eq!(read_all(&layout(text), &hex(bytes)), expected, "{bytes}");
    }
    check(
        r#"
        record.length = "8 / divisor"
        field = [{ name = "divisor", type = "u8" }]
        "#,
        "00",
        &["damaged: at byte 0: its expression has no value for this record"],
    );
}

#[test]
fn a_delimiter_must_come_within_the_limit() {
    let layout = layout(
        "record = { delimiter = \"0x0a\", length_max = 4 }\nfield = [{ name = \"a\", size = \"rest\" }]",
    );
    assert_eq!(layout.next_record(b"abcd\n"), Framing::Record { len: 5 });
    assert_eq!(layout.next_record(b"abcd"), Framing::More { at_least: 5 });
    let Framing::Damaged(stop) = layout.next_record(b"abcde") else {
        panic!("no end within five bytes");
    };
    assert_eq!(stop.reason, StopReason::Unterminated);
    assert_eq!(layout.resync(b"abcdefg\nnext"), Some(8));
    assert_eq!(layout.resync(b"abcdefg"), None);
}

#[test]
fn a_terminated_field_must_end_within_the_limit() {
    let layout = layout(
        "record.length_max = 4\nfield = [{ name = \"a\", type = \"ascii\", until = \"|\" }]",
    );
    assert_eq!(layout.next_record(b"abc|"), Framing::Record { len: 4 });
    assert_eq!(layout.next_record(b"abc"), Framing::More { at_least: 4 });
    assert!(matches!(layout.next_record(b"abcd"), Framing::Damaged(_)));
}

#[test]
fn after_damage_the_next_sync_value_is_found() {
    let layout = layout(
        r#"
        record.length = "len"
        field = [
            { name = "spare", type = "u8" },
            { name = "sync", type = "u16", equals = 0xa55a },
            { name = "len", type = "u8" },
        ]
        "#,
    );
    let bytes = hex("00a5ff04 ffffff 00a55a04");
    assert!(
        matches!(layout.next_record(&bytes), Framing::Damaged(stop) if stop.field == "sync" && stop.offset == 1)
    );
    assert_eq!(layout.resync(&bytes), Some(7));
    assert_eq!(layout.resync(&bytes[..9]), None);
}

#[test]
fn the_files_header_is_checked() {
    let layout = layout(
        "file = { magic = \"T1\", magic_at = 2, header_len = 6 }\nfield = [{ name = \"a\", type = \"u8\" }]",
    );
    assert_eq!(layout.file_header_len(), 6);
    assert_eq!(layout.check_file_header(b"..T1.."), Ok(()));
    for (header, expected) in [
        (
            &b"..T2.."[..],
            "at byte 2: not a file of this layout: its magic value differs",
        ),
        (b"..T", "at byte 3: cut, 6 bytes needed, 3 available"),
        (b"..T1.", "at byte 5: cut, 6 bytes needed, 5 available"),
    ] {
        assert_eq!(
            layout.check_file_header(header).unwrap_err().to_string(),
            expected
        );
    }
    let alone = super::layout("file.magic = \"0xa1b2\"\nfield = [{ name = \"a\", type = \"u8\" }]");
    assert_eq!(alone.file_header_len(), 2);
}

#[test]
fn a_row_for_some_columns_looks_no_further() {
    let layout = layout(
        r#"
        record = { length = "len", time = "when_seen" }
        field = [
            { name = "len", type = "u8" },
            { name = "a", size = "len - 3" },
            { name = "when_seen", type = "time_s", size = 1 },
            { name = "b", size = "len - 300" },
        ]
        payload = { protocol = "ip", at = 1 }
        "#,
    );
    let record = hex("04 aa 05 00");
    let mut some = layout.row_for(&[1], false);
    let view = layout.decode(&record, &mut some);
    assert_eq!((view.stop(), view.time_ns()), (None, Some(5_000_000_000)));
    assert_eq!((view.value(3), view.payload()), (None, None));
    let mut all = layout.row();
    let view = layout.decode(&record, &mut all);
    assert_eq!(
        view.stop().map(|stop| (stop.field, stop.reason)),
        Some(("b", StopReason::OutOfRange { value: -296 }))
    );
    assert_eq!(view.time_ns(), Some(5_000_000_000));
}

#[test]
fn what_a_layout_says_of_itself() {
    let fixed = layout(
        "name = \"n\"\ndoc = \"d\"\nrecord.length = 64\nfield = [{ name = \"a\", type = \"u8\", doc = \"A.\", unit = \"ms\" }]",
    );
    assert_eq!((fixed.name(), fixed.doc()), ("n", "d"));
    assert_eq!(fixed.record_len_fixed(), Some(64));
    assert_eq!(fixed.record_len_max(), Layout::RECORD_LEN_DEFAULT_MAX);
    assert!(!fixed.is_delimited() && !fixed.has_time() && fixed.payload_starts().next().is_none());
    let column = &fixed.columns()[0];
    assert_eq!(
        (column.doc.as_str(), column.unit.as_deref()),
        ("A.", Some("ms"))
    );
}
