//! Patterns in the syntax of PCRE2, which Wireshark has, rewritten in that of the crate `regex`.
//!
//! Both agree on most of the syntax. What has another meaning there (`\<`, `$`, `&&` in a set, `\v`), or another spelling, is
//! rewritten. Look-around, references to groups and what else needs a search that goes back are left as they are, and `regex`
//! refuses them.

use std::fmt::Write as _;

use regex::bytes::{Regex, RegexBuilder};

/// Builds a pattern that is searched in bytes, without regard to case.
///
/// # Errors
/// When the text is not a pattern, or needs too much room.
pub(super) fn built(pattern: &[u8]) -> Result<Regex, regex::Error> {
    RegexBuilder::new(&rewritten(pattern)?)
        .case_insensitive(true)
        .unicode(false)
        .size_limit(PATTERN_BYTES_MAX)
        .build()
}

/// The pattern in the syntax of `regex`; bytes that are no ASCII are escaped, because patterns match bytes. What `regex` would take in
/// another meaning is refused.
fn rewritten(pattern: &[u8]) -> Result<String, regex::Error> {
    let mut rewriter = Rewriter {
        rest: pattern,
        groups: pattern.iter().filter(|byte| **byte == b'(').count(),
        is_of_lines: has_lines(pattern),
        refused: None,
        out: String::with_capacity(pattern.len()),
    };
    while let Some(byte) = rewriter.next() {
        rewriter.outside(byte);
    }
    match rewriter.refused {
        Some(reason) => Err(regex::Error::Syntax(reason.to_owned())),
        None => Ok(rewriter.out),
    }
}

struct Rewriter<'p> {
    /// What is not read yet.
    rest: &'p [u8],
    /// The number of groups, at most.
    groups: usize,
    /// `$` is the end of each line.
    is_of_lines: bool,
    /// The reason for which the pattern is refused.
    refused: Option<&'static str>,
    out: String,
}

impl Rewriter<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// Takes these bytes, if they come next.
    fn take(&mut self, wanted: &[u8]) -> bool {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Skips what comes before these bytes, and the bytes; the whole rest where they do not come.
    fn until(&mut self, end: &[u8]) -> Vec<u8> {
        let at = memchr::memmem::find(self.rest, end);
        let (part, rest) = self.rest.split_at(at.unwrap_or(self.rest.len()));
        let part = part.to_vec();
        self.rest = rest.strip_prefix(end).unwrap_or(rest);
        part
    }

    /// Writes a byte that stands for itself.
    fn literal(&mut self, byte: u8) {
        match byte.is_ascii_alphanumeric() {
            true => self.out.push(char::from(byte)),
            // A text takes up all that is written.
            false => write!(self.out, "\\x{byte:02x}").unwrap_or_default(),
        }
    }

    /// Rewrites what begins with a byte outside of a set.
    fn outside(&mut self, byte: u8) {
        match byte {
            b'\\' => self.escape(),
            b'[' => self.set(),
            b'$' if !self.is_of_lines => self.out.push_str(END),
            b'{' if !is_repetition(self.rest) => self.literal(byte),
            b'{' => {
                let inner = self.until(b"}");
                self.out.push('{');
                self.out.push_str(&String::from_utf8_lossy(&inner));
                self.out.push('}');
                self.behind_repetition();
            }
            b'*' | b'+' | b'?' if !self.out.ends_with('(') => {
                self.out.push(char::from(byte));
                self.behind_repetition();
            }
            b'(' if self.take(b"?#") => drop(self.until(b")")),
            b'(' if self.take(b"?>") => self.refused = Some(ATOMIC),
            b'(' if self.take(b"?'") => {
                let name = self.until(b"'");
                self.out.push_str("(?<");
                self.out.push_str(&String::from_utf8_lossy(&name));
                self.out.push('>');
            }
            // Only the numbers of groups in branches are others.
            b'(' if self.take(b"?|") => self.out.push_str("(?:"),
            _ if byte.is_ascii() => self.out.push(char::from(byte)),
            _ => self.literal(byte),
        }
    }

    /// Takes the sign of a lazy repetition. A possessive one never gives back what it took, and two signs have no meaning.
    fn behind_repetition(&mut self) {
        if self.take(b"?") {
            self.out.push('?');
        } else if self.take(b"+") {
            self.refused = Some(POSSESSIVE);
        }
        let is_repeated = match self.rest {
            [b'*' | b'+' | b'?', ..] => true,
            [b'{', rest @ ..] => is_repetition(rest),
            _ => false,
        };
        if is_repeated {
            self.refused = Some(REPEATED);
        }
    }

    /// Rewrites an escape outside of a set.
    fn escape(&mut self) {
        let Some(byte) = self.next() else {
            self.out.push('\\');
            return;
        };
        match byte {
            b'Q' => self.quotation(),
            b'E' => {}
            b'h' => self.in_set(BLANKS, false),
            b'H' => self.in_set(BLANKS, true),
            b'v' => self.in_set(LINE_ENDS, false),
            b'V' => self.in_set(LINE_ENDS, true),
            b'N' => self.out.push_str(r"[^\n]"),
            b'R' => {
                self.out.push_str(r"(?:\r\n|");
                self.in_set(LINE_ENDS, false);
                self.out.push(')');
            }
            b'Z' => self.out.push_str(END),
            b'1'..=b'9' if !self.is_octal(byte) => {
                self.out.push('\\');
                self.out.push(char::from(byte));
            }
            _ => self.escape_of_byte(byte),
        }
    }

    /// Rewrites an escape that means the same in a set and outside.
    fn escape_of_byte(&mut self, byte: u8) {
        match byte {
            b'e' => self.literal(0x1b),
            b'c' => {
                let control = self
                    .next()
                    .map_or(b'c', |next| next.to_ascii_uppercase() ^ 0x40);
                self.literal(control);
            }
            b'o' | b'x' if self.take(b"{") => {
                let digits = self.until(b"}");
                self.number(&digits, if byte == b'o' { 8 } else { 16 });
            }
            b'x' => {
                let digits = self.digits(2, u8::is_ascii_hexdigit);
                self.number(&digits, 16);
            }
            b'0'..=b'7' => {
                let mut digits = vec![byte];
                digits.extend(self.digits(2, |digit| matches!(digit, b'0'..=b'7')));
                self.number(&digits, 8);
            }
            _ if byte.is_ascii_alphanumeric() => {
                self.out.push('\\');
                self.out.push(char::from(byte));
            }
            _ => self.literal(byte),
        }
    }

    /// Writes what stands for itself, up to `\E`.
    fn quotation(&mut self) {
        for byte in self.until(b"\\E") {
            self.literal(byte);
        }
    }

    /// Writes the byte of a number; other digits, and more than a byte, are left to `regex`, which refuses them.
    fn number(&mut self, digits: &[u8], radix: u32) {
        let text = String::from_utf8_lossy(digits);
        match (text.is_empty(), u8::from_str_radix(&text, radix)) {
            (true, _) => self.literal(0),
            (_, Ok(byte)) => self.literal(byte),
            _ => self.out.push_str(r"\x{}"),
        }
    }

    /// Takes some digits at most.
    fn digits(&mut self, most: usize, is_digit: impl Fn(&u8) -> bool) -> Vec<u8> {
        let digits = self.rest.iter().take(most);
        let digits = digits.take_while(|&digit| is_digit(digit));
        let digits: Vec<u8> = digits.copied().collect();
        self.rest = self.rest.get(digits.len()..).unwrap_or_default();
        digits
    }

    /// Whether the digits from this one on are a byte in octal: those of a number that no group has, and of more than one digit.
    fn is_octal(&self, first: u8) -> bool {
        let more = self.rest.iter().take_while(|byte| byte.is_ascii_digit());
        let digits = std::iter::once(&first).chain(more);
        let number = digits.fold(0_usize, |all, digit| {
            all.saturating_mul(10)
                .saturating_add(usize::from(digit - b'0'))
        });
        first < b'8' && number > 9 && number > self.groups
    }

    /// Writes a set of these bytes, or of all others.
    fn in_set(&mut self, bytes: &str, is_negated: bool) {
        self.out.push_str(if is_negated { "[^" } else { "[" });
        self.out.push_str(bytes);
        self.out.push(']');
    }

    /// Rewrites a set, whose bracket was read.
    fn set(&mut self) {
        self.out.push('[');
        if self.take(b"^") {
            self.out.push('^');
        }
        if self.take(b"]") {
            self.literal(b']');
        }
        while let Some(byte) = self.next() {
            match byte {
                b']' => {
                    self.out.push(']');
                    return;
                }
                b'[' if self.is_class() => {
                    let class = self.until(b":]");
                    self.out.push('[');
                    self.out.push_str(&String::from_utf8_lossy(&class));
                    self.out.push_str(":]");
                }
                b'\\' => self.escape_in_set(),
                b'-' if !self.may_be_range() => self.literal(byte),
                b'-' => self.out.push('-'),
                _ => self.literal(byte),
            }
        }
    }

    /// Whether the bracket that was read begins the name of a set: `[:digit:]`.
    fn is_class(&self) -> bool {
        let window = self.rest.get(..CLASS_BYTES_MAX).unwrap_or(self.rest);
        let name = window.strip_prefix(b":").unwrap_or_default();
        memchr::memmem::find(name, b":]").is_some_and(|len| len > 0)
    }

    /// Whether a hyphen may stand for a range here: two of them mean a difference of sets to `regex`, and none may follow a set.
    fn may_be_range(&self) -> bool {
        let ends = ["-", "]", r"\d", r"\D", r"\s", r"\S", r"\w", r"\W"];
        !ends.iter().any(|end| self.out.ends_with(end))
    }

    /// Rewrites an escape in a set.
    fn escape_in_set(&mut self) {
        let Some(byte) = self.next() else {
            self.out.push('\\');
            return;
        };
        match byte {
            b'Q' => self.quotation(),
            b'E' => {}
            b'b' => self.literal(8),
            b'h' => self.out.push_str(BLANKS),
            b'H' => self.in_set(BLANKS, true),
            b'v' => self.out.push_str(LINE_ENDS),
            b'V' => self.in_set(LINE_ENDS, true),
            _ => self.escape_of_byte(byte),
        }
    }
}

/// Whether a repetition stands behind a brace: `{2}`, `{2,}`, `{2,5}`.
fn is_repetition(rest: &[u8]) -> bool {
    let mut window = rest.iter().take(REPETITION_BYTES_MAX);
    let Some(end) = window.position(|byte| *byte == b'}') else {
        return false;
    };
    let inner = rest.get(..end).unwrap_or_default();
    let is_number = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    let mut parts = inner.splitn(2, |byte| *byte == b',');
    let least = parts.next().unwrap_or_default();
    !least.is_empty() && is_number(least) && is_number(parts.next().unwrap_or_default())
}

/// Whether flags make `$` the end of each line: `(?m)`, `(?im:`.
fn has_lines(pattern: &[u8]) -> bool {
    memchr::memmem::find_iter(pattern, "(?").any(|at| {
        let flags = pattern.get(at + 2..).unwrap_or_default();
        let mut flags = flags.iter().take_while(|byte| byte.is_ascii_alphabetic());
        flags.any(|flag| *flag == b'm')
    })
}

/// The end of what is searched, and in front of a line feed that is its last byte.
const END: &str = r"(?:\n?\z)";
const ATOMIC: &str = "atomic groups are not supported";
const POSSESSIVE: &str = "possessive repetitions are not supported";
const REPEATED: &str = "a repetition of a repetition";
/// The bytes of `\h`.
const BLANKS: &str = r"\t\x20\xa0";
/// The bytes of `\v`.
const LINE_ENDS: &str = r"\n\x0b\x0c\r\x85";
/// The length of a repetition behind its brace: `65535,65535}`.
const REPETITION_BYTES_MAX: usize = 12;
/// The length of the name of a set behind its bracket: `:^xdigit:]`.
const CLASS_BYTES_MAX: usize = 10;
/// A pattern that needs more room is refused.
const PATTERN_BYTES_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// Patterns with what they are found in and what they are not, as PCRE2 and Perl have it.
    const MEANINGS: &[(&str, &[&str], &[&str])] = &[
        (r"\<a\>", &["x<a>"], &["a", " a "]),
        ("b$", &["ab", "ab\n"], &["ab\n\n", "abc", "b\r\n"]),
        (r"b\Z", &["ab", "ab\n"], &["abc"]),
        (r"b\z", &["ab"], &["ab\n"]),
        ("(?m)b$", &["ab\nc"], &["abc"]),
        ("^[a&&b]+$", &["a&b", "&"], &["c"]),
        ("^[a~~b]$", &["~"], &["c"]),
        ("^[+--]$", &["+", ",", "-"], &["."]),
        ("^[[a]$", &["[", "a"], &["b"]),
        ("^[]a]$", &["]", "A"], &["["]),
        ("^[^]a]$", &["b"], &["]", "a"]),
        ("^[[:digit:]x]$", &["7", "x"], &[":"]),
        ("^[[:^digit:]]$", &["a"], &["7"]),
        (r"^[\d-x]$", &["7", "-", "x"], &["w"]),
        (r"^[[:digit:]-x]$", &["7", "-", "x"], &["w"]),
        (r"^a\vb$", &["a\nb", "a\x0bb", "a\rb"], &["a b"]),
        (r"^a\hb$", &["a b", "a\tb"], &["a\nb"]),
        (r"^a[\h]\Hb$", &["a xb"], &["a  b"]),
        (r"^a\Rb$", &["a\r\nb", "a\nb"], &["a b"]),
        (r"^\Q$1.0\E.$", &["$1.0x"], &["$1x0x"]),
        (
            r"^\e\cM\x41\o{101}\101\07\x{4a}$",
            &["\x1b\rAAA\x07J"],
            &["A"],
        ),
        (r"^[\101-\x43\e\b]$", &["B", "\x1b", "\x08"], &["D", "e"]),
        (r"^\11$", &["\t"], &["11"]),
        ("^a{b,3}{$", &["a{b,3}{"], &["abbb{"]),
        ("^a{2,3}$", &["aa", "aaa"], &["a"]),
        ("^a(?#no b)c$", &["ac"], &["abc"]),
        ("^(?|a|b)c$", &["ac", "bc"], &["c"]),
        (r"^\_\/\-\@\#$", &["_/-@#"], &["x"]),
        (r"^[ #]\ (?x) a b$", &["  ab", "# AB"], &["a b"]),
        (r"^\N\V$", &["ab"], &["a\n"]),
        ("^(?'word'a+?)b{1,2}?$", &["aab", "abb"], &["b"]),
        ("^(?i)a*(?:b)?c+$", &["aabc", "C"], &["ab"]),
        (r"^a\+\++[+*]*$", &["a++*", "a+++"], &["aa"]),
    ];

    #[test]
    fn patterns_mean_what_they_mean_in_pcre2() {
        for (pattern, in_these, not_in_these) in MEANINGS {
            let built = built(pattern.as_bytes());
            let built = built.unwrap_or_else(|error| panic!("{pattern}: {error}"));
            for text in *in_these {
                assert!(built.is_match(text.as_bytes()), "{pattern} in {text:?}");
            }
            for text in *not_in_these {
                assert!(!built.is_match(text.as_bytes()), "{pattern} in {text:?}");
            }
        }
        assert!(built(b"\xe4[\xf6]").is_ok_and(|built| built.is_match(b"\xe4\xf6")));
    }

    #[test]
    fn what_needs_a_search_that_goes_back_is_refused() {
        for pattern in [
            "a(?=b)", "(?<!a)b", r"(a)\1", "(?>a)b", r"\Ka", "(", "[a", r"\o{777}", r"a\", "a++b",
            "a*+", "a?+", "a{2}+", "a**", "a+*", "a{2}{3}", "a+?+", "(?>",
        ] {
            assert!(built(pattern.as_bytes()).is_err(), "{pattern}");
        }
    }
}
