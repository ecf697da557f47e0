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

impl Json {
    pub(super) fn new() -> Self {
        Self {
            levels: Vec::new(),
            state: State::Between,
            expects_key: false,
            text: Vec::new(),
            cut: false,
            keep: SHORT,
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
                State::Between => {
                    at += 1;
                    self.between(byte, sink)?;
                }
                State::Word => {
                    if matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n') {
                        self.emit(Token::Word, sink);
                    } else {
                        at += 1;
                        self.push(&[byte]);
                    }
                }
                State::String => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let end = memchr::memchr2(b'"', b'\\', rest).unwrap_or(rest.len());
                    if end > 0 {
                        self.lone();
                        self.push(rest.get(..end).unwrap_or_default());
                        at += end;
                        continue;
                    }
                    at += 1;
                    if byte == b'\\' {
                        self.state = State::Escape;
                        continue;
                    }
                    self.lone();
                    let token = if self.expects_key {
                        Token::Key
                    } else {
                        Token::String
                    };
                    self.emit(token, sink);
                }
                State::Escape => {
                    at += 1;
                    self.state = State::String;
                    let plain = match byte {
                        b'"' | b'\\' | b'/' => byte,
                        b'b' => 8,
                        b'f' => 12,
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        b'u' => {
                            self.state = State::Unicode(0, 0);
                            continue;
                        }
                        _ => return Err(InputErrorKind::Syntax),
                    };
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
            b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                self.state = State::Word;
                self.push(&[byte]);
            }
            // A byte-order mark before the beginning.
            0xef | 0xbb | 0xbf if self.levels.is_empty() => {}
            _ => return Err(InputErrorKind::Syntax),
        }
        Ok(())
    }

    fn emit(&mut self, token: Token, sink: &mut impl Sink) {
        self.state = State::Between;
        self.keep = sink.token(token, &self.text, self.cut);
        self.text.clear();
        self.text.shrink_to(1 << 20);
        self.cut = false;
    }

    fn push(&mut self, bytes: &[u8]) {
        let keep = if self.expects_key || self.state == State::Word {
            SHORT
        } else {
            self.keep
        };
        let room = keep.saturating_sub(self.text.len());
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
