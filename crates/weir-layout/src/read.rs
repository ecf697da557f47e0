//! Reads the tables of a layout's text.

use super::draft::{
    DraftEntry, EnumDraft, EnumUse, EnumValues, FileDraft, KindDraft, PayloadDraft, TimeDraft,
};
use super::error::{Checked, FaultAt};
use super::source::{Located, Scalar, Section, Text};
use super::{Layout, parser, time};

// The keys of each table. The reference page describes every one of them.
pub(super) const LAYOUT_KEYS: &[&str] = &[
    "name",
    "doc",
    "extends",
    "byte_order",
    "bit_order",
    "file",
    "record",
    "field",
    "kind",
    "payload",
    "enum",
];
pub(super) const FILE_KEYS: &[&str] = &["header_len", "magic", "magic_at"];
pub(super) const RECORD_KEYS: &[&str] = &["length", "length_max", "delimiter", "time", "wire_len"];
pub(super) const TIME_KEYS: &[&str] = &[
    "seconds",
    "milliseconds",
    "microseconds",
    "nanoseconds",
    "epoch",
];
pub(super) const FIELD_KEYS: &[&str] = &[
    "name",
    "type",
    "doc",
    "unit",
    "byte_order",
    "bit_order",
    "at",
    "bit",
    "bits",
    "of",
    "size",
    "until",
    "enum",
    "enum_as",
    "equals",
    "when",
    "column",
    "override",
    "epoch",
    "trim",
    "radix",
    "value",
    "field",
];
pub(super) const KIND_KEYS: &[&str] = &["name", "doc", "when", "field", "payload"];
pub(super) const PAYLOAD_KEYS: &[&str] = &["protocol", "when", "at", "length"];

/// The defaults of a text for all of its fields.
#[derive(Clone, Copy)]
pub(super) struct Defaults {
    pub(super) little: bool,
    pub(super) least_first: bool,
}

pub(super) fn byte_order(section: &Section<'_>) -> Checked<Option<bool>> {
    one_of(section, "byte_order", "big", "little")
}

pub(super) fn bit_order(section: &Section<'_>) -> Checked<Option<bool>> {
    one_of(section, "bit_order", "msb", "lsb")
}

/// True for the second of two words.
fn one_of(section: &Section<'_>, key: &str, no: &str, yes: &str) -> Checked<Option<bool>> {
    let expected = format!("\"{no}\" or \"{yes}\"");
    match section.text(key, &expected)? {
        None => Ok(None),
        Some(text) if text.text == no => Ok(Some(false)),
        Some(text) if text.text == yes => Ok(Some(true)),
        Some(text) => {
            let found = format!("\"{}\"", text.text);
            let fault = FaultAt::value(text.at, &section.path(key), expected, found);
            Err(fault.near(&text.text, [no, yes]))
        }
    }
}

pub(super) fn read_header(file: &Section<'_>) -> Checked<FileDraft> {
    file.only(FILE_KEYS)?;
    let most = Layout::FILE_HEADER_LEN_MAX as u64;
    let number = |key| -> Checked<Option<u32>> {
        let number = file.number(key, 0, most)?;
        Ok(number.and_then(|number| u32::try_from(number.value).ok()))
    };
    let magic = bytes(file, "magic")?;
    let magic_at = number("magic_at")?.unwrap_or(0);
    let magic = magic.map(|magic| (magic_at as usize, magic.value));
    let end = magic
        .as_ref()
        .map_or(0, |(at, magic)| at.saturating_add(magic.len()));
    let least = u32::try_from(end).unwrap_or(u32::MAX);
    let header_len = number("header_len")?.unwrap_or(least);
    if header_len < least {
        let expected = format!("at least {least}, the end of the magic value");
        let at = file.value_at("header_len");
        let found = header_len.to_string();
        return Err(FaultAt::place(
            at,
            &file.path("header_len"),
            expected,
            found,
        ));
    }
    Ok(FileDraft { header_len, magic })
}

pub(super) fn read_pair(pair: &Section<'_>) -> Checked<TimeDraft> {
    let parts = [
        ("milliseconds", 1_000_000),
        ("microseconds", 1_000),
        ("nanoseconds", 1),
    ];
    pair.only(TIME_KEYS)?;
    let field = "the name of an integer field";
    let seconds = pair
        .text("seconds", field)?
        .ok_or_else(|| pair.missing("seconds"))?;
    let mut part = None;
    for (key, unit) in parts {
        if let Some(name) = pair.text(key, field)? {
            if part.is_some() {
                let expected = "one unit besides the seconds";
                return Err(FaultAt::key(name.at, &pair.path(key), expected, "two"));
            }
            part = Some((name, unit));
        }
    }
    let epoch_s = epoch(pair)?.map_or(0, |epoch| epoch.value);
    Ok(TimeDraft::Pair {
        seconds,
        part,
        epoch_s,
    })
}

pub(super) fn read_entries(
    section: &Section<'_>,
    defaults: Defaults,
    depth: usize,
) -> Checked<Vec<DraftEntry>> {
    let entries = section.sections("field")?.unwrap_or_default();
    entries
        .iter()
        .map(|entry| read_entry(entry, defaults, depth))
        .collect()
}

fn read_entry(section: &Section<'_>, defaults: Defaults, depth: usize) -> Checked<DraftEntry> {
    section.only(FIELD_KEYS)?;
    let group = if section.has("field") {
        if depth >= Layout::GROUP_DEPTH_MAX {
            let expected = format!(
                "at most {} groups inside each other",
                Layout::GROUP_DEPTH_MAX
            );
            return Err(FaultAt::limit(
                section.at,
                &section.element,
                expected,
                "more",
            ));
        }
        let own = Defaults {
            little: byte_order(section)?.unwrap_or(defaults.little),
            least_first: bit_order(section)?.unwrap_or(defaults.least_first),
        };
        Some(read_entries(section, own, depth + 1)?)
    } else {
        None
    };
    let plain = |text: Option<Text>| text.map(|text| text.text);
    let flag = |key| section.flag(key);
    let own_order = byte_order(section)?;
    let counted = section.is_number("bits");
    Ok(DraftEntry {
        at: section.at,
        element: section.element.clone(),
        name: section.text("name", "a name")?,
        type_name: section.text("type", "the name of a type")?,
        doc: plain(section.text("doc", "a text")?),
        unit: plain(section.text("unit", "a text")?),
        little: own_order.unwrap_or(defaults.little),
        own_order: own_order.map(|_| section.value_at("byte_order")),
        least_first: bit_order(section)?.unwrap_or(defaults.least_first),
        place: section.expression("at")?,
        bit: section.number("bit", 0, 7)?,
        bits: if counted {
            section.number("bits", 1, 64)?
        } else {
            None
        },
        ranges: if counted {
            None
        } else {
            section.texts("bits", "a number of bits, or ranges such as \"0-5\"")?
        },
        of: section.text("of", "the name of an integer field")?,
        size: section.expression("size")?,
        until: bytes(section, "until")?,
        enumeration: read_enum_use(section)?,
        equals: section.scalar("equals", "a number or a text")?,
        when: section.expression("when")?,
        hidden: flag("column")?.is_some_and(|column| !column.value),
        replaces: flag("override")?
            .filter(|flag| flag.value)
            .map(|flag| flag.at),
        epoch_s: epoch(section)?,
        trim: section.text("trim", "\"end\", \"both\" or \"none\"")?,
        radix: section.number("radix", 2, 16)?,
        value: section.expression("value")?,
        group,
    })
}

fn read_enum_use(section: &Section<'_>) -> Checked<Option<EnumUse>> {
    let as_text = one_of(section, "enum_as", "column", "text")?;
    let values = if section.is_table("enum") {
        let values = section.section("enum")?.map(|values| read_enum(&values));
        values.transpose()?.map(EnumValues::Here)
    } else {
        let expected = "the name of an [enum] or a table of names";
        section.text("enum", expected)?.map(EnumValues::Named)
    };
    if values.is_none() && as_text.is_some() {
        return Err(section.missing("enum"));
    }
    let as_text = as_text.unwrap_or(false);
    Ok(values.map(|values| EnumUse { values, as_text }))
}

pub(super) fn read_enum(section: &Section<'_>) -> Checked<EnumDraft> {
    let mut names = Vec::new();
    for (key, at) in section.keys() {
        let path = section.path(key);
        let number = match key.strip_prefix('-') {
            Some(digits) => parser::number(digits).map(|number| -number),
            None => parser::number(key),
        };
        let Some(number) = number else {
            let expected = "a number such as 12 or 0xcc";
            return Err(FaultAt::value(at, &path, expected, format!("`{key}`")));
        };
        let name = section
            .text(key, "a name")?
            .map(|name| name.text)
            .unwrap_or_default();
        names.push((number, name.into_boxed_str(), at));
    }
    let limit = Layout::ENUM_VALUES_MAX;
    if names.len() > limit {
        let expected = format!("at most {limit} values");
        let found = names.len().to_string();
        return Err(FaultAt::limit(
            section.at,
            &section.element,
            expected,
            found,
        ));
    }
    names.sort_by_key(|(number, _, at)| (*number, at.offset));
    if let Some([_, (number, _, at)]) = names.windows(2).find_map(|pair| {
        <&[_; 2]>::try_from(pair)
            .ok()
            .filter(|[one, two]| one.0 == two.0)
    }) {
        let path = section.path(&number.to_string());
        let expected = "each number once";
        return Err(FaultAt::duplicate(
            *at,
            &path,
            expected,
            "the same number twice",
        ));
    }
    let names = names
        .into_iter()
        .map(|(number, name, _)| (number, name))
        .collect();
    Ok(EnumDraft { names })
}

pub(super) fn read_kind(section: &Section<'_>, defaults: Defaults) -> Checked<KindDraft> {
    section.only(KIND_KEYS)?;
    section.text("doc", "a text")?;
    Ok(KindDraft {
        at: section.at,
        element: section.element.clone(),
        name: section
            .text("name", "a name")?
            .ok_or_else(|| section.missing("name"))?,
        when: section.expression("when")?,
        entries: read_entries(section, defaults, 0)?,
        payloads: read_payloads(section)?.unwrap_or_default(),
    })
}

pub(super) fn read_payloads(section: &Section<'_>) -> Checked<Option<Vec<PayloadDraft>>> {
    let Some(payloads) = section.sections("payload")? else {
        return Ok(None);
    };
    let one = |payload: &Section<'_>| {
        payload.only(PAYLOAD_KEYS)?;
        let expected = "the name of a protocol or the number of a link type";
        let protocol = payload.scalar("protocol", expected)?;
        Ok(PayloadDraft {
            element: payload.element.clone(),
            at: payload.at,
            protocol: protocol.ok_or_else(|| payload.missing("protocol"))?,
            when: payload.expression("when")?,
            place: payload.expression("at")?,
            length: payload.expression("length")?,
        })
    };
    payloads
        .iter()
        .map(one)
        .collect::<Checked<Vec<_>>>()
        .map(Some)
}

fn epoch(section: &Section<'_>) -> Checked<Option<Located<i64>>> {
    let expected = "a date such as 1900-01-01, or seconds from 1970-01-01";
    let Some(Located { value, at }) = section.scalar("epoch", expected)? else {
        return Ok(None);
    };
    let seconds = match &value {
        Scalar::Integer(seconds) => i64::try_from(*seconds).ok(),
        Scalar::Datetime(moment) => moment.date.map(|date| {
            let offset = match moment.offset {
                Some(toml::value::Offset::Custom { minutes }) => i64::from(minutes) * 60,
                _ => 0,
            };
            time::seconds_of(date, moment.time) - offset
        }),
        Scalar::Text(_) => None,
    };
    // This is the range of nanoseconds in 64 bits, with room for the time itself.
    let reach = 200 * 366 * 86_400;
    match seconds.filter(|seconds| (-reach..=reach).contains(seconds)) {
        Some(value) => Ok(Some(Located { value, at })),
        None => {
            let found = "something else, or more than 200 years from 1970";
            Err(FaultAt::value(at, &section.path("epoch"), expected, found))
        }
    }
}

/// Bytes written as text (`"\n"`) or, after `0x`, as hexadecimal digits (`"0x0d 0a"`).
pub(super) fn bytes(section: &Section<'_>, key: &str) -> Checked<Option<Located<Box<[u8]>>>> {
    let expected = "bytes as text, or as hexadecimal digits after 0x";
    let Some(text) = section.text(key, expected)? else {
        return Ok(None);
    };
    let most = Layout::MARK_LEN_MAX;
    match literal(&text.text).filter(|bytes| (1..=most).contains(&bytes.len())) {
        Some(value) => Ok(Some(Located { value, at: text.at })),
        None => {
            let expected = format!("1 to {most} {expected}");
            let found = format!("\"{}\"", text.text.chars().take(40).collect::<String>());
            Err(FaultAt::value(text.at, &section.path(key), expected, found))
        }
    }
}

/// The bytes that a text stands for; `None` when its digits are no hexadecimal pairs.
pub(super) fn literal(text: &str) -> Option<Box<[u8]>> {
    let Some(digits) = text.strip_prefix("0x") else {
        return Some(text.as_bytes().into());
    };
    let digits: Vec<char> = digits
        .chars()
        .filter(|digit| !matches!(digit, ' ' | '_'))
        .collect();
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => {
            let byte = high.to_digit(16)? << 4 | low.to_digit(16)?;
            u8::try_from(byte).ok()
        }
        _ => None,
    });
    pairs.collect()
}
