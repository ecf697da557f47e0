//! `cargo xtask bench scan`: one pass over a capture of 272 MB, and 2 GB through a pipe.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::bench::Comparison;
use crate::measure::{Cost, Subject, alternate, median};
use crate::{cargo, installed, root, run as run_command, target_dir, trace};

/// A query, for weir and for the C program that computes only this query.
struct ScanQuery {
    name: &'static str,
    program: &'static str,
    sql: &'static str,
    /// CPU of others for it over a capture of this size and mix (272 MB, 963,374 records), as a multiple
    /// of `dd bs=1M`'s over the same file, measured in 2026 on a machine of two cores.
    published: &'static [(&'static str, f64)],
}

const QUESTIONS: &[ScanQuery] = &[
    ScanQuery {
        name: "count",
        program: "scan_count",
        sql: "SELECT count(*), sum(frame.len) FROM '{}'",
        published: &[
            ("pcapsql", 5.0),
            ("tshark -z io,phs", 725.0),
            ("tshark -T fields", 1500.0),
        ],
    },
    ScanQuery {
        name: "filter",
        program: "scan_filter",
        sql: "SELECT count(*), sum(frame.len) FROM '{}' WHERE udp.dstport = 53",
        published: &[("pcapsql", 60.0)],
    },
    ScanQuery {
        name: "group",
        program: "scan_group",
        sql: "SELECT port.src, port.dst, count(*), sum(frame.len) FROM '{}' \
              WHERE port.src IS NOT NULL GROUP BY port.src, port.dst",
        published: &[("pcapsql", 82.0)],
    },
];

const ROUNDS: usize = 9;
/// tshark is slow: fewer rounds say enough.
const ROUNDS_SLOW: usize = 2;
const PIPE_BYTES: u64 = 2_000_000_000;
const RESIDENT_MAX: u64 = 150 << 20;

/// Runs the benchmark.
pub(crate) fn run() -> Result<Vec<Comparison>> {
    let target = target_dir()?;
    let (weir, peers) = build(&target)?;
    let bytes = weir_testkit::trace::ETHERNET_BYTES;
    let capture = text(&trace_file(&target, "ethernet", "pcap", bytes)?)?;

    let large = text(&trace_file(&target, "ethernet", "pcap", bytes * LARGER)?)?;
    let counter = peers.join("scan_count");
    let more = records(&counter, &large)? - records(&counter, &capture)?;
    let race = Race {
        weir,
        peers,
        capture,
        large,
        more,
    };
    let mut marginal = Marginal::new();
    let mut rows = Vec::new();
    for question in QUESTIONS {
        rows.extend(race.ask(question, &mut marginal)?);
    }
    marginal.print();
    rows.extend(slow_peers(&race.weir, &race.capture)?);
    rows.extend(pipe(&race.weir, &race.capture)?);
    Ok(rows)
}

/// weir, the programs in C, and what they read.
struct Race {
    weir: String,
    peers: PathBuf,
    capture: String,
    large: String,
    /// The number of additional records in the large capture.
    more: f64,
}

impl Race {
    fn ask(&self, question: &ScanQuery, marginal: &mut Marginal) -> Result<Vec<Comparison>> {
        let capture = &self.capture;
        println!(
            "\n{}: {}",
            question.name,
            question.sql.replace("{}", "ethernet.pcap")
        );
        let [one, all, read, mapped] = self.subjects(question, capture)?;
        let subjects = [
            one,
            all,
            read,
            mapped,
            Subject::new(
                "dd",
                "dd",
                &["bs=1M", "of=/dev/null", &format!("if={capture}")],
            ),
        ];
        let results = alternate(&subjects, ROUNDS)?;
        if sorted_rows(&results[0].1) != sorted_rows(&results[2].1) {
            bail!(
                "weir and {} disagree on {}",
                question.program,
                question.name
            );
        }
        print(&subjects, &results);
        let (weir_costs, _) = &results[0];
        let mut rows = Vec::new();
        for (subject, (costs, _)) in subjects.iter().zip(&results).skip(1) {
            rows.push(compare(
                question.name,
                "wall",
                weir_costs,
                subject,
                costs,
                |cost| cost.wall,
            ));
            rows.push(compare(
                question.name,
                "cpu",
                weir_costs,
                subject,
                costs,
                |cost| cost.cpu,
            ));
        }
        check_resident(question.name, weir_costs)?;
        rows.extend(published(question, weir_costs, &results[4].0));
        let over_large = self.subjects(question, &self.large)?;
        rows.extend(marginal.add(question.name, &results, &over_large, self.more)?);
        Ok(rows)
    }

    fn subjects(&self, question: &ScanQuery, trace: &str) -> Result<[Subject; 4]> {
        let sql = &question.sql.replace("{}", trace);
        let program = text(&self.peers.join(question.program))?;
        Ok([
            Subject::new(
                "weir, one thread",
                &self.weir,
                &["query", "--threads", "1", "--format", "csv", sql],
            ),
            Subject::new(
                "weir, all threads",
                &self.weir,
                &["query", "--format", "csv", sql],
            ),
            Subject::new("C, read", &program, &["read", trace]),
            Subject::new("C, mmap", &program, &["mmap", trace]),
        ])
    }
}

/// Beside what others measured: in multiples of `dd` over the same file, which takes the machine out.
fn published(question: &ScanQuery, weir: &[Cost], dd: &[Cost]) -> Vec<Comparison> {
    let ours = median(weir, |cost| cost.cpu) / median(dd, |cost| cost.cpu);
    let rows = question.published.iter().map(|(peer, multiple)| {
        println!(
            "{:<22} {ours:>8.1} x dd, {peer} {multiple} x dd: {:.1}",
            question.name,
            multiple / ours
        );
        Comparison {
            name: format!("scan {}, multiple of dd", question.name),
            ours,
            peer: *multiple,
            peer_name: format!("{peer}, published"),
            unit: "x dd".to_owned(),
        }
    });
    rows.collect()
}

/// The program under test: the one that `WEIR_PROGRAM` names, or a new build.
pub(crate) fn program() -> Result<String> {
    match std::env::var("WEIR_PROGRAM") {
        Ok(weir) => Ok(weir),
        Err(_) => Ok(build(&target_dir()?)?.0),
    }
}

/// Builds weir and the programs in C: the path of the one and the folder of the others.
pub(crate) fn build(target: &Path) -> Result<(String, PathBuf)> {
    run_command(&mut cargo(&[
        "build",
        "--release",
        "--package",
        "weir-cli",
        "--features",
        "full",
    ])?)?;
    let peers = target.join("peers");
    let mut make = Command::new("make");
    make.arg("-C").arg(root()?.join("benchmarks/c"));
    run_command(make.arg(format!("OUT={}", peers.display())))?;
    Ok((text(&target.join("release/weir"))?, peers))
}

/// tcpdump and tshark on the first question.
fn slow_peers(weir: &str, capture: &str) -> Result<Vec<Comparison>> {
    let sql = QUESTIONS[0].sql.replace("{}", capture);
    let ours = Subject::new(
        "weir",
        weir,
        &["query", "--threads", "1", "--format", "csv", &sql],
    );
    let mut rows = Vec::new();
    let peers: [(&str, &str, &[&str]); 4] = [
        ("tcpdump --count", "tcpdump", &["-r", capture, "--count"]),
        ("capinfos -c -d", "capinfos", &["-c", "-d", capture]),
        (
            "tshark -z io,stat",
            "tshark",
            &["-n", "-q", "-r", capture, "-z", "io,stat,0"],
        ),
        (
            "tshark -T fields",
            "tshark",
            &["-n", "-r", capture, "-T", "fields", "-e", "frame.len"],
        ),
    ];
    for (name, program, arguments) in peers {
        if !installed(program) {
            println!("SKIPPED: {program} is not installed");
            continue;
        }
        let subjects = [ours.clone(), Subject::new(name, program, arguments)];
        let results = alternate(&subjects, ROUNDS_SLOW)?;
        print(&subjects, &results);
        rows.push(compare(
            "count",
            "wall",
            &results[0].0,
            &subjects[1],
            &results[1].0,
            |cost| cost.wall,
        ));
    }
    Ok(rows)
}

/// A stream of 2 GB through standard input must not need more memory than the small capture.
fn pipe(weir: &str, capture: &str) -> Result<Vec<Comparison>> {
    let sql = QUESTIONS[1].sql.replace("{}", "-");
    let subject = Subject::new("weir, pipe", weir, &["query", "--format", "csv", &sql]);
    let small = fs::metadata(capture)?.len();
    let resident = |bytes: u64| -> Result<Cost> {
        let feed =
            move |out: &mut dyn std::io::Write| trace::make("ethernet", bytes, out).map(|_| ());
        let (cost, _) = subject.run_with_input(Some(feed))?;
        println!(
            "{:<22} {:>6} MB in {:.2} s, resident {:.1} MB",
            subject.name,
            bytes / 1_000_000,
            cost.wall,
            megabytes(cost.resident),
        );
        Ok(cost)
    };
    println!();
    let few = resident(small)?;
    let many = resident(PIPE_BYTES)?;
    check_resident("pipe", &[many])?;
    Ok(vec![Comparison {
        name: "pipe, 2 GB, resident".to_owned(),
        ours: megabytes(many.resident),
        peer: megabytes(few.resident),
        peer_name: "weir, 272 MB through the pipe".to_owned(),
        unit: "MB".to_owned(),
    }])
}

fn check_resident(name: &str, costs: &[Cost]) -> Result<()> {
    let most = costs
        .iter()
        .map(|cost| cost.resident)
        .max()
        .unwrap_or_default();
    if most > RESIDENT_MAX {
        bail!(
            "{name}: {:.1} MB resident, {:.1} are allowed",
            megabytes(most),
            megabytes(RESIDENT_MAX)
        );
    }
    Ok(())
}

pub(crate) fn compare(
    question: &str,
    figure: &str,
    ours: &[Cost],
    peer: &Subject,
    costs: &[Cost],
    of: impl Fn(&Cost) -> f64 + Copy,
) -> Comparison {
    Comparison {
        name: format!("{question}, {figure}"),
        ours: median(ours, of),
        peer: median(costs, of),
        peer_name: peer.name.clone(),
        unit: "s".to_owned(),
    }
}

pub(crate) fn print(subjects: &[Subject], results: &[(Vec<Cost>, String)]) {
    for (subject, (costs, _)) in subjects.iter().zip(results) {
        println!(
            "{:<22} wall {:.4} s, cpu {:.4} s, resident {:.1} MB (medians of {})",
            subject.name,
            median(costs, |cost| cost.wall),
            median(costs, |cost| cost.cpu),
            // A resident set is far below 2^53 bytes.
            median(costs, |cost| megabytes(cost.resident)),
            costs.len(),
        );
    }
}

/// The rows of CSV without the header, in an order that does not depend on who wrote them.
pub(crate) fn sorted_rows(csv: &str) -> Vec<&str> {
    let mut rows: Vec<&str> = csv.lines().skip(1).collect();
    rows.sort_unstable();
    rows
}

/// The cost without the start of the program: the difference to a trace ten times as large.
pub(crate) struct Marginal {
    rows: Vec<(String, f64, f64)>,
}

/// Rounds over the large traces: each takes seconds.
const ROUNDS_LARGE: usize = 3;
/// The size of the large traces as a multiple of that of the small ones.
pub(crate) const LARGER: u64 = 10;

impl Marginal {
    pub(crate) const fn new() -> Self {
        Self { rows: Vec::new() }
    }

    /// Puts a question to the large trace. `small` are the subjects over the small one (weir on one thread, weir on
    /// all, C by read, C by mmap) with their costs, and `large` the same over the large one, which has `records`
    /// more.
    pub(crate) fn add(
        &mut self,
        name: &str,
        small: &[(Vec<Cost>, String)],
        large: &[Subject],
        records: f64,
    ) -> Result<Vec<Comparison>> {
        let results = alternate(large, ROUNDS_LARGE)?;
        let expected = sorted_rows(&results[2].1);
        for (subject, (_, output)) in large.iter().zip(&results) {
            if sorted_rows(output) != expected {
                bail!("{} and the program in C disagree on {name}", subject.name);
            }
        }
        print(large, &results);
        let cpu = |of: &[(Vec<Cost>, String)], index: usize| median(&of[index].0, |cost| cost.cpu);
        let nanoseconds = |index| (cpu(&results, index) - cpu(small, index)) / records * 1e9;
        let (ours, read, mapped) = (nanoseconds(0), nanoseconds(2), nanoseconds(3));
        let peer = read.min(mapped);
        println!(
            "{name:<22} {ours:.2} ns a record, C {peer:.2}: {:.2}",
            peer / ours
        );
        self.rows.push((name.to_owned(), ours, peer));
        let wall = |index: usize| median(&results[index].0, |cost| cost.wall);
        Ok(vec![
            Comparison {
                name: format!("{name}, cpu a record"),
                ours,
                peer,
                peer_name: if read <= mapped { "C, read" } else { "C, mmap" }.to_owned(),
                unit: "ns".to_owned(),
            },
            Comparison {
                name: format!("{name}, wall, all threads, large trace"),
                ours: wall(1),
                peer: wall(0),
                peer_name: "weir, one thread".to_owned(),
                unit: "s".to_owned(),
            },
        ])
    }

    /// All of them, and their mean.
    pub(crate) fn print(&self) {
        println!(
            "\nCPU a record in ns, one thread: the difference of two sizes; and the ratio of C to weir"
        );
        for (name, ours, peer) in &self.rows {
            println!("{name:<8} {ours:>7.2} {peer:>7.2} {:>7.2}", peer / ours);
        }
        let logs = self.rows.iter().map(|(_, ours, peer)| (peer / ours).ln());
        let mean = logs.sum::<f64>() / self.rows.len() as f64;
        println!("geometric mean of the ratios: {:.2}", mean.exp());
    }
}

/// The records of a trace, by the program in C that counts them.
pub(crate) fn records(program: &Path, trace: &str) -> Result<f64> {
    let (_, output) = Subject::new("count", &text(program)?, &["read", trace]).run()?;
    let line = output.lines().nth(1).unwrap_or_default();
    let count = line.split(',').next().unwrap_or_default();
    count
        .parse()
        .with_context(|| format!("{line:?} is no count"))
}

/// A trace, made unless it is there; one of another size than the usual has that in its name.
pub(crate) fn trace_file(
    target: &Path,
    kind: &str,
    extension: &str,
    bytes: u64,
) -> Result<PathBuf> {
    let folder = target.join("bench");
    fs::create_dir_all(&folder)?;
    let size = if bytes >= 1_000_000_000 { "-large" } else { "" };
    let path = folder.join(format!("{kind}{size}.{extension}"));
    if !path.is_file() {
        let part = folder.join(format!("{kind}{size}.part"));
        trace::make(kind, bytes, fs::File::create(&part)?)?;
        fs::rename(&part, &path)?;
    }
    Ok(path)
}

pub(crate) fn text(path: &Path) -> Result<String> {
    let text = path.to_str();
    text.map(ToOwned::to_owned)
        .with_context(|| format!("{} is not UTF-8", path.display()))
}

pub(crate) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
