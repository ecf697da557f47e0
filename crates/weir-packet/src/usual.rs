//! A short way through the packets that most traffic consists of: Ethernet, perhaps a VLAN tag, IPv4
//! or IPv6, TCP or UDP, all of it whole.
//!
//! It finds what the walk from header to header finds, at a third of the cost: the checks of five
//! headers stand in a row, without a call and without a look into a table. Whatever is not just so
//! is left to that walk, which knows why; a test compares the two.

use weir_bytes::{u8_at, u16_be_at};

use crate::packet::{Found, Span};
use crate::protocol::{Next, saturated};
use crate::{Frame, Layer, LinkType};

/// Finds the headers of a usual packet; false when it is not one, and then `found` says nothing.
#[inline]
pub(crate) fn walk(frame: &Frame<'_>, found: &mut Found) -> bool {
    if frame.link_type != LinkType::ETHERNET {
        return false;
    }
    let data = frame.data;
    let captured = saturated(data.len());
    let mut span = Span {
        start: 0,
        end: captured,
        declared: captured.max(frame.wire_len),
        ip: Span::NO_IP,
    };
    let mut steps = Steps { found, layers: 0 };
    let mut kind = match u16_be_at(data, ETHERTYPE_AT) {
        Some(kind) => kind,
        None => return false,
    };
    steps.enter(Layer::Ethernet, span);
    pass(&mut span, ETHERNET_LEN, u32::MAX);
    if kind == VLAN {
        kind = match u16_be_at(data, ETHERNET_LEN as usize + 2) {
            Some(kind) => kind,
            None => return false,
        };
        steps.enter(Layer::Vlan, span);
        pass(&mut span, VLAN_LEN, u32::MAX);
    }
    let start = span.start as usize;
    let (network, protocol, len, total) = match kind {
        IPV4 => {
            // Of the first twenty bytes, all are there or this is for the other walk.
            let Some(header) = data.get(start..).and_then(<[u8]>::first_chunk::<20>) else {
                return false;
            };
            let len = u32::from(header[0] & 15) * 4;
            let total = u32::from(u16::from_be_bytes([header[2], header[3]]));
            let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x1fff;
            if header[0] >> 4 != 4 || len < 20 || fragment != 0 || total < len {
                return false;
            }
            (Layer::Ipv4, header[9], len, total)
        }
        IPV6 => {
            let Some(header) = data.get(start..).and_then(<[u8]>::first_chunk::<40>) else {
                return false;
            };
            let payload = u32::from(u16::from_be_bytes([header[4], header[5]]));
            if header[0] >> 4 != 6 || payload == 0 {
                return false;
            }
            (Layer::Ipv6, header[6], 40, 40 + payload)
        }
        _ => return false,
    };
    if span.end - span.start < len {
        return false;
    }
    steps.enter(network, span);
    let ip = span.start;
    pass(&mut span, len, total);
    span.ip = ip;
    let start = span.start as usize;
    let Some(bytes) = data.get(start..span.end as usize) else {
        return false;
    };
    let transport = match protocol {
        TCP => {
            let Some(offset) = u8_at(bytes, 12) else {
                return false;
            };
            let len = usize::from(offset >> 4) * 4;
            if len < 20 || bytes.len() < len {
                return false;
            }
            Layer::Tcp
        }
        UDP => {
            let Some(header) = bytes.first_chunk::<8>() else {
                return false;
            };
            let [s1, s0, d1, d0, l1, l0, ..] = *header;
            let len = u16::from_be_bytes([l1, l0]);
            let ports = Next::UdpPorts(u16::from_be_bytes([s1, s0]), u16::from_be_bytes([d1, d0]));
            // What has nothing behind its header is no tunnel either.
            if len < 8 || (len > 8 && ports.layer().is_some()) {
                return false;
            }
            Layer::Udp
        }
        _ => return false,
    };
    steps.enter(transport, span);
    let layers = steps.layers;
    let facts = &mut found.facts;
    facts.layers = layers;
    facts.network = Some(network);
    facts.transport = Some(transport);
    facts.ip_protocol = Some(protocol);
    true
}

/// Moves on behind a header of `len` bytes that says that it and its payload have `total`.
#[inline]
fn pass(span: &mut Span, len: u32, total: u32) {
    span.end = span.end.min(span.start.saturating_add(total));
    span.start = span.start.saturating_add(len);
    span.declared = span.declared.min(total).saturating_sub(len);
}

struct Steps<'f> {
    found: &'f mut Found,
    layers: u8,
}

impl Steps<'_> {
    #[inline]
    fn enter(&mut self, layer: Layer, span: Span) {
        self.found.spans[layer as usize] = span;
        self.found.order[usize::from(self.layers)] = layer;
        self.layers += 1;
        self.found.facts.present = self.found.facts.present.with(layer);
    }
}

const ETHERNET_LEN: u32 = 14;
const ETHERTYPE_AT: usize = 12;
const VLAN_LEN: u32 = 4;
const VLAN: u16 = 0x8100;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const TCP: u8 = 6;
const UDP: u8 = 17;
