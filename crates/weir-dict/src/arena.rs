//! Byte strings, each stored once, without an allocation each.
//!
//! Strings are rounded up to sixteen bytes and cut from the end of the last page. A freed place goes on a list for its
//! size, whose links lie in the freed bytes themselves. Strings above a kilobyte have a page of their own.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::error::AllocError;

/// Bytes of a page of many strings, at most. Pages begin small and double.
const PAGE_MAX: usize = 16 << 10;
const PAGE_MIN: usize = 64;
/// Longer strings have pages of their own.
const SHARED_MAX: usize = 1 << 10;
const UNIT: usize = 16;

/// The position of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    page: u32,
    offset: u32,
    len: u32,
}

/// An arena of byte strings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Arena {
    pages: Vec<Box<[u8]>>,
    /// The page from which strings are cut, if there is one, and how much of it is used.
    open: Option<u32>,
    used: usize,
    /// The first free place of each size, in units.
    free: Vec<Option<(u32, u32)>>,
    /// The numbers of pages whose long strings have been removed.
    spare: Vec<u32>,
    bytes: usize,
}

impl Arena {
    pub(crate) const fn new() -> Self {
        Self {
            pages: Vec::new(),
            open: None,
            used: 0,
            free: Vec::new(),
            spare: Vec::new(),
            bytes: 0,
        }
    }

    pub(crate) fn allocated_bytes(&self) -> usize {
        self.bytes
            + self.pages.capacity() * size_of::<Box<[u8]>>()
            + self.free.capacity() * size_of::<Option<(u32, u32)>>()
            + self.spare.capacity() * size_of::<u32>()
    }

    #[inline(always)]
    pub(crate) fn get(&self, span: Span) -> &[u8] {
        let start = span.offset as usize;
        let page = self.pages.get(span.page as usize);
        page.and_then(|page| page.get(start..start + span.len as usize))
            .unwrap_or_default()
    }

    /// Stores a string.
    pub(crate) fn push(&mut self, string: &[u8]) -> Result<Span, AllocError> {
        let refused = || AllocError::array::<u8>(string.len());
        let len = u32::try_from(string.len()).map_err(|_| refused())?;
        let units = string.len().div_ceil(UNIT);
        if string.is_empty() {
            return Ok(Span {
                page: 0,
                offset: 0,
                len,
            });
        }
        let (page, offset) = if string.len() > SHARED_MAX {
            (self.add_page(string.len())?, 0)
        } else if let Some(Some(place)) = self.free.get(units).copied() {
            let link = self.get(Span {
                page: place.0,
                offset: place.1,
                len: 9,
            });
            let next = link.first_chunk::<9>().filter(|link| link[8] != 0);
            self.free[units] = next.map(|link| {
                let [a, b, c, d, e, f, g, h, _] = *link;
                (
                    u32::from_le_bytes([a, b, c, d]),
                    u32::from_le_bytes([e, f, g, h]),
                )
            });
            place
        } else {
            let open = self.open.and_then(|open| self.pages.get(open as usize));
            let open_len = open.map_or(0, |page| page.len());
            let page = match self.open {
                Some(open) if self.used + units * UNIT <= open_len => open,
                _ => {
                    let len = (2 * open_len).clamp(PAGE_MIN, PAGE_MAX).max(units * UNIT);
                    let page = self.add_page(len)?;
                    self.open = Some(page);
                    self.used = 0;
                    page
                }
            };
            let offset = self.used;
            self.used += units * UNIT;
            (page, offset as u32)
        };
        let start = offset as usize;
        if let Some(page) = self.pages.get_mut(page as usize) {
            page[start..start + string.len()].copy_from_slice(string);
        }
        Ok(Span { page, offset, len })
    }

    fn add_page(&mut self, len: usize) -> Result<u32, AllocError> {
        let mut page = Vec::new();
        reserve(&mut page, len)?;
        page.resize(len, 0);
        let page = page.into_boxed_slice();
        let number = if let Some(number) = self.spare.pop() {
            self.pages[number as usize] = page;
            number
        } else {
            let failed = AllocError::array::<Box<[u8]>>(self.pages.len() + 1);
            let number = u32::try_from(self.pages.len()).map_err(|_| failed)?;
            self.pages.try_reserve(1).map_err(|_| failed)?;
            self.pages.push(page);
            number
        };
        self.bytes += len;
        Ok(number)
    }

    /// Removes a string. If the list of free places cannot grow, its place is lost until everything is cleared.
    pub(crate) fn remove(&mut self, span: Span) {
        let len = span.len as usize;
        let units = len.div_ceil(UNIT);
        if units == 0 {
            return;
        }
        if len > SHARED_MAX {
            if self.spare.try_reserve(1).is_ok() {
                self.pages[span.page as usize] = Box::default();
                self.spare.push(span.page);
                self.bytes -= len;
            }
            return;
        }
        if self.free.len() <= units {
            let more = units + 1 - self.free.len();
            if reserve(&mut self.free, more).is_err() {
                return;
            }
            self.free.resize(units + 1, None);
        }
        let mut link = [0; 9];
        if let Some((page, offset)) = self.free[units] {
            link[..4].copy_from_slice(&page.to_le_bytes());
            link[4..8].copy_from_slice(&offset.to_le_bytes());
            link[8] = 1;
        }
        let start = span.offset as usize;
        self.pages[span.page as usize][start..start + 9].copy_from_slice(&link);
        self.free[units] = Some((span.page, span.offset));
    }

    /// Removes all strings.
    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }
}

/// Reserves room for exactly `more` values more.
fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<(), AllocError> {
    values
        .try_reserve_exact(more)
        .map_err(|_| AllocError::array::<T>(values.len().saturating_add(more)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_string_that_comes_first_is_not_overwritten_by_short_ones() {
        let mut arena = Arena::new();
        let long = arena.push(&[1; 2_000]).expect("there is memory");
        let short = arena.push(&[2; 20]).expect("there is memory");
        assert_eq!(arena.get(long), [1; 2_000]);
        assert_eq!(arena.get(short), [2; 20]);
    }

    #[test]
    fn strings_of_all_lengths_come_back_and_their_places_are_used_again() {
        let mut arena = Arena::new();
        let string = |seed: usize, len: usize| -> Vec<u8> {
            (0..len).map(|at| (at * 7 + seed) as u8).collect()
        };
        // Under Miri a test takes a thousand times as long.
        let (short, long) = if cfg!(miri) {
            (20, 1_500)
        } else {
            (100, 40_000)
        };
        let lens: Vec<usize> = (0..short).chain([1_000, 1_024, 1_025, long]).collect();
        let mut after_first = 0;
        for round in 0..4 {
            let spans: Vec<Span> = lens
                .iter()
                .map(|len| arena.push(&string(round, *len)).expect("there is memory"))
                .collect();
            for (span, len) in spans.iter().zip(&lens) {
                assert_eq!(arena.get(*span), string(round, *len));
            }
            if round == 0 {
                after_first = arena.bytes;
            }
            assert_eq!(arena.bytes, after_first);
            for span in spans {
                arena.remove(span);
            }
        }
    }
}
