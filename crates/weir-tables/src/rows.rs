//! The selected rows on their way into a batch.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::files::Files;
use crate::{Batch, Predicate, Row};

/// The selected rows on their way into a batch.
pub(crate) struct Rows {
    pub(crate) predicate: Option<Predicate>,
    pub(crate) batch: Batch,
    pub(crate) batch_rows: usize,
    pub(crate) rows_left: usize,
    /// The captures that are read, where an extractor keeps the numbers of their records: its rows have the file of their
    /// own record, although that may not be the one that is read when they are pushed.
    pub(crate) files: Option<Files>,
}

impl Rows {
    /// Adds a row; returns false when the predicate is false or the limit is reached.
    #[inline]
    pub(crate) fn push_row(&mut self, row: &Row<'_>) -> bool {
        match self.other_file(row) {
            None => self.passes(row) && self.push_passed(row),
            Some(file) => {
                let row = row.in_file(&file);
                self.passes(&row) && self.push_passed(&row)
            }
        }
    }

    /// The file of the record of a row, where it is not that of the packet with which the row is pushed.
    #[inline]
    fn other_file(&self, row: &Row<'_>) -> Option<Arc<str>> {
        let files = self.files.as_ref()?;
        files.other_than(row.file, row.item?.record())
    }

    /// True of a row for which the predicate is true.
    #[inline]
    pub(crate) fn passes(&self, row: &Row<'_>) -> bool {
        let predicate = self.predicate.as_ref();
        predicate.is_none_or(|predicate| predicate.decide(row) == Some(true))
    }

    /// Adds a row that [passes](Self::passes); false when the limit is reached.
    #[inline]
    pub(crate) fn push_passed(&mut self, row: &Row<'_>) -> bool {
        // A packet may give several rows.
        let Some(left) = self.rows_left.checked_sub(1) else {
            return false;
        };
        self.rows_left = left;
        self.batch.push(row);
        true
    }

    /// Returns whether the batch has to be taken before more rows are pushed, or no more are wanted at all.
    pub(crate) fn is_full(&self) -> bool {
        self.batch.rows() >= self.batch_rows
            || self.batch.bytes() >= BATCH_BYTES_MAX
            || self.rows_left == 0
    }

    /// Takes the items that wait, and has `push` make rows of them, until no more fit; false when none waits any more.
    pub(crate) fn take_waiting<T>(
        &mut self,
        waiting: &mut VecDeque<T>,
        mut push: impl FnMut(&mut Self, T),
    ) -> bool {
        while !self.is_full() {
            let Some(item) = waiting.pop_front() else {
                return false;
            };
            push(self, item);
        }
        true
    }
}

/// The number of bytes of payloads and texts above which a batch is returned with fewer rows.
const BATCH_BYTES_MAX: usize = 8 << 20;
