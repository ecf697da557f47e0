//! A row as lines: one column a line, for rows of which one looks at one at a time, such as packets.
//!
//! ```text
//! -- row 1
//! frame.number  1
//! ip.src        10.1.0.5
//! ```
//!
//! On a terminal a row that says which packet it is, as `SELECT *` does, is shown by layers, with its bytes
//! (`packet.rs`). Numbers of header fields have their names behind them there (`value_names.rs`). A terminal is spared
//! the columns that are NULL in a row; elsewhere they are `NULL`. An empty text is `""`. Characters that would break a
//! line are escaped.

use arrow::datatypes::Schema;
use unicode_width::UnicodeWidthStr;

use super::column::Column;
use super::packet::Packets;
use super::rows::RowFormat;
use super::text::push_escaped;
use super::value_names::value_name;
use super::{Format, OutputOptions};

pub(super) struct LineFormat {
    names: Vec<String>,
    /// The width of the widest name.
    width: usize,
    /// Columns that are NULL are left out.
    spare: bool,
    rows: u64,
    scratch: String,
    packets: Option<Packets>,
}

impl LineFormat {
    pub(super) fn new(options: &OutputOptions, schema: &Schema) -> Self {
        let names = schema.fields().iter().map(|field| {
            let mut name = String::new();
            push_escaped(&mut name, field.name());
            name
        });
        let names: Vec<String> = names.collect();
        Self {
            width: names.iter().map(|name| name.width()).max().unwrap_or(0),
            names,
            spare: options.terminal && !options.all_columns,
            rows: 0,
            scratch: String::new(),
            packets: match options.terminal && !options.all_columns {
                true => Packets::of(schema, options.width),
                false => None,
            },
        }
    }
}

impl LineFormat {
    /// Writes a column as a line.
    fn push_column(&mut self, at: usize, columns: &[Column<'_>], row: usize, out: &mut String) {
        let (Some(name), Some(column)) = (self.names.get(at), columns.get(at)) else {
            return;
        };
        out.push_str(name);
        let padding = self.width.saturating_sub(name.width()) + 2;
        out.extend(std::iter::repeat_n(' ', padding));
        if column.is_null(row) {
            out.push_str("NULL");
        } else {
            self.scratch.clear();
            column.push_text(row, &mut self.scratch);
            match self.scratch.as_str() {
                "" => out.push_str("\"\""),
                text => push_escaped(out, text),
            }
            // The lines of one packet have room for what a number means.
            let number = self.spare.then(|| self.scratch.parse().ok()).flatten();
            if let Some(name) = number.and_then(|number| value_name(name, number)) {
                out.push_str("  ");
                out.push_str(&name);
            }
        }
        out.push('\n');
    }
}

impl RowFormat for LineFormat {
    fn format(&self) -> Format {
        Format::Line
    }

    fn push_head(&mut self, _out: &mut String) {}

    fn push_row(&mut self, columns: &[Column<'_>], row: usize, out: &mut String) {
        self.rows += 1;
        if let Some(mut packets) = self.packets.take() {
            packets.push(columns, row, out, |at, out| {
                if columns.get(at).is_some_and(|column| !column.is_null(row)) {
                    out.push_str("  ");
                    self.push_column(at, columns, row, out);
                }
            });
            self.packets = Some(packets);
            return;
        }
        out.push_str(&format!("-- row {}\n", self.rows));
        for at in 0..columns.len() {
            if !self.spare || columns.get(at).is_some_and(|column| !column.is_null(row)) {
                self.push_column(at, columns, row, out);
            }
        }
    }

    fn push_tail(&mut self, _out: &mut String) {}
}
