//! One small frame for each way that headers follow one another.

use std::net::{Ipv4Addr, Ipv6Addr};

use weir_testkit::capture::{Endian, ErfRecord, ErfWriter, erf_type, link_type as link, mc_hdlc};
use weir_testkit::packet::*;

/// A name and bytes.
pub(crate) type Seed = (String, Vec<u8>);

const ONE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const TWO: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const SIX: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const DST: Mac = [2, 0, 0, 0, 0, 2];
const SRC: Mac = [2, 0, 0, 0, 0, 1];

/// The frames with their link types.
pub(crate) fn frames() -> Vec<(u32, Seed)> {
    let query = udp(ONE.into(), TWO.into(), 40_000, 53, b"a question");
    let packet = Ipv4::new(ONE, TWO, protocol::UDP).packet(&query);
    let ether = |ethertype, payload: &[u8]| ethernet_unpadded(DST, SRC, ethertype, payload);
    let plain = ether(ethertype::IPV4, &packet);
    let mut all: Vec<(u32, Seed)> = Vec::new();
    let mut add = |link_type: u16, name: &str, frame: Vec<u8>| {
        all.push((u32::from(link_type), (name.to_owned(), frame)));
    };
    add(link::ETHERNET, "udp", plain.clone());
    let syn = Tcp::new(40_000, 443).flags(tcp_flags::SYN).options(&[
        TcpOption::MaximumSegmentSize(1460),
        TcpOption::Timestamps(1, 2),
        TcpOption::Other(3, vec![7]),
    ]);
    let syn = Ipv4::new(ONE, TWO, protocol::TCP)
        .options(&[0x94, 4, 0, 0])
        .packet(&syn.segment(ONE.into(), TWO.into(), b""));
    add(link::ETHERNET, "tcp_options", ether(ethertype::IPV4, &syn));
    let chunks = [
        Chunk::CookieEcho(vec![1; 8]),
        Chunk::Sack {
            cumulative_tsn: 7,
            window: 1000,
        },
        Chunk::Data {
            tsn: 8,
            stream: 1,
            sequence: 2,
            protocol: 3,
            payload: b"abc".to_vec(),
        },
    ];
    let chunks = sctp(2905, 2905, 0x1234, &chunks);
    let chunks = Ipv4::new(ONE, TWO, protocol::SCTP).packet(&chunks);
    add(
        link::ETHERNET,
        "sctp_in_qinq",
        ether(
            ethertype::SERVICE_VLAN,
            &vlan(
                1,
                100,
                ethertype::VLAN,
                &vlan(2, 200, ethertype::IPV4, &chunks),
            ),
        ),
    );
    let error = icmp(3, 3, [0; 4], &packet[..28]);
    let error = Ipv4::new(TWO, ONE, protocol::ICMP).packet(&error);
    add(link::ETHERNET, "icmp_quote", ether(ethertype::IPV4, &error));
    let six = udp(SIX.into(), SIX.into(), 546, 547, b"hello");
    let six = Ipv6::new(SIX, SIX, protocol::UDP)
        .hop_by_hop(&[5, 2, 0, 0])
        .routing(4, 1, &[SIX])
        .fragment(0, true, 7)
        .destination_options(&[1, 2, 0, 0])
        .packet(&six);
    add(
        link::ETHERNET,
        "ipv6_extensions",
        ether(ethertype::IPV6, &six),
    );
    let echo = icmpv6_echo(SIX, SIX, false, 1, 2, b"echo");
    let echo = Ipv6::new(SIX, SIX, protocol::ICMPV6)
        .authentication(1, 2, [3; 12])
        .packet(&echo);
    add(
        link::ETHERNET,
        "icmpv6_behind_ah",
        ether(ethertype::IPV6, &echo),
    );
    add(
        link::ETHERNET,
        "mpls",
        ether(ethertype::MPLS, &mpls(&[16, 17], 64, &packet)),
    );
    add(
        link::ETHERNET,
        "pppoe",
        ether(ethertype::PPPOE_SESSION, &pppoe_session(1, 0x21, &packet)),
    );
    add(
        link::ETHERNET,
        "arp",
        ether(
            ethertype::ARP,
            &[
                0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0,
                2,
            ],
        ),
    );
    add(link::ETHERNET, "spanning_tree", spanning_tree(SRC, 1));
    let gre = Gre {
        checksum: true,
        key: Some(7),
        sequence: Some(8),
    };
    let gre = Ipv4::new(ONE, TWO, protocol::GRE).packet(&gre.packet(ethertype::IPV6, &six));
    add(link::ETHERNET, "gre", ether(ethertype::IPV4, &gre));
    for (name, port, payload) in [
        ("vxlan", VXLAN_PORT, vxlan(5, &plain)),
        ("gtp", GTP_U_PORT, gtp_u(9, Some(1), &packet)),
        (
            "geneve",
            6081,
            [&[0, 0, 0x65, 0x58, 0, 0, 1, 0], &plain[..]].concat(),
        ),
        (
            "l2tp",
            1701,
            [&[0, 2, 0, 1, 0, 2, 0xff, 3, 0, 0x21], &packet[..]].concat(),
        ),
        ("teredo", 3544, six.clone()),
    ] {
        let tunnel = udp(ONE.into(), TWO.into(), 50_000, port, &payload);
        let tunnel = Ipv4::new(ONE, TWO, protocol::UDP).packet(&tunnel);
        add(link::ETHERNET, name, ether(ethertype::IPV4, &tunnel));
    }
    let inner = Ipv4::new(ONE, TWO, protocol::IPV4).packet(&packet);
    add(link::RAW, "ip_in_ip", inner);
    add(
        link::NULL,
        "null",
        null_loopback(2, Endian::Little, &packet),
    );
    add(link::PPP, "ppp", ppp_hdlc(0x21, &packet));
    add(
        link::CISCO_HDLC,
        "cisco_hdlc",
        cisco_hdlc(ethertype::IPV4, &packet),
    );
    add(
        link::LINUX_SLL,
        "sll",
        linux_cooked(0, SRC, ethertype::IPV4, &packet),
    );
    let relay = FrameRelay::new(100);
    add(link::FRAME_RELAY, "relay_nlpid", relay.ip(&packet));
    add(
        link::FRAME_RELAY,
        "relay_snap",
        relay.snap(ethertype::IPV4, &packet),
    );
    add(
        link::FRAME_RELAY,
        "relay_four_bytes",
        FrameRelay::with_address_bytes(70_000, 4).ipv6(&six),
    );
    add(
        link::FRAME_RELAY,
        "relay_bridged",
        relay.bridged_ethernet(&plain),
    );
    add(
        link::SUNATM,
        "sunatm",
        sun_atm(
            true,
            SunAtmTraffic::Llc,
            0,
            33,
            &aal5_llc(ethertype::IPV4, &packet),
        ),
    );
    add(link::ATM_RFC1483, "rfc1483", llc_pdu());
    let mut writer = ErfWriter::new(Vec::new());
    let record = ErfRecord {
        kind: erf_type::MC_HDLC,
        extensions: &[1],
        multi_channel: Some(mc_hdlc(37, 1)),
        payload: &relay.ip(&packet),
        ..ErfRecord::default()
    };
    writer.record(0, &record).expect("a Vec takes all bytes");
    add(link::ERF, "erf_mc_hdlc", writer.into_inner());
    let beacon = [
        &[0x80, 0, 0, 0][..],
        &[0xff; 6],
        &SRC,
        &SRC,
        &[0, 0],
        &[0; 12],
    ]
    .concat();
    add(105, "wlan_beacon", beacon.clone());
    let data = [
        &[0x08, 1, 0, 0][..],
        &DST,
        &SRC,
        &DST,
        &[0, 0],
        &[0xaa, 0xaa, 3, 0, 0, 0, 8, 0],
        &packet,
    ]
    .concat();
    add(
        127,
        "radiotap",
        [&[0, 0, 9, 0, 2, 0, 0, 0, 0], &data[..]].concat(),
    );
    add(
        276,
        "sll2",
        [
            &[8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0],
            &packet[..],
        ]
        .concat(),
    );
    add(
        239,
        "nflog",
        [
            &[2, 0, 0, 0, 8, 0, 1, 0, 8, 0, 0, 0],
            &(packet.len() as u16 + 4).to_le_bytes()[..],
            &[9, 0],
            &packet,
        ]
        .concat(),
    );
    all
}

/// IP over LLC and SNAP, as an AAL5 PDU carries it.
pub(crate) fn llc_pdu() -> Vec<u8> {
    let query = udp(
        ONE.into(),
        TWO.into(),
        40_000,
        53,
        b"a question in several cells",
    );
    aal5_llc(
        ethertype::IPV4,
        &Ipv4::new(ONE, TWO, protocol::UDP).packet(&query),
    )
}

/// The same with its trailer.
pub(crate) fn aal5_pdu() -> Vec<u8> {
    aal5_unit(&llc_pdu(), 0)
}
