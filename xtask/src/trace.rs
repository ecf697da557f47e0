//! Seeded traces for benchmarks.

use std::fs::File;
use std::io::{self, Write};

use anyhow::{Context, Result, bail};
use weir_testkit::trace;

/// The seed of every trace, so that all measure the same bytes.
const SEED: u64 = 1;

/// `cargo xtask trace KIND BYTES PATH`.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let [kind, bytes, path] = words else {
        bail!("expected KIND BYTES PATH, as in: cargo xtask trace ethernet 272000000 x.pcap");
    };
    let bytes = bytes
        .replace('_', "")
        .parse()
        .with_context(|| format!("{bytes} is not a number of bytes"))?;
    let out: Box<dyn Write> = match *path {
        "-" => Box::new(io::stdout()),
        path => Box::new(File::create(path).with_context(|| path.to_owned())?),
    };
    let made = make(kind, bytes, out)?;
    eprintln!("{path}: {} records, {} bytes", made.records, made.bytes);
    Ok(())
}

/// Writes a trace of about `bytes` bytes.
pub(crate) fn make(kind: &str, bytes: u64, out: impl Write) -> Result<trace::Trace> {
    Ok(match kind {
        "ethernet" => trace::ethernet_pcap(out, SEED, bytes)?,
        "frame-relay" => trace::frame_relay_erf(out, SEED, bytes)?,
        "atm" => trace::atm_cells(out, SEED, bytes)?,
        "atm-erf" => trace::atm_erf(out, SEED, bytes)?,
        other => bail!("no trace is called {other}: ethernet, frame-relay, atm and atm-erf are"),
    })
}
