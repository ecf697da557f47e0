//! The traffic of the office's uplink: branch offices, signalling, tunnels.

use super::super::talk::{Pair, http, tcp_connection};
use super::super::{START_NS, arrival_ns, ipv6};
use super::{
    Office, PROVIDER_MAC, ROUTER_MAC, SERVER, SERVER_HOST, UPLINK, desk_mac, ethertype_of,
};
use crate::packet::{
    Chunk, GTP_U_PORT, Gre, Initiation, Ipv4, VXLAN_PORT, ethernet, ethernet_unpadded, ethertype,
    gtp_u, mpls, pppoe_session, protocol, sctp, udp_unchecked, vlan, vxlan,
};
use std::net::Ipv4Addr;

impl Office<'_> {
    /// Branch offices behind the provider: QinQ, PPPoE and MPLS.
    pub(super) fn provider(&mut self) {
        for index in 0..45_u64 {
            let branch = (index % 5) as u8;
            let client = Ipv4Addr::new(172, 20, branch, self.rng.between(2, 200) as u8);
            let pair = match index % 6 {
                5 => Pair::V6(ipv6(0x500 + u16::from(branch)), ipv6(SERVER_HOST)),
                _ => Pair::V4(client, SERVER),
            };
            let start_ns = arrival_ns(self.rng);
            let (port, says) = self.application("files.example.org");
            let ports = (self.rng.between(32_768, 60_999) as u16, port);
            for sent in tcp_connection(self.rng, start_ns, pair, ports, 22_000_000, &says) {
                let kind = ethertype_of(&sent.packet);
                let (kind, payload) = match index % 3 {
                    0 => {
                        let inner = vlan(0, 10 + u16::from(branch), kind, &sent.packet);
                        let outer = vlan(3, 300, ethertype::VLAN, &inner);
                        (ethertype::SERVICE_VLAN, outer)
                    }
                    1 => {
                        let number = if kind == ethertype::IPV6 {
                            0x0057
                        } else {
                            0x0021
                        };
                        let session = 0x1100 + u16::from(branch);
                        (
                            ethertype::PPPOE_SESSION,
                            pppoe_session(session, number, &sent.packet),
                        )
                    }
                    _ => {
                        let label = 16_000 + u32::from(branch);
                        (ethertype::MPLS, mpls(&[24_001, label], 62, &sent.packet))
                    }
                };
                self.on_uplink(sent.time_ns, !sent.from_client, kind, &payload);
            }
        }
    }

    /// An SCTP association from INIT to SHUTDOWN COMPLETE, carrying Diameter watchdogs.
    pub(super) fn association(&mut self) {
        let (own, peer) = (Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 2));
        let (own_tag, peer_tag) = (0x1111_2222, 0x3333_4444);
        let (mut own_tsn, mut peer_tsn) = (1_000_u32, 9_000_u32);
        let cookie = self.rng.bytes(64);
        let initiation = |tag, tsn, last| Initiation {
            tag,
            tsn,
            addresses: vec![Ipv4Addr::new(10, 9, 1, last)],
        };
        let mut steps = vec![
            (true, vec![Chunk::Init(initiation(own_tag, own_tsn, 1))]),
            (
                false,
                vec![Chunk::InitAck(
                    initiation(peer_tag, peer_tsn, 2),
                    cookie.clone(),
                )],
            ),
            (true, vec![Chunk::CookieEcho(cookie)]),
            (false, vec![Chunk::CookieAck]),
        ];
        for number in 0..30_u16 {
            for request in [true, false] {
                let (tsn, window) = (if request { own_tsn } else { peer_tsn }, 106_496);
                let payload = diameter_watchdog(request, number);
                let data = Chunk::Data {
                    tsn,
                    stream: 1,
                    sequence: number,
                    protocol: 46,
                    payload,
                };
                let sack = Chunk::Sack {
                    cumulative_tsn: own_tsn,
                    window,
                };
                // The answer carries the acknowledgement of the question.
                let chunks = if request {
                    vec![data]
                } else {
                    vec![sack, data]
                };
                steps.push((request, chunks));
            }
            steps.push((
                true,
                vec![Chunk::Sack {
                    cumulative_tsn: peer_tsn,
                    window: 106_496,
                }],
            ));
            own_tsn += 1;
            peer_tsn += 1;
            if number % 10 == 9 {
                steps.push((true, vec![Chunk::Heartbeat(vec![0x77; 40])]));
                steps.push((false, vec![Chunk::HeartbeatAck(vec![0x77; 40])]));
            }
        }
        steps.push((true, vec![Chunk::Shutdown(peer_tsn - 1)]));
        steps.push((false, vec![Chunk::ShutdownAck]));
        steps.push((true, vec![Chunk::ShutdownComplete]));

        let mut time_ns = START_NS + 12_000_000_000;
        for (index, (outbound, chunks)) in steps.into_iter().enumerate() {
            // The packet bears the receiver's tag; INIT comes before there is one.
            let tag = match (index, outbound) {
                (0, _) => 0,
                (_, true) => peer_tag,
                (_, false) => own_tag,
            };
            let (src, dst) = if outbound { (own, peer) } else { (peer, own) };
            let segment = sctp(3_868, 3_868, tag, &chunks);
            let packet = Pair::V4(src, dst).ip(protocol::SCTP, index as u16, &segment);
            self.on_uplink(time_ns, outbound, ethertype::IPV4, &packet);
            let waits = matches!(chunks.first(), Some(Chunk::Sack { .. })) && outbound;
            time_ns += if waits { 18_000_000_000 } else { 3_100_000 };
        }
    }

    /// Packets within packets: GRE, IP in IP, IPv6 in IPv4, VXLAN, GTP-U.
    pub(super) fn tunnels(&mut self) {
        let (own, peer) = (
            Ipv4Addr::new(203, 0, 113, 1),
            Ipv4Addr::new(203, 0, 113, 129),
        );
        for index in 0..20_u64 {
            let inner = match index % 5 {
                2 => Pair::V6(ipv6(0x700), ipv6(0x800 + index as u16)),
                _ => Pair::V4(
                    Ipv4Addr::new(10, 50, 0, 5),
                    Ipv4Addr::new(10, 60, 0, index as u8),
                ),
            };
            let start_ns = arrival_ns(self.rng);
            let says = http(self.rng, "far.example.net", 900);
            let ports = (self.rng.between(32_768, 60_999) as u16, 80);
            let talk = tcp_connection(self.rng, start_ns, inner, ports, 30_000_000, &says);
            for (number, sent) in talk.iter().enumerate() {
                let kind = ethertype_of(&sent.packet);
                let (src, dst) = if sent.from_client {
                    (own, peer)
                } else {
                    (peer, own)
                };
                let outer = |protocol, payload: &[u8]| {
                    Ipv4::new(src, dst, protocol)
                        .identification(number as u16)
                        .packet(payload)
                };
                let tunnel_port = 49_152 + (index as u16) * 7;
                let packet = match index % 5 {
                    0 => {
                        let header = match index {
                            0 => Gre::default(),
                            5 => Gre {
                                checksum: true,
                                ..Gre::default()
                            },
                            _ => Gre {
                                checksum: false,
                                key: Some(index as u32),
                                sequence: Some(number as u32),
                            },
                        };
                        outer(protocol::GRE, &header.packet(kind, &sent.packet))
                    }
                    1 => outer(protocol::IPV4, &sent.packet),
                    2 => outer(protocol::IPV6, &sent.packet),
                    3 => {
                        let frame =
                            ethernet_unpadded(desk_mac(201), desk_mac(200), kind, &sent.packet);
                        let tunnel = vxlan(5_000 + index as u32, &frame);
                        outer(
                            protocol::UDP,
                            &udp_unchecked(tunnel_port, VXLAN_PORT, &tunnel),
                        )
                    }
                    _ => {
                        let sequence = (index > 10).then_some(number as u16);
                        let tunnel = gtp_u(0xabc0 + index as u32, sequence, &sent.packet);
                        outer(
                            protocol::UDP,
                            &udp_unchecked(GTP_U_PORT, GTP_U_PORT, &tunnel),
                        )
                    }
                };
                self.on_uplink(sent.time_ns, sent.from_client, ethertype::IPV4, &packet);
            }
        }
    }

    /// A packet to or from the provider, of this ethertype.
    fn on_uplink(&mut self, time_ns: u64, outbound: bool, kind: u16, payload: &[u8]) {
        let (src, dst) = match outbound {
            true => (ROUTER_MAC, PROVIDER_MAC),
            false => (PROVIDER_MAC, ROUTER_MAC),
        };
        self.push(time_ns, UPLINK, ethernet(dst, src, kind, payload));
    }
}

/// A device watchdog request or answer (RFC 6733 section 5.5).
fn diameter_watchdog(request: bool, number: u16) -> Vec<u8> {
    let attribute = |code: u32, value: &[u8]| {
        // Mandatory; the length covers the eight bytes of header but not the padding.
        let mut bytes = code.to_be_bytes().to_vec();
        bytes.extend_from_slice(&(0x4000_0000 | (8 + value.len() as u32)).to_be_bytes());
        bytes.extend_from_slice(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    };
    let mut body = Vec::new();
    if !request {
        body.extend_from_slice(&attribute(268, &2_001_u32.to_be_bytes()));
    }
    body.extend_from_slice(&attribute(264, b"peer.example.net"));
    body.extend_from_slice(&attribute(296, b"example.net"));
    let mut message = (0x0100_0000 | (20 + body.len() as u32))
        .to_be_bytes()
        .to_vec();
    message.extend_from_slice(&[if request { 0x80 } else { 0 }, 0, 0x01, 0x18]);
    message.extend_from_slice(&[0; 4]);
    for _ in 0..2 {
        message.extend_from_slice(&(0x0100_0000 | u32::from(number)).to_be_bytes());
    }
    message.extend_from_slice(&body);
    message
}
