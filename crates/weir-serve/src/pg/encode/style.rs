//! How a client wants values to be written as text.

use std::sync::Arc;

use pgwire::types::format::FormatOptions;

/// How a client wants values to be written as text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) interval: IntervalStyle,
    /// Digits beyond those that a type always keeps; with more than 0 there are as many as give the number back.
    pub(crate) float_digits: i8,
}

impl Style {
    /// The same for the library, which writes lists and records.
    pub(super) fn options(self) -> Arc<FormatOptions> {
        let mut options = FormatOptions::default();
        self.interval.name().clone_into(&mut options.interval_style);
        options.extra_float_digits = self.float_digits;
        Arc::new(options)
    }
}

impl Default for Style {
    fn default() -> Self {
        Self {
            interval: IntervalStyle::Postgres,
            float_digits: 1,
        }
    }
}

/// The style of intervals, by the names of PostgreSQL's `IntervalStyle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntervalStyle {
    Postgres,
    PostgresVerbose,
    SqlStandard,
    Iso8601,
}

impl IntervalStyle {
    /// The style of a name, which is PostgreSQL's own where there is no such style.
    pub(crate) fn named(name: &str) -> Self {
        match name {
            "postgres_verbose" => Self::PostgresVerbose,
            "sql_standard" => Self::SqlStandard,
            "iso_8601" => Self::Iso8601,
            _ => Self::Postgres,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::PostgresVerbose => "postgres_verbose",
            Self::SqlStandard => "sql_standard",
            Self::Iso8601 => "iso_8601",
        }
    }
}
