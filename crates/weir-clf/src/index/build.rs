//! Builds the sidecar of a log that has none, or one that ends before the log does.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::index::block::{Builder, EDGE_BYTES, edge_sum};
use crate::index::sidecar::{Sidecar, seal, sidecar_path};
use crate::index::stretch;
use crate::passed::Passed;
use crate::segment::Segment;

/// The outcome of [`index`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Indexed {
    /// The number of records in the log.
    pub records: u64,
    /// The number of bytes of the log.
    pub log_bytes: u64,
    /// The number of bytes of the sidecar.
    pub sidecar_bytes: u64,
    /// The number of places in the log that are no record.
    pub damaged: u64,
    /// The number of bytes of the log that a sidecar covered already.
    pub kept_bytes: u64,
}

/// Makes the sidecar of a segment anew, and replaces the old one when it is complete. The log is not changed. A log
/// that no writer has open is sealed: its sidecar is valid as long as the log does not change. Several threads read a
/// large log.
///
/// # Errors
/// When the log cannot be read or the sidecar not written; [`io::ErrorKind::Unsupported`] for a log of the
/// text draft with lines that refer to earlier ones.
pub fn index(segment: &Segment) -> io::Result<Indexed> {
    index_passing(segment, &Passed::default())
}

/// Builds as [`index`], and reports its progress.
///
/// # Errors
/// As [`index`].
pub fn index_passing(segment: &Segment, passed: &Passed) -> io::Result<Indexed> {
    let path = sidecar_path(segment.path());
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let made = make(segment, Path::new(&temporary), passed);
    match &made {
        Ok(_) => std::fs::rename(&temporary, &path)?,
        Err(_) => drop(std::fs::remove_file(&temporary)),
    }
    made
}

/// Makes the sidecar at `path`.
fn make(segment: &Segment, path: &Path, passed: &Passed) -> io::Result<Indexed> {
    let form = segment.form()?.unwrap_or_default();
    let mut out = io::BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut indexed = Indexed {
        log_bytes: segment.len(),
        ..Indexed::default()
    };
    let mut builder = Builder::new(form);
    let mut reported = 0;
    indexed.damaged = stretch::each_mark(segment, form, &mut |mark, offset| {
        indexed.records = indexed.records.saturating_add(1);
        passed.add(offset.saturating_sub(reported), 1);
        reported = offset;
        if !builder.push(mark, offset) {
            indexed.sidecar_bytes += write_block(&mut builder, segment, &mut out)?;
            builder.push(mark, offset);
        }
        Ok(())
    })?;
    passed.add(segment.len().saturating_sub(reported), 0);
    indexed.sidecar_bytes += write_block(&mut builder, segment, &mut out)?;
    out.write_all(&seal(segment.len(), segment.modified_ns()))?;
    // The file is not synchronised: the checksums find what a crash leaves of it.
    out.flush()?;
    Ok(indexed)
}

/// Finishes a block and writes it; the edges are read from the log.
fn write_block(builder: &mut Builder, segment: &Segment, out: &mut impl Write) -> io::Result<u64> {
    if builder.records() == 0 {
        return Ok(0);
    }
    let block = builder.finish();
    let edges = crate::index::sidecar::edges(segment, block.log_start, block.log_end)?;
    let bytes = block.seal(edges);
    out.write_all(&bytes)?;
    Ok(bytes.len() as u64)
}

/// The checksum of the edges of a part of the log in memory.
pub(crate) fn edges_of(first: &[u8], last: &[u8]) -> u64 {
    let head = first.get(..first.len().min(EDGE_BYTES)).unwrap_or_default();
    let tail = last
        .get(last.len().saturating_sub(EDGE_BYTES)..)
        .unwrap_or_default();
    edge_sum(head, tail)
}

/// The coverage of a log by its sidecar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coverage {
    /// The number of bytes of the log, from its beginning, that the sidecar covers.
    pub log_bytes: u64,
    /// The number of records in them.
    pub records: u64,
    /// The number of bytes of the sidecar.
    pub sidecar_bytes: u64,
}

/// The part of a segment that its sidecar covers; `None` when it has no valid sidecar.
///
/// # Errors
/// When log or sidecar cannot be read.
pub fn coverage(segment: &Segment) -> io::Result<Option<Coverage>> {
    let form = segment.form()?.unwrap_or_default();
    Ok(Sidecar::open(segment, form)?.map(|sidecar| Coverage {
        log_bytes: sidecar.covered(),
        records: sidecar.records(),
        sidecar_bytes: sidecar.bytes(),
    }))
}
