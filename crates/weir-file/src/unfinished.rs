//! The files that have to be removed when the program ends before they are whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::place::is_temporary_of;

/// The temporary files and folders that have names.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A temporary file or folder that is removed when this is dropped, unless it has been taken.
#[derive(Debug)]
pub(crate) struct Unfinished(PathBuf);

impl Unfinished {
    /// Makes something at `path` that does not stay. No more of them are made once [`remove_unfinished`] has begun.
    ///
    /// # Errors
    /// The error of making it; nothing is removed then, as it may be another's.
    pub(crate) fn made<T>(
        path: PathBuf,
        make: impl FnOnce(&Path) -> io::Result<T>,
    ) -> io::Result<(T, Self)> {
        let mut list = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        let made = make(&path)?;
        list.push(path.clone());
        Ok((made, Self(path)))
    }

    /// Registers `path`, which is created next, for removal.
    pub(crate) fn new(path: PathBuf) -> Self {
        let mut list = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        list.push(path.clone());
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        remove(&self.0);
        let mut list = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        list.retain(|path| *path != self.0);
    }
}

/// Removes every temporary file and folder of this process. For a program that a signal ends; not to be called in the
/// handler itself, but by a thread that waits for it. Writes to these files fail from then on, or have no effect; a
/// thread that begins another file waits for the end of the program.
pub fn remove_unfinished() {
    let list = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    for _ in 0..ATTEMPTS_MAX {
        list.iter().for_each(|path| remove(path));
        // A thread that was about to write into a folder may make it anew.
        std::thread::yield_now();
        if list.iter().all(|path| path.symlink_metadata().is_err()) {
            break;
        }
    }
    // No file is made behind it.
    std::mem::forget(list);
}

/// Removes the temporary files and folders that a process of this number has left in a folder. For a program that has started that
/// process and has waited for its end.
pub fn remove_left_by(process: u32, folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if is_temporary_of(process, &entry.file_name()) {
            remove(&entry.path());
        }
    }
}

/// A failure to remove the file must not replace the error before it, and a file that is gone needs no removal. Another
/// thread may still write into a folder, so that it is not empty at its removal.
fn remove(path: &Path) {
    if fs::remove_file(path).is_ok() {
        return;
    }
    for _ in 0..ATTEMPTS_MAX {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                std::thread::yield_now();
            }
            _ => return,
        }
    }
}

/// Attempts to remove what is written into meanwhile.
const ATTEMPTS_MAX: usize = 1_000;
