//! A log record, independent of its form.

use std::fmt;

use crate::decimal::decimal;
use crate::optional::Optionals;
pub use crate::value::{ABSENT, UNPARSABLE};

/// One SIP message as it was logged. Everything is borrowed from the log or from the reader.
///
/// The twelve mandatory fields hold what RFC 6873 (section 4.2) writes: `-` for a field that is absent, `?` for one
/// that could not be parsed, else the field's bytes. A value that happens to be one of these characters is
/// [`escaped`](literal).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The time when the message was sent or received.
    pub time: Time,
    /// The kind of the message, and its transport.
    pub flags: Flags,
    /// The mandatory fields, in the order of [`Field`].
    pub fields: [&'a [u8]; Field::COUNT],
    /// The name by which the user was authenticated. RFC 6873 has no place for it.
    pub user: &'a [u8],
    /// Headers, body, whole message, and fields of vendors.
    pub optional: Optionals<'a>,
}

/// The mandatory fields of variable length, in the order of RFC 6873, section 4.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// Number and method: `1 INVITE`. Where a form has no number it is `- INVITE`.
    CSeq,
    /// The status code of a response, three digits.
    Status,
    /// The request's URI.
    RequestUri,
    /// The destination of the message: address, colon, port; IPv6 in brackets.
    Destination,
    /// The source of the message, as [`Field::Destination`].
    Source,
    /// The URI of To.
    ToUri,
    /// The tag of To.
    ToTag,
    /// The URI of From.
    FromUri,
    /// The tag of From.
    FromTag,
    /// The Call-ID.
    CallId,
    /// The server transaction.
    ServerTxn,
    /// The client transaction.
    ClientTxn,
}

impl Field {
    /// The number of fields.
    pub const COUNT: usize = 12;
    /// All, in the order of a record.
    pub const ALL: [Self; Self::COUNT] = [
        Self::CSeq,
        Self::Status,
        Self::RequestUri,
        Self::Destination,
        Self::Source,
        Self::ToUri,
        Self::ToTag,
        Self::FromUri,
        Self::FromTag,
        Self::CallId,
        Self::ServerTxn,
        Self::ClientTxn,
    ];

    /// The name of the field in JSON and in queries.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CSeq => "cseq",
            Self::Status => "status",
            Self::RequestUri => "r_uri",
            Self::Destination => "dst",
            Self::Source => "src",
            Self::ToUri => "to_uri",
            Self::ToTag => "to_tag",
            Self::FromUri => "from_uri",
            Self::FromTag => "from_tag",
            Self::CallId => "call_id",
            Self::ServerTxn => "server_txn",
            Self::ClientTxn => "client_txn",
        }
    }
}

impl Default for Record<'_> {
    /// A record of the epoch without values.
    fn default() -> Self {
        Self {
            time: Time::default(),
            flags: Flags::default(),
            fields: [ABSENT; Field::COUNT],
            user: ABSENT,
            optional: Optionals::default(),
        }
    }
}

impl<'a> Record<'a> {
    /// A field in its written form.
    #[must_use]
    #[inline]
    pub const fn field(&self, field: Field) -> &'a [u8] {
        self.fields[field as usize]
    }

    /// Sets a field. `value` is written unchanged: see [`literal`] for a value of the message.
    pub const fn set(&mut self, field: Field, value: &'a [u8]) {
        self.fields[field as usize] = value;
    }

    /// A field's value; `None` when it is absent or was not parsable.
    #[must_use]
    pub fn value(&self, field: Field) -> Option<&'a [u8]> {
        present(self.field(field))
    }

    /// The number and the method of CSeq, each when it is there.
    #[inline]
    pub(crate) fn cseq(&self) -> (Option<u32>, Option<&'a [u8]>) {
        let Some(cseq) = self.value(Field::CSeq) else {
            return (None, None);
        };
        let space = cseq.iter().position(|&byte| byte == b' ');
        let (number, rest) = cseq.split_at(space.unwrap_or(cseq.len()));
        let number = decimal(number).and_then(|number| u32::try_from(number).ok());
        (number, rest.get(1..).and_then(present))
    }

    /// The method of CSeq, which for a response is that of its request.
    #[must_use]
    #[inline]
    pub fn method(&self) -> Option<&'a [u8]> {
        let cseq = self.value(Field::CSeq)?;
        let space = cseq.iter().position(|&byte| byte == b' ')?;
        present(cseq.get(space.saturating_add(1)..)?)
    }

    /// The number of CSeq; `None` also where the form has no number.
    #[must_use]
    pub fn cseq_number(&self) -> Option<u32> {
        self.cseq().0
    }

    /// The status code of a response.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        decimal(self.value(Field::Status)?).and_then(|status| u16::try_from(status).ok())
    }
}

/// Returns `value` unless it is the mark of an absent or unparsable one.
#[must_use]
#[inline]
pub fn present(value: &[u8]) -> Option<&[u8]> {
    match value {
        b"-" | b"?" | b"" => None,
        value => Some(value),
    }
}

/// The written form of a value of a message: an empty one as `-`, a single `-` or `?` escaped, so that it is not taken
/// for an absent one (RFC 6873, section 4.2). Readers never undo it.
#[must_use]
#[inline]
pub const fn literal(value: &[u8]) -> &[u8] {
    match value {
        b"" => ABSENT,
        b"-" => b"%2D",
        b"?" => b"%3F",
        value => value,
    }
}

/// Returns the user part of a URI: the text between the scheme and `@`, without password or parameters.
///
/// ```
/// assert_eq!(weir_clf::uri_user(b"sip:alice;x=1@example.com"), b"alice");
/// assert_eq!(weir_clf::uri_user(b"<tel:+4930123;phone-context=x>"), b"+4930123");
/// assert_eq!(weir_clf::uri_user(b"sip:example.com"), b"");
/// ```
#[must_use]
#[inline]
pub fn uri_user(uri: &[u8]) -> &[u8] {
    // Nearly all URIs begin like this, and every record has two of them.
    let Some((b"sip:", rest)) = uri.split_first_chunk() else {
        return user_of_other(uri);
    };
    let (user, behind) = rest.split_at(end_of_user(rest));
    match behind.first() {
        Some(b'@') => user,
        _ if memchr::memchr(b'@', behind).is_some() => user,
        _ => &[],
    }
}

/// Returns the number of bytes before the first `@`, or a byte that [`ends_user`]; all when there is none.
///
/// Eight bytes of a register are compared together with the range from `:` to `@`, which has them all. Of the others in
/// it, `<`, `=` and `?`, hardly a user has one.
#[inline]
fn end_of_user(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let mut begin = 0_usize;
    for eight in text.as_chunks::<8>().0 {
        let eight = u64::from_le_bytes(*eight);
        // Without their high bits, no byte carries into the next.
        let low = eight & (0x7f * ONES);
        let from_colon = low.wrapping_add((0x80 - b':' as u64) * ONES);
        let beyond_at = low.wrapping_add((0x7f - b'@' as u64) * ONES);
        let found = from_colon & !beyond_at & !eight & (0x80 * ONES);
        if found != 0 {
            begin = begin.wrapping_add((found.trailing_zeros() / 8) as usize);
            break;
        }
        begin = begin.wrapping_add(8);
    }
    let rest = text.get(begin..).unwrap_or_default();
    let more = rest
        .iter()
        .position(|&byte| ends_user(byte) || byte == b'@');
    begin.wrapping_add(more.unwrap_or(rest.len()))
}

/// Returns whether a password or a parameter begins, or the URI ends.
#[inline]
const fn ends_user(byte: u8) -> bool {
    matches!(byte, b';' | b':' | b'>')
}

/// Returns the user without password and parameters.
#[inline]
fn bare_user(user: &[u8]) -> &[u8] {
    let end = user
        .iter()
        .position(|&byte| ends_user(byte))
        .unwrap_or(user.len());
    user.get(..end).unwrap_or_default()
}

/// Returns the user of a URI in angle brackets, or of another scheme.
fn user_of_other(uri: &[u8]) -> &[u8] {
    let uri = match memchr::memchr(b'<', uri) {
        Some(open) => uri.get(open.saturating_add(1)..).unwrap_or_default(),
        None => uri,
    };
    let Some(colon) = memchr::memchr(b':', uri) else {
        return &[];
    };
    let (scheme, rest) = uri.split_at(colon);
    let rest = rest.get(1..).unwrap_or_default();
    let end = if scheme.eq_ignore_ascii_case(b"tel") {
        rest.len()
    } else {
        match memchr::memchr(b'@', rest) {
            Some(at) => at,
            None => return &[],
        }
    };
    bare_user(rest.get(..end).unwrap_or_default())
}

/// A point of time. RFC 6873 has milliseconds, the binary draft nanoseconds, the text draft seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Seconds since the beginning of 1970, UTC, without leap seconds.
    pub seconds: u64,
    /// Nanoseconds within the second, below 1,000,000,000.
    pub nanoseconds: u32,
}

impl Time {
    /// A time from nanoseconds since 1970; times before that become 1970.
    #[must_use]
    pub const fn from_nanoseconds(nanoseconds: i64) -> Self {
        let nanoseconds = if nanoseconds < 0 {
            0
        } else {
            nanoseconds as u64
        };
        Self {
            seconds: nanoseconds / 1_000_000_000,
            nanoseconds: (nanoseconds % 1_000_000_000) as u32,
        }
    }

    /// Nanoseconds since 1970, saturating in the year 2262.
    #[must_use]
    pub const fn as_nanoseconds(self) -> i64 {
        let seconds = if self.seconds > i64::MAX as u64 {
            i64::MAX
        } else {
            self.seconds as i64
        };
        seconds
            .saturating_mul(1_000_000_000)
            .saturating_add(self.nanoseconds as i64)
    }

    /// Milliseconds since 1970, rounded down, saturating.
    #[must_use]
    #[inline]
    pub const fn as_milliseconds(self) -> u64 {
        self.seconds
            .saturating_mul(1000)
            .saturating_add((self.nanoseconds / 1_000_000) as u64)
    }

    /// The current time.
    #[must_use]
    pub fn now() -> Self {
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            seconds: now.as_secs(),
            nanoseconds: now.subsec_nanos(),
        }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.seconds, self.nanoseconds)
    }
}

/// The flags of RFC 6873, section 4.2, with RFC 7355. `None` stands for a flag that a record does not have: the drafts
/// have no place for some, and JSON may leave them out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    /// True for a response, false for a request.
    pub response: bool,
    /// Whether the message is the first copy or another one.
    pub retransmission: Option<Retransmission>,
    /// Whether the logging element sent the message, rather than received it.
    pub sent: Option<bool>,
    /// The transport.
    pub transport: Option<Transport>,
    /// True for a message over TLS or the like.
    pub encrypted: Option<bool>,
}

/// Whether a message is a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Retransmission {
    /// The message is the first copy.
    Original,
    /// The message is a retransmission.
    Duplicate,
    /// The element is stateless, and cannot recognise retransmissions.
    Stateless,
}

/// The transport of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
    /// SCTP.
    Sctp,
    /// WebSocket (RFC 7355).
    WebSocket,
}

impl Transport {
    /// The name as in Via, in lower case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
            Self::Sctp => "sctp",
            Self::WebSocket => "ws",
        }
    }
}

impl Flags {
    /// The five characters of RFC 6873, which has no character for an unknown flag: that is written as of an element
    /// that keeps no transactions (`S`), received (`R`), over UDP (`U`), without encryption (`U`).
    #[must_use]
    #[inline]
    pub const fn letters(self) -> [u8; 5] {
        [
            if self.response { b'r' } else { b'R' },
            match self.retransmission {
                Some(Retransmission::Original) => b'O',
                Some(Retransmission::Duplicate) => b'D',
                Some(Retransmission::Stateless) | None => b'S',
            },
            match self.sent {
                Some(true) => b'S',
                Some(false) | None => b'R',
            },
            match self.transport {
                Some(Transport::Udp) | None => b'U',
                Some(Transport::Tcp) => b'T',
                Some(Transport::Sctp) => b'S',
                Some(Transport::WebSocket) => b'W',
            },
            match self.encrypted {
                Some(true) => b'E',
                Some(false) | None => b'U',
            },
        ]
    }

    /// Returns whether the record has all flags, so that no [letter](Self::letters) is assumed.
    #[must_use]
    #[inline]
    pub const fn is_complete(self) -> bool {
        self.retransmission.is_some()
            & self.sent.is_some()
            & self.transport.is_some()
            & self.encrypted.is_some()
    }

    /// Reads the five characters; the direction in lower case too, as RFC 6872 has it.
    #[must_use]
    #[inline]
    pub const fn from_letters(letters: [u8; 5]) -> Option<Self> {
        let [kind, copy, direction, transport, encryption] = letters;
        Some(Self {
            response: match kind {
                b'R' => false,
                b'r' => true,
                _ => return None,
            },
            retransmission: match copy {
                b'O' => Some(Retransmission::Original),
                b'D' => Some(Retransmission::Duplicate),
                b'S' => Some(Retransmission::Stateless),
                _ => return None,
            },
            sent: match direction {
                b'S' | b's' => Some(true),
                b'R' | b'r' => Some(false),
                _ => return None,
            },
            transport: match transport {
                b'U' => Some(Transport::Udp),
                b'T' => Some(Transport::Tcp),
                b'S' => Some(Transport::Sctp),
                b'W' => Some(Transport::WebSocket),
                _ => return None,
            },
            encrypted: match encryption {
                b'E' => Some(true),
                b'U' => Some(false),
                _ => return None,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_survive_their_letters() {
        let mut seen = 0;
        for kind in *b"Rr" {
            for copy in *b"ODS" {
                for direction in *b"SR" {
                    for transport in *b"UTSW" {
                        for encryption in *b"EU" {
                            let letters = [kind, copy, direction, transport, encryption];
                            let flags = Flags::from_letters(letters).unwrap();
                            assert_eq!(flags.letters(), letters);
                            seen += 1;
                        }
                    }
                }
            }
        }
        assert_eq!(seen, 96);
        assert_eq!(Flags::from_letters(*b"ROXUU"), None);
        assert_eq!(Flags::from_letters(*b"ROsUU").unwrap().sent, Some(true));
        assert!(Flags::from_letters(*b"RORUU").unwrap().is_complete());
        assert!(!Flags::default().is_complete());
    }

    #[test]
    fn a_dash_is_never_taken_for_absence() {
        assert_eq!(literal(b"-"), b"%2D");
        assert_eq!(literal(b"?"), b"%3F");
        assert_eq!(literal(b""), ABSENT);
        assert_eq!(literal(b"--"), b"--");
    }

    #[test]
    fn users_are_what_stands_before_the_first_at() {
        for (uri, user) in [
            ("sip:a@h", "a"),
            ("sip:a;p=x@h", "a"),
            ("sip:a:secret@h;x@y", "a"),
            ("sip:h;p=x", ""),
            ("sip:h:5060", ""),
            ("sip:h:5060;p=a@b", "h"),
            ("sip:@h", ""),
            ("sip:", ""),
            ("sip:a>@h", "a"),
            ("sips:a;x@h", "a"),
        ] {
            assert_eq!(uri_user(uri.as_bytes()), user.as_bytes(), "{uri}");
        }
    }

    /// The byte is at every place of texts of every length up to three registers, alone and before another one.
    #[test]
    fn the_end_of_a_user_is_as_found_byte_by_byte() {
        let by_bytes = |text: &[u8]| {
            let end = text.iter().position(|byte| b";:>@".contains(byte));
            end.unwrap_or(text.len())
        };
        for len in 0..26 {
            for at in 0..len {
                for byte in 0..=u8::MAX {
                    for around in [b'0', b'9', b'=', b'?', b'A', b'z', 0x80, 0xba, 0xc0, 0xff] {
                        let mut text = vec![around; len];
                        text[at] = byte;
                        assert_eq!(end_of_user(&text), by_bytes(&text), "{text:?}");
                        text[len - 1] = b'@';
                        assert_eq!(end_of_user(&text), by_bytes(&text), "{text:?}");
                    }
                }
            }
        }
        assert_eq!(end_of_user(b""), 0);
    }

    #[test]
    fn times_saturate() {
        let end = Time {
            seconds: u64::MAX,
            nanoseconds: 999_999_999,
        };
        assert_eq!(end.as_nanoseconds(), i64::MAX);
        assert_eq!(end.as_milliseconds(), u64::MAX);
        let time = Time::from_nanoseconds(1_328_821_153_010_000_007);
        assert_eq!(
            (time.seconds, time.nanoseconds),
            (1_328_821_153, 10_000_007)
        );
        assert_eq!(time.as_nanoseconds(), 1_328_821_153_010_000_007);
        assert_eq!(Time::from_nanoseconds(-5), Time::default());
    }

    #[test]
    fn the_number_may_be_unknown_and_the_method_known() {
        let mut record = Record::default();
        assert_eq!(record.method(), None);
        record.set(Field::CSeq, b"- INVITE");
        assert_eq!(record.method(), Some(&b"INVITE"[..]));
        assert_eq!(record.cseq_number(), None);
        record.set(Field::CSeq, b"4294967296 ACK");
        assert_eq!(record.cseq_number(), None);
        record.set(Field::CSeq, b"4294967295 ACK");
        assert_eq!(record.cseq_number(), Some(u32::MAX));
    }
}
