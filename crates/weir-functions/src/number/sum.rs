//! `sum` of integers that fails where 64 bits have no room, and of decimals that fails where 38 digits have none (`decimal_sum`); that of
//! anything else is DataFusion's own.

use std::fmt::Debug;
use std::mem::size_of_val;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, PrimitiveArray};
use arrow::datatypes::{
    ArrowNativeTypeOp, DECIMAL128_MAX_PRECISION, DataType, Int64Type, UInt64Type,
};
use arrow::error::ArrowError;
use datafusion::common::ScalarValue;
use datafusion::common::cast::as_primitive_array;
use datafusion::error::Result;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, EmitTo, GroupsAccumulator, ReversedUDAF,
    SetMonotonicity,
};

use super::decimal_sum::{DecimalTotal, DistinctDecimals, GroupDecimals};
use super::percentile::is_wanted;
use super::{of_inner, sliding};

/// `sum(value)`.
pub(crate) fn sum() -> AggregateUDF {
    AggregateUDF::from(Sum { inner: sum_udaf() })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Sum {
    inner: Arc<AggregateUDF>,
}

impl Sum {
    /// Whether the sums are integers. Those of different values have an accumulator of their own.
    fn is_checked(args: &AccumulatorArgs<'_>) -> bool {
        !args.is_distinct && args.return_field.data_type().is_integer()
    }
}

impl AggregateUDFImpl for Sum {
    of_inner!();

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        match args.return_field.data_type() {
            DataType::Int64 if args.is_distinct => Ok(Box::new(Distinct::<Int64Type>::new(
                self.inner.accumulator(args)?,
            ))),
            DataType::UInt64 if args.is_distinct => Ok(Box::new(Distinct::<UInt64Type>::new(
                self.inner.accumulator(args)?,
            ))),
            DataType::Int64 => Ok(Box::new(Total::<Int64Type>::default())),
            DataType::UInt64 => Ok(Box::new(Total::<UInt64Type>::default())),
            &DataType::Decimal128(DECIMAL128_MAX_PRECISION, scale) if args.is_distinct => {
                let values = self.inner.accumulator(args)?;
                Ok(Box::new(DistinctDecimals { values, scale }))
            }
            &DataType::Decimal128(DECIMAL128_MAX_PRECISION, scale) => {
                Ok(Box::new(DecimalTotal::new(scale)))
            }
            _ => self.inner.accumulator(args),
        }
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        match args.return_field.data_type() {
            DataType::Int64 => Ok(Box::new(GroupTotals::<Int64Type>::default())),
            DataType::UInt64 => Ok(Box::new(GroupTotals::<UInt64Type>::default())),
            &DataType::Decimal128(DECIMAL128_MAX_PRECISION, scale) => {
                Ok(Box::new(GroupDecimals::new(scale)))
            }
            _ => self.inner.create_groups_accumulator(args),
        }
    }

    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn Accumulator>> {
        match args.return_field.data_type() {
            DataType::Int64 if Self::is_checked(&args) => {
                Ok(Box::new(Total::<Int64Type>::default()))
            }
            DataType::UInt64 if Self::is_checked(&args) => {
                Ok(Box::new(Total::<UInt64Type>::default()))
            }
            &DataType::Decimal128(DECIMAL128_MAX_PRECISION, scale) if !args.is_distinct => {
                Ok(Box::new(DecimalTotal::new(scale)))
            }
            _ => match sliding::of_sum(&args) {
                Some(own) => Ok(own),
                None => self.inner.create_sliding_accumulator(args),
            },
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn set_monotonicity(&self, kind: &DataType) -> SetMonotonicity {
        match kind.is_unsigned_integer() {
            true => SetMonotonicity::Increasing,
            false => SetMonotonicity::NotMonotonic,
        }
    }
}

fn too_large() -> ArrowError {
    ArrowError::ArithmeticOverflow("a sum does not fit 64 bits".to_owned())
}

/// A sum. It is exact while it grows, so that it does not depend on the order of the values.
#[derive(Debug)]
struct Total<T> {
    sum: i128,
    count: u64,
    kind: std::marker::PhantomData<T>,
}

impl<T> Default for Total<T> {
    fn default() -> Self {
        Self {
            sum: 0,
            count: 0,
            kind: std::marker::PhantomData,
        }
    }
}

impl<T: ArrowPrimitiveType> Total<T>
where
    T::Native: Into<i128> + TryFrom<i128>,
{
    /// The sum of the values, with their number. 64 bits have no room for so many values that 128 had none
    /// for their sum.
    fn of(values: &ArrayRef) -> Result<(i128, u64)> {
        let values = as_primitive_array::<T>(values)?;
        let sum = values.iter().flatten().map(Into::<i128>::into).sum();
        Ok((sum, (values.len() - values.null_count()) as u64))
    }
}

impl<T: ArrowPrimitiveType + Debug + Send + Sync> Accumulator for Total<T>
where
    T::Native: Into<i128> + TryFrom<i128>,
{
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for values in values.iter().take(1) {
            let (sum, count) = Self::of(values)?;
            self.sum = self.sum.saturating_add(sum);
            self.count = self.count.saturating_add(count);
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for values in values.iter().take(1) {
            let (sum, count) = Self::of(values)?;
            self.sum = self.sum.saturating_sub(sum);
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
            _ => Some(T::Native::try_from(self.sum).map_err(|_| too_large())?),
        };
        ScalarValue::new_primitive::<T>(sum, &T::DATA_TYPE)
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
struct Distinct<T> {
    values: Box<dyn Accumulator>,
    kind: std::marker::PhantomData<T>,
}

impl<T> Distinct<T> {
    fn new(values: Box<dyn Accumulator>) -> Self {
        Self {
            values,
            kind: std::marker::PhantomData,
        }
    }
}

impl<T: ArrowPrimitiveType + Debug + Send + Sync> Accumulator for Distinct<T>
where
    T::Native: Into<i128> + TryFrom<i128>,
{
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut total = Total::<T>::default();
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
struct GroupTotals<T: ArrowPrimitiveType> {
    sums: Vec<T::Native>,
    seen: Vec<bool>,
}

impl<T: ArrowPrimitiveType> Default for GroupTotals<T> {
    fn default() -> Self {
        Self {
            sums: Vec::new(),
            seen: Vec::new(),
        }
    }
}

impl<T: ArrowPrimitiveType> GroupTotals<T> {
    fn take(&mut self, emit: EmitTo) -> ArrayRef {
        let sums = emit.take_needed(&mut self.sums);
        let seen = emit.take_needed(&mut self.seen);
        let sums = sums.into_iter().zip(seen);
        let sums = sums.map(|(sum, seen)| seen.then_some(sum));
        Arc::new(sums.collect::<PrimitiveArray<T>>())
    }
}

impl<T: ArrowPrimitiveType + Debug + Send> GroupsAccumulator for GroupTotals<T> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        groups_count: usize,
    ) -> Result<()> {
        self.sums.resize(groups_count, T::Native::ZERO);
        self.seen.resize(groups_count, false);
        for values in values.iter().take(1) {
            let values = as_primitive_array::<T>(values)?;
            for (row, (group, value)) in groups.iter().zip(values).enumerate() {
                let Some(value) = value.filter(|_| is_wanted(filter, row)) else {
                    continue;
                };
                if let (Some(sum), Some(seen)) =
                    (self.sums.get_mut(*group), self.seen.get_mut(*group))
                {
                    *sum = sum.add_checked(value).map_err(|_| too_large())?;
                    *seen = true;
                }
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        Ok(self.take(emit))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.take(emit)])
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
        let mut states = Vec::with_capacity(values.len());
        for values in values.iter().take(1) {
            states.push(match filter {
                None => Arc::clone(values),
                Some(filter) => {
                    let values = values.as_primitive::<T>();
                    let rows = values.iter().zip(filter);
                    let kept = rows.map(|(value, kept)| value.filter(|_| kept == Some(true)));
                    Arc::new(kept.collect::<PrimitiveArray<T>>())
                }
            });
        }
        Ok(states)
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<T::Native>() + self.seen.capacity()
    }
}
