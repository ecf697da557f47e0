//! Frame relay over T1 lines: wan.erf, framerelay.pcap, and the traffic of recorder.bin.

use super::talk::{Pair, TimedPacket, http, smtp, tcp_connection, tls};
use super::{START_NS, arrival_ns, ipv6};
use crate::Rng;
use crate::capture::{
    Endian, ErfRecord, ErfWriter, PcapVariant, PcapWriter, erf_flags, erf_type, link_type, mc_hdlc,
};
use crate::packet::{
    FrameRelay, Lmi, ethernet_unpadded, ethertype, icmp_echo, nlpid, ppp, protocol,
};
use crate::words::{dns, text};
use std::io;
use std::net::Ipv4Addr;

/// The end of a channel: recorder board, T1 line on the board, channel of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WanLine {
    pub(super) board: u8,
    pub(super) interface: u8,
    pub(super) channel: u8,
}

/// A frame on a line at its time.
#[derive(Clone, Debug)]
pub(super) struct ScheduledFrame {
    pub(super) time_ns: u64,
    pub(super) line: WanLine,
    pub(super) from_client: bool,
    pub(super) frame: Vec<u8>,
}

/// The encapsulation of IP on a circuit.
#[derive(Clone, Copy, Debug)]
enum Encapsulation {
    Nlpid,
    Snap,
    Cisco,
    Bridged,
}

/// A permanent virtual circuit between two sites.
#[derive(Clone, Copy, Debug)]
struct Circuit {
    line: WanLine,
    address: FrameRelay,
    encapsulation: Encapsulation,
    site: u8,
}

impl Circuit {
    fn pair(&self, rng: &mut Rng) -> Pair {
        let client = Ipv4Addr::new(10, 20, self.site, rng.between(10, 60) as u8);
        Pair::V4(client, Ipv4Addr::new(10, 1, 0, rng.between(1, 9) as u8))
    }

    fn frame(&self, rng: &mut Rng, packet: &[u8]) -> Vec<u8> {
        let mut address = self.address;
        address.forward_congestion = rng.percent(4);
        address.backward_congestion = rng.percent(4);
        address.discard_eligible = rng.percent(10);
        let ipv6 = packet.first().is_some_and(|first| first >> 4 == 6);
        let kind = if ipv6 {
            ethertype::IPV6
        } else {
            ethertype::IPV4
        };
        match self.encapsulation {
            Encapsulation::Nlpid if ipv6 => address.ipv6(packet),
            Encapsulation::Nlpid => address.ip(packet),
            Encapsulation::Snap => address.snap(kind, packet),
            Encapsulation::Cisco => address.cisco(kind, packet),
            Encapsulation::Bridged => address.bridged_ethernet(&ethernet_unpadded(
                [2, 0, 0, 0, 1, self.site],
                [2, 0, 0, 0, 2, self.site],
                kind,
                packet,
            )),
        }
    }
}

/// Ten minutes of traffic on these lines in time order: two circuits on each, alternately with one
/// and the other encapsulation of IP, `connections` TCP connections in all and other traffic.
pub(super) fn frame_relay_traffic(
    rng: &mut Rng,
    lines: &[WanLine],
    connections: u64,
) -> Vec<ScheduledFrame> {
    let encapsulations = [Encapsulation::Nlpid, Encapsulation::Snap];
    let mut circuits = Vec::new();
    for (index, &line) in lines.iter().enumerate() {
        for (second, &encapsulation) in encapsulations.iter().enumerate() {
            let site = (index * 2 + second) as u8;
            let address = FrameRelay::new(100 + u32::from(site) * 3);
            circuits.push(Circuit {
                line,
                address,
                encapsulation,
                site,
            });
        }
    }
    let mut events = Vec::new();
    talk(rng, &circuits, connections, &mut events);
    for &line in lines {
        polling(line, &circuits, &mut events);
    }
    for _ in 0..connections {
        let circuit = *rng.pick(&circuits);
        let payload = text(rng, 90);
        let frame = match rng.below(3) {
            // DEC's cluster protocol, inverse ARP, and a local experiment.
            0 => circuit.address.snap(0x6007, &payload),
            1 => circuit.address.snap(ethertype::ARP, &inverse_arp(&circuit)),
            _ => circuit.address.snap(0x88b5, &payload),
        };
        let time_ns = arrival_ns(rng);
        events.push(ScheduledFrame {
            time_ns,
            line: circuit.line,
            from_client: rng.percent(50),
            frame,
        });
    }
    events.sort_by_key(|event| event.time_ns);
    events
}

/// The file wan.erf and its number of records.
///
/// A record's interface bits are the board; the connection number of its multi-channel header is
/// `interface << 5 | channel`. The high four bits of the flags byte are the message type: 0 for a
/// good frame, 1 for a frame received with an error.
pub(super) fn wan_erf(rng: &mut Rng) -> io::Result<(Vec<u8>, u64)> {
    let mut lines = Vec::new();
    for (board, interface, channel) in [
        (0, 0, 1),
        (0, 0, 2),
        (0, 3, 24),
        (1, 0, 5),
        (1, 1, 9),
        (2, 2, 1),
        (2, 2, 2),
        (3, 7, 17),
    ] {
        lines.push(WanLine {
            board,
            interface,
            channel,
        });
    }
    let mut writer = ErfWriter::new(Vec::new());
    for (index, event) in frame_relay_traffic(rng, &lines, 110).iter().enumerate() {
        let damaged = rng.below(60) == 0;
        let error = if damaged { erf_flags::RECEIVE_ERROR } else { 0 };
        let connection = u16::from(event.line.interface) << 5 | u16::from(event.line.channel);
        // A raw link number, and an intercept number behind it, on a few records.
        let extensions: &[u64] = match index % 50 {
            7 => &[0x0500_0000_0000_0001],
            8 => &[0x0500_0000_0000_0001, 0x0400_0000_0000_002a],
            _ => &[],
        };
        let record = ErfRecord {
            kind: erf_type::MC_HDLC,
            flags: event.line.board | erf_flags::VARYING_LENGTH | error,
            extensions,
            loss_counter: u16::from(damaged),
            multi_channel: Some(mc_hdlc(connection, u8::from(damaged))),
            wire_len: 0,
            payload: &event.frame,
        };
        writer.record(event.time_ns, &record)?;
    }
    let records = writer.records();
    Ok((writer.into_inner(), records))
}

/// The file framerelay.pcap and its number of records: addresses of all lengths, every way to carry
/// IP, LMI, PPP.
pub(super) fn frame_relay_pcap(rng: &mut Rng) -> io::Result<(Vec<u8>, u64)> {
    let line = WanLine {
        board: 0,
        interface: 0,
        channel: 0,
    };
    let circuit = |site, dlci, bytes, encapsulation| Circuit {
        line,
        address: FrameRelay::with_address_bytes(dlci, bytes),
        encapsulation,
        site,
    };
    let circuits = [
        circuit(1, 16, 2, Encapsulation::Nlpid),
        circuit(2, 100, 2, Encapsulation::Snap),
        circuit(3, 991, 2, Encapsulation::Cisco),
        circuit(4, 5_000, 3, Encapsulation::Nlpid),
        circuit(5, 65_000, 3, Encapsulation::Snap),
        circuit(6, 1_000_000, 4, Encapsulation::Nlpid),
        circuit(7, 8_000_000, 4, Encapsulation::Snap),
        circuit(8, 200, 2, Encapsulation::Bridged),
    ];
    let mut events = Vec::new();
    talk(rng, &circuits, 24, &mut events);
    polling(line, &circuits[..3], &mut events);
    let point_to_point = FrameRelay::new(300);
    for identifier in 0..20 {
        let pair = Pair::V4(Ipv4Addr::new(172, 16, 0, 1), Ipv4Addr::new(172, 16, 0, 2));
        let echo = icmp_echo(identifier % 2 == 1, 0x77, identifier / 2, b"over ppp");
        let pair = if identifier % 2 == 1 {
            pair.turned()
        } else {
            pair
        };
        let packet = pair.ip(protocol::ICMP, identifier, &echo);
        let frame = point_to_point.nlpid(nlpid::PPP, &ppp(0x0021, &packet));
        let time_ns = START_NS + u64::from(identifier) * 25_000_000_000;
        events.push(ScheduledFrame {
            time_ns,
            line,
            from_client: identifier % 2 == 0,
            frame,
        });
    }
    events.sort_by_key(|event| event.time_ns);
    let mut writer = PcapWriter::new(
        Vec::new(),
        link_type::FRAME_RELAY,
        8_192,
        PcapVariant::Micro,
        Endian::Big,
    )?;
    for event in &events {
        writer.packet(event.time_ns, event.frame.len() as u32, &event.frame)?;
    }
    let records = writer.records();
    Ok((writer.into_inner(), records))
}

/// TCP connections, name look-ups and pings on circuits chosen at random.
fn talk(rng: &mut Rng, circuits: &[Circuit], connections: u64, events: &mut Vec<ScheduledFrame>) {
    for index in 0..connections {
        let circuit = *rng.pick(circuits);
        let start_ns = arrival_ns(rng);
        let pair = match index % 9 {
            4 => Pair::V6(ipv6(u16::from(circuit.site)), ipv6(0xffff)),
            _ => circuit.pair(rng),
        };
        let client_port = rng.between(32_768, 60_999) as u16;
        let body_bytes = rng.between(200, 5_000) as usize;
        let (server_port, says) = match rng.below(10) {
            0..5 => (80, http(rng, "intranet.example.net", body_bytes)),
            5..9 => (443, tls(rng, 2, 2_500)),
            _ => (25, smtp(rng, 12)),
        };
        let mut sent = Vec::new();
        let (question, answer) = dns(rng, "intranet.example.net", false, 1);
        let dns_ports = (rng.between(1_024, 65_535) as u16, 53);
        let mark = rng.next_u16();
        for (from_client, bytes) in [(true, question), (false, answer)] {
            let packet = match from_client {
                true => pair.udp(mark, dns_ports, &bytes),
                false => pair.turned().udp(mark, (dns_ports.1, dns_ports.0), &bytes),
            };
            let delay_ns = if from_client { 0 } else { 9_000_000 };
            sent.push(TimedPacket::new(start_ns + delay_ns, from_client, packet));
        }
        let ports = (client_port, server_port);
        sent.extend(tcp_connection(
            rng,
            start_ns + 11_000_000,
            pair,
            ports,
            35_000_000,
            &says,
        ));
        if let (Pair::V4(..), true) = (pair, index % 4 == 0) {
            for reply in [false, true] {
                let echo = icmp_echo(reply, 7, index as u16, b"0123456789abcdef0123456789abcdef");
                let pair = if reply { pair.turned() } else { pair };
                let time_ns = start_ns + if reply { 41_000_000 } else { 5_000_000 };
                let packet = pair.ip(protocol::ICMP, mark, &echo);
                sent.push(TimedPacket::new(time_ns, !reply, packet));
            }
        }
        for TimedPacket {
            time_ns,
            from_client,
            packet,
        } in sent
        {
            let frame = circuit.frame(rng, &packet);
            events.push(ScheduledFrame {
                time_ns,
                line: circuit.line,
                from_client,
                frame,
            });
        }
    }
}

/// Link management every ten seconds, each sixth poll with the state of all circuits.
fn polling(line: WanLine, circuits: &[Circuit], events: &mut Vec<ScheduledFrame>) {
    let states: Vec<(u16, bool)> = circuits
        .iter()
        .filter(|circuit| circuit.line == line && circuit.address.address_bytes == 2)
        .map(|circuit| (circuit.address.dlci as u16, true))
        .collect();
    for poll in 0..60_u8 {
        let full = poll % 6 == 0;
        let time_ns = START_NS + u64::from(poll) * 10_000_000_000 + u64::from(line.channel) * 1_000;
        let enquiry = Lmi::StatusEnquiry {
            full,
            send: poll + 1,
            received: poll,
        };
        let circuits = if full { &states[..] } else { &[] };
        let status = Lmi::Status {
            send: poll + 1,
            received: poll + 1,
            circuits,
        };
        for (from_client, message, delay_ns) in [(true, enquiry, 0), (false, status, 12_000_000)] {
            let frame = FrameRelay::lmi(&message);
            events.push(ScheduledFrame {
                time_ns: time_ns + delay_ns,
                line,
                from_client,
                frame,
            });
        }
    }
}

/// Asks for the address at the other end of a circuit (RFC 2390): hardware type 15, whose addresses
/// are those of Q.922.
fn inverse_arp(circuit: &Circuit) -> Vec<u8> {
    let mut bytes = vec![0x00, 0x0f, 0x08, 0x00, 2, 4, 0, 8];
    bytes.extend_from_slice(&[0, 0]);
    bytes.extend_from_slice(&[10, 20, circuit.site, 1]);
    bytes.extend_from_slice(&circuit.address.address()[..2]);
    bytes.extend_from_slice(&[0; 4]);
    bytes
}
