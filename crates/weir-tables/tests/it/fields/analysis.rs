//! The TCP analysis is compared with tshark's, flag by flag and number by number.

use std::collections::BTreeMap;

use weir_tables::{Extraction, Scan, ScanOptions, Setting, Settings, Source, Table};

use super::{compared_captures, is_same, protocols, texts};
use crate::tshark;

/// The columns that are flags.
const FLAGS: &[&str] = &[
    "flags",
    "retransmission",
    "fast_retransmission",
    "spurious_retransmission",
    "out_of_order",
    "lost_segment",
    "ack_lost_segment",
    "window_update",
    "window_full",
    "keep_alive",
    "keep_alive_ack",
    "duplicate_ack",
    "zero_window",
    "zero_window_probe",
    "zero_window_probe_ack",
    "reused_ports",
];

/// Columns with numbers.
const NUMBERS: &[&str] = &[
    "duplicate_ack_num",
    "duplicate_ack_frame",
    "acks_frame",
    "ack_rtt",
    "rto",
    "rto_frame",
];

/// Captures and columns that differ, with the reason.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    ("ajp.pcap", "ack_lost_segment", CUT),
    ("ajp.pcap", "ack_rtt", CUT),
    ("ajp.pcap", "acks_frame", CUT),
    ("ajp.pcap", "duplicate_ack", CUT),
    ("ajp.pcap", "duplicate_ack_frame", CUT),
    ("ajp.pcap", "duplicate_ack_num", CUT),
    ("ajp.pcap", "flags", CUT),
    ("ajp.pcap", "out_of_order", CUT),
    ("ajp.pcap", "retransmission", CUT),
    ("ajp.pcap", "rto", CUT),
    ("ajp.pcap", "rto_frame", CUT),
    ("ajp.pcap", "spurious_retransmission", CUT),
    ("cisco-fabric-path.pcap", "flags", CUT),
    ("cisco-fabric-path.pcap", "retransmission", CUT),
    ("cisco-fabric-path.pcap", "rto", CUT),
    ("cisco-fabric-path.pcap", "rto_frame", CUT),
    (
        "ndpi_match_string_subprotocol__error.pcapng",
        "ack_lost_segment",
        NO_SYN,
    ),
    (
        "ndpi_match_string_subprotocol__error.pcapng",
        "fast_retransmission",
        NO_SYN,
    ),
    (
        "ndpi_match_string_subprotocol__error.pcapng",
        "flags",
        NO_SYN,
    ),
    (
        "ndpi_match_string_subprotocol__error.pcapng",
        "out_of_order",
        NO_SYN,
    ),
    (
        "ndpi_match_string_subprotocol__error.pcapng",
        "retransmission",
        NO_SYN,
    ),
    (
        "ndpi_match_string_subprotocol__error.pcapng",
        "spurious_retransmission",
        NO_SYN,
    ),
    ("reasm_crash_anon.pcapng", "ack_lost_segment", NO_SYN),
    ("reasm_crash_anon.pcapng", "flags", NO_SYN),
    ("ftp__bigtransfer.pcap", "ack_lost_segment", AHEAD),
    ("ftp__bigtransfer.pcap", "flags", AHEAD),
    ("smb__smb3_multichannel.pcap", "ack_lost_segment", AHEAD),
    ("smb__smb3_multichannel.pcap", "flags", AHEAD),
    ("timestamp_invalid_nano.pcap", "ack_rtt", NO_TIME),
    ("timestamp_invalid_nano.pcap", "initial_rtt", NO_TIME),
    ("geneve.pcap", "ack_rtt", NETWORKS),
    ("geneve.pcap", "acks_frame", NETWORKS),
    ("geneve.pcap", "initial_rtt", NETWORKS),
];

const CUT: &str = "tshark takes the last four octets of Cisco FabricPath for a check sequence, and so cuts the header of TCP";
const NO_SYN: &str =
    "a SYN ACK of a new connection whose SYN was not captured: tshark measures it by the old one";
const AHEAD: &str = "acknowledgments run ahead of what was captured, again and again: when tshark says it anew is not the same";
const NO_TIME: &str = "nanoseconds beyond a second, which tshark does not carry into the seconds";
const NETWORKS: &str =
    "both directions have other network identifiers, which are other networks here";

#[test]
fn tshark_sees_the_same_in_tcp() {
    if !tshark::is_installed() {
        weir_testkit::missing("tshark", "nothing judges the analysis of TCP");
        return;
    }
    let (captures, is_listed) = compared_captures();
    if captures.is_empty() {
        weir_testkit::missing("captures", "the analysis of TCP that others captured");
        return;
    }
    let protocols = protocols(&captures);
    let mut by_column: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
    let mut found: BTreeMap<(String, &str), String> = BTreeMap::new();
    for capture in captures
        .iter()
        .filter(|one| protocols[&one.name].contains("tcp"))
    {
        let mut fields = vec!["frame.number".to_owned(), "tcp.stream".to_owned()];
        fields.push("frame.protocols".to_owned());
        fields.push("tcp.analysis.initial_rtt".to_owned());
        let names = FLAGS.iter().chain(NUMBERS);
        fields.extend(names.map(|name| format!("tcp.analysis.{name}")));
        let theirs = tshark::rows(&capture.path, &fields, &[]);
        // A file that tshark does not read gives no result.
        let Ok(theirs) = theirs else { continue };
        let theirs: BTreeMap<u64, Vec<String>> = theirs
            .iter()
            .map(|row| {
                let values = (0..fields.len()).map(|at| row[at].to_owned());
                (row[0].parse().unwrap(), values.collect())
            })
            .collect();
        let ours = ours(&capture.path, &fields[3..]);
        for (frame, ours) in &ours {
            let Some(theirs) = theirs.get(frame) else {
                continue;
            };
            // For tshark, a segment quoted by an ICMP error is a segment of the connection.
            if theirs[1].is_empty()
                || theirs[2].contains("icmp")
                || theirs[2].matches("tcp").count() > 1
            {
                continue;
            }
            let columns = ["initial_rtt"].iter().chain(FLAGS).chain(NUMBERS);
            for (at, name) in columns.copied().enumerate() {
                let theirs = Some(theirs[at + 3].clone()).filter(|it| !it.is_empty());
                let theirs: Vec<String> = theirs.into_iter().collect();
                let ours = &ours[at];
                let is_equal = match FLAGS.contains(&name) {
                    true => theirs.is_empty() != (ours[..] == ["true"]),
                    // tshark has the value only beside another result of its analysis.
                    false if name == "initial_rtt" => {
                        theirs.is_empty() || is_same_time(&theirs, ours)
                    }
                    false => is_same(&theirs, ours) || is_same_time(&theirs, ours),
                };
                if theirs.is_empty() && is_equal {
                    continue;
                }
                let counts = by_column.entry(name).or_default();
                counts[0] += 1;
                counts[1] += u64::from(!is_equal);
                if !is_equal {
                    let what = || format!("packet {frame}: {theirs:?}, ours {ours:?}");
                    found
                        .entry((capture.name.clone(), name))
                        .or_insert_with(what);
                }
            }
        }
    }
    let [all, different] =
        [0, 1].map(|at| by_column.values().map(|counts| counts[at]).sum::<u64>());
    for (name, [all, different]) in &by_column {
        println!("  tcp.analysis.{name}: {different} of {all} differ");
    }
    println!("tcp.analysis: {different} of {all} values differ");
    if !is_listed {
        for ((capture, column), what) in &found {
            println!("{capture}\t{column}\t{what}");
        }
        return;
    }
    let is_for = |entry: &(&str, &str, &str), key: &(String, &str)| {
        key.0.ends_with(entry.0) && key.1 == entry.1
    };
    let unlisted: Vec<String> = found
        .iter()
        .filter(|(key, _)| !DIFFERENCES.iter().any(|entry| is_for(entry, key)))
        .map(|(key, what)| format!("{}\t{}\t{what}", key.0, key.1))
        .collect();
    assert!(
        unlisted.is_empty(),
        "{} not listed:\n{}",
        unlisted.len(),
        unlisted.join("\n")
    );
    for entry in DIFFERENCES {
        let is_needed = found.keys().any(|key| is_for(entry, key));
        assert!(is_needed, "{} {} is no longer needed", entry.0, entry.1);
    }
    assert!(
        all > 10_000 && different * 100 < all,
        "{different} of {all}"
    );
    for name in [
        "retransmission",
        "duplicate_ack",
        "zero_window",
        "ack_rtt",
        "out_of_order",
    ] {
        assert!(by_column[name][0] >= 50, "{name}: {:?}", by_column[name]);
    }
}

/// Returns whether times are the same to the nanosecond, in any notation.
fn is_same_time(theirs: &[String], ours: &[String]) -> bool {
    let ([theirs], [ours]) = (theirs, ours) else {
        return false;
    };
    let parsed = (theirs.parse::<f64>(), ours.parse::<f64>());
    matches!(parsed, (Ok(theirs), Ok(ours)) if (theirs - ours).abs() < 1e-9)
}

/// Returns the values of `fields` of each packet that was analysed, in tunnels too, which tshark decodes.
fn ours(path: &std::path::Path, fields: &[String]) -> BTreeMap<u64, Vec<Vec<String>>> {
    let extraction = Extraction::named("flow_packets").unwrap();
    let mut settings = Settings::default();
    extraction
        .set(&mut settings, "tunnels", Some(Setting::Word("inner")))
        .unwrap();
    let table = Table::extracted(extraction).with_settings(settings);
    let names = ["frame.number"]
        .into_iter()
        .chain(fields.iter().map(String::as_str));
    let projection: Vec<usize> = names.map(|name| table.position(name).unwrap()).collect();
    let sources = vec![Source::capture(path)];
    let mut scan = Scan::new(&table, &projection, None, sources, ScanOptions::default());
    let mut values = BTreeMap::new();
    while let Some(batch) = scan.next_batch().unwrap() {
        let numbers = crate::sip::column(&batch, "frame.number");
        let columns: Vec<_> = fields.iter().map(|name| texts(&batch, name)).collect();
        let is_analysed = texts(&batch, "tcp.analysis.flags");
        for (row, number) in numbers.iter().enumerate() {
            if !is_analysed[row].is_empty() {
                let of_row = columns.iter().map(|column| column[row].clone()).collect();
                values.insert(number.parse().unwrap(), of_row);
            }
        }
    }
    values
}
