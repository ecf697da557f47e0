//! Zeek as the judge: its own captures, and the `conn.log` that its own tests expect of them.
//!
//! The captures beside the checkout are always compared, and those in Zeek's sources with
//! `WEIR_ZEEK=…/zeek/testing/btest cargo test -p weir-flow zeek`. The captures are not copied into this repository.
//! Differences are listed in `docs/reference/zeek-differences.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use weir_flow::{FlowRecord, Options, Totals, Tunnels};
use weir_testkit::zeek::{self, Case, Row};

use crate::capture;

/// Fields of `conn.log` that mean the same here.
const FIELDS: [&str; 10] = [
    "duration",
    "orig_bytes",
    "resp_bytes",
    "conn_state",
    "missed_bytes",
    "history",
    "orig_pkts",
    "orig_ip_bytes",
    "resp_pkts",
    "resp_ip_bytes",
];

/// A difference that is known: the test of Zeek, what differs, in how many rows, and why. It has to be there just
/// so, as long as the test is.
const EXPLAINED: &[(&str, &str, usize, &str)] = &[
    (
        "core.pppoe-over-qinq",
        "history",
        1,
        "IP lengths that count the padding behind PPPoE's end: data to Zeek",
    ),
    (
        "core.skip_analyzer",
        ONLY_OURS,
        1,
        "the tunnel of GRE itself is a row here",
    ),
    (
        "core.tunnels.gre",
        ONLY_OURS,
        1,
        "the tunnel of GRE itself is a row here",
    ),
    (
        "core.tunnels.gre-pptp",
        ONLY_OURS,
        1,
        "the tunnel of GRE itself is a row here",
    ),
    (
        "core.tunnels.gtp.inner_teredo",
        MISSING,
        9,
        "of tunnels in tunnels the middle one is no row here",
    ),
    (
        "core.tunnels.gtp.inner_teredo",
        ONLY_OURS,
        7,
        "bubbles of Teredo, packets of IPv6 without anything behind, are rows here",
    ),
    (
        "core.tunnels.vxlan-unknown-internal-packet",
        ONLY_OURS,
        3,
        "the test does not log what it cannot decode",
    ),
];

/// Tests that are not beside the checkout but in Zeek's sources, of which all differences are known for one reason.
const ELSEWHERE: &[(&str, &str)] = &[
    ("core.pcap.dynamic-filter", FILTERED),
    ("core.pcap.read-trace-with-filter", FILTERED),
    ("scripts.base.frameworks.netcontrol.packetfilter", FILTERED),
    (
        "scripts.base.frameworks.analyzer.request-analyzer",
        "the test logs some connections only",
    ),
    (
        "scripts.base.frameworks.logging.field-extension",
        "without its scripts Zeek knows no servers' ports",
    ),
    (
        "scripts.base.protocols.ftp.ftp-max-command-length",
        "the letter X: Zeek stopped its analyzer",
    ),
    (
        "scripts.base.protocols.ftp.gridftp",
        "the test stops to record a connection",
    ),
];
const FILTERED: &str = "the test filters packets";
const ONLY_OURS: &str = "only ours";
const MISSING: &str = "missing";

/// Differences by test and what differs, with those that are there.
type Differences = BTreeMap<(String, &'static str), Vec<String>>;

/// The differences that no list has, and the entries of the list that do not match, if their tests are there.
fn unexplained(differences: &Differences, tests: &BTreeSet<String>) -> Vec<String> {
    let mut wrong = Vec::new();
    for ((test, what), rows) in differences {
        let is_elsewhere = ELSEWHERE.iter().any(|(name, _)| name == test);
        let is_listed = |(name, listed, count, _): &&(&str, &str, usize, &str)| {
            name == test && listed == what && *count == rows.len()
        };
        if !is_elsewhere && !EXPLAINED.iter().any(|entry| is_listed(&entry)) {
            wrong.extend(rows.iter().map(|row| format!("{test}: {what}: {row}")));
        }
    }
    for (name, what, count, _) in EXPLAINED {
        let rows = differences.get(&((*name).to_owned(), *what));
        let found = rows.map_or(0, Vec::len);
        if tests.contains(*name) && found != *count {
            wrong.push(format!(
                "{name}: {what}: {count} are listed, {found} are there"
            ));
        }
    }
    wrong
}

fn conn_logs() -> Vec<Case> {
    let mut cases = zeek::cases("conn.log", "flows with Zeek's conn.log").unwrap();
    cases.retain(|case| case.expected.first().is_some_and(|row| end(row).is_some()));
    cases
}

fn end(row: &Row) -> Option<[String; 5]> {
    let field = |name: &str| row.get(name).cloned();
    Some([
        field("proto")?,
        field("id.orig_h")?,
        field("id.orig_p")?,
        field("id.resp_h")?,
        field("id.resp_p")?,
    ])
}

fn end_of(flow: &FlowRecord) -> [String; 5] {
    let protocol = match flow.key.protocol() {
        6 => "tcp",
        17 => "udp",
        1 | 58 => "icmp",
        _ => "unknown_transport",
    };
    [
        protocol.to_owned(),
        flow.originator.address.to_string(),
        flow.originator.port.to_string(),
        flow.responder.address.to_string(),
        flow.responder.port.to_string(),
    ]
}

/// A field as `conn.log` has it.
fn field(flow: &FlowRecord, name: &str) -> String {
    let both = |of: fn(&Totals) -> u64| of(&flow.sent) + of(&flow.received);
    match name {
        "duration" => format!("{:.6}", (flow.last_ns - flow.first_ns) as f64 / 1e9),
        "orig_bytes" => flow.sent.stream_bytes.to_string(),
        "resp_bytes" => flow.received.stream_bytes.to_string(),
        "conn_state" => flow.state.as_str().to_owned(),
        "missed_bytes" => both(|totals| totals.missed_bytes).to_string(),
        "history" => flow.history.as_str().to_owned(),
        "orig_pkts" => flow.sent.packets.to_string(),
        "orig_ip_bytes" => flow.sent.ip_bytes.to_string(),
        "resp_pkts" => flow.received.packets.to_string(),
        "resp_ip_bytes" => flow.received.ip_bytes.to_string(),
        _ => unreachable!("{name}"),
    }
}

/// Returns true when a value of `conn.log` matches weir's. Zeek leaves some values out that are 0 here, and rounds times.
fn agrees(name: &str, theirs: &str, ours: &str) -> bool {
    if theirs == ours {
        return true;
    }
    match name {
        "duration" => {
            let theirs: Result<f64, _> = theirs.parse();
            let ours: Result<f64, _> = ours.parse();
            matches!((theirs, ours), (Ok(theirs), Ok(ours)) if (theirs - ours).abs() < 2e-6)
        }
        "history" => theirs == "-" && ours.is_empty(),
        _ => false,
    }
}

/// The flows of a capture by their ends: those of the outermost headers, and what is in tunnels.
fn flows_of(path: &Path, mut options: Options) -> BTreeMap<[String; 5], Vec<FlowRecord>> {
    let packets = capture::read(path);
    let by_ends = |options: Options| {
        let mut all: BTreeMap<[String; 5], Vec<FlowRecord>> = BTreeMap::new();
        for flow in capture::flows(&packets, options) {
            all.entry(end_of(&flow)).or_default().push(flow);
        }
        all
    };
    let mut all = by_ends(options.clone());
    options.tunnels = Tunnels::Inner;
    for (ends, flows) in by_ends(options) {
        all.entry(ends).or_insert(flows);
    }
    all
}

#[test]
fn flows_are_those_of_zeeks_conn_log() {
    let cases = conn_logs();
    if cases.is_empty() {
        return;
    }
    let mut agreed: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    let mut differences = Differences::new();
    let mut tests = BTreeSet::new();
    let mut found = 0;
    for case in cases {
        tests.insert(case.name.clone());
        let mut differ = |what: &'static str, row: String| {
            let rows = differences.entry((case.name.clone(), what)).or_default();
            rows.push(row);
        };
        let mut options = Options::default();
        options.checksums = !case.ignores_checksums;
        let mut ours = flows_of(&case.capture, options);
        for row in &case.expected {
            let key = end(row).unwrap();
            let list = ours.get_mut(&key).filter(|list| !list.is_empty());
            let Some(list) = list else {
                differ(MISSING, format!("{} {row:?}", key.join(" ")));
                continue;
            };
            found += 1;
            // Several of the same ends: the one with most in common.
            let score = |flow: &FlowRecord| {
                FIELDS
                    .iter()
                    .filter(|name| {
                        row.get(**name)
                            .is_some_and(|theirs| agrees(name, theirs, &field(flow, name)))
                    })
                    .count()
            };
            let best = (0..list.len())
                .rev()
                .max_by_key(|index| score(&list[*index]))
                .unwrap();
            let flow = list.remove(best);
            for name in FIELDS {
                let Some(theirs) = row.get(name) else {
                    continue;
                };
                if theirs == "-" && name != "history" {
                    continue;
                }
                let ours = field(&flow, name);
                let agreed = agreed.entry(name).or_default();
                if agrees(name, theirs, &ours) {
                    agreed[0] += 1;
                } else {
                    agreed[1] += 1;
                    differ(name, format!("{} {theirs}, ours {ours}", key.join(" ")));
                }
            }
        }
        for (key, list) in ours {
            for _ in list {
                differ(ONLY_OURS, key.join(" "));
            }
        }
    }
    let wrong = unexplained(&differences, &tests);
    println!(
        "{} captures, {found} connections of both; fields that agree and differ: {agreed:?}; \
         {} differences",
        tests.len(),
        differences.values().map(Vec::len).sum::<usize>()
    );
    assert!(found > 0, "no test of Zeek was found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
