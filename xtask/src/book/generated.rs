//! Pages that are generated: the program's own help and lists, and what benchmarks measured last.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use weir_page::{Bar, Bars};

use super::Page;

/// The pages, in the order of the summary.
pub(super) fn pages(program: &Path, root: &Path) -> Result<Vec<Page>> {
    Ok(vec![
        Page {
            path: "docs/reference/columns.md",
            title: "Columns",
            text: columns(program)?,
        },
        Page {
            path: "docs/reference/tables.md",
            title: "Tables",
            text: listed(program, "tables", "Tables", "table")?,
        },
        Page {
            path: "docs/reference/functions.md",
            title: "Functions",
            text: listed(program, "functions", "Functions", "function")?,
        },
        Page {
            path: "docs/reference/commands.md",
            title: "Commands",
            text: commands(program)?,
        },
        Page {
            path: "docs/reference/benchmarks.md",
            title: "Benchmarks",
            text: benchmarks(&root.join("benchmarks/latest"))?,
        },
    ])
}

/// The standard output of the program.
fn output_of(program: &Path, words: &[&str]) -> Result<String> {
    let output = Command::new(program)
        .args(words)
        .env("COLUMNS", "100")
        .output()
        .with_context(|| format!("{}", program.display()))?;
    if !output.status.success() {
        bail!(
            "weir {}: {}",
            words.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn rows(program: &Path, words: &[&str]) -> Result<Vec<BTreeMap<String, Value>>> {
    let rows: Vec<BTreeMap<String, Value>> = serde_json::from_str(&output_of(program, words)?)?;
    if rows.is_empty() {
        bail!("weir {} lists nothing", words.join(" "));
    }
    Ok(rows)
}

fn text<'r>(row: &'r BTreeMap<String, Value>, name: &str) -> &'r str {
    row.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// A cell of a table in Markdown.
fn cell(text: &str) -> String {
    let text = text
        .replace('|', "\\|")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    text.replace('\n', " ")
}

/// Every column, by table.
fn columns(program: &Path) -> Result<String> {
    let rows = rows(program, &["fields", "--format", "json"])?;
    let mut page =
        String::from("# Columns\n\nWhat `weir fields` lists, by the table that has it.\n");
    let mut table = None;
    for row in &rows {
        if table != Some(text(row, "table")) {
            table = Some(text(row, "table"));
            let _ = write!(
                page,
                "\n## {}\n\n| column | type | meaning | from |\n|---|---|---|---|\n",
                text(row, "table")
            );
        }
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} |",
            text(row, "column"),
            cell(text(row, "type")),
            cell(text(row, "meaning")),
            cell(text(row, "reference"))
        );
    }
    Ok(page)
}

/// A list of names with meanings and examples.
fn listed(program: &Path, command: &str, title: &str, name: &str) -> Result<String> {
    let mut page = format!(
        "# {title}\n\nWhat `weir {command}` lists.\n\n| {name} | meaning | example |\n|---|---|---|\n"
    );
    for row in &rows(program, &[command, "--format", "json"])? {
        let _ = writeln!(
            page,
            "| `{}` | {} | `{}` |",
            text(row, name),
            cell(text(row, "meaning")),
            text(row, "example").replace('|', "\\|").replace('\n', " ")
        );
    }
    Ok(page)
}

/// The help of every command, those within commands too.
fn commands(program: &Path) -> Result<String> {
    let mut page = String::from("# Commands\n\nWhat `weir COMMAND --help` says.\n");
    let mut waiting = vec![Vec::new()];
    while let Some(words) = waiting.pop() {
        let mut asked = words.clone();
        asked.push("--help".to_owned());
        let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
        let help = output_of(program, &asked)?;
        let name = [&["weir".to_owned()], &words[..]].concat().join(" ");
        let _ = write!(page, "\n## {name}\n\n```text\n{}\n```\n", help.trim_end());
        let mut within = Vec::new();
        let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
        for line in list.take_while(|line| !line.trim().is_empty()) {
            let word = line
                .strip_prefix("  ")
                .and_then(|line| line.split(' ').next());
            if let Some(word) = word.filter(|word| !word.is_empty() && *word != "help") {
                within.push([&words[..], &[word.to_owned()]].concat());
            }
        }
        within.reverse();
        waiting.append(&mut within);
    }
    Ok(page)
}

/// Ratios of the newest runs beside each peer.
fn benchmarks(folder: &Path) -> Result<String> {
    let mut page = String::from(
        "# Benchmarks\n\nThe newest runs that were kept (`cargo xtask bench NAME` runs them again). A ratio is the peer's \
         figure over weir's where less is better: above 1, weir is ahead. What helped and what did not stands in \
         [the notes](../../benchmarks/README.md).\n",
    );
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.path());
    }
    names.sort();
    for path in names {
        let rows: Vec<Value> = serde_json::from_str(&fs::read_to_string(&path)?)?;
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let mut groups: Vec<(&str, Vec<Bar<'_>>)> = Vec::new();
        for row in &rows {
            let (Some(measured), Some(ratio)) = (row["name"].as_str(), row["ratio"].as_f64())
            else {
                continue;
            };
            let bar = Bar {
                value: ratio,
                label: row["peer_name"].as_str().unwrap_or_default(),
                series: 0,
            };
            match groups.last_mut().filter(|(last, _)| *last == measured) {
                Some((_, bars)) => bars.push(bar),
                None => groups.push((measured, vec![bar])),
            }
        }
        let _ = write!(page, "\n## {name}\n\n");
        if !groups.is_empty() {
            let bars = Bars {
                title: &name,
                logarithmic_from: Some(0.01),
                decimals: 2,
                groups,
            };
            page.push_str(&bars.svg());
        }
        page.push_str("\n| measured | weir | peer | peer is | ratio |\n|---|---:|---:|---|---:|\n");
        for row in &rows {
            let number = |name: &str| match row[name].as_f64() {
                Some(number) => format!("{number:.4}"),
                None => String::new(),
            };
            let _ = writeln!(
                page,
                "| {} | {} {} | {} | {} | {} |",
                cell(row["name"].as_str().unwrap_or_default()),
                number("ours"),
                row["unit"].as_str().unwrap_or_default(),
                number("peer"),
                cell(row["peer_name"].as_str().unwrap_or_default()),
                number("ratio")
            );
        }
    }
    Ok(page)
}
