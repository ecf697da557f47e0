//! Frames that the untidy capture lacks, or that say too little in it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use weir_testkit::untidy::{Capture, Ends, IpHeaders};

/// The frames that are not there any more, or of which no flow is known, from 1: those that were cut within their headers, which
/// the closing note counts among the records that are cut, and fragments of packets whose first one is such a frame, which it counts, too.
pub(super) fn lost(tidy: &Capture, untidy: &Capture) -> BTreeSet<u64> {
    // Of a packet in several parts, the first one has the headers, and others may be shorter.
    let mut captured: BTreeMap<usize, usize> = BTreeMap::new();
    for frame in &untidy.frames {
        if let Some(origin) = frame.origin {
            let octets = captured.entry(origin).or_default();
            *octets = frame.bytes.len().max(*octets);
        }
    }
    let mut frames = BTreeSet::new();
    let mut first_fragments = BTreeSet::new();
    let mut fragments = Vec::new();
    for frame in &tidy.frames {
        let (Some(origin), Some(header)) = (frame.origin, tidy.header(frame)) else {
            continue;
        };
        let needed = match header.tcp {
            Some(_) => header.transport + TCP_OCTETS,
            None => header.payload(),
        };
        let is_lost = captured
            .get(&origin)
            .is_none_or(|kept| *kept < needed.min(frame.bytes.len()));
        let number = origin as u64 + 1;
        if is_lost {
            frames.insert(number);
        }
        if let Some(packet) = fragmented(&header, &frame.bytes) {
            // Only first fragments have ports.
            if is_lost && header.src.1 != 0 {
                first_fragments.insert(packet.clone());
            }
            fragments.push((packet, number));
        }
    }
    fragments.retain(|(packet, _)| first_fragments.contains(packet));
    frames.extend(fragments.into_iter().map(|(_, number)| number));
    frames
}

/// The packet that a fragment is of: its source and destination, and the identification.
fn fragmented(header: &IpHeaders, bytes: &[u8]) -> Option<(IpAddr, IpAddr, Vec<u8>)> {
    let identification = match header.src.0 {
        IpAddr::V4(_) => header.ip + 4..header.ip + 6,
        IpAddr::V6(_) => header.transport.checked_sub(4)?..header.transport,
    };
    let identification = bytes.get(identification)?.to_vec();
    header
        .is_fragment
        .then_some((header.src.0, header.dst.0, identification))
}

/// Those of the lost frames that nothing shows: their octets of TCP are behind all that the other frames of their connection have or
/// acknowledge, or they come before all these.
pub(super) fn unseen(tidy: &Capture, lost: &BTreeSet<u64>) -> BTreeSet<u64> {
    let connections = tidy.connections();
    let mut there: BTreeMap<Ends, Vec<IpHeaders>> = BTreeMap::new();
    let mut gone = Vec::new();
    let mut before = BTreeSet::new();
    for frame in &tidy.frames {
        let (Some(origin), Some(header)) = (frame.origin, tidy.header(frame)) else {
            continue;
        };
        let ends = connections.ends(&header);
        let number = origin as u64 + 1;
        if !lost.contains(&number) {
            there.entry(ends).or_default().push(header);
        } else if there.contains_key(&ends) {
            gone.push((number, ends, header));
        } else {
            before.insert(number);
        }
    }
    gone.retain(|(_, ends, header)| {
        let others = there.get(ends).map_or(&[][..], Vec::as_slice);
        header.tcp.is_some() && !others.iter().any(|other| shows(other, header))
    });
    before.extend(gone.into_iter().map(|(number, ..)| number));
    before
}

/// Whether a segment shows that another one of its connection was sent: it stands behind that, or acknowledges it.
fn shows(segment: &IpHeaders, other: &IpHeaders) -> bool {
    let (Some(tcp), Some(first)) = (segment.tcp, other.tcp.map(|tcp| tcp.seq)) else {
        return false;
    };
    let is_behind = |number: u32| number.wrapping_sub(first).cast_signed() > 0;
    match segment.from_low() == other.from_low() {
        true => is_behind(tcp.seq),
        false => tcp.has(ACK) && is_behind(tcp.ack),
    }
}

/// Octets of TCP's header without options.
const TCP_OCTETS: usize = 20;
/// ACK of TCP's flags.
const ACK: u8 = 0x10;

#[cfg(test)]
mod tests {
    use weir_testkit::demo;

    use super::*;

    /// A connection of the demo, with its SYN as the first frame.
    fn connection() -> Capture {
        let all = demo::demo_files().unwrap();
        let captures = all
            .iter()
            .filter_map(|(_, bytes)| Capture::read(bytes).ok());
        let mut parts = captures.filter_map(|capture| {
            let is_syn = |header: &IpHeaders| header.tcp.is_some_and(|tcp| tcp.flags == 2);
            let headers = capture
                .frames
                .iter()
                .filter_map(|frame| capture.header(frame));
            let ends = capture.connections().ends(&headers.clone().find(is_syn)?);
            let part = capture.only(&BTreeSet::from([ends]));
            (part.frames.len() > 6).then_some(part)
        });
        parts.next().unwrap()
    }

    #[test]
    fn octets_that_nothing_acknowledges_are_unseen() {
        let capture = connection();
        let numbers: Vec<u64> = capture
            .frames
            .iter()
            .map(|frame| frame.origin.unwrap() as u64 + 1)
            .collect();
        let data = capture.frames.iter().position(|frame| {
            let header = capture.header(frame).unwrap();
            header.payload_range(&frame.bytes).1 > 0
        });
        let data = data.unwrap();
        // Later segments acknowledge the first data.
        let lost = BTreeSet::from([numbers[data]]);
        assert!(unseen(&capture, &lost).is_empty());
        // The capture of the connection begins behind them.
        let lost: BTreeSet<u64> = numbers[..=data].iter().copied().collect();
        assert_eq!(unseen(&capture, &lost), lost);
        // Without these nothing shows them.
        let lost: BTreeSet<u64> = numbers[data..].iter().copied().collect();
        assert!(unseen(&capture, &lost).contains(&numbers[data]));
    }
}
