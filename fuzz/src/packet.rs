//! Decoding packets: any bytes, as any link type, as deep as anyone may ask.

use std::hint::black_box;
use std::sync::LazyLock;

use weir_packet::{
    AtmVcMux, Decoder, ErfHdlc, Field, Frame, Get, Layer, LinkType, Needs, Options, Packet, fields,
};

use crate::bits::Bits;

/// Decodes one packet. The input starts with its link type, the options, the wire length and the columns for a second decoder.
pub fn decode(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let link_type = link_type(&mut bits);
    let options = options(&mut bits);
    let longer = u32::from(bits.u8());
    let chosen: [_; 3] = std::array::from_fn(|_| bits.pick_of_many(&FIELDS));
    let mut frame = Frame::new(link_type, bits.0);
    frame.wire_len = frame.wire_len.saturating_add(longer);
    frame.interface_name = Some("eth0");
    frame.time_ns = Some(1);

    let mut decoder = Decoder::new(options.clone(), [Needs::All]);
    let packet = decoder.decode(frame);
    check(&packet);
    read_all(&packet);

    let asked = chosen.len().min(1 + (longer & 3) as usize);
    let chosen = &chosen[..asked];
    let needs = chosen.iter().map(|(_, needs)| *needs);
    let mut lazy = Decoder::new(options, needs);
    let shallow = lazy.decode(frame);
    check(&shallow);
    for (field, needs) in chosen {
        assert!(
            same(field.get, &packet, &shallow),
            "{} differs when decoded only for {needs:?}: {} with everything, {} alone",
            field.name,
            shown(field.get, &packet),
            shown(field.get, &shallow),
        );
    }
}

/// Packets through one decoder, with tight limits on the cells that wait. Each is a byte of link
/// type, two of length and its bytes.
pub fn stream(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let mut options = options(&mut bits);
    let connections_max = usize::from(bits.u8() % 8);
    options.aal5_connections_max = connections_max;
    options.aal5_bytes_max = usize::from(bits.u8()) << 12;
    let mut decoder = Decoder::new(options.clone(), [Needs::All]);
    let mut number = 0;
    while !bits.0.is_empty() {
        number += 1;
        let link_type = link_type(&mut bits);
        let len = usize::from(bits.u8()) | usize::from(bits.u8() & 3) << 8;
        let data = bits.chunk(len);
        // Long PDUs are cheap to write this way, and only they reach some of the limits.
        let times = if len & 0x201 == 0x201 { 200 } else { 1 };
        let mut frame = Frame::new(link_type, data);
        frame.number = number;
        for _ in 1..times {
            check(&decoder.decode(frame));
        }
        let mut fresh = Decoder::new(options.clone(), [Needs::All]);
        let alone = fresh.decode(frame);
        let packet = decoder.decode(frame);
        check(&packet);
        if alone.has(Layer::Atm) {
            read_all(&packet);
        } else {
            // The packets before do not affect this one.
            for (field, _) in FIELDS.iter() {
                assert!(
                    same(field.get, &packet, &alone),
                    "{} hangs on the packets before: {}, {} alone",
                    field.name,
                    shown(field.get, &packet),
                    shown(field.get, &alone),
                );
            }
        }
        let counters = decoder.aal5_counters();
        assert!(decoder.aal5_waiting() <= connections_max.max(1));
        assert!(
            counters.pdus + counters.checksum_errors + counters.length_errors <= counters.cells
        );
    }
}

/// Every field with what it needs.
pub(crate) static FIELDS: LazyLock<Vec<(&'static Field, Needs)>> =
    LazyLock::new(|| fields().collect());

/// The link types that are decoded, and at the end some that are not.
pub const LINK_TYPES: &[u32] = &[
    1, 0, 6, 7, 9, 10, 11, 12, 14, 16, 18, 19, 50, 51, 100, 101, 104, 105, 106, 107, 108, 113, 119,
    123, 127, 163, 182, 192, 197, 206, 219, 226, 228, 229, 239, 240, 276, 189, 147, 301, 65_535,
];

fn link_type(bits: &mut Bits<'_>) -> LinkType {
    match bits.u8() {
        255 => LinkType(bits.u32()),
        index => LinkType(LINK_TYPES[usize::from(index) % LINK_TYPES.len()]),
    }
}

fn options(bits: &mut Bits<'_>) -> Options {
    let choice = bits.u8();
    let mut options = Options::default();
    options.erf_hdlc = match choice & 7 {
        1 => ErfHdlc::Chdlc,
        2 => ErfHdlc::Ppp,
        3 => ErfHdlc::FrameRelay,
        4 => ErfHdlc::Mtp2,
        _ => ErfHdlc::Guess,
    };
    options.atm_vc_mux = match choice >> 3 & 7 {
        1 => AtmVcMux::Llc,
        2 => AtmVcMux::Ip,
        3 => AtmVcMux::BridgedEthernet,
        4 => AtmVcMux::Ppp,
        5 => AtmVcMux::Opaque,
        _ => AtmVcMux::Guess,
    };
    options
}

/// Checks that the properties of a packet are consistent.
pub(crate) fn check(packet: &Packet<'_>) {
    let data = packet.frame().data;
    let mut seen = Vec::new();
    for layer in packet.layers() {
        assert!(packet.has(layer) && !seen.contains(&layer));
        seen.push(layer);
        let bytes = packet
            .bytes(layer)
            .expect("a layer that is there has bytes");
        assert!(!bytes.is_empty());
        // Only what was put together from cells lies elsewhere, and is no longer than a PDU.
        if !lies_within(bytes, data) {
            assert!(
                packet.has(Layer::Atm) && bytes.len() <= 65_535 + 8 + 48,
                "{layer:?}"
            );
        }
        let declared = packet.declared_len(layer).expect("as the bytes");
        assert!(
            bytes.len() <= declared as usize,
            "{layer:?} has more bytes than are declared"
        );
    }
    assert_eq!(
        seen.len(),
        Layer::all().filter(|layer| packet.has(*layer)).count()
    );
    for layer in [packet.network(), packet.transport()].into_iter().flatten() {
        black_box(packet.is_quoted(layer));
    }
    if let Some(stop) = packet.stop() {
        assert!(!stop.to_string().is_empty());
        assert!(stop.offset as usize <= data.len().max(65_535 + 8 + 48));
    }
}

fn lies_within(part: &[u8], whole: &[u8]) -> bool {
    let (part, whole) = (part.as_ptr_range(), whole.as_ptr_range());
    whole.start <= part.start && part.end <= whole.end
}

/// Reads every field.
pub(crate) fn read_all(packet: &Packet<'_>) {
    let mut text = String::new();
    for (field, _) in FIELDS.iter() {
        match field.get {
            Get::Bool(get) => drop(black_box(get(packet))),
            Get::U8(get) => drop(black_box(get(packet))),
            Get::U16(get) => drop(black_box(get(packet))),
            Get::U32(get) => drop(black_box(get(packet))),
            Get::U64(get) => drop(black_box(get(packet))),
            Get::Time(get) => drop(black_box(get(packet))),
            Get::Address(get) => {
                if let Some(address) = get(packet) {
                    assert!(matches!(address.as_bytes().len(), 4 | 6 | 8 | 16));
                    black_box(address.to_string());
                }
            }
            Get::Bytes(get) => {
                if let Some(bytes) = get(packet) {
                    let data = packet.frame().data;
                    assert!(
                        lies_within(bytes, data) || packet.has(Layer::Atm),
                        "{}",
                        field.name
                    );
                    assert!(bytes.len() <= data.len().max(65_535));
                }
            }
            Get::Text(get) => drop(black_box(get(packet).map(str::len))),
            Get::Write(write) => {
                text.clear();
                let written = write(packet, &mut text).expect("a String takes all text");
                assert!(
                    written || text.is_empty(),
                    "{} writes and says NULL",
                    field.name
                );
                // Even lists of options stay in proportion to the packet.
                assert!(text.len() <= 1024 + 64 * packet.frame().data.len().max(65_535));
            }
        }
    }
}

/// Returns true when two packets have the same value.
fn same(get: Get, one: &Packet<'_>, other: &Packet<'_>) -> bool {
    match get {
        Get::Bool(get) => get(one) == get(other),
        Get::U8(get) => get(one) == get(other),
        Get::U16(get) => get(one) == get(other),
        Get::U32(get) => get(one) == get(other),
        Get::U64(get) => get(one) == get(other),
        Get::Time(get) => get(one) == get(other),
        Get::Address(get) => get(one) == get(other),
        Get::Bytes(get) => get(one) == get(other),
        Get::Text(get) => get(one) == get(other),
        Get::Write(_) => shown(get, one) == shown(get, other),
    }
}

/// The value as text, for messages.
fn shown(get: Get, packet: &Packet<'_>) -> String {
    match get {
        Get::Bool(get) => format!("{:?}", get(packet)),
        Get::U8(get) => format!("{:?}", get(packet)),
        Get::U16(get) => format!("{:?}", get(packet)),
        Get::U32(get) => format!("{:?}", get(packet)),
        Get::U64(get) => format!("{:?}", get(packet)),
        Get::Time(get) => format!("{:?}", get(packet)),
        Get::Address(get) => format!("{:?}", get(packet)),
        Get::Bytes(get) => format!("{:?}", get(packet)),
        Get::Text(get) => format!("{:?}", get(packet)),
        Get::Write(write) => {
            let mut text = String::new();
            let written = write(packet, &mut text);
            format!("{written:?} {text}")
        }
    }
}
