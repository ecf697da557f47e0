//! One capture, read by a scan and by tshark, compared record by record.

use std::collections::{BTreeSet, HashMap};

use arrow::array::RecordBatch;
use weir_tables::{Column, Scan, ScanOptions, Source, Table};

use crate::captures::Capture;
use crate::differences::{DIFFERENCES, RECORD_DIFFERENCES, any_matches};
use crate::tshark::{self, Rows};
use crate::value::{ColumnValue, Values};

/// The columns that are compared, with tshark's names for them.
pub(crate) struct Shared {
    table: Table,
    positions: Vec<usize>,
    fields: Vec<String>,
    /// The index of `frame.number` in `fields`.
    frame_number: usize,
}

/// The result of the comparison of a capture.
pub(crate) struct Comparison {
    pub(crate) records: usize,
    /// The result of each column of [`Shared`].
    pub(crate) columns: Vec<ColumnResult>,
    /// The number of values that each column of the table has.
    pub(crate) filled: Vec<usize>,
    /// A problem with the records as such: one side has more, or refuses the file.
    pub(crate) trouble: Option<String>,
    /// The index of the problem in [`RECORD_DIFFERENCES`].
    pub(crate) trouble_listed: Option<usize>,
    /// The indices of the [`DIFFERENCES`] that occurred.
    pub(crate) needed: BTreeSet<usize>,
}

/// The numbers of values that a column has on either side, and of those that are equal.
#[derive(Clone, Default)]
pub(crate) struct ColumnResult {
    pub(crate) values: usize,
    pub(crate) equal: usize,
    /// The number of values that differ and are in [`DIFFERENCES`].
    pub(crate) listed: usize,
    /// The first few values that differ and are not.
    pub(crate) examples: Vec<Example>,
}

#[derive(Clone)]
pub(crate) struct Example {
    pub(crate) frame: u64,
    pub(crate) ours: String,
    pub(crate) theirs: String,
}

impl Shared {
    pub(crate) fn new() -> Self {
        let table = Table::packets();
        let theirs = tshark::field_names();
        let (positions, fields): (Vec<usize>, Vec<String>) = table
            .columns()
            .iter()
            .enumerate()
            .filter_map(|(position, column)| Some((position, field(&theirs, &column.name)?)))
            .unzip();
        let frame_number = fields
            .iter()
            .position(|field| field == "frame.number")
            .unwrap();
        Self {
            table,
            positions,
            fields,
            frame_number,
        }
    }

    pub(crate) fn columns(&self) -> impl Iterator<Item = &Column> {
        self.positions
            .iter()
            .map(|position| &self.table.columns()[*position])
    }

    /// All columns of the table, whether tshark has them or not.
    pub(crate) fn all_columns(&self) -> impl Iterator<Item = &Column> {
        self.table.columns().iter()
    }

    /// Reads `capture` in both ways and compares.
    pub(crate) fn compare(&self, capture: &Capture, preferences: &[&str]) -> Comparison {
        let (batches, error) = self.scan(capture);
        let mut comparison = Comparison {
            records: batches.iter().map(RecordBatch::num_rows).sum(),
            columns: vec![ColumnResult::default(); self.fields.len()],
            filled: vec![0; self.table.columns().len()],
            trouble: None,
            trouble_listed: None,
            needed: BTreeSet::new(),
        };
        for batch in &batches {
            for (filled, column) in comparison.filled.iter_mut().zip(batch.columns()) {
                *filled += column.len() - column.null_count();
            }
        }
        comparison.trouble = match tshark::rows(&capture.path, &self.fields, preferences) {
            Ok(rows) => self.compare_rows(capture, &batches, &rows, &mut comparison),
            Err(message) => Some(format!("tshark refuses it: {message}")),
        };
        if let Some(trouble) = &mut comparison.trouble {
            comparison.trouble_listed = RECORD_DIFFERENCES
                .iter()
                .position(|difference| trouble.contains(difference.says));
            if let Some(error) = error {
                trouble.push_str(&format!(" (weir reports {error})"));
            }
        }
        comparison
    }

    /// Compares record by record as far as both go; returns a message when one has more.
    fn compare_rows(
        &self,
        capture: &Capture,
        batches: &[RecordBatch],
        rows: &Rows,
        comparison: &mut Comparison,
    ) -> Option<String> {
        let listed: Vec<Vec<usize>> = self
            .columns()
            .map(|column| listed(capture, column))
            .collect();
        let mut rows = rows.iter().peekable();
        let (mut only_theirs, mut only_ours) = (0, 0);
        for batch in batches {
            let columns: Vec<Values<'_>> = self
                .columns()
                .zip(&self.positions)
                .map(|(column, position)| Values::new(column.kind, batch.column(*position)))
                .collect();
            for row in 0..batch.num_rows() {
                let ColumnValue::Number(frame) = columns[self.frame_number].get(row) else {
                    panic!("{}: a record without a number", capture.name);
                };
                let number = |row: &Vec<&str>| row[self.frame_number].parse::<u64>().unwrap();
                while rows.next_if(|row| number(row) < frame).is_some() {
                    only_theirs += 1;
                }
                let Some(theirs) = rows.next_if(|row| number(row) == frame) else {
                    only_ours += 1;
                    continue;
                };
                assert_eq!(theirs.len(), columns.len(), "{}: {theirs:?}", capture.name);
                for (index, theirs) in theirs.into_iter().enumerate() {
                    let ours = columns[index].get(row);
                    let by = comparison.columns[index].add(frame, ours, theirs, &listed[index]);
                    comparison.needed.extend(by);
                }
            }
        }
        only_theirs += rows.count();
        (only_theirs + only_ours > 0).then(|| {
            let records = comparison.records;
            format!("of {records} records tshark lacks {only_ours}, and has {only_theirs} more")
        })
    }

    fn scan(&self, capture: &Capture) -> (Vec<RecordBatch>, Option<String>) {
        let sources = vec![Source::capture(&capture.path)];
        let options = ScanOptions::default();
        let all: Vec<usize> = (0..self.table.columns().len()).collect();
        let mut scan = Scan::new(&self.table, &all, None, sources, options);
        let mut batches = Vec::new();
        while let Some(batch) = scan.next_batch().unwrap() {
            batches.push(batch);
        }
        let error = scan.take_errors().first().map(ToString::to_string);
        (batches, error)
    }
}

impl ColumnResult {
    /// Counts a pair of values; returns the difference of `listed` that explains why they differ.
    fn add(
        &mut self,
        frame: u64,
        ours: ColumnValue<'_>,
        theirs: &str,
        listed: &[usize],
    ) -> Option<usize> {
        let missing = ours == ColumnValue::Null;
        if missing && theirs.is_empty() {
            return None;
        }
        self.values += 1;
        if ours.agrees(theirs) {
            self.equal += 1;
            return None;
        }
        let by = listed
            .iter()
            .find(|index| DIFFERENCES[**index].when.covers(missing, theirs));
        if by.is_some() {
            self.listed += 1;
        } else if self.examples.len() < EXAMPLES_MAX {
            self.examples.push(Example {
                frame,
                ours: ours.shown(),
                theirs: theirs.to_owned(),
            });
        }
        by.copied()
    }
}

/// Returns the indices of the [`DIFFERENCES`] that may be about this column of this capture.
fn listed(capture: &Capture, column: &Column) -> Vec<usize> {
    let applies = |index: &usize| {
        let difference = &DIFFERENCES[*index];
        any_matches(difference.columns, &column.name)
            && any_matches(difference.captures, &capture.name)
    };
    (0..DIFFERENCES.len()).filter(applies).collect()
}

const EXAMPLES_MAX: usize = 3;

/// tshark's field for a column: that of the same name, without regard to case.
fn field(theirs: &HashMap<String, String>, column: &str) -> Option<String> {
    // Wireshark writes a date; seconds since 1970 are the same time in digits.
    let name = if column == "frame.time" {
        "frame.time_epoch"
    } else {
        column
    };
    theirs.get(name).cloned()
}
