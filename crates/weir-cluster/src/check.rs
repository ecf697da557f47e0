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
    pub(crate) fn malformed(said: impl Into<String>) -> Self {
        Self {
            code: Code::InvalidArgument,
            said: said.into(),
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

const SHOWN_MAX: usize = 60;
