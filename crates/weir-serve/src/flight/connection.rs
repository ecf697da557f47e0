//! One connection: its requests, and what it keeps between them.

use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::ipc::writer::IpcWriteOptions;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_server::FlightService;
use arrow_flight::sql::server::{FlightSqlService, PeekableFlightDataStream};
use arrow_flight::sql::{
    ActionCancelQueryRequest, ActionCancelQueryResult, ActionClosePreparedStatementRequest,
    ActionCreatePreparedStatementRequest, ActionCreatePreparedStatementResult, Any,
    CommandGetCatalogs, CommandGetCrossReference, CommandGetDbSchemas, CommandGetExportedKeys,
    CommandGetImportedKeys, CommandGetPrimaryKeys, CommandGetSqlInfo, CommandGetTableTypes,
    CommandGetTables, CommandGetXdbcTypeInfo, CommandPreparedStatementQuery,
    CommandPreparedStatementUpdate, CommandStatementQuery, CommandStatementUpdate,
    DoPutPreparedStatementResult, ProstMessageExt, SqlInfo, TicketStatementQuery,
};
use arrow_flight::{
    Action, ActionType, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus,
    FlightDescriptor, FlightEndpoint, FlightInfo, HandshakeRequest, HandshakeResponse, IpcMessage,
    SchemaAsIpc, Ticket,
};
use async_trait::async_trait;
use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use prost::Message;
use tonic::{Request, Response, Status, Streaming};
use weir_engine::Statement;

use super::bitmaps::Layout;
use super::flow::{self, FlightStream, Flow};
use super::lists;
use super::parameter;
use super::prepared::{ParameterRows, Prepared, Shelf, Values};
use super::status::{refused, too_long};
use super::ticket::{StatementTicket, What};
use crate::activity::ConnectionActivity;
use crate::columns::Columns;
use crate::deadline::Deadline;
use crate::error::{Failure, FailureKind};
use crate::retained::{Retained, Retention, of_statement, of_values};
use crate::session::{Session, counted};
use crate::shared::{Metrics, Shared};

/// One connection.
pub(super) struct FlightConnection {
    shared: Arc<Shared>,
    columns: Arc<Columns>,
    /// The bearer token of clients that have shown the password.
    bearer: String,
    /// Views and settings: each statement has an engine of its own, which begins with them.
    kept: Mutex<Vec<Statement>>,
    shelf: Shelf,
    /// The memory that this connection holds between its calls.
    retention: Arc<Retention>,
    /// Counts the statements in `kept`.
    retained: Mutex<Vec<Retained>>,
    /// The activity of the connection.
    activity: Arc<ConnectionActivity>,
}

/// The outcome of a text before it runs.
struct Outlook {
    schema: SchemaRef,
    parameters: Vec<Option<DataType>>,
    /// The statement has an effect and no rows.
    is_effect: bool,
}

impl FlightConnection {
    pub(super) fn new(
        shared: &Arc<Shared>,
        columns: &Arc<Columns>,
        bearer: String,
        activity: &Arc<ConnectionActivity>,
    ) -> Self {
        Self {
            shared: Arc::clone(shared),
            columns: Arc::clone(columns),
            bearer,
            kept: Mutex::default(),
            shelf: Shelf::default(),
            retention: Retention::of_one(&shared.retention),
            retained: Mutex::default(),
            activity: Arc::clone(activity),
        }
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Statement>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deadline(&self) -> Deadline {
        Deadline::new(&self.shared.options.limits, None)
    }

    /// An engine that knows what the connection keeps.
    async fn session(&self) -> Result<Session, Failure> {
        let session = Session::new(&self.shared)?.of_connection(&self.activity);
        let kept = self.kept().clone();
        session.take_up(kept).await?;
        Ok(session)
    }

    /// Does statements that only have effects, and keeps them for those that follow.
    async fn keep(
        &self,
        session: &Session,
        statements: Vec<Statement>,
        text: &str,
    ) -> Result<(), Failure> {
        for statement in &statements {
            if !self.shared.options.allow_write {
                statement.read_only()?;
            }
            if !may_be_kept(statement) {
                let message = "a table of a session is not kept over Flight SQL";
                return Err(Failure::new(FailureKind::Refused, message)
                    .with_hint("CREATE VIEW is, and COPY … TO writes a file"));
            }
            session.run(statement.clone()).await?;
        }
        let mut kept = self.kept();
        if kept.len() + statements.len() > KEPT_MAX {
            let message = format!("a connection keeps {KEPT_MAX} views and settings at most");
            return Err(Failure::new(FailureKind::Limit, message).with_hint("reconnect"));
        }
        let retained = self.retention.add(of_statement(text, 0))?;
        kept.extend(statements);
        let mut all = self.retained.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(retained);
        Ok(())
    }

    /// Starts what a ticket asks for; `None` when it has no rows and is done.
    async fn begin(
        &self,
        text: &str,
        rows: Arc<ParameterRows>,
        name: Option<String>,
    ) -> Result<Option<Flow>, Failure> {
        let deadline = self.deadline();
        let session = deadline.within(self.session()).await??;
        let _load = session.load_bound(text, rows.get(0)).await?;
        let mut statements = session.parse(text)?;
        if !statements.is_empty() && !statements.iter().any(Statement::gives_rows) {
            let kept = self.keep(&session, statements, text);
            deadline.within(kept).await??;
            return Ok(None);
        }
        let before = session.run_all_but_last(&mut statements);
        let last = deadline.within(before).await??;
        Flow::start(session, last, rows, name, deadline)
            .await
            .map(Some)
    }

    /// Starts what a ticket asks for.
    async fn statement_rows(&self, ticket: StatementTicket) -> Result<FlightStream, Failure> {
        let (text, rows) = match ticket.what {
            What::Text(text) => (text, Arc::default()),
            What::Prepared(handle) => {
                let prepared = self.shelf.get(&handle)?;
                (prepared.text.clone(), prepared.rows())
            }
            What::Done => return Ok(flow::nothing()),
        };
        let flow = self.begin(&text, rows, Some(ticket.name)).await?;
        Ok(flow.map_or_else(flow::nothing, Flow::stream))
    }

    /// Runs a statement with an effect, and returns the number of rows that were written; -1 if it is unknown.
    async fn update(&self, text: &str, rows: Arc<ParameterRows>) -> Result<i64, Failure> {
        let is_copy = {
            let session = Session::new(&self.shared)?;
            let _load = session.load(text).await?;
            let statements = session.parse(text)?;
            let last = statements.last().map(Statement::parsed);
            matches!(last, Some(DfStatement::CopyTo(_)))
        };
        let Some(mut flow) = self.begin(text, rows, None).await? else {
            return Ok(0);
        };
        let mut count = 0_u64;
        while let Some(batch) = flow.next().await? {
            count = count.saturating_add(counted(&batch));
        }
        match is_copy {
            true => Ok(i64::try_from(count).unwrap_or(i64::MAX)),
            false => Ok(-1),
        }
    }

    /// Says what a text would answer with. The text is not executed, except for its views and settings.
    async fn outlook(&self, text: &str, rows: &ParameterRows) -> Result<Outlook, Failure> {
        let deadline = self.deadline();
        let session = deadline.within(self.session()).await??;
        let typed = rows.typed();
        let values = typed.as_deref().unwrap_or_else(|| rows.get(0));
        let _load = session.load_bound(text, values).await?;
        let mut statements = session.parse(text)?;
        let none = Outlook {
            schema: Arc::new(Schema::empty()),
            parameters: Vec::new(),
            is_effect: true,
        };
        if !statements.is_empty() && !statements.iter().any(Statement::gives_rows) {
            return Ok(none);
        }
        let last = statements.pop();
        statements.retain(|statement| !statement.gives_rows());
        statements.extend(last);
        let before = session.run_all_but_last(&mut statements);
        let mut last = deadline.within(before).await??;
        if !last.gives_rows() {
            return Ok(none);
        }
        if !values.is_empty() {
            last = last.bind(values)?;
        } else if let Some(missing) = last.missing_parameter(0) {
            return Err(Failure::untyped_parameter(missing));
        }
        let described = deadline.within(session.describe(last)).await??;
        Ok(Outlook {
            schema: flow::plain_schema(&described.schema),
            parameters: described.parameters,
            is_effect: false,
        })
    }

    /// The FlightInfo of a statement. A statement without rows runs now: clients fetch in the background, and send
    /// meanwhile the statements that build on it.
    async fn info(
        &self,
        text: &str,
        rows: Arc<ParameterRows>,
        what: What,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let outlook = self.outlook(text, &rows).await.map_err(sent)?;
        let ticket = match outlook.is_effect {
            true => {
                self.update(text, rows).await.map_err(sent)?;
                StatementTicket::new(What::Done)
            }
            false => StatementTicket::new(what),
        };
        let ticket = ticket.map_err(sent)?;
        let ticket = TicketStatementQuery {
            statement_handle: ticket.bytes().into(),
        };
        info(&ticket, &outlook.schema, request)
    }

    /// Binds the parameters that a client sends to a statement.
    async fn bind(
        &self,
        prepared: &Prepared,
        stream: PeekableFlightDataStream,
    ) -> Result<(), Status> {
        let most = self.shared.options.limits.text_bytes_max;
        let (mut rows, retained) =
            rows_of(stream, most, &self.retention, &self.shared.metrics).await?;
        if parameter::has_decimals(&rows) {
            let one = ParameterRows::one_of(&rows);
            let planned = self.outlook(&prepared.text, &one).await;
            // Some arguments of functions are floating-point numbers only.
            if planned.is_err_and(|failure| failure.kind == FailureKind::Plan) {
                parameter::round_decimals(&mut rows);
            }
        }
        prepared.bind(rows, retained).map_err(sent)
    }

    /// Ends the statement that was requested by one of these tickets; false when none of them runs.
    fn cancel(&self, info: Option<FlightInfo>) -> Result<bool, Failure> {
        let mut is_found = false;
        for endpoint in info.unwrap_or_default().endpoint {
            let ticket = endpoint.ticket.unwrap_or_default().ticket;
            let any = Any::decode(ticket).ok();
            let query = any.and_then(|any| any.unpack::<TicketStatementQuery>().ok().flatten());
            let Some(query) = query else {
                continue;
            };
            let ticket = StatementTicket::read(&query.statement_handle)?;
            let running = self.shared.running().get(&ticket.name).cloned();
            if let Some(running) = running {
                running.end.notify_one();
                is_found = true;
            }
        }
        Ok(is_found)
    }
}

/// Whether a statement is what an engine that begins anew can do again: views, settings and prepared texts.
fn may_be_kept(statement: &Statement) -> bool {
    match statement.parsed() {
        DfStatement::Statement(statement) => !matches!(
            statement.as_ref(),
            // SELECT … INTO is a query that makes a table.
            ast::Statement::CreateTable { .. } | ast::Statement::Query(_)
        ),
        _ => false,
    }
}

fn info<M: ProstMessageExt>(
    ticket: &M,
    schema: &Schema,
    request: Request<FlightDescriptor>,
) -> Result<Response<FlightInfo>, Status> {
    let ticket = Ticket::new(ticket.as_any().encode_to_vec());
    let info = FlightInfo::new()
        .try_with_schema(schema)
        .map_err(|error| Status::internal(error.to_string()))?
        .with_endpoint(FlightEndpoint::new().with_ticket(ticket))
        .with_descriptor(request.into_inner())
        .with_ordered(true);
    Ok(Response::new(info))
}

/// Columns as the bytes of a message.
pub(super) fn bytes_of(schema: &Schema) -> Result<bytes::Bytes, Status> {
    let options = IpcWriteOptions::default();
    let message = IpcMessage::try_from(SchemaAsIpc::new(schema, &options));
    let IpcMessage(bytes) = message.map_err(|error| Status::internal(error.to_string()))?;
    Ok(bytes)
}

fn sent(failure: Failure) -> Status {
    refused(&failure)
}

fn listed(batch: Result<RecordBatch, FlightError>) -> Result<Response<FlightStream>, Status> {
    Ok(Response::new(flow::whole(batch?)))
}

/// The parameters that a client binds (DoPut), a row of values for each execution.
///
/// # Errors
/// When the stream is not Arrow data of values, or has too many of them.
async fn rows_of(
    stream: PeekableFlightDataStream,
    most: usize,
    retention: &Arc<Retention>,
    metrics: &Metrics,
) -> Result<(Vec<Values>, Retained), Status> {
    let mut layout = Layout::default();
    let messages = stream
        .and_then(move |data| ready(parameter::checked(&mut layout, data)))
        .map_err(|status| FlightError::Tonic(Box::new(status)));
    let mut batches = FlightRecordBatchStream::new_from_flight_data(messages);
    let mut rows = Vec::new();
    let mut arrived = 0_usize;
    let (mut values, mut bytes) = (0_usize, 0_usize);
    let mut retained = retention.add(of_values(0, 0)).map_err(sent)?;
    let panicked = || {
        Metrics::add(&metrics.panics, 1);
        Status::invalid_argument("the parameter values are malformed Arrow data")
    };
    loop {
        // Arrow's reader trusts lengths in messages; a panic of it ends this call only.
        let next = AssertUnwindSafe(batches.next()).catch_unwind().await;
        let next = next.map_err(|_| panicked())?;
        let Some(batch) = next else {
            return Ok((rows, retained));
        };
        let batch = batch.map_err(|error| match error {
            FlightError::Tonic(status) if status.code() == tonic::Code::OutOfRange => {
                too_long(most)
            }
            FlightError::Tonic(status) => *status,
            error => Status::invalid_argument(format!(
                "the parameter values are malformed Arrow data: {error}"
            )),
        })?;
        arrived = arrived.saturating_add(batch.get_array_memory_size());
        let count = rows.len() + batch.num_rows();
        if count > ROWS_MAX || arrived > most.saturating_mul(4) {
            let message = format!("a statement runs with {ROWS_MAX} rows of values at most");
            return Err(Status::resource_exhausted(message));
        }
        let size = catch_unwind(AssertUnwindSafe(|| parameter::size(&batch)));
        let size = size.map_err(|_| panicked())?;
        values = values.saturating_add(size.0);
        bytes = bytes.saturating_add(size.1);
        // The values of the batches before are counted again with these.
        drop(retained);
        retained = retention.add(of_values(values, bytes)).map_err(sent)?;
        let made = catch_unwind(AssertUnwindSafe(|| parameter::rows(&batch)));
        rows.extend(made.map_err(|_| panicked())?.map_err(sent)?);
    }
}

type Got = Result<Response<FlightStream>, Status>;
type Info = Result<Response<FlightInfo>, Status>;

#[async_trait]
impl FlightSqlService for FlightConnection {
    type FlightService = Self;

    async fn do_handshake(
        &self,
        _request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<<Self as FlightService>::HandshakeStream>, Status> {
        // The password of a client that has come this far was right.
        let handshake = HandshakeResponse {
            protocol_version: 0,
            payload: self.bearer.clone().into(),
        };
        let handshakes: <Self as FlightService>::HandshakeStream =
            Box::pin(stream::iter([Ok(handshake)]));
        let mut response = Response::new(handshakes);
        let bearer = format!("Bearer {}", self.bearer).parse();
        let bearer =
            bearer.map_err(|_| Status::internal("the token is not a valid value of a header"))?;
        response.metadata_mut().insert("authorization", bearer);
        Ok(response)
    }

    async fn get_flight_info_statement(
        &self,
        query: CommandStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Info {
        let what = What::Text(query.query.clone());
        self.info(&query.query, Arc::default(), what, request).await
    }

    async fn get_flight_info_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Info {
        let handle = String::from_utf8_lossy(&query.prepared_statement_handle).into_owned();
        let prepared = self.shelf.get(&handle).map_err(sent)?;
        let what = What::Prepared(handle);
        self.info(&prepared.text, prepared.rows(), what, request)
            .await
    }

    async fn do_get_statement(&self, ticket: TicketStatementQuery, _: Request<Ticket>) -> Got {
        let ticket = StatementTicket::read(&ticket.statement_handle).map_err(sent)?;
        let stream = self.statement_rows(ticket).await.map_err(sent)?;
        Ok(Response::new(stream))
    }

    async fn do_get_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        _: Request<Ticket>,
    ) -> Got {
        let handle = String::from_utf8_lossy(&query.prepared_statement_handle).into_owned();
        let ticket = StatementTicket::new(What::Prepared(handle)).map_err(sent)?;
        let stream = self.statement_rows(ticket).await.map_err(sent)?;
        Ok(Response::new(stream))
    }

    async fn do_put_statement_update(
        &self,
        query: CommandStatementUpdate,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        let updated = self.update(&query.query, Arc::default()).await;
        updated.map_err(sent)
    }

    async fn do_put_prepared_statement_query(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<DoPutPreparedStatementResult, Status> {
        let handle = String::from_utf8_lossy(&query.prepared_statement_handle).into_owned();
        let prepared = self.shelf.get(&handle).map_err(sent)?;
        self.bind(&prepared, request.into_inner()).await?;
        Ok(DoPutPreparedStatementResult {
            prepared_statement_handle: Some(query.prepared_statement_handle),
        })
    }

    async fn do_put_prepared_statement_update(
        &self,
        query: CommandPreparedStatementUpdate,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        let handle = String::from_utf8_lossy(&query.prepared_statement_handle).into_owned();
        let prepared = self.shelf.get(&handle).map_err(sent)?;
        // Without parameters the message has a command and no rows.
        if prepared.parameters > 0 {
            self.bind(&prepared, request.into_inner()).await?;
        }
        let updated = self.update(&prepared.text, prepared.rows()).await;
        updated.map_err(sent)
    }

    async fn do_action_create_prepared_statement(
        &self,
        query: ActionCreatePreparedStatementRequest,
        _: Request<Action>,
    ) -> Result<ActionCreatePreparedStatementResult, Status> {
        let outlook = self
            .outlook(&query.query, &ParameterRows::default())
            .await
            .map_err(sent)?;
        let count = outlook.parameters.len();
        let bytes = of_statement(&query.query, 0);
        let retained = self.retention.add(bytes).map_err(sent)?;
        let handle = self.shelf.add(query.query, count, retained);
        let handle = handle.map_err(sent)?;
        Ok(ActionCreatePreparedStatementResult {
            prepared_statement_handle: handle.into(),
            dataset_schema: bytes_of(&outlook.schema)?,
            parameter_schema: bytes_of(&parameter::schema(&outlook.parameters))?,
        })
    }

    async fn do_action_close_prepared_statement(
        &self,
        query: ActionClosePreparedStatementRequest,
        _: Request<Action>,
    ) -> Result<(), Status> {
        let handle = String::from_utf8_lossy(&query.prepared_statement_handle);
        self.shelf.remove(&handle);
        Ok(())
    }

    async fn do_action_cancel_query(
        &self,
        query: ActionCancelQueryRequest,
        _: Request<Action>,
    ) -> Result<ActionCancelQueryResult, Status> {
        let info = FlightInfo::decode(query.info);
        let info = info.map_err(|error| Status::invalid_argument(error.to_string()))?;
        let is_found = self.cancel(Some(info)).map_err(sent)?;
        // The numbers of both messages are the same.
        Ok(ActionCancelQueryResult {
            result: cancelled(is_found) as i32,
        })
    }

    async fn do_action_fallback(
        &self,
        request: Request<Action>,
    ) -> Result<Response<<Self as FlightService>::DoActionStream>, Status> {
        let action = request.into_inner();
        if action.r#type != CANCEL {
            let message = format!("this server does not support {:?}", action.r#type);
            return Err(Status::unimplemented(message));
        }
        let request = CancelFlightInfoRequest::decode(action.body);
        let request = request.map_err(|error| Status::invalid_argument(error.to_string()))?;
        let is_found = self.cancel(request.info).map_err(sent)?;
        let result = CancelFlightInfoResult::new(cancelled(is_found));
        let result = arrow_flight::Result::new(result.encode_to_vec());
        Ok(Response::new(Box::pin(stream::iter([Ok(result)]))))
    }

    async fn list_custom_actions(&self) -> Option<Vec<Result<ActionType, Status>>> {
        Some(vec![Ok(ActionType {
            r#type: CANCEL.to_owned(),
            description: "Ends a statement.\n\
                Request Message: CancelFlightInfoRequest\n\
                Response Message: CancelFlightInfoResult"
                .to_owned(),
        })])
    }

    async fn get_flight_info_sql_info(
        &self,
        query: CommandGetSqlInfo,
        request: Request<FlightDescriptor>,
    ) -> Info {
        let infos = lists::sql_info(&self.shared.options)?;
        info(&query, &infos.schema(), request)
    }

    async fn do_get_sql_info(&self, mut query: CommandGetSqlInfo, _: Request<Ticket>) -> Got {
        query.info.sort_unstable();
        query.info.dedup();
        // Other infos are unknown, and a request for them gets an empty list.
        let wants_all = query.info.is_empty();
        query.info.retain(|number| *number <= SQL_INFO_MAX);
        let infos = lists::sql_info(&self.shared.options)?;
        if query.info.is_empty() && !wants_all {
            return listed(Ok(RecordBatch::new_empty(infos.schema())));
        }
        listed(query.into_builder(&infos).build())
    }

    async fn get_flight_info_catalogs(
        &self,
        query: CommandGetCatalogs,
        request: Request<FlightDescriptor>,
    ) -> Info {
        info(&query, &lists::catalogs(query).schema(), request)
    }

    async fn do_get_catalogs(&self, query: CommandGetCatalogs, _: Request<Ticket>) -> Got {
        listed(lists::catalogs(query).build())
    }

    async fn get_flight_info_schemas(
        &self,
        query: CommandGetDbSchemas,
        request: Request<FlightDescriptor>,
    ) -> Info {
        let schema = lists::schemas(query.clone()).schema();
        info(&query, &schema, request)
    }

    async fn do_get_schemas(&self, query: CommandGetDbSchemas, _: Request<Ticket>) -> Got {
        lists::check_patterns([&query.db_schema_filter_pattern])?;
        listed(lists::schemas(query).build())
    }

    async fn get_flight_info_tables(
        &self,
        query: CommandGetTables,
        request: Request<FlightDescriptor>,
    ) -> Info {
        let schema = lists::tables_builder(query.clone()).schema();
        info(&query, &schema, request)
    }

    async fn do_get_tables(&self, query: CommandGetTables, _: Request<Ticket>) -> Got {
        let patterns = [
            &query.db_schema_filter_pattern,
            &query.table_name_filter_pattern,
        ];
        lists::check_patterns(patterns)?;
        Ok(Response::new(lists::tables(&self.columns, query)))
    }

    async fn get_flight_info_table_types(
        &self,
        query: CommandGetTableTypes,
        request: Request<FlightDescriptor>,
    ) -> Info {
        info(&query, &query.into_builder().schema(), request)
    }

    async fn do_get_table_types(&self, query: CommandGetTableTypes, _: Request<Ticket>) -> Got {
        let mut builder = query.into_builder();
        builder.append(lists::TABLE);
        listed(builder.build())
    }

    async fn get_flight_info_xdbc_type_info(
        &self,
        query: CommandGetXdbcTypeInfo,
        request: Request<FlightDescriptor>,
    ) -> Info {
        info(&query, &lists::types()?.schema(), request)
    }

    async fn do_get_xdbc_type_info(
        &self,
        query: CommandGetXdbcTypeInfo,
        _: Request<Ticket>,
    ) -> Got {
        let types = lists::types()?;
        listed(query.into_builder(&types).build())
    }

    async fn get_flight_info_primary_keys(
        &self,
        query: CommandGetPrimaryKeys,
        request: Request<FlightDescriptor>,
    ) -> Info {
        info(&query, &lists::primary_keys().schema(), request)
    }

    async fn do_get_primary_keys(&self, _: CommandGetPrimaryKeys, _: Request<Ticket>) -> Got {
        listed(Ok(lists::primary_keys()))
    }

    async fn get_flight_info_exported_keys(
        &self,
        query: CommandGetExportedKeys,
        request: Request<FlightDescriptor>,
    ) -> Info {
        info(&query, &lists::foreign_keys().schema(), request)
    }

    async fn do_get_exported_keys(&self, _: CommandGetExportedKeys, _: Request<Ticket>) -> Got {
        listed(Ok(lists::foreign_keys()))
    }

    async fn get_flight_info_imported_keys(
        &self,
        query: CommandGetImportedKeys,
        request: Request<FlightDescriptor>,
    ) -> Info {
        info(&query, &lists::foreign_keys().schema(), request)
    }

    async fn do_get_imported_keys(&self, _: CommandGetImportedKeys, _: Request<Ticket>) -> Got {
        listed(Ok(lists::foreign_keys()))
    }

    async fn get_flight_info_cross_reference(
        &self,
        query: CommandGetCrossReference,
        request: Request<FlightDescriptor>,
    ) -> Info {
        info(&query, &lists::foreign_keys().schema(), request)
    }

    async fn do_get_cross_reference(&self, _: CommandGetCrossReference, _: Request<Ticket>) -> Got {
        listed(Ok(lists::foreign_keys()))
    }

    async fn register_sql_info(&self, _id: i32, _result: &SqlInfo) {}
}

const fn cancelled(is_found: bool) -> CancelStatus {
    match is_found {
        true => CancelStatus::Cancelled,
        false => CancelStatus::NotCancellable,
    }
}

/// The action that ends a statement.
const CANCEL: &str = "CancelFlightInfo";
/// Rows of values that a statement runs with.
const ROWS_MAX: usize = 10_000;
const KEPT_MAX: usize = 100;
/// The last of the numbers that `GetSqlInfo` has names for.
const SQL_INFO_MAX: u32 = 600;
