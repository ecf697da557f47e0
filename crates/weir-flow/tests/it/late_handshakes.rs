//! Handshakes whose packets were captured behind what follows them, as where two taps are merged: nothing of their connections is missing,
//! and each is one flow.

use weir_flow::{FlowRecord, Options};

use crate::capture;
use crate::untidy::{check, segments};

/// The only flow of these lines.
#[track_caller]
fn only(lines: &str) -> FlowRecord {
    let mut flows = capture::flows(&segments(lines), Options::default());
    assert_eq!(flows.len(), 1, "{flows:#?}");
    flows.remove(0)
}

/// The number of the SYN was taken for none.
#[test]
fn an_answer_before_a_syn_with_the_number_0_is_of_its_connection() {
    let flow = only("0 < SA 0 -999\n 1 > S -1000 0\n 2 > A -999 1 GET\n 3 < A 1 -996 OK");
    assert_eq!((flow.sent.stream_bytes, flow.received.stream_bytes), (3, 2));
    assert_eq!(flow.sent.missed_bytes + flow.received.missed_bytes, 0);
}

/// The client, or both, had closed already, and the SYN began another flow.
#[test]
fn a_syn_behind_all_that_its_side_sent_is_of_its_connection() {
    let begin = "0 < SA 0 1\n 1 > A 1 1 all\n 2 < A 1 4";
    let ends = [
        "3 > FA 4 1\n 4 > S 0 0\n 5 < FA 1 5\n 6 > A 5 2",
        "3 < FA 1 4\n 4 > FA 4 2\n 5 > S 0 0\n 6 < A 2 5",
    ];
    for end in ends {
        let flow = only(&format!("{begin}\n {end}"));
        assert_eq!((flow.sent.stream_bytes, flow.received.stream_bytes), (3, 0));
        assert_eq!(flow.sent.missed_bytes + flow.received.missed_bytes, 0);
    }
}

/// The acknowledgment of the client's FIN was captured before the SYN ACK, and was taken for the answer that the client confirms: the
/// connection began with the FIN then, which was missed.
#[test]
fn an_acknowledgment_before_the_answer_is_none() {
    let flow = only(
        "
        0 > S 0 0
        1 > A 1 1
        2 > A 1 1 abc
        3 < A 1 5
        4 < SA 0 1
        5 < FA 1 5
        6 > A 5 2
        7 > FA 4 1",
    );
    assert_eq!((flow.sent.stream_bytes, flow.received.stream_bytes), (3, 0));
    assert_eq!(flow.sent.missed_bytes + flow.received.missed_bytes, 0);
}

/// Octets that were acknowledged before the SYN ACK and came behind it were missed, as the SYN ACK began their numbers anew.
#[test]
fn data_behind_an_answer_are_not_missed_though_they_were_acknowledged_before_it() {
    let flow = only(
        "
        0 > S 0 0
        1 > A 1 1
        2 < A 1 1
        3 > A 1 6
        4 < SA 0 1
        5 < A 1 1 hello
        6 > A 1 6",
    );
    assert_eq!((flow.sent.stream_bytes, flow.received.stream_bytes), (0, 5));
    assert_eq!(flow.sent.missed_bytes + flow.received.missed_bytes, 0);
}

/// The server's numbers begin 9 before 2^32. Its flow had no octets, and those in front of the first captured ones were not missed.
#[test]
fn an_answer_behind_data_begins_before_the_wrap() {
    let lines = "0 > S 0 0\n 1 < A -4983 1 later\n 2 > A 1 -4978\n 3 < SA -5009 1";
    let flow = only(lines);
    assert_eq!(flow.received.stream_bytes, 30);
    assert_eq!(flow.received.missed_bytes, 25);
    let flow = only(&format!(
        "{lines}\n 4 < A -5008 1 abcdefghijklmnopqrstuvwxy"
    ));
    assert_eq!(flow.received.stream_bytes, 30);
    assert_eq!(flow.received.missed_bytes, 0);
}

#[test]
fn data_before_other_data_are_not_missed_though_the_answer_comes_last() {
    let lines = "0 > S 0 0\n 1 < A 4 1 def\n 2 < A 1 1 abc\n 3 < SA 0 1";
    for lines in [lines, &format!("{lines}\n 4 > A 1 7")] {
        let flow = only(lines);
        assert_eq!(flow.received.stream_bytes, 6, "{lines}");
        assert_eq!(flow.received.missed_bytes, 0, "{lines}");
    }
}

/// The stream began with the number of the FIN, and had nothing of what came before it.
#[test]
fn a_fin_that_was_captured_first_is_the_end_of_its_stream() {
    let lines = "
        0 > S 0 0
        1 > A 1 1
        2 < FA 5 1
        3 > A 1 6
        4 < A 3 1 cd
        5 > FA 1 6
        6 < SA 0 1
        7 < A 1 1 ab";
    check(lines, &[("SF", 0, "", "abcd")]);
}

/// A FIN that acknowledged what was captured behind it was taken for that of another connection, and the answer began a flow.
#[test]
fn a_fin_before_what_it_acknowledges_is_of_its_connection() {
    let flow = only(
        "
        0 > S 0 0
        1 > A 1 1
        2 > A 1 1 v
        3 < FA 1 6
        4 > A 6 2
        5 > FA 2 1 bye
        6 < A 1 2
        7 < SA 0 1",
    );
    assert_eq!((flow.sent.stream_bytes, flow.received.stream_bytes), (4, 0));
    assert_eq!(flow.sent.missed_bytes + flow.received.missed_bytes, 0);
}
