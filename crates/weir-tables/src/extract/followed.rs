//! The TCP connections that a protocol is looked for in, and how much is kept of them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use weir_flow::{Chunk, Content, Interest};

/// Connections that are followed, each with what `C` knows of it, within a limit for all together.
#[derive(Debug)]
pub(crate) struct Followed<C> {
    /// What is known, and how many bytes it keeps.
    open: HashMap<u64, (C, usize)>,
    held_bytes: usize,
    held_bytes_max: usize,
    given_up: u64,
    /// How often connections were looked at in which nothing was understood yet.
    undecided: HashMap<u64, u8>,
    not_understood: u64,
}

/// Pieces of a connection that may be looked at before something is understood.
const LOOKS_MAX: u8 = 64;

/// How often a connection is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looks {
    max: u8,
    /// Its ports say that something is to be understood: otherwise it counts.
    is_expected: bool,
}

impl Looks {
    /// At all pieces, as far as there are not too many.
    pub(crate) const MANY: Self = Self {
        max: LOOKS_MAX,
        is_expected: false,
    };

    /// At the first piece, which tells what a connection carries: unless it is the rest of a message, as the connection
    /// began before the capture.
    pub(crate) const fn at_beginning(chunk: &Chunk<'_>, is_expected: bool) -> Self {
        let max = if chunk.saw_start { 1 } else { LOOKS_MAX };
        Self { max, is_expected }
    }
}

impl<C> Followed<C> {
    /// Without connections. One that would have all keep more than `held_bytes_max` is given up.
    pub(crate) fn new(held_bytes_max: usize) -> Self {
        Self {
            open: HashMap::new(),
            held_bytes: 0,
            held_bytes_max,
            given_up: 0,
            undecided: HashMap::new(),
            not_understood: 0,
        }
    }

    /// Connections that were given up for the limit.
    pub(crate) const fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Connections whose ports said that something was to be understood, and nothing was.
    pub(crate) const fn not_understood(&self) -> u64 {
        self.not_understood
    }

    /// Takes a chunk of a connection. `begin` gets the first bytes of one that is new, and `None` of it
    /// ignores the connection; `take` reads the chunk and says how many bytes it keeps now, `None` when
    /// nothing more of the connection is wanted.
    pub(crate) fn chunk(
        &mut self,
        chunk: &Chunk<'_>,
        begin: impl FnOnce(&[u8]) -> Option<C>,
        take: impl FnOnce(&mut C) -> Option<usize>,
    ) -> Interest {
        self.look(chunk, begin, take, |_| true)
            .unwrap_or(Interest::Ignore)
    }

    /// The same. A connection that `begin` knows nothing of, or that is over and `is_understood` says that nothing of it
    /// was understood, is looked at again with its next chunks, as often as `looks` says.
    pub(crate) fn chunk_again(
        &mut self,
        looks: Looks,
        chunk: &Chunk<'_>,
        begin: impl FnOnce(&[u8]) -> Option<C>,
        take: impl FnOnce(&mut C) -> Option<usize>,
        is_understood: impl FnOnce(&C) -> bool,
    ) -> Interest {
        let is_bytes = matches!(chunk.content, Content::Bytes(_));
        if !is_bytes && !self.open.contains_key(&chunk.connection) {
            if chunk.is_last && self.undecided.remove(&chunk.connection).is_some() {
                self.leave(looks);
            }
            return Interest::Follow;
        }
        if let Some(interest) = self.look(chunk, begin, take, is_understood) {
            let is_over = interest == Interest::Ignore || chunk.is_last;
            if is_over && !self.undecided.is_empty() {
                self.undecided.remove(&chunk.connection);
            }
            return interest;
        }
        let seen = self.undecided.entry(chunk.connection).or_default();
        *seen = seen.saturating_add(1);
        if *seen < looks.max && !chunk.is_last {
            return Interest::Follow;
        }
        self.undecided.remove(&chunk.connection);
        self.leave(looks);
        Interest::Ignore
    }

    /// A connection is not looked at any more.
    fn leave(&mut self, looks: Looks) {
        let is_expected = looks.is_expected.into();
        self.not_understood = self.not_understood.saturating_add(is_expected);
    }

    /// Takes a chunk; `None` when nothing of the connection was understood and it is not followed.
    fn look(
        &mut self,
        chunk: &Chunk<'_>,
        begin: impl FnOnce(&[u8]) -> Option<C>,
        take: impl FnOnce(&mut C) -> Option<usize>,
        is_understood: impl FnOnce(&C) -> bool,
    ) -> Option<Interest> {
        let (connection, held) = match self.open.entry(chunk.connection) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let Content::Bytes(bytes) = chunk.content else {
                    return Some(Interest::Follow);
                };
                place.insert((begin(bytes)?, 0))
            }
        };
        self.held_bytes = self.held_bytes.saturating_sub(*held);
        let wanted = take(connection);
        if let Some(now) = wanted {
            *held = now;
            let all = self.held_bytes.saturating_add(now);
            if all <= self.held_bytes_max {
                self.held_bytes = all;
                return Some(Interest::Follow);
            }
            self.given_up = self.given_up.saturating_add(1);
        }
        let is_over = wanted.is_none() && !is_understood(connection);
        self.open.remove(&chunk.connection);
        (!is_over).then_some(Interest::Ignore)
    }
}
