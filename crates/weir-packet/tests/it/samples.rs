//! Sample packets, with their protocols and columns.

use crate::common::{ethernet, ipv4, ipv4_with, ipv6, join, tcp, udp, unhex};

/// A packet of the table.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) link: u32,
    pub(crate) bytes: Vec<u8>,
    /// The protocols, as `frame.layers` writes them.
    pub(crate) layers: &'static str,
    /// Columns and their values as text.
    pub(crate) fields: &'static [(&'static str, &'static str)],
}

/// One packet of every protocol of IP and above.
pub(crate) fn samples() -> Vec<Sample> {
    let quoted = ipv4(6, &tcp(&[], b""));
    let small = || ipv4(17, &udp(5000, 6000, b"inner"));
    let small6 = || ipv6(17, &udp(5000, 6000, b"inner"));
    let over_udp = |port, payload: &[u8]| ethernet(0x0800, &ipv4(17, &udp(50_000, port, payload)));
    let over_ip = |protocol, payload: &[u8]| ethernet(0x0800, &ipv4(protocol, payload));
    let over_ipv6 = |next, payload: &[u8]| ethernet(0x86dd, &ipv6(next, payload));
    let sample = |name, bytes, layers, fields| Sample {
        name,
        link: 1,
        bytes,
        layers,
        fields,
    };
    vec![
        sample(
            "arp request",
            ethernet(
                0x0806,
                &unhex("0001 0800 06 04 0001 020000000001 0a000001 000000000000 0a000002"),
            ),
            "eth:arp",
            &[
                ("arp.hw.type", "1"),
                ("arp.proto.type", "2048"),
                ("arp.opcode", "1"),
                ("arp.src.hw_mac", "02:00:00:00:00:01"),
                ("arp.src.proto_ipv4", "10.0.0.1"),
                ("arp.dst.proto_ipv4", "10.0.0.2"),
            ],
        ),
        sample(
            "arp over atm",
            ethernet(
                0x0806,
                &unhex("0013 0800 14 00 0008 04 14 00 04 0101010101010101010101010101010101010101 0a000001
                        0202020202020202020202020202020202020202 0a000002"),
            ),
            "eth:arp",
            &[
                ("arp.hw.type", "19"),
                ("arp.opcode", "8"),
                ("arp.src.proto_ipv4", "10.0.0.1"),
                ("arp.dst.proto_ipv4", "10.0.0.2"),
            ],
        ),
        sample(
            "ipv4 with options, and tcp with options",
            ethernet(
                0x0800,
                &ipv4_with(
                    6,
                    0x4000,
                    &unhex("94 04 0000"),
                    &tcp(
                        &unhex("0204 05b4 0402 080a 11121314 21222324 01 03 03 07"),
                        b"hello",
                    ),
                ),
            ),
            "eth:ip:tcp",
            &[
                ("ip.version", "4"),
                ("ip.hdr_len", "24"),
                ("ip.dsfield.dscp", "46"),
                ("ip.dsfield.ecn", "1"),
                ("ip.len", "69"),
                ("ip.id", "4660"),
                ("ip.flags", "2"),
                ("ip.flags.df", "true"),
                ("ip.ttl", "63"),
                ("ip.proto", "6"),
                ("ip.checksum_ok", "true"),
                ("ip.src", "10.0.0.1"),
                ("ip.dst", "10.0.0.2"),
                ("ip.opt.type", "148"),
                ("ip.opt.type.copy", "true"),
                ("ip.opt.type.number", "20"),
                ("ip.opt.ra", "0"),
                ("tcp.srcport", "40000"),
                ("tcp.dstport", "80"),
                ("tcp.seq_raw", "16909060"),
                ("tcp.ack_raw", "84281096"),
                ("tcp.hdr_len", "40"),
                ("tcp.len", "5"),
                ("tcp.flags", "18"),
                ("tcp.flags.syn", "true"),
                ("tcp.flags.fin", "false"),
                ("tcp.flags.str", "·······A··S·"),
                ("tcp.window_size_value", "1024"),
                ("tcp.option_kind", "2"),
                ("tcp.options.mss_val", "1460"),
                ("tcp.options.sack_perm", "0402"),
                ("tcp.options.timestamp.tsval", "286397204"),
                ("tcp.options.timestamp.tsecr", "555885348"),
                ("tcp.options.wscale.shift", "7"),
                ("tcp.payload", "68656c6c6f"),
                ("addr.src", "10.0.0.1"),
                ("port.dst", "80"),
                ("proto", "tcp"),
            ],
        ),
        sample(
            "ipv6 and udp",
            over_ipv6(17, &udp(5000, 53, b"hello")),
            "eth:ipv6:udp",
            &[
                ("ip.version", "6"),
                ("ipv6.version", "6"),
                ("ipv6.tclass", "185"),
                ("ipv6.tclass.dscp", "46"),
                ("ipv6.tclass.ecn", "1"),
                ("ipv6.flow", "74565"),
                ("ipv6.plen", "13"),
                ("ipv6.nxt", "17"),
                ("ipv6.hlim", "62"),
                ("ipv6.src", "2001:db8::1"),
                ("ipv6.dst", "2001:db8::2"),
                ("udp.srcport", "5000"),
                ("udp.dstport", "53"),
                ("udp.length", "13"),
                ("udp.payload", "68656c6c6f"),
                ("addr.dst", "2001:db8::2"),
                ("port.src", "5000"),
                ("proto", "udp"),
            ],
        ),
        sample(
            "all extension headers of ipv6",
            over_ipv6(
                0,
                &join(&[
                    &unhex("2b 00 0502 0000 0100"),
                    &unhex("3c 02 04 01 00 00 0000 20010db8000000000000000000000009"),
                    &unhex("2c 00 0401 0500 0000"),
                    &unhex("33 00 0001 0000002a"),
                    &unhex("8c 02 0000 00000100 00000002 deadbeef"),
                    &unhex("11 00 8000 0000 0000"),
                    &udp(5000, 53, b""),
                ]),
            ),
            "eth:ipv6:ipv6.hopopts:ipv6.routing:ipv6.dstopts:ipv6.fraghdr:ah:shim6:udp",
            &[
                ("ipv6.hopopts.nxt", "43"),
                ("ipv6.hopopts.len_oct", "8"),
                ("ipv6.opt.type", "5"),
                ("ipv6.opt.router_alert", "0"),
                ("ipv6.opt.tel", "5"),
                ("ipv6.routing.type", "4"),
                ("ipv6.routing.segleft", "1"),
                ("ipv6.routing.srh.addr", "2001:db8::9"),
                ("ipv6.dstopts.nxt", "44"),
                ("ipv6.fraghdr.nxt", "51"),
                ("ipv6.fraghdr.offset", "0"),
                ("ipv6.fraghdr.more", "true"),
                ("ipv6.fraghdr.ident", "42"),
                ("ah.spi", "256"),
                ("ah.sequence", "2"),
                ("ah.icv", "deadbeef"),
                ("shim6.p", "true"),
                ("port.src", "5000"),
                ("proto", "udp"),
            ],
        ),
        sample(
            "a later fragment",
            ethernet(0x0800, &ipv4_with(6, 0x2003, &[], b"abcdefgh")),
            "eth:ip",
            &[
                ("ip.flags.mf", "true"),
                ("ip.frag_offset", "3"),
                ("proto", "tcp"),
            ],
        ),
        sample(
            "a later fragment of ipv6",
            over_ipv6(44, &join(&[&unhex("06 00 0018 00000007"), b"abcdefgh"])),
            "eth:ipv6:ipv6.fraghdr",
            &[
                ("ipv6.fraghdr.offset", "3"),
                ("ipv6.fraghdr.more", "false"),
                ("proto", "tcp"),
            ],
        ),
        sample(
            "segmentation offload",
            {
                let mut packet = ipv4(6, &tcp(&[], b"hello"));
                packet[2..4].copy_from_slice(&[0, 0]);
                ethernet(0x0800, &packet)
            },
            "eth:ip:tcp",
            &[("ip.len", "45"), ("tcp.len", "5")],
        ),
        sample(
            "icmp echo",
            over_ip(1, &unhex("08 00 0000 0102 0304 6162")),
            "eth:ip:icmp",
            &[
                ("icmp.type", "8"),
                ("icmp.code", "0"),
                ("icmp.ident", "258"),
                ("icmp.ident_le", "513"),
                ("icmp.seq", "772"),
                ("icmp.seq_le", "1027"),
                ("proto", "icmp"),
            ],
        ),
        sample(
            "icmp error in ipv6 over ipv4, with a quote that fills the slots that are free",
            over_ipv6(
                4,
                &ipv4(1, &join(&[&unhex("03 04 0000 0000 05dc"), &quoted[..28]])),
            ),
            "eth:ipv6:ip:icmp:tcp",
            &[
                ("icmp.type", "3"),
                ("icmp.mtu", "1500"),
                ("tcp.srcport", "40000"),
                ("tcp.seq_raw", "16909060"),
                ("ip.proto", "1"),
                ("proto", "ipip"),
            ],
        ),
        sample(
            "icmpv6 error",
            over_ipv6(58, &join(&[&unhex("02 00 0000 00000500"), &small6()[..48]])),
            "eth:ipv6:icmpv6:udp",
            &[
                ("icmpv6.type", "2"),
                ("icmpv6.mtu", "1280"),
                ("udp.srcport", "5000"),
            ],
        ),
        sample(
            "router advertisement",
            over_ipv6(
                58,
                &unhex(
                    "86 00 0000 40 c0 0708 00000001 00000002 0101 020000000001 \
                     0304 40c0 00000001 00000002 00000000 20010db8000000000000000000000000",
                ),
            ),
            "eth:ipv6:icmpv6",
            &[
                ("icmpv6.nd.ra.cur_hop_limit", "64"),
                ("icmpv6.nd.ra.flag", "192"),
                ("icmpv6.nd.ra.router_lifetime", "1800"),
                ("icmpv6.opt.type", "1"),
                ("icmpv6.opt.src_linkaddr", "020000000001"),
                ("icmpv6.opt.prefix.length", "64"),
                ("icmpv6.opt.prefix", "2001:db8::"),
            ],
        ),
        sample(
            "neighbour advertisement",
            over_ipv6(
                58,
                &unhex("88 00 0000 60000000 20010db8000000000000000000000007 0201 020000000009"),
            ),
            "eth:ipv6:icmpv6",
            &[
                ("icmpv6.nd.na.flag.r", "false"),
                ("icmpv6.nd.na.flag.s", "true"),
                ("icmpv6.nd.na.flag.o", "true"),
                ("icmpv6.nd.na.target_address", "2001:db8::7"),
                ("icmpv6.opt.target_linkaddr", "020000000009"),
            ],
        ),
        sample(
            "igmp version 3 report",
            over_ip(2, &unhex("22 00 0000 0000 0001 04 00 0000 e00000fb")),
            "eth:ip:igmp",
            &[
                ("igmp.type", "34"),
                ("igmp.num_grp_recs", "1"),
                ("igmp.record_type", "4"),
                ("igmp.maddr", "224.0.0.251"),
            ],
        ),
        sample(
            "pim register",
            over_ipv6(103, &join(&[&unhex("21 00 0000 00000000"), &small()])),
            "eth:ipv6:pim:ip:udp",
            &[
                ("pim.type", "1"),
                ("ip.src", "10.0.0.1"),
                ("udp.srcport", "5000"),
            ],
        ),
        sample(
            "udp-lite",
            over_ip(136, &unhex("1388 0035 0008 1234 6162")),
            "eth:ip:udplite",
            &[
                ("udp.srcport", "5000"),
                ("udp.checksum_coverage", "8"),
                ("udp.checksum", "4660"),
                ("udp.payload", "6162"),
                ("port.dst", "53"),
                ("proto", "udplite"),
            ],
        ),
        sample(
            "sctp with a sack and data",
            over_ip(
                132,
                &unhex(
                    "0b59 0b5a 00000001 00000000 \
                     03 00 0010 00000005 00010000 0000 0000 \
                     00 03 0013 00000007 0002 0003 0000002e 616263 00",
                ),
            ),
            "eth:ip:sctp",
            &[
                ("sctp.srcport", "2905"),
                ("sctp.verification_tag", "1"),
                ("sctp.chunk_type", "3"),
                ("sctp.chunk_length", "16"),
                ("sctp.sack_cumulative_tsn_ack_raw", "5"),
                ("sctp.sack_a_rwnd", "65536"),
                ("sctp.data_tsn_raw", "7"),
                ("sctp.data_sid", "2"),
                ("sctp.data_ssn", "3"),
                ("sctp.data_payload_proto_id", "46"),
                ("sctp.data_b_bit", "true"),
                ("sctp.data_u_bit", "false"),
                ("port.src", "2905"),
                ("proto", "sctp"),
            ],
        ),
        sample(
            "dccp",
            over_ip(33, &unhex("1388 0035 04 00 0000 01 00 000000000009 6162")),
            "eth:ip:dccp",
            &[
                ("dccp.type", "0"),
                ("dccp.x", "true"),
                ("dccp.seq_raw", "9"),
                ("port.src", "5000"),
            ],
        ),
        sample(
            "esp",
            over_ip(50, &unhex("00000100 00000002 6162636465666768")),
            "eth:ip:esp",
            &[("esp.spi", "256"), ("esp.sequence", "2"), ("proto", "esp")],
        ),
        sample(
            "esp in udp",
            over_udp(4500, &unhex("00000100 00000002 6162")),
            "eth:ip:udp:udpencap:esp",
            &[("esp.spi", "256")],
        ),
        sample(
            "key exchange beside esp in udp",
            over_udp(4500, &unhex("00000000 00000002 6162")),
            "eth:ip:udp:udpencap",
            &[],
        ),
        sample(
            "ip compression",
            over_ip(108, &unhex("06 00 0102 6162")),
            "eth:ip:ipcomp",
            &[("ipcomp.cpi", "258")],
        ),
        sample(
            "mobility",
            over_ipv6(135, &unhex("3b 00 05 00 0000 0000")),
            "eth:ipv6:mipv6",
            &[("mip6.mhtype", "5"), ("proto", "mobility")],
        ),
        sample(
            "hip",
            over_ip(
                139,
                &join(&[&unhex("3b 04 01 21 0000 0000"), &[1; 16], &[2; 16]]),
            ),
            "eth:ip:hip",
            &[
                ("hip.packet_type", "1"),
                ("hip.version", "2"),
                ("proto", "hip"),
            ],
        ),
        sample(
            "gre with checksum, key and sequence number",
            over_ip(
                47,
                &join(&[&unhex("b000 86dd 12340000 00000011 00000022"), &small6()]),
            ),
            "eth:ip:gre:ipv6:udp",
            &[
                ("gre.proto", "34525"),
                ("gre.checksum", "4660"),
                ("gre.key", "17"),
                ("gre.sequence_number", "34"),
                ("ipv6.src", "2001:db8::1"),
                ("addr.src", "10.0.0.1"),
                ("proto", "gre"),
            ],
        ),
        sample(
            "gre with source routes",
            over_ipv6(
                47,
                &join(&[
                    &unhex("4000 0800 00000000 0800 0004 0a000003 0000 0000"),
                    &small(),
                ]),
            ),
            "eth:ipv6:gre:ip:udp",
            &[("gre.flags.routing", "true"), ("ip.dst", "10.0.0.2")],
        ),
        sample(
            "gre of pptp",
            over_ip(
                47,
                &join(&[
                    &unhex("3081 880b 0021 0007 00000001 00000002 ff03 0057"),
                    &small6(),
                ]),
            ),
            "eth:ip:gre:ppp:ipv6:udp",
            &[
                ("gre.flags.version", "1"),
                ("gre.key.payload_length", "33"),
                ("gre.key.call_id", "7"),
                ("gre.sequence_number", "1"),
                ("gre.ack_number", "2"),
            ],
        ),
        sample(
            "erspan type II",
            over_ip(
                47,
                &join(&[
                    &unhex("1000 88be 00000001 1005 2003 00000007"),
                    &ethernet(0x86dd, &small6()),
                ]),
            ),
            "eth:ip:gre:erspan:ipv6:udp",
            &[
                ("erspan.version", "1"),
                ("erspan.vlan", "5"),
                ("erspan.cos", "1"),
                ("erspan.spanid", "3"),
                ("erspan.index", "7"),
            ],
        ),
        sample(
            "etherip",
            over_ip(97, &join(&[&unhex("3000"), &ethernet(0x86dd, &small6())])),
            "eth:ip:etherip:ipv6:udp",
            &[("etherip.ver", "3"), ("udp.dstport", "6000")],
        ),
        sample(
            "vxlan",
            over_udp(
                4789,
                &join(&[&unhex("08000000 00001700"), &ethernet(0x86dd, &small6())]),
            ),
            "eth:ip:udp:vxlan:ipv6",
            &[
                ("vxlan.vni", "23"),
                ("vxlan.flag_i", "true"),
                ("ipv6.hlim", "62"),
                ("udp.dstport", "4789"),
            ],
        ),
        sample(
            "vxlan with another payload",
            over_udp(4790, &join(&[&unhex("0c000002 00001700"), &small6()])),
            "eth:ip:udp:vxlan:ipv6",
            &[("vxlan.vni", "23"), ("vxlan.next_proto", "2")],
        ),
        sample(
            "geneve with options",
            over_udp(
                6081,
                &join(&[
                    &unhex("01 40 6558 00001700 01030000"),
                    &ethernet(0x86dd, &small6()),
                ]),
            ),
            "eth:ip:udp:geneve:ipv6",
            &[
                ("geneve.vni", "23"),
                ("geneve.proto_type", "25944"),
                ("geneve.flags.critical", "true"),
                ("geneve.options", "01030000"),
            ],
        ),
        sample(
            "gtp with an extension header",
            over_udp(
                2152,
                &join(&[
                    &unhex("34 ff 003d 00000011 0000 00 85 01 00 07 00"),
                    &small6(),
                ]),
            ),
            "eth:ip:udp:gtp:ipv6",
            &[
                ("gtp.message", "255"),
                ("gtp.teid", "17"),
                ("gtp.flags.e", "true"),
                ("gtp.ext_hdr.next", "133"),
                ("ipv6.nxt", "17"),
            ],
        ),
        sample(
            "version 2 of gtp has columns of its own",
            over_udp(2123, &unhex("48 20 0008 00000000 00000100")),
            "eth:ip:udp",
            &[],
        ),
        sample(
            "teredo with both indications",
            over_udp(
                3544,
                &join(&[
                    &unhex("0001 00 00 0102030405060708 00 0000 1234 0a000003"),
                    &small6(),
                ]),
            ),
            "eth:ip:udp:teredo:ipv6",
            &[
                ("teredo.auth.nonce", "0102030405060708"),
                ("ipv6.hlim", "62"),
            ],
        ),
        sample(
            "l2tp",
            over_udp(
                1701,
                &join(&[&unhex("4802 0045 0007 0009 0001 0002 ff03 0057"), &small6()]),
            ),
            "eth:ip:udp:l2tp:ppp:ipv6",
            &[
                ("l2tp.type", "0"),
                ("l2tp.tunnel", "7"),
                ("l2tp.session", "9"),
                ("l2tp.ns", "1"),
                ("ipv6.hlim", "62"),
            ],
        ),
        sample(
            "lisp",
            over_udp(4341, &join(&[&unhex("08000000 00000100"), &small6()])),
            "eth:ip:udp:lisp-data:ipv6",
            &[("ipv6.hlim", "62")],
        ),
        sample(
            "ayiya",
            over_udp(
                5072,
                &join(&[
                    &unhex("42 52 11 29 00000001"),
                    &[1; 16],
                    &[2; 20],
                    &small6(),
                ]),
            ),
            "eth:ip:udp:ayiya:ipv6",
            &[("ayiya.opcode", "1"), ("ayiya.nextheader", "41")],
        ),
        sample(
            "tzsp",
            over_udp(
                37_008,
                &join(&[
                    &unhex("01 00 0001 0a01ff 00 01"),
                    &ethernet(0x86dd, &small6()),
                ]),
            ),
            "eth:ip:udp:tzsp:ipv6",
            &[("tzsp.encap", "1"), ("ipv6.hlim", "62")],
        ),
        sample(
            "sflow",
            over_udp(
                6343,
                &join(&[
                    &unhex("00000005 00000001 0a000001 00000000 00000001 00000001 00000002"),
                    &unhex("00000002 00000004 00000000"),
                    &unhex(
                        "00000001 00000064 00000001 00000001 00000001 00000001 00000000 00000001 00000002",
                    ),
                    &unhex("00000001 000003e9 00000004 00000000"),
                    &unhex("00000001 0000004f 00000001 000000ff 00000004 00000043"),
                    &ethernet(0x86dd, &small6()),
                    &[0],
                ]),
            ),
            "eth:ip:udp:sflow",
            &[("sflow_245.version", "5")],
        ),
        sample(
            "multicast tunnel",
            over_udp(2268, &join(&[&unhex("06 00"), &small6()])),
            "eth:ip:udp:amt:ipv6",
            &[("amt.type", "6"), ("ipv6.hlim", "62")],
        ),
        sample(
            "cisco metadata in ethernet",
            ethernet(0x8909, &join(&[&unhex("01 01 0001 0007 86dd"), &small6()])),
            "eth:cmd:ipv6:udp",
            &[("cmd.sgt", "7")],
        ),
        sample(
            "cisco metadata in gre",
            over_ip(47, &join(&[&unhex("0000 8909 86dd 01 01 0001 0007"), &small6()])),
            "eth:ip:gre:cmd:ipv6:udp",
            &[("cmd.sgt", "7")],
        ),
        sample(
            "capwap",
            over_udp(
                5247,
                &join(&[
                    &unhex("00 10 02 00 00 00 0000"),
                    &ethernet(0x86dd, &small6()),
                ]),
            ),
            "eth:ip:udp:capwap.data:ipv6",
            &[("capwap.header.flags.t", "false"), ("ipv6.hlim", "62")],
        ),
        sample(
            "capwap with 802.11 in the byte order of the controllers",
            over_udp(5247, &join(&[&unhex("002043100000000006020000000009 00 0108 2c00 020000000001 020000000002 020000000003 7630 aaaa03 000000 0800"), &small()])),
            "eth:ip:udp:capwap.data:wlan:llc",
            &[
                ("capwap.preamble.version", "0"),
                ("capwap.preamble.type", "0"),
                ("capwap.header.length", "4"),
                ("capwap.header.rid", "1"),
                ("capwap.header.wbid", "1"),
                ("capwap.header.flags", "272"),
                ("capwap.header.flags.t", "true"),
                ("capwap.header.flags.f", "false"),
                ("capwap.header.flags.m", "true"),
                ("capwap.header.flags.k", "false"),
                ("capwap.header.mac.length", "6"),
                ("capwap.header.mac.eui48", "02:00:00:00:00:09"),
                ("wlan.fc.version", "0"),
                ("wlan.fc.type_subtype", "32"),
                ("wlan.fc.tods", "true"),
                ("wlan.fc.fromds", "false"),
                ("wlan.frag", "6"),
                ("wlan.sa", "02:00:00:00:00:02"),
                ("llc.type", "2048"),
                ("udp.dstport", "5247"),
            ],
        ),
        sample(
            "capwap with 802.11 in the byte order of the air",
            over_udp(5247, &join(&[&unhex("002043100000000006020000000009 00 0801 2c00 020000000001 020000000002 020000000003 7630 aaaa03 000000 0800"), &small()])),
            "eth:ip:udp:capwap.data:wlan:llc",
            &[
                ("capwap.preamble.version", "0"),
                ("capwap.preamble.type", "0"),
                ("capwap.header.length", "4"),
                ("capwap.header.rid", "1"),
                ("capwap.header.wbid", "1"),
                ("capwap.header.flags", "272"),
                ("capwap.header.flags.t", "true"),
                ("capwap.header.flags.f", "false"),
                ("capwap.header.flags.m", "true"),
                ("capwap.header.flags.k", "false"),
                ("capwap.header.mac.length", "6"),
                ("capwap.header.mac.eui48", "02:00:00:00:00:09"),
                ("wlan.fc.version", "0"),
                ("wlan.fc.type_subtype", "32"),
                ("wlan.fc.tods", "true"),
                ("wlan.fc.fromds", "false"),
                ("wlan.frag", "6"),
                ("wlan.sa", "02:00:00:00:00:02"),
                ("llc.type", "2048"),
                ("udp.dstport", "5247"),
            ],
        ),
        sample(
            "capwap with what the radio measured",
            over_udp(5247, &join(&[&unhex("002003200000000004c000006c000000 0108 2c00 020000000001 020000000002 020000000003 7630 aaaa03 000000 0800"), &small()])),
            "eth:ip:udp:capwap.data:wlan:llc",
            &[
                ("capwap.header.flags.w", "true"),
                ("capwap.header.wireless.length", "4"),
                ("llc.type", "2048"),
            ],
        ),
        sample(
            "capwap keep-alive",
            over_udp(5247, &join(&[&unhex("00100208 0000 0000 0016 0023 0010"), &[7; 16]])),
            "eth:ip:udp:capwap.data",
            &[
                ("capwap.header.flags.k", "true"),
            ],
        ),
        sample(
            "capwap, a later fragment",
            over_udp(5247, &join(&[&unhex("001003c0 0007 0020 aaaa")])),
            "eth:ip:udp:capwap.data",
            &[
                ("capwap.header.flags.f", "true"),
                ("capwap.header.flags.l", "true"),
                ("capwap.header.fragment.id", "7"),
                ("capwap.header.fragment.offset", "4"),
            ],
        ),
        sample(
            "capwap in dtls",
            over_udp(5247, &join(&[&unhex("01000000 16feff00")])),
            "eth:ip:udp:capwap.data",
            &[
                ("capwap.preamble.type", "1"),
            ],
        ),
        sample(
            "capwap control",
            over_udp(5246, &join(&[&unhex("00200210 0000 0000 06 58 0a 20 69 0e 20 e8 00000001 07 0066 00 0014000100")])),
            "eth:ip:udp:capwap",
            &[
                ("capwap.header.mac.eui48", "58:0a:20:69:0e:20"),
                ("capwap.control.header.message_type", "1"),
                ("capwap.control.header.sequence_number", "7"),
                ("capwap.control.header.message_element_length", "102"),
                ("capwap.control.header.flags", "0"),
            ],
        ),
        sample(
            "capwap control in dtls",
            over_udp(5246, &join(&[&unhex("01000000 16feff00")])),
            "eth:ip:udp:capwap",
            &[
                ("capwap.preamble.type", "1"),
            ],
        ),
        sample(
            "gtp version 0",
            over_udp(3386, &join(&[&unhex("1eff 0035 0005 0009 ff ffffff 42000121436587 09"), &small6()])),
            "eth:ip:udp:gtpprime:ipv6",
            &[
                ("gtp.flags.version", "0"),
                ("gtp.flags.payload", "1"),
                ("gtp.flags.reserved", "7"),
                ("gtp.flags.snn", "false"),
                ("gtp.message", "255"),
                ("gtp.seq_number", "5"),
                ("gtp.flow_label", "9"),
                ("gtp.sndcp_number", "255"),
                ("gtp.tid", "2400101234567890"),
            ],
        ),
        sample(
            "gtp' version 1",
            over_udp(3386, &join(&[&unhex("2ef0 0004 0004 7e01fc00")])),
            "eth:ip:udp:gtpprime",
            &[
                ("gtp.prim.flags.version", "1"),
                ("gtp.flags.payload", "0"),
                ("gtp.flags.reserved", "7"),
                ("gtp.message", "240"),
                ("gtp.length", "4"),
                ("gtp.seq_number", "4"),
            ],
        ),
        sample(
            "gtp' version 0 with a long header",
            over_udp(3386, &join(&[&unhex("0e01 0000 0005 0009 ff ffffff 42000121436587 09")])),
            "eth:ip:udp:gtpprime",
            &[
                ("gtp.prim.flags.version", "0"),
                ("gtp.flags.hdr_length", "false"),
                ("gtp.seq_number", "5"),
            ],
        ),
        sample(
            "gtp' version 0 with a short header",
            over_udp(3386, &join(&[&unhex("0f01 0000 0005")])),
            "eth:ip:udp:gtpprime",
            &[
                ("gtp.flags.hdr_length", "true"),
                ("gtp.seq_number", "5"),
            ],
        ),
        sample(
            "redirect of icmpv6 with the packet that it is about",
            over_ipv6(
                58,
                &join(&[
                    &unhex("8900e3c600000000 fe80000000000000000000000000cafe fe80000000000000000000000000babe"),
                    &unhex("0201 020000000001 0408 000000000000"),
                    &ipv6(17, &udp(30_000, 13_000, b"XXXXXXXX")),
                ]),
            ),
            "eth:ipv6:icmpv6:udp",
            &[
                ("icmpv6.nd.rd.target_address", "fe80::cafe"),
                ("icmpv6.opt.type", "2"),
                ("icmpv6.opt.target_linkaddr", "020000000001"),
                ("udp.srcport", "30000"),
                ("udp.dstport", "13000"),
            ],
        ),
        sample(
            "inverse neighbour discovery of icmpv6",
            over_ipv6(58, &unhex("8d00 0000 00000000 0101 020000000001 0201 020000000002")),
            "eth:ipv6:icmpv6",
            &[
                ("icmpv6.opt.type", "1"),
                ("icmpv6.opt.src_linkaddr", "020000000001"),
                ("icmpv6.opt.target_linkaddr", "020000000002"),
            ],
        ),
        sample(
            "certification path advertisement of icmpv6",
            over_ipv6(58, &unhex("9500 0000 0001 0002 0001 0000 0f01 000000000000")),
            "eth:ipv6:icmpv6",
            &[("icmpv6.opt.type", "15"), ("icmpv6.opt.length", "1")],
        ),
        sample(
            "igmp query of version 3 that waits an hour",
            over_ip(2, &unhex("11fe eb84 00000000 027d 0000")),
            "eth:ip:igmp",
            &[("igmp.max_resp", "30720")],
        ),
        sample(
            "igmp query of version 2 whose time has no exponent",
            over_ip(2, &unhex("11fe 0000 e0000001")),
            "eth:ip:igmp",
            &[("igmp.max_resp", "254")],
        ),
        sample(
            "network service header",
            ethernet(
                0x894f,
                &join(&[&unhex("0fc6 01 01 00001701"), &[0; 16], &small()]),
            ),
            "eth:nsh:ip:udp",
            &[
                ("nsh.ttl", "63"),
                ("nsh.mdtype", "1"),
                ("nsh.spi", "23"),
                ("nsh.si", "1"),
                ("udp.srcport", "5000"),
            ],
        ),
    ]
}
