//! Why a command could not do its work, with its exit status.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use weir_engine::ErrorKind;
use weir_output as output;
use weir_output::picture::PictureError;

use crate::message::Messages;

/// The reason why a command could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    hint: Option<String>,
}

impl Failure {
    /// The environment does not allow it: exit status 2.
    pub(crate) fn environment(message: String) -> Self {
        Self {
            code: 2,
            message,
            hint: None,
        }
    }

    /// The work was begun and failed: exit status 3.
    pub(crate) fn running(message: String) -> Self {
        Self {
            code: 3,
            message,
            hint: None,
        }
    }

    /// The user has had enough of a query.
    pub(crate) fn interrupted() -> Self {
        Self {
            code: INTERRUPTED,
            message: "interrupted".to_owned(),
            hint: None,
        }
    }

    /// Adds the place in a text where the failure happened.
    pub(crate) fn at(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }

    /// The next thing to try.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Output cannot be written on.
    pub(crate) fn written(path: &Path, error: &io::Error) -> Self {
        Self::running(format!("cannot write {}: {error}", shown(path)))
    }

    /// A file or folder cannot be used.
    pub(crate) fn file(path: &Path, error: &io::Error) -> Self {
        Self::environment(format!("{}: {error}", shown(path)))
    }

    /// Statements cannot be read from a file or from standard input, which often is a capture.
    pub(crate) fn statements(path: &Path, error: &io::Error) -> Self {
        if error.kind() != io::ErrorKind::InvalidData {
            return Self::file(path, error);
        }
        let message = format!(
            "{}: expected statements of SQL in UTF-8, found other bytes",
            shown(path)
        );
        Self::environment(message).with_hint(
            "a capture stands in FROM: weir query \"SELECT * FROM 'trace.pcap' LIMIT 10\"",
        )
    }

    /// Prints the failure and returns the exit status.
    pub(crate) fn report(&self, messages: Messages) -> ExitCode {
        messages.error(&self.message);
        if let Some(hint) = &self.hint {
            messages.hint(hint);
        }
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The outcome of writing to standard output. A reader that has gone is no failure.
pub(crate) fn printed(outcome: io::Result<()>) -> Result<ExitCode, Failure> {
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::running(format!("standard output: {error}")))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// A path in a message; it may be an address.
fn shown(path: &Path) -> String {
    weir_capture::redacted(&path.display().to_string()).into_owned()
}

impl From<weir_engine::Error> for Failure {
    fn from(error: weir_engine::Error) -> Self {
        Self {
            code: match error.kind() {
                ErrorKind::Run | ErrorKind::Internal | ErrorKind::Memory => 3,
                _ => 2,
            },
            message: error.to_string(),
            hint: error.hint().map(ToOwned::to_owned),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        output::Error::Write(error).into()
    }
}

impl From<output::Error> for Failure {
    fn from(error: output::Error) -> Self {
        Self {
            code: match error.kind() {
                output::ErrorKind::Usage => 2,
                output::ErrorKind::Environment | output::ErrorKind::Encode => 3,
            },
            message: crate::message::chain(&error),
            hint: error.hint(),
        }
    }
}

impl From<PictureError> for Failure {
    fn from(error: PictureError) -> Self {
        Self {
            code: if error.is_usage() { 2 } else { 3 },
            message: error.to_string(),
            hint: error.hint().map(ToOwned::to_owned),
        }
    }
}

impl From<weir_live::Error> for Failure {
    fn from(error: weir_live::Error) -> Self {
        Self {
            code: 2,
            message: error.to_string(),
            hint: error.hint().map(ToOwned::to_owned),
        }
    }
}

/// Exit status of what Ctrl-C ended, as shells have it.
const INTERRUPTED: u8 = 130;
