//! The fields and conditions of queries, in terms of plain fields.

use weir_bytes::Bits;
use weir_layout::Layout;
use weir_packet::{Extent, Kind, Location};

use super::condition::{NumberRange, Test};
use crate::{Branch, Calculation, Column, Expression, Operator, Origin, Predicate};

/// Everything that some aggregates need, with common parts once.
#[derive(Default)]
pub(super) struct ProgramPlan {
    /// Fields of headers.
    pub(super) fields: Vec<RequestedField>,
    pub(super) conditions: Vec<Condition>,
    /// The branches of the first aggregate, followed by those of the next.
    pub(super) branches: Vec<RequestedBranch>,
}

/// A field of a header.
pub(super) struct RequestedField {
    name: &'static str,
    pub(super) locations: &'static [Location],
}

/// A condition on numbers: one of these comparisons must hold, and mostly there is but one.
#[derive(Clone, PartialEq)]
pub(super) struct Condition {
    pub(super) any_of: Vec<Comparison>,
}

/// A number and its test.
#[derive(Clone, PartialEq)]
pub(super) struct Comparison {
    pub(super) value: PlannedValue,
    pub(super) test: Test,
}

impl Condition {
    /// The rough selectivity: equality lets the fewest records pass.
    pub(super) fn selectivity(&self) -> u8 {
        let each = self.any_of.iter().map(|one| one.test.selectivity());
        each.max().unwrap_or(0)
    }

    /// The fields of headers that it uses.
    pub(super) fn fields(&self) -> impl Iterator<Item = usize> {
        self.any_of.iter().filter_map(|one| match one.value.from {
            From::Field(field) => Some(field),
            _ => None,
        })
    }
}

/// A branch of an aggregate.
pub(super) struct RequestedBranch {
    /// The index of its aggregate.
    pub(super) aggregate: usize,
    /// The conditions that must be true.
    pub(super) conditions: Vec<usize>,
    pub(super) keys: Vec<PlannedValue>,
    /// `None` for an aggregate that has no argument.
    pub(super) arguments: Vec<Option<PlannedValue>>,
}

/// A number of a record: a plain field, or the result of operations on one with constants.
#[derive(Clone, PartialEq)]
pub(super) struct PlannedValue {
    pub(super) from: From,
    pub(super) steps: Vec<Calculated>,
    /// True for a flag, which is 0 or 1.
    pub(super) is_flag: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) struct Calculated {
    pub(super) calculation: Calculation,
    pub(super) constant: u64,
    pub(super) signed: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum From {
    /// The index of a field in [`ProgramPlan::fields`].
    Field(usize),
    /// Some bits of a record of a layout.
    Record(Bits),
    Number,
    Time,
    Len,
}

impl ProgramPlan {
    /// The branches of all aggregates; `None` when one of them needs more than plain fields of packets, or of the
    /// records of a layout.
    pub(super) fn new(aggregates: &[&[Branch]], layout: Option<&Layout>) -> Option<Self> {
        let mut plan = Self::default();
        for (aggregate, branches) in aggregates.iter().enumerate() {
            for branch in *branches {
                let branch = plan.branch(aggregate, branch, layout)?;
                plan.branches.push(branch);
            }
        }
        Some(plan)
    }

    /// Returns whether a predicate on packets uses plain fields only.
    pub(super) fn takes(predicate: &Predicate) -> bool {
        let mut plan = Self::default();
        plan.conditions(predicate, None, &mut Vec::new()).is_some()
    }

    fn branch(
        &mut self,
        aggregate: usize,
        branch: &Branch,
        layout: Option<&Layout>,
    ) -> Option<RequestedBranch> {
        if branch.filters.iter().any(Option::is_some) {
            return None;
        }
        let mut conditions = Vec::new();
        if let Some(predicate) = &branch.predicate {
            self.conditions(predicate, layout, &mut conditions)?;
        }
        let keys = branch.keys.iter().map(|key| self.value(key, layout));
        let keys = keys.collect::<Option<_>>()?;
        let arguments = branch.arguments.iter().map(|argument| match argument {
            None => Some(None),
            Some(argument) => self.value(argument, layout).map(Some),
        });
        Some(RequestedBranch {
            aggregate,
            conditions,
            keys,
            arguments: arguments.collect::<Option<_>>()?,
        })
    }

    fn conditions(
        &mut self,
        predicate: &Predicate,
        layout: Option<&Layout>,
        conditions: &mut Vec<usize>,
    ) -> Option<()> {
        if let Predicate::And(all) = predicate {
            return all
                .iter()
                .try_for_each(|one| self.conditions(one, layout, conditions));
        }
        let mut any_of = Vec::new();
        self.alternatives(predicate, layout, &mut any_of)?;
        let condition = Condition { any_of };
        let known = self.conditions.iter().position(|one| *one == condition);
        let index = known.unwrap_or_else(|| {
            self.conditions.push(condition);
            self.conditions.len() - 1
        });
        if !conditions.contains(&index) {
            conditions.push(index);
        }
        Some(())
    }

    fn alternatives(
        &mut self,
        predicate: &Predicate,
        layout: Option<&Layout>,
        any_of: &mut Vec<Comparison>,
    ) -> Option<()> {
        if let Predicate::Or(parts) = predicate {
            return parts
                .iter()
                .try_for_each(|part| self.alternatives(part, layout, any_of));
        }
        any_of.push(self.comparison(predicate, layout)?);
        (any_of.len() <= ALTERNATIVES_MAX).then_some(())
    }

    fn comparison(&mut self, predicate: &Predicate, layout: Option<&Layout>) -> Option<Comparison> {
        let (value, test) = match predicate {
            Predicate::Compare(column, operator, constant) => {
                let range = NumberRange::of(column.kind, *operator, constant)?;
                (self.column(column, layout)?, Test::Within(range))
            }
            Predicate::Calculated(expression, operator, constant)
                if expression.kind() == Kind::I64 =>
            {
                let range = NumberRange::signed(*operator, *constant);
                (self.value(expression, layout)?, Test::Within(range))
            }
            Predicate::In(column, constants) => {
                let ranges = constants
                    .iter()
                    .map(|constant| NumberRange::of(column.kind, Operator::Equal, constant));
                let ranges = ranges.collect::<Option<_>>()?;
                (self.column(column, layout)?, Test::IsOneOf(ranges))
            }
            Predicate::Within(column, network) => {
                let (first, last) = network.ipv4_range()?;
                let range = NumberRange::from_to(first.into(), last.into());
                (self.column(column, layout)?, Test::Within(range))
            }
            Predicate::IsTrue(column) => {
                let range = NumberRange::unsigned(Operator::Equal, 1);
                (self.column(column, layout)?, Test::Within(range))
            }
            Predicate::IsNull(column) => (self.column(column, layout)?, Test::IsMissing),
            Predicate::Not(inner) => match inner.as_ref() {
                Predicate::IsNull(column) => (self.column(column, layout)?, Test::IsThere),
                Predicate::IsTrue(column) => {
                    let range = NumberRange::unsigned(Operator::Equal, 0);
                    (self.column(column, layout)?, Test::Within(range))
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(Comparison { value, test })
    }

    /// The number of an expression; `None` when it uses anything else than one plain field and constants.
    fn value(&mut self, expression: &Expression, layout: Option<&Layout>) -> Option<PlannedValue> {
        match expression {
            Expression::Column(column) => self.column(column, layout),
            Expression::Constant(_) => None,
            Expression::Integer { of, .. } => self.value(of, layout),
            Expression::Calculate(left, calculation, right) => {
                let mut value = self.value(left, layout)?;
                let Expression::Constant(constant) = right.as_ref() else {
                    return None;
                };
                value.steps.push(Calculated {
                    calculation: *calculation,
                    constant: *constant as u64,
                    signed: left.kind() != Kind::U64,
                });
                Some(value)
            }
        }
    }

    fn column(&mut self, column: &Column, layout: Option<&Layout>) -> Option<PlannedValue> {
        let from = match (column.origin, layout) {
            (Origin::Packet(field, _), None) => match field.name {
                "frame.number" => From::Number,
                "frame.time" => From::Time,
                "frame.len" => From::Len,
                _ => self.field(field, column.kind)?,
            },
            (Origin::Layout(index), Some(layout)) => From::Record(layout.plain_number(index)?),
            _ => return None,
        };
        Some(PlannedValue {
            from,
            steps: Vec::new(),
            is_flag: column.kind == Kind::Bool,
        })
    }

    fn field(&mut self, field: &'static weir_packet::Field, kind: Kind) -> Option<From> {
        let is_plain = |location: &Location| match (kind, location.at) {
            // Longer addresses are not numbers, and those of other protocols are not compared with these.
            (Kind::Address, Extent::Bytes { len, .. }) => len == 4,
            (Kind::Bool | Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64, Extent::Bits(bits)) => {
                is_loaded(&bits)
            }
            _ => false,
        };
        if field.locations.is_empty() || !field.locations.iter().all(is_plain) {
            return None;
        }
        let known = self.fields.iter().position(|it| it.name == field.name);
        Some(From::Field(known.unwrap_or_else(|| {
            self.fields.push(RequestedField {
                name: field.name,
                locations: field.locations,
            });
            self.fields.len() - 1
        })))
    }

    /// Returns whether some query uses the time of a record, or its number.
    pub(super) fn needs(&self, from: From) -> bool {
        self.values().any(|value| value.from == from)
    }

    fn values(&self) -> impl Iterator<Item = &PlannedValue> {
        let of_branches = self
            .branches
            .iter()
            .flat_map(|branch| branch.keys.iter().chain(branch.arguments.iter().flatten()));
        let of_conditions = self.conditions.iter().flat_map(|it| &it.any_of);
        of_conditions.map(|one| &one.value).chain(of_branches)
    }
}

/// The number of comparisons in one OR above which it is left to the decoder.
const ALTERNATIVES_MAX: usize = 8;

/// Returns whether the bytes of the word are loaded in one go.
fn is_loaded(bits: &Bits) -> bool {
    matches!(bits.bytes(), 1..=4 | 8)
}
