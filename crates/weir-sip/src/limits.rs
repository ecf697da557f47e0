//! The limits of messages and trackers.

/// The limits of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Header lines of a message. The first 32 cost no allocation. Default 512.
    pub headers_max: usize,
    /// Bytes of start line and headers on a stream. Default 64 KiB.
    pub head_bytes_max: usize,
    /// Bytes of a body on a stream. Default 1 MiB.
    pub body_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            headers_max: 512,
            head_bytes_max: 64 << 10,
            body_bytes_max: 1 << 20,
        }
    }
}
