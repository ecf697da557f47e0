//! A command line that does not parse: what is wrong, and what to write.

use std::error::Error as _;
use std::ffi::OsString;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::path::Path;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Cli;
use crate::refusal::Refusal;

/// The refusal of a line that does not parse.
pub(super) fn refuse(error: clap::Error, line: &[OsString]) -> Refusal {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Refusal::Shown(error);
    }
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        Some(ContextValue::StyledStrs(texts)) => texts.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    };
    if error.kind() == ErrorKind::InvalidSubcommand
        && let [word] = text(ContextKind::InvalidSubcommand).as_slice()
        && let Some((what, hint)) = query_hint(word)
    {
        return Refusal::usage(format!("expected a command, found {what}"), hint);
    }
    let mut hints = Vec::new();
    let (command, named) = deepest(line);
    let unknown = text(ContextKind::InvalidArg);
    if error.kind() == ErrorKind::UnknownArgument
        && let [word] = unknown.as_slice()
        && let Some(owner) = owner(line, &command, &named, word)
    {
        return Refusal::usage(
            format!("unexpected argument '{word}' found"),
            format!("options stand behind the command: {owner} {word}"),
        );
    }
    let synonyms = match unknown.as_slice() {
        [word] => synonyms(&command, word),
        _ => Vec::new(),
    };
    if !synonyms.is_empty() {
        hints.push(format!("did you mean {}?", synonyms.join(" or ")));
    }
    for kind in [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ] {
        let near: Vec<_> = text(kind).iter().map(|name| format!("'{name}'")).collect();
        if !near.is_empty() && synonyms.is_empty() {
            hints.push(format!("did you mean {}?", near.join(" or ")));
        }
    }
    if synonyms.is_empty() {
        hints.extend(text(ContextKind::Suggested));
    }
    hints.push(format!(
        "'{named} --help' shows how it is used, with examples"
    ));
    // The first paragraph of clap's text is the error; the others are hints and usage.
    let rendered = error.render().to_string();
    let message = rendered.split("\n\n").next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message);
    Refusal::Usage {
        message: with_expected_number(message, &error),
        hints,
    }
}

/// The message, which says what is expected where a value is no number: the texts of the standard library are about types.
fn with_expected_number(message: &str, error: &clap::Error) -> String {
    let Some(source) = error.source() else {
        return message.to_owned();
    };
    let kind = source
        .downcast_ref::<ParseIntError>()
        .map(ParseIntError::kind);
    let expected = match kind {
        Some(IntErrorKind::Zero) => "expected a whole number above 0",
        Some(IntErrorKind::PosOverflow) => "expected a smaller number",
        Some(_) => "expected a whole number such as 10",
        None if source.is::<ParseFloatError>() => "expected a number such as 0.5",
        None => return message.to_owned(),
    };
    let shown = source.to_string();
    match message.strip_suffix(shown.as_str()) {
        Some(value) => format!("{value}{expected}"),
        None => message.to_owned(),
    }
}

/// The command of a line, with its name: `weir clf search`.
fn deepest(line: &[OsString]) -> (clap::Command, String) {
    let mut command = Cli::command();
    let mut name = "weir".to_owned();
    for word in line.iter().skip(1).filter_map(|word| word.to_str()) {
        let below = command.find_subcommand(word).cloned();
        if let Some(below) = below {
            name = format!("{name} {}", below.get_name());
            command = below;
        }
    }
    (command, name)
}

/// The command of an option in front of it: that of the line, or `weir query`.
fn owner(line: &[OsString], command: &clap::Command, named: &str, option: &str) -> Option<String> {
    let first = line.get(1)?.to_str()?;
    if first.split('=').next() != Some(option) {
        return None;
    }
    let has = |command: &clap::Command| {
        command.get_arguments().any(|known| {
            let long = known.get_long().map(|long| format!("--{long}"));
            let short = known.get_short().map(|short| format!("-{short}"));
            long.as_deref() == Some(option) || short.as_deref() == Some(option)
        })
    };
    match named {
        "weir" => {
            let top = Cli::command();
            let query = top.find_subcommand("query")?;
            has(query).then(|| "weir query".to_owned())
        }
        _ => has(command).then(|| named.to_owned()),
    }
}

/// The options of this command that mean the same as `word` does in another command.
fn synonyms(command: &clap::Command, word: &str) -> Vec<String> {
    let Some(group) = SYNONYMS.iter().find(|group| group.contains(&word)) else {
        return Vec::new();
    };
    let longs = command.get_arguments().filter_map(clap::Arg::get_long);
    let longs = longs.map(|long| format!("--{long}"));
    longs
        .filter(|long| group.contains(&long.as_str()))
        .map(|long| format!("'{long}'"))
        .collect()
}

/// Options that mean the same in different commands.
const SYNONYMS: [&[&str]; 3] = [
    &[
        "--format",
        "--form",
        "--as",
        "--to",
        "--from",
        "--input-format",
    ],
    &["--output", "--write", "--html", "--out"],
    &["--count", "--limit", "--records", "--rows"],
];

/// The kind of a word in the place of a command (SQL or a file), and the line that the user probably meant.
pub(super) fn query_hint(word: &str) -> Option<(&'static str, String)> {
    let first = word.split_whitespace().next()?.to_ascii_lowercase();
    if word.contains(char::is_whitespace) && SQL_BEGINNINGS.contains(&first.as_str()) {
        let quoted = match word {
            _ if !word.contains('\'') => format!("'{word}'"),
            _ if !word.contains(['"', '$', '`', '\\', '!']) => format!("\"{word}\""),
            _ => "SQL".to_owned(),
        };
        return Some(("SQL", format!("weir query {quoted}")));
    }
    let plain = !word.contains(['\'', '"', '$', '`', '\\', '!']);
    (plain && Path::new(word).is_file()).then(|| {
        let line = format!("weir query \"SELECT * FROM '{word}' LIMIT 10\"");
        ("a file", line)
    })
}

/// Words that SQL begins with.
const SQL_BEGINNINGS: [&str; 8] = [
    "select", "from", "with", "explain", "describe", "show", "values", "create",
];
