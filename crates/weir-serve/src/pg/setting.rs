//! The state of a connection: its settings, and its transaction, which has no effect on anything else.

mod kept;
mod value;

use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::sink::{Sink, SinkExt};
use futures::stream;
use pgwire::api::results::{DataRowEncoder, FieldFormat, FieldInfo, QueryResponse, Tag};
use pgwire::api::{ClientInfo, Type};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::{NoticeResponse, TransactionStatus};
use pgwire::messages::startup::{ParameterStatus, Startup};

use self::kept::Settings;
use self::value::{InvalidValue, canonical, shown_name, timeout};
use super::client::Client;
use super::encode::{IntervalStyle, Style};
use super::error::{may_run, refusal};
use crate::catalog::{TIME_ZONE, setting, unknown_setting};

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

/// The settings of a connection, which begins with those of the server.
fn settings<C: ClientInfo>(client: &C) -> Arc<Mutex<Settings>> {
    let extensions = client.session_extensions();
    extensions.get_or_insert_with(Mutex::default)
}

fn lock(settings: &Mutex<Settings>) -> MutexGuard<'_, Settings> {
    settings.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The value of a setting of a connection; `None` where there is no setting of this name.
fn value_of(settings: &Settings, name: &str) -> Option<String> {
    let kept = settings.get(name).map(ToString::to_string);
    kept.or_else(|| setting(name, true).map(str::to_owned))
}

/// The values of settings that clients are sent when they change.
fn reported(settings: &Settings) -> impl Iterator<Item = (&'static str, String)> {
    let all = REPORTED.iter();
    all.filter_map(move |name| Some((*name, value_of(settings, name)?)))
}

/// Changes settings, and reports those that clients depend on.
async fn change<C: Client>(
    client: &mut C,
    change: impl FnOnce(&mut Settings) -> Result<(), InvalidValue> + Send,
) -> PgWireResult<()>
where
    C::Error: Debug,
    PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
{
    let changed: Vec<(&str, String)> = {
        let settings = settings(client);
        let mut settings = lock(&settings);
        let before: Vec<_> = reported(&settings).collect();
        change(&mut settings)?;
        let now = reported(&settings);
        now.filter(|now| !before.contains(now)).collect()
    };
    for (name, value) in changed {
        let status = ParameterStatus::new(shown_name(name).to_owned(), value);
        client
            .feed(PgWireBackendMessage::ParameterStatus(status))
            .await?;
    }
    Ok(())
}

/// Sets a setting, for the session or until the end of the transaction; without a value it is that with which the connection began.
pub(super) async fn set<C: Client>(
    client: &mut C,
    name: &str,
    value: Option<&str>,
    is_local: bool,
) -> PgWireResult<()>
where
    C::Error: Debug,
    PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
{
    may_run(client)?;
    let value = checked(client, name, value)?;
    if READ_ONLY.contains(&name) {
        return Ok(());
    }
    if is_local && !is_in_transaction(client) {
        let message = "SET LOCAL can only be used in transaction blocks";
        return warn(client, "25P01", message).await;
    }
    change(client, |settings| {
        settings.set(name, value.as_deref(), is_local)
    })
    .await
}

/// The value of a setting as it is shown.
///
/// # Errors
/// When the setting cannot have it.
pub(super) fn checked<C: ClientInfo>(
    client: &C,
    name: &str,
    value: Option<&str>,
) -> Result<Option<String>, InvalidValue> {
    if name.len() > NAME_BYTES_MAX {
        let message = format!("the name of a setting has {NAME_BYTES_MAX} bytes at most");
        return Err(InvalidValue::new("54000", message));
    }
    let settings = settings(client);
    let settings = lock(&settings);
    let before = value_of(&settings, name).unwrap_or_default();
    let value = value.map(|value| canonical(name, value, &before));
    value.transpose()
}

/// Sets all settings to the values with which the connection began.
pub(super) async fn reset_all<C: Client>(client: &mut C) -> PgWireResult<()>
where
    C::Error: Debug,
    PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
{
    may_run(client)?;
    change(client, |settings| {
        settings.reset();
        Ok(())
    })
    .await
}

/// Sends a warning about a command of transactions that has no effect, unless the client wants errors only.
async fn warn<C: Client>(client: &mut C, code: &str, message: &str) -> PgWireResult<()>
where
    C::Error: Debug,
    PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
{
    if wants_errors_only(client) {
        return Ok(());
    }
    let fields = [
        (b'S', "WARNING"),
        (b'V', "WARNING"),
        (b'C', code),
        (b'M', message),
    ];
    let fields = fields.map(|(key, text)| (key, text.to_owned()));
    let notice = NoticeResponse::new(fields.to_vec());
    Ok(client
        .feed(PgWireBackendMessage::NoticeResponse(notice))
        .await?)
}

/// Takes up the settings that a startup message gives, under their names or among the `options` (libpq's `PGOPTIONS`).
///
/// # Errors
/// When one cannot have its value.
pub(super) fn take_startup<C: ClientInfo>(
    client: &mut C,
    startup: &Startup,
) -> Result<(), InvalidValue> {
    let named = startup.parameters.iter();
    let named = named.map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
    let options = startup.parameters.get("options");
    let of_options = options_of(options.map_or("", String::as_str));
    for (name, value) in of_options.chain(named) {
        let is_own = OF_STARTUP.contains(&name.as_str()) || name.starts_with("_pq_.");
        // The encoding that a client names is that of its terminal. The server answers with the one that it has.
        if is_own || READ_ONLY.contains(&name.as_str()) {
            continue;
        }
        if let Some(value) = checked(client, &name, Some(&value))? {
            lock(&settings(client)).set_first(&name, &value)?;
        }
    }
    Ok(())
}

/// The settings that clients are sent at the start of a connection, by their names.
pub(super) fn statuses<C: ClientInfo>(client: &C) -> Vec<(String, String)> {
    let settings = settings(client);
    let settings = lock(&settings);
    let all = reported(&settings);
    all.map(|(name, value)| (shown_name(name).to_owned(), value))
        .collect()
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
    let settings = settings(client);
    let settings = lock(&settings);
    timeout(settings.get("statement_timeout")?).flatten()
}

/// How values are written for a client.
pub(super) fn style<C: ClientInfo>(client: &C) -> Style {
    let settings = settings(client);
    let settings = lock(&settings);
    let digits = settings.get("extra_float_digits");
    let interval = settings.get("intervalstyle");
    Style {
        interval: interval.map_or(IntervalStyle::Postgres, |name| IntervalStyle::named(name)),
        float_digits: digits.and_then(|digits| digits.parse().ok()).unwrap_or(1),
    }
}

/// Whether a client wants no message but errors.
pub(super) fn wants_errors_only<C: ClientInfo>(client: &C) -> bool {
    let settings = settings(client);
    let settings = lock(&settings);
    let level = settings.get("client_min_messages");
    level.is_some_and(|level| level.eq_ignore_ascii_case("error"))
}

/// The settings that a client has set, with their values.
pub(super) fn all<C: ClientInfo>(client: &C) -> Vec<(String, String)> {
    let settings = settings(client);
    let settings = lock(&settings);
    let all = settings.all();
    all.map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Whether a client is in a transaction.
pub(super) fn is_in_transaction<C: ClientInfo>(client: &C) -> bool {
    lock(&settings(client)).is_in_transaction()
}

/// The time zone of a client.
pub(super) fn zone<C: ClientInfo>(client: &C) -> String {
    let settings = settings(client);
    let settings = lock(&settings);
    let zone = settings.get("timezone");
    zone.map_or(TIME_ZONE, |zone| &**zone).to_owned()
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
    let column = shown_name(name);
    let name = column.to_ascii_lowercase();
    let kept = lock(&settings(client)).get(&name).cloned();
    let own = || setting(&name, is_read_only).map(str::to_owned);
    match kept.map(|kept| kept.to_string()).or_else(own) {
        Some(value) => Ok(Shown::new(column, value)),
        None => Err(refusal("42704", unknown_setting(&name))),
    }
}

/// The column that the value of a setting comes in.
pub(super) fn shown_as(name: &str) -> &str {
    shown_name(name)
}

/// Begins a transaction; in one it has no effect.
///
/// # Errors
/// In one that has failed.
pub(super) async fn begin<C: Client>(client: &mut C) -> PgWireResult<Tag>
where
    C::Error: Debug,
    PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
{
    may_run(client)?;
    if is_in_transaction(client) {
        warn(
            client,
            "25001",
            "there is already a transaction in progress",
        )
        .await?;
    }
    lock(&settings(client)).begin();
    client.set_transaction_status(TransactionStatus::Transaction);
    Ok(Tag::new("BEGIN"))
}

/// Ends a transaction: a failed one is rolled back, whatever the command is, and its settings with it.
pub(super) async fn end<C: Client>(client: &mut C, is_commit: bool) -> PgWireResult<Tag>
where
    C::Error: Debug,
    PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
{
    if !is_in_transaction(client) {
        warn(client, "25P01", "there is no transaction in progress").await?;
    }
    let has_failed = client.transaction_status() == TransactionStatus::Error;
    let is_commit = is_commit && !has_failed;
    client.set_transaction_status(TransactionStatus::Idle);
    change(client, |settings| {
        settings.end(is_commit);
        Ok(())
    })
    .await?;
    Ok(Tag::new(if is_commit { "COMMIT" } else { "ROLLBACK" }))
}

/// Keeps the settings as they are now, for a rollback to this savepoint.
///
/// # Errors
/// Outside of a transaction, and in one that has failed, or has many savepoints.
pub(super) fn savepoint<C: ClientInfo>(client: &C, name: &str) -> PgWireResult<Tag> {
    may_run(client)?;
    lock(&settings(client)).savepoint(name)?;
    Ok(Tag::new("SAVEPOINT"))
}

/// Forgets a savepoint, and those behind it.
///
/// # Errors
/// Outside of a transaction, and in one that has failed, or has no savepoint of this name.
pub(super) fn release<C: ClientInfo>(client: &C, name: &str) -> PgWireResult<Tag> {
    may_run(client)?;
    lock(&settings(client)).release(name)?;
    Ok(Tag::new("RELEASE"))
}

/// Returns to the settings of a savepoint, and goes on with the transaction, which may have failed.
pub(super) async fn roll_back_to<C: Client>(client: &mut C, name: &str) -> PgWireResult<Tag>
where
    C::Error: Debug,
    PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
{
    change(client, |settings| settings.roll_back_to(name)).await?;
    if client.transaction_status() == TransactionStatus::Error {
        client.set_transaction_status(TransactionStatus::Transaction);
    }
    Ok(Tag::new("ROLLBACK"))
}

/// Bytes of the name of a setting.
const NAME_BYTES_MAX: usize = 128;

/// Settings whose changes clients are sent.
const REPORTED: &[&str] = &[
    "application_name",
    "client_encoding",
    "datestyle",
    "intervalstyle",
    "search_path",
    "standard_conforming_strings",
    "timezone",
];

/// Settings that are on where statements may only read, whatever a client sets.
const READ_ONLY: &[&str] = &["default_transaction_read_only", "transaction_read_only"];

/// Parameters of a startup message that are no settings, and the encoding.
const OF_STARTUP: &[&str] = &[
    "client_encoding",
    "database",
    "options",
    "replication",
    "user",
];

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
}
