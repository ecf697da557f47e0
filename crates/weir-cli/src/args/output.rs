//! The options for the destination and format of rows.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::message::ColorChoice;
use crate::progress;
use crate::refusal::Refusal;
use weir_output::plot::{Form, Kind, Plot};
use weir_output::{self as output, Format};

/// The options for the destination and format of rows, which all commands with rows share.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputArgs {
    /// Format of the rows [default: by the name of -o, else table on a terminal, csv in a pipe]
    #[arg(
        long,
        value_name = "FORMAT",
        long_help = "Format of the rows. By default the name of the output file decides (result.parquet); without one it \
            is a table on a terminal and CSV in a pipe (NDJSON for live).\n\n\
            json is one array of objects, ndjson one object per line; weir reads both. arrow is the file format \
            of Arrow IPC, arrows the stream format.\n\n\
            Only a table on a terminal is folded, cut, capped and rounded, with a note about it; all other \
            output has every row, every column and every digit"
    )]
    pub(crate) format: Option<Format>,
    /// Write to a file instead of standard output
    #[arg(
        short,
        long,
        value_name = "FILE",
        long_help = "Write to a file instead of standard output; '-' is standard output. Several statements take one file \
            for all, or one -o for each in their order. The file gets its name when it is complete: until then, \
            and when the command fails or is interrupted, an existing file of that name stays, which may also be \
            an input. A file of rows without an end (live, --follow) has its name from the start, if no file of \
            that name exists"
    )]
    pub(crate) output: Vec<PathBuf>,
    /// Maximum rows of a table on a terminal, or 'all'
    #[arg(
        long,
        value_name = "N",
        value_parser = parse_rows,
        default_value = "40",
        env = "WEIR_ROWS",
        hide_env_values = true,
        long_help = "Maximum rows of a table on a terminal, or 'all'. Files, pipes and the other formats always have all \
            rows"
    )]
    pub(crate) rows: RowLimit,
    /// Show every column of a table in full, however wide
    #[arg(
        long,
        long_help = "Show every column of a table in full, however wide, also columns that are NULL in every row, which a \
            terminal otherwise does not show"
    )]
    pub(crate) all_columns: bool,
    /// Draw a chart of the rows: line, bars, histogram, heat [default: by the columns]
    #[arg(
        long,
        value_name = "KIND",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "auto",
        conflicts_with = "format",
        long_help = "Draw a chart of the rows instead of writing them: on standard output with characters, \
            with '-o x.svg', '-o x.png' or '-o x.html' as a picture, which need no --plot. The columns choose the chart: a time and amounts \
            make lines, names and an amount bars, one amount a histogram, a time with many names a heat map; \
            '--plot=heat' asks for another. The first 20,000 rows are drawn"
    )]
    pub(crate) plot: Option<Kind>,
}

/// The rows that a table on a terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowLimit(pub(crate) Option<u64>);

impl Default for RowLimit {
    fn default() -> Self {
        Self(Some(output::ROWS_MAX_DEFAULT))
    }
}

impl OutputArgs {
    /// The file for the statement at `index` of `statements`; `None` for standard output.
    ///
    /// # Errors
    /// A usage error when the files are neither one for all nor one for each statement.
    pub(crate) fn file(&self, index: usize, statements: usize) -> Result<Option<&Path>, Refusal> {
        let file = match self.output.as_slice() {
            [] => return Ok(None),
            [one] => one,
            several if several.len() == statements => match several.get(index) {
                Some(file) => file,
                None => return Ok(None),
            },
            several => {
                return Err(Refusal::usage(
                    format!("{} output files for {statements} statements", several.len()),
                    "give one '-o FILE' for all statements, or one for each",
                ));
            }
        };
        let extension = file.extension().and_then(|extension| extension.to_str());
        if let Some(packed @ ("gz" | "zst" | "xz" | "bz2" | "lz4" | "zip")) = extension {
            let file = file.display();
            return Err(Refusal::usage(
                format!("rows are not compressed: '{file}' would not be a .{packed}"),
                "Parquet is compressed: -o x.parquet; or weir query \"…\" --format csv | gzip > x.csv.gz",
            ));
        }
        let is_file = file.as_os_str() != "-";
        // Rows under the name of a picture would only be noticed when the file is opened.
        let is_image = extension.is_some_and(|extension| {
            let mut others = ["jpg", "jpeg", "gif", "webp", "bmp", "pdf"].into_iter();
            others.any(|other| extension.eq_ignore_ascii_case(other))
        });
        let is_pictured = self.plot.is_some() || (self.format.is_none() && is_image);
        if is_pictured && is_file && Form::of_path(file).is_none() {
            let file = file.display();
            return Err(Refusal::usage(
                format!("not the name of a chart: '{file}'"),
                "name it x.svg, x.png, x.html or x.txt; without -o it is drawn on standard output",
            ));
        }
        let is_other_format = extension.is_some_and(|extension| {
            let mut others = OTHER_FORMATS.iter();
            others.any(|other| extension.eq_ignore_ascii_case(other))
        });
        if is_other_format && self.format.is_none() && self.plot.is_none() {
            let file = file.display();
            return Err(Refusal::usage(
                format!("there is no format of rows with this name: '{file}' would be CSV"),
                "name it x.csv, x.json, x.parquet or x.arrow, which other programs read; --format says which it is under any name",
            ));
        }
        if let Some("pcap" | "pcapng" | "cap" | "erf") = extension
            && self.format.is_none()
        {
            let file = file.display();
            return Err(Refusal::usage(
                format!("rows are not packets: '{file}' would not be a capture"),
                format!("COPY (SELECT … WHERE …) TO '{file}' keeps the packets of a query (pcap)"),
            ));
        }
        Ok((file.as_os_str() != "-").then_some(file))
    }

    /// A note for a file that is written as CSV because no format has its extension, which may be a slip of the keyboard.
    pub(crate) fn note(&self, file: Option<&Path>) -> Option<String> {
        let file = file?;
        let extension = file.extension()?.to_str()?;
        let is_chosen = self.format.is_some() || self.plot.is_some();
        if is_chosen || Format::of_path(file).is_some() || Form::of_path(file).is_some() {
            return None;
        }
        let file = file.display();
        Some(format!(
            "{file} is CSV, because no format has the extension .{extension}; --format chooses another"
        ))
    }

    /// The options of the writer for `file`, or for standard output without one; standard output may be a terminal.
    pub(crate) fn options(
        &self,
        file: Option<&Path>,
        stdout_terminal: bool,
        color: ColorChoice,
    ) -> output::OutputOptions {
        let terminal = file.is_none() && stdout_terminal;
        let format = self
            .format
            .or_else(|| file.and_then(Format::of_path))
            .unwrap_or(Format::default_for(terminal));
        let colour = file.is_none() && color.applies(terminal);
        let base = match terminal {
            true => output::OutputOptions::terminal(format, colour),
            false => output::OutputOptions::plain(format),
        };
        let form = file.and_then(Form::of_path).unwrap_or(Form::Text);
        // The name of a picture selects the picture.
        let pictured = (form.is_picture() && self.format.is_none()).then_some(Kind::Auto);
        output::OutputOptions {
            colour,
            rows_max: self.rows.0,
            all_columns: self.all_columns,
            plot: self.plot.or(pictured).map(|kind| Plot { kind, form }),
            is_file: file.is_some() || (!stdout_terminal && progress::stdout_is_file()),
            ..base
        }
    }
}

/// Extensions of tables and databases of other programs, under which CSV would only be noticed when the file is opened.
const OTHER_FORMATS: &[&str] = &[
    "avro", "db", "duckdb", "ods", "orc", "sqlite", "xls", "xlsx", "xml", "yaml", "yml",
];

/// The value of `--rows`.
pub(crate) fn parse_rows(text: &str) -> Result<RowLimit, String> {
    if text.eq_ignore_ascii_case("all") {
        return Ok(RowLimit(None));
    }
    let rows = text.parse();
    rows.map(|rows| RowLimit(Some(rows)))
        .map_err(|_| "expected a number of rows, or 'all'".to_owned())
}
