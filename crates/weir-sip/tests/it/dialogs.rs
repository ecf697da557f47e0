//! Tests of the calls that messages make.

use weir_sip::{Call, CallLimits, CallState, ReportCause, Side};

use crate::script::Script;

const SECOND_NS: u64 = 1_000_000_000;

fn calls(lines: &[&str]) -> Vec<Call> {
    let mut script = Script::new(CallLimits::default());
    script.play(lines);
    script.finish()
}

fn call(lines: &[&str]) -> Call {
    let mut calls = calls(lines);
    assert_eq!(calls.len(), 1, "{calls:#?}");
    calls.remove(0)
}

const ANSWERED: &[&str] = &[
    "0 INVITE sip:bob@b SIP/2.0 | Contact: <sip:alice@10.0.0.1> | User-Agent: phone",
    "0.1 SIP/2.0 100 Trying",
    "2 SIP/2.0 180 Ringing | T: b",
    "5 SIP/2.0 200 OK | T: b | Contact: <sip:bob@10.0.0.2>",
    "5.1 ACK sip:bob@b SIP/2.0 | T: b | B: z9hG4bK-2",
];

/// RFC 3261 §12.1: the 2xx makes the dialog, with a tag of each side; §15.1: a BYE of either ends it.
#[test]
fn a_call_that_the_callee_ends() {
    let mut lines = ANSWERED.to_vec();
    lines.push("65 BYE sip:alice@a SIP/2.0 | F: b | T: a | CSeq: 7 BYE | B: z9hG4bK-3");
    lines.push("65.5 SIP/2.0 200 OK | F: b | T: a | CSeq: 7 BYE | B: z9hG4bK-3");
    let call = call(&lines);
    assert_eq!(call.state, CallState::Completed);
    assert_eq!(call.reported, ReportCause::Ended);
    assert_eq!(call.ended_by, Some(Side::Callee));
    assert_eq!(call.status, Some(200));
    assert_eq!(call.request_delay_ns, Some(2 * SECOND_NS));
    assert_eq!(call.setup_delay_ns, Some(5 * SECOND_NS));
    assert_eq!(call.duration_ns, Some(60 * SECOND_NS));
    assert_eq!(call.disconnect_delay_ns, Some(SECOND_NS / 2));
    assert_eq!((call.messages, call.retransmissions), (7, 0));
    assert_eq!(call.caller.tag.as_deref(), Some(&b"a"[..]));
    assert_eq!(call.callee.tag.as_deref(), Some(&b"b"[..]));
    assert_eq!(
        call.caller.contact.as_deref(),
        Some(&b"sip:alice@10.0.0.1"[..])
    );
    assert_eq!(
        call.callee.contact.as_deref(),
        Some(&b"sip:bob@10.0.0.2"[..])
    );
    assert_eq!(call.caller.user_agent.as_deref(), Some(&b"phone"[..]));
    assert_eq!((call.hops, call.max_forwards), (1, Some(70)));
}

/// RFC 3261 §13.3.1.4: the 2xx is sent again until its ACK, which is sent again for each (§13.2.2.4); §17.1.2.2 for BYE.
#[test]
fn retransmissions_are_distinguished_and_change_nothing() {
    let mut script = Script::new(CallLimits::default());
    script.play(ANSWERED);
    let seen = script.play(&[
        "5.5 SIP/2.0 200 OK | T: b | Contact: <sip:bob@10.0.0.2>",
        "5.6 ACK sip:bob@b SIP/2.0 | T: b | B: z9hG4bK-2",
        "9 BYE sip:bob@b SIP/2.0 | T: b | CSeq: 2 BYE | B: z9hG4bK-4",
        "9.5 BYE sip:bob@b SIP/2.0 | T: b | CSeq: 2 BYE | B: z9hG4bK-4",
        "9.6 SIP/2.0 200 OK | T: b | CSeq: 2 BYE | B: z9hG4bK-4",
    ]);
    let repeats: Vec<bool> = seen.iter().map(|seen| seen.is_repeat).collect();
    assert_eq!(repeats, [true, true, false, true, false]);
    assert!(seen.iter().all(|seen| seen.call == Some(1)));
    let calls = script.finish();
    assert_eq!(calls.len(), 1);
    assert_eq!((calls[0].messages, calls[0].retransmissions), (10, 3));
    assert_eq!(calls[0].duration_ns, Some(4 * SECOND_NS));
    assert_eq!(calls[0].disconnect_delay_ns, Some(SECOND_NS * 6 / 10));
}

/// RFC 3261 §9.1 and §9.2: CANCEL ends the INVITE with a 487, whose ACK is of the INVITE.
#[test]
fn a_call_that_the_caller_gives_up() {
    let call = call(&[
        "0 INVITE sip:bob@b SIP/2.0",
        "1 SIP/2.0 180 Ringing | T: b",
        "4 CANCEL sip:bob@b SIP/2.0",
        "4.1 SIP/2.0 200 OK | CSeq: 1 CANCEL | T: x",
        "4.2 SIP/2.0 487 Request Terminated | T: b",
        "4.3 ACK sip:bob@b SIP/2.0 | T: b",
    ]);
    assert_eq!(call.state, CallState::Cancelled);
    assert_eq!(call.ended_by, Some(Side::Caller));
    assert_eq!(call.status, Some(487));
    assert_eq!(call.end_ns, Some(4_000_000_000));
    assert_eq!((call.duration_ns, call.setup_delay_ns), (None, None));
    assert_eq!(call.messages, 6);
}

/// RFC 3261 §9.1: "the CANCEL request has no effect" on a request that was answered.
#[test]
fn a_cancel_that_comes_too_late_ends_nothing() {
    let call = call(&[
        "0 INVITE sip:bob@b SIP/2.0",
        "1 CANCEL sip:bob@b SIP/2.0",
        "1.1 SIP/2.0 200 OK | T: b",
    ]);
    assert_eq!((call.state, call.ended_by), (CallState::InCall, None));
    assert_eq!(call.reported, ReportCause::InputEnded);
}

/// RFC 3261 §12.3: a final response other than 2xx ends the early dialogs.
#[test]
fn failures_by_kind() {
    for (status, state, counts) in [
        ("486 Busy Here", CallState::Busy, true),
        ("600 Busy Everywhere", CallState::Busy, true),
        ("404 Not Found", CallState::Rejected, true),
        ("503 Service Unavailable", CallState::Rejected, true),
        (
            "407 Proxy Authentication Required",
            CallState::Rejected,
            false,
        ),
        ("302 Moved Temporarily", CallState::Redirected, false),
    ] {
        let response = format!("3 SIP/2.0 {status} | T: b");
        let call = call(&["1 INVITE sip:bob@b SIP/2.0", &response]);
        assert_eq!(call.state, state, "{status}");
        assert_eq!(call.end_ns, Some(3_000_000_000));
        assert_eq!(call.callee.tag.as_deref(), Some(&b"b"[..]));
        // RFC 6076 §4.3.2 leaves challenges and redirections out.
        assert_eq!(
            call.request_delay_ns,
            counts.then_some(2 * SECOND_NS),
            "{status}"
        );
    }
}

/// RFC 3261 §22.2: the INVITE with credentials has the same Call-ID and From tag, and the next CSeq.
#[test]
fn a_challenge_is_part_of_the_call() {
    let call = call(&[
        "0 INVITE sip:bob@b SIP/2.0",
        "1 SIP/2.0 407 Proxy Authentication Required | T: p",
        "1.1 ACK sip:bob@b SIP/2.0 | T: p",
        "2 INVITE sip:bob@b SIP/2.0 | CSeq: 2 INVITE | B: z9hG4bK-5",
        "4 SIP/2.0 180 Ringing | T: b | CSeq: 2 INVITE | B: z9hG4bK-5",
        "6 SIP/2.0 200 OK | T: b | CSeq: 2 INVITE | B: z9hG4bK-5",
    ]);
    assert_eq!((call.state, call.attempts), (CallState::InCall, 2));
    assert_eq!(call.start_ns, Some(0));
    assert_eq!(call.request_delay_ns, Some(2 * SECOND_NS));
    assert_eq!(call.setup_delay_ns, Some(4 * SECOND_NS));
}

/// RFC 3261 §12.1.2 and §13.2.2.1: each To tag of a provisional response is an early dialog of its own; those that no 2xx
/// came for end with the INVITE.
#[test]
fn a_challenge_that_was_answered_after_32_seconds_made_two_calls() {
    for (status, retry) in [
        ("401 Unauthorized", 33),
        ("407 Authentication Required", 3_500),
        ("302 Moved Temporarily", 900),
        ("420 Bad Extension", 40),
        ("484 Address Incomplete", 100),
    ] {
        let lines = [
            "0 INVITE sip:bob@b SIP/2.0 | B: z9hG4bK-1".to_owned(),
            format!("1 SIP/2.0 {status} | T: p | B: z9hG4bK-1"),
            "1 ACK sip:bob@b SIP/2.0 | T: p | B: z9hG4bK-1".to_owned(),
            format!("{retry} INVITE sip:bob@b SIP/2.0 | CSeq: 2 INVITE | B: z9hG4bK-2"),
            format!("{retry}.5 SIP/2.0 200 OK | T: b | CSeq: 2 INVITE | B: z9hG4bK-2"),
            format!("{retry}.6 ACK sip:bob@b SIP/2.0 | T: b | CSeq: 2 ACK | B: z9hG4bK-3"),
            format!("{retry}.7 BYE sip:bob@b SIP/2.0 | T: b | CSeq: 3 BYE | B: z9hG4bK-4"),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let call = call(&lines);
        assert_eq!(
            (call.state, call.attempts),
            (CallState::Completed, 2),
            "{status}"
        );
        assert_eq!(call.start_ns, Some(0), "{status}");
        assert_eq!(call.setup_delay_ns, Some(500_000_000), "{status}");
    }
    // These failures do not ask for another attempt: an INVITE that comes later is another call.
    for status in ["403 Wrong password", "486 Busy Here"] {
        let lines = [
            "0 INVITE sip:bob@b SIP/2.0".to_owned(),
            format!("1 SIP/2.0 {status} | T: p"),
            "34 INVITE sip:bob@b SIP/2.0 | CSeq: 2 INVITE | B: z9hG4bK-2".to_owned(),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(calls(&lines).len(), 2, "{status}");
    }
}

#[test]
fn calls_that_wait_for_another_attempt_have_a_limit() {
    let mut limits = CallLimits::default();
    limits.retries_max = 2;
    let mut script = Script::new(limits);
    for call in 0..4 {
        let invite = format!("{call} INVITE sip:bob@b SIP/2.0 | I: {call} | B: z9hG4bK-{call}");
        let challenge =
            format!("{call} SIP/2.0 401 Unauthorized | T: p | I: {call} | B: z9hG4bK-{call}");
        script.play(&[&invite, &challenge]);
    }
    let reported: Vec<_> = script
        .reported
        .iter()
        .map(|call| (call.number, call.reported))
        .collect();
    assert_eq!(
        reported,
        [(1, ReportCause::Evicted), (2, ReportCause::Evicted)]
    );
    assert_eq!(
        (script.calls.live(), script.calls.counters().evicted),
        (2, 2)
    );
    // The others are reported when their callers did not try again for an hour.
    script.play(&["4000 OPTIONS sip:b@b SIP/2.0 | I: other"]);
    let reported: Vec<_> = script
        .reported
        .iter()
        .skip(2)
        .map(|call| (call.state, call.reported))
        .collect();
    assert_eq!(reported, [(CallState::Rejected, ReportCause::Ended); 2]);
    assert_eq!(script.calls.counters().expired, 0);
}

#[test]
fn forks_are_dialogs_of_one_session() {
    let calls = calls(&[
        "0 INVITE sip:bob@b SIP/2.0",
        "1 SIP/2.0 180 Ringing | T: b1",
        "2 SIP/2.0 183 Session Progress | T: b2",
        "3 SIP/2.0 200 OK | T: b2",
        "9 BYE sip:bob@b SIP/2.0 | T: b2 | CSeq: 2 BYE | B: z9hG4bK-9",
    ]);
    assert_eq!(calls.len(), 2);
    assert!(
        calls
            .iter()
            .all(|call| call.number == 1 && call.dialogs == 2)
    );
    assert_eq!(calls[0].state, CallState::Superseded);
    assert_eq!(calls[0].callee.tag.as_deref(), Some(&b"b1"[..]));
    assert_eq!(calls[1].state, CallState::Completed);
    assert_eq!(calls[1].duration_ns, Some(6 * SECOND_NS));
    assert_eq!(calls[1].disconnect_delay_ns, None);
}

/// RFC 3261 §16.7, §16.8: a proxy gives up a target that does not answer, and tries the next one. The call was cancelled by its
/// caller, or had the failure of the first target.
#[test]
fn a_failure_of_one_target_of_a_proxy_is_not_the_end() {
    let invite = "0 INVITE sip:bob@b SIP/2.0";
    let first = "0.1 INVITE sip:bob@b1 SIP/2.0 | V: p | B: z9hG4bK-p1";
    let given_up = [
        "20 CANCEL sip:bob@b1 SIP/2.0 | V: p | B: z9hG4bK-p1",
        "20.1 SIP/2.0 200 OK | V: p | B: z9hG4bK-p1 | CSeq: 1 CANCEL | T: x",
        "20.2 SIP/2.0 487 Request Terminated | V: p | B: z9hG4bK-p1 | T: b1",
        "20.3 ACK sip:bob@b1 SIP/2.0 | V: p | B: z9hG4bK-p1 | T: b1",
    ];
    let refused = [
        "20 SIP/2.0 486 Busy Here | V: p | B: z9hG4bK-p1 | T: b1",
        "20.3 ACK sip:bob@b1 SIP/2.0 | V: p | B: z9hG4bK-p1 | T: b1",
    ];
    let second = "21 INVITE sip:bob@b2 SIP/2.0 | V: p | B: z9hG4bK-p2";
    let ringing = "22 SIP/2.0 180 Ringing | V: p | B: z9hG4bK-p2 | T: b2";
    let late = [
        "40 SIP/2.0 480 Temporarily Unavailable | V: p | B: z9hG4bK-p2 | T: b2",
        "40.1 SIP/2.0 603 Decline | T: b2",
    ];
    for before in [&given_up[..], &refused] {
        let begun = [&[invite, first][..], before].concat();
        // No other target is there.
        let over = call(
            &[
                &begun[..],
                &["21 SIP/2.0 480 Temporarily Unavailable | T: p"],
            ]
            .concat(),
        );
        let told = (over.state, over.status, over.ended_by);
        assert_eq!(told, (CallState::Rejected, Some(480), None), "{before:?}");
        let goes_on = [&begun[..], &[second, ringing]].concat();
        let rings = call(&goes_on);
        assert_eq!((rings.state, rings.status), (CallState::Ringing, None));
        let over = call(&[&goes_on[..], &late].concat());
        let told = (over.state, over.status, over.ended_by);
        assert_eq!(told, (CallState::Rejected, Some(603), None), "{before:?}");
        let ok = "30 SIP/2.0 200 OK | V: p | B: z9hG4bK-p2 | T: b2";
        let answered = call(&[&goes_on[..], &[ok]].concat());
        assert_eq!(answered.state, CallState::InCall, "{before:?}");
    }
    // The caller cancels, and the proxy passes it on.
    let cancelled = call(&[
        invite,
        first,
        "9 CANCEL sip:bob@b SIP/2.0",
        "9.1 CANCEL sip:bob@b1 SIP/2.0 | V: p | B: z9hG4bK-p1",
        "9.2 SIP/2.0 487 Request Terminated | V: p | B: z9hG4bK-p1 | T: b1",
        "9.3 SIP/2.0 487 Request Terminated | T: b1",
    ]);
    let told = (cancelled.state, cancelled.status, cancelled.ended_by);
    let wanted = (CallState::Cancelled, Some(487), Some(Side::Caller));
    assert_eq!(told, wanted);
    assert_eq!(cancelled.end_ns, Some(9_000_000_000));
    // Of the same failure the first message counts.
    let busy = "9.2 SIP/2.0 486 Busy Here | T: b1";
    let busy = call(&[
        invite,
        first,
        "9 SIP/2.0 486 Busy Here | V: p | B: z9hG4bK-p1 | T: b1",
        busy,
    ]);
    assert_eq!(
        (busy.state, busy.end_ns),
        (CallState::Busy, Some(9_000_000_000))
    );
}

/// The call was over half a minute after the refusal, and the answer was another one.
#[test]
fn a_target_that_refuses_does_not_end_the_wait_for_another() {
    let forked = [
        "0 INVITE sip:bob@b SIP/2.0",
        "0.1 INVITE sip:bob@b1 SIP/2.0 | V: p | B: z9hG4bK-p1",
        "0.1 INVITE sip:bob@b2 SIP/2.0 | V: p | B: z9hG4bK-p2",
        "1 SIP/2.0 180 Ringing | V: p | B: z9hG4bK-p2 | T: b2",
        "2 SIP/2.0 486 Busy Here | V: p | B: z9hG4bK-p1 | T: b1",
    ];
    let ok = "60 SIP/2.0 200 OK | V: p | B: z9hG4bK-p2 | T: b2";
    let answered = call(&[&forked[..], &[ok]].concat());
    assert_eq!(
        (answered.state, answered.status),
        (CallState::InCall, Some(200))
    );
    // The caller got the failure, so that the call is over.
    let mut script = Script::new(CallLimits::default());
    script.play(&forked);
    script.play(&[
        "3 SIP/2.0 486 Busy Here | T: b1",
        "60 OPTIONS sip:b SIP/2.0 | I: x",
    ]);
    assert_eq!(script.reported.len(), 1);
    let told = (script.reported[0].state, script.reported[0].reported);
    assert_eq!(told, (CallState::Busy, ReportCause::Ended));
}

/// Times of another clock ended a call, or let none end.
#[test]
fn deadlines_go_by_the_time_that_has_passed() {
    let whole = call(&[
        "0/0 INVITE sip:bob@b SIP/2.0",
        "9000/1 SIP/2.0 180 Ringing | T: b",
        "2/2 SIP/2.0 200 OK | T: b",
    ]);
    let told = (whole.state, whole.messages, whole.setup_delay_ns);
    assert_eq!(told, (CallState::InCall, 3, Some(2 * SECOND_NS)));
    let mut script = Script::new(CallLimits::default());
    script.play(&[
        "9000/0 INVITE sip:bob@b SIP/2.0",
        "9001/1 SIP/2.0 486 Busy Here | T: b",
        "41/41 OPTIONS sip:b SIP/2.0 | I: x",
    ]);
    assert_eq!(script.reported.len(), 1);
    assert_eq!(script.reported[0].reported, ReportCause::Ended);
}

/// RFC 3261 §13.2.2.4: when several forks answer, each 2xx is a dialog that the caller acknowledges, and ends by a BYE
/// of its own.
#[test]
fn forks_that_answer_are_calls_of_their_own() {
    let calls = calls(&[
        "0 INVITE sip:bob@b SIP/2.0",
        "3 SIP/2.0 200 OK | T: b1",
        "3.1 ACK sip:bob@b SIP/2.0 | T: b1 | B: z9hG4bK-2",
        "3.2 SIP/2.0 200 OK | T: b2",
        "3.3 ACK sip:bob@b SIP/2.0 | T: b2 | B: z9hG4bK-3",
        "3.4 BYE sip:bob@b SIP/2.0 | T: b2 | CSeq: 2 BYE | B: z9hG4bK-4",
        "3.5 SIP/2.0 200 OK | T: b2 | CSeq: 2 BYE | B: z9hG4bK-4",
    ]);
    let states: Vec<_> = calls
        .iter()
        .map(|call| (call.state, call.retransmissions))
        .collect();
    assert_eq!(states, [(CallState::InCall, 0), (CallState::Completed, 0)]);
}

/// RFC 3261 §12.1.1: a provisional response without a To tag makes no dialog of its own: it is one of that which the
/// answer makes.
#[test]
fn a_provisional_response_without_a_tag_makes_no_dialog() {
    let call = call(&[
        "0 INVITE sip:bob@b SIP/2.0",
        "1 SIP/2.0 180 Ringing",
        "2 SIP/2.0 200 OK | T: b",
    ]);
    assert_eq!((call.dialogs, call.state), (1, CallState::InCall));
    assert_eq!(call.request_delay_ns, Some(SECOND_NS));
}

/// RFC 3261 §12.2.2: what was written by RFC 2543 lacks tags. A message without the callee's tag made a dialog beside the one
/// that it was of, which then had no end.
#[test]
fn a_message_without_a_tag_is_of_the_only_dialog() {
    let answered = call(&[
        "0 INVITE sip:bob@b SIP/2.0",
        "1 SIP/2.0 180 Ringing | T: b",
        "2 SIP/2.0 183 Session Progress",
        "3 SIP/2.0 200 OK",
        "4 BYE sip:bob@b SIP/2.0 | CSeq: 2 BYE | B: z9hG4bK-2",
        "5 SIP/2.0 200 OK | CSeq: 2 BYE | B: z9hG4bK-2",
    ]);
    assert_eq!(
        (answered.dialogs, answered.state),
        (1, CallState::Completed)
    );
    assert_eq!(answered.ended_by, Some(Side::Caller));
    assert_eq!(answered.duration_ns, Some(SECOND_NS));
    assert_eq!(answered.disconnect_delay_ns, Some(SECOND_NS));
    assert_eq!(answered.callee.tag.as_deref(), Some(&b"b"[..]));
    // Of several dialogs it says for none that it is the one.
    let forked = calls(&[
        "0 INVITE sip:bob@b SIP/2.0",
        "1 SIP/2.0 200 OK | T: b",
        "2 SIP/2.0 200 OK | T: c",
        "4 BYE sip:bob@b SIP/2.0 | CSeq: 2 BYE | B: z9hG4bK-2",
    ]);
    let states: Vec<_> = forked.iter().map(|call| call.state).collect();
    assert_eq!(states[..2], [CallState::InCall, CallState::InCall]);
}

/// RFC 3261 §15: the caller may end an early dialog by a BYE too.
#[test]
fn a_bye_ends_an_early_dialog() {
    let call = call(&[
        "0 INVITE sip:bob@b SIP/2.0",
        "1 SIP/2.0 180 Ringing | T: b",
        "2 BYE sip:bob@b SIP/2.0 | T: b | CSeq: 2 BYE | B: z9hG4bK-4",
        "2.1 SIP/2.0 200 OK | T: b | CSeq: 2 BYE | B: z9hG4bK-4",
    ]);
    assert_eq!(
        (call.state, call.ended_by),
        (CallState::Cancelled, Some(Side::Caller))
    );
    assert_eq!((call.duration_ns, call.end_ns), (None, Some(2_000_000_000)));
}

/// RFC 3261 §14.1: a re-INVITE of either side; a failure leaves the session as it was.
#[test]
fn an_invite_within_the_dialog_begins_no_call() {
    let mut lines = ANSWERED.to_vec();
    lines.extend([
        "20 INVITE sip:alice@a SIP/2.0 | F: b | T: a | CSeq: 3 INVITE | B: z9hG4bK-6",
        "20.1 INVITE sip:alice@a SIP/2.0 | F: b | T: a | CSeq: 3 INVITE | B: z9hG4bK-6",
        "20.2 SIP/2.0 488 Not Acceptable Here | F: b | T: a | CSeq: 3 INVITE | B: z9hG4bK-6",
        "30 INVITE sip:bob@b SIP/2.0 | T: b | CSeq: 2 INVITE | B: z9hG4bK-7",
        "31 SIP/2.0 200 OK | T: b | CSeq: 2 INVITE | B: z9hG4bK-7",
    ]);
    let call = call(&lines);
    assert_eq!((call.state, call.reinvites), (CallState::InCall, 2));
    assert_eq!(call.answer_ns, Some(5_000_000_000));
    assert_eq!(call.status, Some(200));
    assert_eq!(call.retransmissions, 1);
}

#[test]
fn a_call_id_that_comes_again_is_another_call() {
    let mut script = Script::new(CallLimits::default());
    script.play(ANSWERED);
    script.play(&[
        "6 BYE sip:bob@b SIP/2.0 | T: b | CSeq: 2 BYE | B: z9hG4bK-8",
        "7 INVITE sip:bob@b SIP/2.0 | CSeq: 9 INVITE | B: z9hG4bK-20",
        "8 SIP/2.0 486 Busy Here | T: c | CSeq: 9 INVITE | B: z9hG4bK-20",
        // Another caller with the same Call-ID.
        "9 INVITE sip:bob@b SIP/2.0 | F: other | B: z9hG4bK-30",
    ]);
    let calls = script.finish();
    let reported: Vec<_> = calls
        .iter()
        .map(|call| (call.number, call.state, call.reported))
        .collect();
    assert_eq!(
        reported,
        [
            (1, CallState::Completed, ReportCause::Reused),
            (2, CallState::Busy, ReportCause::Ended),
            (3, CallState::Trying, ReportCause::InputEnded),
        ]
    );
}

/// The INVITE of the second call was a copy of that of the first, whose branch it has.
#[test]
fn a_call_id_that_comes_again_with_the_same_branch_is_another_call() {
    let calls = calls(&[
        "0 INVITE sip:bob@b SIP/2.0",
        "1 SIP/2.0 200 OK | T: b",
        "1.1 ACK sip:bob@b SIP/2.0 | T: b",
        "6 BYE sip:bob@b SIP/2.0 | T: b | CSeq: 2 BYE",
        "6.1 SIP/2.0 200 OK | T: b | CSeq: 2 BYE",
        "7 INVITE sip:bob@b SIP/2.0 | CSeq: 9 INVITE",
        "8 SIP/2.0 200 OK | T: c | CSeq: 9 INVITE",
        "8.1 ACK sip:bob@b SIP/2.0 | T: c | CSeq: 9 ACK",
    ]);
    let told: Vec<_> = calls
        .iter()
        .map(|call| (call.number, call.state, call.status, call.retransmissions))
        .collect();
    assert_eq!(
        told,
        [
            (1, CallState::Completed, Some(200), 0),
            (2, CallState::InCall, Some(200), 0),
        ]
    );
}

/// RFC 3261 §12.2.1.1: requests within a dialog have both tags.
#[test]
fn calls_that_were_under_way_have_no_start() {
    let call = call(&[
        "6 BYE sip:bob@b SIP/2.0 | T: b | CSeq: 2 BYE",
        "6.5 SIP/2.0 200 OK | T: b | CSeq: 2 BYE",
    ]);
    assert_eq!((call.state, call.start_ns), (CallState::Completed, None));
    assert_eq!(call.disconnect_delay_ns, Some(SECOND_NS / 2));
    assert_eq!((call.duration_ns, call.request_delay_ns), (None, None));
}

#[test]
fn what_is_no_call_is_counted() {
    let mut script = Script::new(CallLimits::default());
    let seen = script.play(&[
        "0 REGISTER sip:b SIP/2.0",
        "1 SIP/2.0 200 OK | T: b | CSeq: 1 REGISTER",
        "2 OPTIONS sip:b SIP/2.0",
        "3 OPTIONS sip:b SIP/2.0",
    ]);
    assert!(seen.iter().all(|seen| seen.call.is_none()));
    assert!(seen[3].is_repeat && !seen[2].is_repeat);
    assert_eq!(script.calls.counters().outside, 4);
    assert_eq!(script.finish(), []);
}

#[test]
fn silence_ends_calls_in_the_order_of_time() {
    let mut script = Script::new(CallLimits::default());
    script.play(&[
        "0 INVITE sip:b SIP/2.0 | I: first",
        "1 INVITE sip:b SIP/2.0 | I: second",
        "2 SIP/2.0 180 Ringing | I: first | T: b",
        "3 SIP/2.0 486 Busy Here | I: second | T: b",
        "34 OPTIONS sip:b SIP/2.0",
    ]);
    assert_eq!(script.reported.len(), 0);
    script.play(&["35 OPTIONS sip:b SIP/2.0"]);
    assert_eq!(script.reported.len(), 1, "32 s behind its end");
    script.play(&["301.9 OPTIONS sip:b SIP/2.0"]);
    assert_eq!(script.reported.len(), 1);
    script.play(&["302 OPTIONS sip:b SIP/2.0"]);
    let reported: Vec<_> = script
        .reported
        .iter()
        .map(|call| (call.call_id.as_slice(), call.reported))
        .collect();
    assert_eq!(
        reported,
        [
            (&b"second"[..], ReportCause::Ended),
            (&b"first"[..], ReportCause::Expired)
        ]
    );
    assert_eq!(script.calls.counters().expired, 1);
}

#[test]
fn limits_hold_and_are_counted() {
    let mut limits = CallLimits::default();
    (limits.calls_max, limits.dialogs_max, limits.text_bytes_max) = (3, 2, 8);
    let mut script = Script::new(limits);
    for number in 0..50 {
        script.play(&[&format!(
            "{number} INVITE sip:b SIP/2.0 | I: a-long-call-id-{number}"
        )]);
        assert!(script.calls.live() <= 3);
    }
    for tag in 0..5 {
        script.play(&[&format!(
            "50 SIP/2.0 180 Ringing | I: a-long-call-id-49 | T: {tag}"
        )]);
    }
    let counters = script.calls.counters();
    assert_eq!((counters.evicted, counters.dialogs_refused), (47, 3));
    assert!(counters.texts_clipped >= 50);
    let calls = script.finish();
    assert_eq!(calls.len(), 51);
    assert!(calls.iter().all(|call| call.call_id == b"a-long-c"));
    // Evicted in the order in which they fell silent.
    let numbers: Vec<u64> = calls.iter().map(|call| call.number).collect();
    assert!(numbers.is_sorted());
}

#[test]
fn the_texts_of_all_calls_together_have_a_limit() {
    let limits = {
        let mut limits = CallLimits::default();
        limits.texts_bytes_max = 2000;
        limits
    };
    let mut script = Script::new(limits);
    let long = "x".repeat(300);
    for number in 0..20 {
        script.play(&[&format!("{number} INVITE sip:{long} SIP/2.0 | I: {number}")]);
        assert!(script.calls.live() <= 6);
    }
    assert!(script.calls.live() >= 3);
    assert!(script.calls.counters().evicted >= 14);
    assert_eq!(script.finish().len(), 20);
}

#[test]
fn time_that_runs_backwards_makes_no_negative_spans() {
    let call = call(&[
        "9 INVITE sip:bob@b SIP/2.0",
        "5 SIP/2.0 200 OK | T: b",
        "3 BYE sip:bob@b SIP/2.0 | T: b | CSeq: 2 BYE | B: z9hG4bK-8",
    ]);
    assert_eq!(call.state, CallState::Completed);
    assert_eq!((call.setup_delay_ns, call.duration_ns), (None, None));
}
