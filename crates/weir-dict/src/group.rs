//! The index of a segment: groups of fifteen tags, each with the position of its entry.
//!
//! A group fills half a cache line: one comparison of sixteen bytes tells which lanes may hold a key,
//! and the positions stand beside the tags, so a hit costs one line of index and one entry. The
//! sixteenth tag byte counts the entries that wanted this group and found it full: a failed search
//! ends where that count is zero, and nothing needs tombstones.

/// Fifteen tags, a count, fifteen positions and a flag.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(32))]
pub(crate) struct Group {
    /// 0 is an empty lane; lane 15 counts the entries that passed this group because it was full.
    tags: [u8; 16],
    /// Positions in the segment's entries; byte 15 is 1 when the segment has entries elsewhere.
    positions: [u8; 16],
}

/// Lanes of a group that hold entries.
pub(crate) const LANES: usize = 15;
const LANE_MASK: u32 = (1 << LANES) - 1;

/// Where an entry stands in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    group: usize,
    lane: usize,
    /// The position of the entry.
    pub(crate) position: usize,
}

impl Group {
    /// A group without entries.
    pub(crate) const EMPTY: Self = Self {
        tags: [0; 16],
        positions: [0; 16],
    };

    /// The lanes whose tag is `tag`, one bit each.
    #[inline(always)]
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[allow(unsafe_code)]
    fn matching(&self, tag: u8) -> u32 {
        use core::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_load_si128, _mm_movemask_epi8, _mm_set1_epi8,
        };
        // SAFETY: every x86-64 processor has SSE2, and the sixteen bytes of `tags` are aligned to
        // 32 because the group is and they are its first field.
        let mask = unsafe {
            let tags = _mm_load_si128(self.tags.as_ptr().cast());
            _mm_movemask_epi8(_mm_cmpeq_epi8(tags, _mm_set1_epi8(tag.cast_signed())))
        };
        mask.cast_unsigned() & LANE_MASK
    }

    /// The lanes whose tag is `tag`, one bit each.
    #[inline(always)]
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    fn matching(&self, tag: u8) -> u32 {
        self.matching_plain(tag)
    }

    /// What [`Self::matching`] does with vector instructions.
    #[cfg(any(test, not(all(target_arch = "x86_64", not(miri)))))]
    fn matching_plain(&self, tag: u8) -> u32 {
        let mut mask = 0;
        for (lane, own) in self.tags.iter().enumerate() {
            mask |= u32::from(*own == tag) << lane;
        }
        mask & LANE_MASK
    }

    /// Entries that wanted this group and stand in a later one.
    #[inline(always)]
    const fn passed(&self) -> u8 {
        self.tags[LANES]
    }

    /// True when the segment has entries outside of this index.
    #[inline(always)]
    const fn is_over(&self) -> bool {
        self.positions[LANES] != 0
    }
}

/// The tag of a hash: never 0.
#[inline(always)]
pub(crate) const fn tag_of(hash: u64) -> u8 {
    let tag = hash as u8;
    // 255 tags; 0 shares with 1.
    tag + (tag == 0) as u8
}

/// The group in which a hash wants to be, of `groups`. It takes neither the bits of the tag nor those
/// that lead to the segment, so it is known before the segment is read.
#[inline(always)]
pub(crate) const fn home_of(hash: u64, groups: usize) -> usize {
    let fraction = (hash as u32) >> 8;
    // Below `groups`, because `fraction` is below 2^24.
    ((fraction as u64 * groups as u64) >> 24) as usize
}

/// Finds the entry with `tag` of which `is` says yes to its position. The flag tells, when there is
/// none, whether the segment has entries elsewhere.
#[inline(always)]
pub(crate) fn find(
    groups: &[Group],
    home: usize,
    tag: u8,
    mut is: impl FnMut(usize) -> bool,
) -> Result<Lane, bool> {
    let mut at = home;
    loop {
        let group = &groups[at];
        let mut lanes = group.matching(tag);
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            let position = usize::from(group.positions[lane & 15]);
            if is(position) {
                return Ok(Lane {
                    group: at,
                    lane,
                    position,
                });
            }
            lanes &= lanes - 1;
        }
        if group.passed() == 0 {
            return Err(group.is_over());
        }
        at = after(at, groups.len());
        if at == home {
            return Err(group.is_over());
        }
    }
}

/// The position of the first entry that a search for `tag` looks at, in its home group.
#[inline(always)]
pub(crate) fn first(groups: &[Group], home: usize, tag: u8) -> Option<usize> {
    let group = &groups[home];
    let lanes = group.matching(tag);
    let lane = lanes.trailing_zeros() as usize;
    (lanes != 0).then(|| usize::from(group.positions[lane & 15]))
}

/// Adds an entry. An index has more lanes than entries, so there is room.
#[inline]
pub(crate) fn insert(groups: &mut [Group], home: usize, tag: u8, position: usize) -> Lane {
    let count = groups.len();
    let mut at = home;
    loop {
        let group = &mut groups[at];
        let empty = group.matching(0);
        if empty != 0 {
            let lane = empty.trailing_zeros() as usize & 15;
            group.tags[lane] = tag;
            group.positions[lane] = position as u8;
            return Lane {
                group: at,
                lane,
                position,
            };
        }
        // At most 250 entries a segment: no overflow.
        group.tags[LANES] += 1;
        at = after(at, count);
    }
}

/// Takes an entry away.
#[inline]
pub(crate) fn remove(groups: &mut [Group], home: usize, lane: Lane) {
    let count = groups.len();
    groups[lane.group].tags[lane.lane] = 0;
    let mut at = home;
    while at != lane.group {
        groups[at].tags[LANES] -= 1;
        at = after(at, count);
    }
}

/// Notes that the entry at `lane` has moved to another position.
#[inline]
pub(crate) fn set_position(groups: &mut [Group], lane: Lane, position: usize) {
    groups[lane.group].positions[lane.lane] = position as u8;
}

/// As [`set_position`], without knowing the hash: reads the whole index.
pub(crate) fn move_position(groups: &mut [Group], from: usize, to: usize) {
    for group in groups {
        for lane in 0..LANES {
            if group.tags[lane] != 0 && usize::from(group.positions[lane]) == from {
                group.positions[lane] = to as u8;
                return;
            }
        }
    }
}

/// Forgets all entries; keeps the flag that says that there are others elsewhere.
pub(crate) fn clear(groups: &mut [Group]) {
    for group in groups {
        let is_over = group.is_over();
        *group = Group::EMPTY;
        group.positions[LANES] = u8::from(is_over);
    }
}

/// How many entries an index has.
pub(crate) fn count(groups: &[Group]) -> usize {
    let empty = |group: &Group| group.matching(0).count_ones() as usize;
    groups.iter().map(|group| LANES - empty(group)).sum()
}

/// True when the segment has entries elsewhere.
pub(crate) fn is_over(groups: &[Group]) -> bool {
    groups.first().is_some_and(Group::is_over)
}

/// Notes that the segment has entries elsewhere.
pub(crate) fn set_over(groups: &mut [Group]) {
    for group in groups {
        group.positions[LANES] = 1;
    }
}

#[inline(always)]
const fn after(at: usize, count: usize) -> usize {
    if at + 1 == count { 0 } else { at + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_and_plain_search_agree() {
        let mut state = 1_u64;
        for _ in 0..2_000 {
            let mut group = Group::EMPTY;
            for tag in &mut group.tags {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                *tag = (state >> 62) as u8;
            }
            for tag in 0..4 {
                assert_eq!(group.matching(tag), group.matching_plain(tag));
            }
        }
    }

    #[test]
    fn entries_beyond_a_full_group_are_found_and_leave_no_trace() {
        let mut groups = [Group::EMPTY; 3];
        for position in 0..40 {
            insert(&mut groups, 2, 7, position);
        }
        for position in (0..40).rev() {
            let lane = find(&groups, 2, 7, |own| own == position).expect("it was inserted");
            remove(&mut groups, 2, lane);
            assert!(find(&groups, 2, 7, |own| own == position).is_err());
        }
        for group in &groups {
            assert_eq!(group.tags, [0; 16]);
        }
    }

    #[test]
    fn homes_are_even_and_stay_below_the_count() {
        let mut counts = [0; 20];
        for step in 0..20_000_u64 {
            counts[home_of(step * ((1 << 32) / 20_000), 20)] += 1;
        }
        assert!(counts.iter().all(|count| (990..1_010).contains(count)));
        assert_eq!(home_of(u64::MAX, 20), 19);
    }
}
