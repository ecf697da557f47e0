//! A writer is killed at any moment: every acknowledged record is in the log, in order, and found.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use weir_clf::{Field, Record, SearchOptions, Searcher, Time, Writer, WriterOptions, segments};
use weir_testkit::Limited as _;
use weir_testkit::Rng;

use crate::common::{call_id, read};

const LOG: &str = "WEIR_CLF_CRASH_LOG";
const THREADS: u64 = 3;

/// The writer that is killed runs in a process of its own, which the test below starts.
#[test]
#[ignore = "is started by a_writer_that_is_killed_loses_nothing_that_it_acknowledged"]
fn child() {
    let Ok(log) = std::env::var(LOG) else { return };
    let round = std::process::id();
    let mut options = WriterOptions::default();
    options.rotate_bytes = Some(300_000);
    let (writer, _) = Writer::open(Path::new(&log), options).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let mut appender = writer.appender();
            scope.spawn(move || {
                let mut rng = Rng::new(thread);
                for number in 0_u64.. {
                    let call = format!("{round}-{thread}-{number}@example.com");
                    let mut record = Record {
                        time: Time::now(),
                        ..Record::default()
                    };
                    record.set(Field::CallId, call.as_bytes());
                    record.set(Field::CSeq, b"1 OPTIONS");
                    appender.append(&record).unwrap();
                    if rng.percent(10) {
                        appender.commit().unwrap();
                        // The line is one write, so that lines of threads do not mix.
                        let line = format!("@{thread} {number}\n");
                        std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
                        std::io::stdout().lock().flush().unwrap();
                    }
                }
            });
        }
    });
}

/// Starts a writer and kills it; returns its process number and the last record that each thread had acknowledged.
fn run_and_kill(log: &Path, rng: &mut Rng) -> (u32, Vec<Option<u64>>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "crash::child",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(LOG, log)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn_limited()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let mut acknowledged = vec![None; THREADS as usize];
    let mut lines = out.lines().map_while(Result::ok);
    let mut take = |line: String| {
        // The harness writes to the same place, even in front of a line of the writer.
        let Some((_, line)) = line.rsplit_once('@') else {
            return;
        };
        let Some((thread, number)) = line.split_once(' ') else {
            return;
        };
        let (thread, number) = (
            thread.parse::<usize>().unwrap(),
            number.parse::<u64>().unwrap(),
        );
        acknowledged[thread] = acknowledged[thread].max(Some(number));
    };
    // The writer has begun; it runs a moment longer.
    if let Some(line) = lines.find(|line| line.contains('@')) {
        take(line);
    }
    let mut left = rng.below(400);
    for line in lines.by_ref() {
        take(line);
        left = left.saturating_sub(1);
        if left == 0 {
            break;
        }
    }
    // The writer goes on meanwhile, so that it is killed in the middle of a record as well as after one.
    for _ in 0..rng.below(50_000) {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    lines.for_each(take);
    let id = child.id();
    child.wait().unwrap();
    (id, acknowledged)
}

#[test]
fn a_writer_that_is_killed_loses_nothing_that_it_acknowledged() {
    let mut rng = Rng::new(6873);
    let mut acknowledged_in_all = 0;
    for _ in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("calls.clf");
        let mut runs = Vec::new();
        // The log is the same for ten writers: each repairs the remains of the one before.
        for _ in 0..10 {
            runs.push(run_and_kill(&log, &mut rng));
        }
        let (writer, _) = Writer::open(&log, WriterOptions::default()).unwrap();
        drop(writer);
        let paths = segments(&log).unwrap();
        let mut found: Vec<String> = Vec::new();
        for path in &paths {
            let (records, damage) = read(&std::fs::read(path).unwrap());
            assert!(damage.is_empty(), "{}: {damage:?}", path.display());
            found.extend(records.iter().map(|record| record.call_id().to_owned()));
        }
        let searcher = Searcher::open(&paths, SearchOptions::default()).unwrap();
        for (id, acknowledged) in runs {
            for (thread, last) in acknowledged.into_iter().enumerate() {
                let prefix = format!("{id}-{thread}-");
                let numbers: Vec<u64> = found
                    .iter()
                    .filter_map(|call| {
                        call.strip_prefix(&prefix)?
                            .strip_suffix("@example.com")?
                            .parse()
                            .ok()
                    })
                    .collect();
                assert!(
                    numbers.iter().copied().eq(0..numbers.len() as u64),
                    "in order, each once"
                );
                let Some(last) = last else { continue };
                acknowledged_in_all += last;
                assert!(
                    numbers.len() as u64 > last,
                    "{} of {last} and more",
                    numbers.len()
                );
                let query = call_id(&format!("{prefix}{last}@example.com"));
                assert_eq!(searcher.count(&query).unwrap().records, 1);
            }
        }
    }
    assert!(
        acknowledged_in_all > 1000,
        "{acknowledged_in_all}: the writers did nothing"
    );
}
