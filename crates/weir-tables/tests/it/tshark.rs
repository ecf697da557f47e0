//! The interface to tshark: the fields that it has, and their values in a capture.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use weir_testkit::peer::{self, Question};

/// Preferences under which each packet is dissected by itself: nothing is reassembled, and no checksum hides the
/// payload.
pub(crate) const PREFERENCES: &[&str] = &[
    "ip.defragment:FALSE",
    "ipv6.defragment:FALSE",
    "tcp.desegment_tcp_streams:FALSE",
    "ip.check_checksum:FALSE",
    "tcp.check_checksum:FALSE",
    "udp.check_checksum:FALSE",
    "capwap.reassemble:FALSE",
    // The edges of selective acknowledgments as they were sent.
    "tcp.relative_sequence_numbers:FALSE",
];

/// Returns whether tshark is installed.
pub(crate) fn is_installed() -> bool {
    peer::version("tshark").is_some()
}

/// The fields (and protocols) that tshark knows, by their names in lower case.
pub(crate) fn field_names() -> HashMap<String, String> {
    let mut tshark = Question::to("tshark");
    let list = tshark.args(["-G", "fields"]).answer().unwrap().text();
    list.lines()
        .filter_map(|line| line.split('\t').nth(2))
        .map(|name| (name.to_lowercase(), name.to_owned()))
        .collect()
}

/// The values of `fields` in each record of `capture`, a row a record.
///
/// The message of tshark when it has no record at all of a file that it cannot read.
pub(crate) fn rows(
    capture: &Path,
    fields: &[String],
    preferences: &[&str],
) -> Result<Rows, String> {
    let mut tshark = Question::to("tshark");
    tshark.args([
        "-n",
        "-T",
        "fields",
        "-E",
        "occurrence=f",
        "-E",
        "separator=/t",
    ]);
    for preference in PREFERENCES.iter().chain(preferences) {
        tshark.args(["-o", preference]);
    }
    for field in fields {
        tshark.args(["-e", field]);
    }
    tshark.arg("-r").file(capture);
    let answer = tshark.answer().map_err(|error| error.to_string())?;
    let message = String::from_utf8_lossy(&answer.stderr);
    if answer.stdout.is_empty() && !answer.is_success() {
        let message = message
            .lines()
            .filter(|line| !line.starts_with("Running as user"));
        return Err(message.collect::<Vec<_>>().join(" "));
    }
    Ok(Rows {
        text: answer.text(),
    })
}

/// The protocols in each record of `capture`, by its number; none where tshark does not read it.
pub(crate) fn protocols(capture: &Path) -> HashMap<u64, BTreeSet<String>> {
    let mut tshark = Question::to("tshark");
    tshark.args(["-n", "-T", "fields", "-e", "frame.number"]);
    tshark.args(["-e", "frame.protocols", "-r"]).file(capture);
    let record = |line: &str| {
        let (number, protocols) = line.split_once('\t')?;
        let protocols = protocols.split(':').map(str::to_owned).collect();
        Some((number.parse().ok()?, protocols))
    };
    let text = tshark.answer().unwrap().text();
    text.lines().filter_map(record).collect()
}

/// The rows that tshark printed.
pub(crate) struct Rows {
    text: String,
}

impl Rows {
    /// The values of each record.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Vec<&str>> {
        self.text.lines().map(|line| line.split('\t').collect())
    }
}
