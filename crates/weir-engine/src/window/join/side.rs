//! The rows of one side of a join that can still match.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array};
use arrow::compute::interleave;
use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::NullEquality;
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::utils::evaluate_expressions_to_arrays;

use crate::window::length::to_numbers;

/// Rows in the order of time. Each has a number, counted from the first that came; the oldest leave
/// first.
pub(crate) struct BufferedSide {
    time: Arc<dyn PhysicalExpr>,
    on: Vec<Arc<dyn PhysicalExpr>>,
    null_equality: NullEquality,
    converter: RowConverter,
    batches: VecDeque<SideBatch>,
    /// The rows of each key that are held: numbers and times, both rising.
    index: HashMap<Box<[u8]>, VecDeque<(u64, i64)>>,
    /// Columns of a row.
    width: usize,
    /// Rows before this number have left.
    gone: u64,
    /// Rows that came.
    rows: u64,
    /// No row comes any more that is earlier.
    pub(crate) frontier: i64,
}

struct SideBatch {
    batch: RecordBatch,
    first: u64,
    times: Vec<i64>,
    /// The encoded keys; `None` where a key is NULL, which equals nothing.
    keys: Vec<Option<Box<[u8]>>>,
    matched: Vec<bool>,
}

impl BufferedSide {
    pub(crate) fn new(
        input: &Schema,
        time: Arc<dyn PhysicalExpr>,
        on: Vec<Arc<dyn PhysicalExpr>>,
        null_equality: NullEquality,
    ) -> Result<Self> {
        let fields = on
            .iter()
            .map(|key| Ok(SortField::new(key.data_type(input)?)));
        let converter = RowConverter::new(fields.collect::<Result<Vec<_>>>()?)?;
        Ok(Self {
            time,
            on,
            null_equality,
            converter,
            batches: VecDeque::new(),
            index: HashMap::new(),
            width: input.fields().len(),
            gone: 0,
            rows: 0,
            frontier: i64::MIN,
        })
    }

    /// Rows that are held.
    pub(crate) const fn len(&self) -> u64 {
        self.rows.saturating_sub(self.gone)
    }

    /// Columns of a row.
    pub(crate) const fn width(&self) -> usize {
        self.width
    }

    /// Bytes held, about.
    pub(crate) fn bytes(&self) -> usize {
        let batches = self.batches.iter().map(|held| {
            let rows = held.times.len().saturating_mul(ROW_BYTES);
            held.batch.get_array_memory_size().saturating_add(rows)
        });
        let keys = self
            .index
            .keys()
            .map(|key| key.len().saturating_add(KEY_BYTES));
        batches.chain(keys).fold(0, usize::saturating_add)
    }

    /// Adds a batch; returns the number of its first row.
    pub(crate) fn add(&mut self, batch: RecordBatch) -> Result<u64> {
        let first = self.rows;
        let rows = batch.num_rows();
        let times = to_numbers(&self.time.evaluate(&batch)?.into_array(rows)?)?;
        let columns = evaluate_expressions_to_arrays(&self.on, &batch)?;
        let encoded = self.converter.convert_columns(&columns)?;
        let keys = self.keys(&columns, &encoded, rows);
        let times = in_order(&times);
        for ((number, key), time) in (first..).zip(&keys).zip(&times) {
            if let Some(key) = key {
                match self.index.get_mut(key) {
                    Some(held) => held.push_back((number, *time)),
                    None => {
                        self.index.insert(key.clone(), [(number, *time)].into());
                    }
                }
            }
        }
        self.frontier = times.last().copied().unwrap_or(self.frontier);
        self.rows = first.saturating_add(rows as u64);
        self.batches.push_back(SideBatch {
            batch,
            first,
            matched: vec![false; times.len()],
            times,
            keys,
        });
        Ok(first)
    }

    fn keys(&self, columns: &[ArrayRef], encoded: &Rows, rows: usize) -> Vec<Option<Box<[u8]>>> {
        let never = self.null_equality == NullEquality::NullEqualsNothing;
        let has_null = |row: usize| never && columns.iter().any(|column| column.is_null(row));
        let key = |row| (!has_null(row)).then(|| encoded.row(row).data().into());
        (0..rows).map(key).collect()
    }

    /// The key and the time of a row that is held.
    pub(crate) fn row(&self, number: u64) -> Option<(&[u8], i64)> {
        let (held, row) = self.find(number)?;
        let held = self.batches.get(held)?;
        Some((held.keys.get(row)?.as_deref()?, *held.times.get(row)?))
    }

    /// The rows of a key from the time `low` to the time `high`.
    pub(crate) fn matching(&self, key: &[u8], low: i64, high: i64) -> impl Iterator<Item = u64> {
        let held = self.index.get(key);
        held.into_iter().flat_map(move |rows| {
            let from = rows.partition_point(|(_, time)| *time < low);
            let within = rows
                .range(from..)
                .take_while(move |(_, time)| *time <= high);
            within.map(|(number, _)| *number)
        })
    }

    /// The batch of a row, and its index in the batch.
    fn find(&self, number: u64) -> Option<(usize, usize)> {
        let after = self.batches.partition_point(|held| held.first <= number);
        let batch = after.checked_sub(1)?;
        let first = self.batches.get(batch)?.first;
        Some((batch, usize::try_from(number.checked_sub(first)?).ok()?))
    }

    pub(crate) fn set_matched(&mut self, number: u64) {
        if let Some((batch, row)) = self.find(number)
            && let Some(held) = self.batches.get_mut(batch)
            && let Some(matched) = held.matched.get_mut(row)
        {
            *matched = true;
        }
    }

    /// Columns of some rows.
    pub(crate) fn columns(&self, numbers: &[u64], columns: &[usize]) -> Result<Vec<ArrayRef>> {
        let places: Vec<(usize, usize)> = numbers
            .iter()
            .filter_map(|number| self.find(*number))
            .collect();
        let mut result = Vec::with_capacity(columns.len());
        for column in columns {
            let arrays: Vec<&dyn Array> = self
                .batches
                .iter()
                .map(|held| held.batch.column(*column).as_ref())
                .collect();
            result.push(interleave(&arrays, &places)?);
        }
        Ok(result)
    }

    /// The rows before the time `until` that are held still, with whether they matched, up to so
    /// many; [`Self::forget`] lets go of them.
    pub(crate) fn leaving(&self, until: i64, rows_max: usize) -> Vec<(u64, bool)> {
        let rows = self.batches.iter().flat_map(|held| {
            let rows = (held.first..).zip(&held.times).zip(&held.matched);
            rows.map(|((number, time), matched)| (number, *time, *matched))
        });
        rows.skip_while(|(number, ..)| *number < self.gone)
            .take_while(|(_, time, _)| *time < until || until == i64::MAX)
            .take(rows_max)
            .map(|(number, _, matched)| (number, matched))
            .collect()
    }

    /// Forgets so many rows, the oldest.
    pub(crate) fn forget(&mut self, count: usize) {
        for _ in 0..count {
            if let Some((batch, row)) = self.find(self.gone)
                && let Some(Some(key)) = self.batches.get(batch).and_then(|held| held.keys.get(row))
                && let Some(rows) = self.index.get_mut(key)
            {
                rows.pop_front();
                if rows.is_empty() {
                    self.index.remove(key);
                }
            }
            self.gone = self.gone.saturating_add(1);
        }
        while let Some(oldest) = self.batches.front()
            && oldest.first.saturating_add(oldest.times.len() as u64) <= self.gone
        {
            self.batches.pop_front();
        }
    }
}

/// Rows without a time stand behind all others, and have no match.
fn in_order(times: &Int64Array) -> Vec<i64> {
    times.iter().map(|time| time.unwrap_or(i64::MAX)).collect()
}

/// The memory of a row besides its columns.
const ROW_BYTES: usize = 64;
/// The memory of a key besides its bytes.
const KEY_BYTES: usize = 96;
