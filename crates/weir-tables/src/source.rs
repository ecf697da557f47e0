//! What a scan reads, described so that another process could open it too.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use weir_capture::{Compression, Reader, Reason};
use weir_packet::layout::Layout;

use crate::Predicate;
use crate::live::{Feed, Follow, Stop};

/// Something that a scan reads: a path or standard input, and how its bytes are to be understood.
#[derive(Clone)]
pub struct Source {
    path: PathBuf,
    layout: Option<Arc<Layout>>,
    growth: Growth,
}

/// Whether a source has an end of its own.
#[derive(Clone)]
enum Growth {
    Ends,
    Follows(Stop),
    Feeds(Arc<dyn Feed>),
}

/// The same file, read alike.
impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        let same_layout = match (&self.layout, &other.layout) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => Arc::ptr_eq(ours, theirs),
            _ => false,
        };
        same_layout && self.path == other.path && self.is_growing() == other.is_growing()
    }
}

impl Source {
    /// The capture at `path`; `-` is standard input.
    #[must_use]
    pub fn capture(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            layout: None,
            growth: Growth::Ends,
        }
    }

    /// The file of records at `path`, read by `layout`; `-` is standard input.
    #[must_use]
    pub fn records(path: impl Into<PathBuf>, layout: Arc<Layout>) -> Self {
        Self {
            path: path.into(),
            layout: Some(layout),
            growth: Growth::Ends,
        }
    }

    /// The same capture, read on as it grows until `stop` is asked.
    #[must_use]
    pub fn followed(self, stop: Stop) -> Self {
        Self {
            growth: Growth::Follows(stop),
            ..self
        }
    }

    /// Packets as they arrive.
    #[must_use]
    pub fn feed(feed: Arc<dyn Feed>) -> Self {
        Self {
            path: feed.name().into(),
            layout: None,
            growth: Growth::Feeds(feed),
        }
    }

    /// True when it has no end of its own: reading it waits for more.
    #[must_use]
    pub const fn is_growing(&self) -> bool {
        !matches!(self.growth, Growth::Ends)
    }

    /// The path; `-` for standard input.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The record layout, unless this is a capture.
    #[must_use]
    pub const fn layout(&self) -> Option<&Arc<Layout>> {
        self.layout.as_ref()
    }

    /// True for standard input, which can be read once only.
    #[must_use]
    pub fn is_stdin(&self) -> bool {
        self.path.as_os_str() == "-" && !matches!(self.growth, Growth::Feeds(_))
    }

    /// Bytes that reading it will take, when that is known.
    #[must_use]
    pub fn len(&self) -> Option<u64> {
        if self.is_growing() {
            return None;
        }
        let metadata = std::fs::metadata(&self.path).ok()?;
        metadata.is_file().then_some(metadata.len())
    }

    /// True when it is known to have no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    pub(crate) fn open_bytes(&self) -> Result<Bytes, SourceError> {
        if self.is_stdin() {
            return Ok(Box::new(io::stdin()));
        }
        match File::open(&self.path) {
            Ok(file) => Ok(Box::new(file)),
            Err(error) => Err(self.error(Cause::Io(error))),
        }
    }

    /// Opens the capture; `readers` of them are open at once and share the memory for buffers. Records
    /// that are not `wanted` may be left out.
    pub(crate) fn open_capture(
        &self,
        readers: usize,
        wanted: Option<&Predicate>,
    ) -> Result<Reader<Bytes>, SourceError> {
        let failed = |error| self.error(Cause::Io(error));
        let mut may_pause = None;
        let bytes: Bytes = match &self.growth {
            Growth::Ends => self.open_bytes()?,
            Growth::Feeds(feed) => feed.start(wanted).map_err(failed)?,
            Growth::Follows(stop) => {
                let follow = Follow::open(&self.path, stop.clone()).map_err(failed)?;
                may_pause = Some(Arc::clone(follow.may_pause()));
                Box::new(follow)
            }
        };
        let mut options = weir_capture::Options::default();
        let share = BUFFERS_BYTES_MAX / readers.max(1);
        options.buffer_bytes = options.buffer_bytes.min(share.max(BUFFER_BYTES_MIN));
        let reader = Reader::with_options(bytes, &options)
            .map_err(|error| self.error(Cause::Capture(error)))?;
        if let Some(may_pause) = may_pause {
            if reader.compression() != Compression::None {
                let reason = "a compressed capture cannot be followed while it grows";
                return Err(failed(io::Error::other(reason)));
            }
            may_pause.store(true, Ordering::Relaxed);
        }
        Ok(reader)
    }

    pub(crate) fn error(&self, cause: Cause) -> SourceError {
        SourceError {
            path: self.path.clone(),
            cause,
        }
    }
}

pub(crate) type Bytes = Box<dyn Read + Send>;

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&weir_capture::shown(&self.path))
    }
}

/// A source could not be opened, or is damaged.
#[derive(Debug)]
pub struct SourceError {
    /// Which one.
    pub path: PathBuf,
    /// What is wrong with it, and where.
    pub cause: Cause,
}

/// What is wrong with a source.
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause {
    /// It could not be opened or read.
    Io(io::Error),
    /// It is no capture, or a damaged one.
    Capture(weir_capture::Error),
    /// It is not what its record layout says.
    Record {
        /// Number of the record, from 1.
        number: u64,
        /// Byte offset of the record in the file.
        offset: u64,
        /// What was expected and found.
        reason: String,
    },
}

impl SourceError {
    /// True when the source has nothing for now: asked again, it may.
    pub(crate) fn is_pause(&self) -> bool {
        matches!(&self.cause, Cause::Capture(error) if error.is_pause())
    }

    /// True when the source ended in the middle of a record.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(&self.cause, Cause::Capture(error)
            if matches!(error.reason(), Some(Reason::Cut { .. })))
    }

    /// What the user could try.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match &self.cause {
            Cause::Capture(error) => error.hint().map(ToOwned::to_owned),
            Cause::Io(_) | Cause::Record { .. } => None,
        }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", weir_capture::shown(&self.path))?;
        match &self.cause {
            Cause::Io(error) => error.fmt(f),
            Cause::Capture(error) => error.fmt(f),
            Cause::Record {
                number,
                offset,
                reason,
            } => write!(f, "record {number} at byte {offset}: {reason}"),
        }
    }
}

impl std::error::Error for SourceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::Io(error) => Some(error),
            Cause::Capture(error) => Some(error),
            Cause::Record { .. } => None,
        }
    }
}

/// Memory for the buffers of all captures that are merged, unless there are so many that the least
/// buffer of each takes more.
const BUFFERS_BYTES_MAX: usize = 64 << 20;
const BUFFER_BYTES_MIN: usize = 16 << 10;
