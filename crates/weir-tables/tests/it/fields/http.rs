//! `http` is compared with tshark's http: requests and responses, each by the packet that completed its head.

use super::Comparison;

#[test]
fn tshark_reads_the_same_in_http() {
    let part = |frame, filter, fields, version, differences| Comparison {
        table: "http",
        frame,
        protocols: &["http"],
        filter,
        fields,
        // HTTP/2 is compared below.
        without: Some((version, "HTTP/2")),
        // A message counts where its head ends, on any port.
        preferences: &["http.desegment_body:FALSE", "tcp.try_heuristic_first:TRUE"],
        differences,
    };
    Comparison::agree(&[
        part(
            "http.request.frame",
            "http.request && tcp && !icmp && !icmpv6",
            REQUEST,
            "http.request.version",
            REQUEST_DIFFERENCES,
        ),
        part(
            "http.response.frame",
            "http.response && tcp && !icmp && !icmpv6",
            RESPONSE,
            "http.response.version",
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

#[test]
fn tshark_reads_the_same_in_http_2() {
    let part = |frame, filter, fields, version| Comparison {
        table: "http",
        frame,
        protocols: &["http2"],
        filter,
        fields,
        without: Some((version, "HTTP/1.1")),
        preferences: &[],
        differences: &[],
    };
    Comparison::few(&[
        part(
            "http.request.frame",
            "http2.headers.method",
            REQUEST_2,
            "http.request.version",
        ),
        part(
            "http.response.frame",
            "http2.headers.status",
            RESPONSE_2,
            "http.response.version",
        ),
    ]);
}

const REQUEST_2: &[(&str, &str)] = &[
    ("http.request.method", "http2.headers.method"),
    ("http.request.uri", "http2.headers.path"),
    ("http.host", "http2.headers.authority"),
    ("http.user_agent", "http2.headers.user_agent"),
    ("http.accept", "http2.headers.accept"),
    ("http.referer", "http2.headers.referer"),
    ("http.cookie", "http2.headers.cookie"),
    ("http.request.content_type", "http2.headers.content_type"),
];

const RESPONSE_2: &[(&str, &str)] = &[
    ("http.response.code", "http2.headers.status"),
    ("http.server", "http2.headers.server"),
    ("http.content_type", "http2.headers.content_type"),
    ("http.location", "http2.headers.location"),
    ("http.date", "http2.headers.date"),
];

const SWITCHED: &str =
    "the response that switches to HTTP/2 is http.info_code of the row of its request";

const ZERO_NINE: &str =
    "a request of HTTP/0.9 ends with its line; tshark waits for an empty line, and has no version";
const ZERO_NINE_ANSWER: &str =
    "an answer of HTTP/0.9 has no head, and http() has it as a response; tshark has it as data";
const SPACES: &str = "tshark ends a target at its first space";
const BEHIND: &str = "tshark, whose preferences leave bodies apart, takes a body that begins with POST for a head that goes on into the next response";
const NUL: &str = "the value begins with a NUL: tshark has none; in a second packet the request itself is the difference";

/// Zeek finds the same requests.
const OCTETS: &str = "the method comes octet by octet, in which tshark finds no request";

const REQUEST_DIFFERENCES: &[(&str, &str, &str)] = &[
    (
        "zeek/testing__btest__Traces__tcp-http-with-padding.pcap",
        "http.request.method",
        OCTETS,
    ),
    (
        "zeek/testing__btest__Traces__tcp-http-with-padding.pcap",
        "http.request.uri",
        OCTETS,
    ),
    (
        "zeek/testing__btest__Traces__tcp-http-with-padding.pcap",
        "http.request.version",
        OCTETS,
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
        "ndpi/tests__cfgs__default__pcap__ndpi_match_string_subprotocol__error.pcapng",
        "http.request.content_type",
        NUL,
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
        "http.request.content_type",
        BEHIND,
    ),
    (
        "zeek/testing__btest__Traces__http__content-length-in-request-body.pcap",
        "http.request.method",
        BEHIND,
    ),
    (
        "zeek/testing__btest__Traces__http__content-length-in-request-body.pcap",
        "http.request.uri",
        BEHIND,
    ),
    (
        "zeek/testing__btest__Traces__http__content-length-in-request-body.pcap",
        "http.request.version",
        BEHIND,
    ),
    (
        "zeek/testing__btest__Traces__http__http-09-content-length-confusion.pcap",
        "http.request.method",
        ZERO_NINE,
    ),
    (
        "zeek/testing__btest__Traces__http__http-09-content-length-confusion.pcap",
        "http.request.uri",
        ZERO_NINE,
    ),
    (
        "zeek/testing__btest__Traces__http__http-09-content-length-confusion.pcap",
        "http.request.version",
        ZERO_NINE,
    ),
];
const RESPONSE_DIFFERENCES: &[(&str, &str, &str)] = &[
    (
        "zeek/testing__btest__Traces__tcp-http-with-padding.pcap",
        "http.time",
        OCTETS,
    ),
    (
        "zeek/testing__btest__Traces__http__http-09-content-length-confusion.pcap",
        "http.response.version",
        ZERO_NINE_ANSWER,
    ),
    (
        "zeek/testing__btest__Traces__http__http-09-content-length-confusion.pcap",
        "http.time",
        ZERO_NINE_ANSWER,
    ),
    ("messages/http2.pcap", "http.response.code", SWITCHED),
    ("messages/http2.pcap", "http.response.phrase", SWITCHED),
    ("messages/http2.pcap", "http.response.version", SWITCHED),
    ("messages/http2.pcap", "http.time", SWITCHED),
    (
        "ndpi/tests__cfgs__default__pcap__http_invalid_server.pcap",
        "http.server",
        "UTF-8 in a field stays UTF-8",
    ),
    (
        "zeek/testing__btest__Traces__http__content-length-in-request-body.pcap",
        "http.content_type",
        BEHIND,
    ),
    (
        "zeek/testing__btest__Traces__http__content-length-in-request-body.pcap",
        "http.date",
        BEHIND,
    ),
    (
        "zeek/testing__btest__Traces__http__content-length-in-request-body.pcap",
        "http.response.code",
        BEHIND,
    ),
    (
        "zeek/testing__btest__Traces__http__content-length-in-request-body.pcap",
        "http.response.phrase",
        BEHIND,
    ),
    (
        "zeek/testing__btest__Traces__http__content-length-in-request-body.pcap",
        "http.response.version",
        BEHIND,
    ),
    (
        "zeek/testing__btest__Traces__http__content-length-in-request-body.pcap",
        "http.server",
        BEHIND,
    ),
    (
        "zeek/testing__btest__Traces__http__content-length-in-request-body.pcap",
        "http.time",
        BEHIND,
    ),
];
