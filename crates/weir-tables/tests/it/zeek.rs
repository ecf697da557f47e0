//! Comparison with Zeek: the captures of its own tests, and the `sip.log` and `websocket.log` that they expect.
//!
//! Those beside the checkout are always compared, and all others in Zeek's sources with
//! `WEIR_ZEEK=…/zeek/testing/btest cargo test -p weir-tables zeek`. Nothing of them is copied here. `sip` and
//! `websocket` have a row a message; here rows are joined as Zeek's scripts do, which log a request with its answer,
//! and a WebSocket connection: `docs/reference/zeek-differences.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::DataType;
use weir_testkit::zeek::{self, Row};

use crate::sip::{column, read_with_notes};

/// Fields of `sip.log` that mean the same here.
const SIP: &[&str] = &[
    "id.orig_h",
    "id.orig_p",
    "id.resp_h",
    "id.resp_p",
    "method",
    "uri",
    "request_from",
    "request_to",
    "response_from",
    "response_to",
    "call_id",
    "seq",
    "request_path",
    "response_path",
    "user_agent",
    "status_code",
    "status_msg",
    "request_body_len",
    "response_body_len",
    "content_type",
];

/// The fields of `websocket.log` that mean the same here.
const WEBSOCKET: &[&str] = &[
    "id.orig_h",
    "id.orig_p",
    "id.resp_h",
    "id.resp_p",
    "host",
    "uri",
    "server_extensions",
];

/// The rows of a table, by the names of some columns.
fn messages(batch: &RecordBatch, names: &[&str]) -> Vec<Row> {
    let mut rows = vec![Row::new(); batch.num_rows()];
    for name in names {
        let values = match batch.column_by_name(name).unwrap().data_type() {
            DataType::BinaryView => addresses(batch, name),
            _ => column(batch, name),
        };
        for (row, value) in rows.iter_mut().zip(values) {
            row.insert((*name).to_owned(), value);
        }
    }
    rows
}

/// A column of addresses as text.
fn addresses(batch: &RecordBatch, name: &str) -> Vec<String> {
    let array = batch.column_by_name(name).unwrap().as_binary_view();
    let text = |bytes: &[u8]| match (<[u8; 4]>::try_from(bytes), <[u8; 16]>::try_from(bytes)) {
        (Ok(v4), _) => IpAddr::from(v4).to_string(),
        (_, Ok(v6)) => IpAddr::from(v6).to_string(),
        _ => String::new(),
    };
    array
        .iter()
        .map(|bytes| bytes.map_or_else(String::new, text))
        .collect()
}

/// The ends of a message's connection, by Zeek's names.
fn ends(message: &Row, from_originator: bool) -> Row {
    let (originator, responder) = match from_originator {
        true => ("src", "dst"),
        false => ("dst", "src"),
    };
    [("orig", originator), ("resp", responder)]
        .into_iter()
        .flat_map(|(end, side)| {
            [("h", "addr"), ("p", "port")].map(|(field, column)| {
                let value = message[&format!("{column}.{side}")].clone();
                (format!("id.{end}_{field}"), value)
            })
        })
        .collect()
}

/// Returns the rows that Zeek's `base/protocols/sip/main.zeek` logs of these messages. Its analyzer takes messages of
/// the originator for requests, and those of the other direction for responses.
fn sip_log(messages: &[Row]) -> Vec<Row> {
    /// A connection: its originator, and the request that waits for an answer.
    struct Connection {
        originator: String,
        pending: Option<Row>,
    }
    let mut log = Vec::new();
    let mut connections: BTreeMap<&str, Connection> = BTreeMap::new();
    for message in messages {
        let end = format!("{} {}", message["addr.src"], message["port.src"]);
        let connection = connections
            .entry(&message["flow.id"])
            .or_insert_with(|| Connection {
                originator: end.clone(),
                pending: None,
            });
        let from_originator = connection.originator == end;
        let is_request = !message["sip.method"].is_empty();
        if from_originator != is_request {
            continue;
        }
        let info = connection
            .pending
            .get_or_insert_with(|| ends(message, from_originator));
        let mut set = |field: &str, value: &str| {
            if !value.is_empty() {
                info.insert(field.to_owned(), value.to_owned());
            }
        };
        let without_tag = |value: &str| {
            let end = value.find(";tag=").or_else(|| value.find("; tag="));
            value[..end.unwrap_or(value.len())].to_owned()
        };
        let way = if is_request { "request" } else { "response" };
        set(&format!("{way}_from"), &without_tag(&message["sip.from"]));
        set(&format!("{way}_to"), &message["sip.to"]);
        set(&format!("{way}_body_len"), &message["sip.content_length"]);
        if is_request {
            set("method", &message["sip.method"]);
            set("uri", &message["sip.r_uri"]);
            set("call_id", &message["sip.call_id"]);
            set("seq", &message["sip.cseq"]);
            set("user_agent", &message["sip.user_agent"]);
        } else {
            set("status_code", &message["sip.status_code"]);
            set("status_msg", &message["sip.reason_phrase"]);
            set("content_type", &message["sip.content_type"]);
        }
        // Copies of a request share a line, with the Via of each.
        let via = &message["sip.via"];
        if !via.is_empty() {
            let end = via.find(";branch").or_else(|| via.find("; branch"));
            let via = &via[..end.unwrap_or(via.len())];
            let path = info.entry(format!("{way}_path")).or_default();
            *path = if path.is_empty() {
                via.to_owned()
            } else {
                format!("{path},{via}")
            };
        }
        if is_request {
            continue;
        }
        log.push(info.clone());
        let status: u16 = message["sip.status_code"].parse().unwrap_or(0);
        if status >= 200 || !info.contains_key("method") {
            connection.pending = None;
        }
    }
    log.extend(connections.into_values().filter_map(|it| it.pending));
    log
}

/// Returns the rows that Zeek logs of the connections that these messages came on.
fn websocket_log(messages: &[Row]) -> Vec<Row> {
    let mut seen = BTreeSet::new();
    messages
        .iter()
        .filter(|message| seen.insert(message["websocket.connection"].clone()))
        .map(|message| {
            let mut row = ends(message, message["websocket.direction"] == "to_server");
            for (field, column) in [
                ("host", "websocket.host"),
                ("uri", "websocket.target"),
                ("server_extensions", "websocket.extensions"),
            ] {
                row.insert(field.to_owned(), message[column].clone());
            }
            row
        })
        .collect()
}

/// Fields of a row, where the other has them, as one text.
fn line(row: &Row, fields: &[&str]) -> String {
    let values = fields.iter().map(|field| {
        let value = row.get(*field).map_or("", String::as_str);
        let is_set = !matches!(value, "-" | "(empty)");
        format!("{field}={}", if is_set { value } else { "" })
    });
    values.collect::<Vec<_>>().join("\t")
}

/// Compares all tests of Zeek that expect a log, and fails when lines differ.
fn compare(
    log: &str,
    table: &str,
    columns: &[&str],
    fields: &[&str],
    ours: fn(&[Row]) -> Vec<Row>,
) {
    let cases = zeek::cases(log, &format!("messages with Zeek's {log}")).unwrap();
    if cases.is_empty() {
        return;
    }
    let (mut agreed, mut different) = (0, Vec::new());
    for case in &cases {
        let Some(first) = case.expected.first() else {
            continue;
        };
        let fields: Vec<&str> = fields
            .iter()
            .copied()
            .filter(|field| first.contains_key(*field))
            .collect();
        let (batch, _) = read_with_notes(table, &[&case.capture], 100_000);
        let mut found: Vec<String> = ours(&messages(&batch, columns))
            .iter()
            .map(|row| line(row, &fields))
            .collect();
        for row in &case.expected {
            let expected = line(row, &fields);
            match found.iter().position(|found| *found == expected) {
                Some(index) => {
                    agreed += 1;
                    found.remove(index);
                }
                None => different.push(format!("{}: only Zeek's: {expected}", case.name)),
            }
        }
        for line in found {
            different.push(format!("{}: only ours: {line}", case.name));
        }
    }
    println!(
        "{log}: {} tests, {agreed} lines agree in {} fields, {} do not",
        cases.len(),
        fields.len(),
        different.len()
    );
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(agreed > 0, "no test of Zeek was found");
}

#[test]
fn messages_are_those_of_zeeks_sip_log() {
    let columns = [
        "flow.id",
        "addr.src",
        "addr.dst",
        "port.src",
        "port.dst",
        "sip.method",
        "sip.r_uri",
        "sip.from",
        "sip.to",
        "sip.call_id",
        "sip.cseq",
        "sip.via",
        "sip.user_agent",
        "sip.status_code",
        "sip.reason_phrase",
        "sip.content_length",
        "sip.content_type",
    ];
    compare("sip.log", "sip", &columns, SIP, sip_log);
}

#[test]
fn connections_are_those_of_zeeks_websocket_log() {
    let columns = [
        "websocket.connection",
        "websocket.direction",
        "addr.src",
        "addr.dst",
        "port.src",
        "port.dst",
        "websocket.host",
        "websocket.target",
        "websocket.extensions",
    ];
    let fields = WEBSOCKET;
    compare(
        "websocket.log",
        "websocket",
        &columns,
        fields,
        websocket_log,
    );
}
