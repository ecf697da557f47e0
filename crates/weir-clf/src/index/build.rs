//! Makes the sidecar of a log that has none, or one that ends before the log does.

use std::fs::File;
use std::io::{self, Write};

use crate::fault::FaultKind;
use crate::forms::rfc6873;
use crate::index::block::{Builder, EDGE_BYTES, edge_sum};
use crate::index::mark::Mark;
use crate::index::sidecar::{Sidecar, seal, sidecar_path};
use crate::segment::Segment;

/// What [`index`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Indexed {
    /// Records in the log.
    pub records: u64,
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Bytes of the sidecar.
    pub sidecar_bytes: u64,
    /// Places in the log that are no record.
    pub damaged: u64,
    /// Bytes of the log that a sidecar covered already.
    pub kept_bytes: u64,
}

/// Makes the sidecar of a segment anew, and puts it in place of the old one when it is whole. The log
/// is not touched. A log that nobody writes is sealed: its sidecar counts as long as it is not changed.
///
/// # Errors
/// When the log cannot be read or the sidecar not written.
pub fn index(segment: &Segment) -> io::Result<Indexed> {
    let path = sidecar_path(segment.path());
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let mut out = io::BufWriter::with_capacity(1 << 20, File::create(&temporary)?);
    let mut indexed = Indexed {
        log_bytes: segment.len(),
        ..Indexed::default()
    };
    let mut builder = Builder::default();
    let mut walked = Walk::default();
    walked.run(segment, 0, &mut |mark, offset| {
        indexed.records = indexed.records.saturating_add(1);
        if !builder.push(mark, offset) {
            indexed.sidecar_bytes += write_block(&mut builder, segment, &mut out)?;
            builder.push(mark, offset);
        }
        Ok(())
    })?;
    indexed.sidecar_bytes += write_block(&mut builder, segment, &mut out)?;
    indexed.damaged = walked.damaged;
    out.write_all(&seal(segment.len(), segment.modified_ns()))?;
    out.into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .sync_data()?;
    std::fs::rename(&temporary, &path)?;
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

/// The checksum of the edges when the part of the log is at hand.
pub(crate) fn edges_of(first: &[u8], last: &[u8]) -> u64 {
    let head = first.get(..first.len().min(EDGE_BYTES)).unwrap_or_default();
    let tail = last
        .get(last.len().saturating_sub(EDGE_BYTES)..)
        .unwrap_or_default();
    edge_sum(head, tail)
}

/// Walks over a log from a record's beginning.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// Places that are no record, line feeds apart.
    pub(crate) damaged: u64,
    /// Where the last record ends.
    pub(crate) end: u64,
}

/// What is called with each record's mark and offset.
type Each<'a> = dyn FnMut(&Mark, u64) -> io::Result<()> + 'a;

impl Walk {
    /// Calls `each` with every record from `from` on.
    pub(crate) fn run(
        &mut self,
        segment: &Segment,
        from: u64,
        each: &mut Each<'_>,
    ) -> io::Result<()> {
        let mut buffer = Vec::new();
        let mut at = from;
        let mut piece = PIECE_BYTES;
        self.end = from;
        while at < segment.len() {
            segment.read(at, at.saturating_add(piece), &mut buffer)?;
            let last = at.saturating_add(buffer.len() as u64) >= segment.len();
            let used = self.piece(&buffer, at, last, each)?;
            if last {
                break;
            }
            // A record that is longer than the piece, or says so.
            piece = if used == 0 {
                piece.saturating_mul(2)
            } else {
                PIECE_BYTES
            };
            at = at.saturating_add(used as u64);
        }
        Ok(())
    }

    /// The records of a piece; gives how many bytes are done with.
    fn piece(
        &mut self,
        bytes: &[u8],
        offset: u64,
        last: bool,
        each: &mut Each<'_>,
    ) -> io::Result<usize> {
        let mut at = 0_usize;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            match rfc6873::decode(rest) {
                Ok((record, len)) => {
                    each(&Mark::of(&record, len), offset.saturating_add(at as u64))?;
                    at = at.saturating_add(len);
                    self.end = offset.saturating_add(at as u64);
                }
                Err(fault)
                    if fault.kind == FaultKind::Cut
                        && !last
                        && rest.len() <= rfc6873::RECORD_BYTES_MAX =>
                {
                    return Ok(at);
                }
                Err(_) => {
                    let ends = rest
                        .iter()
                        .take_while(|byte| matches!(byte, b'\n' | b'\r'))
                        .count();
                    if ends > 0 && rest.get(ends).is_none_or(|&byte| byte == b'A') {
                        at = at.saturating_add(ends);
                        continue;
                    }
                    self.damaged = self.damaged.saturating_add(1);
                    match rfc6873::resynchronise(bytes, at) {
                        Some(next) => at = next,
                        // The last byte may be the line feed before a record.
                        None => return Ok(bytes.len().saturating_sub(usize::from(!last)).max(1)),
                    }
                }
            }
        }
        Ok(at)
    }
}

const PIECE_BYTES: u64 = 1 << 20;

/// What is known of a log's sidecar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coverage {
    /// Bytes of the log, from its beginning, that the sidecar covers.
    pub log_bytes: u64,
    /// Records in them.
    pub records: u64,
    /// Bytes of the sidecar.
    pub sidecar_bytes: u64,
}

/// How much of a segment its sidecar covers; `None` when it has none that fits.
///
/// # Errors
/// When log or sidecar cannot be read.
pub fn coverage(segment: &Segment) -> io::Result<Option<Coverage>> {
    Ok(Sidecar::open(segment)?.map(|sidecar| Coverage {
        log_bytes: sidecar.covered(),
        records: sidecar.records(),
        sidecar_bytes: sidecar.bytes(),
    }))
}
