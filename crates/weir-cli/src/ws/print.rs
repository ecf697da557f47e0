//! Tables for reading, and where reports go.

use std::io::{self, Write};

use weir_page::Page;

use super::args::{ReportArgs, ReportFormat};
use crate::args::Global;
use crate::failure::{Failure, printed};
use crate::target::Target;
use weir_output::text::{escaped, width};

/// A table in text: the first column to the left, numbers to the right.
#[derive(Debug, Default)]
pub(super) struct TextTable {
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// A table with a line of headings.
    pub(super) fn new(headings: &[&str]) -> Self {
        let headings = headings.iter().map(|&heading| heading.to_owned());
        Self {
            rows: vec![headings.collect()],
        }
    }

    /// Adds a line.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// True when the table has only headings.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }

    /// Appends a title and the table, unless it is empty.
    pub(super) fn write(&self, title: &str, text: &mut String) {
        if self.is_empty() {
            return;
        }
        text.push('\n');
        text.push_str(title);
        text.push('\n');
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| width(&escaped(cell))).max().unwrap_or(0)
            })
            .collect();
        for row in &self.rows {
            let mut line = String::from("  ");
            for (column, (cell, wide)) in row.iter().zip(&widths).enumerate() {
                let cell = escaped(cell);
                let blanks = " ".repeat(wide.saturating_sub(width(&cell)));
                if column == 0 {
                    line.push_str(&cell);
                    line.push_str(&blanks);
                } else {
                    line.push_str("  ");
                    line.push_str(&blanks);
                    line.push_str(&cell);
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
}

/// Tables with titles, and lines between them, as text or as a part of a page.
#[derive(Debug, Default)]
pub(super) struct Sections {
    parts: Vec<TableSection>,
}

#[derive(Debug)]
enum TableSection {
    Table(String, TextTable),
    Line(String),
    /// Belongs to the table before.
    Note(String),
}

impl Sections {
    /// Adds a table; one without rows is left out.
    pub(super) fn table(&mut self, title: impl Into<String>, table: TextTable) {
        if !table.is_empty() {
            self.parts.push(TableSection::Table(title.into(), table));
        }
    }

    /// Adds a line of its own.
    pub(super) fn line(&mut self, text: impl Into<String>) {
        self.parts.push(TableSection::Line(text.into()));
    }

    /// Adds a line to the table before.
    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.parts.push(TableSection::Note(text.into()));
    }

    /// Appends text for reading.
    pub(super) fn write(&self, text: &mut String) {
        for part in &self.parts {
            match part {
                TableSection::Table(title, table) => table.write(title, text),
                TableSection::Line(line) => text.push_str(&format!("\n{line}\n")),
                TableSection::Note(note) => text.push_str(&format!("  {note}\n")),
            }
        }
    }

    /// Appends to a page.
    pub(super) fn put(&self, page: &mut Page) {
        for part in &self.parts {
            match part {
                TableSection::Table(title, table) => {
                    page.heading(title);
                    let headings = table.rows.first().into_iter().flatten();
                    let headings: Vec<&str> = headings.map(String::as_str).collect();
                    page.table(&headings, table.rows.get(1..).unwrap_or_default());
                }
                TableSection::Line(text) | TableSection::Note(text) => page.paragraph(text),
            }
        }
    }
}

impl ReportArgs {
    /// The format: the option, else the extension of the file, else tables.
    pub(super) fn chosen(&self) -> ReportFormat {
        let extension = self.output.as_ref().and_then(|path| path.extension());
        let of_name = match extension.and_then(|extension| extension.to_str()) {
            Some("json") => ReportFormat::Json,
            Some("csv") => ReportFormat::Csv,
            Some("html" | "htm") => ReportFormat::Html,
            _ => ReportFormat::Table,
        };
        self.format.unwrap_or(of_name)
    }

    /// Writes the report. A reader that has gone is no failure.
    pub(super) fn write(target: Option<&Target>, report: &str) -> Result<(), Failure> {
        if let Some(target) = target {
            return target.put(report.as_bytes());
        }
        let mut out = io::stdout().lock();
        let written = out.write_all(report.as_bytes()).and_then(|()| out.flush());
        printed(written).map(|_| ())
    }

    /// The file for the report, which takes its name when the report is there.
    pub(super) fn target(&self, global: Global) -> Result<Option<Target>, Failure> {
        let path = self.output.as_ref().filter(|path| path.as_os_str() != "-");
        path.map(|path| Target::new(path, global)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_text_and_html() {
        let mut sections = Sections::default();
        sections.table("Nothing", TextTable::new(&["kind"]));
        assert!(sections.parts.is_empty());
        let mut table = TextTable::new(&["kind", "bytes"]);
        table.row(vec!["<a>".to_owned(), "7".to_owned()]);
        sections.table("Kinds", table);
        sections.note("a note");
        sections.line("A line");
        let mut text = String::new();
        sections.write(&mut text);
        assert_eq!(
            text,
            "\nKinds\n  kind  bytes\n  <a>       7\n  a note\n\nA line\n"
        );
        let mut page = Page::new("", "");
        sections.put(&mut page);
        let page = page.finish();
        let (_, page) = page.split_once("<h2>").unwrap();
        assert_eq!(
            page,
            "Kinds</h2>\n<table><tr><th>kind<th>bytes</tr>\n<tr><td>&lt;a&gt;<td>7</tr>\n</table>\n\
             <p>a note</p>\n<p>A line</p>\n</body></html>\n"
        );
    }

    #[test]
    fn numbers_stand_below_each_other_and_nothing_steers_the_terminal() {
        let mut table = TextTable::new(&["kind", "bytes"]);
        let mut text = String::new();
        table.write("Nothing", &mut text);
        assert_eq!(text, "");
        table.row(vec!["\u{1b}[2J".to_owned(), "7".to_owned()]);
        table.row(vec!["a".to_owned(), "1,000,000".to_owned()]);
        table.write("Kinds", &mut text);
        let expected =
            "\nKinds\n  kind         bytes\n  \\x1b[2J          7\n  a        1,000,000\n";
        assert_eq!(text, expected);
    }
}
