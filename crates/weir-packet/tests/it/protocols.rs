//! Every protocol of IP and above: a packet, its layers, its columns, and all its prefixes.

use crate::common::{Sample, samples, text};
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
    let mut packet = crate::common::ethernet(
        0x0800,
        &crate::common::ipv4(17, &crate::common::udp(1, 2, b"abcd")),
    );
    check(
        &packet[..36],
        packet.len(),
        "udp at byte 34: cut, 8 bytes needed, 2 captured",
    );
    packet[17] = 24;
    check(
        &packet,
        packet.len(),
        "udp at byte 34: 8 bytes needed, the length around it allows 4",
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
    let quoted = crate::common::ipv4(6, &crate::common::tcp(&[], b"data"));
    let error = crate::common::join(&[&crate::common::unhex("0b00 0000 00000000"), &quoted[..28]]);
    let packet = crate::common::ethernet(0x0800, &crate::common::ipv4(1, &error));
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
    let mut packet = crate::common::ipv4(17, &crate::common::udp(1, 2, b""));
    for _ in 0..Decoder::LAYERS_MAX {
        packet = crate::common::ipv4(4, &packet);
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
    let packet = crate::common::ethernet(
        0x0800,
        &crate::common::ipv4(17, &crate::common::udp(1, 2, b"")),
    );
    let mut decoder = Decoder::new(Options::default(), [Needs::Record]);
    assert_eq!(
        decoder
            .decode(Frame::new(LinkType::ETHERNET, &packet))
            .layers()
            .count(),
        0
    );
    let mut decoder = Decoder::new(Options::default(), [Needs::Network]);
    let layers: Vec<_> = decoder
        .decode(Frame::new(LinkType::ETHERNET, &packet))
        .layers()
        .collect();
    assert_eq!(layers, [Layer::Ethernet, Layer::Ipv4]);
}

#[test]
fn decoding_can_begin_at_any_protocol() {
    let packet = crate::common::ipv6(17, &crate::common::udp(1, 2, b"abcd"));
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
