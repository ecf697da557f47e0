//! The readings of a fused aggregate, and their groups.

use datafusion::error::{DataFusionError, Result};
use weir_tables::{Aggregate, Branch, Function, Source, compiles};

use crate::scan::Reading;

/// A scan, and the number of its readers.
#[derive(Clone, Debug)]
pub(crate) struct ScanInput {
    pub(crate) reading: Reading,
    /// Files that are read side by side.
    pub(crate) partitions: Vec<Vec<Source>>,
    /// The number of parts of the one file that are read side by side, at most; 1 when it is read whole.
    pub(crate) parts: usize,
    /// The index of the part that is read, and the number of parts: others read the rest.
    pub(crate) part: Option<(usize, usize)>,
}

impl ScanInput {
    /// Returns whether one of the sources has no end yet.
    pub(crate) fn is_growing(&self) -> bool {
        self.reading.sources.iter().any(Source::is_growing)
    }
}

/// The groups that an aggregate computes from a reading.
#[derive(Clone, Debug)]
pub(crate) struct AggregateSpec {
    pub(crate) branches: Vec<Branch>,
    pub(crate) functions: Vec<Function>,
}

impl AggregateSpec {
    /// The groups, still empty.
    pub(crate) fn aggregate(&self) -> Result<Aggregate> {
        let aggregate = Aggregate::new(self.branches.clone(), &self.functions);
        aggregate.ok_or_else(|| {
            DataFusionError::Internal("an aggregate that was checked is not one".to_owned())
        })
    }
}

/// One reading of some files, and all that takes up its rows.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    pub(crate) scan_input: ScanInput,
    pub(crate) branches: Vec<Branch>,
}

impl Pass {
    /// Whether the filter and the aggregates of the records are compiled, or why not; `None` where it makes no difference.
    pub(super) fn compiles(&self, functions: &[Function]) -> Option<Result<(), &'static str>> {
        let reading = &self.scan_input.reading;
        let aggregate = Aggregate::new(self.branches.clone(), functions)?;
        compiles(&aggregate, &reading.sources, reading.compile)
    }
}
