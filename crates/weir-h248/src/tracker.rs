//! Matches replies with requests: transactions of captured messages (H.248.1 clauses 8 and D.1).
//!
//! A [`Tracker`] takes messages in the order of their times and gives the [`Role`] of each transaction in them among
//! those before: a request, its repetition, a provisional answer, a reply or a segment of one, an acknowledgement. It
//! runs no timer and looks at no clock: its time is that of the messages.

use std::{
    collections::{HashMap, VecDeque},
    net::IpAddr,
};

use crate::{
    Segments,
    message::{Message, Transaction, TransactionAck, TransactionReply},
};

/// One end of the way that a message took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Endpoint {
    /// Address.
    pub address: IpAddr,
    /// Port of UDP, TCP or SCTP.
    pub port: u16,
}

/// The way that a message took, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Nanoseconds since some beginning, the same for all messages.
    pub at_ns: i64,
    /// The sender.
    pub from: Endpoint,
    /// The receiver.
    pub to: Endpoint,
}

/// The limits of a tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrackerLimits {
    /// Transactions that are remembered at a time; the oldest is forgotten for one too many.
    /// Default 65,536.
    pub transactions_max: usize,
    /// Nanoseconds after its last message that a transaction is forgotten: the protocol's
    /// LONG-TIMER, after which numbers may be used again (H.248.1 D.1.3). Default 30 s.
    pub long_timer_ns: i64,
}

impl Default for TrackerLimits {
    fn default() -> Self {
        Self {
            transactions_max: 65_536,
            long_timer_ns: 30_000_000_000,
        }
    }
}

/// The relation of a transaction to those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// A request that was not seen before.
    Request,
    /// A request that was seen before.
    RequestAgain(Matched),
    /// The request is in progress; `None` when it was not captured.
    Pending(Option<Matched>),
    /// A reply, or a segment of one.
    Reply {
        /// The request that it answers; `None` when it was not captured.
        request: Option<Matched>,
        /// Whether the reply is complete with it: it is not segmented, or all segments have come.
        complete: bool,
        /// Whether the same reply, or segment, was seen before.
        again: bool,
    },
    /// A segment has arrived at the requester; the request, when it was seen.
    SegmentArrived(Option<Matched>),
    /// Replies have arrived: of this many transactions that were seen.
    Acknowledged(u32),
}

/// A request that was seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Matched {
    /// The caller's token of the request.
    pub token: u64,
    /// Nanoseconds since the request was first seen; never negative.
    pub since_ns: i64,
    /// The number of repetitions of the request.
    pub repetitions: u32,
    /// The number of provisional responses.
    pub pendings: u32,
}

/// A request that had no complete reply when it was forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unanswered {
    /// The caller's token of the request.
    pub token: u64,
    /// When the request was first seen.
    pub at_ns: i64,
    /// Number of the transaction.
    pub transaction_id: u32,
    /// The number of repetitions of the request.
    pub repetitions: u32,
    /// The number of provisional responses.
    pub pendings: u32,
    /// The number of segments of a reply.
    pub segments: usize,
}

/// The counters of a tracker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrackerCounts {
    /// Requests, each once.
    pub requests: u64,
    /// Repetitions of requests.
    pub requests_again: u64,
    /// Provisional answers.
    pub pendings: u64,
    /// Complete replies to requests that were seen, each once.
    pub answered: u64,
    /// Replies and segments that were seen before.
    pub replies_again: u64,
    /// Replies, provisional answers and segments whose request was not seen.
    pub unmatched: u64,
    /// Transactions whose reply was acknowledged.
    pub acknowledged: u64,
    /// Requests that were forgotten without a complete reply.
    pub unanswered: u64,
    /// Transactions that were forgotten early, for `transactions_max`.
    pub evicted: u64,
}

/// A transaction: its requester, its responder and its number. The requester's port counts, as a reply goes to
/// the port that the request came from; the responder's does not, as it may answer from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct TransactionKey {
    requester: Endpoint,
    responder: IpAddr,
    id: u32,
}

#[derive(Debug)]
struct OpenTransaction {
    token: u64,
    at_ns: i64,
    last_ns: i64,
    repetitions: u32,
    pendings: u32,
    segments: Segments,
    acknowledged: bool,
}

impl OpenTransaction {
    fn matched(&self, now_ns: i64) -> Matched {
        Matched {
            token: self.token,
            since_ns: now_ns.saturating_sub(self.at_ns).max(0),
            repetitions: self.repetitions,
            pendings: self.pendings,
        }
    }

    fn touch(&mut self, now_ns: i64) {
        self.last_ns = self.last_ns.max(now_ns);
    }
}

/// Follows the transactions between gateways and controllers.
///
/// Memory: some 150 octets a transaction, at most [`TrackerLimits::transactions_max`] of them, and
/// two octets a segment.
#[derive(Debug)]
pub struct Tracker {
    limits: TrackerLimits,
    open: HashMap<TransactionKey, OpenTransaction>,
    /// The transactions in the order of arrival; one that lived on is put at the end again.
    queue: VecDeque<(i64, TransactionKey)>,
    counts: TrackerCounts,
}

impl Tracker {
    /// A tracker without transactions.
    #[must_use]
    pub fn new(limits: TrackerLimits) -> Self {
        Self {
            limits,
            open: HashMap::new(),
            queue: VecDeque::new(),
            counts: TrackerCounts::default(),
        }
    }

    /// The counters.
    #[must_use]
    pub fn counts(&self) -> TrackerCounts {
        self.counts
    }

    /// Adds a message. `token` is returned by later matches of its requests, plus the index of the transaction in the message, so
    /// that each has its own. `role` is called for every transaction in order, and `unanswered` for every request that is
    /// forgotten without a reply.
    pub fn message(
        &mut self,
        sent: Sent,
        message: &Message<'_>,
        token: u64,
        mut role: impl FnMut(usize, Role),
        mut unanswered: impl FnMut(Unanswered),
    ) {
        self.expire(sent.at_ns, &mut unanswered);
        for (place, transaction) in message.transactions().iter().enumerate() {
            let token = token.saturating_add(place as u64);
            let found = match transaction {
                Transaction::Request(request) => {
                    self.request(sent, request.id, token, &mut unanswered)
                }
                Transaction::Pending(pending) => self.pending(sent, pending.id),
                Transaction::Reply(reply) => self.reply(sent, reply),
                Transaction::ResponseAck(acks) => self.acks(sent, acks),
                Transaction::SegmentReply(segment) => {
                    let key = key(sent.from, sent.to, segment.id);
                    Role::SegmentArrived(self.touch(&key, sent.at_ns))
                }
            };
            role(place, found);
        }
    }

    /// Removes every transaction that is silent for longer than the LONG-TIMER.
    pub fn expire(&mut self, now_ns: i64, unanswered: &mut impl FnMut(Unanswered)) {
        let long = self.limits.long_timer_ns;
        while let Some((seen_ns, key)) = self.queue.front().copied() {
            if now_ns.saturating_sub(seen_ns) <= long {
                return;
            }
            self.queue.pop_front();
            match self.open.get(&key).map(|open| open.last_ns) {
                Some(last_ns) if now_ns.saturating_sub(last_ns) <= long => {
                    self.queue.push_back((last_ns, key));
                }
                _ => self.forget(&key, unanswered),
            }
        }
    }

    /// Removes all transactions: those that are open have no reply.
    pub fn finish(&mut self, mut unanswered: impl FnMut(Unanswered)) {
        while let Some((_, key)) = self.queue.pop_front() {
            self.forget(&key, &mut unanswered);
        }
    }

    fn forget(&mut self, key: &TransactionKey, unanswered: &mut impl FnMut(Unanswered)) {
        let Some(open) = self.open.remove(key) else {
            return;
        };
        if open.segments.is_complete() {
            return;
        }
        self.counts.unanswered = self.counts.unanswered.saturating_add(1);
        unanswered(Unanswered {
            token: open.token,
            at_ns: open.at_ns,
            transaction_id: key.id,
            repetitions: open.repetitions,
            pendings: open.pendings,
            segments: open.segments.len(),
        });
    }

    fn request(
        &mut self,
        sent: Sent,
        id: u32,
        token: u64,
        unanswered: &mut impl FnMut(Unanswered),
    ) -> Role {
        let key = key(sent.from, sent.to, id);
        if let Some(open) = self.open.get_mut(&key) {
            open.repetitions = open.repetitions.saturating_add(1);
            open.touch(sent.at_ns);
            self.counts.requests_again = self.counts.requests_again.saturating_add(1);
            return Role::RequestAgain(open.matched(sent.at_ns));
        }
        while self.open.len() >= self.limits.transactions_max.max(1) {
            let Some((_, oldest)) = self.queue.pop_front() else {
                break;
            };
            self.counts.evicted = self.counts.evicted.saturating_add(1);
            self.forget(&oldest, unanswered);
        }
        self.counts.requests = self.counts.requests.saturating_add(1);
        self.queue.push_back((sent.at_ns, key));
        let open = OpenTransaction {
            token,
            at_ns: sent.at_ns,
            last_ns: sent.at_ns,
            repetitions: 0,
            pendings: 0,
            segments: Segments::new(),
            acknowledged: false,
        };
        self.open.insert(key, open);
        Role::Request
    }

    fn touch(&mut self, key: &TransactionKey, now_ns: i64) -> Option<Matched> {
        let found = self.open.get_mut(key).map(|open| {
            open.touch(now_ns);
            open.matched(now_ns)
        });
        if found.is_none() {
            self.counts.unmatched = self.counts.unmatched.saturating_add(1);
        }
        found
    }

    fn pending(&mut self, sent: Sent, id: u32) -> Role {
        self.counts.pendings = self.counts.pendings.saturating_add(1);
        let key = key(sent.to, sent.from, id);
        if let Some(open) = self.open.get_mut(&key) {
            open.pendings = open.pendings.saturating_add(1);
        }
        Role::Pending(self.touch(&key, sent.at_ns))
    }

    fn reply(&mut self, sent: Sent, reply: &TransactionReply<'_>) -> Role {
        let key = key(sent.to, sent.from, reply.id);
        let request = self.touch(&key, sent.at_ns);
        let Some(open) = self.open.get_mut(&key) else {
            return Role::Reply {
                request,
                complete: reply.segment_number.is_none(),
                again: false,
            };
        };
        let was_complete = open.segments.is_complete();
        let again = !open.segments.add(reply);
        let complete = open.segments.is_complete();
        if again {
            self.counts.replies_again = self.counts.replies_again.saturating_add(1);
        }
        if complete && !was_complete {
            self.counts.answered = self.counts.answered.saturating_add(1);
        }
        Role::Reply {
            request,
            complete,
            again,
        }
    }

    /// An acknowledgement may name 2^32 transactions: the remembered transactions are looked up, and not the named ones, when these
    /// are more.
    fn acks(&mut self, sent: Sent, acks: &[TransactionAck]) -> Role {
        let mut count = 0_u32;
        for ack in acks {
            let last = ack.last.unwrap_or(ack.first);
            let named = u64::from(last).saturating_sub(u64::from(ack.first));
            if named <= self.open.len() as u64 {
                for id in ack.first..=last {
                    let key = key(sent.from, sent.to, id);
                    count = count.saturating_add(acknowledge(self.open.get_mut(&key)));
                }
            } else {
                for (key, open) in &mut self.open {
                    let here = key.requester == sent.from && key.responder == sent.to.address;
                    if here && (ack.first..=last).contains(&key.id) {
                        count = count.saturating_add(acknowledge(Some(open)));
                    }
                }
            }
        }
        self.counts.acknowledged = self.counts.acknowledged.saturating_add(u64::from(count));
        Role::Acknowledged(count)
    }
}

fn key(requester: Endpoint, responder: Endpoint, id: u32) -> TransactionKey {
    TransactionKey {
        requester,
        responder: responder.address,
        id,
    }
}

/// 1 when it was not acknowledged before.
fn acknowledge(open: Option<&mut OpenTransaction>) -> u32 {
    match open {
        Some(open) if !open.acknowledged => {
            open.acknowledged = true;
            1
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arena, TextOptions, decode_text};

    const SECOND: i64 = 1_000_000_000;

    struct TestTracker {
        tracker: Tracker,
        token: u64,
        unanswered: Vec<Unanswered>,
    }

    impl TestTracker {
        fn new(limits: TrackerLimits) -> Self {
            Self {
                tracker: Tracker::new(limits),
                token: 0,
                unanswered: Vec::new(),
            }
        }

        fn say(&mut self, at_ns: i64, up: bool, body: &str) -> Vec<Role> {
            let gateway = Endpoint {
                address: [10, 0, 0, 2].into(),
                port: 40_000,
            };
            let controller = Endpoint {
                address: [10, 0, 0, 1].into(),
                port: 2944,
            };
            let (from, to) = if up {
                (gateway, controller)
            } else {
                (controller, gateway)
            };
            let text = format!("!/3 [10.0.0.1]\n{body}");
            let arena = Arena::new();
            let message = decode_text(text.as_bytes(), &arena, TextOptions::strict()).unwrap();
            let mut roles = Vec::new();
            self.token += 100;
            let unanswered = &mut self.unanswered;
            self.tracker.message(
                Sent { at_ns, from, to },
                &message,
                self.token,
                |_, role| roles.push(role),
                |lost| unanswered.push(lost),
            );
            roles
        }
    }

    #[test]
    fn requests_find_their_replies() {
        let mut wire = TestTracker::new(TrackerLimits::default());
        let request = "T=1{C=-{MF=a}}T=2{C=-{MF=b}}";
        assert_eq!(wire.say(0, false, request), [Role::Request, Role::Request]);
        let again = wire.say(SECOND, false, "T=2{C=-{MF=b}}");
        let matched = Matched {
            token: 101,
            since_ns: SECOND,
            repetitions: 1,
            pendings: 0,
        };
        assert_eq!(again, [Role::RequestAgain(matched)]);
        let pending = Matched {
            pendings: 1,
            ..matched
        };
        assert_eq!(
            wire.say(SECOND, true, "PN=2{}"),
            [Role::Pending(Some(pending))]
        );
        let reply = |since_ns, again| Role::Reply {
            request: Some(Matched {
                since_ns,
                ..pending
            }),
            complete: true,
            again,
        };
        let text = "P=2{C=-{MF=b}}";
        assert_eq!(wire.say(2 * SECOND, true, text), [reply(2 * SECOND, false)]);
        assert_eq!(wire.say(3 * SECOND, true, text), [reply(3 * SECOND, true)]);
        assert_eq!(
            wire.say(3 * SECOND, false, "K{1-4000000000}"),
            [Role::Acknowledged(2)]
        );
        assert_eq!(wire.say(3 * SECOND, false, "K{2}"), [Role::Acknowledged(0)]);
        // The transaction 2 of the other side is another one.
        assert_eq!(
            wire.say(3 * SECOND, false, text),
            [Role::Reply {
                request: None,
                complete: true,
                again: false
            }]
        );
        assert!(wire.unanswered.is_empty());
        let unanswered = &mut wire.unanswered;
        wire.tracker.finish(|lost| unanswered.push(lost));
        assert_eq!(wire.unanswered.len(), 1);
        assert_eq!(wire.unanswered[0].transaction_id, 1);
        let counts = wire.tracker.counts();
        assert_eq!(
            (counts.requests, counts.answered, counts.unanswered),
            (2, 1, 1)
        );
        assert_eq!((counts.replies_again, counts.unmatched), (1, 1));
    }

    #[test]
    fn segments_complete_a_reply() {
        let mut wire = TestTracker::new(TrackerLimits::default());
        wire.say(0, false, "T=1{C=-{W-AV=*}}");
        let complete = |roles: Vec<Role>| match roles[..] {
            [Role::Reply { complete, .. }] => complete,
            _ => panic!("{roles:?}"),
        };
        assert!(!complete(wire.say(1, true, "P=1/2/&{C=-{AV=b}}")));
        assert!(matches!(
            wire.say(2, false, "SM=1/2/&")[..],
            [Role::SegmentArrived(Some(_))]
        ));
        assert!(complete(wire.say(3, true, "P=1/1{C=-{AV=a}}")));
        assert_eq!(wire.tracker.counts().answered, 1);
    }

    #[test]
    fn what_is_old_or_too_much_is_forgotten() {
        let limits = TrackerLimits {
            transactions_max: 2,
            ..TrackerLimits::default()
        };
        let mut wire = TestTracker::new(limits);
        wire.say(0, false, "T=1{C=-{MF=a}}");
        wire.say(20 * SECOND, false, "T=1{C=-{MF=a}}");
        wire.say(40 * SECOND, false, "T=2{C=-{MF=a}}");
        assert!(wire.unanswered.is_empty(), "its repetition kept it");
        wire.say(51 * SECOND, false, "T=3{C=-{MF=a}}");
        assert_eq!(wire.unanswered.len(), 1);
        assert_eq!(wire.unanswered[0].repetitions, 1);
        wire.say(52 * SECOND, false, "T=4{C=-{MF=a}}");
        assert_eq!(wire.unanswered[1].transaction_id, 2);
        assert_eq!(wire.tracker.counts().evicted, 1);
    }
}
