//! Conditions on numbers.

use weir_packet::Kind;

use crate::{Constant, Operator};

/// A condition on a number of a record, or on its presence.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Test {
    Within(NumberRange),
    IsOneOf(Vec<NumberRange>),
    IsThere,
    IsMissing,
}

/// The numbers from `first` to `first + more`, or all others. Signed numbers in two's complement lie in a row too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NumberRange {
    first: u64,
    more: u64,
    negated: bool,
}

impl Test {
    /// The rough selectivity: equality lets the fewest records pass.
    pub(super) const fn selectivity(&self) -> u8 {
        match self {
            Self::Within(range) if range.more == 0 && !range.negated => 0,
            Self::IsOneOf(_) => 1,
            Self::Within(_) => 2,
            Self::IsThere | Self::IsMissing => 3,
        }
    }

    /// Returns whether it holds of a present number.
    pub(super) fn accepts(&self, number: u64) -> bool {
        match self {
            Self::Within(range) => range.contains(number),
            Self::IsOneOf(ranges) => ranges.iter().any(|range| range.contains(number)),
            Self::IsThere => true,
            Self::IsMissing => false,
        }
    }
}

impl NumberRange {
    /// The first of the numbers, how many more there are, and whether it is all others.
    pub(super) const fn parts(&self) -> (u64, u64, bool) {
        (self.first, self.more, self.negated)
    }

    pub(super) fn of(kind: Kind, operator: Operator, constant: &Constant) -> Option<Self> {
        let constant = match (kind, constant) {
            (Kind::Address, Constant::Bytes(bytes)) => {
                // Bytes of equal length compare like the numbers.
                let number = u32::from_be_bytes(bytes.as_slice().try_into().ok()?);
                return Some(Self::unsigned(operator, number.into()));
            }
            (_, Constant::Integer(constant)) => constant,
            _ => return None,
        };
        Some(match kind {
            Kind::Time => Self::signed(operator, i64::try_from(*constant).ok()?),
            _ => Self::unsigned(operator, u64::try_from(*constant).ok()?),
        })
    }

    pub(super) const fn from_to(first: u64, last: u64) -> Self {
        Self {
            first,
            more: last.wrapping_sub(first),
            negated: false,
        }
    }

    pub(super) fn unsigned(operator: Operator, constant: u64) -> Self {
        Self::between(operator, 0, constant, u64::MAX)
    }

    pub(super) fn signed(operator: Operator, constant: i64) -> Self {
        let [first, last] = [i64::MIN, i64::MAX].map(|end| end as u64);
        Self::between(operator, first, constant as u64, last)
    }

    /// The numbers from `first` to `last` that stand in this relation to `constant`.
    const fn between(operator: Operator, first: u64, constant: u64, last: u64) -> Self {
        let (first, last, negated) = match operator {
            Operator::Equal => (constant, constant, false),
            Operator::NotEqual => (constant, constant, true),
            Operator::LessOrEqual => (first, constant, false),
            Operator::Greater => (first, constant, true),
            Operator::GreaterOrEqual => (constant, last, false),
            Operator::Less => (constant, last, true),
        };
        Self {
            first,
            more: last.wrapping_sub(first),
            negated,
        }
    }

    #[inline]
    const fn contains(&self, value: u64) -> bool {
        (value.wrapping_sub(self.first) <= self.more) != self.negated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_what_the_operators_say() {
        use Operator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        let numbers = [
            i64::MIN,
            i64::MIN + 1,
            -2,
            -1,
            0,
            1,
            2,
            i64::MAX - 1,
            i64::MAX,
        ];
        for operator in [Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual] {
            for constant in numbers {
                for value in numbers {
                    let signed = NumberRange::signed(operator, constant);
                    assert_eq!(
                        signed.contains(value as u64),
                        operator.holds(value.cmp(&constant)),
                        "{value} {operator:?} {constant}"
                    );
                    let (value, constant) = (value as u64, constant as u64);
                    assert_eq!(
                        NumberRange::unsigned(operator, constant).contains(value),
                        operator.holds(value.cmp(&constant)),
                        "{value} {operator:?} {constant}"
                    );
                }
            }
        }
    }
}
