//! EAP on links, between a peer and the authenticator of its port (IEEE 802.1X, 11.3).

use weir_packet::{Layer, Packet};

/// An address of a station.
pub(super) type Station = [u8; 6];

/// A packet of EAP that a link carries.
pub(in crate::extract) struct EapOnLink<'p> {
    /// The receiver; `None` where the link does not say it (cooked captures of Linux).
    pub(super) to: Option<Station>,
    pub(super) from: Station,
    pub(super) eap: &'p [u8],
    /// Octets of the packet were not captured.
    pub(super) is_cut: bool,
}

/// The type of packets with EAP.
const EAP: u8 = 0;

impl<'p> EapOnLink<'p> {
    /// Finds the packet of EAP behind the headers of a link, which a tunnel may carry; `None` where there is none.
    pub(in crate::extract) fn of(packet: &Packet<'p>) -> Option<Self> {
        if packet.has(Layer::Tcp) {
            return None;
        }
        let (layer, bytes) = packet.headers().last()?;
        let (at, behind) = match layer {
            Layer::Ethernet => (12, 14),
            Layer::Vlan | Layer::ServiceVlan => (2, 4),
            Layer::Llc if bytes.starts_with(&[0xaa, 0xaa, 3, 0, 0, 0]) => (6, 8),
            Layer::Sll => (14, 16),
            Layer::Sll2 => (0, 20),
            _ => return None,
        };
        if *bytes.get(at..)?.first_chunk::<2>()? != [0x88, 0x8e] {
            return None;
        }
        let [_, EAP, high, low, behind @ ..] = bytes.get(behind..)? else {
            return None;
        };
        let octets = usize::from(u16::from_be_bytes([*high, *low]));
        let (to, from) = packet.headers().filter_map(ends_of).last()?;
        Some(Self {
            to,
            from,
            eap: behind.get(..octets).unwrap_or(behind),
            is_cut: behind.len() < octets,
        })
    }
}

/// The receiver and the sender in a header of a link.
fn ends_of((layer, bytes): (Layer, &[u8])) -> Option<(Option<Station>, Station)> {
    let station = |at: usize| bytes.get(at..)?.first_chunk::<6>().copied();
    match layer {
        Layer::Ethernet => Some((Some(station(0)?), station(6)?)),
        // Receiver and transmitter of a frame in the air are the station and its access point.
        Layer::Wlan => Some((Some(station(4)?), station(10)?)),
        Layer::Sll => Some((None, station(6)?)),
        Layer::Sll2 => Some((None, station(12)?)),
        _ => None,
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
            (Some([2; 6]), [4; 6], false)
        );
        assert_eq!(found.eap, b"\x02\x07\0\x04");
    }
}
