//! Writes files that get their names when they are whole.
//!
//! ```
//! use std::io::Write as _;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("rows.csv");
//! std::fs::write(&path, "old\n")?;
//! let mut file = weir_file::NewFile::create(&path)?;
//! file.write_all(b"new\n")?;
//! assert_eq!(std::fs::read_to_string(&path)?, "old\n");
//! file.keep()?;
//! assert_eq!(std::fs::read_to_string(&path)?, "new\n");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The guarantees, on one machine and for a file system that renames atomically, as POSIX requires:
//!
//! - A program that opens the name gets the old file whole or the new file whole, at any moment, also after
//!   an error, a panic, a full disk, a signal, `SIGKILL` or a loss of power. The bytes are on the disk
//!   before the name is theirs.
//! - The old file may be what the new one is made of: it is there until the end.
//! - Nothing else stays. On Linux the new file has no name at all while it is written (`O_TMPFILE`), so
//!   that whatever ends the program ends the file. Where the file system cannot do that, it is a hidden
//!   file beside the other, `.NAME.weir-PID-N.part`, which is removed on every way out but `SIGKILL`;
//!   for signals, the program calls [`remove_unfinished`], and for a process of its own that was killed, [`remove_left_by`].
//! - Links are followed: the file that a link names is replaced, and the link stays. A file that is
//!   there keeps its mode, and its owner as far as the user may give files away; one that may not be
//!   written to is not replaced. Other hard links to it keep the old content.
//!   In a folder that is open ([`OpenFolder`]) no link is followed: one in the place of a file is replaced.
//! - A target that is not a regular file (a device, a pipe, `/dev/stdout`) is written to directly.
//! - A folder ([`NewFolder`]) that is not there yet appears whole. Files for a folder that is there are
//!   moved into it one by one at the end, and taken back when one cannot be. Between the first and the last
//!   move, and after a `SIGKILL` there, some of the files have their names, each of them whole.
//!
//! A file that is never complete, such as a capture of an interface, is a [`GrowingFile`]: the part that was written is
//! kept.
//!
//! Files that a process writes for itself alone lie in a [`PrivateFolder`], which it removes at its end, or which the
//! next process of its kind removes.
//!
//! This crate reads no contents of files. It installs no handler for signals.

mod folder;
mod growing;
mod hint;
mod mark;
mod new;
mod open_folder;
mod place;
#[cfg(unix)]
mod private;
mod unfinished;

pub use folder::NewFolder;
pub use growing::GrowingFile;
pub use hint::folder_hint;
pub use mark::leads_into_private_folder;
pub use new::NewFile;
pub use open_folder::OpenFolder;
#[cfg(unix)]
pub use private::{PrivateFolder, PrivateFolderKind};
pub use unfinished::{remove_left_by, remove_unfinished};
