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
use super::{Format, OutputOptions};

/// The form of a CSV file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvForm {
    /// The ASCII character between two values. Numbers and times are written without quotes, and do not have it.
    pub delimiter: u8,
    /// Whether the first line has the names of the columns.
    pub has_header: bool,
    /// The ASCII character around values that need quotes. Within one it is doubled.
    pub quote: u8,
    /// Whether all values but NULL stand in quotes.
    pub quotes_all: bool,
    /// The text that stands for NULL. Values that are equal to it stand in quotes.
    pub null: String,
}

pub(super) struct Separated {
    format: Format,
    form: CsvForm,
    /// Whether numbers and times need no quotes, whatever they are.
    has_bare_numbers: bool,
    names: Vec<String>,
    /// Whether control characters must not get through.
    terminal: bool,
    scratch: String,
}

impl Separated {
    pub(super) fn csv(options: &OutputOptions, schema: &Schema) -> Self {
        Self::new(Format::Csv, b',', options, schema)
    }

    pub(super) fn csv_of_form(form: CsvForm, schema: &Schema) -> Self {
        let options = OutputOptions::plain(Format::Csv);
        Self {
            has_bare_numbers: !form.quotes_all && form.null.is_empty(),
            form,
            ..Self::csv(&options, schema)
        }
    }

    pub(super) fn tsv(options: &OutputOptions, schema: &Schema) -> Self {
        Self::new(Format::Tsv, b'\t', options, schema)
    }

    fn new(format: Format, delimiter: u8, options: &OutputOptions, schema: &Schema) -> Self {
        Self {
            format,
            form: CsvForm {
                delimiter,
                has_header: true,
                quote: b'"',
                quotes_all: false,
                null: String::new(),
            },
            has_bare_numbers: true,
            names: schema
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .collect(),
            terminal: options.terminal,
            scratch: String::new(),
        }
    }

    /// Appends one field; with `quotes` in quotes, where the format has them.
    fn push_field(&self, text: &str, quotes: bool, out: &mut String) {
        match (self.format, self.terminal) {
            (Format::Tsv, terminal) => push_tab_safe(text, terminal, out),
            (_, true) => push_quoted(&escaped(text), &self.form, quotes, out),
            (_, false) => push_quoted(text, &self.form, quotes, out),
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
            self.push_field(name, false, out);
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
                } else {
                    out.push_str(&self.form.null);
                }
            } else if self.has_bare_numbers && column.is_plain() {
                column.push_text(row, out);
            } else if let Some(text) = column.text(row) {
                self.push_field(text, self.form.quotes_all, out);
            } else {
                scratch.clear();
                column.push_text(row, &mut scratch);
                self.push_field(&scratch, self.form.quotes_all, out);
            }
        }
        self.scratch = scratch;
        if !columns.is_empty() {
            out.push('\n');
        }
    }

    fn push_tail(&mut self, _out: &mut String) {}
}

/// Appends a CSV field, in quotes where RFC 4180 section 2 requires them, where it could be taken for NULL, and with `quotes`.
fn push_quoted(text: &str, form: &CsvForm, quotes: bool, out: &mut String) {
    let (delimiter, quote) = (form.delimiter, form.quote);
    // All octets are looked at, so that the compiler takes several at a time: most fields need no quotes.
    let is_special = text.bytes().fold(false, |special, byte| {
        special | (byte == delimiter) | (byte == quote) | matches!(byte, b'\n' | b'\r')
    });
    let is_null = text.is_empty() || text == form.null;
    if !(quotes || is_special || is_null || text.starts_with(' ') || text.ends_with(' ')) {
        out.push_str(text);
        return;
    }
    let quote = char::from(quote);
    out.push(quote);
    for (at, piece) in text.split(quote).enumerate() {
        if at > 0 {
            out.push(quote);
            out.push(quote);
        }
        out.push_str(piece);
    }
    out.push(quote);
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
