//! One frame's header, and masking (RFC 6455 section 5.2 and 5.3).

/// The endpoint that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sender {
    /// The client, which masks every frame (RFC 6455 section 5.1).
    Client,
    /// The server, which masks no frame.
    Server,
}

/// The opcode of a frame (RFC 6455 section 5.2 and 11.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opcode {
    /// More of the message that is under way.
    Continuation,
    /// A message in UTF-8.
    Text,
    /// A message of any bytes.
    Binary,
    /// The end of the connection.
    Close,
    /// A question whether the other end is there.
    Ping,
    /// The answer.
    Pong,
    /// 3 to 7 and 11 to 15: reserved.
    Reserved(u8),
}

impl Opcode {
    /// The opcode of the low four bits of a frame's first byte.
    #[must_use]
    pub fn from_bits(bits: u8) -> Self {
        match bits & 0xf {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            other => Self::Reserved(other),
        }
    }

    /// The four bits.
    #[must_use]
    pub fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0,
            Self::Text => 1,
            Self::Binary => 2,
            Self::Close => 8,
            Self::Ping => 9,
            Self::Pong => 10,
            Self::Reserved(bits) => bits & 0xf,
        }
    }

    /// Control frames may come between the fragments of a message, and are never compressed.
    #[must_use]
    pub fn is_control(self) -> bool {
        self.bits() & 8 != 0
    }

    /// Wireshark's word for it, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Continuation => "continuation",
            Self::Text => "text",
            Self::Binary => "binary",
            Self::Close => "close",
            Self::Ping => "ping",
            Self::Pong => "pong",
            Self::Reserved(_) => "reserved",
        }
    }
}

/// A frame's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The last frame of its message.
    pub fin: bool,
    /// The message is compressed by permessage-deflate (RFC 7692 section 6).
    pub rsv1: bool,
    /// Reserved.
    pub rsv2: bool,
    /// Reserved.
    pub rsv3: bool,
    /// The opcode.
    pub opcode: Opcode,
    /// The masking key, in frames from the client.
    pub mask: Option<[u8; 4]>,
    /// Bytes of payload.
    pub payload_len: u64,
    /// Bytes of the header itself, 2 to 14. When [`Header::parse`] gives more than
    /// [`Header::shortest_len`], the length was written longer than need be.
    pub header_len: u8,
}

impl Header {
    /// Reads a header from the beginning of `bytes`; `None` when there is not enough of it yet.
    /// Never fails: what is wrong with a header is the [`Violation`](super::Violation)s' to say.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (&[first, second], mut rest) = bytes.split_first_chunk::<2>()?;
        let mut header_len = 2;
        let payload_len = match second & 0x7f {
            126 => {
                let (len, after) = rest.split_first_chunk::<2>()?;
                rest = after;
                header_len += 2;
                u64::from(u16::from_be_bytes(*len))
            }
            127 => {
                let (len, after) = rest.split_first_chunk::<8>()?;
                rest = after;
                header_len += 8;
                u64::from_be_bytes(*len)
            }
            len => u64::from(len),
        };
        let mask = if second & 0x80 != 0 {
            header_len += 4;
            Some(*rest.first_chunk::<4>()?)
        } else {
            None
        };
        Some(Self {
            fin: first & 0x80 != 0,
            rsv1: first & 0x40 != 0,
            rsv2: first & 0x20 != 0,
            rsv3: first & 0x10 != 0,
            opcode: Opcode::from_bits(first),
            mask,
            payload_len,
            header_len,
        })
    }

    /// The length of the shortest header with the same values.
    #[must_use]
    pub fn shortest_len(&self) -> u8 {
        let len = match self.payload_len {
            0..=125 => 2,
            126..=0xffff => 4,
            _ => 10,
        };
        len + if self.mask.is_some() { 4 } else { 0 }
    }

    /// Appends the header, with its length written as short as possible.
    pub fn write(&self, out: &mut Vec<u8>) {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        out.push(
            bit(self.fin, 0x80)
                | bit(self.rsv1, 0x40)
                | bit(self.rsv2, 0x20)
                | bit(self.rsv3, 0x10)
                | self.opcode.bits(),
        );
        let masked = bit(self.mask.is_some(), 0x80);
        match self.payload_len {
            len @ 0..=125 => out.push(masked | len as u8),
            len @ 126..=0xffff => {
                out.push(masked | 126);
                out.extend((len as u16).to_be_bytes());
            }
            len => {
                out.push(masked | 127);
                out.extend(len.to_be_bytes());
            }
        }
        out.extend(self.mask.iter().flatten());
    }
}

/// Masks or unmasks `payload`, of which `offset` bytes went before (RFC 6455 section 5.3).
///
/// ```
/// let mut hello = *b"Hello";
/// weir_ws::mask([0x37, 0xfa, 0x21, 0x3d], 0, &mut hello);
/// assert_eq!(hello, [0x7f, 0x9f, 0x4d, 0x51, 0x58]);
/// ```
pub fn mask(key: [u8; 4], offset: u64, payload: &mut [u8]) {
    let mut key = key;
    key.rotate_left((offset % 4) as usize);
    let mut words = payload.chunks_exact_mut(4);
    for word in &mut words {
        for (byte, key) in word.iter_mut().zip(key) {
            *byte ^= key;
        }
    }
    for (byte, key) in words.into_remainder().iter_mut().zip(key) {
        *byte ^= key;
    }
}

/// Bytes that a message of `payload_bytes` takes on the wire in frames of at most `fragment_bytes`
/// (0: one frame), headers included.
#[must_use]
pub fn framed_bytes(payload_bytes: u64, fragment_bytes: u64, masked: bool) -> u64 {
    let mask = if masked { 4 } else { 0 };
    let header = |len: u64| match len {
        0..=125 => 2 + mask,
        126..=0xffff => 4 + mask,
        _ => 10 + mask,
    };
    if fragment_bytes == 0 || payload_bytes <= fragment_bytes {
        return payload_bytes.saturating_add(header(payload_bytes));
    }
    let whole = payload_bytes / fragment_bytes;
    let rest = payload_bytes % fragment_bytes;
    let last = if rest > 0 { header(rest) } else { 0 };
    payload_bytes
        .saturating_add(whole.saturating_mul(header(fragment_bytes)))
        .saturating_add(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_rfc_6455_section_5_7() {
        // Bytes, fin, opcode, masked, payload length, header length.
        type Case = (&'static [u8], bool, Opcode, bool, u64, u8);
        let cases: &[Case] = &[
            (b"\x81\x05Hello", true, Opcode::Text, false, 5, 2),
            (
                b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58",
                true,
                Opcode::Text,
                true,
                5,
                6,
            ),
            (b"\x01\x03Hel", false, Opcode::Text, false, 3, 2),
            (b"\x80\x02lo", true, Opcode::Continuation, false, 2, 2),
            (b"\x89\x05Hello", true, Opcode::Ping, false, 5, 2),
            (b"\x82\x7e\x01\x00", true, Opcode::Binary, false, 256, 4),
            (
                b"\x82\x7f\0\0\0\0\0\x01\0\0",
                true,
                Opcode::Binary,
                false,
                65_536,
                10,
            ),
        ];
        for &(bytes, fin, opcode, masked, payload_len, header_len) in cases {
            let header = Header::parse(bytes).unwrap();
            assert_eq!(
                (
                    header.fin,
                    header.opcode,
                    header.mask.is_some(),
                    header.payload_len
                ),
                (fin, opcode, masked, payload_len)
            );
            assert_eq!(header.header_len, header_len);
            assert_eq!(header.shortest_len(), header_len);
            let mut again = Vec::new();
            header.write(&mut again);
            assert_eq!(again, bytes[..usize::from(header_len)]);
            for cut in 0..usize::from(header_len) {
                assert_eq!(Header::parse(&bytes[..cut]), None);
            }
        }
    }

    #[test]
    fn masking_in_pieces_is_masking_at_once() {
        let plain: Vec<u8> = (0..100).collect();
        let mut whole = plain.clone();
        mask([1, 2, 3, 200], 0, &mut whole);
        for cut in 0..plain.len() {
            let mut pieces = plain.clone();
            let (a, b) = pieces.split_at_mut(cut);
            mask([1, 2, 3, 200], 0, a);
            mask([1, 2, 3, 200], cut as u64, b);
            assert_eq!(pieces, whole);
        }
    }

    #[test]
    fn headers_of_sixteen_and_sixty_four_bit_lengths_are_counted() {
        assert_eq!(framed_bytes(125, 0, false), 127);
        assert_eq!(framed_bytes(126, 0, false), 130);
        assert_eq!(framed_bytes(65_535, 0, true), 65_535 + 8);
        assert_eq!(framed_bytes(65_536, 0, true), 65_536 + 14);
        assert_eq!(framed_bytes(1000, 256, false), 1000 + 3 * 4 + 4);
        assert_eq!(framed_bytes(512, 256, false), 512 + 8);
    }
}
