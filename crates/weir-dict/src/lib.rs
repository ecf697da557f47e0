//! How do a million small dictionaries and a few huge ones live side by side, without ever waiting for one to grow?
//!
//! ```
//! use weir_dict::Dict;
//!
//! let mut flows: Dict<[u8; 13], u64> = Dict::new();
//! assert_eq!(size_of_val(&flows), 8);
//! for port in 0..10_000_u16 {
//!     let mut key = [0; 13];
//!     key[..2].copy_from_slice(&port.to_be_bytes());
//!     *flows.entry(key).or_default() += 1;
//! }
//! assert_eq!(flows.len(), 10_000);
//! assert!(flows.allocated_bytes() < 10_000 * 40);
//! ```
//!
//! - [`Dict`] has the interface of the standard library's `HashMap`. Empty it is one word; up to eight
//!   entries lie in a block, of room for one, two, four or eight, and a single one is not hashed; above, it is made of
//!   segments of up to 53 entries, and grows and shrinks one segment at a time.
//! - [`DictArena`] keeps many small dictionaries without an allocation each.
//! - [`Dict::walk`] iterates while the dictionary changes, and sees what stays exactly once.
//! - [`Dict::upsert_batch`] looks up and inserts many keys with their cache misses overlapping.
//! - [`Expiring`] removes entries after a deadline, in a fixed budget.
//! - [`BytesDict`] has byte strings of any length for keys, stored without an allocation each.
//!
//! Keys are hashed with a secret of the process. Where the first hashes of too many keys collide all
//! the same, these are placed by SipHash with another secret, and where that collides too, in a list:
//! slower and slower, never wrong, and in bounded memory.
//!
//! This crate deliberately has no packets, flows, clocks, files or threads. It needs `alloc` only; the feature `std`,
//! on by default, takes the secret from the operating system.
//!
//! `unsafe` is allowed function by function, in seven files: `table.rs` (the tagged word), `table/small.rs` (blocks),
//! `segment.rs` (entries behind a pointer, one vector comparison, one prefetch), `slab.rs` (segments by number),
//! `block.rs` and `dict_arena.rs` (blocks of an arena) and `iter.rs` (one lifetime). Everything else is checked by the
//! compiler.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod arena;
mod batch;
mod block;
mod bytes;
mod check;
mod dict;
mod dict_arena;
mod directory;
mod entry;
mod error;
mod expiring;
mod hash;
mod iter;
mod segment;
#[cfg(feature = "serde")]
mod serial;
mod slab;
mod table;
mod walk;
mod word;

pub use bytes::BytesDict;
pub use dict::Dict;
pub use dict_arena::{DictArena, DictId};
pub use entry::{Entry, OccupiedEntry, VacantEntry};
pub use error::{AllocError, AllocErrorKind};
pub use expiring::{Expiring, Renewal};
pub use hash::{FoldHasher, FoldState, ProcessKey};
pub use iter::{Drain, IntoIter, IntoKeys, IntoValues, Iter, IterMut, Keys, Values, ValuesMut};
pub use walk::{Cursor, Walk};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
