//! Anonymizes arbitrary packets.

use std::sync::LazyLock;

use weir_anonymize::Anonymizer;

/// The first byte chooses a link type, the others are a packet. It keeps its length, becomes the same each time, is all
/// zeros where its link type is unknown; in plain IPv4 the checksum of a header is right as it was, and its addresses
/// are those that the anonymizer gives.
pub fn packet(bytes: &[u8]) {
    static ANONYMIZER: LazyLock<Anonymizer> =
        LazyLock::new(|| Anonymizer::new(b"a key for fuzzing"));
    let Some((choice, packet)) = bytes.split_first() else {
        return;
    };
    let link_type = LINK_TYPES[usize::from(*choice) % LINK_TYPES.len()];
    let mut other = packet.to_vec();
    let is_known = ANONYMIZER.packet(link_type, &mut other);
    assert_eq!(other.len(), packet.len());
    assert_eq!(is_known, link_type != NOBODYS);
    let mut again = packet.to_vec();
    ANONYMIZER.packet(link_type, &mut again);
    assert_eq!(other, again);
    if !is_known {
        assert!(other.iter().all(|byte| *byte == 0));
    }
    let header = packet
        .first()
        .map_or(0, |first| usize::from(first & 15) * 4);
    let (Some(old), Some(new)) = (packet.get(..header), other.get(..header)) else {
        return;
    };
    if link_type == RAW_IPV4 && header >= 20 && old[0] >> 4 == 4 {
        assert_eq!(sum(old) == 0xffff, sum(new) == 0xffff, "{old:x?} {new:x?}");
        for at in [12, 16] {
            let address = |bytes: &[u8]| <[u8; 4]>::try_from(&bytes[at..at + 4]).map(Into::into);
            let (Ok(old), Ok(new)) = (address(old), address(new)) else {
                return;
            };
            assert_eq!(ANONYMIZER.ipv4(old), new);
        }
    }
}

/// The ones' complement sum of a header, which is all ones where its checksum is right.
fn sum(header: &[u8]) -> u64 {
    let words = header
        .chunks(2)
        .map(|word| u64::from(word[0]) << 8 | u64::from(word[1]));
    let mut sum: u64 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

const RAW_IPV4: u32 = 228;
/// A link type that is not known.
const NOBODYS: u32 = 9_999;
const LINK_TYPES: [u32; 12] = [1, 12, 14, 101, RAW_IPV4, 229, 0, 108, 113, 276, 9, NOBODYS];
