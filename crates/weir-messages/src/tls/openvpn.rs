//! The control channel of OpenVPN (its protocol's description, 3), which carries a stream of TLS in packets that are numbered,
//! acknowledged and sent again, over UDP or TCP. What `tls-auth` adds to them is passed over; what `tls-crypt` encrypts is not read.

use std::collections::BTreeMap;

use weir_bytes::u32_be_at;

use super::record;

/// The UDP and TCP port of OpenVPN (IANA).
pub const OPENVPN_PORT: u16 = 1_194;
/// Octets of the operation with the key, and of the sender's session.
const HEADER_OCTETS: usize = 9;
const SESSION_OCTETS: usize = 8;
/// Octets of a packet without acknowledgments, at least.
const PACKET_OCTETS_MIN: usize = HEADER_OCTETS + 1 + 4;
/// Octets of a packet, at most: longer ones do not belong to the control channel.
const PACKET_OCTETS_MAX: usize = 1 << 12;
/// Acknowledgments of a packet, at most.
const ACKS_MAX: usize = 8;

/// Operations: the number of the key is in the three bits behind these.
const SOFT_RESET: u8 = 3;
const CONTROL: u8 = 4;
const ACK: u8 = 5;
const RESET_OF_CLIENT: u8 = 7;
const RESET_OF_SERVER: u8 = 8;
const RESET_OF_CLIENT_3: u8 = 10;

/// Octets between the session and the acknowledgments: of `tls-auth` the code of SHA-1, SHA-256, MD5, SHA-512, SHA-384 and SHA-224, with
/// the number of the packet and a time.
const PREFIXES: [usize; 7] = [0, 28, 40, 24, 72, 56, 36];

/// Packets of a direction that wait for one before them, at most: a sender has fewer that are not acknowledged.
const WAITING_MAX: usize = 16;
/// Packets that wait for the one that shows the prefix, at most.
const EARLY_MAX: usize = 8;

/// The number of the key of a packet of the control channel; `None` for other octets.
#[must_use]
pub fn openvpn_key(packet: &[u8]) -> Option<u8> {
    let operation = packet.first().map(|first| first >> 3)?;
    let is_control = matches!(
        operation,
        SOFT_RESET | CONTROL | ACK | RESET_OF_CLIENT | RESET_OF_SERVER | RESET_OF_CLIENT_3
    );
    let is_length = (PACKET_OCTETS_MIN..=PACKET_OCTETS_MAX).contains(&packet.len());
    (is_control && is_length).then_some(packet.first()? & 7)
}

/// Whether a stream begins with the length of the packet with which a client begins, and with that.
#[must_use]
pub fn begins_with_openvpn(bytes: &[u8]) -> bool {
    let Some((packet, _)) = framed(bytes) else {
        return false;
    };
    matches!(
        packet.first().map(|first| first >> 3),
        Some(RESET_OF_CLIENT | RESET_OF_CLIENT_3)
    )
}

/// The first packet of a stream, which is behind its length, and the octets behind it.
fn framed(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<2>()?;
    let length = usize::from(u16::from_be_bytes(*length));
    (length <= PACKET_OCTETS_MAX)
        .then(|| rest.split_at_checked(length))
        .flatten()
}

/// What a control channel carries of one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenVpnPiece<'p> {
    /// The next octets of the stream.
    Octets(&'p [u8]),
    /// Packets were not captured.
    Gap,
}

/// The control channel of both sides, for one key.
#[derive(Debug, Default)]
pub struct OpenVpn {
    /// Octets between the session and the acknowledgments, once the first octets of TLS have shown them.
    prefix: Option<usize>,
    sides: [ControlSide; 2],
    /// Packets that came before that, with their sides.
    early: Vec<(usize, Vec<u8>)>,
    /// A client has begun.
    has_reset: bool,
}

#[derive(Debug)]
struct ControlSide {
    session: Option<[u8; SESSION_OCTETS]>,
    /// The number of the next packet with octets of TLS: 0 is that of the one that begins.
    next: u32,
    /// Packets behind others that did not come yet.
    waiting: BTreeMap<u32, Vec<u8>>,
    /// The beginning of a packet over TCP.
    begun: Vec<u8>,
    /// Octets of TCP are missing, so that it is not known where packets begin.
    is_lost: bool,
}

impl Default for ControlSide {
    fn default() -> Self {
        Self {
            session: None,
            next: 1,
            waiting: BTreeMap::new(),
            begun: Vec::new(),
            is_lost: false,
        }
    }
}

/// Passes on the octets of a side, or says that some are missing.
type OnPiece<'e> = dyn FnMut(usize, OpenVpnPiece<'_>) + 'e;

impl OpenVpn {
    /// Octets of TLS were found.
    #[must_use]
    pub const fn is_understood(&self) -> bool {
        self.prefix.is_some()
    }

    /// A client has begun, and no octets of TLS were found: they are encrypted, or were not captured.
    #[must_use]
    pub const fn is_unread(&self) -> bool {
        self.has_reset && self.prefix.is_none()
    }

    /// Octets that wait.
    #[must_use]
    pub fn held(&self) -> usize {
        let early: usize = self.early.iter().map(|(_, packet)| packet.len()).sum();
        let sides = self.sides.iter().map(|side| {
            let waiting: usize = side.waiting.values().map(Vec::len).sum();
            waiting.saturating_add(side.begun.len())
        });
        sides.fold(early, usize::saturating_add)
    }

    /// Whether a packet of a side begins another channel: it is of another session, or of the next handshake with the same key.
    #[must_use]
    pub fn begins_anew(&self, side: usize, packet: &[u8]) -> bool {
        let known = self.sides.get(side).and_then(|side| side.session);
        let is_other = known.is_some() && known != session(packet);
        let is_soft = packet.first().map(|first| first >> 3) == Some(SOFT_RESET);
        let has_more = self.sides.get(side).is_some_and(|side| side.next > 1);
        is_other || is_soft && has_more
    }

    /// Reads a packet of a side, which has a [key](openvpn_key).
    pub fn take(&mut self, side: usize, packet: &[u8], each: &mut OnPiece<'_>) {
        if openvpn_key(packet).is_none() {
            return;
        }
        let operation = packet.first().map_or(0, |first| first >> 3);
        if let Some(this) = self.sides.get_mut(side)
            && this.session.is_none()
        {
            this.session = session(packet);
        }
        self.has_reset |= matches!(operation, RESET_OF_CLIENT | RESET_OF_CLIENT_3);
        if operation != CONTROL {
            return;
        }
        let Some(prefix) = self.prefix.or_else(|| prefix_of(packet)) else {
            if self.early.len() < EARLY_MAX {
                self.early.push((side, packet.to_vec()));
            }
            return;
        };
        self.prefix = Some(prefix);
        self.packet(side, packet, prefix, each);
        for (side, packet) in std::mem::take(&mut self.early) {
            self.packet(side, &packet, prefix, each);
        }
    }

    /// Reads octets of a side of a TCP connection.
    pub fn take_stream(&mut self, side: usize, bytes: &[u8], each: &mut OnPiece<'_>) {
        let Some(this) = self.sides.get_mut(side).filter(|this| !this.is_lost) else {
            return;
        };
        let mut begun = std::mem::take(&mut this.begun);
        begun.extend_from_slice(bytes);
        let mut rest = begun.as_slice();
        while let Some((packet, behind)) = framed(rest) {
            self.take(side, packet, each);
            rest = behind;
        }
        let is_lost = rest.len() > PACKET_OCTETS_MAX + 2;
        let rest = rest.to_vec();
        if let Some(this) = self.sides.get_mut(side) {
            this.is_lost = is_lost;
            this.begun = if is_lost { Vec::new() } else { rest };
        }
    }

    /// Octets of a side of a TCP connection are missing.
    pub fn gap(&mut self, side: usize, each: &mut OnPiece<'_>) {
        if let Some(this) = self.sides.get_mut(side) {
            this.is_lost = true;
            this.begun = Vec::new();
            each(side, OpenVpnPiece::Gap);
        }
    }

    /// Nothing more comes: passes on what waits.
    pub fn finish(&mut self, each: &mut OnPiece<'_>) {
        for side in 0..self.sides.len() {
            while self.skip(side, each) {}
        }
    }

    /// Reads a packet with octets of TLS, and those that waited for it.
    fn packet(&mut self, side: usize, packet: &[u8], prefix: usize, each: &mut OnPiece<'_>) {
        let Some(this) = self.sides.get_mut(side) else {
            return;
        };
        if let Some((number, octets)) = message(packet, prefix)
            && number >= this.next
        {
            this.waiting
                .entry(number)
                .or_insert_with(|| octets.to_vec());
        }
        this.release(side, each);
        if this.waiting.len() > WAITING_MAX {
            self.skip(side, each);
        }
    }

    /// Continues behind packets that did not come; false where nothing waits.
    fn skip(&mut self, side: usize, each: &mut OnPiece<'_>) -> bool {
        let Some(this) = self.sides.get_mut(side) else {
            return false;
        };
        let Some((first, _)) = this.waiting.first_key_value() else {
            return false;
        };
        this.next = *first;
        each(side, OpenVpnPiece::Gap);
        this.release(side, each);
        true
    }
}

impl ControlSide {
    /// Passes on the octets of the packets that are next.
    fn release(&mut self, side: usize, each: &mut OnPiece<'_>) {
        while let Some(octets) = self.waiting.remove(&self.next) {
            self.next = self.next.saturating_add(1);
            each(side, OpenVpnPiece::Octets(&octets));
        }
    }
}

/// The session of the sender.
fn session(packet: &[u8]) -> Option<[u8; SESSION_OCTETS]> {
    packet.get(1..HEADER_OCTETS)?.try_into().ok()
}

/// The number of a packet and its octets of TLS, behind a prefix of so many octets.
fn message(packet: &[u8], prefix: usize) -> Option<(u32, &[u8])> {
    let (acks, rest) = packet.get(HEADER_OCTETS + prefix..)?.split_first()?;
    let octets = match usize::from(*acks) {
        0 => 0,
        acks if acks <= ACKS_MAX => acks * 4 + SESSION_OCTETS,
        _ => return None,
    };
    let rest = rest.get(octets..)?;
    Some((u32_be_at(rest, 0)?, rest.get(4..)?))
}

/// The octets of the prefix of a packet whose octets of TLS begin with a hello, as the first ones of a side do.
fn prefix_of(packet: &[u8]) -> Option<usize> {
    PREFIXES.into_iter().find(|prefix| {
        let first = message(packet, *prefix);
        first.is_some_and(|(number, octets)| number == 1 && record::begins(octets))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first octets of a hello, in a record of 300 octets.
    const HELLO: &[u8] = b"\x16\x03\x01\x01\x2c\x01\0\x01\x28\x03\x03";

    /// A packet of a side, with a code of so many octets and the acknowledgment of a packet.
    fn packet(operation: u8, sender: u8, code: usize, number: u32, octets: &[u8]) -> Vec<u8> {
        let mut bytes = vec![operation << 3];
        bytes.extend([sender; SESSION_OCTETS]);
        if code > 0 {
            bytes.extend(vec![0xa5; code]);
            bytes.extend([0, 0, 0, 1, 0x65, 0x53, 0xf1, 0]);
        }
        bytes.extend([1, 0, 0, 0, 0]);
        bytes.extend([!sender; SESSION_OCTETS]);
        bytes.extend(number.to_be_bytes());
        bytes.extend(octets);
        bytes
    }

    /// What a channel passes on of these packets of one side, a gap as a question mark.
    fn stream(packets: &[Vec<u8>]) -> Vec<u8> {
        let mut found = Vec::new();
        let mut channel = OpenVpn::default();
        let mut each = |side: usize, piece: OpenVpnPiece<'_>| {
            assert_eq!(side, 1);
            match piece {
                OpenVpnPiece::Octets(octets) => found.extend_from_slice(octets),
                OpenVpnPiece::Gap => found.push(b'?'),
            }
        };
        for packet in packets {
            channel.take(1, packet, &mut each);
        }
        channel.finish(&mut each);
        found
    }

    #[test]
    fn octets_of_tls_come_in_their_order_and_once() {
        for code in [0, 20, 32, 16, 64, 48, 28] {
            let sent = |number, octets: &[u8]| packet(CONTROL, 7, code, number, octets);
            let reset = packet(RESET_OF_SERVER, 7, code, 0, b"");
            let all = [
                reset,
                sent(3, b"c"),
                sent(1, HELLO),
                sent(1, HELLO),
                sent(2, b"b"),
                sent(2, b"b"),
                packet(ACK, 7, code, 0, b""),
                sent(6, b"f"),
                sent(4, b"d"),
            ];
            let expected = [HELLO, b"bcd?f"].concat();
            assert_eq!(stream(&all), expected, "{code}");
        }
        // What is encrypted shows no hello.
        let sealed = packet(CONTROL, 7, 32, 1, &[0xa5; 40]);
        assert_eq!(stream(&[sealed]), b"");
    }

    #[test]
    fn a_channel_begins_anew_with_another_session_or_the_next_handshake() {
        let mut channel = OpenVpn::default();
        let hello = packet(CONTROL, 7, 0, 1, HELLO);
        let soft = packet(SOFT_RESET, 7, 0, 0, b"");
        assert!(!channel.begins_anew(0, &hello));
        channel.take(0, &packet(RESET_OF_CLIENT, 7, 0, 0, b""), &mut |_, _| {});
        assert!(channel.is_unread() && !channel.begins_anew(0, &soft));
        channel.take(0, &hello, &mut |_, _| {});
        assert!(channel.is_understood() && channel.begins_anew(0, &soft));
        assert!(channel.begins_anew(0, &packet(RESET_OF_CLIENT, 8, 0, 0, b"")));
        assert!(!channel.begins_anew(1, &packet(RESET_OF_SERVER, 9, 0, 0, b"")));
    }

    #[test]
    fn packets_of_tcp_are_behind_their_lengths_in_pieces_of_any_size() {
        let reset = packet(RESET_OF_CLIENT, 7, 0, 0, b"");
        let all = [
            reset,
            packet(CONTROL, 7, 0, 1, HELLO),
            packet(CONTROL, 7, 0, 2, b"b"),
        ];
        let framed = all.map(|packet| {
            let length = u16::try_from(packet.len()).unwrap().to_be_bytes();
            [&length[..], &packet].concat()
        });
        let bytes = framed.concat();
        assert!(begins_with_openvpn(&bytes));
        assert!(!begins_with_openvpn(HELLO));
        for size in [1, 3, 1_000] {
            let mut found = Vec::new();
            let mut channel = OpenVpn::default();
            for piece in bytes.chunks(size) {
                channel.take_stream(0, piece, &mut |_, piece| {
                    if let OpenVpnPiece::Octets(octets) = piece {
                        found.extend_from_slice(octets);
                    }
                });
            }
            assert_eq!(found, [HELLO, b"b"].concat(), "{size}");
            assert_eq!(channel.held(), 0);
        }
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut channel = OpenVpn::default();
        channel.take(0, &packet(CONTROL, 7, 0, 1, HELLO), &mut |_, _| {});
        for number in (4..10_000).step_by(2) {
            let sent = packet(CONTROL, 7, 0, number, &[1; 100]);
            channel.take(0, &sent, &mut |_, _| {});
            assert!(channel.held() <= (WAITING_MAX + 1) * 100);
        }
        channel.take_stream(1, &[0; 100], &mut |_, _| {});
        channel.take_stream(1, &[0xff; 100_000], &mut |_, _| {});
        assert!(channel.held() <= (WAITING_MAX + 1) * 100);
        for number in 0..100 {
            let mut other = OpenVpn::default();
            other.take(0, &packet(CONTROL, 7, 0, number, b"sealed"), &mut |_, _| {});
            assert!(!other.is_understood());
        }
    }
}
