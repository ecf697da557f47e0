//! Questions to a program that counts how often it was started.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::cache::{AnswerCache, BYTES_MAX};
use super::{PeerAnswer, Peers, Question};
use crate::Limited as _;

/// A folder with a program that counts how often it was started, a file that it can be asked about, and answers.
struct Scene {
    folder: PathBuf,
}

impl Scene {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("weir-peer-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let scene = Self { folder };
        // Another process writes it: none that this one starts meanwhile holds a program open that is about to run.
        let script = format!("printf '%s' '{PROGRAM}' >\"$0\" && chmod +x \"$0\"");
        let made = Command::new("sh")
            .args(["-c", &script])
            .arg(scene.path("program"))
            .status_limited();
        assert!(made.unwrap().success());
        fs::write(scene.path("version"), "1").unwrap();
        fs::write(scene.path("started"), "").unwrap();
        fs::write(scene.path("file.pcap"), "content").unwrap();
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The peers as a new process has them.
    fn peers(&self) -> Peers {
        self.peers_with(BYTES_MAX, false)
    }

    fn peers_with(&self, bytes_max: u64, is_anew: bool) -> Peers {
        let answers = Some(self.path("answers"));
        Peers::new(AnswerCache::new(answers, bytes_max, is_anew))
    }

    /// The answer of the scene's program about a file.
    fn answer(&self, peers: &Peers, word: &str, file: &str) -> PeerAnswer {
        let mut question = Question::to(self.path("program"));
        question.arg(word).file(self.path(file));
        peers.answer(&question).unwrap()
    }

    fn starts(&self) -> usize {
        fs::read(self.path("started")).unwrap().len()
    }

    fn entries(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.path("answers")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Writes its word and the content of its file, and something to standard error; ends as the word says.
const PROGRAM: &str = r#"#!/bin/sh
here=$(dirname "$0")
if [ "$1" = --version ]; then cat "$here/version"; exit; fi
printf x >>"$here/started"
case $1 in
fail) exit 2 ;;
killed) kill -KILL $$ ;;
zeros) head -c 100000 /dev/zero; exit ;;
environment) printf "%s %s" "$TZ" "$HOME"; exit ;;
esac
printf "%s " "$1"
cat "$2"
echo said >&2
exit 3
"#;

#[test]
fn the_same_question_is_put_once() {
    let scene = Scene::new("once");
    let first = scene.answer(&scene.peers(), "word", "file.pcap");
    assert_eq!(
        first,
        PeerAnswer {
            code: Some(3),
            stdout: b"word content".to_vec(),
            stderr: b"said\n".to_vec()
        }
    );
    assert_eq!(scene.starts(), 1);
    assert_eq!(scene.answer(&scene.peers(), "word", "file.pcap"), first);
    // A file with another name and the same content gives the same question.
    fs::write(scene.path("other.pcap"), "content").unwrap();
    assert_eq!(scene.answer(&scene.peers(), "word", "other.pcap"), first);
    assert_eq!(scene.starts(), 1);
}

#[test]
fn another_content_argument_extension_or_version_is_another_question() {
    let scene = Scene::new("other");
    let text = |word: &str, file: &str| scene.answer(&scene.peers(), word, file).text();
    assert_eq!(text("word", "file.pcap"), "word content");
    fs::write(scene.path("file.pcap"), "Content").unwrap();
    assert_eq!(text("word", "file.pcap"), "word Content");
    assert_eq!(text("other", "file.pcap"), "other Content");
    assert_eq!(scene.starts(), 3);
    fs::write(scene.path("file.erf"), "Content").unwrap();
    assert_eq!(text("other", "file.erf"), "other Content");
    assert_eq!(scene.starts(), 4);
    fs::write(scene.path("version"), "2").unwrap();
    assert_eq!(text("other", "file.erf"), "other Content");
    assert_eq!(scene.starts(), 5);
    // The answers of the earlier version are still stored.
    fs::write(scene.path("version"), "1").unwrap();
    assert_eq!(text("word", "file.pcap"), "word Content");
    assert_eq!(scene.starts(), 5);
    // The boundaries between arguments are part of the question.
    let mut question = Question::to(scene.path("program"));
    question.args(["word", "x", "y"]);
    let mut joined = Question::to(scene.path("program"));
    joined.args(["word", "xy", ""]);
    assert_ne!(question.key("1").unwrap(), joined.key("1").unwrap());
}

#[test]
fn a_stored_answer_with_other_bytes_is_requested_again() {
    let scene = Scene::new("damaged");
    let first = scene.answer(&scene.peers(), "word", "file.pcap");
    let entries = scene.entries();
    let [entry] = &entries[..] else {
        panic!("{entries:?}")
    };
    let whole = fs::read(entry).unwrap();
    let mut cuts: Vec<Vec<u8>> = (0..whole.len()).map(|at| whole[..at].to_vec()).collect();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        cuts.push(flipped);
    }
    cuts.push([&whole[..], b"more"].concat());
    for (starts, damaged) in (2..).zip(cuts) {
        fs::write(entry, damaged).unwrap();
        assert_eq!(scene.answer(&scene.peers(), "word", "file.pcap"), first);
        assert_eq!(scene.starts(), starts);
    }
    assert_eq!(fs::read(entry).unwrap(), whole);
}

#[test]
fn anew_requests_again_and_once() {
    let scene = Scene::new("anew");
    scene.answer(&scene.peers(), "word", "file.pcap");
    let entry = scene.entries().remove(0);
    let anew = scene.peers_with(BYTES_MAX, true);
    // An answer that would be believed otherwise.
    let stale = Scene::new("stale");
    fs::write(stale.path("file.pcap"), "stale").unwrap();
    stale.answer(&stale.peers(), "word", "file.pcap");
    fs::copy(stale.entries().remove(0), &entry).unwrap();
    assert_eq!(
        scene.answer(&scene.peers(), "word", "file.pcap").text(),
        "word stale"
    );
    assert_eq!(
        scene.answer(&anew, "word", "file.pcap").text(),
        "word content"
    );
    assert_eq!(scene.starts(), 2);
    // The same process is not asked twice.
    scene.answer(&anew, "word", "file.pcap");
    assert_eq!(scene.starts(), 2);
    let next = scene.answer(&scene.peers(), "word", "file.pcap");
    assert_eq!((next.text().as_str(), scene.starts()), ("word content", 2));
}

#[test]
fn what_may_be_otherwise_next_time_is_not_kept() {
    let scene = Scene::new("failed");
    for (word, code) in [("fail", Some(2)), ("killed", None)] {
        let starts = scene.starts();
        for _ in 0..2 {
            let answer = scene.answer(&scene.peers(), word, "file.pcap");
            assert_eq!((answer.code, answer.stdout.len()), (code, 0), "{word}");
        }
        assert_eq!(scene.starts(), starts + 2, "{word}");
    }
    assert!(scene.entries().is_empty());
    let mut question = Question::to(scene.path("program"));
    question.arg("word").file(scene.path("not there"));
    let error = scene.peers().answer(&question).unwrap_err();
    assert!(error.to_string().contains("not there: "), "{error}");
    assert!(scene.peers().answer(&Question::to("no such peer")).is_err());
    assert_eq!(super::version("no such peer"), None);
}

#[test]
fn answers_do_not_depend_on_the_environment() {
    let scene = Scene::new("environment");
    let answer = scene.answer(&scene.peers(), "environment", "file.pcap");
    assert_eq!(answer.text(), "UTC /nonexistent");
}

#[test]
fn answers_are_packed_and_the_oldest_go() {
    let scene = Scene::new("bound");
    let answer = scene.answer(&scene.peers(), "zeros", "file.pcap");
    assert_eq!(answer.stdout, [0; 100_000]);
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    let zeros = scene.entries().remove(0);
    assert!(size(&zeros) < 1_000, "{}", size(&zeros));
    assert_eq!(scene.answer(&scene.peers(), "zeros", "file.pcap"), answer);
    assert_eq!(scene.starts(), 1);
    // The last uses were 24 and 25 hours ago.
    let used = |path: &Path, hours: u64| {
        let time = SystemTime::now() - Duration::from_secs(hours * 3_600);
        let file = File::options().write(true).open(path).unwrap();
        file.set_modified(time).unwrap();
    };
    used(&zeros, 24);
    let left = scene.path("answers").join("0-1-2.new");
    fs::write(&left, [0; 500]).unwrap();
    used(&left, 25);
    // There is room for some twenty.
    let small = scene.peers_with(1_600, false);
    for word in 0..40 {
        scene.answer(&small, &word.to_string(), "file.pcap");
        // Each use keeps the oldest answer in the cache.
        scene.answer(&small, "zeros", "file.pcap");
        let bytes: u64 = scene.entries().iter().map(|path| size(path)).sum();
        assert!(bytes <= 1_600 + 1_600 / 16 + 200, "{bytes}");
    }
    assert!(zeros.exists() && !left.exists());
    assert_eq!(scene.starts(), 41);
    // The remaining answers are the latest.
    scene.answer(&small, "39", "file.pcap");
    assert_eq!(scene.starts(), 41);
    scene.answer(&small, "0", "file.pcap");
    assert_eq!(scene.starts(), 42);
    // An answer larger than half of the limit is not stored.
    let least = scene.peers_with(100, false);
    scene.answer(&least, "large", "file.pcap");
    scene.answer(&least, "large", "file.pcap");
    assert_eq!(scene.starts(), 44);
}

#[test]
fn two_processes_at_once_do_no_harm() {
    let rounds = |scene: &Scene| {
        // The limit is so small that each process removes the other's latest answers.
        let peers = scene.peers_with(500, false);
        for word in (0..20).chain(0..20) {
            let word = word.to_string();
            let answer = scene.answer(&peers, &word, "file.pcap");
            assert_eq!(answer.text(), format!("{word} content"));
        }
    };
    if let Some(folder) = std::env::var_os(FOLDER) {
        let scene = Scene {
            folder: folder.into(),
        };
        rounds(&scene);
        // The scene belongs to the parent process, which removes it.
        std::mem::forget(scene);
        return;
    }
    let scene = Scene::new("two");
    let children = [(); 2].map(|()| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "peer::tests::two_processes_at_once_do_no_harm"])
            .env(FOLDER, &scene.folder)
            .spawn_limited()
            .unwrap()
    });
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let entries = scene.entries();
    assert!(!entries.is_empty());
    for entry in &entries {
        assert_eq!(entry.extension(), None, "{entries:?}");
    }
    // Each is whole: asking all again takes no more starts than there are questions without an answer.
    let starts = scene.starts();
    let peers = scene.peers();
    for word in 0..20 {
        scene.answer(&peers, &word.to_string(), "file.pcap");
    }
    assert_eq!(scene.starts(), starts + 20 - entries.len());
}

/// Names the folder of the scene to processes that play in it.
const FOLDER: &str = "WEIR_PEER_TEST";

#[test]
#[should_panic(expected = "names a file")]
fn a_file_given_as_a_word_is_refused() {
    let scene = Scene::new("word");
    let mut question = Question::to(scene.path("program"));
    question.arg(format!("keys:{}", scene.path("file.pcap").display()));
    let _ = scene.peers().answer(&question);
}

#[test]
#[should_panic(expected = "more than a question")]
fn what_writes_a_file_is_refused() {
    let mut question = Question::to("tshark");
    question.args(["-w", "x.pcap"]);
    let _ = question.answer();
}
