//! Links of documents: those that leave the site lead to the repository, and all others are followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Result, bail};

/// A document as it stands in the site. A link to a file that the site does not have leads to the repository.
pub(super) fn of_site(path: &str, text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut is_code = false;
    for line in text.split_inclusive('\n') {
        is_code ^= line.trim_start().starts_with("```");
        let mut parts = line.split("](");
        written.push_str(parts.next().unwrap_or_default());
        for part in parts {
            written.push_str("](");
            let (link, rest) = part.split_once(')').unwrap_or((part, ""));
            let outside = if is_code { None } else { outside(path, link) };
            written.push_str(outside.as_deref().unwrap_or(link));
            if link.len() < part.len() {
                written.push(')');
                written.push_str(rest);
            }
        }
    }
    written
}

/// The repository URL for a link that leaves the site.
fn outside(path: &str, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with('#') || link.is_empty() {
        return None;
    }
    let (file, _) = link.split_once('#').unwrap_or((link, ""));
    let target = joined(Path::new(path).parent()?, file);
    let name = target.to_string_lossy();
    let is_there = name.starts_with("docs/")
        || matches!(
            &*name,
            "README.md" | "ARCHITECTURE.md" | "CONTRIBUTING.md" | "CHANGELOG.md"
        );
    (!is_there).then(|| format!("{REPOSITORY}/{name}"))
}

/// A path from a folder on, without `..`.
fn joined(folder: &Path, path: &str) -> PathBuf {
    let mut joined = PathBuf::new();
    for component in folder.join(path).components() {
        match component {
            Component::ParentDir => {
                joined.pop();
            }
            Component::CurDir => {}
            other => joined.push(other),
        }
    }
    joined
}

/// Follows each link within the site, to a file and to a place in it.
pub(super) fn check(html: &Path) -> Result<()> {
    let mut pages = BTreeMap::new();
    read(html, html, &mut pages)?;
    let mut faults = BTreeSet::new();
    let mut followed = 0_usize;
    for (path, text) in &pages {
        for link in ["href=\"", "src=\""]
            .iter()
            .flat_map(|name| values(text, name))
        {
            let is_elsewhere =
                link.contains("://") || link.starts_with("data:") || link.starts_with("mailto:");
            // The page for addresses that are not there says where it stands.
            if is_elsewhere
                || link.is_empty()
                || link.starts_with('/')
                || path.ends_with("404.html")
            {
                continue;
            }
            followed += 1;
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let file = file.split('?').next().unwrap_or(file);
            let target = match file {
                "" => path.clone(),
                file => joined(
                    path.parent().unwrap_or(Path::new("")),
                    &file.replace("%20", " "),
                ),
            };
            let is_there = match pages.get(&target) {
                Some(page) => place.is_empty() || has_place(page, place),
                None => html.join(&target).is_file(),
            };
            if !is_there {
                faults.insert(format!("{}: {link} leads nowhere", path.display()));
            }
        }
    }
    if followed == 0 {
        bail!("the site has no links: {}", html.display());
    }
    if !faults.is_empty() {
        let faults: Vec<String> = faults.into_iter().collect();
        bail!("{}", faults.join("\n"));
    }
    eprintln!("{} pages, {followed} links", pages.len());
    Ok(())
}

fn has_place(page: &str, place: &str) -> bool {
    page.contains(&format!("id=\"{place}\"")) || page.contains(&format!("name=\"{place}\""))
}

/// The values of an attribute in a page.
fn values<'p>(page: &'p str, name: &str) -> Vec<&'p str> {
    let parts = page.split(name).skip(1);
    parts.filter_map(|part| part.split('"').next()).collect()
}

fn read(root: &Path, folder: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read(root, &path, pages)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            let name = path.strip_prefix(root)?.to_owned();
            pages.insert(name, fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

const REPOSITORY: &str = "https://github.com/weir-project/weir/blob/main";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_leave_the_site_lead_to_the_repository() {
        let text = "[a](../cookbook.md#x) [b](../../fuzz/README.md) [c](https://x.y) [d](#z)\n```\n[e](../../q)\n```\n";
        let expected = format!(
            "[a](../cookbook.md#x) [b]({REPOSITORY}/fuzz/README.md) [c](https://x.y) [d](#z)\n```\n[e](../../q)\n```\n"
        );
        assert_eq!(of_site("docs/guide/a.md", text), expected);
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let folder = std::env::temp_dir().join(format!("weir-book-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let page = |link: &str| {
            fs::write(
                folder.join("a.html"),
                format!("<h1 id=\"x\"><a href=\"{link}\">"),
            )
            .unwrap();
        };
        for link in ["a.html#x", "#x", "a.html"] {
            page(link);
            check(&folder).unwrap();
        }
        for link in ["b.html", "#y", "a.html#y"] {
            page(link);
            let error = check(&folder).unwrap_err().to_string();
            assert!(error.contains("leads nowhere"), "{error}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}
