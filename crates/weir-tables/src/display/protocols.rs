//! Protocols by their names in filters.

use weir_packet::{Layer, PROTOCOLS};

use super::messages::MessageField;
use crate::Extraction;

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

/// Returns true for a condition that Wireshark has as a flag, which is never false.
pub(super) fn is_flag(name: &str) -> bool {
    matches!(name, "arp.isgratuitous" | "arp.isprobe")
}

/// The hint for a field of a protocol of which the packets alone are known.
pub(super) fn only_packets(field: &str) -> Option<String> {
    let (protocol, _) = field.split_once('.')?;
    let is_known = carried(protocol).is_some() && Extraction::named(protocol).is_none();
    is_known.then(|| format!("fields of {protocol} are not read; {protocol} selects its packets"))
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
    ("cotp", "tcp.port == 102 && tcp.len > 0"),
    ("dcerpc", "tcp.port == 135 && tcp.len > 0"),
    ("eap", "eapol"),
    ("nbss", "tcp.port in {139, 445} && tcp.len > 0"),
    ("nfs", "tcp.port == 2049 || udp.port == 2049"),
    ("portmap", "tcp.port == 111 || udp.port == 111"),
    ("rdp", "tcp.port == 3389"),
    ("s7comm", "tcp.port == 102 && tcp.len > 0"),
    ("smb", "tcp.port in {139, 445} && tcp.len > 0"),
    ("smb2", "tcp.port == 445 && tcp.len > 0"),
    ("tds", "tcp.port == 1433 && tcp.len > 0"),
    ("tpkt", "tcp.port in {102, 3389} && tcp.len > 0"),
    ("vnc", "tcp.port in {5500, 5501, 5900, 5901} && tcp.len > 0"),
    ("xmpp", "tcp.port == 5222 && tcp.len > 0"),
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

/// The protocols of [`carried`]: those that Wireshark too recognises by numbers of headers, or by the ports alone. What is sealed
/// behind a request for TLS is TLS.
#[rustfmt::skip]
const CARRIED: &[(&str, &str)] = &[
    ("dns", "(udp.port == 53 && udp.length > 8) || (tcp.port == 53 && tcp.len > 2)"),
    ("mdns", "udp.port == 5353 && udp.length > 8"),
    ("llmnr", "udp.port == 5355 && udp.length > 8"),
    ("dhcp", "udp.port in {67, 68} && udp.length > 8"),
    ("ntp", "udp.port == 123 && udp.length > 8"),
    ("snmp", "udp.port in {161, 162} && udp.length > 8"),
    ("tftp", "udp.port == 69 && udp.length > 8"),
    ("syslog", "udp.port == 514 && udp.length > 8"),
    ("pppoes", "pppoe.code == 0"),
    ("pppoed", "pppoe.code != 0"),
    ("chap", "ppp.protocol == 0xc223"),
    ("ipcp", "ppp.protocol == 0x8021"),
    ("lcp", "ppp.protocol == 0xc021"),
    ("pap", "ppp.protocol == 0xc023"),
    ("eigrp", "ip.proto == 88 || ipv6.nxt == 88"),
    ("nhrp", "ip.proto == 54 || gre.proto == 0x2001"),
    ("ospf", "ip.proto == 89 || ipv6.nxt == 89 || ah.next_header == 89"),
    ("rsvp", "ip.proto == 46 || (udp.port == 3455 && udp.length > 8)"),
    ("vrrp", "ip.proto == 112 || ipv6.nxt == 112"),
    ("cfm", "eth.type == 0x8902 || vlan.etype == 0x8902 || sll.etype == 0x8902"),
    ("eapol", "eth.type in {0x888e, 0x88c7} || vlan.etype in {0x888e, 0x88c7} || sll.etype in {0x888e, 0x88c7} || llc.type in {0x888e, 0x88c7}"),
    ("lacp", "eth.type == 0x8809 && frame[14] == 01"),
    ("lldp", "eth.type == 0x88cc || vlan.etype == 0x88cc || sll.etype == 0x88cc"),
    ("loop", "eth.type == 0x9000 || vlan.etype == 0x9000 || sll.etype == 0x9000"),
    ("ptp", "(udp.port in {319, 320} && udp.length > 8) || eth.type == 0x88f7 || vlan.etype == 0x88f7"),
    ("slow", "eth.type == 0x8809 || vlan.etype == 0x8809 || sll.etype == 0x8809"),
    ("cdp", "llc.cisco_pid == 0x2000 || gre.proto == 0x2000 || chdlc.protocol == 0x2000"),
    ("dtp", "llc.cisco_pid == 0x2004"),
    ("isis", "(llc.dsap == 0xfe && llc[3] == 83) || (chdlc.protocol == 0xfefe && frame[5] == 83)"),
    ("stp", "llc.dsap == 0x42 || llc.cisco_pid == 0x010b"),
    ("udld", "llc.cisco_pid == 0x0111 || chdlc.protocol == 0x0111"),
    ("vtp", "llc.cisco_pid == 0x2003"),
    ("aodv", "udp.port == 654 && udp.length > 8"),
    ("auto_rp", "udp.port == 496 && udp.length > 8"),
    ("babel", "udp.port == 6696 && udp.length > 8"),
    ("bfd", "udp.port in {3784, 4784, 6784, 7784} && udp.length > 8"),
    ("cflow", "udp.port in {2055, 4739, 9996} && udp.length > 8"),
    ("cldap", "udp.port == 389 && udp.length > 8"),
    ("coap", "udp.port == 5683 && udp.length > 8"),
    ("dhcpv6", "udp.port in {546, 547} && udp.length > 8"),
    ("glbp", "udp.port == 3222 && udp.length > 8"),
    ("gtpv2", "udp.port == 2123 && udp.payload[0] & e0 == 40"),
    ("hsrp", "udp.port in {1985, 2029} && udp.length > 8"),
    ("iax2", "udp.port == 4569 && udp.length > 8"),
    ("isakmp", "(udp.port == 500 && udp.length > 8) || (udp.port == 4500 && udp.payload[0:4] == 00:00:00:00)"),
    ("lisp", "udp.port == 4342 && udp.length > 8"),
    ("nbdgm", "udp.port == 138 && udp.length > 8"),
    ("nbns", "udp.port == 137 && udp.length > 8"),
    ("pfcp", "udp.port == 8805 && udp.length > 8"),
    ("rip", "udp.port == 520 && udp.length > 8"),
    ("ripng", "udp.port == 521 && udp.length > 8"),
    ("rmcp", "udp.port == 623 && udp.length > 8"),
    ("ssdp", "udp.port == 1900 && udp.length > 8"),
    ("tacacs", "udp.port == 49 && udp.length > 8"),
    // A handshake of WireGuard has no port of its own; its messages have a type, three octets of zero, and a length of its own each.
    ("wg", "(udp.length == 156 && udp.payload[0:4] == 01:00:00:00) || (udp.length == 100 && udp.payload[0:4] == 02:00:00:00) || \
            (udp.length == 72 && udp.payload[0:4] == 03:00:00:00) || (udp.length >= 40 && udp.payload[0:4] == 04:00:00:00)"),
    ("dnp3", "(tcp.port == 20000 && tcp.len > 0) || (udp.port == 20000 && udp.length > 8)"),
    ("kerberos", "(udp.port == 88 && udp.length > 8) || (tcp.port == 88 && tcp.len > 0)"),
    ("ldp", "(udp.port == 646 && udp.length > 8) || (tcp.port == 646 && tcp.len > 0)"),
    ("openvpn", "(udp.port == 1194 && udp.length > 8) || (tcp.port == 1194 && tcp.len > 0)"),
    ("srvloc", "(udp.port == 427 && udp.length > 8) || (tcp.port == 427 && tcp.len > 0)"),
    ("amqp", "tcp.port == 5672 && tcp.len > 0"),
    ("bgp", "tcp.port == 179 && tcp.len > 0"),
    ("ftp", "tcp.port == 21 && tcp.len > 0 && !tls"),
    ("imap", "tcp.port == 143 && tcp.len > 0 && !tls"),
    ("irc", "tcp.port in {6667, 57000} && tcp.len > 0"),
    ("ldap", "tcp.port in {389, 3268} && tcp.len > 0"),
    ("mbtcp", "tcp.port == 502 && tcp.len > 0"),
    ("modbus", "tcp.port == 502 && tcp.len > 0"),
    ("mysql", "tcp.port == 3306 && tcp.len > 0 && !tls"),
    ("pgsql", "tcp.port == 5432 && tcp.len > 0 && !tls"),
    ("pop", "tcp.port == 110 && tcp.len > 0 && !tls"),
    ("resp", "tcp.port == 6379 && tcp.len > 0"),
    ("rsh", "tcp.port == 514 && tcp.len > 0"),
    ("rtsp", "tcp.port in {554, 7236, 8554} && tcp.len > 0"),
    ("smtp", "tcp.port in {25, 587} && tcp.len > 0 && !tls"),
    ("socks", "tcp.port == 1080 && tcp.len > 0"),
    ("ssh", "tcp.port in {22, 29418} && tcp.len > 0"),
    ("tacplus", "tcp.port == 49 && tcp.len > 0"),
    ("telnet", "tcp.port == 23 && tcp.len > 0"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DisplayFilter;

    #[test]
    fn protocols_that_are_known_by_headers_are_read() {
        for (name, packets) in CARRIED {
            assert_eq!(layer_named(name), None, "{name}");
            assert!(DisplayFilter::new(packets).is_ok(), "{packets}");
            assert!(DisplayFilter::new(name).is_ok(), "{name}");
        }
        // The first part of a name of a host is no protocol.
        for filter in [
            "dns.qry.name == smtp.example.org",
            "http.host == ftp.example.org",
        ] {
            assert!(DisplayFilter::new(filter).is_ok(), "{filter}");
        }
    }

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
        for field in ["ssh.protocol", "bfd.flags"] {
            let hint = DisplayFilter::new(field).unwrap_err().hint;
            assert_eq!(hint, only_packets(field), "{field}");
            assert!(hint.is_some(), "{field}");
        }
        assert_eq!(only_packets("dns.frobnicate"), None);
        let other = DisplayFilter::new("tcp and bgq").unwrap_err();
        assert!(other.hint.is_some_and(|hint| !hint.contains("is not read")));
    }
}
