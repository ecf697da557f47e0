//! Private directories of the processes of a cluster: the work directory of an executor, for rows between the stages of a statement,
//! and that of a scheduler, for its sockets.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use ballista_core::serde::scheduler::TaskKey;
use rustix::fs::Mode;
use weir_file::{PrivateFolder, PrivateFolderKind};

use crate::check::job_id;
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
/// name (`weir-executor-…`) below the directory of the user, and bears a mark ([`PrivateFolder`]).
#[derive(Debug)]
pub struct WorkFolder(PrivateFolder);

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

    fn create(parent: &Path, kind: PrivateFolderKind) -> io::Result<Self> {
        let parent = parent.canonicalize()?;
        if parent.to_str().is_none() {
            return Err(io::Error::other("the name is not UTF-8"));
        }
        PrivateFolder::create_in(&parent, kind).map(Self)
    }

    /// The path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Creates the directory again where it was removed.
    ///
    /// # Errors
    /// When there is something else at its path, or its parent is not writable.
    pub(crate) fn restore(&self) -> Result<(), Error> {
        self.0.restore().map_err(|error| {
            let shown = self.path().display();
            Error::new(format!("its work directory {shown} was removed: {error}"))
        })
    }

    /// The jobs whose rows were neither written nor read for so long.
    pub(crate) fn older_than(&self, age: Duration) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.path()) else {
            return Vec::new();
        };
        let jobs = entries.flatten().filter_map(|entry| {
            // The spill directories of DataFusion, and the mark, have names that no job has.
            let name = entry.file_name().into_string().ok()?;
            job_id(&name).ok()?;
            let since = last_written(&entry.path())?.elapsed().ok()?;
            (since > age).then_some(name)
        });
        jobs.collect()
    }

    /// Removes the rows of a job.
    pub(crate) fn remove(&self, job: &str) {
        // A failure is retried later, and at the end the whole work directory is removed.
        let _ = fs::remove_dir_all(self.path().join(job));
    }

    /// The directories of killed processes that were removed when this one was created.
    #[must_use]
    pub fn abandoned(&self) -> &[PathBuf] {
        self.0.abandoned()
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

/// Removes the files of an earlier task of the same key from a work directory: its writer may go on where the task was given up, and would
/// write to the file of the new task.
pub(crate) fn remove_earlier(work_dir: &str, task: &TaskKey) {
    let stage = Path::new(work_dir)
        .join(task.job_id.as_str())
        .join(task.stage_id.to_string());
    // An error says that there is no such file.
    let of_all = stage.join(task.task_id.to_string());
    for name in ["data.arrow", "data.arrow.index"] {
        let _ = fs::remove_file(of_all.join(name));
    }
    for partition in fs::read_dir(&stage).into_iter().flatten().flatten() {
        let name = format!("data-{}.arrow", task.task_id);
        let _ = fs::remove_file(partition.path().join(name));
    }
}

const EXECUTOR: PrivateFolderKind = PrivateFolderKind {
    prefix: "weir-executor-",
    process: "an executor",
};
const SCHEDULER: PrivateFolderKind = PrivateFolderKind {
    prefix: "weir-scheduler-",
    process: "a scheduler",
};
const PRIVATE_FOLDER: u32 = 0o700;

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
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
        // The rows of a job with an underscore in its name stayed until the end of the executor.
        make("over_5", true);
        make("runs7y", false);
        make("datafusion-sorts", true);
        let mut old = work.older_than(Duration::from_secs(3600));
        old.sort();
        assert_eq!(old, ["over4x", "over_5"]);
        for job in &old {
            work.remove(job);
        }
        assert_eq!(
            names(work.path()),
            ["datafusion-sorts", "made-by-weir", "runs7y"]
        );
    }

    #[test]
    fn folders_of_schedulers_and_executors_have_names_of_their_own() {
        let parent = tempfile::tempdir().unwrap();
        let executor = WorkFolder::create_in(&parent.path().join("new")).unwrap();
        let scheduler = WorkFolder::of_scheduler(&parent.path().join("new")).unwrap();
        let [first, second] = names(&parent.path().join("new")).try_into().unwrap();
        assert!(executor.path().ends_with(&first) && scheduler.path().ends_with(&second));
        assert!(first.starts_with("weir-executor-") && second.starts_with("weir-scheduler-"));
        drop((executor, scheduler));
        assert_eq!(names(&parent.path().join("new")), [] as [&str; 0]);
    }

    #[test]
    fn an_unwritable_parent_is_named_in_the_error() {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("weir-executor-list.txt"), "mine").unwrap();
        let file = parent.path().join("weir-executor-list.txt");
        let error = WorkFolder::create_in(&file).unwrap_err();
        assert!(
            error.to_string().contains("weir-executor-list.txt"),
            "{error}"
        );
        assert!(error.hint().is_some());
    }
}
