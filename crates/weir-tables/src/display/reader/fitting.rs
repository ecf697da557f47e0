//! Refuses comparisons that cannot be true of any packet: of values that a field never has, and of values of different types.

use weir_filter::{Error, Operand, OperandKind};
use weir_packet::Kind;

use super::{FilterReader, present};
use crate::Column;
use crate::display::literal::literal_of;
use crate::display::{Literal, Type};

impl FilterReader<'_> {
    /// Reads a literal beside a field, which may have it as its value.
    pub(super) fn fitting(
        &self,
        operand: &Operand,
        field: &Operand,
        kind: Type,
    ) -> Result<Literal, Error> {
        let literal = literal_of(operand, field, kind)?;
        self.fits(&literal, operand, field)?;
        Ok(literal)
    }

    /// Refuses a literal that the field beside it never has: a number that is too large, or an address of another family.
    pub(super) fn fits(
        &self,
        literal: &Literal,
        operand: &Operand,
        field: &Operand,
    ) -> Result<(), Error> {
        let Some((name, column)) = self.column_of(field) else {
            return Ok(());
        };
        let len = match literal {
            Literal::Number(number) => {
                let largest = match column.kind {
                    Kind::U8 => i128::from(u8::MAX),
                    Kind::U16 => i128::from(u16::MAX),
                    Kind::U32 => i128::from(u32::MAX),
                    _ => return Ok(()),
                };
                if *number <= largest {
                    return Ok(());
                }
                let error = Error::new(
                    format!("{name} is never {number}"),
                    operand.start,
                    operand.end,
                );
                return Err(error.with_hint(format!("its values are at most {largest}")));
            }
            Literal::Bytes(bytes) => bytes.len(),
            Literal::Network(network) => network.parts().0.as_bytes().len(),
        };
        let Some(family) = AddressFamily::of(&column) else {
            return Ok(());
        };
        if family.len == len {
            return Ok(());
        }
        let error = Error::new(
            format!("{name} is {} address", family.name),
            operand.start,
            operand.end,
        );
        Err(match FAMILIES.iter().find(|known| known.len == len) {
            Some(other) if !other.fields.is_empty() => error.with_hint(format!(
                "of {} addresses write {}",
                other.plain(),
                other.fields
            )),
            _ => error,
        })
    }

    /// Refuses a comparison of two fields of different types.
    pub(super) fn can_be_compared(
        &self,
        left: (&Operand, Type),
        right: (&Operand, Type),
    ) -> Result<(), Error> {
        let is_time = |kind| matches!(kind, Type::Time | Type::Seconds);
        let is_number = |kind| matches!(kind, Type::Number | Type::Flag) || is_time(kind);
        let wrong = |message| Err(Error::new(message, left.0.start, right.0.end));
        if is_number(left.1) != is_number(right.1) {
            return wrong("a number is compared with bytes or text");
        }
        if is_time(left.1) != is_time(right.1) {
            return wrong("a number is compared with a time");
        }
        let family = |operand| AddressFamily::of(&self.column_of(operand)?.1);
        match (family(left.0), family(right.0)) {
            (Some(left), Some(right)) if left.len != right.len => {
                wrong("addresses of different kinds are never equal")
            }
            _ => Ok(()),
        }
    }

    /// Whether the values of a field are MAC addresses, which patterns match as bytes.
    pub(super) fn has_mac_addresses(&self, field: &Operand) -> bool {
        let column = self.column_of(field);
        let family = column.and_then(|(_, column)| AddressFamily::of(&column));
        family.is_some_and(|family| family.len == MAC_LEN)
    }

    /// The first of the columns that a field of packets is, and its name as it is written.
    fn column_of<'o>(&self, field: &'o Operand) -> Option<(&'o str, Column)> {
        let (OperandKind::Word(name) | OperandKind::Layer(name, _)) = &field.kind else {
            return None;
        };
        let mut columns = self.fields(&present(name))?.into_iter();
        Some((name.as_str(), columns.next()?))
    }
}

/// Addresses of one length.
struct AddressFamily {
    name: &'static str,
    len: usize,
    /// The fields that most have these addresses.
    fields: &'static str,
}

impl AddressFamily {
    /// The family of the addresses in a column; `None` for one of several, and for a column without addresses.
    fn of(column: &Column) -> Option<&'static Self> {
        if column.kind != Kind::Address {
            return None;
        }
        let known = OF_COLUMNS
            .iter()
            .find(|(prefix, _)| column.name.starts_with(prefix));
        let (_, len) = known?;
        FAMILIES.iter().find(|family| family.len == *len)
    }

    /// The name without its article.
    fn plain(&self) -> &'static str {
        self.name
            .split_once(' ')
            .map_or(self.name, |(_, name)| name)
    }
}

const MAC_LEN: usize = 6;

const FAMILIES: &[AddressFamily] = &[
    AddressFamily {
        name: "an IPv4",
        len: 4,
        fields: "ip.addr, ip.src or ip.dst",
    },
    AddressFamily {
        name: "an IPv6",
        len: 16,
        fields: "ipv6.addr, ipv6.src or ipv6.dst",
    },
    AddressFamily {
        name: "a MAC",
        len: MAC_LEN,
        fields: "eth.addr, eth.src or eth.dst",
    },
    AddressFamily {
        name: "an EUI-64",
        len: 8,
        fields: "",
    },
];

/// The beginnings of names of columns with addresses, and how long these are.
const OF_COLUMNS: &[(&str, usize)] = &[
    ("arp.src.proto_ipv4", 4),
    ("arp.dst.proto_ipv4", 4),
    ("sll.src.ipv4", 4),
    ("ip.", 4),
    ("icmp.", 4),
    ("igmp.", 4),
    ("ipv6.", 16),
    ("icmpv6.", 16),
    ("ipoib.", 16),
    ("capwap.header.mac.eui64", 8),
    ("capwap.header.mac.eui48", 6),
    ("arp.", 6),
    ("sll.", 6),
    ("eth.", 6),
    ("wlan.", 6),
    ("fddi.", 6),
    ("tr.", 6),
    ("ieee8021ah.", 6),
    ("cfp.", 6),
];
