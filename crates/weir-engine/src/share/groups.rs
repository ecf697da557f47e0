//! A shared scan of which all consumers want groups.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::error::Result;

use super::rows::SharedRows;
use super::slots::Slots;
use crate::fuse::{AggregateSpec, GrantedGroups, ScanInput, Work};
use crate::scan_report::ScanReport;

/// The aggregates of all consumers, and their groups once one of them has read.
pub(crate) struct SharedGroups {
    scan_input: ScanInput,
    specs: Vec<AggregateSpec>,
    slots: Slots,
    /// `None` before the scan, then the groups of each consumer until it takes them.
    read: Mutex<Option<Vec<Option<GrantedGroups>>>>,
}

/// A consumer of a shared scan that computes groups, by its number.
#[derive(Clone, Debug)]
pub(crate) enum GroupsConsumer {
    Groups(Arc<SharedGroups>, usize),
    Rows(Arc<SharedRows>, usize),
}

impl SharedGroups {
    pub(super) fn new(scan_input: ScanInput, specs: Vec<AggregateSpec>) -> Self {
        Self {
            slots: Slots::new(specs.len()),
            scan_input,
            specs,
            read: Mutex::new(None),
        }
    }

    /// The groups of one consumer: the first consumer that runs reads for all.
    fn groups(&self, number: usize, work: &Work) -> Result<Option<GrantedGroups>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = match read.take() {
            Some(answers) => answers,
            None => {
                let answers = work.read(&self.scan_input, &self.specs)?;
                if work.is_cancelled() {
                    // The reading did not reach its end: the next consumer reads for the others.
                    return Ok(answers.into_iter().nth(number));
                }
                answers.into_iter().map(Some).collect()
            }
        };
        let answers = read.insert(answers);
        Ok(answers.get_mut(number).and_then(Option::take))
    }
}

impl fmt::Debug for SharedGroups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedGroups")
            .field("scan_input", &self.scan_input)
            .finish_non_exhaustive()
    }
}

impl GroupsConsumer {
    /// Attaches the consumer; false where it was attached before.
    pub(crate) fn attach(&self, scan_report: &ScanReport) -> Result<bool> {
        match self {
            Self::Groups(scan, number) => {
                let sources = &scan.scan_input.reading.sources;
                scan.slots.attach(*number, sources, scan_report)
            }
            Self::Rows(scan, number) => scan.attach_for_groups(*number, scan_report),
        }
    }

    /// The groups, once all is read.
    pub(crate) fn groups(&self, work: &Work) -> Result<Option<GrantedGroups>> {
        match self {
            Self::Groups(scan, number) => scan.groups(*number, work),
            Self::Rows(scan, number) => scan.groups(*number, work),
        }
    }

    /// The text of EXPLAIN.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::Groups(scan, _) => scan.slots.described(),
            Self::Rows(scan, _) => scan.described(),
        }
    }
}
