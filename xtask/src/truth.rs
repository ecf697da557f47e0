//! Statements of the documents that the source tree can confirm: crates with `unsafe` code and their dependencies, fuzz targets,
//! links, paths, chores, and the tests behind the promises of security.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::sources;

/// Everything that documents say and the tree does not bear out.
pub(crate) fn faults(root: &Path) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    unsafe_crates(root, &mut faults)?;
    dependencies(root, &mut faults)?;
    fuzz_targets(root, &mut faults)?;
    tests_of_promises(root, &mut faults)?;
    for path in documents(root)? {
        let text = fs::read_to_string(&path)?;
        let name = path
            .strip_prefix(root)
            .unwrap_or(&path)
            .display()
            .to_string();
        links(root, &path, &name, &text, &mut faults);
        chores(&name, &text, &mut faults);
        if name != "CHANGELOG.md" {
            paths(root, &name, &text, &mut faults);
        }
    }
    Ok(faults)
}

/// Crates whose sources have `unsafe` stand in each document that promises something of it, and no others do.
fn unsafe_crates(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    let mut found = BTreeSet::new();
    for manifest in manifests(root)? {
        let folder = manifest.parent().context("a manifest stands in a folder")?;
        let mut has_unsafe = false;
        sources::visit(&folder.join("src"), &mut |_, text| {
            has_unsafe |= text.lines().any(is_unsafe);
        })?;
        if has_unsafe {
            found.insert(package_name(&manifest)?);
        }
    }
    for name in ["SECURITY.md", "CONTRIBUTING.md", "ARCHITECTURE.md"] {
        let text = fs::read_to_string(root.join(name))?;
        // The sentence that names the exceptions ends with the paragraph.
        let Some(promise) = text
            .split("\n\n")
            .find(|paragraph| paragraph.contains("`unsafe`"))
        else {
            faults.push(format!(
                "{name}: nothing says which crates have `unsafe` code"
            ));
            continue;
        };
        for krate in &found {
            if !promise.contains(&format!("`{krate}`")) {
                faults.push(format!(
                    "{name}: {krate} has `unsafe` code, and the promise does not say so"
                ));
            }
        }
    }
    Ok(())
}

/// True for a line of code that has the keyword and is neither a comment nor an attribute that forbids it.
fn is_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or(line);
    ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"]
        .iter()
        .any(|word| code.contains(word))
}

/// The lines of ARCHITECTURE.md have the crates of the workspace that the manifest of each crate names.
fn dependencies(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    let text = fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    let listed = listed_dependencies(&text);
    for manifest in manifests(root)? {
        let name = package_name(&manifest)?;
        let table: toml::Table = fs::read_to_string(&manifest)?.parse()?;
        let used = used_crates(&table);
        if listed.get(name.as_str()) != Some(&used) {
            let used: Vec<&str> = used.into_iter().collect();
            faults.push(format!(
                "ARCHITECTURE.md: {name} uses {}, and its line says otherwise",
                used.join(", ")
            ));
        }
    }
    Ok(())
}

/// The crates of the workspace that a manifest names, those of its tests apart.
fn used_crates(manifest: &toml::Table) -> BTreeSet<&str> {
    let used = manifest.get("dependencies").and_then(toml::Value::as_table);
    let names = used.into_iter().flat_map(toml::Table::keys);
    names
        .map(String::as_str)
        .filter(|name| name.starts_with("weir-"))
        .collect()
}

/// The crates that each crate uses, by lines such as `one, another: used, used`; `alone` stands for no crate.
fn listed_dependencies(text: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut listed = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("weir-")) {
        let Some((names, used)) = line.split_once(": ") else {
            continue;
        };
        let used: BTreeSet<&str> = used.split(", ").filter(|name| *name != "alone").collect();
        for name in names.split(", ") {
            listed.insert(name, used.clone());
        }
    }
    listed
}

/// The manifest's list of targets, their programs, the library's table and the README name the same.
fn fuzz_targets(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    let manifest: toml::Table = fs::read_to_string(root.join("fuzz/Cargo.toml"))?.parse()?;
    let listed: BTreeSet<&str> = manifest
        .get("package")
        .and_then(|package| package.get("metadata")?.get("targets")?.as_table())
        .map(|targets| targets.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let programs: BTreeSet<&str> = manifest
        .get("bin")
        .and_then(toml::Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|program| program.get("name")?.as_str())
        .collect();
    for name in listed.symmetric_difference(&programs) {
        faults.push(format!(
            "fuzz/Cargo.toml: {name} stands only once among [[bin]] and package.metadata.targets"
        ));
    }
    for file in ["fuzz/README.md", "fuzz/src/lib.rs"] {
        let text = fs::read_to_string(root.join(file))?;
        let is_named = |name: &&&str| {
            text.contains(&format!("`{name}`")) || text.contains(&format!("(\"{name}\", "))
        };
        for name in listed.iter().filter(|name| !is_named(name)) {
            faults.push(format!("{file}: the target {name} is not named"));
        }
    }
    Ok(())
}

/// The tests that SECURITY.md names exist, in the module that it names.
fn tests_of_promises(root: &Path, faults: &mut Vec<String>) -> Result<()> {
    let mut known = BTreeSet::new();
    sources::visit(&root.join("crates"), &mut |path, text| {
        let module = path.file_stem().unwrap_or_default().to_string_lossy();
        // The tests of a module may stand in a file of their own.
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
        for name in test_names(text) {
            known.insert(format!("{module}::{name}"));
            if module == "tests" {
                known.insert(format!("{}::{name}", folder.to_string_lossy()));
            }
            known.insert(name.to_owned());
        }
    })?;
    let text = fs::read_to_string(root.join("SECURITY.md"))?;
    let missing = named_tests(&text).filter(|name| !known.contains(*name));
    faults.extend(missing.map(|name| format!("SECURITY.md: no test is called {name}")));
    Ok(())
}

/// The names of the tests of a source.
fn test_names(text: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    text.lines().filter_map(move |line| {
        let line = line.trim_start();
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let (_, rest) = line.split_once("fn ").filter(|_| is_test)?;
        is_test = false;
        rest.split('(').next()
    })
}

/// The names of tests in a document: words of code with three underscores or more that are no metrics.
fn named_tests(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |word: &&str| {
        let name = word.rsplit("::").next().unwrap_or(word);
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_:".contains(c);
        word.chars().all(is_plain) && name.matches('_').count() > 2 && !name.starts_with("weir_")
    };
    text.split('`').skip(1).step_by(2).filter(is_name)
}

/// Relative links lead to a file that is there, and to a heading that it has.
fn links(root: &Path, path: &Path, name: &str, text: &str, faults: &mut Vec<String>) {
    let mut is_code = false;
    for (index, line) in text.lines().enumerate() {
        is_code ^= line.trim_start().starts_with("```");
        if is_code {
            continue;
        }
        for part in line.split("](").skip(1) {
            let Some((link, _)) = part.split_once(')') else {
                continue;
            };
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = match (file, path.parent()) {
                ("", _) | (_, None) => path.to_owned(),
                (file, Some(folder)) => folder.join(file),
            };
            let is_there = target.exists()
                && target
                    .canonicalize()
                    .is_ok_and(|found| found.starts_with(root));
            if !is_there {
                faults.push(format!(
                    "{name}:{}: the link {link} leads nowhere",
                    index + 1
                ));
            } else if !heading.is_empty() && !has_heading(&target, heading) {
                faults.push(format!("{name}:{}: no heading is called {link}", index + 1));
            }
        }
    }
}

/// Returns true when a heading of a document has this anchor, in GitHub's spelling.
fn has_heading(path: &Path, anchor: &str) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.strip_prefix('#'))
        .any(|heading| {
            let words = heading.trim_start_matches('#').trim().to_lowercase();
            let made: String = words
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect();
            made == anchor
        })
}

/// Chores and benchmarks that documents name exist.
fn chores(name: &str, text: &str, faults: &mut Vec<String>) {
    for (index, line) in text.lines().enumerate() {
        for rest in line.split("cargo xtask ").skip(1) {
            let mut words = rest.split(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_')));
            let chore = words.next().unwrap_or_default();
            if !crate::chores::CHORES.contains(&chore) && !chore.is_empty() {
                faults.push(format!("{name}:{}: no chore is called {chore}", index + 1));
            }
            let benchmark = words.next().unwrap_or_default();
            let is_name =
                !benchmark.is_empty() && benchmark.chars().all(|c| c.is_ascii_lowercase());
            if chore == "bench"
                && rest.starts_with("bench ")
                && is_name
                && !crate::bench::is_known(benchmark)
            {
                faults.push(format!(
                    "{name}:{}: no benchmark is called {benchmark}",
                    index + 1
                ));
            }
        }
    }
}

/// Files and folders that a document names by their path from the root exist; `NAME` in a path stands for any name.
fn paths(root: &Path, name: &str, text: &str, faults: &mut Vec<String>) {
    for (index, line) in text.lines().enumerate() {
        let words = line.split('`').skip(1).step_by(2);
        for path in words.filter(|words| is_path(words)) {
            if !root.join(path).exists() {
                faults.push(format!("{name}:{}: there is no {path}", index + 1));
            }
        }
    }
}

/// Returns true for words of code that are a path from the root.
fn is_path(words: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let folders = ["crates/", "docs/", "fuzz/", "xtask/"];
    folders.iter().any(|folder| words.starts_with(folder))
        && words.chars().all(is_plain)
        && !words.contains("NAME")
}

/// The Markdown files of the project.
pub(crate) fn documents(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if path.is_dir() {
                let is_foreign =
                    name.starts_with('.') || matches!(&*name, "target" | "corpus" | "node_modules");
                if !is_foreign {
                    folders.push(path);
                }
            } else if name.ends_with(".md") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The manifests of the workspace's crates.
pub(crate) fn manifests(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![root.join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() && path.file_name().is_some_and(|name| name != "src") {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name == "Cargo.toml") {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// The name that a manifest gives its package.
pub(crate) fn package_name(manifest: &Path) -> Result<String> {
    let table: toml::Table = fs::read_to_string(manifest)?.parse()?;
    let name = table
        .get("package")
        .and_then(|package| package.get("name")?.as_str());
    Ok(name
        .with_context(|| format!("{} has no name", manifest.display()))?
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_read_from_lines_and_manifests() {
        let listed = listed_dependencies("weir-a, weir-b: alone\nweir-c: weir-a, weir-b\nweir-d\n");
        assert_eq!(listed.len(), 3);
        assert!(listed["weir-b"].is_empty());
        let manifest = "[dependencies]\nserde = \"1\"\nweir-b.workspace = true\nweir-a = { path = \"a\" }\n\
            [dev-dependencies]\nweir-e.workspace = true\n";
        let manifest: toml::Table = manifest.parse().unwrap();
        assert_eq!(used_crates(&manifest), listed["weir-c"]);
    }

    #[test]
    fn paths_are_distinguished_from_other_words_of_code() {
        for (words, expected) in [
            ("crates/weir-dict/src/table.rs", true),
            ("docs/reference", true),
            ("crates/weir-tables/src/extract/NAME.rs", false),
            ("src/table.rs", false),
            ("crates/*/src", false),
        ] {
            assert_eq!(is_path(words), expected, "{words}");
        }
    }

    #[test]
    fn tests_are_found_in_sources_and_documents() {
        let source = "#[test]\nfn a_b_c_d() {}\nfn no_test_at_all() {}\n    #[tokio::test(flavor = \"x\")]\n    #[ignore]\n    async fn e_f_g_h() {}\n";
        assert_eq!(
            test_names(source).collect::<Vec<_>>(),
            ["a_b_c_d", "e_f_g_h"]
        );
        let document =
            "`a_b_c_d`, `m::e_f_g_h` (`weir_lost_in_total`, `a_b_c`, `A_b_c_d`, `--a_b_c_d`)";
        let named: Vec<_> = named_tests(document).collect();
        assert_eq!(named, ["a_b_c_d", "m::e_f_g_h"]);
    }
}
