//! Captures in pieces, which other machines read.
//!
//! A scheduler gives parts of a plan to machines by cutting the leaves that it supports, such as the partitions of
//! tables in memory. So a piece is data, a partition of a table in memory with the names of the sources of the piece,
//! and the operator that reads them is above it ([`PieceExec`]). A leaf of another type would not be cut: each machine
//! would read all of it.
//!
//! The rule [`CutIntoPieces`] makes such plans out of those with scans. A scan is described by names and expressions
//! ([`ScanDescription`]), and each machine makes its scan of them by the code that makes scans here. A statement whose
//! plan cannot be cut travels as its text ([`QueryDescription`]), and one machine answers it. Counts of what was read,
//! and damage, come back as metrics (`report`), which schedulers carry.

mod described;
mod node;
mod report;
mod rule;
mod settings;

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;

pub use described::{QueryDescription, ScanDescription, TemplateScan};
pub use node::{PieceExec, PieceWork};
pub use report::Reports;
pub(crate) use rule::{CutIntoPieces, SendAway};
pub use settings::PieceSettings;

/// The captures of a plan whose parts do not fit together, by the reports of their readers: they have to be read whole
/// ([`without_cuts`]), or the answer would be wrong.
///
/// # Errors
/// When the walk over the plan fails, which its steps do not.
pub fn false_cuts(plan: &Arc<dyn ExecutionPlan>, reports: &Reports) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    plan.apply(|node| {
        if let Some(piece) = node.downcast_ref::<PieceExec>() {
            wrong.extend(piece.false_cuts(reports));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    wrong.sort_unstable();
    wrong.dedup();
    Ok(wrong)
}

/// The plan with these captures read whole.
///
/// # Errors
/// When an operator does not take the pieces, which would be a defect of this crate.
pub fn without_cuts(
    plan: Arc<dyn ExecutionPlan>,
    files: &[String],
) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| match node.downcast_ref::<PieceExec>() {
        Some(piece) => {
            let whole: Arc<dyn ExecutionPlan> = Arc::new(piece.without_cuts(files)?);
            Ok(Transformed::yes(whole))
        }
        None => Ok(Transformed::no(node)),
    })
    .data()
}
