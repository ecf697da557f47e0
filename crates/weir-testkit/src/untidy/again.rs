//! Segments of TCP that are sent again with other bounds.

use std::collections::BTreeMap;

use super::attempt::added;
use super::header::{FIN, IpHeaders, RST, SYN, Tcp, URG, put_u32};
use super::{Account, Capture, Draw, Ends, Frame, How};
use crate::Rng;

/// Sends the end of a segment together with the beginning of the next one, and then the first of both as it was.
pub(super) fn send(draw: &Draw<'_>, capture: &mut Capture, account: &mut Account, per_mille: u16) {
    let frames = std::mem::take(&mut capture.frames);
    let mut last: BTreeMap<(Ends, bool), SentSegment> = BTreeMap::new();
    let mut all = Vec::with_capacity(frames.len());
    for frame in frames {
        let mut again = None;
        if let Some(header) = capture.header(&frame)
            && let Some(tcp) = header.tcp
        {
            let ends = draw.connections.ends(&header);
            let way = (ends, header.from_low());
            let octets = header.payload_range(&frame.bytes).1;
            let is_sound =
                header.is_rewritable(&frame.bytes) && !header.may_be_padding(&frame.bytes);
            if tcp.has(SYN | FIN | RST | URG) || !is_sound {
                last.remove(&way);
            } else if octets > 0 {
                let now = SentSegment {
                    header,
                    tcp,
                    frame: frame.clone(),
                };
                let before = last.insert(way, now.clone());
                let origin = frame.origin;
                let random = origin.and_then(|it| draw.frame(&ends, it, per_mille));
                again = before
                    .zip(random)
                    .and_then(|(before, random)| segments(&before, &now, random));
                if let (Some(origin), Some(_)) = (origin, &again) {
                    account.touch(origin, ends, &header, &frame.bytes, How::Added);
                }
            }
        }
        all.push(frame);
        all.extend(again.into_iter().flatten());
    }
    capture.frames = all;
}

/// A whole segment with data.
#[derive(Clone)]
struct SentSegment {
    header: IpHeaders,
    tcp: Tcp,
    frame: Frame,
}

impl SentSegment {
    fn data(&self) -> &[u8] {
        let data = self.frame.bytes.get(self.tcp.payload..self.header.end);
        data.unwrap_or_default()
    }
}

/// The segments that come again; `None` where one does not follow the other.
fn segments(before: &SentSegment, now: &SentSegment, mut random: Rng) -> Option<[Frame; 2]> {
    let (one, two) = (before.data(), now.data());
    if before.tcp.seq.wrapping_add(one.len() as u32) != now.tcp.seq {
        return None;
    }
    let from = random.below(one.len() as u64) as usize;
    let to = random.between(1, two.len() as u64) as usize;
    let bytes = &now.frame.bytes;
    let mut segment = bytes.get(now.header.transport..now.tcp.payload)?.to_vec();
    put_u32(&mut segment, 4, before.tcp.seq.wrapping_add(from as u32));
    segment.extend_from_slice(one.get(from..)?);
    segment.extend_from_slice(two.get(..to)?);
    if segment.len() > SEGMENT_OCTETS_MAX {
        return None;
    }
    let both = added(&now.frame, now.header.with_segment(bytes, &segment));
    let bytes = &before.frame.bytes;
    let segment = bytes.get(before.header.transport..before.header.end)?;
    let whole = added(&before.frame, before.header.with_segment(bytes, segment));
    let time_ns = now.frame.time_ns;
    Some([both, Frame { time_ns, ..whole }])
}

/// The longest segment that is made: a packet has at most 65,535 octets.
const SEGMENT_OCTETS_MAX: usize = 65_000;
