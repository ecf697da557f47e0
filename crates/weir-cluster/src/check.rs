//! Which messages a cluster acts on: what comes in at a door is looked at here, as it lies in the message, before anything
//! is made of it.
//!
//! Ballista makes a plan of whatever it is sent, with scans and sinks of any file, and takes every count, name and setting
//! as it is. So what may be in a message is listed, and all else is refused by its name. Messages nest a hundred levels at
//! most, which is prost's own limit; bytes that hold a message again are followed, and count.

mod exchange;
mod expression;
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

pub(crate) use identifier::{executor_id, host, job_id, port, session_id};
pub(crate) use plan::{Sender, check_plan, check_template};
pub(crate) use setting::{allowed_settings, check_settings, is_allowed};
pub(crate) use status::finished;
pub(crate) use ticket::check_ticket;

/// Why a message is refused.
#[derive(Debug)]
pub(crate) struct Refused {
    code: Code,
    said: String,
}

/// The outcome of looking at a message.
pub(crate) type Checked = Result<(), Refused>;

impl Refused {
    /// Something that a cluster does not do for anybody.
    pub(crate) fn not_allowed(what: impl fmt::Display) -> Self {
        Self {
            code: Code::PermissionDenied,
            said: format!(
                "{what}: a cluster runs what weir's own plans are made of, and nothing else"
            ),
        }
    }

    /// A message that has another form than it should.
    pub(crate) fn malformed(said: impl AsRef<str>) -> Self {
        Self {
            code: Code::InvalidArgument,
            said: line(said.as_ref()),
        }
    }

    /// A number above its limit.
    fn too_many(what: &str, found: u64, most: u64) -> Self {
        Self::malformed(format!("{found} {what}, and {most} are the most"))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said)
    }
}

impl From<Refused> for Status {
    fn from(refused: Refused) -> Self {
        Self::new(refused.code, refused.said)
    }
}

/// A name from a message, as it may stand in a sentence.
fn shown(name: &str) -> String {
    name.chars()
        .take(SHOWN_MAX)
        .flat_map(char::escape_default)
        .collect()
}

/// What is said of a message, in one line: readers of formats tell of bytes that they cannot read in several, and at any
/// length.
fn line(said: &str) -> String {
    let words: Vec<_> = said
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
