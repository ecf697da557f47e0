//! Packets on their way into the book, on a thread of its own: the captures that are named, or an interface.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::slice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use weir_capture::{Merge, Reader, Record};
use weir_packet::{Decoder, Frame, Needs, Options};
use weir_tables::Stop;

use super::book::Book;
use super::spool::Spool;
use crate::failure::Failure;
use crate::frame::frame_of;
use crate::interface::Source;
use crate::session::Session;

/// The book, shared by the reading thread and the drawing thread.
#[derive(Clone, Debug)]
pub(super) struct SharedBook {
    book: Arc<Mutex<Book>>,
    /// True while the drawing thread waits for the book. The reading thread then does not lock it: it has the next packet ready
    /// and would otherwise always win.
    wanted: Arc<AtomicBool>,
}

impl SharedBook {
    pub(super) fn new(book: Book) -> Self {
        Self {
            book: Arc::new(Mutex::new(book)),
            wanted: Arc::default(),
        }
    }

    /// Locks the book.
    pub(super) fn look(&self) -> MutexGuard<'_, Book> {
        self.wanted.store(true, Ordering::Relaxed);
        let book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        self.wanted.store(false, Ordering::Relaxed);
        book
    }

    fn write(&self) -> MutexGuard<'_, Book> {
        while self.wanted.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_micros(100));
        }
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The source of packets.
pub(super) enum Origin {
    /// Captures, in the order of time.
    Captures(Merge<Box<dyn Read + Send>>, Vec<String>),
    /// An interface or a collector that was opened and not started.
    Live(String, Source),
}

/// Opens captures, local ones and those in stores and on the web; `-` is standard input.
pub(super) fn open(session: &Session, patterns: &[String]) -> Result<Origin, Failure> {
    let mut readers = Vec::new();
    let mut names = Vec::new();
    for pattern in patterns {
        // A pipe can be read only once, so it is opened here and not looked into before, as captures are.
        if pattern == "-" || is_pipe(pattern) {
            let bytes: Box<dyn Read + Send> = match pattern.as_str() {
                "-" => Box::new(io::stdin()),
                _ => Box::new(
                    File::open(pattern)
                        .map_err(|error| Failure::file(Path::new(pattern), &error))?,
                ),
            };
            readers.push(reader(pattern, bytes)?);
            names.push(pattern.clone());
            continue;
        }
        for location in session.engine().captures(slice::from_ref(pattern))? {
            let name = location.shown().into_owned();
            let bytes = location
                .open()
                .map_err(|error| Failure::environment(format!("{name}: {error}")))?;
            readers.push(reader(&name, bytes)?);
            names.push(name);
        }
    }
    Ok(Origin::Captures(Merge::new(readers), names))
}

/// A named pipe, or what a shell puts in place of a command: `<(…)`.
fn is_pipe(pattern: &str) -> bool {
    let metadata = std::fs::metadata(pattern);
    metadata.is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

fn reader(
    name: &str,
    bytes: Box<dyn Read + Send>,
) -> Result<Reader<Box<dyn Read + Send>>, Failure> {
    Reader::new(bytes).map_err(|error| refused(&format!("{name}: {error}"), error.hint()))
}

fn refused(message: &str, hint: Option<&str>) -> Failure {
    let failure = Failure::environment(message.to_owned());
    match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// Reads packets to the end or until `stop`; packets of calls go into the spool, if there is one.
pub(super) fn read(origin: Origin, shared: &SharedBook, stop: &Stop, spool: Option<&Spool>) {
    let mut taking = Taking {
        decoder: Decoder::new(Options::default(), [Needs::All]),
        shared,
        spool,
        number: 0,
    };
    match origin {
        Origin::Captures(mut merge, names) => {
            while !stop.is_requested() {
                match merge.next() {
                    Ok(Some((_, record))) => taking.record(&record),
                    Ok(None) => break,
                    // The others are read on.
                    Err(error) => {
                        let name = names.get(error.file).map_or("?", String::as_str);
                        let hint = error.error.hint().map(ToOwned::to_owned);
                        taking.damage(format!("{name}: {}", error.error), hint);
                    }
                }
            }
        }
        Origin::Live(name, source) => {
            let packets = source.start(&name, None, Arc::clone(stop.flag()));
            let reader = packets
                .map_err(|error| error.to_string())
                .and_then(|(packets, _)| Reader::new(packets).map_err(|error| error.to_string()));
            match reader {
                Err(error) => taking.damage(format!("{name}: {error}"), None),
                Ok(mut reader) => loop {
                    match reader.next() {
                        Ok(Some(record)) => taking.record(&record),
                        Ok(None) => break,
                        Err(error) if error.is_pause() => {}
                        Err(error) => {
                            taking.damage(format!("{name}: {error}"), None);
                            break;
                        }
                    }
                },
            }
        }
    }
    shared.write().finish();
}

/// The processing of each packet.
struct Taking<'t> {
    decoder: Decoder,
    shared: &'t SharedBook,
    spool: Option<&'t Spool>,
    /// Records of all captures together.
    number: u64,
}

impl Taking<'_> {
    fn record(&mut self, record: &Record<'_>) {
        self.number = self.number.saturating_add(1);
        let packet = self.decoder.decode(Frame {
            number: self.number,
            ..frame_of(record)
        });
        let belongs = self.shared.write().packet(&packet);
        if let Some(spool) = self.spool.filter(|_| belongs) {
            match spool.keep(record, self.number) {
                Ok(from) => self.shared.write().kept_from = from,
                Err(error) => self.damage(format!("packets cannot be stored: {error}"), None),
            }
        }
    }

    /// Adds a message that is printed when the screens are left. Messages that repeat, and those beyond `DAMAGE_MAX`,
    /// are dropped: a disk or a capture may fail at every packet.
    fn damage(&self, message: String, hint: Option<String>) {
        let mut book = self.shared.write();
        if book.damage.len() < DAMAGE_MAX && !book.damage.iter().any(|(known, _)| *known == message)
        {
            book.damage.push((message, hint));
        }
    }
}

const DAMAGE_MAX: usize = 64;
