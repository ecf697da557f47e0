//! The libraries that stand alone, as they would be published: packed, and built from their packages alone.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::{env, fs};

use anyhow::{Context, Result, bail};

use crate::process::missing;
use crate::truth;
use crate::workspace::{cargo, root, target_dir};

/// `cargo publish --dry-run` of every package whose manifest lets it be published. No package is uploaded.
pub(crate) fn check() -> Result<()> {
    let packages = published()?;
    if packages.is_empty() {
        bail!("no manifest says `publish = true`");
    }
    forget(&packages)?;
    // A folder of its own, for the same reason: what was built of a version is not built again.
    let folder = target_dir()?.join("publish");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let mut command = cargo(&["publish", "--dry-run", "--locked", "--allow-dirty"])?;
    command.arg("--target-dir").arg(&folder);
    for package in &packages {
        command.args(["-p", package]);
    }
    eprintln!("$ cargo publish --dry-run of {} packages", packages.len());
    let output = command.output()?;
    fs::remove_dir_all(&folder)?;
    if output.status.success() {
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    // Whether the packages can be published shows only where the index of those that are there can be read.
    let is_away = [
        "Could not resolve host",
        "Couldn't connect",
        "Timeout was reached",
        "network",
        "crates-io is replaced with",
    ];
    if is_away.iter().any(|sign| errors.contains(sign)) {
        return missing("crates.io", "that the libraries can be published");
    }
    bail!("the libraries cannot be published:\n{errors}")
}

/// Removes our packages from cargo's registry cache: cargo would build the others with the old sources, since the version has not
/// changed.
fn forget(packages: &BTreeSet<String>) -> Result<()> {
    let home = match env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => env::home_dir().context("no home")?.join(".cargo"),
    };
    for kind in ["src", "cache"] {
        let Ok(registries) = fs::read_dir(home.join("registry").join(kind)) else {
            continue;
        };
        for registry in registries {
            let Ok(entries) = fs::read_dir(registry?.path()) else {
                continue;
            };
            for entry in entries {
                let path = entry?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let is_ours = name
                    .rsplit_once('-')
                    .is_some_and(|(name, _)| packages.contains(name));
                match is_ours {
                    true if path.is_dir() => fs::remove_dir_all(&path)?,
                    true => fs::remove_file(&path)?,
                    false => {}
                }
            }
        }
    }
    Ok(())
}

/// The names of the packages that may be published.
fn published() -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for manifest in truth::manifests(&root()?)? {
        let table: toml::Table = fs::read_to_string(&manifest)?.parse()?;
        let package = table.get("package");
        let may = package.and_then(|package| package.get("publish")?.as_bool()) == Some(true);
        if may {
            found.insert(truth::package_name(&manifest)?);
        }
    }
    Ok(found)
}
