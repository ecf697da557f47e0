//! Segments of TCP that were captured as one.

use std::collections::BTreeMap;

use super::header::{FIN, IpHeaders, PSH, RST, SYN, TCP, URG};
use super::{Account, Capture, Draw, Ends, Frame, How};

/// The last segment with data of a connection.
#[derive(Clone, Copy)]
struct OpenSegment {
    /// Its place among the frames that are there already.
    at: usize,
    header: IpHeaders,
    /// Segments that were joined to it.
    count: u32,
}

/// Joins segments to those in front of them, where nothing else of the connection lies between.
pub(super) fn join(draw: &Draw<'_>, capture: &mut Capture, account: &mut Account, per_mille: u16) {
    let frames = std::mem::take(&mut capture.frames);
    let mut open: BTreeMap<Ends, OpenSegment> = BTreeMap::new();
    let mut all: Vec<Frame> = Vec::with_capacity(frames.len());
    for frame in frames {
        let header = capture.header(&frame).filter(|it| it.protocol == TCP);
        let Some(header) = header else {
            all.push(frame);
            continue;
        };
        let ends = draw.connections.ends(&header);
        let before = open.remove(&ends);
        let Some(origin) = frame.origin.filter(|_| has_plain_data(&header, &frame)) else {
            all.push(frame);
            continue;
        };
        let is_drawn = draw.frame(&ends, origin, per_mille).is_some();
        if let Some(mut first) = before.filter(|_| is_drawn)
            && let Some(joined) = joined(&first.header, &all[first.at], (&header, &frame))
        {
            account.touch(origin, ends, &header, &frame.bytes, How::Absorbed);
            first.header.end = joined.bytes.len();
            first.count += 1;
            if let Some(origin) = joined.origin {
                let how = How::Joined(first.count);
                account.touch(origin, ends, &first.header, &joined.bytes, how);
            }
            all[first.at] = joined;
            open.insert(ends, first);
            continue;
        }
        let at = all.len();
        open.insert(
            ends,
            OpenSegment {
                at,
                header,
                count: 0,
            },
        );
        all.push(frame);
    }
    capture.frames = all;
}

/// Whether a segment has data, and nothing that another one would not have.
fn has_plain_data(header: &IpHeaders, frame: &Frame) -> bool {
    let is_plain = header
        .tcp
        .is_some_and(|tcp| !tcp.has(SYN | FIN | RST | URG));
    is_plain
        && header.is_rewritable(&frame.bytes)
        && header.payload_range(&frame.bytes).1 > 0
        && !header.may_be_padding(&frame.bytes)
}

/// A segment with the octets of the next one; `None` where that is not the next one.
fn joined(
    header: &IpHeaders,
    first: &Frame,
    (next_header, next): (&IpHeaders, &Frame),
) -> Option<Frame> {
    let (tcp, next_tcp) = (header.tcp?, next_header.tcp?);
    let octets = header.payload_range(&first.bytes).1;
    let follows = tcp.seq.wrapping_add(octets) == next_tcp.seq && tcp.ack == next_tcp.ack;
    let is_near = next
        .time_ns
        .checked_sub(first.time_ns)
        .is_some_and(|later| later <= APART_NS_MAX);
    let is_same_way = header.src == next_header.src && first.interface == next.interface;
    if !follows || !is_near || !is_same_way {
        return None;
    }
    let mut segment = first.bytes.get(header.transport..header.end)?.to_vec();
    segment.extend_from_slice(next.bytes.get(next_tcp.payload..next_header.end)?);
    if segment.len() > SEGMENT_OCTETS_MAX {
        return None;
    }
    segment[13] |= next_tcp.flags & PSH;
    let bytes = header.with_segment(&first.bytes, &segment);
    Some(Frame {
        wire_len: bytes.len() as u32,
        bytes,
        ..first.clone()
    })
}

/// The longest segment that is made: a packet has at most 65,535 octets.
const SEGMENT_OCTETS_MAX: usize = 65_000;
/// The longest time between segments that are one.
const APART_NS_MAX: u64 = 50_000_000;
