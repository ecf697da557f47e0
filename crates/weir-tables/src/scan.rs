//! Scans, which return rows of sources in batches.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use weir_layout::Layout;
use weir_packet::{LinkType, Needs, Options as DecodeOptions};

use crate::extract::extraction::Extract;
use crate::extract::quoted::Quoted;
use crate::files::Files;
use crate::program::{Passed, ProgramFraming, Questions};
use crate::reading::{Prepared, Reading, Sink};
use crate::rows::Rows;
use crate::{
    CaptureTee, Column, Compile, Counters, Origin, Predicate, Row, ScanOptions, Source,
    SourceError, Stop, Table,
};

/// A scan of sources, one after the other or merged by time: returns batches of the rows for which the predicate is
/// true. Damage ends its source, is reported by [`Scan::take_errors`], and the scan continues with the next source.
pub struct Scan {
    reading: Reading<Gathering>,
    cancel: Option<Stop>,
}

/// Packets on their way into rows: they are rows, or an extraction makes rows of them.
pub(crate) struct Gathering {
    rows: Rows,
    extract: Option<Box<dyn Extract>>,
    /// Whether the row depends on its record only.
    is_of_record: bool,
    /// The program that skips records for which the predicate does not hold, and the framing of its records.
    selector: Option<((ProgramFraming, LinkType), Box<Questions>)>,
}

/// The columns for which packets are read, and the headers that the decoder has to find for them.
#[derive(Default)]
pub(crate) struct Wanted {
    pub(crate) needs: Vec<Needs>,
    pub(crate) columns: Vec<Column>,
}

impl Scan {
    /// Creates a scan of `sources` that returns the columns of `table` at `projection`, for rows of which `predicate`
    /// is true. Packets are decoded only as deep as these columns and the predicate need.
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
        let (gathering, wanted) = Gathering::new(table, projection, predicate, &options);
        let mut options = options;
        if gathering.extract.is_some() {
            options.tee = options.tee.map(CaptureTee::of_all);
        }
        Self {
            cancel: options.cancel.clone(),
            reading: Reading::new(gathering, &wanted.needs, &wanted.columns, sources, options),
        }
    }

    /// Adds the counts to `counters`, too, several times a second.
    #[must_use]
    pub fn with_counters(mut self, counters: Arc<Counters>) -> Self {
        self.reading.count_in(counters);
        self
    }

    /// The limits that were reached, and what was given up for them, for the closing report.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.reading.sink().notes();
        notes.extend(self.reading.notes());
        notes
    }

    /// The next batch; `None` at the end of all sources or at the limit. A batch has at least one
    /// row.
    ///
    /// When the records must be in the order of time and are not; when the scan was cancelled; or when Arrow refuses
    /// the arrays, which would be a defect of this crate.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        while !self.reading.sink().is_full() && self.reading.step()? {
            if self.cancel.as_ref().is_some_and(Stop::is_requested) {
                return Err(ArrowError::ComputeError("cancelled".to_owned()));
            }
            if self.reading.is_paused() && !self.reading.sink().is_empty() {
                break;
            }
        }
        let batch = self.reading.sink_mut().take_batch()?;
        if batch.is_none() {
            self.reading.close();
        }
        Ok(batch)
    }

    /// The errors since the last call.
    pub fn take_errors(&mut self) -> Vec<SourceError> {
        self.reading.take_errors()
    }
}

impl Gathering {
    /// Creates rows with the columns of `table` at `projection`, of which `predicate` is true; and the needs of the
    /// decoder for that.
    pub(crate) fn new(
        table: &Table,
        projection: &[usize],
        predicate: Option<Predicate>,
        options: &ScanOptions,
    ) -> (Self, Wanted) {
        let mut wanted = Wanted::default();
        for position in projection {
            wanted.add(&table.columns()[*position]);
        }
        if let Some(predicate) = &predicate {
            predicate.visit_columns(&mut |column| wanted.add(column));
        }
        wanted.needs.extend(table.needs());
        let mut extract: Option<Box<dyn Extract>> = match options.quotes {
            true => Quoted::of(table, options.decode.clone()).map(|quoted| Box::new(quoted) as _),
            false => table.start(),
        };
        let mut rows_left = options.limit.unwrap_or(usize::MAX);
        if let (Some(_), Some(tee)) = (&extract, &options.tee) {
            // The limit is one of rows, of which a packet may have none or several.
            rows_left = rows_left.min(tee.left());
        }
        let rows = Rows {
            predicate,
            batch: table.batch(projection),
            batch_rows: options.batch_rows.max(1),
            rows_left,
            files: extract
                .as_ref()
                .filter(|extract| extract.keeps_records())
                .map(|_| Files::default()),
        };
        if let Some(extract) = &mut extract {
            extract.set_columns(&wanted.columns);
        }
        let is_of_record = |column: &Column| !matches!(column.origin, Origin::Since(_));
        let gathering = Self {
            rows,
            extract,
            is_of_record: wanted.columns.iter().all(is_of_record),
            selector: None,
        };
        (gathering, wanted)
    }

    /// The predicate of the rows, when a record for which it is not true may be skipped.
    pub(crate) fn selects(&self) -> Option<&Predicate> {
        let is_of_record = self.extract.is_none() && self.is_of_record;
        self.rows.predicate.as_ref().filter(|_| is_of_record)
    }

    /// Returns whether the limit is reached.
    pub(crate) const fn has_enough(&self) -> bool {
        self.rows.rows_left == 0
    }

    /// Returns whether no row waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.batch.rows() == 0
    }

    /// The waiting rows; `None` when there are none.
    pub(crate) fn take_batch(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        match self.is_empty() {
            true => Ok(None),
            false => self.rows.batch.finish().map(Some),
        }
    }

    /// The limits that were reached, and what was given up for them.
    pub(crate) fn notes(&self) -> Vec<String> {
        let extract = self.extract.as_ref();
        let notes = extract.map_or_else(Vec::new, |extract| extract.notes());
        let mut notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
        if let Some(predicate) = &self.rows.predicate {
            predicate.visit_filters(&mut |filter| notes.extend(filter.notes()));
        }
        notes
    }
}

impl Wanted {
    pub(crate) fn add(&mut self, column: &Column) {
        self.needs.push(column.needs());
        self.columns.push(column.clone());
    }
}

/// Has an extractor read a packet, which has the number of its record among those of all files where that is kept.
#[inline]
fn read_packet(extract: &mut dyn Extract, row: &Row<'_>, rows: &mut Rows) {
    let record = row.packet.frame().number;
    let number = match &mut rows.files {
        Some(files) => files.number(row.file, record),
        None => record,
    };
    // Records of the first file have the same number.
    if number == record {
        extract.packet(row, rows);
        return;
    }
    let packet = row.packet.with_number(number);
    extract.packet(&row.of_packet(&packet), rows);
}

impl Sink for Gathering {
    #[inline]
    fn push(&mut self, row: &Row<'_>) -> bool {
        match &mut self.extract {
            None => self.rows.push_row(row),
            Some(extract) if row.packet.is_aggregate() => {
                let rows = &mut self.rows;
                row.each_subframe(&mut |row| read_packet(extract.as_mut(), row, rows));
                true
            }
            Some(extract) => {
                read_packet(extract.as_mut(), row, &mut self.rows);
                true
            }
        }
    }

    fn is_full(&self) -> bool {
        self.rows.is_full()
    }

    fn wanted(&self) -> Option<Predicate> {
        // The predicate of an extraction applies to its rows, and not to the packets that it reads.
        self.rows
            .predicate
            .clone()
            .filter(|_| self.extract.is_none())
    }

    fn may_run_program(&self) -> bool {
        self.selects().is_some()
    }

    fn prepare_program(
        &mut self,
        records: (ProgramFraming, LinkType),
        layout: Option<&Layout>,
        options: &DecodeOptions,
        compile: Compile,
    ) -> Prepared {
        if matches!(&self.selector, Some((of, _)) if *of == records) {
            return Prepared::Ready;
        }
        self.selector = None;
        let (Some(predicate), None) = (self.selects(), layout) else {
            return Prepared::Unasked;
        };
        let (framing, link_type) = records;
        let program = Questions::selecting(&[predicate], framing, link_type, options);
        let Some(mut program) = program else {
            return Prepared::Unasked;
        };
        if program.prepare(compile).is_err() {
            return Prepared::Refused;
        }
        self.selector = Some((records, Box::new(program)));
        Prepared::Ready
    }

    fn run_program(&mut self, window: &[u8], number: u64, ports: u8, most: u64) -> Passed {
        match &mut self.selector {
            Some((_, program)) => program.run(&mut [], window, number, ports, most),
            None => Passed::default(),
        }
    }

    fn finish(&mut self) -> bool {
        let wanted = self.rows.rows_left > 0;
        let extract = self.extract.as_mut().filter(|_| wanted);
        extract.is_some_and(|extract| extract.finish(&mut self.rows))
    }
}
