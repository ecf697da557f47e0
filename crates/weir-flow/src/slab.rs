//! Values under small numbers, in chunks of one size so that growing never moves them.

/// A value of a slab, which stores the number of the next free place while it is not in use.
pub(crate) trait Slot: Default {
    fn link(&mut self) -> &mut u32;
}

/// No value.
pub(crate) const NONE: u32 = u32::MAX;

/// A growing set of values. Memory goes back to the system when the slab is dropped.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    chunks: Vec<Vec<T>>,
    free: u32,
    len: usize,
}

const CHUNK_BITS: u32 = 9;
const CHUNK: usize = 1 << CHUNK_BITS;

/// The maximum number of chunks for which room is reserved at once: 16 million values, 768 KiB that the system commits as they are
/// used.
const CHUNKS_AT_ONCE: usize = 1 << 15;

impl<T: Slot> Slab<T> {
    /// An empty slab for about `max` values. Up to that it never moves its list of chunks, which takes
    /// 0.2 ms at ten million.
    pub(crate) fn new(max: usize) -> Self {
        Self {
            chunks: Vec::with_capacity(max.div_ceil(CHUNK).min(CHUNKS_AT_ONCE)),
            free: NONE,
            len: 0,
        }
    }

    /// The number of values in use.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Bytes asked of the allocator.
    pub(crate) fn allocated_bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<Vec<T>>() + self.chunks.len() * CHUNK * size_of::<T>()
    }

    /// Puts a value in; `None` when numbers of 32 bits are used up.
    pub(crate) fn insert(&mut self, value: T) -> Option<u32> {
        if self.free != NONE {
            let id = self.free;
            let slot = self.get_mut(id)?;
            let next = *slot.link();
            *slot = value;
            self.free = next;
            self.len += 1;
            return Some(id);
        }
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let chunk_number = self.chunks.len() - 1;
        let chunk = self.chunks.last_mut()?;
        let id = u32::try_from(chunk_number << CHUNK_BITS | chunk.len()).ok();
        let id = id.filter(|id| *id != NONE)?;
        chunk.push(value);
        self.len += 1;
        Some(id)
    }

    /// Removes the value `id`, which must be in use.
    pub(crate) fn remove(&mut self, id: u32) -> Option<T> {
        let free = self.free;
        let slot = self.get_mut(id)?;
        let value = std::mem::take(slot);
        *slot.link() = free;
        self.free = id;
        self.len -= 1;
        Some(value)
    }

    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&T> {
        self.chunks
            .get((id >> CHUNK_BITS) as usize)?
            .get(id as usize & (CHUNK - 1))
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.chunks
            .get_mut((id >> CHUNK_BITS) as usize)?
            .get_mut(id as usize & (CHUNK - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default, Debug, PartialEq)]
    struct Number(u32, u32);

    impl Slot for Number {
        fn link(&mut self) -> &mut u32 {
            &mut self.1
        }
    }

    #[test]
    fn numbers_are_reused_and_values_stay() {
        let mut slab = Slab::new(100);
        let ids: Vec<u32> = (0..3_000)
            .map(|n| slab.insert(Number(n, 0)).unwrap())
            .collect();
        for id in ids.iter().step_by(3) {
            slab.remove(*id).unwrap();
        }
        assert_eq!(slab.len(), 2_000);
        let bytes = slab.allocated_bytes();
        for n in 0..1_000 {
            let id = slab.insert(Number(10_000 + n, 0)).unwrap();
            assert!(ids.iter().step_by(3).any(|freed| *freed == id));
        }
        assert_eq!(slab.allocated_bytes(), bytes);
        for (n, id) in ids.iter().enumerate().filter(|(n, _)| !n.is_multiple_of(3)) {
            assert_eq!(slab.get(*id).unwrap().0, n as u32);
        }
    }
}
