//! Faults that users of such programs have reported, each with a capture and its right answer: `cases.tsv` beside the checkout.

use std::path::Path;
use std::process::Command;

use weir_testkit::Limited as _;

/// Captures of which all questions are answered right.
const RIGHT: &[&str] = &[
    "a-msdu--amsdu-3.pcap",
    "badpackets.pcap",
    "bundle--bundle.pcap",
    "call-from-the-middle--mid-hold-488.pcap",
    "call-one-side--no-200.pcap",
    "clock-steps-back--clock-back-20.pcap",
    "dhcp-overload--overload.pcap",
    "dtls--server-first.pcap",
    "dtmf--late-end.pcap",
    "epoch--offsets.pcapng",
    "false-loss--one-ack-early.pcap",
    "fragments-of-two-networks--one-vlan.pcap",
    "fragments-of-two-networks--two-vlans.pcap",
    "http-body-where-none-is--head-with-body.pcap",
    "http-early-answer--early-413.pcap",
    "http-loss-in-body--chunked-one-lost.pcap",
    "http-lost-response--resp1-lost-slow.pcap",
    "http-order-of-directions--third-request-late.pcap",
    "jumbogram--jumbogram.pcap",
    "media-of-calls--port-reused-same-ssrc.pcap",
    "message-behind-a-hole--call-one-lost-before.pcap",
    "mgcp-cr--cr.pcap",
    "middle-of-a-connection--diameter-3868-tail.pcap",
    "new-initial-number--new-isn-after-1s.pcap",
    "proxy-header--proxy-5070-v1-0.pcap",
    "quic-ports--quic.pcap",
    "refused-then-let-in--refused-twice-then-let-in.pcap",
    "reset-outside--rst-far-outside-before.pcap",
    "rtp-begins-anew--restart-ahead.pcap",
    "rtp-begins-anew--ts-back.pcap",
    "rtp-events--onekey.pcap",
    "rtp-twice--duplicated.pcap",
    "second-syn-ack--second-synack-counts.pcap",
    "short-first-segment--first3.pcap",
    "simultaneous-open--simultaneous-open.pcap",
    "sip-folded-length--fold-value.pcap",
    "sip-keep-alive--tcp-5060-crlfnul.pcap",
    "small-first-record--rec-20.pcap",
    "websocket-behind-another-answer--401.pcap",
    "websocket-behind-another-answer--early-hints.pcap",
];

/// Captures of which a question is answered wrong as yet. A question that is answered right is moved to the list above.
const WRONG: &[&str] = &[];

/// Captures of which the rows that are said to be right leave out what is in them, and the rows that are: one of the
/// requests is for `sip:112@example.com`, whose host tshark shows, too.
const OTHERWISE: &[(&str, &str)] = &[("uri-schemes--urn.pcap", ";example.com")];

/// The rows that answer a question, separated by semicolons, and what was written to standard error.
fn answer(sql: &str) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["query", "--format", "csv", sql])
        .output_limited()
        .unwrap();
    let rows = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<&str> = rows.lines().skip(1).collect();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (rows.join(";"), errors)
}

/// Rows without the order in which they came.
fn in_order(rows: &str) -> Vec<&str> {
    let mut rows: Vec<&str> = rows.split(';').collect();
    rows.sort_unstable();
    rows
}

#[test]
fn reported_faults_are_answered_right() {
    let folder = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/data/reports"
    ));
    let Ok(cases) = std::fs::read_to_string(folder.join("cases.tsv")) else {
        weir_testkit::missing("captures", "reported faults (../shared/data/reports)");
        return;
    };
    let mut wrong: Vec<&str> = Vec::new();
    let mut found = String::new();
    for case in cases.lines().skip(1) {
        let [_, file, question, right, why] = case.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{case:?} has not five columns");
        };
        let otherwise = OTHERWISE.iter().find(|(name, _)| *name == file);
        if !RIGHT.contains(&file) && !WRONG.contains(&file) && otherwise.is_none() {
            continue;
        }
        let right = otherwise.map_or(right, |(_, rows)| rows);
        let path = folder.join(file);
        let (rows, message) = answer(&question.replace("{f}", path.to_str().unwrap()));
        if rows == right || in_order(&rows) == in_order(right) {
            continue;
        }
        wrong.push(file);
        if !WRONG.contains(&file) {
            found.push_str(&format!(
                "{file}: {question}\n  found    {rows}\n  expected {right} ({why})\n{message}"
            ));
        }
    }
    assert!(found.is_empty(), "{found}");
    for file in RIGHT.iter().chain(OTHERWISE.iter().map(|(file, _)| file)) {
        assert!(cases.contains(file), "{file} is in no case");
    }
    wrong.sort_unstable();
    wrong.dedup();
    assert_eq!(wrong, WRONG, "what is answered right now comes into RIGHT");
}
