//! Reading sources into batches: decode, decide, gather.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use weir_capture::{Merge, Reader, Record};
use weir_packet::{Decoder, Frame, LinkType, Needs, Options as DecodeOptions};

use crate::source::{Bytes, Cause};
use crate::{Batch, Counters, Predicate, Row, Source, SourceError, Table, Totals};

/// How a scan reads.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ScanOptions {
    /// Rows of a batch, at most.
    pub batch_rows: usize,
    /// Rows of the whole scan, at most.
    pub limit: Option<usize>,
    /// All sources are read at once and their records given in the order of time.
    pub merge: bool,
    /// The records are said to be in the order of time: the scan fails when they are not.
    pub sorted: bool,
    /// How ambiguous traffic is decoded.
    pub decode: DecodeOptions,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self {
            batch_rows: 8192,
            limit: None,
            merge: false,
            sorted: false,
            decode: DecodeOptions::default(),
        }
    }
}

/// A scan of sources, one after the other or merged by time: gives batches of the rows that the
/// predicate lets through. What is damaged ends its source, is kept as an error for
/// [`Scan::take_errors`], and the next source goes on.
pub struct Scan {
    sources: std::vec::IntoIter<Source>,
    merge: bool,
    input: Option<Input>,
    gather: Gather,
    errors: Vec<SourceError>,
    counters: Vec<Arc<Counters>>,
}

/// What is read at the moment.
enum Input {
    Capture(Source, String, Reader<Bytes>),
    Merge(Vec<Source>, Vec<String>, Merge<Bytes>),
}

/// Decodes, decides and gathers rows.
struct Gather {
    decoder: Decoder,
    predicate: Option<Predicate>,
    batch: Batch,
    batch_rows: usize,
    rows_left: usize,
    totals: Totals,
    order: Option<Order>,
}

/// Watches that times do not run backwards.
#[derive(Default)]
struct Order {
    last_ns: Option<i64>,
    broken_at: Option<u64>,
}

impl Scan {
    /// A scan of `sources` that gives the columns of `table` at `projection`, for rows of which
    /// `predicate` is true. Packets are decoded only as deep as these columns and the predicate
    /// need.
    ///
    /// # Panics
    /// When a position of the projection is not in the table.
    #[must_use]
    pub fn new(
        table: &Table,
        projection: &[usize],
        predicate: Option<Predicate>,
        sources: Vec<Source>,
        options: ScanOptions,
    ) -> Self {
        let mut needs: Vec<Needs> = projection
            .iter()
            .map(|position| table.columns()[*position].needs())
            .collect();
        if let Some(predicate) = &predicate {
            predicate.visit_columns(&mut |column| needs.push(column.needs()));
        }
        Self {
            sources: sources.into_iter(),
            merge: options.merge,
            input: None,
            gather: Gather {
                decoder: Decoder::new(options.decode, needs),
                predicate,
                batch: Batch::new(table, projection),
                batch_rows: options.batch_rows.max(1),
                rows_left: options.limit.unwrap_or(usize::MAX),
                totals: Totals::default(),
                order: options.sorted.then(Order::default),
            },
            errors: Vec::new(),
            counters: Vec::new(),
        }
    }

    /// Also adds what is read to `counters`, several times a second while it reads.
    #[must_use]
    pub fn with_counters(mut self, counters: Arc<Counters>) -> Self {
        self.counters.push(counters);
        self
    }

    /// The next batch; `None` at the end of all sources or at the limit. A batch has at least one
    /// row.
    ///
    /// # Errors
    /// When the records were said to be in the order of time and are not; or when Arrow refuses the
    /// arrays, which would be a defect of this crate.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        while !self.gather.is_full() {
            let Some(input) = &mut self.input else {
                if !self.open_next() {
                    break;
                }
                continue;
            };
            let outcome = match input {
                Input::Capture(source, file, reader) => self
                    .gather
                    .fill_from_capture(file, reader)
                    .map_err(|error| source.error(Cause::Capture(error))),
                Input::Merge(sources, files, merge) => self
                    .gather
                    .fill_from_merge(files, merge)
                    .map_err(|error| sources[error.file].error(Cause::Capture(error.error))),
            };
            self.publish();
            self.gather.check_order()?;
            match outcome {
                Ok(Fill::More) => {}
                Ok(Fill::End) => self.input = None,
                // The reader gives what is left, and then its end.
                Err(error) => self.errors.push(error),
            }
        }
        if self.gather.batch.rows() == 0 {
            self.input = None;
            return Ok(None);
        }
        self.gather.batch.finish().map(Some)
    }

    /// What went wrong since the last call.
    pub fn take_errors(&mut self) -> Vec<SourceError> {
        std::mem::take(&mut self.errors)
    }

    fn publish(&mut self) {
        let totals = std::mem::take(&mut self.gather.totals);
        for counters in &self.counters {
            counters.add(&totals);
        }
    }

    /// Opens the next source, or all of them to merge; false when there is none left.
    fn open_next(&mut self) -> bool {
        if self.merge {
            return self.open_merge();
        }
        let Some(source) = self.sources.next() else {
            return false;
        };
        match source.open_capture() {
            Ok(reader) => {
                let file = source.path().display().to_string();
                self.input = Some(Input::Capture(source, file, reader));
            }
            Err(error) => self.errors.push(error),
        }
        true
    }

    fn open_merge(&mut self) -> bool {
        let mut sources = Vec::new();
        let mut readers = Vec::new();
        for source in self.sources.by_ref() {
            match source.open_capture() {
                Ok(reader) => {
                    sources.push(source);
                    readers.push(reader);
                }
                Err(error) => self.errors.push(error),
            }
        }
        if readers.is_empty() {
            return false;
        }
        let files = sources
            .iter()
            .map(|source| source.path().display().to_string())
            .collect();
        self.input = Some(Input::Merge(sources, files, Merge::new(readers)));
        true
    }
}

/// How a step of filling the batch ended.
enum Fill {
    /// There may be more to read.
    More,
    /// The source is at its end.
    End,
}

impl Gather {
    fn is_full(&self) -> bool {
        self.batch.rows() >= self.batch_rows || self.rows_left == 0
    }

    /// Reads until the batch is full, for [`STEP_RECORDS`] at most.
    fn fill_from_capture(
        &mut self,
        file: &str,
        reader: &mut Reader<Bytes>,
    ) -> Result<Fill, weir_capture::Error> {
        let (bytes, source_bytes) = (reader.bytes_read(), reader.source_bytes());
        let mut outcome = Ok(Fill::More);
        for _ in 0..STEP_RECORDS {
            if self.is_full() {
                break;
            }
            match reader.next() {
                Ok(Some(record)) => self.record(file, &record),
                Ok(None) => {
                    outcome = Ok(Fill::End);
                    break;
                }
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        self.totals.bytes += reader.bytes_read().saturating_sub(bytes);
        self.totals.source_bytes += reader.source_bytes().saturating_sub(source_bytes);
        outcome
    }

    fn fill_from_merge(
        &mut self,
        files: &[String],
        merge: &mut Merge<Bytes>,
    ) -> Result<Fill, weir_capture::FileError> {
        let read = |merge: &Merge<Bytes>| {
            merge.readers().fold((0, 0), |(bytes, source), reader| {
                (bytes + reader.bytes_read(), source + reader.source_bytes())
            })
        };
        let (bytes, source_bytes) = read(merge);
        let mut outcome = Ok(Fill::More);
        for _ in 0..STEP_RECORDS {
            if self.is_full() {
                break;
            }
            match merge.next() {
                Ok(Some((file, record))) => {
                    self.record(files.get(file).map_or("", String::as_str), &record);
                }
                Ok(None) => {
                    outcome = Ok(Fill::End);
                    break;
                }
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        let (bytes_now, source_bytes_now) = read(merge);
        self.totals.bytes += bytes_now.saturating_sub(bytes);
        self.totals.source_bytes += source_bytes_now.saturating_sub(source_bytes);
        outcome
    }

    /// An answer that was promised in the order of time must not be given in another.
    fn check_order(&self) -> Result<(), ArrowError> {
        match self.order.as_ref().and_then(|order| order.broken_at) {
            None => Ok(()),
            Some(number) => Err(ArrowError::ComputeError(format!(
                "record {number} is earlier than the one before it, or has no time: read without sorted => true"
            ))),
        }
    }

    #[inline]
    fn record(&mut self, file: &str, record: &Record<'_>) {
        let frame = Frame {
            number: record.number,
            time_ns: record.time_ns,
            link_type: LinkType(record.link_type),
            wire_len: record.wire_len,
            interface_id: Some(record.interface.id),
            interface_name: record.interface.name.as_deref(),
            comment: record.comment,
            data: record.data,
        };
        if let Some(order) = &mut self.order {
            order.watch(&frame);
        }
        let packet = self.decoder.decode(frame);
        self.totals.records += 1;
        if let Some(stop) = packet.stop() {
            self.totals.stopped += 1;
            if matches!(stop.reason, weir_packet::Reason::UnknownLinkType(_)) {
                self.totals.unknown_link += 1;
            }
        }
        let row = Row::new(file, &packet);
        match &self.predicate {
            Some(predicate) if predicate.decide(&row) != Some(true) => self.totals.dropped += 1,
            _ => {
                self.batch.push(&row);
                self.rows_left -= 1;
            }
        }
    }
}

impl Order {
    fn watch(&mut self, frame: &Frame<'_>) {
        let in_order = frame.time_ns.is_some() && frame.time_ns >= self.last_ns;
        if !in_order && self.broken_at.is_none() {
            self.broken_at = Some(frame.number);
        }
        self.last_ns = frame.time_ns;
    }
}

/// Records between two looks at the clock, so to say: after so many the counters are brought up to
/// date even when no row passes the predicate.
const STEP_RECORDS: usize = 65_536;
