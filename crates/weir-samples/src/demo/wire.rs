//! Packets between two ends, on an Ethernet.

use crate::capture::{Endian, PcapVariant, PcapWriter, link_type};
use crate::packet::{Ipv4, Tcp, ethernet, ethertype, protocol, tcp_flags, udp};
use std::io;
use std::net::Ipv4Addr;

/// Address and port.
pub(super) type WireEnd = (Ipv4Addr, u16);

pub(super) const SYN: u8 = tcp_flags::SYN;
pub(super) const ACK: u8 = tcp_flags::ACK;

/// Packets with their times.
#[derive(Default)]
pub(super) struct Wire {
    packets: Vec<(u64, Vec<u8>)>,
}

/// A TCP connection, and how much either end has sent.
pub(super) struct WireConnection {
    ends: [WireEnd; 2],
    sent: [u32; 2],
}

impl Wire {
    fn ip(&mut self, at_ms: u64, from: Ipv4Addr, to: Ipv4Addr, number: u8, payload: &[u8]) {
        let packet = Ipv4::new(from, to, number).packet(payload);
        let (dst, src) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        self.packets
            .push((at_ms, ethernet(dst, src, ethertype::IPV4, &packet)));
    }

    /// A frame that was made whole.
    pub(super) fn frame(&mut self, at_ms: u64, frame: Vec<u8>) {
        self.packets.push((at_ms, frame));
    }

    pub(super) fn datagram(&mut self, at_ms: u64, from: WireEnd, to: WireEnd, payload: &[u8]) {
        let datagram = udp(from.0.into(), to.0.into(), from.1, to.1, payload);
        self.ip(at_ms, from.0, to.0, protocol::UDP, &datagram);
    }

    pub(super) fn segment(
        &mut self,
        at_ms: u64,
        ends: (WireEnd, WireEnd),
        numbers: (u32, u32),
        flags: u8,
        payload: &[u8],
    ) {
        let (from, to) = ends;
        let tcp = Tcp::new(from.1, to.1)
            .numbers(numbers.0, numbers.1)
            .flags(flags);
        let segment = tcp.segment(from.0.into(), to.0.into(), payload);
        self.ip(at_ms, from.0, to.0, protocol::TCP, &segment);
    }

    /// Opens a connection with a handshake of three packets.
    pub(super) fn connect(
        &mut self,
        at_ms: u64,
        client: WireEnd,
        server: WireEnd,
    ) -> WireConnection {
        self.segment(at_ms, (client, server), (0, 0), SYN, b"");
        self.segment(at_ms + 4, (server, client), (0, 1), SYN | ACK, b"");
        self.segment(at_ms + 5, (client, server), (1, 1), ACK, b"");
        WireConnection {
            ends: [client, server],
            sent: [1, 1],
        }
    }

    /// Sends from the client (0) or the server (1) of a connection.
    pub(super) fn send(&mut self, at_ms: u64, on: &mut WireConnection, side: usize, bytes: &[u8]) {
        let ends = (on.ends[side], on.ends[1 - side]);
        let numbers = (on.sent[side], on.sent[1 - side]);
        self.segment(at_ms, ends, numbers, ACK, bytes);
        on.sent[side] = on.sent[side].wrapping_add(bytes.len() as u32);
    }

    /// The capture, which begins so many seconds after 1970, and how many packets it has.
    pub(super) fn pcap(mut self, start_s: u64) -> io::Result<(Vec<u8>, u64)> {
        self.packets.sort_by_key(|(at_ms, _)| *at_ms);
        let (variant, endian) = (PcapVariant::Nano, Endian::Little);
        let mut writer = PcapWriter::new(Vec::new(), link_type::ETHERNET, 65_535, variant, endian)?;
        for (at_ms, packet) in &self.packets {
            let time_ns = start_s * 1_000_000_000 + at_ms * 1_000_000;
            writer.packet(time_ns, packet.len() as u32, packet)?;
        }
        let records = writer.records();
        Ok((writer.into_inner(), records))
    }
}
