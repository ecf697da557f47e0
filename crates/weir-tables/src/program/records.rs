//! The records that a program processes in the buffer of their reader.

use std::io::Read;

use weir_capture::{Reader, RecordFraming};
use weir_packet::LinkType;

/// The framing of the records of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramFraming {
    Capture(RecordFraming),
    /// All records have this number of bytes.
    Fixed(u32),
}

/// A reader whose records a program may process in its buffer.
pub(crate) trait Records {
    /// The framing and the link type of the next records; `None` when a program cannot frame them.
    fn framing(&self) -> Option<(ProgramFraming, LinkType)>;

    /// The available bytes from the next record on, its number, and a bit for each known port.
    fn window(&self) -> (&[u8], u64, u8);

    /// Skips `records` records, which are `bytes` bytes long.
    fn pass_records(&mut self, bytes: usize, records: u64);
}

impl<R: Read> Records for Reader<R> {
    fn framing(&self) -> Option<(ProgramFraming, LinkType)> {
        let link_type = LinkType(self.interfaces().first()?.link_type);
        Some((ProgramFraming::Capture(Self::framing(self)?), link_type))
    }

    fn window(&self) -> (&[u8], u64, u8) {
        (Self::window(self), self.next_number(), self.ports())
    }

    fn pass_records(&mut self, bytes: usize, records: u64) {
        Self::pass_records(self, bytes, records);
    }
}
