//! The groups of the windows that are open.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray};
use arrow::compute::{filter, not};
use arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::GroupsAccumulatorAdapter;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;

use super::keys::KeyTable;

/// Each group by its key, of which the window is a part, with what its aggregates have seen and
/// when it closes.
pub(crate) struct Groups {
    keys: KeyTable,
    aggregates: Vec<Arc<AggregateFunctionExpr>>,
    accumulators: Vec<Box<dyn GroupsAccumulator>>,
    closes: Vec<i64>,
    numbers: Vec<usize>,
}

impl Groups {
    pub(crate) fn new(
        kinds: &[DataType],
        aggregates: Vec<Arc<AggregateFunctionExpr>>,
    ) -> Result<Self> {
        Ok(Self {
            keys: KeyTable::new(kinds)?,
            accumulators: accumulators(&aggregates)?,
            aggregates,
            closes: Vec::new(),
            numbers: Vec::new(),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.closes.len()
    }

    /// Bytes held.
    pub(crate) fn size(&self) -> usize {
        let states = self.accumulators.iter().map(|state| state.size());
        states
            .fold(self.keys.size(), usize::saturating_add)
            .saturating_add(self.closes.len().saturating_mul(size_of::<i64>()))
    }

    /// Adds rows. `closes` has for each row the time at which its group closes, as far as known by then: that of the
    /// last row of a group counts.
    pub(crate) fn add(
        &mut self,
        keys: &[ArrayRef],
        closes: &[i64],
        arguments: &[Vec<ArrayRef>],
        filters: &[Option<ArrayRef>],
    ) -> Result<()> {
        self.keys.number(keys, closes.len(), &mut self.numbers)?;
        let groups = self.keys.len();
        self.closes.resize(groups, i64::MAX);
        for (number, closes) in self.numbers.iter().zip(closes) {
            if let Some(known) = self.closes.get_mut(*number) {
                *known = *closes;
            }
        }
        let parts = self.accumulators.iter_mut().zip(arguments).zip(filters);
        for ((accumulator, arguments), filter) in parts {
            let filter = filter.as_ref().map(AsArray::as_boolean);
            accumulator.update_batch(arguments, &self.numbers, filter, groups)?;
        }
        Ok(())
    }

    /// Removes the groups that have closed by `now`: returns their keys and the values of their aggregates, in the order in which
    /// they were opened. `None` when there are none.
    pub(crate) fn take_closed(&mut self, now: i64) -> Result<Option<Vec<ArrayRef>>> {
        let closed = self.closes.iter().filter(|closes| **closes <= now).count();
        if closed == 0 {
            return Ok(None);
        }
        if closed == self.len() {
            return self.take_all();
        }
        let keep: BooleanArray = self
            .closes
            .iter()
            .map(|closes| Some(*closes > now))
            .collect();
        let leave = not(&keep)?;
        let mut columns = self.keys.take(&keep)?;
        let is_prefix = self.closes.iter().take(closed).all(|closes| *closes <= now);
        self.closes.retain(|closes| *closes > now);
        for (accumulator, aggregate) in self.accumulators.iter_mut().zip(&self.aggregates) {
            if is_prefix {
                columns.push(accumulator.evaluate(EmitTo::First(closed))?);
                continue;
            }
            // Closed groups stand between open ones: both go into accumulators of their own.
            let states = accumulator.state(EmitTo::All)?;
            let mut closing = merged(aggregate, &states, &leave)?;
            *accumulator = merged(aggregate, &states, &keep)?;
            columns.push(closing.evaluate(EmitTo::All)?);
        }
        Ok(Some(columns))
    }

    /// Removes all groups.
    pub(crate) fn take_all(&mut self) -> Result<Option<Vec<ArrayRef>>> {
        if self.closes.is_empty() {
            return Ok(None);
        }
        self.closes.clear();
        let mut columns = self.keys.take_all()?;
        for accumulator in &mut self.accumulators {
            columns.push(accumulator.evaluate(EmitTo::All)?);
        }
        self.accumulators = accumulators(&self.aggregates)?;
        Ok(Some(columns))
    }
}

fn accumulators(
    aggregates: &[Arc<AggregateFunctionExpr>],
) -> Result<Vec<Box<dyn GroupsAccumulator>>> {
    aggregates.iter().map(accumulator).collect()
}

fn accumulator(aggregate: &Arc<AggregateFunctionExpr>) -> Result<Box<dyn GroupsAccumulator>> {
    if aggregate.groups_accumulator_supported() {
        return aggregate.create_groups_accumulator();
    }
    let aggregate = Arc::clone(aggregate);
    let one = move || aggregate.create_accumulator();
    Ok(Box::new(GroupsAccumulatorAdapter::new(one)))
}

/// An accumulator for the groups that are wanted, out of the states of all.
fn merged(
    aggregate: &Arc<AggregateFunctionExpr>,
    states: &[ArrayRef],
    wanted: &BooleanArray,
) -> Result<Box<dyn GroupsAccumulator>> {
    let mut result = accumulator(aggregate)?;
    let count = wanted.true_count();
    let states = states.iter().map(|state| filter(state, wanted));
    let states = states.collect::<Result<Vec<_>, _>>()?;
    let numbers: Vec<usize> = (0..count).collect();
    result.merge_batch(&states, &numbers, count)?;
    Ok(result)
}
