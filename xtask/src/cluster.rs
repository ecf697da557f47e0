//! `cargo xtask bench cluster`: what a cluster of two executors with a core each costs beside one process with two threads.
//!
//! `WEIR_PROGRAM` names a command line that is built already, `WEIR_CLUSTER_BYTES` another size of the trace (2 GB, in eight
//! files; there has to be room for it), `WEIR_CLUSTER_FOLDER` where it lies.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::comparison::Comparison;
use crate::measure::{Subject, median};
use crate::scan::program;
use crate::trace;
use crate::workspace::target_dir;

const BYTES: u64 = 2_000_000_000;
const FILES: u64 = 8;
const ROUNDS: usize = 5;
/// The promised limits: the ratio to the processor time of one process, and the extra seconds of a trivial statement.
const CPU_MAX: f64 = 1.15;
const FIXED_MAX: f64 = 0.150;
/// Ticks of a second in what Linux says of processes.
const TICKS: f64 = 100.0;

const QUESTIONS: &[(&str, &str)] = &[
    ("count", "SELECT count(*), sum(frame.len) FROM 'day/*.pcap'"),
    (
        "filter",
        "SELECT count(*) FROM 'day/*.pcap' WHERE udp.dstport = 53 AND ip.ttl > 32",
    ),
    (
        "few groups",
        "SELECT proto, count(*), sum(frame.len) FROM 'day/*.pcap' GROUP BY 1 ORDER BY 1",
    ),
    (
        "many groups",
        "SELECT count(*), sum(n) FROM (SELECT port.src, port.dst, count(*) AS n FROM 'day/*.pcap' GROUP BY 1, 2)",
    ),
    (
        "rows",
        "SELECT count(*), max(l) FROM (SELECT length(frame.layers) AS l FROM 'day/*.pcap' WHERE udp.dstport = 53)",
    ),
];
/// Over one small file: what is left is the way there and back.
const NOTHING: &str = "SELECT count(*) FROM 'small.pcap'";

/// A scheduler and two executors, which end with this.
struct Cluster {
    children: Vec<Child>,
    address: String,
}

impl Cluster {
    fn start(weir: &str, folder: &Path) -> Result<Self> {
        let mut scheduler = Command::new(weir)
            .args(["cluster", "scheduler", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| weir.to_owned())?;
        let mut address = String::new();
        let stdout = scheduler.stdout.take().context("it is piped")?;
        let mut cluster = Self {
            children: vec![scheduler],
            address: String::new(),
        };
        BufReader::new(stdout).read_line(&mut address)?;
        cluster.address = address.trim().to_owned();
        for number in 0..2 {
            let executor = Command::new(weir)
                .args(["cluster", "executor", "--scheduler", &cluster.address])
                .args(["--cores", "1", "--memory-limit", "2g", "--work-dir"])
                .arg(folder.join(format!("work-{number}")))
                .current_dir(folder)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            cluster.children.push(executor);
        }
        Ok(cluster)
    }

    /// Seconds of processor time of all of them.
    fn cpu(&self) -> f64 {
        let of = |child: &Child| {
            let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap_or_default();
            let behind = stat.rsplit(')').next().unwrap_or_default().to_owned();
            let mut fields = behind.split_whitespace().skip(11);
            let mut next = || fields.next().and_then(|field| field.parse::<f64>().ok());
            next().unwrap_or(0.0) + next().unwrap_or(0.0)
        };
        self.children.iter().map(of).sum::<f64>() / TICKS
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Runs the benchmark.
pub(crate) fn run() -> Result<Vec<Comparison>> {
    let weir = program()?;
    let bytes = match std::env::var("WEIR_CLUSTER_BYTES") {
        Ok(bytes) => bytes.parse().context("WEIR_CLUSTER_BYTES is a number")?,
        Err(_) => BYTES,
    };
    let folder = match std::env::var_os("WEIR_CLUSTER_FOLDER") {
        Some(folder) => PathBuf::from(folder),
        None => target_dir()?,
    };
    let folder = folder.join("bench-cluster");
    fs::create_dir_all(folder.join("day"))?;
    let measured = measure(&weir, &folder, bytes);
    fs::remove_dir_all(&folder)?;
    measured
}

/// The captures of the statements: those of a day, and a small one.
fn make_traces(folder: &Path, bytes: u64) -> Result<()> {
    for number in 0..FILES {
        let day = File::create(folder.join(format!("day/{number}.pcap")))?;
        trace::make("ethernet", bytes / FILES, BufWriter::new(day))?;
    }
    let small = File::create(folder.join("small.pcap"))?;
    trace::make("ethernet", 100_000, BufWriter::new(small))?;
    Ok(())
}

/// The medians of time and processor time, each of the cluster and of the one process, which give the same rows.
fn beside(cluster: &Cluster, asked: &Subject, alone: &Subject) -> Result<([f64; 2], [f64; 2])> {
    let (mut costs, mut alone_costs) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let before = cluster.cpu();
        let (mut cost, rows) = asked.run()?;
        // The cleanup after the answer counts as part of its cost.
        settled(cluster);
        cost.cpu += cluster.cpu() - before;
        let (alone_cost, alone_rows) = alone.run()?;
        if rows != alone_rows {
            bail!("the cluster says {rows}, one process {alone_rows}");
        }
        if round > 0 {
            costs.push(cost);
            alone_costs.push(alone_cost);
        }
    }
    Ok((
        [&costs, &alone_costs].map(|costs| median(costs, |cost| cost.wall)),
        [&costs, &alone_costs].map(|costs| median(costs, |cost| cost.cpu)),
    ))
}

fn measure(weir: &str, folder: &Path, bytes: u64) -> Result<Vec<Comparison>> {
    make_traces(folder, bytes)?;
    let cluster = Cluster::start(weir, folder)?;
    // The first question waits until there are executors.
    let of = |name: &str, more: &[&str], sql: &str| {
        let mut arguments = vec!["query", "--format", "csv"];
        arguments.extend(more);
        arguments.push(sql);
        Subject::new(name, weir, &arguments).within(folder)
    };
    let there = ["--cluster", cluster.address.as_str()];
    let here = ["--threads", "2"];
    let mut comparisons = Vec::new();
    let mut broken = Vec::new();
    println!(
        "{:<12} {:>12} {:>12} {:>12} {:>12} {:>8}",
        "", "cluster s", "CPU s", "process s", "CPU s", "CPU"
    );
    for (name, sql) in QUESTIONS.iter().copied().chain([("nothing", NOTHING)]) {
        let (asked, alone) = (of("cluster", &there, sql), of("process", &here, sql));
        let (wall, cpu) = beside(&cluster, &asked, &alone).context(name)?;
        println!(
            "{name:<12} {:>12.3} {:>12.3} {:>12.3} {:>12.3} {:>8.2}",
            wall[0],
            cpu[0],
            wall[1],
            cpu[1],
            cpu[0] / cpu[1]
        );
        if name == "nothing" {
            let fixed = wall[0] - wall[1];
            println!("fixed cost: {:.0} ms", fixed * 1e3);
            if fixed > FIXED_MAX {
                broken.push(format!("fixed cost {fixed:.3} s, {FIXED_MAX} promised"));
            }
        } else if cpu[0] > cpu[1] * CPU_MAX {
            broken.push(format!(
                "{name}: {:.2} times the CPU, {CPU_MAX} promised",
                cpu[0] / cpu[1]
            ));
        }
        comparisons.push(Comparison {
            name: format!("CPU of {name}"),
            ours: cpu[0],
            peer: cpu[1],
            peer_name: "one process with two threads".to_owned(),
            unit: "s".to_owned(),
        });
        comparisons.push(Comparison {
            name: format!("time of {name}"),
            ours: wall[0],
            peer: wall[1],
            peer_name: "one process with two threads".to_owned(),
            unit: "s".to_owned(),
        });
    }
    if !broken.is_empty() {
        // A broken promise does not discard the figures.
        println!("{}", broken.join("\n"));
    }
    Ok(comparisons)
}

/// Waits until the cluster is idle.
fn settled(cluster: &Cluster) {
    let until = Instant::now() + Duration::from_secs(5);
    let mut before = cluster.cpu();
    while Instant::now() < until {
        thread::sleep(Duration::from_millis(100));
        let now = cluster.cpu();
        if now - before < 0.015 {
            return;
        }
        before = now;
    }
}
