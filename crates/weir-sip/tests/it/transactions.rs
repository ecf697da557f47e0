//! Tests of the transactions of messages (RFC 3261 §17), and of retransmissions.

use std::net::SocketAddr;

use weir_sip::{Digest, Flow, Limits, Message, Transactions};

const SECOND_NS: i64 = 1_000_000_000;

/// A message of a line, its topmost Via, its CSeq and its To tag.
fn message(start: &str, via: &str, cseq: &str, to_tag: &str) -> String {
    let tag = match to_tag {
        "" => String::new(),
        tag => format!(";tag={tag}"),
    };
    format!(
        "{start}\r\nVia: SIP/2.0/UDP {via}\r\nVia: SIP/2.0/UDP below;branch=z9hG4bK-below\r\n\
         From: <sip:alice@a>;tag=a\r\nTo: <sip:bob@b>{tag}\r\nCall-ID: call@h\r\nCSeq: {cseq}\r\n\
         Content-Length: 0\r\n\r\n"
    )
}

/// Whether two messages are of one transaction.
fn are_one(one: &str, other: &str) -> bool {
    let parse = |text: &'_ str| -> String {
        let message = Message::parse(text.as_bytes(), &Limits::default()).unwrap();
        format!("{:?}", Digest::of(&message).transaction().unwrap())
    };
    parse(one) == parse(other)
}

const INVITE: &str = "INVITE sip:bob@b SIP/2.0";
const CANCEL: &str = "CANCEL sip:bob@b SIP/2.0";
const ACK: &str = "ACK sip:bob@b SIP/2.0";
const OK: &str = "SIP/2.0 200 OK";
const BUSY: &str = "SIP/2.0 486 Busy Here";

/// RFC 3261 §17.1.3: a response is of the request with the same branch in the topmost Via and the same method
/// in CSeq, whatever was added to Via on the way.
#[test]
fn section_17_1_3_responses_find_their_request() {
    let invite = message(INVITE, "h:5060;branch=z9hG4bK-1", "1 INVITE", "");
    let via = "h:5060;received=10.0.0.1;rport=9;branch=z9hG4bK-1";
    assert!(are_one(&invite, &message(OK, via, "1 INVITE", "b")));
    assert!(are_one(&invite, &message(BUSY, via, "1 INVITE", "c")));
    // "since a request with CANCEL method constitutes a different transaction, yet shares the same value of
    // the branch parameter".
    assert!(!are_one(&invite, &message(OK, via, "1 CANCEL", "b")));
    let other = "h:5060;branch=z9hG4bK-2";
    assert!(!are_one(&invite, &message(OK, other, "1 INVITE", "b")));
}

/// RFC 3261 §17.2.3: the sent-by value is compared too, "as there could be accidental or malicious duplication
/// of branch parameters from different clients"; and the ACK of a failure is of its INVITE (§17.1.1.3).
#[test]
fn section_17_2_3_requests_find_their_transaction() {
    let via = "h:5060;branch=z9hG4bK-1";
    let invite = message(INVITE, via, "1 INVITE", "");
    assert!(are_one(&invite, &invite.clone()));
    assert!(are_one(&invite, &message(ACK, via, "1 ACK", "c")));
    for other in ["g:5060;branch=z9hG4bK-1", "h:5070;branch=z9hG4bK-1"] {
        assert!(!are_one(&invite, &message(INVITE, other, "1 INVITE", "")));
    }
    // §9.1: the branch of the request that it cancels, and a transaction of its own.
    let cancel = message(CANCEL, via, "1 CANCEL", "");
    assert!(!are_one(&invite, &cancel));
    assert!(are_one(&cancel, &message(OK, via, "1 CANCEL", "x")));
    // §13.2.2.4: the ACK of a success has a branch of its own.
    let ack = message(ACK, "h:5060;branch=z9hG4bK-2", "1 ACK", "b");
    assert!(!are_one(&invite, &ack));
}

/// RFC 3261 §17.2.3, for clients of RFC 2543: without the magic cookie the branch names no transaction.
/// From tag, Call-ID, CSeq and the topmost Via do.
#[test]
fn section_17_2_3_without_the_cookie() {
    let via = "h:5060;branch=1";
    let invite = message(INVITE, via, "1 INVITE", "");
    assert!(are_one(&invite, &message(OK, via, "1 INVITE", "b")));
    assert!(are_one(&invite, &message(ACK, via, "1 ACK", "b")));
    assert!(are_one(
        &message(INVITE, "h", "1 INVITE", ""),
        &message(OK, "h;received=10.0.0.1", "1 INVITE", "b")
    ));
    for (via, cseq) in [
        (via, "2 INVITE"),
        ("g:5060;branch=1", "1 INVITE"),
        // Until 2026-11 the forks of a proxy of RFC 2543 were one transaction.
        ("h:5060;branch=2", "1 INVITE"),
    ] {
        assert!(!are_one(&invite, &message(INVITE, via, cseq, "")), "{via}");
    }
    let another_call = invite.replace("call@h", "other@h");
    assert!(!are_one(&invite, &another_call));
    let another_caller = invite.replace("<sip:alice@a>;tag=a", "<sip:alice@a>;tag=x");
    assert!(!are_one(&invite, &another_caller));
}

/// Plays messages at seconds, from port to port; true for each that repeats one.
fn repeats(messages: &[(f64, &str, [u16; 2])]) -> Vec<bool> {
    let mut transactions = Transactions::default();
    let socket = |port: u16| SocketAddr::from(([10, 0, 0, 1], port));
    messages
        .iter()
        .map(|(second, text, [src, dst])| {
            let message = Message::parse(text.as_bytes(), &Limits::default()).unwrap();
            let flow = Flow {
                src: socket(*src),
                dst: socket(*dst),
                number: None,
            };
            let time_ns = (second * SECOND_NS as f64) as i64;
            transactions.is_repeat(time_ns, Some(flow), &Digest::of(&message))
        })
        .collect()
}

/// RFC 3261 §17.1.1.2: timer A sends the INVITE again after T1, 2·T1, 4·T1…, until timer B ends that after 64·T1, 32
/// seconds. A later request is another transaction.
#[test]
fn section_17_1_1_2_an_invite_is_sent_again_for_32_seconds() {
    let invite = message(INVITE, "h;branch=z9hG4bK-1", "1 INVITE", "");
    let way = [1, 2];
    let times = [0.0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 32.5];
    let found = repeats(&times.map(|second| (second, invite.as_str(), way)));
    assert_eq!(found, [false, true, true, true, true, true, true, false]);
}

/// RFC 3261 §17.2.1: timer G sends a failure again; the ACK for each copy is a copy too (§17.1.1.3). A response
/// with another status, or of another fork, repeats nothing.
#[test]
fn section_17_2_1_a_failure_is_sent_again_until_its_ack() {
    let via = "h;branch=z9hG4bK-1";
    let busy = message(BUSY, via, "1 INVITE", "b");
    let of_another_fork = message(BUSY, via, "1 INVITE", "c");
    let ringing = message("SIP/2.0 180 Ringing", via, "1 INVITE", "b");
    let ack = message(ACK, via, "1 ACK", "b");
    let found = repeats(&[
        (0.0, &ringing, [2, 1]),
        (1.0, &busy, [2, 1]),
        (1.1, &ack, [1, 2]),
        (1.5, &busy, [2, 1]),
        (1.6, &ack, [1, 2]),
        (2.0, &of_another_fork, [2, 1]),
    ]);
    assert_eq!(found, [false, false, false, true, true, false]);
}

/// RFC 3261 §17.1.2.2 and §17.2.2: requests other than INVITE are sent again by timer E, and each copy gets a copy
/// of the response.
#[test]
fn section_17_2_2_a_request_and_its_response_are_sent_again() {
    let via = "h;branch=z9hG4bK-3";
    let bye = message("BYE sip:bob@b SIP/2.0", via, "2 BYE", "b");
    let ok = message(OK, via, "2 BYE", "b");
    let found = repeats(&[
        (0.0, &bye, [1, 2]),
        (0.5, &bye, [1, 2]),
        (0.6, &ok, [2, 1]),
        (0.7, &ok, [2, 1]),
    ]);
    assert_eq!(found, [false, true, false, true]);
}

/// RFC 3261 §16.6: a proxy that hands a message on makes a transaction of its own; a capture that has both
/// sides of it shows no copies.
#[test]
fn section_16_6_what_a_proxy_hands_on_is_no_copy() {
    let invite = message(INVITE, "h;branch=z9hG4bK-1", "1 INVITE", "");
    let handed_on = message(INVITE, "proxy;branch=z9hG4bK-7", "1 INVITE", "");
    let found = repeats(&[
        (0.0, &invite, [1, 2]),
        (0.1, &handed_on, [2, 3]),
        // The same bytes between other sockets, as a proxy that keeps no state may send them.
        (0.2, &invite, [2, 4]),
    ]);
    assert_eq!(found, [false, false, false]);
}

/// RFC 3261 §8.1.1.7: a branch is unique, but some clients have one for all requests, whose CSeq goes on (§12.2.1.1).
#[test]
fn section_8_1_1_7_another_request_with_the_same_branch_was_a_copy() {
    let via = "h;branch=z9hG4bK-1";
    let options = |cseq: &str| message("OPTIONS sip:bob@b SIP/2.0", via, cseq, "");
    let ok = |cseq: &str| message(OK, via, cseq, "b");
    let found = repeats(&[
        (0.0, &options("1 OPTIONS"), [1, 2]),
        (0.1, &ok("1 OPTIONS"), [2, 1]),
        (10.0, &options("2 OPTIONS"), [1, 2]),
        (10.1, &ok("2 OPTIONS"), [2, 1]),
        (10.5, &options("2 OPTIONS"), [1, 2]),
    ]);
    assert_eq!(found, [false, false, false, false, true]);
}

/// The number of stored transactions is limited, and messages beyond it are counted.
#[test]
fn what_is_remembered_is_bounded_and_expires() {
    let mut transactions = Transactions::new(2);
    let mut play = |second: i64, number: u32| {
        let text = message(
            INVITE,
            &format!("h;branch=z9hG4bK-{number}"),
            "1 INVITE",
            "",
        );
        let message = Message::parse(text.as_bytes(), &Limits::default()).unwrap();
        let repeats = transactions.is_repeat(second * SECOND_NS, None, &Digest::of(&message));
        (repeats, transactions.not_followed())
    };
    assert_eq!(play(0, 1), (false, 0));
    assert_eq!(play(0, 2), (false, 0));
    assert_eq!(play(0, 3), (false, 1));
    assert_eq!(play(0, 3), (false, 2));
    assert_eq!(play(1, 2), (true, 2));
    // Half a minute later there is room again.
    for second in 33..40 {
        play(second, 4);
    }
    assert_eq!(play(40, 4), (true, 2));
}
