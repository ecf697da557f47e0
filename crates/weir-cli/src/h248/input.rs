//! Messages out of files, folders, captures and standard input.

use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use weir_capture::Reader;
use weir_packet::{Decoder, Needs, Options};
use weir_tables::h248::{FoundMessage, MessageFinder};

use super::args::InputArgs;
use super::context::Context;
use crate::failure::Failure;
use crate::frame::frame_of;
use crate::progress::{Done, Progress};

/// A message, and where it was found.
pub(super) struct InputMessage {
    /// The name in messages to the user: the path, and the record of a capture.
    pub(super) name: String,
    /// The name for output files: the path relative to the given one, without its extension.
    pub(super) stem: PathBuf,
    pub(super) octets: Vec<u8>,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Go,
    Stop,
}

/// The counts of the messages that were read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Summary {
    /// Messages that were found.
    pub(super) count: u64,
    /// A file could not be read to its end.
    pub(super) damaged: bool,
}

/// Octets that a file with one message may have; a message may have as many.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// The maximum depth of nested folders.
const FOLDERS_MAX: usize = 32;

type OnMessage<'e> = dyn FnMut(InputMessage) -> Result<Next, Failure> + 'e;

/// Passes every message to `each`, in the order of the paths; folders in the order of names. Damage of a capture is reported, and
/// reading continues with the next path.
pub(super) fn messages(
    input: &InputArgs,
    context: Context,
    each: &mut OnMessage<'_>,
) -> Result<Summary, Failure> {
    let counts = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    let shown = Arc::clone(&counts);
    let progress = Progress::start(context.progress, move || Done {
        bytes: shown.0.load(Ordering::Relaxed),
        records: shown.1.load(Ordering::Relaxed),
        bytes_total: None,
        pieces: None,
    });
    let mut walk = MessageWalk {
        hex: input.hex,
        context,
        summary: Summary::default(),
        counts: &counts,
        each,
    };
    for path in &input.paths {
        let next = if path.as_os_str() == "-" {
            walk.stdin()?
        } else {
            let name = path.file_name().unwrap_or(path.as_os_str());
            walk.path(path, Path::new(name), 0)?
        };
        if next == Next::Stop {
            break;
        }
    }
    let summary = walk.summary;
    progress.finish();
    Ok(summary)
}

struct MessageWalk<'w, 'e> {
    hex: bool,
    context: Context,
    summary: Summary,
    /// Octets and messages, for the progress bar.
    counts: &'w (AtomicU64, AtomicU64),
    each: &'w mut OnMessage<'e>,
}

impl MessageWalk<'_, '_> {
    fn path(&mut self, path: &Path, stem: &Path, depth: usize) -> Result<Next, Failure> {
        let failed = |error: io::Error| Failure::file(path, &error);
        if fs::metadata(path).map_err(failed)?.is_dir() {
            return self.folder(path, stem, depth);
        }
        let is_capture = weir_capture::sniff_path(path)
            .map_err(|error| Failure::environment(format!("{}: {error}", path.display())))?;
        let name = path.display().to_string();
        if is_capture.is_some() && !self.hex {
            let reader = weir_capture::open(path);
            return self.capture(&name, &stem.with_extension(""), reader);
        }
        let file = File::open(path).map_err(failed)?;
        self.file(file, name, stem.with_extension(""))
            .map_err(failed)?
    }

    fn folder(&mut self, path: &Path, stem: &Path, depth: usize) -> Result<Next, Failure> {
        if depth >= FOLDERS_MAX {
            let text = format!("{}: more than {FOLDERS_MAX} folders", path.display());
            return Err(Failure::environment(text));
        }
        let failed = |error: io::Error| Failure::file(path, &error);
        let mut names = Vec::new();
        for entry in fs::read_dir(path).map_err(failed)? {
            names.push(entry.map_err(failed)?.file_name());
        }
        names.sort();
        for name in names {
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            // The folder that the user named is not a part of names below it.
            let below = match depth {
                0 => PathBuf::from(&name),
                _ => stem.join(&name),
            };
            let next = self.path(&path.join(&name), &below, depth.saturating_add(1))?;
            if next == Next::Stop {
                return Ok(Next::Stop);
            }
        }
        Ok(Next::Go)
    }

    fn stdin(&mut self) -> Result<Next, Failure> {
        let failed = |error: io::Error| Failure::environment(format!("standard input: {error}"));
        let mut head = Vec::new();
        let mut stdin = io::stdin().lock();
        (&mut stdin)
            .take(FILE_BYTES_MAX)
            .read_to_end(&mut head)
            .map_err(failed)?;
        let name = "standard input".to_owned();
        let compressed = matches!(head[..], [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..]);
        if !self.hex && (compressed || weir_capture::sniff(&head).is_some()) {
            let reader = Reader::new(Cursor::new(head).chain(stdin));
            return self.capture(&name, Path::new("stdin"), reader);
        }
        self.file(Cursor::new(head).chain(stdin), name, "stdin".into())
            .map_err(failed)?
    }

    /// A file that holds one message.
    fn file(
        &mut self,
        file: impl Read,
        name: String,
        stem: PathBuf,
    ) -> io::Result<Result<Next, Failure>> {
        let mut octets = Vec::new();
        file.take(FILE_BYTES_MAX.saturating_add(1))
            .read_to_end(&mut octets)?;
        if octets.len() as u64 > FILE_BYTES_MAX {
            let text = format!("longer than a message, {FILE_BYTES_MAX} octets, and not a capture");
            return Err(io::Error::other(text));
        }
        if self.hex {
            octets = unhex(&octets)
                .ok_or_else(|| io::Error::other("not an even number of hexadecimal digits"))?;
        }
        Ok(self.found(InputMessage { name, stem, octets }))
    }

    fn capture<R: Read>(
        &mut self,
        name: &str,
        stem: &Path,
        reader: Result<Reader<R>, weir_capture::Error>,
    ) -> Result<Next, Failure> {
        let mut reader = match reader {
            Ok(reader) => reader,
            Err(error) => return Err(Failure::environment(format!("{name}: {error}"))),
        };
        let mut decoder = Decoder::new(Options::default(), [Needs::All]);
        let mut finder = MessageFinder::new();
        // These are the messages that the current record completes: frame number and octets.
        let mut complete: Vec<(u64, Vec<u8>)> = Vec::new();
        let take = |complete: &mut Vec<_>, message: &FoundMessage<'_>| {
            complete.push((message.frame, message.octets.to_vec()));
        };
        loop {
            let over = match reader.next() {
                Ok(Some(record)) => {
                    let packet = decoder.decode(frame_of(&record));
                    finder.packet(&packet, &mut |message| {
                        take(&mut complete, message);
                    });
                    false
                }
                Ok(None) => true,
                Err(error) => {
                    self.context.messages.error(&format!("{name}: {error}"));
                    self.summary.damaged = true;
                    true
                }
            };
            if over {
                finder.finish(&mut |message| take(&mut complete, message));
            }
            let several = complete.len() > 1;
            for (at, (number, octets)) in complete.drain(..).enumerate() {
                // Messages that only the end of the capture completed belong to no record.
                let mut place = match number {
                    0 => "end".to_owned(),
                    number => number.to_string(),
                };
                if several {
                    place.push_str(&format!(".{}", at.saturating_add(1)));
                }
                let found = InputMessage {
                    name: format!("{name}: record {place}"),
                    stem: PathBuf::from(format!("{}-{place}", stem.display())),
                    octets,
                };
                if self.found(found)? == Next::Stop {
                    return Ok(Next::Stop);
                }
            }
            if over {
                for note in finder.notes() {
                    self.context.messages.note(&format!("{name}: {note}"));
                }
                return Ok(Next::Go);
            }
        }
    }

    fn found(&mut self, found: InputMessage) -> Result<Next, Failure> {
        self.summary.count = self.summary.count.saturating_add(1);
        let octets = found.octets.len() as u64;
        self.counts.0.fetch_add(octets, Ordering::Relaxed);
        self.counts.1.fetch_add(1, Ordering::Relaxed);
        (self.each)(found)
    }
}

/// The octets of hexadecimal digits, with white space between them or not. A byte order mark (U+FEFF) may begin the text.
fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let digits: Vec<u8> = text
        .iter()
        .copied()
        .filter(|octet| !octet.is_ascii_whitespace())
        .collect();
    hex::decode(digits).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hexadecimal_digits() {
        assert_eq!(
            unhex(b"30 0a\nA1").as_deref(),
            Some(&[0x30, 0x0a, 0xa1][..])
        );
        assert_eq!(
            unhex(b"\xef\xbb\xbf300a\r\n").as_deref(),
            Some(&[0x30, 0x0a][..])
        );
        assert_eq!(unhex(b"").as_deref(), Some(&[][..]));
        assert_eq!(unhex(b"3"), None);
        assert_eq!(unhex(b"3g"), None);
    }
}
