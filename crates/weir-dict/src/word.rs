//! The lowest four bits of a table's word, and the tags of a block's entries.
//!
//! | bits | what the word leads to |
//! |---|---|
//! | 0 | nothing |
//! | 1, 2 | a block of so many entries |
//! | 3, 4 | a block with room for four, with so many entries |
//! | 5 to 8 | a block with room for eight, with so many entries |
//! | 9, 10 | a single segment, a large table |
//! | 11, 12 | a block with room for four, with one and with two entries |
//! | 13 | a block with room for two, with one entry |
//! | 14, 15 | a block with room for eight, with four and with three entries |
//!
//! The last ones are what removals leave, so that a table that alternately gains and loses an entry is not moved each
//! time.
//!
//! A block with room for more than one begins with a tag for each entry, as a segment has them; a single key is
//! compared without being hashed. (Two are distinguished by their tags because the processor cannot predict which of
//! them it is: hits take 6 ns instead of 10.)

/// The word of a single segment.
pub(crate) const SINGLE: usize = 9;
/// The word of a large table.
pub(crate) const LARGE: usize = 10;
/// Entries of a block, at most.
pub(crate) const SMALL_MAX: usize = 8;

/// A number below 16 for each of 16 kinds of words.
#[derive(Clone, Copy)]
struct Nibbles(u64);

impl Nibbles {
    const fn new(numbers: [u8; 16]) -> Self {
        let mut nibbles = 0;
        let mut kind = 0;
        while kind < numbers.len() {
            nibbles |= (numbers[kind] as u64) << (4 * kind);
            kind += 1;
        }
        Self(nibbles)
    }

    #[inline(always)]
    const fn get(self, kind: usize) -> usize {
        (self.0 >> (4 * (kind & 15))) as usize & 15
    }
}

const LEN: Nibbles = Nibbles::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 1, 2, 1, 4, 3]);
const ROOM: Nibbles = Nibbles::new([0, 1, 2, 4, 4, 8, 8, 8, 8, 0, 0, 4, 4, 2, 8, 8]);
const PUSHED: Nibbles = Nibbles::new([0, 0, 0, 4, 0, 6, 7, 8, 0, 0, 0, 12, 3, 2, 5, 14]);
const POPPED: Nibbles = Nibbles::new([0, 0, 13, 12, 3, 14, 5, 6, 7, 0, 0, 0, 11, 0, 15, 0]);

/// The number of entries of a block of this kind.
#[inline(always)]
pub(crate) const fn len(kind: usize) -> usize {
    LEN.get(kind)
}

/// The number of entries for which a block of this kind has room.
#[inline(always)]
pub(crate) const fn room(kind: usize) -> usize {
    ROOM.get(kind)
}

/// The kind with one entry more in the same block; `None` where there is no room.
#[inline(always)]
pub(crate) const fn pushed(kind: usize) -> Option<usize> {
    match PUSHED.get(kind) {
        0 => None,
        pushed => Some(pushed),
    }
}

/// The kind with one entry less in the same block; `None` where the others move into a block of their size.
#[inline(always)]
pub(crate) const fn popped(kind: usize) -> Option<usize> {
    match POPPED.get(kind) {
        0 => None,
        popped => Some(popped),
    }
}

/// Returns whether a block with room for `room` has tags.
#[inline(always)]
pub(crate) const fn has_tags(room: usize) -> bool {
    room > 1
}

/// Returns whether entries of this kind of word are searched by hashes: all are but those of blocks without tags.
#[inline(always)]
pub(crate) const fn is_hashed(kind: usize) -> bool {
    kind > 1
}

const _: () = {
    let mut kind = 0;
    while kind < 16 {
        let is_segment = kind == SINGLE || kind == LARGE;
        assert!(is_hashed(kind) == (is_segment || has_tags(ROOM.get(kind))));
        kind += 1;
    }
};

/// A tag for each entry of a block, none of which is 0, in their order; 0 where there is no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tags(pub(crate) u64);

impl Tags {
    pub(crate) const NONE: Self = Self(0);

    /// Adds the tag of one more entry.
    #[inline(always)]
    pub(crate) const fn push(&mut self, len: usize, tag: u8) {
        debug_assert!(len < SMALL_MAX);
        self.0 |= (tag as u64) << (8 * len);
    }

    /// Removes a tag. The last of `len` tags takes its place.
    #[inline(always)]
    pub(crate) const fn swap_remove(&mut self, at: usize, len: usize) {
        debug_assert!(at < len && len <= SMALL_MAX);
        let shift = 8 * (len - 1);
        let last = self.0 >> shift;
        self.0 = self.0 & !(0xff << (8 * at)) | last << (8 * at);
        // The place of the last tag is cleared.
        self.0 &= !(u64::MAX << shift);
    }

    /// The tag of each entry, and 0 where there is no entry.
    pub(crate) const fn all(self) -> [u8; SMALL_MAX] {
        self.0.to_le_bytes()
    }

    /// The places of the entries with this tag, which is not 0, in ascending order.
    #[inline(always)]
    pub(crate) const fn matching(self, tag: u8) -> Places {
        debug_assert!(tag != 0);
        const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        let differ = self.0 ^ (tag as u64 * 0x0101_0101_0101_0101);
        // The highest bit of each octet that does not differ is set; no octet carries into the next.
        Places(!(((differ & LOW) + LOW) | differ | LOW))
    }
}

/// Places in a block.
pub(crate) struct Places(u64);

impl Iterator for Places {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let at = (self.0 != 0).then_some(self.0.trailing_zeros() as usize / 8)?;
        self.0 &= self.0 - 1;
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const BLOCKS: [usize; 13] = [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 15];

    #[test]
    fn no_block_is_full_beyond_its_room_or_less_than_a_quarter_full() {
        for kind in BLOCKS {
            assert!((1..=room(kind)).contains(&len(kind)), "{kind}");
            assert!(4 * len(kind) >= room(kind), "{kind}");
        }
        assert_eq!([0, SINGLE, LARGE].map(len), [0; 3]);
    }

    #[test]
    fn one_entry_more_or_less_stays_in_the_same_room_or_leaves_it() {
        for kind in BLOCKS {
            match pushed(kind) {
                Some(more) => assert_eq!((len(more), room(more)), (len(kind) + 1, room(kind))),
                None => {
                    assert_eq!(len(kind), room(kind));
                    // The kind of a full block is its room.
                    assert_eq!(room(kind), kind);
                }
            }
            match popped(kind) {
                Some(less) => assert_eq!((len(less), room(less)), (len(kind) - 1, room(kind))),
                // The remaining entries fill a block, or there are none.
                None => assert_eq!(room(len(kind) - 1), len(kind) - 1),
            }
        }
    }

    #[test]
    fn what_has_two_entries_or_room_for_them_is_hashed() {
        for kind in BLOCKS {
            assert_eq!(is_hashed(kind), kind != 1);
        }
        assert!(is_hashed(SINGLE) && is_hashed(LARGE) && !is_hashed(0));
    }

    #[test]
    fn tags_are_found_where_a_list_has_them() {
        let mut state = 1_u64;
        let mut next = |bound: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % bound
        };
        let (mut tags, mut list) = (Tags::NONE, Vec::new());
        for _ in 0..20_000 {
            // Few tags, and those whose bits carry and borrow.
            let tag = [1, 2, 0x7f, 0x80, 0x81, 0xff][next(6) as usize];
            if list.len() < SMALL_MAX && next(2) == 0 {
                tags.push(list.len(), tag);
                list.push(tag);
            } else if !list.is_empty() {
                let at = next(list.len() as u64) as usize;
                tags.swap_remove(at, list.len());
                list.swap_remove(at);
            }
            let mut all = list.clone();
            all.resize(SMALL_MAX, 0);
            assert_eq!(tags.all(), all[..]);
            let places: Vec<usize> = tags.matching(tag).collect();
            let naive = list.iter().enumerate().filter(|(_, own)| **own == tag);
            assert!(naive.map(|(at, _)| at).eq(places), "{list:?} {tag}");
        }
    }
}
