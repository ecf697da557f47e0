//! Stream Control Transmission Protocol and its chunks.

use weir_bytes::{Bits, u8_at, u16_be_at, u32_be_at};

use super::{Header, Input, Layer, Next, OfEach, On, Protocol};
use crate::checksum::{Transport, crc32c};
use crate::field::{Field, plain};
use crate::shape::Location;
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "sctp",
    title: "Stream Control Transmission Protocol",
    decode,
    on: &[On::IpProtocol(132), On::UdpPort(9899)],
    fields: &[
        plain!(
            u16,
            "sctp.srcport",
            [Location::bits(SCTP, Bits::be16(0))],
            "Source port",
            "RFC 9260, 3.1",
        ),
        plain!(
            u16,
            "sctp.dstport",
            [Location::bits(SCTP, Bits::be16(2))],
            "Destination port",
            "RFC 9260, 3.1",
        ),
        plain!(
            u32,
            "sctp.verification_tag",
            [Location::bits(SCTP, Bits::be32(4))],
            "Verification tag",
            "RFC 9260, 3.1",
        ),
        plain!(
            u32,
            "sctp.checksum",
            [Location::bits(SCTP, Bits::be32(8))],
            "Checksum as it was sent",
            "RFC 9260, 3.1",
        ),
        Field::bool(
            "sctp.checksum_ok",
            checksum_ok,
            "The CRC-32C is right; NULL when it cannot be verified: a fragment, a quoted or a cut packet",
            "RFC 9260, 6.8",
        ),
        Field::u8(
            "sctp.chunk_type",
            |p| u8_at(first(p)?, 0),
            "Type of the first chunk",
            "RFC 9260, 3.2",
        ),
        Field::u8(
            "sctp.chunk_flags",
            |p| u8_at(first(p)?, 1),
            "Flags of the first chunk",
            "RFC 9260, 3.2",
        ),
        Field::u16(
            "sctp.chunk_length",
            |p| u16_be_at(first(p)?, 2),
            "Length of the first chunk in bytes, header included, padding not",
            "RFC 9260, 3.2",
        ),
        Field::u32(
            "sctp.data_tsn_raw",
            |p| u32_be_at(chunk(p, is_data)?, 4),
            "Transmission sequence number of the first chunk of data",
            "RFC 9260, 3.3.1",
        ),
        Field::u16(
            "sctp.data_sid",
            |p| u16_be_at(chunk(p, is_data)?, 8),
            "Stream of the first chunk of data",
            "RFC 9260, 3.3.1",
        ),
        Field::u16(
            "sctp.data_ssn",
            |p| u16_be_at(chunk(p, is_plain_data)?, 10),
            "Stream sequence number of the first chunk of data",
            "RFC 9260, 3.3.1",
        ),
        Field::u32(
            "sctp.data_payload_proto_id",
            |p| payload_protocol(chunk(p, is_data)?),
            "Payload protocol identifier of the first chunk of data",
            "RFC 9260, 3.3.1; RFC 8260, 2.1",
        ),
        Field::u32(
            "sctp.data_mid",
            |p| u32_be_at(chunk(p, is_interleaved_data)?, 12),
            "Message identifier of the first chunk of interleaved data",
            "RFC 8260, 2.1",
        ),
        Field::bool(
            "sctp.data_e_bit",
            |p| Some(u8_at(chunk(p, is_data)?, 1)? & 1 != 0),
            "The first chunk of data ends a message",
            "RFC 9260, 3.3.1",
        ),
        Field::bool(
            "sctp.data_b_bit",
            |p| Some(u8_at(chunk(p, is_data)?, 1)? & FIRST_FRAGMENT != 0),
            "The first chunk of data begins a message",
            "RFC 9260, 3.3.1",
        ),
        Field::bool(
            "sctp.data_u_bit",
            |p| Some(u8_at(chunk(p, is_data)?, 1)? & 4 != 0),
            "The first chunk of data is unordered",
            "RFC 9260, 3.3.1",
        ),
        Field::bool(
            "sctp.data_i_bit",
            |p| Some(u8_at(chunk(p, is_data)?, 1)? & 8 != 0),
            "The sender of the first chunk of data wants it acknowledged at once",
            "RFC 7053, 3",
        ),
        Field::u32(
            "sctp.init_initiate_tag",
            |p| u32_be_at(chunk(p, is_init)?, 4),
            "Initiate tag of an INIT",
            "RFC 9260, 3.3.2",
        ),
        Field::u32(
            "sctp.init_credit",
            |p| u32_be_at(chunk(p, is_init)?, 8),
            "Receive window of an INIT in bytes",
            "RFC 9260, 3.3.2",
        ),
        Field::u16(
            "sctp.init_nr_out_streams",
            |p| u16_be_at(chunk(p, is_init)?, 12),
            "Outbound streams of an INIT",
            "RFC 9260, 3.3.2",
        ),
        Field::u16(
            "sctp.init_nr_in_streams",
            |p| u16_be_at(chunk(p, is_init)?, 14),
            "Inbound streams of an INIT",
            "RFC 9260, 3.3.2",
        ),
        Field::u32(
            "sctp.init_initial_tsn",
            |p| u32_be_at(chunk(p, is_init)?, 16),
            "Initial transmission sequence number of an INIT",
            "RFC 9260, 3.3.2",
        ),
        Field::u32(
            "sctp.initack_initiate_tag",
            |p| u32_be_at(chunk(p, is_init_ack)?, 4),
            "Initiate tag of an INIT ACK",
            "RFC 9260, 3.3.3",
        ),
        Field::u32(
            "sctp.initack_credit",
            |p| u32_be_at(chunk(p, is_init_ack)?, 8),
            "Receive window of an INIT ACK in bytes",
            "RFC 9260, 3.3.3",
        ),
        Field::u16(
            "sctp.initack_nr_out_streams",
            |p| u16_be_at(chunk(p, is_init_ack)?, 12),
            "Outbound streams of an INIT ACK",
            "RFC 9260, 3.3.3",
        ),
        Field::u16(
            "sctp.initack_nr_in_streams",
            |p| u16_be_at(chunk(p, is_init_ack)?, 14),
            "Inbound streams of an INIT ACK",
            "RFC 9260, 3.3.3",
        ),
        Field::u32(
            "sctp.initack_initial_tsn",
            |p| u32_be_at(chunk(p, is_init_ack)?, 16),
            "Initial transmission sequence number of an INIT ACK",
            "RFC 9260, 3.3.3",
        ),
        Field::u32(
            "sctp.sack_cumulative_tsn_ack_raw",
            |p| u32_be_at(chunk(p, is_sack)?, 4),
            "Cumulative transmission sequence number of the first SACK",
            "RFC 9260, 3.3.4",
        ),
        Field::u32(
            "sctp.sack_a_rwnd",
            |p| u32_be_at(chunk(p, is_sack)?, 8),
            "Receive window of the first SACK in bytes",
            "RFC 9260, 3.3.4",
        ),
        Field::u16(
            "sctp.sack_number_of_gap_blocks",
            |p| u16_be_at(chunk(p, is_sack)?, 12),
            "Gap blocks of the first SACK",
            "RFC 9260, 3.3.4",
        ),
        Field::u16(
            "sctp.sack_number_of_duplicated_tsns",
            |p| u16_be_at(chunk(p, is_sack)?, 14),
            "Duplicates that the first SACK reports",
            "RFC 9260, 3.3.4",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(HEADER_LEN)?;
    Ok(Header::new(HEADER_LEN, Next::Payload))
}

fn checksum_ok(packet: &Packet<'_>) -> Option<bool> {
    let bytes = Transport::of(packet, SCTP)?.bytes;
    // The field is in the order of the CRC's bits, the lowest byte first, and counts as zeros.
    let stated = u32::from_le_bytes(bytes.get(8..12)?.try_into().ok()?);
    Some(crc32c(&[bytes.get(..8)?, &[0; 4], bytes.get(12..)?]) == stated)
}

fn first<'a>(packet: &Packet<'a>) -> Option<&'a [u8]> {
    chunk(packet, is_any)
}

/// The first chunk whose type `wanted` accepts, from its type to the end of what was captured.
fn chunk<'a>(packet: &Packet<'a>, wanted: fn(u8) -> bool) -> Option<&'a [u8]> {
    find_chunk(packet, |kind, _| wanted(kind))
}

/// Calls `each` with what `get` has of every chunk until that gives false; gives false when it was stopped.
fn each_chunk(
    packet: &Packet<'_>,
    get: impl Fn(&[u8]) -> Option<u64>,
    each: &mut dyn FnMut(u64) -> bool,
) -> bool {
    let stopped = find_chunk(packet, |_, chunk| {
        get(chunk).is_some_and(|number| !each(number))
    });
    stopped.is_none()
}

/// Fields of chunks of one type, each with what a chunk has of it.
macro_rules! of_chunks {
    ($($name:literal $is_wanted:expr, $get:expr;)*) => {
        /// The function that reads the values of a field of all chunks; `None` for other fields.
        pub(super) fn of_each_chunk(field: &str) -> Option<OfEach> {
            match field {
                $($name => Some(|packet, each| {
                    let get = |chunk: &[u8]| {
                        let get: fn(&[u8]) -> Option<u64> = $get;
                        let kind = *chunk.first()?;
                        $is_wanted(kind).then(|| get(chunk))?
                    };
                    each_chunk(packet, get, each)
                }),)*
                _ => None,
            }
        }
    };
}

of_chunks! {
    "sctp.chunk_type" is_any, |it| u8_at(it, 0).map(u64::from);
    "sctp.chunk_flags" is_any, |it| u8_at(it, 1).map(u64::from);
    "sctp.chunk_length" is_any, |it| u16_be_at(it, 2).map(u64::from);
    "sctp.data_tsn_raw" is_data, |it| u32_be_at(it, 4).map(u64::from);
    "sctp.data_sid" is_data, |it| u16_be_at(it, 8).map(u64::from);
    "sctp.data_ssn" is_plain_data, |it| u16_be_at(it, 10).map(u64::from);
    "sctp.data_payload_proto_id" is_data, |it| payload_protocol(it).map(u64::from);
    "sctp.data_mid" is_interleaved_data, |it| u32_be_at(it, 12).map(u64::from);
    "sctp.data_e_bit" is_data, |it| Some((u8_at(it, 1)? & 1).into());
    "sctp.data_b_bit" is_data, |it| Some((u8_at(it, 1)? >> 1 & 1).into());
    "sctp.data_u_bit" is_data, |it| Some((u8_at(it, 1)? >> 2 & 1).into());
    "sctp.data_i_bit" is_data, |it| Some((u8_at(it, 1)? >> 3 & 1).into());
    "sctp.sack_cumulative_tsn_ack_raw" is_sack, |it| u32_be_at(it, 4).map(u64::from);
    "sctp.sack_a_rwnd" is_sack, |it| u32_be_at(it, 8).map(u64::from);
    "sctp.sack_number_of_gap_blocks" is_sack, |it| u16_be_at(it, 12).map(u64::from);
    "sctp.sack_number_of_duplicated_tsns" is_sack, |it| u16_be_at(it, 14).map(u64::from);
}

/// Payload protocol identifier of a chunk of data. I-DATA has the fragment's number there in all fragments but the first.
fn payload_protocol(data: &[u8]) -> Option<u32> {
    match u8_at(data, 0)? {
        DATA => u32_be_at(data, 12),
        _ if u8_at(data, 1)? & FIRST_FRAGMENT == 0 => None,
        _ => u32_be_at(data, 16),
    }
}

fn find_chunk<'a>(
    packet: &Packet<'a>,
    mut wanted: impl FnMut(u8, &'a [u8]) -> bool,
) -> Option<&'a [u8]> {
    let mut rest = packet.bytes(SCTP)?.get(HEADER_LEN..)?;
    loop {
        let kind = *rest.first()?;
        let len = usize::from(u16_be_at(rest, 2).unwrap_or(0));
        let chunk = rest.get(..len.max(4).min(rest.len()))?;
        if wanted(kind, chunk) {
            return Some(chunk);
        }
        if len < 4 {
            return None;
        }
        rest = rest.get(len.next_multiple_of(4)..)?;
    }
}

fn is_any(_: u8) -> bool {
    true
}

fn is_plain_data(kind: u8) -> bool {
    kind == DATA
}

fn is_interleaved_data(kind: u8) -> bool {
    kind == I_DATA
}

fn is_data(kind: u8) -> bool {
    matches!(kind, DATA | I_DATA)
}

fn is_init(kind: u8) -> bool {
    kind == 1
}

fn is_init_ack(kind: u8) -> bool {
    kind == 2
}

fn is_sack(kind: u8) -> bool {
    kind == 3
}

const SCTP: Layer = Layer::Sctp;
const HEADER_LEN: usize = 12;
const DATA: u8 = 0;
const I_DATA: u8 = 64;
const FIRST_FRAGMENT: u8 = 2;

#[cfg(test)]
mod tests {
    use crate::{Decoder, Frame, LinkType};

    /// An IP packet with a SACK and three chunks of data, the last of which is cut.
    fn packet() -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, 132, 0, 0];
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend([0x0b, 0x59, 0x0b, 0x59, 0, 0, 0, 1, 0, 0, 0, 0]);
        bytes.extend([3, 0, 0, 16, 0, 0, 0, 9, 0, 0, 4, 0, 0, 0, 0, 0]);
        for (flags, tsn, stream, number, protocol) in [(3, 5, 7, 1, 3), (1, 6, 8, 2, 60)] {
            bytes.extend([0, flags, 0, 18, 0, 0, 0, tsn, 0, stream, 0, number, 0, 0, 0, protocol]);
            bytes.extend([1, 2, 0, 0]);
        }
        bytes.extend([0, 2, 0, 99, 0, 0, 0, 7]);
        let len = u16::try_from(bytes.len()).unwrap().to_be_bytes();
        bytes[2..4].copy_from_slice(&len);
        bytes
    }

    #[test]
    fn fields_are_those_of_all_chunks() {
        let bytes = packet();
        let mut decoder = Decoder::default();
        let packet = decoder.decode(Frame::new(LinkType(101), &bytes));
        for (field, expected) in [
            ("sctp.chunk_type", &[3, 0, 0, 0][..]),
            ("sctp.chunk_length", &[16, 18, 18, 99]),
            ("sctp.data_tsn_raw", &[5, 6, 7]),
            ("sctp.data_sid", &[7, 8]),
            ("sctp.data_ssn", &[1, 2]),
            ("sctp.data_payload_proto_id", &[3, 60]),
            ("sctp.data_b_bit", &[1, 0, 1]),
            ("sctp.data_e_bit", &[1, 1, 0]),
            ("sctp.data_mid", &[]),
            ("sctp.sack_a_rwnd", &[1_024]),
        ] {
            let mut found = Vec::new();
            let each = crate::of_each_option(field).unwrap();
            assert!(each(&packet, &mut |number| {
                found.push(number);
                true
            }));
            assert_eq!(found, expected, "{field}");
        }
        assert!(crate::of_each_option("sctp.srcport").is_none());
    }
}
