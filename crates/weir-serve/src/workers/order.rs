//! The statements of a session, which run in processes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::ipc::reader::StreamDecoder;
use futures::stream::{self, StreamExt};
use weir_engine::{Described, Recipe, ScanReport, Statement};
use weir_tables::Totals;

use super::link::Priority;
use super::pool::{BusyProcess, Pool, lock};
use super::wire::{Progress, Reply, SessionState, Task, Work, Written, broken};
use crate::begun::Begun;
use crate::catalog::ClientSettings;
use crate::constant::is_constant;
use crate::error::Failure;
use crate::session_log::Log;
use crate::turn::{Counted, StatementKind};

/// A session whose statements run in processes.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) pool: Arc<Pool>,
    /// The one folder that its statements write into; `None` for what the server allows.
    pub(crate) writes_below: Option<PathBuf>,
    /// Its statements describe files for lists of them.
    pub(crate) is_of_lists: bool,
    pub(crate) reports: Arc<StatementReports>,
    /// The settings of its client.
    pub(crate) settings: Arc<ClientSettings>,
}

/// The reports of processes about the statements of a session.
#[derive(Debug, Default)]
pub(crate) struct StatementReports {
    pub(crate) report: Arc<ScanReport>,
    pub(crate) damage: Mutex<Vec<String>>,
}

impl StatementReports {
    fn progress(&self, before: &mut Progress, now: Progress) {
        let mut more = Totals::default();
        more.records = now.records.saturating_sub(before.records);
        more.bytes = now.bytes.saturating_sub(before.bytes);
        more.source_bytes = now.source_bytes.saturating_sub(before.source_bytes);
        more.stopped = now.stopped.saturating_sub(before.stopped);
        more.unknown_link = now.unknown_link.saturating_sub(before.unknown_link);
        more.times_beyond = now.times_beyond.saturating_sub(before.times_beyond);
        more.late = now.late.saturating_sub(before.late);
        self.report.counters().add(&more);
        let planned = now.planned_bytes.saturating_sub(before.planned_bytes);
        self.report.plan_bytes(planned);
        *before = now;
    }
}

/// The work for a process, once there is one.
#[derive(Debug)]
pub(crate) struct Order {
    pool: Arc<Pool>,
    reports: Arc<StatementReports>,
    session_id: u64,
    next_id: Option<u64>,
    /// The settings of its client.
    settings: Vec<(String, String)>,
    /// The statements that bring a session to the state in which the work begins.
    recipes: Vec<Recipe>,
    writes_below: Option<PathBuf>,
    is_of_lists: bool,
    writes: bool,
    /// The folders that the statement may write into.
    written: Vec<PathBuf>,
    work: Work,
    /// What is known of the statement, and the priority of its process.
    pub(crate) priority: Arc<Priority>,
}

impl Remote {
    fn order(&self, log: &Log, statement: &Statement, work: Work) -> Order {
        let known = &self.pool.turns.known;
        let name = known.name_of(&work);
        let kind = match log.is_of_settings() && is_constant(statement) {
            true => StatementKind::Constant,
            false if known.is_short(name) => StatementKind::Short,
            false => StatementKind::Other,
        };
        Order {
            priority: Arc::new(Priority::new(kind, name)),
            pool: Arc::clone(&self.pool),
            reports: Arc::clone(&self.reports),
            session_id: log.id,
            next_id: None,
            settings: self.settings.all(),
            recipes: log.recipes().cloned().collect(),
            writes_below: self.writes_below.clone(),
            is_of_lists: self.is_of_lists,
            writes: false,
            written: Vec::new(),
            work,
        }
    }

    /// The rows of a statement, after which the session is in the state `next_id`, where it changes it.
    pub(crate) fn run(
        &self,
        log: &Log,
        statement: &Statement,
        next_id: Option<u64>,
    ) -> Result<Order, Failure> {
        let work = Work::Run(Written::new(statement)?);
        // A folder of the server's own is removed as a whole.
        let target = match self.writes_below {
            None => statement.copies_to(),
            Some(_) => None,
        };
        Ok(Order {
            next_id,
            writes: !statement.is_query(),
            written: target.map_or_else(Vec::new, |target| self.pool.folders_of(target)),
            ..self.order(log, statement, work)
        })
    }

    /// The description of a statement's answer.
    pub(crate) fn describe(&self, log: &Log, statement: &Statement) -> Result<Order, Failure> {
        let work = Work::Describe(Written::new(statement)?);
        Ok(self.order(log, statement, work))
    }
}

impl Order {
    /// Hands it to a process.
    async fn give(self) -> Result<(BusyProcess, Arc<StatementReports>), Failure> {
        let taken = self.pool.take(self.session_id, &self.priority);
        let mut held = taken.await?;
        if self.writes {
            held.grace = WRITERS_GRACE;
        }
        held.written = self.written;
        let memory_limit_bytes = self.pool.share();
        let link = held.link()?;
        let is_in_state = link.session == Some((self.session_id, memory_limit_bytes));
        let statements = match is_in_state && self.writes_below.is_none() {
            true => None,
            false => Some(self.recipes.iter().map(Written::of).collect()),
        };
        let left = (self.next_id.unwrap_or(self.session_id), memory_limit_bytes);
        link.session = self.writes_below.is_none().then_some(left);
        let task = Task {
            session: SessionState {
                id: self.session_id,
                next_id: self.next_id,
                settings: self.settings,
                statements,
            },
            memory_limit_bytes,
            writes_below: self.writes_below,
            is_of_lists: self.is_of_lists,
            work: self.work,
        };
        if let Err(failure) = link.give(task, Vec::new()).await {
            held.lose();
            return Err(failure);
        }
        Ok((held, self.reports))
    }

    /// The columns and rows of an answer.
    pub(crate) async fn begin(self) -> Result<Begun, Failure> {
        let (mut held, reports) = self.give().await?;
        let mut before = Progress::default();
        let (schema, origins) = loop {
            match held.next().await? {
                (Reply::Progress(now), ..) => reports.progress(&mut before, now),
                (Reply::Begun { origins }, octets, _) => break (schema_of(octets)?, origins),
                _ => return Err(broken("rows without columns")),
            }
        };
        let rows = WorkerRows {
            held,
            reports,
            before,
        };
        let batches = stream::unfold(Some(rows), |rows| async {
            let mut rows = rows?;
            match rows.next().await {
                Ok(Some(next)) => Some((Ok(next), Some(rows))),
                Ok(None) => None,
                Err(failure) => Some((Err(failure), None)),
            }
        });
        Ok(Begun {
            schema,
            origins,
            batches: batches.boxed(),
        })
    }

    async fn read_description(
        self,
    ) -> Result<(SchemaRef, Vec<Option<String>>, SchemaRef), Failure> {
        let (mut held, _) = self.give().await?;
        match held.next().await? {
            (
                Reply::Described {
                    origins,
                    schema_bytes,
                },
                mut octets,
                _,
            ) if schema_bytes <= octets.len() => {
                held.is_done = true;
                let parameters = octets.split_off(schema_bytes);
                let schema = schema_of(octets)?;
                let parameters = schema_of(parameters)?;
                Ok((schema, origins, parameters))
            }
            _ => Err(broken("no columns")),
        }
    }

    /// The description of a statement's answer.
    pub(crate) async fn described(self) -> Result<Described, Failure> {
        let (schema, origins, parameters) = self.read_description().await?;
        let parameters = parameters.fields().iter();
        let parameters = parameters.map(|field| known(field.data_type()));
        Ok(Described::new(schema, origins, parameters.collect()))
    }
}

/// The type of a parameter; `Null` stands for an unknown one.
fn known(kind: &DataType) -> Option<DataType> {
    (*kind != DataType::Null).then(|| kind.clone())
}

fn schema_of(octets: Vec<u8>) -> Result<SchemaRef, Failure> {
    let mut octets = Buffer::from(octets);
    let mut decoder = StreamDecoder::new();
    decoder
        .decode(&mut octets)
        .map_err(|error| broken(&error.to_string()))?;
    decoder.schema().ok_or_else(|| broken("no columns"))
}

/// The rows of a process, as they come.
struct WorkerRows {
    held: BusyProcess,
    reports: Arc<StatementReports>,
    before: Progress,
}

impl WorkerRows {
    async fn next(&mut self) -> Result<Option<(RecordBatch, Option<Counted>)>, Failure> {
        loop {
            match self.held.next().await? {
                (Reply::Progress(now), ..) => self.reports.progress(&mut self.before, now),
                (Reply::Rows, octets, counted) => {
                    let mut octets = Buffer::from(octets);
                    let batch = StreamDecoder::new().decode(&mut octets);
                    let batch = batch.map_err(|error| broken(&error.to_string()))?;
                    let batch = batch.ok_or_else(|| broken("no rows"))?;
                    return Ok(Some((batch, counted)));
                }
                (Reply::End { notes, damage }, ..) => {
                    self.held.is_done = true;
                    self.reports.report.add_notes(notes);
                    lock(&self.reports.damage).extend(damage);
                    return Ok(None);
                }
                _ => return Err(broken("expected rows")),
            }
        }
    }
}

/// The time in which a process has to cancel a statement that may be writing a file, which it removes.
const WRITERS_GRACE: Duration = Duration::from_secs(3);
