//! The optional fields of a record, in the encoding of RFC 6873, section 4.4.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::decimal::{DIGITS_MAX, decimal, digits_of};
use crate::forms::escape::{has_none_below, is_plain};

/// The optional fields of a record, in the form of RFC 6873: each is `TAB tag@vendor,length,encoding,value`. They are
/// parsed when they are needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Optionals<'a>(&'a [u8]);

/// One optional field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optional<'a> {
    /// The tag within its vendor: 0 to 99.
    pub tag: u8,
    /// An IANA private enterprise number; 0 for RFC 6873 itself.
    pub vendor: u32,
    /// The written length. It counts different things in different logs (RFC 6873's own examples disagree), so that
    /// nothing depends on it.
    pub length: u16,
    /// The value is base64, because it holds control bytes or is not UTF-8.
    pub base64: bool,
    /// The value as it was written: see [`Optional::decode`].
    pub value: &'a [u8],
}

/// A header field, `Name: value`, or `Reason-Phrase: text`.
pub const HEADER: u8 = 0;
/// A body: its content type, a space, the body.
pub const BODY: u8 = 1;
/// A whole message.
pub const MESSAGE: u8 = 2;

/// The number of bytes of the longest value that RFC 6873 allows.
pub const VALUE_BYTES_MAX: usize = 4096;

/// Bytes before the value: TAB, tag, `@`, vendor, comma, length, comma, encoding, comma.
const HEAD: usize = 1 + 2 + 1 + 8 + 1 + 4 + 1 + 2 + 1;

impl<'a> Optionals<'a> {
    /// The fields between the last mandatory field and the end of the record.
    #[must_use]
    pub const fn new(encoded: &'a [u8]) -> Self {
        Self(encoded)
    }

    /// The fields in the form of RFC 6873.
    #[must_use]
    #[inline]
    pub const fn encoded(self) -> &'a [u8] {
        self.0
    }

    /// Whether there are no fields.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the fields; text that is no field is left out ([`Optionals::damage`] finds it).
    pub fn iter(self) -> impl Iterator<Item = Optional<'a>> {
        self.pieces().filter_map(parse)
    }

    /// The offset, from the beginning of the optional fields, of the first that cannot be read.
    #[must_use]
    pub fn damage(self) -> Option<usize> {
        if !self.0.is_empty() && self.0.first() != Some(&b'\t') {
            return Some(0);
        }
        let mut offset = 0_usize;
        for piece in self.pieces() {
            if parse(piece).is_none() {
                return Some(offset);
            }
            offset = offset.saturating_add(piece.len()).saturating_add(1);
        }
        None
    }

    /// The first value of RFC 6873's own `tag` whose beginning, a header's name, is `name` without regard to case. The
    /// value after the colon is returned, without spaces around it.
    #[must_use]
    pub fn header(self, name: &str) -> Option<Optional<'a>> {
        self.iter().find_map(|field| {
            let (found, value) = field.header()?;
            found
                .eq_ignore_ascii_case(name.as_bytes())
                .then_some(Optional { value, ..field })
        })
    }

    fn pieces(self) -> impl Iterator<Item = &'a [u8]> {
        let all = self.0.strip_prefix(b"\t").unwrap_or(self.0);
        let mut rest = Some(all).filter(|_| !self.0.is_empty());
        std::iter::from_fn(move || {
            let text = rest?;
            let end = memchr::memchr(b'\t', text).unwrap_or(text.len());
            rest = text.get(end.saturating_add(1)..);
            text.get(..end)
        })
    }
}

impl<'a> Optional<'a> {
    /// Name and value of a header field, as written.
    #[must_use]
    pub fn header(&self) -> Option<(&'a [u8], &'a [u8])> {
        if (self.tag, self.vendor) != (HEADER, 0) {
            return None;
        }
        let colon = memchr::memchr(b':', self.value)?;
        let (name, value) = self.value.split_at(colon);
        Some((name, value.get(1..).unwrap_or_default().trim_ascii_start()))
    }

    /// The value of a Contact as the drafts carry it: without the one space that is written after the colon when it is
    /// read from them. Any other space is preserved.
    pub(crate) fn contact(&self) -> Option<&'a [u8]> {
        let (name, _) = self.header()?;
        if !name.eq_ignore_ascii_case(b"Contact") {
            return None;
        }
        let value = self.value.get(name.len().saturating_add(1)..)?;
        Some(value.strip_prefix(b" ").unwrap_or(value))
    }

    /// Appends the bytes that were logged: `%0D%0A` undone, and base64. Of a header or a body only the part after the
    /// name or the type is encoded, which is why `value` may be a part of the whole.
    ///
    /// [`NotBase64`] when the value is marked as base64 and is not; `out` is then as before.
    pub fn decode(&self, value: &[u8], out: &mut Vec<u8>) -> Result<(), NotBase64> {
        if !self.base64 {
            unescape(value, out);
            return Ok(());
        }
        let mut folded = Vec::new();
        unescape(value, &mut folded);
        folded.retain(|byte| !matches!(byte, b'\r' | b'\n' | b' '));
        let before = out.len();
        STANDARD.decode_vec(&folded, out).map_err(|_| {
            // When the decoder fails, it leaves bytes in `out`.
            out.truncate(before);
            NotBase64
        })
    }

    /// The bytes that [`Optional::decode`] appends: `value` where it stands for itself, otherwise the new content of
    /// `out`.
    pub(crate) fn decoded<'v>(
        &self,
        value: &'v [u8],
        out: &'v mut Vec<u8>,
    ) -> Result<&'v [u8], NotBase64> {
        if !self.base64 && memchr::memchr(b'%', value).is_none() {
            return Ok(value);
        }
        out.clear();
        self.decode(value, out)?;
        Ok(out)
    }
}

/// An optional field is marked as base64, and is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotBase64;

impl std::fmt::Display for NotBase64 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the optional field is marked as base64, but is not valid base64")
    }
}

impl std::error::Error for NotBase64 {}

/// Appends an optional field in the encoding of RFC 6873. `prefix` is a header's name with colon and
/// space, or a body's content type with a space, which stay readable; `value` is base64 when it holds
/// control bytes other than CR LF or is not UTF-8.
///
/// Returns whether the value is longer than [`VALUE_BYTES_MAX`], which RFC 6873 forbids.
pub fn push_optional(tag: u8, vendor: u32, prefix: &[u8], value: &[u8], out: &mut Vec<u8>) -> bool {
    let mut head = *b"\t00@00000000,0000,00,";
    if (tag, vendor) != (HEADER, 0) {
        let mut digits = [0; DIGITS_MAX];
        head[1..3].copy_from_slice(digits_of(u64::from(tag.min(99)), 2, &mut digits));
        let vendor = u64::from(vendor.min(99_999_999));
        head[4..12].copy_from_slice(digits_of(vendor, 8, &mut digits));
    }
    // Nearly every value stands as it is.
    if is_plain(value) && has_none_below::<b' '>(prefix) {
        let len = prefix.len().saturating_add(value.len());
        head[13..17].copy_from_slice(&length_of(len));
        out.reserve(len.saturating_add(HEAD));
        out.extend_from_slice(&head);
        out.extend_from_slice(prefix);
        out.extend_from_slice(value);
        return len > VALUE_BYTES_MAX;
    }
    let base64 = needs_base64(value);
    head[19] = if base64 { b'1' } else { b'0' };
    let begin = out.len();
    out.extend_from_slice(&head);
    let start = out.len();
    // A name with a line break would forge a field.
    out.extend(prefix.iter().map(|&byte| {
        if byte < b' ' || byte == 0x7f {
            b' '
        } else {
            byte
        }
    }));
    if base64 {
        let mut text = String::new();
        STANDARD.encode_string(value, &mut text);
        out.extend_from_slice(text.as_bytes());
    } else {
        escape(value, out);
    }
    let len = out.len().saturating_sub(start);
    let length_at = begin.saturating_add(HEAD - 8);
    if let Some(place) = out.get_mut(length_at..length_at.saturating_add(4)) {
        place.copy_from_slice(&length_of(len));
    }
    len > VALUE_BYTES_MAX
}

/// Returns the four digits of the length of a value.
fn length_of(len: usize) -> [u8; 4] {
    crate::hex::of_u16(u16::try_from(len).unwrap_or(u16::MAX))
}

fn parse(piece: &[u8]) -> Option<Optional<'_>> {
    let head = piece.get(..HEAD.saturating_sub(1))?;
    let value = piece.get(HEAD.saturating_sub(1)..)?;
    let separators = [head.get(2)?, head.get(11)?, head.get(16)?, head.get(19)?];
    if separators != [&b'@', &b',', &b',', &b','] {
        return None;
    }
    // Most fields are header fields.
    let (tag, vendor) = match head.get(..11)? {
        b"00@00000000" => (u64::from(HEADER), 0),
        _ => (decimal(head.get(..2)?)?, decimal(head.get(3..11)?)?),
    };
    Some(Optional {
        tag: u8::try_from(tag).ok()?,
        vendor: u32::try_from(vendor).ok()?,
        length: crate::hex::u16_of(head.get(12..16)?)?,
        base64: match head.get(17..19)? {
            b"00" => false,
            b"01" => true,
            _ => return None,
        },
        value,
    })
}

/// Returns whether a value has control bytes or is not UTF-8; line breaks have an escape of their own.
fn needs_base64(value: &[u8]) -> bool {
    let mut rest = value;
    while let Some((&byte, after)) = rest.split_first() {
        if byte == b'\r' && after.first() == Some(&b'\n') {
            rest = after.get(1..).unwrap_or_default();
            continue;
        }
        if byte < b' ' || byte == 0x7f {
            return true;
        }
        rest = after;
    }
    // A value that contains the escape would be decoded to something else.
    memchr::memmem::find(value, b"%0D%0A").is_some() || std::str::from_utf8(value).is_err()
}

fn escape(value: &[u8], out: &mut Vec<u8>) {
    for &byte in value {
        match byte {
            b'\r' => out.extend_from_slice(b"%0D"),
            b'\n' => out.extend_from_slice(b"%0A"),
            byte => out.push(byte),
        }
    }
}

fn unescape(value: &[u8], out: &mut Vec<u8>) {
    let mut rest = value;
    // To prepare a search for the escape takes longer than to copy most values.
    if memchr::memchr(b'%', rest).is_none() {
        return out.extend_from_slice(rest);
    }
    while let Some(at) = memchr::memmem::find(rest, b"%0D%0A") {
        out.extend_from_slice(rest.get(..at).unwrap_or_default());
        out.extend_from_slice(b"\r\n");
        rest = rest.get(at.saturating_add(6)..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_back_whatever_it_holds() {
        for value in [
            &b"v=0\r\no=alice\r\n"[..],
            b"tab\there",
            b"nul\0and\x7f",
            b"not \xff utf-8",
            b"a bare \n line feed",
            b"an escape %0D%0A of its own",
            b"",
        ] {
            let mut out = Vec::new();
            assert!(!push_optional(BODY, 0, b"text/plain ", value, &mut out));
            assert!(!out[1..].contains(&b'\t') && !out.contains(&b'\n'));
            let fields = Optionals::new(&out);
            assert_eq!(fields.damage(), None);
            let field = fields.iter().next().unwrap();
            assert_eq!(usize::from(field.length), field.value.len());
            let body = field.value.strip_prefix(b"text/plain ").unwrap();
            let mut back = Vec::new();
            field.decode(body, &mut back).unwrap();
            assert_eq!(back, value);
        }
    }

    #[test]
    fn what_is_not_base64_left_zeros_behind() {
        let encoded = b"\t02@00000000,0009,01,bm90IG9uZ";
        let field = Optionals::new(encoded).iter().next().unwrap();
        let mut out = b"before".to_vec();
        assert_eq!(field.decode(field.value, &mut out), Err(NotBase64));
        assert_eq!(out, b"before");
    }

    #[test]
    fn a_name_forges_no_field() {
        let mut out = Vec::new();
        push_optional(HEADER, 0, b"X\t02@00000000,0001,00,\n: ", b"v", &mut out);
        assert_eq!(Optionals::new(&out).iter().count(), 1);
        assert!(!out.contains(&b'\n'));
    }

    #[test]
    fn values_that_are_cut_are_reported() {
        let mut out = Vec::new();
        assert!(!push_optional(MESSAGE, 0, b"", &[b'x'; 4096], &mut out));
        assert!(push_optional(MESSAGE, 0, b"", &[b'x'; 4097], &mut out));
    }
}
