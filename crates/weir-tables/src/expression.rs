//! Expressions over the columns of a row: the keys of groups and the arguments of aggregates.

use std::fmt;

use weir_packet::{Address, Get, Kind, Value};

use crate::row::with_text;
use crate::{Column, Origin, Row};

/// A column, or an integer computed from columns with 64-bit arithmetic.
#[derive(Clone, Debug)]
pub enum Expression {
    /// The value of a column.
    Column(Column),
    /// A number.
    Constant(i64),
    /// An integer, flag or time as a 64-bit integer, signed or unsigned. A value that does not fit wraps around, which
    /// only a signed number of a record layout can.
    Integer {
        /// True for a signed integer.
        signed: bool,
        /// The operand.
        of: Box<Expression>,
    },
    /// An operation on two 64-bit integers, both signed or both unsigned. NULL when either is.
    Calculate(Box<Expression>, Calculation, Box<Expression>),
}

/// An operation on two integers. The operands of sums, differences and products are such that the result has 64 bits
/// for every row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Calculation {
    Add,
    Subtract,
    Multiply,
    /// Division by a constant greater than 0.
    Divide,
    /// The remainder of a division by a constant greater than 0.
    Remainder,
    And,
    Or,
    ExclusiveOr,
    /// A shift to the left by a constant from 0 to 63.
    ShiftLeft,
    /// A shift to the right by a constant from 0 to 63.
    ShiftRight,
    /// The largest multiple of a constant greater than 0 that is not above the value: windows of time.
    Floor,
}

impl Expression {
    /// An operation on the two sides; `None` when [`Calculation`] does not allow it.
    #[must_use]
    pub fn calculate(self, calculation: Calculation, other: Self) -> Option<Self> {
        let integer = |kind| matches!(kind, Kind::I64 | Kind::U64 | Kind::Time);
        if !integer(self.kind()) || !integer(other.kind()) {
            return None;
        }
        let allowed = match (calculation, &other) {
            (
                Calculation::Divide | Calculation::Remainder | Calculation::Floor,
                Self::Constant(constant),
            ) => *constant > 0,
            (Calculation::ShiftLeft | Calculation::ShiftRight, Self::Constant(constant)) => {
                (0..64).contains(constant)
            }
            (
                Calculation::Divide
                | Calculation::Remainder
                | Calculation::Floor
                | Calculation::ShiftLeft
                | Calculation::ShiftRight,
                _,
            ) => false,
            _ => true,
        };
        let signed = self.kind() != Kind::U64;
        let fits = signed.then(|| calculation.range(self.range(), other.range()));
        let fits = fits.is_none_or(|range| range.is_some());
        (allowed && fits).then(|| Self::Calculate(Box::new(self), calculation, Box::new(other)))
    }

    /// The least and the largest value that an integer can have, by its type and the operations on it.
    fn range(&self) -> (i64, i64) {
        let unsigned = |bits: u32| (0, (1_i64 << bits) - 1);
        match self {
            Self::Column(column) => match column.kind {
                Kind::Bool => unsigned(1),
                Kind::U8 => unsigned(8),
                Kind::U16 => unsigned(16),
                Kind::U32 => unsigned(32),
                _ => (i64::MIN, i64::MAX),
            },
            Self::Constant(constant) => (*constant, *constant),
            Self::Integer { of, .. } => of.range(),
            Self::Calculate(left, calculation, right) => calculation
                .range(left.range(), right.range())
                .unwrap_or((i64::MIN, i64::MAX)),
        }
    }

    /// The type of the values.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Column(column) => column.kind,
            Self::Constant(_) => Kind::I64,
            Self::Integer { signed: true, .. } => Kind::I64,
            Self::Integer { signed: false, .. } => Kind::U64,
            Self::Calculate(left, ..) => left.kind(),
        }
    }

    /// Whether [`Expression::bits`] supports it: integers, flags, times and floats.
    #[must_use]
    pub fn is_number(&self) -> bool {
        !matches!(
            self.kind(),
            Kind::Address | Kind::Bytes | Kind::Text | Kind::Texts | Kind::Numbers
        )
    }

    /// The number of bits that hold every value of a number that is never negative, or every IPv4 address; 64 for the
    /// others.
    pub(crate) fn width(&self) -> u32 {
        match self {
            Self::Column(column) => {
                let of_kind = match column.kind {
                    Kind::Bool => 1,
                    Kind::U8 => 8,
                    Kind::U16 => 16,
                    Kind::U32 => 32,
                    _ => u64::BITS,
                };
                match column.origin {
                    Origin::Packet(field, _) => of_kind.min(field.width()),
                    _ => of_kind,
                }
            }
            Self::Constant(_) => u64::BITS,
            Self::Integer { of, .. } => of.width(),
            Self::Calculate(left, calculation, right) => match (calculation, right.as_ref()) {
                (Calculation::And, Self::Constant(mask @ 0..)) => {
                    left.width().min(i64::BITS - mask.leading_zeros())
                }
                (Calculation::ShiftRight, Self::Constant(bits @ 0..=63)) if left.width() < 64 => {
                    left.width().saturating_sub(*bits as u32)
                }
                _ => u64::BITS,
            },
        }
    }

    /// Calls `visit` with every column that is read.
    pub fn visit_columns(&self, visit: &mut dyn FnMut(&Column)) {
        match self {
            Self::Column(column) => visit(column),
            Self::Constant(_) => {}
            Self::Integer { of, .. } => of.visit_columns(visit),
            Self::Calculate(left, _, right) => {
                left.visit_columns(visit);
                right.visit_columns(visit);
            }
        }
    }

    /// The value of a number as 64 bits: a signed one in two's complement, a float as its own bits. `None` for NULL,
    /// and for other types.
    #[inline]
    #[must_use]
    pub fn bits(&self, row: &Row<'_>) -> Option<u64> {
        match self {
            Self::Column(column) => column_bits(column, row),
            Self::Constant(constant) => Some(*constant as u64),
            Self::Integer { of, .. } => of.bits(row),
            Self::Calculate(left, calculation, right) => {
                let signed = left.kind() != Kind::U64;
                Some(calculation.apply(left.bits(row)?, right.bits(row)?, signed))
            }
        }
    }

    /// Calls `f` with the text of a row; with `None` for NULL and for other types.
    #[inline]
    pub(crate) fn with_text<T>(&self, row: &Row<'_>, f: impl FnOnce(&str) -> T) -> Option<T> {
        let Self::Column(column) = self else {
            return None;
        };
        with_text(column, row, f)
    }

    /// Whether the row has a value of bytes, of any length.
    pub(crate) fn has_bytes(&self, row: &Row<'_>) -> bool {
        let Self::Column(column) = self else {
            return false;
        };
        match column.origin {
            Origin::Packet(field, _) => match field.get {
                Get::Bytes(get) => get(row.packet).is_some(),
                _ => false,
            },
            origin => row.given(origin).is_some(),
        }
    }

    /// The address of a row; `None` for NULL and for other types.
    #[inline]
    pub(crate) fn address(&self, row: &Row<'_>) -> Option<Address> {
        let Self::Column(column) = self else {
            return None;
        };
        match column.origin {
            Origin::Packet(field, _) => match field.get {
                Get::Address(get) => get(row.packet),
                _ => None,
            },
            origin => match row.given(origin)? {
                Value::Address(address) => Some(address),
                _ => None,
            },
        }
    }
}

#[inline]
fn column_bits(column: &Column, row: &Row<'_>) -> Option<u64> {
    let packet = row.packet;
    match column.origin {
        Origin::Packet(field, _) => match field.get {
            Get::U8(get) => get(packet).map(u64::from),
            Get::U16(get) => get(packet).map(u64::from),
            Get::U32(get) => get(packet).map(u64::from),
            Get::U64(get) => get(packet),
            Get::Time(get) => get(packet).map(|time| time as u64),
            Get::Bool(get) => get(packet).map(u64::from),
            _ => None,
        },
        origin => match (row.given(origin)?, column.kind) {
            (Value::Unsigned(value), Kind::U8) => u8::try_from(value).ok().map(u64::from),
            (Value::Unsigned(value), Kind::U16) => u16::try_from(value).ok().map(u64::from),
            (Value::Unsigned(value), Kind::U32) => u32::try_from(value).ok().map(u64::from),
            (Value::Unsigned(value), _) => Some(value),
            (Value::Signed(value) | Value::Time(value), _) => Some(value as u64),
            (Value::Float(value), _) => Some(value.to_bits()),
            (Value::Bool(value), _) => Some(u64::from(value)),
            _ => None,
        },
    }
}

impl Calculation {
    /// The least and the largest result for values of these ranges; `None` when a result may not fit into 64 bits.
    fn range(self, left: (i64, i64), right: (i64, i64)) -> Option<(i64, i64)> {
        let whole = (i64::MIN, i64::MAX);
        let corners = |apply: fn(i128, i128) -> i128| {
            let corners = [left.0, left.1]
                .into_iter()
                .flat_map(|a| [right.0, right.1].map(|b| apply(i128::from(a), i128::from(b))));
            let corners: Vec<i128> = corners.collect();
            let least = i64::try_from(*corners.iter().min()?).ok()?;
            let most = i64::try_from(*corners.iter().max()?).ok()?;
            Some((least, most))
        };
        match self {
            Self::Add => corners(|a, b| a + b),
            Self::Subtract => corners(|a, b| a - b),
            Self::Multiply => corners(|a, b| a * b),
            Self::Divide => corners(|a, b| a / b.max(1)),
            Self::Remainder => {
                let most = right.1.max(1) - 1;
                let least = if left.0 < 0 { -most } else { 0 };
                Some((least.max(left.0.min(0)), most.min(left.1.max(0))))
            }
            Self::And if right.0 >= 0 => Some((0, right.1)),
            Self::ShiftRight if left.0 >= 0 => Some((0, left.1)),
            Self::And | Self::Or | Self::ExclusiveOr | Self::ShiftLeft | Self::ShiftRight => {
                Some(whole)
            }
            Self::Floor => Some(whole),
        }
    }

    #[inline]
    pub(crate) fn apply(self, left: u64, right: u64, signed: bool) -> u64 {
        match self {
            Self::Add => left.wrapping_add(right),
            Self::Subtract => left.wrapping_sub(right),
            Self::Multiply => left.wrapping_mul(right),
            Self::And => left & right,
            Self::Or => left | right,
            Self::ExclusiveOr => left ^ right,
            Self::ShiftLeft => left << (right & 63),
            Self::ShiftRight if signed => (left as i64 >> (right & 63)) as u64,
            Self::ShiftRight => left >> (right & 63),
            // The constants are greater than 0: neither division by 0 nor overflow.
            Self::Divide if signed => (left as i64).wrapping_div((right as i64).max(1)) as u64,
            Self::Divide => left / right.max(1),
            Self::Remainder if signed => (left as i64).wrapping_rem((right as i64).max(1)) as u64,
            Self::Remainder => left % right.max(1),
            Self::Floor if signed => {
                let (left, right) = (left as i64, (right as i64).max(1));
                left.wrapping_sub(left.rem_euclid(right)) as u64
            }
            Self::Floor => left - left % right.max(1),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(column) => f.write_str(&column.name),
            Self::Constant(constant) => write!(f, "{constant}"),
            Self::Integer { of, .. } => write!(f, "{of}"),
            Self::Calculate(left, Calculation::Floor, right) => write!(f, "floor({left}, {right})"),
            Self::Calculate(left, calculation, right) => {
                let sign = match calculation {
                    Calculation::Add => "+",
                    Calculation::Subtract => "-",
                    Calculation::Multiply => "*",
                    Calculation::Divide => "/",
                    Calculation::Remainder => "%",
                    Calculation::And => "&",
                    Calculation::Or => "|",
                    Calculation::ExclusiveOr => "#",
                    Calculation::ShiftLeft => "<<",
                    Calculation::ShiftRight | Calculation::Floor => ">>",
                };
                let part = |f: &mut fmt::Formatter<'_>, side: &Self| match side {
                    Self::Calculate(..) => write!(f, "({side})"),
                    _ => write!(f, "{side}"),
                };
                part(f, left)?;
                write!(f, " {sign} ")?;
                part(f, right)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Table;

    fn column(name: &str) -> Expression {
        let table = Table::packets();
        let column = table.columns().iter().find(|column| *column.name == *name);
        Expression::Integer {
            signed: true,
            of: Box::new(Expression::Column(column.unwrap().clone())),
        }
    }

    /// Products of 32-bit columns, and sums near the ends of 64 bits, would wrap around.
    #[test]
    fn what_may_not_fit_is_not_calculated() {
        use Calculation::{Add, Multiply, Subtract};
        let length = || column("frame.len");
        let number = Expression::Constant;
        let fits = |left: Expression, calculation, right| left.calculate(calculation, right);
        assert!(fits(length(), Multiply, number(8)).is_some());
        assert!(fits(length(), Subtract, column("ip.len")).is_some());
        assert!(fits(length(), Multiply, length()).is_none());
        assert!(fits(column("ip.id"), Multiply, column("ip.id")).is_some());
        assert!(fits(length(), Add, number(i64::MAX)).is_none());
        assert!(fits(length(), Add, number(i64::MIN)).is_some());
        assert!(fits(number(i64::MIN), Subtract, number(1)).is_none());
        let small = fits(length(), Calculation::And, number(15)).unwrap();
        assert!(fits(small, Multiply, length()).is_some());
    }

    /// The range of a result holds every result, tried on the ends and some values between.
    #[test]
    fn ranges_hold_what_comes_out() {
        use Calculation::{Add, And, Divide, Multiply, Remainder, ShiftRight, Subtract};
        let ranges = [(0, 0), (0, 255), (-7, 9), (-9, -2), (3, 3), (1, 100)];
        for calculation in [Add, Subtract, Multiply, Divide, Remainder, And, ShiftRight] {
            for left in ranges {
                for right in ranges {
                    let constant = matches!(calculation, Divide | Remainder | ShiftRight);
                    if constant && (right.0 != right.1 || right.0 <= 0) {
                        continue;
                    }
                    let (least, most) = calculation.range(left, right).unwrap();
                    for a in left.0..=left.1 {
                        for b in right.0..=right.1 {
                            let value = calculation.apply(a as u64, b as u64, true) as i64;
                            assert!((least..=most).contains(&value), "{a} {calculation:?} {b}");
                        }
                    }
                }
            }
        }
    }
}
