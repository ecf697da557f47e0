//! The limits of what is kept of a connection.

/// Octets of a head, at most: what comes behind is no HTTP.
pub const HEAD_OCTETS_MAX: usize = 1 << 16;
/// Octets of a body that are kept.
pub const BODY_OCTETS_MAX: usize = 256;
/// Requests of a connection that wait for their responses, at most.
pub const PIPELINE_MAX: usize = 1_024;
