//! WebSocket: frames and handshakes, negotiation, inputs, inflating, and the study of settings.

use std::hint::black_box;

use weir_ws::exact::{Engine, EngineOptions};
use weir_ws::{
    Cells, Connection, ConnectionEvent, Decoder, DecoderOptions, DeflateOptions, Deflater,
    Direction, Event, Format, InflateOptions, Inflater, InputOptions, InputReader, Offer, Prefix,
    Sender, ServerPolicy, Setting, Violation, kind_of, parse_offers, parse_response,
};

use crate::bits::Bits;

const LIMIT: usize = 1 << 16;

/// Checks the frames of one direction, whose messages do not depend on the chunk size, and a whole connection, whose memory stays
/// within the limits.
pub fn frames(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let flags = bits.u8();
    let piece = 1 + usize::from(bits.u8());
    let inflate = InflateOptions {
        takeover: flags & 1 != 0,
        window_bits: 8 + (flags >> 1 & 7),
        message_bytes_max: LIMIT,
    };
    let mut options = DecoderOptions::default();
    options.sender =
        [None, Some(Sender::Client), Some(Sender::Server)][usize::from(flags >> 4) % 3];
    options.inflate = (flags & 0x80 != 0).then_some(inflate);
    options.message_bytes_max = LIMIT;
    let whole = decode(bits.0, bits.0.len().max(1), options);
    assert_eq!(whole, decode(bits.0, piece, options), "pieces of {piece}");

    let mut connection = Connection::new(options);
    for (n, part) in bits.0.chunks(piece).enumerate() {
        let direction = if n % 2 == 0 {
            Direction::ToServer
        } else {
            Direction::ToClient
        };
        connection.feed(direction, part, &mut look);
    }
    connection.finish(&mut look);
    let heads: &[(Direction, &[u8])] = &[
        (Direction::ToServer, b"GET / HTTP/1.1\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n"),
        (Direction::ToClient, b"HTTP/1.1 101 \r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"),
    ];
    let mut connection = Connection::new(options);
    for &(direction, head) in heads {
        connection.feed(direction, head, &mut look);
    }
    let (before, after) = bits.0.split_at(piece.min(bits.0.len()));
    connection.feed(Direction::ToClient, before, &mut look);
    connection.gap(Direction::ToClient, u64::from(flags), &mut look);
    connection.feed(Direction::ToClient, after, &mut look);
    assert!(connection.held_bytes() <= 64 * LIMIT);
    connection.finish(&mut look);
}

fn look(event: ConnectionEvent<'_>) {
    if let ConnectionEvent::Wire(_, Event::Message(message)) = event {
        assert!(message.payload.len() <= LIMIT);
        black_box(kind_of(message.payload, false));
    }
    black_box(event);
}

type Decoded = (Vec<Vec<u8>>, Vec<Violation>);

fn decode(bytes: &[u8], piece: usize, options: DecoderOptions) -> Decoded {
    let mut decoder = Decoder::new(options);
    let mut found = Decoded::default();
    let mut each = |event: Event<'_>| match event {
        Event::Message(message) => {
            assert!(message.payload.len() <= LIMIT);
            assert!(message.frame_bytes >= message.payload_wire_bytes);
            found.0.push(message.payload.to_vec());
        }
        Event::Violation(violation) => found.1.push(violation),
        _ => {}
    };
    for part in bytes.chunks(piece) {
        decoder.feed(part, &mut each);
    }
    decoder.finish(&mut each);
    found
}

/// Headers: what was read is written and read again the same, and what a server answers to an offer
/// the client accepts.
pub fn negotiation(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let flags = bits.u8();
    let text = String::from_utf8_lossy(bits.0);
    let offers: Vec<Offer> = parse_offers(&text).into_iter().flatten().collect();
    let policy = ServerPolicy {
        server_no_context_takeover: flags & 1 != 0,
        client_no_context_takeover: flags & 2 != 0,
        server_max_window_bits: 8 + (flags >> 2 & 7),
        client_max_window_bits: 8 + (flags >> 5),
        client_limit_required: bytes.len() % 2 == 0,
    };
    for offer in &offers {
        let again = parse_offers(&offer.to_string());
        assert_eq!(again, [Ok(*offer)]);
        if let Some(agreed) = policy.accept([offer]) {
            let response = agreed.to_string();
            let accepted = parse_response(&response, &[*offer]);
            assert_eq!(accepted, Ok(Some(agreed)), "{offer} / {response}");
        }
    }
    black_box(parse_response(&text, &offers).is_ok());
}

/// Checks files of every format: the messages do not depend on the chunk sizes.
pub fn input(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let format = bits.u8();
    let piece = 1 + usize::from(bits.u8());
    let formats = [
        Format::Har,
        Format::Records,
        Format::Mitmproxy,
        Format::Lines,
        Format::Prefixed(Prefix::U16),
        Format::Prefixed(Prefix::U32),
        Format::Prefixed(Prefix::U32Le),
        Format::Prefixed(Prefix::Varint),
    ];
    let format = formats[usize::from(format) % formats.len()];
    black_box(Format::sniff(bits.0));
    let whole = read(format, bits.0, bits.0.len().max(1));
    let pieces = read(format, bits.0, piece);
    assert_eq!(whole, pieces, "{format:?} in pieces of {piece}");
}

fn read(format: Format, bytes: &[u8], piece: usize) -> (Vec<(u64, Vec<u8>)>, bool) {
    let mut options = InputOptions::default();
    options.message_bytes_max = 1000;
    options.flow_bytes_max = LIMIT;
    let mut reader = InputReader::new(format, options);
    let mut found = Vec::new();
    let mut fine = true;
    let mut each = |message: &weir_ws::InputMessage<'_>| {
        assert!(message.payload.len() <= 1000 * 4 / 3 + 4);
        found.push((message.connection, message.payload.to_vec()));
    };
    for part in bytes.chunks(piece) {
        fine &= reader.feed(part, &mut each).is_ok();
    }
    fine &= reader.finish(&mut each).is_ok();
    (found, fine)
}

/// Hostile compressed messages with any window: never more than the limit; and what a sender
/// compresses comes back without a violation.
pub fn inflate(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let flags = bits.u8();
    let cut = usize::from(bits.u8());
    let options = InflateOptions {
        takeover: flags & 1 != 0,
        window_bits: 8 + (flags >> 1 & 7),
        message_bytes_max: LIMIT,
    };
    let mut inflater = Inflater::new(options);
    let mut deflater = Deflater::new(DeflateOptions {
        takeover: options.takeover,
        window_bits: options.window_bits,
        level: flags >> 4,
    });
    let mut receiver = Inflater::new(options);
    let (one, two) = bits.0.split_at(cut.min(bits.0.len()));
    for message in [one, two, one] {
        let mut out = Vec::new();
        match inflater.message(message, &mut out) {
            Ok(seen) => assert_eq!(seen.bytes, out.len() as u64),
            Err(error) => assert!(error.inflated <= LIMIT as u64, "{error}"),
        }
        assert!(out.len() <= LIMIT);

        let mut payload = Vec::new();
        deflater.message(message, &mut payload);
        out.clear();
        let seen = receiver.message(&payload, &mut out);
        assert!(
            seen.is_ok_and(|seen| seen.beyond_window == 0 && seen.beyond_message == 0),
            "{seen:?}"
        );
        assert_eq!(out, message);
    }
}

/// The study: a setting by itself gives what it gives within the grid, in one batch or in many.
pub fn study(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let setting = Setting::from_index(usize::from(bits.u8()) << 8 | usize::from(bits.u8()));
    let messages: Vec<&[u8]> = bits.0.split(|&byte| byte == 0xff).collect();
    let run = |cells: Cells, batch_bytes: usize| {
        let mut options = EngineOptions::default();
        options.cells = cells;
        options.batch_bytes = batch_bytes;
        options.threads = 1;
        let mut engine = Engine::new(options);
        for message in &messages {
            engine.message(message, 0);
        }
        engine.finish().total()
    };
    let near = Cells::all()
        .only_levels([setting.level])
        .only_takeover(setting.takeover);
    let among = run(near, 1 << 16).compressed(setting);
    let alone = run(Cells::one(setting), 64).compressed(setting);
    assert_eq!(among, alone, "{setting}");
    assert!(among >= messages.len() as u64);
}
