//! The media that signalling announced for sockets, and the choice of a packet's announcement. Several calls may have
//! the same sockets, one after another or at once, and several media of a call may share a socket (RFC 9143).

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use weir_bytes::{u8_at, u32_be_at};
use weir_flow::Endpoint;
use weir_messages::rtp::Packet as RtpPacket;
use weir_messages::sdp::Media;

use super::dialog::DialogTags;
use crate::extract::messages::Way;

/// An announcement of media.
#[derive(Debug)]
pub(in crate::extract) struct Announcement {
    /// `sip`, `h248` or `mgcp`.
    pub(in crate::extract) by: &'static str,
    /// The Call-ID; `None` for other protocols than SIP.
    pub(in crate::extract) call_id: Option<String>,
    /// The number of the record with the announcement; 0 where that is not known.
    pub(in crate::extract) frame: u64,
    /// The time of that record.
    pub(in crate::extract) time_ns: Option<i64>,
    /// The announced media.
    pub(in crate::extract) media: Media,
    /// The offer within a call that announced them; `None` for offers that begin calls, and for answers.
    pub(in crate::extract) offer: Option<Arc<Offer>>,
    /// The position among the announcements and the ends of calls.
    pub(in crate::extract) order: u64,
    /// The course of its call.
    pub(in crate::extract) course: Arc<CallCourse>,
    /// The dialog of the message that announced them.
    pub(in crate::extract) dialog: Arc<DialogTags>,
}

/// An offer within a call: the request that made it, which its responses name.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::extract) struct Offer {
    /// The tag of the sender.
    pub(in crate::extract) from_tag: Vec<u8>,
    /// The number in the CSeq.
    pub(in crate::extract) number: u32,
}

/// The offers within a call without a final response, each with the sockets that it announced.
type OpenOffers = Vec<(Arc<Offer>, Vec<Endpoint>)>;

/// The course of a call, as far as it concerns what was announced.
#[derive(Debug, Default)]
pub(in crate::extract) struct CallCourse {
    /// The position of its end among the announcements and the ends of calls, 0 while the call is open.
    end: AtomicU64,
    /// Both sides have given keys.
    has_keys: AtomicBool,
}

impl CallCourse {
    fn is_over(&self) -> bool {
        self.end.load(Ordering::Relaxed) != 0
    }
}

/// A call that announced something.
#[derive(Default)]
struct Call {
    course: Arc<CallCourse>,
    /// The tag of the side that gave keys first.
    keys_of: Option<Vec<u8>>,
    /// The media of sides that agree on sockets by ICE, with the tag of the side.
    with_ice: Vec<(Vec<u8>, Media)>,
}

impl Call {
    /// Adds the keys that the side with this tag gives.
    fn take_keys(&mut self, tag: &[u8]) {
        let tag = tag.get(..TAG_OCTETS_MAX).unwrap_or(tag);
        match &self.keys_of {
            None => self.keys_of = Some(tag.to_vec()),
            Some(known) if known.as_slice() == tag => {}
            Some(_) => self.course.has_keys.store(true, Ordering::Relaxed),
        }
    }
}

impl Announcement {
    /// Returns whether another call announced the other media after this one's call had ended.
    pub(in crate::extract) fn gives_way_to(&self, other: &Self) -> bool {
        let end = self.course.end.load(Ordering::Relaxed);
        end != 0 && end < other.order && !self.is_of_call(other)
    }

    /// Returns whether the call has ended.
    fn is_over(&self) -> bool {
        self.course.is_over()
    }

    /// Returns whether the media are encrypted: by their profile, or because both sides of the call gave keys. An offer of
    /// `RTP/AVP` may have keys that the answer does not take up.
    pub(in crate::extract) fn is_secure(&self) -> bool {
        let has_keys = self.media.has_keys && self.course.has_keys.load(Ordering::Relaxed);
        self.media.is_secure() || has_keys
    }

    fn is_of_call(&self, other: &Self) -> bool {
        self.by == other.by && self.call_id == other.call_id
    }

    /// Returns whether both are of one offer, as of a request that was sent again.
    fn is_of_offer(&self, other: &Self) -> bool {
        self.offer.is_some() && self.offer == other.offer
    }
}

/// The announcements, by the socket to which the media are to be sent.
#[derive(Default)]
pub(super) struct Announced {
    sockets: HashMap<Endpoint, Socket>,
    /// The sockets in the order of their first announcements.
    order: VecDeque<Endpoint>,
    forgotten: u64,
    /// The number of announcements and ends of calls so far.
    events: u64,
    /// The calls that announced something, by Call-ID.
    calls: HashMap<String, Call>,
    /// The offers within calls that no final response was seen to, by Call-ID, with the sockets that they announced.
    offers: HashMap<String, OpenOffers>,
    /// Whether one of them is for fax, which does not look like RTP.
    has_faxes: bool,
    /// Whether one of them is for media over TCP.
    has_over_tcp: bool,
}

/// The state of a socket.
#[derive(Default)]
struct Socket {
    /// The announcements of the socket, the latest last.
    media: Vec<Arc<Announcement>>,
    /// Those that offers within their calls replaced. They count again when the offer is refused (RFC 3261, 14.1).
    replaced: Vec<Arc<Announcement>>,
    streams: Vec<AnnouncedStream>,
}

/// A stream of a socket, and its known announcement.
struct AnnouncedStream {
    sender: Endpoint,
    ssrc: u32,
    last_ns: i64,
    announcement: Arc<Announcement>,
}

/// The pause between the media of two calls with the same sockets, in nanoseconds: legs of one call that announce media
/// in turn are no other call.
pub(super) const CALL_PAUSE_NS: i64 = 1_000_000_000;
/// The number of sockets with announcements at one time.
const SOCKETS_MAX: usize = 1 << 17;
/// The number of media of a socket, of all calls.
const MEDIA_MAX: usize = 64;
/// The number of streams of a socket whose announcements are known.
const STREAMS_MAX: usize = 16;
/// The number of octets of a tag that are stored.
const TAG_OCTETS_MAX: usize = 256;
/// The number of offers of a call without a final response that are known: one of each side, and those of which the
/// response was not captured.
const OFFERS_MAX: usize = 4;
/// The number of media of a call that further candidates of ICE are added to.
const WITH_ICE_MAX: usize = 16;

impl Announced {
    /// The number of sockets that were discarded because there were more than 131,072.
    pub(super) const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Whether datagrams may be faxes.
    pub(super) const fn has_faxes(&self) -> bool {
        self.has_faxes
    }

    /// Whether media are announced over TCP.
    pub(super) const fn has_over_tcp(&self) -> bool {
        self.has_over_tcp
    }

    /// Whether media are announced over TCP at this socket.
    pub(super) fn is_over_tcp(&self, end: Endpoint) -> bool {
        let socket = self.sockets.get(&end);
        socket.is_some_and(|socket| socket.media.iter().any(|it| it.media.is_over_tcp()))
    }

    /// Returns the position of a description, and the course of its call. A call that describes media again has not ended. `keys_of`
    /// is the tag of the describing side where it gives keys.
    pub(super) fn describe(
        &mut self,
        call_id: Option<&str>,
        keys_of: Option<&[u8]>,
    ) -> (u64, Arc<CallCourse>) {
        self.events = self.events.saturating_add(1);
        let Some(call_id) = call_id else {
            return (self.events, Arc::default());
        };
        if let Some(call) = self.calls.get_mut(call_id)
            && !call.course.is_over()
        {
            if let Some(tag) = keys_of {
                call.take_keys(tag);
            }
            return (self.events, Arc::clone(&call.course));
        }
        if self.calls.len() >= SOCKETS_MAX {
            // Calls whose sockets were discarded have no effect any more.
            self.calls
                .retain(|_, call| Arc::strong_count(&call.course) > 1);
        }
        let mut call = Call::default();
        if let Some(tag) = keys_of {
            call.take_keys(tag);
        }
        let course = Arc::clone(&call.course);
        if self.calls.len() < SOCKETS_MAX {
            self.calls.insert(call_id.to_owned(), call);
        }
        (self.events, course)
    }

    /// Processes the BYE of a call.
    pub(super) fn end_call(&mut self, call_id: &str) {
        self.events = self.events.saturating_add(1);
        self.offers.remove(call_id);
        if let Some(call) = self.calls.get_mut(call_id)
            && !call.course.is_over()
        {
            call.course.end.store(self.events, Ordering::Relaxed);
            call.with_ice.clear();
        }
    }

    /// Stores media of a side, with its tag, that may name further candidates of ICE.
    pub(super) fn keep_for_candidates(&mut self, call_id: &str, tag: &[u8], media: &Media) {
        let Some(call) = self.calls.get_mut(call_id) else {
            return;
        };
        let tag = tag.get(..TAG_OCTETS_MAX).unwrap_or(tag);
        call.with_ice
            .retain(|(side, known)| side.as_slice() != tag || known.mid != media.mid);
        if call.with_ice.len() < WITH_ICE_MAX {
            call.with_ice.push((tag.to_vec(), media.clone()));
        }
    }

    /// The media of a side to which the candidates of the media with this name belong: those, and those that share their socket in a
    /// bundle; without a name, all of the side.
    pub(super) fn media_with_ice(
        &self,
        call_id: &str,
        tag: &[u8],
        mid: Option<&str>,
    ) -> Vec<Media> {
        let tag = tag.get(..TAG_OCTETS_MAX).unwrap_or(tag);
        let call = self.calls.get(call_id);
        let all = call.map_or(&[][..], |call| call.with_ice.as_slice());
        let own = all.iter().filter(|(side, _)| side.as_slice() == tag);
        let own: Vec<&Media> = own.map(|(_, media)| media).collect();
        let Some(mid) = mid else {
            return own.into_iter().cloned().collect();
        };
        let mut all = own.iter().copied();
        let Some(named) = all.find(|it| it.mid.as_deref() == Some(mid)) else {
            return Vec::new();
        };
        let socket = SocketAddr::new(named.address, named.port);
        let shares = |it: &&Media| {
            it.mid == named.mid
                || SocketAddr::new(it.address, it.port) == socket
                || it.others.contains(&socket)
        };
        own.into_iter().filter(shares).cloned().collect()
    }

    /// Processes the final response to an offer within a call. Where it was refused, what it replaced counts again.
    pub(super) fn answer_offer(&mut self, call_id: &str, offer: &Offer, is_refused: bool) {
        let Some(offers) = self.offers.get_mut(call_id) else {
            return;
        };
        let Some(at) = offers.iter().position(|(open, _)| **open == *offer) else {
            return;
        };
        let (_, ends) = offers.remove(at);
        if offers.is_empty() {
            self.offers.remove(call_id);
        }
        for end in ends {
            if let Some(socket) = self.sockets.get_mut(&end) {
                socket.answer_offer(call_id, offer, is_refused);
            }
        }
    }

    /// Stores the socket of an offer whose response is to come.
    fn open_offer(&mut self, end: Endpoint, announcement: &Announcement) {
        let (Some(call_id), Some(offer)) = (&announcement.call_id, &announcement.offer) else {
            return;
        };
        if !self.offers.contains_key(call_id) && self.offers.len() >= SOCKETS_MAX {
            return;
        }
        let offers = self.offers.entry(call_id.clone()).or_default();
        let known = offers.iter_mut().find(|(open, _)| open == offer);
        if let Some((_, ends)) = known {
            if ends.len() < MEDIA_MAX && !ends.contains(&end) {
                ends.push(end);
            }
            return;
        }
        if offers.len() >= OFFERS_MAX {
            offers.remove(0);
        }
        offers.push((Arc::clone(offer), vec![end]));
    }

    /// Adds an announcement for a socket. Beside the others of the same description (`is_same`), it replaces earlier
    /// announcements of the call; those of other calls stay.
    pub(super) fn insert(&mut self, end: Endpoint, announcement: Arc<Announcement>, is_same: bool) {
        self.has_faxes |= announcement.media.is_fax();
        self.has_over_tcp |= announcement.media.is_over_tcp();
        self.open_offer(end, &announcement);
        let is_new = !self.sockets.contains_key(&end);
        let socket = self.sockets.entry(end).or_default();
        if !is_same {
            socket.replace(&announcement);
        }
        if socket.media.len() >= MEDIA_MAX {
            socket.media.remove(0);
        }
        socket.media.push(announcement);
        if !is_new {
            return;
        }
        self.order.push_back(end);
        if self.order.len() > SOCKETS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.sockets.remove(&oldest);
            self.forgotten = self.forgotten.saturating_add(1);
        }
    }

    /// The announcement of a stream that was found by content, where the message with it was captured in front of the last packet,
    /// and was complete only behind it: messages behind a lost segment are.
    pub(super) fn of_stream(&self, way: &Way) -> Option<Arc<Announcement>> {
        let ends = [way.dst, way.src];
        let socket = ends.iter().find_map(|end| self.sockets.get(end))?;
        let is_before = |it: &&Arc<Announcement>| {
            let times = it.time_ns.zip(way.time_ns);
            times.is_some_and(|(announced, last)| announced <= last)
        };
        socket.media.iter().rev().find(is_before).cloned()
    }

    /// The announcement of a packet, by the socket of its receiver or of its sender.
    pub(super) fn of_packet(&mut self, way: &Way, bytes: &[u8]) -> Option<Arc<Announcement>> {
        let (end, other) = match self.sockets.get_mut(&way.dst) {
            Some(socket) => {
                if let Some(found) = socket.at_once(way, bytes) {
                    return Some(found);
                }
                (way.dst, way.src)
            }
            None => {
                if let Some(found) = self.sockets.get_mut(&way.src)?.at_once(way, bytes) {
                    return Some(found);
                }
                (way.src, way.dst)
            }
        };
        let chosen = Arc::clone(self.choose(end, other, way, bytes)?);
        self.sockets.get_mut(&end)?.know(way, bytes, &chosen);
        Some(chosen)
    }

    /// Chooses the announcement of a packet among all of a socket: by its source (RFC 5576), by whether a call
    /// announced both sockets, by the identifier of the media in its header, and by its payload type (RFC 9143, 9.2),
    /// the latest first.
    fn choose(
        &self,
        end: Endpoint,
        other: Endpoint,
        way: &Way,
        bytes: &[u8],
    ) -> Option<&Arc<Announcement>> {
        let media = self.sockets.get(&end)?.media.as_slice();
        let beside = self.sockets.get(&other);
        let beside = beside.map_or(&[][..], |socket| socket.media.as_slice());
        let of_sender = if end == way.src { media } else { beside };
        if let Some(ssrc) = ssrc(bytes)
            && let Some(own) = of_sender
                .iter()
                .rev()
                .find(|it| it.media.sources.contains(&ssrc))
            && let Some(found) = media.iter().rev().find(|it| {
                it.is_of_call(own)
                    && it.media.mid == own.media.mid
                    && it.media.kind == own.media.kind
            })
        {
            return Some(found);
        }
        let is_of_both = |it: &&Arc<Announcement>| beside.iter().any(|other| other.is_of_call(it));
        let packet = RtpPacket::sealed(bytes, way.missing);
        let has_type = |it: &&Arc<Announcement>| {
            let payload_type = packet.as_ref().map(RtpPacket::payload_type);
            payload_type.is_some_and(|it_has| it.media.codec(it_has).is_some())
        };
        let latest = || media.iter().rev();
        // Several calls may go on between the same sockets: one that announced the payload type of the packet is
        // preferred.
        let is_possible = |it: &&Arc<Announcement>| is_of_both(it) && has_type(it) && !it.is_over();
        // Legs of one call may announce the same sockets: both directions are of the leg that has the first one.
        let back = self.back(end, other, way.passed_ns);
        let call = back.and_then(|back| latest().find(|it| is_possible(it) && it.is_of_call(back)));
        let call = call
            .or_else(|| latest().find(is_possible))
            .or_else(|| latest().find(is_of_both))
            .or(media.last())?;
        let of_call = || latest().filter(|it| it.is_of_call(call));
        let named = packet.and_then(|packet| of_call().find(|it| is_named(&packet, &it.media)));
        named
            .or_else(|| of_call().find(has_type))
            .or_else(|| of_call().next())
    }
}

impl Announced {
    /// The announcement of a stream that goes the other way, from one of two sockets to the other, where its call has none that goes
    /// this way: the latest one.
    fn back(&self, from: Endpoint, to: Endpoint, now_ns: i64) -> Option<&Announcement> {
        let goes_on = |it: &&AnnouncedStream| now_ns.saturating_sub(it.last_ns) <= CALL_PAUSE_NS;
        let sent_to = |end: Endpoint, by: Endpoint| {
            let streams = self.sockets.get(&end).map(|socket| socket.streams.iter());
            let streams = streams.into_iter().flatten().filter(goes_on);
            streams.filter(move |it| it.sender == by)
        };
        let has_none = |it: &&AnnouncedStream| {
            let mut others = sent_to(from, to);
            !others.any(|other| other.announcement.is_of_call(&it.announcement))
        };
        let back = sent_to(to, from).filter(has_none);
        let latest = back.max_by_key(|it| it.announcement.order)?;
        Some(&latest.announcement)
    }
}

impl Socket {
    /// Removes the announcements of the call of another one, and stores them while that one is an offer.
    fn replace(&mut self, by: &Announcement) {
        let is_again = self.media.iter().any(|it| it.is_of_offer(by));
        if !is_again {
            self.replaced.retain(|it| !it.is_of_call(by));
        }
        let Self {
            media, replaced, ..
        } = self;
        media.retain(|it| {
            let is_of_call = it.is_of_call(by);
            if is_of_call && !is_again && by.offer.is_some() && replaced.len() < MEDIA_MAX {
                replaced.push(Arc::clone(it));
            }
            !is_of_call
        });
    }

    /// Removes what an offer replaced, or the offer where it was refused and replaced something.
    fn answer_offer(&mut self, call_id: &str, offer: &Offer, is_refused: bool) {
        let is_of_call = |it: &Arc<Announcement>| it.call_id.as_deref() == Some(call_id);
        let is_of_offer =
            |it: &Arc<Announcement>| is_of_call(it) && it.offer.as_deref() == Some(offer);
        if !self.media.iter().any(is_of_offer) {
            return;
        }
        let (before, replaced): (Vec<_>, Vec<_>) = std::mem::take(&mut self.replaced)
            .into_iter()
            .partition(is_of_call);
        self.replaced = replaced;
        if is_refused && !before.is_empty() {
            self.media.retain(|it| !is_of_offer(it));
            self.media.extend(before);
        }
    }

    /// The announcement of a packet where there is no choice: it is the only one, or that of the stream is known.
    fn at_once(&mut self, way: &Way, bytes: &[u8]) -> Option<Arc<Announcement>> {
        let source = ssrc(bytes);
        let now_ns = way.passed_ns;
        let media = &self.media;
        let replaced = &self.replaced;
        let mut streams = self.streams.iter_mut();
        let known = streams.find(|it| Some(it.ssrc) == source && it.sender == way.src);
        if let Some(known) = known {
            // A sender of sound goes on for a while after the other side has asked for a fax.
            let is_beside_fax = media
                .iter()
                .any(|it| it.media.is_fax() && it.is_of_call(&known.announcement));
            let is_known = |it: &Arc<Announcement>| Arc::ptr_eq(it, &known.announcement);
            // What an offer replaces counts until the answer.
            let is_before_answer = || {
                let packet = RtpPacket::sealed(bytes, way.missing);
                let codec = packet.and_then(|it| known.announcement.media.codec(it.payload_type()));
                codec.is_some() && replaced.iter().any(is_known)
            };
            let is_there = is_beside_fax || media.iter().any(is_known) || is_before_answer();
            let is_going_on = (is_beside_fax
                || now_ns.saturating_sub(known.last_ns) <= CALL_PAUSE_NS)
                && !media.iter().any(|it| known.announcement.gives_way_to(it));
            let is_other = || {
                RtpPacket::sealed(bytes, way.missing).is_some_and(|packet| {
                    let mut others = media.iter();
                    let named = others.find(|it| is_named(&packet, &it.media));
                    named.is_some_and(|it| it.media.mid != known.announcement.media.mid)
                })
            };
            if is_there && is_going_on && (media.len() == 1 || !is_other()) {
                known.last_ns = now_ns;
                return Some(Arc::clone(&known.announcement));
            }
        }
        let [only] = media.as_slice() else {
            return None;
        };
        let only = Arc::clone(only);
        self.know(way, bytes, &only);
        Some(only)
    }

    /// Stores the announcement of the stream of a packet, so that it stays when another call announces the socket.
    fn know(&mut self, way: &Way, bytes: &[u8], announcement: &Arc<Announcement>) {
        let is_report = u8_at(bytes, 1).is_some_and(|second| matches!(second, 192..=223));
        let Some(ssrc) = ssrc(bytes).filter(|_| !is_report && !announcement.media.is_fax()) else {
            return;
        };
        self.streams
            .retain(|it| it.ssrc != ssrc || it.sender != way.src);
        if self.streams.len() >= STREAMS_MAX {
            self.streams.remove(0);
        }
        self.streams.push(AnnouncedStream {
            sender: way.src,
            ssrc,
            last_ns: way.passed_ns,
            announcement: Arc::clone(announcement),
        });
    }
}

/// The source of a packet of RTP, or the sender of one of RTCP.
fn ssrc(bytes: &[u8]) -> Option<u32> {
    match u8_at(bytes, 1)? {
        192..=223 => u32_be_at(bytes, 4),
        _ => u32_be_at(bytes, 8),
    }
}

/// Whether the header of a packet has the identifier of these media.
fn is_named(packet: &RtpPacket<'_>, media: &Media) -> bool {
    let (Some(mid), Some(number)) = (&media.mid, media.mid_extension) else {
        return false;
    };
    packet.extension_element(number) == Some(mid.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(last: u8, port: u16) -> Endpoint {
        Endpoint {
            address: [10, 0, 0, last].into(),
            port,
        }
    }

    fn way(src: Endpoint, dst: Endpoint, ms: i64) -> Way {
        Way {
            flow: 1,
            src,
            dst,
            transport: "udp",
            time_ns: Some(ms * 1_000_000),
            passed_ns: ms * 1_000_000,
            frame: 1,
            missing: 0,
            identification: None,
        }
    }

    /// A packet of this payload type and source, with the name of its media in extension 3.
    fn packet(payload_type: u8, ssrc: u32, mid: &str) -> Vec<u8> {
        let mut bytes = vec![0x90, payload_type, 0, 1, 0, 0, 0, 2];
        bytes.extend(ssrc.to_be_bytes());
        let mut elements = vec![];
        if !mid.is_empty() {
            elements.push(3 << 4 | (mid.len() as u8 - 1));
            elements.extend(mid.bytes());
        }
        elements.resize(elements.len().next_multiple_of(4), 0);
        bytes.extend([0xbe, 0xde, 0, (elements.len() / 4) as u8]);
        bytes.extend(elements);
        bytes.extend([1, 2, 3, 4]);
        bytes
    }

    /// Adds the media that a call announces for a socket.
    fn announce(announced: &mut Announced, call: &str, end: Endpoint, attributes: &str) {
        offer(announced, call, end, attributes, None);
    }

    /// Adds the media that an offer within a call announces, or another description.
    fn offer(
        announced: &mut Announced,
        call: &str,
        end: Endpoint,
        attributes: &str,
        offer: Option<&Arc<Offer>>,
    ) {
        let port = end.port;
        let text = attributes.replace("{port}", &port.to_string());
        let media = weir_messages::sdp::media_and_faxes(
            format!("c=IN IP4 {}\n{text}", end.address).as_bytes(),
        );
        for (number, media) in media.into_iter().enumerate() {
            let (order, course) = announced.describe(Some(call), None);
            let announcement = Announcement {
                by: "sip",
                call_id: Some(call.to_owned()),
                frame: 1,
                time_ns: None,
                media,
                offer: offer.cloned(),
                order,
                course,
                dialog: Arc::default(),
            };
            announced.insert(end, Arc::new(announcement), number > 0);
        }
    }

    fn found(announced: &mut Announced, way: &Way, bytes: &[u8]) -> String {
        let found = announced.of_packet(way, bytes).unwrap();
        let mid = found.media.mid.as_deref().unwrap_or(&found.media.kind);
        format!("{} {mid}", found.call_id.as_deref().unwrap())
    }

    /// Two media have one payload type: only names and sources distinguish them (RFC 9143, 9.2).
    #[test]
    fn bundled_media_are_distinguished_by_name_and_by_source() {
        let mut announced = Announced::default();
        let (here, there) = (end(1, 4_000), end(2, 5_000));
        let bundle = "m=video {port} RTP/AVP 96\na=mid:one\na=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid\na=ssrc:7 x:y\n\
            m=video {port} RTP/AVP 96\na=mid:two\na=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid\n";
        announce(&mut announced, "a", here, bundle);
        announce(
            &mut announced,
            "a",
            there,
            &bundle.replace("ssrc:7", "ssrc:8"),
        );
        let there_to_here = way(there, here, 0);
        let here_to_there = way(here, there, 0);
        for (way, ssrc, mid, expected) in [
            (&there_to_here, 1, "one", "a one"),
            (&there_to_here, 2, "two", "a two"),
            // A source that once had the identifier is known.
            (&there_to_here, 1, "", "a one"),
            (&there_to_here, 2, "", "a two"),
            // Another name takes precedence.
            (&there_to_here, 2, "one", "a one"),
            // The sources are those of the sender.
            (&here_to_there, 7, "", "a one"),
            (&there_to_here, 8, "", "a one"),
        ] {
            assert_eq!(
                found(&mut announced, way, &packet(96, ssrc, mid)),
                expected,
                "{ssrc} {mid}"
            );
        }
    }

    #[test]
    fn calls_at_once_on_the_same_sockets_keep_their_streams() {
        let mut announced = Announced::default();
        let (here, there) = (end(1, 4_000), end(2, 5_000));
        let audio = "m=audio {port} RTP/AVP 0\n";
        let to_there = way(here, there, 0);
        for call in ["a", "b"] {
            announce(&mut announced, call, here, audio);
            announce(&mut announced, call, there, audio);
            let ssrc = u32::from(call == "b") + 1;
            let expected = format!("{call} audio");
            assert_eq!(
                found(&mut announced, &to_there, &packet(0, ssrc, "")),
                expected
            );
        }
        for (ms, ssrc, expected) in [(20, 1, "a audio"), (20, 2, "b audio"), (40, 1, "a audio")] {
            assert_eq!(
                found(&mut announced, &way(here, there, ms), &packet(0, ssrc, "")),
                expected
            );
        }
        // The source belongs to the later call when it sends again after a pause.
        assert_eq!(
            found(&mut announced, &way(here, there, 5_000), &packet(0, 1, "")),
            "b audio"
        );
    }

    /// Both calls announced both sockets, and the packets were assigned to those of the later one.
    #[test]
    fn calls_at_once_on_the_same_sockets_are_distinguished_by_their_payload_types() {
        let mut announced = Announced::default();
        let (here, there) = (end(1, 4_000), end(2, 5_000));
        for (call, payload_type) in [("a", 0), ("b", 8)] {
            let audio = format!("m=audio {{port}} RTP/AVP {payload_type}\n");
            announce(&mut announced, call, here, &audio);
            announce(&mut announced, call, there, &audio);
        }
        let to_there = way(here, there, 0);
        for (payload_type, expected) in [(0, "a audio"), (8, "b audio"), (18, "b audio")] {
            let packet = packet(payload_type, u32::from(payload_type) + 1, "");
            assert_eq!(found(&mut announced, &to_there, &packet), expected);
        }
        // A call that has ended gets no more packets.
        announced.end_call("a");
        assert_eq!(
            found(&mut announced, &to_there, &packet(0, 99, "")),
            "b audio"
        );
    }

    #[test]
    fn a_call_that_begins_behind_the_end_of_another_has_its_streams_at_once() {
        let audio = "m=audio {port} RTP/AVP 0\n";
        let (here, there) = (end(1, 4_000), end(2, 5_000));
        // Legs of one call announce the same sockets before the first of them ends.
        for (ends_first, expected) in [(true, "b audio"), (false, "a audio")] {
            let mut announced = Announced::default();
            let begin = |announced: &mut Announced, call: &str| {
                announce(announced, call, here, audio);
                announce(announced, call, there, audio);
            };
            begin(&mut announced, "a");
            let to_there = way(here, there, 0);
            assert_eq!(
                found(&mut announced, &to_there, &packet(0, 1, "")),
                "a audio"
            );
            if ends_first {
                announced.end_call("a");
                begin(&mut announced, "b");
            } else {
                begin(&mut announced, "b");
                announced.end_call("a");
            }
            let to_there = way(here, there, 20);
            assert_eq!(
                found(&mut announced, &to_there, &packet(0, 1, "")),
                expected
            );
            // A call that continues after its end, as one with the same Call-ID does, keeps its media.
            begin(&mut announced, "b");
            let to_there = way(here, there, 40);
            assert_eq!(
                found(&mut announced, &to_there, &packet(0, 1, "")),
                "b audio"
            );
        }
    }

    /// The relay has one socket for both of its legs.
    #[test]
    fn legs_that_share_a_socket_of_a_relay_have_their_own_media() {
        let mut announced = Announced::default();
        let (caller, relay, callee) = (end(1, 4_000), end(9, 9_000), end(2, 5_000));
        let audio = "m=audio {port} RTP/AVP 0\n";
        for (call, other) in [("in", caller), ("out", callee)] {
            announce(&mut announced, call, other, audio);
            announce(&mut announced, call, relay, audio);
        }
        for (other, expected) in [(caller, "in audio"), (callee, "out audio")] {
            for way in [way(other, relay, 0), way(relay, other, 0)] {
                assert_eq!(found(&mut announced, &way, &packet(0, 1, "")), expected);
            }
        }
    }

    /// A server of calls has a Call-ID for each side, and leaves the media to them: each leg had one direction.
    #[test]
    fn legs_with_the_same_sockets_have_both_directions_or_none() {
        let mut announced = Announced::default();
        let (caller, callee) = (end(1, 4_000), end(2, 5_000));
        let audio = "m=audio {port} RTP/AVP 0\n";
        for (call, socket) in [
            ("in", caller),
            ("out", caller),
            ("out", callee),
            ("in", callee),
        ] {
            announce(&mut announced, call, socket, audio);
        }
        for (way, ssrc) in [(way(caller, callee, 0), 1), (way(callee, caller, 0), 2)] {
            let packet = packet(0, ssrc, "");
            assert_eq!(found(&mut announced, &way, &packet), "in audio");
        }
        // Another call between the same sockets has streams of its own.
        announce(&mut announced, "next", caller, audio);
        announce(&mut announced, "next", callee, audio);
        for (way, ssrc) in [(way(callee, caller, 20), 3), (way(caller, callee, 20), 4)] {
            let packet = packet(0, ssrc, "");
            assert_eq!(found(&mut announced, &way, &packet), "next audio");
        }
    }

    /// RFC 4568, 9.1 and 5.1.2: keys of an offer count where the answer has some, too.
    #[test]
    fn media_are_encrypted_where_both_sides_gave_keys() {
        let here = end(1, 4_000);
        for (tags, is_secure) in [
            (&["x"][..], false),
            (&["x", "x"], false),
            (&["x", "y"], true),
        ] {
            let mut announced = Announced::default();
            let keys = "m=audio {port} RTP/AVP 0\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:x\n";
            announce(&mut announced, "a", here, keys);
            for tag in tags {
                announced.describe(Some("a"), Some(tag.as_bytes()));
            }
            let way = way(end(2, 5_000), here, 0);
            let found = announced.of_packet(&way, &packet(0, 1, "")).unwrap();
            assert_eq!(found.is_secure(), is_secure, "{tags:?}");
        }
    }

    /// RFC 3264, 8: until an offer is answered, media are as they were; payload types had the codecs of the offer.
    #[test]
    fn an_offer_counts_behind_its_answer() {
        let (here, there) = (end(1, 4_000), end(2, 5_000));
        let audio = |codec: &str| format!("m=audio {{port}} RTP/AVP 96\na=rtpmap:96 {codec}\n");
        for (is_refused, after) in [(true, "AMR"), (false, "opus")] {
            let mut announced = Announced::default();
            announce(&mut announced, "a", here, &audio("AMR/8000"));
            announce(&mut announced, "a", there, &audio("AMR/8000"));
            let codec = |announced: &mut Announced| {
                let found = announced.of_packet(&way(there, here, 0), &packet(96, 1, ""));
                found.unwrap().media.codec(96).unwrap().name.clone()
            };
            assert_eq!(codec(&mut announced), "AMR");
            let own = offer_of("x", 2);
            let changed = audio("opus/48000/2");
            offer(&mut announced, "a", here, &changed, Some(&own));
            assert_eq!(codec(&mut announced), "AMR");
            announced.answer_offer("a", &own, is_refused);
            assert_eq!(codec(&mut announced), after);
        }
    }

    fn offer_of(from_tag: &str, number: u32) -> Arc<Offer> {
        Arc::new(Offer {
            from_tag: from_tag.into(),
            number,
        })
    }

    /// RFC 3261, 14.1: a refused offer leaves the session as it was.
    #[test]
    fn a_refused_offer_leaves_what_was_agreed() {
        let (here, there) = (end(1, 4_000), end(2, 5_000));
        let before = "m=audio {port} RTP/AVP 0\na=mid:before\n";
        let fax = "m=image {port} udptl t38\n";
        let other = "m=audio {port} RTP/AVP 0\na=mid:other\n";
        for (is_refused, expected) in [(true, "a before"), (false, "a other")] {
            let mut announced = Announced::default();
            announce(&mut announced, "a", here, before);
            announce(&mut announced, "a", there, before);
            // The request is sent twice, and both sides have requests with the same number.
            let offers = [offer_of("x", 2), offer_of("y", 2)];
            for _ in 0..2 {
                offer(&mut announced, "a", there, other, Some(&offers[0]));
                offer(&mut announced, "a", here, fax, Some(&offers[1]));
            }
            announced.answer_offer("a", &offers[0], is_refused);
            announced.answer_offer("a", &offers[1], true);
            // A second response, and one to no offer that is known, change nothing.
            announced.answer_offer("a", &offers[0], !is_refused);
            announced.answer_offer("a", &offer_of("x", 9), true);
            assert!(announced.offers.is_empty());
            let to_there = way(here, there, 0);
            let to_here = way(there, here, 0);
            assert_eq!(
                found(&mut announced, &to_there, &packet(0, 1, "")),
                expected
            );
            assert_eq!(
                found(&mut announced, &to_here, &packet(0, 2, "")),
                "a before"
            );
            let replaced = |end: &Endpoint| announced.sockets[end].replaced.len();
            assert_eq!([replaced(&here), replaced(&there)], [0, 0]);
        }
    }

    #[test]
    fn sound_goes_on_beside_a_fax_that_is_asked_for() {
        let mut announced = Announced::default();
        let (here, there) = (end(1, 4_000), end(2, 5_000));
        announce(&mut announced, "a", here, "m=audio {port} RTP/AVP 0\n");
        announce(&mut announced, "a", there, "m=audio {port} RTP/AVP 0\n");
        let to_there = |ms| way(here, there, ms);
        let sound = packet(0, 7, "");
        assert_eq!(found(&mut announced, &to_there(0), &sound), "a audio");
        announce(&mut announced, "a", there, "m=image {port} udptl t38\n");
        assert_eq!(found(&mut announced, &to_there(20), &sound), "a audio");
        let fax = b"\x80\x00\x03\xc0\x01\x80\0\0\x01\x06\0\0\0\0";
        assert_eq!(found(&mut announced, &to_there(40), fax), "a image");
        assert_eq!(found(&mut announced, &to_there(9_000), &sound), "a audio");
    }

    #[test]
    fn offers_without_responses_have_a_limit() {
        let mut announced = Announced::default();
        for number in 0..1_000 {
            let own = offer_of("x", number);
            let audio = "m=audio {port} RTP/AVP 0\n";
            offer(&mut announced, "a", end(1, 4_000), audio, Some(&own));
        }
        assert_eq!(announced.offers["a"].len(), OFFERS_MAX);
        let socket = &announced.sockets[&end(1, 4_000)];
        assert_eq!((socket.media.len(), socket.replaced.len()), (1, 1));
        announced.end_call("a");
        assert!(announced.offers.is_empty());
    }

    #[test]
    fn what_is_kept_of_a_socket_has_a_limit() {
        let mut announced = Announced::default();
        let (here, there) = (end(1, 4_000), end(2, 5_000));
        for call in 0..1_000_u32 {
            announce(
                &mut announced,
                &call.to_string(),
                here,
                "m=audio {port} RTP/AVP 0\n",
            );
            assert!(
                announced
                    .of_packet(&way(there, here, 0), &packet(0, call, ""))
                    .is_some()
            );
        }
        let socket = &announced.sockets[&here];
        assert_eq!(
            (socket.media.len(), socket.streams.len()),
            (MEDIA_MAX, STREAMS_MAX)
        );
    }
}
