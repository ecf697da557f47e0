//! Finds RTP and RTCP in a capture: where signalling announces them, and where packets continue each other as only
//! theirs do.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use weir_flow::{Carried, Chunk, Endpoint, Interest, Payload};
use weir_h248::{Encoding, detect};
use weir_messages::rtp::{Codec, Event, Packet as RtpPacket, is_in_use, rtcp};
use weir_messages::sdp;
use weir_packet::Packet;
use weir_sip::{Digest, FaultKind, Message, Method};

use super::announced::{Announced, Announcement, CallCourse, Offer};
use super::dialog::DialogTags;
use super::relay::{MediaConnections, relayed};
use crate::extract::h248::{CarrierStreams, FoundMessage, is_on_ports};
use crate::extract::messages::Way;
use crate::extract::opened::OpenedPayloads;
use crate::extract::settings::Settings;
use crate::extract::sip::{SipFinder, SipMessage};

/// A packet of RTP that was found.
pub(in crate::extract) struct RtpSight<'p> {
    pub(in crate::extract) way: Way,
    pub(in crate::extract) packet: RtpPacket<'p>,
    pub(in crate::extract) announced: Option<Arc<Announcement>>,
}

impl<'p> RtpSight<'p> {
    /// A packet between sockets that are known to have media, which may be damaged: the padding of SRTP is not legible.
    pub(in crate::extract) fn read(
        bytes: &'p [u8],
        way: Way,
        announced: Option<Arc<Announcement>>,
    ) -> Option<Self> {
        let is_sealed = announced.as_deref().is_some_and(Announcement::is_secure);
        let sealed = is_sealed.then(|| RtpPacket::sealed(bytes, way.missing));
        let packet = sealed
            .flatten()
            .or_else(|| RtpPacket::damaged(bytes, way.missing))?;
        Some(Self {
            way,
            packet,
            announced,
        })
    }

    /// The named event in the payload; `None` where that is encrypted.
    pub(in crate::extract) fn event(&self) -> Option<Event> {
        self.packet.event().filter(|_| !self.is_secure())
    }

    /// Whether the payload is encrypted.
    pub(in crate::extract) fn is_secure(&self) -> bool {
        let announced = self.announced.as_deref();
        announced.is_some_and(Announcement::is_secure)
    }

    /// The codec of the payload type: the announced one, the assigned one, or events for the number that almost
    /// everywhere stands for them.
    pub(in crate::extract) fn codec(&self) -> Option<Codec> {
        self.codec_of(self.packet.payload_type(), self.packet.payload())
    }

    /// The codec of a payload, which may be that of a block of redundant data.
    pub(in crate::extract) fn codec_of(&self, payload_type: u8, payload: &[u8]) -> Option<Codec> {
        let media = self.announced.as_ref().map(|announced| &announced.media);
        if let Some(codec) = media.and_then(|media| media.codec(payload_type)) {
            return Some(codec.clone());
        }
        let is_event = payload_type == EVENTS && payload.len() == 4;
        Codec::assigned(payload_type).or_else(|| {
            is_event.then(|| Codec {
                name: "telephone-event".into(),
                clock_rate: 8_000,
            })
        })
    }
}

/// A datagram of T.38 that was found.
pub(in crate::extract) struct FaxSight {
    pub(in crate::extract) way: Way,
    /// The sequence number (ITU-T T.38, 9.1).
    pub(in crate::extract) sequence: u16,
    pub(in crate::extract) octets: u64,
    pub(in crate::extract) announced: Arc<Announcement>,
}

/// A packet of media that was found.
pub(in crate::extract) enum Sight<'p> {
    Rtp(&'p RtpSight<'p>),
    /// A packet of RTCP, its direction, and the announcement of its media.
    Rtcp(&'p [u8], Way, Option<&'p Announcement>),
    /// A datagram of T.38 over UDPTL.
    Fax(&'p FaxSight),
}

type OnDatagram<'e> = dyn FnMut(&Sight<'_>) + 'e;

/// A direction between two sockets.
pub(in crate::extract) type Pair = (Endpoint, Endpoint);

/// Finds RTP and RTCP.
#[derive(Default)]
pub(in crate::extract) struct Finder {
    payloads: OpenedPayloads,
    readers: Readers,
}

/// What reads the payloads.
#[derive(Default)]
struct Readers {
    sip: SipFinder,
    connections: MediaConnections,
    megaco: CarrierStreams,
    media: MediaFinder,
}

type OnMessage<'e> = dyn FnMut(&SipMessage<'_>) + 'e;

/// Gets what was found, and for datagrams the numbers of the other records in which they came.
type OnSight<'e> = dyn FnMut(&Sight<'_>, &[u64]) + 'e;

impl Finder {
    /// Sets the secrets of the settings, by which TLS is decrypted.
    pub(in crate::extract) fn with_settings(mut self, settings: &Settings) -> Self {
        self.payloads = OpenedPayloads::with_settings(settings).with_upgrades_of_hep();
        self
    }

    /// Reads a packet, and reports its contents.
    pub(in crate::extract) fn packet(&mut self, packet: &Packet<'_>, each: &mut OnDatagram<'_>) {
        self.packet_with_sip(packet, &mut |_| {}, &mut |sight, _| each(sight));
    }

    /// Reads a packet as [`Self::packet`] does, and reports SIP messages and, for datagrams, the numbers of the other
    /// records in which they came.
    pub(in crate::extract) fn packet_with_sip(
        &mut self,
        packet: &Packet<'_>,
        each_message: &mut OnMessage<'_>,
        each: &mut OnSight<'_>,
    ) {
        let Self { payloads, readers } = self;
        payloads.packet(packet, &mut |payload| {
            readers.payload(payload, each_message, each)
        });
    }

    /// Ends the capture: reports the SIP messages and the media that waited for missing fragments and segments.
    pub(in crate::extract) fn finish(
        &mut self,
        each_message: &mut OnMessage<'_>,
        each: &mut OnSight<'_>,
    ) {
        let Self { payloads, readers } = self;
        payloads.finish(&mut |payload| readers.payload(payload, each_message, each));
        let Readers { sip, media, .. } = readers;
        sip.finish(&mut |message| {
            media.sip(message);
            each_message(message);
        });
    }

    /// The announcement of a stream that was found by content, where it was captured in time and was complete too late.
    pub(in crate::extract) fn late(&self, way: &Way) -> Option<Arc<Announcement>> {
        self.readers.media.announced.of_stream(way)
    }

    /// The number of descriptions that were complete only behind media that came later.
    pub(in crate::extract) const fn late_descriptions(&self) -> u64 {
        self.readers.media.late_descriptions
    }

    /// The counters of what was given up because of limits.
    pub(in crate::extract) fn counted(&self) -> Vec<(u64, &'static str)> {
        let Readers {
            sip,
            connections,
            megaco,
            media,
        } = &self.readers;
        let own = media.counted().into_iter();
        own.chain(connections.counted())
            .chain(megaco.counted())
            .chain(sip.counted())
            .chain(self.payloads.given_up())
            .collect()
    }
}

impl Readers {
    /// Reports the contents of a payload.
    fn payload(
        &mut self,
        payload: &Payload<'_>,
        each_message: &mut OnMessage<'_>,
        each: &mut OnSight<'_>,
    ) -> Interest {
        let Self {
            sip,
            connections,
            megaco,
            media,
        } = self;
        if let Carried::Stream(chunk) = payload.carried {
            let is_announced = media.is_over_tcp(chunk);
            let interest = connections.chunk(payload, chunk, is_announced, &mut |bytes, others| {
                let datagram = payload.with_datagram(payload.key, payload.sender, bytes);
                media.datagram(bytes, &datagram, &mut |sight| each(sight, others));
            });
            if let Some(interest) = interest {
                return interest;
            }
        }
        let interest = sip.payload(payload, &mut |message| {
            media.sip(message);
            each_message(message);
        });
        if let Carried::Datagram(bytes) = payload.carried {
            media.datagram(bytes, payload, &mut |sight| each(sight, payload.others));
            return Interest::Ignore;
        }
        let of_megaco = megaco.payload_on_ports(payload, &mut |found| media.megaco(found));
        match interest {
            Interest::Ignore => of_megaco,
            Interest::Follow => Interest::Follow,
        }
    }
}

/// Finds RTP and RTCP in datagrams, by the addresses that signalling announced and by content.
#[derive(Default)]
pub(in crate::extract) struct MediaFinder {
    announced: Announced,
    /// The candidates between two sockets, by their sources.
    candidates: HashMap<Pair, Candidates>,
    candidates_order: VecDeque<(Pair, u32)>,
    held_bytes: usize,
    known: HashMap<Pair, ()>,
    known_order: VecDeque<Pair>,
    known_forgotten: u64,
    /// The number of RTCP datagrams that were truncated.
    rtcp_cut: u64,
    /// The number of media datagrams whose header was not captured in full.
    headers_cut: u64,
    /// The number of RTCP datagrams between sockets of media that could not be decoded.
    rtcp_sealed: u64,
    /// The number of media over TLS in descriptions.
    over_tls: u64,
    /// The number of media in descriptions whose address is a host name.
    named: u64,
    /// The number of media in descriptions without an address.
    without_address: u64,
    /// The number of candidates that were dropped although packets of them continue each other.
    candidates_dropped: u64,
    /// The time of the last datagram, and the number of descriptions that were captured before it and were complete behind it.
    last_ns: Option<i64>,
    late_descriptions: u64,
}

/// The message with a description.
struct Described<'m> {
    by: &'static str,
    call_id: Option<String>,
    offer: Option<Arc<Offer>>,
    /// The tag of the describing side, in messages of SIP.
    tag: Option<&'m [u8]>,
    /// The tags of From and To, in these.
    tags: [Option<&'m [u8]>; 2],
    frame: u64,
    time_ns: Option<i64>,
}

impl Described<'_> {
    /// A message of a protocol of gateways.
    const fn of_gateway(by: &'static str, frame: u64, time_ns: Option<i64>) -> Self {
        Self {
            by,
            call_id: None,
            offer: None,
            tag: None,
            tags: [None; 2],
            frame,
            time_ns,
        }
    }
}

/// The candidates between two sockets, by their sources. Most sockets have one, which needs no table of its own.
#[derive(Default)]
struct Candidates {
    first: Option<(u32, Candidate)>,
    others: HashMap<u32, Candidate>,
}

/// Packets that may be the first of a stream.
#[derive(Default)]
struct Candidate {
    /// The highest number, and its timestamp.
    sequence: u16,
    timestamp: u32,
    has_advanced: bool,
    /// The number of different sequence numbers that continue each other.
    numbers: usize,
    held: Vec<(Box<[u8]>, Way)>,
}

/// The number of pairs of sockets that were found by content, at one time.
const KNOWN_MAX: usize = 1 << 16;
/// The number of candidates for streams at one time.
const CANDIDATES_MAX: usize = 1 << 13;
/// The number of octets of their packets.
const HELD_BYTES_MAX: usize = 16 << 20;
/// The number of packets that must continue each other to be a stream: if their timestamp advances, and if it stands
/// still, as in a picture.
const GO_ON: [usize; 2] = [4, 10];
/// The number of packets of a candidate, including repeated ones.
const HELD_MAX: usize = 32;
/// The maximum steps of the sequence number and of the timestamp between packets that continue each other.
const SEQUENCE_STEP_MAX: u16 = 16;
const TIMESTAMP_STEP_MAX: u32 = 90_000 * 60;
/// The types of RTCP packets (IANA), from sender reports to extended reports.
const RTCP_FIRST: u8 = rtcp::kind::SENDER_REPORT;
const RTCP_LAST: u8 = rtcp::kind::EXTENDED_REPORT;
/// The maximum distance of a copy behind the packets that continue each other: those of a tap may be seconds late.
const COPY_BEHIND_MAX: u16 = 256;
/// The payload type that events mostly have where SDP does not give it.
const EVENTS: u8 = 101;
/// The number of octets of the shortest datagram of UDPTL (ITU-T T.38, 9.1).
const UDPTL_OCTETS_MIN: usize = 4;
/// The magic cookie of STUN messages, which follows their type and length (RFC 8489, 5).
const STUN_COOKIE: [u8; 4] = [0x21, 0x12, 0xa4, 0x42];
/// The ports of gateways and call agents of MGCP (RFC 3435, 3.5).
const MGCP_PORTS: [u16; 2] = [2_427, 2_727];

impl MediaFinder {
    fn counted(&self) -> [(u64, &'static str); 9] {
        [
            (
                self.announced.forgotten(),
                "sockets that signalling had announced were forgotten, because there were more than 131,072",
            ),
            (
                self.known_forgotten,
                "pairs of sockets with media were forgotten, because there were more than 65,536",
            ),
            (
                self.rtcp_cut,
                "RTCP datagrams were not captured completely, and are left out from where they were cut",
            ),
            (
                self.headers_cut,
                "datagrams between sockets of media were cut within the header, and are left out",
            ),
            (
                self.rtcp_sealed,
                "RTCP datagrams between sockets of media are left out because they are encrypted (SRTCP) or damaged",
            ),
            (
                self.over_tls,
                "media in descriptions are over TLS (RFC 8122), and are read only with its secrets",
            ),
            (
                self.named,
                "media in descriptions have a host name in place of an address: they are found by content only, and are of no call",
            ),
            (
                self.without_address,
                "media in descriptions have no address: they are found by content only, and are of no call",
            ),
            (
                self.candidates_dropped,
                "possible RTP streams were dropped before they were recognised, because there were more than 8,192 at one time, or 16 MiB of them in memory",
            ),
        ]
    }

    /// Reads a SIP message, which may announce media.
    pub(in crate::extract) fn sip(&mut self, found: &SipMessage<'_>) {
        let Some(message) = found.parsed() else {
            return;
        };
        let digest = Digest::of(&message);
        if let (Some(Method::Bye), None, Some(call_id)) =
            (digest.method, digest.status, digest.call_id)
        {
            self.announced.end_call(&String::from_utf8_lossy(call_id));
        }
        let offer = offer_of(&digest);
        if let (Some(offer), Some(status @ 200..), Some(call_id)) =
            (&offer, digest.status, digest.call_id)
        {
            let call_id = String::from_utf8_lossy(call_id);
            self.announced.answer_offer(&call_id, offer, status >= 300);
        }
        let body = whole_lines(&message);
        let is_described = digest.has_sdp() || digest.has_parts() && !body.is_empty();
        if is_described || digest.has_candidates() {
            let call_id = digest
                .call_id
                .map(|id| String::from_utf8_lossy(id).into_owned());
            let is_request = digest.status.is_none();
            let described = Described {
                by: "sip",
                call_id,
                offer: offer.filter(|_| is_request).map(Arc::new),
                tag: match is_request {
                    true => digest.from_tag(),
                    false => digest.to_tag(),
                },
                tags: [digest.from_tag(), digest.to_tag()],
                frame: found.way.frame,
                time_ns: found.way.time_ns,
            };
            match is_described {
                true => self.announce(&described, body),
                false => self.trickle(&described, body),
            }
        }
    }

    /// Reads a fragment with candidates of ICE, to which the media of its sender may be sent, too (RFC 8840).
    fn trickle(&mut self, by: &Described<'_>, text: &[u8]) {
        let (Some(call_id), Some(tag)) = (by.call_id.as_deref(), by.tag) else {
            return;
        };
        let mut known = Vec::new();
        for found in sdp::candidates(text) {
            let mid = found.mid.as_deref();
            let all = self.announced.media_with_ice(call_id, tag, mid);
            let ends: Vec<Endpoint> = found.sockets.iter().map(endpoint).collect();
            for media in all {
                let (order, course) = self.announced.describe(Some(call_id), None);
                self.place(by, (order, &course), media, &ends, &mut known);
            }
        }
    }

    /// Reads a message of Megaco over TCP or SCTP, which may announce media.
    fn megaco(&mut self, found: &FoundMessage<'_>) {
        if is_text(found.encoding) {
            let described = Described::of_gateway("h248", found.frame, found.time_ns);
            self.announce(&described, found.octets);
        }
    }

    fn announce(&mut self, by: &Described<'_>, text: &[u8]) {
        let mut known = Vec::new();
        let is_late = by.time_ns < self.last_ns;
        self.late_descriptions = self.late_descriptions.saturating_add(is_late.into());
        let description = sdp::describe(text);
        self.named = self.named.saturating_add(description.named);
        self.without_address = self
            .without_address
            .saturating_add(description.without_address);
        let has_keys = description.media.iter().any(|media| media.has_keys);
        let keys_of = by.tag.filter(|_| has_keys);
        let (order, course) = self.announced.describe(by.call_id.as_deref(), keys_of);
        for media in description.media {
            self.over_tls = self.over_tls.saturating_add(media.is_over_tls().into());
            let socket = |port| Endpoint {
                address: media.address,
                port,
            };
            let mut ends = vec![socket(media.port)];
            // Fax has no reports.
            if media.control_port != media.port && !media.is_fax() {
                ends.push(socket(media.control_port));
            }
            for other in &media.others {
                let end = endpoint(other);
                if !ends.contains(&end) {
                    ends.push(end);
                }
            }
            if media.has_ice
                && let (Some(call_id), Some(tag)) = (by.call_id.as_deref(), by.tag)
            {
                self.announced.keep_for_candidates(call_id, tag, &media);
            }
            self.place(by, (order, &course), media, &ends, &mut known);
        }
    }

    /// Announces media for these sockets. `known` has those of the same message so far.
    fn place(
        &mut self,
        by: &Described<'_>,
        (order, course): (u64, &Arc<CallCourse>),
        media: sdp::Media,
        ends: &[Endpoint],
        known: &mut Vec<Endpoint>,
    ) {
        let announcement = Arc::new(Announcement {
            by: by.by,
            call_id: by.call_id.clone(),
            frame: by.frame,
            time_ns: by.time_ns,
            media,
            offer: by.offer.clone(),
            order,
            course: Arc::clone(course),
            dialog: Arc::new(DialogTags::of(by.tags)),
        });
        for end in ends {
            let is_same = known.contains(end);
            self.announced
                .insert(*end, Arc::clone(&announcement), is_same);
            known.push(*end);
        }
    }

    /// Whether a description has media over TCP at one of the sockets of a connection.
    fn is_over_tcp(&self, chunk: &Chunk<'_>) -> bool {
        let ends = [chunk.source(), chunk.destination()];
        self.announced.has_over_tcp() && ends.iter().any(|end| self.announced.is_over_tcp(*end))
    }

    /// Reads a datagram.
    pub(in crate::extract) fn datagram(
        &mut self,
        bytes: &[u8],
        payload: &Payload<'_>,
        each: &mut OnDatagram<'_>,
    ) {
        self.last_ns = payload.time_ns;
        if bytes.is_empty() && payload.missing > 0 {
            return self.count_cut(bytes, &Way::of(payload));
        }
        // Neither STUN, DTLS nor text begins so (RFC 7983).
        if bytes.first().is_none_or(|first| first >> 6 != 2) {
            if let Some(by) = gateway(bytes, payload) {
                let described = Described::of_gateway(by, payload.frame, payload.time_ns);
                self.announce(&described, bytes);
            } else if let Some((data, missing)) = relayed(bytes, payload.missing) {
                let mut of_peer = *payload;
                of_peer.missing = missing;
                self.datagram(data, &of_peer, each);
            } else if self.announced.has_faxes() {
                self.fax(bytes, Way::of(payload), each);
            }
            return;
        }
        let way = Way::of(payload);
        let pair = (way.src, way.dst);
        let announced = self.announced.of_packet(&way, bytes);
        let announced = match announced {
            Some(fax) if fax.media.is_fax() => return self.fax_of(bytes, way, fax, each),
            other => other,
        };
        let is_sure = announced.is_some() || self.known.contains_key(&pair);
        if rtcp::is_rtcp_cut(bytes, is_sure, way.missing) {
            self.rtcp_cut = self.rtcp_cut.saturating_add((way.missing > 0).into());
            return each(&Sight::Rtcp(bytes, way, announced.as_deref()));
        }
        if let Some(announcement) = announced.as_deref()
            && is_damaged_report(bytes, &way, announcement)
        {
            return each(&Sight::Rtcp(bytes, way, Some(announcement)));
        }
        let sight = match is_sure {
            true => RtpSight::read(bytes, way, announced),
            false => RtpPacket::cut(bytes, way.missing).map(|packet| RtpSight {
                way,
                packet,
                announced,
            }),
        };
        let Some(sight) = sight else {
            let is_report = matches!(bytes, [_, RTCP_FIRST..=RTCP_LAST, ..]) && way.missing == 0;
            self.rtcp_sealed = self
                .rtcp_sealed
                .saturating_add((is_sure && is_report).into());
            return self.count_cut(bytes, &way);
        };
        if !is_sure && !self.goes_on(&sight.packet, bytes, &way, each) {
            return;
        }
        if sight.announced.is_some() && !self.candidates.is_empty() {
            let source = Some(sight.packet.ssrc());
            self.give_out(pair, source, sight.announced.as_ref(), each);
        }
        each(&Sight::Rtp(&sight));
    }

    /// Counts a datagram of which less than a header was captured, if its sockets are known to have media.
    #[cold]
    fn count_cut(&mut self, bytes: &[u8], way: &Way) {
        let is_sure = self.known.contains_key(&(way.src, way.dst))
            || self.announced.of_packet(way, bytes).is_some();
        if way.missing > 0 && is_sure {
            self.headers_cut = self.headers_cut.saturating_add(1);
        }
    }

    /// Reads a datagram that cannot be RTP, and may be a fax.
    fn fax(&mut self, bytes: &[u8], way: Way, each: &mut OnDatagram<'_>) {
        let announced = self.announced.of_packet(&way, bytes);
        if let Some(fax) = announced.filter(|it| it.media.is_fax()) {
            self.fax_of(bytes, way, fax, each);
        }
    }

    fn fax_of(
        &mut self,
        bytes: &[u8],
        way: Way,
        announced: Arc<Announcement>,
        each: &mut OnDatagram<'_>,
    ) {
        if bytes.len() < UDPTL_OCTETS_MIN {
            return self.count_cut(bytes, &way);
        }
        fax_sight(bytes, way, announced, each);
    }

    /// Returns true for the packet that confirms a stream, after the packets before it have been reported.
    fn goes_on(
        &mut self,
        packet: &RtpPacket<'_>,
        bytes: &[u8],
        way: &Way,
        each: &mut OnDatagram<'_>,
    ) -> bool {
        if !is_in_use(packet.payload_type())
            || packet.ssrc() == 0
            || packet.payload_len() == Some(0)
        {
            return false;
        }
        let (pair, source) = ((way.src, way.dst), packet.ssrc());
        let (candidate, is_new) = self.candidates.entry(pair).or_default().of(source);
        if is_new {
            self.candidates_order.push_back((pair, source));
        }
        self.held_bytes = self.held_bytes.saturating_sub(candidate.bytes());
        candidate.take(packet);
        let needed = GO_ON[usize::from(!candidate.has_advanced)];
        let is_confirmed = candidate.numbers >= needed;
        if !is_confirmed {
            candidate.held.push((bytes.into(), *way));
        }
        self.held_bytes = self.held_bytes.saturating_add(candidate.bytes());
        if is_confirmed {
            self.give_out(pair, None, None, each);
            self.know(pair);
            return true;
        }
        while self.held_bytes > HELD_BYTES_MAX || self.candidates_order.len() > CANDIDATES_MAX {
            let Some((pair, source)) = self.candidates_order.pop_front() else {
                break;
            };
            let gone = self.remove_candidate(pair, source);
            let was_begun = gone.is_some_and(|gone| gone.numbers > 1);
            self.candidates_dropped = self.candidates_dropped.saturating_add(was_begun.into());
        }
        false
    }

    /// Reports the packets that were held of candidates between two sockets, as these have media: those of one source, or of
    /// all, in the order of capture.
    fn give_out(
        &mut self,
        pair: Pair,
        source: Option<u32>,
        announced: Option<&Arc<Announcement>>,
        each: &mut OnDatagram<'_>,
    ) {
        let gone: Vec<(u32, Candidate)> = match source {
            Some(source) => {
                let gone = self.remove_candidate(pair, source);
                gone.map(|gone| (source, gone)).into_iter().collect()
            }
            None => self.remove_candidates(pair),
        };
        let mut held: Vec<_> = gone
            .into_iter()
            .flat_map(|(source, gone)| gone.held.into_iter().map(move |held| (source, held)))
            .collect();
        held.sort_by_key(|(source, (_, way))| (way.passed_ns, way.frame, *source));
        for (_, (bytes, way)) in held {
            if let Some(packet) = RtpPacket::cut(&bytes, way.missing) {
                each(&Sight::Rtp(&RtpSight {
                    way,
                    packet,
                    announced: announced.cloned(),
                }));
            }
        }
    }

    /// Removes the candidate of a source between two sockets.
    fn remove_candidate(&mut self, pair: Pair, source: u32) -> Option<Candidate> {
        let Entry::Occupied(mut candidates) = self.candidates.entry(pair) else {
            return None;
        };
        let gone = candidates.get_mut().remove(source)?;
        if candidates.get().is_empty() {
            candidates.remove();
        }
        self.held_bytes = self.held_bytes.saturating_sub(gone.bytes());
        Some(gone)
    }

    /// Removes all candidates between two sockets.
    fn remove_candidates(&mut self, pair: Pair) -> Vec<(u32, Candidate)> {
        let candidates = self.candidates.remove(&pair).unwrap_or_default();
        let gone: Vec<_> = candidates
            .first
            .into_iter()
            .chain(candidates.others)
            .collect();
        let bytes: usize = gone.iter().map(|(_, gone)| gone.bytes()).sum();
        self.held_bytes = self.held_bytes.saturating_sub(bytes);
        gone
    }

    fn know(&mut self, pair: Pair) {
        if self.known.insert(pair, ()).is_none() {
            self.known_order.push_back(pair);
        }
        if self.known_order.len() > KNOWN_MAX
            && let Some(oldest) = self.known_order.pop_front()
        {
            self.known.remove(&oldest);
            self.known_forgotten = self.known_forgotten.saturating_add(1);
        }
    }
}

impl Candidates {
    /// The candidate of a source, and whether it is a new one.
    fn of(&mut self, source: u32) -> (&mut Candidate, bool) {
        let Self { first, others } = self;
        let is_first = match first {
            Some((known, _)) => *known == source,
            None => others.is_empty(),
        };
        if is_first {
            let is_new = first.is_none();
            let (_, candidate) = first.get_or_insert_with(|| (source, Candidate::default()));
            return (candidate, is_new);
        }
        match others.entry(source) {
            Entry::Occupied(entry) => (entry.into_mut(), false),
            Entry::Vacant(entry) => (entry.insert(Candidate::default()), true),
        }
    }

    fn remove(&mut self, source: u32) -> Option<Candidate> {
        match self.first.take_if(|(known, _)| *known == source) {
            Some((_, candidate)) => Some(candidate),
            None => self.others.remove(&source),
        }
    }

    fn is_empty(&self) -> bool {
        self.first.is_none() && self.others.is_empty()
    }
}

impl Candidate {
    fn bytes(&self) -> usize {
        self.held
            .iter()
            .map(|(bytes, _)| bytes.len() + size_of::<Way>())
            .sum()
    }

    /// Compares a packet with those before it; one that does not continue them begins anew. A repeated packet proves
    /// nothing: where a stream is captured twice, at both ports of a mirror, each packet comes twice.
    fn take(&mut self, packet: &RtpPacket<'_>) {
        let ahead = packet.sequence().wrapping_sub(self.sequence);
        let behind = self.sequence.wrapping_sub(packet.sequence());
        let time = packet.timestamp().wrapping_sub(self.timestamp);
        let back = self.timestamp.wrapping_sub(packet.timestamp());
        let is_begun = !self.held.is_empty();
        if is_begun && (1..=SEQUENCE_STEP_MAX).contains(&ahead) && time <= TIMESTAMP_STEP_MAX {
            self.has_advanced |= time > 0;
            self.numbers += 1;
        } else if is_begun
            && behind <= COPY_BEHIND_MAX
            && back <= TIMESTAMP_STEP_MAX
            && self.held.len() < HELD_MAX
        {
            return;
        } else {
            self.held.clear();
            self.has_advanced = false;
            self.numbers = 1;
        }
        self.sequence = packet.sequence();
        self.timestamp = packet.timestamp();
    }
}

/// Reports a datagram between sockets that were announced for a fax, unless it is STUN, or too short for UDPTL.
fn fax_sight(bytes: &[u8], way: Way, announced: Arc<Announcement>, each: &mut OnDatagram<'_>) {
    let is_stun = bytes.get(4..8) == Some(&STUN_COOKIE) && bytes.first().is_some_and(|it| *it < 4);
    if let [high, low, _, _, ..] = bytes
        && !is_stun
    {
        each(&Sight::Fax(&FaxSight {
            way,
            sequence: u16::from_be_bytes([*high, *low]),
            octets: bytes.len() as u64,
            announced,
        }));
    }
}

/// Whether a datagram that was captured whole has damaged packets of RTCP, between sockets whose media are not encrypted.
fn is_damaged_report(bytes: &[u8], way: &Way, announcement: &Announcement) -> bool {
    let is_report = matches!(bytes, [_, RTCP_FIRST..=RTCP_LAST, ..]) && way.missing == 0;
    let may_be_sealed = || announcement.media.has_keys || announcement.is_secure();
    is_report && !may_be_sealed() && rtcp::is_damaged(bytes)
}

const fn endpoint(socket: &SocketAddr) -> Endpoint {
    Endpoint {
        address: socket.ip(),
        port: socket.port(),
    }
}

/// The lines of a body that are there: what follows of one that was cut may be a part of its last line.
fn whole_lines<'m>(message: &Message<'m>) -> &'m [u8] {
    let body = message.body();
    if !message.faults().has(FaultKind::BodyShort) {
        return body;
    }
    let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let end = body.iter().rposition(is_end).map_or(0, |at| at + 1);
    body.get(..end).unwrap_or_default()
}

/// The offer within a call that a request may make, or to which a response belongs: of INVITE and UPDATE, as other requests have
/// none that is answered by their responses (RFC 6337, 2.2).
fn offer_of(digest: &Digest<'_>) -> Option<Offer> {
    let is_offer = matches!(digest.method, Some(Method::Invite | Method::Update));
    // The first request of a call has no earlier session.
    digest.to_tag().filter(|_| is_offer)?;
    Some(Offer {
        from_tag: digest.from_tag()?.to_vec(),
        number: digest.cseq?.number,
    })
}

/// Returns the name of the gateway protocol whose message a datagram may be, which may announce media.
pub(in crate::extract) fn gateway(bytes: &[u8], payload: &Payload<'_>) -> Option<&'static str> {
    let text = bytes.trim_ascii_start();
    let first = text.first().filter(|first| first.is_ascii_graphic())?;
    let is_megaco = text.starts_with(b"!/")
        || text
            .get(..7)
            .is_some_and(|word| word.eq_ignore_ascii_case(b"MEGACO/"));
    // A header of authentication may precede it (RFC 3525, B.2).
    if is_megaco || is_on_ports(payload) && detect(bytes).is_some_and(is_text) {
        return Some("h248");
    }
    let ports = payload.key.ports();
    let is_mgcp = ports.iter().any(|port| MGCP_PORTS.contains(port));
    (is_mgcp && first.is_ascii_alphanumeric()).then_some("mgcp")
}

/// Whether a message of Megaco in this encoding is a text, with descriptions as they are.
pub(in crate::extract) const fn is_text(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::Pretty | Encoding::Compact)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of different sequence numbers that continue each other, after packets with these numbers.
    fn numbers(sequence: &[u16]) -> usize {
        let mut candidate = Candidate::default();
        for number in sequence {
            let mut bytes = vec![0x80, 0];
            bytes.extend(number.to_be_bytes());
            bytes.extend((u32::from(*number) * 160).to_be_bytes());
            bytes.extend([0, 0, 0, 7, 1]);
            candidate.take(&RtpPacket::new(&bytes).unwrap());
            let way = Way {
                flow: 1,
                src: Endpoint {
                    address: [10, 0, 0, 1].into(),
                    port: 1,
                },
                dst: Endpoint {
                    address: [10, 0, 0, 2].into(),
                    port: 2,
                },
                transport: "udp",
                time_ns: None,
                passed_ns: 0,
                frame: 1,
                missing: 0,
                identification: None,
            };
            candidate.held.push((bytes.into(), way));
        }
        candidate.numbers
    }

    #[test]
    fn candidates_of_several_sources_leave_one_by_one() {
        let mut all = Candidates::default();
        let are_new = [7, 7, 9, 7, 9].map(|source| all.of(source).1);
        assert_eq!(are_new, [true, false, true, false, false]);
        assert!(all.remove(7).is_some() && all.remove(7).is_none());
        let are_new = [9, 7, 7].map(|source| all.of(source).1);
        assert_eq!(are_new, [false, true, false]);
        assert!(all.remove(7).is_some() && !all.is_empty());
        assert!(all.remove(9).is_some() && all.is_empty());
    }

    #[test]
    fn copies_neither_make_a_stream_nor_break_one() {
        assert_eq!(numbers(&[5, 6, 7, 8]), 4);
        assert_eq!(numbers(&[5, 5, 6, 6, 7, 7, 8, 8]), 4);
        assert_eq!(numbers(&[5, 6, 5, 7, 6, 8, 7]), 4);
        // The copies come half a second later, and the capture begins among them.
        assert_eq!(numbers(&[125, 100, 126, 101, 127, 102, 128]), 4);
        assert_eq!(numbers(&[100, 125, 101, 126, 102, 127, 103, 128]), 4);
        assert_eq!(numbers(&[5, 5, 5, 5, 5]), 1);
        assert_eq!(numbers(&[5, 6, 700, 701]), 2);
        // A packet that is repeated without end is not stored without end.
        assert_eq!(numbers(&[5; 100]), 1);
    }
}
