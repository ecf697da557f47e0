//! Phrases and type names of the project's old private language: `dialect.txt` counts those that are left in each
//! crate, and no count may rise.
//!
//! Comments and string literals are read as sentences, so that a phrase is found across the ends of lines. This file
//! is left out: its table and its tests spell what it looks for.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::source::RustSource;
use crate::sources;

/// A sequence of words, each with alternatives; some words before or after it make the sentence plain English.
struct Phrase {
    words: &'static [&'static [&'static str]],
    unless_before: &'static [&'static str],
    unless_behind: &'static [&'static str],
}

const BE: &[&str] = &["is", "are", "was", "were", "be", "been"];

/// Phrases that leave open which part of the program, or which person, a sentence is about.
const PHRASES: &[Phrase] = &[
    Phrase {
        words: &[&["for", "by", "to", "from"], &["who"]],
        unless_before: &[],
        unless_behind: &[],
    },
    Phrase {
        words: &[&["nobody", "somebody"]],
        unless_before: &[],
        unless_behind: &[],
    },
    // The phrases "there is none" and "none of these" are English; "a field that is none" is not.
    Phrase {
        words: &[BE, &["none"]],
        unless_before: &["there"],
        unless_behind: &["of"],
    },
    // The phrases "told apart" and "told from" are English; a user is not "told".
    Phrase {
        words: &[BE, &["told"]],
        unless_before: &[],
        unless_behind: &["apart", "from"],
    },
    Phrase {
        words: &[BE, &["said"]],
        unless_before: &[],
        unless_behind: &["to"],
    },
    Phrase {
        words: &[
            &["come", "comes", "came"],
            &["to"],
            &["its", "their", "an"],
            &["end", "ends"],
        ],
        unless_before: &[],
        unless_behind: &[],
    },
    Phrase {
        words: &[&["what"], &["is", "are", "was"], &["asked"]],
        unless_before: &[],
        unless_behind: &[],
    },
];

/// Names of types that say what happened to a value, or where it stands in a picture, and not what it is.
const TYPES: &[&str] = &[
    "Told", "Asked", "Said", "Kept", "Seat", "Door", "House", "Keeper",
];

/// The place of a phrase or a name.
#[derive(Debug, PartialEq, Eq)]
struct PhrasePlace {
    line: usize,
    found: String,
}

/// Every count that is not the listed one. With `WEIR_BLESS` set, lower counts are written to the list.
pub(crate) fn faults(root: &Path) -> Result<Vec<String>> {
    let path = root.join(LIST);
    let listed = parse(&fs::read_to_string(&path)?)?;
    let mut counts = BTreeMap::new();
    for (owner, places) in places(root)? {
        counts.insert(owner, places.len());
    }
    if std::env::var_os("WEIR_BLESS").is_some() {
        fs::write(&path, lowered(&listed, &counts))?;
        return Ok(compare(&parse(&fs::read_to_string(&path)?)?, &counts));
    }
    Ok(compare(&listed, &counts))
}

/// Prints the places, of one owner or of all, and their number.
pub(crate) fn list(root: &Path, wanted: Option<&str>) -> Result<()> {
    let mut is_known = false;
    for (owner, places) in places(root)? {
        if wanted.is_some_and(|wanted| wanted != owner) {
            continue;
        }
        is_known = true;
        for (path, place) in &places {
            println!("{path}:{}: {}", place.line, place.found);
        }
        println!("{owner} {}", places.len());
    }
    match wanted {
        Some(name) if !is_known => bail!("{LIST} has no line for {name}"),
        _ => Ok(()),
    }
}

/// The places of each owner: a crate, xtask, fuzz, or the documents.
fn places(root: &Path) -> Result<BTreeMap<String, Vec<(String, PhrasePlace)>>> {
    let mut found: BTreeMap<String, Vec<(String, PhrasePlace)>> = BTreeMap::new();
    for folder in ["crates", "xtask", "fuzz"] {
        sources::visit(&root.join(folder), &mut |path, text| {
            let path = path.strip_prefix(root).unwrap_or(path);
            if path == Path::new("xtask/src/dialect.rs") {
                return;
            }
            let mut names = path.iter().map(|name| name.to_string_lossy());
            let first = names.next().unwrap_or_default();
            let owner = match &*first {
                "crates" => names.next().unwrap_or_default(),
                _ => first,
            };
            let places = in_source(text);
            let path = path.display().to_string();
            let list = found.entry(owner.into_owned()).or_default();
            list.extend(places.into_iter().map(|place| (path.clone(), place)));
        })?;
    }
    for path in crate::truth::documents(root)? {
        let name = path.strip_prefix(root).unwrap_or(&path);
        // The changelog describes released versions in the words of that time.
        if name == Path::new("CHANGELOG.md") {
            continue;
        }
        let places = in_document(&fs::read_to_string(&path)?);
        let list = found.entry("documents".to_owned()).or_default();
        let name = name.display().to_string();
        list.extend(places.into_iter().map(|place| (name.clone(), place)));
    }
    Ok(found)
}

/// One fault for each owner whose count is not the listed one.
fn compare(listed: &BTreeMap<String, usize>, counts: &BTreeMap<String, usize>) -> Vec<String> {
    let mut faults = Vec::new();
    for (owner, &count) in counts {
        let allowed = listed.get(owner).copied().unwrap_or(0);
        if count > allowed {
            faults.push(format!(
                "{LIST}: {owner} has {count} phrases of the private language, and {allowed} are allowed: \
                 write what the sentence is about; cargo xtask tidy --dialect {owner} lists them"
            ));
        } else if count < allowed {
            faults.push(format!(
                "{LIST}: {owner} has {count} phrases of the private language in place of {allowed}: \
                 lower its number, as WEIR_BLESS=1 cargo xtask tidy does"
            ));
        }
    }
    for owner in listed.keys().filter(|owner| !counts.contains_key(*owner)) {
        faults.push(format!("{LIST}: no crate is called {owner}"));
    }
    faults
}

/// The list with every count that has fallen; those that have risen stay, and stay faults.
fn lowered(listed: &BTreeMap<String, usize>, counts: &BTreeMap<String, usize>) -> String {
    let mut text = HEAD.to_owned();
    for (owner, &count) in counts {
        let allowed = listed.get(owner).copied().unwrap_or(0);
        let _ = writeln!(text, "{owner} {}", count.min(allowed));
    }
    text
}

fn parse(text: &str) -> Result<BTreeMap<String, usize>> {
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let (owner, count) = line
                .split_once(' ')
                .with_context(|| format!("{LIST}: {line:?} is not a name and a number"))?;
            let count = count
                .parse()
                .with_context(|| format!("{LIST}: {line:?} is not a name and a number"))?;
            Ok((owner.to_owned(), count))
        })
        .collect()
}

/// The phrases in the comments and strings of a Rust source, and its type names.
fn in_source(source: &str) -> Vec<PhrasePlace> {
    let source = RustSource::read(source);
    let mut found = Vec::new();
    for (line, text) in &source.prose {
        found.extend(
            phrases(text)
                .into_iter()
                .map(|found| PhrasePlace { line: *line, found }),
        );
    }
    for (index, line) in source.code.lines().enumerate() {
        let mut words = line.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        while let Some(word) = words.next() {
            let is_declared = matches!(word, "struct" | "enum" | "trait" | "union" | "type");
            let name = if is_declared { words.next() } else { None };
            if let Some(name) = name.filter(|name| TYPES.contains(name)) {
                found.push(PhrasePlace {
                    line: index + 1,
                    found: format!("{word} {name}"),
                });
            }
        }
    }
    found.sort_by_key(|place| place.line);
    found
}

/// The phrases of a document: its paragraphs, lines of tables and code.
fn in_document(text: &str) -> Vec<PhrasePlace> {
    let mut found = Vec::new();
    let mut paragraph = (1, String::new());
    for (index, line) in text.lines().chain([""]).enumerate() {
        let begins = line.trim().is_empty()
            || line
                .trim_start()
                .starts_with(['#', '|', '-', '*', '`', '>']);
        if begins {
            let (line, text) = std::mem::take(&mut paragraph);
            found.extend(
                phrases(&text)
                    .into_iter()
                    .map(|found| PhrasePlace { line, found }),
            );
        }
        if paragraph.1.trim().is_empty() {
            paragraph.0 = index + 1;
        }
        let line = line
            .trim()
            .trim_start_matches(['#', '|', '-', '*', '>', ' ']);
        // Cells of a table are read each by itself.
        paragraph.1.push_str(&line.replace(" | ", "\n"));
        paragraph.1.push(' ');
    }
    found
}

/// The phrases in a text, each with the words beside it.
pub(crate) fn phrases(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (sentence, end) in sentences(text) {
        if sentence.split_whitespace().next() == Some("Who") && end != Some('?') {
            found.push(excerpt(sentence.split_whitespace(), 0, 6));
        }
        for clause in sentence.split([',', '(', ')', '"']) {
            let words: Vec<String> = clause
                .split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '\'' | '-')))
                .filter(|word| !word.is_empty())
                .map(lowered_word)
                .collect();
            for start in 0..words.len() {
                for phrase in PHRASES.iter().filter(|phrase| phrase.begins(&words, start)) {
                    let from = start.saturating_sub(3);
                    let len = start - from + phrase.words.len() + 3;
                    found.push(excerpt(words.iter().map(String::as_str), from, len));
                }
            }
        }
    }
    found
}

/// A word in lower case, but for the value `None` of Python and Rust, which is no word of a sentence.
fn lowered_word(word: &str) -> String {
    match word {
        "None" => word.to_owned(),
        _ => word.to_lowercase(),
    }
}

impl Phrase {
    /// Returns true when the words from `start` on are this phrase, and the words around it do not make it plain English.
    fn begins(&self, words: &[String], start: usize) -> bool {
        let is_one_of =
            |list: &[&str], word: Option<&String>| word.is_some_and(|word| list.contains(&&**word));
        let mut places = self.words.iter().enumerate();
        let before = start.checked_sub(1).and_then(|at| words.get(at));
        places.all(|(index, list)| is_one_of(list, words.get(start + index)))
            && !is_one_of(self.unless_before, before)
            && !is_one_of(self.unless_behind, words.get(start + self.words.len()))
    }
}

fn excerpt<'a>(words: impl Iterator<Item = &'a str>, from: usize, len: usize) -> String {
    words.skip(from).take(len).collect::<Vec<_>>().join(" ")
}

/// The sentences of a text, each with the mark that ends it. A line end ends one, too.
fn sentences(text: &str) -> Vec<(&str, Option<char>)> {
    let mut found = Vec::new();
    let mut begin = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let is_last = chars.peek().is_none_or(|(_, next)| !next.is_alphanumeric());
        if c == '\n' || (matches!(c, '.' | '?' | '!' | ':' | ';') && is_last) {
            found.push((text.get(begin..at).unwrap_or_default(), Some(c)));
            begin = at + c.len_utf8();
        }
    }
    found.push((text.get(begin..).unwrap_or_default(), None));
    found
}

const LIST: &str = "xtask/dialect.txt";

const HEAD: &str = "\
# Phrases and type names of the private language (xtask/src/dialect.rs) that are left in each crate, and in the documents.
# A number may only fall: WEIR_BLESS=1 cargo xtask tidy lowers it, cargo xtask tidy --dialect CRATE lists the places.
";

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<String> {
        let places = in_source(source).into_iter();
        places
            .map(|place| format!("{}: {}", place.line, place.found))
            .collect()
    }

    #[test]
    fn phrases_are_found_in_comments_and_strings_across_lines() {
        let source = r##"
//! The records, for
//! who compiles them. Who asks gets none.

/// Nobody waits.
fn nobody() -> &'static str {
    let is_none = '"'; // what is asked for
    "a field that is none \
     is told when it comes to its end" /* is said */
}
const TEXT: &str = r#"by who "calls" it"#;
"##;
        let expected = [
            "2: for who compiles them",
            "2: Who asks gets none",
            "5: nobody waits",
            "7: what is asked for",
            "8: a field that is none is told when",
            "8: that is none is told when it comes",
            "8: told when it comes to its end",
            "9: is said",
            "11: by who",
        ];
        assert_eq!(found(source), expected);
    }

    #[test]
    fn plain_english_is_not_counted() {
        let source = "
/// Who calls? `None` when there is none, or it is none of these. The user who asks. Kinds that are told apart, and told
/// from others. It is said to be fast.
fn who() {}
struct Reading<'a>(&'a str); // Sides, doors and keepers are words.
";
        assert_eq!(found(source), [""; 0]);
    }

    #[test]
    fn types_are_found_where_they_are_declared() {
        let source =
            "struct Door;\npub(crate) enum Asked<'a> {}\nfn door(door: Door) {}\ntype Told = ();";
        assert_eq!(
            found(source),
            ["1: struct Door", "2: enum Asked", "4: type Told"]
        );
    }

    #[test]
    fn paragraphs_and_cells_of_documents_are_read() {
        let text = "# Who talks?\n\nThe port that is\nnone.\n\n| a | Who asks | is |\n|---|\n| told | x |\n";
        let found: Vec<String> = in_document(text)
            .into_iter()
            .map(|place| format!("{}: {}", place.line, place.found))
            .collect();
        assert_eq!(found, ["3: the port that is none", "6: Who asks"]);
    }

    #[test]
    fn a_count_that_is_not_the_listed_one_is_a_fault_and_is_only_ever_lowered() {
        let listed = parse("# a comment\na 3\nb 3\nc 3\ngone 1\n").unwrap();
        let counts: BTreeMap<String, usize> = [("a", 3), ("b", 2), ("c", 4), ("d", 0)]
            .map(|(name, count)| (name.to_owned(), count))
            .into();
        let faults = compare(&listed, &counts);
        let is_about = |index: usize, text: &str| faults[index].contains(text);
        assert_eq!(faults.len(), 3);
        assert!(is_about(
            0,
            "b has 2 phrases of the private language in place of 3"
        ));
        assert!(is_about(
            1,
            "c has 4 phrases of the private language, and 3 are allowed"
        ));
        assert!(is_about(2, "no crate is called gone"));
        let lower = parse(&lowered(&listed, &counts)).unwrap();
        let numbers: Vec<(&str, usize)> = lower.iter().map(|(name, &n)| (&**name, n)).collect();
        assert_eq!(numbers, [("a", 3), ("b", 2), ("c", 3), ("d", 0)]);
    }
}
