//! The figures of a benchmark beside those of its peers, and the file that has them.

use std::fs;

use anyhow::Result;
use serde_json::Value;

use crate::workspace::root;

/// One figure of weir's beside a peer's.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    /// The measured work.
    pub(crate) name: String,
    /// weir's figure.
    pub(crate) ours: f64,
    /// The peer's figure.
    pub(crate) peer: f64,
    /// The peer's name.
    pub(crate) peer_name: String,
    /// The unit of both; smaller is better.
    pub(crate) unit: String,
}

impl Comparison {
    /// Above 1, weir is better.
    pub(crate) fn ratio(&self) -> f64 {
        self.peer / self.ours
    }
}

/// Writes the figures of a benchmark to `benchmarks/latest/NAME.json`.
pub(crate) fn save(name: &str, records: &[Value]) -> Result<()> {
    let folder = root()?.join("benchmarks/latest");
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{name}.json"));
    fs::write(&path, serde_json::to_string_pretty(records)? + "\n")?;
    println!("\nwritten to benchmarks/latest/{name}.json");
    Ok(())
}
