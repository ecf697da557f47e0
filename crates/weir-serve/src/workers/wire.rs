//! The messages between a server and its worker processes.
//!
//! A worker process begins with a line of its own (`GREETING`); what a program prints before is passed over. Each message
//! behind it is a frame: the length of a text of JSON and of the octets behind it, both as four octets with the lowest first, and
//! then both. The octets are Arrow's streaming format, where a message has columns or rows. Both ends are the same
//! program, one started by the other.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_engine::{Parameter, Recipe, Statement};

use crate::error::Failure;

/// The next task of a worker process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) session: SessionState,
    /// Bytes that groups, sorts and joins may hold before they spill.
    pub(super) memory_limit_bytes: Option<usize>,
    /// The one folder that the statement writes into; `None` for what the server allows.
    pub(super) writes_below: Option<PathBuf>,
    /// The columns of files are those of their beginnings.
    pub(super) is_of_lists: bool,
    pub(super) work: Work,
}

/// The state of a session after its statements so far.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SessionState {
    /// Tells this state from all others.
    pub(super) id: u64,
    /// The state that the work leaves, if it changes the session.
    pub(super) next_id: Option<u64>,
    /// The settings of its client, by their names.
    pub(super) settings: Vec<(String, String)>,
    /// The statements that lead to it; `None` for a process that is in that state already.
    pub(super) statements: Option<Vec<Written>>,
}

/// The work itself.
#[derive(Debug, Hash, Serialize, Deserialize)]
pub(super) enum Work {
    /// The description of a statement's answer is requested.
    Describe(Written),
    /// The rows of a statement.
    Run(Written),
}

/// A statement, as the text that it was parsed from and what was put into it.
#[derive(Debug, Hash, Serialize, Deserialize)]
pub(super) struct Written {
    text: String,
    index: usize,
    files: Vec<(Vec<String>, String)>,
    values: Vec<(String, ParameterValue)>,
    is_postgres: bool,
}

/// A value of a parameter.
#[derive(Debug, Hash, Serialize, Deserialize)]
enum ParameterValue {
    Null,
    Boolean(bool),
    /// An integer as digits: JSON's numbers have less precision.
    Integer(String),
    /// The bits of a number: JSON has neither NaN nor infinity.
    Float(u64),
    Decimal(String),
    Text(String),
    Bytes(Vec<u8>),
    Time(String),
    List(Vec<ParameterValue>),
}

/// A message of a worker process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// The process is ready for tasks.
    Ready,
    /// The columns of an answer, whose rows follow, as an Arrow stream without rows.
    Begun {
        origins: Vec<Option<String>>,
    },
    /// Rows, as an Arrow stream of one batch, whose end distinguishes a batch without octets from one that follows.
    Rows,
    /// The progress of the statement.
    Progress(Progress),
    /// The end of the rows.
    End {
        notes: Vec<String>,
        damage: Vec<String>,
    },
    /// The description of a statement's answer; the octets are two streams without rows, the second for parameters, whose type is
    /// `Null` if it is unknown.
    Described {
        origins: Vec<Option<String>>,
        schema_bytes: usize,
    },
    Failed(Failure),
    /// In front of the last message of a task: a call of a function that cannot be interrupted goes on behind it, so that the process
    /// takes no other.
    Occupied,
}

/// The counts since the task began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    pub(super) records: u64,
    pub(super) bytes: u64,
    pub(super) source_bytes: u64,
    pub(super) stopped: u64,
    pub(super) unknown_link: u64,
    pub(super) times_beyond: u64,
    pub(super) late: u64,
    pub(super) planned_bytes: u64,
}

/// A message of a server to a worker process.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    Task(Box<Task>),
    /// The rows of the task at work are not wanted any more.
    Cancel,
}

impl Written {
    /// # Errors
    /// When the statement was made of others: none that a client sends is.
    pub(super) fn new(statement: &Statement) -> Result<Self, Failure> {
        let recipe = statement.recipe().ok_or_else(|| {
            let message = "this statement does not leave the process that made it";
            Failure::new(crate::error::FailureKind::Run, message)
        })?;
        Ok(Self::of(recipe))
    }

    pub(super) fn of(recipe: &Recipe) -> Self {
        let values = recipe.values.iter();
        Self {
            text: recipe.text.to_string(),
            index: recipe.index,
            files: recipe.files.clone(),
            values: values
                .map(|(name, value)| (name.clone(), ParameterValue::new(value)))
                .collect(),
            is_postgres: recipe.is_postgres,
        }
    }

    pub(super) fn statement(&self) -> Result<Statement, Failure> {
        let mut recipe = Recipe::new(Arc::from(self.text.as_str()), self.index);
        recipe.files.clone_from(&self.files);
        let values: Option<Vec<_>> = (self.values.iter())
            .map(|(name, value)| Some((name.clone(), value.parameter()?)))
            .collect();
        let values = values.ok_or_else(|| broken("a value that is not a number"))?;
        recipe.values = Arc::from(values);
        recipe.is_postgres = self.is_postgres;
        Ok(recipe.statement()?)
    }
}

impl ParameterValue {
    fn new(parameter: &Parameter) -> Self {
        match parameter {
            Parameter::Boolean(value) => Self::Boolean(*value),
            Parameter::Integer(value) => Self::Integer(value.to_string()),
            Parameter::Float(value) => Self::Float(value.to_bits()),
            Parameter::Decimal(text) => Self::Decimal(text.clone()),
            Parameter::Text(text) => Self::Text(text.clone()),
            Parameter::Bytes(bytes) => Self::Bytes(bytes.clone()),
            Parameter::Time(text) => Self::Time(text.clone()),
            Parameter::List(values) => Self::List(values.iter().map(Self::new).collect()),
            _ => Self::Null,
        }
    }

    fn parameter(&self) -> Option<Parameter> {
        Some(match self {
            Self::Null => Parameter::Null,
            Self::Boolean(value) => Parameter::Boolean(*value),
            Self::Integer(digits) => Parameter::Integer(digits.parse().ok()?),
            Self::Float(bits) => Parameter::Float(f64::from_bits(*bits)),
            Self::Decimal(text) => Parameter::Decimal(text.clone()),
            Self::Text(text) => Parameter::Text(text.clone()),
            Self::Bytes(bytes) => Parameter::Bytes(bytes.clone()),
            Self::Time(text) => Parameter::Time(text.clone()),
            Self::List(values) => {
                let values: Option<Vec<_>> = values.iter().map(Self::parameter).collect();
                Parameter::List(values?)
            }
        })
    }
}

/// A message on its way: what stands in front of its octets, and these, which may be megabytes and are not copied.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) front: Vec<u8>,
    pub(super) octets: Vec<u8>,
}

impl Frame {
    /// # Errors
    /// When it is longer than a frame may be.
    pub(super) fn new<T: Serialize>(message: &T, octets: Vec<u8>) -> io::Result<Self> {
        let text = serde_json::to_vec(message)?;
        if text.len() > FRAME_BYTES_MAX || octets.len() > FRAME_BYTES_MAX {
            return Err(io::Error::other("a message is longer than a frame may be"));
        }
        let len = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes();
        let front = [&len(&text)[..], &len(&octets), &text].concat();
        Ok(Self { front, octets })
    }
}

/// The lengths that a head says.
///
/// # Errors
/// When one is longer than a frame may be.
pub(super) fn lens(head: [u8; HEAD_BYTES]) -> io::Result<(usize, usize)> {
    let [a, b, c, d, e, f, g, h] = head;
    let len = |octets| {
        let len = u32::from_le_bytes(octets);
        let len = usize::try_from(len)
            .ok()
            .filter(|len| *len <= FRAME_BYTES_MAX);
        len.ok_or_else(|| io::Error::other("a message is longer than a frame may be"))
    };
    Ok((len([a, b, c, d])?, len([e, f, g, h])?))
}

/// Reads a frame; `None` at the end of the input.
///
/// # Errors
/// When the input ends within one, or it is not understood.
pub(super) fn read<T: for<'de> Deserialize<'de>>(
    input: &mut impl Read,
) -> io::Result<Option<(T, Vec<u8>)>> {
    let mut head = [0; HEAD_BYTES];
    match input.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let (text_len, octets_len) = lens(head)?;
    let mut text = vec![0; text_len];
    input.read_exact(&mut text)?;
    let mut octets = vec![0; octets_len];
    input.read_exact(&mut octets)?;
    Ok(Some((serde_json::from_slice(&text)?, octets)))
}

/// A failure of the protocol between the processes.
pub(super) fn broken(message: &str) -> Failure {
    Failure::new(
        crate::error::FailureKind::Run,
        format!("invalid message between the server and its worker process: {message}"),
    )
}

/// The line that a process begins with when it is ready for frames.
pub(super) const GREETING: &str = "weir-worker 1\n";
/// Octets that a program may print before.
pub(super) const PREFACE_BYTES_MAX: usize = 4096;
/// Octets of the lengths in front of each frame.
pub(super) const HEAD_BYTES: usize = 8;
/// Octets of a text, or of what is behind it: rows come in smaller pieces, and texts of statements are bounded.
const FRAME_BYTES_MAX: usize = 512 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_come_out_as_they_went_in() {
        let values = [
            ("1", Parameter::Integer(i128::MIN)),
            ("2", Parameter::Float(f64::NAN)),
            ("3", Parameter::Text("it's\0\u{2028}".to_owned())),
            ("4", Parameter::Bytes(vec![0, 255])),
            ("5", Parameter::Time("2026-11-26T00:00:00Z".to_owned())),
            ("6", Parameter::Boolean(true)),
            ("7", Parameter::Null),
            ("8", Parameter::Decimal("-0.50".to_owned())),
        ];
        let values: Vec<_> = (values.into_iter())
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        let sql = "SELECT 1; SELECT $1, $2, $3, $4, $5, $6, $7, $8, a // 2 FROM \"x.pcap\" FETCH FIRST 3 ROWS ONLY";
        let mut statement = Statement::parse(sql).unwrap().pop().unwrap();
        statement.name_files(&mut |parts| Some(format!("/root/{}", parts.join("/"))));
        let statement = statement.bind(&values).unwrap();
        let frame = Frame::new(&Written::new(&statement).unwrap(), b"behind".to_vec()).unwrap();
        let frame = [frame.front, frame.octets].concat();
        let mut input = frame.as_slice();
        let (written, octets) = read::<Written>(&mut input).unwrap().unwrap();
        assert_eq!(octets, b"behind");
        let again = written.statement().unwrap();
        assert_eq!(again.parsed().to_string(), statement.parsed().to_string());
        assert!(again.parsed().to_string().contains("'/root/x.pcap'"));
        assert!(read::<Written>(&mut input).unwrap().is_none());
        for len in 1..frame.len() {
            let cut = read::<Written>(&mut &frame[..len]);
            assert!(cut.is_err() || len < HEAD_BYTES, "{len}");
        }
    }

    #[test]
    fn a_frame_that_says_too_much_is_refused_before_it_is_read() {
        let head = [255, 255, 255, 255, 0, 0, 0, 0];
        assert!(read::<Written>(&mut head.as_slice()).is_err());
    }
}
