//! The list of captures beside the checkout that tests read.
//!
//! The list is the file `captures.txt` of the project, so that a test that takes every eighth capture takes the same
//! ones on every machine. An additional capture in the folders is not judged, and [`crate::unlisted`] names it; a
//! listed one that does not exist is [`crate::missing`]. The list is renewed by
//!
//! ```text
//! WEIR_BLESS=1 cargo test -p weir-capture --test it captures_are_listed
//! ```
//!
//! The test is in that crate because this one cannot recognise a capture.

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use crate::require::some;

/// The folders of `../shared/data` whose captures are listed.
pub const FOLDERS: [&str; 3] = ["captures", "sip", "websocket"];

/// A file of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// The path relative to the requested folder, with `/` as separator.
    pub name: String,
    /// The absolute path.
    pub path: PathBuf,
    /// False when only its name says that it is a capture.
    pub is_capture: bool,
}

/// The captures of the list below `folder` of `../shared/data`, such as `captures` or `websocket/captures`, sorted by name.
/// Listed files that do not exist are reported as missing; without such a folder the result is empty, and the calling test
/// reports what it does not check.
///
/// # Panics
///
/// The list cannot be read, or `WEIR_REQUIRE` lists `captures` and one of them is not there.
#[must_use]
pub fn listed(folder: &str) -> Vec<Listed> {
    let mut files = listed_by_name(folder);
    files.retain(|file| file.is_capture);
    files
}

/// The files of [`listed`], and files whose names alone say that they are captures, to compare how these are refused.
///
/// # Panics
///
/// The panics of [`listed`].
#[must_use]
pub fn listed_by_name(folder: &str) -> Vec<Listed> {
    let data = data();
    if !data.join(folder).is_dir() {
        return Vec::new();
    }
    let (files, gone) = List::load().below(&data, folder);
    if !gone.is_empty() {
        let unchecked = format!("captures.txt lists {}", some(&gone));
        crate::missing("captures", &unchecked);
    }
    files
}

/// The folder beside the checkout with the data of tests, which need not be there.
#[must_use]
pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data")
}

/// The path of the list.
#[must_use]
pub fn list_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("captures.txt")
}

/// The list: the text of `captures.txt`, which its `Display` writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    /// Path from the folder of the data, and whether it is a capture; in the order of the paths.
    files: Vec<(String, bool)>,
}

impl List {
    /// Loads the list of the project. The file is read at run time, so that a new list needs no new build.
    ///
    /// # Panics
    ///
    /// It cannot be read, or is not sorted.
    #[must_use]
    pub fn load() -> Self {
        let path = list_path();
        let text = fs::read_to_string(&path);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self::parse(&text).unwrap_or_else(|fault| panic!("{}: {fault}", path.display()))
    }

    /// Reads the text of a list.
    ///
    /// # Errors
    ///
    /// A path is not behind the one before it: strides over the list would not be those of its order.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let files: Vec<(String, bool)> = lines
            .map(|line| match line.strip_prefix(NO_CAPTURE) {
                Some(path) => (path.to_owned(), false),
                None => (line.to_owned(), true),
            })
            .collect();
        match files.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
            Some(pair) => Err(format!("{} is not behind {}", pair[1].0, pair[0].0)),
            None => Ok(Self { files }),
        }
    }

    /// A new list: the files below the [`FOLDERS`] of `data` that are captures, and those whose names say that they are.
    ///
    /// # Errors
    ///
    /// A folder cannot be read.
    pub fn of(
        data: &Path,
        is_capture: impl Fn(&Path) -> bool,
        is_capture_name: impl Fn(&str) -> bool,
    ) -> io::Result<Self> {
        let mut files = Vec::new();
        for name in files_of(data)? {
            let is_capture = is_capture(&data.join(&name));
            if is_capture || is_capture_name(&name) {
                files.push((name, is_capture));
            }
        }
        Ok(Self { files })
    }

    /// The listed files below `folder` of `data`, and the paths of those that are not there.
    #[must_use]
    pub fn below(&self, data: &Path, folder: &str) -> (Vec<Listed>, Vec<String>) {
        let (mut there, mut gone) = (Vec::new(), Vec::new());
        for (name, is_capture) in &self.files {
            let within = name.strip_prefix(folder);
            let Some(within) = within.and_then(|rest| rest.strip_prefix('/')) else {
                continue;
            };
            let path = data.join(name);
            match path.is_file() {
                true => there.push(Listed {
                    name: within.to_owned(),
                    path,
                    is_capture: *is_capture,
                }),
                false => gone.push(name.clone()),
            }
        }
        (there, gone)
    }

    /// The captures in the [`FOLDERS`] of `data` that are not on the list, by their paths in it.
    ///
    /// # Errors
    ///
    /// A folder cannot be read.
    pub fn unlisted(
        &self,
        data: &Path,
        is_capture: impl Fn(&Path) -> bool,
    ) -> io::Result<Vec<String>> {
        let mut found = files_of(data)?;
        found.retain(|name| {
            let is_listed = self.files.binary_search_by(|file| file.0.cmp(name)).is_ok();
            !is_listed && is_capture(&data.join(name))
        });
        Ok(found)
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEAD)?;
        for (path, is_capture) in &self.files {
            let mark = if *is_capture { "" } else { NO_CAPTURE };
            writeln!(f, "{mark}{path}")?;
        }
        Ok(())
    }
}

/// The files below the [`FOLDERS`] of `data` by their paths in it, sorted.
fn files_of(data: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders: Vec<String> = FOLDERS.map(str::to_owned).into();
    folders.retain(|folder| data.join(folder).is_dir());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(data.join(&folder))? {
            let entry = entry?;
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            match entry.path().is_dir() {
                true => folders.push(name),
                false => found.push(name),
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The prefix of a path whose file is no capture.
const NO_CAPTURE: &str = "! ";
/// The comment at the top of the list.
const HEAD: &str = "\
# The captures in ../shared/data that tests read: others there are counted and named, not judged. Behind a ! are files
# that only their name calls captures. WEIR_BLESS=1 cargo test -p weir-capture --test it captures_are_listed renews it.
";
