//! Captures made for a test: raw IP packets, and both directions of TCP connections cut into segments.

use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;

use weir_testkit::Rng;
use weir_testkit::capture::{Endian, PcapVariant, PcapWriter};
use weir_testkit::packet::{Ipv4, Tcp, protocol, tcp_flags};

/// An address and a port.
pub(crate) type HostPort = (Ipv4Addr, u16);

/// What a client (true) or a server sends.
pub(crate) type Sent<'m> = (bool, &'m [u8]);

/// A TCP connection.
pub(crate) struct Connection {
    ends: [HostPort; 2],
    sent: [u32; 2],
}

impl Connection {
    /// Opens a connection with a handshake, whose packets are added.
    pub(crate) fn open(client: HostPort, server: HostPort, packets: &mut Vec<Vec<u8>>) -> Self {
        let mut one = Self {
            ends: [client, server],
            sent: [0, 0],
        };
        let (syn, ack) = (tcp_flags::SYN, tcp_flags::ACK);
        packets.push(one.segment(true, 0, syn, b""));
        one.sent[0] = 1;
        packets.push(one.segment(false, 0, syn | ack, b""));
        one.sent[1] = 1;
        packets.push(one.segment(true, 1, ack, b""));
        one
    }

    fn segment(&self, client: bool, seq: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
        let (from, to) = match client {
            true => (self.ends[0], self.ends[1]),
            false => (self.ends[1], self.ends[0]),
        };
        let ack = self.sent[usize::from(client)];
        let tcp = Tcp::new(from.1, to.1).numbers(seq, ack).flags(flags);
        let segment = tcp.segment(from.0.into(), to.0.into(), payload);
        Ipv4::new(from.0, to.0, protocol::TCP).packet(&segment)
    }

    /// Adds segments that carry `bytes`, in order and each once: of 4 to `most` bytes, as tshark reads no TPKT header
    /// from two segments.
    pub(crate) fn send(
        &mut self,
        client: bool,
        bytes: &[u8],
        most: u64,
        random: &mut Rng,
        packets: &mut Vec<Vec<u8>>,
    ) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let len = rest.len().min(4 + random.below(most) as usize);
            let (piece, after) = rest.split_at(len);
            self.send_one(client, piece, packets);
            rest = after;
        }
    }

    /// Adds a segment that ends a side by FIN, or the connection by RST.
    pub(crate) fn close(&mut self, client: bool, flag: u8, packets: &mut Vec<Vec<u8>>) {
        let slot = usize::from(!client);
        let flags = tcp_flags::ACK | flag;
        packets.push(self.segment(client, self.sent[slot], flags, b""));
        self.sent[slot] += 1;
    }

    /// Adds a segment that carries `bytes`.
    pub(crate) fn send_one(&mut self, client: bool, bytes: &[u8], packets: &mut Vec<Vec<u8>>) {
        let slot = usize::from(!client);
        let flags = tcp_flags::ACK | tcp_flags::PSH;
        packets.push(self.segment(client, self.sent[slot], flags, bytes));
        self.sent[slot] += bytes.len() as u32;
    }
}

/// Writes IP packets, a millisecond after one another.
pub(crate) fn write(packets: &[Vec<u8>], path: &Path) {
    let file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let mut writer = PcapWriter::new(file, 101, 65_535, PcapVariant::Nano, Endian::Little).unwrap();
    for (n, packet) in (0u64..).zip(packets) {
        let time = 1_700_000_000_000_000_000 + n * 1_000_000;
        writer.packet(time, packet.len() as u32, packet).unwrap();
    }
    writer.into_inner().flush().unwrap();
}
