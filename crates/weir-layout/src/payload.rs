//! The protocols that a payload may be in, by name.

use super::error::{Checked, ErrorKind, FaultAt};
use super::source::{Located, Scalar};
use weir_packet::{Layer, LinkType, PROTOCOLS};

/// The first protocol of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// A frame of this link type.
    Link(LinkType),
    /// A header of this protocol.
    Layer(Layer),
}

/// The names of link types, with the LINKTYPE_ numbers of the pcap formats. They take precedence over those of protocols, which are
/// the names in `frame.layers`.
pub(super) const LINK_TYPES: &[(&str, u32)] = &[
    ("bsd_null", 0),
    ("ethernet", 1),
    ("ppp", 9),
    ("ppp_hdlc", 50),
    ("pppoe", 51),
    ("atm_rfc1483", 100),
    ("raw_ip", 101),
    ("chdlc", 104),
    ("atm_clip", 106),
    ("frame_relay", 107),
    ("bsd_loop", 108),
    ("linux_sll", 113),
    ("sunatm", 123),
    ("mfr", 182),
    ("erf", 197),
    ("frame_relay_with_direction", 206),
    ("raw_ipv4", 228),
    ("raw_ipv6", 229),
    ("linux_sll2", 276),
];

/// Names of protocols beside those that `frame.layers` shows. A name that several protocols share there
/// is not accepted here.
pub(super) const LAYERS: &[(&str, Layer)] = &[
    ("atm_cell", Layer::Atm),
    ("ipv4", Layer::Ipv4),
    ("vxlan", Layer::Vxlan),
];

impl Start {
    /// The start with this name or LINKTYPE_ number.
    pub(super) fn read(protocol: &Located<Scalar>, element: &str) -> Checked<Self> {
        let expected = "the name of a protocol or the number of a link type";
        let fault = |kind, found: String| {
            let element = format!("{element}.protocol");
            FaultAt::new(kind, protocol.at, &element, expected, found)
        };
        match &protocol.value {
            Scalar::Integer(number) => u32::try_from(*number)
                .map(|number| Self::Link(LinkType(number)))
                .map_err(|_| fault(ErrorKind::Value, number.to_string())),
            Scalar::Text(name) => Self::named(&name.text).ok_or_else(|| {
                fault(ErrorKind::Name, format!("`{}`", name.text)).near(&name.text, names())
            }),
            Scalar::Datetime(_) => Err(fault(ErrorKind::Value, "a date".to_owned())),
        }
    }

    fn named(name: &str) -> Option<Self> {
        if let Some((_, number)) = LINK_TYPES.iter().find(|(known, _)| *known == name) {
            return Some(Self::Link(LinkType(*number)));
        }
        if let Some((_, layer)) = LAYERS.iter().find(|(known, _)| *known == name) {
            return Some(Self::Layer(*layer));
        }
        let mut named = (0..PROTOCOLS.len())
            .filter_map(Layer::from_index)
            .filter(|layer| layer.name() == name);
        named
            .next()
            .filter(|_| named.next().is_none())
            .map(Self::Layer)
    }
}

fn names() -> impl Iterator<Item = &'static str> {
    let links = LINK_TYPES.iter().map(|(name, _)| *name);
    let layers = LAYERS.iter().map(|(name, _)| *name);
    let protocols = PROTOCOLS.iter().map(|protocol| protocol.name);
    links
        .chain(layers)
        .chain(protocols.filter(|name| Start::named(name).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_link_types_and_layers() {
        assert_eq!(
            Start::named("ethernet"),
            Some(Start::Link(LinkType::ETHERNET))
        );
        assert_eq!(
            Start::named("frame_relay"),
            Some(Start::Link(LinkType(107)))
        );
        assert_eq!(Start::named("udp"), Some(Start::Layer(Layer::Udp)));
        assert_eq!(Start::named("atm_cell"), Some(Start::Layer(Layer::Atm)));
        assert_eq!(
            Start::named("atm"),
            None,
            "cells, PDUs and SunATM have this name"
        );
        assert_eq!(Start::named("no such"), None);
    }
}
