//! The frame relay trace.

use super::traffic::Traffic;
use super::{RecordSink, START_NS, Trace};
use crate::Rng;
use crate::capture::{erf_flags, erf_timestamp, erf_type, mc_hdlc};
use crate::packet::{FrameRelay, Lmi, ethertype};
use crate::words::text;
use std::io::{self, Write};

/// Writes ERF records of type `MC_HDLC`, at most `bytes` bytes and less than a record short of it:
/// frame relay on 96 channels of T1 lines, without FCS.
///
/// Where the fields of the published queries are:
///
/// - **message type** is the high four bits of the flags byte (offset 9): 0 a good frame (97 in a
///   hundred), 1 the receiver saw an error, 2 the card did. In these bits ERF itself keeps its
///   receive and internal errors, so that the file is an ordinary one;
/// - **board** is the interface number, the low two bits of the flags byte;
/// - **interface** (the T1 line, 0 to 3) and **channel** (1, 5, 9 … 21) share the connection number
///   of the multi-channel header: `interface << 5 | channel`;
/// - **control and NLPID** follow the two bytes of the frame's address.
///
/// Seven circuits in ten carry IP behind NLPID 0xCC (IPv6 behind 0x8E), two by SNAP, one in Cisco's
/// way; a frame in ten is other traffic: link management, DEC's cluster protocol, an experiment.
///
/// # Errors
/// The errors of `out`.
///
/// ```
/// let mut file = Vec::new();
/// let trace = weir_samples::trace::frame_relay_erf(&mut file, 1, 100_000)?;
/// assert_eq!(trace.bytes, file.len() as u64);
/// assert_eq!(file[8], 5);
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn frame_relay_erf(out: impl Write, seed: u64, bytes: u64) -> io::Result<Trace> {
    let mut output = RecordSink::new(out, bytes);
    let mut traffic = Traffic::new(seed);
    let others = other_frames(&mut traffic.rng);
    let mut time_ns = START_NS;
    loop {
        time_ns += traffic.rng.below(1_300_000);
        let message = match traffic.rng.below(100) {
            0..2 => erf_flags::RECEIVE_ERROR,
            2 => erf_flags::INTERNAL_ERROR,
            _ => 0,
        };
        let written = if traffic.rng.percent(10) {
            let frame = traffic.rng.pick(&others);
            let circuit = traffic.rng.below(CIRCUITS) as u16;
            output.record(|file| {
                write_record_header(file, time_ns, message, circuit, frame.len());
                file.extend_from_slice(frame);
                pad(file);
            })?
        } else {
            let packet = traffic.next_packet();
            let circuit = packet.place % CIRCUITS as u16;
            let dlci = 100 + (packet.place >> 8) % 16;
            let (link, link_len) = link_header(circuit, dlci, packet.ipv6);
            output.record(|file| {
                write_record_header(file, time_ns, message, circuit, link_len + packet.len());
                file.extend_from_slice(&link[..link_len]);
                file.extend_from_slice(packet.header);
                file.extend_from_slice(packet.payload);
                pad(file);
            })?
        };
        if !written {
            return output.finish();
        }
    }
}

/// Address, control, NLPID and what else stands in front of IP on this circuit.
fn link_header(circuit: u16, dlci: u16, ipv6: bool) -> ([u8; 10], usize) {
    let kind = if ipv6 {
        ethertype::IPV6
    } else {
        ethertype::IPV4
    }
    .to_be_bytes();
    let mut link = [0; 10];
    link[0] = ((dlci >> 4) as u8) << 2;
    link[1] = (((dlci & 0x0f) as u8) << 4) | 1;
    let len = match circuit % 10 {
        0..7 => {
            link[2..4].copy_from_slice(&[0x03, if ipv6 { 0x8e } else { 0xcc }]);
            4
        }
        7..9 => {
            link[2..8].copy_from_slice(&[0x03, 0x00, 0x80, 0, 0, 0]);
            link[8..10].copy_from_slice(&kind);
            10
        }
        _ => {
            link[2..4].copy_from_slice(&kind);
            4
        }
    };
    (link, len)
}

/// Frames that carry no IP.
fn other_frames(rng: &mut Rng) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for number in 0..32_u8 {
        let enquiry = Lmi::StatusEnquiry {
            full: number == 0,
            send: number + 1,
            received: number,
        };
        let status = Lmi::Status {
            send: number + 1,
            received: number + 1,
            circuits: &[(100, true)],
        };
        frames.push(FrameRelay::lmi(&enquiry));
        frames.push(FrameRelay::lmi(&status));
        for protocol in [0x6007, 0x88b5] {
            let len = rng.between(100, 1_100) as usize;
            let payload = text(rng, len);
            frames.push(FrameRelay::new(100 + u32::from(number)).snap(protocol, &payload));
        }
    }
    frames
}

fn write_record_header(
    file: &mut Vec<u8>,
    time_ns: u64,
    message: u8,
    circuit: u16,
    frame_len: usize,
) {
    let board = (circuit % 4) as u8;
    let line = (circuit / 4) % 4;
    let channel = 1 + (circuit / 16) * 4;
    let record_len = (20 + frame_len).next_multiple_of(8);
    let mut header = [0; 20];
    header[..8].copy_from_slice(&erf_timestamp(time_ns).to_le_bytes());
    header[8] = erf_type::MC_HDLC;
    header[9] = board | erf_flags::VARYING_LENGTH | message;
    header[10..12].copy_from_slice(&(record_len as u16).to_be_bytes());
    header[14..16].copy_from_slice(&(frame_len as u16).to_be_bytes());
    header[16..].copy_from_slice(&mc_hdlc((line << 5) | channel, 0).to_be_bytes());
    file.extend_from_slice(&header);
}

/// Fills up to a multiple of eight. The buffer's earlier pieces all end on one.
fn pad(file: &mut Vec<u8>) {
    file.resize(file.len().next_multiple_of(8), 0);
}

const CIRCUITS: u64 = 96;
