//! Protocols by their names in filters.

use weir_packet::{Layer, PROTOCOLS};

use super::messages::MessageField;

/// The protocol of this name, as Wireshark calls it.
pub(super) fn layer_named(name: &str) -> Option<Layer> {
    let index = PROTOCOLS
        .iter()
        .position(|protocol| protocol.name == name)?;
    let layer = Layer::from_index(index)?;
    // The other forms of a header mostly have the name of the usual one.
    let home = layer.form_of();
    Some(if home.protocol().name == name {
        home
    } else {
        layer
    })
}

/// Returns true for a name that is a condition by itself.
pub(crate) fn is_protocol(name: &str) -> bool {
    layer_named(name).is_some() || carried(name).is_some() || MessageField::protocol(name).is_some()
}

/// The filter of headers by which packets of a protocol are known.
pub(super) fn carried(name: &str) -> Option<&'static str> {
    let known = CARRIED.iter().find(|(known, _)| *known == name);
    known.map(|(_, ports)| *ports)
}

/// The protocols of [`carried`]; Wireshark too recognises those above the transport by the port alone.
const CARRIED: &[(&str, &str)] = &[
    (
        "dns",
        "(udp.port == 53 && udp.length > 8) || (tcp.port == 53 && tcp.len > 2)",
    ),
    ("mdns", "udp.port == 5353 && udp.length > 8"),
    ("llmnr", "udp.port == 5355 && udp.length > 8"),
    ("dhcp", "udp.port in {67, 68} && udp.length > 8"),
    ("ntp", "udp.port == 123 && udp.length > 8"),
    ("snmp", "udp.port in {161, 162} && udp.length > 8"),
    ("tftp", "udp.port == 69 && udp.length > 8"),
    ("syslog", "udp.port == 514 && udp.length > 8"),
    ("pppoes", "pppoe.code == 0"),
    ("pppoed", "pppoe.code != 0"),
];
