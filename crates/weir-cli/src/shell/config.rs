//! `config.toml`: the settings of the shell.

use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde::{Deserialize, Deserializer, de};

use crate::args::{RowLimit, parse_rows};
use crate::failure::Failure;
use crate::quantity::parse_size;
use weir_output::Format;

/// The settings.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Config {
    /// The value of `--format`.
    #[serde(deserialize_with = "format")]
    pub(super) format: Option<Format>,
    /// The value of `--rows`.
    #[serde(deserialize_with = "rows")]
    pub(super) rows: Option<RowLimit>,
    /// The value of `--all-columns` of `weir query`.
    pub(super) all_columns: bool,
    /// The value of `--tz`.
    pub(super) time_zone: Option<String>,
    /// Whether the time of each answer is printed.
    pub(super) timer: bool,
    /// The value of `--stats` of `weir query`.
    pub(super) stats: bool,
    /// The program that shows long answers, instead of $PAGER; empty for none.
    pub(super) pager: Option<String>,
    /// The number of inputs in the history.
    pub(super) history: usize,
    /// The value of `--threads`.
    pub(super) threads: Option<NonZeroUsize>,
    /// The value of `--memory-limit`.
    #[serde(deserialize_with = "size")]
    pub(super) memory_limit: Option<usize>,
    /// The value of `--geoip`.
    pub(super) geoip: Vec<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            format: None,
            rows: None,
            all_columns: false,
            time_zone: None,
            timer: false,
            stats: false,
            pager: None,
            history: 10_000,
            threads: None,
            memory_limit: None,
            geoip: Vec::new(),
        }
    }
}

impl Config {
    /// The settings in a file; those that are there anyway when there is none.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text).map_err(|message| {
                Failure::environment(format!("{}: {message}", path.display()))
                    .with_hint("'weir shell --no-config' starts without it")
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(Failure::file(path, &error)),
        }
    }

    fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())
    }

    /// The command that shows long answers.
    pub(super) fn pager(&self) -> Option<String> {
        let pager = self.pager.clone().or_else(|| std::env::var("PAGER").ok());
        pager.filter(|pager| !pager.trim().is_empty())
    }
}

fn format<'d, D: Deserializer<'d>>(from: D) -> Result<Option<Format>, D::Error> {
    let name = String::deserialize(from)?;
    Format::from_str(&name, true)
        .map(Some)
        .map_err(|_| de::Error::custom(format!("no format named '{name}'")))
}

fn rows<'d, D: Deserializer<'d>>(from: D) -> Result<Option<RowLimit>, D::Error> {
    let text = word(from)?;
    parse_rows(&text).map(Some).map_err(de::Error::custom)
}

fn size<'d, D: Deserializer<'d>>(from: D) -> Result<Option<usize>, D::Error> {
    let text = word(from)?;
    parse_size(&text).map(Some).map_err(de::Error::custom)
}

/// A number or a text.
fn word<'d, D: Deserializer<'d>>(from: D) -> Result<String, D::Error> {
    match toml::Value::deserialize(from)? {
        toml::Value::String(text) => Ok(text),
        toml::Value::Integer(number) => Ok(number.to_string()),
        _ => Err(de::Error::custom("expected a number or a text")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_and_what_is_none_is_refused() {
        let text = "format = 'line'\nrows = 100\ntime_zone = 'Europe/Berlin'\ntimer = true\n\
                    pager = 'less -S'\nhistory = 0\nmemory_limit = '1g'\n";
        let config = Config::parse(text).unwrap();
        assert_eq!(config.format, Some(Format::Line));
        assert_eq!(config.rows, Some(RowLimit(Some(100))));
        assert_eq!(config.pager().as_deref(), Some("less -S"));
        assert_eq!(config.memory_limit, Some(1 << 30));
        assert!(config.timer && !config.stats && config.history == 0);
        assert_eq!(
            Config::parse("rows = 'all'").unwrap().rows,
            Some(RowLimit(None))
        );
        assert_eq!(Config::parse("pager = ''").unwrap().pager(), None);
        assert_eq!(Config::parse("").unwrap(), Config::default());
        for (text, part) in [
            ("fromat = 'csv'", "fromat"),
            ("format = 'xml'", "no format named 'xml'"),
            ("rows = true", "expected a number or a text"),
            ("timer = 1", "timer"),
        ] {
            let message = Config::parse(text).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
    }
}
