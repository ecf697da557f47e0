//! Questions that can be answered from the bytes of a usual packet, without decoding it whole: plain
//! fields compared with constants, used as keys and added up.

use weir_capture::WriteRecord;
use weir_packet::layout::{Layout, PlainNumber};
use weir_packet::{Kind, LayerSet, LinkType, Options, Outline, Spot};

use crate::aggregate::Branch;
use crate::{Calculation, Column, Constant, Expression, Operator, Origin, Predicate};

/// A record as it comes out of the capture.
#[derive(Clone, Copy)]
pub(crate) struct RawRow<'r> {
    pub(crate) number: u64,
    pub(crate) time_ns: Option<i64>,
    pub(crate) wire_len: u32,
    pub(crate) link_type: LinkType,
    pub(crate) data: &'r [u8],
}

impl<'r> RawRow<'r> {
    /// Draws the outline of its packet; false when it is not a usual one.
    #[inline]
    pub(crate) fn draw(&self, options: &Options, wanted: LayerSet, outline: &mut Outline) -> bool {
        if wanted == LayerSet::EMPTY && self.has_plain_length() {
            return true;
        }
        outline.draw(self.link_type, self.data, self.wire_len, options, wanted)
    }

    /// The record as it is written into a capture.
    pub(crate) fn to_write(self) -> WriteRecord<'r> {
        let time_ns = self.time_ns.unwrap_or(0);
        let mut record = WriteRecord::new(self.link_type.0, time_ns, self.data);
        record.wire_len = self.wire_len;
        record
    }

    /// No header of the capturing system counts in the record's length, or ERF's, which says it
    /// itself.
    #[inline]
    fn has_plain_length(&self) -> bool {
        self.link_type == LinkType::ETHERNET
            || (self.link_type == LinkType::ERF && self.data.len() >= ERF_HEADER_LEN)
    }
}

/// One branch of an aggregation.
pub(crate) struct RawBranch {
    /// All must hold.
    conditions: Vec<Condition>,
    pub(crate) keys: Vec<Load>,
    /// `None` for an aggregate that has no argument.
    pub(crate) arguments: Vec<Option<Load>>,
}

/// A number of a row.
pub(crate) struct Load {
    from: From,
    steps: Vec<(Calculation, u64)>,
    signed: bool,
}

enum From {
    Spot(Spot),
    /// Of a record of a layout.
    Record(PlainNumber),
    Number,
    Time,
    Len,
}

struct Condition {
    load: Load,
    test: Test,
}

enum Test {
    Unsigned(Operator, u64),
    Signed(Operator, i64),
    IsThere,
    IsMissing,
}

impl RawBranch {
    /// The branch in terms of plain fields of packets, or of the records of a layout; `None` when it
    /// asks for anything else, or for both.
    pub(crate) fn new(branch: &Branch, layout: Option<&Layout>) -> Option<Self> {
        if branch.filters.iter().any(Option::is_some) {
            return None;
        }
        let mut conditions = Vec::new();
        if let Some(predicate) = &branch.predicate {
            add_conditions(predicate, layout, &mut conditions)?;
        }
        let keys = branch.keys.iter().map(|key| Load::new(key, layout));
        let keys = keys.collect::<Option<_>>()?;
        let argument = |argument: &Option<Expression>| match argument {
            None => Some(None),
            Some(argument) => Load::new(argument, layout).map(Some),
        };
        let arguments = branch.arguments.iter().map(argument);
        Some(Self {
            conditions,
            keys,
            arguments: arguments.collect::<Option<_>>()?,
        })
    }

    /// The headers that are looked at.
    pub(crate) fn layers(&self) -> LayerSet {
        let conditions = self.conditions.iter().map(|condition| &condition.load);
        let loads = conditions.chain(&self.keys);
        loads
            .chain(self.arguments.iter().flatten())
            .fold(LayerSet::EMPTY, |layers, load| match &load.from {
                From::Spot(spot) => layers.union(spot.layers()),
                _ => layers,
            })
    }

    #[inline]
    pub(crate) fn keeps(&self, row: &RawRow<'_>, outline: &Outline) -> bool {
        self.conditions
            .iter()
            .all(|condition| condition.holds(row, outline))
    }
}

/// The parts of a conjunction.
fn add_conditions(
    predicate: &Predicate,
    layout: Option<&Layout>,
    conditions: &mut Vec<Condition>,
) -> Option<()> {
    let (load, test) = match predicate {
        Predicate::And(all) => {
            return all
                .iter()
                .try_for_each(|part| add_conditions(part, layout, conditions));
        }
        Predicate::Compare(column, operator, Constant::Integer(constant)) => {
            let test = match column.kind {
                Kind::Time => Test::Signed(*operator, i64::try_from(*constant).ok()?),
                _ => Test::Unsigned(*operator, u64::try_from(*constant).ok()?),
            };
            (Load::column(column, layout)?, test)
        }
        Predicate::Calculated(expression, operator, constant) if expression.kind() == Kind::I64 => {
            (
                Load::new(expression, layout)?,
                Test::Signed(*operator, *constant),
            )
        }
        Predicate::IsTrue(column) => (
            Load::column(column, layout)?,
            Test::Unsigned(Operator::Equal, 1),
        ),
        Predicate::IsNull(column) => (Load::column(column, layout)?, Test::IsMissing),
        Predicate::Not(inner) => match inner.as_ref() {
            Predicate::IsNull(column) => (Load::column(column, layout)?, Test::IsThere),
            Predicate::IsTrue(column) => (
                Load::column(column, layout)?,
                Test::Unsigned(Operator::Equal, 0),
            ),
            _ => return None,
        },
        _ => return None,
    };
    conditions.push(Condition { load, test });
    Some(())
}

impl Condition {
    #[inline]
    fn holds(&self, row: &RawRow<'_>, outline: &Outline) -> bool {
        let value = self.load.bits(row, outline);
        match (&self.test, value) {
            (Test::Unsigned(operator, constant), Some(value)) => {
                operator.holds(value.cmp(constant))
            }
            (Test::Signed(operator, constant), Some(value)) => {
                operator.holds((value as i64).cmp(constant))
            }
            (Test::IsThere, value) => value.is_some(),
            (Test::IsMissing, value) => value.is_none(),
            (_, None) => false,
        }
    }
}

impl Load {
    fn new(expression: &Expression, layout: Option<&Layout>) -> Option<Self> {
        match expression {
            Expression::Column(column) => Self::column(column, layout),
            Expression::Constant(_) => None,
            Expression::Integer { signed, of } => {
                let mut load = Self::new(of, layout)?;
                load.signed = *signed;
                Some(load)
            }
            Expression::Calculate(left, calculation, right) => {
                let mut load = Self::new(left, layout)?;
                let Expression::Constant(constant) = right.as_ref() else {
                    return None;
                };
                load.signed = left.kind() != Kind::U64;
                load.steps.push((*calculation, *constant as u64));
                Some(load)
            }
        }
    }

    fn column(column: &Column, layout: Option<&Layout>) -> Option<Self> {
        let from = match (column.origin, layout) {
            (Origin::Packet(field, _), None) => match field.name {
                "frame.number" => From::Number,
                "frame.time" => From::Time,
                "frame.len" => From::Len,
                name => From::Spot(Spot::of(name)?),
            },
            (Origin::Layout(index), Some(layout)) => From::Record(layout.plain_number(index)?),
            _ => return None,
        };
        Some(Self {
            from,
            steps: Vec::new(),
            signed: column.kind == Kind::Time,
        })
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a fifth of the cost of a record")]
    pub(crate) fn bits(&self, row: &RawRow<'_>, outline: &Outline) -> Option<u64> {
        let value = match &self.from {
            From::Spot(spot) => spot.read(row.data, outline)?,
            From::Record(number) => number.read(row.data)?,
            From::Number => row.number,
            From::Time => row.time_ns? as u64,
            From::Len if row.link_type == LinkType::ERF => {
                u64::from(weir_bytes::u16_be_at(row.data, ERF_WIRE_LEN_AT)?)
            }
            From::Len => u64::from(row.wire_len),
        };
        let steps = self.steps.iter();
        Some(steps.fold(value, |value, (calculation, constant)| {
            calculation.apply(value, *constant, self.signed)
        }))
    }
}

const ERF_HEADER_LEN: usize = 16;
const ERF_WIRE_LEN_AT: usize = 14;
