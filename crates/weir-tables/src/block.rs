//! Questions that are answered for many records at once, from their bytes as they lie in the buffer,
//! without decoding them whole: plain fields compared with constants, used as keys and added up.
//!
//! What has to be decided for each record is a loop over a column of all of them: what kind of
//! question it is was decided in front of the loop.

mod condition;
mod load;
mod plan;

use std::io::Read;

use weir_capture::{Block, Format, Reader, WriteRecord};
use weir_packet::{LayerSet, LinkType, Options, Outline};

use load::Load;
pub(crate) use plan::{PlainBranch, Plan};

/// Records of a block, at most.
pub(crate) const ROWS: usize = Block::LEN_MAX;
/// Records to look for, at least, where some have to be decoded.
const ROWS_MIN: usize = 8;

/// Takes block after block from a reader.
pub(crate) struct Blocks {
    block: Box<Block>,
    outlines: Box<[Outline; ROWS]>,
    /// Records to look for next.
    rows: usize,
    rows_max: usize,
    asks_times: bool,
}

/// A reader that gives blocks of records.
pub(crate) trait Look {
    /// Finds up to `most` records that lie whole in the buffer; gives what they are in.
    fn look(&self, most: usize, block: &mut Block) -> &[u8];

    /// Passes over the first `records` of them.
    fn pass(&mut self, block: &Block, records: usize);
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
            outlines: Box::new([Outline::default(); ROWS]),
            rows: rows_max,
            rows_max,
            asks_times,
        }
    }

    /// Blocks for both: no longer than for either, and with times when one wants them.
    pub(crate) fn shared_with(self, other: &Self) -> Self {
        let asks_times = self.asks_times || other.asks_times;
        Self::new(self.rows_max.min(other.rows_max), asks_times)
    }

    /// The next records, which may be none.
    pub(crate) fn look<'b>(
        &'b mut self,
        input: &'b impl Look,
        options: &'b Options,
    ) -> Records<'b> {
        Records {
            window: input.look(self.rows, &mut self.block),
            block: &self.block,
            outlines: &mut self.outlines,
            options,
            is_begun: false,
        }
    }

    /// Passes over the first `records` of those that were found last; false when the next record has to
    /// be decoded, or read.
    pub(crate) fn pass(&mut self, input: &mut impl Look, records: usize) -> bool {
        input.pass(&self.block, records);
        let found = self.block.len();
        let is_all = records == found;
        self.rows = match is_all {
            true => 2 * self.rows,
            // So many are not looked for in vain again.
            false => (2 * records).max(ROWS_MIN),
        }
        .min(self.rows_max);
        is_all && found > 0
    }
}

/// The records at hand.
pub(crate) struct Records<'b> {
    pub(crate) window: &'b [u8],
    pub(crate) block: &'b Block,
    /// Where the headers of each lie, as far as that was asked.
    pub(crate) outlines: &'b mut [Outline; ROWS],
    pub(crate) options: &'b Options,
    /// The outlines are of these records.
    is_begun: bool,
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

    /// Forgets the headers of the block before, once.
    fn begin(&mut self) {
        if !self.is_begun {
            self.outlines.fill(Outline::default());
            self.is_begun = true;
        }
    }

    /// Finds the headers of the selected records, as deep as `wanted`. Gives the first that is not a
    /// usual packet, which has to be decoded.
    fn draw(&mut self, selection: &Selection, wanted: LayerSet) -> Option<u8> {
        let link_type = self.link_type();
        let rows = selection.rows().iter();
        let frames = rows.map(|row| (usize::from(*row), self.block.data(*row, self.window)));
        let outlines = &mut self.outlines[..];
        let drawn = Outline::draw_each(outlines, frames, link_type, self.options, wanted);
        selection.rows().get(drawn).copied()
    }
}

/// A number of each of some records.
pub(crate) struct Numbers {
    pub(crate) values: Box<[u64; ROWS]>,
    /// Which are there: the others are NULL.
    pub(crate) there: Box<[bool; ROWS]>,
}

impl Numbers {
    pub(crate) fn new() -> Self {
        Self {
            values: Box::new([0; ROWS]),
            there: Box::new([true; ROWS]),
        }
    }
}

/// Some of the records of a block, by their numbers, in their order.
#[derive(Clone)]
pub(crate) struct Selection {
    rows: [u8; ROWS],
    len: usize,
}

impl Selection {
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
        for (row, (value, there)) in rows.zip(numbers.values.iter().zip(&*numbers.there)) {
            // Without a branch, which nobody could foretell. Always less.
            self.rows[kept % ROWS] = *row;
            kept += usize::from(holds(*value, *there));
        }
        self.len = kept;
    }

    /// Leaves out the records from `row` on.
    fn end_at(&mut self, row: u8) {
        self.len = self.rows().partition_point(|one| *one < row);
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
