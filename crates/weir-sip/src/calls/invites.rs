//! The INVITEs that were captured, by the identifiers of their transactions.

use std::hash::BuildHasher;

use weir_dict::ProcessKey;

use crate::digest::Digest;
use crate::via::Via;

/// The topmost Vias of the INVITEs of one attempt, each from another hop, as hashes.
///
/// The ACK of a failure goes hop by hop and has the branch of the INVITE (RFC 3261 §17.1.1.3). The ACK of a success is a
/// transaction of its own (§13.2.2.4), so its branch is another one.
#[derive(Clone, Debug, Default)]
pub(super) struct Invites {
    seen: [Hop; Self::MAX],
    len: usize,
    is_beyond: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Hop {
    sent_by: u64,
    branch: u64,
}

impl Invites {
    /// The maximum number of hops of one INVITE; with more of them an ACK proves nothing.
    const MAX: usize = 8;

    /// Keeps the hop that an INVITE was seen at. True when its sender has tried another way before.
    pub(super) fn take(&mut self, digest: &Digest<'_>) -> bool {
        let Some(hop) = Hop::of(digest) else {
            return false;
        };
        if self.hops().contains(&hop) {
            return false;
        }
        let is_other_way = self.hops().iter().any(|it| it.sent_by == hop.sent_by);
        match self.seen.get_mut(self.len) {
            Some(place) => {
                *place = hop;
                self.len = self.len.saturating_add(1);
            }
            None => self.is_beyond = true,
        }
        is_other_way
    }

    /// Whether a message belongs to the INVITE of a hop behind the first captured one: that of a proxy, which may try several
    /// targets, and give up one of them, without its client (RFC 3261 §16.7, §16.8). A CANCEL and responses have the topmost Via of
    /// their INVITE (§9.1, §8.2.6.2).
    pub(super) fn is_of_later_hop(&self, digest: &Digest<'_>) -> bool {
        let (Some(first), Some(hop)) = (self.hops().first(), Hop::of(digest)) else {
            return false;
        };
        hop.sent_by != first.sent_by && self.hops().contains(&hop)
    }

    /// Whether this ACK is not one of a failure: its sender's INVITE was captured, and had another branch.
    pub(super) fn prove_success(&self, ack: &Digest<'_>) -> bool {
        let Some(ack) = Hop::of(ack).filter(|_| !self.is_beyond) else {
            return false;
        };
        // The INVITE of a hop may be missing, whose ACK of a failure has a branch that was not seen.
        self.hops().iter().any(|hop| hop.sent_by == ack.sent_by)
            && self.hops().iter().all(|hop| hop.branch != ack.branch)
    }

    /// Whether this ACK is that of a failure: it has the branch of the INVITE at the first captured hop, whose sender tried one way
    /// only.
    pub(super) fn prove_failure(&self, ack: &Digest<'_>) -> bool {
        let Some((first, others)) = self.hops().split_first() else {
            return false;
        };
        !self.is_beyond
            && Hop::of(ack).as_ref() == Some(first)
            && others.iter().all(|hop| hop.sent_by != first.sent_by)
    }

    fn hops(&self) -> &[Hop] {
        self.seen.get(..self.len).unwrap_or_default()
    }
}

impl Hop {
    /// `None` where the branch names no transaction, as in RFC 2543.
    fn of(digest: &Digest<'_>) -> Option<Self> {
        let via = digest.via.filter(Via::has_cookie)?;
        Some(Self {
            sent_by: ProcessKey.hash_one((via.host, via.port)),
            branch: ProcessKey.hash_one(via.branch()?),
        })
    }
}
