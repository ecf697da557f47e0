//! Paths and patterns in references: what is looked at before they are looked up, and what they mean here.

use std::path::{Path, PathBuf};

use weir_capture::{is_remote, shown};
use weir_functions::similar::similar;
use weir_functions::{Error, ErrorKind};

use crate::root::Root;

/// The files of SIP logs, sealed segments first. What a glob finds beside them is no log.
pub(super) fn log_paths(patterns: &[String], root: Option<&Root>) -> Result<Vec<PathBuf>, Error> {
    let mut named = Vec::new();
    for pattern in patterns {
        if is_remote(pattern) {
            let message = format!("{pattern}: logs are read from local files");
            return Err(Error::new(ErrorKind::Source, message).with_hint("download it first"));
        }
        named.extend(expand(pattern, root)?);
    }
    named.retain(|path| {
        path.extension()
            .is_none_or(|extension| extension != "index")
    });
    let mut paths = Vec::new();
    for path in weir_clf::all_segments(&named)
        .map_err(|error| Error::new(ErrorKind::Source, error.to_string()))?
    {
        if let Some(root) = root {
            root.check(&path)?;
        }
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// Checks the length of a path and the number of its wildcards.
///
/// # Errors
/// When it is more than a path may be.
pub(super) fn look_at_path(path: &str) -> Result<(), Error> {
    let limit = |message: String| Err(Error::new(ErrorKind::Limit, message));
    if path.len() > PATH_BYTES_MAX {
        let len = path.len();
        return limit(format!(
            "a path has {len} bytes, and the limit is {PATH_BYTES_MAX}"
        ));
    }
    let steps = || path.split(std::path::is_separator);
    let walks = steps().filter(|step| *step == "**").count();
    if walks > WALKS_MAX {
        return limit(format!(
            "a path has ** {walks} times, and the limit is {WALKS_MAX}"
        ));
    }
    let wild = steps().filter(|step| step.contains('*')).count();
    if wild > WILD_MAX {
        return limit(format!(
            "a path has * in {wild} of its names, and the limit is {WILD_MAX}"
        ));
    }
    Ok(())
}

/// Bytes of a path: the system has no longer ones.
const PATH_BYTES_MAX: usize = 4096;
/// Each `**` of a pattern goes through all folders that the one in front of it has gone through.
const WALKS_MAX: usize = 3;
/// Names of a path with wildcards.
const WILD_MAX: usize = 32;

/// The local files that a pattern means.
pub(super) fn expand(pattern: &str, root: Option<&Root>) -> Result<Vec<PathBuf>, Error> {
    if let Some(root) = root {
        // Files outside the root are not searched for: a message would show whether they exist.
        let inside = root.inside(pattern)?;
        let found = root.expand(&inside).map_err(|error| not_opened(&error))?;
        return root.kept(&inside, found);
    }
    if pattern == "-" {
        return Ok(vec![PathBuf::from("-")]);
    }
    weir_capture::expand(pattern).map_err(|error| {
        let converted = not_opened(&error);
        match near_file(pattern) {
            Some(near) => converted.with_hint(format!("did you mean '{near}'?")),
            None => converted,
        }
    })
}

pub(super) fn not_opened(error: &weir_capture::Error) -> Error {
    let converted = Error::new(ErrorKind::Source, error.to_string());
    match error.hint() {
        Some(hint) => converted.with_hint(hint),
        None => converted,
    }
}

/// A file in the same folder whose name is close to the one that is not there.
fn near_file(path: &str) -> Option<String> {
    let path = Path::new(path);
    let wanted = path.file_name()?.to_str()?;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let near = similar(wanted, names.iter().map(String::as_str));
    let near = near.first()?;
    Some(match folder {
        Some(folder) => shown(&folder.join(near)).into_owned(),
        None => (*near).to_owned(),
    })
}
