//! The payloads of packets: TLS is decrypted where its secrets are known, and messages that probes forward by HEP
//! replace those packets.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use weir_flow::{
    Carried, Chunk, Content, Endpoint, FlowKey, Interest, Payload, Payloads, Sender, StreamEnd,
    is_sip,
};
use weir_messages::hep::{Hep, is_compressed};
use weir_messages::tls::{Decryptor, KeyLog, Opened, begins_with_hello};
use weir_packet::Packet;

use super::came_in::CameIn;
use super::prefaces::Prefaces;

/// [`Payloads`] in which streams of TLS are replaced by their decrypted contents.
#[derive(Debug, Default)]
pub(crate) struct OpenedPayloads {
    payloads: Payloads,
    prefaces: Prefaces,
    tls: Option<Tls>,
    relayed: Relayed,
}

/// A message that was forwarded by HEP.
#[derive(Debug, Default)]
struct Relayed {
    /// The number of messages that are compressed.
    compressed: u64,
    /// TCP connections that begin with a message: the message under way of each side.
    streams: HashMap<u64, [RelayedSide; 2]>,
    /// Other connections of TCP whose first octets were not captured, though their handshake was.
    headless: HashSet<u64>,
    /// The number of octets of messages under way.
    held: usize,
    given_up: u64,
}

/// A message under way.
#[derive(Debug, Default)]
struct RelayedSide {
    begun: Vec<u8>,
    came_in: CameIn,
}

impl RelayedSide {
    fn held(&self) -> usize {
        let frames = self.came_in.held_bytes();
        self.begun.capacity().saturating_add(frames)
    }
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
    was_opened: bool,
}

impl Sealed {
    fn held(&self) -> usize {
        let frames = self.came_in.iter().map(CameIn::held_bytes);
        self.decryptor.held().saturating_add(frames.sum())
    }
}

/// The number of octets of records and handshake messages under way, of all connections.
const HELD_BYTES_MAX: usize = 256 << 20;

/// The number of TLS connections at one time, at most.
const CONNECTIONS_MAX: usize = 1 << 16;

type OnOpened<'e> = dyn FnMut(&Payload<'_>) -> Interest + 'e;

impl OpenedPayloads {
    /// Returns a reader that decrypts TLS with the secrets of `log`.
    pub(crate) fn with_keylog(log: Option<&Arc<KeyLog>>) -> Self {
        let tls = log.map(|log| Tls {
            log: Arc::clone(log),
            streams: HashMap::new(),
            held: 0,
            closed: 0,
            given_up: 0,
        });
        let prefaces = match tls {
            Some(_) => Prefaces::with_hellos(),
            None => Prefaces::default(),
        };
        Self {
            tls,
            prefaces,
            ..Self::default()
        }
    }

    /// Reads a packet as [`Payloads::packet`] does.
    pub(crate) fn packet(&mut self, packet: &Packet<'_>, each: &mut OnOpened<'_>) {
        let Self {
            payloads,
            prefaces,
            tls,
            relayed,
        } = self;
        payloads.packet(packet, &mut |payload| {
            read(payload, prefaces, tls.as_mut(), relayed, each)
        });
    }

    /// Ends the capture as [`Payloads::finish`] does.
    pub(crate) fn finish(&mut self, each: &mut OnOpened<'_>) {
        let Self {
            payloads,
            prefaces,
            tls,
            relayed,
        } = self;
        payloads.finish(&mut |payload| read(payload, prefaces, tls.as_mut(), relayed, each));
    }

    /// The counters of [`Payloads::given_up`], and of TLS that could not be read.
    pub(crate) fn given_up(&self) -> impl Iterator<Item = (u64, &'static str)> {
        let [closed, given_up] = self
            .tls
            .as_ref()
            .map_or([0, 0], |tls| [tls.closed, tls.given_up]);
        let own = [
            (
                self.relayed.compressed,
                "messages that HEP carries are compressed, which is not read",
            ),
            (
                self.relayed.given_up,
                "TCP connections of HEP were not read completely, because there were more than 65,536 at one time, or 256 MiB of them in memory",
            ),
            (
                closed,
                "directions of TLS connections could not be decrypted to their end: bytes are missing, or their keys changed",
            ),
            (
                self.prefaces.given_up(),
                "TCP connections may begin with a PROXY protocol header that was not removed, because there were more than 65,536 at one time",
            ),
            (
                given_up,
                "TLS connections were not read because there were more than 65,536 at one time, or 256 MiB of them in memory",
            ),
        ];
        self.payloads.given_up().into_iter().chain(own)
    }
}

/// Reports the contents of a payload, without the headers of a proxy before them.
fn read(
    payload: &Payload<'_>,
    prefaces: &mut Prefaces,
    mut tls: Option<&mut Tls>,
    relayed: &mut Relayed,
    each: &mut OnOpened<'_>,
) -> Interest {
    let mut inner = |payload: &Payload<'_>| opened(payload, tls.as_deref_mut(), relayed, each);
    match payload.carried {
        Carried::Stream(chunk) => prefaces.chunk(payload, chunk, &mut inner),
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
        Carried::Datagram(bytes) => datagram(payload, bytes, &mut relayed.compressed, each),
        Carried::Stream(chunk) => match relayed.chunk(payload, chunk, each) {
            Some(interest) => interest,
            None => {
                let interest = match tls {
                    Some(tls) => tls.payload(payload, each),
                    None => each(payload),
                };
                if interest == Interest::Ignore {
                    relayed.headless.remove(&chunk.connection);
                }
                interest
            }
        },
        _ => each(payload),
    }
}

/// The magic number of HEP version 3.
pub(super) const HEP_MAGIC: &[u8] = b"HEP3";
/// The number of octets of such a message before its chunks.
const HEP_HEADER: usize = 6;

impl Relayed {
    /// Reads a chunk of a stream; returns `None` when the stream is not HEP.
    fn chunk(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        each: &mut OnOpened<'_>,
    ) -> Option<Interest> {
        if !self.streams.contains_key(&chunk.connection) {
            let is_headless = self.is_headless(chunk);
            let Content::Bytes(bytes) = chunk.content else {
                return None;
            };
            // A connection that began before the capture begins with the rest of a message.
            let is_hep = match chunk.saw_start && !is_headless {
                true => chunk.offset == 0 && bytes.starts_with(HEP_MAGIC),
                false => bytes.starts_with(HEP_MAGIC) || has_hep(bytes),
            };
            if !is_hep {
                return None;
            }
            self.headless.remove(&chunk.connection);
            if self.streams.len() >= CONNECTIONS_MAX {
                self.given_up = self.given_up.saturating_add(1);
                return Some(Interest::Ignore);
            }
            self.streams.insert(chunk.connection, Default::default());
        }
        let side = usize::from(chunk.sender == Sender::High);
        let known = self.streams.get_mut(&chunk.connection)?.get_mut(side)?;
        self.held = self.held.saturating_sub(known.held());
        let mut known = std::mem::take(known);
        let others = known.came_in.before(payload.others);
        let mut of_message = *payload;
        of_message.others = &others;
        let mut under_way = known.begun;
        match chunk.content {
            Content::Bytes(bytes) => under_way.extend_from_slice(bytes),
            _ => under_way = Vec::new(),
        }
        let mut rest = under_way.as_slice();
        // After a gap the beginning of the next message is searched for.
        while let Some(at) = memchr::memmem::find(rest, HEP_MAGIC) {
            rest = rest.get(at..).unwrap_or_default();
            let [_, _, _, _, high, low, ..] = rest else {
                break;
            };
            let length = usize::from(u16::from_be_bytes([*high, *low])).max(HEP_HEADER);
            let Some((message, behind)) = rest.split_at_checked(length) else {
                break;
            };
            datagram(&of_message, message, &mut self.compressed, &mut |found| {
                // Octets that are not a message are not read as another stream.
                match found.carried {
                    Carried::Stream(_) => Interest::Follow,
                    _ => each(found),
                }
            });
            // The octets that follow began in this piece.
            of_message.others = payload.others;
            rest = behind;
        }
        // Octets that may begin a message are kept, too.
        let is_kept = rest.starts_with(HEP_MAGIC) || HEP_MAGIC.starts_with(rest);
        known.begun = if is_kept { rest.to_vec() } else { Vec::new() };
        known
            .came_in
            .take(payload, chunk.content, known.begun.len());
        let held = self.held.saturating_add(known.held());
        let is_too_much = held > HELD_BYTES_MAX;
        self.given_up = self.given_up.saturating_add(u64::from(is_too_much));
        if is_too_much || chunk.is_last {
            for side in self.streams.remove(&chunk.connection).into_iter().flatten() {
                self.held = self.held.saturating_sub(side.held());
            }
            return Some(Interest::Ignore);
        }
        self.held = held;
        *self.streams.get_mut(&chunk.connection)?.get_mut(side)? = known;
        Some(Interest::Follow)
    }
}

impl Relayed {
    /// Whether the first octets of a connection that is not read are missing.
    fn is_headless(&mut self, chunk: &Chunk<'_>) -> bool {
        let is_first_gap = chunk.offset == 0 && matches!(chunk.content, Content::Gap(_));
        if self.headless.is_empty() && !is_first_gap {
            return false;
        }
        if chunk.is_last {
            return self.headless.remove(&chunk.connection);
        }
        if is_first_gap && chunk.saw_start && self.headless.len() < CONNECTIONS_MAX {
            self.headless.insert(chunk.connection);
        }
        self.headless.contains(&chunk.connection)
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

/// Reports a datagram, or the message that a probe forwarded in it, with the addresses of that message.
fn datagram(
    payload: &Payload<'_>,
    bytes: &[u8],
    compressed: &mut u64,
    each: &mut OnOpened<'_>,
) -> Interest {
    let Some(hep) = Hep::parse(bytes) else {
        *compressed += u64::from(is_compressed(bytes));
        return each(payload);
    };
    // Two octets and a length are too little to recognise versions 1 and 2.
    if hep.version < 3 && !is_sip(hep.payload) {
        return each(payload);
    }
    let [source, destination] = [hep.source, hep.destination].map(|end| Endpoint {
        address: end.ip(),
        port: end.port(),
    });
    let (key, sender) = FlowKey::new(source, destination, hep.protocol, 0);
    each(&payload.with_datagram(&key, sender, hep.payload))
}

impl Tls {
    fn payload(&mut self, payload: &Payload<'_>, each: &mut OnOpened<'_>) -> Interest {
        let Carried::Stream(chunk) = payload.carried else {
            return each(payload);
        };
        let Content::Bytes(bytes) = chunk.content else {
            return self.rest(payload, chunk, each);
        };
        let is_known = self.streams.contains_key(&chunk.connection);
        // Inside a connection (after CONNECT, SOCKS or STARTTLS) a ClientHello counts only if its secrets are known,
        // because other octets may look like one.
        let is_first = chunk.offset == 0 || self.log.knows_hello(bytes);
        if !is_known && is_first && begins_with_hello(bytes) {
            if self.streams.len() >= CONNECTIONS_MAX {
                self.given_up = self.given_up.saturating_add(1);
                return Interest::Ignore;
            }
            let sealed = Box::new(Sealed {
                decryptor: Decryptor::new(Arc::clone(&self.log)),
                offsets: [(chunk.offset == 0).then_some(0); 2],
                came_in: Default::default(),
                was_opened: false,
            });
            self.streams.insert(chunk.connection, sealed);
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
            was_opened: is_opened,
        } = &mut **sealed;
        let before = came_in
            .get(side)
            .map(|came_in| came_in.before(payload.others));
        let others = before.unwrap_or_default();
        let mut of_record = *payload;
        of_record.others = &others;
        decryptor.take(side, bytes, &mut |opened| match opened {
            Opened::Data(_, bytes) => {
                *is_opened = true;
                if interest == Interest::Follow && !bytes.is_empty() {
                    let offset = offsets.get_mut(side);
                    let before = offset.as_deref().copied().flatten();
                    let before = before.unwrap_or(chunk.offset);
                    if let Some(offset) = offset {
                        *offset = Some(before.saturating_add(bytes.len() as u64));
                    }
                    let content = Content::Bytes(bytes);
                    interest = pass(&of_record, chunk, content, before, each);
                }
                // The next record began in this piece.
                of_record.others = payload.others;
            }
            Opened::Closed(_) => {
                closed += 1;
                let content = Content::End(StreamEnd::Forgotten);
                if *is_opened {
                    pass(payload, chunk, content, 0, each);
                }
            }
        });
        if let Some(came_in) = came_in.get_mut(side) {
            came_in.take(payload, chunk.content, decryptor.begun(side));
        }
        let is_opened = sealed.was_opened;
        let is_over = sealed.decryptor.is_over();
        self.closed += if is_opened { closed } else { 0 };
        let held = self.held.saturating_add(sealed.held());
        let is_too_much = held > HELD_BYTES_MAX;
        self.given_up += u64::from(is_too_much);
        if is_over || is_too_much || interest == Interest::Ignore || chunk.is_last {
            self.streams.remove(&chunk.connection);
            return Interest::Ignore;
        }
        self.held = held;
        interest
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
            self.held = self.held.saturating_sub(sealed.held());
            sealed.decryptor.gap(side, &mut |_| {
                self.closed += u64::from(was_opened);
            });
            self.held = self.held.saturating_add(sealed.held());
            if sealed.decryptor.is_over() {
                self.streams.remove(&chunk.connection);
                each(payload);
                return Interest::Ignore;
            }
        }
        if chunk.is_last {
            let known = self.streams.remove(&chunk.connection);
            let held = known.map_or(0, |sealed| sealed.held());
            self.held = self.held.saturating_sub(held);
        }
        each(payload)
    }
}

/// Reports decrypted octets in the place of those that sealed them.
pub(super) fn pass(
    payload: &Payload<'_>,
    chunk: &Chunk<'_>,
    content: Content<'_>,
    offset: u64,
    each: &mut OnOpened<'_>,
) -> Interest {
    let chunk = Chunk {
        content,
        offset,
        // The offset counts other octets than those acknowledged.
        acknowledged: None,
        is_last: false,
        ..*chunk
    };
    each(&payload.with_stream(&chunk))
}
