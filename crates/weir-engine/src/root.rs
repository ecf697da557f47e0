//! The folder that statements stay in ([`Options::root`](crate::Options)): names begin there, and lead to nothing
//! outside of it, neither by `..` nor by a link.

use std::path::{Component, Path, PathBuf};

use weir_capture::shown;

use crate::error::{Error, ErrorKind};

/// A folder that statements stay in.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    /// Without links, so that what lies in it begins so.
    folder: PathBuf,
}

impl Root {
    /// The folder at this path.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Source, format!("{}: {error}", shown(path)))
        };
        let folder = path.canonicalize().map_err(failed)?;
        match folder.is_dir() {
            true => Ok(Self { folder }),
            false => {
                let message = format!("{} is not a folder", shown(path));
                Err(Error::new(ErrorKind::Source, message))
            }
        }
    }

    /// The path or pattern that a statement means by this one.
    ///
    /// # Errors
    /// When it names something outside, or standard input.
    pub(crate) fn inside(&self, pattern: &str) -> Result<String, Error> {
        let path = Path::new(pattern);
        let climbs = path.components().any(|part| part == Component::ParentDir);
        let joined = self.folder.join(path);
        if climbs || pattern == "-" || !joined.starts_with(&self.folder) {
            return Err(self.refusal(pattern));
        }
        match joined.to_str() {
            Some(joined) => Ok(joined.to_owned()),
            None => Err(self.refusal(pattern)),
        }
    }

    /// Looks at a file that is there: a link may lead outside.
    ///
    /// # Errors
    /// When one does.
    pub(crate) fn check(&self, path: &Path) -> Result<(), Error> {
        match path.canonicalize() {
            Ok(real) if real.starts_with(&self.folder) => Ok(()),
            _ => Err(self.refusal(&shown(path))),
        }
    }

    /// The file that a statement writes by this name, in a folder that is there.
    ///
    /// # Errors
    /// When it would lie outside.
    pub(crate) fn target(&self, name: &str) -> Result<String, Error> {
        let joined = self.inside(name)?;
        let path = Path::new(&joined);
        if path.symlink_metadata().is_ok() {
            self.check(path)?;
        }
        match path.parent() {
            Some(folder) => self.check(folder).map(|()| joined),
            None => Err(self.refusal(name)),
        }
    }

    /// What a statement gets that goes outside: nothing of what is there.
    pub(crate) fn refusal(&self, name: &str) -> Error {
        let message = format!(
            "{name} is not in {}, which statements are kept in",
            shown(&self.folder)
        );
        Error::new(ErrorKind::Source, message)
            .with_hint("name files as they are named from that folder")
    }
}
