//! `--plot`: an answer as a chart, drawn in the terminal or as a picture.
//!
//! The columns choose the chart ([`weir_page::chart`]), the rows are brought into its shape (`shape.rs`), and the shape is
//! drawn as characters (`screen.rs`) or as SVG and PNG (`picture.rs`). No more than the first `ROWS_MAX` rows are kept and drawn;
//! the notes under the chart say what was left out.

mod axis;
mod picture;
mod screen;
mod shape;
#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::datatypes::SchemaRef;
use weir_page::Page;
use weir_page::chart;

use super::pipe::Pipe;
use super::{Encoder, Error, OutputOptions, Summary, grouped};

/// The kind of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// The one that fits the columns
    Auto,
    /// Amounts over a time or another amount
    Line,
    /// A bar for each name
    #[value(alias = "bar")]
    Bars,
    /// The number of rows in each range of an amount
    Histogram,
    /// Amounts by name and time, as colours
    #[value(alias = "heatmap")]
    Heat,
}

/// The form of a drawn chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Characters.
    Text,
    /// A picture that browsers and documents take.
    Svg,
    /// The picture as points, for what takes no SVG.
    Png,
    /// A page with the picture.
    Html,
}

impl Form {
    /// True of what one file has one of.
    pub fn is_picture(self) -> bool {
        self != Self::Text
    }

    /// The form that the extension of a file's name selects.
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match extension.as_str() {
            "txt" => Self::Text,
            "svg" => Self::Svg,
            "png" => Self::Png,
            "html" | "htm" => Self::Html,
            _ => return None,
        })
    }
}

/// A chart instead of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plot {
    /// The kind of the chart.
    pub kind: Kind,
    /// The form of the chart.
    pub form: Form,
}

/// Collects rows, and draws them at their end.
pub(super) struct Collected {
    plot: Plot,
    options: OutputOptions,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    rows: usize,
    has_more: bool,
    pipe: Pipe,
}

impl Collected {
    pub(super) fn new(plot: Plot, options: &OutputOptions, schema: SchemaRef, pipe: Pipe) -> Self {
        Self {
            plot,
            options: options.clone(),
            schema,
            batches: Vec::new(),
            rows: 0,
            has_more: false,
            pipe,
        }
    }
}

impl Encoder for Collected {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let left = ROWS_MAX.saturating_sub(self.rows);
        let taken = batch.num_rows().min(left);
        self.has_more |= taken < batch.num_rows();
        if taken > 0 {
            self.rows = self.rows.saturating_add(taken);
            self.batches.push(batch.slice(0, taken));
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Summary, Error> {
        if self.rows == 0 && self.plot.form == Form::Text {
            // A live source may have no rows yet.
            self.pipe.write_all(b"no rows to draw\n")?;
            self.pipe.flush()?;
            return Ok(Summary::default());
        }
        let batches = std::mem::take(&mut self.batches);
        let rows = concat_batches(&self.schema, &batches).map_err(Error::unplotted)?;
        let kind = match self.plot.kind {
            Kind::Auto => None,
            Kind::Line => Some(chart::Kind::Line),
            Kind::Bars => Some(chart::Kind::Bars),
            Kind::Histogram => Some(chart::Kind::Histogram),
            Kind::Heat => Some(chart::Kind::Heat),
        };
        let mut drawn = shape::shape(&rows, kind)?;
        if self.has_more {
            let first = u64::try_from(ROWS_MAX).unwrap_or(u64::MAX);
            let note = format!("the first {} rows are drawn", grouped(first));
            drawn.notes.insert(0, note);
        }
        let mut summary = Summary::default();
        let written = match self.plot.form {
            Form::Text => screen::draw(&drawn, &self.options).into_bytes(),
            Form::Svg => picture::svg(&drawn)?.into_bytes(),
            Form::Png => {
                let picture = picture::png(&drawn)?;
                summary.picture = picture.note;
                picture.png
            }
            Form::Html => {
                let mut page = Page::new("chart", &drawn.title());
                // The picture itself has the note of what was left out.
                page.put(format_args!("{}", picture::svg(&drawn)?));
                page.finish().into_bytes()
            }
        };
        self.pipe.write_all(&written)?;
        self.pipe.flush()?;
        Ok(summary)
    }
}

/// Rows that a chart is drawn of, as in the Python package: a query that counts has few, and no screen has more dots.
const ROWS_MAX: usize = 20_000;
