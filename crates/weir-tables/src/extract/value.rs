//! The conversions to values of columns that all extractions share.

use std::net::IpAddr;

use weir_flow::CLOCK_STEP_NS;
use weir_packet::Value;

use crate::files::Files;

/// The fault of a message whose length goes beyond what carries it, although all of that was captured.
pub(super) const SHORTER_THAN_LENGTH: &str = "the message is shorter than its length says";

/// A number.
pub(super) fn number(number: impl Into<u64>) -> Option<Value<'static>> {
    Some(Value::Unsigned(number.into()))
}

/// The number of a record in its file, of one among those of all files; NULL for 0, which stands for the end of a capture.
pub(super) fn frame(number: u64) -> Option<Value<'static>> {
    let record = Files::record(number);
    (record > 0).then_some(Value::Unsigned(record))
}

/// An address.
pub(super) fn address(address: IpAddr) -> Option<Value<'static>> {
    Some(Value::Address(address.into()))
}

/// A text of bytes that are UTF-8; NULL for other bytes.
pub(super) fn text(bytes: &[u8]) -> Option<Value<'_>> {
    std::str::from_utf8(bytes).ok().map(Value::Text)
}

/// The text, with NULL for an empty one.
pub(super) fn filled(bytes: &[u8]) -> Option<Value<'_>> {
    text(bytes).filter(|_| !bytes.is_empty())
}

/// The nanoseconds from one record to a later one; `None` where a time is unknown, or [`by_one_clock`] is false.
pub(super) fn span_ns(from_ns: Option<i64>, to_ns: Option<i64>) -> Option<i64> {
    by_one_clock(to_ns?.checked_sub(from_ns?)?)
}

/// The time from one record to a later one. `None` where the later one has the earlier time by more than records of one
/// clock may be out of order: the clock was set back, and it is not known by how much.
pub(super) fn by_one_clock(span_ns: i64) -> Option<i64> {
    (span_ns >= -CLOCK_STEP_NS).then_some(span_ns)
}

/// Converts a duration of nanoseconds to seconds.
#[allow(
    clippy::cast_precision_loss,
    reason = "a duration of years keeps its microseconds"
)]
pub(super) fn seconds(span_ns: i64) -> Option<Value<'static>> {
    Some(Value::Float(span_ns as f64 / 1e9))
}
