//! `weir h248 compare`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use weir_h248::study::Study;
use weir_h248::{Arena, DecodeOptions, decode};

use super::args::InputArgs;
use super::context::{Context, exit, print};
use super::decode::report;
use super::input::{self, InputMessage, Next};
use crate::failure::Failure;
use crate::quantity::parse_period;
use crate::target::Target;

#[derive(Args, Debug)]
#[command(
    about = "Measure what messages cost in every encoding: size, encode, decode and total time",
    after_help = EXAMPLES
)]
pub(super) struct Compare {
    #[command(flatten)]
    input: InputArgs,
    /// Format of the averages; json also has every message
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "table",
        help_heading = "Output"
    )]
    format: ComparedFormat,
    /// Write a page with the plots of size, encode, decode and total time
    #[arg(
        short = 'o',
        long = "output",
        alias = "html",
        value_name = "FILE",
        help_heading = "Output"
    )]
    html: Option<PathBuf>,
    /// Minimum time of one measurement: 200us, 1ms; the median of five measurements counts
    #[arg(long, value_name = "TIME", default_value = "200us", value_parser = parse_measurement)]
    time: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ComparedFormat {
    /// A table in plain text
    Table,
    /// JSON
    Json,
}

/// A time; a number alone has always been microseconds here.
fn parse_measurement(text: &str) -> Result<Duration, String> {
    let time = match text.parse() {
        Ok(microseconds) => Duration::from_micros(microseconds),
        Err(_) => parse_period(text)?,
    };
    match time {
        Duration::ZERO => Err("expected a time above 0".to_owned()),
        time if time > MEASUREMENT_MAX => Err("expected ten seconds at most".to_owned()),
        time => Ok(time),
    }
}

const MEASUREMENT_MAX: Duration = Duration::from_secs(10);

/// Studies every message, then writes the report or the page.
pub(super) fn run(args: &Compare, context: Context) -> Result<ExitCode, Failure> {
    let page = args.html.as_deref();
    let page = Target::optional(page, context.global)?;
    let mut study = Study::new();
    let mut clock = Stopwatch::new(args.time);
    let mut damaged = false;
    let mut each = |found: InputMessage| {
        let arena = Arena::new();
        match decode(&found.octets, &arena, &DecodeOptions::default()) {
            Ok(message) => study.message(&found.name, &message, &mut |work| clock.time(work)),
            Err(error) => {
                damaged = true;
                report(context, &found, &error);
            }
        }
        Ok(Next::Go)
    };
    let summary = input::messages(&args.input, context, &mut each)?;
    if let Some(page) = page {
        page.put(study.to_html().as_bytes())?;
    }
    if study.messages().is_empty() {
        context.messages.note("no Megaco message was found");
    } else {
        let text = match args.format {
            ComparedFormat::Table => study.to_table(),
            ComparedFormat::Json => study.to_json(),
        };
        print(text.as_bytes())?;
    }
    Ok(exit(damaged || summary.damaged))
}

/// Times work that may be too short for the clock.
struct Stopwatch {
    at_least: Duration,
}

/// Measurements of the same work: the median counts.
const MEASUREMENTS: usize = 5;

impl Stopwatch {
    fn new(at_least: Duration) -> Self {
        Self { at_least }
    }

    /// Nanoseconds a run.
    fn time(&mut self, work: &mut dyn FnMut()) -> f64 {
        // The number of runs follows from the time of one; the runs that measure it also warm the caches.
        let mut runs = 1_u32;
        while runs < 1 << 24 && self.runs(runs, work) < self.at_least {
            runs = runs.saturating_mul(2);
        }
        let mut times = [Duration::ZERO; MEASUREMENTS];
        times.fill_with(|| self.runs(runs, work));
        times.sort_unstable();
        let median = times.get(MEASUREMENTS / 2).copied().unwrap_or_default();
        median.as_nanos() as f64 / f64::from(runs)
    }

    fn runs(&self, runs: u32, work: &mut dyn FnMut()) -> Duration {
        let begun = Instant::now();
        (0..runs).for_each(|_| work());
        begun.elapsed()
    }
}

const EXAMPLES: &str = "\
Examples:
  weir h248 compare trace.pcap
  weir h248 compare messages -o report.html
  weir h248 compare messages --format json > figures.json

Times are those of this machine and this build; averages are over the messages that an encoding can
carry. When the messages are those of Erlang/OTP's own study, its figures stand beside.

Exit status: 0 success; 1 a message is damaged (the others were measured); 2 usage or environment; 3
failure while running.";
