//! Connections on the ports of one that is open, whose SYNs were not captured, and segments that look as if they were of such a one.

use crate::untidy::{check, segments};

/// A connection that is open.
const OPEN: &str = "
    0 > S  0 0
    1 < SA 0 1
    2 > A  1 1
    3 > A  1 1 GET
    4 < A  1 4 OK
    5 > A  4 3";

const SEEN: (&str, u64, &str, &str) = ("S1", 0, "GET", "OK");

/// Numbers of other connections: ahead of those of the open one, behind them, and either.
const OTHERS: [[i64; 2]; 4] = [
    [1_500_000_000, 1_400_000_000],
    [-900_000_000, -800_000_000],
    [-900_000_000, 800_000_000],
    [900_000_000, -800_000_000],
];

/// Where the numbers were behind those of the open connection, nothing of the other one was read, and nothing said so; where they were
/// ahead, all in between was missing.
#[test]
fn a_connection_without_its_beginning_may_replace_an_open_one() {
    for [there, back] in OTHERS {
        let [behind, answered] = [there + 4, back + 3];
        let all = format!(
            "1000 > A {there}  {back}     NEXT
             1001 < A {back}   {behind}   YES
             1002 > A {behind} {answered} MORE"
        );
        let both = [SEEN, ("OTH", 0, "NEXTMORE", "YES")];
        let numbers = check(&format!("{OPEN}\n {all}"), &both);
        assert_eq!(numbers, [1, 1, 1, 1, 1, 1, 2, 2, 2]);
        // The acknowledgment that ends its handshake was captured.
        let opened = format!("999 > A {there} {back}\n {all}");
        check(&format!("{OPEN}\n {opened}"), &both);
        // One direction of it was not captured.
        let one = format!("1000 > A {there} {back} NEXT\n 1001 > A {behind} {answered} MORE");
        let missed = ("OTH", 3, "NEXTMORE", "");
        check(&format!("{OPEN}\n {one}"), &[SEEN, missed]);
        // The open one has closed its side.
        let half = format!("{OPEN}\n 6 > FA 4 3\n 7 < A 3 5\n {all}");
        check(&half, &[("S2", 0, "GET", "OK"), both[1]]);
        // The one before it was a SYN without an answer.
        let attempt = ("S0", 0, "", "");
        check(&format!("0 > S 0 0\n {all}"), &[attempt, both[1]]);
    }
}

/// A segment that is forged, or of a connection of long ago, ends nothing and moves nothing.
#[test]
fn a_segment_of_another_connection_leaves_the_open_one_as_it_is() {
    for [there, back] in OTHERS {
        let forged = format!("6 > A {there} {back} FORGED");
        let rest = "7 > A 4 3 MORE\n 8 < A 3 8 FINE\n 9 > A 8 7";
        let both = [("S1", 0, "GETMORE", "OKFINE"), ("OTH", 0, "FORGED", "")];
        check(&format!("{OPEN}\n {forged}\n {rest}"), &both);
        // It was captured twice.
        check(&format!("{OPEN}\n {forged}\n {forged}\n {rest}"), &both);
        // It comes before the answer to the SYN.
        let handshake = "0 > S 0 0\n 1 > A";
        let rest = "2 < SA 0 1\n 3 > A 1 1 GET\n 4 < A 1 4 OK";
        let both = [SEEN, both[1]];
        let lines = format!("{handshake} {there} {back} FORGED\n {rest}");
        check(&lines, &both);
    }
}

/// Numbers of both directions that are ahead are those of the same connection, of which much was not captured at once.
#[test]
fn numbers_behind_a_long_loss_are_of_the_same_connection() {
    let lines = "
        6 > A 20000004 30000003 NEXT
        7 < A 30000003 20000008 YES
        8 > A 20000008 30000006";
    let expected = ("S1", 50_000_000, "GET[20000000]NEXT", "OK[30000000]YES");
    check(&format!("{OPEN}\n {lines}"), &[expected]);
}

/// What a flow has of its originator: octets of the stream, retransmissions, and segments that came late. The last number has the octets
/// of the streams that were left out.
fn of_originator(lines: &str) -> (u64, u32, u32, u64) {
    let packets = segments(lines);
    let flows = crate::capture::flows(&packets, weir_flow::Options::default());
    let sent = &flows[0].sent;
    let mut payloads = weir_flow::Payloads::new();
    crate::capture::decode(&packets, |packet| {
        payloads.packet(packet, &mut |_| weir_flow::Interest::Follow);
    });
    payloads.finish(&mut |_| weir_flow::Interest::Follow);
    let left_out = payloads.counters().streams.outlier_bytes;
    (
        sent.stream_bytes,
        sent.retransmissions,
        sent.out_of_order,
        left_out,
    )
}

/// One forged segment made a flow of gigabytes, of which most was missing, and the segments behind it were retransmissions.
#[test]
fn a_segment_far_ahead_counts_once_something_else_shows_that_it_was_sent() {
    for number in [20_000_000, 900_000_000, 2_000_000_000] {
        let far = format!("6 > A {number} 3 FORGED");
        let rest = "7 > A 4 3 MORE\n 8 < A 3 8 FINE\n 9 > A 8 7";
        for forged in [far.clone(), format!("{far}\n {far}")] {
            let lines = format!("{OPEN}\n {forged}\n {rest}");
            check(&lines, &[("S1", 0, "GETMORE", "OKFINE")]);
            assert_eq!(of_originator(&lines), (7, 0, 0, 6), "{number}");
        }
    }
    // The receiver acknowledges it.
    let far = format!("{OPEN}\n 6 > A 20000000 3 FAR");
    let acknowledged = format!("{far}\n 7 < A 3 20000003");
    check(
        &acknowledged,
        &[("S1", 19_999_996, "GET[19999996]FAR", "OK")],
    );
    assert_eq!(of_originator(&acknowledged), (20_000_002, 0, 0, 0));
    // Its sender goes on behind it.
    let goes_on = format!("{far}\n 7 > A 20000003 3 THER");
    check(&goes_on, &[("S1", 0, "GET[19999996]FARTHER", "OK")]);
    assert_eq!(of_originator(&goes_on), (20_000_006, 0, 0, 0));
    // Nothing more was captured.
    check(&far, &[SEEN]);
    assert_eq!(of_originator(&far), (3, 0, 0, 3));
}

/// What is sent before a reset arrives, or in spite of one that was forged, was left out without a word.
#[test]
fn bytes_behind_a_reset_are_counted() {
    let counted = |lines: &str| {
        let mut payloads = weir_flow::Payloads::new();
        crate::capture::decode(&segments(&format!("{OPEN}\n {lines}")), |packet| {
            payloads.packet(packet, &mut |_| weir_flow::Interest::Follow);
        });
        payloads.counters().streams.behind_reset_bytes
    };
    assert_eq!(counted("6 < R 3 0\n 7 > A 4 3 CROSSES"), 7);
    assert_eq!(counted("6 > R 4 0\n 7 < A 3 4 LATE\n 8 < A 7 4 R"), 5);
    // The exchange goes on.
    let goes_on = "6 < R 3 0\n 7 > A 4 3 MORE\n 8 < A 3 8 FINE";
    assert_eq!(counted(goes_on), 8);
    // Repeated segments are not new, and the reset may carry a reason (RFC 9293, 3.10.7.4).
    assert_eq!(counted("6 < R 3 0\n 7 > A 1 3 GET\n 8 < A 1 4 OK"), 0);
    assert_eq!(counted("6 < R 3 0 why\n 7 < R 3 0"), 0);
    // Another connection follows.
    assert_eq!(counted("6 < R 3 0\n 7 > S 9000 0\n 8 > A 9001 1 NEXT"), 0);
}
