//! The escapes of bytes that may not stand in a line of a log.

use crate::value::ABSENT;

/// Returns whether `text` has no byte below `LOW` and no 127.
///
/// Logs are ASCII nearly always: then eight bytes of a register are tested together in four steps, and the compiler
/// takes several registers at a time. Another text is tested byte by byte.
#[inline(always)]
pub(crate) fn has_none_below<const LOW: u8>(text: &[u8]) -> bool {
    let Some(last) = text.last_chunk::<8>() else {
        return has_none_by_bytes::<LOW>(text);
    };
    let mut good = HIGH;
    for &eight in text.as_chunks::<8>().0 {
        good &= good_bytes::<LOW>(eight);
    }
    // The last eight bytes overlap those before.
    good &= good_bytes::<LOW>(*last);
    good == HIGH || has_none_by_bytes::<LOW>(text)
}

/// The high bit of each byte that is ASCII, not below `LOW`, and not 127; only where all bytes have it, all are good.
#[inline(always)]
const fn good_bytes<const LOW: u8>(eight: [u8; 8]) -> u64 {
    let eight = u64::from_le_bytes(eight);
    // The second sum has the high bit of 127 to 254. 255 has it in neither, and its carry, or that of another bad byte,
    // into the byte above does not matter, as the bad byte itself is found.
    eight.wrapping_add(ONES.wrapping_mul(0x80 - LOW as u64)) & !eight.wrapping_add(ONES)
}

#[cold]
fn has_none_by_bytes<const LOW: u8>(text: &[u8]) -> bool {
    text.iter().all(|&byte| byte >= LOW && byte != 0x7f)
}

const ONES: u64 = 0x0101_0101_0101_0101;
/// The high bit of each byte.
const HIGH: u64 = ONES << 7;

/// Returns whether `text` has no space and no control byte, so that it can be a word of a line.
pub(crate) fn is_word(text: &[u8]) -> bool {
    has_none(text, breaks_word)
}

/// Returns whether `text` is ASCII without a quote, a backslash or a control byte, so that it stands in a string of JSON
/// as it is.
pub(crate) fn is_json(text: &[u8]) -> bool {
    has_none(text, breaks_json)
}

/// Returns whether `text` is ASCII without a control byte or a `%`, so that it is the value of an optional field as it
/// is.
pub(crate) fn is_plain(text: &[u8]) -> bool {
    has_none(text, breaks_value)
}

/// Returns whether a test of eight bytes finds none of `text`: its result for these is 0.
///
/// Words and values are short: with eight bytes of a register at a time, writing one takes three quarters of the time
/// that it takes with a loop over bytes.
#[inline(always)]
fn has_none(text: &[u8], test: impl Fn(u64) -> u64) -> bool {
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
    let mut found = test(u64::from_le_bytes(last));
    for &chunk in chunks {
        found |= test(u64::from_le_bytes(chunk));
    }
    found == 0
}

/// Returns a value other than 0 when one of eight bytes is a space, or a control byte (0 to 31 and 127).
#[inline(always)]
const fn breaks_word(eight: u64) -> u64 {
    below(eight, 0x21) | equal(eight, 0x7f)
}

/// Returns a value other than 0 when one of eight bytes is not ASCII, or a control byte, a quote or a backslash.
#[inline(always)]
const fn breaks_json(eight: u64) -> u64 {
    let mark = equal(eight, b'"') | equal(eight, b'\\');
    below(eight, b' ') | equal(eight, 0x7f) | mark | eight & HIGH
}

/// Returns a value other than 0 when one of eight bytes is not ASCII, or a control byte or a `%`.
#[inline(always)]
const fn breaks_value(eight: u64) -> u64 {
    below(eight, b' ') | equal(eight, 0x7f) | equal(eight, b'%') | eight & HIGH
}

/// Returns a value other than 0 when one of eight bytes is below `low`, which is at most 128.
#[inline(always)]
const fn below(eight: u64, low: u8) -> u64 {
    // Subtraction sets the high bit of smaller bytes by a borrow; bytes above 127 had it before.
    eight.wrapping_sub(ONES * low as u64) & !eight & HIGH
}

/// Returns a value other than 0 when one of eight bytes is `byte`.
#[inline(always)]
const fn equal(eight: u64, byte: u8) -> u64 {
    let other = eight ^ (ONES * byte as u64);
    other.wrapping_sub(ONES) & !other & HIGH
}

/// Appends a mandatory field in the form of a line: TAB as a space, other control bytes as `%` and two digits, an empty
/// field as absent. Returns whether anything was changed.
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

/// Appends a byte as `%` and two digits.
pub(crate) fn push_percent(byte: u8, out: &mut Vec<u8>) {
    let [.., high, low] = crate::hex::of_u16(u16::from(byte));
    out.extend_from_slice(&[b'%', high, low]);
}

/// Returns at most `max` bytes of a field, without an incomplete character at the end.
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

    /// The test has each byte at each place of texts of many lengths, in ASCII and in other text.
    #[test]
    fn low_bytes_are_found_wherever_they_stand() {
        for len in (0..40).chain([63, 64, 65, 200]) {
            for at in 0..len {
                for byte in 0..=u8::MAX {
                    for around in [b'!', b'x', b'~', 0x80, 0xff] {
                        let mut text = vec![around; len];
                        text[at] = byte;
                        let bad = |low: u8| byte < low || byte == 0x7f;
                        assert_eq!(has_none_below::<b'!'>(&text), !bad(b'!'), "{text:?}");
                        assert_eq!(has_none_below::<b' '>(&text), !bad(b' '), "{text:?}");
                    }
                }
            }
        }
        assert!(has_none_below::<b'!'>(b"") && !has_none_below::<b'!'>(b"a b"));
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
    fn each_byte_breaks_a_word_and_a_string_or_not_wherever_it_stands() {
        for len in 1..26 {
            for at in 0..len {
                for byte in 0..=u8::MAX {
                    for around in [b'!', b'~', 0x80, 0xff] {
                        let mut text = vec![around; len];
                        text[at] = byte;
                        let breaks = byte <= b' ' || byte == 0x7f;
                        assert_eq!(is_word(&text), !breaks, "{text:?}");
                        let plain =
                            |byte: &u8| matches!(byte, b' '..=b'~') && !b"\"\\".contains(byte);
                        assert_eq!(is_json(&text), text.iter().all(plain), "{text:?}");
                        let plain = |byte: &u8| matches!(byte, b' '..=b'~') && *byte != b'%';
                        assert_eq!(is_plain(&text), text.iter().all(plain), "{text:?}");
                    }
                }
            }
        }
        assert!(is_word(b"") && is_json(b"") && is_plain(b""));
    }
}
