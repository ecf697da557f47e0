//! The framing of messages in transports.
//!
//! UDP and SCTP deliver a message at a time; in TCP each has a TPKT header (RFC 1006, H.248.1 Annex
//! D.2). Replies of version 3 may come in segments, which belong together.

use crate::{
    Arena, ErrorKind,
    error::Failure,
    message::{TransactionReply, TransactionResult},
};

/// Octets of a TPKT header.
const TPKT_HEADER: usize = 4;
const TPKT_VERSION: u8 = 3;

/// The first message of a TCP stream, and the number of octets that it takes with its header; `None` when more octets are needed.
///
/// # Errors
/// When the stream does not begin with a TPKT header of version 3 and a possible length.
///
/// ```
/// let stream = [3, 0, 0, 6, b'!', b'/', 3, 0];
/// assert_eq!(weir_h248::tpkt(&stream)?, Some((&b"!/"[..], 6)));
/// assert_eq!(weir_h248::tpkt(&stream[6..])?, None);
/// # Ok::<(), weir_h248::Error>(())
/// ```
pub fn tpkt(stream: &[u8]) -> Result<Option<(&[u8], usize)>, crate::Error> {
    let fail = |offset, expected| {
        let failure = Failure::new(ErrorKind::Syntax, offset, expected);
        Err(crate::Error::from_failure(failure, stream, false))
    };
    match stream {
        [] => return Ok(None),
        [TPKT_VERSION, ..] => {}
        _ => return fail(0, "a TPKT header of version 3"),
    }
    let [_, _, high, low, ..] = stream else {
        return Ok(None);
    };
    let len = usize::from(u16::from_be_bytes([*high, *low]));
    if len < TPKT_HEADER {
        return fail(2, "a TPKT length of 4 or more");
    }
    Ok(stream.get(TPKT_HEADER..len).map(|message| (message, len)))
}

/// Appends a message with its TPKT header.
///
/// # Errors
/// [`ErrorKind::NotEncodable`] when it is longer than 65,531 octets, the most that a header can have.
pub fn write_tpkt(message: &[u8], out: &mut Vec<u8>) -> Result<(), crate::Error> {
    let Ok(len) = u16::try_from(message.len().saturating_add(TPKT_HEADER)) else {
        return Err(crate::Error::new(
            ErrorKind::NotEncodable,
            "more octets than the length of a TPKT header allows",
        ));
    };
    let [high, low] = len.to_be_bytes();
    out.extend_from_slice(&[TPKT_VERSION, 0, high, low]);
    out.extend_from_slice(message);
    Ok(())
}

/// The received segments of one reply (version 3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segments {
    seen: Vec<u16>,
    last: Option<u16>,
}

impl Segments {
    /// The segments of one reply, at most: a reply of more is not followed.
    pub const SEGMENTS_MAX: usize = 4096;

    /// The state before the first octet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a segment. False when it was received before, or when there are too many; a reply without segments is complete by
    /// itself.
    pub fn add(&mut self, reply: &TransactionReply<'_>) -> bool {
        let number = reply.segment_number.unwrap_or(1);
        if reply.segmentation_complete || reply.segment_number.is_none() {
            self.last = Some(number);
        }
        match self.seen.binary_search(&number) {
            Err(at) if self.seen.len() < Self::SEGMENTS_MAX => {
                self.seen.insert(at, number);
                true
            }
            _ => false,
        }
    }

    /// The number of received segments.
    #[must_use]
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// Returns whether no octet has come.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Whether all segments were received: from the first, 1, to the one that is marked as the last.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.last
            .is_some_and(|last| self.seen.len() == usize::from(last) && last > 0)
    }

    /// Numbers of the segments that are known to be missing.
    pub fn missing(&self) -> impl Iterator<Item = u16> + '_ {
        let end = self.last.or(self.seen.last().copied()).unwrap_or(0);
        (1..=end).filter(|number| self.seen.binary_search(number).is_err())
    }
}

/// Joins the segments of one reply, in any order, to the reply that would have been sent without segmentation. Repeated segments
/// count once. An error in one of them is the whole reply.
///
/// `None` when a segment is missing, when the last has not come, or when the segments are of several transactions.
#[must_use]
pub fn join_segments<'a>(
    segments: &[TransactionReply<'a>],
    arena: &'a Arena,
) -> Option<TransactionReply<'a>> {
    let first = segments.first()?;
    let mut all = Segments::new();
    let mut parts = Vec::new();
    for segment in segments {
        if segment.id != first.id {
            return None;
        }
        if all.add(segment) {
            parts.push(segment);
        }
    }
    if !all.is_complete() {
        return None;
    }
    parts.sort_by_key(|segment| segment.segment_number);
    let mut actions = arena.growing(parts.len());
    let mut result = None;
    for part in &parts {
        match part.result {
            TransactionResult::Actions(more) => actions.extend_from_slice(more),
            TransactionResult::Error(_) => result = result.or(Some(part.result)),
        }
    }
    Some(TransactionReply {
        id: first.id,
        imm_ack_required: parts.iter().any(|part| part.imm_ack_required),
        result: result.unwrap_or(TransactionResult::Actions(actions.into_bump_slice())),
        segment_number: None,
        segmentation_complete: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        TextOptions, decode_text,
        message::{MessageBody, Transaction},
    };

    #[test]
    fn segments_make_a_reply() {
        let arena = Arena::new();
        let reply = |text: &'static str| {
            let message = decode_text(text.as_bytes(), &arena, TextOptions::strict()).unwrap();
            match message.body {
                MessageBody::Transactions([Transaction::Reply(reply)]) => *reply,
                _ => panic!("{text}"),
            }
        };
        let one = reply("!/3 [1.2.3.4]\nP=7/1{C=1{AV=a}}");
        let two = reply("!/3 [1.2.3.4]\nP=7/2{C=2{AV=b}}");
        let three = reply("!/3 [1.2.3.4]\nP=7/3/&{IA,C=3{AV=c}}");
        let whole = reply("!/3 [1.2.3.4]\nP=7{IA,C=1{AV=a},C=2{AV=b},C=3{AV=c}}");
        let joined = join_segments(&[three, one, two, one], &arena);
        assert_eq!(joined, Some(whole));
        assert_eq!(join_segments(&[three, one], &arena), None);
        assert_eq!(join_segments(&[one, two], &arena), None);
        assert_eq!(join_segments(&[], &arena), None);
        let other = reply("!/3 [1.2.3.4]\nP=8/2{C=2{AV=b}}");
        assert_eq!(join_segments(&[three, one, other], &arena), None);
        let failed = reply("!/3 [1.2.3.4]\nP=7/2{ER=533{}}");
        let joined = join_segments(&[three, one, failed], &arena).unwrap();
        assert_eq!(joined.result, failed.result);
    }

    #[test]
    fn every_prefix_of_a_stream_waits() {
        let mut stream = Vec::new();
        write_tpkt(b"!/1 [1.2.3.4] K{1}", &mut stream).unwrap();
        write_tpkt(b"", &mut stream).unwrap();
        let (message, used) = tpkt(&stream).unwrap().unwrap();
        assert_eq!((message, used), (&b"!/1 [1.2.3.4] K{1}"[..], 22));
        assert_eq!(tpkt(&stream[used..]).unwrap(), Some((&b""[..], 4)));
        for len in 0..used {
            assert_eq!(tpkt(&stream[..len]).unwrap(), None, "{len}");
        }
        assert_eq!(tpkt(b"MEGACO").unwrap_err().kind(), ErrorKind::Syntax);
        assert_eq!(tpkt(&[3, 0, 0, 3]).unwrap_err().offset(), 2);
        assert!(write_tpkt(&[0; 65_532], &mut stream).is_err());
    }

    #[test]
    fn segments_in_any_order() {
        let segment = |number, last| TransactionReply {
            id: 7,
            imm_ack_required: false,
            result: TransactionResult::Actions(&[]),
            segment_number: Some(number),
            segmentation_complete: last,
        };
        let mut segments = Segments::new();
        assert!(segments.add(&segment(3, true)));
        assert!(segments.add(&segment(1, false)));
        assert!(!segments.add(&segment(1, false)));
        assert!(!segments.is_complete());
        assert_eq!(segments.missing().collect::<Vec<_>>(), [2]);
        assert!(segments.add(&segment(2, false)));
        assert!(segments.is_complete());
        assert_eq!(segments.missing().count(), 0);
    }
}
