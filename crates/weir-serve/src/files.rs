//! The files below the roots.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{Mode, OFlags};

/// The kind of a file, by its name or its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Capture,
    Log,
    Table,
    Other,
}

impl FileKind {
    /// The word for it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Capture => "capture",
            Self::Log => "log",
            Self::Table => "table",
            Self::Other => "other",
        }
    }

    fn of(path: &Path) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.to_ascii_lowercase();
        let bare = name
            .strip_suffix(".gz")
            .or_else(|| name.strip_suffix(".zst"))
            .unwrap_or(&name);
        let ends = |ends: &[&str]| ends.iter().any(|end| bare.ends_with(end));
        if ends(&[".pcap", ".pcapng", ".cap", ".erf", ".ntar"]) || is_capture(path) {
            Self::Capture
        } else if ends(&[".clf", ".log"]) {
            Self::Log
        } else if ends(&[
            ".parquet", ".csv", ".tsv", ".tab", ".json", ".ndjson", ".jsonl", ".arrow", ".arrows",
        ]) {
            Self::Table
        } else {
            Self::Other
        }
    }
}

/// Whether the first bytes are those of pcap or pcapng.
fn is_capture(path: &Path) -> bool {
    let mut start = [0; 4];
    let read = opened(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok()
        && matches!(
            start,
            [0xa1, 0xb2, 0xc3, 0xd4]
                | [0xd4, 0xc3, 0xb2, 0xa1]
                | [0xa1, 0xb2, 0x3c, 0x4d]
                | [0x4d, 0x3c, 0xb2, 0xa1]
                | [0x0a, 0x0d, 0x0d, 0x0a]
        )
}

/// Opens a file to read. A pipe or a device that has taken the place of a file since it was looked at is refused, and not waited for.
fn opened(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// A file below a root.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    /// The name relative to its root.
    pub(crate) name: String,
    /// The path as it is written in FROM.
    pub(crate) path: String,
    pub(crate) size: u64,
    pub(crate) modified: SystemTime,
    pub(crate) kind: FileKind,
}

/// The files below the roots, as they were a moment ago.
#[derive(Debug)]
pub(crate) struct Files {
    roots: Vec<PathBuf>,
    known: Mutex<Option<(Instant, Arc<Vec<Listed>>)>>,
}

impl Files {
    /// The files of these folders, which have no links in their paths.
    pub(crate) const fn new(roots: Vec<PathBuf>) -> Self {
        Self {
            roots,
            known: Mutex::new(None),
        }
    }

    /// All files, by name.
    pub(crate) fn all(&self) -> Arc<Vec<Listed>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, files)) = known.as_ref()
            && at.elapsed() < FRESH_FOR
        {
            return Arc::clone(files);
        }
        let files = Arc::new(self.look());
        *known = Some((Instant::now(), Arc::clone(&files)));
        files
    }

    /// Discards the list, which is made again when it is needed.
    pub(crate) fn forget(&self) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The path in FROM of the file that a name of the catalog stands for.
    pub(crate) fn path_of(&self, parts: &[String]) -> Option<String> {
        let parts = match parts {
            [catalog, schema, rest @ ..]
                if catalog == CATALOG && schema == SCHEMA && !rest.is_empty() =>
            {
                rest
            }
            [schema, rest @ ..] if schema == SCHEMA && !rest.is_empty() => rest,
            parts => parts,
        };
        let name = parts.join(".");
        let files = self.all();
        // A statement may have thousands of names.
        let found = files.binary_search_by(|file| file.name.as_str().cmp(&name));
        found
            .ok()
            .and_then(|place| Some(files.get(place)?.path.clone()))
    }

    fn look(&self) -> Vec<Listed> {
        let mut found: Vec<Listed> = Vec::new();
        for root in &self.roots {
            let mut folders = vec![(root.clone(), 0)];
            while let Some((folder, depth)) = folders.pop() {
                let Ok(entries) = fs::read_dir(&folder) else {
                    continue;
                };
                for entry in entries.flatten() {
                    if found.len() >= FILES_MAX {
                        break;
                    }
                    let path = entry.path();
                    let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
                    // A link may lead out of the root.
                    let lies_within = |path: &Path| {
                        let real = path.canonicalize();
                        real.is_ok_and(|real| self.roots.iter().any(|root| real.starts_with(root)))
                    };
                    let Ok(metadata) = fs::metadata(&path) else {
                        continue;
                    };
                    if is_hidden || (is_link(&path) && !lies_within(&path)) {
                        continue;
                    }
                    if metadata.is_dir() && depth < DEPTH_MAX && !is_link(&path) {
                        folders.push((path, depth + 1));
                    } else if metadata.is_file() {
                        found.extend(listed(root, &path, &metadata));
                    }
                }
            }
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        // The file of an earlier root is meant by the name; that of a later one is named whole.
        let mut taken = std::collections::HashSet::new();
        for file in &mut found {
            match taken.insert(file.name.clone()) {
                true => file.path.clone_from(&file.name),
                false => file.name.clone_from(&file.path),
            }
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        found
    }
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
}

fn listed(root: &Path, path: &Path, metadata: &Metadata) -> Option<Listed> {
    Some(Listed {
        name: path.strip_prefix(root).ok()?.to_str()?.to_owned(),
        path: path.to_str()?.to_owned(),
        size: metadata.len(),
        modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
        kind: FileKind::of(path),
    })
}

/// The database and the schema that files are tables of.
pub(crate) const CATALOG: &str = "weir";
pub(crate) const SCHEMA: &str = "public";

const FRESH_FOR: Duration = Duration::from_secs(1);
/// Files that are listed; others can still be named.
const FILES_MAX: usize = 10_000;
const DEPTH_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// A pipe that took the place of a file kept the list of files, and all who asked for it, until something was written into it.
    #[test]
    fn pipes_in_the_place_of_files_are_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert_eq!(FileKind::of(&pipe), FileKind::Other);
        let capture = folder.path().join("capture");
        fs::write(&capture, [0xd4, 0xc3, 0xb2, 0xa1]).unwrap();
        assert_eq!(FileKind::of(&capture), FileKind::Capture);
    }

    /// Each name of a statement was looked for from the first file on.
    #[test]
    fn files_are_found_by_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let roots = ["one", "two"].map(|name| folder.join(name));
        for root in &roots {
            fs::create_dir(root).unwrap();
            for name in ["b.csv", "a.csv"] {
                fs::write(root.join(name), "x\n1\n").unwrap();
            }
        }
        fs::write(roots[1].join("c.csv"), "x\n1\n").unwrap();
        let files = Files::new(roots.to_vec());
        let path = |name: &str| files.path_of(&[name.to_owned()]);
        for name in ["a.csv", "b.csv", "c.csv"] {
            assert_eq!(path(name).as_deref(), Some(name));
        }
        let second = roots[1].join("a.csv").to_str().unwrap().to_owned();
        assert_eq!(path(&second), Some(second.clone()));
        assert_eq!(path("d.csv"), None);
        assert!(files.all().is_sorted_by(|one, other| one.name < other.name));
    }
}
