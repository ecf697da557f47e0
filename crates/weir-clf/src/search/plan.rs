//! The parts of segments that a search reads.

use std::io;
use std::path::PathBuf;

use crate::index::sidecar::{LogSpan, Sidecar};
use crate::search::query::Query;
use crate::segment::Segment;

/// The parts of a log that a search reads.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Plan {
    /// Each segment, in the order of the log.
    pub segments: Vec<SegmentPlan>,
}

/// The parts of a segment that a search reads.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SegmentPlan {
    /// The segment.
    pub path: PathBuf,
    /// The number of bytes of log in the segment.
    pub bytes: u64,
    /// The number of these bytes that are read.
    pub bytes_read: u64,
    /// The number of zones in its sidecar; 0 without one.
    pub zones: u64,
    /// The number of zones that are read.
    pub zones_read: u64,
    /// Whether keys were looked up in the sidecar.
    pub keyed: bool,
    pub(crate) spans: Vec<LogSpan>,
}

impl Plan {
    /// The number of bytes of the log, and of those that are read.
    #[must_use]
    pub fn bytes(&self) -> (u64, u64) {
        self.segments.iter().fold((0, 0), |(bytes, read), segment| {
            (
                bytes.saturating_add(segment.bytes),
                read.saturating_add(segment.bytes_read),
            )
        })
    }
}

/// Returns the parts of a segment that may have matching records.
pub(crate) fn plan(
    query: &Query,
    segment: &Segment,
    sidecar: Option<&Sidecar>,
) -> io::Result<SegmentPlan> {
    let mut plan = SegmentPlan {
        path: segment.path().to_owned(),
        bytes: segment.len(),
        bytes_read: 0,
        zones: 0,
        zones_read: 0,
        keyed: false,
        spans: Vec::new(),
    };
    let mut covered = 0;
    if let Some(sidecar) = sidecar {
        let keys = query.keys();
        plan.keyed = keys.is_some();
        plan.zones = sidecar.zones();
        let wanted = |zone: &_| query.may_be_in(zone);
        plan.spans = sidecar.spans(keys.as_deref(), &wanted, &mut plan.zones_read)?;
        covered = sidecar.covered();
    }
    if covered < segment.len() {
        match plan.spans.last_mut() {
            Some(last) if last.end == covered => last.end = segment.len(),
            _ => plan.spans.push(LogSpan {
                start: covered,
                end: segment.len(),
            }),
        }
    }
    plan.bytes_read = plan.spans.iter().map(|span| span.len()).sum();
    Ok(plan)
}
