//! Entries with a deadline, as tables of flows and dialogs need them.

use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};

use crate::error::AllocError;
use crate::hash::ProcessKey;
use crate::{Cursor, Dict};

/// The number of entries that a step of [`Expiring::expire`] looks at, if there are so many.
const STEP: usize = 160;

/// The operations that move the deadline of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Renewal {
    /// Every insertion and every [`Expiring::get_mut`] renews an entry: unused entries expire.
    #[default]
    OnAccess,
    /// Only insertions renew an entry: old entries expire.
    OnInsertion,
}

/// A dictionary whose entries expire, a few at a time.
///
/// Time is any number that does not decrease, in a unit of the caller's: such as nanoseconds of capture time. This type
/// never reads a clock. An entry past its deadline is gone for all methods that take a time; its memory is freed, and
/// its value passed to a callback, when [`expire`](Self::expire) comes round to it.
///
/// ```
/// use weir_dict::{Expiring, Renewal};
///
/// let mut flows = Expiring::<u32, &str>::new(60, Renewal::OnAccess);
/// flows.insert(7, "a flow", 0);
/// assert!(flows.get_mut(&7, 50).is_some());
/// assert!(flows.get(&7, 109).is_some());
/// assert!(flows.get(&7, 110).is_none());
/// let mut ended = Vec::new();
/// flows.expire(110, 1, |_, value| ended.push(value));
/// assert_eq!(ended, ["a flow"]);
/// ```
#[derive(Clone, Debug)]
pub struct Expiring<K, V, S = ProcessKey> {
    dict: Dict<K, Timed<V>, S>,
    cursor: Cursor,
    lifetime: u64,
    renewal: Renewal,
}

#[derive(Clone, Debug)]
struct Timed<V> {
    deadline: u64,
    value: V,
}

impl<K, V> Expiring<K, V> {
    /// A dictionary without entries, each of which will live for `lifetime`.
    #[must_use]
    pub const fn new(lifetime: u64, renewal: Renewal) -> Self {
        Self::with_hasher(lifetime, renewal, ProcessKey)
    }
}

impl<K, V, S> Expiring<K, V, S> {
    /// A dictionary as [`Self::new`], with a hasher of the caller's.
    #[must_use]
    pub const fn with_hasher(lifetime: u64, renewal: Renewal, state: S) -> Self {
        Self {
            dict: Dict::with_hasher(state),
            cursor: Cursor::START,
            lifetime,
            renewal,
        }
    }

    /// The number of entries, including expired ones that have not been removed yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.dict.len()
    }

    /// True without entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.dict.is_empty()
    }

    /// The bytes as [`Dict::allocated_bytes`].
    #[must_use]
    pub fn allocated_bytes(&self) -> usize {
        self.dict.allocated_bytes()
    }

    /// Iterates over all entries with their deadlines, including those that have expired and not been removed yet.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&K, &V, u64)> {
        let entries = self.dict.iter();
        entries.map(|(key, timed)| (key, &timed.value, timed.deadline))
    }
}

impl<K: Hash + Eq, V, S: BuildHasher> Expiring<K, V, S> {
    /// Inserts a value; returns the previous one of the key, if it had not expired.
    pub fn insert(&mut self, key: K, value: V, now: u64) -> Option<V> {
        self.try_insert(key, value, now)
            .unwrap_or_else(|error| error.abort())
    }

    /// Inserts as [`Self::insert`], but returns an error when memory is exhausted.
    ///
    /// # Errors
    /// [`AllocError`]: the dictionary is as it was.
    pub fn try_insert(&mut self, key: K, value: V, now: u64) -> Result<Option<V>, AllocError> {
        let deadline = now.saturating_add(self.lifetime);
        let old = self.dict.try_insert(key, Timed { deadline, value })?;
        Ok(old
            .filter(|old| old.deadline > now)
            .map(|timed| timed.value))
    }

    /// The value of a key that has not expired. Its deadline does not move.
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q, now: u64) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let timed = self.dict.get(key)?;
        (timed.deadline > now).then_some(&timed.value)
    }

    /// The value of a key that has not expired, to change it; this may move its deadline
    /// ([`Renewal::OnAccess`]).
    pub fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q, now: u64) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let timed = self.dict.get_mut(key)?;
        if timed.deadline <= now {
            return None;
        }
        if self.renewal == Renewal::OnAccess {
            timed.deadline = now.saturating_add(self.lifetime);
        }
        Some(&mut timed.value)
    }

    /// Sets the deadline of an entry. `false` when the key is missing.
    pub fn set_deadline<Q: Hash + Eq + ?Sized>(&mut self, key: &Q, deadline: u64) -> bool
    where
        K: Borrow<Q>,
    {
        let timed = self.dict.get_mut(key);
        timed.is_some_and(|timed| {
            timed.deadline = deadline;
            true
        })
    }

    /// Removes the entry of a key; returns its value, even if it has expired.
    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.dict.remove(key).map(|timed| timed.value)
    }

    /// Removes expired entries in the next `steps` steps of an endless round; passes each to `expired`. Returns the
    /// number of removed entries.
    ///
    /// A step looks at a little more than 160 entries, which costs a microsecond or two; so a step for
    /// every packet removes an entry of a table of 100,000 flows within 600 packets of its deadline.
    pub fn expire(&mut self, now: u64, steps: usize, mut expired: impl FnMut(K, V)) -> usize {
        let before = self.dict.len();
        for _ in 0..steps {
            let mut looked_at = 0;
            while looked_at < STEP && !self.dict.is_empty() {
                let more = self.dict.extract_step(
                    &mut self.cursor,
                    |_, timed| {
                        looked_at += 1;
                        timed.deadline <= now
                    },
                    |(key, timed)| expired(key, timed.value),
                );
                if !more {
                    self.cursor = Cursor::START;
                    break;
                }
            }
        }
        before - self.dict.len()
    }

    /// Removes all expired entries in one go, which looks at every entry.
    pub fn expire_all(&mut self, now: u64, mut expired: impl FnMut(K, V)) -> usize {
        let before = self.dict.len();
        let mut cursor = Cursor::START;
        while self.dict.extract_step(
            &mut cursor,
            |_, timed| timed.deadline <= now,
            |(key, timed)| expired(key, timed.value),
        ) {}
        before - self.dict.len()
    }
}
