//! The headers before a protocol on a connection: those of the PROXY protocol (HAProxy, versions 1 and 2), by which a
//! proxy names the client for which it connects. Beginnings that are too short to be recognised are held here, too.

use std::collections::HashMap;

use weir_flow::{Chunk, Content, Interest, Payload, Sender};
use weir_messages::tls::may_begin_with_hello;

use super::came_in::CameIn;
use super::on_opened::pass;
use super::relayed::HEP_MAGIC;

/// Removes the headers, and holds beginnings until they are recognised.
#[derive(Debug, Default)]
pub(super) struct Prefaces {
    open: HashMap<u64, [PrefaceSide; 2]>,
    given_up: u64,
    /// Whether octets that may become a TLS hello are held, too.
    holds_hellos: bool,
}

/// A direction of a connection.
#[derive(Debug, Default)]
struct PrefaceSide {
    /// The possible beginning of a header.
    held: Vec<u8>,
    came_in: CameIn,
    /// The number of octets of headers that were removed.
    taken_off: u64,
    is_decided: bool,
}

/// The classification of the first octets of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginning {
    /// A header of this number of octets.
    Header(usize),
    /// More octets are needed.
    Unsure,
    Other,
}

/// The signature of version 2.
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// The number of octets of version 2 before the addresses; the last two are the length of the rest.
const FIXED_OCTETS: usize = 16;
/// The maximum number of octets of a header of version 2 that is removed. One of version 1 has 107.
const HEADER_OCTETS_MAX: usize = 4_096;
const LINE_OCTETS_MAX: usize = 107;
const WORD: &[u8] = b"PROXY ";
/// The number of connections at one time, at most.
const CONNECTIONS_MAX: usize = 1 << 16;

type OnPiece<'e> = dyn FnMut(&Payload<'_>) -> Interest + 'e;

impl Prefaces {
    /// Creates the same state, in which octets that may become a TLS hello are held until they are recognised.
    pub(super) fn with_hellos() -> Self {
        Self {
            holds_hellos: true,
            ..Self::default()
        }
    }

    /// The number of connections whose headers were not removed because of the limit.
    pub(super) const fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Reads a chunk of a stream, and reports the octets after the headers.
    pub(super) fn chunk(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        each: &mut OnPiece<'_>,
    ) -> Interest {
        if !self.is_open(chunk) {
            return each(payload);
        }
        let Some([low, high]) = self.open.get_mut(&chunk.connection) else {
            return each(payload);
        };
        let (side, other) = match chunk.sender {
            Sender::Low => (low, high),
            Sender::High => (high, low),
        };
        let acknowledged = chunk.acknowledged;
        let chunk = &Chunk {
            acknowledged: acknowledged.map(|octets| octets.saturating_sub(other.taken_off)),
            ..*chunk
        };
        let interest = side.chunk(payload, chunk, self.holds_hellos, each);
        if interest == Interest::Ignore || chunk.is_last {
            self.open.remove(&chunk.connection);
        }
        interest
    }

    /// Returns true for a connection that has headers, or begins as if it had.
    fn is_open(&mut self, chunk: &Chunk<'_>) -> bool {
        if !self.open.is_empty() && self.open.contains_key(&chunk.connection) {
            return true;
        }
        let may_begin = chunk.offset == 0
            && matches!(chunk.content, Content::Bytes(bytes) if beginning(bytes, self.holds_hellos) != Beginning::Other);
        if !may_begin {
            return false;
        }
        if self.open.len() >= CONNECTIONS_MAX {
            self.given_up = self.given_up.saturating_add(1);
            return false;
        }
        self.open.insert(chunk.connection, Default::default());
        true
    }
}

impl PrefaceSide {
    fn chunk(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        holds_hellos: bool,
        each: &mut OnPiece<'_>,
    ) -> Interest {
        let offset = chunk.offset.saturating_sub(self.taken_off);
        let Content::Bytes(bytes) = chunk.content else {
            let held = std::mem::take(&mut self.held);
            self.came_in.keep(behind_line_ends(&held));
            let others = self.came_in.before(payload.others);
            let mut before = *payload;
            before.others = &others;
            let is_wanted = held.is_empty()
                || pass(&before, chunk, Content::Bytes(&held), 0, each) == Interest::Follow;
            self.is_decided = true;
            return match is_wanted {
                true => each(&payload.with_stream(&Chunk { offset, ..*chunk })),
                false => Interest::Ignore,
            };
        };
        if self.is_decided || chunk.offset > 0 && self.held.is_empty() && self.taken_off == 0 {
            return each(&payload.with_stream(&Chunk { offset, ..*chunk }));
        }
        let mut all = std::mem::take(&mut self.held);
        all.extend_from_slice(bytes);
        loop {
            match beginning(&all, holds_hellos) {
                Beginning::Header(octets) => {
                    all.drain(..octets.min(all.len()));
                    self.taken_off = self.taken_off.saturating_add(octets as u64);
                }
                Beginning::Unsure if !chunk.is_last => {
                    self.came_in.take(payload, chunk.content, all.len());
                    self.held = all;
                    return Interest::Follow;
                }
                _ => break,
            }
        }
        self.is_decided = true;
        // Frames with octets of headers and with line ends, which keep a connection alive, have nothing of the first message.
        let held = behind_line_ends(&all).saturating_sub(bytes.len());
        self.came_in.keep(held);
        let others = std::mem::take(&mut self.came_in).before(payload.others);
        let content = Content::Bytes(&all);
        let mut payload = *payload;
        payload.others = &others;
        each(&payload.with_stream(&Chunk {
            content,
            offset: 0,
            ..*chunk
        }))
    }
}

/// The number of octets behind line ends.
fn behind_line_ends(bytes: &[u8]) -> usize {
    let is_line_end = |byte: &&u8| matches!(**byte, b'\r' | b'\n');
    bytes.iter().skip_while(is_line_end).count()
}

fn beginning(bytes: &[u8], holds_hellos: bool) -> Beginning {
    let is_begun = |with: &[u8]| with.starts_with(bytes);
    if bytes.starts_with(SIGNATURE) {
        return version_2(bytes);
    }
    if bytes.starts_with(WORD) {
        return version_1(bytes);
    }
    let is_unsure = is_begun(SIGNATURE)
        || is_begun(WORD)
        || is_begun(HEP_MAGIC) && bytes != HEP_MAGIC
        || holds_hellos && may_begin_with_hello(bytes);
    match is_unsure {
        true => Beginning::Unsure,
        false => Beginning::Other,
    }
}

/// Parses a line of version 1: `PROXY TCP4`, `TCP6` or `UNKNOWN`, and addresses.
fn version_1(bytes: &[u8]) -> Beginning {
    let line = bytes.get(..LINE_OCTETS_MAX).unwrap_or(bytes);
    let Some(end) = memchr::memmem::find(line, b"\r\n") else {
        return match bytes.len() < LINE_OCTETS_MAX {
            true => Beginning::Unsure,
            false => Beginning::Other,
        };
    };
    let rest = line.get(WORD.len()..end).unwrap_or_default();
    let is_header = [b"TCP4 " as &[u8], b"TCP6 ", b"UNKNOWN"]
        .iter()
        .any(|family| rest.starts_with(family));
    match is_header {
        true => Beginning::Header(end + 2),
        false => Beginning::Other,
    }
}

fn version_2(bytes: &[u8]) -> Beginning {
    let (Some(version), Some([high, low])) = (bytes.get(12), bytes.get(14..FIXED_OCTETS)) else {
        return Beginning::Unsure;
    };
    let octets = FIXED_OCTETS + usize::from(u16::from_be_bytes([*high, *low]));
    if version >> 4 != 2 || octets > HEADER_OCTETS_MAX {
        return Beginning::Other;
    }
    match bytes.len() < octets {
        true => Beginning::Unsure,
        false => Beginning::Header(octets),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_known_by_every_prefix() {
        let mut binary = SIGNATURE.to_vec();
        binary.extend_from_slice(&[0x21, 0x11, 0, 12, 192, 0, 2, 1, 192, 0, 2, 2, 1, 2, 3, 4]);
        let text = b"PROXY TCP4 198.51.100.7 203.0.113.9 56324 5060\r\n".to_vec();
        for header in [binary, text, b"PROXY UNKNOWN\r\n".to_vec()] {
            for length in 0..header.len() {
                assert_eq!(
                    beginning(&header[..length], false),
                    Beginning::Unsure,
                    "{length}"
                );
            }
            let with_more = [&header[..], b"INVITE sip:a@b SIP/2.0\r\n"].concat();
            assert_eq!(beginning(&header, false), Beginning::Header(header.len()));
            assert_eq!(
                beginning(&with_more, false),
                Beginning::Header(header.len())
            );
        }
        for other in [
            b"GET / HTTP/1.1" as &[u8],
            b"HEP3",
            b"PROXY TCP9 a\r\n",
            b"PROXYING",
            b"\r\n\r\nINVITE",
        ] {
            assert_eq!(
                beginning(other, false),
                Beginning::Other,
                "{}",
                other.escape_ascii()
            );
        }
        let long = [WORD, &[b'x'; 200]].concat();
        assert_eq!(beginning(&long, false), Beginning::Other);
        assert_eq!(beginning(b"HEP", false), Beginning::Unsure);
    }
}
