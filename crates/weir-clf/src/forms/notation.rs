//! The properties of a form that reading a log depends on: the boundaries of records, and their decoding.

use std::io;

use crate::fault::{Fault, FaultKind};
use crate::forms::form::{Form, stray_bytes};
use crate::forms::scratch::Scratch;
use crate::forms::{binary, json, rfc6873, text};
use crate::record::Record;

/// One of the forms. Walks are generic over it, so that each is as fast as one written for its form. The default methods
/// are those of a form whose record is one line.
pub(crate) trait Notation {
    const FORM: Form;
    /// The number of bytes of the longest record.
    const RECORD_BYTES_MAX: usize = 0xff_ffff;
    /// The number of bytes at the end of a searched buffer that may be the beginning of a match.
    const KEPT_BYTES: usize = 1;
    /// Whether bytes that begin like a record, anywhere in a log, are one. The binary draft has bodies as they were in
    /// the message, whose sender may have put the bytes of a record there; the other forms have them in one line.
    const ANYWHERE: bool = true;

    /// Reads the record at the beginning of `bytes`, after which there is nothing when they are `whole`, and its
    /// length. [`FaultKind::Cut`] is a request for more bytes.
    fn decode<'a>(
        bytes: &'a [u8],
        whole: bool,
        scratch: &'a mut Scratch,
    ) -> Result<(Record<'a>, usize), Fault>;

    /// The end of the record at the beginning of `bytes`, when it is cheap to find: hardly any byte in between is read.
    fn hop(_bytes: &[u8]) -> Option<usize> {
        None
    }

    /// Returns the number of first bytes that may stand between two records, as [`stray_bytes`] counts them.
    fn stray(bytes: &[u8]) -> usize {
        stray_bytes(bytes)
    }

    /// Returns the offset of the next possible record when the one at `at` is damaged, but its length can be read.
    fn behind(_bytes: &[u8], _at: usize) -> Option<usize> {
        None
    }

    /// Returns the offset after `at` where a record may begin: behind the end of the line.
    fn resynchronise(bytes: &[u8], at: usize) -> Option<usize> {
        let end = memchr::memchr(b'\n', bytes.get(at..)?)?;
        Some(at.saturating_add(end).saturating_add(1))
    }

    /// Returns whether a truncated first record may begin like this.
    fn may_begin(bytes: &[u8]) -> bool {
        !bytes.is_empty()
    }

    /// Returns whether a record that was read is complete, so that bytes behind it are not appended to it.
    fn is_finished(written: &[u8]) -> bool {
        written.last() == Some(&b'\n')
    }
}

/// Evaluates an expression in which a name stands for the notation of a form.
macro_rules! in_form {
    ($form:expr, $notation:ident => $expression:expr) => {
        match $form {
            $crate::forms::Form::Rfc6873 => {
                type $notation = $crate::forms::notation::Rfc6873;
                $expression
            }
            $crate::forms::Form::Text => {
                type $notation = $crate::forms::notation::Text;
                $expression
            }
            $crate::forms::Form::Binary => {
                type $notation = $crate::forms::notation::Binary;
                $expression
            }
            $crate::forms::Form::Json => {
                type $notation = $crate::forms::notation::Json;
                $expression
            }
        }
    };
}
pub(crate) use in_form;

impl Form {
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

/// [`Form::Rfc6873`].
pub(crate) enum Rfc6873 {}
/// [`Form::Text`].
pub(crate) enum Text {}
/// [`Form::Binary`].
pub(crate) enum Binary {}
/// [`Form::Json`].
pub(crate) enum Json {}

impl Notation for Rfc6873 {
    const FORM: Form = Form::Rfc6873;
    const RECORD_BYTES_MAX: usize = rfc6873::RECORD_BYTES_MAX;

    #[inline]
    fn decode<'a>(
        bytes: &'a [u8],
        _whole: bool,
        _scratch: &'a mut Scratch,
    ) -> Result<(Record<'a>, usize), Fault> {
        rfc6873::decode(bytes)
    }

    #[inline]
    fn hop(bytes: &[u8]) -> Option<usize> {
        rfc6873::hop(bytes, 0)
    }

    fn stray(bytes: &[u8]) -> usize {
        let ends = Text::stray(bytes);
        // A line feed that does not stand in front of a record is part of the damage.
        let next = bytes.get(ends);
        if next.is_none_or(|&byte| byte == b'A') {
            ends
        } else {
            0
        }
    }

    fn resynchronise(bytes: &[u8], at: usize) -> Option<usize> {
        rfc6873::resynchronise(bytes, at)
    }
}

impl Notation for Text {
    const FORM: Form = Form::Text;

    fn decode<'a>(
        bytes: &'a [u8],
        whole: bool,
        scratch: &'a mut Scratch,
    ) -> Result<(Record<'a>, usize), Fault> {
        let (line, len) = line(bytes, whole)?;
        Ok((text::decode(line, scratch)?, len))
    }

    fn may_begin(bytes: &[u8]) -> bool {
        bytes.first().is_some_and(u8::is_ascii_digit)
    }
}

impl Notation for Json {
    const FORM: Form = Form::Json;

    fn decode<'a>(
        bytes: &'a [u8],
        whole: bool,
        scratch: &'a mut Scratch,
    ) -> Result<(Record<'a>, usize), Fault> {
        let (line, len) = line(bytes, whole)?;
        Ok((json::decode(line, &mut scratch.built)?, len))
    }

    fn may_begin(bytes: &[u8]) -> bool {
        bytes.first() == Some(&b'{')
    }
}

impl Notation for Binary {
    const FORM: Form = Form::Binary;
    const KEPT_BYTES: usize = binary::HEADER_BYTES;
    const ANYWHERE: bool = false;

    fn decode<'a>(
        bytes: &'a [u8],
        whole: bool,
        scratch: &'a mut Scratch,
    ) -> Result<(Record<'a>, usize), Fault> {
        binary::decode(bytes, &mut scratch.built)
            .map_err(|fault| Self::decided(fault, bytes, whole))
    }

    fn stray(_bytes: &[u8]) -> usize {
        0
    }

    fn behind(bytes: &[u8], at: usize) -> Option<usize> {
        binary::behind(bytes, at)
    }

    fn is_finished(_written: &[u8]) -> bool {
        true
    }

    fn may_begin(bytes: &[u8]) -> bool {
        // This is the upper half of the seconds.
        !bytes.is_empty() && bytes.iter().take(8).skip(4).all(|&byte| byte == 0)
    }

    fn resynchronise(bytes: &[u8], at: usize) -> Option<usize> {
        binary::resynchronise(bytes, at)
    }
}

impl Binary {
    /// The length as in [`Notation::decode`], without the record.
    pub(crate) fn check(bytes: &[u8], whole: bool) -> Result<usize, Fault> {
        binary::check(bytes).map_err(|fault| Self::decided(fault, bytes, whole))
    }

    /// Returns a fault once there are enough bytes for it: the following bytes decide whether the length of a record is
    /// valid.
    fn decided(fault: Fault, bytes: &[u8], whole: bool) -> Fault {
        if !whole && binary::next_is_open(bytes) {
            Fault::at(bytes.len(), FaultKind::Cut)
        } else {
            fault
        }
    }
}

/// Refuses text in UTF-16, which begins with a byte order mark of two bytes.
pub(crate) fn refuse_utf16(bytes: &[u8]) -> io::Result<()> {
    match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "is text in UTF-16, and logs are read in UTF-8",
        )),
        _ => Ok(()),
    }
}

/// The line at the beginning, and its length with its end.
#[inline]
fn line(bytes: &[u8], whole: bool) -> Result<(&[u8], usize), Fault> {
    match memchr::memchr(b'\n', bytes) {
        Some(end) => Ok((bytes.get(..end).unwrap_or_default(), end.saturating_add(1))),
        None if whole && !bytes.is_empty() => Ok((bytes, bytes.len())),
        None => Err(Fault::at(bytes.len(), FaultKind::Cut)),
    }
}
