//! `cargo xtask bench ws`: the exact grid of permessage-deflate settings beside brute force with stock
//! zlib, one setting, ingest beside its peers, and the memory of `weir ws study`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::comparison::Comparison;
use crate::measure::Subject;
use crate::process::run as run_command;
use crate::workspace::{cargo, target_dir};

/// Megabytes of the transcript of the grid: brute force over it takes some minutes even though only 18
/// settings are run.
const GRID_MEGABYTES: &str = "100";
/// Bytes of the transcript whose study must not take more memory than a small one's.
const PIPE_BYTES: usize = 200 << 20;
/// The goal for it.
const RESIDENT_MAX_MB: f64 = 64.0;

/// Runs the bench of the library, then the command.
pub(crate) fn run() -> Result<Vec<Comparison>> {
    let mut rows = library()?;
    rows.push(resident()?);
    Ok(rows)
}

fn library() -> Result<Vec<Comparison>> {
    let mut bench = cargo(&["bench", "--package", "weir-ws", "--bench", "study", "--"])?;
    bench.arg(GRID_MEGABYTES).stdout(Stdio::piped());
    let output = bench.spawn()?.wait_with_output()?;
    if !output.status.success() {
        bail!("the benchmark of weir-ws failed");
    }
    let text = String::from_utf8(output.stdout)?;
    print!("{text}");
    text.lines()
        .filter_map(|line| line.strip_prefix("row\t"))
        .map(|line| {
            let words: Vec<&str> = line.split('\t').collect();
            let [name, ours, peer, peer_name, unit] = words.as_slice() else {
                bail!("not a row: {line}");
            };
            Ok(Comparison {
                name: (*name).to_owned(),
                ours: ours.parse()?,
                peer: peer.parse()?,
                peer_name: (*peer_name).to_owned(),
                unit: (*unit).to_owned(),
            })
        })
        .collect()
}

/// The peak of `weir ws study` over a long transcript, with one setting so that it does not take an hour.
fn resident() -> Result<Comparison> {
    run_command(&mut cargo(&[
        "build",
        "--release",
        "--package",
        "weir-cli",
        "--features",
        "full",
    ])?)?;
    let target = target_dir()?;
    let weir = target.join("release/weir");
    let path = target.join("bench/ws-long.ndjson");
    std::fs::create_dir_all(path.parent().context("it has a folder")?)?;
    let mut file = BufWriter::new(File::create(&path)?);
    let mut written = 0;
    let mut n = 0u64;
    while written < PIPE_BYTES {
        let word = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let line = format!(
            "{{\"type\":\"msg\",\"timestamp\":{n},\"sender\":\"user{}\",\"msg\":\"{word:x} and {n:x}\"}}\n",
            word % 97
        );
        file.write_all(line.as_bytes())?;
        written += line.len();
        n += 1;
    }
    file.flush()?;
    drop(file);
    let arguments = [
        "ws",
        "study",
        "--no-progress",
        "--takeover",
        "yes",
        "--window",
        "15",
        "--level",
        "1",
        "--mem-level",
        "8",
        "--cpu-times",
        "estimate",
        "--format",
        "csv",
    ];
    let mut arguments = arguments.to_vec();
    let path_text = path.to_str().context("the path is UTF-8")?;
    arguments.push(path_text);
    let (cost, _) =
        Subject::new("weir ws study", weir.to_str().context("UTF-8")?, &arguments).run()?;
    std::fs::remove_file(&path)?;
    let megabytes = cost.resident as f64 / 1e6;
    println!(
        "weir ws study of {} MB: resident {megabytes:.1} MB",
        PIPE_BYTES >> 20
    );
    Ok(Comparison {
        name: format!("memory of a study of {} MB", PIPE_BYTES >> 20),
        ours: megabytes,
        peer: RESIDENT_MAX_MB,
        peer_name: "the limit that was set".to_owned(),
        unit: "MB resident".to_owned(),
    })
}
