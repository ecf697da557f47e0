//! A JSON reader that is fed in pieces and keeps one string at a time.

use super::InputErrorKind;

/// What was read.
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

/// Gets tokens: what, its text (without escapes), whether it was longer than asked for. Answers how
/// many bytes of the next string it wants.
pub(super) trait Sink {
    fn token(&mut self, token: Token, text: &[u8], cut: bool) -> usize;
}

#[derive(Debug)]
pub(super) struct Json {
    /// For each level: true in an object.
    levels: Vec<bool>,
    state: State,
    /// In an object, before a name.
    expects_key: bool,
    text: Vec<u8>,
    cut: bool,
    keep: usize,
    /// Where a piece of a string is put without its escapes.
    scratch: Vec<u8>,
    /// A high surrogate that waits for its second half.
    surrogate: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Between,
    String,
    Escape,
    /// `\u`: digits so far and their value.
    Unicode(u8, u32),
    Word,
}

const DEPTH_MAX: usize = 128;
/// Names and words are kept up to this.
const SHORT: usize = 256;
/// Bytes of a string that are unescaped at a time.
const SCRATCH: usize = 4096;

impl Json {
    pub(super) fn new() -> Self {
        Self {
            levels: Vec::new(),
            state: State::Between,
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
                State::String | State::Escape | State::Unicode(..)
            )
    }

    /// A word at the end of the input.
    pub(super) fn finish(&mut self, sink: &mut impl Sink) {
        if self.state == State::Word {
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
                State::Between if is_word(byte) => self.state = State::Word,
                State::Between => {
                    at += 1;
                    self.between(byte, sink)?;
                }
                State::Word => at += self.word(bytes.get(at..).unwrap_or_default(), sink),
                State::String => at += self.string(bytes.get(at..).unwrap_or_default(), sink),
                State::Escape => {
                    at += 1;
                    self.state = State::String;
                    if byte == b'u' {
                        self.state = State::Unicode(0, 0);
                        continue;
                    }
                    let plain = escaped(byte).ok_or(InputErrorKind::Syntax)?;
                    self.lone();
                    self.push(&[plain]);
                }
                State::Unicode(digits, value) => {
                    at += 1;
                    let digit = char::from(byte)
                        .to_digit(16)
                        .ok_or(InputErrorKind::Syntax)?;
                    let value = value << 4 | digit;
                    if digits < 3 {
                        self.state = State::Unicode(digits + 1, value);
                    } else {
                        self.state = State::String;
                        self.unit(value);
                    }
                }
            }
        }
        Ok(())
    }

    fn between(&mut self, byte: u8, sink: &mut impl Sink) -> Result<(), InputErrorKind> {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'{' | b'[' => {
                if self.levels.len() >= DEPTH_MAX {
                    return Err(InputErrorKind::Limit);
                }
                let object = byte == b'{';
                self.levels.push(object);
                self.expects_key = object;
                let token = if object {
                    Token::ObjectBegin
                } else {
                    Token::ArrayBegin
                };
                self.keep = sink.token(token, b"", false);
            }
            b'}' | b']' => {
                let object = byte == b'}';
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
            }
            b',' => self.expects_key = self.levels.last() == Some(&true),
            b':' => self.expects_key = false,
            b'"' => self.state = State::String,
            // A byte-order mark before the beginning.
            0xef | 0xbb | 0xbf if self.levels.is_empty() => {}
            _ => return Err(InputErrorKind::Syntax),
        }
        Ok(())
    }

    /// Reads on in a word; answers how many bytes of `rest` belong to it.
    fn word(&mut self, rest: &[u8], sink: &mut impl Sink) -> usize {
        let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n');
        let end = rest.iter().position(ends).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default();
        if end == rest.len() || !self.text.is_empty() || end > SHORT {
            self.push(word);
            if end < rest.len() {
                self.emit(Token::Word, sink);
            }
        } else {
            self.state = State::Between;
            self.keep = sink.token(Token::Word, word, false);
        }
        end
    }

    /// Reads on in a string: to its end, to an escape that needs a look of its own, or as far as the
    /// scratch reaches. Answers how many bytes of `rest` were read, at least one.
    fn string(&mut self, rest: &[u8], sink: &mut impl Sink) -> usize {
        if rest.first() == Some(&b'\\') && self.surrogate.is_some() {
            self.state = State::Escape;
            return 1;
        }
        self.lone();
        let mut scratch = std::mem::take(&mut self.scratch);
        let piece = unescape(rest, &mut scratch);
        let text = scratch.get(..piece.written).unwrap_or_default();
        let token = if self.expects_key {
            Token::Key
        } else {
            Token::String
        };
        match piece.stop {
            Stop::Quote if self.text.is_empty() && text.len() <= self.room() => {
                self.state = State::Between;
                self.keep = sink.token(token, text, false);
            }
            Stop::Quote => {
                self.push(text);
                self.emit(token, sink);
            }
            Stop::Escape => {
                self.push(text);
                self.state = State::Escape;
            }
            Stop::Full => self.push(text),
        }
        self.scratch = scratch;
        piece.read
    }

    fn emit(&mut self, token: Token, sink: &mut impl Sink) {
        self.state = State::Between;
        self.keep = sink.token(token, &self.text, self.cut);
        self.text.clear();
        self.text.shrink_to(1 << 20);
        self.cut = false;
    }

    /// Bytes of the string, name or word that are still kept.
    fn room(&self) -> usize {
        let keep = if self.expects_key || self.state == State::Word {
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

/// How far a piece of a string was read.
struct Piece {
    read: usize,
    written: usize,
    stop: Stop,
}

/// What comes next in it.
enum Stop {
    /// The closing quote was read.
    Quote,
    /// A backslash was read; what it means is not one byte, or not there yet.
    Escape,
    /// There is no more to read, or no more room.
    Full,
}

/// Copies the text of a string, without its escapes as far as they are single bytes.
fn unescape(from: &[u8], to: &mut [u8]) -> Piece {
    let (mut read, mut written) = (0, 0);
    let piece = |read, written, stop| Piece {
        read,
        written,
        stop,
    };
    loop {
        let eight = from.get(read..).and_then(<[u8]>::first_chunk::<8>);
        let room = to.get_mut(written..).and_then(<[u8]>::first_chunk_mut::<8>);
        if let (Some(eight), Some(room)) = (eight, room) {
            // Copied before it is known how many of them count: what is too much is written over.
            *room = *eight;
            let plain = plain_bytes(u64::from_le_bytes(*eight));
            read += plain;
            written += plain;
            if plain == 8 {
                continue;
            }
        }
        let (Some(&byte), Some(slot)) = (from.get(read), to.get_mut(written)) else {
            return piece(read, written, Stop::Full);
        };
        match byte {
            b'"' => return piece(read + 1, written, Stop::Quote),
            b'\\' => match from.get(read + 1).and_then(|&byte| escaped(byte)) {
                Some(plain) => {
                    *slot = plain;
                    read += 2;
                }
                None => return piece(read + 1, written, Stop::Escape),
            },
            _ => {
                *slot = byte;
                read += 1;
            }
        }
        written += 1;
    }
}

/// How many of the eight bytes come before the first quote or backslash.
#[inline]
fn plain_bytes(eight: u64) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // The lowest bit that is set tells of a byte that is zero; higher ones may not.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    let special = zero(eight ^ (ONES * 0x22)) | zero(eight ^ (ONES * 0x5c));
    (special.trailing_zeros() / 8) as usize
}

/// What a character after a backslash stands for, unless it is `u` or no escape.
fn escaped(byte: u8) -> Option<u8> {
    Some(match byte {
        b'"' | b'\\' | b'/' => byte,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        _ => return None,
    })
}

/// A number, `true`, `false` or `null` begins with this.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
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

    #[test]
    fn plain_bytes_are_counted_to_the_first_quote_or_backslash() {
        for special in [b'"', b'\\'] {
            for at in 0..8 {
                let mut eight = *b"a!#[]z\xa2\xdc";
                eight[at] = special;
                assert_eq!(plain_bytes(u64::from_le_bytes(eight)), at);
            }
        }
        assert_eq!(plain_bytes(u64::from_le_bytes(*b"a!#[]z\xa2\xdc")), 8);
    }
}
