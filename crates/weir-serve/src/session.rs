//! The statements of one connection, at work in a process of their own or, in tests and in such a process, in this one.

use std::convert::Infallible;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{SchemaRef, UInt64Type};
use async_trait::async_trait;
use bytes::Bytes;
use datafusion::sql::parser::Statement as DfStatement;
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::StreamExt;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::JoinHandle;
use weir_engine::{Described, Engine, Parameter, ScanReport, Statement};
use weir_tables::Totals;

use crate::activity::{ConnectionActivity, RunningStatement};
use crate::begun::{Begun, begin};
use crate::catalog::{ClientSettings, asks_catalog, is_relation};
use crate::columns::{Describer, LISTED_BYTES_MAX};
use crate::deadline::Deadline;
use crate::error::{Failure, FailureKind};
use crate::retained::{Retention, of_bound, of_expression, of_statement};
use crate::session_log::{Log, SessionStatement};
use crate::shared::{Counted, Metrics, Running, Shared};
use crate::turn::{Counted as CountedRows, GiveBack, Holder, StatementKind, Turn, Unsent};
use crate::workers::{Order, Pool, Priority, Remote, StatementReports};

/// The statements of one connection.
pub(crate) struct Session {
    pub(crate) shared: Arc<Shared>,
    runs: Runs,
    /// The memory that this connection holds between its messages.
    pub(crate) retention: Arc<Retention>,
    /// The statements that have changed the session.
    log: Mutex<Log>,
    reports: Arc<StatementReports>,
    /// The settings of its client.
    pub(crate) settings: Arc<ClientSettings>,
    /// The connection of its client.
    connection: Option<Arc<ConnectionActivity>>,
}

/// The place where statements run.
enum Runs {
    Here(Arc<Engine>),
    InProcesses(Remote),
}

impl Session {
    /// A session whose statements run where the server's do.
    pub(crate) fn new(shared: &Arc<Shared>) -> Result<Self, Failure> {
        match shared.pool() {
            Some(pool) => Ok(Self::remote(shared, pool, None, false)),
            None => {
                let settings = Arc::default();
                let engine = Engine::new(&shared.engine_options(&settings))?;
                Ok(Self::of(shared, Arc::new(engine), settings))
            }
        }
    }

    /// A session that describes files for lists of them, by their beginnings.
    pub(crate) fn of_lists(shared: &Arc<Shared>) -> Result<Self, Failure> {
        if let Some(pool) = shared.pool() {
            return Ok(Self::remote(shared, pool, None, true));
        }
        let settings = Arc::default();
        let mut options = shared.engine_options(&settings);
        options.sample_bytes_max = Some(LISTED_BYTES_MAX);
        let engine = Arc::new(Engine::new(&options)?);
        Ok(Self::of(shared, engine, settings))
    }

    /// A session whose statements may write into a folder of the server, and nowhere else.
    pub(crate) fn writing_below(shared: &Arc<Shared>, folder: &Path) -> Result<Self, Failure> {
        if let Some(pool) = shared.pool() {
            let folder = Some(folder.to_path_buf());
            return Ok(Self::remote(shared, pool, folder, false));
        }
        let settings = Arc::default();
        let mut options = shared.engine_options(&settings);
        options.root = Some(folder.to_path_buf());
        options.read_only = false;
        let engine = Arc::new(Engine::new(&options)?);
        Ok(Self::of(shared, engine, settings))
    }

    fn remote(
        shared: &Arc<Shared>,
        pool: &Arc<Pool>,
        writes_below: Option<PathBuf>,
        is_of_lists: bool,
    ) -> Self {
        let reports = Arc::<StatementReports>::default();
        let settings = Arc::<ClientSettings>::default();
        let remote = Remote {
            pool: Arc::clone(pool),
            writes_below,
            is_of_lists,
            reports: Arc::clone(&reports),
            settings: Arc::clone(&settings),
        };
        Self::with(shared, Runs::InProcesses(remote), reports, settings)
    }

    /// The session of an engine that was made for it, with these settings.
    pub(crate) fn of(
        shared: &Arc<Shared>,
        engine: Arc<Engine>,
        settings: Arc<ClientSettings>,
    ) -> Self {
        let reports = StatementReports {
            report: Arc::clone(engine.scan_report()),
            ..StatementReports::default()
        };
        Self::with(shared, Runs::Here(engine), Arc::new(reports), settings)
    }

    fn with(
        shared: &Arc<Shared>,
        runs: Runs,
        reports: Arc<StatementReports>,
        settings: Arc<ClientSettings>,
    ) -> Self {
        Self {
            shared: Arc::clone(shared),
            runs,
            retention: Retention::of_one(&shared.retention),
            log: Mutex::default(),
            reports,
            settings,
            connection: None,
        }
    }

    /// Names the connection of its client: it is closed where rows that the client does not take have to make room for others.
    pub(crate) fn of_connection(mut self, connection: &Arc<ConnectionActivity>) -> Self {
        self.connection = Some(Arc::clone(connection));
        self
    }

    /// Says of the connection that a statement is at work, until what is given back is dropped.
    fn running_statement(&self) -> Option<RunningStatement> {
        self.connection.as_ref().map(ConnectionActivity::running)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The report of what its statements have read and found damaged.
    pub(crate) fn report(&self) -> &Arc<ScanReport> {
        &self.reports.report
    }

    /// Whether there are statements of PREPARE.
    pub(crate) fn has_prepared(&self) -> bool {
        self.log().has_prepared()
    }

    /// The entry of a statement in the session log, whose memory is counted from now on; `None` for one that changes nothing.
    fn entry(&self, statement: &Statement) -> Result<Option<SessionStatement>, Failure> {
        let entry = SessionStatement::of(statement, &self.retention)?;
        if entry.is_some() {
            self.log().may_take()?;
        }
        Ok(entry)
    }

    /// Brings the session to what statements have brought another to, in which they were done.
    ///
    /// # Errors
    /// When one cannot be done again.
    pub(crate) async fn take_up(&self, statements: Vec<Statement>) -> Result<(), Failure> {
        for statement in statements {
            match &self.runs {
                Runs::InProcesses(_) => {
                    if let Some(entry) = self.entry(&statement)? {
                        self.log().push(Log::next_id(), entry);
                    }
                }
                Runs::Here(_) => self.run(statement).await?,
            }
        }
        Ok(())
    }

    /// Waits until the statements of a text may be parsed and planned, which they may be until what is given back is dropped.
    ///
    /// # Errors
    /// When the time of a statement is over before, the server ends, or too many wait already.
    pub(crate) async fn load(&self, sql: &str) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        self.load_bound(sql, &[]).await
    }

    /// Waits until the statements of a text may be parsed, planned and have these values put into them.
    ///
    /// # Errors
    /// As those of [`Self::load`].
    pub(crate) async fn load_bound(
        &self,
        sql: &str,
        values: &[(String, Parameter)],
    ) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        let _running_statement = self.running_statement();
        let values = values.iter().map(|(_, value)| of_expression(value));
        let bytes = values.fold(of_statement(sql, 0), usize::saturating_add);
        let load = self.shared.room_of(bytes, sql.len()).await?;
        if let Some(connection) = &self.connection {
            connection.may_begin().await;
        }
        Ok(load)
    }

    /// Waits until these values may be put into a statement, as [`Self::load`] does for a text.
    ///
    /// # Errors
    /// As those of [`Self::load`].
    pub(crate) async fn load_values(
        &self,
        values: &[Option<Bytes>],
    ) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        let _running_statement = self.running_statement();
        let values = values.iter().flatten();
        let longest = values.clone().max_by_key(|value| value.len());
        let Some(longest) = longest else {
            return Ok(None);
        };
        // The longest may be an array, of each of whose words an expression is made, and each of the others is one.
        let bytes = values.fold(of_statement(longest, 0), |bytes, value| {
            bytes.saturating_add(of_bound(value.len()))
        });
        self.shared.room_of(bytes, longest.len()).await
    }

    /// The statements of a text, with files in the places of names that the catalog has.
    pub(crate) fn parse(&self, sql: &str) -> Result<Vec<Statement>, Failure> {
        let mut statements = self.parse_written(sql)?;
        for statement in &mut statements {
            self.name_files(statement);
        }
        Ok(statements)
    }

    /// The statements of a text as they are written.
    pub(crate) fn parse_written(&self, sql: &str) -> Result<Vec<Statement>, Failure> {
        let limit = self.shared.options.limits.text_bytes_max;
        if sql.len() > limit {
            return Err(Failure::new(
                FailureKind::Limit,
                format!(
                    "a text of {} bytes is more than --max-text allows: {limit}",
                    sql.len()
                ),
            ));
        }
        // Semicolons in values and comments do not end statements.
        let ends = sql.bytes().filter(|byte| *byte == b';').count();
        if ends > STATEMENTS_MAX && weir_engine::statements(sql).0.len() > STATEMENTS_MAX {
            return Err(too_many_statements());
        }
        match sql.len() {
            // The connections of this thread go on meanwhile.
            LONG_TEXT_BYTES.. => tokio::task::block_in_place(|| parse(sql)),
            _ => parse(sql),
        }
    }

    /// Puts files in the places of names that the catalog has.
    pub(crate) fn name_files(&self, statement: &mut Statement) {
        // Listing files is for statements that have such names.
        let names = statement.table_names();
        let is_plain = |name: &Vec<String>| name.len() == 1 && !name[0].contains('.');
        if !names.iter().all(is_plain) || statement.is_described() {
            let files = &self.shared.files;
            statement.name_files(&mut |parts| match is_relation(parts) {
                true => None,
                false => files.path_of(parts),
            });
        }
    }

    /// The description of a statement's answer.
    pub(crate) async fn describe(&self, statement: Statement) -> Result<Described, Failure> {
        match &self.runs {
            Runs::Here(engine) => {
                let engine = Arc::clone(engine);
                let described = async move { engine.describe(statement).await };
                let described = async { computing(described) };
                Ok(self.on_workers(described, None).await??)
            }
            Runs::InProcesses(remote) => {
                let order = remote.describe(&self.log(), &statement)?;
                // While it waits for its turn its text is held, and not its tree.
                drop(statement);
                let priority = Arc::clone(&order.priority);
                let described = order.described();
                self.on_workers(described, Some(priority)).await?
            }
        }
    }

    /// Plans something on the threads of statements, when it is its turn; it ends when its future is dropped.
    async fn on_workers<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
        priority: Option<Arc<Priority>>,
    ) -> Result<T, Failure> {
        let _running_statement = self.running_statement();
        let deadline = Deadline::new(&self.shared.options.limits, None);
        let connection = self.connection.as_deref();
        let kind = kind_of(priority.as_ref());
        let turn = self.shared.turn(deadline, kind, connection).await?;
        if let Some(priority) = &priority {
            priority.set_holder(turn.holder());
        }
        let _give_back = turn.give_back();
        let turns = Arc::clone(&self.shared.turns);
        let work = async move {
            let work = deadline.within(work);
            let done = stepping_aside(&turn, priority.as_deref(), work).await;
            if let (Ok(_), Some(priority)) = (&done, &priority) {
                turns.known.took(priority.name, turn.held_for());
            }
            drop(turn);
            done
        };
        let mut task = Task(self.shared.workers.spawn(work));
        (&mut task.0)
            .await
            .map_err(|error| match error.is_panic() {
                true => panicked(&self.shared),
                false => gone(),
            })?
    }

    /// Does the statements before the last, and starts that one with these values of its parameters.
    ///
    /// # Errors
    /// When there is none, or one fails.
    pub(crate) async fn start_last(
        &self,
        mut statements: Vec<Statement>,
        values: &[(String, Parameter)],
        name: Option<String>,
    ) -> Result<Answer, Failure> {
        let last = self.run_all_but_last(&mut statements).await?;
        self.start_named(last.bind(values)?, name).await
    }

    /// Does the statements before the last, which is given back.
    ///
    /// # Errors
    /// When there is none, or one fails.
    pub(crate) async fn run_all_but_last(
        &self,
        statements: &mut Vec<Statement>,
    ) -> Result<Statement, Failure> {
        let Some(last) = statements.pop() else {
            return Err(Failure::new(FailureKind::Syntax, "no statement")
                .with_hint("SELECT … FROM 'trace.pcap'"));
        };
        for statement in statements.drain(..) {
            self.run(statement).await?;
        }
        Ok(last)
    }

    /// Runs a statement and discards its rows.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) async fn run(&self, statement: Statement) -> Result<(), Failure> {
        let mut answer = self.start(statement).await?;
        while answer.next().await?.is_some() {}
        Ok(())
    }

    /// Does a statement that answers with the number of rows that it has written.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) async fn count(&self, statement: Statement) -> Result<u64, Failure> {
        let mut answer = self.start(statement).await?;
        let mut count = 0_u64;
        while let Some(batch) = answer.next().await? {
            count = count.saturating_add(counted(&batch));
        }
        Ok(count)
    }

    /// Starts a statement: its columns are known when this is done.
    ///
    /// # Errors
    /// When it cannot be planned, or the server ends.
    pub(crate) async fn start(&self, statement: Statement) -> Result<Answer, Failure> {
        self.start_named(statement, None).await
    }

    /// Starts a statement that others may ask for by this name.
    pub(crate) async fn start_named(
        &self,
        statement: Statement,
        name: Option<String>,
    ) -> Result<Answer, Failure> {
        let entry = self.entry(&statement)?;
        let next_id = entry.as_ref().map(|_| Log::next_id());
        let (work, priority) = match &self.runs {
            Runs::Here(engine) => {
                let work = begin(Arc::clone(engine), statement).boxed();
                (work, None)
            }
            Runs::InProcesses(remote) => {
                let order = remote.run(&self.log(), &statement, next_id)?;
                // While it waits for its turn its text is held, and not its tree.
                drop(statement);
                in_process(order)
            }
        };
        let answer = self.begin(work, priority, name).await?;
        // A statement that failed is not added to the log.
        if let (Some(entry), Some(id)) = (entry, next_id) {
            self.log().push(id, entry);
        }
        Ok(answer)
    }

    /// Does the work of a statement on the threads of statements, when it is its turn.
    async fn begin(
        &self,
        work: BoxFuture<'static, Result<Begun, Failure>>,
        priority: Option<Arc<Priority>>,
        name: Option<String>,
    ) -> Result<Answer, Failure> {
        let shared = &self.shared;
        if *shared.ending.borrow() {
            return Err(Failure::new(FailureKind::Ending, Failure::ENDING));
        }
        Metrics::add(&shared.metrics.queries, 1);
        let begun = Instant::now();
        let running = Arc::new(Running {
            scan_report: Arc::clone(self.report()),
            started: begun,
            end: tokio::sync::Notify::new(),
        });
        let named = name
            .map(|name| Named::new(shared, name, &running))
            .transpose()?;
        let _running_statement = self.running_statement();
        // The limit applies while no rows are fetched, too.
        let deadline = Deadline::new(&shared.options.limits, None);
        let connection = self.connection.as_deref();
        let kind = kind_of(priority.as_ref());
        let turn = shared.turn(deadline, kind, connection).await?;
        let give_back = turn.give_back();
        let holder = Arc::clone(turn.holder());
        if let Some(priority) = &priority {
            priority.set_holder(&holder);
        }
        if let Some(connection) = &self.connection {
            turn.set_connection(connection);
        }
        let (schema_sender, schema) = oneshot::channel();
        let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
        let before = self.report().counters().totals();
        let ended = Arc::new(OnceLock::new());
        let counted = RunningCount::default();
        let task = StatementWork {
            turn,
            sender,
            deadline,
            ended: Arc::clone(&ended),
            counted: Arc::downgrade(&counted),
            shared: Arc::clone(shared),
            priority,
        };
        let task = Task(shared.workers.spawn(task.run(work, schema_sender)));
        let (schema, origins) = match schema.await {
            Ok(Ok(known)) => known,
            Ok(Err(failure)) => {
                Metrics::add(&shared.metrics.queries_failed, 1);
                return Err(failure);
            }
            Err(_) => return Err(ended.get().cloned().unwrap_or_else(gone)),
        };
        count_running(&counted, shared, &ended);
        Ok(Answer {
            schema,
            origins,
            batches,
            rows: 0,
            rows_max: shared.options.limits.rows_max,
            before,
            begun,
            state: SessionState::Runs,
            reports: Arc::clone(&self.reports),
            shared: Arc::clone(shared),
            running,
            ended,
            holder,
            counted: None,
            _task: task,
            _turn: give_back,
            _named: named,
            _counted: counted,
        })
    }
}

#[async_trait]
impl Describer for Session {
    async fn answer_of(&mut self, sql: &str) -> Option<Described> {
        let statement = self.parse(sql).ok()?.pop()?;
        self.describe(statement).await.ok()
    }
}

/// The columns of an answer; of those that are addresses, the columns that they come from.
type Columns = (SchemaRef, Vec<Option<String>>);

/// Counts a statement among those that run, until it fails or its answer is dropped.
type RunningCount = Arc<Mutex<Option<Counted>>>;

/// Counts a statement that has not failed yet.
fn count_running(counted: &RunningCount, shared: &Arc<Shared>, ended: &OnceLock<Failure>) {
    let mut counted = counted.lock().unwrap_or_else(PoisonError::into_inner);
    if ended.get().is_none() {
        *counted = Some(Counted::new(shared, |metrics| &metrics.queries_running));
    }
}

/// The work of a statement on the threads of statements.
struct StatementWork {
    turn: Turn,
    sender: mpsc::Sender<Item>,
    deadline: Deadline,
    /// Why it ended before its end.
    ended: Arc<OnceLock<Failure>>,
    /// Counts it among those that run.
    counted: Weak<Mutex<Option<Counted>>>,
    shared: Arc<Shared>,
    /// The priority of its process; `None` when it computes in this process.
    priority: Option<Arc<Priority>>,
}

impl StatementWork {
    /// Plans and runs, until the end, the deadline or the client's going.
    async fn run(
        self,
        work: BoxFuture<'static, Result<Begun, Failure>>,
        schema: oneshot::Sender<Result<Columns, Failure>>,
    ) {
        let done = self.deadline.within(self.pass_on(work, schema));
        let done = stepping_aside(&self.turn, self.priority.as_deref(), done);
        let done = AssertUnwindSafe(done);
        let failure = match done.catch_unwind().await {
            Ok(Ok(Ok(()))) => {
                if let Some(priority) = &self.priority {
                    let known = &self.shared.turns.known;
                    known.took(priority.name, self.turn.held_for());
                }
                return;
            }
            Ok(Ok(Err(Unsent::Gone))) => return,
            Ok(Ok(Err(Unsent::Displaced))) => displaced(),
            Ok(Err(failure)) => failure,
            Err(_) => panicked(&self.shared),
        };
        // The failure is read when the channel ends.
        let _ = self.ended.set(failure);
        // Its client may take the rows before it much later, or never.
        if let Some(counted) = self.counted.upgrade() {
            drop(
                counted
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take(),
            );
        }
    }

    async fn pass_on(
        &self,
        work: BoxFuture<'static, Result<Begun, Failure>>,
        mut schema: oneshot::Sender<Result<Columns, Failure>>,
    ) -> Result<(), Unsent> {
        let begun = async {
            tokio::select! {
                begun = work => Some(begun),
                () = schema.closed() => None,
            }
        };
        let begun = match self.priority {
            None => computing(begun),
            Some(_) => begun.await,
        };
        let mut begun = match begun.ok_or(Unsent::Gone)? {
            Ok(begun) => begun,
            Err(failure) => {
                let _ = schema.send(Err(failure));
                return Ok(());
            }
        };
        self.turn.has_begun();
        // A client that does not wait any more has dropped the answer, and this task ends.
        let _ = schema.send(Ok((begun.schema, begun.origins)));
        loop {
            let next = tokio::select! {
                next = begun.batches.next() => next,
                () = self.turn.holder().ended() => return Err(Unsent::Displaced),
            };
            match next {
                // Rows of this process are counted now, and those that came from another when they were read.
                Some(Ok((batch, None))) if self.priority.is_none() => {
                    let bytes = batch.get_array_memory_size();
                    let item = |counted| Item::Batch(batch, Some(counted));
                    self.turn.hand_on(&self.sender, bytes, item).await?;
                }
                Some(Ok((batch, counted))) => {
                    let item = Item::Batch(batch, counted);
                    self.turn.hand_on_counted(&self.sender, item).await?;
                }
                last => {
                    let item = match last {
                        Some(Err(failure)) => Item::Failed(failure),
                        _ => Item::End,
                    };
                    return self.turn.hand_on_counted(&self.sender, item).await;
                }
            }
        }
    }
}

/// Does the work of a statement, which steps aside for others once its process has computed for a while.
async fn stepping_aside<T>(
    turn: &Turn,
    priority: Option<&Priority>,
    work: impl Future<Output = T>,
) -> T {
    let aside = async {
        if let Some(priority) = priority {
            let computed_for = || priority.computed_for();
            turn.step_aside(priority.kind, computed_for).await;
            priority.lower();
        }
        std::future::pending::<Infallible>().await
    };
    tokio::select! {
        done = work => done,
        never = aside => match never {},
    }
}

/// The work of an order, and the priority of its process.
fn in_process(
    order: Order,
) -> (
    BoxFuture<'static, Result<Begun, Failure>>,
    Option<Arc<Priority>>,
) {
    let priority = Arc::clone(&order.priority);
    (order.begin().boxed(), Some(priority))
}

/// What is known of a statement whose process has this priority.
fn kind_of(priority: Option<&Arc<Priority>>) -> StatementKind {
    priority.map_or(StatementKind::Other, |priority| priority.kind)
}

/// Does what computes for a while without waiting, as planning does: the statements of others go on meanwhile.
fn computing<T>(work: impl Future<Output = T>) -> T {
    tokio::task::block_in_place(|| Handle::current().block_on(work))
}

/// A statement ended because its rows waited too long for their client.
fn displaced() -> Failure {
    Failure::new(
        FailureKind::Limit,
        "canceling statement: too many rows wait for their clients, and those of this statement have waited longest",
    )
    .with_hint("fetch the rows as they arrive, or end the query with LIMIT")
}

/// The failure of a statement that panicked: a fault of the program, which is counted, and the server continues.
fn panicked(shared: &Shared) -> Failure {
    Metrics::add(&shared.metrics.panics, 1);
    Failure::new(
        FailureKind::Internal,
        "an internal error ended the statement",
    )
    .with_hint("it is a bug of weir: the server's standard error shows where")
}

/// The number of rows that a batch says were written.
pub(crate) fn counted(batch: &RecordBatch) -> u64 {
    let counts = batch.columns().first();
    let counts = counts.and_then(|column| column.as_primitive_opt::<UInt64Type>());
    counts.map_or(0, |counts| counts.iter().flatten().sum())
}

/// A text has more than [`STATEMENTS_MAX`] statements.
pub(crate) fn too_many_statements() -> Failure {
    let message = format!("a text has {STATEMENTS_MAX} statements at most");
    Failure::new(FailureKind::Limit, message)
}

/// Something ended that should not have.
fn gone() -> Failure {
    Failure::new(FailureKind::Run, "a thread of the query ended unexpectedly")
}

/// Work that ends when this is dropped.
#[derive(Debug)]
struct Task<T>(JoinHandle<T>);

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A statement that others may ask for.
struct Named {
    shared: Arc<Shared>,
    name: String,
}

impl Named {
    fn new(shared: &Arc<Shared>, name: String, running: &Arc<Running>) -> Result<Self, Failure> {
        let mut all = shared.running();
        if all.contains_key(&name) {
            let message = format!("a query named {name} is already running");
            return Err(Failure::new(FailureKind::Plan, message));
        }
        all.insert(name.clone(), Arc::clone(running));
        Ok(Self {
            shared: Arc::clone(shared),
            name,
        })
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        self.shared.running().remove(&self.name);
    }
}

/// The statements of a text as they are written.
fn parse(sql: &str) -> Result<Vec<Statement>, Failure> {
    Ok(Statement::parse(sql).or_else(|error| {
        // Queries of clients for the catalog may be written in PostgreSQL's own dialect.
        match Statement::parse_postgres(sql) {
            Ok(statements) if statements.iter().all(is_of_catalog) => Ok(statements),
            _ => Err(error),
        }
    })?)
}

/// Whether a statement asks the catalog.
fn is_of_catalog(statement: &Statement) -> bool {
    match statement.parsed() {
        DfStatement::Statement(statement) => asks_catalog(statement.as_ref()),
        _ => false,
    }
}

/// An item from the threads of statements.
enum Item {
    Batch(RecordBatch, Option<CountedRows>),
    End,
    Failed(Failure),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionState {
    Runs,
    Ended,
    Failed,
}

/// A statement at work: it ends when this is dropped.
pub(crate) struct Answer {
    pub(crate) schema: SchemaRef,
    /// The columns that columns of addresses come from.
    pub(crate) origins: Vec<Option<String>>,
    batches: mpsc::Receiver<Item>,
    rows: u64,
    rows_max: Option<u64>,
    pub(crate) before: Totals,
    begun: Instant,
    state: SessionState,
    reports: Arc<StatementReports>,
    shared: Arc<Shared>,
    running: Arc<Running>,
    ended: Arc<OnceLock<Failure>>,
    holder: Arc<Holder>,
    /// The last rows, which are counted until the next are requested.
    counted: Option<CountedRows>,
    _task: Task<()>,
    _turn: GiveBack,
    _named: Option<Named>,
    _counted: RunningCount,
}

/// The notices about an answer at its end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    pub(crate) elapsed: Duration,
    pub(crate) notes: Vec<String>,
    pub(crate) damage: Vec<String>,
}

impl Answer {
    /// The next batch; `None` at the end.
    ///
    /// # Errors
    /// When the statement fails, or has more rows than are allowed.
    pub(crate) async fn next(&mut self) -> Result<Option<RecordBatch>, Failure> {
        self.counted = None;
        let item = tokio::select! {
            biased;
            () = self.holder.ended() => Some(Item::Failed(displaced())),
            item = self.batches.recv() => item,
            () = self.running.end.notified() => Some(Item::Failed(Failure::cancelled())),
        };
        match item {
            Some(Item::Batch(batch, counted)) => {
                self.counted = counted;
                self.rows = self.rows.saturating_add(batch.num_rows() as u64);
                Metrics::add(&self.shared.metrics.rows, batch.num_rows() as u64);
                match self.rows_max {
                    Some(most) if self.rows > most => {
                        self.state = SessionState::Failed;
                        let message =
                            format!("the answer has more rows than --max-rows allows: {most}");
                        Err(Failure::new(FailureKind::Limit, message)
                            .with_hint("count or group them, or end the query with LIMIT"))
                    }
                    _ => Ok(Some(batch)),
                }
            }
            Some(Item::End) => {
                self.state = SessionState::Ended;
                Ok(None)
            }
            Some(Item::Failed(failure)) => {
                self.state = SessionState::Failed;
                Err(failure)
            }
            None if self.state == SessionState::Ended => Ok(None),
            None => {
                self.state = SessionState::Failed;
                Err(self.ended.get().cloned().unwrap_or_else(gone))
            }
        }
    }

    /// The notices beside the rows.
    pub(crate) fn report(&self) -> Report {
        let scan_report = &self.reports.report;
        let now = scan_report.counters().totals();
        let mut damage = scan_report.take_errors();
        damage.sort_by(|one, other| one.path.cmp(&other.path));
        let mut damage: Vec<String> = damage.iter().map(ToString::to_string).collect();
        let mut of_processes = self
            .reports
            .damage
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        damage.append(&mut of_processes);
        let mut notes = scan_report.take_notes();
        let stopped = now.stopped.saturating_sub(self.before.stopped);
        let unknown = now.unknown_link.saturating_sub(self.before.unknown_link);
        if unknown > 0 {
            notes.push(format!(
                "{unknown} records have a link type that is not decoded; frame.link_type shows which"
            ));
        }
        if stopped > unknown {
            notes.push(format!(
                "{} records are cut or damaged inside and decoded as far as they go; frame.stopped says why",
                stopped - unknown
            ));
        }
        notes.extend(now.since(&self.before).notes_of_times());
        Report {
            records: now.records.saturating_sub(self.before.records),
            bytes: now.bytes.saturating_sub(self.before.bytes),
            elapsed: self.begun.elapsed(),
            notes,
            damage,
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let metrics = &self.shared.metrics;
        let now = self.reports.report.counters().totals();
        Metrics::add(
            &metrics.records,
            now.records.saturating_sub(self.before.records),
        );
        Metrics::add(&metrics.bytes, now.bytes.saturating_sub(self.before.bytes));
        match self.state {
            SessionState::Ended => {}
            SessionState::Failed => Metrics::add(&metrics.queries_failed, 1),
            SessionState::Runs => Metrics::add(&metrics.queries_cancelled, 1),
        }
    }
}

/// Statements of a text: each takes some kilobytes, however short it is.
pub(crate) const STATEMENTS_MAX: usize = 1000;
/// The length of a text that takes a while to parse.
const LONG_TEXT_BYTES: usize = 64 << 10;
/// Batches that wait for their reader.
const BATCHES_AHEAD: usize = 2;
