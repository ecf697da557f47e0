//! A private recorder's file: frame relay on T1 lines behind a fixed header of its own.
//!
//! Every record, big-endian throughout:
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 4 | seconds since 1970 |
//! | 4 | 4 | microseconds |
//! | 8 | 2 | length of the record, this header included |
//! | 10 | 2 | length of the frame on the line |
//! | 12 | 1 | high four bits: message type; bit 0: sent by the network's side; bit 1: cut |
//! | 13 | 1 | board |
//! | 14 | 1 | interface: the T1 line on the board |
//! | 15 | 1 | channel of the line, 1 to 24 |
//! | 16 | | payload |
//!
//! The payload is by message type: 1 data, a frame relay frame without flags and FCS; 2 status,
//! two 32-bit counts (frames seen, frames with errors) since the recorder started; 3 lost, one
//! 32-bit count of frames that the recorder had no room for. A record is not padded, and the file
//! has no header.

use super::wan::{WanLine, frame_relay_traffic};
use crate::Rng;

/// The file and the number of its records.
pub(super) fn file(rng: &mut Rng) -> (Vec<u8>, u64) {
    let mut out = Vec::new();
    let mut records = 0;
    let mut seen = 0_u32;
    let lines = [(0, 0, 1), (0, 0, 7), (0, 1, 3), (1, 0, 24), (1, 2, 12)];
    let lines = lines.map(|(board, interface, channel)| WanLine {
        board,
        interface,
        channel,
    });
    for event in frame_relay_traffic(rng, &lines, 40) {
        let captured = &event.frame[..event.frame.len().min(CAPTURE_BYTES_MAX)];
        let cut = u8::from(captured.len() < event.frame.len()) << 1;
        let low = u8::from(!event.from_client) | cut;
        let wire_len = event.frame.len();
        push(
            &mut out,
            event.time_ns,
            (DATA, low),
            event.line,
            wire_len,
            captured,
        );
        seen += 1;
        records += 1;
        if seen.is_multiple_of(100) {
            let mut counts = seen.to_be_bytes().to_vec();
            counts.extend_from_slice(&(seen / 90).to_be_bytes());
            push(&mut out, event.time_ns, (STATUS, 0), event.line, 0, &counts);
            records += 1;
        }
        if rng.below(250) == 0 {
            let lost = rng.between(1, 20) as u32;
            push(
                &mut out,
                event.time_ns,
                (LOST, 0),
                event.line,
                0,
                &lost.to_be_bytes(),
            );
            records += 1;
        }
    }
    (out, records)
}

fn push(
    out: &mut Vec<u8>,
    time_ns: u64,
    (message, low_bits): (u8, u8),
    line: WanLine,
    wire_len: usize,
    payload: &[u8],
) {
    out.extend_from_slice(&((time_ns / 1_000_000_000) as u32).to_be_bytes());
    out.extend_from_slice(&((time_ns % 1_000_000_000 / 1_000) as u32).to_be_bytes());
    out.extend_from_slice(&((16 + payload.len()) as u16).to_be_bytes());
    out.extend_from_slice(&(wire_len as u16).to_be_bytes());
    out.extend_from_slice(&[
        (message << 4) | low_bits,
        line.board,
        line.interface,
        line.channel,
    ]);
    out.extend_from_slice(payload);
}

const DATA: u8 = 1;
const STATUS: u8 = 2;
const LOST: u8 = 3;
/// The recorder keeps this much of a frame.
const CAPTURE_BYTES_MAX: usize = 512;
