//! Packets, built from their parts, and what every column of a packet says.
#![allow(dead_code, reason = "each test file uses a part of this")]

use weir_packet::{Field, Get, Packet};

/// The value of a column as text; `None` is NULL.
pub(crate) fn text(field: &Field, packet: &Packet<'_>) -> Option<String> {
    match field.get {
        Get::Bool(get) => get(packet).map(|value| value.to_string()),
        Get::U8(get) => get(packet).map(|value| value.to_string()),
        Get::U16(get) => get(packet).map(|value| value.to_string()),
        Get::U32(get) => get(packet).map(|value| value.to_string()),
        Get::U64(get) => get(packet).map(|value| value.to_string()),
        Get::Time(get) => get(packet).map(|value| value.to_string()),
        Get::Address(get) => get(packet).map(|value| value.to_string()),
        Get::Bytes(get) => get(packet).map(hex),
        Get::Text(get) => get(packet).map(str::to_owned),
        Get::Write(get) => {
            let mut out = String::new();
            get(packet, &mut out).unwrap().then_some(out)
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes from hex digits; blanks are ignored.
pub(crate) fn unhex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits
        .bytes()
        .filter(|digit| !digit.is_ascii_whitespace())
        .collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

pub(crate) fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

pub(crate) fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    join(&[
        &[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1],
        &kind.to_be_bytes(),
        payload,
    ])
}

pub(crate) fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    ipv4_with(protocol, 0x4000, &[], payload)
}

/// IPv4 with the 16 bits of flags and offset, and options.
pub(crate) fn ipv4_with(protocol: u8, fragment: u16, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let header_len = 20 + options.len();
    let mut header = join(&[
        &[0x40 | (header_len / 4) as u8, 0xb9],
        &((header_len + payload.len()) as u16).to_be_bytes(),
        &[0x12, 0x34],
        &fragment.to_be_bytes(),
        &[63, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2],
        options,
    ]);
    let sum = internet_checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    join(&[&header, payload])
}

pub(crate) fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    join(&[
        &0x6b91_2345_u32.to_be_bytes(),
        &(payload.len() as u16).to_be_bytes(),
        &[next, 62],
        &unhex("20010db8000000000000000000000001 20010db8000000000000000000000002"),
        payload,
    ])
}

pub(crate) fn udp(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
    join(&[
        &source.to_be_bytes(),
        &destination.to_be_bytes(),
        &((8 + payload.len()) as u16).to_be_bytes(),
        &[0, 0],
        payload,
    ])
}

/// TCP from port 40000 to 80.
pub(crate) fn tcp(options: &[u8], payload: &[u8]) -> Vec<u8> {
    join(&[
        &unhex("9c40 0050 01020304 05060708"),
        &[((20 + options.len()) / 4 * 16) as u8, 0x12],
        &unhex("0400 0000 0000"),
        options,
        payload,
    ])
}

/// Sums words one by one, as RFC 1071 describes it first.
pub(crate) fn internet_checksum(bytes: &[u8]) -> u16 {
    let mut sum = 0_u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(u16::from_be_bytes([
            pair[0],
            pair.get(1).copied().unwrap_or(0),
        ]));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Fills in the checksum at `offset` of a transport header that lies behind `ip_len` bytes of IP.
pub(crate) fn with_checksum(mut ip: Vec<u8>, ip_len: usize, offset: usize) -> Vec<u8> {
    let (header, transport) = ip.split_at(ip_len);
    let pseudo = if header[0] >> 4 == 4 {
        join(&[
            &header[12..20],
            &[0, header[9]],
            &(transport.len() as u16).to_be_bytes(),
        ])
    } else {
        join(&[
            &header[8..40],
            &(transport.len() as u32).to_be_bytes(),
            &[0, 0, 0, header[6]],
        ])
    };
    let sum = internet_checksum(&join(&[&pseudo, transport]));
    ip[ip_len + offset..ip_len + offset + 2].copy_from_slice(&sum.to_be_bytes());
    ip
}
