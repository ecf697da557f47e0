//! `weir live`: SQL over packets as they cross an interface.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use weir_capture::{WriteError, Writer};
use weir_file::GrowingFile;
use weir_tables::{CaptureTee, Feed, Predicate, Stop};

use crate::args::{Global, Live};
use crate::encoder::FileEncoder;
use crate::failure::{Failure, printed};
use crate::interface::{LiveCounts, Source};
use crate::message::Messages;
use crate::refusal::Refusal;
use crate::ring::Ring;
use crate::session::{Reader, Session};
use crate::target::{Target, guard};
use crate::watch::Refresh;
use weir_output::{Format, grouped};

/// Captures until it is interrupted, and answers.
pub(crate) fn run(live: &Live, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    if live.list_interfaces {
        return list();
    }
    let needed = || {
        Refusal::usage(
            "expected an interface and a statement",
            "write: weir live -i lo \"SELECT … FROM live\"; weir live -D lists the interfaces",
        )
    };
    let sql = live.sql.as_ref().ok_or_else(needed)?;
    let (name, source) = live.source.open()?.ok_or_else(needed)?;
    let counts = source.counts();
    let stop = Stop::default();
    let (tee, kept) = tee(live, &source, global)?;
    let feed = SourceFeed {
        name: name.clone(),
        source: Mutex::new(Some(source)),
        stop: stop.clone(),
        messages,
    };
    let options = options(live, global, feed, tee.as_ref());
    let session = Session::new(&options, messages, false)?;
    let mut statements = VecDeque::from(session.parse(sql)?);
    if statements.len() != 1 {
        return Err(Refusal::usage(
            "expected one statement",
            "packets can be read only once; save them with -w FILE, and query the file",
        )
        .into());
    }
    session.end_on_interrupt();
    let file = live.output.file(0, 1)?;
    if let Some(note) = live.output.note(file) {
        messages.note(&note);
    }
    let stdout_terminal = io::stdout().is_terminal();
    let mut output = live.output.options(file, stdout_terminal, global.color);
    if file.is_none() && live.output.format.is_none() && !stdout_terminal {
        output.format = Format::Ndjson;
    }
    let target = match file {
        Some(path) => Some(Target::growing(path, global)?),
        None => None,
    };
    let out = Target::writer(target.as_ref());
    live.source.capture.end_in_time(&stop);
    let refresh = Refresh {
        every: live.every.or(stdout_terminal.then_some(Refresh::EVERY)),
    };
    let outcome = session.plan_next(&mut statements);
    let outcome = outcome.and_then(|mut planned| match planned.pop_front() {
        Some(planned) => session.answer(planned, &output, out, refresh),
        None => Ok(Reader::Listens),
    });
    // Ends the capture where the statement has ended before it.
    stop.request();
    let code = session.close(live.stats);
    if let Some(target) = target {
        match &outcome {
            Ok(_) => target.keep()?,
            Err(_) => target.give_up(messages),
        }
    }
    let kept_in = report(&name, &counts, live, tee.as_ref(), messages);
    match (kept, &live.write) {
        (Some(Keeping::File(file)), Some(path)) => {
            if let Some(count) = kept_in? {
                messages.note(&format!("{count} packets kept in {}", path.display()));
            }
            close(*file, path, outcome.is_ok(), tee.as_ref(), messages)?;
        }
        (Some(Keeping::Ring(ring)), Some(path)) => close_ring(ring, path, kept_in, messages)?,
        _ => {}
    }
    outcome.map(|_| code)
}

fn options(
    live: &Live,
    global: Global,
    feed: SourceFeed,
    tee: Option<&CaptureTee>,
) -> weir_engine::Options {
    let mut options = weir_engine::Options::default();
    options.stop = feed.stop.clone();
    options.feed = Some(Arc::new(feed));
    options.tee = tee.cloned();
    options.overwrite = global.overwrite;
    options.encoder = Some(Arc::new(FileEncoder));
    options.time_zone = live.zone.time_zone.clone();
    options.geoip.clone_from(&live.databases.geoip);
    options
}

/// The storage of packets.
enum Keeping {
    File(Box<GrowingFile>),
    Ring(Ring),
}

/// Gives the capture its name, unless it has it already. After a failed query the earlier capture stays; the new packets stay in
/// a hidden file, if there are any.
fn close(
    file: GrowingFile,
    path: &Path,
    whole: bool,
    tee: Option<&CaptureTee>,
    messages: Messages,
) -> Result<(), Failure> {
    let came = tee.map_or(0, CaptureTee::records);
    if whole {
        return file.keep().map_err(|error| Failure::written(path, &error));
    }
    if came == 0 {
        file.discard();
    } else if let Some(hidden) = file.hidden() {
        let (path, hidden) = (path.display(), hidden.display());
        messages.note(&format!(
            "{path} was not replaced; the packets that arrived are in {hidden}"
        ));
    }
    Ok(())
}

/// The last file gets its name even when the capture failed.
fn close_ring(
    ring: Ring,
    path: &Path,
    kept: Result<Option<String>, Failure>,
    messages: Messages,
) -> Result<(), Failure> {
    let files = ring
        .finish()
        .map_err(|error| Failure::written(path, &error))?;
    if let Some(count) = kept? {
        messages.note(&format!("{count} packets arrived; kept: {files}"));
    }
    Ok(())
}

fn list() -> Result<ExitCode, Failure> {
    let mut out = io::stdout().lock();
    let mut names = weir_live::interfaces()?.into_iter();
    printed(
        names
            .try_for_each(|name| writeln!(out, "{name}"))
            .and_then(|()| out.flush()),
    )
}

/// The destination of packets that are kept, and their maximum number.
fn tee(
    live: &Live,
    source: &Source,
    global: Global,
) -> Result<(Option<CaptureTee>, Option<Keeping>), Failure> {
    let mut kept = None;
    let writer = match &live.write {
        None => None,
        Some(path) if live.rotate.is_some() => {
            let bytes_max = live.rotate.unwrap_or(usize::MAX) as u64;
            let keep = live
                .keep
                .map(|keep| usize::try_from(keep).unwrap_or(usize::MAX));
            let ring = Ring::new(path, bytes_max, keep);
            let ring = ring.map_err(|error| Failure::file(path, &error))?;
            let out: Box<dyn Write + Send> = Box::new(ring.clone());
            kept = Some(Keeping::Ring(ring));
            let writer = Writer::pcap_of(out, source.link_type());
            Some(writer.map_err(|error| kept_badly(live, &error))?)
        }
        Some(path) => {
            guard(path, global)?;
            let failed = |error: io::Error| Failure::file(path, &error);
            let mut file = GrowingFile::create(path).map_err(failed)?;
            let out: Box<dyn Write + Send> = Box::new(file.writer().map_err(failed)?);
            let writer = Writer::pcap_of(out, source.link_type());
            kept = Some(Keeping::File(Box::new(file)));
            Some(writer.map_err(|error| kept_badly(live, &error))?)
        }
    };
    let wanted = writer.is_some() || live.count.is_some();
    Ok((wanted.then(|| CaptureTee::new(writer, live.count)), kept))
}

fn kept_badly(live: &Live, error: &WriteError) -> Failure {
    let path = live.write.as_deref().unwrap_or(Path::new("-"));
    Failure::running(format!("{}: {error}", path.display()))
}

/// Reports what the kernel has counted; gives how many packets were kept, as text.
fn report(
    name: &str,
    counts: &LiveCounts,
    live: &Live,
    tee: Option<&CaptureTee>,
    messages: Messages,
) -> Result<Option<String>, Failure> {
    let remedy = "use a larger --buffer, or a narrower WHERE";
    counts.report(name, remedy, messages);
    match (tee, &live.write) {
        (Some(tee), Some(_)) => {
            tee.flush().map_err(|error| kept_badly(live, &error))?;
            Ok(Some(grouped(tee.records())))
        }
        _ => Ok(None),
    }
}

/// An interface or a collector as the engine sees it.
struct SourceFeed {
    name: String,
    /// Until it is started.
    source: Mutex<Option<Source>>,
    stop: Stop,
    messages: Messages,
}

impl Feed for SourceFeed {
    fn name(&self) -> &str {
        &self.name
    }

    fn start(&self, wanted: Option<&Predicate>) -> io::Result<Box<dyn Read + Send>> {
        let source = self.source.lock();
        let source = source.unwrap_or_else(PoisonError::into_inner).take();
        let source = source.ok_or_else(|| {
            io::Error::other("packets of an interface can be read only once in a statement")
        })?;
        let stop = Arc::clone(self.stop.flag());
        let (packets, note) = source.start(&self.name, wanted, stop)?;
        self.messages.note(&note);
        Ok(packets)
    }
}

impl fmt::Debug for SourceFeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "packets of {}", self.name)
    }
}
