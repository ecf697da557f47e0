//! `cargo xtask docs`: the documents as a site, `target/book/html`, made by mdBook.
//!
//! The written pages are in `docs/`; the lists of columns, tables, functions and commands come from the program,
//! and the charts from the last measurements of the benchmarks, so that neither can be out of date. Every link of the site is
//! followed.

mod generated;
mod links;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::{missing, run};
use crate::python::Build;
use crate::workspace::{cargo, root, target_dir};

/// Builds the site; in the gate with the program that all tests have built.
pub(crate) fn make(build: Build) -> Result<()> {
    let found = Command::new("mdbook").arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        return missing(
            "mdbook",
            "the documents as a site (cargo install mdbook --no-default-features --features search)",
        );
    }
    run(&mut cargo(build.program())?)?;
    let program = target_dir()?.join("debug/weir");
    let (root, place) = (root()?, target_dir()?.join("book"));
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    let source = place.join("src");
    let mut book = Book::new(&root, &source)?;
    book.chapter("README.md", "Introduction")?;
    book.part("Guides", &["docs/cookbook.md", "docs/guide"])?;
    book.part("Concepts", &["docs/concepts"])?;
    book.part("Reference", &["docs/reference"])?;
    for page in generated::pages(&program, &root)? {
        book.page(&page)?;
    }
    book.part("Decisions", &["docs/decisions"])?;
    book.part(
        "The project",
        &["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"],
    )?;
    fs::create_dir_all(source.join("docs"))?;
    copy_others(&root.join("docs"), &source.join("docs"))?;
    fs::write(source.join("SUMMARY.md"), &book.summary)?;
    fs::write(place.join("book.toml"), SETTINGS)?;
    fs::write(place.join("weir.css"), STYLE)?;
    run(Command::new("mdbook").arg("build").arg(&place))?;
    let html = place.join("html");
    links::check(&html)?;
    println!("{}", html.join("index.html").display());
    Ok(())
}

/// A book that grows chapter by chapter.
struct Book<'b> {
    root: &'b Path,
    source: &'b Path,
    summary: String,
}

/// A page that is not written by hand.
struct Page {
    /// The path of the page among the documents.
    path: &'static str,
    title: &'static str,
    text: String,
}

impl<'b> Book<'b> {
    fn new(root: &'b Path, source: &'b Path) -> Result<Self> {
        fs::create_dir_all(source)?;
        Ok(Self {
            root,
            source,
            summary: "# Summary\n\n".to_owned(),
        })
    }

    /// A document before the first part.
    fn chapter(&mut self, path: &str, title: &str) -> Result<()> {
        self.put(path, &fs::read_to_string(self.root.join(path))?)?;
        self.summary.push_str(&format!("[{title}]({path})\n\n"));
        Ok(())
    }

    /// A part with the documents of files and folders, which are called by their first headings.
    fn part(&mut self, title: &str, places: &[&str]) -> Result<()> {
        self.summary.push_str(&format!("\n# {title}\n\n"));
        for place in places {
            for path in documents(self.root, place)? {
                let text = fs::read_to_string(self.root.join(&path))?;
                let heading = text.lines().find_map(|line| line.strip_prefix("# "));
                let heading = heading.with_context(|| format!("{path} has no heading"))?;
                self.summary
                    .push_str(&format!("- [{}]({path})\n", heading.replace('`', "")));
                self.put(&path, &text)?;
            }
        }
        Ok(())
    }

    /// A page of the part that was begun last.
    fn page(&mut self, page: &Page) -> Result<()> {
        self.summary
            .push_str(&format!("- [{}]({})\n", page.title, page.path));
        self.put(page.path, &page.text)
    }

    fn put(&self, path: &str, text: &str) -> Result<()> {
        let target = self.source.join(path);
        fs::create_dir_all(target.parent().context("a document stands in a folder")?)?;
        Ok(fs::write(&target, links::of_site(path, text))?)
    }
}

/// The Markdown files of a folder, by name; or the one file.
fn documents(root: &Path, place: &str) -> Result<Vec<String>> {
    if place.ends_with(".md") {
        return Ok(vec![place.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join(place))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            found.push(format!("{place}/{name}"));
        }
    }
    found.sort();
    Ok(found)
}

/// Copies what documents show and lead to: pictures and notebooks.
fn copy_others(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path: PathBuf = entry?.path();
        let name = path.file_name().context("an entry has a name")?;
        if path.is_dir() {
            copy_others(&path, &to.join(name))?;
        } else if path.extension().is_none_or(|extension| extension != "md") {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

const SETTINGS: &str = "\
[book]
title = \"weir\"
description = \"SQL over network traffic and signalling, in one pass\"
language = \"en\"

[build]
build-dir = \"html\"
create-missing = false

[output.html]
additional-css = [\"weir.css\"]
git-repository-url = \"https://github.com/weir-project/weir\"
";

/// Plots and drawings follow the theme; wide tables scroll.
const STYLE: &str = "\
svg.plot { width: 100%; height: auto }
svg.plot text { font: 12px system-ui, sans-serif; fill: currentColor }
.table-wrapper { overflow-x: auto }
:root { --content-max-width: 1000px }
td code { white-space: nowrap; padding: 0 }
td { padding: 3px 8px !important }
";
