//! Statements about cursors: DECLARE, FETCH, MOVE and CLOSE.

use std::fmt::Debug;
use std::sync::Arc;

use futures::StreamExt;
use futures::sink::{Sink, SinkExt};
use pgwire::api::portal::{Format, Portal};
use pgwire::api::query::ExtendedQueryHandler;
use pgwire::api::results::Tag;
use pgwire::api::stmt::{QueryParser, StoredStatement};
use pgwire::api::store::PortalStore;
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::extendedquery::Bind;
use pgwire::messages::response::TransactionStatus;

use super::{PgConnection, described, send_row};
use crate::error::{Failure, FailureKind};
use crate::pg::client::Client;
use crate::pg::cursor::{self, Cursor, CursorStatement, Declared, Fetched};
use crate::pg::error::pg_error;
use crate::pg::prepare::{Prepared, formatted, no_cursor};

impl PgConnection {
    /// Does what a simple query asks of cursors.
    pub(super) async fn simple_cursor<C: Client>(
        &self,
        client: &mut C,
        statement: CursorStatement,
        is_among_others: bool,
    ) -> PgWireResult<()>
    where
        C::PortalStore: PortalStore,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        match statement {
            CursorStatement::Declare(declared) => {
                let query = declared.query.as_str();
                let parsed = self.query_parser().parse_sql(&*client, query, &[]).await?;
                let prepared = parsed.ok_or_else(|| pg_error(&no_cursor()))?;
                let portal = ahead(&declared.name, prepared, &[]);
                self.declare(client, &declared, portal?, is_among_others)
                    .await
            }
            CursorStatement::Fetch(fetched) => {
                self.fetch(client, &fetched, &Format::UnifiedText, true)
                    .await
            }
            CursorStatement::Close(name) => self.close(client, name.as_deref()).await,
        }
    }

    /// Makes a cursor, by a statement that stands among others of its text or alone.
    pub(super) async fn declare<C: Client>(
        &self,
        client: &mut C,
        declared: &Declared,
        portal: Portal<Prepared>,
        is_among_others: bool,
    ) -> PgWireResult<()>
    where
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let is_outside = client.transaction_status() == TransactionStatus::Idle;
        if is_outside && !is_among_others && !declared.is_held {
            return Err(cursor::outside_of_transactions());
        }
        let prepared = &portal.statement.statement;
        if !prepared.is_query() {
            return Err(pg_error(&no_cursor()));
        }
        if portal.parameter_len() < prepared.parameters.len() {
            let message = "the query of a cursor has parameters, and no values are given";
            return Err(pg_error(&Failure::new(FailureKind::Plan, message)));
        }
        if self.portals.contains(&declared.name) {
            return Err(cursor::exists(&declared.name));
        }
        let cursor = Cursor {
            is_binary: declared.is_binary,
            is_held: declared.is_held,
            rows: cursor::CursorRows::NotStarted,
            portal,
        };
        self.cursors.add(&declared.name, cursor)?;
        self.complete(client, Tag::new("DECLARE CURSOR")).await
    }

    /// Sends the next rows of a cursor, or passes over them.
    pub(super) async fn fetch<C: Client>(
        &self,
        client: &mut C,
        fetched: &Fetched,
        format: &Format,
        is_described: bool,
    ) -> PgWireResult<()>
    where
        C::PortalStore: PortalStore,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let mut cursor = self.cursors.take(&fetched.name)?;
        let known = cursor.set_format(format);
        known.map_err(|failure| pg_error(&failure))?;
        let shown = formatted(&cursor.fields(), &cursor.portal.result_column_format);
        if is_described && !fetched.is_move {
            let described = described(&shown);
            client
                .feed(PgWireBackendMessage::RowDescription(described))
                .await?;
        }
        let mut rows = match std::mem::replace(&mut cursor.rows, cursor::CursorRows::Finished) {
            cursor::CursorRows::NotStarted => self.begin(client, &cursor.portal).await?,
            cursor::CursorRows::Started(rows) => Some(rows),
            cursor::CursorRows::Finished => None,
        };
        let mut count = 0;
        while let Some(known) = &mut rows
            && fetched.count.is_none_or(|most| count < most)
        {
            let Some(row) = known.data_rows.next().await else {
                rows = None;
                self.send_notices(client).await?;
                break;
            };
            let row = row?;
            if !fetched.is_move {
                send_row(client, row).await?;
            }
            count += 1;
        }
        if let Some(rows) = rows {
            cursor.rows = cursor::CursorRows::Started(rows);
        }
        self.cursors.put_back(&fetched.name, cursor);
        let tag = Tag::new(if fetched.is_move { "MOVE" } else { "FETCH" });
        self.complete(client, tag.with_rows(count)).await
    }

    pub(super) async fn close<C: Client>(
        &self,
        client: &mut C,
        name: Option<&str>,
    ) -> PgWireResult<()>
    where
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        self.cursors.close(name)?;
        let tag = match name {
            Some(_) => "CLOSE CURSOR",
            None => "CLOSE CURSOR ALL",
        };
        self.complete(client, Tag::new(tag)).await
    }
}

/// A query that a cursor goes over, with the values of its parameters.
pub(super) fn ahead(
    name: &str,
    prepared: Prepared,
    values: &[Option<bytes::Bytes>],
) -> PgWireResult<Portal<Prepared>> {
    let types = prepared.parameters.iter().cloned().map(Some).collect();
    let statement = StoredStatement::new(name.to_owned(), prepared, types);
    let name = Some(name.to_owned());
    let bind = Bind::new(name, None, Vec::new(), values.to_vec(), Vec::new());
    Portal::try_new(&bind, Arc::new(statement))
}
