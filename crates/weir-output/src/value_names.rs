//! The names of values of header fields: `ip.proto 17` is UDP.
//!
//! One packet on a terminal has them; files and pipes have the number alone. The names are those of the registries
//! of IANA and IEEE 802 and of the standards that `weir fields` gives for the columns.

/// The name of a value of a column; `None` where there is none.
pub(super) fn value_name(column: &str, value: u64) -> Option<String> {
    if column == "tcp.flags" {
        return flags(value);
    }
    let names = match column {
        "ip.proto" | "ah.next_header" => PROTOCOLS,
        _ if column.ends_with(".nxt") => PROTOCOLS,
        "eth.type" | "gre.proto" | "chdlc.protocol" | "llc.type" | "null.type" | "fr.snaptype" => {
            ETHER_TYPES
        }
        "arp.proto.type" | "ipoib.type" | "fr.chdlctype" => ETHER_TYPES,
        _ if column.ends_with(".etype") || column.ends_with(".gretype") => ETHER_TYPES,
        "ppp.protocol" => PPP_PROTOCOLS,
        "arp.opcode" => ARP_OPERATIONS,
        "arp.hw.type" | "sll.hatype" => HARDWARE,
        "icmp.type" => ICMP_TYPES,
        "icmpv6.type" => ICMPV6_TYPES,
        "igmp.type" => IGMP_TYPES,
        "pim.type" => PIM_TYPES,
        "llc.dsap" | "llc.ssap" => SAPS,
        "sll.pkttype" => SLL_TYPES,
        "pppoe.code" => PPPOE_CODES,
        "sctp.chunk_type" => SCTP_CHUNKS,
        "sctp.data_payload_proto_id" => SCTP_PAYLOADS,
        "gtp.message" => GTP_MESSAGES,
        "ip.dsfield.dscp" | "ipv6.tclass.dscp" => DSCPS,
        "ip.dsfield.ecn" | "ipv6.tclass.ecn" => ECNS,
        "wlan.fc.type" => WLAN_TYPES,
        _ => return None,
    };
    let found = names.iter().find(|(number, _)| u64::from(*number) == value);
    found.map(|(_, name)| (*name).to_owned())
}

/// The flags of TCP that are set, as in RFC 9293, 3.1.
fn flags(value: u64) -> Option<String> {
    let set = TCP_FLAGS.iter().filter(|(bit, _)| value & bit != 0);
    let names: Vec<_> = set.map(|(_, name)| *name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

type FlagNames = &'static [(u32, &'static str)];

const TCP_FLAGS: &[(u64, &str)] = &[
    (0x001, "FIN"),
    (0x002, "SYN"),
    (0x004, "RST"),
    (0x008, "PSH"),
    (0x010, "ACK"),
    (0x020, "URG"),
    (0x040, "ECE"),
    (0x080, "CWR"),
    (0x100, "AE"),
];

/// IANA, Assigned Internet Protocol Numbers.
const PROTOCOLS: FlagNames = &[
    (0, "IPv6 hop-by-hop options"),
    (1, "ICMP"),
    (2, "IGMP"),
    (4, "IPv4"),
    (6, "TCP"),
    (8, "EGP"),
    (9, "IGP"),
    (17, "UDP"),
    (27, "RDP"),
    (33, "DCCP"),
    (41, "IPv6"),
    (43, "IPv6 routing header"),
    (44, "IPv6 fragment header"),
    (46, "RSVP"),
    (47, "GRE"),
    (50, "ESP"),
    (51, "AH"),
    (58, "ICMPv6"),
    (59, "no next header"),
    (60, "IPv6 destination options"),
    (88, "EIGRP"),
    (89, "OSPF"),
    (94, "IPIP"),
    (97, "EtherIP"),
    (103, "PIM"),
    (108, "IPComp"),
    (112, "VRRP"),
    (115, "L2TP"),
    (132, "SCTP"),
    (135, "Mobility header"),
    (136, "UDP-Lite"),
    (137, "MPLS in IP"),
    (143, "Ethernet"),
];

/// IEEE 802 numbers of IANA.
const ETHER_TYPES: FlagNames = &[
    (0x0800, "IPv4"),
    (0x0806, "ARP"),
    (0x0842, "Wake-on-LAN"),
    (0x2000, "CDP"),
    (0x22f3, "TRILL"),
    (0x6558, "Ethernet"),
    (0x8035, "RARP"),
    (0x80f3, "AARP"),
    (0x8100, "VLAN, 802.1Q"),
    (0x8137, "IPX"),
    (0x86dd, "IPv6"),
    (0x8808, "flow control of Ethernet"),
    (0x8809, "slow protocols (LACP)"),
    (0x880b, "PPP"),
    (0x8847, "MPLS"),
    (0x8848, "MPLS, upstream-assigned label"),
    (0x8863, "PPPoE discovery"),
    (0x8864, "PPPoE session"),
    (0x888e, "EAPOL, 802.1X"),
    (0x88a8, "VLAN, 802.1ad"),
    (0x88be, "ERSPAN II"),
    (0x88cc, "LLDP"),
    (0x88e5, "MACsec"),
    (0x88e7, "PBB, 802.1ah"),
    (0x88f7, "PTP"),
    (0x8903, "FabricPath"),
    (0x8906, "FCoE"),
    (0x893f, "E-TAG, 802.1BR"),
    (0x894f, "NSH"),
    (0x9000, "loopback"),
    (0x9100, "VLAN, QinQ"),
    (0xf1c1, "R-TAG, 802.1CB"),
];

/// IANA, PPP DLL Protocol Numbers.
const PPP_PROTOCOLS: FlagNames = &[
    (0x0021, "IPv4"),
    (0x003d, "Multilink"),
    (0x0057, "IPv6"),
    (0x00fd, "compressed datagram"),
    (0x0281, "MPLS"),
    (0x8021, "IPCP"),
    (0x8057, "IPv6CP"),
    (0x80fd, "CCP"),
    (0xc021, "LCP"),
    (0xc023, "PAP"),
    (0xc025, "LQR"),
    (0xc223, "CHAP"),
    (0xc227, "EAP"),
];

/// IANA, ARP Operation Codes.
const ARP_OPERATIONS: FlagNames = &[
    (1, "request"),
    (2, "reply"),
    (3, "reverse request"),
    (4, "reverse reply"),
    (8, "InARP request"),
    (9, "InARP reply"),
];

/// IANA, ARP Hardware Types; Linux's ARPHRD for those above 511.
const HARDWARE: FlagNames = &[
    (1, "Ethernet"),
    (6, "IEEE 802"),
    (15, "frame relay"),
    (16, "ATM"),
    (20, "serial line"),
    (32, "InfiniBand"),
    (512, "PPP"),
    (772, "loopback"),
    (778, "GRE"),
    (803, "IEEE 802.11 with radiotap"),
    (824, "netlink"),
    (65534, "none"),
];

/// IANA, ICMP Type Numbers.
const ICMP_TYPES: FlagNames = &[
    (0, "echo reply"),
    (3, "destination unreachable"),
    (4, "source quench"),
    (5, "redirect"),
    (8, "echo request"),
    (9, "router advertisement"),
    (10, "router solicitation"),
    (11, "time exceeded"),
    (12, "parameter problem"),
    (13, "timestamp"),
    (14, "timestamp reply"),
    (17, "address mask request"),
    (18, "address mask reply"),
    (42, "extended echo request"),
    (43, "extended echo reply"),
];

/// IANA, ICMPv6 Parameters.
const ICMPV6_TYPES: FlagNames = &[
    (1, "destination unreachable"),
    (2, "packet too big"),
    (3, "time exceeded"),
    (4, "parameter problem"),
    (128, "echo request"),
    (129, "echo reply"),
    (130, "multicast listener query"),
    (131, "multicast listener report"),
    (132, "multicast listener done"),
    (133, "router solicitation"),
    (134, "router advertisement"),
    (135, "neighbor solicitation"),
    (136, "neighbor advertisement"),
    (137, "redirect"),
    (143, "multicast listener report, version 2"),
    (155, "RPL control"),
];

/// RFC 3376, 4; RFC 2236, 2.1.
const IGMP_TYPES: FlagNames = &[
    (0x11, "membership query"),
    (0x12, "membership report, version 1"),
    (0x16, "membership report, version 2"),
    (0x17, "leave group"),
    (0x22, "membership report, version 3"),
];

/// RFC 7761, 4.9.
const PIM_TYPES: FlagNames = &[
    (0, "hello"),
    (1, "register"),
    (2, "register-stop"),
    (3, "join/prune"),
    (4, "bootstrap"),
    (5, "assert"),
    (8, "candidate RP advertisement"),
];

/// IEEE 802.2 and its registry of service access points.
const SAPS: FlagNames = &[
    (0x00, "NULL LSAP"),
    (0x06, "IP"),
    (0x42, "spanning tree"),
    (0xaa, "SNAP"),
    (0xe0, "NetWare"),
    (0xf0, "NetBIOS"),
    (0xfe, "ISO network layer"),
];

/// Linux cooked captures, LINKTYPE_LINUX_SLL.
const SLL_TYPES: FlagNames = &[
    (0, "to us"),
    (1, "broadcast"),
    (2, "multicast"),
    (3, "to another host"),
    (4, "sent by us"),
];

/// RFC 2516, 5.
const PPPOE_CODES: FlagNames = &[
    (0x00, "session data"),
    (0x07, "PADO"),
    (0x09, "PADI"),
    (0x19, "PADR"),
    (0x65, "PADS"),
    (0xa7, "PADT"),
];

/// IANA, SCTP Chunk Types.
const SCTP_CHUNKS: FlagNames = &[
    (0, "DATA"),
    (1, "INIT"),
    (2, "INIT ACK"),
    (3, "SACK"),
    (4, "HEARTBEAT"),
    (5, "HEARTBEAT ACK"),
    (6, "ABORT"),
    (7, "SHUTDOWN"),
    (8, "SHUTDOWN ACK"),
    (9, "ERROR"),
    (10, "COOKIE ECHO"),
    (11, "COOKIE ACK"),
    (14, "SHUTDOWN COMPLETE"),
    (64, "I-DATA"),
    (130, "RE-CONFIG"),
    (192, "FORWARD TSN"),
    (193, "ASCONF"),
    (194, "I-FORWARD TSN"),
];

/// IANA, SCTP Payload Protocol Identifiers.
const SCTP_PAYLOADS: FlagNames = &[
    (1, "IUA"),
    (2, "M2UA"),
    (3, "M3UA"),
    (4, "SUA"),
    (5, "M2PA"),
    (7, "H.248"),
    (18, "S1AP"),
    (27, "X2AP"),
    (46, "Diameter"),
    (47, "Diameter over DTLS"),
    (51, "WebRTC string"),
    (53, "WebRTC binary"),
    (60, "NGAP"),
    (61, "XnAP"),
];

/// The message types of 3GPP TS 29.060, 7.1; those of the user plane alone are from TS 29.281, 6.1.
const GTP_MESSAGES: FlagNames = &[
    (1, "echo request"),
    (2, "echo response"),
    (16, "create PDP context request"),
    (17, "create PDP context response"),
    (18, "update PDP context request"),
    (19, "update PDP context response"),
    (20, "delete PDP context request"),
    (21, "delete PDP context response"),
    (26, "error indication"),
    (31, "supported extension headers notification"),
    (254, "end marker"),
    (255, "G-PDU"),
];

/// IANA, Differentiated Services Field Codepoints.
const DSCPS: FlagNames = &[
    (0, "CS0"),
    (1, "LE"),
    (8, "CS1"),
    (10, "AF11"),
    (12, "AF12"),
    (14, "AF13"),
    (16, "CS2"),
    (18, "AF21"),
    (20, "AF22"),
    (22, "AF23"),
    (24, "CS3"),
    (26, "AF31"),
    (28, "AF32"),
    (30, "AF33"),
    (32, "CS4"),
    (34, "AF41"),
    (36, "AF42"),
    (38, "AF43"),
    (40, "CS5"),
    (44, "VOICE-ADMIT"),
    (46, "EF"),
    (48, "CS6"),
    (56, "CS7"),
];

/// RFC 3168, 5.
const ECNS: FlagNames = &[(0, "Not-ECT"), (1, "ECT(1)"), (2, "ECT(0)"), (3, "CE")];

/// IEEE 802.11, 9.2.4.1.3.
const WLAN_TYPES: FlagNames = &[
    (0, "management"),
    (1, "control"),
    (2, "data"),
    (3, "extension"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_names() {
        let name = |column, value| value_name(column, value).unwrap_or_default();
        assert_eq!(name("ip.proto", 17), "UDP");
        assert_eq!(name("ipv6.fraghdr.nxt", 58), "ICMPv6");
        assert_eq!(name("vlan.etype", 0x0800), "IPv4");
        assert_eq!(name("tcp.flags", 0x12), "SYN, ACK");
        assert_eq!(name("tcp.flags", 0), "");
        assert_eq!(name("ip.proto", 300), "");
        assert_eq!(name("frame.number", 6), "");
    }

    #[test]
    fn every_named_column_exists_and_no_value_has_two_names() {
        let columns = weir_tables::Table::packets();
        for column in [
            "ip.proto",
            "ah.next_header",
            "eth.type",
            "gre.proto",
            "chdlc.protocol",
            "llc.type",
            "null.type",
            "fr.snaptype",
            "arp.proto.type",
            "ipoib.type",
            "fr.chdlctype",
            "ppp.protocol",
            "arp.opcode",
            "arp.hw.type",
            "sll.hatype",
            "icmp.type",
            "icmpv6.type",
            "igmp.type",
            "pim.type",
            "llc.dsap",
            "llc.ssap",
            "sll.pkttype",
            "pppoe.code",
            "sctp.chunk_type",
            "sctp.data_payload_proto_id",
            "gtp.message",
            "ip.dsfield.dscp",
            "ipv6.tclass.dscp",
            "ip.dsfield.ecn",
            "ipv6.tclass.ecn",
            "wlan.fc.type",
            "tcp.flags",
        ] {
            let has = columns.columns().iter().any(|one| &*one.name == column);
            assert!(has, "there is no column {column}");
        }
        for names in [
            PROTOCOLS,
            ETHER_TYPES,
            PPP_PROTOCOLS,
            ARP_OPERATIONS,
            HARDWARE,
            ICMP_TYPES,
            ICMPV6_TYPES,
            IGMP_TYPES,
            PIM_TYPES,
            SAPS,
            SLL_TYPES,
            PPPOE_CODES,
            SCTP_CHUNKS,
            SCTP_PAYLOADS,
            GTP_MESSAGES,
            DSCPS,
            ECNS,
            WLAN_TYPES,
        ] {
            assert!(
                names.windows(2).all(|pair| pair[0].0 < pair[1].0),
                "{names:?}"
            );
        }
    }
}
