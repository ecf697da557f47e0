//! Folders that are open.

#[cfg(target_os = "linux")]
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use rustix::fs::OFlags;

/// A folder that lies below others, open: what is written into it lies there, whatever takes the place of the folder, or of one on the
/// way to it, meanwhile.
///
/// Only Linux tells which folder was opened; elsewhere this is no more than its path.
#[derive(Debug)]
pub struct OpenFolder {
    /// A path into the folder while it is open.
    path: PathBuf,
    #[cfg(target_os = "linux")]
    _opened: File,
}

impl OpenFolder {
    /// Opens the folder at `path`, if it lies below one of `folders`, which have no links in their paths.
    ///
    /// # Errors
    /// When it cannot be opened, or lies elsewhere.
    #[cfg(target_os = "linux")]
    pub fn below(path: &Path, folders: &[PathBuf]) -> io::Result<Self> {
        let folder = Self::opened(path, OFlags::empty())?;
        // The system's own name of the folder, without links.
        let real = fs::read_link(&folder.path)?;
        match folders.iter().any(|above| real.starts_with(above)) {
            true => Ok(folder),
            false => Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the folder was replaced while it was opened: it is outside of the folders that may be written to",
            )),
        }
    }

    /// Opens the folder at `path`, and not one that a link there leads to.
    #[cfg(target_os = "linux")]
    pub(crate) fn itself(path: &Path) -> io::Result<Self> {
        Self::opened(path, OFlags::NOFOLLOW)
    }

    #[cfg(target_os = "linux")]
    fn opened(path: &Path, more: OFlags) -> io::Result<Self> {
        use rustix::fs::{Mode, open};
        use std::os::fd::AsRawFd as _;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | more;
        let opened = File::from(open(path, flags, Mode::empty())?);
        Ok(Self {
            path: PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd())),
            _opened: opened,
        })
    }

    /// The folder at `path`, which the caller has found below `folders`.
    ///
    /// # Errors
    /// None.
    #[cfg(not(target_os = "linux"))]
    pub fn below(path: &Path, _folders: &[PathBuf]) -> io::Result<Self> {
        Self::itself(path)
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn itself(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
        })
    }

    /// A path that leads into the folder while this is there.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
