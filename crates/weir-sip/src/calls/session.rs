//! The session of one INVITE: its attempts, its early dialogs, and the dialogs that were answered.

use super::call::{Call, CallState, Party, ReportCause, Side};
use super::invites::Invites;
use super::queue::WaitReason;
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
    /// Something showed which side sent the INVITE that began the call. Messages within the dialog do not show it.
    is_caller_known: bool,
    request_uri: Option<Vec<u8>>,
    flow: Option<Flow>,
    first_ns: i64,
    last_ns: i64,
    /// The time that had passed by the first and by the last message.
    passed_ns: Option<[i64; 2]>,
    start_ns: Option<i64>,
    /// The INVITE outside of a dialog that came last, or that responses speak of.
    invite: Option<Invite>,
    invites: Invites,
    /// An ACK of `invite` was seen, which may be that of a failure.
    is_acked: bool,
    /// When an ACK showed that `invite` had failed, and the tag that it gave the other side.
    shown_failure: Option<(i64, Vec<u8>)>,
    cancel_ns: Option<i64>,
    failure: Option<Failure>,
    attempts: u32,
    reinvites: u32,
    last_reinvite: Option<(Side, u32)>,
    /// The lowest CSeq number of an INVITE that the caller sent within the dialog.
    dialog_cseq: Option<u32>,
    /// The CSeq number of a BYE that the caller sent.
    bye_cseq: Option<u32>,
    messages: u64,
    retransmissions: u64,
    hops: u32,
    max_forwards: Option<u8>,
    forks: Vec<Fork>,
}

#[derive(Clone, Copy, Debug)]
struct Invite {
    cseq: u32,
    /// `None` when responses alone were seen.
    ns: Option<i64>,
}

/// The INVITE that a response answers.
enum Answered {
    /// The INVITE that begins the call.
    Initial,
    /// One within the dialog, or an attempt before the last.
    Other,
    /// An INVITE that was not seen, and whose kind its response does not show.
    Unknown,
}

#[derive(Clone, Debug)]
struct Failure {
    status: u16,
    ns: i64,
    tag: Option<Vec<u8>>,
    /// The number of the CSeq.
    cseq: Option<u32>,
    /// The INVITE was not seen, and may have been one within the dialog.
    is_of_unknown: bool,
    /// A proxy got it, and may send its client another one in its place.
    is_of_later_hop: bool,
}

/// One dialog, early or not.
#[derive(Clone, Debug, Default)]
struct Fork {
    tag: Vec<u8>,
    contact: Option<Vec<u8>>,
    user_agent: Option<Vec<u8>>,
    ringing_ns: Option<i64>,
    answer: Option<(i64, u16)>,
    /// The success of an INVITE that was not seen: the number of the CSeq, the time and the status.
    success_of_unknown: Option<(u32, i64, u16)>,
    /// Later messages show that there was a success, which was not seen.
    is_confirmed: bool,
    /// The time of the BYE and the side that sent it. There is no time when only its response was seen.
    bye: Option<(Option<i64>, Side)>,
    bye_ok_ns: Option<i64>,
    /// The time of a response that the other side has no such dialog any more.
    gone_ns: Option<i64>,
}

impl Fork {
    const fn is_over(&self) -> bool {
        self.bye.is_some() || self.gone_ns.is_some()
    }

    const fn is_answered(&self) -> bool {
        self.answer.is_some() || self.is_confirmed
    }

    /// Takes the success that has overtaken the INVITE with this number.
    fn settle(&mut self, cseq: u32) {
        let success = self.success_of_unknown.filter(|it| it.0 == cseq);
        let success = success.map(|(_, ns, status)| (ns, status));
        self.answer = self.answer.or(success);
    }

    fn take_bye(&mut self, time_ns: Option<i64>, sender: Side) {
        let (bye_ns, _) = self.bye.get_or_insert((time_ns, sender));
        *bye_ns = bye_ns.or(time_ns);
    }
}

/// Copies texts of messages, clipped to the limit of a text, and counts the bytes.
pub(super) struct TextCopier<'k> {
    pub(super) limits: &'k CallLimits,
    pub(super) counters: &'k mut Counters,
    /// Bytes of the copies made so far.
    pub(super) bytes: usize,
}

impl TextCopier<'_> {
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
    /// A session of which `digest` is the first message; its From is taken for the caller, until something shows who
    /// called.
    pub(super) fn new(
        number: u64,
        time_ns: i64,
        flow: Option<Flow>,
        digest: &Digest<'_>,
        copier: &mut TextCopier<'_>,
    ) -> Self {
        let mut callee = copier.party(digest.to);
        callee.tag = None;
        Self {
            number,
            call_id: copier.keep(digest.call_id.unwrap_or_default()),
            caller: copier.party(digest.from),
            callee,
            is_caller_known: false,
            request_uri: None,
            flow: flow.map(|flow| flow_of_request(flow, digest)),
            first_ns: time_ns,
            last_ns: time_ns,
            passed_ns: None,
            start_ns: None,
            invite: None,
            invites: Invites::default(),
            is_acked: false,
            shown_failure: None,
            cancel_ns: None,
            failure: None,
            attempts: 0,
            reinvites: 0,
            last_reinvite: None,
            dialog_cseq: None,
            bye_cseq: None,
            messages: 0,
            retransmissions: 0,
            hops: 0,
            max_forwards: None,
            forks: Vec::new(),
        }
    }

    /// Whether an INVITE with this number begins another call under the same identifiers: the session had a dialog, and that is
    /// over.
    pub(super) fn is_reused_by(&self, digest: &Digest<'_>) -> bool {
        let cseq = digest.cseq.map(|cseq| cseq.number);
        let is_new = match self.invite {
            Some(invite) => cseq != Some(invite.cseq),
            // An INVITE of this dialog with a lower number than earlier requests of the caller (RFC 3261 §12.2.1.1) is
            // captured late.
            None => cseq > self.bye_cseq.max(self.dialog_cseq).or(cseq),
        };
        digest.is_request()
            && digest.method == Some(Method::Invite)
            && digest.to_tag().is_none()
            && is_new
            && self.wait() == WaitReason::Linger
            && self.forks.iter().any(Fork::is_over)
    }

    /// Whether only the BYE of a dialog is known, which either side may have sent.
    pub(super) fn is_of_bye(&self) -> bool {
        let is_open = !self.is_caller_known && self.invite.is_none() && self.failure.is_none();
        let [fork] = &*self.forks else {
            return false;
        };
        is_open && fork.bye.is_some() && fork.answer.is_none() && fork.ringing_ns.is_none()
    }

    /// Turns the sides round: this INVITE, which began the dialog, shows that the caller was taken for the callee. Its flow
    /// goes the other way as well.
    pub(super) fn turn(&mut self, digest: &Digest<'_>, copier: &mut TextCopier<'_>) {
        let mut callee = std::mem::replace(&mut self.caller, copier.party(digest.from));
        let tag = callee.tag.take().unwrap_or_default();
        (callee.contact, callee.user_agent) = (None, None);
        self.callee = callee;
        self.flow = self.flow.map(|flow| Flow {
            src: flow.dst,
            dst: flow.src,
            ..flow
        });
        (self.dialog_cseq, self.bye_cseq, self.last_reinvite) = (None, None, None);
        if let Some(fork) = self.forks.first_mut() {
            fork.tag = tag;
            (fork.contact, fork.user_agent) = (None, None);
            fork.bye = fork.bye.map(|(ns, side)| match side {
                Side::Caller => (ns, Side::Callee),
                Side::Callee => (ns, Side::Caller),
            });
        }
    }

    /// Stores the time that had passed by a message.
    pub(super) fn pass(&mut self, now_ns: i64) {
        let [_, last_ns] = self.passed_ns.get_or_insert([now_ns; 2]);
        *last_ns = now_ns;
    }

    /// Adds a message of `sender`, or the response to one of its messages.
    pub(super) fn take(
        &mut self,
        time_ns: i64,
        flow: Option<Flow>,
        (sender, is_repeat): (Side, bool),
        digest: &Digest<'_>,
        copier: &mut TextCopier<'_>,
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
                self.initial_invite(time_ns, flow, digest, copier);
            }
            (None, Some(Method::Invite)) => self.reinvite(sender, digest, remote_tag, copier),
            (None, Some(Method::Ack)) if sender == Side::Caller => {
                self.ack(time_ns, digest, copier);
            }
            // The callee sends INVITEs within the dialog alone (RFC 3261 §14.1).
            (None, Some(Method::Ack)) | (Some(200..300), Some(Method::Invite))
                if sender == Side::Callee =>
            {
                if let Some(fork) = self.fork(remote_tag, copier) {
                    fork.is_confirmed = true;
                    fork.gone_ns = None;
                }
            }
            (Some(status), Some(method))
                if ends_dialog(status, method)
                    && (sender == Side::Callee || method != Method::Invite) =>
            {
                // The dialog began before the first captured message.
                if status == 481
                    && self.invite.is_none()
                    && let Some(fork) = self.fork(remote_tag, copier)
                {
                    fork.is_confirmed = true;
                }
                self.gone(time_ns, remote_tag);
            }
            (None, Some(Method::Cancel)) if self.failure.is_none() && !self.is_answered() => {
                self.cancel(time_ns, digest);
            }
            (None, Some(Method::Bye)) => {
                if sender == Side::Caller {
                    self.bye_cseq = digest.cseq.map(|cseq| cseq.number).or(self.bye_cseq);
                }
                let is_confirmed = self.bye_shows_success(sender);
                if let Some(fork) = self.fork(remote_tag, copier) {
                    fork.take_bye(Some(time_ns), sender);
                    fork.is_confirmed |= is_confirmed;
                }
            }
            (None | Some(200..300), Some(Method::Update | Method::Info | Method::Prack))
                if self.invite.is_none() && digest.to_tag().is_some() =>
            {
                // The dialog began before the first captured message, and may have no answer yet.
                self.fork(remote_tag, copier);
            }
            (Some(status), Some(Method::Invite)) if sender == Side::Caller => {
                self.invite_response(time_ns, status, digest, copier);
            }
            (Some(200..300), Some(Method::Bye)) => {
                self.bye_success(time_ns, sender, digest, copier);
            }
            _ => {}
        }
    }

    /// The success of a BYE of this side.
    fn bye_success(
        &mut self,
        time_ns: i64,
        sender: Side,
        digest: &Digest<'_>,
        copier: &mut TextCopier<'_>,
    ) {
        let remote_tag = match sender {
            Side::Caller => {
                let cseq = digest.cseq.map(|cseq| cseq.number);
                self.bye_cseq = self.bye_cseq.or(cseq);
                digest.to_tag()
            }
            Side::Callee => digest.from_tag(),
        };
        let is_confirmed = self.bye_shows_success(sender);
        if let Some(fork) = self.fork(remote_tag, copier) {
            fork.take_bye(None, sender);
            fork.is_confirmed |= is_confirmed;
            fork.bye_ok_ns.get_or_insert(time_ns);
        }
    }

    fn initial_invite(
        &mut self,
        time_ns: i64,
        flow: Option<Flow>,
        digest: &Digest<'_>,
        copier: &mut TextCopier<'_>,
    ) {
        self.is_caller_known |= is_outside_of_dialog(digest);
        self.hops = self.hops.max(digest.via_count);
        self.max_forwards = match (self.max_forwards, digest.max_forwards) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let cseq = digest.cseq.map_or(0, |cseq| cseq.number);
        let is_late = self
            .invite
            .is_some_and(|invite| invite.cseq == cseq && invite.ns.is_none());
        let is_next = self.invite.is_none_or(|invite| cseq > invite.cseq);
        // The message that shows the answer has overtaken it.
        let is_overtaken = self.invite.is_none() && self.is_answered();
        if is_next && !self.is_answered() {
            // The failure of the attempt before is not the end. One that has overtaken this INVITE is.
            let failure = self.failure.take();
            let failure = failure.filter(|it| it.is_of_unknown && it.cseq == Some(cseq));
            self.failure = failure.map(|failure| Failure {
                is_of_unknown: false,
                ..failure
            });
            self.cancel_ns = None;
            self.invites = Invites::default();
            self.is_acked = false;
            self.shown_failure = None;
        } else if !is_late && !is_overtaken {
            if self.invite.is_some_and(|invite| invite.cseq == cseq) && self.invites.take(digest) {
                self.try_another_target(digest);
            }
            return;
        }
        self.invite = Some(Invite {
            cseq,
            ns: Some(time_ns),
        });
        self.invites.take(digest);
        for fork in &mut self.forks {
            fork.settle(cseq);
        }
        self.attempts = self.attempts.saturating_add(1);
        if self.start_ns.is_none() {
            self.start_ns = Some(time_ns);
            self.flow = flow.or(self.flow);
            self.request_uri = digest.request_uri.map(|uri| copier.keep(uri));
            self.caller.contact = copier.contact(digest);
            self.caller.user_agent = copier.user_agent(digest);
        }
    }

    /// A proxy, or a client with several servers, tries another target: neither the failure of the one before nor its CANCEL is the
    /// end.
    fn try_another_target(&mut self, digest: &Digest<'_>) {
        self.shown_failure = None;
        self.failure = None;
        if !self.invites.is_of_later_hop(digest) {
            self.cancel_ns = None;
        }
    }

    /// A CANCEL, which has the To of its INVITE and the number of its CSeq (RFC 3261 §9.1): one without a tag is of an INVITE
    /// that begins the call.
    fn cancel(&mut self, time_ns: i64, digest: &Digest<'_>) {
        // A proxy gives up one of its targets, or passes on a CANCEL that was captured before.
        if !self.invites.is_of_later_hop(digest) {
            self.cancel_ns.get_or_insert(time_ns);
        }
        if !is_outside_of_dialog(digest) {
            return;
        }
        self.is_caller_known = true;
        if let (None, Some(cseq)) = (self.invite, digest.cseq) {
            self.invite = Some(Invite {
                cseq: cseq.number,
                ns: None,
            });
        }
    }

    /// An INVITE within the dialog. None is sent before the first has its final response (RFC 3261 §14.1).
    fn reinvite(
        &mut self,
        sender: Side,
        digest: &Digest<'_>,
        remote_tag: Option<&[u8]>,
        copier: &mut TextCopier<'_>,
    ) {
        let cseq = digest.cseq.map_or(0, |cseq| cseq.number);
        if self.last_reinvite != Some((sender, cseq)) {
            self.last_reinvite = Some((sender, cseq));
            self.reinvites = self.reinvites.saturating_add(1);
        }
        if sender == Side::Caller {
            let lowest = self.dialog_cseq.map_or(cseq, |lowest| lowest.min(cseq));
            self.dialog_cseq = Some(lowest);
        }
        let is_refused = self.is_refused();
        if let Some(fork) = self.fork(remote_tag, copier) {
            // Some callers keep the To tag of a challenge in their next attempt.
            fork.is_confirmed |= !is_refused;
        }
    }

    /// An ACK of the caller. One with a transaction of its own acknowledges a success.
    fn ack(&mut self, time_ns: i64, digest: &Digest<'_>, copier: &mut TextCopier<'_>) {
        let tag = digest.to_tag();
        let is_of_invite =
            self.invite.map(|invite| invite.cseq) == digest.cseq.map(|cseq| cseq.number);
        // The ACK of a failure has its To tag (RFC 3261 §17.1.1.3).
        let is_of_failure = self
            .failure
            .as_ref()
            .is_some_and(|failure| failure.tag.as_deref() == tag);
        if tag.is_none() || !is_of_invite || is_of_failure {
            return;
        }
        self.is_acked = true;
        if self.shown_failure.is_none()
            && self.failure.is_none()
            && self.invites.prove_failure(digest)
        {
            self.shown_failure = Some((time_ns, copier.keep(tag.unwrap_or_default())));
        }
        if self.invites.prove_success(digest)
            && let Some(fork) = self.fork(tag, copier)
        {
            fork.is_confirmed = true;
        }
    }

    /// Whether a BYE of this side shows that the call was answered. Only the caller may send one before the answer (RFC 3261 §15),
    /// but has nothing left to end after the ACK of a failure (§12.3).
    fn bye_shows_success(&self, sender: Side) -> bool {
        let is_behind_ack = self.is_acked && !self.is_refused();
        sender == Side::Callee || self.invite.is_none() || is_behind_ack
    }

    /// The INVITE of the caller that this response answers. If the INVITE was not captured, a response without a To tag (RFC 3261
    /// §8.2.6.2) or a provisional one shows that it was not one within the dialog.
    fn answered(&mut self, status: u16, digest: &Digest<'_>) -> Answered {
        let Some(cseq) = digest.cseq.map(|cseq| cseq.number) else {
            return self.invite.map_or(Answered::Unknown, |_| Answered::Initial);
        };
        if self.invite.is_some_and(|invite| invite.cseq == cseq) {
            self.is_caller_known |= shows_caller(status, digest);
            return Answered::Initial;
        }
        if self.dialog_cseq.is_some_and(|lowest| cseq >= lowest) {
            return Answered::Other;
        }
        self.is_caller_known |= shows_caller(status, digest);
        let is_next = self.invite.is_none_or(|invite| cseq > invite.cseq);
        // There is no dialog in which an INVITE could have been sent behind a failure. An ACK with the branch of the INVITE may be
        // that of a success all the same, if its dialog continues.
        let shown = self.shown_failure.as_ref();
        let is_shown = shown.is_some_and(|(_, tag)| digest.to_tag() != Some(tag.as_slice()));
        let has_failed = is_shown || self.is_refused();
        let shows_initial = has_failed || digest.to_tag().is_none() || (101..200).contains(&status);
        if is_next && shows_initial && !self.is_answered() {
            self.invite = Some(Invite { cseq, ns: None });
            self.invites = Invites::default();
            self.is_acked = false;
            self.shown_failure = None;
            self.failure = None;
            self.cancel_ns = None;
            return Answered::Initial;
        }
        self.invite.map_or(Answered::Unknown, |_| Answered::Other)
    }

    fn invite_response(
        &mut self,
        time_ns: i64,
        status: u16,
        digest: &Digest<'_>,
        copier: &mut TextCopier<'_>,
    ) {
        let is_of_unknown = match self.answered(status, digest) {
            Answered::Initial => false,
            Answered::Unknown => true,
            // The response is not one of the call's setup.
            Answered::Other => return self.reinvite_response(time_ns, status, digest, copier),
        };
        // No INVITE but one within a dialog is answered so.
        if is_of_unknown && status == 481 && digest.to_tag().is_some() {
            if let Some(fork) = self.fork(digest.to_tag(), copier) {
                fork.is_confirmed = true;
            }
            return self.gone(time_ns, digest.to_tag());
        }
        if status <= 100 {
            return;
        }
        // 491 is an answer to an INVITE within a dialog alone (RFC 3261 §14.2).
        if status >= 300 && !(is_of_unknown && status == 491) {
            let is_of_later_hop = self.invites.is_of_later_hop(digest);
            let is_better = self.failure.as_ref().is_some_and(|failure| {
                failure.is_of_later_hop && !is_of_later_hop && failure.status != status
            });
            let is_kept = self.is_refused() || (is_of_unknown && self.failure.is_some());
            if is_kept && !is_better || self.is_answered() {
                if let Some(failure) = &mut self.failure {
                    failure.is_of_later_hop &= is_of_later_hop;
                }
                return;
            }
            self.failure = Some(Failure {
                status,
                ns: time_ns,
                tag: digest.to_tag().map(|tag| copier.keep(tag)),
                cseq: digest.cseq.map(|cseq| cseq.number),
                is_of_unknown,
                is_of_later_hop,
            });
            return;
        }
        // A response without a tag makes no dialog, but its time counts.
        let tag = digest.to_tag().unwrap_or_default();
        let Some(fork) = self.fork(Some(tag), copier) else {
            return;
        };
        if fork.contact.is_none() {
            fork.contact = copier.contact(digest);
        }
        if fork.user_agent.is_none() {
            fork.user_agent = copier.user_agent(digest);
        }
        if is_of_unknown {
            fork.is_confirmed = true;
            let number = digest.cseq.map(|cseq| cseq.number);
            let success = number.map(|number| (number, time_ns, status));
            fork.success_of_unknown = fork.success_of_unknown.or(success);
        } else if status < 200 {
            fork.ringing_ns.get_or_insert(time_ns);
        } else {
            fork.answer.get_or_insert((time_ns, status));
        }
    }

    /// A response to an INVITE of the caller that is not the one which began the call: within the dialog, or before that one.
    fn reinvite_response(
        &mut self,
        time_ns: i64,
        status: u16,
        digest: &Digest<'_>,
        copier: &mut TextCopier<'_>,
    ) {
        let cseq = digest.cseq.map(|cseq| cseq.number);
        let is_later = self.invite.is_none_or(|invite| cseq > Some(invite.cseq));
        if !is_later || status < 200 {
            return;
        }
        if ends_dialog(status, Method::Invite) {
            return self.gone(time_ns, digest.to_tag());
        }
        let mut forks = self.forks.iter();
        let is_known = forks.any(|fork| digest.to_tag() == Some(&fork.tag));
        let is_success = status < 300;
        // An INVITE is sent within the dialog once the first one has its final response (RFC 3261 §14.1). A success is that of
        // the call, too, where it answers an attempt that was not seen.
        if (is_known || is_success && !self.is_answered())
            && let Some(fork) = self.fork(digest.to_tag(), copier)
        {
            fork.is_confirmed = true;
            if is_success {
                fork.gone_ns = None;
            }
        }
    }

    /// The side with this tag, or a proxy in front of it, said that there is no dialog any more.
    fn gone(&mut self, time_ns: i64, tag: Option<&[u8]>) {
        let mut forks = self.forks.iter_mut();
        if let Some(fork) = forks.find(|fork| fork.is_answered() && tag == Some(&fork.tag)) {
            fork.gone_ns.get_or_insert(time_ns);
        }
    }

    /// The dialog of a tag, which is made when there is none, unless there are too many.
    fn fork(&mut self, tag: Option<&[u8]>, copier: &mut TextCopier<'_>) -> Option<&mut Fork> {
        let tag = tag.unwrap_or_default();
        let tag = tag.get(..copier.limits.text_bytes_max).unwrap_or(tag);
        // A provisional response without a tag belongs to the dialog that follows.
        let found = self
            .forks
            .iter()
            .position(|fork| fork.tag == tag || fork.tag.is_empty());
        // A message that lacks the tag, as before RFC 3261 (§12.2.2), is of the only dialog.
        let found = found.or((tag.is_empty() && self.forks.len() == 1).then_some(0));
        let index = match found {
            Some(index) => index,
            None if self.forks.len() < copier.limits.dialogs_max => {
                self.forks.push(Fork::default());
                self.forks.len().saturating_sub(1)
            }
            None => {
                copier.counters.dialogs_refused = copier.counters.dialogs_refused.saturating_add(1);
                return None;
            }
        };
        let fork = self.forks.get_mut(index)?;
        if fork.tag.is_empty() {
            fork.tag = copier.keep(tag);
        }
        Some(fork)
    }

    fn is_answered(&self) -> bool {
        self.forks.iter().any(Fork::is_answered)
    }

    /// Whether the last attempt has failed.
    fn is_refused(&self) -> bool {
        let failure = self.failure.as_ref();
        failure.is_some_and(|failure| !failure.is_of_unknown)
    }

    /// Whether a proxy got the failure, and its client none yet.
    fn is_of_one_target(&self) -> bool {
        let failure = self.failure.as_ref();
        failure.is_some_and(|failure| failure.is_of_later_hop)
    }

    /// The event that the session waits for.
    pub(super) fn wait(&self) -> WaitReason {
        let mut talking = self.forks.iter().filter(|fork| fork.is_answered());
        if self.is_answered() {
            return if talking.all(Fork::is_over) {
                WaitReason::Linger
            } else {
                WaitReason::Talk
            };
        }
        let was_given_up =
            self.cancel_ns.is_some() || self.forks.iter().any(|fork| fork.bye.is_some());
        let is_shown = self.shown_failure.is_some() && self.failure.is_none();
        if is_shown && !was_given_up {
            // The failure may be a challenge.
            WaitReason::Retry
        } else if let Some(failure) = &self.failure
            && !was_given_up
            && (failure.is_of_unknown || invites_a_retry(failure.status))
        {
            WaitReason::Retry
        } else if self.is_of_one_target() && !was_given_up {
            // Another target may answer.
            WaitReason::Setup
        } else if self.failure.is_some() || was_given_up {
            WaitReason::Linger
        } else if self.invite.is_none() {
            // The call had begun before its first captured message.
            WaitReason::Talk
        } else {
            WaitReason::Setup
        }
    }

    /// Reports the calls of the session, which is over.
    pub(super) fn report(self, cause: ReportCause, report: &mut impl FnMut(Call)) {
        self.stand(cause, report);
    }

    /// Reports the calls of the session as they stand: one for each dialog, and one when there is none.
    pub(super) fn stand(&self, cause: ReportCause, report: &mut impl FnMut(Call)) {
        if self.forks.is_empty() {
            return report(self.call(&Fork::default(), cause));
        }
        for fork in &self.forks {
            report(self.call(fork, cause));
        }
    }

    fn call(&self, fork: &Fork, cause: ReportCause) -> Call {
        let mut callee = self.callee.clone();
        callee.tag = Some(fork.tag.clone())
            .filter(|tag| !tag.is_empty())
            .or_else(|| self.failure.as_ref()?.tag.clone())
            .or_else(|| Some(self.shown_failure.as_ref()?.1.clone()));
        callee.contact = fork.contact.clone();
        callee.user_agent = fork.user_agent.clone();
        let failure = self.failure.as_ref().filter(|_| !fork.is_answered());
        let cancel_ns = self.cancel_ns.filter(|_| !fork.is_answered());
        let answer_ns = fork.answer.map(|(ns, _)| ns);
        let bye_ns = fork.bye.and_then(|(ns, _)| ns);
        let gone_ns = fork.gone_ns.filter(|_| fork.bye.is_none());
        let shown = self.shown_failure.as_ref();
        let shown_ns = shown.filter(|_| !self.is_answered()).map(|(ns, _)| *ns);
        let since_invite = |ns: Option<i64>| span(self.invite.and_then(|invite| invite.ns), ns);
        let refused_ns = failure
            .filter(|failure| failure.status >= 400 && !matches!(failure.status, 401 | 402 | 407))
            .map(|failure| failure.ns);
        Call {
            number: self.number,
            call_id: self.call_id.clone(),
            caller: self.caller.clone(),
            callee,
            is_caller_known: self.is_caller_known,
            request_uri: self.request_uri.clone(),
            flow: self.flow,
            state: self.state(fork),
            reported: cause,
            status: fork
                .answer
                .map(|(_, status)| status)
                .or(failure.map(|failure| failure.status)),
            ended_by: fork
                .bye
                .map(|(_, side)| side)
                .or(cancel_ns.map(|_| Side::Caller))
                .filter(|_| self.is_caller_known),
            first_ns: self.first_ns,
            last_ns: self.last_ns,
            passed_ns: self.passed_ns.unwrap_or([self.first_ns, self.last_ns]),
            start_ns: self.start_ns,
            ringing_ns: fork.ringing_ns,
            answer_ns,
            end_ns: bye_ns
                .or(gone_ns)
                .or(cancel_ns)
                .or(failure.map(|failure| failure.ns))
                .or(shown_ns),
            request_delay_ns: since_invite(fork.ringing_ns.or(answer_ns).or(refused_ns)),
            setup_delay_ns: since_invite(answer_ns),
            duration_ns: span(answer_ns, bye_ns.or(gone_ns)),
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
        let is_in_dialog = fork.is_answered() || self.start_ns.is_none();
        match (fork.is_over(), &self.failure) {
            (true, _) if is_in_dialog => CallState::Completed,
            (true, _) => CallState::Cancelled,
            (false, _) if fork.is_answered() => CallState::InCall,
            (false, _) if self.is_answered() => CallState::Superseded,
            (false, Some(failure)) => match failure.status {
                300..400 => CallState::Redirected,
                487 => CallState::Cancelled,
                _ if self.cancel_ns.is_some() => CallState::Cancelled,
                486 | 600 => CallState::Busy,
                _ => CallState::Rejected,
            },
            (false, None) if self.cancel_ns.is_some() => CallState::Cancelled,
            (false, None) if self.shown_failure.is_some() => CallState::Rejected,
            (false, None) if fork.ringing_ns.is_some() => CallState::Ringing,
            (false, None) if self.start_ns.is_none() && !self.forks.is_empty() => CallState::InCall,
            (false, None) => CallState::Trying,
        }
    }
}

/// True for a response that no INVITE within a dialog has: its To has no tag (RFC 3261 §8.2.6.2), or it says that the call
/// rings, is forwarded or queued (§21.1.2 to §21.1.4), or that one of its early dialogs is over (RFC 6228). 183 and others
/// may answer any INVITE.
fn shows_caller(status: u16, digest: &Digest<'_>) -> bool {
    is_outside_of_dialog(digest) || matches!(status, 180..=182 | 199)
}

/// Whether there is a To without a tag; a message that is cut before it has none.
fn is_outside_of_dialog(digest: &Digest<'_>) -> bool {
    digest.to.is_some_and(|to| to.tag().is_none())
}

/// The sockets of the request that a message is, or that it answers.
fn flow_of_request(flow: Flow, digest: &Digest<'_>) -> Flow {
    match digest.is_request() {
        true => flow,
        false => Flow {
            src: flow.dst,
            dst: flow.src,
            ..flow
        },
    }
}

/// True for a final response behind which the caller may try again: as another attempt of the same call, with
/// its Call-ID and From tag and a higher CSeq number (RFC 3261 §8.1.3.4, §8.1.3.5, §21.4.16, §21.4.22; 422 of
/// RFC 4028, 428 of RFC 8224, 484 of RFC 3578, 494 of RFC 3329).
const fn invites_a_retry(status: u16) -> bool {
    matches!(
        status,
        300..=399 | 401 | 407 | 413 | 415 | 416 | 420 | 421 | 422 | 428 | 484 | 485 | 494
    )
}

/// True for a response to a request of a call that says of its dialog that it is over (RFC 3261 §12.2.1.2, RFC 5057 §5.1).
const fn ends_dialog(status: u16, method: Method<'_>) -> bool {
    matches!(status, 408 | 481) && matches!(method, Method::Invite | Method::Update | Method::Info)
}

/// The time from one event to another; `None` when one is missing or time ran backwards.
fn span(from_ns: Option<i64>, to_ns: Option<i64>) -> Option<u64> {
    u64::try_from(to_ns?.checked_sub(from_ns?)?).ok()
}
