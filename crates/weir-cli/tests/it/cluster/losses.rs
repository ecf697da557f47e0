//! Executors, schedulers and clients that are lost: a statement goes on without them, or fails with a clear error.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[cfg(target_os = "linux")]
use super::rounds;
use super::{LONG, Processes, captures, scheduler, wait_until};
use crate::shell::{run, signal};

#[test]
fn a_lost_executor_is_done_without() {
    let folder = captures("a_lost_executor_is_done_without");
    let mut cluster = Processes::start(&folder, 2);
    let here = run(&format!("weir query --format csv \"{LONG}\""), &folder);
    let asked = cluster.ask_long(1);
    cluster.wait_for_work();
    cluster.executors[0].kill().unwrap();
    let killed = Instant::now();
    let ended = asked.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(
        String::from_utf8_lossy(&ended.stdout),
        here.stdout,
        "{errors}"
    );
    assert!(
        killed.elapsed() < Duration::from_secs(60),
        "{:?}",
        killed.elapsed()
    );
    // The remaining executor and the new one answer the next statement.
    cluster.executor(2);
    let again = cluster.ask("weir query --format csv \"SELECT count(*) FROM 'day/[0-6].pcap'\"");
    assert_eq!(again.code, Some(0), "{}", again.stderr);
}

/// The folders of jobs whose rows an executor has.
fn jobs(folder: &Path, number: usize) -> Vec<PathBuf> {
    let works = below(&folder.join(format!("work-{number}")));
    let entries = works.iter().flat_map(|work| below(work));
    // The mark of the executor and the folders of spilled rows have names that no job has.
    let is_job = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        !name.to_string_lossy().contains('-')
    };
    entries.filter(is_job).collect()
}

/// The number of files that an executor has for a stage of its jobs.
fn written(folder: &Path, number: usize, stage: &str) -> usize {
    let mut folders: Vec<_> = jobs(folder, number)
        .iter()
        .map(|job| job.join(stage))
        .collect();
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for path in below(&folder) {
            match path.is_dir() {
                true => folders.push(path),
                false => files += 1,
            }
        }
    }
    files
}

/// What a folder has; nothing where it is not there, or goes meanwhile.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.flatten().map(|entry| entry.path()).collect()
}

/// An executor was lost in the second of three stages, all of whose tasks were run again, and what those of the other executor had
/// written before was counted twice.
#[test]
fn an_executor_that_is_lost_in_a_later_stage_is_done_without() {
    let folder = captures("an_executor_that_is_lost_in_a_later_stage_is_done_without");
    let mut cluster = Processes::start(&folder, 2);
    let sql = "SELECT count(*), sum(n), sum(length(regexp_replace(repeat(CAST(k AS text), 200), '[0-9]+', 'x', 'g'))) \
               FROM (SELECT frame.number AS k, count(*) AS n FROM 'long/*.pcap' GROUP BY 1)";
    let here = run(&format!("weir query --format csv \"{sql}\""), &folder);
    cluster.ask_both("weir query --format csv \"SELECT count(*) FROM 'day/[0-6].pcap'\"");
    wait_until(|| (0..2).all(|number| jobs(&folder, number).is_empty()));
    // The second stage has eight tasks.
    let mut asked = cluster.start_query(&["--threads", "8"], sql);
    let mut wait_while_it_runs = |is_met: &dyn Fn() -> bool| {
        wait_until(|| {
            let ended = asked.try_wait().unwrap();
            assert!(ended.is_none(), "it has ended before: {ended:?}");
            is_met()
        });
    };
    // The second executor, which has one core, has ended its first task of the second stage.
    wait_while_it_runs(&|| written(&folder, 1, "2") > 1);
    let of_first_stage = [0, 1].map(|number| written(&folder, number, "1"));
    assert!(of_first_stage[0] > 0, "one executor reads all");
    cluster.executors[0].kill().unwrap();
    // It reads what the lost one had read.
    wait_while_it_runs(&|| written(&folder, 1, "1") > of_first_stage[1]);
    let ended = asked.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    let rows = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(rows, here.stdout, "{errors}");
    assert_eq!(ended.status.code(), Some(0), "{errors}");
}

/// An answer that breaks off is an error, and no shorter answer.
#[test]
fn executors_that_are_lost_with_the_rest_of_an_answer_are_an_error() {
    let folder = captures("executors_that_are_lost_with_the_rest_of_an_answer_are_an_error");
    let mut cluster = Processes::start(&folder, 2);
    let sql = "SELECT frame.number, frame.time, ip.src, frame.layers FROM 'long/*.pcap' ORDER BY frame.time, frame.number";
    let mut asked = cluster.begin(sql);
    // The rest of the rows is more than what lies between the executors and the reader of the pipe.
    let mut rows = BufReader::new(asked.stdout.take().unwrap());
    for _ in 0..2 {
        let mut line = String::new();
        assert!(rows.read_line(&mut line).unwrap() > 0, "{}", cluster.logs());
    }
    for executor in &mut cluster.executors {
        executor.kill().unwrap();
    }
    std::io::copy(&mut rows, &mut std::io::sink()).unwrap();
    let ended = asked.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(3), "{errors}");
    let lines = errors.lines().filter(|line| line.starts_with("error"));
    let lines: Vec<_> = lines.collect();
    assert!(
        lines.len() == 1 && lines[0].contains("cannot be fetched"),
        "{errors}"
    );
    assert!(errors.contains("hint: run the statement again"), "{errors}");
}

/// The rows of an answer go with their executor while its client does not fetch them yet.
#[cfg(target_os = "linux")]
#[test]
fn a_statement_whose_rows_are_lost_before_they_are_fetched_is_run_again() {
    let folder = captures("a_statement_whose_rows_are_lost_before_they_are_fetched_is_run_again");
    let mut cluster = Processes::start(&folder, 2);
    let sql = LONG.replace("'long/*.pcap'", "'long/[01].pcap'");
    let here = run(&format!("weir query --format csv \"{sql}\""), &folder);
    cluster.ask_both("weir query --format csv \"SELECT count(*) FROM 'day/[0-6].pcap'\"");
    wait_until(|| (0..2).all(|number| jobs(&folder, number).is_empty()));
    let asked = cluster.start_query(&[], &sql);
    // The client stands still from the first stage on, which takes most of the time.
    wait_until(|| (0..2).any(|number| written(&folder, number, "1") > 0));
    signal("STOP", &asked);
    // The rows of the first stage go when the second and last one has ended.
    let is_over = || {
        (0..2).any(|number| written(&folder, number, "2") > 0)
            && (0..2).all(|number| written(&folder, number, "1") == 0)
    };
    wait_until(is_over);
    let with_rows = (0..2).find(|number| written(&folder, *number, "2") > 0);
    cluster.executors[with_rows.unwrap()].kill().unwrap();
    signal("CONT", &asked);
    let ended = asked.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    let rows = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(rows, here.stdout, "{errors}");
    assert_eq!(ended.status.code(), Some(0), "{errors}");
    let note = "note: the statement was run again: the rows of the executor 127.0.0.1:";
    assert!(errors.contains(note), "{errors}");
}

/// A statement that ends its executors, by their memory for instance, would end all of them, one after the other.
#[cfg(target_os = "linux")]
#[test]
fn a_job_that_has_lost_two_executors_fails() {
    let folder = captures("a_job_that_has_lost_two_executors_fails");
    let mut cluster = Processes::start(&folder, 3);
    let count = "weir query --stats --format csv \"SELECT count(*) FROM 'day/[0-6].pcap'\"";
    let asked = cluster.ask_long(6);
    cluster.wait_for_work_of_first(2);
    for executor in &mut cluster.executors[..2] {
        executor.kill().unwrap();
    }
    let ended = asked.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(
        !ended.status.success() && errors.contains("2 executors were lost"),
        "{errors}"
    );
    // The third one goes on, and answers the next statement.
    assert!(cluster.executors[2].try_wait().unwrap().is_none());
    let next = cluster.ask(count);
    assert_eq!(next.code, Some(0), "{}", next.stderr);
}

#[test]
fn a_cluster_without_executors_says_so() {
    let folder = captures("a_cluster_without_executors_says_so");
    let mut cluster = Processes::start(&folder, 2);
    let asked = cluster.ask_long(4);
    cluster.wait_for_work();
    for executor in &mut cluster.executors {
        executor.kill().unwrap();
    }
    let killed = Instant::now();
    let ended = asked.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(
        killed.elapsed() < Duration::from_secs(60),
        "{:?}",
        killed.elapsed()
    );
    assert_eq!(ended.status.code(), Some(3), "{errors}");
    assert!(errors.contains("no executor is left"), "{errors}");
    let next = cluster.ask("weir query \"SELECT count(*) FROM 'day/0.pcap'\"");
    assert_eq!(next.code, Some(3), "{}", next.stderr);
    cluster.scheduler.kill().unwrap();
    cluster.scheduler.wait().unwrap();
    let gone = cluster.ask("weir query \"SELECT count(*) FROM 'day/0.pcap'\"");
    assert_eq!(gone.code, Some(3), "{}", gone.stderr);
    assert!(
        gone.stderr.contains("no scheduler answers at"),
        "{}",
        gone.stderr
    );
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_statement_leaves_executors_idle() {
    let folder = captures("an_interrupted_statement_leaves_executors_idle");
    let cluster = Processes::start(&folder, 2);
    let mut worst = Duration::ZERO;
    for round in 0..rounds("WEIR_INTERRUPTS", 5) {
        let asked = cluster.ask_long(6);
        cluster.wait_for_work();
        signal("INT", &asked);
        let (at, spent) = (Instant::now(), cluster.cpu());
        let ended = asked.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(130), "round {round}");
        // The executors soon take no processor time any more, though they had work for much longer.
        loop {
            let (before, looked) = (cluster.cpu(), at.elapsed());
            std::thread::sleep(Duration::from_millis(200));
            if cluster.cpu() <= before + 2 {
                worst = worst.max(looked);
                // The clock of a machine that does much else says little; what was still done says it.
                let more = before - spent;
                assert!(
                    more <= 600,
                    "round {round}: {more} hundredths of a second more"
                );
                break;
            }
            assert!(
                at.elapsed() < Duration::from_secs(20),
                "round {round}: still busy"
            );
        }
    }
    println!("executors were idle after {worst:?} at the latest");
    let next = cluster.ask("weir query --format csv \"SELECT count(*) FROM 'day/[0-6].pcap'\"");
    assert_eq!(next.code, Some(0), "{}", next.stderr);
}

#[test]
fn a_restarted_scheduler_is_reported_and_answers_the_next_statement() {
    let folder = captures("a_restarted_scheduler_is_reported_and_answers_the_next_statement");
    let mut cluster = Processes::start(&folder, 2);
    let asked = cluster.ask_long(4);
    cluster.wait_for_work();
    cluster.scheduler.kill().unwrap();
    cluster.scheduler.wait().unwrap();
    // The executors wait for a scheduler at its address.
    wait_until(|| cluster.logs().matches("keeps trying").count() == 2);
    let (scheduler, address) = scheduler(&folder, &cluster.address, &[]);
    cluster.scheduler = scheduler;
    assert_eq!(address, cluster.address);
    let ended = asked.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(3), "{errors}");
    assert!(
        errors.contains("the scheduler is not available any more"),
        "{errors}"
    );
    assert_eq!(
        errors
            .lines()
            .filter(|line| line.starts_with("error"))
            .count(),
        1,
        "{errors}"
    );
    // The executors connect to the new scheduler by themselves, and its answers have no rows of the lost job.
    let next = "weir query --format csv \"SELECT ip.src, count(*) FROM 'day/[0-6].pcap' GROUP BY 1 ORDER BY 1\"";
    let (here, there) = (run(next, &folder), cluster.ask(next));
    assert_eq!(there.stdout, here.stdout, "{}", there.stderr);
    assert_eq!(there.code, Some(0), "{}", there.stderr);
}

/// A machine that slept, or was busy with something else for longer than `--lost-after`.
#[cfg(unix)]
#[test]
fn an_executor_that_stood_still_is_taken_up_again() {
    let folder = captures("an_executor_that_stood_still_is_taken_up_again");
    let mut cluster = Processes::start(&folder, 2);
    let sql = "weir query --format csv \"SELECT ip.src, count(*) FROM 'day/[0-6].pcap' GROUP BY 1 ORDER BY 1\"";
    let before = cluster.ask_both(sql);
    assert_eq!(before.code, Some(0), "{}", before.stderr);
    signal("STOP", &cluster.executors[0]);
    // The answer waits until it is missed, and comes from the other one.
    let without = cluster.ask(&sql.replace("weir query", "weir query --stats"));
    assert_eq!(without.stdout, before.stdout, "{}", without.stderr);
    assert!(
        !without.stderr.contains("read by 2 executors"),
        "{}",
        without.stderr
    );
    signal("CONT", &cluster.executors[0]);
    let after = cluster.ask_both(sql);
    assert_eq!(after.stdout, before.stdout, "{}", after.stderr);
    for executor in &mut cluster.executors {
        assert!(executor.try_wait().unwrap().is_none(), "it has ended");
    }
}
