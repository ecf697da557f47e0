//! The rows of stages that were run again.
//!
//! Where an executor is lost, Ballista runs all tasks of a stage again whose input is gone, and leaves what those have written that had
//! ended before among the input of the next stage, or among the rows of the answer. They were counted twice. Here a stage reads what the
//! tasks of the last attempt have written, and so does a client.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ballista_core::execution_plans::ShuffleReaderExec;
use ballista_core::serde::protobuf::{PartitionLocation, task_status};
use ballista_scheduler::state::execution_stage::ExecutionStage;
use datafusion::common::tree_node::{Transformed, TreeNode as _};
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;

/// The executors that have the rows of partitions, by stage, partition and the task that has written them.
pub(crate) type Writers = HashMap<(usize, usize, usize), String>;

/// Whether a stage of a job was run again.
pub(crate) fn is_any_repeated(stages: &HashMap<usize, ExecutionStage>) -> bool {
    stages.values().any(|stage| attempt(stage) > 0)
}

/// What the tasks of the stages that have ended have written.
pub(crate) fn writers(stages: &HashMap<usize, ExecutionStage>) -> Writers {
    let mut writers = Writers::new();
    for stage in stages.values() {
        let ExecutionStage::Successful(stage) = stage else {
            continue;
        };
        for task in &stage.task_infos {
            let task_status::Status::Successful(done) = &task.task_status else {
                continue;
            };
            for written in &done.partitions {
                // A number that does not fit is that of no partition.
                let partition = usize::try_from(written.partition_id).unwrap_or(usize::MAX);
                let place = (stage.stage_id, partition, task.task_id);
                writers.insert(place, done.executor_id.clone());
            }
        }
    }
    writers
}

fn attempt(stage: &ExecutionStage) -> usize {
    match stage {
        ExecutionStage::UnResolved(stage) => stage.stage_attempt_num,
        ExecutionStage::Resolved(stage) => stage.stage_attempt_num,
        ExecutionStage::Running(stage) => stage.stage_attempt_num,
        ExecutionStage::Successful(stage) => stage.stage_attempt_num,
        ExecutionStage::Failed(stage) => stage.stage_attempt_num,
    }
}

/// The plan of a stage, which reads what these tasks have written, and each of it once.
///
/// # Errors
/// When an operator takes no other input.
pub(crate) fn reading_from(
    plan: &Arc<dyn ExecutionPlan>,
    writers: &Writers,
) -> Result<Arc<dyn ExecutionPlan>> {
    let rewritten = Arc::clone(plan).transform(|node| {
        Ok(match node.downcast_ref::<ShuffleReaderExec>() {
            Some(reader) => {
                let mut reader = reader.clone();
                for locations in &mut reader.partition {
                    let mut read = HashSet::new();
                    locations.retain(|location| {
                        let partition = &location.partition_id;
                        let task = location.map_partition_id;
                        let place = (partition.stage_id, partition.partition_id, task);
                        writers.get(&place) == Some(&location.executor_meta.id)
                            && read.insert(place)
                    });
                }
                Transformed::yes(Arc::new(reader))
            }
            None => Transformed::no(node),
        })
    })?;
    Ok(rewritten.data)
}

/// Whether there are rows of a partition in several places.
pub(crate) fn is_any_twice(rows: &[PartitionLocation]) -> bool {
    let mut known = HashSet::new();
    let partitions = rows.iter().filter_map(|of| of.partition_id.as_ref());
    !partitions
        .map(|of| (of.stage_id, of.partition_id))
        .all(|partition| known.insert(partition))
}

/// The rows that these tasks have written, each once.
pub(crate) fn rows_from(rows: Vec<PartitionLocation>, writers: &Writers) -> Vec<PartitionLocation> {
    let mut read = HashSet::new();
    let is_read = |of: &PartitionLocation| {
        let (Some(partition), Some(executor)) = (&of.partition_id, &of.executor_meta) else {
            return false;
        };
        let task = of.map_partition_id as usize;
        let place = (
            partition.stage_id as usize,
            partition.partition_id as usize,
            task,
        );
        writers.get(&place) == Some(&executor.id) && read.insert(place)
    };
    rows.into_iter().filter(is_read).collect()
}
