//! Statements at work: run, written, watched and reported on.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use arrow::array::RecordBatch;
use tokio::runtime::Runtime;
use weir_engine::{Engine, Planned, Statement};
use weir_tables::Totals;

use crate::failure::Failure;
use crate::message::Messages;
use crate::progress::{Done, Progress};
use crate::signals::{self, Interrupts};
use crate::watch::{self, Refresh};
use weir_output::{self as output, OutputState, Writer, grouped};

/// An engine, the threads it runs on, and the messages to the user meanwhile.
pub(crate) struct Session {
    runtime: Runtime,
    engine: Engine,
    messages: Messages,
    progress: bool,
    since: Mutex<Since>,
    /// Whether the handlers of signals are installed.
    ends_on_interrupt: AtomicBool,
    /// Whether the note about the speed of a debug build was printed.
    named_debug_build: AtomicBool,
}

/// The counts at the beginning of the next report.
struct Since {
    totals: Totals,
    planned_bytes: u64,
    started: Instant,
}

/// The observers of an answer beside its output.
pub(crate) struct Heed<'h> {
    /// Gets every batch that is written.
    pub(crate) each: &'h mut dyn FnMut(&RecordBatch),
    /// Ends the answer when it is set.
    pub(crate) interrupts: Option<Interrupts>,
}

/// The outcome of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AnswerEnd {
    /// Whether more rows are read.
    pub(crate) reader: Reader,
    /// The rows that it gave.
    pub(crate) rows: u64,
    /// Whether it came from a source that still grew.
    pub(crate) is_growing: bool,
}

/// Whether the rows of further statements are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// The rows of further statements are read.
    Listens,
    /// The program that read the output has gone.
    Gone,
}

impl Session {
    /// A session; `progress` draws a bar when standard error is a terminal.
    pub(crate) fn new(
        options: &weir_engine::Options,
        messages: Messages,
        progress: bool,
    ) -> Result<Self, Failure> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        if let Some(threads) = options.threads {
            builder.worker_threads(threads);
        }
        let runtime = builder
            // Plans of many steps are walked recursively.
            .thread_stack_size(STACK_BYTES)
            .build()
            .map_err(|error| Failure::environment(format!("cannot start threads: {error}")))?;
        Ok(Self {
            runtime,
            engine: Engine::new(options)?,
            messages,
            progress: progress && io::stderr().is_terminal(),
            since: Mutex::new(Since {
                totals: Totals::default(),
                planned_bytes: 0,
                started: Instant::now(),
            }),
            ends_on_interrupt: AtomicBool::new(false),
            named_debug_build: AtomicBool::new(false),
        })
    }

    /// Parses a text of statements.
    pub(crate) fn parse(&self, sql: &str) -> Result<Vec<Statement>, Failure> {
        Ok(self.engine.parse(sql)?)
    }

    /// The engine that runs the statements.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Keeps statements from reading standard input, which gives the SQL.
    pub(crate) fn take_stdin(&self) {
        self.engine.scan_report().take_stdin();
    }

    /// The first Ctrl-C ends sources without an end, so that the final answer is given; the
    /// second ends the program.
    pub(crate) fn end_on_interrupt(&self) {
        if !self.ends_on_interrupt.swap(true, Ordering::Relaxed) {
            signals::end_gracefully(self.engine.stop().flag());
        }
    }

    /// Plans the first of these statements, and with it those behind it that may be answered from the same
    /// reading; takes them out of the list.
    pub(crate) fn plan_next(
        &self,
        statements: &mut VecDeque<Statement>,
    ) -> Result<VecDeque<Planned>, Failure> {
        let planned = self.runtime.block_on(self.engine.plan_next(statements))?;
        Ok(planned.into())
    }

    /// Answers one statement into `out`; groups of sources that still grow are shown now and then.
    pub(crate) fn answer(
        &self,
        planned: Planned,
        options: &output::OutputOptions,
        out: Box<dyn Write + Send>,
        refresh: Refresh,
    ) -> Result<Reader, Failure> {
        let heed = Heed {
            each: &mut |_| {},
            interrupts: None,
        };
        let answered = self.answer_heeding(planned, options, out, refresh, heed)?;
        Ok(answered.reader)
    }

    /// The same as [`Session::answer`], with hooks of the shell.
    pub(crate) fn answer_heeding(
        &self,
        planned: Planned,
        options: &output::OutputOptions,
        out: Box<dyn Write + Send>,
        refresh: Refresh,
        heed: Heed<'_>,
    ) -> Result<AnswerEnd, Failure> {
        let progress = self.watched();
        let out: Box<dyn Write + Send> = match options.is_file {
            true => out,
            false => Box::new(progress.before(out)),
        };
        let Heed { each, interrupts } = heed;
        let mut is_growing = false;
        let work = async {
            let mut answer = self.engine.start(planned)?;
            self.name_debug_build();
            is_growing = answer.is_growing();
            if is_growing {
                progress.finish();
                self.end_on_interrupt();
                let when = match (answer.streams(), answer.snapshot().is_some()) {
                    (true, _) => "rows are shown as they arrive",
                    (false, true) if refresh.every.is_some() => {
                        "groups are shown while they are computed"
                    }
                    _ => "the answer is shown at the end",
                };
                self.messages.note(&format!("{when}; Ctrl-C ends it"));
                return watch::write(answer, options, out, refresh).await;
            }
            let mut writer = Writer::new(options, Arc::clone(answer.schema()), out)?;
            while let Some(batch) = answer.next().await? {
                if writer.write(&batch)? == OutputState::Closed {
                    break;
                }
                each(&batch);
                if interrupts.as_ref().is_some_and(Interrupts::came) {
                    return Err(Failure::interrupted());
                }
            }
            Ok::<_, Failure>(writer.finish()?)
        };
        let outcome = self.runtime.block_on(until(interrupts.clone(), work));
        // Ends the reading of sources without an end: their rows are not needed any more.
        self.engine.stop().request();
        progress.finish();
        let summary = outcome?;
        for note in summary.notes() {
            self.messages.note(&note);
        }
        Ok(AnswerEnd {
            reader: match summary.closed {
                true => Reader::Gone,
                false => Reader::Listens,
            },
            rows: summary.rows,
            is_growing,
        })
    }

    /// Plans one statement, unless the user interrupts it.
    pub(crate) fn plan(
        &self,
        statement: Statement,
        interrupts: Option<Interrupts>,
    ) -> Result<Option<Planned>, Failure> {
        let mut statements = VecDeque::from([statement]);
        self.runtime.block_on(until(interrupts, async {
            Ok(self.engine.plan_next(&mut statements).await?.pop())
        }))
    }

    /// Prints a note once that a debug build is slow, when it reads much.
    fn name_debug_build(&self) {
        let report = self.engine.scan_report();
        let read = report.counters().totals().source_bytes;
        let is_much = report.planned_bytes().max(read) > DEBUG_BYTES_MAX;
        if env!("WEIR_PROFILE") == "debug"
            && is_much
            && !self.named_debug_build.swap(true, Ordering::Relaxed)
        {
            self.messages.note(
                "this is a debug build, which reads several times more slowly than a release build: \
                 'cargo install --path crates/weir-cli' makes one",
            );
        }
    }

    fn since(&self) -> std::sync::MutexGuard<'_, Since> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows the progress of reading, where that is enabled.
    fn watched(&self) -> Progress {
        let scan_report = Arc::clone(self.engine.scan_report());
        let (before, planned_before) = {
            let since = self.since();
            (since.totals, since.planned_bytes)
        };
        Progress::start(self.progress, move || {
            let totals = scan_report.counters().totals().since(&before);
            let planned = scan_report.planned_bytes().saturating_sub(planned_before);
            let elsewhere = scan_report.under_way();
            let there = elsewhere.unwrap_or_default();
            Done {
                bytes: totals.source_bytes.saturating_add(there.source_bytes),
                records: totals.records.saturating_add(there.records),
                bytes_total: (planned > 0).then_some(planned),
                pieces: elsewhere.map(|there| (there.pieces, there.pieces_all)),
            }
        })
    }

    /// Answers one statement, and calls `each` with its batches.
    pub(crate) fn batches(
        &self,
        statement: Statement,
        mut each: impl FnMut(&RecordBatch) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let progress = self.watched();
        let outcome = self.runtime.block_on(async {
            let mut answer = self.engine.answer(statement).await?;
            while let Some(batch) = answer.next().await? {
                each(&batch)?;
            }
            Ok(())
        });
        progress.finish();
        outcome
    }

    /// Reports damage, and with `stats` what was read; returns the exit status.
    pub(crate) fn close(self, stats: bool) -> ExitCode {
        ExitCode::from(u8::from(self.report(stats)))
    }

    /// Reports damage since the last report, and with `stats` what was read; true for damage.
    pub(crate) fn report(&self, stats: bool) -> bool {
        let now = self.engine.scan_report().counters().totals();
        let since = std::mem::replace(
            &mut *self.since(),
            Since {
                totals: now,
                planned_bytes: self.engine.scan_report().planned_bytes(),
                started: Instant::now(),
            },
        );
        let totals = now.since(&since.totals);
        self.name_debug_build();
        for note in self.engine.scan_report().take_notes() {
            self.messages.note(&note);
        }
        let mut errors = self.engine.scan_report().take_errors();
        // Files are read in parallel; the order of their errors must not differ from run to run.
        errors.sort_by(|one, other| one.path.cmp(&other.path));
        for error in &errors {
            self.messages.error(&error.to_string());
            if let Some(hint) = error.hint() {
                self.messages.hint(&hint);
            }
        }
        if totals.unknown_link > 0 {
            self.messages.warning(&format!(
                "{} of {} records have a link type that is not decoded; SELECT frame.link_type_name, count(*) … GROUP BY 1 shows which",
                grouped(totals.unknown_link),
                grouped(totals.records),
            ));
        }
        let stopped = totals.stopped.saturating_sub(totals.unknown_link);
        if stopped > 0 {
            self.messages.note(&format!(
                "{} of {} records are cut or damaged inside and decoded as far as they go; frame.stopped says why",
                grouped(stopped),
                grouped(totals.records),
            ));
        }
        for note in totals.notes_of_times() {
            self.messages.warning(&note);
        }
        if stats {
            let seconds = since.started.elapsed().as_secs_f64();
            let rate = |number: u64| {
                // A rate is for the eye: the precision of a double is plenty.
                number as f64 / seconds.max(1e-9) / 1e6
            };
            let compiled = match totals.compiled {
                0 => String::new(),
                compiled => format!(", {} by compiled code", grouped(compiled)),
            };
            let readers = match self.engine.scan_report().take_readers() {
                0 => String::new(),
                1 => ", read by 1 executor".to_owned(),
                readers => format!(", read by {readers} executors"),
            };
            let build = env!("WEIR_PROFILE");
            self.messages.note(&format!(
                "{} records, {} bytes in {seconds:.3} s ({:.2} M records/s, {:.1} MB/s); {} dropped by predicates, {} stopped, {} of unknown link type{compiled}{readers}; {build} build",
                grouped(totals.records),
                grouped(totals.bytes),
                rate(totals.records),
                rate(totals.bytes),
                grouped(totals.dropped),
                grouped(totals.stopped),
                grouped(totals.unknown_link),
            ));
            if totals.compile_refused > 0 {
                self.messages
                    .note("the system gives no memory for machine code: nothing was compiled");
            }
        }
        !errors.is_empty()
    }
}

/// Runs a future until it is done or the user interrupts it.
async fn until<T>(
    interrupts: Option<Interrupts>,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let Some(mut interrupts) = interrupts else {
        return work.await;
    };
    tokio::select! {
        biased;
        () = interrupts.next() => Err(Failure::interrupted()),
        done = work => done,
    }
}

/// Puts an empty line between results that share an output.
pub(crate) struct Apart {
    out: Box<dyn Write + Send>,
    written: Arc<AtomicBool>,
    is_first_byte: bool,
}

impl Apart {
    /// An output after others that share `written`.
    pub(crate) fn new(out: Box<dyn Write + Send>, written: &Arc<AtomicBool>) -> Self {
        Self {
            out,
            written: Arc::clone(written),
            is_first_byte: true,
        }
    }
}

impl Write for Apart {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_first_byte && !bytes.is_empty() {
            if self.written.load(Ordering::Relaxed) {
                self.out.write_all(b"\n")?;
            }
            self.is_first_byte = false;
            self.written.store(true, Ordering::Relaxed);
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Bytes of captures that a debug build reads before the note about its speed.
const DEBUG_BYTES_MAX: u64 = 1_000_000_000;
const STACK_BYTES: usize = 16 << 20;
