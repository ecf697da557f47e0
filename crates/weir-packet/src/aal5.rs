//! AAL5 reassembly: cells in, PDUs out (ITU-T I.363.5).

use std::collections::HashMap;

use crate::{Options, Reason};

/// The counters of reassembly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Aal5Counters {
    /// Cells of user data.
    pub cells: u64,
    /// PDUs that were complete and sound.
    pub pdus: u64,
    /// PDUs whose CRC is wrong: a cell was lost, or the capture began in their middle.
    pub checksum_errors: u64,
    /// PDUs with a sound CRC whose length does not fit their number of cells.
    pub length_errors: u64,
    /// PDUs that grew beyond what a length of 16 bits allows.
    pub too_long: u64,
    /// Incomplete PDUs that were dropped because one of the limits of [`Options`] was reached.
    pub dropped: u64,
}

/// Collects the cells of each connection until the last of a PDU.
#[derive(Debug)]
pub(crate) struct Aal5 {
    connections_max: usize,
    bytes_max: usize,
    /// The incomplete PDUs; idle connections have none.
    waiting: HashMap<u64, IncompleteFrame>,
    /// Sum of the capacities in `waiting`.
    bytes: usize,
    /// Buffers to use again.
    spare: Vec<Vec<u8>>,
    /// The last complete PDU, trailer included.
    pdu: Vec<u8>,
    counters: Aal5Counters,
}

#[derive(Debug, Default)]
struct IncompleteFrame {
    cells: Vec<u8>,
    /// Too long already: pass over the rest.
    skip: bool,
}

/// The result of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// The PDU is not complete.
    Waits,
    /// The PDU is complete and sound, and to be had from [`Aal5::pdu`].
    Complete,
    /// The PDU ended and is damaged.
    Damaged(Reason),
}

impl Aal5 {
    /// Bytes of the longest PDU: 65,535 of payload and the trailer, in whole cells.
    const PDU_BYTES_MAX: usize = (65_535_usize + TRAILER_LEN).next_multiple_of(CELL_LEN);
    /// Buffers kept for use again, at most.
    const SPARE_MAX: usize = 64;

    pub(crate) fn new(options: &Options) -> Self {
        Self {
            connections_max: options.aal5_connections_max,
            bytes_max: options.aal5_bytes_max,
            waiting: HashMap::new(),
            bytes: 0,
            spare: Vec::new(),
            pdu: Vec::new(),
            counters: Aal5Counters::default(),
        }
    }

    pub(crate) fn counters(&self) -> Aal5Counters {
        self.counters
    }

    /// Incomplete PDUs.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The PDU that the last push completed, trailer included.
    pub(crate) fn pdu(&self) -> &[u8] {
        &self.pdu
    }

    /// Adds the payload of the next cell of `connection`.
    pub(crate) fn push(&mut self, connection: u64, payload: &[u8; CELL_LEN], last: bool) -> Pushed {
        self.counters.cells += 1;
        if !last {
            self.keep(connection, payload);
            return Pushed::Waits;
        }
        let mut skipped = false;
        let mut cells = std::mem::take(&mut self.pdu);
        cells.clear();
        if let Some(waiting) = self.waiting.remove(&connection) {
            self.bytes = self.bytes.saturating_sub(waiting.cells.capacity());
            skipped = waiting.skip;
            self.set_aside(std::mem::replace(&mut cells, waiting.cells));
        }
        cells.extend_from_slice(payload);
        self.pdu = cells;
        if skipped {
            // The cells were dropped and counted when there were too many.
            return Pushed::Damaged(Reason::Invalid {
                field: "atm.cells",
                value: u32::try_from(Self::PDU_BYTES_MAX / CELL_LEN).unwrap_or(u32::MAX),
            });
        }
        self.check()
    }

    /// Adds a cell to those of its connection.
    fn keep(&mut self, connection: u64, payload: &[u8; CELL_LEN]) {
        let full = self.waiting.len() >= self.connections_max;
        // A buffer doubles at most, and a reused one is no longer than a doubled PDU.
        let too_much = self.bytes.saturating_add(2 * Self::PDU_BYTES_MAX) > self.bytes_max;
        if too_much || full && !self.waiting.contains_key(&connection) {
            self.drop_all();
        }
        let spare = &mut self.spare;
        let waiting = self
            .waiting
            .entry(connection)
            .or_insert_with(|| IncompleteFrame {
                cells: spare.pop().unwrap_or_default(),
                skip: false,
            });
        let before = waiting.cells.capacity();
        if waiting.cells.is_empty() {
            self.bytes = self.bytes.saturating_add(before);
        }
        if waiting.cells.len().saturating_add(2 * CELL_LEN) > Self::PDU_BYTES_MAX {
            if !waiting.skip {
                self.counters.too_long += 1;
            }
            waiting.skip = true;
            return;
        }
        waiting.cells.extend_from_slice(payload);
        let grown = waiting.cells.capacity().saturating_sub(before);
        self.bytes = self.bytes.saturating_add(grown);
    }

    /// The way out when a limit is reached. One connection is no better than another, and looking
    /// for the oldest on each cell would make the limit itself an attack.
    #[cold]
    fn drop_all(&mut self) {
        self.counters.dropped += self.waiting.len() as u64;
        self.waiting.clear();
        self.bytes = 0;
    }

    fn set_aside(&mut self, mut buffer: Vec<u8>) {
        if self.spare.len() < Self::SPARE_MAX && buffer.capacity() > 0 {
            buffer.clear();
            self.spare.push(buffer);
        }
    }

    /// Checks the trailer of the PDU.
    fn check(&mut self) -> Pushed {
        let checksum = crc32(&self.pdu);
        if checksum != RESIDUE {
            self.counters.checksum_errors += 1;
            let value = trailer_word(&self.pdu, 4);
            return Pushed::Damaged(Reason::Invalid {
                field: "atm.aal5t_crc",
                value,
            });
        }
        let payload_len = trailer_word(&self.pdu, 8) & 0xffff;
        let fits = (payload_len as usize)
            .saturating_add(TRAILER_LEN)
            .checked_next_multiple_of(CELL_LEN);
        // Length 0 marks a PDU that its sender gave up (I.363.5, 9.2.1.2).
        if payload_len == 0 || fits != Some(self.pdu.len()) {
            self.counters.length_errors += 1;
            return Pushed::Damaged(Reason::Invalid {
                field: "atm.aal5t_len",
                value: payload_len,
            });
        }
        self.counters.pdus += 1;
        Pushed::Complete
    }
}

/// The big-endian word that begins `from_end` bytes before the end.
fn trailer_word(pdu: &[u8], from_end: usize) -> u32 {
    pdu.len()
        .checked_sub(from_end)
        .and_then(|offset| weir_bytes::u32_be_at(pdu, offset))
        .unwrap_or_default()
}

/// The register of the CRC-32 after `bytes`: most significant bit first, begun with ones, not
/// complemented. Over a PDU with its own CRC it is [`RESIDUE`].
fn crc32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(u32::MAX, |register, byte| {
        let index = (register >> 24) as u8 ^ byte;
        (register << 8) ^ TABLE[usize::from(index)]
    })
}

static TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut index = 0;
    while index < 256 {
        let mut register = (index as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            let carry = register >> 31;
            register = (register << 1) ^ (carry * POLYNOMIAL);
            bit += 1;
        }
        table[index] = register;
        index += 1;
    }
    table
}

/// Bytes of payload in a cell.
pub(crate) const CELL_LEN: usize = 48;
const TRAILER_LEN: usize = 8;
/// ITU-T I.363.5, 9.2.1.2 d.
const POLYNOMIAL: u32 = 0x04c1_1db7;
const RESIDUE: u32 = 0xc704_dd7b;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A PDU and its cells, made the slow way: CRC bit by bit.
    fn segment(payload: &[u8]) -> Vec<([u8; CELL_LEN], bool)> {
        let mut pdu = payload.to_vec();
        while !(pdu.len() + 8).is_multiple_of(CELL_LEN) {
            pdu.push(0);
        }
        pdu.extend_from_slice(&[0, 0]);
        pdu.extend_from_slice(&u16::try_from(payload.len()).unwrap().to_be_bytes());
        let mut register = u32::MAX;
        for byte in &pdu {
            for bit in (0..8).rev() {
                let carry = (register >> 31) ^ u32::from(byte >> bit & 1);
                register = (register << 1) ^ if carry == 1 { POLYNOMIAL } else { 0 };
            }
        }
        pdu.extend_from_slice(&(!register).to_be_bytes());
        let (cells, rest) = pdu.as_chunks::<CELL_LEN>();
        assert!(rest.is_empty());
        let count = cells.len();
        let cells = cells.iter().enumerate();
        cells
            .map(|(index, cell)| (*cell, index + 1 == count))
            .collect()
    }

    fn small() -> Aal5 {
        let options = Options {
            aal5_connections_max: 4,
            aal5_bytes_max: 6 * Aal5::PDU_BYTES_MAX,
            ..Options::default()
        };
        Aal5::new(&options)
    }

    fn push_all(aal5: &mut Aal5, connection: u64, cells: &[([u8; CELL_LEN], bool)]) -> Pushed {
        let mut pushed = Pushed::Waits;
        for (cell, last) in cells {
            assert_eq!(pushed, Pushed::Waits);
            pushed = aal5.push(connection, cell, *last);
        }
        pushed
    }

    #[test]
    fn the_longest_pdu_goes_through_and_a_longer_one_is_counted() {
        let mut aal5 = small();
        let cells = segment(&vec![7; 65_535]);
        assert_eq!(push_all(&mut aal5, 1, &cells), Pushed::Complete);
        assert_eq!(aal5.pdu().len(), Aal5::PDU_BYTES_MAX);
        for _ in 0..2 * cells.len() {
            assert_eq!(aal5.push(1, &cells[0].0, false), Pushed::Waits);
        }
        let last = cells[cells.len() - 1].0;
        assert!(matches!(aal5.push(1, &last, true), Pushed::Damaged(_)));
        assert_eq!(aal5.counters().too_long, 1);
        assert_eq!(push_all(&mut aal5, 1, &cells), Pushed::Complete);
    }

    #[test]
    fn more_connections_than_allowed_are_dropped_and_counted() {
        let mut aal5 = small();
        for connection in 0..1000 {
            assert_eq!(aal5.push(connection, &[0; CELL_LEN], false), Pushed::Waits);
            assert!(aal5.waiting() <= 4);
        }
        assert_eq!(aal5.counters().dropped, 996);
    }

    #[test]
    fn bytes_stay_below_their_limit() {
        let mut aal5 = small();
        for turn in 0..20_000_u64 {
            aal5.push(turn % 4, &[0; CELL_LEN], false);
            let held: usize = aal5.waiting.values().map(|it| it.cells.capacity()).sum();
            assert_eq!(held, aal5.bytes);
            assert!(held <= 6 * Aal5::PDU_BYTES_MAX);
        }
        assert!(aal5.counters().dropped > 0);
    }

    #[test]
    fn a_length_that_does_not_fit_is_damage_even_under_a_sound_checksum() {
        let mut aal5 = small();
        let cells = segment(b"");
        let pushed = push_all(&mut aal5, 1, &cells);
        assert_eq!(
            pushed,
            Pushed::Damaged(Reason::Invalid {
                field: "atm.aal5t_len",
                value: 0
            })
        );
        assert_eq!(aal5.counters().length_errors, 1);
    }

    proptest! {
        /// Interleaved connections and lost cells against a model that looks at each connection
        /// alone: a PDU comes out if and only if all of its cells, and none of another, are there.
        #[test]
        fn interleaved_connections_with_losses_agree_with_a_naive_model(
            payloads in prop::collection::vec((0_u64..4, prop::collection::vec(any::<u8>(), 1..300)), 1..30),
            order in prop::collection::vec(0_usize..4, 0..400),
            lost in prop::collection::vec(prop::bool::weighted(0.03), 400),
        ) {
            let mut queues: Vec<Vec<([u8; CELL_LEN], bool, usize)>> = vec![Vec::new(); 4];
            for (index, (connection, payload)) in payloads.iter().enumerate() {
                let queue = &mut queues[usize::try_from(*connection).unwrap()];
                queue.extend(segment(payload).into_iter().map(|(cell, last)| (cell, last, index)));
            }
            let mut aal5 = Aal5::new(&Options::default());
            let mut model: Vec<Vec<([u8; CELL_LEN], usize)>> = vec![Vec::new(); 4];
            for (turn, connection) in order.into_iter().enumerate() {
                if queues[connection].is_empty() {
                    continue;
                }
                let (cell, last, index) = queues[connection].remove(0);
                if lost[turn] {
                    continue;
                }
                let pushed = aal5.push(connection as u64, &cell, last);
                model[connection].push((cell, index));
                if !last {
                    prop_assert_eq!(pushed, Pushed::Waits);
                    continue;
                }
                let got = std::mem::take(&mut model[connection]);
                let payload = &payloads[index].1;
                let whole: Vec<_> = segment(payload).iter().map(|it| (it.0, index)).collect();
                if got == whole {
                    prop_assert_eq!(pushed, Pushed::Complete);
                    prop_assert_eq!(&aal5.pdu()[..payload.len()], &payload[..]);
                } else {
                    prop_assert!(matches!(pushed, Pushed::Damaged(_)));
                }
            }
        }
    }
}
