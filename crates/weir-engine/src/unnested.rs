//! The memory of lists that are taken apart.
//!
//! DataFusion's operator repeats the other columns of a row for all elements of its list at once, and reserves no memory for them: a list of a
//! million elements beside a text of a megabyte is a terabyte. Where there is a limit, a node below the operator reserves what such a row
//! takes.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::physical_plan::unnest::{ListUnnest, UnnestExec};
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};
use weir_functions::bounded::value_bytes;

use crate::over::{CountedRows, Counting};

/// A plan whose lists are taken apart within the memory limit.
///
/// # Errors
/// When an operator cannot be put together again.
pub fn count_unnested_rows(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        let Some(unnest) = plan.downcast_ref::<UnnestExec>() else {
            return Ok(Transformed::no(plan));
        };
        let lists = Counting::Unnested(unnest.list_column_indices().to_vec());
        let counted = CountedRows::new(Arc::clone(unnest.input()), lists);
        let inputs: Vec<Arc<dyn ExecutionPlan>> = vec![Arc::new(counted)];
        let counted = replace_children_if_necessary(Arc::clone(&plan), inputs)?;
        Ok(Transformed::yes(counted))
    })
    .data()
}

/// The bytes of the rows that the largest row of a batch becomes. Rows that become no more than `rows_max` are built in pieces of so many.
pub(crate) fn longest_bytes(batch: &RecordBatch, lists: &[ListUnnest], rows_max: usize) -> usize {
    let is_list = |place: usize| lists.iter().any(|list| list.index_in_input_schema == place);
    let of_row = |row: usize| {
        let of_lists = lists
            .iter()
            .map(|list| elements(batch.column(list.index_in_input_schema), row, list.depth));
        let count = of_lists.max().unwrap_or(0);
        if count <= rows_max {
            return 0;
        }
        let columns = batch.columns().iter().enumerate();
        let others = columns.filter(|(place, _)| !is_list(*place));
        let bytes = others.map(|(_, column)| match column.data_type() {
            // The text is not copied.
            DataType::Utf8View | DataType::BinaryView => size_of::<u128>(),
            _ => value_bytes(&column.slice(row, 1)),
        });
        bytes.fold(0, usize::saturating_add).saturating_mul(count)
    };
    (0..batch.num_rows()).map(of_row).max().unwrap_or(0)
}

/// The elements of a list in a list of so many levels.
fn elements(lists: &ArrayRef, row: usize, depth: usize) -> usize {
    if lists.is_null(row) {
        return 1;
    }
    let list = match lists.data_type() {
        DataType::List(_) => lists.as_list::<i32>().value(row),
        DataType::LargeList(_) => lists.as_list::<i64>().value(row),
        DataType::FixedSizeList(..) => lists.as_fixed_size_list().value(row),
        _ => return 1,
    };
    match depth {
        0 | 1 => list.len(),
        _ => {
            let inner = (0..list.len()).map(|row| elements(&list, row, depth - 1));
            inner.fold(0, usize::saturating_add)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Engine, Options};

    #[tokio::test]
    async fn lists_are_taken_apart_within_the_memory_limit() {
        let options = Options {
            memory_limit_bytes: Some(16 << 20),
            ..Options::default()
        };
        let engine = Engine::new(&options).unwrap();
        for (elements, is_enough) in [(1_000, true), (20_000, false)] {
            let sql = format!(
                "SELECT sum(length(s)) FROM (SELECT unnest(range(0, v)) AS u, repeat('x', v % 7 + 10000) AS s \
                 FROM generate_series({elements}, {elements}) t(v))"
            );
            let statement = engine.parse(&sql).unwrap().pop().unwrap();
            let mut answer = engine.answer(statement).await.unwrap();
            match answer.next().await {
                Ok(batch) => assert!(is_enough && batch.is_some(), "{elements}"),
                Err(error) => {
                    let error = error.to_string();
                    assert!(!is_enough && error.contains("out of memory"), "{error}");
                }
            }
        }
    }
}
