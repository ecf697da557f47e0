//! `weir summary`: what is in a capture, in one reading.

use std::process::ExitCode;

use clap::Args;

use crate::args::Global;
use crate::failure::Failure;
use crate::message::Messages;
use crate::report::{Document, DocumentArgs, Heading};
use crate::session::Session;

/// `weir summary`.
#[derive(Args, Debug)]
#[command(
    about = "Summarize a capture in one pass",
    long_about = "Summarize a capture: times, protocols, talkers, services, calls, names, damage.\n\n\
        The captures are read once. Sections without rows are left out.",
    after_help = EXAMPLES
)]
pub(crate) struct Summary {
    /// Captures
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
    #[command(flatten)]
    output: DocumentArgs,
}

/// Runs the queries of `weir summary`, with which the look at an unknown capture begins.
pub(crate) fn run(
    summary: &Summary,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    let format = summary.output.format()?;
    let mut options = weir_engine::Options::default();
    options.time_zone = summary.output.zone.time_zone.clone();
    let session = Session::new(&options, messages, !global.quiet)?;
    let files: Vec<String> = summary
        .files
        .iter()
        .map(|file| weir_engine::quote_literal(file))
        .collect();
    let files = files.join(", ");
    let mut statements = Vec::new();
    for (title, question) in QUESTIONS {
        let sql = question.replace("{files}", &files);
        for statement in session.parse(&sql)? {
            statements.push((Heading::plain(title), statement));
        }
    }
    let title = weir_capture::redacted(&summary.files.join(", ")).into_owned();
    let mut document = Document::answered(&title, &session, statements)?;
    let empty = document.without_empty();
    document.write(format, summary.output.path(), global)?;
    if !empty.is_empty() {
        messages.note(&format!(
            "sections without rows are left out: {}",
            empty.join(", ")
        ));
    }
    Ok(session.close(false))
}

/// The sections, with what they ask.
const QUESTIONS: &[(&str, &str)] = &[
    (
        "Capture",
        "SELECT count(*) AS packets, sum(frame.len) AS bytes, min(frame.time) AS first, max(frame.time) AS last, \
         count(frame.stopped) AS damaged FROM packets({files})",
    ),
    (
        "Protocols",
        "SELECT frame.layers AS protocols, count(*) AS packets, sum(frame.len) AS bytes FROM packets({files}) \
         GROUP BY 1 ORDER BY packets DESC, 1 LIMIT 15",
    ),
    (
        "Talkers",
        "SELECT address, sum(packets) AS packets, sum(bytes) AS bytes FROM (\
         SELECT addr.src AS address, count(*) AS packets, sum(frame.len) AS bytes FROM packets({files}) GROUP BY 1 \
         UNION ALL SELECT addr.dst, count(*), sum(frame.len) FROM packets({files}) GROUP BY 1) \
         WHERE address IS NOT NULL GROUP BY address ORDER BY bytes DESC, address LIMIT 10",
    ),
    (
        "Services",
        "SELECT flow.service AS service, proto AS protocol, count(*) AS connections, \
         sum(flow.bytes_src + flow.bytes_dst) AS bytes FROM flows({files}) GROUP BY ALL \
         ORDER BY connections DESC, bytes DESC LIMIT 15",
    ),
    (
        "TCP connections by state",
        "SELECT flow.state AS state, count(*) AS connections FROM flows({files}) WHERE proto = 'tcp' \
         GROUP BY 1 ORDER BY 2 DESC, 1",
    ),
    (
        "Calls",
        "SELECT call.state AS state, count(*) AS calls, avg(call.duration) AS mean_seconds, min(call.mos) AS lowest_mos \
         FROM calls({files}) GROUP BY 1 ORDER BY 2 DESC, 1",
    ),
    (
        "Names in DNS",
        "SELECT dns.qry.name AS name, count(*) AS messages FROM dns({files}) WHERE dns.qry.name IS NOT NULL \
         GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    ),
    (
        "Names in TLS",
        "SELECT tls.handshake.extensions_server_name AS name, count(*) AS handshakes FROM tls({files}) \
         WHERE tls.handshake.extensions_server_name IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    ),
    (
        "Hosts in HTTP",
        "SELECT http.host AS host, count(*) AS requests FROM http({files}) WHERE http.host IS NOT NULL \
         GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    ),
    (
        "Damage",
        "SELECT frame.stopped AS damage, count(*) AS packets FROM packets({files}) WHERE frame.stopped IS NOT NULL \
         GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 10",
    ),
];

const EXAMPLES: &str = "\
Examples:
  weir summary trace.pcap
  weir summary 'day/*.pcap.gz' -o day.html
  weir summary trace.pcap --format json | jq '.sections[0].rows[0]'";
