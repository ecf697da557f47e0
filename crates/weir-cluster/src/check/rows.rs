//! Validation of Arrow IPC messages: the tables in memory of plans, in the stream format, and record batches of Arrow Flight.
//!
//! Arrow's readers trust the numbers of a message. A buffer outside of the body panics, and the uncompressed length in front of a
//! compressed buffer is allocated before anything is decompressed, so that 8 octets abort the process.

use std::io::Read as _;

use arrow::array::{Array as _, ArrayRef, AsArray as _};
use arrow::datatypes::{DataType, Schema};
use arrow::ipc::reader::StreamReader;
use arrow::ipc::{
    BodyCompressionMethod, CompressionType, Message, MessageHeader, RecordBatch, root_as_message,
};

use super::{Checked, Refused};
use crate::layout::is_declared;
use crate::panics;

/// Validates a table in memory in the stream format, whose columns have the types of this schema: DataFusion does not compare them. All
/// buffers lie within the message, and none is compressed, a dictionary, or has views of more than [`BATCH_BYTES_MAX`]: a few bytes could
/// expand to any number. Gives the number of rows of the largest batch.
pub(super) fn stream(bytes: &[u8], schema: &Schema) -> Result<usize, Refused> {
    if schema
        .fields()
        .iter()
        .any(|of| has_dictionary(of.data_type()))
    {
        return Err(Refused::not_allowed("a dictionary in a table in memory"));
    }
    messages(bytes)?;
    if bytes.is_empty() {
        return Ok(0);
    }
    let (mut is_of_schema, mut rows, mut viewed) = (true, 0, 0);
    readable(|| {
        let mut reader = StreamReader::try_new(bytes, None)?;
        reader.try_for_each(|batch| {
            batch.map(|batch| {
                is_of_schema &= is_declared(&batch, schema);
                rows = rows.max(batch.num_rows());
                let columns = batch.columns().iter().map(viewed_bytes);
                viewed = columns.fold(viewed, usize::saturating_add);
            })
        })
    })?;
    if viewed > BATCH_BYTES_MAX {
        return Err(Refused::malformed(format!(
            "the values of a table in memory have {viewed} bytes, and the limit is {BATCH_BYTES_MAX}"
        )));
    }
    match is_of_schema {
        true => Ok(rows),
        false => Err(Refused::malformed(
            "the columns of a table in memory have other types than those of its schema",
        )),
    }
}

/// Whether a type has a dictionary, of which many rows may have the same long value.
fn has_dictionary(of: &DataType) -> bool {
    match of {
        DataType::Dictionary(..) => true,
        DataType::List(of)
        | DataType::LargeList(of)
        | DataType::FixedSizeList(of, _)
        | DataType::Map(of, _) => has_dictionary(of.data_type()),
        DataType::Struct(fields) => fields.iter().any(|of| has_dictionary(of.data_type())),
        _ => false,
    }
}

/// The bytes of values that are views: many of them may be of the same place of a buffer.
fn viewed_bytes(array: &ArrayRef) -> usize {
    match array.data_type() {
        DataType::Utf8View => sum(array.as_string_view().iter().flatten().map(str::len)),
        DataType::BinaryView => sum(array.as_binary_view().iter().flatten().map(<[u8]>::len)),
        DataType::List(_) => viewed_bytes(array.as_list::<i32>().values()),
        DataType::LargeList(_) => viewed_bytes(array.as_list::<i64>().values()),
        DataType::FixedSizeList(..) => viewed_bytes(array.as_fixed_size_list().values()),
        DataType::Struct(_) => sum(array.as_struct().columns().iter().map(viewed_bytes)),
        DataType::Map(..) => sum(array.as_map().entries().columns().iter().map(viewed_bytes)),
        _ => 0,
    }
}

fn sum(bytes: impl Iterator<Item = usize>) -> usize {
    bytes.fold(0, usize::saturating_add)
}

/// Decodes something whose size is validated. Arrow panics at some malformed messages; the panic is caught here, before a task
/// runs.
pub(super) fn readable<E>(read: impl FnOnce() -> Result<(), E>) -> Checked {
    caught(read)
        .map_err(|_| Refused::malformed("the rows or a literal of a plan cannot be decoded"))
}

/// Runs a reader of Arrow, and turns a panic into an error.
pub(crate) fn caught<T, E>(read: impl FnOnce() -> Result<T, E>) -> Result<T, Option<E>> {
    match panics::caught(read) {
        Some(read) => read.map_err(Some),
        None => Err(None),
    }
}

fn messages(mut bytes: &[u8]) -> Checked {
    while !bytes.is_empty() {
        let (mut length, mut rest) = word(bytes)?;
        if length == CONTINUES {
            (length, rest) = word(rest)?;
        }
        if length == 0 {
            break;
        }
        let length = usize::try_from(length).map_err(|_| cut())?;
        let (header, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
        let message = read(header)?;
        let body = usize::try_from(message.bodyLength()).map_err(|_| cut())?;
        let (_, rest) = rest.split_at_checked(body).ok_or_else(cut)?;
        looked_at(&message, body)?;
        bytes = rest;
    }
    Ok(())
}

/// Validates one message with the length of its body.
pub(super) fn message(header: &[u8], body: usize) -> Checked {
    looked_at(&read(header)?, body)
}

fn read(header: &[u8]) -> Result<Message<'_>, Refused> {
    root_as_message(header).map_err(|error| {
        Refused::malformed(format!("the rows of a plan cannot be decoded: {error}"))
    })
}

fn word(bytes: &[u8]) -> Result<(u32, &[u8]), Refused> {
    let (word, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
    Ok((u32::from_le_bytes(*word), rest))
}

fn looked_at(message: &Message<'_>, body: usize) -> Checked {
    match message.header_type() {
        MessageHeader::Schema => Ok(()),
        MessageHeader::RecordBatch => batch(message.header_as_record_batch(), body),
        MessageHeader::DictionaryBatch => {
            let dictionary = message.header_as_dictionary_batch();
            batch(dictionary.and_then(|dictionary| dictionary.data()), body)
        }
        _ => Err(Refused::malformed(
            "an Arrow IPC message of a plan is not a record batch",
        )),
    }
}

fn batch(batch: Option<RecordBatch<'_>>, body: usize) -> Checked {
    let Some(batch) = batch else {
        return Err(Refused::malformed(
            "an Arrow IPC message of a plan is not a record batch",
        ));
    };
    if batch.compression().is_some() {
        return Err(Refused::not_allowed("compressed rows in a plan"));
    }
    counts(batch, ROWS_MAX)?;
    buffers_within(batch, body)
}

/// Validates a record batch of Arrow Flight, before Arrow decodes it.
///
/// # Errors
/// When the header is not that of a record batch, a count is negative or larger than the body can hold, a buffer lies outside
/// of the body, or the buffers take more than [`BATCH_BYTES_MAX`] when they are decompressed.
pub(crate) fn flight_batch(header: &[u8], body: &[u8]) -> Checked {
    let message = root_as_message(header)
        .map_err(|error| Refused::malformed(format!("the header of a record batch: {error}")))?;
    let Some(batch) = message.header_as_record_batch() else {
        return Err(Refused::malformed(
            "an Arrow Flight message is not a record batch",
        ));
    };
    buffers_within(batch, body.len())?;
    let bytes = match batch.compression() {
        Some(compression) => {
            if (compression.codec(), compression.method())
                != (CompressionType::LZ4_FRAME, BodyCompressionMethod::BUFFER)
            {
                return Err(Refused::malformed(
                    "a record batch has another compression than LZ4 frames",
                ));
            }
            decompressed_bytes(batch, body)?
        }
        None => body.len(),
    };
    // A value that is not NULL takes a bit at least.
    let most = i64::try_from(bytes.saturating_mul(8)).unwrap_or(i64::MAX);
    counts(batch, most.max(ROWS_MAX))?;
    if batch.length() > ROWS_MAX {
        return Err(too_many_rows(ROWS_MAX));
    }
    Ok(())
}

/// The decompressed size of the buffers of a batch. Each buffer is empty or begins with its uncompressed length.
fn decompressed_bytes(batch: RecordBatch<'_>, body: &[u8]) -> Result<usize, Refused> {
    let mut all: usize = 0;
    for buffer in batch.buffers().into_iter().flatten() {
        let (Ok(offset), Ok(length)) = (
            usize::try_from(buffer.offset()),
            usize::try_from(buffer.length()),
        ) else {
            return Err(outside());
        };
        let bytes = body.get(offset..).and_then(|rest| rest.get(..length));
        let bytes = bytes.ok_or_else(outside)?;
        if bytes.is_empty() {
            continue;
        }
        let (length, frame) = bytes.split_first_chunk().ok_or_else(outside)?;
        let decompressed = match i64::from_le_bytes(*length) {
            NOT_COMPRESSED => frame.len(),
            length => usize::try_from(length).map_err(|_| {
                Refused::malformed("the uncompressed length of a buffer is negative")
            })?,
        };
        all = all.saturating_add(decompressed);
        if all > BATCH_BYTES_MAX {
            return Err(Refused::malformed(format!(
                "a record batch takes more than {BATCH_BYTES_MAX} bytes when it is decompressed"
            )));
        }
        // A frame that is longer than it says is decompressed whole by Arrow. Only a large one can be much longer.
        let is_compressed = i64::from_le_bytes(*length) != NOT_COMPRESSED;
        if is_compressed && frame.len() > BATCH_BYTES_MAX / LZ4_RATIO_MAX {
            let mut rest = lz4_flex::frame::FrameDecoder::new(frame)
                .take(u64::try_from(decompressed).unwrap_or(u64::MAX) + 1);
            let found = std::io::copy(&mut rest, &mut std::io::sink());
            if !found.is_ok_and(|found| usize::try_from(found) == Ok(decompressed)) {
                return Err(Refused::malformed(
                    "a buffer of a record batch does not have its declared length",
                ));
            }
        }
    }
    Ok(all)
}

/// Validates the numbers of rows, elements and NULLs.
fn counts(batch: RecordBatch<'_>, most: i64) -> Checked {
    let is_count = |count: i64| (0..=most).contains(&count);
    let mut fits = is_count(batch.length());
    for node in batch.nodes().into_iter().flatten() {
        fits &= is_count(node.length()) && (0..=node.length()).contains(&node.null_count());
    }
    match fits {
        true => Ok(()),
        false => Err(too_many_rows(most)),
    }
}

/// Checks that all buffers lie within a body of so many bytes.
fn buffers_within(batch: RecordBatch<'_>, body: usize) -> Checked {
    let buffers = batch.buffers();
    for buffer in buffers.into_iter().flatten() {
        let end = usize::try_from(buffer.offset())
            .ok()
            .zip(usize::try_from(buffer.length()).ok());
        match end.and_then(|(offset, length)| offset.checked_add(length)) {
            Some(end) if end <= body => {}
            _ => return Err(outside()),
        }
    }
    let known = buffers.map_or(0, |buffers| buffers.len());
    for count in batch.variadicBufferCounts().into_iter().flatten() {
        if !usize::try_from(count).is_ok_and(|count| count <= known) {
            return Err(outside());
        }
    }
    Ok(())
}

fn outside() -> Refused {
    Refused::malformed("a buffer of a record batch lies outside of its message")
}

fn too_many_rows(most: i64) -> Refused {
    Refused::malformed(format!(
        "a count of a record batch is negative or above {most}"
    ))
}

fn cut() -> Refused {
    Refused::malformed("the rows of a plan lie outside of the message")
}

const CONTINUES: u32 = u32::MAX;
/// The maximum number of rows of a batch, and of elements of a column of a plan.
const ROWS_MAX: i64 = 1 << 22;
/// The maximum decompressed size of a record batch of Arrow Flight. Executors send about 2 MiB, or one row.
const BATCH_BYTES_MAX: usize = 256 << 20;
/// An upper bound of the compression ratio of LZ4 blocks.
const LZ4_RATIO_MAX: usize = 256;
/// The uncompressed length of a buffer that is not compressed (Arrow's `Message.fbs`).
const NOT_COMPRESSED: i64 = -1;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        DictionaryArray, Int64Array, RecordBatch as Batch, StringArray, StringViewArray,
    };
    use arrow::datatypes::{DataType, Field, Int32Type};
    use arrow::ipc::writer::StreamWriter;

    use super::*;

    fn sent() -> Vec<u8> {
        let batch = Batch::try_from_iter([
            ("n", Arc::new(Int64Array::from(vec![1, 2, 3])) as _),
            (
                "s",
                Arc::new(StringArray::from(vec![Some("a"), None, Some("c")])) as _,
            ),
        ]);
        let batch = batch.unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.into_inner().unwrap()
    }

    fn schema(kinds: [DataType; 2]) -> Schema {
        let [number, text] = kinds;
        Schema::new(vec![
            Field::new("n", number, true),
            Field::new("s", text, true),
        ])
    }

    /// Columns that were declared as others were written behind the schema of those, and the next stage read beyond their ends.
    #[test]
    fn rows_have_the_types_of_their_schema() {
        let whole = sent();
        let looked_at = |kinds| stream(&whole, &schema(kinds));
        assert!(looked_at([DataType::Int64, DataType::Utf8]).is_ok());
        for kinds in [
            [DataType::Utf8, DataType::Int64],
            [DataType::Int64, DataType::Binary],
            [DataType::FixedSizeBinary(4_096), DataType::Utf8],
        ] {
            let refused = looked_at(kinds).unwrap_err().to_string();
            assert!(refused.contains("other types"), "{refused}");
        }
        assert!(stream(&whole, &Schema::empty()).is_err());
    }

    /// Rows of some bytes each that were the same text of a megabyte became terabytes.
    #[test]
    fn values_that_many_rows_share_are_bounded() {
        let looked_at = |column: ArrayRef| {
            let batch = Batch::try_from_iter([("s", column)]).unwrap();
            let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
            writer.write(&batch).unwrap();
            stream(&writer.into_inner().unwrap(), &batch.schema())
        };
        let shared = |bytes: usize| {
            let text = "x".repeat(bytes);
            let one = StringViewArray::from(vec![text.as_str()]);
            let same = arrow::array::UInt32Array::from(vec![0; 1_000]);
            arrow::compute::take(&one, &same, None).unwrap()
        };
        assert_eq!(looked_at(shared(1_000)).unwrap(), 1_000);
        let refused = looked_at(shared(1 << 20)).unwrap_err().to_string();
        assert!(refused.contains("1048576000 bytes"), "{refused}");
        let dictionary: DictionaryArray<Int32Type> = ["a", "b", "a"].into_iter().collect();
        let refused = looked_at(Arc::new(dictionary)).unwrap_err().to_string();
        assert!(refused.contains("a dictionary in a table"), "{refused}");
    }

    #[test]
    fn rows_lie_within_the_message() {
        let whole = sent();
        let schema = schema([DataType::Int64, DataType::Utf8]);
        let stream = |bytes: &[u8]| stream(bytes, &schema);
        assert!(stream(&whole).is_ok());
        assert!(stream(&[]).is_ok());
        // Each mutation is decoded or rejected.
        for place in 0..whole.len() {
            for bit in 0..8 {
                let mut other = whole.clone();
                other[place] ^= 1 << bit;
                let _ = stream(&other);
            }
        }
        for end in 1..whole.len() {
            let _ = stream(&whole[..end]);
        }
        let batch_at = whole.len() / 2;
        assert!(stream(&whole[..batch_at]).is_err());
    }
}
