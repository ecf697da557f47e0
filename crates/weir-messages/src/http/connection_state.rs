//! Whether a connection is read on.

/// Whether a connection has to be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    /// More of it may be HTTP.
    More,
    /// The direction is not HTTP/1 any more: it was upgraded, is a tunnel of another protocol, or never was HTTP.
    Over,
}
