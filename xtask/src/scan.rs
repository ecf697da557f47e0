//! `cargo xtask bench scan`: one pass over a capture of 272 MB, and 2 GB through a pipe.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::comparison::Comparison;
use crate::measure::{Cost, Subject, alternate, median};
use crate::process::{installed, run as run_command};
use crate::trace;
use crate::workspace::{cargo, root, target_dir};

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
        let [one, all, read, mapped, at_once] = self.subjects(question, capture)?;
        let subjects = [
            one,
            all,
            read,
            mapped,
            at_once,
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
        let (weir_costs, _) = &results[WEIR];
        let mut rows = Vec::new();
        for (index, (subject, (costs, _))) in subjects.iter().zip(&results).enumerate() {
            if index == WEIR || index == C_AT_ONCE {
                continue;
            }
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
        rows.extend(published(question, weir_costs, &results[DD].0));
        let over_large = self.subjects(question, &self.large)?;
        rows.extend(marginal.add(question.name, &results, &over_large, self.more)?);
        Ok(rows)
    }

    fn subjects(&self, question: &ScanQuery, trace: &str) -> Result<[Subject; 5]> {
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
            at_once(&program, trace),
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

/// The places of the subjects of a race: weir on one thread and on all, the program in C that reads and the one that maps, as
/// many of the first at once as there are processors, and `dd`.
pub(crate) const WEIR: usize = 0;
pub(crate) const WEIR_ALL: usize = 1;
pub(crate) const C_READ: usize = 2;
pub(crate) const C_MMAP: usize = 3;
const C_AT_ONCE: usize = 4;
pub(crate) const DD: usize = 5;

/// As many programs in C at once as there are processors, each over the whole trace: what the machine's processors give together,
/// which share its memory and its caches. One of them prints.
pub(crate) fn at_once(program: &str, trace: &str) -> Subject {
    let script = r#"for other in $(seq 2 "$2"); do "$0" read "$1" >/dev/null & done; "$0" read "$1" && wait"#;
    let processors = processors().to_string();
    let name = format!("C, read, {processors} at once");
    Subject::new(&name, "sh", &["-c", script, program, trace, &processors])
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
}

/// The program under test: the one that `WEIR_PROGRAM` names, or a new build.
pub(crate) fn program() -> Result<String> {
    if let Ok(weir) = std::env::var("WEIR_PROGRAM") {
        return Ok(weir);
    }
    run_command(&mut cargo(&[
        "build",
        "--release",
        "--package",
        "weir-cli",
        "--features",
        "full",
    ])?)?;
    text(&target_dir()?.join("release/weir"))
}

/// The program under test, and the folder of the programs in C, which are built.
pub(crate) fn build(target: &Path) -> Result<(String, PathBuf)> {
    let weir = program()?;
    let peers = target.join("peers");
    let mut make = Command::new("make");
    make.arg("-C").arg(root()?.join("benchmarks/c"));
    run_command(make.arg(format!("OUT={}", peers.display())))?;
    Ok((weir, peers))
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
            "{:<22} wall {:.4} s, cpu {:.4} s ({:.4} of the system), resident {:.1} MB (medians of {})",
            subject.name,
            median(costs, |cost| cost.wall),
            median(costs, |cost| cost.cpu),
            median(costs, |cost| cost.system),
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

    /// Puts a question to the large trace. `small` are the subjects over the small one at their places with their costs, and
    /// `large` the same over the large one, which has `records` more.
    pub(crate) fn add(
        &mut self,
        name: &str,
        small: &[(Vec<Cost>, String)],
        large: &[Subject],
        records: f64,
    ) -> Result<Vec<Comparison>> {
        let results = alternate(large, ROUNDS_LARGE)?;
        let expected = sorted_rows(&results[C_READ].1);
        for (subject, (_, output)) in large.iter().zip(&results) {
            if sorted_rows(output) != expected {
                bail!("{} and the program in C disagree on {name}", subject.name);
            }
        }
        print(large, &results);
        let more = |index: usize, of: fn(&Cost) -> f64| {
            (median(&results[index].0, of) - median(&small[index].0, of)) / records * 1e9
        };
        let cpu = |index| more(index, |cost| cost.cpu);
        let wall = |index| more(index, |cost| cost.wall);
        let (ours, read, mapped) = (cpu(WEIR), cpu(C_READ), cpu(C_MMAP));
        let (peer, peer_name) = match read <= mapped {
            true => (read, &large[C_READ].name),
            false => (mapped, &large[C_MMAP].name),
        };
        println!(
            "{name:<22} {ours:.2} ns a record, C {peer:.2}: {:.2}; all threads {:.2} times one, C's programs at once {:.2} times",
            peer / ours,
            wall(WEIR) / wall(WEIR_ALL),
            wall(C_READ) / wall(C_AT_ONCE) * processors() as f64,
        );
        self.rows.push((name.to_owned(), ours, peer));
        let row = |figure: &str, ours: f64, peer: f64, peer_name: &str| Comparison {
            name: format!("{name}, {figure}"),
            ours,
            peer,
            peer_name: peer_name.to_owned(),
            unit: "ns".to_owned(),
        };
        let figure = "wall a record, all threads";
        Ok(vec![
            row("cpu a record", ours, peer, peer_name),
            row(figure, wall(WEIR_ALL), wall(WEIR), "weir, one thread"),
            row(
                figure,
                wall(WEIR_ALL),
                // Each of them has read every record.
                wall(C_AT_ONCE) / processors() as f64,
                &large[C_AT_ONCE].name,
            ),
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
