//! The list of functions.

use std::collections::BTreeMap;

use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::Documentation;
use weir_tables::EXTRACTIONS;

use crate::clock;
use crate::duration;
use crate::error::{Condition, Error, ErrorKind};
use crate::interval;
use crate::lists;
use crate::nested;
use crate::no_row;
use crate::number;
use crate::payload;
use crate::replacement;
use crate::scaled;
use crate::similar::similar;

/// A function of SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionEntry {
    /// The name.
    pub name: String,
    /// The kind: `row`, `aggregate`, `window` or `table`.
    pub kind: &'static str,
    /// An example of a call.
    pub example: String,
    /// The meaning, in one line.
    pub meaning: String,
}

/// All functions, in the order of their names.
pub fn all(state: &SessionState) -> Vec<FunctionEntry> {
    let mut all = BTreeMap::new();
    let mut add = |kind: &'static str, name: &str, documentation: Option<&Documentation>| {
        let own = OWN.iter().find(|(known, ..)| *known == name);
        let (example, meaning) = match (own, documentation) {
            (Some((_, example, meaning)), _) => ((*example).to_owned(), (*meaning).to_owned()),
            (None, Some(documentation)) => (
                documentation.syntax_example.clone(),
                first_line(&documentation.description),
            ),
            (None, None) => (format!("{name}(…)"), String::new()),
        };
        let entry = FunctionEntry {
            name: name.to_owned(),
            kind,
            example,
            meaning,
        };
        all.entry((name.to_owned(), kind)).or_insert(entry);
    };
    let scalars = state.scalar_functions().iter();
    for (name, function) in scalars.filter(|(name, _)| !INTERNAL.contains(&name.as_str())) {
        add("row", name, function.documentation());
    }
    for (name, function) in state.aggregate_functions() {
        add("aggregate", name, function.documentation());
    }
    for (name, function) in state.window_functions() {
        add("window", name, function.documentation());
    }
    for name in TABLES {
        add("table", name, None);
    }
    let mut all: Vec<FunctionEntry> = all.into_values().collect();
    for extraction in EXTRACTIONS {
        all.push(FunctionEntry {
            name: extraction.name.to_owned(),
            kind: "table",
            example: format!("SELECT * FROM {}('trace.pcap')", extraction.name),
            meaning: extraction.doc.to_owned(),
        });
    }
    all.sort_by(|a, b| (&a.name, a.kind).cmp(&(&b.name, b.kind)));
    all
}

/// The error of a name that is not a function.
pub fn unknown(state: &SessionState, name: &str) -> Error {
    let windows = state.window_functions();
    if windows.contains_key(&name.to_lowercase()) {
        let message = format!("{name} is a function of windows, and has no OVER here");
        let hint = format!("{name}(…) OVER (ORDER BY frame.number)");
        let made = Error::new(ErrorKind::Plan, message).with_hint(hint);
        return made.with_condition(Condition::Windowing);
    }
    let scalars = state.scalar_functions().keys();
    let aggregates = state.aggregate_functions().keys();
    let windows = state.window_functions().keys();
    let names = scalars.chain(aggregates).chain(windows);
    let mut near = similar(name, names.map(String::as_str));
    let meant = ELSEWHERE
        .iter()
        .filter(|(other, _)| other.eq_ignore_ascii_case(name));
    near.splice(0..0, meant.map(|(_, own)| *own));
    let hint = match near.as_slice() {
        [] => "SHOW FUNCTIONS lists the functions".to_owned(),
        near => format!("did you mean {}? SHOW FUNCTIONS lists all", near.join(", ")),
    };
    Error::new(ErrorKind::Plan, format!("no function named {name}"))
        .with_hint(hint)
        .with_condition(Condition::UndefinedFunction)
}

/// Names that other systems have for what is here.
const ELSEWHERE: &[(&str, &str)] = &[
    ("age", "a - b"),
    ("approx_count_distinct", "approx_distinct"),
    (
        "approx_quantile",
        "approx_percentile_cont(0.95) WITHIN GROUP (ORDER BY a)",
    ),
    ("arg_max", "last_value(a ORDER BY b)"),
    ("arg_min", "first_value(a ORDER BY b)"),
    ("argmax", "last_value(a ORDER BY b)"),
    ("argmin", "first_value(a ORDER BY b)"),
    ("charindex", "strpos(a, 'b')"),
    ("count_if", "count(*) FILTER (WHERE a > 0)"),
    ("countif", "count(*) FILTER (WHERE a > 0)"),
    ("date_add", "a + INTERVAL '1 day'"),
    ("date_diff", "extract(epoch FROM a - b)"),
    ("dateadd", "a + INTERVAL '1 day'"),
    ("datediff", "extract(epoch FROM a - b)"),
    ("epoch", "extract(epoch FROM a)"),
    ("epoch_ms", "extract(epoch FROM a) * 1000"),
    ("first", "first_value(a ORDER BY b)"),
    ("format_bytes", "as_size"),
    ("formatreadablesize", "as_size"),
    ("from_base64", "decode(a, 'base64')"),
    ("from_hex", "decode(a, 'hex')"),
    ("gen_random_uuid", "uuid()"),
    ("getdate", "now()"),
    ("group_concat", "string_agg(a, ',')"),
    ("host", "address_text"),
    ("human", "as_size, as_duration"),
    ("human_readable", "as_size, as_duration"),
    ("humanize", "as_size, as_duration"),
    ("if", "CASE WHEN a > 0 THEN b ELSE c END"),
    ("iif", "CASE WHEN a > 0 THEN b ELSE c END"),
    ("inet_aton", "address"),
    ("inet_ntoa", "address_text"),
    ("isnull", "a IS NULL"),
    ("json_extract", "a -> 'b'"),
    ("last", "last_value(a ORDER BY b)"),
    ("lcase", "lower"),
    ("len", "length"),
    ("list", "array_agg"),
    ("list_agg", "array_agg"),
    ("listagg", "string_agg(a, ',')"),
    ("max_by", "last_value(a ORDER BY b)"),
    ("min_by", "first_value(a ORDER BY b)"),
    ("mode", "GROUP BY a ORDER BY count(*) DESC LIMIT 1"),
    (
        "percentile",
        "percentile_cont(0.95) WITHIN GROUP (ORDER BY a)",
    ),
    ("pg_size_pretty", "as_size"),
    ("pg_typeof", "arrow_typeof"),
    (
        "quantile",
        "percentile_cont(0.95) WITHIN GROUP (ORDER BY a)",
    ),
    ("regexp_extract", "regexp_match(a, 'pattern')[1]"),
    ("regexp_substr", "regexp_match(a, 'pattern')[1]"),
    ("rownum", "row_number() OVER ()"),
    ("split", "string_to_array(a, ',')"),
    ("strftime", "to_char(a, '%H:%M:%S')"),
    ("string_split", "string_to_array(a, ',')"),
    ("strlen", "length"),
    ("strptime", "to_timestamp(a, '%Y-%m-%d')"),
    ("sysdate", "now()"),
    ("time_bucket", "date_bin(INTERVAL '1 minute', a)"),
    ("to_base64", "encode(a, 'base64')"),
    ("to_seconds", "as_duration"),
    ("typeof", "arrow_typeof"),
    ("ucase", "upper"),
    ("unhex", "decode(a, 'hex')"),
];

fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    line.trim().to_owned()
}

/// The functions of this project, and some that DataFusion does not document.
const OWN: &[(&str, &str, &str)] = &[
    (
        "cidr_match",
        "cidr_match(ip.src, '10.0.0.0/8')",
        "Whether the address lies in the network",
    ),
    (
        "display_filter",
        "display_filter('tcp.port == 443 && !(ip.addr == 10.0.0.0/8)')",
        "Whether the packet matches a Wireshark display filter",
    ),
    (
        "address",
        "address('10.0.0.1')",
        "The address that a text contains; NULL if the text is not an address",
    ),
    (
        "address_text",
        "address_text(ip.src)",
        "The address as text",
    ),
    (
        "octet_length",
        "octet_length(udp.payload)",
        "Number of bytes",
    ),
    (
        "network",
        "network(ip.src, 24)",
        "The network of an address with a prefix of this length; NULL if the address has fewer bits",
    ),
    (
        "is_private",
        "is_private(ip.src)",
        "Whether an address is not routed in the Internet: private, shared, link-local or loopback",
    ),
    (
        "is_multicast",
        "is_multicast(ip.dst)",
        "Whether an address is a multicast address",
    ),
    (
        "oui",
        "oui(eth.src)",
        "The manufacturer of a network card, by the IEEE's registry of 2022-08; NULL for locally administered addresses",
    ),
    (
        "service_name",
        "service_name(port.dst, proto)",
        "Service name that IANA registered for a port; without a protocol that of TCP, or else of another",
    ),
    (
        "as_size",
        "as_size(sum(frame.len))",
        "A number of bytes: terminals show it as 18.1 GB, files have the number",
    ),
    (
        "as_duration",
        "as_duration(call.duration)",
        "A number of seconds as a duration: terminals show it as 1:30:00",
    ),
    (
        "geoip_country",
        "geoip_country(ip.src)",
        "ISO code of the country, by the database that --geoip names",
    ),
    (
        "geoip_city",
        "geoip_city(ip.src)",
        "English name of the city, by the database that --geoip names",
    ),
    (
        "asn",
        "asn(ip.src)",
        "Number of the autonomous system, by the database that --geoip names",
    ),
    (
        "as_org",
        "as_org(ip.src)",
        "Organization of the autonomous system, by the database that --geoip names",
    ),
    (
        "anonymize_ip",
        "anonymize_ip(ip.src, 'secret')",
        "An address anonymized by Crypto-PAn: common prefixes of addresses keep their length",
    ),
    (
        "json_get",
        "json_get(websocket.payload.text, 'a', 0), or ->",
        "A part of a JSON value, as JSON; numbers count elements from 0",
    ),
    (
        "json_as_text",
        "json_as_text(websocket.payload.text, 'a'), or ->>",
        "A JSON value of any type as text",
    ),
    (
        "json_get_str",
        "json_get_str(websocket.payload.text, 'name')",
        "A JSON string; NULL for values of other types",
    ),
    (
        "json_get_int",
        "json_get_int(websocket.payload.text, 'id')",
        "A JSON integer; NULL for values of other types",
    ),
    (
        "json_get_float",
        "json_get_float(mqtt.msg, 't')",
        "A JSON number; NULL for values of other types",
    ),
    (
        "json_get_bool",
        "json_get_bool(websocket.payload.text, 'ok')",
        "A JSON boolean; NULL for values of other types",
    ),
    (
        "json_contains",
        "json_contains(websocket.payload.text, 'a')",
        "Whether JSON has a key, or an element of this number",
    ),
    (
        "json_length",
        "json_length(websocket.payload.text)",
        "Number of elements of a JSON array or object",
    ),
    (
        "json_object_keys",
        "json_object_keys(websocket.payload.text)",
        "The keys of an object of JSON, as a list",
    ),
    (
        "get_byte",
        "get_byte(tcp.payload, 0)",
        "One of the bytes as a number, counted from 0; NULL beyond the end. tcp.payload[1] counts from 1",
    ),
    (
        "to_int",
        "to_int(tcp.payload[1:2])",
        "Up to eight bytes as a number, big-endian; little-endian with 'little'",
    ),
    ("hex", "hex(tcp.payload[1:4])", "Bytes as hexadecimal text"),
    (
        "printable",
        "printable(tcp.payload)",
        "Bytes as text, with a full stop for each byte that is not printable",
    ),
    (
        "contains",
        "contains(tcp.payload, 'password')",
        "Whether a text or bytes contain another",
    ),
    (
        "regexp_match",
        "regexp_match(tcp.payload, 'Host: ([^\\r]*)')[1]",
        "The matches of the groups of a regular expression, or the whole match; also in bytes",
    ),
    (
        "approx_top_k",
        "approx_top_k(ip.src, 10)",
        "The most frequent values with their counts",
    ),
    (
        "tumble",
        "GROUP BY tumble(frame.time, INTERVAL '1 minute')",
        "The window of fixed length that contains a time",
    ),
    (
        "hop",
        "GROUP BY hop(frame.time, INTERVAL '10 seconds', INTERVAL '1 minute')",
        "The overlapping windows that contain a time; one begins at each step",
    ),
    (
        "session",
        "GROUP BY session(frame.time, INTERVAL '30 seconds')",
        "The session window, which ends with a pause of this length",
    ),
    (
        "div",
        "div(frame.len, 100)",
        "Integer quotient of the first and the second, as //",
    ),
    (
        "packets",
        "SELECT * FROM packets('a.pcap', 'b.pcap', merge => true)",
        "One row per packet, as FROM 'a.pcap', with arguments",
    ),
    (
        "records",
        "SELECT * FROM records('trace.bin', 'layout.toml')",
        "One row per record of a layout of your own",
    ),
    (
        "clf",
        "SELECT * FROM clf('calls.clf')",
        "One row per record of SIP Common Log Format",
    ),
    (
        "generate_series",
        "SELECT * FROM generate_series(1, 10)",
        "Numbers or times from the first to the last, both included",
    ),
    (
        "range",
        "SELECT * FROM range(1, 10)",
        "Numbers or times from the first up to the last, which is excluded",
    ),
    (
        "count",
        "count(*), count(DISTINCT ip.src)",
        "Number of rows or values",
    ),
    ("max", "max(frame.len)", "The greatest value"),
    ("min", "min(frame.len)", "The least value"),
    ("sum", "sum(frame.len)", "The sum of the values"),
    ("avg", "avg(frame.len)", "The mean of the values"),
    (
        "percentile_cont",
        "percentile_cont(0.95) WITHIN GROUP (ORDER BY frame.len)",
        "The value below which this part of the values lies, between the two that are around it",
    ),
    (
        "coalesce",
        "coalesce(ip.src, ipv6.src)",
        "The first value that is not NULL",
    ),
    (
        "lag",
        "frame.time - lag(frame.time) OVER (ORDER BY frame.number)",
        "The value of an earlier row",
    ),
    (
        "lead",
        "lead(frame.time) OVER (ORDER BY frame.number)",
        "The value of a later row",
    ),
    ("now", "now()", "Start time of the query"),
];

/// The table functions besides those of messages.
const TABLES: &[&str] = &["packets", "records", "clf", "generate_series", "range"];

/// Functions that plans are made of, and that statements may not call.
const INTERNAL: &[&str] = &[
    "address_or_other",
    clock::INSTANT_OF_CLOCK,
    duration::INTERVAL_LENGTH,
    interval::INTERVAL_IN_WORDS,
    payload::PART,
    payload::LIKE,
    nested::NESTED_ORDER,
    number::DECIMAL_IN_ROOM,
    number::NEGATIVE,
    number::ROUND_DIGITS,
    number::TRUNC_DIGITS,
    lists::LIST_INTEGER,
    lists::SIGNED_LIST,
    lists::UNKNOWN_IN_LIST,
    lists::VALUE_OF_ROW,
    no_row::VALUE_OR_NULL,
    replacement::REGEXP_REPLACEMENT,
    scaled::INTERVAL_OVER,
    scaled::INTERVAL_TIMES,
];
