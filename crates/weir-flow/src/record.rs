//! The record of a flow.

use crate::detect::Application;
use crate::history::History;
use crate::key::{Endpoint, FlowKey};

/// A flow that ended, or a part of one.
#[derive(Clone, Copy, Debug)]
pub struct FlowRecord {
    /// Number of the flow in the order of the first packets, from 1. Parts of one flow share it.
    pub number: u64,
    /// Number of this part, from 0. Only an active timeout makes more than one.
    pub part: u16,
    /// Both ends, protocol and scope.
    pub key: FlowKey,
    /// The end that began: the sender of the first packet, unless ports or flags show that it answered.
    pub originator: Endpoint,
    /// The other end.
    pub responder: Endpoint,
    /// Time of the first packet, nanoseconds since 1970-01-01 UTC.
    pub first_ns: i64,
    /// Latest time of a packet that counts: that of the last one, unless a clock was set back. Of TCP, none counts after both
    /// ends have closed.
    pub last_ns: i64,
    /// The totals of the originator.
    pub sent: Totals,
    /// The totals of the responder.
    pub received: Totals,
    /// The state of the connection, by Zeek's names.
    pub state: ConnState,
    /// The history of the connection, in Zeek's letters.
    pub history: History,
    /// The time from the SYN to the ACK that completes the handshake, in nanoseconds, at most 4.29 s.
    pub round_trip_ns: Option<u32>,
    /// The application protocol, recognised by its bytes.
    pub application: Application,
    /// The reason why it is given out.
    pub end: End,
}

/// The totals of one side of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Packets; put together from fragments, they count once. Saturates at 2^32 - 1.
    pub packets: u64,
    /// Bytes of IP packets, headers included.
    pub ip_bytes: u64,
    /// Bytes above the transport's header, each as often as it was sent.
    pub payload_bytes: u64,
    /// The bytes of a TCP stream by sequence numbers, captured or not; otherwise `payload_bytes`.
    pub stream_bytes: u64,
    /// Segments with data that were seen before, without keep-alives.
    pub retransmissions: u32,
    /// Segments that came after later ones and were not seen before.
    pub out_of_order: u32,
    /// Segments that announced a window of zero.
    pub zero_windows: u32,
    /// Bytes that the peer acknowledged and that were not captured.
    pub missed_bytes: u64,
    /// Time to live of the first packet; `None` without a packet.
    pub ttl: Option<u8>,
}

/// The reason why a flow is given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// Closed or reset, and silent since.
    Closed,
    /// No packet came within its timeout, or its SYN had no answer.
    Idle,
    /// The flow has lasted for the active timeout; further parts follow.
    Active,
    /// A new connection of the same addresses and ports began.
    Reused,
    /// The table was full.
    Evicted,
    /// The capture ended.
    CaptureEnd,
}

impl End {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Idle => "idle",
            Self::Active => "active",
            Self::Reused => "reused",
            Self::Evicted => "evicted",
            Self::CaptureEnd => "end",
        }
    }
}

/// The state of a connection, as in Zeek's `conn_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "each is documented by `meaning`")]
pub enum ConnState {
    S0,
    S1,
    Sf,
    Rej,
    S2,
    S3,
    Rsto,
    Rstr,
    Rstos0,
    Rstrh,
    Sh,
    Shr,
    Oth,
}

impl ConnState {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::S0,
        Self::S1,
        Self::Sf,
        Self::Rej,
        Self::S2,
        Self::S3,
        Self::Rsto,
        Self::Rstr,
        Self::Rstos0,
        Self::Rstrh,
        Self::Sh,
        Self::Shr,
        Self::Oth,
    ];

    /// Zeek's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::S0 => "S0",
            Self::S1 => "S1",
            Self::Sf => "SF",
            Self::Rej => "REJ",
            Self::S2 => "S2",
            Self::S3 => "S3",
            Self::Rsto => "RSTO",
            Self::Rstr => "RSTR",
            Self::Rstos0 => "RSTOS0",
            Self::Rstrh => "RSTRH",
            Self::Sh => "SH",
            Self::Shr => "SHR",
            Self::Oth => "OTH",
        }
    }

    /// The meaning of the state.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::S0 => "an attempt without an answer",
            Self::S1 => "established, not ended",
            Self::Sf => "established and ended by both",
            Self::Rej => "rejected",
            Self::S2 => "established, closed by the originator only",
            Self::S3 => "established, closed by the responder only",
            Self::Rsto => "established, reset by the originator",
            Self::Rstr => "reset by the responder",
            Self::Rstos0 => "a SYN and then a RST of the originator, without an answer",
            Self::Rstrh => "a SYN ACK and then a RST of the responder, without a SYN",
            Self::Sh => "a SYN and then a FIN of the originator, without an answer",
            Self::Shr => "a SYN ACK and then a FIN of the responder, without a SYN",
            Self::Oth => "no SYN seen: the middle of a connection, or no connection at all",
        }
    }
}
