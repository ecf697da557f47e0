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
            });
        }
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

fn put(values: &mut Values, name: &str, value: Option<Arc<str>>) {
    match value {
        Some(value) => drop(values.insert(name.to_owned(), value)),
        None => drop(values.remove(name)),
    }
}

/// Bytes of the names and values of a connection.
const BYTES_MAX: usize = 16 << 10;

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
