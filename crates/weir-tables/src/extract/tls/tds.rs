//! TLS in packets of TDS: clients and servers of Microsoft SQL Server begin it within prelogin messages (MS-TDS, 2.2.6.5), and go on
//! without these packets behind its handshake.

use weir_messages::tls::{begins_with_hello, may_begin_with_hello};

/// The number of octets of the header of a packet (MS-TDS, 2.2.3.1).
const HEADER_OCTETS: usize = 8;
/// The type of the packets of a prelogin message.
const PRELOGIN: u8 = 0x12;

/// Whether octets begin with a packet of a prelogin message in which a hello begins.
pub(in crate::extract) fn begins_with_packed_hello(octets: &[u8]) -> bool {
    behind_header(octets).is_some_and(begins_with_hello)
}

/// Whether more octets may make these the beginning of such a packet.
pub(in crate::extract) fn may_begin_with_packed_hello(octets: &[u8]) -> bool {
    match behind_header(octets) {
        Some(body) => may_begin_with_hello(body),
        None => octets.len() < HEADER_OCTETS && may_be_header(octets),
    }
}

/// The octets behind the header of a packet of a prelogin message.
fn behind_header(octets: &[u8]) -> Option<&[u8]> {
    let (header, body) = octets.split_at_checked(HEADER_OCTETS)?;
    may_be_header(header).then_some(body)
}

/// Whether octets are those of the header of such a packet, as far as they came: its type, its status, its length, and the window,
/// which is 0.
fn may_be_header(octets: &[u8]) -> bool {
    let is_length = match octets {
        [_, _, 0, low, ..] => usize::from(*low) > HEADER_OCTETS,
        _ => true,
    };
    octets.first().is_none_or(|kind| *kind == PRELOGIN)
        && octets.get(1).is_none_or(|status| *status <= 1)
        && is_length
        && octets.get(7).is_none_or(|window| *window == 0)
}

/// Takes TLS out of the packets of both sides.
#[derive(Default)]
pub(in crate::extract) struct TdsPackets([PackedSide; 2]);

#[derive(Default)]
struct PackedSide {
    /// The beginning of a header.
    header: Vec<u8>,
    /// The number of octets of the current packet that did not come yet.
    left: usize,
    /// Records come without packets, as behind the handshake.
    is_plain: bool,
}

impl TdsPackets {
    /// The octets of TLS in the next octets of a side.
    pub(in crate::extract) fn take(&mut self, side: usize, bytes: &[u8]) -> Vec<u8> {
        let [low, high] = &mut self.0;
        match side {
            0 => low.take(bytes),
            _ => high.take(bytes),
        }
    }

    /// Octets of a side are missing: the next packet is expected behind them, unless all are of the current one.
    pub(in crate::extract) fn gap(&mut self, side: usize, octets: u64) {
        if let Some(this) = self.0.get_mut(side) {
            this.header = Vec::new();
            let octets = usize::try_from(octets).unwrap_or(usize::MAX);
            this.left = this.left.saturating_sub(octets);
        }
    }
}

impl PackedSide {
    fn take(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = Vec::new();
        let mut rest = bytes;
        while let Some(first) = rest.first() {
            // A record of TLS begins with its type, and a packet with another number.
            self.is_plain |= self.left == 0 && self.header.is_empty() && (20..=23).contains(first);
            let octets = match self.is_plain {
                true => rest.len(),
                false => self.left.min(rest.len()),
            };
            let (body, behind) = rest.split_at(octets);
            stream.extend_from_slice(body);
            self.left = self.left.saturating_sub(octets);
            rest = self.begin_packet(behind);
        }
        stream
    }

    /// Reads the header of the next packet, as far as it is there, unless the current one has not ended; returns the octets behind it.
    fn begin_packet<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        if self.left > 0 || bytes.is_empty() {
            return bytes;
        }
        if self.header.is_empty() && bytes.first().is_some_and(|first| (20..=23).contains(first)) {
            return bytes;
        }
        let wanted = HEADER_OCTETS.saturating_sub(self.header.len());
        let (header, behind) = bytes.split_at(wanted.min(bytes.len()));
        self.header.extend_from_slice(header);
        if let [_, _, high, low, _, _, _, _] = *self.header {
            let length = usize::from(u16::from_be_bytes([high, low]));
            self.left = length.saturating_sub(HEADER_OCTETS);
            self.header = Vec::new();
        }
        behind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(body: &[u8]) -> Vec<u8> {
        let length = (HEADER_OCTETS + body.len()) as u16;
        let [high, low] = length.to_be_bytes();
        [&[PRELOGIN, 1, high, low, 0, 0, 0, 0][..], body].concat()
    }

    #[test]
    fn tls_comes_out_of_packets_in_pieces_of_any_size() {
        let bytes = [
            packet(b"\x16ab"),
            packet(b"c\x17d"),
            b"\x17\x03\x03\0\x01e".to_vec(),
        ]
        .concat();
        for size in 1..bytes.len() {
            let mut packets = TdsPackets::default();
            let pieces = bytes.chunks(size).map(|piece| packets.take(1, piece));
            let stream: Vec<u8> = pieces.flatten().collect();
            assert_eq!(stream, b"\x16abc\x17d\x17\x03\x03\0\x01e", "{size}");
        }
        // The rest of a packet, and the whole of another one, are missing.
        let mut packets = TdsPackets::default();
        assert_eq!(packets.take(0, &packet(b"\x16abcd")[..10]), b"\x16a");
        packets.gap(0, 1);
        assert_eq!(packets.take(0, b"cd"), b"cd");
        packets.gap(0, 20);
        assert_eq!(packets.take(0, &packet(b"e")), b"e");
    }

    #[test]
    fn a_hello_shows_in_its_packet() {
        let hello = packet(b"\x16\x03\x01\x01\x2c\x01\0\x01\x28\x03\x03");
        assert!(begins_with_packed_hello(&hello));
        for length in 1..hello.len() {
            let prefix = &hello[..length];
            let begins = begins_with_packed_hello(prefix);
            assert!(begins || may_begin_with_packed_hello(prefix), "{length}");
        }
        for other in [
            &packet(b"\0\0\x1a\0\x06")[..],
            b"\x12\x02\0\x10",
            b"\x12\x01\0\x08",
        ] {
            assert!(!begins_with_packed_hello(other) && !may_begin_with_packed_hello(other));
        }
    }
}
