//! Captures to test with: made here, or those beside the checkout.

use std::path::{Path, PathBuf};

use weir_flow::{FlowRecord, Options, Tracker};
use weir_packet::{Decoder, Frame, LinkType, Packet};
use weir_testkit::{Rng, captures};

/// Ethernet.
pub(crate) const ETHERNET: u32 = 1;

/// A packet without a file.
#[derive(Clone)]
pub(crate) struct Sent {
    pub(crate) time_ns: i64,
    pub(crate) link_type: u32,
    pub(crate) bytes: Vec<u8>,
    pub(crate) wire_len: u32,
}

impl Sent {
    pub(crate) fn new(time_ns: i64, link_type: u32, bytes: Vec<u8>) -> Self {
        Self {
            time_ns,
            link_type,
            wire_len: bytes.len() as u32,
            bytes,
        }
    }
}

/// Calls `each` with each packet, decoded.
pub(crate) fn decode(packets: &[Sent], mut each: impl FnMut(&Packet<'_>)) {
    let mut decoder = Decoder::default();
    for (index, sent) in packets.iter().enumerate() {
        let mut frame = Frame::new(LinkType(sent.link_type), &sent.bytes);
        frame.number = index as u64 + 1;
        frame.time_ns = Some(sent.time_ns);
        frame.wire_len = sent.wire_len;
        each(&decoder.decode(frame));
    }
}

/// The flows of packets, in the order of their first ones.
pub(crate) fn flows(packets: &[Sent], options: Options) -> Vec<FlowRecord> {
    let mut tracker = Tracker::new(options);
    let mut flows = Vec::new();
    decode(packets, |packet| {
        tracker.packet(packet, |flow| flows.push(flow));
    });
    tracker.finish(|flow| flows.push(flow));
    assert!(tracker.table().is_empty());
    flows.sort_by_key(|flow| (flow.number, flow.part));
    flows
}

/// The packets of a capture file.
pub(crate) fn read(path: &Path) -> Vec<Sent> {
    let mut packets = Vec::new();
    let Ok(mut reader) = weir_capture::open(path) else {
        return packets;
    };
    while let Ok(Some(record)) = reader.next() {
        packets.push(Sent {
            time_ns: record.time_ns.unwrap_or(0),
            link_type: record.link_type,
            bytes: record.data.to_vec(),
            wire_len: record.wire_len,
        });
    }
    packets
}

/// The public captures that are listed, which stand beside the checkout; none where they do not.
pub(crate) fn shared() -> Vec<PathBuf> {
    let listed = captures::FOLDERS.map(captures::listed).concat();
    let mut found: Vec<PathBuf> = listed.into_iter().map(|file| file.path).collect();
    found.sort();
    if found.is_empty() {
        weir_testkit::missing("captures", &captures::data().display().to_string());
    }
    found
}

/// Puts values into an order by chance.
pub(crate) fn shuffle<T>(random: &mut Rng, values: &mut [T]) {
    for index in (1..values.len()).rev() {
        values.swap(index, random.below(index as u64 + 1) as usize);
    }
}
