//! A number of each record.

use weir_packet::layout::{Layout, PlainNumber};
use weir_packet::{Kind, LayerSet, Spot};

use super::{Numbers, Records};
use crate::{Calculation, Column, Expression, Origin};

/// A plain field, or what is computed of one with constants.
#[derive(Clone, PartialEq)]
pub(crate) struct Load {
    from: From,
    steps: Vec<(Calculation, u64)>,
    signed: bool,
}

#[derive(Clone, PartialEq)]
enum From {
    Spot(Spot),
    /// Of a record of a layout.
    Record(PlainNumber),
    Number,
    Time,
    Len,
}

impl Load {
    /// The numbers of an expression, in packets or in the records of a layout; `None` when it asks for
    /// anything else than one plain field and constants.
    pub(crate) fn new(expression: &Expression, layout: Option<&Layout>) -> Option<Self> {
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
                load.then(*calculation, *constant as u64);
                Some(load)
            }
        }
    }

    pub(super) fn column(column: &Column, layout: Option<&Layout>) -> Option<Self> {
        let from = match (column.origin, layout) {
            (Origin::Packet(field, _), None) => match field.name {
                "frame.number" => From::Number,
                "frame.time" => From::Time,
                "frame.len" => From::Len,
                _ => From::Spot(Spot::of(field)?),
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

    /// Adds a step; shifts and masks become part of how the bits are read.
    fn then(&mut self, calculation: Calculation, constant: u64) {
        let folded = match &self.from {
            _ if !self.steps.is_empty() => None,
            From::Spot(spot) => match calculation {
                Calculation::ShiftRight => {
                    Some(From::Spot(spot.shifted_right((constant & 63) as u32)))
                }
                Calculation::And => Some(From::Spot(spot.masked(constant))),
                _ => None,
            },
            From::Record(number) => match calculation {
                Calculation::ShiftRight => number.shifted_right((constant & 63) as u32),
                Calculation::And => number.masked(constant),
                _ => None,
            }
            .map(From::Record),
            _ => None,
        };
        match folded {
            Some(from) => self.from = from,
            None => self.steps.push((calculation, constant)),
        }
    }

    /// The headers that are looked at.
    pub(super) const fn layers(&self) -> LayerSet {
        match &self.from {
            From::Spot(spot) => spot.layers(),
            _ => LayerSet::EMPTY,
        }
    }

    /// It is the time of the record.
    pub(super) const fn is_time(&self) -> bool {
        matches!(self.from, From::Time)
    }

    /// Reads the number of each of these records.
    pub(crate) fn read(&self, records: &Records<'_>, rows: &[u8], numbers: &mut Numbers) {
        self.from.read(records, rows, numbers);
        for (calculation, constant) in &self.steps {
            for value in &mut numbers.values[..rows.len()] {
                *value = calculation.apply(*value, *constant, self.signed);
            }
        }
    }
}

impl From {
    fn read(&self, records: &Records<'_>, rows: &[u8], numbers: &mut Numbers) {
        let Numbers { values, validity } = numbers;
        let (values, validity) = (&mut values[..rows.len()], &mut validity[..rows.len()]);
        let block = records.block;
        match self {
            Self::Spot(spot) => {
                let header_offsets = &*records.header_offsets;
                let frames = rows
                    .iter()
                    .map(|row| (block.start(*row), &header_offsets[usize::from(*row)]));
                return spot.read_each(records.window, frames, values, validity);
            }
            Self::Record(number) => {
                let starts = rows.iter().map(|row| block.start(*row));
                return number.read_each(records.window, starts, values, validity);
            }
            Self::Number => each(values, rows, |row| block.first_number() + u64::from(row)),
            Self::Time => each(values, rows, |row| block.time_ns(row) as u64),
            Self::Len => each(values, rows, |row| u64::from(block.wire_len(row))),
        }
        validity.fill(true);
    }
}

/// A loop of its own for each kind of number.
#[inline(always)]
#[allow(clippy::inline_always, reason = "a call for each record otherwise")]
fn each(values: &mut [u64], rows: &[u8], number: impl Fn(u8) -> u64) {
    for (value, row) in values.iter_mut().zip(rows) {
        *value = number(*row);
    }
}
