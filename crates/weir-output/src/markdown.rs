//! Tables in GitHub's Markdown.
//!
//! Characters that Markdown would read as markup get a backslash, `<` and `&` become entities and a
//! line break becomes `<br>`. NULL is an empty cell, an empty text is `""`.

use arrow::datatypes::Schema;

use super::Format;
use super::column::{Column, is_number};
use super::rows::RowFormat;
use super::text::push_escaped;

pub(super) struct Markdown {
    /// Names, and whether the column is one of numbers.
    names: Vec<(String, bool)>,
    scratch: String,
}

impl Markdown {
    pub(super) fn new(schema: &Schema) -> Self {
        let name = |field: &std::sync::Arc<arrow::datatypes::Field>| {
            (field.name().clone(), is_number(field.data_type()))
        };
        Self {
            names: schema.fields().iter().map(name).collect(),
            scratch: String::new(),
        }
    }
}

impl RowFormat for Markdown {
    fn format(&self) -> Format {
        Format::Markdown
    }

    fn push_head(&mut self, out: &mut String) {
        if self.names.is_empty() {
            return;
        }
        for (name, _) in &self.names {
            out.push_str("| ");
            push_cell(name, out);
            out.push(' ');
        }
        out.push_str("|\n");
        for (_, number) in &self.names {
            out.push_str(if *number { "| ---: " } else { "| --- " });
        }
        out.push_str("|\n");
    }

    fn push_row(&mut self, columns: &[Column<'_>], row: usize, out: &mut String) {
        for column in columns {
            out.push_str("| ");
            if !column.is_null(row) {
                self.scratch.clear();
                column.push_text(row, &mut self.scratch);
                push_cell(&self.scratch, out);
            }
            out.push(' ');
        }
        if !columns.is_empty() {
            out.push_str("|\n");
        }
    }

    fn push_tail(&mut self, _out: &mut String) {}
}

fn push_cell(text: &str, out: &mut String) {
    if text.is_empty() {
        out.push_str("\"\"");
    }
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' if characters.peek() == Some(&'\n') => {}
            '\n' => out.push_str("<br>"),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '|' | '`' | '*' | '[' | ']' | '~' => {
                out.push('\\');
                out.push(character);
            }
            // Within a word (`call_id`) an underscore is not emphasis.
            '_' => {
                let inside = before.is_some_and(char::is_alphanumeric)
                    && characters.peek().is_some_and(|next| next.is_alphanumeric());
                out.push_str(if inside { "_" } else { "\\_" });
            }
            other => push_escaped(out, other.encode_utf8(&mut [0; 4])),
        }
        before = Some(character);
    }
}
