//! The Ethernet trace.

use super::traffic::Traffic;
use super::{RecordSink, START_NS, Trace};
use crate::packet::ethertype;
use std::io::{self, Write};

/// Writes a pcap file (little-endian, microseconds, link type 1) of at most `bytes` bytes, and less
/// than a record short of it: TCP, UDP, ICMP over IPv4 and IPv6, one frame in six with a VLAN tag,
/// a few with two, a few ARP, a few later fragments without ports.
///
/// # Errors
/// The errors of `out`.
///
/// ```
/// let mut file = Vec::new();
/// let trace = weir_samples::trace::ethernet_pcap(&mut file, 1, 100_000)?;
/// assert_eq!(trace.bytes, file.len() as u64);
/// assert!(trace.bytes > 98_000 && trace.records > 200);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn ethernet_pcap(out: impl Write, seed: u64, bytes: u64) -> io::Result<Trace> {
    let mut output = RecordSink::new(out, bytes);
    output.append(|file| {
        file.extend_from_slice(&0xa1b2_c3d4_u32.to_le_bytes());
        file.extend_from_slice(&[2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        file.extend_from_slice(&65_535_u32.to_le_bytes());
        file.extend_from_slice(&1_u32.to_le_bytes());
    })?;
    let mut traffic = Traffic::new(seed);
    let mut time_us = START_NS / 1_000;
    loop {
        // 1,600 packets a second on average.
        time_us += traffic.rng.below(1_250);
        let written = if traffic.rng.below(200) == 0 {
            let target = traffic.rng.next_u8();
            output.record(|file| write_arp(file, time_us, target))?
        } else {
            let packet = traffic.next_packet();
            output.record(|file| {
                let mut link = [0_u8; 22];
                let (src, dst) = match packet.from_client {
                    true => (1, 2),
                    false => (2, 1),
                };
                link[0] = 2;
                link[5] = dst;
                link[6] = 2;
                link[11] = src;
                let inner = if packet.ipv6 {
                    ethertype::IPV6
                } else {
                    ethertype::IPV4
                };
                let tag = packet.place & 0x0fff;
                let link_len = match packet.place % 64 {
                    0..10 => {
                        put(&mut link, 12, [ethertype::VLAN, tag, inner, 0]);
                        18
                    }
                    10..12 => {
                        put(
                            &mut link,
                            12,
                            [ethertype::SERVICE_VLAN, 300, ethertype::VLAN, tag],
                        );
                        put(&mut link, 20, [inner]);
                        22
                    }
                    _ => {
                        put(&mut link, 12, [inner]);
                        14
                    }
                };
                let frame_len = (link_len + packet.len()).max(60);
                let end = file.len() + 16 + frame_len;
                write_record_header(file, time_us, frame_len as u32);
                file.extend_from_slice(&link[..link_len]);
                file.extend_from_slice(packet.header);
                file.extend_from_slice(packet.payload);
                file.resize(end, 0);
            })?
        };
        if !written {
            return output.finish();
        }
    }
}

fn put<const N: usize>(bytes: &mut [u8], at: usize, words: [u16; N]) {
    for (index, word) in words.iter().enumerate() {
        bytes[at + index * 2..at + index * 2 + 2].copy_from_slice(&word.to_be_bytes());
    }
}

fn write_record_header(file: &mut Vec<u8>, time_us: u64, frame_len: u32) {
    let mut header = [0; 16];
    header[..4].copy_from_slice(&((time_us / 1_000_000) as u32).to_le_bytes());
    header[4..8].copy_from_slice(&((time_us % 1_000_000) as u32).to_le_bytes());
    header[8..12].copy_from_slice(&frame_len.to_le_bytes());
    header[12..].copy_from_slice(&frame_len.to_le_bytes());
    file.extend_from_slice(&header);
}

fn write_arp(file: &mut Vec<u8>, time_us: u64, target: u8) {
    let mac = [2, 0, 0, 0, 0, 1];
    let question = crate::packet::arp(
        1,
        (mac, [10, 0, 0, 1].into()),
        ([0; 6], [10, 0, 0, target].into()),
    );
    let frame = crate::packet::ethernet([0xff; 6], mac, ethertype::ARP, &question);
    write_record_header(file, time_us, frame.len() as u32);
    file.extend_from_slice(&frame);
}
