//! The program's answers: all tables of several captures from one process.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use super::tables::TableRule;

/// A row of a table.
pub(super) type TableRow = Map<String, Value>;

/// The rows of each table.
#[derive(Clone, Debug, Default)]
pub(super) struct TableAnswers {
    pub(super) tables: BTreeMap<&'static str, Vec<TableRow>>,
}

impl TableAnswers {
    pub(super) fn rows(&self, table: &str) -> &[TableRow] {
        self.tables.get(table).map_or(&[], Vec::as_slice)
    }
}

/// The rows of each of `tables` for each of `paths`. A program that ends without an answer is an error.
pub(super) fn ask(
    program: &Path,
    paths: &[PathBuf],
    tables: &[&'static TableRule],
) -> Result<Vec<TableAnswers>> {
    let mut command = Command::new(program);
    command.args(["query", "--format", "ndjson", "--threads", "1"]);
    for (index, path) in paths.iter().enumerate() {
        let path = path.display().to_string().replace('\'', "''");
        for TableRule { name, columns, .. } in tables {
            // Each row says whose it is.
            command.arg(format!(
                "SELECT {index} AS \"{CAPTURE}\", '{name}' AS \"{TABLE}\", {columns} FROM {name}('{path}')"
            ));
        }
    }
    let folder = paths
        .first()
        .and_then(|path| path.parent())
        .context("captures lie in a folder")?;
    // Files, as no pipe has to be read then while the program runs.
    let (out, err) = (folder.join("answers.ndjson"), folder.join("notes.txt"));
    command
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&out)?)
        .stderr(std::fs::File::create(&err)?);
    let status = crate::limit::status(&mut command, LIMIT)??;
    let notes = std::fs::read_to_string(&err)?;
    // 1 says that damage was found.
    if !matches!(status.code(), Some(0 | 1)) {
        bail!("the program ended with {status}: {}", notes.trim());
    }
    let text = std::fs::read_to_string(&out)?;
    let mut answers = vec![TableAnswers::default(); paths.len()];
    for line in text.lines() {
        let mut row: TableRow = serde_json::from_str(line)?;
        let index = row.remove(CAPTURE).and_then(|index| index.as_u64());
        let name = row.remove(TABLE);
        let name = name.as_ref().and_then(Value::as_str).unwrap_or_default();
        let table = tables.iter().find(|table| table.name == name);
        let answer = index.and_then(|index| answers.get_mut(index as usize));
        let (Some(table), Some(answer)) = (table, answer) else {
            bail!("a row of no table: {line}");
        };
        answer.tables.entry(table.name).or_default().push(row);
    }
    Ok(answers)
}

/// The columns that no table has.
const CAPTURE: &str = "answer of";
const TABLE: &str = "answer in";

/// The time limit for all captures of a process.
const LIMIT: Duration = Duration::from_secs(600);
