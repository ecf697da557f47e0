//! `approx_top_k`: the values that come most often, in memory that does not grow with their number.
//!
//! Space-Saving (Metwally, Agrawal, El Abbadi: *Efficient computation of frequent and top-k elements in
//! data streams*, ICDT 2005): a fixed number of counters; a value without one takes over the smallest,
//! whose count it may be overstated by from then on. Two sets of counters are put together as in Agarwal
//! et al., *Mergeable summaries*, PODS 2012.

use std::collections::HashMap;
use std::fmt;
use std::mem::size_of_val;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, StructArray, UInt64Array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, UInt64Type};
use arrow::row::{RowConverter, SortField};
use datafusion::common::{exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr::expressions::Literal;
use datafusion::scalar::ScalarValue;

/// `approx_top_k(value, k [, weight])`.
pub const APPROX_TOP_K: &str = "approx_top_k";

pub(crate) fn approx_top_k() -> AggregateUDF {
    AggregateUDF::from(ApproxTopK {
        signature: Signature::user_defined(Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ApproxTopK {
    signature: Signature,
}

impl AggregateUDFImpl for ApproxTopK {
    fn name(&self) -> &str {
        APPROX_TOP_K
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [value, _] => Ok(vec![value.clone(), DataType::Int64]),
            [value, _, _] => Ok(vec![value.clone(), DataType::Int64, DataType::UInt64]),
            _ => plan_err!(
                "{APPROX_TOP_K} takes a value, a number of values, and optionally a weight: {APPROX_TOP_K}(ip.src, 10) or {APPROX_TOP_K}(ip.src, 10, frame.len)"
            ),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first() {
            Some(value) => Ok(DataType::List(item(value))),
            None => plan_err!("{APPROX_TOP_K} takes a value and a number of values"),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let list = args.return_field.data_type().clone();
        Ok(vec![Arc::new(Field::new(
            format!("{}[counters]", args.name),
            list,
            true,
        ))])
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let wanted = args.exprs.get(1).and_then(|expr| {
            let literal = expr.downcast_ref::<Literal>()?;
            match literal.value() {
                ScalarValue::Int64(Some(wanted)) => usize::try_from(*wanted).ok(),
                _ => None,
            }
        });
        let Some(wanted) = wanted.filter(|wanted| (1..=WANTED_MAX).contains(wanted)) else {
            return plan_err!(
                "the number of values of {APPROX_TOP_K} must be a constant from 1 to {WANTED_MAX}"
            );
        };
        let DataType::List(item) = args.return_field.data_type() else {
            return plan_err!("{APPROX_TOP_K} gives a list");
        };
        let DataType::Struct(fields) = item.data_type() else {
            return plan_err!("{APPROX_TOP_K} gives a list of structs");
        };
        let Some(value) = fields.first() else {
            return plan_err!("{APPROX_TOP_K} takes a value and a number of values");
        };
        let converter = RowConverter::new(vec![SortField::new(value.data_type().clone())])?;
        Ok(Box::new(TopK {
            wanted,
            item: Arc::clone(item),
            converter,
            counters: Counters::new((wanted * COUNTERS_A_VALUE).max(COUNTERS_MIN)),
        }))
    }
}

/// A value with its count, and by how much that may be too high.
fn item(value: &DataType) -> FieldRef {
    let fields = Fields::from(vec![
        Field::new("value", value.clone(), true),
        Field::new("count", DataType::UInt64, false),
        Field::new("error", DataType::UInt64, false),
    ]);
    Arc::new(Field::new("item", DataType::Struct(fields), true))
}

struct TopK {
    wanted: usize,
    item: FieldRef,
    converter: RowConverter,
    counters: Counters,
}

impl TopK {
    /// The highest `most` counters as a list, the highest first.
    fn list(&self, most: usize) -> Result<ScalarValue> {
        let highest = self.counters.highest(most);
        let parser = self.converter.parser();
        let rows = highest.iter().map(|counter| parser.parse(&counter.key));
        let mut arrays = self.converter.convert_rows(rows)?;
        let counts = highest.iter().map(|counter| counter.count);
        arrays.push(Arc::new(UInt64Array::from_iter_values(counts)));
        let errors = highest.iter().map(|counter| counter.error);
        arrays.push(Arc::new(UInt64Array::from_iter_values(errors)));
        let DataType::Struct(fields) = self.item.data_type() else {
            return exec_err!("{APPROX_TOP_K} gives a list of structs");
        };
        let items = StructArray::try_new(fields.clone(), arrays, None)?;
        let offsets = OffsetBuffer::from_lengths([items.len()]);
        let list = ListArray::try_new(Arc::clone(&self.item), offsets, Arc::new(items), None)?;
        Ok(ScalarValue::List(Arc::new(list)))
    }
}

impl Accumulator for TopK {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some(value) = values.first() else {
            return Ok(());
        };
        let weights = values.get(2).map(AsArray::as_primitive::<UInt64Type>);
        let rows = self
            .converter
            .convert_columns(std::slice::from_ref(value))?;
        for (at, row) in rows.iter().enumerate() {
            let weight = match weights {
                None => 1,
                Some(weights) if weights.is_valid(at) => weights.value(at),
                Some(_) => 0,
            };
            if value.is_valid(at) && weight > 0 {
                self.counters.add(row.as_ref(), weight);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.list(self.wanted)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.list(self.counters.most)?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(lists) = states.first() else {
            return Ok(());
        };
        for items in lists.as_list::<i32>().iter().flatten() {
            let items = items.as_struct();
            let (Some(values), Some(counts), Some(errors)) = (
                items.column_by_name("value"),
                items.column_by_name("count"),
                items.column_by_name("error"),
            ) else {
                return exec_err!("{APPROX_TOP_K}: the partial state has no counters");
            };
            let rows = self
                .converter
                .convert_columns(std::slice::from_ref(values))?;
            let counts = counts.as_primitive::<UInt64Type>().values().iter();
            let errors = errors.as_primitive::<UInt64Type>().values().iter();
            let others = rows.iter().zip(counts.zip(errors));
            let others = others.map(|(row, (count, error))| Counter {
                key: row.as_ref().into(),
                count: *count,
                error: *error,
            });
            self.counters.merge(others.collect());
        }
        Ok(())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.converter.size() + self.counters.bytes()
    }
}

impl fmt::Debug for TopK {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopK")
            .field("wanted", &self.wanted)
            .finish_non_exhaustive()
    }
}

/// A limited number of counters.
struct Counters {
    most: usize,
    counters: Vec<Counter>,
    /// The index of the counter of a value.
    places: HashMap<Box<[u8]>, usize>,
    /// Counters as a heap, in which no counter is below a smaller one: that at `i` is above those at `2 i + 1` and `2 i
    /// + 2`.
    heap: Vec<usize>,
    /// The position of each counter in the heap.
    stands: Vec<usize>,
    key_bytes: usize,
}

#[derive(Clone)]
struct Counter {
    key: Box<[u8]>,
    count: u64,
    error: u64,
}

impl Counters {
    fn new(most: usize) -> Self {
        Self {
            most,
            counters: Vec::new(),
            places: HashMap::new(),
            heap: Vec::new(),
            stands: Vec::new(),
            key_bytes: 0,
        }
    }

    fn add(&mut self, key: &[u8], weight: u64) {
        if let Some(place) = self.places.get(key) {
            let place = *place;
            let count = &mut self.counters[place].count;
            *count = count.saturating_add(weight);
            self.sink(self.stands[place]);
        } else if self.counters.len() < self.most {
            self.push(Counter {
                key: key.into(),
                count: weight,
                error: 0,
            });
        } else if let Some(place) = self.heap.first().copied() {
            let key: Box<[u8]> = key.into();
            self.key_bytes += key.len();
            self.places.insert(key.clone(), place);
            let counter = &mut self.counters[place];
            let before = std::mem::replace(&mut counter.key, key);
            counter.error = counter.count;
            counter.count = counter.count.saturating_add(weight);
            self.key_bytes -= before.len();
            self.places.remove(&before);
            self.sink(0);
        }
    }

    fn push(&mut self, counter: Counter) {
        let place = self.counters.len();
        self.key_bytes += counter.key.len();
        self.places.insert(counter.key.clone(), place);
        self.counters.push(counter);
        self.stands.push(place);
        self.heap.push(place);
        self.rise(place);
    }

    /// The maximum count of a value without a counter.
    fn floor(&self) -> u64 {
        match self.heap.first() {
            Some(place) if self.counters.len() == self.most => self.counters[*place].count,
            _ => 0,
        }
    }

    /// Adds the counters of another set of the same size.
    fn merge(&mut self, others: Vec<Counter>) {
        let ours = self.floor();
        let theirs = match others.iter().map(|counter| counter.count).min() {
            Some(least) if others.len() >= self.most => least,
            _ => 0,
        };
        let mut all: HashMap<Box<[u8]>, Counter> = HashMap::new();
        for counter in others {
            let counter = Counter {
                count: counter.count.saturating_add(ours),
                error: counter.error.saturating_add(ours),
                ..counter
            };
            all.insert(counter.key.clone(), counter);
        }
        for counter in std::mem::take(&mut self.counters) {
            let known = all.entry(counter.key.clone()).or_insert_with(|| Counter {
                key: counter.key.clone(),
                count: theirs.saturating_add(ours),
                error: theirs.saturating_add(ours),
            });
            // The count and the error include `ours`, which the known count of this key replaces.
            known.count = (known.count - ours).saturating_add(counter.count);
            known.error = (known.error - ours).saturating_add(counter.error);
        }
        let mut all: Vec<_> = all.into_values().collect();
        all.sort_unstable_by(Counter::order);
        all.truncate(self.most);
        *self = Self::new(self.most);
        for counter in all {
            self.push(counter);
        }
    }

    /// The highest counters.
    fn highest(&self, most: usize) -> Vec<Counter> {
        let mut counters = self.counters.clone();
        counters.sort_unstable_by(Counter::order);
        counters.truncate(most);
        counters
    }

    fn bytes(&self) -> usize {
        let counter =
            size_of::<Counter>() + size_of::<(Box<[u8]>, usize)>() + 2 * size_of::<usize>();
        self.counters.capacity() * counter + 2 * self.key_bytes
    }

    fn count(&self, stand: usize) -> u64 {
        self.counters[self.heap[stand]].count
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        self.stands[self.heap[one]] = one;
        self.stands[self.heap[other]] = other;
    }

    fn rise(&mut self, mut stand: usize) {
        while stand > 0 {
            let above = (stand - 1) / 2;
            if self.count(above) <= self.count(stand) {
                break;
            }
            self.swap(above, stand);
            stand = above;
        }
    }

    fn sink(&mut self, mut stand: usize) {
        loop {
            let below = [2 * stand + 1, 2 * stand + 2];
            let below = below.into_iter().filter(|below| *below < self.heap.len());
            let Some(least) = below.min_by_key(|below| self.count(*below)) else {
                break;
            };
            if self.count(stand) <= self.count(least) {
                break;
            }
            self.swap(stand, least);
            stand = least;
        }
    }
}

impl Counter {
    /// The highest first; of equal ones, that which is surer; then by value, so that answers repeat.
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        let by_count = other.count.cmp(&self.count);
        by_count
            .then(self.error.cmp(&other.error))
            .then_with(|| self.key.cmp(&other.key))
    }
}

/// Counters for each value that is wanted. With n rows, or their weight, no count is too high by more
/// than n divided by the number of counters.
const COUNTERS_A_VALUE: usize = 16;
const COUNTERS_MIN: usize = 1024;
const WANTED_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of which small ones come often.
    fn numbers(seed: u64, len: usize) -> Vec<u64> {
        let mut state = seed | 1;
        let mut next = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 33
        };
        (0..len)
            .map(|_| match next() % 3 {
                0 => next() % 10,
                1 => next() % 300,
                _ => next() % 100_000,
            })
            .collect()
    }

    fn counted(most: usize, numbers: &[u64]) -> Counters {
        let mut counters = Counters::new(most);
        for number in numbers {
            counters.add(&number.to_be_bytes(), 1);
        }
        counters
    }

    /// Checks the bounds of Space-Saving for every counter, and for every value without one.
    fn assert_bounds(counters: &Counters, numbers: &[u64]) {
        let mut exact: HashMap<Box<[u8]>, u64> = HashMap::new();
        for number in numbers {
            *exact.entry(number.to_be_bytes().into()).or_default() += 1;
        }
        let bound = (numbers.len() / counters.most) as u64;
        for counter in counters.highest(usize::MAX) {
            let count = exact.remove(&counter.key).unwrap_or_default();
            assert!(counter.count >= count);
            assert!(counter.count - counter.error <= count);
            assert!(counter.error <= bound, "{} of {bound}", counter.error);
        }
        for count in exact.into_values() {
            assert!(count <= counters.floor());
        }
    }

    #[test]
    fn counts_are_never_too_low_and_too_high_by_the_error_at_most() {
        for most in [1, 2, 7, 100, 5_000] {
            let numbers = numbers(most as u64, 60_000);
            let counters = counted(most, &numbers);
            assert!(counters.counters.len() <= most);
            assert_bounds(&counters, &numbers);
        }
    }

    #[test]
    fn sets_that_are_put_together_keep_the_bounds() {
        for (seed, most) in [(3, 20), (4, 300), (5, 200_000)] {
            let all = numbers(seed, 50_000);
            let mut whole = Counters::new(most);
            for part in all.chunks(9_000) {
                whole.merge(counted(most, part).highest(most));
            }
            assert_bounds(&whole, &all);
            // Further values are added after the merge.
            let more = numbers(seed + 10, 10_000);
            for number in &more {
                whole.add(&number.to_be_bytes(), 1);
            }
            assert_bounds(&whole, &[all, more].concat());
        }
    }

    #[test]
    fn few_values_are_counted_exactly() {
        let mut counters = Counters::new(100);
        for (key, weight) in [("a", 5), ("b", 7), ("a", 3), ("c", 1)] {
            counters.add(key.as_bytes(), weight);
        }
        let found = counters.highest(2);
        let found: Vec<_> = found
            .iter()
            .map(|counter| (&*counter.key, counter.count, counter.error))
            .collect();
        assert_eq!(found, [(&b"a"[..], 8, 0), (&b"b"[..], 7, 0)]);
    }
}
