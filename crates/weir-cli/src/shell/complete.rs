//! The completions at a place of a text that is being written.

use std::ops::Range;
use std::path::Path;

use clap::ValueEnum;
use weir_engine::{TokenKind, tokens};

use super::catalog::{Catalog, CatalogColumn, ROWS};
use super::commands::{COMMANDS, Verb, parse};
use super::input::is_command;
use super::named_tables::{FROM, StatementWords, TableOrigin, TableUse, tables_of};
use weir_output::Format;
use weir_output::text::is_control;

/// A text that could stand there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Completion {
    pub(super) value: String,
    pub(super) meaning: String,
    /// The bytes that it takes the place of.
    pub(super) range: Range<usize>,
    /// The text is complete, so that a blank may follow.
    pub(super) is_whole: bool,
}

/// A text that may take the place of a typed word.
struct Suggestion {
    value: String,
    meaning: String,
    is_whole: bool,
}

impl Suggestion {
    /// A complete text.
    fn whole(value: impl Into<String>, meaning: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            meaning: meaning.into(),
            is_whole: true,
        }
    }

    /// A text that continues with something else, such as the arguments of a function.
    fn open(value: impl Into<String>, meaning: impl Into<String>) -> Self {
        Self {
            is_whole: false,
            ..Self::whole(value, meaning)
        }
    }

    /// The completion that puts the text in the place of these bytes.
    fn at(self, range: Range<usize>) -> Completion {
        Completion {
            value: self.value,
            meaning: self.meaning,
            range,
            is_whole: self.is_whole,
        }
    }
}

/// The completions at the cursor, the most likely first.
pub(super) fn complete(line: &str, place: usize, catalog: &Catalog) -> Vec<Completion> {
    let Some(before) = line.get(..place) else {
        return Vec::new();
    };
    let mut found = match is_command(before) && !before.contains('\n') {
        true => command(before, catalog),
        false => statement(line, before, catalog),
    };
    found.truncate(CANDIDATES_MAX);
    found
}

fn statement(line: &str, before: &str, catalog: &Catalog) -> Vec<Completion> {
    let written = tokens(before);
    let start = written
        .iter()
        .rev()
        .find(|token| token.kind == TokenKind::Semicolon)
        .map_or(0, |token| token.range.end);
    let all = tokens(line);
    let mut ends = all
        .iter()
        .filter(|token| token.kind == TokenKind::Semicolon);
    let end = ends
        .find(|token| token.range.start >= before.len())
        .map_or(line.len(), |token| token.range.start);
    let whole = line.get(start..end).unwrap_or_default();
    let words = StatementWords {
        sql: before,
        tokens: &written,
    };
    match written.last() {
        Some(token) if token.kind == TokenKind::Comment && !before.ends_with('\n') => {
            return Vec::new();
        }
        Some(token) if token.kind == TokenKind::Unfinished => {
            let text = before.get(token.range.clone()).unwrap_or_default();
            let behind = words.upper(written.len().saturating_sub(2));
            return match text.strip_prefix('\'') {
                Some(path) if BEFORE_FILES.contains(&behind.as_str()) && written.len() > 1 => {
                    files(path, before.len(), Quote::Closed(line))
                }
                _ => Vec::new(),
            };
        }
        _ => {}
    }
    let word_start = word_start(before);
    let word = before.get(word_start..).unwrap_or_default();
    // This is the word before the one at the cursor.
    let in_front = written
        .iter()
        .rposition(|token| token.range.end <= word_start);
    let in_front = in_front.map_or(String::new(), |at| words.upper(at));
    let range = word_start..before.len();
    if FROM.contains(&in_front.as_str()) || in_front == "," && !is_in_values(&words, word_start) {
        let named = tables(word, &range, catalog);
        if FROM.contains(&in_front.as_str()) || !word.is_empty() && !named.is_empty() {
            return named;
        }
    }
    names(word, &range, &tables_of(whole), whole, catalog)
}

/// True behind a comma that separates values and not tables.
fn is_in_values(words: &StatementWords<'_>, place: usize) -> bool {
    let before = words.tokens.iter().enumerate().rev();
    let mut depth = 0_i32;
    for (at, token) in before.filter(|(_, token)| token.range.end <= place) {
        match words.text(at) {
            ")" | "]" => depth += 1,
            "(" | "[" if depth == 0 => return true,
            "(" | "[" => depth -= 1,
            _ if depth == 0 && token.kind == TokenKind::Keyword => match words.upper(at).as_str() {
                "FROM" | "JOIN" => return false,
                "SELECT" | "BY" | "WHERE" | "SET" | "VALUES" | "ON" | "HAVING" => return true,
                _ => {}
            },
            _ => {}
        }
    }
    true
}

/// Tables behind FROM.
fn tables(word: &str, range: &Range<usize>, catalog: &Catalog) -> Vec<Completion> {
    let known = catalog.known();
    let own = known.names().iter();
    let mut all: Vec<Suggestion> = own
        .map(|name| Suggestion::whole(identifier(name), "A table of this shell"))
        .collect();
    let (is_open, has) = (known.is_open, |name: &str| known.has(name));
    for entry in catalog
        .functions()
        .iter()
        .filter(|entry| entry.kind == "table")
    {
        let is_plain = is_open && !ARGUMENTS.contains(&entry.name.as_str());
        if is_plain && !has(&entry.name) {
            all.push(Suggestion::whole(&entry.name, &entry.meaning));
        } else if !is_plain {
            let open = match SERIES.contains(&entry.name.as_str()) {
                true => "(",
                false => "('",
            };
            let value = format!("{}{open}", entry.name);
            all.push(Suggestion::open(value, &entry.meaning));
        }
    }
    let mut found = matching(word, range, all.into_iter());
    if word.is_empty() {
        let mut captures = files("", range.start, Quote::Both);
        captures.retain(|file| is_readable(&file.value));
        captures.append(&mut found);
        return captures;
    }
    found
}

/// Columns, functions and words of SQL.
fn names(
    word: &str,
    range: &Range<usize>,
    tables: &[TableUse],
    statement: &str,
    catalog: &Catalog,
) -> Vec<Completion> {
    let column = |prefix: &str, column: &CatalogColumn| {
        let value = format!("{prefix}{}", identifier(&column.name));
        Suggestion::whole(value, &column.meaning)
    };
    if let Some((table, _)) = word.split_once('.')
        && let Some(table_use) = tables.iter().find(|one| one.is_called(table))
    {
        let columns = catalog.columns(table_use);
        let prefix = format!("{table}.");
        let all = columns.iter().map(|one| column(&prefix, one));
        let found = matching(word, range, all);
        if !found.is_empty() {
            return found;
        }
    }
    let mut all: Vec<Suggestion> = Vec::new();
    match tables
        .iter()
        .any(|table| table.origin != TableOrigin::Other)
    {
        true => {
            for table in tables {
                all.extend(catalog.columns(table).iter().map(|one| column("", one)));
            }
        }
        false => all.extend(catalog.packets().iter().map(|one| column("", one))),
    }
    for alias in tables.iter().filter_map(|table| table.alias.as_ref()) {
        let value = format!("{}.", identifier(alias));
        all.push(Suggestion::open(value, "A table of this statement"));
    }
    for name in given(statement) {
        all.push(Suggestion::whole(
            identifier(&name),
            "Named in this statement",
        ));
    }
    if !word.is_empty() {
        for entry in catalog
            .functions()
            .iter()
            .filter(|entry| entry.kind != "table")
        {
            let meaning = match entry.meaning.as_str() {
                "" => entry.example.clone(),
                meaning => format!("{meaning}: {}", entry.example),
            };
            all.push(Suggestion::open(format!("{}(", entry.name), meaning));
        }
        let is_lower = word.chars().all(|one| !one.is_ascii_uppercase());
        all.extend(KEYWORDS.iter().map(|keyword| {
            let keyword = match is_lower {
                true => keyword.to_ascii_lowercase(),
                false => (*keyword).to_owned(),
            };
            Suggestion::whole(keyword, "")
        }));
    }
    matching(word, range, all.into_iter())
}

/// Names that a statement gives behind AS.
fn given(statement: &str) -> Vec<String> {
    let all = tokens(statement);
    let words = StatementWords {
        sql: statement,
        tokens: &all,
    };
    let named = (1..all.len()).filter(|at| words.upper(at - 1) == "AS" && words.is_word(*at));
    let mut names: Vec<String> = named.map(|at| words.name(at)).collect();
    // Types in CAST stand behind AS, too, and are offered elsewhere, as are names of tables.
    names.retain(|name| !TYPES.contains(&name.as_str()));
    names
}

/// The names that begin with the word; if there are none, those that contain it.
fn matching(
    word: &str,
    range: &Range<usize>,
    all: impl Iterator<Item = Suggestion>,
) -> Vec<Completion> {
    let word = word.to_lowercase();
    let mut begins: Vec<Completion> = Vec::new();
    let mut has: Vec<Completion> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for suggestion in all {
        let lower = suggestion.value.to_lowercase();
        let lower = lower.trim_start_matches('"');
        let list = match lower.starts_with(&word) {
            true => &mut begins,
            false if word.len() > 1 && lower.contains(&word) => &mut has,
            false => continue,
        };
        if seen.insert(suggestion.value.clone()) {
            list.push(suggestion.at(range.clone()));
        }
    }
    match begins.is_empty() {
        true => has,
        false => begins,
    }
}

/// Commands and what stands behind them.
fn command(before: &str, catalog: &Catalog) -> Vec<Completion> {
    let start = before.len() - before.trim_start().len();
    let Some(blank) = before
        .get(start..)
        .and_then(|text| text.find(char::is_whitespace))
    else {
        let word = before.get(start..).unwrap_or_default();
        let all = COMMANDS.iter().map(|command| {
            let meaning = format!("{} {}", command.arguments, command.meaning);
            Suggestion::whole(command.name, meaning.trim())
        });
        return matching(word, &(start..before.len()), all);
    };
    let Ok((verb, _)) = parse(before) else {
        return Vec::new();
    };
    let rest_start = start + blank + 1;
    let rest = before.get(rest_start..).unwrap_or_default();
    let rest_start = rest_start + (rest.len() - rest.trim_start().len());
    let rest = rest.trim_start();
    let range = rest_start..before.len();
    let fixed = |words: &[&str]| {
        let all = words.iter().map(|word| Suggestion::whole(*word, ""));
        matching(rest, &range, all)
    };
    match verb {
        Verb::Open | Verb::Read | Verb::Once | Verb::Output => {
            files(rest, before.len(), Quote::None)
        }
        Verb::Mode => {
            let formats = Format::value_variants().iter();
            let names: Vec<&str> = formats
                .filter(|format| !format.is_binary())
                .map(|format| format.name())
                .collect();
            fixed(&names)
        }
        Verb::Timer | Verb::Stats | Verb::AllColumns => fixed(&["on", "off"]),
        Verb::Plot => fixed(&["line", "bars", "histogram", "heat"]),
        Verb::Rows => fixed(&["all", "40", "100", "1000"]),
        Verb::TimeZone => fixed(&["local", "UTC"]),
        Verb::Help => {
            let names: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
            fixed(&names)
        }
        Verb::Fields | Verb::Filter => {
            let start = word_start(before).max(rest_start);
            let word = before.get(start..).unwrap_or_default();
            let columns = catalog.packets();
            let all = columns
                .iter()
                .map(|column| Suggestion::whole(&column.name, &column.meaning));
            matching(word, &(start..before.len()), all)
        }
        Verb::Functions => {
            let all = catalog.functions().iter();
            let all = all.map(|entry| Suggestion::whole(&entry.name, &entry.meaning));
            matching(rest, &range, all)
        }
        Verb::Ladder | Verb::Pager | Verb::Quit | Verb::Save | Verb::Tables | Verb::Vertical => {
            Vec::new()
        }
    }
}

/// The quotes that a file's name gets.
#[derive(Clone, Copy)]
enum Quote<'l> {
    None,
    /// There is one in front; one is added behind where the line has none.
    Closed(&'l str),
    Both,
}

/// Files and folders whose path begins so; the path ends at `end`.
fn files(path: &str, end: usize, quote: Quote<'_>) -> Vec<Completion> {
    let (folder, begun) = match path.rfind('/') {
        Some(at) => path.split_at(at + 1),
        None => ("", path),
    };
    let plain = folder.replace("''", "'");
    let Ok(entries) = std::fs::read_dir(match plain.as_str() {
        "" => Path::new("."),
        plain => Path::new(plain),
    }) else {
        return Vec::new();
    };
    let mut found: Vec<(String, bool)> = Vec::new();
    for entry in entries.take(ENTRIES_MAX).flatten() {
        // A name that is not UTF-8 cannot be typed, and a name with control characters could change the terminal.
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let is_hidden = name.starts_with('.') && !begun.starts_with('.');
        if is_hidden || name.chars().any(is_control) {
            continue;
        }
        let is_folder = entry.path().is_dir();
        found.push((name, is_folder));
    }
    found.sort();
    let range = (end - path.len())..end;
    let quoted = found.into_iter().map(|(name, is_folder)| {
        let name = match quote {
            Quote::None => name,
            _ => name.replace('\'', "''"),
        };
        let mut value = format!("{folder}{name}");
        if is_folder {
            value.push('/');
        }
        if let Quote::Both = quote {
            value.insert(0, '\'');
        }
        let is_closed = match quote {
            Quote::None => false,
            Quote::Closed(line) => !line.get(end..).is_some_and(|rest| rest.starts_with('\'')),
            Quote::Both => true,
        };
        if is_closed && !is_folder {
            value.push('\'');
        }
        match is_folder {
            true => Suggestion::open(value, "folder"),
            false => Suggestion::whole(value, ""),
        }
    });
    let quoted = quoted.filter(|suggestion| {
        let value = suggestion.value.trim_start_matches('\'');
        value.starts_with(path) || matches!(quote, Quote::Both)
    });
    quoted
        .map(|suggestion| suggestion.at(range.clone()))
        .collect()
}

/// True for what is likely to be read: folders, captures and files of rows.
fn is_readable(value: &str) -> bool {
    let name = value.trim_matches('\'').to_ascii_lowercase();
    let packed = [".gz", ".zst"]
        .iter()
        .find_map(|end| name.strip_suffix(end));
    let name = packed.unwrap_or(&name);
    let captures = [".pcap", ".pcapng", ".cap", ".erf", ".clf"];
    captures.iter().chain(ROWS).any(|end| name.ends_with(end))
}

/// The start of the word at the end of a text: names with their dots.
fn word_start(text: &str) -> usize {
    let behind = |character: char| !(character.is_alphanumeric() || matches!(character, '_' | '.'));
    text.rfind(behind).map_or(0, |at| {
        at + text
            .get(at..)
            .and_then(|rest| rest.chars().next())
            .map_or(1, char::len_utf8)
    })
}

/// A name as SQL takes it.
fn identifier(name: &str) -> String {
    let is_plain = name
        .chars()
        .all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || matches!(one, '_' | '.'));
    match is_plain && !name.starts_with(|one: char| one.is_ascii_digit()) && !name.is_empty() {
        true => name.to_owned(),
        false => weir_engine::quote_ident(name),
    }
}

/// The tokens before the name of a file.
const BEFORE_FILES: &[&str] = &["FROM", "JOIN", ",", "(", "[", "TO"];

/// Tables that need more arguments than a capture.
const ARGUMENTS: &[&str] = &[
    "clf",
    "generate_series",
    "packets",
    "range",
    "records",
    "stream",
];

/// Tables that take no file.
const SERIES: &[&str] = &["generate_series", "range"];

/// Types that stand behind the AS of CAST.
const TYPES: &[&str] = &[
    "bigint",
    "boolean",
    "bytea",
    "date",
    "decimal",
    "double",
    "float",
    "int",
    "integer",
    "interval",
    "real",
    "smallint",
    "text",
    "time",
    "timestamp",
    "varchar",
];

/// Words of SQL that are offered.
pub(super) const KEYWORDS: &[&str] = &[
    "ALL",
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "COPY",
    "CREATE",
    "CROSS",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DROP",
    "ELSE",
    "END",
    "EXCEPT",
    "EXCLUDE",
    "EXECUTE",
    "EXISTS",
    "EXPLAIN",
    "FILTER",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "ILIKE",
    "IN",
    "INNER",
    "INTERSECT",
    "INTERVAL",
    "IS",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NOT",
    "NULL",
    "NULLS",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OVER",
    "PARTITION",
    "PREPARE",
    "QUALIFY",
    "REPLACE",
    "RIGHT",
    "SELECT",
    "SET",
    "SHOW",
    "TABLE",
    "THEN",
    "TO",
    "UNION",
    "USING",
    "VALUES",
    "VIEW",
    "WHEN",
    "WHERE",
    "WITH",
];

/// Completions of a place, at most: more than a user looks through.
const CANDIDATES_MAX: usize = 2_000;

/// The maximum number of entries of a folder that are read.
const ENTRIES_MAX: usize = 20_000;

#[cfg(test)]
mod tests;
