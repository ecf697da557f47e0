//! The private folder of a server, with its uploads, spilled rows and captures for clients.

use std::io;
use std::path::Path;

use tempfile::TempDir;
use weir_file::{PrivateFolder, PrivateFolderKind};

/// The folder of one server (`weir-serve-…`), which goes with it.
#[derive(Debug)]
pub(crate) struct Folder(PrivateFolder);

impl Folder {
    /// A new folder below `parent`. The folders of servers that were killed are removed there.
    ///
    /// # Errors
    /// When `parent` is not writable.
    pub(crate) fn create_in(parent: &Path) -> io::Result<Self> {
        PrivateFolder::create_in(parent, SERVER).map(Self)
    }

    /// Removes it with all that is in it. Writing a file there fails from then on.
    pub(crate) fn remove(&self) {
        // The next server removes any rest.
        let _ = std::fs::remove_dir_all(self.0.path());
    }

    /// Octets that are free on its disk, as far as the system tells.
    pub(crate) fn free_bytes(&self) -> u64 {
        let disk = rustix::fs::statvfs(self.0.path());
        disk.map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize))
    }

    /// A new folder in it, which is removed when it is dropped.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub(crate) fn within(&self, prefix: &str) -> io::Result<TempDir> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix).tempdir_in(self.0.path())
    }
}

const SERVER: PrivateFolderKind = PrivateFolderKind {
    prefix: "weir-serve-",
    process: "a server",
};
