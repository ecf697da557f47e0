//! The headers of a packet, in their order.

use crate::protocol::Next;
use crate::{Decoder, Layer, LayerSet, Stop};

/// The headers that were found in a packet, and what their protocols are.
///
/// A decoder has one that it keeps from packet to packet, so that only the facts are cleared: they say
/// which of the other entries are of the packet at hand. Packets that packets carry need another one,
/// which the caller of [`Packet::inside`](crate::Packet::inside) provides.
#[derive(Clone, Debug)]
pub struct Headers {
    pub(crate) facts: Facts,
    /// The headers from the outermost on, repeats included.
    pub(crate) stack: [Span; Decoder::LAYERS_MAX as usize],
    /// The index in `stack` of the outermost header of each protocol of the packet.
    pub(crate) outermost: [u8; Layer::COUNT],
}

/// The position of a header and its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Offset of the header's first byte.
    pub(crate) start: u32,
    /// End of the bytes that are there, padding and trailers of outer layers cut off.
    pub(crate) end: u32,
    /// Length in bytes from `start` that the headers around it declare, captured or not.
    pub(crate) declared: u32,
    pub(crate) layer: Layer,
    /// The index in the stack of the IP header that carries it, or [`Span::NO_IP`].
    pub(crate) ip: u8,
    /// The protocol above an IP header, when [`Span::HAS_PROTOCOL`].
    pub(crate) protocol: u8,
    pub(crate) flags: u8,
}

impl Span {
    /// No IP header stands in front.
    pub(crate) const NO_IP: u8 = u8::MAX;
    /// The protocol above this IP header, and its extension headers, is known.
    pub(crate) const HAS_PROTOCOL: u8 = 1;
    /// The payload of this IP header is a later fragment.
    pub(crate) const IS_LATER_FRAGMENT: u8 = 2;
    /// An error message, or a sample, quotes it.
    pub(crate) const IS_QUOTED: u8 = 4;
    /// The header is in a reassembled PDU, and not in the frame.
    pub(crate) const IS_REASSEMBLED: u8 = 8;
    /// The header is the first one of a subframe of an aggregate.
    pub(crate) const BEGINS_SUBFRAME: u8 = 16;

    const NOTHING: Self = Self {
        start: 0,
        end: 0,
        declared: 0,
        layer: Layer::Ethernet,
        ip: Self::NO_IP,
        protocol: 0,
        flags: 0,
    };

    pub(crate) const fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    pub(crate) const fn is_ip(&self) -> bool {
        matches!(self.layer, Layer::Ipv4 | Layer::Ipv6)
    }
}

impl Headers {
    pub(crate) const NONE: Self = Self {
        facts: Facts::NOTHING,
        stack: [Span::NOTHING; Decoder::LAYERS_MAX as usize],
        outermost: [0; Layer::COUNT],
    };

    /// A state without headers.
    #[must_use]
    pub const fn new() -> Self {
        Self::NONE
    }

    /// The layers that were found.
    #[inline]
    pub(crate) fn found(&self) -> &[Span] {
        self.stack
            .get(..usize::from(self.facts.headers))
            .unwrap_or_default()
    }

    /// The outermost header of a protocol that was found.
    #[inline]
    pub(crate) fn outermost(&self, layer: Layer) -> &Span {
        // An index into the stack is always less.
        &self.stack[usize::from(self.outermost[layer as usize]) % self.stack.len()]
    }

    /// Adds the next header. Gives its place in the stack; `None` when the stack is full.
    #[inline]
    pub(crate) fn push(&mut self, span: Span) -> Option<u8> {
        let facts = &mut self.facts;
        let place = facts.headers;
        *self.stack.get_mut(usize::from(place))? = span;
        facts.headers += 1;
        let layer = span.layer;
        if !facts.present.contains(layer) {
            facts.present = facts.present.with(layer);
            self.outermost[layer as usize] = place;
            if facts.network.is_none() && span.is_ip() {
                facts.network = Some(layer);
            }
        }
        Some(place)
    }

    /// Remembers the protocol above the IP header at this place, which `next` tells; `layer` is what that
    /// leads to.
    #[inline]
    pub(crate) fn note_protocol(&mut self, ip: u8, next: &Next, layer: Option<Layer>) {
        let (number, layer, flags) = match *next {
            Next::IpProtocol(number) if !next.is_extension() => (number, layer, 0),
            Next::IpFragment(number) => (number, None, Span::IS_LATER_FRAGMENT),
            _ => return,
        };
        let facts = &mut self.facts;
        if facts.ip_protocol.is_none() {
            facts.ip_protocol = Some(number);
            facts.transport = layer;
        }
        if let Some(span) = self.stack.get_mut(usize::from(ip))
            && !span.is(Span::HAS_PROTOCOL)
        {
            span.protocol = number;
            span.flags |= Span::HAS_PROTOCOL | flags;
        }
    }

    /// Becomes what begins with the header at `first` of another packet, whose outermost IP header is the
    /// one at `ip`.
    pub(crate) fn set_inside(&mut self, other: &Self, first: usize, ip: usize) {
        self.facts = Facts {
            stop: other.facts.stop,
            ..Facts::NOTHING
        };
        for span in other.found().iter().skip(first) {
            let ip = match usize::from(span.ip).checked_sub(first) {
                // The stack is not that long.
                Some(ip) if span.ip != Span::NO_IP => ip as u8,
                _ => Span::NO_IP,
            };
            self.push(Span { ip, ..*span });
        }
        if let Some(ip) = other.stack.get(ip) {
            self.set_transport(ip);
        }
    }

    /// Becomes the headers `shared` and those of the subframe that begins at index `first` of another packet and ends before `end`.
    pub(crate) fn set_subframe(&mut self, other: &Self, shared: usize, first: usize, end: usize) {
        self.facts = Facts {
            stop: other.facts.stop,
            ..Facts::NOTHING
        };
        let found = other.found();
        let in_front = found.get(..shared).unwrap_or_default();
        let own = found.get(first..end).unwrap_or_default();
        let moved = first.saturating_sub(shared);
        for span in in_front.iter().chain(own) {
            let ip = match usize::from(span.ip).checked_sub(moved) {
                // The stack is not that long.
                Some(ip) if span.ip != Span::NO_IP && usize::from(span.ip) >= first => ip as u8,
                _ => span.ip,
            };
            let flags = span.flags & !Span::BEGINS_SUBFRAME;
            self.push(Span { ip, flags, ..*span });
        }
        if let Some(network) = self.facts.network {
            let ip = *self.outermost(network);
            self.set_transport(&ip);
        }
    }

    /// Sets the transport above the outermost IP header to that of this one.
    fn set_transport(&mut self, ip: &Span) {
        if !ip.is(Span::HAS_PROTOCOL) {
            return;
        }
        self.facts.ip_protocol = Some(ip.protocol);
        if !ip.is(Span::IS_LATER_FRAGMENT) {
            self.facts.transport = Next::IpProtocol(ip.protocol).layer();
        }
    }
}

impl Default for Headers {
    fn default() -> Self {
        Self::NONE
    }
}

/// The facts that decoding found, besides the spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) present: LayerSet,
    /// The number of headers.
    pub(crate) headers: u8,
    /// Several packets are carried side by side.
    pub(crate) is_aggregate: bool,
    pub(crate) network: Option<Layer>,
    pub(crate) transport: Option<Layer>,
    pub(crate) ip_protocol: Option<u8>,
    pub(crate) stop: Option<Stop>,
}

impl Facts {
    const NOTHING: Self = Self {
        present: LayerSet::EMPTY,
        headers: 0,
        is_aggregate: false,
        network: None,
        transport: None,
        ip_protocol: None,
        stop: None,
    };

    /// Whether the protocol above the outermost IP header is known and, if it is one that is decoded, its header was read.
    #[inline]
    pub(crate) fn transport_is_known(&self) -> bool {
        self.ip_protocol.is_some()
            && self
                .transport
                .is_none_or(|layer| self.present.contains(layer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_of_most_packets_are_in_a_few_cache_lines() {
        // Four in a line; the facts and the index of the outermost in three.
        assert_eq!(size_of::<Span>(), 16);
        assert!(size_of::<Facts>() + Layer::COUNT <= 3 * 64);
        assert!(size_of::<Headers>() <= 20 * 64, "{}", size_of::<Headers>());
    }
}
