//! Filters over extended attributes of RADIUS.

use weir_testkit::packet::{Ipv4, protocol, udp};

use super::are_selected;

/// Filters with the packets of [`with_extended_attributes`] that they select.
const OF_EXTENDED_ATTRIBUTES: &[(&str, &[u64])] = &[
    ("radius.avp.extended_type", &[2, 3, 4]),
    ("radius.avp.extended_type == 26", &[2, 4]),
    ("radius.avp.extended_type == 1", &[3]),
    ("radius.avp.vendor_id", &[1, 2, 4]),
    ("radius.avp.vendor_id == 9", &[1, 2]),
    ("radius.avp.vendor_id == 10", &[4]),
    ("radius.avp.type == 245", &[4]),
];

/// Packets with a vendor-specific attribute, an extended one, an extended one of no vendor, and a long extended one (RFC 6929).
fn with_extended_attributes() -> Vec<Vec<u8>> {
    let [client, server] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::Ipv4Addr::from);
    let packet = |attribute: &[u8]| {
        let mut bytes = vec![1, 7, 0, 20 + attribute.len() as u8];
        bytes.extend([9; 16]);
        bytes.extend(attribute);
        let datagram = udp(client.into(), server.into(), 40_000, 1_812, &bytes);
        Ipv4::new(client, server, protocol::UDP).packet(&datagram)
    };
    vec![
        packet(b"\x1a\x0b\0\0\0\x09\x01\x05abc"),
        packet(b"\xf1\x0b\x1a\0\0\0\x09\x01xyz"),
        packet(b"\xf1\x07\x01\0\0\0\x09"),
        packet(b"\xf5\x0c\x1a\0\0\0\0\x0a\x01xyz"),
    ]
}

/// Their vendors and types were left out.
#[test]
fn extended_attributes_are_selected() {
    are_selected(&with_extended_attributes(), OF_EXTENDED_ATTRIBUTES, &[]);
}
