//! Handshakes in EAP (RFC 5216), whose packets a server of RADIUS and its clients send each other (RFC 3579, 3.1), and a peer and its
//! authenticator (IEEE 802.1X).

use std::collections::{HashMap, VecDeque};

use weir_flow::FlowKey;
use weir_messages::radius::Packet;
use weir_messages::tls::{Carrier, Session, SessionState, Stamp};

use super::eapol::{EapOnLink, Station};
use crate::extract::messages::Way;

/// What reads the octets of TLS in a conversation: the handshake of a row, or the records of each frame.
pub(in crate::extract) trait TalkReader {
    /// The reader of a conversation that begins.
    fn begun() -> Self;

    /// Reads octets of a side, with which a message of EAP ends or goes on. Returns whether there is something to report.
    fn octets(&mut self, side: usize, octets: &[u8], is_end: bool, stamp: Stamp) -> bool;

    /// Octets of a side are missing.
    fn lacks(&mut self, side: usize);

    /// Whether there is something to report where nothing more comes.
    fn is_open(&self) -> bool;
}

impl TalkReader for Session {
    fn begun() -> Self {
        Self::new(Carrier::Tls)
    }

    fn octets(&mut self, side: usize, octets: &[u8], _is_end: bool, stamp: Stamp) -> bool {
        self.stream(side, octets, stamp) != SessionState::More
    }

    fn lacks(&mut self, side: usize) {
        self.gap(side);
    }

    fn is_open(&self) -> bool {
        self.is_seen()
    }
}

/// The callback for a conversation that has something to report, with the way of its last octets and the side that sent them. It returns
/// the reader where that reads on.
pub(in crate::extract) type OnTalk<'e, R> = dyn FnMut(Box<R>, Way, usize) -> Option<Box<R>> + 'e;

/// The callback for conversations that are over once they have reported something.
pub(super) fn once<R>(
    mut each: impl FnMut(Box<R>, Way, usize),
) -> impl FnMut(Box<R>, Way, usize) -> Option<Box<R>> {
    move |reader: Box<R>, way: Way, side: usize| {
        each(reader, way, side);
        None
    }
}

/// The conversations of EAP with TLS between clients and servers of RADIUS, and on links.
pub(in crate::extract) struct EapTalks<R> {
    talks: HashMap<u64, EapTalk<R>>,
    /// Their numbers in the order in which they began.
    order: VecDeque<u64>,
    next: u64,
    /// The conversations of the requests that wait for a response, by their identifier.
    by_request: HashMap<(FlowKey, u8), u64>,
    /// The conversations by the State that the server gave them, which the next request repeats (RFC 2865, 5.24).
    by_state: HashMap<(FlowKey, Box<[u8]>), u64>,
    /// The conversations on links, by their peer.
    by_peer: HashMap<Station, u64>,
    /// The sender of the last response on a link.
    last_peer: Option<Station>,
    given_up: u64,
    cut: u64,
}

/// A conversation.
struct EapTalk<R> {
    /// What reads its TLS; `None` once it is over.
    reader: Option<Box<R>>,
    /// What was read of the peer's packets, and of the server's.
    directions: [EapDirection; 2],
    /// The way of its last packet, and the side that sent it.
    way: Way,
    side: usize,
    requests: Vec<(FlowKey, u8)>,
    states: Vec<(FlowKey, Box<[u8]>)>,
    /// Its peer, where a link carries it.
    peer: Option<Station>,
}

#[derive(Default)]
struct EapDirection {
    /// The identifier of the last packet, which has the same one when it is sent again.
    last: Option<u8>,
    /// The number of octets of the message under way that did not come yet.
    left: usize,
    /// The side that sends it.
    side: usize,
}

/// A packet of EAP with TLS.
struct EapPacket<'p> {
    is_response: bool,
    /// A server begins the conversation.
    is_start: bool,
    id: u8,
    /// The number of octets of the message that begins, where the packet has it.
    total: Option<usize>,
    has_more: bool,
    octets: &'p [u8],
}

/// The number of conversations at one time, at most; and that of the requests and states of each.
const TALKS_MAX: usize = 1 << 12;
const KEYS_MAX: usize = 128;
/// The ports of authentication.
const PORTS: [u16; 2] = [1_812, 1_645];
/// Codes of packets of RADIUS.
const ACCESS_REQUEST: u8 = 1;
const ACCESS_ACCEPT: u8 = 2;
const ACCESS_REJECT: u8 = 3;
const ACCESS_CHALLENGE: u8 = 11;
/// Attributes.
const STATE: u8 = 24;
const EAP_MESSAGE: u8 = 79;
/// Types of EAP: TLS, TTLS, PEAP, FAST and TEAP.
const TYPES: [u8; 5] = [13, 21, 25, 43, TEAP];
const TEAP: u8 = 55;

impl<'p> EapPacket<'p> {
    /// Reads a packet (RFC 5216, 3.1); `None` for those of other types.
    fn new(bytes: &'p [u8]) -> Option<Self> {
        let [code @ 1..=2, id, high, low, kind, flags, ..] = *bytes else {
            return None;
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let mut octets = bytes.get(6..length).filter(|_| TYPES.contains(&kind))?;
        let mut total = None;
        if flags & 0x80 != 0 {
            let (length, behind) = octets.split_first_chunk::<4>()?;
            total = usize::try_from(u32::from_be_bytes(*length)).ok();
            octets = behind;
        }
        // The length of what TEAP has behind TLS (RFC 7170, 4.1), and what a server begins FAST and TEAP with.
        if kind == TEAP && flags & 0x10 != 0 {
            octets = octets.get(4..)?;
        }
        if flags & 0x20 != 0 {
            total = None;
            octets = &[];
        }
        Some(Self {
            is_response: code == 2,
            is_start: code == 1 && flags & 0x20 != 0,
            id,
            total,
            has_more: flags & 0x40 != 0,
            octets,
        })
    }
}

impl EapDirection {
    /// Notes a packet; `None` for one that was sent again. Returns whether octets before its own are missing.
    fn note(&mut self, packet: &EapPacket<'_>) -> Option<bool> {
        if self.last.replace(packet.id) == Some(packet.id) {
            return None;
        }
        let octets = packet.octets.len();
        if octets == 0 {
            return Some(false);
        }
        let (lacks, left) = match packet.total {
            Some(total) => (self.left > 0, total.saturating_sub(octets)),
            None if self.left > 0 => (octets > self.left, self.left.saturating_sub(octets)),
            None => (packet.has_more, 0),
        };
        self.left = left;
        Some(lacks)
    }
}

impl<R: TalkReader> EapTalks<R> {
    pub(in crate::extract) fn new() -> Self {
        Self {
            talks: HashMap::new(),
            order: VecDeque::new(),
            next: 0,
            by_request: HashMap::new(),
            by_state: HashMap::new(),
            by_peer: HashMap::new(),
            last_peer: None,
            given_up: 0,
            cut: 0,
        }
    }

    /// The number of conversations that ended early, with something to report, because there were too many.
    pub(in crate::extract) const fn given_up(&self) -> u64 {
        self.given_up
    }

    /// The number of packets on links that were not captured completely.
    pub(in crate::extract) const fn cut(&self) -> u64 {
        self.cut
    }

    /// Reads a datagram, and reports what it completes. Returns false where it is no packet of RADIUS between ports of authentication.
    pub(in crate::extract) fn take(
        &mut self,
        key: &FlowKey,
        bytes: &[u8],
        way: &Way,
        side: usize,
        each: &mut OnTalk<'_, R>,
    ) -> bool {
        let is_port = way.ports().iter().any(|port| PORTS.contains(port));
        if !is_port {
            return false;
        }
        let Some(packet) = Packet::new(bytes, way.ports()) else {
            return false;
        };
        let mut message = Vec::new();
        let mut state: Option<(FlowKey, Box<[u8]>)> = None;
        for attribute in packet.attributes() {
            match attribute.kind {
                EAP_MESSAGE => message.extend_from_slice(attribute.value),
                STATE => state = Some((*key, Box::from(attribute.value))),
                _ => {}
            }
        }
        let request = (*key, packet.id());
        let known = match packet.code() {
            ACCESS_REQUEST => state.as_ref().and_then(|state| self.by_state.get(state)),
            ACCESS_ACCEPT | ACCESS_REJECT | ACCESS_CHALLENGE => self.by_request.get(&request),
            _ => return true,
        };
        let known = known.copied();
        let eap = EapPacket::new(&message);
        let Some(number) = known.or_else(|| eap.as_ref().map(|_| self.begin(way, side, each)))
        else {
            // Its response does not continue an earlier conversation.
            if packet.code() == ACCESS_REQUEST {
                self.by_request.remove(&request);
            }
            return true;
        };
        match packet.code() {
            ACCESS_REQUEST => self.note_request(number, request),
            _ => self.note_state(number, state),
        }
        if let (Some(eap), Some(talk)) = (eap, self.talks.get_mut(&number)) {
            talk.take(&eap, way, side, each);
        }
        true
    }

    /// Reads a packet that a link carries, and reports what it completes.
    pub(in crate::extract) fn take_on_link(
        &mut self,
        packet: &EapOnLink<'_>,
        way: &Way,
        each: &mut OnTalk<'_, R>,
    ) {
        let Some(eap) = EapPacket::new(packet.eap) else {
            self.cut = self.cut.saturating_add(packet.is_cut.into());
            return;
        };
        let side = usize::from(eap.is_response);
        let peer = match eap.is_response {
            true => Some(*self.last_peer.insert(packet.from)),
            // A request to the group of all ports, or to a station that is not known, is one to the peer that responded last.
            false => packet.to.filter(|to| to[0] & 1 == 0).or(self.last_peer),
        };
        let Some(peer) = peer else { return };
        let known = self.by_peer.get(&peer).copied();
        if eap.is_start {
            if let Some(number) = known {
                self.forget(number, each);
            }
            return;
        }
        let number = known.unwrap_or_else(|| self.begin(way, side, each));
        if let Some(talk) = self.talks.get_mut(&number) {
            self.by_peer.insert(peer, number);
            talk.peer = Some(peer);
            talk.take(&eap, way, side, each);
        }
    }

    /// Begins a conversation; returns its number.
    fn begin(&mut self, way: &Way, side: usize, each: &mut OnTalk<'_, R>) -> u64 {
        if self.order.len() >= TALKS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            let was_open = self.forget(oldest, each);
            self.given_up = self.given_up.saturating_add(was_open.into());
        }
        self.next += 1;
        self.order.push_back(self.next);
        let talk = EapTalk {
            reader: Some(Box::new(R::begun())),
            directions: Default::default(),
            way: *way,
            side,
            requests: Vec::new(),
            states: Vec::new(),
            peer: None,
        };
        self.talks.insert(self.next, talk);
        self.next
    }

    fn note_request(&mut self, number: u64, request: (FlowKey, u8)) {
        if let Some(talk) = self.talks.get_mut(&number)
            && talk.requests.len() < KEYS_MAX
        {
            self.by_request.insert(request, number);
            talk.requests.push(request);
        }
    }

    fn note_state(&mut self, number: u64, state: Option<(FlowKey, Box<[u8]>)>) {
        if let (Some(talk), Some(state)) = (self.talks.get_mut(&number), state)
            && talk.states.len() < KEYS_MAX
        {
            self.by_state.insert(state.clone(), number);
            talk.states.push(state);
        }
    }

    /// Ends a conversation, and reports what is open; returns whether something was.
    fn forget(&mut self, number: u64, each: &mut OnTalk<'_, R>) -> bool {
        let Some(talk) = self.talks.remove(&number) else {
            return false;
        };
        for request in &talk.requests {
            if self.by_request.get(request) == Some(&number) {
                self.by_request.remove(request);
            }
        }
        for state in &talk.states {
            if self.by_state.get(state) == Some(&number) {
                self.by_state.remove(state);
            }
        }
        if let Some(peer) = talk.peer
            && self.by_peer.get(&peer) == Some(&number)
        {
            self.by_peer.remove(&peer);
        }
        let Some(mut reader) = talk.reader.filter(|reader| reader.is_open()) else {
            return false;
        };
        for direction in talk.directions.iter().filter(|it| it.left > 0) {
            reader.lacks(direction.side);
        }
        each(reader, talk.way, talk.side);
        true
    }

    /// Reports the handshakes that are open when the capture ends.
    pub(super) fn finish(&mut self, each: &mut OnTalk<'_, R>) {
        while let Some(number) = self.order.pop_front() {
            self.forget(number, each);
        }
    }
}

impl<R: TalkReader> EapTalk<R> {
    /// Reads a packet, and reports what it completes.
    fn take(&mut self, packet: &EapPacket<'_>, way: &Way, side: usize, each: &mut OnTalk<'_, R>) {
        let [of_server, of_peer] = &mut self.directions;
        let direction = if packet.is_response {
            of_peer
        } else {
            of_server
        };
        let Some(reader) = &mut self.reader else {
            return;
        };
        let Some(lacks) = direction.note(packet) else {
            return;
        };
        direction.side = side;
        if lacks || way.missing > 0 {
            reader.lacks(side);
        }
        if packet.octets.is_empty() {
            return;
        }
        (self.way, self.side) = (*way, side);
        let stamp = Stamp {
            time_ns: way.time_ns,
            frame: way.frame,
        };
        if reader.octets(side, packet.octets, !packet.has_more, stamp)
            && let Some(reader) = self.reader.take().filter(|reader| reader.is_open())
        {
            self.reader = each(reader, *way, side);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(code: u8, id: u8, kind: u8, flags: u8, data: &[u8]) -> Vec<u8> {
        let [high, low] = (6 + data.len() as u16).to_be_bytes();
        [&[code, id, high, low, kind, flags][..], data].concat()
    }

    #[test]
    fn packets_are_read_by_their_flags() {
        let parts = |bytes: &[u8]| {
            let read = EapPacket::new(bytes)?;
            Some((read.total, read.has_more, read.octets.to_vec()))
        };
        let whole = parts(&packet(2, 7, 13, 0, b"tls"));
        assert_eq!(whole, Some((None, false, b"tls".to_vec())));
        let first = parts(&packet(1, 7, 25, 0xc1, b"\0\0\0\x09tls"));
        assert_eq!(first, Some((Some(9), true, b"tls".to_vec())));
        let outer = parts(&packet(1, 7, 55, 0x90, b"\0\0\0\x03\0\0\0\0tls"));
        assert_eq!(outer, Some((Some(3), false, b"tls".to_vec())));
        let start = parts(&packet(1, 7, 43, 0x21, b"\0\x04\0\x04name"));
        assert_eq!(start, Some((None, false, Vec::new())));
        let padded = [&packet(2, 7, 21, 0, b"tls")[..], b"rest"].concat();
        assert_eq!(parts(&padded), Some((None, false, b"tls".to_vec())));
        for other in [
            packet(2, 7, 1, 0, b"bob"),
            packet(3, 7, 13, 0, b""),
            vec![2, 7, 0, 6, 13],
        ] {
            assert_eq!(parts(&other), None);
        }
        let cut = packet(2, 7, 13, 0, b"tls");
        assert_eq!(parts(&cut[..8]), None);
    }

    #[test]
    fn what_is_missing_of_messages_is_noted() {
        let sent = [
            packet(2, 1, 13, 0xc0, b"\0\0\0\x05ab"),
            packet(2, 1, 13, 0xc0, b"\0\0\0\x05ab"),
            packet(2, 2, 13, 0x40, b"cd"),
            packet(2, 3, 13, 0, b"e"),
            packet(2, 4, 13, 0, b"whole"),
            packet(2, 5, 13, 0x40, b"without a first one"),
            packet(2, 6, 13, 0xc0, b"\0\0\0\x09ab"),
            packet(2, 7, 13, 0x80, b"\0\0\0\x01x"),
        ];
        let mut direction = EapDirection::default();
        let lacks = sent.map(|bytes| direction.note(&EapPacket::new(&bytes).unwrap()));
        let no = Some(false);
        let expected = [no, None, no, no, no, Some(true), no, Some(true)];
        assert_eq!(lacks, expected);
    }
}
