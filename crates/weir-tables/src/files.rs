//! The numbers of records among those of all captures that are read.

use std::collections::HashMap;
use std::sync::Arc;

/// The files so far. A message may begin in one file and end in another, so that the numbers of records are extended by
/// the number of their file.
#[derive(Default)]
pub(crate) struct Files {
    names: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, usize>,
    current: usize,
}

/// The number of bits of the number of a record in its file.
const RECORD_BITS: u32 = 40;

impl Files {
    /// The number of a record among those of all files; in the first file it is that of the file.
    #[inline]
    pub(crate) fn number(&mut self, file: &str, record: u64) -> u64 {
        let current = self.names.get(self.current);
        if current.is_none_or(|name| **name != *file) {
            self.go_on_in(file);
        }
        (self.current as u64) << RECORD_BITS | record
    }

    #[cold]
    fn go_on_in(&mut self, file: &str) {
        self.current = match self.numbers.get(file) {
            Some(known) => *known,
            None => {
                let name: Arc<str> = file.into();
                self.numbers.insert(Arc::clone(&name), self.names.len());
                self.names.push(name);
                self.names.len() - 1
            }
        };
    }

    /// The file of such a number; where there is none, the file that is read. `None` where that is `file`.
    #[inline]
    pub(crate) fn other_than(&self, file: &str, number: Option<u64>) -> Option<Arc<str>> {
        let index = match number {
            Some(number) => usize::try_from(number >> RECORD_BITS).ok()?,
            None => self.current,
        };
        let name = self.names.get(index)?;
        (**name != *file).then(|| Arc::clone(name))
    }

    /// The file of such a number, and the number of the record in it.
    pub(crate) fn place(&self, number: u64) -> (&str, u64) {
        let file = usize::try_from(number >> RECORD_BITS).ok();
        let name = file.and_then(|file| self.names.get(file));
        (name.map_or("", |name| &**name), Self::record(number))
    }

    /// The number of the record in its file.
    pub(crate) const fn record(number: u64) -> u64 {
        number & ((1 << RECORD_BITS) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_kept_once() {
        let mut files = Files::default();
        let numbers =
            [("a", 1), ("b", 1), ("a", 2)].map(|(file, record)| files.number(file, record));
        let places = numbers.map(|number| files.place(number));
        assert_eq!(places, [("a", 1), ("b", 1), ("a", 2)]);
        assert_eq!(files.names.len(), 2);
        let other = files.other_than("a", Some(numbers[1]));
        assert_eq!(other.as_deref(), Some("b"));
        assert!(files.other_than("a", Some(numbers[2])).is_none());
        assert_eq!(files.other_than("", None).as_deref(), Some("a"));
    }
}
