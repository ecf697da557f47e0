//! Aligned PER (ITU-T X.691, ALIGNED variant).

use super::Context;
use crate::{
    Arena, BinaryOptions, Extension, ExtensionContent,
    error::{ErrorKind, FirstFailure, Stop},
    extension::{RecordNumbers, of_record},
    octets,
};

/// Appends bits.
pub(crate) struct PerWriter<'o> {
    pub(crate) out: &'o mut Vec<u8>,
    /// Bits that do not fill an octet yet, in the low end.
    pending: u64,
    pending_len: u32,
    pub(crate) cx: Context,
    pub(crate) error: Option<&'static str>,
    extensions: &'o [Extension<'o>],
    pub(crate) records: RecordNumbers,
}

impl<'o> PerWriter<'o> {
    pub(crate) fn new(
        out: &'o mut Vec<u8>,
        options: BinaryOptions,
        extensions: &'o [Extension<'o>],
    ) -> Self {
        Self {
            out,
            pending: 0,
            pending_len: 0,
            cx: Context::new(options),
            error: None,
            extensions,
            records: RecordNumbers::default(),
        }
    }

    /// The additions of a record that are known of no version.
    #[inline]
    pub(crate) fn additions(&self, record: u32) -> &'o [Extension<'o>] {
        if self.extensions.is_empty() {
            return &[];
        }
        let found = of_record(self.extensions, record);
        match found.first().map(|extension| extension.content) {
            Some(ExtensionContent::Per { .. }) => found,
            _ => &[],
        }
    }

    /// The additions as bits, and their number: `count` known ones, and the others after them.
    pub(crate) fn unknown_bits(
        &mut self,
        unknown: &[Extension<'_>],
        known: u64,
        known_count: u32,
    ) -> (u64, u32) {
        let mut all_count = known_count;
        // The bits are used from the highest of 32 down.
        let mut bits = known << (32 - known_count);
        for extension in unknown {
            if let ExtensionContent::Per { index, count, .. } = extension.content {
                all_count = all_count.max(u32::from(count));
                if (known_count..all_count.min(32)).contains(&u32::from(index)) {
                    bits |= 1_u64 << (31 - u32::from(index));
                } else {
                    self.fail("an addition beyond those that its record announces");
                }
            }
        }
        let all_count = all_count.min(32);
        (bits >> (32 - all_count), all_count)
    }

    /// Appends additions that are known of no version.
    pub(crate) fn unknown(&mut self, unknown: &[Extension<'_>]) {
        for extension in unknown {
            if let ExtensionContent::Per { octets, .. } = extension.content {
                self.length(octets.len());
                self.out.extend_from_slice(octets);
            }
        }
    }

    pub(crate) fn fail(&mut self, what: &'static str) {
        self.error.get_or_insert(what);
    }

    /// Appends the low `count` bits of `value`, at most 32.
    #[inline]
    pub(crate) fn bits(&mut self, value: u32, count: u32) {
        self.pending = self.pending << count | u64::from(value);
        self.pending_len += count;
        if self.pending_len >= 8 {
            // The pending 39 bits at most move to the top, and the full octets of the word are appended.
            let top = self.pending << (64 - self.pending_len);
            let full = self.pending_len / 8;
            let end = self.out.len().wrapping_add(full as usize);
            self.out.extend_from_slice(&top.to_be_bytes());
            self.out.truncate(end);
            self.pending_len %= 8;
            self.pending &= 0xff;
        }
    }

    #[inline]
    pub(crate) fn bit(&mut self, value: bool) {
        self.bits(u32::from(value), 1);
    }

    #[inline]
    pub(crate) fn align(&mut self) {
        if self.pending_len > 0 {
            self.out
                .push((self.pending << (8 - self.pending_len)) as u8);
            (self.pending, self.pending_len) = (0, 0);
        }
    }

    #[inline]
    pub(crate) fn aligned(&mut self, octets: &[u8]) {
        self.align();
        octets::push(self.out, octets);
    }

    /// A length without an upper bound (X.691 11.9.3.5 to 11.9.3.8).
    #[inline]
    pub(crate) fn length(&mut self, len: usize) {
        self.align();
        match len {
            0..=127 => self.out.push(len as u8),
            128..=0x3fff => self
                .out
                .extend_from_slice(&(0x8000 | len as u16).to_be_bytes()),
            _ => self.fail("more than 16383 octets or elements in one place"),
        }
    }

    /// A normally small number (X.691 11.6).
    pub(crate) fn small(&mut self, value: u32) {
        if value < 64 {
            self.bits(value, 7);
        } else {
            self.fail("a choice beyond 63");
        }
    }

    /// A number of `1..=range` values, `low` subtracted (X.691 11.5.7).
    #[inline]
    pub(crate) fn constrained(&mut self, value: u32, range: u64) {
        match range {
            0..=255 => self.bits(value, bits_for(range)),
            256 => self.aligned(&[value as u8]),
            257..=0x1_0000 => self.aligned(&(value as u16).to_be_bytes()),
            _ => {
                let zeros = (value.leading_zeros() / 8).min(3);
                self.bits(3 - zeros, 2);
                self.align();
                let end = self.out.len().wrapping_add(4 - zeros as usize);
                let octets = (value << (8 * zeros)).to_be_bytes();
                self.out.extend_from_slice(&octets);
                self.out.truncate(end);
            }
        }
    }

    /// Contents in an open type: whole octets with their length in front.
    pub(crate) fn open(&mut self, write: impl FnOnce(&mut Self)) {
        self.align();
        self.out.push(0);
        let start = self.out.len();
        write(self);
        self.align();
        if self.out.len() == start {
            // An encoding of no bits is one zero octet (X.691 11.1.3).
            self.out.push(0);
        }
        let len = self.out.len().saturating_sub(start);
        let Some(place) = self.out.get_mut(start.wrapping_sub(1)) else {
            return;
        };
        if len < 128 {
            *place = len as u8;
        } else if len < 0x4000 {
            let [high, low] = (0x8000 | len as u16).to_be_bytes();
            *place = high;
            self.out.insert(start, low);
        } else {
            self.fail("more than 16383 octets in one extension");
        }
    }
}

/// Bits that `range` values need.
#[inline]
pub(crate) const fn bits_for(range: u64) -> u32 {
    if range <= 1 {
        0
    } else {
        u64::BITS - (range - 1).leading_zeros()
    }
}

/// Up to seven octets, and zeros behind them.
#[cold]
fn last_window(octets: &[u8]) -> u64 {
    let mut window = [0; 8];
    for (place, octet) in window.iter_mut().zip(octets) {
        *place = *octet;
    }
    u64::from_be_bytes(window)
}

/// Removes the highest of 32 bits, which stand for the optional components that follow.
#[inline]
pub(crate) fn next_bit(bits: &mut u32) -> bool {
    let bit = *bits >> 31 != 0;
    *bits <<= 1;
    bit
}

/// Reads bits out of one message.
pub(crate) struct PerReader<'a> {
    input: &'a [u8],
    /// The readable octets: the input, or one open type of it.
    octets: &'a [u8],
    /// The position in bits from the start of `octets`.
    position: usize,
    pub(crate) arena: &'a Arena,
    pub(crate) cx: Context,
    pub(crate) failure: FirstFailure,
    extensions: bumpalo::collections::Vec<'a, Extension<'a>>,
    pub(crate) records: RecordNumbers,
}

impl<'a> PerReader<'a> {
    pub(crate) fn new(input: &'a [u8], arena: &'a Arena, options: BinaryOptions) -> Self {
        Self {
            input,
            octets: input,
            position: 0,
            arena,
            cx: Context::new(options),
            failure: FirstFailure::default(),
            extensions: arena.growing(0),
            records: RecordNumbers::default(),
        }
    }

    /// The additions beyond the known versions.
    pub(crate) fn into_extensions(self) -> &'a [Extension<'a>] {
        self.extensions.into_bump_slice()
    }

    #[cold]
    pub(crate) fn fail(&mut self, kind: ErrorKind, expected: &'static str) -> Stop {
        let base = (self.octets.as_ptr() as usize).wrapping_sub(self.input.as_ptr() as usize);
        let base = if base <= self.input.len() { base } else { 0 };
        let offset = base.saturating_add(self.position / 8);
        self.failure.at(kind, offset, expected)
    }

    /// Octets that were not read.
    pub(crate) fn remaining(&self) -> usize {
        self.octets.len().saturating_sub(self.position.div_ceil(8))
    }

    /// The next `count` bits, at most 32.
    #[inline]
    pub(crate) fn bits(&mut self, count: u32) -> Result<u32, Stop> {
        let at = self.position / 8;
        let shift = (self.position % 8) as u32;
        let end = self.position.wrapping_add(count as usize);
        if end > self.octets.len().saturating_mul(8) {
            return Err(self.fail(ErrorKind::Cut, "more bits"));
        }
        self.position = end;
        let rest = self.octets.get(at..).unwrap_or_default();
        let window = match rest.first_chunk::<8>() {
            Some(octets) => u64::from_be_bytes(*octets),
            None => last_window(rest),
        };
        // The value has at most 7 + 32 bits from the top.
        Ok((window << shift >> 1 >> (63_u32.wrapping_sub(count) & 63)) as u32)
    }

    #[inline]
    pub(crate) fn bit(&mut self) -> Result<bool, Stop> {
        let octet = self.octets.get(self.position / 8).copied();
        let Some(octet) = octet else {
            return Err(self.fail(ErrorKind::Cut, "more bits"));
        };
        let bit = octet >> (7 - self.position % 8) & 1;
        self.position = self.position.wrapping_add(1);
        Ok(bit != 0)
    }

    #[inline]
    pub(crate) fn align(&mut self) {
        self.position = self.position.next_multiple_of(8);
    }

    #[inline]
    pub(crate) fn aligned(&mut self, len: usize) -> Result<&'a [u8], Stop> {
        self.align();
        let at = self.position / 8;
        let end = at.saturating_add(len);
        let Some(octets) = self.octets.get(at..end) else {
            return Err(self.fail(ErrorKind::Cut, "more octets"));
        };
        self.position = end.saturating_mul(8);
        Ok(octets)
    }

    #[inline]
    pub(crate) fn length(&mut self) -> Result<usize, Stop> {
        match self.aligned(1)? {
            [len] if *len < 0x80 => Ok(usize::from(*len)),
            [high] if *high < 0xc0 => {
                let low = self.aligned(1)?.first().copied().unwrap_or_default();
                Ok(usize::from(high & 0x3f) << 8 | usize::from(low))
            }
            _ => Err(self.fail(ErrorKind::Limit, "fewer than 16384 octets or elements")),
        }
    }

    pub(crate) fn small(&mut self) -> Result<u32, Stop> {
        if self.bit()? {
            return Err(self.fail(ErrorKind::Range, "a choice below 64"));
        }
        self.bits(6)
    }

    #[inline]
    pub(crate) fn constrained(&mut self, range: u64) -> Result<u32, Stop> {
        let value = match range {
            0..=255 => self.bits(bits_for(range))?,
            256 => {
                self.align();
                self.bits(8)?
            }
            257..=0x1_0000 => {
                self.align();
                self.bits(16)?
            }
            _ => {
                let len = self.bits(2)?;
                self.align();
                self.bits(len.wrapping_add(1).wrapping_mul(8))?
            }
        };
        if u64::from(value) >= range {
            return Err(self.fail(ErrorKind::Range, "a smaller number"));
        }
        Ok(value)
    }

    /// Reads the contents of an open type, and continues after it.
    pub(crate) fn open<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let len = self.length()?;
        let inside = self.aligned(len)?;
        let outside = (self.octets, self.position);
        (self.octets, self.position) = (inside, 0);
        let value = read(self)?;
        (self.octets, self.position) = outside;
        Ok(value)
    }

    /// The number of additions that a record declares, used or not.
    pub(crate) fn addition_count(&mut self) -> Result<u32, Stop> {
        let count = self.small()?.wrapping_add(1);
        if count > ADDITIONS_MAX {
            return Err(self.fail(ErrorKind::Limit, "at most 32 additions to a record"));
        }
        Ok(count)
    }

    /// Keeps one open type, whose contents are not known.
    pub(crate) fn keep_open(&mut self, record: u32, index: u8, count: u8) -> Result<(), Stop> {
        let len = self.length()?;
        let octets = self.aligned(len)?;
        self.extensions.push(Extension {
            record,
            content: ExtensionContent::Per {
                index,
                count,
                octets,
            },
        });
        Ok(())
    }
}

/// Additions that a record may announce. Version 3 has at most six.
const ADDITIONS_MAX: u32 = 32;
