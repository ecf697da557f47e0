//! Where the headers of usual packets lie, for questions about their plain fields
//! ([`Spot`](crate::Spot)).

use crate::LayerSet;
use crate::protocol::{self, saturated};
use crate::shape::{BitsTest, plain_link};
use crate::usual::{
    ERF_LEN, ETHERNET_LEN, ErfRecord, Ethernet, FrameRelay, ICMP, ICMPV6, Ip, TCP, UDP,
    is_plain_udp, is_whole_tcp,
};
use crate::{Layer, LinkType, Options};

/// Where the headers of a usual packet lie: the little that plain fields need ([`Spot`](crate::Spot)).
///
/// ```
/// use weir_packet::{LinkType, Options, HeaderOffsets, Spot, fields};
///
/// let mut frame = [0; 42];
/// frame[12..14].copy_from_slice(&[0x08, 0x00]);
/// frame[14..34].copy_from_slice(&[
///     0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
/// ]);
/// frame[34..42].copy_from_slice(&[0x13, 0xc4, 0, 53, 0, 8, 0, 0]);
/// let (field, _) = fields().find(|(field, _)| field.name == "udp.dstport").ok_or("no such field")?;
/// let port = Spot::of(field).ok_or("not a plain field")?;
/// let header_offsets = HeaderOffsets::of(LinkType::ETHERNET, &frame, &Options::default(), port.layers());
/// let header_offsets = header_offsets.ok_or("not a usual packet")?;
/// assert_eq!(port.read(&frame, &header_offsets), Some(53));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HeaderOffsets {
    /// First byte of each header, whose fixed part is all there; or [`ABSENT`].
    pub(crate) starts: [u16; SLOTS],
    /// How far it is drawn, and the header at which to go on: where it begins, what it is (an
    /// ethertype or a protocol of IP), and where the bytes end that belong to it.
    reached: Depth,
    at: u16,
    next: u16,
    end: u32,
}

/// How far into a packet a header lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
enum Depth {
    Nothing,
    /// The record of the capturing system.
    Record,
    /// All in front of IP.
    Link,
    Network,
    Transport,
}

impl Depth {
    /// How far to go for all of `wanted`.
    const fn of(wanted: LayerSet) -> Self {
        if wanted.is_empty() {
            Self::Nothing
        } else if wanted.contains(Layer::Tcp) || wanted.contains(Layer::Udp) {
            Self::Transport
        } else if wanted.contains(Layer::Ipv4) || wanted.contains(Layer::Ipv6) {
            Self::Network
        } else if wanted.is_only(Layer::Erf) {
            Self::Record
        } else {
            Self::Link
        }
    }
}

impl Default for HeaderOffsets {
    fn default() -> Self {
        Self {
            starts: [ABSENT; SLOTS],
            reached: Depth::Nothing,
            at: 0,
            next: 0,
            end: 0,
        }
    }
}

impl HeaderOffsets {
    /// The offsets of the headers of a frame; `None` when it is not a usual packet, for which a
    /// [`Decoder`](crate::Decoder) has to be asked. It may end when it has all of `wanted`.
    #[must_use]
    pub fn of(
        link_type: LinkType,
        data: &[u8],
        options: &Options,
        wanted: LayerSet,
    ) -> Option<Self> {
        let mut header_offsets = [Self::default()];
        let frames = [(0, data)].into_iter();
        let mut is_usual = false;
        let found = |_, drawn| is_usual = drawn;
        Self::draw_each(
            &mut header_offsets,
            frames,
            link_type,
            options,
            wanted,
            found,
        );
        is_usual.then_some(header_offsets[0])
    }

    /// How far into packets the fields of `wanted` lie, 0 for nothing: offsets that were found for
    /// these has those that lie less far too.
    #[must_use]
    pub const fn depth(wanted: LayerSet) -> u8 {
        Depth::of(wanted) as u8
    }

    /// Finds the headers of frames of one link type on from where they are, which is the beginning for
    /// new ones. Each frame is given with the index of its offsets, and `found` is told of each whether
    /// it is a usual packet. Of those that are, no fields but those of `wanted` may then be read.
    pub fn draw_each<'p>(
        header_offsets: &mut [Self],
        frames: impl Iterator<Item = (usize, &'p [u8])>,
        link_type: LinkType,
        options: &Options,
        wanted: LayerSet,
        found: impl FnMut(usize, bool),
    ) {
        // A loop of its own for each depth, in which what lies deeper costs nothing.
        match (link_type, Depth::of(wanted)) {
            // Ethernet may be in a tunnel that frame relay carries.
            (LinkType::ERF, _)
                if wanted.contains(Layer::Ethernet) || wanted.contains(Layer::Vlan) =>
            {
                all(header_offsets, frames, found, |header_offsets, data| {
                    header_offsets.draw_frame_relay(data, options)
                        && header_offsets.draw_network(data)
                        && header_offsets.draw_transport(data)
                });
            }
            // Its fields stand where the frame begins: nothing has to be drawn.
            (LinkType::ERF, Depth::Record) => all(header_offsets, frames, found, |_, data| {
                ErfRecord::at(data).is_some()
            }),
            (LinkType::ERF, Depth::Link) => {
                all(header_offsets, frames, found, |header_offsets, data| {
                    header_offsets.draw_frame_relay(data, options)
                });
            }
            (LinkType::ERF, Depth::Network) => {
                all(header_offsets, frames, found, |header_offsets, data| {
                    header_offsets.draw_frame_relay(data, options)
                        && header_offsets.draw_network(data)
                });
            }
            (LinkType::ERF, _) => all(header_offsets, frames, found, |header_offsets, data| {
                header_offsets.draw_frame_relay(data, options)
                    && header_offsets.draw_network(data)
                    && header_offsets.draw_transport(data)
            }),
            // Fields of the card's record are looked for where the frame begins.
            (LinkType::ETHERNET, _) if wanted.contains(Layer::Erf) => {
                all(header_offsets, frames, found, |_, _| false);
            }
            (LinkType::ETHERNET, Depth::Transport) => {
                all(header_offsets, frames, found, |header_offsets, data| {
                    header_offsets.draw_ethernet(data)
                        && header_offsets.draw_network(data)
                        && header_offsets.draw_transport(data)
                });
            }
            (LinkType::ETHERNET, Depth::Network) => {
                all(header_offsets, frames, found, |header_offsets, data| {
                    header_offsets.draw_ethernet(data) && header_offsets.draw_network(data)
                });
            }
            (LinkType::ETHERNET, _) => {
                all(header_offsets, frames, found, |header_offsets, data| {
                    header_offsets.draw_ethernet(data)
                        && (header_offsets.reached >= Depth::Link
                            || header_offsets.draw_network(data))
                });
            }
            // Whatever else is described.
            _ => match plain_link(link_type) {
                Some(_) if wanted.contains(Layer::Erf) => {
                    all(header_offsets, frames, found, |_, _| false);
                }
                Some(layer) => all(header_offsets, frames, found, |header_offsets, data| {
                    header_offsets.reached == Depth::Transport
                        || header_offsets.draw_shapes(data, 0, data.len(), layer)
                }),
                None => all(header_offsets, frames, found, |_, _| false),
            },
        }
    }

    /// A record of a multi-channel card, and frame relay in it.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as draw_each")]
    fn draw_frame_relay(&mut self, data: &[u8], options: &Options) -> bool {
        if self.reached >= Depth::Link {
            return true;
        }
        let (Some(record), Some(header)) = (ErfRecord::at(data), FrameRelay::at(data, options))
        else {
            return false;
        };
        self.starts[ERF] = 0;
        // All plain fields of frame relay stand in the control field or behind it.
        if header.has_control {
            self.starts[FRAME_RELAY] = ERF_LEN as u16;
        }
        self.end = saturated(data.len()).min(record.total);
        self.go_on(ERF_LEN + header.len, header.kind, Depth::Link);
        ERF_LEN + header.len <= self.end
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as draw_each")]
    fn draw_ethernet(&mut self, data: &[u8]) -> bool {
        if self.reached >= Depth::Record {
            return true;
        }
        let Some(header) = Ethernet::at(data) else {
            return false;
        };
        let Some(next) = header.carries(data) else {
            return false;
        };
        self.starts[ETHERNET] = 0;
        self.end = saturated(data.len());
        // Without a tag there may still be one in a tunnel.
        let reached = match header.is_tagged {
            true => Depth::Link,
            false => Depth::Record,
        };
        if header.is_tagged {
            self.starts[VLAN] = ETHERNET_LEN as u16;
        }
        self.go_on(header.len(), next, reached);
        true
    }

    /// Goes on at the header that begins at `at`, if there is one.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as draw_each")]
    fn go_on(&mut self, at: u32, next: Option<u16>, reached: Depth) {
        // Usual packets have all headers near their beginning.
        self.at = at as u16;
        self.next = next.unwrap_or_default();
        self.reached = match next {
            Some(_) => reached,
            None => Depth::Transport,
        };
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as draw_each")]
    fn draw_network(&mut self, data: &[u8]) -> bool {
        if self.reached >= Depth::Network {
            return true;
        }
        let at = u32::from(self.at);
        let Some(ip) = Ip::at(data, usize::from(self.at), self.next) else {
            return false;
        };
        if at + ip.len > self.end {
            return false;
        }
        let slot = if ip.layer == Layer::Ipv4 { IPV4 } else { IPV6 };
        self.starts[slot] = self.at;
        self.end = self.end.min(at + ip.total);
        let next = Some(ip.protocol.into()).filter(|_| !ip.is_later_fragment);
        self.go_on(at + ip.len, next, Depth::Network);
        // What else IP carries may be a tunnel, with more IP in it.
        matches!(ip.protocol, TCP | ICMP | ICMPV6) || self.draw_transport(data)
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as draw_each")]
    fn draw_transport(&mut self, data: &[u8]) -> bool {
        if self.reached >= Depth::Transport {
            return true;
        }
        let Some(bytes) = data.get(usize::from(self.at)..self.end as usize) else {
            return false;
        };
        self.reached = Depth::Transport;
        match self.next as u8 {
            TCP => {
                self.starts[TCP_SLOT] = self.at;
                is_whole_tcp(bytes)
            }
            UDP => {
                self.starts[UDP_SLOT] = self.at;
                is_plain_udp(bytes) || self.draw_tunnel(data)
            }
            // No errors, which quote a packet.
            ICMP => bytes.len() >= 8 && matches!(bytes, [0 | 8 | 9 | 10 | 13..=18, ..]),
            ICMPV6 => bytes.len() >= 8 && matches!(bytes, [128..=255, ..]),
            _ => false,
        }
    }
}

impl HeaderOffsets {
    /// Draws what a tunnel over UDP carries, whose header is the one at hand.
    #[cold]
    fn draw_tunnel(&mut self, data: &[u8]) -> bool {
        let (at, end) = (usize::from(self.at), (self.end as usize).min(data.len()));
        self.draw_shapes(data, at, end, Layer::Udp)
    }

    /// Draws the headers from one of `layer` on, as the descriptions of their protocols have them.
    fn draw_shapes(
        &mut self,
        data: &[u8],
        mut at: usize,
        mut end: usize,
        mut layer: Layer,
    ) -> bool {
        for _ in 0..HEADERS_MAX {
            let Some(bytes) = data.get(at..end) else {
                return false;
            };
            // Which forms are looked for hangs on options in captures of cards only, which have their own way.
            let shapes = layer.shapes().iter();
            let mut shapes = shapes.filter(|shape| shape.enabled.is_none());
            let (Some(header), Ok(start)) = (
                shapes.find_map(|shape| shape.read(bytes)),
                u16::try_from(at),
            ) else {
                return false;
            };
            if let Some(slot) = slot(layer)
                && let Some(place @ &mut ABSENT) = self.starts.get_mut(slot.number)
            {
                *place = start;
            }
            let Some(next) = header.next else {
                self.reached = Depth::Transport;
                return true;
            };
            let is_ip = |layer| matches!(layer, Layer::Ipv4 | Layer::Ipv6);
            if is_ip(layer) && is_ip(next) {
                // Its ports are not those of the transport above the outermost IP header.
                return false;
            }
            end = end.min(at.saturating_add(header.total as usize));
            at = at.saturating_add(header.len as usize);
            layer = next;
        }
        false
    }
}

/// Finds the headers frame by frame.
#[inline(always)]
#[allow(clippy::inline_always, reason = "as draw_each")]
fn all<'p>(
    header_offsets: &mut [HeaderOffsets],
    frames: impl Iterator<Item = (usize, &'p [u8])>,
    mut found: impl FnMut(usize, bool),
    draw: impl Fn(&mut HeaderOffsets, &[u8]) -> bool,
) {
    for (at, data) in frames {
        let header_offsets = header_offsets.get_mut(at);
        found(
            at,
            header_offsets.is_some_and(|header_offsets| draw(header_offsets, data)),
        );
    }
}

/// The place of a layer among the offsets.
#[derive(Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) number: usize,
    /// What holds for all headers that are there.
    pub(crate) tests: &'static [BitsTest],
    /// What a header of the layer must meet to be there: a field that others may have too is not read
    /// from header_offsets.
    pub(crate) required: &'static [BitsTest],
}

/// The place of a layer among the offsets; `None` for those that have none.
pub(crate) fn slot(layer: Layer) -> Option<Slot> {
    let slot = |number, required: &'static [BitsTest]| Slot {
        number,
        tests: match required {
            [] => layer.shapes().first().map_or(&[], |shape| shape.tests),
            _ => required,
        },
        required,
    };
    Some(match layer {
        Layer::Ethernet => slot(ETHERNET, &[]),
        Layer::Vlan => slot(VLAN, &[]),
        Layer::Erf => Slot {
            number: ERF,
            tests: &[protocol::IS_MC_HDLC],
            required: &[],
        },
        // Cisco's encapsulation has no control field.
        Layer::FrameRelay => slot(FRAME_RELAY, &[protocol::INFORMATION]),
        Layer::Ipv4 => slot(IPV4, &[]),
        Layer::Ipv6 => slot(IPV6, &[]),
        Layer::Tcp => slot(TCP_SLOT, &[]),
        Layer::Udp => slot(UDP_SLOT, &[]),
        _ => return None,
    })
}

/// Headers of a packet that is still usual, at most.
const HEADERS_MAX: u32 = 16;
const ETHERNET: usize = 0;
const VLAN: usize = 1;
pub(crate) const ERF: usize = 2;
const FRAME_RELAY: usize = 3;
const IPV4: usize = 4;
const IPV6: usize = 5;
const TCP_SLOT: usize = 6;
const UDP_SLOT: usize = 7;
pub(crate) const SLOTS: usize = 8;
pub(crate) const ABSENT: u16 = u16::MAX;
