//! The widths of texts, and the characters that must not reach a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};
pub use weir_page::is_control;

/// Character cells that `text` takes on a terminal (UAX #11; wide characters take two).
pub fn width(text: &str) -> usize {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return text.len();
    }
    UnicodeWidthStr::width(text)
}

/// The text with its control characters written as `\n`, `\x1b` or `\u{202e}`. A backslash of the text itself stays as it is, so
/// that the result is for people, and cannot be decoded.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_control) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len().saturating_add(16));
    push_escaped(&mut out, text);
    Cow::Owned(out)
}

/// Appends [`escaped`] text.
pub fn push_escaped(out: &mut String, text: &str) {
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\x1f' | '\x7f' => {
                let _ = write!(out, "\\x{:02x}", u32::from(character));
            }
            _ if is_control(character) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
}

/// The beginning of `text` that fits into `cells`, ending in `…` when something was cut.
pub fn fitted(text: &str, cells: usize) -> Cow<'_, str> {
    if width(text) <= cells {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(cells.saturating_add(4));
    let mut used = 0_usize;
    for character in text.chars() {
        // One cell is kept for the mark.
        let next = used.saturating_add(character.width().unwrap_or(0));
        if next >= cells {
            break;
        }
        used = next;
        out.push(character);
    }
    if cells > 0 {
        out.push('…');
    }
    Cow::Owned(out)
}

/// Appends `text` as a JSON string. Beside what JSON demands, every character that
/// [`is_control`] is escaped, so that the same exact value is harmless on a terminal.
pub fn push_json_string(out: &mut String, text: &str) {
    out.push('"');
    // Most texts are printable ASCII. All octets are looked at, so that the compiler takes several at a time.
    let is_plain = text.bytes().fold(true, |plain, byte| {
        plain & (matches!(byte, b' '..=b'~') & (byte != b'"') & (byte != b'\\'))
    });
    if is_plain {
        out.push_str(text);
        out.push('"');
        return;
    }
    // Copies the runs between characters that need care.
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '\\' || is_control(c)) {
        let (plain, tail) = rest.split_at(at);
        out.push_str(plain);
        let mut characters = tail.chars();
        match characters.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some(other) => {
                for unit in other.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
            None => {}
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// Appends bytes as lower-case hexadecimal.
pub fn push_hex(out: &mut String, bytes: &[u8]) {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    out.reserve(bytes.len().saturating_mul(2));
    for byte in bytes {
        out.push(DIGITS[usize::from(byte >> 4)]);
        out.push(DIGITS[usize::from(byte & 15)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_spelled_out() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a\tb\r\n", "a\\tb\\r\\n"),
            ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
            ("\u{9b}2J\x7f", "\\u{9b}2J\\x7f"),
            ("admin\u{202e}txt", "admin\\u{202e}txt"),
            ("日本 é", "日本 é"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }

    #[test]
    fn text_is_cut_by_cells_not_by_bytes() {
        for (text, cells, expected) in [
            ("abcdef", 6, "abcdef"),
            ("abcdef", 5, "abcd…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
        ] {
            let cut = fitted(text, cells);
            assert_eq!(cut, expected);
            assert!(width(&cut) <= cells);
        }
    }

    #[test]
    fn json_strings_hold_no_raw_controls() {
        let mut out = String::new();
        push_json_string(&mut out, "a\"b\\c\n\x1b\u{9b}\u{2028}é😀\u{e0041}");
        let expected = "\"a\\\"b\\\\c\\n\\u001b\\u009b\\u2028é😀\\udb40\\udc41\"";
        assert_eq!(out, expected);
    }
}
