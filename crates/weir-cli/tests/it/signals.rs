//! Commands without an end of their own finish their work and exit by SIGINT (Ctrl-C), SIGTERM (service managers) and
//! SIGHUP (a terminal that is closed).

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};

use weir_testkit::{Limited as _, until};

use crate::shell::{heeding, signal};

const SIGNALS: [&str; 3] = ["INT", "TERM", "HUP"];

/// A command that has printed a line with an expected part.
struct Running {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// The output after the awaited text.
    rest: String,
}

impl Running {
    #[allow(
        clippy::zombie_processes,
        reason = "whoever asked for it waits, or the test has failed"
    )]
    fn start(words: &[&str], folder: &Path, wanted: &str) -> Self {
        let mut child = heeding(env!("CARGO_BIN_EXE_weir"))
            .args(words)
            .current_dir(folder)
            // The token of a cluster is in the home folder.
            .env("HOME", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn_limited()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (mut line, mut message) = (String::new(), String::new());
        loop {
            line.clear();
            let read = stderr.read_line(&mut line).unwrap();
            message += &line;
            assert!(
                read > 0,
                "{words:?} ended before it said {wanted:?}: {message}"
            );
            if let Some((_, rest)) = line.split_once(wanted) {
                let rest = rest.trim_end().to_owned();
                return Self {
                    child,
                    stderr,
                    rest,
                };
            }
        }
    }

    /// Sends the signal; what was written, and said, when it had ended without a fault.
    fn ended_by(mut self, name: &str) -> (String, String) {
        signal(name, &self.child);
        let mut message = String::new();
        self.stderr.read_to_string(&mut message).unwrap();
        let output = self.child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{name}: {message}");
        (String::from_utf8(output.stdout).unwrap(), message)
    }
}

/// Sends so many requests as a probe does.
fn send(to: &str, calls: std::ops::Range<u32>) {
    let to: SocketAddr = to.split(' ').next().unwrap().parse().unwrap();
    let probe = UdpSocket::bind("127.0.0.1:0").unwrap();
    let ends = ["192.0.2.1:5060", "192.0.2.2:5070"].map(|end| end.parse().unwrap());
    for call in calls {
        let message = format!(
            "OPTIONS sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP x;branch=z9hG4bK{call}\r\nFrom: <sip:a@x>;tag=1\r\n\
             To: <sip:b@x>\r\nCall-ID: call-{call}\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n"
        );
        let sent = weir_messages::hep::write(3, ends[0], ends[1], 17, message.as_bytes());
        probe.send_to(&sent, to).unwrap();
    }
}

#[test]
fn live_gives_its_final_groups_by_each_signal() {
    let folder = tempfile::tempdir().unwrap();
    for name in SIGNALS {
        let rows = format!("{name}.ndjson");
        let sql = "SELECT sip.call_id FROM sip(live)";
        let words = ["live", "--hep", "127.0.0.1:0", "-o", &rows, sql];
        let running = Running::start(&words, folder.path(), "listening on ");
        send(&running.rest, 0..20);
        let rows = folder.path().join(rows);
        until("twenty rows in the file", || {
            fs::read_to_string(&rows).is_ok_and(|rows| rows.lines().count() == 20)
        });
        let (_, message) = running.ended_by(name);
        assert!(
            message.contains("20 messages received"),
            "{name}: {message}"
        );
        assert_eq!(fs::read_to_string(&rows).unwrap().lines().count(), 20);

        let sql = "SELECT count(*) AS n FROM sip(live)";
        let words = ["live", "--hep", "127.0.0.1:0", "--every", "50ms", sql];
        let running = Running::start(&words, folder.path(), "listening on ");
        let (written, message) = running.ended_by(name);
        assert!(
            written.ends_with("{\"n\":0}\n"),
            "{name}: {written} {message}"
        );
    }
}

#[test]
fn a_log_is_whole_after_each_signal() {
    let folder = tempfile::tempdir().unwrap();
    for name in SIGNALS {
        let log = format!("{name}.clf");
        let words = ["clf", "write", "--hep", "127.0.0.1:0", "-o", &log];
        let running = Running::start(&words, folder.path(), "listening on ");
        send(&running.rest, 0..20);
        until("twenty records in the log", || {
            records(&folder.path().join(&log)) == 20
        });
        let (_, message) = running.ended_by(name);
        assert!(message.contains("20 records"), "{name}: {message}");
        // The index of a log that was closed knows its length.
        assert!(
            folder.path().join(format!("{log}.index")).exists(),
            "{name}"
        );
        assert_eq!(records(&folder.path().join(&log)), 20, "{name}");
    }
}

/// SIGHUP, which did this, is what a lost terminal sends.
#[test]
fn a_log_that_was_moved_away_is_begun_anew_by_sigusr1() {
    let folder = tempfile::tempdir().unwrap();
    let [log, moved] = ["calls.clf", "calls.clf.old"].map(|name| folder.path().join(name));
    let words = ["clf", "write", "--hep", "127.0.0.1:0", "-o", "calls.clf"];
    let running = Running::start(&words, folder.path(), "listening on ");
    send(&running.rest, 0..20);
    until("twenty records in the log", || records(&log) == 20);
    fs::rename(&log, &moved).unwrap();
    signal("USR1", &running.child);
    let mut calls = 20..30;
    // The next message has it done: signals and messages overtake each other.
    until("a new log", || {
        if let Some(call) = calls.next() {
            send(&running.rest, call..call + 1);
        }
        fs::metadata(&log).is_ok_and(|log| log.len() > 0)
    });
    let sent = u64::from(calls.start);
    until("all records in both logs", || {
        records(&moved) + records(&log) == sent
    });
    assert!(records(&log) > 0 && records(&moved) >= 20);
    running.ended_by("TERM");
    assert_eq!(records(&moved) + records(&log), sent);
}

/// The number of records in a log; zero while it cannot be read.
fn records(log: &Path) -> u64 {
    let output = heeding(env!("CARGO_BIN_EXE_weir"))
        .args(["clf", "search", "--count"])
        .arg(log)
        .output_limited()
        .unwrap();
    let count = String::from_utf8(output.stdout).unwrap();
    count.trim().parse().unwrap_or(0)
}

#[cfg(feature = "serve")]
#[test]
fn a_server_ends_by_each_signal() {
    let folder = tempfile::tempdir().unwrap();
    for name in SIGNALS {
        let words = [
            "serve",
            "--root",
            ".",
            "--listen",
            "127.0.0.1:0",
            "--http",
            "127.0.0.1:0",
        ];
        let running = Running::start(&words, folder.path(), "Ctrl-C ends it");
        let (_, message) = running.ended_by(name);
        assert!(message.contains("ended"), "{name}: {message}");
    }
}

#[cfg(feature = "cluster")]
#[test]
fn a_cluster_ends_by_each_signal() {
    let folder = crate::shell::folder("a_cluster_ends_by_each_signal");
    for name in SIGNALS {
        let words = ["cluster", "scheduler", "--listen", "127.0.0.1:0"];
        let mut scheduler = Running::start(&words, &folder, "Ctrl-C ends it");
        let mut address = String::new();
        let mut out = BufReader::new(scheduler.child.stdout.take().unwrap());
        out.read_line(&mut address).unwrap();
        let address = address.trim();
        let words = [
            "cluster",
            "executor",
            "--scheduler",
            address,
            "--cores",
            "1",
        ];
        // The signal ends an executor that has not reached its scheduler, and one that has worked.
        for has_worked in [false, true] {
            let executor = Running::start(&words, &folder, "Ctrl-C ends it");
            if has_worked {
                let asked = heeding(env!("CARGO_BIN_EXE_weir"))
                    .args(["query", "--cluster", address, "--stats"])
                    .arg("SELECT count(*) FROM 'demo/voip.pcap'")
                    .current_dir(&folder)
                    .env("HOME", &folder)
                    .output_limited()
                    .unwrap();
                let errors = String::from_utf8_lossy(&asked.stderr);
                assert!(errors.contains("read by 1 executor"), "{asked:?}");
            }
            let (_, errors) = executor.ended_by(name);
            assert!(errors.contains("ended"), "{name}: {errors}");
        }
        let (_, errors) = scheduler.ended_by(name);
        assert!(errors.contains("ended"), "{name}: {errors}");
    }
}
