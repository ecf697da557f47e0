//! Malformed first messages to every protocol: the server continues, and no thread of it panics.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use weir_testkit::Rng;

use crate::served::Served;

/// The first bytes of a Flight SQL client, recorded from a client in Rust.
fn of_flight(served: &Served) -> Vec<u8> {
    let recorder = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = recorder.local_addr().unwrap();
    let server = served.flight;
    let message = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&message);
    let thread = std::thread::spawn(move || {
        let (mut client, _) = recorder.accept().unwrap();
        let mut server = TcpStream::connect(server).unwrap();
        let (mut back, mut out) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let answers = std::thread::spawn(move || {
            let _ = std::io::copy(&mut back, &mut out);
        });
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = client.read(&mut buffer) {
            kept.lock().unwrap().extend_from_slice(&buffer[..count]);
            if server.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = server.shutdown(Shutdown::Both);
        answers.join().unwrap();
    });
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let channel = tonic::transport::Channel::from_shared(format!("http://{address}")).unwrap();
        let channel = channel.connect().await.unwrap();
        let mut client = arrow_flight::sql::client::FlightSqlServiceClient::new(channel);
        let info = client.execute("SELECT 1".to_owned(), None).await.unwrap();
        let ticket = info.endpoint[0].ticket.clone().unwrap();
        drop(client.do_get(ticket).await.unwrap());
        let mut prepared = client.prepare("SELECT $1".to_owned(), None).await.unwrap();
        let values = arrow::array::Int64Array::from(vec![1, 2]);
        let values = arrow::array::RecordBatch::try_from_iter([("$1", Arc::new(values) as _)]);
        prepared.set_parameters(values.unwrap()).unwrap();
        let _ = prepared.execute().await;
    });
    thread.join().unwrap();
    let message = message.lock().unwrap().clone();
    assert!(message.starts_with(b"PRI * HTTP/2.0"), "{message:?}");
    message
}

/// A message that is changed in a few places, cut, or put together with another.
fn mutated(rng: &mut Rng, messages: &[Vec<u8>]) -> Vec<u8> {
    let below =
        |rng: &mut Rng, most: usize| usize::try_from(rng.below(most.max(1) as u64)).unwrap();
    let mut bytes = messages[below(rng, messages.len())].clone();
    for _ in 0..=below(rng, 6) {
        let at = below(rng, bytes.len());
        let byte = u8::try_from(rng.below(256)).unwrap();
        match rng.below(6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << (byte % 8),
            1 if at < bytes.len() => bytes[at] = byte,
            2 => bytes.truncate(at),
            3 => bytes.insert(at, byte),
            4 => bytes
                .splice(at..at, std::iter::repeat_n(byte, usize::from(byte)))
                .for_each(drop),
            _ => {
                let other = &messages[below(rng, messages.len())];
                let from = below(rng, other.len());
                bytes.extend_from_slice(&other[from..]);
            }
        }
    }
    bytes
}

fn send(address: SocketAddr, bytes: &[u8]) {
    let Ok(mut socket) = TcpStream::connect(address) else {
        return;
    };
    let wait = Some(Duration::from_secs(10));
    socket.set_read_timeout(wait).unwrap();
    socket.set_write_timeout(wait).unwrap();
    let _ = socket.write_all(bytes);
    let _ = socket.shutdown(Shutdown::Write);
    let _ = socket.read_to_end(&mut Vec::new());
}

#[test]
fn first_messages_that_are_none_end_their_connection_and_nothing_else() {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let seed = std::env::var("WEIR_SEED").map_or(1, |seed| seed.parse().unwrap());
    let rounds = std::env::var("WEIR_ROUNDS").map_or(300, |rounds| rounds.parse().unwrap());
    println!("WEIR_SEED={seed} WEIR_ROUNDS={rounds}");
    let served = Served::with(|options| options.limits.time_max = Some(Duration::from_secs(2)));
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        if name.starts_with("tokio") || name.starts_with("weir") {
            PANICS.fetch_add(1, Ordering::Relaxed);
        }
        before(info);
    }));
    let postgres = vec![
        b"\0\0\0\x08\x04\xd2\x16\x2f".to_vec(),
        b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\x01\0\0\0\x02".to_vec(),
        b"\0\0\0\x11\0\x03\0\0user\0me\0\0Q\0\0\0\x0dSELECT 1\0X\0\0\0\x04".to_vec(),
        b"\0\0\0\x11\0\x03\0\0user\0me\0\0P\0\0\0\x18\0SELECT $1 + 1\0\0\x01\0\0\0\x14B\0\0\0\x19\0\0\0\x01\0\x01\0\x01\0\0\0\x08\0\0\0\0\0\0\0\x01\0\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04".to_vec(),
    ];
    let http = vec![
        b"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 19\r\nConnection: close\r\n\r\n{\"sql\": \"SELECT 1\"}".to_vec(),
        b"GET /ladder?path=voip.pcap&call_id=x&format=svg HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_vec(),
        b"POST /upload?name=x.csv HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\na\n1\n\r\n0\r\n\r\n".to_vec(),
    ];
    let flight = vec![of_flight(&served)];
    for (address, messages) in [
        (served.postgres, &postgres),
        (served.http, &http),
        (served.flight, &flight),
    ] {
        let mut rng = Rng::new(seed);
        for _ in 0..rounds {
            send(address, &mutated(&mut rng, messages));
        }
    }
    // Well-formed requests are answered still.
    let whole = served.request(
        "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sql",
        "SELECT 42",
    );
    assert!(whole.contains("42"), "{whole}");
    of_flight(&served);
    let mut socket = TcpStream::connect(served.postgres).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    socket.write_all(&postgres[2]).unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    assert!(
        answer.windows(8).any(|bytes| bytes == b"SELECT 1"),
        "{answer:?}"
    );
    served.wait_for("weir_queries_running 0");
    assert_eq!(PANICS.load(Ordering::Relaxed), 0, "seed {seed}");
}
