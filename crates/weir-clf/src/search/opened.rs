//! An opened segment that is searched, with its sidecar, and whether its records can be read in any order.

use std::io;
use std::path::Path;
use std::sync::OnceLock;

use crate::forms::{Form, text};
use crate::index::sidecar::{LogSpan, Sidecar};
use crate::search::options::SearchOptions;
use crate::segment::Segment;

/// A segment, its sidecar and its properties.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) segment: Segment,
    pub(crate) sidecar: Option<Sidecar>,
    pub(crate) form: Form,
    /// Whether lines of the text draft refer to earlier ones.
    refers: OnceLock<bool>,
}

/// The number of bytes that are searched together for references.
const PIECE_BYTES: u64 = 256 << 10;

impl Opened {
    pub(crate) fn new(path: &Path, options: &SearchOptions) -> io::Result<Self> {
        let segment = Segment::open_by(path, options.opener)?;
        // A segment that is damaged at its beginning is searched all the same.
        let form = segment.form()?.unwrap_or_default();
        // A log without a sidecar is searched in full.
        let mut sidecar = if options.index {
            Sidecar::open(&segment, form).ok().flatten()
        } else {
            None
        };
        if let (true, Some(sidecar)) = (options.resident, &mut sidecar) {
            sidecar.load()?;
        }
        Ok(Self {
            segment,
            sidecar,
            form,
            refers: OnceLock::new(),
        })
    }

    /// Returns the parts that have to be read by one thread, each from its beginning to its end, to find everything in
    /// `spans`; `None` when any thread may begin anywhere.
    pub(crate) fn in_order(&self, spans: &[LogSpan]) -> io::Result<Option<Vec<LogSpan>>> {
        Ok(match self.form {
            // The bytes of a record may stand in the message that another one has.
            Form::Binary => Some(spans.to_vec()),
            Form::Text if self.refers()? => Some(vec![LogSpan {
                start: 0,
                end: self.segment.len(),
            }]),
            _ => None,
        })
    }

    /// Returns whether a line of the text draft may refer to an earlier one. A log with a sidecar has no such line.
    pub(crate) fn refers(&self) -> io::Result<bool> {
        if self.form != Form::Text {
            return Ok(false);
        }
        if let Some(&refers) = self.refers.get() {
            return Ok(refers);
        }
        let mut at = self.sidecar.as_ref().map_or(0, Sidecar::covered);
        let mut bytes = Vec::new();
        let mut refers = false;
        while at < self.segment.len() && !refers {
            let end = at.saturating_add(PIECE_BYTES);
            // A word that ends with the piece is tested again in the next.
            let behind = end.saturating_add(text::REFERENCE_BYTES);
            self.segment.read(at, behind, &mut bytes)?;
            refers = text::may_refer(&bytes);
            at = end;
        }
        Ok(*self.refers.get_or_init(|| refers))
    }
}
