//! Silences of connections whose length is not known once a clock was set, or once packets are lost that showed how much time passed:
//! whether they end a flow is not known either.

use std::collections::{BTreeMap, BTreeSet};

use weir_testkit::untidy::{Account, Frame, How, Touch};

use super::answers::TableRow;
use super::fate::{ConnectionFate, is_absent};
use super::judged::{JudgedCapture, id, number};
use super::tables::{FLOW_PACKETS, FLOWS};

/// A packet of a connection.
#[derive(Clone, Copy)]
struct Stamped {
    /// The index of its frame in the tidy capture.
    index: usize,
    flow: u64,
    /// The time that has passed as far as the tidy capture shows it.
    tidy_ns: i64,
    /// The time that has passed as far as the untidy capture shows it.
    shown_ns: i64,
}

/// The flows of the tidy capture that look like one in the untidy one, or of which one looks like several, because a clock
/// that was set, or a lost packet, hides how much time passed: each with the first of these flows.
pub(super) fn undecided(tidy: &JudgedCapture<'_>, account: &Account) -> BTreeMap<u64, u64> {
    let mut first_of = BTreeMap::new();
    let touches = account.touches.iter();
    let lost: BTreeSet<usize> = touches
        .filter(|touch| is_absent(touch.how))
        .map(|touch| touch.origin)
        .collect();
    let may_be_mistaken = may_be_mistaken(tidy, account);
    let is_set = account.times.values().any(|shift| *shift != 0);
    if !may_be_mistaken && !is_set && lost.is_empty() {
        return first_of;
    }
    let frames = &tidy.capture.frames;
    let all = passed(frames, &Account::default(), &BTreeSet::new());
    let shown = passed(frames, account, &lost);
    for (timeout_ns, packets) in connections(tidy, &all, &shown) {
        if may_be_mistaken && let Some(first) = packets.first() {
            first_of.extend(packets.iter().map(|packet| (packet.flow, first.flow)));
            continue;
        }
        for (at, later) in packets.iter().enumerate().skip(1) {
            let before = &packets[..at];
            let earlier = before[at - 1];
            let last = |time: fn(&Stamped) -> i64| {
                let own = before.iter().filter(|one| one.flow == earlier.flow);
                own.map(time).max().unwrap_or_default()
            };
            let tidy_ns = later.tidy_ns.saturating_sub(last(|one| one.tidy_ns));
            let shown_ns = later.shown_ns.saturating_sub(last(|one| one.shown_ns));
            if (tidy_ns < timeout_ns) != (shown_ns < timeout_ns) {
                let first = *first_of.entry(earlier.flow).or_insert(earlier.flow);
                first_of.insert(later.flow, first);
            }
        }
    }
    first_of
}

/// Whether the times of one clock may look like those of another one, or of none: several clocks stamped the packets of the
/// tidy capture, from minutes apart, and are set, or packets that show which one goes on are missing or in other places.
fn may_be_mistaken(tidy: &JudgedCapture<'_>, account: &Account) -> bool {
    let out_of_order_ns = OUT_OF_ORDER_NS.unsigned_abs();
    let after_ns = |one: &Frame, next: &Frame| next.time_ns.saturating_sub(one.time_ns);
    let pairs = || tidy.capture.frames.windows(2);
    let has_clocks = pairs().any(|pair| after_ns(&pair[1], &pair[0]) > out_of_order_ns)
        && pairs().any(|pair| after_ns(&pair[0], &pair[1]) > SILENCE_NS_MIN);
    let is_set = |shift: &i64| shift.unsigned_abs() > out_of_order_ns;
    let is_elsewhere =
        |touch: &Touch| is_absent(touch.how) || matches!(touch.how, How::Moved | How::Doubled);
    let is_other = account.times.values().any(is_set) || account.touches.iter().any(is_elsewhere);
    has_clocks && is_other
}

/// The flows of the tidy capture whose packets are in the flow of another one, because packets are missing that distinguish
/// connections of the same ends: each with that other one.
pub(super) fn joined(
    tidy: &JudgedCapture<'_>,
    untidy: &JudgedCapture<'_>,
    states: &BTreeMap<u64, ConnectionFate>,
) -> BTreeMap<u64, u64> {
    let packets = |side: &JudgedCapture<'_>| -> Vec<(u64, u64)> {
        let rows = side.answer.rows(FLOW_PACKETS).iter();
        rows.filter_map(|row| {
            let origin = side.origin(number(row, "frame.number")?)?;
            Some((origin, id(row)?))
        })
        .collect()
    };
    let tidy_of: BTreeMap<u64, u64> = packets(tidy).into_iter().collect();
    let lacks = |flow: u64| states.get(&flow).is_some_and(ConnectionFate::lacks);
    let mut firsts = BTreeMap::new();
    let mut joined = BTreeMap::new();
    for (origin, flow) in packets(untidy) {
        let Some(tidy) = tidy_of.get(&origin).copied() else {
            continue;
        };
        let first = *firsts.entry(flow).or_insert(tidy);
        if first != tidy && lacks(first) && lacks(tidy) {
            joined.insert(tidy, first);
        }
    }
    joined
}

/// The time that has passed at each frame as far as the capture shows it without those that are lost: nothing passes where a clock is
/// set back, and a smaller step, or one that a pause hides, is part of the time between two frames.
fn passed(frames: &[Frame], account: &Account, lost: &BTreeSet<usize>) -> Vec<i64> {
    let mut now_ns = frames
        .first()
        .map_or(0, |frame| frame.time_ns.cast_signed());
    let mut last_ns = None;
    let mut passed = Vec::new();
    for frame in frames {
        if !frame.origin.is_some_and(|origin| lost.contains(&origin)) {
            let time_ns = frame.time_ns.cast_signed();
            let time_ns = time_ns.saturating_add(shift(account, frame.origin));
            let gap_ns = time_ns.saturating_sub(last_ns.replace(time_ns).unwrap_or(time_ns));
            let is_set_back = gap_ns < -OUT_OF_ORDER_NS;
            now_ns = now_ns.saturating_add(if is_set_back { 0 } else { gap_ns });
        }
        passed.push(now_ns);
    }
    passed
}

/// The packets of each connection in their order, with the silence that ends a flow of it, and the time that has passed at each frame of
/// the tidy capture and of the untidy one.
fn connections(tidy: &JudgedCapture<'_>, all: &[i64], shown: &[i64]) -> Vec<(i64, Vec<Stamped>)> {
    let flows = tidy.answer.rows(FLOWS).iter();
    let keys: BTreeMap<u64, (u64, [String; 2])> = flows
        .filter_map(|row| Some((id(row)?, key(row)?)))
        .collect();
    let mut connections: BTreeMap<&(u64, [String; 2]), Vec<Stamped>> = BTreeMap::new();
    for row in tidy.answer.rows(FLOW_PACKETS) {
        let index = number(row, "frame.number").and_then(|it| usize::try_from(it - 1).ok());
        let (Some(index), Some(flow)) = (index, id(row)) else {
            continue;
        };
        let (Some(tidy_ns), Some(shown_ns), Some(key)) =
            (all.get(index), shown.get(index), keys.get(&flow))
        else {
            continue;
        };
        connections.entry(key).or_default().push(Stamped {
            index,
            flow,
            tidy_ns: *tidy_ns,
            shown_ns: *shown_ns,
        });
    }
    let mut all = Vec::new();
    for ((protocol, _), mut packets) in connections {
        packets.sort_by_key(|packet| packet.index);
        let silence_ns = match protocol {
            6 | 132 => 300_000_000_000,
            _ => SILENCE_NS_MIN.cast_signed(),
        };
        all.push((silence_ns, packets));
    }
    all
}

/// The protocol and the ends of a flow. Messages of ICMP without an answer are flows of one direction.
fn key(row: &TableRow) -> Option<(u64, [String; 2])> {
    let protocol = number(row, "ip.proto")?;
    let end = |address: &str, port: &str| {
        let address = row.get(address)?.as_str()?;
        Some(format!("{address} {}", number(row, port).unwrap_or(0)))
    };
    let mut ends = [end("addr.src", "port.src")?, end("addr.dst", "port.dst")?];
    if !matches!(protocol, 1 | 58) {
        ends.sort();
    }
    Some((protocol, ends))
}

fn shift(account: &Account, origin: Option<usize>) -> i64 {
    let shift = origin.and_then(|origin| account.times.get(&origin));
    shift.copied().unwrap_or(0)
}

/// Times of one clock may be out of order by this.
const OUT_OF_ORDER_NS: i64 = 1_000_000_000;
/// The shortest silence that ends a flow.
const SILENCE_NS_MIN: u64 = 60_000_000_000;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use weir_testkit::untidy::{Capture, Dose, Plan};

    use super::super::answers::TableAnswers;
    use super::*;

    /// The flows that are undecided when a clock is set before the last of these frames, each with its time in milliseconds and its
    /// flow. Flow 3 has other ends.
    fn found(frames: &[(u64, u64)], by_ms: i64) -> Vec<u64> {
        let files = weir_testkit::demo::demo_files().unwrap();
        let voip = files
            .into_iter()
            .find(|(file, _)| file.file_name == "voip.pcap");
        let mut capture = Capture::read(&voip.unwrap().1).unwrap();
        capture.frames.truncate(frames.len());
        for (frame, (ms, _)) in capture.frames.iter_mut().zip(frames) {
            frame.time_ns = 1_700_000_000_000_000_000 + ms * 1_000_000;
        }
        let row = |value: Value| value.as_object().unwrap().clone();
        let flows = [(1, 40_001), (2, 40_001), (3, 40_003)].map(|(flow, port)| {
            row(json!({
                "flow.id": flow, "ip.proto": 17, "addr.src": "10.1.0.5", "port.src": port,
                "addr.dst": "10.1.0.1", "port.dst": 53,
            }))
        });
        let packets = frames
            .iter()
            .enumerate()
            .map(|(at, (_, flow))| row(json!({"frame.number": at + 1, "flow.id": flow})));
        let answer = TableAnswers {
            tables: BTreeMap::from([(FLOWS, flows.to_vec()), (FLOW_PACKETS, packets.collect())]),
        };
        let last = frames.len() as u16 - 1;
        let dose = Dose::ClockStep {
            at_per_mille: last * 1_000 / frames.len() as u16 + 1,
            by_ms,
        };
        let (_, account) = Plan::new(1, vec![dose]).apply(&capture);
        let tidy = JudgedCapture {
            capture: &capture,
            answer: &answer,
        };
        undecided(&tidy, &account).into_keys().collect()
    }

    #[test]
    fn a_silence_that_a_step_hides_is_undecided() {
        assert_eq!(found(&[(0, 1), (70_000, 2)], -20_000), [1, 2]);
        assert_eq!(found(&[(0, 1), (70_000, 2)], -90_000), [1, 2]);
        assert_eq!(found(&[(0, 1), (59_500, 1)], 900), [1]);
        // The other clock, which is ahead, is taken for a pause of this one.
        let frames = [(0, 3), (9_000_000, 1), (0, 3), (9_000_000, 1)];
        assert_eq!(found(&frames, -1_500), [1, 3]);
        // The step is shorter than times may be out of order.
        assert_eq!(found(&[(0, 1), (60_100, 2)], -400), [1, 2]);
    }

    #[test]
    fn a_silence_that_shows_is_decided() {
        assert_eq!(found(&[(0, 1), (30_000, 1)], -20_000), [0_u64; 0]);
        assert_eq!(found(&[(0, 1), (90_000, 2)], -20_000), [0_u64; 0]);
        // A second passes where the clock is set.
        let frames = [(0, 1), (90_000, 3), (91_000, 2)];
        assert_eq!(found(&frames, -3_000), [0_u64; 0]);
        assert_eq!(found(&frames, -90_000), [0_u64; 0]);
    }
}
