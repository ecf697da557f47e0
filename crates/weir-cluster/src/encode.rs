//! Rows as messages of Arrow Flight.
//!
//! Arrow's encoder divides a batch by the capacity of its buffers. Columns that were read from a file share the buffer of their
//! whole message, so that each of them counts as all of it, and a batch of many columns becomes one message a row. The data buffers
//! of views are written whole with each of these messages. Here a batch is divided by the size of its values, and the views of each
//! slice have data buffers of their own.

use std::sync::Arc;

use arrow::array::{
    Array as _, ArrayRef, AsArray as _, GenericByteViewArray, GenericListArray, OffsetSizeTrait,
    RecordBatch, RecordBatchOptions, StructArray,
};
use arrow::buffer::{Buffer, OffsetBuffer};
use arrow::datatypes::{ByteViewType, DataType, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::CompressionType;
use arrow::ipc::writer::IpcWriteOptions;
use arrow_flight::encode::{FlightDataEncoder, FlightDataEncoderBuilder};
use arrow_flight::error::FlightError;
use futures::{Stream, TryStreamExt as _, stream};

/// The messages of rows of a schema, which comes first. Each has about [`MESSAGE_BYTES`] at most, before it is compressed, or one row.
///
/// # Errors
/// When Arrow cannot compress.
pub(crate) fn messages(
    schema: SchemaRef,
    rows: impl Stream<Item = Result<RecordBatch, FlightError>> + Send + 'static,
) -> Result<FlightDataEncoder, ArrowError> {
    let options =
        IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME))?;
    let slices = rows
        .map_ok(|batch| {
            let slices = divide(batch).into_iter();
            stream::iter(slices.map(|slice| Ok::<_, FlightError>(compact(&slice))))
        })
        .try_flatten();
    Ok(FlightDataEncoderBuilder::new()
        .with_schema(schema)
        .with_options(options)
        // The encoder divides nothing.
        .with_max_flight_data_size(usize::MAX)
        .build(slices))
}

/// The batch in slices of [`MESSAGE_BYTES`] at most, or of one row.
fn divide(batch: RecordBatch) -> Vec<RecordBatch> {
    let mut slices = Vec::new();
    let mut rest = vec![batch];
    while let Some(batch) = rest.pop() {
        let rows = batch.num_rows();
        if rows <= 1 || written_bytes(batch.columns()) <= MESSAGE_BYTES {
            slices.push(batch);
            continue;
        }
        let half = rows / 2;
        rest.push(batch.slice(half, rows - half));
        rest.push(batch.slice(0, half));
    }
    slices
}

/// The rows of a batch without values of views that no row has: the data buffers of views are written whole.
pub(crate) fn compact(batch: &RecordBatch) -> RecordBatch {
    if !batch.columns().iter().any(|of| has_views(of.data_type())) {
        return batch.clone();
    }
    let columns = batch.columns().iter().map(compact_column).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options)
        .unwrap_or_else(|_| batch.clone())
}

fn has_views(of: &DataType) -> bool {
    match of {
        DataType::Utf8View | DataType::BinaryView => true,
        DataType::List(of) | DataType::LargeList(of) => has_views(of.data_type()),
        DataType::Struct(fields) => fields.iter().any(|of| has_views(of.data_type())),
        _ => false,
    }
}

fn compact_column(column: &ArrayRef) -> ArrayRef {
    let compacted = match column.data_type() {
        DataType::Utf8View => compact_views(column.as_string_view()),
        DataType::BinaryView => compact_views(column.as_binary_view()),
        of if !has_views(of) => None,
        DataType::List(_) => compact_list(column.as_list::<i32>()),
        DataType::LargeList(_) => compact_list(column.as_list::<i64>()),
        DataType::Struct(_) => compact_struct(column.as_struct()),
        _ => None,
    };
    compacted.unwrap_or_else(|| Arc::clone(column))
}

/// Views with a data buffer of their own; `None` where their values take as much as their buffers, or share them.
fn compact_views<T: ByteViewType>(views: &GenericByteViewArray<T>) -> Option<ArrayRef> {
    let is_compact = held_bytes(views) <= views.total_buffer_bytes_used();
    (!is_compact).then(|| Arc::new(views.gc()) as ArrayRef)
}

fn compact_list<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> Option<ArrayRef> {
    let (DataType::List(field) | DataType::LargeList(field)) = list.data_type() else {
        return None;
    };
    let first = *list.offsets().first()?;
    let (from, length) = extent(list.offsets());
    let values = compact_column(&list.values().slice(from, length));
    let offsets: Vec<O> = list.offsets().iter().map(|at| *at - first).collect();
    let offsets = OffsetBuffer::<O>::new(offsets.into());
    let list = GenericListArray::try_new(Arc::clone(field), offsets, values, list.nulls().cloned());
    list.ok().map(|list| Arc::new(list) as ArrayRef)
}

fn compact_struct(of: &StructArray) -> Option<ArrayRef> {
    let columns = of.columns().iter().map(compact_column).collect();
    let compacted = StructArray::try_new(of.fields().clone(), columns, of.nulls().cloned());
    compacted.ok().map(|of| Arc::new(of) as ArrayRef)
}

/// The first element of lists, and the number of elements of all of them.
fn extent<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>) -> (usize, usize) {
    let at = |offset: Option<&O>| offset.map_or(0, |offset| offset.as_usize());
    let first = at(offsets.first());
    (first, at(offsets.last()).saturating_sub(first))
}

/// The bytes that columns have in a message before it is compressed, when their views are compact.
fn written_bytes(columns: &[ArrayRef]) -> usize {
    let bytes = columns.iter().map(column_bytes);
    bytes.fold(0, usize::saturating_add)
}

fn column_bytes(column: &ArrayRef) -> usize {
    let nulls = column.nulls().map_or(0, |_| column.len().div_ceil(8));
    let bytes = match column.data_type() {
        DataType::Utf8View => view_bytes(column.as_string_view()),
        DataType::BinaryView => view_bytes(column.as_binary_view()),
        DataType::List(_) => list_bytes(column.as_list::<i32>()),
        DataType::LargeList(_) => list_bytes(column.as_list::<i64>()),
        DataType::FixedSizeList(..) => column_bytes(column.as_fixed_size_list().values()),
        DataType::Struct(_) => written_bytes(column.as_struct().columns()),
        DataType::Map(..) => {
            let map = column.as_map();
            let (from, length) = extent(map.offsets());
            let entries = map.entries().slice(from, length);
            written_bytes(entries.columns()).saturating_add(size_of_val(&**map.offsets()))
        }
        // The NULLs are counted with the values.
        _ => {
            return column
                .to_data()
                .get_slice_memory_size()
                .unwrap_or_else(|_| column.get_buffer_memory_size());
        }
    };
    bytes.saturating_add(nulls)
}

fn view_bytes<T: ByteViewType>(views: &GenericByteViewArray<T>) -> usize {
    let values = held_bytes(views).min(views.total_buffer_bytes_used());
    size_of_val(&**views.views()).saturating_add(values)
}

/// The bytes of the data buffers of views, with values that no row has.
fn held_bytes<T: ByteViewType>(views: &GenericByteViewArray<T>) -> usize {
    let bytes = views.data_buffers().iter().map(Buffer::len);
    bytes.fold(0, usize::saturating_add)
}

fn list_bytes<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> usize {
    let (from, length) = extent(list.offsets());
    let values = column_bytes(&list.values().slice(from, length));
    values.saturating_add(size_of_val(&**list.offsets()))
}

/// The size of a message before it is compressed. A client takes 16 MiB.
const MESSAGE_BYTES: usize = 2 << 20;

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, ListBuilder, StringViewArray, StringViewBuilder, UInt32Array};
    use arrow::compute::{concat_batches, take_record_batch};
    use arrow::datatypes::Field;

    use super::*;

    fn batch_of(column: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter([("column", column)]).unwrap()
    }

    fn text(number: usize, bytes: usize) -> String {
        format!("{number:03}{}", "x".repeat(bytes - 3))
    }

    /// A slice of one row was written with the values of all.
    #[test]
    fn slices_have_the_values_of_their_rows_only() {
        let texts = (0..100).map(|at| text(at, 1_000));
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts));
        let mut lists = ListBuilder::new(StringViewBuilder::new());
        for at in 0..100 {
            lists.values().append_value(text(at, 1_000));
            lists.append(at % 10 != 0);
        }
        let lists: ArrayRef = Arc::new(lists.finish());
        let both = [&texts, &lists].map(|column| {
            let field = Field::new("value", column.data_type().clone(), true);
            (Arc::new(field), Arc::clone(column))
        });
        let both: ArrayRef = Arc::new(StructArray::from(both.to_vec()));
        for (column, values) in [(texts, 1), (lists, 1), (both, 2)] {
            let slice = batch_of(column).slice(55, 1);
            let compacted = compact(&slice);
            assert_eq!(compacted, slice);
            // A view has 16 bytes, beside its value of 1,000.
            let of_values = values * 1_016;
            let bytes = compacted.column(0).get_buffer_memory_size();
            assert!((of_values..of_values + 500).contains(&bytes), "{bytes}");
            let bytes = written_bytes(slice.columns());
            assert!((of_values..of_values + 50).contains(&bytes), "{bytes}");
        }
    }

    /// Rows that share a long value go with it together.
    #[test]
    fn shared_values_are_not_repeated() {
        let one = StringViewArray::from_iter_values([text(7, 1 << 20)]);
        let same = UInt32Array::from(vec![0; 100]);
        let batch = take_record_batch(&batch_of(Arc::new(one)), &same).unwrap();
        let slices = divide(batch.clone());
        assert_eq!(slices.len(), 1);
        let compacted = compact(&slices[0]);
        let held = held_bytes(compacted.column(0).as_string_view());
        assert_eq!(held, 1 << 20);
        assert_eq!(compacted, batch);
    }

    #[test]
    fn slices_are_all_rows_in_order() {
        // 8 MB of numbers, a quarter of which is below 2 MiB.
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1_000_000));
        let batch = batch_of(numbers);
        let slices = divide(batch.clone());
        assert_eq!(slices.len(), 4);
        assert_eq!(concat_batches(&batch.schema(), &slices).unwrap(), batch);
        // One row is not divided, and no row is a batch.
        let long = StringViewArray::from_iter_values([text(7, 3 << 20)]);
        let long = batch_of(Arc::new(long));
        assert_eq!(divide(long.clone()).len(), 1);
        assert_eq!(divide(long.slice(0, 0)).len(), 1);
    }
}
