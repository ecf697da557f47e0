//! What columns are compared with: operators, constants and networks.

use std::cmp::Ordering;
use std::fmt;

use weir_packet::{Address, Kind};

use crate::Column;

/// A comparison of a column with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A constant that columns are compared with.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum Constant {
    /// A flag.
    Bool(bool),
    /// A number or a time, for every integer type of a column.
    Integer(i128),
    /// A floating-point number.
    Float(f64),
    /// An address or bytes.
    Bytes(Vec<u8>),
    /// A text.
    Text(String),
}

/// A network: an address and the length of its prefix in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: Address,
    prefix_bits: u8,
}

impl Operator {
    #[inline]
    pub(crate) const fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

impl Network {
    /// A network by its address and prefix length; `None` when the prefix is longer than the
    /// address.
    #[must_use]
    pub fn new(address: Address, prefix_bits: u8) -> Option<Self> {
        let bits = address.as_bytes().len().checked_mul(8)?;
        (usize::from(prefix_bits) <= bits).then_some(Self {
            address,
            prefix_bits,
        })
    }

    /// The address, and the number of its significant bits.
    pub(crate) const fn parts(&self) -> (&Address, u8) {
        (&self.address, self.prefix_bits)
    }

    /// Reads `10.0.0.0/8`, `2001:db8::/32`, or an address, which is a network of one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (address, prefix_bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().ok()?)),
            None => (text, None),
        };
        let address: Address = address.trim().parse().ok()?;
        let whole = u8::try_from(address.as_bytes().len() * 8).ok()?;
        Self::new(address, prefix_bits.unwrap_or(whole))
    }

    /// The first and the last address of a network of IPv4, as numbers; `None` for another.
    pub(crate) fn ipv4_range(&self) -> Option<(u32, u32)> {
        let first = u32::from_be_bytes(self.address.as_bytes().try_into().ok()?);
        // These bits differ between its addresses.
        let rest = u32::MAX.checked_shr(self.prefix_bits.into()).unwrap_or(0);
        Some((first & !rest, first | rest))
    }

    /// Whether the address with these bytes lies in the network; false for another family.
    #[must_use]
    pub fn contains(&self, bytes: &[u8]) -> bool {
        self.order(bytes) == Some(Ordering::Equal)
    }

    /// The order of the address with these bytes to the addresses of the network, by the bits of its prefix alone; `None` for
    /// another family.
    pub(crate) fn order(&self, bytes: &[u8]) -> Option<Ordering> {
        let own = self.address.as_bytes();
        if own.len() != bytes.len() {
            return None;
        }
        let whole = usize::from(self.prefix_bits / 8);
        let rest = self.prefix_bits % 8;
        let of_whole = bytes.get(..whole).cmp(&own.get(..whole));
        if rest == 0 || of_whole.is_ne() {
            return Some(of_whole);
        }
        let last = |octets: &[u8]| octets.get(whole).map(|octet| octet >> (8 - rest));
        Some(last(bytes).cmp(&last(own)))
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix_bits)
    }
}

impl Constant {
    pub(crate) fn write(&self, column: &Column, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Bytes(bytes) if column.kind == Kind::Address => {
                match Address::from_bytes(bytes) {
                    Some(address) => write!(f, "{address}"),
                    None => f.write_str("no address"),
                }
            }
            Self::Bytes(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}
