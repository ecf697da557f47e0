//! The shuffle operators of Ballista. A scheduler adds them to the plans of stages; the plans of clients have none.

use ballista_core::serde::protobuf::ballista_physical_plan_node::PhysicalPlanType;
use ballista_core::serde::protobuf::{
    BallistaPhysicalPlanNode, CoalescePlan, ShuffleReaderExecNode, ShuffleReaderPartition,
    SortShuffleWriterExecNode,
};
use datafusion_proto::protobuf::Partitioning;
use datafusion_proto::protobuf::partitioning::PartitionMethod;

use super::fields::decoded_up_to;
use super::{Checked, Refused, counted, executor_id, expression, host, job_id, port, value};

/// The position of a shuffle operator in a stage.
pub(super) enum Exchange {
    /// A shuffle writer, at the root of a stage.
    Writer,
    /// A shuffle reader, at a leaf of a stage, with its number of partitions.
    Reader(u64),
}

/// Validates a serialized node.
pub(super) fn exchange(bytes: &[u8]) -> Result<Exchange, Refused> {
    let node: BallistaPhysicalPlanNode = decoded_up_to(FIELDS_MAX, "the shuffle operator", bytes)?;
    match &node.physical_plan_type {
        Some(PhysicalPlanType::ShuffleWriter(writer)) => {
            job_id(&writer.job_id)?;
            match writer.input.is_none() && writer.output_partitioning.is_none() {
                true => Ok(Exchange::Writer),
                false => Err(Refused::not_allowed(
                    "a ShuffleWriterExec with an input of its own",
                )),
            }
        }
        Some(PhysicalPlanType::SortShuffleWriter(writer)) => {
            sort_writer(writer)?;
            Ok(Exchange::Writer)
        }
        Some(PhysicalPlanType::ShuffleReader(node)) => Ok(Exchange::Reader(reader(node)?)),
        Some(other) => {
            let message = format!("{other:?}");
            let name = message.split('(').next().unwrap_or_default();
            Err(Refused::not_allowed(format!("the node {name} of Ballista")))
        }
        None => Err(Refused::malformed("the shuffle operator is empty")),
    }
}

fn sort_writer(writer: &SortShuffleWriterExecNode) -> Checked {
    job_id(&writer.job_id)?;
    if writer.input.is_some() {
        return Err(Refused::not_allowed(
            "a SortShuffleWriterExec with an input of its own",
        ));
    }
    counted("rows of a batch", writer.batch_size, ROWS_MAX)?;
    let Some(partitioning) = &writer.output_partitioning else {
        return Err(Refused::malformed("the partitioning is missing"));
    };
    expression::each(&partitioning.hash_expr)?;
    match partitioning.partition_count {
        0 => Err(Refused::malformed("a shuffle writer has 0 partitions")),
        partitions => counted("partitions", partitions, PARTITIONS_MAX),
    }
}

fn reader(node: &ShuffleReaderExecNode) -> Result<u64, Refused> {
    value::schema(node.schema.as_ref())?;
    node.partition.iter().try_for_each(locations)?;
    if let Some(coalesce) = &node.coalesce {
        coalesced(coalesce)?;
    }
    counted(
        "partitions",
        u64::from(node.upstream_partition_count),
        READ_MAX,
    )?;
    let declared = match &node.partitioning {
        Some(of) => partitions(of)?,
        None => return Err(Refused::malformed("the shuffle reader has no partitioning")),
    };
    let partitions = declared.max(node.partition.len() as u64);
    counted("partitions", partitions, READ_MAX)?;
    Ok(partitions)
}

/// The number of partitions of a partitioning.
pub(super) fn partitions(of: &Partitioning) -> Result<u64, Refused> {
    match &of.partition_method {
        Some(PartitionMethod::RoundRobin(count) | PartitionMethod::Unknown(count)) => Ok(*count),
        Some(PartitionMethod::Hash(hash)) => {
            expression::each(&hash.hash_expr)?;
            Ok(hash.partition_count)
        }
        Some(PartitionMethod::Range(_)) => Err(Refused::not_allowed("range partitioning")),
        None => Err(Refused::malformed("the partitioning is missing")),
    }
}

/// Validates the locations of a partition: job IDs become paths, and the reader connects to the hosts.
fn locations(partition: &ShuffleReaderPartition) -> Checked {
    for location in &partition.location {
        let (Some(of), Some(executor)) = (&location.partition_id, &location.executor_meta) else {
            return Err(Refused::malformed(
                "the location of a partition is incomplete",
            ));
        };
        job_id(&of.job_id)?;
        executor_id(&executor.id)?;
        host(&executor.host)?;
        port(executor.port)?;
        if executor.specification.is_none()
            || executor.os_info.is_none()
            || location.partition_stats.is_none()
        {
            return Err(Refused::malformed(
                "the location of a partition has no statistics or no executor metadata",
            ));
        }
    }
    Ok(())
}

fn coalesced(plan: &CoalescePlan) -> Checked {
    counted(
        "partitions",
        u64::from(plan.upstream_partition_count),
        READ_MAX,
    )?;
    let of_upstream = |index: &u32| *index < plan.upstream_partition_count;
    match plan
        .groups
        .iter()
        .all(|group| group.upstream_indices.iter().all(of_upstream))
    {
        true => Ok(()),
        false => Err(Refused::malformed(
            "the coalesced shuffle reader has an upstream index out of range",
        )),
    }
}

/// Partitions that rows are dealt out to, at most.
pub(super) const PARTITIONS_MAX: u64 = 1024;
/// The maximum number of partitions that a stage reads. A stage can have a partition for each piece of a capture.
pub(super) const READ_MAX: u64 = 1 << 16;
/// The maximum number of fields of a shuffle operator, and of a stage with one: a stage reads from a location for each of its partitions at least.
pub(super) const FIELDS_MAX: u64 = READ_MAX * 32;
/// The maximum number of rows of a batch.
pub(super) const ROWS_MAX: u64 = 1 << 16;

#[cfg(test)]
mod tests {
    use datafusion_proto::protobuf::PhysicalHashRepartition;

    use super::*;

    #[test]
    fn a_shuffle_writer_has_partitions() {
        let of = |partition_count| SortShuffleWriterExecNode {
            job_id: "job".to_owned(),
            output_partitioning: Some(PhysicalHashRepartition {
                partition_count,
                ..PhysicalHashRepartition::default()
            }),
            ..SortShuffleWriterExecNode::default()
        };
        sort_writer(&of(1)).unwrap();
        let refused = sort_writer(&of(0)).unwrap_err().to_string();
        assert!(refused.contains("0 partitions"), "{refused}");
    }
}
