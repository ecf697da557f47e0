//! Walking through the text of header values: white space, tokens, quotes and brackets.

use memchr::memchr;

/// True for linear white space and the line ends of folded values (RFC 3261 §25.1, LWS).
pub(crate) const fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// True for the bytes of a token (RFC 3261 §25.1).
pub(crate) const fn is_token_byte(byte: u8) -> bool {
    matches!(byte,
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z'
        | b'-' | b'.' | b'!' | b'%' | b'*' | b'_' | b'+' | b'`' | b'\'' | b'~')
}

/// True for a token: at least one byte, and all of them of a token.
pub(crate) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|byte| is_token_byte(*byte))
}

/// The bytes without white space at both ends.
#[inline]
pub(crate) fn trim(bytes: &[u8]) -> &[u8] {
    trim_start(trim_end(bytes))
}

#[inline]
pub(crate) fn trim_start(mut bytes: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = bytes {
        if !is_white(*first) {
            break;
        }
        bytes = rest;
    }
    bytes
}

#[inline]
pub(crate) fn trim_end(mut bytes: &[u8]) -> &[u8] {
    while let [rest @ .., last] = bytes {
        if !is_white(*last) {
            break;
        }
        bytes = rest;
    }
    bytes
}

/// The bytes before the first `byte` and those behind it.
#[inline]
pub(crate) fn split_once(bytes: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|found| *found == byte)?;
    Some((bytes.get(..at)?, bytes.get(at.saturating_add(1)..)?))
}

/// The offset of the first byte that `wanted` accepts, outside of quoted strings and, unless it is
/// `<` itself that is wanted, outside of angle brackets.
#[inline]
pub(crate) fn find_outside(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> Option<usize> {
    let mut quoted = false;
    let mut bracketed = false;
    let mut escaped = false;
    for (at, byte) in bytes.iter().copied().enumerate() {
        if quoted {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => quoted = false,
                _ => {}
            }
        } else if bracketed {
            bracketed = byte != b'>';
        } else if wanted(byte) {
            return Some(at);
        } else if byte == b'"' {
            quoted = true;
        } else if byte == b'<' {
            bracketed = true;
        }
    }
    None
}

/// The length of the quoted string at the start of `bytes`, with both quotes; `None` when it does
/// not end.
pub(crate) fn quoted_len(bytes: &[u8]) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in bytes.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at.checked_add(1),
            _ => {}
        }
    }
    None
}

/// The offset of `part`, which borrows from `whole`.
pub(crate) fn offset_in(whole: &[u8], part: &[u8]) -> usize {
    let offset = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
    offset.min(whole.len())
}

/// A decimal number of digits only; `None` when it is empty, is anything else, or has no place in 64 bits.
pub(crate) fn decimal(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() {
        return None;
    }
    bytes.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| byte.wrapping_sub(b'0'))?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// The length of the comment at the start of `bytes`, in which others may stand (RFC 3261 §25.1), with its parentheses; `None`
/// when it does not end.
fn comment_len(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut escaped = false;
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'(' => depth = depth.saturating_add(1),
            b')' if depth <= 1 => return at.checked_add(1),
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// The elements of a comma-separated list, each without white space around it. Quotes and angle
/// brackets keep a comma from separating.
#[derive(Clone, Debug)]
pub struct List<'a> {
    rest: Option<&'a [u8]>,
    /// Whether comments keep a comma from separating, too, and all so far had an end.
    has_comments: bool,
}

impl<'a> List<'a> {
    /// The elements of a header's value.
    #[must_use]
    pub fn new(value: &'a [u8]) -> Self {
        Self {
            rest: Some(value),
            has_comments: false,
        }
    }

    /// The elements of a Via, in which comments may stand behind white space (RFC 2543 §6.40).
    #[must_use]
    pub(crate) fn of_vias(value: &'a [u8]) -> Self {
        Self {
            rest: Some(value),
            has_comments: memchr(b'(', value).is_some(),
        }
    }

    /// The offset of the first comma that is in no comment.
    fn comma_outside_comments(&mut self, rest: &[u8]) -> Option<usize> {
        let mut at = 0_usize;
        loop {
            let behind = rest.get(at..)?;
            let found = find_outside(behind, |byte| matches!(byte, b',' | b'('))?;
            let (before, from) = behind.split_at_checked(found)?;
            let place = at.checked_add(found)?;
            if from.first() == Some(&b',') {
                return Some(place);
            }
            // A parenthesis within a value begins no comment.
            let is_comment = before.last().is_some_and(|byte| is_white(*byte));
            let len = match is_comment && self.has_comments {
                true => comment_len(from),
                false => None,
            };
            // Behind a comment without an end no other one is looked for, so that no octet is read often.
            self.has_comments &= len.is_some() || !is_comment;
            at = place.checked_add(len.unwrap_or(1))?;
        }
    }
}

impl<'a> Iterator for List<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let end = match self.has_comments {
            true => self.comma_outside_comments(rest),
            false => find_outside(rest, |byte| byte == b','),
        };
        self.rest = end.and_then(|end| rest.get(end.saturating_add(1)..));
        Some(trim(rest.get(..end.unwrap_or(rest.len()))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_split_outside_of_quotes_and_brackets() {
        let value = b" \"a,\\\"b\" <sip:x,y@h>;q=1 ,\r\n c , ,";
        let elements: Vec<&[u8]> = List::new(value).collect();
        assert_eq!(
            elements,
            [&b"\"a,\\\"b\" <sip:x,y@h>;q=1"[..], b"c", b"", b""]
        );
        assert_eq!(List::new(b"\"open, <a").count(), 1);
    }

    /// A comma in a comment separated elements.
    #[test]
    fn commas_in_comments_do_not_separate_vias() {
        for (value, expected) in [
            ("a (b, c), d", &["a (b, c)", "d"][..]),
            (
                "a (b (c, d), e)\r\n (f,), g",
                &["a (b (c, d), e)\r\n (f,)", "g"],
            ),
            ("a (b \\), c), d", &["a (b \\), c)", "d"]),
            ("a (\"b), c", &["a (\"b)", "c"]),
            // No comments: within a value, without an end, in quotes.
            ("a;b=c(d,e), f", &["a;b=c(d", "e)", "f"]),
            ("a (b, c (d, e)", &["a (b", "c (d", "e)"]),
            ("a;b=\"c (d\", e), f", &["a;b=\"c (d\"", "e)", "f"]),
        ] {
            let elements: Vec<&[u8]> = List::of_vias(value.as_bytes()).collect();
            let expected: Vec<&[u8]> = expected.iter().map(|text| text.as_bytes()).collect();
            assert_eq!(elements, expected, "{value:?}");
        }
        assert_eq!(List::new(b"a (b, c)").count(), 2);
        let many = " (".repeat(100_000);
        assert_eq!(List::of_vias(many.as_bytes()).count(), 1);
    }

    #[test]
    fn numbers_are_digits_that_have_a_place() {
        assert_eq!(decimal(b"0068"), Some(68));
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        for bad in [&b""[..], b"-1", b"+1", b"1 ", b"18446744073709551616"] {
            assert_eq!(decimal(bad), None);
        }
    }

    #[test]
    fn quoted_strings_end_behind_their_quote() {
        assert_eq!(quoted_len(b"\"a\\\"b\" c"), Some(6));
        assert_eq!(quoted_len(b"\"a\\\""), None);
        assert_eq!(quoted_len(b"\""), None);
    }
}
