//! What happens on streams of an HTTP/2 connection that are tunnels.

use super::{Request, Response};

/// Something that happens on a stream that is a tunnel, or may become one.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum StreamEvent<'a> {
    /// A request for a tunnel (CONNECT with `:protocol`) has its response.
    Answered {
        /// The stream.
        stream: u32,
        /// The request.
        request: &'a Request,
        /// The response: one of 200 to 299 agrees.
        response: &'a Response,
    },
    /// Octets of frames of data, without padding.
    Data {
        /// The stream.
        stream: u32,
        /// The side that sends them.
        side: usize,
        /// The octets.
        octets: &'a [u8],
        /// The origin of the stream.
        origin: StreamOrigin,
    },
    /// Octets of data were not captured.
    Missing {
        /// The stream.
        stream: u32,
        /// The side that sent them.
        side: usize,
        /// The number of octets.
        octets: u64,
    },
    /// A side sends nothing more on a stream: it ended it, or reset it.
    Ended {
        /// The stream.
        stream: u32,
        /// The side.
        side: usize,
    },
    /// Octets of a side are missing, and those behind them are read only where frames begin with a piece.
    Lost {
        /// The side.
        side: usize,
    },
}

/// The origin of a stream that carries data and is not an ordinary request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamOrigin {
    /// The request is for a tunnel, or was not captured yet.
    Awaited,
    /// The request cannot be read: it, or something before it, was not captured.
    Unseen,
    /// The exchange was over before.
    Over,
}
