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
    /// The output options.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    /// Say on standard error what was read and passed over, and how fast
    #[arg(long, help_heading = "Reporting")]
    pub(crate) stats: bool,
}

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
