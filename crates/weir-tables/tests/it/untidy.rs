//! Captures of traffic that is not tidy, with what is known of each: streams that begin anew, copies, beginnings that are
//! not there, messages that were lost. `../shared/data/reports/README.md` says where they come from.

use std::path::{Path, PathBuf};

use crate::sip::{column, read_with_notes};

/// A capture of the reports; `None` without them.
fn report(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/reports")
        .join(format!("{name}.pcap"));
    if !path.exists() {
        weir_testkit::missing("captures", &path.display().to_string());
        return None;
    }
    Some(path)
}

/// Holds columns of the rows of a table against what they must be; NULL is empty.
#[track_caller]
fn are(name: &str, table: &str, columns: &[&str], rows: &[&[&str]]) {
    let Some(path) = report(name) else {
        return;
    };
    let (batch, _) = read_with_notes(table, &[&path], 100);
    let columns: Vec<Vec<String>> = columns.iter().map(|it| column(&batch, it)).collect();
    let mut found: Vec<Vec<&str>> = (0..batch.num_rows())
        .map(|row| columns.iter().map(|column| &*column[row]).collect())
        .collect();
    found.sort();
    let mut rows: Vec<Vec<&str>> = rows.iter().map(|row| row.to_vec()).collect();
    rows.sort();
    assert_eq!(found, rows, "{table}('{name}')");
}

#[test]
fn streams_of_rtp_that_begin_anew_lose_nothing() {
    let columns = ["media.packets", "media.lost", "media.late", "media.gaps"];
    are(
        "rtp-begins-anew--ts-back",
        "media",
        &columns,
        &[&["200", "0", "0", "0"]],
    );
    are(
        "rtp-begins-anew--restart-ahead",
        "media",
        &columns,
        &[&["400", "0", "0", "0"]],
    );
    for name in ["rtp-begins-anew--ts-back", "rtp-begins-anew--restart-ahead"] {
        if let Some(path) = report(name) {
            let (batch, _) = read_with_notes("media", &[&path], 10);
            let mos: f64 = column(&batch, "media.mos")[0].parse().unwrap();
            assert!(mos > 4.3, "{name}: {mos}");
        }
    }
}

#[test]
fn events_are_no_drift_and_copies_no_other_stream() {
    if let Some(path) = report("rtp-events--onekey") {
        let (batch, _) = read_with_notes("media", &[&path], 10);
        let number = |name: &str| column(&batch, name)[0].parse::<f64>().unwrap();
        assert!(number("media.clock_drift").abs() < 50.0);
        assert!(number("media.skew_max").abs() < 5.0);
    }
    let columns = ["media.packets", "media.duplicates", "media.missing"];
    are(
        "rtp-twice--duplicated",
        "media",
        &columns,
        &[&["1000", "500", "0"]],
    );
    let columns = ["media.dtmf", "media.events"];
    are("dtmf--late-end", "media", &columns, &[&["12", "2"]]);
}

#[test]
fn media_are_those_of_their_calls() {
    let columns = ["sip.call_id", "call.lost"];
    are(
        "media-of-calls--port-reused-same-ssrc",
        "calls",
        &columns,
        &[&["first", "0"], &["second", "0"]],
    );
    let columns = ["media.type", "media.codec"];
    are(
        "bundle--bundle",
        "media",
        &columns,
        &[&["audio", "opus"], &["video", "VP8"]],
    );
}

#[test]
fn options_of_dhcp_are_those_of_all_fields() {
    let columns = ["dhcp.file", "dhcp.option.domain_name"];
    if let Some(path) = report("dhcp-overload--overload") {
        let (batch, _) = read_with_notes("dhcp", &[&path], 10);
        let files = column(&batch, columns[0]);
        assert_eq!(files[..3], ["boot.img", "boot.img", ""]);
        assert_eq!(
            column(&batch, columns[1])[..3],
            ["good.example", "evil.example", "evil.example"]
        );
    }
}

#[test]
fn hellos_are_found_in_small_records_and_from_either_side() {
    let name = "tls.handshake.extensions_server_name";
    are(
        "small-first-record--rec-20",
        "tls",
        &[name],
        &[&["www.site.example"]],
    );
    are(
        "dtls--server-first",
        "tls",
        &["port.src", "port.dst"],
        &[&["4000", "443"]],
    );
}

#[test]
fn responses_are_those_of_their_requests() {
    let columns = ["http.request.uri", "http.response.code"];
    let all: [&[&str]; 5] = [
        &["/r1", "200"],
        &["/r2", "201"],
        &["/r3", "202"],
        &["/r4", "203"],
        &["/r5", "206"],
    ];
    are(
        "http-order-of-directions--third-request-late",
        "http",
        &columns,
        &all,
    );
    are(
        "http-loss-in-body--chunked-one-lost",
        "http",
        &columns,
        &all,
    );
    are(
        "http-body-where-none-is--head-with-body",
        "http",
        &columns,
        &all,
    );
    let lost: [&[&str]; 6] = [
        &["/r1", ""],
        &["/r2", "201"],
        &["/r3", "202"],
        &["/r4", "203"],
        &["/r5", "206"],
        &["/r6", "207"],
    ];
    are(
        "http-lost-response--resp1-lost-slow",
        "http",
        &columns,
        &lost,
    );
    let columns = ["http.request.uri", "http.request.body_len"];
    are(
        "http-early-answer--early-413",
        "http",
        &columns,
        &[&["/big", "3000"], &["/next", "0"]],
    );
}

#[test]
fn messages_are_found_behind_what_precedes_them() {
    let count = |name: &str, table: &str| {
        report(name).map(|path| read_with_notes(table, &[&path], 100).0.num_rows())
    };
    for (name, table, rows) in [
        ("websocket-behind-another-answer--401", "websocket", 2),
        (
            "websocket-behind-another-answer--early-hints",
            "websocket",
            2,
        ),
        ("middle-of-a-connection--diameter-3868-tail", "diameter", 10),
        ("short-first-segment--first3", "sip", 5),
        ("proxy-header--proxy-5070-v1-0", "sip", 3),
    ] {
        if let Some(found) = count(name, table) {
            assert_eq!(found, rows, "{table}('{name}')");
        }
    }
}
