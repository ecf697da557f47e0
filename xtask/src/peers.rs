//! The tests that use peers, run without the cached answers.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::workspace::root;
use crate::{gate, sources};

/// Runs all tests of the crates that ask peers, without the answers that are kept; `arguments` go to cargo test.
pub(crate) fn anew(arguments: &[&str]) -> Result<()> {
    let packages = asking()?;
    let mut words = Vec::new();
    for package in &packages {
        words.extend(["--package", package]);
    }
    words.extend(arguments);
    gate::tests(&words, gate::Answers::Anew)
}

/// The crates whose tests ask peers by way of `weir_testkit::peer`, in the order of their names.
fn asking() -> Result<Vec<String>> {
    let mut packages = Vec::new();
    for entry in fs::read_dir(root()?.join("crates"))? {
        let folder = entry?.path();
        let mut asks = false;
        sources::visit(&folder.join("tests"), &mut |_, text| {
            asks |= text.contains("Question::to(");
        })?;
        if asks {
            let name = folder.file_name().and_then(|name| name.to_str());
            packages.push(name.context("a crate's name is text")?.to_owned());
        }
    }
    if packages.is_empty() {
        bail!("no crate's tests ask peers by way of weir_testkit::peer");
    }
    packages.sort();
    Ok(packages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_whose_tests_ask_peers_are_found() {
        let packages = asking().unwrap();
        assert!(packages.iter().any(|name| name == "weir-tables"));
        assert!(!packages.iter().any(|name| name == "weir-bytes"));
    }
}
