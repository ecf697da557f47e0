//! A request with its response.

use super::{BODY_OCTETS_MAX, Head, Priority, RequestLine, Settings, StatusLine};
use crate::tls::Stamp;

/// A message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpMessage<L> {
    /// The first line and the fields.
    pub head: Head<L>,
    /// When its head was complete.
    pub stamp: Stamp,
    /// Octets of its body, without what chunks add.
    pub body_len: u64,
    /// The first octets of its body.
    pub body: Vec<u8>,
    /// The body is complete.
    pub is_whole: bool,
    /// Octets of its body that were not captured.
    pub missing: u64,
}

/// A request.
pub type Request = HttpMessage<RequestLine>;
/// A response.
pub type Response = HttpMessage<StatusLine>;

/// A request with its response, as far as they were seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exchange {
    /// The request.
    pub request: Option<Request>,
    /// The response, not a preliminary one.
    pub response: Option<Response>,
    /// Status and phrase of the last preliminary response.
    pub interim: Option<StatusLine>,
    /// When its head was complete.
    pub interim_stamp: Stamp,
    /// The number of the exchange in its connection, from 1.
    pub depth: u64,
    /// The stream of HTTP/2 that it is.
    pub stream: Option<u32>,
    /// The client's settings of HTTP/2 before the request, and the server's before the response.
    pub request_settings: Option<Settings>,
    /// See [`request_settings`](Self::request_settings).
    pub response_settings: Option<Settings>,
    /// The priority that the client gave its stream.
    pub priority: Option<Box<Priority>>,
    /// The fault.
    pub fault: Option<HttpFault>,
    /// When the response was complete, of one without a request: it may have waited for that.
    pub over: Option<Stamp>,
}

/// The fault of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpFault {
    /// Something was not captured.
    Missing,
    /// The octets in place of a head are not HTTP.
    Head,
    /// A head breaks the grammar, and was read as far as it can be understood.
    Malformed,
    /// The end of a head did not come.
    Cut,
    /// A chunk has no length.
    Chunk,
    /// The end of a body did not come.
    Unended,
    /// A head says in several ways where its body ends, or in none that can be understood.
    Length,
    /// The stream was reset.
    Reset,
    /// Fields of HTTP/2 are damaged, or more than are kept.
    Fields,
    /// Messages were not captured, and it is not known how many: this response may be that of another request.
    Uncertain,
}

impl HttpFault {
    /// The fault as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "bytes were not captured",
            Self::Head => "a header section was expected, and something else follows",
            Self::Malformed => "a malformed header section",
            Self::Cut => "a header section without an end",
            Self::Chunk => "a chunk without a size",
            Self::Unended => "a body without its end",
            Self::Length => {
                "the header section gives several lengths of the body, or an invalid one"
            }
            Self::Reset => "the stream was reset",
            Self::Fields => "fields are damaged or too long",
            Self::Uncertain => {
                "the response may belong to another request, because messages were not captured"
            }
        }
    }
}

impl<L> HttpMessage<L> {
    pub(super) fn add(&mut self, octets: &[u8]) {
        self.body_len = self.body_len.saturating_add(octets.len() as u64);
        let room = BODY_OCTETS_MAX.saturating_sub(self.body.len());
        let kept = octets.get(..room.min(octets.len())).unwrap_or_default();
        self.body.extend_from_slice(kept);
    }
}

impl Exchange {
    pub(super) fn held(&self) -> usize {
        let request = self
            .request
            .as_ref()
            .map_or(0, |message| message.head.octets());
        let response = self
            .response
            .as_ref()
            .map_or(0, |message| message.head.octets());
        let update = self
            .priority
            .as_ref()
            .and_then(|priority| priority.update.as_ref());
        let update = update.map_or(0, String::capacity);
        request + response + update + size_of::<Self>()
    }
}
