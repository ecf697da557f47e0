//! Faults of messages, with their places.

use std::fmt;

/// One thing that is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fault {
    /// The kind.
    pub kind: FaultKind,
    /// Offset in bytes from the start of the message (of the value, for a value that was parsed
    /// alone), saturating.
    pub offset: u32,
}

impl Fault {
    pub(crate) fn at(kind: FaultKind, offset: usize) -> Self {
        Self {
            kind,
            offset: u32::try_from(offset).unwrap_or(u32::MAX),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {}", self.kind, self.offset)
    }
}

impl std::error::Error for Fault {}

/// The severity of a [`Fault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Unusual or old, and permitted or harmless.
    Note,
    /// The message breaks a rule of the RFC. An element may refuse it.
    Error,
}

macro_rules! faults {
    ($($(#[doc = $doc:literal])* $name:ident $severity:ident $text:literal,)*) => {
        /// The kinds of [`Fault`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum FaultKind {
            $($(#[doc = $doc])* $name,)*
        }

        impl FaultKind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The severity.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self {
                    $(Self::$name => Severity::$severity,)*
                }
            }

            /// The description: lower case, without a full stop.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

faults! {
    /// Neither a request line nor a status line (RFC 3261 §7).
    NotSip Error "not a SIP message",
    /// The bytes end before the empty line behind the headers.
    Cut Error "the message ends within its headers",
    /// Not exactly one space between the parts of the start line (§7.1, §7.2).
    StartLineSpace Error "the start line is not separated by single spaces",
    /// A version other than SIP/2.0 (§7.1).
    Version Error "a version other than SIP/2.0",
    /// A method or a header's name with bytes that a token can't have (§25.1).
    Token Error "a name is not a token",
    /// A status code outside 100 to 699 (§7.2).
    StatusCode Error "the status code is not between 100 and 699",
    /// A line ends with LF alone (§7).
    BareLf Note "a line ends without CR",
    /// A header line without a colon (§7.3.1).
    HeaderLine Error "a header line has no colon",
    /// A control byte that is not escaped (§25.1).
    ControlByte Error "a control byte in a header",
    /// More headers than the limit: those beyond it are not seen.
    TooManyHeaders Error "more headers than the limit",
    /// A header that every message needs is missing (§8.1.1).
    Missing Error "a mandatory header is missing",
    /// A header stands twice that may stand once (§7.3.1).
    Repeated Error "a header that may occur only once is repeated",
    /// Not a number, or one beyond what the header permits (§20).
    Number Error "a number is malformed or out of range",
    /// The method of CSeq is not that of the request (§8.1.1.5).
    CSeqMethod Error "the method of CSeq is not the method of the request",
    /// The body is shorter than Content-Length (§18.3).
    BodyShort Error "the body is shorter than Content-Length says",
    /// Content-Length is larger than [`Limits::body_bytes_max`](crate::Limits::body_bytes_max), and nothing of the body was read.
    BodyLong Error "Content-Length is larger than the limit of bodies",
    /// Bytes behind the body, which are ignored (§18.3).
    Trailing Note "bytes follow the body",
    /// No Content-Length, which streams need (§20.14).
    NoContentLength Note "no Content-Length",
    /// No Max-Forwards, as in RFC 2543 (§8.1.1).
    NoMaxForwards Note "no Max-Forwards",
    /// A quoted string does not end (§25.1).
    Quote Error "a quoted string does not end",
    /// A display name that needs quotes (§25.1).
    DisplayName Error "a display name needs quotes",
    /// A `<` without `>`, or white space or bytes next to them that do not belong there (§25.1).
    Brackets Error "the angle brackets around a URI are malformed",
    /// A URI with `?`, `,` or white space that is not in angle brackets (§20.10).
    NeedsBrackets Error "a URI needs angle brackets",
    /// A URI without a scheme or a host, or with bytes that it can't have (§19.1.1).
    Uri Error "a URI is malformed",
    /// A URI of a start line with headers or brackets (§19.1.1).
    RequestUri Error "a request URI has parts that are only allowed in other URIs",
    /// An empty or malformed parameter (§25.1).
    Parameter Error "a parameter is empty or malformed",
    /// A list with an empty element (§7.3.1).
    EmptyElement Error "a list has an empty element",
    /// A Via value without protocol, transport or sender (§20.42).
    Via Error "a Via value is malformed",
    /// A branch is the magic cookie only (§8.1.1.7).
    EmptyBranch Error "a branch has nothing after the magic cookie",
    /// A branch without the magic cookie, as of RFC 2543 (§8.1.1.7).
    OldBranch Note "a branch without the magic cookie, as before RFC 3261",
    /// No From tag, as in RFC 2543 (§8.1.1.3).
    NoFromTag Note "no From tag",
    /// A date that is not of the one permitted form (§20.17).
    Date Error "a date is not in the format of SIP",
    /// A Call-ID without a word, or with white space (§20.8).
    CallId Error "the Call-ID is malformed",
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// The faults of a message in the order in which they were found: the first [`Faults::KEPT`] of
/// them, and how many there were in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    kept: [Option<Fault>; Self::KEPT],
    count: u32,
}

impl Faults {
    /// The maximum number of faults of a message that are stored; further ones are only counted.
    pub const KEPT: usize = 8;

    /// The faults that were kept.
    pub fn iter(&self) -> impl Iterator<Item = Fault> {
        self.kept.iter().copied().flatten()
    }

    /// The number of faults, stored or not.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// True without faults.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether one of the stored faults is of this kind.
    #[must_use]
    pub fn has(&self, kind: FaultKind) -> bool {
        self.iter().any(|fault| fault.kind == kind)
    }

    /// The first fault kept that breaks a rule of the RFC.
    #[must_use]
    pub fn first_error(&self) -> Option<Fault> {
        self.iter()
            .find(|fault| fault.kind.severity() == Severity::Error)
    }

    /// Adds a fault; a note only the first time. Where the list is full, an error drives out the
    /// last note, so that notes can't hide errors.
    pub(crate) fn add(&mut self, kind: FaultKind, offset: usize) {
        if kind.severity() == Severity::Note && self.has(kind) {
            return;
        }
        let fault = Fault::at(kind, offset);
        self.count = self.count.saturating_add(1);
        if let Some(free) = self.kept.iter_mut().find(|place| place.is_none()) {
            *free = Some(fault);
            return;
        }
        let is_note =
            |kept: &Option<Fault>| kept.is_some_and(|kept| kept.kind.severity() == Severity::Note);
        if kind.severity() == Severity::Error
            && let Some(note) = self.kept.iter().rposition(is_note)
            && let Some(from_note) = self.kept.get_mut(note..)
        {
            from_note.rotate_left(1);
            if let Some(last) = from_note.last_mut() {
                *last = Some(fault);
            }
        }
    }
}
