//! Statements of one connection, simple and prepared.

mod copy;
mod cursors;

use std::fmt::Debug;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow::datatypes::DataType;
use async_trait::async_trait;
use futures::sink::{Sink, SinkExt};
use futures::{StreamExt, stream};
use pgwire::api::portal::{Format, Portal, PortalExecutionState};
use pgwire::api::query::{ExtendedQueryHandler, SimpleQueryHandler, send_ready_for_query};
use pgwire::api::results::{FieldInfo, QueryResponse, Response, Tag};
use pgwire::api::stmt::StoredStatement;
use pgwire::api::store::{Entry, PortalStore};
use pgwire::api::{
    ClientInfo, ClientPortalStore, ConnectionHandle, DEFAULT_NAME, PgWireConnectionState, Type,
};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::data::{
    DataRow, FORMAT_CODE_BINARY, FORMAT_CODE_TEXT, FieldDescription, RowDescription,
};
use pgwire::messages::extendedquery::{Bind, BindComplete, Execute, PortalSuspended};
use pgwire::messages::response::{CommandComplete, EmptyQueryResponse, NoticeResponse};
use pgwire::messages::simplequery::Query;
use tokio::sync::OwnedSemaphorePermit;
use weir_engine::{Parameter, Statement};

use self::cursors::ahead;
use super::cursor::{self, Cursors};
use super::encode::{self, Encoder};
use super::error::{error_response, may_run, pg_error, refusal};
use super::parameter::parameter;
use super::prepare::{Prepared, PreparedAction, Preparer, copied, no_cursor};
use super::route::{RoutedStatement, Setting, counted, parts};
use super::setting;
use crate::error::{Failure, FailureKind};
use crate::retained::of_values;
use crate::session::{Answer, Session};

/// The bounds of a client of the protocol.
pub(super) trait Client:
    ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync
{
}

impl<C> Client for C where
    C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync
{
}

/// One connection.
pub(super) struct PgConnection {
    session: Arc<Session>,
    /// Notices that are sent before the statement at work is complete.
    notices: Arc<Mutex<Vec<String>>>,
    cursors: Cursors,
}

/// Describes columns, with the sizes of their types, which some clients go by.
fn described(fields: &[FieldInfo]) -> RowDescription {
    let fields = fields.iter().map(|field| {
        let size = match *field.datatype() {
            Type::BOOL | Type::CHAR => 1,
            Type::INT2 => 2,
            Type::INT4 | Type::FLOAT4 | Type::DATE | Type::OID => 4,
            Type::INT8 | Type::FLOAT8 | Type::TIMESTAMP | Type::TIMESTAMPTZ | Type::TIME => 8,
            Type::MACADDR => 6,
            Type::INTERVAL => 16,
            _ => -1,
        };
        FieldDescription::new(
            field.name().to_owned(),
            0,
            0,
            field.datatype().oid(),
            size,
            -1,
            field.format().value(),
        )
    });
    RowDescription::new(fields.collect())
}

impl PgConnection {
    pub(super) fn new(session: Arc<Session>) -> Self {
        Self {
            session,
            notices: Arc::default(),
            cursors: Cursors::default(),
        }
    }

    /// The rows of an answer, one by one; notices about them are kept for the end.
    fn rows(&self, answer: Answer, fields: &Arc<Vec<FieldInfo>>) -> QueryResponse {
        let encoder = Encoder::new(Arc::clone(fields));
        let notices = Arc::clone(&self.notices);
        let batches = stream::unfold(Some((answer, encoder)), move |state| {
            let notices = Arc::clone(&notices);
            async move {
                let (mut answer, mut encoder) = state?;
                match answer.next().await {
                    Ok(Some(batch)) => match encoder.rows(&batch) {
                        Ok(rows) => {
                            let rows: Vec<PgWireResult<DataRow>> =
                                rows.into_iter().map(Ok).collect();
                            Some((stream::iter(rows), Some((answer, encoder))))
                        }
                        Err(failure) => Some((stream::iter(vec![Err(pg_error(&failure))]), None)),
                    },
                    Ok(None) => {
                        let report = answer.report();
                        let mut notices = notices.lock().unwrap_or_else(PoisonError::into_inner);
                        notices.extend(report.damage);
                        notices.extend(report.notes);
                        notices.extend(encoder.truncation_notice());
                        None
                    }
                    Err(failure) => Some((stream::iter(vec![Err(pg_error(&failure))]), None)),
                }
            }
        });
        QueryResponse::new(Arc::clone(fields), batches.flatten())
    }

    /// Says what was found damaged, and what else is to be known of the rows that were sent.
    async fn send_notices<C: Client>(&self, client: &mut C) -> PgWireResult<()>
    where
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let mut notices = {
            let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *notices)
        };
        let more = notices.len().saturating_sub(NOTICES_MAX);
        notices.truncate(NOTICES_MAX);
        if more > 0 {
            notices.push(format!("and {more} more of this kind"));
        }
        for notice in notices {
            let fields = [
                (b'S', "WARNING"),
                (b'V', "WARNING"),
                (b'C', "01000"),
                (b'M', &notice),
            ];
            let fields = fields.iter().map(|(key, text)| (*key, (*text).to_owned()));
            client
                .feed(PgWireBackendMessage::NoticeResponse(NoticeResponse::new(
                    fields.collect(),
                )))
                .await?;
        }
        Ok(())
    }

    /// Does something until it is done, someone cancels it, or its time is over.
    async fn until_cancelled<T>(
        handle: Option<Arc<ConnectionHandle>>,
        limit: Option<Duration>,
        work: impl Future<Output = PgWireResult<T>>,
    ) -> PgWireResult<T> {
        let cancelled = async {
            match handle {
                // Dropping a replaced sender cancels nothing.
                Some(handle) => match handle.start_query().await.await {
                    Ok(()) => {}
                    Err(_) => std::future::pending().await,
                },
                None => std::future::pending().await,
            }
        };
        let over = async {
            match limit {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = cancelled => Err(pg_error(&Failure::cancelled())),
            () = over => {
                let limit = limit.unwrap_or_default();
                let message = format!("canceling statement due to statement timeout: {} ms", limit.as_millis());
                Err(pg_error(&Failure::new(FailureKind::Timeout, message)))
            }
            done = work => done,
        }
    }

    /// The time limit of a statement: that of the client, within that of the server.
    fn limit<C: ClientInfo>(&self, client: &C) -> Option<Duration> {
        let set = setting::limit(client);
        let most = self.session.shared.options.limits.time_max;
        match (set, most) {
            (Some(set), Some(most)) => Some(set.min(most)),
            (set, most) => set.or(most),
        }
    }

    /// Sends the rows of an answer to a simple query.
    async fn send_rows<C: Client>(
        &self,
        client: &mut C,
        mut rows: QueryResponse,
    ) -> PgWireResult<()>
    where
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let described = described(&rows.row_schema);
        client
            .feed(PgWireBackendMessage::RowDescription(described))
            .await?;
        let mut count = 0;
        while let Some(row) = rows.data_rows.next().await {
            send_row(client, row?).await?;
            count += 1;
        }
        self.send_notices(client).await?;
        let tag = Tag::new("SELECT").with_rows(count);
        self.complete(client, tag).await
    }

    async fn complete<C: Client>(&self, client: &mut C, tag: Tag) -> PgWireResult<()>
    where
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let complete: CommandComplete = tag.into();
        Ok(client
            .feed(PgWireBackendMessage::CommandComplete(complete))
            .await?)
    }

    /// Sends the response to an empty text.
    async fn empty<C: Client>(&self, client: &mut C) -> PgWireResult<()>
    where
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let empty = EmptyQueryResponse::new();
        Ok(client
            .feed(PgWireBackendMessage::EmptyQueryResponse(empty))
            .await?)
    }

    /// Does what is the connection's own; the value of a setting is given back.
    async fn apply_setting<C: Client>(
        &self,
        client: &mut C,
        setting: &Setting,
    ) -> PgWireResult<Option<QueryResponse>>
    where
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let tag = match setting {
            Setting::Show(name) => return Ok(Some(setting::show(client, name)?.rows())),
            Setting::Set(name, value) => setting::set(client, name, value).await?,
            Setting::Begin => setting::begin(client)?,
            Setting::RollbackTo => setting::go_on(client),
            Setting::Commit | Setting::Rollback => {
                self.cursors.end_transaction();
                setting::end(client, *setting == Setting::Commit)
            }
        };
        self.complete(client, tag).await?;
        Ok(None)
    }

    /// Answers a simple query.
    async fn simple<C: Client>(&self, client: &mut C, sql: &str) -> PgWireResult<()>
    where
        C::PortalStore: PortalStore,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let loaded = self.session.load(sql).await;
        let mut load = loaded.map_err(|failure| pg_error(&failure))?;
        if cursor::may_be_of_cursors(sql) {
            if let Some(parsed) = cursor::parsed(sql) {
                may_run(client)?;
                // The query of a cursor waits for its own.
                drop(load);
                let parsed = parsed.map_err(|failure| pg_error(&failure))?;
                return self.simple_cursor(client, parsed).await;
            }
            let (parts, _) = weir_engine::statements(sql);
            let parts: Vec<&str> = parts.into_iter().filter_map(|part| sql.get(part)).collect();
            if parts.len() > 1 && parts.iter().any(|part| cursor::parsed(part).is_some()) {
                drop(load);
                for part in parts {
                    Box::pin(self.simple(client, part)).await?;
                }
                return Ok(());
            }
        }
        if let Some(copy) = copied(sql)? {
            may_run(client)?;
            return self.copy(client, &copy, load).await;
        }
        let parts = parts(&self.session, sql);
        let parts = parts.map_err(|failure| error_response("ERROR", &failure, Some(sql)))?;
        if parts.is_empty() {
            return self.empty(client).await;
        }
        let mut parts = parts.into_iter();
        while let Some(part) = parts.next() {
            // The last statement takes over the reserved memory of the text, which ends with it.
            let load = match parts.len() {
                0 => load.take(),
                _ => None,
            };
            match part {
                RoutedStatement::Nothing(tag) => self.complete(client, Tag::new(tag)).await?,
                RoutedStatement::Connection(setting) => {
                    if let Some(rows) = self.apply_setting(client, &setting).await? {
                        self.send_rows(client, rows).await?;
                    }
                }
                RoutedStatement::TimeZone(statement, zone) => {
                    may_run(client)?;
                    self.run(statement).await?;
                    let tag = setting::set(client, "timezone", &zone).await?;
                    self.complete(client, tag).await?;
                }
                RoutedStatement::Engine(statement) => {
                    may_run(client)?;
                    self.answer(client, statement, load).await?;
                }
            }
        }
        Ok(())
    }

    /// Does a statement that says how many rows it has written.
    async fn count(&self, statement: Statement, tag: Tag) -> PgWireResult<Tag> {
        let count = self.session.count(statement).await;
        let count = count.map_err(|failure| pg_error(&failure))?;
        Ok(tag.with_rows(usize::try_from(count).unwrap_or(usize::MAX)))
    }

    /// Runs a statement and discards its rows.
    async fn run(&self, statement: Statement) -> PgWireResult<()> {
        let run = self.session.run(statement).await;
        run.map_err(|failure| pg_error(&failure))
    }

    /// Sends the rows of a statement, or its tag.
    async fn answer<C: Client>(
        &self,
        client: &mut C,
        statement: Statement,
        load: Option<OwnedSemaphorePermit>,
    ) -> PgWireResult<()>
    where
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        if !statement.gives_rows() {
            let tag = tag(&statement);
            self.run(statement).await?;
            return self.complete(client, tag).await;
        }
        if let Some(tag) = counted(&statement) {
            let tag = self.count(statement, tag).await?;
            return self.complete(client, tag).await;
        }
        let answer = self
            .session
            .start(statement)
            .await
            .map_err(|failure| pg_error(&failure))?;
        drop(load);
        let fields = encode::fields(&answer.schema, &answer.origins, &Format::UnifiedText);
        let rows = self.rows(answer, &Arc::new(fields));
        self.send_rows(client, rows).await
    }

    /// Starts a portal: what is to be sent at once is sent, and what has rows waits to be fetched.
    async fn begin<C: Client>(
        &self,
        client: &mut C,
        portal: &Portal<Prepared>,
    ) -> PgWireResult<Option<QueryResponse>>
    where
        C::PortalStore: PortalStore,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let prepared = &portal.statement.statement;
        match &*prepared.action {
            PreparedAction::Nothing(tag) => self.complete(client, Tag::new(tag)).await?,
            PreparedAction::Copy(copy) => {
                may_run(client)?;
                let load = self.session.load(&copy.query).await;
                let load = load.map_err(|failure| pg_error(&failure))?;
                self.copy(client, copy, load).await?;
            }
            PreparedAction::TimeZone(statement, zone) => {
                may_run(client)?;
                self.run(statement.clone()).await?;
                let tag = setting::set(client, "timezone", zone).await?;
                self.complete(client, tag).await?;
            }
            PreparedAction::Setting(setting) => return self.apply_setting(client, setting).await,
            PreparedAction::Declare(declared, of) => {
                may_run(client)?;
                let mut ahead = ahead(&declared.name, of.clone(), &portal.parameters)?;
                ahead.parameter_format = portal.parameter_format.clone();
                self.declare(client, declared, ahead).await?;
            }
            // `execute` fetches: what is begun here is what a cursor goes over.
            PreparedAction::Fetch(_) => return Err(pg_error(&no_cursor())),
            PreparedAction::Close(name) => {
                may_run(client)?;
                self.close(client, name.as_deref()).await?;
            }
            PreparedAction::Engine(statement) => {
                may_run(client)?;
                let load = self.session.load_values(&portal.parameters).await;
                let _load = load.map_err(|failure| pg_error(&failure))?;
                let statement = bound(statement, portal)?;
                if !statement.gives_rows() {
                    let tag = tag(&statement);
                    self.run(statement).await?;
                    self.complete(client, tag).await?;
                    return Ok(None);
                }
                if let Some(tag) = counted(&statement) {
                    let tag = self.count(statement, tag).await?;
                    self.complete(client, tag).await?;
                    return Ok(None);
                }
                let answer = self.session.start(statement).await;
                let answer = answer.map_err(|failure| pg_error(&failure))?;
                let fields = encode::fields(
                    &answer.schema,
                    &answer.origins,
                    &portal.result_column_format,
                );
                let fields = Arc::new(fields);
                // The rows must be those that were described. NULL is a value of every type.
                let same = |(index, (one, other)): (usize, (&FieldInfo, &FieldInfo))| {
                    one.datatype() == other.datatype()
                        || *answer.schema.field(index).data_type() == DataType::Null
                };
                if fields.len() != prepared.fields.len()
                    || !fields
                        .iter()
                        .zip(prepared.fields.iter())
                        .enumerate()
                        .all(same)
                {
                    let message = "cached plan must not change result type";
                    return Err(pg_error(
                        &Failure::new(FailureKind::Plan, message).with_hint(
                            "prepare it again, or give the parameters types: $1::bigint",
                        ),
                    ));
                }
                return Ok(Some(self.rows(answer, &fields)));
            }
        }
        Ok(None)
    }

    /// Executes a portal, or continues it.
    async fn execute<C: Client>(
        &self,
        client: &mut C,
        portal: &Portal<Prepared>,
        rows_max: usize,
    ) -> PgWireResult<()>
    where
        C::PortalStore: PortalStore,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        if let PreparedAction::Fetch(fetched) = &*portal.statement.statement.action {
            may_run(client)?;
            let format = &portal.result_column_format;
            return self.fetch(client, fetched, format, false).await;
        }
        let state = portal.state();
        let mut state = state.lock().await;
        let begun = match std::mem::replace(&mut *state, PortalExecutionState::Finished) {
            PortalExecutionState::Initial => self.begin(client, portal).await?,
            PortalExecutionState::Suspended(rows) => Some(rows),
            PortalExecutionState::Finished => {
                return self.complete(client, Tag::new("SELECT").with_rows(0)).await;
            }
        };
        let Some(mut rows) = begun else {
            return Ok(());
        };
        let mut count = 0;
        while rows_max == 0 || count < rows_max {
            let Some(row) = rows.data_rows.next().await else {
                self.send_notices(client).await?;
                return self
                    .complete(client, Tag::new("SELECT").with_rows(count))
                    .await;
            };
            send_row(client, row?).await?;
            count += 1;
        }
        *state = PortalExecutionState::Suspended(rows);
        Ok(client
            .feed(PgWireBackendMessage::PortalSuspended(PortalSuspended::new()))
            .await?)
    }
}

/// Sends a row. A long one is sent before the next is requested: until then it is counted.
async fn send_row<C: Client>(client: &mut C, row: DataRow) -> PgWireResult<()>
where
    C::Error: Debug,
    PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
{
    let is_long = row.data.len() > LONG_ROW_BYTES;
    client.feed(PgWireBackendMessage::DataRow(row)).await?;
    if is_long {
        client.flush().await?;
    }
    Ok(())
}

/// The values of a portal in the places of the parameters.
fn bound(statement: &Statement, portal: &Portal<Prepared>) -> PgWireResult<Statement> {
    let prepared = &portal.statement.statement;
    let wanted = prepared.parameters.len();
    if portal.parameter_len() != wanted {
        return Err(pg_error(&other_count(portal.parameter_len(), wanted)));
    }
    let mut values = Vec::with_capacity(wanted);
    for (index, kind) in prepared.parameters.iter().enumerate() {
        let bytes = portal.parameters.get(index).and_then(Option::as_deref);
        let is_binary = portal.parameter_format.is_binary(index);
        let value = parameter(bytes, kind, is_binary).map_err(|failure| pg_error(&failure))?;
        if let Parameter::List(values) = &value
            && values.len() > LIST_VALUES_MAX
        {
            let message = format!("an array has {LIST_VALUES_MAX} values at most");
            return Err(pg_error(&Failure::new(FailureKind::Limit, message)));
        }
        values.push(((index + 1).to_string(), value));
    }
    let bound = statement.clone().bind(&values);
    bound.map_err(|error| pg_error(&Failure::from(error)))
}

/// Checks that the formats of parameters and columns are those of the protocol.
fn check_formats(message: &Bind) -> PgWireResult<()> {
    let parameters = message.parameter_format_codes.iter();
    let mut codes = parameters.chain(&message.result_column_format_codes);
    let is_other = |code: &&i16| !matches!(**code, FORMAT_CODE_TEXT | FORMAT_CODE_BINARY);
    match codes.find(is_other) {
        Some(code) => Err(refusal("22023", format!("unsupported format code: {code}"))),
        None => Ok(()),
    }
}

fn other_count(given: usize, wanted: usize) -> Failure {
    let message = format!("{given} values are given for {wanted} parameters");
    Failure::new(FailureKind::Plan, message)
}

/// The tag of a statement without rows.
fn tag(statement: &Statement) -> Tag {
    let sql = statement.parsed().to_string().to_ascii_uppercase();
    let known = [
        "CREATE EXTERNAL TABLE",
        "CREATE SCHEMA",
        "CREATE TABLE",
        "DEALLOCATE",
        "DROP SCHEMA",
        "DROP TABLE",
        "DROP VIEW",
        "PREPARE",
        "SET",
    ];
    let first = known.iter().find(|tag| sql.starts_with(**tag));
    // SELECT … INTO makes a table as well; CREATE OR REPLACE VIEW is the view's.
    let made = match statement.is_query() {
        true => "CREATE TABLE",
        false => "CREATE VIEW",
    };
    Tag::new(first.unwrap_or(&made))
}

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
        let work = self.simple(client, &query.query);
        Self::until_cancelled(handle, limit, work).await?;
        client.set_state(PgWireConnectionState::ReadyForQuery);
        let status = client.transaction_status();
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

    /// Binds values to a statement, whose memory is counted while they are held.
    async fn on_bind<C>(&self, client: &mut C, message: Bind) -> PgWireResult<()>
    where
        C: ClientInfo + ClientPortalStore + Sink<PgWireBackendMessage> + Unpin + Send + Sync,
        C::PortalStore: PortalStore<Statement = Prepared>,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        check_formats(&message)?;
        let name = message.statement_name.as_deref().unwrap_or(DEFAULT_NAME);
        match client.portal_store().get_statement(name) {
            Some(Entry::Value(stored)) => {
                let values = message.parameters.iter().flatten();
                let bytes = values.map(bytes::Bytes::len).sum();
                let bytes = of_values(message.parameters.len(), bytes);
                let retained = self.session.retention.add(bytes);
                let retained = retained.map_err(|failure| pg_error(&failure))?;
                let mut prepared = stored.statement.clone();
                prepared.retained.push(Arc::new(retained));
                let types = stored.parameter_types.clone();
                let bound = StoredStatement::new(stored.id.clone(), prepared, types);
                let portal = Portal::try_new(&message, Arc::new(bound))?;
                client.portal_store().put_portal(Arc::new(portal));
            }
            Some(Entry::Empty) => {
                if !message.parameters.is_empty() {
                    return Err(pg_error(&other_count(message.parameters.len(), 0)));
                }
                let portal = message.portal_name.as_deref().unwrap_or(DEFAULT_NAME);
                client.portal_store().put_empty_portal(portal);
            }
            None => return Err(PgWireError::StatementNotFound(name.to_owned())),
        }
        let complete = PgWireBackendMessage::BindComplete(BindComplete::new());
        Ok(client.send(complete).await?)
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
                let work = self.execute(client, &portal, rows_max);
                Self::until_cancelled(handle, limit, work).await?;
                // A cursor is described like a portal: psycopg asks for its columns that way.
                if let PreparedAction::Declare(declared, of) = &*portal.statement.statement.action {
                    let shown = ahead(&declared.name, of.clone(), &portal.parameters)?;
                    client.portal_store().put_portal(Arc::new(shown));
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

/// Bytes of a row that is sent at once.
const LONG_ROW_BYTES: usize = 16 << 10;
/// The number of values of an array that is a parameter: each is an expression of several hundred bytes.
const LIST_VALUES_MAX: usize = 200_000;
/// Notices that a statement is followed by; the rest is counted.
const NOTICES_MAX: usize = 20;
