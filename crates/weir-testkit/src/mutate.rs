//! Captures that are nearly right: what a hostile or broken sender makes of good ones.
//!
//! A reader that never met damage is only half tested. [`packets`] changes some packets of a capture
//! where decoders look (lengths, numbers in text, the place where a message is cut), and their order
//! and times; [`bytes`] changes a file without knowing what it is.

use crate::Rng;

/// A packet that may be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MutablePacket {
    /// Nanoseconds since 1970.
    pub time_ns: u64,
    /// Bytes that it had on the wire.
    pub wire_len: u32,
    /// The captured octets.
    pub bytes: Vec<u8>,
}

/// Changes packets of a capture in one to eight ways. Replacements come from the capture itself, from `others` (packets
/// of other captures) or from `random`.
///
/// ```
/// use weir_testkit::mutate::{MutablePacket, packets};
/// use weir_testkit::Rng;
///
/// let good = vec![MutablePacket { time_ns: 7, wire_len: 60, bytes: vec![0; 60] }; 4];
/// let mut changed = good.clone();
/// packets(&mut Rng::new(1), &mut changed, &[]);
/// assert_ne!(changed, good);
/// ```
pub fn packets(random: &mut Rng, packets: &mut Vec<MutablePacket>, others: &[MutablePacket]) {
    let before = packets.clone();
    for _ in 0..=random.below(8) {
        if random.percent(80) {
            one_packet(random, packets, others);
        } else {
            order(random, packets, others);
        }
    }
    if *packets == before {
        // Something is changed in any case.
        packets.push(MutablePacket {
            time_ns: random.next_u64(),
            wire_len: random.next_u32(),
            bytes: random.bytes(64),
        });
    }
}

/// Changes the bytes of one packet, or of all packets that look alike.
fn one_packet(random: &mut Rng, packets: &mut [MutablePacket], others: &[MutablePacket]) {
    if packets.is_empty() {
        return;
    }
    let at = random.below(packets.len() as u64) as usize;
    let other = match others.is_empty() || random.percent(50) {
        true => packets[random.below(packets.len() as u64) as usize].clone(),
        false => random.pick(others).clone(),
    };
    let packet = &mut packets[at];
    match random.below(16) {
        0 => packet.wire_len = random.next_u32(),
        1 => packet.time_ns = *random.pick(&[0, 1, u64::MAX, packet.time_ns ^ (1 << 40)]),
        2 => splice(random, &mut packet.bytes, &other.bytes),
        _ => bytes(random, &mut packet.bytes),
    }
    packet.bytes.truncate(PACKET_BYTES_MAX);
}

/// Changes which packets there are, and in which order.
fn order(random: &mut Rng, packets: &mut Vec<MutablePacket>, others: &[MutablePacket]) {
    if packets.is_empty() {
        return;
    }
    let len = packets.len() as u64;
    let (one, two) = (random.below(len) as usize, random.below(len) as usize);
    match random.below(6) {
        0 => {
            packets.remove(one);
        }
        1 => packets.swap(one, two),
        2 => packets.insert(two, packets[one].clone()),
        3 if !others.is_empty() => packets.insert(one, random.pick(others).clone()),
        // Everything behind a moment comes an age later.
        4 => {
            let later = *random.pick(&[1 << 33, 1 << 45, 1 << 60]);
            for packet in &mut packets[one..] {
                packet.time_ns = packet.time_ns.saturating_add(later);
            }
        }
        // The snap length cuts every packet, as in a capture of headers only.
        _ => {
            let snap_len = random.between(1, 120) as usize;
            for packet in packets {
                packet.bytes.truncate(snap_len);
            }
        }
    }
}

/// The beginning of one packet with the end of another.
fn splice(random: &mut Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    let keep = random.below(bytes.len() as u64 + 1) as usize;
    let from = match random.percent(50) {
        // Headers of the same length often end at the same place.
        true => keep.min(other.len()),
        false => random.below(other.len() as u64 + 1) as usize,
    };
    bytes.truncate(keep);
    bytes.extend_from_slice(&other[from..]);
}

/// Changes some bytes, without knowledge of the format.
pub fn bytes(random: &mut Rng, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        let new = random.between(1, 40) as usize;
        bytes.extend(random.bytes(new));
        return;
    }
    let len = bytes.len();
    // Half of the changes hit the first 80 bytes, where headers decide how the rest is parsed.
    let at = match random.percent(50) {
        true => random.below(len.min(80) as u64) as usize,
        false => random.below(len as u64) as usize,
    };
    let count = (1 + random.below(8) as usize).min(len - at);
    match random.below(15) {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => bytes[at] = *random.pick(&[0, 1, 0x7f, 0x80, 0xfe, 0xff]),
        2 => bytes[at] = bytes[at].wrapping_add(1),
        3 => bytes[at] = bytes[at].wrapping_sub(1),
        4 | 5 => number(random, &mut bytes[at..]),
        6 => {
            bytes.drain(at..at + count);
        }
        7 => {
            let new = random.bytes(count);
            bytes.splice(at..at, new);
        }
        8 => {
            let again = bytes[at..at + count].repeat(1 + random.below(4) as usize);
            bytes.splice(at..at, again);
        }
        9 => bytes.truncate(at),
        10 => {
            let more = random.below(64) as usize;
            bytes.extend(random.bytes(more));
        }
        11 => random.fill(&mut bytes[at..at + count]),
        12 | 13 => text(random, bytes),
        _ => {
            let to = random.below((len - count + 1) as u64) as usize;
            bytes.copy_within(at..at + count, to);
        }
    }
}

/// Puts a number that tempts into the first two or four bytes.
fn number(random: &mut Rng, bytes: &mut [u8]) {
    let len = bytes.len() as u32;
    let value = *random.pick(&[
        0,
        1,
        0x7fff,
        0x8000,
        0xffff,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        len,
        len.wrapping_add(1),
        len.wrapping_sub(1),
    ]);
    let wide = random.percent(30);
    let (two, four) = match random.percent(70) {
        true => ((value as u16).to_be_bytes(), value.to_be_bytes()),
        false => ((value as u16).to_le_bytes(), value.to_le_bytes()),
    };
    let new: &[u8] = if wide { &four } else { &two };
    for (byte, new) in bytes.iter_mut().zip(new) {
        *byte = *new;
    }
}

/// Changes text: a number, the end of a line, a bracket, a word that comes again and again.
fn text(random: &mut Rng, bytes: &mut Vec<u8>) {
    let wanted: fn(&u8) -> bool = match random.below(4) {
        0 | 1 => u8::is_ascii_digit,
        2 => |byte| matches!(byte, b'\r' | b'\n'),
        _ => u8::is_ascii_punctuation,
    };
    let places: Vec<usize> = (0..bytes.len()).filter(|&at| wanted(&bytes[at])).collect();
    if places.is_empty() {
        return;
    }
    let at = *random.pick(&places);
    let mut end = at;
    while bytes.get(end).is_some_and(wanted) {
        end += 1;
    }
    let old = bytes[at..end].to_vec();
    let long = old.repeat(1 + random.below(2_000 / old.len().max(1) as u64) as usize);
    let new: &[u8] = match random.below(12) {
        0 => b"",
        1 => b"0",
        2 => b"-1",
        3 => b"4294967296",
        4 => b"18446744073709551616",
        5 => b"99999999999999999999999999",
        6 => b"\n",
        7 => b"\r",
        8 => b"\0",
        9 => b"\xff\xfe",
        10 => b"\"",
        _ => &long,
    };
    bytes.splice(at..end, new.iter().copied());
}

/// No longer than a frame may be in the captures that are written.
const PACKET_BYTES_MAX: usize = 65_535;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_can_be_changed_and_the_same_seed_changes_them_alike() {
        for seed in 0..5_000 {
            let mut random = Rng::new(seed);
            let len = random.below(200) as usize;
            let mut one = random.bytes(len);
            one.extend_from_slice(b"INVITE sip:1 SIP/2.0\r\nContent-Length: 15\r\n");
            one.truncate(random.below(300) as usize);
            let mut two = one.clone();
            bytes(&mut Rng::new(seed), &mut one);
            bytes(&mut Rng::new(seed), &mut two);
            assert_eq!(one, two, "seed {seed}");
        }
    }

    #[test]
    fn a_capture_never_stays_as_it_was() {
        for seed in 0..5_000 {
            let mut random = Rng::new(seed);
            let good: Vec<MutablePacket> = (0..random.below(6))
                .map(|n| MutablePacket {
                    time_ns: n,
                    wire_len: 60,
                    bytes: b"SUBSCRIBE 7\r\n".repeat(5),
                })
                .collect();
            let mut changed = good.clone();
            packets(&mut random, &mut changed, &good);
            assert_ne!(changed, good, "seed {seed}");
        }
    }
}
