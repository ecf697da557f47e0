//! A value of a column, compared with the text that tshark printed for it.

use arrow::array::{
    Array, AsArray, BinaryViewArray, BooleanArray, PrimitiveArray, StringViewArray,
};
use arrow::datatypes::{
    Float64Type, TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use weir_packet::{Address, Kind};

/// A column of a batch, typed once.
pub(crate) enum Values<'a> {
    Bool(&'a BooleanArray),
    U8(&'a PrimitiveArray<UInt8Type>),
    U16(&'a PrimitiveArray<UInt16Type>),
    U32(&'a PrimitiveArray<UInt32Type>),
    U64(&'a PrimitiveArray<UInt64Type>),
    F64(&'a PrimitiveArray<Float64Type>),
    Time(&'a PrimitiveArray<TimestampNanosecondType>),
    Address(&'a BinaryViewArray),
    Bytes(&'a BinaryViewArray),
    Text(&'a StringViewArray),
}

/// A value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ColumnValue<'a> {
    Null,
    Bool(bool),
    Number(u64),
    Float(f64),
    Time(i64),
    Address(&'a [u8]),
    Bytes(&'a [u8]),
    Text(&'a str),
}

impl<'a> Values<'a> {
    pub(crate) fn new(kind: Kind, array: &'a dyn Array) -> Self {
        match kind {
            Kind::Bool => Self::Bool(array.as_boolean()),
            Kind::U8 => Self::U8(array.as_primitive()),
            Kind::U16 => Self::U16(array.as_primitive()),
            Kind::U32 => Self::U32(array.as_primitive()),
            Kind::U64 => Self::U64(array.as_primitive()),
            Kind::F64 => Self::F64(array.as_primitive()),
            Kind::Time => Self::Time(array.as_primitive()),
            Kind::Address => Self::Address(array.as_binary_view()),
            Kind::Bytes => Self::Bytes(array.as_binary_view()),
            Kind::Text => Self::Text(array.as_string_view()),
            Kind::I64 | Kind::Texts | Kind::Numbers => {
                panic!("no column of packets is of {kind:?}")
            }
        }
    }

    pub(crate) fn get(&self, row: usize) -> ColumnValue<'a> {
        if self.array().is_null(row) {
            return ColumnValue::Null;
        }
        match self {
            Self::Bool(array) => ColumnValue::Bool(array.value(row)),
            Self::U8(array) => ColumnValue::Number(array.value(row).into()),
            Self::U16(array) => ColumnValue::Number(array.value(row).into()),
            Self::U32(array) => ColumnValue::Number(array.value(row).into()),
            Self::U64(array) => ColumnValue::Number(array.value(row)),
            Self::F64(array) => ColumnValue::Float(array.value(row)),
            Self::Time(array) => ColumnValue::Time(array.value(row)),
            Self::Address(array) => ColumnValue::Address(array.value(row)),
            Self::Bytes(array) => ColumnValue::Bytes(array.value(row)),
            Self::Text(array) => ColumnValue::Text(array.value(row)),
        }
    }

    fn array(&self) -> &'a dyn Array {
        match self {
            Self::Bool(array) => *array,
            Self::U8(array) => *array,
            Self::U16(array) => *array,
            Self::U32(array) => *array,
            Self::U64(array) => *array,
            Self::F64(array) => *array,
            Self::Time(array) => *array,
            Self::Address(array) | Self::Bytes(array) => *array,
            Self::Text(array) => *array,
        }
    }
}

impl ColumnValue<'_> {
    /// Returns whether tshark printed the same value, or an empty field for NULL.
    pub(crate) fn agrees(self, theirs: &str) -> bool {
        match self {
            Self::Null => theirs.is_empty(),
            Self::Bool(ours) => flag(theirs) == Some(ours),
            Self::Number(ours) => number(theirs) == Some(ours),
            // The difference may be that of two roundings of the same nanoseconds.
            Self::Float(ours) => theirs
                .parse::<f64>()
                .is_ok_and(|theirs| (ours - theirs).abs() <= f64::EPSILON * ours.abs()),
            Self::Time(ours) => time_ns(theirs) == Some(ours.into()),
            Self::Address(ours) => {
                let theirs = theirs.parse::<Address>();
                theirs.is_ok_and(|theirs| theirs.as_bytes() == ours)
            }
            Self::Bytes(ours) => bytes(theirs).as_deref() == Some(ours),
            Self::Text(ours) => ours == theirs,
        }
    }

    /// Returns the value for messages, in tshark's notation where it has one.
    pub(crate) fn shown(self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Bool(ours) => u8::from(ours).to_string(),
            Self::Number(ours) => ours.to_string(),
            Self::Float(ours) => format!("{ours:.9}"),
            Self::Time(ours) => ours.to_string(),
            Self::Address(ours) => Address::from_bytes(ours)
                .map_or_else(|| format!("{ours:02x?}"), |address| address.to_string()),
            Self::Bytes(ours) => ours.iter().map(|byte| format!("{byte:02x}")).collect(),
            Self::Text(ours) => ours.to_owned(),
        }
    }
}

fn flag(text: &str) -> Option<bool> {
    match text {
        "1" | "True" => Some(true),
        "0" | "False" => Some(false),
        _ => None,
    }
}

/// Parses a number in any of tshark's notations: decimal, hexadecimal, a flag, an OUI with colons.
fn number(text: &str) -> Option<u64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    if let Some(flag) = flag(text) {
        return Some(flag.into());
    }
    let bytes = text.contains(':').then(|| bytes(text))??;
    (bytes.len() <= 8).then(|| {
        bytes
            .iter()
            .fold(0, |all, byte| all << 8 | u64::from(*byte))
    })
}

/// Parses hexadecimal digits in pairs, with or without colons between them.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| *byte != b':')
        .map(|byte| {
            char::from(byte)
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        })
        .collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    pairs
        .remainder()
        .is_empty()
        .then(|| pairs.map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Parses seconds since 1970 with up to nine digits after the point. Times before 1970 come as `-1.5`.
fn time_ns(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (seconds, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let seconds: i128 = seconds.parse().ok()?;
    let fraction: i128 = format!("{fraction:0<9}").parse().ok()?;
    Some(sign * (seconds * 1_000_000_000 + fraction))
}

#[test]
fn values_agree_in_every_manner_in_which_tshark_prints() {
    for (ours, theirs) in [
        (ColumnValue::Null, ""),
        (ColumnValue::Bool(true), "1"),
        (ColumnValue::Bool(false), "False"),
        (ColumnValue::Number(2048), "0x0800"),
        (ColumnValue::Number(2048), "2048"),
        (ColumnValue::Number(1), "True"),
        (ColumnValue::Number(0x0000_80c2), "00:80:c2"),
        (ColumnValue::Time(1_500_000_000), "1.500000000"),
        (ColumnValue::Time(-1_500_000_000), "-1.500000000"),
        (ColumnValue::Address(&[10, 0, 0, 1]), "10.0.0.1"),
        (
            ColumnValue::Address(&[2, 0, 0, 0, 0, 1]),
            "02:00:00:00:00:01",
        ),
        (ColumnValue::Bytes(&[0xab, 0x01]), "ab01"),
        (ColumnValue::Bytes(&[0xab, 0x01]), "ab:01"),
        (ColumnValue::Text("eth0"), "eth0"),
    ] {
        assert!(ours.agrees(theirs), "{ours:?} and {theirs}");
    }
    for (ours, theirs) in [
        (ColumnValue::Null, "0"),
        (ColumnValue::Bool(false), ""),
        (ColumnValue::Number(8), ""),
        (ColumnValue::Number(8), "0x80"),
        (ColumnValue::Address(&[10, 0, 0, 1]), "0a:00:00:01"),
        (ColumnValue::Bytes(&[1]), "0102"),
        (ColumnValue::Bytes(&[1]), ""),
    ] {
        assert!(!ours.agrees(theirs), "{ours:?} and {theirs}");
    }
}
