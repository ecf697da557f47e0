//! What one INVITE began: its attempts, its early dialogs, the dialogs that were answered.

use super::call::{Call, CallState, Party, Side, Told};
use super::queue::Wait;
use super::{CallLimits, Counters};
use crate::address::Address;
use crate::digest::Digest;
use crate::header::unfold;
use crate::method::Method;
use crate::transaction::Flow;

/// A session: everything with one Call-ID and one tag of the caller.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) number: u64,
    call_id: Vec<u8>,
    caller: Party,
    callee: Party,
    request_uri: Option<Vec<u8>>,
    flow: Option<Flow>,
    first_ns: i64,
    last_ns: i64,
    start_ns: Option<i64>,
    /// The INVITE outside of a dialog that came last.
    invite: Option<Invite>,
    cancel_ns: Option<i64>,
    failure: Option<Failure>,
    attempts: u32,
    reinvites: u32,
    last_reinvite: Option<(Side, u32)>,
    messages: u64,
    retransmissions: u64,
    hops: u32,
    max_forwards: Option<u8>,
    forks: Vec<Fork>,
}

#[derive(Clone, Copy, Debug)]
struct Invite {
    cseq: u32,
    ns: i64,
}

#[derive(Clone, Debug)]
struct Failure {
    status: u16,
    ns: i64,
    tag: Option<Vec<u8>>,
}

/// One dialog, early or not.
#[derive(Clone, Debug, Default)]
struct Fork {
    tag: Vec<u8>,
    contact: Option<Vec<u8>>,
    user_agent: Option<Vec<u8>>,
    ringing_ns: Option<i64>,
    answer: Option<(i64, u16)>,
    bye: Option<(i64, Side)>,
    bye_ok_ns: Option<i64>,
}

/// Copies texts, as long as they may be.
pub(super) struct Keeper<'k> {
    pub(super) limits: &'k CallLimits,
    pub(super) counters: &'k mut Counters,
    /// Bytes of the copies made so far.
    pub(super) bytes: usize,
}

impl Keeper<'_> {
    fn keep(&mut self, text: &[u8]) -> Vec<u8> {
        let mut kept = unfold(text).into_owned();
        if kept.len() > self.limits.text_bytes_max {
            kept.truncate(self.limits.text_bytes_max);
            self.counters.texts_clipped = self.counters.texts_clipped.saturating_add(1);
        }
        self.bytes = self.bytes.saturating_add(kept.len());
        kept
    }

    fn party(&mut self, address: Option<Address<'_>>) -> Party {
        let Some(address) = address else {
            return Party::default();
        };
        Party {
            uri: self.keep(address.uri.text),
            user: address.uri.user.map(|user| self.keep(user)),
            host: self.keep(address.uri.host),
            tag: address.tag().map(|tag| self.keep(tag)),
            contact: None,
            user_agent: None,
        }
    }

    fn contact(&mut self, digest: &Digest<'_>) -> Option<Vec<u8>> {
        digest.contact.map(|contact| self.keep(contact.uri.text))
    }

    fn user_agent(&mut self, digest: &Digest<'_>) -> Option<Vec<u8>> {
        digest.user_agent.map(|text| self.keep(text))
    }
}

impl Session {
    /// A session of which `digest` is the first message; From is the caller.
    pub(super) fn new(
        number: u64,
        time_ns: i64,
        flow: Option<Flow>,
        digest: &Digest<'_>,
        keeper: &mut Keeper<'_>,
    ) -> Self {
        let mut callee = keeper.party(digest.to);
        callee.tag = None;
        Self {
            number,
            call_id: keeper.keep(digest.call_id.unwrap_or_default()),
            caller: keeper.party(digest.from),
            callee,
            request_uri: None,
            flow,
            first_ns: time_ns,
            last_ns: time_ns,
            start_ns: None,
            invite: None,
            cancel_ns: None,
            failure: None,
            attempts: 0,
            reinvites: 0,
            last_reinvite: None,
            messages: 0,
            retransmissions: 0,
            hops: 0,
            max_forwards: None,
            forks: Vec::new(),
        }
    }

    /// True when an INVITE with this number begins another call under the same identifiers: the
    /// session had a dialog, and that is over.
    pub(super) fn is_reused_by(&self, digest: &Digest<'_>) -> bool {
        let is_new = digest.cseq.map(|cseq| cseq.number) != self.invite.map(|invite| invite.cseq);
        digest.is_request()
            && digest.method == Some(Method::Invite)
            && digest.to_tag().is_none()
            && is_new
            && self.wait() == Wait::Linger
            && self.forks.iter().any(|fork| fork.bye.is_some())
    }

    /// Takes up a message that `sender` sent, or the response to one that it had sent.
    pub(super) fn take(
        &mut self,
        time_ns: i64,
        sender: Side,
        is_repeat: bool,
        digest: &Digest<'_>,
        keeper: &mut Keeper<'_>,
    ) {
        self.messages = self.messages.saturating_add(1);
        self.retransmissions = self.retransmissions.saturating_add(u64::from(is_repeat));
        self.last_ns = self.last_ns.max(time_ns);
        let remote_tag = match sender {
            Side::Caller => digest.to_tag(),
            Side::Callee => digest.from_tag(),
        };
        match (digest.status, digest.method) {
            (None, Some(Method::Invite)) if digest.to_tag().is_none() => {
                self.initial_invite(time_ns, digest, keeper);
            }
            (None, Some(Method::Invite)) => {
                self.fork(remote_tag, keeper);
                let cseq = digest.cseq.map_or(0, |cseq| cseq.number);
                if self.last_reinvite != Some((sender, cseq)) {
                    self.last_reinvite = Some((sender, cseq));
                    self.reinvites = self.reinvites.saturating_add(1);
                }
            }
            (None, Some(Method::Cancel)) if self.failure.is_none() && !self.is_answered() => {
                self.cancel_ns.get_or_insert(time_ns);
            }
            (None, Some(Method::Bye)) => {
                if let Some(fork) = self.fork(remote_tag, keeper) {
                    fork.bye.get_or_insert((time_ns, sender));
                }
            }
            (Some(status), Some(Method::Invite)) if sender == Side::Caller => {
                self.invite_response(time_ns, status, digest, keeper);
            }
            (Some(200..300), Some(Method::Bye)) => {
                if let Some(fork) = self.fork(remote_tag, keeper)
                    && fork.bye.is_some()
                {
                    fork.bye_ok_ns.get_or_insert(time_ns);
                }
            }
            _ => {}
        }
    }

    fn initial_invite(&mut self, time_ns: i64, digest: &Digest<'_>, keeper: &mut Keeper<'_>) {
        self.hops = self.hops.max(digest.via_count);
        self.max_forwards = match (self.max_forwards, digest.max_forwards) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let cseq = digest.cseq.map_or(0, |cseq| cseq.number);
        let is_next = self.invite.is_none_or(|invite| cseq > invite.cseq);
        if !is_next || self.is_answered() {
            return;
        }
        self.invite = Some(Invite { cseq, ns: time_ns });
        self.attempts = self.attempts.saturating_add(1);
        // What the attempt before came to is no longer the end.
        self.failure = None;
        self.cancel_ns = None;
        if self.start_ns.is_none() {
            self.start_ns = Some(time_ns);
            self.request_uri = digest.request_uri.map(|uri| keeper.keep(uri));
            self.caller.contact = keeper.contact(digest);
            self.caller.user_agent = keeper.user_agent(digest);
        }
    }

    fn invite_response(
        &mut self,
        time_ns: i64,
        status: u16,
        digest: &Digest<'_>,
        keeper: &mut Keeper<'_>,
    ) {
        // Responses to an INVITE within the dialog, and to an attempt before the last, say nothing
        // of how the call was set up.
        let is_of_invite = match (self.invite, digest.cseq) {
            (Some(invite), Some(cseq)) => invite.cseq == cseq.number,
            _ => true,
        };
        if !is_of_invite || status <= 100 {
            return;
        }
        if status >= 300 {
            if self.failure.is_none() && !self.is_answered() {
                self.failure = Some(Failure {
                    status,
                    ns: time_ns,
                    tag: digest.to_tag().map(|tag| keeper.keep(tag)),
                });
            }
            return;
        }
        // Without a tag there is no dialog, but the time counts.
        let tag = digest.to_tag().unwrap_or_default();
        let Some(fork) = self.fork(Some(tag), keeper) else {
            return;
        };
        if fork.contact.is_none() {
            fork.contact = keeper.contact(digest);
        }
        if fork.user_agent.is_none() {
            fork.user_agent = keeper.user_agent(digest);
        }
        if status < 200 {
            fork.ringing_ns.get_or_insert(time_ns);
        } else {
            fork.answer.get_or_insert((time_ns, status));
        }
    }

    /// The dialog of a tag, which is made when there is none, unless there are too many.
    fn fork(&mut self, tag: Option<&[u8]>, keeper: &mut Keeper<'_>) -> Option<&mut Fork> {
        let tag = tag.unwrap_or_default();
        let tag = tag.get(..keeper.limits.text_bytes_max).unwrap_or(tag);
        // A provisional response without a tag belongs to whatever dialog comes of it.
        let found = self
            .forks
            .iter()
            .position(|fork| fork.tag == tag || fork.tag.is_empty());
        let index = match found {
            Some(index) => index,
            None if self.forks.len() < keeper.limits.dialogs_max => {
                self.forks.push(Fork::default());
                self.forks.len().saturating_sub(1)
            }
            None => {
                keeper.counters.dialogs_refused = keeper.counters.dialogs_refused.saturating_add(1);
                return None;
            }
        };
        let fork = self.forks.get_mut(index)?;
        if fork.tag.is_empty() {
            fork.tag = keeper.keep(tag);
        }
        Some(fork)
    }

    fn is_answered(&self) -> bool {
        self.forks.iter().any(|fork| fork.answer.is_some())
    }

    /// What the session waits for.
    pub(super) fn wait(&self) -> Wait {
        let mut talking = self.forks.iter().filter(|fork| fork.answer.is_some());
        if self.is_answered() {
            return if talking.all(|fork| fork.bye.is_some()) {
                Wait::Linger
            } else {
                Wait::Talk
            };
        }
        let was_given_up =
            self.cancel_ns.is_some() || self.forks.iter().any(|fork| fork.bye.is_some());
        if let Some(failure) = &self.failure
            && !was_given_up
            && invites_a_retry(failure.status)
        {
            Wait::Retry
        } else if self.failure.is_some() || was_given_up {
            Wait::Linger
        } else if self.start_ns.is_none() {
            // It was under way when it was first seen.
            Wait::Talk
        } else {
            Wait::Setup
        }
    }

    /// Tells the calls of the session, which is over.
    pub(super) fn tell(self, told: Told, tell: &mut impl FnMut(Call)) {
        self.stand(told, tell);
    }

    /// Tells the calls of the session: one for each dialog, and one when there is none.
    pub(super) fn stand(&self, told: Told, tell: &mut impl FnMut(Call)) {
        if self.forks.is_empty() {
            return tell(self.call(&Fork::default(), told));
        }
        for fork in &self.forks {
            tell(self.call(fork, told));
        }
    }

    fn call(&self, fork: &Fork, told: Told) -> Call {
        let mut callee = self.callee.clone();
        callee.tag = Some(fork.tag.clone())
            .filter(|tag| !tag.is_empty())
            .or_else(|| self.failure.as_ref()?.tag.clone());
        callee.contact = fork.contact.clone();
        callee.user_agent = fork.user_agent.clone();
        let failure = self.failure.as_ref().filter(|_| fork.answer.is_none());
        let cancel_ns = self.cancel_ns.filter(|_| fork.answer.is_none());
        let answer_ns = fork.answer.map(|(ns, _)| ns);
        let bye_ns = fork.bye.map(|(ns, _)| ns);
        let since_invite = |ns: Option<i64>| span(self.invite.map(|invite| invite.ns), ns);
        let refused_ns = failure
            .filter(|failure| failure.status >= 400 && !matches!(failure.status, 401 | 402 | 407))
            .map(|failure| failure.ns);
        Call {
            number: self.number,
            call_id: self.call_id.clone(),
            caller: self.caller.clone(),
            callee,
            request_uri: self.request_uri.clone(),
            flow: self.flow,
            state: self.state(fork),
            told,
            status: fork
                .answer
                .map(|(_, status)| status)
                .or(failure.map(|failure| failure.status)),
            ended_by: fork
                .bye
                .map(|(_, side)| side)
                .or(cancel_ns.map(|_| Side::Caller)),
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            start_ns: self.start_ns,
            ringing_ns: fork.ringing_ns,
            answer_ns,
            end_ns: bye_ns.or(cancel_ns).or(failure.map(|failure| failure.ns)),
            request_delay_ns: since_invite(fork.ringing_ns.or(answer_ns).or(refused_ns)),
            setup_delay_ns: since_invite(answer_ns),
            duration_ns: span(answer_ns, bye_ns),
            disconnect_delay_ns: span(bye_ns, fork.bye_ok_ns),
            attempts: self.attempts,
            reinvites: self.reinvites,
            dialogs: u32::try_from(self.forks.len()).unwrap_or(u32::MAX),
            messages: self.messages,
            retransmissions: self.retransmissions,
            hops: self.hops,
            max_forwards: self.max_forwards,
        }
    }

    fn state(&self, fork: &Fork) -> CallState {
        let is_in_dialog = fork.answer.is_some() || self.start_ns.is_none();
        match (fork.bye.is_some(), &self.failure) {
            (true, _) if is_in_dialog => CallState::Completed,
            (true, _) => CallState::Cancelled,
            (false, _) if fork.answer.is_some() => CallState::InCall,
            (false, _) if self.is_answered() => CallState::Superseded,
            (false, Some(failure)) => match failure.status {
                300..400 => CallState::Redirected,
                487 => CallState::Cancelled,
                _ if self.cancel_ns.is_some() => CallState::Cancelled,
                486 | 600 => CallState::Busy,
                _ => CallState::Rejected,
            },
            (false, None) if self.cancel_ns.is_some() => CallState::Cancelled,
            (false, None) if fork.ringing_ns.is_some() => CallState::Ringing,
            (false, None) if self.start_ns.is_none() && !self.forks.is_empty() => CallState::InCall,
            (false, None) => CallState::Trying,
        }
    }
}

/// True for a final response that tells the caller how to try again: as another attempt of the same call, with
/// its Call-ID and From tag and a higher CSeq number (RFC 3261 §8.1.3.4, §8.1.3.5, §21.4.16, §21.4.22; 422 of
/// RFC 4028, 428 of RFC 8224, 484 of RFC 3578, 494 of RFC 3329).
const fn invites_a_retry(status: u16) -> bool {
    matches!(
        status,
        300..=399 | 401 | 407 | 413 | 415 | 416 | 420 | 421 | 422 | 428 | 484 | 485 | 494
    )
}

/// The time from one event to another; nothing when one is missing or time ran backwards.
fn span(from_ns: Option<i64>, to_ns: Option<i64>) -> Option<u64> {
    u64::try_from(to_ns?.checked_sub(from_ns?)?).ok()
}
