//! Connections and requests that are begun and not ended, at the ports of a cluster: each would keep a place, a file or memory of a
//! process for as long as its peer likes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// A way to hold what others need.
#[derive(Clone, Copy)]
pub(super) struct Hold {
    pub(super) name: &'static str,
    connections: usize,
    kind: HeldKind,
}

#[derive(Clone, Copy)]
enum HeldKind {
    /// The first octets of a handshake of TLS (RFC 8446, 5.1), or nothing.
    Silent,
    /// One request that is answered, and then nothing.
    Idle,
    /// So many requests whose bodies do not come.
    Bodiless(u32),
    /// So many requests at once, whose bodies of so many octets lack the last one.
    Unended { requests: u32, octets: u32 },
}

/// The attempts, one after the other.
pub(super) const HOLDS: [Hold; 4] = [
    Hold {
        name: "300 silent connections",
        connections: 300,
        kind: HeldKind::Silent,
    },
    Hold {
        name: "300 idle connections",
        connections: 300,
        kind: HeldKind::Idle,
    },
    Hold {
        name: "1,200 requests without a body",
        connections: 2,
        kind: HeldKind::Bodiless(600),
    },
    Hold {
        name: "160 bodies of 2 MiB that do not end",
        connections: 4,
        kind: HeldKind::Unended {
            requests: 40,
            octets: 2 << 20,
        },
    },
];

/// Connections that are held until this is dropped.
pub(super) struct Held {
    streams: Vec<TcpStream>,
    is_over: Arc<AtomicBool>,
}

impl Held {
    /// Holds this at a port. The paths of requests are those of a scheduler, or of an executor.
    pub(super) fn open(hold: Hold, port: SocketAddr, is_scheduler: bool) -> Self {
        let mut held = Self {
            streams: Vec::new(),
            is_over: Arc::default(),
        };
        for number in 0..hold.connections {
            // A process may refuse some of them.
            let Ok(stream) = TcpStream::connect_timeout(&port, Duration::from_secs(2)) else {
                continue;
            };
            let _ = stream.set_write_timeout(Some(Duration::from_secs(2)));
            if let Ok(writer) = stream.try_clone() {
                held.begin(hold.kind, writer, number, is_scheduler);
            }
            held.streams.push(stream);
        }
        held
    }

    fn begin(&self, kind: HeldKind, mut stream: TcpStream, number: usize, is_scheduler: bool) {
        if let HeldKind::Silent = kind {
            let said: &[u8] = if number.is_multiple_of(2) {
                b""
            } else {
                b"\x16\x03\x01\x02\x00\x01"
            };
            let _ = stream.write_all(said);
            return;
        }
        let Ok(reader) = stream.try_clone() else {
            return;
        };
        let is_over = Arc::clone(&self.is_over);
        thread::spawn(move || acknowledge(reader, &is_over));
        let is_over = Arc::clone(&self.is_over);
        // The windows of the peer are not heeded: it may end the connection.
        thread::spawn(move || {
            let _ = requests(kind, &mut stream, is_scheduler, &is_over);
        });
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for stream in &self.streams {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

fn requests(
    kind: HeldKind,
    stream: &mut TcpStream,
    is_scheduler: bool,
    is_over: &AtomicBool,
) -> std::io::Result<()> {
    let (idle, long) = match is_scheduler {
        true => (
            "/ballista.protobuf.SchedulerGrpc/GetJobStatus",
            "/ballista.protobuf.SchedulerGrpc/ExecuteQuery",
        ),
        false => (
            "/arrow.flight.protocol.FlightService/GetFlightInfo",
            "/arrow.flight.protocol.FlightService/DoGet",
        ),
    };
    stream.write_all(PREFACE)?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
    match kind {
        HeldKind::Silent => Ok(()),
        HeldKind::Idle => {
            stream.write_all(&frame(HEADERS, END_HEADERS, 1, &request(idle)))?;
            stream.write_all(&frame(DATA, END_STREAM, 1, &[0; 5]))
        }
        HeldKind::Bodiless(count) => {
            for number in 0..count {
                let head = frame(HEADERS, END_HEADERS, 1 + 2 * number, &request(long));
                stream.write_all(&head)?;
            }
            Ok(())
        }
        HeldKind::Unended { requests, octets } => {
            for number in 0..requests {
                let head = frame(HEADERS, END_HEADERS, 1 + 2 * number, &request(long));
                stream.write_all(&head)?;
            }
            for part in 0..octets / PART {
                for number in 0..requests {
                    let mut body = vec![0; PART as usize];
                    if part == 0 {
                        // The length of a gRPC message is one octet more than what comes.
                        body.splice(1..5, (octets + 1).to_be_bytes());
                    }
                    if is_over.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                    stream.write_all(&frame(DATA, 0, 1 + 2 * number, &body))?;
                }
            }
            Ok(())
        }
    }
}

/// Reads what a peer says, and acknowledges its settings and pings, as a client does that is there.
fn acknowledge(mut stream: TcpStream, is_over: &AtomicBool) {
    let mut head = [0; 9];
    while !is_over.load(Ordering::Relaxed) && stream.read_exact(&mut head).is_ok() {
        let [high, middle, low, kind, flags, ..] = head;
        let mut body = vec![0; u32::from_be_bytes([0, high, middle, low]) as usize];
        if stream.read_exact(&mut body).is_err() {
            return;
        }
        let acknowledged = match (kind, flags & ACK) {
            (SETTINGS, 0) => frame(SETTINGS, ACK, 0, &[]),
            (PING, 0) => frame(PING, ACK, 0, &body),
            _ => continue,
        };
        if stream.write_all(&acknowledged).is_err() {
            return;
        }
    }
}

/// A frame of HTTP/2 (RFC 9113, 4.1).
fn frame(kind: u8, flags: u8, stream: u32, body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes();
    let mut frame = len.get(1..).unwrap_or_default().to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(body);
    frame
}

/// The fields of a request of gRPC, each a literal without indexing (RFC 7541, 6.2.2).
fn request(path: &str) -> Vec<u8> {
    let agent = format!("weir/{} plans/1", env!("CARGO_PKG_VERSION"));
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "cluster"),
        ("user-agent", &agent),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            // All of them are shorter than 127 octets.
            block.push(u8::try_from(text.len()).unwrap_or(0));
            block.extend(text.bytes());
        }
    }
    block
}

/// The connection preface of an HTTP/2 client (RFC 9113, 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// Octets of a body in one frame, of which HTTP/2 allows 16,384.
const PART: u32 = 16_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_and_fields_have_their_lengths() {
        let frame = frame(DATA, END_STREAM, 3, b"abc");
        assert_eq!(frame, [0, 0, 3, 0, 1, 0, 0, 0, 3, b'a', b'b', b'c']);
        let block = request("/a");
        assert_eq!(block[..14], *b"\0\x07:method\x04POST");
        assert!(block.ends_with(b"\0\x02te\x08trailers"));
    }
}
