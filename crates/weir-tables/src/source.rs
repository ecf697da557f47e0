//! The sources of a scan, in a form that another process can open, too.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_capture::{Compression, Object, ReadObject, Reader, Reason, open_local};
use weir_layout::Layout;

use crate::Predicate;
use crate::live::{Feed, Follow, Stop};
use crate::routed::unrouted;

/// The location of the bytes of a source.
#[derive(Clone)]
#[non_exhaustive]
pub enum Location {
    /// Standard input, which can be read once only.
    Stdin,
    /// A local file.
    File(PathBuf),
    /// An object in a store, or an address of the web.
    Object(Arc<dyn Object>),
}

impl Location {
    /// The name in columns and messages, which contains no secret.
    #[must_use]
    pub fn shown(&self) -> Cow<'_, str> {
        match self {
            Self::Stdin => Cow::Borrowed("-"),
            Self::File(path) => weir_capture::shown(path),
            Self::Object(object) => Cow::Borrowed(object.name()),
        }
    }

    /// The path of a local file.
    #[must_use]
    pub fn as_file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Stdin | Self::Object(_) => None,
        }
    }

    /// True for standard input, which can be read once only.
    #[must_use]
    pub const fn is_stdin(&self) -> bool {
        matches!(self, Self::Stdin)
    }

    /// The number of bytes that reading it takes, when that is known.
    #[must_use]
    pub fn len(&self) -> Option<u64> {
        match self {
            Self::Stdin => None,
            Self::File(path) => {
                let metadata = std::fs::metadata(path).ok()?;
                metadata.is_file().then_some(metadata.len())
            }
            Self::Object(object) => object.len(),
        }
    }

    /// Returns whether it is known to be empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// Opens it from its beginning on.
    ///
    /// # Errors
    /// When it is not there, or cannot be read.
    pub fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        match self {
            Self::Stdin => Ok(Box::new(io::stdin())),
            Self::File(path) => Ok(Box::new(open_local(path)?)),
            Self::Object(object) => Ok(Box::new(object.open(0..u64::MAX)?)),
        }
    }

    /// Opens it from its beginning on, and decompresses it when it is compressed.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_uncompressed(&self) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(weir_capture::Uncompressed::new(self.open()?)?))
    }

    /// Opens a location that can be read at any place, for reads of `range` to begin with; returns `None` for others.
    pub(crate) fn open_range(&self, range: Range<u64>) -> io::Result<Option<Ranged>> {
        match self {
            Self::Stdin => Ok(None),
            Self::File(path) => {
                let mut file = open_local(path)?;
                file.seek(SeekFrom::Start(range.start))?;
                Ok(Some(Ranged::File(file)))
            }
            Self::Object(object) if object.is_ranged() => {
                Ok(Some(Ranged::Object(object.open(range)?)))
            }
            Self::Object(_) => Ok(None),
        }
    }
}

impl From<PathBuf> for Location {
    /// Creates the location of the file at a path; `-` is standard input.
    fn from(path: PathBuf) -> Self {
        match path.as_os_str() == "-" {
            true => Self::Stdin,
            false => Self::File(path),
        }
    }
}

impl From<&Path> for Location {
    fn from(path: &Path) -> Self {
        path.to_owned().into()
    }
}

impl From<&PathBuf> for Location {
    fn from(path: &PathBuf) -> Self {
        path.clone().into()
    }
}

impl From<&Location> for Location {
    fn from(location: &Location) -> Self {
        location.clone()
    }
}

impl From<&str> for Location {
    fn from(path: &str) -> Self {
        PathBuf::from(path).into()
    }
}

impl From<String> for Location {
    fn from(path: String) -> Self {
        PathBuf::from(path).into()
    }
}

/// Locations are equal when their bytes are the same. Keys of objects are compared as texts: as paths `a//b` and `a/b`
/// would be equal.
impl PartialEq for Location {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stdin, Self::Stdin) => true,
            (Self::File(ours), Self::File(theirs)) => ours == theirs,
            (Self::Object(ours), Self::Object(theirs)) => ours.identity() == theirs.identity(),
            _ => false,
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

/// A reader from a position on.
pub(crate) enum Ranged {
    File(File),
    Object(Box<dyn ReadObject>),
}

impl Read for Ranged {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(out),
            Self::Object(object) => object.read(out),
        }
    }
}

impl Seek for Ranged {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Object(object) => object.seek(to),
        }
    }
}

/// A source of a scan: its location, and its kind.
#[derive(Clone)]
pub struct Source {
    location: Location,
    layout: Option<Arc<Layout>>,
    growth: Growth,
    /// Whether records are skipped that repeat one directly before.
    dedup: bool,
    /// The name that replaces the location.
    name: Option<Arc<str>>,
}

/// Whether a source has an end of its own.
#[derive(Clone)]
enum Growth {
    Ends,
    /// The flag is set when the writer of the file began anew.
    Follows(Stop, Arc<AtomicBool>),
    Feeds(Arc<dyn Feed>),
}

/// Sources are equal when they read the same file alike.
impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        let same_layout = match (&self.layout, &other.layout) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => Arc::ptr_eq(ours, theirs),
            _ => false,
        };
        let same_place = match (&self.growth, &other.growth) {
            (Growth::Feeds(ours), Growth::Feeds(theirs)) => ours.name() == theirs.name(),
            (Growth::Feeds(_), _) | (_, Growth::Feeds(_)) => false,
            _ => self.location == other.location,
        };
        same_layout
            && same_place
            && self.is_growing() == other.is_growing()
            && self.dedup == other.dedup
    }
}

impl Source {
    /// The capture at this place; the path `-` is standard input.
    #[must_use]
    pub fn capture(location: impl Into<Location>) -> Self {
        Self {
            location: location.into(),
            layout: None,
            growth: Growth::Ends,
            dedup: false,
            name: None,
        }
    }

    /// The file of records at this place, read by `layout`; the path `-` is standard input.
    #[must_use]
    pub fn records(location: impl Into<Location>, layout: Arc<Layout>) -> Self {
        Self {
            location: location.into(),
            layout: Some(layout),
            growth: Growth::Ends,
            dedup: false,
            name: None,
        }
    }

    /// The same capture, continued as it grows until `stop` is set. When its writer begins anew, so does the reading: another file
    /// has the name, or this one became shorter.
    #[must_use]
    pub fn followed(self, stop: Stop) -> Self {
        Self {
            growth: Growth::Follows(stop, Arc::default()),
            ..self
        }
    }

    /// A source of packets as they arrive.
    #[must_use]
    pub fn feed(feed: Arc<dyn Feed>) -> Self {
        Self {
            location: Location::File(feed.name().into()),
            layout: None,
            growth: Growth::Feeds(feed),
            dedup: false,
            name: None,
        }
    }

    /// The same source with another name in columns and messages, such as the one in the statement.
    #[must_use]
    pub fn shown_as(self, name: &str) -> Self {
        Self {
            name: Some(name.into()),
            ..self
        }
    }

    /// Whether records that repeat one of those right before are skipped.
    #[must_use]
    pub const fn is_without_repeats(&self) -> bool {
        self.dedup
    }

    /// The same source without the records that have the same bytes as one of the four directly before, as `editcap -d`
    /// drops them, except for fields that a router changes.
    #[must_use]
    pub fn without_repeats(self) -> Self {
        Self {
            dedup: true,
            ..self
        }
    }

    /// Returns whether repetitions are skipped, for which records are read one after the other.
    #[must_use]
    pub const fn drops_repeats(&self) -> bool {
        self.dedup
    }

    /// Returns whether it has no end: a read waits for more.
    #[must_use]
    pub const fn is_growing(&self) -> bool {
        !matches!(self.growth, Growth::Ends)
    }

    /// Returns whether the writer of a growing file began anew since the last call.
    pub(crate) fn was_renewed(&self) -> bool {
        match &self.growth {
            Growth::Follows(_, renewed) => renewed.swap(false, Ordering::Relaxed),
            Growth::Ends | Growth::Feeds(_) => false,
        }
    }

    /// The location; captured packets have the name of a file.
    #[must_use]
    pub const fn location(&self) -> &Location {
        &self.location
    }

    /// The name in messages; `-` for standard input.
    #[must_use]
    pub fn shown(&self) -> Cow<'_, str> {
        match &self.name {
            Some(name) => Cow::Borrowed(name),
            None => self.location.shown(),
        }
    }

    /// The record layout, unless this is a capture.
    #[must_use]
    pub const fn layout(&self) -> Option<&Arc<Layout>> {
        self.layout.as_ref()
    }

    /// True for standard input, which can be read once only.
    #[must_use]
    pub fn is_stdin(&self) -> bool {
        self.location.is_stdin()
    }

    /// The number of bytes that reading it takes, when that is known.
    #[must_use]
    pub fn len(&self) -> Option<u64> {
        if self.is_growing() {
            return None;
        }
        self.location.len()
    }

    /// Whether it is known to be empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    pub(crate) fn open_bytes(&self) -> Result<Bytes, SourceError> {
        let opened = self.location.open();
        opened.map_err(|error| self.error(Cause::Io(error)))
    }

    /// Opens the capture; `readers` of them are open at once and share the memory for buffers. Records that are not
    /// `wanted` may be left out.
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
            Growth::Follows(stop, renewed) => {
                let Some(path) = self.location.as_file() else {
                    let reason = "only a local file is read on as it grows";
                    return Err(failed(io::Error::other(reason)));
                };
                let follow =
                    Follow::open(path, stop.clone(), Arc::clone(renewed)).map_err(failed)?;
                may_pause = Some(Arc::clone(follow.may_pause()));
                Box::new(follow)
            }
        };
        let mut options = weir_capture::ReadOptions::default();
        if self.dedup {
            options.repeats_window = REPEATS_WINDOW;
            options.repeats_key = Some(unrouted);
        }
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
            path: self.shown().into_owned(),
            cause,
        }
    }
}

pub(crate) type Bytes = Box<dyn Read + Send>;

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

/// A source could not be opened, or is damaged.
#[derive(Debug)]
pub struct SourceError {
    /// The name of the source.
    pub path: String,
    /// The problem, with its position.
    pub cause: Cause,
}

/// The problem with a source.
#[derive(Debug)]
#[non_exhaustive]
pub enum Cause {
    /// The source could not be opened or read.
    Io(io::Error),
    /// The source is not a capture, or is a damaged one.
    Capture(weir_capture::Error),
    /// The source does not match its record layout.
    Record {
        /// Number of the record, from 1.
        number: u64,
        /// Byte offset of the record in the file.
        offset: u64,
        /// The expected and the found value.
        reason: String,
    },
    /// An error of another machine, which read the source.
    Remote {
        /// The problem, with its position.
        message: String,
        /// The hint; empty without one.
        hint: String,
    },
}

impl SourceError {
    /// Whether the source has no data for now, and may have some later.
    pub(crate) fn is_pause(&self) -> bool {
        matches!(&self.cause, Cause::Capture(error) if error.is_pause())
    }

    /// Whether the source ended in the middle of a record.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(&self.cause, Cause::Capture(error)
            if matches!(error.reason(), Some(Reason::Cut { .. })))
    }

    /// The hint.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match &self.cause {
            Cause::Capture(error) => error.hint().map(ToOwned::to_owned),
            Cause::Remote { hint, .. } => (!hint.is_empty()).then(|| hint.clone()),
            Cause::Io(_) | Cause::Record { .. } => None,
        }
    }
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path)?;
        match &self.cause {
            Cause::Io(error) => error.fmt(f),
            Cause::Capture(error) => error.fmt(f),
            Cause::Record {
                number,
                offset,
                reason,
            } => write!(f, "record {number} at byte {offset}: {reason}"),
            Cause::Remote { message, .. } => f.write_str(message),
        }
    }
}

impl std::error::Error for SourceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::Io(error) => Some(error),
            Cause::Capture(error) => Some(error),
            Cause::Record { .. } | Cause::Remote { .. } => None,
        }
    }
}

/// The number of bytes of the buffers of all captures that are merged, unless there are so many that the least buffer
/// of each takes more.
const BUFFERS_BYTES_MAX: usize = 64 << 20;
/// The number of packets that editcap -d compares a packet with.
const REPEATS_WINDOW: usize = 4;
const BUFFER_BYTES_MIN: usize = 16 << 10;
