//! The arguments of `weir clf`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use regex::bytes::Regex;
use weir_clf::{Condition, Field, Form, Fsync, Query, Target, Test, Time, parse_time};

use crate::interface::SourceArgs;
use crate::quantity::{parse_period, parse_size};
use crate::refusal::Refusal;

/// `weir clf`.
#[derive(Args, Debug)]
#[command(
    about = "Write, search and convert SIP logs (Common Log Format)",
    long_about = "Write, search and convert SIP logs in the Common Log Format: RFC 6873 (the \
        default), the ASCII and the binary draft of 2009, and JSON lines.",
    after_help = EXAMPLES,
    arg_required_else_help = true
)]
pub(crate) struct Clf {
    #[command(subcommand)]
    pub(crate) command: ClfCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClfCommand {
    /// Make a log of the SIP messages in captures and message files, or on an interface
    #[command(after_help = WRITE_EXAMPLES)]
    Write(Write),
    /// Find records by Call-ID, user, method, status, address, time or text
    #[command(after_help = SEARCH_EXAMPLES)]
    Search(SearchArgs),
    /// Convert a log to another form, and report what that form cannot carry
    #[command(
        after_help = "Examples:\n  weir clf convert calls.clf --format json -o calls.ndjson\n  weir clf convert old.txt --format rfc6873 -o calls.clf"
    )]
    Convert(Convert),
    /// Rebuild the sidecar index of a log
    #[command(after_help = "Examples:\n  weir clf index calls.clf calls.clf.000001")]
    Index(Logs),
    /// Show the newest records, and with -f those that follow, also across rotation
    #[command(
        after_help = "Examples:\n  weir clf tail calls.clf\n  weir clf tail -f calls.clf --method INVITE --format json"
    )]
    Tail(Tail),
    /// Check the structure of every record; exit status 1 when something is wrong
    #[command(
        after_help = "Examples:\n  weir clf check calls.clf\n  weir clf check --strict calls.clf"
    )]
    Check(Check),
    /// Replace users, hosts, addresses, Call-IDs and tags by keyed pseudonyms
    #[command(
        after_help = "Examples:\n  weir clf anonymize calls.clf --key-file secret -o public.clf"
    )]
    Anonymize(Anonymize),
}

/// The names of the forms on the command line.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum FormName {
    /// RFC 6873 with RFC 7355
    #[default]
    Rfc6873,
    /// draft-gurbani-sipping-clf-01
    Text,
    /// draft-roach-sipping-clf-syntax-00
    Binary,
    /// One JSON object per line
    Json,
}

impl FormName {
    pub(crate) const fn form(self) -> Form {
        match self {
            Self::Rfc6873 => Form::Rfc6873,
            Self::Text => Form::Text,
            Self::Binary => Form::Binary,
            Self::Json => Form::Json,
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct Write {
    /// Captures, or files of SIP messages
    #[arg(
        value_name = "IN",
        required_unless_present = "live_source",
        conflicts_with = "live_source"
    )]
    pub(crate) inputs: Vec<PathBuf>,
    /// The log to write; records are appended to an existing log of the same form
    #[arg(short, long, value_name = "LOG")]
    pub(crate) output: PathBuf,
    /// The form of the log
    #[arg(
        long = "format",
        alias = "form",
        value_name = "FORMAT",
        value_enum,
        default_value_t
    )]
    pub(crate) form: FormName,
    /// When records are synced to the disk: never, always, or at an interval such as 500ms or 1s
    #[arg(long, value_name = "WHEN", default_value = "never", value_parser = parse_fsync)]
    pub(crate) fsync: Fsync,
    /// Begin a new segment before the log grows beyond this size: 100m, 1g
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) rotate_size: Option<usize>,
    /// Begin a new segment after this time: 10m, 1h
    #[arg(long, value_name = "TIME", value_parser = parse_period)]
    pub(crate) rotate_every: Option<Duration>,
    /// Compress sealed segments with zstd at this level
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, default_missing_value = "3", value_parser = clap::value_parser!(i32).range(1..=19))]
    pub(crate) compress: Option<i32>,
    /// Write no sidecar index
    #[arg(long)]
    pub(crate) no_index: bool,
    /// Also log this header; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) header: Vec<String>,
    /// Also log bodies
    #[arg(long)]
    pub(crate) body: bool,
    /// Also log whole messages
    #[arg(long)]
    pub(crate) message: bool,
    /// Log only messages from or to this port; may be repeated
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Vec<u16>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
}

/// The conditions on records.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Selection of records")]
pub(crate) struct Filter {
    /// Records of this Call-ID
    #[arg(long, value_name = "ID")]
    pub(crate) call_id: Option<String>,
    /// Records with this URI, or its user, in From
    #[arg(long, value_name = "URI")]
    pub(crate) from: Option<String>,
    /// Records with this URI, or its user, in To
    #[arg(long, value_name = "URI")]
    pub(crate) to: Option<String>,
    /// Records with this user in From or To
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Records of this method
    #[arg(long, value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// Records with this status code
    #[arg(long, value_name = "CODE")]
    pub(crate) status: Option<String>,
    /// Records with this source or destination, with or without its port, in any notation of the address
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) address: Option<String>,
    /// Records of this server or client transaction
    #[arg(long, value_name = "ID")]
    pub(crate) transaction: Option<String>,
    /// Records with this text anywhere
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Take the given values as prefixes
    #[arg(long, conflicts_with = "regex")]
    pub(crate) prefix: bool,
    /// Take the given values as regular expressions
    #[arg(long)]
    pub(crate) regex: bool,
    /// Records of this time or later: 2026-11-22T03:00:00Z, or seconds since 1970
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub(crate) since: Option<Time>,
    /// Records of this time or earlier
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub(crate) until: Option<Time>,
}

impl Filter {
    pub(crate) fn query(&self) -> Result<Query, Refusal> {
        let mut query = Query::new();
        for (value, target) in [
            (&self.call_id, Target::Field(Field::CallId)),
            (&self.from, Target::From),
            (&self.to, Target::To),
            (&self.user, Target::User),
            (&self.method, Target::Method),
            (&self.status, Target::Field(Field::Status)),
            (&self.address, Target::Address),
            (&self.transaction, Target::Transaction),
            (&self.text, Target::Text),
        ] {
            if let Some(value) = value {
                query = query.and(Condition::new(target, self.test(value)?));
            }
        }
        if let Some(since) = self.since {
            query = query.since(since);
        }
        if let Some(until) = self.until {
            query = query.until(until);
        }
        Ok(query)
    }

    fn test(&self, value: &str) -> Result<Test, Refusal> {
        let bytes = value.as_bytes().to_vec();
        Ok(match (self.prefix, self.regex) {
            (true, _) => Test::Prefix(bytes),
            (_, true) => Test::Regex(Regex::new(value).map_err(|error| {
                let hint = "a dot, a bracket or a plus that is meant as such needs a backslash";
                Refusal::usage(error.to_string(), hint)
            })?),
            _ => Test::Exact(bytes),
        })
    }
}

#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// Logs, in any form; their sealed segments (LOG.000001 and so on) are searched too
    #[arg(value_name = "LOG", required = true)]
    pub(crate) logs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) filter: Filter,
    /// Print only the number of records
    #[arg(long, conflicts_with_all = ["dialog", "limit"])]
    pub(crate) count: bool,
    /// Print all records of the dialogs with a match, dialog by dialog
    #[arg(long)]
    pub(crate) dialog: bool,
    /// Stop after N records
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// The form of the printed records
    #[arg(
        long = "format",
        alias = "form",
        value_name = "FORMAT",
        value_enum,
        default_value_t
    )]
    pub(crate) form: FormName,
    /// Search only the named files, not their sealed segments
    #[arg(long)]
    pub(crate) only: bool,
    /// Do not use sidecar indexes
    #[arg(long)]
    pub(crate) no_index: bool,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) threads: usize,
    /// Show which parts of which segments would be read, without reading them
    #[arg(long)]
    pub(crate) explain: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Convert {
    /// The log, in any form; '-' is standard input
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// The file for the records [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The form to write
    #[arg(long = "format", alias = "form", value_name = "FORMAT", value_enum)]
    pub(crate) form: FormName,
}

#[derive(Args, Debug)]
pub(crate) struct Logs {
    /// The logs, in any form
    #[arg(value_name = "LOG", required = true)]
    pub(crate) logs: Vec<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct Check {
    /// The logs, in any form
    #[arg(value_name = "LOG", required = true)]
    pub(crate) logs: Vec<PathBuf>,
    /// Also report optional fields whose length differs from that of their value, a common fault
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Tail {
    /// The log, in any form
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,
    /// Keep printing records as they are written
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Start with the last N records
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    pub(crate) records: usize,
    #[command(flatten)]
    pub(crate) filter: Filter,
    /// The form of the printed records
    #[arg(
        long = "format",
        alias = "form",
        value_name = "FORMAT",
        value_enum,
        default_value_t
    )]
    pub(crate) form: FormName,
}

#[derive(Args, Debug)]
pub(crate) struct Anonymize {
    /// The log, in any form; '-' is standard input
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// A file with the key. Keep it secret: with the key a name can be matched to its pseudonym
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: PathBuf,
    /// The file for the records [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The form to write
    #[arg(
        long = "format",
        alias = "form",
        value_name = "FORMAT",
        value_enum,
        default_value_t
    )]
    pub(crate) form: FormName,
}

fn parse_fsync(text: &str) -> Result<Fsync, String> {
    match text {
        "never" => Ok(Fsync::Never),
        "always" => Ok(Fsync::Always),
        // A number alone has always been milliseconds here.
        _ => match text.parse() {
            Ok(milliseconds) => Ok(Fsync::Every(Duration::from_millis(milliseconds))),
            Err(_) => match parse_period(text) {
                Ok(period) => Ok(Fsync::Every(period)),
                Err(_) => Err("expected never, always, or a time such as 500ms or 1s".to_owned()),
            },
        },
    }
}

fn parse_moment(text: &str) -> Result<Time, String> {
    parse_time(text).ok_or_else(|| {
        "not a time such as 2026-11-22, 2026-11-22T03:00:00Z or 1795316400.5".to_owned()
    })
}

const EXAMPLES: &str = "\
Examples:
  weir clf write trace.pcap -o calls.clf
  weir clf search calls.clf --call-id f81-d4-f6@example.com
  weir clf tail -f calls.clf --status 503";

const WRITE_EXAMPLES: &str = "\
Examples:
  weir clf write trace.pcap -o calls.clf
  weir clf write *.pcapng -o calls.clf --header User-Agent --rotate-size 1g --compress
  weir clf write -i eth0 -o calls.clf --fsync 1s --rotate-size 1g
  tcpdump -w - -U port 5060 | weir clf write - -o calls.clf

Ctrl-C, SIGTERM, SIGHUP or --duration ends capturing: the log then has every packet that arrived. SIGUSR1 makes a running command reopen the log, after logrotate has moved it.";

const SEARCH_EXAMPLES: &str = "\
Examples:
  weir clf search calls.clf --call-id f81-d4-f6@example.com
  weir clf search calls.clf --user alice --method INVITE --since 2026-11-22 --dialog
  weir clf search calls.clf --status '^5' --regex --count
  weir clf search calls.clf --from alice --format json | jq .call_id";
