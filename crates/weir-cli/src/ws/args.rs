//! The arguments of `weir ws`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use weir_ws::{Cells, Library};

use super::live::LiveArgs;
use crate::quantity::{parse_count, parse_size};

/// `weir ws`.
#[derive(Args, Debug)]
#[command(
    about = "Study WebSocket compression: settings, memory, CPU, what connections use",
    after_help = WS_EXAMPLES
)]
pub(crate) struct Ws {
    #[command(subcommand)]
    pub(super) command: WsCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum WsCommand {
    Study(Study),
    Advise(Advise),
    Stats(Stats),
}

/// `weir ws study`.
#[derive(Args, Debug)]
#[command(
    about = "Compute the size of messages with every permessage-deflate setting",
    long_about = "Compute the size of messages with every permessage-deflate setting.\n\n\
        The grid is context takeover (yes, no) by window bits (8 to 15) by level (1 to 9) by memLevel (1 to 9): \
        1,296 settings. Sizes are those of stock zlib, to the byte. CPU times are measured with stock zlib on a \
        part of the messages, on this machine. Memory is what zlib allocates.",
    after_help = STUDY_EXAMPLES
)]
pub(super) struct Study {
    #[command(flatten)]
    pub(super) input: InputArgs,
    #[command(flatten)]
    pub(super) grid: GridArgs,
    /// Study blocks of the messages, and give 95 % confidence intervals: seconds instead of minutes
    #[arg(long, help_heading = "Study")]
    pub(super) sample: bool,
    /// Also study fragments, a threshold, reconnects, broadcast, mixed kinds and reflected text
    #[arg(long, help_heading = "Study")]
    pub(super) more: bool,
    /// Also compare zlib's strategies
    #[arg(long, help_heading = "Study")]
    pub(super) strategies: bool,
    /// Also compare zlib-rs, libdeflate, preset dictionaries, zstd, brotli, and zlib-ng where it is built in
    #[arg(long, help_heading = "Study")]
    pub(super) codecs: bool,
    #[command(flatten)]
    pub(super) report: ReportArgs,
}

/// `weir ws advise`.
#[derive(Args, Debug)]
#[command(
    about = "Recommend one setting for a number of connections and an amount of memory",
    long_about = "Recommend one setting for a number of connections and an amount of memory.\n\n\
        Of the settings that fit, the smallest ratio wins, give or take half a percent of the bytes; among these \
        the least memory, then the least CPU time. The setting is for both ends: both windows are limited, and \
        takeover is on or off for both directions.",
    after_help = ADVISE_EXAMPLES
)]
pub(super) struct Advise {
    #[command(flatten)]
    pub(super) input: InputArgs,
    /// Connections at the same time, such as 20000, 50k or 1M
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "Budget")]
    pub(super) connections: u64,
    /// Memory for the compression contexts of all connections, such as 512m or 20GB
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Budget")]
    pub(super) memory: usize,
    /// Cores for compressing
    #[arg(long, value_name = "CORES", value_parser = parse_cores, requires = "rate", help_heading = "Budget")]
    pub(super) cpu: Option<f64>,
    /// Messages a second that are sent on all connections together, such as 200k
    #[arg(long, value_name = "MSGS", value_parser = parse_count, help_heading = "Budget")]
    pub(super) rate: Option<u64>,
    /// The zlib that the library is built with
    #[arg(
        long,
        value_name = "BUILD",
        default_value = "stock",
        help_heading = "Budget"
    )]
    pub(super) zlib: Build,
    /// Show the configuration for this library only: ws, netty, aiohttp, …
    #[arg(long, value_name = "NAME", value_parser = parse_library, help_heading = "Output")]
    pub(super) library: Option<Library>,
    /// Length in bytes below which the configurations send a message uncompressed
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 0,
        help_heading = "Output"
    )]
    pub(super) threshold: u64,
    #[command(flatten)]
    pub(super) grid: GridArgs,
    #[command(flatten)]
    pub(super) report: ReportArgs,
}

/// `weir ws stats`.
#[derive(Args, Debug)]
#[command(
    about = "Audit the WebSocket connections of a capture: parameters, ratio, violations",
    long_about = "Audit the WebSocket connections of a capture or an interface: what each negotiated, how much its \
        messages shrank, how far they refer back, and where they violate RFC 6455 or RFC 7692.",
    after_help = STATS_EXAMPLES
)]
pub(super) struct Stats {
    /// Captures; '-' for standard input
    #[arg(
        value_name = "CAPTURE",
        required_unless_present = "interface",
        conflicts_with = "interface"
    )]
    pub(super) captures: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) live: LiveArgs,
    /// Show no progress bar
    #[arg(long, help_heading = "Reporting")]
    pub(super) no_progress: bool,
    #[command(flatten)]
    pub(super) report: ReportArgs,
}

/// The input options.
#[derive(Args, Debug)]
pub(super) struct InputArgs {
    /// Transcripts, archives or captures; '-' for standard input
    #[arg(
        value_name = "INPUT",
        required_unless_present = "interface",
        conflicts_with = "interface"
    )]
    pub(super) inputs: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) live: LiveArgs,
    /// Format of the input [default: detected from its content]
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "auto",
        hide_default_value = true,
        help_heading = "Reading"
    )]
    pub(super) input_format: InputFormat,
    /// Maximum size of a message; longer ones are skipped and counted
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "64m", help_heading = "Reading")]
    pub(super) message_max: usize,
    /// Show no progress bar
    #[arg(long, help_heading = "Reporting")]
    pub(super) no_progress: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum InputFormat {
    /// Detected from the content; lines if no other format fits
    Auto,
    /// Each line is a message
    Lines,
    /// Each line is a JSON object with data, payload or base64, and direction, connection, opcode
    Records,
    /// An HTTP archive with _webSocketMessages
    Har,
    /// mitmproxy's flow file
    Mitmproxy,
    /// A capture (pcap, pcapng, ERF, snoop or NetMon 2; compressed or not)
    Capture,
    /// Binary messages, each after its length as a 16-bit big-endian number
    U16,
    /// Binary messages, each after its length as a 32-bit big-endian number
    U32,
    /// Binary messages, each after its length as a 32-bit little-endian number
    U32le,
    /// Binary messages, each after its length as a varint of Protocol Buffers
    Varint,
}

/// The settings of interest.
#[derive(Args, Debug)]
#[command(next_help_heading = "Settings")]
pub(super) struct GridArgs {
    /// Only with, or only without context takeover
    #[arg(long, value_name = "YES|NO")]
    pub(super) takeover: Option<YesNo>,
    /// Only these window bits, such as 9-12,15
    #[arg(long, value_name = "BITS", value_parser = |text: &str| parse_numbers(text, 8, 15))]
    pub(super) window: Option<NumberList>,
    /// Only these levels
    #[arg(long, value_name = "LEVELS", value_parser = |text: &str| parse_numbers(text, 1, 9))]
    pub(super) level: Option<NumberList>,
    /// Only these memLevels
    #[arg(long, value_name = "LEVELS", value_parser = |text: &str| parse_numbers(text, 1, 9))]
    pub(super) mem_level: Option<NumberList>,
    /// Source of the CPU times
    #[arg(long, value_name = "HOW", default_value = "measured")]
    pub(super) cpu_times: CpuTimesFrom,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "N")]
    pub(super) threads: Option<std::num::NonZeroUsize>,
}

impl GridArgs {
    pub(super) fn cells(&self) -> Cells {
        let mut cells = Cells::all();
        if let Some(takeover) = self.takeover {
            cells = cells.only_takeover(takeover == YesNo::Yes);
        }
        if let Some(windows) = &self.window {
            cells = cells.only_windows(windows.0.iter().copied());
        }
        if let Some(levels) = &self.level {
            cells = cells.only_levels(levels.0.iter().copied());
        }
        if let Some(mem_levels) = &self.mem_level {
            cells = cells.only_mem_levels(mem_levels.0.iter().copied());
        }
        cells
    }

    pub(super) fn study_options(&self) -> weir_ws::StudyOptions {
        let mut options = weir_ws::StudyOptions::default();
        options.engine.cells = self.cells();
        if let Some(threads) = self.threads {
            options.engine.threads = threads.get();
        }
        options
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum YesNo {
    Yes,
    No,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum CpuTimesFrom {
    /// Stock zlib runs over a part of the messages: some seconds
    Measured,
    /// A formula from measurements of short JSON messages: the same on every run
    Estimate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Build {
    /// Stock zlib
    Stock,
    /// zlib-ng or zlib-rs
    Ng,
}

/// The output options of a report.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(super) struct ReportArgs {
    /// Format of the report [default: by the name of -o, else tables]
    #[arg(long, value_name = "FORMAT")]
    pub(super) format: Option<ReportFormat>,
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ReportFormat {
    /// Tables for reading
    Table,
    /// One JSON object, with every setting
    Json,
    /// One line for each setting
    Csv,
    /// One HTML file with plots that needs no other file
    Html,
}

/// Several numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NumberList(pub(super) Vec<u8>);

/// `9-12,15`.
pub(super) fn parse_numbers(text: &str, least: u8, most: u8) -> Result<NumberList, String> {
    let wrong = || {
        format!(
            "expected numbers from {least} to {most}, such as {least}-{}",
            most - 1
        )
    };
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let from: u8 = from.trim().parse().map_err(|_| wrong())?;
        let to: u8 = to.trim().parse().map_err(|_| wrong())?;
        if from < least || to > most || from > to {
            return Err(wrong());
        }
        numbers.extend(from..=to);
    }
    Ok(NumberList(numbers))
}

pub(super) fn parse_cores(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(cores) if cores > 0.0 && cores < 1e6 => Ok(cores),
        _ => Err("expected a number of cores, such as 2 or 0.5".to_owned()),
    }
}

/// A library by a part of its name.
pub(super) fn parse_library(text: &str) -> Result<Library, String> {
    let lower = text.to_lowercase();
    let names = || {
        Library::ALL
            .iter()
            .map(|library| (library, library.name().to_lowercase()))
    };
    let found = names()
        .find(|(_, name)| name.split([' ', '/']).next() == Some(&lower))
        .or_else(|| names().find(|(_, name)| name.contains(&lower)));
    match found {
        Some((library, _)) if !lower.is_empty() => Ok(*library),
        _ => {
            let all: Vec<&str> = Library::ALL.iter().map(|library| library.name()).collect();
            Err(format!("expected one of: {}", all.join(", ")))
        }
    }
}

const WS_EXAMPLES: &str = "\
Examples:
  weir ws study messages.ndjson
  weir ws advise messages.ndjson --connections 1M --memory 20GB
  weir ws stats trace.pcap
  weir query \"SELECT * FROM websocket('trace.pcap') LIMIT 10\"";

const STUDY_EXAMPLES: &str = "\
Inputs: captures, text (each line is a message), NDJSON, JSON records around messages, HTTP archives (HAR) with \
_webSocketMessages, mitmproxy flow files, length-prefixed binary (named with --input-format).

Examples:
  The grid of a transcript:
    weir ws study messages.ndjson
  A page with plots:
    weir ws study site.har -o study.html
  Every setting, for another program:
    weir ws study messages.ndjson --format csv > grid.csv
  What a library with three knobs offers:
    weir ws study messages.ndjson --takeover yes --window 9-15 --level 1,6 --mem-level 5
  Two seconds instead of minutes:
    weir ws study large.ndjson --sample
  What crosses an interface in the next minute:
    weir ws study -i eth0 --duration 1m";

const STATS_EXAMPLES: &str = "\
Examples:
  weir ws stats trace.pcap
      what the connections negotiated, and how much it saves
  weir ws stats 'trace.pcap' --format csv
      a line for each direction of each connection
  weir ws stats trace.pcap -o stats.html
      a page with plots: sizes, ratios, and the windows that were needed
  weir ws stats -i eth0 --count 10k
      the same of the next 10,000 messages on an interface
  weir query \"SELECT * FROM websocket('trace.pcap') WHERE websocket.violations IS NOT NULL\"
      the messages that violate a standard

Exit status: 0 success; 1 a violation or damage was found; 2 usage or environment; 3 failure while
running.";

const ADVISE_EXAMPLES: &str = "\
Examples:
  A million connections in 20 GB:
    weir ws advise messages.ndjson --connections 1M --memory 20GB
  With half a core for 50,000 messages a second:
    weir ws advise messages.ndjson --connections 1M --memory 20GB --cpu 0.5 --rate 50k
  The configuration for one library:
    weir ws advise messages.ndjson --connections 20k --memory 1g --library netty
  Everything as a page or for a program:
    weir ws advise messages.ndjson --connections 1M --memory 20GB -o advice.html
    weir ws advise messages.ndjson --connections 1M --memory 20GB --format json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_counts_and_libraries_are_read() {
        assert_eq!(
            parse_numbers("9-11,15", 8, 15),
            Ok(NumberList(vec![9, 10, 11, 15]))
        );
        for wrong in ["", "7", "16", "12-9", "x", "9-", "9,,10"] {
            assert!(parse_numbers(wrong, 8, 15).is_err(), "{wrong}");
        }
        assert_eq!(parse_library("ws"), Ok(Library::Ws));
        assert_eq!(parse_library("Gorilla"), Ok(Library::Gorilla));
        assert_eq!(parse_library(".net"), Ok(Library::DotNet));
        assert!(parse_library("").is_err() && parse_library("rails").is_err());
    }
}
