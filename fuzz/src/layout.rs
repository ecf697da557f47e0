//! Record layouts: any text as a layout, any bytes as records of one.

use std::hint::black_box;
use std::sync::LazyLock;

use weir_layout::{Framing, Layout, View};
use weir_packet::{Kind, Value};

use crate::bits::Bits;

/// Any text as a layout. The text behind a line of dashes is the layout that it may extend; the bytes behind a second
/// one are read by it, if it is one.
pub fn parse(bytes: &[u8]) {
    let (text, rest) = halve(bytes);
    let (base, sample) = halve(rest);
    let (text, base) = (String::from_utf8_lossy(text), String::from_utf8_lossy(base));
    let mut loaded = 0;
    let mut load = |path: &str| {
        loaded += 1;
        if base.is_empty() {
            Err(format!("no {path}"))
        } else {
            Ok(base.to_string())
        }
    };
    match Layout::parse(&text, &mut load) {
        Ok(layout) => {
            assert!(loaded <= Layout::EXTENDS_MAX);
            let mut names: Vec<_> = layout.columns().iter().map(|column| &column.name).collect();
            names.sort();
            names.dedup();
            assert_eq!(
                names.len(),
                layout.columns().len(),
                "two columns of one name"
            );
            assert!(layout.record_len_max() <= Layout::RECORD_LEN_MAX);
            black_box(layout.payload_starts().count());
            read(&layout, sample);
            read(&layout, &bytes[..bytes.len().min(64)]);
        }
        Err(error) => {
            let text = if error.file().is_some() { &base } else { &text };
            let lines: Vec<_> = text.split('\n').collect();
            let line = lines
                .get((error.line() - 1) as usize)
                .expect("the line is in the text");
            assert!((1..=line.chars().count() + 1).contains(&(error.column() as usize)));
            let message = error.to_string();
            assert!(
                !message.ends_with('.') && !message.contains('\n'),
                "{message:?}"
            );
            black_box(error.hint());
        }
    }
}

/// Any bytes as records of one of some layouts, which the first byte chooses.
pub fn records(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let choice = usize::from(bits.u8());
    let (_, layout) = &LAYOUTS[choice % LAYOUTS.len()];
    read(layout, bits.0);
}

/// Reads all records of `file` and checks what each says.
fn read(layout: &Layout, file: &[u8]) {
    black_box(layout.check_file_header(file)).ok();
    let all: Vec<_> = (0..layout.columns().len()).collect();
    let mut row = layout.row();
    let mut narrow_row = layout.row_for(all.get(..1).unwrap_or_default(), false);
    let mut rest = file.get(layout.file_header_len()..).unwrap_or_default();
    while !rest.is_empty() {
        match layout.next_record(rest) {
            Framing::Record { len } => {
                assert!(0 < len && len <= rest.len());
                assert!(len <= layout.record_len_max() + Layout::MARK_LEN_MAX);
                let (record, behind) = rest.split_at(len);
                shorter(layout, record);
                let view = layout.decode(record, &mut row);
                check(layout, &view, record);
                let first = view.value(0).map(|value| format!("{value:?}"));
                let narrow = layout.decode(record, &mut narrow_row);
                assert_eq!(first, narrow.value(0).map(|value| format!("{value:?}")));
                assert_eq!(view.time_ns(), narrow.time_ns());
                assert_eq!(view.wire_len(), narrow.wire_len());
                rest = behind;
            }
            Framing::More { at_least } => {
                assert!(
                    at_least > rest.len(),
                    "more bytes are asked for than are there"
                );
                assert!(at_least <= layout.record_len_max() + Layout::MARK_LEN_MAX);
                // The rest at the end of a file is decoded as far as it goes.
                check(layout, &layout.decode(rest, &mut row), rest);
                return;
            }
            Framing::Damaged(stop) => {
                assert!(!stop.to_string().is_empty());
                check(layout, &layout.decode(rest, &mut row), rest);
                match layout.resync(rest) {
                    Some(passed) => {
                        assert!(0 < passed && passed <= rest.len());
                        rest = &rest[passed..];
                    }
                    None => return,
                }
            }
        }
    }
}

/// Checks that each prefix of a record makes the layout request more bytes, and never more than the record has.
fn shorter(layout: &Layout, record: &[u8]) {
    for cut in [record.len() / 2, record.len() - 1] {
        match layout.next_record(&record[..cut]) {
            Framing::More { at_least } => {
                assert!(
                    cut < at_least && at_least <= record.len(),
                    "{at_least} of {record:?}"
                );
            }
            other => panic!("{other:?} after {cut} bytes of {record:?}"),
        }
    }
    assert_eq!(
        layout.next_record(record),
        Framing::Record { len: record.len() }
    );
}

/// Every value is of its column's kind and lies in the record.
fn check(layout: &Layout, view: &View<'_>, record: &[u8]) {
    for (index, column) in layout.columns().iter().enumerate() {
        let Some(value) = view.value(index) else {
            continue;
        };
        let fits = match (column.kind, value) {
            (Kind::U8, Value::Unsigned(value)) => u8::try_from(value).is_ok(),
            (Kind::U16, Value::Unsigned(value)) => u16::try_from(value).is_ok(),
            (Kind::U32, Value::Unsigned(value)) => u32::try_from(value).is_ok(),
            (Kind::Bytes, Value::Bytes(bytes)) => bytes.len() <= record.len(),
            (Kind::Bool, Value::Bool(_))
            | (Kind::U64, Value::Unsigned(_))
            | (Kind::I64, Value::Signed(_))
            | (Kind::F64, Value::Float(_))
            | (Kind::Time, Value::Time(_))
            | (Kind::Address, Value::Address(_))
            | (Kind::Text, Value::Text(_)) => true,
            _ => false,
        };
        assert!(
            fits,
            "{} is {:?} and holds {value:?}",
            column.name, column.kind
        );
    }
    assert_eq!(view.value(layout.columns().len()), None);
    black_box((view.time_ns(), view.wire_len(), view.kind()));
    if let Some((_, payload)) = view.payload() {
        assert!(payload.len() <= record.len());
    }
    if let Some(stop) = view.stop() {
        assert!(!stop.to_string().is_empty());
    }
}

/// The parts before and after the first line of dashes.
fn halve(bytes: &[u8]) -> (&[u8], &[u8]) {
    match bytes
        .windows(SEPARATOR.len())
        .position(|window| window == SEPARATOR)
    {
        Some(at) => (&bytes[..at], &bytes[at + SEPARATOR.len()..]),
        None => (bytes, &[]),
    }
}

/// Stands between a layout, its base and its records in the inputs of [`parse`].
pub const SEPARATOR: &[u8] = b"\n----\n";

/// The layouts that [`records`] chooses from.
pub static LAYOUTS: LazyLock<Vec<(&'static str, Layout)>> = LazyLock::new(|| {
    let parse = |text: &&'static str| match Layout::parse(text, &mut |_| Ok(RECORDER.to_owned())) {
        Ok(layout) => (*text, layout),
        Err(error) => panic!("{error} in {text}"),
    };
    TEXTS.iter().map(parse).collect()
});

const RECORDER: &str = include_str!("../../crates/weir-samples/src/demo/recorder.toml");

/// One for each way of cutting records and of placing fields.
const TEXTS: &[&str] = &[
    RECORDER,
    r#"extends = "recorder.toml"
       field = [{ name = "channel", override = true, bits = 8, type = "int" }, { name = "crc", at = "record.length - 2", type = "u16" }]"#,
    // A fixed length, with bits in both orders and words that are joined from ranges.
    r#"record = { length = 24, time = "seen", wire_len = 53 }
       file = { header_len = 4, magic = "CELL" }
       field = [
           { name = "seen", type = "time_32_32", byte_order = "little" },
           { name = "gfc", bits = 4 }, { name = "vpi", bits = 8 }, { name = "vci", bits = 16 },
           { name = "pti", bits = 3, enum = { 1 = "last", 4 = "oam" } }, { name = "clp", bits = 1, type = "bool" },
           { name = "word", type = "u32", column = false },
           { name = "dlci", of = "word", bits = ["0-5", "8-11"] },
           { name = "line", of = "word", bit_order = "lsb", bits = "30-24" },
           { name = "odd", bits = 13, bit_order = "lsb", type = "int" }, { bits = 3, bit_order = "lsb" },
           { name = "level", type = "f32" }, { size = 2 },
       ]"#,
    // Lengths that fields say, places that others do, headers that are there on a condition.
    r#"record.length = "(total + 3) / 4 * 4"
       field = [
           { name = "version", bits = 4 }, { name = "words", bits = 4 }, { name = "total", type = "u16" },
           { name = "flags", type = "u8" },
           { name = "tag", type = "u16", when = "flags & 1 == 1" },
           { when = "flags & 2 == 2", field = [
               { name = "priority", bits = 3 }, { name = "vlan", bits = 13 },
               { name = "inner", type = "u16", when = "priority == 7" } ] },
           { name = "options", size = "words * 4 - 4" },
           { name = "host", type = "ipv6" },
           { name = "label", type = "utf8", size = "total % 7", trim = "both" },
           { name = "data", size = "rest" },
           { name = "product", value = "total * words - flags" },
       ]"#,
    // Text lines.
    r#"record.delimiter = "\r\n"
       field = [
           { name = "stamp", type = "decimal", until = " " }, { name = "mode", type = "decimal", radix = 8, until = "," },
           { name = "who", type = "ascii", until = "0x2c20" }, { name = "verdict", type = "utf8", size = "rest" },
       ]"#,
    // Records behind a mark, that end where their fields end.
    r#"record = { length_max = 512 }
       byte_order = "little"
       field = [
           { name = "sync", type = "u16", equals = 0x1acf },
           { name = "count", type = "u8" }, { name = "name", type = "ascii", size = "count" },
           { name = "path", until = "0x00" },
           { name = "offset", type = "i16" }, { name = "value", type = "i24", at = "offset" },
           { name = "check", type = "u8", equals = 0xee },
       ]"#,
    // Kinds with payloads, whose length the record does not say.
    r#"record = { wire_len = "line_length" }
       bit_order = "lsb"
       field = [
           { name = "type", bits = 3, enum = { 1 = "data", 2 = "ip", 3 = "status" } }, { name = "more", bits = 5 },
           { name = "length", type = "u8" }, { name = "line_length", type = "u16" },
       ]
       [[kind]]
       name = "data"
       when = "type == 'data'"
       payload = { protocol = "frame_relay", length = "length" }
       [[kind]]
       name = "ip"
       when = "type == 'ip' && length > 20"
       payload = [{ protocol = "ip", length = "length - 2", when = "more == 0" }, { protocol = 1, at = 4, length = "length" }]
       [[kind]]
       name = "other"
       field = [{ name = "mac", type = "mac" }, { name = "at", type = "time_s_us", epoch = 1900-01-01 }, { name = "eui", type = "eui64" }]"#,
];
