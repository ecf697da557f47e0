//! The text of JSON strings without its escapes, many bytes at a time.

/// The extent of a read piece of a string.
pub(super) struct UnescapedPiece {
    pub(super) read: usize,
    pub(super) written: usize,
    pub(super) stop: Unescaped,
}

/// The next element of it.
pub(super) enum Unescaped {
    /// The closing quote was read.
    Quote,
    /// A backslash was read; what it means is not one byte, or not there yet.
    Escape,
    /// There is no more to read, or no more room.
    Full,
}

/// Copies the text of a string, without its escapes as far as they are single bytes.
///
/// Where the quotes and backslashes of a block are is found for all of them at once, so that the search
/// for one need not wait until the one before is undone: JSON in JSON has one every ten bytes.
pub(super) fn unescape(from: &[u8], to: &mut [u8]) -> UnescapedPiece {
    let (mut read, mut written) = (0, 0);
    let piece = |read, written, stop| UnescapedPiece {
        read,
        written,
        stop,
    };
    while let (Some(source), Some(room)) = (
        from.get(read..).and_then(<[u8]>::first_chunk::<REACH>),
        to.get_mut(written..)
            .and_then(<[u8]>::first_chunk_mut::<REACH>),
    ) {
        let Some(block) = source.first_chunk::<BLOCK>() else {
            break;
        };
        let mut marks = specials(block);
        let (mut at, mut out) = (0, 0);
        while marks != 0 {
            let next = marks.trailing_zeros() as usize;
            copy(source, at, next, room, out);
            out += next - at;
            // A backslash at the end of the block still sees what follows it.
            let (byte, after) = (source[next], source[next + 1]);
            if byte == b'"' {
                return piece(read + next + 1, written + out, Unescaped::Quote);
            }
            let plain = ESCAPED[usize::from(after)];
            if plain == 0 {
                return piece(read + next + 1, written + out, Unescaped::Escape);
            }
            room[out] = plain;
            out += 1;
            at = next + 2;
            // The escaped character may be a quote or backslash itself.
            marks &= !(0b11 << next);
        }
        if at < BLOCK {
            copy(source, at, BLOCK, room, out);
            out += BLOCK - at;
            at = BLOCK;
        }
        read += at;
        written += out;
    }
    loop {
        let (Some(&byte), Some(slot)) = (from.get(read), to.get_mut(written)) else {
            return piece(read, written, Unescaped::Full);
        };
        match byte {
            b'"' => return piece(read + 1, written, Unescaped::Quote),
            b'\\' => match from.get(read + 1).and_then(|&byte| escaped(byte)) {
                Some(plain) => {
                    *slot = plain;
                    read += 2;
                }
                None => return piece(read + 1, written, Unescaped::Escape),
            },
            _ => {
                *slot = byte;
                read += 1;
            }
        }
        written += 1;
    }
}

/// Copies the bytes of a block between two places, and some more that are written over: so many that
/// there is seldom anything to decide.
#[inline(always)]
fn copy(source: &[u8; REACH], from: usize, to: usize, room: &mut [u8; REACH], at: usize) {
    room[at..at + HALF].copy_from_slice(&source[from..from + HALF]);
    if to - from > HALF {
        room[at + HALF..at + BLOCK].copy_from_slice(&source[from + HALF..from + BLOCK]);
    }
}

/// The number of bytes before the first quote or backslash, or the end.
#[inline]
pub(super) fn plain_run(bytes: &[u8]) -> usize {
    let mut at = 0;
    // Eight at a time, since most names and values are short.
    while let Some(eight) = bytes.get(at..).and_then(<[u8]>::first_chunk::<8>) {
        let special = special_bytes(u64::from_le_bytes(*eight));
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let special = |byte: &u8| matches!(byte, b'"' | b'\\');
    at + rest.iter().position(special).unwrap_or(rest.len())
}

/// Bytes whose quotes and backslashes are found together.
const BLOCK: usize = 32;
/// Bytes that are copied together.
const HALF: usize = BLOCK / 2;
/// The number of bytes that are copied beyond a block.
const REACH: usize = BLOCK + HALF;

/// The bytes that are quotes or backslashes: the lowest bit stands for the first.
#[inline(always)]
fn specials(block: &[u8; BLOCK]) -> u32 {
    let mut marks = 0;
    for (n, eight) in block.as_chunks::<8>().0.iter().enumerate() {
        // Brings the eight bits together.
        let special = special_bytes(u64::from_le_bytes(*eight)) >> 7;
        let bits = special.wrapping_mul(0x0102_0408_1020_4080) >> 56;
        marks |= (bits as u32) << (8 * n);
    }
    marks
}

/// The highest bit of each byte that is a quote or backslash.
#[inline(always)]
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const LOW: u64 = 0x7f * ONES;
    // The highest bit of each byte that is not zero; nothing is carried from byte to byte.
    let some = |word: u64| ((word & LOW) + LOW) | word;
    !(some(word ^ (0x22 * ONES)) & some(word ^ (0x5c * ONES))) & !LOW
}

/// The character of an escape after a backslash, unless it is `u` or invalid.
#[inline(always)]
pub(super) fn escaped(byte: u8) -> Option<u8> {
    let plain = ESCAPED[usize::from(byte)];
    (plain != 0).then_some(plain)
}

static ESCAPED: [u8; 256] = {
    let mut table = [0; 256];
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table[b'/' as usize] = b'/';
    table[b'b' as usize] = 8;
    table[b'f' as usize] = 12;
    table[b'n' as usize] = b'\n';
    table[b'r' as usize] = b'\r';
    table[b't' as usize] = b'\t';
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_backslashes_are_marked() {
        let plain: [u8; BLOCK] = std::array::from_fn(|n| b"a!#[]z\xa2\xdc\0\xff"[n % 10]);
        assert_eq!(specials(&plain), 0);
        for first in 0..BLOCK {
            for second in first..BLOCK {
                for (a, b) in [(b'"', b'\\'), (b'\\', b'"'), (b'"', b'"')] {
                    let mut bytes = plain;
                    bytes[second] = b;
                    bytes[first] = a;
                    assert_eq!(specials(&bytes), 1 << first | 1 << second);
                    let long = [&plain[..], &bytes, &plain[..5]].concat();
                    assert_eq!(plain_run(&long), BLOCK + first);
                    assert_eq!(plain_run(&long[..BLOCK + first]), BLOCK + first);
                }
            }
        }
    }
}
