//! A command line that runs no command.

use std::io::{self, Write as _};
use std::process::ExitCode;

use crate::failure::{Failure, printed};
use crate::message::Messages;

/// The reason why no command runs.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The line requests help or the version, or is empty.
    Shown(clap::Error),
    /// The line does not parse.
    Usage {
        /// The error.
        message: String,
        /// The hints about what to try.
        hints: Vec<String>,
    },
}

impl Refusal {
    /// A line that parses but makes no sense.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage {
            message: message.into(),
            hints: vec![hint.into()],
        }
    }

    /// Prints the refusal: help on standard output with status 0, errors on standard error with status 2. Help that cannot be written is a
    /// failure, as rows are.
    pub(crate) fn report(&self, messages: Messages) -> ExitCode {
        match self {
            Self::Shown(error) => {
                let status = ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
                let outcome = error.print().and_then(|()| io::stdout().flush());
                match printed(outcome) {
                    Err(failure) if !error.use_stderr() => failure.report(messages),
                    _ => status,
                }
            }
            Self::Usage { message, hints } => {
                messages.error(message);
                for hint in hints {
                    messages.hint(hint);
                }
                ExitCode::from(2)
            }
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Shown(error) => Self::environment(error.to_string()),
            Refusal::Usage { message, hints } => {
                let failure = Self::environment(message);
                match hints.into_iter().next() {
                    Some(hint) => failure.with_hint(hint),
                    None => failure,
                }
            }
        }
    }
}
