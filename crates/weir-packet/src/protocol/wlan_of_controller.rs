//! IEEE 802.11 frames between access points and controllers (CAPWAP), of which many have the two bytes of their frame control field
//! swapped ([`wlan::frame_control`]). The columns are those of `wlan.rs`.

use super::{Header, Input, Protocol, wlan};
use crate::Reason;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "wlan",
    title: "IEEE 802.11 wireless LAN between access points and controllers",
    decode,
    on: &[],
    fields: &[],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let [first, flags] = wlan::frame_control([input.u8(0)?, input.u8(1)?]);
    // Access points put fragments together before they send them on; what is in the place of the
    // fragment's number counts only where more are to come.
    let is_fragment = flags & wlan::MORE_FRAGMENTS != 0;
    let has_number = input.bytes.get(22).is_some_and(|it| it & 15 != 0);
    wlan::decode_with(input, first, flags, is_fragment && has_number)
}
