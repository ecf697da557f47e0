//! Tests of calls with missing messages: the beginning, a direction, a lost one.

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

const REINVITE: &str = "0 INVITE sip:bob@b SIP/2.0 | T: b | CSeq: 5 INVITE";
const BYE: &str = "60 BYE sip:bob@b SIP/2.0 | T: b | CSeq: 9 BYE | B: z9hG4bK-y";
const BYE_OK: &str = "60.1 SIP/2.0 200 OK | T: b | CSeq: 9 BYE | B: z9hG4bK-y";

/// RFC 3261 §14.1: a refused INVITE within the dialog leaves the session as it was.
#[test]
fn a_refused_reinvite_ended_a_call_whose_beginning_was_not_seen() {
    for status in [
        "401 Unauthorized",
        "415 Unsupported Media Type",
        "422 Session Interval Too Small",
        "488 Not Acceptable Here",
        "491 Request Pending",
        "500 Server Internal Error",
    ] {
        let refusal = format!("0.1 SIP/2.0 {status} | T: b | CSeq: 5 INVITE");
        let ack = "0.2 ACK sip:bob@b SIP/2.0 | T: b | CSeq: 5 ACK";
        let whole = call(&[REINVITE, &refusal, ack, BYE, BYE_OK]);
        assert_eq!(whole.state, CallState::Completed, "{status}");
        assert_eq!((whole.status, whole.start_ns), (None, None), "{status}");
        assert_eq!((whole.answer_ns, whole.duration_ns), (None, None));
        assert_eq!(whole.end_ns, Some(60_000_000_000), "{status}");
        assert_eq!((whole.messages, whole.reinvites), (5, 1), "{status}");
        // The request itself may be missing, too.
        let without = call(&[&refusal, BYE, BYE_OK]);
        assert_eq!(without.state, CallState::Completed, "{status}");
        assert_eq!((without.status, without.messages), (None, 3), "{status}");
        let under_way = call(&[REINVITE, &refusal, ack]);
        assert_eq!(
            (under_way.state, under_way.reported),
            (CallState::InCall, ReportCause::InputEnded),
            "{status}"
        );
    }
}

/// RFC 3311, RFC 6086, RFC 3262: such requests are sent within the dialog of an INVITE alone. There was no call without its BYE.
#[test]
fn requests_within_a_dialog_show_a_call_whose_beginning_was_not_seen() {
    for (method, header) in [
        ("UPDATE", ""),
        ("INFO", ""),
        ("PRACK", " | RAck: 1 1 INVITE"),
    ] {
        let request = format!("0 {method} sip:bob@b SIP/2.0 | T: b | CSeq: 5 {method}{header}");
        let ok = format!("0.1 SIP/2.0 200 OK | T: b | CSeq: 5 {method}");
        let under_way = call(&[&request, &ok]);
        let told = (under_way.state, under_way.reported, under_way.messages);
        let wanted = (CallState::InCall, ReportCause::InputEnded, 2);
        assert_eq!(told, wanted, "{method}");
        assert_eq!((under_way.start_ns, under_way.answer_ns), (None, None));
        let over = call(&[&request, &ok, BYE, BYE_OK]);
        let told = (over.state, over.first_ns, over.messages);
        assert_eq!(told, (CallState::Completed, 0, 4), "{method}");
        // It belongs to no call outside of a dialog.
        let outside = format!("0 {method} sip:bob@b SIP/2.0{header}");
        assert_eq!(calls(&[&outside]), [], "{method}");
    }
    let update = "0 UPDATE sip:bob@b SIP/2.0 | T: b | CSeq: 5 UPDATE | B: z9hG4bK-5";
    let gone = call(&[
        update,
        "0.5 SIP/2.0 481 Gone | T: b | CSeq: 5 UPDATE | B: z9hG4bK-5",
    ]);
    assert_eq!(gone.state, CallState::Completed);
    assert_eq!(gone.end_ns, Some(500_000_000));
    // The dialog may be an early one.
    let busy = call(&[update, "5 SIP/2.0 486 Busy Here | T: b"]);
    assert_eq!((busy.state, busy.status), (CallState::Busy, Some(486)));
    let answered = call(&[update, "5 SIP/2.0 200 OK | T: b", BYE]);
    assert_eq!(
        (answered.state, answered.messages),
        (CallState::Completed, 3)
    );
}

/// The other direction was not captured, or the capture began behind the request. There was no call.
#[test]
fn the_success_of_a_request_within_a_dialog_shows_a_call() {
    let ended = call(&[BYE_OK]);
    let told = (ended.state, ended.status, ended.messages);
    assert_eq!(told, (CallState::Completed, None, 1));
    assert_eq!((ended.end_ns, ended.duration_ns), (None, None));
    assert_eq!((ended.is_caller_known, ended.ended_by), (false, None));
    let ports = ended.flow.map(|flow| (flow.src.port(), flow.dst.port()));
    assert_eq!(ports, Some((1, 2)));
    // It has its INVITE, also where the callee ended it.
    let of_callee = "60 SIP/2.0 200 OK | F: b | T: a | CSeq: 9 BYE | B: z9hG4bK-y";
    for (ok, side) in [(BYE_OK, Side::Caller), (of_callee, Side::Callee)] {
        let whole = call(&[ok, "61 INVITE sip:bob@b SIP/2.0"]);
        let told = (whole.state, whole.ended_by, whole.messages);
        assert_eq!(told, (CallState::Completed, Some(side), 2), "{ok}");
    }
    for method in ["UPDATE", "INFO", "PRACK"] {
        let ok = format!("0 SIP/2.0 200 OK | T: b | CSeq: 5 {method}");
        assert_eq!(call(&[&ok]).state, CallState::InCall, "{method}");
        let over = call(&[&ok, BYE_OK]);
        assert_eq!((over.state, over.messages), (CallState::Completed, 2));
    }
    // Requests outside of a dialog are refused with a tag.
    let refused = "0 SIP/2.0 481 Call/Transaction Does Not Exist | T: x | CSeq: 9 BYE";
    assert_eq!(calls(&[refused]), []);
    assert_eq!(calls(&["0 SIP/2.0 200 OK | T: b | CSeq: 9 OPTIONS"]), []);
}

/// The success was taken for one of an INVITE within the dialog, and the call for one that the caller gave up.
#[test]
fn a_response_to_an_attempt_that_was_not_captured_is_that_of_the_call() {
    let invite = "0 INVITE sip:bob@b SIP/2.0";
    let challenge = "0.1 SIP/2.0 407 Proxy Authentication Required | T: p";
    let ack_of_challenge = "0.2 ACK sip:bob@b SIP/2.0 | T: p";
    let ok = "2 SIP/2.0 200 OK | T: b | CSeq: 2 INVITE | B: z9hG4bK-2";
    let ack = "2.1 ACK sip:bob@b SIP/2.0 | T: b | CSeq: 2 ACK | B: z9hG4bK-k";
    for before in [
        &[invite, challenge, ack_of_challenge][..],
        &[invite, challenge],
        &[invite, ack_of_challenge],
    ] {
        let answered = call(&[before, &[ok, ack, BYE, BYE_OK]].concat());
        assert_eq!(
            (answered.state, answered.status, answered.ended_by),
            (CallState::Completed, Some(200), Some(Side::Caller)),
            "{before:?}"
        );
        assert_eq!(answered.duration_ns, Some(58 * SECOND_NS), "{before:?}");
        assert_eq!(answered.setup_delay_ns, None, "{before:?}");
        let busy = "2 SIP/2.0 486 Busy Here | T: b | CSeq: 2 INVITE | B: z9hG4bK-2";
        let busy = call(&[before, &[busy]].concat());
        assert_eq!((busy.state, busy.status), (CallState::Busy, Some(486)));
    }
    // Nothing shows whether it is the first success, or one within the dialog.
    let unknown = call(&[invite, ok, ack, BYE, BYE_OK]);
    assert_eq!(
        (unknown.state, unknown.status, unknown.answer_ns),
        (CallState::Completed, None, None)
    );
    // Some clients give the ACK of a success the branch of the INVITE.
    let within = call(&[invite, "1.1 ACK sip:bob@b SIP/2.0 | T: b", ok, BYE, BYE_OK]);
    assert_eq!(
        (within.state, within.status, within.answer_ns),
        (CallState::Completed, None, None)
    );
    // The other side refuses an INVITE within the dialog.
    let refused = call(&[
        invite,
        "1 SIP/2.0 180 Ringing | T: b",
        "5 SIP/2.0 488 Not Acceptable Here | T: b | CSeq: 2 INVITE | B: z9hG4bK-2",
        BYE,
        BYE_OK,
    ]);
    assert_eq!(
        (refused.state, refused.status, refused.answer_ns),
        (CallState::Completed, None, None)
    );
}

#[test]
fn a_refused_reinvite_of_the_other_side_ends_nothing() {
    let call = call(&[
        REINVITE,
        "0.1 SIP/2.0 200 OK | T: b | CSeq: 5 INVITE",
        "10 INVITE sip:alice@a SIP/2.0 | F: b | T: a | CSeq: 3 INVITE | B: z9hG4bK-6",
        "10.1 SIP/2.0 491 Request Pending | F: b | T: a | CSeq: 3 INVITE | B: z9hG4bK-6",
        "80 BYE sip:alice@a SIP/2.0 | F: b | T: a | CSeq: 4 BYE | B: z9hG4bK-7",
    ]);
    // The messages do not show which side is the caller.
    assert_eq!((call.state, call.ended_by), (CallState::Completed, None));
    assert_eq!((call.reinvites, call.status), (2, None));
}

/// The success of an INVITE within the dialog was taken for the answer, and made a duration too short.
#[test]
fn the_success_of_a_reinvite_is_no_answer() {
    for lines in [
        &[
            REINVITE,
            "0.1 SIP/2.0 180 Ringing | T: b | CSeq: 5 INVITE",
            "0.2 SIP/2.0 200 OK | T: b | CSeq: 5 INVITE",
            BYE,
        ][..],
        &["0.2 SIP/2.0 200 OK | T: b | CSeq: 5 INVITE", BYE],
        &[
            "0.1 SIP/2.0 100 Trying | T: b | CSeq: 5 INVITE",
            "0.2 SIP/2.0 200 OK | T: b | CSeq: 5 INVITE",
            BYE,
        ],
    ] {
        let call = call(lines);
        assert_eq!(call.state, CallState::Completed, "{lines:?}");
        assert_eq!(
            (call.answer_ns, call.duration_ns),
            (None, None),
            "{lines:?}"
        );
        assert_eq!(
            (call.ringing_ns, call.setup_delay_ns),
            (None, None),
            "{lines:?}"
        );
    }
}

/// RFC 3261 §8.2.6.2: the response to an INVITE that begins a call may lack a To tag, one within the dialog has that of
/// its request.
#[test]
fn responses_alone_show_an_initial_invite() {
    for provisional in ["0.1 SIP/2.0 100 Trying", "2 SIP/2.0 180 Ringing | T: b"] {
        let answered = call(&[
            provisional,
            "5 SIP/2.0 200 OK | T: b",
            "30 SIP/2.0 200 OK | T: b | CSeq: 2 INVITE | B: z9hG4bK-3",
            "65 SIP/2.0 200 OK | T: b | CSeq: 3 BYE | B: z9hG4bK-4",
        ]);
        assert_eq!(answered.state, CallState::Completed);
        assert_eq!((answered.status, answered.start_ns), (Some(200), None));
        assert_eq!(answered.answer_ns, Some(5_000_000_000));
        // The time of the BYE was not seen.
        assert_eq!((answered.end_ns, answered.duration_ns), (None, None));
        assert_eq!(answered.ended_by, Some(Side::Caller));
        let busy = call(&[provisional, "5 SIP/2.0 486 Busy Here | T: b"]);
        assert_eq!((busy.state, busy.status), (CallState::Busy, Some(486)));
    }
    let refused = call(&["5 SIP/2.0 486 Busy Here | T: b"]);
    assert_eq!(
        (refused.state, refused.reported),
        (CallState::Busy, ReportCause::Ended)
    );
}

#[test]
fn an_invite_that_comes_behind_its_response_is_the_beginning() {
    let call = call(&[
        "1 SIP/2.0 100 Trying",
        "1 INVITE sip:bob@b SIP/2.0",
        "5 SIP/2.0 200 OK | T: b",
    ]);
    assert_eq!((call.start_ns, call.attempts), (Some(1_000_000_000), 1));
    assert_eq!(call.setup_delay_ns, Some(4 * SECOND_NS));
}

/// RFC 3261 §22.2: the attempt with credentials, of which the request was lost.
#[test]
fn the_responses_of_a_lost_second_attempt_are_those_of_the_call() {
    let call = call(&[
        "0 INVITE sip:bob@b SIP/2.0",
        "1 SIP/2.0 407 Proxy Authentication Required | T: p",
        "2.1 SIP/2.0 100 Trying | CSeq: 2 INVITE | B: z9hG4bK-5",
        "6 SIP/2.0 200 OK | T: b | CSeq: 2 INVITE | B: z9hG4bK-5",
        "9 BYE sip:bob@b SIP/2.0 | T: b | CSeq: 3 BYE | B: z9hG4bK-6",
    ]);
    assert_eq!((call.state, call.status), (CallState::Completed, Some(200)));
    assert_eq!(
        (call.duration_ns, call.setup_delay_ns),
        (Some(3 * SECOND_NS), None)
    );
}

/// RFC 3261 §13.2.2.4: the ACK of a success is a transaction of its own; §17.1.1.3: that of a failure has the branch of
/// the INVITE.
#[test]
fn an_ack_with_a_branch_of_its_own_shows_a_lost_success() {
    let invite = "0 INVITE sip:bob@b SIP/2.0";
    let ringing = "0.2 SIP/2.0 180 Ringing | T: b";
    let ack = "5.1 ACK sip:bob@b SIP/2.0 | T: b | B: z9hG4bK-k";
    for lines in [&[invite, ringing, ack][..], &[invite, ack]] {
        let talking = call(lines);
        assert_eq!(
            (talking.state, talking.reported),
            (CallState::InCall, ReportCause::InputEnded)
        );
        assert_eq!((talking.answer_ns, talking.setup_delay_ns), (None, None));
        assert_eq!(talking.callee.tag.as_deref(), Some(&b"b"[..]));
        let lines = [lines, &[BYE, BYE_OK]].concat();
        let over = call(&lines);
        assert_eq!(
            (over.state, over.ended_by),
            (CallState::Completed, Some(Side::Caller))
        );
        assert_eq!((over.status, over.duration_ns), (None, None));
        assert_eq!(over.end_ns, Some(60_000_000_000));
    }
    // The success crossed a CANCEL, which then has no effect (§9.1).
    let crossed = call(&[invite, "5 CANCEL sip:bob@b SIP/2.0", ack]);
    assert_eq!((crossed.state, crossed.ended_by), (CallState::InCall, None));
}

#[test]
fn an_ack_of_a_failure_shows_no_success() {
    let invite = "0 INVITE sip:bob@b SIP/2.0";
    let ringing = "0.2 SIP/2.0 180 Ringing | T: b";
    for (lines, state) in [
        // The branch of the INVITE.
        (
            &[invite, ringing, "5 ACK sip:bob@b SIP/2.0 | T: b"][..],
            CallState::Rejected,
        ),
        // The response to the INVITE at another hop.
        (
            &[
                invite,
                "0.1 INVITE sip:bob@b SIP/2.0 | B: z9hG4bK-hop",
                ringing,
                "5 ACK sip:bob@b SIP/2.0 | T: b | B: z9hG4bK-hop",
            ],
            CallState::Ringing,
        ),
        // The failure was seen.
        (
            &[
                invite,
                ringing,
                "5 SIP/2.0 486 Busy Here | T: b",
                "5.1 ACK sip:bob@b SIP/2.0 | T: b | B: z9hG4bK-k",
            ],
            CallState::Busy,
        ),
        // The ACK of an attempt before.
        (
            &[
                invite,
                "1 INVITE sip:bob@b SIP/2.0 | CSeq: 2 INVITE | B: z9hG4bK-5",
                "1.1 ACK sip:bob@b SIP/2.0 | T: p | CSeq: 1 ACK",
            ],
            CallState::Trying,
        ),
        // Branches of RFC 2543 name no transaction.
        (
            &[
                "0 INVITE sip:bob@b SIP/2.0 | B: 1",
                ringing,
                "5 ACK sip:bob@b SIP/2.0 | T: b | B: 2",
            ],
            CallState::Ringing,
        ),
    ] {
        assert_eq!(call(lines).state, state, "{lines:?}");
    }
}

/// RFC 3261 §17.1.1.3: what has the branch of the INVITE acknowledges a final response that is no success. The call was `trying`.
#[test]
fn an_ack_with_the_branch_of_the_invite_shows_a_lost_failure() {
    let invite = "0 INVITE sip:bob@b SIP/2.0";
    let ack = "5 ACK sip:bob@b SIP/2.0 | T: b";
    let refused = call(&[invite, ack]);
    assert_eq!(
        (refused.state, refused.status, refused.reported),
        (CallState::Rejected, None, ReportCause::Ended)
    );
    assert_eq!(refused.end_ns, Some(5_000_000_000));
    assert_eq!(refused.callee.tag.as_deref(), Some(&b"b"[..]));
    // The acknowledged failure answered a request without credentials, or one that was cancelled.
    let answered = call(&[
        invite,
        ack,
        "6 INVITE sip:bob@b SIP/2.0 | CSeq: 2 INVITE | B: z9hG4bK-5",
        "7 SIP/2.0 200 OK | T: c | CSeq: 2 INVITE | B: z9hG4bK-5",
    ]);
    assert_eq!((answered.state, answered.attempts), (CallState::InCall, 2));
    assert_eq!(answered.end_ns, None);
    let cancelled = call(&[invite, "4 CANCEL sip:bob@b SIP/2.0", ack]);
    assert_eq!(
        (cancelled.state, cancelled.end_ns),
        (CallState::Cancelled, Some(4_000_000_000))
    );
    // The failure is captured late.
    let busy = call(&[invite, ack, "5 SIP/2.0 486 Busy Here | T: b"]);
    assert_eq!((busy.state, busy.status), (CallState::Busy, Some(486)));
    // A proxy whose own INVITE is the first tries another target.
    let forked = call(&[
        invite,
        ack,
        "5.1 INVITE sip:bob@c SIP/2.0 | B: z9hG4bK-next",
        "5.2 SIP/2.0 180 Ringing | T: c | B: z9hG4bK-next",
    ]);
    assert_eq!(forked.state, CallState::Ringing);
    // A client that gives the ACK of a success this branch, too, has a dialog to end.
    let over = call(&[invite, ack, BYE, BYE_OK]);
    assert_eq!(over.state, CallState::Completed);
}

/// RFC 3261 §12.2.1.2, RFC 5057 §5.1. The call was `in_call` for ever.
#[test]
fn a_dialog_that_the_other_side_does_not_know_is_over() {
    let begun = [
        "0 INVITE sip:bob@b SIP/2.0",
        "1 SIP/2.0 200 OK | T: b",
        "1.1 ACK sip:bob@b SIP/2.0 | T: b | B: z9hG4bK-k",
    ];
    let over = |lines: &[&str]| call(&[&begun, lines].concat());
    for status in ["481 Call/Transaction Does Not Exist", "408 Request Timeout"] {
        for method in ["INVITE", "UPDATE", "INFO"] {
            let of_caller = [
                format!("9 {method} sip:bob@b SIP/2.0 | T: b | CSeq: 2 {method} | B: z9hG4bK-2"),
                format!("11 SIP/2.0 {status} | T: b | CSeq: 2 {method} | B: z9hG4bK-2"),
            ];
            let of_callee = [
                format!(
                    "9 {method} sip:a@a SIP/2.0 | F: b | T: a | CSeq: 7 {method} | B: z9hG4bK-3"
                ),
                format!("11 SIP/2.0 {status} | F: b | T: a | CSeq: 7 {method} | B: z9hG4bK-3"),
            ];
            for lines in [of_caller, of_callee] {
                let lines = lines.each_ref().map(String::as_str);
                let gone = over(&lines);
                assert_eq!(
                    (gone.state, gone.status, gone.reported),
                    (CallState::Completed, Some(200), ReportCause::Ended),
                    "{lines:?}"
                );
                assert_eq!(gone.end_ns, Some(11_000_000_000), "{lines:?}");
                assert_eq!(gone.duration_ns, Some(10 * SECOND_NS), "{lines:?}");
                assert_eq!(gone.ended_by, None, "{lines:?}");
                // A BYE that follows is the end.
                let bye = "12 BYE sip:bob@b SIP/2.0 | T: b | CSeq: 9 BYE | B: z9hG4bK-y";
                let ended = over(&[&lines[..], &[bye]].concat());
                assert_eq!(ended.end_ns, Some(12_000_000_000), "{lines:?}");
                assert_eq!(ended.ended_by, Some(Side::Caller), "{lines:?}");
                // A success shows that the call continues after all.
                let on = [
                    "13 INVITE sip:bob@b SIP/2.0 | T: b | CSeq: 4 INVITE | B: z9hG4bK-4",
                    "14 SIP/2.0 200 OK | T: b | CSeq: 4 INVITE | B: z9hG4bK-4",
                ];
                let goes_on = over(&[&lines[..], &on].concat());
                assert_eq!((goes_on.state, goes_on.end_ns), (CallState::InCall, None));
            }
        }
    }
    // A response to another usage of the dialog ends only that usage; other failures end nothing.
    for response in [
        "11 SIP/2.0 481 Gone | T: b | CSeq: 2 NOTIFY | B: z9hG4bK-2",
        "11 SIP/2.0 488 Not Acceptable Here | T: b | CSeq: 2 INVITE | B: z9hG4bK-2",
    ] {
        assert_eq!(over(&[response]).state, CallState::InCall, "{response}");
    }
    // The beginning was not seen.
    let gone = call(&["11 SIP/2.0 481 Gone | T: b | CSeq: 5 INVITE"]);
    assert_eq!((gone.state, gone.status), (CallState::Completed, None));
    assert_eq!(
        (gone.end_ns, gone.duration_ns),
        (Some(11_000_000_000), None)
    );
}

/// RFC 3261 §12.3: a failure ends the dialog, so that a BYE behind an ACK is one of an answered call, whatever the branch
/// of the ACK.
#[test]
fn a_bye_behind_an_ack_shows_a_lost_success() {
    for (invite, ack) in [("1", "2"), ("z9hG4bK-1", "z9hG4bK-1")] {
        let invite = format!("0 INVITE sip:bob@b SIP/2.0 | B: {invite}");
        let ack = format!("5 ACK sip:bob@b SIP/2.0 | T: b | B: {ack}");
        let call = call(&[&invite, "0.2 SIP/2.0 180 Ringing | T: b", &ack, BYE, BYE_OK]);
        assert_eq!(call.state, CallState::Completed);
        assert_eq!((call.answer_ns, call.duration_ns), (None, None));
        assert_eq!(call.disconnect_delay_ns, Some(SECOND_NS / 10));
    }
}

/// More hops than are kept could hide the one that the ACK belongs to.
#[test]
fn an_ack_shows_nothing_beyond_the_hops_that_are_kept() {
    let hops =
        (0..20).map(|hop| format!("0.{hop:02} INVITE sip:bob@b SIP/2.0 | B: z9hG4bK-hop-{hop}"));
    let mut lines: Vec<String> = hops.collect();
    lines.push("5 ACK sip:bob@b SIP/2.0 | T: b | B: z9hG4bK-k".to_owned());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let call = call(&lines);
    assert_eq!((call.state, call.attempts), (CallState::Trying, 1));
}

/// RFC 3261 §14.1 and §15: INVITEs within the dialog, and a BYE of the callee, come behind the success alone.
#[test]
fn requests_within_the_dialog_show_a_lost_success() {
    let invite = "0 INVITE sip:bob@b SIP/2.0";
    let ringing = "0.2 SIP/2.0 180 Ringing | T: b";
    for (shows, state) in [
        (
            "9 BYE sip:alice@a SIP/2.0 | F: b | T: a | CSeq: 1 BYE | B: z9hG4bK-2",
            CallState::Completed,
        ),
        (
            "9 SIP/2.0 200 OK | F: b | T: a | CSeq: 1 BYE | B: z9hG4bK-2",
            CallState::Completed,
        ),
        (
            "9 INVITE sip:alice@a SIP/2.0 | F: b | T: a | CSeq: 1 INVITE | B: z9hG4bK-2",
            CallState::InCall,
        ),
        (
            "9 SIP/2.0 200 OK | F: b | T: a | CSeq: 1 INVITE | B: z9hG4bK-2",
            CallState::InCall,
        ),
        (
            "9 ACK sip:alice@a SIP/2.0 | F: b | T: a | CSeq: 1 ACK | B: z9hG4bK-2",
            CallState::InCall,
        ),
        (
            "9 INVITE sip:bob@b SIP/2.0 | T: b | CSeq: 2 INVITE | B: z9hG4bK-2",
            CallState::InCall,
        ),
    ] {
        for lines in [&[invite, ringing, shows][..], &[invite, shows]] {
            let call = call(lines);
            assert_eq!(call.state, state, "{lines:?}");
            assert_eq!(
                (call.answer_ns, call.duration_ns),
                (None, None),
                "{lines:?}"
            );
            assert_eq!(call.start_ns, Some(0), "{lines:?}");
        }
    }
}

/// A call that is known to talk is waited for as long as one whose success was seen.
#[test]
fn silence_does_not_end_a_call_whose_success_was_lost() {
    let mut script = Script::new(CallLimits::default());
    script.play(&[
        "0 INVITE sip:bob@b SIP/2.0",
        "5.1 ACK sip:bob@b SIP/2.0 | T: b | B: z9hG4bK-k",
        "3600 BYE sip:bob@b SIP/2.0 | T: b | CSeq: 2 BYE | B: z9hG4bK-y",
    ]);
    assert_eq!(script.calls.counters().expired, 0);
    let calls = script.finish();
    assert_eq!((calls.len(), calls[0].state), (1, CallState::Completed));
}

/// RFC 3261 §8.2.6.2: the response to an INVITE within a dialog has the To tag of its request; §9.1: CANCEL has the To of
/// its INVITE; §12.2.1.1: what either side sends within the dialog has both tags, and says nothing of who began it.
#[test]
fn who_called_is_known_by_what_only_the_first_invite_has() {
    for (lines, caller, is_from_alice) in [
        (&["0 INVITE sip:bob@b SIP/2.0"][..], Some("a"), true),
        // Responses go to the caller.
        (&["0 SIP/2.0 100 Trying"], Some("a"), true),
        (&["0 SIP/2.0 180 Ringing | T: b"], Some("a"), true),
        (&["0 SIP/2.0 180 Ringing | F: b | T: a"], Some("b"), false),
        (
            &["0 SIP/2.0 199 Early Dialog Terminated | T: b"],
            Some("a"),
            true,
        ),
        (&["0 SIP/2.0 486 Busy Here"], Some("a"), true),
        (&["0 CANCEL sip:bob@b SIP/2.0"], Some("a"), true),
        // The answer has overtaken what shows that it is one.
        (
            &["0 SIP/2.0 200 OK | T: b", "0 SIP/2.0 180 Ringing | T: b"],
            Some("a"),
            true,
        ),
        (
            &["0 SIP/2.0 200 OK | T: b", "0 INVITE sip:bob@b SIP/2.0"],
            Some("a"),
            true,
        ),
        // These are sent within dialogs as well, by either side.
        (&["0 INVITE sip:bob@b SIP/2.0 | T: b"], None, true),
        (&["0 SIP/2.0 100 Trying | T: b"], None, true),
        (&["0 SIP/2.0 183 Session Progress | T: b"], None, true),
        (&["0 SIP/2.0 200 OK | T: b"], None, true),
        (
            &[
                "0 SIP/2.0 200 OK | T: b",
                "1 ACK sip:bob@b SIP/2.0 | T: b | B: z9hG4bK-k",
            ],
            None,
            true,
        ),
        (&["0 SIP/2.0 488 Not Acceptable Here | T: b"], None, true),
        (&["0 BYE sip:bob@b SIP/2.0 | T: b"], None, true),
        (
            &[
                "0 BYE sip:alice@a SIP/2.0 | F: b | T: a | CSeq: 7 BYE",
                "1 SIP/2.0 200 OK | F: b | T: a | CSeq: 7 BYE",
            ],
            None,
            false,
        ),
    ] {
        let call = call(lines);
        assert_eq!(call.is_caller_known, caller.is_some(), "{lines:?}");
        let first = caller.unwrap_or(if is_from_alice { "a" } else { "b" });
        assert_eq!(
            call.caller.tag.as_deref(),
            Some(first.as_bytes()),
            "{lines:?}"
        );
        let ends = call.flow.map(|flow| (flow.src.port(), flow.dst.port()));
        let expected = if is_from_alice { (1, 2) } else { (2, 1) };
        assert_eq!(ends, Some(expected), "{lines:?}");
        assert!(call.is_caller_known || call.ended_by.is_none(), "{lines:?}");
    }
}

/// The packets of several interfaces may be captured out of order. The success had no time and no status, and the call that a failure
/// had ended was trying.
#[test]
fn a_final_response_that_has_overtaken_its_invite_is_that_of_the_call() {
    let invite = "1.001 INVITE sip:bob@b SIP/2.0";
    let answered = call(&[
        "1 SIP/2.0 200 OK | T: b",
        invite,
        "1.1 ACK sip:bob@b SIP/2.0 | T: b | B: z9hG4bK-k",
        "4 BYE sip:bob@b SIP/2.0 | T: b | CSeq: 2 BYE | B: z9hG4bK-2",
    ]);
    assert_eq!(
        (answered.state, answered.status, answered.answer_ns),
        (CallState::Completed, Some(200), Some(1_000_000_000))
    );
    assert_eq!(answered.duration_ns, Some(3_000_000_000));
    assert_eq!(answered.setup_delay_ns, None);
    let ack = "1.1 ACK sip:bob@b SIP/2.0 | T: b";
    let busy = call(&["1 SIP/2.0 486 Busy Here | T: b", invite, ack]);
    assert_eq!((busy.state, busy.status), (CallState::Busy, Some(486)));
    assert_eq!(busy.end_ns, Some(1_000_000_000));
    // These answer another INVITE.
    let next = "2 INVITE sip:bob@b SIP/2.0 | CSeq: 2 INVITE | B: z9hG4bK-2";
    let next = call(&["1 SIP/2.0 407 Proxy | T: b", next]);
    assert_eq!((next.state, next.status), (CallState::Trying, None));
    let call = call(&["1 SIP/2.0 200 OK | T: b | CSeq: 7 INVITE", invite]);
    assert_eq!((call.status, call.answer_ns), (None, None));
}

/// RFC 3261 §9.1 and §15.1.2: the INVITE that a CANCEL speaks of began the call that the 487 ends.
#[test]
fn a_cancel_shows_a_lost_invite() {
    let call = call(&[
        "4 CANCEL sip:bob@b SIP/2.0",
        "4.1 SIP/2.0 200 OK | CSeq: 1 CANCEL | T: x",
        "4.2 SIP/2.0 487 Request Terminated | T: b",
        "4.3 ACK sip:bob@b SIP/2.0 | T: b",
    ]);
    assert_eq!(
        (call.state, call.status, call.ended_by),
        (CallState::Cancelled, Some(487), Some(Side::Caller))
    );
    assert_eq!((call.start_ns, call.attempts), (None, 0));
    assert_eq!((call.messages, call.reported), (4, ReportCause::Ended));
    // A response to an INVITE within a dialog begins no call.
    assert_eq!(calls(&["4 CANCEL sip:bob@b SIP/2.0 | T: b"]), []);
}

/// Wherever the INVITE of a dialog is captured, it is that of the one call, also behind the BYE: its number is lower than those of
/// what the caller sent in the dialog (RFC 3261 §12.2.1.1).
#[test]
fn an_invite_behind_its_bye_is_that_of_the_same_call() {
    let invite = "INVITE sip:bob@b SIP/2.0";
    let ok = "SIP/2.0 200 OK | T: b";
    let of_caller = "BYE sip:bob@b SIP/2.0 | T: b | CSeq: 2 BYE | B: z9hG4bK-8";
    let of_callee = "BYE sip:alice@a SIP/2.0 | F: b | T: a | CSeq: 7 BYE | B: z9hG4bK-8";
    for (bye, side) in [(of_caller, Side::Caller), (of_callee, Side::Callee)] {
        for lines in [
            &[ok, bye, invite][..],
            &[bye, invite],
            &[bye, invite, ok],
            &[ok, invite, bye],
        ] {
            let timed = (0..).zip(lines);
            let timed: Vec<String> = timed.map(|(time, line)| format!("{time} {line}")).collect();
            let timed: Vec<&str> = timed.iter().map(String::as_str).collect();
            let call = call(&timed);
            let told = (call.state, call.ended_by, call.messages);
            let wanted = (CallState::Completed, Some(side), lines.len() as u64);
            assert_eq!(told, wanted, "{lines:?}");
            let parties = [&call.caller, &call.callee].map(|party| party.tag.as_deref());
            assert_eq!(parties, [Some(&b"a"[..]), Some(b"b")], "{lines:?}");
            assert_eq!(call.flow.unwrap().src.port(), 1, "{lines:?}");
            assert!(call.start_ns.is_some(), "{lines:?}");
        }
    }
    // A higher number is that of another call.
    let other = "9 INVITE sip:bob@b SIP/2.0 | CSeq: 3 INVITE | B: z9hG4bK-9";
    let reported: Vec<ReportCause> = calls(&[&format!("0 {of_caller}"), other])
        .iter()
        .map(|call| call.reported)
        .collect();
    assert_eq!(reported, [ReportCause::Reused, ReportCause::InputEnded]);
}
