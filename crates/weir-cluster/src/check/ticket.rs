//! Validation of Arrow Flight tickets.

use ballista_core::serde::protobuf::action::ActionType;
use ballista_core::serde::protobuf::{Action, FetchPartition, ShuffleFileKind, ShuffleLayout};

use super::{Refused, decoded, job_id};

/// Validates a ticket, and returns the partition of its rows. The job ID and numbers become a path; its host is not used.
///
/// # Errors
/// When it is not for the rows of a job.
pub(crate) fn check_ticket(bytes: &[u8]) -> Result<FetchPartition, Refused> {
    let action: Action = decoded("the ticket", bytes)?;
    match action.action_type {
        Some(ActionType::FetchPartition(fetch)) => {
            job_id(&fetch.job_id)?;
            let is_of_rows = fetch.file_kind == ShuffleFileKind::Data as i32
                && ShuffleLayout::try_from(fetch.layout).is_ok();
            match fetch.byte_ranges.is_empty() {
                true if is_of_rows => Ok(fetch),
                true => Err(Refused::not_allowed("a ticket for another file than rows")),
                false => Err(Refused::not_allowed("a ticket with byte ranges")),
            }
        }
        _ => Err(Refused::not_allowed("a ticket that is not FetchPartition")),
    }
}

#[cfg(test)]
mod tests {
    use ballista_core::serde::protobuf::ByteRange;
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
        let checked = check_ticket(&ticket("job", Vec::new())).unwrap();
        assert_eq!(checked.job_id, "job");
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
        for (layout, file_kind) in [(2, 0), (0, 1), (0, -1)] {
            let fetch = FetchPartition {
                layout,
                file_kind,
                ..checked.clone()
            };
            let action = Action {
                action_type: Some(ActionType::FetchPartition(fetch)),
                ..Action::default()
            };
            assert!(check_ticket(&action.encode_to_vec()).is_err());
        }
        assert!(check_ticket(b"nothing").is_err());
        assert!(check_ticket(&[]).is_err());
    }
}
