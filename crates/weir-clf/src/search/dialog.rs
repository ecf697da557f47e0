//! The records of one dialog.

use std::collections::HashMap;

use crate::record::{Field, Record, Time, present};

/// The condition under which records with one Call-ID belong to two dialogs.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DialogOptions {
    /// Seconds of silence after which a Call-ID is taken to be used again. A day by default.
    pub gap_seconds_max: u64,
}

impl Default for DialogOptions {
    fn default() -> Self {
        Self {
            gap_seconds_max: 86_400,
        }
    }
}

/// A dialog: records with one Call-ID and related tags, without a long silence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dialog {
    /// The Call-ID.
    pub call_id: Vec<u8>,
    /// The tags of both ends; several at the far end when the call forked.
    pub tags: Vec<Vec<u8>>,
    /// The times when its first and its last record were logged.
    pub times: (Time, Time),
    /// The indices of its records among those that were passed in, in the order of time.
    pub records: Vec<usize>,
}

/// Sorts records into dialogs, in the order in which these begin. Call-IDs recur, so tags count too:
/// records belong together when they share one. A request without a tag in To begins a dialog, or
/// belongs to the one with its From tag.
///
/// Takes time and memory in proportion to the records.
#[must_use]
pub fn dialogs(records: &[Record<'_>], options: DialogOptions) -> Vec<Dialog> {
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&place| records[place].time);
    let mut open: HashMap<(&[u8], &[u8]), usize> = HashMap::new();
    let mut dialogs: Vec<Dialog> = Vec::new();
    let mut moved: Vec<usize> = Vec::new();
    for place in order {
        let record = &records[place];
        let call_id = record.field(Field::CallId);
        let tags = [record.field(Field::FromTag), record.field(Field::ToTag)];
        let tags = tags.into_iter().filter(|tag| present(tag).is_some());
        let found: Vec<usize> = tags
            .clone()
            .filter_map(|tag| open.get(&(call_id, tag)))
            .map(|&found| root(&moved, found))
            .filter(|&found| {
                let silence = record
                    .time
                    .seconds
                    .saturating_sub(dialogs[found].times.1.seconds);
                silence <= options.gap_seconds_max
            })
            .collect();
        let into = match found[..] {
            [] => {
                moved.push(dialogs.len());
                dialogs.push(Dialog {
                    call_id: call_id.to_vec(),
                    tags: Vec::new(),
                    times: (record.time, record.time),
                    records: Vec::new(),
                });
                dialogs.len() - 1
            }
            [one] => one,
            [one, other, ..] => merge(&mut dialogs, &mut moved, one, other),
        };
        let dialog = &mut dialogs[into];
        dialog.times.1 = dialog.times.1.max(record.time);
        dialog.records.push(place);
        for tag in tags {
            if !dialog.tags.iter().any(|known| known == tag) {
                dialog.tags.push(tag.to_vec());
            }
            open.insert((call_id, tag), into);
        }
    }
    dialogs.retain(|dialog| !dialog.records.is_empty());
    dialogs
}

fn root(moved: &[usize], mut dialog: usize) -> usize {
    while moved[dialog] != dialog {
        dialog = moved[dialog];
    }
    dialog
}

/// Merges the later of two dialogs into the earlier.
fn merge(dialogs: &mut [Dialog], moved: &mut [usize], one: usize, other: usize) -> usize {
    let (into, from) = (one.min(other), one.max(other));
    if into != from {
        let records = std::mem::take(&mut dialogs[from].records);
        let tags = std::mem::take(&mut dialogs[from].tags);
        let (_, last) = dialogs[from].times;
        let dialog = &mut dialogs[into];
        dialog.records.extend(records);
        dialog.tags.extend(tags);
        dialog.times.1 = dialog.times.1.max(last);
        moved[from] = into;
    }
    into
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(
        seconds: u64,
        call: &'static str,
        from: &'static str,
        to: &'static str,
    ) -> Record<'static> {
        let mut record = Record {
            time: Time {
                seconds,
                nanoseconds: 0,
            },
            ..Record::default()
        };
        record.set(Field::CallId, call.as_bytes());
        record.set(Field::FromTag, from.as_bytes());
        record.set(Field::ToTag, to.as_bytes());
        record
    }

    #[test]
    fn a_call_id_that_recurs_is_another_dialog() {
        let records = [
            record(1, "one", "a", "-"),
            record(2, "one", "a", "b"),
            record(3, "two", "a", "-"),
            record(4, "one", "c", "-"),
            // The far end hangs up.
            record(5, "one", "b", "a"),
            record(6, "one", "c", "d"),
            // The same tags recur, days later.
            record(500_000, "one", "a", "-"),
        ];
        let found = dialogs(&records, DialogOptions::default());
        let places: Vec<&[usize]> = found.iter().map(|dialog| &dialog.records[..]).collect();
        assert_eq!(places, [&[0, 1, 4][..], &[2], &[3, 5], &[6]]);
        assert_eq!(found[0].tags, [b"a", b"b"]);
    }

    #[test]
    fn branches_of_a_fork_belong_together_in_any_order() {
        let records = [
            record(3, "one", "b2", "a"),
            record(1, "one", "a", "-"),
            record(2, "one", "a", "b1"),
        ];
        assert_eq!(dialogs(&records, DialogOptions::default()).len(), 1);
    }
}
