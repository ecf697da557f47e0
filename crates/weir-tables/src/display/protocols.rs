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

/// The filter of headers for a field that is only asked whether it is there.
pub(super) fn condition(name: &str) -> Option<&'static str> {
    let known = CONDITIONS.iter().find(|(known, _)| *known == name);
    known.map(|(_, headers)| *headers)
}

/// The fields of [`condition`]: options of TCP without a value, and what Wireshark says of a packet.
const CONDITIONS: &[(&str, &str)] = &[
    ("tcp.connection.syn", "tcp.flags & 0x12 == 0x02"),
    ("tcp.connection.synack", "tcp.flags & 0x12 == 0x12"),
    ("tcp.connection.fin", "tcp.flags & 0x01"),
    ("tcp.connection.rst", "tcp.flags & 0x04"),
    ("tcp.options.eol", "tcp.option_kind == 0"),
    ("tcp.options.nop", "tcp.option_kind == 1"),
    ("tcp.options.sack", "tcp.option_kind == 5"),
    ("tcp.options.timestamp", "tcp.option_kind == 8"),
    (
        "arp.isgratuitous",
        "arp.src.proto_ipv4 == arp.dst.proto_ipv4",
    ),
    (
        "arp.isprobe",
        "arp.opcode == 1 && arp.src.proto_ipv4 == 0.0.0.0",
    ),
];

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
