//! Words, punctuation, quoted strings: the ground that the parser stands on.

use crate::{
    Arena, Extension, TextOptions,
    error::{ErrorKind, FirstFailure, Stop},
    name::{Name, Value},
    text::token::{Token, token},
};

/// The mark by which editors begin a file of text in UTF-8 (U+FEFF).
pub(crate) const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// The classes of a character.
const SAFE: u8 = 1;
const BLANK: u8 = 2;
/// May stand in a quoted string by the standard: safe, blank, or one of the rest.
const QUOTABLE: u8 = 4;

static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut at = 0;
    while at < 256 {
        let octet = at as u8;
        classes[at] = match octet {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => SAFE | QUOTABLE,
            b'+' | b'-' | b'&' | b'!' | b'_' | b'/' | b'\'' | b'?' | b'@' | b'^' | b'`' | b'~'
            | b'*' | b'$' | b'\\' | b'(' | b')' | b'%' | b'|' | b'.' => SAFE | QUOTABLE,
            b' ' | b'\t' => BLANK | QUOTABLE,
            b'\r' | b'\n' => BLANK,
            b';' | b'[' | b']' | b'{' | b'}' | b':' | b',' | b'#' | b'<' | b'>' | b'=' => QUOTABLE,
            _ => 0,
        };
        at += 1;
    }
    classes
}

#[inline]
fn class(octet: u8) -> u8 {
    CLASS.get(usize::from(octet)).copied().unwrap_or_default()
}

/// The number of characters of the word at the beginning.
#[inline]
fn word_len(octets: &[u8]) -> usize {
    if let Some(chunk) = octets.first_chunk::<8>() {
        // Most words end here, and this loop needs no count.
        for (at, octet) in chunk.iter().enumerate() {
            if class(*octet) & SAFE == 0 {
                return at;
            }
        }
        return long_word_len(octets, chunk.len());
    }
    long_word_len(octets, 0)
}

/// The same when the first `len` characters are known to be of the word.
#[inline(never)]
fn long_word_len(octets: &[u8], mut len: usize) -> usize {
    while let Some(chunk) = octets.get(len..).and_then(<[u8]>::first_chunk::<8>)
        && are_digits(u64::from_le_bytes(*chunk))
    {
        len = len.wrapping_add(8);
    }
    while octets
        .get(len)
        .is_some_and(|octet| class(*octet) & SAFE != 0)
    {
        len = len.wrapping_add(1);
    }
    len
}

/// Whether eight characters are all of `-./0123456789`, which is what long words are made of:
/// identifiers of terminations, times.
#[inline]
fn are_digits(octets: u64) -> bool {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    let seven = octets & !HIGH;
    let from_dash = seven.wrapping_add((0x80 - b'-' as u64) * EACH);
    let beyond_nine = seven.wrapping_add((0x80 - b'9' as u64 - 1) * EACH);
    from_dash & !beyond_nine & !octets & HIGH == HIGH
}

/// Whether a value can stand without quotes.
#[inline]
pub(crate) fn is_word(octets: &[u8]) -> bool {
    !octets.is_empty() && octets.iter().all(|octet| class(*octet) & SAFE != 0)
}

/// Reads one message. Every method leaves the position at the start of the next word or punctuation
/// mark: white space and comments behind what it read are passed over.
pub(crate) struct Parser<'a> {
    pub(crate) input: &'a [u8],
    pub(crate) at: usize,
    /// The beginning of the last word: the place of an error about it.
    pub(crate) word_at: usize,
    pub(crate) arena: &'a Arena,
    pub(crate) strict: bool,
    pub(crate) depth: u8,
    pub(crate) failure: FirstFailure,
    pub(crate) extensions: bumpalo::collections::Vec<'a, Extension<'a>>,
    /// ServiceChange requests that were begun.
    pub(crate) service_changes: u32,
}

pub(crate) type Res<T> = Result<T, Stop>;

impl<'a> Parser<'a> {
    pub(crate) fn new(input: &'a [u8], arena: &'a Arena, options: TextOptions) -> Self {
        Self {
            input,
            at: 0,
            word_at: 0,
            arena,
            strict: options.strict,
            depth: 0,
            failure: FirstFailure::default(),
            extensions: arena.growing(0),
            service_changes: 0,
        }
    }

    /// Stops at the word read last.
    #[cold]
    pub(crate) fn fail_word<T>(&mut self, kind: ErrorKind, expected: &'static str) -> Res<T> {
        Err(self.failure.at(kind, self.word_at, expected))
    }

    /// Stops at the position.
    #[cold]
    pub(crate) fn fail<T>(&mut self, expected: &'static str) -> Res<T> {
        let kind = if self.at >= self.input.len() {
            ErrorKind::Cut
        } else {
            ErrorKind::Syntax
        };
        Err(self.failure.at(kind, self.at, expected))
    }

    #[cold]
    pub(crate) fn twice<T>(&mut self) -> Res<T> {
        self.fail_word(ErrorKind::Cardinality, "given twice, but permitted once")
    }

    /// The character at the position; 0 at the end.
    #[inline]
    pub(crate) fn peek(&self) -> u8 {
        self.input.get(self.at).copied().unwrap_or(0)
    }

    /// Passes over white space and comments.
    #[inline]
    pub(crate) fn skip(&mut self) {
        let octet = self.peek();
        if octet > b' ' && octet != b';' {
            return;
        }
        self.skip_slow();
    }

    #[inline(never)]
    fn skip_slow(&mut self) {
        while let Some(octet) = self.input.get(self.at) {
            if class(*octet) & BLANK != 0 {
                self.at += 1;
            } else if *octet == b';' {
                let rest = self.input.get(self.at..).unwrap_or_default();
                let end = rest.iter().position(|octet| matches!(octet, b'\r' | b'\n'));
                self.at = self.at.saturating_add(end.unwrap_or(rest.len()));
            } else {
                return;
            }
        }
    }

    /// Passes over a punctuation mark, if it is the next.
    #[inline]
    pub(crate) fn take(&mut self, mark: u8) -> bool {
        if self.peek() != mark {
            return false;
        }
        self.at += 1;
        self.skip();
        true
    }

    /// Passes over a punctuation mark.
    #[inline]
    pub(crate) fn expect(&mut self, mark: u8, expected: &'static str) -> Res<()> {
        if self.take(mark) {
            Ok(())
        } else {
            self.fail(expected)
        }
    }

    #[inline]
    pub(crate) fn equals(&mut self) -> Res<()> {
        self.expect(b'=', "`=`")
    }

    #[inline]
    pub(crate) fn open(&mut self) -> Res<()> {
        self.expect(b'{', "`{`")
    }

    /// Reads the next mark of a list in braces: true when an element follows, false when the closing mark was read.
    #[inline]
    pub(crate) fn more(&mut self) -> Res<bool> {
        match self.peek() {
            b',' => {
                self.at += 1;
                self.skip();
                // A comma stands behind the last element, as in RFC 3525 Appendix I.
                Ok(self.strict || !self.take(b'}'))
            }
            b'}' => {
                self.at += 1;
                self.skip();
                Ok(false)
            }
            _ => self.fail("`,` or `}`"),
        }
    }

    /// A word, without what follows it being passed over.
    #[inline]
    pub(crate) fn bare_word(&mut self) -> Res<&'a [u8]> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let len = word_len(rest);
        self.word_at = self.at;
        if len == 0 {
            return self.fail("a word");
        }
        self.at = self.at.wrapping_add(len);
        Ok(rest.get(..len).unwrap_or_default())
    }

    /// A word.
    #[inline]
    pub(crate) fn word(&mut self) -> Res<&'a [u8]> {
        let word = self.bare_word()?;
        self.skip();
        Ok(word)
    }

    /// A word and its meaning.
    #[inline]
    pub(crate) fn token(&mut self) -> Res<(Token, &'a [u8])> {
        let word = self.word()?;
        Ok((token(word), word))
    }

    /// A word of the protocol.
    pub(crate) fn keyword(&mut self, wanted: Token, expected: &'static str) -> Res<()> {
        match self.token() {
            Ok((found, _)) if found == wanted => Ok(()),
            _ => {
                self.failure = FirstFailure::default();
                self.fail_word(ErrorKind::Syntax, expected)
            }
        }
    }

    #[inline]
    pub(crate) fn number_of(
        &mut self,
        digits: &[u8],
        max: u32,
        expected: &'static str,
    ) -> Res<u32> {
        if digits.len() < 10 && !digits.is_empty() {
            let mut value = 0_u32;
            for digit in digits {
                let digit = digit.wrapping_sub(b'0');
                if digit > 9 {
                    return self.fail_word(ErrorKind::Syntax, expected);
                }
                value = value.wrapping_mul(10).wrapping_add(u32::from(digit));
            }
            if value > max {
                return self.fail_word(ErrorKind::Range, expected);
            }
            return Ok(value);
        }
        let mut value = 0_u64;
        for digit in digits {
            if !digit.is_ascii_digit() {
                return self.fail_word(ErrorKind::Syntax, expected);
            }
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            if value > u64::from(max) {
                return self.fail_word(ErrorKind::Range, expected);
            }
        }
        if digits.is_empty() || self.strict && digits.len() > 10 {
            return self.fail_word(ErrorKind::Syntax, expected);
        }
        Ok(value as u32)
    }

    #[inline]
    pub(crate) fn number(&mut self, max: u32, expected: &'static str) -> Res<u32> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let mut value = 0_u32;
        // Nine digits fit; a longer text, or one that is not a number, is read by the function that makes the error.
        for (at, octet) in rest.iter().enumerate().take(10) {
            let digit = octet.wrapping_sub(b'0');
            if digit > 9 {
                if at == 0 || class(*octet) & SAFE != 0 || value > max {
                    break;
                }
                self.word_at = self.at;
                self.at = self.at.wrapping_add(at);
                self.skip();
                return Ok(value);
            }
            value = value.wrapping_mul(10).wrapping_add(u32::from(digit));
        }
        let word = self.word()?;
        self.number_of(word, max, expected)
    }

    #[inline]
    pub(crate) fn uint16(&mut self) -> Res<u16> {
        self.number(0xffff, "a number up to 65535")
            .map(|value| value as u16)
    }

    #[inline]
    pub(crate) fn uint32(&mut self) -> Res<u32> {
        self.number(u32::MAX, "a number up to 4294967295")
    }

    /// `=` and a number.
    #[inline]
    pub(crate) fn equals_uint16(&mut self) -> Res<u16> {
        self.equals()?;
        self.uint16()
    }

    /// Between quotes.
    pub(crate) fn quoted(&mut self) -> Res<&'a [u8]> {
        self.word_at = self.at;
        if self.peek() != b'"' {
            return self.fail("a quoted string");
        }
        let start = self.at.saturating_add(1);
        let rest = self.input.get(start..).unwrap_or_default();
        let Some(len) = rest.iter().position(|octet| *octet == b'"') else {
            self.at = self.input.len();
            return self.fail("a closing quote");
        };
        let octets = rest.get(..len).unwrap_or_default();
        if self.strict && octets.iter().any(|octet| class(*octet) & QUOTABLE == 0) {
            return self.fail_word(ErrorKind::Syntax, "printable ASCII between quotes");
        }
        self.at = start.saturating_add(len).saturating_add(1);
        self.skip();
        Ok(octets)
    }

    /// A word or a quoted string.
    #[inline]
    pub(crate) fn value(&mut self) -> Res<Value<'a>> {
        if self.peek() == b'"' {
            return Ok(Value {
                octets: self.quoted()?,
                quoted: true,
            });
        }
        Ok(Value {
            octets: self.word()?,
            quoted: false,
        })
    }

    /// A name: in strict reading a letter, then letters, digits and underscores, 64 at most.
    #[inline]
    pub(crate) fn name_of(&mut self, word: &'a [u8]) -> Res<Name<'a>> {
        if self.strict && !is_name(word) {
            return self.fail_word(
                ErrorKind::Syntax,
                "a name of up to 64 letters, digits and _",
            );
        }
        Ok(Name::Text(word))
    }

    /// A name in a package.
    #[inline]
    pub(crate) fn package_name_of(&mut self, word: &'a [u8]) -> Res<Name<'a>> {
        let slash = word.iter().position(|octet| *octet == b'/');
        let parts =
            slash.and_then(|slash| Some((word.get(..slash)?, word.get(slash.checked_add(1)?..)?)));
        match parts {
            Some((package, item)) if !package.is_empty() && !item.is_empty() => {
                let part = |part| part == b"*" || is_name(part);
                if self.strict && !(part(package) && part(item)) {
                    return self.fail_word(ErrorKind::Syntax, "package/item");
                }
                Ok(Name::Text(word))
            }
            _ => self.fail_word(ErrorKind::Syntax, "package/item"),
        }
    }

    #[inline]
    pub(crate) fn package_name(&mut self) -> Res<Name<'a>> {
        let word = self.word()?;
        self.package_name_of(word)
    }

    /// Octets up to a closing brace, which may be escaped; the opening one has been passed over
    /// without what follows it.
    pub(crate) fn octets(&mut self) -> Res<&'a [u8]> {
        let start = self.at;
        let rest = self.input.get(start..).unwrap_or_default();
        let mut from = 0_usize;
        let mut escaped = false;
        loop {
            let tail = rest.get(from..).unwrap_or_default();
            let Some(found) = tail.iter().position(|octet| *octet == b'}') else {
                self.at = self.input.len();
                return self.fail("`}` after octets");
            };
            let end = from.saturating_add(found);
            if end.checked_sub(1).and_then(|before| rest.get(before)) == Some(&b'\\') {
                escaped = true;
                from = end.saturating_add(1);
                continue;
            }
            self.at = start.saturating_add(end).saturating_add(1);
            self.skip();
            let octets = rest.get(..end).unwrap_or_default();
            return Ok(if escaped {
                self.unescape(octets)
            } else {
                octets
            });
        }
    }

    fn unescape(&self, octets: &[u8]) -> &'a [u8] {
        let mut plain = self.arena.growing(octets.len());
        for (at, octet) in octets.iter().enumerate() {
            let escapes = *octet == b'\\' && octets.get(at.saturating_add(1)) == Some(&b'}');
            if !escapes {
                plain.push(*octet);
            }
        }
        plain.into_bump_slice()
    }

    /// Goes one level deeper into embedded descriptors.
    pub(crate) fn enter(&mut self) -> Res<()> {
        if self.depth >= crate::wire::list::EMBEDDED_DEPTH_MAX {
            return self.fail_word(ErrorKind::Limit, crate::wire::list::DEPTH);
        }
        self.depth = self.depth.saturating_add(1);
        Ok(())
    }
}

/// NAME of the grammar.
fn is_name(word: &[u8]) -> bool {
    word.first().is_some_and(u8::is_ascii_alphabetic)
        && word.len() <= 64
        && word
            .iter()
            .all(|octet| octet.is_ascii_alphanumeric() || *octet == b'_')
}

/// Names the element for the path of an error.
macro_rules! within {
    ($parser:ident, $element:literal, $result:expr) => {
        $result.map_err(|stop| $parser.failure.within($element, stop))
    };
}
pub(super) use within;

/// Fills a component that may be given once.
macro_rules! once {
    ($parser:ident, $place:expr, $value:expr) => {{
        let value = $value;
        if $place.replace(value).is_some() {
            return $parser.twice();
        }
    }};
}
pub(super) use once;

/// Sets a mark that may be given once.
macro_rules! once_flag {
    ($parser:ident, $place:expr) => {{
        if $place {
            return $parser.twice();
        }
        $place = true;
    }};
}
pub(super) use once_flag;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_characters_at_once_are_what_they_are_one_by_one() {
        for octet in 0..=255_u8 {
            for at in 0..8 {
                let mut octets = *b"0-9./915";
                octets[at] = octet;
                let expected = matches!(octet, b'-'..=b'9');
                assert_eq!(
                    are_digits(u64::from_le_bytes(octets)),
                    expected,
                    "{octets:?}"
                );
                assert!(!expected || class(octet) & SAFE != 0);
            }
        }
        let text = b"11111111/00000000/00000001,";
        for start in 0..text.len() {
            assert_eq!(word_len(&text[start..]), 26 - start);
            assert_eq!(word_len(&text[start..26]), 26 - start);
        }
    }
}
