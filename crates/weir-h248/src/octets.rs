//! Octets in registers: short words are compared, folded and copied eight or sixteen at a time,
//! without a call and without a loop.

/// Up to eight octets as one number, the first in the lowest place; zeros behind the last.
///
/// Of a longer slice the result means nothing.
#[inline]
pub(crate) fn pack8(octets: &[u8]) -> u64 {
    let len = octets.len();
    if let (Some(low), Some(high)) = (octets.first_chunk::<4>(), octets.last_chunk::<4>()) {
        let low = u64::from(u32::from_le_bytes(*low));
        let high = u64::from(u32::from_le_bytes(*high));
        // The two reads agree where they overlap.
        return low | high << ((len as u32).wrapping_mul(8).wrapping_sub(32) & 63);
    }
    match octets {
        [] => 0,
        [a] => u64::from(*a),
        [a, b] => u64::from(u16::from_le_bytes([*a, *b])),
        [a, b, c, ..] => u64::from(u32::from_le_bytes([*a, *b, *c, 0])),
    }
}

/// Up to sixteen octets as one number, the first in the lowest place; zeros behind the last.
#[inline]
pub(crate) fn pack16(octets: &[u8]) -> u128 {
    let len = octets.len();
    if let (Some(low), Some(high)) = (octets.first_chunk::<8>(), octets.last_chunk::<8>()) {
        let low = u128::from(u64::from_le_bytes(*low));
        let high = u128::from(u64::from_le_bytes(*high));
        return low | high << ((len as u32).wrapping_mul(8).wrapping_sub(64) & 127);
    }
    u128::from(pack8(octets))
}

/// ASCII capitals become small letters.
#[inline]
pub(crate) fn lower8(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let seven = word & (0x7f * EACH);
    let from_a = seven + (0x80 - b'A' as u64) * EACH;
    let beyond_z = seven + (0x7f - b'Z' as u64) * EACH;
    let capital = (from_a ^ beyond_z) & !word & (0x80 * EACH);
    word | capital >> 2
}

/// Appends up to sixteen octets that [`pack16`] has packed.
#[inline]
pub(crate) fn push_packed(out: &mut Vec<u8>, packed: u128, len: usize) {
    let end = out.len().wrapping_add(len);
    // A copy of a known size is two stores; what is too much goes away again.
    out.extend_from_slice(&packed.to_le_bytes());
    out.truncate(end);
}

/// Appends octets of which most are few: the first and the last of them, which may overlap.
#[inline]
pub(crate) fn push(out: &mut Vec<u8>, octets: &[u8]) {
    let end = out.len().wrapping_add(octets.len());
    if let (Some(first), Some(last)) = (octets.first_chunk::<16>(), octets.last_chunk::<16>()) {
        if octets.len() > 32 {
            return out.extend_from_slice(octets);
        }
        out.extend_from_slice(first);
        out.truncate(end.wrapping_sub(16));
        out.extend_from_slice(last);
    } else if let (Some(first), Some(last)) = (octets.first_chunk::<8>(), octets.last_chunk::<8>())
    {
        out.extend_from_slice(first);
        out.truncate(end.wrapping_sub(8));
        out.extend_from_slice(last);
    } else {
        out.extend_from_slice(&pack8(octets).to_le_bytes());
        out.truncate(end);
    }
}

/// Appends the first octets of a text, of which most are few: so many, or all.
#[inline]
pub(crate) fn push_first(out: &mut Vec<u8>, text: &[u8], len: usize) {
    if len <= 32
        && let Some(octets) = text.first_chunk::<32>()
    {
        let end = out.len().wrapping_add(len);
        out.extend_from_slice(octets);
        return out.truncate(end);
    }
    push(out, text.get(..len).unwrap_or(text));
}

/// Appends octets in lower case.
#[inline]
pub(crate) fn push_lower(out: &mut Vec<u8>, octets: &[u8]) {
    push_each(out, octets, lower8);
}

/// Eight by eight; the last eight may write again what those before have written.
#[inline(always)]
fn push_each(out: &mut Vec<u8>, octets: &[u8], change: impl Fn(u64) -> u64) {
    let end = out.len().wrapping_add(octets.len());
    let Some(last) = octets.last_chunk::<8>() else {
        out.extend_from_slice(&change(pack8(octets)).to_le_bytes());
        return out.truncate(end);
    };
    let mut rest = octets;
    while let Some((eight, behind)) = rest.split_first_chunk::<8>() {
        out.extend_from_slice(&change(u64::from_le_bytes(*eight)).to_le_bytes());
        rest = behind;
    }
    if !rest.is_empty() {
        out.truncate(end.wrapping_sub(8));
        out.extend_from_slice(&change(u64::from_le_bytes(*last)).to_le_bytes());
    }
}

/// Appends a number in decimal digits.
#[inline]
pub(crate) fn push_decimal(out: &mut Vec<u8>, value: u32) {
    if value < 10 {
        out.push(b'0' | value as u8);
        return;
    }
    push_decimal_long(out, value);
}

fn push_decimal_long(out: &mut Vec<u8>, value: u32) {
    const EIGHT: u32 = 100_000_000;
    if value >= EIGHT {
        let first = value / EIGHT;
        if first >= 10 {
            out.extend_from_slice(&[b'0' | (first / 10) as u8, b'0' | (first % 10) as u8]);
        } else {
            out.push(b'0' | first as u8);
        }
        out.extend_from_slice(&(eight_digits(value % EIGHT) | ZEROS).to_le_bytes());
        return;
    }
    let digits = eight_digits(value);
    let unused = digits.trailing_zeros() & !7;
    let end = out.len().wrapping_add(8 - unused as usize / 8);
    out.extend_from_slice(&((digits | ZEROS) >> unused).to_le_bytes());
    out.truncate(end);
}

const ZEROS: u64 = 0x3030_3030_3030_3030;

/// The digits of a number below 10^8 as octets 0 to 9, the first in the lowest place: the number is
/// halved into two of four digits, those into two of two, those into digits.
#[inline]
fn eight_digits(value: u32) -> u64 {
    let value = u64::from(value);
    let fours = (value / 10_000) | ((value % 10_000) << 32);
    // Division by 100 and by 10 of all halves at once, exact for what they can be.
    let hundreds = (fours.wrapping_mul(10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | fours.wrapping_sub(hundreds.wrapping_mul(100)) << 16;
    let tens = (twos.wrapping_mul(103) >> 10) & 0x000f_000f_000f_000f;
    tens | twos.wrapping_sub(tens.wrapping_mul(10)) << 8
}

/// The eight bits of an octet as `0` and `1`, the highest first.
#[inline]
pub(crate) fn binary_digits(octet: u8) -> [u8; 8] {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let bits = (u64::from(octet) * EACH) & 0x0102_0408_1020_4080;
    // A bit that is set carries into the highest place of its octet.
    let ones = ((bits + 0x7f * EACH) >> 7) & EACH;
    (ones | (0x30 * EACH)).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_octets_are_those_of_a_loop() {
        let text = b"Q[@aZz{`\xff\x80AZ/+019";
        for len in 0..=16 {
            for start in 0..text.len() - len {
                let octets = &text[start..start + len];
                let mut expected = [0; 16];
                expected[..len].copy_from_slice(octets);
                assert_eq!(pack16(octets).to_le_bytes(), expected);
                if len <= 8 {
                    assert_eq!(pack8(octets).to_le_bytes(), expected[..8]);
                }
            }
        }
        for len in 0..40 {
            let octets: Vec<u8> = (0..len).map(|at| (at * 37 + 60) as u8).collect();
            let mut out = vec![1];
            push(&mut out, &octets);
            push_lower(&mut out, &octets);
            let text = octets.repeat(2);
            push_first(&mut out, &text, octets.len());
            let lower = octets.to_ascii_lowercase();
            let expected = [&[1][..], &octets, &lower, &octets].concat();
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn numbers_are_written_as_the_standard_library_does() {
        for shift in 0..32 {
            for delta in 0..3_u32 {
                for value in [
                    (1_u32 << shift).wrapping_sub(delta),
                    10_u32.pow(shift % 10) - delta.min(1),
                ] {
                    let mut out = Vec::new();
                    push_decimal(&mut out, value);
                    assert_eq!(out, value.to_string().into_bytes());
                }
            }
        }
        for octet in 0..=255_u8 {
            assert_eq!(&binary_digits(octet), format!("{octet:08b}").as_bytes());
        }
    }
}
