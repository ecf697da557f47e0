//! The work folders of executors: they are full, other users have no part in them, and what is not theirs stays.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use weir_testkit::Limited as _;

use super::{Processes, captures, weir};
use crate::shell::{names, run, signal};

/// A limit of the size of files stands for a disk that is full: a test may not make a small file system.
#[cfg(unix)]
#[test]
fn a_full_work_folder_is_a_clear_error() {
    let folder = captures("a_full_work_folder_is_a_clear_error");
    let mut cluster = Processes::start(&folder, 0);
    let executor = cluster.executor_by("ulimit -f 64;", 0);
    cluster.executors.push(executor);
    let sql = "SELECT frame.number, frame.time, ip.src FROM 'long/[01].pcap' ORDER BY frame.time";
    let full = cluster.ask(&format!("weir query --format csv \"{sql}\""));
    assert_eq!(full.code, Some(3), "{}", full.stderr);
    assert_eq!(full.stdout, "");
    let errors: Vec<_> = full
        .stderr
        .lines()
        .filter(|line| line.starts_with("error"))
        .collect();
    assert_eq!(errors.len(), 1, "{}", full.stderr);
    assert!(
        errors[0].contains("File too large") && errors[0].contains("work directory"),
        "{}",
        full.stderr
    );
    // A statement that needs less disk space succeeds.
    let few = cluster.ask("weir query --format csv \"SELECT count(*) FROM 'day/[0-6].pcap'\"");
    assert_eq!(few.code, Some(0), "{}", few.stderr);
}

/// Ballista removes every folder in its work folder, at its end and when a folder is old.
#[cfg(unix)]
#[test]
fn an_executor_leaves_the_folders_of_its_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = captures("an_executor_leaves_the_folders_of_its_user_alone");
    let made = run(
        "mkdir -p work-0/project/src work-0/.ssh work-0/weir-executor-notes && echo mine > work-0/project/src/main.rs && \
         echo mine > work-0/.ssh/id && echo mine > work-0/weir-executor-notes/made-by && ln -s ../day work-0/weir-executor-day && \
         touch -d '2001-02-03' work-0/project work-0/.ssh work-0/weir-executor-notes",
        &folder,
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let listed = |of: &str| {
        run(
            &format!("find {of} -printf '%p %l %m %s %T@\n' | sort"),
            &folder,
        )
    };
    let of_user = "work-0/*/ work-0/.ssh day";
    let (before, names_before) = (listed(of_user), names(&folder.join("work-0")));
    let mut cluster = Processes::start(&folder, 1);
    let sql =
        "weir query --format csv \"SELECT ip.src, count(*) FROM 'day/[0-6].pcap' GROUP BY 1\"";
    let own = |cluster: &Processes| {
        let answered = cluster.ask(sql);
        assert_eq!(answered.code, Some(0), "{}", answered.stderr);
        let mut names = names(&folder.join("work-0"));
        names.retain(|name| !names_before.contains(name));
        assert_eq!(names.len(), 1, "{names:?}: {}", cluster.logs());
        names.remove(0)
    };
    let first = own(&cluster);
    assert!(first.starts_with("weir-executor-"), "{first}");
    assert!(cluster.logs().contains(&first), "{}", cluster.logs());
    let mode = std::fs::metadata(folder.join("work-0").join(&first)).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o700);

    // The next executor removes the folder of a killed one.
    let mut killed = cluster.executors.remove(0);
    killed.kill().unwrap();
    killed.wait().unwrap();
    cluster.executor(0);
    let second = own(&cluster);
    assert_ne!(second, first);
    let logs = cluster.logs();
    assert!(logs.contains("removed") && logs.contains(&first), "{logs}");

    let mut ended = cluster.executors.remove(0);
    signal("TERM", &ended);
    assert!(ended.wait().unwrap().success());
    assert_eq!(names(&folder.join("work-0")), names_before);
    assert_eq!(listed(of_user).stdout, before.stdout);
}

/// Modes of everything below a folder, with the paths.
#[cfg(unix)]
fn modes(folder: &Path) -> Vec<(PathBuf, bool, u32)> {
    use std::os::unix::fs::PermissionsExt as _;

    let mut modes = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            if metadata.is_dir() {
                folders.push(entry.path());
            }
            let mode = metadata.permissions().mode() & 0o777;
            modes.push((entry.path(), metadata.is_dir(), mode));
        }
    }
    modes
}

/// Ballista creates files with the mode of the umask, which is 0644 for most users.
#[cfg(unix)]
#[test]
fn rows_on_the_disk_are_for_the_user_of_the_executor_alone() {
    let folder = captures("rows_on_the_disk_are_for_the_user_of_the_executor_alone");
    let mut cluster = Processes::start(&folder, 0);
    let executor = cluster.executor_by("umask 022;", 0);
    cluster.executors.push(executor);
    // The test reads only the first lines, so that the job continues and its files stay.
    let sql = "SELECT frame.number, frame.time, ip.src, frame.layers FROM 'long/*.pcap' ORDER BY frame.time, frame.number";
    let mut asked = weir(&folder)
        .args(["query", "--cluster", &cluster.address, "--format", "csv"])
        .arg(sql)
        .stdout(Stdio::piped())
        .spawn_limited()
        .unwrap();
    let mut rows = BufReader::new(asked.stdout.take().unwrap());
    for _ in 0..2 {
        let mut line = String::new();
        assert!(rows.read_line(&mut line).unwrap() > 0, "{}", cluster.logs());
    }
    let modes = modes(&folder.join("work-0"));
    let of_rows = |(path, _, _): &(PathBuf, bool, u32)| path.extension() == Some("arrow".as_ref());
    assert!(modes.iter().any(of_rows), "{modes:?}");
    for (path, is_folder, mode) in modes {
        let private = if is_folder { 0o700 } else { 0o600 };
        assert_eq!(mode, private, "{}: {mode:o}", path.display());
    }
    asked.kill().unwrap();
    asked.wait().unwrap();
}
