//! The walk from header to header.

use crate::field::Needs;
use crate::packet::{Facts, Packet, Span};
use crate::protocol::{Input, Next, PROTOCOLS};
use crate::aal5::{Aal5, Aal5Counters, CELL_LEN, Pushed};
use crate::{Frame, Layer, LayerSet, LinkType, Options, Reason, Stop};

/// Decodes frames. Make one and keep it: it holds the memory that every packet reuses, and the
/// ATM cells that wait for the end of their PDU.
///
/// Decoding allocates nothing. It costs one indirect call for each header up to the deepest one
/// that the needs ask for, and nothing when they ask only for what the capture itself says.
#[derive(Debug)]
pub struct Decoder {
    options: Options,
    goal: Goal,
    found: Found,
    aal5: Aal5,
}

/// What a walk writes: kept from packet to packet, so that nothing is cleared for a packet.
/// `Facts::present` and `Facts::layers` say which entries are of the packet at hand.
#[derive(Debug)]
struct Found {
    spans: [Span; Layer::COUNT],
    order: [Layer; Layer::COUNT],
}

/// What must be known of a packet before decoding may end.
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
            found: Found {
                spans: [Span::default(); Layer::COUNT],
                order: [Layer::Ethernet; Layer::COUNT],
            },
        }
    }

    /// What the reassembly of ATM cells did so far.
    #[must_use]
    pub fn aal5_counters(&self) -> Aal5Counters {
        self.aal5.counters()
    }

    /// How many PDUs wait for their last cell. While there are any, what the next packets carry
    /// hangs on packets before them, so that a capture of cells can't be cut in two at this place.
    #[must_use]
    pub fn aal5_waiting(&self) -> usize {
        self.aal5.waiting()
    }

    /// Finds the headers of `frame`, beginning with what its link type names. Never fails: what
    /// was wrong is in [`Packet::stop`].
    #[inline]
    pub fn decode<'a>(&'a mut self, frame: Frame<'a>) -> Packet<'a> {
        let link = frame.link_type.0;
        self.decode_from(frame, Next::Link(link))
    }

    /// As [`Decoder::decode`], for bytes that begin with a header of `layer` whatever the link
    /// type says.
    #[inline]
    pub fn decode_as<'a>(&'a mut self, frame: Frame<'a>, layer: Layer) -> Packet<'a> {
        self.decode_from(frame, Next::Layer(layer))
    }

    fn decode_from<'a>(&'a mut self, frame: Frame<'a>, first: Next) -> Packet<'a> {
        let mut walk = Walk {
            frame: &frame,
            buffer: frame.data,
            reassembled: false,
            options: &self.options,
            goal: &self.goal,
            found: &mut self.found,
            facts: Facts::default(),
            cell: None,
        };
        if !walk.goal.reached(&walk.facts) {
            walk.run(Place::whole(&frame, first));
        }
        let (mut facts, cell) = (walk.facts, walk.cell);
        if let Some(cell) = cell {
            facts = self.reassemble(&frame, cell, facts);
        }
        Packet {
            frame,
            reassembled: self.aal5.pdu(),
            spans: &self.found.spans,
            order: self.found.order.get(..usize::from(facts.layers)).unwrap_or_default(),
            facts,
        }
    }
}

impl Decoder {
    /// Puts a cell to those of its connection. Where it ends a PDU, the walk goes on into that, so
    /// that the packet of the last cell has the headers of the whole PDU.
    #[cold]
    fn reassemble(&mut self, frame: &Frame<'_>, cell: Cell, mut facts: Facts) -> Facts {
        let Cell { connection, last, mut place } = cell;
        let bytes = frame.data.get(place.start..place.end).unwrap_or_default();
        let pushed = match bytes.first_chunk::<CELL_LEN>() {
            Some(payload) => self.aal5.push(connection, payload, last),
            None => Pushed::Damaged(Reason::Cut {
                needed: offset(CELL_LEN),
                available: offset(bytes.len()),
            }),
        };
        match pushed {
            Pushed::Waits => return facts,
            Pushed::Damaged(reason) => {
                facts.stop = Some(Stop {
                    layer: Some(Layer::Aal5),
                    offset: offset(place.start),
                    reason,
                });
                return facts;
            }
            Pushed::Complete => {}
        }
        let pdu = self.aal5.pdu();
        place.next = Next::Layer(Layer::Aal5);
        place.start = 0;
        place.end = pdu.len();
        place.declared = pdu.len();
        let mut walk = Walk {
            frame,
            buffer: pdu,
            reassembled: true,
            options: &self.options,
            goal: &self.goal,
            found: &mut self.found,
            facts,
            cell: None,
        };
        walk.run(place);
        walk.facts
    }
}

impl Goal {
    #[inline]
    fn reached(&self, facts: &Facts) -> bool {
        !self.all
            && facts.present.contains_all(self.layers)
            && (!self.network || facts.network.is_some())
            && (!self.transport || facts.transport_is_known())
    }
}

/// Where the next header stands.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// What the header is.
    next: Next,
    /// Offset of its first byte.
    start: usize,
    /// End of the bytes that are there.
    end: usize,
    /// Bytes from `start` that the headers around it declare.
    declared: usize,
    /// Offset of the IP header that carries it.
    ip: u32,
    /// It is in a datagram that an error message quotes, as much of it as the sender liked.
    quoted: bool,
}

impl Place {
    #[inline]
    fn whole(frame: &Frame<'_>, next: Next) -> Self {
        let end = frame.data.len();
        Self {
            next,
            start: 0,
            end,
            declared: end.max(frame.wire_len as usize),
            ip: Span::NO_IP,
            quoted: false,
        }
    }
}

/// One walk through one packet.
struct Walk<'d> {
    frame: &'d Frame<'d>,
    /// What places are offsets into: the frame, or the PDU that was reassembled from cells.
    buffer: &'d [u8],
    /// `buffer` is the PDU.
    reassembled: bool,
    options: &'d Options,
    goal: &'d Goal,
    found: &'d mut Found,
    facts: Facts,
    /// The walk ended at the payload of a cell.
    cell: Option<Cell>,
}

/// An ATM cell's payload, which says nothing without the other cells of its PDU.
#[derive(Clone, Copy, Debug)]
struct Cell {
    connection: u64,
    last: bool,
    place: Place,
}

impl Walk<'_> {
    fn run(&mut self, mut place: Place) {
        if let (Next::Link(number), None) = (place.next, place.next.layer()) {
            if !LinkType(number).is_registered() {
                self.stop(None, &place, Reason::UnknownLinkType(number));
            }
            return;
        }
        for _ in 0..Decoder::LAYERS_MAX {
            let Some(layer) = place.next.layer() else {
                // Only a walk that has to go on gets here, so that cells are kept only when
                // something above ATM is asked for. Cells inside a PDU are not looked for.
                if let (Next::Cell { connection, last }, false) = (place.next, self.reassembled) {
                    self.cell = Some(Cell { connection, last, place });
                }
                return;
            };
            if !self.step(layer, &mut place) || self.goal.reached(&self.facts) {
                return;
            }
        }
        if let Some(layer) = place.next.layer() {
            let layers_max = Decoder::LAYERS_MAX;
            self.stop(Some(layer), &place, Reason::TooDeep { layers_max });
        }
    }

    /// Reads the header at `place` and moves on behind it; false when it could not be read.
    #[inline]
    fn step(&mut self, layer: Layer, place: &mut Place) -> bool {
        let input = Input {
            bytes: self.buffer.get(place.start..place.end).unwrap_or_default(),
            declared: place.declared,
            frame: self.frame,
            options: self.options,
        };
        let header = match (PROTOCOLS[layer as usize].decode)(&input) {
            Ok(header) => header,
            Err(reason) => {
                self.enter(layer, place);
                if !(place.quoted && matches!(reason, Reason::Overrun { .. })) {
                    self.stop(Some(layer), place, reason);
                }
                return false;
            }
        };
        if !header.foreign {
            self.enter(layer, place);
            if matches!(layer, Layer::Ipv4 | Layer::Ipv6) {
                place.ip = offset(place.start);
            }
        }
        if let Some(total) = header.total {
            place.declared = place.declared.min(total);
            place.end = place.end.min(place.start.saturating_add(total));
        }
        place.start = place.start.saturating_add(header.len);
        place.declared = place.declared.saturating_sub(header.len);
        place.next = header.next;
        place.quoted |= matches!(header.next, Next::Quote(_));
        self.note_protocol(header.next);
        true
    }

    /// Remembers where the outermost header of a protocol lies.
    #[inline]
    fn enter(&mut self, layer: Layer, place: &Place) {
        if place.start >= place.end || self.facts.present.contains(layer) {
            return;
        }
        self.found.spans[layer as usize] = Span {
            start: offset(place.start),
            end: offset(place.end),
            declared: offset(place.declared),
            ip: place.ip,
        };
        self.facts.present = self.facts.present.with(layer);
        if self.reassembled {
            self.facts.in_reassembled = self.facts.in_reassembled.with(layer);
        }
        if let Some(slot) = self.found.order.get_mut(usize::from(self.facts.layers)) {
            *slot = layer;
            self.facts.layers += 1;
        }
        if self.facts.network.is_none() && matches!(layer, Layer::Ipv4 | Layer::Ipv6) {
            self.facts.network = Some(layer);
        }
    }

    /// Remembers the protocol above the outermost IP header.
    #[inline]
    fn note_protocol(&mut self, next: Next) {
        if self.facts.ip_protocol.is_some() {
            return;
        }
        match next {
            Next::IpProtocol(number) if !next.is_extension() => {
                self.facts.ip_protocol = Some(number);
                self.facts.transport = next.layer();
            }
            Next::IpFragment(number) => self.facts.ip_protocol = Some(number),
            _ => {}
        }
    }

    #[cold]
    fn stop(&mut self, layer: Option<Layer>, place: &Place, reason: Reason) {
        self.facts.stop = Some(Stop {
            layer,
            offset: offset(place.start),
            reason,
        });
    }
}

/// An offset or length as spans hold it; captures hold no record of 4 GiB.
#[inline]
fn offset(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
