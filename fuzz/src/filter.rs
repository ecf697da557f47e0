//! Display filters, which people paste from anywhere.

use std::hint::black_box;

use weir_filter::{DEPTH_MAX, Filter};
use weir_packet::{Decoder, Frame, LinkType};
use weir_tables::{DisplayFilter, PacketFilter, Row};

/// A text as a filter: an error lies within it, its tree is no deeper than allowed, and what fields accept decides
/// on a packet.
pub fn parse(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match weir_filter::parse(text) {
        Ok(filter) => assert!(depth(&filter) <= 2 * DEPTH_MAX + 2),
        Err(error) => {
            assert!(
                error.start <= error.end && error.end <= text.len(),
                "{error:?}"
            );
            black_box(error.with_caret(text));
        }
    }
    if let Ok(filter) = DisplayFilter::new(text) {
        let mut decoder = Decoder::default();
        for frame in [&PACKET[..], &PACKET[..30], &[]] {
            let packet = decoder.decode(Frame::new(LinkType::ETHERNET, frame));
            black_box(filter.passes(&Row::new("x.pcap", &packet)));
        }
    }
}

fn depth(filter: &Filter) -> usize {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => 1 + parts.iter().map(depth).max().unwrap_or(0),
        Filter::Not(inner) => 1 + depth(inner),
        _ => 1,
    }
}

/// A DNS question's UDP packet in an IP packet in another, on a VLAN.
const PACKET: [u8; 66] = [
    2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0, 5, 8, 0, //
    0x45, 0, 0, 48, 0, 1, 0, 0, 64, 4, 0, 0, 9, 0, 0, 1, 9, 0, 0, 2, //
    0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, //
    0, 53, 0, 53, 0, 8, 0, 0,
];
