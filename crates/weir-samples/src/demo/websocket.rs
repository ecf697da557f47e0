//! A web page that gets prices over a WebSocket, with permessage-deflate agreed on.

use super::START_NS;
use super::wire::{Wire, WireConnection, WireEnd};
use crate::Rng;
use std::fmt::Write as _;
use std::io;
use std::net::Ipv4Addr;

const SERVER: WireEnd = (Ipv4Addr::new(10, 3, 0, 1), 8080);

/// The capture, and how many packets it has.
pub(super) fn websocket_pcap(random: &mut Rng) -> io::Result<(Vec<u8>, u64)> {
    let mut wire = Wire::default();
    for host in 0..3_u8 {
        let client = (Ipv4Addr::new(10, 3, 0, 10 + host), 50_000);
        let begin_ms = u64::from(host) * 400;
        let mut connection = wire.connect(begin_ms, client, SERVER);
        opening(&mut wire, &mut connection, begin_ms + 10);
        let wish = b"{\"subscribe\":\"prices\"}";
        wire.send(
            begin_ms + 30,
            &mut connection,
            0,
            &frame(TEXT, wish, Some(random)),
        );
        // "Hello" as RFC 7692, section 7.2.3.2 deflates it the first and the second time.
        let hello: [&[u8]; 2] = [
            &[0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00],
            &[0xf2, 0x00, 0x11, 0x00, 0x00],
        ];
        for (at_ms, deflated) in (0..).zip(hello) {
            let frame = frame(TEXT | DEFLATED, deflated, None);
            wire.send(begin_ms + 34 + at_ms, &mut connection, 1, &frame);
        }
        for n in 0..40 {
            let at_ms = begin_ms + 50 + 25 * n;
            let message = price(random, n);
            wire.send(
                at_ms,
                &mut connection,
                1,
                &frame(TEXT, message.as_bytes(), None),
            );
            if n % 16 == 15 {
                wire.send(at_ms + 1, &mut connection, 1, &frame(PING, b"there?", None));
                let pong = frame(PONG, b"there?", Some(random));
                wire.send(at_ms + 6, &mut connection, 0, &pong);
            }
        }
        let close = frame(CLOSE, &1_000_u16.to_be_bytes(), Some(random));
        wire.send(begin_ms + 1_100, &mut connection, 0, &close);
        let close = frame(CLOSE, &1_000_u16.to_be_bytes(), None);
        wire.send(begin_ms + 1_105, &mut connection, 1, &close);
    }
    wire.pcap(START_NS / 1_000_000_000)
}

/// Such messages as lines of JSON.
pub(super) fn messages(random: &mut Rng) -> io::Result<(Vec<u8>, u64)> {
    let mut lines = String::new();
    for n in 0..300 {
        lines.push_str(&price(random, n));
        lines.push('\n');
    }
    Ok((lines.into_bytes(), 0))
}

fn opening(wire: &mut Wire, connection: &mut WireConnection, at_ms: u64) {
    // Key and answer are those of RFC 6455, section 1.3.
    let request = b"GET /prices HTTP/1.1\r\nHost: shop.example\r\nUpgrade: websocket\r\n\
        Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n";
    wire.send(at_ms, connection, 0, request);
    let response = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
        Connection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\
        Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n";
    wire.send(at_ms + 8, connection, 1, response);
}

fn price(random: &mut Rng, n: u64) -> String {
    let name = random.pick(&["barley", "copper", "cotton", "oats", "silver", "wheat"]);
    let (whole, cents) = (random.between(20, 900), random.below(100));
    let mut text =
        format!("{{\"type\":\"price\",\"name\":\"{name}\",\"value\":{whole}.{cents:02},\"n\":{n}");
    if random.percent(20) {
        let _ = write!(text, ",\"note\":\"volume {}\"", random.below(10_000));
    }
    text.push('}');
    text
}

/// A whole message in one frame, masked when a client sends it (RFC 6455, section 5.2).
fn frame(first: u8, payload: &[u8], mask: Option<&mut Rng>) -> Vec<u8> {
    let mut frame = vec![FIN | first];
    let masked = if mask.is_some() { 0x80 } else { 0 };
    match u8::try_from(payload.len()) {
        Ok(len) if len < 126 => frame.push(masked | len),
        _ => {
            frame.push(masked | 126);
            frame.extend((payload.len() as u16).to_be_bytes());
        }
    }
    let key = mask.map_or([0; 4], |random| random.next_u32().to_be_bytes());
    if masked != 0 {
        frame.extend(key);
    }
    frame.extend(
        payload
            .iter()
            .zip(key.iter().cycle())
            .map(|(byte, key)| byte ^ key),
    );
    frame
}

const FIN: u8 = 0x80;
const DEFLATED: u8 = 0x40;
const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
