//! Segments in which the words with a proxy end and what the tunnel carries begins: both are read as if each had come by itself.

use std::collections::HashMap;

use memchr::{memchr, memmem};
use weir_flow::{Chunk, Content, Interest, Payload, Sender};

use super::{CONNECT, SOCKS_4_OCTETS, SOCKS_4_OCTETS_MAX, is_method};
use crate::extract::on_opened::OnOpened;

/// The answers of proxies that are reported where the client's first data came before them. All other answers are, in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum KeptAnswers {
    /// No answers: the first octets of the server are those in the tunnel.
    #[default]
    Nothing,
    /// The heads of HTTP, which are messages, too.
    Heads,
    /// All answers.
    All,
}

/// The connections on which a client asked a proxy for a tunnel that is not open yet.
#[derive(Debug, Default)]
pub(in crate::extract) struct Tunnels {
    asked: HashMap<u64, TunnelRequest>,
    kept: KeptAnswers,
    given_up: u64,
}

/// A connection on which a client asked for a tunnel.
#[derive(Debug)]
struct TunnelRequest {
    client: Sender,
    /// The client sent its whole request.
    is_requested: bool,
    /// The client sent data before the answer.
    is_early: bool,
    is_open: bool,
    /// The number of octets of answers that were left out.
    left_out: u64,
}

/// Words of a client or of its proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Words {
    octets: usize,
    /// The words are the request of a client, or the answer of its proxy to that.
    is_last: bool,
    /// The words are a head of HTTP.
    is_head: bool,
}

/// The number of connections at one time, at most.
const CONNECTIONS_MAX: usize = 1 << 16;
/// The offset up to which a client's words may begin.
const OFFSET_MAX: u64 = 1 << 12;
/// The number of octets in which the end of a head is looked for.
const HEAD_OCTETS_MAX: usize = 1 << 13;

impl Tunnels {
    /// No connections, and the answers that are kept.
    pub(in crate::extract) fn keeping(kept: KeptAnswers) -> Self {
        Self {
            kept,
            ..Self::default()
        }
    }

    /// The number of connections that were not watched because of the limit.
    pub(in crate::extract) const fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Reads a chunk of a stream, and reports its pieces.
    pub(in crate::extract) fn chunk(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        each: &mut OnOpened<'_>,
    ) -> Interest {
        if !self.is_asked(chunk) {
            return each(payload);
        }
        let Some(asked) = self.asked.get_mut(&chunk.connection) else {
            return each(payload);
        };
        let interest = asked.chunk(payload, chunk, self.kept, each);
        let is_settled = asked.is_open && asked.left_out == 0;
        if interest == Interest::Ignore || chunk.is_last || is_settled {
            self.asked.remove(&chunk.connection);
        }
        interest
    }

    /// Returns true for a connection on which a client asked for a tunnel, or does so with these octets.
    fn is_asked(&mut self, chunk: &Chunk<'_>) -> bool {
        if !self.asked.is_empty() && self.asked.contains_key(&chunk.connection) {
            return true;
        }
        let Content::Bytes(bytes) = chunk.content else {
            return false;
        };
        let may_ask = chunk.from_originator && chunk.offset <= OFFSET_MAX;
        if !may_ask || request(bytes, false).is_none() {
            return false;
        }
        if self.asked.len() >= CONNECTIONS_MAX {
            self.given_up = self.given_up.saturating_add(1);
            return false;
        }
        let asked = TunnelRequest {
            client: chunk.sender,
            is_requested: false,
            is_early: false,
            is_open: false,
            left_out: 0,
        };
        self.asked.insert(chunk.connection, asked);
        true
    }
}

impl TunnelRequest {
    fn chunk(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        kept: KeptAnswers,
        each: &mut OnOpened<'_>,
    ) -> Interest {
        let Content::Bytes(mut rest) = chunk.content else {
            return self.piece(payload, chunk, chunk.offset, each);
        };
        let is_client = chunk.sender == self.client;
        let mut offset = chunk.offset;
        let (mut is_behind_words, mut is_data) = (false, true);
        while !self.is_open
            && let Some(words) = self.words(is_client, rest)
            && let Some((now, behind)) = rest.split_at_checked(words.octets)
        {
            match is_client {
                true => self.is_requested |= words.is_last,
                false => self.is_open |= words.is_last,
            }
            let is_kept = match kept {
                KeptAnswers::Nothing => false,
                KeptAnswers::Heads => words.is_head,
                KeptAnswers::All => true,
            };
            if is_client || !self.is_early || is_kept {
                if behind.is_empty() {
                    is_data = false;
                    break;
                }
                let piece = Chunk {
                    content: Content::Bytes(now),
                    is_last: false,
                    ..*chunk
                };
                if self.piece(payload, &piece, offset, each) == Interest::Ignore {
                    return Interest::Ignore;
                }
            } else {
                self.left_out = self.left_out.saturating_add(now.len() as u64);
            }
            is_behind_words = true;
            offset = offset.saturating_add(now.len() as u64);
            rest = behind;
        }
        self.is_early |= is_client && is_data && self.is_requested;
        if rest.is_empty() && is_behind_words && !chunk.is_last {
            return Interest::Follow;
        }
        let content = Content::Bytes(rest);
        self.piece(payload, &Chunk { content, ..*chunk }, offset, each)
    }

    fn words(&self, is_client: bool, bytes: &[u8]) -> Option<Words> {
        match is_client {
            // A proxy may refuse the first CONNECT, and want a password.
            true if self.is_requested => request(bytes, false).filter(|words| words.is_head),
            true => request(bytes, true),
            false => answer(bytes),
        }
    }

    /// Reports a piece by its place among the octets that are not left out.
    fn piece(
        &self,
        payload: &Payload<'_>,
        piece: &Chunk<'_>,
        offset: u64,
        each: &mut OnOpened<'_>,
    ) -> Interest {
        let without = |octets: u64| octets.saturating_sub(self.left_out);
        let (offset, acknowledged) = match piece.sender == self.client {
            true => (offset, piece.acknowledged.map(without)),
            false => (without(offset), piece.acknowledged),
        };
        each(&payload.with_stream(&Chunk {
            offset,
            acknowledged,
            ..*piece
        }))
    }
}

/// The words of a client at the beginning of octets, where they are whole. A name and a password are words only of a client
/// that `has_asked`.
fn request(bytes: &[u8], has_asked: bool) -> Option<Words> {
    let (octets, is_last) = match bytes {
        [5, 1, 0, address @ ..] if is_address(address) => (3 + address_octets(address)?, true),
        // A greeting alone, or with the request behind it for which it has to wait.
        [5, 1..=u8::MAX, ..] => {
            let octets = 2 + usize::from(*bytes.get(1)?);
            let (methods, behind) = bytes.get(2..)?.split_at_checked(octets - 2)?;
            let is_whole = behind.is_empty() || behind.starts_with(&[5, 1, 0]);
            let is_greeting = is_whole && methods.iter().all(is_method);
            (is_greeting.then_some(octets)?, false)
        }
        // RFC 1929.
        [1, ..] if has_asked => {
            let name = usize::from(*bytes.get(1)?);
            (3 + name + usize::from(*bytes.get(2 + name)?), false)
        }
        [4, 1, ..] => (socks_4_octets(bytes)?, true),
        _ if bytes.starts_with(CONNECT) => (head_octets(bytes)?, true),
        _ => return None,
    };
    let words = Words {
        octets,
        is_last,
        is_head: bytes.starts_with(CONNECT),
    };
    (octets <= bytes.len()).then_some(words)
}

/// The words of a proxy at the beginning of octets, where they are whole.
fn answer(bytes: &[u8]) -> Option<Words> {
    let is_head = bytes.starts_with(b"HTTP/1.") && bytes.get(9) == Some(&b'2');
    let (octets, is_last) = match bytes {
        [5, 0..=8, 0, address @ ..] if is_address(address) => (3 + address_octets(address)?, true),
        // The method that is chosen, and the answer to a password (RFC 1929).
        [5, method] | [5, method, 5, ..] if is_method(method) => (2, false),
        [1, 0] | [1, 0, 5, ..] => (2, false),
        [0, 0x5a..=0x5d, ..] => (8, true),
        _ if is_head => (head_octets(bytes)?, true),
        _ => return None,
    };
    let words = Words {
        octets,
        is_last,
        is_head,
    };
    (octets <= bytes.len()).then_some(words)
}

/// True of the types of address of SOCKS 5: IPv4, a name, IPv6.
const fn is_address(address: &[u8]) -> bool {
    matches!(address, [1 | 3 | 4, ..])
}

/// The number of octets of an address of SOCKS 5, with its type and the port.
fn address_octets(address: &[u8]) -> Option<usize> {
    let octets = match address {
        [1, ..] => 4,
        [3, length, ..] => 1 + usize::from(*length),
        [4, ..] => 16,
        _ => return None,
    };
    Some(octets + 3)
}

/// The number of octets of a request of SOCKS 4, with the name of the host in SOCKS 4a.
fn socks_4_octets(bytes: &[u8]) -> Option<usize> {
    let bytes = bytes.get(..SOCKS_4_OCTETS_MAX).unwrap_or(bytes);
    let user = bytes.get(SOCKS_4_OCTETS - 1..)?;
    let end = memchr(0, user)?;
    let octets = SOCKS_4_OCTETS + end;
    if !user.get(..end)?.iter().all(u8::is_ascii_graphic) {
        return None;
    }
    match bytes.get(4..8)? {
        [0, 0, 0, 1..=u8::MAX] => Some(octets + memchr(0, bytes.get(octets..)?)? + 1),
        _ => Some(octets),
    }
}

/// The number of octets of a head of HTTP.
fn head_octets(bytes: &[u8]) -> Option<usize> {
    let bytes = bytes.get(..HEAD_OCTETS_MAX).unwrap_or(bytes);
    Some(memmem::find(bytes, b"\r\n\r\n")? + 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The octets of the words at the beginning of these.
    fn octets(words: Option<Words>) -> Option<usize> {
        words.map(|words| words.octets)
    }

    #[test]
    fn words_end_where_the_data_begin() {
        for words in [
            &b"\x05\x01\0\x01\x0a\0\0\x09\0\x50"[..],
            b"\x05\x01\0\x03\x07a.local\x01\xbb",
            b"\x05\x01\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\x50",
            b"\x01\x04user\x06secret",
            b"\x04\x01\0\x50\x0a\0\0\x09user\0",
            b"\x04\x01\0\x50\0\0\0\x01\0a.local\0",
            b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
        ] {
            let joined = [words, b"GET / HTTP/1.1\r\n\r\n"].concat();
            assert_eq!(octets(request(&joined, true)), Some(words.len()));
            for length in 0..words.len() {
                let begun = &words[..length];
                // The request of SOCKS 5 begins as a greeting does.
                let expected = (begun == b"\x05\x01\0").then_some(3);
                assert_eq!(octets(request(begun, true)), expected, "{length}");
            }
        }
        for words in [
            &b"\x05\0\0\x01\x0a\0\0\x09\0\x50"[..],
            b"\x05\x05\0\x01\0\0\0\0\0\0",
            b"\0\x5a\0\0\0\0\0\0",
            b"HTTP/1.1 200 OK\r\nVia: a\r\n\r\n",
        ] {
            let joined = [words, b"HTTP/1.1 404 None\r\n\r\n"].concat();
            let found = answer(&joined).unwrap();
            assert_eq!((found.octets, found.is_last), (words.len(), true));
        }
    }

    #[test]
    fn a_greeting_is_one_alone_or_before_its_request() {
        let greeted = b"\x05\x02\0\x02\x05\x01\0\x01\x0a\0\0\x09\0\x50";
        assert_eq!(octets(request(greeted, false)), Some(4));
        assert_eq!(octets(request(&greeted[..4], false)), Some(4));
        assert_eq!(octets(answer(b"\x05\x02\x05\0\0\x01")), Some(2));
        assert_eq!(octets(answer(b"\x01\0")), Some(2));
    }

    #[test]
    fn other_octets_are_no_words() {
        // Messages of DNS of 1,281 and of 90 octets, a name without a question, and octets of MQTT and of HTTP.
        assert_eq!(request(b"\x05\x01\x80\x01\x01\0\0\x01", false), None);
        assert_eq!(answer(b"\0\x58\x80\x01\x81\x80\0\x01"), None);
        assert_eq!(request(b"\x01\x04user\x06secret", false), None);
        assert_eq!(request(b"\x10\x10\0\x04MQTT", true), None);
        assert_eq!(request(b"GET / HTTP/1.1\r\n\r\n", true), None);
        assert_eq!(answer(b"HTTP/1.1 407 No\r\n\r\n"), None);
        assert_eq!(answer(b"\x05\0\x0b\x03"), None);
    }
}
