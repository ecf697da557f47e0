//! The four forms of a log, and how one is told from another.

pub(crate) mod binary;
pub(crate) mod escape;
pub(crate) mod json;
pub mod rfc6873;
pub(crate) mod text;

use crate::losses::Losses;
use crate::record::Record;

/// How records are written.
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

    /// The name in commands.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rfc6873 => "rfc6873",
            Self::Text => "text",
            Self::Binary => "binary",
            Self::Json => "json",
        }
    }

    /// The form of a log by how it begins; `None` when it begins like none of the four, or is empty.
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
}

/// Writes records in one of the forms.
#[derive(Debug)]
pub struct Encoder {
    inner: Inner,
    losses: Losses,
}

#[derive(Debug)]
enum Inner {
    Rfc6873(rfc6873::Encoder),
    Text(Vec<u8>),
    Binary(Vec<u8>),
    Json(Vec<u8>),
}

impl Encoder {
    /// Writes `form`.
    #[must_use]
    pub fn new(form: Form) -> Self {
        let inner = match form {
            Form::Rfc6873 => Inner::Rfc6873(rfc6873::Encoder::default()),
            Form::Text => Inner::Text(Vec::new()),
            Form::Binary => Inner::Binary(Vec::new()),
            Form::Json => Inner::Json(Vec::new()),
        };
        Self {
            inner,
            losses: Losses::default(),
        }
    }

    /// Writes a record behind those written.
    pub fn push(&mut self, record: &Record<'_>) {
        match &mut self.inner {
            Inner::Rfc6873(encoder) => {
                encoder.push(record);
            }
            Inner::Text(out) => text::push(record, out, &mut self.losses),
            Inner::Binary(out) => binary::push(record, out, &mut self.losses),
            Inner::Json(out) => json::push(record, out),
        }
    }

    /// The records since the last [`Encoder::clear`].
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match &self.inner {
            Inner::Rfc6873(encoder) => encoder.bytes(),
            Inner::Text(out) | Inner::Binary(out) | Inner::Json(out) => out,
        }
    }

    /// Forgets the records, not the losses.
    pub fn clear(&mut self) {
        match &mut self.inner {
            Inner::Rfc6873(encoder) => encoder.clear(),
            Inner::Text(out) | Inner::Binary(out) | Inner::Json(out) => out.clear(),
        }
    }

    /// What the form could not carry.
    #[must_use]
    pub fn losses(&self) -> Losses {
        match &self.inner {
            Inner::Rfc6873(encoder) => *encoder.losses(),
            _ => self.losses,
        }
    }
}
