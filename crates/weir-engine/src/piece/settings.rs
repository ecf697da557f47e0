//! The settings by which a machine reads pieces.

use std::path::PathBuf;

/// The settings by which a machine reads its pieces: an extension of its sessions.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PieceSettings {
    /// Bytes that groups, sorts and joins of a statement that travelled as its text may hold; `None` for no limit.
    pub memory_limit_bytes: Option<usize>,
    /// Threads that such a statement may use; `None` for as many as the machine has cores.
    pub threads: Option<usize>,
    /// Databases that functions of addresses ask.
    pub geoip: Vec<PathBuf>,
    /// Folders that sources must lie in; without any, all sources may be read.
    pub roots: Vec<PathBuf>,
}
