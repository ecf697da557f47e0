//! The folders that statements are confined to ([`Options::root`](crate::Options), [`Options::roots`](crate::Options)): names are
//! relative to them, and lead to no file outside, neither by `..` nor by a link.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use datafusion::sql::parser::Statement as DfStatement;
use weir_capture::shown;
use weir_file::OpenFolder;
use weir_functions::{Error, ErrorKind};
use weir_sql::Statement;

/// The folders that statements stay in.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    /// The folders, without links, so that they are prefixes of their files. There is at least one; new files go into the first.
    folders: Vec<PathBuf>,
}

impl Root {
    /// The folders at these paths; `None` when there are none, and statements are not confined.
    ///
    /// # Errors
    /// When one of them is no folder.
    pub(crate) fn of<'p>(paths: impl Iterator<Item = &'p Path>) -> Result<Option<Self>, Error> {
        let folders = paths.map(folder).collect::<Result<Vec<_>, _>>()?;
        Ok((!folders.is_empty()).then_some(Self { folders }))
    }

    /// The folders, without links.
    pub(crate) fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// The path or pattern that a statement means by this one: in the first folder that has such a file.
    ///
    /// # Errors
    /// When it names something outside, or standard input.
    pub(crate) fn inside(&self, pattern: &str) -> Result<String, Error> {
        let path = Path::new(pattern);
        let plain = unescaped(pattern);
        let climbs = [path, Path::new(&plain)]
            .iter()
            .any(|path| path.components().any(|part| part == Component::ParentDir));
        let within = |folder: &PathBuf| {
            let joined = folder.join(path);
            joined.starts_with(folder).then_some(joined)
        };
        let mut joined = self.folders.iter().filter_map(within);
        let has_file = |joined: &PathBuf| {
            let Some(name) = joined.to_str() else {
                return false;
            };
            let found = self.expand(name);
            found.is_ok_and(|found| found.iter().any(|it| it.exists()))
                || weir_capture::Archive::of_address(name).is_some()
        };
        // The folder that has the file is used, and otherwise the first one.
        let chosen = match climbs || pattern == "-" {
            true => None,
            false if self.folders.len() == 1 => joined.next(),
            false => {
                let all: Vec<PathBuf> = joined.collect();
                let has = all.iter().find(|joined| has_file(joined));
                has.or(all.first()).cloned()
            }
        };
        let chosen = chosen.and_then(|joined| joined.to_str().map(str::to_owned));
        let chosen = chosen.filter(|joined| {
            let plain = unescaped(joined);
            self.stays_inside(Path::new(joined)) && self.stays_inside(Path::new(&plain))
        });
        chosen.ok_or_else(|| self.refusal(pattern))
    }

    /// Returns whether the existing part of a path lies inside. A file behind a link that leads outside is not looked
    /// for: the message would disclose whether it exists.
    fn stays_inside(&self, path: &Path) -> bool {
        let mut parts = path.ancestors();
        let there = parts.find(|part| part.symlink_metadata().is_ok());
        there.is_some_and(|there| self.real(there).is_some())
    }

    /// The path without links of what is there; `None` where it lies outside, or leads nowhere. The private folder of a process, with
    /// the rows of other statements, is outside, wherever it lies.
    fn real(&self, path: &Path) -> Option<PathBuf> {
        let real = path.canonicalize().ok()?;
        let lies_in = self.folders.iter().any(|folder| {
            real.starts_with(folder) && !weir_file::leads_into_private_folder(folder, &real)
        });
        lies_in.then_some(real)
    }

    /// The files that match a pattern inside. Wildcards go through no link that leads outside: how long they look there, and at which
    /// folder they fail, would disclose what exists.
    ///
    /// # Errors
    /// When there are none, or a folder on the way cannot be read.
    pub(crate) fn expand(&self, inside: &str) -> Result<Vec<PathBuf>, weir_capture::Error> {
        weir_capture::expand_within(inside, &|folder| {
            let kind = folder.symlink_metadata();
            kind.is_ok_and(|kind| !kind.is_symlink()) || self.real(folder).is_some()
        })
    }

    /// Checks an existing file: a link may lead outside the root, and a pipe or a device may have no end.
    ///
    /// # Errors
    /// When it leads outside, or is a pipe, a socket or a device, or when there is none.
    pub(crate) fn check(&self, path: &Path) -> Result<(), Error> {
        let Some(real) = self.real(path) else {
            return Err(match path.symlink_metadata() {
                Err(error) if self.stays_inside(path) => {
                    Error::new(ErrorKind::Source, format!("{}: {error}", shown(path)))
                }
                _ => self.refusal(&shown(path)),
            });
        };
        check_kind(&real, path)
    }

    /// The files that may be read, of those that a pattern has found. A wildcard does not go through a link that leads
    /// outside.
    ///
    /// # Errors
    /// When there are none, or one is a link that leads outside, or no file.
    pub(crate) fn kept(
        &self,
        inside: &str,
        mut found: Vec<PathBuf>,
    ) -> Result<Vec<PathBuf>, Error> {
        found.retain(|path| {
            let folder = path.parent();
            folder.is_some_and(|folder| self.real(folder).is_some())
        });
        for path in &found {
            self.check(path)?;
        }
        match found.is_empty() {
            // The error is that of a pattern without a match.
            true => Err(
                Error::new(ErrorKind::Source, format!("no file matches {inside}"))
                    .with_hint("quote the pattern in the shell, and check the folder; ** looks in folders below"),
            ),
            false => Ok(found),
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

    /// The folder of a [target](Self::target), open, and the name of the target in it. A folder on the way may have been replaced by a
    /// link since the path was looked at.
    ///
    /// # Errors
    /// When it cannot be opened, or lies outside.
    pub(crate) fn open_target(&self, target: &str) -> io::Result<(OpenFolder, OsString)> {
        // Without the separator at the end of a folder, behind which a link is not seen.
        let mut path: PathBuf = Path::new(target).components().collect();
        if path.is_symlink() {
            path = path.canonicalize()?;
        }
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        Ok((OpenFolder::below(folder, &self.folders)?, name.to_owned()))
    }

    /// Keeps what a statement writes in these folders, and refuses what DataFusion would open by itself, as well as settings of where
    /// rows are spilled and how much memory there is.
    ///
    /// # Errors
    /// When it would write outside, makes a table of files, or changes such a setting.
    pub(crate) fn keep(&self, statement: &mut Statement) -> Result<(), Error> {
        if let Some(name) = statement.runtime_setting() {
            let message = format!(
                "{name} cannot be set by a statement that is restricted to {}",
                self.shown()
            );
            return Err(Error::new(ErrorKind::Refused, message)
                .with_hint("set it when the program is started"));
        }
        match statement.innermost_mut() {
            DfStatement::CopyTo(copy) => copy.target = self.target(&copy.target)?,
            DfStatement::CreateExternalTable(table) => {
                return Err(self.refusal(&format!("the definition of {}", table.name)));
            }
            _ => {}
        }
        Ok(())
    }

    /// The folders as a text. A folder that a process of weir has made for itself, such as that of the uploads of a server, is not named:
    /// the client has not chosen it, and need not know its path.
    fn shown(&self) -> String {
        let top = Path::new("/");
        let is_own = |folder: &&PathBuf| weir_file::leads_into_private_folder(top, folder);
        let (own, given): (Vec<_>, Vec<_>) = self.folders.iter().partition(is_own);
        if given.is_empty() && !own.is_empty() {
            return "the private folder of this process".to_owned();
        }
        let folders: Vec<_> = given.into_iter().map(|folder| shown(folder)).collect();
        folders.join(" or ")
    }

    /// The error of a name outside, which does not depend on what exists there.
    pub(crate) fn refusal(&self, name: &str) -> Error {
        let message = format!(
            "{name} is outside of {}, to which statements are restricted",
            self.shown()
        );
        Error::new(ErrorKind::Source, message)
            .with_hint("name files by their paths from that folder")
    }
}

/// Checks that a path leads into no private folder of a process, which has the rows of other statements.
///
/// # Errors
/// When it does. The message does not tell what is there.
pub(crate) fn check_public(path: &Path) -> Result<(), Error> {
    let real = path.canonicalize();
    let top = Path::new("/");
    match real.is_ok_and(|real| weir_file::leads_into_private_folder(top, &real)) {
        true => Err(Error::new(
            ErrorKind::Source,
            "the private folder of a process of weir is not read by statements",
        )
        .with_hint("name other files")),
        false => Ok(()),
    }
}

/// Checks that there is no pipe, socket or device at a path, which may have no end; `named` is the path in the statement.
///
/// # Errors
/// When there is one.
pub(crate) fn check_kind(path: &Path, named: &Path) -> Result<(), Error> {
    match path.metadata() {
        Ok(kind) if !kind.is_file() && !kind.is_dir() => {
            let message = format!("{} is a pipe, a socket or a device", shown(named));
            Err(Error::new(ErrorKind::Source, message).with_hint(FILES_ONLY))
        }
        _ => Ok(()),
    }
}

/// The hint where something else is named.
pub(crate) const FILES_ONLY: &str = "only files and folders can be read here";

/// A name with the characters that `\x2e` and its like stand for, by which files are found whose names are not UTF-8.
fn unescaped(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, after)) = rest.split_once(r"\x") {
        plain.push_str(before);
        let digits = after.get(..2);
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte.filter(u8::is_ascii) {
            Some(byte) => {
                plain.push(byte.into());
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                plain.push_str(r"\x");
                rest = after;
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// The folder at this path.
fn folder(path: &Path) -> Result<PathBuf, Error> {
    let failed =
        |error: io::Error| Error::new(ErrorKind::Source, format!("{}: {error}", shown(path)));
    let folder = path.canonicalize().map_err(failed)?;
    match folder.is_dir() {
        true => Ok(folder),
        false => {
            let message = format!("{} is not a folder", shown(path));
            Err(Error::new(ErrorKind::Source, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the work folder of an executor lay below its root, each client read the rows of all others.
    #[test]
    fn private_folders_are_outside_of_the_folder() {
        let home = std::env::temp_dir().join(format!("weir-root-private-{}", std::process::id()));
        let private = home.join("weir-executor-1");
        for folder in [&private, &home.join("day")] {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join("rows.csv"), "x\n1\n").unwrap();
        }
        std::fs::write(private.join("made-by-weir"), "").unwrap();
        let one = |path: &Path| Root::of(std::iter::once(path)).unwrap().unwrap();
        let root = one(&home);
        for name in [
            "weir-executor-1/rows.csv",
            "weir-executor-1/nothing.csv",
            "weir-executor-1/r*",
            "weir-executor-1/made-by-weir",
        ] {
            assert!(root.inside(name).is_err(), "{name}");
            assert!(root.target(name).is_err(), "{name}");
        }
        assert!(root.check(&private.join("rows.csv")).is_err());
        assert!(check_public(&private.join("rows.csv")).is_err());
        let own = home.canonicalize().unwrap().join("day/rows.csv");
        assert!(root.check(&own).is_ok() && check_public(&own).is_ok());
        let kept = |pattern: &str| {
            let found = root.expand(&root.inside(pattern).unwrap()).unwrap();
            root.kept(pattern, found)
        };
        assert_eq!(kept("*/*.csv").unwrap(), [own]);
        assert!(kept("w*/*.csv").is_err());
        // The process itself reads its own.
        let root = one(&private);
        let name = root.inside("rows.csv").unwrap();
        assert!(root.check(Path::new(&name)).is_ok());
        std::fs::remove_dir_all(&home).unwrap();
    }

    /// The error of a name outside had the path of the folder for uploads, which is below that for temporary files.
    #[test]
    fn private_folders_are_not_named() {
        let home = std::env::temp_dir().join(format!("weir-root-named-{}", std::process::id()));
        let (day, private) = (home.join("day"), home.join("weir-serve-1"));
        let uploads = private.join("uploads-1");
        for folder in [&day, &uploads] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(private.join("made-by-weir"), "").unwrap();
        let of = |folders: &[&Path]| Root::of(folders.iter().copied()).unwrap().unwrap();
        let refusal = |root: &Root| root.inside("../secret").unwrap_err().to_string();
        let day_shown = shown(&day.canonicalize().unwrap()).to_string();
        let both = refusal(&of(&[&day, &uploads]));
        assert!(both.contains(&day_shown), "{both}");
        let alone = refusal(&of(&[&uploads]));
        for error in [both, alone] {
            assert!(!error.contains("weir-serve-1"), "{error}");
        }
        std::fs::remove_dir_all(&home).unwrap();
    }

    #[test]
    fn nothing_leads_out_of_the_folder() {
        let home = std::env::temp_dir().join(format!("weir-root-{}", std::process::id()));
        let folder = home.join("inside");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(home.join("secret"), "x").unwrap();
        std::fs::write(folder.join("own"), "x").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("../secret", folder.join("link")).unwrap();
        let one = |path: &Path| Root::of(std::iter::once(path));
        let root = one(&folder).unwrap().unwrap();
        let own = root.inside("own").unwrap();
        assert!(root.check(Path::new(&own)).is_ok());
        assert!(root.inside(&own).is_ok());
        for outside in [
            "..",
            "../secret",
            "a/../../secret",
            "/etc/passwd",
            "-",
            r"\x2e\x2e/secret",
            r".\x2E/nowhere",
            r"..\x2fsecret",
            r"a\x2f..\x2f\x2e.\x2fsecret",
            r"\xff/\x2e\x2e/secret",
        ] {
            assert!(root.inside(outside).is_err(), "{outside}");
            assert!(root.target(outside).is_err(), "{outside}");
        }
        // Files that exist outside, and those that do not, give the same error.
        let refusal = |name: &str| root.inside(name).unwrap_err().to_string().replace(name, "");
        assert_eq!(refusal(r"\x2e\x2e/secret"), refusal(r"\x2e\x2e/nowhere"));
        assert!(root.inside(r"own\xff").is_ok() && root.inside(r"own\x").is_ok());
        #[cfg(unix)]
        {
            assert!(root.check(&folder.join("link")).is_err());
            // A missing file is not reported as one outside of the root.
            let missing = root.check(&folder.join("none")).unwrap_err().to_string();
            assert!(missing.ends_with("none: No such file or directory (os error 2)"));
            std::os::unix::fs::symlink("..", folder.join("up")).unwrap();
            for outside in ["up/none", "up/secret", "../none"] {
                let error = root.check(&folder.join(outside)).unwrap_err().to_string();
                assert!(error.contains("is outside of"), "{error}");
            }
            assert!(root.target("link").is_err());
            let behind = |name: &str| root.inside(name).unwrap_err().to_string().replace(name, "");
            std::os::unix::fs::symlink("..", folder.join("out")).unwrap();
            std::os::unix::fs::symlink("nowhere", folder.join("leads-nowhere")).unwrap();
            for name in [
                "out/none",
                r"out\x2fsecret",
                "out/*",
                "leads-nowhere",
                "link",
            ] {
                assert_eq!(behind(name), behind("out/secret"), "{name}");
            }
            // A wildcard goes past such a link, and a link of that name is refused.
            for name in ["*/*", "*/no*", "**/secret", "o*/inside/own", "*/nowhere/*"] {
                let none = root.expand(&root.inside(name).unwrap()).unwrap_err();
                assert!(none.to_string().contains("no file matches"), "{none}");
            }
            std::fs::create_dir_all(folder.join("day")).unwrap();
            std::fs::write(folder.join("day/secret"), "x").unwrap();
            let found = root.expand(&root.inside("*/secret").unwrap()).unwrap();
            assert_eq!(found.len(), 1, "{found:?}");
            let kept = root.kept("*/secret", found).unwrap();
            assert_eq!(kept, [folder.canonicalize().unwrap().join("day/secret")]);
            let found = root.expand(&root.inside("l*").unwrap()).unwrap();
            assert!(root.kept("l*", found).is_err());
            // A socket is refused, because it may have no end.
            let socket = std::os::unix::net::UnixListener::bind(folder.join("socket"));
            let inside = root.inside("socket").unwrap();
            let error = root.check(Path::new(&inside)).unwrap_err().to_string();
            assert!(
                socket.is_ok() && error.contains("a pipe, a socket"),
                "{error}"
            );
        }
        assert!(root.target("new.parquet").is_ok() && root.target("no/new").is_err());
        assert!(one(&folder.join("own")).is_err());
        // The folder that has the file is used.
        let other = home.join("other");
        std::fs::create_dir_all(&other).unwrap();
        std::fs::write(other.join("second"), "x").unwrap();
        let both = Root::of([&*folder, &*other].into_iter()).unwrap().unwrap();
        for name in ["own", "second"] {
            let path = both.inside(name).unwrap();
            assert!(both.check(Path::new(&path)).is_ok(), "{name}");
        }
        assert!(both.inside(other.join("second").to_str().unwrap()).is_ok());
        for outside in [
            "../secret",
            "/etc/passwd",
            home.join("secret").to_str().unwrap(),
        ] {
            assert!(both.inside(outside).is_err(), "{outside}");
        }
        let missing = both.inside("missing").unwrap();
        assert!(missing.starts_with(folder.canonicalize().unwrap().to_str().unwrap()));
        std::fs::remove_dir_all(&home).unwrap();
    }
}
