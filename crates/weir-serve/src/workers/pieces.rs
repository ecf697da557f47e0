//! Rows in pieces that every protocol can hold: a batch may have a long value beside each of its thousands of rows, which is one
//! buffer in Arrow's views and lists and gigabytes as text.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, make_array};
use arrow::datatypes::{BinaryViewType, ByteViewType, DataType, StringViewType};

use crate::error::{Failure, FailureKind};

/// Cuts a batch into pieces whose rows, written out, have some megabytes at most.
///
/// # Errors
/// When one row alone has more than a client is given.
pub(super) fn cut(batch: RecordBatch) -> Result<Vec<RecordBatch>, Failure> {
    let mut pieces = Vec::new();
    let mut left = vec![batch];
    while let Some(batch) = left.pop() {
        let bytes = written_bytes(&batch);
        if bytes <= PIECE_BYTES || batch.num_rows() <= 1 {
            if bytes > ROW_BYTES_MAX {
                let message = format!(
                    "a row has {bytes} bytes, and the limit is {} MiB",
                    ROW_BYTES_MAX >> 20
                );
                return Err(Failure::new(FailureKind::Limit, message).with_hint(
                    "substr() takes a part of a long text, unnest() turns a list into rows",
                ));
            }
            pieces.push(compact(batch));
            continue;
        }
        let half = batch.num_rows() / 2;
        // The first half is next.
        left.push(batch.slice(half, batch.num_rows() - half));
        left.push(batch.slice(0, half));
    }
    Ok(pieces)
}

/// Bytes of the values of a batch, each as often as it stands in it.
pub(super) fn written_bytes(batch: &RecordBatch) -> usize {
    let columns = batch.columns().iter();
    columns.map(bytes_of).fold(0, usize::saturating_add)
}

/// Bytes of the values of an array, each as often as it stands in it.
pub(crate) fn bytes_of(array: &ArrayRef) -> usize {
    let rows = array.len();
    let of_offsets =
        |first: usize, last: usize| last.saturating_sub(first).saturating_add(rows * 8);
    let ends = |offsets: &[i32]| {
        let at = |offset: Option<&i32>| usize::try_from(offset.copied().unwrap_or(0)).unwrap_or(0);
        (at(offsets.first()), at(offsets.last()))
    };
    let long_ends = |offsets: &[i64]| {
        let at = |offset: Option<&i64>| usize::try_from(offset.copied().unwrap_or(0)).unwrap_or(0);
        (at(offsets.first()), at(offsets.last()))
    };
    let within = |values: &ArrayRef, (first, last): (usize, usize)| {
        let last = last.min(values.len());
        bytes_of(&values.slice(first.min(last), last - first.min(last))).saturating_add(rows * 8)
    };
    match array.data_type() {
        DataType::Utf8 => {
            let (first, last) = ends(array.as_string::<i32>().value_offsets());
            of_offsets(first, last)
        }
        DataType::Binary => {
            let (first, last) = ends(array.as_binary::<i32>().value_offsets());
            of_offsets(first, last)
        }
        DataType::LargeUtf8 => {
            let (first, last) = long_ends(array.as_string::<i64>().value_offsets());
            of_offsets(first, last)
        }
        DataType::LargeBinary => {
            let (first, last) = long_ends(array.as_binary::<i64>().value_offsets());
            of_offsets(first, last)
        }
        DataType::Utf8View => of_views::<StringViewType>(array),
        DataType::BinaryView => of_views::<BinaryViewType>(array),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            within(list.values(), ends(list.value_offsets()))
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            within(list.values(), long_ends(list.value_offsets()))
        }
        DataType::Map(_, _) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            within(&entries, ends(map.value_offsets()))
        }
        DataType::FixedSizeList(_, _) => bytes_of(array.as_fixed_size_list().values()),
        DataType::Struct(_) => {
            let columns = array.as_struct().columns().iter();
            columns.map(bytes_of).fold(0, usize::saturating_add)
        }
        DataType::Dictionary(_, _) => {
            let values = array.as_any_dictionary().values();
            let longest = (0..values.len())
                .map(|row| bytes_of(&values.slice(row, 1)))
                .max();
            longest.unwrap_or(0).saturating_mul(rows)
        }
        // A list of values of a bit each, or of none, is as long as text as one of numbers.
        DataType::Boolean | DataType::Null => rows.saturating_mul(VALUE_BYTES),
        other => match other.primitive_width() {
            Some(width) => rows.saturating_mul(width.max(VALUE_BYTES)),
            None => array
                .to_data()
                .get_slice_memory_size()
                .unwrap_or(usize::MAX),
        },
    }
}

fn of_views<T: ByteViewType>(array: &ArrayRef) -> usize {
    let views = array.as_byte_view::<T>();
    let lens = views.views().iter().map(|view| {
        // The lowest 32 bits of a view are its length.
        (*view & u128::from(u32::MAX)) as usize
    });
    lens.fold(array.len() * 16, usize::saturating_add)
}

/// Leaves buffers behind of which views need little: whole ones are sent.
fn compact(batch: RecordBatch) -> RecordBatch {
    let held = |column: &ArrayRef| {
        let buffers = match column.data_type() {
            DataType::Utf8View => column.as_string_view().data_buffers(),
            DataType::BinaryView => column.as_binary_view().data_buffers(),
            _ => return 0,
        };
        buffers
            .iter()
            .map(arrow::buffer::Buffer::len)
            .fold(0, usize::saturating_add)
    };
    let columns = batch.columns().iter().map(|column| {
        let held = held(column);
        if held <= COMPACT_BYTES || held / 2 <= bytes_of(column) {
            return make_array(column.to_data());
        }
        match column.data_type() {
            DataType::Utf8View => Arc::new(column.as_string_view().gc()) as ArrayRef,
            DataType::BinaryView => Arc::new(column.as_binary_view().gc()),
            _ => Arc::clone(column),
        }
    });
    let compacted = RecordBatch::try_new(batch.schema(), columns.collect());
    // The columns have the types and lengths that they had.
    compacted.unwrap_or(batch)
}

/// Bytes of the shortest value.
const VALUE_BYTES: usize = 4;
/// Bytes of the rows of a piece.
const PIECE_BYTES: usize = 4 << 20;
/// Bytes of one row: protocols write it as text, of which an octet may become six.
const ROW_BYTES_MAX: usize = 32 << 20;
/// The size of buffers of views that are sent whole.
const COMPACT_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use arrow::array::{
        BooleanArray, Int32Array, ListArray, StringArray, StringViewArray, new_null_array,
    };
    use arrow::buffer::OffsetBuffer;
    use arrow::datatypes::{Field, Int32Type};

    use super::*;

    fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
        RecordBatch::try_from_iter(columns).unwrap()
    }

    #[test]
    fn a_batch_of_small_rows_is_one_piece() {
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..8192));
        let pieces = cut(batch(vec![("n", numbers)])).unwrap();
        assert_eq!(pieces.len(), 1);
        assert_eq!(pieces[0].num_rows(), 8192);
    }

    #[test]
    fn a_long_value_beside_each_row_is_cut_and_no_row_is_lost() {
        let text = "x".repeat(1 << 20);
        let mut builder = arrow::array::StringViewBuilder::new();
        let block = builder.append_block(text.clone().into_bytes().into());
        let len = u32::try_from(text.len()).unwrap();
        for _ in 0..100 {
            builder.try_append_view(block, 0, len).unwrap();
        }
        let texts: ArrayRef = Arc::new(builder.finish());
        let numbers: ArrayRef = Arc::new(Int32Array::from_iter_values(0..100));
        let pieces = cut(batch(vec![("t", texts), ("n", numbers)])).unwrap();
        assert!(
            pieces.iter().all(|piece| piece.num_rows() <= 4),
            "{}",
            pieces.len()
        );
        let numbers: Vec<i32> = (pieces.iter())
            .flat_map(|piece| {
                piece
                    .column(1)
                    .as_primitive::<Int32Type>()
                    .values()
                    .to_vec()
            })
            .collect();
        assert_eq!(numbers, (0..100).collect::<Vec<_>>());
        assert_eq!(pieces[7].column(0).as_string_view().value(0), text);
    }

    #[test]
    fn lists_count_each_time_they_stand() {
        let values: ArrayRef = Arc::new(Int32Array::from(vec![7; 1 << 20]));
        let field = Arc::new(Field::new_list_field(DataType::Int32, true));
        let offsets = OffsetBuffer::from_lengths([1 << 19, 1 << 19]);
        let lists: ArrayRef = Arc::new(ListArray::new(field, offsets, values, None));
        assert_eq!(bytes_of(&lists), (4 << 20) + 16);
        assert_eq!(bytes_of(&lists.slice(1, 1)), (2 << 20) + 8);
        let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true; 1 << 20]));
        assert_eq!(bytes_of(&flags), 4 << 20);
        assert_eq!(bytes_of(&new_null_array(&DataType::Null, 1 << 20)), 4 << 20);
    }

    #[test]
    fn a_row_that_no_door_can_hold_is_refused() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(ROW_BYTES_MAX + 1)]));
        let refused = cut(batch(vec![("t", texts)])).unwrap_err();
        assert!(refused.message.contains("32 MiB"), "{refused}");
    }

    #[test]
    fn what_is_left_of_a_large_buffer_is_sent_without_it() {
        let texts: Vec<String> = (0..8192).map(|number| format!("{number:0>100}")).collect();
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values(&texts));
        let few = batch(vec![("t", texts.slice(10, 2))]);
        let pieces = cut(few).unwrap();
        let texts = pieces[0].column(0).as_string_view();
        assert!(
            texts
                .data_buffers()
                .iter()
                .all(|buffer| buffer.len() <= 200)
        );
        assert!(texts.value(1).ends_with("11"));
    }
}
