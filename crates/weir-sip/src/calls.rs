//! Groups messages into calls.

mod call;
mod invites;
mod queue;
mod session;

pub use call::{Call, CallState, Party, ReportCause, Side};

use std::hash::BuildHasher;

use weir_dict::{BytesDict, ProcessKey};

use crate::digest::Digest;
use crate::method::Method;
use crate::transaction::{Flow, Transactions};
use queue::{Queues, WaitReason};
use session::{Session, TextCopier};

/// The limits and timeouts of [`Calls`]. Times are those of the messages, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallLimits {
    /// The maximum number of concurrent calls. Beyond it, the one that has been silent for the longest time is reported and
    /// forgotten: those that ended first, then those that were challenged or redirected, then those without an answer. Default
    /// 131,072.
    pub calls_max: usize,
    /// Dialogs of one INVITE. Default 16.
    pub dialogs_max: usize,
    /// Bytes of a text that a call keeps: URI, tag, Call-ID. Default 1,024.
    pub text_bytes_max: usize,
    /// Bytes of the texts of all calls that are followed. Beyond it, calls are reported and forgotten as beyond
    /// `calls_max`. Default 256 MiB.
    pub texts_bytes_max: usize,
    /// Messages that are remembered to recognise retransmissions. Default 1,048,576.
    pub repeats_max: usize,
    /// Silence after which a call without an answer is reported. Default 5 minutes.
    pub setup_ns: u64,
    /// Silence after which an answered call is reported. Default 12 hours.
    pub talk_ns: u64,
    /// Silence after which a call that ended is reported; until then retransmissions belong to it.
    /// Default 32 s (RFC 3261 §17.1.1.2, 64 times T1).
    pub linger_ns: u64,
    /// Silence after which a call is reported whose caller was challenged or redirected and did not try again, or that
    /// was refused where the INVITE was not seen, which may have been one within the call. RFC 3261 sets no limit to the
    /// time until the next attempt (§8.1.3.5, §22): a user may have to type a password first. Default 1 hour.
    pub retry_ns: u64,
    /// The maximum number of concurrent calls of this kind. Beyond it, the one that has been silent for the longest time is
    /// reported and forgotten. Default 32,768.
    pub retries_max: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        const SECOND_NS: u64 = 1_000_000_000;
        Self {
            calls_max: 131_072,
            dialogs_max: 16,
            text_bytes_max: 1024,
            texts_bytes_max: 256 << 20,
            repeats_max: 1 << 20,
            setup_ns: 300 * SECOND_NS,
            talk_ns: 43_200 * SECOND_NS,
            linger_ns: 32 * SECOND_NS,
            retry_ns: 3_600 * SECOND_NS,
            retries_max: 32_768,
        }
    }
}

/// The counters of [`Calls`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Messages that were looked at.
    pub messages: u64,
    /// The messages that repeat another one.
    pub retransmissions: u64,
    /// The messages that belong to no call: registrations, subscriptions, options, and messages without a Call-ID.
    pub outside: u64,
    /// Calls reported early because there were too many.
    pub evicted: u64,
    /// Calls reported because they were silent for too long, though they had not ended.
    pub expired: u64,
    /// Texts that were longer than the limit.
    pub texts_clipped: u64,
    /// Messages of dialogs beyond the limit of their INVITE.
    pub dialogs_refused: u64,
    /// Messages that were not remembered, because too many were.
    pub repeats_not_followed: u64,
}

/// The relation of one message to the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Seen {
    /// The message repeats one of its transaction; see [`Transactions`].
    pub is_repeat: bool,
    /// The [`Call::number`] that it belongs to.
    pub call: Option<u64>,
}

/// Follows INVITE transactions and the dialogs that come of them (RFC 3261 §12, §17), and reports a
/// [`Call`] for each when it has ended, when it has been silent for too long, or at the end of the input.
///
/// Messages may be seen at several hops: the first of a kind counts, but for a failure that a proxy got and its client did not.
/// Calls that were under way when
/// the input began are calls without a start and an answer, and of those whose INVITE was not seen
/// [`Call::is_caller_known`] says whether other messages show who called. A call whose success was not seen is
/// answered where an ACK with a branch of its own, an INVITE within the dialog, or a BYE of the callee
/// shows it; messages that were not seen have no times. The order in which calls are reported depends on the
/// messages alone.
///
/// ```
/// use weir_sip::{Calls, CallState, Digest, Limits, Message};
///
/// let mut calls = Calls::default();
/// let mut reported = Vec::new();
/// for (second, line, tag) in [
///     (0, "INVITE sip:b@h SIP/2.0", ""),
///     (1, "SIP/2.0 180 Ringing", ";tag=2"),
///     (4, "SIP/2.0 200 OK", ";tag=2"),
/// ] {
///     let text = format!("{line}\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\r\nFrom: <sip:a@h>;tag=1\r\n\
///         To: <sip:b@h>{tag}\r\nCall-ID: x\r\nCSeq: 1 INVITE\r\n\r\n");
///     let message = Message::parse(text.as_bytes(), &Limits::default())?;
///     calls.take(second * 1_000_000_000, None, &Digest::of(&message), &mut |call| reported.push(call));
/// }
/// calls.finish(&mut |call| reported.push(call));
/// assert_eq!(reported[0].state, CallState::InCall);
/// assert_eq!(reported[0].setup_delay_ns, Some(4_000_000_000));
/// # Ok::<(), weir_sip::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct Calls {
    limits: CallLimits,
    counters: Counters,
    transactions: Transactions,
    /// Slots by Call-ID and tag of the caller, each with a NUL behind it.
    index: BytesDict<u32>,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    queues: Queues,
    /// Calls that are in `slots`.
    live: usize,
    /// Bytes of their texts.
    texts_bytes: usize,
    begun: u64,
    now_ns: i64,
    key: Vec<u8>,
    /// The slot of the message that was taken last.
    last: Option<u32>,
}

#[derive(Clone, Debug)]
struct Slot {
    session: Session,
    key: Box<[u8]>,
    /// The key by which an INVITE finds a session that the BYE of the callee began.
    turned_key: Option<Box<[u8]>>,
    texts_bytes: usize,
    wait: WaitReason,
    heard_ns: i64,
}

impl Default for Calls {
    fn default() -> Self {
        Self::new(CallLimits::default())
    }
}

impl Calls {
    /// A state without calls.
    #[must_use]
    pub fn new(limits: CallLimits) -> Self {
        Self {
            limits,
            counters: Counters::default(),
            transactions: Transactions::new(limits.repeats_max),
            index: BytesDict::new(),
            slots: Vec::new(),
            free: Vec::new(),
            queues: Queues::default(),
            live: 0,
            texts_bytes: 0,
            begun: 0,
            now_ns: i64::MIN,
            key: Vec::new(),
            last: None,
        }
    }

    /// The counters.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Calls that are followed now.
    #[must_use]
    pub const fn live(&self) -> usize {
        self.live
    }

    /// Adds the next message, and reports the calls that are over by its time. Messages come in time order; a step backwards
    /// counts as no time.
    pub fn take(
        &mut self,
        time_ns: i64,
        flow: Option<Flow>,
        digest: &Digest<'_>,
        report: &mut impl FnMut(Call),
    ) -> Seen {
        self.take_passed(time_ns, time_ns, flow, digest, report)
    }

    /// Adds the next message, where several clocks give the times, or one that is set: deadlines and repeated messages go by
    /// `passed_ns`, the time that has passed since any instant.
    pub fn take_passed(
        &mut self,
        time_ns: i64,
        passed_ns: i64,
        flow: Option<Flow>,
        digest: &Digest<'_>,
        report: &mut impl FnMut(Call),
    ) -> Seen {
        self.now_ns = self.now_ns.max(passed_ns);
        self.expire(report);
        let is_repeat = self.transactions.is_repeat(passed_ns, flow, digest);
        self.counters.messages = self.counters.messages.saturating_add(1);
        self.counters.retransmissions = self
            .counters
            .retransmissions
            .saturating_add(u64::from(is_repeat));
        self.counters.repeats_not_followed = self.transactions.not_followed();
        self.last = None;
        let call = self.place(time_ns, flow, digest, is_repeat, report);
        if call.is_none() {
            self.counters.outside = self.counters.outside.saturating_add(1);
        }
        Seen { is_repeat, call }
    }

    /// Reports the current call of the last message: one [`Call`] for each of its dialogs, none when the message belongs to no
    /// call.
    pub fn stand(&self, each: &mut impl FnMut(Call)) {
        if let Some(slot) = self.last.and_then(|index| self.slot(index)) {
            slot.session.stand(ReportCause::UnderWay, each);
        }
    }

    /// Ends the input: reports all calls that are left, in the order of their numbers.
    pub fn finish(&mut self, report: &mut impl FnMut(Call)) {
        let mut left: Vec<Slot> = self.slots.drain(..).flatten().collect();
        left.sort_by_key(|slot| slot.session.number);
        for slot in left {
            let cause = match slot.wait {
                WaitReason::Linger | WaitReason::Retry => ReportCause::Ended,
                WaitReason::Setup | WaitReason::Talk => ReportCause::InputEnded,
            };
            slot.session.report(cause, report);
        }
        self.free.clear();
        self.queues = Queues::default();
        self.index = BytesDict::new();
        self.live = 0;
        self.texts_bytes = 0;
    }

    fn place(
        &mut self,
        time_ns: i64,
        flow: Option<Flow>,
        digest: &Digest<'_>,
        is_repeat: bool,
        report: &mut impl FnMut(Call),
    ) -> Option<u64> {
        // The beginning of a tag is another one, and without To a request within a dialog looks like one that begins it.
        let call_id = digest.call_id.filter(|_| !digest.is_cut_short)?;
        let mut found = self.find(call_id, digest.from_tag().unwrap_or_default());
        let mut sender = Side::Caller;
        if found.is_none()
            && let Some(tag) = digest.to_tag()
        {
            found = self.find(call_id, tag);
            sender = Side::Callee;
        }
        if found.is_none() && is_initial_invite(digest) {
            found = self.turn(call_id, digest);
        }
        if let Some(slot) = found
            && !is_repeat
            && self
                .slot(slot)
                .is_some_and(|slot| slot.session.is_reused_by(digest))
        {
            self.report(slot, ReportCause::Reused, report);
            found = None;
        }
        let index = match found {
            Some(index) => index,
            None if begins_call(digest) => {
                sender = Side::Caller;
                self.begin(time_ns, flow, digest, report)
            }
            None => return None,
        };
        let Self {
            limits,
            counters,
            slots,
            queues,
            now_ns,
            texts_bytes,
            ..
        } = self;
        let slot = slots.get_mut(index as usize)?.as_mut()?;
        let mut copier = TextCopier {
            limits,
            counters,
            bytes: 0,
        };
        slot.session
            .take(time_ns, flow, (sender, is_repeat), digest, &mut copier);
        slot.session.pass(*now_ns);
        queues.remove(slot.wait, index);
        slot.wait = slot.session.wait();
        slot.heard_ns = *now_ns;
        queues.push(slot.wait, index);
        slot.texts_bytes = slot.texts_bytes.saturating_add(copier.bytes);
        *texts_bytes = texts_bytes.saturating_add(copier.bytes);
        let number = slot.session.number;
        self.last = Some(index);
        if self.queues.len(WaitReason::Retry) > self.limits.retries_max.max(1) {
            self.evict_of(WaitReason::Retry, report);
        }
        while self.texts_bytes > self.limits.texts_bytes_max && self.live > 1 {
            self.evict(report);
        }
        Some(number)
    }

    /// The slot of a call, and the key of it in `self.key`.
    fn find(&mut self, call_id: &[u8], tag: &[u8]) -> Option<u32> {
        self.key.clear();
        let max = self.limits.text_bytes_max;
        for text in [call_id, tag] {
            match text.split_at_checked(max) {
                None => self.key.extend_from_slice(text),
                // The rest of an identifier that is longer than the maximum is distinguished by a hash.
                Some((kept, rest)) => {
                    self.key.extend_from_slice(kept);
                    let hash = ProcessKey.hash_one(rest);
                    self.key.extend_from_slice(&hash.to_ne_bytes());
                }
            }
            self.key.push(0);
        }
        self.index.get(&self.key).copied()
    }

    /// Finds a session that the callee's BYE began, by the key of an INVITE.
    fn find_turned(&mut self, call_id: &[u8], tag: &[u8]) -> Option<u32> {
        self.find(call_id, tag);
        self.key.push(1);
        self.index.get(&self.key).copied()
    }

    /// Finds the session of an INVITE that was captured behind the callee's BYE, and turns its sides round.
    fn turn(&mut self, call_id: &[u8], digest: &Digest<'_>) -> Option<u32> {
        let tag = digest.from_tag()?;
        let index = self.find_turned(call_id, tag)?;
        self.find(call_id, tag);
        let slot = self.slots.get_mut(index as usize)?.as_mut()?;
        if !slot.session.is_of_bye() {
            return None;
        }
        let mut copier = TextCopier {
            limits: &self.limits,
            counters: &mut self.counters,
            bytes: 0,
        };
        slot.session.turn(digest, &mut copier);
        slot.texts_bytes = slot.texts_bytes.saturating_add(copier.bytes);
        self.texts_bytes = self.texts_bytes.saturating_add(copier.bytes);
        if let Some(key) = slot.turned_key.take() {
            self.index.remove(&key);
        }
        self.index.remove(&slot.key);
        slot.key = self.key.as_slice().into();
        self.index.insert(&self.key, index);
        Some(index)
    }

    fn slot(&self, index: u32) -> Option<&Slot> {
        self.slots.get(index as usize)?.as_ref()
    }

    fn begin(
        &mut self,
        time_ns: i64,
        flow: Option<Flow>,
        digest: &Digest<'_>,
        report: &mut impl FnMut(Call),
    ) -> u32 {
        if self.live >= self.limits.calls_max.max(1) {
            self.evict(report);
        }
        self.begun = self.begun.saturating_add(1);
        let mut copier = TextCopier {
            limits: &self.limits,
            counters: &mut self.counters,
            bytes: 0,
        };
        let session = Session::new(self.begun, time_ns, flow, digest, &mut copier);
        let texts_bytes = copier.bytes;
        let call_id = digest.call_id.unwrap_or_default();
        let is_bye = digest.method == Some(Method::Bye);
        let turned_key: Option<Box<[u8]>> = digest.to_tag().filter(|_| is_bye).and_then(|tag| {
            let is_free = self.find_turned(call_id, tag).is_none();
            is_free.then(|| self.key.as_slice().into())
        });
        // The key is made again: the search for the callee may have changed it.
        self.find(call_id, digest.from_tag().unwrap_or_default());
        let slot = Slot {
            session,
            key: self.key.as_slice().into(),
            turned_key,
            texts_bytes,
            wait: WaitReason::Setup,
            heard_ns: self.now_ns,
        };
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                self.slots.push(None);
                u32::try_from(self.slots.len().saturating_sub(1)).unwrap_or(u32::MAX)
            }
        };
        if let Some(key) = &slot.turned_key {
            self.index.insert(key, index);
        }
        if let Some(place) = self.slots.get_mut(index as usize) {
            *place = Some(slot);
        }
        self.index.insert(&self.key, index);
        self.queues.push(WaitReason::Setup, index);
        self.live = self.live.saturating_add(1);
        self.texts_bytes = self.texts_bytes.saturating_add(texts_bytes);
        index
    }

    /// Reports the calls that have been silent for too long, the one with the earliest deadline first.
    fn expire(&mut self, report: &mut impl FnMut(Call)) {
        loop {
            let due = WaitReason::ALL
                .into_iter()
                .filter_map(|wait| {
                    let index = self.queues.first(wait)?;
                    let slot = self.slot(index)?;
                    let deadline = slot.heard_ns.saturating_add_unsigned(self.patience(wait));
                    Some((deadline, slot.session.number, wait, index))
                })
                .min_by_key(|(deadline, number, ..)| (*deadline, *number));
            let Some((deadline, _, wait, index)) = due else {
                return;
            };
            if deadline > self.now_ns {
                return;
            }
            let cause = match wait {
                WaitReason::Linger | WaitReason::Retry => ReportCause::Ended,
                WaitReason::Setup | WaitReason::Talk => {
                    self.counters.expired = self.counters.expired.saturating_add(1);
                    ReportCause::Expired
                }
            };
            self.report(index, cause, report);
        }
    }

    fn evict(&mut self, report: &mut impl FnMut(Call)) {
        let waits = |wait: &WaitReason| self.queues.first(*wait).is_some();
        if let Some(wait) = WaitReason::ALL.into_iter().find(waits) {
            self.evict_of(wait, report);
        }
    }

    /// Reports and forgets the call that has waited for this the longest.
    fn evict_of(&mut self, wait: WaitReason, report: &mut impl FnMut(Call)) {
        if let Some(index) = self.queues.first(wait) {
            self.counters.evicted = self.counters.evicted.saturating_add(1);
            self.report(index, ReportCause::Evicted, report);
        }
    }

    fn report(&mut self, index: u32, cause: ReportCause, report: &mut impl FnMut(Call)) {
        let slot = self.slots.get_mut(index as usize).and_then(Option::take);
        if let Some(slot) = slot {
            self.index.remove(&slot.key);
            if let Some(key) = &slot.turned_key {
                self.index.remove(key);
            }
            self.queues.remove(slot.wait, index);
            self.free.push(index);
            self.live = self.live.saturating_sub(1);
            self.texts_bytes = self.texts_bytes.saturating_sub(slot.texts_bytes);
            slot.session.report(cause, report);
        }
    }

    const fn patience(&self, wait: WaitReason) -> u64 {
        match wait {
            WaitReason::Setup => self.limits.setup_ns,
            WaitReason::Talk => self.limits.talk_ns,
            WaitReason::Linger => self.limits.linger_ns,
            WaitReason::Retry => self.limits.retry_ns,
        }
    }
}

/// True for an INVITE that is to begin a dialog.
fn is_initial_invite(digest: &Digest<'_>) -> bool {
    digest.is_request() && digest.method == Some(Method::Invite) && digest.to_tag().is_none()
}

/// Whether a message tells of a call that is not known yet: an INVITE or a response to one, the CANCEL of an initial INVITE, and
/// what is sent within a dialog of an INVITE alone (BYE; UPDATE, RFC 3311; INFO, RFC 6086; PRACK, RFC 3262) that began earlier, or
/// the success of such a request. Other responses say of no dialog that it is there: a request outside of one has them, too, with a
/// To tag (RFC 3261 §8.2.6.2, §15.1.2).
fn begins_call(digest: &Digest<'_>) -> bool {
    match digest.method {
        Some(Method::Invite) => true,
        Some(Method::Cancel) => digest.is_request() && digest.to_tag().is_none(),
        Some(Method::Bye | Method::Update | Method::Info | Method::Prack) => {
            let is_success = digest.from_tag().is_some() && matches!(digest.status, Some(200..300));
            (digest.is_request() || is_success) && digest.to_tag().is_some()
        }
        _ => false,
    }
}
