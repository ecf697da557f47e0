//! Two points of capture whose clocks are an hour apart, and whose packets are in one file in the order in which they came.

use std::net::Ipv4Addr;

use weir_flow::{FlowRecord, Options};
use weir_testkit::Rng;
use weir_testkit::packet::{Ipv4, Tcp, protocol, tcp_flags};

use crate::capture::{Sent, flows};

const IP: u32 = 101;
const SECOND: i64 = 1_000_000_000;
const CONNECTIONS: usize = 100;

/// Connections of 25 s, which begin in 20 s, in the order of time; true for packets of the client.
fn connections() -> Vec<(bool, Sent)> {
    let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let mut all = Vec::new();
    let mut random = Rng::new(7);
    for client in (40_000..).take(CONNECTIONS) {
        let mut at = 1_700_000_000 * SECOND + random.below(20 * SECOND as u64) as i64;
        let mut push = |is_client: bool, flags: u8, seq: u32, ack: u32, data: &[u8]| {
            let (from, to, ports) = match is_client {
                true => (a, b, (client, 80)),
                false => (b, a, (80, client)),
            };
            let segment = Tcp::new(ports.0, ports.1)
                .flags(flags)
                .window(1_000)
                .numbers(seq, ack)
                .segment(from.into(), to.into(), data);
            let ip = Ipv4::new(from, to, protocol::TCP).packet(&segment);
            all.push((is_client, Sent::new(at, IP, ip)));
            at += SECOND / 2;
        };
        push(true, tcp_flags::SYN, 100, 0, b"");
        push(false, tcp_flags::SYN | tcp_flags::ACK, 500, 101, b"");
        push(true, tcp_flags::ACK, 101, 501, b"");
        let (mut seq, mut ack) = (101, 501);
        for _ in 0..22 {
            push(true, tcp_flags::ACK, seq, ack, b"request");
            seq += 7;
            push(false, tcp_flags::ACK, ack, seq, b"answer");
            ack += 6;
        }
        push(true, tcp_flags::ACK | tcp_flags::FIN, seq, ack, b"");
        push(false, tcp_flags::ACK | tcp_flags::FIN, ack, seq + 1, b"");
        push(true, tcp_flags::ACK, seq + 1, ack + 1, b"");
    }
    all.sort_by_key(|(_, sent)| sent.time_ns);
    all
}

fn ahead_by(sent: &Sent, seconds: i64) -> Sent {
    Sent {
        time_ns: sent.time_ns + seconds * SECOND,
        ..sent.clone()
    }
}

/// The flows that have all packets of a connection, each as often as it was captured.
fn whole(flows: &[FlowRecord], times: u64) -> usize {
    let is_whole =
        |flow: &&FlowRecord| flow.sent.packets + flow.received.packets == times * (3 + 44 + 3);
    flows.iter().filter(is_whole).count()
}

/// Every packet passes both points. The time that an attempt has for its answer went by the clock of its first packet after
/// another one had stamped the next, so that the SYN of each connection was a flow of its own.
#[test]
fn connections_that_two_clocks_stamp_in_turn_are_not_two() {
    for offset in [3_600, -3_600, 86_400] {
        let mut packets = Vec::new();
        for (_, sent) in connections() {
            packets.push(sent.clone());
            packets.push(ahead_by(&sent, offset));
        }
        let mut options = Options::default();
        for active_ns in [None, Some(600 * SECOND as u64)] {
            options.active_ns = active_ns;
            let found = flows(&packets, options.clone());
            // With a single clock so far, the first step forward is taken for a pause.
            let before = usize::from(offset > 0);
            assert_eq!(found.len(), CONNECTIONS + before, "{offset} {active_ns:?}");
            assert_eq!(whole(&found, 2), CONNECTIONS - before, "{offset}");
        }
    }
}

/// Each point sees one direction, or packets by chance: flows end at the first step forward, and at no other one.
#[test]
fn connections_of_which_two_clocks_stamp_a_part_are_not_many() {
    let mut random = Rng::new(3);
    for offset in [3_600, -3_600, 86_400] {
        for by_direction in [true, false] {
            let packets: Vec<Sent> = connections()
                .iter()
                .map(|(is_client, sent)| {
                    let is_of_other = match by_direction {
                        true => *is_client,
                        false => random.below(2) == 0,
                    };
                    ahead_by(sent, if is_of_other { offset } else { 0 })
                })
                .collect();
            let found = flows(&packets, Options::default());
            let first = packets.iter().zip(&packets[1..]);
            let first = first
                .take_while(|(one, next)| next.time_ns - one.time_ns < 3_000 * SECOND)
                .count();
            // The connections that were open by then.
            let open = flows(&packets[..=first], Options::default()).len();
            assert!(found.len() <= CONNECTIONS + open, "{} {open}", found.len());
            assert!(whole(&found, 1) >= CONNECTIONS - open, "{offset} {open}");
        }
    }
}
