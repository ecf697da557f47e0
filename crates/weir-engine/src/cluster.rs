//! The interface of an engine to other machines that run plans.

use std::fmt;
use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;

/// A cluster that runs plans.
pub trait Cluster: fmt::Debug + Send + Sync {
    /// The plan as an operator that sends it and returns the answer; `None` when a part of it cannot be serialized.
    fn sent(&self, plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>>;

    /// Partitions of what is put together out of the pieces.
    fn partitions(&self) -> usize;

    /// Bytes of a piece of a capture that is cut, about.
    fn piece_bytes(&self) -> u64;
}
