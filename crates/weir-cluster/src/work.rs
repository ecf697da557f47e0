//! Private directories of the processes of a cluster: the work directory of an executor, for rows between the stages of a statement,
//! and that of a scheduler, for its sockets.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::Mode;
use tempfile::TempDir;

use crate::error::Error;

/// Creates all files of this process for its user alone from now on (mode 0600; directories 0700), whatever the umask that it was
/// started with. Ballista creates files of rows with the mode that the umask leaves. The umask belongs to the whole process, so that
/// this is for a process that does nothing but schedule or execute.
pub fn create_private_files() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// The work directory of one executor or scheduler, with mode 0700. It is removed when this value is dropped.
///
/// Ballista removes every directory below its work directory, so that it never gets a directory of the user: this one has a random
/// name (`weir-executor-…`) below the directory of the user, and a marker file, which is locked as long as the process runs. The
/// directory of a killed process has a marker that is not locked, and is removed by the next one of its kind below the same parent. A
/// directory without a marker is never removed.
#[derive(Debug)]
pub struct WorkFolder {
    // Fields are dropped in this order: the directory is removed while its marker is still locked.
    folder: TempDir,
    _mark: File,
    abandoned: Vec<PathBuf>,
}

/// The kind of process that has a directory.
#[derive(Clone, Copy)]
struct Kind {
    /// The prefix of the names of directories.
    prefix: &'static str,
    name: &'static str,
}

impl WorkFolder {
    /// Creates a directory of an executor below `parent`, which is created if it is missing, and removes those of killed executors of
    /// the same user and machine below it.
    ///
    /// # Errors
    /// When `parent` is not writable, or its name is not UTF-8, which Ballista requires.
    pub fn create_in(parent: &Path) -> Result<Self, Error> {
        let failed = |error: io::Error| {
            let shown = parent.display();
            Error::new(format!(
                "cannot create a work directory in {shown}: {error}"
            ))
            .with_hint("--work-dir names a writable directory on a disk with space")
        };
        DirBuilder::new()
            .recursive(true)
            .mode(PRIVATE_FOLDER)
            .create(parent)
            .and_then(|()| Self::create(parent, EXECUTOR))
            .map_err(failed)
    }

    /// Creates a directory of a scheduler below `parent`, and removes those of killed schedulers.
    ///
    /// # Errors
    /// When `parent` is not writable, or its name is not UTF-8.
    pub(crate) fn of_scheduler(parent: &Path) -> io::Result<Self> {
        Self::create(parent, SCHEDULER)
    }

    fn create(parent: &Path, kind: Kind) -> io::Result<Self> {
        let parent = parent.canonicalize()?;
        if parent.to_str().is_none() {
            return Err(io::Error::other("the name is not UTF-8"));
        }
        let folder = tempfile::Builder::new()
            .prefix(kind.prefix)
            .permissions(Permissions::from_mode(PRIVATE_FOLDER))
            .tempdir_in(&parent)?;
        let mark = write_mark(folder.path(), kind)?;
        let owner = folder.path().metadata()?.uid();
        let abandoned = remove_abandoned(&parent, owner, kind)?;
        Ok(Self {
            folder,
            _mark: mark,
            abandoned,
        })
    }

    /// The path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Removes the rows of jobs that were not modified for so long: their scheduler has ended without removing them.
    pub(crate) fn remove_older_than(&self, age: Duration) {
        let Ok(entries) = fs::read_dir(self.path()) else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            // Job IDs of Ballista are alphanumeric, and the spill directories of DataFusion have a hyphen in their names.
            let is_job = name
                .as_encoded_bytes()
                .iter()
                .all(u8::is_ascii_alphanumeric);
            let folder = entry.path();
            let is_old = || {
                last_written(&folder)?
                    .elapsed()
                    .ok()
                    .map(|since| since > age)
            };
            if is_job && is_old() == Some(true) {
                // A failure is retried later, and at the end the whole work directory is removed.
                let _ = fs::remove_dir_all(folder);
            }
        }
    }

    /// The directories of killed processes that were removed when this one was created.
    #[must_use]
    pub fn abandoned(&self) -> &[PathBuf] {
        &self.abandoned
    }
}

/// The latest modification time of a directory and everything in it.
fn last_written(folder: &Path) -> Option<SystemTime> {
    let mut last = folder.symlink_metadata().ok()?.modified().ok()?;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).ok()?.flatten() {
            let metadata = entry.metadata().ok()?;
            last = last.max(metadata.modified().ok()?);
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Some(last)
}

/// Creates the marker file of a directory. It is renamed once it is locked, so that the marker of a running process is never
/// visible without a lock.
fn write_mark(folder: &Path, kind: Kind) -> io::Result<File> {
    let unlocked = folder.join(UNLOCKED_MARK);
    let mut mark = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(PRIVATE_FILE)
        .open(&unlocked)?;
    mark.write_all(owner_of(kind).as_bytes())?;
    // On a file system without locks no directory is considered abandoned.
    let _ = mark.try_lock();
    fs::rename(unlocked, folder.join(MARK))?;
    Ok(mark)
}

/// Removes the directories of killed processes of this owner, machine and kind below `parent`, and returns their paths.
fn remove_abandoned(parent: &Path, owner: u32, kind: Kind) -> io::Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(parent)? {
        let Ok(entry) = entry else { continue };
        let is_named = entry.file_name().to_string_lossy().starts_with(kind.prefix);
        let folder = entry.path();
        // The lock is held until the directory is removed, so that another process that starts now skips it.
        if is_named
            && let Some(_mark) = abandoned_mark(&folder, owner, kind)
            && fs::remove_dir_all(&folder).is_ok()
        {
            removed.push(folder);
        }
    }
    Ok(removed)
}

/// The marker of a directory of a killed process of this owner, machine and kind, locked.
fn abandoned_mark(folder: &Path, owner: u32, kind: Kind) -> Option<File> {
    // Symbolic links are not followed.
    let found = folder.symlink_metadata().ok()?;
    let path = folder.join(MARK);
    let shown = path.symlink_metadata().ok()?;
    if !found.is_dir() || found.uid() != owner || !shown.is_file() || shown.uid() != owner {
        return None;
    }
    let mut mark = File::open(path).ok()?;
    let opened = mark.metadata().ok()?;
    if (opened.dev(), opened.ino()) != (shown.dev(), shown.ino()) {
        return None;
    }
    let mut made_on = String::new();
    let mut start = (&mut mark).take(MARK_BYTES_MAX);
    start.read_to_string(&mut made_on).ok()?;
    // The lock of another machine on a shared file system may not be visible here.
    (made_on == owner_of(kind)).then_some(())?;
    mark.try_lock().ok()?;
    Some(mark)
}

/// The content of a marker: the kind and the host of the process. The host name is known on Linux; elsewhere the lock alone decides.
fn owner_of(kind: Kind) -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!(
        "the work folder of {} of weir on {}\n",
        kind.name,
        host.trim()
    )
}

const EXECUTOR: Kind = Kind {
    prefix: "weir-executor-",
    name: "an executor",
};
const SCHEDULER: Kind = Kind {
    prefix: "weir-scheduler-",
    name: "a scheduler",
};
const MARK: &str = "made-by-weir";
const UNLOCKED_MARK: &str = "made-by-weir.new";
const PRIVATE_FOLDER: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;
const MARK_BYTES_MAX: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_work_folder_is_private_and_goes_with_its_executor() {
        let user = of_a_user();
        let before = names(user.path());
        let work = WorkFolder::create_in(user.path()).unwrap();
        let mode = work.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert_eq!(
            work.path().parent(),
            user.path().canonicalize().ok().as_deref()
        );
        fs::create_dir_all(work.path().join("job/1")).unwrap();
        fs::write(work.path().join("job/1/data.arrow"), "rows").unwrap();
        drop(work);
        assert_eq!(names(user.path()), before);
    }

    #[test]
    fn folders_of_killed_executors_are_removed_and_no_others() {
        let user = of_a_user();
        let living = WorkFolder::create_in(user.path()).unwrap();
        // A killed executor leaves its directory, and the system releases its lock.
        let killed = WorkFolder::create_in(user.path()).unwrap();
        let WorkFolder { folder, _mark, .. } = killed;
        let left = folder.keep();
        drop(_mark);
        fs::create_dir_all(left.join("job/1")).unwrap();
        let elsewhere = user.path().join("weir-executor-elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(
            elsewhere.join(MARK),
            "the work folder of an executor of weir on another\n",
        )
        .unwrap();
        let mut kept = names(user.path());
        let scheduler = WorkFolder::of_scheduler(user.path()).unwrap();
        assert_eq!(scheduler.abandoned(), [] as [PathBuf; 0]);
        drop(scheduler);
        let last = WorkFolder::create_in(user.path()).unwrap();
        assert_eq!(last.abandoned(), std::slice::from_ref(&left));
        kept.retain(|name| !left.ends_with(name));
        kept.push(
            last.path()
                .file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned(),
        );
        kept.sort();
        assert_eq!(names(user.path()), kept);
        assert!(living.path().join(MARK).exists());
    }

    #[test]
    fn rows_of_abandoned_jobs_are_removed_when_they_are_old() {
        let parent = tempfile::tempdir().unwrap();
        let work = WorkFolder::create_in(parent.path()).unwrap();
        let hours_ago = SystemTime::now() - Duration::from_secs(2 * 3600);
        let make = |name: &str, is_old: bool| {
            let rows = work.path().join(name).join("1/data.arrow");
            fs::create_dir_all(rows.parent().unwrap()).unwrap();
            fs::write(&rows, "rows").unwrap();
            let files = [&rows, rows.parent().unwrap(), &work.path().join(name)];
            for path in files.into_iter().filter(|_| is_old) {
                File::open(path).unwrap().set_modified(hours_ago).unwrap();
            }
        };
        make("over4x", true);
        make("runs7y", false);
        make("datafusion-sorts", true);
        work.remove_older_than(Duration::from_secs(3600));
        assert_eq!(names(work.path()), ["datafusion-sorts", MARK, "runs7y"]);
    }

    #[test]
    fn links_are_not_followed() {
        let user = of_a_user();
        let other = tempfile::tempdir().unwrap();
        fs::write(other.path().join(MARK), owner_of(EXECUTOR)).unwrap();
        std::os::unix::fs::symlink(other.path(), user.path().join("weir-executor-link")).unwrap();
        // A marker that is a symbolic link does not count.
        let marked = user.path().join("weir-executor-marked");
        fs::create_dir(&marked).unwrap();
        std::os::unix::fs::symlink(other.path().join(MARK), marked.join(MARK)).unwrap();
        let work = WorkFolder::create_in(user.path()).unwrap();
        assert_eq!(work.abandoned(), [] as [PathBuf; 0]);
        assert!(other.path().join(MARK).exists() && marked.exists());
    }

    #[test]
    fn an_unwritable_parent_is_named_in_the_error() {
        let user = of_a_user();
        let error = WorkFolder::create_in(&user.path().join("weir-executor-list.txt")).unwrap_err();
        assert!(
            error.to_string().contains("weir-executor-list.txt"),
            "{error}"
        );
        assert!(error.hint().is_some());
    }
}
