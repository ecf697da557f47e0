//! Validation of what executors report: the statuses of their tasks, their heartbeats and their end.
//!
//! Ballista adds up the numbers of all tasks of a stage in `usize` without a check, keeps every text, and copies each metric for each
//! partition of its task. So numbers are bounded here, far below those at which the sum over all tasks of a stage could overflow, and
//! so are texts and lengths of lists.

use ballista_core::serde::protobuf::failed_task::FailedReason;
use ballista_core::serde::protobuf::operator_metric::Metric;
use ballista_core::serde::protobuf::{
    ExecutorRegistration, ExecutorStoppedParams, FailedTask, HeartBeatParams, OperatorMetricsSet,
    ShuffleWritePartition, SuccessfulTask, TaskColumnStats, TaskId, TaskStatus, executor_status,
    task_status,
};
use weir_engine::Reports;

use super::{Checked, Refused, counted, executor_id};

/// Validates the number of statuses in one message.
pub(crate) fn statuses(count: usize) -> Checked {
    counted("statuses of tasks", count as u64, STATUSES_MAX as u64)
}

/// Validates the tasks of a stage that an executor is sent.
pub(crate) fn launched(tasks: &[TaskId]) -> Checked {
    counted("tasks of a stage", tasks.len() as u64, LAUNCHED_MAX)?;
    tasks.iter().try_for_each(|task| {
        let partitions = task.global_output_partition_ids.len();
        counted("partitions of a task", partitions as u64, PARTITIONS_MAX)
    })
}

/// Validates the status of a task that has ended on an executor.
pub(crate) fn finished(status: &TaskStatus, executor: &str) -> Checked {
    let times = [
        status.launch_time,
        status.start_exec_time,
        status.end_exec_time,
    ];
    for time in times {
        counted("milliseconds since 1970", time, TIME_MAX)?;
    }
    if status.end_exec_time < status.start_exec_time {
        return Err(Refused::malformed("a task ends before it starts"));
    }
    metrics(&status.metrics)?;
    match &status.status {
        Some(task_status::Status::Successful(of)) => successful(of, executor),
        Some(task_status::Status::Failed(of)) => failed(of),
        Some(task_status::Status::Running(_)) | None => {
            Err(Refused::malformed("the task of a status has not ended"))
        }
    }
}

fn successful(of: &SuccessfulTask, executor: &str) -> Checked {
    if of.executor_id != executor {
        return Err(Refused::malformed(
            "the executor ID of the task is not that of the sender",
        ));
    }
    // weir's plans have no operators that report them.
    if !of.runtime_stats.is_empty() || !of.window_state.is_empty() {
        return Err(Refused::not_allowed("a task status with operator state"));
    }
    partitions(&of.partitions)?;
    columns(&of.task_column_stats)
}

fn partitions(of: &[ShuffleWritePartition]) -> Checked {
    counted("partitions of a task", of.len() as u64, PARTITIONS_MAX)?;
    let (mut rows, mut bytes, mut batches) = (Sum::default(), Sum::default(), Sum::default());
    for partition in of {
        numbered("partition", partition.partition_id, PARTITIONS_MAX)?;
        // The number of a file is that of its task.
        let file = partition.file_id.unwrap_or_default();
        numbered("file", file, u64::from(u32::MAX))?;
        rows.add("rows of a task", partition.num_rows)?;
        bytes.add("bytes of a task", partition.num_bytes)?;
        batches.add("batches of a task", partition.num_batches)?;
    }
    Ok(())
}

fn columns(of: &[TaskColumnStats]) -> Checked {
    counted("columns of a task", of.len() as u64, COLUMNS_MAX)?;
    for column in of {
        numbered("column", column.column.into(), COLUMNS_MAX)?;
        // The writers of weir's plans make none.
        if !column.sketches.is_empty() {
            return Err(Refused::not_allowed("a task status with sketches"));
        }
        counted("NULLs of a column", column.null_count, COUNT_MAX)?;
    }
    Ok(())
}

fn failed(of: &FailedTask) -> Checked {
    text("the error of a task", &of.error, ERROR_BYTES_MAX)?;
    match &of.failed_reason {
        Some(FailedReason::FetchPartitionError(lost)) => executor_id(&lost.executor_id),
        _ => Ok(()),
    }
}

/// Validates the metrics of a task, and the sums over each of its operators.
fn metrics(sets: &[OperatorMetricsSet]) -> Checked {
    counted("operators with metrics", sets.len() as u64, OPERATORS_MAX)?;
    let all = sets.iter().map(|set| set.metrics.len() as u64);
    let all = all.fold(0, u64::saturating_add);
    counted("metrics of a task", all, METRICS_MAX)?;
    for set in sets {
        let mut sums: [Sum; 6] = Default::default();
        for metric in &set.metrics {
            let partition = u64::from(metric.partition.unwrap_or_default());
            numbered("partition", partition, PARTITIONS_MAX)?;
            // Ballista would drop all statuses of the message.
            let Some(value) = &metric.metric else {
                return Err(Refused::malformed("a metric has no value"));
            };
            let [rows, bytes, batches, spills, spilled_rows, spilled_bytes] = &mut sums;
            match value {
                Metric::OutputRows(count) => rows.add("rows of an operator", *count)?,
                Metric::OutputBytes(count) => bytes.add("bytes of an operator", *count)?,
                Metric::OutputBatches(count) => batches.add("batches of an operator", *count)?,
                Metric::SpillCount(count) => spills.add("spills of an operator", *count)?,
                Metric::SpilledRows(count) => spilled_rows.add("spilled rows", *count)?,
                Metric::SpilledBytes(count) => spilled_bytes.add("spilled bytes", *count)?,
                Metric::Count(of) if Reports::is_of_progress(&of.name) => {
                    name(&of.name)?;
                    counted("records or bytes of a piece", of.value, COUNT_MAX)?;
                }
                Metric::Count(of) => name(&of.name)?,
                Metric::Gauge(of) => name(&of.name)?,
                Metric::Time(of) => name(&of.name)?,
                Metric::PruningMetrics(of) => name(&of.name)?,
                Metric::Ratio(of) => name(&of.name)?,
                // Times and memory are only shown, and not used in computations.
                Metric::ElapseTime(_)
                | Metric::CurrentMemoryUsage(_)
                | Metric::StartTimestamp(_)
                | Metric::EndTimestamp(_) => {}
            }
        }
    }
    Ok(())
}

/// The name of a metric, which may be a damaged place of a capture with its reason.
fn name(of: &str) -> Checked {
    text("the name of a metric", of, NAME_BYTES_MAX)
}

/// Validates a heartbeat, apart from the registration in it.
pub(crate) fn beat(reported: &HeartBeatParams) -> Checked {
    // Executors of weir send none.
    if !reported.metrics.is_empty() {
        return Err(Refused::not_allowed("a heartbeat with metrics"));
    }
    let status = reported.status.as_ref().and_then(|of| of.status.as_ref());
    match status {
        Some(
            executor_status::Status::Active(of)
            | executor_status::Status::Dead(of)
            | executor_status::Status::Unknown(of)
            | executor_status::Status::Terminating(of),
        ) => text("the status of an executor", of, REASON_BYTES_MAX),
        None => Ok(()),
    }
}

/// Validates the end of an executor.
pub(crate) fn stopped(reported: &ExecutorStoppedParams) -> Checked {
    executor_id(&reported.executor_id)?;
    text("the reason of an end", &reported.reason, REASON_BYTES_MAX)
}

/// Validates lengths in the registration of an executor.
pub(crate) fn described(executor: &ExecutorRegistration) -> Checked {
    let resources = executor.specification.iter().map(|of| of.resources.len());
    counted(
        "resources of an executor",
        resources.sum::<usize>() as u64,
        RESOURCES_MAX,
    )?;
    let Some(of) = &executor.os_info else {
        return Err(Refused::malformed("the executor has no operating system"));
    };
    [&of.system_name, &of.kernel_ver, &of.os_ver, &of.os_ver_long]
        .into_iter()
        .try_for_each(|of| text("a name of a system", of, REASON_BYTES_MAX))
}

/// A sum of numbers of a task.
#[derive(Default)]
struct Sum(u64);

impl Sum {
    fn add(&mut self, what: &str, number: u64) -> Checked {
        counted(what, number, COUNT_MAX)?;
        self.0 = self.0.saturating_add(number);
        counted(what, self.0, COUNT_MAX)
    }
}

/// Checks a number that counts from 0.
fn numbered(what: &str, number: u64, count: u64) -> Checked {
    match number < count {
        true => Ok(()),
        false => Err(Refused::malformed(format!(
            "{number} is not the number of a {what}: the limit is {count}"
        ))),
    }
}

fn text(what: &str, of: &str, most: usize) -> Checked {
    match of.len() <= most {
        true => Ok(()),
        false => Err(Refused::malformed(format!(
            "{what} has {} bytes, and the limit is {most}",
            of.len()
        ))),
    }
}

/// The maximum number of statuses in one message.
pub(crate) const STATUSES_MAX: usize = 256;
/// The maximum number of tasks of a stage in one message: an executor has a place for each of its cores.
const LAUNCHED_MAX: u64 = 4096;
/// The maximum size of the text of an error.
pub(crate) const ERROR_BYTES_MAX: usize = 64 << 10;
/// A path, what is wrong there, and a hint.
const NAME_BYTES_MAX: usize = 64 << 10;
const REASON_BYTES_MAX: usize = 1 << 10;
/// The maximum number of rows, bytes or batches of a task. A stage has 65,536 tasks at most, so that their sum is below 2^63.
const COUNT_MAX: u64 = 1 << 47;
/// The maximum number of partitions of a task, as of the readers of a stage.
const PARTITIONS_MAX: u64 = 1 << 16;
const COLUMNS_MAX: u64 = 1 << 16;
const OPERATORS_MAX: u64 = 4096;
const METRICS_MAX: u64 = 1 << 18;
const RESOURCES_MAX: u64 = 16;
/// The year 10000.
const TIME_MAX: u64 = 253_402_300_800_000;

#[cfg(test)]
mod tests {
    use ballista_core::serde::protobuf::{
        ColumnSketch, ExecutorMetric, ExecutorOperatingSystemSpecification, ExecutorResource,
        ExecutorSpecification, ExecutorStatus, FetchPartitionError, NamedCount, OperatorMetric,
        RunningTask, RuntimeStatsReport,
    };

    use super::*;

    fn successful(change: impl FnOnce(&mut SuccessfulTask)) -> TaskStatus {
        let mut of = SuccessfulTask {
            executor_id: "e".to_owned(),
            ..SuccessfulTask::default()
        };
        change(&mut of);
        TaskStatus {
            status: Some(task_status::Status::Successful(of)),
            ..TaskStatus::default()
        }
    }

    #[test]
    fn a_status_is_of_a_task_that_has_ended_on_its_sender() {
        assert!(finished(&successful(|_| {}), "e").is_ok());
        let failed = task_status::Status::Failed(FailedTask::default());
        assert!(
            finished(
                &TaskStatus {
                    status: Some(failed),
                    ..TaskStatus::default()
                },
                "e"
            )
            .is_ok()
        );
        let running = task_status::Status::Running(RunningTask {
            executor_id: "e".to_owned(),
        });
        let far = ShuffleWritePartition {
            partition_id: 1 << 40,
            ..ShuffleWritePartition::default()
        };
        for status in [
            TaskStatus::default(),
            TaskStatus {
                status: Some(running),
                ..TaskStatus::default()
            },
            successful(|of| of.executor_id = "other".to_owned()),
            successful(|of| of.runtime_stats.push(RuntimeStatsReport::default())),
            successful(|of| of.partitions.push(far)),
        ] {
            assert!(finished(&status, "e").is_err(), "{status:?}");
        }
    }

    fn partition(change: impl FnOnce(&mut ShuffleWritePartition)) -> ShuffleWritePartition {
        let mut of = ShuffleWritePartition::default();
        change(&mut of);
        of
    }

    fn measured(metrics: Vec<Metric>) -> TaskStatus {
        let metrics = metrics.into_iter().map(|metric| OperatorMetric {
            metric: Some(metric),
            partition: None,
        });
        TaskStatus {
            metrics: vec![OperatorMetricsSet {
                metrics: metrics.collect(),
            }],
            ..successful(|_| {})
        }
    }

    /// The largest numbers that are taken, and the smallest ones that are not.
    #[test]
    fn numbers_of_a_status_are_bounded_each_and_together() {
        let half = COUNT_MAX / 2;
        let fields: [fn(&mut ShuffleWritePartition, u64); 3] = [
            |of, number| of.num_rows = number,
            |of, number| of.num_bytes = number,
            |of, number| of.num_batches = number,
        ];
        for set in fields {
            let with = |numbers: &[u64]| {
                let of = numbers
                    .iter()
                    .map(|number| partition(|of| set(of, *number)));
                finished(&successful(|task| task.partitions = of.collect()), "e")
            };
            assert!(with(&[COUNT_MAX]).is_ok());
            assert!(with(&[half, half]).is_ok());
            for absurd in [
                &[COUNT_MAX + 1][..],
                &[u64::MAX],
                &[half, half, 1],
                &[u64::MAX, 1],
                &[1, u64::MAX],
            ] {
                assert!(with(absurd).is_err(), "{absurd:?}");
            }
        }
        let many = |count| {
            let of = vec![ShuffleWritePartition::default(); count];
            finished(&successful(|task| task.partitions = of), "e")
        };
        assert!(many(1 << 16).is_ok());
        assert!(many((1 << 16) + 1).is_err());
        for absurd in [
            partition(|of| of.partition_id = 1 << 16),
            partition(|of| of.file_id = Some(u64::MAX)),
        ] {
            assert!(finished(&successful(|of| of.partitions.push(absurd)), "e").is_err());
        }
        let column = |column, null_count, sketches| TaskColumnStats {
            column,
            null_count,
            sketches,
        };
        assert!(
            finished(
                &successful(|of| of.task_column_stats = vec![column(3, 7, Vec::new())]),
                "e"
            )
            .is_ok()
        );
        for absurd in [
            vec![column(u32::MAX, 0, Vec::new())],
            vec![column(0, u64::MAX, Vec::new())],
            vec![column(0, 0, vec![ColumnSketch::default()])],
            vec![column(0, 0, Vec::new()); (1 << 16) + 1],
        ] {
            assert!(finished(&successful(|of| of.task_column_stats = absurd), "e").is_err());
        }
    }

    #[test]
    fn metrics_times_and_texts_of_a_status_are_bounded() {
        let count = |name: &str, value| {
            Metric::Count(NamedCount {
                name: name.to_owned(),
                value,
            })
        };
        for usual in [
            measured(vec![
                Metric::OutputRows(COUNT_MAX),
                Metric::OutputBytes(COUNT_MAX),
            ]),
            measured(vec![
                count("weir.0.0.records", 10),
                count("weir.0.0.cut_start", u64::MAX),
            ]),
            measured(vec![
                Metric::EndTimestamp(i64::MIN),
                Metric::ElapseTime(u64::MAX),
            ]),
        ] {
            assert!(finished(&usual, "e").is_ok(), "{usual:?}");
        }
        let late = |start, end| TaskStatus {
            start_exec_time: start,
            end_exec_time: end,
            ..successful(|_| {})
        };
        let failing = |of| TaskStatus {
            status: Some(task_status::Status::Failed(of)),
            ..TaskStatus::default()
        };
        assert!(finished(&late(5, 5), "e").is_ok());
        let empty = OperatorMetric::default();
        let far = OperatorMetric {
            metric: Some(Metric::OutputRows(1)),
            partition: Some(u32::MAX),
        };
        let of_operator = |metrics| TaskStatus {
            metrics: vec![OperatorMetricsSet { metrics }],
            ..successful(|_| {})
        };
        let lost = FailedReason::FetchPartitionError(FetchPartitionError {
            executor_id: "x".repeat(201),
            ..FetchPartitionError::default()
        });
        for absurd in [
            measured(vec![Metric::OutputRows(u64::MAX)]),
            measured(vec![Metric::OutputRows(COUNT_MAX), Metric::OutputRows(1)]),
            measured(vec![
                Metric::SpilledBytes(u64::MAX),
                Metric::SpilledBytes(u64::MAX),
            ]),
            measured(vec![count("weir.0.0.records", u64::MAX)]),
            measured(vec![count(&"x".repeat(NAME_BYTES_MAX + 1), 1)]),
            measured(vec![Metric::ElapseTime(1); METRICS_MAX as usize + 1]),
            of_operator(vec![empty]),
            of_operator(vec![far]),
            TaskStatus {
                metrics: vec![OperatorMetricsSet::default(); OPERATORS_MAX as usize + 1],
                ..successful(|_| {})
            },
            late(6, 5),
            late(0, u64::MAX),
            failing(FailedTask {
                error: "x".repeat(ERROR_BYTES_MAX + 1),
                ..FailedTask::default()
            }),
            failing(FailedTask {
                failed_reason: Some(lost),
                ..FailedTask::default()
            }),
        ] {
            let refused = finished(&absurd, "e").unwrap_err().to_string();
            assert!(refused.len() < 200, "{refused}");
        }
        assert!(statuses(STATUSES_MAX).is_ok());
        assert!(statuses(STATUSES_MAX + 1).is_err());
    }

    /// Eight million tasks in one message became as many plans of a stage, before an executor counted them.
    #[test]
    fn tasks_in_a_message_are_bounded() {
        let most = usize::try_from(LAUNCHED_MAX).unwrap();
        assert!(launched(&vec![TaskId::default(); most]).is_ok());
        assert!(launched(&vec![TaskId::default(); most + 1]).is_err());
        let of_partitions = |count: u64| TaskId {
            global_output_partition_ids: vec![0; usize::try_from(count).unwrap()],
            ..TaskId::default()
        };
        assert!(launched(&[of_partitions(PARTITIONS_MAX)]).is_ok());
        assert!(launched(&[of_partitions(PARTITIONS_MAX + 1)]).is_err());
    }

    #[test]
    fn heartbeats_and_registrations_have_no_long_texts() {
        let long = "x".repeat(REASON_BYTES_MAX + 1);
        assert!(beat(&HeartBeatParams::default()).is_ok());
        let metrics = vec![ExecutorMetric::default()];
        let status = executor_status::Status::Active(long.clone());
        for absurd in [
            HeartBeatParams {
                metrics,
                ..HeartBeatParams::default()
            },
            HeartBeatParams {
                status: Some(ExecutorStatus {
                    status: Some(status),
                }),
                ..HeartBeatParams::default()
            },
        ] {
            assert!(beat(&absurd).is_err(), "{absurd:?}");
        }
        let end = |reason: &str| ExecutorStoppedParams {
            executor_id: "e".to_owned(),
            reason: reason.to_owned(),
        };
        assert!(stopped(&end("asked to end")).is_ok());
        assert!(stopped(&end(&long)).is_err());
        let system = ExecutorOperatingSystemSpecification::default();
        let usual = ExecutorRegistration {
            os_info: Some(system.clone()),
            ..ExecutorRegistration::default()
        };
        assert!(described(&usual).is_ok());
        let many = ExecutorSpecification {
            resources: vec![ExecutorResource::default(); 17],
        };
        let named = ExecutorOperatingSystemSpecification {
            os_ver_long: long,
            ..system
        };
        for absurd in [
            ExecutorRegistration::default(),
            ExecutorRegistration {
                specification: Some(many),
                ..usual.clone()
            },
            ExecutorRegistration {
                os_info: Some(named),
                ..usual.clone()
            },
        ] {
            assert!(described(&absurd).is_err(), "{absurd:?}");
        }
    }
}
