//! The units of the numbers of a column, in the metadata of its Arrow field.

/// The key in a column's metadata whose value is the unit of its numbers.
pub const UNIT_KEY: &str = "weir.unit";
/// The value of [`UNIT_KEY`] for sizes.
pub const UNIT_BYTES: &str = "bytes";
