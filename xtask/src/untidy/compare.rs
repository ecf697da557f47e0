//! Rows of a table held against each other, column by column.

use serde_json::Value;

use super::answers::TableRow;
use super::fate::ConnectionFate;
use super::tables::{Dependency, STREAM_DATA, TableRule};

/// Returns true when each content column of `row` is NULL or equal to that of `than`.
pub(super) fn is_less(table: &TableRule, row: &TableRow, than: &TableRow) -> bool {
    row.iter().all(|(column, value)| match table.kind(column) {
        Dependency::Content => value.is_null() || than.get(column) == Some(value),
        _ => true,
    })
}

/// The same where a list, or the octets of a stream within a tunnel, may also be the beginning of those of `than`.
pub(super) fn is_shorter(table: &TableRule, row: &TableRow, than: &TableRow) -> bool {
    row.iter().all(|(column, value)| {
        let other = than.get(column);
        let is_beginning = match (value, other) {
            (Value::Array(list), Some(Value::Array(whole))) => whole.starts_with(list),
            // Another row has the octets that are missing.
            (Value::String(octets), Some(Value::String(whole))) => {
                column == STREAM_DATA && whole.starts_with(octets)
            }
            _ => false,
        };
        table.kind(column) != Dependency::Content
            || value.is_null()
            || is_beginning
            || other == Some(value)
    })
}

/// The number of equal columns.
pub(super) fn likeness(table: &TableRule, row: &TableRow, other: &TableRow) -> usize {
    let same = row.iter().filter(|(column, value)| {
        table.kind(column) != Dependency::None
            && !value.is_null()
            && other.get(*column) == Some(value)
    });
    same.count()
}

/// Returns true when a row reports that a part of it is missing or wrong.
pub(super) fn is_uncertain(table: &TableRule, row: &TableRow) -> bool {
    row.iter().any(|(column, value)| {
        table.kind(column) == Dependency::Doubt
            && match value {
                Value::Null => false,
                Value::Bool(is_whole) => !is_whole,
                Value::Number(count) => count.as_f64() != Some(0.0),
                _ => true,
            }
    })
}

/// The last frame of a row.
pub(super) fn last_frame(table: &TableRule, row: &TableRow) -> Option<u64> {
    // A row without its own frame number was completed at the end of the capture.
    row.get("frame.number").filter(|number| !number.is_null())?;
    frames(table, row).max()
}

/// The frames of a row.
pub(super) fn frames(table: &TableRule, row: &TableRow) -> impl Iterator<Item = u64> {
    row.iter()
        .filter(|(column, _)| table.kind(column) == Dependency::Frame)
        .filter_map(|(_, value)| value.as_u64())
}

/// The columns in which two rows differ that have to be the same.
pub(super) fn differences(
    table: &TableRule,
    state: &ConnectionFate,
    tidy: &TableRow,
    untidy: &TableRow,
) -> String {
    let lines: Vec<String> = tidy
        .iter()
        .filter(|(column, value)| {
            state.keeps(table.kind(column)) && untidy.get(*column) != Some(value)
        })
        .map(|(column, value)| {
            let now = untidy.get(column).unwrap_or(&Value::Null);
            format!("{column}: {value} before, now {now}")
        })
        .collect();
    lines.join("; ")
}
