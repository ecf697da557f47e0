//! The `checksum_ok` columns: right, wrong, and not verifiable.

use crate::common::{ethernet, ipv4, ipv4_with, ipv6, join, tcp, text, udp, unhex, with_checksum};
use weir_packet::{Decoder, Frame, LinkType, fields};

/// The value of `column` for `packet`, an Ethernet frame that was `wire_len` bytes long.
fn ask(column: &str, packet: &[u8], wire_len: usize) -> Option<bool> {
    let (field, _) = fields().find(|(field, _)| field.name == column).unwrap();
    let mut decoder = Decoder::default();
    let mut frame = Frame::new(LinkType::ETHERNET, packet);
    frame.wire_len = wire_len as u32;
    text(field, &decoder.decode(frame)).map(|value| value == "true")
}

/// True for `packet`, false with any bit of the bytes from `covered` on changed, NULL when cut.
fn check(column: &str, packet: &[u8], covered: usize) {
    assert_eq!(ask(column, packet, packet.len()), Some(true), "{column}");
    for at in covered..packet.len() {
        let mut changed = packet.to_vec();
        changed[at] ^= 0x10;
        assert_ne!(
            ask(column, &changed, changed.len()),
            Some(true),
            "{column}, byte {at} changed"
        );
    }
    for len in covered..packet.len() {
        assert_eq!(
            ask(column, &packet[..len], packet.len()),
            None,
            "{column}, cut to {len}"
        );
    }
}

#[test]
fn ipv4_header() {
    let packet = ethernet(0x0800, &ipv4_with(253, 0, &unhex("94040000"), b""));
    check("ip.checksum_ok", &packet, 14);
}

#[test]
fn tcp_over_both_versions_of_ip_with_even_and_odd_lengths() {
    for payload in [&b""[..], b"odd", b"even"] {
        let segment = tcp(&unhex("020405b4"), payload);
        check(
            "tcp.checksum_ok",
            &ethernet(0x0800, &with_checksum(ipv4(6, &segment), 20, 16)),
            34,
        );
        check(
            "tcp.checksum_ok",
            &ethernet(0x86dd, &with_checksum(ipv6(6, &segment), 40, 16)),
            54,
        );
    }
}

#[test]
fn udp_over_both_versions_of_ip() {
    let datagram = udp(5000, 6000, b"hello");
    check(
        "udp.checksum_ok",
        &ethernet(0x86dd, &with_checksum(ipv6(17, &datagram), 40, 6)),
        54,
    );
    let packet = ethernet(0x0800, &with_checksum(ipv4(17, &datagram), 20, 6));
    check("udp.checksum_ok", &packet, 34);
    // Padding of the frame is none of UDP's.
    let padded = join(&[&packet, &[0xff; 9]]);
    assert_eq!(ask("udp.checksum_ok", &padded, padded.len()), Some(true));
}

#[test]
fn udp_without_a_checksum_is_in_order_over_ipv4_only() {
    let datagram = udp(5000, 6000, b"hello");
    let packet = ethernet(0x0800, &ipv4(17, &datagram));
    assert_eq!(ask("udp.checksum_ok", &packet, packet.len()), None);
    let packet = ethernet(0x86dd, &ipv6(17, &datagram));
    assert_eq!(ask("udp.checksum_ok", &packet, packet.len()), Some(false));
}

#[test]
fn udp_lite_is_covered_as_far_as_it_says() {
    let mut packet = ipv4(136, &unhex("1388 0035 0008 0000 6162636465"));
    // Over the pseudo header, whose length is the packet's, and the eight bytes of the header.
    let pseudo = join(&[&packet[12..20], &[0, 136, 0, 13], &packet[20..28]]);
    let sum = crate::common::internet_checksum(&pseudo);
    packet[26..28].copy_from_slice(&sum.to_be_bytes());
    let mut packet = ethernet(0x0800, &packet);
    assert_eq!(ask("udp.checksum_ok", &packet, packet.len()), Some(true));
    let last = packet.len() - 1;
    packet[last] ^= 1;
    assert_eq!(ask("udp.checksum_ok", &packet, packet.len()), Some(true));
    packet[35] ^= 1;
    assert_eq!(ask("udp.checksum_ok", &packet, packet.len()), Some(false));
}

#[test]
fn icmp_and_icmpv6() {
    let mut message = unhex("0800 0000 0102 0304 616263");
    let sum = crate::common::internet_checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    check(
        "icmp.checksum_ok",
        &ethernet(0x0800, &ipv4(1, &message)),
        34,
    );
    let message = unhex("8000 0000 0102 0304 616263");
    check(
        "icmpv6.checksum_ok",
        &ethernet(0x86dd, &with_checksum(ipv6(58, &message), 40, 2)),
        54,
    );
}

#[test]
fn sctp() {
    let mut packet = unhex("0b59 0b5a 00000001 00000000 0e00 0004");
    let mut crc = u32::MAX;
    for byte in &packet {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 0 {
                crc >> 1
            } else {
                (crc >> 1) ^ 0x82f6_3b78
            };
        }
    }
    packet[8..12].copy_from_slice(&(!crc).to_le_bytes());
    check(
        "sctp.checksum_ok",
        &ethernet(0x0800, &ipv4(132, &packet)),
        34,
    );
}

#[test]
fn checksums_of_fragments_are_not_known() {
    let datagram = udp(5000, 6000, b"hello");
    for fragment in [0x2000, 0x0001] {
        let packet = ethernet(0x0800, &ipv4_with(17, fragment, &[], &datagram));
        assert_eq!(ask("udp.checksum_ok", &packet, packet.len()), None);
    }
    let first = join(&[&unhex("11 00 0001 00000007"), &datagram]);
    let packet = ethernet(0x86dd, &ipv6(44, &first));
    assert_eq!(ask("udp.checksum_ok", &packet, packet.len()), None);
}

#[test]
fn the_checksum_of_a_fragment_that_is_the_whole_packet_is_known() {
    let datagram = udp(5000, 6000, b"hello");
    let summed = with_checksum(ipv6(17, &datagram), 40, 6);
    let atomic = join(&[&unhex("11 00 0000 00000007"), &summed[40..]]);
    let packet = ethernet(0x86dd, &ipv6(44, &atomic));
    assert_eq!(ask("udp.checksum_ok", &packet, packet.len()), Some(true));
}

#[test]
fn a_routing_header_names_the_destination_of_the_pseudo_header() {
    let datagram = udp(5000, 6000, b"hello");
    let mut direct = ipv6(17, &datagram);
    direct[24..40].copy_from_slice(&unhex("20010db8000000000000000000000009"));
    let summed = with_checksum(direct, 40, 6);
    for (kind, segments_left, expected) in [(0, 1, true), (4, 1, true), (4, 0, false)] {
        let routing = join(&[
            &[17, 2, kind, segments_left, 0, 0, 0, 0],
            &unhex("20010db8000000000000000000000009"),
            &summed[40..],
        ]);
        let packet = ethernet(0x86dd, &ipv6(43, &routing));
        assert_eq!(
            ask("udp.checksum_ok", &packet, packet.len()),
            Some(expected),
            "type {kind}"
        );
    }
}

#[test]
fn the_checksum_of_a_shortened_quoted_datagram_is_not_known() {
    let quoted = with_checksum(ipv4(6, &tcp(&[], b"data")), 20, 16);
    for (len, expected) in [
        (quoted.len(), Some(true)),
        (quoted.len() - 1, None),
        (28, None),
    ] {
        let error = join(&[&unhex("0b00 0000 00000000"), &quoted[..len]]);
        let packet = ethernet(0x0800, &ipv4(1, &error));
        assert_eq!(
            ask("tcp.checksum_ok", &packet, packet.len()),
            expected,
            "{len} bytes quoted"
        );
    }
}
