//! Segments whose data are the padding of their frames, as the length of the IP packet counts it.

use std::net::Ipv4Addr;

use weir_flow::{
    Application, Content, Interest, Options, StreamEnd, StreamLimits, Streams, Tracker,
};
use weir_testkit::packet::{Ipv4, Tcp, protocol, tcp_flags};

use crate::capture::{Sent, decode};

const SYN: u8 = tcp_flags::SYN;
const ACK: u8 = tcp_flags::ACK;
const PSH: u8 = tcp_flags::PSH | ACK;
const FIN: u8 = tcp_flags::FIN | ACK;
/// What is behind a header of IP and one of TCP in frames of 60 octets, with a VLAN tag and without.
const TWO: &[u8] = &[0; 2];
const SIX: &[u8] = &[0; 6];

/// A segment: whether the client sends it, flags, number, acknowledgment and data. The client's numbers begin at 100, the server's at
/// 200.
type Line<'a> = (bool, u8, u32, u32, &'a [u8]);

fn packets(lines: &[Line<'_>]) -> Vec<Sent> {
    let (client, server) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let mut time_ns = 0;
    let mut all = Vec::new();
    for &(is_client, flags, seq, ack, data) in lines {
        let (from, to, ports) = match is_client {
            true => (client, server, (40_000, 80)),
            false => (server, client, (80, 40_000)),
        };
        let segment = Tcp::new(ports.0, ports.1)
            .flags(flags)
            .window(1_000)
            .numbers(seq, ack)
            .segment(from.into(), to.into(), data);
        let ip = Ipv4::new(from, to, protocol::TCP).packet(&segment);
        time_ns += 1_000_000;
        all.push(Sent::new(time_ns, 101, ip));
    }
    all
}

/// The streams of both sides, with gaps and ends.
fn streams(lines: &[Line<'_>]) -> [String; 2] {
    let mut streams = Streams::new(StreamLimits::default());
    let mut all = [String::new(), String::new()];
    let mut take = |chunk: &weir_flow::Chunk<'_>| {
        let side = &mut all[usize::from(!chunk.from_originator)];
        match chunk.content {
            Content::Bytes(bytes) => *side += std::str::from_utf8(bytes).unwrap(),
            Content::Gap(len) => *side += &format!("[{len}]"),
            Content::End(StreamEnd::Finished) => *side += "<FIN>",
            Content::End(_) => *side += "<end>",
        }
        Interest::Follow
    };
    decode(&packets(lines), |packet| streams.packet(packet, &mut take));
    streams.finish(&mut take);
    all
}

/// A request and its response, each after an acknowledgment whose frame is filled up.
const EXCHANGE: &[Line<'_>] = &[
    (true, SYN, 99, 0, b""),
    (false, SYN | ACK, 199, 100, TWO),
    (true, ACK, 100, 200, TWO),
    (true, PSH, 100, 200, b"GET / HTTP/1.1\r\n\r\n"),
    (false, ACK, 200, 118, SIX),
    (false, PSH, 200, 118, b"HTTP/1.1 204 x\r\n\r\n"),
    (true, ACK, 118, 218, TWO),
];

#[test]
fn padding_that_the_length_of_ip_counts_is_no_data() {
    let mut lines = EXCHANGE.to_vec();
    lines.extend([
        (true, FIN, 118, 218, TWO),
        (false, FIN, 218, 119, SIX),
        (true, ACK, 119, 219, TWO),
    ]);
    let request = "GET / HTTP/1.1\r\n\r\n<FIN>".to_owned();
    let response = "HTTP/1.1 204 x\r\n\r\n<FIN>".to_owned();
    assert_eq!(streams(&lines), [request, response]);
    let mut tracker = Tracker::new(Options::default());
    let mut found = Vec::new();
    decode(&packets(&lines), |packet| {
        tracker.packet(packet, |flow| found.push(flow.application));
    });
    tracker.finish(|flow| found.push(flow.application));
    assert_eq!(found, [Application::Http]);
}

#[test]
fn the_padding_of_a_fin_is_known_by_its_acknowledgment() {
    let lines: [Line<'_>; 5] = [
        (true, SYN, 99, 0, b""),
        (false, SYN | ACK, 199, 100, b""),
        (true, PSH, 100, 200, b"ab"),
        (true, FIN, 102, 200, SIX),
        (false, ACK, 200, 103, b""),
    ];
    assert_eq!(streams(&lines), ["ab<FIN>", "<end>"]);
    let mut data = lines;
    data[4].3 = 109;
    assert_eq!(streams(&data), ["ab\0\0\0\0\0\0<FIN>", "<end>"]);
}

#[test]
fn short_zeros_that_something_follows_are_data() {
    let open: [Line<'_>; 2] = [(true, SYN, 99, 0, b""), (false, SYN | ACK, 199, 100, b"")];
    let zeros = (true, ACK, 100, 200, TWO);
    let all = |more: &[Line<'_>]| {
        let mut lines = open.to_vec();
        lines.extend(more);
        streams(&lines)
    };
    // A segment begins behind them, also one that was captured before.
    assert_eq!(
        all(&[zeros, (true, ACK, 102, 200, b"ab")]),
        ["\0\0ab<end>", "<end>"]
    );
    assert_eq!(
        all(&[(true, ACK, 102, 200, b"ab"), zeros]),
        ["\0\0ab<end>", "<end>"]
    );
    let more = (true, ACK, 102, 200, SIX);
    assert_eq!(
        all(&[more, zeros, (true, ACK, 108, 200, b"ab")]),
        ["\0\0\0\0\0\0\0\0ab<end>", "<end>"]
    );
    // They are acknowledged, before more of the other side is given out.
    assert_eq!(
        all(&[zeros, (false, PSH, 200, 102, b"ok")]),
        ["\0\0<end>", "ok<end>"]
    );
    // Nothing speaks against them.
    assert_eq!(all(&[zeros]), ["\0\0<end>", "<end>"]);
    // The stream ends behind them.
    assert_eq!(
        all(&[zeros, (true, FIN, 102, 200, b"")]),
        ["\0\0<FIN>", "<end>"]
    );
    // With PSH they are what was written.
    assert_eq!(
        all(&[(true, PSH, 100, 200, TWO), (true, PSH, 100, 200, b"ab")]),
        ["\0\0<end>", "<end>"]
    );
}

#[test]
fn padding_at_the_end_of_a_capture_is_no_data() {
    let mut lines = EXCHANGE.to_vec();
    lines.push((false, ACK, 218, 118, SIX));
    let request = "GET / HTTP/1.1\r\n\r\n<end>".to_owned();
    let response = "HTTP/1.1 204 x\r\n\r\n<end>".to_owned();
    assert_eq!(streams(&lines), [request, response]);
    // The side that sends nothing at all: the same zeros came again although what was before them was acknowledged.
    let lines: [Line<'_>; 5] = [
        (true, SYN, 99, 0, b""),
        (false, SYN | ACK, 199, 100, b""),
        (true, ACK, 100, 200, SIX),
        (false, PSH, 200, 100, b"ab"),
        (true, ACK, 100, 202, SIX),
    ];
    assert_eq!(streams(&lines), ["<end>", "ab<end>"]);
}

#[test]
fn padding_before_a_loss_is_part_of_the_gap() {
    let mut lines = EXCHANGE.to_vec();
    lines.push((true, ACK, 118, 218, TWO));
    lines.push((true, PSH, 128, 218, b"ab"));
    lines.push((false, ACK, 218, 130, SIX));
    let [request, _] = streams(&lines);
    assert_eq!(request, "GET / HTTP/1.1\r\n\r\n[10]ab<end>");
}

#[test]
fn the_padding_of_a_keep_alive_behind_a_loss_is_no_data() {
    let mut lines = EXCHANGE.to_vec();
    // Octets up to 127 are lost, the last of which has the number of the keep-alive.
    lines.push((true, ACK, 127, 218, TWO));
    lines.push((false, ACK, 218, 128, b""));
    lines.push((true, FIN, 128, 218, TWO));
    lines.push((false, ACK, 218, 129, b""));
    let [request, _] = streams(&lines);
    assert_eq!(request, "GET / HTTP/1.1\r\n\r\n[10]<end>");
}

#[test]
fn a_flood_of_short_zeros_is_bounded() {
    let mut streams = Streams::new(StreamLimits::default());
    let mut lines = EXCHANGE.to_vec();
    lines.extend((0..20_000).map(|at| (true, ACK, 200 + at * 8, 218, TWO)));
    let mut peak = 0;
    for packet in packets(&lines).chunks(1) {
        decode(packet, |packet| {
            streams.packet(packet, |_| Interest::Follow);
        });
        peak = peak.max(streams.held());
    }
    assert!(peak <= StreamLimits::default().direction_bytes_max + 1_024);
}
