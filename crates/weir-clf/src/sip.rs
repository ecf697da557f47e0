//! Records of SIP messages.

use std::net::{IpAddr, SocketAddr};

use weir_sip::{Digest, Message};

use crate::decimal::push_decimal;
use crate::optional::{BODY, HEADER, MESSAGE, Optionals, push_optional};
use crate::record::{ABSENT, Field, Flags, Record, Time, UNPARSABLE, literal};

/// The facts about a message besides its text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passage {
    /// The time when it was sent or received.
    pub time: Time,
    /// The source.
    pub source: Option<SocketAddr>,
    /// The destination.
    pub destination: Option<SocketAddr>,
    /// Direction, transport and the like; the message decides whether it is a response.
    pub flags: Flags,
}

/// The optional fields that are logged of a message.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    /// The names of headers, compact or long; each that is present is logged, in the order of the message.
    pub headers: Vec<String>,
    /// Whether the body is logged, with its content type.
    pub body: bool,
    /// Whether the whole message is logged.
    pub message: bool,
}

/// Makes records out of messages. Owns what a record borrows.
#[derive(Debug, Default)]
pub struct Recorder {
    extras: Extras,
    built: Vec<u8>,
}

impl Recorder {
    /// Creates a recorder that logs `extras` too.
    #[must_use]
    pub fn new(extras: Extras) -> Self {
        Self {
            extras,
            built: Vec::new(),
        }
    }

    /// Returns the record of a message with this `digest`. A field that the message lacks is `-`, one that cannot be
    /// parsed `?`. The branch of the topmost Via is the server transaction of a received message, and the client
    /// transaction of a sent one.
    pub fn record<'a>(
        &'a mut self,
        message: &Message<'a>,
        digest: &Digest<'a>,
        passage: &Passage,
    ) -> Record<'a> {
        self.built.clear();
        let mut flags = passage.flags;
        flags.response = !digest.is_request();
        let cseq = self.built(|out| push_cseq(message, digest, out));
        let status = self.built(|out| {
            match digest.status {
                None => {}
                // The status line has no code of three digits, or one of no class.
                Some(0) => out.extend_from_slice(UNPARSABLE),
                Some(status) => push_decimal(u64::from(status), 3, out),
            }
        });
        let destination = self.built(|out| push_address(passage.destination, out));
        let source = self.built(|out| push_address(passage.source, out));
        let start = self.built.len();
        self.push_extras(message, digest);
        let built = &self.built;
        let piece = |(begin, end): (usize, usize)| match built.get(begin..end) {
            None | Some(b"") => ABSENT,
            Some(piece) => piece,
        };
        let mut record = Record {
            time: passage.time,
            flags,
            optional: Optionals::new(built.get(start..).unwrap_or_default()),
            ..Record::default()
        };
        let uri = |address: Option<weir_sip::Address<'a>>| match address {
            None => ABSENT,
            Some(address) if address.uri.text.is_empty() => UNPARSABLE,
            Some(address) => literal(address.uri.text),
        };
        let tag = |address: Option<weir_sip::Address<'a>>| {
            address
                .and_then(|address| address.tag())
                .map_or(ABSENT, literal)
        };
        let branch = digest
            .via
            .and_then(|via| via.branch())
            .map_or(ABSENT, literal);
        let (server, client) = if flags.sent == Some(true) {
            (ABSENT, branch)
        } else {
            (branch, ABSENT)
        };
        for (field, value) in [
            (Field::CSeq, piece(cseq)),
            (Field::Status, piece(status)),
            (
                Field::RequestUri,
                digest.request_uri.map_or(ABSENT, literal),
            ),
            (Field::Destination, piece(destination)),
            (Field::Source, piece(source)),
            (Field::ToUri, uri(digest.to)),
            (Field::ToTag, tag(digest.to)),
            (Field::FromUri, uri(digest.from)),
            (Field::FromTag, tag(digest.from)),
            (Field::CallId, digest.call_id.map_or(ABSENT, literal)),
            (Field::ServerTxn, server),
            (Field::ClientTxn, client),
        ] {
            record.set(field, value);
        }
        record
    }

    /// The range of the bytes that `make` appends.
    fn built(&mut self, make: impl FnOnce(&mut Vec<u8>)) -> (usize, usize) {
        let begin = self.built.len();
        make(&mut self.built);
        (begin, self.built.len())
    }

    fn push_extras(&mut self, message: &Message<'_>, digest: &Digest<'_>) {
        let Self { extras, built } = self;
        if !extras.headers.is_empty() {
            for header in message.headers().iter() {
                let wanted = |name: &String| {
                    weir_sip::HeaderName::of(name.as_bytes()) == header.name
                        && (header.name != weir_sip::HeaderName::Other
                            || header.text.eq_ignore_ascii_case(name.as_bytes()))
                };
                if extras.headers.iter().any(wanted) {
                    // A compact name is expanded, as RFC 6873 has it.
                    let name = match header.name.text() {
                        "" => header.text,
                        name => name.as_bytes(),
                    };
                    let prefix = [name, b": "].concat();
                    push_optional(HEADER, 0, &prefix, &header.unfolded(), built);
                }
            }
        }
        if extras.body && !digest.body.is_empty() {
            let prefix = [
                digest.content_type.unwrap_or(b"application/octet-stream"),
                b" ",
            ]
            .concat();
            push_optional(BODY, 0, &prefix, digest.body, built);
        }
        if extras.message {
            push_optional(MESSAGE, 0, b"", message.bytes(), built);
        }
    }
}

/// Writes number and method of CSeq; `-` for the number where the message has no number.
fn push_cseq(message: &Message<'_>, digest: &Digest<'_>, out: &mut Vec<u8>) {
    match (digest.cseq, digest.method) {
        (Some(cseq), _) => {
            push_decimal(u64::from(cseq.number), 1, out);
            out.push(b' ');
            out.extend_from_slice(cseq.method.as_bytes());
        }
        (None, _) if message.headers().get(weir_sip::HeaderName::CSeq).is_some() => {
            out.extend_from_slice(UNPARSABLE);
        }
        (None, Some(method)) => {
            out.extend_from_slice(b"- ");
            out.extend_from_slice(method.as_bytes());
        }
        (None, None) => {}
    }
}

/// Writes `a.b.c.d:port` or `[v6]:port`; an IPv4 address in IPv6 as IPv4.
fn push_address(address: Option<SocketAddr>, out: &mut Vec<u8>) {
    if let Some(address) = address {
        let ip = match address.ip() {
            IpAddr::V6(ip) => ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4),
            ip => ip,
        };
        out.extend_from_slice(SocketAddr::new(ip, address.port()).to_string().as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoder, Form};
    use weir_sip::Limits;

    #[test]
    fn a_message_becomes_a_record() {
        let bytes = b"INVITE sip:bob@b.example SIP/2.0\r\n\
            v: SIP/2.0/UDP h;branch=z9hG4bK776\r\nFrom: \"A\" <sip:alice@a.example>;tag=19\r\n\
            To: <sip:bob@b.example>\r\nCall-ID: c@a\r\nCSeq: 7 INVITE\r\nm: <sip:alice@192.0.2.1>\r\n\
            Content-Type: application/sdp\r\nContent-Length: 5\r\n\r\nv=0\r\n";
        let message = Message::parse(bytes, &Limits::default()).unwrap();
        let digest = Digest::of(&message);
        let extras = Extras {
            headers: vec!["contact".into()],
            body: true,
            message: false,
        };
        let mut recorder = Recorder::new(extras);
        let passage = Passage {
            time: Time {
                seconds: 1_328_821_153,
                nanoseconds: 0,
            },
            source: Some("[2001:db8::1]:5060".parse().unwrap()),
            destination: Some("[::ffff:192.0.2.10]:5060".parse().unwrap()),
            flags: Flags::from_letters(*b"RORUU").unwrap(),
        };
        let record = recorder.record(&message, &digest, &passage);
        let mut encoder = Encoder::new(Form::Rfc6873);
        encoder.push(&record);
        let text = String::from_utf8_lossy(encoder.bytes()).into_owned();
        let (_, text) = text.split_once('\n').unwrap();
        assert_eq!(
            text,
            "1328821153.000\tRORUU\t7 INVITE\t-\tsip:bob@b.example\t192.0.2.10:5060\t\
            [2001:db8::1]:5060\tsip:bob@b.example\t-\tsip:alice@a.example\t19\tc@a\tz9hG4bK776\t-\t\
            00@00000000,001E,00,Contact: <sip:alice@192.0.2.1>\t\
            01@00000000,0019,00,application/sdp v=0%0D%0A\n"
        );
        assert_eq!(
            crate::rfc6873::check(encoder.bytes()),
            Ok(encoder.bytes().len())
        );
    }

    #[test]
    fn what_a_message_lacks_is_absent_and_what_is_broken_unparsable() {
        let bytes = b"OPTIONS sip:b SIP/2.0\r\nCSeq: many OPTIONS\r\nCall-ID: -\r\n\r\n";
        let message = Message::parse(bytes, &Limits::default()).unwrap();
        let digest = Digest::of(&message);
        let mut recorder = Recorder::default();
        let record = recorder.record(&message, &digest, &Passage::default());
        assert_eq!(record.field(Field::CSeq), UNPARSABLE);
        assert_eq!(record.field(Field::CallId), b"%2D");
        assert_eq!(record.field(Field::FromUri), ABSENT);
    }

    /// A code of no class stands as it was sent; one without three digits was logged as 000.
    #[test]
    fn a_status_that_is_not_three_digits_is_unparsable() {
        for (digits, expected) in [("099", "099"), ("999", "999"), ("2000", "?"), ("20", "?")] {
            let text = format!("SIP/2.0 {digits} Why\r\nCSeq: 1 INVITE\r\nCall-ID: c\r\n\r\n");
            let message = Message::parse(text.as_bytes(), &Limits::default()).unwrap();
            let digest = Digest::of(&message);
            let mut recorder = Recorder::default();
            let record = recorder.record(&message, &digest, &Passage::default());
            assert_eq!(record.field(Field::Status), expected.as_bytes(), "{digits}");
        }
    }
}
