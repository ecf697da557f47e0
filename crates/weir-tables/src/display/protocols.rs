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

/// What to write in place of a protocol that is not read: the packets by which Wireshark mostly looks for it, those with data between
/// its ports, or with its number.
pub(super) fn instead(name: &str) -> Option<String> {
    let (name, packets) = UNREAD.iter().find(|(known, _)| *known == name)?;
    Some(format!(
        "{name} is not read: {packets} selects packets by their headers"
    ))
}

/// The protocols of [`instead`].
const UNREAD: &[(&str, &str)] = &[
    ("amqp", "tcp.port == 5672 && tcp.len > 0"),
    ("bgp", "tcp.port == 179 && tcp.len > 0"),
    ("dhcpv6", "udp.port in {546, 547}"),
    ("eapol", "eth.type == 0x888e"),
    ("eigrp", "ip.proto == 88"),
    ("ftp", "tcp.port == 21 && tcp.len > 0"),
    ("hsrp", "udp.port == 1985"),
    ("imap", "tcp.port == 143 && tcp.len > 0"),
    ("irc", "tcp.port == 6667 && tcp.len > 0"),
    ("isakmp", "udp.port in {500, 4500}"),
    ("kerberos", "tcp.port == 88 || udp.port == 88"),
    ("ldap", "tcp.port == 389 && tcp.len > 0"),
    ("lldp", "eth.type == 0x88cc"),
    ("mysql", "tcp.port == 3306 && tcp.len > 0"),
    ("nbns", "udp.port == 137"),
    ("nfs", "tcp.port == 2049 || udp.port == 2049"),
    ("openvpn", "tcp.port == 1194 || udp.port == 1194"),
    ("ospf", "ip.proto == 89 || ipv6.nxt == 89"),
    ("pgsql", "tcp.port == 5432 && tcp.len > 0"),
    ("pop", "tcp.port == 110 && tcp.len > 0"),
    ("rdp", "tcp.port == 3389"),
    ("rip", "udp.port == 520"),
    ("rsvp", "ip.proto == 46"),
    ("rtsp", "tcp.port == 554 && tcp.len > 0"),
    ("smb", "tcp.port in {139, 445} && tcp.len > 0"),
    ("smb2", "tcp.port == 445 && tcp.len > 0"),
    ("smtp", "tcp.port in {25, 587} && tcp.len > 0"),
    ("ssdp", "udp.port == 1900"),
    ("ssh", "tcp.port == 22 && tcp.len > 0"),
    ("stp", "llc.dsap == 0x42"),
    ("tacacs", "tcp.port == 49 && tcp.len > 0"),
    ("tds", "tcp.port == 1433 && tcp.len > 0"),
    ("telnet", "tcp.port == 23 && tcp.len > 0"),
    ("vrrp", "ip.proto == 112 || ipv6.nxt == 112"),
    ("wg", "udp.port == 51820"),
];

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DisplayFilter;

    /// They were refused with a word on texts in double quotes.
    #[test]
    fn protocols_that_are_not_read_have_a_filter_to_write() {
        for (name, packets) in UNREAD {
            assert!(!is_protocol(name), "{name}");
            assert!(DisplayFilter::new(packets).is_ok(), "{packets}");
            let error = DisplayFilter::new(name).unwrap_err();
            assert_eq!(error.message, format!("packets have no field {name}"));
            let hint = format!("{name} is not read: {packets} selects packets by their headers");
            assert_eq!(error.hint, Some(hint));
        }
        let other = DisplayFilter::new("tcp and bgq").unwrap_err();
        assert!(other.hint.is_some_and(|hint| !hint.contains("is not read")));
    }
}
