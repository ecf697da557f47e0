//! User messages of SCTP, put together from their chunks.

use std::hash::BuildHasher;

use weir_bytes::{u8_at, u16_be_at, u32_be_at};
use weir_dict::{Dict, ProcessKey};
use weir_packet::{Layer, Packet};

use crate::key::{FlowKey, Scope, Sender};

/// Limits of [`SctpMessages`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SctpLimits {
    /// The parts of a key besides addresses and ports.
    pub scope: Scope,
    /// Longest message in bytes; 1 MiB by default. Longer ones are dropped.
    pub message_bytes_max: usize,
    /// Most bytes of chunks that wait for others; 64 MiB by default. When there are more, all are
    /// dropped.
    pub bytes_max: usize,
    /// Most streams of associations that have chunks waiting; 65,536 by default. When there are more,
    /// all are dropped.
    pub streams_max: usize,
    /// The maximum number of waiting chunks of a stream of an association; 4,096 by default. Beyond it the chunks of the stream are
    /// dropped.
    pub chunks_max: usize,
}

impl Default for SctpLimits {
    fn default() -> Self {
        Self {
            scope: Scope::Addresses,
            message_bytes_max: 1 << 20,
            bytes_max: 64 << 20,
            streams_max: 1 << 16,
            chunks_max: 4_096,
        }
    }
}

/// The counters of [`SctpMessages`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SctpCounters {
    /// Chunks of data taken in.
    pub chunks: u64,
    /// Messages given out.
    pub messages: u64,
    /// Chunks that were there already.
    pub repeated: u64,
    /// Chunks dropped because a limit was reached.
    pub dropped: u64,
    /// Chunks that were not captured whole: those of data, and one for all that a packet has behind what was captured.
    pub cut: u64,
    /// Chunks whose messages were not complete when the capture ended.
    pub unfinished: u64,
}

/// A user message.
#[derive(Clone, Copy, Debug)]
pub struct SctpMessage<'a> {
    /// The association's ends, of several addresses those that its last packet came from and went to.
    pub key: &'a FlowKey,
    /// The side that sent it.
    pub sender: Sender,
    /// Stream identifier.
    pub stream: u16,
    /// Payload protocol identifier (IANA): 7 is H.248.
    pub protocol: u32,
    /// Sent without order.
    pub unordered: bool,
    /// The bytes, which are borrowed from the packet when the message has one chunk.
    pub bytes: &'a [u8],
    /// Time of the packet with its last octet, in nanoseconds since 1970.
    pub time_ns: Option<i64>,
    /// Number of that packet's frame, from 1.
    pub frame: u64,
    /// Numbers of the frames of its other chunks, in their order.
    pub others: &'a [u64],
}

/// Puts user messages of SCTP together (RFC 9260, 3.3.1 and 6.9). Messages are given out when they are
/// complete, which is the order of their last chunks. Interleaved data (RFC 8260) are put together by
/// their message identifiers.
#[derive(Debug)]
pub struct SctpMessages {
    limits: SctpLimits,
    waiting: Dict<StreamKey, Vec<Chunk>>,
    bytes: usize,
    /// The last chunks of each end, to tell repetitions.
    seen: Dict<Origin, SeenChunks>,
    /// Places for the chunks of all ends.
    places: usize,
    whole: Vec<u8>,
    /// The frames of its chunks, without the last one.
    others: Vec<u64>,
    counters: SctpCounters,
}

/// An end that sends chunks. Ends may have several addresses, and send what is lost on another path than before (RFC 9260, 6.4): they
/// are known by the verification tag, which their receiver has drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Origin {
    flow: FlowKey,
    sender: Sender,
}

impl Origin {
    fn new(flow: FlowKey, sender: Sender, tag: u32) -> Self {
        match tag > TAG_WRITTEN_MAX {
            true => Self {
                flow: flow.of_all_paths(sender, tag),
                sender: Sender::Low,
            },
            false => Self { flow, sender },
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct StreamKey {
    origin: Origin,
    /// The verification tag: that of an association which begins again is another one.
    tag: u32,
    stream: u16,
    unordered: bool,
    /// The message identifier of interleaved data; 0 otherwise.
    message: Option<u32>,
}

#[derive(Debug)]
struct Chunk {
    /// Transmission sequence number, or of interleaved data the number of the fragment.
    number: u32,
    flags: u8,
    protocol: u32,
    bytes: Vec<u8>,
    seen: CapturedAt,
}

/// When a chunk was captured, and in which frame.
#[derive(Clone, Copy, Debug, Default)]
struct CapturedAt {
    time_ns: Option<i64>,
    frame: u64,
}

/// A chunk of data as its packet shows it.
struct Data<'p> {
    flow: FlowKey,
    sender: Sender,
    key: StreamKey,
    tsn: u32,
    /// The hash of all that the chunk is, never 0.
    hash: u32,
    number: u32,
    flags: u8,
    protocol: u32,
    bytes: &'p [u8],
    seen: CapturedAt,
}

/// The payload protocol identifier and the bytes of the first message that begins in an SCTP packet, up to the end of its first
/// chunk.
pub(crate) fn first_message<'p>(packet: &Packet<'p>) -> Option<(u32, &'p [u8])> {
    let mut rest = packet.bytes(Layer::Sctp)?.get(12..)?;
    loop {
        let (kind, flags) = (u8_at(rest, 0)?, u8_at(rest, 1)?);
        let len = usize::from(u16_be_at(rest, 2)?).max(4);
        let (protocol_at, begin) = match kind {
            DATA => (12, 16),
            _ => (16, 20),
        };
        if matches!(kind, DATA | I_DATA) && flags & FIRST != 0 {
            let chunk = rest.get(..len.min(rest.len()))?;
            return Some((u32_be_at(chunk, protocol_at)?, chunk.get(begin..)?));
        }
        rest = rest.get(len.next_multiple_of(4)..)?;
    }
}

impl SctpMessages {
    /// A state without chunks.
    #[must_use]
    pub fn new(limits: SctpLimits) -> Self {
        Self {
            limits,
            waiting: Dict::new(),
            bytes: 0,
            seen: Dict::new(),
            places: 0,
            whole: Vec::new(),
            others: Vec::new(),
            counters: SctpCounters::default(),
        }
    }

    /// The counters.
    #[must_use]
    pub const fn counters(&self) -> SctpCounters {
        self.counters
    }

    /// Bytes of chunks that wait for others.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.bytes
    }

    /// Reads a packet, and reports the messages that it completes. Packets that are not SCTP are ignored.
    pub fn packet(&mut self, packet: &Packet<'_>, each: impl FnMut(&SctpMessage<'_>)) {
        self.packet_in(packet, 0, each);
    }

    /// Reads a packet like [`Self::packet`], in the scope of a key unless that is 0.
    pub(crate) fn packet_in(
        &mut self,
        packet: &Packet<'_>,
        scope: u32,
        mut each: impl FnMut(&SctpMessage<'_>),
    ) {
        if packet.transport() != Some(Layer::Sctp) || packet.is_fragment(Layer::Sctp) {
            return;
        }
        let Some((mut flow, sender)) = FlowKey::of_packet(packet, self.limits.scope) else {
            return;
        };
        if scope != 0 {
            flow = flow.with_scope(scope);
        }
        let seen = CapturedAt {
            time_ns: packet.frame().time_ns,
            frame: packet.frame().number,
        };
        let bytes = packet.bytes(Layer::Sctp).unwrap_or_default();
        let tag = u32_be_at(bytes, 4).unwrap_or(0);
        let mut at = HEADER_OCTETS;
        let mut rest = bytes.get(at..).unwrap_or_default();
        while let (Some(kind), Some(len)) = (u8_at(rest, 0), u16_be_at(rest, 2)) {
            let len = usize::from(len);
            if len < CHUNK_HEADER_OCTETS {
                return;
            }
            if matches!(kind, DATA | I_DATA) {
                let chunk = rest.get(..len);
                match chunk.and_then(|chunk| data((flow, sender, tag), chunk, seen)) {
                    Some(data) => self.chunk(&data, &mut each),
                    None => self.counters.cut += 1,
                }
            }
            let padded = len.next_multiple_of(4);
            rest = rest.get(padded..).unwrap_or_default();
            at = at.saturating_add(padded);
        }
        // Of what is behind the captured octets, neither the kind nor the number of its chunks is known.
        let stated = packet.declared_len(Layer::Sctp).unwrap_or_default() as usize;
        let has_more = at.saturating_add(CHUNK_HEADER_OCTETS) <= stated;
        if bytes.len() < stated && has_more {
            self.counters.cut += 1;
        }
    }

    fn chunk(&mut self, data: &Data<'_>, each: &mut impl FnMut(&SctpMessage<'_>)) {
        self.counters.chunks += 1;
        if self.is_repeated(data) {
            self.counters.repeated += 1;
            return;
        }
        if data.flags & (FIRST | LAST) == FIRST | LAST {
            self.counters.messages += 1;
            each(&data.message_of(data.protocol, data.bytes, (data.seen, &[])));
            return;
        }
        self.keep(data);
        if let Some((protocol, last)) = self.take_whole(&data.key) {
            self.counters.messages += 1;
            each(&data.message_of(protocol, &self.whole, (last, &self.others)));
        }
    }

    /// The capture is over: what waits is given up.
    pub fn finish(&mut self) {
        let waiting: usize = self.waiting.values().map(Vec::len).sum();
        self.counters.unfinished = self.counters.unfinished.saturating_add(waiting as u64);
        self.waiting.clear();
        self.bytes = 0;
    }

    /// True for a chunk that came before, as far as the last chunks of its end are known. Its number alone says little: associations
    /// begin again, and programs that write captures of messages alone give all of them one number.
    fn is_repeated(&mut self, data: &Data<'_>) -> bool {
        if self.seen.len() >= self.limits.streams_max {
            self.seen.clear();
            self.places = 0;
        }
        let seen = self.seen.entry(data.key.origin).or_default();
        let before = seen.0.len();
        let is_repeated = seen.note(data.tsn, data.hash, self.places < PLACES_MAX);
        let added = seen.0.len().saturating_sub(before);
        self.places = self.places.saturating_add(added);
        is_repeated
    }

    fn keep(&mut self, data: &Data<'_>) {
        let too_many = self.waiting.len() >= self.limits.streams_max;
        if too_many || self.bytes + data.bytes.len() > self.limits.bytes_max {
            self.counters.dropped += self
                .waiting
                .values()
                .map(|one| one.len() as u64)
                .sum::<u64>();
            self.waiting.clear();
            self.bytes = 0;
        }
        let chunks = self.waiting.entry(data.key).or_default();
        let held: usize = chunks.iter().map(|chunk| chunk.bytes.len()).sum();
        if chunks.len() >= self.limits.chunks_max
            || held + data.bytes.len() > self.limits.message_bytes_max
        {
            self.counters.dropped += chunks.len() as u64;
            self.bytes = self.bytes.saturating_sub(held);
            chunks.clear();
        }
        let at =
            chunks.partition_point(|chunk| (chunk.number.wrapping_sub(data.number) as i32) < 0);
        // A repetition that was not recognised any more would stand between its message's chunks.
        if let Some(known) = chunks.get(at).filter(|chunk| chunk.number == data.number) {
            if known.bytes == data.bytes {
                self.counters.repeated += 1;
                return;
            }
            self.counters.dropped += 1;
            self.bytes = self.bytes.saturating_sub(known.bytes.len());
            chunks.remove(at);
        }
        chunks.insert(
            at,
            Chunk {
                number: data.number,
                flags: data.flags,
                protocol: data.protocol,
                bytes: data.bytes.to_vec(),
                seen: data.seen,
            },
        );
        self.bytes += data.bytes.len();
    }

    /// Removes a complete message; returns its protocol, and the time of its last chunk.
    fn take_whole(&mut self, key: &StreamKey) -> Option<(u32, CapturedAt)> {
        let chunks = self.waiting.get_mut(key)?;
        let mut first = None;
        let mut range = None;
        for (index, chunk) in chunks.iter().enumerate() {
            let follows = index > 0
                && chunks
                    .get(index - 1)
                    .is_some_and(|before| before.number.wrapping_add(1) == chunk.number);
            if chunk.flags & FIRST != 0 {
                first = Some(index);
            } else if !follows {
                first = None;
            }
            if let Some(first) = first
                && chunk.flags & LAST != 0
            {
                range = Some(first..index + 1);
                break;
            }
        }
        let range = range?;
        self.whole.clear();
        self.others.clear();
        let (mut protocol, mut last) = (0, CapturedAt::default());
        for chunk in chunks.drain(range) {
            if chunk.flags & FIRST != 0 {
                protocol = chunk.protocol;
            }
            self.whole.extend_from_slice(&chunk.bytes);
            last = chunk.seen;
            self.others.push(last.frame);
        }
        self.others.pop();
        self.bytes = self.bytes.saturating_sub(self.whole.len());
        if chunks.is_empty() {
            self.waiting.remove(key);
        }
        Some((protocol, last))
    }
}

/// The numbers of the last chunks of an end with the hashes of these, each at the place that its number names; 0 of a hash where
/// there was none.
#[derive(Debug, Default)]
struct SeenChunks(Vec<(u32, u32)>);

impl SeenChunks {
    /// Notes a chunk, and returns whether it was there before. A number has one place, so that it is found as long as no later one
    /// took it; there are more of them, if there is room, for an end that sends much before it sends a lost chunk again.
    fn note(&mut self, number: u32, hash: u32, has_room: bool) -> bool {
        if self.0.is_empty() {
            self.0.resize(SEEN_MIN, (0, 0));
        }
        let place = |seen: &[(u32, u32)]| number as usize % seen.len().max(1);
        let known = self.0.get(place(&self.0));
        let is_taken = known.is_some_and(|(other, hash)| *hash != 0 && *other != number);
        if is_taken && has_room && self.0.len() < SEEN_MAX {
            self.grow();
        }
        let place = place(&self.0);
        let place = self.0.get_mut(place);
        place.is_some_and(|place| std::mem::replace(place, (number, hash)) == (number, hash))
    }

    /// Doubles the places.
    fn grow(&mut self) {
        let len = self.0.len();
        self.0.resize(2 * len, (0, 0));
        for at in 0..len {
            let number = self.0.get(at).map_or(0, |(number, _)| *number as usize);
            if number % (2 * len) != at {
                self.0.swap(at, at + len);
            }
        }
    }
}

impl Data<'_> {
    const fn message_of<'a>(
        &'a self,
        protocol: u32,
        bytes: &'a [u8],
        (seen, others): (CapturedAt, &'a [u64]),
    ) -> SctpMessage<'a> {
        SctpMessage {
            key: &self.flow,
            sender: self.sender,
            stream: self.key.stream,
            protocol,
            unordered: self.key.unordered,
            bytes,
            time_ns: seen.time_ns,
            frame: seen.frame,
            others,
        }
    }
}

fn data(
    (flow, sender, tag): (FlowKey, Sender, u32),
    chunk: &[u8],
    seen: CapturedAt,
) -> Option<Data<'_>> {
    let is_interleaved = u8_at(chunk, 0)? == I_DATA;
    let flags = u8_at(chunk, 1)?;
    let tsn = u32_be_at(chunk, 4)?;
    let unordered = flags & UNORDERED != 0;
    let stream = u16_be_at(chunk, 8)?;
    let (message, number, protocol, bytes) = if is_interleaved {
        // The first fragment has the protocol where others have their number.
        let field = u32_be_at(chunk, 16)?;
        let is_first = flags & FIRST != 0;
        let number = if is_first { 0 } else { field };
        (Some(u32_be_at(chunk, 12)?), number, field, chunk.get(20..)?)
    } else {
        (None, tsn, u32_be_at(chunk, 12)?, chunk.get(16..)?)
    };
    let kinds = flags & (FIRST | LAST | UNORDERED);
    let hash = ProcessKey.hash_one((tag, kinds, chunk.get(4..)?)) as u32;
    Some(Data {
        flow,
        sender,
        key: StreamKey {
            origin: Origin::new(flow, sender, tag),
            tag,
            stream,
            unordered,
            message,
        },
        tsn,
        hash: hash.max(1),
        number,
        flags,
        protocol,
        bytes,
        seen,
    })
}

/// Octets of the common header, and of the header of a chunk (RFC 9260, 3.1 and 3.2).
const HEADER_OCTETS: usize = 12;
const CHUNK_HEADER_OCTETS: usize = 4;
const DATA: u8 = 0;
const I_DATA: u8 = 64;
const LAST: u8 = 1;
const FIRST: u8 = 2;
const UNORDERED: u8 = 4;
/// The highest verification tag that does not tell associations apart: programs that write captures of messages alone take a small
/// number, such as 0 or 1, for all of them.
const TAG_WRITTEN_MAX: u32 = 0xffff;
/// Transmission numbers of each end that are remembered, at least and at most: a lost chunk is sent again after a second or more (RFC
/// 9260, 6.3.1).
const SEEN_MIN: usize = 64;
const SEEN_MAX: usize = 4_096;
/// Places for the numbers of all ends, beyond which no end gets more.
const PLACES_MAX: usize = 1 << 21;
