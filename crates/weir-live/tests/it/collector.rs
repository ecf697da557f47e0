//! Tests of the collector: each message becomes one whole packet, and data that is no HEP is counted.

use std::io::Write;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use weir_capture::Reader;
use weir_live::{Collector, Counts};
use weir_packet::{Decoder, Frame, Layer, LinkType, internet_checksum};
use weir_testkit::until;

/// A message of version 3 with a payload of this length, and nothing else in it.
fn hep3(number: u16, payload: usize) -> Vec<u8> {
    let mut message = b"HEP3\0\0".to_vec();
    message.extend_from_slice(&[0, 0, 0, 15]);
    message.extend_from_slice(&(6 + 2 + payload as u16).to_be_bytes());
    message.extend_from_slice(&number.to_be_bytes());
    message.resize(message.len() + payload, b'x');
    let len = message.len() as u16;
    message[4..6].copy_from_slice(&len.to_be_bytes());
    message
}

/// The packets of a collector until there are `count`: the sender's port and the payload. The checksums are verified.
fn collect(
    address: &str,
    count: usize,
    send: impl FnOnce(SocketAddr, &Counts) + Send + 'static,
) -> (Vec<(u16, Vec<u8>)>, Arc<Counts>) {
    let collector = Collector::bind(address.parse().unwrap()).unwrap();
    let (address, counts) = (collector.address(), Arc::clone(collector.counts()));
    let stop = Arc::new(AtomicBool::new(false));
    let mut reader = Reader::new(collector.start(Arc::clone(&stop)).unwrap()).unwrap();
    let seen = Arc::clone(&counts);
    let sending = thread::spawn(move || send(address, &seen));
    let deadline = Instant::now() + weir_testkit::LIFE;
    let mut found = Vec::new();
    let mut decoder = Decoder::default();
    loop {
        match reader.next() {
            Ok(Some(record)) => {
                assert!(record.time_ns.unwrap() > 0);
                let packet = decoder.decode(Frame::new(LinkType(record.link_type), record.data));
                assert!(packet.stop().is_none(), "{:?}", packet.stop());
                assert_eq!(packet.u16_be(Layer::Udp, 2), Some(address.port()));
                // A sum over what holds its own sum is 0 (RFC 1071).
                let data = record.data;
                let (addresses, datagram) = match data[0] >> 4 {
                    4 => {
                        assert_eq!(internet_checksum(&[&data[..20]]), 0);
                        (&data[12..20], &data[20..])
                    }
                    _ => (&data[8..40], &data[40..]),
                };
                let counted = [0, 17, datagram[4], datagram[5]];
                assert_eq!(internet_checksum(&[addresses, &counted, datagram]), 0);
                let bytes = packet.bytes(Layer::Udp).unwrap();
                found.push((packet.u16_be(Layer::Udp, 0).unwrap(), bytes[8..].to_vec()));
            }
            Ok(None) => break,
            Err(error) => {
                assert!(error.is_pause(), "{error}");
                if found.len() >= count || Instant::now() > deadline {
                    stop.store(true, Ordering::Relaxed);
                }
            }
        }
    }
    sending.join().unwrap();
    (found, counts)
}

#[test]
fn datagrams_come_as_packets_from_their_senders() {
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let sender = UdpSocket::bind(address).unwrap();
        let port = sender.local_addr().unwrap().port();
        let (found, counts) = collect(address, 50, move |to, counts| {
            for number in 0..50 {
                sender.send_to(&hep3(number, 700), to).unwrap();
                sender.send_to(b"GET / HTTP/1.1\r\n\r\n", to).unwrap();
                // The system keeps few datagrams for a program that does not get to read them.
                let sent = 2 * (u64::from(number) + 1);
                until("the datagrams but some", || counts.received() + 10 >= sent);
            }
        });
        let expected: Vec<_> = (0..50).map(|number| (port, hep3(number, 700))).collect();
        assert_eq!(found, expected);
        assert_eq!(
            (counts.received(), counts.dropped(), counts.delivered()),
            (100, 50, 50)
        );
    }
}

#[test]
fn connections_are_cut_into_messages_wherever_their_pieces_end() {
    let (found, counts) = collect("127.0.0.1:0", 300, |to, _| {
        let mut stream = TcpStream::connect(to).unwrap();
        let bytes: Vec<u8> = (0..300)
            .flat_map(|number| hep3(number, 9 * usize::from(number)))
            .collect();
        for piece in bytes.chunks(997) {
            stream.write_all(piece).unwrap();
        }
        // Bytes that are no message of HEP end the connection, and not the collector.
        stream.write_all(b"INVITE sip:x SIP/2.0\r\n").unwrap();
    });
    let payloads: Vec<_> = found.into_iter().map(|(_, payload)| payload).collect();
    let expected: Vec<_> = (0..300)
        .map(|number| hep3(number, 9 * usize::from(number)))
        .collect();
    assert_eq!(payloads, expected);
    assert_eq!(counts.delivered(), 300);
}

#[test]
fn an_address_that_is_taken_is_refused() {
    let first = Collector::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let error = Collector::bind(first.address()).unwrap_err();
    assert!(
        error.to_string().contains("cannot listen on 127.0.0.1:"),
        "{error}"
    );
    assert!(error.hint().is_some());
}

/// Messages that come without a pause do not keep a collector from its end.
#[test]
fn a_requested_end_comes_while_messages_come() {
    let collector = Collector::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = collector.address();
    let stop = Arc::new(AtomicBool::new(false));
    let done = Arc::new(AtomicBool::new(false));
    let sending = [false, true].map(|is_stream| {
        let done = Arc::clone(&done);
        thread::spawn(move || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let mut stream = TcpStream::connect(address).unwrap();
            while !done.load(Ordering::Relaxed) {
                // The collector may have ended.
                let _ = match is_stream {
                    true => stream.write_all(&hep3(1, 200)).map(|()| 0),
                    false => socket.send_to(&hep3(1, 200), address),
                };
                thread::yield_now();
            }
        })
    });
    let mut reader = Reader::new(collector.start(Arc::clone(&stop)).unwrap()).unwrap();
    let (mut packets, mut pauses) = (0, 0);
    loop {
        match reader.next() {
            Ok(Some(_)) => packets += 1,
            Ok(None) => break,
            Err(error) => {
                assert!(error.is_pause(), "{error}");
                pauses += u32::from(stop.load(Ordering::Relaxed));
            }
        }
        if packets > 200 {
            stop.store(true, Ordering::Relaxed);
        }
        assert!(pauses <= crate::PAUSES_MAX, "it does not end");
    }
    done.store(true, Ordering::Relaxed);
    for thread in sending {
        thread.join().unwrap();
    }
}
