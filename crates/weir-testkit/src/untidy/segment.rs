//! Segments of TCP in small pieces.

use super::header::{FIN, IpHeaders, PSH, SYN, Tcp, URG, put_u32};
use super::{Account, Capture, Draw, Frame, How};

/// Sends segments as several.
pub(super) fn split(
    draw: &Draw<'_>,
    capture: &mut Capture,
    account: &mut Account,
    (per_mille, octets): (u16, u16),
) {
    let frames = std::mem::take(&mut capture.frames);
    let mut all = Vec::with_capacity(frames.len());
    for frame in frames {
        match pieces(draw, capture, account, &frame, (per_mille, octets)) {
            Some(pieces) => all.extend(pieces),
            None => all.push(frame),
        }
    }
    capture.frames = all;
}

fn pieces(
    draw: &Draw<'_>,
    capture: &Capture,
    account: &mut Account,
    frame: &Frame,
    (per_mille, octets): (u16, u16),
) -> Option<Vec<Frame>> {
    let (header, origin) = (capture.header(frame)?, frame.origin?);
    let tcp = header.tcp.filter(|tcp| !tcp.has(SYN | URG))?;
    if !header.is_rewritable(&frame.bytes) || header.end.saturating_sub(tcp.payload) < 2 {
        return None;
    }
    let ends = draw.connections.ends(&header);
    let mut random = draw.frame(&ends, origin, per_mille)?;
    let mut rest = &frame.bytes[tcp.payload..header.end];
    let mut seq = tcp.seq;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        // Beyond so many pieces the last one is what is left.
        let len = match pieces.len() {
            PIECES_MAX.. => rest.len(),
            _ => random.between(1, u64::from(octets.max(1))) as usize,
        };
        let (piece, after) = rest.split_at(len.min(rest.len()));
        let bytes = with_payload(&header, &tcp, &frame.bytes, (seq, piece, after.is_empty()));
        pieces.push(Frame {
            wire_len: bytes.len() as u32,
            bytes,
            ..frame.clone()
        });
        seq = seq.wrapping_add(piece.len() as u32);
        rest = after;
    }
    if pieces.len() < 2 {
        return None;
    }
    let how = How::Split(pieces.len() as u32);
    account.touch(origin, ends, &header, &frame.bytes, how);
    Some(pieces)
}

/// The segment with another number and payload. Only the last piece has FIN and PSH.
fn with_payload(
    header: &IpHeaders,
    tcp: &Tcp,
    bytes: &[u8],
    (seq, payload, is_last): (u32, &[u8], bool),
) -> Vec<u8> {
    let mut segment = bytes[header.transport..tcp.payload].to_vec();
    put_u32(&mut segment, 4, seq);
    if !is_last {
        segment[13] &= !(FIN | PSH);
    }
    segment.extend_from_slice(payload);
    header.with_segment(bytes, &segment)
}

/// Pieces of a segment, at most one more.
const PIECES_MAX: usize = 40;
