//! EAP on links, between a peer and the authenticator of its port (IEEE 802.1X, 11.3).

use weir_packet::{Layer, Packet};

/// An address of a station.
pub(super) type Station = [u8; 6];

/// A packet of EAP that a link carries.
pub(super) struct EapOnLink<'p> {
    pub(super) to: Station,
    pub(super) from: Station,
    pub(super) eap: &'p [u8],
    /// Octets of the packet were not captured.
    pub(super) is_cut: bool,
}

/// The type of packets with EAP.
const EAP: u8 = 0;

impl<'p> EapOnLink<'p> {
    /// Finds the packet of EAP behind the headers of a link; `None` where there is none.
    pub(super) fn of(packet: &Packet<'p>) -> Option<Self> {
        if packet.has(Layer::Ipv4) || packet.has(Layer::Ipv6) {
            return None;
        }
        let (layer, bytes) = packet.headers().last()?;
        let at = match layer {
            Layer::Ethernet => 12,
            Layer::Vlan | Layer::ServiceVlan => 2,
            Layer::Llc if bytes.starts_with(&[0xaa, 0xaa, 3, 0, 0, 0]) => 6,
            _ => return None,
        };
        let [0x88, 0x8e, _, EAP, high, low, behind @ ..] = bytes.get(at..)? else {
            return None;
        };
        let octets = usize::from(u16::from_be_bytes([*high, *low]));
        // Receiver and transmitter of a frame in the air are the station and its access point.
        let ends = packet.part(Layer::Ethernet, 0, 12);
        let ends = ends.or_else(|| packet.part(Layer::Wlan, 4, 12))?;
        let (to, from) = ends.split_first_chunk::<6>()?;
        Some(Self {
            to: *to,
            from: from.try_into().ok()?,
            eap: behind.get(..octets).unwrap_or(behind),
            is_cut: behind.len() < octets,
        })
    }
}

#[cfg(test)]
mod tests {
    use weir_packet::{Decoder, Frame, LinkType};

    use super::*;

    #[test]
    fn eap_in_the_air_is_between_station_and_access_point() {
        let mut frame: Vec<u8> = vec![0x08, 0x01, 0, 0];
        frame.extend([[2; 6], [4; 6], [2; 6]].concat());
        frame.extend(b"\0\0\xaa\xaa\x03\0\0\0\x88\x8e\x01\0\0\x04\x02\x07\0\x04more");
        let mut decoder = Decoder::default();
        let packet = decoder.decode(Frame::new(LinkType(105), &frame));
        let found = EapOnLink::of(&packet).unwrap();
        assert_eq!(
            (found.to, found.from, found.is_cut),
            ([2; 6], [4; 6], false)
        );
        assert_eq!(found.eap, b"\x02\x07\0\x04");
    }
}
