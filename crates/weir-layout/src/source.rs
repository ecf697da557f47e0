//! Reads keys out of parsed TOML and says where each stands.

use toml::de::{DeInteger, DeTable, DeValue};
use toml::{Spanned, value::Datetime};

use super::error::{At, Checked, FaultAt};

/// A value with the place where it stands.
#[derive(Clone, Debug)]
pub(super) struct Located<T> {
    pub(super) value: T,
    pub(super) at: At,
}

/// Text with the place of its first character.
#[derive(Clone, Debug)]
pub(super) struct Text {
    pub(super) text: String,
    pub(super) at: At,
    /// The characters of `text` are those of the file from `at` on, so that an offset in the text is one in the file.
    exact: bool,
}

impl Text {
    /// The place of the character at `offset`; the start of the text where it has escapes.
    pub(super) fn at(&self, offset: usize) -> At {
        At {
            file: self.at.file,
            offset: if self.exact {
                self.at.offset.saturating_add(offset)
            } else {
                self.at.offset
            },
        }
    }
}

/// A scalar as it may stand where numbers and texts are both allowed.
#[derive(Clone, Debug)]
pub(super) enum Scalar {
    Integer(i128),
    Text(Text),
    Datetime(Datetime),
}

/// A table of the TOML text that is being read.
#[derive(Clone, Debug)]
pub(super) struct Section<'t> {
    table: &'t DeTable<'t>,
    source: Source<'t>,
    pub(super) at: At,
    /// Path of the table, such as `field.vpi`; empty for the whole text.
    pub(super) element: String,
}

/// A text and its number in the list of texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'t> {
    pub(super) text: &'t str,
    pub(super) file: usize,
}

impl Source<'_> {
    fn at(self, offset: usize) -> At {
        At {
            file: self.file,
            offset,
        }
    }
}

impl<'t> Section<'t> {
    pub(super) fn whole(table: &'t DeTable<'t>, source: Source<'t>) -> Self {
        Self {
            table,
            source,
            at: source.at(0),
            element: String::new(),
        }
    }

    /// Path of a key of this table.
    pub(super) fn path(&self, key: &str) -> String {
        if self.element.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.element)
        }
    }

    /// Every key with its place.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&'t str, At)> {
        let source = self.source;
        self.table
            .iter()
            .map(move |(key, _)| (key.get_ref().as_ref(), source.at(key.span().start)))
    }

    /// Checks that no key but `known` is given.
    pub(super) fn only(&self, known: &[&str]) -> Checked<()> {
        let unknown = self
            .keys()
            .filter(|(key, _)| !known.contains(key))
            .min_by_key(|(_, at)| at.offset);
        let Some((key, at)) = unknown else {
            return Ok(());
        };
        let expected = format!("one of the keys {}", known.join(", "));
        Err(
            FaultAt::key(at, &self.path(key), expected, format!("`{key}`"))
                .near(key, known.iter().copied()),
        )
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    fn get(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.table.get(key)
    }

    /// The place of a key's value.
    pub(super) fn value_at(&self, key: &str) -> At {
        self.get(key)
            .map_or(self.at, |value| self.source.at(value.span().start))
    }

    fn wrong(&self, key: &str, value: &Spanned<DeValue<'_>>, expected: &str) -> Box<FaultAt> {
        let at = self.source.at(value.span().start);
        let found = describe(value.get_ref());
        FaultAt::value(at, &self.path(key), expected, found)
    }

    /// The fault that `key` is needed.
    pub(super) fn missing(&self, key: &str) -> Box<FaultAt> {
        let expected = format!("the key `{key}`");
        FaultAt::missing(self.at, &self.element, expected, "none")
    }

    pub(super) fn text(&self, key: &str, expected: &str) -> Checked<Option<Text>> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match value.get_ref() {
            DeValue::String(text) => Ok(Some(self.located_text(text, value))),
            _ => Err(self.wrong(key, value, expected)),
        }
    }

    fn located_text(&self, text: &str, value: &Spanned<DeValue<'_>>) -> Text {
        let span = value.span();
        let start = span.start.saturating_add(1);
        let inside = self.source.text.get(start..span.end.saturating_sub(1));
        let exact = inside == Some(text);
        Text {
            text: text.to_owned(),
            at: self.source.at(if exact { start } else { span.start }),
            exact,
        }
    }

    pub(super) fn flag(&self, key: &str) -> Checked<Option<Located<bool>>> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match value.get_ref() {
            DeValue::Boolean(flag) => Ok(Some(Located {
                value: *flag,
                at: self.source.at(value.span().start),
            })),
            _ => Err(self.wrong(key, value, "true or false")),
        }
    }

    /// A number from `least` to `most`.
    pub(super) fn number(&self, key: &str, least: u64, most: u64) -> Checked<Option<Located<u64>>> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let expected = format!("a number from {least} to {most}");
        let number = match value.get_ref() {
            DeValue::Integer(number) => integer(number),
            _ => None,
        };
        match number.and_then(|number| u64::try_from(number).ok()) {
            Some(number) if (least..=most).contains(&number) => Ok(Some(Located {
                value: number,
                at: self.source.at(value.span().start),
            })),
            _ => Err(self.wrong(key, value, &expected)),
        }
    }

    /// A number, a text or a date.
    pub(super) fn scalar(&self, key: &str, expected: &str) -> Checked<Option<Located<Scalar>>> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let scalar = match value.get_ref() {
            DeValue::Integer(number) => integer(number).map(Scalar::Integer),
            DeValue::String(text) => Some(Scalar::Text(self.located_text(text, value))),
            DeValue::Datetime(date) => Some(Scalar::Datetime(*date)),
            _ => None,
        };
        let at = self.source.at(value.span().start);
        match scalar {
            Some(value) => Ok(Some(Located { value, at })),
            None => Err(self.wrong(key, value, expected)),
        }
    }

    /// An expression: a text, or a plain number.
    pub(super) fn expression(&self, key: &str) -> Checked<Option<Text>> {
        let expected = "a number or an expression such as \"header_len * 4\"";
        match self.scalar(key, expected)? {
            None => Ok(None),
            Some(Located { value, at }) => match value {
                Scalar::Text(text) => Ok(Some(text)),
                Scalar::Integer(number) => Ok(Some(Text {
                    text: number.to_string(),
                    at,
                    exact: false,
                })),
                Scalar::Datetime(_) => {
                    let found = "a date";
                    Err(FaultAt::value(at, &self.path(key), expected, found))
                }
            },
        }
    }

    /// One text or number, or an array of them, as texts.
    pub(super) fn texts(&self, key: &str, expected: &str) -> Checked<Option<Vec<Text>>> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let one = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
            DeValue::String(text) => Ok(self.located_text(text, value)),
            DeValue::Integer(number) => Ok(Text {
                text: integer(number).unwrap_or(-1).to_string(),
                at: self.source.at(value.span().start),
                exact: false,
            }),
            _ => Err(self.wrong(key, value, expected)),
        };
        match value.get_ref() {
            DeValue::Array(array) => array.iter().map(one).collect::<Checked<Vec<_>>>().map(Some),
            _ => one(value).map(|text| Some(vec![text])),
        }
    }

    /// Whether `key` is a table.
    pub(super) fn is_table(&self, key: &str) -> bool {
        matches!(self.get(key).map(Spanned::get_ref), Some(DeValue::Table(_)))
    }

    /// Whether `key` is a number.
    pub(super) fn is_number(&self, key: &str) -> bool {
        matches!(
            self.get(key).map(Spanned::get_ref),
            Some(DeValue::Integer(_))
        )
    }

    pub(super) fn section(&self, key: &str) -> Checked<Option<Self>> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        match value.get_ref() {
            DeValue::Table(table) => Ok(Some(self.inner(key, table, value))),
            _ => Err(self.wrong(key, value, "a table")),
        }
    }

    /// The tables under `key`: an array of tables, or one table.
    pub(super) fn sections(&self, key: &str) -> Checked<Option<Vec<Self>>> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let array = match value.get_ref() {
            DeValue::Table(table) => return Ok(Some(vec![self.inner(key, table, value)])),
            DeValue::Array(array) => array,
            _ => return Err(self.wrong(key, value, "tables")),
        };
        let mut sections = Vec::with_capacity(array.len());
        for (index, value) in array.iter().enumerate() {
            let DeValue::Table(table) = value.get_ref() else {
                return Err(self.wrong(key, value, "a table"));
            };
            let named = table
                .iter()
                .find(|(name, _)| name.get_ref() == "name")
                .and_then(|(_, value)| value.get_ref().as_str());
            let path = match named {
                Some(name) => format!("{key}.{name}"),
                None => format!("{key}[{index}]"),
            };
            sections.push(self.inner(&path, table, value));
        }
        Ok(Some(sections))
    }

    fn inner(&self, path: &str, table: &'t DeTable<'t>, value: &Spanned<DeValue<'_>>) -> Self {
        Self {
            table,
            source: self.source,
            at: self.source.at(value.span().start),
            element: self.path(path),
        }
    }
}

fn integer(number: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(number.as_str(), number.radix()).ok()
}

fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) if text.len() <= 40 => format!("\"{text}\""),
        DeValue::String(_) => "a long text".to_owned(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(date) => date.to_string(),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

#[cfg(test)]
impl Text {
    /// A text that stands at the beginning of a file.
    pub(super) fn literal(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            at: At::default(),
            exact: true,
        }
    }
}
