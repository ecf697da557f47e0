//! The bitmaps of NULLs of values that a client sends, before Arrow reads them: its reader panics where one is shorter than its
//! column.

use std::collections::HashMap;

use arrow::ipc::{Buffer, Field, FieldNode, Message, MessageHeader, RecordBatch, Schema, Type};

/// The columns of a schema, and those of its dictionaries by their numbers.
#[derive(Debug, Default)]
pub(super) struct Layout {
    columns: Vec<Column>,
    dictionaries: HashMap<i64, Column>,
}

/// The buffers of a column in a message.
#[derive(Debug)]
enum Column {
    /// No buffers: all are NULL.
    Nulls,
    /// A bitmap, and so many buffers.
    Plain(usize),
    /// A bitmap, the views, and as many buffers as the message says.
    Views,
    /// A bitmap, so many buffers, and those of the items.
    List(usize, Box<Column>),
}

impl Layout {
    /// The columns of a schema whose types are known.
    pub(super) fn of(schema: Schema<'_>) -> Self {
        let mut layout = Self::default();
        for field in schema.fields().into_iter().flatten() {
            layout.add_dictionaries(field);
            layout.columns.push(Column::of(field));
        }
        layout
    }

    /// Adds the dictionaries of a field and of the items in it.
    fn add_dictionaries(&mut self, field: Field<'_>) {
        if let Some(dictionary) = field.dictionary() {
            let values = Column::of_values(field);
            self.dictionaries.insert(dictionary.id(), values);
        }
        for child in field.children().into_iter().flatten() {
            self.add_dictionaries(child);
        }
    }

    /// Whether each column of a message with NULLs has a bitmap with a bit for each of its rows.
    pub(super) fn has_bitmaps(&self, message: Message<'_>) -> bool {
        match message.header_type() {
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch();
                batch.is_none_or(|batch| have_bitmaps(&self.columns, batch))
            }
            MessageHeader::DictionaryBatch => {
                let batch = message.header_as_dictionary_batch();
                let values = batch.and_then(|batch| {
                    let column = self.dictionaries.get(&batch.id())?;
                    Some((std::slice::from_ref(column), batch.data()?))
                });
                values.is_none_or(|(column, data)| have_bitmaps(column, data))
            }
            _ => true,
        }
    }
}

impl Column {
    /// The column of a field, which has keys in the place of values where it has a dictionary.
    fn of(field: Field<'_>) -> Self {
        match field.dictionary() {
            Some(_) => Self::Plain(1),
            None => Self::of_values(field),
        }
    }

    fn of_values(field: Field<'_>) -> Self {
        let items = || {
            let mut children = field.children().into_iter().flatten();
            Box::new(children.next().map_or(Self::Nulls, Self::of))
        };
        match field.type_type() {
            Type::Null => Self::Nulls,
            Type::Binary | Type::LargeBinary | Type::Utf8 | Type::LargeUtf8 => Self::Plain(2),
            Type::BinaryView | Type::Utf8View => Self::Views,
            Type::List | Type::LargeList => Self::List(1, items()),
            Type::FixedSizeList => Self::List(0, items()),
            _ => Self::Plain(1),
        }
    }
}

/// The parts of a message that have not been taken yet.
struct Parts<'b> {
    nodes: Box<dyn Iterator<Item = &'b FieldNode> + 'b>,
    buffers: Box<dyn Iterator<Item = &'b Buffer> + 'b>,
    counts: Box<dyn Iterator<Item = i64> + 'b>,
}

impl Parts<'_> {
    /// Takes the parts of a column; `None` where there are too few, or its bitmap is too short.
    fn take(&mut self, column: &Column) -> Option<()> {
        let node = self.nodes.next()?;
        if matches!(column, Column::Nulls) {
            return Some(());
        }
        let bitmap = self.buffers.next()?;
        if node.null_count() > 0 {
            let rows = usize::try_from(node.length()).ok()?;
            let bytes = usize::try_from(bitmap.length()).ok()?;
            if bytes < rows.div_ceil(8) {
                return None;
            }
        }
        let buffers = match column {
            Column::Nulls => 0,
            Column::Plain(buffers) | Column::List(buffers, _) => *buffers,
            Column::Views => usize::try_from(self.counts.next()?).ok()?.checked_add(1)?,
        };
        for _ in 0..buffers {
            self.buffers.next()?;
        }
        match column {
            Column::List(_, items) => self.take(items),
            _ => Some(()),
        }
    }
}

fn have_bitmaps(columns: &[Column], batch: RecordBatch<'_>) -> bool {
    let counts = batch.variadicBufferCounts().into_iter().flatten();
    let mut parts = Parts {
        nodes: Box::new(batch.nodes().into_iter().flatten()),
        buffers: Box::new(batch.buffers().into_iter().flatten()),
        counts: Box::new(counts),
    };
    columns.iter().all(|column| parts.take(column).is_some())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        ArrayRef, DictionaryArray, FixedSizeListArray, Int8Array, Int32Array, ListArray, NullArray,
        RecordBatch as Rows, StringArray, StringViewArray,
    };
    use arrow::datatypes::{Int8Type, Int32Type};
    use arrow::ipc::root_as_message;
    use arrow::ipc::writer::{
        DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions,
    };

    use super::*;

    /// The number of bitmaps that are missed where their length, which is an octet, is made zero.
    fn missed(array: ArrayRef) -> usize {
        let rows = Rows::try_from_iter([("$1", array)]).unwrap();
        let options = IpcWriteOptions::default();
        let (generator, mut tracker) = (IpcDataGenerator::default(), DictionaryTracker::new(false));
        let schema = rows.schema();
        let schema =
            generator.schema_to_bytes_with_dictionary_tracker(&schema, &mut tracker, &options);
        let mut context = IpcWriteContext::default();
        let encoded = generator.encode(&rows, &mut tracker, &options, &mut context);
        let (mut messages, batch) = encoded.unwrap();
        messages.push(batch);
        let schema = root_as_message(&schema.ipc_message).unwrap();
        let layout = Layout::of(schema.header_as_schema().unwrap());
        let mut missed = 0;
        for header in messages.iter().map(|message| &message.ipc_message) {
            assert!(layout.has_bitmaps(root_as_message(header).unwrap()));
            for place in 0..header.len().saturating_sub(8) {
                if header[place..place + 8] != 1_u64.to_le_bytes() {
                    continue;
                }
                let mut changed = header.clone();
                changed[place] = 0;
                let changed = root_as_message(&changed);
                missed += usize::from(changed.is_ok_and(|it| !layout.has_bitmaps(it)));
            }
        }
        missed
    }

    /// The reader panicked at an empty bitmap in any column.
    #[test]
    fn columns_with_nulls_have_a_bit_for_each_row() {
        let long = "a text that no view holds itself";
        let keys: DictionaryArray<Int8Type> = [Some("a"), None, Some("b")].into_iter().collect();
        let words = StringArray::from(vec![Some("a"), None]);
        let words = DictionaryArray::new(Int8Array::from(vec![0, 1]), Arc::new(words));
        let lists = [Some(vec![Some(1), None]), None, Some(vec![])];
        let pairs = [
            Some(vec![Some(1), None]),
            None,
            Some(vec![Some(3), Some(4)]),
        ];
        let all: Vec<(ArrayRef, &str)> = vec![
            (
                Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])),
                "numbers",
            ),
            (
                Arc::new(StringArray::from(vec![Some("a"), None, Some("b")])),
                "texts",
            ),
            (
                Arc::new(StringViewArray::from(vec![Some(long), None, Some("b")])),
                "views",
            ),
            (Arc::new(keys), "keys"),
            (Arc::new(words), "words"),
            (
                Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists)),
                "lists",
            ),
            (
                Arc::new(FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(
                    pairs, 2,
                )),
                "pairs",
            ),
        ];
        for (array, name) in all {
            assert!(missed(array) > 0, "{name}");
        }
        assert_eq!(missed(Arc::new(NullArray::new(3))), 0);
        assert_eq!(missed(Arc::new(Int32Array::from(vec![1, 2, 3]))), 0);
    }
}
