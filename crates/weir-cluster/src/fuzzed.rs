//! The validation of all messages behind one function of bytes, for fuzzing.

use ballista_core::serde::protobuf::execute_query_params::Query;
use ballista_core::serde::protobuf::{
    ExecuteQueryParams, LaunchMultiTaskParams, RegisterExecutorParams, UpdateTaskStatusParams,
};
use prost::Message;

use crate::check::{self, Checked, Refused, Sender, check_plan, check_template};
use crate::services::{beaten, reached};

/// Validates a message whose type is in its first byte: 0 a plan of a client, 1 a stage of a scheduler, 2 the embedded plan of a
/// piece, 3 a query with its settings, 4 statuses of tasks, 5 a Flight ticket, 6 the registration of an executor, 7 tasks, 8 a
/// heartbeat. True when it is accepted.
///
/// # Panics
/// When an error is not one short line, or the same message is accepted once and rejected once.
#[must_use]
pub fn look_at_message(bytes: &[u8]) -> bool {
    let Some((service, message)) = bytes.split_first() else {
        return false;
    };
    let looked = look_at(*service % SERVICES, message);
    if let Err(refused) = &looked {
        let text = refused.to_string();
        assert!(
            text.len() <= ERROR_BYTES_MAX,
            "the error has {} bytes",
            text.len()
        );
        assert!(!text.contains(char::is_control), "{text:?}");
    }
    let is_let_in = looked.is_ok();
    assert_eq!(look_at(*service % SERVICES, message).is_ok(), is_let_in);
    is_let_in
}

fn look_at(service: u8, message: &[u8]) -> Checked {
    match service {
        0 => check_plan(message, Sender::Client),
        1 => check_plan(message, Sender::Scheduler),
        2 => check_template(message),
        3 => statement(&read(message)?),
        4 => statuses(&read(message)?),
        5 => check::check_ticket(message).map(drop),
        6 => reached(&mut read::<RegisterExecutorParams>(message)?.metadata),
        7 => tasks(read(message)?),
        _ => beaten(&mut read(message)?),
    }
}

fn read<M: Message + Default>(message: &[u8]) -> Result<M, Refused> {
    M::decode(message).map_err(|_| Refused::malformed("the message cannot be decoded"))
}

fn statement(request: &ExecuteQueryParams) -> Checked {
    check::session_id(&request.session_id)?;
    check::check_settings(&request.settings)?;
    match &request.query {
        Some(Query::PhysicalPlan(plan)) => check_plan(plan, Sender::Client),
        _ => Err(Refused::malformed("the query is not a physical plan")),
    }
}

fn statuses(reported: &UpdateTaskStatusParams) -> Checked {
    check::executor_id(&reported.executor_id)?;
    check::statuses(reported.task_status.len())?;
    reported.task_status.iter().try_for_each(|status| {
        check::job_id(&status.job_id)?;
        check::finished(status, &reported.executor_id)
    })
}

fn tasks(sent: LaunchMultiTaskParams) -> Checked {
    sent.multi_tasks.into_iter().try_for_each(|tasks| {
        check::job_id(&tasks.job_id)?;
        check::session_id(&tasks.session_id)?;
        check::launched(&tasks.task_ids)?;
        check_plan(&tasks.plan, Sender::Scheduler)?;
        check::allowed_settings(tasks.props).map(|_| ())
    })
}

const SERVICES: u8 = 9;
/// A character has up to four bytes.
const ERROR_BYTES_MAX: usize = 2048;
