//! Decimal numbers, read and written.

/// Parses digits as a number of 64 bits.
#[inline]
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &digit| {
        let digit = digit.wrapping_sub(b'0');
        let number = number.checked_mul(10)?;
        (digit <= 9).then(|| number.checked_add(u64::from(digit)))?
    })
}

/// Parses sixteen digits as a number, eight at a time: the time of every record is read.
#[inline]
pub(crate) fn decimal_of_sixteen(digits: [u8; 16]) -> Option<u64> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (halves, _) = digits.as_chunks::<8>();
    let (mut number, mut bad) = (0_u64, 0_u64);
    for half in halves {
        let worths = u64::from_le_bytes(*half) ^ (0x30 * ONES);
        // A value of ten or more gets the upper bit, or has it.
        bad |= (worths.wrapping_add(0x76 * ONES) | worths) & (0x80 * ONES);
        let pairs = worths.wrapping_mul(10).wrapping_add(worths >> 8);
        let even = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(1_000_000 << 32 | 100);
        let odd = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(10_000 << 32 | 1);
        let eight = even.wrapping_add(odd) >> 32;
        number = number.wrapping_mul(100_000_000).wrapping_add(eight);
    }
    (bad == 0).then_some(number)
}

/// The number of digits of the largest number.
pub(crate) const DIGITS_MAX: usize = 20;

/// Appends `number` with at least `width` digits.
pub(crate) fn push_decimal(number: u64, width: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(digits_of(number, width, &mut [0; DIGITS_MAX]));
}

/// Writes at least `width` decimal digits of `number` to the end of `digits`, and returns them.
#[inline]
pub(crate) fn digits_of(mut number: u64, width: usize, digits: &mut [u8; DIGITS_MAX]) -> &[u8] {
    digits.fill(b'0');
    let mut at = digits.len();
    while number > 0 || digits.len().saturating_sub(at) < width.min(DIGITS_MAX) {
        at = at.saturating_sub(1);
        digits[at] = b'0'.wrapping_add((number % 10) as u8);
        number /= 10;
    }
    digits.get(at..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_digits_are_as_one_after_the_other() {
        let mut rng = weir_testkit::Rng::new(3);
        for round in 0..20_000 {
            let mut digits = [0; 16].map(|_: u8| b'0' + rng.below(10) as u8);
            if round % 2 == 0 {
                digits[rng.below(16) as usize] = rng.next_u8();
            }
            assert_eq!(decimal_of_sixteen(digits), decimal(&digits), "{digits:?}");
        }
        for byte in 0..=255 {
            for at in 0..16 {
                let mut digits = *b"9999999999999999";
                digits[at] = byte;
                assert_eq!(decimal_of_sixteen(digits), decimal(&digits), "{digits:?}");
            }
        }
    }
}
