//! A collector of HEP messages: each becomes a packet of an endless pcap.

use std::fmt;
use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use weir_capture::{WriteError, WriteRecord, Writer};
use weir_packet::internet_checksum;

use crate::{Counts, Error, ErrorKind};

/// An address to which proxies and probes send messages of HEP (versions 1 to 3 in datagrams, version 3 over TCP, too).
/// Messages are received only after it is started.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::AtomicBool;
///
/// let collector = weir_live::Collector::bind("127.0.0.1:0".parse()?)?;
/// assert_ne!(collector.address().port(), 0);
/// let stop = Arc::new(AtomicBool::new(true));
/// let mut reader = weir_capture::Reader::new(collector.start(stop)?)?;
/// loop {
///     match reader.next() {
///         Ok(Some(record)) => println!("{} bytes", record.wire_len),
///         Ok(None) => break,
///         Err(error) if error.is_pause() => {}
///         Err(error) => return Err(error.into()),
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Collector {
    udp: UdpSocket,
    tcp: TcpListener,
    address: SocketAddr,
    counts: Arc<Counts>,
}

impl Collector {
    /// Packets begin with the IP header: `LINKTYPE_RAW`.
    pub const LINK_TYPE: u32 = 101;

    /// Binds the address, for datagrams and for connections. Port 0 takes a free port.
    ///
    /// # Errors
    /// When the address is not this machine's, or is taken.
    pub fn bind(address: SocketAddr) -> Result<Self, Error> {
        let failed = |error: io::Error| {
            Error::new(
                ErrorKind::System,
                format!("cannot listen on {address}: {error}"),
            )
            .with_hint("use an address of this machine and a free port, such as 127.0.0.1:9060")
        };
        let tcp = TcpListener::bind(address).map_err(failed)?;
        let address = tcp.local_addr().map_err(failed)?;
        let udp = UdpSocket::bind(address).map_err(failed)?;
        Ok(Self {
            udp,
            tcp,
            address,
            counts: Arc::default(),
        })
    }

    /// The address that it is bound to.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The counters of received messages, and of those that are not HEP and are dropped.
    #[must_use]
    pub const fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    /// Receives messages until `stop` is set; messages that have arrived by then are still returned.
    ///
    /// # Errors
    /// When the system has no more threads.
    pub fn start(self, stop: Arc<AtomicBool>) -> io::Result<Collected> {
        let (sender, receiver) = sync_channel(QUEUE_MESSAGES);
        self.udp.set_read_timeout(Some(POLL_INTERVAL))?;
        self.tcp.set_nonblocking(true)?;
        let listener = Listener {
            sender,
            address: self.address,
            stop,
            counts: Arc::clone(&self.counts),
        };
        let (udp, tcp) = (self.udp, self.tcp);
        let of_datagrams = listener.clone();
        thread::Builder::new()
            .name("hep-udp".to_owned())
            .spawn(move || of_datagrams.datagrams(&udp))?;
        thread::Builder::new()
            .name("hep-tcp".to_owned())
            .spawn(move || listener.connections(&tcp))?;
        let writer = Writer::pcap_of(Vec::with_capacity(GATHER_BYTES), Collector::LINK_TYPE);
        Ok(Collected {
            receiver,
            writer: writer.map_err(io::Error::other)?,
            given: 0,
            paused_at: Instant::now(),
            counts: self.counts,
        })
    }
}

/// A message in the queue: its time of arrival, and its packet.
type TimedPacket = (i64, Vec<u8>);

/// The receiving side; each of its threads has a clone.
#[derive(Clone)]
struct Listener {
    sender: SyncSender<TimedPacket>,
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    counts: Arc<Counts>,
}

impl Listener {
    fn is_open(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Queues a message; false when the receiver was dropped.
    fn take(&self, from: SocketAddr, message: &[u8]) -> bool {
        match is_hep(message)
            .then(|| packet(from, self.address, message))
            .flatten()
        {
            Some(packet) => {
                self.counts.add(1, 0);
                self.sender.send((now_ns(), packet)).is_ok()
            }
            None => {
                self.counts.add(1, 1);
                true
            }
        }
    }

    fn datagrams(&self, socket: &UdpSocket) {
        let mut buffer = vec![0; MESSAGE_BYTES_MAX];
        let mut closing = Closing::default();
        while !closing.is_over(self) {
            match socket.recv_from(&mut buffer) {
                Ok((len, from)) => {
                    if !self.take(from, buffer.get(..len).unwrap_or_default()) {
                        return;
                    }
                }
                Err(error) if is_pause(&error) => {}
                // The socket reports an unreachable peer here, whose message was received before: receiving continues.
                Err(_) => thread::sleep(POLL_INTERVAL),
            }
        }
    }

    fn connections(&self, socket: &TcpListener) {
        let open = Arc::new(AtomicUsize::new(0));
        while self.is_open() {
            let Ok((stream, from)) = socket.accept() else {
                thread::sleep(POLL_INTERVAL);
                continue;
            };
            if open.fetch_add(1, Ordering::Relaxed) >= CONNECTIONS_MAX {
                open.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (listener, ended) = (self.clone(), Arc::clone(&open));
            let spawned = thread::Builder::new()
                .name("hep-connection".to_owned())
                .spawn(move || {
                    listener.stream(stream, from);
                    ended.fetch_sub(1, Ordering::Relaxed);
                });
            if spawned.is_err() {
                open.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Cuts a connection into messages of version 3, which have a length. Bytes that are not such a message end the connection,
    /// since the start of the next message is unknown.
    fn stream(&self, mut stream: TcpStream, from: SocketAddr) {
        let is_set = stream
            .set_nonblocking(false)
            .and_then(|()| stream.set_read_timeout(Some(POLL_INTERVAL)));
        if is_set.is_err() {
            return;
        }
        let mut buffer = Vec::new();
        let mut piece = vec![0; 16 << 10];
        let mut closing = Closing::default();
        while !closing.is_over(self) {
            match stream.read(&mut piece) {
                Ok(0) => return,
                Ok(len) => buffer.extend_from_slice(piece.get(..len).unwrap_or_default()),
                Err(error) if is_pause(&error) => continue,
                Err(_) => return,
            }
            let mut taken = 0;
            while let Some(head) = buffer.get(taken..taken + HEAD_BYTES) {
                let len = match head {
                    [b'H', b'E', b'P', b'3', high, low] => {
                        usize::from(u16::from_be_bytes([*high, *low]))
                    }
                    _ => 0,
                };
                if len < HEAD_BYTES {
                    self.counts.add(1, 1);
                    return;
                }
                let Some(message) = buffer.get(taken..taken + len) else {
                    break;
                };
                if !self.take(from, message) {
                    return;
                }
                taken += len;
            }
            buffer.drain(..taken);
        }
    }
}

/// The deadline of a receiving thread: shortly after `stop` is set, so that messages which have arrived are received, however many
/// still arrive.
#[derive(Default)]
struct Closing(Option<Instant>);

impl Closing {
    fn is_over(&mut self, listener: &Listener) -> bool {
        !listener.is_open() && self.0.get_or_insert_with(Instant::now).elapsed() >= POLL_INTERVAL
    }
}

fn is_pause(error: &io::Error) -> bool {
    let pauses = [
        io::ErrorKind::WouldBlock,
        io::ErrorKind::TimedOut,
        io::ErrorKind::Interrupted,
    ];
    pauses.contains(&error.kind())
}

/// A message of HEP begins with `HEP3`, or with the number of an earlier version.
fn is_hep(message: &[u8]) -> bool {
    matches!(message, [b'H', b'E', b'P', b'3', ..] | [1 | 2, ..])
}

fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(0))
}

/// The message as the payload of a UDP datagram between the two addresses; `None` when it is too long for a datagram.
fn packet(from: SocketAddr, to: SocketAddr, message: &[u8]) -> Option<Vec<u8>> {
    let udp_len = u16::try_from(UDP_BYTES + message.len()).ok()?;
    let mut packet = Vec::with_capacity(IPV6_BYTES + usize::from(udp_len));
    // The bound address may be unspecified: then the family of the sender's address decides.
    let addresses = match (from.ip().to_canonical(), to.ip().to_canonical()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => Ok((from, to)),
        (IpAddr::V4(from), IpAddr::V6(_)) => Ok((from, std::net::Ipv4Addr::UNSPECIFIED)),
        (IpAddr::V6(from), IpAddr::V6(to)) => Err((from, to)),
        (IpAddr::V6(from), IpAddr::V4(to)) => Err((from, to.to_ipv6_mapped())),
    };
    let pseudo = match addresses {
        Ok((from, to)) => {
            let total = u16::try_from(IPV4_BYTES + usize::from(udp_len)).ok()?;
            packet.extend_from_slice(&[0x45, 0]);
            packet.extend_from_slice(&total.to_be_bytes());
            packet.extend_from_slice(&[0, 0, 0x40, 0, 64, UDP, 0, 0]);
            packet.extend_from_slice(&from.octets());
            packet.extend_from_slice(&to.octets());
            let sum = internet_checksum(&[&packet]);
            packet.get_mut(10..12)?.copy_from_slice(&sum.to_be_bytes());
            [&from.octets()[..], &to.octets()[..]].concat()
        }
        Err((from, to)) => {
            packet.extend_from_slice(&[0x60, 0, 0, 0]);
            packet.extend_from_slice(&udp_len.to_be_bytes());
            packet.extend_from_slice(&[UDP, 64]);
            packet.extend_from_slice(&from.octets());
            packet.extend_from_slice(&to.octets());
            [&from.octets()[..], &to.octets()[..]].concat()
        }
    };
    let mut header = Vec::with_capacity(UDP_BYTES);
    header.extend_from_slice(&from.port().to_be_bytes());
    header.extend_from_slice(&to.port().to_be_bytes());
    header.extend_from_slice(&udp_len.to_be_bytes());
    header.extend_from_slice(&[0, 0]);
    let counted = [&[0, UDP][..], &udp_len.to_be_bytes()].concat();
    // A checksum of 0 is sent as all ones (RFC 768).
    let sum = match internet_checksum(&[&pseudo, &counted, &header, message]) {
        0 => u16::MAX,
        sum => sum,
    };
    header.get_mut(6..8)?.copy_from_slice(&sum.to_be_bytes());
    packet.extend_from_slice(&header);
    packet.extend_from_slice(message);
    Some(packet)
}

/// The received messages as an endless pcap: each is the payload of a UDP datagram from its sender to the bound address, at the
/// time of its arrival. A read fails with [`io::ErrorKind::WouldBlock`] when no message has arrived for a moment, and ten times a
/// second anyway.
pub struct Collected {
    receiver: Receiver<TimedPacket>,
    /// The buffer of the pcap.
    writer: Writer<Vec<u8>>,
    /// The number of bytes of the buffer that were returned.
    given: usize,
    paused_at: Instant,
    counts: Arc<Counts>,
}

impl Collected {
    fn write(&mut self, (time_ns, packet): &TimedPacket) -> Result<(), WriteError> {
        self.writer
            .write(&WriteRecord::new(Collector::LINK_TYPE, *time_ns, packet))?;
        self.counts.deliver(1);
        self.writer.flush()
    }
}

impl Read for Collected {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let rest = self.writer.get_mut().get(self.given..).unwrap_or_default();
            if !rest.is_empty() || out.is_empty() {
                let len = rest.len().min(out.len());
                if let (Some(to), Some(from)) = (out.get_mut(..len), rest.get(..len)) {
                    to.copy_from_slice(from);
                }
                self.given += len;
                return Ok(len);
            }
            self.writer.get_mut().clear();
            self.given = 0;
            if self.paused_at.elapsed() >= POLL_INTERVAL {
                self.paused_at = Instant::now();
                return Err(io::ErrorKind::WouldBlock.into());
            }
            match self.receiver.recv_timeout(POLL_INTERVAL) {
                Ok(message) => self.write(&message).map_err(io::Error::other)?,
                Err(RecvTimeoutError::Timeout) => {}
                // All receiving threads have ended.
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
            while self.writer.get_mut().len() < GATHER_BYTES
                && let Ok(message) = self.receiver.try_recv()
            {
                self.write(&message).map_err(io::Error::other)?;
            }
        }
    }
}

impl fmt::Debug for Collected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collected")
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

const UDP: u8 = 17;
const UDP_BYTES: usize = 8;
const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
/// The length of `HEP3` and the length field of a message.
const HEAD_BYTES: usize = 6;
const MESSAGE_BYTES_MAX: usize = 1 << 16;
/// The maximum number of messages in the queue. When it is full, senders over TCP wait, and the kernel keeps datagrams while it has
/// room.
const QUEUE_MESSAGES: usize = 1024;
const CONNECTIONS_MAX: usize = 256;
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The number of bytes of the pcap that are gathered before they are returned.
const GATHER_BYTES: usize = 128 << 10;
