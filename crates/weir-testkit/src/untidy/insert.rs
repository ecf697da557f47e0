//! Segments between those of a connection that change nothing of it.

use std::collections::BTreeMap;

use super::attempt::{added, answer};
use super::header::{ACK, FIN, IpHeaders, RST, SYN, TCP, Tcp, put_u32};
use super::{Account, Capture, Draw, Ends, Frame, How, Insertion};
use crate::Rng;

/// How far a connection is.
#[derive(Clone, Copy, Debug, Default)]
struct Course {
    /// The next number of each side, that of the lower one last.
    next: [Option<u32>; 2],
    /// The octet before that number is there.
    has_last: [bool; 2],
    /// A FIN or RST was there, or a segment that is not whole.
    is_over: bool,
}

/// Puts two segments behind others.
pub(super) fn insert(
    draw: &Draw<'_>,
    capture: &mut Capture,
    account: &mut Account,
    (per_mille, kind): (u16, Insertion),
) {
    let frames = std::mem::take(&mut capture.frames);
    let mut courses: BTreeMap<Ends, Course> = BTreeMap::new();
    let mut all = Vec::with_capacity(frames.len());
    for frame in frames {
        let header = capture
            .header(&frame)
            .filter(|header| header.protocol == TCP);
        let link = capture.link_types.get(frame.interface as usize).copied();
        let mut inserted = None;
        if let (Some(header), Some(origin), Some(link)) = (header, frame.origin, link) {
            let ends = draw.connections.ends(&header);
            let course = courses.entry(ends).or_default();
            let tcp = course.see(&header, &frame);
            let random = draw.frame(&ends, origin, per_mille);
            inserted = tcp
                .zip(random)
                .and_then(|(tcp, random)| segments((&header, &frame, link), tcp, kind, random));
            if inserted.is_some() {
                account.touch(origin, ends, &header, &frame.bytes, How::Added);
            }
        }
        all.push(frame);
        all.extend(inserted.into_iter().flatten());
    }
    capture.frames = all;
}

impl Course {
    /// Notes a segment, and gives its header where both sides have all that was sent so far, and its sender's last octet was captured: that
    /// of a keep-alive would stand for it.
    fn see(&mut self, header: &IpHeaders, frame: &Frame) -> Option<Tcp> {
        let tcp = header.tcp.filter(|_| header.is_rewritable(&frame.bytes));
        let Some(tcp) = tcp else {
            self.is_over = true;
            return None;
        };
        if tcp.flags & (SYN | ACK) == SYN {
            *self = Self::default();
        }
        let way = usize::from(header.from_low());
        let (first, octets) = header.payload_range(&frame.bytes);
        let end = first.wrapping_add(octets);
        let is_newer = |next: u32| end.wrapping_sub(next).cast_signed() >= 0;
        let is_newest = self.next[way].is_none_or(is_newer);
        if is_newest {
            let before = self.next[way].replace(end);
            self.has_last[way] = octets > 0 || before == Some(end) && self.has_last[way];
        }
        self.is_over |= tcp.has(FIN | RST);
        let has_all = tcp.has(ACK) && self.next[1 - way] == Some(tcp.ack);
        let is_between =
            is_newest && self.has_last[way] && has_all && !self.is_over && !tcp.has(SYN);
        is_between.then_some(tcp)
    }
}

/// The segments behind another one; `None` where these do not fit.
fn segments(
    (header, frame, link): (&IpHeaders, &Frame, u16),
    tcp: Tcp,
    kind: Insertion,
    mut random: Rng,
) -> Option<[Frame; 2]> {
    let payload = frame.bytes.get(tcp.payload..header.end)?;
    let head = frame.bytes.get(header.transport..tcp.payload)?;
    let with = |segment: &[u8]| added(frame, header.with_segment(&frame.bytes, segment));
    match kind {
        Insertion::KeepAlive if payload.is_empty() => {
            let mut probe = head.to_vec();
            put_u32(&mut probe, 4, tcp.seq.wrapping_sub(1));
            // Some hosts send an octet, which is not part of the stream.
            probe.resize(probe.len() + random.below(2) as usize, 0);
            let numbers = (tcp.ack, tcp.seq);
            let acknowledged = answer((header, frame, link), numbers, (ACK, u16::MAX));
            Some([with(&probe), acknowledged])
        }
        Insertion::ZeroWindow if payload.is_empty() => {
            let closed = answer((header, frame, link), (tcp.ack, tcp.seq), (ACK, 0));
            let mut probe = head.to_vec();
            put_u32(&mut probe, 4, tcp.seq.wrapping_sub(1));
            Some([closed, with(&probe)])
        }
        Insertion::ForgedReset => {
            let mut reset = head.get(..20)?.to_vec();
            put_u32(&mut reset, 4, tcp.seq.wrapping_add(OUTSIDE));
            put_u32(&mut reset, 8, 0);
            reset[12] = 5 << 4;
            reset[13] = RST;
            let numbers = (tcp.ack.wrapping_add(OUTSIDE), 0);
            let other = answer((header, frame, link), numbers, (RST, 0));
            Some([with(&reset), other])
        }
        Insertion::Altered if !payload.is_empty() => {
            let mut altered = head.to_vec();
            altered.extend(payload.iter().map(|octet| octet ^ 0x55));
            Some([with(&altered), with(&altered)])
        }
        Insertion::KeepAlive | Insertion::Altered | Insertion::ZeroWindow => None,
    }
}

/// More than the largest window of TCP, which has 2^30 octets (RFC 7323, 2.3).
const OUTSIDE: u32 = 0x6000_0000;
