//! Benchmarks that a crate brings itself: runs one and takes its figures.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::comparison::Comparison;
use crate::workspace::cargo;

/// Runs `cargo bench -p PACKAGE --bench BENCH`, whose lines that begin with `@` are comparisons: name,
/// our figure, the peer's, the peer's name and the unit, with tabs between.
pub(crate) fn run(package: &str, bench: &str) -> Result<Vec<Comparison>> {
    let words = ["bench", "--package", package, "--bench", bench];
    eprintln!("$ cargo {}", words.join(" "));
    let mut child = cargo(&words)?
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let mut comparisons = Vec::new();
    let text = child.stdout.take().context("the benchmark's output")?;
    // Tables are shown as they come: the longest of these runs for half an hour.
    for line in BufReader::new(text).lines() {
        let line = line.context("the benchmark's output")?;
        match line.strip_prefix('@') {
            Some(fields) => comparisons.push(comparison(fields)?),
            None => println!("{line}"),
        }
    }
    let status = child.wait().context("the benchmark's end")?;
    if !status.success() {
        bail!("the benchmark ended with {status}");
    }
    Ok(comparisons)
}

fn comparison(fields: &str) -> Result<Comparison> {
    let fields: Vec<&str> = fields.split('\t').collect();
    let [name, ours, peer, peer_name, unit] = fields[..] else {
        bail!("not a comparison: {fields:?}");
    };
    Ok(Comparison {
        name: name.to_owned(),
        ours: ours.parse().context("our figure is a number")?,
        peer: peer.parse().context("the peer's figure is a number")?,
        peer_name: peer_name.to_owned(),
        unit: unit.to_owned(),
    })
}
