//! Statements of one connection, simple and prepared.

mod copy;
mod cursors;
mod messages;
mod names;

use std::fmt::Debug;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow::datatypes::DataType;
use futures::sink::{Sink, SinkExt};
use futures::{StreamExt, stream};
use pgwire::api::portal::{Format, Portal, PortalExecutionState};
use pgwire::api::results::{FieldFormat, FieldInfo, QueryResponse, Tag};
use pgwire::api::store::PortalStore;
use pgwire::api::{ClientInfo, ConnectionHandle, Type};
use pgwire::error::{PgWireError, PgWireResult};
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::data::{DataRow, FieldDescription, RowDescription};
use pgwire::messages::extendedquery::PortalSuspended;
use pgwire::messages::response::{CommandComplete, EmptyQueryResponse, NoticeResponse};
use tokio::sync::OwnedSemaphorePermit;
use weir_engine::{Condition, Parameter, Statement, quote_literal};

use self::cursors::ahead;
use self::names::Names;
use super::client::Client;
use super::configured::{Configured, check_has_none, configured};
use super::cursor::{self, Cursors};
use super::encode::{self, Encoder, Style};
use super::error::{error_response, given_name, may_run, pg_error, refusal};
use super::parameter::{decimal, parameter};
use super::prepare::{Prepared, PreparedAction, copied, no_cursor};
use super::route::{RoutedStatement, Setting, counted, parts};
use super::setting;
use crate::catalog::TIME_ZONE;
use crate::error::{Failure, FailureKind};
use crate::retained::check_list;
use crate::session::{Answer, STATEMENTS_MAX, Session, too_many_statements};

/// One connection.
pub(super) struct PgConnection {
    session: Arc<Session>,
    /// Notices that are sent before the statement at work is complete.
    notices: Arc<Mutex<Vec<String>>>,
    /// The time zone of the session.
    zone: Mutex<String>,
    cursors: Cursors,
    /// The names of prepared statements and of portals.
    statements: Names,
    portals: Names,
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
            zone: Mutex::new(TIME_ZONE.to_owned()),
            cursors: Cursors::default(),
            statements: Names::default(),
            portals: Names::default(),
        }
    }

    /// The rows of an answer, one by one; notices about them are kept for the end.
    fn rows(&self, answer: Answer, fields: &Arc<Vec<FieldInfo>>, style: Style) -> QueryResponse {
        let encoder = Encoder::new(Arc::clone(fields), style);
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
        if setting::wants_errors_only(client) {
            notices.clear();
        }
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
            Setting::Show(name) => {
                let is_read_only = !self.session.shared.options.allow_write;
                let shown = setting::show(client, name, is_read_only)?;
                return Ok(Some(shown.rows()));
            }
            Setting::Set {
                name,
                value,
                is_local,
            } => {
                setting::set(client, name, value.as_deref(), *is_local).await?;
                Tag::new("SET")
            }
            Setting::Reset(name) => {
                match name {
                    Some(name) => setting::set(client, name, None, false).await?,
                    None => setting::reset_all(client).await?,
                }
                Tag::new("RESET")
            }
            Setting::Begin => setting::begin(client).await?,
            Setting::Savepoint(name) => setting::savepoint(client, name)?,
            Setting::Release(name) => setting::release(client, name)?,
            Setting::RollbackTo(name) => setting::roll_back_to(client, name).await?,
            Setting::Commit | Setting::Rollback => {
                self.cursors.end_transaction();
                setting::end(client, *setting == Setting::Commit).await?
            }
        };
        self.follow_settings(client).await?;
        self.complete(client, tag).await?;
        Ok(None)
    }

    /// Brings the session to the settings that the client has set.
    async fn follow_settings<C: ClientInfo>(&self, client: &C) -> PgWireResult<()> {
        self.session.settings.set(setting::all(client));
        let zone = setting::zone(client);
        if *self.zone.lock().unwrap_or_else(PoisonError::into_inner) == zone {
            return Ok(());
        }
        let set = format!("SET TIME ZONE {}", quote_literal(&zone));
        let statements = Statement::parse(&set).map_err(Failure::from);
        let statements = statements.map_err(|failure| pg_error(&failure))?;
        let taken = self.session.take_up(statements).await;
        taken.map_err(|failure| pg_error(&failure))?;
        *self.zone.lock().unwrap_or_else(PoisonError::into_inner) = zone;
        Ok(())
    }

    /// Answers a simple query, or one statement of it: the statements of a text are a transaction of their own outside of others.
    async fn simple<C: Client>(
        &self,
        client: &mut C,
        sql: &str,
        is_among_others: bool,
    ) -> PgWireResult<()>
    where
        C::PortalStore: PortalStore,
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let loaded = self.session.load(sql).await;
        let mut load = loaded.map_err(|failure| pg_error(&failure))?;
        if cursor::may_be_of_cursors(sql) {
            let (parts, _) = weir_engine::statements(sql);
            let parts: Vec<&str> = parts.into_iter().filter_map(|part| sql.get(part)).collect();
            let is_of_cursors = match parts.len() {
                0 | 1 => false,
                2..=STATEMENTS_MAX => parts.iter().any(|part| cursor::parsed(part).is_some()),
                _ => return Err(pg_error(&too_many_statements())),
            };
            if !is_of_cursors && let Some(parsed) = cursor::parsed(sql) {
                may_run(client)?;
                // The query of a cursor waits for its own.
                drop(load);
                let parsed = parsed.map_err(|failure| pg_error(&failure))?;
                return self.simple_cursor(client, parsed, is_among_others).await;
            }
            if is_of_cursors {
                drop(load);
                for part in parts {
                    Box::pin(self.simple(client, part, true)).await?;
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
                RoutedStatement::Deallocate(statement, name) => {
                    may_run(client)?;
                    self.deallocate(client, statement, name.as_deref()).await?;
                }
                RoutedStatement::Discard => {
                    may_run(client)?;
                    self.discard(client).await?;
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
        check_has_none(&statement).map_err(|failure| pg_error(&failure))?;
        let count = self.session.count(statement).await;
        let count = count.map_err(|failure| pg_error(&failure))?;
        Ok(tag.with_rows(usize::try_from(count).unwrap_or(usize::MAX)))
    }

    /// Runs a statement and discards its rows.
    async fn run(&self, statement: Statement) -> PgWireResult<()> {
        check_has_none(&statement).map_err(|failure| pg_error(&failure))?;
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
        let configured = checked(client, &statement)?;
        let answer = self
            .session
            .start(statement)
            .await
            .map_err(|failure| pg_error(&failure))?;
        drop(load);
        self.configure(client, configured).await?;
        let fields = encode::fields(&answer.schema, &answer.origins, &Format::UnifiedText);
        let rows = self.rows(answer, &Arc::new(fields), setting::style(client));
        self.send_rows(client, rows).await
    }

    /// Sets what a statement has set by `set_config`.
    async fn configure<C: Client>(
        &self,
        client: &mut C,
        configured: Vec<Configured>,
    ) -> PgWireResult<()>
    where
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        for set in configured {
            // Outside of a transaction it ends with the statement.
            if !set.is_local || setting::is_in_transaction(client) {
                setting::set(client, &set.name, set.value.as_deref(), set.is_local).await?;
                self.follow_settings(client).await?;
            }
        }
        Ok(())
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
            PreparedAction::Setting(setting) => return self.apply_setting(client, setting).await,
            PreparedAction::Declare(declared, of) => {
                may_run(client)?;
                let mut of = of.clone();
                // The values of the portal are held as long as the cursor.
                of.retained.extend(prepared.retained.iter().cloned());
                let mut ahead = ahead(&declared.name, of, &portal.parameters)?;
                ahead.parameter_format = portal.parameter_format.clone();
                self.declare(client, declared, ahead, false).await?;
            }
            // `execute` fetches: what is begun here is what a cursor goes over.
            PreparedAction::Fetch(_) => return Err(pg_error(&no_cursor())),
            PreparedAction::Close(name) => {
                may_run(client)?;
                self.close(client, name.as_deref()).await?;
            }
            PreparedAction::Deallocate(statement, name) => {
                may_run(client)?;
                self.deallocate(client, statement.clone(), name.as_deref())
                    .await?;
            }
            PreparedAction::Discard => {
                may_run(client)?;
                self.discard(client).await?;
            }
            PreparedAction::Engine(statement) => {
                may_run(client)?;
                return self.begin_statement(client, portal, statement).await;
            }
        }
        Ok(None)
    }

    /// Starts a statement of the engine with the values of a portal.
    async fn begin_statement<C: Client>(
        &self,
        client: &mut C,
        portal: &Portal<Prepared>,
        statement: &Statement,
    ) -> PgWireResult<Option<QueryResponse>>
    where
        C::Error: Debug,
        PgWireError: From<<C as Sink<PgWireBackendMessage>>::Error>,
    {
        let load = self.session.load_values(&portal.parameters).await;
        let load = load.map_err(|failure| pg_error(&failure))?;
        let statement = match &load {
            // The connections of this thread go on meanwhile.
            Some(_) => tokio::task::block_in_place(|| bound(statement, portal))?,
            None => bound(statement, portal)?,
        };
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
        let configured = checked(client, &statement)?;
        let answer = self.session.start(statement).await;
        let answer = answer.map_err(|failure| pg_error(&failure))?;
        self.configure(client, configured).await?;
        let fields = encode::fields(
            &answer.schema,
            &answer.origins,
            &portal.result_column_format,
        );
        // NULL is a value of every type.
        let is_null = |index: usize| *answer.schema.field(index).data_type() == DataType::Null;
        check_described(&fields, portal.statement.statement.fields(), is_null)?;
        let fields = Arc::new(fields);
        Ok(Some(self.rows(answer, &fields, setting::style(client))))
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
            if !fetched.is_move {
                let fields = self.cursors.fields(&fetched.name)?;
                check_described(&fields, portal.statement.statement.fields(), |_| false)?;
            }
            let format = &portal.result_column_format;
            return self.fetch(client, fetched, format, false).await;
        }
        let state = portal.state();
        let mut state = state.lock().await;
        let begun = match std::mem::replace(&mut *state, PortalExecutionState::Finished) {
            PortalExecutionState::Initial => self.begin(client, portal).await?,
            PortalExecutionState::Suspended(rows) => Some(rows),
            PortalExecutionState::Finished => {
                if portal.statement.statement.runs_once() {
                    may_run(client)?;
                    let name = given_name(&portal.name);
                    let message = format!("portal \"{name}\" cannot be run");
                    return Err(refusal("55000", message));
                }
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

/// What a statement sets by `set_config`.
///
/// # Errors
/// When a setting cannot have its value.
fn checked<C: ClientInfo>(client: &C, statement: &Statement) -> PgWireResult<Vec<Configured>> {
    let all = configured(statement).map_err(|failure| pg_error(&failure))?;
    for set in &all {
        setting::checked(client, &set.name, set.value.as_deref())?;
    }
    Ok(all)
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
    let mut values = Vec::with_capacity(prepared.parameters.len());
    for (index, kind) in prepared.parameters.iter().enumerate() {
        let bytes = portal.parameters.get(index).and_then(Option::as_deref);
        let format = encode::format_of(&portal.parameter_format, index);
        let is_binary = format == FieldFormat::Binary;
        let value = match prepared.decimals.contains(&index) {
            true => decimal(bytes, is_binary),
            false => parameter(bytes, kind, is_binary),
        };
        let value = value.map_err(|failure| pg_error(&failure))?;
        if let Parameter::List(values) = &value {
            check_list(values.len()).map_err(|failure| pg_error(&failure))?;
        }
        values.push(((index + 1).to_string(), value));
    }
    let bound = statement.clone().bind(&values);
    bound.map_err(|error| pg_error(&Failure::from(error)))
}

/// Checks that rows are those that were described to the client.
fn check_described(
    fields: &[FieldInfo],
    described: &[FieldInfo],
    is_null: impl Fn(usize) -> bool,
) -> PgWireResult<()> {
    let mut pairs = fields.iter().zip(described).enumerate();
    let is_same = |(index, (one, other)): (usize, (&FieldInfo, &FieldInfo))| {
        one.datatype() == other.datatype() || is_null(index)
    };
    if fields.len() == described.len() && pairs.all(is_same) {
        return Ok(());
    }
    let message = "cached plan must not change result type";
    let hint = "prepare it again, or give the parameters types: $1::bigint";
    Err(pg_error(
        &Failure::new(FailureKind::Plan, message)
            .with_hint(hint)
            .with_condition(Condition::NotSupported),
    ))
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

/// Bytes of a row that is sent at once.
const LONG_ROW_BYTES: usize = 16 << 10;
/// Notices that a statement is followed by; the rest is counted.
const NOTICES_MAX: usize = 20;
