//! What can the user say on the command line?
//!
//! The definitions give help, completions and manual pages alike. A line that does not parse
//! becomes a [`Refusal`]: `error:` and `hint:` lines, exit status 2.

mod output;

use std::ffi::OsString;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::h248::H248;
use crate::interface::SourceArgs;
use crate::message::ColorChoice;
use crate::quantity::{parse_duration, parse_period, parse_size};
use crate::refusal::Refusal;

pub(crate) use output::{OutputArgs, Rows, parse_rows};

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "weir",
    version = VERSION,
    about = "SQL over network captures",
    long_about = "SQL over network captures.\n\n\
        Captures (pcap, pcapng, ERF, snoop, NetMon 2; compressed or not) are tables: name the file in FROM. \
        Columns bear Wireshark's field names, such as ip.src, udp.dstport and frame.len.",
    after_help = TOP_EXAMPLES,
    arg_required_else_help = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    /// Switches of every command.
    #[command(flatten)]
    pub(crate) global: Global,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Switches of every command.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Reporting")]
pub(crate) struct Global {
    /// When to use colour
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        env = "WEIR_COLOR",
        hide_env_values = true,
        hide_possible_values = true,
        long_help = "When to use colour: auto, always or never. 'auto' is colour on a terminal, \
            unless NO_COLOR is set or TERM is dumb"
    )]
    pub(crate) color: ColorChoice,
    /// No notes and no progress; errors and warnings are still said
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Let output take the place of a capture
    #[arg(
        long,
        global = true,
        help_heading = "Output",
        long_help = "Let output take the place of a capture that is there. Other files are replaced without \
            being asked for; in any case only when the new one is whole"
    )]
    pub(crate) overwrite: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    // What these say of themselves stands at their types: a doc comment here would win.
    Query(Query),
    Shell(Box<crate::shell::Shell>),
    Summary(crate::overview::Summary),
    Report(crate::report::Report),
    Live(Live),
    Fields(Fields),
    Filter(crate::filter::Filter),
    Carve(crate::filter::Carve),
    /// List the functions of SQL, with meaning and example
    #[command(after_help = FUNCTIONS_EXAMPLES)]
    Functions(Functions),
    /// List the tables that captures have, with meaning and example
    #[command(after_help = TABLES_EXAMPLES)]
    Tables(Functions),
    Demo(Demo),
    Clf(crate::clf::Clf),
    H248(H248),
    Ws(crate::ws::Ws),
    Sip(crate::sip::Sip),
    #[cfg(feature = "serve")]
    Serve(Box<crate::serve::Serve>),
    /// Answer SQL clients and browsers (not in this build)
    #[cfg(not(feature = "serve"))]
    Serve(crate::absent::Absent),
    #[cfg(feature = "cluster")]
    Cluster(Box<crate::cluster::Cluster>),
    /// Answer SQL on several machines (not in this build)
    #[cfg(not(feature = "cluster"))]
    Cluster(crate::absent::Absent),
    /// Print a completion script for a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write the pages of all commands
    #[command(after_help = MAN_EXAMPLES)]
    Man {
        /// Write the pages of all commands into this directory
        dir: Option<PathBuf>,
    },
}

/// `weir query`.
#[derive(Args, Debug)]
#[command(
    about = "Answer SQL over captures",
    long_about = "Answer SQL over captures.\n\n\
        A path, a glob, or '-' for standard input, quoted in FROM, is a table of packets; its kind \
        and its compression are found by content. Parquet, CSV, JSON and Arrow files can be \
        joined with it. Several statements are answered one after the other.",
    override_usage = "weir query [OPTIONS] <SQL>...\n       weir query [OPTIONS] --file <FILE>",
    after_help = QUERY_EXAMPLES
)]
pub(crate) struct Query {
    /// SQL, one or several statements
    #[arg(
        value_name = "SQL",
        required_unless_present = "file",
        conflicts_with = "file"
    )]
    pub(crate) sql: Vec<String>,
    /// Read the SQL from a file, '-' for standard input
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Where the rows go, and how.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Threads that a query may use [default: one for each core]
    #[arg(
        long,
        value_name = "N",
        env = "WEIR_THREADS",
        hide_env_values = true,
        help_heading = "Resources"
    )]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Memory for groups, sorts and joins before they spill to disk: 512m, 2g, 1GiB
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = parse_size,
        env = "WEIR_MEMORY_LIMIT",
        hide_env_values = true,
        help_heading = "Resources",
        long_help = "Memory for groups, sorts and joins before they spill to disk, such as 512m, \
            2g or 1GiB. k, m, g, t and KiB to TiB count in powers of 1024, KB to TB in powers of \
            1000 [default: no limit]"
    )]
    pub(crate) memory_limit: Option<usize>,
    /// Databases of addresses in MaxMind's format, for geoip_country, geoip_city, asn and as_org; may be repeated
    #[arg(
        long,
        value_name = "FILE",
        env = "WEIR_GEOIP",
        hide_env_values = true,
        value_delimiter = ',',
        help_heading = "Resources"
    )]
    pub(crate) geoip: Vec<PathBuf>,
    /// Have a cluster answer: HOST:PORT of its scheduler, or 'local'
    #[cfg(feature = "cluster")]
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "WEIR_CLUSTER",
        hide_env_values = true,
        help_heading = "Resources",
        conflicts_with_all = ["follow"],
        long_help = "Have a cluster answer ('weir cluster'): HOST:PORT of its scheduler, or 'local' for a scheduler and \
            executors in this process, for a first try. Captures are named as the executors find them: by a path that \
            is the same on all machines, or by the address of an object. --threads says into how many partitions \
            groups and joins fall"
    )]
    pub(crate) cluster: Option<String>,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub(crate) known: crate::cluster::KnownBy,
    /// Have a cluster answer (not in this build)
    #[cfg(not(feature = "cluster"))]
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "WEIR_CLUSTER",
        hide_env_values = true,
        help_heading = "Resources"
    )]
    pub(crate) cluster: Option<String>,
    /// Leave aggregates to DataFusion's own operators
    #[arg(
        long,
        help_heading = "Resources",
        long_help = "Leave aggregates to DataFusion's own operators instead of computing them while \
            captures are decoded: slower, with the same answers. To compare, or when an answer \
            looks wrong"
    )]
    pub(crate) unfused: bool,
    /// Don't compile aggregates over large captures to machine code
    #[arg(
        long,
        help_heading = "Resources",
        long_help = "Don't compile aggregates over large captures to machine code, as is done where they ask \
            for plain fields of headers: slower, with the same answers. To compare, or where a system \
            forbids code that is made while a program runs. EXPLAIN says what is compiled, or why nothing is"
    )]
    pub(crate) no_compile: bool,
    /// Write times in this zone: Europe/Berlin, +02:00, or local
    #[arg(
        long = "tz",
        env = "WEIR_TZ",
        value_name = "ZONE",
        help_heading = "Output",
        long_help = "Write times in this zone: a name of the time zone database such as Europe/Berlin, \
            an offset such as +02:00, or local for that of this machine. Arrow and Parquet keep the \
            instants and name the zone. Times in SQL without an offset are UTC all the same"
    )]
    pub(crate) time_zone: Option<String>,
    /// Merge the captures of one FROM in the order of time
    #[arg(
        long,
        help_heading = "Reading",
        long_help = "Merge the captures that one FROM names (a glob or a list) in the order of \
            time, and put the packets of one in that order, too: packets wait for earlier ones while \
            those that wait take 32 MiB, and a warning counts those that come later than that. Without \
            it captures follow one another in the order in which they are named"
    )]
    pub(crate) merge: bool,
    /// How late records of a stream may be that are put in the order of time: 500ms, 2s
    #[arg(
        long,
        value_name = "TIME",
        value_parser = parse_duration,
        help_heading = "Reading",
        long_help = "How late records may be that are put in the order of time, such as 500ms, 2s or \
            1m. Records that come later than that after others are left out and counted. Without it \
            windows over standard input wait for a second, and files are read whole before their \
            windows close"
    )]
    pub(crate) lateness: Option<Duration>,
    /// Read captures on as they grow, until Ctrl-C
    #[arg(
        long,
        help_heading = "Reading",
        long_help = "Read captures on as they grow, until Ctrl-C, which brings the final answer. Rows \
            are given as they come; counts and sums are drawn again every second on a terminal"
    )]
    pub(crate) follow: bool,
    /// How often counts and sums are shown while a capture grows: 1s, 500ms, 5m
    #[arg(
        long,
        value_name = "TIME",
        value_parser = parse_period,
        help_heading = "Reading",
        long_help = "How often counts and sums are shown while a capture grows, such as 1s, 500ms or \
            5m [default: 1s on a terminal, and only at the end elsewhere]"
    )]
    pub(crate) every: Option<Duration>,
    /// What HDLC records in ERF files carry
    #[arg(
        long,
        value_name = "PROTOCOL",
        default_value = "guess",
        env = "WEIR_HDLC",
        hide_env_values = true,
        help_heading = "Reading",
        long_help = "What HDLC records in ERF files carry, which such a file does not say"
    )]
    pub(crate) hdlc: Hdlc,
    /// Say on standard error what was read, passed over and found damaged, and how fast
    #[arg(long, help_heading = "Reporting")]
    pub(crate) stats: bool,
    /// No progress bar
    #[arg(long, help_heading = "Reporting")]
    pub(crate) no_progress: bool,
}

/// `weir live`.
#[derive(Args, Debug)]
#[command(
    about = "Answer SQL over packets as they cross an interface",
    long_about = "Answer SQL over packets as they cross an interface.\n\n\
        The table is called live. Rows are given as their packets come; counts and sums are drawn \
        again every second on a terminal. Ctrl-C, --duration or --count end it with the final answer. \
        What the kernel can decide of WHERE it decides before a packet is copied.",
    override_usage = "weir live -i <INTERFACE> [OPTIONS] <SQL>\n       weir live --hep <ADDRESS:PORT> [OPTIONS] <SQL>\n       weir live -D",
    after_help = LIVE_EXAMPLES
)]
pub(crate) struct Live {
    /// SQL, one statement over the table live
    #[arg(value_name = "SQL")]
    pub(crate) sql: Option<String>,
    /// Write times in this zone: Europe/Berlin, +02:00, or local
    #[arg(
        long = "tz",
        env = "WEIR_TZ",
        value_name = "ZONE",
        help_heading = "Output"
    )]
    pub(crate) time_zone: Option<String>,
    /// Databases of addresses in MaxMind's format, for geoip_country, geoip_city, asn and as_org; may be repeated
    #[arg(
        long,
        value_name = "FILE",
        env = "WEIR_GEOIP",
        hide_env_values = true,
        value_delimiter = ',',
        help_heading = "Resources"
    )]
    pub(crate) geoip: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// List the interfaces
    #[arg(short = 'D', long, help_heading = "Capturing")]
    pub(crate) list_interfaces: bool,
    /// Keep the packets that match WHERE in a capture, too
    #[arg(
        short,
        long,
        value_name = "FILE",
        help_heading = "Capturing",
        long_help = "Keep the packets that match WHERE in a capture, too (pcap with nanoseconds). It \
            holds whole records at any moment, and what came is kept when it is ended by Ctrl-C or \
            SIGTERM. A capture that is there stays; with --overwrite it stays until the new one has \
            ended"
    )]
    pub(crate) write: Option<PathBuf>,
    /// Keep them in files of so many bytes: 100MB, 1g
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = parse_size,
        requires = "write",
        help_heading = "Capturing",
        long_help = "Keep them in files of so many bytes, such as 100MB or 1g, one after the other: of \
            ring.pcap these are ring-00001.pcap, ring-00002.pcap and so on. A file takes its name when \
            it is whole; until then .part stands behind it"
    )]
    pub(crate) rotate: Option<usize>,
    /// Keep the newest so many of these files
    #[arg(long, value_name = "N", requires = "rotate", help_heading = "Capturing",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) keep: Option<u64>,
    /// End after so many packets that match WHERE
    #[arg(short, long, value_name = "N", help_heading = "Capturing")]
    pub(crate) count: Option<u64>,
    /// How often counts and sums are shown before the end: 1s, 500ms, 5m
    #[arg(
        long,
        value_name = "TIME",
        value_parser = parse_period,
        help_heading = "Output",
        long_help = "How often counts and sums are shown before the end, such as 1s, 500ms or 5m \
            [default: 1s on a terminal, and only at the end elsewhere]"
    )]
    pub(crate) every: Option<Duration>,
    /// Where the rows go, and how.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Say on standard error what was read and passed over, and how fast
    #[arg(long, help_heading = "Reporting")]
    pub(crate) stats: bool,
}

/// What HDLC records in ERF files carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Hdlc {
    /// Detected from the first bytes of each frame
    #[default]
    Guess,
    /// Cisco HDLC
    Chdlc,
    /// PPP
    Ppp,
    /// Frame relay
    FrameRelay,
    /// Message transfer part 2 of signalling system 7
    Mtp2,
}

/// `weir fields`.
#[derive(Args, Debug)]
#[command(
    about = "List the columns of captures: name, type, meaning, layer, standard",
    after_help = FIELDS_EXAMPLES
)]
pub(crate) struct Fields {
    /// Only those whose name, meaning or layer contains this, without regard to case
    pub(crate) pattern: Option<String>,
    /// Where the rows go, and how.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `weir functions` and `weir tables`.
#[derive(Args, Debug)]
pub(crate) struct Functions {
    /// Only those whose name or meaning contains this, without regard to case
    pub(crate) pattern: Option<String>,
    /// Where the rows go, and how.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// `weir demo`.
#[derive(Args, Debug)]
#[command(
    about = "Write a few sample captures and take a tour of queries over them",
    after_help = DEMO_EXAMPLES
)]
pub(crate) struct Demo {
    /// Where to write the captures; made if it is missing
    #[arg(default_value = "demo")]
    pub(crate) dir: PathBuf,
    /// Use the captures that are there already instead of writing them anew
    #[arg(long)]
    pub(crate) keep: bool,
    /// Write the captures only
    #[arg(long, conflicts_with = "keep")]
    pub(crate) no_tour: bool,
}

/// SQL that begins with a comment, `-- …`, looks like an option; behind a blank it does not.
fn no_option(word: OsString) -> OsString {
    match word.as_encoded_bytes() {
        [b'-', b'-', blank, ..] if blank.is_ascii_whitespace() => {
            let mut sql = OsString::from(" ");
            sql.push(word);
            sql
        }
        _ => word,
    }
}

/// Parses a command line, the program's name first.
///
/// # Errors
/// What to show instead.
pub(crate) fn parse(line: impl IntoIterator<Item = OsString>) -> Result<Cli, Refusal> {
    let line: Vec<OsString> = line.into_iter().map(no_option).collect();
    Cli::try_parse_from(&line).map_err(|error| refuse(error, &line))
}

/// What to write in place of what a line says in an old way, which goes on working.
pub(crate) fn outdated(line: &[OsString]) -> Vec<String> {
    let words: Vec<&str> = line.iter().filter_map(|word| word.to_str()).collect();
    let command = words.get(1).copied().unwrap_or_default();
    let mut told = Vec::new();
    for (number, word) in words.iter().enumerate() {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) => (flag, Some(value)),
            None => (*word, words.get(number + 1).copied()),
        };
        for (of, old, new) in RENAMED {
            if *of == command && *old == flag {
                told.push(format!("{old} is called {new} now"));
            }
        }
        for (of, with_unit, unit) in UNITS {
            if *of == command
                && *with_unit == flag
                && let Some(value) = value.filter(|value| value.parse::<u64>().is_ok())
            {
                told.push(format!(
                    "a number alone is taken as {value}{unit}: write {flag} {value}{unit}"
                ));
            }
        }
    }
    told
}

/// Options that were called otherwise: the command, the old name and the new one.
const RENAMED: &[(&str, &str, &str)] = &[("clf", "--form", "--format"), ("h248", "--html", "-o")];

/// Times that once had no unit: the command, the option, and the unit of a number alone.
const UNITS: &[(&str, &str, &str)] = &[
    ("clf", "--fsync", "ms"),
    ("clf", "--rotate-every", "s"),
    ("h248", "--time", "us"),
];

fn refuse(error: clap::Error, line: &[OsString]) -> Refusal {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Refusal::Shown(error);
    }
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        Some(ContextValue::StyledStrs(texts)) => texts.iter().map(ToString::to_string).collect(),
        _ => Vec::new(),
    };
    if error.kind() == ErrorKind::InvalidSubcommand
        && let [word] = text(ContextKind::InvalidSubcommand).as_slice()
        && let Some((what, hint)) = query_hint(word)
    {
        return Refusal::usage(format!("expected a command, found {what}"), hint);
    }
    let mut hints = Vec::new();
    let (command, named) = deepest(line);
    let synonyms = match text(ContextKind::InvalidArg).as_slice() {
        [word] => synonyms(&command, word),
        _ => Vec::new(),
    };
    if !synonyms.is_empty() {
        hints.push(format!("did you mean {}?", synonyms.join(" or ")));
    }
    for kind in [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ] {
        let near: Vec<_> = text(kind).iter().map(|name| format!("'{name}'")).collect();
        if !near.is_empty() && synonyms.is_empty() {
            hints.push(format!("did you mean {}?", near.join(" or ")));
        }
    }
    if synonyms.is_empty() {
        hints.extend(text(ContextKind::Suggested));
    }
    hints.push(format!(
        "'{named} --help' shows how it is used, with examples"
    ));
    // Of what clap writes, the first paragraph is the error; the others are hints and usage.
    let rendered = error.render().to_string();
    let message = rendered.split("\n\n").next().unwrap_or_default();
    Refusal::Usage {
        message: message
            .strip_prefix("error: ")
            .unwrap_or(message)
            .to_owned(),
        hints,
    }
}

/// The command of a line, with its name: `weir clf search`.
fn deepest(line: &[OsString]) -> (clap::Command, String) {
    let mut command = Cli::command();
    let mut name = "weir".to_owned();
    for word in line.iter().skip(1).filter_map(|word| word.to_str()) {
        let below = command.find_subcommand(word).cloned();
        if let Some(below) = below {
            name = format!("{name} {}", below.get_name());
            command = below;
        }
    }
    (command, name)
}

/// What a command calls the thing that another one calls `word`, for what differs from command to command.
fn synonyms(command: &clap::Command, word: &str) -> Vec<String> {
    let Some(group) = SYNONYMS.iter().find(|group| group.contains(&word)) else {
        return Vec::new();
    };
    let longs = command.get_arguments().filter_map(clap::Arg::get_long);
    let longs = longs.map(|long| format!("--{long}"));
    longs
        .filter(|long| group.contains(&long.as_str()))
        .map(|long| format!("'{long}'"))
        .collect()
}

/// Options that mean the same in different commands.
const SYNONYMS: [&[&str]; 3] = [
    &[
        "--format",
        "--form",
        "--as",
        "--to",
        "--from",
        "--input-format",
    ],
    &["--output", "--write", "--html", "--out"],
    &["--count", "--limit", "--records", "--rows"],
];

/// For SQL or a file where a command should stand: what it is, and the line that was meant.
fn query_hint(word: &str) -> Option<(&'static str, String)> {
    let first = word.split_whitespace().next()?.to_ascii_lowercase();
    if word.contains(char::is_whitespace) && SQL_BEGINNINGS.contains(&first.as_str()) {
        let quoted = match word {
            _ if !word.contains('\'') => format!("'{word}'"),
            _ if !word.contains(['"', '$', '`', '\\', '!']) => format!("\"{word}\""),
            _ => "SQL".to_owned(),
        };
        return Some(("SQL", format!("weir query {quoted}")));
    }
    let plain = !word.contains(['\'', '"', '$', '`', '\\', '!']);
    (plain && Path::new(word).is_file()).then(|| {
        let line = format!("weir query \"SELECT * FROM '{word}' LIMIT 10\"");
        ("a file", line)
    })
}

/// Whether the line is `weir --version` and no more.
pub(crate) fn asks_for_version(line: &[OsString]) -> bool {
    line.len() == 2 && (line[1] == "--version" || line[1] == "-V")
}

/// Writes the name of the program and its version, as the parser of the line does.
///
/// # Errors
/// What the output gives.
pub(crate) fn write_version(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "weir {VERSION}")
}

/// Whether `weir --version --verbose` is asked, in any order.
pub(crate) fn asks_for_build(line: &[OsString]) -> bool {
    let words: Vec<&str> = line
        .iter()
        .skip(1)
        .filter_map(|word| word.to_str())
        .collect();
    let is = |of: &[&str]| words.iter().any(|word| of.contains(word));
    words.len() == 2 && is(&["--version", "-V"]) && is(&["--verbose", "-v"])
}

/// Writes what the program was made of: version, commit, features, target.
///
/// # Errors
/// What the output gives.
pub(crate) fn write_build(out: &mut dyn Write) -> io::Result<()> {
    let features: Vec<&str> = [
        ("cluster", cfg!(feature = "cluster")),
        ("remote", weir_engine::READS_REMOTE),
        ("serve", cfg!(feature = "serve")),
        ("zlib-ng", cfg!(feature = "zlib-ng")),
    ]
    .into_iter()
    .filter_map(|(name, is_on)| is_on.then_some(name))
    .collect();
    let features = match features.is_empty() {
        true => "none".to_owned(),
        false => features.join(", "),
    };
    writeln!(out, "weir {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "commit: {}", env!("WEIR_COMMIT"))?;
    writeln!(out, "features: {features}")?;
    writeln!(out, "target: {}", env!("WEIR_TARGET"))?;
    writeln!(out, "profile: {}", env!("WEIR_PROFILE"))
}

/// Writes the completion script for a shell.
///
/// # Errors
/// What the output gives.
pub(crate) fn write_completions(shell: Shell, out: &mut dyn Write) -> io::Result<()> {
    // The generator panics when it cannot write, so it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "weir", &mut script);
    out.write_all(&script)
}

/// Writes the manual page of the program.
///
/// # Errors
/// What the output gives.
pub(crate) fn write_man(out: &mut dyn Write) -> io::Result<()> {
    clap_mangen::Man::new(Cli::command()).render(out)
}

/// The manual pages of the program and of all its commands, by the names of their files.
///
/// # Errors
/// When a page cannot be made.
pub(crate) fn man_pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    man_page(command, &mut pages)?;
    Ok(pages)
}

fn man_page(command: clap::Command, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
    {
        man_page(below.clone(), pages)?;
    }
    let man = clap_mangen::Man::new(command);
    let mut page = Vec::new();
    man.render(&mut page)?;
    pages.push((man.get_filename(), page));
    Ok(())
}

/// What `weir --version` says. A debug program answers several times more slowly than a release program.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("WEIR_PROFILE"), ")");

/// Words that SQL begins with.
const SQL_BEGINNINGS: [&str; 8] = [
    "select", "from", "with", "explain", "describe", "show", "values", "create",
];

const TOP_EXAMPLES: &str = "\
Examples:
  weir demo
      sample captures and a tour of queries over them
  weir query \"SELECT count(*), sum(frame.len) FROM 'trace.pcap'\"
      packets and bytes of a capture
  weir fields vlan
      columns that have to do with VLANs

Exit status: 0 done; 1 done, and damage was found (all that is good was delivered); 2 usage, names,
SQL or environment: it was not begun; 3 it failed while it ran.";

const QUERY_EXAMPLES: &str = "\
Examples:
  Top talkers:
    weir query \"SELECT addr.src, count(*) AS packets, sum(frame.len) AS bytes
                FROM 'trace.pcap' GROUP BY addr.src ORDER BY bytes DESC LIMIT 10\"
  The same with pipes:
    weir query \"FROM 'trace.pcap' |> WHERE udp.dstport = 53 |> AGGREGATE count(*) GROUP BY ip.src\"
  All captures of a day, compressed or not, as Parquet:
    weir query \"SELECT * FROM 'day/*.pcap.gz'\" -o day.parquet
  From an object store or the web, with the keys of the environment (AWS_…, GOOGLE_…, AZURE_…):
    weir query \"SELECT count(*) FROM 's3://bucket/day/*.pcap.zst'\"
  From a pipe, for another program:
    tcpdump -w - | weir query \"SELECT frame.time, ip.src FROM '-'\" --format ndjson
  Two answers, two files:
    weir query \"SELECT count(*) FROM 'x.pcap'\" \"SELECT DISTINCT ip.src FROM 'x.pcap'\" \\
        -o count.csv -o sources.csv
  What would be decoded:
    weir query \"EXPLAIN SELECT ip.src FROM 'trace.pcap' WHERE ip.ttl < 5\"";

const LIVE_EXAMPLES: &str = "\
Examples:
  The addresses that send now, drawn again every second until Ctrl-C:
    weir live -i eth0 \"SELECT addr.src, count(*), sum(frame.len) AS bytes FROM live
                       GROUP BY addr.src ORDER BY bytes DESC LIMIT 10\"
  Name look-ups as they happen, for another program:
    weir live -i eth0 \"SELECT frame.time, ip.src, udp.length FROM live WHERE port.dst = 53\" | jq .
  Keep a minute of one host in a capture:
    weir live -i eth0 -w host.pcap --duration 1m \"SELECT count(*) FROM live WHERE ip.src = '10.0.0.7'\"
  Without root, once for all:
    sudo setcap cap_net_raw+ep $(which weir)";

const FIELDS_EXAMPLES: &str = "\
Examples:
  weir fields                       every column
  weir fields frame                 of the frame, and of frame relay
  weir fields --format csv | grep RFC";

const FUNCTIONS_EXAMPLES: &str = "\
Examples:
  weir functions                    every function
  weir functions address            of addresses";

const TABLES_EXAMPLES: &str = "\
Examples:
  weir tables                       every table
  weir tables dns                   what captures have of DNS";

const DEMO_EXAMPLES: &str = "\
Examples:
  weir demo                         write ./demo and take the tour
  weir demo samples --no-tour       write ./samples only
  weir query \"SELECT proto, count(*) FROM 'demo/office.pcapng' GROUP BY proto\"";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  weir completions bash > ~/.local/share/bash-completion/completions/weir
  weir completions zsh > ~/.zfunc/_weir
  weir completions fish > ~/.config/fish/completions/weir.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  weir man | man -l -
  weir man ~/.local/share/man/man1";

#[cfg(test)]
mod tests {
    use super::*;
    use weir_output::Format;

    fn parse_line(line: &str) -> Result<Cli, Refusal> {
        // Words are separated by blanks, and `_` stands for a blank within a word.
        let words = line.split(' ').map(|word| word.replace('_', " ").into());
        parse(std::iter::once(OsString::from("weir")).chain(words))
    }

    fn query(line: &str) -> Query {
        match parse_line(line).unwrap().command {
            Command::Query(query) => query,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_definitions_hold_together() {
        Cli::command().debug_assert();
        assert_eq!(Rows::default(), query("query x").output.rows);
    }

    #[test]
    fn a_query_takes_statements_and_says_where_the_rows_go() {
        let plain = query("query SELECT_1 SELECT_2");
        assert_eq!(plain.sql, ["SELECT 1", "SELECT 2"]);
        assert_eq!(
            (plain.threads, plain.memory_limit, plain.merge),
            (None, None, false)
        );
        assert_eq!(plain.hdlc, Hdlc::Guess);

        let full = query(
            "query -f q.sql --format jsonl -o a.csv --threads 4 --memory-limit 1.5g --merge \
             --rows all --all-columns --hdlc frame-relay --stats --no-progress --color never -q"
                .trim_start(),
        );
        assert_eq!(full.file.as_deref(), Some(Path::new("q.sql")));
        assert_eq!(full.output.format, Some(Format::Ndjson));
        assert_eq!(full.threads.map(NonZeroUsize::get), Some(4));
        assert_eq!(full.memory_limit, Some(3 << 29));
        assert_eq!(full.output.rows, Rows(None));
        assert_eq!(full.hdlc, Hdlc::FrameRelay);
        assert!(full.merge && full.stats && full.no_progress && full.output.all_columns);
    }

    #[test]
    fn the_format_comes_from_the_flag_then_the_file_then_the_terminal() {
        for (line, terminal, expected) in [
            ("query x", true, Format::Table),
            ("query x", false, Format::Csv),
            ("query x --format json", true, Format::Json),
            ("query x -o a.parquet", true, Format::Parquet),
            ("query x -o a.parquet --format arrow", true, Format::Arrow),
            ("query x -o a", true, Format::Csv),
            ("query x -o -", true, Format::Table),
        ] {
            let output = query(line).output;
            let file = output.file(0, 1).unwrap();
            let options = output.options(file, terminal, ColorChoice::Never);
            assert_eq!(options.format, expected, "{line}");
            assert_eq!(options.terminal, terminal && file.is_none(), "{line}");
        }
        let colour = |line: &str, color| query(line).output.options(None, false, color).colour;
        assert!(colour("query x", ColorChoice::Always));
        assert!(!colour("query x", ColorChoice::Auto));
    }

    #[test]
    fn files_are_one_for_all_statements_or_one_for_each() {
        let one = query("query x -o a.csv").output;
        assert_eq!(one.file(7, 8).unwrap(), Some(Path::new("a.csv")));
        let two = query("query x -o a.csv -o b.csv").output;
        assert_eq!(two.file(1, 2).unwrap(), Some(Path::new("b.csv")));
        let Err(Refusal::Usage { message, hints }) = two.file(0, 3) else {
            panic!("three statements and two files");
        };
        assert_eq!(message, "2 output files for 3 statements");
        assert_eq!(
            hints,
            ["give one '-o FILE' for all statements, or one for each"]
        );
    }

    #[test]
    fn rows_are_not_written_under_the_name_of_a_capture() {
        let Err(Refusal::Usage { message, hints }) = query("query x -o a.pcap").output.file(0, 1)
        else {
            panic!("a.pcap");
        };
        assert_eq!(
            message,
            "rows are not packets: 'a.pcap' would not be a capture"
        );
        assert!(hints[0].starts_with("COPY ("), "{hints:?}");
        let meant = query("query x --format csv -o a.pcap").output;
        assert_eq!(meant.file(0, 1).unwrap(), Some(Path::new("a.pcap")));
    }

    #[test]
    fn a_live_question_says_where_and_how_long() {
        let line =
            "live -i lo SELECT_1 -w a.pcap -p -s 96 --buffer 64m --duration 1m -c 5 --every 2s";
        let Command::Live(live) = parse_line(line).unwrap().command else {
            panic!("{line}");
        };
        assert_eq!(live.source.capture.interface.as_deref(), Some("lo"));
        assert_eq!(live.sql.as_deref(), Some("SELECT 1"));
        assert_eq!(live.write.as_deref(), Some(Path::new("a.pcap")));
        assert!(live.source.capture.promiscuous && !live.list_interfaces);
        assert_eq!(
            (
                live.source.capture.snaplen,
                live.source.capture.buffer,
                live.count
            ),
            (96, 64 << 20, Some(5))
        );
        assert_eq!(live.source.capture.duration, Some(Duration::from_secs(60)));
        assert_eq!(live.every, Some(Duration::from_secs(2)));
        assert!(parse_line("live -i lo x --snaplen 0").is_err());
    }

    #[test]
    fn sql_may_begin_with_a_comment() {
        let words = [
            "weir",
            "query",
            "-- how many\nSELECT 1",
            "--\nSELECT 2",
            "--stats",
        ];
        let line = parse(words.map(OsString::from)).unwrap();
        let Command::Query(query) = line.command else {
            panic!("a query");
        };
        assert_eq!(query.sql, [" -- how many\nSELECT 1", " --\nSELECT 2"]);
        assert!(query.stats);
    }

    #[test]
    fn a_line_that_does_not_parse_gets_a_hint() {
        for (line, message, hint) in [
            (
                "SELECT_1_FROM_'x.pcap'",
                "expected a command, found SQL",
                "weir query \"SELECT 1 FROM 'x.pcap'\"",
            ),
            (
                "explain_select_1",
                "expected a command, found SQL",
                "weir query 'explain select 1'",
            ),
            (
                "qeury x",
                "unrecognized subcommand 'qeury'",
                "did you mean 'query'?",
            ),
            (
                "query x --thread 4",
                "unexpected argument '--thread' found",
                "did you mean '--threads'?",
            ),
            (
                "query x --format jsn",
                "invalid value 'jsn' for '--format <FORMAT>'\n  [possible values: table, csv, tsv, \
                 json, ndjson, markdown, line, parquet, arrow, arrows]",
                "did you mean 'json'?",
            ),
            (
                "query x --memory-limit 2x",
                "invalid value '2x' for '--memory-limit <SIZE>': expected a size such as 512m, 2g \
                 or 1GiB",
                "'weir query --help' shows how it is used, with examples",
            ),
            (
                "query x --rows many",
                "invalid value 'many' for '--rows <N>': expected a number of rows, or 'all'",
                "'weir query --help' shows how it is used, with examples",
            ),
            (
                "query x --threads 0",
                "invalid value '0' for '--threads <N>': number would be zero for non-zero type",
                "'weir query --help' shows how it is used, with examples",
            ),
            (
                "query",
                "the following required arguments were not provided:\n  <SQL>...",
                "'weir query --help' shows how it is used, with examples",
            ),
        ] {
            match parse_line(line) {
                Err(Refusal::Usage {
                    message: said,
                    hints,
                }) => {
                    assert_eq!(said, message, "{line}");
                    assert_eq!(hints.first().map(String::as_str), Some(hint), "{line}");
                }
                other => panic!("{line}: {other:?}"),
            }
        }
    }

    #[test]
    fn the_build_is_told_where_version_and_verbose_stand_together() {
        let asks = |line: &str| {
            let words = line.split_whitespace().map(OsString::from);
            asks_for_build(&words.collect::<Vec<_>>())
        };
        for line in [
            "weir --version --verbose",
            "weir -v -V",
            "weir --verbose -V",
        ] {
            assert!(asks(line), "{line}");
        }
        for line in [
            "weir --version",
            "weir --verbose",
            "weir query -v -V",
            "weir",
        ] {
            assert!(!asks(line), "{line}");
        }
        let mut told = Vec::new();
        write_build(&mut told).unwrap();
        let told = String::from_utf8(told).unwrap();
        for part in [
            "weir ",
            "\ncommit: ",
            "\nfeatures: ",
            "\ntarget: ",
            "\nprofile: ",
        ] {
            assert!(told.contains(part), "{told}");
        }
    }

    #[test]
    fn the_version_is_that_of_the_parser() {
        let line = ["weir", "--version"].map(OsString::from);
        assert!(asks_for_version(&line) && asks_for_version(&["weir", "-V"].map(OsString::from)));
        assert!(!asks_for_version(
            &["weir", "query", "-V"].map(OsString::from)
        ));
        let mut written = Vec::new();
        write_version(&mut written).unwrap();
        let parsed = Cli::try_parse_from(line).unwrap_err().to_string();
        assert_eq!(String::from_utf8(written).unwrap(), parsed);
    }

    #[test]
    fn a_file_in_place_of_a_command_is_understood() {
        let file = std::env::current_exe().unwrap();
        let file = file.to_str().unwrap();
        let expected = format!("weir query \"SELECT * FROM '{file}' LIMIT 10\"");
        assert_eq!(query_hint(file), Some(("a file", expected)));
        assert_eq!(query_hint("selection"), None);
        assert_eq!(query_hint(""), None);
    }

    #[test]
    fn help_names_examples_and_succeeds() {
        for (line, wanted) in [
            ("--help", "weir demo"),
            ("-h", "Examples:"),
            ("query --help", "Top talkers"),
            ("query --help", "By default the name of the output file"),
            ("query -h", "--memory-limit <SIZE>"),
            ("fields --help", "weir fields frame"),
            ("demo --help", "--no-tour"),
            ("completions --help", "bash-completion"),
            ("man --help", "man1"),
            ("--version", env!("CARGO_PKG_VERSION")),
        ] {
            let Err(Refusal::Shown(shown)) = parse_line(line) else {
                panic!("{line}");
            };
            assert_eq!(shown.exit_code(), 0);
            let text = shown.render().to_string();
            assert!(text.contains(wanted), "{line}: {text}");
        }
        let Err(Refusal::Shown(shown)) = parse([OsString::from("weir")]) else {
            panic!("no command");
        };
        assert_eq!(shown.exit_code(), 2);
    }

    #[test]
    fn completions_and_manual_pages_know_the_commands() {
        for shell in Shell::value_variants() {
            let mut script = Vec::new();
            write_completions(*shell, &mut script).unwrap();
            let script = String::from_utf8(script).unwrap();
            assert!(script.contains("memory-limit"), "{shell}");
        }
        let mut page = Vec::new();
        write_man(&mut page).unwrap();
        assert!(String::from_utf8(page).unwrap().contains("weir\\-query(1)"));
        let pages = man_pages().unwrap();
        for (name, wanted) in [
            ("weir.1", "SQL over network captures"),
            ("weir-query.1", "Top talkers"),
            ("weir-clf-convert.1", "rfc6873"),
        ] {
            let (_, page) = pages.iter().find(|(page, _)| page == name).unwrap();
            let page = String::from_utf8(page.clone()).unwrap();
            assert!(page.contains(wanted), "{name}");
        }
    }
}
