//! `tls` is compared with tshark's tls and quic: the hellos of both sides, each by the packet that completed it; and
//! those of DTLS.

use super::Comparison;

#[test]
fn tshark_reads_the_same_in_tls() {
    let part = |frame, filter, fields, differences| Comparison {
        table: "tls",
        frame,
        protocols: &["tls", "quic"],
        filter,
        fields,
        without: Some(("tls.carrier", "dtls")),
        // The preferences allow handshakes on ports of other protocols, and segments in another order.
        preferences: &[
            "tcp.try_heuristic_first:TRUE",
            "tcp.reassemble_out_of_order:TRUE",
        ],
        differences,
    };
    // A handshake that an ICMP error quotes was not sent in that packet.
    Comparison::agree(&[
        part(
            "tls.client_hello.frame",
            "tls.handshake.type == 1 && !dtls && !icmp && !icmpv6",
            CLIENT,
            CLIENT_DIFFERENCES,
        ),
        part(
            "tls.server_hello.frame",
            // A ServerHello with this random value is a HelloRetryRequest (RFC 8446, 4.1.3).
            "tls.handshake.type == 2 && !dtls && !icmp && !icmpv6 \
             && !(tls.handshake.random == cf:21:ad:74:e5:9a:61:11:be:1d:8c:02:1e:65:b8:91:c2:a2:11:16:7a:bb:8c:5e:07:9e:09:e2:c8:a8:33:9c)",
            SERVER,
            SERVER_DIFFERENCES,
        ),
    ]);
}

const CLIENT: &[(&str, &str)] = &[
    ("tls.handshake.version", "tls.handshake.version"),
    ("tls.handshake.random", "tls.handshake.random"),
    (
        "tls.handshake.extensions_server_name",
        "tls.handshake.extensions_server_name",
    ),
    (
        "tls.handshake.extensions_alpn_str",
        "tls.handshake.extensions_alpn_str",
    ),
    (
        "tls.handshake.extensions.supported_version",
        "tls.handshake.extensions.supported_version",
    ),
    ("tls.handshake.ciphersuite", "tls.handshake.ciphersuite"),
    (
        "tls.handshake.extension.type",
        "tls.handshake.extension.type",
    ),
    (
        "tls.handshake.extensions_supported_group",
        "tls.handshake.extensions_supported_group",
    ),
    ("tls.handshake.sig_hash_alg", "tls.handshake.sig_hash_alg"),
    ("tls.handshake.session_id", "tls.handshake.session_id"),
    ("tls.handshake.ja3", "tls.handshake.ja3"),
    ("tls.handshake.ja3_full", "tls.handshake.ja3_full"),
];

const SERVER: &[(&str, &str)] = &[
    ("tls.server.version", "tls.handshake.version"),
    ("tls.cipher_number", "tls.handshake.ciphersuite"),
    ("tls.server.extension.type", "tls.handshake.extension.type"),
    ("tls.server.session_id", "tls.handshake.session_id"),
    ("tls.next_protocol", "tls.handshake.extensions_alpn_str"),
    ("tls.handshake.ja3s", "tls.handshake.ja3s"),
    ("tls.handshake.ja3s_full", "tls.handshake.ja3s_full"),
];

const OLD: &str = "a hello in the form of SSL 2, whose suites and challenge tshark has under other names (tls.handshake.cipherspec, .challenge)";
const SECOND: &str = "a second hello after a retry: the row has the first, as the reference says";
const REFUSED: &str = "tshark keeps the version that the server refused, and does not open what the client sends next";
const KEYS: &str = "tshark takes the connection's keys from the capture and reads what is encrypted behind the hello";
const DAMAGED: &str =
    "the lengths of the hello contradict each other: tshark stops before the fingerprint";

const OPENVPN: &str = "ndpi/tests__cfgs__default__pcap__openvpn.pcap";
const MIXED: &str = "tshark puts a piece of the client's hello together with a later message in packet 594, and shows that as another hello";
const BEHIND: &str =
    "the server's hello is whole in packet 37; tshark has it in that of the message behind it";

const CLIENT_DIFFERENCES: &[(&str, &str, &str)] = &[
    (OPENVPN, "tls.handshake.version", MIXED),
    (OPENVPN, "tls.handshake.random", MIXED),
    (OPENVPN, "tls.handshake.ciphersuite", MIXED),
    (OPENVPN, "tls.handshake.extension.type", MIXED),
    (OPENVPN, "tls.handshake.extensions_supported_group", MIXED),
    ("found/google_ssl.pcap", "tls.handshake.ciphersuite", OLD),
    ("found/google_ssl.pcap", "tls.handshake.random", OLD),
    ("found/tls__ssl.v3.pcap", "tls.handshake.ciphersuite", OLD),
    ("found/tls__ssl.v3.pcap", "tls.handshake.random", OLD),
    (
        "ndpi/tests__cfgs__default__pcap__quic-forcing-vn-with-data.pcapng",
        "tls.handshake.ciphersuite",
        REFUSED,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__quic-forcing-vn-with-data.pcapng",
        "tls.handshake.extension.type",
        REFUSED,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__quic-forcing-vn-with-data.pcapng",
        "tls.handshake.extensions.supported_version",
        REFUSED,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__quic-forcing-vn-with-data.pcapng",
        "tls.handshake.extensions_alpn_str",
        REFUSED,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__quic-forcing-vn-with-data.pcapng",
        "tls.handshake.extensions_supported_group",
        REFUSED,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__quic-forcing-vn-with-data.pcapng",
        "tls.handshake.ja3",
        REFUSED,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__quic-forcing-vn-with-data.pcapng",
        "tls.handshake.ja3_full",
        REFUSED,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__quic-forcing-vn-with-data.pcapng",
        "tls.handshake.random",
        REFUSED,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__quic-forcing-vn-with-data.pcapng",
        "tls.handshake.sig_hash_alg",
        REFUSED,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__quic-forcing-vn-with-data.pcapng",
        "tls.handshake.version",
        REFUSED,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__tls_cipher_lens.pcap",
        "tls.handshake.ciphersuite",
        DAMAGED,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__tls_cipher_lens.pcap",
        "tls.handshake.ja3",
        DAMAGED,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__tls_cipher_lens.pcap",
        "tls.handshake.ja3_full",
        DAMAGED,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__tumblr.pcap",
        "tls.handshake.ciphersuite",
        SECOND,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__tumblr.pcap",
        "tls.handshake.extension.type",
        SECOND,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__tumblr.pcap",
        "tls.handshake.extensions.supported_version",
        SECOND,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__tumblr.pcap",
        "tls.handshake.extensions_alpn_str",
        SECOND,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__tumblr.pcap",
        "tls.handshake.extensions_server_name",
        SECOND,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__tumblr.pcap",
        "tls.handshake.extensions_supported_group",
        SECOND,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__tumblr.pcap",
        "tls.handshake.ja3",
        SECOND,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__tumblr.pcap",
        "tls.handshake.ja3_full",
        SECOND,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__tumblr.pcap",
        "tls.handshake.random",
        SECOND,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__tumblr.pcap",
        "tls.handshake.session_id",
        SECOND,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__tumblr.pcap",
        "tls.handshake.sig_hash_alg",
        SECOND,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__tumblr.pcap",
        "tls.handshake.version",
        SECOND,
    ),
];

const SERVER_DIFFERENCES: &[(&str, &str, &str)] = &[
    (OPENVPN, "tls.server.version", BEHIND),
    (OPENVPN, "tls.cipher_number", BEHIND),
    (OPENVPN, "tls.server.extension.type", BEHIND),
    (OPENVPN, "tls.handshake.ja3s", BEHIND),
    (OPENVPN, "tls.handshake.ja3s_full", BEHIND),
    (
        "ndpi/tests__cfgs__default__pcap__quic-33.pcapng",
        "tls.next_protocol",
        KEYS,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__quic-33.pcapng",
        "tls.server.extension.type",
        KEYS,
    ),
];
