//! The four forms of a log, and their recognition.

pub(crate) mod binary;
pub(crate) mod copy;
pub(crate) mod escape;
pub(crate) mod json;
pub(crate) mod line;
pub(crate) mod notation;
pub mod rfc6873;
pub(crate) mod text;

use crate::fault::Fault;
use crate::forms::line::Line;
use crate::forms::notation::{Notation, in_form};
use crate::index::mark::Mark;
use crate::losses::{Loss, Losses};
use crate::record::Record;
use crate::rfc3339::Dates;

/// The form of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Form {
    /// RFC 6873 with RFC 7355: text with pointers.
    #[default]
    Rfc6873,
    /// draft-gurbani-sipping-clf-01: a line of words.
    Text,
    /// draft-roach-sipping-clf-syntax-00: binary, with pointers.
    Binary,
    /// A JSON object a line.
    Json,
}

impl Form {
    /// All forms.
    pub const ALL: [Self; 4] = [Self::Rfc6873, Self::Text, Self::Binary, Self::Json];

    /// The name of the form in commands.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rfc6873 => "rfc6873",
            Self::Text => "text",
            Self::Binary => "binary",
            Self::Json => "json",
        }
    }

    /// The form of a log by its beginning; `None` when it has the beginning of no form, or is empty.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let begin = bytes.trim_ascii_start();
        match begin.first()? {
            b'{' => Some(Self::Json),
            b'A' if begin.iter().take(7).skip(1).all(u8::is_ascii_hexdigit) => Some(Self::Rfc6873),
            // A draft's line begins with the time.
            digit if digit.is_ascii_digit() && text::is_line(begin) => Some(Self::Text),
            _ if binary::is_record(bytes) => Some(Self::Binary),
            _ => None,
        }
    }

    /// Reads the record at the beginning of `bytes`, in this form, and its length. There is nothing after `bytes`: a
    /// last line without its end is read.
    ///
    /// # Errors
    /// A [`Fault`]: [`FaultKind::Cut`](crate::FaultKind::Cut) when more bytes may make a record of these,
    /// [`FaultKind::Reference`](crate::FaultKind::Reference) for a line of the text draft that cannot be
    /// read without those before it.
    pub fn decode<'a>(
        self,
        bytes: &'a [u8],
        scratch: &'a mut Scratch,
    ) -> Result<(Record<'a>, usize), Fault> {
        in_form!(self, N => N::decode(bytes, true, scratch))
    }
}

/// The buffers of a record besides its own bytes. They are reused for each record, so that reading one allocates
/// nothing.
#[derive(Debug, Default)]
pub struct Scratch {
    /// A line of the text draft, in which each `+` is replaced by its value.
    pub(crate) line: Vec<u8>,
    /// Values that are composed of several parts.
    pub(crate) built: Vec<u8>,
    /// The transactions to which a `+` may refer; `None` when each line is read by itself.
    pub(crate) earlier: Option<Box<text::Transactions>>,
    /// The numbers of `+` without their transactions.
    pub(crate) losses: Losses,
}

impl Scratch {
    /// The buffers for a log that is read from its beginning to its end.
    pub(crate) fn in_order() -> Self {
        Self {
            earlier: Some(Box::default()),
            ..Self::default()
        }
    }
}

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
    pub(crate) fn swap(&mut self, mut other: Vec<u8>) -> Vec<u8> {
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
