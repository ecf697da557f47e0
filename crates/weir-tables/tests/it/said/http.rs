//! `http` against tshark's http: requests and responses, each by the packet that completed its head.

use super::Comparison;

#[test]
fn tshark_reads_the_same_in_http() {
    let part = |frame, filter, fields, differences| Comparison {
        table: "http",
        frame,
        protocols: &["http"],
        filter,
        fields,
        without: None,
        // A message counts where its head ends, on any port.
        preferences: &["http.desegment_body:FALSE", "tcp.try_heuristic_first:TRUE"],
        differences,
    };
    Comparison::agree(&[
        part(
            "http.request.frame",
            "http.request && tcp && !icmp && !icmpv6",
            REQUEST,
            REQUEST_DIFFERENCES,
        ),
        part(
            "http.response.frame",
            "http.response && tcp && !icmp && !icmpv6",
            RESPONSE,
            RESPONSE_DIFFERENCES,
        ),
    ]);
}

const REQUEST: &[(&str, &str)] = &[
    ("http.request.method", "http.request.method"),
    ("http.request.uri", "http.request.uri"),
    ("http.request.version", "http.request.version"),
    ("http.host", "http.host"),
    ("http.user_agent", "http.user_agent"),
    ("http.referer", "http.referer"),
    ("http.cookie", "http.cookie"),
    ("http.accept", "http.accept"),
    ("http.accept_language", "http.accept_language"),
    ("http.accept_encoding", "http.accept_encoding"),
    ("http.authorization", "http.authorization"),
    ("http.x_forwarded_for", "http.x_forwarded_for"),
    ("http.upgrade", "http.upgrade"),
    ("http.request.content_type", "http.content_type"),
];

const RESPONSE: &[(&str, &str)] = &[
    ("http.response.code", "http.response.code"),
    ("http.response.phrase", "http.response.phrase"),
    ("http.response.version", "http.response.version"),
    ("http.server", "http.server"),
    ("http.content_type", "http.content_type"),
    ("http.content_encoding", "http.content_encoding"),
    ("http.transfer_encoding", "http.transfer_encoding"),
    ("http.location", "http.location"),
    ("http.date", "http.date"),
    ("http.last_modified", "http.last_modified"),
    ("http.cache_control", "http.cache_control"),
    ("http.set_cookie", "http.set_cookie"),
    ("http.www_authenticate", "http.www_authenticate"),
    ("http.time", "http.time"),
];

const SPACES: &str = "tshark ends a target at its first space";
const ZERO_NINE: &str = "HTTP/0.9 is not read";
const BEHIND: &str =
    "what comes behind a body of the length that its head says is no head: tshark takes it for one";

const REQUEST_DIFFERENCES: &[(&str, &str, &str)] = &[
    (
        "ndpi/tests__cfgs__default__pcap__ndpi_match_string_subprotocol__error.pcapng",
        "*",
        "segments are missing: tshark reads what comes behind at once, here it waits for them up to the capture's end",
    ),
    (
        "ndpi/tests__cfgs__default__pcap__WebattackRCE.pcap",
        "http.request.uri",
        SPACES,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__WebattackRCE.pcap",
        "http.request.version",
        SPACES,
    ),
    (
        "zeek/testing__btest__Traces__http__connect-with-smtp.pcap",
        "http.request.uri",
        SPACES,
    ),
    (
        "zeek/testing__btest__Traces__http__connect-with-smtp.pcap",
        "http.request.version",
        SPACES,
    ),
    (
        "zeek/testing__btest__Traces__http__content-length-in-request-body.pcap",
        "*",
        BEHIND,
    ),
    (
        "zeek/testing__btest__Traces__http__http-09-content-length-confusion.pcap",
        "*",
        ZERO_NINE,
    ),
];
const RESPONSE_DIFFERENCES: &[(&str, &str, &str)] = &[
    (
        "ndpi/tests__cfgs__default__pcap__http_invalid_server.pcap",
        "http.server",
        "UTF-8 in a field stays UTF-8",
    ),
    (
        "ndpi/tests__cfgs__default__pcap__ndpi_match_string_subprotocol__error.pcapng",
        "*",
        "a version that is none",
    ),
    (
        "zeek/testing__btest__Traces__http__content-length-in-request-body.pcap",
        "*",
        BEHIND,
    ),
];
