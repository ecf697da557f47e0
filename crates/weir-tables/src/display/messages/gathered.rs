//! The values of a field of messages in each frame, for functions that take all of them: `count(dns.a) > 1`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Cell, Frames};
use crate::display::{At, FieldValue, Test, owned};

/// The values of a field by frame, as far as they are not judged yet.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    frames: BTreeMap<u64, Vec<FieldValue<'static>>>,
    /// The room that they take up, about.
    bytes: usize,
    /// The frames that were judged.
    judged: Frames,
    /// The number of cells whose frame was judged before they came.
    late: u64,
}

impl Gathered {
    /// Adds the values of a cell to those of its frame. The first frames are judged where more than [`BYTES_MAX`] are kept.
    pub(super) fn add(&mut self, number: u64, cell: &Cell<'_>, test: &Test, passed: &mut Frames) {
        if self.judged.contains(number) {
            self.late = self.late.saturating_add(1);
            return;
        }
        let values = self.frames.entry(number).or_insert_with(|| {
            self.bytes = self.bytes.saturating_add(FRAME_BYTES);
            Vec::new()
        });
        cell.each(&mut |value| {
            self.bytes = self.bytes.saturating_add(bytes_of(&value));
            values.push(owned(value));
            true
        });
        while self.bytes > BYTES_MAX && self.judge_first(test, passed) {}
    }

    /// Judges what is left, and returns the frames that had values, with the number of cells that came too late.
    pub(super) fn finish(mut self, test: &Test, passed: &mut Frames) -> (Frames, u64) {
        while self.judge_first(test, passed) {}
        (self.judged, self.late)
    }

    /// Judges the first frame; false where there is none.
    fn judge_first(&mut self, test: &Test, passed: &mut Frames) -> bool {
        let Some((number, values)) = self.frames.pop_first() else {
            return false;
        };
        let room: usize = values.iter().map(bytes_of).sum();
        self.bytes = self.bytes.saturating_sub(room.saturating_add(FRAME_BYTES));
        self.judged.insert(number);
        if test.holds(&At::Values(&values)) {
            passed.insert(number);
        }
        true
    }
}

/// The room that a value takes up, about.
fn bytes_of(value: &FieldValue<'_>) -> usize {
    size_of::<FieldValue<'_>>()
        + match value {
            FieldValue::Number(_) => 0,
            FieldValue::Bytes(bytes) => bytes.len(),
        }
}

/// The same value without a copy of its bytes.
pub(in crate::display) fn borrowed<'v>(value: &'v FieldValue<'_>) -> FieldValue<'v> {
    match value {
        FieldValue::Number(number) => FieldValue::Number(*number),
        FieldValue::Bytes(bytes) => FieldValue::Bytes(Cow::Borrowed(bytes.as_ref())),
    }
}

/// The room that values may take up before the first of them are judged.
const BYTES_MAX: usize = 64 << 20;
/// The room that a frame takes up beside its values, about.
const FRAME_BYTES: usize = 64;
