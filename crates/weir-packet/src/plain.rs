//! A short way through the packets that most traffic consists of: Ethernet, perhaps a VLAN tag, or
//! frame relay as a multi-channel card records it; IPv4 or IPv6, TCP or UDP, all of it plain.
//!
//! It finds what the walk from header to header finds, at half of the cost: what the shapes of these headers ask
//! stands in a row, without a call. From the first header on that is not just so, that walk goes on; a test
//! compares the two.

use crate::protocol::{Next, saturated};
use crate::shape::{NextTable, nth};
use crate::stack::{Facts, Headers, Span};
use crate::{Frame, Layer, LinkType, Options, PlainHeader};

/// Reads the headers of a packet while they are plain and common; returns the position of the next header and its protocol, so that
/// the decoder continues there; `None` where no header is left, or `is_enough` is true for those that were read.
#[inline]
pub(crate) fn walk(
    frame: &Frame<'_>,
    options: &Options,
    found: &mut Headers,
    is_enough: impl Fn(&Facts) -> bool,
) -> Option<(Span, Layer)> {
    let mut steps = PlainWalk::new(frame, options, found);
    let next = steps.walk(frame.link_type, is_enough)?;
    Some((steps.span, next))
}

/// A walk without a turn.
struct PlainWalk<'w> {
    data: &'w [u8],
    options: &'w Options,
    found: &'w mut Headers,
    /// The position of the current header.
    span: Span,
}

/// Reads the current header, of a named protocol. Each of its shapes is a constant here, so that conditions on it are folded.
macro_rules! read {
    ($steps:ident, $layer:ident) => {
        read!($steps, $layer: 0 1 2 3 4)
    };
    ($steps:ident, $layer:ident: $($index:literal)*) => {{
        const { assert!(Layer::$layer.shapes().len() <= 5, "name more of them here") };
        let bytes = $steps.bytes();
        'read: {
            $(
                if let Some(shape) = const { nth(Layer::$layer.shapes(), $index) }
                    && shape.is_enabled($steps.options)
                    && let Some(header) = shape.read(bytes)
                {
                    break 'read Some(header);
                }
            )*
            None
        }
    }};
}

/// Reads the current header, stores it and moves past it. A header that is not plain ends the walk with its protocol: the decoder
/// continues there.
macro_rules! step {
    ($steps:ident, $layer:ident) => {{
        let Some(header) = read!($steps, $layer) else {
            return Some(Layer::$layer);
        };
        $steps.enter(Layer::$layer);
        $steps.pass(&header);
        header
    }};
}

impl<'w> PlainWalk<'w> {
    #[inline]
    fn new(frame: &Frame<'w>, options: &'w Options, found: &'w mut Headers) -> Self {
        let captured = saturated(frame.data.len());
        Self {
            data: frame.data,
            options,
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
    fn walk(&mut self, link_type: LinkType, is_enough: impl Fn(&Facts) -> bool) -> Option<Layer> {
        let link = match link_type {
            LinkType::ETHERNET => {
                let ethernet = step!(self, Ethernet);
                match ethernet.next {
                    Some(Layer::Vlan) => step!(self, Vlan),
                    _ => ethernet,
                }
            }
            LinkType::ERF => {
                let record = step!(self, Erf);
                match record.next {
                    _ if is_enough(&self.found.facts) => return None,
                    Some(Layer::FrameRelay) => step!(self, FrameRelay),
                    other => return other,
                }
            }
            _ => return NextTable::LinkType.layer(link_type.0.into()),
        };
        let place = self.found.facts.headers;
        let ip = match link.next {
            Some(Layer::Ipv4) => step!(self, Ipv4),
            Some(Layer::Ipv6) => step!(self, Ipv6),
            other => return other,
        };
        self.span.ip = place;
        if let Some((number, is_later_fragment)) = ip.ip_protocol {
            let next = match is_later_fragment {
                true => Next::IpFragment(number),
                false => Next::IpProtocol(number),
            };
            self.found.note_protocol(place, &next, ip.next);
        }
        let transport = match ip.next {
            Some(Layer::Tcp) => step!(self, Tcp),
            Some(Layer::Udp) => step!(self, Udp),
            other => return other,
        };
        transport.next
    }

    /// The bytes after the headers so far.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "folds for a layer that is named")]
    fn bytes(&self) -> &'w [u8] {
        let bytes = self.span.start as usize..self.span.end as usize;
        self.data.get(bytes).unwrap_or_default()
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "folds for a layer that is named")]
    fn enter(&mut self, layer: Layer) {
        let found = &mut *self.found;
        self.span.layer = layer;
        // The usual packets have each header once, and few of them.
        found.stack[usize::from(found.facts.headers)] = self.span;
        found.outermost[layer as usize] = found.facts.headers;
        found.facts.headers += 1;
        found.facts.present = found.facts.present.with(layer);
        if matches!(layer, Layer::Ipv4 | Layer::Ipv6) {
            found.facts.network = Some(layer);
        }
    }

    /// Moves past the current header.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "folds for a layer that is named")]
    fn pass(&mut self, header: &PlainHeader) {
        let span = &mut self.span;
        span.end = span.end.min(span.start.saturating_add(header.total));
        span.start = span.start.saturating_add(header.len);
        span.declared = span.declared.min(header.total).saturating_sub(header.len);
    }
}
