//! Records of captures as frames for the decoder.

use weir_capture::Record;
use weir_packet::{Frame, LinkType};

/// The frame of a record, with the record's number.
pub(crate) fn frame_of<'r>(record: &Record<'r>) -> Frame<'r> {
    Frame {
        number: record.number,
        time_ns: record.time_ns,
        wire_len: record.wire_len,
        ..Frame::new(LinkType(record.link_type), record.data)
    }
}
