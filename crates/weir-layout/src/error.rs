//! Errors of layouts, with their places: line and column in the text, the element, the expected, the found, and the next thing to
//! try.

use std::fmt::{self, Write as _};

/// A layout that can't be used. The message names everything that the methods give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutError(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    file: Option<String>,
    line: u32,
    column: u32,
    fault: FaultAt,
}

/// The kind of a [`LayoutError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not TOML.
    Syntax,
    /// A key that the language does not have, or that does not fit the field's type.
    Key,
    /// A key that is needed is missing.
    Missing,
    /// A value of the wrong type, out of range, or not of the form that the key requires.
    Value,
    /// A name (type, field, enumeration, protocol) that does not exist.
    Name,
    /// A name that is given twice or is reserved.
    Duplicate,
    /// An expression that can't be read or never gives a value.
    Expression,
    /// A field that can't lie where it is put.
    Place,
    /// More of something than is allowed.
    Limit,
    /// A base layout that can't be loaded or that extends itself.
    Extends,
}

/// A place in one of the texts of a layout (its own and those that it extends).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct At {
    /// Index into the list of texts.
    pub(super) file: usize,
    /// Offset in bytes.
    pub(super) offset: usize,
}

/// A fault before its place has been turned into a line and a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FaultAt {
    pub(super) at: At,
    pub(super) kind: ErrorKind,
    pub(super) element: String,
    pub(super) expected: String,
    pub(super) found: String,
    pub(super) hint: Option<String>,
}

/// A function for each kind of fault.
macro_rules! faults {
    ($($function:ident $kind:ident),+ $(,)?) => {$(
        #[cold]
        pub(super) fn $function(
            at: At,
            element: &str,
            expected: impl Into<String>,
            found: impl Into<String>,
        ) -> Box<Self> {
            Self::new(ErrorKind::$kind, at, element, expected, found)
        }
    )+};
}

/// Results inside this module. Boxed, as a fault is large and rare.
pub(super) type Checked<T> = Result<T, Box<FaultAt>>;

impl FaultAt {
    #[cold]
    pub(super) fn new(
        kind: ErrorKind,
        at: At,
        element: &str,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Box<Self> {
        Box::new(Self {
            at,
            kind,
            element: element.to_owned(),
            expected: expected.into(),
            found: found.into(),
            hint: None,
        })
    }

    faults! {
        syntax Syntax, key Key, missing Missing, value Value, name Name, duplicate Duplicate,
        expression Expression, place Place, limit Limit, extends Extends,
    }

    pub(super) fn hint(mut self: Box<Self>, hint: impl Into<String>) -> Box<Self> {
        self.hint = Some(hint.into());
        self
    }

    /// Adds "did you mean" when one of `names` is near `name`.
    pub(super) fn near<'n>(
        self: Box<Self>,
        name: &str,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Box<Self> {
        match nearest(name, names) {
            Some(near) => {
                let hint = format!("did you mean `{near}`?");
                self.hint(hint)
            }
            None => self,
        }
    }
}

impl LayoutError {
    /// Turns the fault's place into file, line and column; `files` are the texts with their paths.
    pub(super) fn locate(fault: FaultAt, files: &[(Option<String>, String)]) -> Self {
        let (file, text) = files
            .get(fault.at.file)
            .map_or((None, ""), |(path, text)| (path.clone(), text.as_str()));
        let before = text
            .char_indices()
            .take_while(|(offset, _)| *offset < fault.at.offset);
        let (line, column) = before.fold((1_u32, 1_u32), |(line, column), (_, character)| {
            if character == '\n' {
                (line.saturating_add(1), 1)
            } else {
                (line, column.saturating_add(1))
            }
        });
        Self(Box::new(Details {
            file,
            line,
            column,
            fault,
        }))
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.fault.kind
    }

    /// The base layout that holds the fault, by its path as written after `extends`; `None` for the
    /// layout itself.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// Line in the TOML text, from 1.
    #[must_use]
    pub fn line(&self) -> u32 {
        self.0.line
    }

    /// Column in characters, from 1.
    #[must_use]
    pub fn column(&self) -> u32 {
        self.0.column
    }

    /// The element by its path, such as `field.vpi.bits`; empty for the text as a whole.
    #[must_use]
    pub fn element(&self) -> &str {
        &self.0.fault.element
    }

    /// The expected text.
    #[must_use]
    pub fn expected(&self) -> &str {
        &self.0.fault.expected
    }

    /// The found text.
    #[must_use]
    pub fn found(&self) -> &str {
        &self.0.fault.found
    }

    /// The hint for the error, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.0.fault.hint.as_deref()
    }
}

/// One line without the hint: callers print that on a line of its own.
impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = OneLine(f);
        if let Some(file) = self.file() {
            write!(line, "{file}: ")?;
        }
        write!(line, "line {}, column {}: ", self.line(), self.column())?;
        if !self.element().is_empty() {
            write!(line, "{}: ", self.element())?;
        }
        write!(line, "expected {}, found {}", self.expected(), self.found())
    }
}

/// Text of which control characters are escaped: names in a layout may hold any character, and a message is one line,
/// which moves no terminal.
struct OneLine<'w, W>(&'w mut W);

impl<W: fmt::Write> fmt::Write for OneLine<'_, W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.split_inclusive(char::is_control) {
            let mut characters = part.chars();
            match characters.next_back().filter(|last| last.is_control()) {
                Some(control) => {
                    write!(self.0, "{}{}", characters.as_str(), control.escape_debug())?;
                }
                None => self.0.write_str(part)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for LayoutError {}

/// The name among `names` that is nearest to `name`, when it is near enough to be meant.
pub(super) fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let allowed = (name.chars().count() / 3).max(1);
    names
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours that lead from one name to the other,
/// letter case aside (optimal string alignment).
fn distance(from: &str, to: &str) -> usize {
    let letters = |text: &str| -> Vec<char> {
        text.chars()
            .take(NAME_CHARS_MAX)
            .map(|character| character.to_ascii_lowercase())
            .collect()
    };
    let (from, to) = (letters(from), letters(to));
    let mut before_last: Vec<usize> = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut row = Vec::with_capacity(to.len() + 1);
        row.push(i + 1);
        for (j, b) in to.iter().enumerate() {
            let mut least = (last[j] + usize::from(a != b))
                .min(last[j + 1] + 1)
                .min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = last;
        last = row;
    }
    last.last().copied().unwrap_or(0)
}

/// Names are compared up to this length, which bounds the work.
const NAME_CHARS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_those_with_few_slips() {
        let names = ["byte_order", "bits", "type", "when"];
        for (name, near) in [
            ("byteorder", Some("byte_order")),
            ("tpye", Some("type")),
            ("Bits", Some("bits")),
            ("whne", Some("when")),
            ("length", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, names), near, "{name}");
        }
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance(&"x".repeat(10_000), "x"), NAME_CHARS_MAX - 1);
    }
}
