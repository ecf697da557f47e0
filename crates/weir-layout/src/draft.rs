//! A layout before its fields are placed: the values of its keys, with the right types.

use std::collections::BTreeMap;

use super::error::At;
use super::source::{Located, Scalar, Text};

/// The contents of all texts of a layout.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) name: Option<String>,
    pub(super) doc: Option<String>,
    pub(super) file: FileDraft,
    pub(super) record: RecordDraft,
    pub(super) entries: Vec<DraftEntry>,
    pub(super) kinds: Vec<KindDraft>,
    pub(super) payloads: Vec<PayloadDraft>,
    pub(super) enums: BTreeMap<String, EnumDraft>,
}

/// The header of the file.
#[derive(Debug, Default)]
pub(super) struct FileDraft {
    pub(super) header_len: u32,
    pub(super) magic: Option<(usize, Box<[u8]>)>,
}

/// The framing of records, and the properties of a whole record.
#[derive(Debug, Default)]
pub(super) struct RecordDraft {
    pub(super) length: Option<Text>,
    pub(super) length_max: Option<Located<u64>>,
    pub(super) delimiter: Option<Located<Box<[u8]>>>,
    pub(super) time: Option<TimeDraft>,
    pub(super) wire_len: Option<Text>,
}

/// The source of the time of a record.
#[derive(Debug)]
pub(super) enum TimeDraft {
    /// A field of a time type.
    Field(Text),
    /// Seconds and smaller units in fields of their own; the unit in nanoseconds.
    Pair {
        seconds: Text,
        part: Option<(Text, i64)>,
        epoch_s: i64,
    },
}

/// A field or a group of fields.
#[derive(Debug)]
pub(super) struct DraftEntry {
    pub(super) at: At,
    /// Path such as `field.vpi`.
    pub(super) element: String,
    pub(super) name: Option<Text>,
    pub(super) type_name: Option<Text>,
    pub(super) doc: Option<String>,
    pub(super) unit: Option<String>,
    pub(super) little: bool,
    /// The byte order was given for this field.
    pub(super) own_order: Option<At>,
    pub(super) least_first: bool,
    pub(super) place: Option<Text>,
    pub(super) bit: Option<Located<u64>>,
    pub(super) bits: Option<Located<u64>>,
    pub(super) ranges: Option<Vec<Text>>,
    pub(super) of: Option<Text>,
    pub(super) size: Option<Text>,
    pub(super) until: Option<Located<Box<[u8]>>>,
    pub(super) enumeration: Option<EnumUse>,
    pub(super) equals: Option<Located<Scalar>>,
    pub(super) when: Option<Text>,
    pub(super) hidden: bool,
    pub(super) replaces: Option<At>,
    pub(super) epoch_s: Option<Located<i64>>,
    pub(super) trim: Option<Text>,
    pub(super) radix: Option<Located<u64>>,
    pub(super) value: Option<Text>,
    pub(super) group: Option<Vec<Self>>,
}

/// The enumeration of a field.
#[derive(Debug)]
pub(super) struct EnumUse {
    pub(super) values: EnumValues,
    /// The names replace the numbers instead of standing beside them.
    pub(super) as_text: bool,
}

#[derive(Debug)]
pub(super) enum EnumValues {
    Named(Text),
    Here(EnumDraft),
}

/// Names of numbers, sorted by number.
#[derive(Debug)]
pub(super) struct EnumDraft {
    pub(super) names: Vec<(i64, Box<str>)>,
}

/// One of several kinds of records.
#[derive(Debug)]
pub(super) struct KindDraft {
    pub(super) at: At,
    pub(super) element: String,
    pub(super) name: Text,
    pub(super) when: Option<Text>,
    pub(super) entries: Vec<DraftEntry>,
    pub(super) payloads: Vec<PayloadDraft>,
}

/// A payload in a known protocol.
#[derive(Debug)]
pub(super) struct PayloadDraft {
    pub(super) element: String,
    pub(super) at: At,
    pub(super) protocol: Located<Scalar>,
    pub(super) when: Option<Text>,
    pub(super) place: Option<Text>,
    pub(super) length: Option<Text>,
}
