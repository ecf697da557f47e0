//! Messages as JSON and as a tree, for people and for programs without a decoder of Megaco.

use std::fmt::Write as _;

use crate::{Message, Visitor};

/// Writes JSON: a record is an object, a list an array, an alternative of a choice an object with one member. Names are those of
/// [`Visitor`]. Octets that are not UTF-8 become the characters of the same numbers.
#[derive(Debug, Default)]
pub struct JsonWriter {
    out: String,
    /// The enclosing values: closing marks, and whether a comma is due.
    open: Vec<(&'static str, bool)>,
    /// Alternatives whose value comes next: as many objects to close behind it.
    alternatives: Vec<usize>,
    pending: usize,
    /// The number of spaces that a level is indented by; `None` for one line.
    indent: Option<usize>,
}

impl JsonWriter {
    /// JSON in one line.
    #[must_use]
    pub fn compact() -> Self {
        Self::default()
    }

    /// JSON with a line a member, indented by two spaces a level.
    #[must_use]
    pub fn pretty() -> Self {
        Self {
            indent: Some(2),
            ..Self::default()
        }
    }

    /// The JSON that was written.
    #[must_use]
    pub fn into_string(self) -> String {
        self.out
    }

    fn new_line(&mut self) {
        if let Some(indent) = self.indent {
            self.out.push('\n');
            let spaces = self.open.len().saturating_mul(indent);
            self.out.extend(std::iter::repeat_n(' ', spaces));
        }
    }

    /// A comma when something stands before, then a new line.
    fn next(&mut self) {
        if let Some((_, used)) = self.open.last_mut() {
            let comma = std::mem::replace(used, true);
            if comma {
                self.out.push(',');
            }
            self.new_line();
        }
    }

    /// A value begins: in an array it is an element.
    fn value(&mut self) {
        if self.pending == 0 && self.open.last().is_some_and(|(mark, _)| *mark == "]") {
            self.next();
        }
    }

    fn begin(&mut self, opening: char, closing: &'static str) {
        self.value();
        self.alternatives.push(std::mem::take(&mut self.pending));
        self.out.push(opening);
        self.open.push((closing, false));
    }

    fn end(&mut self) {
        self.close();
        let alternatives = self.alternatives.pop().unwrap_or(0);
        (0..alternatives).for_each(|_| self.close());
    }

    fn close(&mut self) {
        let Some((mark, used)) = self.open.pop() else {
            return;
        };
        if used {
            self.new_line();
        }
        self.out.push_str(mark);
    }

    fn key(&mut self, name: &str) {
        self.next();
        self.string(name.as_bytes());
        self.out
            .push_str(if self.indent.is_some() { ": " } else { ":" });
    }

    fn string(&mut self, octets: &[u8]) {
        self.out.push('"');
        match std::str::from_utf8(octets) {
            Ok(text) => text.chars().for_each(|character| self.character(character)),
            Err(_) => octets
                .iter()
                .for_each(|octet| self.character(char::from(*octet))),
        }
        self.out.push('"');
    }

    fn character(&mut self, character: char) {
        match character {
            '"' => self.out.push_str("\\\""),
            '\\' => self.out.push_str("\\\\"),
            '\n' => self.out.push_str("\\n"),
            '\r' => self.out.push_str("\\r"),
            '\t' => self.out.push_str("\\t"),
            control if control < ' ' || control == '\u{7f}' => {
                // Writing to a String does not fail.
                let _ = write!(self.out, "\\u{:04x}", u32::from(control));
            }
            plain => self.out.push(plain),
        }
    }

    fn scalar(&mut self, write: impl FnOnce(&mut Self)) {
        self.value();
        write(self);
        let alternatives = std::mem::take(&mut self.pending);
        (0..alternatives).for_each(|_| self.close());
    }
}

impl Visitor for JsonWriter {
    fn begin_record(&mut self, _: &'static str) {
        self.begin('{', "}");
    }
    fn field(&mut self, name: &'static str) {
        self.key(name);
        // The next value is that of a member, and not an element.
    }
    fn end_record(&mut self) {
        self.end();
    }
    fn begin_list(&mut self) {
        self.begin('[', "]");
    }
    fn end_list(&mut self) {
        self.end();
    }
    fn alternative(&mut self, name: &'static str) {
        self.value();
        self.out.push('{');
        self.open.push(("}", false));
        self.key(name);
        self.pending = self.pending.saturating_add(1);
    }
    fn unsigned(&mut self, value: u32) {
        self.scalar(|json| {
            let _ = write!(json.out, "{value}");
        });
    }
    fn boolean(&mut self, value: bool) {
        self.scalar(|json| json.out.push_str(if value { "true" } else { "false" }));
    }
    fn word(&mut self, word: &'static str) {
        self.scalar(|json| json.string(word.as_bytes()));
    }
    fn text(&mut self, octets: &[u8]) {
        self.scalar(|json| json.string(octets));
    }
}

/// Writes a tree: a line a value, indented by two spaces a level.
///
/// ```text
/// version: 1
/// body: transactions
///   transactionRequest
///     id: 9998
/// ```
#[derive(Debug, Default)]
pub struct TreeWriter {
    out: String,
    depth: usize,
    /// The label of the next value.
    label: Option<&'static str>,
    /// True for each open record or list that has a line of its own.
    headed: Vec<bool>,
}

impl TreeWriter {
    /// An empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The tree that was written.
    #[must_use]
    pub fn into_string(self) -> String {
        self.out
    }

    fn start(&mut self) {
        let spaces = self.depth.saturating_mul(2);
        self.out.extend(std::iter::repeat_n(' ', spaces));
    }

    /// Writes a line with the label, and indents further; nothing for a record in a list of alternatives, whose name has been
    /// written.
    fn open(&mut self, name: &str) {
        let headed = self.label.is_some() || !name.is_empty();
        if headed {
            self.start();
            match self.label.take() {
                Some(label) => self.out.push_str(label),
                None => self.out.push_str(name),
            }
            self.out.push('\n');
            self.depth = self.depth.saturating_add(1);
        }
        self.headed.push(headed);
    }

    fn close(&mut self) {
        if self.headed.pop() == Some(true) {
            self.depth = self.depth.saturating_sub(1);
        }
    }

    fn line(&mut self, write: impl FnOnce(&mut String)) {
        self.start();
        if let Some(label) = self.label.take() {
            self.out.push_str(label);
            self.out.push_str(": ");
        }
        write(&mut self.out);
        self.out.push('\n');
    }
}

impl Visitor for TreeWriter {
    fn begin_record(&mut self, name: &'static str) {
        self.open(name);
    }
    fn field(&mut self, name: &'static str) {
        self.label = Some(name);
    }
    fn end_record(&mut self) {
        self.close();
    }
    fn begin_list(&mut self) {
        self.open("");
    }
    fn end_list(&mut self) {
        self.close();
    }
    fn alternative(&mut self, name: &'static str) {
        // The name of the alternative has more information than that of the field or the record around it.
        self.label = Some(name);
    }
    fn unsigned(&mut self, value: u32) {
        self.line(|out| {
            let _ = write!(out, "{value}");
        });
    }
    fn boolean(&mut self, value: bool) {
        self.line(|out| out.push_str(if value { "true" } else { "false" }));
    }
    fn word(&mut self, word: &'static str) {
        self.line(|out| out.push_str(word));
    }
    fn text(&mut self, octets: &[u8]) {
        self.line(|out| {
            let _ = write!(out, "\"{}\"", octets.escape_ascii());
        });
    }
}

impl Message<'_> {
    /// The message as JSON in one line; with `pretty` a line a member.
    #[must_use]
    pub fn to_json(&self, pretty: bool) -> String {
        let mut json = if pretty {
            JsonWriter::pretty()
        } else {
            JsonWriter::compact()
        };
        self.visit(&mut json);
        json.into_string()
    }

    /// The message as a tree.
    #[must_use]
    pub fn to_tree(&self) -> String {
        let mut tree = TreeWriter::new();
        self.visit(&mut tree);
        tree.into_string()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Arena, TextOptions, decode_text};

    const TEXT: &str = "!/1 [1.2.3.4]:5\nT=7{C=-{MF=ROOT{M{TS{x/y=\"a\\b\"}}},SC=a/b{SV{MT=RS,RE=\"901 x\"}}}}K{1-2}";

    #[test]
    fn json_of_a_message() {
        let arena = Arena::new();
        let message = decode_text(TEXT.as_bytes(), &arena, TextOptions::strict()).unwrap();
        let json = message.to_json(false);
        assert_eq!(
            json,
            concat!(
                r#"{"mess":{"version":1,"mid":{"ip4Address":{"address":"1.2.3.4","port":5}},"#,
                r#""body":{"transactions":[{"transactionRequest":{"id":7,"actions":[{"#,
                r#""context_id":0,"commands":["#,
                r#"{"command":{"modReq":{"termination_ids":["ROOT"],"descriptors":["#,
                r#"{"mediaDescriptor":{"termination_state":{"properties":["#,
                r#"{"name":"x/y","value":["a\\b"]}]}}}]}}},"#,
                r#"{"command":{"serviceChangeReq":{"termination_ids":["a/b"],"#,
                r#""parms":{"method":"restart","reason":["901 x"]}}}}]}]}},"#,
                r#"{"transactionResponseAck":[{"first":1,"last":2}]}]}}}"#,
            )
        );
        let pretty = message.to_json(true);
        assert!(
            pretty.starts_with("{\n  \"mess\": {\n    \"version\": 1,\n"),
            "{pretty}"
        );
        let squeezed: String = pretty
            .lines()
            .map(|line| line.trim_start().replacen("\": ", "\":", 1))
            .collect();
        assert_eq!(squeezed, json);
    }

    #[test]
    fn tree_of_a_message() {
        let arena = Arena::new();
        let text = b"!/1 [1.2.3.4]:5\nT=7{C=-{SC=ROOT{SV{MT=RS,RE=\"901 x\"}}}}";
        let message = decode_text(text, &arena, TextOptions::strict()).unwrap();
        assert_eq!(
            message.to_tree(),
            "MegacoMessage\n  mess\n    version: 1\n    ip4Address\n      address: \"1.2.3.4\"\n      \
             port: 5\n    transactions\n      transactionRequest\n        id: 7\n        actions\n          \
             ActionRequest\n            context_id: 0\n            commands\n              \
             CommandRequest\n                serviceChangeReq\n                  termination_ids\n                    \
             \"ROOT\"\n                  parms\n                    method: restart\n                    \
             reason\n                      \"901 x\"\n"
        );
    }
}
