//! The Community ID of a flow, version 1: the same text for the same flow in every tool that knows it.

use std::fmt;
use std::net::IpAddr;

use sha1::{Digest, Sha1};

use crate::key::{Endpoint, FlowKey};

/// A Community ID, version 1: `1:` and the base 64 of a SHA-1.
///
/// ```
/// use weir_flow::{CommunityId, Endpoint, FlowKey};
///
/// let client = Endpoint { address: "128.232.110.120".parse().unwrap(), port: 34855 };
/// let server = Endpoint { address: "66.35.250.204".parse().unwrap(), port: 80 };
/// let (key, _) = FlowKey::new(client, server, 6, 0);
/// assert_eq!(CommunityId::of(&key, 0).as_str(), "1:LQU9qZlK+B5F3KDmev6m5PMibrg=");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CommunityId([u8; 30]);

impl CommunityId {
    /// The identifier of a flow. The scope does not belong to it. `seed` is 0 unless all tools of a
    /// site were given another.
    #[must_use]
    pub fn of(key: &FlowKey, seed: u16) -> Self {
        let (low, high) = ordered(key);
        let mut message = [0; 40];
        let mut len = 0;
        let mut add = |bytes: &[u8]| {
            for byte in bytes {
                if let Some(place) = message.get_mut(len) {
                    *place = *byte;
                    len += 1;
                }
            }
        };
        add(&seed.to_be_bytes());
        for end in [low, high] {
            match end.address {
                IpAddr::V4(four) => add(&four.octets()),
                IpAddr::V6(six) => add(&six.octets()),
            }
        }
        add(&[key.protocol(), 0]);
        if matches!(key.protocol(), 1 | 6 | 17 | 58 | 132) {
            add(&low.port.to_be_bytes());
            add(&high.port.to_be_bytes());
        }
        let digest = Sha1::digest(message.get(..len).unwrap_or_default());
        let mut text = *b"1:0000000000000000000000000000";
        let groups = digest.chunks(3);
        for (place, group) in text[2..].chunks_mut(4).zip(groups) {
            encode(group, place);
        }
        Self(text)
    }

    /// The text, 30 characters of ASCII.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// The ends with the lower one first; messages without an answer stay as they were sent.
fn ordered(key: &FlowKey) -> (Endpoint, Endpoint) {
    let (low, high) = (key.low(), key.high());
    if key.is_one_way() || low <= high {
        (low, high)
    } else {
        (high, low)
    }
}

/// Up to three bytes as four characters of base 64 (RFC 4648, 4).
fn encode(group: &[u8], place: &mut [u8]) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let byte = |index| u32::from(group.get(index).copied().unwrap_or(0));
    let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (index, character) in place.iter_mut().enumerate() {
        *character = if index <= group.len() {
            ALPHABET[(bits >> (18 - 6 * index.min(3)) & 63) as usize]
        } else {
            b'='
        };
    }
}

impl fmt::Debug for CommunityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for CommunityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{icmp_answer, icmpv6_answer};

    /// The baseline that the specification publishes: protocol, ends, identifier.
    const BASELINE: &[(u8, &str, u16, &str, u16, &str)] = &[
        (
            58,
            "fe80::200:86ff:fe05:80da",
            135,
            "fe80::260:97ff:fe07:69ea",
            136,
            "1:dGHyGvjMfljg6Bppwm3bg0LO8TY=",
        ),
        (
            58,
            "fe80::260:97ff:fe07:69ea",
            136,
            "fe80::200:86ff:fe05:80da",
            135,
            "1:dGHyGvjMfljg6Bppwm3bg0LO8TY=",
        ),
        (
            58,
            "fe80::260:97ff:fe07:69ea",
            135,
            "fe80::200:86ff:fe05:80da",
            136,
            "1:zavyT/cezQr1fmImYCwYnMXbgck=",
        ),
        (
            58,
            "fe80::200:86ff:fe05:80da",
            136,
            "fe80::260:97ff:fe07:69ea",
            135,
            "1:zavyT/cezQr1fmImYCwYnMXbgck=",
        ),
        (
            58,
            "3ffe:501:1800:2345::2",
            3,
            "3ffe:507:0:1:200:86ff:fe05:80da",
            0,
            "1:2ObVBgIn28oZvibYZhZMBgh7WdQ=",
        ),
        (
            58,
            "3ffe:501:410:0:2c0:dfff:fe47:33e",
            1,
            "3ffe:507:0:1:200:86ff:fe05:80da",
            4,
            "1:hLZd0XGWojozrvxqE0dWB1iM6R0=",
        ),
        (
            58,
            "3ffe:507:0:1:200:86ff:fe05:80da",
            128,
            "3ffe:501:0:1001::2",
            129,
            "1:+TW+HtLHvV1xnGhV1lv7XoJrqQg=",
        ),
        (
            58,
            "3ffe:501:0:1001::2",
            129,
            "3ffe:507:0:1:200:86ff:fe05:80da",
            128,
            "1:+TW+HtLHvV1xnGhV1lv7XoJrqQg=",
        ),
        (
            58,
            "fe80::200:86ff:fe05:80da",
            133,
            "ff02::2",
            134,
            "1:hO+sN4H+MG5MY/8hIrXPqc4ZQz0=",
        ),
        (
            58,
            "fe80::260:97ff:fe07:69ea",
            134,
            "ff02::1",
            133,
            "1:pkvHqCL88/tg1k4cPigmZXUtL00=",
        ),
        (
            1,
            "192.168.0.89",
            8,
            "192.168.0.1",
            0,
            "1:X0snYXpgwiv9TZtqg64sgzUn6Dk=",
        ),
        (
            1,
            "192.168.0.1",
            0,
            "192.168.0.89",
            8,
            "1:X0snYXpgwiv9TZtqg64sgzUn6Dk=",
        ),
        (
            1,
            "10.0.0.1",
            11,
            "10.0.0.2",
            0,
            "1:YHxtAirCG//0OzkcVAukqKQN9xM=",
        ),
        (
            6,
            "2001:470:e5bf:dead:4957:2174:e82c:4887",
            63943,
            "2607:f8b0:400c:c03::1a",
            25,
            "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4=",
        ),
        (
            6,
            "2607:f8b0:400c:c03::1a",
            25,
            "2001:470:e5bf:dead:4957:2174:e82c:4887",
            63943,
            "1:/qFaeAR+gFe1KYjMzVDsMv+wgU4=",
        ),
        (
            132,
            "192.168.170.8",
            7,
            "192.168.170.56",
            7,
            "1:MP2EtRCAUIZvTw6MxJHLV7N7JDs=",
        ),
        (
            132,
            "192.168.170.56",
            7,
            "192.168.170.8",
            7,
            "1:MP2EtRCAUIZvTw6MxJHLV7N7JDs=",
        ),
        (
            6,
            "128.232.110.120",
            34855,
            "66.35.250.204",
            80,
            "1:LQU9qZlK+B5F3KDmev6m5PMibrg=",
        ),
        (
            6,
            "66.35.250.204",
            80,
            "128.232.110.120",
            34855,
            "1:LQU9qZlK+B5F3KDmev6m5PMibrg=",
        ),
        (
            17,
            "192.168.1.52",
            54585,
            "8.8.8.8",
            53,
            "1:d/FP5EW3wiY1vCndhwleRRKHowQ=",
        ),
        (
            17,
            "8.8.8.8",
            53,
            "192.168.1.52",
            54585,
            "1:d/FP5EW3wiY1vCndhwleRRKHowQ=",
        ),
        (
            46,
            "10.1.12.1",
            0,
            "10.1.12.2",
            0,
            "1:KHlLkgoJW7ifUTyTSgyVfkFHzKw=",
        ),
        (
            46,
            "10.1.12.2",
            0,
            "10.1.12.1",
            0,
            "1:KHlLkgoJW7ifUTyTSgyVfkFHzKw=",
        ),
    ];

    #[test]
    fn the_published_baseline() {
        for (protocol, from, from_port, to, to_port, expected) in BASELINE {
            let from = Endpoint {
                address: from.parse().unwrap(),
                port: *from_port,
            };
            let to = Endpoint {
                address: to.parse().unwrap(),
                port: *to_port,
            };
            let kind = from.port as u8;
            let has_answer = match protocol {
                1 => icmp_answer(kind).is_some(),
                58 => icmpv6_answer(kind).is_some(),
                _ => true,
            };
            let (key, _) = if has_answer {
                FlowKey::new(from, to, *protocol, 7)
            } else {
                FlowKey::one_way(from, to, *protocol, 7)
            };
            assert_eq!(CommunityId::of(&key, 0).as_str(), *expected, "{key:?}");
        }
    }
}
