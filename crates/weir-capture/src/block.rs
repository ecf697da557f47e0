//! Many records at once, as positions in the buffer.

/// Records that lie whole in the buffer of a [`Reader`](crate::Reader), found in one go by
/// [`Reader::look`](crate::Reader::look): for those who look at millions of records and at little of
/// each. What is known of them stands in columns, so that a question about one of them is a loop
/// without a branch.
#[derive(Clone, Debug)]
pub struct Block {
    len: usize,
    link_type: u32,
    first_number: u64,
    starts: [u32; Block::LEN_MAX],
    lens: [u32; Block::LEN_MAX],
    wire_lens: [u32; Block::LEN_MAX],
    times_ns: [i64; Block::LEN_MAX],
    /// Bytes in front of the data of each record that belong to it.
    head_len: usize,
    /// Where the last record ends.
    end: usize,
    pub(crate) asks_times: bool,
    /// All records are so long and stand side by side, as far as they were written here; or 0.
    even_len: usize,
    even: usize,
}

/// How the records of a capture are told apart, as data: for who compiles it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordFraming {
    /// A header with seconds and their fraction in its first eight bytes, then the data.
    Pcap {
        /// Bytes of the header.
        header_len: u32,
        /// Numbers have their last byte first.
        is_little: bool,
        /// Where in the header the captured length is, 32 bits.
        captured_at: u32,
        /// Where the length on the wire is.
        wire_len_at: u32,
        /// The lengths stand in either order: the smaller one is the captured length.
        smaller_is_captured: bool,
        /// Nanoseconds in one unit of the fraction.
        fraction_ns: u32,
        /// A larger captured length is damage.
        captured_max: u32,
    },
    /// ERF: the header is part of the data, and has its length in the big-endian word at 10.
    Erf,
    /// pcapng: enhanced packet blocks of the interfaces that [`Reader::ports`](crate::Reader::ports) has a bit for. All
    /// other blocks are left to the reader.
    Pcapng {
        /// Numbers have their last byte first.
        is_little: bool,
        /// A larger captured length is damage.
        captured_max: u32,
        /// More bytes of options, with what fills up the data, are beyond a limit.
        options_max: u32,
        /// Nanoseconds in one unit of time, which counts from 1970; not 0.
        tick_ns: u64,
    },
}

/// Where a record lies in the window that it was found in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// First byte of its data, and how many there are.
    pub(crate) start: usize,
    pub(crate) len: usize,
    pub(crate) wire_len: u32,
    /// 0 when times are not asked for.
    pub(crate) time_ns: i64,
    /// Where the next record may begin.
    pub(crate) end: usize,
}

impl Block {
    /// Records of a block, at most: their numbers fit a byte, and what is known of them the first
    /// cache.
    pub const LEN_MAX: usize = 256;

    /// No records.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            len: 0,
            link_type: 0,
            first_number: 0,
            starts: [0; Self::LEN_MAX],
            lens: [0; Self::LEN_MAX],
            wire_lens: [0; Self::LEN_MAX],
            times_ns: [0; Self::LEN_MAX],
            head_len: 0,
            end: 0,
            asks_times: true,
            even_len: 0,
            even: 0,
        }
    }

    /// Without times, which cost as much as all else: they are then 0.
    #[must_use]
    pub const fn without_times(mut self) -> Self {
        self.asks_times = false;
        self
    }

    /// Forgets the records, and begins with records of this link type, the first of this number.
    pub const fn begin(&mut self, link_type: u32, first_number: u64) {
        self.len = 0;
        self.head_len = 0;
        self.end = 0;
        self.link_type = link_type;
        self.first_number = first_number;
    }

    /// The records have a head of so many bytes in front of their data, and stand side by side.
    pub(crate) const fn with_heads(&mut self, head_len: usize) {
        self.head_len = head_len;
    }

    /// The records are of another link type than they began with.
    pub(crate) const fn set_link_type(&mut self, link_type: u32) {
        self.link_type = link_type;
    }

    /// Makes these the records: those that `find` finds in the window, the first at its beginning, each
    /// where the one before ends, `most` of them at most.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a loop of its own for each format")]
    pub(crate) fn fill(
        &mut self,
        window: &[u8],
        most: usize,
        mut find: impl FnMut(&[u8], usize) -> Option<Place>,
    ) {
        self.even_len = 0;
        // Places are of 32 bits.
        let window = window.get(..u32::MAX as usize).unwrap_or(window);
        let lens = self.lens.iter_mut().zip(&mut self.wire_lens);
        let columns = self.starts.iter_mut().zip(lens).zip(&mut self.times_ns);
        let (mut found, mut at) = (0, 0);
        for ((start, (len, wire_len)), time_ns) in columns.take(most) {
            let Some(place) = find(window, at) else {
                break;
            };
            *start = place.start as u32;
            *len = place.len as u32;
            *wire_len = place.wire_len;
            // Those that are not asked for stay 0.
            if self.asks_times {
                *time_ns = place.time_ns;
            }
            at = place.end;
            found += 1;
        }
        (self.len, self.end) = (found, at);
    }

    /// Makes these the records: `count` of `len` bytes each, side by side from the start of the window,
    /// of which no more is known. Costs nothing when the last ones were alike.
    pub fn set_even(&mut self, count: usize, len: usize) {
        let count = count.min(Self::LEN_MAX);
        if self.even_len != len || self.even < count {
            let all = |_: &[u8], start: usize| {
                let end = start.checked_add(len)?;
                (end <= u32::MAX as usize).then_some(Place {
                    start,
                    len,
                    wire_len: 0,
                    time_ns: 0,
                    end,
                })
            };
            self.fill(&[], count, all);
            (self.even_len, self.even) = (len, self.len);
        }
        self.len = count.min(self.even);
        self.end = self.len * len;
    }

    /// How many records there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True when there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The [`Record::link_type`](crate::Record::link_type) of all.
    #[must_use]
    pub const fn link_type(&self) -> u32 {
        self.link_type
    }

    /// The [`Record::number`](crate::Record::number) of the first; the others follow.
    #[must_use]
    pub const fn first_number(&self) -> u64 {
        self.first_number
    }

    /// The [`Record::wire_len`](crate::Record::wire_len) of a record.
    #[inline]
    #[must_use]
    pub fn wire_len(&self, record: u8) -> u32 {
        self.wire_lens[usize::from(record)]
    }

    /// The [`Record::time_ns`](crate::Record::time_ns) of a record, which is always known; 0 when times
    /// are not asked for.
    #[inline]
    #[must_use]
    pub fn time_ns(&self, record: u8) -> i64 {
        self.times_ns[usize::from(record)]
    }

    /// Where a record's data begins in the window that the block is of.
    #[inline]
    #[must_use]
    pub fn start(&self, record: u8) -> usize {
        self.starts[usize::from(record)] as usize
    }

    /// The [`Record::data`](crate::Record::data) of a record, in the window that the block is of.
    #[inline]
    #[must_use]
    pub fn data<'w>(&self, record: u8, window: &'w [u8]) -> &'w [u8] {
        let start = self.start(record);
        let len = self.lens[usize::from(record)] as usize;
        window.get(start..start + len).unwrap_or_default()
    }

    /// Where the first `records` records end in the window.
    #[must_use]
    pub fn end_of(&self, records: usize) -> usize {
        match records {
            0 => 0,
            // Where the next one begins.
            records if records < self.len => self.starts[records] as usize - self.head_len,
            _ => self.end,
        }
    }
}

impl Default for Block {
    fn default() -> Self {
        Self::new()
    }
}
