//! Predicates that are decided on a decoded packet, before any value becomes an Arrow value.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use weir_packet::{Field, Get, Kind, Options as DecodeOptions, Value};

use crate::row::with_text;
use crate::{Column, Constant, Expression, Network, Operator, Origin, Row, Search, Source};

/// A condition on a row, with SQL's three-valued logic.
#[derive(Clone, Debug)]
pub enum Predicate {
    /// The column compared with a constant.
    Compare(Column, Operator, Constant),
    /// A number computed from columns compared with a constant.
    Calculated(Expression, Operator, i64),
    /// The column is one of the constants.
    In(Column, Vec<Constant>),
    /// A search in a column of bytes is successful.
    Search(Column, Search),
    /// The address column lies in a network.
    Within(Column, Network),
    /// The column is true.
    IsTrue(Column),
    /// The column is NULL.
    IsNull(Column),
    /// The packet passes a display filter.
    Display(Arc<dyn PacketFilter>),
    /// All are true.
    And(Vec<Predicate>),
    /// One is true.
    Or(Vec<Predicate>),
    /// The predicate is false.
    Not(Box<Predicate>),
}

/// A filter of packets that a predicate has: see [`crate::DisplayFilter`].
pub trait PacketFilter: fmt::Debug + fmt::Display + Send + Sync {
    /// Whether the packet of a row passes.
    fn passes(&self, row: &Row<'_>) -> bool;

    /// The columns that are read.
    fn columns(&self) -> &[Column];

    /// Whether it has fields of messages, which are read before the packets, from the files of
    /// [`Self::read_messages_of`].
    fn has_messages(&self) -> bool;

    /// Sets the files of the packets, and their decoding. Each file is read when its first packet is tested; a pipe
    /// cannot be read twice.
    fn read_messages_of(&self, files: &[Source], decode: &DecodeOptions);

    /// The limits that were reached while messages were read, for the closing report.
    fn notes(&self) -> Vec<String>;
}

impl Predicate {
    /// Evaluates the predicate: `None` is SQL's unknown, which a filter treats as false.
    #[must_use]
    pub fn decide(&self, row: &Row<'_>) -> Option<bool> {
        match self {
            Self::Compare(column, operator, constant) => {
                compare(column, row, constant).map(|ordering| operator.holds(ordering))
            }
            Self::Calculated(expression, operator, constant) => {
                let bits = expression.bits(row)?;
                let ordering = match (expression.kind(), u64::try_from(*constant)) {
                    (Kind::U64, Ok(constant)) => bits.cmp(&constant),
                    (Kind::U64, Err(_)) => Ordering::Greater,
                    _ => (bits as i64).cmp(constant),
                };
                Some(operator.holds(ordering))
            }
            Self::In(column, constants) => {
                let mut known = true;
                for constant in constants {
                    match compare(column, row, constant) {
                        Some(Ordering::Equal) => return Some(true),
                        Some(_) => {}
                        None => known = false,
                    }
                }
                known.then_some(false)
            }
            Self::Search(column, search) => {
                with_bytes(column, row, |bytes| search.holds(bytes)).flatten()
            }
            Self::Within(column, network) => {
                with_bytes(column, row, |bytes| network.contains(bytes))
            }
            Self::IsTrue(column) => {
                compare(column, row, &Constant::Bool(true)).map(Ordering::is_eq)
            }
            Self::IsNull(column) => Some(is_null(column, row)),
            Self::Display(filter) => Some(filter.passes(row)),
            Self::And(all) => {
                let mut outcome = Some(true);
                for predicate in all {
                    match predicate.decide(row) {
                        Some(true) => {}
                        Some(false) => return Some(false),
                        None => outcome = None,
                    }
                }
                outcome
            }
            Self::Or(any) => {
                let mut outcome = Some(false);
                for predicate in any {
                    match predicate.decide(row) {
                        Some(true) => return Some(true),
                        Some(false) => {}
                        None => outcome = None,
                    }
                }
                outcome
            }
            Self::Not(predicate) => predicate.decide(row).map(|holds| !holds),
        }
    }

    /// Calls `visit` with every display filter.
    pub fn visit_filters(&self, visit: &mut dyn FnMut(&dyn PacketFilter)) {
        match self {
            Self::Display(filter) => visit(&**filter),
            Self::And(list) | Self::Or(list) => {
                for predicate in list {
                    predicate.visit_filters(visit);
                }
            }
            Self::Not(predicate) => predicate.visit_filters(visit),
            _ => {}
        }
    }

    /// Calls `visit` with every column that is read.
    pub fn visit_columns(&self, visit: &mut dyn FnMut(&Column)) {
        match self {
            Self::Compare(column, ..)
            | Self::In(column, _)
            | Self::Search(column, _)
            | Self::Within(column, _)
            | Self::IsTrue(column)
            | Self::IsNull(column) => visit(column),
            Self::Calculated(expression, ..) => expression.visit_columns(visit),
            Self::Display(filter) => filter.columns().iter().for_each(visit),
            Self::And(list) | Self::Or(list) => {
                for predicate in list {
                    predicate.visit_columns(visit);
                }
            }
            Self::Not(predicate) => predicate.visit_columns(visit),
        }
    }
}

/// Compares the value of a column with a constant; `None` when the value is NULL.
#[inline]
fn compare(column: &Column, row: &Row<'_>, constant: &Constant) -> Option<Ordering> {
    match constant {
        Constant::Integer(constant) => Some(integer(column, row)?.cmp(constant)),
        Constant::Bool(constant) => Some(boolean(column, row)?.cmp(constant)),
        Constant::Float(constant) => match row.given(column.origin)? {
            Value::Float(value) => Some(value.total_cmp(constant)),
            _ => None,
        },
        Constant::Bytes(constant) => with_bytes(column, row, |bytes| bytes.cmp(constant)),
        Constant::Text(constant) => with_text(column, row, |text| text.cmp(constant)),
    }
}

fn integer(column: &Column, row: &Row<'_>) -> Option<i128> {
    let packet = row.packet;
    match column.origin {
        Origin::Packet(Field { get, .. }, _) => match get {
            Get::U8(get) => get(packet).map(i128::from),
            Get::U16(get) => get(packet).map(i128::from),
            Get::U32(get) => get(packet).map(i128::from),
            Get::U64(get) => get(packet).map(i128::from),
            Get::Time(get) => get(packet).map(i128::from),
            _ => None,
        },
        _ => match row.given(column.origin)? {
            Value::Unsigned(value) => Some(value.into()),
            Value::Signed(value) | Value::Time(value) => Some(value.into()),
            _ => None,
        },
    }
}

fn boolean(column: &Column, row: &Row<'_>) -> Option<bool> {
    match column.origin {
        Origin::Packet(
            Field {
                get: Get::Bool(get),
                ..
            },
            _,
        ) => get(row.packet),
        _ => match row.given(column.origin)? {
            Value::Bool(value) => Some(value),
            _ => None,
        },
    }
}

fn with_bytes<T>(column: &Column, row: &Row<'_>, f: impl FnOnce(&[u8]) -> T) -> Option<T> {
    match column.origin {
        Origin::Packet(Field { get, .. }, _) => match get {
            Get::Address(get) => get(row.packet).map(|address| f(address.as_bytes())),
            Get::Bytes(get) => get(row.packet).map(f),
            _ => None,
        },
        _ => match row.given(column.origin)? {
            Value::Address(address) => Some(f(address.as_bytes())),
            Value::Bytes(bytes) => Some(f(bytes)),
            _ => None,
        },
    }
}

fn is_null(column: &Column, row: &Row<'_>) -> bool {
    let packet = row.packet;
    match column.origin {
        Origin::File => false,
        Origin::Packet(Field { get, .. }, _) => match get {
            Get::Bool(get) => get(packet).is_none(),
            Get::U8(get) => get(packet).is_none(),
            Get::U16(get) => get(packet).is_none(),
            Get::U32(get) => get(packet).is_none(),
            Get::U64(get) => get(packet).is_none(),
            Get::Time(get) => get(packet).is_none(),
            Get::Address(get) => get(packet).is_none(),
            Get::Bytes(get) => get(packet).is_none(),
            Get::Text(get) => get(packet).is_none(),
            Get::Write(_) => with_text(column, row, |_| ()).is_none(),
        },
        origin => row.given(origin).is_none(),
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, all: &[Self], word: &str| {
            f.write_str("(")?;
            for (index, predicate) in all.iter().enumerate() {
                if index > 0 {
                    write!(f, " {word} ")?;
                }
                predicate.fmt(f)?;
            }
            f.write_str(")")
        };
        match self {
            Self::Compare(column, operator, constant) => {
                write!(f, "{} {operator} ", column.name)?;
                constant.write(column, f)
            }
            Self::Calculated(expression, operator, constant) => {
                write!(f, "{expression} {operator} {constant}")
            }
            Self::In(column, constants) => {
                write!(f, "{} IN (", column.name)?;
                for (index, constant) in constants.iter().enumerate() {
                    if index > 0 {
                        f.write_str(", ")?;
                    }
                    constant.write(column, f)?;
                }
                f.write_str(")")
            }
            Self::Search(column, search) => write!(f, "{}{search}", column.name),
            Self::Within(column, network) => write!(f, "{} in {network}", column.name),
            Self::IsTrue(column) => f.write_str(&column.name),
            Self::IsNull(column) => write!(f, "{} IS NULL", column.name),
            Self::Display(filter) => write!(f, "{filter}"),
            Self::And(all) => list(f, all, "AND"),
            Self::Or(any) => list(f, any, "OR"),
            Self::Not(predicate) => write!(f, "NOT {predicate}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_packet::{Decoder, Frame, LinkType};

    use super::*;
    use crate::Table;

    fn column(name: &str) -> Column {
        let table = Table::packets();
        table.columns()[table.position(name).unwrap()].clone()
    }

    #[test]
    fn predicates_follow_three_valued_logic() {
        let bytes = [
            2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00, 0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0,
            0, 10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0xc4, 0, 53, 0, 8, 0, 0,
        ];
        let mut decoder = Decoder::default();
        let packet = decoder.decode(Frame::new(LinkType::ETHERNET, &bytes));
        let row = Row::new("x.pcap", &packet);
        let compare = |name: &str, operator, number| {
            Predicate::Compare(column(name), operator, Constant::Integer(number))
        };
        let dns = compare("udp.dstport", Operator::Equal, 53);
        let other = compare("udp.dstport", Operator::Greater, 53);
        let unknown = compare("tcp.dstport", Operator::Equal, 80);
        let not = |p: &Predicate| Predicate::Not(Box::new(p.clone()));
        let within = |text| Predicate::Within(column("ip.src"), Network::parse(text).unwrap());
        for (predicate, expected) in [
            (dns.clone(), Some(true)),
            (other.clone(), Some(false)),
            (unknown.clone(), None),
            (not(&unknown), None),
            (Predicate::IsNull(column("tcp.dstport")), Some(true)),
            (
                Predicate::And(vec![unknown.clone(), other.clone()]),
                Some(false),
            ),
            (Predicate::And(vec![unknown.clone(), dns.clone()]), None),
            (
                Predicate::Or(vec![unknown.clone(), dns.clone()]),
                Some(true),
            ),
            (Predicate::Or(vec![unknown, other]), None),
            (within("10.0.0.0/8"), Some(true)),
            (within("10.0.0.0/31"), Some(true)),
            (within("10.0.0.2/31"), Some(false)),
            (within("2001:db8::/32"), Some(false)),
            (
                Predicate::Compare(
                    column("proto"),
                    Operator::Equal,
                    Constant::Text("udp".into()),
                ),
                Some(true),
            ),
            (
                Predicate::In(column("frame.len"), vec![Constant::Integer(42)]),
                Some(true),
            ),
        ] {
            assert_eq!(predicate.decide(&row), expected, "{predicate}");
        }
    }

    #[test]
    fn networks_are_read_from_text() {
        assert!(Network::parse("10.0.0.0/33").is_none());
        assert!(Network::parse("10.0.0/8").is_none());
        assert!(Network::parse("2001:db8::/129").is_none());
        assert_eq!(
            Network::parse("10.1.2.3").unwrap().to_string(),
            "10.1.2.3/32"
        );
        assert!(Network::parse("0.0.0.0/0").unwrap().contains(&[1, 2, 3, 4]));
    }
}
