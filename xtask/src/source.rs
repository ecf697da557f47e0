//! Rust sources as text, with comments and string literals separated from code, without a syntax tree.

/// A Rust source taken apart.
pub(crate) struct RustSource {
    /// Comments and string literals with the lines where they begin. Comments on lines that follow one another are
    /// one; their paragraphs end with a line end.
    pub(crate) prose: Vec<(usize, String)>,
    /// The string literals alone.
    pub(crate) literals: Vec<Literal>,
    /// The code without them, line by line.
    pub(crate) code: String,
    /// The prefix of each open bracket: the path of a function or a macro (with its `!`), `#` for an attribute, or an empty text.
    open: Vec<String>,
}

/// A string literal and what it is given to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    pub(crate) text: String,
    /// The innermost function, macro or attribute whose argument it is.
    pub(crate) call: String,
    /// True inside an attribute.
    pub(crate) is_in_attribute: bool,
}

impl RustSource {
    pub(crate) fn read(source: &str) -> Self {
        let mut this = Self {
            prose: Vec::new(),
            literals: Vec::new(),
            code: String::new(),
            open: Vec::new(),
        };
        let mut rest = source;
        let mut line = 1;
        // The line of the last comment, while only blanks have come after it.
        let mut comment = None;
        while let Some(c) = rest.chars().next() {
            let taken = if rest.starts_with("//") {
                let len = rest.find('\n').unwrap_or(rest.len());
                let text = rest.get(..len).unwrap_or_default();
                let text = text.trim_start_matches(['/', '!']).trim();
                let text = if text.is_empty() { "\n" } else { text };
                match this.prose.last_mut() {
                    Some((_, before)) if comment.is_some_and(|at| at + 1 == line) => {
                        before.push(' ');
                        before.push_str(text);
                    }
                    _ => this.prose.push((line, text.to_owned())),
                }
                comment = Some(line);
                len
            } else if rest.starts_with("/*") {
                let len = rest.find("*/").map_or(rest.len(), |at| at + 2);
                let text = rest.get(2..len).unwrap_or_default();
                this.prose.push((line, text.to_owned()));
                len
            } else if let Some((text, len)) = this.literal(rest) {
                comment = None;
                if let Some(text) = text {
                    this.literals.push(this.given(text.clone()));
                    this.prose.push((line, text));
                }
                this.code.push(' ');
                len
            } else {
                comment = comment.filter(|_| c.is_whitespace());
                this.push_code(c);
                c.len_utf8()
            };
            let (passed, left) = rest.split_at(taken);
            let ends = passed.matches('\n').count();
            if c != '\n' {
                this.code.extend(std::iter::repeat_n('\n', ends));
            }
            line += ends;
            rest = left;
        }
        this
    }

    fn push_code(&mut self, c: char) {
        match c {
            '(' | '[' => self.open.push(self.path_before()),
            // The braces of a macro have its arguments, others a block or fields.
            '{' => {
                let before = Some(self.path_before()).filter(|path| path.ends_with('!'));
                self.open.push(before.unwrap_or_default());
            }
            ')' | ']' | '}' => drop(self.open.pop()),
            _ => (),
        }
        self.code.push(c);
    }

    /// The path that the code ends with, such as `Error::new`, `format!` or `#`.
    fn path_before(&self) -> String {
        let code = self.code.trim_end();
        let of_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '!' | '#');
        let start = code
            .char_indices()
            .rev()
            .take_while(|&(_, c)| of_path(c))
            .last()
            .map_or(code.len(), |(at, _)| at);
        code.get(start..).unwrap_or_default().to_owned()
    }

    /// A literal that stands where the code has come to.
    fn given(&self, text: String) -> Literal {
        let call = self.open.iter().rev().find(|call| !call.is_empty());
        Literal {
            text,
            call: call.cloned().unwrap_or_default(),
            is_in_attribute: self.open.iter().any(|call| call.starts_with('#')),
        }
    }

    /// The text of a string literal that starts here, or `None` for a character, and its length in the source.
    fn literal(&self, rest: &str) -> Option<(Option<String>, usize)> {
        let is_in_name = self
            .code
            .chars()
            .next_back()
            .is_some_and(|c| c.is_alphanumeric() || c == '_');
        if let Some(raw) = rest
            .strip_prefix('r')
            .filter(|_| !is_in_name || self.code.ends_with(['b', 'c']))
        {
            let hashes = raw.bytes().take_while(|&byte| byte == b'#').count();
            let text = raw.get(hashes..)?.strip_prefix('"')?;
            let close = format!("\"{}", "#".repeat(hashes));
            let len = text.find(&close).unwrap_or(text.len());
            let whole = 2 + hashes + len + close.len();
            return Some((Some(text.get(..len)?.to_owned()), whole.min(rest.len())));
        }
        if let Some(text) = rest.strip_prefix('"') {
            let mut content = String::new();
            let mut chars = text.char_indices();
            while let Some((at, c)) = chars.next() {
                match c {
                    '"' => return Some((Some(content), at + 2)),
                    '\\' => match chars.next()?.1 {
                        'n' => content.push('\n'),
                        'r' | 't' | '\n' => content.push(' '),
                        'u' => {
                            let (code, _) =
                                text.get(at..)?.strip_prefix("\\u{")?.split_once('}')?;
                            let code = u32::from_str_radix(code, 16).ok()?;
                            content.push(char::from_u32(code)?);
                            chars.find(|&(_, c)| c == '}')?;
                        }
                        other => content.push(other),
                    },
                    '\n' => content.push(' '),
                    c => content.push(c),
                }
            }
            return Some((Some(content), rest.len()));
        }
        let text = rest.strip_prefix('\'')?;
        let mut chars = text.char_indices();
        let is_escape = chars.next()?.1 == '\\';
        if is_escape {
            chars.next()?;
            let (at, _) = chars.find(|&(_, c)| c == '\'')?;
            return Some((None, at + 2));
        }
        // A lifetime has no quote behind its first letter.
        let (at, c) = chars.next()?;
        (c == '\'').then_some((None, at + 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_know_what_they_are_given_to() {
        let source = r##"
#[error("no file {0}")]
#[expect(clippy::all, reason = "a test")]
fn f() -> Error {
    Error::new(format!("it's \u{b5}s: {}", "\"x\"")).with_hint(
        // "not this"
        if a[0] { r#"say "so""# } else { "nothing" },
    )
}
const TEXT: &str = "alone";
"##;
        let found: Vec<_> = RustSource::read(source)
            .literals
            .into_iter()
            .map(|literal| (literal.text, literal.call, literal.is_in_attribute))
            .collect();
        let expected = [
            ("no file {0}", "error", true),
            ("a test", "expect", true),
            ("it's \u{b5}s: {}", "format!", false),
            ("\"x\"", "format!", false),
            ("say \"so\"", "with_hint", false),
            ("nothing", "with_hint", false),
            ("alone", "", false),
        ]
        .map(|(text, call, is_in)| (text.to_owned(), call.to_owned(), is_in));
        assert_eq!(found, expected);
    }
}
