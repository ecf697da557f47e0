//! What is measured of streams of packets that are late, lost, repeated or out of order.

use super::*;

/// Packets of 20 ms by their numbers, each so many milliseconds late.
fn measure(packets: &[(u16, i64)]) -> Measure {
    let mut measure = Measure::default();
    let first = packets[0].0;
    for (sequence, late_ms) in packets {
        let steps = i64::from(sequence.wrapping_sub(first) as i16);
        measure.take(&Arrival {
            time_ns: (steps * 20 + late_ms) * 1_000_000,
            sequence: *sequence,
            timestamp: ((steps * 160) as u32).wrapping_add(4_294_967_200),
            marker: false,
            clock_rate: Some(8_000),
            is_comfort_noise: false,
        });
    }
    measure
}

#[test]
fn a_stream_without_fault_has_none() {
    let numbers: Vec<(u16, i64)> = (0..1_000)
        .map(|n| (65_000_u16.wrapping_add(n), 0))
        .collect();
    let measure = measure(&numbers);
    assert_eq!((measure.packets(), measure.expected()), (1_000, 1_000));
    assert_eq!(
        (measure.lost(), measure.missing(), measure.gaps()),
        (0, 0, 0)
    );
    assert_eq!(measure.deltas_ms(), Some((20.0, 20.0, 20.0)));
    assert_eq!(measure.jitters_ms(), Some((0.0, 0.0, 0.0)));
    assert!(measure.drift_ppm().unwrap().abs() < 1e-6);
}

#[test]
fn lost_overtaken_and_repeated_packets_are_distinguished() {
    let measure = measure(&[(1, 0), (2, 0), (5, 0), (4, 25), (6, 0), (6, 1), (9, 0)]);
    assert_eq!(measure.expected(), 9);
    assert_eq!((measure.duplicates(), measure.out_of_order()), (1, 1));
    // The numbers 3, 7 and 8 never arrived; a repeated one compensates for one of them.
    assert_eq!((measure.missing(), measure.lost()), (3, 2));
    assert_eq!((measure.gaps(), measure.longest_gap()), (2, 2));
}

/// A packet that was overtaken made a gap: lost ones looked as if they had been lost one by one.
#[test]
fn gaps_are_of_numbers_that_never_came() {
    let overtaken = measure(&[(1, 0), (3, 0), (2, 30), (4, 0), (5, 0)]);
    assert_eq!((overtaken.out_of_order(), overtaken.missing()), (1, 0));
    assert_eq!((overtaken.gaps(), overtaken.longest_gap()), (0, 0));
    // 3 and 4 fill their gap, 7 makes two of its own, and 11 to 15 are lost in a row.
    let several = measure(&[
        (1, 0),
        (2, 0),
        (5, 0),
        (3, 50),
        (4, 35),
        (9, 0),
        (7, 45),
        (10, 0),
        (16, 0),
    ]);
    assert_eq!((several.out_of_order(), several.missing()), (3, 7));
    assert_eq!((several.gaps(), several.longest_gap()), (3, 5));
    // Gaps that are older than the window stay.
    let mut numbers: Vec<(u16, i64)> = (0..3_000)
        .filter(|n| !(100..105).contains(n) && *n != 2_000)
        .map(|n| (n, 0))
        .collect();
    let behind = numbers.iter().position(|(n, _)| *n == 2_011).unwrap();
    numbers.insert(behind, (2_000, 210));
    let long = measure(&numbers);
    assert_eq!((long.out_of_order(), long.missing()), (1, 5));
    assert_eq!((long.gaps(), long.longest_gap()), (1, 5));
    assert!((long.burst_ratio() - 5.0 * (1.0 - 5.0 / 3_000.0)).abs() < 1e-9);
}

#[test]
fn what_comes_far_behind_is_remembered_as_long_as_the_window() {
    let mut numbers: Vec<(u16, i64)> = (0..2_000)
        .filter(|n| *n != 1_500 && *n != 5)
        .map(|n| (n, 0))
        .collect();
    numbers.extend([(1_500, 0), (1_500, 0), (1_400, 0), (5, 0)]);
    let measure = measure(&numbers);
    assert_eq!((measure.duplicates(), measure.out_of_order()), (2, 2));
    assert_eq!(measure.missing(), 0);
}

#[test]
fn what_a_buffer_cannot_wait_for_is_late() {
    let mut numbers: Vec<(u16, i64)> = (0..100).map(|n| (n, 0)).collect();
    numbers[50].1 = 59;
    numbers[60].1 = 70;
    let measure = measure(&numbers);
    assert_eq!(measure.late(), 1);
    assert!((measure.unheard_percent() - 1.0).abs() < 1e-9);
}

#[test]
fn a_slow_clock_is_reported_and_does_not_make_all_packets_late() {
    let mut measure = Measure::default();
    for n in 0..50_000_i64 {
        measure.take(&Arrival {
            // 200 parts of a million longer.
            time_ns: n * 20_004_000,
            sequence: n as u16,
            timestamp: (n * 160) as u32,
            marker: false,
            clock_rate: Some(8_000),
            is_comfort_noise: false,
        });
    }
    assert!((measure.drift_ppm().unwrap() + 200.0).abs() < 0.1);
    assert_eq!(measure.late(), 0);
    assert_eq!(measure.missing(), 0);
}

/// Packets: milliseconds of arrival, number, timestamp and marker.
fn of(packets: impl IntoIterator<Item = (i64, u16, u32, bool)>) -> Measure {
    let mut measure = Measure::default();
    for (time_ms, sequence, timestamp, marker) in packets {
        measure.take(&Arrival {
            time_ns: time_ms * 1_000_000,
            sequence,
            timestamp,
            marker,
            clock_rate: Some(8_000),
            is_comfort_noise: false,
        });
    }
    measure
}

/// A number of packets of 20 ms from these times and numbers on.
fn run(
    count: i64,
    time_ms: i64,
    sequence: u16,
    timestamp: u32,
) -> impl Iterator<Item = (i64, u16, u32, bool)> {
    (0..count).map(move |n| {
        let timestamp = timestamp.wrapping_add(160 * n as u32);
        (
            time_ms + 20 * n,
            sequence.wrapping_add(n as u16),
            timestamp,
            false,
        )
    })
}

#[track_caller]
fn is_whole(measure: &Measure, packets: u64) {
    assert_eq!((measure.packets(), measure.expected()), (packets, packets));
    assert_eq!((measure.lost(), measure.missing()), (0, 0));
    assert_eq!((measure.duplicates(), measure.out_of_order()), (0, 0));
    assert_eq!((measure.gaps(), measure.late()), (0, 0));
    assert_eq!(measure.skew_ms(), Some(0.0));
    assert_eq!(measure.jitters_ms(), Some((0.0, 0.0, 0.0)));
    assert_eq!(measure.deltas_ms(), Some((20.0, 20.0, 20.0)));
}

#[test]
fn a_source_that_begins_anew_loses_nothing() {
    // RFC 3550, A.1: far ahead, far behind, behind within the window, at the same numbers, across the wrap.
    let beginnings = [
        (50_000, 900_000),
        (30_000, 7),
        (39_500, 0),
        (40_000, 1_000),
        (65_500, 4_294_967_000),
        (45_000, 1_000),
        // As far behind as packets that were overtaken, by another clock.
        (40_150, 900_000),
        (40_199, 4_000_000_000),
        // No farther ahead than lost packets may be, by another clock.
        (40_400, 900_000),
        (42_000, 7),
    ];
    for (sequence, timestamp) in beginnings {
        let measure = of(run(200, 0, 40_000, 1_000).chain(run(200, 5_000, sequence, timestamp)));
        is_whole(&measure, 400);
    }
    // In front of the first number, and where numbers are missing.
    is_whole(
        &of(run(50, 0, 5_000, 1_000).chain(run(50, 5_000, 4_950, 900_000))),
        100,
    );
    let before = run(100, 0, 5_000, 1_000).filter(|packet| packet.1 != 5_060);
    let measure = of(before.chain(run(100, 5_000, 5_060, 900_000)));
    assert_eq!((measure.packets(), measure.expected()), (199, 200));
    assert_eq!((measure.missing(), measure.out_of_order()), (1, 0));
    // Three beginnings, the last of which lost a packet.
    let last = run(100, 20_000, 9, 3).filter(|packet| packet.1 != 50);
    let measure = of(run(50, 0, 1, 1)
        .chain(run(60, 9_000, 20_000, 5))
        .chain(last));
    assert_eq!((measure.packets(), measure.expected()), (209, 210));
    assert_eq!((measure.missing(), measure.gaps()), (1, 1));
}

/// A network that fails for minutes loses more than 3,000 packets, of which none was counted.
#[test]
fn more_packets_than_those_of_a_dropout_are_lost_if_their_time_has_passed() {
    let lost = |count: i64, late_ms: i64| {
        let (time_ms, sequence) = (20 * (100 + count), 100 + count);
        let timestamp = 160 * sequence as u32;
        of(run(100, 0, 0, 0).chain(run(100, time_ms + late_ms, sequence as u16, timestamp)))
    };
    for count in [2_999, 3_000, 4_150, 32_766] {
        let measure = lost(count, 30);
        assert_eq!((measure.packets(), measure.gaps()), (200, 1), "{count}");
        assert_eq!(measure.missing(), count as u64);
        assert_eq!(measure.longest_gap(), count as u64);
    }
    // So many packets were not sent in this time.
    is_whole(
        &of(run(100, 0, 0, 0).chain(run(100, 5_000, 4_000, 40_000))),
        200,
    );
    // The clock goes on, and the packets would have had 200 ms each.
    let slow = of(run(100, 0, 0, 0).chain(run(100, 802_000, 4_100, 6_416_000)));
    assert_eq!((slow.packets(), slow.missing()), (200, 0));
    assert_eq!(lost(4_150, -5_000).missing(), 0);
}

#[test]
fn a_number_that_jumps_alone_is_no_beginning() {
    let mut packets: Vec<_> = run(200, 0, 1_000, 0).collect();
    packets[100].1 = 60_000;
    let measure = of(packets);
    // The number that it should have had never arrived; its own was expected by nothing else.
    assert_eq!((measure.packets(), measure.expected()), (200, 201));
    assert_eq!((measure.missing(), measure.longest_gap()), (1, 1));
    // A packet that jumps and came twice counts as one of two.
    let packets = run(5, 0, 1, 0)
        .chain([(100, 20_000, 7, false)])
        .chain(run(5, 100, 20_000, 7));
    let measure = of(packets);
    assert_eq!((measure.packets(), measure.expected()), (11, 10));
    assert_eq!((measure.missing(), measure.duplicates()), (0, 1));
}

#[test]
fn a_clock_that_is_set_is_no_lateness() {
    for timestamp in [0, 5_000_000, 4_000_000_000, 96_000, 113_000, 115_800] {
        let measure = of(run(100, 0, 1_000, 100_000).chain(run(100, 3_000, 1_100, timestamp)));
        is_whole(&measure, 200);
        assert!(measure.drift_ppm().unwrap().abs() < 1e-6);
    }
}

#[test]
fn a_clock_of_another_rate_is_no_lateness() {
    let mut measure = Measure::default();
    for n in 0..300_u32 {
        // RFC 7160, 4.1: the timestamps of a codec say nothing about those of another one.
        let (clock_rate, timestamp) = match n {
            100..200 => (48_000, 16_000 + 960 * n),
            _ => (8_000, 160 * n),
        };
        measure.take(&Arrival {
            time_ns: i64::from(n) * 20_000_000,
            sequence: n as u16,
            timestamp,
            marker: false,
            clock_rate: Some(clock_rate),
            is_comfort_noise: false,
        });
    }
    is_whole(&measure, 300);
    assert!(measure.drift_ppm().unwrap().abs() < 1e-6);
}

/// A mirror port or a tap gives each packet a second time, about a second later.
#[test]
fn copies_have_no_part_in_skew_and_drift() {
    let mut packets: Vec<_> = run(200, 0, 1_000, 0)
        .chain(run(200, 1_003, 1_000, 0))
        .collect();
    packets.sort_by_key(|packet| packet.0);
    let measure = of(packets);
    assert_eq!((measure.duplicates(), measure.missing()), (200, 0));
    assert_eq!((measure.late(), measure.skew_ms()), (0, Some(0.0)));
    assert!(measure.drift_ppm().unwrap().abs() < 1e-6);
}

/// Pictures of 40 ms in groups whose members are shown in this order, each so many milliseconds late.
fn pictures(order: &[u32], late_ms: impl Fn(u32) -> i64) -> Measure {
    let mut measure = Measure::default();
    let group = order.len() as u32;
    for n in 0..100_u32 {
        let shown = n - n % group + order[(n % group) as usize];
        measure.take(&Arrival {
            time_ns: (i64::from(n) * 40 + late_ms(n)) * 1_000_000,
            sequence: n as u16,
            timestamp: 3_600 * shown,
            marker: false,
            clock_rate: Some(90_000),
            is_comfort_noise: false,
        });
    }
    measure
}

#[test]
fn pictures_that_are_shown_in_another_order_are_of_one_clock() {
    let orders: [&[u32]; 3] = [&[0, 3, 1, 2], &[2, 0, 1], &[0, 8, 4, 2, 1, 3, 6, 5, 7]];
    for order in orders {
        let measure = pictures(order, |_| 0);
        assert_eq!((measure.packets(), measure.lost()), (100, 0));
        assert!(measure.jitters_ms().unwrap().2 > 40.0);
        // Pictures were late that are sent behind others which are shown later.
        assert_eq!((measure.late(), measure.out_of_order()), (0, 0));
    }
    // The network delays one by more than the sender and a buffer do.
    let measure = pictures(&[0, 3, 1, 2], |n| if n == 40 { 150 } else { 0 });
    assert_eq!(measure.late(), 1);
}

#[test]
fn a_pause_in_which_the_clock_stood_still_is_no_lateness() {
    let mut packets: Vec<_> = run(100, 0, 1_000, 0)
        .chain(run(100, 4_000, 1_100, 16_000))
        .collect();
    packets[100].3 = true;
    let measure = of(packets.clone());
    assert_eq!((measure.late(), measure.missing()), (0, 0));
    assert_eq!(measure.skew_ms(), Some(0.0));
    assert!(measure.drift_ppm().unwrap().abs() < 1e-6);
    // Not all senders set the marker: packets that come as fast as they were sent were held back by none.
    packets[100].3 = false;
    let measure = of(packets);
    assert_eq!((measure.late(), measure.missing()), (0, 0));
    assert_eq!(measure.skew_ms(), Some(0.0));
    assert!(measure.drift_ppm().unwrap().abs() < 1e-6);
}

/// Pauses in which the clock stood still, without a marker behind them, made all later packets late.
#[test]
fn pauses_without_a_marker_are_the_senders_or_the_networks() {
    let pauses = (0..10).flat_map(|n| {
        let from = 50 * n;
        run(50, 1_500 * i64::from(n), from, 160 * u32::from(from))
    });
    let measure = of(pauses);
    assert_eq!((measure.packets(), measure.late()), (500, 0));
    assert_eq!(measure.skew_ms(), Some(0.0));
    // Each of these packets comes twice, as at a mirror port.
    let twice = run(100, 0, 0, 0).chain(run(100, 4_000, 100, 16_000));
    let measure = of(twice.flat_map(|packet| [packet, packet]));
    assert_eq!((measure.duplicates(), measure.late()), (200, 0));
    // A network holds packets back for a second, which come one right after another.
    let held_back = |copies: usize| {
        let packets = run(200, 0, 0, 0).map(|mut packet| {
            packet.0 = packet.0.max(if packet.1 < 100 { 0 } else { 3_000 });
            packet
        });
        of(packets.flat_map(|packet| vec![packet; copies]))
    };
    for copies in [1, 2] {
        // The 47 packets that were sent more than 60 ms before their arrival.
        let measure = held_back(copies);
        assert_eq!(measure.late(), 47);
        assert_eq!(measure.skew_ms(), Some(-1_000.0));
    }
}

/// A sender that was silent, as while the call was on hold, may go on with a clock that lost some time. All later packets were late.
#[test]
fn a_clock_that_lost_time_in_a_silence_is_no_lateness() {
    for lost_ms in [80, 100, 199, 400] {
        let silent = run(100, 12_000 + lost_ms, 100, 160 * 600);
        let measure = of(run(100, 0, 0, 0).chain(silent));
        assert_eq!((measure.late(), measure.missing()), (0, 0), "{lost_ms}");
        // The network holds back what was sent behind the silence.
        let held_back = run(100, 12_000, 100, 160 * 600).map(|mut packet| {
            packet.0 = packet.0.max(12_000 + lost_ms);
            packet
        });
        let measure = of(run(100, 0, 0, 0).chain(held_back));
        assert!(measure.late() > 0, "{lost_ms}");
    }
}

/// Pauses of 200 to 400 ms without a marker made all later packets late, and so did longer ones if the first packet behind them
/// was late by a few milliseconds.
#[test]
fn short_pauses_and_those_with_jitter_are_the_senders() {
    for pause_ms in [220, 300, 380, 1_000, 4_000] {
        for jitter_ms in [0, 3, 8, 15] {
            // The first packets of each of ten talkspurts are late by turns, the others are not.
            let spurts = (0..10).flat_map(|n| {
                let from = 50 * n;
                let spurt = run(
                    50,
                    (1_000 + pause_ms) * i64::from(n),
                    from,
                    160 * u32::from(from),
                );
                spurt.enumerate().map(move |(at, mut packet)| {
                    packet.0 += if at % 2 == 0 && at < 30 { jitter_ms } else { 0 };
                    packet
                })
            });
            let measure = of(spurts);
            assert_eq!(measure.late(), 0, "{pause_ms}, {jitter_ms}");
            assert_eq!(measure.missing(), 0);
            assert!(measure.skew_ms().unwrap().abs() < 151.0);
        }
        // The network holds packets back for so long, which come one right after another, or twice as fast as they were sent.
        for each_ms in [0, 1, 10] {
            let mut free_ms = 0;
            let packets = run(400, 0, 0, 0).map(|mut packet| {
                if packet.1 >= 100 {
                    free_ms = (free_ms + each_ms).max(2_000 + pause_ms);
                    packet.0 = packet.0.max(free_ms);
                }
                packet
            });
            let measure = of(packets);
            assert!(measure.late() > 5, "{pause_ms}, {each_ms}");
            let expected = -f64::from(i32::try_from(pause_ms).unwrap());
            assert_eq!(measure.skew_ms(), Some(expected), "{each_ms}");
        }
    }
}

#[test]
fn a_packet_behind_events_is_compared_with_the_one_before_them() {
    let mut measure = Measure::default();
    for n in 0..300_u16 {
        let is_event = (100..110).contains(&n);
        measure.take(&Arrival {
            // The first one behind the events is 20 ms late.
            time_ns: i64::from(n) * 20_000_000 + if n == 110 { 20_000_000 } else { 0 },
            sequence: n,
            timestamp: if is_event { 16_000 } else { u32::from(n) * 160 },
            marker: n == 100,
            clock_rate: (!is_event).then_some(8_000),
            is_comfort_noise: false,
        });
    }
    assert_eq!((measure.late(), measure.missing()), (0, 0));
    assert_eq!(measure.skew_ms(), Some(-20.0));
    // RFC 3550, A.8: a sixteenth of 20 ms, and of the 20 ms back.
    let most = 1.25 + (20.0 - 1.25) / 16.0;
    assert!((measure.jitters_ms().unwrap().2 - most).abs() < 1e-9);
    assert!(measure.drift_ppm().unwrap().abs() < 50.0);
}

#[test]
fn any_numbers_and_times_are_survived() {
    let mut seed = 7_u64;
    let mut next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        seed >> 16
    };
    let mut measure = Measure::default();
    for _ in 0..20_000 {
        measure.take(&Arrival {
            time_ns: (next() << 20) as i64,
            sequence: next() as u16,
            timestamp: next() as u32,
            marker: next() % 3 == 0,
            clock_rate: (next() % 2 == 0).then_some(next() as u32),
            is_comfort_noise: next() % 5 == 0,
        });
    }
    assert!(measure.missing() <= measure.expected());
    assert!(measure.unheard_percent() <= 100.0);
}
