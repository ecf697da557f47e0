//! Words of groups, from the beginning of a cache line on.

use std::ops::Range;

/// The keys and states of groups, one behind the other. They begin with a line of the cache, so that an entry of four words is in
/// one line: the allocator begins large pieces 16 bytes behind one, where every other such entry would be in two, and its sum a
/// second miss.
#[derive(Default)]
pub(super) struct Entries {
    /// Some words that are not used, then the entries.
    words: Vec<u64>,
    /// The number of words that are not used.
    start: usize,
}

impl Entries {
    /// The number of words of all entries.
    pub(super) const fn len(&self) -> usize {
        self.words.len() - self.start
    }

    /// The number of words that are allocated.
    pub(super) const fn capacity(&self) -> usize {
        self.words.capacity()
    }

    /// All words.
    pub(super) fn words(&self) -> &[u64] {
        self.words.get(self.start..).unwrap_or_default()
    }

    /// All words, to change.
    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        self.words.get_mut(self.start..).unwrap_or_default()
    }

    /// Some of the words.
    #[inline]
    pub(super) fn get(&self, words: Range<usize>) -> &[u64] {
        let range = self.start + words.start..self.start + words.end;
        self.words.get(range).unwrap_or_default()
    }

    /// Some of the words, to change.
    #[inline]
    pub(super) fn get_mut(&mut self, words: Range<usize>) -> &mut [u64] {
        let range = self.start + words.start..self.start + words.end;
        self.words.get_mut(range).unwrap_or_default()
    }

    /// One of the words, to change.
    #[inline]
    pub(super) fn word_mut(&mut self, word: usize) -> Option<&mut u64> {
        self.words.get_mut(self.start + word)
    }

    /// Adds an entry: a key and a state.
    pub(super) fn push(&mut self, key: &[u64], state: &[u64]) {
        let more = key.len() + state.len();
        if self.words.capacity() - self.words.len() < more {
            self.words.reserve(more + LINE_WORDS);
            self.align();
        }
        self.words.extend_from_slice(key);
        self.words.extend_from_slice(state);
    }

    /// Moves the entries to the beginning of a line after the words were allocated elsewhere, where there is room for that.
    fn align(&mut self) {
        let len = self.len();
        let start = self.words.as_ptr().align_offset(LINE_BYTES);
        if start == self.start || start + len > self.words.capacity() {
            return;
        }
        let old = self.start..self.start + len;
        self.words.resize(self.words.len().max(start + len), 0);
        self.words.copy_within(old, start);
        self.words.truncate(start + len);
        self.start = start;
    }

    /// Removes all entries, and keeps the memory.
    #[cfg(test)]
    pub(super) fn clear(&mut self) {
        self.words.truncate(self.start);
    }
}

const LINE_BYTES: usize = 64;
const LINE_WORDS: usize = LINE_BYTES / size_of::<u64>();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_begin_with_a_line_and_stay_what_they_are() {
        let mut entries = Entries::default();
        let mut twin = Vec::new();
        for n in 0..20_000 {
            let (key, state) = ([n, n + 1], [n * 3]);
            entries.push(&key, &state);
            twin.extend(key);
            twin.extend(state);
            let at = n as usize * 3;
            assert_eq!(entries.get(at..at + 3), twin.get(at..).unwrap());
            assert!(
                entries
                    .words()
                    .as_ptr()
                    .cast::<u8>()
                    .align_offset(LINE_BYTES)
                    == 0
            );
        }
        assert_eq!(entries.words(), twin);
        entries.get_mut(3..4)[0] = 7;
        *entries.word_mut(4).unwrap() += 1;
        assert_eq!(entries.get(3..6), [7, 3, 3]);
        assert!(entries.get(59_999..60_001).is_empty());
        assert_eq!(entries.word_mut(60_000), None);
    }
}
