//! Nodes of Ballista, by which rows go from stage to stage. A scheduler puts them into plans; no client does.

use ballista_core::serde::protobuf::ballista_physical_plan_node::PhysicalPlanType;
use ballista_core::serde::protobuf::{
    BallistaPhysicalPlanNode, CoalescePlan, ShuffleReaderExecNode, ShuffleReaderPartition,
    SortShuffleWriterExecNode,
};
use datafusion_proto::protobuf::Partitioning;
use datafusion_proto::protobuf::partitioning::PartitionMethod;
use prost::Message;

use super::plan::{PARTITIONS_MAX, counted};
use super::{Checked, Refused, executor_id, expression, host, job_id, port, value};

/// What a node of Ballista is in a stage.
pub(super) enum Exchange {
    /// The end of a stage, above one input.
    Writer,
    /// A beginning of a stage, with so many partitions.
    Reader(u64),
}

/// Looks at the bytes of a node.
pub(super) fn exchange(bytes: &[u8]) -> Result<Exchange, Refused> {
    let node = BallistaPhysicalPlanNode::decode(bytes).map_err(|error| {
        Refused::malformed(format!("a node of a stage that cannot be read: {error}"))
    })?;
    match &node.physical_plan_type {
        Some(PhysicalPlanType::ShuffleWriter(writer)) => {
            job_id(&writer.job_id)?;
            match writer.input.is_none() && writer.output_partitioning.is_none() {
                true => Ok(Exchange::Writer),
                false => Err(Refused::not_allowed("a ShuffleWriterExec of another form")),
            }
        }
        Some(PhysicalPlanType::SortShuffleWriter(writer)) => {
            sort_writer(writer)?;
            Ok(Exchange::Writer)
        }
        Some(PhysicalPlanType::ShuffleReader(node)) => Ok(Exchange::Reader(reader(node)?)),
        Some(other) => {
            let said = format!("{other:?}");
            let name = said.split('(').next().unwrap_or_default();
            Err(Refused::not_allowed(format!("the node {name} of Ballista")))
        }
        None => Err(Refused::malformed("a node of a stage that is none")),
    }
}

fn sort_writer(writer: &SortShuffleWriterExecNode) -> Checked {
    job_id(&writer.job_id)?;
    if writer.input.is_some() {
        return Err(Refused::not_allowed(
            "a SortShuffleWriterExec of another form",
        ));
    }
    counted("rows of a batch", writer.batch_size, ROWS_MAX)?;
    let Some(partitioning) = &writer.output_partitioning else {
        return Err(Refused::malformed("rows that are dealt out by nothing"));
    };
    expression::each(&partitioning.hash_expr)?;
    counted("partitions", partitioning.partition_count, PARTITIONS_MAX)
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
        None => return Err(Refused::malformed("rows of a stage in no partitions")),
    };
    let partitions = declared.max(node.partition.len() as u64);
    counted("partitions", partitions, READ_MAX)?;
    Ok(partitions)
}

/// How many partitions there are.
pub(super) fn partitions(of: &Partitioning) -> Result<u64, Refused> {
    match &of.partition_method {
        Some(PartitionMethod::RoundRobin(count) | PartitionMethod::Unknown(count)) => Ok(*count),
        Some(PartitionMethod::Hash(hash)) => {
            expression::each(&hash.hash_expr)?;
            Ok(hash.partition_count)
        }
        Some(PartitionMethod::Range(_)) => {
            Err(Refused::not_allowed("rows that are dealt out by ranges"))
        }
        None => Err(Refused::malformed("rows that are dealt out by nothing")),
    }
}

/// Where rows of a stage lie: names of jobs become paths, and those of machines are connected to.
fn locations(partition: &ShuffleReaderPartition) -> Checked {
    for location in &partition.location {
        let (Some(of), Some(executor)) = (&location.partition_id, &location.executor_meta) else {
            return Err(Refused::malformed("rows of a stage that lie nowhere"));
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
                "rows of a stage without their size or their machine",
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
            "a partition that the stage before does not have",
        )),
    }
}

/// Partitions that are read, at most: a stage may have as many as there are pieces of captures.
pub(super) const READ_MAX: u64 = 1 << 16;
/// Rows of a batch, at most.
pub(super) const ROWS_MAX: u64 = 1 << 16;
