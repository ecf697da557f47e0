//! Several captures as one, in the order of time.

mod window;

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    fmt,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

use crate::{Error, ReadOptions, Reader, Record, open_with, stream::FoundRecord};
use window::Window;

/// Merges the records of several captures by time.
///
/// At equal times the file that was named first comes first. A record without a time goes with the
/// record before it. Records of one file keep their order, even where its clock runs backwards, unless
/// there is a window in which they wait for earlier ones ([`Merge::with_window`]). Memory is one buffer
/// a file, and the window.
///
/// ```no_run
/// use weir_capture::{Merge, ReadOptions, expand};
///
/// let paths = expand("captures/*.pcap")?;
/// let mut merge = Merge::open(&paths, &ReadOptions::default())?;
/// while let Some((file, record)) = merge.next()? {
///     println!("{}: {:?}", paths[file].display(), record.time_ns);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Merge<R: Read> {
    sources: Vec<MergeSource<R>>,
    /// Files that have a record to give, by time and number. The one given last is out of the heap
    /// until the next call, because the record borrows from its buffer.
    heap: BinaryHeap<Reverse<(i64, usize)>>,
    /// The file to advance before the next record.
    advance: Option<usize>,
    /// Files not looked at yet.
    unread: usize,
    window: Option<Box<Window>>,
    /// The pause of a file, which is given when no record waits in the window any more.
    pause: Option<FileError>,
}

struct MergeSource<R: Read> {
    reader: Reader<R>,
    found: Option<FoundRecord>,
    time_ns: i64,
}

/// An error in one of several files.
#[derive(Debug)]
#[non_exhaustive]
pub struct FileError {
    /// The index of the file, from 0 in the given order.
    pub file: usize,
    /// The error.
    pub error: Error,
}

impl Merge<File> {
    /// Opens files to merge. The buffers are made smaller when there are many files, so that all
    /// together stay below 64 MiB (or 16 KiB a file).
    ///
    /// # Errors
    /// For the first file that cannot be opened.
    pub fn open(paths: &[PathBuf], options: &ReadOptions) -> Result<Self, FileError> {
        let mut options = options.clone();
        let share = BUFFERS_BYTES_MAX / paths.len().max(1);
        options.buffer_bytes = options.buffer_bytes.min(share.max(BUFFER_BYTES_MIN));
        let open = |(file, path): (usize, &PathBuf)| {
            open_with(Path::new(path), &options).map_err(|error| FileError { file, error })
        };
        let readers = paths.iter().enumerate().map(open);
        Ok(Self::new(readers.collect::<Result<_, _>>()?))
    }
}

impl<R: Read> Merge<R> {
    /// Merges these captures.
    #[must_use]
    pub fn new(readers: Vec<Reader<R>>) -> Self {
        let sources: Vec<_> = readers
            .into_iter()
            .map(|reader| MergeSource {
                reader,
                found: None,
                time_ns: i64::MIN,
            })
            .collect();
        Self {
            heap: BinaryHeap::with_capacity(sources.len()),
            unread: sources.len(),
            advance: None,
            sources,
            window: None,
            pause: None,
        }
    }

    /// The same, with records of one file in the order of time, too: records wait while all that do take no more than
    /// `bytes` bytes, so that earlier ones of the same file come before them. Costs a copy of each record.
    #[must_use]
    pub fn with_window(self, bytes: usize) -> Self {
        let window = Box::new(Window::new(self.sources.len(), bytes));
        Self {
            window: Some(window),
            ..self
        }
    }

    /// Records so far that were given behind later ones, because these did not wait for so long.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.window.as_ref().map_or(0, |window| window.late())
    }

    /// The next record and the number of its file, or `None` when all files are at their end.
    ///
    /// # Errors
    /// Once a file, when it is damaged; the other files go on with the next call. When a file pauses ([`Error::is_pause`]), which
    /// goes on with the next call, too: what waits in a window comes before the pause.
    #[expect(
        clippy::should_implement_trait,
        reason = "a record borrows from a reader, which Iterator cannot express"
    )]
    pub fn next(&mut self) -> Result<Option<(usize, Record<'_>)>, FileError> {
        let Some(mut window) = self.window.take() else {
            let next = self.next_of_files()?;
            return Ok(next.map(|(_, file, record)| (file, record)));
        };
        let filled = match self.pause {
            None => self.fill(&mut window),
            Some(_) => Ok(()),
        };
        let window = self.window.insert(window);
        match filled {
            Err(error) if error.error.is_pause() => self.pause = Some(error),
            filled => filled?,
        }
        if window.is_empty()
            && let Some(pause) = self.pause.take()
        {
            return Err(pause);
        }
        Ok(window.pop())
    }

    /// Adds records until the window is full or all files are at their end.
    fn fill(&mut self, window: &mut Window) -> Result<(), FileError> {
        while !window.is_full() {
            let Some((time_ns, file, record)) = self.next_of_files()? else {
                break;
            };
            window.push(file, time_ns, &record);
        }
        Ok(())
    }

    /// The next record as the files have them, and where it stands in the order of time.
    fn next_of_files(&mut self) -> Result<Option<(i64, usize, Record<'_>)>, FileError> {
        while self.unread > 0 {
            let file = self.sources.len() - self.unread;
            let found = self.find(file);
            if !is_pause(&found) {
                self.unread -= 1;
            }
            found?;
        }
        if let Some(file) = self.advance {
            let found = self.find(file);
            if !is_pause(&found) {
                self.advance = None;
            }
            found?;
        }
        let Some(Reverse((time_ns, file))) = self.heap.pop() else {
            return Ok(None);
        };
        self.advance = Some(file);
        let Some(source) = self.sources.get(file) else {
            return Ok(None);
        };
        let record = source.found.and_then(|found| source.reader.record(&found));
        Ok(record.map(|record| (time_ns, file, record)))
    }

    /// The readers, in the order in which they were given: for progress.
    pub fn readers(&self) -> impl ExactSizeIterator<Item = &Reader<R>> {
        self.sources.iter().map(|source| &source.reader)
    }

    /// Brings a file to its next record and puts it into the heap.
    fn find(&mut self, file: usize) -> Result<(), FileError> {
        let Some(source) = self.sources.get_mut(file) else {
            return Ok(());
        };
        source.found = source
            .reader
            .find()
            .map_err(|error| FileError { file, error })?;
        if let Some(found) = &source.found {
            source.time_ns = found.time_ns.unwrap_or(source.time_ns);
            self.heap.push(Reverse((source.time_ns, file)));
        }
        Ok(())
    }
}

/// Whether a file has no data for now.
fn is_pause(found: &Result<(), FileError>) -> bool {
    let error = found.as_ref().err();
    error.is_some_and(|error| error.error.is_pause())
}

impl<R: Read> fmt::Debug for Merge<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Merge")
            .field("files", &self.sources.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file {}: {}", self.file + 1, self.error)
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

const BUFFERS_BYTES_MAX: usize = 64 << 20;
const BUFFER_BYTES_MIN: usize = 16 << 10;
