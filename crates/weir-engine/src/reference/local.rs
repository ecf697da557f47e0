//! The local files that a pattern in FROM means: files, the captures in a folder, the members of an archive.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_capture::{Archive, ArchiveMember, shown};
use weir_functions::{Error, ErrorKind};
use weir_tables::Location;

use super::Resolver;
use super::file_kind::{FileKind, file_name, kind_of};
use super::paths::{expand, not_opened};
use crate::hive;
use crate::root::{FILES_ONLY, check_kind, check_public};

impl Resolver<'_> {
    /// The local files that a pattern means. A folder and an archive stand for the captures in them.
    pub(super) fn local(&self, pattern: &str) -> Result<Vec<Location>, Error> {
        let address = match self.root {
            Some(root) => root.inside(pattern)?,
            None => weir_capture::from_home(pattern).into_owned(),
        };
        let failed = |path: &Path, error: &weir_capture::Error| {
            let message = format!("{}: {error}", shown(path));
            Error::new(ErrorKind::Source, message).with_hint(
                "download it again; 'zip -FF FILE --out NEW' recovers the intact members of a damaged one",
            )
        };
        if !Path::new(&address).exists()
            && let Some((path, name)) = Archive::of_address(&address)
        {
            self.check(&path)?;
            let archive = Archive::open(&path).map_err(|error| failed(&path, &error))?;
            if let Some(archive) = archive {
                let members = archive.matching(name);
                let members = members.map_err(|error| not_opened(&error))?;
                return Ok(members.into_iter().map(of_member).collect());
            }
        }
        let mut found = Vec::new();
        for path in expand(pattern, self.root)? {
            // Files below a root are checked where they are looked up.
            if self.root.is_none() {
                self.check(&path)?;
            }
            let is_archive = path
                .extension()
                .is_some_and(|extension| extension.eq_ignore_ascii_case("zip"));
            if path.is_dir() {
                let mut files = Vec::new();
                self.files_in(&path, FOLDERS_MAX, &mut files)?;
                files.sort();
                let files = files.into_iter().map(Location::from).collect();
                found.extend(self.alike(&shown(&path), files)?);
            } else if is_archive
                && let Some(archive) =
                    Archive::open(&path).map_err(|error| failed(&path, &error))?
            {
                let members = archive.members().into_iter().map(of_member).collect();
                found.extend(self.alike(&shown(&path), members)?);
            } else {
                found.push(Location::from(path));
            }
        }
        Ok(found)
    }

    /// Checks whether a file may be read. A link may lead out of the folder that files have to be in, and to a pipe or a device.
    ///
    /// # Errors
    /// When it may not.
    pub(super) fn check(&self, path: &Path) -> Result<(), Error> {
        match self.root {
            Some(root) => root.check(path),
            None if self.files_only && path == Path::new("-") => {
                let message = "standard input belongs to another machine";
                Err(Error::new(ErrorKind::Source, message).with_hint(FILES_ONLY))
            }
            None if self.files_only => {
                check_public(path)?;
                check_kind(path, path)
            }
            None => Ok(()),
        }
    }

    /// The files in a folder, and in folders in it that are named as a value (`day=2026-01-01`), without those that are
    /// hidden.
    fn files_in(&self, folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Error> {
        let failed = |error: std::io::Error| {
            Error::new(ErrorKind::Source, format!("{}: {error}", shown(folder)))
        };
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (name, path) = (entry.file_name(), entry.path());
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if path.is_file() {
                self.check(&path)?;
                files.push(path);
            } else if depth > 0 && name.to_str().is_some_and(hive::is_value) && path.is_dir() {
                self.check(&path)?;
                self.files_in(&path, depth - 1, files)?;
            }
        }
        Ok(())
    }

    /// The files of a folder or archive of one kind: the captures, or else those of the kind of the first file with a kind. Files
    /// that are left out are reported.
    fn alike(&self, place: &str, all: Vec<Location>) -> Result<Vec<Location>, Error> {
        let kinds: Vec<Option<FileKind>> = all.iter().map(|one| kind_of(one).ok()).collect();
        let is_of_captures = kinds.contains(&Some(FileKind::Capture));
        let wanted = match is_of_captures {
            true => Some(FileKind::Capture),
            false => kinds.iter().flatten().copied().next(),
        };
        let Some(wanted) = wanted else {
            // The kind of a single file is decided later.
            if let [one] = all.as_slice() {
                kind_of(one)?;
            }
            let message = format!("{place} has no capture and no other file that can be read");
            let folder = place.trim_end_matches('/');
            let hint = format!(
                "'{folder}/*/*' looks in the folders of a folder, '{folder}/**' in all of them"
            );
            return Err(Error::new(ErrorKind::Source, message).with_hint(hint));
        };
        let (mut taken, mut others) = (Vec::new(), Vec::new());
        for (one, kind) in all.into_iter().zip(kinds) {
            match kind == Some(wanted) {
                true => taken.push(one),
                false => others.push(file_name(&one)),
            }
        }
        if !others.is_empty() {
            let count = others.len();
            others.truncate(NAMES_TOLD);
            let more = if count > NAMES_TOLD { ", …" } else { "" };
            let what = match is_of_captures {
                true => "not captures",
                false => "not of the format of the first",
            };
            self.scan_report.add_notes(vec![format!(
                "{place}: {count} of {} files are {what} and were left out: {}{more}",
                count + taken.len(),
                others.join(", ")
            )]);
        }
        Ok(taken)
    }
}

/// The maximum depth of nested folders: a link may lead back.
const FOLDERS_MAX: usize = 16;

/// The location of a member of an archive.
fn of_member(member: Arc<ArchiveMember>) -> Location {
    Location::Object(member)
}

/// Names of files that were left out, in one note.
const NAMES_TOLD: usize = 5;
