//! `cargo xtask bench dict`, `flows` and `h248`: run the crates' own benchmarks and take their figures.

use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::bench::Comparison;
use crate::cargo;

/// Runs the dictionary's benchmark.
pub(crate) fn run() -> Result<Vec<Comparison>> {
    of_crate("weir-dict", "dict")
}

/// Runs the flow table's benchmark.
pub(crate) fn flows() -> Result<Vec<Comparison>> {
    of_crate("weir-flow", "flows")
}

/// Runs the Megaco codecs' benchmark.
pub(crate) fn h248() -> Result<Vec<Comparison>> {
    of_crate("weir-h248", "codec")
}

/// Runs `cargo bench` of a crate, whose lines that begin with `@` are comparisons: name, our figure,
/// the peer's, the peer's name and the unit, with tabs between.
fn of_crate(package: &str, bench: &str) -> Result<Vec<Comparison>> {
    let words = ["bench", "--package", package, "--bench", bench];
    eprintln!("$ cargo {}", words.join(" "));
    let output = cargo(&words)?
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("the benchmark ended with {}", output.status);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut comparisons = Vec::new();
    for line in text.lines() {
        match line.strip_prefix('@') {
            Some(fields) => comparisons.push(comparison(fields)?),
            None => println!("{line}"),
        }
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
