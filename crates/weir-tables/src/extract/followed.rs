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
}

impl<C> Followed<C> {
    /// Without connections. One that would have all keep more than `held_bytes_max` is given up.
    pub(crate) fn new(held_bytes_max: usize) -> Self {
        Self {
            open: HashMap::new(),
            held_bytes: 0,
            held_bytes_max,
            given_up: 0,
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
        let (connection, held) = match self.open.entry(chunk.connection) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let Content::Bytes(bytes) = chunk.content else {
                    return Interest::Follow;
                };
                let Some(connection) = begin(bytes) else {
                    return Interest::Ignore;
                };
                place.insert((connection, 0))
            }
        };
        self.held_bytes = self.held_bytes.saturating_sub(*held);
        let wanted = take(connection);
        if let Some(now) = wanted {
            *held = now;
            let all = self.held_bytes.saturating_add(now);
            if all <= self.held_bytes_max {
                self.held_bytes = all;
                return Interest::Follow;
            }
            self.given_up = self.given_up.saturating_add(1);
        }
        self.open.remove(&chunk.connection);
        Interest::Ignore
    }
}
