//! Searches in bytes.
//!
//! Payloads are bytes that may be text. Conditions apply to the bytes, so that bytes that are no UTF-8 do not make them
//! fail: `_` of a LIKE is one byte, and so is `.` of a pattern.

use std::fmt;

use memchr::memmem::Finder;
use regex::bytes::{Regex, RegexBuilder};

use crate::Operator;

/// A condition on bytes.
#[derive(Clone, Debug)]
pub struct Search {
    part: Part,
    what: What,
}

/// A part of the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The number of the first byte, from 1, or from the end when it is negative; `None` for the first of all.
    pub from: Option<i64>,
    /// The number of the last byte, in the same way; it is included.
    pub to: Option<i64>,
}

#[derive(Clone, Debug)]
enum What {
    Contains(Box<Finder<'static>>),
    StartsWith(Vec<u8>),
    EndsWith(Vec<u8>),
    Matches(Regex),
    Compares(Operator, Vec<u8>),
    /// The comparison of the bytes as a number.
    Counts(Operator, i128),
}

impl Part {
    /// The part of some bytes; empty when its ends cross.
    #[must_use]
    pub fn of<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let len = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
        let place = |place: i64| match place {
            ..0 => len.saturating_add(place).saturating_add(1),
            _ => place,
        };
        let from = self.from.map_or(1, place).max(1) - 1;
        let to = self.to.map_or(len, place).clamp(0, len);
        let (Ok(from), Ok(to)) = (usize::try_from(from), usize::try_from(to)) else {
            return &[];
        };
        bytes.get(from..to).unwrap_or_default()
    }
}

/// The bytes as a number, the first of them the highest; `None` for no bytes, and for more than 8.
#[must_use]
pub fn number_of(bytes: &[u8]) -> Option<u64> {
    let is_number = (1..=size_of::<u64>()).contains(&bytes.len());
    is_number.then(|| {
        bytes
            .iter()
            .fold(0, |all, byte| all << 8 | u64::from(*byte))
    })
}

impl Search {
    const fn of(what: What) -> Self {
        let part = Part {
            from: None,
            to: None,
        };
        Self { part, what }
    }

    /// The bytes contain these.
    #[must_use]
    pub fn contains(bytes: &[u8]) -> Self {
        Self::of(What::Contains(Box::new(Finder::new(bytes).into_owned())))
    }

    /// The bytes begin with these.
    #[must_use]
    pub fn starts_with(bytes: &[u8]) -> Self {
        Self::of(What::StartsWith(bytes.to_vec()))
    }

    /// The bytes end with these.
    #[must_use]
    pub fn ends_with(bytes: &[u8]) -> Self {
        Self::of(What::EndsWith(bytes.to_vec()))
    }

    /// The bytes compare with these by `operator`.
    #[must_use]
    pub fn compares(operator: Operator, bytes: &[u8]) -> Self {
        Self::of(What::Compares(operator, bytes.to_vec()))
    }

    /// The bytes, as a number, compare with `number` by `operator`.
    #[must_use]
    pub const fn counts(operator: Operator, number: i128) -> Self {
        Self::of(What::Counts(operator, number))
    }

    /// The bytes match a pattern of SQL's LIKE: `%` for any bytes, `_` for one.
    ///
    /// # Errors
    /// When the pattern ends with the escape, or needs too much room.
    pub fn like(pattern: &str, escape: Option<char>, ignores_case: bool) -> Result<Self, String> {
        let escape = escape.unwrap_or('\\');
        // The parts of the pattern: literal texts, and the wildcards `%` and `_`.
        let mut parts: Vec<Like> = Vec::new();
        let mut letters = pattern.chars();
        while let Some(letter) = letters.next() {
            let literal = match letter {
                '%' => {
                    parts.push(Like::Any);
                    continue;
                }
                '_' => {
                    parts.push(Like::One);
                    continue;
                }
                letter if letter == escape => letters
                    .next()
                    .ok_or_else(|| format!("the pattern '{pattern}' ends with its escape"))?,
                letter => letter,
            };
            match parts.last_mut() {
                Some(Like::Text(text)) => text.push(literal),
                _ => parts.push(Like::Text(literal.to_string())),
            }
        }
        if !ignores_case {
            match parts.as_slice() {
                [Like::Any, Like::Text(text), Like::Any] => {
                    return Ok(Self::contains(text.as_bytes()));
                }
                [Like::Text(text), Like::Any] => return Ok(Self::starts_with(text.as_bytes())),
                [Like::Any, Like::Text(text)] => return Ok(Self::ends_with(text.as_bytes())),
                [Like::Text(text)] => return Ok(Self::compares(Operator::Equal, text.as_bytes())),
                _ => {}
            }
        }
        let mut written = String::from("^");
        for part in &parts {
            match part {
                Like::Any => written.push_str(".*"),
                Like::One => written.push('.'),
                Like::Text(text) => written.push_str(&regex::escape(text)),
            }
        }
        written.push('$');
        let built = RegexBuilder::new(&written)
            .case_insensitive(ignores_case)
            .dot_matches_new_line(true)
            .unicode(false)
            .size_limit(PATTERN_BYTES_MAX)
            .build();
        built
            .map(|regex| Self::of(What::Matches(regex)))
            .map_err(|error| pattern_error(&error))
    }

    /// The bytes contain a match of a regular expression.
    ///
    /// # Errors
    /// When the pattern does not parse: what is wrong with it.
    pub fn matches(pattern: &str, ignores_case: bool) -> Result<Self, String> {
        let regex = Self::regex(pattern, ignores_case)?;
        Ok(Self::of(What::Matches(regex)))
    }

    /// A regular expression over bytes.
    ///
    /// # Errors
    /// When the pattern does not parse: what is wrong with it.
    pub fn regex(pattern: &str, ignores_case: bool) -> Result<Regex, String> {
        RegexBuilder::new(pattern)
            .case_insensitive(ignores_case)
            .unicode(false)
            .size_limit(PATTERN_BYTES_MAX)
            .build()
            .map_err(|error| pattern_error(&error))
    }

    /// What to write in place of a pattern that is refused for this reason.
    #[must_use]
    pub fn pattern_hint(reason: &str) -> &'static str {
        if reason.contains("look-around") || reason.contains("backreference") {
            "patterns have neither look-around nor backreferences: several conditions are joined with AND and NOT"
        } else if reason.contains("atomic") || reason.contains("possessive") {
            "write a+ for a++ and (?:a) for (?>a): they find the same where what follows does not begin alike"
        } else if reason.contains("size limit") {
            "repeat less: \\w{1000} stands for a thousand sets of letters"
        } else if reason.contains("unrecognized flag") {
            "the flags are i (ignores case), m, s, x and U"
        } else {
            "a backslash stands before a character that is meant as it is, such as \\( and \\["
        }
    }

    /// The same search in a part of the bytes.
    #[must_use]
    pub fn in_part(self, part: Part) -> Self {
        Self { part, ..self }
    }

    /// Returns whether it holds; `None` where it compares a number and the bytes cannot be read as one.
    #[must_use]
    pub fn holds(&self, bytes: &[u8]) -> Option<bool> {
        let bytes = self.part.of(bytes);
        Some(match &self.what {
            What::Contains(finder) => finder.find(bytes).is_some(),
            What::StartsWith(part) => bytes.starts_with(part),
            What::EndsWith(part) => bytes.ends_with(part),
            What::Matches(regex) => regex.is_match(bytes),
            What::Compares(operator, other) => operator.holds(bytes.cmp(other.as_slice())),
            What::Counts(operator, other) => {
                operator.holds(i128::from(number_of(bytes)?).cmp(other))
            }
        })
    }
}

enum Like {
    Any,
    One,
    Text(String),
}

/// The message of an invalid pattern, which is the last line of the error.
pub(crate) fn pattern_error(error: &regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().last().unwrap_or_default().trim();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// A pattern that needs more room is refused.
const PATTERN_BYTES_MAX: usize = 1 << 20;

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |place: Option<i64>| place.map_or_else(String::new, |place| place.to_string());
        match (self.from, self.to) {
            (None, None) => Ok(()),
            (from, to) => write!(f, "[{}:{}]", place(from), place(to)),
        }
    }
}

impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |f: &mut fmt::Formatter<'_>, word: &str, bytes: &[u8]| {
            write!(f, "{} {word} \"{}\"", self.part, bytes.escape_ascii())
        };
        match &self.what {
            What::Contains(finder) => shown(f, "contains", finder.needle()),
            What::StartsWith(bytes) => shown(f, "starts with", bytes),
            What::EndsWith(bytes) => shown(f, "ends with", bytes),
            What::Matches(regex) => write!(f, "{} matches {:?}", self.part, regex.as_str()),
            What::Compares(operator, bytes) => shown(f, &operator.to_string(), bytes),
            What::Counts(operator, number) => {
                write!(f, "{} as a number {operator} {number}", self.part)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_count_from_1_and_from_the_end() {
        let part = |from, to| String::from_utf8(Part { from, to }.of(b"abcdef").to_vec()).unwrap();
        for (from, to, expected) in [
            (None, None, "abcdef"),
            (Some(1), Some(3), "abc"),
            (Some(0), Some(3), "abc"),
            (Some(3), None, "cdef"),
            (None, Some(2), "ab"),
            (Some(-2), None, "ef"),
            (Some(-3), Some(-2), "de"),
            (Some(6), Some(6), "f"),
            (Some(7), Some(9), ""),
            (Some(4), Some(2), ""),
            (Some(5), Some(100), "ef"),
            (Some(i64::MIN), Some(i64::MAX), "abcdef"),
            (Some(i64::MAX), Some(i64::MIN), ""),
            (None, Some(0), ""),
        ] {
            assert_eq!(part(from, to), expected, "{from:?} {to:?}");
        }
    }

    /// `LIKE 'GET%'` ended the query at the first payload that is no UTF-8.
    #[test]
    fn patterns_of_like_are_searched_in_bytes() {
        for (pattern, bytes, expected) in [
            ("GET%", &b"GET \xff\xfe"[..], true),
            ("%ab%", b"\xffab\xff", true),
            ("%ab", b"\xffab", true),
            ("a_c", b"a\xffc", true),
            ("a_c", b"a\nc", true),
            ("a%c%", b"axxc\n\xff", true),
            ("a%c%", b"bc", false),
            ("abc", b"abc", true),
            ("abc", b"abcd", false),
            ("100\\%", b"100%", true),
            ("100\\%", b"100x", false),
            ("", b"", true),
            ("%", b"\xff", true),
            ("a.c", b"abc", false),
            ("%\u{fc}%", "x\u{fc}y".as_bytes(), true),
            ("_", "\u{fc}".as_bytes(), false),
        ] {
            let search = Search::like(pattern, None, false).unwrap();
            assert_eq!(search.holds(bytes), Some(expected), "{pattern} {bytes:?}");
        }
        assert!(Search::like("x\\", None, false).is_err());
        let search = Search::like("get%_x", None, true).unwrap();
        assert_eq!(search.holds(b"GeT \xff/X"), Some(true));
    }

    #[test]
    fn bytes_are_numbers_as_far_as_eight_of_them() {
        assert_eq!(number_of(&[]), None);
        assert_eq!(number_of(&[0x12, 0x34]), Some(0x1234));
        assert_eq!(number_of(&[0xff; 8]), Some(u64::MAX));
        assert_eq!(number_of(&[0; 9]), None);
        let third = Part {
            from: Some(3),
            to: Some(3),
        };
        let search = Search::counts(Operator::Equal, 7).in_part(third);
        assert_eq!(search.holds(&[1, 2, 7]), Some(true));
        assert_eq!(search.holds(&[1, 2, 8]), Some(false));
        assert_eq!(search.holds(&[1, 2]), None);
    }
}
