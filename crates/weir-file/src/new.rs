//! A file that takes its name when it is whole.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::open_folder::OpenFolder;
use crate::place::{TargetKind, folder_of, sync_folder, take_over, temporary_name};
use crate::unfinished::Unfinished;

/// A file that gets its name when it is whole ([`Self::keep`]); until then, and when this is dropped before, the file that has the
/// name stays.
///
/// Writes are not buffered.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    end: End,
    /// The folder of the paths in `end`, which lead into it while it is open.
    _folder: Option<OpenFolder>,
}

/// The action at the end.
#[derive(Debug)]
enum End {
    /// The target is written to directly: a device or a pipe.
    Direct,
    /// The file gets its first name.
    Anonymous(PathBuf, Option<Metadata>),
    /// The file gets another name.
    Named(Unfinished, PathBuf, Option<Metadata>),
}

impl NewFile {
    /// A file that is to be `path`.
    ///
    /// # Errors
    /// When the folder is missing or does not let files be made, when `path` is a folder, or a file
    /// that may not be written to.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::of(TargetKind::of(path)?, None)
    }

    /// A file that is to have the name `name` in an open folder, where no link is followed.
    ///
    /// # Errors
    /// When the folder does not let files be made, or when something else than a file that may be written to has the name.
    pub fn create_in(folder: OpenFolder, name: &OsStr) -> io::Result<Self> {
        let kind = TargetKind::in_open_folder(folder.path().join(name))?;
        Self::of(kind, Some(folder))
    }

    fn of(kind: TargetKind, folder: Option<OpenFolder>) -> io::Result<Self> {
        let (path, old) = match kind {
            TargetKind::Direct(file) => {
                return Ok(Self {
                    file,
                    end: End::Direct,
                    _folder: folder,
                });
            }
            TargetKind::Regular(path, old) => (path, old),
        };
        let (file, end) = match anonymous(folder_of(&path)) {
            Some(file) => (file, End::Anonymous(path, old)),
            None => {
                let (file, temporary) = named(&path)?;
                (file, End::Named(temporary, path, old))
            }
        };
        Ok(Self {
            file,
            end,
            _folder: folder,
        })
    }

    /// Whether this is a device or a pipe, where written bytes cannot be withdrawn.
    #[must_use]
    pub const fn is_direct(&self) -> bool {
        matches!(self.end, End::Direct)
    }

    /// The file is whole: puts it onto the disk and gives it its name, in place of what had it.
    ///
    /// # Errors
    /// When the disk does not take it, or the name cannot be given; what had the name stays then.
    pub fn keep(self) -> io::Result<()> {
        self.keep_as(true)
    }

    /// Keeps the file as [`Self::keep`], without waiting for the disk: for one of many small files, which a loss of power may
    /// remove.
    ///
    /// # Errors
    /// When the name cannot be given; what had the name stays then.
    pub fn keep_unsynced(self) -> io::Result<()> {
        self.keep_as(false)
    }

    fn keep_as(self, synced: bool) -> io::Result<()> {
        // The folder is closed last: what is removed is found through it.
        let Self {
            _folder,
            mut file,
            end,
        } = self;
        file.flush()?;
        let finish = |file: &File, old: Option<&Metadata>| match synced {
            true => finish(file, old),
            false => old.map_or(Ok(()), |old| take_over(file, old)),
        };
        match end {
            End::Direct => Ok(()),
            End::Anonymous(path, old) => {
                finish(&file, old.as_ref())?;
                if old.is_none() && link(&file, &path).is_ok() {
                    sync_folder(folder_of(&path));
                    return Ok(());
                }
                let temporary = Unfinished::new(temporary_name(&path));
                if link(&file, temporary.path()).is_err() {
                    // An unnamed file cannot be linked without /proc, so its bytes are copied.
                    copied(&mut file, temporary.path(), old.as_ref())?;
                }
                renamed(&temporary, &path)
            }
            End::Named(temporary, path, old) => {
                finish(&file, old.as_ref())?;
                renamed(&temporary, &path)
            }
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file of a name of its own beside `path`.
pub(crate) fn named(path: &Path) -> io::Result<(File, Unfinished)> {
    loop {
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        match Unfinished::made(temporary_name(path), |path| options.open(path)) {
            // The file of a process with the same number is not removed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created,
        }
    }
}

/// All of it on the disk, with the mode that it is to have.
pub(crate) fn finish(file: &File, old: Option<&Metadata>) -> io::Result<()> {
    if let Some(old) = old {
        take_over(file, old)?;
    }
    file.sync_all()
}

pub(crate) fn renamed(temporary: &Unfinished, path: &Path) -> io::Result<()> {
    fs::rename(temporary.path(), path)?;
    sync_folder(folder_of(path));
    Ok(())
}

fn copied(from: &mut File, to: &Path, old: Option<&Metadata>) -> io::Result<()> {
    use std::io::Seek as _;
    from.rewind()?;
    let mut copy = File::options().write(true).create_new(true).open(to)?;
    io::copy(from, &mut copy)?;
    finish(&copy, old)
}

/// A file without a name in a folder, where the system and the file system can do that.
#[cfg(target_os = "linux")]
fn anonymous(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    open(folder, flags, Mode::from_raw_mode(0o666))
        .ok()
        .map(File::from)
}

#[cfg(not(target_os = "linux"))]
fn anonymous(_folder: &Path) -> Option<File> {
    None
}

/// Links an unnamed file to its first name.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    use std::os::fd::AsRawFd as _;
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, open, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn link(_file: &File, _path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
