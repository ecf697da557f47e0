//! DNS, TLS with its relatives, and HTTP/1.

use std::hint::black_box;

use weir_messages::dns::{Dialect, Lookups, Message, NAME_OCTETS_MAX, Questions, Way, looks_like_dns};
use weir_messages::http::{BODY_OCTETS_MAX, Connection, HEAD_OCTETS_MAX};
use weir_messages::tls::{
    Carrier, Certificate, HANDSHAKE_OCTETS_MAX, Session, Stamp, begins_with_hello, is_quic_initial, ja3, ja3s, ja4,
};

use crate::bits::Bits;

/// A message: everything in it is read to an end, names are no longer than they may be, and what is beyond
/// doubt has no fault.
pub fn dns(bytes: &[u8]) {
    let is_sure = looks_like_dns(bytes);
    for dialect in [Dialect::Unicast, Dialect::Multicast, Dialect::LinkLocal] {
        let Some(message) = Message::new(bytes, dialect) else {
            assert!(!is_sure);
            return;
        };
        assert!(!is_sure || message.fault().is_none() && message.trailing_octets() == 0);
        let mut entries = 0;
        for question in message.questions() {
            assert!(question.name.to_string().len() <= 4 * NAME_OCTETS_MAX);
            entries += 1;
        }
        for record in message.records() {
            assert!(record.name.to_string().len() <= 4 * NAME_OCTETS_MAX);
            black_box(record.data());
            entries += 1;
        }
        // The smallest entry has five octets.
        assert!(entries * 5 <= bytes.len());
        let way = Way { flow: 1, time_ns: 5, frame: 1 };
        black_box(Questions::default().take(&message, way));
        let mut lookups = Lookups::default();
        let mut told = 0;
        lookups.take(&message, way, &(), &mut |_| told += 1);
        while lookups.finish(&mut |_| told += 1) {}
        assert!(told >= 1, "every message is told");
    }
}

/// Both sides of a stream, of DTLS and of QUIC, in pieces of any size.
pub fn tls(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let flags = bits.u8();
    let piece = 1 + usize::from(bits.u8());
    black_box(begins_with_hello(bits.0));
    black_box(is_quic_initial(bits.0));
    let carrier = match flags & 3 {
        0 | 1 => Carrier::Tls,
        2 => Carrier::Dtls,
        _ => Carrier::Quic,
    };
    let mut session = Session::new(carrier);
    for (at, part) in bits.0.chunks(piece).enumerate() {
        let side = at & usize::from(flags >> 2 & 1);
        if carrier == Carrier::Tls {
            session.stream(side, part, Stamp::default());
        } else {
            session.datagram(side, part, Stamp::default());
        }
        assert!(session.held() <= 4 * HANDSHAKE_OCTETS_MAX);
    }
    if let Some(hello) = &session.client {
        assert_eq!(ja3(hello).len(), 32);
        assert_eq!(ja4(hello, carrier).len(), 36);
    }
    if let Some(hello) = &session.server {
        assert_eq!(ja3s(hello).len(), 32);
    }
    black_box(Certificate::parse(bits.0));
}

/// Both sides of a connection: the same in pieces of any size, as far as what is kept of it.
pub fn http(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let flags = bits.u8();
    let piece = 1 + usize::from(bits.u8());
    let (requests, responses) = bits.0.split_at(bits.0.len() / (1 + usize::from(flags & 3)));
    let read = |piece: usize| {
        let mut connection = Connection::default();
        let mut told = Vec::new();
        for (side, part) in [(0, requests), (1, responses)] {
            for part in part.chunks(piece) {
                connection.take(side, part, Stamp::default(), &mut |it| told.push(it));
                assert!(connection.held() <= 16 * HEAD_OCTETS_MAX + (1 << 20));
            }
        }
        for side in 0..2 {
            connection.end(side, &mut |it| told.push(it));
        }
        connection.finish(&mut |it| told.push(it));
        told
    };
    for exchange in read(piece).iter().chain(&read(requests.len().max(responses.len()).max(1))) {
        let response = exchange.response.as_ref();
        assert!(response.is_none_or(|it| it.body.len() <= BODY_OCTETS_MAX));
    }
}
