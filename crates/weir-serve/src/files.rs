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

    fn of(path: &Path, roots: &[PathBuf]) -> Self {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.to_ascii_lowercase();
        let bare = name
            .strip_suffix(".gz")
            .or_else(|| name.strip_suffix(".zst"))
            .unwrap_or(&name);
        let ends = |ends: &[&str]| ends.iter().any(|end| bare.ends_with(end));
        if ends(&[".pcap", ".pcapng", ".cap", ".erf", ".ntar"]) || is_capture(path, roots) {
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
fn is_capture(path: &Path, roots: &[PathBuf]) -> bool {
    let mut start = [0; 4];
    let read = opened(path, roots).and_then(|mut file| file.read_exact(&mut start));
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

/// Opens a file to read. A pipe or a device that has taken the place of a file since it was looked at is refused, and not waited for; so
/// is a link that leads out of the roots.
fn opened(path: &Path, roots: &[PathBuf]) -> io::Result<File> {
    let file = open_without_wait(path)?;
    match file.metadata()?.is_file() && weir_capture::lies_below(&file, roots)? {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Opens a file to read. Opening a pipe does not wait for its writer, and a terminal does not become that of the process.
pub(crate) fn open_without_wait(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// What is at a path, if it lies below a root: a link there, or in place of a folder on the way, may lead out of it.
#[cfg(target_os = "linux")]
fn metadata_below(path: &Path, roots: &[PathBuf]) -> Option<Metadata> {
    // This opens pipes and devices without a wait, and what may not be read, too.
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let lies_below = weir_capture::lies_below(&file, roots).ok()?;
    lies_below.then(|| file.metadata().ok()).flatten()
}

/// What is at a path, if it lies below a root.
#[cfg(not(target_os = "linux"))]
fn metadata_below(path: &Path, roots: &[PathBuf]) -> Option<Metadata> {
    let real = path.canonicalize().ok()?;
    let lies_below = roots.iter().any(|root| real.starts_with(root));
    lies_below.then(|| fs::metadata(&real).ok()).flatten()
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
                    if is_hidden {
                        continue;
                    }
                    let Some(metadata) = metadata_below(&path, &self.roots) else {
                        continue;
                    };
                    if metadata.is_dir() && depth < DEPTH_MAX && !is_link(&path) {
                        folders.push((path, depth + 1));
                    } else if metadata.is_file() {
                        found.extend(self.listed(root, &path, &metadata));
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

    fn listed(&self, root: &Path, path: &Path, metadata: &Metadata) -> Option<Listed> {
        Some(Listed {
            name: path.strip_prefix(root).ok()?.to_str()?.to_owned(),
            path: path.to_str()?.to_owned(),
            size: metadata.len(),
            modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            kind: FileKind::of(path, &self.roots),
        })
    }
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
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

    /// A pipe that took the place of a file blocked the list of files, and every request for it, until something was written into the pipe.
    #[test]
    fn pipes_in_the_place_of_files_are_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let roots = [folder.path().canonicalize().unwrap()];
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        assert_eq!(FileKind::of(&pipe, &roots), FileKind::Other);
        // So do the processes of statements open files.
        assert!(
            !open_without_wait(&pipe)
                .unwrap()
                .metadata()
                .unwrap()
                .is_file()
        );
        let capture = folder.path().join("capture");
        fs::write(&capture, [0xd4, 0xc3, 0xb2, 0xa1]).unwrap();
        assert_eq!(FileKind::of(&capture, &roots), FileKind::Capture);
    }

    /// The size of a file outside, and whether it is a capture, were listed where a link took the place of a file or a folder while it
    /// was looked at.
    #[test]
    #[cfg(target_os = "linux")]
    fn what_links_lead_to_is_listed_where_it_lies_below_a_root() {
        use std::os::unix::fs::symlink;
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let roots = [home.join("inside")];
        fs::create_dir_all(home.join("inside/day")).unwrap();
        for path in ["outside", "inside/day/capture"] {
            fs::write(home.join(path), [0xd4, 0xc3, 0xb2, 0xa1]).unwrap();
        }
        for (to, name) in [("../outside", "out"), ("..", "up"), ("day/capture", "in")] {
            symlink(to, home.join("inside").join(name)).unwrap();
        }
        for (name, is_below) in [
            ("day/capture", true),
            ("in", true),
            ("up/inside/day/capture", true),
            ("out", false),
            ("up/outside", false),
            ("up", false),
        ] {
            let path = home.join("inside").join(name);
            assert_eq!(metadata_below(&path, &roots).is_some(), is_below, "{name}");
            let kind = FileKind::of(&path, &roots);
            assert_eq!(kind == FileKind::Capture, is_below, "{name}");
        }
        let files = Files::new(roots.to_vec());
        let all = files.all();
        let names = all.iter().map(|file| file.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["day/capture", "in"]);
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
