//! Chunks of streams: pieces of bytes, gaps and ends.

use super::counters::StreamCounters;
use crate::key::{Endpoint, FlowKey, Sender};
use crate::stream::{Carrier, Part};

/// A piece of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// Number of the connection in the order of the first packets, from 1.
    pub connection: u64,
    /// The number that [`Streams::packet_of`](super::Streams::packet_of) got with the connection's first packet; 0 of [`Streams::packet`](super::Streams::packet).
    pub flow: u64,
    /// The endpoints and the protocol.
    pub key: &'a FlowKey,
    /// The side that sent it.
    pub sender: Sender,
    /// The sender began the connection, as far as is known: it is the originator of the flow, or without flows the sender of the SYN,
    /// or of the first packet.
    pub from_originator: bool,
    /// Time of the packet that carried it, in nanoseconds since 1970: of a gap the packet behind it, of an end the packet
    /// that ended the stream.
    pub time_ns: Option<i64>,
    /// Number of that packet's frame; 0 where the capture's end ended the stream.
    pub frame: u64,
    /// Bytes of the other direction that the sender had acknowledged in that packet. `None` where that is not known.
    pub acknowledged: Option<u64>,
    /// Bytes in front of the first ones of the direction, at offset 0, that their receiver did not have when the capture began, and that
    /// were not captured. They may have been sent before, and are not counted as missing. 0 of further bytes.
    pub lost_before: u64,
    /// The offset in the stream, including gaps.
    pub offset: u64,
    /// A SYN of the connection was seen: at offset 0 are the first bytes of the direction.
    pub saw_start: bool,
    /// This is the last chunk of the connection, of either direction.
    pub is_last: bool,
    /// The content.
    pub content: Content<'a>,
}

/// The content of a [`Chunk`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// Bytes, borrowed from the packet wherever they are contiguous.
    Bytes(&'a [u8]),
    /// A number of bytes that were not captured.
    Gap(u64),
    /// The direction has ended.
    End(StreamEnd),
}

/// The reason why a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEnd {
    /// The stream ended by a FIN.
    Finished,
    /// The connection ended by a RST of either side.
    Reset,
    /// The idle timeout has passed, the table was full, or a new connection uses the same ports.
    Forgotten,
    /// The capture ended.
    CaptureEnd,
}

/// Whether a connection is worth following.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Go on.
    Follow,
    /// Further chunks of the connection are not wanted, in either direction: its packets cost one look-up each from now
    /// on.
    Ignore,
}

impl Chunk<'_> {
    /// The end that sent it.
    #[must_use]
    pub fn source(&self) -> Endpoint {
        self.key.ends(self.sender).0
    }

    /// The end that received it.
    #[must_use]
    pub fn destination(&self) -> Endpoint {
        self.key.ends(self.sender).1
    }
}

/// The packet with which a chunk is given out.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkOrigin {
    pub(super) time_ns: Option<i64>,
    pub(super) frame: u64,
    /// The flow of the packet, which becomes that of connections that begin with it.
    pub(super) flow: u64,
    /// The packet came from the originator of that flow; `None` where that is not known.
    pub(super) from_originator: Option<bool>,
    /// That number is one of a flow of the connection itself: another one is another connection.
    pub(super) is_own_flow: bool,
}

impl ChunkOrigin {
    pub(super) const fn carrier(&self) -> Carrier {
        Carrier {
            time_ns: self.time_ns,
            frame: self.frame,
            acknowledged: None,
            lost_before: 0,
        }
    }
}

/// Gives the chunks of a connection to the caller.
pub(super) struct ChunkSink<'o, F> {
    pub(super) key: &'o FlowKey,
    pub(super) connection: u64,
    pub(super) flow: u64,
    pub(super) originator: Sender,
    pub(super) saw_start: bool,
    pub(super) origin: ChunkOrigin,
    pub(super) counters: &'o mut StreamCounters,
    pub(super) interest: Interest,
    pub(super) is_last: bool,
    pub(super) each: &'o mut F,
}

impl<F: FnMut(&Chunk<'_>) -> Interest> ChunkSink<'_, F> {
    pub(super) fn part(&mut self, sender: Sender, offset: u64, part: Part<'_>, carrier: Carrier) {
        let content = match part {
            Part::Bytes(bytes) => {
                self.counters.bytes += bytes.len() as u64;
                Content::Bytes(bytes)
            }
            Part::Gap(len) => {
                self.counters.missing_bytes = self.counters.missing_bytes.saturating_add(len);
                Content::Gap(len)
            }
        };
        self.hand_on(sender, offset, carrier, content);
    }

    pub(super) fn hand_on(
        &mut self,
        sender: Sender,
        offset: u64,
        carrier: Carrier,
        content: Content<'_>,
    ) {
        if self.interest == Interest::Ignore {
            return;
        }
        self.interest = (self.each)(&Chunk {
            connection: self.connection,
            flow: self.flow,
            key: self.key,
            sender,
            from_originator: sender == self.originator,
            time_ns: carrier.time_ns,
            frame: carrier.frame,
            acknowledged: carrier.acknowledged,
            lost_before: carrier.lost_before,
            offset,
            saw_start: self.saw_start,
            is_last: self.is_last,
            content,
        });
    }
}
