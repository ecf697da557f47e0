//! Doses do what their accounts say.

use std::collections::{BTreeMap, BTreeSet};

use super::{Capture, Dose, Ends, Frame, How, Insertion, IpHeaders, Plan};
use crate::packet::checksum;

const ALL: &[Dose] = &[
    Dose::Loss { per_mille: 100 },
    Dose::Duplicates {
        per_mille: 100,
        distance: 5,
    },
    Dose::Reordering {
        per_mille: 300,
        distance: 6,
        in_time: false,
    },
    Dose::Reordering {
        per_mille: 300,
        distance: 6,
        in_time: true,
    },
    Dose::Cuts {
        per_mille: 200,
        snap_len: 70,
    },
    Dose::Attempts {
        per_mille: 900,
        most: 3,
    },
    Dose::Reuses { per_mille: 900 },
    Dose::LateBeginnings {
        per_mille: 300,
        packets: 6,
    },
    Dose::ClockStep {
        at_per_mille: 400,
        by_ms: -90_000,
    },
    Dose::SmallSegments {
        per_mille: 500,
        octets: 40,
    },
    Dose::SmallRecords {
        per_mille: 900,
        octets: 30,
    },
    Dose::Tags { per_mille: 500 },
    Dose::OneDirection { per_mille: 300 },
    Dose::RoutedCopies {
        per_mille: 100,
        distance: 3,
    },
    Dose::DoubleTags { per_mille: 300 },
    Dose::Labels {
        per_mille: 300,
        count: 2,
    },
    Dose::Padding {
        per_mille: 500,
        octets: 20,
    },
    Dose::OtherNumbers { per_mille: 500 },
    Dose::Insertions {
        per_mille: 200,
        kind: Insertion::KeepAlive,
    },
    Dose::Insertions {
        per_mille: 200,
        kind: Insertion::ForgedReset,
    },
    Dose::Insertions {
        per_mille: 200,
        kind: Insertion::Altered,
    },
    Dose::Insertions {
        per_mille: 200,
        kind: Insertion::ZeroWindow,
    },
    Dose::PriorityTags { per_mille: 500 },
    Dose::Options { per_mille: 300 },
    Dose::EqualTimes { within_us: 2_000 },
    Dose::Interfaces { per_mille: 500 },
    Dose::Retransmissions { per_mille: 300 },
    Dose::LargeSegments { per_mille: 500 },
    Dose::LostAcks { per_mille: 500 },
];

/// The demo's captures that are pcap or pcapng.
fn captures() -> Vec<Capture> {
    let files = crate::demo::demo_files().unwrap();
    let captures: Vec<_> = files
        .iter()
        .filter_map(|(_, bytes)| Capture::read(bytes).ok())
        .collect();
    assert!(captures.len() >= 9);
    captures
}

/// The octets of each direction of each connection, in order and once; `None` marks a missing octet in front of others. Connections
/// that follow each other between the same ends have separate streams.
fn streams(capture: &Capture) -> BTreeMap<(Ends, bool, u32), Vec<Option<u8>>> {
    let connections = capture.connections();
    let mut of: BTreeMap<(Ends, bool), u32> = BTreeMap::new();
    let mut streams: BTreeMap<(Ends, bool, u32), Vec<Option<u8>>> = BTreeMap::new();
    for frame in &capture.frames {
        let Some(header) = capture.header(frame) else {
            continue;
        };
        let Some(tcp) = header.tcp else { continue };
        let way = (connections.ends(&header), header.from_low());
        let (first, octets) = header.payload_range(&frame.bytes);
        let start = match tcp.has(super::header::SYN) {
            true => {
                of.insert(way, first);
                first
            }
            false => *of.entry(way).or_insert(first),
        };
        let at = first.wrapping_sub(start) as usize;
        // Octets before the first packet of a direction that was captured from its middle are left out.
        if at > 1 << 24 {
            continue;
        }
        let stream = streams.entry((way.0, way.1, start)).or_default();
        let end = at + octets as usize;
        stream.resize(stream.len().max(end), None);
        let payload = frame.bytes.get(tcp.payload..).unwrap_or_default();
        for (to, from) in stream[at..end].iter_mut().zip(payload) {
            *to = Some(*from);
        }
    }
    // A segment without data behind a FIN has the number of an octet that the stream has not.
    for stream in streams.values_mut() {
        let end = stream.iter().rposition(Option::is_some);
        stream.truncate(end.map_or(0, |last| last + 1));
    }
    streams.retain(|_, stream| !stream.is_empty());
    streams
}

/// The number of untidy frames of each origin.
fn origins(capture: &Capture) -> BTreeMap<usize, usize> {
    let mut origins = BTreeMap::new();
    for origin in capture.frames.iter().filter_map(|frame| frame.origin) {
        *origins.entry(origin).or_default() += 1;
    }
    origins
}

/// The same dose of nothing.
fn none(dose: &Dose) -> Dose {
    let mut dose = *dose;
    while let Some(half) = dose.halved() {
        dose = half;
    }
    match dose {
        Dose::Loss { .. } => Dose::Loss { per_mille: 0 },
        Dose::Duplicates { distance, .. } => Dose::Duplicates {
            per_mille: 0,
            distance,
        },
        Dose::Reordering {
            distance, in_time, ..
        } => Dose::Reordering {
            per_mille: 0,
            distance,
            in_time,
        },
        Dose::Cuts { snap_len, .. } => Dose::Cuts {
            per_mille: 0,
            snap_len,
        },
        Dose::Attempts { most, .. } => Dose::Attempts { per_mille: 0, most },
        Dose::Reuses { .. } => Dose::Reuses { per_mille: 0 },
        Dose::LateBeginnings { packets, .. } => Dose::LateBeginnings {
            per_mille: 0,
            packets,
        },
        Dose::ClockStep { at_per_mille, .. } => Dose::ClockStep {
            at_per_mille,
            by_ms: 0,
        },
        Dose::SmallSegments { octets, .. } => Dose::SmallSegments {
            per_mille: 0,
            octets,
        },
        Dose::SmallRecords { octets, .. } => Dose::SmallRecords {
            per_mille: 0,
            octets,
        },
        Dose::Tags { .. } => Dose::Tags { per_mille: 0 },
        Dose::OneDirection { .. } => Dose::OneDirection { per_mille: 0 },
        Dose::RoutedCopies { distance, .. } => Dose::RoutedCopies {
            per_mille: 0,
            distance,
        },
        Dose::DoubleTags { .. } => Dose::DoubleTags { per_mille: 0 },
        Dose::Labels { count, .. } => Dose::Labels {
            per_mille: 0,
            count,
        },
        Dose::Padding { octets, .. } => Dose::Padding {
            per_mille: 0,
            octets,
        },
        Dose::OtherNumbers { .. } => Dose::OtherNumbers { per_mille: 0 },
        Dose::Insertions { kind, .. } => Dose::Insertions { per_mille: 0, kind },
        Dose::Fragments { octets, .. } => Dose::Fragments {
            per_mille: 0,
            octets,
        },
        Dose::Tunnels { .. } => Dose::Tunnels { per_mille: 0 },
        Dose::PriorityTags { .. } => Dose::PriorityTags { per_mille: 0 },
        Dose::Sessions { .. } => Dose::Sessions { per_mille: 0 },
        Dose::Options { .. } => Dose::Options { per_mille: 0 },
        Dose::EqualTimes { .. } => Dose::EqualTimes { within_us: 0 },
        Dose::Interfaces { .. } => Dose::Interfaces { per_mille: 0 },
        Dose::Retransmissions { .. } => Dose::Retransmissions { per_mille: 0 },
        Dose::LargeSegments { .. } => Dose::LargeSegments { per_mille: 0 },
        Dose::LostAcks { .. } => Dose::LostAcks { per_mille: 0 },
    }
}

#[test]
fn a_dose_of_nothing_changes_nothing() {
    for tidy in captures() {
        let plan = Plan::new(1, ALL.iter().map(none).collect());
        let (untidy, account) = plan.apply(&tidy);
        assert_eq!(untidy, tidy);
        assert!(account.touches.is_empty());
        assert!(account.times.values().all(|difference| *difference == 0));
    }
}

#[test]
fn a_packet_before_a_step_has_none_though_its_copy_is_behind_it() {
    for tidy in captures() {
        let step = Dose::ClockStep {
            at_per_mille: 500,
            by_ms: -90_000,
        };
        let copies = Dose::Duplicates {
            per_mille: 1_000,
            distance: 7,
        };
        let (_, account) = Plan::new(3, vec![copies, step]).apply(&tidy);
        let first = tidy.frames.len() / 2;
        assert!(account.times.keys().all(|origin| *origin >= first));
        assert!(!account.times.is_empty());
    }
}

#[test]
fn a_seed_does_the_same_each_time_and_to_a_part_what_it_does_to_all() {
    for tidy in captures() {
        for seed in 0..4 {
            let mut plan = Plan::new(seed, ALL.to_vec());
            plan.connections_per_mille = 500;
            let (untidy, account) = plan.apply(&tidy);
            assert_eq!(plan.apply(&tidy), (untidy, account));
            // Doses that look at other frames (reordering, clock steps, times of bursts) are left out here: they give another result for
            // a part of a capture.
            let alone = |dose: &&Dose| {
                !matches!(
                    dose,
                    Dose::Reordering { .. } | Dose::ClockStep { .. } | Dose::EqualTimes { .. }
                )
            };
            plan.doses = ALL.iter().filter(alone).copied().collect();
            let is_copying =
                |dose: &Dose| matches!(dose, Dose::Duplicates { .. } | Dose::RoutedCopies { .. });
            plan.doses.retain(|dose| !is_copying(dose));
            let (untidy, account) = plan.apply(&tidy);
            let touched: BTreeSet<Ends> = account.connections().into_keys().collect();
            let (part, part_account) = plan.apply(&tidy.only(&touched));
            assert_eq!(part_account, account);
            let mut rest = untidy.frames.iter();
            assert!(
                part.frames
                    .iter()
                    .all(|frame| rest.any(|other| other == frame))
            );
        }
    }
}

/// A segment behind a silence begins another flow, which has to begin with it.
#[test]
fn what_comes_behind_a_silence_stays_in_its_place() {
    for mut tidy in captures() {
        let middle = tidy.frames.len() / 2;
        for frame in &mut tidy.frames[middle..] {
            frame.time_ns += 400_000_000_000;
        }
        let dose = Dose::Reordering {
            per_mille: 1_000,
            distance: 8,
            in_time: false,
        };
        let (untidy, _) = Plan::new(3, vec![dose]).apply(&tidy);
        let connections = tidy.connections();
        let first_behind = |capture: &Capture| {
            let mut first = BTreeMap::new();
            for frame in &capture.frames {
                let origin = frame.origin.filter(|origin| *origin >= middle);
                if let (Some(origin), Some(header)) = (origin, capture.header(frame)) {
                    first.entry(connections.ends(&header)).or_insert(origin);
                }
            }
            first
        };
        assert_eq!(first_behind(&untidy), first_behind(&tidy));
    }
}

#[test]
fn what_was_not_touched_is_as_it_was_and_nothing_is_missing_that_is_not_accounted() {
    for tidy in captures() {
        for (seed, dose) in ALL.iter().enumerate() {
            let (untidy, account) = Plan::new(seed as u64, vec![*dose]).apply(&tidy);
            let touched: BTreeMap<usize, How> = account
                .touches
                .iter()
                .map(|touch| (touch.origin, touch.how))
                .collect();
            let origins = origins(&untidy);
            let by_origin = untidy.frames.iter().rev();
            let first: BTreeMap<usize, &Frame> = by_origin
                .filter_map(|frame| Some((frame.origin?, frame)))
                .collect();
            for (index, frame) in tidy.frames.iter().enumerate() {
                let expected = match touched.get(&index) {
                    Some(How::Lost | How::Absorbed | How::Unacknowledged) => 0,
                    Some(How::Doubled) => 2,
                    Some(How::Split(pieces)) => *pieces as usize,
                    _ => 1,
                };
                let found = origins.get(&index).copied().unwrap_or(0);
                assert_eq!(found, expected, "{dose:?}: frame {index}");
                let is_renumbered = matches!(dose, Dose::SmallRecords { .. });
                if !touched.contains_key(&index) && !is_renumbered {
                    let same = first[&index];
                    let step = account.times.get(&index).copied().unwrap_or(0);
                    let moved = Frame {
                        time_ns: frame.time_ns.wrapping_add_signed(step),
                        ..frame.clone()
                    };
                    assert_eq!(*same, moved, "{dose:?}: frame {index}");
                }
            }
            let added = untidy
                .frames
                .iter()
                .filter(|frame| frame.origin.is_none())
                .count();
            let attempts = account
                .touches
                .iter()
                .filter(|touch| touch.how == How::Added)
                .count();
            assert_eq!(added, 2 * attempts);
        }
    }
}

#[test]
fn doses_that_keep_all_keep_the_octets_of_every_stream() {
    let mut touched = 0;
    for tidy in captures() {
        let said = streams(&tidy);
        for dose in ALL.iter().filter(|dose| dose.keeps_all()) {
            // These have other octets, numbers or segments, which have tests of their own.
            if matches!(
                dose,
                Dose::SmallRecords { .. } | Dose::OtherNumbers { .. } | Dose::Insertions { .. }
            ) {
                continue;
            }
            let (untidy, account) = Plan::new(3, vec![*dose]).apply(&tidy);
            touched += account.touches.len();
            let mut untidy = streams(&untidy);
            // A segment that overtakes the first one of a direction without a SYN starts the stream; such streams have no
            // counterpart.
            untidy.retain(|key, _| said.contains_key(key));
            for (key, stream) in &untidy {
                assert_eq!(said.get(key), Some(stream), "{dose:?}: {key:?}");
            }
            if !matches!(dose, Dose::Reordering { .. }) {
                assert_eq!(untidy.len(), said.len(), "{dose:?}");
            }
        }
    }
    assert!(touched > 1_000, "{touched}");
}

/// The frames of each capture of the demo before and behind a dose in all of it, side by side where the dose adds none.
fn pairs(dose: Dose) -> Vec<(Capture, Capture)> {
    let both = |tidy: Capture| {
        let (untidy, account) = Plan::new(4, vec![dose]).apply(&tidy);
        (!account.touches.is_empty()).then_some((tidy, untidy))
    };
    let all: Vec<_> = captures().into_iter().filter_map(both).collect();
    assert!(!all.is_empty(), "{dose:?}");
    all
}

fn has_right_checksums(capture: &Capture, frame: &Frame) -> bool {
    let header = capture.header(frame).unwrap();
    let segment = &frame.bytes[header.transport..header.end];
    let ip = &frame.bytes[header.ip..header.transport];
    let is_right = header.src.0.is_ipv6() || checksum::internet(ip) == 0;
    is_right && checksum::transport(header.src.0, header.dst.0, header.protocol, segment) == 0
}

#[test]
fn what_stands_around_a_packet_changes_nothing_of_it() {
    let padding = Dose::Padding {
        per_mille: 1_000,
        octets: 40,
    };
    for dose in [
        padding,
        Dose::DoubleTags { per_mille: 1_000 },
        Dose::Labels {
            per_mille: 1_000,
            count: 3,
        },
    ] {
        let mut longer = 0;
        for (tidy, untidy) in pairs(dose) {
            for (one, two) in tidy.frames.iter().zip(&untidy.frames) {
                let headers = (tidy.header(one), untidy.header(two));
                let (Some(before), Some(now)) = headers else {
                    assert_eq!(one, two, "{dose:?}");
                    continue;
                };
                longer += usize::from(two.bytes.len() > one.bytes.len());
                let added = two.bytes.len() - one.bytes.len();
                assert_eq!((two.wire_len - one.wire_len) as usize, added);
                let end = before.end.min(one.bytes.len());
                let packet = &one.bytes[before.ip..end];
                assert_eq!(&two.bytes[now.ip..][..packet.len()], packet, "{dose:?}");
            }
        }
        assert!(longer > 50, "{dose:?}: {longer}");
    }
}

#[test]
fn numbers_wrap_and_stay_those_of_their_segments() {
    let mut wrapped = BTreeSet::new();
    for (tidy, untidy) in pairs(Dose::OtherNumbers { per_mille: 1_000 }) {
        let mut last: BTreeMap<(Ends, bool), u32> = BTreeMap::new();
        let mut by: BTreeMap<(Ends, bool), u32> = BTreeMap::new();
        for (one, two) in tidy.frames.iter().zip(&untidy.frames) {
            let headers = (tidy.header(one), untidy.header(two));
            let (Some(before), Some(now)) = headers else {
                continue;
            };
            let (Some(tcp), Some(tcp_now)) = (before.tcp, now.tcp) else {
                assert_eq!(one, two);
                continue;
            };
            let way = (now.ends(), now.from_low());
            let own = tcp_now.seq.wrapping_sub(tcp.seq);
            assert_eq!(*by.entry(way).or_insert(own), own);
            assert_eq!(two.bytes[now.payload()..], one.bytes[before.payload()..]);
            if own != 0 {
                assert!(has_right_checksums(&untidy, two));
            }
            let before = last.insert(way, tcp_now.seq);
            if before.is_some_and(|before| before > 0xf000_0000 && tcp_now.seq < 0x1000_0000) {
                wrapped.insert(way);
            }
        }
    }
    assert!(!wrapped.is_empty());
}

#[test]
fn inserted_segments_change_nothing_of_the_others() {
    for kind in [
        Insertion::KeepAlive,
        Insertion::ForgedReset,
        Insertion::Altered,
        Insertion::ZeroWindow,
    ] {
        let dose = Dose::Insertions {
            per_mille: 1_000,
            kind,
        };
        for (tidy, mut untidy) in pairs(dose) {
            let mut before = None;
            for frame in &untidy.frames {
                let tcp = untidy.header(frame).and_then(|header| header.tcp);
                let Some(tcp) = tcp.filter(|_| frame.origin.is_none()) else {
                    before = tcp;
                    continue;
                };
                assert!(has_right_checksums(&untidy, frame), "{kind:?}");
                // The first one follows a segment of the same side.
                if let Some(last) = before.take() {
                    let distance = tcp.seq.wrapping_sub(last.seq).cast_signed();
                    match kind {
                        Insertion::KeepAlive => assert_eq!(distance, -1),
                        // The first one is of the other side.
                        Insertion::ZeroWindow => {}
                        Insertion::ForgedReset => assert!(distance > 1 << 30),
                        Insertion::Altered => assert_eq!(distance, 0),
                    }
                }
            }
            untidy.frames.retain(|frame| frame.origin.is_some());
            assert_eq!(untidy, tidy, "{kind:?}");
        }
    }
}

#[test]
fn fragments_are_the_packet_in_parts() {
    let mut divided = 0;
    for tidy in captures() {
        let dose = Dose::Fragments {
            per_mille: 1_000,
            octets: 40,
        };
        let (untidy, account) = Plan::new(1, vec![dose]).apply(&tidy);
        let origins = origins(&untidy);
        for touch in &account.touches {
            let How::Fragmented(count) = touch.how else {
                panic!("{touch:?}");
            };
            assert_eq!(origins[&touch.origin], count as usize);
            divided += 1;
            let before = &tidy.frames[touch.origin];
            let header = tidy.header(before).unwrap();
            let mut payload = Vec::new();
            let parts = untidy.frames.iter();
            for part in parts.filter(|part| part.origin == Some(touch.origin)) {
                let own = untidy.header(part).unwrap();
                assert!(own.is_fragment);
                assert_eq!(checksum::internet(&part.bytes[own.ip..own.transport]), 0);
                let field = &part.bytes[own.ip + 6..own.ip + 8];
                let field = u16::from_be_bytes([field[0], field[1]]);
                assert_eq!(usize::from(field & 0x1fff) * 8, payload.len());
                payload.extend_from_slice(&part.bytes[own.transport..]);
                let is_last = payload.len() == header.end - header.transport;
                assert_eq!(field & 0x2000 == 0, is_last);
            }
            assert_eq!(payload, before.bytes[header.transport..header.end]);
        }
    }
    assert!(divided > 100, "{divided}");
}

#[test]
fn tunnels_carry_all_packets_of_a_connection() {
    let mut tunnels = BTreeMap::new();
    for tidy in captures() {
        let (untidy, account) = Plan::new(2, vec![Dose::Tunnels { per_mille: 500 }]).apply(&tidy);
        let touched = account.connections();
        let connections = tidy.connections();
        assert_eq!(untidy.frames.len(), tidy.frames.len());
        for (before, now) in tidy.frames.iter().zip(&untidy.frames) {
            let header = tidy.header(before);
            let ends = header.map(|header| connections.ends(&header));
            if !ends.is_some_and(|ends| touched.contains_key(&ends)) {
                assert_eq!(before, now);
                continue;
            }
            let (header, own) = (header.unwrap(), untidy.header(now).unwrap());
            assert_eq!(checksum::internet(&now.bytes[own.ip..own.transport]), 0);
            assert_eq!(own.from_low(), header.from_low());
            let inside = &before.bytes[header.ip..header.end.min(before.bytes.len())];
            assert!(now.bytes.ends_with(inside));
            // Each connection has hosts of its own.
            assert_eq!(*tunnels.entry(own.hosts()).or_insert(ends), ends);
        }
    }
    assert!(tunnels.len() > 5, "{tunnels:?}");
    let protocols: BTreeSet<u8> = tunnels.keys().map(|ends| ends.protocol).collect();
    assert!(protocols.len() > 1, "{protocols:?}");
}

#[test]
fn a_connection_that_is_reused_was_closed_before() {
    let mut reused = 0;
    for tidy in captures() {
        let (untidy, account) = Plan::new(1, vec![Dose::Reuses { per_mille: 1_000 }]).apply(&tidy);
        assert_eq!(account.touches.len() % 3, 0);
        let mut added = untidy.frames.iter().filter(|frame| frame.origin.is_none());
        while let Some(first) = added.next() {
            let rest: Vec<_> = added.by_ref().take(5).collect();
            let all = [&[first][..], &rest].concat();
            let flags = all.iter().map(|frame| {
                assert!(has_right_checksums(&untidy, frame));
                untidy.header(frame).unwrap().tcp.unwrap().flags & 0x3f
            });
            assert_eq!(flags.collect::<Vec<_>>(), [2, 18, 16, 17, 17, 16]);
            reused += 1;
        }
    }
    assert!(reused > 5, "{reused}");
}

#[test]
fn frames_of_a_burst_have_the_time_of_its_first_one() {
    let dose = Dose::EqualTimes { within_us: 2_000 };
    let mut moved = 0;
    for tidy in captures() {
        let (untidy, account) = Plan::new(1, vec![dose]).apply(&tidy);
        moved += account.times.len();
        for (one, two) in tidy.frames.iter().zip(&untidy.frames) {
            let earlier = one.time_ns - two.time_ns;
            assert!(earlier <= 2_000_000, "{earlier}");
            let shift = one.origin.and_then(|origin| account.times.get(&origin));
            assert_eq!(shift.copied().unwrap_or(0), -earlier.cast_signed());
        }
    }
    assert!(moved > 20, "{moved}");
}

#[test]
fn tags_of_a_priority_are_those_of_one_direction() {
    for (tidy, untidy) in pairs(Dose::PriorityTags { per_mille: 1_000 }) {
        let mut ways: BTreeMap<Ends, BTreeSet<bool>> = BTreeMap::new();
        for (one, two) in tidy.frames.iter().zip(&untidy.frames) {
            let Some(header) = untidy.header(two) else {
                continue;
            };
            if one != two {
                assert_eq!(two.bytes[12..14], [0x81, 0]);
                assert_eq!((two.bytes[14] & 0x1f, two.bytes[15]), (0, 0));
                assert_eq!(two.bytes[16..], one.bytes[12..]);
                ways.entry(header.ends())
                    .or_default()
                    .insert(header.from_low());
            }
        }
        assert!(ways.values().all(|ways| ways.len() == 1));
    }
}

#[test]
fn sessions_have_the_packets_and_their_lengths() {
    for (tidy, untidy) in pairs(Dose::Sessions { per_mille: 1_000 }) {
        for (one, two) in tidy.frames.iter().zip(&untidy.frames) {
            if one == two {
                continue;
            }
            let header = tidy.header(one).unwrap();
            let (before, now) = (&one.bytes, &two.bytes);
            assert_eq!(now[header.ip - 2..header.ip + 2], [0x88, 0x64, 0x11, 0]);
            let len = usize::from(super::header::u16_at(now, header.ip + 4).unwrap());
            assert_eq!(len, header.end - header.ip + 2);
            assert_eq!(now[header.ip + 8..], before[header.ip..]);
            assert_eq!(
                (two.wire_len - one.wire_len) as usize,
                now.len() - before.len()
            );
        }
    }
}

#[test]
fn options_stand_before_the_same_payload() {
    let mut families = BTreeSet::new();
    for (tidy, untidy) in pairs(Dose::Options { per_mille: 1_000 }) {
        for (one, two) in tidy.frames.iter().zip(&untidy.frames) {
            if one == two {
                continue;
            }
            let (before, now) = (tidy.header(one).unwrap(), untidy.header(two).unwrap());
            assert!(!now.is_plain);
            assert_eq!((now.src, now.dst), (before.src, before.dst));
            assert_eq!(now.protocol, before.protocol);
            assert_eq!(two.bytes[now.transport..], one.bytes[before.transport..]);
            assert_eq!(now.end - now.transport, before.end - before.transport);
            let ip = &two.bytes[now.ip..now.transport];
            assert!(now.src.0.is_ipv6() || checksum::internet(ip) == 0);
            families.insert(now.src.0.is_ipv6());
        }
    }
    assert!(!families.is_empty());
}

#[test]
fn other_interfaces_have_one_direction_and_exact_times() {
    for (tidy, untidy) in pairs(Dose::Interfaces { per_mille: 1_000 }) {
        assert_eq!(untidy.link_types.len(), 2 * tidy.link_types.len());
        let mut ways: BTreeMap<Ends, BTreeSet<bool>> = BTreeMap::new();
        for (one, two) in tidy.frames.iter().zip(&untidy.frames) {
            assert_eq!((one.time_ns, &one.bytes), (two.time_ns, &two.bytes));
            assert_eq!(untidy.header(two), tidy.header(one));
            if let Some(header) = untidy.header(two).filter(|_| one != two) {
                ways.entry(header.ends())
                    .or_default()
                    .insert(header.from_low());
            }
        }
        assert!(ways.values().all(|ways| ways.len() == 1));
        let again = Capture::read(&untidy.write().unwrap()).unwrap();
        assert_eq!(again, untidy);
    }
}

#[test]
fn segments_that_come_again_have_the_same_octets_and_other_bounds() {
    let mut others = 0;
    for (tidy, mut untidy) in pairs(Dose::Retransmissions { per_mille: 1_000 }) {
        for frame in untidy.frames.iter().filter(|it| it.origin.is_none()) {
            assert!(has_right_checksums(&untidy, frame));
            others += 1;
        }
        assert_eq!(streams(&untidy), streams(&tidy));
        untidy.frames.retain(|frame| frame.origin.is_some());
        assert_eq!(untidy, tidy);
    }
    assert!(others > 20, "{others}");
}

#[test]
fn large_segments_have_the_octets_of_those_that_are_gone() {
    let mut absorbed = 0;
    for tidy in captures() {
        let dose = Dose::LargeSegments { per_mille: 1_000 };
        let (untidy, account) = Plan::new(1, vec![dose]).apply(&tidy);
        let is_absorbed = |touch: &&super::Touch| touch.how == How::Absorbed;
        let gone = account.touches.iter().filter(is_absorbed).count();
        assert_eq!(untidy.frames.len() + gone, tidy.frames.len());
        assert_eq!(streams(&untidy), streams(&tidy));
        for frame in &untidy.frames {
            let origin = frame.origin.unwrap();
            if *frame != tidy.frames[origin] {
                assert!(has_right_checksums(&untidy, frame));
            }
        }
        absorbed += gone;
    }
    assert!(absorbed > 20, "{absorbed}");
}

#[test]
fn segments_without_data_take_nothing_with_them() {
    let mut gone = 0;
    for tidy in captures() {
        let dose = Dose::LostAcks { per_mille: 1_000 };
        let (untidy, account) = Plan::new(1, vec![dose]).apply(&tidy);
        assert!(account.touches.iter().all(|touch| touch.octets == 0));
        assert_eq!(
            untidy.frames.len() + account.touches.len(),
            tidy.frames.len()
        );
        assert_eq!(streams(&untidy), streams(&tidy));
        gone += account.touches.len();
    }
    assert!(gone > 20, "{gone}");
}

#[test]
fn copies_behind_a_router_have_a_smaller_ttl() {
    let dose = Dose::RoutedCopies {
        per_mille: 1_000,
        distance: 0,
    };
    for (tidy, untidy) in pairs(dose) {
        let mut copies = untidy.frames.iter();
        for frame in &tidy.frames {
            assert_eq!(copies.next(), Some(frame));
            let Some(header) = tidy.header(frame) else {
                continue;
            };
            let copy = copies.next().unwrap();
            let now = untidy.header(copy).unwrap();
            let at = if header.src.0.is_ipv4() { 8 } else { 7 };
            let ttl = frame.bytes[header.ip + at].saturating_sub(1);
            assert_eq!(copy.bytes[now.ip + at], ttl);
            assert_eq!(copy.bytes[now.transport..], frame.bytes[header.transport..]);
        }
    }
}

#[test]
fn small_records_have_what_the_large_one_had() {
    let mut split = 0;
    for tidy in captures() {
        let plan = Plan::new(
            5,
            vec![Dose::SmallRecords {
                per_mille: 1_000,
                octets: 30,
            }],
        );
        let (untidy, account) = plan.apply(&tidy);
        let (said, says) = (streams(&tidy), streams(&untidy));
        assert_eq!(said.len(), says.len());
        for (key, stream) in &said {
            let all = |stream: &[Option<u8>]| {
                stream
                    .iter()
                    .map(|octet| octet.unwrap())
                    .collect::<Vec<_>>()
            };
            let is_split = account
                .touches
                .iter()
                .any(|it| (it.ends, it.from_low) == (key.0, key.1));
            match is_split {
                false => assert_eq!(stream, &says[key]),
                true => {
                    split += 1;
                    let (said, says) = (all(stream), all(&says[key]));
                    assert!(says.len() > said.len());
                    assert_eq!(contents(&says), contents(&said));
                }
            }
        }
    }
    assert!(split > 3, "{split}");
}

/// The messages of the handshake at the beginning of a stream, and the octets behind them.
fn contents(mut stream: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let mut handshake = Vec::new();
    while let Some([22, 3, _, high, low]) = stream.get(..5) {
        let end = 5 + usize::from(u16::from_be_bytes([*high, *low]));
        handshake.extend_from_slice(&stream[5..end]);
        stream = &stream[end..];
    }
    (handshake, stream.to_vec())
}

#[test]
fn what_is_written_anew_has_right_lengths_and_checksums() {
    let mut seen = 0;
    for tidy in captures() {
        let doses = vec![
            Dose::SmallRecords {
                per_mille: 1_000,
                octets: 20,
            },
            Dose::SmallSegments {
                per_mille: 1_000,
                octets: 50,
            },
            Dose::Attempts {
                per_mille: 1_000,
                most: 2,
            },
        ];
        let (untidy, _) = Plan::new(9, doses).apply(&tidy);
        let counts = origins(&untidy);
        for frame in &untidy.frames {
            let is_new = frame.origin.is_none_or(|origin| counts[&origin] > 1);
            if !is_new {
                continue;
            }
            seen += 1;
            let header = untidy.header(frame).unwrap();
            assert_eq!(header.end, frame.bytes.len());
            assert_eq!(frame.wire_len as usize, frame.bytes.len());
            let segment = &frame.bytes[header.transport..header.end];
            assert_eq!(
                checksum::transport(header.src.0, header.dst.0, 6, segment),
                0
            );
            if header.src.0.is_ipv4() {
                assert_eq!(
                    checksum::internet(&frame.bytes[header.ip..header.transport]),
                    0
                );
            }
        }
    }
    assert!(seen > 200, "{seen}");
}

#[test]
fn captures_are_read_as_they_were_written() {
    for (file, bytes) in crate::demo::demo_files().unwrap() {
        let Ok(capture) = Capture::read(&bytes) else {
            continue;
        };
        assert_eq!(
            capture.frames.len() as u64,
            file.records,
            "{}",
            file.file_name
        );
        let again = Capture::read(&capture.write().unwrap()).unwrap();
        assert_eq!(again, capture, "{}", file.file_name);
        for end in (0..bytes.len().min(2_000)).step_by(7) {
            if let Ok(part) = Capture::read(&bytes[..end]) {
                assert!(part.frames.len() <= capture.frames.len());
            }
        }
    }
    assert!(Capture::read(b"no capture").is_err());
}

#[test]
fn headers_of_any_octets_are_read_or_not() {
    let mut random = crate::Rng::new(11);
    for tidy in captures() {
        for frame in tidy.frames.iter().step_by(5) {
            let link_type = tidy.link_types[frame.interface as usize];
            for _ in 0..20 {
                let mut bytes = frame.bytes.clone();
                crate::mutate::bytes(&mut random, &mut bytes);
                if let Some(header) = IpHeaders::of(link_type, &bytes) {
                    let _ = header.payload_range(&bytes);
                }
            }
        }
    }
}
