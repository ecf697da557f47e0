//! Filters over messages for which tshark selects other records.

use super::{Difference, Right};

/// The differences of filters over messages.
pub(super) const MESSAGE_DIFFERENCES: &[Difference] = &[
    Difference {
        capture: "ndpi/tests__cfgs__default__pcap__anyconnect-vpn.pcap",
        filters: &[
            "http.host",
            "http.location",
            "http.request",
            "http.request.method or http2.headers.method",
            "http.request.method",
            "http.response",
            "http.response.code == 200",
            "http.response.phrase == \"OK\"",
        ],
        right: Right::Tshark,
        reason: "SSDP is HTTP in datagrams, which http() does not read.",
    },
    Difference {
        capture: "zeek/testing__btest__Traces__http__http-09-content-length-confusion.pcap",
        filters: &[
            "http.request",
            "http.request.method or http2.headers.method",
            "http.request.method",
            "http.request.method == \"GET\"",
        ],
        right: Right::Weir,
        reason: "A request of HTTP/0.9 ends with its line, in packet 10; tshark waits for an empty line, which packet 12 has.",
    },
    Difference {
        capture: "zeek/testing__btest__Traces__http__http-09-content-length-confusion.pcap",
        filters: &["http.response"],
        right: Right::Unsettled,
        reason: "An answer of HTTP/0.9 has no head: http() has it as a response, and tshark as data.",
    },
    Difference {
        capture: "ndpi/tests__cfgs__default__pcap__WebattackRCE.pcap",
        filters: &["http.request.uri contains \"?\""],
        right: Right::Unsettled,
        reason: "The target has a space in it: tshark ends it there, and we before the version.",
    },
    Difference {
        capture: "tcpdump/tests__dns_udp_2.pcap",
        filters: &["dns.time > 0.05"],
        right: Right::Weir,
        reason: "The answer was cut when it was captured; its number is there, and so is the time since its question.",
    },
    Difference {
        capture: "tcpdump/tests__ntp-mode7.pcap",
        filters: &["ntp.stratum == 1"],
        right: Right::Weir,
        reason: "Messages of mode 7 have no stratum; tshark shows that of a peer in the list that it carries.",
    },
    Difference {
        capture: "ndpi/tests__cfgs__default__pcap__stun_dtls_rtp.pcapng",
        filters: &["rtp.ssrc"],
        right: Right::Weir,
        reason: "RTP that nothing announced is known by its sequence; tshark looks for it only with its preference.",
    },
    Difference {
        capture: "ndpi/tests__cfgs__default__pcap__quic-forcing-vn-with-data.pcapng",
        filters: &[
            "tls.handshake.ciphersuite == 0x1301",
            "tls.handshake.extension.type == 16",
            "tls.handshake.ja3",
            "tls.handshake.session_id_length == 0",
            "tls.handshake.version == 0x0303",
        ],
        right: Right::Weir,
        reason: "The client's second hello comes with the version that the server asked for; tshark does not decrypt it.",
    },
];
