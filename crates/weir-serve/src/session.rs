//! One engine of one connection, and its statements at work.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{SchemaRef, UInt64Type};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::LogicalPlan;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::JoinHandle;
use weir_engine::{Described, Engine, Parameter, Statement};
use weir_tables::Totals;

use crate::catalog::Catalog;
use crate::error::{Failure, Kind};
use crate::house::{Counted, House, Metrics, Running};

/// One engine of one connection.
pub(crate) struct Session {
    pub(crate) house: Arc<House>,
    pub(crate) engine: Arc<Engine>,
}

impl Session {
    pub(crate) fn new(house: &Arc<House>) -> Result<Self, Failure> {
        Ok(Self {
            engine: Arc::new(Engine::new(&house.engine_options())?),
            house: Arc::clone(house),
        })
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
        let limit = self.house.options.limits.text_bytes_max;
        if sql.len() > limit {
            return Err(Failure::new(
                Kind::Limit,
                format!(
                    "a text of {} bytes is more than --max-text allows: {limit}",
                    sql.len()
                ),
            ));
        }
        Ok(self.engine.parse(sql)?)
    }

    /// Puts files in the places of names that the catalog has.
    pub(crate) fn name_files(&self, statement: &mut Statement) {
        // Listing files is for statements that have such names.
        let names = statement.table_names();
        let is_plain = |name: &Vec<String>| name.len() == 1 && !name[0].contains('.');
        if !names.iter().all(is_plain) || statement.is_described() {
            let files = &self.house.files;
            statement.name_files(&mut |parts| files.path_of(parts));
        }
    }

    /// What a statement would answer with.
    pub(crate) async fn describe(&self, statement: Statement) -> Result<Described, Failure> {
        let engine = Arc::clone(&self.engine);
        let described = self
            .on_workers(async move { engine.describe(statement).await })
            .await?;
        Ok(described?)
    }

    /// Does something on the threads of statements; it ends when nobody waits for it.
    pub(crate) async fn on_workers<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, Failure> {
        let mut task = Task(self.house.workers.spawn(work));
        (&mut task.0).await.map_err(|_| gone())
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
            return Err(
                Failure::new(Kind::Syntax, "no statement").with_hint("SELECT … FROM 'trace.pcap'")
            );
        };
        for statement in statements.drain(..) {
            self.run(statement).await?;
        }
        Ok(last)
    }

    /// Does a statement whose rows nobody wants.
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
        let engine = Arc::clone(&self.engine);
        let work = async move {
            let mut statements = VecDeque::from([statement]);
            let planned = engine.plan_next(&mut statements).await?.pop();
            let planned = planned.ok_or_else(|| Failure::new(Kind::Plan, "no statement"))?;
            let origins = planned.address_origins().to_vec();
            let schema = planned.schema();
            let answer = engine.start(planned)?;
            let batches = stream::unfold(answer, |mut answer| async move {
                let batch = answer.next().await.map_err(Failure::from).transpose()?;
                Some((batch, answer))
            });
            Ok(Begun {
                schema,
                origins,
                batches: batches.boxed(),
            })
        };
        self.begin(work, name).await
    }

    /// Starts a question to the catalog, as any other statement.
    ///
    /// # Errors
    /// When it cannot be run, or the server ends.
    pub(crate) async fn start_catalog(
        &self,
        catalog: &Arc<Catalog>,
        plan: LogicalPlan,
    ) -> Result<Answer, Failure> {
        let catalog = Arc::clone(catalog);
        let work = async move {
            let frame = catalog.frame(plan).await?;
            let schema: SchemaRef = Arc::new(frame.schema().as_arrow().clone());
            let failed = |error: DataFusionError| Failure::new(Kind::Run, error.strip_backtrace());
            let batches = frame.execute_stream().await.map_err(failed)?;
            Ok(Begun {
                origins: vec![None; schema.fields().len()],
                schema,
                batches: batches.map_err(failed).boxed(),
            })
        };
        self.begin(work, None).await
    }

    /// Does the work of a statement on the threads of statements, when it is its turn.
    async fn begin(
        &self,
        work: impl Future<Output = Result<Begun, Failure>> + Send + 'static,
        name: Option<String>,
    ) -> Result<Answer, Failure> {
        let house = &self.house;
        if *house.ending.borrow() {
            return Err(Failure::new(Kind::Ending, "the server comes to its end"));
        }
        Metrics::add(&house.metrics.queries, 1);
        let begun = Instant::now();
        let running = Arc::new(Running {
            scan_report: Arc::clone(self.engine.scan_report()),
            started: begun,
            end: tokio::sync::Notify::new(),
        });
        let named = name
            .map(|name| Named::new(house, name, &running))
            .transpose()?;
        let permit = Arc::clone(&house.turns).acquire_owned().await;
        let permit = permit.map_err(|_| gone())?;
        let (schema_sender, schema) = oneshot::channel();
        let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
        let before = self.engine.scan_report().counters().totals();
        let task = house.workers.spawn(async move {
            let mut begun = match work.await {
                Ok(begun) => begun,
                Err(failure) => {
                    let _ = schema_sender.send(Err(failure));
                    return;
                }
            };
            // Who does not wait any more has dropped the answer, and this task ends.
            let _ = schema_sender.send(Ok((begun.schema, begun.origins)));
            loop {
                let (item, is_last) = match begun.batches.next().await {
                    Some(Ok(batch)) => (Item::Batch(batch), false),
                    None => (Item::End, true),
                    Some(Err(failure)) => (Item::Failed(failure), true),
                };
                if sender.send(item).await.is_err() || is_last {
                    return;
                }
            }
        });
        let task = Task(task);
        let (schema, origins) = match schema.await {
            Ok(Ok(known)) => known,
            Ok(Err(failure)) => {
                Metrics::add(&house.metrics.queries_failed, 1);
                return Err(failure);
            }
            Err(_) => return Err(gone()),
        };
        Ok(Answer {
            schema,
            origins,
            batches,
            rows: 0,
            rows_max: house.options.limits.rows_max,
            before,
            begun,
            state: State::Runs,
            engine: Arc::clone(&self.engine),
            house: Arc::clone(house),
            running,
            _task: task,
            _permit: permit,
            _named: named,
            _counted: Counted::new(house, |metrics| &metrics.queries_running),
        })
    }
}

/// The number of rows that a batch says were written.
pub(crate) fn counted(batch: &RecordBatch) -> u64 {
    let counts = batch.columns().first();
    let counts = counts.and_then(|column| column.as_primitive_opt::<UInt64Type>());
    counts.map_or(0, |counts| counts.iter().flatten().sum())
}

/// Something ended that should not have.
fn gone() -> Failure {
    Failure::new(Kind::Run, "a thread of the query ended before its work")
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
    house: Arc<House>,
    name: String,
}

impl Named {
    fn new(house: &Arc<House>, name: String, running: &Arc<Running>) -> Result<Self, Failure> {
        let mut all = house.running();
        if all.contains_key(&name) {
            let message = format!("a query called {name} runs already");
            return Err(Failure::new(Kind::Plan, message));
        }
        all.insert(name.clone(), Arc::clone(running));
        Ok(Self {
            house: Arc::clone(house),
            name,
        })
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        self.house.running().remove(&self.name);
    }
}

/// A statement that has begun.
struct Begun {
    schema: SchemaRef,
    origins: Vec<Option<String>>,
    batches: BoxStream<'static, Result<RecordBatch, Failure>>,
}

/// What comes from the threads of statements.
enum Item {
    Batch(RecordBatch),
    End,
    Failed(Failure),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Runs,
    Ended,
    Failed,
}

/// A statement at work: it ends when this is dropped.
pub(crate) struct Answer {
    pub(crate) schema: SchemaRef,
    /// Of columns that are addresses, the columns that they come from.
    pub(crate) origins: Vec<Option<String>>,
    batches: mpsc::Receiver<Item>,
    rows: u64,
    rows_max: Option<u64>,
    before: Totals,
    begun: Instant,
    state: State,
    engine: Arc<Engine>,
    house: Arc<House>,
    running: Arc<Running>,
    _task: Task<()>,
    _permit: OwnedSemaphorePermit,
    _named: Option<Named>,
    _counted: Counted,
}

/// What is to be said of an answer at its end.
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
        let item = tokio::select! {
            item = self.batches.recv() => item,
            () = self.running.end.notified() => Some(Item::Failed(Failure::cancelled())),
        };
        match item {
            Some(Item::Batch(batch)) => {
                self.rows = self.rows.saturating_add(batch.num_rows() as u64);
                Metrics::add(&self.house.metrics.rows, batch.num_rows() as u64);
                match self.rows_max {
                    Some(most) if self.rows > most => {
                        self.state = State::Failed;
                        let message =
                            format!("the answer has more rows than --max-rows allows: {most}");
                        Err(Failure::new(Kind::Limit, message)
                            .with_hint("count or group them, or end the query with LIMIT"))
                    }
                    _ => Ok(Some(batch)),
                }
            }
            Some(Item::End) => {
                self.state = State::Ended;
                Ok(None)
            }
            Some(Item::Failed(failure)) => {
                self.state = State::Failed;
                Err(failure)
            }
            None if self.state == State::Ended => Ok(None),
            None => Err(gone()),
        }
    }

    /// What is to be said besides the rows.
    pub(crate) fn report(&self) -> Report {
        let scan_report = self.engine.scan_report();
        let now = scan_report.counters().totals();
        let mut damage = scan_report.take_errors();
        damage.sort_by(|one, other| one.path.cmp(&other.path));
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
        Report {
            records: now.records.saturating_sub(self.before.records),
            bytes: now.bytes.saturating_sub(self.before.bytes),
            elapsed: self.begun.elapsed(),
            notes,
            damage: damage.iter().map(ToString::to_string).collect(),
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        let metrics = &self.house.metrics;
        let now = self.engine.scan_report().counters().totals();
        Metrics::add(
            &metrics.records,
            now.records.saturating_sub(self.before.records),
        );
        Metrics::add(&metrics.bytes, now.bytes.saturating_sub(self.before.bytes));
        match self.state {
            State::Ended => {}
            State::Failed => Metrics::add(&metrics.queries_failed, 1),
            State::Runs => Metrics::add(&metrics.queries_cancelled, 1),
        }
    }
}

/// Batches that wait for who reads them.
const BATCHES_AHEAD: usize = 2;
