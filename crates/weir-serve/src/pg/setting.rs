//! The state of a connection: its settings, and its transaction, which has no effect.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::sink::{Sink, SinkExt};
use futures::stream;
use pgwire::api::results::{DataRowEncoder, FieldFormat, FieldInfo, QueryResponse, Tag};
use pgwire::api::{ClientInfo, Type};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::TransactionStatus;
use pgwire::messages::startup::{ParameterStatus, Startup};

use super::client::Client;
use super::error::{may_run, pg_error, refusal};
use super::route::KEPT;
use crate::catalog::{setting, unknown_setting};
use crate::error::{Failure, FailureKind};

/// The value of a setting, as an answer of one row.
pub(super) struct Shown {
    column: String,
    value: String,
}

impl Shown {
    pub(super) fn new(column: &str, value: impl Into<String>) -> Self {
        Self {
            column: column.to_owned(),
            value: value.into(),
        }
    }

    /// The description of the column.
    pub(super) fn fields(&self) -> Vec<FieldInfo> {
        let name = self.column.clone();
        vec![FieldInfo::new(
            name,
            None,
            None,
            Type::TEXT,
            FieldFormat::Text,
        )]
    }

    /// The row.
    pub(super) fn rows(&self) -> QueryResponse {
        let fields = Arc::new(self.fields());
        let mut encoder = DataRowEncoder::new(Arc::clone(&fields));
        let row = encoder.encode_field(&self.value);
        let row = row.map(|()| encoder.take_row());
        QueryResponse::new(fields, stream::iter([row]))
    }
}

/// Stores a setting, and reports it to clients that depend on it.
pub(super) async fn set<C: Client>(client: &mut C, name: &str, value: &str) -> PgWireResult<Tag>
where
    C::Error: Debug,
    PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
{
    may_run(client)?;
    if value.len() > VALUE_BYTES_MAX {
        let message = format!("the value of {name} has {VALUE_BYTES_MAX} bytes at most");
        return Err(pg_error(&Failure::new(FailureKind::Limit, message)));
    }
    if name == "statement_timeout" {
        let limit = timeout(value).map_err(|failure| pg_error(&failure))?;
        let settings = client.metadata_mut();
        match limit {
            Some(limit) => {
                settings.insert(TIMEOUT.to_owned(), limit.as_millis().to_string());
            }
            None => drop(settings.remove(TIMEOUT)),
        }
        return Ok(Tag::new("SET"));
    }
    client
        .metadata_mut()
        .insert(name.to_owned(), value.to_owned());
    let shown = match name {
        "datestyle" => "DateStyle",
        "intervalstyle" => "IntervalStyle",
        "timezone" => "TimeZone",
        other => other,
    };
    let status = ParameterStatus::new(shown.to_owned(), value.to_owned());
    client
        .feed(PgWireBackendMessage::ParameterStatus(status))
        .await?;
    Ok(Tag::new("SET"))
}

/// Takes up the time limit of statements that a startup message gives, under its name or among the `options` (libpq's `PGOPTIONS`).
///
/// # Errors
/// When it is no time.
pub(super) fn take_startup<C: ClientInfo>(
    client: &mut C,
    startup: &Startup,
) -> Result<(), Failure> {
    let named = |name: &str| startup.parameters.get(name).map(String::as_str);
    let options = named("options").unwrap_or_default();
    let of_options = options_of(options).filter(|(name, _)| name == "statement_timeout");
    let of_options = of_options.last().map(|(_, value)| value);
    let of_name = named("statement_timeout").map(str::to_owned);
    let Some(value) = of_name.or(of_options) else {
        return Ok(());
    };
    if let Some(limit) = timeout(&value)? {
        let settings = client.metadata_mut();
        settings.insert(TIMEOUT.to_owned(), limit.as_millis().to_string());
    }
    Ok(())
}

/// The settings in `options`, each as `-c name=value`, `-cname=value` or `--name=value`; a backslash stands before a space that is
/// part of a value.
fn options_of(options: &str) -> impl Iterator<Item = (String, String)> {
    let mut words = vec![String::new()];
    let mut letters = options.chars();
    while let Some(letter) = letters.next() {
        let letter = match letter {
            '\\' => letters.next(),
            letter if letter.is_ascii_whitespace() => {
                words.push(String::new());
                None
            }
            letter => Some(letter),
        };
        if let Some(word) = words.last_mut() {
            word.extend(letter);
        }
    }
    let mut is_next = false;
    words.into_iter().filter_map(move |word| {
        let is_value = std::mem::take(&mut is_next);
        let setting = match word.strip_prefix("--").or_else(|| word.strip_prefix("-c")) {
            None if is_value && !word.is_empty() => word.as_str(),
            Some("") => {
                is_next = true;
                return None;
            }
            Some(setting) => setting,
            None => {
                // Spaces may stand between `-c` and its setting.
                is_next = is_value && word.is_empty();
                return None;
            }
        };
        let (name, value) = setting.split_once('=')?;
        let name = name.to_ascii_lowercase().replace('-', "_");
        Some((name, value.to_owned()))
    })
}

/// The time limit of a statement that the client has set.
pub(super) fn limit<C: ClientInfo>(client: &C) -> Option<Duration> {
    let set = client.metadata().get(TIMEOUT)?;
    set.parse().ok().map(Duration::from_millis)
}

/// The value of a setting, on a server that may write or not.
///
/// # Errors
/// When there is none of this name.
pub(super) fn show<C: ClientInfo>(
    client: &C,
    name: &str,
    is_read_only: bool,
) -> PgWireResult<Shown> {
    may_run(client)?;
    let kept = |name: &str| client.metadata().get(name).cloned();
    let own = |name: &str| setting(name, is_read_only).map(str::to_owned);
    let (column, value) = match name {
        "time zone" | "timezone" => ("TimeZone", kept("timezone").or_else(|| own("timezone"))),
        "transaction isolation level" => {
            ("transaction_isolation", Some("read committed".to_owned()))
        }
        "statement_timeout" => (
            name,
            Some(limit(client).map_or("0".to_owned(), |limit| format!("{}ms", limit.as_millis()))),
        ),
        // A setting that the client has not stored has the value of the catalog.
        name => {
            let stored = kept(name).filter(|_| KEPT.contains(&name));
            (name, stored.or_else(|| own(name)))
        }
    };
    match value {
        Some(value) => Ok(Shown::new(column, value)),
        None => Err(refusal("42704", unknown_setting(name))),
    }
}

/// The column that the value of a setting comes in.
pub(super) fn shown_as(name: &str) -> &str {
    match name {
        "time zone" | "timezone" => "TimeZone",
        "transaction isolation level" => "transaction_isolation",
        name => name,
    }
}

/// Begins a transaction.
///
/// # Errors
/// In one that has failed.
pub(super) fn begin<C: ClientInfo>(client: &mut C) -> PgWireResult<Tag> {
    may_run(client)?;
    client.set_transaction_status(TransactionStatus::Transaction);
    Ok(Tag::new("BEGIN"))
}

/// Ends a transaction: a failed one is rolled back, whatever the command is.
pub(super) fn end<C: ClientInfo>(client: &mut C, is_commit: bool) -> Tag {
    let has_failed = client.transaction_status() == TransactionStatus::Error;
    client.set_transaction_status(TransactionStatus::Idle);
    Tag::new(match is_commit && !has_failed {
        true => "COMMIT",
        false => "ROLLBACK",
    })
}

/// Goes on with a transaction that may have failed.
pub(super) fn go_on<C: ClientInfo>(client: &mut C) -> Tag {
    if client.transaction_status() == TransactionStatus::Error {
        client.set_transaction_status(TransactionStatus::Transaction);
    }
    Tag::new("ROLLBACK")
}

/// A time as PostgreSQL writes it: milliseconds unless it has a unit; 0 is no limit.
fn timeout(text: &str) -> Result<Option<Duration>, Failure> {
    let text = text.trim();
    if text.eq_ignore_ascii_case("default") {
        return Ok(None);
    }
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end).unwrap_or((text, ""));
    let scale = match unit.trim() {
        "" | "ms" => Some(1),
        "s" => Some(1000),
        "min" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    let number: Option<u64> = number.parse().ok();
    match number
        .zip(scale)
        .and_then(|(number, scale)| number.checked_mul(scale))
    {
        Some(0) => Ok(None),
        Some(ms) => Ok(Some(Duration::from_millis(ms))),
        None => {
            let message = format!("'{text}' is not a valid value of statement_timeout");
            Err(Failure::new(FailureKind::Plan, message).with_hint("500, '500ms', '5s' or '1min'"))
        }
    }
}

/// Bytes of a setting: a connection keeps the values.
const VALUE_BYTES_MAX: usize = 1024;
const TIMEOUT: &str = "statement_timeout_ms";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_postgresql_reads_them() {
        let read = |options: &str| options_of(options).collect::<Vec<_>>();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let limit = pair("statement_timeout", "5s");
        for options in [
            "-c statement_timeout=5s",
            "-cstatement_timeout=5s",
            "--statement-timeout=5s",
            " -c  Statement_Timeout=5s ",
        ] {
            assert_eq!(read(options), std::slice::from_ref(&limit), "{options}");
        }
        let both = read(r"-c a=b\ \\c -c b=x=y");
        assert_eq!(both, [pair("a", r"b \c"), pair("b", "x=y")]);
        for none in ["", "-c", "-c a", "a=b", "-x a=b", "-c a b=c"] {
            assert!(read(none).is_empty(), "{none}");
        }
    }

    #[test]
    fn times_are_read_as_postgresql_reads_them() {
        for (text, ms) in [
            ("500", Some(500)),
            ("500ms", Some(500)),
            ("5 s", Some(5000)),
            ("2min", Some(120_000)),
            ("0", None),
            ("DEFAULT", None),
        ] {
            let limit = timeout(text).unwrap();
            assert_eq!(limit, ms.map(Duration::from_millis), "{text}");
        }
        for text in ["", "s", "-1", "1 week", "18446744073709551615s", "1é"] {
            assert!(timeout(text).is_err(), "{text}");
        }
    }
}
