//! Approximate percentiles, whose states say how many centroids they are merged into.
//!
//! DataFusion allocates as many as the first state says before it merges any. Rows that another program sends in the place of states
//! can say any number, and 2^40 ended the process.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::max;
use arrow::datatypes::UInt64Type;
use datafusion::common::{ScalarValue, exec_err};
use datafusion::error::Result;
use datafusion::functions_aggregate::all_default_aggregate_functions;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Documentation};

use super::of_inner;

/// The functions, whose states are looked at before they are merged.
pub(crate) fn digests() -> Vec<AggregateUDF> {
    let all = all_default_aggregate_functions().into_iter();
    let named = all.filter(|inner| FUNCTIONS.contains(&inner.name()));
    named
        .map(|inner| AggregateUDF::from(Digest { inner }))
        .collect()
}

/// A function of DataFusion with an accumulator that does not take states of any size.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Digest {
    inner: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for Digest {
    of_inner!();

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let inner = self.inner.accumulator(args)?;
        Ok(Box::new(DigestAccumulator { inner }))
    }

    fn supports_within_group_clause(&self) -> bool {
        self.inner.supports_within_group_clause()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}

#[derive(Debug)]
struct DigestAccumulator {
    inner: Box<dyn Accumulator>,
}

impl Accumulator for DigestAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.inner.evaluate()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        // The state of a column of NULLs has no size.
        let sizes = states
            .first()
            .and_then(|sizes| sizes.as_primitive_opt::<UInt64Type>());
        if let Some(most) = sizes.and_then(max)
            && most > CENTROIDS_MAX
        {
            return exec_err!(
                "the state of an approximate percentile has {most} centroids, and the limit is {CENTROIDS_MAX}"
            );
        }
        self.inner.merge_batch(states)
    }
}

const FUNCTIONS: [&str; 3] = [
    "approx_median",
    "approx_percentile_cont",
    "approx_percentile_cont_with_weight",
];
/// The maximum number of centroids of an approximate percentile, which are allocated before a row is read.
pub const CENTROIDS_MAX: u64 = 10_000;

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;
    use datafusion::functions_aggregate::approx_percentile_cont::ApproxPercentileAccumulator;

    use super::*;

    /// A row whose first column said 2^40 ended an executor that was to merge it as a state.
    #[test]
    fn states_of_percentiles_are_bounded() {
        assert_eq!(digests().len(), FUNCTIONS.len());
        let accumulator = || DigestAccumulator {
            inner: Box::new(ApproxPercentileAccumulator::new(0.5, DataType::Float64)),
        };
        let mut part = accumulator();
        let values = ScalarValue::Float64(Some(7.0)).to_array_of_size(3).unwrap();
        part.update_batch(&[values]).unwrap();
        let state = part.state().unwrap();
        let merged = |size: Option<u64>| {
            let mut state = state.clone();
            if let Some(size) = size {
                state[0] = ScalarValue::UInt64(Some(size));
            }
            let columns = state.iter().map(|value| value.to_array_of_size(2).unwrap());
            let columns: Vec<ArrayRef> = columns.collect();
            let mut whole = accumulator();
            whole.merge_batch(&columns)?;
            whole.evaluate()
        };
        for size in [None, Some(1), Some(CENTROIDS_MAX)] {
            assert_eq!(merged(size).unwrap(), ScalarValue::Float64(Some(7.0)));
        }
        for size in [CENTROIDS_MAX + 1, 1 << 40, u64::MAX] {
            let refused = merged(Some(size)).unwrap_err().to_string();
            assert!(refused.contains("centroids"), "{refused}");
        }
    }
}
