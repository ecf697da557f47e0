//! `sum` of decimals whose type has no room for further digits, which fails where its value has more than 38.
//!
//! DataFusion's own wraps around at 128 bits, and shows a sum of 39 digits without its last one. Sums of decimals of fewer than 28 digits have
//! ten digits more than these, and stay DataFusion's.

use std::mem::{size_of, size_of_val};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray, Decimal128Array};
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, Decimal128Type, i256};
use arrow::error::ArrowError;
use datafusion::common::ScalarValue;
use datafusion::common::cast::as_primitive_array;
use datafusion::error::Result;
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

use super::percentile::is_wanted;

fn too_large() -> ArrowError {
    ArrowError::ArithmeticOverflow("a sum of decimals has more than 38 digits".to_owned())
}

/// The sum, if a decimal has room for it.
fn in_room(sum: i128) -> Result<i128, ArrowError> {
    match sum.unsigned_abs() < TOO_LARGE {
        true => Ok(sum),
        false => Err(too_large()),
    }
}

/// The first number of 39 digits.
const TOO_LARGE: u128 = 10_u128.pow(38);

/// A sum. It is exact while it grows, so that it does not depend on the order of the values.
#[derive(Debug)]
pub(super) struct DecimalTotal {
    sum: i256,
    count: u64,
    scale: i8,
}

impl DecimalTotal {
    pub(super) const fn new(scale: i8) -> Self {
        Self {
            sum: i256::ZERO,
            count: 0,
            scale,
        }
    }

    /// The sum of the values, with their number. 256 bits have room for as many decimals as 64 bits count.
    fn of(values: &ArrayRef) -> Result<(i256, u64)> {
        let values = as_primitive_array::<Decimal128Type>(values)?;
        let all = values.iter().flatten().map(i256::from_i128);
        let sum = all.fold(i256::ZERO, i256::wrapping_add);
        Ok((sum, (values.len() - values.null_count()) as u64))
    }
}

impl Accumulator for DecimalTotal {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for values in values.iter().take(1) {
            let (sum, count) = Self::of(values)?;
            self.sum = self.sum.wrapping_add(sum);
            self.count = self.count.saturating_add(count);
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for values in values.iter().take(1) {
            let (sum, count) = Self::of(values)?;
            self.sum = self.sum.wrapping_sub(sum);
            self.count = self.count.saturating_sub(count);
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = match self.count {
            0 => None,
            _ => Some(in_room(self.sum.to_i128().ok_or_else(too_large)?)?),
        };
        Ok(ScalarValue::Decimal128(
            sum,
            DECIMAL128_MAX_PRECISION,
            self.scale,
        ))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The sum of different values, which DataFusion's own accumulator collects.
#[derive(Debug)]
pub(super) struct DistinctDecimals {
    pub(super) values: Box<dyn Accumulator>,
    pub(super) scale: i8,
}

impl Accumulator for DistinctDecimals {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut total = DecimalTotal::new(self.scale);
        for state in self.values.state()? {
            let ScalarValue::List(list) = state else {
                return self.values.evaluate();
            };
            total.update_batch(&[Arc::clone(list.values())])?;
        }
        total.evaluate()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.values.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.values.merge_batch(states)
    }

    fn size(&self) -> usize {
        self.values.size()
    }
}

/// The sums of all groups.
#[derive(Debug)]
pub(super) struct GroupDecimals {
    sums: Vec<i128>,
    seen: Vec<bool>,
    scale: i8,
}

impl GroupDecimals {
    pub(super) const fn new(scale: i8) -> Self {
        Self {
            sums: Vec::new(),
            seen: Vec::new(),
            scale,
        }
    }

    fn take(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let sums = emit.take_needed(&mut self.sums);
        let seen = emit.take_needed(&mut self.seen);
        let sums = sums.into_iter().zip(seen);
        let sums = sums.map(|(sum, seen)| seen.then(|| in_room(sum)).transpose());
        let sums = sums.collect::<Result<Decimal128Array, ArrowError>>()?;
        let sums = sums.with_precision_and_scale(DECIMAL128_MAX_PRECISION, self.scale)?;
        Ok(Arc::new(sums))
    }
}

impl GroupsAccumulator for GroupDecimals {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        groups_count: usize,
    ) -> Result<()> {
        self.sums.resize(groups_count, 0);
        self.seen.resize(groups_count, false);
        for values in values.iter().take(1) {
            let values = as_primitive_array::<Decimal128Type>(values)?;
            for (row, (group, value)) in groups.iter().zip(values).enumerate() {
                let Some(value) = value.filter(|_| is_wanted(filter, row)) else {
                    continue;
                };
                if let (Some(sum), Some(seen)) =
                    (self.sums.get_mut(*group), self.seen.get_mut(*group))
                {
                    *sum = sum.checked_add(value).ok_or_else(too_large)?;
                    *seen = true;
                }
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        self.take(emit)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.take(emit)?])
    }

    fn merge_batch(
        &mut self,
        states: &[ArrayRef],
        groups: &[usize],
        groups_count: usize,
    ) -> Result<()> {
        self.update_batch(states, groups, None, groups_count)
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let mut states: Vec<ArrayRef> = Vec::with_capacity(values.len());
        for values in values.iter().take(1) {
            let values = as_primitive_array::<Decimal128Type>(values)?;
            let rows = values.iter().enumerate();
            let wanted = rows.map(|(row, value)| value.filter(|_| is_wanted(filter, row)));
            let state: Decimal128Array = wanted.collect();
            let state = state.with_precision_and_scale(DECIMAL128_MAX_PRECISION, self.scale)?;
            states.push(Arc::new(state));
        }
        Ok(states)
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<i128>() + self.seen.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: i128 = 10_i128.pow(38) - 1;

    fn decimals(values: &[Option<i128>]) -> ArrayRef {
        let values = Decimal128Array::from(values.to_vec());
        Arc::new(values.with_precision_and_scale(38, 2).unwrap())
    }

    /// The sum of four of them wrapped around to one of 38 digits.
    #[test]
    fn a_sum_has_38_digits() {
        for (values, expected) in [
            (vec![Some(MOST); 4], Err(())),
            (vec![Some(MOST), Some(1)], Err(())),
            (vec![Some(-MOST), Some(-1)], Err(())),
            (vec![Some(MOST), Some(MOST), Some(-MOST)], Ok(Some(MOST))),
            (vec![Some(1), None, Some(2)], Ok(Some(3))),
            (vec![None], Ok(None)),
        ] {
            let mut total = DecimalTotal::new(2);
            total.update_batch(&[decimals(&values)]).unwrap();
            let sum = total.evaluate().map_err(|_| ());
            let expected = expected.map(|sum| ScalarValue::Decimal128(sum, 38, 2));
            assert_eq!(sum, expected, "{values:?}");
        }
    }

    #[test]
    fn what_leaves_a_frame_makes_room() {
        let mut total = DecimalTotal::new(2);
        total.update_batch(&[decimals(&[Some(MOST); 3])]).unwrap();
        total.retract_batch(&[decimals(&[Some(MOST); 2])]).unwrap();
        let sum = ScalarValue::Decimal128(Some(MOST), 38, 2);
        assert_eq!(total.evaluate().unwrap(), sum);
    }

    #[test]
    fn sums_of_groups_have_38_digits() {
        let mut totals = GroupDecimals::new(2);
        let values = decimals(&[Some(MOST), Some(1), None]);
        totals
            .update_batch(&[Arc::clone(&values)], &[0, 1, 2], None, 3)
            .unwrap();
        let sums = totals.evaluate(EmitTo::All).unwrap();
        assert_eq!(&sums, &values);
        totals.update_batch(&[values], &[0, 0, 0], None, 1).unwrap();
        assert!(totals.evaluate(EmitTo::All).is_err());
    }
}
