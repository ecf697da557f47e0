//! The frames of the fragments of reassembled packets.

use std::collections::{HashMap, VecDeque};

/// The frames of fragments, by the frame that completed their packet; of the latest packets.
#[derive(Debug, Default)]
pub(crate) struct GatheredFrames {
    frames: HashMap<u64, Vec<u64>>,
    /// The frames that completed packets, in their order.
    order: VecDeque<u64>,
    /// Numbers that are kept.
    count: usize,
}

/// Numbers of frames that are kept, at most.
const NUMBERS_MAX: usize = 1 << 18;

impl GatheredFrames {
    /// Records that `frame` completed a packet whose fragments came in the frames `fragments`, with the frames of the fragments
    /// that carried these.
    pub(crate) fn take(&mut self, frame: u64, fragments: &[u64]) {
        let mut gathered = Vec::with_capacity(fragments.len());
        for fragment in fragments.iter().filter(|number| **number != frame) {
            gathered.extend_from_slice(self.of(*fragment));
            gathered.push(*fragment);
        }
        self.count = self.count.saturating_add(gathered.len());
        if let Some(known) = self.frames.get_mut(&frame) {
            known.append(&mut gathered);
        } else {
            self.frames.insert(frame, gathered);
            self.order.push_back(frame);
            self.count = self.count.saturating_add(1);
        }
        while self.count > NUMBERS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            let gone = self.frames.remove(&oldest).map_or(0, |gone| gone.len());
            self.count = self.count.saturating_sub(gone.saturating_add(1));
        }
    }

    /// The frames of the other fragments of the packet that `frame` completed.
    #[inline]
    pub(crate) fn of(&self, frame: u64) -> &[u64] {
        // Most captures have no fragments.
        if self.frames.is_empty() {
            return &[];
        }
        self.frames.get(&frame).map_or(&[], Vec::as_slice)
    }

    /// The frames of the other fragments of the packets that `last` and `others` completed, and `others` themselves.
    pub(crate) fn of_all<'g>(
        &'g self,
        last: u64,
        others: &[u64],
        all: &'g mut Vec<u64>,
    ) -> &'g [u64] {
        all.clear();
        all.extend_from_slice(self.of(last));
        for other in others {
            all.extend_from_slice(self.of(*other));
            all.push(*other);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_of_fragments_are_gathered() {
        let mut gathered = GatheredFrames::default();
        assert_eq!(gathered.of(3), [0_u64; 0]);
        gathered.take(3, &[1, 2, 3]);
        assert_eq!(gathered.of(3), [1, 2]);
        // The packet that frame 3 completes is itself a fragment, and so is what frame 5 carries.
        gathered.take(5, &[4, 5]);
        gathered.take(5, &[3, 5]);
        assert_eq!(gathered.of(5), [4, 1, 2, 3]);
        assert_eq!(
            gathered.of_all(5, &[7, 3], &mut Vec::new()),
            [4, 1, 2, 3, 7, 1, 2, 3]
        );
    }

    #[test]
    fn only_the_latest_are_kept() {
        let mut gathered = GatheredFrames::default();
        for last in (1..=NUMBERS_MAX as u64).map(|number| number * 4) {
            gathered.take(last, &[last - 3, last - 2, last - 1, last]);
        }
        assert!(gathered.count <= NUMBERS_MAX);
        assert_eq!(gathered.frames.len(), NUMBERS_MAX / 4);
        assert_eq!(gathered.frames.len(), gathered.order.len());
        assert_eq!(gathered.of(4), [0_u64; 0]);
        let last = NUMBERS_MAX as u64 * 4;
        assert_eq!(gathered.of(last), [last - 3, last - 2, last - 1]);
    }
}
