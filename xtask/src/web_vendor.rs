//! `cargo xtask web-vendor [--check]`: the files of others in the page of `weir serve`, built from their packages.
//!
//! The packages, and the hash of each, stand in `crates/weir-serve/web-vendor`; npm fetches it and node
//! runs `build.mjs` there. Only this command needs them: the files that it writes are kept in the repository.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{installed, run};
use crate::workspace::{root, target_dir};

/// Whether the files are written, or held against those that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Puts what was built into the repository.
    Write,
    /// Lists the differences to the repository, and changes nothing.
    Check,
}

/// Builds the files and writes or compares them.
pub(crate) fn command(mode: Mode) -> Result<()> {
    for program in ["node", "npm"] {
        if !installed(program) {
            bail!("web-vendor needs {program}; nothing else here does");
        }
    }
    let serve = root()?.join("crates/weir-serve");
    let scratch = target_dir()?.join("web-vendor");
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    fs::create_dir_all(&scratch)?;
    for (name, bytes) in files(&serve.join("web-vendor"))? {
        fs::write(scratch.join(name), bytes)?;
    }
    run(Command::new("npm").arg("ci").current_dir(&scratch))?;
    let outs = FOLDERS.map(|(out, _)| out);
    run(Command::new("node")
        .arg("build.mjs")
        .args(outs)
        .current_dir(&scratch))?;
    let mut differing = Vec::new();
    for (out, kept) in FOLDERS {
        let built = files(&scratch.join(out))?;
        let folder = serve.join(kept);
        match mode {
            Mode::Write => write(&folder, &built)?,
            Mode::Check => differing.extend(differences(&folder, &built)?),
        }
    }
    if !differing.is_empty() {
        bail!(
            "vendored files differ from their packages (cargo xtask web-vendor writes them anew):\n{}",
            differing.join("\n")
        );
    }
    eprintln!("web-vendor: ok");
    Ok(())
}

/// The output folders of the build, and the folders of `weir-serve` for them.
const FOLDERS: [(&str, &str); 2] = [("page", "web/vendor"), ("test", "tests/browser/vendor")];

/// The files of a folder by name; a folder that is not there has none.
fn files(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut files = BTreeMap::new();
    if !folder.is_dir() {
        return Ok(files);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if let (true, Some(name)) = (path.is_file(), path.file_name()) {
            files.insert(PathBuf::from(name), fs::read(&path)?);
        }
    }
    Ok(files)
}

/// Makes a folder hold these files and no others.
fn write(folder: &Path, built: &BTreeMap<PathBuf, Vec<u8>>) -> Result<()> {
    fs::create_dir_all(folder)?;
    for name in files(folder)?.keys() {
        if !built.contains_key(name) {
            fs::remove_file(folder.join(name))?;
        }
    }
    for (name, bytes) in built {
        let path = folder.join(name);
        fs::write(&path, bytes).with_context(|| format!("{}", path.display()))?;
    }
    Ok(())
}

/// A line for each file of a folder that is not as it was built.
fn differences(folder: &Path, built: &BTreeMap<PathBuf, Vec<u8>>) -> Result<Vec<String>> {
    let kept = files(folder)?;
    let mut names: Vec<_> = kept.keys().chain(built.keys()).collect();
    names.sort();
    names.dedup();
    let line = |name: &PathBuf| {
        let what = match (kept.get(name), built.get(name)) {
            (Some(kept), Some(built)) if kept == built => return None,
            (Some(_), Some(_)) => "differs",
            (Some(_), None) => "is of no package",
            _ => "is missing",
        };
        Some(format!("{}: {what}", folder.join(name).display()))
    };
    Ok(names.into_iter().filter_map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_edited_added_or_removed_is_a_difference() {
        let folder = std::env::temp_dir().join(format!("web-vendor-{}", std::process::id()));
        let built = |text: &str| {
            let names = ["a.js", "b.js"];
            names
                .map(|name| (PathBuf::from(name), text.as_bytes().to_vec()))
                .into()
        };
        let was: BTreeMap<_, _> = built("one");
        write(&folder, &was).unwrap();
        assert_eq!(differences(&folder, &was).unwrap(), [""; 0]);
        fs::write(folder.join("a.js"), "edited").unwrap();
        fs::write(folder.join("c.js"), "added").unwrap();
        fs::remove_file(folder.join("b.js")).unwrap();
        let found = differences(&folder, &was).unwrap();
        let ends: Vec<_> = found
            .iter()
            .filter_map(|line| line.rsplit('/').next())
            .collect();
        let expected = [
            "a.js: differs",
            "b.js: is missing",
            "c.js: is of no package",
        ];
        assert_eq!(ends, expected);
        write(&folder, &was).unwrap();
        assert_eq!(differences(&folder, &was).unwrap(), [""; 0]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
