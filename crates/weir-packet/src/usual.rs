//! A short way through the packets that most traffic consists of: Ethernet, perhaps a VLAN tag, or
//! frame relay as a multi-channel card records it; IPv4 or IPv6, TCP or UDP, all of it whole.
//!
//! It finds what the walk from header to header finds, at a third of the cost: the checks of five
//! headers stand in a row, without a call and without a look into a table. Whatever is not just so
//! is left to that walk, which knows why; a test compares the two.

use weir_bytes::{u8_at, u16_be_at};

use crate::packet::{Facts, Found, Span};
use crate::protocol::{Next, saturated};
use crate::{ErfHdlc, Frame, Layer, LinkType, Options};

/// Finds the headers of a usual packet; false when it is not one, and then `found` says nothing.
/// `is_enough` says of what was found so far whether the walk may end there.
#[inline]
pub(crate) fn walk(
    frame: &Frame<'_>,
    options: &Options,
    found: &mut Found,
    is_enough: impl Fn(&Facts) -> bool,
) -> bool {
    match frame.link_type {
        LinkType::ETHERNET => ethernet(frame, found),
        LinkType::ERF => frame_relay(frame, options, found, is_enough),
        _ => false,
    }
}

#[inline]
fn ethernet(frame: &Frame<'_>, found: &mut Found) -> bool {
    let data = frame.data;
    let Some(mut kind) = u16_be_at(data, ETHERTYPE_AT) else {
        return false;
    };
    let mut steps = Steps::new(frame, found);
    steps.enter(Layer::Ethernet);
    steps.pass(ETHERNET_LEN, NO_TOTAL);
    if kind == VLAN {
        kind = match u16_be_at(data, ETHERNET_LEN as usize + 2) {
            Some(kind) => kind,
            None => return false,
        };
        steps.enter(Layer::Vlan);
        steps.pass(VLAN_LEN, NO_TOTAL);
    }
    steps.ip(data, kind)
}

/// Frame relay on a channel of a multi-channel card: IP behind its identifier or behind SNAP
/// (RFC 2427, 3 and 4.1).
#[inline]
fn frame_relay(
    frame: &Frame<'_>,
    options: &Options,
    found: &mut Found,
    is_enough: impl Fn(&Facts) -> bool,
) -> bool {
    let data = frame.data;
    let Some(header) = data.first_chunk::<24>() else {
        return false;
    };
    // Of the type without extension headers, and with an address of two bytes in front of
    // unnumbered information.
    let [.., first, second, UNNUMBERED_INFORMATION, identifier] = *header else {
        return false;
    };
    let is_frame_relay = first & 1 == 0
        && second & 1 == 1
        && match options.erf_hdlc {
            // Cisco HDLC looks like this too.
            ErfHdlc::Guess => first != 0x0f && first != 0x8f,
            ErfHdlc::FrameRelay => true,
            _ => false,
        };
    if header[8] != MULTI_CHANNEL_HDLC || !is_frame_relay {
        return false;
    }
    let (len, kind) = match identifier {
        IDENTIFIER_IPV4 => (4, IPV4),
        IDENTIFIER_IPV6 => (4, IPV6),
        IDENTIFIER_SNAP => match data.get(24..29) {
            Some([0, 0, 0, high, low]) => (9, u16::from_be_bytes([*high, *low])),
            _ => return false,
        },
        // A pad.
        0 => match data.get(24..30) {
            Some([IDENTIFIER_SNAP, 0, 0, 0, high, low]) => (10, u16::from_be_bytes([*high, *low])),
            _ => return false,
        },
        _ => return false,
    };
    let mut steps = Steps::new(frame, found);
    steps.enter(Layer::Erf);
    let wire_len = u32::from(u16::from_be_bytes([header[14], header[15]]));
    let total = match wire_len {
        0 => NO_TOTAL,
        wire_len => ERF_LEN + wire_len,
    };
    steps.pass(ERF_LEN, total);
    if steps.is_enough(&is_enough) {
        return true;
    }
    if steps.span.end - steps.span.start < len {
        return false;
    }
    steps.enter(Layer::FrameRelay);
    steps.pass(len, NO_TOTAL);
    steps.is_enough(&is_enough) || steps.ip(data, kind)
}

/// A walk without a turn.
struct Steps<'f> {
    found: &'f mut Found,
    /// Of the header at hand.
    span: Span,
    layers: u8,
}

impl<'f> Steps<'f> {
    #[inline]
    fn new(frame: &Frame<'_>, found: &'f mut Found) -> Self {
        let captured = saturated(frame.data.len());
        Self {
            found,
            span: Span {
                start: 0,
                end: captured,
                declared: captured.max(frame.declared_len()),
                ip: Span::NO_IP,
            },
            layers: 0,
        }
    }

    #[inline]
    fn enter(&mut self, layer: Layer) {
        self.found.spans[layer as usize] = self.span;
        self.found.order[usize::from(self.layers)] = layer;
        self.layers += 1;
        self.found.facts.present = self.found.facts.present.with(layer);
    }

    /// Moves on behind a header of `len` bytes that says that it and its payload have `total`.
    #[inline]
    fn pass(&mut self, len: u32, total: u32) {
        let span = &mut self.span;
        span.end = span.end.min(span.start.saturating_add(total));
        span.start = span.start.saturating_add(len);
        span.declared = span.declared.min(total).saturating_sub(len);
    }

    #[inline]
    fn is_enough(&mut self, is_enough: impl Fn(&Facts) -> bool) -> bool {
        self.found.facts.layers = self.layers;
        is_enough(&self.found.facts)
    }

    /// IP of the version that an ethertype names, and what it carries.
    #[inline]
    fn ip(mut self, data: &[u8], kind: u16) -> bool {
        let start = self.span.start as usize;
        let (network, protocol, len, total) = match kind {
            IPV4 => {
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
        // The headers around it may end before the captured bytes do.
        if self.span.end.saturating_sub(self.span.start) < len {
            return false;
        }
        self.enter(network);
        let ip = self.span.start;
        self.pass(len, total);
        self.span.ip = ip;
        let Some(bytes) = data.get(self.span.start as usize..self.span.end as usize) else {
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
                let ports =
                    Next::UdpPorts(u16::from_be_bytes([s1, s0]), u16::from_be_bytes([d1, d0]));
                // What has nothing behind its header is no tunnel either.
                if len < 8 || (len > 8 && ports.layer().is_some()) {
                    return false;
                }
                Layer::Udp
            }
            _ => return false,
        };
        self.enter(transport);
        let facts = &mut self.found.facts;
        facts.layers = self.layers;
        facts.network = Some(network);
        facts.transport = Some(transport);
        facts.ip_protocol = Some(protocol);
        true
    }
}

/// No header says how long what it carries is.
const NO_TOTAL: u32 = u32::MAX;
const ETHERNET_LEN: u32 = 14;
const ETHERTYPE_AT: usize = 12;
const VLAN_LEN: u32 = 4;
const VLAN: u16 = 0x8100;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const TCP: u8 = 6;
const UDP: u8 = 17;
/// ERF record header and multi-channel header.
const ERF_LEN: u32 = 20;
/// ERF type 5, without extension headers.
const MULTI_CHANNEL_HDLC: u8 = 5;
const UNNUMBERED_INFORMATION: u8 = 0x03;
/// NLPIDs (ISO/IEC TR 9577).
const IDENTIFIER_IPV4: u8 = 0xcc;
const IDENTIFIER_IPV6: u8 = 0x8e;
const IDENTIFIER_SNAP: u8 = 0x80;
