//! One file of a log, plain or compressed, read at any place.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use weir_bytes::u32_le_at;

use crate::forms::Form;
use crate::forms::notation::refuse_utf16;

/// One file of a log. Its length is that at the time of opening; a live log grows.
#[derive(Debug)]
pub struct Segment {
    path: PathBuf,
    file: File,
    len: u64,
    modified_ns: i64,
    frames: Option<Frames>,
    opener: FileOpener,
}

/// Returns the modification time of a file, in nanoseconds since 1970.
pub(crate) fn modified_ns(metadata: &std::fs::Metadata) -> i64 {
    metadata
        .mtime()
        .saturating_mul(1_000_000_000)
        .saturating_add(metadata.mtime_nsec())
}

/// The function that opens the files of a log.
pub(crate) type FileOpener = fn(&Path) -> io::Result<File>;

/// Opens a file as the system does.
pub(crate) fn open_file(path: &Path) -> io::Result<File> {
    File::open(path)
}

impl Segment {
    /// Opens a file. A file that ends with the seek table of zstd's seekable format is read decompressed.
    ///
    /// # Errors
    /// When it cannot be opened or read, or is a zstd file without a seek table
    /// ([`io::ErrorKind::InvalidData`]).
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_by(path, open_file)
    }

    /// Opens a file, and later its sidecar, by this function.
    pub(crate) fn open_by(path: &Path, opener: FileOpener) -> io::Result<Self> {
        let file = opener(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::new(
                io::ErrorKind::IsADirectory,
                "is a folder, not a log",
            ));
        }
        let mut magic = [0; 4];
        let compressed = file.read_at(&mut magic, 0)? == 4 && magic == ZSTD_MAGIC;
        let frames = if compressed {
            Some(Frames::read(&file, metadata.len())?)
        } else {
            None
        };
        Ok(Self {
            path: path.to_owned(),
            len: frames.as_ref().map_or(metadata.len(), Frames::len),
            modified_ns: modified_ns(&metadata),
            file,
            frames,
            opener,
        })
    }

    /// Opens a file that belongs to this one.
    pub(crate) fn open_beside(&self, path: &Path) -> io::Result<File> {
        (self.opener)(path)
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of bytes of the log in it, uncompressed.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether it is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether it is compressed.
    #[must_use]
    pub const fn is_compressed(&self) -> bool {
        self.frames.is_some()
    }

    /// The form of the log, by its beginning; `None` when it has the beginning of no form, or is empty.
    ///
    /// # Errors
    /// When it cannot be read, or is text in UTF-16 ([`io::ErrorKind::Unsupported`]).
    pub fn form(&self) -> io::Result<Option<Form>> {
        let mut begin = Vec::new();
        self.read(0, FORM_BYTES, &mut begin)?;
        refuse_utf16(&begin)?;
        Ok(Form::of(&begin))
    }

    pub(crate) const fn modified_ns(&self) -> i64 {
        self.modified_ns
    }

    /// Replaces `out` by the bytes from `start` to `end`, or to the end of the file.
    ///
    /// # Errors
    /// When they cannot be read, or a compressed block is damaged.
    pub fn read(&self, start: u64, end: u64, out: &mut Vec<u8>) -> io::Result<()> {
        let count = self.read_into(start, end, out)?;
        out.truncate(count);
        Ok(())
    }

    /// Reads as [`Segment::read`], into a buffer that grows and never shrinks: a reused buffer need not be filled with
    /// zeros again. Returns the number of bytes that were read.
    pub(crate) fn read_into(
        &self,
        start: u64,
        end: u64,
        buffer: &mut Vec<u8>,
    ) -> io::Result<usize> {
        let end = end.min(self.len);
        let want = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
        if let Some(frames) = &self.frames {
            buffer.clear();
            frames.read_at(&self.file, start, want, buffer)?;
            return Ok(buffer.len());
        }
        if buffer.len() < want {
            buffer.resize(want, 0);
        }
        let mut done = 0;
        while let Some(room) = buffer.get_mut(done..want).filter(|room| !room.is_empty()) {
            match self.file.read_at(room, start.saturating_add(done as u64)) {
                Ok(0) => break,
                Ok(count) => done = done.saturating_add(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    /// Reads from the beginning to the end.
    pub fn reader(&self) -> impl Read + '_ {
        SegmentReader::new(self)
    }

    /// A reader as [`Segment::reader`], which owns the segment.
    pub fn into_reader(self) -> impl Read {
        SegmentReader::new(self)
    }
}

/// The number of bytes of a log by which its form is recognised: more than the first line of nearly all, and cheap to
/// read.
const FORM_BYTES: u64 = 16 << 10;

struct SegmentReader<S> {
    segment: S,
    at: u64,
    piece: Vec<u8>,
    used: usize,
}

impl<S> SegmentReader<S> {
    const fn new(segment: S) -> Self {
        Self {
            segment,
            at: 0,
            piece: Vec::new(),
            used: 0,
        }
    }
}

impl<S: std::borrow::Borrow<Segment>> Read for SegmentReader<S> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let segment = self.segment.borrow();
        if segment.frames.is_none() {
            let left = segment.len.saturating_sub(self.at);
            let room = usize::try_from(left).unwrap_or(usize::MAX).min(out.len());
            let count = segment.file.read_at(&mut out[..room], self.at)?;
            self.at = self.at.saturating_add(count as u64);
            return Ok(count);
        }
        if self.used == self.piece.len() {
            let end = self.at.saturating_add(FRAME_BYTES as u64);
            segment.read(self.at, end, &mut self.piece)?;
            self.at = self.at.saturating_add(self.piece.len() as u64);
            self.used = 0;
        }
        let rest = self.piece.get(self.used..).unwrap_or_default();
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.used = self.used.saturating_add(count);
        Ok(count)
    }
}

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const SKIPPABLE_MAGIC: u32 = 0x184d_2a5e;
const SEEKABLE_MAGIC: u32 = 0x8f92_eab1;
/// The number of bytes behind the entries of a seek table: number of frames, descriptor, magic.
const FOOTER_BYTES: u64 = 9;
/// The number of bytes of the log in each compressed frame.
pub(crate) const FRAME_BYTES: usize = 256 << 10;
/// The number of frames of a file, at most: 256 GiB of log.
const FRAMES_MAX: u32 = 1 << 20;

/// The independent frames of a file in zstd's seekable format (zstd, contrib/seekable_format).
#[derive(Debug)]
struct Frames {
    /// The offset of each frame, in the file and in the log; the last is the end.
    starts: Vec<(u64, u64)>,
    /// The last frame that was read: those around a record are needed again and again.
    last: Mutex<(usize, Vec<u8>)>,
}

impl Frames {
    fn read(file: &File, len: u64) -> io::Result<Self> {
        let bad = |text: &str| io::Error::new(io::ErrorKind::InvalidData, text.to_owned());
        let no_table = "is compressed without a seek table";
        let mut footer = [0; FOOTER_BYTES as usize];
        let at = len.checked_sub(FOOTER_BYTES).ok_or_else(|| bad(no_table))?;
        file.read_exact_at(&mut footer, at)?;
        if u32_le_at(&footer, 5) != Some(SEEKABLE_MAGIC) {
            return Err(bad(no_table));
        }
        let count = u32_le_at(&footer, 0).filter(|count| *count <= FRAMES_MAX);
        let count = count.ok_or_else(|| bad("has a seek table that is too long"))?;
        // Frames may have a checksum in the table, which is not used: zstd has its own.
        let entry = if footer[4] & 0x80 == 0 { 8 } else { 12 };
        let bytes = u64::from(count).saturating_mul(entry);
        let begin = at
            .checked_sub(bytes)
            .ok_or_else(|| bad("has a truncated seek table"))?;
        let mut table = vec![0; usize::try_from(bytes).unwrap_or(0)];
        file.read_exact_at(&mut table, begin)?;
        let (mut file_at, mut log_at) = (0_u64, 0_u64);
        let mut starts = vec![(0, 0)];
        for entry in table.chunks_exact(entry as usize) {
            let compressed = u32_le_at(entry, 0).unwrap_or(0);
            let plain = u32_le_at(entry, 4).unwrap_or(0);
            if plain as usize > FRAME_PLAIN_MAX {
                return Err(bad("has frames that are too long"));
            }
            file_at = file_at.saturating_add(u64::from(compressed));
            log_at = log_at.saturating_add(u64::from(plain));
            starts.push((file_at, log_at));
        }
        if file_at > begin {
            return Err(bad("has a seek table that points beyond its end"));
        }
        Ok(Self {
            starts,
            last: Mutex::new((usize::MAX, Vec::new())),
        })
    }

    fn len(&self) -> u64 {
        self.starts.last().map_or(0, |&(_, log)| log)
    }

    fn read_at(&self, file: &File, start: u64, want: usize, out: &mut Vec<u8>) -> io::Result<()> {
        let mut at = start;
        while out.len() < want {
            let next = self.starts.partition_point(|&(_, log)| log <= at);
            let frame = next.saturating_sub(1);
            let (Some(&(file_from, log_from)), Some(&(file_to, log_to))) =
                (self.starts.get(frame), self.starts.get(next))
            else {
                break;
            };
            let skip = usize::try_from(at.saturating_sub(log_from)).unwrap_or(usize::MAX);
            let mut last = self
                .last
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            if last.0 != frame {
                last.0 = usize::MAX;
                let plain = usize::try_from(log_to.saturating_sub(log_from)).unwrap_or(0);
                last.1 = decompress(file, file_from, file_to, plain)?;
                last.0 = frame;
            }
            let rest = last.1.get(skip..).unwrap_or_default();
            let take = rest.len().min(want.saturating_sub(out.len()));
            out.extend_from_slice(rest.get(..take).unwrap_or_default());
            at = at.saturating_add(take as u64);
            if take == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// The number of bytes of the largest frame that is read.
const FRAME_PLAIN_MAX: usize = 16 << 20;

fn decompress(file: &File, from: u64, to: u64, plain: usize) -> io::Result<Vec<u8>> {
    let bytes = usize::try_from(to.saturating_sub(from)).unwrap_or(0);
    if bytes > 2 * FRAME_PLAIN_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "has frames that are too long",
        ));
    }
    let mut compressed = vec![0; bytes];
    file.read_exact_at(&mut compressed, from)?;
    let out = zstd::bulk::decompress(&compressed, plain)?;
    if out.len() != plain {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "has a frame of the wrong length",
        ));
    }
    Ok(out)
}

/// Writes the bytes of `source` as independent frames with a seek table.
pub(crate) fn compress(
    mut source: impl Read,
    mut out: impl io::Write,
    level: i32,
) -> io::Result<()> {
    let mut compressor = zstd::bulk::Compressor::new(level)?;
    compressor.include_checksum(true)?;
    let mut table = Vec::new();
    let mut plain = Vec::with_capacity(FRAME_BYTES);
    let mut count = 0_u32;
    loop {
        plain.clear();
        source
            .by_ref()
            .take(FRAME_BYTES as u64)
            .read_to_end(&mut plain)?;
        if plain.is_empty() {
            break;
        }
        let frame = compressor.compress(&plain)?;
        out.write_all(&frame)?;
        table.extend_from_slice(&(frame.len() as u32).to_le_bytes());
        table.extend_from_slice(&(plain.len() as u32).to_le_bytes());
        count = count.saturating_add(1);
    }
    let bytes = (table.len() as u32).saturating_add(FOOTER_BYTES as u32);
    out.write_all(&SKIPPABLE_MAGIC.to_le_bytes())?;
    out.write_all(&bytes.to_le_bytes())?;
    out.write_all(&table)?;
    out.write_all(&count.to_le_bytes())?;
    out.write_all(&[0])?;
    out.write_all(&SEEKABLE_MAGIC.to_le_bytes())?;
    out.flush()
}

/// The files of the log at `path`, the oldest first: `path.000001`, `path.000002.zst` and so on, then
/// `path` itself, where it exists.
///
/// # Errors
/// When the folder cannot be listed.
pub fn segments(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut sealed: Vec<(u64, PathBuf)> = Vec::new();
    for (number, found, compressed) in numbered(path)? {
        // A segment has two files when the machine stopped while it was compressed.
        if compressed || !sealed.iter().any(|&(other, _)| other == number) {
            sealed.retain(|&(other, _)| other != number);
            sealed.push((number, found));
        }
    }
    sealed.sort();
    let mut paths: Vec<PathBuf> = sealed.into_iter().map(|(_, path)| path).collect();
    if path.exists() {
        paths.push(path.to_owned());
    }
    Ok(paths)
}

/// The sealed segments of a log: number, path, whether compressed.
pub(crate) fn numbered(path: &Path) -> io::Result<Vec<(u64, PathBuf, bool)>> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let Some(name) = path.file_name() else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let other = entry.file_name();
        // Names are bytes; the part after the log's name is plain ASCII.
        let other = other.as_encoded_bytes();
        let Some(suffix) = other.strip_prefix(name.as_encoded_bytes()) else {
            continue;
        };
        let suffix = std::str::from_utf8(suffix).unwrap_or_default();
        let Some(suffix) = suffix.strip_prefix('.') else {
            continue;
        };
        let (digits, compressed) = match suffix.strip_suffix(".zst") {
            Some(digits) => (digits, true),
            None => (suffix, false),
        };
        if digits.len() >= 6
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && let Ok(number) = digits.parse()
        {
            let mut path = path.as_os_str().to_owned();
            path.push(".");
            path.push(suffix);
            found.push((number, PathBuf::from(path), compressed));
        }
    }
    Ok(found)
}
