//! `weir query`: SQL in, rows out.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Read, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_engine::{Compile, Statement};
use weir_packet::ErfHdlc;

use crate::args::{Global, Hdlc, Query};
#[cfg(feature = "cluster")]
use crate::cluster::ClusterHandle;
use crate::encoder::FileEncoder;
use crate::failure::Failure;
use crate::message::Messages;
use crate::refusal::Refusal;
use crate::session::{AnswerEnd, Apart, Heed, Reader, Session};
use crate::signals::Interrupts;
use crate::target::Target;
use crate::watch::Refresh;

/// Answers the statements one after the other.
pub(crate) fn run(query: &Query, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    #[cfg_attr(not(feature = "cluster"), expect(unused_mut))]
    let mut options = options(query, global);
    #[cfg(feature = "cluster")]
    let cluster = match &query.cluster {
        Some(name) => {
            let (threads, memory) = (options.threads, options.memory_limit_bytes);
            let cluster = ClusterHandle::at(name, &query.known, threads, memory, messages)?;
            options.cluster = Some(cluster.client());
            Some(cluster)
        }
        None => None,
    };
    #[cfg(not(feature = "cluster"))]
    if query.cluster.is_some() {
        return Err(crate::absent::refusal("'--cluster'"));
    }
    #[cfg(feature = "cluster")]
    let _settle = Settle(cluster.as_ref());
    // A query that runs on a cluster must be cancelled there.
    let interrupts = options.cluster.as_ref().map(|_| Interrupts::begin());
    let session = Session::new(&options, messages, !query.no_progress && !global.quiet)?;
    let mut statements = statements(query, &session)?;
    // Statements such as CREATE VIEW have no answer to put anywhere.
    let give_rows: Vec<bool> = statements.iter().map(Statement::gives_rows).collect();
    let answers = give_rows.iter().filter(|gives_rows| **gives_rows).count();
    let terminal = io::stdout().is_terminal();
    let mut places = AnswerPlaces {
        query,
        global,
        terminal,
        answers,
        targets: targets(query, answers, global, messages)?,
        index: 0,
        written: Arc::new(AtomicBool::new(false)),
    };
    let refresh = Refresh {
        every: query.every.or(terminal.then_some(Refresh::EVERY)),
    };
    let mut planned = VecDeque::new();
    for gives_rows in give_rows {
        let AnswerPlace { output, out, own } = places.next(gives_rows)?;
        // Queries that follow each other are planned together: they may share a reading.
        let outcome = match planned.is_empty() {
            true => session
                .plan_next(&mut statements)
                .map(|next| planned = next),
            false => Ok(()),
        };
        let outcome = outcome.and_then(|()| match planned.pop_front() {
            Some(next) => {
                let heed = Heed {
                    each: &mut |_| {},
                    interrupts: interrupts.clone(),
                };
                let answered = session.answer_heeding(next, &output, out, refresh, heed);
                answered.map(|answered| reader_of(answered, query, messages))
            }
            None => Ok(Reader::Listens),
        });
        match outcome {
            // An output with a file of its own is complete here; a file for all answers is complete after the last one.
            Ok(Reader::Listens) => places.keep_own(own)?,
            Ok(Reader::Gone) => return Ok(ExitCode::SUCCESS),
            Err(failure) => {
                places.give_up(messages);
                // Damage found so far is reported before the failure.
                session.close(query.stats);
                return Err(failure);
            }
        }
    }
    places.keep()?;
    Ok(session.close(query.stats))
}

/// The reader of an answer, which may be gone. A note is written where --follow had no growing file.
fn reader_of(answered: AnswerEnd, query: &Query, messages: Messages) -> Reader {
    if query.follow && !answered.is_growing {
        messages.note(
            "--follow is for captures in files that grow; this statement reads none, and its answer is complete",
        );
    }
    answered.reader
}

/// The statements of the file, or those of the command line.
fn statements(query: &Query, session: &Session) -> Result<VecDeque<Statement>, Failure> {
    let mut statements = VecDeque::new();
    match &query.file {
        Some(file) => {
            if file.as_os_str() == "-" {
                session.take_stdin();
            }
            statements.extend(session.parse(&read_sql(file)?)?);
        }
        None => {
            for sql in &query.sql {
                statements.extend(session.parse(sql)?);
            }
        }
    }
    if statements.is_empty() {
        return Err(Refusal::usage("no statement", "write: weir query \"SELECT …\"").into());
    }
    Ok(statements)
}

/// The destinations of answers in sequence.
struct AnswerPlaces<'q> {
    query: &'q Query,
    global: Global,
    /// Standard output is a terminal.
    terminal: bool,
    /// The number of answers.
    answers: usize,
    targets: Vec<Target>,
    /// The index of the next answer, from 0.
    index: usize,
    /// Something was written to the output that several answers share.
    written: Arc<AtomicBool>,
}

/// The destination of one answer.
struct AnswerPlace {
    output: weir_output::OutputOptions,
    out: Box<dyn Write + Send>,
    /// The target that is for this answer alone.
    own: Option<usize>,
}

impl AnswerPlaces<'_> {
    /// The place of the next statement's answer.
    fn next(&mut self, gives_rows: bool) -> Result<AnswerPlace, Failure> {
        let (answers, index) = (self.answers, self.index);
        let given = &self.query.output;
        let file = given.file(index, answers)?;
        let output = given.options(file, self.terminal, self.global.color);
        let shared = file.is_none() || given.output.len() == 1;
        if shared && answers > 1 && output.holds_one() {
            return Err(Refusal::usage(
                format!(
                    "{answers} results cannot be written to one {} output",
                    output.what()
                ),
                "give one -o for each statement",
            )
            .into());
        }
        let out: Box<dyn Write + Send> = match file {
            _ if !gives_rows => Box::new(io::sink()),
            Some(_) => match self.targets.get(if shared { 0 } else { index }) {
                Some(target) => Box::new(target.clone()),
                None => Box::new(io::stdout()),
            },
            None => Box::new(io::stdout()),
        };
        let apart = shared && gives_rows && output.format.is_set_apart();
        let out = match apart {
            true => Box::new(Apart::new(out, &self.written)),
            false => out,
        };
        self.index += usize::from(gives_rows);
        let own = gives_rows && file.is_some() && !shared;
        Ok(AnswerPlace {
            output,
            out,
            own: own.then_some(index),
        })
    }

    /// Renames the file of a single answer to its final name.
    fn keep_own(&self, own: Option<usize>) -> Result<(), Failure> {
        match own.and_then(|own| self.targets.get(own)) {
            Some(target) => target.keep(),
            None => Ok(()),
        }
    }

    fn keep(self) -> Result<(), Failure> {
        for target in self.targets {
            target.keep()?;
        }
        Ok(())
    }

    fn give_up(&mut self, messages: Messages) {
        for target in self.targets.drain(..) {
            target.give_up(messages);
        }
    }
}

/// Waits at the end until a cluster has heard that all statements have ended, those among them that were given up.
#[cfg(feature = "cluster")]
struct Settle<'c>(Option<&'c ClusterHandle>);

#[cfg(feature = "cluster")]
impl Drop for Settle<'_> {
    fn drop(&mut self) {
        if let Some(cluster) = self.0 {
            cluster.settle();
        }
    }
}

/// The files of the answers, made before anything is read; each has its name when it is whole.
fn targets(
    query: &Query,
    answers: usize,
    global: Global,
    messages: Messages,
) -> Result<Vec<Target>, Failure> {
    let mut targets = Vec::new();
    let count = query.output.output.len().min(answers);
    for index in 0..count {
        // Standard output has its place in the list, too.
        let path = query.output.file(index, answers)?;
        if let Some(note) = query.output.note(path) {
            messages.note(&note);
        }
        let path = path.unwrap_or(Path::new("/dev/null"));
        targets.push(match query.follow {
            true => Target::growing(path, global)?,
            false => Target::new(path, global)?,
        });
    }
    Ok(targets)
}

fn options(query: &Query, global: Global) -> weir_engine::Options {
    let mut options = weir_engine::Options::default();
    options.overwrite = global.overwrite;
    options.encoder = Some(Arc::new(FileEncoder));
    options.threads = query.resources.threads.map(NonZeroUsize::get);
    options.memory_limit_bytes = query.resources.memory_limit;
    options.unfused = query.unfused;
    if query.no_compile {
        options.compile = Compile::Never;
    }
    options.merge = query.merge;
    options.lateness = query.lateness;
    options.time_zone = query.zone.time_zone.clone();
    options.geoip.clone_from(&query.resources.databases.geoip);
    options.follow = query.follow;
    options.decode.erf_hdlc = match query.hdlc {
        Hdlc::Guess => ErfHdlc::Guess,
        Hdlc::Chdlc => ErfHdlc::Chdlc,
        Hdlc::Ppp => ErfHdlc::Ppp,
        Hdlc::FrameRelay => ErfHdlc::FrameRelay,
        Hdlc::Mtp2 => ErfHdlc::Mtp2,
    };
    options
}

/// The text of a file of statements, '-' being standard input.
pub(crate) fn read_sql(path: &Path) -> Result<String, Failure> {
    if path.as_os_str() != "-" {
        return std::fs::read_to_string(path).map_err(|error| Failure::statements(path, &error));
    }
    let mut sql = String::new();
    io::stdin()
        .read_to_string(&mut sql)
        .map_err(|error| Failure::statements(Path::new("standard input"), &error))?;
    Ok(sql)
}
