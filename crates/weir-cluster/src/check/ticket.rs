//! Validation of Arrow Flight tickets.

use ballista_core::serde::protobuf::Action;
use ballista_core::serde::protobuf::action::ActionType;

use super::{Refused, decoded, job_id};

/// Validates a ticket, and returns its job ID. The job ID and numbers become a path; its host is not used.
///
/// # Errors
/// When it is not for the rows of a job.
pub(crate) fn check_ticket(bytes: &[u8]) -> Result<String, Refused> {
    let action: Action = decoded("the ticket", bytes)?;
    match action.action_type {
        Some(ActionType::FetchPartition(fetch)) => {
            job_id(&fetch.job_id)?;
            match fetch.byte_ranges.is_empty() {
                true => Ok(fetch.job_id),
                false => Err(Refused::not_allowed("a ticket with byte ranges")),
            }
        }
        _ => Err(Refused::not_allowed("a ticket that is not FetchPartition")),
    }
}

#[cfg(test)]
mod tests {
    use ballista_core::serde::protobuf::{ByteRange, FetchPartition};
    use prost::Message as _;

    use super::*;

    fn ticket(job: &str, byte_ranges: Vec<ByteRange>) -> Vec<u8> {
        let fetch = FetchPartition {
            job_id: job.to_owned(),
            stage_id: 1,
            byte_ranges,
            ..FetchPartition::default()
        };
        let action = Action {
            action_type: Some(ActionType::FetchPartition(fetch)),
            ..Action::default()
        };
        action.encode_to_vec()
    }

    #[test]
    fn a_ticket_names_a_job_and_no_path() {
        assert_eq!(check_ticket(&ticket("job", Vec::new())).unwrap(), "job");
        for job in ["", "..", "../../home", "/etc", "a/b"] {
            assert!(check_ticket(&ticket(job, Vec::new())).is_err(), "{job}");
        }
        assert!(
            check_ticket(&ticket(
                "job",
                vec![ByteRange {
                    offset: 0,
                    length: u64::MAX
                }]
            ))
            .is_err()
        );
        assert!(check_ticket(b"nothing").is_err());
        assert!(check_ticket(&[]).is_err());
    }
}
