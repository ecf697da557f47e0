//! The place of a number in bytes, as data.

use crate::{Endian, u8_at, u16_be_at, u16_le_at, u32_be_at, u32_le_at, u64_be_at, u64_le_at};

/// Some neighbouring bits of a whole number of bytes at a fixed offset: what a plain field of a header
/// or of a record is. It is a constant like any other, so that what reads the field, what compares it,
/// and what is compiled from it all follow from one description.
///
/// Reading is bounded: there is no value where the bytes end before. It costs a bounds check, a load, a
/// shift and a mask.
///
/// ```
/// use weir_bytes::Bits;
///
/// const HEADER_LEN: Bits = Bits::byte(0).part(0, 4);
/// const TOTAL_LEN: Bits = Bits::be16(2);
/// let header = [0x45, 0, 0, 28];
/// assert_eq!(HEADER_LEN.read(&header), Some(5));
/// assert_eq!(TOTAL_LEN.read(&header), Some(28));
/// assert_eq!(Bits::be32(2).read(&header), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bits {
    offset: u32,
    load: Load,
    /// Bits of the word below the value.
    shift: u8,
    /// Bits of the value.
    width: u8,
}

/// The way to load the bytes of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Load {
    One,
    Big2,
    Big4,
    Big8,
    Little2,
    Little4,
    Little8,
    /// Any other number of bytes; up to nine, as a number of 64 bits may lie across eight borders.
    Big(u8),
    Little(u8),
}

impl Bits {
    /// Bytes of the longest word, of which 64 bits are read.
    pub const BYTES_MAX: u32 = 9;

    /// The byte at `offset`.
    #[must_use]
    pub const fn byte(offset: u32) -> Self {
        Self::whole(offset, 1, Endian::Big)
    }

    /// The big-endian number of 16 bits at `offset`.
    #[must_use]
    pub const fn be16(offset: u32) -> Self {
        Self::whole(offset, 2, Endian::Big)
    }

    /// The big-endian number of 24 bits at `offset`.
    #[must_use]
    pub const fn be24(offset: u32) -> Self {
        Self::whole(offset, 3, Endian::Big)
    }

    /// The big-endian number of 32 bits at `offset`.
    #[must_use]
    pub const fn be32(offset: u32) -> Self {
        Self::whole(offset, 4, Endian::Big)
    }

    /// The big-endian number of 64 bits at `offset`.
    #[must_use]
    pub const fn be64(offset: u32) -> Self {
        Self::whole(offset, 8, Endian::Big)
    }

    /// The little-endian number of 16 bits at `offset`.
    #[must_use]
    pub const fn le16(offset: u32) -> Self {
        Self::whole(offset, 2, Endian::Little)
    }

    /// The little-endian number of 32 bits at `offset`.
    #[must_use]
    pub const fn le32(offset: u32) -> Self {
        Self::whole(offset, 4, Endian::Little)
    }

    /// The little-endian number of 64 bits at `offset`.
    #[must_use]
    pub const fn le64(offset: u32) -> Self {
        Self::whole(offset, 8, Endian::Little)
    }

    /// The bit of the byte at `offset` that has `bit` bits below it.
    #[must_use]
    pub const fn flag(offset: u32, bit: u32) -> Self {
        Self::byte(offset).part(bit, 1)
    }

    /// The number that `bytes` bytes (1 to 9) at `offset` make. Of nine bytes, the low 64 bits are the
    /// value until a [`part`](Self::part) is taken.
    #[must_use]
    pub const fn whole(offset: u32, bytes: u32, endian: Endian) -> Self {
        let bytes = match bytes {
            0 => 1,
            1..=Self::BYTES_MAX => bytes as u8,
            _ => Self::BYTES_MAX as u8,
        };
        let load = match (bytes, endian) {
            (1, _) => Load::One,
            (2, Endian::Big) => Load::Big2,
            (4, Endian::Big) => Load::Big4,
            (8, Endian::Big) => Load::Big8,
            (2, Endian::Little) => Load::Little2,
            (4, Endian::Little) => Load::Little4,
            (8, Endian::Little) => Load::Little8,
            (_, Endian::Big) => Load::Big(bytes),
            (_, Endian::Little) => Load::Little(bytes),
        };
        Self {
            offset,
            load,
            shift: 0,
            width: if bytes < 8 { bytes * 8 } else { 64 },
        }
    }

    /// `width` bits of the word that have `shift` bits of this value below them. Bits that would reach beyond the word
    /// are left out.
    #[must_use]
    pub const fn part(self, shift: u32, width: u32) -> Self {
        let word = self.bytes() * 8;
        let shift = match (self.shift as u32).saturating_add(shift) {
            shift if shift < word => shift,
            _ => word,
        };
        let mut width = if width < 64 { width } else { 64 };
        if width > word - shift {
            width = word - shift;
        }
        Self {
            shift: shift as u8,
            width: width as u8,
            ..self
        }
    }

    /// The same bits, `bytes` further.
    #[must_use]
    pub const fn after(self, bytes: u32) -> Self {
        Self {
            offset: self.offset.saturating_add(bytes),
            ..self
        }
    }

    /// Offset of the word's first byte.
    #[inline]
    #[must_use]
    pub const fn offset(&self) -> u32 {
        self.offset
    }

    /// Bytes of the word, 1 to [`BYTES_MAX`](Self::BYTES_MAX).
    #[inline]
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        match self.load {
            Load::One => 1,
            Load::Big2 | Load::Little2 => 2,
            Load::Big4 | Load::Little4 => 4,
            Load::Big8 | Load::Little8 => 8,
            Load::Big(bytes) | Load::Little(bytes) => bytes as u32,
        }
    }

    /// Offset behind the word's last byte: so many bytes must be there for the value to be.
    #[inline]
    #[must_use]
    pub const fn end(&self) -> u32 {
        self.offset.saturating_add(self.bytes())
    }

    /// The order of the word's bytes. Of one byte it is big-endian.
    #[inline]
    #[must_use]
    pub const fn endian(&self) -> Endian {
        match self.load {
            Load::Little2 | Load::Little4 | Load::Little8 | Load::Little(_) => Endian::Little,
            _ => Endian::Big,
        }
    }

    /// Bits of the word below the value.
    #[inline]
    #[must_use]
    pub const fn shift(&self) -> u32 {
        self.shift as u32
    }

    /// Bits of the value, 0 to 64.
    #[inline]
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.width as u32
    }

    /// The lowest bits, as many as the value has: its largest value.
    #[inline]
    #[must_use]
    pub const fn mask(&self) -> u64 {
        mask(self.width as u32)
    }

    /// The value; `None` when the bytes end before.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "folds where the bits are known")]
    #[must_use]
    pub fn read(&self, bytes: &[u8]) -> Option<u64> {
        self.read_at(bytes, 0)
    }

    /// The value in what begins at `start` of `bytes`; `None` when the bytes end before.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "folds where the bits are known")]
    #[must_use]
    pub fn read_at(&self, bytes: &[u8], start: usize) -> Option<u64> {
        let at = start.checked_add(self.offset as usize)?;
        let word = match self.load {
            Load::One => u64::from(u8_at(bytes, at)?),
            Load::Big2 => u64::from(u16_be_at(bytes, at)?),
            Load::Big4 => u64::from(u32_be_at(bytes, at)?),
            Load::Big8 => u64_be_at(bytes, at)?,
            Load::Little2 => u64::from(u16_le_at(bytes, at)?),
            Load::Little4 => u64::from(u32_le_at(bytes, at)?),
            Load::Little8 => u64_le_at(bytes, at)?,
            Load::Big(_) | Load::Little(_) => {
                let word = self.rare_word_at(bytes, at)?;
                return Some((word >> (self.shift & 127)) as u64 & self.mask());
            }
        };
        Some(word >> (self.shift & 63) & self.mask())
    }

    /// The whole word in what begins at `start` of `bytes`, of which the value is a part.
    #[inline]
    #[must_use]
    pub fn word_at(&self, bytes: &[u8], start: usize) -> Option<u128> {
        self.rare_word_at(bytes, start.checked_add(self.offset as usize)?)
    }

    #[inline(never)]
    fn rare_word_at(&self, bytes: &[u8], at: usize) -> Option<u128> {
        let field = bytes.get(at..)?.get(..self.bytes() as usize)?;
        let push = |word: u128, byte: &u8| word << 8 | u128::from(*byte);
        Some(match self.endian() {
            Endian::Little => field.iter().rev().fold(0, push),
            Endian::Big => field.iter().fold(0, push),
        })
    }
}

/// The lowest `width` bits of a number of 64.
#[inline]
#[must_use]
pub const fn mask(width: u32) -> u64 {
    match width {
        0..64 => (1 << width) - 1,
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: [u8; 10] = [0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 0x81, 0xff];

    /// Bit by bit, the slow and obvious way.
    fn naive(bits: &Bits, bytes: &[u8], start: usize) -> Option<u64> {
        let begin = start + bits.offset() as usize;
        let word = bytes.get(begin..begin + bits.bytes() as usize)?;
        let bit = |index: u32| {
            let byte = index as usize / 8;
            let byte = match bits.endian() {
                Endian::Big => word[word.len() - 1 - byte],
                Endian::Little => word[byte],
            };
            u64::from(byte >> (index % 8) & 1)
        };
        let all = 0..bits.width();
        Some(all.fold(0, |value, index| value | bit(bits.shift() + index) << index))
    }

    #[test]
    fn every_width_at_every_place_is_what_its_single_bits_say() {
        for endian in [Endian::Big, Endian::Little] {
            for bytes in 1..=Bits::BYTES_MAX {
                for offset in 0..3 {
                    let word = Bits::whole(offset, bytes, endian);
                    for shift in 0..bytes * 8 {
                        for width in 0..=64 {
                            let bits = word.part(shift, width);
                            for start in [0, 1, 2, 9] {
                                let found = bits.read_at(&BYTES, start);
                                assert_eq!(found, naive(&bits, &BYTES, start), "{bits:?}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_part_beyond_the_word_is_cut_and_places_beyond_the_end_have_no_value() {
        let bits = Bits::be16(0).part(12, 40);
        assert_eq!((bits.width(), bits.read(&BYTES)), (4, Some(1)));
        assert_eq!(Bits::byte(0).part(9, 1).read(&BYTES), Some(0));
        assert_eq!(Bits::be32(u32::MAX).read(&BYTES), None);
        assert_eq!(Bits::be32(1).read_at(&BYTES, usize::MAX), None);
        assert_eq!(Bits::be16(9).read(&BYTES), None);
    }
}
