//! What must hold of a record.

use weir_packet::layout::Layout;
use weir_packet::{Kind, LayerSet};

use super::{Load, Numbers, ROWS, Records, SelectionVector};
use crate::{Constant, Operator, Predicate};

/// A number of a record, and what it must be.
#[derive(Clone, PartialEq)]
pub(super) struct Condition {
    load: Load,
    test: Test,
    /// One of these may hold in its place.
    or: Vec<Self>,
}

#[derive(Clone, PartialEq)]
pub(crate) enum Test {
    Within(Range),
    IsOneOf(Vec<Range>),
    IsThere,
    IsMissing,
}

/// Numbers from the first on, so many more than one, or all others. Signed numbers in two's
/// complement lie in a row too.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Range {
    first: u64,
    more: u64,
    negated: bool,
}

impl Condition {
    /// The parts of a conjunction; false when one of them is no question of plain fields.
    pub(super) fn of(
        predicate: &Predicate,
        layout: Option<&Layout>,
        conditions: &mut Vec<Self>,
    ) -> bool {
        match predicate {
            Predicate::And(all) => all.iter().all(|one| Self::of(one, layout, conditions)),
            _ => {
                let condition = Self::one(predicate, layout);
                conditions.extend(condition.clone());
                condition.is_some()
            }
        }
    }

    fn one(predicate: &Predicate, layout: Option<&Layout>) -> Option<Self> {
        if let Predicate::Or(parts) = predicate {
            let mut first = Self::one(parts.first()?, layout)?;
            for part in parts.get(1..)? {
                first.or.push(Self::one(part, layout)?);
            }
            return (first.or.len() < ALTERNATIVES_MAX).then_some(first);
        }
        let (load, test) = match predicate {
            Predicate::Compare(column, operator, constant) => {
                let range = Range::of(column.kind, *operator, constant)?;
                (Load::column(column, layout)?, Test::Within(range))
            }
            Predicate::Calculated(expression, operator, constant)
                if expression.kind() == Kind::I64 =>
            {
                let range = Range::signed(*operator, *constant);
                (Load::new(expression, layout)?, Test::Within(range))
            }
            Predicate::In(column, constants) => {
                let ranges = constants
                    .iter()
                    .map(|constant| Range::of(column.kind, Operator::Equal, constant));
                (
                    Load::column(column, layout)?,
                    Test::IsOneOf(ranges.collect::<Option<_>>()?),
                )
            }
            Predicate::Within(column, network) => {
                let (first, last) = network.ipv4_range()?;
                let range = Range::from_to(first.into(), last.into());
                (Load::column(column, layout)?, Test::Within(range))
            }
            Predicate::IsTrue(column) => (
                Load::column(column, layout)?,
                Test::Within(Range::unsigned(Operator::Equal, 1)),
            ),
            Predicate::IsNull(column) => (Load::column(column, layout)?, Test::IsMissing),
            Predicate::Not(inner) => match inner.as_ref() {
                Predicate::IsNull(column) => (Load::column(column, layout)?, Test::IsThere),
                Predicate::IsTrue(column) => (
                    Load::column(column, layout)?,
                    Test::Within(Range::unsigned(Operator::Equal, 0)),
                ),
                _ => return None,
            },
            _ => return None,
        };
        Some(Self {
            load,
            test,
            or: Vec::new(),
        })
    }

    /// The headers that are looked at.
    pub(super) fn layers(&self) -> LayerSet {
        let own = self.load.layers();
        let others = self.or.iter().map(Self::layers);
        others.fold(own, LayerSet::union)
    }

    /// The times of records are asked for.
    pub(super) fn asks_times(&self) -> bool {
        self.load.is_time() || self.or.iter().any(Self::asks_times)
    }

    /// How many records may pass, in the rough: equality lets the fewest through.
    pub(super) fn selectivity(&self) -> u8 {
        let others = self.or.iter().map(Self::selectivity).max();
        others.unwrap_or(0).max(self.test.selectivity())
    }

    /// Leaves out the records for which it does not hold.
    pub(super) fn filter(
        &self,
        records: &Records<'_>,
        selection: &mut SelectionVector,
        numbers: &mut Numbers,
    ) {
        if self.or.is_empty() {
            return self.filter_by_first(records, selection, numbers);
        }
        let mut holds = [false; ROWS];
        let mut mark = |passed: &SelectionVector| {
            for row in passed.rows() {
                holds[usize::from(*row)] = true;
            }
        };
        let mut passed = selection.clone();
        self.filter_by_first(records, &mut passed, numbers);
        mark(&passed);
        for other in &self.or {
            passed.clone_from(selection);
            other.filter(records, &mut passed, numbers);
            mark(&passed);
        }
        selection.keep_rows(&holds);
    }

    /// The same for the condition without those that may hold in its place.
    fn filter_by_first(
        &self,
        records: &Records<'_>,
        selection: &mut SelectionVector,
        numbers: &mut Numbers,
    ) {
        self.load.read(records, selection.rows(), numbers);
        match &self.test {
            Test::Within(range) => {
                let range = *range;
                selection.keep(numbers, move |value, validity| {
                    validity & range.contains(value)
                });
            }
            Test::IsOneOf(ranges) => selection.keep(numbers, |value, validity| {
                validity && ranges.iter().any(|range| range.contains(value))
            }),
            Test::IsThere => selection.keep(numbers, |_, validity| validity),
            Test::IsMissing => selection.keep(numbers, |_, validity| !validity),
        }
    }
}

/// More conditions than these in one OR are left to the decoder.
const ALTERNATIVES_MAX: usize = 8;

impl Test {
    /// How many records may pass, in the rough: equality lets the fewest through.
    pub(crate) const fn selectivity(&self) -> u8 {
        match self {
            Self::Within(range) if range.more == 0 && !range.negated => 0,
            Self::IsOneOf(_) => 1,
            Self::Within(_) => 2,
            Self::IsThere | Self::IsMissing => 3,
        }
    }

    /// Whether it holds of a number that is there.
    pub(crate) fn accepts(&self, number: u64) -> bool {
        match self {
            Self::Within(range) => range.contains(number),
            Self::IsOneOf(ranges) => ranges.iter().any(|range| range.contains(number)),
            Self::IsThere => true,
            Self::IsMissing => false,
        }
    }
}

impl Range {
    /// The first of the numbers, how many more there are, and whether it is all others.
    pub(crate) const fn parts(&self) -> (u64, u64, bool) {
        (self.first, self.more, self.negated)
    }

    pub(crate) fn of(kind: Kind, operator: Operator, constant: &Constant) -> Option<Self> {
        let constant = match (kind, constant) {
            (Kind::Address, Constant::Bytes(bytes)) => {
                // As bytes, those of one length compare like the numbers.
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

    pub(crate) const fn from_to(first: u64, last: u64) -> Self {
        Self {
            first,
            more: last.wrapping_sub(first),
            negated: false,
        }
    }

    pub(crate) fn unsigned(operator: Operator, constant: u64) -> Self {
        Self::between(operator, 0, constant, u64::MAX)
    }

    pub(crate) fn signed(operator: Operator, constant: i64) -> Self {
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
                    let signed = Range::signed(operator, constant);
                    assert_eq!(
                        signed.contains(value as u64),
                        operator.holds(value.cmp(&constant)),
                        "{value} {operator:?} {constant}"
                    );
                    let (value, constant) = (value as u64, constant as u64);
                    assert_eq!(
                        Range::unsigned(operator, constant).contains(value),
                        operator.holds(value.cmp(&constant)),
                        "{value} {operator:?} {constant}"
                    );
                }
            }
        }
    }
}
