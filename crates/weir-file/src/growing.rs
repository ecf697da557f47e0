//! A file that is read while it grows, and is worth keeping when it ends before its time.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::new::{finish, renamed};
use crate::place::{TargetKind, temporary_name};
use crate::unfinished::Unfinished;

/// A file of what comes once: packets of an interface, rows of a question that has no end.
///
/// Where nothing has the name, it has it from the start, so that others see it grow, and whatever ends
/// the program, what was written until then is there. Where a file has the name, that one stays
/// until [`Self::keep`]: the new one grows under a hidden name beside it, and stays under that name when it
/// is dropped with something in it.
#[derive(Debug)]
pub struct GrowingFile {
    file: File,
    written: bool,
    /// The name that the file was given at the start; `None` for a file that was there before.
    made: Option<PathBuf>,
    end: Option<GrowingTarget>,
}

/// The name it has, and what it is to replace.
#[derive(Debug)]
struct GrowingTarget {
    temporary: PathBuf,
    path: PathBuf,
    old: Option<std::fs::Metadata>,
}

impl GrowingFile {
    /// A file that is, or is to be, `path`.
    ///
    /// # Errors
    /// As [`crate::NewFile::create`].
    pub fn create(path: &Path) -> io::Result<Self> {
        let (path, old) = match TargetKind::of(path)? {
            TargetKind::Direct(file) => return Ok(Self::named(file, None, None)),
            TargetKind::Regular(path, old) => (path, old),
        };
        if old.is_none() {
            let file = File::options().write(true).create_new(true).open(&path)?;
            return Ok(Self::named(file, Some(path), None));
        }
        let temporary = temporary_name(&path);
        let file = File::options()
            .write(true)
            .create_new(true)
            .open(&temporary)?;
        let end = GrowingTarget {
            temporary,
            path,
            old,
        };
        Ok(Self::named(file, None, Some(end)))
    }

    const fn named(file: File, made: Option<PathBuf>, end: Option<GrowingTarget>) -> Self {
        Self {
            file,
            written: false,
            made,
            end,
        }
    }

    /// Another handle of the same file, to write to.
    ///
    /// # Errors
    /// The errors of the system.
    pub fn writer(&mut self) -> io::Result<File> {
        self.written = true;
        self.file.try_clone()
    }

    /// The hidden name under which it grows, when another file has the name that it is to have.
    #[must_use]
    pub fn hidden(&self) -> Option<&Path> {
        self.end.as_ref().map(|end| end.temporary.as_path())
    }

    /// Discards the file, as it has no content worth keeping, and leaves the old one.
    pub fn discard(mut self) {
        self.written = false;
        if let Some(made) = &self.made {
            let _ = std::fs::remove_file(made);
        }
    }

    /// The end has come: puts it onto the disk, and gives it its name if it has not got it yet.
    ///
    /// # Errors
    /// When the disk does not take it, or the name cannot be given.
    pub fn keep(mut self) -> io::Result<()> {
        self.file.flush()?;
        let Some(end) = &self.end else {
            // A pipe has no place on a disk.
            let _ = self.file.sync_all();
            return Ok(());
        };
        finish(&self.file, end.old.as_ref())?;
        let temporary = Unfinished::new(end.temporary.clone());
        let outcome = renamed(&temporary, &end.path);
        if outcome.is_err() {
            std::mem::forget(temporary);
        }
        self.end = None;
        outcome
    }
}

impl Write for GrowingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written |= !bytes.is_empty();
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for GrowingFile {
    fn drop(&mut self) {
        if let Some(end) = &self.end
            && !self.written
        {
            let _ = std::fs::remove_file(&end.temporary);
        }
    }
}
