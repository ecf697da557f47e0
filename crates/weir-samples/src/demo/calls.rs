//! Telephones that register, and calls: one with its voice, one from a trunk that was diverted, one that is taken back.

use super::wire::{Wire, WireEnd};
use crate::Rng;
use std::io;
use std::net::Ipv4Addr;

const ALICE: WireEnd = (Ipv4Addr::new(10, 3, 0, 11), 5_060);
const BOB: WireEnd = (Ipv4Addr::new(10, 3, 0, 12), 5_060);
const EXCHANGE: WireEnd = (Ipv4Addr::new(10, 3, 0, 2), 5_060);
const TRUNK: WireEnd = (Ipv4Addr::new(198, 51, 100, 20), 5_060);
const ALICE_VOICE: WireEnd = (ALICE.0, 40_000);
const BOB_VOICE: WireEnd = (BOB.0, 42_000);

/// The capture, and how many packets it has.
pub(super) fn calls_pcap(rng: &mut Rng) -> io::Result<(Vec<u8>, u64)> {
    let mut wire = Wire::default();
    register(&mut wire, 0, ALICE, "alice", true);
    register(&mut wire, 300, BOB, "bob", false);
    register(&mut wire, 900, BOB, "bob", true);
    answered(&mut wire, 2_000);
    voice(&mut wire, 4_300, rng);
    diverted(&mut wire, 16_000);
    taken_back(&mut wire, 20_000);
    wire.pcap(1_767_261_600)
}

/// A message: its first line, the From, To and Call-ID that identify its dialog, and more headers.
fn message(line: &str, who: (&str, &str, &str), cseq: &str, more: &str, body: &str) -> Vec<u8> {
    let (from, to, id) = who;
    format!(
        "{line}\r\nVia: SIP/2.0/UDP 10.3.0.11:5060;branch=z9hG4bK{id}{}\r\nMax-Forwards: 70\r\nFrom: {from}\r\n\
         To: {to}\r\nCall-ID: {id}\r\nCSeq: {cseq}\r\n{more}Content-Length: {}\r\n\r\n{body}",
        cseq.replace(' ', ""),
        body.len()
    )
    .into_bytes()
}

/// A telephone registers: the server challenges it, and accepts or refuses it.
fn register(wire: &mut Wire, at_ms: u64, phone: WireEnd, user: &str, is_known: bool) {
    let id = format!("register-{user}-{at_ms}");
    let from = format!("<sip:{user}@office.example>;tag=r{at_ms}");
    let to = format!("<sip:{user}@office.example>");
    let tagged = format!("{to};tag=x");
    let line = "REGISTER sip:office.example SIP/2.0";
    let contact = format!(
        "Contact: <sip:{user}@{}:5060>\r\nExpires: 3600\r\nUser-Agent: Desk Phone 7\r\n",
        phone.0
    );
    let asks = "WWW-Authenticate: Digest realm=\"office.example\", nonce=\"f84f1cec\"\r\n";
    let knows = format!(
        "{contact}Authorization: Digest username=\"{user}\", realm=\"office.example\", nonce=\"f84f1cec\", \
         uri=\"sip:office.example\", response=\"6629fae49393a05397450978507c4ef1\"\r\n"
    );
    let granted = format!(
        "Contact: <sip:{user}@{}:5060>;expires=3600\r\nExpires: 3600\r\n",
        phone.0
    );
    let (open, closed) = ((&*from, &*to, &*id), (&*from, &*tagged, &*id));
    let first = message(line, open, "1 REGISTER", &contact, "");
    let asked = message("SIP/2.0 401 Unauthorized", closed, "1 REGISTER", asks, "");
    let second = message(line, open, "2 REGISTER", &knows, "");
    let outcome = match is_known {
        true => message("SIP/2.0 200 OK", closed, "2 REGISTER", &granted, ""),
        false => message("SIP/2.0 403 Forbidden", closed, "2 REGISTER", "", ""),
    };
    wire.datagram(at_ms, phone, EXCHANGE, &first);
    wire.datagram(at_ms + 4, EXCHANGE, phone, &asked);
    wire.datagram(at_ms + 20, phone, EXCHANGE, &second);
    wire.datagram(at_ms + 27, EXCHANGE, phone, &outcome);
}

/// The description of a voice stream (RFC 4566).
fn sdp(user: &str, voice: WireEnd) -> String {
    let (address, port) = voice;
    format!(
        "v=0\r\no={user} 1 1 IN IP4 {address}\r\ns=-\r\nc=IN IP4 {address}\r\nt=0 0\r\nm=audio {port} RTP/AVP 0 101\r\n\
         a=rtpmap:0 PCMU/8000\r\na=rtpmap:101 telephone-event/8000\r\na=ptime:20\r\n"
    )
}

/// A call that is answered, of which the voice is in the capture.
fn answered(wire: &mut Wire, at_ms: u64) {
    let from = "\"Alice\" <sip:alice@office.example>;tag=a1";
    let (to, tagged) = (
        "<sip:bob@office.example>",
        "<sip:bob@office.example>;tag=b1",
    );
    let (open, closed) = ((from, to, "voice-call"), (from, tagged, "voice-call"));
    let described = "Content-Type: application/sdp\r\n";
    let contact = "Contact: <sip:alice@10.3.0.11:5060>\r\nUser-Agent: Desk Phone 7\r\n";
    let answers = "Contact: <sip:bob@10.3.0.12:5060>\r\nServer: Exchange 3\r\n";
    let invite = message(
        "INVITE sip:bob@office.example SIP/2.0",
        open,
        "1 INVITE",
        &format!("{contact}{described}"),
        &sdp("alice", ALICE_VOICE),
    );
    let ok = message(
        "SIP/2.0 200 OK",
        closed,
        "1 INVITE",
        &format!("{answers}{described}"),
        &sdp("bob", BOB_VOICE),
    );
    let plain = |line: &str, cseq: &str, more: &str| message(line, closed, cseq, more, "");
    for (after, from, to, message) in [
        (0, ALICE, EXCHANGE, invite),
        (
            3,
            EXCHANGE,
            ALICE,
            message("SIP/2.0 100 Trying", open, "1 INVITE", "", ""),
        ),
        (
            120,
            EXCHANGE,
            ALICE,
            plain("SIP/2.0 180 Ringing", "1 INVITE", answers),
        ),
        (2_250, EXCHANGE, ALICE, ok),
        (
            2_260,
            ALICE,
            EXCHANGE,
            plain("ACK sip:bob@10.3.0.12:5060 SIP/2.0", "1 ACK", ""),
        ),
        (
            10_800,
            ALICE,
            EXCHANGE,
            plain("BYE sip:bob@10.3.0.12:5060 SIP/2.0", "2 BYE", ""),
        ),
        (
            10_815,
            EXCHANGE,
            ALICE,
            plain("SIP/2.0 200 OK", "2 BYE", ""),
        ),
    ] {
        wire.datagram(at_ms + after, from, to, &message);
    }
}

/// Eight seconds of voice in both directions; the network loses some of what Bob says, and holds some of it up.
fn voice(wire: &mut Wire, at_ms: u64, rng: &mut Rng) {
    const PACKETS: u32 = 400;
    for (from, to, ssrc, is_bad) in [
        (ALICE_VOICE, BOB_VOICE, 0x0a11_ce00_u32, false),
        (BOB_VOICE, ALICE_VOICE, 0x0b0b_0000, true),
    ] {
        for number in 0..PACKETS {
            let (is_lost, held_up_ms) = match is_bad {
                true => (matches!(number, 100 | 180..=184 | 300), rng.below(14)),
                false => (false, 0),
            };
            if is_lost {
                continue;
            }
            let mut packet = vec![0x80, if number == 0 { 0x80 } else { 0 }];
            packet.extend((1_000 + number as u16).to_be_bytes());
            packet.extend((number * 160).to_be_bytes());
            packet.extend(ssrc.to_be_bytes());
            packet.extend((0..160_u32).map(|at| 0x7f - ((number + at) % 16) as u8));
            let sent_ms = at_ms + u64::from(number) * 20;
            wire.datagram(sent_ms + held_up_ms, from, to, &packet);
        }
    }
    for (after, from, to, ssrc, other, lost, jitter) in [
        (
            4_000,
            ALICE_VOICE,
            BOB_VOICE,
            0x0a11_ce00_u32,
            0x0b0b_0000_u32,
            1_u8,
            35_u32,
        ),
        (
            4_100,
            BOB_VOICE,
            ALICE_VOICE,
            0x0b0b_0000,
            0x0a11_ce00,
            0,
            2,
        ),
        (
            7_900,
            ALICE_VOICE,
            BOB_VOICE,
            0x0a11_ce00,
            0x0b0b_0000,
            7,
            41,
        ),
    ] {
        let mut report = vec![0x81, 200, 0, 12];
        report.extend(ssrc.to_be_bytes());
        let seconds = 3_976_250_400_u32 + (at_ms + after) as u32 / 1_000;
        for word in [
            seconds,
            0,
            after as u32 * 8,
            after as u32 / 20,
            after as u32 * 8,
        ] {
            report.extend(word.to_be_bytes());
        }
        report.extend(other.to_be_bytes());
        let lost = [lost, 0, 0, lost];
        report.extend(lost);
        for word in [1_000 + after as u32 / 20, jitter, 0, 0] {
            report.extend(word.to_be_bytes());
        }
        let (from, to) = ((from.0, from.1 + 1), (to.0, to.1 + 1));
        wire.datagram(at_ms + after, from, to, &report);
    }
}

/// A call from a trunk that Carol's telephone diverts to Bob, who is busy.
fn diverted(wire: &mut Wire, at_ms: u64) {
    let from = "<sip:anonymous@anonymous.invalid>;tag=t1";
    let to = "<sip:carol@office.example>";
    let tagged = "<sip:carol@office.example>;tag=c1";
    let more = "P-Asserted-Identity: <sip:+493012345678@carrier.example>\r\nDiversion: <sip:carol@office.example>;\
                reason=no-answer;counter=1\r\nContact: <sip:198.51.100.20:5060>\r\n";
    let why = "Reason: Q.850;cause=17;text=\"User busy\"\r\n";
    let line = "INVITE sip:bob@office.example SIP/2.0";
    let open = (from, to, "trunk-call");
    let closed = (from, tagged, "trunk-call");
    wire.datagram(
        at_ms,
        TRUNK,
        EXCHANGE,
        &message(line, open, "7 INVITE", more, ""),
    );
    let trying = message("SIP/2.0 100 Trying", open, "7 INVITE", "", "");
    wire.datagram(at_ms + 2, EXCHANGE, TRUNK, &trying);
    let busy = message("SIP/2.0 486 Busy Here", closed, "7 INVITE", why, "");
    wire.datagram(at_ms + 350, EXCHANGE, TRUNK, &busy);
    let ack = message(
        "ACK sip:bob@office.example SIP/2.0",
        closed,
        "7 ACK",
        "",
        "",
    );
    wire.datagram(at_ms + 380, TRUNK, EXCHANGE, &ack);
}

/// A call that its caller takes back while it rings.
fn taken_back(wire: &mut Wire, at_ms: u64) {
    let from = "<sip:bob@office.example>;tag=b2";
    let (to, tagged) = (
        "<sip:dave@office.example>",
        "<sip:dave@office.example>;tag=d1",
    );
    let (open, closed) = ((from, to, "short-call"), (from, tagged, "short-call"));
    let line = |method: &str| format!("{method} sip:dave@office.example SIP/2.0");
    for (after, is_bob, message) in [
        (0, true, message(&line("INVITE"), open, "1 INVITE", "", "")),
        (
            110,
            false,
            message("SIP/2.0 180 Ringing", closed, "1 INVITE", "", ""),
        ),
        (
            6_000,
            true,
            message(&line("CANCEL"), open, "1 CANCEL", "", ""),
        ),
        (
            6_010,
            false,
            message("SIP/2.0 200 OK", closed, "1 CANCEL", "", ""),
        ),
        (
            6_012,
            false,
            message("SIP/2.0 487 Request Terminated", closed, "1 INVITE", "", ""),
        ),
        (6_030, true, message(&line("ACK"), closed, "1 ACK", "", "")),
    ] {
        let (from, to) = match is_bob {
            true => (BOB, EXCHANGE),
            false => (EXCHANGE, BOB),
        };
        wire.datagram(at_ms + after, from, to, &message);
    }
}
