//! The form of a log's records, and its recognition.

use crate::fault::Fault;
use crate::forms::notation::{Notation, in_form, stray_bytes};
use crate::forms::scratch::Scratch;
use crate::forms::{binary, text};
use crate::record::Record;

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
        let begin = bytes.get(stray_bytes(bytes)..)?.trim_ascii_start();
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
