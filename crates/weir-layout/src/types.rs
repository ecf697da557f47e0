//! The types of fields, and the types of their columns.

use super::error::{Checked, FaultAt};
use super::field::Meaning;
use super::source::Text;
use super::time;
use weir_packet::Kind;

/// Sorts of types that share their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// Whole numbers of this many bytes, signed or not.
    Integer(u8, bool),
    /// `uint` and `int`, for bit fields; true for signed.
    BitNumber(bool),
    Bool,
    Float(u8),
    /// Bytes of an address.
    Address(u8),
    /// Bytes, when `size` does not say otherwise.
    Time(u8),
    Bytes,
    /// True for ASCII only.
    Text(bool),
    Digits,
}

/// Every type, and how wide it is. Times are in [`time::NAMES`].
const TYPES: &[(&str, Sort)] = &[
    ("u8", Sort::Integer(1, false)),
    ("u16", Sort::Integer(2, false)),
    ("u24", Sort::Integer(3, false)),
    ("u32", Sort::Integer(4, false)),
    ("u40", Sort::Integer(5, false)),
    ("u48", Sort::Integer(6, false)),
    ("u56", Sort::Integer(7, false)),
    ("u64", Sort::Integer(8, false)),
    ("i8", Sort::Integer(1, true)),
    ("i16", Sort::Integer(2, true)),
    ("i24", Sort::Integer(3, true)),
    ("i32", Sort::Integer(4, true)),
    ("i40", Sort::Integer(5, true)),
    ("i48", Sort::Integer(6, true)),
    ("i56", Sort::Integer(7, true)),
    ("i64", Sort::Integer(8, true)),
    ("uint", Sort::BitNumber(false)),
    ("int", Sort::BitNumber(true)),
    ("bool", Sort::Bool),
    ("f32", Sort::Float(4)),
    ("f64", Sort::Float(8)),
    ("bytes", Sort::Bytes),
    ("ascii", Sort::Text(true)),
    ("utf8", Sort::Text(false)),
    ("decimal", Sort::Digits),
    ("ipv4", Sort::Address(4)),
    ("mac", Sort::Address(6)),
    ("eui64", Sort::Address(8)),
    ("ipv6", Sort::Address(16)),
];

/// The name of every type.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let names = TYPES.iter().map(|(name, _)| *name);
    names.chain(time::NAMES.iter().map(|(name, _)| *name))
}

impl Sort {
    pub(super) fn named(name: &Text, element: &str) -> Checked<Self> {
        if let Some((_, sort)) = TYPES.iter().find(|(known, _)| *known == name.text) {
            return Ok(*sort);
        }
        if let Some((_, bytes)) = time::NAMES.iter().find(|(known, _)| *known == name.text) {
            return Ok(Self::Time(*bytes));
        }
        let element = format!("{element}.type");
        let found = format!("`{}`", name.text);
        let fault = FaultAt::name(name.at, &element, "the name of a type", found);
        Err(match name.text.as_str() {
            "text" | "string" | "str" | "char" => fault.hint("texts are `ascii` or `utf8`"),
            "float" => fault.hint("did you mean `f32`?"),
            "double" => fault.hint("did you mean `f64`?"),
            "time" | "timestamp" => {
                fault.hint("times are `time_s`, `time_s_us`, `time_ns`, `time_32_32` and the like")
            }
            "ip" => fault.hint("addresses are `ipv4`, `ipv6`, `mac` and `eui64`"),
            _ => fault.near(&name.text, names()),
        })
    }

    /// The number of bytes of the type, if it determines it.
    pub(super) fn bytes(self) -> Option<u8> {
        match self {
            Self::Integer(bytes, _)
            | Self::Float(bytes)
            | Self::Address(bytes)
            | Self::Time(bytes) => Some(bytes),
            Self::Bool => Some(1),
            Self::BitNumber(_) | Self::Bytes | Self::Text(_) | Self::Digits => None,
        }
    }
}

impl Meaning {
    /// The type of the column.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Unsigned(number) => match number.width() {
                0..=8 => Kind::U8,
                9..=16 => Kind::U16,
                17..=32 => Kind::U32,
                _ => Kind::U64,
            },
            Self::Signed(_) | Self::Digits(_) | Self::Computed => Kind::I64,
            Self::Bool(_) => Kind::Bool,
            Self::Float(_) => Kind::F64,
            Self::Address | Self::Ipv4Reversed => Kind::Address,
            Self::Time(_) => Kind::Time,
            Self::Bytes(_) => Kind::Bytes,
            Self::Text { .. } => Kind::Text,
        }
    }

    /// True for what expressions may use.
    pub(super) fn is_integer(&self) -> bool {
        matches!(
            self,
            Self::Unsigned(_) | Self::Signed(_) | Self::Bool(_) | Self::Digits(_) | Self::Computed
        )
    }

    /// The bytes that end the field have been cut off already.
    pub(super) fn without_until(self) -> Self {
        match self {
            Self::Bytes(_) => Self::Bytes(None),
            Self::Text { ascii, trim, .. } => Self::Text {
                ascii,
                trim,
                until: None,
            },
            other => other,
        }
    }
}
