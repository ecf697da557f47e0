//! Questions that are answered for many records at once, from their bytes as they lie in the buffer,
//! without decoding them whole: plain fields compared with constants, used as keys and added up.
//!
//! What has to be decided for each record is a loop over a column of all of them: what kind of
//! question it is was decided in front of the loop.

mod condition;
mod load;
mod plan;

use std::io::Read;
use std::ops::Range;

use weir_capture::{Block, Format, Reader, WriteRecord};
use weir_packet::{Frame, HeaderOffsets, LayerSet, LinkType, Options};

use crate::program::Framing;

pub(crate) use condition::{Range as NumberRange, Test};
use load::Load;
pub(crate) use plan::{PlainBranch, Plan};

/// Records of a block, at most.
pub(crate) const ROWS: usize = Block::LEN_MAX;

/// Takes block after block from a reader.
pub(crate) struct Blocks {
    block: Box<Block>,
    header_offsets: Box<[HeaderOffsets; ROWS]>,
    unusual: Box<Unusual>,
    rows_max: usize,
}

/// A reader that gives blocks of records.
pub(crate) trait Look {
    /// Finds up to `most` records that lie whole in the buffer; gives what they are in.
    fn look(&self, most: usize, block: &mut Block) -> &[u8];

    /// Passes over the first `records` of them.
    fn pass(&mut self, block: &Block, records: usize);

    /// How the records are told apart that come now, and of what link type they are; `None` when that takes
    /// more than a look at each.
    fn framing(&self) -> Option<(Framing, LinkType)>;

    /// The bytes that are here from the next record on, its number, and a bit for each known port.
    fn window(&self) -> (&[u8], u64, u8);

    /// Passes over so many records, which are so many bytes long.
    fn pass_records(&mut self, bytes: usize, records: u64);
}

impl<R: Read> Look for Reader<R> {
    fn look(&self, most: usize, block: &mut Block) -> &[u8] {
        let window = Self::look(self, most, block);
        // In other formats, the card's header counts in the length of the record.
        if LinkType(block.link_type()) == LinkType::ERF && self.format() != Format::Erf {
            block.begin(block.link_type(), block.first_number());
        }
        window
    }

    fn pass(&mut self, block: &Block, records: usize) {
        Self::pass(self, block, records);
    }

    fn framing(&self) -> Option<(Framing, LinkType)> {
        let link_type = LinkType(self.interfaces().first()?.link_type);
        Some((Framing::Capture(Self::framing(self)?), link_type))
    }

    fn window(&self) -> (&[u8], u64, u8) {
        (Self::window(self), self.next_number(), self.ports())
    }

    fn pass_records(&mut self, bytes: usize, records: u64) {
        Self::pass_records(self, bytes, records);
    }
}

impl Blocks {
    /// Blocks of so many records at most, with their times or without.
    pub(crate) fn new(rows_max: usize, asks_times: bool) -> Self {
        let rows_max = rows_max.clamp(1, ROWS);
        Self {
            block: Box::new(match asks_times {
                true => Block::new(),
                false => Block::new().without_times(),
            }),
            header_offsets: Box::new([HeaderOffsets::default(); ROWS]),
            unusual: Box::default(),
            rows_max,
        }
    }

    /// The next records, which may be none.
    pub(crate) fn look<'b>(
        &'b mut self,
        input: &'b impl Look,
        options: &'b Options,
    ) -> Records<'b> {
        Records {
            window: input.look(self.rows_max, &mut self.block),
            block: &self.block,
            header_offsets: &mut self.header_offsets,
            unusual: &mut self.unusual,
            options,
        }
    }

    /// Passes over those that were found last.
    pub(crate) fn pass(&self, input: &mut impl Look) {
        input.pass(&self.block, self.block.len());
    }
}

/// The records at hand.
pub(crate) struct Records<'b> {
    pub(crate) window: &'b [u8],
    pub(crate) block: &'b Block,
    /// Where the headers of each lie, as far as that was asked.
    pub(crate) header_offsets: &'b mut [HeaderOffsets; ROWS],
    unusual: &'b mut Unusual,
    pub(crate) options: &'b Options,
}

/// Which records of a block are no usual packets, and have to be decoded.
struct Unusual {
    is_it: [bool; ROWS],
    any: bool,
}

impl Default for Unusual {
    fn default() -> Self {
        Self {
            is_it: [false; ROWS],
            any: false,
        }
    }
}

impl Records<'_> {
    #[inline]
    fn data(&self, row: u8) -> &[u8] {
        self.block.data(row, self.window)
    }

    /// A record as it is written into a capture.
    pub(crate) fn to_write(&self, row: u8) -> WriteRecord<'_> {
        let (link_type, time_ns) = (self.block.link_type(), self.block.time_ns(row));
        let mut record = WriteRecord::new(link_type, time_ns, self.data(row));
        record.wire_len = self.block.wire_len(row);
        record
    }

    fn link_type(&self) -> LinkType {
        LinkType(self.block.link_type())
    }

    /// Forgets what was found in the block before.
    fn begin(&mut self) {
        self.header_offsets.fill(HeaderOffsets::default());
        if self.unusual.any {
            *self.unusual = Unusual::default();
        }
    }

    /// Finds the headers of the selected records, as deep as `wanted`. Leaves out those that are no usual
    /// packets.
    fn draw(&mut self, selection: &mut SelectionVector, wanted: LayerSet) {
        let link_type = self.link_type();
        let from = selection.clone();
        let rows = from.rows().iter();
        let frames = rows.map(|row| (usize::from(*row), self.block.data(*row, self.window)));
        let header_offsets = &mut self.header_offsets[..];
        let unusual = &mut *self.unusual;
        let mut kept = 0;
        HeaderOffsets::draw_each(
            header_offsets,
            frames,
            link_type,
            self.options,
            wanted,
            |row, is_usual| {
                // Always less.
                selection.rows[kept % ROWS] = row as u8;
                kept += usize::from(is_usual);
                if !is_usual {
                    unusual.is_it[row % ROWS] = true;
                    unusual.any = true;
                }
            },
        );
        selection.len = kept;
    }

    /// The records between those that have to be decoded, and after each stretch the one that has to:
    /// none after the last.
    pub(crate) fn stretches(&self) -> impl Iterator<Item = (Range<usize>, Option<u8>)> {
        let found = self.block.len();
        // Nearly always there are none.
        let rows = if self.unusual.any { 0..found } else { 0..0 };
        let unusual = rows.zip(&self.unusual.is_it).filter(|(_, is_it)| **is_it);
        let ends = unusual.map(|(row, _)| (row, Some(row as u8)));
        let mut start = 0;
        ends.chain([(found, None)]).map(move |(end, row)| {
            let stretch = start..end;
            start = end + 1;
            (stretch, row)
        })
    }

    /// A record that has to be decoded, as far as plain fields ask.
    pub(crate) fn frame(&self, row: u8) -> Frame<'_> {
        let mut frame = Frame::new(self.link_type(), self.data(row));
        frame.number = self.block.first_number() + u64::from(row);
        frame.time_ns = Some(self.block.time_ns(row));
        frame.wire_len = self.block.wire_len(row);
        frame
    }
}

/// A number of each of some records.
pub(crate) struct Numbers {
    pub(crate) values: Box<[u64; ROWS]>,
    /// Which are there: the others are NULL.
    pub(crate) validity: Box<[bool; ROWS]>,
}

impl Numbers {
    pub(crate) fn new() -> Self {
        Self {
            values: Box::new([0; ROWS]),
            validity: Box::new([true; ROWS]),
        }
    }
}

/// Some of the records of a block, by their numbers, in their order.
pub(crate) struct SelectionVector {
    rows: [u8; ROWS],
    len: usize,
}

impl Clone for SelectionVector {
    fn clone(&self) -> Self {
        let mut selection = Self::NONE;
        selection.clone_from(self);
        selection
    }

    /// In place: a value that moves would be copied twice.
    fn clone_from(&mut self, from: &Self) {
        self.rows.copy_from_slice(&from.rows);
        self.len = from.len;
    }
}

impl SelectionVector {
    const NONE: Self = Self {
        rows: [0; ROWS],
        len: 0,
    };

    /// The first `len` records.
    fn first(len: usize) -> Self {
        Self {
            rows: FIRST,
            len: len.min(ROWS),
        }
    }

    #[inline]
    pub(crate) fn rows(&self) -> &[u8] {
        &self.rows[..self.len]
    }

    /// Leaves out the records for whose numbers, in the same order, it does not hold.
    #[inline]
    fn keep(&mut self, numbers: &Numbers, holds: impl Fn(u64, bool) -> bool) {
        let from = self.rows;
        let rows = from[..self.len].iter();
        let mut kept = 0;
        for (row, (value, validity)) in rows.zip(numbers.values.iter().zip(&*numbers.validity)) {
            // Without a branch, which nobody could foretell. Always less.
            self.rows[kept % ROWS] = *row;
            kept += usize::from(holds(*value, *validity));
        }
        self.len = kept;
    }

    /// Leaves out the records for which it does not hold.
    fn keep_rows(&mut self, holds: &[bool; ROWS]) {
        let from = self.clone();
        let mut kept = 0;
        for row in from.rows() {
            self.rows[kept % ROWS] = *row;
            kept += usize::from(holds[usize::from(*row)]);
        }
        self.len = kept;
    }

    /// Those of a stretch of records.
    #[inline]
    pub(crate) fn within(&self, stretch: &Range<usize>) -> &[u8] {
        let before = |end: usize| self.rows().partition_point(|row| usize::from(*row) < end);
        match (stretch.start, stretch.end) {
            // Nearly always: all that were found.
            (0, end)
                if self
                    .rows()
                    .last()
                    .is_none_or(|last| usize::from(*last) < end) =>
            {
                self.rows()
            }
            (start, end) => self
                .rows()
                .get(before(start)..before(end))
                .unwrap_or_default(),
        }
    }

    /// Leaves out what has to be decoded.
    fn leave_out(&mut self, unusual: &Unusual) {
        let from = self.clone();
        let mut kept = 0;
        for row in from.rows() {
            self.rows[kept % ROWS] = *row;
            kept += usize::from(!unusual.is_it[usize::from(*row)]);
        }
        self.len = kept;
    }
}

/// 0, 1, 2, …
pub(crate) const FIRST: [u8; ROWS] = {
    let mut rows = [0; ROWS];
    let mut row = 0;
    while row < ROWS {
        rows[row] = row as u8;
        row += 1;
    }
    rows
};
