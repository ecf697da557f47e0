//! The two directions of a connection.

/// The direction of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The bytes are from the client.
    ToServer,
    /// The bytes are from the server.
    ToClient,
}

impl Direction {
    /// `to_server` or `to_client`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ToServer => "to_server",
            Self::ToClient => "to_client",
        }
    }

    /// The index of the direction.
    pub(super) const fn slot(self) -> usize {
        match self {
            Self::ToServer => 0,
            Self::ToClient => 1,
        }
    }
}
