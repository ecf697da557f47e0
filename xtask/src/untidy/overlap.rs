//! Connections whose segments contradict each other: the octets of a stream are then those that were captured first.
//! And those whose numbers leap, of which what is missing is a guess.

use std::collections::{BTreeMap, BTreeSet};

use weir_testkit::untidy::{Capture, Ends};

/// A segment by the number of its first octet.
type Numbered<'c> = (u32, &'c [u8]);

/// The connections of which two segments have other octets under the same numbers. A single octet is a keep-alive.
pub(super) fn contradicted(tidy: &Capture) -> BTreeSet<Ends> {
    let connections = tidy.connections();
    let mut segments: BTreeMap<(Ends, bool), Vec<Numbered<'_>>> = BTreeMap::new();
    for frame in &tidy.frames {
        let Some(header) = tidy.header(frame) else {
            continue;
        };
        let (first, _) = header.payload_range(&frame.bytes);
        let end = header.end.min(frame.bytes.len());
        let octets = frame.bytes.get(header.payload()..end).unwrap_or_default();
        if header.tcp.is_some() && octets.len() > 1 {
            let way = (connections.ends(&header), header.from_low());
            segments.entry(way).or_default().push((first, octets));
        }
    }
    let is_contradicted = |of_way: &[Numbered<'_>]| {
        let mut all = of_way.iter().enumerate();
        all.any(|(at, one)| of_way[..at].iter().any(|other| contradict(*one, *other)))
    };
    segments
        .into_iter()
        .filter(|(_, of_way)| is_contradicted(of_way))
        .map(|((ends, _), _)| ends)
        .collect()
}

/// The connections in which a segment with data leaps: it stands further from the one before it than a window is large,
/// as in captures whose octets were made at random. How much is missing in between is a guess.
pub(super) fn leaping(tidy: &Capture) -> BTreeSet<Ends> {
    let connections = tidy.connections();
    let mut last: BTreeMap<(Ends, bool), u32> = BTreeMap::new();
    let mut leaping = BTreeSet::new();
    for frame in &tidy.frames {
        let Some(header) = tidy.header(frame) else {
            continue;
        };
        let Some(tcp) = header.tcp else { continue };
        let ends = connections.ends(&header);
        let way = (ends, header.from_low());
        let (first, octets) = header.payload_range(&frame.bytes);
        if tcp.has(SYN) {
            last.insert(way, first);
        } else if octets > 0
            && let Some(before) = last.insert(way, first)
            && is_leap(before, first)
        {
            leaping.insert(ends);
        }
    }
    leaping
}

/// Whether the numbers of two segments of a direction are further apart than a window is large.
fn is_leap(one: u32, next: u32) -> bool {
    next.wrapping_sub(one).cast_signed().unsigned_abs() > WINDOW_MAX
}

/// Whether two segments have other octets under the same numbers.
fn contradict(one: Numbered<'_>, other: Numbered<'_>) -> bool {
    let ((first, octets), (behind, later)) = match one.0.wrapping_sub(other.0).cast_signed() {
        ..0 => (one, other),
        _ => (other, one),
    };
    let both = octets
        .get(behind.wrapping_sub(first) as usize..)
        .unwrap_or_default();
    both.iter().zip(later).any(|(one, two)| one != two)
}

/// SYN of TCP's flags.
const SYN: u8 = 0x02;
/// The largest window of common systems.
const WINDOW_MAX: u32 = 1 << 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_octets_under_the_same_numbers_contradict() {
        assert!(contradict((10, b"abcd"), (12, b"xd")));
        assert!(contradict((12, b"xd"), (10, b"abcd")));
        assert!(!contradict((10, b"abcd"), (12, b"cdef")));
        assert!(!contradict((10, b"abcd"), (14, b"xy")));
        assert!(contradict((u32::MAX, b"abcd"), (0, b"x")));
    }

    #[test]
    fn numbers_further_apart_than_a_window_leap() {
        assert!(!is_leap(u32::MAX, 1 << 23));
        assert!(!is_leap(1 << 23, u32::MAX));
        assert!(is_leap(1_006_330_892, 1_408_984_076));
        assert!(is_leap(1_408_984_076, 1_006_330_892));
    }
}
