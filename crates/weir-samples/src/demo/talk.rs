//! Conversations as a network carries them, in IP packets that any link can wrap.

use crate::Rng;
use crate::packet::{Ipv4, Ipv6, Tcp, TcpOption, protocol, tcp_flags, udp};
use crate::words::text;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Source and destination, of one family.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pair {
    V4(Ipv4Addr, Ipv4Addr),
    V6(Ipv6Addr, Ipv6Addr),
}

impl Pair {
    pub(super) fn src(self) -> IpAddr {
        match self {
            Self::V4(src, _) => src.into(),
            Self::V6(src, _) => src.into(),
        }
    }

    pub(super) fn dst(self) -> IpAddr {
        match self {
            Self::V4(_, dst) => dst.into(),
            Self::V6(_, dst) => dst.into(),
        }
    }

    /// The other direction.
    pub(super) const fn turned(self) -> Self {
        match self {
            Self::V4(src, dst) => Self::V4(dst, src),
            Self::V6(src, dst) => Self::V6(dst, src),
        }
    }

    /// An IP packet with an identification or flow label of `mark`.
    pub(super) fn ip(self, protocol: u8, mark: u16, payload: &[u8]) -> Vec<u8> {
        match self {
            Self::V4(src, dst) => {
                let header = Ipv4::new(src, dst, protocol).identification(mark);
                header.dont_fragment().packet(payload)
            }
            Self::V6(src, dst) => Ipv6::new(src, dst, protocol)
                .flow_label(u32::from(mark))
                .packet(payload),
        }
    }

    /// A UDP datagram in an IP packet.
    pub(super) fn udp(self, mark: u16, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
        let datagram = udp(self.src(), self.dst(), ports.0, ports.1, payload);
        self.ip(protocol::UDP, mark, &datagram)
    }
}

/// An IP packet at its time, in the direction in which it went.
#[derive(Clone, Debug)]
pub(super) struct TimedPacket {
    pub(super) time_ns: u64,
    pub(super) from_client: bool,
    pub(super) packet: Vec<u8>,
}

impl TimedPacket {
    pub(super) const fn new(time_ns: u64, from_client: bool, packet: Vec<u8>) -> Self {
        Self {
            time_ns,
            from_client,
            packet,
        }
    }

    /// A packet of the client.
    pub(super) const fn up(time_ns: u64, packet: Vec<u8>) -> Self {
        Self::new(time_ns, true, packet)
    }

    /// A packet of the server.
    pub(super) const fn down(time_ns: u64, packet: Vec<u8>) -> Self {
        Self::new(time_ns, false, packet)
    }
}

/// A piece of data that one side of a connection sends.
#[derive(Clone, Debug)]
pub(super) struct Says {
    pub(super) client: bool,
    pub(super) bytes: Vec<u8>,
}

/// A TCP connection from handshake to end, with an occasional retransmission.
pub(super) fn tcp_connection(
    rng: &mut Rng,
    start_ns: u64,
    pair: Pair,
    ports: (u16, u16),
    round_trip_ns: u64,
    says: &[Says],
) -> Vec<TimedPacket> {
    let mut connection = TalkState {
        pair,
        ports,
        time_ns: start_ns,
        seq: [rng.next_u32(), rng.next_u32()],
        mark: rng.next_u16(),
        clock_ms: [rng.next_u32() >> 4, rng.next_u32() >> 4],
        start_ns,
        sent: Vec::new(),
    };
    connection.open(round_trip_ns);
    for turn in says {
        connection.say(rng, turn, round_trip_ns);
    }
    connection.close(rng, round_trip_ns);
    connection.sent
}

/// The state of a connection; index 0 is the server's side, 1 the client's.
struct TalkState {
    pair: Pair,
    ports: (u16, u16),
    time_ns: u64,
    start_ns: u64,
    seq: [u32; 2],
    mark: u16,
    clock_ms: [u32; 2],
    sent: Vec<TimedPacket>,
}

impl TalkState {
    fn open(&mut self, round_trip_ns: u64) {
        let hello = |timestamps| {
            vec![
                TcpOption::MaximumSegmentSize(1460),
                TcpOption::SackPermitted,
                timestamps,
                TcpOption::NoOperation,
                TcpOption::WindowScale(7),
            ]
        };
        for client in [true, false] {
            let options = hello(self.timestamps(client));
            let flags = if client {
                tcp_flags::SYN
            } else {
                tcp_flags::SYN | tcp_flags::ACK
            };
            self.segment(client, flags, &options, b"");
            let seq = &mut self.seq[usize::from(client)];
            *seq = seq.wrapping_add(1);
            self.time_ns += round_trip_ns / 2;
        }
        self.acknowledge(true);
    }

    fn say(&mut self, rng: &mut Rng, turn: &Says, round_trip_ns: u64) {
        let side = usize::from(turn.client);
        self.time_ns += rng.between(200_000, 30_000_000);
        for (index, part) in turn.bytes.chunks(SEGMENT_BYTES).enumerate() {
            let options = self.usual_options(turn.client);
            self.segment(turn.client, tcp_flags::ACK | tcp_flags::PSH, &options, part);
            if rng.percent(2)
                && let Some(mut again) = self.sent.last().cloned()
            {
                // The acknowledgement is late: the same segment once more.
                again.time_ns += rng.between(200_000_000, 300_000_000);
                self.time_ns = again.time_ns;
                self.sent.push(again);
            }
            self.seq[side] = self.seq[side].wrapping_add(part.len() as u32);
            self.time_ns += rng.between(12_000, 400_000);
            if index % 2 == 1 {
                self.acknowledge(!turn.client);
            }
        }
        self.time_ns += round_trip_ns / 2;
        self.acknowledge(!turn.client);
    }

    fn close(&mut self, rng: &mut Rng, round_trip_ns: u64) {
        self.time_ns += rng.between(1_000_000, 900_000_000);
        if rng.percent(6) {
            // Impatient clients reset.
            self.segment(true, tcp_flags::RST | tcp_flags::ACK, &[], b"");
            return;
        }
        for client in [true, false] {
            let options = self.usual_options(client);
            self.segment(client, tcp_flags::FIN | tcp_flags::ACK, &options, b"");
            let seq = &mut self.seq[usize::from(client)];
            *seq = seq.wrapping_add(1);
            self.time_ns += round_trip_ns / 2;
        }
        self.acknowledge(true);
    }

    fn acknowledge(&mut self, client: bool) {
        let options = self.usual_options(client);
        self.segment(client, tcp_flags::ACK, &options, b"");
    }

    fn usual_options(&self, client: bool) -> Vec<TcpOption> {
        vec![
            TcpOption::NoOperation,
            TcpOption::NoOperation,
            self.timestamps(client),
        ]
    }

    fn timestamps(&self, client: bool) -> TcpOption {
        let elapsed_ms = ((self.time_ns - self.start_ns) / 1_000_000) as u32;
        let [server, client_clock] = self.clock_ms.map(|clock| clock.wrapping_add(elapsed_ms));
        match client {
            true => TcpOption::Timestamps(client_clock, server),
            false => TcpOption::Timestamps(server, client_clock),
        }
    }

    fn segment(&mut self, client: bool, flags: u8, options: &[TcpOption], payload: &[u8]) {
        let (pair, (src_port, dst_port)) = match client {
            true => (self.pair, self.ports),
            false => (self.pair.turned(), (self.ports.1, self.ports.0)),
        };
        let own = self.seq[usize::from(client)];
        // The opening segment acknowledges nothing.
        let peer = match flags & tcp_flags::ACK {
            0 => 0,
            _ => self.seq[usize::from(!client)],
        };
        let header = Tcp::new(src_port, dst_port)
            .numbers(own, peer)
            .flags(flags)
            .options(options);
        let segment = header.segment(pair.src(), pair.dst(), payload);
        self.mark = self.mark.wrapping_add(1);
        let packet = pair.ip(protocol::TCP, self.mark, &segment);
        self.sent
            .push(TimedPacket::new(self.time_ns, client, packet));
    }
}

/// The messages between a browser and a web server.
pub(super) fn http(rng: &mut Rng, host: &str, body_bytes: usize) -> Vec<Says> {
    let page = rng.below(400);
    let request = format!(
        "GET /pages/{page} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: demo/1.0\r\nAccept: */*\r\n\r\n"
    );
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\nServer: demo\r\nContent-Type: text/plain\r\nContent-Length: {body_bytes}\r\n\r\n"
    )
    .into_bytes();
    answer.extend_from_slice(&text(rng, body_bytes));
    vec![
        Says {
            client: true,
            bytes: request.into_bytes(),
        },
        Says {
            client: false,
            bytes: answer,
        },
    ]
}

/// Encrypted exchanges: application data records of TLS 1.2 with nothing readable in them.
pub(super) fn tls(rng: &mut Rng, exchanges: u64, answer_bytes_max: u64) -> Vec<Says> {
    let mut says = Vec::new();
    for _ in 0..exchanges {
        for (client, most) in [(true, 700), (false, answer_bytes_max)] {
            let mut bytes = Vec::new();
            let mut left = rng.between(90, most) as usize;
            while left > 0 {
                let len = left.min(4096);
                bytes.extend_from_slice(&[0x17, 0x03, 0x03]);
                bytes.extend_from_slice(&(len as u16).to_be_bytes());
                bytes.extend_from_slice(&rng.bytes(len));
                left -= len;
            }
            says.push(Says { client, bytes });
        }
    }
    says
}

/// A message handed to a mail server.
pub(super) fn smtp(rng: &mut Rng, lines: usize) -> Vec<Says> {
    let mut letter =
        b"From: <ann@example.org>\r\nTo: <bob@example.com>\r\nSubject: lunch\r\n\r\n".to_vec();
    for _ in 0..lines {
        letter.extend_from_slice(&text(rng, 60));
        letter.extend_from_slice(b"\r\n");
    }
    letter.extend_from_slice(b".\r\n");
    let dialogue: [(bool, &[u8]); 9] = [
        (false, b"220 mail.example.com ESMTP\r\n"),
        (true, b"HELO desk.example.org\r\n"),
        (false, b"250 mail.example.com\r\n"),
        (true, b"MAIL FROM:<ann@example.org>\r\n"),
        (false, b"250 ok\r\n"),
        (true, b"RCPT TO:<bob@example.com>\r\n"),
        (false, b"250 ok\r\n"),
        (true, b"DATA\r\n"),
        (false, b"354 go on\r\n"),
    ];
    let mut says: Vec<Says> = dialogue
        .iter()
        .map(|(client, bytes)| Says {
            client: *client,
            bytes: bytes.to_vec(),
        })
        .collect();
    says.push(Says {
        client: true,
        bytes: letter,
    });
    says.push(Says {
        client: false,
        bytes: b"250 queued\r\n".to_vec(),
    });
    says
}

/// User bytes of a segment beside 12 bytes of options in 1,500 bytes of IPv6; a little less than
/// IPv4 would carry.
const SEGMENT_BYTES: usize = 1_428;
