//! Validation of task statuses.

use ballista_core::serde::protobuf::{TaskStatus, task_status};

use super::{Checked, Refused};

/// Validates the status of a task that has ended on an executor.
pub(crate) fn finished(status: &TaskStatus, executor: &str) -> Checked {
    match &status.status {
        Some(task_status::Status::Successful(of)) => {
            if of.executor_id != executor {
                return Err(Refused::malformed(
                    "the executor ID of the task is not that of the sender",
                ));
            }
            // weir's plans have no operators that report them.
            if !of.runtime_stats.is_empty() || !of.window_state.is_empty() {
                return Err(Refused::not_allowed("a task status with operator state"));
            }
            match of
                .partitions
                .iter()
                .all(|of| of.partition_id <= PARTITION_MAX)
            {
                true => Ok(()),
                false => Err(Refused::malformed(format!(
                    "the number of a partition is above {PARTITION_MAX}"
                ))),
            }
        }
        Some(task_status::Status::Failed(_)) => Ok(()),
        Some(task_status::Status::Running(_)) | None => {
            Err(Refused::malformed("the task of a status has not ended"))
        }
    }
}

const PARTITION_MAX: u64 = 1 << 16;

#[cfg(test)]
mod tests {
    use ballista_core::serde::protobuf::{
        FailedTask, RunningTask, RuntimeStatsReport, ShuffleWritePartition, SuccessfulTask,
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
}
