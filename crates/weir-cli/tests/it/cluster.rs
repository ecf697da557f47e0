//! Tests of a scheduler and two executors in separate processes: their answers, damage and exit statuses are those of one
//! process. A statement survives a lost executor, or fails with a clear error.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use weir_testkit::Limited as _;
use weir_testkit::web::Moto;

use crate::shell::{Ended, folder, heeding, names, run, signal};

/// A scheduler and its executors, which end with this.
struct Processes {
    scheduler: Child,
    executors: Vec<Child>,
    address: String,
    folder: PathBuf,
    /// Arguments of each of them.
    more: Vec<String>,
    /// The environment variables of the executors.
    environment: Vec<(&'static str, String)>,
}

impl Processes {
    fn start(folder: &Path, executors: usize) -> Self {
        Self::start_with(folder, executors, &[], Vec::new())
    }

    fn start_with(
        folder: &Path,
        executors: usize,
        more: &[&str],
        environment: Vec<(&'static str, String)>,
    ) -> Self {
        let more: Vec<String> = more.iter().map(|word| (*word).to_owned()).collect();
        let (scheduler, address) = scheduler(folder, "127.0.0.1:0", &more);
        let mut started = Self {
            scheduler,
            executors: Vec::new(),
            address,
            folder: folder.to_owned(),
            more,
            environment,
        };
        for number in 0..executors {
            started.executor(number);
        }
        started
    }

    fn executor(&mut self, number: usize) {
        let executor = self.executor_by("", number);
        self.executors.push(executor);
    }

    /// An executor that a shell starts after it has done something.
    fn executor_by(&self, before: &str, number: usize) -> Child {
        let log = std::fs::File::create(self.folder.join(format!("executor-{number}.log")));
        let address = &self.address;
        let mut command = weir(&self.folder);
        let line = format!(
            "{before} exec \"$0\" cluster executor --scheduler {address} --cores 1 --memory-limit 1g --lost-after 4s \
             --work-dir work-{number} \"$@\""
        );
        let weir = command.get_program().to_owned();
        command = shell(&self.folder);
        command.args(["-c", &line]).arg(weir).args(&self.more);
        for (name, value) in &self.environment {
            command.env(name, value);
        }
        command.stderr(log.unwrap()).spawn_limited().unwrap()
    }

    /// Runs a command line with its queries on this cluster.
    fn ask(&self, line: &str) -> Ended {
        let line = line.replace(
            "weir query",
            &format!("weir query --cluster {}", self.address),
        );
        run(&line, &self.folder)
    }

    /// Runs [`Self::ask`] with `--stats` until all executors take part: one may still be starting.
    fn ask_both(&self, line: &str) -> Ended {
        let line = line.replace("weir query", "weir query --stats");
        let by_all = format!("read by {} executors", self.executors.len().max(2));
        for _ in 0..100 {
            let ended = self.ask(&line);
            if ended.stderr.contains(&by_all) {
                return ended;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        panic!("{line}: one executor reads all");
    }

    /// The logs of the executors.
    fn logs(&self) -> String {
        let logs = (0..self.executors.len()).map(|number| {
            let log = self.folder.join(format!("executor-{number}.log"));
            std::fs::read_to_string(log).unwrap_or_default()
        });
        logs.collect()
    }

    /// Starts a statement that takes some seconds, once both executors have started: that is work as well.
    fn ask_long(&self, times: usize) -> Child {
        let files = vec!["'long/*.pcap'"; times].join(", ");
        self.begin(&LONG.replace("'long/*.pcap'", &format!("[{files}]")))
    }

    /// Starts a statement, once both executors have started.
    fn begin(&self, sql: &str) -> Child {
        self.ask_both("weir query --format csv \"SELECT count(*) FROM 'day/[0-6].pcap'\"");
        quiet(heeding(env!("CARGO_BIN_EXE_weir")), &self.folder)
            .args(["query", "--cluster", &self.address, "--format", "csv", sql])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn_limited()
            .unwrap()
    }

    /// User and system time of the executors, in ticks.
    fn cpu(&self) -> u64 {
        self.executors.iter().map(ticks).sum()
    }

    /// Waits until an executor does something.
    fn wait_for_work(&self) {
        let before = self.cpu();
        wait_until(|| self.cpu() >= before + 20);
    }

    /// Waits until each of the first `count` executors does something.
    #[cfg(target_os = "linux")]
    fn wait_for_work_of_first(&self, count: usize) {
        let first = self.executors.iter().take(count);
        let before: Vec<_> = first.map(|process| (process, ticks(process))).collect();
        wait_until(|| {
            before
                .iter()
                .all(|(process, before)| ticks(process) >= before + 20)
        });
    }
}

/// Waits for a condition, a minute at most.
fn wait_until(mut is_met: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !is_met() {
        assert!(Instant::now() < until, "executors do nothing");
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        for child in self.executors.iter_mut().chain([&mut self.scheduler]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// User and system time of a process, in ticks.
fn ticks(child: &Child) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()));
    let stat = stat.unwrap_or_default();
    let behind = stat.rsplit(')').next().unwrap_or_default().to_owned();
    let fields: Vec<u64> = behind
        .split_whitespace()
        .map(|field| field.parse().unwrap_or(0))
        .collect();
    fields.get(11).unwrap_or(&0) + fields.get(12).unwrap_or(&0)
}

/// A scheduler at this address, and the one where it listens.
fn scheduler(folder: &Path, listen: &str, more: &[String]) -> (Child, String) {
    scheduler_by("", folder, listen, more)
}

/// Starts a [`scheduler`] by a shell that runs `before` first.
fn scheduler_by(before: &str, folder: &Path, listen: &str, more: &[String]) -> (Child, String) {
    let line =
        format!("{before} exec \"$0\" cluster scheduler --lost-after 4s --listen {listen} \"$@\"");
    let mut scheduler = shell(folder)
        .args(["-c", &line])
        .arg(env!("CARGO_BIN_EXE_weir"))
        .args(more)
        .stdout(Stdio::piped())
        .spawn_limited()
        .unwrap();
    let mut address = String::new();
    BufReader::new(scheduler.stdout.take().unwrap())
        .read_line(&mut address)
        .unwrap();
    (scheduler, address.trim().to_owned())
}

fn weir(folder: &Path) -> Command {
    quiet(Command::new(env!("CARGO_BIN_EXE_weir")), folder)
}

fn shell(folder: &Path) -> Command {
    quiet(Command::new("sh"), folder)
}

fn quiet(mut command: Command, folder: &Path) -> Command {
    command
        .current_dir(folder)
        .env_remove("WEIR_CLUSTER")
        .env_remove("WEIR_CLUSTER_TOKEN")
        .env_remove("XDG_CACHE_HOME")
        // The user's token is in the home folder.
        .env("HOME", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// The number of repetitions; a variable can set more than the gate's.
#[cfg(target_os = "linux")]
fn rounds(variable: &str, otherwise: u32) -> u32 {
    let value = std::env::var(variable).ok();
    value
        .and_then(|value| value.parse().ok())
        .unwrap_or(otherwise)
}

/// A folder with `day`, eight captures, one of them damaged, and `long`, of which reading takes some seconds.
fn captures(name: &str) -> PathBuf {
    let folder = folder(name);
    let made = run(
        "mkdir day long && for n in 0 1 2 3 4 5 6; do cp demo/voip.pcap day/$n.pcap; done && cp cut.pcap day/7.pcap",
        &folder,
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let voip = std::fs::read(folder.join("demo/voip.pcap")).unwrap();
    let (head, records) = voip.split_at(24);
    let times = (8 << 20) / records.len() + 1;
    for number in 0..8 {
        let mut file = std::fs::File::create(folder.join(format!("long/{number}.pcap"))).unwrap();
        file.write_all(head).unwrap();
        for _ in 0..times {
            file.write_all(records).unwrap();
        }
    }
    folder
}

/// The statement takes some seconds, because it makes a text of each row.
const LONG: &str = "SELECT count(*), sum(length(regexp_replace(CAST(frame.time AS text) || frame.layers, '[0-9]+', 'x', 'g'))) \
                    FROM 'long/*.pcap'";

#[test]
fn statements_come_to_the_same_end() {
    let folder = captures("statements_come_to_the_same_end");
    let cluster = Processes::start(&folder, 2);
    for line in [
        "weir query --format csv \"SELECT count(*), sum(frame.len), max(frame.time) FROM 'day/*.pcap'\"",
        "weir query --format csv \"SELECT ip.src, count(*) FROM 'day/*.pcap' GROUP BY 1 ORDER BY 1\"",
        "weir query --format ndjson \"SELECT frame.file, frame.number, ip.src, frame.time FROM 'day/*.pcap' WHERE udp.dstport = 5060\"",
        "weir query --format csv \"SELECT * FROM calls('demo/voip.pcap')\"",
        "weir query --format csv \"SELECT sip.method, count(*) FROM sip('day/[0-3].pcap') GROUP BY 1 ORDER BY 1\"",
        "weir query --format json \"CREATE VIEW v AS SELECT * FROM 'day/[0-5].pcap'; SELECT count(*) FROM v\"",
        "weir query --format csv --tz Europe/Berlin \"SELECT min(frame.time) FROM 'day/0.pcap'\"",
        "weir query --format csv \"SELECT count(*) FROM 'none.pcap'\"",
        "weir query --format csv \"SELECT frame.nubmer FROM 'day/0.pcap'\"",
        "weir query --format csv \"SELECT count(*) / 0 FROM 'day/0.pcap'\"",
        "weir query --format csv \"COPY (SELECT * FROM 'day/1.pcap' WHERE udp.dstport = 5060) TO 'sip-$$.pcap'\"",
        "weir query --format csv - < demo/voip.pcap",
        "weir query --format csv \"SELECT 1 + 1\"",
    ] {
        let here = run(line, &folder);
        let there = cluster.ask(line);
        assert_eq!(there.stdout, here.stdout, "{line}: {}", there.stderr);
        assert_eq!(there.code, here.code, "{line}: {}", there.stderr);
        let damage = |ended: &Ended| {
            let lines = ended
                .stderr
                .lines()
                .filter(|line| line.contains("cut.pcap") || line.contains("7.pcap"));
            lines.map(ToOwned::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(damage(&there), damage(&here), "{line}");
    }
    let plan =
        cluster.ask("weir query \"EXPLAIN SELECT ip.src, count(*) FROM 'day/*.pcap' GROUP BY 1\"");
    for part in ["ClusterExec", "stages=2", "pieces=8", "PieceAggregate"] {
        assert!(plan.stdout.contains(part), "{part}: {}", plan.stdout);
    }
    // Each has one core: both read.
    let read = cluster.ask_both("weir query \"SELECT count(*) FROM 'day/*.pcap'\"");
    let here = run(
        "weir query --stats \"SELECT count(*) FROM 'day/*.pcap'\"",
        &folder,
    );
    let bytes = |ended: &Ended| {
        let line = ended
            .stderr
            .lines()
            .find(|line| line.contains(" records, "))
            .unwrap();
        line.split(" in ").next().unwrap().to_owned()
    };
    assert_eq!(bytes(&read), bytes(&here));
}

#[test]
fn a_cluster_in_the_process_answers_alike() {
    let folder = captures("a_cluster_in_the_process_answers_alike");
    let sql = "\"SELECT ip.src, count(*) FROM 'day/*.pcap' GROUP BY 1 ORDER BY 1\"";
    let here = run(&format!("weir query --format csv {sql}"), &folder);
    let there = run(
        &format!("mkdir tmp; TMPDIR=$PWD/tmp weir query --cluster local --format csv {sql}"),
        &folder,
    );
    assert_eq!(there.stdout, here.stdout, "{}", there.stderr);
    assert_eq!(there.code, here.code);
    assert_eq!(there.stderr, here.stderr);
    // No trace of it stays.
    let left = run("ls -A tmp", &folder);
    assert_eq!(left.stdout.trim(), "");
}

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

/// Whether an executor has written rows of a stage of a job.
fn has_written(folder: &Path, number: usize, stage: &str) -> bool {
    let folders = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        entries.flatten().map(|entry| entry.path()).collect()
    };
    let works = folders(&folder.join(format!("work-{number}")));
    let mut jobs = works.iter().flat_map(|work| folders(work));
    jobs.any(|job| job.join(stage).exists())
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
    let mut asked = cluster.begin(sql);
    // It may also have ended.
    wait_until(|| has_written(&folder, 1, "2") || asked.try_wait().unwrap().is_some());
    cluster.executors[0].kill().unwrap();
    let ended = asked.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    let rows = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(rows, here.stdout, "{errors}");
    assert_eq!(ended.status.code(), Some(0), "{errors}");
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
fn a_scheduler_that_was_restarted_is_said_and_answers_the_next_statement() {
    let folder = captures("a_scheduler_that_was_restarted_is_said_and_answers_the_next_statement");
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

#[test]
fn certificates_and_a_token_let_in_who_has_them() {
    if Command::new("openssl")
        .arg("version")
        .output_limited()
        .is_err()
    {
        weir_testkit::missing("openssl", "TLS of the cluster");
        return;
    }
    let folder = captures("certificates_and_a_token_let_in_who_has_them");
    let made = run(
        "echo subjectAltName=IP:127.0.0.1 > names; echo a-token-of-the-test > token; echo a-token-of-others > other; \
         for ca in ours theirs; do \
         openssl req -x509 -newkey rsa:2048 -nodes -keyout $ca-ca.key -out $ca-ca.pem -days 30 -subj /CN=$ca && \
         openssl req -newkey rsa:2048 -nodes -keyout $ca.key -out $ca.csr -subj /CN=machine && \
         openssl x509 -req -in $ca.csr -CA $ca-ca.pem -CAkey $ca-ca.key -CAcreateserial -out $ca.pem -days 30 \
         -extfile names || exit 1; done",
        &folder,
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let ours = "--tls-cert ours.pem --tls-key ours.key --tls-ca ours-ca.pem";
    let more = format!("{ours} --token-file token");
    let words: Vec<&str> = more.split(' ').collect();
    let cluster = Processes::start_with(&folder, 2, &words, Vec::new());
    let sql = "\"SELECT ip.src, count(*) FROM 'day/[0-6].pcap' GROUP BY 1 ORDER BY 1\"";
    let here = run(&format!("weir query --format csv {sql}"), &folder);
    let there = cluster.ask_both(&format!("weir query {more} --format csv {sql}"));
    assert_eq!(there.code, Some(0), "{}", there.stderr);
    assert_eq!(there.stdout, here.stdout, "{}", there.stderr);
    for (with, expected) in [
        ("", "if it uses TLS, give --tls-cert"),
        (ours, "the token is missing"),
        (&format!("{ours} --token-file other"), "the token is wrong"),
        (
            "--tls-cert theirs.pem --tls-key theirs.key --tls-ca ours-ca.pem --token-file token",
            "rejects the certificate of --tls-cert",
        ),
        (
            "--tls-cert ours.pem --tls-key ours.key --tls-ca theirs-ca.pem --token-file token",
            "is not signed by --tls-ca",
        ),
    ] {
        let refused = cluster.ask(&format!("weir query {with} --format csv {sql}"));
        assert_eq!(refused.code, Some(3), "{with}: {}", refused.stderr);
        let errors: Vec<_> = refused
            .stderr
            .lines()
            .filter(|line| line.starts_with("error"))
            .collect();
        assert!(
            errors.len() == 1 && errors[0].contains(expected),
            "{with}: {}",
            refused.stderr
        );
        assert!(!refused.stderr.contains("a-token"), "{}", refused.stderr);
        let address = &cluster.address;
        let stranger = run(
            &format!("weir cluster executor --scheduler {address} --work-dir stranger {with}"),
            &folder,
        );
        assert_ne!(stranger.code, Some(0), "{with}");
        assert!(
            stranger.stderr.contains(expected),
            "{with}: {}",
            stranger.stderr
        );
    }
    assert!(!cluster.logs().contains("a-token"), "{}", cluster.logs());
    let local = run(&format!("weir query --cluster local {ours} {sql}"), &folder);
    assert_eq!(local.code, Some(2), "{}", local.stderr);
}

/// Each machine has its own keys; statements do not carry any.
#[test]
fn executors_read_a_store_with_keys_of_their_own() {
    let Some(moto) = Moto::start() else {
        weir_testkit::missing("moto", "reading S3 by a cluster");
        return;
    };
    let folder = captures("executors_read_a_store_with_keys_of_their_own");
    for number in 0..8 {
        let name = format!("day/{number}.pcap");
        moto.put(&name, &std::fs::read(folder.join(&name)).unwrap());
    }
    let large = std::fs::read(folder.join("long/0.pcap")).unwrap();
    moto.put("large.pcap", &large);
    let cluster = Processes::start_with(&folder, 2, &[], moto.environment().to_vec());
    let ask = |cluster: &Processes, line: &str| {
        let line = line.replace(
            "weir query",
            &format!("weir query --cluster {}", cluster.address),
        );
        let mut command = crate::shell::command(&line, &folder);
        command.envs(moto.environment());
        let output = command.output_limited().unwrap();
        let told =
            [&output.stdout, &output.stderr].map(|told| String::from_utf8_lossy(told).into_owned());
        for secret in ["KEYOFTHEBUCKET", "SECRETOFTHEBUCKET"] {
            assert!(!told.concat().contains(secret), "{line}: {told:?}");
        }
        (output.status.code(), told[0].clone(), told[1].clone())
    };
    for sql in [
        "SELECT ip.src, count(*), sum(frame.len) FROM '@day/*.pcap' GROUP BY 1 ORDER BY 1",
        "SELECT frame.number, ip.src FROM '@day/[0-6].pcap' WHERE udp.dstport = 5060",
        "SELECT sip.method, count(*) FROM sip('@day/*.pcap') GROUP BY 1 ORDER BY 1",
        "SELECT count(*), max(frame.time) FROM packets('@day/*.pcap', merge => true)",
    ] {
        let of = |start: &str| format!("weir query --format csv \"{}\"", sql.replace('@', start));
        let here = run(&of(""), &folder);
        let (code, stdout, stderr) = ask(&cluster, &of("s3://bucket/"));
        assert_eq!(stdout, here.stdout, "{sql}: {stderr}");
        assert_eq!(code, here.code, "{sql}: {stderr}");
    }
    let (_, plan, _) = ask(
        &cluster,
        "weir query \"EXPLAIN VERBOSE SELECT ip.src, count(*) FROM 's3://bucket/day/*.pcap' GROUP BY 1\"",
    );
    assert!(
        plan.contains("ClusterExec") && plan.contains("pieces=8"),
        "{plan}"
    );
    assert!(
        !cluster.logs().contains("OFTHEBUCKET"),
        "{}",
        cluster.logs()
    );
    drop(cluster);
    // Executors without keys do not get those of the client.
    let strangers = Processes::start_with(&folder, 1, &[], Vec::new());
    let (code, stdout, stderr) = ask(
        &strangers,
        "weir query --format csv \"SELECT count(*) FROM 's3://bucket/day/[0-6].pcap'\"",
    );
    assert_ne!(code, Some(0), "{stdout}{stderr}");
    assert!(stderr.contains("s3://bucket/day/"), "{stderr}");
}

/// The bar appears at a terminal within half a second, and disappears before the first row.
#[cfg(unix)]
#[test]
fn a_terminal_is_shown_the_pieces_that_are_done() {
    if Command::new("python3")
        .arg("--version")
        .output_limited()
        .is_err()
    {
        weir_testkit::missing("python3", "what a terminal is shown");
        return;
    }
    let folder = captures("a_terminal_is_shown_the_pieces_that_are_done");
    let cluster = Processes::start(&folder, 2);
    let shown = |at_terminal: bool| {
        let line = format!(
            "import pty, subprocess, sys; line = ['weir', 'query', '--cluster', '{}', '--format', 'csv', sys.argv[1]]; \
             sys.exit(pty.spawn(line) if {} else subprocess.call(line))",
            cluster.address,
            if at_terminal { "True" } else { "False" }
        );
        let sql = LONG.replace("'long/*.pcap'", "['long/*.pcap', 'long/*.pcap']");
        let program = Path::new(env!("CARGO_BIN_EXE_weir")).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let output = Command::new("python3")
            .args(["-c", &line, &sql])
            .current_dir(&folder)
            .env("PATH", format!("{}:{path}", program.display()))
            .env("HOME", &folder)
            .env_remove("XDG_CACHE_HOME")
            .env("TERM", "xterm")
            .stdin(Stdio::null())
            .output_limited()
            .unwrap();
        let told = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&told).into_owned()
    };
    let told = shown(true);
    assert!(told.contains(" of 16 pieces, "), "{told}");
    // More than none at some time.
    let some = (1..16).any(|done| told.contains(&format!(" {done} of 16 pieces, ")));
    assert!(some, "{told}");
    assert!(!shown(false).contains("pieces"));
}

#[test]
fn strangers_are_not_let_in_by_accident() {
    let folder = folder("strangers_are_not_let_in_by_accident");
    for line in [
        "weir cluster scheduler --listen 0.0.0.0:0",
        "weir cluster executor --scheduler 127.0.0.1:1 --listen 0.0.0.0",
    ] {
        let ended = run(line, &folder);
        assert_eq!(ended.code, Some(2), "{line}: {}", ended.stderr);
        assert!(
            ended.stderr.contains("--trusted-network"),
            "{}",
            ended.stderr
        );
    }
    let wrong = run("weir query --cluster nowhere \"SELECT 1\"", &folder);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    assert!(
        wrong.stderr.contains("not a host and port"),
        "{}",
        wrong.stderr
    );
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

/// Without options, only its user can reach a cluster on one machine.
#[cfg(unix)]
#[test]
fn users_of_one_machine_cannot_reach_each_other() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = captures("users_of_one_machine_cannot_reach_each_other");
    let cluster = Processes::start(&folder, 2);
    let sql = "weir query --format csv \"SELECT count(*) FROM 'day/[0-6].pcap'\"";
    assert_eq!(cluster.ask(sql).code, Some(0));
    let token = folder.join(".cache/weir/cluster-token");
    let mode = std::fs::metadata(&token).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let executor = |with: &str, home: &str| {
        let address = &cluster.address;
        let line = format!(
            "HOME=$PWD/{home} weir cluster executor --scheduler {address} --work-dir stranger {with}"
        );
        run(&line, &folder)
    };
    // Another user has another home, or says that there is no token.
    for (with, home, expected) in [
        ("", "other", "the token is wrong"),
        ("--no-token", "", "the token is missing"),
    ] {
        let line = sql.replace("weir query", &format!("weir query {with}"));
        let asked = cluster.ask(&format!("HOME=$PWD/{home} {line}"));
        assert_eq!(asked.code, Some(3), "{expected}: {}", asked.stderr);
        assert!(
            asked.stderr.contains(expected),
            "{expected}: {}",
            asked.stderr
        );
        let executed = executor(with, home);
        assert_ne!(executed.code, Some(0), "{expected}");
        assert!(executed.stderr.contains(expected), "{}", executed.stderr);
    }
    // A client refuses a token file that other users can read.
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    let asked = cluster.ask(sql);
    assert_eq!(asked.code, Some(2), "{}", asked.stderr);
    assert!(asked.stderr.contains("by others"), "{}", asked.stderr);
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).unwrap();
    // The token for clients allows queries, and no executor.
    let made = run("weir cluster client-token > ask-only", &folder);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let line = sql.replace("weir query", "weir query --token-file ask-only");
    let asked = cluster.ask(&line);
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    // The file has the mode of the shell.
    let copy = folder.join("ask-only");
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o644)).unwrap();
    let asked = cluster.ask(&line);
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    assert!(
        asked.stderr.contains("can read ask-only"),
        "{}",
        asked.stderr
    );
    let executed = executor("--token-file ask-only", "");
    assert!(
        executed.stderr.contains("that of a client"),
        "{}",
        executed.stderr
    );
}

/// A process with a limit of 200 open files gets more connections than that, which are idle or stop in the middle.
#[cfg(unix)]
#[test]
fn silent_connections_take_no_files_from_others() {
    let folder = captures("silent_connections_take_no_files_from_others");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut cluster = Processes::start(&folder, 0);
    cluster.scheduler.kill().unwrap();
    cluster.scheduler.wait().unwrap();
    let (scheduler, address) = scheduler_by("ulimit -n 200;", &folder, &cluster.address, &[]);
    cluster.scheduler = scheduler;
    cluster.more = vec!["--port".to_owned(), port.to_string()];
    let executor = cluster.executor_by("ulimit -n 200;", 0);
    cluster.executors.push(executor);
    let sql = "weir query --format csv \"SELECT ip.src, count(*) FROM 'day/[0-6].pcap' GROUP BY 1 ORDER BY 1\"";
    let before = cluster.ask(sql);
    assert_eq!(before.code, Some(0), "{}", before.stderr);
    let silent: Vec<_> = (0..260)
        .flat_map(|number| {
            [address.clone(), format!("127.0.0.1:{port}")].map(|to| {
                let mut stream = std::net::TcpStream::connect(to).unwrap();
                // The head of a handshake of TLS whose rest does not come.
                let octets: &[u8] = if number % 2 == 0 {
                    b""
                } else {
                    &[22, 3, 1, 2, 0, 1]
                };
                let _ = stream.write_all(octets);
                stream
            })
        })
        .collect();
    let begun = Instant::now();
    let meanwhile = cluster.ask(sql);
    assert_eq!(meanwhile.stdout, before.stdout, "{}", meanwhile.stderr);
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    drop(silent);
}
