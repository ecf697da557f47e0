//! Connections in sessions of PPPoE.

use super::header::{put_u16, u16_at};
use super::{Account, Capture, Draw, How};
use crate::capture::link_type;

/// Puts the whole packets of connections into sessions (RFC 2516, 4), each connection into one of its own.
pub(super) fn open(draw: &Draw<'_>, capture: &mut Capture, account: &mut Account, per_mille: u16) {
    for index in 0..capture.frames.len() {
        let frame = &capture.frames[index];
        let (Some(header), Some(origin)) = (capture.header(frame), frame.origin) else {
            continue;
        };
        let link = capture.link_types.get(frame.interface as usize);
        let ends = draw.connections.ends(&header);
        let random = draw.connection(&ends, None, per_mille);
        let (Some(mut random), Some(&link_type::ETHERNET)) = (random, link) else {
            continue;
        };
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
