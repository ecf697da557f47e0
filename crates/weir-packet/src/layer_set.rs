//! Sets of protocols.

use crate::Layer;

/// A set of protocols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerSet(u128);

impl LayerSet {
    /// No protocol.
    pub const EMPTY: Self = Self(0);

    /// This set and `layer`.
    #[inline]
    #[must_use]
    pub const fn with(self, layer: Layer) -> Self {
        Self(self.0 | 1 << layer as u32)
    }

    /// This set and `other`.
    #[inline]
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `layer` is in the set.
    #[inline]
    #[must_use]
    pub const fn contains(self, layer: Layer) -> bool {
        self.0 & (1 << layer as u32) != 0
    }

    /// Whether the set is empty.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the set contains `layer` at most.
    #[inline]
    #[must_use]
    pub const fn is_only(self, layer: Layer) -> bool {
        self.0 & !(1 << layer as u32) == 0
    }

    /// Whether all of `other` is in the set.
    #[inline]
    #[must_use]
    pub const fn contains_all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}
