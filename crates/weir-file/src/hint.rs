//! What to try where a file cannot be made.

use std::io;
use std::path::Path;

/// How the folder of `path` is made, where the file at `path` could not be made for the lack of that.
///
/// ```
/// let path = std::path::Path::new("/tmp/not-there/rows.csv");
/// let error = weir_file::NewFile::create(path).unwrap_err();
/// assert_eq!(
///     weir_file::folder_hint(path, &error).as_deref(),
///     Some("there is no folder '/tmp/not-there': mkdir -p '/tmp/not-there' creates it")
/// );
/// ```
#[must_use]
pub fn folder_hint(path: &Path, error: &io::Error) -> Option<String> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())?;
    let is_missing = error.kind() == io::ErrorKind::NotFound && !folder.exists();
    let folder = folder.display();
    is_missing.then(|| format!("there is no folder '{folder}': mkdir -p '{folder}' creates it"))
}
