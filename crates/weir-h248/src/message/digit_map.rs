//! Digit maps as messages carry them.

use crate::{
    name::Name,
    wire::leaf::{DigitMapName, Octets, Uint99},
};

sequence! {
    /// A digit map: its name, its value, or both to give it that name.
    DigitMapDescriptor<'a> "DigitMapDescriptor" extensible 9 {
        /// The name.
        [0] opt name: Option<Name<'a>> => DigitMapName,
        /// The value.
        [1] opt value: Option<DigitMapValue<'a>> => DigitMapValue<'a>,
    }
}

sequence! {
    /// The value of a digit map. See [`DigitMap`](crate::DigitMap) for matching.
    DigitMapValue<'a> "DigitMapValue" extensible 1 {
        /// Seconds until the first digit, 0 to 99.
        [0] opt start_timer: Option<u8> => Uint99,
        /// Seconds to wait for more, when what there is could do.
        [1] opt short_timer: Option<u8> => Uint99,
        /// Seconds to wait for more, when more is needed.
        [2] opt long_timer: Option<u8> => Uint99,
        /// The patterns: `([1-7]xxx|0s)`.
        [3] req body: &'a [u8] => Octets<0, 0>,
        /// Tenths of a second from which on a digit is a long one (version 2).
        [4] ext(2) duration_timer: Option<u8> => Uint99,
    }
}
