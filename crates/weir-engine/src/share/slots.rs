//! The places of the consumers of a shared scan.

use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::error::Result;
use weir_tables::Source;

use crate::scan::take_stdin;
use crate::scan_report::ScanReport;

/// The consumers of a shared scan that have begun, and whether its sources are taken.
#[derive(Debug)]
pub(super) struct Slots {
    attached: Vec<AtomicBool>,
    is_open: AtomicBool,
}

impl Slots {
    pub(super) fn new(count: usize) -> Self {
        Self {
            attached: (0..count).map(|_| AtomicBool::new(false)).collect(),
            is_open: AtomicBool::new(false),
        }
    }

    /// Attaches a consumer; false where it was attached before, as in a plan that runs again.
    pub(super) fn attach(
        &self,
        number: usize,
        sources: &[Source],
        scan_report: &ScanReport,
    ) -> Result<bool> {
        let attached = self.attached.get(number);
        if attached.is_none_or(|attached| attached.swap(true, Ordering::Relaxed)) {
            return Ok(false);
        }
        if !self.is_open.swap(true, Ordering::Relaxed) {
            take_stdin(sources, scan_report)?;
        }
        Ok(true)
    }

    /// The text of EXPLAIN.
    pub(super) fn described(&self) -> String {
        match self.attached.len() {
            2 => "read once with=1 other".to_owned(),
            count => format!("read once with={} others", count.saturating_sub(1)),
        }
    }
}
