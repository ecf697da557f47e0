//! Whole records in a plan, which are to be written as a capture again.

use std::sync::Arc;

use weir_capture::WriteRecord;
use weir_packet::{Frame, Kind, LinkType};

use crate::{Column, Origin};

/// The column that holds a whole record, which [`kept_record`] reads. No table of a user has it:
/// [`crate::Table::with_records`] adds it where a capture is to be written.
pub const RECORD_COLUMN: &str = "frame.record";

/// The column's definition.
pub(crate) fn column() -> Column {
    Column {
        name: Arc::from(RECORD_COLUMN),
        kind: Kind::Bytes,
        doc: "The whole record, for writing captures".into(),
        reference: "weir".into(),
        origin: Origin::Record,
    }
}

/// Packs the record header of a frame, and its bytes.
pub(crate) fn pack(frame: &Frame<'_>, out: &mut Vec<u8>) {
    let record = to_write(frame);
    out.clear();
    out.extend_from_slice(&record.time_ns.to_le_bytes());
    out.extend_from_slice(&record.wire_len.to_le_bytes());
    out.extend_from_slice(&record.link_type.to_le_bytes());
    put_text(out, record.interface_name);
    put_text(out, record.comment);
    out.extend_from_slice(record.data);
}

/// The frame as a record to write. A record without a time gets the time 0, as in other programs.
pub(crate) fn to_write<'a>(frame: &Frame<'a>) -> WriteRecord<'a> {
    let time_ns = frame.time_ns.unwrap_or(0);
    let mut record = WriteRecord::new(frame.link_type.0, time_ns, frame.data);
    record.wire_len = wire_len(frame);
    // The name `unknown`, which rows have when a capture has none, is not written.
    record.interface_name = frame.interface_name.filter(|name| *name != "unknown");
    record.comment = frame.comment;
    record
}

/// In pcap and pcapng the length on the wire includes ERF's own header, which the record's length does not.
fn wire_len(frame: &Frame<'_>) -> u32 {
    match frame.link_type {
        LinkType::ERF => {
            let header = frame.link_type.pseudo_header_len(frame.data);
            frame.len().saturating_add(header)
        }
        _ => frame.wire_len,
    }
}

/// Appends a text after its length.
fn put_text(out: &mut Vec<u8>, text: Option<&str>) {
    let text = text.and_then(|text| Some((u32::try_from(text.len()).ok()?, text)));
    match text {
        Some((len, text)) if len != NO_TEXT => {
            out.extend_from_slice(&len.to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        _ => out.extend_from_slice(&NO_TEXT.to_le_bytes()),
    }
}

/// Reads a value of the column [`RECORD_COLUMN`]; `None` when the bytes are something else.
#[must_use]
pub fn kept_record(packed: &[u8]) -> Option<WriteRecord<'_>> {
    let mut rest = packed;
    let time_ns = i64::from_le_bytes(*take(&mut rest)?);
    let wire_len = u32::from_le_bytes(*take(&mut rest)?);
    let link_type = u32::from_le_bytes(*take(&mut rest)?);
    let interface_name = take_text(&mut rest)?;
    let comment = take_text(&mut rest)?;
    let mut record = WriteRecord::new(link_type, time_ns, rest);
    record.wire_len = wire_len;
    record.interface_name = interface_name;
    record.comment = comment;
    Some(record)
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (taken, left) = rest.split_first_chunk()?;
    *rest = left;
    Some(taken)
}

fn take_text<'a>(rest: &mut &'a [u8]) -> Option<Option<&'a str>> {
    let len = u32::from_le_bytes(*take(rest)?);
    if len == NO_TEXT {
        return Some(None);
    }
    let (text, left) = rest.split_at_checked(len as usize)?;
    *rest = left;
    Some(Some(std::str::from_utf8(text).ok()?))
}

/// The length that stands for a missing text.
const NO_TEXT: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_unpacked_as_it_was_packed() {
        let texts = [None, Some(""), Some("eth0"), Some("Grüße")];
        for interface_name in texts {
            for comment in texts {
                for data in [&[][..], &[1, 2, 3]] {
                    let mut frame = Frame::new(LinkType::ETHERNET, data);
                    frame.time_ns = Some(-5);
                    frame.wire_len = 99;
                    frame.interface_name = interface_name;
                    frame.comment = comment;
                    let mut packed = vec![7];
                    pack(&frame, &mut packed);
                    let record = kept_record(&packed).unwrap();
                    assert_eq!((record.time_ns, record.wire_len), (-5, 99));
                    assert_eq!((record.link_type, record.data), (1, data));
                    assert_eq!(record.interface_name, interface_name);
                    assert_eq!(record.comment, comment);
                    for cut in 0..packed.len() - data.len() {
                        assert!(kept_record(&packed[..cut]).is_none());
                    }
                }
            }
        }
    }
}
