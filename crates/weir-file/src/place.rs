//! The target of a path that a user names, and the file that exists there.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The kind of a target.
#[derive(Debug)]
pub(crate) enum TargetKind {
    /// A device, a pipe or an open file: it is written to directly.
    Direct(File),
    /// A regular file that is there, or that is to be, under its last name.
    Regular(PathBuf, Option<Metadata>),
}

impl TargetKind {
    /// Finds out, and whether it may be written to.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let mut path = path.to_owned();
        for _ in 0..LINKS_MAX {
            if is_open_file(&path) {
                // Bytes are appended to those of others, as a shell's >> requires.
                let file = File::options().append(true).open(&path)?;
                return Ok(Self::Direct(file));
            }
            let metadata = match fs::symlink_metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Self::Regular(path, None));
                }
                other => other?,
            };
            if metadata.is_symlink() {
                let target = fs::read_link(&path)?;
                path = folder_of(&path).join(target);
                continue;
            }
            if metadata.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            // A file that may not be written to may not be replaced either.
            let file = File::options().write(true).open(&path)?;
            return Ok(match metadata.is_file() {
                true => Self::Regular(path, Some(metadata)),
                false => Self::Direct(file),
            });
        }
        Err(io::Error::other("too many levels of symbolic links"))
    }

    /// Finds out for a path in an [`OpenFolder`](crate::OpenFolder), where only regular files are written, and no link is followed.
    #[cfg(target_os = "linux")]
    pub(crate) fn in_open_folder(path: PathBuf) -> io::Result<Self> {
        use rustix::fs::{Mode, OFlags, open};
        // A file that may not be written to may not be replaced either. Opening a pipe does not wait for its reader.
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = open(path.as_path(), flags | OFlags::CLOEXEC, Mode::empty());
        let old = match opened.map(File::from).map_err(io::Error::from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self::Regular(path, None));
            }
            opened => opened?.metadata()?,
        };
        match old.is_file() {
            true => Ok(Self::Regular(path, Some(old))),
            false => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn in_open_folder(path: PathBuf) -> io::Result<Self> {
        Self::of(&path)
    }
}

/// True for the names of what this process has open, which is written to and not replaced.
fn is_open_file(path: &Path) -> bool {
    ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc"]
        .iter()
        .any(|open| path.starts_with(open))
}

/// The folder that a path lies in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// A hidden name beside `path` that no other process uses: `.NAME.weir-PID-N.part`.
pub(crate) fn temporary_name(path: &Path) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let mut name = OsString::from(".");
    // A name may be as long as the file system lets names be; the rest needs some of that.
    let own = path.file_name().unwrap_or_default();
    match own.len() <= NAME_BYTES_MAX {
        true => name.push(own),
        false => name.push("output"),
    }
    name.push(format!(".weir-{}-{number}.part", std::process::id()));
    folder_of(path).join(name)
}

/// Whether a name is one of [`temporary_name`] in a process of this number.
pub(crate) fn is_temporary_of(process: u32, name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    let number = name
        .strip_prefix('.')
        .and_then(|name| name.strip_suffix(".part"))
        .and_then(|name| name.rsplit_once(&format!(".weir-{process}-")))
        .map(|(_, number)| number);
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
}

/// Sets the mode of `file` to that of the file it replaces, and the owner and group if the user may change them.
pub(crate) fn take_over(file: &File, old: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let new = file.metadata()?;
        if (new.uid(), new.gid()) != (old.uid(), old.gid())
            && fchown(file, Some(old.uid()), Some(old.gid())).is_err()
        {
            // Only root may change a file's owner; any user may set a group that the user is in.
            let _ = fchown(file, None, Some(old.gid()));
        }
    }
    file.set_permissions(old.permissions())
}

/// Puts the names of a folder onto the disk. Not every file system can; the files are there already.
pub(crate) fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// Linux' own limit.
const LINKS_MAX: usize = 40;

/// The maximum length of names, of the 255 bytes that most file systems allow.
const NAME_BYTES_MAX: usize = 200;
