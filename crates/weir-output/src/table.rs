//! The drawn table.
//!
//! Column widths come from the first [`BUFFERED_ROWS`] rows or [`BUFFERED_BYTES`], whichever is
//! reached first, and are at most [`CELL_WIDTH_MAX`]; what comes later is written as it comes, and
//! a value that is wider pushes its own line out. So memory is bounded, and a pipe gets every value in full. NULL is an empty
//! cell, an empty text is `""`.
//!
//! A terminal is given less: times without zeros at their ends, no more rows than [`OutputOptions::rows_max`], values and columns cut to its
//! width, and no columns that are NULL throughout. These are folded away when the result has
//! [`FOLD_FROM`] columns or more, as `SELECT *` has (of a few columns, every one was requested by
//! name), and when all its rows were seen before the first is drawn. Addresses and ports then stand in front of the others.

use std::borrow::Cow;
use std::io::Write as _;

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::Schema;

use super::column::{Column, is_number, is_whole};
use super::layout::{self, Layout, Natural};
use super::pipe::Pipe;
use super::rows::columns;
use super::{Encoder, Error, Format, OutputOptions, Summary, text};

pub(super) struct Table {
    options: OutputOptions,
    pipe: Pipe,
    heads: Vec<Head>,
    /// Rows that wait for the layout.
    buffer: Vec<RecordBatch>,
    buffered_rows: u64,
    buffered_bytes: usize,
    rows: u64,
    /// Once the head is drawn.
    drawing: Option<Drawing>,
    summary: Summary,
    lines: String,
}

/// A column of the result.
struct Head {
    name: String,
    number: bool,
    whole: bool,
    /// A value other than NULL was seen.
    filled: bool,
}

/// A table whose shape is settled.
struct Drawing {
    /// The columns of the result that are shown.
    shown: Vec<usize>,
    layout: Layout,
    /// Whether wider values are cut.
    cut: bool,
}

impl Table {
    pub(super) fn new(options: &OutputOptions, schema: &Schema, pipe: Pipe) -> Self {
        let head = |field: &std::sync::Arc<arrow::datatypes::Field>| Head {
            name: text::escaped(field.name()).into_owned(),
            number: is_number(field.data_type()),
            whole: is_whole(field.data_type()),
            filled: false,
        };
        Self {
            options: options.clone(),
            pipe,
            heads: schema.fields().iter().map(head).collect(),
            buffer: Vec::new(),
            buffered_rows: 0,
            buffered_bytes: 0,
            rows: 0,
            drawing: None,
            summary: Summary {
                table_on_terminal: options.terminal,
                ..Summary::default()
            },
            lines: String::new(),
        }
    }

    /// Rows that may still be shown, of those that the table is given.
    fn rows_max(&self) -> u64 {
        match self.options.rows_max {
            Some(max) if self.options.terminal => max,
            _ => u64::MAX,
        }
    }

    /// Determines the layout from the current rows and writes them. `complete` when there are no more.
    fn settle(&mut self, complete: bool) -> Result<(), Error> {
        let shaped = self.options.terminal && !self.options.all_columns;
        let all = 0..self.heads.len();
        let folding = shaped && complete && self.rows > 0 && self.heads.len() >= FOLD_FROM;
        let mut shown: Vec<usize> = if folding && self.heads.iter().any(|head| head.filled) {
            let filled = |&at: &usize| self.heads.get(at).is_some_and(|head| head.filled);
            all.filter(filled).collect()
        } else {
            all.collect()
        };
        if shaped && self.heads.len() >= FOLD_FROM {
            // The statement did not choose an order (`SELECT *`): the columns that tell packets apart come first, and the
            // name of the file last.
            let place = |at: &usize| {
                let name = self.heads.get(*at).map_or("", |head| head.name.as_str());
                match FIRST.iter().position(|first| *first == name) {
                    Some(place) => place,
                    None if name == FILE => FIRST.len() + 1,
                    None => FIRST.len(),
                }
            };
            shown.sort_by_key(place);
        }
        if shown.len() < self.heads.len() {
            let folded = self.heads.iter().filter(|head| !head.filled);
            self.summary.columns_folded = folded.map(|head| head.name.clone()).collect();
        }

        let natural = self.measure(&shown)?;
        let (layout, cut) = match self.options.width {
            Some(width) if shaped => (layout::fitted(&natural, usize::from(width)), true),
            _ => (layout::natural(&natural), false),
        };
        for at in shown.drain(layout.widths.len()..) {
            if let Some(head) = self.heads.get(at) {
                self.summary.columns_cut.push(head.name.clone());
            }
        }
        self.drawing = Some(Drawing { shown, layout, cut });
        self.push_head();
        for batch in std::mem::take(&mut self.buffer) {
            self.push_rows(&batch)?;
        }
        Ok(())
    }

    /// The widths of the buffered rows in the columns `shown`.
    fn measure(&self, shown: &[usize]) -> Result<Vec<Natural>, Error> {
        let mut natural: Vec<_> = shown
            .iter()
            .filter_map(|&at| self.heads.get(at))
            .map(|head| Natural {
                value: 0,
                name: text::width(&head.name).min(CELL_WIDTH_MAX),
                whole: head.whole,
            })
            .collect();
        let mut scratch = String::new();
        for batch in &self.buffer {
            let columns = columns(batch).map_err(|error| Error::encode(Format::Table, error))?;
            for (natural, &at) in natural.iter_mut().zip(shown) {
                let Some(column) = columns.get(at) else {
                    continue;
                };
                for row in 0..batch.num_rows() {
                    let cell = cell(column, row, self.options.terminal, &mut scratch);
                    natural.value = natural.value.max(text::width(&cell).min(CELL_WIDTH_MAX));
                }
            }
        }
        Ok(natural)
    }

    fn push_head(&mut self) {
        let Some(drawing) = &self.drawing else { return };
        if drawing.shown.is_empty() {
            return;
        }
        let paint = Paint(self.options.colour);
        let out = &mut self.lines;
        push_rule(out, drawing, paint, ['┌', '┬', '┐']);
        paint.push_border(out, "│ ");
        for (position, (at, width)) in drawing.columns().enumerate() {
            let Some(head) = self.heads.get(at) else {
                continue;
            };
            if position > 0 {
                paint.push_border(out, " │ ");
            }
            let name = match drawing.cut {
                true => text::fitted(&head.name, width),
                false => Cow::Borrowed(head.name.as_str()),
            };
            self.summary.values_cut |= name.len() != head.name.len();
            push_padded(out, &name, width, head.number, |out, name| {
                paint.push_bold(out, name);
            });
        }
        push_line_end(out, drawing, paint);
        push_rule(out, drawing, paint, ['├', '┼', '┤']);
    }

    fn push_rows(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let Some(drawing) = &self.drawing else {
            return Ok(());
        };
        if drawing.shown.is_empty() {
            return Ok(());
        }
        let paint = Paint(self.options.colour);
        let columns = columns(batch).map_err(|error| Error::encode(Format::Table, error))?;
        let mut scratch = String::new();
        for row in 0..batch.num_rows() {
            let out = &mut self.lines;
            paint.push_border(out, "│ ");
            for (position, (at, width)) in drawing.columns().enumerate() {
                let (Some(column), Some(head)) = (columns.get(at), self.heads.get(at)) else {
                    continue;
                };
                if position > 0 {
                    paint.push_border(out, " │ ");
                }
                let cell = cell(column, row, self.options.terminal, &mut scratch);
                let fitted = match drawing.cut {
                    true => text::fitted(&cell, width),
                    false => Cow::Borrowed(&*cell),
                };
                self.summary.values_cut |= fitted.len() != cell.len();
                push_padded(out, &fitted, width, head.number, String::push_str);
            }
            push_line_end(out, drawing, paint);
            if self.lines.len() >= DRAIN_BYTES {
                drain(&mut self.lines, &mut self.pipe)?;
            }
        }
        drain(&mut self.lines, &mut self.pipe)
    }

    fn push_foot(&mut self) {
        let Some(drawing) = &self.drawing else { return };
        if drawing.shown.is_empty() {
            return;
        }
        let paint = Paint(self.options.colour);
        let out = &mut self.lines;
        if self.summary.rows_hidden > 0 {
            paint.push_border(out, "│ ");
            for (position, (at, width)) in drawing.columns().enumerate() {
                if position > 0 {
                    paint.push_border(out, " │ ");
                }
                let number = self.heads.get(at).is_some_and(|head| head.number);
                push_padded(out, "…", width, number, String::push_str);
            }
            push_line_end(out, drawing, paint);
        }
        push_rule(out, drawing, paint, ['└', '┴', '┘']);
    }
}

impl Encoder for Table {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        for (head, array) in self.heads.iter_mut().zip(batch.columns()) {
            head.filled = head.filled || array.logical_null_count() < array.len();
        }
        let left = self.rows_max().saturating_sub(self.rows);
        let given = u64::try_from(batch.num_rows()).unwrap_or(u64::MAX);
        self.rows = self.rows.saturating_add(given);
        let taken = given.min(left);
        self.summary.rows_hidden = self.summary.rows_hidden.saturating_add(given - taken);
        let batch = batch.slice(0, usize::try_from(taken).unwrap_or(usize::MAX));
        if taken == 0 {
            return Ok(());
        }
        if self.drawing.is_some() {
            self.push_rows(&batch)?;
            return Ok(self.pipe.flush()?);
        }
        self.buffered_rows = self.buffered_rows.saturating_add(taken);
        self.buffered_bytes = self
            .buffered_bytes
            .saturating_add(batch.get_array_memory_size());
        self.buffer.push(batch);
        // A capped table always waits for the end: it holds few rows, though a slice of a batch
        // counts with the bytes of the whole.
        let full = self.buffered_rows > BUFFERED_ROWS || self.buffered_bytes > BUFFERED_BYTES;
        let prompt = self.options.prompt;
        if prompt || (full && self.rows_max() > BUFFERED_ROWS) {
            self.settle(prompt)?;
            self.pipe.flush()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Summary, Error> {
        if self.drawing.is_none() {
            self.settle(true)?;
        }
        self.push_foot();
        drain(&mut self.lines, &mut self.pipe)?;
        self.pipe.flush()?;
        Ok(self.summary.clone())
    }
}

impl Drawing {
    /// The columns that are shown, with their widths.
    fn columns(&self) -> impl Iterator<Item = (usize, usize)> {
        self.shown
            .iter()
            .copied()
            .zip(self.layout.widths.iter().copied())
    }
}

/// Colours of a table: borders step back, names stand out.
#[derive(Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn push_border(self, out: &mut String, text: &str) {
        self.push(out, "\x1b[2m", text);
    }

    fn push_bold(self, out: &mut String, text: &str) {
        self.push(out, "\x1b[1m", text);
    }

    fn push(self, out: &mut String, style: &str, text: &str) {
        if self.0 {
            out.push_str(style);
            out.push_str(text);
            out.push_str("\x1b[0m");
        } else {
            out.push_str(text);
        }
    }
}

/// The text of a cell, harmless to a terminal.
fn cell<'a>(
    column: &Column<'_>,
    row: usize,
    rounded: bool,
    scratch: &'a mut String,
) -> Cow<'a, str> {
    scratch.clear();
    if column.is_null(row) {
        return Cow::Borrowed("");
    }
    if rounded {
        column.push_rounded(row, scratch);
    } else {
        column.push_text(row, scratch);
    }
    if scratch.is_empty() {
        scratch.push_str("\"\"");
    }
    text::escaped(scratch)
}

/// Appends `text` in a cell of `width`, numbers at its right.
fn push_padded(
    out: &mut String,
    text: &str,
    width: usize,
    right: bool,
    push: impl Fn(&mut String, &str),
) {
    let pad = width.saturating_sub(text::width(text));
    if right {
        push_repeated(out, " ", pad);
    }
    push(out, text);
    if !right {
        push_repeated(out, " ", pad);
    }
}

/// Appends the right border, after a `…` for columns that are not shown.
fn push_line_end(out: &mut String, drawing: &Drawing, paint: Paint) {
    paint.push_border(
        out,
        if drawing.layout.more {
            " │ … │"
        } else {
            " │"
        },
    );
    out.push('\n');
}

/// Appends a horizontal rule with its left, middle and right joints.
fn push_rule(out: &mut String, drawing: &Drawing, paint: Paint, [left, joint, right]: [char; 3]) {
    let mut rule = String::from(left);
    let more = drawing.layout.more.then_some(1);
    for (position, width) in drawing
        .layout
        .widths
        .iter()
        .copied()
        .chain(more)
        .enumerate()
    {
        if position > 0 {
            rule.push(joint);
        }
        push_repeated(&mut rule, "─", width.saturating_add(2));
    }
    rule.push(right);
    paint.push_border(out, &rule);
    out.push('\n');
}

fn push_repeated(out: &mut String, text: &str, count: usize) {
    out.extend(std::iter::repeat_n(text, count));
}

fn drain(lines: &mut String, pipe: &mut Pipe) -> Result<(), Error> {
    let result = pipe.write_all(lines.as_bytes());
    lines.clear();
    Ok(result?)
}

/// Rows from which the widths are taken.
const BUFFERED_ROWS: u64 = 10_000;
/// The most that these rows may hold.
const BUFFERED_BYTES: usize = 64 << 20;
/// The first and the last columns of a wide table on a terminal.
const FIRST: [&str; 9] = [
    "frame.number",
    "frame.time",
    "addr.src",
    "port.src",
    "addr.dst",
    "port.dst",
    "proto",
    "frame.len",
    "frame.layers",
];
const FILE: &str = "frame.file";
/// Columns of a result from which on those that are NULL throughout are folded away.
const FOLD_FROM: usize = 8;
/// Padding stops here: one payload of a megabyte must not widen every row to a megabyte.
const CELL_WIDTH_MAX: usize = 256;
/// Text is written in pieces of about this size.
const DRAIN_BYTES: usize = 64 << 10;
