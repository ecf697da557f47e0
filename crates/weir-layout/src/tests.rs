//! Layouts as users write them, from text to values.

mod examples;
mod faults;
mod framing;
mod random;
mod values;

use std::fmt::Write;

use super::{Framing, Layout, Start, View};
use weir_packet::Value;

/// Compiles a layout that must be right; `base` is what it may extend.
fn layout_over(text: &str, base: &str) -> Layout {
    let mut load = |path: &str| match path {
        "base.toml" => Ok(base.to_owned()),
        _ => Err(format!("{path} is not there")),
    };
    match Layout::parse(text, &mut load) {
        Ok(layout) => layout,
        Err(error) => panic!("{error}\nhint: {:?}\n{text}", error.hint()),
    }
}

fn layout(text: &str) -> Layout {
    layout_over(text, "")
}

/// Bytes from hexadecimal digits; blanks and line ends between them are free.
fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    super::read::literal(&format!("0x{digits}")).unwrap().into()
}

/// Everything that a record says, as one line: `a=1 b=- ; time 5 ; wire 9 ; 107:0102 ; ! why`.
fn show(layout: &Layout, view: &View<'_>) -> String {
    let mut out = String::new();
    for (index, column) in layout.columns().iter().enumerate() {
        let value = view.value(index);
        if let Some(value) = &value {
            assert_eq!(kind_of(value), plain(column.kind), "{}", column.name);
        }
        let blank = if index == 0 { "" } else { " " };
        let value = value.map_or("-".to_owned(), |value| text_of(&value));
        write!(out, "{blank}{}={value}", column.name).unwrap();
    }
    if let Some(time) = view.time_ns() {
        write!(out, " ; time {time}").unwrap();
    }
    if let Some(len) = view.wire_len() {
        write!(out, " ; wire {len}").unwrap();
    }
    if let Some((start, bytes)) = view.payload() {
        let start = match start {
            Start::Link(link) => link.0.to_string(),
            Start::Layer(layer) => layer.name().to_owned(),
        };
        write!(out, " ; {start}:{}", digits(bytes)).unwrap();
    }
    if let Some(stop) = view.stop() {
        write!(out, " ; ! {stop}").unwrap();
    }
    out
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text_of(value: &Value<'_>) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Unsigned(value) => value.to_string(),
        Value::Signed(value) | Value::Time(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Address(value) => value.to_string(),
        Value::Bytes(value) => format!("0x{}", digits(value)),
        Value::Text(value) => format!("{value:?}"),
        Value::Texts(_) | Value::Numbers(_) => unreachable!("layouts have no lists"),
    }
}

fn kind_of(value: &Value<'_>) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::Unsigned(_) => "unsigned",
        Value::Signed(_) => "signed",
        Value::Float(_) => "float",
        Value::Time(_) => "time",
        Value::Address(_) => "address",
        Value::Bytes(_) => "bytes",
        Value::Text(_) => "text",
        Value::Texts(_) | Value::Numbers(_) => unreachable!("layouts have no lists"),
    }
}

fn plain(kind: weir_packet::Kind) -> &'static str {
    use weir_packet::Kind;
    match kind {
        Kind::Bool => "bool",
        Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 => "unsigned",
        Kind::I64 => "signed",
        Kind::F64 => "float",
        Kind::Time => "time",
        Kind::Address => "address",
        Kind::Bytes => "bytes",
        Kind::Text => "text",
        Kind::Texts | Kind::Numbers => unreachable!("layouts have no lists"),
    }
}

/// Cuts records out of `bytes` until they end, and shows each; the last line says what is left.
fn read_all(layout: &Layout, bytes: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut row = layout.row();
    let mut rest = bytes;
    loop {
        match layout.next_record(rest) {
            Framing::Record { len } => {
                assert!(len > 0 && len <= rest.len(), "a record of {len} bytes");
                let (record, after) = rest.split_at(len);
                lines.push(show(layout, &layout.decode(record, &mut row)));
                rest = after;
            }
            Framing::More { .. } if rest.is_empty() => return lines,
            Framing::More { at_least } => {
                assert!(at_least > rest.len());
                lines.push(format!("more: {at_least}"));
                return lines;
            }
            Framing::Damaged(stop) => {
                lines.push(format!("damaged: {stop}"));
                return lines;
            }
        }
    }
}

#[track_caller]
fn check(text: &str, bytes: &str, expected: &[&str]) {
    let layout = layout(text);
    assert_eq!(read_all(&layout, &hex(bytes)), expected, "{text}");
}
