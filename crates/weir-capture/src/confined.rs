//! Files below the folders that a process is confined to. The code that resolves names decides
//! whether a path lies below them; until the file is opened, it may have been replaced by a link, and so may a folder on the way. The
//! opened file is checked here.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The confinement of this process; none when it is not confined.
static CONFINEMENT: OnceLock<Confinement> = OnceLock::new();

/// The files that a process may open.
struct Confinement {
    folders: Vec<PathBuf>,
    open: Opener,
}

/// Opens a file to read.
pub type Opener = fn(&Path) -> io::Result<File>;

/// Confines this process: from now on, [`open_local`] opens files below these folders only. They have no links in their paths, and
/// the first call decides. It has an effect on Linux only, where the system tells which file was opened.
///
/// Files are opened by `open`, which must not wait for a writer where a pipe has taken the place of a file. Files that are opened
/// otherwise are not affected.
pub fn confine(folders: Vec<PathBuf>, open: Opener) {
    // Those of the first call stay.
    let _ = CONFINEMENT.set(Confinement { folders, open });
}

/// Opens a file to read. In a process that is confined to folders ([`confine`]) what was opened lies below one, whatever was at
/// its path before, and is no pipe and no device.
///
/// # Errors
/// When the file cannot be opened, or is another one.
pub fn open_local(path: &Path) -> io::Result<File> {
    match CONFINEMENT.get() {
        None => File::open(path),
        Some(confinement) => checked((confinement.open)(path)?, &confinement.folders),
    }
}

/// A file, if it lies below one of these folders.
fn checked(file: File, folders: &[PathBuf]) -> io::Result<File> {
    let kind = file.metadata()?.file_type();
    let is_readable = kind.is_file() || kind.is_dir();
    match is_readable && lies_below(&file, folders)? {
        true => Ok(file),
        false => Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the file was replaced while it was opened: it is outside of the folders that may be read",
        )),
    }
}

/// Whether an open file lies below one of these folders, which have no links in their paths. Where the system does not tell which file
/// was opened, as elsewhere than on Linux, it is taken to.
///
/// # Errors
/// When the system does not say what its path is.
#[cfg(target_os = "linux")]
pub fn lies_below(file: &File, folders: &[PathBuf]) -> io::Result<bool> {
    use std::os::fd::AsRawFd as _;
    // The system's own name of the file, without links.
    let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    Ok(folders.iter().any(|folder| path.starts_with(folder)))
}

/// Whether an open file lies below one of these folders; only Linux tells.
///
/// # Errors
/// None.
#[cfg(not(target_os = "linux"))]
pub fn lies_below(_: &File, _: &[PathBuf]) -> io::Result<bool> {
    Ok(true)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A file that was replaced by a link between the check of its path and its opening was read.
    #[test]
    fn what_a_link_led_to_is_refused_when_it_is_open() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let folder = home.join("inside");
        fs::create_dir_all(folder.join("day")).unwrap();
        for path in ["secret", "inside-too", "inside/own", "inside/day/own"] {
            fs::write(home.join(path), "x").unwrap();
        }
        symlink("../secret", folder.join("out")).unwrap();
        symlink("..", folder.join("up")).unwrap();
        symlink("day/own", folder.join("in")).unwrap();
        symlink("/dev/null", folder.join("device")).unwrap();
        let folders = [home.join("nowhere"), folder.clone()];
        let open = |name: &str| {
            let file = File::open(folder.join(name)).unwrap();
            checked(file, &folders).map(drop)
        };
        for name in ["own", "day/own", "in", "day", "up/inside/own"] {
            assert!(open(name).is_ok(), "{name}");
        }
        for name in ["out", "up/secret", "up/inside-too", "device", "up"] {
            let error = open(name).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{name}");
        }
        // A process that is not confined opens whatever there is.
        assert!(open_local(&folder.join("out")).is_ok());
    }
}
