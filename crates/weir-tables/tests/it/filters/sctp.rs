//! Filters over what messages of SCTP carry.

use std::net::Ipv4Addr;

use weir_testkit::packet::{Chunk, Ipv4, protocol, sctp};

use super::are_selected;
use crate::untidy_handshakes::record_of_datagram;

/// Filters with the packets of [`dtls_over_sctp`] that they select.
const OF_DTLS: &[(&str, &[u64])] = &[
    ("dtls", &[1, 2]),
    ("dtls && sctp", &[1, 2]),
    ("not dtls", &[3]),
    ("tls", &[]),
    ("dtls.handshake.type == 1", &[1]),
    ("dtls.handshake.type == 2", &[2]),
    ("dtls.record.content_type == 22", &[1, 2]),
    (
        "dtls.record.epoch == 0 && dtls.record.version == 0xfefd",
        &[1, 2],
    ),
    ("dtls.record.sequence_number == 0", &[1, 2]),
    ("dtls.record.length", &[1, 2]),
];

/// The hellos of DTLS in messages of Diameter (RFC 6733, 2.1), and an acknowledgment.
fn dtls_over_sctp() -> Vec<Vec<u8>> {
    let ends = [1, 2].map(|last| Ipv4Addr::new(10, 0, 0, last));
    let begun = [&[0xfe, 0xfd][..], &[7; 32], &[0]].concat();
    let client = [&begun[..], b"\0\0\x02\xc0\x2f\x01\0\0\0"].concat();
    let server = [&begun[..], b"\xc0\x2f\0"].concat();
    let message = |payload: Vec<u8>| Chunk::Data {
        tsn: 1,
        stream: 0,
        sequence: 0,
        protocol: 47,
        payload,
    };
    let of_client = sctp(40_000, 5_868, 1, &[message(record_of_datagram(1, &client))]);
    let of_server = sctp(5_868, 40_000, 2, &[message(record_of_datagram(2, &server))]);
    let sack = Chunk::Sack {
        cumulative_tsn: 1,
        window: 65_536,
    };
    let acknowledgment = sctp(40_000, 5_868, 1, &[sack]);
    vec![
        Ipv4::new(ends[0], ends[1], protocol::SCTP).packet(&of_client),
        Ipv4::new(ends[1], ends[0], protocol::SCTP).packet(&of_server),
        Ipv4::new(ends[0], ends[1], protocol::SCTP).packet(&acknowledgment),
    ]
}

/// DTLS in SCTP has a row in `tls`, and was no `dtls` for filters.
#[test]
fn dtls_over_sctp_is_selected() {
    are_selected(&dtls_over_sctp(), OF_DTLS, &[]);
}
