//! Packets that come twice, and packets that are overtaken.

use std::collections::BTreeMap;
use std::net::IpAddr;

use super::header::{FIN, IpHeaders, RST, SYN, put_u16};
use super::{Account, Capture, Draw, Ends, Frame, How};
use crate::Rng;
use crate::capture::link_type;
use crate::packet::checksum;

/// Captures packets twice, the second time behind a router when the copies `are_routed`.
pub(super) fn duplicates(
    draw: &Draw<'_>,
    capture: &mut Capture,
    account: &mut Account,
    (per_mille, distance): (u16, u16),
    are_routed: bool,
) {
    let frames = std::mem::take(&mut capture.frames);
    let mut later: Vec<(usize, Frame)> = Vec::new();
    let mut all = Vec::with_capacity(frames.len());
    for (index, frame) in frames.into_iter().enumerate() {
        // A duplicate that would come too late is placed at once.
        let is_late = |(_, twice): &mut (usize, Frame)| {
            frame.time_ns.abs_diff(twice.time_ns) > OVERTAKEN_NS_MAX
        };
        all.extend(later.extract_if(.., is_late).map(|(_, twice)| twice));
        if let (Some(header), Some(origin)) = (capture.header(&frame), frame.origin) {
            let ends = draw.connections.ends(&header);
            if let Some(mut random) = draw.frame(&ends, origin, per_mille) {
                account.touch(origin, ends, &header, &frame.bytes, How::Doubled);
                // A SYN that comes behind its answer is another attempt.
                let distance = match header.tcp.is_some_and(|tcp| tcp.has(SYN)) {
                    true => 0,
                    false => u64::from(distance),
                };
                let after = index + random.below(distance + 1) as usize;
                let mut copy = frame.clone();
                if are_routed {
                    let link = capture.link_types.get(frame.interface as usize);
                    let is_ethernet = link == Some(&link_type::ETHERNET);
                    route(&header, &mut copy, is_ethernet, &mut random);
                }
                later.push((after, copy));
            }
        }
        let time_ns = frame.time_ns;
        all.push(frame);
        // A duplicate has the time at which it was captured.
        for (_, mut twice) in later.extract_if(.., |(after, _)| *after <= index) {
            twice.time_ns = time_ns;
            all.push(twice);
        }
    }
    all.extend(later.into_iter().map(|(_, frame)| frame));
    capture.frames = all;
}

/// The frame as it is behind a router. Fragments of a packet stay in their network.
fn route(header: &IpHeaders, frame: &mut Frame, is_ethernet: bool, random: &mut Rng) {
    let bytes = &mut frame.bytes;
    match header.src.0 {
        IpAddr::V4(_) => {
            bytes[header.ip + 8] = bytes[header.ip + 8].saturating_sub(1);
            put_u16(bytes, header.ip + 10, 0);
            let sum = checksum::internet(&bytes[header.ip..header.transport]);
            put_u16(bytes, header.ip + 10, sum);
        }
        IpAddr::V6(_) => bytes[header.ip + 7] = bytes[header.ip + 7].saturating_sub(1),
    }
    if !is_ethernet {
        return;
    }
    bytes[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    if !header.is_fragment && random.percent(30) {
        let vlan = random.between(1, 4_094) as u16;
        bytes.splice(12..12, [[0x81, 0x00], vlan.to_be_bytes()].concat());
        frame.wire_len = frame.wire_len.saturating_add(4);
    }
}

/// Moves segments with data behind frames that were sent after them. Where a connection begins or ends, and where
/// times pass that a receiver waits for, everything stays in its order.
pub(super) fn reordering(
    draw: &Draw<'_>,
    capture: &mut Capture,
    account: &mut Account,
    (per_mille, distance): (u16, u16),
    in_time: bool,
) {
    let headers: Vec<_> = capture
        .frames
        .iter()
        .map(|frame| capture.header(frame))
        .collect();
    let times: Vec<u64> = capture.frames.iter().map(|frame| frame.time_ns).collect();
    let mut order: Vec<usize> = (0..capture.frames.len()).collect();
    let mut is_moved = vec![false; order.len()];
    // The first packet of a connection stays the first one, and that behind a silence, as it begins another flow: the time of the
    // last packet of each.
    let mut has_begun = BTreeMap::new();
    let mut at = 0;
    while at < order.len() {
        let index = order[at];
        let overtaken_by = match is_moved[index] {
            true => None,
            false => overtaking(
                draw,
                capture,
                &headers,
                (index, &order[at + 1..]),
                (per_mille, distance),
                &has_begun,
            ),
        };
        let Some((ends, count)) = overtaken_by else {
            let ends = headers[index].map(|header| draw.connections.ends(&header));
            has_begun.extend(ends.map(|ends| (ends, times[index])));
            at += 1;
            continue;
        };
        if let (Some(header), Some(origin)) = (&headers[index], capture.frames[index].origin) {
            account.touch(
                origin,
                ends,
                header,
                &capture.frames[index].bytes,
                How::Moved,
            );
        }
        is_moved[index] = true;
        order[at..=at + count].rotate_left(1);
    }
    let mut frames: Vec<Frame> = order
        .iter()
        .map(|index| capture.frames[*index].clone())
        .collect();
    if in_time {
        for (frame, time_ns) in frames.iter_mut().zip(&times) {
            if let Some(origin) = frame.origin.filter(|_| frame.time_ns != *time_ns) {
                let difference = (*time_ns).wrapping_sub(frame.time_ns) as i64;
                *account.times.entry(origin).or_default() += difference;
            }
            frame.time_ns = *time_ns;
        }
    }
    capture.frames = frames;
}

/// The connection of a segment and the number of frames behind it that overtake it; `None` when the segment stays in its place.
fn overtaking(
    draw: &Draw<'_>,
    capture: &Capture,
    headers: &[Option<IpHeaders>],
    (index, behind): (usize, &[usize]),
    (per_mille, distance): (u16, u16),
    has_begun: &BTreeMap<Ends, u64>,
) -> Option<(Ends, usize)> {
    let (header, frame) = (headers[index]?, &capture.frames[index]);
    let is_edge = |header: &IpHeaders| header.tcp.is_none_or(|tcp| tcp.has(SYN | FIN | RST));
    if is_edge(&header) || header.payload_range(&frame.bytes).1 == 0 {
        return None;
    }
    let ends = draw.connections.ends(&header);
    let last_ns = *has_begun.get(&ends)?;
    if frame.time_ns.saturating_sub(last_ns) >= SILENCE_NS {
        return None;
    }
    let mut random = draw.frame(&ends, frame.origin?, per_mille)?;
    let wanted = 1 + random.below(u64::from(distance.max(1))) as usize;
    let is_own = |next: usize| headers[next].filter(|header| draw.connections.ends(header) == ends);
    let count = behind
        .iter()
        .take(wanted)
        .take_while(|next| {
            let later_ns = capture.frames[**next].time_ns.abs_diff(frame.time_ns);
            later_ns <= OVERTAKEN_NS_MAX && !is_own(**next).is_some_and(|next| is_edge(&next))
        })
        .count();
    let is_out_of_order = behind[..count].iter().any(|next| is_own(*next).is_some());
    is_out_of_order.then_some((ends, count))
}

/// The longest time by which a frame may be overtaken: a receiver would have requested it again after that.
const OVERTAKEN_NS_MAX: u64 = 50_000_000;
/// The silence that ends a flow of TCP.
const SILENCE_NS: u64 = 300_000_000_000;
