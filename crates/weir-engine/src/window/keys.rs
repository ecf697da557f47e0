//! The keys that are known just now, each with a dense number.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::{filter, not};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::error::Result;
use datafusion::logical_expr::EmitTo;
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;

/// Numbers keys in the order in which they are first seen, and forgets some of them.
pub(crate) struct KeyTable {
    values: Box<dyn GroupValues>,
    has_columns: bool,
}

impl KeyTable {
    /// A table for keys of these types, perhaps of none: then all rows have the same key.
    pub(crate) fn new(kinds: &[DataType]) -> Result<Self> {
        let has_columns = !kinds.is_empty();
        let kinds = if has_columns {
            kinds
        } else {
            &[DataType::Boolean]
        };
        let fields = kinds.iter().enumerate();
        let fields: Vec<Field> = fields
            .map(|(index, kind)| Field::new(index.to_string(), kind.clone(), true))
            .collect();
        Ok(Self {
            values: new_group_values(Arc::new(Schema::new(fields)), &GroupOrdering::None)?,
            has_columns,
        })
    }

    /// The number of each row's key.
    pub(crate) fn number(
        &mut self,
        keys: &[ArrayRef],
        rows: usize,
        numbers: &mut Vec<usize>,
    ) -> Result<()> {
        numbers.clear();
        if self.has_columns {
            return self.values.intern(keys, numbers);
        }
        let same: ArrayRef = Arc::new(BooleanArray::from(vec![false; rows]));
        self.values.intern(&[same], numbers)
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn size(&self) -> usize {
        self.values.size()
    }

    /// Removes all keys and returns them, in their order.
    pub(crate) fn take_all(&mut self) -> Result<Vec<ArrayRef>> {
        let all = self.values.emit(EmitTo::All)?;
        // The values were taken, and the hash table over them is cleared by this call.
        self.values.clear_shrink(0);
        Ok(all)
    }

    /// Forgets the keys that are not to be kept and gives them; those kept are numbered anew, in
    /// their order.
    pub(crate) fn take(&mut self, keep: &BooleanArray) -> Result<Vec<ArrayRef>> {
        let all = self.take_all()?;
        let leave = not(keep)?;
        let (mut kept, mut left) = (Vec::new(), Vec::new());
        for column in &all {
            kept.push(filter(column, keep)?);
            left.push(filter(column, &leave)?);
        }
        let mut numbers = Vec::new();
        if kept.first().is_some_and(|column| !column.is_empty()) {
            self.values.intern(&kept, &mut numbers)?;
        }
        Ok(left)
    }
}
