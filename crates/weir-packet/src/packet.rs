//! A decoded packet: where each header lies, and what stopped the decoder.

use std::ops::Range;

use weir_bytes::{u8_at, u16_be_at, u32_be_at};

use crate::protocol::{
    Header, Input, Ipv4Header, Ipv6FragmentHeader, Ipv6Header, PROTOCOLS, network_identifier,
};
use crate::shape::{Extent, Location};
use crate::stack::{Headers, Span};
use crate::{Frame, Layer, LinkType, Options, Stop};

/// A decoded packet, borrowing from the frame and from the decoder that made it.
///
/// For each protocol the outermost header is kept. Reading a field costs a bounds check.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    pub(crate) frame: Frame<'a>,
    pub(crate) reassembled: &'a [u8],
    pub(crate) found: &'a Headers,
}

impl Packet<'static> {
    /// A packet without bytes, headers, time or number: for what belongs to no packet in particular.
    #[must_use]
    pub fn none() -> Self {
        static NOTHING: Headers = Headers::NONE;
        Self {
            frame: Frame::new(LinkType(u32::MAX), &[]),
            reassembled: &[],
            found: &NOTHING,
        }
    }
}

impl<'a> Packet<'a> {
    /// The frame that was decoded.
    #[inline]
    #[must_use]
    pub const fn frame(&self) -> &Frame<'a> {
        &self.frame
    }

    /// The same packet, whose record has another number: of all captures that are read, say, and not of its own.
    #[must_use]
    pub const fn with_number(mut self, number: u64) -> Self {
        self.frame.number = number;
        self
    }

    /// Why decoding stopped early; `None` for a packet that was understood to its payload.
    #[must_use]
    pub const fn stop(&self) -> Option<Stop> {
        self.found.facts.stop
    }

    /// The protocols found, outermost first, each once.
    pub fn layers(&self) -> impl Iterator<Item = Layer> {
        let found = self.found;
        let of_stack = found.found().iter().enumerate();
        of_stack
            .filter(|(place, span)| usize::from(found.outermost[span.layer as usize]) == *place)
            .map(|(_, span)| span.layer)
    }

    /// All headers, outermost first, including repeated protocols: the protocol, and the captured bytes from the header to the end
    /// of its payload.
    pub fn headers(&self) -> impl Iterator<Item = (Layer, &'a [u8])> {
        let (frame, reassembled) = (self.frame.data, self.reassembled);
        self.found.found().iter().map(move |span| {
            let buffer = match span.is(Span::IS_REASSEMBLED) {
                true => reassembled,
                false => frame,
            };
            let bytes = buffer.get(span.start as usize..span.end as usize);
            (span.layer, bytes.unwrap_or_default())
        })
    }

    /// The bytes of each header of these layers alone, up to its payload, outermost first; all of those that are there of one that
    /// cannot be decoded.
    pub fn headers_alone(
        &self,
        is_wanted: impl Fn(Layer) -> bool,
    ) -> impl Iterator<Item = &'a [u8]> {
        let headers = self.headers_read_again(is_wanted);
        headers.map(|(_, bytes, header)| {
            let len = header.map_or(bytes.len(), |header| header.len as usize);
            bytes.get(..len).unwrap_or(bytes)
        })
    }

    /// The bytes of each header of these layers with its payload, outermost first, up to the end that its own length gives it: without
    /// the padding of short frames behind IP and ARP.
    pub fn headers_to_their_end(
        &self,
        is_wanted: impl Fn(Layer) -> bool,
    ) -> impl Iterator<Item = &'a [u8]> {
        let headers = self.headers_read_again(is_wanted);
        headers.map(|(layer, bytes, header)| {
            let end = match header {
                // The addresses, which have no payload behind them, are a part of the header.
                Some(header) if layer == Layer::Arp => header.len,
                Some(header) => header.total,
                None => return bytes,
            };
            bytes.get(..end as usize).unwrap_or(bytes)
        })
    }

    /// The headers of these layers with their bytes up to the end of their payload, outermost first, and what is read of them; `None`
    /// for one that cannot be decoded.
    fn headers_read_again(
        &self,
        is_wanted: impl Fn(Layer) -> bool,
    ) -> impl Iterator<Item = (Layer, &'a [u8], Option<Header>)> {
        let frame = self.frame;
        let options = Options::default();
        let headers = self.found.found().iter().zip(self.headers());
        headers.filter_map(move |(span, (layer, bytes))| {
            if !is_wanted(layer) {
                return None;
            }
            let input = Input {
                bytes,
                declared: span.declared as usize,
                frame: &frame,
                options: &options,
            };
            let header = (layer.protocol().decode)(&input);
            Some((layer, bytes, header.ok()))
        })
    }

    /// The headers that lie in the frame itself, outermost first, including repeated protocols: the protocol, and where
    /// in the frame's bytes the header and its payload lie. The headers of a reassembled PDU are not among them.
    #[inline]
    pub fn places(&self) -> impl Iterator<Item = (Layer, Range<usize>)> {
        let in_frame = self.found.found().iter();
        in_frame
            .filter(|span| !span.is(Span::IS_REASSEMBLED))
            .map(|span| (span.layer, span.start as usize..span.end as usize))
    }

    /// Calls `visit` with a packet whose header of `layer` is each of those of this protocol, the outermost first, until it returns
    /// false. Returns false when it was stopped.
    pub fn each_of(&self, layer: Layer, visit: &mut dyn FnMut(&Packet<'_>) -> bool) -> bool {
        if !self.has(layer) {
            return true;
        }
        if !visit(self) {
            return false;
        }
        let outermost = usize::from(self.found.outermost[layer as usize]);
        let others = self.found.found().iter().enumerate();
        let mut others = others
            .skip(outermost.saturating_add(1))
            .filter(|(_, span)| span.layer == layer)
            .peekable();
        if others.peek().is_none() {
            return true;
        }
        let mut headers = self.found.clone();
        for (place, _) in others {
            // The stack has fewer places.
            headers.outermost[layer as usize] = place as u8;
            let packet = Packet {
                frame: self.frame,
                reassembled: self.reassembled,
                found: &headers,
            };
            if !visit(&packet) {
                return false;
            }
        }
        true
    }

    /// Whether [`inside`](Self::inside) has a packet to give.
    #[inline]
    #[must_use]
    pub fn has_inside(&self) -> bool {
        self.nested_ip().is_some()
    }

    /// The indices in the stack of the outermost IP header, and of the next one that a tunnel carries and whose payload is known.
    #[inline]
    fn nested_ip(&self) -> Option<(usize, usize)> {
        let found = self.found.found();
        let outer = usize::from(self.found.outermost[self.network()? as usize]);
        // Nearly always there is one header behind it, of the transport.
        let (behind, rest) = (outer.checked_add(2)?, outer.checked_add(1)?);
        if found.len() < behind {
            return None;
        }
        let nested = found
            .iter()
            .enumerate()
            .skip(rest)
            .take_while(|(_, span)| !span.is(Span::BEGINS_SUBFRAME))
            .find(|(_, span)| span.is_ip());
        nested
            .filter(|(_, span)| span.is(Span::HAS_PROTOCOL) && !span.is(Span::IS_QUOTED))
            .map(|(ip, _)| (outer, ip))
    }

    /// The packet that this one's outermost IP header carries in a tunnel, with the identifier of the tunnel's network, if it has
    /// one (see [`network_identifier`]). It is made of the decoded headers: nothing is decoded again. `None` without one: a packet
    /// that an error message or a sample quotes does not count.
    ///
    /// The packet's link layer is that in the tunnel; its outermost IP header is the tunnel's payload.
    #[must_use]
    pub fn inside<'i>(&self, headers: &'i mut Headers) -> Option<(Packet<'i>, Option<u32>)>
    where
        'a: 'i,
    {
        let (outer, ip) = self.nested_ip()?;
        let found = self.found.found();
        let behind = outer.saturating_add(1);
        let between = found.get(behind..ip)?;
        let link = between
            .iter()
            .rposition(|span| span.layer == Layer::Ethernet);
        let first = link.map_or(ip, |link| link.saturating_add(behind));
        let tunnels = self.headers().take(ip).skip(behind);
        let identifier = tunnels
            .filter_map(|(layer, bytes)| network_identifier(layer, bytes))
            .last();
        headers.set_inside(self.found, first, ip);
        let packet = Packet {
            frame: self.frame,
            reassembled: self.reassembled,
            found: headers,
        };
        Some((packet, identifier))
    }

    /// Whether the frame carries several adjacent packets, as an A-MSDU does (IEEE 802.11, 9.3.2.2). The headers of all are
    /// decoded, in the order of the packets.
    #[inline]
    #[must_use]
    pub const fn is_aggregate(&self) -> bool {
        self.found.facts.is_aggregate
    }

    /// Hands over each packet of an aggregate as if it were alone in the frame, with the headers in front of all of
    /// them. The packet itself where it is no aggregate, where no header of what it carries was found, and where a
    /// tunnel carries the aggregate: its outermost IP header is one, however many packets are in it.
    pub fn each_subframe(&self, visit: &mut dyn FnMut(&Packet<'_>)) {
        let found = self.found.found();
        let begins = |from: usize| {
            let behind = found.iter().enumerate().skip(from);
            behind
                .filter(|(_, span)| span.is(Span::BEGINS_SUBFRAME))
                .map(|(place, _)| place)
                .next()
        };
        let is_tunnelled = |shared: &usize| found.iter().take(*shared).any(Span::is_ip);
        let Some(shared) = begins(0).filter(|shared| !is_tunnelled(shared)) else {
            return visit(self);
        };
        let mut headers = Headers::new();
        let mut next = Some(shared);
        while let Some(first) = next {
            next = begins(first.saturating_add(1));
            headers.set_subframe(self.found, shared, first, next.unwrap_or(found.len()));
            visit(&Packet {
                frame: self.frame,
                reassembled: self.reassembled,
                found: &headers,
            });
        }
    }

    /// The outermost header of IPv4.
    #[inline]
    #[must_use]
    pub fn ipv4(&self) -> Option<Ipv4Header<'a>> {
        self.bytes(Layer::Ipv4).map(Ipv4Header::new)
    }

    /// The outermost header of IPv6.
    #[inline]
    #[must_use]
    pub fn ipv6(&self) -> Option<Ipv6Header<'a>> {
        self.bytes(Layer::Ipv6).map(Ipv6Header::new)
    }

    /// The outermost fragment header of IPv6.
    #[inline]
    #[must_use]
    pub fn ipv6_fragment(&self) -> Option<Ipv6FragmentHeader<'a>> {
        self.bytes(Layer::Ipv6Fragment).map(Ipv6FragmentHeader::new)
    }

    /// Whether the packet has at least one byte of a header of `layer`.
    #[inline]
    #[must_use]
    pub const fn has(&self, layer: Layer) -> bool {
        self.found.facts.present.contains(layer)
    }

    /// The outermost IP header: [`Layer::Ipv4`] or [`Layer::Ipv6`].
    #[inline]
    #[must_use]
    pub const fn network(&self) -> Option<Layer> {
        self.found.facts.network
    }

    /// The decoded header above the outermost IP header; `None` in later fragments.
    #[inline]
    #[must_use]
    pub const fn transport(&self) -> Option<Layer> {
        self.found.facts.transport
    }

    /// Protocol number above the outermost IP header and its extension headers.
    #[inline]
    #[must_use]
    pub const fn ip_protocol(&self) -> Option<u8> {
        self.found.facts.ip_protocol
    }

    /// Whether the outermost header of `layer` is in a packet that an ICMP error quotes.
    #[must_use]
    pub fn is_quoted(&self, layer: Layer) -> bool {
        self.span(layer).is_some_and(|span| {
            let is_behind = |icmp| {
                self.span(icmp)
                    .is_some_and(|error| error.start < span.start)
            };
            span.is(Span::IS_QUOTED) && (is_behind(Layer::Icmp) || is_behind(Layer::Icmpv6))
        })
    }

    /// Whether the outermost header of `layer` is in a fragment of an IP packet, so that its payload is incomplete.
    #[must_use]
    pub fn is_fragment(&self, layer: Layer) -> bool {
        let carrier = self.span(layer).and_then(|span| self.carrier(span));
        let Some((ip, place)) = carrier else {
            return false;
        };
        let bytes = self
            .buffer_of(ip)
            .get(ip.start as usize..)
            .unwrap_or_default();
        match ip.layer {
            Layer::Ipv4 => Ipv4Header::new(bytes).is_fragment(),
            _ => self
                .span(Layer::Ipv6Fragment)
                .filter(|header| header.ip == place)
                .and_then(|_| self.ipv6_fragment())
                .is_some_and(|header| header.is_fragment()),
        }
    }

    /// The IP header that carries the header with this span, and its place in the stack.
    #[inline]
    pub(crate) fn carrier(&self, span: &Span) -> Option<(&Span, u8)> {
        let ip = self.found.found().get(usize::from(span.ip))?;
        Some((ip, span.ip))
    }

    /// The captured bytes from the outermost header of `layer` to the end of what it carries.
    #[inline]
    #[must_use]
    pub fn bytes(&self, layer: Layer) -> Option<&'a [u8]> {
        let span = self.span(layer)?;
        self.buffer_of(span)
            .get(span.start as usize..span.end as usize)
    }

    /// The bytes that a span is in.
    #[inline]
    pub(crate) const fn buffer_of(&self, span: &Span) -> &'a [u8] {
        if span.is(Span::IS_REASSEMBLED) {
            self.reassembled
        } else {
            self.frame.data
        }
    }

    /// Length in bytes of the outermost header of `layer` and its payload as the headers around it
    /// declare, whether captured or not.
    #[inline]
    #[must_use]
    pub fn declared_len(&self, layer: Layer) -> Option<u32> {
        self.span(layer).map(|span| span.declared)
    }

    /// The byte at `offset` of the outermost header of `layer`.
    #[inline]
    #[must_use]
    pub fn u8(&self, layer: Layer, offset: usize) -> Option<u8> {
        u8_at(self.bytes(layer)?, offset)
    }

    /// The big-endian 16-bit number at `offset` of the outermost header of `layer`.
    #[inline]
    #[must_use]
    pub fn u16_be(&self, layer: Layer, offset: usize) -> Option<u16> {
        u16_be_at(self.bytes(layer)?, offset)
    }

    /// The big-endian 32-bit number at `offset` of the outermost header of `layer`.
    #[inline]
    #[must_use]
    pub fn u32_be(&self, layer: Layer, offset: usize) -> Option<u32> {
        u32_be_at(self.bytes(layer)?, offset)
    }

    /// Whether any bit of `mask` is set in the byte at `offset` of the outermost header of `layer`.
    #[inline]
    #[must_use]
    pub fn bit(&self, layer: Layer, offset: usize, mask: u8) -> Option<bool> {
        Some(self.u8(layer, offset)? & mask != 0)
    }

    /// The `len` bytes at `offset` of the outermost header of `layer`.
    #[inline]
    #[must_use]
    pub fn part(&self, layer: Layer, offset: usize, len: usize) -> Option<&'a [u8]> {
        self.bytes(layer)?.get(offset..)?.get(..len)
    }

    /// The outer one of two protocols that share their columns.
    #[inline]
    pub(crate) fn outermost(&self, one: Layer, other: Layer) -> Option<Layer> {
        let start = |layer| self.span(layer).map(|span| span.start);
        match (start(one), start(other)) {
            (Some(one), Some(its)) if its < one => Some(other),
            (Some(_), _) => Some(one),
            (None, its) => its.map(|_| other),
        }
    }

    /// The number that is at the first of these places that the packet has.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "folds for constant places")]
    #[must_use]
    pub fn number(&self, locations: &[Location]) -> Option<u64> {
        let (location, header) = self.located(locations)?;
        location.at.bits()?.read(header)
    }

    /// The bytes that are at the first of these places that the packet has.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as number")]
    #[must_use]
    pub fn bytes_at(&self, locations: &[Location]) -> Option<&'a [u8]> {
        let (location, header) = self.located(locations)?;
        match location.at {
            Extent::Bytes { offset, len } => header.get(offset as usize..)?.get(..len as usize),
            Extent::Bits(_) => None,
        }
    }

    /// The first of these places whose header is there, outermost among them, and has the field, with the
    /// bytes from that header on.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as number")]
    fn located<'l>(&self, locations: &'l [Location]) -> Option<(&'l Location, &'a [u8])> {
        let mut outermost = u32::MAX;
        let mut found = None;
        let mut index = 0;
        while index < locations.len() {
            let location = &locations[index];
            index += 1;
            if let Some(span) = self.span(location.layer)
                && span.start < outermost
                && let Some(header) = self.bytes(location.layer)
                && location.is_in(header)
            {
                outermost = span.start;
                found = Some((location, header));
            }
        }
        found
    }

    #[inline]
    pub(crate) fn span(&self, layer: Layer) -> Option<&Span> {
        self.has(layer).then(|| self.found.outermost(layer))
    }
}

impl Layer {
    /// The number of protocols.
    pub const COUNT: usize = PROTOCOLS.len();

    /// Short name as Wireshark writes it in `frame.protocols`, such as `ip`.
    #[must_use]
    pub fn name(self) -> &'static str {
        PROTOCOLS[self as usize].name
    }
}
