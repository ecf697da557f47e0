//! Messages that probes forward by HEP, in datagrams and over TCP, also behind a request for a tunnel and inside of TLS.

use std::collections::{HashMap, VecDeque};

use weir_flow::{
    Carried, Chunk, Content, Endpoint, FlowKey, Interest, Payload, Sender, StreamEnd, is_sip,
};
use weir_messages::hep::{Hep, is_compressed, is_incomplete};

use super::came_in::CameIn;
use super::on_opened::OnOpened;
use super::tunnel;

/// Messages that were forwarded by HEP.
#[derive(Debug, Default)]
pub(super) struct Relayed {
    /// The number of messages that are compressed.
    compressed: u64,
    /// The number of messages that lack an address or their end.
    incomplete: u64,
    /// The number of messages of types that no table reads.
    unread: u64,
    /// The number of octets of TCP connections that are not part of a complete message.
    lost_octets: u64,
    /// TCP connections that begin with a message: the message under way of each side.
    streams: HashMap<u64, [RelayedSide; 2]>,
    /// Other TCP connections in which a message may begin behind other octets.
    later: HashMap<u64, Later>,
    /// The number of octets of messages under way.
    held: usize,
    given_up: u64,
    /// The TCP connections whose segments were forwarded, where they are read as streams.
    segments: Option<Segments>,
}

/// A message under way.
#[derive(Debug, Default)]
struct RelayedSide {
    begun: Vec<u8>,
    came_in: CameIn,
}

/// A TCP connection whose first octets were not captured, or ask a proxy for a tunnel.
#[derive(Debug, Default)]
struct Later {
    /// The number of octets in which no message was found.
    octets: u64,
    /// The number of octets that were not captured.
    missing: u64,
    /// The last octets of each side, with which a message may begin.
    sides: [RelayedSide; 2],
    /// Nothing else of the connection is wanted.
    is_unwanted: bool,
}

/// The magic number of HEP version 3.
pub(super) const HEP_MAGIC: &[u8] = b"HEP3";
/// The number of octets of such a message before its chunks.
const HEP_HEADER: usize = 6;
/// The number of octets by which a message is recognised within others: the header, and that of its first chunk.
const KNOWN_OCTETS: usize = HEP_HEADER + 6;
/// The number of octets of messages under way, of all connections.
const HELD_BYTES_MAX: usize = 256 << 20;
/// The number of connections at one time, at most.
const CONNECTIONS_MAX: usize = 1 << 16;
/// The number of octets of a connection before its first message: more than a message has.
const LATER_OCTETS_MAX: u64 = 1 << 17;
/// The protocol number of TCP.
const TCP: u8 = 6;

impl RelayedSide {
    fn held(&self) -> usize {
        let frames = self.came_in.held_bytes();
        self.begun.capacity().saturating_add(frames)
    }

    /// Searches a message in the last octets of a side and in those that come behind them; keeps the last ones where there
    /// is none, and otherwise gives those that are of the message.
    fn begins_later(&mut self, payload: &Payload<'_>, bytes: &[u8]) -> Option<Self> {
        let all = [self.begun.as_slice(), bytes].concat();
        if bytes.starts_with(HEP_MAGIC) || has_hep(&all) {
            let mut found = std::mem::take(self);
            let at = memchr::memmem::find(&all, HEP_MAGIC).unwrap_or_default();
            found.begun.drain(..at.min(found.begun.len()));
            found.came_in.keep(found.begun.len());
            return Some(found);
        }
        let last = all.len().saturating_sub(KNOWN_OCTETS - 1);
        self.begun = all.get(last..).unwrap_or_default().to_vec();
        let held = self.begun.len();
        self.came_in
            .add(payload.frame, payload.others, bytes.len(), held);
        None
    }
}

impl Relayed {
    /// Reads the segments of TCP that probes forward as streams.
    pub(super) fn read_segments(&mut self, segments: Segments) {
        self.segments = Some(segments);
    }

    /// The counters of what was not read.
    pub(super) fn counted(&self) -> [(u64, &'static str); 6] {
        let forgotten = self.segments.as_ref().map_or(0, |it| it.forgotten);
        [
            (
                self.compressed,
                "messages that HEP carries are compressed, which is not read",
            ),
            (
                self.incomplete,
                "messages of HEP were not read because an address, the protocol or their end is missing",
            ),
            (
                self.unread,
                "messages that HEP carries are of types that are not read, such as reports in JSON and logs",
            ),
            (
                self.lost_octets,
                "bytes of TCP connections of HEP are not part of a complete message",
            ),
            (
                self.given_up,
                "TCP connections of HEP were not read completely, because there were more than 65,536 at one time, or 256 MiB of them in memory",
            ),
            (
                forgotten,
                "TCP connections that HEP carries were read in part, because there were more than 65,536 at one time",
            ),
        ]
    }

    /// Reads a datagram: reports it, or the message that a probe forwarded in it, with the addresses of that message.
    pub(super) fn datagram(
        &mut self,
        payload: &Payload<'_>,
        bytes: &[u8],
        each: &mut OnOpened<'_>,
    ) -> Interest {
        match self.parse(bytes) {
            Some(hep) => self.message(payload, &hep, each),
            None => each(payload),
        }
    }

    /// Reads a piece of a stream: reports it, or the messages that it completes.
    pub(super) fn stream(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        each: &mut OnOpened<'_>,
    ) -> Interest {
        match self.chunk(payload, chunk, each) {
            Some(interest) => interest,
            None => self.other(payload, chunk, each),
        }
    }

    /// Discards the state of a connection of which nothing more is read.
    pub(super) fn forget(&mut self, connection: u64) {
        if !self.later.is_empty() {
            self.later.remove(&connection);
        }
        if self.streams.is_empty() {
            return;
        }
        for side in self.streams.remove(&connection).into_iter().flatten() {
            self.held = self.held.saturating_sub(side.held());
        }
    }

    /// Ends the capture: reports the ends of connections whose segments were forwarded.
    pub(super) fn finish(&mut self, each: &mut OnOpened<'_>) {
        if let Some(segments) = &mut self.segments {
            segments.finish(each);
        }
    }

    /// Parses a message; counts those that are not read.
    fn parse<'h>(&mut self, bytes: &'h [u8]) -> Option<Hep<'h>> {
        let Some(hep) = Hep::parse(bytes) else {
            if is_compressed(bytes) {
                self.compressed = self.compressed.saturating_add(1);
            } else if is_incomplete(bytes) {
                self.incomplete = self.incomplete.saturating_add(1);
            }
            return None;
        };
        let is_sip = is_sip(hep.payload);
        // Two octets and a length are too little to recognise versions 1 and 2.
        if hep.version < 3 && !is_sip {
            return None;
        }
        let is_unread = !is_sip && !hep.is_message();
        self.unread = self.unread.saturating_add(is_unread.into());
        Some(hep)
    }

    /// Reports a message that was forwarded.
    fn message(
        &mut self,
        payload: &Payload<'_>,
        hep: &Hep<'_>,
        each: &mut OnOpened<'_>,
    ) -> Interest {
        let [source, destination] = [hep.source, hep.destination].map(|end| Endpoint {
            address: end.ip(),
            port: end.port(),
        });
        let (key, sender) = FlowKey::new(source, destination, hep.protocol, 0);
        let of_message = payload.with_datagram(&key, sender, hep.payload);
        match &mut self.segments {
            Some(segments) if hep.protocol == TCP && segments.are_of_stream(&of_message) => {
                segments.take(&of_message, hep.payload, each);
                Interest::Follow
            }
            _ => each(&of_message),
        }
    }

    /// Reads a chunk of a stream; returns `None` when the stream is not HEP.
    fn chunk(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        each: &mut OnOpened<'_>,
    ) -> Option<Interest> {
        let side = usize::from(chunk.sender == Sender::High);
        if !self.streams.contains_key(&chunk.connection) {
            let begun = self.beginning(payload, chunk)?;
            if let Some(later) = self.later.remove(&chunk.connection) {
                self.lost_octets = self.lost_octets.saturating_add(later.missing);
            }
            if self.streams.len() >= CONNECTIONS_MAX {
                self.given_up = self.given_up.saturating_add(1);
                return Some(Interest::Ignore);
            }
            self.held = self.held.saturating_add(begun.held());
            let sides = self.streams.entry(chunk.connection).or_default();
            *sides.get_mut(side)? = begun;
        }
        let known = self.streams.get_mut(&chunk.connection)?.get_mut(side)?;
        self.held = self.held.saturating_sub(known.held());
        let mut known = std::mem::take(known);
        self.messages(payload, chunk, &mut known, each);
        let held = self.held.saturating_add(known.held());
        let is_too_much = held > HELD_BYTES_MAX;
        self.given_up = self.given_up.saturating_add(u64::from(is_too_much));
        if is_too_much || chunk.is_last {
            self.forget(chunk.connection);
            return Some(Interest::Ignore);
        }
        self.held = held;
        *self.streams.get_mut(&chunk.connection)?.get_mut(side)? = known;
        Some(Interest::Follow)
    }

    /// The octets of a side before a piece with which a message begins, as far as they are of that message; `None` where
    /// none begins.
    fn beginning(&mut self, payload: &Payload<'_>, chunk: &Chunk<'_>) -> Option<RelayedSide> {
        if self.may_begin_later(chunk)
            && let Some(later) = self.later.get_mut(&chunk.connection)
        {
            let side = usize::from(chunk.sender == Sender::High);
            let before = later.sides.get_mut(side)?;
            if let Content::Bytes(bytes) = chunk.content {
                return before.begins_later(payload, bytes);
            }
            *before = RelayedSide::default();
            if let Content::Gap(octets) = chunk.content {
                later.missing = later.missing.saturating_add(octets);
            }
        }
        let Content::Bytes(bytes) = chunk.content else {
            return None;
        };
        // A connection that began before the capture begins with the rest of a message.
        let is_hep = match chunk.saw_start {
            true => chunk.offset == 0 && bytes.starts_with(HEP_MAGIC),
            false => bytes.starts_with(HEP_MAGIC) || has_hep(bytes),
        };
        is_hep.then(RelayedSide::default)
    }

    /// Reports the messages that a piece of a side completes.
    fn messages(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        known: &mut RelayedSide,
        each: &mut OnOpened<'_>,
    ) {
        let others = known.came_in.before(payload.others);
        let mut of_message = *payload;
        of_message.others = &others;
        let mut under_way = std::mem::take(&mut known.begun);
        match chunk.content {
            Content::Bytes(bytes) => under_way.extend_from_slice(bytes),
            missing => {
                self.lose(under_way.len());
                under_way = Vec::new();
                if let Content::Gap(octets) = missing {
                    self.lost_octets = self.lost_octets.saturating_add(octets);
                }
            }
        }
        let mut rest = under_way.as_slice();
        // After a gap the beginning of the next message is searched for.
        while let Some(at) = memchr::memmem::find(rest, HEP_MAGIC) {
            self.lose(at);
            rest = rest.get(at..).unwrap_or_default();
            let [_, _, _, _, high, low, ..] = rest else {
                break;
            };
            let length = usize::from(u16::from_be_bytes([*high, *low])).max(HEP_HEADER);
            let Some((message, behind)) = rest.split_at_checked(length) else {
                break;
            };
            // Octets that are not a message are not read as another stream.
            if let Some(hep) = self.parse(message) {
                self.message(&of_message, &hep, each);
            }
            // The octets that follow began in this piece.
            of_message.others = payload.others;
            rest = behind;
        }
        // Octets that may begin a message are kept, too.
        let is_kept = rest.starts_with(HEP_MAGIC) || HEP_MAGIC.starts_with(rest);
        if is_kept {
            known.begun = rest.to_vec();
        } else {
            self.lose(rest.len());
        }
        known
            .came_in
            .take(payload, chunk.content, known.begun.len());
    }

    fn lose(&mut self, octets: usize) {
        self.lost_octets = self.lost_octets.saturating_add(octets as u64);
    }

    /// Whether messages may begin behind other octets of a connection that is not read: its first octets are missing, or
    /// ask a proxy for a tunnel.
    fn may_begin_later(&mut self, chunk: &Chunk<'_>) -> bool {
        let begins_otherwise = chunk.offset == 0
            && match chunk.content {
                Content::Gap(_) => true,
                Content::Bytes(bytes) => tunnel::beginning(bytes) != tunnel::Beginning::Other,
                Content::End(_) => false,
            };
        // Of a connection that began before the capture, the first message may begin in one segment and go on in the
        // next.
        let begins = match chunk.content {
            _ if chunk.saw_start => begins_otherwise,
            Content::Bytes(bytes) => may_end_with_hep(bytes),
            _ => false,
        };
        if self.later.is_empty() && !begins {
            return false;
        }
        if chunk.is_last {
            return self.later.remove(&chunk.connection).is_some();
        }
        if begins && self.later.len() < CONNECTIONS_MAX {
            self.later.entry(chunk.connection).or_default();
        }
        self.later.contains_key(&chunk.connection)
    }

    /// Reports a piece of a stream that is not HEP. One in which messages may begin later is followed for a while, also
    /// where nothing else of it is wanted.
    fn other(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        each: &mut OnOpened<'_>,
    ) -> Interest {
        let later = match self.later.is_empty() {
            true => None,
            false => self.later.get_mut(&chunk.connection),
        };
        let Some(later) = later else {
            return each(payload);
        };
        if let Content::Bytes(bytes) = chunk.content {
            later.octets = later.octets.saturating_add(bytes.len() as u64);
        }
        later.is_unwanted = later.is_unwanted || each(payload) == Interest::Ignore;
        let is_unwanted = later.is_unwanted;
        if later.octets <= LATER_OCTETS_MAX {
            return Interest::Follow;
        }
        self.later.remove(&chunk.connection);
        match is_unwanted {
            true => Interest::Ignore,
            false => Interest::Follow,
        }
    }
}

/// Returns whether a HEP message begins in these octets, with a first chunk that HEP defines.
fn has_hep(bytes: &[u8]) -> bool {
    let mut all = memchr::memmem::find_iter(bytes, HEP_MAGIC);
    all.any(|at| {
        let chunk = bytes.get(at + HEP_HEADER..).unwrap_or_default();
        matches!(chunk, [0, 0, 0, 1..=18, 0, 7..=255, ..])
    })
}

/// Returns whether a HEP message may begin with the last ones of these octets.
fn may_end_with_hep(bytes: &[u8]) -> bool {
    let last = bytes.len().saturating_sub(KNOWN_OCTETS - 1);
    let last = bytes.get(last..).unwrap_or_default();
    memchr::memchr_iter(b'H', last).any(|at| {
        let begun = last.get(at..).unwrap_or_default();
        begun.starts_with(HEP_MAGIC) || HEP_MAGIC.starts_with(begun)
    })
}

/// The TCP connections whose segments were forwarded, by the flow of the probe and their ends.
#[derive(Debug, Default)]
pub(super) struct Segments {
    /// Only connections that begin with a request of HTTP are streams.
    of_upgrades: bool,
    open: HashMap<(u64, FlowKey), SegmentsOf>,
    /// The connections in the order in which they began.
    order: VecDeque<(u64, FlowKey)>,
    begun: u64,
    forgotten: u64,
}

/// A TCP connection whose segments were forwarded.
#[derive(Debug)]
struct SegmentsOf {
    /// The number of the connection, which no connection of the capture has.
    number: u64,
    originator: Sender,
    /// The number of octets of each side so far.
    octets: [u64; 2],
    /// The time of the last segment, and the time that had passed by then.
    time_ns: Option<i64>,
    passed_ns: i64,
    is_unwanted: bool,
}

/// The numbers of connections of the capture are below this one.
const FIRST_NUMBER: u64 = 1 << 63;

impl Segments {
    /// The segments of all connections are read as streams.
    pub(super) fn of_all() -> Self {
        Self::default()
    }

    /// Those of connections that begin with a request to become a WebSocket connection are.
    pub(super) fn of_upgrades() -> Self {
        Self {
            of_upgrades: true,
            ..Self::default()
        }
    }

    /// Whether a segment is read as a piece of a stream.
    fn are_of_stream(&self, payload: &Payload<'_>) -> bool {
        let is_request = || {
            let Carried::Datagram(bytes) = payload.carried else {
                return false;
            };
            bytes.starts_with(b"GET ")
        };
        !self.of_upgrades || self.open.contains_key(&(payload.flow, *payload.key)) || is_request()
    }

    /// Reads a segment, and reports it as a piece of its stream.
    fn take(&mut self, payload: &Payload<'_>, bytes: &[u8], each: &mut OnOpened<'_>) {
        let id = (payload.flow, *payload.key);
        if !self.open.contains_key(&id) {
            self.begin(id, payload, each);
        }
        let Some(known) = self.open.get_mut(&id).filter(|it| !it.is_unwanted) else {
            return;
        };
        let side = usize::from(payload.sender == Sender::High);
        let offset = known.octets.get(side).copied().unwrap_or_default();
        if let Some(octets) = known.octets.get_mut(side) {
            *octets = offset.saturating_add(bytes.len() as u64);
        }
        (known.time_ns, known.passed_ns) = (payload.time_ns, payload.passed_ns);
        let chunk = Chunk {
            connection: known.number,
            flow: payload.flow,
            key: payload.key,
            sender: payload.sender,
            from_originator: known.originator == payload.sender,
            time_ns: payload.time_ns,
            frame: payload.frame,
            acknowledged: None,
            lost_before: 0,
            offset,
            saw_start: false,
            is_last: false,
            content: Content::Bytes(bytes),
        };
        known.is_unwanted = each(&payload.with_stream(&chunk)) == Interest::Ignore;
    }

    /// Begins a connection, for which the oldest one makes room.
    fn begin(&mut self, id: (u64, FlowKey), payload: &Payload<'_>, each: &mut OnOpened<'_>) {
        if self.order.len() >= CONNECTIONS_MAX
            && let Some(oldest) = self.order.pop_front()
            && let Some(known) = self.open.remove(&oldest)
        {
            let is_wanted = !known.is_unwanted;
            self.forgotten = self.forgotten.saturating_add(is_wanted.into());
            known.end(&oldest, StreamEnd::Forgotten, each);
        }
        let number = FIRST_NUMBER.saturating_add(self.begun);
        self.begun = self.begun.saturating_add(1);
        self.order.push_back(id);
        let known = SegmentsOf {
            number,
            originator: payload.sender,
            octets: [0; 2],
            time_ns: payload.time_ns,
            passed_ns: payload.passed_ns,
            is_unwanted: false,
        };
        self.open.insert(id, known);
    }

    fn finish(&mut self, each: &mut OnOpened<'_>) {
        while let Some(id) = self.order.pop_front() {
            if let Some(known) = self.open.remove(&id) {
                known.end(&id, StreamEnd::CaptureEnd, each);
            }
        }
    }
}

impl SegmentsOf {
    /// Reports the ends of both directions.
    fn end(&self, (flow, key): &(u64, FlowKey), end: StreamEnd, each: &mut OnOpened<'_>) {
        if self.is_unwanted {
            return;
        }
        for (sender, offset) in [Sender::Low, Sender::High].into_iter().zip(self.octets) {
            let chunk = Chunk {
                connection: self.number,
                flow: *flow,
                key,
                sender,
                from_originator: self.originator == sender,
                time_ns: self.time_ns,
                frame: 0,
                acknowledged: None,
                lost_before: 0,
                offset,
                saw_start: false,
                is_last: sender == Sender::High,
                content: Content::End(end),
            };
            each(&Payload::of_stream(&chunk, self.passed_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_begin_within_octets_only_with_a_chunk_of_hep() {
        let ends = ["10.0.0.1:5060", "10.0.0.2:5060"].map(|end| end.parse().unwrap());
        let message = weir_messages::hep::write(3, ends[0], ends[1], 17, b"x");
        assert!(has_hep(&message));
        assert!(has_hep(&[b"the rest of one", &message[..]].concat()));
        assert!(!has_hep(b"HEP3 is a protocol"));
        assert!(!has_hep(&message[..HEP_HEADER]));
    }
}
