//! Shared scans: several queries of the same sources, which are read and decoded once.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use weir_capture::Certificate;
use weir_layout::Layout;
use weir_packet::{LinkType, Options as DecodeOptions};

use crate::program::{Passed, ProgramFraming, Questions};
use crate::reading::{Prepared, Reading, Sink};
use crate::scan::{Gathering, Wanted};
use crate::{
    Aggregate, Compile, Counters, Parts, Predicate, Row, ScanOptions, Source, SourceError, Table,
};

/// A scan for several queries of the same sources: of groups, or of rows in batches. Damage is handled as by
/// [`Scan`](crate::Scan).
pub struct SharedScan {
    reading: Reading<Takers>,
    /// Set when this reads a part of a file only.
    part: Option<FilePart>,
}

/// A query of rows in a shared scan: the arguments of [`Scan::new`](crate::Scan::new).
#[derive(Clone, Debug)]
pub struct WantedRows {
    /// The table.
    pub table: Table,
    /// Positions of the columns in the table.
    pub projection: Vec<usize>,
    /// Rows for which it is not true are left out.
    pub predicate: Option<Predicate>,
    /// The maximum number of rows.
    pub limit: Option<usize>,
}

/// The part of a file that a scan reads.
struct FilePart {
    parts: Parts,
    /// The number of the last part that was joined.
    number: usize,
}

/// All queries of the scan.
struct Takers {
    groups: Vec<Aggregate>,
    /// The common program, for records with this framing.
    program: Option<(ProgramFraming, LinkType, Box<Questions>)>,
    /// `None` in place of a query that needs no more rows.
    rows: Vec<Option<Gathering>>,
}

impl SharedScan {
    /// Reads `sources` into all `groups`, and into batches of all `rows`. Packets are decoded only as deep as all of
    /// them need; the limit of the options has no meaning here: each has its own.
    ///
    /// # Panics
    /// When a position of a projection is not in its table.
    #[must_use]
    pub fn new(
        groups: Vec<Aggregate>,
        rows: &[WantedRows],
        sources: Vec<Source>,
        options: ScanOptions,
    ) -> Self {
        let options = ScanOptions {
            limit: None,
            ..options
        };
        let mut wanted = Wanted::default();
        for aggregate in &groups {
            aggregate.visit_columns(&mut |column| wanted.add(column));
        }
        let rows = rows.iter().map(|rows| {
            let predicate = rows.predicate.clone();
            let options = ScanOptions {
                limit: rows.limit,
                ..options.clone()
            };
            let (gathering, its) =
                Gathering::new(&rows.table, &rows.projection, predicate, &options);
            wanted.needs.extend(its.needs);
            wanted.columns.extend(its.columns);
            Some(gathering)
        });
        let takers = Takers {
            rows: rows.collect(),
            groups,
            program: None,
        };
        Self {
            reading: Reading::new(takers, &wanted.needs, &wanted.columns, sources, options),
            part: None,
        }
    }

    /// Reads part number `number` of a file into `groups`, for [`SharedScan::join`].
    #[must_use]
    pub fn of_part(
        groups: Vec<Aggregate>,
        parts: &Parts,
        number: usize,
        options: ScanOptions,
    ) -> Self {
        let mut scan = Self::new(groups, &[], Vec::new(), options);
        scan.part = Some(FilePart {
            parts: parts.clone(),
            number,
        });
        scan.reading.begin_part(parts, number);
        scan
    }

    /// Adds the rows of `next`, which has read the next part. Returns false when that part did not begin where this one
    /// ended: this one then reads through it by [`SharedScan::step`].
    pub fn join(&mut self, mut next: Self) -> bool {
        let Some(part) = &mut self.part else {
            return true;
        };
        part.number += 1;
        let (parts, number) = (&part.parts, part.number);
        if !self.reading.follow(&mut next.reading, parts, number) {
            self.reading.read_on(&next.reading, parts, number);
            return false;
        }
        let ours = self.reading.sink_mut().groups.iter_mut();
        for (ours, theirs) in ours.zip(next.reading.into_sink().groups) {
            ours.merge(theirs);
        }
        true
    }

    /// The certificate of a part of a capture that was read to its end, by which it is compared with the parts that
    /// others have read: `None` when it is not a part, or was not read to its end.
    #[must_use]
    pub fn certificate(&self) -> Option<Certificate> {
        let part = self.part.as_ref()?;
        self.reading.certificate(&part.parts, part.number)
    }

    /// Adds the counts to `counters`, too, several times a second.
    #[must_use]
    pub fn with_counters(mut self, counters: Arc<Counters>) -> Self {
        self.reading.count_in(counters);
        self
    }

    /// Reads on, some tens of thousands of records at most, or until a batch is full, which has to be taken first;
    /// returns false at the end of all sources.
    ///
    /// When the records must be in the order of time and are not.
    pub fn step(&mut self) -> Result<bool, ArrowError> {
        self.reading.step()
    }

    /// Returns the rows of the query `number` when they fill a batch, or at the end when there are any.
    ///
    /// # Errors
    /// When Arrow refuses the arrays, which would be a defect of this crate.
    pub fn take_batch(
        &mut self,
        number: usize,
        at_end: bool,
    ) -> Result<Option<RecordBatch>, ArrowError> {
        match self.reading.sink_mut().rows.get_mut(number) {
            Some(Some(rows)) if at_end || rows.is_full() => rows.take_batch(),
            _ => Ok(None),
        }
    }

    /// Returns whether the query `number` has all rows that it needs, once its last batch is taken.
    #[must_use]
    pub fn has_enough(&self, number: usize) -> bool {
        let rows = self.reading.sink().rows.get(number);
        matches!(rows, Some(Some(rows)) if rows.has_enough())
    }

    /// Returns whether no query needs rows or groups any more.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let takers = self.reading.sink();
        takers.groups.is_empty() && takers.rows.iter().all(Option::is_none)
    }

    /// Ends the query `number`.
    pub fn leave(&mut self, number: usize) {
        if let Some(rows) = self.reading.sink_mut().rows.get_mut(number) {
            *rows = None;
        }
    }

    /// The errors since the last call.
    pub fn take_errors(&mut self) -> Vec<SourceError> {
        self.reading.take_errors()
    }

    /// The limits that were reached, and what was given up for them, for the closing report.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let rows = self.reading.sink().rows.iter().flatten();
        let mut notes: Vec<String> = rows.flat_map(Gathering::notes).collect();
        notes.extend(self.reading.notes());
        notes
    }

    /// The groups so far.
    #[must_use]
    pub fn groups(&self) -> &[Aggregate] {
        &self.reading.sink().groups
    }

    /// The groups so far, for taking batches out of them.
    pub fn groups_mut(&mut self) -> &mut [Aggregate] {
        &mut self.reading.sink_mut().groups
    }

    /// The groups, by value.
    #[must_use]
    pub fn into_groups(self) -> Vec<Aggregate> {
        self.reading.into_sink().groups
    }

    /// The number of bytes allocated for groups, keys and sets of values.
    #[must_use]
    pub fn allocated_bytes(&self) -> usize {
        self.groups().iter().map(Aggregate::allocated_bytes).sum()
    }
}

impl Takers {
    /// Returns whether all queries are aggregates: a program may compute them, while rows are made of decoded packets.
    fn has_only_groups(&self) -> bool {
        self.rows.iter().all(Option::is_none)
    }

    /// The predicates of all queries: a record for which none is true need not be decoded. `None` where no query
    /// returns rows, where one needs all records, or where one depends on the records before.
    fn selects(&self) -> Option<Vec<&Predicate>> {
        if self.has_only_groups() || !self.groups.iter().all(Aggregate::is_of_record) {
            return None;
        }
        let of_rows = self.rows.iter().flatten().map(Gathering::selects);
        let branches = self.groups.iter().flat_map(Aggregate::branches);
        let of_groups = branches.map(|branch| branch.predicate.as_ref());
        of_rows.chain(of_groups).collect()
    }
}

impl Sink for Takers {
    #[inline]
    fn push(&mut self, row: &Row<'_>) -> bool {
        let mut taken = false;
        for aggregate in &mut self.groups {
            taken |= aggregate.push(row);
        }
        for rows in self.rows.iter_mut().flatten() {
            taken |= rows.push(row);
        }
        taken
    }

    fn is_full(&self) -> bool {
        self.rows.iter().flatten().any(Sink::is_full)
    }

    fn finish(&mut self) -> bool {
        let mut more = false;
        for rows in self.rows.iter_mut().flatten() {
            more |= rows.finish();
        }
        more
    }

    fn wanted(&self) -> Option<Predicate> {
        let groups = self.groups.iter().map(Aggregate::wanted);
        let rows = self.rows.iter().flatten().map(Sink::wanted);
        let all: Option<Vec<_>> = groups.chain(rows).collect();
        all.map(Predicate::Or)
    }

    fn may_run_program(&self) -> bool {
        self.selects().is_some()
            || self.has_only_groups() && self.groups.iter().all(Aggregate::is_plain)
    }

    fn prepare_program(
        &mut self,
        (framing, link_type): (ProgramFraming, LinkType),
        layout: Option<&Layout>,
        options: &DecodeOptions,
        compile: Compile,
    ) -> Prepared {
        let is_at_hand = matches!(&self.program, Some((its, of, _))
            if *its == framing && *of == link_type && layout.is_none());
        if is_at_hand {
            return Prepared::Ready;
        }
        self.program = None;
        let questions = match (self.has_only_groups(), self.selects(), layout) {
            (true, ..) => Questions::new(&self.groups, framing, link_type, layout, options),
            (_, Some(predicates), None) => {
                Questions::selecting(&predicates, framing, link_type, options)
            }
            _ => None,
        };
        let Some(mut questions) = questions else {
            return Prepared::Unasked;
        };
        if questions.prepare(compile).is_err() {
            return Prepared::Refused;
        }
        self.program = Some((framing, link_type, Box::new(questions)));
        Prepared::Ready
    }

    fn run_program(&mut self, window: &[u8], number: u64, ports: u8, most: u64) -> Passed {
        match &mut self.program {
            Some((.., questions)) => questions.run(&mut self.groups, window, number, ports, most),
            None => Passed::default(),
        }
    }
}
