//! Names, values and termination identifiers: the leaves that text and binary write differently.

use std::fmt;

/// A name: of a package, of a property, event, signal or statistic in a package (`al/of`), of a
/// parameter, of a digit map.
///
/// In text it is written out; in BER and PER it is a number, which the table of [`packages`](crate::packages)
/// translates. A number that is not in the table stays a number and is spelled `id_0009` in text, so that it becomes
/// the same number again.
///
/// Names compare without regard to case (RFC 3525 B.2: "tokens are case insensitive").
#[derive(Clone, Copy)]
pub enum Name<'a> {
    /// The name as it is written in text. `*` is a wildcard for all: `al/*`, `*/*`.
    Text(&'a [u8]),
    /// The number of a binary encoding: two octets, or four with the package in the upper half.
    Id(u32),
}

impl<'a> Name<'a> {
    /// The name as written, if it is known in writing.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Text(text) => Some(text),
            Self::Id(_) => None,
        }
    }

    /// The part before the slash of a name in a package.
    #[must_use]
    pub fn package(&self) -> Option<&'a [u8]> {
        let text = self.as_bytes()?;
        text.get(..text.iter().position(|byte| *byte == b'/')?)
    }

    /// The part after the slash, or the whole name when it has none.
    #[must_use]
    pub fn item(&self) -> Option<&'a [u8]> {
        let text = self.as_bytes()?;
        match text.iter().position(|byte| *byte == b'/') {
            Some(slash) => text.get(slash.saturating_add(1)..),
            None => Some(text),
        }
    }
}

impl<'a> From<&'a str> for Name<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text.as_bytes())
    }
}

impl PartialEq for Name<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a.eq_ignore_ascii_case(b),
            (Self::Id(a), Self::Id(b)) => a == b,
            (Self::Text(text), Self::Id(id)) | (Self::Id(id), Self::Text(text)) => {
                spelled_id(text) == Some(*id)
            }
        }
    }
}

impl Eq for Name<'_> {}

impl fmt::Debug for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => text.escape_ascii().fmt(f),
            Self::Id(id) if *id > 0xffff => write!(f, "id_{:04x}/id_{:04x}", id >> 16, id & 0xffff),
            Self::Id(id) => write!(f, "id_{id:04x}"),
        }
    }
}

/// The number that a name of the form `id_0009` or `id_0009/id_0005` spells.
pub(crate) fn spelled_id(text: &[u8]) -> Option<u32> {
    let half = |text: &[u8]| {
        let (prefix, digits) = text.split_at_checked(3)?;
        if !prefix.eq_ignore_ascii_case(b"id_") || digits.len() != 4 {
            return None;
        }
        digits.iter().try_fold(0_u32, |sum, digit| {
            Some(sum << 4 | char::from(*digit).to_digit(16)?)
        })
    };
    match text.iter().position(|byte| *byte == b'/') {
        Some(slash) => {
            let (package, item) = text.split_at_checked(slash)?;
            Some(half(package)? << 16 | half(item.get(1..)?)?)
        }
        None => half(text),
    }
}

/// A value of a property, a parameter or a statistic, or a text such as a reason.
///
/// The octets are without the quotes of the text form; whether it was quoted is a flag, so that it is
/// written again as it was read, but plays no part in comparing.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    /// The octets, without quotes.
    pub octets: &'a [u8],
    /// Whether text had it in quotes. Values that need quotes get them in any case.
    pub quoted: bool,
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::from(text.as_bytes())
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(octets: &'a [u8]) -> Self {
        Self {
            octets,
            quoted: false,
        }
    }
}

impl PartialEq for Value<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.octets == other.octets
    }
}

impl Eq for Value<'_> {}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.octets.escape_ascii())
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.octets.escape_ascii().fmt(f)
    }
}

/// The termination, or terminations, of a command (H.248.1 clause 6.2.2).
#[derive(Clone, Copy)]
pub enum TerminationId<'a> {
    /// The gateway itself.
    Root,
    /// The text form: levels separated by slashes, with `*` for all and `$` for choose.
    Path(&'a [u8]),
    /// The binary form, where numbers are not mapped to paths ([`TerminationIds::Native`](crate::TerminationIds)).
    Binary(&'a BinaryId<'a>),
}

/// The binary form of a termination identifier (RFC 3525 A.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BinaryId<'a> {
    /// One octet a wildcard: bit 7 is set for all and clear for choose, bit 6 for everything below,
    /// the rest is the position of the bit.
    pub wildcard: &'a [u8],
    /// One to eight octets.
    pub id: &'a [u8],
}

impl TerminationId<'_> {
    /// Whether some of it is `*` or `$`.
    #[must_use]
    pub fn has_wildcard(&self) -> bool {
        match self {
            Self::Root => false,
            Self::Path(path) => path.iter().any(|byte| matches!(byte, b'*' | b'$')),
            Self::Binary(id) => !id.wildcard.is_empty(),
        }
    }
}

impl<'a> From<&'a str> for TerminationId<'a> {
    fn from(text: &'a str) -> Self {
        if text.eq_ignore_ascii_case("root") {
            Self::Root
        } else {
            Self::Path(text.as_bytes())
        }
    }
}

impl PartialEq for TerminationId<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Root, Self::Root) => true,
            (Self::Path(a), Self::Path(b)) => a.eq_ignore_ascii_case(b),
            (Self::Binary(a), Self::Binary(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for TerminationId<'_> {}

impl fmt::Debug for TerminationId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for TerminationId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("ROOT"),
            Self::Path(path) => path.escape_ascii().fmt(f),
            Self::Binary(id) => {
                f.write_str("0x")?;
                id.id
                    .iter()
                    .try_for_each(|octet| write!(f, "{octet:02x}"))?;
                id.wildcard
                    .iter()
                    .try_for_each(|octet| write!(f, "~{octet:02x}"))
            }
        }
    }
}
