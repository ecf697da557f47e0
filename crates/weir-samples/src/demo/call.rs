//! A call with its voice: for a third of it the way back loses packets and delays others.

use super::wire::{Wire, WireEnd};
use crate::Rng;
use std::io;
use std::net::Ipv4Addr;

const CALLER: WireEnd = (Ipv4Addr::new(10, 1, 0, 5), 5_060);
const CALLEE: WireEnd = (Ipv4Addr::new(192, 0, 2, 60), 5_060);
const VOICE: [u16; 2] = [16_400, 30_400];

/// The capture, and how many packets it has: a call of 48 seconds, the same on every machine.
///
/// # Errors
/// The errors of the writer of captures.
pub fn call_pcap() -> io::Result<(Vec<u8>, u64)> {
    let mut wire = Wire::default();
    for (at_ms, is_asked, line, cseq, has_media) in [
        (
            0,
            true,
            "INVITE sip:bob@far.example SIP/2.0",
            "1 INVITE",
            true,
        ),
        (60, false, "SIP/2.0 180 Ringing", "1 INVITE", false),
        (1_900, false, "SIP/2.0 200 OK", "1 INVITE", true),
        (
            1_930,
            true,
            "ACK sip:bob@far.example SIP/2.0",
            "1 ACK",
            false,
        ),
        (
            50_000,
            true,
            "BYE sip:bob@far.example SIP/2.0",
            "2 BYE",
            false,
        ),
        (50_040, false, "SIP/2.0 200 OK", "2 BYE", false),
    ] {
        let message = message(line, cseq, is_asked, has_media);
        let (from, to) = match is_asked {
            true => (CALLER, CALLEE),
            false => (CALLEE, CALLER),
        };
        wire.datagram(at_ms, from, to, &message);
    }
    let mut rng = Rng::new(2_100);
    for packet in 0..2_400_u16 {
        let sent_ms = 2_000 + u64::from(packet) * 20;
        let ends = ((CALLER.0, VOICE[0]), (CALLEE.0, VOICE[1]));
        let late_ms = rng.below(3);
        wire.datagram(
            sent_ms + late_ms,
            ends.0,
            ends.1,
            &voice(&mut rng, packet, 0x5eed_0001),
        );
        // The way back is crowded from the second 16 to the second 32.
        let is_crowded = (16_000..32_000).contains(&(sent_ms - 2_000));
        let sound = voice(&mut rng, packet, 0x5eed_0002);
        let (late_ms, is_lost) = match is_crowded {
            true => (rng.below(70), rng.below(100) < 7),
            false => (rng.below(3), false),
        };
        if !is_lost {
            wire.datagram(sent_ms + late_ms, ends.1, ends.0, &sound);
        }
    }
    wire.pcap(1_767_225_600)
}

/// A packet of 20 milliseconds of sound: RTP version 2, PCMU (RFC 3550 section 5.1, RFC 3551).
fn voice(rng: &mut Rng, packet: u16, source: u32) -> Vec<u8> {
    let mut sound = vec![0x80, u8::from(packet == 0) << 7];
    sound.extend((packet + 1).to_be_bytes());
    sound.extend((u32::from(packet) * 160).to_be_bytes());
    sound.extend(source.to_be_bytes());
    sound.extend(rng.bytes(160));
    sound
}

fn message(line: &str, cseq: &str, is_asked: bool, has_media: bool) -> Vec<u8> {
    let side = usize::from(!is_asked);
    let address = [CALLER.0, CALLEE.0][side];
    let body = match has_media {
        true => format!(
            "v=0\r\no=- 1 1 IN IP4 {address}\r\ns=-\r\nc=IN IP4 {address}\r\nt=0 0\r\n\
             m=audio {} RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\n",
            VOICE[side]
        ),
        false => String::new(),
    };
    let kind = match has_media {
        true => "Content-Type: application/sdp\r\n",
        false => "",
    };
    let tag = match cseq == "1 INVITE" && is_asked {
        true => "",
        false => ";tag=2",
    };
    format!(
        "{line}\r\nVia: SIP/2.0/UDP 10.1.0.5:5060;branch=z9hG4bK{}\r\nMax-Forwards: 70\r\n\
         From: <sip:alice@office.example>;tag=1\r\nTo: <sip:bob@far.example>{tag}\r\n\
         Call-ID: voice-call\r\nCSeq: {cseq}\r\nContact: <sip:{address}:5060>\r\n{kind}\
         Content-Length: {}\r\n\r\n{body}",
        cseq.replace(' ', ""),
        body.len()
    )
    .into_bytes()
}
