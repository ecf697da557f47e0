//! tshark as the judge: which fields it has, and their values in a capture.

use std::collections::HashMap;
use std::path::Path;
use std::process::{Command, Stdio};

use weir_testkit::Limited as _;

/// Preferences under which a packet is a packet: nothing is put together from several, and no
/// checksum hides what is behind it.
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

/// True when tshark runs here.
pub(crate) fn is_installed() -> bool {
    let mut tshark = Command::new("tshark");
    tshark
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    tshark.status_limited().is_ok_and(|status| status.success())
}

/// The fields (and protocols) that tshark knows, by their names in lower case.
pub(crate) fn field_names() -> HashMap<String, String> {
    let output = Command::new("tshark")
        .args(["-G", "fields"])
        .output_limited()
        .unwrap();
    let list = String::from_utf8_lossy(&output.stdout);
    list.lines()
        .filter_map(|line| line.split('\t').nth(2))
        .map(|name| (name.to_lowercase(), name.to_owned()))
        .collect()
}

/// The values of `fields` in each record of `capture`, a row a record.
///
/// # Errors
/// What tshark says when it gives no record at all of a file that it cannot read.
pub(crate) fn rows(
    capture: &Path,
    fields: &[String],
    preferences: &[&str],
) -> Result<Rows, String> {
    let mut tshark = Command::new("tshark");
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
    tshark.arg("-r").arg(capture);
    let output = tshark.output_limited().map_err(|error| error.to_string())?;
    let message = String::from_utf8_lossy(&output.stderr);
    if output.stdout.is_empty() && !output.status.success() {
        let message = message
            .lines()
            .filter(|line| !line.starts_with("Running as user"));
        return Err(message.collect::<Vec<_>>().join(" "));
    }
    Ok(Rows {
        text: String::from_utf8_lossy(&output.stdout).into_owned(),
    })
}

/// What tshark printed.
pub(crate) struct Rows {
    text: String,
}

impl Rows {
    /// The values of each record.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Vec<&str>> {
        self.text.lines().map(|line| line.split('\t').collect())
    }
}
