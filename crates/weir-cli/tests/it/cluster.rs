//! A scheduler and two executors, each a process of its own: answers, damage and statuses are those of one process; whoever
//! is lost is done without, or missed clearly.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::shell::{Ended, folder, run};

/// A scheduler and its executors, which end with this.
struct Processes {
    scheduler: Child,
    executors: Vec<Child>,
    address: String,
    folder: PathBuf,
}

impl Processes {
    fn start(folder: &Path, executors: usize) -> Self {
        let mut scheduler = weir(folder)
            .args([
                "cluster",
                "scheduler",
                "--listen",
                "127.0.0.1:0",
                "--lost-after",
                "4s",
            ])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(scheduler.stdout.take().unwrap())
            .read_line(&mut address)
            .unwrap();
        let mut started = Self {
            scheduler,
            executors: Vec::new(),
            address: address.trim().to_owned(),
            folder: folder.to_owned(),
        };
        for number in 0..executors {
            started.executor(number);
        }
        started
    }

    fn executor(&mut self, number: usize) {
        let work = self.folder.join(format!("work-{number}"));
        let executor = weir(&self.folder)
            .args([
                "cluster",
                "executor",
                "--scheduler",
                &self.address,
                "--cores",
                "1",
            ])
            .args(["--memory-limit", "1g", "--lost-after", "4s", "--work-dir"])
            .arg(work)
            .spawn()
            .unwrap();
        self.executors.push(executor);
    }

    /// What a command line comes to whose statements this cluster answers.
    fn ask(&self, line: &str) -> Ended {
        let line = line.replace(
            "weir query",
            &format!("weir query --cluster {}", self.address),
        );
        run(&line, &self.folder)
    }

    /// Starts a statement that takes some seconds.
    fn ask_long(&self, times: usize) -> Child {
        let files = vec!["'long/*.pcap'"; times].join(", ");
        let sql = LONG.replace("'long/*.pcap'", &format!("[{files}]"));
        weir(&self.folder)
            .args(["query", "--cluster", &self.address, "--format", "csv", &sql])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// User and system time of the executors, in ticks.
    fn cpu(&self) -> u64 {
        let of = |child: &Child| {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()));
            let stat = stat.unwrap_or_default();
            let behind = stat.rsplit(')').next().unwrap_or_default().to_owned();
            let fields: Vec<u64> = behind
                .split_whitespace()
                .map(|field| field.parse().unwrap_or(0))
                .collect();
            fields.get(11).unwrap_or(&0) + fields.get(12).unwrap_or(&0)
        };
        self.executors.iter().map(of).sum()
    }

    /// Waits until an executor does something.
    fn wait_for_work(&self) {
        let before = self.cpu();
        let until = Instant::now() + Duration::from_secs(30);
        while self.cpu() < before + 20 {
            assert!(Instant::now() < until, "no executor does anything");
            std::thread::sleep(Duration::from_millis(20));
        }
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

fn weir(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command
        .current_dir(folder)
        .env_remove("WEIR_CLUSTER")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
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

/// Takes some seconds: each row becomes text, which DataFusion looks at.
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
    let read = cluster.ask("weir query --stats \"SELECT count(*) FROM 'day/*.pcap'\"");
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
    // Nothing of it stays.
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
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(
        String::from_utf8_lossy(&ended.stdout),
        here.stdout,
        "{said}"
    );
    assert!(
        killed.elapsed() < Duration::from_secs(60),
        "{:?}",
        killed.elapsed()
    );
    // The next statement is answered by who is left, and by who comes.
    cluster.executor(2);
    let again = cluster.ask("weir query --format csv \"SELECT count(*) FROM 'day/[0-6].pcap'\"");
    assert_eq!(again.code, Some(0), "{}", again.stderr);
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
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(
        killed.elapsed() < Duration::from_secs(60),
        "{:?}",
        killed.elapsed()
    );
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("executor"), "{said}");
    let nobody = cluster.ask("weir query \"SELECT count(*) FROM 'day/0.pcap'\"");
    assert_eq!(nobody.code, Some(3), "{}", nobody.stderr);
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
    for round in 0..5 {
        let asked = cluster.ask_long(6);
        cluster.wait_for_work();
        let interrupted = Command::new("kill")
            .args(["-INT", &asked.id().to_string()])
            .status()
            .unwrap();
        assert!(interrupted.success());
        let at = Instant::now();
        let ended = asked.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(130), "round {round}");
        // Soon nobody does anything any more, though there was work for long.
        loop {
            let before = cluster.cpu();
            std::thread::sleep(Duration::from_millis(200));
            if cluster.cpu() <= before + 2 {
                break;
            }
            assert!(
                at.elapsed() < Duration::from_secs(6),
                "round {round}: still busy"
            );
        }
    }
    let next = cluster.ask("weir query --format csv \"SELECT count(*) FROM 'day/[0-6].pcap'\"");
    assert_eq!(next.code, Some(0), "{}", next.stderr);
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
        wrong.stderr.contains("no host and port"),
        "{}",
        wrong.stderr
    );
}
