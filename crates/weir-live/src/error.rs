//! Errors of live captures, with their remedies.

use std::{fmt, io};

/// An interface could not be opened or started.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    source: Option<io::Error>,
}

/// The kind of an [`Error`], to match on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no interface of this name.
    NotFound,
    /// The process may not capture.
    Permission,
    /// The packets of the interface have no link type in captures, or this system cannot capture.
    Unsupported,
    /// The operating system refused something else.
    System,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            source: None,
        }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// A system call failed.
    #[cfg(target_os = "linux")]
    pub(crate) fn system(what: &str, source: io::Error) -> Self {
        let error = match source.kind() {
            io::ErrorKind::PermissionDenied => {
                Self::new(ErrorKind::Permission, format!("{what}: {source}")).with_hint(
                    "`sudo setcap cap_net_raw+ep $(which weir)` allows it permanently without root",
                )
            }
            _ => Self::new(ErrorKind::System, format!("{what}: {source}")),
        };
        Self {
            source: Some(source),
            ..error
        }
    }

    /// The kind, to match on.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The next thing to try.
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

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.source.as_ref()?;
        Some(source)
    }
}
