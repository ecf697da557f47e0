//! What stands for mandatory fields without a value.

/// A mandatory field that is absent.
pub const ABSENT: &[u8] = b"-";
/// A mandatory field that could not be parsed.
pub const UNPARSABLE: &[u8] = b"?";
