//! Connections that are refused before they are accepted, and such that follow others on the same ports.

use std::collections::BTreeSet;
use std::net::IpAddr;

use super::header::{ACK, FIN, IpHeaders, RST, SYN, Tcp, put_u16, put_u32};
use super::{Account, Capture, Draw, Frame, How};
use crate::Rng;
use crate::capture::link_type;

/// Puts a SYN and the RST that refuses it before the first SYN of connections, up to `most` times. The number is another
/// each time, or the same, as some hosts try it.
pub(super) fn attempts(
    draw: &Draw<'_>,
    capture: &mut Capture,
    account: &mut Account,
    (per_mille, most): (u16, u8),
) {
    let attempts = |(header, frame, link): SynOf<'_>, tcp: Tcp, random: &mut Rng| {
        let mut all = Vec::new();
        for _ in 0..=random.below(u64::from(most.max(1))) {
            let seq = match random.percent(50) {
                true => tcp.seq,
                false => random.next_u32(),
            };
            all.push(attempt(header, frame, seq));
            all.push(refusal(header, frame, seq, link));
        }
        all
    };
    before_first_syns(draw, capture, account, per_mille, attempts);
}

/// Puts a connection of the same ports, which has no data and which both sides close, before the first SYN of connections.
pub(super) fn reuses(
    draw: &Draw<'_>,
    capture: &mut Capture,
    account: &mut Account,
    per_mille: u16,
) {
    let closed = |(header, frame, link): SynOf<'_>, _: Tcp, random: &mut Rng| {
        let (own, peer) = (random.next_u32(), random.next_u32());
        let (own_end, peer_end) = (own.wrapping_add(1), peer.wrapping_add(1));
        let (own_last, peer_last) = (own.wrapping_add(2), peer.wrapping_add(2));
        let sent = |numbers, flags| plain((header, frame), numbers, flags);
        let received = |numbers, flags| answer((header, frame, link), numbers, (flags, u16::MAX));
        vec![
            attempt(header, frame, own),
            received((peer, own_end), SYN | ACK),
            sent((own_end, peer_end), ACK),
            sent((own_end, peer_end), FIN | ACK),
            received((peer_end, own_last), FIN | ACK),
            sent((own_last, peer_last), ACK),
        ]
    };
    before_first_syns(draw, capture, account, per_mille, closed);
}

/// A SYN: its headers, its frame and the link type.
type SynOf<'f> = (&'f IpHeaders, &'f Frame, u16);

/// Puts frames before the first SYN of connections, as far as that is their first packet.
fn before_first_syns(
    draw: &Draw<'_>,
    capture: &mut Capture,
    account: &mut Account,
    per_mille: u16,
    make: impl Fn(SynOf<'_>, Tcp, &mut Rng) -> Vec<Frame>,
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
                let added = make((&header, &frame, link), tcp, &mut random);
                for _ in 0..added.len() / 2 {
                    account.touch(origin, ends, &header, &frame.bytes, How::Added);
                }
                all.extend(added);
            }
        }
        all.push(frame);
    }
    capture.frames = all;
}

/// A segment of the sender of a SYN, without options and data, with its number and what it acknowledges.
fn plain((header, frame): (&IpHeaders, &Frame), (seq, ack): (u32, u32), flags: u8) -> Frame {
    let mut segment = frame.bytes[header.transport..header.transport + 20].to_vec();
    put_u32(&mut segment, 4, seq);
    put_u32(&mut segment, 8, ack);
    segment[12] = 5 << 4;
    segment[13] = flags;
    added(frame, header.with_segment(&frame.bytes, &segment))
}

/// The SYN with another number, without data.
fn attempt(header: &IpHeaders, frame: &Frame, seq: u32) -> Frame {
    let mut segment = frame.bytes[header.transport..header.payload()].to_vec();
    put_u32(&mut segment, 4, seq);
    added(frame, header.with_segment(&frame.bytes, &segment))
}

/// The answer of a host on which no program listens at the port (RFC 9293, 3.10.7.1).
fn refusal(header: &IpHeaders, frame: &Frame, seq: u32, link: u16) -> Frame {
    let numbers = (0, seq.wrapping_add(1));
    answer((header, frame, link), numbers, (RST | ACK, 0))
}

/// A segment the other way, without data, with its number and what it acknowledges, its flags and its window.
pub(super) fn answer(
    (header, frame, link): (&IpHeaders, &Frame, u16),
    (seq, ack): (u32, u32),
    (flags, window): (u8, u16),
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
    put_u16(&mut segment, 14, window);
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
