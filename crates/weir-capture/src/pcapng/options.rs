//! Options: code, length, value, padding; at the end of most blocks.

use weir_bytes::{Endian, Reader as Bytes};

/// The position of an option.
pub(super) struct RawOption {
    pub(super) code: u16,
    /// The offset of its value.
    pub(super) start: usize,
    pub(super) len: usize,
}

/// Walks options; stops at the end mark, or at a cut one.
pub(super) struct OptionIter<'a> {
    reader: Bytes<'a>,
    endian: Endian,
}

impl<'a> OptionIter<'a> {
    pub(super) fn new(bytes: &'a [u8], endian: Endian) -> Self {
        Self {
            reader: Bytes::new(bytes),
            endian,
        }
    }
}

impl Iterator for OptionIter<'_> {
    type Item = RawOption;

    fn next(&mut self) -> Option<RawOption> {
        let code = self.reader.u16(self.endian).ok()?;
        let len = usize::from(self.reader.u16(self.endian).ok()?);
        if code == OPTION_END {
            return None;
        }
        let start = self.reader.offset();
        self.reader.skip(len).ok()?;
        // Padding of the last option may be missing.
        let padding = (len.wrapping_neg() & 3).min(self.reader.remaining());
        self.reader.skip(padding).ok()?;
        Some(RawOption { code, start, len })
    }
}

/// Ends the options; they may also just stop.
const OPTION_END: u16 = 0;
