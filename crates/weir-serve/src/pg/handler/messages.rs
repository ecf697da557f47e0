//! The messages of a connection, each of which is processed to its end.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use futures::sink::{Sink, SinkExt};
use pgwire::api::portal::{Format, Portal};
use pgwire::api::query::{
    ExtendedQueryHandler, SimpleQueryHandler, send_describe_response, send_ready_for_query,
};
use pgwire::api::results::{DescribePortalResponse, Response};
use pgwire::api::stmt::StoredStatement;
use pgwire::api::store::{Entry, PortalStore};
use pgwire::api::{
    ClientInfo, ClientPortalStore, ConnectionHandle, DEFAULT_NAME, PgWireConnectionState, Type,
};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::extendedquery::{
    Bind, BindComplete, Close, CloseComplete, Describe, Execute, Parse, ParseComplete,
    Sync as SyncMessage, TARGET_TYPE_BYTE_PORTAL, TARGET_TYPE_BYTE_STATEMENT,
};
use pgwire::messages::response::{EmptyQueryResponse, TransactionStatus};
use pgwire::messages::simplequery::Query;

use super::PgConnection;
use super::names::{check_bind, codes, copy_out};
use crate::pg::cursor;
use crate::pg::error::{pg_error, refusal};
use crate::pg::prepare::{Prepared, Preparer, formatted};
use crate::retained::{of_name, of_values};

#[async_trait]
impl SimpleQueryHandler for PgConnection {
    async fn on_query<C>(&self, client: &mut C, query: Query) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        client.set_state(PgWireConnectionState::QueryInProgress);
        let handle = handle(client);
        let limit = self.limit(client);
        let work = async {
            self.follow_settings(client).await?;
            self.simple(client, &query.query, false).await
        };
        let done = Self::until_cancelled(handle, limit, work).await;
        let status = client.transaction_status();
        if status == TransactionStatus::Idle {
            // Those of a text of several statements end with it.
            self.cursors.end_transaction();
        }
        done?;
        client.set_state(PgWireConnectionState::ReadyForQuery);
        if status == TransactionStatus::Idle {
            self.drop_portals(client);
        }
        send_ready_for_query(client, status).await
    }

    async fn do_query<C>(&self, _client: &mut C, _query: &str) -> PgWireResult<Vec<Response>>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        // Answers are sent as they come, and not handed over: `on_query` does it all.
        Ok(Vec::new())
    }
}

fn handle<C: ClientInfo>(client: &C) -> Option<Arc<ConnectionHandle>> {
    let handle = client.session_extensions().get::<Arc<ConnectionHandle>>()?;
    Some(Arc::clone(&handle))
}

#[async_trait]
impl ExtendedQueryHandler for PgConnection {
    type Statement = Prepared;
    type QueryParser = Preparer;

    fn query_parser(&self) -> Arc<Preparer> {
        Arc::new(Preparer {
            session: Arc::clone(&self.session),
            cursors: self.cursors.clone(),
        })
    }

    /// Prepares a statement, whose memory and that of its name are counted while it exists.
    async fn on_parse<C>(&self, client: &mut C, message: Parse) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        self.follow_settings(client).await?;
        let name = message.name.as_deref();
        if name.is_none() {
            // As in PostgreSQL, the unnamed statement is gone even if the new one is refused.
            client.portal_store().rm_statement(DEFAULT_NAME);
            self.statements.remove("");
        }
        let parser = self.query_parser();
        let (handle, limit) = (handle(client), self.limit(client));
        let stored = StoredStatement::parse(client, &message, parser);
        let stored = Self::until_cancelled(handle, limit, stored).await?;
        let shown = name.unwrap_or_default();
        if name.is_some() && self.statements.contains(shown) {
            let message = format!("prepared statement \"{shown}\" already exists");
            return Err(refusal("42P05", message));
        }
        let types = message.type_oids.len().saturating_mul(size_of::<Type>());
        let retained = self.session.retention.add(of_name(shown, types));
        let retained = retained.map_err(|failure| pg_error(&failure))?;
        match stored {
            Some(mut stored) => {
                stored.statement.retained.push(Arc::new(retained));
                self.statements.add(shown, None);
                client.portal_store().put_statement(Arc::new(stored));
            }
            None => {
                self.statements.add(shown, Some(retained));
                let name = name.unwrap_or(DEFAULT_NAME);
                client.portal_store().put_empty_statement(name);
            }
        }
        let complete = PgWireBackendMessage::ParseComplete(ParseComplete::new());
        Ok(client.send(complete).await?)
    }

    /// Binds values to a statement, whose memory is counted while they are held.
    async fn on_bind<C>(&self, client: &mut C, message: Bind) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let name = message.statement_name.as_deref().unwrap_or(DEFAULT_NAME);
        let Some(entry) = client.portal_store().get_statement(name) else {
            return Err(PgWireError::StatementNotFound(name.to_owned()));
        };
        let stored = entry.value();
        check_bind(&message, stored.map(Arc::as_ref))?;
        let portal_name = message.portal_name.as_deref().unwrap_or_default();
        if message.portal_name.is_some()
            && (self.portals.contains(portal_name) || self.cursors.contains(portal_name))
        {
            return Err(cursor::exists(portal_name));
        }
        let values = message.parameters.iter().flatten();
        let bytes = values.map(bytes::Bytes::len).sum();
        let bytes = of_values(message.parameters.len(), bytes);
        let codes = codes(&message).saturating_mul(size_of::<i16>());
        let bytes = bytes.saturating_add(of_name(portal_name, codes));
        let retained = self.session.retention.add(bytes);
        let retained = retained.map_err(|failure| pg_error(&failure))?;
        match stored {
            Some(stored) => {
                let mut prepared = stored.statement.clone();
                prepared.retained.push(Arc::new(retained));
                let bound = StoredStatement::new(String::new(), prepared, Vec::new());
                let mut portal = Portal::try_new(&message, Arc::new(bound))?;
                copy_out(&mut portal.parameters);
                self.portals.add(portal_name, None);
                client.portal_store().put_portal(Arc::new(portal));
            }
            None => {
                self.portals.add(portal_name, Some(retained));
                let name = message.portal_name.as_deref().unwrap_or(DEFAULT_NAME);
                client.portal_store().put_empty_portal(name);
            }
        }
        let complete = PgWireBackendMessage::BindComplete(BindComplete::new());
        Ok(client.send(complete).await?)
    }

    /// Describes a statement, a portal or a cursor: psycopg asks for the columns of a cursor as for those of a portal.
    async fn on_describe<C>(&self, client: &mut C, message: Describe) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        if message.target_type == TARGET_TYPE_BYTE_PORTAL
            && let Some(name) = message.name.as_deref()
            && self.cursors.contains(name)
        {
            let fields = self.cursors.fields(name)?;
            let fields = formatted(&fields, &Format::UnifiedText);
            return send_describe_response(client, &DescribePortalResponse::new(fields)).await;
        }
        self._on_describe(client, message).await
    }

    async fn on_close<C>(&self, client: &mut C, message: Close) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let name = message.name.as_deref();
        let shown = name.unwrap_or_default();
        match message.target_type {
            TARGET_TYPE_BYTE_STATEMENT => {
                client
                    .portal_store()
                    .rm_statement(name.unwrap_or(DEFAULT_NAME));
                self.statements.remove(shown);
            }
            TARGET_TYPE_BYTE_PORTAL => {
                client
                    .portal_store()
                    .rm_portal(name.unwrap_or(DEFAULT_NAME));
                self.portals.remove(shown);
                // A portal that is not there is closed without an error.
                let _ = self.cursors.close(Some(shown));
            }
            other => {
                let message = format!("invalid CLOSE message subtype {other}");
                return Err(refusal("08P01", message));
            }
        }
        let complete = PgWireBackendMessage::CloseComplete(CloseComplete::new());
        Ok(client.send(complete).await?)
    }

    /// Ends what clients send together. Outside a transaction, portals end with it.
    async fn on_sync<C>(&self, client: &mut C, _message: SyncMessage) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        client.portal_store().rm_portal(DEFAULT_NAME);
        self.portals.remove("");
        let status = client.transaction_status();
        if status == TransactionStatus::Idle {
            self.drop_portals(client);
        }
        send_ready_for_query(client, status).await
    }

    async fn on_execute<C>(&self, client: &mut C, message: Execute) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        client.set_state(PgWireConnectionState::QueryInProgress);
        let name = message.name.as_deref().unwrap_or(DEFAULT_NAME);
        match client.portal_store().get_portal(name) {
            Some(Entry::Value(portal)) => {
                let handle = handle(client);
                let limit = self.limit(client);
                // A negative number is no limit, as zero is no limit.
                let rows_max = usize::try_from(message.max_rows).unwrap_or_default();
                let was_idle = client.transaction_status() == TransactionStatus::Idle;
                let work = self.execute(client, &portal, rows_max);
                Self::until_cancelled(handle, limit, work).await?;
                if !was_idle && client.transaction_status() == TransactionStatus::Idle {
                    self.drop_portals(client);
                }
            }
            Some(Entry::Empty) => {
                client
                    .feed(PgWireBackendMessage::EmptyQueryResponse(
                        EmptyQueryResponse::new(),
                    ))
                    .await?;
            }
            None => return Err(PgWireError::PortalNotFound(name.to_owned())),
        }
        client.set_state(PgWireConnectionState::ReadyForQuery);
        Ok(())
    }

    async fn do_query<C>(
        &self,
        _client: &mut C,
        _portal: &Portal<Prepared>,
        _max_rows: usize,
    ) -> PgWireResult<Response>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        // Answers are sent as they come, and not handed over: `on_execute` does it all.
        Ok(Response::EmptyQuery)
    }
}
