//! Every text that users of the program can read in an error, a hint, a warning, a note or a help, in one list
//! (`messages.txt`): a change that rewords a message shows it there.
//!
//! The sources are read for string literals of several words. What is left out: tests, and the crates that do not ship
//! or hold the contents of samples; the meanings of columns, which `weir fields` lists; texts that only a defect of the
//! program shows (`expect`, `assert!`, `unreachable!`); names that Wireshark gives to values; and literals that are compared with, or are
//! code (SQL, HTML, CSS).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::source::{Literal, RustSource};
use crate::{dialect, sources};

/// Every message with the crate that has it, sorted.
pub(crate) fn all(root: &Path) -> Result<BTreeSet<(String, String)>> {
    let mut found = BTreeSet::new();
    sources::visit(&root.join("crates"), &mut |path, text| {
        let path = path.strip_prefix(root).unwrap_or(path);
        if let Some(owner) = owner(path) {
            found.extend(
                in_source(text)
                    .into_iter()
                    .map(|message| (owner.clone(), message)),
            );
        }
    })?;
    Ok(found)
}

/// The differences between the list and the sources, and messages in the private language. With `WEIR_BLESS` set the
/// list is written anew.
pub(crate) fn faults(root: &Path) -> Result<Vec<String>> {
    compared(root, &all(root)?)
}

fn compared(root: &Path, found: &BTreeSet<(String, String)>) -> Result<Vec<String>> {
    let path = root.join(LIST);
    let mut faults = Vec::new();
    for (owner, message) in found {
        for phrase in dialect::phrases(message) {
            faults.push(format!(
                "{owner}: \"{phrase}\" in the message \"{message}\""
            ));
        }
    }
    let text = written(found);
    if std::env::var_os("WEIR_BLESS").is_some() {
        fs::write(&path, &text)?;
    }
    let listed = fs::read_to_string(&path)?;
    let lines = |text: &str| -> BTreeSet<String> { text.lines().map(str::to_owned).collect() };
    let (listed, found) = (lines(&listed), lines(&text));
    let differences = [
        ("is not in it", &found, &listed),
        ("is in no source", &listed, &found),
    ];
    for (what, these, those) in differences {
        for line in these.difference(those) {
            faults.push(format!(
                "{LIST}: \"{line}\" {what}: WEIR_BLESS=1 cargo xtask tidy brings the list up to date"
            ));
        }
    }
    Ok(faults)
}

/// The list as text: a line for each message.
pub(crate) fn written(messages: &BTreeSet<(String, String)>) -> String {
    let mut text = HEAD.to_owned();
    for (owner, message) in messages {
        let _ = writeln!(text, "{owner}: {message}");
    }
    text
}

/// The crate that a source belongs to, when users can read what stands in it.
fn owner(path: &Path) -> Option<String> {
    let names: Vec<_> = path.iter().map(|name| name.to_string_lossy()).collect();
    let owner = names.get(1)?;
    let is_of_columns = path.starts_with("crates/weir-packet/src/protocol");
    let is_of_values = path.ends_with("value_names.rs");
    let is_left_out =
        NOT_SHOWN.contains(&&**owner) || names.get(2)? != "src" || is_of_columns || is_of_values;
    let is_test = names
        .iter()
        .any(|name| name == "tests" || name == "tests.rs");
    (!is_left_out && !is_test).then(|| owner.to_string())
}

/// The messages of a source, in its order.
fn in_source(text: &str) -> Vec<String> {
    let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or(text);
    let literals = RustSource::read(code).literals;
    let shown = literals.iter().filter(|literal| is_shown(literal));
    shown.map(|literal| line(&literal.text)).collect()
}

/// True for a literal that users can read.
fn is_shown(literal: &Literal) -> bool {
    let call = literal.call.rsplit("::").next().unwrap_or_default();
    let is_shown_attribute = matches!(call, "error" | "arg" | "command" | "group" | "value");
    let is_of_column = ["Field::", "ItemField::"]
        .iter()
        .any(|name| literal.call.starts_with(name));
    (!literal.is_in_attribute || is_shown_attribute)
        && !is_of_column
        && !UNSHOWN_CALLS.contains(&call)
        && is_prose(&literal.text)
}

/// True for several words that are not code.
fn is_prose(text: &str) -> bool {
    let mut is_placeholder = false;
    let plain: String = text
        .chars()
        .filter(|&c| {
            let was_placeholder = is_placeholder;
            is_placeholder = (is_placeholder || c == '{') && c != '}';
            !is_placeholder && !was_placeholder
        })
        .collect();
    let of_word = |c: char| c.is_alphabetic() || c == '\'';
    let is_word = |word: &str| word.chars().filter(|&c| c.is_alphabetic()).count() >= 2;
    let words = plain
        .split(|c| !of_word(c))
        .filter(|word| is_word(word))
        .count();
    let is_sql = SQL.iter().any(|verb| text.trim_start().starts_with(verb));
    let lengths = text.split_whitespace().map(|word| word.chars().count());
    let (parts, chars) = (lengths.clone().count(), lengths.sum::<usize>());
    words >= 2 && parts >= 2 && chars <= WORD_CHARS_MAX * parts && !is_sql && !text.starts_with('<')
}

/// A message on one line.
fn line(text: &str) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    lines.join("\\n")
}

const LIST: &str = "xtask/messages.txt";

const HEAD: &str = "\
# Every text that users of the program can read in an error, a hint, a warning, a note or a help (xtask/src/messages.rs).
# WEIR_BLESS=1 cargo xtask tidy writes it, cargo xtask tidy --messages prints it.
";

/// Crates whose texts users do not read as messages: test tools, contents of samples, and the binding to zlib.
const NOT_SHOWN: &[&str] = &["weir-samples", "weir-testkit", "weir-zlib"];

/// Functions and macros whose texts are compared with, name threads, say what columns mean, or are shown by a defect only.
const UNSHOWN_CALLS: &[&str] = &[
    "assert!",
    "assert_eq!",
    "contains",
    "debug_assert!",
    "derive_key",
    "expect",
    "find",
    "mostly_plain!",
    "name",
    "panic!",
    "plain!",
    "replace",
    "rsplit_once",
    "split",
    "split_once",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
    "trim_start_matches",
    "unreachable!",
];

/// The first words of statements that the program runs itself or shows as examples.
const SQL: &[&str] = &["SELECT ", "WITH ", "DROP ", "CREATE ", "COPY ("];

/// Words of prose are shorter on average; style sheets and lists of columns are longer.
const WORD_CHARS_MAX: usize = 14;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_the_listed_ones_and_in_plain_words() {
        let root = crate::workspace::root().unwrap();
        let found = all(&root).unwrap();
        // The output of `cargo test -p xtask messages -- --nocapture` is the list for reading aloud.
        print!("{}", written(&found));
        let faults = compared(&root, &found).unwrap();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn messages_are_found_where_users_meet_them() {
        let source = r#"
#[error("no file {0}")]
#[expect(dead_code, reason = "only a test reads it")]
struct NoFile(String);
#[command(about = "Read a file")]
fn f() -> Result<(), Error> {
    assert!(a, "a file is open");
    let name = b.expect("a file has a name").split_once(" and then ");
    if name.contains("of the file") {
        bail!("{name}: not a \
               file\nat all");
    }
    run("SELECT count(*) FROM packets")?;
    style("body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:auto} p{color:#222;background:#fff}");
    Field::u8("ip.ttl", "Time to live");
    warn(&format!("{} of {}", a, "word"), "give another name")
}
#[cfg(test)]
mod tests {
    const TEXT: &str = "not a message";
}
"#;
        let expected = [
            "no file {0}",
            "Read a file",
            "{name}: not a file\\nat all",
            "give another name",
        ];
        assert_eq!(in_source(source), expected);
    }

    #[test]
    fn sources_that_users_do_not_meet_are_left_out() {
        let is_read = |path: &str| owner(Path::new(path)).is_some();
        assert!(is_read("crates/weir-cli/src/main.rs"));
        for path in [
            "crates/weir-cli/tests/it/main.rs",
            "crates/weir-output/src/tests.rs",
            "crates/weir-layout/src/tests/faults.rs",
            "crates/weir-testkit/src/lib.rs",
            "crates/weir-packet/src/protocol/tcp.rs",
        ] {
            assert!(!is_read(path), "{path}");
        }
    }
}
