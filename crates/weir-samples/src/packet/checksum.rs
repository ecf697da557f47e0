//! The checksums that headers and trailers carry.

use std::net::IpAddr;

/// The Internet checksum of `bytes` (RFC 1071): the complement of the ones' complement sum of its
/// big-endian 16-bit words, an odd last byte filled up with zero.
#[must_use]
pub fn internet(bytes: &[u8]) -> u16 {
    !fold(sum_words(bytes))
}

/// The checksum of a TCP, UDP or ICMPv6 segment: [`internet`] over the pseudo-header (RFC 9293
/// section 3.1, RFC 8200 section 8.1) and the segment.
#[must_use]
pub fn transport(src: IpAddr, dst: IpAddr, protocol: u8, segment: &[u8]) -> u16 {
    let addresses = address_words(src) + address_words(dst);
    let rest = u64::from(protocol) + (segment.len() as u64 & 0xffff) + (segment.len() as u64 >> 16);
    !fold(addresses + rest + sum_words(segment))
}

/// The CRC-32 of AAL5 (ITU-T I.363.5 section 9.2.1.2): most significant bit first, polynomial
/// 04C11DB7, all ones at the start, complemented.
#[must_use]
pub fn crc32_aal5(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc = (crc << 8) ^ AAL5_TABLE[usize::from((crc >> 24) as u8 ^ byte)];
    }
    !crc
}

/// The CRC32c that SCTP carries, low byte first (RFC 9260 appendix A).
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc = (crc >> 8) ^ CASTAGNOLI_TABLE[usize::from(crc as u8 ^ byte)];
    }
    !crc
}

/// The sum of the big-endian words of `bytes`, not folded yet.
pub(crate) fn sum_words(bytes: &[u8]) -> u64 {
    let mut sum = 0_u64;
    for word in bytes.chunks(2) {
        let low = word.get(1).copied().unwrap_or(0);
        sum += u64::from(u16::from_be_bytes([word[0], low]));
    }
    sum
}

/// Folds the carries of a sum of words into 16 bits.
#[inline]
pub(crate) const fn fold(mut sum: u64) -> u16 {
    sum = (sum & 0xffff_ffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    sum as u16
}

fn address_words(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(address) => sum_words(&address.octets()),
        IpAddr::V6(address) => sum_words(&address.octets()),
    }
}

static AAL5_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = (index as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc >> 31 == 1 {
                (crc << 1) ^ 0x04c1_1db7
            } else {
                crc << 1
            };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};

static CASTAGNOLI_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0x82f6_3b78
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::{crc32_aal5, crc32c, internet};

    #[test]
    fn published_check_values() {
        // The catalogue's check input for every CRC.
        let digits = b"123456789";
        assert_eq!(crc32c(digits), 0xe306_9283);
        assert_eq!(crc32_aal5(digits), 0xfc89_1918);
        // The example of RFC 1071 section 3.
        assert_eq!(
            internet(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]),
            !0xddf2
        );
    }
}
