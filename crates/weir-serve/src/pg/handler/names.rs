//! The names of prepared statements and portals of a connection, and how a portal fits its statement.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::sink::Sink;
use pgwire::api::DEFAULT_NAME;
use pgwire::api::results::Tag;
use pgwire::api::stmt::StoredStatement;
use pgwire::api::store::PortalStore;
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::data::{FORMAT_CODE_BINARY, FORMAT_CODE_TEXT};
use pgwire::messages::extendedquery::Bind;
use weir_engine::Statement;

use super::PgConnection;
use crate::pg::client::Client;
use crate::pg::error::{pg_error, refusal};
use crate::pg::parameter::{is_text, texts_of_array};
use crate::pg::prepare::Prepared;
use crate::pg::setting;
use crate::retained::Retained;

/// The names of the prepared statements of a connection, or of its portals; that of the unnamed one is empty. Beside a name
/// stands the memory of one that has no statement to count it.
#[derive(Default)]
pub(super) struct Names(Mutex<BTreeMap<String, Option<Retained>>>);

impl Names {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Option<Retained>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.lock().contains_key(name)
    }

    pub(super) fn add(&self, name: &str, retained: Option<Retained>) {
        self.lock().insert(name.to_owned(), retained);
    }

    pub(super) fn remove(&self, name: &str) {
        self.lock().remove(name);
    }

    /// Removes all.
    fn take(&self) -> impl Iterator<Item = String> {
        std::mem::take(&mut *self.lock()).into_keys()
    }
}

impl PgConnection {
    /// Ends the portals of a transaction.
    pub(super) fn drop_portals<C: Client>(&self, client: &C)
    where
        C::PortalStore: PortalStore,
    {
        for name in self.portals.take() {
            client.portal_store().rm_portal(stored_as(&name));
        }
    }

    /// Removes a prepared statement, of the protocol or of PREPARE, or all of both.
    pub(super) async fn deallocate<C: Client>(
        &self,
        client: &mut C,
        statement: Statement,
        name: Option<&str>,
    ) -> PgWireResult<()>
    where
        C::PortalStore: PortalStore,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        match name {
            Some(name) if self.statements.contains(name) => {
                self.statements.remove(name);
                client.portal_store().rm_statement(name);
            }
            Some(_) => self.run(statement).await?,
            None => self.drop_statements(client).await?,
        }
        let tag = match name {
            Some(_) => "DEALLOCATE",
            None => "DEALLOCATE ALL",
        };
        self.complete(client, Tag::new(tag)).await
    }

    /// Removes the cursors and prepared statements of the connection, and resets its settings.
    pub(super) async fn discard<C: Client>(&self, client: &mut C) -> PgWireResult<()>
    where
        C::PortalStore: PortalStore,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        self.cursors.close(None)?;
        self.drop_statements(client).await?;
        setting::reset_all(client).await?;
        self.follow_settings(client).await?;
        self.complete(client, Tag::new("DISCARD ALL")).await
    }

    /// Removes all prepared statements.
    async fn drop_statements<C: Client>(&self, client: &C) -> PgWireResult<()>
    where
        C::PortalStore: PortalStore,
    {
        // A statement of the engine runs only where it has some: poolers send this with each connection that they give back.
        if self.session.has_prepared() {
            let statements = self.session.parse("DEALLOCATE ALL");
            for statement in statements.map_err(|failure| pg_error(&failure))? {
                self.run(statement).await?;
            }
        }
        for name in self.statements.take() {
            client.portal_store().rm_statement(stored_as(&name));
        }
        Ok(())
    }
}

/// The name under which a statement or a portal is stored.
fn stored_as(name: &str) -> &str {
    match name {
        "" => DEFAULT_NAME,
        name => name,
    }
}

/// The number of format codes of a message.
pub(super) fn codes(message: &Bind) -> usize {
    let columns = message.result_column_format_codes.len();
    message.parameter_format_codes.len().saturating_add(columns)
}

/// Copies values out of the buffer that they came in. A value of one octet would otherwise keep the megabyte that was received with it.
pub(super) fn copy_out(values: &mut [Option<Bytes>]) {
    for value in values.iter_mut().flatten() {
        *value = Bytes::copy_from_slice(value);
    }
}

/// Checks that a message has as many values as its statement has parameters, and formats of the protocol: none, one for
/// all, or one for each.
pub(super) fn check_bind(
    message: &Bind,
    stored: Option<&StoredStatement<Prepared>>,
) -> PgWireResult<()> {
    let wrong = |message: String| Err(refusal("08P01", message));
    let given = message.parameters.len();
    let formats = message.parameter_format_codes.len();
    if formats > 1 && formats != given {
        return wrong(format!(
            "bind message has {formats} parameter formats but {given} parameters"
        ));
    }
    let wanted = stored.map_or(0, |stored| {
        let inferred = stored.statement.parameters.len();
        inferred.max(stored.parameter_types.len())
    });
    if given != wanted {
        let name = message.statement_name.as_deref().unwrap_or_default();
        return wrong(format!(
            "bind message supplies {given} parameters, but prepared statement \"{name}\" requires {wanted}"
        ));
    }
    let all = message.parameter_format_codes.iter();
    let mut all = all.chain(&message.result_column_format_codes);
    let is_other = |code: &&i16| !matches!(**code, FORMAT_CODE_TEXT | FORMAT_CODE_BINARY);
    if let Some(code) = all.find(is_other) {
        return Err(refusal("22023", format!("unsupported format code: {code}")));
    }
    check_texts(message, stored)?;
    let columns = stored.map_or(0, |stored| stored.statement.fields.len());
    let formats = message.result_column_format_codes.len();
    // Statements without rows have no formats.
    if formats > 1 && columns > 0 && formats != columns {
        return wrong(format!(
            "bind message has {formats} result formats but query has {columns} columns"
        ));
    }
    Ok(())
}

/// Checks that values in the format of text, and texts in the binary one, elements of arrays among them, are UTF-8 and have no octet 0, which no text of PostgreSQL has.
fn check_texts(message: &Bind, stored: Option<&StoredStatement<Prepared>>) -> PgWireResult<()> {
    let kinds = stored.map(|stored| stored.statement.parameters.as_slice());
    let kinds = kinds.unwrap_or_default();
    let codes = message.parameter_format_codes.as_slice();
    for (index, value) in message.parameters.iter().enumerate() {
        let code = match codes {
            [of_all] => Some(of_all),
            codes => codes.get(index),
        };
        let kind = kinds.get(index);
        let has_text = code != Some(&FORMAT_CODE_BINARY) || kind.is_some_and(is_text);
        match (value.as_deref(), kind) {
            (Some(value), _) if has_text => check_text(value)?,
            (Some(value), Some(kind)) => {
                for text in texts_of_array(value, kind) {
                    check_text(text)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_text(text: &[u8]) -> PgWireResult<()> {
    let message = if text.contains(&0) {
        "invalid byte sequence for encoding \"UTF8\": 0x00"
    } else if std::str::from_utf8(text).is_err() {
        "invalid byte sequence for encoding \"UTF8\""
    } else {
        return Ok(());
    };
    Err(refusal("22021", message.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Portals with a value of one octet each held all that had come with it, thousands of times a megabyte.
    #[test]
    fn values_keep_no_buffer() {
        let received = Bytes::from(vec![7; 1000]);
        let mut values = [Some(received.slice(..1)), None, Some(received.slice(1..4))];
        assert!(!received.is_unique());
        copy_out(&mut values);
        assert!(received.is_unique());
        assert_eq!(values[0].as_deref(), Some([7].as_slice()));
        assert_eq!(values[2].as_ref().map(Bytes::len), Some(3));
    }
}
