//! Validation of gRPC messages, before Ballista acts on them.
//!
//! Ballista decodes a plan from any message, with scans and sinks of any file, and accepts every count, name and setting. This
//! module has an allowlist of the operators, expressions and settings of weir's own plans, and rejects everything else by name.
//! Messages nest a hundred levels at most, which is the limit of prost. Messages that are embedded as bytes are validated, too,
//! and their nodes count.

mod exchange;
mod expression;
mod fields;
mod identifier;
mod plan;
mod predicate;
mod rows;
mod setting;
mod status;
mod ticket;
mod value;

use std::fmt;

use tonic::{Code, Status};

pub(crate) use fields::decoded;
pub(crate) use identifier::{executor_id, host, job_id, port, session_id};
pub(crate) use plan::{Sender, check_plan, check_template, literal_bytes};
pub(crate) use rows::{caught, flight_batch};
pub(crate) use setting::{allowed_settings, bound_batch_rows, check_settings, is_allowed};
pub(crate) use status::{
    ERROR_BYTES_MAX, STATUSES_MAX, beat, described, finished, launched, statuses, stopped,
};
pub(crate) use ticket::check_ticket;

/// The reason why a message is rejected.
#[derive(Debug)]
pub(crate) struct Refused {
    code: Code,
    message: String,
}

/// The outcome of a validation.
pub(crate) type Checked = Result<(), Refused>;

/// Checks a number against its limit.
fn counted(what: &str, found: u64, most: u64) -> Checked {
    match found <= most {
        true => Ok(()),
        false => Err(Refused::too_many(what, found, most)),
    }
}

impl Refused {
    /// The message asks for something that a cluster never does.
    pub(crate) fn not_allowed(what: impl fmt::Display) -> Self {
        Self {
            code: Code::PermissionDenied,
            message: format!(
                "{what} is not allowed: a cluster runs the operators of weir's own plans only"
            ),
        }
    }

    /// The message is not well-formed.
    pub(crate) fn malformed(message: impl AsRef<str>) -> Self {
        Self {
            code: Code::InvalidArgument,
            message: line(message.as_ref()),
        }
    }

    /// There is no room for it now.
    pub(crate) fn exhausted(message: impl AsRef<str>) -> Self {
        Self {
            code: Code::ResourceExhausted,
            message: line(message.as_ref()),
        }
    }

    /// A number above its limit.
    fn too_many(what: &str, found: u64, most: u64) -> Self {
        Self::malformed(format!("{found} {what} are more than the limit of {most}"))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<Refused> for Status {
    fn from(refused: Refused) -> Self {
        Self::new(refused.code, refused.message)
    }
}

/// A name from a message, escaped and cut for an error message.
fn shown(name: &str) -> String {
    name.chars()
        .take(SHOWN_MAX)
        .flat_map(char::escape_default)
        .collect()
}

/// An error message as one line of limited length. Decoders report errors in several lines, and at any length.
fn line(message: &str) -> String {
    let words: Vec<_> = message
        .split(|character: char| character.is_control() || character.is_whitespace())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ").chars().take(LINE_MAX).collect()
}

const SHOWN_MAX: usize = 60;
const LINE_MAX: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_one_short_line() {
        let refused = Refused::malformed("not\n\twell\u{1b}[31m  formed");
        assert_eq!(refused.to_string(), "not well [31m formed");
        let long = Refused::malformed("x".repeat(10_000));
        assert_eq!(long.to_string().len(), LINE_MAX);
    }
}
