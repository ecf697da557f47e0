//! The execution of input lines: statements and commands.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use arrow::array::RecordBatch;
use clap::ValueEnum;
use weir_engine::{FunctionEntry, Statement, quote_literal};
use weir_tables::EXTRACTIONS;

use super::catalog::SessionTables;
use super::commands::{self, Verb};
use super::input::{InputPiece, PendingLines};
use super::latest::{self, Latest};
use super::named_tables::tables_of;
use super::pager::Paged;
use super::views::Views;
use crate::args::{Global, OutputArgs, RowLimit, parse_rows};
use crate::failure::{Failure, printed};
use crate::message::{Messages, counted};
use crate::refusal::Refusal;
use crate::session::{Apart, Heed, Reader, Session};
use crate::signals::Interrupts;
use crate::target::Target;
use crate::watch::Refresh;
use crate::{fields, functions, sip};
use weir_output::plot::{Form, Kind};
use weir_output::{self as output, Format, terminal_height};

/// The settings of answers.
#[derive(Clone, Debug, Default)]
pub(super) struct ShellSettings {
    pub(super) format: Option<Format>,
    pub(super) rows: Option<RowLimit>,
    pub(super) all_columns: bool,
    pub(super) timer: bool,
    pub(super) stats: bool,
    pub(super) pager: Option<String>,
    pub(super) time_zone: Option<String>,
}

/// Whether there is to be more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) enum Next {
    Goes,
    Ends,
}

/// The format and destination of an answer, with the file that is complete after it.
type Destination = (output::OutputOptions, Box<dyn Write + Send>, Option<Target>);

/// A session at work, with what lines have set so far.
pub(super) struct Work {
    session: Arc<Session>,
    known: Arc<Mutex<SessionTables>>,
    settings: ShellSettings,
    /// The chart that is drawn of what is answered now.
    plot: Option<Kind>,
    /// The destination of all answers, if it is not standard output.
    output: Option<OutputFile>,
    /// The destination of the next answer.
    once: Option<PathBuf>,
    views: Views,
    opened: Option<OpenCapture>,
    heeds_interrupts: bool,
    terminal: bool,
    /// Standard output has an answer already.
    written: Arc<AtomicBool>,
    found_damage: bool,
    /// Files of statements that are read within each other.
    depth: usize,
    global: Global,
    messages: Messages,
}

struct OutputFile {
    target: Target,
    path: PathBuf,
    written: Arc<AtomicBool>,
}

/// The open capture.
struct OpenCapture {
    file: String,
    filter: Option<String>,
    /// Views of its tables, made when they were requested.
    made: Vec<&'static str>,
}

impl Work {
    /// A session before its first statement.
    pub(super) fn new(
        session: Session,
        settings: ShellSettings,
        views: Option<PathBuf>,
        global: Global,
        messages: Messages,
    ) -> Self {
        Self {
            session: Arc::new(session),
            known: Arc::default(),
            settings,
            plot: None,
            output: None,
            once: None,
            views: Views::new(views),
            opened: None,
            heeds_interrupts: false,
            terminal: io::stdout().is_terminal(),
            written: Arc::default(),
            found_damage: false,
            depth: 0,
            global,
            messages,
        }
    }

    /// Makes Ctrl-C end the running statement from now on, instead of the program.
    pub(super) fn heed_interrupts(&mut self) {
        self.heeds_interrupts = true;
        drop(Interrupts::begin());
    }

    /// The session that runs the statements.
    pub(super) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The names that statements have made.
    pub(super) fn known(&self) -> &Arc<Mutex<SessionTables>> {
        &self.known
    }

    /// Answers a text of statements and commands up to the first failure, which says its place in the file of this
    /// name.
    pub(super) fn script(&mut self, text: &str, name: &str) -> Result<Next, Failure> {
        let mut input = PendingLines::default();
        let pieces = input.take(text).into_iter();
        for piece in pieces.chain(input.rest()) {
            let line = match &piece {
                InputPiece::Statement { line, .. } | InputPiece::Command { line, .. } => *line,
            };
            let place = match name {
                "" => format!("line {line}"),
                name => format!("{name}, line {line}"),
            };
            match self.piece(&piece).map_err(|failure| failure.at(&place))? {
                Next::Goes => {}
                Next::Ends => return Ok(Next::Ends),
            }
        }
        Ok(Next::Goes)
    }

    /// Does one thing.
    pub(super) fn piece(&mut self, piece: &InputPiece) -> Result<Next, Failure> {
        match piece {
            InputPiece::Statement { text, .. } => self.statement(text),
            InputPiece::Command { text, .. } => self.command(text),
        }
    }

    /// Makes the views that were saved; gives what was wrong with some.
    pub(super) fn restore_views(&mut self) -> Vec<Failure> {
        let kept = match self.views.kept() {
            Ok(kept) => kept,
            Err(failure) => return vec![failure],
        };
        let mut failures = Vec::new();
        for text in kept {
            let made = self.session.parse(&text);
            let name = match made.as_deref() {
                Ok([statement]) => statement.made().map(|made| made.name),
                _ => None,
            };
            let outcome = self.quiet(&text);
            if let Some(name) = name {
                // A view that cannot be made now, because its file is elsewhere, is not lost.
                self.views.note(&name, &text);
                if outcome.is_ok() {
                    self.know(&name);
                }
                failures.extend(outcome.err().map(|failure| failure.at(&name)));
            } else {
                failures.extend(outcome.err());
            }
        }
        failures
    }

    /// Opens a capture in place of the one before.
    pub(super) fn open(&mut self, file: &str) -> Result<(), Failure> {
        self.show_packets(file, None)?;
        if let Some(before) = self.opened.take() {
            for name in before.made {
                self.quiet(&format!("DROP VIEW IF EXISTS {name}"))?;
                self.forget(name);
            }
        }
        self.known_mut().is_open = true;
        self.opened = Some(OpenCapture {
            file: file.to_owned(),
            filter: None,
            made: Vec::new(),
        });
        Ok(())
    }

    /// Makes the view of the packets.
    fn show_packets(&mut self, file: &str, filter: Option<&str>) -> Result<(), Failure> {
        let condition = match filter {
            Some(filter) => format!(" WHERE display_filter({})", quote_literal(filter)),
            None => String::new(),
        };
        let file = quote_literal(file);
        self.quiet(&format!(
            "CREATE OR REPLACE VIEW packets AS SELECT * FROM {file}{condition}"
        ))?;
        self.know("packets");
        Ok(())
    }

    /// Makes the tables of the open capture that a statement names as if they were there.
    fn make_tables(&mut self, text: &str) -> Result<(), Failure> {
        let Some(opened) = &self.opened else {
            return Ok(());
        };
        let file = opened.file.clone();
        let wanted: Vec<&'static str> = tables_of(text)
            .iter()
            .filter_map(|table| table.plain_name())
            .filter_map(|name| {
                let mut names = EXTRACTIONS.iter().map(|extraction| extraction.name);
                names.find(|known| *known == name)
            })
            .collect();
        for name in wanted {
            if self.known_mut().has(name) {
                continue;
            }
            let file = quote_literal(&file);
            self.quiet(&format!(
                "CREATE VIEW {name} AS SELECT * FROM {name}({file})"
            ))?;
            self.know(name);
            if let Some(opened) = &mut self.opened {
                opened.made.push(name);
            }
        }
        Ok(())
    }

    /// Runs a statement that gives no rows.
    fn quiet(&self, sql: &str) -> Result<(), Failure> {
        for statement in self.session.parse(sql)? {
            self.session.plan(statement, None)?;
        }
        Ok(())
    }

    fn know(&self, name: &str) {
        self.known_mut().add(name);
    }

    fn forget(&self, name: &str) {
        self.known_mut().remove(name);
    }

    fn known_mut(&self) -> std::sync::MutexGuard<'_, SessionTables> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn statement(&mut self, text: &str) -> Result<Next, Failure> {
        let begun = Instant::now();
        let outcome = self.answered(text);
        self.known_mut().forget_columns();
        self.found_damage |= self.session.report(self.settings.stats);
        if self.settings.timer {
            let seconds = begun.elapsed().as_secs_f64();
            let rows = match &outcome {
                Ok(Some(rows)) => format!("{} in ", counted(*rows, "row")),
                _ => String::new(),
            };
            self.messages.note(&format!("{rows}{seconds:.3} s"));
        }
        outcome.map(|_| Next::Goes)
    }

    /// Answers a statement; gives the number of rows when it has any to give.
    fn answered(&mut self, text: &str) -> Result<Option<u64>, Failure> {
        self.make_tables(text)?;
        let mut rows = None;
        for statement in self.session.parse(text)? {
            let made = statement.made();
            let dropped = statement.dropped();
            if statement.gives_rows() {
                rows = Some(self.rows(statement)?);
            } else {
                let interrupts = self.heeds_interrupts.then(Interrupts::begin);
                self.session.plan(statement, interrupts)?;
            }
            for name in dropped {
                self.views.forget(&name);
                self.forget(&name);
            }
            if let Some(made) = made {
                self.know(&made.name);
                match made.is_view {
                    true => self.views.note(&made.name, text),
                    false => self.views.forget(&made.name),
                }
            }
        }
        Ok(rows)
    }

    fn rows(&mut self, statement: Statement) -> Result<u64, Failure> {
        let interrupts = self.heeds_interrupts.then(Interrupts::begin);
        let Some(planned) = self.session.plan(statement, interrupts.clone())? else {
            return Ok(0);
        };
        let mut latest = Latest::new(&planned.schema());
        let (options, out, target) = self.destination()?;
        let refresh = Refresh {
            every: options.terminal.then_some(Refresh::EVERY),
        };
        let heed = Heed {
            each: &mut |batch| latest.push(batch),
            interrupts,
        };
        let outcome = self
            .session
            .answer_heeding(planned, &options, out, refresh, heed);
        let answered = match (outcome, target) {
            (Ok(answered), Some(target)) => {
                target.keep()?;
                answered
            }
            (Ok(answered), None) => answered,
            (Err(failure), target) => {
                if let Some(target) = target {
                    target.give_up(self.messages);
                }
                return Err(failure);
            }
        };
        match answered.reader {
            Reader::Listens => {
                if let Some(note) = latest.hold(self.session.engine())? {
                    self.messages.note(&note);
                }
                self.know(latest::NAME);
            }
            Reader::Gone if self.terminal => self.messages.note(&format!(
                "the answer was not read to its end: {} still has the previous one",
                latest::NAME
            )),
            Reader::Gone => {}
        }
        Ok(answered.rows)
    }

    /// The format and destination of the next answer, with the file that is complete after it.
    fn destination(&mut self) -> Result<Destination, Failure> {
        if let Some(path) = self.once.take() {
            let options = self.file_options(&path)?;
            let target = Target::new(&path, self.global)?;
            return Ok((options, Box::new(target.clone()), Some(target)));
        }
        if let Some(file) = &self.output {
            let options = self.file_options(&file.path)?;
            let out: Box<dyn Write + Send> = Box::new(file.target.clone());
            let out = match options.format.is_set_apart() {
                true => Box::new(Apart::new(out, &file.written)),
                false => out,
            };
            return Ok((options, out, None));
        }
        let options = self.screen_options();
        let out: Box<dyn Write + Send> = match self.pager(&options) {
            Some(pager) => Box::new(pager),
            None => Box::new(io::stdout()),
        };
        let out = match options.format.is_set_apart() && !self.heeds_interrupts {
            true => Box::new(Apart::new(out, &self.written)),
            // Prompts stand between answers.
            false => out,
        };
        Ok((options, out, None))
    }

    fn pager(&self, options: &output::OutputOptions) -> Option<Paged> {
        let command = self.settings.pager.as_ref().filter(|_| options.terminal)?;
        let (lines, columns) = (terminal_height()?, options.width?);
        Some(Paged::new(command, lines, columns))
    }

    fn screen_options(&self) -> output::OutputOptions {
        let has_pager = self.settings.pager.is_some() && self.terminal;
        let args = OutputArgs {
            format: self.settings.format,
            output: Vec::new(),
            rows: self.settings.rows.unwrap_or(match has_pager {
                true => RowLimit(None),
                false => RowLimit::default(),
            }),
            all_columns: self.settings.all_columns,
            plot: self.plot,
        };
        args.options(None, self.terminal, self.global.color)
    }

    fn file_options(&self, path: &Path) -> Result<output::OutputOptions, Failure> {
        let is_picture = Form::of_path(path).is_some_and(Form::is_picture);
        let args = OutputArgs {
            // The extension of a picture decides the format, whatever the format on the screen is.
            format: Format::of_path(path).or(self.settings.format.filter(|_| !is_picture)),
            output: vec![path.to_owned()],
            plot: self.plot,
            ..OutputArgs::default()
        };
        let file = args.file(0, 1)?;
        if let Some(note) = args.note(file) {
            self.messages.note(&note);
        }
        Ok(args.options(file, false, self.global.color))
    }

    /// Shows a requested list without a limit on its rows.
    fn show(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let (options, out, target) = self.destination()?;
        fields::write_list(batch, options, (out, target), self.messages)
    }

    fn command(&mut self, line: &str) -> Result<Next, Failure> {
        let (verb, rest) = commands::parse(line)?;
        let pattern = (!rest.is_empty()).then_some(rest);
        match verb {
            Verb::Quit => return Ok(Next::Ends),
            Verb::Help => self.help(rest)?,
            Verb::Fields => self.show(&fields::matching(pattern)?)?,
            Verb::Functions => {
                let batch = functions::matching(self.session.engine(), pattern)?;
                self.show(&batch)?;
            }
            Verb::Tables => self.tables(pattern)?,
            Verb::Open => match unquoted(rest) {
                "" => return Err(commands::wants(verb, rest).into()),
                file => self.open(file)?,
            },
            Verb::Filter => self.filter(pattern)?,
            Verb::Ladder => self.ladder(pattern)?,
            Verb::Read => return self.read(unquoted(rest)),
            Verb::Once => match unquoted(rest) {
                "" => return Err(commands::wants(verb, rest).into()),
                path => {
                    self.file_options(Path::new(path))?;
                    self.once = Some(PathBuf::from(path));
                }
            },
            Verb::Output => self.output_to(unquoted(rest))?,
            Verb::Save => {
                let path = self.views.save()?.display().to_string();
                let count = self.views.list().len();
                let count = counted(u64::try_from(count).unwrap_or(u64::MAX), "view");
                self.messages.note(&format!("{count} kept in {path}"));
            }
            Verb::Plot => self.plot(rest)?,
            Verb::TimeZone => self.time_zone(verb, unquoted(rest))?,
            _ => self.set(verb, rest)?,
        }
        Ok(Next::Goes)
    }

    /// Commands that change how answers are given.
    fn set(&mut self, verb: Verb, rest: &str) -> Result<(), Failure> {
        let settings = &mut self.settings;
        let switched = match verb {
            Verb::Timer => Some(("the timer", &mut settings.timer)),
            Verb::Stats => Some(("what was read", &mut settings.stats)),
            Verb::AllColumns => Some(("showing all columns", &mut settings.all_columns)),
            _ => None,
        };
        if let Some((name, switch)) = switched {
            *switch = commands::switch(verb, rest, *switch)?;
            commands::report_switch(name, *switch, self.messages);
            return Ok(());
        }
        match verb {
            Verb::Mode => {
                settings.format = match rest {
                    "" => None,
                    name => Some(format_of(name)?),
                };
            }
            Verb::Vertical => {
                let is_vertical = settings.format == Some(Format::Line);
                settings.format = (!is_vertical).then_some(Format::Line);
                commands::report_switch("one column per line", !is_vertical, self.messages);
            }
            Verb::Rows => {
                let rows = parse_rows(rest).map_err(|_| commands::wants(verb, rest))?;
                settings.rows = Some(rows);
            }
            Verb::Pager => {
                settings.pager = match rest {
                    "" | "off" => None,
                    "on" => Some(std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned())),
                    command => Some(command.to_owned()),
                };
                commands::report_switch("the pager", settings.pager.is_some(), self.messages);
            }
            _ => {}
        }
        Ok(())
    }

    fn help(&mut self, pattern: &str) -> Result<(), Failure> {
        let options = self.screen_options();
        let text = commands::help(pattern, options.width);
        if text.is_empty() {
            return Err(commands::wants(Verb::Help, pattern).into());
        }
        let written = match self.pager(&options) {
            Some(mut pager) => pager.write_all(text.as_bytes()),
            None => io::stdout().write_all(text.as_bytes()),
        };
        printed(written)?;
        Ok(())
    }

    fn tables(&mut self, pattern: Option<&str>) -> Result<(), Failure> {
        let views = self.views.list();
        let own: Vec<FunctionEntry> = self
            .known_mut()
            .names()
            .iter()
            .map(|name| {
                let view = views.iter().find(|(view, _)| view == name);
                let meaning = match (view, name.as_str()) {
                    (Some((_, text)), _) => text.split_whitespace().collect::<Vec<_>>().join(" "),
                    (None, latest::NAME) => "The rows of the last answer".to_owned(),
                    _ => match &self.opened {
                        Some(opened) => format!("Of {}", opened.file),
                        None => "A table of this shell".to_owned(),
                    },
                };
                FunctionEntry {
                    name: name.clone(),
                    kind: "table",
                    example: format!("SELECT * FROM {name}"),
                    meaning,
                }
            })
            .collect();
        let batch = functions::matching_tables(self.session.engine(), pattern, &own)?;
        self.show(&batch)
    }

    fn filter(&mut self, filter: Option<&str>) -> Result<(), Failure> {
        let Some(opened) = &self.opened else {
            return Err(nothing_open());
        };
        let file = opened.file.clone();
        self.show_packets(&file, filter)?;
        if let Some(opened) = &mut self.opened {
            opened.filter = filter.map(ToOwned::to_owned);
            self.messages.note(&match &opened.filter {
                Some(filter) => {
                    format!("packets has those of {} that match {filter}", opened.file)
                }
                None => format!("packets has all packets of {}", opened.file),
            });
        }
        Ok(())
    }

    /// Draws the last answer.
    fn plot(&mut self, kind: &str) -> Result<(), Failure> {
        let kind = match kind {
            "" => Kind::Auto,
            name => Kind::from_str(name, true).map_err(|_| commands::wants(Verb::Plot, name))?,
        };
        self.plot = Some(kind);
        let drawn = self.answered(&format!("SELECT * FROM {}", latest::NAME));
        self.plot = None;
        drawn.map(|_| ())
    }

    fn ladder(&mut self, call_id: Option<&str>) -> Result<(), Failure> {
        let Some(opened) = &self.opened else {
            return Err(nothing_open());
        };
        // The exit status is not used here, as the command has reported its errors.
        let call_id = call_id.map(unquoted);
        sip::show_ladder(&opened.file, call_id, self.global, self.messages)?;
        Ok(())
    }

    fn read(&mut self, path: &str) -> Result<Next, Failure> {
        if path.is_empty() {
            return Err(commands::wants(Verb::Read, path).into());
        }
        if self.depth >= DEPTH_MAX {
            let message =
                format!("files of statements may be nested {DEPTH_MAX} levels deep at most");
            return Err(Failure::environment(message));
        }
        let file = Path::new(path);
        let text =
            std::fs::read_to_string(file).map_err(|error| Failure::statements(file, &error))?;
        self.depth += 1;
        let outcome = self.script(&text, path);
        self.depth -= 1;
        outcome
    }

    fn output_to(&mut self, path: &str) -> Result<(), Failure> {
        if let Some(before) = self.output.take() {
            before.target.keep()?;
            self.messages
                .note(&format!("{} is complete", before.path.display()));
        }
        if path.is_empty() {
            return Ok(());
        }
        let path = PathBuf::from(path);
        let options = self.file_options(&path)?;
        if options.holds_one() {
            let message = format!(
                "several answers cannot be written to one {}",
                options.what()
            );
            let hint = format!("use .once {} for one answer", path.display());
            return Err(Refusal::usage(message, hint).into());
        }
        self.output = Some(OutputFile {
            target: Target::new(&path, self.global)?,
            path,
            written: Arc::default(),
        });
        Ok(())
    }

    fn time_zone(&mut self, verb: Verb, zone: &str) -> Result<(), Failure> {
        if zone.is_empty() {
            let now = self.settings.time_zone.as_deref().unwrap_or("UTC");
            self.messages.note(&format!("times are written in {now}"));
            return Err(commands::wants(verb, zone).into());
        }
        self.quiet(&format!("SET TIME ZONE {}", quote_literal(zone)))?;
        self.settings.time_zone = Some(zone.to_owned());
        Ok(())
    }

    /// Completes the outputs, and returns the exit status.
    pub(super) fn close(mut self) -> Result<ExitCode, Failure> {
        self.output_to("")?;
        // Damage at a terminal was reported when it was found, and does not change the exit status.
        let damage = self.found_damage && !self.heeds_interrupts;
        Ok(ExitCode::from(u8::from(damage)))
    }
}

fn nothing_open() -> Failure {
    Refusal::usage("no capture is open", ".open trace.pcap opens one").into()
}

fn format_of(name: &str) -> Result<Format, Failure> {
    Format::from_str(name, true).map_err(|_| {
        let formats = Format::value_variants().iter().map(|format| format.name());
        let formats: Vec<&str> = formats.collect();
        Refusal::usage(format!("no format named {name}"), formats.join(", ")).into()
    })
}

/// The name of a file without the quotes around it, which completion puts there.
fn unquoted(word: &str) -> &str {
    let inner = |quote| word.strip_prefix(quote)?.strip_suffix(quote);
    inner('\'').or_else(|| inner('"')).unwrap_or(word)
}

/// Files of statements that may be read within each other.
const DEPTH_MAX: usize = 16;
