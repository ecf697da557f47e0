//! The types of columns, compared with those that a plan declares.
//!
//! Arrow writes the buffers of a batch behind whatever schema its file was begun with, and files of rows are read without validation: by
//! Ballista between stages, and by DataFusion where an operator spills. Buffers of one type that are read as those of another one
//! lead outside of their memory, so that types are compared where rows come from and before they are written.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::exec_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
};
use futures::StreamExt as _;

use crate::encode::compact;

/// Whether the columns of a batch have the buffers of the declared types.
pub(crate) fn is_declared(batch: &RecordBatch, declared: &Schema) -> bool {
    let (columns, fields) = (batch.columns(), declared.fields());
    columns.len() == fields.len()
        && columns
            .iter()
            .zip(fields.iter())
            .all(|(column, field)| has_same_buffers(column.data_type(), field.data_type()))
}

/// The batch, if its columns have the buffers of the declared types.
///
/// # Errors
/// When they have others.
pub(crate) fn declared(batch: RecordBatch, declared: &Schema) -> Result<RecordBatch> {
    match is_declared(&batch, declared) {
        true => Ok(batch),
        false => exec_err!("the columns of rows have other types than those of their plan"),
    }
}

/// Whether arrays of two types have the same buffers. The types may differ in names, nullability and time zones.
fn has_same_buffers(one: &DataType, other: &DataType) -> bool {
    match (one, other) {
        (DataType::List(one), DataType::List(other))
        | (DataType::LargeList(one), DataType::LargeList(other))
        | (DataType::ListView(one), DataType::ListView(other))
        | (DataType::LargeListView(one), DataType::LargeListView(other))
        | (DataType::Map(one, _), DataType::Map(other, _)) => have_same_buffers(one, other),
        (DataType::FixedSizeList(one, size), DataType::FixedSizeList(other, of)) => {
            size == of && have_same_buffers(one, other)
        }
        (DataType::Struct(one), DataType::Struct(other)) => {
            let mut pairs = one.iter().zip(other.iter());
            one.len() == other.len() && pairs.all(|(one, other)| have_same_buffers(one, other))
        }
        (DataType::Dictionary(key, value), DataType::Dictionary(of, other)) => {
            key == of && has_same_buffers(value, other)
        }
        (DataType::Timestamp(unit, _), DataType::Timestamp(of, _)) => unit == of,
        _ => one == other,
    }
}

fn have_same_buffers(one: &Field, other: &Field) -> bool {
    has_same_buffers(one.data_type(), other.data_type())
}

/// The input of the operator that writes the rows of a stage, whose batches have the declared types, and no values of views that
/// belong to other rows.
#[derive(Debug)]
pub(crate) struct DeclaredExec {
    input: Arc<dyn ExecutionPlan>,
}

impl DeclaredExec {
    pub(crate) const fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        Self { input }
    }
}

impl DisplayAs for DeclaredExec {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeclaredExec")
    }
}

impl ExecutionPlan for DeclaredExec {
    fn name(&self) -> &'static str {
        "DeclaredExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match <[_; 1]>::try_from(children) {
            Ok([input]) => Ok(Arc::new(Self::new(input))),
            Err(_) => exec_err!("DeclaredExec has one input"),
        }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let of_plan = Arc::clone(&schema);
        let rows = self.input.execute(partition, context)?;
        let rows = rows.map(move |batch| declared(batch?, &of_plan).map(|batch| compact(&batch)));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, BooleanArray, Int64Array};
    use arrow::datatypes::{Fields, TimeUnit};
    use datafusion::datasource::memory::MemorySourceConfig;

    use super::*;

    fn list(item: &str, of: DataType, is_nullable: bool) -> DataType {
        DataType::List(Arc::new(Field::new(item, of, is_nullable)))
    }

    #[test]
    fn types_with_the_same_buffers_differ_in_names_and_zones_only() {
        let of_struct =
            |kind: DataType| DataType::Struct(Fields::from(vec![Field::new("value", kind, true)]));
        let instant =
            |zone: Option<&str>| DataType::Timestamp(TimeUnit::Nanosecond, zone.map(Into::into));
        for (one, other) in [
            (
                list("item", DataType::Int64, true),
                list("element", DataType::Int64, false),
            ),
            (instant(None), instant(Some("UTC"))),
            (of_struct(instant(None)), of_struct(instant(Some("UTC")))),
        ] {
            assert!(has_same_buffers(&one, &other), "{one} {other}");
        }
        for (one, other) in [
            (DataType::Utf8, DataType::Binary),
            (DataType::Utf8, DataType::LargeUtf8),
            (DataType::Int64, DataType::Int32),
            (DataType::FixedSizeBinary(4), DataType::FixedSizeBinary(16)),
            (
                list("item", DataType::Int64, true),
                list("item", DataType::Int32, true),
            ),
            (of_struct(DataType::Utf8), of_struct(DataType::Binary)),
            (of_struct(DataType::Utf8), DataType::Struct(Fields::empty())),
        ] {
            assert!(!has_same_buffers(&one, &other), "{one} {other}");
        }
    }

    /// Two columns of a table in memory were written as the three buffers of a text, and the next stage read it beyond its end.
    #[tokio::test]
    async fn rows_of_other_types_than_declared_are_not_written() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1_i64, 1_i64 << 30]));
        let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
        let batch = RecordBatch::try_from_iter([("n", numbers), ("b", flags)]).unwrap();
        let written = async |fields: Vec<Field>| {
            let table = MemorySourceConfig::try_new_exec(
                &[vec![batch.clone()]],
                Arc::new(Schema::new(fields)),
                None,
            );
            let written: Arc<dyn ExecutionPlan> = Arc::new(DeclaredExec::new(table.unwrap()));
            let mut rows = written
                .execute(0, Arc::new(TaskContext::default()))
                .unwrap();
            rows.next().await.unwrap()
        };
        let number = Field::new("n", DataType::Int64, true);
        let flag = Field::new("b", DataType::Boolean, true);
        assert!(written(vec![number.clone(), flag]).await.is_ok());
        let text = Field::new("s", DataType::Utf8, true);
        for fields in [vec![text.clone()], vec![text, number]] {
            let refused = written(fields).await.unwrap_err().to_string();
            assert!(refused.contains("other types"), "{refused}");
        }
    }
}
