//! `weir shell`: questions one after the other, at a terminal or from a script.
//!
//! [`Work`] does what lines ask, and knows no terminal; [`editor`] reads lines at one. A script is answered the
//! same for every user: the files of a user's home (`places`) are for the terminal only.

mod catalog;
mod commands;
mod complete;
mod config;
mod editor;
mod highlight;
mod hint;
mod input;
mod latest;
mod named_tables;
mod pager;
mod places;
mod views;
mod work;

use std::io::{self, IsTerminal, Read};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use crate::args::{Global, Resources, RowLimit, Zone, parse_rows};
use crate::encoder::FileEncoder;
use crate::failure::Failure;
use crate::message::Messages;
use crate::session::Session;
use weir_output::Format;

use config::Config;
use input::{InputPiece, PendingLines};
use places::Places;
use work::{Next, ShellSettings, Work};

/// `weir shell`.
#[derive(Args, Debug)]
#[command(
    about = "Run queries interactively at a terminal",
    long_about = "Run queries interactively at a terminal.\n\n\
        Statements may span several lines and end with ';'. Tab completes columns with their meaning, functions, \
        tables and files. '.help' lists the commands that begin with a dot. The rows of the last answer are the \
        table _.\n\n\
        Input from a file or a pipe (weir < questions.sql) runs as a script, up to the first failure.",
    after_help = EXAMPLES
)]
pub(crate) struct Shell {
    /// A capture to open: its packets are the table packets
    pub(crate) file: Option<String>,
    /// Format of the rows [default: table on a terminal, csv in a pipe]
    #[arg(long, value_name = "FORMAT", help_heading = "Output")]
    pub(crate) format: Option<Format>,
    /// Maximum rows of a table on a terminal, or 'all' [default: 40, or all with a pager]
    #[arg(long, value_name = "N", value_parser = parse_rows, help_heading = "Output")]
    pub(crate) rows: Option<RowLimit>,
    #[command(flatten)]
    pub(crate) zone: Zone,
    /// The limits and databases of a query.
    #[command(flatten)]
    pub(crate) resources: Resources,
    /// Ignore the settings, statements, views and history of the user
    #[arg(long)]
    pub(crate) no_config: bool,
}

impl Shell {
    /// The shell that `weir` alone is.
    pub(crate) fn plain() -> Self {
        Self {
            file: None,
            format: None,
            rows: None,
            zone: Zone {
                time_zone: std::env::var("WEIR_TZ").ok(),
            },
            resources: Resources::default(),
            no_config: false,
        }
    }

    fn options(&self, config: &Config, global: Global) -> weir_engine::Options {
        let mut options = weir_engine::Options::default();
        options.overwrite = global.overwrite;
        options.encoder = Some(Arc::new(FileEncoder));
        options.threads = self
            .resources
            .threads
            .or(config.threads)
            .map(NonZeroUsize::get);
        options.memory_limit_bytes = self.resources.memory_limit.or(config.memory_limit);
        options.time_zone = self.zone.time_zone.clone().or(config.time_zone.clone());
        let geoip = &self.resources.databases.geoip;
        options.geoip = match geoip.is_empty() {
            true => config.geoip.clone(),
            false => geoip.clone(),
        };
        options
    }
}

/// The meaning of `weir` without a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BareCommand {
    /// Standard input and output are a terminal.
    Shell,
    /// Statements come from a file or a pipe.
    Script,
    /// Standard input is a terminal, and output is not: the help is printed.
    Help,
}

impl BareCommand {
    /// The meaning in this process.
    pub(crate) fn here() -> Self {
        match (io::stdin().is_terminal(), io::stdout().is_terminal()) {
            (true, true) => Self::Shell,
            (true, false) => Self::Help,
            (false, _) => Self::Script,
        }
    }
}

/// Answers statements and commands until the input ends.
pub(crate) fn run(shell: &Shell, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    match io::stdin().is_terminal() {
        true => at_terminal(shell, global, messages),
        false => {
            let script = script()?;
            answer_script(shell, &script, global, messages)
        }
    }
}

/// The statements that come from standard input.
pub(crate) fn script() -> Result<String, Failure> {
    let mut script = String::new();
    io::stdin()
        .read_to_string(&mut script)
        .map_err(|error| Failure::statements(Path::new("standard input"), &error))?;
    Ok(script)
}

/// Answers a script, up to the first failure.
pub(crate) fn answer_script(
    shell: &Shell,
    script: &str,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    let options = shell.options(&Config::default(), global);
    let session = Session::new(&options, messages, false)?;
    session.take_stdin();
    let settings = ShellSettings {
        format: shell.format,
        rows: shell.rows,
        ..ShellSettings::default()
    };
    let mut work = Work::new(session, settings, None, global, messages);
    if let Some(file) = &shell.file {
        work.open(file)?;
    }
    // The script is over, whether it ended with .quit or with its last statement.
    let _ = work.script(script, "")?;
    work.close()
}

/// A statement of a file, and the line that it begins in.
pub(crate) struct WrittenStatement {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// The statements of a text, with the comments in front of them.
pub(crate) fn pieces(text: &str) -> Vec<WrittenStatement> {
    let (found, _) = weir_engine::statements(text);
    let written = found.into_iter().map(|range| {
        let piece = text.get(range.clone()).unwrap_or_default();
        let blank = piece.len() - piece.trim_start().len();
        let before = text.get(..range.start + blank).unwrap_or_default();
        WrittenStatement {
            text: piece.trim().to_owned(),
            line: before.matches('\n').count() + 1,
        }
    });
    written.collect()
}

fn at_terminal(shell: &Shell, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    let places = match shell.no_config {
        true => Places::default(),
        false => Places::of_user(),
    };
    let config = match &places.config {
        Some(path) => Config::read(path)?,
        None => Config::default(),
    };
    let session = Session::new(&shell.options(&config, global), messages, !global.quiet)?;
    // The keyboard is standard input.
    session.take_stdin();
    let settings = ShellSettings {
        format: shell.format.or(config.format),
        rows: shell.rows.or(config.rows),
        timer: config.timer,
        stats: config.stats,
        pager: config.pager(),
        time_zone: shell.zone.time_zone.clone().or(config.time_zone.clone()),
        all_columns: config.all_columns,
    };
    let mut work = Work::new(session, settings, places.views.clone(), global, messages);
    work.heed_interrupts();
    // A saved view that fails is reported, and the shell starts without it.
    for failure in work.restore_views() {
        failure.report(messages);
    }
    if let Some(path) = &places.statements
        && let Ok(statements) = std::fs::read_to_string(path)
        && let Err(failure) = work.script(&statements, &path.display().to_string())
    {
        failure.report(messages);
    }
    if let Some(file) = &shell.file {
        work.open(file)?;
    }
    if !global.quiet {
        messages.note("'.help' lists the commands, Tab completes, Ctrl-D ends");
    }
    let mut reader = editor::LineReader::new(&work, &places, config.history, global, messages);
    let mut input = PendingLines::default();
    while let Some(line) = reader.next_line(&mut input) {
        for piece in input.take(&line) {
            match work.piece(&piece) {
                Ok(Next::Goes) => {}
                Ok(Next::Ends) => {
                    reader.keep();
                    return work.close();
                }
                Err(failure) => {
                    // The statements after it may depend on it.
                    failure.report(messages);
                    break;
                }
            }
        }
        reader.keep();
    }
    if let Some(InputPiece::Statement { text, .. }) = input.rest() {
        messages.note(&format!(
            "not run, because it does not end with ';': {}",
            text.trim()
        ));
    }
    work.close()
}

const EXAMPLES: &str = "\
Examples:
  weir
      the same as weir shell, at a terminal
  weir shell trace.pcap
      the packets of a capture are the table packets; calls, dns and the like are those of this
      capture
  weir < questions.sql > answers.csv
      a script of statements and commands with a dot";
