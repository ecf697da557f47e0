//! The frames of the capture that WebSocket messages came in.

use weir_flow::{Chunk, Payload};
use weir_ws::{Connection, Direction};

use crate::extract::came_in::CameIn;

/// The packet that made something known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occasion {
    pub(super) time_ns: Option<i64>,
    pub(super) frame: u64,
}

/// The packets that octets came in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival<'p> {
    /// The packet that made them known.
    pub(super) occasion: Occasion,
    /// Numbers of the other frames that carried them.
    pub(super) others: &'p [u64],
}

/// The frames of the messages under way, to the server and to the client.
#[derive(Debug, Default)]
pub(super) struct MessageFrames([CameIn; 2]);

/// Pieces that wait until it is known what they are.
#[derive(Debug, Default)]
pub(super) struct WaitingPieces {
    pieces: Vec<WaitingPiece>,
    /// Octets of `pieces` that are in memory of their own.
    others_bytes: usize,
    /// The frames of pieces of each direction that were read again, and how many octets these have.
    replayed: Option<[(CameIn, u64); 2]>,
}

#[derive(Debug)]
struct WaitingPiece {
    direction: Direction,
    octets: usize,
    occasion: Occasion,
    others: Box<[u64]>,
}

/// The index of a direction.
pub(super) const fn slot(direction: Direction) -> usize {
    match direction {
        Direction::ToServer => 0,
        Direction::ToClient => 1,
    }
}

impl<'p> Arrival<'p> {
    pub(super) const fn of(payload: &Payload<'p>, chunk: &Chunk<'_>) -> Self {
        Self {
            occasion: Occasion {
                time_ns: chunk.time_ns,
                frame: chunk.frame,
            },
            others: payload.others,
        }
    }
}

impl MessageFrames {
    /// The frames so far of the message of each direction, of which octets of one, if any, came now.
    pub(super) fn before(&self, taken: Option<Direction>, now: Arrival<'_>) -> [Vec<u64>; 2] {
        let others = |direction| match taken == Some(direction) {
            true => now.others,
            false => &[],
        };
        let [to_server, to_client] = &self.0;
        [
            to_server.before(others(Direction::ToServer)),
            to_client.before(others(Direction::ToClient)),
        ]
    }

    /// Adds the frames of octets of a direction, if any came, as far as the message under way is in them.
    pub(super) fn take(
        &mut self,
        direction: Direction,
        octets: Option<usize>,
        now: Arrival<'_>,
        connection: &Connection,
    ) {
        let held = connection.under_way_bytes(direction);
        let (Some(held), Some(frames)) = (held, self.0.get_mut(slot(direction))) else {
            return;
        };
        match octets {
            Some(octets) => frames.add(now.occasion.frame, now.others, octets, octets_of(held)),
            None => frames.keep(octets_of(held)),
        }
    }

    /// Bytes that they take.
    pub(super) fn held_bytes(&self) -> usize {
        self.0.iter().map(CameIn::held_bytes).sum()
    }
}

impl WaitingPieces {
    /// Adds a piece.
    pub(super) fn push(&mut self, direction: Direction, octets: usize, now: Arrival<'_>) {
        self.others_bytes = self.others_bytes.saturating_add(size_of_val(now.others));
        self.pieces.push(WaitingPiece {
            direction,
            octets,
            occasion: now.occasion,
            others: now.others.into(),
        });
    }

    /// The next messages are of the last octets of the piece with this number: gives when it came.
    pub(super) fn replay(&mut self, number: usize, octets: usize) -> Option<Occasion> {
        let replayed = self.replayed.get_or_insert_default();
        let piece = self.pieces.get(number)?;
        let (frames, all) = replayed.get_mut(slot(piece.direction))?;
        let octets = octets.min(piece.octets);
        // A head, of which nothing is read again, is no part of a message.
        if octets > 0 {
            piece.add_to(frames, octets);
            *all = all.saturating_add(octets as u64);
        }
        Some(piece.occasion)
    }

    /// Whether pieces are read again.
    pub(super) const fn is_replayed(&self) -> bool {
        self.replayed.is_some()
    }

    /// The frames of what was read again of a direction, from an offset in it.
    pub(super) fn frames_from(&mut self, direction: Direction, offset: u64) -> Vec<u64> {
        let replayed = self.replayed.as_mut();
        let Some((frames, octets)) = replayed.and_then(|it| it.get_mut(slot(direction))) else {
            return Vec::new();
        };
        frames.keep(octets_of(octets.saturating_sub(offset)));
        frames.before(&[])
    }

    /// The frames of the messages under way, now that it is known what the pieces are.
    pub(super) fn into_frames(self, connection: &Connection) -> MessageFrames {
        let mut all = MessageFrames::default();
        for piece in &self.pieces {
            if let Some(frames) = all.0.get_mut(slot(piece.direction)) {
                piece.add_to(frames, piece.octets);
            }
        }
        for direction in [Direction::ToServer, Direction::ToClient] {
            let held = connection.under_way_bytes(direction).unwrap_or(0);
            if let Some(frames) = all.0.get_mut(slot(direction)) {
                frames.keep(octets_of(held));
            }
        }
        all
    }

    /// Bytes that they take.
    pub(super) fn held_bytes(&self) -> usize {
        let pieces = self.pieces.capacity();
        let pieces = pieces.saturating_mul(size_of::<WaitingPiece>());
        pieces.saturating_add(self.others_bytes)
    }
}

impl WaitingPiece {
    fn add_to(&self, frames: &mut CameIn, octets: usize) {
        frames.add(self.occasion.frame, &self.others, octets, usize::MAX);
    }
}

fn octets_of(held: u64) -> usize {
    usize::try_from(held).unwrap_or(usize::MAX)
}
