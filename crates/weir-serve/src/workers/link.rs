//! One process that runs statements, as the server holds it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Notify;

use super::wire::{self, HEAD_BYTES, Reply, Request, Task};
use crate::error::{Failure, FailureKind};
use crate::folder::Folder;
use crate::options::WorkerProgram;
use crate::turn::{Counted, Holder, StatementKind, Turns};

/// A process that runs statements. It ends with this.
#[derive(Debug)]
pub(super) struct Link {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    /// The message that it is sending.
    arriving: Arriving,
    pub(super) watched: Arc<Watched>,
    /// The state of the session that it is in, and the memory that it has; `None` where it is in none.
    pub(super) session: Option<(u64, Option<usize>)>,
    /// Counts it among those that are kept for statements of values alone.
    pub(super) prompt: Option<Arc<()>>,
    /// Spilled rows; those of a process that is ended are removed with it.
    _spilled: TempDir,
}

/// The priority of the process of a statement, once it has one.
#[derive(Debug)]
pub(crate) struct Priority {
    /// What is known of the statement.
    pub(crate) kind: StatementKind,
    /// What the statement is known by ([`KnownStatements`](crate::known::KnownStatements)).
    pub(crate) name: u64,
    state: Mutex<PriorityState>,
    /// The statement among those whose rows take room.
    holder: OnceLock<Arc<Holder>>,
}

#[derive(Debug, Default)]
struct PriorityState {
    process: Option<u32>,
    /// The time since which the statement has it.
    since: Option<Instant>,
    is_low: bool,
}

impl Priority {
    /// The priority of the process of a statement of this kind, which is known by this name.
    pub(super) fn new(kind: StatementKind, name: u64) -> Self {
        Self {
            kind,
            name,
            state: Mutex::default(),
            holder: OnceLock::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, PriorityState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names the statement among those whose rows take room.
    pub(crate) fn set_holder(&self, holder: &Arc<Holder>) {
        // A statement has one turn.
        let _ = self.holder.set(Arc::clone(holder));
    }

    /// The statement among those whose rows take room.
    pub(super) fn holder(&self) -> Arc<Holder> {
        Arc::clone(self.holder.get_or_init(Arc::default))
    }

    /// The statement has this process from now on.
    pub(super) fn set_process(&self, watched: &Watched) {
        *watched.begun.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        *watched
            .holder
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(&self.holder());
        let mut state = self.state();
        state.process = Some(watched.process);
        state.since = Some(Instant::now());
        if state.is_low {
            lower(watched.process);
        }
    }

    /// The time for which the statement has a process; `None` while it has none.
    pub(crate) fn computed_for(&self) -> Option<Duration> {
        self.state().since.map(|since| since.elapsed())
    }

    /// Lowers the priority of its process.
    pub(crate) fn lower(&self) {
        let mut state = self.state();
        state.is_low = true;
        if let Some(process) = state.process {
            lower(process);
        }
    }

    /// Whether it does: a process does not get its place back.
    pub(super) fn is_low(&self) -> bool {
        self.state().is_low
    }
}

/// A worker process is the leader of its process group, whose priority is that of all its threads. A process that has ended needs
/// nothing.
fn lower(process: u32) {
    set_priority(process, behind_server(NICE));
}

/// The priority of a process that is behind the server's own threads by so much: a server may have been started with a lower
/// priority than others, and its statements are not before it.
fn behind_server(nice: i32) -> i32 {
    static SERVER: OnceLock<i32> = OnceLock::new();
    // All threads of the server have the priority that it was started with, but that which looks at the memory.
    let server = SERVER.get_or_init(|| rustix::process::getpriority_process(None).unwrap_or(0));
    server.saturating_add(nice).min(NICE_MAX)
}

fn set_priority(process: u32, nice: i32) {
    let process = i32::try_from(process)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let Some(process) = process {
        let _ = rustix::process::setpriority_pgrp(Some(process), nice);
    }
}

/// The state that the pool watches while the process runs a statement.
#[derive(Debug)]
pub(super) struct Watched {
    process: u32,
    /// Octets of its own memory before its first statement.
    pub(super) base_bytes: AtomicU64,
    /// The statement at work.
    holder: Mutex<Weak<Holder>>,
    /// The time since which it has that.
    begun: Mutex<Instant>,
    /// True when that statement is trivial.
    is_of_constant: AtomicBool,
    /// Why its process was ended, once it was.
    shortage: OnceLock<Shortage>,
    over: Notify,
    /// The folder of the rows that it sets aside.
    spilled: PathBuf,
    /// The handle that ends the process, and no later one with the same number.
    #[cfg(target_os = "linux")]
    handle: Option<std::os::fd::OwnedFd>,
}

impl Watched {
    fn new(process: u32, spilled: &Path) -> Self {
        Self {
            process,
            base_bytes: AtomicU64::new(0),
            holder: Mutex::default(),
            begun: Mutex::new(Instant::now()),
            is_of_constant: AtomicBool::new(false),
            shortage: OnceLock::new(),
            over: Notify::new(),
            spilled: spilled.to_path_buf(),
            #[cfg(target_os = "linux")]
            handle: handle_of(process),
        }
    }

    /// The statement at work.
    pub(super) fn holder(&self) -> Option<Arc<Holder>> {
        let holder = self.holder.lock().unwrap_or_else(PoisonError::into_inner);
        holder.upgrade()
    }

    /// Says whether the statement at work is one of values alone.
    pub(super) fn set_of_constant(&self, is_constant: bool) {
        self.is_of_constant.store(is_constant, Ordering::Relaxed);
    }

    /// Whether the statement at work is trivial.
    pub(super) fn is_of_constant(&self) -> bool {
        self.is_of_constant.load(Ordering::Relaxed)
    }

    /// Ends the statement at work, which holds more than is left. Its process is killed at once, because the reader of its
    /// output may be waiting for its client.
    pub(super) fn end_for(&self, shortage: Shortage) {
        // The first reason stays.
        let _ = self.shortage.set(shortage);
        // The process frees its memory itself, for which it needs processor time. Where raising the priority is not permitted, this
        // takes longer.
        set_priority(self.process, PROMPT);
        #[cfg(target_os = "linux")]
        if let Some(handle) = &self.handle {
            use rustix::process::{Signal, pidfd_send_signal};
            // A process that has ended already needs no signal.
            let _ = pidfd_send_signal(handle, Signal::KILL);
        }
        self.over.notify_one();
    }

    /// What was short when its process was ended, if it was.
    pub(super) fn shortage(&self) -> Option<Shortage> {
        self.shortage.get().copied()
    }

    /// Whether its process was ended for what was short.
    pub(super) fn is_over(&self) -> bool {
        self.shortage().is_some()
    }

    /// Octets of the rows that it has set aside on the disk.
    pub(super) fn spilled_bytes(&self) -> u64 {
        bytes_below(&self.spilled)
    }

    /// Octets of memory that no other process has, as far as the system tells.
    pub(super) fn own_bytes(&self) -> u64 {
        own_bytes(self.process)
    }

    /// Octets of a statement that has just begun, which may take more: as many as many take.
    pub(super) fn expected_bytes(&self) -> u64 {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        match begun.elapsed() < BEGINS_WITHIN && !self.is_over() {
            true => self.own_bytes().max(EXPECTED_BYTES),
            false => self.own_bytes(),
        }
    }

    /// Whether the statement has begun a moment ago.
    pub(super) fn is_new(&self) -> bool {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.elapsed() < NEW_FOR
    }

    /// Octets that its statement has taken.
    pub(super) fn taken_bytes(&self) -> u64 {
        self.own_bytes()
            .saturating_sub(self.base_bytes.load(Ordering::Relaxed))
    }
}

impl Link {
    /// Starts a process, which takes tasks when this is done. The process reserved for statements of values alone has
    /// the priority of the server, and other processes have a lower one.
    pub(super) async fn start(
        program: &WorkerProgram,
        folder: &Folder,
        prompt: Option<Arc<()>>,
    ) -> Result<Self, Failure> {
        let failed = |error: io::Error| {
            let message = format!("a process for the statement cannot be started: {error}");
            Failure::new(FailureKind::Run, message)
        };
        let spilled = folder.within("spilled-").map_err(failed)?;
        let mut command = Command::new(&program.program);
        command
            .args(&program.arguments)
            .env("TMPDIR", spilled.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        for name in &program.secrets {
            command.env_remove(name);
        }
        #[cfg(unix)]
        command.process_group(0).arg0("weir-worker");
        let mut child = command.spawn().map_err(failed)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(io::Error::other("it has no pipes")));
        };
        let mut link = Self {
            watched: Arc::new(Watched::new(child.id().unwrap_or(0), spilled.path())),
            child,
            input,
            output,
            arriving: Arriving::default(),
            session: None,
            prompt,
            _spilled: spilled,
        };
        if link.prompt.is_none() {
            set_priority(link.watched.process, behind_server(BEHIND));
        }
        link.greeted().await?;
        match link.next(Octets::Small).await?.0 {
            Reply::Ready => {
                let base = link.watched.own_bytes();
                link.watched.base_bytes.store(base, Ordering::Relaxed);
                Ok(link)
            }
            _ => Err(wire::broken("it did not report that it is ready")),
        }
    }

    /// Waits for its first line, and passes over what stands before.
    async fn greeted(&mut self) -> Result<(), Failure> {
        let mut received = Vec::new();
        while !received.ends_with(wire::GREETING.as_bytes()) {
            match self.output.read_u8().await {
                Ok(octet) if received.len() < wire::PREFACE_BYTES_MAX => received.push(octet),
                Ok(_) => return Err(wire::broken("it is not a process of this server")),
                Err(_) => return Err(self.ended().await),
            }
        }
        Ok(())
    }

    /// Hands it a task.
    pub(super) async fn give(&mut self, task: Task, octets: Vec<u8>) -> Result<(), Failure> {
        self.send(&Request::Task(Box::new(task)), octets).await
    }

    async fn send(&mut self, request: &Request, octets: Vec<u8>) -> Result<(), Failure> {
        let frame = wire::Frame::new(request, octets);
        let frame = frame.map_err(|error| wire::broken(&error.to_string()))?;
        // The process may report why it ended in the middle of a long text.
        let sent = async {
            self.input.write_all(&frame.front).await?;
            self.input.write_all(&frame.octets).await?;
            self.input.flush().await
        };
        match sent.await {
            Ok(()) => Ok(()),
            Err(_) => Err(self.ended().await),
        }
    }

    /// The next message of the process. Large contents are read when there is room for them.
    ///
    /// # Errors
    /// When the process has ended, or holds too much memory.
    pub(super) async fn next(&mut self, octets: Octets<'_>) -> Result<Received, Failure> {
        let watched = Arc::clone(&self.watched);
        let read = tokio::select! {
            biased;
            () = watched.over.notified() => {
                let _ = self.child.start_kill();
                return Err(watched.shortage().unwrap_or(Shortage::Memory).failure());
            }
            read = read_frame(&mut self.output, &mut self.arriving, octets) => read,
        };
        match read {
            Ok(frame) => Ok(frame),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(wire::broken(&error.to_string()))
            }
            Err(_) => Err(self.ended().await),
        }
    }

    /// Brings the task at work to its end.
    pub(super) async fn cancel(&mut self, grace: Duration) -> Cancelled {
        let ended = async {
            self.send(&Request::Cancel, Vec::new()).await?;
            loop {
                match self.next(Octets::Dropped).await?.0 {
                    Reply::Occupied => return Ok::<_, Failure>(Cancelled::Occupied),
                    Reply::End { .. } | Reply::Failed(_) | Reply::Described { .. } => {
                        return Ok(Cancelled::Free);
                    }
                    _ => {}
                }
            }
        };
        match tokio::time::timeout(grace, ended).await {
            Ok(Ok(cancelled)) => cancelled,
            Ok(Err(_)) => Cancelled::Gone,
            Err(_) => Cancelled::Occupied,
        }
    }

    /// Ends the process, and removes what it was writing into these folders.
    pub(super) async fn end(mut self, written: Vec<PathBuf>) {
        let _ = self.child.start_kill();
        // The files that it writes until it has ended are removed with the rest.
        let _ = self.child.wait().await;
        let process = self.watched.process;
        for folder in &written {
            weir_engine::remove_left_by(process, folder);
        }
    }

    /// Why a process is not there any more.
    async fn ended(&mut self) -> Failure {
        if let Some(shortage) = self.watched.shortage() {
            return shortage.failure();
        }
        let status = tokio::time::timeout(ENDS_WITHIN, self.child.wait()).await;
        let how = match status {
            Ok(Ok(status)) => status.to_string(),
            _ => "its output is closed".to_owned(),
        };
        let message = format!("the process of the statement ended: {how}");
        Failure::new(FailureKind::Limit, message).with_hint(
            "it most likely needed more memory than available: group, filter or shorten its values",
        )
    }
}

/// Octets of memory that the server's own process has and no other.
pub(super) fn own_bytes_of_server() -> u64 {
    own_bytes(std::process::id())
}

/// Octets of memory that a process has and no other, as far as the system tells.
fn own_bytes(process: u32) -> u64 {
    let pages = std::fs::read_to_string(format!("/proc/{process}/statm"));
    let pages = pages.unwrap_or_default();
    let mut pages = pages
        .split(' ')
        .skip(1)
        .map(|pages| pages.parse::<u64>().unwrap_or(0));
    let (resident, shared) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
    resident.saturating_sub(shared).saturating_mul(PAGE_BYTES)
}

/// Octets of the files in a folder, and in those below it.
fn bytes_below(folder: &Path) -> u64 {
    let mut folders = vec![folder.to_path_buf()];
    let mut bytes = 0_u64;
    while let Some(folder) = folders.pop() {
        // What is removed meanwhile has none.
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(entry.path()),
                Ok(metadata) => bytes = bytes.saturating_add(metadata.len()),
                Err(_) => {}
            }
        }
    }
    bytes
}

/// What all statements have too little of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shortage {
    Memory,
    Disk,
}

impl Shortage {
    /// The failure of a statement whose process was ended for it.
    fn failure(self) -> Failure {
        let (kind, message, hint) = match self {
            Self::Memory => (
                FailureKind::Memory,
                "out of memory: the running statements held more than --memory-limit allows, and this one held most",
                "group or filter before values are collected, or shorten long ones with substr()",
            ),
            Self::Disk => (
                FailureKind::Disk,
                "out of disk space: the running statements have set more rows aside than they leave free, and this one most",
                "filter before rows are sorted, grouped or joined, or select fewer columns",
            ),
        };
        Failure::new(kind, message).with_hint(hint)
    }
}

/// What has become of a process whose task was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cancelled {
    /// It can take another.
    Free,
    /// The task goes on.
    Occupied,
    /// It has ended, or was killed for the memory of all.
    Gone,
}

/// A message, the octets behind it, and their place among those that are counted.
pub(super) type Received = (Reply, Vec<u8>, Option<Counted>);

/// The way in which the octets behind a message are read.
#[derive(Clone, Copy)]
pub(super) enum Octets<'o> {
    /// The octets are read when there is room for them.
    Counted(&'o Arc<Turns>, &'o Arc<Holder>),
    /// There are few octets.
    Small,
    /// The octets are discarded.
    Dropped,
}

/// A message of which a part has come. One whose reading is given up, as its statement is, is read on by the next.
#[derive(Debug, Default)]
struct Arriving {
    head: Vec<u8>,
    text: Vec<u8>,
    octets: Vec<u8>,
    counted: Option<Counted>,
}

/// Reads the next message, of which a part may have come before.
async fn read_frame(
    output: &mut (impl AsyncRead + Unpin),
    arriving: &mut Arriving,
    wanted: Octets<'_>,
) -> io::Result<Received> {
    fill(output, &mut arriving.head, HEAD_BYTES).await?;
    let head = <[u8; HEAD_BYTES]>::try_from(arriving.head.as_slice());
    let (text_len, octets_len) = wire::lens(head.map_err(io::Error::other)?)?;
    fill(output, &mut arriving.text, text_len).await?;
    if let Octets::Counted(turns, holder) = wanted
        && octets_len > SMALL_BYTES
        && arriving.counted.is_none()
    {
        let bytes = octets_len.saturating_mul(COPIES);
        arriving.counted = Some(turns.reserve(bytes, holder).await);
    }
    match wanted {
        Octets::Dropped => {
            let rest = octets_len.saturating_sub(arriving.octets.len()) as u64;
            let read = tokio::io::copy(&mut output.take(rest), &mut tokio::io::sink()).await?;
            if read < rest {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            arriving.octets = Vec::new();
        }
        _ => fill(output, &mut arriving.octets, octets_len).await?,
    }
    let arrived = std::mem::take(arriving);
    let message = serde_json::from_slice(&arrived.text);
    let message = message.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    Ok((message, arrived.octets, arrived.counted))
}

/// Reads on until there are `len` octets.
async fn fill(
    output: &mut (impl AsyncRead + Unpin),
    octets: &mut Vec<u8>,
    len: usize,
) -> io::Result<()> {
    octets.reserve_exact(len.saturating_sub(octets.len()));
    while octets.len() < len {
        let mut rest = (&mut *output).take((len - octets.len()) as u64);
        // What was read is in `octets` whenever this is given up.
        if rest.read_buf(octets).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn handle_of(process: u32) -> Option<std::os::fd::OwnedFd> {
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    let process = Pid::from_raw(i32::try_from(process).ok()?)?;
    // On systems without process handles, the process ends when its reader notices.
    pidfd_open(process, PidfdFlags::empty()).ok()
}

/// The priority of processes of statements behind that of the server, as `nice` counts it: the server's own threads go first.
const BEHIND: i32 = 3;
/// The priority of a process whose statement has stepped aside. Sixty-four of them leave one that begins a quarter of a core of two; at 10 it was
/// a ninth.
const NICE: i32 = 15;
/// The lowest priority.
const NICE_MAX: i32 = 19;
/// The priority of processes that are to end at once, and of the thread that looks at the memory.
pub(super) const PROMPT: i32 = -10;
/// The time for which a statement is counted with its expected memory.
const BEGINS_WITHIN: Duration = Duration::from_millis(500);
/// The time for which a statement is new: where memory is short, others that hold little are ended before it.
const NEW_FOR: Duration = Duration::from_secs(1);
/// Octets that a statement with its process is expected to take.
const EXPECTED_BYTES: u64 = 48 << 20;
/// Octets of a page, as `/proc` counts them on the platforms that have it.
const PAGE_BYTES: u64 = 4096;
/// Rows that are not counted: so many bytes of each connection are of no account.
const SMALL_BYTES: usize = 64 << 10;
/// The factor of rows on their way to a client: the rows, their columns in the form of the protocol, the message, and the send
/// buffer.
const COPIES: usize = 3;
/// The time in which a process whose output is closed has to end.
const ENDS_WITHIN: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    /// A statement that was given up between the parts of a message left a process of which nothing more was understood.
    #[tokio::test]
    async fn a_message_whose_reading_was_given_up_is_read_on() {
        let (mut input, mut output) = tokio::io::duplex(1 << 16);
        let frame = wire::Frame::new(&Reply::Rows, b"octets".to_vec()).unwrap();
        let bytes = [frame.front, frame.octets].concat();
        for cut in 0..bytes.len() {
            for (wanted, expected) in [(Octets::Small, "octets"), (Octets::Dropped, "")] {
                let mut arriving = Arriving::default();
                input.write_all(&bytes[..cut]).await.unwrap();
                let read = read_frame(&mut output, &mut arriving, Octets::Small).now_or_never();
                assert!(read.is_none(), "{cut}");
                input.write_all(&bytes[cut..]).await.unwrap();
                let read = read_frame(&mut output, &mut arriving, wanted).await;
                let (reply, octets, _) = read.unwrap();
                assert!(matches!(reply, Reply::Rows), "{cut}: {reply:?}");
                assert_eq!(octets, expected.as_bytes(), "{cut}");
            }
        }
    }

    #[test]
    fn rows_that_are_set_aside_are_counted_in_all_folders() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(bytes_below(folder.path()), 0);
        let within = folder.path().join("datafusion-1/more");
        std::fs::create_dir_all(&within).unwrap();
        std::fs::write(folder.path().join("one"), [0; 10]).unwrap();
        std::fs::write(within.join("other"), [0; 5]).unwrap();
        assert_eq!(bytes_below(folder.path()), 15);
        assert_eq!(bytes_below(&folder.path().join("none")), 0);
    }
}
