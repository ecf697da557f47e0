//! The times of the next checks of flows: a wheel of slots of about a second each.
//!
//! A flow is put into the slot of its deadline once. Packets that move the deadline do not move the
//! flow: when the time of its slot comes, the flow moves to the slot of its current deadline. So a packet
//! costs nothing here, and a flow costs one check for each timeout that it lives.

use crate::flow::Flow;
use crate::slab::{NONE, Slab};

const SLOTS: usize = 512;
/// A slot is 2^30 ns, 1.07 s.
const TICK_BITS: u32 = 30;

#[derive(Debug)]
pub(crate) struct Wheel {
    heads: [u32; SLOTS],
    /// Bit n: slot n holds a flow.
    occupied: [u64; SLOTS / 64],
    /// The tick of the next slot.
    cursor: u64,
}

impl Wheel {
    pub(crate) const fn new() -> Self {
        Self {
            heads: [NONE; SLOTS],
            occupied: [0; SLOTS / 64],
            cursor: 0,
        }
    }

    /// Starts at `now` when the wheel is empty.
    pub(crate) fn start(&mut self, now_ns: i64) {
        self.cursor = tick(now_ns);
    }

    /// Puts flow `id`, which is in no slot, where `deadline_ns` is; where that is too far, at the end.
    pub(crate) fn insert(&mut self, flows: &mut Slab<Flow>, id: u32, deadline_ns: i64) {
        // The flow is due when its slot is over.
        let due = tick(deadline_ns)
            .saturating_add(1)
            .clamp(self.cursor, self.cursor.saturating_add(SLOTS as u64 - 1));
        let slot = slot_of(due);
        let Some(head) = self.heads.get_mut(slot) else {
            return;
        };
        let next = std::mem::replace(head, id);
        self.occupied[slot / 64] |= 1 << (slot % 64);
        if let Some(flow) = flows.get_mut(id) {
            flow.slot = slot as u16;
            flow.next = next;
            flow.previous = NONE;
        }
        if let Some(flow) = flows.get_mut(next) {
            flow.previous = id;
        }
    }

    /// Removes flow `id` from its slot.
    pub(crate) fn remove(&mut self, flows: &mut Slab<Flow>, id: u32) {
        let Some(flow) = flows.get(id) else {
            return;
        };
        let (slot, previous, next) = (usize::from(flow.slot), flow.previous, flow.next);
        if let Some(flow) = flows.get_mut(next) {
            flow.previous = previous;
        }
        if let Some(flow) = flows.get_mut(previous) {
            flow.next = next;
        } else if let Some(head) = self.heads.get_mut(slot) {
            *head = next;
            if next == NONE {
                self.occupied[slot / 64] &= !(1 << (slot % 64));
            }
        }
    }

    /// Whether no slot is due.
    #[inline]
    pub(crate) fn is_quiet(&self, now_ns: i64) -> bool {
        tick(now_ns) < self.cursor
    }

    /// A flow whose slot is over at `now`; the caller takes it out or puts it elsewhere. `None` when
    /// there is none.
    pub(crate) fn due(&mut self, now_ns: i64) -> Option<u32> {
        let now = tick(now_ns);
        while self.cursor <= now {
            let head = self.heads.get(slot_of(self.cursor)).copied()?;
            if head != NONE {
                return Some(head);
            }
            // Empty slots are skipped, all of them at once when the wheel is empty.
            match self.first_after_cursor() {
                Some(distance) => self.cursor = (self.cursor + distance).min(now + 1),
                None => self.cursor = now + 1,
            }
        }
        None
    }

    /// A flow that will be looked at first.
    pub(crate) fn first(&self) -> Option<u32> {
        let distance = self.first_after_cursor()?;
        let head = self.heads.get(slot_of(self.cursor + distance)).copied();
        head.filter(|head| *head != NONE)
    }

    /// The number of ticks from the cursor to the first slot with a flow.
    fn first_after_cursor(&self) -> Option<u64> {
        let start = slot_of(self.cursor);
        // The word of the start comes twice: first its upper bits, at the end its lower ones.
        for step in 0..=SLOTS / 64 {
            let word = (start / 64 + step) % (SLOTS / 64);
            let mask = match step {
                0 => !0 << (start % 64),
                8 => !(!0 << (start % 64)),
                _ => !0,
            };
            let bits = self.occupied[word] & mask;
            if bits != 0 {
                let slot = word * 64 + bits.trailing_zeros() as usize;
                return Some(((slot + SLOTS - start) % SLOTS) as u64);
            }
        }
        None
    }
}

#[inline]
fn tick(time_ns: i64) -> u64 {
    u64::try_from(time_ns).unwrap_or(0) >> TICK_BITS
}

const fn slot_of(tick: u64) -> usize {
    (tick % SLOTS as u64) as usize
}
