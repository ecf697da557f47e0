//! One direction of a TCP connection, put in order.

use std::collections::VecDeque;

use crate::fragment::Overlap;
use crate::segment::beyond;

/// The packet that carried a piece of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Carrier {
    /// When it was captured, in nanoseconds since 1970.
    pub time_ns: Option<i64>,
    /// Number of its frame, from 1; 0 where there is none.
    pub frame: u64,
    /// Bytes of the other direction's stream that its sender had received by then (RFC 9293, 3.1: its acknowledgment
    /// number, from the first byte of the stream). `None` where that is not known.
    pub acknowledged: Option<u64>,
    /// Bytes in front of the first ones of the stream that its receiver did not have when the capture began, and that did not come: they
    /// may have been sent before. 0 of pieces that are not the first.
    pub lost_before: u64,
}

/// An item that a [`Reassembler`] returns, in the order of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Bytes, of the segment that was handed in wherever they are contiguous with what came before.
    Bytes(&'a [u8]),
    /// A number of bytes that were not captured.
    Gap(u64),
}

/// Puts the segments of one direction in order: out of order, repeated, overlapping, with gaps, over
/// the wrap of sequence numbers, from the middle of a connection.
///
/// A segment that comes in order is handed through without a copy and without an allocation. Later segments wait until
/// the missing bytes come, or are given up ([`Self::give_up`]). Each piece keeps the [`Carrier`] that it came in.
///
/// ```
/// use weir_flow::{Carrier, Overlap, Part, Reassembler};
///
/// let mut stream = Reassembler::new(Overlap::First);
/// let mut text = Vec::new();
/// let mut each = |_, part: Part<'_>, _: Carrier| match part {
///     Part::Bytes(bytes) => text.extend_from_slice(bytes),
///     Part::Gap(len) => text.extend(std::iter::repeat_n(b'?', len as usize)),
/// };
/// stream.begin(1_000);
/// let carrier = Carrier::default();
/// stream.data(1_003, b"lo w", 4, carrier, &mut each);
/// stream.data(1_000, b"hello", 5, carrier, &mut each);
/// stream.data(1_009, b"ld", 2, carrier, &mut each);
/// stream.give_up(carrier, &mut each);
/// assert_eq!(text, b"hello w??ld");
/// ```
#[derive(Debug)]
pub struct Reassembler {
    /// Sequence number of the next byte.
    next_seq: u32,
    /// The number of bytes returned so far, including gaps.
    offset: u64,
    began: bool,
    /// The start is what the receiver had acknowledged before: the capture may begin in the middle of the stream.
    is_start_assumed: bool,
    overlap: Overlap,
    /// The waiting pieces, ordered by offset and disjoint.
    pieces: VecDeque<BufferedPiece>,
    /// No bytes are given out: the next ones wait for the other direction.
    is_held_back: bool,
    /// The memory of the pieces.
    held: usize,
    /// The end of the stream, once a FIN was seen.
    end: Option<u64>,
    /// Bytes that came from before the first one of the stream.
    before: u64,
    /// Segments of the direction had the padding of their frames for data.
    is_padded: bool,
}

#[derive(Debug)]
struct BufferedPiece {
    offset: u64,
    len: u64,
    /// Empty where they were sent and not captured.
    bytes: Vec<u8>,
    carrier: Carrier,
    doubt: Doubt,
}

/// Whether a piece may be the padding of its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doubt {
    /// The piece is of the stream.
    None,
    /// The piece may be padding.
    Padding,
    /// The same, and the receiver has acknowledged all before it since.
    NotAcknowledged,
}

impl BufferedPiece {
    const fn is_doubtful(&self) -> bool {
        !matches!(self.doubt, Doubt::None)
    }

    const fn end(&self) -> u64 {
        self.offset.saturating_add(self.len)
    }

    fn held(&self) -> usize {
        self.bytes.capacity() + size_of::<Self>()
    }

    /// Cuts off what is before `offset`.
    fn skip_to(&mut self, offset: u64) {
        let skipped = offset.saturating_sub(self.offset).min(self.len);
        let count = usize::try_from(skipped).unwrap_or(usize::MAX);
        self.bytes.drain(..count.min(self.bytes.len()));
        self.offset = self.offset.saturating_add(skipped);
        self.len -= skipped;
    }

    /// Cuts off what is from `offset` on.
    fn cut_at(&mut self, offset: u64) {
        self.len = self.len.min(offset.saturating_sub(self.offset));
        self.bytes
            .truncate(usize::try_from(self.len).unwrap_or(usize::MAX));
    }
}

/// Octets between what is acknowledged and what is sent, at most: the largest window of common systems.
const AHEAD_MAX: i32 = 1 << 24;

/// Pieces of a stream at one time that may be padding, at most.
const DOUBTFUL_MAX: usize = 64;

impl Reassembler {
    /// A stream before its first segment. [`Overlap::Drop`] drops segments that differ from waiting bytes, and is
    /// [`Overlap::First`] otherwise.
    #[must_use]
    pub const fn new(overlap: Overlap) -> Self {
        Self {
            next_seq: 0,
            offset: 0,
            began: false,
            is_start_assumed: false,
            overlap,
            pieces: VecDeque::new(),
            is_held_back: false,
            held: 0,
            end: None,
            before: 0,
            is_padded: false,
        }
    }

    /// Sets the number of the first byte to `seq`: one more than that of the SYN. Only the first
    /// call, and only before data, has an effect.
    pub const fn begin(&mut self, seq: u32) {
        if !self.began {
            self.began = true;
            self.next_seq = seq;
        }
    }

    /// Records that the receiver had all before the number `ack` when data from the number `seq` on came, the first that was
    /// seen: what is between them may come yet. Where it does not, the stream begins behind it.
    pub(crate) fn begin_behind(&mut self, ack: u32, seq: u32) {
        if !self.began && (1..=AHEAD_MAX).contains(&beyond(seq, ack)) {
            self.begin(ack);
            self.is_start_assumed = true;
        }
    }

    /// Whether the number of the first byte is known, and not assumed.
    pub(crate) const fn is_start_known(&self) -> bool {
        self.began && (!self.is_start_assumed || self.offset > 0)
    }

    /// Sets the number of the first byte to `seq`, unless bytes were returned already. Returns the bytes that are in order then.
    pub(crate) fn restart(&mut self, seq: u32, mut each: impl FnMut(u64, Part<'_>, Carrier)) {
        let shift = i64::from(beyond(self.next_seq, seq));
        self.is_start_assumed = false;
        if self.began && (self.offset > 0 || shift == 0) {
            return;
        }
        let was_begun = std::mem::replace(&mut self.began, true);
        self.next_seq = seq;
        if !was_begun {
            return;
        }
        self.shift(shift);
        self.flow(&mut each);
    }

    /// Changes the offsets of what waits, and drops what is before the stream then.
    fn shift(&mut self, shift: i64) {
        self.end = self.end.and_then(|end| end.checked_add_signed(shift));
        for piece in &mut self.pieces {
            piece.skip_to(shift.min(0).unsigned_abs());
            piece.offset = piece.offset.saturating_add_signed(shift);
        }
        self.pieces.retain(|piece| piece.len > 0);
        self.held = self.pieces.iter().map(BufferedPiece::held).sum();
    }

    /// Begins the stream with what waits: what is missing before it may have been sent before the capture.
    #[cold]
    fn begin_with_first(&mut self) {
        self.is_start_assumed = false;
        let first = self.pieces.front().map_or(0, |piece| piece.offset);
        if let (0, Ok(missing)) = (self.offset, u32::try_from(first)) {
            self.next_seq = self.next_seq.wrapping_add(missing);
            self.shift(-i64::from(missing));
            if let Some(first) = self.pieces.front_mut() {
                first.carrier.lost_before = missing.into();
            }
        }
    }

    /// True once the number of the first byte is known.
    #[must_use]
    pub const fn began(&self) -> bool {
        self.began
    }

    /// The number of bytes returned so far, including gaps.
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// The number of the next byte, once that of the first one is known.
    pub(crate) fn next_number(&self) -> Option<u32> {
        self.began.then_some(self.next_seq)
    }

    /// Bytes of memory that wait for something missing.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.held
    }

    /// Whether all bytes up to the FIN were returned.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.end.is_some_and(|end| self.offset >= end)
    }

    /// The carrier of the first waiting piece that is no padding.
    pub(crate) fn waits(&self) -> Option<Carrier> {
        self.first_certain().map(|first| first.carrier)
    }

    /// The first waiting piece that is no padding.
    fn first_certain(&self) -> Option<&BufferedPiece> {
        self.pieces.iter().find(|piece| !piece.is_doubtful())
    }

    /// Whether segments of the direction had the padding of their frames for data.
    pub(crate) const fn is_padded(&self) -> bool {
        self.is_padded
    }

    /// Whether nothing is returned for now.
    pub(crate) const fn is_held_back(&self) -> bool {
        self.is_held_back
    }

    /// Sets whether the next piece waits, until [`Self::give_first`] gives it out.
    pub(crate) const fn hold_back(&mut self, is_held_back: bool) {
        self.is_held_back = is_held_back;
    }

    /// Whether bytes are missing before the first waiting piece.
    #[must_use]
    pub fn has_hole(&self) -> bool {
        self.first_certain()
            .is_some_and(|first| first.offset > self.offset)
    }

    /// The number of bytes that came from before the first one of the stream, since the last call.
    pub(crate) const fn take_before(&mut self) -> u64 {
        std::mem::replace(&mut self.before, 0)
    }

    /// Whether all bytes before `ack` were returned.
    #[must_use]
    pub const fn is_before(&self, ack: u32) -> bool {
        !self.began || beyond(ack, self.next_seq) <= 0
    }

    /// Notes that the stream ends in front of the number `seq`, that of a FIN. False for a number that no receiver accepts (RFC
    /// 9293, 3.10.7.4), as it is before what was returned, or farther ahead than a window is large: it ends nothing.
    pub fn finish(&mut self, seq: u32) -> bool {
        self.begin(seq);
        if self.end.is_some() {
            return true;
        }
        let known = self.pieces.back().map_or(0, BufferedPiece::end);
        let window = u64::from(AHEAD_MAX.unsigned_abs());
        let furthest = known.max(self.offset).saturating_add(window);
        let end = self.offset_of(seq).filter(|end| *end <= furthest);
        self.end_at(end)
    }

    /// Notes that the stream ends in front of the number `seq`, as the receiver has acknowledged the FIN.
    pub(crate) fn finish_acknowledged(&mut self, seq: u32) {
        if self.end.is_none() {
            let end = self.offset_of(seq);
            self.end_at(end);
        }
    }

    /// Ends the stream, unless more of it was returned; drops what waits behind its end.
    fn end_at(&mut self, end: Option<u64>) -> bool {
        let Some(end) = end.filter(|end| *end >= self.offset) else {
            return false;
        };
        self.end = Some(end);
        // Octets of which some are behind the end are padding.
        let is_padding = |piece: &BufferedPiece| piece.is_doubtful() && piece.end() > end;
        if self.pieces.iter().any(is_padding) {
            self.pieces.retain(|piece| !is_padding(piece));
            self.held = self.pieces.iter().map(BufferedPiece::held).sum();
        }
        self.remove(end, u64::MAX);
        self.confirm_before(end);
        true
    }

    /// Adds a segment whose first byte has the number `seq`, and that has `len` bytes, of which `captured` were captured. Without
    /// a SYN, the stream begins with it. `each` is called with the bytes that are in order now, and their offset in the stream.
    #[inline]
    pub fn data(
        &mut self,
        seq: u32,
        captured: &[u8],
        len: u32,
        carrier: Carrier,
        mut each: impl FnMut(u64, Part<'_>, Carrier),
    ) {
        self.begin(seq);
        let captured = captured
            .get(..captured.len().min(len as usize))
            .unwrap_or_default();
        let ahead = beyond(seq, self.next_seq);
        let is_whole = captured.len() == len as usize;
        let is_free = self.pieces.is_empty() && !self.is_held_back;
        if ahead == 0 && is_free && is_whole && self.end.is_none() {
            self.give(captured, carrier, &mut each);
            return;
        }
        self.any(seq, captured, len, carrier, &mut each);
    }

    /// Adds zeros that may be the padding of their frame. They wait until something else shows what they are: no padding where a
    /// segment begins behind them, or the receiver acknowledges them ([`Self::acknowledged`]); padding where others come in their place.
    #[cold]
    pub(crate) fn doubtful(
        &mut self,
        seq: u32,
        zeros: &[u8],
        carrier: Carrier,
        mut each: impl FnMut(u64, Part<'_>, Carrier),
    ) {
        self.begin(seq);
        let doubtful = self.pieces.iter().filter(|piece| piece.is_doubtful());
        if doubtful.count() >= DOUBTFUL_MAX {
            let len = zeros.len() as u32;
            return self.data(seq, zeros, len, carrier, each);
        }
        let Ok(ahead) = u64::try_from(beyond(seq, self.next_seq)) else {
            return;
        };
        let start = self.offset.saturating_add(ahead);
        let end = start.saturating_add(zeros.len() as u64);
        self.confirm_before(start);
        let index = self.pieces.partition_point(|piece| piece.end() <= start);
        let behind = self.pieces.get(index);
        if let Some(piece) = behind.filter(|piece| piece.offset < end) {
            // A sender that has the octets acknowledged does not send them again.
            self.is_padded |= piece.doubt == Doubt::NotAcknowledged && piece.offset == start;
            return;
        }
        if self.end.is_some_and(|known| end > known) {
            return;
        }
        let follows = self.pieces.get(index).map(|piece| piece.offset);
        let is_certain = follows == Some(end) || self.end == Some(end);
        let piece = BufferedPiece {
            offset: start,
            len: zeros.len() as u64,
            bytes: zeros.to_vec(),
            carrier,
            doubt: match is_certain {
                true => Doubt::None,
                false => Doubt::Padding,
            },
        };
        self.held += piece.held();
        self.pieces.insert(index, piece);
        self.flow(&mut each);
    }

    /// Records that the receiver has all in front of the number `ack`: octets that end there are no padding.
    #[inline]
    pub(crate) fn acknowledged(&mut self, ack: u32, each: impl FnMut(u64, Part<'_>, Carrier)) {
        if !self.pieces.is_empty() {
            self.confirm_acknowledged(ack, each);
        }
    }

    #[cold]
    fn confirm_acknowledged(&mut self, ack: u32, mut each: impl FnMut(u64, Part<'_>, Carrier)) {
        let Some(end) = self.offset_of(ack) else {
            return;
        };
        self.confirm_before(end);
        let index = self.pieces.partition_point(|piece| piece.offset < end);
        if let Some(piece) = self.pieces.get_mut(index)
            && piece.offset == end
            && piece.is_doubtful()
        {
            piece.doubt = Doubt::NotAcknowledged;
        }
        self.flow(&mut each);
    }

    /// Returns what is known to be no padding since the stream has an end.
    pub(crate) fn go_on(&mut self, mut each: impl FnMut(u64, Part<'_>, Carrier)) {
        self.flow(&mut each);
    }

    /// Something begins at `start`: octets that end there are no padding.
    fn confirm_before(&mut self, mut start: u64) {
        loop {
            let index = self.pieces.partition_point(|piece| piece.end() < start);
            match self.pieces.get_mut(index) {
                Some(piece) if piece.end() == start && piece.is_doubtful() => {
                    piece.doubt = Doubt::None;
                    start = piece.offset;
                }
                _ => return,
            }
        }
    }

    /// Removes what may be padding from `start` to `end`, in the place of which `captured` came.
    fn replace_padding(&mut self, start: u64, end: u64, captured: &[u8]) {
        let index = self.pieces.partition_point(|piece| piece.end() <= start);
        let is_near = |piece: &&BufferedPiece| piece.offset < end;
        let within = self.pieces.range(index..).take_while(is_near);
        let doubtful = within.filter(|piece| piece.is_doubtful());
        let mut any = false;
        for piece in doubtful {
            any = true;
            let from = piece.offset.saturating_sub(start) as usize;
            let to = piece.end().saturating_sub(start) as usize;
            let instead = captured.get(from..to.min(captured.len()));
            self.is_padded |= instead.is_some_and(|octets| octets.iter().any(|octet| *octet != 0));
        }
        if any {
            self.remove_if(start, end, BufferedPiece::is_doubtful);
        }
    }

    fn any(
        &mut self,
        seq: u32,
        mut captured: &[u8],
        len: u32,
        carrier: Carrier,
        each: &mut impl FnMut(u64, Part<'_>, Carrier),
    ) {
        let ahead = beyond(seq, self.next_seq);
        let mut len = u64::from(len);
        let old = u64::from(ahead.min(0).unsigned_abs());
        let before = old.saturating_sub(self.offset).min(len);
        self.before = self.before.saturating_add(before);
        if old >= len {
            return;
        }
        captured = usize::try_from(old)
            .ok()
            .and_then(|old| captured.get(old..))
            .unwrap_or_default();
        len -= old;
        let start = self
            .offset
            .saturating_add(u64::try_from(ahead).unwrap_or(0));
        if let Some(end) = self.end {
            // There are no bytes beyond a FIN.
            len = len.min(end.saturating_sub(start));
            let count = usize::try_from(len).unwrap_or(usize::MAX);
            captured = captured
                .get(..count.min(captured.len()))
                .unwrap_or_default();
        }
        if len == 0 {
            return;
        }
        let end = start.saturating_add(len);
        let known = start.saturating_add(captured.len() as u64);
        if ahead >= 0 {
            self.confirm_before(start);
        }
        self.replace_padding(start, end, captured);
        match self.overlap {
            Overlap::Last => self.remove(start, known),
            Overlap::Drop if self.differs(start, captured) => return,
            Overlap::First | Overlap::Drop => {}
        }
        // Captured bytes fill a place that was sent before and not captured.
        if known > start {
            self.remove_missing(start, known);
        }
        self.place(start, captured, carrier, each);
        if known < end {
            self.place_missing(known, end, carrier);
        }
        self.flow(each);
    }

    /// Stores bytes in free places; returns those that are in order at once.
    fn place(
        &mut self,
        start: u64,
        bytes: &[u8],
        carrier: Carrier,
        each: &mut impl FnMut(u64, Part<'_>, Carrier),
    ) {
        let end = start.saturating_add(bytes.len() as u64);
        let mut at = start;
        while at < end {
            let index = self.pieces.partition_point(|piece| piece.end() <= at);
            let (free_until, resume) = match self.pieces.get(index) {
                Some(piece) if piece.offset < end => (piece.offset, piece.end()),
                _ => (end, end),
            };
            if at < free_until {
                let (from, to) = (at - start, free_until - start);
                let part = bytes.get(from as usize..to as usize).unwrap_or_default();
                if at == self.offset && !self.is_held_back {
                    self.give(part, carrier, each);
                    self.flow(each);
                    at = free_until.max(self.offset);
                    continue;
                }
                self.keep(index, at, part, carrier);
            }
            at = resume;
        }
    }

    /// Keeps bytes that are not next, in front of piece `index`.
    fn keep(&mut self, index: usize, offset: u64, bytes: &[u8], carrier: Carrier) {
        if let Some(before) = index.checked_sub(1).and_then(|at| self.pieces.get_mut(at))
            && before.end() == offset
            && !before.bytes.is_empty()
            && !before.is_doubtful()
            && before.carrier == carrier
        {
            self.held -= before.held();
            before.bytes.extend_from_slice(bytes);
            before.len += bytes.len() as u64;
            self.held += before.held();
            return;
        }
        let piece = BufferedPiece {
            offset,
            len: bytes.len() as u64,
            bytes: bytes.to_vec(),
            carrier,
            doubt: Doubt::None,
        };
        self.held += piece.held();
        self.pieces.insert(index, piece);
    }

    /// Records that the bytes from `start` to `end` were not captured, unless they are known.
    fn place_missing(&mut self, start: u64, end: u64, carrier: Carrier) {
        let mut at = start.max(self.offset);
        while at < end {
            let index = self.pieces.partition_point(|piece| piece.end() <= at);
            let (free_until, resume) = match self.pieces.get(index) {
                Some(piece) if piece.offset < end => (piece.offset, piece.end()),
                _ => (end, end),
            };
            if at < free_until {
                let piece = BufferedPiece {
                    offset: at,
                    len: free_until - at,
                    bytes: Vec::new(),
                    carrier,
                    doubt: Doubt::None,
                };
                self.held += piece.held();
                self.pieces.insert(index, piece);
            }
            at = resume;
        }
    }

    /// Removes the waiting pieces between `start` and `end`.
    fn remove(&mut self, start: u64, end: u64) {
        self.remove_if(start, end, |_| true);
    }

    fn remove_missing(&mut self, start: u64, end: u64) {
        self.remove_if(start, end, |piece| piece.bytes.is_empty());
    }

    fn remove_if(&mut self, start: u64, end: u64, goes: impl Fn(&BufferedPiece) -> bool) {
        let mut index = self.pieces.partition_point(|piece| piece.end() <= start);
        while let Some(piece) = self.pieces.get_mut(index) {
            if piece.offset >= end {
                break;
            }
            if !goes(piece) {
                index += 1;
                continue;
            }
            self.held -= piece.held();
            let after = (piece.end() > end).then(|| {
                let len = piece.end() - end;
                let skipped = usize::try_from(end - piece.offset).unwrap_or(usize::MAX);
                BufferedPiece {
                    offset: end,
                    len,
                    bytes: piece.bytes.get(skipped..).unwrap_or_default().to_vec(),
                    carrier: piece.carrier,
                    doubt: piece.doubt,
                }
            });
            if piece.offset < start {
                piece.cut_at(start);
                self.held += piece.held();
                index += 1;
            } else {
                self.pieces.remove(index);
            }
            if let Some(after) = after {
                self.held += after.held();
                self.pieces.insert(index, after);
                break;
            }
        }
    }

    /// Whether bytes differ from those that wait at their place.
    fn differs(&self, start: u64, bytes: &[u8]) -> bool {
        let end = start.saturating_add(bytes.len() as u64);
        let index = self.pieces.partition_point(|piece| piece.end() <= start);
        self.pieces.iter().skip(index).any(|piece| {
            let from = piece.offset.max(start);
            let to = piece.end().min(end);
            if from >= to || piece.bytes.is_empty() {
                return false;
            }
            let waiting = piece
                .bytes
                .get((from - piece.offset) as usize..(to - piece.offset) as usize);
            waiting != bytes.get((from - start) as usize..(to - start) as usize)
        })
    }

    /// Gives up the bytes that are missing before the first waiting piece, and returns that piece with those that follow it. The
    /// gap has the carrier of that piece. False when no piece waits.
    pub fn skip_hole(&mut self, mut each: impl FnMut(u64, Part<'_>, Carrier)) -> bool {
        self.is_held_back = false;
        if !self.give_first(&mut each) {
            return false;
        }
        self.flow(&mut each);
        true
    }

    /// Returns the first waiting piece that is no padding, after the gap before it. False when no such piece waits.
    pub(crate) fn give_first(&mut self, mut each: impl FnMut(u64, Part<'_>, Carrier)) -> bool {
        if self.is_start_assumed {
            self.begin_with_first();
        }
        let certain = self.pieces.iter().position(|piece| !piece.is_doubtful());
        let Some(doubtful) = certain else {
            return false;
        };
        self.pass_doubtful(doubtful, &mut each);
        self.give_next(&mut each)
    }

    /// Returns the first `count` pieces, which may be padding: what nothing contradicts is what the length of its packet says.
    fn pass_doubtful(&mut self, count: usize, each: &mut impl FnMut(u64, Part<'_>, Carrier)) {
        for _ in 0..count {
            if !self.is_padded {
                self.give_next(each);
            } else if let Some(padding) = self.pieces.pop_front() {
                self.held = self.held.saturating_sub(padding.held());
            }
        }
    }

    /// Returns the first waiting piece, after the gap before it.
    fn give_next(&mut self, each: &mut impl FnMut(u64, Part<'_>, Carrier)) -> bool {
        let Some(mut piece) = self.pieces.pop_front() else {
            return false;
        };
        self.held = self.held.saturating_sub(piece.held());
        let missing = piece.offset.saturating_sub(self.offset);
        self.pass(missing, piece.carrier, each);
        piece.skip_to(self.offset);
        if piece.bytes.is_empty() {
            self.pass(piece.len, piece.carrier, each);
        } else {
            self.give(&piece.bytes, piece.carrier, each);
        }
        true
    }

    /// Gives up all missing bytes, up to the FIN if there was one; the gap before the FIN has the carrier `last`.
    pub fn give_up(&mut self, last: Carrier, mut each: impl FnMut(u64, Part<'_>, Carrier)) {
        while self.skip_hole(&mut each) {}
        self.pass_doubtful(self.pieces.len(), &mut each);
        if let Some(end) = self.end
            && end > self.offset
        {
            self.pass(end - self.offset, last, &mut each);
        }
    }

    /// Returns the pieces that are in order.
    fn flow(&mut self, each: &mut impl FnMut(u64, Part<'_>, Carrier)) {
        while !self.is_held_back
            && let Some(piece) = self.pieces.front()
            && piece.offset <= self.offset
            && !piece.is_doubtful()
        {
            self.give_first(&mut *each);
        }
    }

    #[inline]
    fn give(
        &mut self,
        bytes: &[u8],
        carrier: Carrier,
        each: &mut impl FnMut(u64, Part<'_>, Carrier),
    ) {
        if !bytes.is_empty() {
            let offset = self.offset;
            self.advance(bytes.len() as u64);
            each(offset, Part::Bytes(bytes), carrier);
        }
    }

    fn pass(&mut self, len: u64, carrier: Carrier, each: &mut impl FnMut(u64, Part<'_>, Carrier)) {
        if len > 0 {
            let offset = self.offset;
            self.advance(len);
            each(offset, Part::Gap(len), carrier);
        }
    }

    #[inline]
    fn advance(&mut self, len: u64) {
        self.offset = self.offset.saturating_add(len);
        self.next_seq = self.next_seq.wrapping_add(len as u32);
    }

    /// The offset of a number that is near the next one.
    pub(crate) fn offset_of(&self, seq: u32) -> Option<u64> {
        let ahead = i64::from(beyond(seq, self.next_seq));
        self.offset.checked_add_signed(ahead)
    }
}
