//! Files of records of a user-defined layout, cut into records.

use std::io::{self, Read};
use std::sync::Arc;

use weir_capture::Pieces;
use weir_layout::{Framing as Cut, Layout};
use weir_packet::LinkType;

use crate::program::{ProgramFraming, Records};
use crate::source::{Bytes, Cause};

/// Reads a file record by record through one buffer, which grows only as bytes arrive and never
/// beyond the longest record that the layout allows.
pub(crate) struct RecordReader {
    layout: Arc<Layout>,
    bytes: Bytes,
    buffer: Vec<u8>,
    /// The size of reads.
    pieces: Pieces,
    /// The range of the bytes of the buffer that were not returned yet.
    start: usize,
    end: usize,
    at_end: bool,
    /// Offset in the file of `buffer[start]`.
    offset: u64,
    number: u64,
    header_checked: bool,
    damage: Option<Damage>,
}

/// The first place where the file did not match the layout, and the number of such places.
struct Damage {
    number: u64,
    offset: u64,
    reason: String,
    places: u64,
}

/// A record that borrows from the reader's buffer.
pub(crate) struct RawRecord<'a> {
    pub(crate) number: u64,
    pub(crate) bytes: &'a [u8],
}

/// The bytes at the start of the window.
enum Front {
    Record(usize),
    More(usize),
    Damaged(String),
}

impl Records for RecordReader {
    fn framing(&self) -> Option<(ProgramFraming, LinkType)> {
        let len = u32::try_from(self.layout.plain_record_len()?).ok()?;
        let is_behind_header = self.header_checked;
        is_behind_header.then_some((ProgramFraming::Fixed(len), LinkType(u32::MAX)))
    }

    fn window(&self) -> (&[u8], u64, u8) {
        (Self::window(self), self.number + 1, 0)
    }

    fn pass_records(&mut self, bytes: usize, records: u64) {
        self.number += records;
        self.advance(bytes.min(self.end - self.start));
    }
}

impl RecordReader {
    pub(crate) fn new(layout: Arc<Layout>, bytes: Bytes) -> Self {
        Self {
            layout,
            bytes,
            buffer: vec![0; Pieces::USUAL + Pieces::MARGIN],
            pieces: Pieces::new(Pieces::USUAL),
            start: 0,
            end: 0,
            at_end: false,
            offset: 0,
            number: 0,
            header_checked: false,
            damage: None,
        }
    }

    /// Creates a reader of the records after the first `records` records and `offset` bytes of a file.
    pub(crate) fn behind(layout: Arc<Layout>, bytes: Bytes, records: u64, offset: u64) -> Self {
        Self {
            offset,
            number: records,
            header_checked: true,
            ..Self::new(layout, bytes)
        }
    }

    /// The number of bytes of the returned records.
    pub(crate) const fn bytes_read(&self) -> u64 {
        self.offset
    }

    /// The next record; `None` at the end.
    ///
    /// When the file cannot be read, or its header is not the layout's. Damage between records is skipped, and reported
    /// once by [`Self::take_damage`].
    pub(crate) fn next(&mut self) -> Result<Option<RawRecord<'_>>, Cause> {
        if !self.header_checked {
            self.check_header()?;
        }
        loop {
            match self.find() {
                Front::Record(len) => {
                    self.number += 1;
                    let from = self.start;
                    self.advance(len);
                    return Ok(Some(RawRecord {
                        number: self.number,
                        bytes: self.buffer.get(from..from + len).unwrap_or_default(),
                    }));
                }
                Front::More(needed) => {
                    if !self.fill(needed)? {
                        return Ok(self.last(needed));
                    }
                }
                Front::Damaged(reason) => {
                    self.note(reason);
                    if !self.resync()? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// The rest at the end of the file: a record without its delimiter, or a truncated one, which is read as far as
    /// possible.
    fn last(&mut self, needed: usize) -> Option<RawRecord<'_>> {
        let available = self.end - self.start;
        if available == 0 {
            return None;
        }
        if !self.layout.is_delimited() {
            self.note(format!(
                "cut, {needed} bytes needed, {available} are left in the file"
            ));
        }
        self.number += 1;
        let from = self.start;
        self.advance(available);
        Some(RawRecord {
            number: self.number,
            bytes: self.buffer.get(from..from + available).unwrap_or_default(),
        })
    }

    /// Returns the damage that was found, once.
    pub(crate) fn take_damage(&mut self) -> Option<Cause> {
        let damage = self.damage.take()?;
        let reason = match damage.places {
            1 => damage.reason,
            more => format!("{} (and {} more places)", damage.reason, more - 1),
        };
        Some(Cause::Record {
            number: damage.number,
            offset: damage.offset,
            reason,
        })
    }

    fn window(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    fn find(&self) -> Front {
        match self.layout.next_record(self.window()) {
            Cut::Record { len } if len > 0 && len <= self.window().len() => Front::Record(len),
            Cut::Record { len } => Front::More(len.max(1)),
            Cut::More { at_least } => Front::More(at_least),
            Cut::Damaged(stop) => Front::Damaged(stop.to_string()),
        }
    }

    fn check_header(&mut self) -> Result<(), Cause> {
        self.header_checked = true;
        let len = self.layout.file_header_len();
        self.fill(len)?;
        if let Err(stop) = self.layout.check_file_header(self.window()) {
            let reason = format!("file header {stop}");
            // The bytes after a wrong header cannot be trusted.
            self.advance(self.end - self.start);
            self.at_end = true;
            return Err(Cause::Record {
                number: 0,
                offset: 0,
                reason,
            });
        }
        self.advance(len.min(self.end - self.start));
        Ok(())
    }

    /// Makes `needed` bytes available, if the file has them; returns true when bytes have come.
    fn fill(&mut self, needed: usize) -> Result<bool, Cause> {
        let had = self.end - self.start;
        if had < needed && !self.at_end {
            self.move_rest();
        }
        while self.end - self.start < needed && !self.at_end {
            if self.end == self.buffer.len() {
                let grown = self.buffer.len().saturating_mul(2);
                self.buffer.resize(grown.min(BUFFER_BYTES_MAX), 0);
                if self.end == self.buffer.len() {
                    return Ok(false);
                }
            }
            let limit = self.read_limit(needed);
            let free = self.buffer.get_mut(self.end..limit).unwrap_or_default();
            let bytes = &mut self.bytes;
            match self.pieces.read(free, |free| bytes.read(free)) {
                Ok(0) => self.at_end = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.at_end = true;
                    return Err(Cause::Io(error));
                }
            }
        }
        Ok(self.end - self.start > had || self.end - self.start >= needed.max(1))
    }

    /// Moves the remaining bytes so that the next read has a good alignment.
    fn move_rest(&mut self) {
        let room = self.pieces.len() + Pieces::MARGIN;
        if self.buffer.len() < room {
            self.buffer.resize(room, 0);
        }
        let rest = self.end - self.start;
        let position = self.offset.wrapping_add(rest as u64);
        let place = Pieces::place(&self.buffer, rest, position);
        self.buffer
            .copy_within(self.start..self.end, place.saturating_sub(rest));
        (self.start, self.end) = (place.saturating_sub(rest), place);
    }

    /// The end of the next read: a piece at most, unless a record needs more.
    fn read_limit(&self, needed: usize) -> usize {
        let (len, piece) = (self.end - self.start, self.pieces.len());
        let window = piece.max(needed.min(len.saturating_add(piece)));
        self.start.saturating_add(window).min(self.buffer.len())
    }

    /// Skips damage to the place where a record may begin again; returns false when there is no such place.
    fn resync(&mut self) -> Result<bool, Cause> {
        loop {
            if let Some(len) = self.layout.resync(self.window()) {
                self.advance(len.max(1).min(self.end - self.start));
                return Ok(true);
            }
            // A mark may lie across the end of the window: the bytes in which it could begin are kept.
            let passed = (self.end - self.start).saturating_sub(MARK_BYTES_MAX);
            self.advance(passed);
            let kept = self.end - self.start;
            if !self.fill(kept + 1)? {
                self.advance(self.end - self.start);
                return Ok(false);
            }
        }
    }

    fn advance(&mut self, len: usize) {
        self.start += len;
        self.offset += len as u64;
    }

    fn note(&mut self, reason: String) {
        match &mut self.damage {
            Some(damage) => damage.places += 1,
            None => {
                self.damage = Some(Damage {
                    number: self.number + 1,
                    offset: self.offset,
                    reason,
                    places: 1,
                });
            }
        }
    }
}

/// The buffer has twice the longest record of any layout, so that one always fits.
const BUFFER_BYTES_MAX: usize = 2 * Layout::RECORD_LEN_MAX;
/// The number of bytes of the longest mark with which a record may begin.
const MARK_BYTES_MAX: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    const PAGE: usize = 4096;

    /// A source of bytes that count up, with the distance of each read behind its place in a page of the file.
    struct Numbered {
        position: usize,
        len: usize,
        far: Arc<Mutex<Vec<usize>>>,
    }

    impl Read for Numbered {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let far = out.as_ptr().addr().wrapping_sub(self.position) % PAGE;
            self.far.lock().unwrap().push(far);
            let count = out.len().min(self.len - self.position);
            for byte in &mut out[..count] {
                *byte = (self.position % 251) as u8;
                self.position += 1;
            }
            Ok(count)
        }
    }

    #[test]
    fn records_are_read_whole_and_to_a_good_place_of_a_page() {
        for (record, len) in [(64, 30 << 20), (53, 12 << 20), (9001, (12 << 20) + 5)] {
            let text = format!(
                "name = \"x\"\nrecord = {{ length = {record} }}\n\
                 field = [ {{ name = \"a\", size = {record} }} ]\n"
            );
            let layout = Layout::parse(&text, &mut |path| Err(path.to_owned())).unwrap();
            let far = Arc::<Mutex<Vec<usize>>>::default();
            let source = Numbered {
                position: 0,
                len,
                far: Arc::clone(&far),
            };
            let mut reader = RecordReader::new(Arc::new(layout), Box::new(source));
            let mut at = 0;
            while let Some(found) = reader.next().unwrap() {
                assert_eq!(found.number as usize, at / record + 1);
                assert_eq!(found.bytes.len(), record.min(len - at));
                for (byte, number) in found.bytes.iter().zip(at..) {
                    assert_eq!(*byte, (number % 251) as u8, "{number}");
                }
                at += found.bytes.len();
            }
            assert_eq!(at, len);
            let far = far.lock().unwrap();
            assert!(far.len() > 10);
            // The distance is at least half a cache line behind the place in the file's page, and not directly in front
            // of it.
            assert!(
                far.iter().all(|far| (64..PAGE - 64).contains(far)),
                "{far:?}"
            );
        }
    }
}
