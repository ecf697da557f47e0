//! The settings of a connection, and what its transaction has changed of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::value::InvalidValue;

type Values = BTreeMap<String, Arc<str>>;

/// The settings that have other values than those of the server.
#[derive(Debug, Default)]
pub(super) struct Settings {
    /// The values that the startup message gives, which RESET returns to.
    first: Values,
    values: Values,
    transaction: Option<Transaction>,
}

/// The settings of a transaction.
#[derive(Debug)]
struct Transaction {
    /// The values before it, which a rollback returns to.
    before: Values,
    /// The values that it leaves: those of SET LOCAL are not among them.
    after: Values,
    savepoints: Vec<Savepoint>,
}

/// A savepoint of a transaction.
#[derive(Debug)]
struct Savepoint {
    name: String,
    /// The values at it, and those that the transaction would leave.
    values: Arc<(Values, Values)>,
    /// The number of savepoints of this name and with these values that follow each other: some clients set one at each statement.
    count: usize,
    /// Bytes that it takes, beside those that it has in common with the one before it.
    bytes: usize,
}

impl Settings {
    pub(super) fn get(&self, name: &str) -> Option<&Arc<str>> {
        self.values.get(name)
    }

    /// The values of all that have others than those of the server.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.values.iter();
        all.map(|(name, value)| (name.as_str(), &**value))
    }

    pub(super) const fn is_in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// Sets a value, for the session or until the end of the transaction; `None` is that with which the connection began.
    ///
    /// # Errors
    /// When the settings of the connection would take too much.
    pub(super) fn set(
        &mut self,
        name: &str,
        value: Option<&str>,
        is_local: bool,
    ) -> Result<(), InvalidValue> {
        let value: Option<Arc<str>> = match value {
            Some(value) => Some(Arc::from(value)),
            None => self.first.get(name).cloned(),
        };
        if let Some(value) = &value {
            let others = self.all().filter(|(known, _)| *known != name);
            let bytes = others.map(|(name, value)| name.len().saturating_add(value.len()));
            let own = name.len().saturating_add(value.len());
            if bytes.fold(own, usize::saturating_add) > BYTES_MAX {
                let message = format!("settings of a connection have {BYTES_MAX} bytes at most");
                return Err(InvalidValue::new("54000", message));
            }
        }
        if let Some(transaction) = self.transaction.as_mut().filter(|_| !is_local) {
            put(&mut transaction.after, name, value.clone());
        }
        put(&mut self.values, name, value);
        Ok(())
    }

    /// Sets the value with which the connection begins.
    ///
    /// # Errors
    /// As [`Self::set`].
    pub(super) fn set_first(&mut self, name: &str, value: &str) -> Result<(), InvalidValue> {
        self.set(name, Some(value), false)?;
        self.first.clone_from(&self.values);
        Ok(())
    }

    /// Returns to the values with which the connection began.
    pub(super) fn reset(&mut self) {
        self.values.clone_from(&self.first);
        if let Some(transaction) = &mut self.transaction {
            transaction.after.clone_from(&self.first);
        }
    }

    /// Begins a transaction, if none is there.
    pub(super) fn begin(&mut self) {
        if self.transaction.is_none() {
            self.transaction = Some(Transaction {
                before: self.values.clone(),
                after: self.values.clone(),
                savepoints: Vec::new(),
            });
        }
    }

    /// Sets a savepoint in the transaction.
    ///
    /// # Errors
    /// When there is no transaction, and when its savepoints would take too much.
    pub(super) fn savepoint(&mut self, name: &str) -> Result<(), InvalidValue> {
        let Some(transaction) = &mut self.transaction else {
            return Err(outside("SAVEPOINT"));
        };
        let taken = transaction.savepoints.iter();
        let taken = taken.map(|savepoint| savepoint.bytes).sum::<usize>();
        let mut bytes = name.len().saturating_add(size_of::<Savepoint>());
        let last = transaction.savepoints.last_mut();
        let values = match last {
            Some(last) if last.values.0 == self.values && last.values.1 == transaction.after => {
                if last.name == name {
                    last.count = last.count.saturating_add(1);
                    return Ok(());
                }
                Arc::clone(&last.values)
            }
            _ => {
                let all = self.values.iter().chain(&transaction.after);
                let all = all.map(|(name, value)| name.len().saturating_add(value.len()));
                bytes = all.fold(bytes, usize::saturating_add);
                Arc::new((self.values.clone(), transaction.after.clone()))
            }
        };
        if taken.saturating_add(bytes) > SAVEPOINTS_BYTES_MAX {
            let message =
                format!("savepoints of a transaction take {SAVEPOINTS_BYTES_MAX} bytes at most");
            return Err(InvalidValue::new("54000", message));
        }
        transaction.savepoints.push(Savepoint {
            name: name.to_owned(),
            values,
            count: 1,
            bytes,
        });
        Ok(())
    }

    /// Forgets a savepoint of the transaction, and those behind it.
    ///
    /// # Errors
    /// When there is no transaction, or it has no savepoint of this name.
    pub(super) fn release(&mut self, name: &str) -> Result<(), InvalidValue> {
        let Some(transaction) = &mut self.transaction else {
            return Err(outside("RELEASE SAVEPOINT"));
        };
        let savepoint = transaction.latest(name)?;
        savepoint.count = savepoint.count.saturating_sub(1);
        if savepoint.count == 0 {
            transaction.savepoints.pop();
        }
        Ok(())
    }

    /// Returns to the values of a savepoint of the transaction, and forgets those behind it.
    ///
    /// # Errors
    /// When there is no transaction, or it has no savepoint of this name.
    pub(super) fn roll_back_to(&mut self, name: &str) -> Result<(), InvalidValue> {
        let Some(transaction) = &mut self.transaction else {
            return Err(outside("ROLLBACK TO SAVEPOINT"));
        };
        let (values, after) = (*transaction.latest(name)?.values).clone();
        self.values = values;
        transaction.after = after;
        Ok(())
    }

    /// Ends the transaction, if one is there.
    pub(super) fn end(&mut self, is_commit: bool) {
        if let Some(transaction) = self.transaction.take() {
            self.values = match is_commit {
                true => transaction.after,
                false => transaction.before,
            };
        }
    }
}

impl Transaction {
    /// The latest savepoint of this name; those behind it are forgotten.
    fn latest(&mut self, name: &str) -> Result<&mut Savepoint, InvalidValue> {
        let mut savepoints = self.savepoints.iter();
        if let Some(place) = savepoints.rposition(|savepoint| savepoint.name == name) {
            self.savepoints.truncate(place + 1);
            if let Some(latest) = self.savepoints.last_mut() {
                return Ok(latest);
            }
        }
        let message = format!("savepoint \"{name}\" does not exist");
        Err(InvalidValue::new("3B001", message))
    }
}

/// The error of PostgreSQL for a command that is one of a transaction.
fn outside(command: &str) -> InvalidValue {
    let message = format!("{command} can only be used in transaction blocks");
    InvalidValue::new("25P01", message)
}

fn put(values: &mut Values, name: &str, value: Option<Arc<str>>) {
    match value {
        Some(value) => drop(values.insert(name.to_owned(), value)),
        None => drop(values.remove(name)),
    }
}

/// Bytes of the names and values of a connection.
const BYTES_MAX: usize = 16 << 10;
/// Bytes of the savepoints of a transaction.
const SAVEPOINTS_BYTES_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// A rollback and the end of SET LOCAL changed nothing.
    #[test]
    fn transactions_leave_the_values_that_postgresql_has_behind_them() {
        let mut settings = Settings::default();
        let mut set = |value: Option<&str>, is_local: bool, then: &str, expected: Option<&str>| {
            settings.set("a", value, is_local).unwrap();
            match then {
                "begin" => settings.begin(),
                "commit" => settings.end(true),
                "rollback" => settings.end(false),
                _ => {}
            }
            let now = settings.get("a").map(|value| &**value);
            assert_eq!(now, expected, "{value:?} {then}");
        };
        set(Some("1"), false, "begin", Some("1"));
        set(Some("2"), false, "", Some("2"));
        set(Some("3"), true, "commit", Some("2"));
        set(Some("2"), false, "begin", Some("2"));
        set(Some("3"), false, "", Some("3"));
        set(Some("4"), true, "rollback", Some("2"));
        set(Some("2"), false, "begin", Some("2"));
        set(Some("3"), true, "", Some("3"));
        set(Some("4"), false, "commit", Some("4"));
        set(None, false, "", None);
    }

    /// A rollback to a savepoint undid nothing.
    #[test]
    fn rollbacks_to_savepoints_return_to_their_values() {
        let mut settings = Settings::default();
        settings.begin();
        let mut step = |step: &str, expected: Result<&str, &str>| {
            let (what, of) = step.split_once(' ').unwrap();
            let done = match what {
                "set" => settings.set("a", Some(of), false),
                "local" => settings.set("a", Some(of), true),
                "save" => settings.savepoint(of),
                "release" => settings.release(of),
                "back" => settings.roll_back_to(of),
                _ => {
                    settings.end(of == "commit");
                    Ok(())
                }
            };
            let now = settings.get("a").map_or("", |value| &**value);
            let found = done.map(|()| now).map_err(|error| error.code);
            assert_eq!(found, expected, "{step}");
        };
        step("set 1", Ok("1"));
        step("save one", Ok("1"));
        step("save one", Ok("1"));
        step("set 2", Ok("2"));
        step("save two", Ok("2"));
        step("local 3", Ok("3"));
        step("back two", Ok("2"));
        step("back one", Ok("1"));
        step("back two", Err("3B001"));
        step("set 4", Ok("4"));
        step("release one", Ok("4"));
        step("back one", Ok("1"));
        step("release one", Ok("1"));
        step("release one", Err("3B001"));
        step("end commit", Ok("1"));
        step("save one", Err("25P01"));
        step("release one", Err("25P01"));
        step("back one", Err("25P01"));
    }

    #[test]
    fn savepoints_of_a_transaction_have_a_limit() {
        let mut settings = Settings::default();
        settings.begin();
        for _ in 0..100_000 {
            settings.savepoint("same").unwrap();
        }
        let value = "x".repeat(10_000);
        let fits = |number: usize| {
            let set = settings.set("a", Some(&format!("{value}{number}")), false);
            set.is_ok() && settings.savepoint("other").is_ok()
        };
        let all = (0..200).map(fits).filter(|fits| *fits).count();
        assert_eq!(all, 52);
    }

    #[test]
    fn the_values_of_the_startup_message_are_those_of_a_reset() {
        let mut settings = Settings::default();
        settings.set_first("a", "1").unwrap();
        settings.set("a", Some("2"), false).unwrap();
        settings.set("b", Some("2"), false).unwrap();
        settings.set("a", None, false).unwrap();
        let all = |settings: &Settings| {
            let all = settings.all();
            all.map(|(name, value)| format!("{name}={value}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(all(&settings), ["a=1", "b=2"]);
        settings.begin();
        settings.reset();
        settings.end(true);
        assert_eq!(all(&settings), ["a=1"]);
    }

    #[test]
    fn settings_of_a_connection_have_a_limit() {
        let mut settings = Settings::default();
        let value = "x".repeat(1000);
        let fits = |number: usize| {
            let set = settings.set(&format!("own.n{number}"), Some(&value), false);
            set.is_ok()
        };
        let all: Vec<bool> = (0..20).map(fits).collect();
        assert_eq!(all.iter().filter(|fits| **fits).count(), 16);
        assert!(settings.set("own.n0", Some(&value), false).is_ok());
    }
}
