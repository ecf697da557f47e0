//! The token of a user, for a cluster on one machine. It is created when it is first needed, and shared by the processes of the user.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::identity::Keys;

/// The token of this user below the cache directory. The file has the mode 0600.
///
/// # Errors
/// When the directory is not writable, or the file belongs to another user or is readable by others.
pub(crate) fn token_below(cache: &Path) -> Result<String, Error> {
    let folder = cache.join(FOLDER);
    let path = folder.join(FILE);
    let failed = |error: io::Error| {
        Error::new(format!(
            "the token of this user, {}: {error}",
            path.display()
        ))
        .with_hint("--token-file names another token, and --no-token runs without one")
    };
    if let Some(token) = read(&path).map_err(failed)? {
        return Ok(token);
    }
    DirBuilder::new()
        .recursive(true)
        .mode(PRIVATE_FOLDER)
        .create(&folder)
        .map_err(failed)?;
    let token = Keys::random_token()?;
    // The file is created with mode 0600, and renamed when it is complete.
    let mut file = tempfile::NamedTempFile::new_in(&folder).map_err(failed)?;
    writeln!(file, "{token}").map_err(failed)?;
    match file.persist_noclobber(&path) {
        Ok(_) => Ok(token),
        // Another process of the user has created it meanwhile.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => read(&path)
            .and_then(|token| token.ok_or_else(|| io::ErrorKind::NotFound.into()))
            .map_err(failed),
        Err(error) => Err(failed(error.error)),
    }
}

/// The cache directory of the user.
pub(crate) fn cache() -> Result<PathBuf, Error> {
    let absolute = |name: &str| {
        let folder = PathBuf::from(std::env::var_os(name)?);
        folder.is_absolute().then_some(folder)
    };
    absolute("XDG_CACHE_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".cache")))
        .ok_or_else(|| {
            Error::new("there is no directory for the token of this user: neither HOME nor XDG_CACHE_HOME is set")
                .with_hint("--token-file names a file with a token, and --no-token runs without one")
        })
}

/// The token in a file; `None` when there is no file.
fn read(path: &Path) -> io::Result<Option<String>> {
    let shown = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        shown => shown?,
    };
    if !shown.is_file() {
        return Err(io::Error::other("is not a regular file"));
    }
    let file = File::open(path)?;
    let opened = file.metadata()?;
    if (opened.dev(), opened.ino()) != (shown.dev(), shown.ino()) {
        return Err(io::Error::other("was replaced while it was read"));
    }
    // The owner of the file knows the token.
    if opened.uid() != own_id()? {
        return Err(io::Error::other("belongs to another user"));
    }
    if opened.mode() & OTHERS != 0 {
        return Err(io::Error::other(
            "is readable or writable by others: remove it, and another one is created",
        ));
    }
    let mut token = String::new();
    file.take(BYTES_MAX).read_to_string(&mut token)?;
    Ok(Some(token.trim().to_owned()))
}

/// The user ID of the files of this process.
fn own_id() -> io::Result<u32> {
    Ok(tempfile::tempfile()?.metadata()?.uid())
}

const FOLDER: &str = "weir";
const FILE: &str = "cluster-token";
const PRIVATE_FOLDER: u32 = 0o700;
const OTHERS: u32 = 0o077;
const BYTES_MAX: u64 = 4096;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_user_has_one_token_that_others_cannot_read() {
        let cache = tempfile::tempdir().unwrap();
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let cache = cache.path().to_owned();
                std::thread::spawn(move || token_below(&cache).unwrap())
            })
            .collect();
        let tokens: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        assert!(tokens.iter().all(|token| *token == tokens[0]), "{tokens:?}");
        assert_eq!(tokens[0].len(), 64);
        let file = cache.path().join(FOLDER).join(FILE);
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        let folder = cache.path().join(FOLDER);
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        let left: Vec<_> = fs::read_dir(folder).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn a_token_file_that_others_can_read_or_own_is_rejected() {
        let cache = tempfile::tempdir().unwrap();
        let file = cache.path().join(FOLDER).join(FILE);
        token_below(cache.path()).unwrap();
        for mode in [0o644, 0o640, 0o620, 0o666] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let refused = token_below(cache.path()).unwrap_err().to_string();
            assert!(refused.contains("by others"), "{refused}");
        }
        let other = cache.path().join("other");
        fs::rename(&file, &other).unwrap();
        std::os::unix::fs::symlink(&other, &file).unwrap();
        let refused = token_below(cache.path()).unwrap_err().to_string();
        assert!(refused.contains("is not a regular file"), "{refused}");
    }
}
