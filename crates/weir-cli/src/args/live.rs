//! Arguments of `weir live`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{Databases, OutputArgs, Zone};
use crate::interface::SourceArgs;
use crate::quantity::{parse_period, parse_size};

/// `weir live`.
#[derive(Args, Debug)]
#[command(
    about = "Run SQL queries over packets as they cross an interface",
    long_about = "Run SQL queries over packets as they cross an interface.\n\n\
        The table is called live. Rows are shown as their packets arrive; counts and sums are updated every \
        second on a terminal. Ctrl-C, --duration or --count end it with the final answer. The kernel checks the \
        conditions of WHERE that it can check before it copies a packet.",
    override_usage = "weir live -i <INTERFACE> [OPTIONS] <SQL>\n       weir live --hep <ADDRESS:PORT> [OPTIONS] <SQL>\n       weir live -D",
    after_help = LIVE_EXAMPLES
)]
pub(crate) struct Live {
    /// SQL, one statement over the table live
    #[arg(value_name = "SQL")]
    pub(crate) sql: Option<String>,
    #[command(flatten)]
    pub(crate) zone: Zone,
    /// The databases of the GeoIP functions.
    #[command(flatten)]
    pub(crate) databases: Databases,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// List the interfaces
    #[arg(short = 'D', long, help_heading = "Capturing")]
    pub(crate) list_interfaces: bool,
    /// Also write the packets that match WHERE to a capture
    #[arg(
        short,
        long,
        value_name = "FILE",
        help_heading = "Capturing",
        long_help = "Also write the packets that match WHERE to a capture (pcap with nanoseconds). It has whole records \
            at any moment, and all packets so far after Ctrl-C or SIGTERM. An existing capture is not replaced; \
            with --overwrite it is replaced when the new one has ended"
    )]
    pub(crate) write: Option<PathBuf>,
    /// Begin a new file before the capture grows beyond this size: 100MB, 1g
    #[arg(
        long,
        value_name = "SIZE",
        value_parser = parse_size,
        requires = "write",
        help_heading = "Capturing",
        long_help = "Begin a new file before the capture grows beyond this size, such as 100MB or 1g: for ring.pcap the \
            files are ring-00001.pcap, ring-00002.pcap and so on. A file gets its name when it is complete; \
            until then its name ends in .part"
    )]
    pub(crate) rotate: Option<usize>,
    /// Keep only the newest N of these files
    #[arg(long, value_name = "N", requires = "rotate", help_heading = "Capturing",
        value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) keep: Option<u64>,
    /// Stop after N packets that match WHERE
    #[arg(short, long, value_name = "N", help_heading = "Capturing")]
    pub(crate) count: Option<u64>,
    /// Interval of counts and sums before the end: 1s, 500ms, 5m
    #[arg(
        long,
        value_name = "TIME",
        value_parser = parse_period,
        help_heading = "Output",
        long_help = "Interval of counts and sums before the end, such as 1s, 500ms or 5m [default: 1s on a terminal; \
            elsewhere only at the end]"
    )]
    pub(crate) every: Option<Duration>,
    /// The output options.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Report on standard error what was read and skipped, and how fast
    #[arg(long, help_heading = "Reporting")]
    pub(crate) stats: bool,
}

const LIVE_EXAMPLES: &str = "\
Examples:
  The addresses that send now, updated every second until Ctrl-C:
    weir live -i eth0 \"SELECT addr.src, count(*), sum(frame.len) AS bytes FROM live
                       GROUP BY addr.src ORDER BY bytes DESC LIMIT 10\"
  Name look-ups as they happen, for another program:
    weir live -i eth0 \"SELECT frame.time, ip.src, udp.length FROM live WHERE port.dst = 53\" | jq .
  Keep a minute of one host in a capture:
    weir live -i eth0 -w host.pcap --duration 1m \\
        \"SELECT count(*) FROM live WHERE ip.src = '10.0.0.7'\"
  Without root, after this command:
    sudo setcap cap_net_raw+ep $(which weir)";
