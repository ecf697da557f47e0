//! Sequence numbers that wrap.

use std::collections::{BTreeMap, BTreeSet};

use super::header::{ACK, IpHeaders, TCP, Tcp, put_u32, u32_at};
use super::{Account, Capture, Draw, Ends, Frame, How};

/// Adds a number to all sequence numbers of each direction of connections, so that they wrap a little behind the first one.
pub(super) fn shift(draw: &Draw<'_>, capture: &mut Capture, account: &mut Account, per_mille: u16) {
    let headers: Vec<_> = capture
        .frames
        .iter()
        .map(|frame| capture.header(frame))
        .collect();
    let mut firsts: BTreeMap<(Ends, bool), u32> = BTreeMap::new();
    let mut fixed: BTreeSet<Ends> = BTreeSet::new();
    for (frame, header) in capture.frames.iter().zip(&headers) {
        let Some(header) = header.filter(|header| header.protocol == TCP) else {
            continue;
        };
        let ends = draw.connections.ends(&header);
        let is_allowed = frame.origin.is_none_or(|origin| draw.allows(origin));
        let is_whole = |tcp: &Tcp| tcp.payload <= header.end && header.is_rewritable(&frame.bytes);
        match header.tcp.filter(is_whole) {
            Some(tcp) if is_allowed => {
                firsts.entry((ends, header.from_low())).or_insert(tcp.seq);
            }
            // What cannot be written anew would be out of its connection.
            _ => {
                fixed.insert(ends);
            }
        }
    }
    for (frame, header) in capture.frames.iter_mut().zip(&headers) {
        let Some(header) = header.filter(|header| header.tcp.is_some()) else {
            continue;
        };
        let ends = draw.connections.ends(&header);
        if fixed.contains(&ends) {
            continue;
        }
        let by = |from_low: bool| {
            let first = firsts.get(&(ends, from_low)).copied().unwrap_or(0);
            let mut random = draw.connection(&ends, None, per_mille)?;
            let before = random.between(1, BEFORE_WRAP_MAX) as u32;
            Some(0_u32.wrapping_sub(first).wrapping_sub(before))
        };
        let (Some(own), Some(other)) = (by(header.from_low()), by(!header.from_low())) else {
            continue;
        };
        if let Some(origin) = frame.origin {
            account.touch(origin, ends, &header, &frame.bytes, How::Renumbered(own));
        }
        renumber(&header, frame, (own, other));
    }
}

/// Adds `own` to the number of a segment, and `other` to what it acknowledges.
fn renumber(header: &IpHeaders, frame: &mut Frame, (own, other): (u32, u32)) {
    let Some(tcp) = header.tcp else { return };
    let mut segment = frame.bytes[header.transport..header.end].to_vec();
    put_u32(&mut segment, 4, tcp.seq.wrapping_add(own));
    if tcp.has(ACK) {
        put_u32(&mut segment, 8, tcp.ack.wrapping_add(other));
    }
    // Selective acknowledgments are of the other direction, too (RFC 2018).
    let end = tcp.payload - header.transport;
    let mut at = 20;
    while at < end {
        let length = match segment[at] {
            0 => break,
            1 => 1,
            _ => usize::from(segment.get(at + 1).copied().unwrap_or(0)).max(2),
        };
        if segment[at] == SELECTIVE {
            for edge in (at + 2..(at + length).min(end)).step_by(4) {
                if let Some(number) = u32_at(&segment[..end], edge) {
                    put_u32(&mut segment, edge, number.wrapping_add(other));
                }
            }
        }
        at += length;
    }
    let padding = frame.bytes.split_off(header.end);
    frame.bytes = header.with_segment(&frame.bytes, &segment);
    frame.bytes.extend(padding);
}

/// Octets before the number 0 at which a direction begins, at most.
const BEFORE_WRAP_MAX: u64 = 2_000;
/// The option of selective acknowledgments.
const SELECTIVE: u8 = 5;
