//! The short way of the flow table for regular segments does what the long way does.

use std::net::Ipv4Addr;

use weir_flow::{Endpoint, FlowKey, FlowTable, Options, Segment, Sighting};
use weir_testkit::Rng;

/// One end of a connection, as its packets are made.
#[derive(Clone, Copy, Default)]
struct End {
    next: u32,
    acked: u32,
}

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const ACK: u8 = 16;

/// Packets of connections that are mostly regular.
fn packets(random: &mut Rng, flows: usize, count: usize) -> Vec<Sighting> {
    let mut ends = vec![[End::default(); 2]; flows];
    for pair in &mut ends {
        for end in pair {
            // A wrap is near, at times.
            end.next = match random.below(4) {
                0 => 0_u32.wrapping_sub(random.below(4_000) as u32),
                _ => random.below(1 << 32) as u32,
            };
        }
    }
    let mut turns = vec![0_u32; flows];
    let mut time_ns = 0_i64;
    let mut sightings = Vec::new();
    for _ in 0..count {
        time_ns += match random.below(200) {
            0 => 6_000_000_000,
            1 => -3_000_000,
            _ => random.below(20_000_000) as i64,
        };
        let flow = random.below(flows as u64) as usize;
        let turn = turns[flow];
        turns[flow] += 1;
        let sender = match turn {
            0 => 0,
            1 => 1,
            2 => 0,
            _ => random.below(2) as usize,
        };
        let odd = random.below(60);
        let (mut flags, mut len) = match turn {
            0 => (SYN, 0),
            1 => (SYN | ACK, 0),
            2 => (ACK, 0),
            _ => (ACK, random.below(3) as u32 * 700),
        };
        match odd {
            0 => flags |= FIN,
            1 => flags |= RST,
            2 => flags = SYN,
            3 => flags = 0,
            4 => len = 1,
            _ => {}
        }
        let end = ends[flow][sender];
        let peer = ends[flow][1 - sender];
        let seq = match odd {
            5 => end.next.wrapping_sub(700),
            6 => end.next.wrapping_add(700),
            7 => end.next.wrapping_sub(1),
            _ => end.next,
        };
        let ack = match odd {
            8 => peer.acked,
            9 => peer.next.wrapping_add(5_000),
            10 => 0,
            _ => peer.next,
        };
        ends[flow][1 - sender].acked = ack;
        let span = len + u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
        ends[flow][sender].next = seq.wrapping_add(span);
        let address = |n: usize| Ipv4Addr::from(0x0a00_0000 + n as u32).into();
        let client = Endpoint {
            address: address(flow % 5),
            port: 30_000 + flow as u16,
        };
        let server = Endpoint {
            address: address(100),
            port: 80,
        };
        let (from, to) = match sender {
            0 => (client, server),
            _ => (server, client),
        };
        let (key, sender) = FlowKey::new(from, to, 6, 0);
        sightings.push(Sighting {
            key,
            sender,
            time_ns: Some(time_ns),
            ip_bytes: 40 + len,
            payload_bytes: len,
            ttl: 64,
            bad_checksum: odd == 11,
            segment: Some(Segment {
                seq,
                ack: if flags & ACK == 0 { 0 } else { ack },
                flags,
                window: u16::from(odd != 12) * 1_000,
                len,
                is_cut: odd == 13 && len > 0,
                scale: None,
                may_be_padding: false,
            }),
        });
    }
    sightings
}

#[test]
fn regular_segments_are_counted_as_by_the_long_way() {
    let mut random = Rng::new(8);
    let mut flows = 0;
    for round in 0..400 {
        let sightings = packets(&mut random, 1 + round % 7, 300);
        let mut told = Vec::new();
        for way in 0..3 {
            let mut options = Options::default();
            // Partial results that never come keep packets from the short way.
            options.active_ns = (way == 0).then_some(u64::MAX);
            let mut table = FlowTable::new(options);
            let mut ended = Vec::new();
            let mut seen = Vec::new();
            if way == 2 {
                table.packets(&sightings, |flow| ended.push(format!("{flow:?}")));
            } else {
                for sighting in &sightings {
                    let one = table.packet(sighting, |flow| ended.push(format!("{flow:?}")));
                    seen.push(one.map(|one| (one.number, one.from_originator, one.is_first)));
                }
            }
            table.finish(|flow| ended.push(format!("{flow:?}")));
            told.push((ended, seen));
        }
        assert_eq!(told[0], told[1], "round {round}");
        assert_eq!(told[0].0, told[2].0, "round {round}, in batches");
        flows += told[0].0.len();
    }
    assert!(flows > 2_000, "{flows}");
}
