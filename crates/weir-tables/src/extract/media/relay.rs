//! Media that a client of TURN and its server send each other on behalf of a peer (RFC 8656).

use weir_flow::{Chunk, Content, Interest, Payload, Sender};
use weir_messages::stun;

use crate::extract::came_in::CameIn;
use crate::extract::conversation::Conversation;
use crate::extract::followed::Followed;
use crate::extract::messages::Framer;
use crate::extract::stun::Stun;

/// The TCP connections between clients and servers of TURN.
pub(super) struct RelayConnections {
    open: Followed<(Conversation<Framer<Stun>>, [CameIn; 2])>,
    lost_bytes: u64,
}

/// The number of octets of incomplete messages, of all connections.
const HELD_BYTES_MAX: usize = 16 << 20;
/// The number of octets of the shortest packet that is read: a report of RTCP (RFC 3550, 6.4.2).
const MEDIA_OCTETS_MIN: u64 = 8;

impl Default for RelayConnections {
    fn default() -> Self {
        Self {
            open: Followed::new(HELD_BYTES_MAX),
            lost_bytes: 0,
        }
    }
}

impl RelayConnections {
    /// Reads a chunk, and reports each message that it completes, or the data of a channel, with the numbers of the other records in
    /// which it came. Returns `None` for a connection in which no message of TURN was recognised.
    pub(super) fn chunk(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        each: &mut dyn FnMut(&[u8], &[u64]),
    ) -> Option<Interest> {
        if !self.open.is_open(chunk.connection) {
            // Behind its beginning a connection may have messages of TURN among those of another protocol, as SIP.
            let is_beginning = chunk.offset == 0 || !chunk.saw_start;
            let Content::Bytes(bytes) = chunk.content else {
                return None;
            };
            stun::length(bytes).filter(|_| is_beginning)?;
        }
        let Self { open, lost_bytes } = self;
        let interest = open.chunk(
            chunk,
            |_| {
                let conversation = Conversation::new(Default::default(), true);
                Some((conversation, Default::default()))
            },
            |(conversation, came_in)| {
                let frames = came_in.get_mut(usize::from(chunk.sender == Sender::High))?;
                let before = frames.before(payload.others);
                let mut others = &*before;
                let held = conversation.chunk(chunk, lost_bytes, &mut |bytes, _| {
                    each(bytes, others);
                    // The octets that follow began in this piece.
                    others = payload.others;
                    true
                })?;
                frames.take(payload, chunk.content, conversation.held_of(chunk.sender));
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
                "TCP connections of TURN were dropped because incomplete messages took more than 16 MiB",
            ),
            (
                self.lost_bytes,
                "bytes of TCP connections of TURN are not part of a complete message",
            ),
        ]
    }
}

/// Returns what a datagram between a client and a server of TURN carries on behalf of a peer, and the number of its octets that were
/// not captured: the data of a channel (RFC 8656, 12.4), padded to a word or not, or of an indication (11), if they begin as RTP and
/// RTCP do. `missing` is the number of octets of the datagram that were not captured.
pub(super) fn relayed(bytes: &[u8], missing: u64) -> Option<(&[u8], u64)> {
    let (data, missing) = match bytes {
        [0x40..=0x4f, _, high, low, behind @ ..] => {
            let octets = usize::from(u16::from_be_bytes([*high, *low]));
            let sent = (behind.len() as u64).saturating_add(missing);
            let lengths = [octets, octets.next_multiple_of(4)];
            if !lengths.iter().any(|length| *length as u64 == sent) {
                return None;
            }
            let data = behind.get(..octets).unwrap_or(behind);
            (data, octets.saturating_sub(data.len()) as u64)
        }
        // A Send or a Data indication.
        [0, 0x16 | 0x17, ..] if missing == 0 => {
            let message = stun::Message::new(bytes)?;
            (message.attribute(stun::attribute::DATA)?, 0)
        }
        _ => return None,
    };
    let sent = (data.len() as u64).saturating_add(missing);
    let is_media = data.first().is_some_and(|first| first >> 6 == 2);
    (is_media && sent >= MEDIA_OCTETS_MIN).then_some((data, missing))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(relayed(b"\x40\x01\0\x08\x16\xfe\xff\0\0\0\0\0", 0), None);
        let mut indication = b"\0\x17\0\x14\x21\x12\xa4\x42transaction.\0\x13\0\x0d".to_vec();
        indication.extend(media);
        indication.extend([0; 3]);
        assert_eq!(relayed(&indication, 0), Some((&media[..], 0)));
        // A response has no data of a peer.
        indication[0] = 1;
        assert_eq!(relayed(&indication, 0), None);
    }
}
