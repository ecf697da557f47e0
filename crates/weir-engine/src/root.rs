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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leads_out_of_the_folder() {
        let home = std::env::temp_dir().join(format!("weir-root-{}", std::process::id()));
        let folder = home.join("inside");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(home.join("secret"), "x").unwrap();
        std::fs::write(folder.join("own"), "x").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("../secret", folder.join("link")).unwrap();
        let root = Root::open(&folder).unwrap();
        let own = root.inside("own").unwrap();
        assert!(root.check(Path::new(&own)).is_ok());
        assert!(root.inside(&own).is_ok());
        for outside in ["..", "../secret", "a/../../secret", "/etc/passwd", "-"] {
            assert!(root.inside(outside).is_err(), "{outside}");
            assert!(root.target(outside).is_err(), "{outside}");
        }
        #[cfg(unix)]
        {
            let link = root.inside("link").unwrap();
            assert!(root.check(Path::new(&link)).is_err());
            assert!(root.target("link").is_err());
        }
        assert!(root.target("new.parquet").is_ok() && root.target("no/new").is_err());
        assert!(Root::open(&folder.join("own")).is_err());
        std::fs::remove_dir_all(&home).unwrap();
    }
}
