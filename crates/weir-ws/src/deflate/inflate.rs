//! Inflating captured messages, with the window watched.
//!
//! An inflater of its own, because an audit needs what libraries do not report: the largest distance,
//! the kinds of blocks, and which distances go beyond the negotiated window (some libraries accept
//! these silently). Decoding is bounded by the limits given, whatever the input.

use weir_deflate::{BIT_LENGTH_ORDER, DISTANCE_CODES, FIRST_LENGTH, LENGTH_CODES};

use std::fmt;

/// The parameters that the receiver of one direction agreed to (RFC 7692 section 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InflateOptions {
    /// The sender keeps its window from message to message.
    pub takeover: bool,
    /// Logarithm of the sender's window, 8 to 15.
    pub window_bits: u8,
    /// Longer messages are not inflated further; 64 MiB by default.
    pub message_bytes_max: usize,
}

impl Default for InflateOptions {
    fn default() -> Self {
        Self {
            takeover: true,
            window_bits: 15,
            message_bytes_max: 64 << 20,
        }
    }
}

/// The properties of an inflated message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inflated {
    /// Bytes of the message.
    pub bytes: u64,
    /// The number of stored blocks, without the empty one that ends a message.
    pub stored_blocks: u32,
    /// Blocks with the fixed codes.
    pub fixed_blocks: u32,
    /// Blocks with codes of their own.
    pub dynamic_blocks: u32,
    /// The block with BFINAL set, which is legal (RFC 7692 section 7.2.3.4), was there.
    pub final_block: bool,
    /// Literal bytes.
    pub literals: u64,
    /// Matches.
    pub matches: u64,
    /// The largest distance of a match, in bytes; 0 without matches.
    pub distance_max: u32,
    /// Matches that reach farther back than the negotiated window.
    pub beyond_window: u64,
    /// Matches that reach into messages before, although no context takeover was negotiated.
    pub beyond_message: u64,
}

/// The reason why a message could not be inflated, and after how many of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InflateError {
    /// Why.
    pub kind: InflateErrorKind,
    /// Compressed bytes that were read, the byte with the fault included.
    pub offset: u64,
    /// Bytes of the message that came out before.
    pub inflated: u64,
}

/// The kinds of [`InflateError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InflateErrorKind {
    /// The data ends in the middle of a block, even with the four bytes that the sender left out.
    Cut,
    /// The block type 3 (RFC 1951 section 3.2.3).
    BlockType,
    /// The length of a stored block and its complement disagree.
    StoredLength,
    /// Code lengths that do not form a prefix code.
    Codes,
    /// A code that is not in the block's table, or a symbol that does not exist.
    Symbol,
    /// A distance beyond the start of the data.
    Distance,
    /// A distance into messages that were not seen, or not whole: no fault of the sender.
    WindowLost,
    /// The message is longer than [`InflateOptions::message_bytes_max`].
    Limit,
    /// Something follows the end that is not the sender's empty block.
    Trailing,
}

impl fmt::Display for InflateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            InflateErrorKind::Cut => "compressed data ends in the middle of a block",
            InflateErrorKind::BlockType => "reserved block type 3",
            InflateErrorKind::StoredLength => {
                "length of a stored block and its complement disagree"
            }
            InflateErrorKind::Codes => "code lengths do not form a prefix code",
            InflateErrorKind::Symbol => "no symbol has this code",
            InflateErrorKind::Distance => "distance beyond the start of the data",
            InflateErrorKind::WindowLost => "distance into messages that were not captured",
            InflateErrorKind::Limit => "message longer than the limit",
            InflateErrorKind::Trailing => "data after the end of the compressed message",
        };
        write!(
            f,
            "{what}, at compressed byte {}, after {} bytes of the message",
            self.offset, self.inflated
        )
    }
}

impl std::error::Error for InflateError {}

/// Inflates the messages of one direction.
///
/// ```
/// use weir_ws::{Inflater, InflateOptions};
///
/// let mut inflater = Inflater::new(InflateOptions::default());
/// let mut message = Vec::new();
/// inflater.message(&[0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00], &mut message)?;
/// let seen = inflater.message(&[0xf2, 0x00, 0x11, 0x00, 0x00], &mut message)?;
/// assert_eq!(message, b"HelloHello");
/// assert_eq!(seen.distance_max, 5);
/// # Ok::<(), weir_ws::InflateError>(())
/// ```
#[derive(Debug)]
pub struct Inflater {
    options: InflateOptions,
    /// The last 32 KiB of the messages before.
    history: Vec<u8>,
    /// Messages before were not seen, or not whole: see [`Self::lose_window`].
    lost: bool,
    literals: PrefixCode,
    distances: PrefixCode,
}

const HISTORY: usize = 1 << 15;

impl Inflater {
    /// A decompressor with an empty window.
    #[must_use]
    pub fn new(options: InflateOptions) -> Self {
        Self {
            options,
            history: Vec::new(),
            lost: false,
            literals: PrefixCode::default(),
            distances: PrefixCode::default(),
        }
    }

    /// Appends the message that the payload `compressed` stands for, without the four bytes that
    /// the sender left out. Takes time and memory in proportion to the output, which is limited.
    ///
    /// # Errors
    /// When the data are damaged or the limit is reached; what came out before stays in `out`. The window
    /// is lost then.
    pub fn message(
        &mut self,
        compressed: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Inflated, InflateError> {
        let begin = out.len();
        let mut run = MessageRun {
            bits: BitReader::new(compressed),
            seen: Inflated::default(),
            begin,
            options: self.options,
            history: &self.history,
        };
        let result = run.blocks(out, &mut self.literals, &mut self.distances);
        let offset = run.bits.offset() as u64;
        let mut seen = run.seen;
        seen.bytes = (out.len() - begin) as u64;
        let message = out.get(begin..).unwrap_or_default();
        if message.len() >= HISTORY {
            self.history.clear();
            self.history
                .extend_from_slice(&message[message.len() - HISTORY..]);
        } else {
            let keep = HISTORY - message.len();
            let drop = self.history.len().saturating_sub(keep);
            self.history.drain(..drop);
            self.history.extend_from_slice(message);
        }
        let kind = match result {
            Ok(()) => return Ok(seen),
            Err(InflateErrorKind::Distance) if self.lost => InflateErrorKind::WindowLost,
            Err(kind) => kind,
        };
        self.lose_window();
        Err(InflateError {
            kind,
            offset: offset.min(compressed.len() as u64),
            inflated: seen.bytes,
        })
    }

    /// Bytes of memory that the window takes.
    pub(crate) fn held_bytes(&self) -> usize {
        self.history.capacity()
    }

    /// Something of this direction was not seen. Messages that refer to what was sent before now end
    /// with [`InflateErrorKind::WindowLost`]; others, and all once enough was seen again, inflate.
    pub fn lose_window(&mut self) {
        self.lost = self.options.takeover;
        self.history.clear();
    }
}

/// The bytes that the sender left out (RFC 7692 section 7.2.2).
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];

/// Reads bits, the lowest first, from a payload with [`TAIL`] after it.
struct BitReader<'a> {
    data: &'a [u8],
    at: usize,
    /// The bits that were read and not taken, the next one lowest.
    bits: u64,
    count: u32,
}

impl<'a> BitReader<'a> {
    fn new(data: &'a [u8]) -> Self {
        Self {
            data,
            at: 0,
            bits: 0,
            count: 0,
        }
    }

    #[inline(always)]
    fn refill(&mut self) {
        if let Some(word) = self.data.get(self.at..).and_then(<[u8]>::first_chunk::<8>) {
            let word = u64::from_le_bytes(*word);
            self.bits |= word << self.count;
            let taken = (63 - self.count) / 8;
            self.at += taken as usize;
            self.count += taken * 8;
            // The bits that did not fit are read again.
            self.bits &= u64::MAX >> (64 - self.count).min(63);
            return;
        }
        while self.count <= 55 {
            let byte = match self.data.get(self.at) {
                Some(&byte) => byte,
                None => match TAIL.get(self.at - self.data.len()) {
                    Some(&byte) => byte,
                    None => return,
                },
            };
            self.bits |= u64::from(byte) << self.count;
            self.at += 1;
            self.count += 8;
        }
    }

    fn take(&mut self, count: u32) -> Result<u32, InflateErrorKind> {
        if self.count < count {
            self.refill();
            if self.count < count {
                return Err(InflateErrorKind::Cut);
            }
        }
        let value = (self.bits & ((1 << count) - 1)) as u32;
        self.bits >>= count;
        self.count -= count;
        Ok(value)
    }

    fn align(&mut self) {
        let drop = self.count % 8;
        self.bits >>= drop;
        self.count -= drop;
    }

    /// The number of bytes all of whose bits were taken.
    fn offset(&self) -> usize {
        self.at - (self.count / 8) as usize
    }

    /// Bytes that are left, the tail's included.
    fn left(&self) -> usize {
        self.data.len() + TAIL.len() - self.offset()
    }
}

/// One message.
struct MessageRun<'a> {
    bits: BitReader<'a>,
    seen: Inflated,
    begin: usize,
    options: InflateOptions,
    history: &'a [u8],
}

impl MessageRun<'_> {
    fn blocks(
        &mut self,
        out: &mut Vec<u8>,
        literals: &mut PrefixCode,
        distances: &mut PrefixCode,
    ) -> Result<(), InflateErrorKind> {
        loop {
            let last = self.bits.take(1)? == 1;
            match self.bits.take(2)? {
                0 => {
                    let before = out.len();
                    self.stored(out)?;
                    if self.bits.left() == 0 {
                        // The empty block that ends the message.
                        if out.len() > before {
                            return Err(InflateErrorKind::Trailing);
                        }
                        return Ok(());
                    }
                    self.seen.stored_blocks += 1;
                }
                1 => {
                    self.seen.fixed_blocks += 1;
                    let (fixed_literals, fixed_distances) = fixed();
                    self.symbols(out, fixed_literals, fixed_distances)?;
                }
                2 => {
                    self.seen.dynamic_blocks += 1;
                    self.tables(literals, distances)?;
                    self.symbols(out, literals, distances)?;
                }
                _ => return Err(InflateErrorKind::BlockType),
            }
            if last {
                // Another stream begins at the next byte, with the same window.
                self.seen.final_block = true;
                self.bits.align();
            }
        }
    }

    fn stored(&mut self, out: &mut Vec<u8>) -> Result<(), InflateErrorKind> {
        self.bits.align();
        let len = self.bits.take(16)?;
        let complement = self.bits.take(16)?;
        if len != !complement & 0xffff {
            return Err(InflateErrorKind::StoredLength);
        }
        let len = len as usize;
        self.room(out, len)?;
        for _ in 0..len {
            let byte = self.bits.take(8)? as u8;
            out.push(byte);
        }
        self.seen.literals += len as u64;
        Ok(())
    }

    #[inline(always)]
    fn room(&self, out: &[u8], more: usize) -> Result<(), InflateErrorKind> {
        if out.len() - self.begin + more > self.options.message_bytes_max {
            return Err(InflateErrorKind::Limit);
        }
        Ok(())
    }

    fn symbols(
        &mut self,
        out: &mut Vec<u8>,
        literals: &PrefixCode,
        distances: &PrefixCode,
    ) -> Result<(), InflateErrorKind> {
        loop {
            let symbol = literals.decode(&mut self.bits)?;
            if symbol < 256 {
                self.room(out, 1)?;
                self.seen.literals += 1;
                out.push(symbol as u8);
                continue;
            }
            if symbol == 256 {
                return Ok(());
            }
            let code = usize::from(symbol) - FIRST_LENGTH;
            let code = LENGTH_CODES.get(code).ok_or(InflateErrorKind::Symbol)?;
            let length = usize::from(code.base) + self.bits.take(code.extra_bits.into())? as usize;
            let code = usize::from(distances.decode(&mut self.bits)?);
            let code = DISTANCE_CODES.get(code).ok_or(InflateErrorKind::Symbol)?;
            let distance =
                usize::from(code.base) + self.bits.take(code.extra_bits.into())? as usize;
            self.copy(out, length, distance)?;
        }
    }

    fn copy(
        &mut self,
        out: &mut Vec<u8>,
        length: usize,
        distance: usize,
    ) -> Result<(), InflateErrorKind> {
        self.room(out, length)?;
        self.seen.matches += 1;
        self.seen.distance_max = self.seen.distance_max.max(distance as u32);
        if distance > 1 << self.options.window_bits {
            self.seen.beyond_window += 1;
        }
        let here = out.len() - self.begin;
        if distance <= here {
            let from = out.len() - distance;
            if distance >= length {
                out.extend_from_within(from..from + length);
            } else {
                for at in from..from + length {
                    out.push(out[at]);
                }
            }
            return Ok(());
        }
        if !self.options.takeover {
            self.seen.beyond_message += 1;
        }
        let back = distance - here;
        if back > self.history.len() {
            return Err(InflateErrorKind::Distance);
        }
        let from = self.history.len() - back;
        let whole = length.min(back);
        out.extend_from_slice(&self.history[from..from + whole]);
        // The rest continues at the beginning of this message.
        for at in self.begin..self.begin + (length - whole) {
            out.push(out[at]);
        }
        Ok(())
    }

    /// The codes of a dynamic block (RFC 1951 section 3.2.7).
    fn tables(
        &mut self,
        literals: &mut PrefixCode,
        distances: &mut PrefixCode,
    ) -> Result<(), InflateErrorKind> {
        let literal_count = self.bits.take(5)? as usize + 257;
        let distance_count = self.bits.take(5)? as usize + 1;
        let length_count = self.bits.take(4)? as usize + 4;
        if literal_count > 286 || distance_count > 30 {
            return Err(InflateErrorKind::Codes);
        }
        let mut lengths = [0u8; 19];
        for &place in &BIT_LENGTH_ORDER[..length_count] {
            lengths[place] = self.bits.take(3)? as u8;
        }
        literals.build(&lengths, false)?;
        let mut lens = [0u8; 286 + 30];
        let all = literal_count + distance_count;
        let mut at = 0;
        while at < all {
            let symbol = literals.decode(&mut self.bits)?;
            let (value, times) = match symbol {
                0..=15 => (symbol as u8, 1),
                16 => {
                    let previous = at.checked_sub(1).ok_or(InflateErrorKind::Codes)?;
                    (lens[previous], 3 + self.bits.take(2)? as usize)
                }
                17 => (0, 3 + self.bits.take(3)? as usize),
                _ => (0, 11 + self.bits.take(7)? as usize),
            };
            let end = at + times;
            if end > all {
                return Err(InflateErrorKind::Codes);
            }
            lens[at..end].fill(value);
            at = end;
        }
        if lens[256] == 0 {
            return Err(InflateErrorKind::Codes);
        }
        literals.build(&lens[..literal_count], false)?;
        distances.build(&lens[literal_count..all], true)
    }
}

fn fixed() -> &'static (PrefixCode, PrefixCode) {
    static FIXED: std::sync::LazyLock<(PrefixCode, PrefixCode)> = std::sync::LazyLock::new(|| {
        let mut lens = [8u8; 288];
        lens[144..256].fill(9);
        lens[256..280].fill(7);
        let mut literals = PrefixCode::default();
        let mut distances = PrefixCode::default();
        // The codes are complete by construction; a table that could not be built would decode nothing.
        let built = literals
            .build(&lens, false)
            .and(distances.build(&[5; 32], false));
        debug_assert!(built.is_ok());
        (literals, distances)
    });
    &FIXED
}

const ROOT_BITS: u32 = 10;

/// A prefix code: a table for short codes, counts for long ones.
#[derive(Debug)]
struct PrefixCode {
    /// `symbol << 4 | length`, or 0.
    root: Vec<u16>,
    counts: [u16; 16],
    /// Symbols in the order of their codes.
    symbols: Vec<u16>,
}

impl Default for PrefixCode {
    fn default() -> Self {
        Self {
            root: vec![0; 1 << ROOT_BITS],
            counts: [0; 16],
            symbols: Vec::new(),
        }
    }
}

impl PrefixCode {
    /// Builds a table of the lengths of the codes. As in zlib, only a distance code may be incomplete, and only with one code of
    /// one bit, or none.
    fn build(&mut self, lens: &[u8], distances: bool) -> Result<(), InflateErrorKind> {
        self.counts = [0; 16];
        for &len in lens {
            self.counts[usize::from(len & 15)] += 1;
        }
        self.counts[0] = 0;
        let mut left = 1i32;
        for &count in &self.counts[1..] {
            left = left * 2 - i32::from(count);
            if left < 0 {
                return Err(InflateErrorKind::Codes);
            }
        }
        let used: u16 = self.counts.iter().sum();
        if left > 0 && !(used == 0 && distances || used == 1 && self.counts[1] == 1) {
            return Err(InflateErrorKind::Codes);
        }
        let mut firsts = [0u16; 16];
        for len in 1..15 {
            firsts[len + 1] = firsts[len] + self.counts[len];
        }
        self.symbols.clear();
        self.symbols.resize(usize::from(used), 0);
        for (symbol, &len) in lens.iter().enumerate() {
            if len > 0 {
                let first = &mut firsts[usize::from(len & 15)];
                self.symbols[usize::from(*first)] = symbol as u16;
                *first += 1;
            }
        }
        self.root.fill(0);
        let mut code = 0usize;
        let mut next = 0;
        for len in 1..=ROOT_BITS {
            let count = usize::from(self.counts[len as usize]);
            for &symbol in self.symbols.iter().skip(next).take(count) {
                // Codes are sent from their highest bit on.
                let reversed = code.reverse_bits() >> (usize::BITS - len);
                for slot in self.root.iter_mut().skip(reversed).step_by(1 << len) {
                    *slot = symbol << 4 | len as u16;
                }
                code += 1;
            }
            next += count;
            code <<= 1;
        }
        Ok(())
    }

    #[inline(always)]
    fn decode(&self, bits: &mut BitReader<'_>) -> Result<u16, InflateErrorKind> {
        if bits.count < 15 {
            bits.refill();
        }
        let entry = self.root[(bits.bits & ((1 << ROOT_BITS) - 1)) as usize];
        let len = u32::from(entry & 15);
        if len > 0 && len <= bits.count {
            bits.bits >>= len;
            bits.count -= len;
            return Ok(entry >> 4);
        }
        self.decode_long(bits)
    }

    #[cold]
    fn decode_long(&self, bits: &mut BitReader<'_>) -> Result<u16, InflateErrorKind> {
        let (mut code, mut first, mut index) = (0u32, 0u32, 0u32);
        for len in 1..16u32 {
            if bits.count < len {
                return Err(InflateErrorKind::Cut);
            }
            code |= (bits.bits >> (len - 1) & 1) as u32;
            let count = u32::from(self.counts[len as usize]);
            if code < first + count {
                bits.bits >>= len;
                bits.count -= len;
                let place = (index + code - first) as usize;
                return self
                    .symbols
                    .get(place)
                    .copied()
                    .ok_or(InflateErrorKind::Symbol);
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        Err(InflateErrorKind::Symbol)
    }
}
