//! How do I read a number or a field out of bytes that I do not trust?
//!
//! Three ways, all bounded and free of panics and allocation:
//!
//! - [`Reader`] walks forward through a slice and returns the missing length when the slice ends
//!   ([`Short`]);
//! - [`u8_at`], [`u16_be_at`] and their like look at a fixed offset and give `None` beyond the end;
//! - [`Bits`] is the place of a number as data, for code that reads, compares or compiles fields.
//!
//! ```
//! use weir_bytes::{Endian, Reader, u16_be_at};
//!
//! let bytes = [0x08, 0x00, 0x45, 0x01];
//! assert_eq!(u16_be_at(&bytes, 0), Some(0x0800));
//! let mut reader = Reader::new(&bytes);
//! assert_eq!(reader.u16(Endian::Big), Ok(0x0800));
//! assert_eq!(reader.u8(), Ok(0x45));
//! let short = reader.u32(Endian::Big).unwrap_err();
//! assert_eq!((short.offset, short.needed, short.available), (3, 4, 1));
//! ```
//!
//! This crate deliberately knows nothing about files, packets, protocols or text encodings, and
//! depends on nothing.
#![no_std]

mod bits;

use core::fmt;

pub use bits::{Bits, mask};

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endian {
    /// Most significant byte first, as on the network.
    Big,
    /// Least significant byte first.
    Little,
}

/// A read went past the end of the slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Short {
    /// Offset in bytes from the start of the slice at which the read began.
    pub offset: usize,
    /// Bytes that the read needed.
    pub needed: usize,
    /// Bytes that were left.
    pub available: usize,
}

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} bytes needed at offset {}, {} available",
            self.needed, self.offset, self.available
        )
    }
}

impl core::error::Error for Short {}

/// Reads forward through a slice. Every method costs a bounds check and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// Starts at the first byte of `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// Bytes read so far.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// The bytes not read yet.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.offset..).unwrap_or_default()
    }

    /// The number of bytes left.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.offset)
    }

    /// Returns true when no byte is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// The next `count` bytes.
    ///
    /// # Errors
    /// [`Short`] when fewer are left; the reader then stays where it was.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Short> {
        let taken = self.rest().get(..count).ok_or(self.short(count))?;
        self.offset = self.offset.saturating_add(count);
        Ok(taken)
    }

    /// Passes over `count` bytes.
    ///
    /// # Errors
    /// [`Short`] when fewer are left; the reader then stays where it was.
    #[inline]
    pub fn skip(&mut self, count: usize) -> Result<(), Short> {
        self.take(count).map(|_| ())
    }

    /// The next `N` bytes as an array.
    ///
    /// # Errors
    /// [`Short`] when fewer are left.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Short> {
        let array = *self.rest().first_chunk::<N>().ok_or(self.short(N))?;
        self.offset = self.offset.saturating_add(N);
        Ok(array)
    }

    /// The next byte.
    ///
    /// # Errors
    /// [`Short`] at the end.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, Short> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// The next two bytes as a number.
    ///
    /// # Errors
    /// [`Short`] when fewer are left.
    #[inline]
    pub fn u16(&mut self, endian: Endian) -> Result<u16, Short> {
        self.array().map(|array| match endian {
            Endian::Big => u16::from_be_bytes(array),
            Endian::Little => u16::from_le_bytes(array),
        })
    }

    /// The next four bytes as a number.
    ///
    /// # Errors
    /// [`Short`] when fewer are left.
    #[inline]
    pub fn u32(&mut self, endian: Endian) -> Result<u32, Short> {
        self.array().map(|array| match endian {
            Endian::Big => u32::from_be_bytes(array),
            Endian::Little => u32::from_le_bytes(array),
        })
    }

    /// The next eight bytes as a number.
    ///
    /// # Errors
    /// [`Short`] when fewer are left.
    #[inline]
    pub fn u64(&mut self, endian: Endian) -> Result<u64, Short> {
        self.array().map(|array| match endian {
            Endian::Big => u64::from_be_bytes(array),
            Endian::Little => u64::from_le_bytes(array),
        })
    }

    fn short(&self, needed: usize) -> Short {
        Short {
            offset: self.offset,
            needed,
            available: self.remaining(),
        }
    }
}

/// The `N` bytes at `offset`, or `None` when the slice ends before.
#[inline]
#[must_use]
pub fn array_at<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..)?.first_chunk::<N>().copied()
}

/// The byte at `offset`.
#[inline]
#[must_use]
pub fn u8_at(bytes: &[u8], offset: usize) -> Option<u8> {
    bytes.get(offset).copied()
}

/// The big-endian 16-bit number at `offset`.
#[inline]
#[must_use]
pub fn u16_be_at(bytes: &[u8], offset: usize) -> Option<u16> {
    array_at(bytes, offset).map(u16::from_be_bytes)
}

/// The big-endian 24-bit number at `offset`.
#[inline]
#[must_use]
pub fn u24_be_at(bytes: &[u8], offset: usize) -> Option<u32> {
    array_at(bytes, offset).map(|[a, b, c]| u32::from_be_bytes([0, a, b, c]))
}

/// The big-endian 32-bit number at `offset`.
#[inline]
#[must_use]
pub fn u32_be_at(bytes: &[u8], offset: usize) -> Option<u32> {
    array_at(bytes, offset).map(u32::from_be_bytes)
}

/// The big-endian 64-bit number at `offset`.
#[inline]
#[must_use]
pub fn u64_be_at(bytes: &[u8], offset: usize) -> Option<u64> {
    array_at(bytes, offset).map(u64::from_be_bytes)
}

/// The little-endian 16-bit number at `offset`.
#[inline]
#[must_use]
pub fn u16_le_at(bytes: &[u8], offset: usize) -> Option<u16> {
    array_at(bytes, offset).map(u16::from_le_bytes)
}

/// The little-endian 32-bit number at `offset`.
#[inline]
#[must_use]
pub fn u32_le_at(bytes: &[u8], offset: usize) -> Option<u32> {
    array_at(bytes, offset).map(u32::from_le_bytes)
}

/// The little-endian 64-bit number at `offset`.
#[inline]
#[must_use]
pub fn u64_le_at(bytes: &[u8], offset: usize) -> Option<u64> {
    array_at(bytes, offset).map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_stays_where_it_was_when_a_read_fails() {
        let mut reader = Reader::new(&[1, 2, 3]);
        assert_eq!(reader.u16(Endian::Little), Ok(0x0201));
        assert!(reader.u16(Endian::Big).is_err());
        assert_eq!(reader.offset(), 2);
        assert_eq!(reader.take(1), Ok(&[3][..]));
        assert!(reader.is_empty());
    }

    #[test]
    fn a_look_beyond_the_end_gives_none_even_at_the_largest_offset() {
        assert_eq!(u8_at(&[1], usize::MAX), None);
        assert_eq!(u16_be_at(&[1], 0), None);
        assert_eq!(u32_le_at(&[1, 0, 0, 0], 0), Some(1));
        assert_eq!(u24_be_at(&[0, 1, 2, 3], 1), Some(0x010203));
        assert_eq!(array_at::<4>(&[0; 8], usize::MAX - 1), None);
    }
}
