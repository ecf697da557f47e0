//! Connections whose directions came by two interfaces.

use super::{Account, Capture, Draw, How};

/// Puts one direction of connections into an interface of its own: there is another one for each that the capture has.
pub(super) fn other(draw: &Draw<'_>, capture: &mut Capture, account: &mut Account, per_mille: u16) {
    let count = u32::try_from(capture.link_types.len()).unwrap_or(u32::MAX);
    let mut is_any = false;
    for index in 0..capture.frames.len() {
        let frame = &capture.frames[index];
        let (Some(header), Some(origin)) = (capture.header(frame), frame.origin) else {
            continue;
        };
        let ends = draw.connections.ends(&header);
        let Some(mut random) = draw.connection(&ends, None, per_mille) else {
            continue;
        };
        let is_moved = random.percent(50) == header.from_low();
        if !is_moved || !draw.allows(origin) {
            continue;
        }
        let interface = frame.interface.saturating_add(count);
        let how = How::Elsewhere(interface);
        account.touch(origin, ends, &header, &frame.bytes, how);
        capture.frames[index].interface = interface;
        is_any = true;
    }
    if is_any {
        let others = capture.link_types.clone();
        capture.link_types.extend(others);
    }
}
