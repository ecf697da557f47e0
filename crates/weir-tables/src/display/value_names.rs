//! Values that Wireshark also knows by a name: `ip.proto == "TCP"`, `tcp.flags.syn == "Set"`.

/// The number that a field has by this name of a value, in whatever case.
pub(super) fn number(field: &str, name: &str) -> Option<i128> {
    let field = field.to_ascii_lowercase();
    let flag = FLAGS
        .iter()
        .find(|(.., fields)| fields.contains(&field.as_str()));
    if let Some((set, not_set, _)) = flag {
        let values = [(1, set), (0, not_set)];
        let value = values
            .iter()
            .find(|(_, known)| known.eq_ignore_ascii_case(name));
        return value.map(|(number, _)| *number);
    }
    let mut values = names(&field)?.iter();
    let value = values.find(|(_, known)| known.eq_ignore_ascii_case(name));
    value.map(|(number, _)| i128::from(*number))
}

/// Some names of values of a field, for a hint.
pub(super) fn hint(field: &str) -> Option<String> {
    let field = field.to_ascii_lowercase();
    let known: Vec<&str> = match FLAGS
        .iter()
        .find(|(.., fields)| fields.contains(&field.as_str()))
    {
        Some((set, not_set, _)) => vec![*set, *not_set],
        None => names(&field)?
            .iter()
            .take(HINTED_MAX)
            .map(|(_, name)| *name)
            .collect(),
    };
    let known: Vec<String> = known.iter().map(|name| format!("\"{name}\"")).collect();
    Some(format!(
        "write a number without quotes, or the name of a value of {field}, such as {}",
        known.join(", ")
    ))
}

fn names(field: &str) -> Option<&'static [(u32, &'static str)]> {
    let known = NAMES.iter().find(|(fields, _)| fields.contains(&field));
    known.map(|(_, names)| *names)
}

/// The number of names in a hint.
const HINTED_MAX: usize = 4;

/// The names of a flag that is set and of one that is not, and the fields with these names.
#[rustfmt::skip]
const FLAGS: &[(&str, &str, &[&str])] = &[
    ("Message is a response", "Message is a query", &["dns.flags.response"]),
    ("Server is an authority for domain", "Server is not an authority for domain", &["dns.flags.authoritative"]),
    ("The sender received multiple responses", "None", &["dns.flags.conflict"]),
    ("Message is truncated", "Message is not truncated", &["dns.flags.truncated"]),
    ("Do query recursively", "Don't do query recursively", &["dns.flags.recdesired"]),
    ("Tentative", "Not tentative", &["dns.flags.tentative"]),
    ("Server can do recursive queries", "Server can't do recursive queries", &["dns.flags.recavail"]),
    ("reserved - incorrect!", "reserved (0)", &["dns.flags.z"]),
    ("Answer/authority portion was authenticated by the server", "Answer/authority portion was not authenticated by the server", &[
        "dns.flags.authenticated",
    ]),
    ("Acceptable", "Unacceptable", &["dns.flags.checkdisable"]),
    ("Yes", "No", &[
        "gre.flags.checksum", "gre.flags.routing", "gre.flags.key", "gre.flags.sequence_number", "gtp.flags.snn",
        "gtp.flags.e", "gtp.flags.s", "gtp.flags.pn", "ip.opt.type.copy", "ipv6.opt.type.change", "ipv6.fraghdr.more",
    ]),
    ("6-Octet Header", "20-Octet Header", &["gtp.flags.hdr_length"]),
    ("Set", "Not set", &[
        "icmpv6.nd.na.flag.r", "icmpv6.nd.na.flag.s", "icmpv6.nd.na.flag.o", "ip.flags.rb", "ip.flags.df",
        "ip.flags.mf", "mqtt.dupflag", "mqtt.retain", "tcp.flags.res", "tcp.flags.ae", "tcp.flags.cwr", "tcp.flags.ece",
        "tcp.flags.urg", "tcp.flags.ack", "tcp.flags.push", "tcp.flags.reset", "tcp.flags.syn", "tcp.flags.fin",
        "diameter.flags.request", "diameter.flags.proxyable", "diameter.flags.error",
    ]),
    ("Frame is entering DS", "Frame is not entering DS", &["wlan.fc.tods"]),
    ("Frame is exiting DS", "Frame is not exiting DS", &["wlan.fc.fromds"]),
    ("More fragments follow", "This is the last fragment", &["wlan.fc.frag"]),
    ("Frame is being retransmitted", "Frame is not being retransmitted", &["wlan.fc.retry"]),
    ("STA will go to sleep", "STA will stay up", &["wlan.fc.pwrmgt"]),
    ("Data is buffered for STA at AP", "No data buffered", &["wlan.fc.moredata"]),
    ("Data is protected", "Data is not protected", &["wlan.fc.protected"]),
    ("Strictly ordered", "Not strictly ordered", &["wlan.fc.order"]),
    ("Length field is present", "Length field is not present", &["l2tp.length_bit"]),
    ("Ns and Nr fields are present", "Ns and Nr fields are not present", &["l2tp.seq_bit"]),
    ("Eligible", "Ineligible", &["vlan.dei"]),
];

/// Numbers with their names.
type NamedValues = &'static [(u32, &'static str)];

/// Fields, and the names of their values. `tls.handshake.type` has one only: Wireshark takes others there as those of SSL 2.
#[rustfmt::skip]
const NAMES: &[(&[&str], NamedValues)] = &[
    (&["arp.opcode"], &[
        (1, "request"), (2, "reply"), (3, "reverse request"), (4, "reverse reply"), (5, "drarp request"),
        (6, "drarp reply"), (7, "drarp error"), (8, "inverse request"), (9, "inverse reply"), (10, "arp nak"),
    ]),
    (&["dhcp.option.dhcp"], &[
        (1, "Discover"), (2, "Offer"), (3, "Request"), (4, "Decline"), (5, "ACK"), (6, "NAK"), (7, "Release"),
        (8, "Inform"),
    ]),
    (&["dns.flags.opcode"], &[
        (0, "Standard query"), (1, "Inverse query"), (2, "Server status request"), (4, "Zone change notification"),
        (5, "Dynamic update"), (6, "DNS Stateful operations (DSO)"),
    ]),
    (&["dns.flags.rcode"], &[
        (0, "No error"), (1, "Format error"), (2, "Server failure"), (3, "No such name"), (4, "Not implemented"),
        (5, "Refused"), (6, "Name exists"), (7, "RRset exists"), (8, "RRset does not exist"), (9, "Not authoritative"),
        (10, "Name out of zone"), (11, "DSO-Type not implemented"), (16, "Bad OPT Version or TSIG Signature Failure"),
        (17, "Key not recognized"), (18, "Signature out of time window"), (19, "Bad TKEY Mode"),
        (20, "Duplicate key name"), (21, "Algorithm not supported"), (22, "Bad Truncation"),
        (23, "Bad/missing Server Cookie"),
    ]),
    (&["dns.qry.type", "dns.resp.type"], &[
        (1, "A (Host Address)"), (2, "NS (authoritative Name Server)"), (5, "CNAME (Canonical NAME for an alias)"),
        (6, "SOA (Start Of a zone of Authority)"), (10, "NULL RR"), (12, "PTR (domain name PoinTeR)"),
        (13, "HINFO (host information)"), (15, "MX (Mail eXchange)"), (16, "TXT (Text strings)"),
        (24, "SIG (security signature)"), (25, "KEY (security key)"), (28, "AAAA (IPv6 Address)"),
        (29, "LOC (Location Information)"), (33, "SRV (Server Selection)"), (35, "NAPTR (Naming Authority Pointer)"),
        (37, "CERT"), (39, "DNAME"), (41, "OPT"), (43, "DS (Delegation Signer)"), (44, "SSHFP (SSH Key Fingerprint)"),
        (46, "RRSIG (Resource Record Signature)"), (47, "NSEC (Next Secure)"), (48, "DNSKEY (DNS Public Key)"),
        (50, "NSEC3"), (51, "NSEC3PARAM"), (52, "TLSA"), (59, "CDS (Child DS)"),
        (60, "CDNSKEY (DNSKEY(s) the Child wants reflected in DS)"), (61, "OPENPGPKEY (OpenPGP Key)"),
        (64, "SVCB (General Purpose Service Endpoints)"), (65, "HTTPS (HTTPS Specific Service Endpoints)"), (99, "SPF"),
        (249, "TKEY (Transaction Key)"), (250, "TSIG (Transaction Signature)"), (251, "IXFR (incremental transfer)"),
        (252, "AXFR (transfer of an entire zone)"),
        (255, "* (A request for all records the server/cache has available)"),
        (257, "CAA (Certification Authority Restriction)"),
    ]),
    (&["eth.type", "vlan.etype", "sll.etype", "arp.proto.type"], &[
        (0x0800, "IPv4"), (0x86dd, "IPv6"), (0x8100, "802.1Q Virtual LAN"), (0x0806, "ARP"), (0x8137, "Netware IPX/SPX"),
        (0x8863, "PPPoE Discovery"), (0x8864, "PPPoE Session"), (0x88a8, "802.1ad Provider Bridge (Q-in-Q)"),
        (0x88e5, "802.1AE (MACsec)"), (0x888e, "802.1X Authentication"), (0x8847, "MPLS label switched packet"),
        (0x8848, "MPLS multicast label switched packet"), (0x8808, "MAC Control"), (0x8809, "Slow Protocols"),
        (0x88cc, "802.1 Link Layer Discovery Protocol (LLDP)"),
        (0x8902, "IEEE 802.1ag Connectivity Fault Management (CFM) protocol"), (0x88f7, "PTPv2 over Ethernet (IEEE1588)"),
    ]),
    (&["gtp.message"], &[
        (0, "For future use"), (1, "Echo request"), (2, "Echo response"), (3, "Version not supported"),
        (4, "Node alive request"), (5, "Node alive response"), (6, "Redirection request"), (7, "Redirection response"),
        (16, "Create PDP context request"), (17, "Create PDP context response"), (18, "Update PDP context request"),
        (19, "Update PDP context response"), (20, "Delete PDP context request"), (21, "Delete PDP context response"),
        (22, "Initiate PDP Context Activation Request"), (23, "Initiate PDP Context Activation Response"),
        (24, "Delete AA PDP Context Request"), (25, "Delete AA PDP Context Response"), (26, "Error indication"),
        (27, "PDU notification request"), (28, "PDU notification response"), (29, "PDU notification reject request"),
        (30, "PDU notification reject response"), (31, "Supported extension header notification"),
        (32, "Send routing information for GPRS request"), (33, "Send routing information for GPRS response"),
        (34, "Failure report request"), (35, "Failure report response"), (36, "Note MS GPRS present request"),
        (37, "Note MS GPRS present response"), (48, "Identification request"), (49, "Identification response"),
        (50, "SGSN context request"), (51, "SGSN context response"), (52, "SGSN context acknowledgement"),
        (53, "Forward relocation request"), (54, "Forward relocation response"), (55, "Forward relocation complete"),
        (56, "Relocation cancel request"), (57, "Relocation cancel response"), (58, "Forward SRNS context"),
        (59, "Forward relocation complete acknowledge"), (60, "Forward SRNS context acknowledge"),
        (61, "UE Registration Query Request"), (62, "UE Registration Query Response"), (70, "RAN Information Relay"),
        (96, "MBMS Notification Request"), (97, "MBMS Notification Response"), (98, "MBMS Notification Reject Request"),
        (99, "MBMS Notification Reject Response"), (100, "Create MBMS Context Request"),
        (101, "Create MBMS Context Response"), (102, "Update MBMS Context Request"),
        (103, "Update MBMS Context Response"), (104, "Delete MBMS Context Request"),
        (105, "Delete MBMS Context Response"), (112, "MBMS Registration Request"), (113, "MBMS Registration Response"),
        (114, "MBMS De-Registration Request"), (115, "MBMS De-Registration Response"),
        (116, "MBMS Session Start Request"), (117, "MBMS Session Start Response"), (118, "MBMS Session Stop Request"),
        (119, "MBMS Session Stop Response"), (120, "MBMS Session Update Request"),
        (121, "MBMS Session Update Response"), (128, "MS Info Change Notification Request"),
        (129, "MS Info Change Notification Response"), (240, "Data record transfer request"),
        (241, "Data record transfer response"), (254, "End Marker"), (255, "T-PDU"),
    ]),
    (&["pppoe.code"], &[
        (0, "Session Data"), (7, "Active Discovery Offer (PADO)"), (9, "Active Discovery Initiation (PADI)"),
        (10, "Active Discovery Session-Grant (PADG)"), (11, "Active Discovery Session-Credit Resp.(PADC)"),
        (12, "Active Discovery Quality (PADQ)"), (0x19, "Active Discovery Request (PADR)"),
        (0x65, "Active Discovery Session-confirmation (PADS)"), (0xa7, "Active Discovery Terminate (PADT)"),
        (0xd3, "Active Discovery Message (PADM)"), (0xd4, "Active Discovery Network (PADN)"),
    ]),
    (&["snmp.error_status"], &[
        (0, "noError"), (1, "tooBig"), (2, "noSuchName"), (3, "badValue"), (4, "readOnly"), (5, "genErr"),
        (6, "noAccess"), (7, "wrongType"), (8, "wrongLength"), (9, "wrongEncoding"), (10, "wrongValue"),
        (11, "noCreation"), (12, "inconsistentValue"), (13, "resourceUnavailable"), (14, "commitFailed"),
        (15, "undoFailed"), (16, "authorizationError"), (17, "notWritable"), (18, "inconsistentName"),
    ]),
    (&["icmpv6.type"], &[
        (1, "Destination Unreachable"), (2, "Packet Too Big"), (3, "Time Exceeded"), (4, "Parameter Problem"),
        (128, "Echo (ping) request"), (129, "Echo (ping) reply"), (130, "Multicast Listener Query"),
        (131, "Multicast Listener Report"), (132, "Multicast Listener Done"), (133, "Router Solicitation"),
        (134, "Router Advertisement"), (135, "Neighbor Solicitation"), (136, "Neighbor Advertisement"),
        (137, "Redirect"), (138, "Router Renumbering"), (143, "Multicast Listener Report Message v2"),
    ]),
    (&["igmp.type"], &[
        (17, "Membership Query"), (23, "Leave Group"), (30, "Traceroute Response"), (31, "Traceroute Query or Request"),
    ]),
    (&["ip.dsfield.dscp", "ipv6.tclass.dscp"], &[
        (0, "Default"), (1, "Lower Effort"), (8, "Class Selector 1"), (10, "Assured Forwarding 11"),
        (12, "Assured Forwarding 12"), (14, "Assured Forwarding 13"), (16, "Class Selector 2"),
        (18, "Assured Forwarding 21"), (20, "Assured Forwarding 22"), (22, "Assured Forwarding 23"),
        (24, "Class Selector 3"), (26, "Assured Forwarding 31"), (28, "Assured Forwarding 32"),
        (30, "Assured Forwarding 33"), (32, "Class Selector 4"), (34, "Assured Forwarding 41"),
        (36, "Assured Forwarding 42"), (38, "Assured Forwarding 43"), (40, "Class Selector 5"), (44, "Voice Admit"),
        (46, "Expedited Forwarding"), (48, "Class Selector 6"), (56, "Class Selector 7"),
    ]),
    (&["ip.proto", "ipv6.nxt"], &[
        (0, "IPv6 Hop-by-Hop Option"), (1, "ICMP"), (2, "IGMP"), (4, "IPIP"), (6, "TCP"), (17, "UDP"), (41, "IPv6"),
        (43, "Routing Header for IPv6"), (44, "Fragment Header for IPv6"), (46, "Reservation Protocol"),
        (47, "Generic Routing Encapsulation"), (50, "Encap Security Payload"), (51, "Authentication Header"),
        (58, "ICMPv6"), (59, "No Next Header for IPv6"), (60, "Destination Options for IPv6"), (88, "EIGRP"),
        (89, "OSPF IGP"), (94, "IP in IP"), (103, "PIM"), (112, "VRRP"), (115, "Layer 2 Tunneling"), (132, "SCTP"),
        (135, "Mobile IPv6"), (136, "UDPLite"),
    ]),
    (&["mqtt.msgtype"], &[
        (1, "Connect Command"), (2, "Connect Ack"), (3, "Publish Message"), (4, "Publish Ack"), (5, "Publish Received"),
        (6, "Publish Release"), (7, "Publish Complete"), (8, "Subscribe Request"), (9, "Subscribe Ack"),
        (10, "Unsubscribe Request"), (11, "Unsubscribe Ack"), (12, "Ping Request"), (13, "Ping Response"),
        (14, "Disconnect Req"), (15, "Authentication Exchange"),
    ]),
    (&["ntp.flags.mode"], &[
        (1, "symmetric active"), (2, "symmetric passive"), (3, "client"), (4, "server"), (5, "broadcast"),
    ]),
    (&["rtcp.pt"], &[
        (200, "Sender Report"), (201, "Receiver Report"), (202, "Source description"), (203, "Goodbye"),
        (204, "Application specific"), (205, "Generic RTP Feedback"), (206, "Payload-specific Feedback"),
        (207, "Extended report (RFC 3611)"),
    ]),
    (&["sctp.chunk_type"], &[
        (0, "DATA"), (1, "INIT"), (2, "INIT_ACK"), (3, "SACK"), (4, "HEARTBEAT"), (5, "HEARTBEAT_ACK"), (6, "ABORT"),
        (7, "SHUTDOWN"), (8, "SHUTDOWN_ACK"), (9, "ERROR"), (10, "COOKIE_ECHO"), (11, "COOKIE_ACK"), (12, "ECNE"),
        (13, "CWR"), (14, "SHUTDOWN_COMPLETE"), (15, "AUTH"), (16, "NR_SACK"), (64, "I_DATA"), (128, "ASCONF_ACK"),
        (129, "PKTDROP"), (130, "RE_CONFIG"), (132, "PAD"), (192, "FORWARD_TSN"), (193, "ASCONF"),
        (194, "I_FORWARD_TSN"),
    ]),
    (&["snmp.version"], &[
        (0, "version-1"), (1, "v2c"), (2, "v2u"), (3, "snmpv3"),
    ]),
    (&["tcp.option_kind"], &[
        (0, "End of Option List"), (1, "No-Operation"), (2, "Maximum Segment Size"), (3, "Window Scale"),
        (4, "SACK Permitted"), (5, "SACK"), (8, "Time Stamp Option"), (19, "MD5 Signature Option"),
        (28, "User Timeout Option"), (29, "The TCP Authentication Option"), (30, "Multipath TCP"),
        (34, "TCP Fast Open Cookie"),
    ]),
    (&["tls.handshake.type"], &[
        (1, "Client Hello"),
    ]),
    (&["tls.record.content_type"], &[
        (20, "Change Cipher Spec"), (21, "Alert"), (22, "Handshake"), (23, "Application Data"), (24, "Heartbeat"),
    ]),
    (&["tls.record.version", "tls.handshake.version", "tls.handshake.extensions.supported_version"], &[
        (0x0002, "SSL 2.0"), (0x0300, "SSL 3.0"), (0x0301, "TLS 1.0"), (0x0302, "TLS 1.1"), (0x0303, "TLS 1.2"), (0x0304, "TLS 1.3"),
    ]),
    (&["tls.alert_message.level"], &[
        (1, "Warning"), (2, "Fatal"),
    ]),
    (&["tls.alert_message.desc"], &[
        (0, "Close Notify"), (1, "End of Early Data"), (10, "Unexpected Message"), (20, "Bad Record MAC"),
        (21, "Decryption Failed"), (22, "Record Overflow"), (30, "Decompression Failure"), (40, "Handshake Failure"),
        (41, "No Certificate"), (42, "Bad Certificate"), (43, "Unsupported Certificate"), (44, "Certificate Revoked"),
        (45, "Certificate Expired"), (46, "Certificate Unknown"), (47, "Illegal Parameter"), (48, "Unknown CA"),
        (49, "Access Denied"), (50, "Decode Error"), (51, "Decrypt Error"), (60, "Export Restriction"),
        (70, "Protocol Version"), (71, "Insufficient Security"), (80, "Internal Error"), (86, "Inappropriate Fallback"),
        (90, "User Canceled"), (100, "No Renegotiation"), (109, "Missing Extension"), (110, "Unsupported Extension"),
        (111, "Certificate Unobtainable"), (112, "Unrecognized Name"), (113, "Bad Certificate Status Response"),
        (114, "Bad Certificate Hash Value"), (115, "Unknown PSK Identity"), (116, "Certificate Required"),
        (120, "No application Protocol"), (121, "ECH Required"),
    ]),
    (&["radius.code"], &[
        (1, "Access-Request"), (2, "Access-Accept"), (3, "Access-Reject"), (4, "Accounting-Request"),
        (5, "Accounting-Response"), (11, "Access-Challenge"), (12, "Status-Server"), (13, "Status-Client"),
        (40, "Disconnect-Request"), (41, "Disconnect-ACK"), (42, "Disconnect-NAK"), (43, "CoA-Request"),
        (44, "CoA-ACK"), (45, "CoA-NAK"),
    ]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_values_are_numbers() {
        for (field, name, expected) in [
            ("ip.proto", "tcp", Some(6)),
            ("ipv6.nxt", "UDP", Some(17)),
            ("tcp.flags.syn", "Set", Some(1)),
            ("tcp.flags.syn", "not set", Some(0)),
            ("tcp.flags.syn", "True", None),
            ("eth.type", "IPv6", Some(0x86dd)),
            ("DNS.flags.response", "Message is a query", Some(0)),
            ("gtp.message", "T-PDU", Some(255)),
            ("pppoe.code", "active discovery initiation (PADI)", Some(9)),
            ("snmp.error_status", "genErr", Some(5)),
            ("arp.proto.type", "IPv4", Some(0x0800)),
            ("tcp.port", "http", None),
            ("tls.handshake.type", "Client Hello", Some(1)),
            ("tls.handshake.type", "Server Hello", None),
        ] {
            assert_eq!(number(field, name), expected, "{field} {name}");
        }
        assert_eq!(hint("tcp.port"), None);
        assert!(hint("tcp.flags.ack").is_some_and(|hint| hint.contains("\"Set\"")));
    }
}
