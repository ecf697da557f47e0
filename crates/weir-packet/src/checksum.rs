//! The checksums of the IP family, worked out when a query asks for them.

use crate::protocol::{Ipv4Header, Ipv6FragmentHeader};
use crate::{Layer, Packet};
use weir_bytes::{u8_at, u16_be_at};

/// The Internet checksum (RFC 1071) of the parts laid end to end; each but the last has an even
/// length. Over data that holds its own checksum it is 0 when the data is sound.
#[must_use]
pub fn of(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u64;
    for part in parts {
        let mut words = part.chunks_exact(4);
        for word in &mut words {
            // A sum of 32-bit words folds to the same 16 bits as one of 16-bit words (RFC 1071, 2).
            sum = sum.wrapping_add(u64::from(
                word.first_chunk().map_or(0, |w| u32::from_be_bytes(*w)),
            ));
        }
        let mut last = [0; 4];
        for (slot, byte) in last.iter_mut().zip(words.remainder()) {
            *slot = *byte;
        }
        sum = sum.wrapping_add(u64::from(u32::from_be_bytes(last)));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(u16::MAX)
}

/// CRC-32C (Castagnoli), the checksum of SCTP (RFC 9260, appendix A).
pub(crate) fn crc32c(parts: &[&[u8]]) -> u32 {
    let mut crc = u32::MAX;
    for byte in parts.iter().copied().flatten() {
        let index = (crc ^ u32::from(*byte)) & 0xff;
        crc = (crc >> 8) ^ CRC32C[index as usize];
    }
    !crc
}

static CRC32C: [u32; 256] = {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut crc = index as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 0 {
                crc >> 1
            } else {
                crc >> 1 ^ 0x82f6_3b78
            };
            bit += 1;
        }
        table[index] = crc;
        index += 1;
    }
    table
};

/// A transport header and payload that are there in full, and what its pseudo header holds.
pub(crate) struct Transport<'a> {
    /// Header and payload.
    pub(crate) bytes: &'a [u8],
    /// The IP header before it; `None` without one.
    carrier: Option<Carrier<'a>>,
}

struct Carrier<'a> {
    addresses: &'a [u8],
    /// The end of a source route, which replaces the destination.
    last_hop: Option<&'a [u8]>,
}

impl<'a> Transport<'a> {
    /// The outermost header of `layer`; `None` when it is a fragment, or not all bytes are there.
    pub(crate) fn of(packet: &Packet<'a>, layer: Layer) -> Option<Self> {
        let span = packet.span(layer)?;
        let bytes = packet.bytes(layer)?;
        if bytes.len() != span.declared as usize {
            return None;
        }
        let Some((ip, _)) = packet.carrier(span) else {
            return Some(Self {
                bytes,
                carrier: None,
            });
        };
        let before = packet
            .buffer_of(ip)
            .get(ip.start as usize..span.start as usize)?;
        let whole_len = before.len().checked_add(bytes.len())?;
        let carrier = match ip.layer {
            Layer::Ipv4 => Carrier::v4(before, whole_len),
            _ => Carrier::v6(before, whole_len),
        };
        Some(Self {
            bytes,
            carrier: Some(carrier?),
        })
    }

    /// Whether it is in IPv4, where the checksum of UDP is optional.
    pub(crate) fn is_in_ipv4(&self) -> bool {
        self.carrier
            .as_ref()
            .is_some_and(|carrier| carrier.addresses.len() == 8)
    }

    /// The checksum over the pseudo header for `protocol` and over `len` and `covered`: the length
    /// that the pseudo header states, and the bytes to add. `None` without an IP header.
    pub(crate) fn with_pseudo_header(
        &self,
        protocol: u8,
        len: usize,
        covered: &[u8],
    ) -> Option<u16> {
        let carrier = self.carrier.as_ref()?;
        let len = u32::try_from(len).ok()?.to_be_bytes();
        let (source, destination) = carrier
            .addresses
            .split_at_checked(carrier.addresses.len() / 2)?;
        let destination = carrier.last_hop.unwrap_or(destination);
        Some(of(&[
            source,
            destination,
            &len,
            &[0, 0, 0, protocol],
            covered,
        ]))
    }
}

impl<'a> Carrier<'a> {
    fn v4(header: &'a [u8], whole_len: usize) -> Option<Self> {
        let header = Ipv4Header::new(header);
        let total = usize::from(header.total_len()?);
        (!header.is_fragment() && (total == 0 || total <= whole_len)).then_some(Self {
            addresses: header.addresses()?,
            last_hop: None,
        })
    }

    fn v6(header: &'a [u8], whole_len: usize) -> Option<Self> {
        let payload = usize::from(u16_be_at(header, 4)?);
        if payload != 0 && payload.saturating_add(40) > whole_len {
            return None;
        }
        let mut number = u8_at(header, 6)?;
        let mut rest = header.get(40..)?;
        let mut last_hop = None;
        while let Some(next) = u8_at(rest, 0) {
            let units = usize::from(u8_at(rest, 1)?);
            let len = match number {
                FRAGMENT if Ipv6FragmentHeader::new(rest).is_fragment() => return None,
                FRAGMENT => 8,
                AUTHENTICATION => units.saturating_add(2).saturating_mul(4),
                _ => units.saturating_add(1).saturating_mul(8),
            };
            if number == ROUTING {
                last_hop = final_destination(rest.get(..len)?);
            }
            number = next;
            rest = rest.get(len..)?;
        }
        Some(Self {
            addresses: header.get(8..40)?,
            last_hop,
        })
    }
}

/// The final destination of a routing header; `None` when the packet has arrived there (RFC 8200, 8.1).
fn final_destination(header: &[u8]) -> Option<&[u8]> {
    if u8_at(header, 3)? == 0 {
        return None;
    }
    match u8_at(header, 2)? {
        // Types 0 and 2 hold the addresses in the order of the way (RFC 2460, 4.4; RFC 6275, 6.4).
        0 | 2 => header.get(header.len().checked_sub(16)?..),
        // Segment routing holds the last first (RFC 8754, 2).
        4 => header.get(8..24),
        _ => None,
    }
}

const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_agrees_with_the_example_of_rfc_1071_and_with_a_sum_of_single_words() {
        let data = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(of(&[&data]), !0xddf2);
        assert_eq!(of(&[&data[..2], &data[2..]]), !0xddf2);
        for len in 0..data.len() {
            let naive = data[..len].chunks(2).fold(0_u32, |sum, pair| {
                sum + (u32::from(pair[0]) << 8) + u32::from(pair.get(1).copied().unwrap_or(0))
            });
            let naive = (naive & 0xffff) + (naive >> 16);
            assert_eq!(u32::from(!of(&[&data[..len]])), naive, "{len} bytes");
        }
    }

    #[test]
    fn crc32c_gives_the_check_value_of_its_catalogue() {
        assert_eq!(crc32c(&[b"1234", b"56789"]), 0xe306_9283);
        assert_eq!(crc32c(&[]), 0);
    }
}
