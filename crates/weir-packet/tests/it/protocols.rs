//! Every protocol of IP and above: a packet, its layers, its columns, and all its prefixes.

use crate::common;
use crate::common::text;
use crate::samples::{Sample, samples};
use weir_packet::{Decoder, Frame, Layer, LinkType, Needs, Options, Reason, fields};

fn value(sample: &Sample, name: &str, needs: Option<Needs>) -> Option<String> {
    let (field, own) = fields()
        .find(|(field, _)| field.name == name)
        .unwrap_or_else(|| panic!("there is no column {name}"));
    let mut decoder = Decoder::new(Options::default(), [needs.unwrap_or(own)]);
    text(
        field,
        &decoder.decode(Frame::new(LinkType(sample.link), &sample.bytes)),
    )
}

#[test]
fn samples_have_the_layers_and_the_columns_of_the_table() {
    for sample in samples() {
        let mut decoder = Decoder::default();
        let packet = decoder.decode(Frame::new(LinkType(sample.link), &sample.bytes));
        assert_eq!(packet.stop(), None, "{}", sample.name);
        for (name, expected) in sample
            .fields
            .iter()
            .chain(&[("frame.layers", sample.layers)])
        {
            let found = value(&sample, name, Some(Needs::All));
            assert_eq!(
                found.as_deref(),
                Some(*expected),
                "{name} of {}",
                sample.name
            );
        }
    }
}

#[test]
fn a_column_has_the_same_value_however_little_else_is_asked_for() {
    for sample in samples() {
        for (field, _) in fields() {
            assert_eq!(
                value(&sample, field.name, None),
                value(&sample, field.name, Some(Needs::All)),
                "{} of {}",
                field.name,
                sample.name
            );
        }
    }
}

#[test]
fn a_prefix_stops_as_long_as_a_header_is_cut_and_keeps_the_headers_before() {
    for sample in samples() {
        let mut decoder = Decoder::default();
        let whole: Vec<Layer> = decoder
            .decode(Frame::new(LinkType(sample.link), &sample.bytes))
            .layers()
            .collect();
        let mut stopped = true;
        for len in 0..=sample.bytes.len() {
            let mut frame = Frame::new(LinkType(sample.link), &sample.bytes[..len]);
            frame.wire_len = sample.bytes.len() as u32;
            let packet = decoder.decode(frame);
            for (field, _) in fields() {
                text(field, &packet);
            }
            let layers: Vec<Layer> = packet.layers().collect();
            assert!(
                whole.starts_with(&layers),
                "{} cut to {len}: {layers:?}",
                sample.name
            );
            match packet.stop() {
                Some(stop) => {
                    assert!(stopped, "{} cut to {len} stops again: {stop}", sample.name);
                    assert!(
                        matches!(stop.reason, Reason::Cut { .. }),
                        "{} cut to {len}: {stop}",
                        sample.name
                    );
                    assert!(
                        stop.offset as usize <= len,
                        "{} cut to {len}: {stop}",
                        sample.name
                    );
                }
                None => {
                    assert_eq!(
                        layers, whole,
                        "{} cut to {len} says that it is whole",
                        sample.name
                    );
                    stopped = false;
                }
            }
        }
        assert!(!stopped, "{} never gets whole", sample.name);
    }
}

#[test]
fn the_reason_of_a_stop_tells_a_cut_capture_from_a_length_field_that_allows_too_little() {
    let check = |bytes: &[u8], wire_len: usize, expected: &str| {
        let mut decoder = Decoder::default();
        let mut frame = Frame::new(LinkType::ETHERNET, bytes);
        frame.wire_len = wire_len as u32;
        let packet = decoder.decode(frame);
        assert_eq!(
            packet.stop().map(|stop| stop.to_string()).as_deref(),
            Some(expected)
        );
    };
    let mut packet = common::ethernet(0x0800, &common::ipv4(17, &common::udp(1, 2, b"abcd")));
    check(
        &packet[..36],
        packet.len(),
        "udp at byte 34: cut, 8 bytes needed, 2 captured",
    );
    packet[17] = 24;
    check(
        &packet,
        packet.len(),
        "udp at byte 34: 8 bytes needed, the enclosing length allows 4",
    );
    packet[17] = 19;
    check(
        &packet,
        packet.len(),
        "ip at byte 14: ip.len is 19, which is not valid",
    );
    packet[14] = 0x44;
    check(
        &packet,
        packet.len(),
        "ip at byte 14: ip.hdr_len is 16, which is not valid",
    );
    packet[14] = 0x75;
    check(
        &packet,
        packet.len(),
        "ip at byte 14: ip.version is 7, which is not valid",
    );
}

#[test]
fn a_quote_may_end_anywhere_without_a_stop_but_a_capture_that_cuts_it_is_one() {
    let quoted = common::ipv4(6, &common::tcp(&[], b"data"));
    let error = common::join(&[&common::unhex("0b00 0000 00000000"), &quoted[..28]]);
    let packet = common::ethernet(0x0800, &common::ipv4(1, &error));
    let mut decoder = Decoder::default();
    let whole = decoder.decode(Frame::new(LinkType::ETHERNET, &packet));
    assert_eq!(whole.stop(), None);
    assert_eq!(whole.u16_be(Layer::Tcp, 0), Some(40_000));
    assert!(whole.is_quoted(Layer::Tcp) && !whole.is_quoted(Layer::Ipv4));
    let mut frame = Frame::new(LinkType::ETHERNET, &packet[..packet.len() - 4]);
    frame.wire_len = packet.len() as u32;
    let cut = decoder.decode(frame).stop().unwrap();
    assert_eq!(cut.layer, Some(Layer::Tcp));
    assert_eq!(
        cut.reason,
        Reason::Cut {
            needed: 20,
            available: 4
        }
    );
}

#[test]
fn headers_in_headers_without_end_stop_at_the_limit() {
    let mut packet = common::ipv4(17, &common::udp(1, 2, b""));
    for _ in 0..Decoder::LAYERS_MAX {
        packet = common::ipv4(4, &packet);
    }
    let mut decoder = Decoder::default();
    let packet = decoder.decode(Frame::new(LinkType(228), &packet));
    assert_eq!(
        packet.stop().unwrap().reason,
        Reason::TooDeep {
            layers_max: Decoder::LAYERS_MAX
        }
    );
    assert_eq!(
        packet.address(Layer::Ipv4, 12, 4),
        Some("10.0.0.1".parse().unwrap())
    );
}

#[test]
fn a_decoder_that_needs_only_the_record_looks_at_no_header() {
    let packet = common::ethernet(0x0800, &common::ipv4(17, &common::udp(1, 2, b"")));
    let mut decoder = Decoder::new(Options::default(), [Needs::Record]);
    assert_eq!(
        decoder
            .decode(Frame::new(LinkType::ETHERNET, &packet))
            .layers()
            .count(),
        0
    );
    // A usual packet is looked at to its ports at once; others only as far as they must be.
    let mut decoder = Decoder::new(Options::default(), [Needs::Network]);
    let mut layers = |packet: &[u8]| -> Vec<_> {
        let packet = decoder.decode(Frame::new(LinkType::ETHERNET, packet));
        packet.layers().collect()
    };
    assert!(layers(&packet).starts_with(&[Layer::Ethernet, Layer::Ipv4]));
    let echo = common::ethernet(0x0800, &common::ipv4(1, &[8, 0, 0, 0, 0, 1, 0, 1]));
    assert_eq!(layers(&echo), [Layer::Ethernet, Layer::Ipv4]);
}

#[test]
fn decoding_can_begin_at_any_protocol() {
    let packet = common::ipv6(17, &common::udp(1, 2, b"abcd"));
    let mut decoder = Decoder::default();
    // The link type says Ethernet, which it is not.
    let packet = decoder.decode_as(Frame::new(LinkType::ETHERNET, &packet), Layer::Ipv6);
    assert_eq!(
        packet.layers().collect::<Vec<_>>(),
        [Layer::Ipv6, Layer::Udp]
    );
    assert_eq!(packet.stop(), None);
}

#[test]
fn a_packet_leaves_nothing_behind_for_the_next() {
    let mut decoder = Decoder::default();
    for sample in samples() {
        let fresh: Vec<_> = {
            let mut decoder = Decoder::default();
            let packet = decoder.decode(Frame::new(LinkType(sample.link), &sample.bytes));
            fields().map(|(field, _)| text(field, &packet)).collect()
        };
        let packet = decoder.decode(Frame::new(LinkType(sample.link), &sample.bytes));
        let reused: Vec<_> = fields().map(|(field, _)| text(field, &packet)).collect();
        assert_eq!(fresh, reused, "{}", sample.name);
    }
}

#[test]
fn every_protocol_of_ip_and_above_has_a_sample() {
    let mut missing: Vec<Layer> = Layer::all().filter(|layer| *layer >= Layer::Arp).collect();
    for sample in samples() {
        let mut decoder = Decoder::default();
        let found: Vec<Layer> = decoder
            .decode(Frame::new(LinkType(sample.link), &sample.bytes))
            .layers()
            .collect();
        missing.retain(|layer| !found.contains(layer));
    }
    assert_eq!(missing, []);
}

/// The columns of `packet`, an Ethernet frame, as text.
fn columns<const N: usize>(packet: &[u8], names: [&str; N]) -> [Option<String>; N] {
    let sample = Sample {
        name: "",
        link: 1,
        bytes: packet.to_vec(),
        layers: "",
        fields: &[],
    };
    names.map(|name| value(&sample, name, None))
}

fn ethernet_ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    common::ethernet(0x0800, &common::ipv4(protocol, payload))
}

#[test]
fn tcp_options_end_where_one_claims_more_room_than_there_is() {
    // A window scale behind an option of 255 bytes is not read, nor is a maximum segment size of 3 bytes.
    let packet = ethernet_ipv4(
        6,
        &common::tcp(&common::unhex("01 02 03 05 08 ff 03 03"), b""),
    );
    let names = [
        "tcp.option_kind",
        "tcp.options.mss_val",
        "tcp.options.wscale.shift",
    ];
    assert_eq!(columns(&packet, names), [Some("1".to_owned()), None, None]);
}

#[test]
fn tcp_options_can_be_read_as_far_as_they_were_captured() {
    let whole = ethernet_ipv4(
        6,
        &common::tcp(&common::unhex("0204 05b4 080a 00000007 00000009 0101"), b""),
    );
    let names = [
        "tcp.options.mss_val",
        "tcp.options.timestamp.tsval",
        "tcp.options.timestamp.tsecr",
    ];
    let cut = whole.len() - 6;
    assert_eq!(
        columns(&whole[..cut], names),
        [Some("1460".to_owned()), Some("7".to_owned()), None]
    );
}

#[test]
fn the_data_length_of_a_segment_is_unknown_in_a_fragment_and_in_a_quote() {
    let segment = common::tcp(&[], b"data");
    assert_eq!(
        columns(&ethernet_ipv4(6, &segment), ["tcp.len"]),
        [Some("4".to_owned())]
    );
    let fragment = common::ethernet(0x0800, &common::ipv4_with(6, 0x2000, &[], &segment));
    assert_eq!(
        columns(&fragment, ["tcp.len", "tcp.srcport"]),
        [None, Some("40000".to_owned())]
    );
    let quote = common::join(&[&[3, 1, 0, 0, 0, 0, 0, 0], &common::ipv4(6, &segment)]);
    assert_eq!(
        columns(&ethernet_ipv4(1, &quote), ["tcp.len", "tcp.srcport"]),
        [None, Some("40000".to_owned())]
    );
}

#[test]
fn bytes_of_a_reset_are_a_text_about_its_cause_and_no_data() {
    let mut segment = common::tcp(&[], b"go away");
    segment[13] = 0x04;
    assert_eq!(
        columns(&ethernet_ipv4(6, &segment), ["tcp.payload", "tcp.len"]),
        [None, Some("7".to_owned())]
    );
}

#[test]
fn a_udp_length_that_can_not_be_hides_what_it_is_about() {
    for length in [0, 7] {
        let mut datagram = common::udp(5000, 6000, b"data");
        datagram[5] = length;
        let names = ["udp.length", "udp.payload", "udp.checksum"];
        assert_eq!(
            columns(&ethernet_ipv4(17, &datagram), names),
            [Some(length.to_string()), None, None]
        );
    }
}

#[test]
fn of_what_goes_from_a_well_known_port_to_that_of_a_tunnel_the_content_says_what_it_is() {
    let vxlan = common::join(&[
        &common::unhex("08000000 00000700"),
        &ethernet_ipv4(6, &common::tcp(&[], b"")),
    ]);
    // An answer of a name server to a client whose port is that of VXLAN by accident.
    let answer = common::unhex(
        "1234 8180 0001 0001 0000 0000 03777777 076578616d706c65 036f7267 00 0001 0001",
    );
    for (source, destination, payload, expected) in [
        (0, 4789, &vxlan, Some("7")),
        (53, 4789, &vxlan, Some("7")),
        (123, 4789, &vxlan, Some("7")),
        (53, 4789, &answer, None),
        (4789, 53, &vxlan, None),
        (4789, 4789, &vxlan, Some("7")),
        (1000, 4789, &vxlan, Some("7")),
        (50_000, 4789, &vxlan, Some("7")),
    ] {
        let packet = ethernet_ipv4(17, &common::udp(source, destination, payload));
        assert_eq!(
            columns(&packet, ["vxlan.vni"]),
            [expected.map(str::to_owned)],
            "from port {source} to {destination}"
        );
    }
}

#[test]
fn two_protocols_that_came_as_igmp_are_none() {
    let packet = ethernet_ipv4(2, &common::unhex("14 00 1234 10000000"));
    let names = ["igmp.type", "pim.version", "pim.cksum", "pim.type"];
    assert_eq!(
        columns(&packet, names),
        [None, Some("1".to_owned()), Some("4660".to_owned()), None]
    );
    assert_eq!(
        columns(
            &ethernet_ipv4(2, &common::unhex("13 00 0000 00000000")),
            ["igmp.type"]
        ),
        [None]
    );
}

#[test]
fn ip_of_the_other_version_is_what_its_first_byte_says() {
    let packet = common::ethernet(0x0800, &common::ipv6(17, &common::udp(5000, 53, b"")));
    assert_eq!(
        columns(&packet, ["frame.layers", "ip.version", "ip.src"]),
        [Some("eth:ipv6:udp".to_owned()), Some("6".to_owned()), None]
    );
}
