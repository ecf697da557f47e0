//! Packets over loopback arrive once, whole, and are counted. Skipped loudly where the process may not
//! capture.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod collector;

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use weir_capture::Reader;
use weir_live::{CaptureOptions, Counts, ErrorKind, Instruction, Interface, Packets};

/// Loopback, unless it may not be captured on.
fn loopback(options: &CaptureOptions) -> Option<Interface> {
    match Interface::open("lo", options) {
        Ok(interface) => Some(interface),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Permission, "{error}");
            assert!(error.hint().unwrap().contains("setcap"));
            weir_testkit::missing("capture-rights", &error.to_string());
            None
        }
    }
}

/// Two sockets, one sending to the other.
fn sockets() -> (UdpSocket, UdpSocket) {
    let to = UdpSocket::bind("127.0.0.1:0").unwrap();
    let from = UdpSocket::bind("127.0.0.1:0").unwrap();
    from.connect(to.local_addr().unwrap()).unwrap();
    (from, to)
}

/// The packets to a port that arrive until shortly after `stop`: captured bytes and length on the wire.
fn read(packets: Packets, port: u16, stop: &AtomicBool) -> Vec<(Vec<u8>, u32)> {
    let mut reader = Reader::new(packets).unwrap();
    let mut found = Vec::new();
    let (mut last_ns, mut pauses) = (0, 0);
    loop {
        match reader.next() {
            Ok(Some(record)) => {
                assert_eq!(record.link_type, 1);
                let time_ns = record.time_ns.unwrap();
                assert!(time_ns >= last_ns - 1_000_000_000);
                last_ns = time_ns;
                if record.data.get(36..38) == Some(&port.to_be_bytes()[..]) {
                    found.push((record.data.to_vec(), record.wire_len));
                }
            }
            Ok(None) => return found,
            Err(error) => {
                assert!(error.is_pause(), "{error}");
                pauses += u32::from(stop.load(Ordering::Relaxed));
                assert!(pauses <= PAUSES_MAX, "it does not stop");
            }
        }
    }
}

/// Pauses, of which there are some ten in a second, between asking for an end and the end.
const PAUSES_MAX: u32 = 200;

/// Sends `count` numbered packets while `packets` are read.
fn exchange(packets: Packets, stop: &Arc<AtomicBool>, count: u32) -> Vec<(Vec<u8>, u32)> {
    let (from, to) = sockets();
    let port = to.local_addr().unwrap().port();
    let stopped = Arc::clone(stop);
    let reading = thread::spawn(move || read(packets, port, &stopped));
    for number in 0..count {
        let mut payload = [7; 100];
        payload[..4].copy_from_slice(&number.to_be_bytes());
        from.send(&payload).unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    reading.join().unwrap()
}

fn start(
    options: &CaptureOptions,
    filter: &[Instruction],
) -> Option<(Packets, Arc<AtomicBool>, Arc<Counts>)> {
    let interface = loopback(options)?;
    assert_eq!(interface.link_type(), 1);
    let counts = Arc::clone(interface.counts());
    let stop = Arc::new(AtomicBool::new(false));
    let packets = interface.start(filter, Arc::clone(&stop)).unwrap();
    Some((packets, stop, counts))
}

#[test]
fn each_packet_arrives_once_and_in_order() {
    let Some((packets, stop, counts)) = start(&CaptureOptions::default(), &[]) else {
        return;
    };
    let found = exchange(packets, &stop, 3_000);
    assert_eq!(counts.dropped(), 0);
    assert_eq!(found.len(), 3_000);
    for (number, (data, wire_len)) in (0_u32..).zip(&found) {
        assert_eq!((data.len(), *wire_len), (142, 142));
        assert_eq!(data[42..46], number.to_be_bytes());
    }
    // Other programs use loopback, too.
    assert!(counts.received() >= 3_000 && counts.delivered() >= 3_000);
}

#[test]
fn packets_are_cut_to_the_snap_length() {
    let mut options = CaptureOptions::default();
    options.snap_len = 60;
    let Some((packets, stop, _)) = start(&options, &[]) else {
        return;
    };
    let found = exchange(packets, &stop, 5);
    assert_eq!(found.len(), 5);
    assert!(
        found
            .iter()
            .all(|(data, wire_len)| data.len() == 60 && *wire_len == 142)
    );
}

#[test]
fn the_kernel_runs_the_filter() {
    // ret #0
    let refuse = Instruction {
        code: 6,
        ..Instruction::default()
    };
    let Some((packets, stop, counts)) = start(&CaptureOptions::default(), &[refuse]) else {
        return;
    };
    assert!(exchange(packets, &stop, 50).is_empty());
    assert_eq!((counts.received(), counts.delivered()), (0, 0));
}

#[test]
fn what_does_not_fit_the_ring_is_counted() {
    let mut options = CaptureOptions::default();
    options.ring_bytes = 2 << 20;
    let Some((packets, stop, counts)) = start(&options, &[]) else {
        return;
    };
    let (from, to) = sockets();
    let port = to.local_addr().unwrap().port();
    // No one reads yet: some of these do not fit.
    let sent = 2_000;
    for _ in 0..sent {
        from.send(&[1; 8_000]).unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    let found = read(packets, port, &stop).len() as u64;
    assert!(counts.dropped() > 0 && found > 0);
    // Other programs may use loopback, too.
    assert!(found + counts.dropped() >= sent);
    assert_eq!(counts.received(), counts.delivered() + counts.dropped());
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let error = Interface::open("weir-none0", &CaptureOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(error.to_string(), "no interface named weir-none0");
    assert!(error.hint().unwrap().contains("lo"));
    assert!(weir_live::interfaces().unwrap().contains(&"lo".to_owned()));
}
