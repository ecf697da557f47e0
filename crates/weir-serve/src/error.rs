//! Why a server does not start, and why a statement is not answered.

use std::fmt;

use serde::{Deserialize, Serialize};
use weir_engine::{Condition, ErrorKind};

/// A server could not start.
#[derive(Debug)]
pub struct Error {
    message: String,
    hint: Option<String>,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The hint.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<weir_engine::Error> for Error {
    fn from(error: weir_engine::Error) -> Self {
        Self {
            message: error.to_string(),
            hint: error.hint().map(str::to_owned),
        }
    }
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FailureKind {
    /// The text is not SQL.
    Syntax,
    /// The statement names what is not there, or combines what does not fit.
    Plan,
    /// A file is not there, not below a root, or not understood.
    Source,
    /// The statement failed while it ran.
    Run,
    /// A fault of the program ended it.
    Internal,
    /// The statement is not permitted.
    Refused,
    /// The statement would exceed a limit.
    Limit,
    /// The statement, or all together, took more memory than they may.
    Memory,
    /// All statements together set more rows aside than the disk has room for.
    Disk,
    /// Someone ended it.
    Cancelled,
    /// The statement exceeded its time limit.
    Timeout,
    /// The server is shutting down.
    Ending,
}

/// A statement was not answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) kind: FailureKind,
    /// What it is about, where that is known more exactly than the kind.
    pub(crate) condition: Option<Condition>,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// Line and column of the text.
    pub(crate) position: Option<(u64, u64)>,
}

impl Failure {
    /// PostgreSQL's text for the end of a connection with its server (57P01).
    pub(crate) const ENDING: &str = "terminating connection due to administrator command";

    pub(crate) fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            condition: None,
            message: message.into(),
            hint: None,
            position: None,
        }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) const fn with_condition(mut self, condition: Condition) -> Self {
        self.condition = Some(condition);
        self
    }

    /// The failure with texts that a client reads: an error may quote a value of a hundred megabytes.
    pub(crate) fn shortened(mut self) -> Self {
        shorten(&mut self.message, MESSAGE_BYTES_MAX);
        if let Some(hint) = &mut self.hint {
            shorten(hint, MESSAGE_BYTES_MAX);
        }
        self
    }

    /// Someone asked for the end of the statement.
    pub(crate) fn cancelled() -> Self {
        Self::new(
            FailureKind::Cancelled,
            "canceling statement due to user request",
        )
    }

    /// PostgreSQL's error for `$2` without `$1`: each parameter up to the last has a type.
    pub(crate) fn untyped_parameter(number: usize) -> Self {
        let message = format!("could not determine data type of parameter ${number}");
        Self::new(FailureKind::Plan, message).with_condition(Condition::IndeterminateDatatype)
    }

    /// The code of PostgreSQL's appendix A.
    pub(crate) const fn sqlstate(&self) -> &'static str {
        if let Some(condition) = self.condition {
            return condition.sqlstate();
        }
        match self.kind {
            FailureKind::Syntax => "42601",
            FailureKind::Plan => "42000",
            FailureKind::Source => "58P01",
            FailureKind::Run => "22000",
            FailureKind::Internal => "XX000",
            FailureKind::Refused => "25006",
            FailureKind::Limit => "54000",
            FailureKind::Memory => "53200",
            FailureKind::Disk => "53100",
            FailureKind::Cancelled | FailureKind::Timeout => "57014",
            FailureKind::Ending => "57P01",
        }
    }

    /// The word of the HTTP interface.
    pub(crate) const fn word(&self) -> &'static str {
        match self.kind {
            FailureKind::Syntax => "sql",
            FailureKind::Plan => "name",
            FailureKind::Source => "path",
            FailureKind::Run => "run",
            FailureKind::Internal => "internal",
            FailureKind::Refused => "refused",
            FailureKind::Limit | FailureKind::Memory | FailureKind::Disk | FailureKind::Timeout => {
                "limit"
            }
            FailureKind::Cancelled => "cancelled",
            FailureKind::Ending => "ending",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<weir_engine::Error> for Failure {
    fn from(error: weir_engine::Error) -> Self {
        Self {
            kind: match error.kind() {
                ErrorKind::Syntax => FailureKind::Syntax,
                ErrorKind::Plan => FailureKind::Plan,
                ErrorKind::Source => FailureKind::Source,
                ErrorKind::Refused => FailureKind::Refused,
                ErrorKind::Limit => FailureKind::Limit,
                ErrorKind::Memory => FailureKind::Memory,
                ErrorKind::Internal => FailureKind::Internal,
                _ => FailureKind::Run,
            },
            condition: error.condition(),
            position: error.position(),
            message: error.to_string(),
            hint: error.hint().map(str::to_owned),
        }
    }
}

/// Cuts a text that is longer than it may be, and marks the cut.
pub(crate) fn shorten(text: &mut String, bytes_max: usize) {
    if text.len() > bytes_max {
        let end = text.floor_char_boundary(bytes_max);
        text.truncate(end);
        text.push('…');
    }
}

/// Bytes of the message of a failure, and of its hint.
const MESSAGE_BYTES_MAX: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// All names that are not there had one code (42000); the words of HTTP are those of the kinds.
    #[test]
    fn a_condition_has_a_code_of_its_own() {
        let unknown = weir_engine::Error::new(ErrorKind::Plan, "no table named t")
            .with_condition(Condition::UndefinedTable);
        let failure = Failure::from(unknown);
        assert_eq!((failure.sqlstate(), failure.word()), ("42P01", "name"));
        let sent = serde_json::to_vec(&failure).unwrap();
        let received: Failure = serde_json::from_slice(&sent).unwrap();
        assert_eq!(received.sqlstate(), "42P01");
        let other = Failure::new(FailureKind::Plan, "no");
        assert_eq!(other.sqlstate(), "42000");
    }

    /// A lack of memory was an error of the data (22000).
    #[test]
    fn a_lack_of_memory_is_no_error_of_the_data() {
        let memory = weir_engine::Error::new(ErrorKind::Memory, "out of memory: a sort");
        let failure = Failure::from(memory);
        assert_eq!((failure.sqlstate(), failure.word()), ("53200", "limit"));
        let disk = Failure::new(FailureKind::Disk, "out of disk space");
        assert_eq!((disk.sqlstate(), disk.word()), ("53100", "limit"));
    }

    /// An error that quoted a value of a hundred megabytes came whole to the server, and to its client.
    #[test]
    fn messages_have_a_limit() {
        let long = "é".repeat(MESSAGE_BYTES_MAX);
        let failure = Failure::new(FailureKind::Run, format!("x{long}"))
            .with_hint(long)
            .shortened();
        assert_eq!(
            failure.message.len(),
            MESSAGE_BYTES_MAX - 1 + '…'.len_utf8()
        );
        assert!(failure.message.ends_with("é…"));
        let hint = failure.hint.unwrap();
        assert_eq!(hint.len(), MESSAGE_BYTES_MAX + '…'.len_utf8());
        let short = Failure::new(FailureKind::Run, "short").shortened();
        assert_eq!(short.message, "short");
    }
}
