//! MGCP (RFC 3435): the messages of a datagram.

/// Ports of gateways and of call agents.
pub const PORTS: [u16; 2] = [2_427, 2_727];
/// Messages of a datagram that are read.
pub const MESSAGES_MAX: usize = 256;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MgcpMessage<'m> {
    /// The first line.
    pub line: Line<'m>,
    /// The transaction identifier that command and response share, as it was sent.
    pub transaction: &'m [u8],
    /// All of it.
    pub bytes: &'m [u8],
    parameters: &'m [u8],
    /// The body after the empty line: a description of media.
    pub body: &'m [u8],
}

/// The first line of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'m> {
    /// A command.
    Command {
        /// `CRCX`, `MDCX`, `DLCX`, `RQNT`, `NTFY`, ….
        verb: &'m [u8],
        /// The endpoint that it is about.
        endpoint: &'m [u8],
        /// `MGCP 1.0`, with a profile at times.
        version: &'m [u8],
    },
    /// A response.
    Response {
        /// The code: 200 done, 250 connection deleted, 5xx refused, ….
        code: u16,
        /// The text after the transaction identifier.
        text: &'m [u8],
    },
}

/// The messages of a datagram: lines with a full stop stand between them (RFC 3435, 3.5.5). Text between them that
/// does not begin with a line of MGCP is skipped.
pub fn messages(bytes: &[u8]) -> impl Iterator<Item = MgcpMessage<'_>> {
    let mut rest = Some(bytes);
    let parts = std::iter::from_fn(move || {
        let all = rest?;
        let mut at = 0;
        for line in lines(all) {
            if line.trim_ascii() == b"." {
                rest = all.get(at + line.len()..);
                return all.get(..at);
            }
            at += line.len();
        }
        rest = None;
        Some(all)
    });
    parts.take(MESSAGES_MAX).filter_map(MgcpMessage::new)
}

/// Whether a datagram begins with a command, or has a command or a response first between [`PORTS`]. The datagrams of a tunnel
/// may have messages behind headers.
#[must_use]
pub fn begins(bytes: &[u8], ports: [u16; 2]) -> bool {
    let is_port = ports.iter().any(|port| PORTS.contains(port));
    let first = match is_port {
        true => messages(bytes).next(),
        false => MgcpMessage::new(bytes),
    };
    match first.map(|message| message.line) {
        Some(Line::Command { .. }) => true,
        Some(Line::Response { .. }) => is_port,
        None => false,
    }
}

impl<'m> MgcpMessage<'m> {
    /// Reads a message; `None` when its first line is not one of MGCP.
    #[must_use]
    pub fn new(bytes: &'m [u8]) -> Option<Self> {
        let (first, rest) = line(bytes)?;
        let (word, after) = word(first)?;
        let (transaction, after) = self::word(after)?;
        let is_number = transaction.len() <= 9 && transaction.iter().all(u8::is_ascii_digit);
        if !is_number {
            return None;
        }
        let line = match word {
            [b'0'..=b'9', b'0'..=b'9', b'0'..=b'9'] => Line::Response {
                code: std::str::from_utf8(word).ok()?.parse().ok()?,
                text: after,
            },
            [_, _, _, _] if is_verb(word) => {
                let (endpoint, version) = self::word(after)?;
                let is_version = version.get(..5)?.eq_ignore_ascii_case(b"MGCP ");
                is_version.then_some(Line::Command {
                    verb: word,
                    endpoint,
                    version,
                })?
            }
            _ => return None,
        };
        let (parameters, body) = halves(rest);
        Some(Self {
            line,
            transaction,
            bytes,
            parameters,
            body,
        })
    }

    /// The number of the transaction.
    #[must_use]
    pub fn transaction(&self) -> Option<u32> {
        std::str::from_utf8(self.transaction).ok()?.parse().ok()
    }

    /// The parameters: names and values.
    pub fn parameters(&self) -> impl Iterator<Item = (&'m [u8], &'m [u8])> + use<'m> {
        lines(self.parameters).filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = line.split_at(colon);
            let name = name.trim_ascii();
            let value = value.get(1..)?.trim_ascii();
            (!name.is_empty()).then_some((name, value))
        })
    }

    /// The value of the first parameter of this name; case does not matter.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&'m [u8]> {
        let mut parameters = self.parameters();
        let found = parameters.find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()))?;
        Some(found.1)
    }

    /// A number of the connection's parameters (RFC 3435, 3.2.2.7): `PS` packets sent, `PL` packets lost, ….
    #[must_use]
    pub fn counted(&self, name: &str) -> Option<u32> {
        let of_connection = self.parameter("P")?;
        let mut parts = of_connection.split(|byte| *byte == b',');
        parts.find_map(|part| {
            let (known, value) = part.split_at(part.iter().position(|byte| *byte == b'=')?);
            let is_it = known.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
            let value = std::str::from_utf8(value.get(1..)?.trim_ascii()).ok()?;
            value.parse().ok().filter(|_| is_it)
        })
    }
}

/// The commands (RFC 3435, 2.3), and experimental ones.
fn is_verb(word: &[u8]) -> bool {
    const VERBS: [&[u8]; 10] = [
        b"EPCF", b"CRCX", b"MDCX", b"DLCX", b"RQNT", b"NTFY", b"AUEP", b"AUCX", b"RSIP", b"MESG",
    ];
    VERBS.iter().any(|verb| verb.eq_ignore_ascii_case(word))
        || matches!(word, [b'X' | b'x', rest @ ..] if rest.iter().all(u8::is_ascii_alphabetic))
}

/// The first line without its end, and what follows; lines that are empty before it are passed over.
fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let begin = bytes.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let bytes = bytes.get(begin..)?;
    let first = lines(bytes).next()?;
    let (_, rest) = bytes.split_at(first.len());
    Some((first.trim_ascii_end(), rest))
}

/// Lines with their ends: CR LF or LF (RFC 3435, 3.1), and the CR alone of some gateways.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let len = match end {
            Some(at) if rest.get(at..at + 2) == Some(b"\r\n") => at + 2,
            Some(at) => at + 1,
            None => rest.len(),
        };
        let (line, after) = rest.split_at(len);
        rest = after;
        (!line.is_empty()).then_some(line)
    })
}

/// The first word of a line, and what follows it.
fn word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.trim_ascii_start();
    let end = line.iter().position(u8::is_ascii_whitespace);
    let (word, rest) = line.split_at(end.unwrap_or(line.len()));
    (!word.is_empty()).then_some((word, rest.trim_ascii()))
}

/// The parts before and after an empty line.
fn halves(bytes: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    for line in lines(bytes) {
        if line.trim_ascii().is_empty() {
            let body = bytes.get(at + line.len()..).unwrap_or_default();
            return (bytes.get(..at).unwrap_or_default(), body);
        }
        at += line.len();
    }
    (bytes, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATAGRAM: &[u8] = b"200 2005 OK\r\nI: FDE234C8\r\n\r\nv=0\r\nc=IN IP4 192.0.2.7\r\nm=audio 3456 RTP/AVP 0\r\n.\r\n\
        DLCX 1210 aaln/1@rgw.example MGCP 1.0 NCS 1.0\r\nc: A3C47F\r\nP: PS=1245, PR=1244, PL=1, JI=20\r\n";

    /// The second message of a datagram in a tunnel was one of the tunnel's own datagram, too.
    #[test]
    fn between_other_ports_a_datagram_begins_with_a_command() {
        let command = b"NTFY 2005 aaln/1@rgw MGCP 1.0\r\n";
        let behind = [&b"\x08\0\0\0 and other headers\r\n.\r\n"[..], command].concat();
        assert!(begins(command, [5, 6]));
        assert!(!begins(&behind, [5, 6]));
        assert!(begins(&behind, [2_427, 6]));
    }

    #[test]
    fn lines_end_by_cr_lf_by_lf_and_by_cr() {
        let text = std::str::from_utf8(DATAGRAM).unwrap();
        let whole: Vec<_> = messages(DATAGRAM).collect();
        for end in ["\n", "\r"] {
            let other = text.replace("\r\n", end);
            let all: Vec<_> = messages(other.as_bytes()).collect();
            assert_eq!(all.len(), whole.len(), "{end:?}");
            for (one, other) in whole.iter().zip(&all) {
                assert_eq!(one.line, other.line, "{end:?}");
                assert!(one.parameters().eq(other.parameters()), "{end:?}");
                assert_eq!(
                    crate::sdp::media(one.body),
                    crate::sdp::media(other.body),
                    "{end:?}"
                );
            }
        }
    }

    #[test]
    fn the_messages_of_a_datagram_are_read() {
        let all: Vec<_> = messages(DATAGRAM).collect();
        assert_eq!(all.len(), 2);
        assert_eq!(
            all[0].line,
            Line::Response {
                code: 200,
                text: b"OK"
            }
        );
        assert_eq!(all[0].parameter("i"), Some(&b"FDE234C8"[..]));
        assert_eq!(crate::sdp::media(all[0].body)[0].port, 3_456);
        let (verb, endpoint) = (&b"DLCX"[..], &b"aaln/1@rgw.example"[..]);
        let version = &b"MGCP 1.0 NCS 1.0"[..];
        assert_eq!(
            all[1].line,
            Line::Command {
                verb,
                endpoint,
                version
            }
        );
        assert_eq!(
            (all[1].transaction(), all[1].counted("PL")),
            (Some(1_210), Some(1))
        );
        assert_eq!(all[1].parameter("C"), Some(&b"A3C47F"[..]));
        assert!(begins(DATAGRAM, [1, 2_427]) && !begins(DATAGRAM, [1, 2]));
        assert!(!begins(b"INVITE sip:a SIP/2.0\r\n\r\n", [1, 2_427]));
        assert!(!begins(b"220 mail ready\r\n", [1, 2_427]));
    }

    #[test]
    fn every_prefix_is_read_as_far_as_it_goes() {
        for end in 0..DATAGRAM.len() {
            assert!(messages(&DATAGRAM[..end]).count() <= 2);
        }
        assert_eq!(
            messages(&b"200 1\n.\n".repeat(10_000)).count(),
            MESSAGES_MAX
        );
    }
}
