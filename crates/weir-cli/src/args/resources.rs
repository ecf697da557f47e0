//! Arguments of what a query may use, and of the time zone of its answer.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use crate::quantity::parse_size;

/// Threads, memory and databases of a query.
#[derive(Args, Debug, Default)]
pub(crate) struct Resources {
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
    #[command(flatten)]
    pub(crate) databases: Databases,
}

/// Databases that functions of SQL look addresses up in.
#[derive(Args, Debug, Default)]
pub(crate) struct Databases {
    /// GeoIP databases in MaxMind's format, for geoip_country, geoip_city, asn and as_org; may be repeated
    #[arg(
        long,
        value_name = "FILE",
        env = "WEIR_GEOIP",
        hide_env_values = true,
        value_delimiter = ',',
        help_heading = "Resources"
    )]
    pub(crate) geoip: Vec<PathBuf>,
}

/// The time zone of an answer.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Zone {
    /// Write times in this zone: Europe/Berlin, +02:00, or local
    #[arg(
        long = "tz",
        env = "WEIR_TZ",
        value_name = "ZONE",
        help_heading = "Output",
        long_help = "Write times in this zone: a name of the time zone database such as Europe/Berlin, an offset such as \
            +02:00, or local for the zone of this machine. Arrow and Parquet keep the instants and name the \
            zone. Times in SQL without an offset are still UTC"
    )]
    pub(crate) time_zone: Option<String>,
}
