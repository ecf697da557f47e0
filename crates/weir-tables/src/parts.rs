//! One file that is read in parts side by side, into one aggregate.

use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

use weir_capture::{Certificate, Reader, Split};
use weir_layout::Layout;

use crate::records::RecordReader;
use crate::source::{Bytes, Cause, Location, Ranged};
use crate::{Source, SourceError};

/// The positions of the parts of a file.
#[derive(Clone, Debug)]
pub struct Parts {
    source: Source,
    cut: Cut,
}

#[derive(Clone, Debug)]
enum Cut {
    /// The positions are guessed: a part counts when the one before it ends there.
    Capture(Arc<Split>),
    /// A part begins at a multiple of a number of bytes.
    Records {
        layout: Arc<Layout>,
        record_len: u64,
        /// The number of records of each part but the last, which has the rest.
        records: u64,
        parts: usize,
    },
}

impl Parts {
    /// Cuts the file into `parts` parts of about the same size. Returns `None` when it should be read in one: it is
    /// compressed, no file, too small, or the beginnings of its records cannot be found.
    ///
    /// # Errors
    /// When the file cannot be read, or is no capture.
    pub fn new(source: &Source, parts: usize) -> Result<Option<Self>, SourceError> {
        let Some(len) = source
            .len()
            .filter(|_| !source.is_growing() && !source.drops_repeats())
        else {
            return Ok(None);
        };
        let parts = parts.min(usize::try_from(len / PART_BYTES_MIN).unwrap_or(usize::MAX));
        if parts < 2 || !Self::is_ranged(source) {
            return Ok(None);
        }
        let cut = match source.layout() {
            Some(layout) => Cut::records(layout, len, parts),
            None => {
                let options = weir_capture::ReadOptions::default();
                let file = open(source, 0..0)?;
                Split::new(file, parts, &options)
                    .map_err(|error| source.error(Cause::Capture(error)))?
                    .map(|split| Cut::Capture(Arc::new(split)))
            }
        };
        Ok(cut.map(|cut| Self {
            source: source.clone(),
            cut,
        }))
    }

    /// Returns whether a file of this kind and size should be divided, as far as is known without reading it.
    #[must_use]
    pub fn may_be_of(source: &Source) -> bool {
        let large =
            Self::is_ranged(source) && source.len().is_some_and(|len| len >= 2 * PART_BYTES_MIN);
        large
            && !source.is_growing()
            && !source.drops_repeats()
            && source
                .layout()
                .is_none_or(|layout| layout.plain_record_len().is_some())
    }

    /// Whether it can be read from any position.
    fn is_ranged(source: &Source) -> bool {
        match source.location() {
            Location::Object(object) => object.is_ranged(),
            Location::File(_) => true,
            Location::Stdin => false,
        }
    }

    /// The number of parts: at least two.
    #[must_use]
    pub fn count(&self) -> usize {
        match &self.cut {
            Cut::Capture(split) => split.parts(),
            Cut::Records { parts, .. } => *parts,
        }
    }

    pub(crate) const fn source(&self) -> &Source {
        &self.source
    }

    /// Opens a part of a capture.
    pub(crate) fn open_capture(&self, part: usize) -> Result<Option<Reader<Bytes>>, SourceError> {
        let Cut::Capture(split) = &self.cut else {
            return Ok(None);
        };
        let io = |error| self.source.error(Cause::Io(error));
        let file = open(&self.source, split.range(part))?;
        let file = split.source(part, file).map_err(io)?;
        let bytes: Bytes = Box::new(file);
        let reader = split.reader(part, bytes, &weir_capture::ReadOptions::default());
        reader
            .map(Some)
            .map_err(|error| self.source.error(Cause::Capture(error)))
    }

    /// Opens a part of a file of records.
    pub(crate) fn open_records(&self, part: usize) -> Result<Option<RecordReader>, SourceError> {
        let Cut::Records {
            layout,
            record_len,
            records,
            parts,
        } = &self.cut
        else {
            return Ok(None);
        };
        let before = records.saturating_mul(part as u64);
        let header = layout.file_header_len() as u64;
        let start = match part {
            0 => 0,
            _ => header.saturating_add(before.saturating_mul(*record_len)),
        };
        let len = records.saturating_mul(*record_len);
        let end = match part + 1 < *parts {
            true => start.saturating_add(len).saturating_add(header),
            false => u64::MAX,
        };
        let file = open(&self.source, start..end)?;
        let bytes: Bytes = match part {
            // No byte of the next part is read, because the last record would look truncated.
            0 => Box::new(file.take(len.saturating_add(header))),
            _ if part + 1 < *parts => Box::new(file.take(len)),
            _ => Box::new(file),
        };
        let layout = Arc::clone(layout);
        Ok(Some(match part {
            0 => RecordReader::new(layout, bytes),
            _ => RecordReader::behind(layout, bytes, before, start),
        }))
    }

    /// Whether part number `part` of a capture, which is read, continues where the one before it ended.
    pub(crate) fn follows(
        &self,
        before: &Reader<Bytes>,
        part: usize,
        reader: &mut Reader<Bytes>,
    ) -> bool {
        match &self.cut {
            Cut::Capture(split) => split.follows(before, part, reader),
            Cut::Records { .. } => false,
        }
    }

    /// The certificate of part number `part` of a capture, which was read to its end.
    pub(crate) fn certificate(&self, part: usize, reader: &Reader<Bytes>) -> Option<Certificate> {
        match &self.cut {
            Cut::Capture(split) => Some(split.certificate(part, reader)),
            Cut::Records { .. } => None,
        }
    }

    /// Lets the reader of the part before read part number `part` of a capture as well.
    pub(crate) fn read_on(&self, reader: &mut Reader<Bytes>, part: usize) {
        if let Cut::Capture(split) = &self.cut {
            split.read_on(reader, part);
        }
    }
}

impl Cut {
    fn records(layout: &Arc<Layout>, len: u64, parts: usize) -> Option<Self> {
        let record_len = layout.plain_record_len()? as u64;
        let records = len.checked_sub(layout.file_header_len() as u64)? / record_len;
        let records = records / parts as u64;
        (records > 0).then(|| Self::Records {
            layout: Arc::clone(layout),
            record_len,
            records,
            parts,
        })
    }
}

fn open(source: &Source, range: Range<u64>) -> Result<Ranged, SourceError> {
    let failed = |error| source.error(Cause::Io(error));
    let opened = source.location().open_range(range).map_err(failed)?;
    opened.ok_or_else(|| failed(std::io::ErrorKind::NotSeekable.into()))
}

/// The number of bytes of a part below which a thread and a search for its beginning do not pay.
const PART_BYTES_MIN: u64 = 4 << 20;
