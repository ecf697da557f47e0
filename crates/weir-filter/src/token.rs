//! The words of a filter.

use crate::Error;

/// A word, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    Word(String),
    Text(Vec<u8>),
    Character(u8),
    Sign(&'static str),
    End,
}

/// Signs, longer ones first.
const SIGNS: &[&str] = &[
    "===", "!==", "==", "!=", "~=", ">=", "<=", "&&", "||", "^^", "..", "=", ">", "<", "!", "~",
    "(", ")", "{", "}", "[", "]", ",", "&", "+", "*", "/", "%", "#", "-",
];

/// Splits a filter into tokens.
///
/// # Errors
/// When a text is not closed, or a character stands for nothing.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, Error> {
    let bytes = text.as_bytes();
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let start = at;
        let rest = bytes.get(at..).unwrap_or_default();
        let kind = match rest {
            [b'r' | b'R', b'"', ..] => {
                at += 2;
                quoted(bytes, &mut at, b'"', true).map(TokenKind::Text)
            }
            [b'"', ..] => {
                at += 1;
                quoted(bytes, &mut at, b'"', false).map(TokenKind::Text)
            }
            [b'\'', ..] => {
                at += 1;
                match quoted(bytes, &mut at, b'\'', false).as_deref() {
                    Ok([one]) => Ok(TokenKind::Character(*one)),
                    Ok(_) => return Err(several_characters(start, at)),
                    Err(fault) => Err(*fault),
                }
            }
            _ if (is_word(byte) && !rest.starts_with(b".."))
                || starts_negative(rest, &all)
                || byte == b':' =>
            {
                at += word_len(rest);
                let word = text.get(start..at).unwrap_or_default();
                Ok(TokenKind::Word(word.to_owned()))
            }
            _ => match SIGNS.iter().find(|sign| rest.starts_with(sign.as_bytes())) {
                Some(sign) => {
                    at += sign.len();
                    Ok(TokenKind::Sign(sign))
                }
                None => return Err(no_sign(text, start)),
            },
        };
        all.push(Token {
            kind: kind.map_err(|fault| fault.error(text, start))?,
            start,
            end: at,
        });
    }
    let end = text.len();
    all.push(Token {
        kind: TokenKind::End,
        start: end,
        end,
    });
    Ok(all)
}

fn several_characters(start: usize, end: usize) -> Error {
    Error::new("single quotes hold one character", start, end)
        .with_hint("write text in double quotes: http.host == \"example.org\"")
}

/// No token begins with the character at `start`.
fn no_sign(text: &str, start: usize) -> Error {
    let found = text.get(start..).and_then(|rest| rest.chars().next());
    let len = found.map_or(1, char::len_utf8);
    let found = found.unwrap_or('?');
    let error = Error::new(
        format!("unexpected character {found:?}"),
        start,
        start + len,
    );
    match found {
        '$' => error.with_hint("macros and references to a selected packet work only in Wireshark"),
        '@' => {
            error.with_hint("raw fields (@) are not supported; a slice gives bytes: eth.src[0:3]")
        }
        '|' | '^' => error.with_hint("write or, ||"),
        _ => error,
    }
}

/// The fault of a text in quotes.
#[derive(Clone, Copy)]
enum QuoteFault {
    /// The closing quote is missing.
    NotClosed,
    /// The escape from the first to the second of these places stands for no character.
    Escape(usize, usize),
}

impl QuoteFault {
    /// The error of a text that begins at `start`.
    fn error(self, text: &str, start: usize) -> Error {
        let Self::Escape(start, end) = self else {
            return Error::new("the text is not closed", start, text.len())
                .with_hint("write text in double quotes; \\\" is a quote within it");
        };
        let end = (end..=text.len()).find(|end| text.is_char_boundary(*end));
        let end = end.unwrap_or(text.len());
        let escape = text.get(start..end).unwrap_or_default();
        Error::new(format!("{escape} is not an escape"), start, end).with_hint(
            "a backslash in double quotes is written twice: frame matches \"\\\\d\", or once in r\"\\d\"",
        )
    }
}

/// Words are names, numbers, addresses and bytes.
const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.' || byte >= 0x80
}

/// A number below 0, where a value is expected.
fn starts_negative(rest: &[u8], before: &[Token]) -> bool {
    let [b'-', digit, ..] = rest else {
        return false;
    };
    let behind_value = before.last().is_some_and(|token| {
        matches!(
            token.kind,
            TokenKind::Word(_)
                | TokenKind::Text(_)
                | TokenKind::Character(_)
                | TokenKind::Sign("]" | ")")
        )
    });
    digit.is_ascii_digit() && !behind_value
}

/// The length of the word: addresses contain colons, hyphens and slashes, ranges end at two dots.
fn word_len(rest: &[u8]) -> usize {
    let mut len = usize::from(rest.first() == Some(&b'-'));
    while let Some(&byte) = rest.get(len) {
        let next = rest.get(len + 1).copied();
        let before = len.checked_sub(1).and_then(|at| rest.get(at)).copied();
        let hex_around = before.is_some_and(|byte| byte.is_ascii_hexdigit())
            && next.is_some_and(|byte| byte.is_ascii_hexdigit());
        let is_in = match byte {
            b'.' if next == Some(b'.') => false,
            b':' => true,
            // 00-11-22-33-44-55 is a word; ip.len-20 and a field such as sip.Call-ID are not told apart
            // by their letters alone: a hyphen belongs to bytes of two digits, and to names behind a dot.
            b'-' => hyphen_is_in(rest, len) || is_date(rest),
            // The length of a prefix stands behind an address.
            b'/' => hex_around_prefix(rest, len) && (hex_around || before == Some(b':')),
            _ => is_word(byte),
        };
        if !is_in {
            break;
        }
        len += 1;
    }
    len
}

fn hyphen_is_in(rest: &[u8], at: usize) -> bool {
    let written = rest.get(..at).unwrap_or_default();
    let next = rest.get(at + 1..).unwrap_or_default();
    let pair = |bytes: &[u8]| {
        bytes
            .iter()
            .take(2)
            .filter(|b| b.is_ascii_hexdigit())
            .count()
            == 2
    };
    let in_bytes = pair(next)
        && !next
            .get(2)
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'.')
        && written
            .split(|byte| *byte == b'-')
            .all(|part| part.len() == 2 && pair(part));
    let in_name = written.first().is_some_and(u8::is_ascii_alphabetic)
        && written.contains(&b'.')
        && next.first().is_some_and(u8::is_ascii_alphabetic);
    in_bytes || in_name
}

/// Whether a word begins here that is a date without quotes: `2026-11-03`.
fn is_date(rest: &[u8]) -> bool {
    let window = rest.get(..=DATE_BYTES_MAX).unwrap_or(rest);
    let is_in = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let end = window.iter().position(|byte| !is_in(byte));
    let word = window
        .get(..end.unwrap_or(window.len()))
        .unwrap_or_default();
    let parts: Vec<&[u8]> = word.split(|byte| *byte == b'-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    year.len() == 4
        && [month.len(), day.len()]
            .iter()
            .all(|len| (1..=2).contains(len))
        && parts.iter().all(|part| part.iter().all(u8::is_ascii_digit))
}

/// The length of the longest date.
const DATE_BYTES_MAX: usize = 10;

/// The part before a slash is an address, so that the one after it is the length of a prefix.
fn hex_around_prefix(rest: &[u8], at: usize) -> bool {
    let written = rest.get(..at).unwrap_or_default();
    let is_v4 = written
        .iter()
        .all(|byte| byte.is_ascii_digit() || *byte == b'.')
        && written.contains(&b'.');
    let is_v6 = written.contains(&b':')
        && written
            .iter()
            .all(|byte| byte.is_ascii_hexdigit() || *byte == b':' || *byte == b'.');
    is_v4 || is_v6
}

/// The bytes up to the closing quote, which is taken too.
fn quoted(bytes: &[u8], at: &mut usize, quote: u8, raw: bool) -> Result<Vec<u8>, QuoteFault> {
    let mut inner = Vec::new();
    loop {
        let byte = *bytes.get(*at).ok_or(QuoteFault::NotClosed)?;
        *at += 1;
        match byte {
            _ if byte == quote => return Ok(inner),
            b'\\' if raw => {
                inner.push(byte);
                let next = *bytes.get(*at).ok_or(QuoteFault::NotClosed)?;
                if next == quote {
                    inner.push(next);
                    *at += 1;
                }
            }
            b'\\' if *at == bytes.len() => return Err(QuoteFault::NotClosed),
            b'\\' => {
                let start = at.saturating_sub(1);
                escaped(bytes, at, &mut inner).ok_or(QuoteFault::Escape(start, *at))?;
            }
            _ => inner.push(byte),
        }
    }
}

/// The character of an escape; `None` for one that stands for none.
fn escaped(bytes: &[u8], at: &mut usize, inner: &mut Vec<u8>) -> Option<()> {
    let byte = *bytes.get(*at)?;
    *at += 1;
    let mut digits = |radix: u32, least: usize, most: usize| {
        let mut value = 0_u32;
        let mut found = 0;
        while found < most
            && let Some(digit) = bytes
                .get(*at)
                .and_then(|byte| char::from(*byte).to_digit(radix))
        {
            value = value.wrapping_mul(radix).wrapping_add(digit);
            *at += 1;
            found += 1;
        }
        (found >= least).then_some(value)
    };
    match byte {
        b'a' => inner.push(7),
        b'b' => inner.push(8),
        b'f' => inner.push(12),
        b'n' => inner.push(b'\n'),
        b'r' => inner.push(b'\r'),
        b't' => inner.push(b'\t'),
        b'v' => inner.push(11),
        b'x' => inner.push(digits(16, 1, 2)? as u8),
        b'u' | b'U' => {
            let count = if byte == b'u' { 4 } else { 8 };
            let found = char::from_u32(digits(16, count, count)?)?;
            inner.extend_from_slice(found.encode_utf8(&mut [0; 4]).as_bytes());
        }
        b'0'..=b'7' => {
            *at = at.checked_sub(1)?;
            let mut value = 0_u32;
            for _ in 0..3 {
                let Some(digit) = bytes.get(*at).filter(|byte| matches!(byte, b'0'..=b'7')) else {
                    break;
                };
                value = value.wrapping_mul(8).wrapping_add(u32::from(digit - b'0'));
                *at += 1;
            }
            inner.push(u8::try_from(value).ok()?);
        }
        b'"' | b'\'' | b'\\' => inner.push(byte),
        _ => return None,
    }
    Some(())
}
