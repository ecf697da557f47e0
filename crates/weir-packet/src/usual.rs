//! A short way through the packets that most traffic consists of: Ethernet, perhaps a VLAN tag, or
//! frame relay as a multi-channel card records it; IPv4 or IPv6, TCP or UDP, all of it whole.
//!
//! It finds what the walk from header to header finds, at a third of the cost: the checks of five
//! headers stand in a row, without a call and without a look into a table. Whatever is not just so
//! is left to that walk, which knows why; a test compares the two.

use weir_bytes::{u8_at, u16_be_at, u32_be_at};

use crate::packet::{Facts, Found, LayerSet, Span};
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
    let declared = frame.declared_len();
    let trail = Trail { found, is_enough };
    follow(frame.link_type, frame.data, declared, options, trail)
}

/// What remembers the headers that a walk comes by.
trait Notes {
    fn enter(&mut self, layer: Layer, span: Span);

    /// The walk may end here.
    fn is_enough(&mut self) -> bool;

    /// The walk ends, having found IP and what it carries.
    fn end(&mut self, network: Layer, transport: Layer, protocol: u8);
}

#[inline]
fn follow(
    link_type: LinkType,
    data: &[u8],
    declared: u32,
    options: &Options,
    notes: impl Notes,
) -> bool {
    match link_type {
        LinkType::ETHERNET => ethernet(data, declared, notes),
        LinkType::ERF => frame_relay(data, declared, options, notes),
        _ => false,
    }
}

#[inline]
fn ethernet(data: &[u8], declared: u32, notes: impl Notes) -> bool {
    let Some(mut kind) = u16_be_at(data, ETHERTYPE_AT) else {
        return false;
    };
    let mut steps = Steps::new(data, declared, notes);
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
fn frame_relay(data: &[u8], declared: u32, options: &Options, notes: impl Notes) -> bool {
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
        // Signalling, fragments and PPP: IP of no ethertype.
        0x08 | 0xb1 | 0xcf => (4, 0),
        _ => return false,
    };
    let mut steps = Steps::new(data, declared, notes);
    steps.enter(Layer::Erf);
    let wire_len = u32::from(u16::from_be_bytes([header[14], header[15]]));
    let total = match wire_len {
        0 => NO_TOTAL,
        wire_len => ERF_LEN + wire_len,
    };
    steps.pass(ERF_LEN, total);
    if steps.notes.is_enough() {
        return true;
    }
    if steps.span.end - steps.span.start < len {
        return false;
    }
    steps.enter(Layer::FrameRelay);
    steps.pass(len, NO_TOTAL);
    steps.notes.is_enough() || steps.ip(data, kind)
}

/// A walk without a turn.
struct Steps<N> {
    notes: N,
    /// Of the header at hand.
    span: Span,
}

impl<N: Notes> Steps<N> {
    #[inline]
    fn new(data: &[u8], declared: u32, notes: N) -> Self {
        let captured = saturated(data.len());
        Self {
            notes,
            span: Span {
                start: 0,
                end: captured,
                declared: captured.max(declared),
                ip: Span::NO_IP,
            },
        }
    }

    #[inline]
    fn enter(&mut self, layer: Layer) {
        self.notes.enter(layer, self.span);
    }

    /// Moves on behind a header of `len` bytes that says that it and its payload have `total`.
    #[inline]
    fn pass(&mut self, len: u32, total: u32) {
        let span = &mut self.span;
        span.end = span.end.min(span.start.saturating_add(total));
        span.start = span.start.saturating_add(len);
        span.declared = span.declared.min(total).saturating_sub(len);
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
        self.notes.end(network, transport, protocol);
        true
    }
}

/// Notes for a packet, of all that can be asked of one.
struct Trail<'f, E> {
    found: &'f mut Found,
    is_enough: E,
}

impl<E: Fn(&Facts) -> bool> Notes for Trail<'_, E> {
    #[inline]
    fn enter(&mut self, layer: Layer, span: Span) {
        let found = &mut *self.found;
        found.spans[layer as usize] = span;
        found.order[usize::from(found.facts.layers)] = layer;
        found.facts.layers += 1;
        found.facts.present = found.facts.present.with(layer);
    }

    #[inline]
    fn is_enough(&mut self) -> bool {
        (self.is_enough)(&self.found.facts)
    }

    #[inline]
    fn end(&mut self, network: Layer, transport: Layer, protocol: u8) {
        let facts = &mut self.found.facts;
        facts.network = Some(network);
        facts.transport = Some(transport);
        facts.ip_protocol = Some(protocol);
    }
}

/// Where the headers of a usual packet lie: the little that plain fields need ([`Spot`]).
///
/// ```
/// use weir_packet::{LinkType, Options, Outline, Spot};
///
/// let mut frame = [0; 42];
/// frame[12..14].copy_from_slice(&[0x08, 0x00]);
/// frame[14..34].copy_from_slice(&[
///     0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
/// ]);
/// frame[34..42].copy_from_slice(&[0x13, 0xc4, 0, 53, 0, 8, 0, 0]);
/// let port = Spot::of("udp.dstport").ok_or("no such spot")?;
/// let outline = Outline::of(LinkType::ETHERNET, &frame, 42, &Options::default(), port.layers());
/// let outline = outline.ok_or("not a usual packet")?;
/// assert_eq!(port.read(&frame, &outline), Some(53));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Outline {
    /// First byte and end of each header with what it carries; both 0 for one that is not there.
    places: [(u32, u32); SLOTS],
}

impl Outline {
    /// The outline of a frame of `wire_len` bytes on the wire; `None` when it is not a usual packet,
    /// for which a [`Decoder`](crate::Decoder) has to be asked. It may end when it has all of
    /// `wanted`.
    #[must_use]
    pub fn of(
        link_type: LinkType,
        data: &[u8],
        wire_len: u32,
        options: &Options,
        wanted: LayerSet,
    ) -> Option<Self> {
        let mut outline = Self::default();
        let drawn = outline.draw(link_type, data, wire_len, options, wanted);
        drawn.then_some(outline)
    }

    /// As [`Outline::of`], over an outline that was drawn before; false when it is not a usual packet,
    /// and then the outline says nothing.
    #[inline]
    pub fn draw(
        &mut self,
        link_type: LinkType,
        data: &[u8],
        wire_len: u32,
        options: &Options,
        wanted: LayerSet,
    ) -> bool {
        *self = Self::default();
        let notes = Sketch {
            outline: self,
            present: LayerSet::EMPTY,
            wanted,
        };
        // No plain field asks for the length that is declared.
        follow(link_type, data, wire_len, options, notes)
    }
}

/// Notes for an [`Outline`].
struct Sketch<'o> {
    outline: &'o mut Outline,
    present: LayerSet,
    wanted: LayerSet,
}

impl Notes for Sketch<'_> {
    #[inline]
    fn enter(&mut self, layer: Layer, span: Span) {
        if let Some(slot) = slot(layer) {
            self.outline.places[slot] = (span.start, span.end);
        }
        self.present = self.present.with(layer);
    }

    #[inline]
    fn is_enough(&mut self) -> bool {
        self.present.contains_all(self.wanted)
    }

    #[inline]
    fn end(&mut self, _network: Layer, _transport: Layer, _protocol: u8) {}
}

/// The place of a layer in an outline.
#[inline]
const fn slot(layer: Layer) -> Option<usize> {
    Some(match layer {
        Layer::Ethernet => 0,
        Layer::Vlan => 1,
        Layer::Erf => 2,
        Layer::FrameRelay => 3,
        Layer::Ipv4 => 4,
        Layer::Ipv6 => 5,
        Layer::Tcp => 6,
        Layer::Udp => 7,
        _ => return None,
    })
}

const SLOTS: usize = 8;

/// Where a plain field lies: some bits of a header, or of one of two headers of which a packet has
/// at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    layers: LayerSet,
    /// The header in an outline, and the one that may stand in its place.
    slots: [u8; 2],
    offset: u32,
    bytes: u32,
    shift: u32,
    mask: u32,
    /// A byte of 0 is a pad: the field stands behind it.
    padded: bool,
}

impl Spot {
    /// Where the field with this name lies; `None` for one that is not plain.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        // Every layer that is named here has a slot.
        let number = |layer| slot(layer).map_or(0, |slot| slot as u8);
        let at = |layer, offset, bytes, shift, mask| Self {
            layers: LayerSet::EMPTY.with(layer),
            slots: [number(layer); 2],
            offset,
            bytes,
            shift,
            mask,
            padded: false,
        };
        let byte = |layer, offset| at(layer, offset, 1, 0, 0xff);
        let word = |layer, offset| at(layer, offset, 2, 0, 0xffff);
        let flag = |shift| at(Layer::Tcp, 13, 1, shift, 1);
        let or = |or, spot: Self| Self {
            layers: spot.layers.with(or),
            slots: [spot.slots[0], number(or)],
            ..spot
        };
        Some(match name {
            "vlan.id" => at(Layer::Vlan, 0, 2, 0, 0xfff),
            "erf.flags" => byte(Layer::Erf, 9),
            "erf.flags.cap" => at(Layer::Erf, 9, 1, 0, 3),
            "erf.rlen" => word(Layer::Erf, 10),
            "erf.wlen" => word(Layer::Erf, 14),
            "erf.mchdlc.cn" => at(Layer::Erf, 16, 4, 0, 0x3ff),
            "fr.control" => byte(Layer::FrameRelay, 2),
            "fr.nlpid" => Self {
                padded: true,
                ..byte(Layer::FrameRelay, 3)
            },
            "ip.version" => or(Layer::Ipv6, at(Layer::Ipv4, 0, 1, 4, 0xf)),
            "ip.dsfield" => byte(Layer::Ipv4, 1),
            "ip.len" => word(Layer::Ipv4, 2),
            "ip.id" => word(Layer::Ipv4, 4),
            "ip.ttl" => byte(Layer::Ipv4, 8),
            "ip.proto" => byte(Layer::Ipv4, 9),
            "ipv6.plen" => word(Layer::Ipv6, 4),
            "ipv6.nxt" => byte(Layer::Ipv6, 6),
            "ipv6.hlim" => byte(Layer::Ipv6, 7),
            "tcp.srcport" => word(Layer::Tcp, 0),
            "tcp.dstport" => word(Layer::Tcp, 2),
            "tcp.flags.fin" => flag(0),
            "tcp.flags.syn" => flag(1),
            "tcp.flags.reset" => flag(2),
            "tcp.flags.push" => flag(3),
            "tcp.flags.ack" => flag(4),
            "tcp.window_size_value" => word(Layer::Tcp, 14),
            "udp.srcport" => word(Layer::Udp, 0),
            "udp.dstport" => word(Layer::Udp, 2),
            "udp.length" => word(Layer::Udp, 4),
            "port.src" => or(Layer::Udp, word(Layer::Tcp, 0)),
            "port.dst" => or(Layer::Udp, word(Layer::Tcp, 2)),
            _ => return None,
        })
    }

    /// The headers that an outline must reach for this field.
    #[must_use]
    pub const fn layers(&self) -> LayerSet {
        self.layers
    }

    /// The value in the frame with this outline; `None` where the packet has no such field, or was
    /// cut in front of its end.
    #[inline]
    #[must_use]
    pub fn read(&self, data: &[u8], outline: &Outline) -> Option<u64> {
        let [first, second] = self.slots;
        let place = |slot: u8| outline.places[usize::from(slot) % SLOTS];
        let (mut start, mut end) = place(first);
        if end == 0 {
            (start, end) = place(second);
        }
        let from = start.checked_add(self.offset)?;
        if from.checked_add(self.bytes)? > end {
            return None;
        }
        let from = from as usize;
        let word = match self.bytes {
            1 if self.padded => match u8_at(data, from)? {
                // An outline has been drawn only where it is not cut here.
                0 => u32::from(u8_at(data, from + 1)?),
                identifier => u32::from(identifier),
            },
            1 => u32::from(u8_at(data, from)?),
            2 => u32::from(u16_be_at(data, from)?),
            _ => u32_be_at(data, from)?,
        };
        Some(u64::from(word >> self.shift & self.mask))
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
