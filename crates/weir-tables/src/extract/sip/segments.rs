//! SIP messages in several segments of TCP that a probe sent on, each by itself.

use std::collections::VecDeque;

use weir_flow::Payload;
use weir_sip::{Digest, FaultKind, Limits, Message, looks_like_sip};

use super::messages::{SipMessage, SipWay, begins_with_method, may_begin};

/// Messages whose rest may come in the next segments.
#[derive(Debug, Default)]
pub(super) struct CutMessages {
    waiting: VecDeque<CutMessage>,
    /// The number of those that had no more than a part of their first line.
    lines: u64,
}

/// A message that lacks its end.
#[derive(Debug)]
struct CutMessage {
    bytes: Vec<u8>,
    /// The way of its last octets so far.
    way: SipWay,
    /// The other records in which it came.
    others: Vec<u64>,
}

/// A callback for messages.
type OnMessage<'e> = dyn FnMut(&SipMessage<'_>) + 'e;

/// The number of messages that wait, at most.
const MESSAGES_MAX: usize = 64;
/// The number of octets of one.
const OCTETS_MAX: usize = 1 << 15;
/// The time for which a message waits for its rest.
const WAIT_NS: i64 = 1_000_000_000;

impl CutMessages {
    /// The number of messages that were cut within their first line.
    pub(super) const fn in_first_line(&self) -> u64 {
        self.lines
    }

    /// The octets of a message that waits and goes on with this segment, together with those of the segment, and the other records in
    /// which they came; `None` where the segment goes on with none. Reports messages that will not go on: the next one of their sender
    /// begins, or the other side has sent something, or the time is over.
    pub(super) fn join(
        &mut self,
        (payload, bytes): (&Payload<'_>, &[u8]),
        way: &SipWay,
        each: &mut OnMessage<'_>,
    ) -> Option<(Vec<u8>, Vec<u64>)> {
        while let Some(oldest) = self.waiting.front()
            && way.passed_ns.saturating_sub(oldest.way.passed_ns) > WAIT_NS
        {
            self.report_oldest(each);
        }
        let mut waiting = self.waiting.iter();
        let place = waiting.position(|cut| cut.is_between_ends_of(way))?;
        let mut cut = self.waiting.remove(place)?;
        let is_next = match cut.bytes.contains(&b'\n') {
            true => looks_like_sip(bytes) && !goes_on(&cut.bytes, bytes),
            // The rest of a first line may look like one.
            false => begins_with_method(bytes),
        };
        if is_next || cut.way.flow.src != way.flow.src {
            self.report(&cut, each);
            return None;
        }
        cut.bytes.extend_from_slice(bytes);
        cut.others.push(cut.way.frame);
        cut.others.extend_from_slice(payload.others);
        Some((cut.bytes, cut.others))
    }

    /// Keeps a message that lacks its end, or has no more than the beginning of its first line; returns false for others.
    pub(super) fn keep(
        &mut self,
        bytes: &[u8],
        (way, others): (&SipWay, &[u64]),
        each: &mut OnMessage<'_>,
    ) -> bool {
        if bytes.len() > OCTETS_MAX || !(is_cut(bytes) || may_begin(bytes)) {
            return false;
        }
        if self.waiting.len() >= MESSAGES_MAX {
            self.report_oldest(each);
        }
        self.waiting.push_back(CutMessage {
            bytes: bytes.to_vec(),
            way: *way,
            others: others.to_vec(),
        });
        true
    }

    /// Reports the messages that wait, as the capture ends.
    pub(super) fn finish(&mut self, each: &mut OnMessage<'_>) {
        while !self.waiting.is_empty() {
            self.report_oldest(each);
        }
    }

    fn report_oldest(&mut self, each: &mut OnMessage<'_>) {
        if let Some(oldest) = self.waiting.pop_front() {
            self.report(&oldest, each);
        }
    }

    fn report(&mut self, cut: &CutMessage, each: &mut OnMessage<'_>) {
        let message = SipMessage {
            bytes: &cut.bytes,
            way: cut.way,
            others: &cut.others,
        };
        match message.parsed() {
            Some(_) => each(&message),
            None => self.lines = self.lines.saturating_add(1),
        }
    }
}

impl CutMessage {
    /// Whether a segment was sent between the same ends, in any direction.
    fn is_between_ends_of(&self, way: &SipWay) -> bool {
        let (own, other) = (&self.way.flow, &way.flow);
        let ends = (other.src, other.dst);
        own.number == other.number && ((own.src, own.dst) == ends || (own.dst, own.src) == ends)
    }
}

/// Whether a segment has the rest of the body of a message, and the next message behind that: the rest and the next method may
/// look like one method.
fn goes_on(cut: &[u8], segment: &[u8]) -> bool {
    let behind = missing_octets(cut).and_then(|octets| segment.get(octets..));
    !begins_with_method(segment)
        && behind.is_some_and(|behind| {
            let behind = behind.trim_ascii_start();
            looks_like_sip(behind) || may_begin(behind)
        })
}

/// The number of octets that the body of a message lacks; `None` where its head is not whole.
fn missing_octets(bytes: &[u8]) -> Option<usize> {
    let message = Message::parse(bytes, &Limits::default()).ok()?;
    if message.faults().has(FaultKind::Cut) {
        return None;
    }
    let length = usize::try_from(Digest::of(&message).content_length?).ok()?;
    let end = message.headers_end().checked_add(length)?;
    end.checked_sub(bytes.len())
}

/// Whether a message ends within its head, or has fewer octets than Content-Length says.
fn is_cut(bytes: &[u8]) -> bool {
    let message = Message::parse(bytes, &Limits::default());
    message.is_ok_and(|message| {
        let faults = message.faults();
        [FaultKind::Cut, FaultKind::BodyShort, FaultKind::BodyLong]
            .iter()
            .any(|kind| faults.has(*kind))
    })
}
