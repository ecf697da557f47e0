//! IEEE 802.11 frames between access points and controllers (CAPWAP), of which many have the two bytes of their frame control field
//! swapped. The columns are those of `wlan.rs`.

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
    let [first, flags] = frame_control([input.u8(0)?, input.u8(1)?]);
    // Access points put fragments together before they send them on; what is in the place of the
    // fragment's number counts only where more are to come.
    let is_fragment = flags & wlan::MORE_FRAGMENTS != 0;
    let has_number = input.bytes.get(22).is_some_and(|it| it & 15 != 0);
    wlan::decode_with(input, first, flags, is_fragment && has_number)
}

/// The bytes of the frame control field in the order of the air. RFC 5416 does not mention another order; Cisco's controllers and
/// their peers swap the two, as Wireshark assumes.
///
/// The two lowest bits of the first byte are a version, 0, and those of the second tell the direction,
/// which all data between access points and controllers has. In management frames both are 0: there a
/// second byte of 0 are no flags behind a type, but for 10 00, an association request of a station
/// that goes to sleep.
pub(super) const fn frame_control([a, b]: [u8; 2]) -> [u8; 2] {
    let is_data = a & 3 == 0 && b & 3 != 0;
    let is_management = a & 0x0f == 0 && b == 0 && a != 0x10;
    if is_data || is_management {
        [a, b]
    } else {
        [b, a]
    }
}

#[test]
fn frame_control_is_read_in_the_order_in_which_it_makes_sense() {
    for (bytes, first, flags) in [
        // A probe request, data to and from the distribution system, QoS data, protected data: swapped.
        ([0x00, 0x40], 0x40, 0x00),
        ([0x01, 0x08], 0x08, 0x01),
        ([0x11, 0x08], 0x08, 0x11),
        ([0x02, 0x88], 0x88, 0x02),
        ([0x42, 0x88], 0x88, 0x42),
        // The frames are an association request with power management, and one that is sent again.
        ([0x10, 0x00], 0x00, 0x10),
        ([0x08, 0x00], 0x00, 0x08),
        // The bytes are in the order of the air.
        ([0x08, 0x01], 0x08, 0x01),
        ([0x88, 0x42], 0x88, 0x42),
        ([0x40, 0x00], 0x40, 0x00),
        ([0x80, 0x00], 0x80, 0x00),
        ([0x00, 0x00], 0x00, 0x00),
    ] {
        assert_eq!(frame_control(bytes), [first, flags], "{bytes:02x?}");
    }
}
