//! A short way through the packets that most traffic consists of: Ethernet, perhaps a VLAN tag, or
//! frame relay as a multi-channel card records it; IPv4 or IPv6, TCP or UDP, all of it whole.
//!
//! It finds what the walk from header to header finds, at a third of the cost: the checks of five
//! headers stand in a row, without a call and without a look into a table. Whatever is not just so
//! is left to that walk, which knows why; a test compares the two.

use weir_bytes::{u8_at, u16_be_at};

use crate::protocol::{Ipv4Header, Next, saturated};
use crate::stack::{Facts, Headers, Span};
use crate::{ErfHdlc, Frame, Layer, LinkType, Options};

/// Finds the headers of a usual packet; false when it is not one, and then `found` says nothing.
/// `is_enough` says of what was found so far whether the walk may end there.
#[inline]
pub(crate) fn walk(
    frame: &Frame<'_>,
    options: &Options,
    found: &mut Headers,
    is_enough: impl Fn(&Facts) -> bool,
) -> bool {
    let data = frame.data;
    let mut steps = Steps::new(frame, found);
    let kind = match frame.link_type {
        LinkType::ETHERNET => {
            let Some(ethernet) = Ethernet::at(data) else {
                return false;
            };
            steps.enter(Layer::Ethernet);
            steps.pass(ETHERNET_LEN, NO_TOTAL);
            if ethernet.is_tagged {
                steps.enter(Layer::Vlan);
                steps.pass(VLAN_LEN, NO_TOTAL);
            }
            ethernet.kind
        }
        LinkType::ERF => {
            let Some(record) = ErfRecord::at(data) else {
                return false;
            };
            steps.enter(Layer::Erf);
            if is_enough(&steps.found.facts) {
                return true;
            }
            steps.pass(ERF_LEN, record.total);
            let Some(header) = FrameRelay::at(data, options).filter(|it| it.len <= steps.left())
            else {
                return false;
            };
            steps.enter(Layer::FrameRelay);
            steps.pass(header.len, NO_TOTAL);
            if is_enough(&steps.found.facts) || header.kind.is_none() {
                return true;
            }
            header.kind.unwrap_or_default()
        }
        _ => return false,
    };
    let start = steps.span.start;
    let Some(ip) = Ip::at(data, start as usize, kind)
        .filter(|ip| !ip.is_later_fragment && ip.len <= steps.left())
    else {
        return false;
    };
    let place = steps.found.facts.headers;
    steps.enter(ip.layer);
    steps.pass(ip.len, ip.total);
    steps.span.ip = place;
    let bytes = data.get(steps.span.start as usize..steps.span.end as usize);
    let transport = match (ip.protocol, bytes) {
        (TCP, Some(bytes)) if is_whole_tcp(bytes) => Layer::Tcp,
        (UDP, Some(bytes)) if is_plain_udp(bytes) => Layer::Udp,
        _ => return false,
    };
    steps.enter(transport);
    let facts = &mut steps.found.facts;
    facts.network = Some(ip.layer);
    facts.transport = Some(transport);
    facts.ip_protocol = Some(ip.protocol);
    true
}

/// A walk without a turn.
struct Steps<'f> {
    found: &'f mut Headers,
    /// Of the header at hand.
    span: Span,
}

impl<'f> Steps<'f> {
    #[inline]
    fn new(frame: &Frame<'_>, found: &'f mut Headers) -> Self {
        let captured = saturated(frame.data.len());
        Self {
            found,
            span: Span {
                start: 0,
                end: captured,
                declared: captured.max(frame.declared_len()),
                layer: Layer::Ethernet,
                ip: Span::NO_IP,
                protocol: 0,
                flags: 0,
            },
        }
    }

    #[inline]
    fn enter(&mut self, layer: Layer) {
        let found = &mut *self.found;
        self.span.layer = layer;
        // Usual packets have each header once, and few of them.
        found.stack[usize::from(found.facts.headers)] = self.span;
        found.outermost[layer as usize] = found.facts.headers;
        found.facts.headers += 1;
        found.facts.present = found.facts.present.with(layer);
    }

    /// Moves on behind a header of `len` bytes that says that it and its payload have `total`.
    #[inline]
    fn pass(&mut self, len: u32, total: u32) {
        let span = &mut self.span;
        span.end = span.end.min(span.start.saturating_add(total));
        span.start = span.start.saturating_add(len);
        span.declared = span.declared.min(total).saturating_sub(len);
    }

    /// Bytes that are there of the header at hand and what it carries.
    #[inline]
    const fn left(&self) -> u32 {
        self.span.end.saturating_sub(self.span.start)
    }
}

/// An Ethernet header, perhaps with a VLAN tag.
pub(crate) struct Ethernet {
    pub(crate) is_tagged: bool,
    /// What it carries: an ethertype.
    pub(crate) kind: u16,
}

impl Ethernet {
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "most of it is not needed where it is called"
    )]
    pub(crate) fn at(data: &[u8]) -> Option<Self> {
        let kind = u16_be_at(data, ETHERTYPE_AT)?;
        let is_tagged = kind == VLAN;
        let kind = match is_tagged {
            true => u16_be_at(data, (ETHERNET_LEN + VLAN_LEN) as usize - 2)?,
            false => kind,
        };
        Some(Self { is_tagged, kind })
    }

    /// The ethertype of IP, or none where no header that has plain fields follows: with ARP, and with what
    /// is not decoded. Nothing for the rest, which has to be decoded.
    #[inline]
    pub(crate) fn carries(&self, data: &[u8]) -> Option<Option<u16>> {
        match self.kind {
            IPV4 | IPV6 => Some(Some(self.kind)),
            ARP => {
                let start = self.len() as usize;
                let is_usual = matches!(
                    data.get(start..start + ARP_LEN),
                    Some([0, 1, _, _, 6, 4, ..])
                );
                is_usual.then_some(None)
            }
            // A length, with link control behind it.
            0..0x0600 => None,
            kind => Next::Ethertype(kind).layer().is_none().then_some(None),
        }
    }

    /// Bytes of the header and the tag.
    #[inline]
    pub(crate) const fn len(&self) -> u32 {
        if self.is_tagged {
            ETHERNET_LEN + VLAN_LEN
        } else {
            ETHERNET_LEN
        }
    }
}

/// A record of a multi-channel card, without extension headers.
pub(crate) struct ErfRecord {
    /// Bytes of its headers and of what they say that they carry.
    pub(crate) total: u32,
}

impl ErfRecord {
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "most of it is not needed where it is called"
    )]
    pub(crate) fn at(data: &[u8]) -> Option<Self> {
        let header = data.first_chunk::<{ ERF_LEN as usize }>()?;
        let total = match u16::from_be_bytes([header[14], header[15]]) {
            0 => NO_TOTAL,
            wire_len => ERF_LEN + u32::from(wire_len),
        };
        (header[8] == MULTI_CHANNEL_HDLC).then_some(Self { total })
    }
}

/// Frame relay in such a record, with an address of two bytes: IP behind its identifier, behind SNAP
/// (RFC 2427, 3 and 4.1) or behind Cisco's ethertype, or what is not looked into.
pub(crate) struct FrameRelay {
    pub(crate) len: u32,
    /// What it carries, an ethertype; `None` for what is not looked into.
    pub(crate) kind: Option<u16>,
    /// Cisco's encapsulation has neither a control field nor an identifier.
    pub(crate) has_control: bool,
}

impl FrameRelay {
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "most of it is not needed where it is called"
    )]
    pub(crate) fn at(data: &[u8], options: &Options) -> Option<Self> {
        let start = ERF_LEN as usize;
        let [first, second, control, identifier] = *data.get(start..)?.first_chunk::<4>()?;
        let is_frame_relay = first & 1 == 0
            && second & 1 == 1
            && match options.erf_hdlc {
                // Cisco HDLC looks like this too.
                ErfHdlc::Guess => first != 0x0f && first != 0x8f,
                ErfHdlc::FrameRelay => true,
                _ => false,
            };
        if !is_frame_relay {
            return None;
        }
        if control != UNNUMBERED_INFORMATION {
            // An ethertype in its place, but for link control on DLCI 0.
            let kind = u16::from_be_bytes([control, identifier]);
            let is_link_control = first >> 2 == 0 && second >> 4 == 0;
            return (!is_link_control && matches!(kind, IPV4 | IPV6)).then_some(Self {
                len: 4,
                kind: Some(kind),
                has_control: false,
            });
        }
        let snap = |at: usize| match data.get(at..at + 5) {
            Some([0, 0, 0, high, low]) => Some(u16::from_be_bytes([*high, *low])),
            _ => None,
        };
        let (len, kind) = match identifier {
            IDENTIFIER_IPV4 => (4, Some(IPV4)),
            IDENTIFIER_IPV6 => (4, Some(IPV6)),
            IDENTIFIER_SNAP => (9, Self::looked_into(Next::Ethertype(snap(start + 4)?))?),
            // A pad.
            0 if data.get(start + 4) == Some(&IDENTIFIER_SNAP) => {
                (10, Self::looked_into(Next::Ethertype(snap(start + 5)?))?)
            }
            // Signalling, fragments and PPP.
            0x08 | 0xb1 | 0xcf => (4, Self::looked_into(Next::Nlpid(identifier))?),
            _ => return None,
        };
        Some(Self {
            len,
            kind,
            has_control: true,
        })
    }

    /// The ethertype of IP, or none of what is not looked into; nothing for other protocols.
    #[inline]
    fn looked_into(next: Next) -> Option<Option<u16>> {
        match next {
            Next::Ethertype(kind @ (IPV4 | IPV6)) => Some(Some(kind)),
            next => next.layer().is_none().then_some(None),
        }
    }
}

/// An IP header.
pub(crate) struct Ip {
    pub(crate) layer: Layer,
    pub(crate) len: u32,
    /// Bytes of the header and of what it says that it carries.
    pub(crate) total: u32,
    pub(crate) protocol: u8,
    /// It carries no header of `protocol`.
    pub(crate) is_later_fragment: bool,
}

impl Ip {
    /// The header of the version that an ethertype names.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "most of it is not needed where it is called"
    )]
    pub(crate) fn at(data: &[u8], start: usize, kind: u16) -> Option<Self> {
        let bytes = data.get(start..)?;
        match kind {
            IPV4 => {
                let header = bytes.first_chunk::<20>()?;
                let len = u32::from(header[0] & 15) * 4;
                // Version 4 and a length of 20 bytes or more.
                let begins = matches!(header[0], 0x45..=0x4f);
                let total = u32::from(u16::from_be_bytes([header[2], header[3]]));
                let is_later_fragment = Ipv4Header::new(header).is_later_fragment();
                (begins & (total >= len)).then_some(Self {
                    layer: Layer::Ipv4,
                    len,
                    total,
                    protocol: header[9],
                    is_later_fragment,
                })
            }
            IPV6 => {
                let header = bytes.first_chunk::<40>()?;
                let payload = u32::from(u16::from_be_bytes([header[4], header[5]]));
                (header[0] >> 4 == 6 && payload != 0).then_some(Self {
                    layer: Layer::Ipv6,
                    len: 40,
                    total: 40 + payload,
                    protocol: header[6],
                    is_later_fragment: false,
                })
            }
            _ => None,
        }
    }
}

/// True when a TCP header is all there.
#[inline]
pub(crate) fn is_whole_tcp(bytes: &[u8]) -> bool {
    u8_at(bytes, 12).is_some_and(|offset| {
        let len = usize::from(offset >> 4) * 4;
        len >= 20 && len <= bytes.len()
    })
}

/// True when a UDP header is all there, and no header that is decoded follows.
#[inline]
pub(crate) fn is_plain_udp(bytes: &[u8]) -> bool {
    let Some([s1, s0, d1, d0, l1, l0, ..]) = bytes.first_chunk::<8>().copied() else {
        return false;
    };
    let len = u16::from_be_bytes([l1, l0]);
    let ports = Next::UdpPorts(u16::from_be_bytes([s1, s0]), u16::from_be_bytes([d1, d0]));
    // What has nothing behind its header is no tunnel either.
    len == 8 || (len > 8 && ports.layer().is_none())
}

/// No header says how long what it carries is.
const NO_TOTAL: u32 = u32::MAX;
pub(crate) const ETHERNET_LEN: u32 = 14;
const ETHERTYPE_AT: usize = 12;
const VLAN_LEN: u32 = 4;
const VLAN: u16 = 0x8100;
const ARP: u16 = 0x0806;
/// Of Ethernet and IPv4.
const ARP_LEN: usize = 28;
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
pub(crate) const ICMP: u8 = 1;
pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
pub(crate) const ICMPV6: u8 = 58;
/// ERF record header and multi-channel header.
pub(crate) const ERF_LEN: u32 = 20;
/// ERF type 5, without extension headers.
const MULTI_CHANNEL_HDLC: u8 = 5;
const UNNUMBERED_INFORMATION: u8 = 0x03;
/// NLPIDs (ISO/IEC TR 9577).
const IDENTIFIER_IPV4: u8 = 0xcc;
const IDENTIFIER_IPV6: u8 = 0x8e;
const IDENTIFIER_SNAP: u8 = 0x80;
