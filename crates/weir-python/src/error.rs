//! Errors as Python's exceptions: the classes stand in `weir._errors`.

use pyo3::prelude::*;
use weir_engine::ErrorKind;

/// The kind of an error; each has an exception class in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorClass {
    /// The text is not SQL.
    Syntax,
    /// The statement names what is not there, or combines what does not fit.
    Plan,
    /// A file could not be opened or understood.
    Source,
    /// The statement failed while it ran.
    Run,
    /// A message could not be decoded or encoded.
    Decode,
}

impl ErrorClass {
    const fn name(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Plan => "plan",
            Self::Source => "source",
            Self::Run => "run",
            Self::Decode => "decode",
        }
    }
}

/// The exception for an error.
pub(crate) fn failure(kind: ErrorClass, message: &str, hint: Option<&str>) -> PyErr {
    Python::attach(|py| {
        let made = py
            .import("weir._errors")
            .and_then(|module| module.getattr("of_kind"))
            .and_then(|make| make.call1((kind.name(), message, hint)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}

/// The exception for an error of the engine.
pub(crate) fn of_engine(error: &weir_engine::Error) -> PyErr {
    let kind = match error.kind() {
        ErrorKind::Syntax => ErrorClass::Syntax,
        ErrorKind::Plan => ErrorClass::Plan,
        ErrorKind::Source => ErrorClass::Source,
        _ => ErrorClass::Run,
    };
    failure(kind, &error.to_string(), error.hint())
}
