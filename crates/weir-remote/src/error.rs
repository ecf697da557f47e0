//! Errors, whose messages hold no secret.

use std::{fmt, io};

use object_store::client::{HttpError, HttpErrorKind};
use weir_capture::redacted;

/// An object could not be found, read or written.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Error {
    kind: ErrorKind,
    name: String,
    what: String,
    hint: Option<&'static str>,
}

/// The kind of an [`Error`], to match on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The address, or an option, cannot be understood.
    Address,
    /// There is no such object.
    NotFound,
    /// Credentials are missing, or do not permit the request.
    Denied,
    /// The object has changed since it was found.
    Changed,
    /// The server cannot be reached, or does not respond.
    Unreachable,
    /// The server responds with an error, or with something else than HTTP.
    Server,
    /// The server, or this crate, does not support it.
    Unsupported,
    /// The options of this program do not allow it.
    Refused,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, name: &str, what: impl Into<String>) -> Self {
        Self {
            kind,
            name: redacted(name).into_owned(),
            what: redacted(&what.into()).into_owned(),
            hint: None,
        }
    }

    pub(crate) const fn with_hint(mut self, hint: &'static str) -> Self {
        self.hint = Some(hint);
        self
    }

    pub(crate) fn changed(name: &str) -> Self {
        Self::new(
            ErrorKind::Changed,
            name,
            "it has changed since it was found",
        )
        .with_hint("run it again: what was read so far is of the previous version")
    }

    pub(crate) fn interrupted(name: &str) -> Self {
        Self::new(ErrorKind::Unreachable, name, "the request was interrupted")
    }

    /// The error of a store about the object `name`. Only the status and the code of the response are taken over: the texts of
    /// stores contain signed URLs, and repeat what was signed.
    pub(crate) fn of_store(name: &str, error: &object_store::Error) -> Self {
        use object_store::Error as E;
        let (kind, what) = match error {
            E::NotFound { .. } => (ErrorKind::NotFound, "there is no such object".to_owned()),
            E::PermissionDenied { .. } => (ErrorKind::Denied, "access is denied (403)".to_owned()),
            E::Unauthenticated { .. } => (
                ErrorKind::Denied,
                "credentials are required (401)".to_owned(),
            ),
            E::Precondition { .. } | E::NotModified { .. } => return Self::changed(name),
            E::InvalidPath { .. } => (
                ErrorKind::Address,
                "the key has a part that is empty, . or ..".to_owned(),
            ),
            E::NotSupported { .. } | E::NotImplemented { .. } => (
                ErrorKind::Unsupported,
                "the store does not support this operation".to_owned(),
            ),
            E::JoinError { .. } => return Self::interrupted(name),
            other => of_transport(other),
        };
        let mut made = Self::new(kind, name, what);
        if let Some(code) = code_of(error) {
            made.what = format!("{}: {code}", made.what);
        }
        made.hint = match kind {
            ErrorKind::Denied => denied_hint(name),
            ErrorKind::NotFound => Some(
                "check the address; an empty answer of a store may also mean another region or endpoint",
            ),
            ErrorKind::Unreachable => Some("check the network, the host name and the endpoint"),
            _ => None,
        };
        made
    }

    /// The kind, to match on.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The object, as its address is shown.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The message, without the name.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The next thing to try, if it is known.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        self.hint
    }

    /// The error of a read or a write, whose reader adds the name of what it reads.
    pub(crate) fn into_io(self) -> io::Error {
        let kind = match self.kind {
            ErrorKind::NotFound => io::ErrorKind::NotFound,
            ErrorKind::Denied | ErrorKind::Refused => io::ErrorKind::PermissionDenied,
            ErrorKind::Unsupported => io::ErrorKind::Unsupported,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, Unnamed(self))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.what)
    }
}

impl std::error::Error for Error {}

/// An error whose message does not begin with the name.
#[derive(Debug)]
struct Unnamed(Error);

impl fmt::Display for Unnamed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.what)
    }
}

impl std::error::Error for Unnamed {}

/// The kind and message of an error of the connection.
fn of_transport(error: &object_store::Error) -> (ErrorKind, String) {
    if let Some(status) = status_of(error) {
        return (ErrorKind::Server, format!("the server answers {status}"));
    }
    let Some(http) = find::<HttpError>(error) else {
        return (
            ErrorKind::Server,
            "the response of the server is not valid".to_owned(),
        );
    };
    let reason = root(http).to_string();
    match http.kind() {
        HttpErrorKind::Timeout => (ErrorKind::Unreachable, "no response in time".to_owned()),
        HttpErrorKind::Connect => (
            ErrorKind::Unreachable,
            format!("the server cannot be reached: {reason}"),
        ),
        _ => (
            ErrorKind::Unreachable,
            format!("the connection broke: {reason}"),
        ),
    }
}

/// The error of object_store while a store is configured, before any request.
pub(crate) fn of_making(name: &str, error: &object_store::Error) -> Error {
    let message = root(error).to_string();
    Error::new(ErrorKind::Address, name, message)
}

/// The innermost source of an error.
fn root<'e>(error: &'e (dyn std::error::Error + 'static)) -> &'e (dyn std::error::Error + 'static) {
    let mut found = error;
    while let Some(source) = found.source() {
        found = source;
    }
    found
}

/// Whether no response has arrived.
pub(crate) fn is_transport(error: &object_store::Error) -> bool {
    find::<HttpError>(error).is_some()
}

fn find<'e, E: std::error::Error + 'static>(
    error: &'e (dyn std::error::Error + 'static),
) -> Option<&'e E> {
    let mut found = Some(error);
    while let Some(error) = found {
        if let Some(wanted) = error.downcast_ref::<E>() {
            return Some(wanted);
        }
        found = error.source();
    }
    None
}

/// The status of a response, such as `503 Service Unavailable`. Its type is private to object_store, so that it is taken from the
/// text, for messages only.
fn status_of(error: &object_store::Error) -> Option<String> {
    let text = root(error).to_string();
    let (_, behind) = text.split_once("status code: ")?;
    let (status, _) = behind.split_once(':')?;
    let is_plain = status.len() <= STATUS_BYTES_MAX
        && status.starts_with(|c: char| c.is_ascii_digit())
        && status
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '\''));
    is_plain.then(|| status.to_owned())
}

/// The code that a store gives an error, such as `NoSuchBucket`.
fn code_of(error: &object_store::Error) -> Option<String> {
    let text = root(error).to_string();
    let (_, behind) = text.split_once("<Code>")?;
    let (code, _) = behind.split_once("</Code>")?;
    let is_plain =
        code.len() <= STATUS_BYTES_MAX && code.chars().all(|c| c.is_ascii_alphanumeric());
    is_plain.then(|| code.to_owned())
}

fn denied_hint(name: &str) -> Option<&'static str> {
    let (scheme, _) = name.split_once("://")?;
    Some(match scheme {
        "s3" => {
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are the credentials, AWS_REGION the region; AWS_SKIP_SIGNATURE=true reads public objects"
        }
        "gs" => {
            "GOOGLE_APPLICATION_CREDENTIALS names the file with the credentials; GOOGLE_SKIP_SIGNATURE=true reads public objects"
        }
        "az" => {
            "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY, or AZURE_STORAGE_SAS_KEY, are the credentials"
        }
        _ => "a signed address may have expired",
    })
}

/// The maximum length of a status or a code in the text of an error, in bytes; a longer text is neither.
const STATUS_BYTES_MAX: usize = 64;
