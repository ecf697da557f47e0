//! Packets cut into fragments, and put together again.

use std::net::{Ipv4Addr, Ipv6Addr};

use weir_flow::{Defragmenter, FragmentLimits, Fragmented, Overlap};
use weir_packet::Layer;
use weir_testkit::Rng;
use weir_testkit::packet::{Ipv4, Ipv6, protocol, udp};

use crate::capture::{Sent, decode, shuffle};

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// Link types of bare IP packets.
const IP: u32 = 101;

/// The packets that come out.
fn put_together(defragmenter: &mut Defragmenter, packets: &[Sent]) -> Vec<(Layer, Vec<u8>)> {
    let mut complete = Vec::new();
    decode(packets, |packet| {
        if let Fragmented::Complete { bytes, layer, .. } = defragmenter.packet(packet) {
            complete.push((layer, bytes.to_vec()));
        }
    });
    complete
}

fn sent(packets: Vec<Vec<u8>>) -> Vec<Sent> {
    packets
        .into_iter()
        .map(|bytes| Sent::new(0, IP, bytes))
        .collect()
}

#[test]
fn fragments_in_any_order_give_the_packet() {
    let mut random = Rng::new(1);
    let mut defragmenter = Defragmenter::new(FragmentLimits::default());
    for round in 0..400_u32 {
        let len = 1 + random.below(9_000) as usize;
        let payload = random.bytes(len);
        let mtu = 68 + random.below(1_500) as usize;
        let (whole, parts) = if round.is_multiple_of(2) {
            let header = Ipv4::new(A, B, protocol::UDP).identification(round as u16);
            (header.packet(&payload), header.fragments(&payload, mtu))
        } else {
            let header = Ipv6::new(Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED, protocol::UDP);
            let header = match round % 3 {
                0 => header.hop_by_hop(&[5, 2, 0, 0]),
                1 => header,
                _ => header.destination_options(&[1, 4, 0, 0, 0, 0]),
            };
            (
                header.packet(&payload),
                header.fragments(&payload, mtu, round),
            )
        };
        if parts.len() == 1 {
            continue;
        }
        let mut parts = sent(parts);
        // Duplicates of all, and any order.
        parts.extend_from_within(..);
        shuffle(&mut random, &mut parts);
        let complete = put_together(&mut defragmenter, &parts);
        assert!(!complete.is_empty(), "round {round}");
        assert_eq!(complete[0].1, whole, "round {round}");
    }
}

/// RFC 8200, 4.5: "within 60 seconds of the reception of the first-arriving fragment". Until 2026-11 it was 30.
#[test]
fn fragments_of_one_packet_may_come_for_a_minute() {
    const SECOND_NS: i64 = 1_000_000_000;
    let payload = udp(A.into(), B.into(), 7, 8, &[1; 3_000]);
    let v4 = Ipv4::new(A, B, protocol::UDP).fragments(&payload, 1_500);
    let v6 = Ipv6::new(Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED, protocol::UDP)
        .fragments(&payload, 1_500, 1);
    for parts in [v4, v6] {
        assert_eq!(parts.len(), 3);
        for (seconds_between, expected) in [(29, 1), (31, 0)] {
            let mut packets = sent(parts.clone());
            for (packet, index) in packets.iter_mut().zip(0..) {
                packet.time_ns = index * seconds_between * SECOND_NS;
            }
            let mut defragmenter = Defragmenter::new(FragmentLimits::default());
            assert_eq!(put_together(&mut defragmenter, &packets).len(), expected);
        }
    }
}

/// RFC 791, 3.1 counts the header in the length of 16 bits, RFC 8200, 3 does not. Until 2026-11 the largest packets of
/// IPv6 were dropped.
#[test]
fn the_largest_packets_are_put_together_and_larger_ones_dropped() {
    let v6 = Ipv6::new(Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED, protocol::UDP);
    for (payload_bytes, expected) in [(65_535, 1), (65_536, 0)] {
        let payload = vec![7; payload_bytes];
        let mut defragmenter = Defragmenter::new(FragmentLimits::default());
        let parts = sent(v6.clone().fragments(&payload, 1_500, 1));
        let complete = put_together(&mut defragmenter, &parts);
        assert_eq!(complete.len(), expected);
        assert!(
            complete
                .iter()
                .all(|(_, bytes)| bytes.len() == 40 + payload_bytes)
        );
        let v4 = Ipv4::new(A, B, protocol::UDP);
        let parts = sent(v4.fragments(&payload[..payload_bytes - 20], 1_500));
        let complete = put_together(&mut defragmenter, &parts);
        assert_eq!(complete.len(), expected);
        assert!(
            complete
                .iter()
                .all(|(_, bytes)| bytes.len() == payload_bytes)
        );
        let invalid = defragmenter.counters().invalid;
        assert_eq!(invalid > 0, expected == 0);
    }
}

#[test]
fn a_fragmented_datagram_is_one_packet_of_its_flow() {
    let payload = udp(A.into(), B.into(), 7, 8, &[1; 3_000]);
    let parts = Ipv4::new(A, B, protocol::UDP)
        .identification(9)
        .fragments(&payload, 1_500);
    assert_eq!(parts.len(), 3);
    let flows = crate::capture::flows(&sent(parts), weir_flow::Options::default());
    assert_eq!(flows.len(), 1);
    let sent = flows[0].sent;
    assert_eq!(
        (sent.packets, sent.ip_bytes, sent.payload_bytes),
        (1, 3_028, 3_000)
    );
}

/// The first fragment of a packet was put together with the others of one before, which had its identification and lacked its own.
#[test]
fn the_rest_of_a_packet_is_not_that_of_the_next_one() {
    let payload = |octet: u8| udp(A.into(), B.into(), 7, 8, &[octet; 3_000]);
    let header = Ipv4::new(A, B, protocol::UDP).identification(9);
    let parts = |octet: u8| sent(header.fragments(&payload(octet), 1_500));
    let apart = |ms: i64| {
        let mut packets = parts(1);
        packets.remove(0);
        packets.extend(parts(2).into_iter().map(|packet| Sent {
            time_ns: ms * 1_000_000,
            ..packet
        }));
        packets
    };
    let whole = header.packet(&payload(2));
    let mut defragmenter = Defragmenter::new(FragmentLimits::default());
    let complete = put_together(&mut defragmenter, &apart(600));
    assert_eq!(complete, [(Layer::Ipv4, whole)]);
    assert_eq!(defragmenter.counters().invalid, 1);
    assert_eq!(defragmenter.waiting(), 0);
    // The one before lacks another fragment, which is the first one of this packet that was captured.
    let mut packets = parts(1);
    packets.remove(2);
    let mut others = parts(2);
    others.rotate_right(1);
    packets.extend(others.into_iter().map(|packet| Sent {
        time_ns: 600_000_000,
        ..packet
    }));
    let mut defragmenter = Defragmenter::new(FragmentLimits::default());
    let complete = put_together(&mut defragmenter, &packets);
    assert_eq!(complete, [(Layer::Ipv4, header.packet(&payload(2)))]);
    assert_eq!(defragmenter.waiting(), 0);
    // Some hosts send the first fragment last.
    let mut reverse = parts(1);
    reverse.rotate_left(1);
    reverse[2].time_ns = 600_000_000;
    let mut defragmenter = Defragmenter::new(FragmentLimits::default());
    let complete = put_together(&mut defragmenter, &reverse);
    assert_eq!(complete, [(Layer::Ipv4, header.packet(&payload(1)))]);
}

/// The copy of a fragment behind the packet that it belongs to was a packet of its own, whose other fragments did not come.
#[test]
fn a_copy_of_a_fragment_is_no_packet() {
    let payload = udp(A.into(), B.into(), 7, 8, &[1; 3_000]);
    let header = |id: u16| Ipv4::new(A, B, protocol::UDP).identification(id);
    let parts = header(9).fragments(&payload, 1_500);
    let packets = |parts: &[Vec<u8>]| {
        let flows = crate::capture::flows(&sent(parts.to_vec()), weir_flow::Options::default());
        flows[0].sent.packets
    };
    for copy in 0..parts.len() {
        let mut packets_sent = parts.clone();
        packets_sent.push(parts[copy].clone());
        assert_eq!(packets(&packets_sent), 1, "{copy}");
    }
    // Nothing of it is missing.
    let unfinished = |parts: &[Vec<u8>]| {
        let mut payloads = weir_flow::Payloads::new();
        let mut each = |_: &weir_flow::Payload<'_>| weir_flow::Interest::Follow;
        decode(&sent(parts.to_vec()), |packet| {
            payloads.packet(packet, &mut each);
        });
        payloads.finish(&mut each);
        payloads.counters().fragments.unfinished
    };
    let copied: Vec<Vec<u8>> = parts.iter().chain(&parts[2..]).cloned().collect();
    assert_eq!((unfinished(&copied), unfinished(&parts[..2])), (0, 1));
    // Both copies of a packet are packets, and so is the first part of another one.
    assert_eq!(packets(&[parts.clone(), parts.clone()].concat()), 2);
    let other = header(10).fragments(&payload, 1_500)[0].clone();
    assert_eq!(packets(&[parts, vec![other]].concat()), 2);
}

/// Two fragments that contradict each other in the bytes 8 to 16, and the rest.
fn overlapping(version: u8) -> Vec<Sent> {
    let part = |offset: usize, more: bool, byte: u8, len: usize| {
        let payload = vec![byte; len];
        if version == 4 {
            Ipv4::new(A, B, protocol::UDP)
                .identification(1)
                .fragment(offset, more)
                .packet(&payload)
        } else {
            Ipv6::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST, protocol::UDP)
                .fragment(offset, more, 1)
                .packet(&payload)
        }
    };
    sent(vec![
        part(0, true, 1, 16),
        part(8, true, 2, 16),
        part(24, false, 3, 5),
    ])
}

#[test]
fn overlaps_are_read_by_the_policy() {
    for (policy, expected) in [(Overlap::First, [1, 2]), (Overlap::Last, [2, 2])] {
        let mut limits = FragmentLimits::default();
        limits.overlap_v4 = policy;
        limits.overlap_v6 = policy;
        for (version, header) in [(4, 20), (6, 40)] {
            let mut defragmenter = Defragmenter::new(limits.clone());
            let complete = put_together(&mut defragmenter, &overlapping(version));
            let payload = &complete[0].1[header..];
            let mut bytes = vec![1; 8];
            bytes.extend(vec![expected[0]; 8]);
            bytes.extend(vec![expected[1]; 8]);
            bytes.extend([3; 5]);
            assert_eq!(payload, bytes, "{policy:?} of version {version}");
        }
    }
    // Overlapping fragments of IPv6 are dropped by default, and the rest of the packet with them.
    let mut defragmenter = Defragmenter::new(FragmentLimits::default());
    assert!(put_together(&mut defragmenter, &overlapping(6)).is_empty());
    assert_eq!(defragmenter.counters().overlapping, 1);
}

#[test]
fn what_is_missing_for_too_long_is_given_up() {
    let mut parts = sent(
        Ipv4::new(A, B, 99)
            .identification(3)
            .fragments(&[7; 100], 68),
    );
    let last = parts.len() - 1;
    parts[last].time_ns = 60_000_000_001;
    let mut defragmenter = Defragmenter::new(FragmentLimits::default());
    assert!(put_together(&mut defragmenter, &parts).is_empty());
    assert_eq!(defragmenter.counters().timed_out, 1);
    assert_eq!(defragmenter.waiting(), 1);
}

/// A capture by ports has no other fragments than first ones. A request was read a minute behind its answers, or at the end of the
/// capture, as a flow of its own, and the answers began theirs.
#[test]
fn a_first_fragment_is_read_when_its_flow_goes_on_without_the_others() {
    const SECOND_NS: i64 = 1_000_000_000;
    let request = udp(A.into(), B.into(), 5_060, 5_060, &[1; 3_000]);
    let request = Ipv4::new(A, B, protocol::UDP)
        .identification(9)
        .fragments(&request, 1_500);
    let answer = udp(B.into(), A.into(), 5_060, 5_060, &[2; 30]);
    let answer = Ipv4::new(B, A, protocol::UDP).packet(&answer);
    let other = udp(A.into(), B.into(), 70, 80, &[3; 30]);
    let other = Ipv4::new(A, B, protocol::UDP).packet(&other);
    for (fragments, counted, order) in [(1, (1, 2), [2, 1, 3]), (3, (2, 1), [2, 4, 5])] {
        let mut packets = vec![
            Sent::new(0, IP, request[0].clone()),
            Sent::new(SECOND_NS / 10, IP, answer.clone()),
        ];
        let rest = request[1..fragments].iter();
        packets.extend(rest.map(|part| Sent::new(SECOND_NS / 2, IP, part.clone())));
        packets.push(Sent::new(2 * SECOND_NS, IP, answer.clone()));
        packets.extend((1..20).map(|at| Sent::new(at * 10 * SECOND_NS, IP, other.clone())));
        let flows = crate::capture::flows(&packets, weir_flow::Options::default());
        assert_eq!(flows.len(), 2, "{flows:#?}");
        let flow = &flows[0];
        assert_eq!((flow.sent.packets, flow.received.packets), counted);
        assert_eq!(flow.last_ns, 2 * SECOND_NS);
        if fragments == 1 {
            assert_eq!(flow.originator.address, std::net::IpAddr::from(A));
            assert_eq!((flow.first_ns, flow.history.as_str()), (0, "Dd"));
        }
        let mut payloads = weir_flow::Payloads::new();
        let mut read = Vec::new();
        let mut each = |payload: &weir_flow::Payload<'_>| {
            read.push((payload.frame, payload.flow));
            weir_flow::Interest::Follow
        };
        decode(&packets, |packet| payloads.packet(packet, &mut each));
        payloads.finish(&mut each);
        let of_request = read.iter().filter(|(_, flow)| *flow == 1);
        let frames: Vec<u64> = of_request.map(|(frame, _)| *frame).collect();
        assert_eq!(frames, order);
    }
}

#[test]
fn a_flood_of_first_fragments_stays_within_the_limits() {
    let mut limits = FragmentLimits::default();
    limits.packets_max = 100;
    limits.bytes_max = 50_000;
    let mut defragmenter = Defragmenter::new(limits);
    for id in 0..20_000_u32 {
        let mut header = Ipv4::new(A, B, 99).identification(id as u16);
        if id.is_multiple_of(2) {
            header = Ipv4::new(Ipv4Addr::from(id), B, 99);
        }
        let packet = header
            .fragment(0, true)
            .packet(&vec![0; 1_000 * (id as usize % 2) + 8]);
        put_together(&mut defragmenter, &sent(vec![packet]));
        assert!(defragmenter.waiting() <= 100);
        assert!(defragmenter.waiting_bytes() <= 50_000);
    }
    let counters = defragmenter.counters();
    assert_eq!(counters.evicted + defragmenter.waiting() as u64, 20_000);
}

#[test]
fn contradictions_are_dropped() {
    let part = |offset: usize, more: bool, len: usize| {
        Ipv4::new(A, B, 99)
            .identification(5)
            .fragment(offset, more)
            .packet(&vec![0; len])
    };
    for parts in [
        // Beyond the end; two ends; not in units of eight; beyond 65,535.
        vec![part(0, false, 8), part(8, true, 8)],
        vec![part(16, false, 8), part(8, false, 8)],
        vec![part(0, true, 9)],
        vec![part(65_528, false, 100)],
    ] {
        // A first packet without an offset and more is no fragment.
        let mut defragmenter = Defragmenter::new(FragmentLimits::default());
        assert!(put_together(&mut defragmenter, &sent(parts.clone())).is_empty());
        let invalid = defragmenter.counters().invalid;
        assert!(
            invalid == 1 || parts[0][6] == 0,
            "{:?}",
            defragmenter.counters()
        );
    }
}
