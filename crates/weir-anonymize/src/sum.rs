//! Checksums that are changed by what was changed (RFC 1624).

/// The difference that changed bytes make to a checksum over them, in ones' complement.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Change(u64);

impl Change {
    /// Bytes that became others, beginning at an even place of what the checksum covers. Both are of one length.
    pub(crate) fn bytes(&mut self, old: &[u8], new: &[u8]) {
        let words = old.chunks(2).zip(new.chunks(2));
        for (old, new) in words.filter(|(old, new)| old != new) {
            self.0 += u64::from(!word(old)) + u64::from(word(new));
        }
    }

    /// The checksum with the change in it.
    pub(crate) fn applied(self, checksum: u16) -> u16 {
        if self.0 == 0 {
            return checksum;
        }
        checksum_of(u64::from(!checksum) + self.0)
    }
}

/// The sum of bytes, word by word.
pub(crate) fn words(bytes: &[u8]) -> u64 {
    bytes.chunks(2).map(|chunk| u64::from(word(chunk))).sum()
}

/// The checksum of a sum.
pub(crate) const fn checksum_of(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// Two bytes; the second of the last one may be missing.
fn word(bytes: &[u8]) -> u16 {
    match bytes {
        [high, low, ..] => u16::from_be_bytes([*high, *low]),
        [high] => u16::from_be_bytes([*high, 0]),
        [] => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_testkit::packet::checksum::internet;

    #[test]
    fn a_right_checksum_stays_right_and_a_wrong_one_as_wrong() {
        let old: Vec<u8> = (0..41).collect();
        let mut new = old.clone();
        for at in [0, 3, 17, 40] {
            new[at] = new[at].wrapping_mul(7).wrapping_add(91);
        }
        let mut change = Change::default();
        change.bytes(&old, &new);
        assert_eq!(change.applied(internet(&old)), internet(&new));
        let wrong = internet(&old) ^ 0x0100;
        assert_ne!(change.applied(wrong), internet(&new));
    }
}
