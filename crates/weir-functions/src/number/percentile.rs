//! `percentile_cont` with all digits of its fraction: DataFusion's has six, so that 0.37 of four values is beside the number that
//! PostgreSQL and DuckDB give, by up to a millionth of the gap between two values.

use std::collections::HashMap;
use std::mem::{size_of, size_of_val, take};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Float64Builder, ListBuilder, RecordBatch,
};
use arrow::datatypes::{DataType, Field, FieldRef, Float64Type, Schema};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::functions_aggregate::percentile_cont::percentile_cont_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Documentation, EmitTo,
    GroupsAccumulator, Signature, Volatility,
};

const PERCENTILE_CONT: &str = "percentile_cont";

/// `percentile_cont(0.95) WITHIN GROUP (ORDER BY value)`, and `percentile_cont(value, 0.95)`.
pub(crate) fn percentile_cont() -> AggregateUDF {
    AggregateUDF::from(PercentileCont {
        inner: percentile_cont_udaf(),
        signature: Signature::user_defined(Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct PercentileCont {
    inner: Arc<AggregateUDF>,
    signature: Signature,
}

impl AggregateUDFImpl for PercentileCont {
    fn name(&self) -> &str {
        PERCENTILE_CONT
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let is_number = |kind: &DataType| kind.is_numeric() || kind.is_null();
        match types {
            [value, fraction] if is_number(value) && is_number(fraction) => {
                Ok(vec![DataType::Float64, DataType::Float64])
            }
            _ => plan_err!(
                "{PERCENTILE_CONT} takes numbers: {PERCENTILE_CONT}(0.95) WITHIN GROUP (ORDER BY frame.len)"
            ),
        }
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let item = Arc::new(Field::new_list_field(DataType::Float64, true));
        let name = format!("{}[values]", args.name);
        Ok(vec![Arc::new(Field::new(name, DataType::List(item), true))])
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OfOne {
            place: Position::of(&args)?,
            is_distinct: args.is_distinct,
            values: Vec::new(),
        }))
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(OfGroups {
            place: Position::of(&args)?,
            values: Vec::new(),
        }))
    }

    fn supports_within_group_clause(&self) -> bool {
        true
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}

/// The place of the wanted value among all.
#[derive(Clone, Copy, Debug)]
struct Position {
    fraction: f64,
    is_descending: bool,
}

impl Position {
    fn of(args: &AccumulatorArgs<'_>) -> Result<Self> {
        let fraction = args.exprs.get(1).and_then(|fraction| {
            let nothing = RecordBatch::new_empty(Arc::new(Schema::empty()));
            match fraction.evaluate(&nothing).ok()? {
                ColumnarValue::Scalar(ScalarValue::Float64(fraction)) => fraction,
                _ => None,
            }
        });
        match fraction.filter(|fraction| (0.0..=1.0).contains(fraction)) {
            Some(fraction) => Ok(Self {
                fraction,
                is_descending: args
                    .order_bys
                    .first()
                    .is_some_and(|order| order.options.descending),
            }),
            None => plan_err!("the fraction of {PERCENTILE_CONT} must be a constant from 0 to 1"),
        }
    }

    /// The value at this place, between the two that are around it; `None` where there are no values.
    fn value(self, values: &mut [f64]) -> Option<f64> {
        let last = values.len().checked_sub(1)?;
        let order = |one: &f64, other: &f64| match self.is_descending {
            true => other.total_cmp(one),
            false => one.total_cmp(other),
        };
        let place = self.fraction * last as f64;
        let below = place.floor();
        let (_, lower, above) = values.select_nth_unstable_by((below as usize).min(last), order);
        let lower = *lower;
        let upper = above.iter().copied().min_by(order);
        Some(match upper {
            // The difference of two infinities is not a number.
            Some(upper) if place > below && upper != lower => {
                lower + (upper - lower) * (place - below)
            }
            _ => lower,
        })
    }
}

/// The values of one group, or of a window.
#[derive(Debug)]
struct OfOne {
    place: Position,
    is_distinct: bool,
    values: Vec<f64>,
}

impl Accumulator for OfOne {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        if let Some(values) = values.first() {
            let values = values.as_primitive::<Float64Type>();
            self.values.extend(values.iter().flatten());
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        if !self.is_distinct {
            return Ok(ScalarValue::Float64(self.place.value(&mut self.values)));
        }
        let mut values = self.values.clone();
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        Ok(ScalarValue::Float64(self.place.value(&mut values)))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let values = Float64Array::from(take(&mut self.values));
        let list = SingleRowListArrayBuilder::new(Arc::new(values));
        Ok(vec![list.build_list_scalar()])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        if let Some(lists) = states.first() {
            for values in lists.as_list::<i32>().iter().flatten() {
                self.update_batch(&[values])?;
            }
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(values) = values.first() else {
            return Ok(());
        };
        let mut gone: HashMap<u64, usize> = HashMap::new();
        for value in values.as_primitive::<Float64Type>().iter().flatten() {
            *gone.entry(value.to_bits()).or_default() += 1;
        }
        self.values
            .retain(|value| match gone.get_mut(&value.to_bits()) {
                Some(times) if *times > 0 => {
                    *times -= 1;
                    false
                }
                _ => true,
            });
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.values.capacity() * size_of::<f64>()
    }
}

/// The values of all groups.
#[derive(Debug)]
struct OfGroups {
    place: Position,
    values: Vec<Vec<f64>>,
}

impl GroupsAccumulator for OfGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        groups_count: usize,
    ) -> Result<()> {
        self.values.resize(groups_count, Vec::new());
        let Some(values) = values.first() else {
            return Ok(());
        };
        let values = values.as_primitive::<Float64Type>();
        for (row, (group, value)) in groups.iter().zip(values).enumerate() {
            if let Some(value) = value.filter(|_| is_wanted(filter, row))
                && let Some(values) = self.values.get_mut(*group)
            {
                values.push(value);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let groups = emit.take_needed(&mut self.values).into_iter();
        let values = groups.map(|mut values| self.place.value(&mut values));
        Ok(Arc::new(values.collect::<Float64Array>()))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let mut lists = ListBuilder::new(Float64Builder::new());
        for values in emit.take_needed(&mut self.values) {
            lists.values().append_slice(&values);
            lists.append(true);
        }
        Ok(vec![Arc::new(lists.finish())])
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        groups: &[usize],
        groups_count: usize,
    ) -> Result<()> {
        self.values.resize(groups_count, Vec::new());
        let Some(lists) = states.first() else {
            return Ok(());
        };
        for (group, list) in groups.iter().zip(lists.as_list::<i32>().iter()) {
            if let (Some(list), Some(values)) = (list, self.values.get_mut(*group)) {
                values.extend(list.as_primitive::<Float64Type>().iter().flatten());
            }
        }
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let mut lists = ListBuilder::new(Float64Builder::new());
        if let Some(values) = values.first() {
            let values = values.as_primitive::<Float64Type>().iter();
            for (row, value) in values.enumerate() {
                if let Some(value) = value.filter(|_| is_wanted(filter, row)) {
                    lists.values().append_value(value);
                }
                lists.append(true);
            }
        }
        Ok(vec![Arc::new(lists.finish())])
    }

    fn size(&self) -> usize {
        let values = self.values.iter().map(Vec::capacity).sum::<usize>();
        values * size_of::<f64>() + self.values.capacity() * size_of::<Vec<f64>>()
    }
}

/// Returns whether a row passes the FILTER of an aggregate.
pub(super) fn is_wanted(filter: Option<&BooleanArray>, row: usize) -> bool {
    filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers are those of PostgreSQL 15.
    #[test]
    fn a_percentile_has_all_digits_of_its_fraction() {
        let value = |fraction: f64, is_descending: bool, values: &[f64]| {
            let place = Position {
                fraction,
                is_descending,
            };
            place.value(&mut values.to_vec())
        };
        let few = [7.0, 1.0, 4.0, 2.0];
        assert_eq!(value(0.37, false, &few), Some(2.219_999_999_999_999_8));
        assert_eq!(value(0.5, false, &few), Some(3.0));
        assert_eq!(value(0.0, false, &few), Some(1.0));
        assert_eq!(value(1.0, false, &few), Some(7.0));
        assert_eq!(value(0.25, true, &few), Some(4.75));
        assert_eq!(
            value(0.123_456_789, false, &[1e9, 0.0]),
            Some(123_456_789.0)
        );
        let infinite = [f64::INFINITY, f64::INFINITY];
        assert_eq!(value(0.5, false, &infinite), Some(f64::INFINITY));
        assert_eq!(value(0.5, false, &[]), None);
    }

    #[test]
    fn values_leave_a_window_as_often_as_they_came() {
        let mut values = OfOne {
            place: Position {
                fraction: 0.5,
                is_descending: false,
            },
            is_distinct: false,
            values: Vec::new(),
        };
        let column = |values: Vec<f64>| -> ArrayRef { Arc::new(Float64Array::from(values)) };
        values
            .update_batch(&[column(vec![1.0, 2.0, 2.0, 9.0])])
            .unwrap();
        values.retract_batch(&[column(vec![1.0, 2.0])]).unwrap();
        assert_eq!(values.evaluate().unwrap(), ScalarValue::Float64(Some(5.5)));
        let state = values.state().unwrap();
        let [list] = state.as_slice() else {
            panic!("one list");
        };
        values.merge_batch(&[list.to_array().unwrap()]).unwrap();
        assert_eq!(values.evaluate().unwrap(), ScalarValue::Float64(Some(5.5)));
    }
}
