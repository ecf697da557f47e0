//! Records of TLS in small pieces.

use std::collections::BTreeMap;

use super::header::{IpHeaders, SYN, put_u32, u16_at, u32_at};
use super::{Account, Capture, Draw, Ends, How};

/// The octets that were added to a direction.
#[derive(Clone, Copy)]
struct Grown {
    /// The number of the octet behind the record that was split.
    end: u32,
    /// Octets that there are more from there on.
    by: u32,
}

/// Sends the first record of directions as several, where a segment begins with it, has all of it, and it is a message of
/// the handshake in clear (RFC 8446, 5.1; RFC 5246, 6.2.1). The numbers of what follows, and of what acknowledges it, rise.
pub(super) fn split(
    draw: &Draw<'_>,
    capture: &mut Capture,
    account: &mut Account,
    (per_mille, octets): (u16, u16),
) {
    let once = sent_once(draw, capture);
    let mut grown: BTreeMap<(Ends, bool), Option<Grown>> = BTreeMap::new();
    for index in 0..capture.frames.len() {
        let frame = &capture.frames[index];
        let Some(header) = capture.header(frame) else {
            continue;
        };
        let Some(tcp) = header.tcp else {
            continue;
        };
        let ends = draw.connections.ends(&header);
        let (way, back) = ((ends, header.from_low()), (ends, !header.from_low()));
        if tcp.has(SYN) && grown.contains_key(&way) {
            // Another connection of the same ends has numbers of its own.
            grown.insert(way, None);
            grown.insert(back, None);
        }
        let has_data = header.payload_range(&frame.bytes).1 > 0;
        let mut payload = frame
            .bytes
            .get(tcp.payload..header.end.min(frame.bytes.len()));
        let small;
        let mut added = None;
        if has_data && once.get(&ends) == Some(&true) && !grown.contains_key(&way) {
            let found = (|| {
                let origin = frame.origin.filter(|origin| draw.allows(*origin))?;
                let mut random = draw.connection(&ends, Some(way.1), per_mille)?;
                let record = first_record(payload.filter(|_| header.is_rewritable(&frame.bytes))?)?;
                Some((origin, record, pieces(&mut random, record, octets)?))
            })();
            if let Some((origin, record, (bytes, count))) = found {
                small = [&bytes, &payload.unwrap_or_default()[record.len()..]].concat();
                payload = Some(&small);
                let end = tcp.seq.wrapping_add(record.len() as u32);
                let by = 5 * (count - 1);
                added = Some(Grown { end, by });
                account.touch(origin, ends, &header, &frame.bytes, How::Records(count));
            }
            grown.insert(way, None);
        }
        let own = grown.get(&way).copied().flatten();
        let other = grown.get(&back).copied().flatten();
        if own.is_some() || other.is_some() || added.is_some() {
            let bytes = renumbered(
                &header,
                &frame.bytes,
                payload.unwrap_or_default(),
                own,
                other,
            );
            let frame = &mut capture.frames[index];
            let longer = bytes
                .len()
                .saturating_sub(frame.bytes.len().min(header.end));
            if header.is_rewritable(&frame.bytes) {
                frame.wire_len = bytes.len() as u32;
            } else {
                frame.wire_len = frame.wire_len.saturating_add(longer as u32);
            }
            frame.bytes = bytes;
        }
        if added.is_some() {
            grown.insert(way, added);
        }
    }
}

/// For each TCP connection, true when it was captured from its SYN on, whole and without retransmissions: only the sequence
/// numbers of such connections can be changed safely.
fn sent_once(draw: &Draw<'_>, capture: &Capture) -> BTreeMap<Ends, bool> {
    let mut once: BTreeMap<Ends, bool> = BTreeMap::new();
    let mut next: BTreeMap<(Ends, bool), u32> = BTreeMap::new();
    for frame in &capture.frames {
        let Some(header) = capture.header(frame) else {
            continue;
        };
        let ends = draw.connections.ends(&header);
        let (first, octets) = header.payload_range(&frame.bytes);
        let is_good = header.tcp.is_some_and(|tcp| {
            let expected = next.get(&(ends, header.from_low())).copied();
            header.is_rewritable(&frame.bytes)
                && tcp.has(SYN) == expected.is_none()
                && (octets == 0 || expected.is_none_or(|next| next == first))
        });
        if octets > 0 || header.tcp.is_some_and(|tcp| tcp.has(SYN)) {
            next.insert((ends, header.from_low()), first.wrapping_add(octets));
        }
        let all = once.entry(ends).or_insert(true);
        *all = *all && is_good;
    }
    once
}

/// The record of the handshake that octets begin with, when all of it is there.
fn first_record(payload: &[u8]) -> Option<&[u8]> {
    let is_handshake = payload.first() == Some(&22) && payload.get(1) == Some(&3);
    let len = usize::from(u16_at(payload, 3)?);
    // The first message of a direction is a hello.
    let is_hello = matches!(payload.get(5), Some(1 | 2));
    payload.get(..5 + len).filter(|_| is_handshake && is_hello)
}

/// A record as several, and how many; `None` when it is too short.
fn pieces(random: &mut crate::Rng, record: &[u8], octets: u16) -> Option<(Vec<u8>, u32)> {
    let mut rest = &record[5..];
    let mut bytes = Vec::new();
    let mut count = 0;
    while !rest.is_empty() {
        let len = match count {
            RECORDS_MAX.. => rest.len(),
            _ => random.between(1, u64::from(octets.max(1))) as usize,
        };
        let (piece, after) = rest.split_at(len.min(rest.len()));
        bytes.extend_from_slice(&record[..3]);
        bytes.extend_from_slice(&(piece.len() as u16).to_be_bytes());
        bytes.extend_from_slice(piece);
        rest = after;
        count += 1;
    }
    (count > 1).then_some((bytes, count))
}

/// The frame with another payload, and with the numbers that it has where directions have grown.
fn renumbered(
    header: &IpHeaders,
    bytes: &[u8],
    payload: &[u8],
    own: Option<Grown>,
    other: Option<Grown>,
) -> Vec<u8> {
    let later = |number: u32, grown: Option<Grown>| match grown {
        Some(Grown { end, by }) if number.wrapping_sub(end) as i32 >= 0 => number.wrapping_add(by),
        _ => number,
    };
    let payload_at = header.payload();
    let mut segment = bytes[header.transport..payload_at].to_vec();
    if let Some(tcp) = header.tcp {
        put_u32(&mut segment, 4, later(tcp.seq, own));
        if tcp.has(super::header::ACK) {
            put_u32(&mut segment, 8, later(tcp.ack, other));
        }
    }
    // The edges of selective acknowledgments move as well (RFC 2018).
    let mut at = 20;
    while let Some(kind) = segment.get(at).copied() {
        let len = match kind {
            0 => break,
            1 => 1,
            _ => usize::from(segment.get(at + 1).copied().unwrap_or(0)).max(2),
        };
        if kind == 5 {
            let end = (at + len).min(segment.len());
            for edge in (at + 2..end.saturating_sub(3)).step_by(4) {
                let number = u32_at(&segment, edge).unwrap_or_default();
                put_u32(&mut segment, edge, later(number, other));
            }
        }
        at += len;
    }
    segment.extend_from_slice(payload);
    header.with_segment(bytes, &segment)
}

/// Records of one, at most one more.
const RECORDS_MAX: u32 = 40;
