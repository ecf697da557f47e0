//! Connections that are refused before they are accepted.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::header::{ACK, IpHeaders, RST, SYN, put_u16, put_u32};
use super::{Account, Capture, Draw, Frame, How};
use crate::capture::link_type;

/// Puts a SYN and the RST that refuses it before the first SYN of connections, up to `most` times. The number is another
/// each time, or the same, as some hosts try it.
pub(super) fn attempts(
    draw: &Draw<'_>,
    capture: &mut Capture,
    account: &mut Account,
    (per_mille, most): (u16, u8),
) {
    let frames = std::mem::take(&mut capture.frames);
    let mut seen = BTreeSet::new();
    let mut all = Vec::with_capacity(frames.len());
    for frame in frames {
        let header = capture.header(&frame);
        if let (Some(header), Some(origin)) = (header, frame.origin) {
            let ends = draw.connections.ends(&header);
            let is_first = seen.insert(ends);
            let tcp = header
                .tcp
                .filter(|tcp| tcp.flags & (SYN | ACK | RST) == SYN);
            let link = capture.link_types.get(frame.interface as usize).copied();
            let random = draw.frame(&ends, origin, per_mille);
            if let (true, Some(tcp), Some(mut random), Some(link)) = (is_first, tcp, random, link)
                && header.is_rewritable(&frame.bytes)
            {
                for _ in 0..=random.below(u64::from(most.max(1))) {
                    let seq = match random.percent(50) {
                        true => tcp.seq,
                        false => random.next_u32(),
                    };
                    let attempt = attempt(&header, &frame, seq);
                    let refusal = refusal(&header, &frame, seq, link);
                    account.touch(origin, ends, &header, &frame.bytes, How::Added);
                    all.extend([attempt, refusal]);
                }
            }
        }
        all.push(frame);
    }
    capture.frames = all;
}

/// The SYN with another number, without data.
fn attempt(header: &IpHeaders, frame: &Frame, seq: u32) -> Frame {
    let mut segment = frame.bytes[header.transport..header.payload()].to_vec();
    put_u32(&mut segment, 4, seq);
    added(frame, header.with_segment(&frame.bytes, &segment))
}

/// The answer of a host on which no program listens at the port (RFC 9293, 3.10.7.1).
fn refusal(header: &IpHeaders, frame: &Frame, seq: u32, link: u16) -> Frame {
    answer((header, frame, link), (0, seq.wrapping_add(1)), RST | ACK)
}

/// A segment the other way, without data, with its number and what it acknowledges.
pub(super) fn answer(
    (header, frame, link): (&IpHeaders, &Frame, u16),
    (seq, ack): (u32, u32),
    flags: u8,
) -> Frame {
    let mut bytes = frame.bytes.clone();
    if link == link_type::ETHERNET {
        let (dst, rest) = bytes.split_at_mut(6);
        dst.swap_with_slice(&mut rest[..6]);
    }
    let (at, len) = match header.src.0 {
        IpAddr::V4(_) => (header.ip + 12, 4),
        IpAddr::V6(_) => (header.ip + 8, 16),
    };
    let (src, dst) = bytes[at..at + 2 * len].split_at_mut(len);
    src.swap_with_slice(dst);
    let mut segment = [0; 20];
    segment[..2].copy_from_slice(&header.dst.1.to_be_bytes());
    segment[2..4].copy_from_slice(&header.src.1.to_be_bytes());
    put_u32(&mut segment, 4, seq);
    put_u32(&mut segment, 8, ack);
    segment[12] = 5 << 4;
    segment[13] = flags;
    if flags & RST == 0 {
        put_u16(&mut segment, 14, u16::MAX);
    }
    let back = IpHeaders {
        src: header.dst,
        dst: header.src,
        ..*header
    };
    added(frame, back.with_segment(&bytes, &segment))
}

/// A frame that was added at the time of another one.
pub(super) fn added(frame: &Frame, bytes: Vec<u8>) -> Frame {
    Frame {
        origin: None,
        wire_len: bytes.len() as u32,
        bytes,
        ..frame.clone()
    }
}
