//! The calls that were seen so far, with their messages: what the list and the ladders show.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use weir_packet::{Layer, Packet};
use weir_sip::{Call, CallState, Caption, Digest, Ladder, Method, Step, is_failure};
use weir_tables::{CallMedia, CallSight, CallSound, CallWatch, SipTransport};

use weir_output::text::escaped;

/// All that is known. It takes packets, and forgets the oldest calls when it holds too much.
#[derive(Debug)]
pub(super) struct Book {
    watch: CallWatch,
    pages: Pages,
    /// Packets that were looked at.
    pub(super) packets: u64,
    /// The source is at its end.
    pub(super) is_over: bool,
    /// Messages about damaged captures, each with its hint; they are printed when the screens are left.
    pub(super) damage: Vec<(String, Option<String>)>,
    /// Records before this one cannot be saved any more.
    pub(super) kept_from: u64,
}

/// The calls in the order of their first messages.
#[derive(Debug)]
struct Pages {
    rows: VecDeque<CallRow>,
    /// The number of the first of them.
    first: u64,
    by_id: HashMap<Arc<[u8]>, u64>,
    bytes: usize,
    bytes_max: usize,
    forgotten: u64,
    /// Ports of TCP and SCTP that SIP came by.
    ports: HashSet<u16>,
    now_ns: i64,
}

/// Everything with one Call-ID.
#[derive(Debug)]
pub(super) struct CallRow {
    /// Number in the order of first messages, from 0.
    pub(super) number: u64,
    /// Call-ID as it was sent.
    pub(super) call_id: Arc<[u8]>,
    /// The addresses of record in From and To of the first message, without scheme and parameters; for a call, those of the
    /// caller and the callee.
    pub(super) from: String,
    pub(super) to: String,
    is_caller_known: bool,
    /// The state of the call; the method of a transaction that is no call.
    pub(super) state: String,
    pub(super) is_call: bool,
    /// Whether the call was refused.
    pub(super) is_failure: bool,
    /// The last response to what began it.
    pub(super) reply: Option<(u16, String)>,
    pub(super) first_ns: i64,
    pub(super) answer_ns: Option<i64>,
    pub(super) end_ns: Option<i64>,
    /// The record of the first message.
    pub(super) first_frame: u64,
    /// Messages, those that are not kept among them.
    pub(super) messages: u64,
    entries: Vec<CallEntry>,
    /// The text that a filter searches, in lower case.
    sought: String,
    bytes: usize,
    /// The streams that have an entry: their sockets and their protocol.
    streams: Vec<(SocketAddr, SocketAddr, &'static str)>,
}

/// A message, or the beginning of a stream.
#[derive(Debug)]
pub(super) struct CallEntry {
    pub(super) time_ns: Option<i64>,
    /// Number of the record; 0 where the end of the capture completed it.
    pub(super) frame: u64,
    pub(super) src: SocketAddr,
    pub(super) dst: SocketAddr,
    pub(super) label: String,
    /// The bytes of the message; `None` for a stream.
    pub(super) bytes: Option<Box<[u8]>>,
    is_repeat: bool,
    is_response: bool,
    is_failure: bool,
}

impl Book {
    /// An empty book, whose calls and messages may take `bytes_max` bytes.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            watch: CallWatch::default(),
            pages: Pages {
                rows: VecDeque::new(),
                first: 0,
                by_id: HashMap::new(),
                bytes: 0,
                bytes_max,
                forgotten: 0,
                ports: HashSet::from([5060, 5061]),
                now_ns: 0,
            },
            packets: 0,
            is_over: false,
            damage: Vec::new(),
            kept_from: 0,
        }
    }

    /// Adds a packet; true when it belongs to a call, or may turn out to.
    pub(super) fn packet(&mut self, packet: &Packet<'_>) -> bool {
        let Self { watch, pages, .. } = self;
        self.packets = self.packets.saturating_add(1);
        if let Some(time_ns) = packet.frame().time_ns {
            pages.now_ns = pages.now_ns.max(time_ns);
        }
        let mut brings = false;
        watch.packet(packet, &mut |sight| brings |= pages.take(sight));
        brings || pages.may_belong(packet)
    }

    /// The source is at its end.
    pub(super) fn finish(&mut self) {
        let Self { watch, pages, .. } = self;
        watch.finish(&mut |sight| {
            pages.take(sight);
        });
        self.is_over = true;
    }

    /// The calls, the oldest first.
    pub(super) fn rows(&self) -> impl DoubleEndedIterator<Item = &CallRow> {
        self.pages.rows.iter()
    }

    /// The call of this number, unless it is forgotten.
    pub(super) fn row(&self, number: u64) -> Option<&CallRow> {
        let at = number.checked_sub(self.pages.first)?;
        self.pages.rows.get(usize::try_from(at).ok()?)
    }

    /// Calls that were forgotten to make room.
    pub(super) const fn forgotten(&self) -> u64 {
        self.pages.forgotten
    }

    /// The time of the last packet.
    pub(super) const fn now_ns(&self) -> i64 {
        self.pages.now_ns
    }

    /// The quality of a call's sound so far.
    pub(super) fn sound(&self, row: &CallRow) -> CallSound {
        match row.streams.is_empty() {
            true => CallSound::default(),
            false => self.watch.sound(&row.call_id),
        }
    }

    /// The notes about what was dropped because of limits.
    pub(super) fn notes(&self) -> Vec<String> {
        let notes = self.watch.notes();
        let mut notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
        if self.forgotten() > 0 {
            notes.push(format!(
                "calls: {} were dropped from memory, because calls and messages took more than {} MiB",
                self.forgotten(),
                self.pages.bytes_max >> 20
            ));
        }
        notes
    }
}

impl Pages {
    /// Adds the messages of a packet; true when it belongs to a call.
    fn take(&mut self, sight: &CallSight<'_>) -> bool {
        match sight {
            CallSight::Message {
                message,
                digest,
                seen,
                calls,
            } => {
                let way = &message.way;
                if !matches!(way.transport, SipTransport::Udp) && self.ports.len() < PORTS_MAX {
                    // The lower port is mostly that of the server.
                    let ports = [way.flow.src.port(), way.flow.dst.port()];
                    self.ports.extend(ports.iter().min());
                }
                let Some(call_id) = digest.call_id else {
                    return false;
                };
                let entry = CallEntry {
                    time_ns: way.time_ns,
                    frame: way.frame,
                    src: way.flow.src,
                    dst: way.flow.dst,
                    label: Caption::of(digest).label(),
                    bytes: Some(message.bytes.into()),
                    is_repeat: seen.is_repeat,
                    is_response: !digest.is_request(),
                    is_failure: digest.status.is_some_and(is_failure),
                };
                let mut stands = None;
                if seen.call.is_some() {
                    calls.stand(&mut |call| stands = Some(further(stands.take(), call)));
                }
                self.message(call_id, digest, entry, stands);
                true
            }
            CallSight::Media(media) => self.media(media),
            _ => false,
        }
    }

    fn message(
        &mut self,
        call_id: &[u8],
        digest: &Digest<'_>,
        entry: CallEntry,
        stands: Option<Call>,
    ) {
        let number = match self.by_id.get(call_id) {
            Some(number) => *number,
            None => self.begin(call_id, digest, &entry),
        };
        let Some(row) = self.at(number) else {
            return;
        };
        let before = row.bytes;
        row.messages = row.messages.saturating_add(1);
        if let (Some(status), false) = (digest.status, entry.is_repeat) {
            let is_of_first = match stands {
                Some(_) => digest.method == Some(Method::Invite),
                None => true,
            };
            if is_of_first {
                let reason = String::from_utf8_lossy(digest.reason);
                row.reply = Some((status, escaped(&reason).into_owned()));
                row.is_failure = entry.is_failure;
            }
        }
        if let Some(call) = stands {
            row.stand(&call);
        }
        row.push(entry);
        let grown = row.bytes.saturating_sub(before);
        self.bytes = self.bytes.saturating_add(grown);
        self.forget();
    }

    fn begin(&mut self, call_id: &[u8], digest: &Digest<'_>, entry: &CallEntry) -> u64 {
        let number = self
            .first
            .saturating_add(u64::try_from(self.rows.len()).unwrap_or(u64::MAX));
        let call_id: Arc<[u8]> = call_id.into();
        // A response that comes first goes the other way, but its From and To are the request's.
        let from = digest
            .from
            .map(|header| party(header.uri.user, header.uri.host, header.uri.text));
        let to = digest
            .to
            .map(|header| party(header.uri.user, header.uri.host, header.uri.text));
        let (from, to) = (from.unwrap_or_default(), to.unwrap_or_default());
        let method = digest.method.map_or(&b"?"[..], |method| method.as_bytes());
        let sought = format!(
            "{from} {to} {} {} {}",
            String::from_utf8_lossy(&call_id),
            entry.src,
            entry.dst
        );
        let mut row = CallRow {
            number,
            call_id: Arc::clone(&call_id),
            from,
            to,
            is_caller_known: false,
            state: escaped(&String::from_utf8_lossy(method)).into_owned(),
            is_call: false,
            is_failure: false,
            reply: None,
            first_ns: entry.time_ns.unwrap_or_default(),
            answer_ns: None,
            end_ns: None,
            first_frame: entry.frame,
            messages: 0,
            entries: Vec::new(),
            sought: sought.to_lowercase(),
            bytes: 0,
            streams: Vec::new(),
        };
        row.bytes = ROW_BYTES
            .saturating_add(row.sought.len().saturating_mul(2))
            .saturating_add(call_id.len());
        self.bytes = self.bytes.saturating_add(row.bytes);
        self.by_id.insert(call_id, number);
        self.rows.push_back(row);
        number
    }

    fn media(&mut self, media: &CallMedia<'_>) -> bool {
        let Some(call_id) = media.call_id else {
            return false;
        };
        let Some(number) = self.by_id.get(call_id.as_bytes()).copied() else {
            return false;
        };
        let Some(row) = self.at(number) else {
            return false;
        };
        let stream = (media.src, media.dst, media.protocol);
        let is_stream = media.protocol != "RTCP";
        if is_stream && !row.streams.contains(&stream) && row.streams.len() < STREAMS_MAX {
            row.streams.push(stream);
            let before = row.bytes;
            row.push(CallEntry {
                time_ns: media.time_ns,
                frame: media.frame,
                src: media.src,
                dst: media.dst,
                label: media.protocol.to_owned(),
                bytes: None,
                is_repeat: false,
                is_response: false,
                is_failure: false,
            });
            let grown = row.bytes.saturating_sub(before);
            self.bytes = self.bytes.saturating_add(grown);
        }
        true
    }

    fn at(&mut self, number: u64) -> Option<&mut CallRow> {
        let at = number.checked_sub(self.first)?;
        self.rows.get_mut(usize::try_from(at).ok()?)
    }

    /// Removes the oldest calls while they take too much memory; the last one stays.
    fn forget(&mut self) {
        while (self.bytes > self.bytes_max || self.rows.len() > ROWS_MAX)
            && self.rows.len() > 1
            && let Some(row) = self.rows.pop_front()
        {
            self.bytes = self.bytes.saturating_sub(row.bytes);
            self.by_id.remove(&row.call_id);
            self.first = self.first.saturating_add(1);
            self.forgotten = self.forgotten.saturating_add(1);
        }
    }

    /// True for parts of streams and of packets, which only later turn out to be of a call.
    fn may_belong(&self, packet: &Packet<'_>) -> bool {
        let of_stream = [Layer::Tcp, Layer::Sctp].into_iter().any(|layer| {
            [0, 2].into_iter().any(|offset| {
                let port = packet.u16_be(layer, offset);
                port.is_some_and(|port| self.ports.contains(&port))
            })
        });
        let is_fragment =
            || packet.ipv6_fragment().is_some() || packet.ipv4().is_some_and(|ip| ip.is_fragment());
        of_stream || is_fragment()
    }
}

/// The dialog of a forked INVITE that went further.
fn further(one: Option<Call>, other: Call) -> Call {
    let went_far = |call: &Call| match call.state {
        CallState::InCall | CallState::Completed => 2,
        CallState::Superseded => 0,
        _ => 1,
    };
    match one {
        Some(one) if went_far(&one) >= went_far(&other) => one,
        _ => other,
    }
}

impl CallRow {
    fn stand(&mut self, call: &Call) {
        self.is_call = true;
        if call.is_caller_known && !self.is_caller_known {
            self.is_caller_known = true;
            let [from, to] = [&call.caller, &call.callee]
                .map(|end| party(end.user.as_deref(), &end.host, &end.uri));
            (self.from, self.to) = (from, to);
        }
        call.state.text().clone_into(&mut self.state);
        self.is_failure = matches!(call.state, CallState::Busy | CallState::Rejected);
        self.answer_ns = call.answer_ns;
        self.end_ns = call.end_ns.filter(|_| call.state != CallState::InCall);
    }

    fn push(&mut self, entry: CallEntry) {
        // A ladder beyond it counts only.
        if self.entries.len() >= Ladder::STEPS_MAX {
            return;
        }
        let text = entry.bytes.as_ref().map_or(0, |bytes| bytes.len());
        let cost = ENTRY_BYTES
            .saturating_add(text)
            .saturating_add(entry.label.len());
        self.bytes = self.bytes.saturating_add(cost);
        self.entries.push(entry);
    }

    /// One of `from` and `to` for the list. Both have the prefix `?` when no message shows which of them is the caller.
    pub(super) fn listed(&self, party: &str) -> String {
        match self.is_call && !self.is_caller_known {
            true => format!("? {party}"),
            false => party.to_owned(),
        }
    }

    /// The messages that are kept, in the order in which they came.
    pub(super) fn entries(&self) -> &[CallEntry] {
        &self.entries
    }

    /// The seconds from the answer to the end, or to `now_ns` during the call.
    pub(super) fn length_s(&self, now_ns: i64) -> Option<u64> {
        let end_ns = match (self.end_ns, self.state.as_str()) {
            (Some(end_ns), _) => end_ns,
            (None, "in_call") => now_ns,
            (None, _) => return None,
        };
        let ns = end_ns.checked_sub(self.answer_ns?)?;
        u64::try_from(ns).ok().map(|ns| ns / 1_000_000_000)
    }

    /// Whether the call contains each of these words, which are in lower case.
    pub(super) fn has(&self, words: &[String]) -> bool {
        words.iter().all(|word| {
            self.sought.contains(word)
                || self.state.to_lowercase().contains(word)
                || self
                    .reply
                    .as_ref()
                    .is_some_and(|(status, reason)| is_in_reply(word, *status, reason))
        })
    }

    /// The call as a ladder; its steps are the entries.
    pub(super) fn ladder(&self) -> Ladder {
        let mut ladder = Ladder::new(&String::from_utf8_lossy(&self.call_id));
        for entry in &self.entries {
            let (from, to) = match entry.bytes {
                Some(_) => (entry.src.to_string(), entry.dst.to_string()),
                None => self.ends(entry),
            };
            ladder.push(Step {
                time_ns: entry.time_ns,
                from,
                to,
                label: entry.label.clone(),
                is_repeat: entry.is_repeat,
                is_response: entry.is_response,
                is_media: entry.bytes.is_none(),
                is_failure: entry.is_failure,
                frame: (entry.frame > 0).then_some(entry.frame),
                ..Step::default()
            });
        }
        ladder
    }

    /// The columns of a stream: the SIP addresses of its hosts, if both have one, else its own sockets.
    fn ends(&self, stream: &CallEntry) -> (String, String) {
        let of_sip = |ip: IpAddr| {
            let ends = self.entries.iter().filter(|entry| entry.bytes.is_some());
            let mut ends = ends.flat_map(|entry| [entry.src, entry.dst]);
            ends.find(|end| end.ip() == ip)
        };
        match (of_sip(stream.src.ip()), of_sip(stream.dst.ip())) {
            (Some(from), Some(to)) if from != to => (from.to_string(), to.to_string()),
            _ => (stream.src.to_string(), stream.dst.to_string()),
        }
    }
}

fn is_in_reply(word: &str, status: u16, reason: &str) -> bool {
    status.to_string().starts_with(word) || reason.to_lowercase().contains(word)
}

/// `alice@atlanta.example`, of an address of record.
fn party(user: Option<&[u8]>, host: &[u8], uri: &[u8]) -> String {
    let text = match user {
        Some(user) if host.is_empty() => String::from_utf8_lossy(user).into_owned(),
        Some(user) => format!(
            "{}@{}",
            String::from_utf8_lossy(user),
            String::from_utf8_lossy(host)
        ),
        None if host.is_empty() => String::from_utf8_lossy(uri).into_owned(),
        None => String::from_utf8_lossy(host).into_owned(),
    };
    let shown: String = text.chars().take(PARTY_CHARS_MAX).collect();
    escaped(&shown).into_owned()
}

/// Calls of which something is known, at one time.
const ROWS_MAX: usize = 200_000;
/// The approximate memory of a message in addition to its bytes.
const ENTRY_BYTES: usize = 176;
const ROW_BYTES: usize = 512;
const PARTY_CHARS_MAX: usize = 256;
const STREAMS_MAX: usize = 32;
const PORTS_MAX: usize = 4_096;

#[cfg(test)]
pub(super) mod tests {
    use weir_packet::{Decoder, Frame, LinkType, Needs, Options};
    use weir_testkit::packet::{Ipv4, ethernet, ethertype, protocol, udp};

    use super::*;

    /// A datagram between hosts of 10.0.0.0/8, decoded and taken.
    pub(in crate::sip::calls) fn send(book: &mut Book, seconds: f64, from: u8, to: u8, text: &str) {
        send_between(book, seconds, (from, 5060), (to, 5060), text.as_bytes());
    }

    /// The same, between ports.
    fn send_between(
        book: &mut Book,
        seconds: f64,
        (from, source): (u8, u16),
        (to, destination): (u8, u16),
        payload: &[u8],
    ) {
        let (src, dst) = ([10, 0, 0, from].into(), [10, 0, 0, to].into());
        let datagram = udp(
            IpAddr::V4(src),
            IpAddr::V4(dst),
            source,
            destination,
            payload,
        );
        let ip = Ipv4::new(src, dst, protocol::UDP).packet(&datagram);
        let bytes = ethernet([2; 6], [4; 6], ethertype::IPV4, &ip);
        let mut frame = Frame::new(LinkType::ETHERNET, &bytes);
        frame.number = book.packets.saturating_add(1);
        frame.time_ns = Some(1_700_000_000_000_000_000 + (seconds * 1e9) as i64);
        let mut decoder = Decoder::new(Options::default(), [Needs::All]);
        let packet = decoder.decode(frame);
        book.packet(&packet);
    }

    /// A message of a call from `user` to bob.
    pub(in crate::sip::calls) fn message(line: &str, id: &str, user: &str, cseq: &str) -> String {
        let tag = if line.starts_with("SIP/2.0") || cseq.ends_with("BYE") {
            ";tag=b"
        } else {
            ""
        };
        format!(
            "{line}\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK{id}{cseq}\r\nFrom: <sip:{user}@atlanta.example>;tag=a\r\n\
             To: <sip:bob@biloxi.example>{tag}\r\nCall-ID: {id}\r\nCSeq: {cseq}\r\nContent-Length: 0\r\n\r\n"
        )
    }

    /// A book with a completed call, a refused one, a ringing one, and a registration.
    pub(in crate::sip::calls) fn sample() -> Book {
        let mut book = Book::new(1 << 20);
        let invite = "INVITE sip:bob@biloxi.example SIP/2.0";
        for (seconds, from, to, line, id, user, cseq) in [
            (0.0, 1, 2, invite, "one@pc33", "alice", "1 INVITE"),
            (
                0.1,
                2,
                1,
                "SIP/2.0 180 Ringing",
                "one@pc33",
                "alice",
                "1 INVITE",
            ),
            (1.5, 2, 1, "SIP/2.0 200 OK", "one@pc33", "alice", "1 INVITE"),
            (
                1.6,
                1,
                2,
                "ACK sip:bob@biloxi.example SIP/2.0",
                "one@pc33",
                "alice",
                "1 ACK",
            ),
            (2.0, 3, 2, invite, "two", "王小明", "1 INVITE"),
            (
                2.2,
                2,
                3,
                "SIP/2.0 486 Busy Here",
                "two",
                "王小明",
                "1 INVITE",
            ),
            (3.0, 4, 2, invite, "three", "carol", "1 INVITE"),
            (
                3.1,
                2,
                4,
                "SIP/2.0 180 Ringing",
                "three",
                "carol",
                "1 INVITE",
            ),
            (
                4.0,
                5,
                2,
                "REGISTER sip:biloxi.example SIP/2.0",
                "reg",
                "dora",
                "1 REGISTER",
            ),
            (4.1, 2, 5, "SIP/2.0 200 OK", "reg", "dora", "1 REGISTER"),
            (
                65.0,
                1,
                2,
                "BYE sip:bob@biloxi.example SIP/2.0",
                "one@pc33",
                "alice",
                "2 BYE",
            ),
            (65.1, 2, 1, "SIP/2.0 200 OK", "one@pc33", "alice", "2 BYE"),
        ] {
            send(&mut book, seconds, from, to, &message(line, id, user, cseq));
        }
        book
    }

    #[test]
    fn calls_are_what_their_messages_make_of_them() {
        let book = sample();
        let rows: Vec<String> = book
            .rows()
            .map(|row| {
                let reply = row.reply.as_ref().map(|(status, _)| *status);
                let length = row.length_s(book.now_ns());
                format!(
                    "{} {} {reply:?} {length:?} {}",
                    row.from, row.state, row.messages
                )
            })
            .collect();
        assert_eq!(
            rows,
            [
                "alice@atlanta.example completed Some(200) Some(63) 6",
                "王小明@atlanta.example busy Some(486) None 2",
                "carol@atlanta.example ringing Some(180) None 2",
                "dora@atlanta.example REGISTER Some(200) None 2",
            ]
        );
    }

    /// A fax uses the sockets of the audio stream before it.
    #[test]
    fn a_fax_stands_in_the_ladder_behind_the_sound() {
        let mut book = Book::new(1 << 20);
        for (cseq, media) in [
            ("1 INVITE", "m=audio 4000 RTP/AVP 8"),
            ("2 INVITE", "m=image 4000 udptl t38"),
        ] {
            let body = format!("v=0\r\nc=IN IP4 10.0.0.1\r\n{media}\r\n");
            let head = message("INVITE sip:bob@biloxi.example SIP/2.0", "fax", "a", cseq);
            let head = head.replace(
                "Content-Length: 0\r\n\r\n",
                &format!(
                    "Content-Type: application/sdp\r\nContent-Length: {}\r\n\r\n",
                    body.len()
                ),
            );
            send(&mut book, 0.0, 1, 2, &format!("{head}{body}"));
            let datagram: &[u8] = match cseq {
                "1 INVITE" => b"\x80\x08\0\x01\0\0\0\xa0\0\0\0\x07sound",
                _ => b"\0\x01\x01\x06\0\0",
            };
            for _ in 0..2 {
                send_between(&mut book, 0.5, (2, 5000), (1, 4000), datagram);
            }
        }
        let row = book.rows().next().unwrap();
        let labels: Vec<&str> = row
            .entries()
            .iter()
            .map(|entry| entry.label.as_str())
            .collect();
        assert_eq!(labels.len(), 4, "{labels:?}");
        assert_eq!((labels[1], labels[3]), ("RTP", "T.38"));
    }

    #[test]
    fn words_are_looked_for_everywhere() {
        let book = sample();
        let found = |text: &str| -> Vec<u64> {
            let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
            let rows = book.rows().filter(|row| row.has(&words));
            rows.map(|row| row.number).collect()
        };
        assert_eq!(found("ALICE"), [0]);
        assert_eq!(found("bob busy"), [1]);
        assert_eq!(found("486"), [1]);
        assert_eq!(found("10.0.0.4"), [2]);
        assert_eq!(found("王"), [1]);
        assert_eq!(found(""), [0, 1, 2, 3]);
        assert!(found("nowhere").is_empty());
    }

    #[test]
    fn the_oldest_are_forgotten_and_counted() {
        let mut book = Book::new(20_000);
        for number in 0..200 {
            let id = format!("call-{number}");
            let line = "INVITE sip:bob@biloxi.example SIP/2.0";
            send(
                &mut book,
                f64::from(number),
                1,
                2,
                &message(line, &id, "alice", "1 INVITE"),
            );
        }
        assert!(book.pages.bytes <= 20_000);
        assert_eq!(book.forgotten() + book.rows().count() as u64, 200);
        assert!(book.row(0).is_none() && book.row(199).is_some());
        assert!(
            book.notes()
                .iter()
                .any(|note| note.contains("were dropped"))
        );
    }
}
