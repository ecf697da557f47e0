//! The values of a record that the index stores.

use crate::hash::xxh64;

use crate::index::KEYS;
use crate::record::{ABSENT, Field, Record, Time, present, uri_user};

/// The values of a record for the index, until its block is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The number of bytes of the record in the log.
    pub(crate) len: u32,
    /// The hashes of the keys: Call-ID, From, To.
    pub(crate) keys: [u32; KEYS],
    /// Milliseconds since 1970.
    pub(crate) time: u64,
    /// One bit of [`method_bit`].
    pub(crate) method: u16,
    /// One bit of [`status_bit`].
    pub(crate) status: u16,
}

/// The keys of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexKey {
    CallId,
    From,
    To,
}

impl Mark {
    #[inline]
    pub(crate) fn of(record: &Record<'_>, len: usize) -> Self {
        let keys = [Field::CallId, Field::FromUri, Field::ToUri].map(|field| record.field(field));
        Self::with(keys, record.time, record.method(), record.status(), len)
    }

    /// Returns the mark of a record with these values: Call-ID, From and To.
    #[inline]
    pub(crate) fn with(
        [call_id, from, to]: [&[u8]; KEYS],
        time: Time,
        method: Option<&[u8]>,
        status: Option<u16>,
        len: usize,
    ) -> Self {
        Self {
            len: u32::try_from(len).unwrap_or(u32::MAX),
            keys: [
                hash_of_field(call_id),
                hash_of_field(uri_key(from)),
                hash_of_field(uri_key(to)),
            ],
            time: time.as_milliseconds(),
            method: method_bit(method),
            status: status_bit(status),
        }
    }
}

/// Returns the hash of a key in the index: the upper half of XXH64.
#[inline]
pub(crate) fn hash(key: &[u8]) -> u32 {
    (xxh64(key) >> 32) as u32
}

/// Returns the hash of a field. An empty one is written as absent, and is indexed as it is read.
#[inline]
fn hash_of_field(key: &[u8]) -> u32 {
    hash(if key.is_empty() { ABSENT } else { key })
}

/// Returns the key of a URI: its user, or the whole URI without one.
#[inline]
pub(crate) fn uri_key(uri: &[u8]) -> &[u8] {
    match uri_user(uri) {
        b"" => uri,
        user => user,
    }
}

/// Returns the bit of a method: the registered ones have their own, the others share one, and a record without a method
/// has the last.
#[inline]
pub(crate) fn method_bit(method: Option<&[u8]>) -> u16 {
    1 << match method.and_then(present) {
        Some(b"INVITE") => 0,
        Some(b"ACK") => 1,
        Some(b"BYE") => 2,
        Some(b"CANCEL") => 3,
        Some(b"OPTIONS") => 4,
        Some(b"REGISTER") => 5,
        Some(b"PRACK") => 6,
        Some(b"SUBSCRIBE") => 7,
        Some(b"NOTIFY") => 8,
        Some(b"PUBLISH") => 9,
        Some(b"INFO") => 10,
        Some(b"REFER") => 11,
        Some(b"MESSAGE") => 12,
        Some(b"UPDATE") => 13,
        Some(_) => 14,
        None => 15,
    }
}

/// Returns the bit of a status: the most frequent in queries have their own, the rest of a class share one.
#[inline]
pub(crate) const fn status_bit(status: Option<u16>) -> u16 {
    1 << match status {
        None => 0,
        Some(100) => 1,
        Some(180) => 2,
        Some(183) => 3,
        Some(200) => 4,
        Some(401 | 407) => 5,
        Some(404) => 6,
        Some(408) => 7,
        Some(486) => 8,
        Some(487) => 9,
        Some(101..=199) => 10,
        Some(201..=399) => 11,
        Some(400..=499) => 12,
        Some(500..=599) => 13,
        Some(600..=699) => 14,
        Some(_) => 15,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_and_bits_stay_as_they_are_in_files() {
        assert_eq!(hash(b""), 0xef46_db37);
        assert_eq!(method_bit(Some(b"INVITE")), 1);
        assert_eq!(method_bit(Some(b"UPDATE")), 1 << 13);
        assert_eq!(method_bit(Some(b"X")), 1 << 14);
        assert_eq!(method_bit(None), 1 << 15);
        assert_eq!(status_bit(Some(200)), 16);
        assert_eq!(uri_key(b"sip:alice@h"), b"alice");
        assert_eq!(uri_key(b"sip:h"), b"sip:h");
    }

    /// The index that is written with a log equals the one that is made of it later.
    #[test]
    fn an_empty_field_is_indexed_as_an_absent_one() {
        let mark = |field: &[u8]| Mark::with([field; KEYS], Time::default(), None, None, 9);
        assert_eq!(mark(b""), mark(ABSENT));
        assert_ne!(mark(b""), mark(b"sip:h"));
    }
}
