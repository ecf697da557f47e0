//! Lengths and distances, and the codes that stand for them (RFC 1951, 3.2.5).

/// Symbols of the alphabet of literals and lengths that may be used.
pub const LITERALS: usize = 286;
/// The symbol that ends a block.
pub const END_OF_BLOCK: usize = 256;
/// The symbol of the first length code.
pub const FIRST_LENGTH: usize = 257;
/// Length codes.
pub const LENGTHS: usize = 29;
/// Distance codes.
pub const DISTANCES: usize = 30;
/// Symbols in which lengths of codes are sent.
pub const BIT_LENGTHS: usize = 19;

/// The order in which the lengths of the code-length codes are sent (RFC 1951, 3.2.7).
pub const BIT_LENGTH_ORDER: [usize; BIT_LENGTHS] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];

/// The values of a length code or a distance code: those from `base` on, counted by its extra bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Code {
    /// The number of the code within its table.
    pub number: u16,
    /// The smallest value.
    pub base: u16,
    /// Bits that follow the code.
    pub extra_bits: u8,
}

/// The length codes: lengths from 3 to 258.
pub const LENGTH_CODES: [Code; LENGTHS] = {
    let mut codes = codes::<LENGTHS>(3, 4);
    // The longest has a code of its own, where the last of the others would reach it with its extra bits.
    codes[LENGTHS - 1] = Code {
        number: (LENGTHS - 1) as u16,
        base: 258,
        extra_bits: 0,
    };
    codes
};

/// The distance codes: distances from 1 to 32,768.
pub const DISTANCE_CODES: [Code; DISTANCES] = codes::<DISTANCES>(1, 2);

/// Codes of which the first `2 * a_power` stand for a value each, and then as many for twice as many each.
const fn codes<const N: usize>(first: u16, a_power: usize) -> [Code; N] {
    let mut codes = [Code {
        number: 0,
        base: 0,
        extra_bits: 0,
    }; N];
    let mut base = first as u32;
    let mut number = 0;
    while number < N {
        let extra_bits = match number < 2 * a_power {
            true => 0,
            false => number / a_power - 1,
        };
        codes[number] = Code {
            number: number as u16,
            base: base as u16,
            extra_bits: extra_bits as u8,
        };
        base += 1 << extra_bits;
        number += 1;
    }
    codes
}

/// The code of each length, by the length minus 3.
static CODE_OF_LENGTH: [u8; 256] = {
    let mut codes = [0; 256];
    let mut number = 0;
    while number < LENGTHS {
        let mut length = LENGTH_CODES[number].base as usize - 3;
        while length < codes.len() {
            codes[length] = number as u8;
            length += 1;
        }
        number += 1;
    }
    codes
};

/// The code of a length from 3 to 258. Other lengths give some code, and no panic.
#[inline(always)]
#[must_use]
#[allow(clippy::indexing_slicing, reason = "the tables have every code")]
pub const fn length_code(length: u32) -> Code {
    LENGTH_CODES[CODE_OF_LENGTH[(length.wrapping_sub(3) & 0xff) as usize] as usize]
}

/// The code of a distance from 1 to 32,768, without a table: each power of two has two codes. The base of others is
/// cut to 16 bits.
#[inline(always)]
#[must_use]
pub const fn distance_code(distance: u32) -> Code {
    let less = distance.wrapping_sub(1);
    if less < 4 {
        return Code {
            number: less as u16,
            base: distance as u16,
            extra_bits: 0,
        };
    }
    let extra = less.ilog2() - 1;
    Code {
        number: (2 * extra + (less >> extra)) as u16,
        base: (((less >> extra) << extra) + 1) as u16,
        extra_bits: extra as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_the_code_that_reaches_it() {
        for length in 3..=258 {
            let code = length_code(length);
            assert_eq!(LENGTH_CODES[usize::from(code.number)], code);
            let above = length - u32::from(code.base);
            assert!(above < 1 << code.extra_bits, "{length}: {code:?}");
            assert_eq!(length == 258, code.number == 28, "{length}");
        }
        for distance in 1..=32_768 {
            let code = distance_code(distance);
            assert_eq!(DISTANCE_CODES[usize::from(code.number)], code, "{distance}");
            assert!(distance - u32::from(code.base) < 1 << code.extra_bits);
        }
    }

    /// Rows of the two tables of RFC 1951, 3.2.5.
    #[test]
    fn codes_are_those_of_the_standard() {
        let code = |number, base, extra_bits| Code {
            number,
            base,
            extra_bits,
        };
        for row in [
            code(0, 3, 0),
            code(8, 11, 1),
            code(12, 19, 2),
            code(20, 67, 4),
            code(27, 227, 5),
            code(28, 258, 0),
        ] {
            assert_eq!(LENGTH_CODES[usize::from(row.number)], row);
        }
        for row in [
            code(0, 1, 0),
            code(4, 5, 1),
            code(9, 25, 3),
            code(20, 1025, 9),
            code(29, 24_577, 13),
        ] {
            assert_eq!(DISTANCE_CODES[usize::from(row.number)], row);
        }
    }
}
