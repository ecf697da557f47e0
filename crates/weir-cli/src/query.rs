//! `weir query`: SQL in, rows out.

use std::io::{self, IsTerminal, Read, Write};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;

use weir_packet::ErfHdlc;

use crate::args::{Global, Hdlc, Query, Refusal};
use crate::message::Messages;
use crate::session::{Failure, LazyFile, Reader, Session};

/// Answers the statements one after the other.
pub(crate) fn run(
    query: &Query,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    let session = Session::new(
        &options(query),
        messages,
        !query.no_progress && !global.quiet,
    )?;
    let mut statements = Vec::new();
    match &query.file {
        Some(file) => statements.extend(session.parse(&read_sql(file)?)?),
        None => {
            for sql in &query.sql {
                statements.extend(session.parse(sql)?);
            }
        }
    }
    if statements.is_empty() {
        return Err(Refusal::usage("no statement", "write: weir query \"SELECT …\"").into());
    }
    let count = statements.len();
    for (index, statement) in statements.into_iter().enumerate() {
        let file = query.output.file(index, count)?;
        let stdout_terminal = io::stdout().is_terminal();
        let output = query.output.options(file, stdout_terminal, global.color);
        let shared = file.is_some() && query.output.output.len() == 1;
        if shared && count > 1 && output.format.is_binary() {
            return Err(Refusal::usage(
                format!("{count} statements do not fit into one binary file"),
                "give one -o for each statement",
            )
            .into());
        }
        let out: Box<dyn Write + Send> = match file {
            Some(path) => Box::new(LazyFile::new(path, shared && index > 0)),
            None => Box::new(io::stdout()),
        };
        if index > 0 && output.terminal {
            println!();
        }
        match session.answer(statement, &output, out) {
            Ok(Reader::Listens) => {}
            Ok(Reader::Gone) => return Ok(ExitCode::SUCCESS),
            Err(failure) => {
                // What was found damaged until here is still said, before the failure.
                session.close(query.stats);
                return Err(failure);
            }
        }
    }
    Ok(session.close(query.stats))
}

fn options(query: &Query) -> weir_engine::Options {
    let mut options = weir_engine::Options::default();
    options.threads = query.threads.map(NonZeroUsize::get);
    options.memory_limit_bytes = query.memory_limit;
    options.merge = query.merge;
    options.decode.erf_hdlc = match query.hdlc {
        Hdlc::Guess => ErfHdlc::Guess,
        Hdlc::Chdlc => ErfHdlc::Chdlc,
        Hdlc::Ppp => ErfHdlc::Ppp,
        Hdlc::FrameRelay => ErfHdlc::FrameRelay,
        Hdlc::Mtp2 => ErfHdlc::Mtp2,
    };
    options
}

fn read_sql(path: &Path) -> Result<String, Failure> {
    if path.as_os_str() != "-" {
        return std::fs::read_to_string(path).map_err(|error| Failure::file(path, &error));
    }
    let mut sql = String::new();
    io::stdin()
        .read_to_string(&mut sql)
        .map_err(|error| Failure::environment(format!("standard input: {error}")))?;
    Ok(sql)
}
