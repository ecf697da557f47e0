//! Benchmarks: each runs weir and its peers in turn, prints medians and ratios, and writes
//! `benchmarks/latest/NAME.json`.

use anyhow::{Result, bail};
use serde_json::json;

use crate::comparison::{Comparison, save};
use crate::workspace::cargo;
use crate::{
    build_bench, cluster, crate_bench, hostile, live, memory, payload, python_bench, robustness,
    scan, serve, start, tables, tribeca, ws,
};

/// A benchmark by name.
struct Bench {
    name: &'static str,
    what: &'static str,
    run: fn() -> Result<Vec<Comparison>>,
}

const BENCHES: &[Bench] = &[
    Bench {
        name: "scan",
        what: "count, filter and group over 272 MB and 2.7 GB of Ethernet, beside C, tcpdump and tshark; 2 GB through a pipe",
        run: scan::run,
    },
    Bench {
        name: "tribeca",
        what: "the twelve queries of Tribeca over 260 MB and 2.6 GB of frame relay and of ATM, beside C (5.8 GB of disk)",
        run: tribeca::run,
    },
    Bench {
        name: "tables",
        what: "rows a second of dns, tls, http and rtp over seeded traces, beside tshark with the same fields",
        run: tables::run,
    },
    Bench {
        name: "payload",
        what: "a text looked for in the bytes of 300,000 packets, beside grep over the same file and tshark",
        run: payload::run,
    },
    Bench {
        name: "memory",
        what: "10 GB through a pipe, and 50 million groups in 512 MB: some ten minutes",
        run: memory::run,
    },
    Bench {
        name: "dict",
        what: "the dictionary at every size to ten million, beside hashbrown, indexmap, griddle, std, the seed's two, absl and boost",
        run: || crate_bench::run("weir-dict", "dict"),
    },
    Bench {
        name: "clf",
        what: "a million SIP log records written, searched, indexed and converted, beside a text writer, the drafts, dd, cat, grep, perl and sqlite",
        run: || {
            // The lookup as a command runs the program that lies beside the benchmark.
            crate::process::run(&mut cargo(&[
                "build",
                "--release",
                "-p",
                "weir-cli",
                "--features",
                "full",
            ])?)?;
            crate_bench::run("weir-clf", "clf")
        },
    },
    Bench {
        name: "ws",
        what: "permessage-deflate: 1,296 exact settings over 10 MB beside zlib run for each; reading transcripts",
        run: ws::run,
    },
    Bench {
        name: "flows",
        what: "a packet in the flow table at 150,000 connections, memory and pauses at ten million, beside hashbrown, tshark and nfpcapd",
        run: || crate_bench::run("weir-flow", "flows"),
    },
    Bench {
        name: "h248",
        what: "Megaco messages of Erlang's own study in every encoding, beside Erlang here and the seed",
        run: || crate_bench::run("weir-h248", "codec"),
    },
    Bench {
        name: "live",
        what: "packets over loopback as fast as they can be sent, beside tcpdump; WEIR_LIVE_SECONDS=300 for five minutes",
        run: live::run_bench,
    },
    Bench {
        name: "python",
        what: "packets into a frame of Polars beside scapy, pyshark, dpkt and nfstream; 1 GB in batches; Python's share of a query (1.3 GB of disk)",
        run: python_bench::run,
    },
    Bench {
        name: "serve",
        what: "ten million rows over each protocol of weir serve: rows a second and resident memory, beside PostgreSQL with the same table",
        run: serve::run,
    },
    Bench {
        name: "start",
        what: "processor time and page faults of commands that read next to nothing, beside true, sqlite3, duckdb, tshark -v and python3; sizes",
        run: start::run,
    },
    Bench {
        name: "cluster",
        what: "a scheduler and two executors of a core each over 2 GB, beside one process with two threads (2 GB of disk)",
        run: cluster::run,
    },
];

/// The one whose peers are goals.
const BUILD: &str = "the program built from nothing, core and full: time, processor time, crates, sizes; [--release]";

/// The description of a benchmark without a peer.
const ROBUSTNESS: &str = "mutated captures through every table: panics, runs that take too long or too much memory; [--captures N] [--minutes M] [--seed S] [--only NUMBER] [FOLDER…]";

/// The description of another benchmark without a peer.
const HOSTILE: &str = "changed messages and statements at every door of weir serve: whether it ends, how long others wait, memory; [--cluster] (of weir cluster) [--messages N] [--minutes M] [--seed S] [--program FILE]";

/// Returns true when a benchmark has this name.
pub(crate) fn is_known(name: &str) -> bool {
    ["build", "hostile", "robustness"].contains(&name)
        || BENCHES.iter().any(|bench| bench.name == name)
}

/// `cargo xtask bench [NAME]`.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    if let ["robustness", rest @ ..] = words {
        return robustness::run(rest);
    }
    if let ["hostile", rest @ ..] = words {
        return hostile::run(rest);
    }
    if let ["build", rest @ ..] = words {
        return build_bench::command(rest);
    }
    let [name] = words else {
        for bench in BENCHES {
            println!("cargo xtask bench {:<10} {}", bench.name, bench.what);
        }
        println!("cargo xtask bench {:<10} {BUILD}", "build");
        println!("cargo xtask bench robustness {ROBUSTNESS}");
        println!("cargo xtask bench {:<10} {HOSTILE}", "hostile");
        return Ok(());
    };
    let Some(bench) = BENCHES.iter().find(|bench| bench.name == *name) else {
        bail!("no benchmark is called {name}: cargo xtask bench lists them");
    };
    let comparisons = (bench.run)()?;
    println!(
        "\n{:<34} {:>10} {:>10} {:>8}  peer",
        "", "weir", "peer", "ratio"
    );
    for row in &comparisons {
        println!(
            "{:<34} {:>10.4} {:>10.4} {:>8.2}  {} ({})",
            row.name,
            row.ours,
            row.peer,
            row.ratio(),
            row.peer_name,
            row.unit
        );
    }
    let records: Vec<_> = comparisons
        .iter()
        .map(|row| {
            json!({
                "name": row.name,
                "ours": row.ours,
                "peer": row.peer,
                "peer_name": row.peer_name,
                "unit": row.unit,
                "ratio": row.ratio(),
            })
        })
        .collect();
    save(name, &records)
}
