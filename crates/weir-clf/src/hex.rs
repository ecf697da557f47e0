//! Hexadecimal digits, in upper case when written, in either case when read.

/// The sixteen digits.
pub(crate) const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

const BAD: u8 = 0xff;

/// The value of a byte as a hexadecimal digit, or [`BAD`].
const VALUES: [u8; 256] = {
    let mut values = [BAD; 256];
    let mut digit = 0;
    while digit < 16 {
        values[DIGITS[digit] as usize] = digit as u8;
        values[DIGITS[digit].to_ascii_lowercase() as usize] = digit as u8;
        digit += 1;
    }
    values
};

/// The pairs of digits of all values of a byte.
const PAIRS: [[u8; 2]; 256] = {
    let mut pairs = [[0; 2]; 256];
    let mut value = 0;
    while value < 256 {
        pairs[value] = [DIGITS[value >> 4], DIGITS[value & 15]];
        value += 1;
    }
    pairs
};

/// Returns the four digits of a number.
#[inline(always)]
pub(crate) const fn of_u16(value: u16) -> [u8; 4] {
    let [high, low] = value.to_be_bytes();
    let ([a, b], [c, d]) = (PAIRS[high as usize], PAIRS[low as usize]);
    [a, b, c, d]
}

/// Returns the six digits of the lower 24 bits.
#[inline(always)]
pub(crate) const fn of_u24(value: u32) -> [u8; 6] {
    let [_, a, b, c] = value.to_be_bytes();
    let ([p, q], [r, s], [t, u]) = (PAIRS[a as usize], PAIRS[b as usize], PAIRS[c as usize]);
    [p, q, r, s, t, u]
}

/// Parses at most seven digits as a number.
#[inline(always)]
pub(crate) fn number(digits: &[u8]) -> Option<u32> {
    let (mut value, mut bad) = (0_u32, 0_u8);
    for &digit in digits {
        let digit = VALUES[usize::from(digit)];
        bad |= digit;
        value = value << 4 | u32::from(digit & 15);
    }
    (bad & 0xf0 == 0).then_some(value)
}

/// Parses eight digits as two numbers of four, and returns bits that are zero only if all are digits. Eight at a time:
/// a record begins with 58 digits, and looking each up in a table takes half the time of reading it.
#[inline(always)]
pub(crate) const fn two(digits: [u8; 8]) -> ([u16; 2], u64) {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let text = u64::from_le_bytes(digits);
    // Letters have bit 6, and their lower half counts from 1.
    let letters = text >> 6 & ONES;
    let worths = (text & (0x0f * ONES)) + letters * 9;
    // A byte that is not a digit has a value of 16 or more, or is written differently.
    let written = worths + 0x30 * ONES + ((worths + 6 * ONES) >> 4 & ONES) * 7;
    let upper = text & !(letters << 5);
    let bad = (written ^ upper) | (worths & (0x10 * ONES));
    let pairs = (worths << 4 | worths >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs << 8 | pairs >> 16;
    ([fours as u16, (fours >> 32) as u16], bad)
}

/// Parses four digits as a number.
#[inline(always)]
pub(crate) fn u16_of(digits: &[u8]) -> Option<u16> {
    let digits: [u8; 4] = digits.try_into().ok()?;
    number(&digits).map(|value| value as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_survives() {
        for value in 0..=u16::MAX {
            assert_eq!(u16_of(&of_u16(value)), Some(value));
            assert_eq!(of_u16(value), *format!("{value:04X}").as_bytes());
        }
        assert_eq!(of_u24(0x0001_0AF7), *b"010AF7");
        assert_eq!(u16_of(b"00ff"), Some(255));
        assert_eq!(u16_of(b"00g0"), None);
        assert_eq!(u16_of(b"000"), None);
    }

    #[test]
    fn two_at_a_time_are_as_one() {
        let check = |digits: [u8; 8]| {
            let each = [u16_of(&digits[..4]), u16_of(&digits[4..])];
            let (found, bad) = two(digits);
            match each {
                [Some(one), Some(other)] => assert_eq!((found, bad), ([one, other], 0)),
                _ => assert_ne!(bad, 0, "{digits:?}"),
            }
        };
        for at in 0..8 {
            for byte in 0..=255 {
                for around in [*b"00000000", *b"FFFFFFFF", *b"9aBc4dE0", *b"OOOOOOOO"] {
                    let mut digits = around;
                    digits[at] = byte;
                    check(digits);
                }
            }
        }
        for value in 0..=u16::MAX {
            let ([a, b, c, d], [e, f, g, h]) = (of_u16(value), of_u16(!value));
            check([a, b, c, d, e, f, g, h]);
        }
    }
}
