//! What has to be removed when the program ends before its files are whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The temporary files and folders that have names.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A temporary file or folder that is removed when this is dropped, unless it has been taken.
#[derive(Debug)]
pub(crate) struct Unfinished(PathBuf);

impl Unfinished {
    /// From now on `path`, which is made next, does not stay.
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

/// Removes every temporary file and folder of this process. For a program that a signal ends; not to be
/// called in the handler itself, but by a thread that waits for it. What is being written fails from then
/// on, or goes nowhere.
pub fn remove_unfinished() {
    let list = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    list.iter().for_each(|path| remove(path));
}

/// That it cannot be removed is not what went wrong; that it is not there any more is as it should be.
fn remove(path: &Path) {
    if fs::remove_file(path).is_err() {
        let _ = fs::remove_dir_all(path);
    }
}
