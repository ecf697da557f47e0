//! Arguments of `weir query`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{OutputArgs, Resources, Zone};
use crate::quantity::{parse_duration, parse_period};

/// `weir query`.
#[derive(Args, Debug)]
#[command(
    about = "Run SQL queries over captures",
    long_about = "Run SQL queries over captures.\n\n\
        A path, a glob, or '-' for standard input, quoted in FROM, is a table of packets; the format and the \
        compression are detected from the content. Parquet, CSV, JSON and Arrow files can be joined with it. \
        Several statements run one after the other.",
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
    /// The output options.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// The limits and databases of a query.
    #[command(flatten)]
    pub(crate) resources: Resources,
    /// Run the query on a cluster: HOST:PORT of its scheduler, or 'local'
    #[cfg(feature = "cluster")]
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "WEIR_CLUSTER",
        hide_env_values = true,
        help_heading = "Resources",
        conflicts_with_all = ["follow"],
        long_help = "Run the query on a cluster ('weir cluster'): HOST:PORT of its scheduler, or 'local' for a scheduler \
            and executors in this process, as a first try. The executors open the captures, so name them by a \
            path that is the same on all machines, or by the address of an object. --threads sets the number of \
            partitions of groups and joins"
    )]
    pub(crate) cluster: Option<String>,
    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub(crate) known: crate::cluster::KnownBy,
    /// Run the query on a cluster (not in this build)
    #[cfg(not(feature = "cluster"))]
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "WEIR_CLUSTER",
        hide_env_values = true,
        help_heading = "Resources"
    )]
    pub(crate) cluster: Option<String>,
    /// Compute aggregates with DataFusion's own operators
    #[arg(
        long,
        help_heading = "Resources",
        long_help = "Compute aggregates with DataFusion's own operators instead of while captures are decoded: slower, \
            with the same answers. For comparison, or when an answer looks wrong"
    )]
    pub(crate) unfused: bool,
    /// Don't compile aggregates over large captures to machine code
    #[arg(
        long,
        help_heading = "Resources",
        long_help = "Don't compile aggregates over large captures to machine code, which is done when they use only plain \
            header fields: slower, with the same answers. For comparison, or where a system forbids code that is \
            generated at run time. EXPLAIN shows what is compiled, or why nothing is"
    )]
    pub(crate) no_compile: bool,
    #[command(flatten)]
    pub(crate) zone: Zone,
    /// Merge the captures of one FROM in time order
    #[arg(
        long,
        help_heading = "Reading",
        long_help = "Merge the captures that one FROM names (a glob or a list) in time order, and sort the packets of a \
            single capture by time, too: up to 32 MiB of packets wait for earlier ones, and a warning counts \
            packets that come too late for that. Without this option captures follow one another in the order in \
            which they are named"
    )]
    pub(crate) merge: bool,
    /// Longest delay of records of a stream that are put in time order: 500ms, 2s
    #[arg(
        long,
        value_name = "TIME",
        value_parser = parse_duration,
        help_heading = "Reading",
        long_help = "Longest delay of records that are put in time order, such as 500ms, 2s or 1m. Records with a longer \
            delay are left out and counted. Without this option windows over standard input wait for a second, \
            and files are read to their end before their windows close"
    )]
    pub(crate) lateness: Option<Duration>,
    /// Keep reading captures as they grow, until Ctrl-C
    #[arg(
        long,
        help_heading = "Reading",
        long_help = "Keep reading captures as they grow, until Ctrl-C, which ends with the final answer. Rows are shown \
            as they arrive; counts and sums are updated every second on a terminal"
    )]
    pub(crate) follow: bool,
    /// Interval of counts and sums while a capture grows: 1s, 500ms, 5m
    #[arg(
        long,
        value_name = "TIME",
        value_parser = parse_period,
        help_heading = "Reading",
        long_help = "Interval of counts and sums while a capture grows, such as 1s, 500ms or 5m [default: 1s on a \
            terminal; elsewhere only at the end]"
    )]
    pub(crate) every: Option<Duration>,
    /// Protocol inside HDLC records of ERF files
    #[arg(
        long,
        value_name = "PROTOCOL",
        default_value = "guess",
        env = "WEIR_HDLC",
        hide_env_values = true,
        help_heading = "Reading",
        long_help = "Protocol inside HDLC records of ERF files, which do not name it"
    )]
    pub(crate) hdlc: Hdlc,
    /// Report on standard error what was read, skipped and found damaged, and how fast
    #[arg(long, help_heading = "Reporting")]
    pub(crate) stats: bool,
    /// Show no progress bar
    #[arg(long, help_heading = "Reporting")]
    pub(crate) no_progress: bool,
}

/// The protocol inside HDLC records of ERF files.
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
