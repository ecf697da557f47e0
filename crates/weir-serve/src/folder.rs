//! Where does a server keep what it writes for itself? Uploads, spilled rows and captures that it gives away lie in one folder.
//!
//! The folder has a random name (`weir-serve-…`) and the mode 0700, and a mark in it, which is locked as long as the server runs. A server that is killed
//! leaves it behind, with a mark that is not locked: the next server of the same user and machine removes it. A folder without such a
//! mark is never removed, and links are not followed.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The folder of one server, which goes with it.
#[derive(Debug)]
pub(crate) struct Folder {
    // Fields are dropped in this order: the folder is removed while its mark is still locked.
    folder: TempDir,
    _mark: File,
}

impl Folder {
    /// A new folder below `parent`. Those of servers that were killed are removed there.
    ///
    /// # Errors
    /// When `parent` is not writable.
    pub(crate) fn create_in(parent: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(Permissions::from_mode(PRIVATE_FOLDER))
            .tempdir_in(parent)?;
        let mark = write_mark(folder.path())?;
        let owner = folder.path().metadata()?.uid();
        remove_abandoned(parent, owner);
        Ok(Self {
            folder,
            _mark: mark,
        })
    }

    /// A new folder in it, which is removed when it is dropped.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub(crate) fn within(&self, prefix: &str) -> io::Result<TempDir> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix).tempdir_in(self.folder.path())
    }
}

/// Writes the mark of a folder. It has its name once it is locked, so that the mark of a running server is never seen without its lock.
fn write_mark(folder: &Path) -> io::Result<File> {
    let unlocked = folder.join(UNLOCKED_MARK);
    let mut mark = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(PRIVATE_FILE)
        .open(&unlocked)?;
    mark.write_all(owner().as_bytes())?;
    // On a file system without locks no folder is taken for one that was left.
    let _ = mark.try_lock();
    fs::rename(unlocked, folder.join(MARK))?;
    Ok(mark)
}

/// Removes the folders that killed servers of this user and machine have left below `parent`.
fn remove_abandoned(parent: &Path, owner: u32) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries {
        let is_named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let folder = entry.path();
        // The lock is held until the folder is gone, so that another server that starts now passes over it.
        if is_named && let Some(_mark) = abandoned_mark(&folder, owner) {
            // What cannot be removed is left to the next server.
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

/// The mark of a folder that a killed server of this user and machine has left, locked.
fn abandoned_mark(folder: &Path, user: u32) -> Option<File> {
    let found: PathBuf = folder.join(MARK);
    let (of_folder, of_mark) = (
        folder.symlink_metadata().ok()?,
        found.symlink_metadata().ok()?,
    );
    let is_own =
        of_folder.is_dir() && of_folder.uid() == user && of_mark.is_file() && of_mark.uid() == user;
    if !is_own {
        return None;
    }
    let mut mark = File::open(found).ok()?;
    let opened = mark.metadata().ok()?;
    if (opened.dev(), opened.ino()) != (of_mark.dev(), of_mark.ino()) {
        return None;
    }
    let mut written = String::new();
    let mut start = (&mut mark).take(MARK_BYTES_MAX);
    start.read_to_string(&mut written).ok()?;
    // The lock of another machine may not be seen on a file system that both have.
    (written == owner()).then_some(())?;
    mark.try_lock().ok()?;
    Some(mark)
}

/// What a mark says.
fn owner() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("the folder of a server of weir on {}\n", host.trim())
}

const PREFIX: &str = "weir-serve-";
const MARK: &str = "made-by-weir";
const UNLOCKED_MARK: &str = "made-by-weir.new";
const PRIVATE_FOLDER: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;
const MARK_BYTES_MAX: u64 = 4096;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn folders_of_killed_servers_are_removed_and_no_others() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        let living = Folder::create_in(parent.path()).unwrap();
        // A killed server leaves its folder, and the system releases its lock.
        let killed = Folder::create_in(parent.path()).unwrap();
        let _ = killed.within("spilled-").unwrap().keep();
        let Folder { folder, _mark } = killed;
        let left = folder.keep();
        drop(_mark);
        // What bears no mark of this machine, or a link in its place, is another's.
        fs::create_dir(at("weir-serve-notes")).unwrap();
        fs::write(at("weir-serve-list.txt"), "mine").unwrap();
        fs::create_dir(at("weir-serve-elsewhere")).unwrap();
        let of_another = "the folder of a server of weir on another\n";
        fs::write(at("weir-serve-elsewhere").join(MARK), of_another).unwrap();
        let other = tempfile::tempdir().unwrap();
        fs::write(other.path().join(MARK), owner()).unwrap();
        symlink(other.path(), at("weir-serve-link")).unwrap();
        fs::create_dir(at("weir-serve-marked")).unwrap();
        symlink(other.path().join(MARK), at("weir-serve-marked").join(MARK)).unwrap();
        let mut expected = names(parent.path());
        expected.retain(|name| !left.ends_with(name));
        let next = Folder::create_in(parent.path()).unwrap();
        let mode = next.folder.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, PRIVATE_FOLDER);
        drop(next);
        assert_eq!(names(parent.path()), expected);
        assert!(other.path().join(MARK).exists());
        assert_eq!(names(living.folder.path()), [MARK]);
    }
}
