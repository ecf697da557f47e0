//! A process that runs the statements of a server, one after the other.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow::datatypes::{DataType, Field, Schema};
use arrow::ipc::writer::StreamWriter;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::MissedTickBehavior;
use weir_engine::{Engine, ScanReport};
use weir_tables::Totals;

use super::pieces;
use super::wire::{self, Frame, Progress, Reply, Request, Task, Work, Written, broken};
use crate::columns::LISTED_BYTES_MAX;
use crate::error::{Error, Failure};
use crate::files::open_without_wait;
use crate::options::{Limits, Options};
use crate::server::{STACK_BYTES, statement_threads};
use crate::session::{Answer, Session};
use crate::shared::Shared;

/// Runs the statements from standard input until it ends, and writes the results to standard output. `options` are those of the
/// server that started this process, which has its uploads in the folder `uploads`.
///
/// # Errors
/// When the threads or the state of the process cannot be made.
pub fn work(mut options: Options, uploads: &Path) -> Result<(), Error> {
    bound_process(&options.engine);
    options.roots.push(uploads.to_path_buf());
    // The server has checked the length of the text, and it limits rows and time itself.
    options.limits = Limits {
        text_bytes_max: usize::MAX,
        queries_max: 2,
        ..Limits::default()
    };
    let runtime = statement_threads(options.engine.threads)?;
    // The process ends with its input.
    let (_end, ending) = watch::channel(false);
    let shared = Shared::of_worker(options, runtime.handle().clone(), ending)?;
    // A path was looked at before it is opened, and may have become a link since.
    weir_capture::confine(shared.roots().to_vec(), open_without_wait);
    let (sender, requests) = mpsc::channel(2);
    let (out, frames) = mpsc::channel(2);
    let started = |name: &str, work: Box<dyn FnOnce() + Send>| {
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(work);
        thread.map_err(|error| Error::new(format!("cannot start threads: {error}")))
    };
    started("weir-requests", Box::new(move || take_requests(sender)))?;
    let writer = started("weir-rows", Box::new(move || write_frames(frames)))?;
    let worker = Worker {
        shared: Arc::new(shared),
        out,
        room: Arc::new(Semaphore::new(ROOM_KIB as usize)),
        current: None,
    };
    // Deeply nested statements are parsed and dropped on the threads of the runtime, which have large stacks.
    let done = runtime.block_on(runtime.spawn(worker.run(requests)));
    done.map_err(|error| Error::new(error.to_string()))?;
    // The last messages are written before the process ends.
    let _ = writer.join();
    runtime.shutdown_background();
    Ok(())
}

/// Limits the memory of the process, where the system supports that: a statement whose memory grows without end must not
/// exhaust that of the machine.
fn bound_process(options: &weir_engine::Options) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = |bytes: u64| Rlimit {
        current: Some(bytes),
        maximum: Some(bytes),
    };
    // A core dump of a process that ended because of its size would be large and of no use.
    let _ = setrlimit(Resource::Core, limit(0));
    if let Some(bytes) = options.memory_limit_bytes {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = options.threads.unwrap_or_else(cores) as u64;
        // A thread that computes in `block_in_place` is replaced by another one, so that there are more stacks.
        let stacks = threads.saturating_mul(4 * STACK_BYTES as u64);
        let bytes = (bytes as u64).saturating_add(ADDRESSES_BYTES);
        let _ = setrlimit(Resource::Data, limit(bytes.saturating_add(stacks)));
    }
    // A system without free memory ends this process before the server.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
}

/// Reads the messages of the server. Their end means that the server is gone: the process ends after [`GRACE`].
fn take_requests(sender: mpsc::Sender<(Request, Vec<u8>)>) {
    let mut input = io::stdin().lock();
    while let Ok(Some(request)) = wire::read(&mut input) {
        if sender.blocking_send(request).is_err() {
            break;
        }
    }
    drop(sender);
    std::thread::sleep(GRACE);
    end();
}

/// Ends the process of a server that has gone, without what its statement was writing.
fn end() -> ! {
    weir_engine::remove_unfinished();
    std::process::exit(1)
}

/// A message, with the permit for the memory that it takes until it is written.
type Outgoing = (Frame, Option<OwnedSemaphorePermit>);

/// Writes frames as they come.
fn write_frames(mut frames: mpsc::Receiver<Outgoing>) {
    let mut output = io::stdout().lock();
    // The greeting is read before any frame; an output that is closed is noticed with the first.
    let _ = output.write_all(wire::GREETING.as_bytes());
    let _ = output.flush();
    while let Some((frame, _room)) = frames.blocking_recv() {
        let written = output
            .write_all(&frame.front)
            .and_then(|()| output.write_all(&frame.octets))
            .and_then(|()| output.flush());
        if written.is_err() {
            // The server has gone.
            end();
        }
    }
}

/// The state of the process between two tasks.
struct Worker {
    shared: Arc<Shared>,
    out: mpsc::Sender<Outgoing>,
    /// The permits for rows that wait to be read by the server, one for each KiB.
    room: Arc<Semaphore>,
    current: Option<CurrentSession>,
}

/// The session that the last task left.
struct CurrentSession {
    id: u64,
    memory_limit_bytes: Option<usize>,
    session: Arc<Session>,
}

impl Worker {
    async fn run(mut self, mut requests: mpsc::Receiver<(Request, Vec<u8>)>) {
        // Values that are created once, or read from the program's file, exist before the first statement.
        drop(Session::new(&self.shared));
        if self.send(&Reply::Ready, Vec::new()).await.is_err() {
            return;
        }
        while let Some((request, _)) = requests.recv().await {
            // A request to cancel a statement that has ended comes too late.
            let Request::Task(task) = request else {
                continue;
            };
            let is_change = task.session.next_id.is_some();
            let tasks = Handle::current().metrics().num_alive_tasks();
            let outcome = tokio::select! {
                outcome = self.task(*task) => outcome,
                _ = requests.recv() => {
                    // A call that cannot be interrupted continues: the server waits for a moment, and then kills this process.
                    until_alone(tasks).await;
                    Err(Failure::cancelled())
                }
            };
            let (last, octets) = outcome.unwrap_or_else(|failure| {
                if is_change {
                    self.current = None;
                }
                (Reply::Failed(failure.shortened()), Vec::new())
            });
            let alone = tokio::time::timeout(ALONE_WITHIN, until_alone(tasks));
            if alone.await.is_err() && self.send(&Reply::Occupied, Vec::new()).await.is_err() {
                return;
            }
            if self.send(&last, octets).await.is_err() {
                return;
            }
        }
    }

    async fn send(&self, reply: &Reply, octets: Vec<u8>) -> Result<(), Failure> {
        self.send_with_permit(reply, octets, None).await
    }

    /// Sends a reply that holds a permit until it is written.
    async fn send_with_permit(
        &self,
        reply: &Reply,
        octets: Vec<u8>,
        room: Option<OwnedSemaphorePermit>,
    ) -> Result<(), Failure> {
        let frame = Frame::new(reply, octets).map_err(|error| broken(&error.to_string()))?;
        let sent = self.out.send((frame, room)).await;
        sent.map_err(|_| broken("its output is closed"))
    }

    /// Does a task, and gives its last message.
    async fn task(&mut self, task: Task) -> Result<(Reply, Vec<u8>), Failure> {
        let session = self.session(&task).await?;
        session.settings.set(task.session.settings);
        let next_id = task.session.next_id;
        match task.work {
            Work::Describe(written) => {
                let described = session.describe(written.statement()?).await?;
                let parameters = described.parameters.into_iter();
                let parameters = parameters.map(|kind| kind.unwrap_or(DataType::Null));
                let parameters = parameters.collect::<Vec<_>>();
                description(&described.schema, described.address_origins, &parameters)
            }
            Work::Run(written) => {
                let answer = session.start(written.statement()?).await?;
                if let (Some(id), Some(current)) = (next_id, &mut self.current) {
                    current.id = id;
                }
                self.rows(answer, &session).await
            }
        }
    }

    /// The session of a task, in the state in which the task begins.
    async fn session(&mut self, task: &Task) -> Result<Arc<Session>, Failure> {
        let is_same = |current: &&CurrentSession| {
            current.id == task.session.id
                && current.memory_limit_bytes == task.memory_limit_bytes
                && task.writes_below.is_none()
        };
        if let Some(current) = self.current.as_ref().filter(is_same) {
            return Ok(Arc::clone(&current.session));
        }
        self.current = None;
        let settings = Arc::default();
        let mut options = self.shared.engine_options(&settings);
        options.memory_limit_bytes = task.memory_limit_bytes;
        options.shared_memory = None;
        options.sample_bytes_max = task.is_of_lists.then_some(LISTED_BYTES_MAX);
        if let Some(folder) = &task.writes_below {
            options.root = Some(folder.clone());
            options.read_only = false;
        }
        let engine = Arc::new(Engine::new(&options)?);
        let session = Session::of(&self.shared, engine, settings);
        let Some(statements) = &task.session.statements else {
            return Err(broken("unknown session state"));
        };
        for written in statements {
            session.run(Written::statement(written)?).await?;
        }
        // The notices of these statements were sent when they ran for the first time.
        drop((
            session.report().take_notes(),
            session.report().take_errors(),
        ));
        let session = Arc::new(session);
        if task.writes_below.is_none() {
            self.current = Some(CurrentSession {
                id: task.session.id,
                memory_limit_bytes: task.memory_limit_bytes,
                session: Arc::clone(&session),
            });
        }
        Ok(session)
    }

    /// Sends the rows of an answer, and gives the message behind them.
    async fn rows(
        &self,
        mut answer: Answer,
        session: &Session,
    ) -> Result<(Reply, Vec<u8>), Failure> {
        let before = answer.before;
        let report = Arc::clone(session.report());
        let origins = std::mem::take(&mut answer.origins);
        let begun = columns_octets(&answer.schema)?;
        self.progress(&report, &before, &mut None).await?;
        self.send(&Reply::Begun { origins }, begun).await?;
        let mut last_sent = None;
        let mut looks = tokio::time::interval(PROGRESS_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let batch = tokio::select! {
                batch = answer.next() => batch?,
                _ = looks.tick() => {
                    self.progress(&report, &before, &mut last_sent).await?;
                    continue;
                }
            };
            let Some(batch) = batch else {
                break;
            };
            for piece in pieces::cut(batch)? {
                // Long rows are encoded one at a time: an encoded row is held until the server reads it.
                let bytes = pieces::written_bytes(&piece);
                let kib = u32::try_from(bytes >> 10).unwrap_or(u32::MAX);
                let room = Arc::clone(&self.room).acquire_many_owned(kib.min(ROOM_KIB));
                // The semaphore is never closed.
                let room = room.await.ok();
                let begun = Vec::with_capacity(bytes.saturating_add(HEADERS_BYTES));
                let mut stream =
                    StreamWriter::try_new(begun, &piece.schema()).map_err(encode_failure)?;
                stream.write(&piece).map_err(encode_failure)?;
                let octets = stream.into_inner().map_err(encode_failure)?;
                drop(piece);
                self.send_with_permit(&Reply::Rows, octets, room).await?;
            }
        }
        drop(answer);
        self.progress(&report, &before, &mut last_sent).await?;
        let mut damage = report.take_errors();
        damage.sort_by(|one, other| one.path.cmp(&other.path));
        let damage = damage.iter().map(ToString::to_string).collect();
        let notes = report.take_notes();
        Ok((Reply::End { notes, damage }, Vec::new()))
    }

    /// Sends the progress of a task when it differs from the last one that was sent.
    async fn progress(
        &self,
        report: &ScanReport,
        before: &Totals,
        last_sent: &mut Option<Progress>,
    ) -> Result<(), Failure> {
        let now = report.counters().totals().since(before);
        let progress = Progress {
            records: now.records,
            bytes: now.bytes,
            source_bytes: now.source_bytes,
            stopped: now.stopped,
            unknown_link: now.unknown_link,
            times_beyond: now.times_beyond,
            late: now.late,
            planned_bytes: report.planned_bytes(),
        };
        if *last_sent == Some(progress) {
            return Ok(());
        }
        *last_sent = Some(progress);
        self.send(&Reply::Progress(progress), Vec::new()).await
    }
}

/// Waits until the threads of the process have so many tasks. A task whose future was dropped while it computed is one until it gives way.
async fn until_alone(tasks: usize) {
    let threads = Handle::current().metrics();
    let mut looks = 0_u32;
    while threads.num_alive_tasks() > tasks {
        looks = looks.saturating_add(1);
        // Most have ended already, but for their last step.
        match looks <= LOOKS_AT_ONCE {
            true => tokio::task::yield_now().await,
            false => tokio::time::sleep(LOOK_INTERVAL).await,
        }
    }
}

/// The description of an answer.
fn description(
    schema: &Schema,
    origins: Vec<Option<String>>,
    parameters: &[DataType],
) -> Result<(Reply, Vec<u8>), Failure> {
    let fields = parameters.iter().enumerate();
    let fields =
        fields.map(|(index, kind)| Field::new(format!("${}", index + 1), kind.clone(), true));
    let mut octets = columns_octets(schema)?;
    let schema_bytes = octets.len();
    octets.extend(schema_octets(&Schema::new(fields.collect::<Vec<_>>()))?);
    let reply = Reply::Described {
        origins,
        schema_bytes,
    };
    Ok((reply, octets))
}

fn encode_failure(error: arrow::error::ArrowError) -> Failure {
    Failure::new(crate::error::FailureKind::Run, error.to_string())
}

/// The columns of an answer. The server holds them several times beside the rows.
///
/// # Errors
/// When their names and types are too long together.
fn columns_octets(schema: &Schema) -> Result<Vec<u8>, Failure> {
    let octets = schema_octets(schema)?;
    if octets.len() <= COLUMNS_BYTES_MAX {
        return Ok(octets);
    }
    let message = format!(
        "the names and types of columns take {} MiB at most",
        COLUMNS_BYTES_MAX >> 20
    );
    Err(Failure::new(crate::error::FailureKind::Limit, message)
        .with_hint("give columns shorter names: SELECT … AS name"))
}

/// Columns, as an Arrow stream without rows.
fn schema_octets(schema: &Schema) -> Result<Vec<u8>, Failure> {
    let stream = StreamWriter::try_new(Vec::new(), schema).map_err(encode_failure)?;
    stream.into_inner().map_err(encode_failure)
}

/// Addresses beyond the memory limit and the stacks of threads that a process may ask the system for, used or not.
const ADDRESSES_BYTES: u64 = 2 << 30;
/// KiB of rows that wait to be read by the server: a few pieces, or one long row.
const ROOM_KIB: u32 = 16 << 10;
/// Octets of the names and types of columns. Four thousand columns of captures have one megabyte.
const COLUMNS_BYTES_MAX: usize = 2 << 20;
/// Octets of a message of Arrow besides the values of its rows.
const HEADERS_BYTES: usize = 4 << 10;
/// The time between two reports of a statement's progress to the server.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);
/// The time in which what a statement has left of its tasks has to give way, before its last message is sent.
const ALONE_WITHIN: Duration = Duration::from_millis(250);
/// Looks at these tasks without a pause.
const LOOKS_AT_ONCE: u32 = 20;
/// The pause between two later looks.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);
/// The time for running statements to remove their files when the server has gone.
const GRACE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of half a megabyte each came to the server hundreds of times.
    #[test]
    fn names_of_columns_have_a_limit() {
        let schema = |count: usize, bytes: usize| {
            let name = "x".repeat(bytes);
            let fields = (0..count).map(|_| Field::new(&name, DataType::Utf8, true));
            Schema::new(fields.collect::<Vec<_>>())
        };
        assert!(columns_octets(&schema(4096, 100)).is_ok());
        let refused = columns_octets(&schema(5, 500_000)).unwrap_err();
        assert!(refused.message.contains("2 MiB"), "{refused}");
    }
}
