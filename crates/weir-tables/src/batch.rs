//! Rows that are collected into an Arrow batch.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewBuilder, BooleanBuilder, Float64Builder, Int64Builder, ListBuilder,
    RecordBatch, RecordBatchOptions, StringBuilder, StringViewBuilder, TimestampNanosecondBuilder,
    UInt8Builder, UInt16Builder, UInt32Builder, UInt64Builder, new_null_array,
};
use arrow::datatypes::{DataType, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use weir_packet::{Get, Kind, PROTOCOLS, Packet, Value};

use crate::header::Which;
use crate::{Column, Origin, Row, kept};

/// Rows on their way into a batch: one builder for each projected column, reused for each batch.
///
/// Most of many columns are of protocols that a packet does not have. Those are computed only for the packets that have
/// a header of the protocol, and are NULL for the packets between them.
pub struct Batch {
    schema: SchemaRef,
    builders: Vec<(Column, Builder)>,
    /// The columns that are computed for each row, by their index.
    dense: Vec<usize>,
    /// The columns that are computed only for packets with a header of their protocol.
    sparse: Vec<Sparse>,
    /// The index in `sparse` of the columns of a protocol, by its index in [`PROTOCOLS`].
    sparse_of: Vec<Option<usize>>,
    /// NULL in all rows of a batch, by type: for columns of protocols that no row has.
    nulls: HashMap<DataType, ArrayRef>,
    rows: usize,
    /// The number of bytes of payloads and texts so far.
    bytes: usize,
    /// The buffer for the record that becomes the value of [`crate::RECORD_COLUMN`].
    packed: Vec<u8>,
}

/// Columns of which only packets with a header of one protocol have values.
struct Sparse {
    /// The indices of the columns.
    columns: Vec<usize>,
    /// The number of rows that they have so far.
    rows: usize,
}

enum Builder {
    Bool(BooleanBuilder),
    U8(UInt8Builder),
    U16(UInt16Builder),
    U32(UInt32Builder),
    U64(UInt64Builder),
    I64(Int64Builder),
    F64(Float64Builder),
    Time(TimestampNanosecondBuilder),
    Bytes(BinaryViewBuilder),
    Text(StringViewBuilder),
    Texts(ListBuilder<StringBuilder>),
    Numbers(ListBuilder<UInt32Builder>),
}

impl Batch {
    /// A batch of these columns, which has this schema.
    pub(crate) fn new(columns: Vec<Column>, schema: SchemaRef) -> Self {
        // Room for many rows in each of hundreds of columns takes thousands of pages, and few rows may come.
        let is_wide = columns.len() >= SPARSE_COLUMNS_MIN;
        let rows = if is_wide { 0 } else { FIRST_ROWS };
        let builders = columns.into_iter().map(|column| {
            let builder = Builder::new(column.kind, rows);
            (column, builder)
        });
        let builders: Vec<_> = builders.collect();
        let (dense, sparse, sparse_of) = homes(&builders);
        Self {
            schema,
            builders,
            dense,
            sparse,
            sparse_of,
            nulls: HashMap::new(),
            rows: 0,
            bytes: 0,
            packed: Vec::new(),
        }
    }

    /// The number of rows so far.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The number of bytes of payloads and texts so far, which are copied: rows may be large.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The schema of the batches.
    #[must_use]
    pub const fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds a row.
    #[inline]
    pub fn push(&mut self, row: &Row<'_>) {
        for column in &self.dense {
            if let Some((column, builder)) = self.builders.get_mut(*column) {
                self.bytes += builder.push(column, row, &mut self.packed);
            }
        }
        if !self.sparse.is_empty() {
            self.push_sparse(row);
        }
        self.rows += 1;
    }

    /// Adds the values of a row for protocols that not every packet has.
    fn push_sparse(&mut self, row: &Row<'_>) {
        for layer in row.packet.layers() {
            let Some(Some(sparse)) = self.sparse_of.get(layer.form_of() as usize) else {
                continue;
            };
            let Some(sparse) = self.sparse.get_mut(*sparse) else {
                continue;
            };
            // A packet may have another form of the same protocol as well.
            let Some(missing) = self.rows.checked_sub(sparse.rows) else {
                continue;
            };
            for column in &sparse.columns {
                if let Some((column, builder)) = self.builders.get_mut(*column) {
                    builder.push_nulls(missing);
                    self.bytes += builder.push(column, row, &mut self.packed);
                }
            }
            sparse.rows = self.rows + 1;
        }
    }

    /// Returns the rows so far as a batch, and leaves `self` empty.
    ///
    /// # Errors
    /// Only when Arrow refuses the arrays, which would be a defect of this crate.
    pub fn finish(&mut self) -> Result<RecordBatch, ArrowError> {
        let rows = self.rows;
        self.nulls.retain(|_, array| array.len() == rows);
        let mut arrays: Vec<Option<ArrayRef>> = vec![None; self.builders.len()];
        for sparse in &mut self.sparse {
            let has_none = std::mem::take(&mut sparse.rows);
            for column in &sparse.columns {
                let Some((_, builder)) = self.builders.get_mut(*column) else {
                    continue;
                };
                let array = if has_none == 0 {
                    let data_type = self.schema.field(*column).data_type();
                    let nulls = self.nulls.entry(data_type.clone());
                    Arc::clone(nulls.or_insert_with_key(|of| new_null_array(of, rows)))
                } else {
                    builder.push_nulls(rows - has_none);
                    builder.finish()
                };
                if let Some(place) = arrays.get_mut(*column) {
                    *place = Some(array);
                }
            }
        }
        let builders = self.builders.iter_mut().zip(arrays);
        let arrays = builders
            .map(|((_, builder), array)| array.unwrap_or_else(|| builder.finish()))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        self.rows = 0;
        self.bytes = 0;
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
    }
}

/// Divides the columns into those that are computed for each row, and those that are computed only for packets with a
/// header of their protocol, if there are enough of them.
fn homes(builders: &[(Column, Builder)]) -> (Vec<usize>, Vec<Sparse>, Vec<Option<usize>>) {
    let home = |column: &Column| match column.origin {
        Origin::Packet(field, needs) => field.home(needs),
        _ => None,
    };
    let mut dense = Vec::new();
    let mut sparse: Vec<Sparse> = Vec::new();
    let mut sparse_of = vec![None; PROTOCOLS.len()];
    let is_many = builders.len() >= SPARSE_COLUMNS_MIN;
    for (place, (column, _)) in builders.iter().enumerate() {
        let layer = home(column).filter(|_| is_many);
        let Some(of) = layer.and_then(|layer| sparse_of.get_mut(layer as usize)) else {
            dense.push(place);
            continue;
        };
        let of = *of.get_or_insert_with(|| {
            sparse.push(Sparse {
                columns: Vec::new(),
                rows: 0,
            });
            sparse.len() - 1
        });
        if let Some(sparse) = sparse.get_mut(of) {
            sparse.columns.push(place);
        }
    }
    (dense, sparse, sparse_of)
}

/// The number of columns from which on those of absent protocols are skipped: a query that names its columns mostly has
/// some that all of its packets have.
const SPARSE_COLUMNS_MIN: usize = 24;

/// The rows of the first batch that a query of fewer columns has room for, which is what Arrow takes by itself.
const FIRST_ROWS: usize = 1024;

impl Builder {
    /// A builder with room for so many rows of its first batch; those after it grow as rows come.
    fn new(kind: Kind, rows: usize) -> Self {
        match kind {
            Kind::Bool => Self::Bool(BooleanBuilder::with_capacity(rows)),
            Kind::U8 => Self::U8(UInt8Builder::with_capacity(rows)),
            Kind::U16 => Self::U16(UInt16Builder::with_capacity(rows)),
            Kind::U32 => Self::U32(UInt32Builder::with_capacity(rows)),
            Kind::U64 => Self::U64(UInt64Builder::with_capacity(rows)),
            Kind::I64 => Self::I64(Int64Builder::with_capacity(rows)),
            Kind::F64 => Self::F64(Float64Builder::with_capacity(rows)),
            Kind::Time => {
                let zoned = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
                let times = TimestampNanosecondBuilder::with_capacity(rows);
                Self::Time(times.with_data_type(zoned))
            }
            Kind::Address | Kind::Bytes => Self::Bytes(BinaryViewBuilder::with_capacity(rows)),
            // Texts repeat (paths, protocol names): the same text is stored once a batch. Arrow forgets those that it has stored when
            // the table of them grows, by a hash that differs from run to run, so there is room for many from the beginning.
            Kind::Text => {
                let texts = StringViewBuilder::with_capacity(FIRST_ROWS);
                Self::Text(texts.with_deduplicate_strings())
            }
            Kind::Texts => Self::Texts(ListBuilder::new(StringBuilder::with_capacity(rows, rows))),
            Kind::Numbers => Self::Numbers(ListBuilder::new(UInt32Builder::with_capacity(rows))),
        }
    }

    /// Adds the value; returns the number of bytes of variable length that were copied.
    #[inline]
    fn push(&mut self, column: &Column, row: &Row<'_>, packed: &mut Vec<u8>) -> usize {
        match column.origin {
            Origin::Packet(field, _) => self.push_field(field.get, row.packet),
            // The same text is stored once a batch.
            Origin::File => {
                self.push_value(Some(Value::Text(row.file)));
                0
            }
            Origin::Header(header) => match header.which {
                Which::Number(_) => {
                    self.push_value(header.copied(row.packet));
                    0
                }
                Which::All => self.push_list(header.all(row.packet)),
            },
            Origin::Record => {
                kept::pack(row.packet.frame(), packed);
                self.push_value(Some(Value::Bytes(packed)));
                packed.len()
            }
            origin => {
                let value = row.given(origin);
                self.push_value(value);
                match value {
                    Some(Value::Bytes(bytes)) => bytes.len(),
                    Some(Value::Text(text)) => text.len(),
                    Some(Value::Texts(texts)) => texts.iter().map(String::len).sum(),
                    Some(Value::Numbers(numbers)) => size_of_val(numbers),
                    _ => 0,
                }
            }
        }
    }

    #[inline]
    fn push_field(&mut self, get: Get, packet: &Packet<'_>) -> usize {
        let mut copied = 0;
        match (self, get) {
            (Self::Bool(builder), Get::Bool(get)) => builder.append_option(get(packet)),
            (Self::U8(builder), Get::U8(get)) => builder.append_option(get(packet)),
            (Self::U16(builder), Get::U16(get)) => builder.append_option(get(packet)),
            (Self::U32(builder), Get::U32(get)) => builder.append_option(get(packet)),
            (Self::U64(builder), Get::U64(get)) => builder.append_option(get(packet)),
            (Self::Time(builder), Get::Time(get)) => builder.append_option(get(packet)),
            (Self::Bytes(builder), Get::Address(get)) => match get(packet) {
                Some(address) => builder.append_value(address.as_bytes()),
                None => builder.append_null(),
            },
            (Self::Bytes(builder), Get::Bytes(get)) => {
                let bytes = get(packet);
                copied = bytes.map_or(0, <[u8]>::len);
                builder.append_option(bytes);
            }
            (Self::Text(builder), Get::Text(get)) => {
                let text = get(packet);
                copied = text.map_or(0, str::len);
                builder.append_option(text);
            }
            (Self::Text(builder), Get::Write(write)) => {
                let mut text = String::new();
                match write(packet, &mut text) {
                    Ok(true) => builder.append_value(text),
                    _ => builder.append_null(),
                }
            }
            (builder, _) => builder.push_value(None),
        }
        copied
    }

    /// Adds the values of all headers of a protocol, NULL when there is none.
    fn push_list(&mut self, values: Option<Vec<Option<Value<'_>>>>) -> usize {
        let Some(values) = values else {
            self.push_value(None);
            return 0;
        };
        let bytes = size_of_val(values.as_slice());
        match self {
            Self::Numbers(builder) => {
                builder.append_value(values.into_iter().map(|value| match value? {
                    Value::Bool(flag) => Some(u32::from(flag)),
                    Value::Unsigned(number) => u32::try_from(number).ok(),
                    _ => None,
                }));
            }
            Self::Texts(builder) => {
                builder.append_value(values.into_iter().map(|value| match value? {
                    Value::Address(address) => Some(address.to_string()),
                    _ => None,
                }));
            }
            builder => builder.push_value(None),
        }
        bytes
    }

    /// Adds a value of a record layout; a value that does not fit the type of the column becomes NULL.
    fn push_value(&mut self, value: Option<Value<'_>>) {
        match (self, value) {
            (Self::Bool(builder), value) => builder.append_option(match value {
                Some(Value::Bool(value)) => Some(value),
                _ => None,
            }),
            (Self::U8(builder), value) => builder.append_option(unsigned(value)),
            (Self::U16(builder), value) => builder.append_option(unsigned(value)),
            (Self::U32(builder), value) => builder.append_option(unsigned(value)),
            (Self::U64(builder), value) => builder.append_option(unsigned(value)),
            (Self::I64(builder), value) => builder.append_option(match value {
                Some(Value::Signed(value)) => Some(value),
                _ => None,
            }),
            (Self::F64(builder), value) => builder.append_option(match value {
                Some(Value::Float(value)) => Some(value),
                _ => None,
            }),
            (Self::Time(builder), value) => builder.append_option(match value {
                Some(Value::Time(value)) => Some(value),
                _ => None,
            }),
            (Self::Bytes(builder), Some(Value::Address(address))) => {
                builder.append_value(address.as_bytes());
            }
            (Self::Bytes(builder), Some(Value::Bytes(bytes))) => builder.append_value(bytes),
            (Self::Bytes(builder), _) => builder.append_null(),
            (Self::Text(builder), Some(Value::Text(text))) => builder.append_value(text),
            (Self::Text(builder), _) => builder.append_null(),
            (Self::Texts(builder), Some(Value::Texts(texts))) => {
                builder.append_value(texts.iter().map(Some));
            }
            (Self::Texts(builder), _) => builder.append_null(),
            (Self::Numbers(builder), Some(Value::Numbers(numbers))) => {
                builder.append_value(numbers.iter().copied().map(Some));
            }
            (Self::Numbers(builder), _) => builder.append_null(),
        }
    }

    /// Adds `count` NULLs.
    fn push_nulls(&mut self, count: usize) {
        match self {
            Self::Bool(builder) => builder.append_nulls(count),
            Self::U8(builder) => builder.append_nulls(count),
            Self::U16(builder) => builder.append_nulls(count),
            Self::U32(builder) => builder.append_nulls(count),
            Self::U64(builder) => builder.append_nulls(count),
            Self::I64(builder) => builder.append_nulls(count),
            Self::F64(builder) => builder.append_nulls(count),
            Self::Time(builder) => builder.append_nulls(count),
            _ => (0..count).for_each(|_| self.push_value(None)),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Bool(builder) => Arc::new(builder.finish()),
            Self::U8(builder) => Arc::new(builder.finish()),
            Self::U16(builder) => Arc::new(builder.finish()),
            Self::U32(builder) => Arc::new(builder.finish()),
            Self::U64(builder) => Arc::new(builder.finish()),
            Self::I64(builder) => Arc::new(builder.finish()),
            Self::F64(builder) => Arc::new(builder.finish()),
            Self::Time(builder) => Arc::new(builder.finish()),
            Self::Bytes(builder) => Arc::new(builder.finish()),
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Texts(builder) => Arc::new(builder.finish()),
            Self::Numbers(builder) => Arc::new(builder.finish()),
        }
    }
}

fn unsigned<T: TryFrom<u64>>(value: Option<Value<'_>>) -> Option<T> {
    match value {
        Some(Value::Unsigned(value)) => T::try_from(value).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use arrow::buffer::Buffer;

    use super::*;

    /// Files with the same rows differed from run to run.
    #[test]
    fn texts_of_a_batch_of_many_columns_are_stored_once() {
        let Builder::Text(mut texts) = Builder::new(Kind::Text, 0) else {
            panic!("texts have another builder");
        };
        for number in (0..500).chain(0..500) {
            texts.append_value(format!("a text that is long enough {number:03}"));
        }
        let stored = texts.finish();
        let octets: usize = stored.data_buffers().iter().map(Buffer::len).sum();
        assert_eq!(octets, 500 * 30);
    }
}
