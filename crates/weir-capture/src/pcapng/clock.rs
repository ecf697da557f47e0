//! Time in units of an interface's own, to nanoseconds since 1970.

/// The resolution and offset of an interface's timestamps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    pub(super) resolution: Resolution,
    /// Nanoseconds to add.
    pub(super) offset_ns: i128,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Resolution {
    /// Nanoseconds in a unit.
    Multiply(u64),
    /// Units in a nanosecond.
    Divide(u64),
    /// Units in a second, as a power of two.
    Binary(u32),
}

impl Clock {
    /// Nanoseconds in a unit, where it is at least one and the clock counts from 1970.
    pub(super) fn whole_ns(&self) -> Option<u64> {
        match self.resolution {
            Resolution::Multiply(ns @ 1..) if self.offset_ns == 0 => Some(ns),
            _ => None,
        }
    }

    /// Nanoseconds since 1970.
    #[inline]
    pub(super) fn time_ns(&self, ticks: u64) -> i128 {
        let ns = match self.resolution {
            Resolution::Multiply(ns) => u128::from(ticks) * u128::from(ns),
            Resolution::Divide(units) => u128::from(ticks / units),
            Resolution::Binary(bits) => (u128::from(ticks) * 1_000_000_000) >> bits,
        };
        // Less than 2^94, so it fits; the sum is below 2^96.
        ns as i128 + self.offset_ns
    }
}

impl Resolution {
    /// The clock of `if_tsresol`: the high bit chooses a power of two over a power of ten.
    pub(super) fn new(option: u8) -> Self {
        let exponent = u32::from(option & 0x7f);
        if option & 0x80 != 0 {
            return Self::Binary(exponent);
        }
        match exponent {
            0..=9 => Self::Multiply(10_u64.pow(9 - exponent)),
            // Finer than 10^-28 s, any 64-bit count is less than a nanosecond.
            _ => 10_u64
                .checked_pow(exponent - 9)
                .map_or(Self::Multiply(0), Self::Divide),
        }
    }
}
