//! `cargo xtask bench tribeca`: the twelve queries of Tribeca (USENIX 1998) over traces of its sizes,
//! beside a program in C for each.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::comparison::Comparison;
use crate::measure::{Cost, Subject, alternate, median};
use crate::scan::{
    C_MMAP, C_READ, DD, LARGER, Marginal, WEIR, WEIR_ALL, at_once, build, compare, print, records,
    sorted_rows, text, trace_file,
};
use crate::workspace::{root, target_dir};

const QUERIES: [&str; 12] = [
    "frame1", "frame2", "frame3", "frame4", "frame5", "frame6", "frame7", "frame8", "atm1", "atm2",
    "atm5", "atm6",
];
const BYTES: u64 = 260_000_000;
const ROUNDS: usize = 7;
/// Bytes of a record of the trace of cells.
const CELL_BYTES: u64 = 64;

/// Runs the benchmark.
pub(crate) fn run() -> Result<Vec<Comparison>> {
    let target = target_dir()?;
    let (weir, peers) = build(&target)?;
    let folder = target.join("bench");
    let frames = text(&trace_file(&target, "frame-relay", "erf", BYTES)?)?;
    let cells = text(&trace_file(&target, "atm", "bin", BYTES)?)?;
    let frames_large = text(&trace_file(&target, "frame-relay", "erf", BYTES * LARGER)?)?;
    let cells_large = text(&trace_file(&target, "atm", "bin", BYTES * LARGER)?)?;
    let counter = peers.join("frame1");
    let frames = Trace {
        more: records(&counter, &frames_large)? - records(&counter, &frames)?,
        path: frames,
        large: frames_large,
    };
    let cells = Trace {
        more: (BYTES * (LARGER - 1) / CELL_BYTES) as f64,
        path: cells,
        large: cells_large,
    };
    let race = Race {
        weir,
        peers,
        queries: root()?.join("benchmarks/tribeca"),
        large_folder: folder.join("large"),
        folder,
    };
    race.lay_out(&frames, &cells)?;
    let mut marginal = Marginal::new();

    let mut rows = Vec::new();
    let mut table = Vec::new();
    for name in QUERIES {
        let trace = match name.starts_with("atm") {
            true => &cells,
            false => &frames,
        };
        let (compared, multiples) = race.ask(name, trace, &mut marginal)?;
        rows.extend(compared);
        table.push(multiples);
    }
    print_multiples(&table);
    marginal.print();
    rows.push(together(&race.weir, &race.folder, &race.queries)?);
    Ok(rows)
}

/// A trace and a larger one of its kind, which has so many records more.
struct Trace {
    path: String,
    large: String,
    more: f64,
}

/// CPU time of one query: weir's and the program's in C as multiples of dd's, and the ratio of C to weir.
struct Multiples {
    name: &'static str,
    ours: f64,
    peer: f64,
    ratio: f64,
}

/// weir, the programs in C, and where the queries and the traces are.
struct Race {
    weir: String,
    peers: PathBuf,
    queries: PathBuf,
    folder: PathBuf,
    large_folder: PathBuf,
}

impl Race {
    /// The queries name their traces; the large traces have the same names in another folder.
    fn lay_out(&self, frames: &Trace, cells: &Trace) -> Result<()> {
        fs::create_dir_all(&self.large_folder)?;
        for (trace, name) in [
            (&frames.large, "frame-relay.erf"),
            (&cells.large, "atm.bin"),
        ] {
            let link = self.large_folder.join(name);
            if !link.exists() {
                fs::hard_link(trace, link)?;
            }
        }
        for folder in [&self.folder, &self.large_folder] {
            fs::copy(self.queries.join("atm.toml"), folder.join("atm.toml"))?;
        }
        Ok(())
    }

    fn ask(
        &self,
        name: &'static str,
        trace: &Trace,
        marginal: &mut Marginal,
    ) -> Result<(Vec<Comparison>, Multiples)> {
        let query = text(&self.queries.join(format!("{name}.sql")))?;
        let program = text(&self.peers.join(name))?;
        let [one, all, read, mapped, at_once] =
            self.subjects(&query, &program, &self.folder, &trace.path);
        let path = &trace.path;
        let subjects = [
            one,
            all,
            read,
            mapped,
            at_once,
            Subject::new(
                "dd",
                "dd",
                &["bs=1M", "of=/dev/null", &format!("if={path}")],
            ),
        ];
        println!("\n{name}: {}", fs::read_to_string(&query)?.trim());
        let results = alternate(&subjects, ROUNDS)?;
        let expected = sorted_rows(&results[C_READ].1);
        for (subject, (_, output)) in subjects.iter().zip(&results).take(2) {
            if sorted_rows(output) != expected {
                bail!("{} and the program in C disagree on {name}", subject.name);
            }
        }
        print(&subjects, &results);
        let cpu = |index: usize| median(&results[index].0, |cost| cost.cpu);
        let wall = |index: usize| median(&results[index].0, |cost| cost.wall);
        let best = if cpu(C_READ) <= cpu(C_MMAP) {
            C_READ
        } else {
            C_MMAP
        };
        let mut rows = Vec::new();
        for index in [best, DD] {
            let costs = &results[index].0;
            let peer = &subjects[index];
            rows.push(compare(
                name,
                "cpu",
                &results[WEIR].0,
                peer,
                costs,
                |cost| cost.cpu,
            ));
        }
        rows.push(Comparison {
            name: format!("{name}, wall, all threads"),
            ours: wall(WEIR_ALL),
            peer: wall(WEIR),
            peer_name: "weir, one thread".to_owned(),
            unit: "s".to_owned(),
        });
        let over_large = self.subjects(&query, &program, &self.large_folder, &trace.large);
        rows.extend(marginal.add(name, &results, &over_large, trace.more)?);
        let multiples = Multiples {
            name,
            ours: cpu(WEIR) / cpu(DD),
            peer: cpu(best) / cpu(DD),
            ratio: cpu(best) / cpu(WEIR),
        };
        Ok((rows, multiples))
    }

    fn subjects(&self, query: &str, program: &str, folder: &Path, trace: &str) -> [Subject; 5] {
        let ours = |label: &str, threads: Option<&str>| {
            let mut arguments = vec!["query", "--format", "csv", "--file", query];
            if let Some(threads) = threads {
                arguments.extend(["--threads", threads]);
            }
            Subject::new(label, &self.weir, &arguments).within(folder)
        };
        [
            ours("weir, one thread", Some("1")),
            ours("weir, all threads", None),
            Subject::new("C, read", program, &["read", trace]),
            Subject::new("C, mmap", program, &["mmap", trace]),
            at_once(program, trace),
        ]
    }
}

/// Prints the table as in the paper: the time of reading alone is 1.
fn print_multiples(table: &[Multiples]) {
    println!("\nCPU time as a multiple of dd's, one thread, and the ratio of C to weir");
    println!("{:<8} {:>7} {:>7} {:>7}", "", "weir", "C", "ratio");
    for Multiples {
        name,
        ours,
        peer,
        ratio,
    } in table
    {
        println!("{name:<8} {ours:>7.2} {peer:>7.2} {ratio:>7.2}");
    }
    let logarithms = table.iter().map(|multiples| multiples.ratio.ln());
    let mean = logarithms.sum::<f64>() / table.len() as f64;
    println!("geometric mean of the ratios: {:.2}", mean.exp());
}

/// Six queries over the same trace, in one reading, beside the dearest of them.
fn together(weir: &str, folder: &Path, queries: &Path) -> Result<Comparison> {
    let six = &QUERIES[..6];
    let mut paths = Vec::new();
    let mut all = String::new();
    for name in six {
        let path = queries.join(format!("{name}.sql"));
        all.push_str(&fs::read_to_string(&path)?);
        all.push_str(";\n");
        paths.push((*name, text(&path)?));
    }
    let together = folder.join("six.sql");
    fs::write(&together, all)?;
    paths.insert(0, ("six in one pass", text(&together)?));
    let subjects: Vec<_> = paths
        .iter()
        .map(|(name, path)| {
            let arguments = ["query", "--format", "csv", "--threads", "1", "--file", path];
            Subject::new(name, weir, &arguments).within(folder)
        })
        .collect();
    println!();
    let results = alternate(&subjects, ROUNDS)?;
    // Empty lines set the answers apart.
    let sorted = |outputs: &[(Vec<Cost>, String)]| {
        let lines = outputs.iter().flat_map(|(_, output)| output.lines());
        let mut lines: Vec<_> = lines
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect();
        lines.sort_unstable();
        lines
    };
    if sorted(&results[..1]) != sorted(&results[1..]) {
        bail!("six queries in one pass give something else than one by one");
    }
    print(&subjects, &results);
    let cpu = |index: usize| median(&results[index].0, |cost| cost.cpu);
    let dearest = (1..subjects.len()).map(cpu).fold(0.0, f64::max);
    Ok(Comparison {
        name: "frame1 to frame6 in one pass, cpu, at most 1.5 times".to_owned(),
        ours: cpu(0),
        peer: dearest,
        peer_name: "the dearest of them alone".to_owned(),
        unit: "s".to_owned(),
    })
}
