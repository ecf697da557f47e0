//! The transactions of messages, and their repetitions.

use std::hash::{BuildHasher, Hash};
use std::net::SocketAddr;

use weir_dict::{Expiring, ProcessKey, Renewal};

use crate::digest::Digest;
use crate::method::Method;

/// Between which sockets a message went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flow {
    /// The sender.
    pub src: SocketAddr,
    /// The receiver.
    pub dst: SocketAddr,
    /// The number that the user of this crate gives the connection. It is no part of what makes messages equal.
    pub number: Option<u64>,
}

/// The identifier of a message's transaction (RFC 3261 §17.1.3, §17.2.3). An ACK of a failure has that of its INVITE; an ACK of a
/// success and a CANCEL have identifiers of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransactionId<'a> {
    /// The branch has the magic cookie: it names the transaction, together with the host that made it.
    Branch {
        /// The branch of the topmost Via.
        branch: &'a [u8],
        /// Host of the topmost Via.
        host: &'a [u8],
        /// Port of the topmost Via.
        port: Option<u16>,
        /// The method; INVITE for ACK.
        method: Method<'a>,
    },
    /// The identifier by RFC 2543: the values that request and response have in common.
    Old {
        /// Call-ID.
        call_id: &'a [u8],
        /// The From tag.
        from_tag: Option<&'a [u8]>,
        /// The number of CSeq.
        cseq: u32,
        /// Host of the topmost Via.
        host: &'a [u8],
        /// Port of the topmost Via.
        port: Option<u16>,
        /// The branch of the topmost Via, if it has one: by RFC 2543 the forks of a request differ in it.
        branch: Option<&'a [u8]>,
        /// The method; INVITE for ACK.
        method: Method<'a>,
    },
}

impl<'a> Digest<'a> {
    /// The transaction of the message; `None` when it lacks what names one.
    #[must_use]
    pub fn transaction(&self) -> Option<TransactionId<'a>> {
        let via = self.via?;
        let method = match self.method? {
            Method::Ack => Method::Invite,
            method => method,
        };
        let branch = via.branch();
        match branch {
            Some(branch) if via.has_cookie() => Some(TransactionId::Branch {
                branch,
                host: via.host,
                port: via.port,
                method,
            }),
            _ => Some(TransactionId::Old {
                call_id: self.call_id?,
                from_tag: self.from_tag(),
                cseq: self.cseq?.number,
                host: via.host,
                port: via.port,
                branch,
                method,
            }),
        }
    }
}

/// Recognises messages that repeat one of their transaction: retransmissions over UDP, and packets that
/// a capture has twice.
///
/// A message repeats another when transaction, method, number of CSeq, status, To tag, RSeq and both sockets are
/// the same, and not more than [`Transactions::LIFETIME_NS`] have passed since the first of them.
#[derive(Clone, Debug)]
pub struct Transactions {
    /// The messages so far, as hashes of 128 bits.
    seen: Expiring<(u64, u64), ()>,
    now: u64,
    messages_max: usize,
    not_followed: u64,
    /// Messages since the last look for entries that are too old.
    since_look: usize,
}

/// One message of so many looks for entries that are too old, at some 160: one for each message would look at each entry
/// a hundred times before it is, and costs more than the rest of a search.
const LOOK_MESSAGES: usize = 8;

impl Transactions {
    /// The time of 64 times T1, after which nothing is sent again (RFC 3261 §17.1.1.2).
    pub const LIFETIME_NS: u64 = 32_000_000_000;

    /// Remembers no more than `messages_max` messages at a time; those beyond it are taken for new
    /// ones, and counted.
    #[must_use]
    pub const fn new(messages_max: usize) -> Self {
        Self {
            seen: Expiring::new(Self::LIFETIME_NS, Renewal::OnInsertion),
            now: 0,
            messages_max,
            not_followed: 0,
            since_look: 0,
        }
    }

    /// Whether the message repeats an earlier one. Messages come in the order of time; a step backwards counts as no time. Time is
    /// in nanoseconds from any origin.
    pub fn is_repeat(&mut self, time_ns: i64, flow: Option<Flow>, digest: &Digest<'_>) -> bool {
        let Some(id) = digest.transaction() else {
            return false;
        };
        self.now = self.now.max(u64::try_from(time_ns).unwrap_or(0));
        let what = (
            id,
            digest.is_request(),
            digest.method,
            digest.status,
            digest.to_tag(),
            digest.rseq,
            // Some clients use a branch for other requests again.
            digest.cseq.map(|cseq| cseq.number),
            flow.map(|flow| (flow.src, flow.dst)),
        );
        let hash = |salt: u8| ProcessKey.hash_one(Salted(salt, &what));
        let print = (hash(0), hash(1));
        self.since_look += 1;
        // Where there is no room, every message looks for some.
        if self.since_look >= LOOK_MESSAGES || self.seen.len() >= self.messages_max {
            self.since_look = 0;
            self.seen.expire(self.now, 1, |_, ()| {});
        }
        if self.seen.get(&print, self.now).is_some() {
            return true;
        }
        if self.seen.len() < self.messages_max {
            self.seen.insert(print, (), self.now);
        } else {
            self.not_followed = self.not_followed.saturating_add(1);
        }
        false
    }

    /// Messages that were not remembered, because too many were.
    #[must_use]
    pub const fn not_followed(&self) -> u64 {
        self.not_followed
    }
}

impl Default for Transactions {
    /// Remembers up to 1,048,576 messages.
    fn default() -> Self {
        Self::new(1 << 20)
    }
}

/// Two salts make two hashes, which are one of twice the length.
#[derive(Hash)]
struct Salted<'t, T>(u8, &'t T);
