//! The commands that begin with a dot.

use crate::message::Messages;
use crate::refusal::Refusal;

/// The purpose of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    AllColumns,
    Fields,
    Filter,
    Functions,
    Help,
    Ladder,
    Mode,
    Once,
    Open,
    Output,
    Pager,
    Plot,
    Quit,
    Read,
    Rows,
    Save,
    Stats,
    Tables,
    TimeZone,
    Timer,
    Vertical,
}

/// A command: its spelling, arguments and meaning.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) name: &'static str,
    pub(super) arguments: &'static str,
    pub(super) meaning: &'static str,
    pub(super) verb: Verb,
}

const fn command(
    name: &'static str,
    arguments: &'static str,
    verb: Verb,
    meaning: &'static str,
) -> Command {
    Command {
        name,
        arguments,
        meaning,
        verb,
    }
}

/// All commands, in the order of their names.
pub(super) const COMMANDS: &[Command] = &[
    command(
        ".all-columns",
        "on|off",
        Verb::AllColumns,
        "show every column in full, however wide",
    ),
    command(
        ".fields",
        "[PATTERN]",
        Verb::Fields,
        "columns with type and meaning",
    ),
    command(
        ".filter",
        "[FILTER]",
        Verb::Filter,
        "narrow the table packets by a display filter; alone: all packets again",
    ),
    command(".format", "[FORMAT]", Verb::Mode, "the same as .mode"),
    command(
        ".functions",
        "[PATTERN]",
        Verb::Functions,
        "functions with example and meaning",
    ),
    command(".help", "[COMMAND]", Verb::Help, "this list"),
    command(
        ".ladder",
        "[CALL-ID]",
        Verb::Ladder,
        "draw a SIP call of the open capture",
    ),
    command(
        ".mode",
        "[FORMAT]",
        Verb::Mode,
        "format of the rows: table, line, csv, tsv, json, ndjson, markdown; alone: chosen by the output",
    ),
    command(
        ".once",
        "FILE",
        Verb::Once,
        "write the next answer to a file, in the format of its name",
    ),
    command(
        ".open",
        "FILE",
        Verb::Open,
        "open a capture as the table packets; calls, dns and other tables are those of the capture",
    ),
    command(
        ".output",
        "[FILE]",
        Verb::Output,
        "write all answers to a file; alone: back to the screen",
    ),
    command(
        ".pager",
        "[COMMAND]",
        Verb::Pager,
        "show long answers with this pager; alone: without a pager",
    ),
    command(
        ".plot",
        "[KIND]",
        Verb::Plot,
        "draw the last answer as a chart: line, bars, histogram, heat; alone: chosen by its columns",
    ),
    command(".quit", "", Verb::Quit, "leave the shell, like Ctrl-D"),
    command(
        ".read",
        "FILE",
        Verb::Read,
        "answer the statements of a file",
    ),
    command(
        ".rows",
        "N|all",
        Verb::Rows,
        "maximum rows of a table on the screen",
    ),
    command(
        ".save",
        "",
        Verb::Save,
        "save the current views for the next shell",
    ),
    command(
        ".stats",
        "on|off",
        Verb::Stats,
        "show after each answer what was read",
    ),
    command(
        ".tables",
        "[PATTERN]",
        Verb::Tables,
        "tables and views with meaning",
    ),
    command(
        ".timer",
        "on|off",
        Verb::Timer,
        "show the time after each answer",
    ),
    command(
        ".tz",
        "ZONE",
        Verb::TimeZone,
        "write times in this zone: Europe/Berlin, +02:00, local",
    ),
    command("\\x", "", Verb::Vertical, "one column per line, and back"),
];

/// Commands as other shells have them.
const OTHERS: &[(&str, Verb)] = &[
    (".exit", Verb::Quit),
    (".timezone", Verb::TimeZone),
    ("\\d", Verb::Tables),
    ("\\df", Verb::Functions),
    ("\\i", Verb::Read),
    ("\\o", Verb::Output),
    ("\\q", Verb::Quit),
    ("\\timing", Verb::Timer),
    ("\\?", Verb::Help),
    ("\\h", Verb::Help),
];

/// The command of a line and its argument.
///
/// # Errors
/// When no command has the name, or several begin with it.
pub(super) fn parse(line: &str) -> Result<(Verb, &str), Refusal> {
    let line = line.trim();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    // A semicolon may end a command as it ends a statement, by habit.
    let name = name.trim_end_matches(';');
    let rest = rest.trim().trim_end_matches(';').trim_end();
    if let Some((_, verb)) = OTHERS.iter().find(|(other, _)| *other == name) {
        return Ok((*verb, rest));
    }
    if let Some(command) = COMMANDS.iter().find(|command| command.name == name) {
        return Ok((command.verb, rest));
    }
    let begun: Vec<&Command> = COMMANDS
        .iter()
        .filter(|command| name.len() > 1 && command.name.starts_with(name))
        .collect();
    match begun.as_slice() {
        [one] => return Ok((one.verb, rest)),
        [one, others @ ..]
            if !others.is_empty() && others.iter().all(|other| other.verb == one.verb) =>
        {
            return Ok((one.verb, rest));
        }
        [] => {}
        several => {
            let names: Vec<&str> = several.iter().map(|command| command.name).collect();
            return Err(Refusal::usage(
                format!("several commands begin with {name}"),
                names.join(", "),
            ));
        }
    }
    let names = COMMANDS.iter().map(|command| command.name);
    let hint = match weir_engine::nearest(name, names).first() {
        Some(near) => format!("did you mean {near}? '.help' lists the commands"),
        None => "'.help' lists the commands".to_owned(),
    };
    Err(Refusal::usage(format!("no command named {name}"), hint))
}

/// The refusal of a command with another argument than it takes.
pub(super) fn wants(verb: Verb, given: &str) -> Refusal {
    let usage = COMMANDS
        .iter()
        .find(|command| command.verb == verb)
        .map_or(String::new(), |command| {
            format!("{} {}", command.name, command.arguments)
        });
    let message = match given {
        "" => "the command needs an argument".to_owned(),
        given => format!("unexpected argument '{given}'"),
    };
    Refusal::usage(message, usage)
}

/// The list of commands, or of those whose name has a text in it.
pub(super) fn help(pattern: &str, width: Option<u16>) -> String {
    let mut text = String::new();
    let shown = COMMANDS
        .iter()
        .filter(|command| command.name.contains(pattern));
    for command in shown {
        let usage = format!("{} {}", command.name, command.arguments);
        match width {
            // The meaning has a line of its own where there is no room beside.
            Some(width) if width < 60 => {
                text.push_str(&format!("{}\n  {}\n", usage.trim(), command.meaning));
            }
            _ => text.push_str(&format!("{usage:22}  {}\n", command.meaning)),
        }
    }
    if pattern.is_empty() {
        text.push_str(KEYS);
    }
    text
}

/// The value on or off of a command's argument.
pub(super) fn switch(verb: Verb, word: &str, now: bool) -> Result<bool, Refusal> {
    match word {
        "on" | "yes" | "true" | "1" => Ok(true),
        "off" | "no" | "false" | "0" => Ok(false),
        "" => Ok(!now),
        other => Err(wants(verb, other)),
    }
}

/// Prints the state of a switch.
pub(super) fn report_switch(name: &str, on: bool, messages: Messages) {
    let state = if on { "on" } else { "off" };
    messages.note(&format!("{name} is {state}"));
}

const KEYS: &str = "
Statements end with ';'. Tab completes, Ctrl-R searches what was typed, Ctrl-C ends
a query and not the shell, Ctrl-D ends the shell. The table _ is the last answer.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_known_by_their_names_and_beginnings() {
        for (line, expected) in [
            (".help", (Verb::Help, "")),
            (".mode  csv ;", (Verb::Mode, "csv")),
            (
                ".filter tcp.port == 443 && ip",
                (Verb::Filter, "tcp.port == 443 && ip"),
            ),
            (".la", (Verb::Ladder, "")),
            (".q", (Verb::Quit, "")),
            ("\\x", (Verb::Vertical, "")),
            ("\\timing on", (Verb::Timer, "on")),
            ("\\q;", (Verb::Quit, "")),
        ] {
            assert_eq!(parse(line).unwrap(), expected, "{line}");
        }
        for (line, message, hint) in [
            (
                ".t",
                "several commands begin with .t",
                ".tables, .timer, .tz",
            ),
            (
                ".tabels",
                "no command named .tabels",
                "did you mean .tables? '.help' lists the commands",
            ),
            (".", "no command named .", "'.help' lists the commands"),
        ] {
            let Err(Refusal::Usage {
                message: shown,
                hints,
            }) = parse(line)
            else {
                panic!("{line} is a command");
            };
            assert_eq!(
                (shown.as_str(), hints[0].as_str()),
                (message, hint),
                "{line}"
            );
        }
    }

    #[test]
    fn help_has_every_command_and_fits_narrow_terminals() {
        let wide = help("", Some(120));
        assert!(COMMANDS.iter().all(|command| wide.contains(command.name)));
        assert!(help("tables", Some(20)).starts_with(".tables [PATTERN]\n  tables"));
        assert_eq!(help("tables", None).lines().count(), 1);
    }
}
