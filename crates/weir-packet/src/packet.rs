//! A decoded packet: where each header lies, and what stopped the decoder.

use weir_bytes::{u8_at, u16_be_at, u32_be_at, u64_be_at};

use crate::protocol::PROTOCOLS;
use crate::{Frame, Layer, LinkType, Stop};

/// A decoded packet, borrowing from the frame and from the decoder that made it.
///
/// For each protocol the outermost header is kept. Reading a field costs a bounds check.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    pub(crate) frame: Frame<'a>,
    pub(crate) reassembled: &'a [u8],
    pub(crate) found: &'a Found,
}

/// What a walk writes. The decoder keeps it from packet to packet, so that only the facts are
/// cleared: they say which of the other entries are of the packet at hand.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) facts: Facts,
    /// The outermost header of each protocol.
    pub(crate) spans: [Span; Layer::COUNT],
    /// The protocols in the order in which they were found.
    pub(crate) order: [Layer; Layer::COUNT],
}

impl Found {
    const NOTHING: Self = Self {
        facts: Facts::NOTHING,
        spans: [Span::NOTHING; Layer::COUNT],
        order: [Layer::Ethernet; Layer::COUNT],
    };
}

impl Default for Found {
    fn default() -> Self {
        Self::NOTHING
    }
}

/// Where a header and what it carries lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    /// Offset of the header's first byte.
    pub(crate) start: u32,
    /// End of the bytes that are there, padding and trailers of outer layers cut off.
    pub(crate) end: u32,
    /// Length in bytes from `start` that the headers around it declare, captured or not.
    pub(crate) declared: u32,
    /// Offset of the IP header that carries it, or [`Span::NO_IP`].
    pub(crate) ip: u32,
}

impl Span {
    /// No IP header stands in front.
    pub(crate) const NO_IP: u32 = u32::MAX;
    const NOTHING: Self = Self {
        start: 0,
        end: 0,
        declared: 0,
        ip: 0,
    };
}

/// What decoding found beside the spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) present: LayerSet,
    /// How many protocols were found.
    pub(crate) layers: u8,
    pub(crate) in_reassembled: LayerSet,
    pub(crate) network: Option<Layer>,
    pub(crate) transport: Option<Layer>,
    pub(crate) ip_protocol: Option<u8>,
    pub(crate) stop: Option<Stop>,
}

impl Facts {
    const NOTHING: Self = Self {
        present: LayerSet::EMPTY,
        layers: 0,
        in_reassembled: LayerSet::EMPTY,
        network: None,
        transport: None,
        ip_protocol: None,
        stop: None,
    };

    /// True when the protocol above the outermost IP header is known and, where it is one that is
    /// decoded, its header is found.
    #[inline]
    pub(crate) fn transport_is_known(&self) -> bool {
        self.ip_protocol.is_some()
            && self
                .transport
                .is_none_or(|layer| self.present.contains(layer))
    }
}

/// A set of protocols.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerSet(u128);

impl LayerSet {
    /// No protocol.
    pub const EMPTY: Self = Self(0);

    /// This set and `layer`.
    #[inline]
    #[must_use]
    pub const fn with(self, layer: Layer) -> Self {
        Self(self.0 | 1 << layer as u32)
    }

    /// This set and `other`.
    #[inline]
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True when `layer` is in the set.
    #[inline]
    #[must_use]
    pub const fn contains(self, layer: Layer) -> bool {
        self.0 & (1 << layer as u32) != 0
    }

    /// True when no protocol is in the set.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True when no other than `layer` is in the set.
    #[inline]
    #[must_use]
    pub const fn is_only(self, layer: Layer) -> bool {
        self.0 & !(1 << layer as u32) == 0
    }

    /// True when all of `other` is in the set.
    #[inline]
    #[must_use]
    pub const fn contains_all(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl Packet<'static> {
    /// A packet without bytes, headers, time or number: for what belongs to no packet in particular.
    #[must_use]
    pub fn none() -> Self {
        static NOTHING: Found = Found::NOTHING;
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

    /// Why decoding stopped early; `None` for a packet that was understood to its payload.
    #[must_use]
    pub const fn stop(&self) -> Option<Stop> {
        self.found.facts.stop
    }

    /// The protocols found, outermost first, each once.
    pub fn layers(&self) -> impl Iterator<Item = Layer> {
        self.found
            .order
            .iter()
            .copied()
            .take(usize::from(self.found.facts.layers))
    }

    /// True when the packet has at least one byte of a header of `layer`.
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

    /// True when the outermost header of `layer` is in a packet that an ICMP error quotes.
    #[must_use]
    pub fn is_quoted(&self, layer: Layer) -> bool {
        self.span(layer).is_some_and(|span| {
            [Layer::Icmp, Layer::Icmpv6].into_iter().any(|icmp| {
                self.span(icmp)
                    .is_some_and(|error| error.start < span.start)
            })
        })
    }

    /// True when the outermost header of `layer` is in a fragment of an IP packet, so that not all of
    /// what it carries is there.
    #[must_use]
    pub fn is_fragment(&self, layer: Layer) -> bool {
        let Some(span) = self.span(layer).filter(|span| span.ip != Span::NO_IP) else {
            return false;
        };
        let buffer = self.buffer(layer);
        let ip = span.ip as usize;
        if u8_at(buffer, ip).is_some_and(|first| first >> 4 == 4) {
            return u16_be_at(buffer, ip.saturating_add(6))
                .is_some_and(|fragment| fragment & 0x3fff != 0);
        }
        self.span(Layer::Ipv6Fragment)
            .filter(|header| header.ip == span.ip)
            .and_then(|_| self.u16_be(Layer::Ipv6Fragment, 2))
            .is_some_and(|fragment| fragment & 0xfff9 != 0)
    }

    /// The captured bytes from the outermost header of `layer` to the end of what it carries.
    #[inline]
    #[must_use]
    pub fn bytes(&self, layer: Layer) -> Option<&'a [u8]> {
        let span = self.span(layer)?;
        self.buffer(layer)
            .get(span.start as usize..span.end as usize)
    }

    /// The bytes that the span of `layer` is in.
    #[inline]
    pub(crate) fn buffer(&self, layer: Layer) -> &'a [u8] {
        if self.found.facts.in_reassembled.contains(layer) {
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

    /// The big-endian 64-bit number at `offset` of the outermost header of `layer`.
    #[inline]
    #[must_use]
    pub fn u64_be(&self, layer: Layer, offset: usize) -> Option<u64> {
        u64_be_at(self.bytes(layer)?, offset)
    }

    /// True when any bit of `mask` is set in the byte at `offset` of the outermost header of `layer`.
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

    /// The one that stands further out of two protocols that share their columns.
    #[inline]
    pub(crate) fn outermost(&self, one: Layer, other: Layer) -> Option<Layer> {
        let start = |layer| self.span(layer).map(|span| span.start);
        match (start(one), start(other)) {
            (Some(one), Some(its)) if its < one => Some(other),
            (Some(_), _) => Some(one),
            (None, its) => its.map(|_| other),
        }
    }

    #[inline]
    pub(crate) fn span(&self, layer: Layer) -> Option<&Span> {
        self.has(layer).then(|| &self.found.spans[layer as usize])
    }
}

impl Layer {
    /// How many protocols there are.
    pub const COUNT: usize = PROTOCOLS.len();

    /// Short name as Wireshark writes it in `frame.protocols`, such as `ip`.
    #[must_use]
    pub fn name(self) -> &'static str {
        PROTOCOLS[self as usize].name
    }
}
