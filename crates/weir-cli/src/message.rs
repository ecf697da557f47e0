//! The `error:`, `hint:`, `warning:` and `note:` lines on standard error.

use std::borrow::Cow;
use std::io::{IsTerminal, Write as _};

use crate::progress;
use weir_output::text;

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb
    #[default]
    Auto,
    /// Always, even in a pipe
    Always,
    /// Never
    Never,
}

impl ColorChoice {
    /// The choice of the environment variable WEIR_COLOR, for places without a switch.
    pub(crate) fn of_environment() -> Self {
        let word = std::env::var("WEIR_COLOR").unwrap_or_default();
        <Self as clap::ValueEnum>::from_str(&word, true).unwrap_or_default()
    }

    /// Whether to colour a stream that is a terminal or not, in the environment of this process.
    pub(crate) fn applies(self, terminal: bool) -> bool {
        let variable = |name| std::env::var_os(name).unwrap_or_default();
        let refused = !variable("NO_COLOR").is_empty() || variable("TERM") == "dumb";
        self.decide(terminal, refused)
    }

    fn decide(self, terminal: bool, refused: bool) -> bool {
        match self {
            Self::Auto => terminal && !refused,
            Self::Always => true,
            Self::Never => false,
        }
    }
}

/// The kinds of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// The work failed, or a part of it.
    Error,
    /// The answer stands but needs care.
    Warning,
    /// A note about something that was left out or done in addition.
    Note,
    /// The next thing to try.
    Hint,
}

impl Level {
    fn label(self) -> &'static str {
        match self {
            Self::Error => "error:",
            Self::Warning => "warning:",
            Self::Note => "note:",
            Self::Hint => "hint:",
        }
    }

    /// SGR parameters.
    fn style(self) -> &'static str {
        match self {
            Self::Error => "1;31",
            Self::Warning => "1;33",
            Self::Note => "1;36",
            Self::Hint => "1;32",
        }
    }
}

/// Writes the lines to standard error. A standard error that is closed is no reason to fail.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages {
    colour: bool,
    quiet: bool,
    silent: bool,
}

impl Messages {
    /// A printer with the chosen colour; `quiet` suppresses notes, but never errors, warnings and hints.
    pub(crate) fn new(choice: ColorChoice, quiet: bool) -> Self {
        Self {
            colour: choice.applies(std::io::stderr().is_terminal()),
            quiet,
            silent: false,
        }
    }

    /// Messages that print nothing, for work behind a screen that shows its own state.
    pub(crate) const fn silent() -> Self {
        Self {
            colour: false,
            quiet: true,
            silent: true,
        }
    }

    /// Prints an error: something failed.
    pub(crate) fn error(self, text: &str) {
        self.print(Level::Error, text);
    }

    /// Prints a warning: an answer is incomplete, or differs from what was expected.
    pub(crate) fn warning(self, text: &str) {
        self.print(Level::Warning, text);
    }

    /// Prints a note about an answer, which `--quiet` leaves out.
    pub(crate) fn note(self, text: &str) {
        self.print(Level::Note, text);
    }

    /// Prints a hint: what to try next.
    pub(crate) fn hint(self, text: &str) {
        self.print(Level::Hint, text);
    }

    fn print(self, level: Level, text: &str) {
        if self.silent || (self.quiet && level == Level::Note) {
            return;
        }
        let line = render(level, text, self.colour);
        progress::above(|| {
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
        });
    }
}

/// An error and its causes, outermost first, without a cause that the text before it already ends with.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let below = error.to_string();
        if !text.ends_with(&below) {
            text.push_str(": ");
            text.push_str(&below);
        }
        cause = error.source();
    }
    text
}

/// One message. Lines after the first are indented; control characters are spelled out, for a
/// message may quote a file name or the network.
fn render(level: Level, text: &str, colour: bool) -> String {
    let label = match colour {
        true => Cow::Owned(format!("\x1b[{}m{}\x1b[0m", level.style(), level.label())),
        false => Cow::Borrowed(level.label()),
    };
    let mut out = label.into_owned();
    for (at, line) in text.lines().enumerate() {
        if at > 0 {
            out.push_str("\n ");
        }
        out.push(' ');
        text::push_escaped(&mut out, line);
    }
    out.push('\n');
    out
}

/// `1 error`, `2 errors`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_labelled_line_that_steers_no_terminal() {
        for (level, text, colour, expected) in [
            (Level::Error, "no such file", false, "error: no such file\n"),
            (Level::Hint, "a\nb", false, "hint: a\n  b\n"),
            (Level::Note, "'\x1b[2J'", false, "note: '\\x1b[2J'\n"),
            (Level::Warning, "w", true, "\x1b[1;33mwarning:\x1b[0m w\n"),
            (Level::Error, "", false, "error:\n"),
        ] {
            assert_eq!(render(level, text, colour), expected);
        }
    }

    #[test]
    fn colour_follows_the_flag_then_the_environment_then_the_terminal() {
        use ColorChoice::{Always, Auto, Never};
        for (choice, terminal, refused, expected) in [
            (Auto, true, false, true),
            (Auto, false, false, false),
            (Auto, true, true, false),
            (Always, false, true, true),
            (Never, true, false, false),
        ] {
            assert_eq!(choice.decide(terminal, refused), expected);
        }
    }

    #[test]
    fn causes_are_named_once() {
        let inner = std::io::Error::other("disk is full");
        let outer = weir_output::Error::Write(inner);
        assert_eq!(chain(&outer), "cannot write the result: disk is full");
    }
}
