//! Hexadecimal digits, upper case when written, either case when read.

/// The sixteen digits.
pub(crate) const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

const BAD: u8 = 0xff;

/// What a byte is worth as a digit, or [`BAD`].
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

/// The worth of all sixteen bits as eight-bit pairs of digits.
const PAIRS: [[u8; 2]; 256] = {
    let mut pairs = [[0; 2]; 256];
    let mut value = 0;
    while value < 256 {
        pairs[value] = [DIGITS[value >> 4], DIGITS[value & 15]];
        value += 1;
    }
    pairs
};

/// Four digits.
#[inline(always)]
pub(crate) const fn of_u16(value: u16) -> [u8; 4] {
    let [high, low] = value.to_be_bytes();
    let ([a, b], [c, d]) = (PAIRS[high as usize], PAIRS[low as usize]);
    [a, b, c, d]
}

/// Six digits of the lower 24 bits.
#[inline(always)]
pub(crate) const fn of_u24(value: u32) -> [u8; 6] {
    let [_, a, b, c] = value.to_be_bytes();
    let ([p, q], [r, s], [t, u]) = (PAIRS[a as usize], PAIRS[b as usize], PAIRS[c as usize]);
    [p, q, r, s, t, u]
}

/// Digits, at most seven of them, as a number.
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

/// Four digits as a number.
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
}
