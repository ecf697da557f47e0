//! Comma-separated and tab-separated values.
//!
//! CSV follows RFC 4180 except that lines end with LF, as every tool of today writes and reads.
//! NULL is an empty field and an empty text is `""`. TSV has no quotes: tab, newline, carriage
//! return and backslash are written as `\t`, `\n`, `\r`, `\\`, so that a line is a row and `cut`
//! and `awk` see fields; NULL is `\N`, as PostgreSQL writes it, and an empty text is an empty field.

use arrow::datatypes::Schema;

use super::column::Column;
use super::rows::RowFormat;
use super::text::{escaped, push_escaped};
use super::{Format, Options};

/// The form of a CSV file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsvForm {
    /// The ASCII character between two values. Numbers and times are written without quotes, and do not have it.
    pub delimiter: u8,
    /// Whether the first line has the names of the columns.
    pub has_header: bool,
}

pub(super) struct Separated {
    format: Format,
    form: CsvForm,
    names: Vec<String>,
    /// Whether control characters must not get through.
    terminal: bool,
    scratch: String,
}

impl Separated {
    pub(super) fn csv(options: &Options, schema: &Schema) -> Self {
        Self::new(Format::Csv, b',', options, schema)
    }

    pub(super) fn csv_of_form(form: CsvForm, schema: &Schema) -> Self {
        let options = Options::plain(Format::Csv);
        Self {
            form,
            ..Self::csv(&options, schema)
        }
    }

    pub(super) fn tsv(options: &Options, schema: &Schema) -> Self {
        Self::new(Format::Tsv, b'\t', options, schema)
    }

    fn new(format: Format, delimiter: u8, options: &Options, schema: &Schema) -> Self {
        Self {
            format,
            form: CsvForm {
                delimiter,
                has_header: true,
            },
            names: schema
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .collect(),
            terminal: options.terminal,
            scratch: String::new(),
        }
    }

    /// Appends one field.
    fn push_field(&self, text: &str, out: &mut String) {
        match (self.format, self.terminal) {
            (Format::Tsv, terminal) => push_tab_safe(text, terminal, out),
            (_, true) => push_quoted(&escaped(text), self.form.delimiter, out),
            (_, false) => push_quoted(text, self.form.delimiter, out),
        }
    }

    fn separator(&self) -> char {
        char::from(self.form.delimiter)
    }
}

impl RowFormat for Separated {
    fn format(&self) -> Format {
        self.format
    }

    fn push_head(&mut self, out: &mut String) {
        if !self.form.has_header {
            return;
        }
        for (at, name) in self.names.iter().enumerate() {
            if at > 0 {
                out.push(self.separator());
            }
            self.push_field(name, out);
        }
        if !self.names.is_empty() {
            out.push('\n');
        }
    }

    fn push_row(&mut self, columns: &[Column<'_>], row: usize, out: &mut String) {
        let mut scratch = std::mem::take(&mut self.scratch);
        for (at, column) in columns.iter().enumerate() {
            if at > 0 {
                out.push(self.separator());
            }
            if column.is_null(row) {
                if self.format == Format::Tsv {
                    out.push_str("\\N");
                }
            } else if column.is_plain() {
                column.push_text(row, out);
            } else if let Some(text) = column.text(row) {
                self.push_field(text, out);
            } else {
                scratch.clear();
                column.push_text(row, &mut scratch);
                self.push_field(&scratch, out);
            }
        }
        self.scratch = scratch;
        if !columns.is_empty() {
            out.push('\n');
        }
    }

    fn push_tail(&mut self, _out: &mut String) {}
}

/// Appends a CSV field, in quotes where RFC 4180 section 2 requires them.
fn push_quoted(text: &str, delimiter: u8, out: &mut String) {
    // All octets are looked at, so that the compiler takes several at a time: most fields need no quotes.
    let is_special = text.bytes().fold(false, |special, byte| {
        special | (byte == delimiter) | matches!(byte, b'"' | b'\n' | b'\r')
    });
    let quote = is_special || text.is_empty() || text.starts_with(' ') || text.ends_with(' ');
    if !quote {
        out.push_str(text);
        return;
    }
    out.push('"');
    for (at, piece) in text.split('"').enumerate() {
        if at > 0 {
            out.push_str("\"\"");
        }
        out.push_str(piece);
    }
    out.push('"');
}

fn push_tab_safe(text: &str, terminal: bool, out: &mut String) {
    for (at, piece) in text.split('\\').enumerate() {
        if at > 0 {
            out.push_str("\\\\");
        }
        if terminal {
            push_escaped(out, piece);
            continue;
        }
        for character in piece.chars() {
            match character {
                '\t' => out.push_str("\\t"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                other => out.push(other),
            }
        }
    }
}
