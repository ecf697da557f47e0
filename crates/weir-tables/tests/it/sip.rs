//! The tables `sip` and `calls` are compared with tshark.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch, StringArray};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Float64Type};
use weir_tables::{Extraction, Scan, ScanOptions, Source, Table};
use weir_testkit::packet::{Ipv4, Ipv6, protocol, udp};

use crate::tshark;
use crate::untidy_connections::rows;

pub(crate) fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/sip")
        .join(name);
    if !path.exists() {
        weir_testkit::missing("captures", &path.display().to_string());
        return None;
    }
    Some(path)
}

/// Reads a whole table, `batch_rows` rows at a time.
pub(crate) fn read(table: &str, sources: &[&Path], batch_rows: usize) -> RecordBatch {
    let (batch, notes) = read_with_notes(table, sources, batch_rows);
    assert_eq!(notes, Vec::<String>::new());
    batch
}

/// Reads a whole table, and the table's notes at the end.
pub(crate) fn read_with_notes(
    table: &str,
    sources: &[&Path],
    batch_rows: usize,
) -> (RecordBatch, Vec<String>) {
    let table = Table::extracted(Extraction::named(table).unwrap());
    let projection: Vec<usize> = (0..table.columns().len()).collect();
    let mut options = ScanOptions::default();
    options.batch_rows = batch_rows;
    let sources = sources.iter().map(|path| Source::capture(*path)).collect();
    let mut scan = Scan::new(&table, &projection, None, sources, options);
    let mut batches = Vec::new();
    while let Some(batch) = scan.next_batch().unwrap() {
        batches.push(batch);
    }
    assert!(scan.take_errors().is_empty());
    (
        concat_batches(table.schema(), &batches).unwrap(),
        scan.notes(),
    )
}

/// A column as text; NULL is empty.
pub(crate) fn column(batch: &RecordBatch, name: &str) -> Vec<String> {
    let array = batch
        .column_by_name(name)
        .unwrap_or_else(|| panic!("{name}"));
    // Times are converted to numbers: formatting them needs a list of time zones.
    let numbers = match array.data_type() {
        DataType::Timestamp(..) => cast(array, &DataType::Int64).unwrap(),
        _ => Arc::clone(array),
    };
    let texts = cast(&numbers, &DataType::Utf8).unwrap();
    let texts: &StringArray = texts.as_string();
    texts
        .iter()
        .map(|text| text.unwrap_or("").to_owned())
        .collect()
}

/// A column of IPv4 addresses as text; NULL is empty.
pub(crate) fn ipv4_column(batch: &RecordBatch, name: &str) -> Vec<String> {
    let array = batch
        .column_by_name(name)
        .unwrap_or_else(|| panic!("{name}"));
    let octets = array.as_binary_view().iter();
    octets
        .map(|octets| {
            let address = octets.and_then(|octets| octets.first_chunk::<4>());
            address.map_or_else(String::new, |octets| Ipv4Addr::from(*octets).to_string())
        })
        .collect()
}

/// Columns with tshark's names for them.
const SAME: &[(&str, &str)] = &[
    ("frame.number", "frame.number"),
    ("udp.srcport", "udp.srcport"),
    ("sip.method", "sip.Method"),
    ("sip.status_code", "sip.Status-Code"),
    ("sip.request_line", "sip.Request-Line"),
    ("sip.status_line", "sip.Status-Line"),
    ("sip.r_uri", "sip.r-uri"),
    ("sip.r_uri.user", "sip.r-uri.user"),
    ("sip.r_uri.host", "sip.r-uri.host"),
    ("sip.r_uri.port", "sip.r-uri.port"),
    ("sip.call_id", "sip.Call-ID"),
    ("sip.cseq", "sip.CSeq"),
    ("sip.cseq.seq", "sip.CSeq.seq"),
    ("sip.cseq.method", "sip.CSeq.method"),
    ("sip.from", "sip.From"),
    ("sip.from.user", "sip.from.user"),
    ("sip.from.host", "sip.from.host"),
    ("sip.from.port", "sip.from.port"),
    ("sip.from.tag", "sip.from.tag"),
    ("sip.to", "sip.To"),
    ("sip.to.user", "sip.to.user"),
    ("sip.to.host", "sip.to.host"),
    ("sip.to.tag", "sip.to.tag"),
    ("sip.contact", "sip.Contact"),
    ("sip.via.transport", "sip.Via.transport"),
    ("sip.via.sent_by.address", "sip.Via.sent-by.address"),
    ("sip.via.sent_by.port", "sip.Via.sent-by.port"),
    ("sip.via.branch", "sip.Via.branch"),
    ("sip.max_forwards", "sip.Max-Forwards"),
    ("sip.user_agent", "sip.User-Agent"),
    ("sip.server", "sip.Server"),
    ("sip.p_asserted_identity", "sip.P-Asserted-Identity"),
    ("sip.diversion", "sip.Diversion"),
    ("sip.reason", "sip.Reason"),
    ("sip.expires", "sip.Expires"),
    ("sip.content_type", "sip.Content-Type"),
    ("sip.content_length", "sip.Content-Length"),
];

#[test]
fn tshark_agrees_on_every_message() {
    if !tshark::is_installed() {
        weir_testkit::missing("tshark", "nothing judges the columns of sip");
        return;
    }
    for (name, messages) in [
        ("sipp-1000.pcap", 6000),
        ("captures/zeek-wireshark.pcap", 81),
        ("captures/zeek-sip-long-request-response-paths.pcap", 2),
        ("captures/zeek-invalid-content-length.pcap", 2),
        ("captures/zeek-sip-junk-before-request.pcap", 1),
    ] {
        let Some(path) = shared(name) else { continue };
        let batch = read("sip", &[&path], 1000);
        assert_eq!(batch.num_rows(), messages, "{name}");
        let fields: Vec<String> = SAME.iter().map(|(_, field)| (*field).to_owned()).collect();
        let rows = tshark::rows(&path, &fields, &[]).unwrap();
        // tshark has a row for every packet.
        let theirs: Vec<Vec<&str>> = rows
            .iter()
            .filter(|row| !row[2].is_empty() || !row[3].is_empty())
            .collect();
        assert_eq!(theirs.len(), messages, "{name}");
        for (at, (ours, field)) in SAME.iter().enumerate() {
            for (row, value) in column(&batch, ours).iter().enumerate() {
                let known = DIFFERENCES
                    .iter()
                    .any(|(file, column)| name.ends_with(file) && column == ours);
                if !known {
                    assert_eq!(value, theirs[row][at], "{name}, message {row}: {field}");
                }
            }
        }
    }
}

/// Columns that differ in a capture.
const DIFFERENCES: &[(&str, &str)] = &[
    // The Content-Length is no number: tshark reads its leading digits.
    ("zeek-invalid-content-length.pcap", "sip.content_length"),
];

#[test]
fn calls_are_the_dialogs_of_the_messages() {
    let Some(path) = shared("sipp-1000.pcap") else {
        return;
    };
    let messages = read("sip", &[&path], 8192);
    assert!(
        column(&messages, "sip.resend")
            .iter()
            .all(|resend| resend == "false")
    );
    assert!(column(&messages, "sip.faults").iter().all(String::is_empty));
    let body = &column(&messages, "sip.msg_body")[0];
    assert!(body.starts_with("v=0\r\no=user1 53655765") && body.len() == 129);

    let calls = read("calls", &[&path], 8192);
    assert_eq!(calls.num_rows(), 1000);
    // The rows are the same whatever the size of batches.
    assert_eq!(read("calls", &[&path], 7), calls);
    let invites: Vec<String> = column(&messages, "sip.call_id")
        .into_iter()
        .zip(column(&messages, "sip.method"))
        .filter_map(|(id, method)| (method == "INVITE").then_some(id))
        .collect();
    assert_eq!(column(&calls, "sip.call_id"), invites);
    for (name, value) in [
        ("call.state", "completed"),
        ("call.status", "200"),
        ("call.ended_by", "caller"),
        ("call.from.user", "sipp"),
        ("call.to.user", "service"),
        ("call.messages", "6"),
        ("call.hops", "1"),
        ("call.max_forwards", "70"),
        ("port.src", "5071"),
        ("port.dst", "5070"),
    ] {
        assert!(
            column(&calls, name).iter().all(|found| found == value),
            "{name}"
        );
    }
    let seconds = |name: &str| {
        calls
            .column_by_name(name)
            .unwrap()
            .as_primitive::<Float64Type>()
            .clone()
    };
    let (request, setup) = (seconds("call.request_delay"), seconds("call.setup_delay"));
    assert_eq!((request.null_count(), setup.null_count()), (0, 0));
    assert!(
        request
            .iter()
            .zip(setup.iter())
            .all(|(request, setup)| request <= setup)
    );
}

#[test]
fn calls_go_on_from_one_capture_to_the_next() {
    let Some(path) = shared("sipp-1000.pcap") else {
        return;
    };
    // The file header and each record are copied; a rotation is in the middle of a call.
    let bytes = std::fs::read(&path).unwrap();
    let mut at = 24;
    for _ in 0..3002 {
        let len = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap());
        at += 16 + len as usize;
    }
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("1.pcap"), folder.path().join("2.pcap"));
    std::fs::write(&first, &bytes[..at]).unwrap();
    std::fs::write(&second, [&bytes[..24], &bytes[at..]].concat()).unwrap();
    assert_eq!(
        read("calls", &[&first, &second], 8192),
        read("calls", &[&path], 8192)
    );
    // The second alone begins in the middle of a call.
    let second = read("calls", &[&second], 8192);
    let start = second.column_by_name("call.start").unwrap();
    assert!(start.null_count() >= 1);
}

/// IPv6 addresses in Via, URIs and Contact: with brackets where Wireshark shows them, and only there.
#[test]
fn the_host_of_via_had_the_brackets_of_ipv6() {
    let message = b"REGISTER sip:[2001:db8::10]:5070 SIP/2.0\r\n\
        Via: SIP/2.0/UDP [2001:db8::9:1]:5062;branch=z9hG4bKas3;received=[2001:db8::9:255]\r\n\
        From: <sip:u@[2001:db8::1]:5066>;tag=81x2\r\nTo: <sip:u@[2001:db8::2]>\r\n\
        Call-ID: SSG@[2001:db8::3]\r\nContact: \"C\" <sip:c@[2001:db8::4]:5064>\r\n\
        CSeq: 98176 REGISTER\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n";
    let plain = String::from_utf8_lossy(message).replace("[2001:db8::9:1]", "192.0.2.9");
    let (from, to) = (
        "2001:db8::1".parse().unwrap(),
        "2001:db8::2".parse().unwrap(),
    );
    let packets = [&message[..], plain.as_bytes()].map(|message| {
        let datagram = udp(IpAddr::V6(from), IpAddr::V6(to), 5060, 5060, message);
        Ipv6::new(from, to, protocol::UDP).packet(&datagram)
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("v6.pcap");
    crate::wire::write(&packets, &path);
    let batch = read("sip", &[&path], 100);
    let hosts = column(&batch, "sip.via.sent_by.address");
    assert_eq!(hosts, ["2001:db8::9:1", "192.0.2.9"]);
    assert_eq!(column(&batch, "sip.via.sent_by.port"), ["5062", "5062"]);
    if !tshark::is_installed() {
        weir_testkit::missing("tshark", "nothing judges the hosts of sip");
        return;
    }
    let hosts = || {
        let is_of_host = |name: &str| {
            name.ends_with("host") || name.ends_with("port") || name.contains("sent_by")
        };
        SAME.iter().filter(move |(ours, _)| is_of_host(ours))
    };
    let fields: Vec<String> = hosts().map(|(_, field)| (*field).to_owned()).collect();
    let rows = tshark::rows(&path, &fields, &[]).unwrap();
    let theirs: Vec<Vec<&str>> = rows.iter().collect();
    for (at, (ours, field)) in hosts().enumerate() {
        for (row, value) in column(&batch, ours).iter().enumerate() {
            assert_eq!(value, theirs[row][at], "message {row}: {field}");
        }
    }
}

/// The code of a response of no class (RFC 3261, 7.2) was NULL, and the call that it ended was one that waited for an answer.
#[test]
fn a_status_code_of_no_class_was_null() {
    let message = |start: &str| {
        format!(
            "{start}\r\nVia: SIP/2.0/UDP 10.0.0.1;branch=z9hG4bK1\r\nFrom: <sip:a@x>;tag=a\r\nTo: <sip:b@x>;tag=b\r\n\
             Call-ID: c\r\nCSeq: 1 INVITE\r\nContent-Length: 0\r\n\r\n"
        )
    };
    let (from, to) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let packet = |from: Ipv4Addr, to: Ipv4Addr, message: &str| {
        let datagram = udp(from.into(), to.into(), 5060, 5060, message.as_bytes());
        Ipv4::new(from, to, protocol::UDP).packet(&datagram)
    };
    let invite = message("INVITE sip:b@x SIP/2.0").replace(";tag=b", "");
    for (digits, code, state, status) in [
        ("999", "999", "rejected", "999"),
        ("700", "700", "rejected", "700"),
        ("099", "99", "trying", ""),
        ("000", "0", "trying", ""),
        ("0", "", "trying", ""),
        ("0200", "", "trying", ""),
        ("2000", "", "trying", ""),
    ] {
        let response = message(&format!("SIP/2.0 {digits} Why"));
        let packets = [packet(from, to, &invite), packet(to, from, &response)];
        let (messages, _) = rows("sip", &packets, &["sip.status_code", "sip.faults"]);
        assert_eq!(messages[1][0], code, "{digits}");
        let fault = "the status code is not between 100 and 699";
        assert!(messages[1][1].contains(fault), "{digits}: {messages:?}");
        let (calls, _) = rows("calls", &packets, &["call.state", "call.status"]);
        assert_eq!(calls, [[state, status]], "{digits}");
    }
}

/// A caller needed 32.4 seconds for the password: the table has one call, refused at the second attempt.
#[test]
fn a_challenged_call_was_two_when_the_answer_took_long() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/captures/found/sngrep-aaa.pcap");
    if !path.exists() {
        weir_testkit::missing("captures", &path.display().to_string());
        return;
    }
    let (calls, _) = read_with_notes("calls", &[&path], 100);
    let ids = column(&calls, "sip.call_id");
    let rows: Vec<usize> = (0..ids.len())
        .filter(|row| ids[*row] == "85216695-42dcdb1d@192.168.1.2")
        .collect();
    let [row] = rows[..] else {
        panic!("{} calls", rows.len())
    };
    let of = |name: &str| column(&calls, name)[row].clone();
    assert_eq!(
        (of("call.attempts").as_str(), of("call.status").as_str()),
        ("2", "403")
    );
    // No two calls here have the same Call-ID.
    let distinct: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len(), "{ids:?}");
}
