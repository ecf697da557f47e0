//! The hint behind the cursor while a text is written: its continuation in the history, a completion, or the meaning of the last
//! name.

use reedline::{Color, DefaultHinter, Hinter, History};

use super::catalog::Catalog;
use super::complete::complete;

/// The hint that is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hint {
    /// The text that the right arrow accepts.
    pub(super) rest: String,
    /// A meaning that is only shown.
    pub(super) meaning: String,
}

/// The hint for the name at the end of a text.
pub(super) fn hint(line: &str, catalog: &Catalog) -> Hint {
    let is_name = |one: char| one.is_alphanumeric() || matches!(one, '_' | '.');
    let begun = line.chars().rev().take_while(|one| is_name(*one)).count();
    if begun < BEGUN_MIN {
        return Hint::default();
    }
    let found = complete(line, line.len(), catalog);
    let written = |candidate: &super::complete::Completion| {
        line.get(candidate.range.clone())
            .unwrap_or_default()
            .to_owned()
    };
    if let Some(exact) = found
        .iter()
        .find(|one| one.value.trim_end_matches('(') == written(one))
    {
        let meaning = match exact.meaning.as_str() {
            "" => String::new(),
            meaning => format!("  {meaning}"),
        };
        return Hint {
            rest: String::new(),
            meaning,
        };
    }
    match found.first() {
        Some(first) => Hint {
            rest: first
                .value
                .strip_prefix(&written(first))
                .unwrap_or_default()
                .to_owned(),
            meaning: String::new(),
        },
        None => Hint::default(),
    }
}

/// Shows hints.
pub(super) struct Hints {
    catalog: Catalog,
    history: DefaultHinter,
    columns: usize,
    rest: String,
    is_of_history: bool,
}

impl Hints {
    /// Hints out of this catalog, for a terminal of so many columns.
    pub(super) fn new(catalog: Catalog, columns: u16) -> Self {
        let style = Color::DarkGray.normal();
        Self {
            catalog,
            history: DefaultHinter::default().with_style(style).with_min_chars(3),
            columns: usize::from(columns),
            rest: String::new(),
            is_of_history: false,
        }
    }
}

impl Hinter for Hints {
    fn handle(
        &mut self,
        line: &str,
        place: usize,
        history: &dyn History,
        use_ansi_coloring: bool,
        cwd: &str,
    ) -> String {
        self.rest.clear();
        self.is_of_history = false;
        // A hint without colour would look like text that the user has typed.
        if place < line.len() || !use_ansi_coloring {
            return String::new();
        }
        let shown = self.history.handle(line, place, history, true, cwd);
        if !self.history.complete_hint().is_empty() {
            self.is_of_history = true;
            return shown;
        }
        let hint = hint(line, &self.catalog);
        let last = line.lines().last().unwrap_or_default();
        let used = unicode_width::UnicodeWidthStr::width(last).saturating_add(PROMPT);
        let room = self.columns.saturating_sub(used);
        let meaning = match room > MEANING_MIN {
            true => weir_output::text::fitted(&hint.meaning, room).into_owned(),
            false => String::new(),
        };
        self.rest = hint.rest;
        let shown = format!("{}{meaning}", self.rest);
        match shown.is_empty() {
            true => shown,
            false => Color::DarkGray.paint(shown).to_string(),
        }
    }

    fn complete_hint(&self) -> String {
        match self.is_of_history {
            true => self.history.complete_hint(),
            false => self.rest.clone(),
        }
    }

    fn next_hint_token(&self) -> String {
        match self.is_of_history {
            true => self.history.next_hint_token(),
            false => self.rest.clone(),
        }
    }
}

/// Characters of a name before it gets a hint.
const BEGUN_MIN: usize = 3;

/// Columns that the prompt takes.
const PROMPT: usize = 8;

/// Free columns below which no meaning is shown.
const MEANING_MIN: usize = 12;
