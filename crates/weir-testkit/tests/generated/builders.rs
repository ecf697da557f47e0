//! Every builder's packet, as tshark sees it: recognised, whole, and with good checksums.

use crate::oracle;
use crate::scratch::Scratch;
use std::net::{Ipv4Addr, Ipv6Addr};
use weir_testkit::capture::{
    Endian, ErfRecord, ErfWriter, Interface, PcapVariant, PcapWriter, PcapngWriter, erf_flags,
    erf_type, link_type, mc_atm, mc_hdlc,
};
use weir_testkit::packet::*;

const A: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const B: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const A6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
const B6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2);
const MAC_A: Mac = [2, 0, 0, 0, 0, 1];
const MAC_B: Mac = [2, 0, 0, 0, 0, 2];

fn v4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    Ipv4::new(A, B, protocol).packet(payload)
}

fn datagram() -> Vec<u8> {
    udp(A.into(), B.into(), 40_000, 7_777, b"some words")
}

fn ip() -> Vec<u8> {
    v4(protocol::UDP, &datagram())
}

fn ip6(header: Ipv6) -> Vec<u8> {
    header.packet(&udp(A6.into(), B6.into(), 40_000, 7_777, b"some words"))
}

fn ether(kind: u16, payload: &[u8]) -> Vec<u8> {
    ethernet(MAC_B, MAC_A, kind, payload)
}

/// Link type, frame, and a filter that the frame must pass.
fn gallery() -> Vec<(u16, Vec<u8>, &'static str)> {
    let mut all = ethernet_gallery();
    all.extend(ip_gallery());
    all.extend(other_links());
    all
}

fn ethernet_gallery() -> Vec<(u16, Vec<u8>, &'static str)> {
    let tagged = vlan(5, 20, ethertype::IPV4, &ip());
    let e = link_type::ETHERNET;
    vec![
        (
            e,
            ether(ethertype::IPV4, &ip()),
            "eth && udp.dstport == 7777 && eth.padding",
        ),
        (
            e,
            ethernet_unpadded(MAC_B, MAC_A, ethertype::IPV4, &ip()),
            "udp && !eth.padding",
        ),
        (
            e,
            ether(ethertype::VLAN, &tagged),
            "vlan.id == 20 && vlan.priority == 5 && udp",
        ),
        (
            e,
            ether(
                ethertype::SERVICE_VLAN,
                &vlan(0, 300, ethertype::VLAN, &tagged),
            ),
            "ieee8021ad.id == 300 && vlan.id == 20 && udp",
        ),
        (
            e,
            ieee_802_3(MAC_B, MAC_A, &llc_snap([0; 3], ethertype::IPV4, &ip())),
            "eth.len && llc.type == 0x0800 && udp",
        ),
        (
            e,
            ieee_802_3(
                MAC_B,
                MAC_A,
                &llc(0x42, 0x42, 3, &spanning_tree(MAC_A, 0x8001)),
            ),
            "stp.port == 0x8001",
        ),
        (
            e,
            ether(ethertype::MPLS, &mpls(&[16, 1_048_575], 9, &ip())),
            "mpls.label == 1048575 && mpls.ttl == 9 && udp",
        ),
        (
            e,
            ether(ethertype::PPPOE_SESSION, &pppoe_session(7, 0x21, &ip())),
            "pppoe.session_id == 7 && udp",
        ),
        (
            e,
            ether(ethertype::ARP, &arp(1, (MAC_A, A), ([0; 6], B))),
            "arp.opcode == 1 && arp.dst.proto_ipv4 == 192.0.2.2",
        ),
    ]
}

fn ip_gallery() -> Vec<(u16, Vec<u8>, &'static str)> {
    let raw = link_type::RAW;
    let syn = Tcp::new(40_000, 443)
        .numbers(7, 9)
        .flags(tcp_flags::SYN | tcp_flags::ACK)
        .options(&[
            TcpOption::MaximumSegmentSize(1_400),
            TcpOption::SackPermitted,
            TcpOption::Timestamps(1, 2),
            TcpOption::WindowScale(7),
            TcpOption::Sack(vec![(5, 6)]),
            TcpOption::Other(34, vec![1, 2, 3, 4]),
        ]);
    let urgent = Tcp::new(1, 2)
        .flags(tcp_flags::ACK | tcp_flags::URG)
        .urgent(3)
        .window(77);
    let fragments = Ipv4::new(A, B, protocol::UDP)
        .identification(5)
        .fragments(&datagram(), 28);
    let tail = fragments.last().cloned().unwrap_or_default();
    let v6 = || Ipv6::new(A6, B6, protocol::UDP);
    let inner6 = ip6(v6());
    let association = Chunk::Init(Initiation {
        tag: 5,
        tsn: 6,
        addresses: vec![A, B],
    });
    let data = Chunk::Data {
        tsn: 1,
        stream: 2,
        sequence: 3,
        protocol: 0,
        payload: vec![9; 5],
    };
    let mut list = vec![
        (
            raw,
            v4(protocol::TCP, &syn.segment(A.into(), B.into(), b"")),
            "tcp.options.mss_val == 1400 && tcp.options.wscale.shift == 7 && tcp.options.sack.count == 1 && tcp.option_kind == 34",
        ),
        (
            raw,
            v4(protocol::TCP, &urgent.segment(A.into(), B.into(), b"odd")),
            "tcp.urgent_pointer == 3 && tcp.window_size_value == 77 && tcp.len == 3",
        ),
        (
            raw,
            Ipv4::new(A, B, protocol::UDP)
                .options(&[7, 7, 4, 0, 0, 0, 0])
                .packet(&datagram()),
            "ip.hdr_len == 28 && ip.opt.type == 7 && udp",
        ),
        (
            raw,
            Ipv4::new(A, B, protocol::UDP)
                .service(0xb8)
                .ttl(3)
                .dont_fragment()
                .packet(&datagram()),
            "ip.dsfield.dscp == 46 && ip.ttl == 3 && ip.flags.df == 1",
        ),
        (raw, tail, "ip.frag_offset == 2 && ip.flags.mf == 0"),
        (
            raw,
            v4(protocol::UDP, &udp_unchecked(1, 2, b"x")),
            "udp.checksum == 0",
        ),
        (
            raw,
            v4(protocol::ICMP, &icmp_echo(false, 1, 2, b"x")),
            "icmp.type == 8 && icmp.seq == 2",
        ),
        (
            raw,
            v4(protocol::ICMP, &icmp(3, 1, [0; 4], &ip()[..28])),
            "icmp.type == 3 && udp",
        ),
        (
            raw,
            v4(protocol::SCTP, &sctp(5_000, 5_001, 0, &[association])),
            "sctp.chunk_type == 1 && sctp.parameter_ipv4_address == 192.0.2.1",
        ),
        (
            raw,
            v4(
                protocol::SCTP,
                &sctp(
                    5_000,
                    5_001,
                    1,
                    &[
                        Chunk::Sack {
                            cumulative_tsn: 4,
                            window: 5,
                        },
                        data,
                    ],
                ),
            ),
            "sctp.chunk_type == 3 && sctp.data_tsn_raw == 1",
        ),
        (
            raw,
            v4(
                protocol::GRE,
                &Gre {
                    checksum: true,
                    key: Some(5),
                    sequence: Some(6),
                }
                .packet(ethertype::IPV4, &ip()),
            ),
            "gre.key == 5 && gre.checksum && udp",
        ),
        (
            raw,
            v4(
                protocol::GRE,
                &Gre::default().packet(ethertype::BRIDGED_ETHERNET, &ether(ethertype::IPV4, &ip())),
            ),
            "gre && eth && udp",
        ),
        (raw, v4(protocol::IPV4, &ip()), "ip.proto == 4 && udp"),
        (
            raw,
            v4(protocol::IPV6, &inner6),
            "ip.proto == 41 && ipv6 && udp",
        ),
        (
            raw,
            v4(
                protocol::UDP,
                &udp_unchecked(
                    50_000,
                    VXLAN_PORT,
                    &vxlan(77, &ether(ethertype::IPV4, &ip())),
                ),
            ),
            "vxlan.vni == 77 && udp.dstport == 7777",
        ),
        (
            raw,
            v4(
                protocol::UDP,
                &udp_unchecked(GTP_U_PORT, GTP_U_PORT, &gtp_u(9, None, &ip())),
            ),
            "gtp.teid == 9 && udp.dstport == 7777",
        ),
        (
            raw,
            v4(
                protocol::UDP,
                &udp_unchecked(GTP_U_PORT, GTP_U_PORT, &gtp_u(9, Some(3), &ip())),
            ),
            "gtp.seq_number == 3 && udp.dstport == 7777",
        ),
        (raw, inner6, "ipv6 && udp.dstport == 7777"),
        (
            raw,
            ip6(v6().traffic_class(0xb8).flow_label(5).hop_limit(9)),
            "ipv6.tclass.dscp == 46 && ipv6.flow == 5 && ipv6.hlim == 9",
        ),
        (
            raw,
            ip6(v6().hop_by_hop(&[5, 2, 0, 0]).destination_options(&[])),
            "ipv6.opt.router_alert && ipv6.dstopts && udp",
        ),
        (
            raw,
            ip6(v6()
                .destination_options(&[0x1e, 4, 1, 2, 3, 4])
                .routing(0, 0, &[A6])),
            "ipv6.dstopts && ipv6.routing.type == 0 && udp",
        ),
        (
            raw,
            ip6(v6().routing(2, 0, &[B6])),
            "ipv6.routing.type == 2 && udp",
        ),
        (
            raw,
            ip6(v6().routing(4, 0, &[B6])),
            "ipv6.routing.type == 4 && udp",
        ),
        (
            raw,
            ip6(v6().fragment(0, false, 99)),
            "ipv6.fraghdr.ident == 99 && udp",
        ),
        (
            raw,
            ip6(v6().authentication(1, 2, [3; 12])),
            "ah.spi == 1 && udp",
        ),
        (
            raw,
            Ipv6::new(A6, B6, protocol::ICMPV6).packet(&icmpv6_echo(A6, B6, true, 1, 2, b"x")),
            "icmpv6.type == 129",
        ),
        (
            raw,
            Ipv6::new(A6, B6, protocol::ICMPV6)
                .hop_limit(255)
                .packet(&neighbour(A6, B6, true, A6, MAC_A)),
            "icmpv6.nd.na.flag.s == 1 && icmpv6.opt.linkaddr == 02:00:00:00:00:01",
        ),
        (
            raw,
            Ipv6::new(A6, B6, protocol::NO_NEXT_HEADER).packet(&[]),
            "ipv6.nxt == 59",
        ),
    ];
    for (chunk, filter) in [
        (
            Chunk::InitAck(
                Initiation {
                    tag: 5,
                    tsn: 6,
                    addresses: vec![],
                },
                vec![7; 9],
            ),
            "sctp.chunk_type == 2 && sctp.parameter_state_cookie",
        ),
        (Chunk::Heartbeat(vec![1; 7]), "sctp.chunk_type == 4"),
        (Chunk::HeartbeatAck(vec![1; 7]), "sctp.chunk_type == 5"),
        (Chunk::Shutdown(8), "sctp.shutdown_cumulative_tsn_ack == 8"),
        (Chunk::ShutdownAck, "sctp.chunk_type == 8"),
        (Chunk::CookieEcho(vec![7; 9]), "sctp.cookie"),
        (Chunk::CookieAck, "sctp.chunk_type == 11"),
        (Chunk::ShutdownComplete, "sctp.chunk_type == 14"),
        (
            Chunk::Other(0xc0, 0, vec![0, 0, 0, 1]),
            "sctp.chunk_type == 0xc0",
        ),
    ] {
        list.push((
            raw,
            v4(protocol::SCTP, &sctp(5_000, 5_001, 1, &[chunk])),
            filter,
        ));
    }
    list
}

fn other_links() -> Vec<(u16, Vec<u8>, &'static str)> {
    let fr = link_type::FRAME_RELAY;
    let (two, three, four) = (
        FrameRelay {
            discard_eligible: true,
            command: true,
            ..FrameRelay::new(1_007)
        },
        FrameRelay {
            forward_congestion: true,
            ..FrameRelay::with_address_bytes(65_535, 3)
        },
        FrameRelay {
            backward_congestion: true,
            ..FrameRelay::with_address_bytes(8_388_607, 4)
        },
    );
    let status = Lmi::Status {
        send: 3,
        received: 4,
        circuits: &[(16, true), (991, false)],
    };
    let question = Lmi::StatusEnquiry {
        full: false,
        send: 3,
        received: 4,
    };
    vec![
        (
            link_type::LINUX_SLL,
            linux_cooked(4, MAC_A, ethertype::IPV4, &ip()),
            "sll.pkttype == 4 && udp",
        ),
        (
            link_type::LINUX_SLL2,
            linux_cooked_v2(4, 3, MAC_A, ethertype::IPV4, &ip()),
            "sll.ifindex == 3 && udp",
        ),
        (
            link_type::NULL,
            null_loopback(2, Endian::Little, &ip()),
            "null.family == 2 && udp",
        ),
        (link_type::LOOP, null_loopback(2, Endian::Big, &ip()), "udp"),
        (
            link_type::PPP,
            ppp_hdlc(0x21, &ip()),
            "ppp.protocol == 0x0021 && udp",
        ),
        (
            link_type::PPP,
            ppp(0x57, &ip6(Ipv6::new(A6, B6, protocol::UDP))),
            "ppp.protocol == 0x0057 && udp",
        ),
        (link_type::PPP_HDLC, ppp_hdlc(0x21, &ip()), "ppp && udp"),
        (
            link_type::CISCO_HDLC,
            cisco_hdlc(ethertype::IPV4, &ip()),
            "chdlc.protocol == 0x0800 && udp",
        ),
        (
            fr,
            two.ip(&ip()),
            "fr.dlci == 1007 && fr.de == 1 && fr.cr == 1 && fr.nlpid == 0xcc && udp",
        ),
        (
            fr,
            three.ip(&ip()),
            "fr.dlci == 65535 && fr.fecn == 1 && udp",
        ),
        (
            fr,
            four.ip(&ip()),
            "fr.dlci == 8388607 && fr.becn == 1 && udp",
        ),
        (
            fr,
            two.ipv6(&ip6(Ipv6::new(A6, B6, protocol::UDP))),
            "fr.nlpid == 0x8e && udp",
        ),
        (
            fr,
            two.snap(ethertype::IPV4, &ip()),
            "fr.snaptype == 0x0800 && udp",
        ),
        (
            fr,
            two.cisco(ethertype::IPV4, &ip()),
            "fr.chdlctype == 0x0800 && udp",
        ),
        (
            fr,
            two.bridged_ethernet(&ether(ethertype::IPV4, &ip())),
            "fr && eth && udp",
        ),
        (
            fr,
            two.nlpid(nlpid::PPP, &ppp(0x21, &ip())),
            "fr && ppp && udp",
        ),
        (
            fr,
            FrameRelay::lmi(&status),
            "q933.message_type == 0x7d && q933.report_type == 0",
        ),
        (
            fr,
            FrameRelay::lmi(&question),
            "q933.message_type == 0x75 && q933.report_type == 1",
        ),
        (
            link_type::ATM_RFC1483,
            aal5_llc(ethertype::IPV4, &ip()),
            "llc.type == 0x0800 && udp",
        ),
        (
            link_type::ATM_RFC1483,
            aal5_bridged_ethernet(&ether(ethertype::IPV4, &ip())),
            "llc && eth && udp",
        ),
        (
            link_type::ATM_RFC1483,
            aal5_iso(nlpid::IPV4, &ip()),
            "llc.dsap == 0xfe",
        ),
        (
            link_type::SUNATM,
            sun_atm(
                true,
                SunAtmTraffic::Llc,
                3,
                100,
                &aal5_llc(ethertype::IPV4, &ip()),
            ),
            "atm.vpi == 3 && atm.vci == 100 && udp",
        ),
    ]
}

#[test]
fn tshark_recognises_every_packet() {
    let scratch = Scratch::new("gallery");
    let gallery = gallery();
    let mut writer = PcapngWriter::new(Vec::new(), Endian::Big, &[]).unwrap();
    let mut interfaces = Vec::new();
    for (link, frame, _) in &gallery {
        let index = match interfaces.iter().position(|known| known == link) {
            Some(index) => index as u32,
            None => {
                interfaces.push(*link);
                writer.interface(Interface::new(*link)).unwrap()
            }
        };
        writer
            .packet(
                index,
                1_700_000_000_000_000_000,
                frame.len() as u32,
                frame,
                &[],
            )
            .unwrap();
    }
    let path = scratch.file("gallery.pcapng", &writer.into_inner());
    judge(
        &path,
        &gallery
            .iter()
            .map(|(_, _, filter)| *filter)
            .collect::<Vec<_>>(),
    );
}

#[test]
fn tshark_recognises_every_erf_record() {
    let scratch = Scratch::new("gallery-erf");
    let header = CellHeader::new(2, 100);
    let unit = aal5_unit(&aal5_llc(ethertype::IPV4, &ip()), 0);
    let mut aal5 = header.payload_type(1).bytes().to_vec();
    aal5.extend_from_slice(&unit);
    let cell = header.segment(&unit)[0].to_vec();
    let frame = FrameRelay::new(100).ip(&ip());
    let varying = erf_flags::VARYING_LENGTH;
    // Type, flags, multi-channel header, extension headers, payload, filter.
    type Row = (u8, u8, Option<u32>, &'static [u64], Vec<u8>, &'static str);
    let records: Vec<Row> = vec![
        (
            erf_type::HDLC,
            varying,
            None,
            &[],
            frame.clone(),
            "erf.types.type == 1 && fr.dlci == 100 && udp",
        ),
        (
            erf_type::ETH,
            varying | 1,
            None,
            &[],
            ether(ethertype::IPV4, &ip()),
            "erf.flags.cap == 1 && eth && udp",
        ),
        (
            erf_type::ATM,
            0,
            None,
            &[],
            cell.clone(),
            "erf.types.type == 3 && atm.vpi == 2 && atm.vci == 100",
        ),
        (
            erf_type::AAL5,
            varying,
            None,
            &[],
            aal5.clone(),
            "erf.types.type == 4 && atm.vci == 100 && atm.aal5t_crc && udp",
        ),
        (
            erf_type::MC_HDLC,
            varying,
            Some(mc_hdlc(37, 0x01)),
            &[],
            frame.clone(),
            "erf.mchdlc.cn == 37 && erf.mchdlc.fcse == 1 && udp",
        ),
        (
            erf_type::MC_ATM,
            0,
            Some(mc_atm(38, 5)),
            &[],
            cell,
            "erf.mcatm.cn == 38 && erf.mcatm.port == 5 && atm.vci == 100",
        ),
        (
            erf_type::MC_AAL5,
            varying,
            Some(mc_atm(39, 6)),
            &[],
            aal5,
            "erf.mcaal5.cn == 39 && erf.mcaal5.port == 6 && udp",
        ),
        (
            erf_type::MC_HDLC,
            varying,
            Some(mc_hdlc(1_023, 0)),
            &[0x0500_0000_0000_0001, 0x0400_0000_0000_002a],
            frame,
            "erf.ehdr.types == 0x05 && erf.ehdr.types == 0x04 && udp",
        ),
    ];
    let mut writer = ErfWriter::new(Vec::new());
    for (kind, flags, multi_channel, extensions, payload, _) in &records {
        let record = ErfRecord {
            kind: *kind,
            flags: *flags,
            multi_channel: *multi_channel,
            extensions,
            payload,
            ..ErfRecord::default()
        };
        writer.record(1_700_000_000_123_456_789, &record).unwrap();
    }
    let path = scratch.file("gallery.erf", &writer.into_inner());
    judge(
        &path,
        &records.iter().map(|record| record.5).collect::<Vec<_>>(),
    );
}

#[test]
fn tshark_reads_every_kind_of_pcap() {
    let frame = ether(ethertype::IPV4, &ip());
    let scratch = Scratch::new("pcaps");
    let micro = "frame.time_epoch == 1700000000.123456000 && udp";
    let nano = "frame.time_epoch == 1700000000.123456789 && udp";
    for endian in [Endian::Little, Endian::Big] {
        for (variant, filter) in [
            (PcapVariant::Micro, micro),
            (PcapVariant::Nano, nano),
            (PcapVariant::Modified, micro),
        ] {
            let mut writer =
                PcapWriter::new(Vec::new(), link_type::ETHERNET, 65_535, variant, endian).unwrap();
            for _ in 0..3 {
                writer
                    .packet(1_700_000_000_123_456_789, 60, &frame)
                    .unwrap();
            }
            let path = scratch.file(
                &format!("{variant:?}-{endian:?}.pcap"),
                &writer.into_inner(),
            );
            judge(&path, &[filter; 3]);
        }
    }
}

#[test]
fn tshark_reads_every_block_of_pcapng() {
    let frame = ether(ethertype::IPV4, &ip());
    let scratch = Scratch::new("blocks");
    let time_ns = 1_700_000_000_123_456_789;
    for endian in [Endian::Little, Endian::Big] {
        let mut writer = PcapngWriter::new(Vec::new(), endian, &[(1, b"first section")]).unwrap();
        let mut nano = Interface::new(link_type::ETHERNET).name("nano");
        nano.resolution = Some(9);
        nano.offset_s = Some(1_000_000_000);
        let mut binary = Interface::new(link_type::ETHERNET);
        binary.resolution = Some(0x80 | 20);
        binary.snaplen = 50;
        writer
            .interface(Interface::new(link_type::ETHERNET))
            .unwrap();
        writer.interface(nano).unwrap();
        writer.interface(binary).unwrap();
        writer
            .names(&[(A.into(), "a.example"), (A6.into(), "a6.example")])
            .unwrap();
        writer.secrets(b"CLIENT_RANDOM 00 00\n").unwrap();
        writer.block(0x0000_0bed, b"an unknown block").unwrap();
        writer
            .packet(0, time_ns, 60, &frame, &[(1, b"a comment")])
            .unwrap();
        writer.packet(1, time_ns, 60, &frame, &[]).unwrap();
        writer.packet(2, time_ns, 60, &frame, &[]).unwrap();
        writer.obsolete_packet(0, 3, time_ns, 60, &frame).unwrap();
        writer.simple_packet(60, &frame).unwrap();
        writer.statistics(0, time_ns, 5, 0).unwrap();
        // A second section in the other byte order, with a link type of its own.
        let other = if endian == Endian::Little {
            Endian::Big
        } else {
            Endian::Little
        };
        writer.section(other, &[]).unwrap();
        writer.interface(Interface::new(link_type::RAW)).unwrap();
        writer
            .packet(0, time_ns, ip().len() as u32, &ip(), &[])
            .unwrap();
        assert_eq!(writer.records(), 6);
        let path = scratch.file(&format!("{endian:?}.pcapng"), &writer.into_inner());
        judge(
            &path,
            &[
                "frame.comment == \"a comment\" && frame.time_epoch == 1700000000.123456000 && udp",
                "frame.interface_name == \"nano\" && frame.time_epoch == 1700000000.123456789 && udp",
                "frame.cap_len == 50 && frame.time_epoch > 1700000000.123455 && frame.time_epoch < 1700000000.123457",
                "frame.time_epoch == 1700000000.123456000 && udp",
                "udp && frame.len == 60 && !frame.comment",
                "raw && udp",
            ],
        );
    }
}

/// Every record passes its filter, and is neither damaged (unless it is cut) nor has a bad checksum;
/// and there are no more records.
fn judge(path: &std::path::Path, filters: &[&str]) {
    let mut question = vec![format!("frame.number > {}", filters.len())];
    for (number, filter) in (1..).zip(filters) {
        question.push(format!("(frame.number == {number} && ({filter}))"));
    }
    let damaged = format!("({}) && frame.cap_len == frame.len", oracle::DAMAGED);
    let wrong = format!("({damaged}) || {}", oracle::BAD_CHECKSUM);
    // One run for everything: a start of tshark takes longer than its work.
    let question = format!("({}) && !({wrong})", question.join(" || "));
    let Some(passed) = oracle::matching(path, &question) else {
        return;
    };
    let failed: Vec<_> = (1..)
        .zip(filters)
        .filter(|(number, _)| !passed.contains(number))
        .collect();
    assert!(failed.is_empty(), "{}: {failed:#?}", path.display());
    assert_eq!(passed.len(), filters.len(), "{}: records", path.display());
}
