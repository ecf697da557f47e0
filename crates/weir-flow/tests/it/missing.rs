//! Octets of TCP that were not captured, counted by hand: those that were acknowledged, and those before others that were
//! seen, in whatever state the connection is.

use weir_flow::{FlowRecord, Options};

use crate::untidy::check;

const HANDSHAKE: &str = "
    0 > S  0 0
    1 < SA 0 1
    2 > A  1 1";

/// Checks the missing bytes and the streams of a connection with these lines after its handshake.
#[track_caller]
fn established(lines: &str, missed: u64, there: &str, back: &str) -> Vec<FlowRecord> {
    let lines = format!("{HANDSHAKE}\n {lines}");
    let state = if lines.contains("FA") { "S2" } else { "S1" };
    check(&lines, &[(state, missed, there, back)]);
    crate::capture::flows(&crate::untidy::segments(&lines), Options::default())
}

#[test]
fn octets_are_missed_where_the_answer_to_the_syn_was_not_captured() {
    // Three octets behind OK are acknowledged.
    let lines = "
        0 > S 0 0
        2 > A 1 1 GET
        3 < A 1 4 OK
        5 > A 4 6";
    check(lines, &[("OTH", 3, "GET", "OK")]);
    // The first two of the answer, and they come at last.
    let lines = "
        0 > S 0 0
        2 > A 1 1 GET
        3 < A 3 4 cd
        5 > A 4 5";
    assert_eq!(missed_of(lines), 2);
    assert_eq!(missed_of(&format!("{lines}\n 6 < A 1 4 ab")), 0);
    // The numbers of the server are known by acknowledgments without data, and its answer is lost as well.
    let begun = "0 > S 0 0\n 1 > A 1 1 GET\n 2 < A 1 4";
    let end = "4 > FA 4 11\n 5 < FA 11 5\n 6 > A 5 12";
    assert_eq!(missed_of(&format!("{begun}\n 3 > A 4 11\n {end}")), 10);
    assert_eq!(missed_of(&format!("{begun}\n 3 < A 11 4\n {end}")), 10);
    // An acknowledgment without data shows what its sender had sent.
    let lines = "
        0 > S 0 0
        2 > A 1 1 GET
        3 < A 5 4
        5 > A 4 5";
    check(lines, &[("S0", 4, "GET", "")]);
}

#[test]
fn octets_are_missed_of_a_connection_that_began_before_the_capture() {
    let begun = "
        0 > A 1 1 GET
        1 < A 1 4 OK";
    check(begun, &[("OTH", 0, "GET", "OK")]);
    check(&format!("{begun}\n 2 > A 4 8"), &[("OTH", 5, "GET", "OK")]);
    check(
        &format!("{begun}\n 2 < A 5 4 ef\n 3 > A 4 7"),
        &[("OTH", 2, "GET", "OK[2]ef")],
    );
    check(
        &format!("{begun}\n 2 > A 4 7\n 3 < A 3 4 cdef"),
        &[("OTH", 0, "GET", "OKcdef")],
    );
    // Octets before the first captured ones do not count.
    assert_eq!(missed_of("0 > A 100 1\n 1 < A 1 90\n 2 < A 1 100 OK"), 0);
}

#[test]
fn octets_before_others_are_missed_though_they_were_not_acknowledged() {
    established("3 > A 1 1 ab\n 4 > A 5 1 ef", 2, "ab[2]ef", "");
    established(
        "3 > A 1 1 ab\n 4 > A 5 1 ef\n 5 > A 3 1 cd",
        0,
        "abcdef",
        "",
    );
    let lines = "3 > A 1 1 ab\n 4 > FA 5 1";
    check(&format!("{HANDSHAKE}\n {lines}"), &[("S2", 2, "ab[2]", "")]);
    // A number shows as much as octets do.
    established("3 < A 101 1", 100, "", "");
    established("3 < A 101 1\n 4 > A 1 101", 100, "", "");
    established("3 < A 4 1\n 4 < A 1 1 abc\n 5 > A 1 4", 0, "", "abc");
    // A window that is probed (RFC 9293, 3.8.6.1) and a keep-alive (RFC 9293, 3.8.4) show nothing.
    established(
        "3 > A 1 1 ab\n 4 < A 1 3\n 5 > A 2 1\n 6 > A 3 1 c",
        0,
        "abc",
        "",
    );
}

/// The first number of the server is the highest one, so that its first octet has the number 0.
#[test]
fn nothing_is_missed_of_numbers_that_begin_right_before_0() {
    let lines = "
        0 > S  0 0
        1 < SA -5001 1
        2 > A  1 -5000
        3 > A  1 -5000 GET
        4 < A  -4998 4 cd
        5 < A  -5000 4 ab
        6 > A  4 -4996";
    check(lines, &[("S1", 0, "GET", "abcd")]);
    // The same of a connection whose beginning was not captured.
    let lines = "
        0 > A 1 -5000 GET
        1 < A -5000 4 ab
        2 < A -4996 4 ef
        3 < A -4998 4 cd
        4 > A 4 -4994";
    check(lines, &[("OTH", 0, "GET", "abcdef")]);
}

#[test]
fn all_holes_count_however_many_there_are() {
    // Every other octet of thirteen.
    let odd: String = (0..7)
        .map(|at| format!("{} > A {} 1 x\n", 3 + at, 1 + 2 * at))
        .collect();
    established(&odd, 6, "x[1]x[1]x[1]x[1]x[1]x[1]x", "");
    established(
        &format!("{odd} 11 < A 1 14"),
        6,
        "x[1]x[1]x[1]x[1]x[1]x[1]x",
        "",
    );
    let even: String = (0..6)
        .map(|at| format!("{} > A {} 1 y\n", 10 + at, 2 + 2 * at))
        .collect();
    established(&format!("{odd} {even}"), 0, "xyxyxyxyxyxyx", "");
    // Three holes beside a large one, of which the middle comes.
    let lines = "
        3 > A 1  1 a
        4 > A 12 1 b
        5 > A 14 1 b
        6 > A 16 1 b
        7 > A 18 1 b
        8 > A 5  1 cc";
    established(lines, 11, "a[3]cc[5]b[1]b[1]b[1]b", "");
}

#[test]
fn a_direction_that_was_not_captured_is_missed_as_far_as_it_was_acknowledged() {
    let lines = "
        0 > S 0 0
        1 > A 1 1 ONE
        2 > A 4 4 TWO";
    check(lines, &[("S0", 3, "ONETWO", "")]);
    // The first acknowledgment shows the start of a connection that was captured from its middle.
    let begun = "
        1 > A 1 101 ONE
        2 > A 4 104 TWO";
    check(begun, &[("OTH", 3, "ONETWO", "")]);
    // The missing direction appears later in the capture.
    let later = "3 < A 4 7 def\n 4 > A 7 7";
    assert_eq!(missed_of(&format!("{lines}\n {later}")), 3);
    let later = "3 < A 104 7 def\n 4 > A 7 107";
    assert_eq!(missed_of(&format!("{begun}\n {later}")), 3);
    // All of it comes later, as captures may have it.
    let late = "3 < SA 0 1\n 3 < A 1 4 abc\n 4 > A 7 4";
    assert_eq!(missed_of(&format!("{lines}\n {late}")), 0);
    let late = "3 < A 101 4 abc\n 4 > A 7 104";
    assert_eq!(missed_of(&format!("{begun}\n {late}")), 0);
    // All of it comes later, in another order; the numbers may come by 0.
    for first in [101, -5_001] {
        let [second, third] = [first + 3, first + 6];
        let lines = format!(
            "1 > A 1 {first} ONE
             2 > A 4 {second} TWO
             3 > A 7 {third} END
             4 < A {third} 10 ghi
             5 < A {second} 10 def"
        );
        assert_eq!(missed_of(&lines), 3, "{first}");
        let lines = format!("{lines}\n 6 < A {first} 10 abc");
        let flows = crate::capture::flows(&crate::untidy::segments(&lines), Options::default());
        let received = &flows[0].received;
        let found = (received.missed_bytes, received.stream_bytes);
        assert_eq!((found, received.out_of_order), ((0, 9), 2), "{first}");
    }
    // An older acknowledgment has no effect.
    let older = "3 > A 1 1 ONE";
    check(&format!("{lines}\n {older}"), &[("S0", 3, "ONETWO", "")]);
}

#[test]
fn acknowledgments_that_cannot_be_the_receivers_count_nothing() {
    let begun = "
        0 > A 1 1 GET
        1 < A 1 4 OK";
    let rest = "
        4 > A 4 3
        5 < A 3 4 cd
        6 > A 4 5";
    for forged in [
        // Numbers of another connection.
        "2 < A -900000000 700000",
        "2 < A -5000000 700",
        // The receiver cannot have been sent so much in the meantime.
        "2 < A 3 90000000",
        // A reset, behind which data count no more.
        "2 < R 3 700",
    ] {
        let missed = missed_of(&format!("{begun}\n {forged}\n {rest}"));
        assert_eq!(missed, 0, "{forged}");
    }
    for forged in ["2 > A 4 90000000", "2 > A -5000000 700"] {
        let lines = format!("0 > S 0 0\n 1 > A 1 1 GET\n {forged}\n 3 > A 4 3");
        assert_eq!(missed_of(&lines), 2, "{forged}");
    }
}

/// RFC 9293, 3.10.7.4: an acknowledgment of what was not sent yet is answered with the number that is sent next, and dropped.
#[test]
fn what_its_sender_had_not_sent_was_missed_once_it_was_acknowledged() {
    for ahead in [4, 503, 16_777_300, 90_000_000] {
        let forged = format!("3 > A 1 1 ab\n 4 < A 1 {ahead}");
        established(&format!("{forged}\n 5 > A 3 1"), 0, "ab", "");
        established(&format!("{forged}\n 5 > FA 3 1"), 0, "ab", "");
        let goes_on = format!("{forged}\n 5 > A 3 1 cd\n 6 < A 1 5");
        let flows = established(&goes_on, 0, "abcd", "");
        assert_eq!(flows[0].sent.stream_bytes, 4, "{ahead}");
        // Again and again, as the receiver that claims more than it has.
        let claims = format!("{goes_on}\n 7 < A 1 {ahead}9\n 8 > A 5 1 ef\n 9 < A 1 7");
        established(&claims, 0, "abcdef", "");
    }
}

#[test]
fn what_was_acknowledged_behind_all_that_was_seen_is_missed_unless_its_sender_shows_otherwise() {
    let begun = "3 > A 1 1 ab\n 4 < A 1 7";
    established(begun, 4, "ab", "");
    established(&format!("{begun}\n 5 > A 7 1 gh"), 4, "ab[4]gh", "");
    established(&format!("{begun}\n 5 > A 7 1"), 4, "ab", "");
    // Part of it comes, and nothing of what its sender sends from then on is of before.
    established(
        &format!("{begun}\n 5 > A 4 1 d\n 6 > A 7 1 g"),
        3,
        "ab[1]d[2]g",
        "",
    );
    // Segments that were sent before the acknowledgment were captured behind it.
    let late = format!("{begun}\n 5 > A 3 1");
    established(&late, 0, "ab", "");
    established(&format!("{late}\n 6 > A 7 1 gh"), 4, "ab[4]gh", "");
    established(&format!("{late}\n 6 < A 1 7"), 4, "ab", "");
    // Neither an older number nor a reset shows what was sent.
    established(&format!("{begun}\n 5 > A 1 1 ab"), 4, "ab", "");
    established(&format!("{begun}\n 5 > A 2 1"), 4, "ab", "");
}

/// RFC 9293, 3.4: a FIN has a number. A segment behind it that was captured before it left a hole that nothing filled.
#[test]
fn a_fin_that_was_overtaken_is_not_missed() {
    for (lines, ack) in [
        ("4 > A 4 1\n 5 > FA 3 1", 4),
        ("4 > A 6 1\n 5 > FA 3 1 cd", 6),
    ] {
        let lines = format!("{HANDSHAKE}\n 3 > A 1 1 ab\n {lines}");
        assert_eq!(missed_of(&lines), 0, "{lines}");
        let acknowledged = format!("{lines}\n 6 < A 1 {ack}");
        assert_eq!(missed_of(&acknowledged), 0, "{lines}");
    }
    // One that did not come cannot be told from an octet.
    assert_eq!(
        missed_of(&format!("{HANDSHAKE}\n 3 > A 1 1 ab\n 4 > A 4 1")),
        1
    );
}

/// The octets that are missed of all flows.
fn missed_of(lines: &str) -> u64 {
    let flows = crate::capture::flows(&crate::untidy::segments(lines), Options::default());
    let missed = flows
        .iter()
        .map(|flow| flow.sent.missed_bytes + flow.received.missed_bytes);
    missed.sum()
}
