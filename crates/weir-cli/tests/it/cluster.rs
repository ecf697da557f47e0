//! Tests of a scheduler and two executors in separate processes: their answers, damage and exit statuses are those of one
//! process. A statement survives a lost executor, or fails with a clear error.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use weir_testkit::Limited as _;
use weir_testkit::web::Moto;

use crate::shell::{Ended, folder, heeding, run};

mod access;
mod losses;
mod work;

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
        self.start_query(&[], sql)
    }

    /// Starts a statement with these options.
    fn start_query(&self, options: &[&str], sql: &str) -> Child {
        quiet(heeding(env!("CARGO_BIN_EXE_weir")), &self.folder)
            .args(["query", "--cluster", &self.address, "--format", "csv"])
            .args(options)
            .arg(sql)
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
