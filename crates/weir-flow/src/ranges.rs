//! A few ranges of sequence numbers: what was not seen of a stream, or not captured.

use crate::segment::beyond;

/// The outcome of a removal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Removed {
    /// Some of them were in a range.
    pub(crate) any: bool,
    /// The rest of a range that was split, where there was no more room for it.
    pub(crate) lost: Option<(u32, u32)>,
}

/// Ranges of sequence numbers, in order and apart from each other. Few are kept, as each is given up when
/// what is in it is acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ranges {
    /// The first `count` count.
    at: [(u32, u32); Self::MAX],
    count: u8,
}

impl Ranges {
    /// Most of them at one time.
    pub(crate) const MAX: usize = 4;

    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(crate) const fn clear(&mut self) {
        self.count = 0;
    }

    pub(crate) fn as_slice(&self) -> &[(u32, u32)] {
        self.at.get(..usize::from(self.count)).unwrap_or_default()
    }

    /// Adds the numbers from `from` to `to`, none of which is in a range. Gives the oldest range where it had
    /// to be forgotten, as there were too many.
    pub(crate) fn add(&mut self, from: u32, to: u32) -> Option<(u32, u32)> {
        let place = self
            .as_slice()
            .iter()
            .rposition(|(start, _)| beyond(from, *start) >= 0)
            .map_or(0, |before| before + 1);
        // A range that begins where another one ends continues it.
        if let Some(before) = place.checked_sub(1).and_then(|at| self.at.get_mut(at))
            && before.1 == from
        {
            before.1 = to;
            return None;
        }
        if usize::from(self.count) < Self::MAX {
            self.insert(place, (from, to));
            return None;
        }
        if place == 0 {
            return Some((from, to));
        }
        let oldest = self.as_slice().first().copied();
        self.remove_at(0);
        self.insert(place - 1, (from, to));
        oldest
    }

    /// The number of elements of `from` to `to` that are in a range.
    pub(crate) fn count_within(&self, from: u32, to: u32) -> u32 {
        let within = self.as_slice().iter().map(|&(start, end)| {
            let start = if beyond(from, start) > 0 { from } else { start };
            let end = if beyond(end, to) > 0 { to } else { end };
            u32::try_from(beyond(end, start)).unwrap_or(0)
        });
        within.fold(0, u32::saturating_add)
    }

    /// Removes the numbers from `from` to `to`.
    pub(crate) fn remove(&mut self, from: u32, to: u32) -> Removed {
        let mut removed = Removed::default();
        let mut index = 0;
        while index < usize::from(self.count) {
            let Some(range) = self.at.get_mut(index) else {
                break;
            };
            let (start, end) = *range;
            if beyond(to, start) <= 0 || beyond(end, from) <= 0 {
                index += 1;
                continue;
            }
            removed.any = true;
            let before = beyond(from, start) > 0;
            let after = beyond(end, to) > 0;
            match (before, after) {
                (false, false) => {
                    self.remove_at(index);
                    continue;
                }
                (true, false) => range.1 = from,
                (false, true) => range.0 = to,
                (true, true) => {
                    range.1 = from;
                    let has_room = self.insert(index + 1, (to, end));
                    removed.lost = (!has_room).then_some((to, end));
                }
            }
            index += 1;
        }
        removed
    }

    /// Removes the first range below `to`, or its part below, and returns it.
    pub(crate) fn give_up(&mut self, to: u32) -> Option<(u32, u32)> {
        let (start, end) = self.as_slice().first().copied()?;
        if beyond(to, start) <= 0 {
            return None;
        }
        if beyond(end, to) > 0 {
            if let Some(first) = self.at.first_mut() {
                first.0 = to;
            }
            return Some((start, to));
        }
        self.remove_at(0);
        Some((start, end))
    }

    /// False where all places are taken.
    fn insert(&mut self, at: usize, range: (u32, u32)) -> bool {
        let count = usize::from(self.count);
        let Some(places) = self.at.get_mut(at..=count) else {
            return false;
        };
        places.rotate_right(1);
        if let Some(first) = places.first_mut() {
            *first = range;
        }
        self.count += 1;
        true
    }

    fn remove_at(&mut self, at: usize) {
        if let Some(places) = self.at.get_mut(at..usize::from(self.count)) {
            places.rotate_left(1);
            self.count -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_what_a_set_of_numbers_is() {
        let mut random = weir_testkit::Rng::new(11);
        for _ in 0..2_000 {
            let base = random.next_u32();
            let mut ranges = Ranges::default();
            let mut naive = [false; 64];
            for _ in 0..20 {
                let from = random.below(60) as u32;
                let to = from + 1 + random.below(4) as u32;
                let (start, end) = (base.wrapping_add(from), base.wrapping_add(to));
                let part = from as usize..to as usize;
                let within = naive[part.clone()].iter().filter(|is_in| **is_in).count();
                assert_eq!(ranges.count_within(start, end), within as u32);
                match random.below(4) {
                    0 => {
                        let any = naive[part.clone()].iter().any(|in_it| *in_it);
                        let removed = ranges.remove(start, end);
                        assert_eq!(removed.any, any);
                        naive[part].fill(false);
                        // A range that is split when all places are taken gives its end away.
                        if let Some((start, end)) = removed.lost {
                            assert_eq!(ranges.as_slice().len(), Ranges::MAX);
                            for number in start.wrapping_sub(base)..end.wrapping_sub(base) {
                                assert!(std::mem::take(&mut naive[number as usize]));
                            }
                        }
                    }
                    1 => {
                        while let Some((start, end)) = ranges.give_up(base.wrapping_add(from)) {
                            let part = start.wrapping_sub(base)..end.wrapping_sub(base);
                            for number in part {
                                assert!(std::mem::take(&mut naive[number as usize]));
                            }
                        }
                        assert!(!naive[..from as usize].contains(&true));
                    }
                    _ if naive[part.clone()].contains(&true)
                        || ranges.as_slice().len() == Ranges::MAX => {}
                    _ => {
                        assert_eq!(ranges.add(start, end), None);
                        naive[part].fill(true);
                    }
                }
                let mut kept = [false; 64];
                for (start, end) in ranges.as_slice() {
                    for number in start.wrapping_sub(base)..end.wrapping_sub(base) {
                        kept[number as usize] = true;
                    }
                }
                assert_eq!(kept, naive);
            }
        }
    }

    #[test]
    fn the_oldest_range_is_given_back_where_there_are_too_many() {
        let mut ranges = Ranges::default();
        for at in 0..4 {
            assert_eq!(ranges.add(at * 10, at * 10 + 5), None);
        }
        assert_eq!(ranges.add(35, 38), None, "it carries the last one on");
        assert_eq!(ranges.add(50, 52), Some((0, 5)));
        assert_eq!(ranges.add(1, 2), Some((1, 2)), "it is the oldest itself");
        assert_eq!(ranges.as_slice(), [(10, 15), (20, 25), (30, 38), (50, 52)]);
    }
}
