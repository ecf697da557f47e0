//! Numbers of any width, byte order and bit position, chosen when a layout is loaded so that reading
//! one is a bounds check, a load and a shift.

use weir_bytes::{Bits, Endian};

/// Reads one number at a byte offset.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Number {
    /// The bits, at offset 0; for a number of several parts, the word that contains them.
    bits: Bits,
    /// Several parts of the word, the most significant first, instead of the bits.
    parts: Option<Box<[BitRange]>>,
    /// Bits of the value.
    width: u32,
}

/// Some neighbouring bits of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BitRange {
    /// Bits of the word below the part.
    pub(super) shift: u32,
    /// Bits in the part, 1 to 64.
    pub(super) width: u32,
}

impl Number {
    /// A whole number of `bytes` bytes (1 to 8).
    pub(super) fn whole(bytes: u8, little: bool) -> Self {
        Self::of(Bits::whole(0, bytes.into(), endian(little)))
    }

    /// `width` bits (1 to 64) from bit `first` (0 to 7) of the first byte on. With `least_first`,
    /// bits are counted from the least significant of each byte and the first bit is the lowest of
    /// the value; otherwise from the most significant, the first being the highest.
    pub(super) fn bits(first: u32, width: u32, least_first: bool) -> Self {
        let bytes = (first + width).div_ceil(8);
        let shift = if least_first {
            first
        } else {
            bytes * 8 - first - width
        };
        Self::of(Bits::whole(0, bytes, endian(least_first)).part(shift, width))
    }

    fn of(bits: Bits) -> Self {
        Self {
            bits,
            parts: None,
            width: bits.width(),
        }
    }

    /// The number that `parts` of this number make when they are put side by side; `None` when this
    /// number is itself made of several parts, or the parts are together wider than 64 bits.
    pub(super) fn parts(&self, parts: &[BitRange]) -> Option<Self> {
        let width = parts.iter().map(|part| part.width).sum();
        if width > 64 || self.parts.is_some() {
            return None;
        }
        if let [part] = parts {
            return Some(Self::of(self.bits.part(part.shift, part.width)));
        }
        let shifted = |part: &BitRange| BitRange {
            shift: part.shift + self.bits.shift(),
            width: part.width,
        };
        Some(Self {
            bits: self.bits,
            parts: Some(parts.iter().map(shifted).collect()),
            width,
        })
    }

    /// Bits of the value.
    pub(super) fn width(&self) -> u32 {
        self.width
    }

    /// The same as bits at `start`; `None` when it is made of several parts.
    pub(super) fn bits_at(&self, start: u32) -> Option<Bits> {
        self.parts.is_none().then(|| self.bits.after(start))
    }

    /// The number at `at`; `None` when the bytes end before.
    #[inline]
    pub(super) fn read(&self, bytes: &[u8], at: usize) -> Option<u64> {
        match &self.parts {
            None => self.bits.read_at(bytes, at),
            Some(parts) => Some(join(self.bits.word_at(bytes, at)?, parts)),
        }
    }

    /// The number at `start` of a record of `len` bytes as bits of a big-endian word of eight bytes of the record;
    /// `None` when it is not of that form.
    pub(super) fn in_wide_word(&self, start: u32, len: u32) -> Option<Bits> {
        let bytes = self.bits.bytes();
        if bytes >= 8 || (bytes > 1 && self.bits.endian() == Endian::Little) {
            return None;
        }
        let at = start.min(len.checked_sub(8)?);
        let below = 8_u32.checked_sub(start - at + bytes)?.checked_mul(8)?;
        let shift = self.bits.shift().checked_add(below)?;
        let is_within = self.parts.is_none() && shift + self.width <= 64;
        is_within.then(|| Bits::whole(at, 8, Endian::Big).part(shift, self.width))
    }

    /// The number at `at` read as two's complement of the value's width.
    #[inline]
    pub(super) fn read_signed(&self, bytes: &[u8], at: usize) -> Option<i64> {
        let unused = 64_u32.saturating_sub(self.width) & 63;
        self.read(bytes, at)
            .map(|value| (value << unused).cast_signed() >> unused)
    }
}

const fn endian(little: bool) -> Endian {
    if little { Endian::Little } else { Endian::Big }
}

/// The lowest `width` bits.
pub(super) use weir_bytes::mask;

fn join(word: u128, parts: &[BitRange]) -> u64 {
    let all = parts.iter().fold(0_u128, |value, part| {
        value << part.width | word >> part.shift & u128::from(mask(part.width))
    });
    (all & u128::from(u64::MAX)) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BYTES: [u8; 10] = [0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 0x81, 0xff];

    #[test]
    fn whole_numbers() {
        for (bytes, little, expected) in [
            (1, false, 0x34),
            (2, false, 0x3456),
            (2, true, 0x5634),
            (3, false, 0x34_5678),
            (3, true, 0x78_5634),
            (4, true, 0x9a78_5634),
            (5, false, 0x34_5678_9abc),
            (6, true, 0xdebc_9a78_5634),
            (7, false, 0x34_5678_9abc_def0),
            (8, false, 0x3456_789a_bcde_f081),
            (8, true, 0x81f0_debc_9a78_5634),
        ] {
            let number = Number::whole(bytes, little);
            assert_eq!(number.read(&BYTES, 1), Some(expected), "{bytes} {little}");
            assert_eq!(number.read(&BYTES[..usize::from(bytes)], 1), None);
            assert_eq!(number.read(&BYTES, usize::MAX), None);
        }
        assert_eq!(
            Number::whole(3, false).read_signed(&BYTES, 7),
            Some(-0x0f_7e01)
        );
        assert_eq!(Number::whole(8, true).read_signed(&[0xff; 8], 0), Some(-1));
    }

    #[test]
    fn split_fields_join() {
        // The DLCI of a two-byte Q.922 address: bits 15-10 and 7-4, here of DLCI 1007.
        let address = [0xf8, 0xf1];
        let parts = [
            BitRange {
                shift: 10,
                width: 6,
            },
            BitRange { shift: 4, width: 4 },
        ];
        let dlci = Number::whole(2, false).parts(&parts).unwrap();
        assert_eq!((dlci.read(&address, 0), dlci.width()), (Some(0x3ef), 10));
        assert_eq!(
            dlci.parts(&parts[..1]),
            None,
            "parts of parts are not followed"
        );
        assert_eq!(
            Number::whole(8, true).parts(
                &[BitRange {
                    shift: 0,
                    width: 40
                }; 2]
            ),
            None
        );
    }

    proptest! {
        #[test]
        fn bits_agree_with_a_reader_that_goes_bit_by_bit(
            bytes in prop::collection::vec(any::<u8>(), 0..12),
            at in 0_usize..4,
            first in 0_u32..8,
            width in 1_u32..=64,
            least_first: bool,
        ) {
            let mut expected = Some(0_u64);
            for index in 0..width {
                let bit = first + index;
                let byte = bytes.get(at + bit as usize / 8).copied();
                expected = expected.zip(byte).map(|(value, byte)| if least_first {
                    value | u64::from(byte >> (bit % 8) & 1) << index
                } else {
                    value << 1 | u64::from(byte >> (7 - bit % 8) & 1)
                });
            }
            let number = Number::bits(first, width, least_first);
            prop_assert_eq!(number.read(&bytes, at), expected);
            let signed = expected.map(|value| {
                let value = i128::from(value);
                let negative = value >> (width - 1) & 1 == 1;
                (if negative { value - (1_i128 << width) } else { value }) as i64
            });
            prop_assert_eq!(number.read_signed(&bytes, at), signed);
        }
    }
}
