//! Words, punctuation, values: what the encoders of text stand on.

use crate::{
    Extension, TextStyle,
    message::ALL_REQUESTS,
    name::{Name, Value},
    octets,
    text::{lexer::is_word, token::Token},
};

/// Appends text.
pub(super) struct TextWriter<'o, const PRETTY: bool> {
    pub(super) out: &'o mut Vec<u8>,
    pub(super) style: TextStyle,
    /// The version of the message: the indentation of Erlang's three encoders differs in places.
    pub(super) version: u8,
    pub(super) indent: usize,
    pub(super) error: Option<&'static str>,
    pub(super) extensions: &'o [Extension<'o>],
    pub(super) service_changes: u32,
}

/// A new line and tabs, for the depths that there are.
const LINES: [u128; 16] = {
    let mut lines = [b'\n' as u128; 16];
    let mut at = 1;
    while at < lines.len() {
        lines[at] = lines[at - 1] | (b'\t' as u128) << (8 * at);
        at += 1;
    }
    lines
};

const TABS: &[u8; 32] = &[b'\t'; 32];

impl<'o, const PRETTY: bool> TextWriter<'o, PRETTY> {
    pub(super) fn new(
        out: &'o mut Vec<u8>,
        style: TextStyle,
        extensions: &'o [Extension<'o>],
    ) -> Self {
        Self {
            out,
            style,
            version: 0,
            indent: 0,
            error: None,
            extensions,
            service_changes: 0,
        }
    }

    pub(super) fn fail(&mut self, what: &'static str) {
        self.error.get_or_insert(what);
    }

    #[inline]
    pub(super) fn raw(&mut self, octets: &[u8]) {
        self.out.extend_from_slice(octets);
    }

    #[inline]
    pub(super) fn token(&mut self, token: Token) {
        if PRETTY {
            octets::push(self.out, token.long().as_bytes());
        } else {
            octets::push(self.out, token.short().as_bytes());
        }
    }

    /// A new line, indented.
    #[inline]
    pub(super) fn line(&mut self) {
        if let Some(line) = LINES.get(self.indent) {
            return octets::push_packed(self.out, *line, self.indent.wrapping_add(1));
        }
        self.out.push(b'\n');
        let mut left = self.indent;
        while left > 0 {
            let some = TABS.get(..left.min(TABS.len())).unwrap_or_default();
            self.out.extend_from_slice(some);
            left = left.saturating_sub(some.len());
        }
    }

    #[inline]
    pub(super) fn equals(&mut self) {
        if PRETTY {
            self.raw(b" = ");
        } else {
            self.out.push(b'=');
        }
    }

    /// An opening mark, then a line deeper.
    #[inline]
    pub(super) fn open_with(&mut self, mark: u8) {
        if PRETTY {
            self.raw(&[b' ', mark]);
            self.indent = self.indent.saturating_add(1);
            self.line();
        } else {
            self.out.push(mark);
        }
    }

    #[inline]
    pub(super) fn close_with(&mut self, mark: u8) {
        if PRETTY {
            self.indent = self.indent.saturating_sub(1);
            self.line();
        }
        self.out.push(mark);
    }

    #[inline]
    pub(super) fn open(&mut self) {
        self.open_with(b'{');
    }

    #[inline]
    pub(super) fn close(&mut self) {
        self.close_with(b'}');
    }

    #[inline]
    pub(super) fn comma(&mut self) {
        self.out.push(b',');
        if PRETTY {
            self.line();
        }
    }

    /// A comma before every element but the first.
    #[inline]
    pub(super) fn next(&mut self, first: &mut bool) {
        if *first {
            *first = false;
        } else {
            self.comma();
        }
    }

    /// Elements in braces.
    #[inline]
    pub(super) fn braces<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.open();
        self.commas(items, &mut write);
        self.close();
    }

    #[inline]
    pub(super) fn commas<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.comma();
            }
            write(self, item);
        }
    }

    #[inline]
    pub(super) fn number(&mut self, value: u32) {
        octets::push_decimal(self.out, value);
    }

    /// A word: in Erlang's style in lower case.
    #[inline]
    pub(super) fn word(&mut self, word: &[u8]) {
        if self.style.erlang {
            octets::push_lower(self.out, word);
        } else {
            octets::push(self.out, word);
        }
    }

    #[inline]
    pub(super) fn name(&mut self, name: &Name<'_>) {
        match name {
            Name::Text(text) => self.word(text),
            Name::Id(_) => {
                let spelled = name.to_string();
                self.raw(spelled.as_bytes());
            }
        }
    }

    /// A name in a package; a bare package number becomes one in package 0.
    #[inline]
    pub(super) fn package_name(&mut self, name: &Name<'_>) {
        if let Name::Id(id @ 0..=0xffff) = name {
            let spelled = format!("id_0000/id_{id:04x}");
            self.raw(spelled.as_bytes());
        } else {
            self.name(name);
        }
    }

    pub(super) fn quoted(&mut self, octets: &[u8]) {
        if octets.contains(&b'"') {
            self.fail("a quote in a text");
        }
        self.out.push(b'"');
        self.raw(octets);
        self.out.push(b'"');
    }

    /// A value: in quotes when it was, or must be.
    #[inline]
    pub(super) fn value(&mut self, value: &Value<'_>) {
        let quotes = if self.style.erlang {
            false
        } else {
            value.quoted
        };
        if quotes || !is_word(value.octets) {
            self.quoted(value.octets);
        } else if value.quoted {
            // Erlang keeps the case of a value in quotes.
            octets::push(self.out, value.octets);
        } else {
            self.word(value.octets);
        }
    }

    /// Octets with closing braces escaped.
    pub(super) fn octets(&mut self, octets: &[u8]) {
        if octets.contains(&b'}') {
            for octet in octets {
                if *octet == b'}' {
                    self.out.push(b'\\');
                }
                self.out.push(*octet);
            }
        } else {
            self.raw(octets);
        }
        if octets.last() == Some(&b'\\') {
            // The backslash would escape the closing brace.
            self.fail("octets that end with a backslash");
        }
    }

    pub(super) fn hex(&mut self, octets: &[u8]) {
        self.raw(b"0x");
        for octet in octets {
            for digit in [octet >> 4, octet & 15] {
                self.out.push(if digit < 10 {
                    b'0' + digit
                } else {
                    b'A' - 10 + digit
                });
            }
        }
    }

    pub(super) fn request_id(&mut self, id: u32) {
        if id == ALL_REQUESTS {
            self.out.push(b'*');
        } else {
            self.number(id);
        }
    }

    pub(super) fn on_off(&mut self, token: Token, on: bool) {
        self.token(token);
        self.equals();
        self.token(if on { Token::On } else { Token::Off });
    }
}
