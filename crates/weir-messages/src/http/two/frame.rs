//! Frames of HTTP/2 (RFC 9113, 4.1): their headers, and what octets may be some.

use weir_bytes::{array_at, u8_at, u32_be_at};

/// The connection preface of a client (RFC 9113, 3.4).
pub(in crate::http) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(super) const FRAME_HEADER: usize = 9;
pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITIES: u8 = 2;
pub(super) const RESET: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GO_AWAY: u8 = 7;
pub(super) const WINDOW: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;
pub(super) const PRIORITY_UPDATE: u8 = 16;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;
pub(super) const PADDED: u8 = 8;
pub(super) const PRIORITY: u8 = 0x20;
pub(super) const ACK: u8 = 1;
/// Octets of a frame behind a loss, at most.
pub(super) const RESUMED_OCTETS_MAX: usize = 1 << 20;

/// True for the first octets of a server: settings, which come first (RFC 9113, 3.4).
pub(in crate::http) fn begins_with_settings(bytes: &[u8]) -> bool {
    let Some(header) = header(bytes) else {
        return false;
    };
    header.kind == SETTINGS
        && header.flags == 0
        && header.stream == 0
        && header.length <= 120
        && header.length.is_multiple_of(6)
}

/// Whether more octets may make this a beginning with SETTINGS.
pub(in crate::http) fn may_begin_with_settings(bytes: &[u8]) -> bool {
    let mut shortest = [0, 0, 0, SETTINGS, 0, 0, 0, 0, 0];
    let is_short = bytes.len() < shortest.len();
    let begun = shortest.iter_mut().zip(bytes);
    begun.for_each(|(octet, known)| *octet = *known);
    is_short && !bytes.is_empty() && begins_with_settings(&shortest)
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FrameHeader {
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

pub(super) fn header(bytes: &[u8]) -> Option<FrameHeader> {
    let [high, middle, low] = array_at(bytes, 0)?;
    Some(FrameHeader {
        length: u32::from_be_bytes([0, high, middle, low]) as usize,
        kind: u8_at(bytes, 3)?,
        flags: u8_at(bytes, 4)?,
        stream: u32_be_at(bytes, 5)? & 0x7fff_ffff,
    })
}

/// Whether octets are frames up to their end. The test is stricter than the form of a frame, which other protocols may have by
/// chance.
pub(in crate::http) fn are_frames(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let mut is_any = false;
    while let Some(header) = header(rest) {
        if !is_plausible(header) || rest.get(5).is_some_and(|octet| octet & 0x80 != 0) {
            return false;
        }
        is_any = true;
        rest = rest
            .get(FRAME_HEADER.saturating_add(header.length)..)
            .unwrap_or_default();
    }
    is_any
}

/// Whether octets are frames up to their end, of which the first is whole and carries something, ends a stream, or is of settings.
pub(super) fn begin_with_frame(bytes: &[u8]) -> bool {
    let is_whole = |header: FrameHeader| {
        let is_empty = header.length == 0;
        let may_be_empty = header.kind == SETTINGS || header.kind == DATA && header.flags != 0;
        bytes.len() >= FRAME_HEADER.saturating_add(header.length) && (!is_empty || may_be_empty)
    };
    header(bytes).is_some_and(is_whole) && are_frames(bytes)
}

/// The block of fields in the payload of a frame of HEADERS: what is between its priority and its padding.
pub(super) fn fields_of(header: FrameHeader, payload: &[u8]) -> Option<&[u8]> {
    let (padding, rest) = match header.flags & PADDED {
        0 => (0, payload),
        _ => payload.split_first().map(|(first, rest)| (*first, rest))?,
    };
    let rest = match header.flags & PRIORITY {
        0 => rest,
        _ => rest.get(5..)?,
    };
    rest.get(..rest.len().checked_sub(padding.into())?)
}

/// The payload of the first frame of data, without its padding, where octets are frames.
pub(in crate::http) fn first_data(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes;
    while let Some(header) = header(rest) {
        let payload = rest.get(FRAME_HEADER..)?;
        let end = payload.len().min(header.length);
        let (payload, after) = payload.split_at_checked(end)?;
        if header.kind == DATA && header.length > 0 {
            let (padding, data) = match header.flags & PADDED {
                0 => (0, payload),
                _ => payload.split_first().map(|(first, data)| (*first, data))?,
            };
            let behind = header.length.saturating_sub(payload.len());
            let padding = usize::from(padding).saturating_sub(behind);
            return data.get(..data.len().checked_sub(padding)?);
        }
        rest = after;
    }
    None
}

/// True for the header of a frame that RFC 9113 allows.
pub(super) fn is_plausible(header: FrameHeader) -> bool {
    let (flags, of_stream) = match header.kind {
        DATA => (END_STREAM | PADDED, true),
        HEADERS => (END_STREAM | END_HEADERS | PADDED | PRIORITY, true),
        PRIORITIES if header.length == 5 => (0, true),
        RESET if header.length == 4 => (0, true),
        SETTINGS if header.length.is_multiple_of(6) => (ACK, false),
        PROMISE => (END_HEADERS | PADDED, true),
        PING if header.length == 8 => (ACK, false),
        GO_AWAY if header.length >= 8 => (0, false),
        WINDOW if header.length == 4 => (0, header.stream != 0),
        CONTINUATION => (END_HEADERS, true),
        PRIORITY_UPDATE if header.length >= 4 => (0, false),
        _ => return false,
    };
    header.flags & !flags == 0
        && (header.stream != 0) == of_stream
        && header.length <= RESUMED_OCTETS_MAX
}
