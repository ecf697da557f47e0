//! Watches calls while they go on, for screens that show them before they end.

use std::fmt;
use std::net::SocketAddr;

use weir_packet::Packet;
use weir_sip::{Calls, Digest, Seen};

use crate::extract::media::{CallSpan, CallStreams, Finder, Sight};
use crate::extract::note::Note;
use crate::extract::sip::SipMessage;

/// Follows SIP messages, the calls that they make, and the RTP that belongs to them, packet by packet, as the tables
/// `sip` and `calls` do and within the same limits.
///
/// ```
/// use weir_packet::{Decoder, Frame, LinkType};
/// use weir_tables::CallWatch;
///
/// let mut watch = CallWatch::default();
/// let mut decoder = Decoder::default();
/// let packet = decoder.decode(Frame::new(LinkType::ETHERNET, &[0; 60]));
/// watch.packet(&packet, &mut |_| unreachable!("no SIP is in it"));
/// ```
#[derive(Default)]
pub struct CallWatch {
    finder: Finder,
    calls: Calls,
    streams: CallStreams,
    last_ns: i64,
}

/// The contents of a packet.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallSight<'s> {
    /// A SIP message.
    Message {
        /// The bytes and the addresses of the message.
        message: &'s SipMessage<'s>,
        /// The parsed values of the message.
        digest: &'s Digest<'s>,
        /// Whether the message is a retransmission, and to which call it belongs.
        seen: Seen,
        /// The calls; [`Calls::stand`] returns the state of that of the message.
        calls: &'s Calls,
    },
    /// A packet of RTP, of RTCP or of T.38.
    Media(CallMedia<'s>),
}

/// A packet of a stream.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CallMedia<'s> {
    /// The Call-ID of the announcement; `None` where there is none, as for media in front of it.
    pub call_id: Option<&'s str>,
    /// The sender.
    pub src: SocketAddr,
    /// The receiver.
    pub dst: SocketAddr,
    /// The time of the packet, in nanoseconds since 1970.
    pub time_ns: Option<i64>,
    /// The number of its record.
    pub frame: u64,
    /// True for RTP, false for RTCP and T.38.
    pub is_rtp: bool,
    /// The protocol: `RTP`, `RTCP` or `T.38`.
    pub protocol: &'static str,
}

/// The quality of the streams of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CallSound {
    /// The lowest mean opinion score, as `call.mos`.
    pub mos: Option<f64>,
    /// The number of lost packets, as `call.lost`; `None` without streams.
    pub lost: Option<u64>,
    /// The highest mean jitter in milliseconds, as `call.jitter`.
    pub jitter_ms: Option<f64>,
}

impl CallWatch {
    /// Reads the next packet of the capture, with all its headers decoded, and reports its contents.
    pub fn packet(&mut self, packet: &Packet<'_>, each: &mut dyn FnMut(&CallSight<'_>)) {
        let Self {
            finder,
            calls,
            streams,
            last_ns,
        } = self;
        // Messages and media are passed to one listener, one after the other.
        let each = std::cell::RefCell::new(each);
        finder.packet_with_sip(
            packet,
            &mut |message| {
                take(calls, last_ns, message, &mut |sight| {
                    (each.borrow_mut())(sight);
                });
            },
            &mut |sight, _| {
                let (way, call_id, protocol) = match sight {
                    Sight::Rtp(sight) => {
                        streams.rtp(sight);
                        (sight.way, sight.announced.as_deref(), "RTP")
                    }
                    Sight::Rtcp(bytes, way, announced) => {
                        streams.rtcp(bytes, way);
                        (*way, *announced, "RTCP")
                    }
                    Sight::Fax(sight) => {
                        streams.fax(sight);
                        (sight.way, Some(&*sight.announced), "T.38")
                    }
                };
                (each.borrow_mut())(&CallSight::Media(CallMedia {
                    call_id: call_id.and_then(|it| it.call_id.as_deref()),
                    src: way.src.into(),
                    dst: way.dst.into(),
                    time_ns: way.time_ns,
                    frame: way.frame,
                    is_rtp: protocol == "RTP",
                    protocol,
                }));
            },
        );
    }

    /// Ends the capture: reports messages that waited for missing segments.
    pub fn finish(&mut self, each: &mut dyn FnMut(&CallSight<'_>)) {
        let Self {
            finder,
            calls,
            streams,
            last_ns,
        } = self;
        finder.finish(
            &mut |message| take(calls, last_ns, message, each),
            &mut |sight, _| streams.sight(sight),
        );
        streams.adopt(&|way| finder.late(way));
    }

    /// The quality of the streams of a call so far.
    #[must_use]
    pub fn sound(&self, call_id: &[u8]) -> CallSound {
        let heard = self.streams.heard(call_id, &[], CallSpan::ALL);
        CallSound {
            mos: heard.mos,
            lost: heard.missing,
            jitter_ms: heard.jitter_ms,
        }
    }

    /// The items that were not read, or given up for limits, as text.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        super::notes(&self.calls, &self.finder, &self.streams, 0)
    }
}

fn take(
    calls: &mut Calls,
    last_ns: &mut i64,
    found: &SipMessage<'_>,
    each: &mut dyn FnMut(&CallSight<'_>),
) {
    let Some(message) = found.parsed() else {
        return;
    };
    *last_ns = found.way.time_ns.unwrap_or(*last_ns);
    let digest = Digest::of(&message);
    // Ended calls are discarded here: the caller has seen them as they went on.
    let (passed_ns, flow) = (found.way.passed_ns, Some(found.way.flow));
    let seen = calls.take_passed(*last_ns, passed_ns, flow, &digest, &mut |_| {});
    each(&CallSight::Message {
        message: found,
        digest: &digest,
        seen,
        calls,
    });
}

impl fmt::Debug for CallWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallWatch of {} calls", self.calls.live())
    }
}
