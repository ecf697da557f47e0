//! Media in TCP connections (RFC 4571), and those that a client of TURN and its server send each other on behalf of a peer (RFC
//! 8656).

use weir_flow::{Chunk, Content, Interest, Payload, Sender};
use weir_messages::rtp::{is_in_use, rtcp};
use weir_messages::stun;

use crate::extract::came_in::CameIn;
use crate::extract::conversation::Conversation;
use crate::extract::followed::Followed;
use crate::extract::messages::{Framer, Length, Protocol, Push, Way};
use crate::extract::stun::Stun;

/// The TCP connections with media: those between clients and servers of TURN, and those whose packets have lengths before them.
pub(super) struct MediaConnections {
    open: Followed<(Framing, [CameIn; 2])>,
    lost_bytes: u64,
}

/// The TCP connections between clients and servers of TURN, of which another table reads what a server passes on.
pub(in crate::extract) struct TurnConnections {
    /// The connections, and whether nothing else is read of one any more.
    open: Followed<(Conversation<Framer<Channels>>, bool)>,
    /// There was such a connection.
    is_used: bool,
}

/// How packets are framed.
enum Framing {
    /// Packets are messages of TURN and data of its channels (RFC 8656, 12.5).
    Turn(Conversation<Framer<Channels>>),
    /// Each packet is behind its length (RFC 4571, 2), as ICE over TCP has them, too (RFC 6544, 3).
    Lengths(Conversation<Framer<Lengths>>),
}

/// Messages of TURN, and data of its channels.
#[derive(Default)]
struct Channels;

impl Protocol for Channels {
    const NAME: &'static str = "rtp";

    fn is_datagram(_bytes: &[u8], _ports: [u16; 2]) -> bool {
        false
    }

    fn length(bytes: &[u8]) -> Length {
        Stun::length(bytes)
    }

    /// The first message of STUN, or the first packet of media on a channel that one of both follows, or the end of the octets.
    fn find(bytes: &[u8]) -> Option<usize> {
        let begins =
            |bytes: &[u8]| stun::length(bytes).is_some() || octets_on_channel(bytes).is_some();
        (0..bytes.len()).find(|at| {
            let rest = bytes.get(*at..).unwrap_or_default();
            let behind = octets_on_channel(rest).and_then(|octets| rest.get(octets..));
            stun::length(rest).is_some() || behind.is_some_and(|it| it.is_empty() || begins(it))
        })
    }

    const FIND_OCTETS: usize = CHANNEL_HEADER_OCTETS + FRAMED_OCTETS_MAX + stun::BEGINNING_OCTETS;

    fn is_likely(bytes: &[u8]) -> bool {
        [octets_on_channel(bytes), stun::length(bytes)].contains(&Some(bytes.len()))
    }

    fn message(&mut self, _bytes: &[u8], _way: &Way, _push: &mut Push<'_>) -> bool {
        false
    }
}

/// The number of octets of the data of a channel with which these octets begin, where these are a packet of RTP or RTCP: over TCP they
/// are padded to a word (RFC 8656, 12.5).
fn octets_on_channel(bytes: &[u8]) -> Option<usize> {
    let [0x40..=0x4f, _, framed @ ..] = bytes else {
        return None;
    };
    let octets = framed_octets(framed)?;
    Some((2 + octets).next_multiple_of(4))
}

/// Packets behind their lengths.
#[derive(Default)]
struct Lengths;

impl Protocol for Lengths {
    const NAME: &'static str = "rtp";

    fn is_datagram(_bytes: &[u8], _ports: [u16; 2]) -> bool {
        false
    }

    fn length(bytes: &[u8]) -> Length {
        let [high, low, behind @ ..] = bytes else {
            return Length::Wait;
        };
        let octets = usize::from(u16::from_be_bytes([*high, *low]));
        match behind.first() {
            None if octets > 0 => Length::Wait,
            // Neither STUN, DTLS, RTP nor RTCP begins so (RFC 7983).
            Some(first) if octets > 0 && !matches!(first, 0..=3 | 20..=63 | 128..=191) => {
                Length::Broken
            }
            _ => Length::Message {
                skip: 2,
                total: 2 + octets,
            },
        }
    }

    /// The first packet that another one follows, or the end of the octets.
    fn find(bytes: &[u8]) -> Option<usize> {
        (0..bytes.len()).find(|at| {
            let rest = bytes.get(*at..).unwrap_or_default();
            let behind = framed_octets(rest).and_then(|octets| rest.get(octets..));
            behind.is_some_and(|it| it.is_empty() || framed_octets(it).is_some())
        })
    }

    const FIND_OCTETS: usize = FRAMED_OCTETS_MAX + FRAMED_HEAD_OCTETS;

    fn is_likely(bytes: &[u8]) -> bool {
        let is_media = bytes.first().is_some_and(|first| first >> 6 == 2);
        is_media && bytes.len() as u64 >= MEDIA_OCTETS_MIN
            || stun::length(bytes) == Some(bytes.len())
    }

    fn message(&mut self, _bytes: &[u8], _way: &Way, _push: &mut Push<'_>) -> bool {
        false
    }
}

/// The number of octets of a packet of RTP or RTCP behind its length, with which these octets begin.
fn framed_octets(bytes: &[u8]) -> Option<usize> {
    let [high, low, first, second, ..] = bytes else {
        return None;
    };
    let octets = usize::from(u16::from_be_bytes([*high, *low]));
    let is_report = matches!(
        *second,
        rtcp::kind::SENDER_REPORT..=rtcp::kind::EXTENDED_REPORT
    );
    let is_media = first >> 6 == 2 && (is_report || is_in_use(second & 0x7f));
    let is_length = octets as u64 >= MEDIA_OCTETS_MIN && octets <= FRAMED_OCTETS_MAX;
    (is_media && is_length).then_some(2 + octets)
}

impl Framing {
    /// The framing of a connection by its first octets; `is_announced` where a description has media over TCP at one of its sockets.
    /// The first octets may be the rest of a packet where the connection began before the capture.
    fn of(bytes: &[u8], is_announced: bool, is_within: bool) -> Option<Self> {
        if stun::length(bytes).is_some() {
            return Some(Self::Turn(Conversation::new(Default::default(), true)));
        }
        let begins_with_stun = match bytes {
            [high, low, behind @ ..] => {
                let octets = usize::from(u16::from_be_bytes([*high, *low]));
                stun::length(behind) == Some(octets)
            }
            _ => false,
        };
        let is_tls = matches!(bytes, [0x16, 3, ..]);
        if begins_with_stun {
            return Some(Self::Lengths(Conversation::new(Default::default(), true)));
        }
        match is_announced && !is_tls {
            true if is_within => Some(Self::within()),
            true if Lengths::length(bytes) != Length::Broken => {
                Some(Self::Lengths(Conversation::new(Default::default(), true)))
            }
            _ => None,
        }
    }

    /// The framing of a connection with a server of TURN that began before the capture, by a packet of media on one of its channels.
    fn of_channels(bytes: &[u8], chunk: &Chunk<'_>) -> Option<Self> {
        let ports = [chunk.source().port, chunk.destination().port];
        let may_have_channels = !chunk.saw_start && ports.contains(&TURN_PORT);
        (may_have_channels && Channels::find(bytes).is_some()).then(|| {
            let framers = [Framer::within(), Framer::within()];
            Self::Turn(Conversation::new(framers, true))
        })
    }

    /// The framing of packets of which the first octets are the rest.
    fn within() -> Self {
        let framers = [Framer::within(), Framer::within()];
        Self::Lengths(Conversation::new(framers, true))
    }

    fn chunk(
        &mut self,
        chunk: &Chunk<'_>,
        lost_bytes: &mut u64,
        each: &mut dyn FnMut(&[u8], bool) -> bool,
    ) -> Option<usize> {
        match self {
            Self::Turn(conversation) => conversation.chunk(chunk, lost_bytes, each),
            Self::Lengths(conversation) => conversation.chunk(chunk, lost_bytes, each),
        }
    }

    fn held_of(&self, sender: Sender) -> usize {
        match self {
            Self::Turn(conversation) => conversation.held_of(sender),
            Self::Lengths(conversation) => conversation.held_of(sender),
        }
    }
}

/// The number of octets of incomplete messages, of all connections.
const HELD_BYTES_MAX: usize = 16 << 20;
/// The number of octets of the shortest packet that is read: a report of RTCP (RFC 3550, 6.4.2).
const MEDIA_OCTETS_MIN: u64 = 8;
/// The number of octets of the longest packet behind its length that is found behind a loss, and of those by which it is.
const FRAMED_OCTETS_MAX: usize = 2_048;
const FRAMED_HEAD_OCTETS: usize = 2 + 4;
/// The number of octets of the header of data on a channel (RFC 8656, 12.4).
const CHANNEL_HEADER_OCTETS: usize = 4;
/// The port of servers of TURN (RFC 8656, 18).
const TURN_PORT: u16 = 3_478;

impl Default for MediaConnections {
    fn default() -> Self {
        Self {
            open: Followed::new(HELD_BYTES_MAX),
            lost_bytes: 0,
        }
    }
}

impl MediaConnections {
    /// Reads a chunk, and reports each packet, message or data of a channel that it completes, with the numbers of the other records
    /// in which it came; `is_announced` is true where a description has media over TCP at a socket of its connection. Returns `None`
    /// for a connection that is not recognised by its first octets.
    pub(super) fn chunk(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        is_announced: bool,
        each: &mut dyn FnMut(&[u8], &[u64]),
    ) -> Option<Interest> {
        let Self { open, lost_bytes } = self;
        let mut begun = None;
        if !open.is_open(chunk.connection) {
            let framing = match chunk.content {
                Content::Bytes(bytes) => {
                    let framing = Framing::of(bytes, is_announced, !chunk.saw_start)
                        .or_else(|| Framing::of_channels(bytes, chunk));
                    // Behind its beginning a connection may have messages of STUN among those of another protocol, as SIP.
                    framing.filter(|_| chunk.offset == 0 || !chunk.saw_start)
                }
                Content::Gap(_) if is_announced => Some(Framing::within()),
                _ => None,
            };
            begun = Some((framing?, Default::default()));
        }
        let interest = open.chunk_or_gap(
            chunk,
            |_| begun,
            |(framing, came_in)| {
                let frames = came_in.get_mut(usize::from(chunk.sender == Sender::High))?;
                let before = frames.before(payload.others);
                let mut others = &*before;
                let held = framing.chunk(chunk, lost_bytes, &mut |bytes, _| {
                    each(bytes, others);
                    // The octets that follow began in this piece.
                    others = payload.others;
                    true
                })?;
                frames.take(payload, chunk.content, framing.held_of(chunk.sender));
                let frames = came_in.iter().map(CameIn::held_bytes);
                Some(held.saturating_add(frames.sum()))
            },
        );
        Some(interest)
    }

    /// The counters of what was not read, or was given up because of limits.
    pub(super) const fn counted(&self) -> [(u64, &'static str); 2] {
        [
            (
                self.open.given_up(),
                "TCP connections of media were dropped because incomplete messages took more than 16 MiB",
            ),
            (
                self.lost_bytes,
                "bytes of TCP connections of media are not part of a complete message",
            ),
        ]
    }
}

impl TurnConnections {
    /// No connections so far, of whose incomplete messages so many octets are held.
    pub(in crate::extract) fn new(held_bytes_max: usize) -> Self {
        Self {
            open: Followed::new(held_bytes_max),
            is_used: false,
        }
    }

    /// Reads a chunk, and reports each message and the data of each channel that it completes. Returns whether more of the connection is
    /// needed: one that begins with a message of STUN.
    pub(in crate::extract) fn chunk(
        &mut self,
        chunk: &Chunk<'_>,
        each: &mut dyn FnMut(&[u8]),
    ) -> bool {
        let begins = match chunk.content {
            Content::Bytes(bytes) if chunk.offset == 0 || !chunk.saw_start => {
                stun::length(bytes).is_some()
            }
            _ => false,
        };
        if !(begins || self.is_used && self.open.is_open(chunk.connection)) {
            return false;
        }
        self.is_used = true;
        let mut lost_bytes = 0;
        let interest = self.open.chunk(
            chunk,
            |_| Some((Conversation::new(Default::default(), true), false)),
            |(conversation, _)| {
                conversation.chunk(chunk, &mut lost_bytes, &mut |bytes, _| {
                    each(bytes);
                    true
                })
            },
        );
        interest == Interest::Follow
    }

    /// Whether nothing else is read of a connection.
    pub(in crate::extract) fn is_alone(&mut self, connection: u64) -> bool {
        self.is_used && self.open.of(connection).is_some_and(|known| known.1)
    }

    /// Notes that nothing else is read of a connection any more.
    pub(in crate::extract) fn leave_alone(&mut self, connection: u64) {
        if let Some((_, is_alone)) = self.open.of(connection) {
            *is_alone = true;
        }
    }

    /// The number of connections that were given up because of the limit.
    pub(in crate::extract) const fn given_up(&self) -> u64 {
        self.open.given_up()
    }
}

/// Returns the media that a datagram between a client and a server of TURN carries on behalf of a peer, and the number of its octets
/// that were not captured: data that begin as RTP and RTCP do.
pub(super) fn relayed(bytes: &[u8], missing: u64) -> Option<(&[u8], u64)> {
    let (data, missing) = data_of_peer(bytes, missing)?;
    let sent = (data.len() as u64).saturating_add(missing);
    let is_media = data.first().is_some_and(|first| first >> 6 == 2);
    (is_media && sent >= MEDIA_OCTETS_MIN).then_some((data, missing))
}

/// Returns what a datagram between a client and a server of TURN carries on behalf of a peer, and the number of its octets that were
/// not captured: the data of a channel (RFC 8656, 12.4), padded to a word or not, or of an indication (11). `missing` is the number of
/// octets of the datagram that were not captured.
pub(in crate::extract) fn data_of_peer(bytes: &[u8], missing: u64) -> Option<(&[u8], u64)> {
    match bytes {
        [0x40..=0x4f, _, high, low, behind @ ..] => {
            let octets = usize::from(u16::from_be_bytes([*high, *low]));
            let sent = (behind.len() as u64).saturating_add(missing);
            let lengths = [octets, octets.next_multiple_of(4)];
            if !lengths.iter().any(|length| *length as u64 == sent) {
                return None;
            }
            let data = behind.get(..octets).unwrap_or(behind);
            Some((data, octets.saturating_sub(data.len()) as u64))
        }
        // A Send or a Data indication.
        [0, 0x16 | 0x17, ..] if missing == 0 => {
            let message = stun::StunMessage::new(bytes)?;
            Some((message.attribute(stun::attribute::DATA)?, 0))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_frame_packets() {
        let is_read = |bytes: &[u8], is_announced| match Framing::of(bytes, is_announced, false) {
            Some(Framing::Lengths(_)) => "lengths",
            Some(Framing::Turn(_)) => "turn",
            None => "",
        };
        let stun = b"\0\x01\0\0\x21\x12\xa4\x42transaction.";
        let framed = [&b"\0\x14"[..], stun].concat();
        let rtp = b"\0\x0d\x80\0\0\x01\0\0\0\xa0";
        assert_eq!(is_read(stun, false), "turn");
        assert_eq!(is_read(&framed, false), "lengths");
        assert_eq!(is_read(&framed[1..], false), "");
        assert_eq!((is_read(rtp, false), is_read(rtp, true)), ("", "lengths"));
        assert_eq!(
            (is_read(&rtp[..1], true), is_read(b"GET /", true)),
            ("lengths", "")
        );
        assert_eq!(is_read(b"\x16\x03\x01\0\x05\x01", true), "");
        for (bytes, length) in [
            (&b"\0\0"[..], Length::Message { skip: 2, total: 2 }),
            (b"\0\0\x50", Length::Message { skip: 2, total: 2 }),
            (b"\0\x05", Length::Wait),
            (b"\0\x05\x80", Length::Message { skip: 2, total: 7 }),
            (b"\0\x05\x50", Length::Broken),
        ] {
            assert_eq!(Lengths::length(bytes), length, "{bytes:x?}");
        }
    }

    #[test]
    fn data_of_channels_and_indications_are_found() {
        let media = b"\x80\0\0\x01\0\0\0\xa0\0\0\0\x07\xd5";
        let channel = [&b"\x40\x01\0\x0d"[..], media].concat();
        assert_eq!(relayed(&channel, 0), Some((&media[..], 0)));
        let padded = [&channel[..], &[0; 3]].concat();
        assert_eq!(relayed(&padded, 0), Some((&media[..], 0)));
        // The end of the datagram was not captured, padding or not.
        assert_eq!(relayed(&padded[..10], 10), Some((&media[..6], 7)));
        assert_eq!(relayed(&channel[..10], 7), Some((&media[..6], 7)));
        assert_eq!(relayed(&padded[..18], 2), Some((&media[..], 0)));
        for (bytes, missing) in [(&padded[..19], 0), (&channel[..], 1), (&channel[..4], 0)] {
            assert_eq!(relayed(bytes, missing), None, "{} {missing}", bytes.len());
        }
        // DTLS on a channel is no media.
        let dtls = b"\x40\x01\0\x08\x16\xfe\xff\0\0\0\0\0";
        assert_eq!(relayed(dtls, 0), None);
        assert_eq!(data_of_peer(dtls, 0), Some((&dtls[4..], 0)));
        let mut indication = b"\0\x17\0\x14\x21\x12\xa4\x42transaction.\0\x13\0\x0d".to_vec();
        indication.extend(media);
        indication.extend([0; 3]);
        assert_eq!(relayed(&indication, 0), Some((&media[..], 0)));
        // A response has no data of a peer.
        indication[0] = 1;
        assert_eq!(relayed(&indication, 0), None);
    }
}
