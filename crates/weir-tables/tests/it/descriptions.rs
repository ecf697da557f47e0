//! The descriptions of plain headers and fields give the same values of real packets as decoding.

use weir_packet::{
    Decoder, Extent, Field, Frame, Get, Layer, LinkType, Needs, Options, Packet, fields,
};

use crate::captures;

/// The number of packets of a capture that are read.
const PACKETS_MAX: usize = 1_000;

#[test]
fn descriptions_agree_with_decoding_on_all_samples() {
    let scratch = tempfile::tempdir().unwrap();
    let mut captures = captures::listed("captures");
    if captures.is_empty() {
        weir_testkit::missing(
            "captures",
            "descriptions of fields are held against made packets only",
        );
    }
    captures.extend(captures::generated(scratch.path()));
    let options = Options::default();
    let mut decoder = Decoder::new(options.clone(), [Needs::All]);
    let described: Vec<(&Field, Needs)> = fields()
        .filter(|(field, _)| !field.locations.is_empty())
        .collect();
    let (mut plain, mut compared) = (0_u64, 0_u64);
    for capture in &captures {
        let Ok(mut reader) = weir_capture::open(&capture.path) else {
            continue;
        };
        for _ in 0..PACKETS_MAX {
            let Ok(Some(record)) = reader.next() else {
                break;
            };
            let link_type = LinkType(record.link_type);
            if weir_packet::plain_link(link_type).is_none() {
                continue;
            }
            let packet = decoder.decode(Frame::new(link_type, record.data));
            let place = format!("{}, packet {}", capture.name, record.number);
            let headers: Vec<(Layer, &[u8])> = packet.headers().collect();
            // A walk by shapes may go as far as the first header that is not plain.
            let mut is_plain = true;
            for (index, (layer, bytes)) in headers.iter().enumerate() {
                let mut shapes = layer.shapes().iter();
                let shape = shapes.find_map(|shape| match shape.is_enabled(&options) {
                    true => shape.read(bytes),
                    false => None,
                });
                let Some(header) = shape else {
                    is_plain = false;
                    continue;
                };
                plain += 1;
                let next = headers.get(index + 1).map(|(layer, _)| *layer);
                // The next header may be missing because none of its octets were captured, or be one of the other
                // version of IP. Where the next protocol has no shapes, any header is allowed.
                let is_left = header.next.is_some_and(|layer| layer.shapes().is_empty());
                let is_same = next == header.next
                    || is_left
                    || (next.is_none() && bytes.len() <= header.len as usize)
                    || (packet.stop().is_some() && next.is_none())
                    || is_ip_of_other_version(next, header.next);
                assert!(
                    is_same,
                    "{place}: {layer:?} leads to {next:?}, not {:?}",
                    header.next
                );
            }
            if !is_plain || packet.stop().is_some() {
                continue;
            }
            for (field, needs) in &described {
                // The fields above IP are not those of a packet in a packet.
                let is_tunnel = packet.has_inside();
                if matches!(needs, Needs::Transport) && is_tunnel {
                    continue;
                }
                compared += u64::from(compare(field, &packet, &place));
            }
        }
    }
    println!(
        "{plain} plain headers, {compared} values of {} captures",
        captures.len()
    );
    assert!(plain > 1_000 && compared > 10_000, "{plain} {compared}");
}

fn is_ip_of_other_version(found: Option<Layer>, expected: Option<Layer>) -> bool {
    let is_ip = |layer| matches!(layer, Some(Layer::Ipv4 | Layer::Ipv6));
    is_ip(found) && is_ip(expected)
}

/// Compares a value with the octets at the described place of the field; returns false where the packet has none.
fn compare(field: &Field, packet: &Packet<'_>, place: &str) -> bool {
    if matches!(field.locations[0].at, Extent::Bytes { .. }) {
        let expected = match field.get {
            Get::Address(get) => get(packet).map(|address| address.as_bytes().to_vec()),
            Get::Bytes(get) => get(packet).map(<[u8]>::to_vec),
            _ => panic!("{} is neither an address nor bytes", field.name),
        };
        let found = packet.bytes_at(field.locations).map(<[u8]>::to_vec);
        assert_eq!(found, expected, "{place}: {}", field.name);
        return found.is_some();
    }
    let expected = match field.get {
        Get::Bool(get) => get(packet).map(u64::from),
        Get::U8(get) => get(packet).map(u64::from),
        Get::U16(get) => get(packet).map(u64::from),
        Get::U32(get) => get(packet).map(u64::from),
        Get::U64(get) => get(packet),
        _ => panic!("{} is no number", field.name),
    };
    let found = packet.number(field.locations);
    assert_eq!(found, expected, "{place}: {}", field.name);
    found.is_some()
}
