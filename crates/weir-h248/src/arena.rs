//! The memory of the lists of a decoded message.

use bumpalo::{Bump, collections::Vec};

/// Memory for decoded messages: lists and the few texts that are not found in the input verbatim.
///
/// Decoding costs no allocation once an arena has grown to the size of a message:
/// [`reset`](Self::reset) it between messages, which the borrow checker permits only when the
/// message before is no longer used. A message takes some ten times the octets of its compact text.
#[derive(Debug, Default)]
pub struct Arena {
    bump: Bump,
}

impl Arena {
    /// An empty arena, which allocates nothing until it is used.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Drops every message that was decoded into this arena and reuses the memory for the next.
    pub fn reset(&mut self) {
        self.bump.reset();
    }

    /// Octets that this arena holds from the system.
    #[must_use]
    pub fn allocated_bytes(&self) -> usize {
        self.bump.allocated_bytes()
    }

    /// Copies a list into the arena: the way to build a message by hand whose parts outlive a
    /// statement.
    #[inline]
    pub fn list<T: Copy>(&self, items: &[T]) -> &[T] {
        self.bump.alloc_slice_copy(items)
    }

    /// Puts one value into the arena.
    #[inline]
    pub fn keep<T: Copy>(&self, value: T) -> &T {
        self.bump.alloc(value)
    }

    /// A list that grows in the arena and becomes a slice with `into_bump_slice`.
    #[inline]
    pub(crate) fn growing<T: Copy>(&self, capacity: usize) -> Vec<'_, T> {
        Vec::with_capacity_in(capacity, &self.bump)
    }
}
