//! `lookups`, `tls`, `http` and `snmp` against the logs that Zeek's own tests expect, for the selection of them beside
//! the checkout: line by line, field by field.
//!
//! Differences must be listed by test and field, with a reason; the test fails as well when an entry is no longer
//! needed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::DataType;
use weir_testkit::zeek::{self, Row};

use crate::fields::texts;
use crate::sip::read_with_notes;

/// A field of a log with the function that gives its value from our columns; `-` when it is not set.
type LogField = (&'static str, fn(&LogRow<'_>) -> String);

/// The values of a row.
struct LogRow<'b> {
    columns: &'b BTreeMap<String, Vec<Vec<String>>>,
    row: usize,
}

impl LogRow<'_> {
    fn list(&self, name: &str) -> &[String] {
        &self.columns[name][self.row]
    }

    /// A value; `-` for NULL.
    fn text(&self, name: &str) -> String {
        self.list(name)
            .first()
            .map_or_else(|| "-".to_owned(), Clone::clone)
    }

    fn flag(&self, name: &str) -> String {
        if self.text(name) == "true" { "T" } else { "F" }.to_owned()
    }

    /// An address.
    fn address(&self, name: &str) -> String {
        let digits = self.text(name);
        let octets: Vec<u8> = (0..digits.len() / 2)
            .map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap())
            .collect();
        if let Ok(v4) = <[u8; 4]>::try_from(octets.as_slice()) {
            return IpAddr::from(v4).to_string();
        }
        IpAddr::from(<[u8; 16]>::try_from(octets.as_slice()).unwrap()).to_string()
    }

    fn joined(&self, name: &str) -> String {
        match self.list(name) {
            [] => "-".to_owned(),
            all => all.join(","),
        }
    }
}

/// The ends, as all logs have them.
const ENDS: &[LogField] = &[
    ("id.orig_h", |v| v.address("addr.src")),
    ("id.orig_p", |v| v.text("port.src")),
    ("id.resp_h", |v| v.address("addr.dst")),
    ("id.resp_p", |v| v.text("port.dst")),
];

/// All columns of a table as texts.
fn columns(batch: &RecordBatch) -> BTreeMap<String, Vec<Vec<String>>> {
    let schema = batch.schema();
    let fields = schema.fields().iter();
    fields
        .map(|field| (field.name().clone(), texts(batch, field.name())))
        .collect()
}

/// Compares the tests that expect a log. `is_line` returns whether a row is a line of it.
fn compare(
    log: &str,
    table: &str,
    fields: &[LogField],
    is_line: fn(&LogRow<'_>) -> bool,
    differences: &[(&str, &str, &str)],
) {
    let cases = zeek::cases(log, &format!("{table} with Zeek's {log}")).unwrap();
    if cases.is_empty() {
        return;
    }
    let mut different: BTreeMap<(String, String), String> = BTreeMap::new();
    let (mut lines, mut values, mut unequal) = (0, 0, 0);
    for case in &cases {
        let Some(first) = case.expected.first() else {
            continue;
        };
        let (batch, _) = read_with_notes(table, &[&case.capture], 100_000);
        let columns = columns(&batch);
        let mut ours: Vec<Row> = (0..batch.num_rows())
            .map(|row| LogRow {
                columns: &columns,
                row,
            })
            .filter(is_line)
            .map(|values| {
                let all = ENDS.iter().chain(fields);
                all.map(|(name, get)| ((*name).to_owned(), get(&values)))
                    .collect()
            })
            .collect();
        let names: Vec<&str> = ENDS
            .iter()
            .chain(fields)
            .map(|(name, _)| *name)
            .filter(|name| first.contains_key(*name))
            .collect();
        for theirs in &case.expected {
            lines += 1;
            values += names.len();
            // This is the line with the most equal fields.
            let same = |ours: &Row| {
                names
                    .iter()
                    .filter(|name| is_same(&ours[**name], &theirs[**name]))
                    .count()
            };
            let best = (0..ours.len()).max_by_key(|at| (same(&ours[*at]), std::cmp::Reverse(*at)));
            let Some(best) = best.filter(|at| same(&ours[*at]) * 2 > names.len()) else {
                unequal += names.len();
                different.insert(
                    (case.name.clone(), "a line".to_owned()),
                    format!("only Zeek's: {theirs:?}"),
                );
                continue;
            };
            let ours = ours.remove(best);
            for name in &names {
                if !is_same(&ours[*name], &theirs[*name]) {
                    unequal += 1;
                    let difference = format!("{name} is {}, ours {}", theirs[*name], ours[*name]);
                    different.insert((case.name.clone(), (*name).to_owned()), difference);
                }
            }
        }
        for ours in ours {
            unequal += names.len();
            values += names.len();
            different.insert(
                (case.name.clone(), "a row".to_owned()),
                format!("only ours: {ours:?}"),
            );
        }
    }
    println!(
        "{log}: {} tests, {lines} lines, {unequal} of {values} values differ",
        cases.len()
    );
    let is_for = |entry: &(&str, &str, &str), key: &(String, String)| {
        key.0.ends_with(entry.0) && key.1 == entry.1
    };
    let unlisted: Vec<String> = different
        .iter()
        .filter(|(key, _)| !differences.iter().any(|entry| is_for(entry, key)))
        .map(|((case, field), difference)| format!("{case}\t{field}\t{difference}"))
        .collect();
    assert!(
        unlisted.is_empty(),
        "{} not listed:\n{}",
        unlisted.len(),
        unlisted.join("\n")
    );
    let needed: BTreeSet<_> = differences
        .iter()
        .filter(|entry| !different.keys().any(|key| is_for(entry, key)))
        .collect();
    assert!(needed.is_empty(), "no longer needed: {needed:?}");
    assert!(lines > 3, "{lines} lines");
}

/// Returns whether both values are the same, with times compared to the microsecond.
fn is_same(ours: &str, theirs: &str) -> bool {
    let theirs = if theirs == "(empty)" { "-" } else { theirs };
    let (ours, theirs) = (ours.split(','), theirs.split(','));
    let (ours, theirs): (Vec<&str>, Vec<&str>) = (ours.collect(), theirs.collect());
    ours.len() == theirs.len()
        && ours.iter().zip(&theirs).all(|(ours, theirs)| {
            let close = |(a, b): (f64, f64)| (a - b).abs() < 1.5e-6;
            ours == theirs
                || theirs.contains('.')
                    && ours
                        .parse()
                        .ok()
                        .zip(theirs.parse().ok())
                        .is_some_and(close)
        })
}

#[test]
fn lookups_are_those_of_zeeks_dns_log() {
    compare("dns.log", "lookups", DNS, |_| true, DNS_DIFFERENCES);
}

const DNS: &[LogField] = &[
    ("proto", |v| v.text("proto")),
    ("trans_id", |v| v.text("lookup.trans_id")),
    // Zeek measures the time to the first record of an answer.
    ("rtt", |v| match v.list("lookup.answers") {
        [] => "-".to_owned(),
        _ => v.text("lookup.rtt"),
    }),
    ("query", |v| v.text("lookup.query")),
    ("qclass", |v| of_question(v, "lookup.qclass")),
    ("qclass_name", |v| of_question(v, "lookup.qclass_name")),
    ("qtype", |v| of_question(v, "lookup.qtype")),
    ("qtype_name", |v| of_question(v, "lookup.qtype_name")),
    ("rcode", |v| v.text("lookup.rcode")),
    ("rcode_name", |v| v.text("lookup.rcode_name")),
    ("AA", |v| v.flag("lookup.aa")),
    ("TC", |v| v.flag("lookup.tc")),
    // Zeek has these flags of questions only.
    ("RD", |v| match v.list("lookup.question_frame") {
        [] => "F".to_owned(),
        _ => v.flag("lookup.rd"),
    }),
    ("RA", |v| v.flag("lookup.ra")),
    ("Z", |v| match v.list("lookup.z") {
        [] => "0".to_owned(),
        _ => v.text("lookup.z"),
    }),
    ("answers", |v| v.joined("lookup.answers")),
    ("TTLs", |v| v.joined("lookup.ttls")),
    ("rejected", |v| v.flag("lookup.rejected")),
    ("opcode", |v| v.text("lookup.opcode")),
    ("opcode_name", |v| v.text("lookup.opcode_name")),
];

/// Zeek logs only the name of an answer whose question was not seen.
fn of_question(values: &LogRow<'_>, name: &str) -> String {
    match values.list("lookup.question_frame") {
        [] => "-".to_owned(),
        _ => values.text(name),
    }
}

const WITH_RECORDS: &str =
    "Zeek takes flags and the name of an answer from its records, of which there are none";

const SPF: &str = "Zeek does not put the question, of the type SPF, to its answer";

const DNS_DIFFERENCES: &[(&str, &str, &str)] = &[
    ("core.tunnels.gre-pptp", "RA", WITH_RECORDS),
    ("dns.notify", "AA", WITH_RECORDS),
    ("dns.notify", "query", WITH_RECORDS),
    ("dns.zero-responses", "AA", WITH_RECORDS),
    ("dns.spf", "RD", SPF),
    ("dns.spf", "Z", SPF),
    ("dns.spf", "qclass", SPF),
    ("dns.spf", "qclass_name", SPF),
    ("dns.spf", "qtype", SPF),
    ("dns.spf", "qtype_name", SPF),
    ("dns.spf", "rtt", SPF),
];

#[test]
fn handshakes_are_those_of_zeeks_ssl_log() {
    compare("ssl.log", "tls", SSL, |_| true, SSL_DIFFERENCES);
}

const SSL: &[LogField] = &[
    ("version", |v| v.text("tls.version")),
    ("cipher", |v| v.text("tls.cipher")),
    ("curve", |v| v.text("tls.curve")),
    ("server_name", |v| {
        v.text("tls.handshake.extensions_server_name")
    }),
    ("resumed", |v| v.flag("tls.resumed")),
    ("last_alert", |v| v.text("tls.last_alert")),
    ("next_protocol", |v| v.text("tls.next_protocol")),
    ("established", |v| v.flag("tls.established")),
    ("cert_chain_fps", |v| v.joined("tls.cert_chain_fps")),
];

const SSL_DIFFERENCES: &[(&str, &str, &str)] = &[];

#[test]
fn certificates_are_those_of_zeeks_x509_log() {
    let cases = zeek::cases("x509.log", "certificates with Zeek's x509.log").unwrap();
    if cases.is_empty() {
        return;
    }
    let mut compared = 0;
    for case in &cases {
        let (batch, _) = read_with_notes("tls", &[&case.capture], 100_000);
        let columns = columns(&batch);
        for row in 0..batch.num_rows() {
            let ours = LogRow {
                columns: &columns,
                row,
            };
            let fingerprint = ours.text("x509.fingerprint");
            let theirs = case
                .expected
                .iter()
                .find(|it| it.get("fingerprint") == Some(&fingerprint));
            let Some(theirs) = theirs else { continue };
            compared += 1;
            for (field, value) in [
                (
                    "certificate.serial",
                    ours.text("x509.serial").trim_start_matches("00").to_owned(),
                ),
                ("certificate.subject", ours.text("x509.subject")),
                ("certificate.issuer", ours.text("x509.issuer")),
                ("certificate.key_type", ours.text("x509.key_type")),
                ("certificate.key_length", ours.text("x509.key_length")),
                ("certificate.sig_alg", ours.text("x509.sig_alg")),
                ("san.dns", ours.joined("x509.san.dns")),
                ("san.ip", ours.joined("x509.san.ip")),
            ] {
                if let Some(theirs) = theirs.get(field) {
                    let theirs = theirs.trim_start_matches("00");
                    assert_eq!(
                        value.to_lowercase(),
                        theirs.to_lowercase(),
                        "{}: {field}",
                        case.name
                    );
                }
            }
        }
    }
    assert!(compared >= 2, "{compared} certificates");
}

#[test]
fn exchanges_are_those_of_zeeks_http_log() {
    compare("http.log", "http", HTTP, |_| true, HTTP_DIFFERENCES);
}

const HTTP: &[LogField] = &[
    ("trans_depth", |v| v.text("http.trans_depth")),
    ("method", |v| v.text("http.request.method")),
    ("host", |v| v.text("http.host")),
    ("uri", |v| v.text("http.request.uri")),
    ("referrer", |v| v.text("http.referer")),
    // The version of the response, where there is one.
    ("version", |v| match v.list("http.response.version") {
        [] => "-".to_owned(),
        all => all[0].trim_start_matches("HTTP/").to_owned(),
    }),
    ("user_agent", |v| v.text("http.user_agent")),
    ("origin", |v| v.text("http.origin")),
    ("request_body_len", |v| {
        v.text("http.request.body_len").replace('-', "0")
    }),
    ("response_body_len", |v| {
        v.text("http.response.body_len").replace('-', "0")
    }),
    ("status_code", |v| v.text("http.response.code")),
    ("status_msg", |v| v.text("http.response.phrase")),
    ("info_code", |v| v.text("http.info_code")),
    ("username", |v| v.text("http.username")),
];

const INFLATED: &str = "Zeek counts what a compressed body inflates to";

const ZERO_NINE: &str = "an answer of HTTP/0.9 has no status, and all that comes is its body";

const HTTP_DIFFERENCES: &[(&str, &str, &str)] = &[
    (
        "http.http-09-content-length-confusion",
        "status_code",
        ZERO_NINE,
    ),
    (
        "http.http-09-content-length-confusion",
        "status_msg",
        ZERO_NINE,
    ),
    (
        "http.http-09-content-length-confusion",
        "response_body_len",
        ZERO_NINE,
    ),
    ("http.missing-zlib-header", "response_body_len", INFLATED),
    ("http.x-gzip", "response_body_len", INFLATED),
    ("ssl.decryption", "a line", "key logs are not read"),
];

#[test]
fn first_packets_are_those_of_zeeks_quic_log() {
    let is_quic = |values: &LogRow<'_>| values.text("tls.carrier") == "quic";
    compare("quic.log", "tls", QUIC, is_quic, QUIC_DIFFERENCES);
}

/// Zeek's history has a letter for each packet, which a row of a handshake has not.
const QUIC: &[LogField] = &[
    ("version", |v| v.text("quic.version")),
    ("client_initial_dcid", |v| of_quic(v, "quic.dcid")),
    ("client_scid", |v| of_quic(v, "quic.scid")),
    ("server_scid", |v| of_quic(v, "quic.server_scid")),
    ("server_name", |v| {
        v.text("tls.handshake.extensions_server_name")
    }),
    // Zeek logs the first protocol that the client offers.
    ("client_protocol", |v| {
        v.text("tls.handshake.extensions_alpn_str")
    }),
];

/// An identifier; Zeek writes `(empty)` for the empty one.
fn of_quic(values: &LogRow<'_>, name: &str) -> String {
    match values.text(name) {
        empty if empty.is_empty() => "-".to_owned(),
        id => id,
    }
}

const QUIC_DIFFERENCES: &[(&str, &str, &str)] = &[(
    "quic.vector-max-size-crash",
    "a line",
    "an unknown version: there is no handshake to read",
)];

/// A line of Zeek is a connection, and counts its messages, with requests for the next variable.
#[test]
fn messages_are_counted_as_in_zeeks_snmp_log() {
    let cases = zeek::cases("snmp.log", "snmp with Zeek's snmp.log").unwrap();
    let mut compared = 0;
    for case in &cases {
        let (batch, _) = read_with_notes("snmp", &[&case.capture], 100_000);
        let columns = columns(&batch);
        let rows = || {
            (0..batch.num_rows()).map(|row| LogRow {
                columns: &columns,
                row,
            })
        };
        for theirs in &case.expected {
            let of_line = |values: &LogRow<'_>| {
                let ports = [values.text("port.src"), values.text("port.dst")];
                ports.contains(&theirs["id.orig_p"]) && ports.contains(&theirs["id.resp_p"])
            };
            let has_user = |user: &str| !["-", ""].contains(&user);
            let count = |kinds: &[&str]| {
                // Zeek does not count the request for an engine's name, whose user is empty.
                let all = rows().filter(of_line);
                let all = all.filter(|it| has_user(&it.text("snmp.msgusername")));
                let of_kind = all.filter(|it| kinds.contains(&&*it.text("snmp.data")));
                of_kind.count().to_string()
            };
            let user = rows()
                .filter(of_line)
                .map(|it| it.text("snmp.msgusername"))
                .find(|user| has_user(user));
            let version = rows().find(of_line).map(|it| it.text("snmp.version"));
            assert_eq!(version.as_ref(), Some(&theirs["version"]), "{}", case.name);
            assert_eq!(user.as_ref(), Some(&theirs["community"]), "{}", case.name);
            assert_eq!(count(&["0", "1"]), theirs["get_requests"], "{}", case.name);
            assert_eq!(count(&["5"]), theirs["get_bulk_requests"], "{}", case.name);
            assert_eq!(count(&["2"]), theirs["get_responses"], "{}", case.name);
            assert_eq!(count(&["3"]), theirs["set_requests"], "{}", case.name);
            compared += 1;
        }
    }
    assert!(compared > 0 || cases.is_empty());
}

/// The columns that are compared as lists have a list type.
#[test]
fn lists_are_lists() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.pcap");
    crate::wire::write(&[], &path);
    let (batch, _) = read_with_notes("dns", &[&path], 10);
    let field = batch.schema().field_with_name("dns.a").unwrap().clone();
    assert!(matches!(field.data_type(), DataType::List(_)));
    assert_eq!(
        batch
            .column_by_name("dns.a")
            .unwrap()
            .as_list::<i32>()
            .len(),
        0
    );
}
