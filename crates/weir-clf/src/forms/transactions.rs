//! The requests of the ASCII draft by their server transactions, to which a `+` refers.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::forms::words::{REQUEST_TXN, REQUEST_WORDS, words};
use crate::hash::xxh64;

/// The lines to which a `+` may refer. The oldest are discarded: at least the last [`TEXT_BYTES_MAX`] bytes of lines
/// are known.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    now: Generation,
    before: Generation,
    /// Whether a `+` was read: most logs have none, and their lines are not looked up.
    referred: bool,
}

/// The number of bytes of lines in each of two generations.
const TEXT_BYTES_MAX: usize = 4 << 20;

#[derive(Debug, Default)]
struct Generation {
    lines: Vec<u8>,
    /// The ends of the lines that are in no place yet.
    ends: Vec<usize>,
    /// The beginning of the first of them.
    begin: usize,
    places: HashMap<u64, (usize, usize), BuildHasherDefault<Hashed>>,
}

/// A hasher for keys that are hashes already.
#[derive(Debug, Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh64(bytes);
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

impl Transactions {
    /// Adds a line with its server transaction.
    pub(super) fn remember(&mut self, line: &[u8], transaction: &[u8]) {
        if self.now.lines.len() > TEXT_BYTES_MAX {
            std::mem::swap(&mut self.now, &mut self.before);
            self.now.clear();
        }
        self.now.lines.extend_from_slice(line);
        let end = self.now.lines.len();
        if self.referred {
            self.now.place(transaction, end);
        } else {
            self.now.ends.push(end);
        }
    }

    /// The request of a server transaction.
    pub(super) fn find(&mut self, transaction: &[u8]) -> Option<&[u8]> {
        if !self.referred {
            self.referred = true;
            self.before.place_all();
            self.now.place_all();
        }
        let hash = xxh64(transaction);
        [&self.now, &self.before]
            .into_iter()
            .find_map(|generation| {
                let &(begin, end) = generation.places.get(&hash)?;
                let line = generation.lines.get(begin..end)?;
                let (words, count) = words(line).ok()?;
                (count == REQUEST_WORDS && words[REQUEST_TXN] == transaction).then_some(line)
            })
    }
}

impl Generation {
    fn clear(&mut self) {
        self.lines.clear();
        self.ends.clear();
        self.begin = 0;
        self.places.clear();
    }

    /// Makes the line up to `end` that of a transaction.
    fn place(&mut self, transaction: &[u8], end: usize) {
        self.places.insert(xxh64(transaction), (self.begin, end));
        self.begin = end;
    }

    /// Makes each line that has no place yet that of its transaction. None of them has a `+`.
    fn place_all(&mut self) {
        for end in std::mem::take(&mut self.ends) {
            let line = self.lines.get(self.begin..end).unwrap_or_default();
            let hash = words(line).map(|(words, _)| xxh64(words[REQUEST_TXN]));
            if let Ok(hash) = hash {
                self.places.insert(hash, (self.begin, end));
            }
            self.begin = end;
        }
    }
}
