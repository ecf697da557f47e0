//! Queues of calls by the time of their last messages, as doubly linked lists over the slots of the calls.

/// The reason for which a call is kept, which also determines for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitReason {
    /// The call waits for an answer.
    Setup,
    /// The call waits for its end.
    Talk,
    /// The call waits for repeated messages after its end.
    Linger,
    /// The call waits for another attempt of a caller that was challenged or redirected, or for more of a call that may continue.
    Retry,
}

impl WaitReason {
    /// The number of kinds.
    const COUNT: usize = 4;
    /// All kinds, in the order in which calls are evicted when there are too many.
    pub(super) const ALL: [Self; Self::COUNT] =
        [Self::Linger, Self::Retry, Self::Setup, Self::Talk];
}

#[derive(Clone, Copy, Debug)]
struct Link {
    previous: u32,
    next: u32,
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
    len: usize,
}

/// A list for each [`WaitReason`], with the calls that were silent for the longest time first. Every operation
/// takes constant time.
#[derive(Clone, Debug)]
pub(super) struct Queues {
    links: Vec<Link>,
    ends: [Ends; WaitReason::COUNT],
}

impl Default for Queues {
    fn default() -> Self {
        Self {
            links: Vec::new(),
            ends: [Ends {
                first: NONE,
                last: NONE,
                len: 0,
            }; WaitReason::COUNT],
        }
    }
}

impl Queues {
    /// The slot of the call that was silent for the longest time.
    pub(super) fn first(&self, wait: WaitReason) -> Option<u32> {
        self.ends
            .get(wait as usize)
            .map(|ends| ends.first)
            .filter(|slot| *slot != NONE)
    }

    /// The number of slots in the list of this kind.
    pub(super) fn len(&self, wait: WaitReason) -> usize {
        self.ends.get(wait as usize).map_or(0, |ends| ends.len)
    }

    /// Puts a slot that is in no list at the end of one.
    pub(super) fn push(&mut self, wait: WaitReason, slot: u32) {
        let Some(ends) = self.ends.get_mut(wait as usize) else {
            return;
        };
        let link = Link {
            previous: ends.last,
            next: NONE,
        };
        let index = slot as usize;
        if self.links.len() <= index {
            self.links.resize(index.saturating_add(1), link);
        }
        if let Some(place) = self.links.get_mut(index) {
            *place = link;
        }
        match self.links.get_mut(ends.last as usize) {
            Some(last) => last.next = slot,
            None => ends.first = slot,
        }
        ends.last = slot;
        ends.len = ends.len.saturating_add(1);
    }

    /// Removes a slot from its list.
    pub(super) fn remove(&mut self, wait: WaitReason, slot: u32) {
        let Some(link) = self.links.get(slot as usize).copied() else {
            return;
        };
        let Some(ends) = self.ends.get_mut(wait as usize) else {
            return;
        };
        match self.links.get_mut(link.previous as usize) {
            Some(previous) => previous.next = link.next,
            None => ends.first = link.next,
        }
        match self.links.get_mut(link.next as usize) {
            Some(next) => next.previous = link.previous,
            None => ends.last = link.previous,
        }
        ends.len = ends.len.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(queues: &mut Queues, wait: WaitReason) -> Vec<u32> {
        std::iter::from_fn(|| {
            let slot = queues.first(wait)?;
            queues.remove(wait, slot);
            Some(slot)
        })
        .collect()
    }

    #[test]
    fn slots_come_out_in_the_order_of_silence() {
        let mut queues = Queues::default();
        for slot in [3, 0, 2, 1] {
            queues.push(WaitReason::Setup, slot);
        }
        queues.remove(WaitReason::Setup, 0);
        queues.push(WaitReason::Talk, 0);
        queues.remove(WaitReason::Setup, 3);
        queues.push(WaitReason::Setup, 3);
        assert_eq!(
            (queues.len(WaitReason::Setup), queues.len(WaitReason::Talk)),
            (3, 1)
        );
        assert_eq!(drain(&mut queues, WaitReason::Setup), [2, 1, 3]);
        assert_eq!(
            (queues.len(WaitReason::Setup), queues.len(WaitReason::Talk)),
            (0, 1)
        );
        assert_eq!(drain(&mut queues, WaitReason::Talk), [0]);
        assert_eq!(drain(&mut queues, WaitReason::Linger), []);
    }
}
