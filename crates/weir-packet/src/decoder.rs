//! The walk from header to header.

use crate::aal5::{Aal5, Aal5Counters, CELL_LEN, Pushed};
use crate::field::Needs;
use crate::packet::Packet;
use crate::protocol::{Header, Input, Next, PROTOCOLS, saturated};
use crate::stack::{Facts, Headers, Span};
use crate::{Frame, Layer, LayerSet, LinkType, Options, Reason, Stop, plain};

/// Decodes frames. Make one and keep it: it holds the memory that every packet reuses, and the
/// ATM cells that wait for the end of their PDU.
///
/// Decoding allocates nothing. It costs one indirect call for each header up to the deepest one
/// that the needs ask for, and nothing when they ask only for what the capture itself says.
#[derive(Debug)]
pub struct Decoder {
    options: Options,
    goal: Goal,
    found: Headers,
    aal5: Aal5,
}

/// The condition on which decoding may end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Goal {
    all: bool,
    network: bool,
    transport: bool,
    layers: LayerSet,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new(Options::default(), [Needs::All])
    }
}

impl Decoder {
    /// Headers followed in one packet, at most.
    pub const LAYERS_MAX: u32 = 64;

    /// A decoder that goes only as deep as `needs` says.
    #[must_use]
    pub fn new(options: Options, needs: impl IntoIterator<Item = Needs>) -> Self {
        let mut goal = Goal::default();
        for need in needs {
            match need {
                Needs::Record => {}
                Needs::Layer(layer) => goal.layers = goal.layers.with(layer),
                Needs::Network => goal.network = true,
                Needs::Transport => goal.transport = true,
                Needs::All => goal.all = true,
            }
        }
        Self {
            aal5: Aal5::new(&options),
            options,
            goal,
            found: Headers::default(),
        }
    }

    /// The counters of the reassembly of ATM cells.
    #[must_use]
    pub fn aal5_counters(&self) -> Aal5Counters {
        self.aal5.counters()
    }

    /// The number of incomplete PDUs. While there are any, the contents of the next packets depend on packets before them, so that
    /// a capture of cells cannot be divided here.
    #[must_use]
    pub fn aal5_waiting(&self) -> usize {
        self.aal5.waiting()
    }

    /// Finds the headers of `frame`, beginning with what its link type names. Never fails: what
    /// was wrong is in [`Packet::stop`].
    // These two are inlined and the walk takes a reference, so that the frame is not copied about.
    #[inline]
    pub fn decode<'a>(&'a mut self, frame: Frame<'a>) -> Packet<'a> {
        self.walk(&frame, Next::Link(frame.link_type.0));
        self.packet(frame)
    }

    /// Decodes like [`Decoder::decode`] bytes that begin with a header of `layer`, whatever the link type is.
    #[inline]
    pub fn decode_as<'a>(&'a mut self, frame: Frame<'a>, layer: Layer) -> Packet<'a> {
        self.walk(&frame, Next::Layer(layer));
        self.packet(frame)
    }

    /// A packet in which no header is looked for: only the fields of the frame are known. For
    /// records that carry none, and for questions that ask for none.
    #[inline]
    pub fn without_headers<'a>(&'a mut self, frame: Frame<'a>) -> Packet<'a> {
        self.found.facts = Facts::default();
        self.packet(frame)
    }

    #[inline]
    fn packet<'a>(&'a self, frame: Frame<'a>) -> Packet<'a> {
        Packet {
            frame,
            reassembled: self.aal5.pdu(),
            found: &self.found,
        }
    }

    #[inline]
    fn walk(&mut self, frame: &Frame<'_>, first: Next) {
        self.found.facts = Facts::default();
        if self.goal.reached(&self.found.facts) {
            return;
        }
        if !matches!(first, Next::Link(_)) || first.layer().is_none() {
            return self.walk_any(frame, first);
        }
        let goal = &self.goal;
        let is_enough = |facts: &Facts| goal.reached(facts);
        let next = plain::walk(frame, &self.options, &mut self.found, is_enough);
        if let Some((span, layer)) = next
            && !self.goal.reached(&self.found.facts)
        {
            let place = HeaderPlace {
                start: span.start,
                end: span.end,
                declared: span.declared,
                ip: span.ip,
                quoted: false,
            };
            self.walk_on(frame, place, layer);
        }
    }

    /// Walks from header to header, whatever they are.
    fn walk_any(&mut self, frame: &Frame<'_>, first: Next) {
        let Some(layer) = first.layer() else {
            return self.stop_at_link_type(first);
        };
        self.walk_on(frame, HeaderPlace::whole(frame), layer);
    }

    /// Goes on from a header of `layer`.
    fn walk_on(&mut self, frame: &Frame<'_>, place: HeaderPlace, layer: Layer) {
        let mut walk = Walk {
            frame,
            buffer: frame.data,
            reassembled: false,
            options: &self.options,
            goal: &self.goal,
            found: &mut self.found,
            begins: 0,
        };
        if let Some(cell) = walk.run(place, layer) {
            self.reassemble(frame, cell);
        }
    }

    #[cold]
    fn stop_at_link_type(&mut self, first: Next) {
        if let Next::Link(number) = first
            && !LinkType(number).is_registered()
        {
            self.found.facts.stop = Some(Stop {
                layer: None,
                offset: 0,
                reason: Reason::UnknownLinkType(number),
            });
        }
    }

    /// Adds a cell to those of its connection. If it completes a PDU, the walk continues there, so that the packet of the last cell
    /// has the headers of the whole PDU.
    #[cold]
    fn reassemble(&mut self, frame: &Frame<'_>, cell: Cell) {
        let Cell {
            connection,
            last,
            mut place,
        } = cell;
        let bytes = frame
            .data
            .get(place.start as usize..place.end as usize)
            .unwrap_or_default();
        let pushed = match bytes.first_chunk::<CELL_LEN>() {
            Some(payload) => self.aal5.push(connection, payload, last),
            None => Pushed::Damaged(Reason::Cut {
                needed: saturated(CELL_LEN),
                available: saturated(bytes.len()),
            }),
        };
        match pushed {
            Pushed::Waits => return,
            Pushed::Damaged(reason) => {
                self.found.facts.stop = Some(Stop {
                    layer: Some(Layer::Aal5),
                    offset: place.start,
                    reason,
                });
                return;
            }
            Pushed::Complete => {}
        }
        let pdu = self.aal5.pdu();
        place.start = 0;
        place.ip = Span::NO_IP;
        place.end = saturated(pdu.len());
        place.declared = place.end;
        let mut walk = Walk {
            frame,
            buffer: pdu,
            reassembled: true,
            options: &self.options,
            goal: &self.goal,
            found: &mut self.found,
            begins: 0,
        };
        // Cells inside a PDU are not looked for.
        let _cell = walk.run(place, Layer::Aal5);
    }
}

impl Goal {
    /// All that is there.
    const EVERYTHING: Self = Self {
        all: true,
        network: false,
        transport: false,
        layers: LayerSet::EMPTY,
    };

    #[inline]
    fn reached(&self, facts: &Facts) -> bool {
        !self.all
            && facts.present.contains_all(self.layers)
            && (!self.network || facts.network.is_some())
            && (!self.transport || facts.transport_is_known())
    }
}

/// The position of a header.
#[derive(Clone, Copy, Debug)]
struct HeaderPlace {
    /// Offset of its first byte.
    start: u32,
    /// End of the bytes that are there.
    end: u32,
    /// Bytes from `start` that the headers around it declare.
    declared: u32,
    /// The index in the stack of the IP header that carries it.
    ip: u8,
    /// The header is in a datagram that an error message quotes, possibly in part.
    quoted: bool,
}

impl HeaderPlace {
    #[inline]
    fn whole(frame: &Frame<'_>) -> Self {
        let end = saturated(frame.data.len());
        Self {
            start: 0,
            end,
            declared: end.max(frame.declared_len()),
            ip: Span::NO_IP,
            quoted: false,
        }
    }

    /// Moves on behind `header`, which stands here.
    #[inline]
    fn pass(&mut self, header: &Header) {
        self.end = self.end.min(self.start.saturating_add(header.total));
        self.start = self.start.saturating_add(header.len);
        self.declared = self.declared.min(header.total).saturating_sub(header.len);
        self.quoted |= matches!(header.next, Next::Quote(_));
    }
}

/// The payload of an ATM cell, which is read with the other cells of its PDU only.
#[derive(Clone, Copy, Debug)]
struct Cell {
    connection: u64,
    last: bool,
    place: HeaderPlace,
}

/// One walk through one packet.
struct Walk<'d> {
    frame: &'d Frame<'d>,
    /// The bytes that positions refer to: the frame, or the PDU that was reassembled from cells.
    buffer: &'d [u8],
    /// `buffer` is the PDU.
    reassembled: bool,
    options: &'d Options,
    goal: &'d Goal,
    found: &'d mut Headers,
    /// [`Span::BEGINS_SUBFRAME`] for the next header that is found, where it begins one.
    begins: u8,
}

impl Walk<'_> {
    /// Walks from header to header, beginning with one of `layer` at `place`, until the goal is reached or nothing follows. Returns
    /// the cell at its end, if there is one: only a walk that has to continue gets there, so that cells are kept only when
    /// something above ATM is needed.
    fn run(&mut self, mut place: HeaderPlace, mut layer: Layer) -> Option<Cell> {
        for _ in u32::from(self.found.facts.headers)..Decoder::LAYERS_MAX {
            let input = Input {
                bytes: self
                    .buffer
                    .get(place.start as usize..place.end as usize)
                    .unwrap_or_default(),
                declared: place.declared as usize,
                frame: self.frame,
                options: self.options,
            };
            // The result is read in its place, part by part: a copy of the whole would wait for the stores of its parts, which cost
            // a third of the walk.
            let read = (PROTOCOLS[layer as usize].decode)(&input);
            let header = match &read {
                Ok(header) => header,
                Err(reason) => {
                    self.enter(layer, &place);
                    self.stop(layer, &place, *reason);
                    return None;
                }
            };
            if !header.foreign {
                let entered = self.enter(layer, &place);
                if matches!(layer, Layer::Ipv4 | Layer::Ipv6) {
                    place.ip = entered.unwrap_or(Span::NO_IP);
                }
            }
            place.pass(header);
            let next = header.next.layer();
            self.found.note_protocol(place.ip, &header.next, next);
            if self.goal.reached(&self.found.facts) {
                return None;
            }
            layer = match (next, &header.next) {
                (Some(next), _) => next,
                (None, Next::Cell { connection, last }) => {
                    return Some(Cell {
                        connection: *connection,
                        last: *last,
                        place,
                    });
                }
                (None, Next::Subframes) => {
                    self.subframes(place);
                    return None;
                }
                (None, _) => return None,
            };
        }
        let layers_max = Decoder::LAYERS_MAX;
        self.stop(layer, &place, Reason::TooDeep { layers_max });
        None
    }

    /// Walks through the adjacent subframes of an aggregate: addresses of six bytes each, a length of two, the packet, and zeros up
    /// to a multiple of four (IEEE 802.11, 9.3.2.2.2). All of them are decoded, whatever the goal is: any of them may have the
    /// fields that a query reads.
    #[cold]
    fn subframes(&mut self, mut place: HeaderPlace) {
        self.goal = &Goal::EVERYTHING;
        self.found.facts.is_aggregate = true;
        while place.declared > SUBFRAME_LEN {
            let header = self.buffer.get(place.start as usize..place.end as usize);
            let Some(&[.., a, b]) =
                header.and_then(|it| it.first_chunk::<{ SUBFRAME_LEN as usize }>())
            else {
                let reason = Reason::Cut {
                    needed: SUBFRAME_LEN,
                    available: place.end.saturating_sub(place.start),
                };
                return self.stop(Layer::Llc, &place, reason);
            };
            let total = SUBFRAME_LEN.saturating_add(u16::from_be_bytes([a, b]).into());
            let mut inner = place;
            inner.pass(
                &Header::new(SUBFRAME_LEN as usize, Next::Layer(Layer::Llc))
                    .with_total(total as usize),
            );
            if total > SUBFRAME_LEN {
                self.begins = Span::BEGINS_SUBFRAME;
                // Cells inside an aggregate are not looked for.
                let _cell = self.run(inner, Layer::Llc);
                self.begins = 0;
            }
            let total = total.next_multiple_of(4);
            place.start = place.start.saturating_add(total);
            place.declared = place.declared.saturating_sub(total);
        }
    }

    /// Remembers where a header lies; gives its place in the stack.
    #[inline]
    fn enter(&mut self, layer: Layer, place: &HeaderPlace) -> Option<u8> {
        if place.start >= place.end {
            return None;
        }
        let mut flags = std::mem::take(&mut self.begins);
        if place.quoted {
            flags |= Span::IS_QUOTED;
        }
        if self.reassembled {
            flags |= Span::IS_REASSEMBLED;
        }
        self.found.push(Span {
            start: place.start,
            end: place.end,
            declared: place.declared,
            layer,
            ip: place.ip,
            protocol: 0,
            flags,
        })
    }

    #[cold]
    fn stop(&mut self, layer: Layer, place: &HeaderPlace, reason: Reason) {
        // An error message may quote as little of a packet as it likes: that is no damage, unless
        // not even the quote was captured whole.
        let available = place.end.saturating_sub(place.start);
        let reason = match reason {
            Reason::Overrun { needed, .. } if place.quoted => {
                if available >= place.declared {
                    return;
                }
                Reason::Cut { needed, available }
            }
            reason => reason,
        };
        self.found.facts.stop.get_or_insert(Stop {
            layer: Some(layer),
            offset: place.start,
            reason,
        });
    }
}

/// Bytes of the header of a subframe: destination, source and length.
const SUBFRAME_LEN: u32 = 14;

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use weir_testkit::Rng;
    use weir_testkit::capture::{ErfRecord, ErfWriter};
    use weir_testkit::packet::{
        FrameRelay, Ipv4, Ipv6, Tcp, arp, ethernet, ethertype, protocol, udp, vlan,
    };

    use super::*;

    /// Frames of the usual kinds, and of some that are nearly so.
    fn frames() -> Vec<(u32, Vec<u8>)> {
        let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let (c, d) = (Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED);
        let mac = |last| [2, 0, 0, 0, 0, last];
        let mut frames = Vec::new();
        let asked = arp(1, (mac(1), a), ([0; 6], b));
        for (kind, packet) in [
            (ethertype::ARP, &asked[..]),
            // LLDP, which is not decoded.
            (0x88cc, b"\x02\x07\x04 bytes and bytes of it"),
        ] {
            frames.push((1, ethernet(mac(1), mac(2), kind, packet)));
            let tagged = vlan(0, 7, kind, packet);
            frames.push((1, ethernet(mac(1), mac(2), ethertype::VLAN, &tagged)));
        }
        for number in [protocol::TCP, protocol::UDP, protocol::ICMP] {
            let (four, six) = (Ipv4::new(a, b, number), Ipv6::new(c, d, number));
            let payload = match number {
                protocol::TCP => Tcp::new(1000, 443).segment(a.into(), b.into(), b"some bytes"),
                protocol::UDP => udp(a.into(), b.into(), 4000, 53, b"query"),
                // A tunnel, or an odd message of ICMP.
                _ => udp(a.into(), b.into(), 4000, 4789, b"query"),
            };
            for (kind, packet) in [
                (ethertype::IPV4, four.packet(&payload)),
                (ethertype::IPV6, six.packet(&payload)),
            ] {
                frames.push((1, ethernet(mac(1), mac(2), kind, &packet)));
                let tagged = vlan(0, 7, kind, &packet);
                frames.push((1, ethernet(mac(1), mac(2), ethertype::VLAN, &tagged)));
                for relay in [
                    FrameRelay::new(100).ip(&packet),
                    FrameRelay::new(100).snap(kind, &packet),
                ] {
                    let mut record = Vec::new();
                    let written = ErfRecord {
                        kind: 5,
                        multi_channel: Some(0x21),
                        wire_len: relay.len() as u16,
                        payload: &relay,
                        ..ErfRecord::default()
                    };
                    ErfWriter::new(&mut record).record(0, &written).unwrap();
                    frames.push((197, record));
                }
            }
        }
        frames
    }

    /// The frames are plain by the descriptions of their protocols only.
    fn described() -> Vec<(u32, Vec<u8>)> {
        let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let mac = |last| [2, 0, 0, 0, 0, last];
        let segment = Tcp::new(1000, 443).segment(a.into(), b.into(), b"some bytes");
        let four = Ipv4::new(a, b, protocol::TCP).packet(&segment);
        let (c, d) = (Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED);
        let six = udp(c.into(), d.into(), 4000, 53, b"query");
        let six = Ipv6::new(c, d, protocol::UDP).packet(&six);
        let mut frames = Vec::new();
        for (kind, ip) in [(ethertype::IPV4, four), (ethertype::IPV6, six)] {
            let kind_bytes = kind.to_be_bytes();
            let cooked = [&[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0], &kind_bytes[..]].concat();
            frames.push((113, [&cooked[..], &ip].concat()));
            let cooked = [
                &kind_bytes[..],
                &[0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0],
            ];
            frames.push((276, [&cooked.concat()[..], &ip].concat()));
            frames.push((101, ip.clone()));
            for tag in [false, true] {
                let inner = match tag {
                    true => ethernet(mac(3), mac(4), ethertype::VLAN, &vlan(0, 9, kind, &ip)),
                    false => ethernet(mac(3), mac(4), kind, &ip),
                };
                let tunnel = [&[8, 0, 0, 0, 0, 0, 7, 0], &inner[..]].concat();
                let datagram = udp(a.into(), b.into(), 50_000, 4789, &tunnel);
                let outer = Ipv4::new(a, b, protocol::UDP).packet(&datagram);
                frames.push((1, ethernet(mac(1), mac(2), ethertype::IPV4, &outer)));
            }
        }
        frames
    }

    /// The number of headers of a frame when all of them are plain.
    fn plain_headers(link_type: u32, frame: &[u8]) -> Option<usize> {
        let (mut bytes, mut layer, mut headers) = (frame, Next::Link(link_type).layer()?, 0);
        loop {
            let options = Options::default();
            let mut shapes = layer.shapes().iter();
            let header =
                shapes.find_map(|it| it.read(bytes).filter(|_| it.is_enabled(&options)))?;
            headers += 1;
            let Some(next) = header.next else {
                return Some(headers);
            };
            let end = bytes.len().min(header.total as usize);
            bytes = &bytes[header.len as usize..end];
            layer = next;
        }
    }

    #[test]
    fn cooked_captures_raw_ip_and_vxlan_are_plain() {
        for (link_type, frame) in described() {
            let headers = plain_headers(link_type, &frame);
            assert!(
                headers.is_some_and(|headers| headers > 2),
                "{link_type}: {frame:02x?}"
            );
        }
    }

    /// A frame of FabricPath, which was taken for plain Ethernet, has addresses of switches.
    #[test]
    fn fabric_path_is_no_plain_ethernet() {
        let inner = ethernet(
            [2, 0, 0, 0, 0, 1],
            [2, 0, 0, 0, 0, 2],
            ethertype::IPV4,
            &[0x45; 30],
        );
        let carried = [&[0x04, 0x40][..], &inner].concat();
        let tagged = vlan(0, 7, 0x8903, &carried);
        let mut decoder = Decoder::default();
        for (kind, payload) in [(0x8903, carried), (ethertype::VLAN, tagged)] {
            let frame = ethernet([2, 0, 0, 0, 0, 3], [2, 0, 0, 0, 0, 4], kind, &payload);
            let packet = decoder.decode(Frame::new(LinkType::ETHERNET, &frame));
            let (outermost, _) = packet.headers().next().unwrap();
            assert_eq!(outermost, Layer::FabricPath, "{kind:04x}");
            let mut shapes = Layer::Ethernet.shapes().iter();
            assert!(
                shapes.all(|shape| shape.read(&frame).is_none()),
                "{kind:04x}"
            );
        }
    }

    /// An A-MSDU (IEEE 802.11, 9.3.2.2) of these packets of IPv4.
    fn aggregate(packets: &[Vec<u8>]) -> Vec<u8> {
        let mut frame = vec![0x88, 1, 0, 0];
        frame.extend([2; 18]);
        frame.extend([0, 0, 0x80, 0]);
        let header = frame.len();
        for packet in packets {
            while !(frame.len() - header).is_multiple_of(4) {
                frame.push(0);
            }
            frame.extend([3; 12]);
            frame.extend(u16::try_from(packet.len() + 8).unwrap().to_be_bytes());
            frame.extend([0xaa, 0xaa, 3, 0, 0, 0, 8, 0]);
            frame.extend(packet);
        }
        frame
    }

    #[test]
    fn later_subframes_of_an_aggregate_were_hidden() {
        let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let datagram = udp(a.into(), b.into(), 4000, 53, b"query");
        let segment = Tcp::new(1000, 443).segment(b.into(), a.into(), b"some bytes");
        let frame = aggregate(&[
            Ipv4::new(a, b, protocol::UDP).packet(&datagram),
            Ipv4::new(b, a, protocol::TCP).packet(&segment),
            Ipv4::new(a, b, protocol::TCP).packet(&segment),
        ]);
        for needs in [Needs::All, Needs::Transport] {
            let mut decoder = Decoder::new(Options::default(), [needs]);
            let packet = decoder.decode(Frame::new(LinkType(105), &frame));
            assert_eq!(packet.stop(), None);
            assert!(packet.is_aggregate() && !packet.has_inside());
            assert_eq!(packet.transport(), Some(Layer::Udp));
            let mut found = Vec::new();
            packet.each_subframe(&mut |packet| {
                let headers: Vec<Layer> = packet.headers().map(|(layer, _)| layer).collect();
                assert_eq!(headers[..3], [Layer::Wlan, Layer::Llc, Layer::Ipv4]);
                assert!(!packet.is_aggregate() && !packet.is_quoted(headers[3]));
                let source = packet.ipv4().unwrap().addresses().unwrap()[3];
                found.push((packet.transport(), packet.ports(), source, headers.len()));
            });
            let (udp, tcp) = (Some(Layer::Udp), Some(Layer::Tcp));
            assert_eq!(
                found,
                [
                    (udp, Some((4000, 53)), 1, 4),
                    (tcp, Some((1000, 443)), 2, 4),
                    (tcp, Some((1000, 443)), 1, 4),
                ]
            );
            let mut segments = 0;
            packet.each_of(Layer::Tcp, &mut |_| {
                segments += 1;
                true
            });
            assert_eq!(segments, 2);
            // The bytes before the end are there.
            for len in 0..frame.len() {
                let mut cut = Frame::new(LinkType(105), &frame[..len]);
                cut.wire_len = frame.len() as u32;
                let packet = decoder.decode(cut);
                let mut found = 0;
                packet.each_subframe(&mut |_| found += 1);
                assert!((1..=3).contains(&found), "{len}");
            }
        }
    }

    #[test]
    fn a_senders_well_known_port_hid_tunnels() {
        let mut decoder = Decoder::default();
        let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let inner = ethernet(
            [2, 0, 0, 0, 0, 3],
            [2, 0, 0, 0, 0, 4],
            ethertype::IPV4,
            &Ipv4::new(a, b, protocol::TCP).packet(&Tcp::new(1000, 443).segment(
                a.into(),
                b.into(),
                b"some bytes",
            )),
        );
        let tunnel = [&[8, 0, 0, 0, 0, 0, 7, 0], &inner[..]].concat();
        let answer =
            b"\x12\x34\x81\x80\0\x01\0\x01\0\0\0\0\x03www\x07example\x03org\0\0\x01\0\x01 and more";
        for (source, payload, is_tunnel) in [
            (0, &tunnel[..], true),
            (53, &tunnel[..], true),
            (123, &tunnel[..], true),
            (53, &answer[..], false),
        ] {
            let datagram = udp(a.into(), b.into(), source, 4789, payload);
            let packet = Ipv4::new(a, b, protocol::UDP).packet(&datagram);
            let packet = decoder.decode(Frame::new(LinkType(101), &packet));
            assert_eq!(packet.has(Layer::Tcp), is_tunnel, "from port {source}");
            assert_eq!(packet.has_inside(), is_tunnel, "from port {source}");
        }
    }

    #[test]
    fn the_stack_has_headers_that_come_again_and_what_is_inside() {
        let mut decoder = Decoder::default();
        let described = described();
        let (_, frame) = described
            .iter()
            .rfind(|(link_type, _)| *link_type == 1)
            .unwrap();
        let packet = decoder.decode(Frame::new(LinkType::ETHERNET, frame));
        let names: Vec<_> = packet.headers().map(|(layer, _)| layer.name()).collect();
        let expected = ["eth", "ip", "udp", "vxlan", "eth", "vlan", "ipv6", "udp"];
        assert_eq!(names, expected);
        let mut headers = Headers::new();
        let (inside, network) = packet.inside(&mut headers).unwrap();
        assert_eq!(network, Some(7));
        assert_eq!(inside.network(), Some(Layer::Ipv6));
        assert_eq!(inside.transport(), Some(Layer::Udp));
        assert_eq!(inside.u16_be(Layer::Udp, 2), Some(53));
        assert_eq!(inside.u16_be(Layer::Vlan, 0), Some(9));
        assert!(!inside.has_inside() && !inside.has(Layer::Vxlan));
        assert_eq!(packet.u16_be(Layer::Udp, 2), Some(4789));
    }

    /// Needs of several depths.
    const NEEDS: [Needs; 5] = [
        Needs::All,
        Needs::Layer(Layer::Erf),
        Needs::Layer(Layer::FrameRelay),
        Needs::Network,
        Needs::Transport,
    ];

    #[test]
    fn the_short_way_finds_what_the_walk_finds() {
        let mut random = Rng::new(11);
        let (mut short, mut tried) = (0, 0);
        for needs in NEEDS {
            let mut usual = Decoder::new(Options::default(), [needs]);
            let mut any = Decoder::new(Options::default(), [needs]);
            for (link_type, frame) in frames().into_iter().chain(described()) {
                for round in 0..1_000 {
                    let mut bytes = frame.clone();
                    for _ in 0..round % 4 {
                        let at = random.below(bytes.len() as u64) as usize;
                        bytes[at] ^= 1 << random.below(8);
                    }
                    if random.below(4) == 0 {
                        bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
                    }
                    let mut frame = Frame::new(LinkType(link_type), &bytes);
                    frame.wire_len += random.below(3) as u32;
                    let first = Next::Link(link_type);
                    usual.walk(&frame, first);
                    any.found.facts = Facts::default();
                    any.walk_any(&frame, first);
                    let (ours, theirs) = (&usual.found, &any.found);
                    // The short way may go further than it must, and then knows what is above IP.
                    let spans = |of: &Headers| -> Vec<_> {
                        let found = of.found().iter().take(theirs.found().len());
                        let known = |span: &Span| match needs {
                            Needs::All => *span,
                            _ => Span {
                                protocol: 0,
                                flags: 0,
                                ..*span
                            },
                        };
                        found.map(known).collect()
                    };
                    assert_eq!(spans(ours), spans(theirs), "{bytes:02x?}");
                    assert!(ours.facts.present.contains_all(theirs.facts.present));
                    assert_eq!(ours.facts.stop, theirs.facts.stop, "{bytes:02x?}");
                    if needs == Needs::All {
                        assert_eq!(ours.facts, theirs.facts, "{bytes:02x?}");
                    }
                    let mut found = Headers::default();
                    let next = plain::walk(&frame, &any.options, &mut found, |_| false);
                    short += usize::from(next.is_none());
                    tried += 1;
                }
            }
        }
        assert!(short * 4 > tried, "{short} of {tried}");
    }
}
