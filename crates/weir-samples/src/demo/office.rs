//! office.pcapng: an office's network, seen at its switch (`lan0`) and towards its provider
//! (`uplink0`).

mod uplink;

use super::talk::{Pair, Says, TimedPacket, http, smtp, tcp_connection, tls};
use super::{START_NS, arrival_ns, ipv6};
use crate::Rng;
use crate::capture::{Endian, Interface, PcapngWriter, link_type, option_code};
use crate::packet::{
    Ipv4, Ipv6, Mac, arp, ethernet, ethertype, icmp, icmp_echo, icmpv6, icmpv6_echo, ieee_802_3,
    llc, neighbour, protocol, spanning_tree, udp, vlan,
};
use crate::words::{dns, text};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The file and the number of its packets.
pub(super) fn office_pcapng(rng: &mut Rng) -> io::Result<(Vec<u8>, u64)> {
    let mut office = Office {
        rng,
        frames: Vec::new(),
    };
    office.staff();
    office.voice();
    office.small_talk();
    office.errors();
    office.ipv6_extensions();
    office.fragments();
    office.provider();
    office.association();
    office.tunnels();
    let Office { rng, mut frames } = office;
    frames.sort_by_key(|frame| frame.time_ns);
    write(rng, &frames)
}

fn write(rng: &mut Rng, frames: &[TimedFrame]) -> io::Result<(Vec<u8>, u64)> {
    let options: [(u16, &[u8]); 2] = [
        (option_code::SHB_HARDWARE, b"demo switch"),
        (
            option_code::COMMENT,
            b"generated sample, not a real network",
        ),
    ];
    let mut writer = PcapngWriter::new(Vec::new(), Endian::Little, &options)?;
    let mut lan = Interface::new(link_type::ETHERNET).name("lan0");
    lan.snaplen = 65_535;
    lan = lan.option(
        option_code::IF_DESCRIPTION,
        b"mirror port of the office switch",
    );
    let mut uplink = Interface::new(link_type::ETHERNET).name("uplink0");
    uplink.snaplen = 65_535;
    uplink.resolution = Some(9);
    uplink = uplink.option(option_code::IF_SPEED, &1_000_000_000_u64.to_le_bytes());
    writer.interface(lan)?;
    writer.interface(uplink)?;
    writer.names(&[
        (SERVER.into(), "intranet.example.net"),
        (ipv6(SERVER_HOST).into(), "intranet.example.net"),
    ])?;
    let mut cut = 0;
    for frame in frames {
        let wire_len = frame.bytes.len() as u32;
        let mut captured = &frame.bytes[..];
        // A few packets are cut in the middle, some within their headers.
        if captured.len() > 200 && cut < 8 && rng.below(150) == 0 {
            captured = &captured[..[48, 96, 128, 180][cut % 4]];
            cut += 1;
        }
        writer.packet(frame.interface, frame.time_ns, wire_len, captured, &[])?;
    }
    let end_ns = START_NS + 600_000_000_000;
    for interface in [LAN, UPLINK] {
        let received = frames
            .iter()
            .filter(|frame| frame.interface == interface)
            .count();
        writer.statistics(interface, end_ns, received as u64, 0)?;
    }
    let records = writer.records();
    Ok((writer.into_inner(), records))
}

struct TimedFrame {
    time_ns: u64,
    interface: u32,
    bytes: Vec<u8>,
}

struct Office<'a> {
    rng: &'a mut Rng,
    frames: Vec<TimedFrame>,
}

impl Office<'_> {
    fn push(&mut self, time_ns: u64, interface: u32, bytes: Vec<u8>) {
        self.frames.push(TimedFrame {
            time_ns,
            interface,
            bytes,
        });
    }

    /// A packet between a desk and the router, on a VLAN of the office or untagged.
    fn on_lan(&mut self, desk: u8, tag: Option<u16>, sent: &TimedPacket) {
        let kind = ethertype_of(&sent.packet);
        let (kind, payload) = match tag {
            Some(id) => (ethertype::VLAN, vlan(0, id, kind, &sent.packet)),
            None => (kind, sent.packet.clone()),
        };
        let (src, dst) = match sent.from_client {
            true => (desk_mac(desk), ROUTER_MAC),
            false => (ROUTER_MAC, desk_mac(desk)),
        };
        self.push(sent.time_ns, LAN, ethernet(dst, src, kind, &payload));
    }

    /// Desks look up names and fetch pages, over IPv4 and IPv6, VLAN 10 or untagged.
    fn staff(&mut self) {
        const NAMES: [&str; 5] = [
            "www.example.com",
            "intranet.example.net",
            "mail.example.com",
            "files.example.org",
            "nowhere.example.invalid",
        ];
        for index in 0..170_u64 {
            let desk = self.rng.between(10, 40) as u8;
            let tag = if desk.is_multiple_of(3) {
                None
            } else {
                Some(10)
            };
            let over_ipv6 = self.rng.percent(30);
            let (pair, resolver) = if over_ipv6 {
                let client = ipv6(u16::from(desk));
                let server = Ipv6Addr::new(0x2001, 0xdb8, 0x99, 0, 0, 0, 0, 1 + index as u16 % 9);
                (
                    Pair::V6(client, server),
                    Pair::V6(client, ipv6(SERVER_HOST)),
                )
            } else {
                let client = Ipv4Addr::new(192, 168, 10, desk);
                let server = Ipv4Addr::new(198, 51, 100, 1 + (index % 20) as u8);
                (Pair::V4(client, server), Pair::V4(client, SERVER))
            };
            let start_ns = arrival_ns(self.rng);
            let name = *self.rng.pick(&NAMES);
            let answers = if name.ends_with("invalid") {
                0
            } else {
                1 + (index % 3) as u16
            };
            let (question, answer) = dns(self.rng, name, over_ipv6, answers);
            let dns_ports = (self.rng.between(1_024, 65_535) as u16, 53);
            let mark = self.rng.next_u16();
            let query = resolver.udp(mark, dns_ports, &question);
            let reply = resolver
                .turned()
                .udp(mark, (dns_ports.1, dns_ports.0), &answer);
            let reply_ns = start_ns + self.rng.between(300_000, 20_000_000);
            self.on_lan(desk, tag, &TimedPacket::up(start_ns, query));
            self.on_lan(desk, tag, &TimedPacket::down(reply_ns, reply));
            if answers == 0 {
                continue;
            }
            let (port, says) = self.application(name);
            let ports = (self.rng.between(32_768, 60_999) as u16, port);
            let round_trip_ns = self.rng.between(2_000_000, 45_000_000);
            let begin_ns = reply_ns + 400_000;
            let rng = &mut *self.rng;
            for sent in tcp_connection(rng, begin_ns, pair, ports, round_trip_ns, &says) {
                self.on_lan(desk, tag, &sent);
            }
        }
    }

    fn application(&mut self, name: &str) -> (u16, Vec<Says>) {
        let body_bytes = self.rng.between(300, 6_000) as usize;
        match self.rng.below(10) {
            0..6 => (443, tls(self.rng, 3, 4_000)),
            6..9 => (80, http(self.rng, name, body_bytes)),
            _ => (25, smtp(self.rng, 20)),
        }
    }

    /// Telephone calls on VLAN 20: 160 bytes of sound each way, fifty times a second.
    fn voice(&mut self) {
        for call in 0..4_u8 {
            let start_ns = arrival_ns(self.rng);
            let phone = Ipv4Addr::new(192, 168, 20, 50 + call);
            let pair = Pair::V4(phone, Ipv4Addr::new(203, 0, 113, 20 + call));
            let ports = (16_384 + u16::from(call) * 2, 30_000 + u16::from(call) * 2);
            let source = self.rng.next_u32();
            for packet in 0..120_u16 {
                for from_client in [true, false] {
                    // RTP: version 2, PCMU, sequence, timestamp, source (RFC 3550 section 5.1).
                    let mut sound = vec![0x80, 0x00];
                    sound.extend_from_slice(&packet.to_be_bytes());
                    sound.extend_from_slice(&(u32::from(packet) * 160).to_be_bytes());
                    sound.extend_from_slice(&(source ^ u32::from(from_client)).to_be_bytes());
                    sound.extend_from_slice(&self.rng.bytes(160));
                    let (pair, ports) = match from_client {
                        true => (pair, ports),
                        false => (pair.turned(), (ports.1, ports.0)),
                    };
                    let jitter_ns = self.rng.below(800_000);
                    let time_ns = start_ns + u64::from(packet) * 20_000_000 + jitter_ns;
                    let datagram = udp(pair.src(), pair.dst(), ports.0, ports.1, &sound);
                    let packet = match pair {
                        // Expedited forwarding.
                        Pair::V4(src, dst) => Ipv4::new(src, dst, protocol::UDP)
                            .service(0xb8)
                            .packet(&datagram),
                        Pair::V6(..) => pair.ip(protocol::UDP, 0, &datagram),
                    };
                    let payload = vlan(5, 20, ethertype::IPV4, &packet);
                    let (src, dst) = match from_client {
                        true => (desk_mac(100 + call), ROUTER_MAC),
                        false => (ROUTER_MAC, desk_mac(100 + call)),
                    };
                    self.push(time_ns, LAN, ethernet(dst, src, ethertype::VLAN, &payload));
                }
            }
        }
    }

    /// ARP, neighbour discovery, spanning tree, time, pings, group membership.
    fn small_talk(&mut self) {
        for _ in 0..60 {
            let desk = self.rng.between(10, 40) as u8;
            let time_ns = arrival_ns(self.rng);
            self.address_resolution(desk, time_ns);
            self.neighbour_discovery(desk, time_ns);
        }
        for second in 0..300_u64 {
            let tree = llc(0x42, 0x42, 0x03, &spanning_tree(ROUTER_MAC, 0x8001));
            let frame = ieee_802_3([1, 0x80, 0xc2, 0, 0, 0], ROUTER_MAC, &tree);
            self.push(START_NS + second * 2_000_000_000 + 73_000, LAN, frame);
        }
        for sequence in 0..100_u16 {
            self.pings(sequence);
        }
        for minute in 0..10_u64 {
            self.clocks(minute);
            self.membership(minute);
        }
    }

    /// A desk asks for the router's address, and is answered.
    fn address_resolution(&mut self, desk: u8, time_ns: u64) {
        let router = (ROUTER_MAC, Ipv4Addr::new(192, 168, 10, 1));
        let address = Ipv4Addr::new(192, 168, 10, desk);
        let mac = desk_mac(desk);
        let ask = arp(1, (mac, address), ([0; 6], router.1));
        self.push(time_ns, LAN, ethernet(BROADCAST, mac, ethertype::ARP, &ask));
        let answer = arp(2, router, (mac, address));
        self.push(
            time_ns + 180_000,
            LAN,
            ethernet(mac, ROUTER_MAC, ethertype::ARP, &answer),
        );
    }

    /// The same with IPv6.
    fn neighbour_discovery(&mut self, desk: u8, time_ns: u64) {
        let mac = desk_mac(desk);
        let (own, other) = (ipv6(u16::from(desk)), ipv6(SERVER_HOST));
        let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, SERVER_HOST);
        let solicitation = neighbour(own, group, false, other, mac);
        let packet = Ipv6::new(own, group, protocol::ICMPV6)
            .hop_limit(255)
            .packet(&solicitation);
        let multicast = [
            0x33,
            0x33,
            0xff,
            0,
            SERVER_HOST.to_be_bytes()[0],
            SERVER_HOST as u8,
        ];
        let frame = ethernet(multicast, mac, ethertype::IPV6, &packet);
        self.push(time_ns + 500_000, LAN, frame);
        let advertisement = neighbour(other, own, true, other, ROUTER_MAC);
        let packet = Ipv6::new(other, own, protocol::ICMPV6)
            .hop_limit(255)
            .packet(&advertisement);
        let frame = ethernet(mac, ROUTER_MAC, ethertype::IPV6, &packet);
        self.push(time_ns + 800_000, LAN, frame);
    }

    /// An echo request with either version of IP, and their replies.
    fn pings(&mut self, sequence: u16) {
        let pair = Pair::V4(
            Ipv4Addr::new(192, 168, 10, 12),
            Ipv4Addr::new(203, 0, 113, 1),
        );
        let pair_v6 = (ipv6(12), ipv6(SERVER_HOST));
        let time_ns = START_NS + u64::from(sequence) * 6_000_000_000 + 5_000;
        for reply in [false, true] {
            let (time_ns, pair, ends) = match reply {
                false => (time_ns, pair, pair_v6),
                true => (time_ns + 14_200_000, pair.turned(), (pair_v6.1, pair_v6.0)),
            };
            let body = b"abcdefghijklmnopqrstuvwabcdefghi";
            let echo = icmp_echo(reply, 0x4242, sequence, body);
            let packet = pair.ip(protocol::ICMP, sequence, &echo);
            self.on_lan(12, None, &TimedPacket::new(time_ns, !reply, packet));
            let echo = icmpv6_echo(ends.0, ends.1, reply, 0x4242, sequence, body);
            let packet = Ipv6::new(ends.0, ends.1, protocol::ICMPV6).packet(&echo);
            let time_ns = time_ns + 2_000_000_000;
            self.on_lan(12, None, &TimedPacket::new(time_ns, !reply, packet));
        }
    }

    /// Three desks ask the server for the time.
    fn clocks(&mut self, minute: u64) {
        for desk in [10, 11, 12] {
            let pair = Pair::V4(Ipv4Addr::new(192, 168, 10, desk), SERVER);
            let mut clock = vec![0x23, 2, 6, 0xec];
            clock.resize(48, 0);
            let time_ns = START_NS + minute * 60_000_000_000 + u64::from(desk) * 1_300_000;
            let packet = pair.udp(desk.into(), (123, 123), &clock);
            self.on_lan(desk, None, &TimedPacket::up(time_ns, packet));
        }
    }

    /// A host reports that it listens to 239.1.2.3, with the router alert option.
    fn membership(&mut self, minute: u64) {
        let report = icmp(0x16, 0, [239, 1, 2, 3], &[]);
        let group = Ipv4Addr::new(239, 1, 2, 3);
        let header = Ipv4::new(Ipv4Addr::new(192, 168, 10, 14), group, 2).ttl(1);
        let packet = header.options(&[0x94, 4, 0, 0]).packet(&report);
        let frame = ethernet(
            [1, 0, 0x5e, 1, 2, 3],
            desk_mac(14),
            ethertype::IPV4,
            &packet,
        );
        self.push(START_NS + minute * 60_000_000_000 + 21_000_000, LAN, frame);
    }

    /// Packets that came back with an error, quoted.
    fn errors(&mut self) {
        for hop in 1..=16_u8 {
            self.traceroute(hop);
        }
        for index in 0..6_u16 {
            self.too_big(index);
        }
    }

    /// A probe of traceroute. Time is exceeded on the way, and the port is unreachable at the end.
    fn traceroute(&mut self, hop: u8) {
        let client = Ipv4Addr::new(192, 168, 10, 15);
        let server = Ipv4Addr::new(203, 0, 113, 99);
        let pair = Pair::V4(client, server);
        let probe = udp(
            pair.src(),
            pair.dst(),
            50_000,
            33_434 + u16::from(hop),
            &[0; 32],
        );
        let header = Ipv4::new(client, server, protocol::UDP)
            .ttl(hop)
            .identification(hop.into());
        let packet = header.packet(&probe);
        let time_ns = START_NS + 130_000_000_000 + u64::from(hop) * 90_000_000;
        let quoted = Ipv4::new(client, server, protocol::UDP)
            .ttl(if hop < 16 { 1 } else { 40 })
            .identification(hop.into())
            .packet(&probe);
        let (kind, code, from) = match hop {
            16 => (3, 3, server),
            _ => (11, 0, Ipv4Addr::new(10, 255, hop, 1)),
        };
        let error = icmp(kind, code, [0; 4], &quoted[..28]);
        let answer = Ipv4::new(from, client, protocol::ICMP)
            .ttl(64 - hop)
            .packet(&error);
        self.on_lan(15, None, &TimedPacket::up(time_ns, packet));
        let time_ns = time_ns + u64::from(hop) * 1_700_000;
        self.on_lan(15, None, &TimedPacket::down(time_ns, answer));
    }

    /// A packet over IPv6 that the next link's MTU is too small for.
    fn too_big(&mut self, index: u16) {
        let (own, far) = (ipv6(21), Ipv6Addr::new(0x2001, 0xdb8, 0x99, 0, 0, 0, 0, 7));
        let router = ipv6(1);
        let pair = Pair::V6(own, far);
        let payload = text(self.rng, 1_400);
        let packet = pair.udp(index, (5_004, 6_000 + index), &payload);
        let quoted = &packet[..(1_280 - 48).min(packet.len())];
        let error = icmpv6(router, own, 2, 0, 1_400_u32.to_be_bytes(), quoted);
        let answer = Ipv6::new(router, own, protocol::ICMPV6).packet(&error);
        let time_ns = arrival_ns(self.rng);
        self.on_lan(21, Some(10), &TimedPacket::up(time_ns, packet));
        let time_ns = time_ns + 600_000;
        self.on_lan(21, Some(10), &TimedPacket::down(time_ns, answer));
    }

    /// Each kind of IPv6 extension header, alone and together.
    fn ipv6_extensions(&mut self) {
        let far = Ipv6Addr::new(0x2001, 0xdb8, 0x99, 0, 0, 0, 0, 3);
        for index in 0..24_u16 {
            let desk = 30 + (index % 6) as u8;
            let own = ipv6(u16::from(desk));
            let body = text(self.rng, 60 + usize::from(index));
            let datagram = udp(own.into(), far.into(), 40_000 + index, 7_777, &body);
            let header = Ipv6::new(own, far, protocol::UDP).flow_label(0x1_0000 + u32::from(index));
            // An experimental option of four bytes that may be skipped (RFC 4727).
            let experiment = [0x1e, 4, 0xde, 0xad, 0xbe, 0xef];
            let header = match index % 6 {
                0 => header.hop_by_hop(&experiment),
                1 => header.destination_options(&experiment),
                2 => header.routing(4, 0, &[far]),
                3 => header.authentication(0x100, u32::from(index), [0x5a; 12]),
                4 => header.fragment(0, false, u32::from(index)),
                _ => header
                    .hop_by_hop(&experiment)
                    .destination_options(&experiment)
                    .routing(4, 0, &[far])
                    .fragment(0, false, u32::from(index))
                    .destination_options(&experiment),
            };
            let packet = header.packet(&datagram);
            let time_ns = arrival_ns(self.rng);
            self.on_lan(desk, Some(10), &TimedPacket::up(time_ns, packet));
        }
        for index in 0..8_u16 {
            // Multicast listener reports carry a router alert (RFC 3810 section 5).
            let own = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 30 + index);
            let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);
            let mut record = vec![4, 0, 0, 0];
            record.extend_from_slice(&Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, index).octets());
            let report = icmpv6(own, group, 143, 0, [0, 0, 0, 1], &record);
            let header = Ipv6::new(own, group, protocol::ICMPV6).hop_limit(1);
            let packet = header.hop_by_hop(&[5, 2, 0, 0]).packet(&report);
            let mac = desk_mac(30 + index as u8);
            let frame = ethernet([0x33, 0x33, 0, 0, 0, 0x16], mac, ethertype::IPV6, &packet);
            let time_ns = arrival_ns(self.rng);
            self.push(time_ns, LAN, frame);
        }
    }

    /// Datagrams too long for a packet, over IPv4 and IPv6.
    fn fragments(&mut self) {
        for index in 0..14_u16 {
            let desk = 24 + (index % 4) as u8;
            let mut line = b"<30>Jan  1 00:00:00 desk app: ".to_vec();
            let len = self.rng.between(2_000, 5_000) as usize;
            line.extend_from_slice(&text(self.rng, len));
            let packets = if index % 2 == 0 {
                let (own, server) = (Ipv4Addr::new(192, 168, 10, desk), SERVER);
                let datagram = udp(own.into(), server.into(), 514, 514, &line);
                let header = Ipv4::new(own, server, protocol::UDP).identification(0x7000 + index);
                header.fragments(&datagram, 1_500)
            } else {
                let (own, server) = (ipv6(u16::from(desk)), ipv6(SERVER_HOST));
                let datagram = udp(own.into(), server.into(), 514, 514, &line);
                let header = Ipv6::new(own, server, protocol::UDP);
                header.fragments(&datagram, 1_500, 0x7000_0000 + u32::from(index))
            };
            let start_ns = arrival_ns(self.rng);
            for (part, packet) in packets.into_iter().enumerate() {
                let time_ns = start_ns + part as u64 * 13_000;
                self.on_lan(desk, Some(10), &TimedPacket::up(time_ns, packet));
            }
        }
    }
}

fn ethertype_of(packet: &[u8]) -> u16 {
    match packet.first() {
        Some(first) if first >> 4 == 6 => ethertype::IPV6,
        _ => ethertype::IPV4,
    }
}

const fn desk_mac(desk: u8) -> Mac {
    [2, 0, 0, 0, 10, desk]
}

const LAN: u32 = 0;
const UPLINK: u32 = 1;
const BROADCAST: Mac = [0xff; 6];
const ROUTER_MAC: Mac = [2, 0, 0, 0, 10, 1];
const PROVIDER_MAC: Mac = [2, 0, 0, 0, 99, 1];
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 5, 10);
const SERVER_HOST: u16 = 0x5a;
