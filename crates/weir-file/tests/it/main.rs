//! Files are replaced whole or not at all.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use weir_file::{GrowingFile, NewFile, NewFolder, OpenFolder, remove_left_by};
use weir_testkit::Limited as _;

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn the_old_file_stays_until_the_new_one_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    for (old, keep) in [
        (None, true),
        (None, false),
        (Some("old"), true),
        (Some("old"), false),
    ] {
        let _ = fs::remove_file(&path);
        if let Some(old) = old {
            fs::write(&path, old).unwrap();
        }
        let mut file = NewFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), old);
        match keep {
            true => file.keep().unwrap(),
            false => drop(file),
        }
        let expected = if keep { Some("new") } else { old };
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), expected);
        let left: &[&str] = if expected.is_some() {
            &["rows.csv"]
        } else {
            &[]
        };
        assert_eq!(names(folder.path()), left);
    }
}

#[test]
fn a_panic_leaves_the_old_file_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    fs::write(&path, "old").unwrap();
    let outcome = std::panic::catch_unwind(|| {
        let mut file = NewFile::create(&path).unwrap();
        let _folder = NewFolder::create(&path, "out").unwrap();
        file.write_all(b"new").unwrap();
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    assert!(outcome.is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names(folder.path()), ["rows.csv"]);
}

#[test]
fn what_a_killed_process_has_left_is_removed_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let others = [
        ".parts.weir-12-3.part",
        ".parts.weir-1-.part",
        ".parts.weir-1-x.part",
        ".parts.weir-1-3.partly",
        "parts.weir-1-3.part",
        "parts",
    ];
    for name in others {
        fs::write(at(name), "theirs").unwrap();
    }
    fs::create_dir_all(at(".parts.weir-1-0.part/out/k=1")).unwrap();
    fs::write(at(".parts.weir-1-0.part/out/k=1/x"), "x").unwrap();
    fs::write(at(".a.weir-1-2.part.weir-1-3.part"), "x").unwrap();
    remove_left_by(1, folder.path());
    let mut kept = others.map(str::to_owned).to_vec();
    kept.sort();
    assert_eq!(names(folder.path()), kept);
    remove_left_by(1, &at("missing"));
    // The names are those that a process gives.
    let target = at("new");
    let unfinished = NewFolder::create(&target, "out").unwrap();
    remove_left_by(std::process::id(), folder.path());
    assert!(!unfinished.path().parent().unwrap().exists());
}

#[test]
fn the_mode_stays_and_links_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("deep")).unwrap();
    fs::write(at("deep/real"), "old").unwrap();
    fs::set_permissions(at("deep/real"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("deep/real", at("link")).unwrap();
    symlink("link", at("link-to-link")).unwrap();
    symlink("deep/not-yet", at("dangling")).unwrap();
    for (name, real) in [("link-to-link", "deep/real"), ("dangling", "deep/not-yet")] {
        let mut file = NewFile::create(&at(name)).unwrap();
        file.write_all(b"new").unwrap();
        file.keep().unwrap();
        assert!(fs::symlink_metadata(at(name)).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(at(real)).unwrap(), "new");
    }
    assert_eq!(fs::metadata(at("deep/real")).unwrap().mode() & 0o777, 0o640);
    assert_eq!(names(&at("deep")), ["not-yet", "real"]);
    symlink("round", at("round")).unwrap();
    assert!(NewFile::create(&at("round")).is_err());
    assert!(NewFile::create(&at("deep")).is_err());
    assert!(NewFile::create(&at("missing/x")).is_err());
    // The mode of a new file is the one that other programs' files get.
    fs::write(at("plain"), "").unwrap();
    NewFile::create(&at("ours")).unwrap().keep().unwrap();
    let mode = |name: &str| fs::metadata(at(name)).unwrap().mode();
    assert_eq!(mode("ours"), mode("plain"));
}

#[test]
fn devices_and_pipes_are_written_to_as_they_are() {
    let mut null = NewFile::create(Path::new("/dev/null")).unwrap();
    null.write_all(b"x").unwrap();
    assert!(null.is_direct());
    null.keep().unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    let mut full = NewFile::create(Path::new("/dev/full")).unwrap();
    assert!(full.write_all(b"x").is_err());

    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status_limited()
            .unwrap()
            .success()
    );
    let reader = Command::new("cat")
        .arg(&pipe)
        .stdout(Stdio::piped())
        .spawn_limited()
        .unwrap();
    let mut file = NewFile::create(&pipe).unwrap();
    file.write_all(b"through").unwrap();
    file.keep().unwrap();
    assert_eq!(reader.wait_with_output().unwrap().stdout, b"through");
    assert_eq!(names(folder.path()), ["pipe"]);
}

#[test]
fn a_folder_appears_whole_and_files_of_one_that_is_there_are_taken_back_together() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("parts");
    let fill = |staged: &Path, names: &[&str]| {
        for name in names {
            let path = staged.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, *name).unwrap();
        }
    };
    let new = NewFolder::create(&target, "out").unwrap();
    fill(new.path(), &["a=1/x", "a=2/y"]);
    assert!(!target.exists());
    new.keep().unwrap();
    assert_eq!(names(&target), ["a=1", "a=2"]);
    let new = NewFolder::create(&target, "out").unwrap();
    fill(new.path(), &["a=1/z", "a=3/z"]);
    new.keep().unwrap();
    assert_eq!(names(&target.join("a=1")), ["x", "z"]);
    // One of these files exists already, so none is moved and the existing one stays.
    fs::write(target.join("a=2/y"), "theirs").unwrap();
    let new = NewFolder::create(&target, "out").unwrap();
    fill(new.path(), &["a=0/w", "a=1/w", "a=2/y", "a=4/w"]);
    assert!(new.keep().is_err());
    assert_eq!(names(&target), ["a=1", "a=2", "a=3"]);
    assert_eq!(names(&target.join("a=1")), ["x", "z"]);
    assert_eq!(fs::read_to_string(target.join("a=2/y")).unwrap(), "theirs");
    // An empty folder changes nothing, and a single file is stored as a file.
    NewFolder::create(&target, "out").unwrap().keep().unwrap();
    let one = folder.path().join("one");
    for text in ["first", "second"] {
        let new = NewFolder::create(&one, "out.csv").unwrap();
        fs::write(new.path(), text).unwrap();
        new.keep().unwrap();
        assert_eq!(fs::read_to_string(&one).unwrap(), text);
    }
    assert_eq!(names(folder.path()), ["one", "parts"]);
}

/// A link that took the place of the folder, or of the file, after the path had been looked at led what was written elsewhere.
#[cfg(target_os = "linux")]
#[test]
fn nothing_is_written_through_links_into_an_open_folder() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let at = |name: &str| home.join(name);
    for folder in ["inside/day/parts", "outside/parts"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    fs::write(at("outside/rows.csv"), "secret").unwrap();
    let folders = [at("nowhere"), at("inside")];
    let day = || OpenFolder::below(&at("inside/day"), &folders).unwrap();
    let [rows, gone, parts, one] = ["rows.csv", "gone.csv", "parts", "one.csv"].map(OsStr::new);
    let mut file = NewFile::create_in(day(), rows).unwrap();
    let mut dropped = NewFile::create_in(day(), gone).unwrap();
    let new_parts = NewFolder::create_in(day(), parts, "out").unwrap();
    let new_one = NewFolder::create_in(day(), one, "out.csv").unwrap();
    // The folder is moved away, and a link out of the folders stands in its place.
    fs::rename(at("inside/day"), at("inside/moved")).unwrap();
    symlink("../outside", at("inside/day")).unwrap();
    symlink("../../outside/rows.csv", at("inside/moved/rows.csv")).unwrap();
    file.write_all(b"new").unwrap();
    file.keep().unwrap();
    dropped.write_all(b"new").unwrap();
    drop(dropped);
    fs::create_dir_all(new_parts.path().join("k=1")).unwrap();
    fs::write(new_parts.path().join("k=1/x"), "new").unwrap();
    new_parts.keep().unwrap();
    fs::write(new_one.path(), "new").unwrap();
    new_one.keep().unwrap();
    assert_eq!(names(&at("outside")), ["parts", "rows.csv"]);
    assert!(names(&at("outside/parts")).is_empty());
    assert_eq!(
        fs::read_to_string(at("outside/rows.csv")).unwrap(),
        "secret"
    );
    assert_eq!(names(&at("inside/moved")), ["one.csv", "parts", "rows.csv"]);
    for name in ["one.csv", "parts/k=1/x", "rows.csv"] {
        let text = fs::read_to_string(at("inside/moved").join(name)).unwrap();
        assert_eq!(text, "new", "{name}");
    }
    // What leads out from the start is not opened, and neither is a link within the folder followed.
    let error = OpenFolder::below(&at("inside/day"), &folders).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
    let moved = || OpenFolder::below(&at("inside/moved"), &folders).unwrap();
    symlink("../../outside/rows.csv", at("inside/moved/link")).unwrap();
    for name in ["link", "parts"] {
        assert!(
            NewFile::create_in(moved(), OsStr::new(name)).is_err(),
            "{name}"
        );
    }
    symlink("../../../outside/parts", at("inside/moved/parts/k=2")).unwrap();
    let new = NewFolder::create_in(moved(), parts, "out").unwrap();
    for folder in ["k=1", "k=2", "k=3"] {
        fs::create_dir_all(new.path().join(folder)).unwrap();
        fs::write(new.path().join(folder).join("y"), "new").unwrap();
    }
    assert!(new.keep().is_err());
    assert!(names(&at("outside/parts")).is_empty());
    assert_eq!(names(&at("inside/moved/parts/k=1")), ["x"]);
    assert!(!at("inside/moved/parts/k=3").exists());
}

#[test]
fn what_grows_has_its_name_from_the_start_where_nothing_is_lost_by_that() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("live.pcap");
    let mut file = GrowingFile::create(&path).unwrap();
    file.write_all(b"first").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "first");
    drop(file);
    assert_eq!(fs::read_to_string(&path).unwrap(), "first");

    let mut file = GrowingFile::create(&path).unwrap();
    file.write_all(b"second").unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "first");
    let hidden = file.hidden().unwrap().to_owned();
    assert_eq!(fs::read_to_string(&hidden).unwrap(), "second");
    file.keep().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "second");
    assert_eq!(names(folder.path()), ["live.pcap"]);

    // Dropping an empty file removes it; dropping a file with data keeps the data.
    drop(GrowingFile::create(&path).unwrap());
    assert_eq!(names(folder.path()), ["live.pcap"]);
    let mut file = GrowingFile::create(&path).unwrap();
    file.write_all(b"third").unwrap();
    let hidden = file.hidden().unwrap().to_owned();
    drop(file);
    assert_eq!(fs::read_to_string(&path).unwrap(), "second");
    assert_eq!(fs::read_to_string(hidden).unwrap(), "third");
}

/// The child of the test below.
#[test]
#[ignore = "run by another test"]
fn writes_until_it_is_killed() {
    let path = std::env::var("WEIR_FILE_PATH").unwrap();
    for number in 0_u64.. {
        let mut file = NewFile::create(Path::new(&path)).unwrap();
        for _ in 0..64 {
            file.write_all(format!("{number:08}").repeat(1024).as_bytes())
                .unwrap();
        }
        file.keep().unwrap();
    }
}

#[test]
fn a_writer_that_is_killed_a_hundred_times_leaves_one_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    fs::write(&path, "00000000").unwrap();
    let mut leftovers = 0;
    for round in 0..100_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "writes_until_it_is_killed"])
            .env("WEIR_FILE_PATH", &path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn_limited()
            .unwrap();
        std::thread::sleep(Duration::from_micros(5_000 + round * 7919 % 40_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let first = text.get(..8).unwrap();
        assert!(
            text.len() == 8 || text.len() == 64 * 1024 * 8,
            "{}",
            text.len()
        );
        assert_eq!(text, first.repeat(text.len() / 8));
        for name in names(folder.path()) {
            if name != "rows.csv" {
                // Between its first name and the last.
                assert!(
                    name.starts_with(".rows.csv.weir-") && name.ends_with(".part"),
                    "{name}"
                );
                fs::remove_file(folder.path().join(name)).unwrap();
                leftovers += 1;
            }
        }
    }
    assert!(leftovers < 100, "{leftovers} files were left");
    assert_ne!(
        fs::metadata(&path).unwrap().len(),
        8,
        "nothing was ever written whole"
    );
}
