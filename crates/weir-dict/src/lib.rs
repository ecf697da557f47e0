//! How do I keep a million small dictionaries and a few huge ones, without ever waiting for one to grow?
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
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

mod batch;
mod check;
mod dict;
mod directory;
mod entry;
mod error;
mod group;
mod hash;
mod iter;
mod segment;
mod slab;
mod table;
mod walk;

pub use dict::Dict;
pub use entry::{Entry, OccupiedEntry, VacantEntry};
pub use error::{AllocError, AllocErrorKind};
pub use hash::{FoldHasher, FoldState, ProcessKey};
pub use iter::{Drain, IntoIter, Iter, IterMut, Keys, Values, ValuesMut};
pub use walk::{Cursor, Walk};
