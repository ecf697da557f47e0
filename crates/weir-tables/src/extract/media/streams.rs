//! The streams of RTP and of T.38, and the values that signalling and RTCP report about them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use weir_messages::rtp::quality::{Impairment, Inputs, opinion, rating};
use weir_messages::rtp::rtcp::{self, Report};
use weir_messages::rtp::{Arrival, Codec, Event, Measure};

use super::announced::{Announcement, CALL_PAUSE_NS};
use super::dialog::DialogTags;
use super::finder::{FaxSight, Pair, RtpSight, Sight};
use super::pressed::Pressed;
use super::trips::Trips;
use crate::extract::messages::Way;

/// A stream: the packets from one socket to another with the same source, or those of a fax.
pub(in crate::extract) struct Stream {
    /// The sockets, with record and time of the last packet.
    pub(in crate::extract) way: Way,
    /// The synchronization source (SSRC); `None` for T.38 over UDPTL, which has none.
    pub(in crate::extract) ssrc: Option<u32>,
    pub(in crate::extract) start_ns: Option<i64>,
    start_passed_ns: i64,
    pub(in crate::extract) first_frame: u64,
    pub(in crate::extract) measure: Measure,
    pub(in crate::extract) octets: u64,
    pub(in crate::extract) payload_types: Vec<u32>,
    /// The names of the codecs, in the order in which they came.
    pub(in crate::extract) codecs: Vec<String>,
    pub(in crate::extract) announced: Option<Arc<Announcement>>,
    pub(in crate::extract) keys: String,
    pub(in crate::extract) events: u32,
    pressed: Pressed,
    pub(in crate::extract) comfort_noise: u64,
    pub(in crate::extract) markers: u64,
    pub(in crate::extract) reported: Reported,
}

/// The quality of the streams of a call.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::extract) struct Heard {
    /// The lowest mean opinion score.
    pub(in crate::extract) mos: Option<f64>,
    /// The number of lost packets; `None` without streams.
    pub(in crate::extract) missing: Option<u64>,
    /// The highest mean jitter, in milliseconds.
    pub(in crate::extract) jitter_ms: Option<f64>,
}

impl Heard {
    fn of(stream: &Stream) -> Self {
        Self {
            mos: stream.opinion(),
            missing: Some(stream.measure.missing()),
            jitter_ms: stream.measure.jitters_ms().map(|jitters| jitters.1),
        }
    }

    fn add(&mut self, other: &Self) {
        let worst =
            |one: Option<f64>, other: Option<f64>, worst: fn(f64, f64) -> f64| match (one, other) {
                (Some(one), Some(other)) => Some(worst(one, other)),
                (one, other) => one.or(other),
            };
        self.mos = worst(self.mos, other.mos, f64::min);
        self.jitter_ms = worst(self.jitter_ms, other.jitter_ms, f64::max);
        self.missing = match (self.missing, other.missing) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
    }
}

/// The time of a record by its clock, where that is known, and the time that had passed by then: clocks step, and messages that wait
/// for a missing segment are complete later than they were sent.
pub(in crate::extract) type Moment = (Option<i64>, i64);

/// The time from the first message of a call to the last one; there is no last one while it goes on.
#[derive(Clone, Copy, Debug)]
pub(in crate::extract) struct CallSpan {
    pub(in crate::extract) first: Moment,
    pub(in crate::extract) last: Option<Moment>,
}

impl CallSpan {
    /// The span of all calls.
    pub(in crate::extract) const ALL: Self = Self {
        first: (None, i64::MIN),
        last: None,
    };

    /// Whether a stream with these times of its first and last packet was sent during the call: it was not where both times say so.
    fn has(self, start: Moment, end: Moment) -> bool {
        let is_before = |one: Moment, other: Moment| {
            let times = one.0.zip(other.0);
            times.is_some_and(|(one_ns, other_ns)| one_ns < other_ns) && one.1 < other.1
        };
        !is_before(end, self.first) && self.last.is_none_or(|last| !is_before(last, start))
    }
}

/// The quality of a stream that has ended, its times, and the dialog that announced it.
struct PastStream {
    dialog: Option<Arc<DialogTags>>,
    start: Moment,
    end: Moment,
    heard: Heard,
}

/// The streams of calls.
#[derive(Default)]
pub(in crate::extract) struct CallStreams {
    streams: Streams,
    /// The followed streams by their Call-ID.
    by_call: HashMap<String, Vec<Key>>,
    /// The streams that have ended, and the order of their calls.
    past: HashMap<String, Vec<PastStream>>,
    past_order: VecDeque<String>,
    /// The number of streams that have no part in the quality of their call.
    left_out: u64,
    /// The number of late descriptions whose streams were looked for, and that of packets since.
    late: u64,
    packets: usize,
}

/// The number of calls with ended streams that are remembered.
const PAST_MAX: usize = 1 << 16;
/// The number of streams of a call.
const OF_CALL_MAX: usize = 64;

impl CallStreams {
    /// The counters of what was given up because of limits.
    pub(in crate::extract) const fn counted(&self) -> [(u64, &'static str); 1] {
        [(
            self.left_out,
            "streams have no part in call.mos, call.lost and call.jitter because their call had more than 64 at one time",
        )]
    }

    /// Reads a packet of media.
    pub(in crate::extract) fn sight(&mut self, sight: &Sight<'_>) {
        match sight {
            Sight::Rtp(sight) => self.rtp(sight),
            Sight::Rtcp(bytes, way, _) => self.rtcp(bytes, way),
            Sight::Fax(sight) => self.fax(sight),
        }
    }

    /// Reads a packet of RTP.
    pub(in crate::extract) fn rtp(&mut self, sight: &RtpSight<'_>) {
        let key = (sight.way.pair(), Some(sight.packet.ssrc()));
        self.take(key, sight.announced.as_ref(), &mut |streams, on_end| {
            streams.rtp(sight, on_end)
        });
    }

    /// Reads a datagram of T.38.
    pub(in crate::extract) fn fax(&mut self, sight: &FaxSight) {
        let key = (sight.way.pair(), None);
        self.take(key, Some(&sight.announced), &mut |streams, on_end| {
            streams.fax(sight, on_end)
        });
    }

    /// Calls `take` with the stream `key`, which returns whether the stream is new, or has got its announcement.
    fn take(
        &mut self,
        key: Key,
        announced: Option<&Arc<Announcement>>,
        take: &mut dyn FnMut(&mut Streams, &mut OnStreamEnd<'_>) -> bool,
    ) {
        self.packets = self.packets.saturating_add(1);
        let Self {
            streams,
            by_call,
            past,
            past_order,
            left_out,
            ..
        } = self;
        let is_next = take(streams, &mut |stream| {
            let Some(call_id) = stream.call_id() else {
                return;
            };
            let key = (stream.way.pair(), stream.ssrc);
            if let Some(keys) = by_call.get_mut(call_id) {
                keys.retain(|known| *known != key);
                if keys.is_empty() {
                    by_call.remove(call_id);
                }
            }
            if !past.contains_key(call_id) {
                past_order.push_back(call_id.to_owned());
            }
            let ended = past.entry(call_id.to_owned()).or_default();
            let (end, heard) = (stream.end(), Heard::of(&stream));
            let is_full = ended.len() >= OF_CALL_MAX;
            match ended.last_mut().filter(|_| is_full) {
                Some(last) => {
                    last.end = end;
                    last.heard.add(&heard);
                }
                None => ended.push(PastStream {
                    dialog: stream.announced.as_ref().map(|it| Arc::clone(&it.dialog)),
                    start: stream.start(),
                    end,
                    heard,
                }),
            }
            if past_order.len() > PAST_MAX
                && let Some(oldest) = past_order.pop_front()
            {
                past.remove(&oldest);
            }
        });
        let Some(call_id) = announced.and_then(|it| it.call_id.as_deref()) else {
            return;
        };
        if is_next {
            let keys = by_call.entry(call_id.to_owned()).or_default();
            if keys.contains(&key) {
                return;
            }
            match keys.len() < OF_CALL_MAX {
                true => keys.push(key),
                false => *left_out = left_out.saturating_add(1),
            }
        }
    }

    /// Reads a datagram of RTCP.
    pub(in crate::extract) fn rtcp(&mut self, bytes: &[u8], way: &Way) {
        self.streams.rtcp(bytes, way);
    }

    /// Gives streams without an announcement that of a late description, of which there were so many so far. A look at all streams
    /// needs as many packets since the last one.
    pub(in crate::extract) fn adopt_late(
        &mut self,
        late: u64,
        find: &dyn Fn(&Way) -> Option<Arc<Announcement>>,
    ) {
        if late != self.late && self.packets >= self.streams.open.len() {
            self.late = late;
            self.packets = 0;
            self.adopt(find);
        }
    }

    /// Gives streams without an announcement the one that `find` has for their sockets.
    pub(in crate::extract) fn adopt(&mut self, find: &dyn Fn(&Way) -> Option<Arc<Announcement>>) {
        let Self {
            streams,
            by_call,
            left_out,
            ..
        } = self;
        for (key, stream) in &mut streams.open {
            if stream.announced.is_some() {
                continue;
            }
            stream.announced = find(&stream.way);
            let Some(call_id) = stream.call_id() else {
                continue;
            };
            let keys = by_call.entry(call_id.to_owned()).or_default();
            match keys.len() < OF_CALL_MAX {
                true => keys.push(*key),
                false => *left_out = left_out.saturating_add(1),
            }
        }
    }

    /// The quality of the streams of a call so far. Calls that have one Call-ID are distinguished by the tags of their `sides`, and
    /// those that come one after the other by their times.
    pub(in crate::extract) fn heard(
        &self,
        call_id: &[u8],
        sides: &[&[u8]],
        span: CallSpan,
    ) -> Heard {
        let call_id = String::from_utf8_lossy(call_id);
        let mut heard = Heard::default();
        for past in self.past.get(&*call_id).into_iter().flatten() {
            let dialog = past.dialog.as_deref();
            let is_of_call = dialog.is_none_or(|dialog| dialog.may_be_of(sides));
            if is_of_call && span.has(past.start, past.end) {
                heard.add(&past.heard);
            }
        }
        for key in self.by_call.get(&*call_id).into_iter().flatten() {
            if let Some(stream) = self.streams.open.get(key)
                && stream.call_id() == Some(&*call_id)
                && let Some(announced) = stream.announced.as_deref()
                && announced.dialog.may_be_of(sides)
                && span.has(stream.start(), stream.end())
            {
                heard.add(&Heard::of(stream));
            }
        }
        heard
    }
}

/// The reports of RTCP about a stream.
#[derive(Default)]
pub(in crate::extract) struct Reported {
    /// The number of reports of receivers.
    pub(in crate::extract) reports: u32,
    /// The cumulative number of packets lost in the last report.
    pub(in crate::extract) lost: Option<i32>,
    /// The highest fraction lost of a report, in 256ths.
    pub(in crate::extract) fraction_max: Option<u8>,
    /// The highest jitter of a report, in ticks of the media's clock.
    pub(in crate::extract) jitter_max: Option<u32>,
    /// The last round-trip time from the place of the capture to the receiver, in milliseconds.
    pub(in crate::extract) round_trip_ms: Option<f64>,
    /// The number of packets that the sender reports.
    pub(in crate::extract) sent: Option<u32>,
    pub(in crate::extract) name: Option<String>,
    pub(in crate::extract) rating: Option<u8>,
    pub(in crate::extract) listening: Option<f64>,
    pub(in crate::extract) conversing: Option<f64>,
}

/// The number of payload types, and of codecs, of a stream that are listed.
const KINDS_MAX: usize = 16;
/// The number of telephone keys that are listed.
const KEYS_MAX: usize = 256;
/// The number of octets of a canonical name that are stored.
const NAME_OCTETS_MAX: usize = 255;

impl Stream {
    fn new(way: &Way, ssrc: Option<u32>, announced: Option<&Arc<Announcement>>) -> Self {
        Self {
            way: *way,
            ssrc,
            start_ns: way.time_ns,
            start_passed_ns: way.passed_ns,
            first_frame: way.frame,
            measure: Measure::default(),
            octets: 0,
            payload_types: Vec::new(),
            codecs: Vec::new(),
            announced: announced.cloned(),
            keys: String::new(),
            events: 0,
            pressed: Pressed::default(),
            comfort_noise: 0,
            markers: 0,
            reported: Reported::default(),
        }
    }

    fn take(&mut self, sight: &RtpSight<'_>) {
        let packet = &sight.packet;
        if self.is_given_up(&sight.way) {
            return;
        }
        if self.announced.is_none() {
            self.announced = sight.announced.clone();
        }
        let codec = sight.codec();
        let is_event = codec.as_ref().is_some_and(Codec::is_events);
        let is_redundant = codec.as_ref().is_some_and(Codec::is_redundant);
        let is_comfort_noise = codec.as_ref().is_some_and(Codec::is_comfort_noise);
        self.measure.take(&Arrival {
            time_ns: sight.way.time_ns.unwrap_or_default(),
            sequence: packet.sequence(),
            timestamp: packet.timestamp(),
            marker: packet.marker(),
            clock_rate: codec
                .as_ref()
                .filter(|_| !is_event)
                .and_then(Codec::sure_clock_rate),
            is_comfort_noise,
        });
        self.octets = self
            .octets
            .saturating_add(packet.payload_len().unwrap_or(packet.payload().len()) as u64);
        self.markers = self.markers.saturating_add(packet.marker().into());
        self.comfort_noise = self.comfort_noise.saturating_add(is_comfort_noise.into());
        let payload_type = packet.payload_type().into();
        if !self.payload_types.contains(&payload_type) && self.payload_types.len() < KINDS_MAX {
            self.payload_types.push(payload_type);
        }
        // A later description may give a payload type to another codec.
        if let Some(codec) = codec
            && self.codecs.len() < KINDS_MAX
            && !self.codecs.iter().any(|known| *known == codec.name)
        {
            self.codecs.push(codec.name.into_owned());
        }
        if is_event && !sight.is_secure() {
            let at = (packet.sequence(), packet.timestamp());
            self.press(at, packet.marker(), packet.payload());
        }
        if is_redundant && !sight.is_secure() {
            self.press_in_blocks(sight);
        }
        self.way.go_on(&sight.way);
    }

    /// Whether a packet came in fragments of which others did not come: its receiver has lost it. It is read once they are given up,
    /// behind later ones.
    fn is_given_up(&mut self, way: &Way) -> bool {
        let is_earlier = way.missing > 0 && way.time_ns < self.way.time_ns;
        if is_earlier {
            self.way.passed_ns = way.passed_ns;
        }
        is_earlier
    }

    /// Reads the named events of redundant data, the older ones first: packets of an event have copies of it, and of those before.
    fn press_in_blocks(&mut self, sight: &RtpSight<'_>) {
        let packet = &sight.packet;
        for block in packet.blocks() {
            let codec = sight.codec_of(block.payload_type, block.payload);
            if codec.as_ref().is_some_and(Codec::is_events) {
                let timestamp = packet.timestamp().wrapping_sub(block.offset.into());
                let at = (packet.sequence(), timestamp);
                self.press(at, packet.marker() && block.offset == 0, block.payload);
            }
        }
    }

    /// Reads the named events of a payload: the number and the timestamp of its packet, and whether that has a marker.
    fn press(&mut self, (sequence, timestamp): (u16, u32), marker: bool, payload: &[u8]) {
        for (since, event) in Event::all(payload) {
            let at = (sequence, timestamp.wrapping_add(since));
            if self.pressed.begins(at, marker, event) {
                self.events = self.events.saturating_add(1);
                if self.keys.len() < KEYS_MAX
                    && let Some(key) = event.key()
                {
                    let place = self.pressed.place_key(at, self.keys.len());
                    self.keys.insert(place, key);
                }
            }
        }
    }

    /// Reads a datagram of T.38, whose sequence numbers show losses, and which has no timestamps.
    fn take_fax(&mut self, sight: &FaxSight) {
        if self.is_given_up(&sight.way) {
            return;
        }
        self.measure.take(&Arrival {
            time_ns: sight.way.time_ns.unwrap_or_default(),
            sequence: sight.sequence,
            timestamp: 0,
            marker: false,
            clock_rate: None,
            is_comfort_noise: false,
        });
        self.octets = self.octets.saturating_add(sight.octets);
        if self.codecs.is_empty() {
            self.codecs.push("t38".to_owned());
        }
        self.way.go_on(&sight.way);
    }

    /// Whether the payload is encrypted.
    pub(in crate::extract) fn is_secure(&self) -> bool {
        let announced = self.announced.as_deref();
        announced.is_some_and(Announcement::is_secure)
    }

    /// Returns true for T.38 over UDPTL, which is no RTP.
    pub(in crate::extract) const fn is_fax(&self) -> bool {
        self.ssrc.is_none()
    }

    /// Returns whether a packet is of another call with the same sockets and source: after a pause, or after the end of
    /// this one.
    fn is_before(&self, way: &Way, announced: Option<&Arc<Announcement>>) -> bool {
        let (Some(own), Some(next)) = (&self.announced, announced) else {
            return false;
        };
        let is_other = !Arc::ptr_eq(own, next) && own.call_id != next.call_id;
        let silent_ns = way.passed_ns.saturating_sub(self.way.passed_ns);
        is_other && (silent_ns > CALL_PAUSE_NS || own.gives_way_to(next))
    }

    const fn start(&self) -> Moment {
        (self.start_ns, self.start_passed_ns)
    }

    const fn end(&self) -> Moment {
        (self.way.time_ns, self.way.passed_ns)
    }

    /// The Call-ID of the announcement.
    fn call_id(&self) -> Option<&str> {
        self.announced.as_ref()?.call_id.as_deref()
    }

    /// The most relevant codec: the first that is neither events nor comfort noise.
    pub(in crate::extract) fn codec(&self) -> Option<&str> {
        let is_plain = |name: &&String| {
            !name.eq_ignore_ascii_case("telephone-event") && !name.eq_ignore_ascii_case("CN")
        };
        let plain = self.codecs.iter().find(is_plain);
        plain.or(self.codecs.first()).map(String::as_str)
    }

    /// The mouth-to-ear delay in milliseconds: half of a reported round trip, the duration of a packet, and the buffer.
    pub(in crate::extract) fn delay_ms(&self) -> f64 {
        let half = self.reported.round_trip_ms.unwrap_or_default() / 2.0;
        let packet = self.measure.deltas_ms().map_or(0.0, |deltas| deltas.1);
        half + packet.min(PACKET_MS_MAX) + Measure::BUFFER_MS
    }

    /// The rating factor R (ITU-T G.107).
    pub(in crate::extract) fn rating(&self) -> Option<f64> {
        Some(rating(&Inputs {
            delay_ms: self.delay_ms(),
            loss_percent: self.measure.unheard_percent(),
            burst_ratio: self.measure.burst_ratio(),
            codec: self.impairment()?,
        }))
    }

    /// The impairment of speech by the codec.
    pub(in crate::extract) fn impairment(&self) -> Option<Impairment> {
        Impairment::of_codec(self.codec()?)
    }

    /// The mean opinion score.
    pub(in crate::extract) fn opinion(&self) -> Option<f64> {
        self.rating().map(opinion)
    }

    /// Adds a report of the receiver about the stream.
    fn received(&mut self, report: &Report<'_>, round_trip_ms: Option<f64>) {
        let reported = &mut self.reported;
        if let Some(received) = report.received {
            reported.reports = reported.reports.saturating_add(1);
            reported.lost = Some(received.lost);
            reported.fraction_max = reported.fraction_max.max(Some(received.fraction_lost));
            reported.jitter_max = reported.jitter_max.max(Some(received.jitter));
            reported.round_trip_ms = round_trip_ms.or(reported.round_trip_ms);
        }
        if let Some(voice) = report.block.and_then(|block| block.voice()) {
            reported.rating = voice.rating().or(reported.rating);
            reported.listening = voice.listening().or(reported.listening);
            reported.conversing = voice.conversing().or(reported.conversing);
        }
    }
}

/// The longest packet of sound that counts as delay, in milliseconds.
const PACKET_MS_MAX: f64 = 120.0;

type Key = (Pair, Option<u32>);
/// The ends of a stream, that of the side that reports first.
type Ends = fn(&Way) -> Pair;

/// The streams of a capture.
#[derive(Default)]
pub(in crate::extract) struct Streams {
    open: HashMap<Key, Box<Stream>>,
    /// The streams with the time of their last check, by which silent ones are found.
    order: VecDeque<(Key, i64)>,
    by_source: HashMap<u32, Vec<Key>>,
    trips: Trips,
    evicted: u64,
}

/// The number of streams at one time.
const STREAMS_MAX: usize = 1 << 16;
/// The silence after which a stream is over, in nanoseconds.
const SILENCE_NS: i64 = 300_000_000_000;
/// The number of streams of a source to which reports are assigned.
const OF_SOURCE_MAX: usize = 8;

/// The callback for streams that have ended.
pub(in crate::extract) type OnStreamEnd<'t> = dyn FnMut(Box<Stream>) + 't;

impl Streams {
    /// The number of streams whose rows were made before their end, because there were too many.
    pub(in crate::extract) const fn evicted(&self) -> u64 {
        self.evicted
    }

    /// Reads a packet of RTP; returns true when it is the first of a stream, or the first one behind the announcement.
    pub(in crate::extract) fn rtp(
        &mut self,
        sight: &RtpSight<'_>,
        on_end: &mut OnStreamEnd<'_>,
    ) -> bool {
        let (way, announced) = (&sight.way, sight.announced.as_ref());
        let ssrc = Some(sight.packet.ssrc());
        self.take(way, ssrc, announced, &mut |it| it.take(sight), on_end)
    }

    /// Reads a datagram of T.38; returns true when it is the first of a stream.
    pub(in crate::extract) fn fax(
        &mut self,
        sight: &FaxSight,
        on_end: &mut OnStreamEnd<'_>,
    ) -> bool {
        let (way, announced) = (&sight.way, Some(&sight.announced));
        self.take(way, None, announced, &mut |it| it.take_fax(sight), on_end)
    }

    /// Finds the stream of a packet, or begins it, and passes it to `take`; returns true when it is new, or gets its announcement.
    fn take(
        &mut self,
        way: &Way,
        ssrc: Option<u32>,
        announced: Option<&Arc<Announcement>>,
        take: &mut dyn FnMut(&mut Stream),
        on_end: &mut OnStreamEnd<'_>,
    ) -> bool {
        let now_ns = way.passed_ns;
        self.expire(now_ns, on_end);
        let key = (way.pair(), ssrc);
        let known = self.open.get_mut(&key);
        let is_of_next_call = known.is_some();
        if let Some(stream) = known
            && !stream.is_before(way, announced)
        {
            let was_announced = stream.announced.is_some();
            take(stream);
            return !was_announced && stream.announced.is_some();
        }
        if is_of_next_call {
            self.close(&key, on_end);
        }
        while self.open.len() >= STREAMS_MAX
            && let Some((oldest, _)) = self.order.pop_front()
        {
            self.evicted = self.evicted.saturating_add(1);
            self.close(&oldest, on_end);
        }
        // A stream that was closed just now is still there.
        if !is_of_next_call {
            self.order.push_back((key, now_ns));
        }
        if let Some(ssrc) = ssrc {
            let keys = self.by_source.entry(ssrc).or_default();
            if keys.len() < OF_SOURCE_MAX {
                keys.push(key);
            }
        }
        let mut stream = Box::new(Stream::new(way, ssrc, announced));
        take(&mut stream);
        self.open.insert(key, stream);
        true
    }

    /// Reads a datagram of RTCP.
    pub(in crate::extract) fn rtcp(&mut self, bytes: &[u8], way: &Way) {
        let Self {
            open,
            by_source,
            trips,
            ..
        } = self;
        rtcp::reports(bytes, way.missing, &mut |report| {
            let round_trip_ms = trips.take(report, way);
            let mut of = |source: Option<u32>, ends: Ends, take: &mut dyn FnMut(&mut Stream)| {
                let Some(source) = source else {
                    return;
                };
                // Streams of several calls may have one source: the report goes between the sockets of its stream, or the next ones.
                for (src, dst) in [(1, 1), (0, 0), (1, 0), (0, 1)] {
                    let mut media = *way;
                    media.src.port = way.src.port.wrapping_sub(src);
                    media.dst.port = way.dst.port.wrapping_sub(dst);
                    if let Some(stream) = open.get_mut(&(ends(&media), Some(source))) {
                        return take(stream);
                    }
                }
                for key in by_source.get(&source).into_iter().flatten() {
                    if let Some(stream) = open.get_mut(key)
                        && ends(&stream.way).0.address == way.src.address
                    {
                        take(stream);
                    }
                }
            };
            let sends: Ends = |way| (way.src, way.dst);
            let receives: Ends = |way| (way.dst, way.src);
            if let Some(sent) = report.sent {
                of(report.sender, sends, &mut |stream| {
                    stream.reported.sent = Some(sent.packets);
                });
            }
            if let Some(name) = report.items.of(CANONICAL_NAME) {
                of(report.source, sends, &mut |stream| {
                    let name = name.get(..NAME_OCTETS_MAX).unwrap_or(name);
                    stream.reported.name = Some(weir_messages::printable(name));
                });
            }
            if report.received.is_some() || report.block.is_some() {
                of(report.source, receives, &mut |stream| {
                    stream.received(report, round_trip_ms);
                });
            }
        });
    }

    /// Reports the streams that are silent. Looks at two at most, so that it costs the same for each packet.
    fn expire(&mut self, now_ns: i64, on_end: &mut OnStreamEnd<'_>) {
        for _ in 0..2 {
            let due = self
                .order
                .front()
                .filter(|(_, seen_ns)| now_ns.saturating_sub(*seen_ns) > SILENCE_NS);
            let Some((key, _)) = due.copied() else {
                return;
            };
            self.order.pop_front();
            let heard_ns = self.open.get(&key).map(|stream| stream.way.passed_ns);
            match heard_ns {
                Some(heard_ns) if now_ns.saturating_sub(heard_ns) <= SILENCE_NS => {
                    self.order.push_back((key, heard_ns));
                }
                _ => self.close(&key, on_end),
            }
        }
    }

    fn close(&mut self, key: &Key, on_end: &mut OnStreamEnd<'_>) {
        if let Some(stream) = self.open.remove(key) {
            if let Some(ssrc) = key.1
                && let Some(keys) = self.by_source.get_mut(&ssrc)
            {
                keys.retain(|known| known != key);
                if keys.is_empty() {
                    self.by_source.remove(&ssrc);
                }
            }
            on_end(stream);
        }
    }

    /// Ends the capture: returns all streams in the order in which they began.
    pub(in crate::extract) fn finish(&mut self) -> VecDeque<Box<Stream>> {
        let mut all: Vec<Box<Stream>> = self.open.drain().map(|(_, stream)| stream).collect();
        self.order.clear();
        self.by_source.clear();
        all.sort_by_key(|stream| (stream.first_frame, stream.way.flow, stream.ssrc));
        all.into()
    }
}

/// The item of a source description that is its canonical name.
pub(in crate::extract) const CANONICAL_NAME: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    /// Streams beyond those of a call were left out without a word.
    #[test]
    fn streams_of_a_call_have_a_limit() {
        let end = |port| weir_flow::Endpoint {
            address: [10, 0, 0, 1].into(),
            port,
        };
        let text = b"v=0\nc=IN IP4 10.0.0.1\nm=image 5000 udptl t38\n";
        let media = weir_messages::sdp::media_and_faxes(text);
        let announced = Arc::new(Announcement {
            by: "sip",
            call_id: Some("a".to_owned()),
            frame: 1,
            time_ns: None,
            media: media[0].clone(),
            offer: None,
            order: 1,
            course: Arc::default(),
            dialog: Arc::default(),
        });
        let mut streams = CallStreams::default();
        for port in 0..100 {
            for sequence in 0..2 {
                streams.fax(&FaxSight {
                    way: Way {
                        flow: 1,
                        src: end(port),
                        dst: end(5_000),
                        transport: "udp",
                        time_ns: None,
                        passed_ns: 0,
                        frame: 1,
                        missing: 0,
                        identification: None,
                    },
                    sequence: 2 * sequence,
                    octets: 9,
                    announced: Arc::clone(&announced),
                });
            }
        }
        assert_eq!(streams.counted().map(|(count, _)| count), [36]);
        assert_eq!(streams.heard(b"a", &[], CallSpan::ALL).missing, Some(64));
    }
}
