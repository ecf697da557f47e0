//! The bounds of a join's condition on the difference of times.

use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::JoinSide;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Column, Literal};
use datafusion::physical_plan::joins::utils::JoinFilter;

use crate::window::length::nanoseconds;

/// The right row's time less the left row's lies between `low` and `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// The columns with the times, in the two inputs.
    pub(crate) left: usize,
    pub(crate) right: usize,
    /// Nanoseconds.
    pub(crate) low: i64,
    pub(crate) high: i64,
}

impl Bounds {
    /// The bounds that follow from the condition; `None` unless they are both there, for one pair
    /// of columns.
    pub(crate) fn of(filter: &JoinFilter) -> Option<Self> {
        let mut ranges: Vec<Range> = Vec::new();
        collect(filter.expression(), filter, &mut ranges);
        ranges.iter().find_map(|first| {
            let same = |range: &&Range| (range.left, range.right) == (first.left, first.right);
            let lows = ranges.iter().filter(same).filter_map(|range| range.low);
            let highs = ranges.iter().filter(same).filter_map(|range| range.high);
            Some(Self {
                left: first.left,
                right: first.right,
                low: lows.max()?,
                high: highs.min()?,
            })
        })
    }
}

/// The bound of one comparison.
struct Range {
    left: usize,
    right: usize,
    low: Option<i64>,
    high: Option<i64>,
}

fn collect(expr: &Arc<dyn PhysicalExpr>, filter: &JoinFilter, ranges: &mut Vec<Range>) {
    let Some(binary) = expr.downcast_ref::<BinaryExpr>() else {
        return;
    };
    if *binary.op() == Operator::And {
        collect(binary.left(), filter, ranges);
        collect(binary.right(), filter, ranges);
        return;
    }
    let sides = Linear::of(binary.left(), filter).zip(Linear::of(binary.right(), filter));
    ranges.extend(sides.and_then(|(one, other)| range(&one.minus(&other)?, *binary.op())));
}

/// The bound of `difference op 0` on the right time less the left time.
fn range(difference: &Linear, op: Operator) -> Option<Range> {
    let ((left, left_times), (right, right_times)) = (difference.left?, difference.right?);
    let offset = difference.offset_ns;
    let (mut low, mut high) = match op {
        Operator::Gt | Operator::GtEq => (Some(offset.checked_neg()?), None),
        Operator::Lt | Operator::LtEq => (None, Some(offset.checked_neg()?)),
        Operator::Eq => (Some(offset.checked_neg()?), Some(offset.checked_neg()?)),
        _ => return None,
    };
    match (left_times, right_times) {
        (-1, 1) => {}
        // The bounds are the same with the other sign.
        (1, -1) => {
            let turned = |bound: i64| bound.checked_neg();
            (low, high) = (high.and_then(turned), low.and_then(turned));
        }
        _ => return None,
    }
    Some(Range {
        left,
        right,
        low,
        high,
    })
}

/// A sum of times and lengths of time: each column with how often it is in it.
#[derive(Clone, Copy, Debug, Default)]
struct Linear {
    left: Option<(usize, i8)>,
    right: Option<(usize, i8)>,
    offset_ns: i64,
}

impl Linear {
    fn of(expr: &Arc<dyn PhysicalExpr>, filter: &JoinFilter) -> Option<Self> {
        if let Some(column) = expr.downcast_ref::<Column>() {
            let field = filter.schema().fields().get(column.index())?;
            let in_ns = matches!(
                field.data_type(),
                DataType::Timestamp(TimeUnit::Nanosecond, _)
            );
            let origin = filter.column_indices().get(column.index())?;
            let term = in_ns.then_some((origin.index, 1));
            return match origin.side {
                JoinSide::Left => Some(Self {
                    left: Some(term?),
                    ..Self::default()
                }),
                JoinSide::Right => Some(Self {
                    right: Some(term?),
                    ..Self::default()
                }),
                JoinSide::None => None,
            };
        }
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            let offset_ns = nanoseconds(literal.value())?;
            return Some(Self {
                offset_ns,
                ..Self::default()
            });
        }
        if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            // The difference of two times is cast to an interval where it is compared with one.
            let is_interval = matches!(cast.cast_type(), DataType::Interval(_));
            return is_interval.then(|| Self::of(cast.expr(), filter)).flatten();
        }
        let binary = expr.downcast_ref::<BinaryExpr>()?;
        let one = Self::of(binary.left(), filter)?;
        let other = Self::of(binary.right(), filter)?;
        match binary.op() {
            Operator::Plus => one.minus(&Self::default().minus(&other)?),
            Operator::Minus => one.minus(&other),
            _ => None,
        }
    }

    fn minus(&self, other: &Self) -> Option<Self> {
        Some(Self {
            left: term_minus(self.left, other.left)?,
            right: term_minus(self.right, other.right)?,
            offset_ns: self.offset_ns.checked_sub(other.offset_ns)?,
        })
    }
}

/// The difference of two terms; `None` when they are of different columns.
fn term_minus(one: Option<(usize, i8)>, other: Option<(usize, i8)>) -> Option<Option<(usize, i8)>> {
    Some(match (one, other) {
        (one, None) => one,
        (None, Some((column, times))) => Some((column, times.checked_neg()?)),
        (Some((column, times)), Some((same, others))) if column == same => {
            Some((column, times.checked_sub(others)?))
        }
        _ => return None,
    })
}
