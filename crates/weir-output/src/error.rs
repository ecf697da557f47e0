//! Errors of writing rows.

use std::fmt;
use std::io;

use super::Format;

/// Rows could not be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A binary format was requested on a terminal.
    BinaryOnTerminal(Format),
    /// The rows do not fit the requested chart, or it could not be drawn.
    Unplotted(Box<dyn std::error::Error + Send + Sync>),
    /// The output refused the bytes (a full disk, say).
    Write(io::Error),
    /// A value or a type has no form in this format.
    Encode {
        /// The format.
        format: Format,
        /// The error of the encoder.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// The kinds of [`Error`], for the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The format or the chart does not fit the rows or the destination: exit status 2.
    Usage,
    /// The environment failed: exit status 3.
    Environment,
    /// The result has no form in this format: exit status 3.
    Encode,
}

impl Error {
    /// The kind of the failure.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::BinaryOnTerminal(_) | Self::Unplotted(_) => ErrorKind::Usage,
            Self::Write(_) => ErrorKind::Environment,
            Self::Encode { .. } => ErrorKind::Encode,
        }
    }

    /// The next thing to try, for a `hint:` line.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::BinaryOnTerminal(format) => Some(format!(
                "write it to a file with '-o result.{}', or pipe it into another program",
                format.name()
            )),
            Self::Unplotted(_) => Some(
                "group the rows: SELECT ip.proto, count(*) AS packets FROM 'x.pcap' GROUP BY 1; or drop --plot to \
                 see them"
                    .to_owned(),
            ),
            Self::Write(_) => None,
            Self::Encode { .. } => Some("'--format ndjson' can hold every type".to_owned()),
        }
    }

    /// Wraps why there is no chart.
    pub(super) fn unplotted(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Unplotted(source.into())
    }

    /// Wraps what the encoder of `format` reports.
    pub(super) fn encode(
        format: Format,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Encode {
            format,
            source: source.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BinaryOnTerminal(format) => {
                write!(
                    f,
                    "{} is binary and is not written to a terminal",
                    format.name()
                )
            }
            Self::Unplotted(_) => f.write_str("cannot draw a chart of this answer"),
            Self::Write(_) => f.write_str("cannot write the result"),
            Self::Encode { format, .. } => {
                write!(f, "cannot write the result as {}", format.name())
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::BinaryOnTerminal(_) => None,
            Self::Unplotted(source) => Some(source.as_ref()),
            Self::Write(source) => Some(source),
            Self::Encode { source, .. } => Some(source.as_ref()),
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}
