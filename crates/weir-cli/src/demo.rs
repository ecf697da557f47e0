//! `weir demo`: a small set of sample captures, and a tour of queries over them.

use std::io::{self, IsTerminal, Stdout, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use weir_samples::demo::{DemoFile, demo_files};

use crate::args::Global;
use crate::failure::Failure;
use crate::message::Messages;
use crate::session::{Reader, Session};
use crate::sip;
use crate::target::{guard, put_one_of_many};
use crate::watch::Refresh;
use weir_output::{Format, OutputOptions};

/// `weir demo`.
#[derive(Args, Debug)]
#[command(
    about = "Write a few sample captures and take a tour of queries over them",
    after_help = DEMO_EXAMPLES
)]
pub(crate) struct Demo {
    /// Folder for the captures; created if it is missing
    #[arg(default_value = "demo")]
    pub(crate) dir: PathBuf,
    /// Use the existing captures instead of writing them again
    #[arg(long)]
    pub(crate) keep: bool,
    /// Write the captures only
    #[arg(long, conflicts_with = "keep")]
    pub(crate) no_tour: bool,
}

/// Writes the samples, then asks and answers each question of the tour.
pub(crate) fn run(demo: &Demo, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    let dir = &demo.dir;
    let mut stdout = io::stdout();
    if !demo.keep && write_samples(dir, &mut stdout, global)? == Reader::Gone {
        return Ok(ExitCode::SUCCESS);
    }
    if demo.no_tour {
        return Ok(ExitCode::SUCCESS);
    }
    let terminal = stdout.is_terminal();
    let mut options = match terminal {
        true => OutputOptions::terminal(Format::Table, global.color.applies(terminal)),
        false => OutputOptions::plain(Format::Table),
    };
    options.colour = global.color.applies(terminal);
    let session = Session::new(&weir_engine::Options::default(), messages, false)?;
    for stop in stops(&dir.display().to_string()) {
        let (title, sql) = (stop.title, stop.sql);
        let heading = format!("\n-- {title}\n{sql}\n");
        if stdout.write_all(heading.as_bytes()).is_err() {
            return Ok(ExitCode::SUCCESS);
        }
        let mut statements = session.parse(&sql)?.into();
        for planned in session.plan_next(&mut statements)? {
            if session.answer(
                planned,
                &options,
                Box::new(io::stdout()),
                Refresh::default(),
            )? == Reader::Gone
            {
                return Ok(ExitCode::SUCCESS);
            }
        }
    }
    if show_ladder(dir, &session, &mut stdout)? == Reader::Gone {
        return Ok(ExitCode::SUCCESS);
    }
    let next = format!(
        "\nYour own file:  weir query \"SELECT addr.src, count(*) FROM 'FILE' GROUP BY addr.src ORDER BY 2 DESC LIMIT 10\"\nAll columns:    weir fields\nThese again:    weir query -f {dir}/tour.sql\n",
        dir = dir.display()
    );
    let tour = dir.join("tour.sql");
    put_one_of_many(
        &tour,
        tour_in(&dir.display().to_string()).as_bytes(),
        global,
    )?;
    // The samples hold cut packets on purpose; the tour shows them.
    let _ = stdout.write_all(next.as_bytes());
    Ok(session.close(false))
}

fn write_samples(dir: &Path, stdout: &mut Stdout, global: Global) -> Result<Reader, Failure> {
    let failed = |error: io::Error| Failure::file(dir, &error);
    let files = demo_files().map_err(failed)?;
    // Samples that are there already need not be written; another capture of that name belongs to the user, and
    // stays.
    let is_missing = |file: &DemoFile, bytes: &[u8]| {
        std::fs::read(dir.join(file.file_name)).ok().as_deref() != Some(bytes)
    };
    let missing: Vec<_> = files
        .iter()
        .filter(|(file, bytes)| is_missing(file, bytes))
        .collect();
    for (file, _) in &missing {
        guard(&dir.join(file.file_name), global)?;
    }
    std::fs::create_dir_all(dir).map_err(failed)?;
    for (file, bytes) in missing {
        put_one_of_many(&dir.join(file.file_name), bytes, global)?;
    }
    for (file, _) in &files {
        let path = dir.join(file.file_name).display().to_string();
        let line = format!("wrote {path:<28} {}\n", file.what);
        if stdout.write_all(line.as_bytes()).is_err() {
            return Ok(Reader::Gone);
        }
    }
    Ok(Reader::Listens)
}

/// A call as a picture.
fn show_ladder(dir: &Path, session: &Session, stdout: &mut Stdout) -> Result<Reader, Failure> {
    let calls = [dir.join("calls.pcap").display().to_string()];
    if let Some(ladder) = sip::drawn(session, &calls, "voice-call")? {
        let [calls] = calls;
        let heading = "\n-- What did the telephones say to each other?\n";
        let picture = format!(
            "{heading}$ weir sip ladder {calls} --call-id voice-call\n{}",
            ladder.text()
        );
        if stdout.write_all(picture.as_bytes()).is_err() {
            return Ok(Reader::Gone);
        }
    }
    Ok(Reader::Listens)
}

/// A question of the tour.
struct TourStop {
    title: String,
    sql: String,
}

/// The tour with the folder of the samples put in.
fn stops(dir: &str) -> Vec<TourStop> {
    tour_in(dir)
        .split("\n\n")
        .filter_map(|part| {
            let (comment, sql) = part.trim().split_once('\n')?;
            Some(TourStop {
                title: comment.trim_start_matches("-- ").to_owned(),
                sql: sql.to_owned(),
            })
        })
        .collect()
}

/// The tour as SQL.
fn tour_in(dir: &str) -> String {
    TOUR.replace("{demo}", &dir.replace('\'', "''"))
}

/// The tour: a comment line and a statement a stop, an empty line in between.
const TOUR: &str = include_str!("tour.sql");

const DEMO_EXAMPLES: &str = "\
Examples:
  weir demo                         write ./demo and take the tour
  weir demo samples --no-tour       write ./samples only
  weir query \"SELECT proto, count(*) FROM 'demo/office.pcapng' GROUP BY proto\"";
