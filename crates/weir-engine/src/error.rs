//! Why a statement could not be answered, and what to try.

use std::fmt;

use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;

use crate::names::nearest;

/// A statement could not be planned or run.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    source: Option<Box<DataFusionError>>,
}

/// What sort of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not SQL.
    Syntax,
    /// The statement names what is not there, or combines what does not fit.
    Plan,
    /// A file could not be opened or understood.
    Source,
    /// The statement failed while it ran.
    Run,
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

    /// What sort of error it is.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What the user could try.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Puts DataFusion's error into the words of this project.
    pub(crate) fn from_datafusion(
        kind: ErrorKind,
        error: DataFusionError,
        columns: &[String],
    ) -> Self {
        if let Some(found) = not_found(&error) {
            return unknown_column(&found, columns);
        }
        let message = match error.find_root() {
            DataFusionError::SQL(parser_error, _) => parser_error
                .to_string()
                .trim_start_matches("sql parser error: ")
                .to_owned(),
            DataFusionError::Plan(message) | DataFusionError::Execution(message) => message.clone(),
            DataFusionError::NotImplemented(message) => format!("not supported: {message}"),
            DataFusionError::ResourcesExhausted(message) => format!("out of memory: {message}"),
            root => root.strip_backtrace(),
        };
        let hint = match error.find_root() {
            DataFusionError::ResourcesExhausted(_) => {
                Some("raise --memory-limit, or group by fewer values".to_owned())
            }
            DataFusionError::Plan(message) if message.starts_with("Invalid function") => {
                Some("SHOW FUNCTIONS lists the functions".to_owned())
            }
            _ => None,
        };
        Self {
            kind,
            message,
            hint,
            source: Some(Box::new(error)),
        }
    }
}

fn not_found(error: &DataFusionError) -> Option<String> {
    match error.find_root() {
        DataFusionError::SchemaError(schema_error, _) => match schema_error.as_ref() {
            SchemaError::FieldNotFound { field, .. } => Some(match &field.relation {
                Some(relation) => format!("{}.{}", relation.table(), field.name),
                None => field.name.clone(),
            }),
            _ => None,
        },
        _ => None,
    }
}

fn unknown_column(name: &str, columns: &[String]) -> Error {
    let hint = match nearest(name, columns.iter().map(String::as_str)).as_slice() {
        [] => "weir fields lists the columns; text stands in single quotes".to_owned(),
        names => format!("did you mean {}?", names.join(", ")),
    };
    Error::new(ErrorKind::Plan, format!("no column named {name}")).with_hint(hint)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|error| error as _)
    }
}

impl From<weir_tables::SourceError> for Error {
    fn from(error: weir_tables::SourceError) -> Self {
        let converted = Self::new(ErrorKind::Source, error.to_string());
        match error.hint() {
            Some(hint) => converted.with_hint(hint),
            None => converted,
        }
    }
}
