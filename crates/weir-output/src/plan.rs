//! The answer to EXPLAIN, whose cells are whole trees: printed as the text it is, in no box.

use arrow::datatypes::Schema;

use super::column::Column;
use super::rows::RowFormat;
use super::text::push_escaped;
use super::{Format, OutputOptions};

/// True for the schema that DataFusion gives to EXPLAIN.
pub(super) fn is_plan(schema: &Schema) -> bool {
    let names = schema.fields().iter().map(|field| field.name().as_str());
    names.eq(["plan_type", "plan"])
}

/// A heading and an indented tree for each row.
pub(super) struct Plan {
    colour: bool,
    first: bool,
}

impl Plan {
    pub(super) fn new(options: &OutputOptions) -> Self {
        Self {
            colour: options.colour,
            first: true,
        }
    }
}

impl RowFormat for Plan {
    fn format(&self) -> Format {
        Format::Table
    }

    fn push_head(&mut self, _out: &mut String) {}

    fn push_row(&mut self, columns: &[Column<'_>], row: usize, out: &mut String) {
        let text = |at: usize| {
            let mut text = String::new();
            if let Some(column) = columns.get(at) {
                column.push_text(row, &mut text);
            }
            text
        };
        if !self.first {
            out.push('\n');
        }
        self.first = false;
        out.push_str(if self.colour { "\x1b[1m" } else { "" });
        push_escaped(out, &text(0));
        out.push_str(if self.colour { "\x1b[0m\n" } else { "\n" });
        for line in text(1).lines() {
            out.push_str("  ");
            push_escaped(out, line);
            out.push('\n');
        }
    }

    fn push_tail(&mut self, _out: &mut String) {}
}
