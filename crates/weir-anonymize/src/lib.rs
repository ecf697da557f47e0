//! Which bytes of a packet may be given away, and what replaces the others?
//!
//! ```
//! use std::net::Ipv4Addr;
//! use weir_anonymize::Anonymizer;
//!
//! let anonymizer = Anonymizer::new(b"a secret");
//! let first = anonymizer.ipv4(Ipv4Addr::new(192, 0, 2, 1));
//! let second = anonymizer.ipv4(Ipv4Addr::new(192, 0, 2, 200));
//! assert_eq!(first.octets()[..3], second.octets()[..3], "one network stays one network");
//! assert_ne!(first.octets()[..3], [192, 0, 2]);
//! ```
//!
//! Addresses of IP are replaced by Crypto-PAn (Xu, Fan, Ammar, Moon: "Prefix-Preserving IP Address Anonymization", ICNP
//! 2002): two addresses that share so many bits share so many bits afterwards, and no more. MAC addresses become others
//! that keep their lowest two bits (group, locally administered). Bytes outside of headers whose fields this crate has
//! a rule for become zeros, of the same length: payloads, unknown options, unknown protocols. Checksums are changed by
//! what was changed, so that a right one stays right and a wrong one stays wrong (RFC 1624).
//!
//! The caller leaves out the rest of a record, such as names of interfaces and comments.
//!
//! This crate deliberately has no code for captures, Arrow or SQL, and it performs no IO. It does not use the decoder
//! of weir-packet either: a header that the decoder starts to read must not pass through this crate unchecked.

mod packet;
mod sum;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};

/// Replaces addresses and packets under one key.
pub struct Anonymizer {
    cipher: Aes128,
    /// Stands in the place of the bits of an address that have not been looked at.
    padding: u128,
    /// The key of MAC addresses, whose prefixes are not preserved.
    cards: [u8; 32],
}

impl fmt::Debug for Anonymizer {
    /// Writes the name without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Anonymizer")
    }
}

impl Anonymizer {
    /// Uses a key of any length. 64 hexadecimal digits are the 32 bytes that other implementations of Crypto-PAn take
    /// (cipher's key and padding), and give their addresses; of all others 32 bytes are derived.
    ///
    /// A word that can be guessed can be tried: such a key is found by anyone with the capture and one of its
    /// addresses.
    #[must_use]
    pub fn new(key: &[u8]) -> Self {
        let derived = blake3::derive_key("weir-anonymize 2026-11-23 addresses in packets", key);
        Self::with_bytes(&hexadecimal(key).unwrap_or(derived))
    }

    /// Uses the 32 bytes that Crypto-PAn takes.
    #[must_use]
    pub fn with_bytes(key: &[u8; 32]) -> Self {
        let (mut own, mut padding) = ([0; 16], [0; 16]);
        own.copy_from_slice(&key[..16]);
        padding.copy_from_slice(&key[16..]);
        let cipher = Aes128::new(&own.into());
        let padding = encrypted(&cipher, u128::from_be_bytes(padding));
        Self {
            cipher,
            padding,
            cards: blake3::derive_key("weir-anonymize 2026-11-23 MAC addresses in packets", key),
        }
    }

    /// The address in the place of another.
    #[must_use]
    pub fn ip(&self, address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(address) => self.ipv4(address).into(),
            IpAddr::V6(address) => self.ipv6(address).into(),
        }
    }

    /// The IPv4 address in the place of another.
    #[must_use]
    pub fn ipv4(&self, address: Ipv4Addr) -> Ipv4Addr {
        let bits = u128::from(u32::from(address)) << 96;
        let flipped = self.flipped(bits, 32);
        // The 32 highest bits are what there is.
        Ipv4Addr::from(((bits ^ flipped) >> 96) as u32)
    }

    /// The IPv6 address in the place of another.
    #[must_use]
    pub fn ipv6(&self, address: Ipv6Addr) -> Ipv6Addr {
        let bits = u128::from(address);
        Ipv6Addr::from(bits ^ self.flipped(bits, 128))
    }

    /// The MAC address in the place of another, with its bits for groups and for local administration. The broadcast
    /// address and the one of zeros stay.
    #[must_use]
    pub fn mac(&self, address: [u8; 6]) -> [u8; 6] {
        if address == [0xff; 6] || address == [0; 6] {
            return address;
        }
        let hash = blake3::keyed_hash(&self.cards, &address);
        let mut other = [0; 6];
        other.copy_from_slice(&hash.as_bytes()[..6]);
        other[0] = (other[0] & !3) | (address[0] & 3);
        other
    }

    /// Rewrites a packet of a link type (the numbers of the tcpdump group) in its place.
    ///
    /// Gives false for a link type that is not known, of which nothing is left but zeros.
    pub fn packet(&self, link_type: u32, data: &mut [u8]) -> bool {
        packet::rewrite(self, link_type, data)
    }

    /// The bits of an address that change; each depends on all bits above it.
    fn flipped(&self, bits: u128, count: u32) -> u128 {
        let mut flipped = 0;
        for place in 0..count {
            // The bits above this one; behind them the padding.
            let mask = match place {
                0 => 0,
                place => u128::MAX << (128 - place),
            };
            let input = (bits & mask) | (self.padding & !mask);
            let first = encrypted(&self.cipher, input) >> 127;
            flipped |= first << (127 - place);
        }
        flipped
    }
}

fn encrypted(cipher: &Aes128, block: u128) -> u128 {
    let mut block = block.to_be_bytes().into();
    cipher.encrypt_block(&mut block);
    u128::from_be_bytes(block.into())
}

/// The 32 bytes that 64 hexadecimal digits are.
fn hexadecimal(text: &[u8]) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key and addresses of the sample that comes with Crypto-PAn 1.0 of its authors.
    #[test]
    fn addresses_become_those_of_the_authors_sample() {
        let anonymizer = Anonymizer::with_bytes(&[
            21, 34, 23, 141, 51, 164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16, 216, 152, 143,
            131, 121, 121, 101, 39, 98, 87, 76, 45, 42, 132, 34, 2,
        ]);
        for (from, to) in [
            ("128.11.68.132", "135.242.180.132"),
            ("129.118.74.4", "134.136.186.123"),
            ("130.132.252.244", "133.68.164.234"),
            ("141.223.7.43", "141.167.8.160"),
            ("141.233.145.108", "141.129.237.235"),
            ("152.163.225.39", "151.140.114.167"),
            ("156.29.3.236", "147.225.12.42"),
            ("165.247.96.84", "162.9.99.234"),
            ("166.107.77.190", "160.132.178.185"),
            ("192.102.249.13", "252.138.62.131"),
            ("192.215.32.125", "252.43.47.189"),
            ("192.233.80.103", "252.25.108.8"),
            ("192.41.57.43", "252.222.221.184"),
        ] {
            let from: IpAddr = from.parse().unwrap();
            assert_eq!(anonymizer.ip(from).to_string(), to, "{from}");
        }
    }

    /// The examples in the documentation of yacryptopan (PyPI) for both kinds of addresses.
    #[test]
    fn addresses_become_those_of_another_implementation() {
        let key = b"32-char-str-for-AES-key-and-pad.";
        let anonymizer = Anonymizer::with_bytes(key);
        let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        for anonymizer in [anonymizer, Anonymizer::new(digits.as_bytes())] {
            for (from, to) in [
                ("192.0.2.1", "192.0.125.244"),
                ("2001:db8::1", "27fe:8bc7:fee:1e:1e1f:f0fe:f0e1:83fd"),
            ] {
                let from: IpAddr = from.parse().unwrap();
                assert_eq!(anonymizer.ip(from).to_string(), to, "{from}");
            }
        }
    }

    #[test]
    fn so_many_bits_in_common_stay_so_many() {
        let anonymizer = Anonymizer::new(b"key");
        let shared = |a: u32, b: u32| (a ^ b).leading_zeros();
        let mut number = 1_u32;
        for _ in 0..100 {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            for bit in 0..32 {
                let other = number ^ (1 << bit);
                let [one, two] =
                    [number, other].map(|bits| u32::from(anonymizer.ipv4(bits.into())));
                assert_eq!(shared(number, other), shared(one, two));
            }
        }
    }

    #[test]
    fn mac_addresses_keep_what_kind_of_address_they_are() {
        let anonymizer = Anonymizer::new(b"key");
        assert_eq!(anonymizer.mac([0xff; 6]), [0xff; 6]);
        for first in [0x00, 0x01, 0x02, 0x03, 0xb8] {
            let card = [first, 0x27, 0xeb, 1, 2, 3];
            let other = anonymizer.mac(card);
            assert_ne!(card, other);
            assert_eq!(other[0] & 3, first & 3);
            assert_eq!(anonymizer.mac(card), other);
        }
    }

    #[test]
    fn another_key_gives_other_addresses() {
        let address = Ipv4Addr::new(10, 0, 0, 1);
        let [one, two] = [b"one", b"two"].map(|key| Anonymizer::new(key).ipv4(address));
        assert_ne!(one, two);
    }
}
