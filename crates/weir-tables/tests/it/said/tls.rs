//! `tls` against tshark's tls, dtls and quic: the hellos of both sides, each by the packet that completed it.

use super::Comparison;

#[test]
fn tshark_reads_the_same_client_hellos() {
    Comparison {
        table: "tls",
        frame: "tls.client_hello.frame",
        protocols: &["tls", "quic"],
        // What an ICMP error quotes is no message that was sent there.
        filter: "tls.handshake.type == 1 && !dtls && !icmp && !icmpv6",
        fields: CLIENT,
        preferences: &[],
        differences: &[],
    }
    .run();
}

#[test]
fn tshark_reads_the_same_server_hellos() {
    Comparison {
        table: "tls",
        frame: "tls.server_hello.frame",
        protocols: &["tls", "quic"],
        filter: "tls.handshake.type == 2 && !dtls && !icmp && !icmpv6",
        fields: SERVER,
        preferences: &[],
        differences: &[],
    }
    .run();
}

const CLIENT: &[(&str, &str)] = &[
    ("tls.handshake.version", "tls.handshake.version"),
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
