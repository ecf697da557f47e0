//! Which code does DEFLATE give a length or a distance, and which codes would zlib choose?
//!
//! ```
//! use weir_deflate::{TreeBuilder, length_code};
//!
//! assert_eq!(length_code(258).base, 258);
//! let counts = [5, 0, 2, 1];
//! let mut lengths = [0; 4];
//! let tree = TreeBuilder::new().build(&counts, [0, 2, 3].into_iter(), 15, &mut lengths);
//! assert_eq!(lengths, [1, 0, 2, 2]);
//! assert_eq!((tree.bits, tree.max_code), (5 + 2 * 2 + 2, 3));
//! ```
//!
//! The tables are those of RFC 1951, section 3.2.5 to 3.2.7. The trees are zlib's to the bit: where codes of the same
//! cost are to be had, they decide as its heap does. This crate does not compress: weir-h248 writes what Erlang's zlib
//! writes, weir-ws inflates and measures what zlib would make.

mod tables;
mod tree;

pub use tables::{
    BIT_LENGTH_ORDER, BIT_LENGTHS, Code, DISTANCE_CODES, DISTANCES, END_OF_BLOCK, FIRST_LENGTH,
    LENGTH_CODES, LENGTHS, LITERALS, distance_code, length_code,
};
pub use tree::{Built, TreeBuilder};
