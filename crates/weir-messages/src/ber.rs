//! Values of ASN.1 by the basic encoding rules.

use std::fmt::Write as _;

use weir_bytes::u8_at;

/// Reads values of BER (X.690, 8.1).
#[derive(Clone, Copy)]
pub(crate) struct Ber<'m>(pub(crate) &'m [u8]);

impl<'m> Ber<'m> {
    /// The next tag and its contents, with a length of any form: contents of indefinite length are without their end mark, and
    /// values within values are followed [`DEPTH_MAX`] deep to find it.
    pub(crate) fn next_of_any_length(&mut self) -> Option<(u8, &'m [u8])> {
        if u8_at(self.0, 1)? != INDEFINITE {
            return self.next();
        }
        let tag = u8_at(self.0, 0)?;
        let contents = self.0.get(2..)?;
        let length = indefinite(contents, DEPTH_MAX)?;
        self.0 = contents.get(length + 2..)?;
        Some((tag, contents.get(..length)?))
    }

    /// The octets after the next tag and its length, whatever the length is.
    pub(crate) fn behind_header(&self) -> Option<&'m [u8]> {
        let octets_of_length = match u8_at(self.0, 1)? {
            length @ 0x81..=0x84 => usize::from(length & 0x7f),
            0x85.. => return None,
            _ => 0,
        };
        self.0.get(2 + octets_of_length..)
    }

    /// The next tag and its contents, of a definite length.
    pub(crate) fn next(&mut self) -> Option<(u8, &'m [u8])> {
        let (tag, length) = (u8_at(self.0, 0)?, u8_at(self.0, 1)?);
        let (at, length) = match length {
            0..=127 => (2, usize::from(length)),
            0x81..=0x84 => {
                let count = usize::from(length & 0x7f);
                let octets = self.0.get(2..2 + count)?;
                let length = octets
                    .iter()
                    .fold(0_u64, |sum, octet| sum << 8 | u64::from(*octet));
                (2 + count, usize::try_from(length).ok()?)
            }
            _ => return None,
        };
        let end = at.checked_add(length)?;
        let contents = self.0.get(at..end)?;
        self.0 = self.0.get(end..)?;
        Some((tag, contents))
    }

    /// The contents of the next value, which must have this tag.
    pub(crate) fn of(&mut self, tag: u8) -> Option<&'m [u8]> {
        let (found, contents) = self.next()?;
        (found == tag).then_some(contents)
    }

    /// The next value, a number.
    pub(crate) fn integer(&mut self) -> Option<i64> {
        integer(self.of(INTEGER)?)
    }

    /// The values of the next one, a sequence.
    pub(crate) fn sequence(&mut self) -> Option<Self> {
        self.of(SEQUENCE).map(Self)
    }
}

/// Octets before those that end contents of indefinite length.
fn indefinite(contents: &[u8], depth: usize) -> Option<usize> {
    let mut rest = Ber(contents);
    loop {
        if rest.0.starts_with(&[0, 0]) {
            return contents.len().checked_sub(rest.0.len());
        }
        if u8_at(rest.0, 1)? == INDEFINITE {
            let inner = rest.0.get(2..)?;
            let length = indefinite(inner, depth.checked_sub(1)?)?;
            rest.0 = inner.get(length + 2..)?;
        } else {
            rest.next()?;
        }
    }
}

/// The whole ones of values of which the last octets are missing, and of the one that is not whole, if it holds others, those that are, with the
/// length that they have; values are followed so many within each other.
pub(crate) fn clipped(bytes: &[u8], depth: usize) -> Vec<u8> {
    let mut rest = Ber(bytes);
    while rest.next().is_some() {}
    let whole = bytes.len().saturating_sub(rest.0.len());
    let mut all = bytes.get(..whole).unwrap_or_default().to_vec();
    if let Some(tag) = u8_at(rest.0, 0).filter(|tag| tag & CONSTRUCTED != 0)
        && let Some(depth) = depth.checked_sub(1)
        && let Some(contents) = rest.behind_header()
    {
        let contents = clipped(contents, depth);
        let length = u32::try_from(contents.len()).unwrap_or(u32::MAX);
        all.extend([tag, 0x84]);
        all.extend(length.to_be_bytes());
        all.extend(contents);
    }
    all
}

/// The bit of a tag whose value holds others (X.690, 8.1.2.5).
const CONSTRUCTED: u8 = 0x20;
/// The indefinite form of a length: the contents go on until their end is marked.
const INDEFINITE: u8 = 0x80;
/// Values within values whose lengths are not written.
const DEPTH_MAX: usize = 16;
pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const OCTETS: u8 = 0x04;
pub(crate) const OBJECT: u8 = 0x06;
pub(crate) const SEQUENCE: u8 = 0x30;

/// A number with a sign, of eight octets at most.
pub(crate) fn integer(contents: &[u8]) -> Option<i64> {
    let first = contents.first()?;
    if contents.len() > 8 {
        return None;
    }
    let sign = if first & 0x80 == 0 { 0 } else { -1 };
    Some(
        contents
            .iter()
            .fold(sign, |sum, octet| sum << 8 | i64::from(*octet)),
    )
}

/// A number without a sign, of eight octets at most.
pub(crate) fn unsigned(contents: &[u8]) -> Option<u64> {
    // A zero may stand before the highest bit.
    let digits = match contents {
        [0, rest @ ..] => rest,
        all => all,
    };
    if digits.len() > 8 {
        return None;
    }
    Some(
        digits
            .iter()
            .fold(0, |sum, octet| sum << 8 | u64::from(*octet)),
    )
}

/// An object identifier with dots (X.690, 8.19).
pub(crate) fn object(contents: &[u8]) -> Option<String> {
    let mut text = String::new();
    let mut number = 0_u64;
    let mut is_first = true;
    for octet in contents {
        number = number.checked_mul(128)? | u64::from(octet & 0x7f);
        if octet & 0x80 != 0 {
            continue;
        }
        if is_first {
            let top = (number / 40).min(2);
            let _ = write!(text, "{top}.{}", number - top * 40);
            is_first = false;
        } else {
            let _ = write!(text, ".{number}");
        }
        number = 0;
    }
    (!is_first).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_of_indefinite_length_end_where_their_own_mark_is() {
        let bytes = b"\x62\x80\x48\x01\x07\x6b\x80\x02\x01\x05\0\0\0\0\x02\x01\x09";
        let mut all = Ber(bytes);
        let (tag, contents) = all.next_of_any_length().unwrap();
        assert_eq!((tag, contents), (0x62, &bytes[2..12]));
        assert_eq!(all.next(), Some((INTEGER, &b"\x09"[..])));
        for end in 0..14 {
            assert_eq!(Ber(&bytes[..end]).next_of_any_length(), None, "{end}");
        }
        // Unended indefinite lengths are not followed without a limit.
        let deep = [0x30, 0x80].repeat(50_000);
        assert_eq!(Ber(&deep).next_of_any_length(), None);
    }
}
