//! Connections that are refused, tried again, forged at or begun twice: the flow table and the reassembly of streams say
//! the same of them.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use weir_flow::{Carried, Content, FlowRecord, Interest, Options, Payload, Payloads, Tracker};
use weir_testkit::packet::{Ipv4, Tcp, protocol, tcp_flags};

use crate::capture::{Sent, decode};

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const IP: u32 = 101;

/// Parses the segment of a line: time in ms, sender, flags, seq, ack, data without blanks. The client's numbers begin at 1,000,
/// the server's at 5,000.
pub(crate) fn segment(line: &str) -> Sent {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (time, sender, flags, seq, ack, data) = match words[..] {
        [time, sender, flags, seq, ack] => (time, sender, flags, seq, ack, ""),
        [time, sender, flags, seq, ack, data] => (time, sender, flags, seq, ack, data),
        _ => panic!("{line}"),
    };
    let bits = flags.chars().fold(0, |bits, flag| {
        bits | match flag {
            'S' => tcp_flags::SYN,
            'F' => tcp_flags::FIN,
            'R' => tcp_flags::RST,
            'A' => tcp_flags::ACK,
            _ => panic!("{flag}"),
        }
    });
    let (from, to, ports, starts) = match sender {
        ">" => (A, B, (40_000, 80), (1_000_u32, 5_000_u32)),
        _ => (B, A, (80, 40_000), (5_000, 1_000)),
    };
    let number = |word: &str, start: u32| start.wrapping_add_signed(word.parse().unwrap());
    let segment = Tcp::new(ports.0, ports.1)
        .flags(bits)
        .window(1_000)
        .numbers(number(seq, starts.0), number(ack, starts.1))
        .segment(from.into(), to.into(), data.as_bytes());
    let ip = Ipv4::new(from, to, protocol::TCP).packet(&segment);
    Sent::new(time.parse::<i64>().unwrap() * 1_000_000, IP, ip)
}

pub(crate) fn segments(lines: &str) -> Vec<Sent> {
    let lines = lines.lines().map(str::trim);
    lines.filter(|line| !line.is_empty()).map(segment).collect()
}

/// The bytes of both directions of each flow that has any, by its number, as streams give them.
fn streams(packets: &[Sent]) -> BTreeMap<u64, [String; 2]> {
    let mut all: BTreeMap<u64, [String; 2]> = BTreeMap::new();
    let mut take = |payload: &Payload<'_>| {
        if let Carried::Stream(chunk) = payload.carried {
            let text = match chunk.content {
                Content::Bytes(bytes) => std::str::from_utf8(bytes).unwrap().to_owned(),
                Content::Gap(len) => format!("[{len}]"),
                Content::End(_) => return Interest::Follow,
            };
            let sides = all.entry(payload.flow).or_default();
            sides[usize::from(!chunk.from_originator)] += &text;
        }
        Interest::Follow
    };
    let mut payloads = Payloads::new();
    decode(packets, |packet| payloads.packet(packet, &mut take));
    payloads.finish(&mut take);
    all
}

/// The flows, and the numbers of those that the packets are counted to.
fn flows(packets: &[Sent]) -> (Vec<FlowRecord>, Vec<u64>) {
    let mut tracker = Tracker::new(Options::default());
    let (mut flows, mut numbers) = (Vec::new(), Vec::new());
    decode(packets, |packet| {
        let seen = tracker.packet(packet, |flow| flows.push(flow));
        numbers.push(seen.unwrap().number);
    });
    tracker.finish(|flow| flows.push(flow));
    flows.sort_by_key(|flow| flow.number);
    (flows, numbers)
}

/// A flow: its state, the octets that are missing, and the bytes of its streams.
type Flow<'a> = (&'a str, u64, &'a str, &'a str);

#[track_caller]
pub(crate) fn check(lines: &str, expected: &[Flow<'_>]) -> Vec<u64> {
    let packets = segments(lines);
    let texts = streams(&packets);
    let (flows, numbers) = flows(&packets);
    let none = [String::new(), String::new()];
    let found: Vec<Flow<'_>> = flows
        .iter()
        .map(|flow| {
            let [there, back] = texts.get(&flow.number).unwrap_or(&none);
            let missed = flow.sent.missed_bytes + flow.received.missed_bytes;
            (flow.state.as_str(), missed, there.as_str(), back.as_str())
        })
        .collect();
    assert_eq!(found, expected, "{numbers:?} {flows:#?}");
    numbers
}

/// A request and its answer on a connection that begins with the numbers 1,000 and 5,000, and its end.
const EXCHANGE: &str = "
    2000 < SA 0 1
    2001 > A  1 1
    2002 > A  1 1 GET
    2003 < A  1 4
    2004 < A  1 4 OK
    2005 > A  4 3
    2006 > FA 4 3
    2007 < FA 3 5
    2008 > A  5 4";

const SEEN: Flow<'_> = ("SF", 0, "GET", "OK");
const ATTEMPT: Flow<'_> = ("S0", 0, "", "");
const REFUSED: Flow<'_> = ("REJ", 0, "", "");

#[test]
fn a_connection_after_a_refused_attempt_is_read() {
    let once = format!("0 > S 0 0\n 1 < RA 0 1\n 500 > S 0 0\n {EXCHANGE}");
    check(&once, &[REFUSED, SEEN]);
    let twice =
        format!("0 > S 0 0\n 1 < RA 0 1\n 500 > S 0 0\n 501 < RA 0 1\n 1000 > S 0 0 {EXCHANGE}");
    assert_eq!(
        check(&twice, &[REFUSED, REFUSED, SEEN])[..5],
        [1, 1, 2, 2, 3]
    );
}

/// The SYN of the attempt that was accepted was not captured, and nothing of its connection was read.
#[test]
fn a_connection_after_a_refused_attempt_is_read_without_its_syn() {
    let missed = format!("0 > S 0 0\n 1 < RA 0 1 {EXCHANGE}");
    check(&missed, &[REFUSED, SEEN]);
    // A late segment of a reset connection begins no other one.
    let late = "0 > S 0 0\n 1 < SA 0 1\n 2 > R 1 0\n 3 < SA 0 1";
    check(late, &[("RSTO", 0, "", "")]);
}

#[test]
fn a_new_initial_number_is_a_new_connection() {
    check(
        &format!("900 > S 9000 0\n 1990 > S 0 0 {EXCHANGE}"),
        &[ATTEMPT, SEEN],
    );
    check(
        &format!("-28000 > S 9000 0\n 1990 > S 0 0 {EXCHANGE}"),
        &[ATTEMPT, SEEN],
    );
}

#[test]
fn the_answer_that_was_accepted_counts() {
    // The last one, or the first.
    check(
        &format!("0 > S 0 0\n 1 < SA 70000 1\n 999 > S 0 0 {EXCHANGE}"),
        &[SEEN],
    );
    let exchange = EXCHANGE.replacen("2001 > A  1 1", "2000 < SA 70000 1\n 2001 > A 1 1", 1);
    check(&format!("0 > S 0 0 {exchange}"), &[SEEN]);
    // A SYN with ACK that answers another SYN, or no SYN.
    check(
        &format!("0 > S 0 0\n 1 < SA 70000 -600000 {EXCHANGE}"),
        &[SEEN],
    );
    let exchange = EXCHANGE.replacen("2001 > A  1 1", "2000 < SA -9000 -600000\n 2001 > A 1 1", 1);
    check(&format!("0 > S 0 0 {exchange}"), &[SEEN]);
    // The data of the answer were captured before its acknowledgment.
    let lines = "
        0 > S  0     0
        1 < SA 0     1
        2 < SA 70000 1
        3 < A  1     1 HELLO
        4 > A  1     1
        5 > A  1     6 HI";
    check(lines, &[("S1", 0, "HI", "HELLO")]);
}

#[test]
fn a_syn_that_is_not_answered_begins_nothing() {
    // The unanswered SYN comes before the answered one, after it, or both.
    check(
        &format!("1000 > S 0 0\n 1990 > S 9000 0 {EXCHANGE}"),
        &[ATTEMPT, SEEN],
    );
    for at in ["2001 > A  1 1", "2003 < A  1 4", "2005 > A  4 3"] {
        for junk in [
            "2001 > S -70000 0",
            "2001 > S 2000000000 0",
            "2001 < S 500000 0",
        ] {
            let exchange = EXCHANGE.replacen(at, &format!("{junk}\n {at}"), 1);
            check(&format!("1000 > S 0 0 {exchange}"), &[SEEN, ATTEMPT]);
            let exchange = EXCHANGE.replacen(at, &format!("{junk}\n 2001 > S 123456 0\n {at}"), 1);
            check(
                &format!("1000 > S 0 0 {exchange}"),
                &[SEEN, ATTEMPT, ATTEMPT],
            );
        }
    }
    // The SYN is refused, although the connection continues.
    let exchange = EXCHANGE.replacen("2003", "2002 > S 9000 0\n 2002 < RA 0 9001\n 2003", 1);
    check(&format!("1000 > S 0 0 {exchange}"), &[SEEN, REFUSED]);
}

#[test]
fn a_syn_that_is_answered_begins_another_connection() {
    let first = "0 > S 7000 0\n 1 < SA 7000 7001\n 2 > A 7001 7001 ONE\n 3 < A 7001 7004 TWO";
    let both = [("S1", 0, "ONE", "TWO"), SEEN];
    let numbers = check(&format!("{first}\n 1000 > S 0 0 {EXCHANGE}"), &both);
    assert_eq!(numbers[4..], [2; 10]);
    // The capture lacks the answer to the second SYN, and all other packets of the server.
    let lines = "0 > S 0 0\n 1 > A 1 1 ONE\n 9 > S 70000 0\n 10 > A 70001 0 TWO";
    check(lines, &[("S0", 0, "ONE", ""), ("S0", 0, "TWO", "")]);
}

/// RFC 5961, 4: a host with an old connection acknowledges its state; the reset that follows ends that connection.
#[test]
fn a_challenge_is_answered_with_a_reset_and_the_connection_tried_again() {
    let lines = format!("0 > S 0 0\n 1 < A 70000 -333\n 2 > R -333 0\n 1000 > S 0 0 {EXCHANGE}");
    check(&lines, &[("RSTOS0", 0, "", ""), SEEN]);
    let old = "0 > S 7000 0\n 1 < SA 7000 7001\n 2 > A 7001 7001 ONE";
    let lines =
        format!("{old}\n 10 > S 0 0\n 11 < A 7001 7004\n 12 > R 7004 0\n 1000 > S 0 0 {EXCHANGE}");
    let numbers = check(&lines, &[("RSTO", 0, "ONE", ""), ATTEMPT, SEEN]);
    assert_eq!(numbers[..7], [1, 1, 1, 2, 1, 1, 3]);
}

#[test]
fn syns_that_cross_are_one_connection() {
    let lines = "
        0 > S  0 0
        1 < S  0 0
        2 > SA 0 1
        3 < SA 0 1
        4 > A  1 1 GET
        5 < A  1 4
        6 < A  1 4 OK
        7 > A  4 3
        8 > FA 4 3
        9 < FA 3 5";
    check(lines, &[SEEN]);
}

/// RFC 5961, 3.2, and RFC 9293, 3.10.7.3.
#[test]
fn a_reset_counts_in_the_window_only() {
    for at in ["2002", "2004", "2005"] {
        for forged in [
            "> R 1073741825 0",
            "> R 66001 0",
            "> R -9 0",
            "< R 66001 0",
            "< R -9 0",
            "< RA 2000000000 1",
        ] {
            let exchange = EXCHANGE.replacen(at, &format!("{at} {forged}\n {at}"), 1);
            check(&format!("1000 > S 0 0 {exchange}"), &[SEEN]);
        }
    }
    // A refusal that refuses another SYN.
    check(
        &format!("1000 > S 0 0\n 1001 < RA 0 700 {EXCHANGE}"),
        &[SEEN],
    );
    let opened = "0 > S 0 0\n 1 < SA 0 1\n 2 > A 1 1 GET\n 3 < A 1 4";
    for (reset, state) in [
        ("> R 4 0", "RSTO"),
        ("> RA 900 1", "RSTO"),
        ("< R 1 0", "RSTR"),
    ] {
        check(
            &format!("{opened}\n 4 {reset}\n 5 < A 1 4 LATE"),
            &[(state, 0, "GET", "")],
        );
    }
}

/// A flow table ends an attempt after 5 s; streams do so, too.
/// A FIN outside of the window ended the stream (of one before, data that followed were not read; of one far ahead, a gap of
/// hundreds of megabytes was).
#[test]
fn a_fin_counts_in_the_window_only() {
    let with = |forged: &str| {
        let lines = format!(
            "0 > S 0 0\n 1 < SA 0 1\n 2 > A 1 1\n 3 > A 1 1 GET\n {forged}\n 5 > A 4 1 MORE\n 6 < A 1 8 OK
             7 > FA 8 3\n 8 < FA 3 9\n 9 > A 9 4"
        );
        streams(&segments(&lines)).remove(&1)
    };
    let expected = ["GETMORE".to_owned(), "OK".to_owned()];
    for forged in [
        "4 > FA 1 1",
        "4 > FA -9000 1",
        "4 > FA 900000000 1",
        "4 < FA -5 4",
        "4 < FA 900000000 4",
        // Data far ahead are not waited for once the stream has ended.
        "4 > A 900000000 1 FORGED",
        "4 < A 900000000 4 FORGED",
    ] {
        assert_eq!(with(forged), Some(expected.clone()), "{forged}");
    }
    // The end behind a long loss is acknowledged.
    let lost =
        "0 > S 0 0\n 1 < SA 0 1\n 2 > A 1 1\n 3 > A 1 1 GET\n 4 > FA 20000000 1\n 5 < A 1 20000001";
    let text = streams(&segments(lost)).remove(&1);
    assert_eq!(text, Some(["GET[19999996]".to_owned(), String::new()]));
}

#[test]
fn an_answer_that_comes_late_is_of_the_same_flow_everywhere() {
    let numbers = check(&format!("-5000 > S 0 0 {EXCHANGE}"), &[ATTEMPT, SEEN]);
    assert_eq!(numbers[..2], [1, 2]);
}

#[test]
fn segments_that_are_repeated_after_the_end_are_not_read_again() {
    let repeated = "9000 > A 1 1 GET\n 9001 < A 1 4 OK\n 9002 < FA 3 5";
    let packets = segments(&format!("1000 > S 0 0 {EXCHANGE}\n {repeated}"));
    let texts = streams(&packets);
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert_eq!(texts[&1], ["GET", "OK"]);
}

/// Nothing of a connection was read whose SYNs were not captured, on the ports of one that had just ended.
#[test]
fn a_connection_without_its_beginning_may_follow_another() {
    let next = "2500 > A 900000000 800000000 NEXT\n 2501 < A 800000000 900000004 YES";
    let both = [SEEN, ("OTH", 0, "NEXT", "YES")];
    check(&format!("0 > S 0 0 {EXCHANGE}\n {next}"), &both);
    // Only its first SYN was not captured.
    let answered = "2500 < SA 90000000 70000001\n 2501 > A 70000001 90000001 NEXT\n 2502 < A 90000001 70000005 YES";
    let packets = segments(&format!("0 > S 0 0 {EXCHANGE}\n {answered}"));
    assert_eq!(streams(&packets)[&2], ["NEXT", "YES"]);
    assert_eq!(flows(&packets).0.len(), 2);
    // An answer that is repeated begins nothing.
    let repeated = "2500 < SA 0 1";
    check(&format!("0 > S 0 0 {EXCHANGE}\n {repeated}"), &[SEEN]);
    // One number alone shows no other connection.
    let forged = "2500 > A 900000000 3 NEXT\n 2501 < A 900000000 4 YES";
    let packets = segments(&format!("0 > S 0 0 {EXCHANGE}\n {forged}"));
    assert_eq!(streams(&packets)[&1], ["GET", "OK"]);
}

/// RFC 7413: data in the SYN, taken or not.
#[test]
fn data_in_a_syn_are_not_missed() {
    let lines = "
        0 > S  0 0 GET
        1 < SA 0 4
        2 < A  1 4 OK
        3 > A  4 3";
    check(lines, &[("S1", 0, "GET", "OK")]);
    let lines = "
        0 > S  0 0 GET
        1 < SA 0 1
        2 > A  1 1 GET
        3 < SA 0 1
        4 < A  1 4 OK
        5 > A  4 3";
    check(lines, &[("S1", 0, "GET", "OK")]);
    let lines = "
        0    > S  0 0 GET
        1    < SA 70000 4
        1000 > S  0 0 GET
        1001 < SA 0 4
        1002 < A  1 4 OK
        1003 > A  4 3";
    check(lines, &[("S1", 0, "GET", "OK")]);
}

/// Captures of several hosts, and sections of a capture, have clocks of their own.
#[test]
fn a_clock_that_steps_back_begins_nothing() {
    let lines = |from: i64, step: i64| {
        let mut at = 0;
        let line = |line: &str| {
            let (time, rest) = line.trim().split_once(' ').unwrap();
            let step = if at >= from { step } else { 0 };
            at += 1;
            format!("{} {rest}\n", time.parse::<i64>().unwrap() + step)
        };
        format!("1995 > S 0 0 {EXCHANGE}")
            .lines()
            .map(line)
            .collect::<String>()
    };
    for from in 0..10 {
        for step in [-3_600_000, -20_000, -2_000, 4_000] {
            check(&lines(from, step), &[SEEN]);
        }
    }
    // Two clocks in turn.
    let lines = "
        100000 > S  0 0
        5      < SA 0 1
        100001 > A  1 1 GET
        6      < A  1 4
        107000 > A  4 1 MORE
        7001   < A  1 8 OK
        500000 > A  8 3
        400001 < A  3 8 LATE";
    let mut flows = check(
        &lines
            .replace("500000", "200000")
            .replace("400001", "100003"),
        &[("S1", 0, "GETMORE", "OKLATE")],
    );
    flows.dedup();
    assert_eq!(flows, [1]);
    // More than five minutes by either clock end a connection.
    check(lines, &[("S1", 0, "GETMORE", "OK"), ("OTH", 0, "", "LATE")]);
}

/// Captures may have an acknowledgment before what it acknowledges.
#[test]
fn what_comes_after_its_acknowledgment_is_not_missed() {
    let opened = "0 > S 0 0\n 1 < SA 0 1\n 2 > A 1 1 GET\n 3 < A 1 4";
    let exact = [("S1", 0, "GET", "abcdef")];
    check(&format!("{opened}\n 4 > A 4 7\n 5 < A 1 4 abcdef"), &exact);
    let parts = "4 < A 1 4 ab\n 5 > A 4 5\n 6 > A 4 7\n 7 < A 3 4 cd\n 8 < A 5 4 ef";
    check(&format!("{opened}\n {parts}"), &exact);
    let parts = "4 < A 5 4 ef\n 5 > A 4 7\n 6 < A 1 4 ab\n 7 < A 3 4 cd\n 8 < A 3 4 cd";
    check(&format!("{opened}\n {parts}"), &exact);
    // Octets that never came are missing.
    let parts = "4 < A 5 4 ef\n 5 > A 4 7\n 6 < A 1 4 ab";
    check(
        &format!("{opened}\n {parts}"),
        &[("S1", 2, "GET", "ab[2]ef")],
    );
}

/// Without a SYN, and without an acknowledgment before them, a stream begins with the data that were captured first.
#[test]
fn data_before_the_beginning_of_a_stream_are_counted() {
    let counted = |lines: &str| {
        let mut payloads = Payloads::new();
        decode(&segments(lines), |packet| {
            payloads.packet(packet, &mut |_| Interest::Follow);
        });
        payloads.counters().streams.before_bytes
    };
    assert_eq!(counted("0 > A 10 1 DEF\n 1 > A 7 1 ABC\n 2 > A 13 1 G"), 3);
    assert_eq!(counted("0 > A 10 1 DEF\n 1 > A 9 1 CDEFG"), 1);
    // The answer to the SYN was captured between them.
    let late = "0 > S 0 0\n 1 < A 4 1 def\n 2 < SA 0 1\n 3 < A 1 1 abc";
    assert_eq!(counted(late), 3);
    // A repeated segment, a keep-alive, and data in front of a SYN that was captured.
    assert_eq!(counted("0 > A 10 1 DEF\n 1 > A 10 1 DEF"), 0);
    assert_eq!(counted("0 > A 10 1 DEF\n 1 > A 9 1 x"), 0);
    assert_eq!(counted("0 > S 0 0\n 1 > A 1 1 ABC\n 2 > A -4 1 XXX"), 0);
}

/// The first data of a capture that begins within a connection came behind later ones, and were left out although a segment without
/// data said that they were still to come.
#[test]
fn data_behind_a_segment_without_any_are_not_before_the_stream() {
    let of = |lines: &str| streams(&segments(lines)).remove(&1);
    let sides = |there: &str, back: &str| Some([there.to_owned(), back.to_owned()]);
    let late = "0 > A 1 1\n 1 > A 4 1 DEF\n 2 < A 1 7\n 3 > A 1 1 ABC\n 4 < A 1 7 OK";
    assert_eq!(of(late), sides("ABCDEF", "OK"));
    // The other side had sent something before.
    let late = "0 < A 1 1 x\n 1 > A 1 2\n 2 > A 4 2 DEF\n 3 < A 2 7\n 4 > A 1 2 ABC\n 5 < A 2 7 OK";
    let mut found = of(late).unwrap();
    found.sort();
    assert_eq!(found, ["ABCDEF", "xOK"]);
    // The number of a keep-alive is one less than that of the next octet.
    assert_eq!(of("0 > A 0 1\n 1 > A 1 1 ABC"), sides("ABC", ""));
    // What does not come at all was sent before, or lost.
    assert_eq!(
        of("0 > A 1 1\n 1 > A 4 1 DEF\n 2 < A 1 7"),
        sides("DEF", "")
    );
}

/// Where the answer to a SYN was not captured, the stream of its sender began with the first data that were captured, and nothing said
/// that those in front of them are missing.
#[test]
fn data_behind_a_handshake_whose_answer_was_not_captured_are_missing() {
    let lost = "0 > S 0 0\n 1 > A 1 1\n 2 > A 1 1 GET\n 3 < A 5 4 ok\n 4 > A 4 7";
    let of = |lines: &str| streams(&segments(lines)).remove(&1).unwrap();
    assert_eq!(of(lost), ["GET", "[4]ok"]);
    // They come at last, or were never sent.
    let late = "0 > S 0 0\n 1 > A 1 1 GET\n 2 < A 5 4 ok\n 3 < A 1 4 late\n 4 > A 4 7";
    assert_eq!(of(late), ["GET", "lateok"]);
    let all = "0 > S 0 0\n 1 > A 1 1 GET\n 2 < A 1 4 ok\n 3 > A 4 3";
    assert_eq!(of(all), ["GET", "ok"]);
    // They were acknowledged before any others were captured.
    let begun = "0 > S 0 0\n 1 > A 1 1 GET\n 2 > A 4 6 GET\n 3 < A 6 7 ok\n 4 > A 7 8";
    assert_eq!(of(begun), ["GETGET", "[5]ok"]);
}

/// RFC 2675, 4: the header of UDP has no room for the length of a jumbogram.
#[test]
fn a_jumbogram_carries_what_its_packet_holds() {
    let mut bytes = vec![0x60, 0, 0, 0, 0, 0, 0, 64];
    for last in [1, 2] {
        bytes.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last]);
    }
    bytes.extend([17, 0, 0xc2, 4]);
    bytes.extend((8 + 8 + 70_000_u32).to_be_bytes());
    bytes.extend([0x20, 0, 0x21, 0, 0, 0, 0, 0]);
    bytes.resize(bytes.len() + 70_000, b'x');
    let packets = [Sent::new(0, IP, bytes)];
    let (flows, _) = flows(&packets);
    assert_eq!(flows[0].sent.payload_bytes, 70_000);
    assert_eq!(flows[0].sent.ip_bytes, 40 + 8 + 8 + 70_000);
    let mut lengths = Vec::new();
    let mut payloads = Payloads::new();
    decode(&packets, |packet| {
        payloads.packet(packet, &mut |payload| {
            if let Carried::Datagram(bytes) = payload.carried {
                lengths.push(bytes.len());
            }
            Interest::Ignore
        });
    });
    assert_eq!(lengths, [70_000]);
}

/// The captures of public reports, where they stand beside the checkout: flows, and the bytes of their streams.
#[test]
fn captures_of_reports_are_read_as_their_list_says() {
    let folder = weir_testkit::captures::data().join("reports");
    for (name, expected) in [
        (
            "refused-then-let-in--refused-twice-then-let-in.pcap",
            [3, 0, 27, 43],
        ),
        ("second-syn-ack--second-synack-counts.pcap", [1, 0, 27, 43]),
        ("new-initial-number--new-isn-after-1s.pcap", [2, 0, 27, 43]),
        ("simultaneous-open--simultaneous-open.pcap", [1, 0, 27, 43]),
        ("reset-outside--rst-far-outside-before.pcap", [1, 0, 28, 43]),
        ("clock-steps-back--clock-back-20.pcap", [3, 0, 504, 720]),
        ("false-loss--one-ack-early.pcap", [1, 0, 18, 8_000]),
    ] {
        let packets = crate::capture::read(&folder.join(name));
        if packets.is_empty() {
            weir_testkit::missing("captures", name);
            continue;
        }
        let (flows, _) = flows(&packets);
        let texts = streams(&packets);
        let missed = flows
            .iter()
            .map(|flow| flow.sent.missed_bytes + flow.received.missed_bytes);
        let lengths = [0, 1].map(|side| texts.values().map(|sides| sides[side].len() as u64).sum());
        let found = [flows.len() as u64, missed.sum(), lengths[0], lengths[1]];
        assert_eq!(found, expected, "{name}");
    }
}

/// The clock of the tap at the server is behind: what the server sent is captured before what it answers.
#[test]
fn a_client_that_is_captured_behind_its_server_has_the_same_connection() {
    let open = "
        0  < SA 0 1
        1  < A  1 4
        2  < A  1 4 OK
        10 > S  0 0
        11 > A  1 1
        12 > A  1 1 GET
        13 > A  4 3";
    check(open, &[("S1", 0, "GET", "OK")]);
    let closed = "
        0  < SA 0 1
        1  < A  1 4
        2  < A  1 4 OK
        3  < FA 3 4
        4  < A  4 5
        10 > S  0 0
        11 > A  1 1
        12 > A  1 1 GET
        13 > A  4 3
        14 > FA 4 3
        15 > A  5 4";
    check(closed, &[SEEN]);
    let in_turn = "
        0  < SA 0 1
        1  < A  1 4
        2  > S  0 0
        3  < A  1 4 OK
        4  > A  1 1
        5  < A  3 7
        6  > A  1 1 GET
        7  < A  3 7 OK
        8  > A  4 3
        9  < A  5 7
        10 > A  4 3 PUT
        11 > A  7 5";
    check(in_turn, &[("S1", 0, "GETPUT", "OKOK")]);
}

/// What lies one before the next number is outside of the window, unless it is the number of a FIN.
#[test]
fn a_reset_one_before_the_next_number_ends_nothing() {
    for (at, forged) in [
        ("2002", "> R 0 0"),
        ("2002", "< R 0 0"),
        ("2004", "> R 3 0"),
        ("2006", "< RA 2 4"),
    ] {
        let exchange = EXCHANGE.replacen(at, &format!("{at} {forged}\n {at}"), 1);
        check(&format!("1000 > S 0 0 {exchange}"), &[SEEN]);
    }
    let closed = "0 > S 0 0\n 1 < SA 0 1\n 2 > A 1 1 GET\n 3 > FA 4 1\n 4 < A 1 5";
    check(
        &format!("{closed}\n 5 > R 4 0\n 6 < A 1 5 LATE"),
        &[("RSTO", 0, "GET", "")],
    );
}

#[test]
fn a_forged_reset_with_a_syn_begins_nothing() {
    let lines = "
        0 > S  0 0
        1 < SA 0 1
        2 > A  1 1
        3 > SR 1200000000 0
        4 > A  1 1 GET
        5 < SR 1200000000 4
        6 < A  1 4 OK
        7 > FA 4 3
        8 < FA 3 5
        9 > A  5 4";
    check(lines, &[SEEN]);
}

/// A capture of one direction has no answers.
#[test]
fn one_direction_of_a_connection_is_one_flow() {
    let lines = "
        0     > S 0 0
        1     > A 1 1 ONE
        12000 > A 4 4 TWO
        12001 > FA 7 4";
    // The three octets that it acknowledges are those of the other one.
    check(lines, &[("SH", 3, "ONETWO", "")]);
    // The FIN is repeated until it is acknowledged.
    let lines = "
        0     < A  1 1 ONE
        1     < FA 4 1
        500   < A  1 1 ONE
        9000  < A  1 1 ONE
        30000 < FA 4 1";
    let texts = streams(&segments(lines));
    assert_eq!(texts.into_values().collect::<Vec<_>>(), [["", "ONE"]]);
}

/// Streams took the sender of the first octets for the originator where the SYN was not captured, and flows go by the port.
#[test]
fn streams_have_the_originator_of_their_flow() {
    let lines = "
        0 < A 1 1 OK
        1 > A 1 3 GET
        2 < A 3 4 YES";
    check(lines, &[("OTH", 0, "GET", "OKYES")]);
    // The first packet is an acknowledgment.
    let later = "
        0 > A 1 1
        1 < A 1 1 OK
        2 > A 1 3 GET";
    check(later, &[("OTH", 0, "GET", "OK")]);
}
