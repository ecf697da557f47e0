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
}

/// Pieces of a connection that may be looked at before something is understood.
pub(crate) const LOOKS_MAX: u8 = 64;
/// The same of a protocol that a connection begins with, which its first octets tell: unless they are the rest of a message,
/// as the connection began before the capture.
pub(crate) const fn looks_max(chunk: &Chunk<'_>) -> u8 {
    if chunk.saw_start { 1 } else { LOOKS_MAX }
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
        }
    }

    /// Connections that were given up for the limit.
    pub(crate) const fn given_up(&self) -> u64 {
        self.given_up
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
    /// was understood, is looked at again with its next chunks, `looks_max` times in all.
    pub(crate) fn chunk_again(
        &mut self,
        looks_max: u8,
        chunk: &Chunk<'_>,
        begin: impl FnOnce(&[u8]) -> Option<C>,
        take: impl FnOnce(&mut C) -> Option<usize>,
        is_understood: impl FnOnce(&C) -> bool,
    ) -> Interest {
        if let Some(interest) = self.look(chunk, begin, take, is_understood) {
            return interest;
        }
        let looks = self.undecided.entry(chunk.connection).or_default();
        *looks = looks.saturating_add(1);
        if *looks < looks_max && !chunk.is_last {
            return Interest::Follow;
        }
        self.undecided.remove(&chunk.connection);
        Interest::Ignore
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
                    if chunk.is_last {
                        self.undecided.remove(&chunk.connection);
                    }
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
        if !self.undecided.is_empty() && (!is_over || chunk.is_last) {
            self.undecided.remove(&chunk.connection);
        }
        (!is_over).then_some(Interest::Ignore)
    }
}
