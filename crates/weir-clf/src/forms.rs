//! The four forms of a log, and what writes records in them.

pub(crate) mod binary;
pub(crate) mod copy;
pub(crate) mod escape;
pub(crate) mod form;
pub(crate) mod json;
pub(crate) mod line;
pub(crate) mod notation;
pub mod rfc6873;
mod scratch;
pub(crate) mod text;
mod transactions;
mod words;

use crate::forms::line::Line;
use crate::index::mark::Mark;
use crate::losses::{Loss, Losses};
use crate::record::Record;
use crate::rfc3339::Dates;

pub use form::Form;
pub use scratch::Scratch;

/// Writes records in one of the forms.
#[derive(Debug)]
pub struct Encoder {
    form: Form,
    /// Writes records of RFC 6873.
    rfc6873: rfc6873::Encoder,
    /// A line of the text draft while it is put together.
    line: Line,
    /// The formatter of the times of JSON lines.
    dates: Dates,
    /// The records of the other forms.
    out: Vec<u8>,
    losses: Losses,
}

impl Encoder {
    /// Creates an encoder for `form`.
    #[must_use]
    pub fn new(form: Form) -> Self {
        Self {
            form,
            rfc6873: rfc6873::Encoder::default(),
            line: Line::default(),
            dates: Dates::default(),
            out: Vec::new(),
            losses: Losses::default(),
        }
    }

    /// Appends a record.
    #[inline]
    pub fn push(&mut self, record: &Record<'_>) {
        self.write(record);
    }

    /// Writes as [`Encoder::push`]. Returns the record's length, and whether the index's values of the record may read
    /// back differently.
    #[inline]
    pub(crate) fn write(&mut self, record: &Record<'_>) -> (usize, bool) {
        if self.form != Form::Rfc6873 {
            return self.write_other(record);
        }
        let len = self.rfc6873.push(record);
        let late = record.time.seconds > rfc6873::SECONDS_MAX;
        (len, late || self.rfc6873.last_was_changed())
    }

    fn write_other(&mut self, record: &Record<'_>) -> (usize, bool) {
        let (out, losses) = (&mut self.out, &mut self.losses);
        let (before, altered) = (out.len(), losses.values());
        let mut missing = losses.count(Loss::Field);
        match self.form {
            Form::Text => text::push(record, &mut self.line, out, losses),
            Form::Binary => binary::push(record, out, losses),
            _ => json::push(record, &mut self.dates, out),
        }
        if self.form == Form::Text {
            // The number of missing fields is known.
            missing = losses.count(Loss::Field);
        }
        // Most forms cut times as late as this.
        let late = record.time.seconds > rfc6873::SECONDS_MAX;
        let changed = late || losses.values() != altered || losses.count(Loss::Field) != missing;
        (out.len().saturating_sub(before), changed)
    }

    /// The mark of a record that was not changed when it was written; `None` when the record has to be read back.
    #[inline]
    pub(crate) fn mark(&self, record: &Record<'_>, len: usize) -> Option<Mark> {
        match self.form {
            Form::Text => text::mark(record, len),
            _ => Some(Mark::of(record, len)),
        }
    }

    /// The records since the last [`Encoder::clear`].
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self.form {
            Form::Rfc6873 => self.rfc6873.bytes(),
            _ => &self.out,
        }
    }

    /// Discards the records; the losses stay.
    pub fn clear(&mut self) {
        self.rfc6873.clear();
        self.out.clear();
    }

    /// Returns the records as a buffer and continues in another one, whose content is discarded.
    #[must_use]
    pub fn swap(&mut self, mut other: Vec<u8>) -> Vec<u8> {
        if self.form == Form::Rfc6873 {
            return self.rfc6873.swap(other);
        }
        other.clear();
        std::mem::replace(&mut self.out, other)
    }

    /// The counts of values that the form could not represent.
    #[must_use]
    pub const fn losses(&self) -> Losses {
        match self.form {
            Form::Rfc6873 => *self.rfc6873.losses(),
            _ => self.losses,
        }
    }
}
