//! The workspace: its root, its target folder, its features, and cargo in it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// The root of the checkout.
pub(crate) fn root() -> Result<PathBuf> {
    // The variable has the checkout of this run: checkouts may share a target directory, and with it this program.
    let here = env::var_os("CARGO_MANIFEST_DIR");
    let here = here.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Ok(Path::new(&here)
        .parent()
        .context("xtask stands in the root")?
        .to_owned())
}

/// The target folder of cargo.
pub(crate) fn target_dir() -> Result<PathBuf> {
    Ok(match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => PathBuf::from(dir),
        None => root()?.join("target"),
    })
}

/// The features of the program that packages have. The workspace is built with them, so that no library is built twice.
pub(crate) const FULL: [&str; 2] = ["--features", "weir-cli/full"];

/// A cargo command in the root.
pub(crate) fn cargo(words: &[&str]) -> Result<Command> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words).current_dir(root()?);
    as_from_a_shell(&mut command);
    Ok(command)
}

/// Removes the variables that the cargo running this program has set: build scripts that depend on them, such as ring's, would
/// run again, and all crates above would be rebuilt, each time cargo is started the other way.
pub(crate) fn as_from_a_shell(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let is_of_package = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        });
        if is_of_package {
            command.env_remove(name);
        }
    }
}
