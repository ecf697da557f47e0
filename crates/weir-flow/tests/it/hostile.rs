//! Every prefix, damage, and floods.

use std::net::Ipv4Addr;

use weir_flow::{Endpoint, FlowKey, FlowTable, Options, Segment, Sighting, Streams, Tracker};
use weir_packet::{Decoder, Frame, LinkType};
use weir_testkit::Rng;

use crate::capture::{self, decode};

#[test]
fn every_prefix_of_a_capture_and_damage_are_survived() {
    let mut random = Rng::new(6);
    for path in capture::shared().iter().step_by(7) {
        let mut packets = capture::read(path);
        packets.truncate(200);
        for round in 0..3 {
            let mut tracker = Tracker::new(Options::default());
            let mut streams = Streams::new(weir_flow::StreamLimits::default());
            let mut decoder = Decoder::default();
            let (mut begun, mut ended) = (0, 0);
            for sent in &packets {
                let mut bytes = sent.bytes.clone();
                if round == 1 && !bytes.is_empty() {
                    bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
                }
                if round == 2 && !bytes.is_empty() {
                    for _ in 0..random.below(4) {
                        let at = random.below(bytes.len() as u64) as usize;
                        bytes[at] = random.below(256) as u8;
                    }
                }
                let mut frame = Frame::new(LinkType(sent.link_type), &bytes);
                frame.time_ns = Some(sent.time_ns);
                frame.wire_len = sent.wire_len;
                let packet = decoder.decode(frame);
                let seen = tracker.packet(&packet, |_| ended += 1);
                begun += u64::from(seen.is_some_and(|seen| seen.is_first));
                streams.packet(&packet, |_| weir_flow::Interest::Follow);
            }
            tracker.finish(|_| ended += 1);
            streams.finish(|_| weir_flow::Interest::Follow);
            assert_eq!(begun, ended, "{}", path.display());
        }
    }
}

fn syn(from: u32, port: u16, time_ns: i64) -> Sighting {
    let source = Endpoint {
        address: Ipv4Addr::from(from).into(),
        port,
    };
    let target = Endpoint {
        address: Ipv4Addr::new(192, 0, 2, 1).into(),
        port: 443,
    };
    let (key, sender) = FlowKey::new(source, target, 6, 0);
    Sighting {
        key,
        sender,
        time_ns: Some(time_ns),
        ip_bytes: 40,
        payload_bytes: 0,
        ttl: 64,
        bad_checksum: false,
        segment: Some(Segment {
            seq: from,
            flags: 2,
            ..Segment::default()
        }),
    }
}

#[test]
fn a_flood_of_syns_stays_within_the_limits_and_is_counted() {
    let mut options = Options::default();
    options.flows_max = 1_000;
    let mut table = FlowTable::new(options);
    let (mut ended, mut evicted) = (0, 0);
    for number in 0..50_000_u32 {
        table.packet(&syn(number, number as u16, i64::from(number)), |flow| {
            ended += 1;
            evicted += u64::from(flow.end == weir_flow::End::Evicted);
        });
        assert!(table.len() <= 1_000);
    }
    assert_eq!(evicted, 49_000);
    assert_eq!(table.counters().evicted, 49_000);
    assert!(table.allocated_bytes() < 1_000 * 300 + (1 << 20));
    table.finish(|_| ended += 1);
    assert_eq!(ended, 50_000);
}

#[test]
fn flows_expire_while_others_come() {
    let mut table = FlowTable::new(Options::default());
    let mut ended = 0;
    for number in 0..200_000_u32 {
        // A thousand a second.
        table.packet(&syn(number, 1, i64::from(number) * 1_000_000), |_| {
            ended += 1;
        });
        assert!(table.len() < 8_000, "{}", table.len());
    }
    assert!(ended > 190_000);
}

#[test]
fn batches_give_what_single_packets_give() {
    let mut random = Rng::new(8);
    let sightings: Vec<Sighting> = (0..60_000)
        .map(|n| {
            let mut sighting = syn(
                random.below(300) as u32,
                random.below(3) as u16,
                n * 3_000_000,
            );
            if random.below(2) == 0 {
                sighting.segment = sighting.segment.map(|segment| Segment {
                    flags: random.below(32) as u8,
                    len: random.below(100) as u32,
                    ..segment
                });
            }
            sighting
        })
        .collect();
    let mut single = FlowTable::new(Options::default());
    let mut one = Vec::new();
    for sighting in &sightings {
        single.packet(sighting, |flow| one.push(format!("{flow:?}")));
    }
    single.finish(|flow| one.push(format!("{flow:?}")));
    let mut batched = FlowTable::new(Options::default());
    let mut other = Vec::new();
    batched.packets(&sightings, |flow| other.push(format!("{flow:?}")));
    batched.finish(|flow| other.push(format!("{flow:?}")));
    assert!(one.len() > 1_000);
    assert_eq!(one, other);
}

#[test]
fn packets_that_are_no_packets_do_nothing() {
    let mut random = Rng::new(9);
    let packets: Vec<capture::Sent> = (0..5_000)
        .map(|_| {
            let link_type = [1, 101, 113, 197][random.below(4) as usize];
            let len = random.below(120) as usize;
            capture::Sent::new(0, link_type, random.bytes(len))
        })
        .collect();
    let mut tracker = Tracker::new(Options::default());
    let mut streams = Streams::new(weir_flow::StreamLimits::default());
    decode(&packets, |packet| {
        tracker.packet(packet, |_| {});
        streams.packet(packet, |_| weir_flow::Interest::Follow);
    });
    assert!(tracker.counters().0.packets < 5_000);
}
