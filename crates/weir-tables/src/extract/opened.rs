//! The payloads of packets: TLS is decrypted where its secrets are known, and messages that probes forward by HEP
//! replace those packets.

use std::collections::HashMap;
use std::sync::Arc;

use weir_flow::{Carried, Chunk, Content, Interest, Payload, Payloads, Sender, StreamEnd};
use weir_messages::tls::{Decryptor, KeyLog, Opened, begins_with_hello};
use weir_packet::Packet;

use super::came_in::CameIn;
use super::on_opened::{OnOpened, pass};
use super::prefaces::Prefaces;
use super::relayed::{Relayed, Segments};
use super::settings::Settings;
use super::tunnel::{KeptAnswers, Tunnels};

/// [`Payloads`] in which streams of TLS are replaced by their decrypted contents.
#[derive(Debug, Default)]
pub(crate) struct OpenedPayloads {
    payloads: Payloads,
    prefaces: Prefaces,
    tunnels: Tunnels,
    tls: Option<Tls>,
    relayed: Relayed,
}

/// The connections that are read by a log of keys.
#[derive(Debug)]
struct Tls {
    log: Arc<KeyLog>,
    /// The connections that begin with a hello, as long as some of their contents can be decrypted.
    streams: HashMap<u64, Box<Sealed>>,
    /// The number of octets of records and messages under way, of all connections.
    held: usize,
    closed: u64,
    /// The number of connections of which nothing could be decrypted.
    sealed: u64,
    /// The number of others whose early data could not be decrypted.
    without_early: u64,
    given_up: u64,
}

/// A connection of TLS.
#[derive(Debug)]
struct Sealed {
    decryptor: Decryptor,
    /// The stream offset of the next decrypted octets of each side; `None` before the first ones when TLS follows plain
    /// octets.
    offsets: [Option<u64>; 2],
    /// The records of the capture that carried each side's incomplete TLS record.
    came_in: [CameIn; 2],
    /// The client's early data, until the server accepts it.
    early: Vec<EarlyPiece>,
    was_opened: bool,
    /// A direction cannot be decrypted, or no further.
    is_closed: bool,
}

/// Early data of one record of TLS, and the record of the capture that carried its end.
#[derive(Debug)]
struct EarlyPiece {
    bytes: Vec<u8>,
    /// The offset of the piece of the stream that carried the end of the record.
    offset: u64,
    time_ns: Option<i64>,
    passed_ns: i64,
    frame: u64,
    others: Box<[u64]>,
}

impl EarlyPiece {
    fn new(payload: &Payload<'_>, offset: u64, bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.to_vec(),
            offset,
            time_ns: payload.time_ns,
            passed_ns: payload.passed_ns,
            frame: payload.frame,
            others: payload.others.into(),
        }
    }

    /// Reports the piece as one of the client, this side, whose decrypted octets so far end at `offset`.
    fn pass(
        &self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        (client, offset): (usize, Option<&mut Option<u64>>),
        each: &mut OnOpened<'_>,
    ) -> Interest {
        let sent = Chunk {
            time_ns: self.time_ns,
            frame: self.frame,
            ..sent_by(chunk, client)
        };
        let mut of_piece = *payload;
        of_piece.sender = sent.sender;
        of_piece.time_ns = self.time_ns;
        of_piece.passed_ns = self.passed_ns;
        of_piece.frame = self.frame;
        of_piece.others = &self.others;
        let before = advance(offset, self.offset, self.bytes.len());
        pass(&of_piece, &sent, Content::Bytes(&self.bytes), before, each)
    }
}

impl Sealed {
    /// The state before the first octets of a connection, which begin with this chunk.
    fn new(log: &Arc<KeyLog>, chunk: &Chunk<'_>) -> Self {
        Self {
            decryptor: Decryptor::new(Arc::clone(log)),
            offsets: [(chunk.offset == 0).then_some(0); 2],
            came_in: Default::default(),
            early: Vec::new(),
            was_opened: false,
            is_closed: false,
        }
    }

    fn held(&self) -> usize {
        let frames: usize = self.came_in.iter().map(CameIn::held_bytes).sum();
        let early = self.early.iter().map(|piece| {
            let frames = size_of_val(&*piece.others);
            size_of::<EarlyPiece>() + piece.bytes.len() + frames
        });
        self.decryptor.held() + frames + early.sum::<usize>()
    }
}

/// The number of octets of records and handshake messages under way, of all connections.
const HELD_BYTES_MAX: usize = 256 << 20;

/// The number of TLS connections at one time, at most.
const CONNECTIONS_MAX: usize = 1 << 16;

impl OpenedPayloads {
    /// Returns a reader that decrypts TLS with the secrets of the settings, and counts flows as they say.
    pub(crate) fn with_settings(settings: &Settings) -> Self {
        let tls = settings.keylog.as_ref().map(|log| Tls {
            log: Arc::clone(log),
            streams: HashMap::new(),
            held: 0,
            closed: 0,
            sealed: 0,
            without_early: 0,
            given_up: 0,
        });
        let prefaces = match tls {
            Some(_) => Prefaces::with_hellos(),
            None => Prefaces::default(),
        };
        Self {
            payloads: settings.payloads(),
            tls,
            prefaces,
            ..Self::default()
        }
    }

    /// Reports these answers of proxies also where the client did not wait for them.
    pub(crate) fn with_answers(mut self, kept: KeptAnswers) -> Self {
        self.tunnels = Tunnels::keeping(kept);
        self
    }

    /// Reads the segments of TCP that probes forward by HEP as streams, and not each by itself.
    pub(crate) fn with_segments_of_hep(mut self) -> Self {
        self.relayed.read_segments(Segments::of_all());
        self
    }

    /// Reads as streams those of connections that begin with a request that may make them WebSocket connections.
    pub(crate) fn with_upgrades_of_hep(mut self) -> Self {
        self.relayed.read_segments(Segments::of_upgrades());
        self
    }

    /// Reads a packet as [`Payloads::packet`] does.
    pub(crate) fn packet(&mut self, packet: &Packet<'_>, each: &mut OnOpened<'_>) {
        let Self {
            payloads,
            prefaces,
            tunnels,
            tls,
            relayed,
        } = self;
        payloads.packet(packet, &mut |payload| {
            let before = (&mut *prefaces, &mut *tunnels);
            read(payload, before, tls.as_mut(), relayed, each)
        });
    }

    /// Ends the capture as [`Payloads::finish`] does.
    pub(crate) fn finish(&mut self, each: &mut OnOpened<'_>) {
        let Self {
            payloads,
            prefaces,
            tunnels,
            tls,
            relayed,
        } = self;
        payloads.finish(&mut |payload| {
            let before = (&mut *prefaces, &mut *tunnels);
            read(payload, before, tls.as_mut(), relayed, each)
        });
        relayed.finish(each);
    }

    /// The counters of [`Payloads::given_up`], and of TLS that could not be read.
    pub(crate) fn given_up(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let [closed, sealed, without_early, given_up] = self.tls.as_ref().map_or([0; 4], |tls| {
            [tls.closed, tls.sealed, tls.without_early, tls.given_up]
        });
        let own = [
            (
                closed,
                "directions of TLS connections could not be decrypted to their end: bytes are missing, or their keys changed",
            ),
            (
                sealed,
                "TLS connections were not read because the key log has no secrets of them, because of their cipher suite, or because bytes are missing",
            ),
            (
                without_early,
                "TLS connections were read without their early data (0-RTT), because the key log has no secret of it",
            ),
            (
                self.prefaces.given_up(),
                "TCP connections may begin with a PROXY protocol header that was not removed, because there were more than 65,536 at one time",
            ),
            (
                self.tunnels.given_up(),
                "TCP connections by way of a proxy may lack what came in one segment with its answer, because there were more than 65,536 at one time",
            ),
            (
                given_up,
                "TLS connections were not read because there were more than 65,536 at one time, or 256 MiB of them in memory",
            ),
        ];
        let of_packets = self.payloads.given_up().into_iter();
        of_packets.chain(self.relayed.counted()).chain(own)
    }
}

/// Reports the contents of a payload, without the headers of a proxy before them.
fn read(
    payload: &Payload<'_>,
    (prefaces, tunnels): (&mut Prefaces, &mut Tunnels),
    mut tls: Option<&mut Tls>,
    relayed: &mut Relayed,
    each: &mut OnOpened<'_>,
) -> Interest {
    let mut inner = |payload: &Payload<'_>| opened(payload, tls.as_deref_mut(), relayed, each);
    match payload.carried {
        Carried::Stream(chunk) => {
            let mut divided = |payload: &Payload<'_>| match payload.carried {
                Carried::Stream(chunk) => tunnels.chunk(payload, chunk, &mut inner),
                _ => inner(payload),
            };
            prefaces.chunk(payload, chunk, &mut divided)
        }
        _ => inner(payload),
    }
}

/// Reports the contents of a payload.
fn opened(
    payload: &Payload<'_>,
    tls: Option<&mut Tls>,
    relayed: &mut Relayed,
    each: &mut OnOpened<'_>,
) -> Interest {
    match payload.carried {
        Carried::Datagram(bytes) => relayed.datagram(payload, bytes, each),
        Carried::Stream(chunk) => {
            // Probes send HEP over TLS, too.
            let mut inner = |payload: &Payload<'_>| match payload.carried {
                Carried::Stream(chunk) => relayed.stream(payload, chunk, each),
                _ => each(payload),
            };
            let interest = match tls {
                Some(tls) => tls.payload(payload, &mut inner),
                None => inner(payload),
            };
            if interest == Interest::Ignore {
                relayed.forget(chunk.connection);
            }
            interest
        }
        _ => each(payload),
    }
}

impl Tls {
    fn payload(&mut self, payload: &Payload<'_>, each: &mut OnOpened<'_>) -> Interest {
        let Carried::Stream(chunk) = payload.carried else {
            return each(payload);
        };
        let Content::Bytes(bytes) = chunk.content else {
            return self.rest(payload, chunk, each);
        };
        if !self.begin(chunk, bytes) {
            return Interest::Ignore;
        }
        let Some(sealed) = self.streams.get_mut(&chunk.connection) else {
            return each(payload);
        };
        let side = usize::from(chunk.sender == Sender::High);
        self.held = self.held.saturating_sub(sealed.held());
        let mut interest = Interest::Follow;
        let mut closed = 0;
        let Sealed {
            decryptor,
            offsets,
            came_in,
            early,
            was_opened: is_opened,
            is_closed,
        } = &mut **sealed;
        let before = came_in
            .get(side)
            .map(|came_in| came_in.before(payload.others));
        let others = before.unwrap_or_default();
        let mut of_record = *payload;
        of_record.others = &others;
        decryptor.take(side, bytes, &mut |opened| match opened {
            Opened::Data(of, bytes) => {
                *is_opened = true;
                if interest == Interest::Follow && !bytes.is_empty() {
                    let before = advance(offsets.get_mut(of), chunk.offset, bytes.len());
                    let sent = sent_by(chunk, of);
                    of_record.sender = sent.sender;
                    let content = Content::Bytes(bytes);
                    interest = pass(&of_record, &sent, content, before, each);
                }
                // The next record began in this piece.
                of_record.others = payload.others;
            }
            Opened::Early(_, bytes) => {
                early.push(EarlyPiece::new(&of_record, chunk.offset, bytes));
            }
            Opened::Accepted(client) => {
                *is_opened |= !early.is_empty();
                for piece in early.drain(..).filter(|piece| !piece.bytes.is_empty()) {
                    if interest == Interest::Follow {
                        let place = (client, offsets.get_mut(client));
                        interest = piece.pass(payload, chunk, place, each);
                    }
                }
            }
            Opened::Refused(_) => early.clear(),
            Opened::Closed(_) => {
                closed += 1;
                *is_closed = true;
                let content = Content::End(StreamEnd::Forgotten);
                if *is_opened {
                    pass(payload, chunk, content, 0, each);
                }
            }
        });
        for (of, came_in) in came_in.iter_mut().enumerate() {
            match of == side {
                true => came_in.take(payload, chunk.content, decryptor.begun(of)),
                // The octets of this side may have waited for those of the other one.
                false => came_in.keep(decryptor.begun(of)),
            }
        }
        self.closed += if sealed.was_opened { closed } else { 0 };
        let is_wanted = interest == Interest::Follow && !chunk.is_last;
        match self.goes_on(chunk.connection, is_wanted) {
            true => interest,
            false => Interest::Ignore,
        }
    }

    /// Adds a connection that is not known where TLS begins with these octets; returns false when there are too many.
    fn begin(&mut self, chunk: &Chunk<'_>, bytes: &[u8]) -> bool {
        if self.streams.contains_key(&chunk.connection) {
            return true;
        }
        // Inside a connection (after CONNECT, SOCKS or STARTTLS) a ClientHello counts only if its secrets are known,
        // because other octets may look like one.
        let is_first = chunk.offset == 0 || self.log.knows_hello(bytes);
        if !is_first || !begins_with_hello(bytes) {
            return true;
        }
        if self.streams.len() >= CONNECTIONS_MAX {
            self.given_up = self.given_up.saturating_add(1);
            return false;
        }
        let sealed = Box::new(Sealed::new(&self.log, chunk));
        self.streams.insert(chunk.connection, sealed);
        true
    }

    /// Returns whether more of a connection is read, and removes it otherwise.
    fn goes_on(&mut self, connection: u64, is_wanted: bool) -> bool {
        let Some(sealed) = self.streams.get(&connection) else {
            return false;
        };
        let is_over = sealed.decryptor.is_over();
        let held = self.held.saturating_add(sealed.held());
        let is_too_much = held > HELD_BYTES_MAX;
        self.given_up += u64::from(is_too_much);
        if is_over || is_too_much || !is_wanted {
            self.remove(connection);
            return false;
        }
        self.held = held;
        true
    }

    /// Removes a connection; counts one of which nothing was decrypted.
    fn remove(&mut self, connection: u64) -> Option<Box<Sealed>> {
        let known = self.streams.remove(&connection)?;
        let is_unread = known.decryptor.has_unread() || !known.early.is_empty();
        let was_sealed = (is_unread || known.is_closed) && !known.was_opened;
        self.sealed = self.sealed.saturating_add(was_sealed.into());
        let lacks_early = is_unread && known.was_opened;
        self.without_early = self.without_early.saturating_add(lacks_early.into());
        Some(known)
    }

    /// Processes a gap or an end.
    fn rest(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        each: &mut OnOpened<'_>,
    ) -> Interest {
        let Some(sealed) = self.streams.get_mut(&chunk.connection) else {
            return each(payload);
        };
        if let Content::Gap(_) = chunk.content {
            let side = usize::from(chunk.sender == Sender::High);
            let was_opened = sealed.was_opened;
            sealed.is_closed = true;
            self.held = self.held.saturating_sub(sealed.held());
            sealed.decryptor.gap(side, &mut |_| {
                self.closed += u64::from(was_opened);
            });
            self.held = self.held.saturating_add(sealed.held());
            if sealed.decryptor.is_over() {
                self.remove(chunk.connection);
                each(payload);
                return Interest::Ignore;
            }
        }
        if chunk.is_last {
            let known = self.remove(chunk.connection);
            let held = known.map_or(0, |sealed| sealed.held());
            self.held = self.held.saturating_sub(held);
        }
        each(payload)
    }
}

/// The offset of decrypted octets in their direction, of which none were there before `first`; it advances by their number.
fn advance(offset: Option<&mut Option<u64>>, first: u64, octets: usize) -> u64 {
    let before = offset.as_deref().copied().flatten().unwrap_or(first);
    if let Some(offset) = offset {
        *offset = Some(before.saturating_add(octets as u64));
    }
    before
}

/// The same chunk, as one of this side (0 or 1).
fn sent_by<'c>(chunk: &Chunk<'c>, side: usize) -> Chunk<'c> {
    let sender = match side {
        0 => Sender::Low,
        _ => Sender::High,
    };
    Chunk {
        sender,
        from_originator: chunk.from_originator == (sender == chunk.sender),
        ..*chunk
    }
}
