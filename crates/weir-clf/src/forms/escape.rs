//! Bytes that may not stand in a line of a log.

use crate::record::ABSENT;

/// Whether `text` has exactly `allowed` control bytes (0 to 31 and 127). The loop has no branch, so that the compiler vectorises
/// it.
#[inline(always)]
pub(crate) fn is_clean(text: &[u8], allowed: usize) -> bool {
    let mut found = 0_usize;
    let (chunks, rest) = text.as_chunks::<64>();
    let mut add = |chunk: &[u8; 64]| {
        let mut count = 0_u8;
        for &byte in chunk {
            count = count.wrapping_add(u8::from(byte < b' ') | u8::from(byte == 0x7f));
        }
        found = found.wrapping_add(usize::from(count));
    };
    chunks.iter().for_each(&mut add);
    // Filled up, for byte by byte the rest would take as long as all chunks.
    let mut last = [b' '; 64];
    if let Some(place) = last.get_mut(..rest.len()) {
        place.copy_from_slice(rest);
    }
    add(&last);
    found == allowed
}

/// Whether `text` has no space and no control byte, so that it can be a word of a line.
///
/// Words are short: with eight bytes of a register at a time, writing one takes three quarters of the time that it takes
/// with a loop over bytes.
pub(crate) fn is_word(text: &[u8]) -> bool {
    let (chunks, rest) = text.as_chunks::<8>();
    // The last eight bytes overlap those before; fewer than eight are filled up.
    let last = match text.last_chunk::<8>() {
        Some(last) => *last,
        None => {
            let mut last = [b'-'; 8];
            for (place, &byte) in last.iter_mut().zip(rest) {
                *place = byte;
            }
            last
        }
    };
    let mut found = breaks_word(u64::from_le_bytes(last));
    for &chunk in chunks {
        found |= breaks_word(u64::from_le_bytes(chunk));
    }
    found == 0
}

/// Not 0 when one of eight bytes is a space, or a control byte (0 to 31 and 127).
#[inline(always)]
const fn breaks_word(eight: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = ONES << 7;
    // The high bit of a byte is borrowed by a subtraction from less; bytes above 127 had it before.
    let low = eight.wrapping_sub(ONES * 0x21) & !eight;
    let other = eight ^ (ONES * 0x7f);
    let delete = other.wrapping_sub(ONES) & !other;
    (low | delete) & HIGH
}

/// Appends a mandatory field in the form of a line: TAB as a space, other control bytes as `%` and two digits, an empty field as
/// absent. Returns whether anything was changed.
pub(crate) fn push_clean(field: &[u8], out: &mut Vec<u8>) -> bool {
    if field.is_empty() {
        out.extend_from_slice(ABSENT);
        return false;
    }
    let mut changed = false;
    for &byte in field {
        match byte {
            b'\t' => out.push(b' '),
            0..b' ' | 0x7f => push_percent(byte, out),
            byte => {
                out.push(byte);
                continue;
            }
        }
        changed = true;
    }
    changed
}

/// A byte as `%` and two digits.
pub(crate) fn push_percent(byte: u8, out: &mut Vec<u8>) {
    let [.., high, low] = crate::hex::of_u16(u16::from(byte));
    out.extend_from_slice(&[b'%', high, low]);
}

/// At most `max` bytes of a field, without an incomplete character at the end.
pub(crate) fn clip(field: &[u8], max: usize) -> &[u8] {
    let Some(cut) = field.get(..max) else {
        return field;
    };
    if cut.len() == field.len() {
        return field;
    }
    // A character has at most three bytes after its first.
    let tail = cut
        .iter()
        .rev()
        .take(4)
        .position(|&byte| byte & 0xc0 != 0x80);
    match (tail, field.get(max)) {
        (Some(tail), Some(&next)) if next & 0xc0 == 0x80 => cut
            .get(..max.saturating_sub(tail).saturating_sub(1))
            .unwrap_or(cut),
        _ => cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_bytes_are_counted_wherever_they_stand() {
        for at in 0..200 {
            for byte in [0, b'\t', b'\n', b'\r', 31, 127] {
                let mut text = vec![b'x'; 200];
                assert!(is_clean(&text, 0));
                text[at] = byte;
                assert!(is_clean(&text, 1) && !is_clean(&text, 0));
                assert!(!is_word(&text));
            }
        }
        assert!(is_word(&[b'x'; 70]) && is_word(b"") && !is_word(b"a b"));
        assert!(is_clean(&[0xff; 70], 0));
    }

    #[test]
    fn no_character_is_halved() {
        let text = "aé€".as_bytes();
        assert_eq!(clip(text, 6), text);
        assert_eq!(clip(text, 5), "aé".as_bytes());
        assert_eq!(clip(text, 4), "aé".as_bytes());
        assert_eq!(clip(text, 2), b"a");
        assert_eq!(clip(text, 1), b"a");
    }

    /// The byte is at every place of texts of every length up to three registers.
    #[test]
    fn each_byte_breaks_a_word_or_not_wherever_it_stands() {
        for len in 1..26 {
            for at in 0..len {
                for byte in 0..=u8::MAX {
                    for around in [b'!', b'~', 0x80, 0xff] {
                        let mut text = vec![around; len];
                        text[at] = byte;
                        let breaks = byte <= b' ' || byte == 0x7f;
                        assert_eq!(is_word(&text), !breaks, "{text:?}");
                    }
                }
            }
        }
        assert!(is_word(b""));
    }
}
