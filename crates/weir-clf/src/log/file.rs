//! The live segment: the log's file and its sidecar, which are opened, repaired and sealed here.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, IoSlice, Seek, SeekFrom, Write};
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::{DirEntryExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::fault::FaultKind;
use crate::forms::form::stray_bytes;
use crate::forms::notation::{Notation, in_form};
use crate::forms::{Form, Scratch};
use crate::index::block::{Builder, EDGE_BYTES};
use crate::index::build::edges_of;
use crate::index::mark::Mark;
use crate::index::sidecar::{Sidecar, seal, sidecar_path};
use crate::index::stretch::refused;
use crate::segment::{Segment, compress, modified_ns, numbered};
use crate::walk::LogWalk;

/// The policy of synchronising written records to the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fsync {
    /// Data is synchronised when a segment is sealed, and otherwise when the system does it. A crash of the program
    /// loses nothing that was acknowledged; a crash of the machine may.
    #[default]
    Never,
    /// Data is synchronised before records are acknowledged; one call for all that wait.
    Always,
    /// Data is synchronised at least in this interval.
    Every(Duration),
}

/// The options of a log writer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriterOptions {
    /// The form of the log. RFC 6873 by default.
    pub form: Form,
    /// The policy of synchronising to the disk.
    pub fsync: Fsync,
    /// The number of bytes that the live segment does not exceed: a new one is begun before.
    pub rotate_bytes: Option<u64>,
    /// The age of the live segment at which a new one is begun.
    pub rotate_every: Option<Duration>,
    /// The level at which sealed segments are compressed with zstd, in frames that can be read by themselves.
    pub compress: Option<i32>,
    /// Whether a sidecar is written. True by default.
    pub index: bool,
    /// The number of bytes of waiting records at which [`crate::Appender::append`] waits itself. 8 MiB by default.
    pub queue_bytes_max: usize,
}

impl Default for WriterOptions {
    fn default() -> Self {
        Self {
            form: Form::default(),
            fsync: Fsync::Never,
            rotate_bytes: None,
            rotate_every: None,
            compress: None,
            index: true,
            queue_bytes_max: 8 << 20,
        }
    }
}

/// The repairs of a log that was opened for writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repair {
    /// The number of bytes behind the last whole record that were cut off.
    pub removed_bytes: u64,
    /// The number of places before that which are no record; they stay.
    pub damaged: u64,
    /// The number of records of the live segment that the sidecar did not cover.
    pub indexed_records: u64,
}

/// The live segment.
#[derive(Debug)]
pub(crate) struct Live {
    path: PathBuf,
    file: Locked,
    pub(crate) len: u64,
    begun: Instant,
    sidecar: Option<SidecarFile>,
    /// The error because of which there is no sidecar any more.
    pub(crate) sidecar_error: Option<io::Error>,
}

#[derive(Debug)]
struct SidecarFile {
    file: File,
    builder: Builder,
    /// The first bytes of the log that the builder's records cover.
    head: Vec<u8>,
}

/// A file whose lock ends with this value. Closing the file would not be enough: a process that was forked meanwhile,
/// and has not started its program yet, has the file and its lock, too.
#[derive(Debug)]
struct Locked(File);

impl Deref for Locked {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut File {
        &mut self.0
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl Live {
    /// Opens or creates the log, cuts off an incomplete record at its end, and brings its sidecar up to date.
    pub(crate) fn open(path: &Path, options: &WriterOptions) -> io::Result<(Self, Repair)> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(
                    io::ErrorKind::ResourceBusy,
                    "another writer has the log open",
                ));
            }
            // Some file systems do not support locks.
            Err(TryLockError::Error(_)) => {}
        }
        let mut live = Self {
            path: path.to_owned(),
            file: Locked(file),
            len: 0,
            begun: Instant::now(),
            sidecar: None,
            sidecar_error: None,
        };
        let repair = in_form!(options.form, N => live.repair::<N>(options.index))?;
        Ok((live, repair))
    }

    fn repair<N: Notation>(&mut self, with_index: bool) -> io::Result<Repair> {
        let segment = Segment::open(&self.path)?;
        if segment.is_compressed() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "is compressed, so nothing can be appended",
            ));
        }
        is_log_of::<N>(&segment)?;
        let known = if with_index {
            Sidecar::open(&segment, N::FORM)?
        } else {
            None
        };
        let (covered, bytes) = known
            .as_ref()
            .map_or((0, 0), |known| (known.covered(), known.bytes()));
        if with_index {
            match SidecarFile::open(&self.path, bytes, N::FORM) {
                Ok(sidecar) => self.sidecar = Some(sidecar),
                Err(error) => self.sidecar_error = Some(error),
            }
        } else {
            // The sidecar would be incomplete from now on.
            let _ = std::fs::remove_file(sidecar_path(&self.path));
        }
        let mut repair = Repair::default();
        let mut walk = LogWalk::default();
        let mut scratch = Scratch::default();
        let mut read = |bytes: &[u8], _whole: bool, offset: u64| {
            // A line without its end is an incomplete record, whatever its text is.
            let len = match N::decode(bytes, false, &mut scratch) {
                Ok((record, len)) => {
                    self.mark(&Mark::of(&record, len), offset, None);
                    len
                }
                Err(fault) if fault.kind == FaultKind::Reference => {
                    self.note(refused(fault).map(drop));
                    N::resynchronise(bytes, 0).unwrap_or(bytes.len())
                }
                Err(fault) => return Ok(Err(fault)),
            };
            repair.indexed_records = repair.indexed_records.saturating_add(1);
            Ok(Ok(len))
        };
        let mut buffer = Vec::new();
        walk.run::<N>(&segment, covered, segment.len(), &mut buffer, &mut read)?;
        repair.damaged = walk.damaged;
        let mut tail = Vec::new();
        segment.read(walk.end, segment.len(), &mut tail)?;
        self.len = segment.len();
        if N::stray(&tail) < tail.len() {
            self.file.set_len(walk.end)?;
            self.len = walk.end;
            repair.removed_bytes = segment.len().saturating_sub(walk.end);
            repair.damaged = repair.damaged.saturating_sub(walk.trailing);
        }
        self.file.seek(SeekFrom::Start(self.len))?;
        Ok(repair)
    }

    /// Whether the next `bytes` should go to a new segment.
    pub(crate) fn is_due(&self, bytes: usize, options: &WriterOptions) -> bool {
        let large = options
            .rotate_bytes
            .is_some_and(|most| self.len > 0 && self.len.saturating_add(bytes as u64) > most);
        let old = options
            .rotate_every
            .is_some_and(|most| self.begun.elapsed() >= most);
        large || (old && self.len > 0)
    }

    /// Writes whole records. After an error none of them is in the log.
    pub(crate) fn write(&mut self, chunks: &[&[u8]]) -> io::Result<()> {
        let mut slices: Vec<IoSlice<'_>> = chunks.iter().map(|chunk| IoSlice::new(chunk)).collect();
        let mut rest = &mut slices[..];
        while !rest.is_empty() {
            let wrote = match self.file.write_vectored(rest) {
                Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    IoSlice::advance_slices(&mut rest, count);
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            // A full disk may take a part of a record. Readers pass over it if it cannot be cut off.
            let _ = self.file.set_len(self.len);
            let _ = self.file.seek(SeekFrom::Start(self.len));
            return wrote;
        }
        let bytes: u64 = chunks.iter().map(|chunk| chunk.len() as u64).sum();
        self.len = self.len.saturating_add(bytes);
        Ok(())
    }

    /// Adds the marks of written records, `bytes` that begin at `offset`.
    pub(crate) fn marks(&mut self, marks: &[Mark], bytes: &[u8], offset: u64) {
        let mut at = 0_usize;
        for mark in marks {
            let rest = bytes.get(at..).unwrap_or_default();
            self.mark(mark, offset.saturating_add(at as u64), Some(rest));
            at = at.saturating_add(mark.len as usize);
        }
    }

    #[inline]
    fn mark(&mut self, mark: &Mark, offset: u64, bytes: Option<&[u8]>) {
        let Some(sidecar) = &mut self.sidecar else {
            return;
        };
        if !sidecar.builder.push(mark, offset) {
            let wrote = sidecar.write_block(&self.file);
            self.note(wrote);
            let Some(sidecar) = &mut self.sidecar else {
                return;
            };
            sidecar.head.clear();
            sidecar.builder.push(mark, offset);
        }
        let Some(sidecar) = &mut self.sidecar else {
            return;
        };
        if let (1, Some(bytes)) = (sidecar.builder.records(), bytes) {
            sidecar
                .head
                .extend_from_slice(bytes.get(..bytes.len().min(EDGE_BYTES)).unwrap_or_default());
        }
    }

    /// Removes a sidecar that cannot be written: the log matters more.
    fn note(&mut self, wrote: io::Result<()>) {
        if let Err(error) = wrote {
            self.sidecar = None;
            let _ = std::fs::remove_file(sidecar_path(&self.path));
            self.sidecar_error = Some(error);
        }
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Writes the last block and the seal: the segment is finished, under the name `named`.
    fn finish(&mut self, named: &Path) -> io::Result<()> {
        self.file.sync_data()?;
        if let Some(mut sidecar) = self.sidecar.take() {
            let wrote = sidecar.finish(&self.file, self.len);
            self.note(wrote);
            let path = sidecar_path(&self.path);
            if path.exists() && named != self.path {
                std::fs::rename(path, sidecar_path(named))?;
            }
        }
        Ok(())
    }

    /// Finishes the log where it is.
    pub(crate) fn close(mut self) -> io::Result<Option<io::Error>> {
        let path = self.path.clone();
        self.finish(&path)?;
        Ok(self.sidecar_error)
    }

    /// Renames the live segment to the next number and begins a new one. Returns the path of the sealed segment.
    pub(crate) fn rotate(&mut self, options: &WriterOptions) -> io::Result<PathBuf> {
        let number = numbered(&self.path)?
            .into_iter()
            .map(|(number, ..)| number)
            .max();
        let number = number.unwrap_or(0).saturating_add(1);
        let mut sealed = self.path.as_os_str().to_owned();
        sealed.push(format!(".{number:06}"));
        let sealed = PathBuf::from(sealed);
        std::fs::rename(&self.path, &sealed)?;
        self.finish(&sealed)?;
        self.begin(options)?;
        Ok(sealed)
    }

    /// Begins a new log at the path after another program has moved the old one away. The sidecar of the old one is
    /// moved along when the log is still in the same folder, and removed otherwise.
    pub(crate) fn reopen(&mut self, options: &WriterOptions) -> io::Result<()> {
        let inode = self.file.metadata()?.ino();
        if std::fs::metadata(&self.path).is_ok_and(|found| found.ino() == inode) {
            return Ok(());
        }
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let moved = std::fs::read_dir(folder)?
            .flatten()
            .find(|entry| entry.ino() == inode);
        match moved {
            Some(moved) => self.finish(&folder.join(moved.file_name()))?,
            None => {
                self.sidecar = None;
                let _ = std::fs::remove_file(sidecar_path(&self.path));
            }
        }
        self.begin(options)
    }

    fn begin(&mut self, options: &WriterOptions) -> io::Result<()> {
        let (live, _) = Self::open(&self.path, options)?;
        *self = live;
        Ok(())
    }
}

impl SidecarFile {
    /// Opens the sidecar and cuts off everything behind its valid blocks.
    fn open(log: &Path, good_bytes: u64, form: Form) -> io::Result<Self> {
        let path = sidecar_path(log);
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        file.set_len(good_bytes)?;
        file.seek(SeekFrom::Start(good_bytes))?;
        Ok(Self {
            file,
            builder: Builder::new(form),
            head: Vec::new(),
        })
    }

    fn write_block(&mut self, log: &File) -> io::Result<()> {
        if self.builder.records() == 0 {
            return Ok(());
        }
        let block = self.builder.finish();
        let bytes = block
            .log_end
            .saturating_sub(block.log_start)
            .min(EDGE_BYTES as u64) as usize;
        let mut tail = vec![0; bytes];
        log.read_exact_at(&mut tail, block.log_end.saturating_sub(bytes as u64))?;
        // The bytes in the writer's memory need not be read again.
        if self.head.len() < bytes {
            self.head.resize(bytes, 0);
            log.read_exact_at(&mut self.head, block.log_start)?;
        }
        let edges = edges_of(self.head.get(..bytes).unwrap_or_default(), &tail);
        self.file.write_all(&block.seal(edges))?;
        self.head.clear();
        Ok(())
    }

    fn finish(&mut self, log: &File, len: u64) -> io::Result<()> {
        self.write_block(log)?;
        let modified = modified_ns(&log.metadata()?);
        // The file is not synchronised: the checksums find what a crash leaves of it.
        self.file.write_all(&seal(len, modified))
    }
}

/// Checks that records of the form can follow: nothing is cut off the end of a file that is not a log, or is one of
/// another form.
fn is_log_of<N: Notation>(segment: &Segment) -> io::Result<()> {
    let refuse = |text: String| Err(io::Error::new(io::ErrorKind::InvalidData, text));
    match segment.form()? {
        Some(form) if form == N::FORM => return Ok(()),
        Some(form) => {
            return refuse(format!(
                "is a log of the format {}, not {}",
                form.name(),
                N::FORM.name()
            ));
        }
        None => {}
    }
    // The log may begin with the remains of a first record after a crash, or with a damaged one before others.
    let mut begin = Vec::new();
    segment.read(0, BEGIN_BYTES, &mut begin)?;
    let text = begin.get(stray_bytes(&begin)..).unwrap_or_default();
    let blank = text.iter().all(|byte| matches!(byte, 0 | b'\n' | b'\r'));
    let mut scratch = Scratch::default();
    let first = N::decode(&begin, false, &mut scratch).map(drop);
    let half = first.is_err_and(|fault| fault.kind == FaultKind::Cut) && N::may_begin(&begin);
    if blank || half || N::resynchronise(&begin, 0).is_some_and(|at| is_record::<N>(&begin, at)) {
        return Ok(());
    }
    refuse("does not begin like a SIP log".to_owned())
}

fn is_record<N: Notation>(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    N::decode(rest, false, &mut Scratch::default()).is_ok()
}

/// The number of bytes by which a file is recognised as a log.
const BEGIN_BYTES: u64 = 64 << 10;

/// Compresses a sealed segment, and removes the plain one when the other is on the disk.
pub(crate) fn compress_segment(sealed: &Path, level: i32) -> io::Result<()> {
    let with = |path: &Path, suffix: &str| {
        let mut path = path.as_os_str().to_owned();
        path.push(suffix);
        PathBuf::from(path)
    };
    let (target, temporary) = (with(sealed, ".zst"), with(sealed, ".zst.new"));
    let out = File::create(&temporary)?;
    compress(File::open(sealed)?, io::BufWriter::new(&out), level)?;
    out.sync_data()?;
    // The sidecar has offsets of what was compressed, so it fits both.
    if sidecar_path(sealed).exists() {
        std::fs::copy(sidecar_path(sealed), sidecar_path(&target))?;
    }
    std::fs::rename(&temporary, &target)?;
    std::fs::remove_file(sealed)?;
    if sidecar_path(sealed).exists() {
        std::fs::remove_file(sidecar_path(sealed))?;
    }
    Ok(())
}
