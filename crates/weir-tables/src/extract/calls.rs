//! `calls`: one row a call.

mod watch;

use std::collections::VecDeque;
use std::ops::Deref;

use weir_packet::{Kind, Needs, Value};
use weir_sip::{Call, CallLimits, Calls, Digest, Flow, Party, ReportCause};

pub use self::watch::{CallMedia, CallSight, CallSound, CallWatch};
use super::extraction::{Extract, Extraction, ItemField, columns, push_item};
use super::media::{CallSpan, CallStreams, Finder, Heard};
use super::note::Note;
use super::sip::SipMessage;
use super::value::{address, filled, number, seconds, text};
use crate::Row;
use crate::row::Item;
use crate::rows::Rows;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "calls",
    doc: "one row per call: a dialog that a SIP INVITE created, or was to create",
    columns: || columns(&[], FIELDS),
    needs: &[Needs::All],
    start: |settings| {
        Box::new(CallTable {
            finder: Finder::default().with_settings(settings),
            ..CallTable::default()
        })
    },
    arguments: super::settings::SECRETS,
    aliases: &[],
};

#[derive(Default)]
struct CallTable {
    /// Media by content, too, as they may come before the description of their sockets.
    finder: Finder,
    followed: Followed,
    streams: CallStreams,
    is_finished: bool,
}

#[derive(Default)]
struct Followed {
    calls: Calls,
    /// Finished calls that have no place in the batch yet, no more than were followed.
    finished: VecDeque<Call>,
    last_ns: i64,
    /// The number of messages that belong to no call because they lack a Call-ID or a CSeq.
    unnamed: u64,
}

impl Followed {
    fn take(&mut self, found: &SipMessage<'_>) {
        let Some(message) = found.parsed() else {
            self.unnamed = self.unnamed.saturating_add(1);
            return;
        };
        let way = &found.way;
        self.last_ns = way.time_ns.unwrap_or(self.last_ns);
        let Self {
            calls, finished, ..
        } = self;
        let digest = Digest::of(&message);
        let (time_ns, flow) = (self.last_ns, Some(way.flow));
        let seen = calls.take_passed(time_ns, way.passed_ns, flow, &digest, &mut |call| {
            finished.push_back(call);
        });
        let is_unnamed = digest.call_id.is_none() || digest.cseq.is_none() || digest.is_cut_short;
        if seen.call.is_none() && is_unnamed {
            self.unnamed = self.unnamed.saturating_add(1);
        }
    }
}

impl CallTable {
    fn push(&mut self, file: &str, rows: &mut Rows) {
        if !self.followed.finished.is_empty() {
            let finder = &self.finder;
            let late = finder.late_descriptions();
            self.streams.adopt_late(late, &|way| finder.late(way));
        }
        while !rows.is_full()
            && let Some(call) = self.followed.finished.pop_front()
        {
            // The Call-ID is looked up as it was sent, before its bytes that are no UTF-8 are replaced.
            let sides: Vec<&[u8]> = [&call.caller.tag, &call.callee.tag]
                .into_iter()
                .flatten()
                .map(Vec::as_slice)
                .collect();
            let heard = self.streams.heard(&call.call_id, &sides, span_of(&call));
            let call = legible(call);
            push_item(rows, file, &CallItem(HeardCall { call, heard }));
        }
    }
}

impl Extract for CallTable {
    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        let Self {
            finder,
            followed,
            streams,
            ..
        } = self;
        finder.packet_with_sip(
            row.packet,
            &mut |message| followed.take(message),
            &mut |sight, _| streams.sight(sight),
        );
        self.push(row.file, rows);
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        if !self.is_finished {
            self.is_finished = true;
            let (followed, streams) = (&mut self.followed, &mut self.streams);
            self.finder
                .finish(&mut |message| followed.take(message), &mut |sight, _| {
                    streams.sight(sight);
                });
            let finder = &self.finder;
            streams.adopt(&|way| finder.late(way));
            let Followed {
                calls, finished, ..
            } = followed;
            calls.finish(&mut |call| finished.push_back(call));
        }
        let had_some = !self.followed.finished.is_empty();
        self.push("", rows);
        had_some
    }

    fn notes(&self) -> Vec<Note> {
        let Followed { calls, unnamed, .. } = &self.followed;
        notes(calls, &self.finder, &self.streams, *unnamed)
    }
}

/// The time in which the streams of a call are sent.
fn span_of(call: &Call) -> CallSpan {
    let is_over = matches!(call.reported, ReportCause::Ended | ReportCause::Reused);
    let [first_passed_ns, last_passed_ns] = call.passed_ns;
    CallSpan {
        first: (Some(call.first_ns), first_passed_ns),
        last: is_over.then_some((Some(call.last_ns), last_passed_ns)),
    }
}

/// The items that were given up for limits, as notes.
fn notes(calls: &Calls, finder: &Finder, streams: &CallStreams, unnamed: u64) -> Vec<Note> {
    let counters = calls.counters();
    let limits = CallLimits::default();
    let counted = [
        (
            counters.evicted,
            format!(
                "calls were written before their end, because more than {} calls, {} that wait for another attempt, \
                or {} bytes of texts were open at once",
                limits.calls_max, limits.retries_max, limits.texts_bytes_max
            ),
        ),
        (
            counters.dialogs_refused,
            format!(
                "messages belong to dialogs beyond the first {} of their INVITE",
                limits.dialogs_max
            ),
        ),
        (
            counters.texts_clipped,
            format!("texts were truncated to {} bytes", limits.text_bytes_max),
        ),
        (
            counters.repeats_not_followed,
            "messages were not remembered, so that repeated ones may count as new".to_owned(),
        ),
        (
            unnamed,
            "messages belong to no call because they have no valid Call-ID and CSeq, or were cut in front of the end of \
            their From or To"
                .to_owned(),
        ),
    ];
    Note::of("calls", counted)
        .chain(Note::of("calls", streams.counted()))
        .chain(Note::of("calls", finder.counted()))
        .collect()
}

/// Returns the call with all its texts in UTF-8: other bytes become U+FFFD.
fn legible(mut call: Call) -> Call {
    mend(&mut call.call_id);
    call.request_uri.iter_mut().for_each(mend);
    for party in [&mut call.caller, &mut call.callee] {
        mend(&mut party.uri);
        mend(&mut party.host);
        let texts = [
            &mut party.user,
            &mut party.tag,
            &mut party.contact,
            &mut party.user_agent,
        ];
        texts.into_iter().flatten().for_each(mend);
    }
    call
}

fn mend(text: &mut Vec<u8>) {
    if std::str::from_utf8(text).is_err() {
        *text = String::from_utf8_lossy(text).into_owned().into_bytes();
    }
}

struct CallItem(HeardCall);

/// A call, and the quality of its streams.
struct HeardCall {
    call: Call,
    heard: Heard,
}

impl Deref for HeardCall {
    type Target = Call;

    fn deref(&self) -> &Call {
        &self.call
    }
}

impl HeardCall {
    /// The caller, where it is known which side that is.
    fn caller(&self) -> Option<&Party> {
        self.is_caller_known.then_some(&self.call.caller)
    }

    /// The callee, where it is known which side that is.
    fn callee(&self) -> Option<&Party> {
        self.is_caller_known.then_some(&self.call.callee)
    }

    /// The sockets of the first INVITE, where its direction is known.
    fn way(&self) -> Option<Flow> {
        self.flow.filter(|_| self.is_caller_known)
    }
}

impl Item for CallItem {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        (FIELDS.get(index)?.get)(&self.0)
    }
}

type CallGetter = for<'i> fn(&'i HeardCall) -> Option<Value<'i>>;

fn some(bytes: &Option<Vec<u8>>) -> Option<Value<'_>> {
    text(bytes.as_ref()?)
}

/// The URI of a party; NULL when there was no address.
fn uri(party: Option<&Party>) -> Option<Value<'_>> {
    filled(&party?.uri)
}

fn span(span_ns: Option<u64>) -> Option<Value<'static>> {
    seconds(i64::try_from(span_ns?).unwrap_or(i64::MAX))
}

#[rustfmt::skip]
static FIELDS: &[ItemField<CallGetter>] = &[
    ItemField::new("call.number", Kind::U64, |c| number(c.number),
        "Number of the INVITE in the order of first messages, from 1; the dialogs of a forked INVITE share it", "weir"),
    ItemField::new("sip.call_id", Kind::Text, |c| text(&c.call_id),
        "Call-ID", "RFC 3261, 20.8"),
    ItemField::new("call.state", Kind::Text, |c| Some(Value::Text(c.state.text())),
        "trying, ringing, in_call, completed, cancelled, busy, rejected, redirected, or superseded by another fork", "RFC 3261, 12, 13"),
    ItemField::new("call.status", Kind::U16, |c| c.status.and_then(number),
        "Final status code of the INVITE; NULL where it was not captured, also for a rejected call whose failure only its ACK shows", "RFC 3261, 17.1.1.3, 21"),
    ItemField::new("call.ended_by", Kind::Text, |c| c.ended_by.map(|side| Value::Text(side.text())),
        "caller or callee: sender of the BYE or CANCEL; NULL when the caller is not known", "RFC 3261, 9, 15"),
    ItemField::new("call.end_reason", Kind::Text, |c| Some(Value::Text(c.reported.text())),
        "Why the row was made: ended, expired (silent for too long), evicted (too many calls), reused (its Call-ID), input_ended", "weir"),
    ItemField::new("call.from", Kind::Text, |c| uri(c.caller()),
        "URI of the caller; NULL, like all columns of caller and callee, when no message shows who called", "RFC 3261, 20.20"),
    ItemField::new("call.from.user", Kind::Text, |c| some(&c.caller()?.user),
        "User of the caller's URI", "RFC 3261, 19.1.1"),
    ItemField::new("call.from.host", Kind::Text, |c| filled(&c.caller()?.host),
        "Host of the caller's URI", "RFC 3261, 19.1.1"),
    ItemField::new("call.from.tag", Kind::Text, |c| some(&c.caller()?.tag),
        "Tag of the caller", "RFC 3261, 19.3"),
    ItemField::new("call.from.contact", Kind::Text, |c| some(&c.caller()?.contact),
        "URI of the caller's Contact", "RFC 3261, 20.10"),
    ItemField::new("call.from.user_agent", Kind::Text, |c| some(&c.caller()?.user_agent),
        "Software of the caller", "RFC 3261, 20.41"),
    ItemField::new("call.to", Kind::Text, |c| uri(c.callee()),
        "URI of the callee", "RFC 3261, 20.39"),
    ItemField::new("call.to.user", Kind::Text, |c| some(&c.callee()?.user),
        "User of the callee's URI", "RFC 3261, 19.1.1"),
    ItemField::new("call.to.host", Kind::Text, |c| filled(&c.callee()?.host),
        "Host of the callee's URI", "RFC 3261, 19.1.1"),
    ItemField::new("call.to.tag", Kind::Text, |c| some(&c.callee()?.tag),
        "Tag of the callee", "RFC 3261, 19.3"),
    ItemField::new("call.to.contact", Kind::Text, |c| some(&c.callee()?.contact),
        "URI of the callee's Contact", "RFC 3261, 20.10"),
    ItemField::new("call.to.user_agent", Kind::Text, |c| some(&c.callee()?.user_agent),
        "Software of the callee", "RFC 3261, 20.35, 20.41"),
    ItemField::new("sip.r_uri", Kind::Text, |c| some(&c.request_uri),
        "Request URI of the first INVITE", "RFC 3261, 8.1.1.1"),
    ItemField::new("flow.id", Kind::U64, |c| c.flow?.number.and_then(number),
        "Number of the first INVITE's flow, as in flows", "weir"),
    ItemField::new("addr.src", Kind::Address, |c| address(c.way()?.src.ip()),
        "Address that sent the first INVITE, or got the response to it", "RFC 791, 3.1; RFC 8200, 3"),
    ItemField::new("port.src", Kind::U16, |c| number(c.way()?.src.port()),
        "Port that sent the first INVITE, or got the response to it", "RFC 768"),
    ItemField::new("addr.dst", Kind::Address, |c| address(c.way()?.dst.ip()),
        "Address that got the first INVITE, or sent the response to it", "RFC 791, 3.1; RFC 8200, 3"),
    ItemField::new("port.dst", Kind::U16, |c| number(c.way()?.dst.port()),
        "Port that got the first INVITE, or sent the response to it", "RFC 768"),
    ItemField::new("call.first", Kind::Time, |c| Some(Value::Time(c.first_ns)),
        "Time of the first message", "weir"),
    ItemField::new("call.last", Kind::Time, |c| Some(Value::Time(c.last_ns)),
        "Time of the last message", "weir"),
    ItemField::new("call.start", Kind::Time, |c| c.start_ns.map(Value::Time),
        "Time of the first INVITE; NULL when the call was under way already", "RFC 3261, 13.2"),
    ItemField::new("call.ringing", Kind::Time, |c| c.ringing_ns.map(Value::Time),
        "Time of the first response of 101 to 199", "RFC 3261, 13.2.2.1"),
    ItemField::new("call.answer", Kind::Time, |c| c.answer_ns.map(Value::Time),
        "Time of the first 2xx to the INVITE", "RFC 3261, 13.2.2.4"),
    ItemField::new("call.end", Kind::Time, |c| c.end_ns.map(Value::Time),
        "Time of the first BYE, of the CANCEL, or of the failure", "RFC 3261, 9, 13.2.2.3, 15"),
    ItemField::new("call.request_delay", Kind::F64, |c| span(c.request_delay_ns),
        "Session request delay in seconds: from the last initial INVITE to ringing, answer or failure", "RFC 6076, 4.3"),
    ItemField::new("call.setup_delay", Kind::F64, |c| span(c.setup_delay_ns),
        "Seconds from the last initial INVITE to the answer", "weir"),
    ItemField::new("call.duration", Kind::F64, |c| span(c.duration_ns),
        "Session duration time in seconds: from the answer to the BYE", "RFC 6076, 4.5"),
    ItemField::new("call.disconnect_delay", Kind::F64, |c| span(c.disconnect_delay_ns),
        "Session disconnect delay in seconds: from the BYE to its 2xx", "RFC 6076, 4.4"),
    ItemField::new("call.attempts", Kind::U32, |c| number(c.attempts),
        "Initial INVITEs: more than one after a challenge or a redirection", "RFC 3261, 8.1.3.5"),
    ItemField::new("call.reinvites", Kind::U32, |c| number(c.reinvites),
        "INVITEs within the dialog", "RFC 3261, 14"),
    ItemField::new("call.dialogs", Kind::U32, |c| number(c.dialogs),
        "Dialogs of the INVITE, early dialogs included", "RFC 3261, 12"),
    ItemField::new("call.messages", Kind::U64, |c| number(c.messages),
        "Messages of the INVITE's dialogs, retransmissions included", "weir"),
    ItemField::new("call.retransmissions", Kind::U64, |c| number(c.retransmissions),
        "Retransmitted messages among call.messages", "RFC 3261, 17"),
    ItemField::new("call.hops", Kind::U32, |c| number(c.hops),
        "Largest number of Via values of an initial INVITE: hops that it had taken", "RFC 3261, 20.42"),
    ItemField::new("call.max_forwards", Kind::U8, |c| c.max_forwards.and_then(number),
        "Lowest Max-Forwards of an initial INVITE", "RFC 3261, 20.22"),
    ItemField::new("call.mos", Kind::F64, |c| c.heard.mos.map(Value::Float),
        "Lowest mean opinion score of the call's streams, as media.mos; NULL without streams, and for codecs without Ie", "ITU-T G.107, annex B"),
    ItemField::new("call.lost", Kind::U64, |c| number(c.heard.missing?),
        "Packets of the call's streams that were never received, as media.missing; NULL without streams", "weir"),
    ItemField::new("call.jitter", Kind::F64, |c| c.heard.jitter_ms.map(Value::Float),
        "Highest mean jitter of the call's streams in milliseconds, as media.jitter_mean", "RFC 3550, A.8"),
];
