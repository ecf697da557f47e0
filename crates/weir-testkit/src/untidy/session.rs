//! Connections in sessions of PPPoE.

use super::header::{put_u16, u16_at};
use super::{Account, Capture, Draw, How};

/// Puts the whole packets of connections into sessions (RFC 2516, 4), each connection into one of its own.
pub(super) fn open(draw: &Draw<'_>, capture: &mut Capture, account: &mut Account, per_mille: u16) {
    for index in 0..capture.frames.len() {
        let frame = &capture.frames[index];
        let Some(drawn) = draw.over_ethernet(capture, frame, per_mille) else {
            continue;
        };
        let (header, origin, ends, mut random) = drawn;
        let type_at = header.ip - 2;
        let protocol: u16 = match u16_at(&frame.bytes, type_at) {
            Some(0x0800) => 0x0021,
            Some(0x86dd) => 0x0057,
            _ => continue,
        };
        // The length counts the protocol's two octets, too.
        let Ok(len) = u16::try_from(header.end - header.ip + 2) else {
            continue;
        };
        if !header.is_whole(&frame.bytes) || !draw.allows(origin) {
            continue;
        }
        let session = random.between(1, 0xfffe) as u16;
        account.touch(origin, ends, &header, &frame.bytes, How::InSession(session));
        let frame = &mut capture.frames[index];
        put_u16(&mut frame.bytes, type_at, SESSION_ETHERTYPE);
        let mut added = vec![0x11, 0x00];
        for word in [session, len, protocol] {
            added.extend(word.to_be_bytes());
        }
        frame.wire_len = frame.wire_len.saturating_add(added.len() as u32);
        frame.bytes.splice(header.ip..header.ip, added);
    }
}

/// The EtherType of the packets of a session.
const SESSION_ETHERTYPE: u16 = 0x8864;
