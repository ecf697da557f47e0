//! The Rust sources of a folder.

use std::fs;
use std::path::Path;

use anyhow::Result;

/// Calls `each` with every Rust source below a folder.
pub(crate) fn visit(folder: &Path, each: &mut dyn FnMut(&Path, &str)) -> Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "target") {
                visit(&path, each)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            each(&path, &fs::read_to_string(&path)?);
        }
    }
    Ok(())
}
