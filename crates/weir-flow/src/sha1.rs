//! SHA-1 (RFC 3174) of short messages, for the community id only: it is no longer safe for anything
//! that has to withstand forgery.

/// The digest of a message of at most [`LEN_MAX`] bytes; longer ones are cut there.
pub(crate) fn digest(message: &[u8]) -> [u8; 20] {
    let message = message
        .get(..message.len().min(LEN_MAX))
        .unwrap_or_default();
    let mut block = [0_u8; 64];
    if let Some(head) = block.get_mut(..message.len()) {
        head.copy_from_slice(message);
    }
    if let Some(end) = block.get_mut(message.len()) {
        *end = 0x80;
    }
    if let Some(length) = block.last_chunk_mut::<8>() {
        *length = (message.len() as u64 * 8).to_be_bytes();
    }
    let mut words = [0_u32; 80];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for index in 16..80 {
        let mixed = words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16];
        words[index] = mixed.rotate_left(1);
    }
    let [mut a, mut b, mut c, mut d, mut e] = START;
    for (index, word) in words.iter().enumerate() {
        let (f, k) = match index {
            0..20 => (b & c | !b & d, 0x5a82_7999_u32),
            20..40 => (b ^ c ^ d, 0x6ed9_eba1),
            40..60 => (b & c | b & d | c & d, 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6),
        };
        let next = a
            .rotate_left(5)
            .wrapping_add(f)
            .wrapping_add(e)
            .wrapping_add(k)
            .wrapping_add(*word);
        (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
    }
    let mut digest = [0; 20];
    let sums = START.iter().zip([a, b, c, d, e]);
    for (bytes, (start, end)) in digest.as_chunks_mut::<4>().0.iter_mut().zip(sums) {
        *bytes = start.wrapping_add(end).to_be_bytes();
    }
    digest
}

/// The maximum length that fits one block with its length field.
const LEN_MAX: usize = 55;

const START: [u32; 5] = [
    0x6745_2301,
    0xefcd_ab89,
    0x98ba_dcfe,
    0x1032_5476,
    0xc3d2_e1f0,
];

#[cfg(test)]
mod tests {
    #[test]
    fn the_standards_example() {
        let hex = |digest: [u8; 20]| -> String {
            digest.iter().map(|byte| format!("{byte:02x}")).collect()
        };
        assert_eq!(
            hex(super::digest(b"abc")),
            "a9993e364706816aba3e25717850c26c9cd0d89d"
        );
        assert_eq!(
            hex(super::digest(b"")),
            "da39a3ee5e6b4b0d3255bfef95601890afd80709"
        );
    }
}
