//! Packets that are kept beyond their records.

use crate::stack::Headers;
use crate::{Frame, LinkType, Packet};

/// A copy of a packet: its bytes, what the capture says of it, and where its headers lie.
///
/// ```
/// use weir_packet::{Decoder, Frame, KeptPacket, Layer, LinkType};
///
/// let bytes = b"\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\x06".to_vec();
/// let mut decoder = Decoder::default();
/// let kept = KeptPacket::of(&decoder.decode(Frame::new(LinkType::ETHERNET, &bytes)));
/// drop(bytes);
/// assert_eq!(kept.packet().u16_be(Layer::Ethernet, 12), Some(0x0806));
/// ```
#[derive(Clone, Debug)]
pub struct KeptPacket {
    number: u64,
    time_ns: Option<i64>,
    link_type: LinkType,
    wire_len: u32,
    interface_id: Option<u32>,
    interface_name: Option<Box<str>>,
    interface_description: Option<Box<str>>,
    comment: Option<Box<str>>,
    data: Box<[u8]>,
    reassembled: Box<[u8]>,
    found: Box<Headers>,
}

impl KeptPacket {
    /// Copies a packet.
    #[must_use]
    pub fn of(packet: &Packet<'_>) -> Self {
        let frame = packet.frame();
        Self {
            number: frame.number,
            time_ns: frame.time_ns,
            link_type: frame.link_type,
            wire_len: frame.wire_len,
            interface_id: frame.interface_id,
            interface_name: frame.interface_name.map(Into::into),
            interface_description: frame.interface_description.map(Into::into),
            comment: frame.comment.map(Into::into),
            data: frame.data.into(),
            reassembled: packet.reassembled.into(),
            found: Box::new(packet.found.clone()),
        }
    }

    /// The packet.
    #[must_use]
    pub fn packet(&self) -> Packet<'_> {
        Packet {
            frame: Frame {
                number: self.number,
                time_ns: self.time_ns,
                link_type: self.link_type,
                wire_len: self.wire_len,
                interface_id: self.interface_id,
                interface_name: self.interface_name.as_deref(),
                interface_description: self.interface_description.as_deref(),
                comment: self.comment.as_deref(),
                data: &self.data,
            },
            reassembled: &self.reassembled,
            found: &self.found,
        }
    }

    /// Bytes of memory that the packet takes, about.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let texts = [
            &self.interface_name,
            &self.interface_description,
            &self.comment,
        ];
        let texts: usize = texts.into_iter().flatten().map(|text| text.len()).sum();
        size_of::<Self>()
            .saturating_add(size_of::<Headers>())
            .saturating_add(self.data.len())
            .saturating_add(self.reassembled.len())
            .saturating_add(texts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decoder, Layer};

    #[test]
    fn a_kept_packet_is_the_same() {
        let bytes = [
            &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0, 7, 8, 0][..],
            &[0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1],
            &[10, 0, 0, 2, 0x13, 0xc4, 0, 53, 0, 8, 0, 0],
        ]
        .concat();
        let mut frame = Frame::new(LinkType::ETHERNET, &bytes);
        frame.number = 9;
        frame.time_ns = Some(-1);
        frame.wire_len = 100;
        frame.interface_id = Some(3);
        frame.interface_name = Some("eth0");
        frame.comment = Some("odd");
        let mut decoder = Decoder::default();
        let packet = decoder.decode(frame);
        let kept = KeptPacket::of(&packet);
        let same = kept.packet();
        assert_eq!(
            format!("{:?}", same.frame()),
            format!("{:?}", packet.frame())
        );
        assert!(same.headers().eq(packet.headers()));
        assert_eq!(same.u16_be(Layer::Udp, 2), Some(53));
        assert_eq!(same.stop(), packet.stop());
        assert!(kept.held_bytes() > bytes.len());
    }
}
