//! ATM: atm.erf and sunatm.pcap.

use super::talk::{Pair, http, tcp_connection, tls};
use super::{START_NS, arrival_ns, ipv6};
use crate::Rng;
use crate::capture::{
    Endian, ErfRecord, ErfWriter, PcapVariant, PcapWriter, erf_flags, erf_type, link_type, mc_atm,
};
use crate::packet::{
    CellHeader, SunAtmTraffic, aal5_llc, aal5_unit, ethernet_unpadded, ethertype, icmp_echo,
    protocol, sun_atm,
};
use crate::words::dns;
use std::io;
use std::net::Ipv4Addr;

/// An IP packet on a virtual channel.
struct ScheduledPacket {
    time_ns: u64,
    from_client: bool,
    vpi: u8,
    vci: u16,
    ethertype: u16,
    packet: Vec<u8>,
}

/// The file atm.erf and its number of records: IP in LLC/SNAP on some channels as cells, on others
/// as AAL5 units, with and without the multi-channel header, and OAM cells among them.
pub(super) fn atm_erf(rng: &mut Rng) -> io::Result<(Vec<u8>, u64)> {
    let channels = [(0, 100), (0, 101), (0, 102), (1, 100), (1, 200), (2, 33)];
    let mut records: Vec<(u64, ErfCell)> = Vec::new();
    for event in traffic(rng, &channels, 50) {
        let header = CellHeader::new(event.vpi, event.vci);
        let unit = aal5_unit(&aal5_llc(event.ethertype, &event.packet), 0);
        let port = event.vpi;
        let connection = (event.vci & 0x3f) | (u16::from(event.vpi) << 6);
        if event.vci.is_multiple_of(2) && event.vpi < 2 {
            for (index, cell) in header.segment(&unit).iter().enumerate() {
                // A cell takes 2.7 us on a line of 155 Mbit/s.
                let time_ns = event.time_ns + index as u64 * 2_726;
                let kind = if event.vpi == 0 {
                    erf_type::MC_ATM
                } else {
                    erf_type::ATM
                };
                records.push((
                    time_ns,
                    ErfCell {
                        kind,
                        connection,
                        port,
                        bytes: cell.to_vec(),
                    },
                ));
            }
        } else {
            let mut bytes = header.payload_type(1).bytes().to_vec();
            bytes.extend_from_slice(&unit);
            let kind = if event.vpi < 2 {
                erf_type::MC_AAL5
            } else {
                erf_type::AAL5
            };
            records.push((
                event.time_ns,
                ErfCell {
                    kind,
                    connection,
                    port,
                    bytes,
                },
            ));
        }
    }
    for second in 0..60 {
        let header = CellHeader::new(0, 100).payload_type(5);
        let bytes = header.cell(&oam_loopback(second as u32)).to_vec();
        let cell = ErfCell {
            kind: erf_type::MC_ATM,
            connection: 36,
            port: 0,
            bytes,
        };
        records.push((START_NS + second * 10_000_000_000, cell));
    }
    records.sort_by_key(|(time_ns, _)| *time_ns);
    written(&records)
}

/// The records as a file, and their number.
fn written(records: &[(u64, ErfCell)]) -> io::Result<(Vec<u8>, u64)> {
    let mut writer = ErfWriter::new(Vec::new());
    for (time_ns, cell) in records {
        let multi = matches!(cell.kind, erf_type::MC_ATM | erf_type::MC_AAL5);
        let varying = if cell.bytes.len() == 52 {
            0
        } else {
            erf_flags::VARYING_LENGTH
        };
        writer.record(
            *time_ns,
            &ErfRecord {
                kind: cell.kind,
                flags: (cell.port & 3) | varying,
                multi_channel: multi.then(|| mc_atm(cell.connection, cell.port)),
                payload: &cell.bytes,
                ..ErfRecord::default()
            },
        )?;
    }
    let records = writer.records();
    Ok((writer.into_inner(), records))
}

/// The file sunatm.pcap and its number of records.
pub(super) fn sun_atm_pcap(rng: &mut Rng) -> io::Result<(Vec<u8>, u64)> {
    let mut frames = Vec::new();
    for event in traffic(rng, &[(0, 100), (0, 101), (0, 150), (3, 64)], 20) {
        let (kind, payload) = if event.vci == 150 {
            // LAN emulation: a two-byte client number in front of an Ethernet frame.
            let (src, dst) = match event.from_client {
                true => (5, 1),
                false => (1, 5),
            };
            let mut payload = vec![0, src];
            payload.extend_from_slice(&ethernet_unpadded(
                [2, 0, 0, 0, 3, dst],
                [2, 0, 0, 0, 3, src],
                event.ethertype,
                &event.packet,
            ));
            (SunAtmTraffic::Lane, payload)
        } else {
            (SunAtmTraffic::Llc, aal5_llc(event.ethertype, &event.packet))
        };
        let frame = sun_atm(event.from_client, kind, event.vpi, event.vci, &payload);
        frames.push((event.time_ns, frame));
    }
    frames.sort_by_key(|(time_ns, _)| *time_ns);
    let mut writer = PcapWriter::new(
        Vec::new(),
        link_type::SUNATM,
        9_188,
        PcapVariant::Nano,
        Endian::Little,
    )?;
    for (time_ns, frame) in &frames {
        writer.packet(*time_ns, frame.len() as u32, frame)?;
    }
    let records = writer.records();
    Ok((writer.into_inner(), records))
}

struct ErfCell {
    kind: u8,
    connection: u16,
    port: u8,
    bytes: Vec<u8>,
}

/// TCP connections and pings of IPv4 and IPv6, each on one channel.
fn traffic(rng: &mut Rng, channels: &[(u8, u16)], connections: u64) -> Vec<ScheduledPacket> {
    let mut events = Vec::new();
    for index in 0..connections {
        // Every channel has something, also in a short list.
        let (vpi, vci) = channels[index as usize % channels.len()];
        let site = (vci & 0xff) as u8;
        let (pair, kind) = if index % 7 == 3 {
            (Pair::V6(ipv6(vci), ipv6(1)), ethertype::IPV6)
        } else {
            let client = Ipv4Addr::new(192, 168, site, rng.between(2, 99) as u8);
            (
                Pair::V4(client, Ipv4Addr::new(192, 168, site, 1)),
                ethertype::IPV4,
            )
        };
        let start_ns = arrival_ns(rng);
        let mut push = |time_ns, from_client, packet| {
            events.push(ScheduledPacket {
                time_ns,
                from_client,
                vpi,
                vci,
                ethertype: kind,
                packet,
            });
        };
        let says = match index % 3 {
            0 => tls(rng, 2, 3_000),
            _ => http(rng, "www.example.com", 700 + (index as usize * 331) % 4_000),
        };
        let ports = (
            rng.between(32_768, 60_999) as u16,
            if index % 3 == 0 { 443 } else { 80 },
        );
        let (question, _) = dns(rng, "www.example.com", false, 1);
        push(
            start_ns,
            true,
            pair.udp(index as u16, (ports.0, 53), &question),
        );
        if let Pair::V4(..) = pair {
            let echo = icmp_echo(false, 9, index as u16, b"are you there?");
            push(
                start_ns + 500_000,
                true,
                pair.ip(protocol::ICMP, index as u16, &echo),
            );
        }
        for sent in tcp_connection(rng, start_ns + 1_000_000, pair, ports, 4_000_000, &says) {
            push(sent.time_ns, sent.from_client, sent.packet);
        }
    }
    events.sort_by_key(|event| event.time_ns);
    events
}

/// An end-to-end loopback cell (ITU-T I.610 section 10.2): type and function, the indication that
/// it is to be returned, a tag, and CRC-10 in the last ten bits.
fn oam_loopback(tag: u32) -> [u8; 48] {
    let mut payload = [0x6a; 48];
    payload[0] = 0x18;
    payload[1] = 0x01;
    payload[2..6].copy_from_slice(&tag.to_be_bytes());
    payload[6..22].fill(0xff);
    payload[46..].fill(0);
    let mut crc = 0_u16;
    // The sum covers everything before itself: 48 bytes less ten bits.
    for bit in 0..374 {
        let input = u16::from((payload[bit / 8] >> (7 - bit % 8)) & 1);
        let carry = ((crc >> 9) & 1) ^ input;
        crc = ((crc << 1) & 0x3ff) ^ (carry * 0x233);
    }
    payload[46..].copy_from_slice(&crc.to_be_bytes());
    payload
}
