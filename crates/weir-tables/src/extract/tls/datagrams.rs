//! Handshakes over datagrams: DTLS, and Initial packets of QUIC. Connections of the same ports are distinguished by the
//! first datagram of the client: its connection ID (RFC 9000, 5.2), or the random value of its hello (RFC 6347, 4.2.8).

use std::collections::{HashMap, VecDeque};

use weir_flow::FlowKey;
use weir_messages::tls::{
    Carrier, QuicIds, Session, SessionState, Stamp, begins_with_datagram_hello,
    is_of_datagram_records, is_quic_initial, is_quic_of_unknown_version, may_be_quic_initial,
    may_be_quic_initial_of_server, may_begin_with_datagram_hello, random_of_datagram_hello,
};

use super::{OnHandshake, Way, directed};

/// The handshakes over datagrams of all endpoints.
#[derive(Default)]
pub(super) struct Datagrams {
    open: HashMap<FlowKey, Talks>,
    /// The keys in the order of their first connections.
    order: VecDeque<FlowKey>,
    /// The number of octets of datagrams that wait for the client's first one, of all.
    waiting: usize,
    given_up: u64,
    unopened: u64,
    cut: u64,
    of_unknown_version: u64,
    without_hello: u64,
}

/// The handshakes between two ends, oldest first.
#[derive(Default)]
struct Talks {
    talks: VecDeque<Talk>,
    /// Initial packets of QUIC that cannot be decrypted yet: those of a server may be captured before the first one of
    /// the client.
    early: VecDeque<Early>,
    /// A message of DTLS came before any hello.
    lacks_hello: bool,
}

struct Early {
    bytes: Vec<u8>,
    way: Way,
    side: usize,
}

/// A handshake over datagrams.
struct Talk {
    state: DatagramState,
    /// The way of its last datagram.
    way: Way,
    /// The side that sent it.
    side: usize,
    /// The random value of the client's DTLS hello.
    random: Option<[u8; 32]>,
}

enum DatagramState {
    Open(Box<Session>),
    /// The handshake was reported. The connection IDs of QUIC identify copies of its packets.
    Over(Option<QuicIds>),
}

/// The number of pairs of ends with handshakes, at most.
const ENDS_MAX: usize = 1 << 14;
/// The number of handshakes between the same ends at one time, at most.
const TALKS_MAX: usize = 16;
/// The number of datagrams between the same ends that wait for the client's first one, at most, and that of all their
/// octets.
const EARLY_MAX: usize = 4;
const EARLY_OCTETS_MAX: usize = 16 << 20;
/// The number of pairs of ends that are searched for finished handshakes, when there are too many.
const LOOKS: usize = 64;
/// The time in nanoseconds after which the same endpoints begin anew.
const ANEW_NS: i64 = 60_000_000_000;

impl Datagrams {
    /// The number of handshakes that were reported early because there were too many.
    pub(super) const fn given_up(&self) -> u64 {
        self.given_up
    }

    /// The number of datagrams with Initial packets of QUIC that could not be decrypted.
    pub(super) const fn unopened(&self) -> u64 {
        self.unopened
    }

    /// The number of datagrams that begin with a hello of which too little was captured.
    pub(super) const fn cut(&self) -> u64 {
        self.cut
    }

    /// The number of datagrams that begin with packets of QUIC of a version whose keys are not known.
    pub(super) const fn of_unknown_version(&self) -> u64 {
        self.of_unknown_version
    }

    /// The number of pairs of ends with messages of DTLS and no hello.
    pub(super) const fn without_hello(&self) -> u64 {
        self.without_hello
    }

    /// Reads a datagram, and reports the handshakes that it completes.
    pub(super) fn take(
        &mut self,
        key: &FlowKey,
        bytes: &[u8],
        way: &Way,
        side: usize,
        each: &mut OnHandshake<'_>,
    ) {
        if begins_with_datagram_hello(bytes) {
            self.make_room(key, each);
            let talks = self.open.entry(*key).or_default();
            talks.begin_dtls(bytes, way, side, &mut self.given_up, each);
        } else if is_quic_initial(bytes) || self.may_wait(key, bytes) {
            return self.quic(key, bytes, way, side, each);
        } else if way.missing > 0 && is_cut_hello(bytes, way.ports()) {
            self.cut = self.cut.saturating_add(1);
        } else if is_quic_of_unknown_version(bytes) {
            self.of_unknown_version = self.of_unknown_version.saturating_add(1);
        } else if is_message(bytes, way.missing) && !self.open.contains_key(key) {
            self.make_room(key, each);
            self.open.entry(*key).or_default().lacks_hello = true;
        }
        if let Some(talks) = self.open.get_mut(key) {
            talks.go_on(bytes, way, side, each);
        }
    }

    /// Whether a datagram between ends without a handshake may be of a server whose client's first one comes later.
    fn may_wait(&self, key: &FlowKey, bytes: &[u8]) -> bool {
        let talks = self.open.get(key);
        talks.is_none_or(|talks| talks.talks.is_empty()) && may_be_quic_initial_of_server(bytes)
    }

    /// Reads a datagram with an Initial packet of QUIC.
    fn quic(
        &mut self,
        key: &FlowKey,
        bytes: &[u8],
        way: &Way,
        side: usize,
        each: &mut OnHandshake<'_>,
    ) {
        let is_known = |talks: &mut Talks| talks.is_of_known(bytes, way, side, each);
        if self.open.get_mut(key).is_some_and(is_known) {
            return;
        }
        self.make_room(key, each);
        let talks = self.open.entry(*key).or_default();
        if talks.begin_quic(bytes, way, side, &mut self.given_up, each) {
            self.waiting = self.waiting.saturating_sub(talks.take_early(each));
            return;
        }
        let all = self.waiting.saturating_add(bytes.len());
        if talks.early.len() >= EARLY_MAX || all > EARLY_OCTETS_MAX {
            self.unopened = self.unopened.saturating_add(1);
            return;
        }
        self.waiting = all;
        talks.early.push_back(Early {
            bytes: bytes.to_vec(),
            way: *way,
            side,
        });
    }

    /// Makes room for a new pair of ends.
    fn make_room(&mut self, key: &FlowKey, each: &mut OnHandshake<'_>) {
        if self.open.contains_key(key) {
            return;
        }
        if self.order.len() >= ENDS_MAX {
            let open = &self.open;
            let is_over = |key: &FlowKey| open.get(key).is_none_or(Talks::are_over);
            let over = self.order.iter().take(LOOKS).position(is_over);
            if let Some(oldest) = self.order.remove(over.unwrap_or(0)) {
                self.forget(&oldest, true, each);
            }
        }
        self.order.push_back(*key);
    }

    /// Reports the open handshakes between two endpoints, of which nothing more is read.
    fn forget(&mut self, key: &FlowKey, is_early: bool, each: &mut OnHandshake<'_>) {
        let Some(talks) = self.open.remove(key) else {
            return;
        };
        let octets: usize = talks.early.iter().map(|early| early.bytes.len()).sum();
        self.waiting = self.waiting.saturating_sub(octets);
        self.unopened = self.unopened.saturating_add(talks.early.len() as u64);
        let lacks_hello = talks.lacks_hello && talks.talks.is_empty();
        self.without_hello = self.without_hello.saturating_add(lacks_hello.into());
        for talk in talks.talks {
            let was_open = talk.give_up(each);
            self.given_up = self.given_up.saturating_add((was_open && is_early).into());
        }
    }

    /// Reports the handshakes that are open when the capture ends.
    pub(super) fn finish(&mut self, each: &mut OnHandshake<'_>) {
        while let Some(key) = self.order.pop_front() {
            self.forget(&key, false, each);
        }
    }
}

impl Talks {
    fn are_over(&self) -> bool {
        let mut all = self.talks.iter();
        self.early.is_empty() && all.all(|talk| matches!(talk.state, DatagramState::Over(_)))
    }

    /// Begins a handshake of DTLS with a hello that belongs to no known one.
    fn begin_dtls(
        &mut self,
        bytes: &[u8],
        way: &Way,
        side: usize,
        given_up: &mut u64,
        each: &mut OnHandshake<'_>,
    ) {
        let random = random_of_datagram_hello(bytes);
        if let Some(last) = self.talks.back_mut() {
            let is_another = random.is_some() && last.random.is_some() && random != last.random;
            let silent_ns = way.passed_ns.saturating_sub(last.way.passed_ns);
            let is_over = matches!(last.state, DatagramState::Over(_));
            let is_anew = is_over && silent_ns > ANEW_NS;
            if !is_another && !is_anew {
                last.random = last.random.or(random);
                return;
            }
            // These ends do not continue the older one any more.
            if let Some(talk) = self.talks.pop_back() {
                talk.give_up(each);
            }
        }
        let session = Session::new(Carrier::Dtls);
        self.add(session, way, side, random, given_up, each);
    }

    /// Begins a connection of QUIC with the client's first packet; returns false when these bytes are no such packet.
    fn begin_quic(
        &mut self,
        bytes: &[u8],
        way: &Way,
        side: usize,
        given_up: &mut u64,
        each: &mut OnHandshake<'_>,
    ) -> bool {
        let mut session = Session::new(Carrier::Quic);
        if session.quic_datagram(side, bytes, stamp(way)).is_none() {
            return false;
        }
        self.add(session, way, side, None, given_up, each);
        true
    }

    fn add(
        &mut self,
        session: Session,
        way: &Way,
        side: usize,
        random: Option<[u8; 32]>,
        given_up: &mut u64,
        each: &mut OnHandshake<'_>,
    ) {
        if self.talks.len() >= TALKS_MAX {
            let mut all = self.talks.iter();
            let over = all.position(|talk| matches!(talk.state, DatagramState::Over(_)));
            if let Some(talk) = self.talks.remove(over.unwrap_or(0)) {
                *given_up = given_up.saturating_add(talk.give_up(each).into());
            }
        }
        self.talks.push_back(Talk {
            state: DatagramState::Open(Box::new(session)),
            way: *way,
            side,
            random,
        });
    }

    /// Passes the waiting datagrams to the handshake that began last; returns the number of octets of its own.
    fn take_early(&mut self, each: &mut OnHandshake<'_>) -> usize {
        let Some(talk) = self.talks.back_mut() else {
            return 0;
        };
        let mut octets = 0;
        self.early.retain(|early| {
            let is_its = talk.quic(&early.bytes, &early.way, early.side, each);
            octets += if is_its { early.bytes.len() } else { 0 };
            !is_its
        });
        octets
    }

    /// Reads a datagram with an Initial packet of QUIC; returns false when its connection is unknown.
    fn is_of_known(
        &mut self,
        bytes: &[u8],
        way: &Way,
        side: usize,
        each: &mut OnHandshake<'_>,
    ) -> bool {
        let mut newest_first = self.talks.iter_mut().rev();
        newest_first.any(|talk| talk.quic(bytes, way, side, each))
            || self.talks.iter().any(|talk| talk.had(bytes, side))
    }

    /// Reads a datagram that is not an Initial packet of QUIC.
    fn go_on(&mut self, bytes: &[u8], way: &Way, side: usize, each: &mut OnHandshake<'_>) {
        for talk in self.talks.iter_mut().rev() {
            match talk.carrier() {
                // This is a Retry packet.
                Some(Carrier::Quic) if talk.quic(bytes, way, side, each) => return,
                Some(Carrier::Dtls) => return talk.dtls(bytes, way, side, each),
                _ => {}
            }
        }
    }
}

impl Talk {
    const fn carrier(&self) -> Option<Carrier> {
        match &self.state {
            DatagramState::Open(session) => Some(session.carrier),
            DatagramState::Over(_) => None,
        }
    }

    /// Reads a datagram of QUIC; returns false when it belongs to another connection.
    fn quic(&mut self, bytes: &[u8], way: &Way, side: usize, each: &mut OnHandshake<'_>) -> bool {
        let DatagramState::Open(session) = &mut self.state else {
            return false;
        };
        if session.carrier != Carrier::Quic {
            return false;
        }
        match session.quic_datagram(side, bytes, stamp(way)) {
            Some(progress) => {
                self.came(progress, way, side, each);
                true
            }
            None => false,
        }
    }

    fn dtls(&mut self, bytes: &[u8], way: &Way, side: usize, each: &mut OnHandshake<'_>) {
        if let DatagramState::Open(session) = &mut self.state {
            let progress = session.datagram(side, bytes, stamp(way));
            self.came(progress, way, side, each);
        }
    }

    /// Stores the values of a datagram; reports the handshake once it is over.
    fn came(&mut self, progress: SessionState, way: &Way, side: usize, each: &mut OnHandshake<'_>) {
        (self.way, self.side) = (*way, side);
        let DatagramState::Open(session) = &self.state else {
            return;
        };
        if progress != SessionState::More {
            let ids = session.quic().cloned();
            if let DatagramState::Open(mut session) =
                std::mem::replace(&mut self.state, DatagramState::Over(ids))
            {
                session.end();
                let way = directed(&session, *way, side);
                each(session, way);
            }
        }
    }

    /// Returns whether a datagram belongs to this QUIC connection, by its connection IDs, although it cannot be
    /// decrypted.
    fn had(&self, bytes: &[u8], side: usize) -> bool {
        let ids = match &self.state {
            DatagramState::Open(session) => session.quic(),
            DatagramState::Over(ids) => ids.as_ref(),
        };
        ids.is_some_and(|ids| ids.are_of(side, bytes))
    }

    /// Reports the incomplete handshake; returns true when it was open.
    fn give_up(self, each: &mut OnHandshake<'_>) -> bool {
        let DatagramState::Open(mut session) = self.state else {
            return false;
        };
        session.end();
        let way = directed(&session, self.way, self.side);
        each(session, way);
        true
    }
}

/// Returns whether a datagram begins with a message of the handshake of DTLS in clear: a record of the epoch 0.
fn is_message(bytes: &[u8], missing: u64) -> bool {
    matches!(bytes, [22, _, _, 0, 0, ..]) && is_of_datagram_records(bytes, missing)
}

/// Returns whether a datagram, of which these octets were captured, counts as one that begins with a hello of DTLS or
/// an Initial packet of QUIC. Too few octets to recognise it count only between ports of DTLS.
fn is_cut_hello(bytes: &[u8], ports: [u16; 2]) -> bool {
    let is_port = || ports.iter().any(|port| DTLS_PORTS.contains(port));
    match bytes {
        [] | [22] | [22, 0xfe] => is_port(),
        _ => may_begin_with_datagram_hello(bytes) || may_be_quic_initial(bytes),
    }
}

/// UDP ports of protocols over DTLS (IANA): DNS, RADIUS, IPFIX, STUN, CoAP and syslog.
const DTLS_PORTS: [u16; 6] = [853, 2083, 4740, 5349, 5684, 6514];

const fn stamp(way: &Way) -> Stamp {
    Stamp {
        time_ns: way.time_ns,
        frame: way.frame,
    }
}
