//! DNS, TLS with its relatives, HTTP/1 and 2, RTP with its reports, and small messages.

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::Arc;

use weir_messages::dns::{
    Dialect, DnsMessage, Lookups, NAME_OCTETS_MAX, Questions, Way, looks_like_dns,
};
use weir_messages::http::{
    BODY_OCTETS_MAX, Connection, HEAD_OCTETS_MAX, StreamEvent, Streams, StreamsBegin,
};
use weir_messages::rtp::quality::{Impairment, Inputs, opinion, rating};
use weir_messages::rtp::{Arrival, Measure, Packet as RtpPacket, rtcp};
use weir_messages::tls::{
    Carrier, Certificate, Decryptor, HANDSHAKE_OCTETS_MAX, KeyLog, OpenVpn, Opened, Session, Stamp,
    begins_with_hello, is_quic_initial, is_quic_of_unknown_version, ja3, ja3s, ja4,
};
use weir_messages::{diameter, hep, m3ua, mgcp, mqtt, radius, sccp, sdp, snmp, stun, tcap};

use crate::bits::Bits;

/// A message: everything in it is read to an end, names are no longer than they may be, and what is beyond
/// doubt has no fault.
pub fn dns(bytes: &[u8]) {
    let is_sure = looks_like_dns(bytes);
    for dialect in [Dialect::Unicast, Dialect::Multicast, Dialect::LinkLocal] {
        let Some(message) = DnsMessage::new(bytes, dialect) else {
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
        let way = Way {
            flow: 1,
            time_ns: Some(5),
            passed_ns: 5,
            frame: 1,
            identification: Some(1),
        };
        black_box(Questions::default().take(&message, way));
        let mut lookups = Lookups::default();
        let mut told = 0;
        lookups.take(&message, way, &(), &mut |_| told += 1);
        while lookups.finish(&mut |_| told += 1) {}
        assert!(told >= 1, "every message is reported");
    }
}

/// A stream by the secrets of the hello that it may begin with: what is kept has an end, and what is closed stays so.
fn opened(bytes: &[u8], piece: usize) {
    black_box(KeyLog::parse(bytes).len());
    let mut random = String::new();
    for octet in bytes.get(11..43).unwrap_or_default() {
        let _ = write!(random, "{octet:02x}");
    }
    let labels = [
        "CLIENT_RANDOM",
        "CLIENT_EARLY_TRAFFIC_SECRET",
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0",
    ];
    let lines: String = labels
        .map(|label| format!("{label} {random} {random}\n"))
        .concat();
    let log = Arc::new(KeyLog::parse(lines.as_bytes()));
    let mut decryptor = Decryptor::new(log);
    let mut closed = [false; 2];
    for (at, piece) in bytes.chunks(piece).enumerate() {
        decryptor.take(usize::from(at % 5 > 2), piece, &mut |opened| match opened {
            Opened::Data(side, _) | Opened::Early(side, _) => assert!(!closed[side]),
            Opened::Accepted(_) | Opened::Refused(_) => {}
            Opened::Closed(side) => assert!(!std::mem::replace(&mut closed[side], true)),
        });
        assert!(decryptor.held() <= 4 * HANDSHAKE_OCTETS_MAX + 4 * (1 << 15));
    }
    assert_eq!(decryptor.is_over(), closed == [true; 2]);
}

/// Both sides of a stream, of DTLS and of QUIC, in pieces of any size.
pub fn tls(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let flags = bits.u8();
    let piece = 1 + usize::from(bits.u8());
    black_box(begins_with_hello(bits.0));
    black_box((is_quic_initial(bits.0), is_quic_of_unknown_version(bits.0)));
    opened(bits.0, piece);
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
    let mut channel = OpenVpn::default();
    for (at, part) in bits.0.chunks(piece).enumerate() {
        let side = at & usize::from(flags >> 2 & 1);
        match flags & 1 {
            0 => channel.take(side, part, &mut |_, _| {}),
            _ => channel.take_stream(side, part, &mut |_, _| {}),
        }
        assert!(channel.held() <= 1 << 18);
    }
    channel.finish(&mut |_, _| {});
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
                connection.take(side, part, Stamp::default(), &mut |event| told.push(event));
                assert!(connection.held() <= 16 * HEAD_OCTETS_MAX + (1 << 20));
            }
        }
        for side in 0..2 {
            connection.end(side, &mut |event| told.push(event));
        }
        connection.finish(&mut |event| told.push(event));
        told
    };
    for exchange in read(piece)
        .iter()
        .chain(&read(requests.len().max(responses.len()).max(1)))
    {
        let response = exchange.response.as_ref();
        assert!(response.is_none_or(|response| response.body.len() <= BODY_OCTETS_MAX));
    }
    for connection in [Streams::new(0), Streams::from_middle(0)] {
        streams(connection, [requests, responses], piece);
    }
    let is_begin = matches!(
        Streams::begins(bytes),
        StreamsBegin::Client | StreamsBegin::Server
    );
    assert!(!is_begin || bytes.len() >= 4);
    assert!(Streams::first_data(bytes).is_none_or(|data| data.len() + 9 <= bytes.len()));
}

/// Both sides of a connection of HTTP/2 in pieces, with a gap behind each: what streams carry was there.
fn streams(mut connection: Streams, sides: [&[u8]; 2], piece: usize) {
    let mut carried = 0;
    let mut each = |event: StreamEvent<'_>| {
        if let StreamEvent::Data { octets, .. } = event {
            carried += octets.len();
        }
    };
    for (side, part) in sides.into_iter().enumerate() {
        for part in part.chunks(piece) {
            connection.take(side, part, Stamp::default(), &mut each);
            assert!(connection.held() <= 16 * HEAD_OCTETS_MAX + (1 << 20));
        }
        connection.gap(side, piece as u64, &mut each);
        connection.take(side, sides[0], Stamp::default(), &mut each);
    }
    assert!(carried <= 2 * sides[0].len() + sides[0].len() + sides[1].len());
}

/// A packet, reports and a description; and a stream whose packets come with any numbers and times.
pub fn rtp(bytes: &[u8]) {
    if let Some(packet) = RtpPacket::new(bytes) {
        assert!(packet.payload().len() + 12 <= bytes.len());
        assert_eq!(packet.csrcs().count(), usize::from(packet.contributors()));
        black_box((packet.event(), packet.extension()));
        assert!(!rtcp::is_rtcp(bytes, true), "a packet is one or the other");
    }
    if let Some(packet) = RtpPacket::damaged(bytes, 0) {
        let is_whole = RtpPacket::new(bytes).is_some();
        assert!(is_whole != packet.fault().is_some());
        black_box((packet.csrcs().count(), packet.extension_element(1)));
    }
    let mut told = 0_usize;
    rtcp::reports(bytes, 0, &mut |report| {
        told += 1;
        black_box((
            report.items.of(1),
            report.block.and_then(|block| block.voice()),
        ));
    });
    // A source of a goodbye, the smallest part, has four octets, and a packet without any as well.
    assert!(told * 4 <= bytes.len());
    assert!(!rtcp::is_rtcp(bytes, false) || told > 0);
    assert!(!rtcp::is_damaged(bytes) || told > 0 && !rtcp::is_rtcp(bytes, true));
    assert!(sdp::media(bytes).len() <= sdp::MEDIA_MAX);
    let mut measure = Measure::default();
    let mut bits = Bits(bytes);
    let mut time_ns = 0_i64;
    while !bits.0.is_empty() {
        let flags = bits.u8();
        time_ns = time_ns.wrapping_add(i64::from(bits.u8()) << (flags & 0x3f));
        measure.take(&Arrival {
            time_ns,
            sequence: u16::from_be_bytes([bits.u8(), bits.u8()]),
            timestamp: u32::from_be_bytes([bits.u8(), bits.u8(), bits.u8(), bits.u8()]),
            marker: flags & 0x40 != 0,
            clock_rate: (flags & 1 == 0).then_some(8_000),
            is_comfort_noise: flags & 0x80 != 0,
        });
    }
    assert!(measure.missing() <= measure.expected());
    assert!(measure.duplicates() + measure.out_of_order() <= measure.packets());
    let rating = rating(&Inputs {
        delay_ms: time_ns as f64 / 1e6,
        loss_percent: measure.unheard_percent(),
        burst_ratio: measure.burst_ratio(),
        codec: Impairment { ie: 0.0, bpl: 25.1 },
    });
    assert!((0.0..=100.0).contains(&rating), "{rating}");
    assert!((1.0..=4.5).contains(&opinion(rating)));
}

/// Diameter, MGCP, and M3UA with SCCP and TCAP: what is read is within the message, and lists within their limits.
pub fn telephone(bytes: &[u8]) {
    if let Some(message) = diameter::DiameterMessage::new(bytes) {
        let mut pairs = 0;
        for avp in message.avps() {
            assert!(avp.data.len() + 8 <= bytes.len());
            black_box((avp.name(), avp.text()));
            pairs += 1;
        }
        // A pair has eight octets at least, in each of the groups that it is in.
        assert!(pairs * 8 <= bytes.len() * diameter::DEPTH_MAX);
    }
    black_box(diameter::begins(bytes));
    let mut told = 0;
    for message in mgcp::messages(bytes) {
        assert!(message.bytes.len() <= bytes.len() && message.body.len() < bytes.len());
        black_box((
            message.transaction(),
            message.counted("PL"),
            message.parameters().count(),
        ));
        told += 1;
    }
    assert!(told <= mgcp::MESSAGES_MAX);
    if let Some(message) = m3ua::M3uaMessage::new(bytes) {
        assert!(message.parameters().count() <= m3ua::PARAMETERS_MAX);
        black_box(message.transfer());
    }
    let mut parts = sccp::Reassembly::default();
    for piece in bytes.split(|octet| *octet == 0xff) {
        let Some(message) = sccp::SccpMessage::new(piece) else {
            continue;
        };
        for party in [message.called, message.calling].into_iter().flatten() {
            assert!(
                party
                    .digits()
                    .is_none_or(|digits| digits.len() <= 2 * bytes.len())
            );
        }
        if let Some(whole) = parts.take(7, &message) {
            black_box(tcap::TcapMessage::new(whole));
        }
    }
    let components = tcap::TcapMessage::new(bytes).map_or(0, |message| message.components.len());
    assert!(components <= tcap::COMPONENTS_MAX);
}

/// RADIUS, SNMP, MQTT and STUN: what is read is within the message, and lists within their limits.
pub fn small(bytes: &[u8]) {
    for ports in [[0, 0], [1_812, 161]] {
        if let Some(packet) = radius::Packet::new(bytes, ports) {
            let octets: usize = packet
                .attributes()
                .map(|attribute| 2 + attribute.value.len())
                .sum();
            assert!(octets == 0 || 20 + octets <= bytes.len());
        }
        let clipped = snmp::clipped(bytes);
        assert!(
            clipped
                .as_ref()
                .is_none_or(|it| it.len() <= bytes.len() + 64)
        );
        for bytes in [Some(bytes), clipped.as_deref()].into_iter().flatten() {
            let Some(message) = snmp::SnmpMessage::new(bytes, ports) else {
                continue;
            };
            let pdu = message.pdu.unwrap_or_default();
            assert!(pdu.names.len() <= snmp::VARIABLES_MAX);
            assert_eq!(pdu.names.len(), pdu.values.len());
            for value in &pdu.values {
                black_box(value.text());
            }
        }
    }
    for version in [4, 5] {
        if let Some(packet) = mqtt::ControlPacket::new(bytes, version) {
            assert!(packet.topics.len() * 2 <= bytes.len());
            assert!(
                packet
                    .message
                    .is_none_or(|message| message.len() < bytes.len())
            );
        }
    }
    if let Some(hep) = hep::Hep::parse(bytes) {
        assert!(hep.payload.len() < bytes.len());
        assert!(!hep::is_incomplete(bytes));
        black_box(hep.is_message());
    }
    black_box((hep::is_compressed(bytes), hep::is_incomplete(bytes)));
    if let Some(message) = stun::StunMessage::new(bytes) {
        for (kind, value) in message.attributes() {
            black_box(message.address(kind, value));
        }
        black_box(message.error());
    }
}
