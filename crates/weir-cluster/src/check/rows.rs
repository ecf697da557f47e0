//! Rows in a plan, in the stream format of Arrow IPC.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow::ipc::reader::StreamReader;
use arrow::ipc::{Message, MessageHeader, RecordBatch, root_as_message};

use super::{Checked, Refused};

/// Rows of a table in memory. What says where something lies has to lie in what was sent, and nothing is compressed: a
/// few bytes would be any number of them.
pub(super) fn stream(bytes: &[u8]) -> Checked {
    messages(bytes)?;
    match bytes.is_empty() {
        true => Ok(()),
        false => readable(|| {
            let mut reader = StreamReader::try_new(bytes, None)?;
            reader.try_for_each(|batch| batch.map(drop))
        }),
    }
}

/// Whether something can be read, now that it cannot take more memory than it was sent in: Arrow panics at some of what it
/// does not know, and here nothing has been begun yet.
pub(super) fn readable<E>(read: impl FnOnce() -> Result<(), E>) -> Checked {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(Ok(())) => Ok(()),
        _ => Err(Refused::malformed(
            "rows or a literal of a plan that cannot be read",
        )),
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

/// One message whose body is so long.
pub(super) fn message(header: &[u8], body: usize) -> Checked {
    looked_at(&read(header)?, body)
}

fn read(header: &[u8]) -> Result<Message<'_>, Refused> {
    root_as_message(header)
        .map_err(|error| Refused::malformed(format!("rows of a plan that cannot be read: {error}")))
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
        _ => Err(Refused::malformed("rows of a plan that are none")),
    }
}

fn batch(batch: Option<RecordBatch<'_>>, body: usize) -> Checked {
    let Some(batch) = batch else {
        return Err(Refused::malformed("rows of a plan that are none"));
    };
    if batch.compression().is_some() {
        return Err(Refused::not_allowed("compressed rows in a plan"));
    }
    let is_row_count = |count: i64| (0..=ROWS_MAX).contains(&count);
    let mut counts_fit = is_row_count(batch.length());
    for node in batch.nodes().into_iter().flatten() {
        counts_fit &=
            is_row_count(node.length()) && (0..=node.length()).contains(&node.null_count());
    }
    if !counts_fit {
        return Err(Refused::malformed(format!(
            "rows of a plan are {ROWS_MAX} at most"
        )));
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let end = usize::try_from(buffer.offset())
            .ok()
            .zip(usize::try_from(buffer.length()).ok());
        match end.and_then(|(offset, length)| offset.checked_add(length)) {
            Some(end) if end <= body => {}
            _ => return Err(cut()),
        }
    }
    for count in batch.variadicBufferCounts().into_iter().flatten() {
        if !usize::try_from(count).is_ok_and(|count| count <= body) {
            return Err(cut());
        }
    }
    Ok(())
}

fn cut() -> Refused {
    Refused::malformed("rows of a plan that lie outside of the message")
}

const CONTINUES: u32 = u32::MAX;
/// Rows of a batch, and elements of a column, at most.
const ROWS_MAX: i64 = 1 << 22;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, RecordBatch as Batch, StringArray};
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

    #[test]
    fn rows_lie_in_what_was_sent() {
        let whole = sent();
        assert!(stream(&whole).is_ok());
        assert!(stream(&[]).is_ok());
        // Each is read, or refused.
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
