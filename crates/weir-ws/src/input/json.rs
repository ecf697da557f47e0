//! A JSON reader that is fed in pieces and keeps one string at a time.

use super::InputErrorKind;
use super::unescape::{Unescaped, escaped, plain_run, unescape};

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    /// A member's name.
    Key,
    String,
    /// A number, `true`, `false` or `null`.
    Word,
}

/// Gets tokens: the kind, the text (without escapes), and whether the text is cut. Returns the number of bytes of the
/// next string, at most.
pub(super) trait Sink {
    fn token(&mut self, token: Token, text: &[u8], cut: bool) -> usize;
}

#[derive(Debug)]
pub(super) struct Json {
    /// True for each level that is an object.
    levels: Vec<bool>,
    state: JsonState,
    /// The next string is the name of a member.
    expects_key: bool,
    text: Vec<u8>,
    cut: bool,
    keep: usize,
    /// The buffer of a piece of a string without its escapes.
    scratch: Vec<u8>,
    /// A high surrogate that waits for its second half.
    surrogate: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JsonState {
    Between,
    String,
    Escape,
    /// `\u`: digits so far and their value.
    Unicode(u8, u32),
    Word,
}

const DEPTH_MAX: usize = 128;
/// The number of bytes of names and words, at most.
const SHORT: usize = 256;
/// Bytes of a string that are unescaped at a time.
const SCRATCH: usize = 4096;

impl Json {
    pub(super) fn new() -> Self {
        Self {
            levels: Vec::new(),
            state: JsonState::Between,
            expects_key: false,
            text: Vec::new(),
            cut: false,
            keep: SHORT,
            scratch: vec![0; SCRATCH],
            surrogate: None,
        }
    }

    /// Outside of everything.
    pub(super) fn is_whole(&self) -> bool {
        self.levels.is_empty()
            && !matches!(
                self.state,
                JsonState::String | JsonState::Escape | JsonState::Unicode(..)
            )
    }

    /// A word at the end of the input.
    pub(super) fn finish(&mut self, sink: &mut impl Sink) {
        if self.state == JsonState::Word {
            self.emit(Token::Word, sink);
        }
    }

    pub(super) fn feed(
        &mut self,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), InputErrorKind> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.state {
                JsonState::Between => {
                    at += self.between(bytes.get(at..).unwrap_or_default(), sink)?;
                }
                JsonState::Word => at += self.word(bytes.get(at..).unwrap_or_default(), sink),
                JsonState::String => at += self.string(bytes.get(at..).unwrap_or_default(), sink),
                JsonState::Escape => {
                    at += 1;
                    self.state = JsonState::String;
                    if byte == b'u' {
                        self.state = JsonState::Unicode(0, 0);
                        continue;
                    }
                    let plain = escaped(byte).ok_or(InputErrorKind::Syntax)?;
                    self.lone();
                    self.push(&[plain]);
                }
                JsonState::Unicode(digits, value) => {
                    at += 1;
                    let digit = char::from(byte)
                        .to_digit(16)
                        .ok_or(InputErrorKind::Syntax)?;
                    let value = value << 4 | digit;
                    if digits < 3 {
                        self.state = JsonState::Unicode(digits + 1, value);
                    } else {
                        self.state = JsonState::String;
                        self.unit(value);
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads on between values, and over strings and words that can be passed on where they lie.
    /// Answers how many bytes of `bytes` were read.
    fn between(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<usize, InputErrorKind> {
        let mut at = 0;
        while let Some((&byte, rest)) = bytes.get(at..).and_then(<[u8]>::split_first) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => {}
                b',' => self.expects_key = self.levels.last() == Some(&true),
                b':' => self.expects_key = false,
                b'"' => {
                    // Most names and many values have no escapes.
                    let plain = plain_run(rest);
                    if rest.get(plain) != Some(&b'"') || plain > self.room() {
                        self.state = JsonState::String;
                        return Ok(at + 1);
                    }
                    let text = rest.get(..plain).unwrap_or_default();
                    self.keep = sink.token(self.string_token(), text, false);
                    at += plain + 1;
                }
                b'{' | b'[' => self.open(byte == b'{', sink)?,
                b'}' | b']' => self.close(byte == b'}', sink)?,
                _ if is_word(byte) => {
                    let end = rest.iter().position(ends_word).unwrap_or(rest.len());
                    if end == rest.len() || end >= SHORT {
                        self.state = JsonState::Word;
                        return Ok(at);
                    }
                    let word = bytes.get(at..=at + end).unwrap_or_default();
                    self.keep = sink.token(Token::Word, word, false);
                    at += end;
                }
                // A byte-order mark may precede the value.
                0xef | 0xbb | 0xbf if self.levels.is_empty() => {}
                _ => return Err(InputErrorKind::Syntax),
            }
            at += 1;
        }
        Ok(at)
    }

    fn string_token(&self) -> Token {
        if self.expects_key {
            Token::Key
        } else {
            Token::String
        }
    }

    fn open(&mut self, object: bool, sink: &mut impl Sink) -> Result<(), InputErrorKind> {
        if self.levels.len() >= DEPTH_MAX {
            return Err(InputErrorKind::Limit);
        }
        self.levels.push(object);
        self.expects_key = object;
        let token = if object {
            Token::ObjectBegin
        } else {
            Token::ArrayBegin
        };
        self.keep = sink.token(token, b"", false);
        Ok(())
    }

    fn close(&mut self, object: bool, sink: &mut impl Sink) -> Result<(), InputErrorKind> {
        if self.levels.pop() != Some(object) {
            return Err(InputErrorKind::Syntax);
        }
        self.expects_key = false;
        let token = if object {
            Token::ObjectEnd
        } else {
            Token::ArrayEnd
        };
        self.keep = sink.token(token, b"", false);
        Ok(())
    }

    /// Reads on in a word; answers how many bytes of `rest` belong to it.
    fn word(&mut self, rest: &[u8], sink: &mut impl Sink) -> usize {
        let end = rest.iter().position(ends_word).unwrap_or(rest.len());
        self.push(rest.get(..end).unwrap_or_default());
        if end < rest.len() {
            self.emit(Token::Word, sink);
        }
        end
    }

    /// Reads on in a string: to its end, to an escape that needs a look of its own, or as far as the
    /// scratch reaches. Answers how many bytes of `rest` were read, at least one.
    fn string(&mut self, rest: &[u8], sink: &mut impl Sink) -> usize {
        if rest.first() == Some(&b'\\') && self.surrogate.is_some() {
            self.state = JsonState::Escape;
            return 1;
        }
        self.lone();
        let token = self.string_token();
        let begins = self.text.is_empty() && !self.cut;
        let mut scratch = std::mem::take(&mut self.scratch);
        let piece = unescape(rest, &mut scratch);
        let text = scratch.get(..piece.written).unwrap_or_default();
        match piece.stop {
            Unescaped::Quote if begins && text.len() <= self.room() => {
                self.state = JsonState::Between;
                self.keep = sink.token(token, text, false);
            }
            Unescaped::Quote => {
                self.push(text);
                self.emit(token, sink);
            }
            Unescaped::Escape => {
                self.push(text);
                self.state = JsonState::Escape;
            }
            Unescaped::Full => self.push(text),
        }
        self.scratch = scratch;
        piece.read
    }

    fn emit(&mut self, token: Token, sink: &mut impl Sink) {
        self.state = JsonState::Between;
        self.keep = sink.token(token, &self.text, self.cut);
        self.text.clear();
        self.text.shrink_to(1 << 20);
        self.cut = false;
    }

    /// The number of bytes by which the string, name or word may still grow.
    fn room(&self) -> usize {
        let keep = if self.expects_key || self.state == JsonState::Word {
            SHORT
        } else {
            self.keep
        };
        keep.saturating_sub(self.text.len())
    }

    fn push(&mut self, bytes: &[u8]) {
        let room = self.room();
        if room < bytes.len() {
            self.cut = true;
        }
        self.text
            .extend_from_slice(bytes.get(..room.min(bytes.len())).unwrap_or_default());
    }

    /// One `\u`: half of a pair, or a character.
    fn unit(&mut self, unit: u32) {
        match (self.surrogate.take(), unit) {
            (Some(high), 0xdc00..=0xdfff) => {
                let code = 0x1_0000 + ((high - 0xd800) << 10) + (unit - 0xdc00);
                self.character(code);
            }
            (high, 0xd800..=0xdbff) => {
                if high.is_some() {
                    self.character(0xfffd);
                }
                self.surrogate = Some(unit);
            }
            (high, _) => {
                if high.is_some() {
                    self.character(0xfffd);
                }
                self.character(unit);
            }
        }
    }

    /// A high surrogate without its second half.
    fn lone(&mut self) {
        if self.surrogate.take().is_some() {
            self.character(0xfffd);
        }
    }

    fn character(&mut self, code: u32) {
        let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        let mut bytes = [0; 4];
        let text = character.encode_utf8(&mut bytes).len();
        self.push(bytes.get(..text).unwrap_or_default());
    }
}

/// A number, `true`, `false` or `null` begins with this.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

/// Whether a byte ends a word.
#[inline(always)]
fn ends_word(byte: &u8) -> bool {
    matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    struct All(Vec<(Token, Vec<u8>, bool)>, usize);

    impl Sink for All {
        fn token(&mut self, token: Token, text: &[u8], cut: bool) -> usize {
            self.0.push((token, text.to_vec(), cut));
            self.1
        }
    }

    fn tokens(pieces: &[&[u8]], keep: usize) -> Vec<(Token, Vec<u8>, bool)> {
        let mut all = All(Vec::new(), keep);
        let mut json = Json::new();
        for piece in pieces {
            json.feed(piece, &mut all).unwrap();
        }
        json.finish(&mut all);
        all.0
    }

    #[test]
    fn a_string_is_the_same_however_it_is_cut_up() {
        let plain = "twelve bytes \\ \" / \t\u{8}\u{c}\r\n h\u{e9}llo \u{1f600} and some more";
        let mut text = String::from("[\"");
        for character in plain.chars() {
            match character {
                '"' => text.push_str("\\\""),
                '\\' => text.push_str("\\\\"),
                '\t' => text.push_str("\\t"),
                '\r' => text.push_str("\\r"),
                '\n' => text.push_str("\\n"),
                '\u{8}' => text.push_str("\\b"),
                '\u{c}' => text.push_str("\\f"),
                other if (other as u32) > 127 => {
                    for unit in other.encode_utf16(&mut [0; 2]) {
                        text.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                other => text.push(other),
            }
        }
        text.push_str("\",-12.5e3,true]");
        let bytes = text.as_bytes();
        let expected = tokens(&[bytes], 1024);
        let strings: Vec<_> = expected
            .iter()
            .map(|(_, text, _)| text.as_slice())
            .collect();
        assert_eq!(strings, [b"", plain.as_bytes(), b"-12.5e3", b"true", b""]);
        for cut in 0..=bytes.len() {
            let (a, b) = bytes.split_at(cut);
            assert_eq!(tokens(&[a, b], 1024), expected, "cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(tokens(&single, 1024), expected);
    }

    #[test]
    fn long_strings_pass_the_scratch_and_are_cut_where_the_sink_says() {
        let long = "0123456789\\n".repeat(1000);
        let text = format!("[\"{long}\"]");
        let whole = long.replace("\\n", "\n").into_bytes();
        for (keep, cut) in [
            (20_000, false),
            (whole.len(), false),
            (5_000, true),
            (0, true),
        ] {
            let found = tokens(&[text.as_bytes()], keep);
            assert_eq!(found[1].1, whole[..keep.min(whole.len())], "{keep}");
            assert_eq!(found[1].2, cut, "{keep}");
        }
    }

    /// Escapes of every kind at every place of a block, and next to each other.
    #[test]
    fn escapes_are_undone_wherever_they_are() {
        let mut seed = 5u32;
        let mut random = move |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) % below
        };
        for _ in 0..3000 {
            let (mut text, mut plain) = (b"[\"".to_vec(), Vec::new());
            for _ in 0..random(120) {
                let byte = b"ab\\\"/\n\t"[random(7) as usize];
                plain.push(byte);
                match byte {
                    b'\n' => text.extend(b"\\n"),
                    b'\t' => text.extend(b"\\t"),
                    b'/' => text.push(byte),
                    b'"' | b'\\' => text.extend([b'\\', byte]),
                    _ => text.push(byte),
                }
            }
            text.extend(b"\"]");
            let cut = random(text.len() as u32) as usize;
            let found = tokens(&[&text[..cut], &text[cut..]], 1024);
            assert_eq!(found[1].1, plain, "{}", String::from_utf8_lossy(&text));
        }
    }
}
