//! Directories of a process for files that it writes for itself.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

use crate::mark::MARK;

/// A directory of one process, with mode 0700 and a random name. It is removed when this value is dropped.
///
/// A marker file in it is locked as long as the process runs. The directory of a killed process has a marker that is not locked, and is
/// removed when a process of its kind, user and machine creates one below the same parent. A directory without a marker is never
/// removed, and symbolic links are not followed.
///
/// ```
/// use weir_file::{PrivateFolder, PrivateFolderKind};
///
/// const KIND: PrivateFolderKind = PrivateFolderKind { prefix: "weir-example-", process: "an example" };
/// let parent = tempfile::tempdir()?;
/// let folder = PrivateFolder::create_in(parent.path(), KIND)?;
/// let path = folder.path().to_owned();
/// assert!(path.is_dir() && folder.abandoned().is_empty());
/// drop(folder);
/// assert!(!path.exists());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct PrivateFolder {
    // Fields are dropped in this order: the directory is removed while its marker is still locked.
    folder: OwnFolder,
    mark: Mutex<File>,
    kind: PrivateFolderKind,
    abandoned: Vec<PathBuf>,
}

/// The kind of process that has a [`PrivateFolder`].
#[derive(Debug, Clone, Copy)]
pub struct PrivateFolderKind {
    /// The prefix of the names of directories (`weir-executor-`).
    pub prefix: &'static str,
    /// The name of the process with its article (`an executor`), which the marker contains.
    pub process: &'static str,
}

impl PrivateFolder {
    /// Creates a directory below `parent`, and removes those that killed processes of the same kind left there.
    ///
    /// # Errors
    /// When `parent` is not writable.
    pub fn create_in(parent: &Path, kind: PrivateFolderKind) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix(kind.prefix)
            .permissions(Permissions::from_mode(PRIVATE_FOLDER))
            .tempdir_in(parent)?;
        let folder = OwnFolder::new(folder)?;
        let mark = write_mark(folder.path(), kind)?;
        let user = folder.path().metadata()?.uid();
        let abandoned = remove_abandoned(parent, user, kind);
        Ok(Self {
            folder,
            mark: Mutex::new(mark),
            kind,
            abandoned,
        })
    }

    /// Creates the directory again where it was removed: programs that clean directories of temporary files do.
    ///
    /// # Errors
    /// When there is something else at its path, or its parent is not writable.
    pub fn restore(&self) -> io::Result<()> {
        if self.folder.is_there() {
            return Ok(());
        }
        DirBuilder::new().mode(PRIVATE_FOLDER).create(self.path())?;
        let mark = write_mark(self.path(), self.kind)?;
        *lock(&self.mark) = mark;
        *lock(&self.folder.opened) = File::open(self.path())?;
        Ok(())
    }

    /// The path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The directories of killed processes that were removed when this one was created.
    #[must_use]
    pub fn abandoned(&self) -> &[PathBuf] {
        &self.abandoned
    }
}

/// A directory that is removed when this value is dropped, unless there is another one at its path: it may have been removed, and
/// another one made under its name.
#[derive(Debug)]
struct OwnFolder {
    folder: TempDir,
    /// The directory. While it is open, no other one has its inode.
    opened: Mutex<File>,
}

impl OwnFolder {
    fn new(folder: TempDir) -> io::Result<Self> {
        let opened = Mutex::new(File::open(folder.path())?);
        Ok(Self { folder, opened })
    }

    /// Whether it is still the one at its path.
    fn is_there(&self) -> bool {
        let place = |found: fs::Metadata| (found.dev(), found.ino());
        let found = self.path().symlink_metadata().map(place);
        let own = lock(&self.opened).metadata().map(place);
        matches!((found, own), (Ok(found), Ok(own)) if found == own)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Leaves the directory where it is, as a killed process does.
    #[cfg(test)]
    fn keep(mut self) -> PathBuf {
        self.folder.disable_cleanup(true);
        self.path().to_owned()
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        if !self.is_there() {
            self.folder.disable_cleanup(true);
        }
    }
}

fn lock(file: &Mutex<File>) -> MutexGuard<'_, File> {
    file.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates the marker file of a directory. It is renamed once it is locked, so that the marker of a running process is never
/// visible without a lock.
fn write_mark(folder: &Path, kind: PrivateFolderKind) -> io::Result<File> {
    let unlocked = folder.join(UNLOCKED_MARK);
    let mut mark = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(PRIVATE_FILE)
        .open(&unlocked)?;
    mark.write_all(content(kind).as_bytes())?;
    // On a file system without locks no directory is considered abandoned.
    let _ = mark.try_lock();
    fs::rename(unlocked, folder.join(MARK))?;
    Ok(mark)
}

/// Removes the directories of killed processes of this user, machine and kind below `parent`, and returns their paths.
fn remove_abandoned(parent: &Path, user: u32, kind: PrivateFolderKind) -> Vec<PathBuf> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_named = entry.file_name().to_string_lossy().starts_with(kind.prefix);
        let folder = entry.path();
        // The lock is held until the directory is removed, so that another process that starts now skips it. A directory that cannot
        // be removed is left to the next process.
        if is_named
            && let Some(_mark) = abandoned_mark(&folder, user, kind)
            && fs::remove_dir_all(&folder).is_ok()
        {
            removed.push(folder);
        }
    }
    removed
}

/// The marker of a directory of a killed process of this user, machine and kind, locked.
fn abandoned_mark(folder: &Path, user: u32, kind: PrivateFolderKind) -> Option<File> {
    let path = folder.join(MARK);
    let (of_folder, of_mark) = (
        folder.symlink_metadata().ok()?,
        path.symlink_metadata().ok()?,
    );
    let is_own =
        of_folder.is_dir() && of_folder.uid() == user && of_mark.is_file() && of_mark.uid() == user;
    if !is_own {
        return None;
    }
    let mut mark = File::open(path).ok()?;
    let opened = mark.metadata().ok()?;
    if (opened.dev(), opened.ino()) != (of_mark.dev(), of_mark.ino()) {
        return None;
    }
    let mut written = String::new();
    let mut start = (&mut mark).take(MARK_BYTES_MAX);
    start.read_to_string(&mut written).ok()?;
    // The lock of another machine on a shared file system may not be visible here.
    (written == content(kind)).then_some(())?;
    mark.try_lock().ok()?;
    Some(mark)
}

/// The content of a marker: the kind and the host of the process. The host name is known on Linux; elsewhere the lock alone decides.
fn content(kind: PrivateFolderKind) -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!(
        "the work folder of {} of weir on {}\n",
        kind.process,
        host.trim()
    )
}

const UNLOCKED_MARK: &str = "made-by-weir.new";
const PRIVATE_FOLDER: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;
const MARK_BYTES_MAX: u64 = 4096;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const EXECUTOR: PrivateFolderKind = PrivateFolderKind {
        prefix: "weir-executor-",
        process: "an executor",
    };
    const SCHEDULER: PrivateFolderKind = PrivateFolderKind {
        prefix: "weir-scheduler-",
        process: "a scheduler",
    };

    /// A directory with files of a user, some of which have names like those of executors.
    fn of_a_user() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["project/src", ".ssh", "weir-executor-notes"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::write(at("project/src/main.rs"), "fn main() {}").unwrap();
        fs::write(at("weir-executor-notes/notes.txt"), "mine").unwrap();
        fs::write(at("weir-executor-list.txt"), "mine").unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_is_private_and_goes_with_its_process() {
        let user = of_a_user();
        let before = names(user.path());
        let folder = PrivateFolder::create_in(user.path(), EXECUTOR).unwrap();
        let mode = folder.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert_eq!(folder.path().parent(), Some(user.path()));
        fs::create_dir_all(folder.path().join("job/1")).unwrap();
        fs::write(folder.path().join("job/1/data.arrow"), "rows").unwrap();
        drop(folder);
        assert_eq!(names(user.path()), before);
    }

    #[test]
    fn folders_of_killed_processes_are_removed_and_no_others() {
        let user = of_a_user();
        let living = PrivateFolder::create_in(user.path(), EXECUTOR).unwrap();
        // A killed process leaves its directory, and the system releases its lock.
        let killed = PrivateFolder::create_in(user.path(), EXECUTOR).unwrap();
        let PrivateFolder { folder, mark, .. } = killed;
        let left = folder.keep();
        drop(mark);
        fs::create_dir_all(left.join("job/1")).unwrap();
        let elsewhere = user.path().join("weir-executor-elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let of_another = "the work folder of an executor of weir on another\n";
        fs::write(elsewhere.join(MARK), of_another).unwrap();
        let mut expected = names(user.path());
        let scheduler = PrivateFolder::create_in(user.path(), SCHEDULER).unwrap();
        assert_eq!(scheduler.abandoned(), [] as [PathBuf; 0]);
        drop(scheduler);
        let last = PrivateFolder::create_in(user.path(), EXECUTOR).unwrap();
        assert_eq!(last.abandoned(), std::slice::from_ref(&left));
        drop(last);
        expected.retain(|name| !left.ends_with(name));
        assert_eq!(names(user.path()), expected);
        assert_eq!(names(living.path()), [MARK]);
    }

    /// Files of a user in a directory of the same name went with the process.
    #[test]
    fn a_folder_that_took_the_place_of_another_stays() {
        let user = of_a_user();
        let folder = PrivateFolder::create_in(user.path(), EXECUTOR).unwrap();
        let path = folder.path().to_owned();
        fs::rename(&path, user.path().join("moved")).unwrap();
        fs::create_dir(&path).unwrap();
        fs::write(path.join("notes.txt"), "mine").unwrap();
        drop(folder);
        assert_eq!(names(&path), ["notes.txt"]);
        let folder = PrivateFolder::create_in(user.path(), EXECUTOR).unwrap();
        fs::remove_dir_all(folder.path()).unwrap();
        symlink(&path, folder.path()).unwrap();
        drop(folder);
        assert_eq!(names(&path), ["notes.txt"]);
    }

    /// Rows lay in a directory without a marker, which no process removed.
    #[test]
    fn a_folder_that_was_removed_is_made_again() {
        let user = of_a_user();
        let before = names(user.path());
        let folder = PrivateFolder::create_in(user.path(), EXECUTOR).unwrap();
        folder.restore().unwrap();
        fs::remove_dir_all(folder.path()).unwrap();
        folder.restore().unwrap();
        assert_eq!(names(folder.path()), [MARK]);
        let mode = folder.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        // Another process leaves it alone.
        let other = PrivateFolder::create_in(user.path(), EXECUTOR).unwrap();
        assert_eq!(other.abandoned(), [] as [PathBuf; 0]);
        drop(other);
        fs::write(folder.path().join("data.arrow"), "rows").unwrap();
        drop(folder);
        assert_eq!(names(user.path()), before);
        let folder = PrivateFolder::create_in(user.path(), EXECUTOR).unwrap();
        fs::remove_dir_all(folder.path()).unwrap();
        fs::write(folder.path(), "mine").unwrap();
        assert!(folder.restore().is_err());
    }

    #[test]
    fn links_are_not_followed() {
        let user = of_a_user();
        let other = tempfile::tempdir().unwrap();
        fs::write(other.path().join(MARK), content(EXECUTOR)).unwrap();
        symlink(other.path(), user.path().join("weir-executor-link")).unwrap();
        // A marker that is a symbolic link does not count.
        let marked = user.path().join("weir-executor-marked");
        fs::create_dir(&marked).unwrap();
        symlink(other.path().join(MARK), marked.join(MARK)).unwrap();
        let folder = PrivateFolder::create_in(user.path(), EXECUTOR).unwrap();
        assert_eq!(folder.abandoned(), [] as [PathBuf; 0]);
        assert!(other.path().join(MARK).exists() && marked.exists());
    }
}
