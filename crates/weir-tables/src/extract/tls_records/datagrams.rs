//! The records of DTLS in a datagram, and the messages of the handshake in them.

use weir_messages::tls::Carrier;

use super::{CHANGE, HANDSHAKE, OnRecord, RecordRow};

/// The header of a record (RFC 6347, 4.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct DatagramRecord {
    pub(super) kind: u8,
    pub(super) version: u16,
    pub(super) epoch: u16,
    pub(super) sequence: u64,
    pub(super) length: u16,
}

/// The number of octets in front of a record, and of a message or a fragment of one.
const HEADER_OCTETS: usize = 13;
const MESSAGE_HEADER_OCTETS: usize = 12;
/// The last content type: one of heartbeats (RFC 6520) is before it, and it is that of connection IDs (RFC 9146).
const TYPE_MAX: u8 = 25;

/// Reports the records of a datagram, as far as they have the header of DTLS before version 1.3, and the messages in those that are not
/// sealed.
pub(super) fn datagram_records(bytes: &[u8], each: &mut OnRecord<'_>) {
    let mut rest = bytes;
    while let Some((header, behind)) = rest.split_first_chunk::<HEADER_OCTETS>() {
        let [
            kind @ CHANGE..=TYPE_MAX,
            v1,
            v0,
            e1,
            e0,
            numbers @ ..,
            l1,
            l0,
        ] = *header
        else {
            return;
        };
        let [s5, s4, s3, s2, s1, s0] = numbers;
        let record = DatagramRecord {
            kind,
            version: u16::from_be_bytes([v1, v0]),
            epoch: u16::from_be_bytes([e1, e0]),
            sequence: u64::from_be_bytes([0, 0, s5, s4, s3, s2, s1, s0]),
            length: u16::from_be_bytes([l1, l0]),
        };
        each(RecordRow {
            record: Some(record),
            ..RecordRow::of_datagram(Carrier::Dtls)
        });
        let octets = usize::from(record.length).min(behind.len());
        let (body, next) = behind.split_at(octets);
        if kind == HANDSHAKE && record.epoch == 0 {
            messages(body, each);
        }
        rest = next;
    }
}

/// Reports the messages of a record, and the fragments of messages (RFC 6347, 4.2.2).
fn messages(body: &[u8], each: &mut OnRecord<'_>) {
    let mut rest = body;
    while let Some((header, behind)) = rest.split_first_chunk::<MESSAGE_HEADER_OCTETS>() {
        let [kind, .., l2, l1, l0] = *header;
        each(RecordRow {
            datagram_message: Some(kind),
            ..RecordRow::of_datagram(Carrier::Dtls)
        });
        let octets = u32::from_be_bytes([0, l2, l1, l0]) as usize;
        rest = behind.get(octets..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of this type and epoch, with the number 5.
    fn record(kind: u8, epoch: u8, body: &[u8]) -> Vec<u8> {
        let header = [
            kind,
            0xfe,
            0xfd,
            0,
            epoch,
            0,
            0,
            0,
            0,
            0,
            5,
            0,
            body.len() as u8,
        ];
        [&header[..], body].concat()
    }

    /// Display filters knew the datagrams of DTLS, and nothing of what is in them.
    #[test]
    fn records_and_messages_have_their_fields() {
        let message = |kind: u8, body: &[u8]| {
            let length = body.len() as u8;
            let header = [kind, 0, 0, length, 0, 0, 0, 0, 0, 0, 0, length];
            [&header[..], body].concat()
        };
        let flight = [message(2, b"hello"), message(14, b"")].concat();
        let datagram = [
            record(HANDSHAKE, 0, &flight),
            record(CHANGE, 0, b"\x01"),
            record(HANDSHAKE, 1, &message(20, b"sealed")),
        ]
        .concat();
        let read = |bytes: &[u8]| {
            let mut found = Vec::new();
            datagram_records(bytes, &mut |row: RecordRow| {
                let record = row
                    .record
                    .map(|it| (it.kind, it.epoch, it.sequence, it.length));
                found.push((record, row.datagram_message));
            });
            found
        };
        let expected = [
            (Some((HANDSHAKE, 0, 5, 29)), None),
            (None, Some(2)),
            (None, Some(14)),
            (Some((CHANGE, 0, 5, 1)), None),
            (Some((HANDSHAKE, 1, 5, 18)), None),
        ];
        assert_eq!(read(&datagram), expected);
        for end in 0..datagram.len() {
            assert!(read(&datagram[..end]).len() <= expected.len());
        }
        // The short header of DTLS 1.3 (RFC 9147, 4).
        assert_eq!(read(&[0x2f; 40]), []);
    }
}
