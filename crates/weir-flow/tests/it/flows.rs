//! Whole connections, and the state and history that come out.

use std::net::{IpAddr, Ipv4Addr};

use weir_flow::{End, FlowRecord, Options, Scope};
use weir_testkit::packet::{
    Ipv4, Tcp, ethernet, ethertype, icmp, icmp_echo, protocol, tcp_flags, udp, vlan,
};

use crate::capture::{self, ETHERNET, Sent};

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const SECOND: i64 = 1_000_000_000;

/// A conversation written as a list of lines: time in ms, sender, flags, seq, ack, bytes of data.
/// The client's numbers begin at 1,000, the server's at 5,000.
fn tcp(lines: &str) -> Vec<Sent> {
    lines
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [time, sender, flags, seq, ack, len] = words[..] else {
                panic!("{line}");
            };
            let bits = flags.chars().fold(0, |bits, flag| {
                bits | match flag {
                    'S' => tcp_flags::SYN,
                    'F' => tcp_flags::FIN,
                    'R' => tcp_flags::RST,
                    'A' => tcp_flags::ACK,
                    'Z' | '.' => 0,
                    _ => panic!("{flag}"),
                }
            });
            let window = if flags.contains('Z') { 0 } else { 1_000 };
            let (from, to, ports, starts) = if sender == ">" {
                (A, B, (4_000, 9_999), (1_000_u32, 5_000_u32))
            } else {
                (B, A, (9_999, 4_000), (5_000, 1_000))
            };
            let number = |word: &str, start: u32| start.wrapping_add(word.parse::<u32>().unwrap());
            let segment = Tcp::new(ports.0, ports.1)
                .flags(bits)
                .window(window)
                .numbers(number(seq, starts.0), number(ack, starts.1))
                .segment(from.into(), to.into(), &vec![b'x'; len.parse().unwrap()]);
            let ip = Ipv4::new(from, to, protocol::TCP).packet(&segment);
            let frame = ethernet([2; 6], [4; 6], ethertype::IPV4, &ip);
            Sent::new(time.parse::<i64>().unwrap() * 1_000_000, ETHERNET, frame)
        })
        .collect()
}

#[track_caller]
fn only(packets: &[Sent]) -> FlowRecord {
    let flows = capture::flows(packets, Options::default());
    assert_eq!(flows.len(), 1, "{flows:#?}");
    flows[0]
}

/// State, history, and bytes of the stream each way.
#[track_caller]
fn check(lines: &str, state: &str, history: &str, bytes: (u64, u64)) -> FlowRecord {
    let flow = only(&tcp(lines));
    assert_eq!(
        (flow.state.as_str(), flow.history.as_str()),
        (state, history),
        "{flow:#?}"
    );
    assert_eq!((flow.sent.stream_bytes, flow.received.stream_bytes), bytes);
    flow
}

const HANDSHAKE: &str = "
    0  > S  0 0 0
    10 < SA 0 1 0
    30 > A  1 1 0
";

#[test]
fn an_orderly_connection() {
    let flow = check(
        &format!(
            "{HANDSHAKE}
            40 > A  1   1   100
            50 < A  1   101 0
            60 < A  1   101 50
            65 > A  101 51  0
            70 > FA 101 51  0
            80 < FA 51  102 0
            90 > A  102 52  0"
        ),
        "SF",
        "ShADadFf",
        (100, 50),
    );
    assert_eq!((flow.sent.packets, flow.received.packets), (6, 4));
    assert_eq!(flow.sent.ip_bytes, 6 * 40 + 100);
    assert_eq!(flow.round_trip_ns, Some(30_000_000));
    // The last ACK does not count for the duration, as both have closed.
    assert_eq!(flow.last_ns, 80_000_000);
    assert_eq!(flow.end, End::CaptureEnd);
}

#[test]
fn every_state_of_a_connection() {
    check("0 > S 0 0 0", "S0", "S", (0, 0));
    check(HANDSHAKE, "S1", "ShA", (0, 0));
    check("0 > S 0 0 0\n 9 < RA 0 1 0", "REJ", "Sr", (0, 0));
    check("0 > S 0 0 0\n 9 > R 1 0 0", "RSTOS0", "SR", (0, 0));
    check("0 > S 0 0 0\n 9 > F 1 0 0", "SH", "SF", (0, 0));
    check("0 < SA 0 1 0\n 9 < RA 1 1 0", "OTH", "HR", (0, 0));
    let established = |rest: &str| format!("{HANDSHAKE}{rest}");
    check(&established("40 > FA 1 1 0"), "S2", "ShAF", (0, 0));
    check(&established("40 < FA 1 1 0"), "S3", "ShAf", (0, 0));
    check(&established("40 > RA 1 1 0"), "RSTO", "ShAR", (0, 0));
    check(&established("40 < RA 1 1 0"), "RSTR", "ShAr", (0, 0));
    check("0 > A 7 7 20\n 9 < A 7 27 0", "OTH", "Da", (20, 0));
    // A server's answer, seen without the SYN, from a port that servers have.
    let mut answer = tcp("0 < SA 0 1 0\n 5 < RA 1 1 0");
    for sent in &mut answer {
        sent.bytes[34..36].copy_from_slice(&80_u16.to_be_bytes());
    }
    let flow = only(&answer);
    assert_eq!(
        (flow.state.as_str(), flow.history.as_str()),
        ("RSTRH", "^hr")
    );
    let mut answer = tcp("0 < SA 0 1 0\n 5 < FA 1 1 0");
    for sent in &mut answer {
        sent.bytes[34..36].copy_from_slice(&80_u16.to_be_bytes());
    }
    assert_eq!(only(&answer).state.as_str(), "SHR");
}

/// Zeek's `TCP_Endpoint::CheckHistory`: the sender of the SYN ACK is the responder once something follows.
#[test]
fn an_answer_whose_syn_was_missed_turns_the_flow_round() {
    let flow = check(
        "0  < SA 0  1  0
         1  > A  1  1  0
         2  > A  1  1  20
         3  < A  1  21 30
         4  > FA 21 31 0
         5  < FA 31 22 0",
        "SF",
        "^hADdFf",
        (20, 30),
    );
    assert_eq!(flow.originator.address, IpAddr::V4(A));
    assert_eq!((flow.sent.packets, flow.received.packets), (3, 3));
    check("0 < SA 0 1 0\n 9 > R 1 0 0", "REJ", "Hr", (0, 0));
}

/// Zeek's `TCPSessionAdapter::IsReuse`.
#[test]
fn an_attempt_after_a_refused_one_begins_another_flow() {
    let lines = "0 > S 0 0 0\n 9 < RA 0 1 0\n 500 > S 0 0 0\n 509 < RA 0 1 0";
    let flows = capture::flows(&tcp(lines), Options::default());
    assert_eq!(flows.len(), 2);
    for flow in flows {
        assert_eq!((flow.state.as_str(), flow.history.as_str()), ("REJ", "Sr"));
    }
}

#[test]
fn a_fin_alone_shows_that_data_before_it_are_missing() {
    let lines = format!("{HANDSHAKE} 40 < FA 2903 1 0\n 50 > A 1 2904 0\n 60 > FA 1 2904 0");
    let flow = check(&lines, "SF", "ShAfgF", (0, 2902));
    assert_eq!(flow.received.missed_bytes, 2_902);
}

#[test]
fn retransmissions_and_late_segments_are_distinguished() {
    let flow = check(
        &format!(
            "{HANDSHAKE}
            40 > A 1   1 100
            41 > A 201 1 100
            42 > A 101 1 100
            43 > A 101 1 100
            44 > A 300 1 1"
        ),
        "S1",
        "ShADT",
        (300, 0),
    );
    assert_eq!((flow.sent.out_of_order, flow.sent.retransmissions), (1, 1));
    assert_eq!(flow.sent.missed_bytes, 0);
    assert_eq!(flow.sent.payload_bytes, 401);
}

#[test]
fn acknowledged_bytes_that_were_not_captured_are_gaps() {
    let flow = check(
        &format!(
            "{HANDSHAKE}
            40 > A 1   1 100
            41 > A 201 1 100
            42 < A 1 301 0
            43 < A 1 401 0"
        ),
        "S1",
        "ShADaG",
        (400, 0),
    );
    assert_eq!(flow.sent.missed_bytes, 200);
}

/// Only headers of what follows a cut at so many bytes.
fn cut_at(mut packets: Vec<Sent>, snap_len: usize) -> Vec<Sent> {
    for sent in &mut packets {
        sent.bytes.truncate(snap_len);
    }
    packets
}

/// Zeek's `TCPSessionAdapter::DeliverPacket` hands on no data of a segment that was not captured whole.
#[test]
fn bytes_of_segments_without_their_data_were_taken_for_captured() {
    let lines = format!(
        "{HANDSHAKE}
        40 > A 1   1   100
        50 < A 1   101 0
        60 > A 101 1   200
        61 > A 301 1   20
        62 > A 101 1   200
        64 > A 521 1   200
        66 > A 321 1   200
        70 < A 1   721 0
        80 < A 1   721 50
        90 > A 721 51  0"
    );
    let whole = only(&tcp(&lines));
    assert_eq!(whole.sent.missed_bytes, 0);
    assert_eq!(
        (whole.sent.retransmissions, whole.sent.out_of_order),
        (1, 1)
    );
    // The headers of all, and of what fits: 54 bytes are in front of the data.
    for (snap_len, sent, received) in [(54, 720, 50), (80, 700, 50), (110, 700, 0), (154, 600, 0)] {
        let flow = only(&cut_at(tcp(&lines), snap_len));
        let missed = (flow.sent.missed_bytes, flow.received.missed_bytes);
        assert_eq!(missed, (sent, received), "cut at {snap_len}: {flow:#?}");
        let counted = (flow.sent.retransmissions, flow.sent.out_of_order);
        assert_eq!(counted, (1, 1), "cut at {snap_len}");
        assert_eq!(flow.sent.stream_bytes, 720);
    }
    // Data without an acknowledgment are not missing, and neither are data that come whole later.
    let mut packets = cut_at(tcp(&format!("{HANDSHAKE} 40 > A 1 1 100")), 54);
    assert_eq!(only(&packets).sent.missed_bytes, 0);
    packets.extend(tcp("45 > A 1 1 100\n 50 < A 1 101 0"));
    assert_eq!(only(&packets).sent.missed_bytes, 0);
}

/// A connection of headers only from Zeek's own captures, of which its
/// `conn.log` says that all 24,257 bytes are missing.
#[test]
fn headers_alone_miss_all_that_zeek_misses() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = folder.join("captures/found/tcp__retransmit-fast009.pcap");
    if !path.is_file() {
        weir_testkit::missing("captures", &path.display().to_string());
        return;
    }
    let flow = only(&capture::read(&path));
    let missed = flow.sent.missed_bytes + flow.received.missed_bytes;
    assert_eq!(missed, 24_257, "{flow:#?}");
}

#[test]
fn windows_of_zero_are_counted() {
    let flow = check(
        &format!("{HANDSHAKE} 40 < AZ 1 1 0\n 41 < AZ 1 1 0\n 42 < A 1 1 0"),
        "S1",
        "ShAaw",
        (0, 0),
    );
    assert_eq!(flow.received.zero_windows, 2);
}

#[test]
fn numbers_that_wrap_are_counted_on() {
    let mut packets = Vec::new();
    // Data of 3 GiB, seen in few segments of a connection that begins just below 2^32.
    let start = u32::MAX - 10;
    let mut time = 0;
    let mut push = |from_client: bool, flags: u8, seq: u32, ack: u32, len: usize| {
        let (from, to, ports) = if from_client {
            (A, B, (1, 2))
        } else {
            (B, A, (2, 1))
        };
        let segment = Tcp::new(ports.0, ports.1)
            .flags(flags)
            .numbers(seq, ack)
            .segment(from.into(), to.into(), &vec![0; len]);
        let ip = Ipv4::new(from, to, protocol::TCP).packet(&segment);
        let frame = ethernet([2; 6], [4; 6], ethertype::IPV4, &ip);
        packets.push(Sent::new(time, ETHERNET, frame));
        time += 1_000_000;
    };
    push(true, tcp_flags::SYN, start, 0, 0);
    push(
        false,
        tcp_flags::SYN | tcp_flags::ACK,
        7,
        start.wrapping_add(1),
        0,
    );
    let mut sent = 0_u64;
    while sent < 3 << 32 {
        let seq = start.wrapping_add(1).wrapping_add(sent as u32);
        push(true, tcp_flags::ACK, seq, 8, 1_000);
        sent += 1_000;
        push(false, tcp_flags::ACK, 8, seq.wrapping_add(1_000), 0);
        // The omitted data were acknowledged.
        sent += 1 << 30;
        let seq = start.wrapping_add(1).wrapping_add(sent as u32);
        push(false, tcp_flags::ACK, 8, seq, 0);
    }
    let flow = only(&packets);
    assert_eq!(flow.sent.stream_bytes, sent);
    assert_eq!(flow.sent.missed_bytes, sent - 1_000 * (sent >> 30));
}

#[test]
fn an_attempt_without_an_answer_ends_after_five_seconds() {
    let lines = "0 > S 0 0 0\n 1000 > S 0 0 0\n 4999 > S 0 0 0\n 5001 > S 0 0 0";
    let flows = capture::flows(&tcp(lines), Options::default());
    let packets: Vec<u64> = flows.iter().map(|flow| flow.sent.packets).collect();
    assert_eq!(packets, [3, 1]);
    assert_eq!(flows[0].end, End::Idle);
}

#[test]
fn a_new_syn_is_a_new_connection() {
    let lines = format!("{HANDSHAKE} 40 > A 1 1 9\n 50 > S 77777 0 0\n 51 < SA 3 77778 0");
    let flows = capture::flows(&tcp(&lines), Options::default());
    assert_eq!(flows.len(), 2);
    assert_eq!(flows[0].end, End::Reused);
    assert_eq!(flows[1].history.as_str(), "Sh");
}

/// RFC 9293, 3.5: SYNs that cross are one connection. Zeek begins another one with the second.
#[test]
fn both_begin_at_once() {
    let lines = "0 > S 0 0 0\n 1 < S 0 0 0\n 2 > SA 0 1 0\n 3 < SA 0 1 0\n 4 > A 1 1 5";
    let flow = check(lines, "S1", "SsD", (5, 0));
    assert_eq!((flow.sent.packets, flow.received.packets), (3, 2));
}

#[test]
fn a_flow_that_lasts_is_given_out_in_parts() {
    let mut options = Options::default();
    options.active_ns = Some(10 * SECOND as u64);
    let mut lines = HANDSHAKE.to_owned();
    for second in 1..35 {
        lines += &format!("{} > A {} 1 100\n", second * 1_000, 1 + (second - 1) * 100);
    }
    let flows = capture::flows(&tcp(&lines), options);
    assert_eq!(flows.len(), 4);
    assert!(flows.iter().all(|flow| flow.number == 1));
    assert!(flows[..3].iter().all(|flow| flow.end == End::Active));
    let parts: Vec<u16> = flows.iter().map(|flow| flow.part).collect();
    assert_eq!(parts, [0, 1, 2, 3]);
    let bytes: Vec<u64> = flows.iter().map(|flow| flow.sent.stream_bytes).collect();
    assert_eq!(bytes.iter().sum::<u64>(), 3_400, "{bytes:?}");
    assert_eq!(
        flows
            .iter()
            .map(|flow| flow.sent.payload_bytes)
            .sum::<u64>(),
        3_400
    );
}

fn datagram(time_ns: i64, ports: (u16, u16), reply: bool, tag: Option<u16>) -> Sent {
    let (from, to, from_port, to_port) = if reply {
        (B, A, ports.1, ports.0)
    } else {
        (A, B, ports.0, ports.1)
    };
    let payload = udp(from.into(), to.into(), from_port, to_port, b"twelve bytes");
    let ip = Ipv4::new(from, to, protocol::UDP).packet(&payload);
    let frame = match tag {
        None => ethernet([2; 6], [4; 6], ethertype::IPV4, &ip),
        Some(id) => {
            let tagged = vlan(0, id, ethertype::IPV4, &ip);
            ethernet([2; 6], [4; 6], ethertype::VLAN, &tagged)
        }
    };
    Sent::new(time_ns, ETHERNET, frame)
}

#[test]
fn datagrams_are_flows_too() {
    let packets = [
        datagram(0, (1, 2), false, None),
        datagram(59 * SECOND, (1, 2), true, None),
        // A minute after the one before.
        datagram(119 * SECOND, (1, 2), false, None),
    ];
    let flows = capture::flows(&packets, Options::default());
    let states: Vec<&str> = flows.iter().map(|flow| flow.state.as_str()).collect();
    assert_eq!(states, ["SF", "S0"]);
    assert_eq!(flows[0].history.as_str(), "Dd");
    assert_eq!(flows[0].sent.stream_bytes, 12);
    assert_eq!(flows[0].end, End::Idle);
}

#[test]
fn one_datagram_whose_header_fits_was_taken_for_rtp() {
    let rtp = |sequence: u16, source: u32| {
        let mut payload = vec![0x80, 8];
        payload.extend(sequence.to_be_bytes());
        payload.extend((u32::from(sequence) * 160).to_be_bytes());
        payload.extend(source.to_be_bytes());
        payload.extend([0x55; 160]);
        payload
    };
    let service = |payloads: &[Vec<u8>]| {
        let packets: Vec<Sent> = (0..)
            .zip(payloads)
            .map(|(number, payload)| {
                let datagram = udp(A.into(), B.into(), 4_000, 4_002, payload);
                let ip = Ipv4::new(A, B, protocol::UDP).packet(&datagram);
                let frame = ethernet([2; 6], [4; 6], ethertype::IPV4, &ip);
                Sent::new(number * 20_000_000, ETHERNET, frame)
            })
            .collect();
        only(&packets).application.as_str()
    };
    let source = 0x1234_5678;
    assert_eq!(
        service(&[rtp(65_534, source), rtp(65_535, source), rtp(1, source)]),
        Some("rtp")
    );
    // Copies and overtaken packets are not counted, and end no flow.
    let copies = [
        rtp(7, source),
        rtp(7, source),
        rtp(9, source),
        rtp(8, source),
    ];
    assert_eq!(service(&copies), None);
    assert_eq!(
        service(&[&copies[..], &[rtp(10, source)]].concat()),
        Some("rtp")
    );
    // Random numbers, or another source each time, are something else.
    assert_eq!(service(&[rtp(7, source)]), None);
    assert_eq!(
        service(&[1, 2, 3, 4].map(|number| rtp(number, u32::from(number)))),
        None
    );
    assert_eq!(
        service(&[1, 900, 40, 7_000].map(|number| rtp(number, source))),
        None
    );
}

#[test]
fn an_answer_from_a_servers_port_turns_the_flow_round() {
    let flow = only(&[datagram(0, (53, 40_000), false, None)]);
    assert_eq!(flow.responder.port, 53);
    assert_eq!((flow.state.as_str(), flow.history.as_str()), ("SHR", "^d"));
    assert_eq!((flow.sent.packets, flow.received.packets), (0, 1));
}

#[test]
fn networks_behind_tags_are_distinguished_with_the_option() {
    let packets = [None, Some(1), Some(2), Some(1)].map(|tag| datagram(0, (1, 2), false, tag));
    assert_eq!(capture::flows(&packets, Options::default()).len(), 1);
    let mut options = Options::default();
    options.scope = Scope::Vlan;
    assert_eq!(capture::flows(&packets, options).len(), 3);
}

#[test]
fn messages_of_icmp_have_types_for_ports() {
    let echo = |reply| {
        let (from, to) = if reply { (B, A) } else { (A, B) };
        let ip = Ipv4::new(from, to, protocol::ICMP).packet(&icmp_echo(reply, 1, 1, b"ping"));
        Sent::new(0, ETHERNET, ethernet([2; 6], [4; 6], ethertype::IPV4, &ip))
    };
    let unreachable = || {
        let ip = Ipv4::new(B, A, protocol::ICMP).packet(&icmp(3, 1, [0; 4], b"who asked"));
        Sent::new(0, ETHERNET, ethernet([2; 6], [4; 6], ethertype::IPV4, &ip))
    };
    let flows = capture::flows(
        &[echo(false), echo(true), unreachable()],
        Options::default(),
    );
    assert_eq!(flows.len(), 2);
    assert_eq!((flows[0].originator.port, flows[0].responder.port), (8, 0));
    assert_eq!(
        (flows[0].sent.payload_bytes, flows[0].received.packets),
        (4, 1)
    );
    assert_eq!((flows[1].originator.port, flows[1].responder.port), (3, 1));
    assert_eq!(flows[1].originator.address, IpAddr::V4(B));
}

#[test]
fn wrong_checksums_are_reported_with_the_option() {
    let mut packets = tcp(HANDSHAKE);
    packets[2].bytes[34 + 16] ^= 1;
    let mut options = Options::default();
    assert_eq!(
        capture::flows(&packets, options.clone())[0]
            .history
            .as_str(),
        "ShA"
    );
    options.checksums = true;
    let flow = capture::flows(&packets, options)[0];
    assert_eq!((flow.history.as_str(), flow.sent.packets), ("ShC", 1));
}
