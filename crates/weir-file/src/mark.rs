//! The marker of a directory that a process keeps for itself.

use std::path::Path;

/// Whether a path without links leads into a directory that a process keeps for itself ([`crate::PrivateFolder`]), below a directory that
/// it lies in. Files in it are those of other statements, where several programs ask one process.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let private = folder.path().join("weir-example-1");
/// std::fs::create_dir(&private)?;
/// std::fs::write(private.join("made-by-weir"), "")?;
/// let leads = |path: &str| weir_file::leads_into_private_folder(folder.path(), &folder.path().join(path));
/// assert!(leads("weir-example-1") && leads("weir-example-1/rows.arrow"));
/// assert!(!leads("weir-example-2/rows.arrow") && !leads("rows.arrow"));
/// assert!(!weir_file::leads_into_private_folder(&private, &private.join("rows.arrow")));
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn leads_into_private_folder(folder: &Path, path: &Path) -> bool {
    let mut parts = path.ancestors().take_while(|part| *part != folder);
    parts.any(|part| {
        let name = part.file_name().unwrap_or_default();
        name.as_encoded_bytes().starts_with(PREFIX)
            && part
                .join(MARK)
                .symlink_metadata()
                .is_ok_and(|mark| mark.is_file())
    })
}

/// The name of the marker.
pub(crate) const MARK: &str = "made-by-weir";
/// The beginning of the names of all such directories.
const PREFIX: &[u8] = b"weir-";
