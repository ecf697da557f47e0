//! Records that wait until none that is earlier can be expected any more.

use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc};

use crate::{Interface, Record};

/// Puts records into the order of time, as far as those that wait take up no more bytes than they may.
#[derive(Debug)]
pub(super) struct Window {
    /// The records by time, and at equal times in the order of arrival.
    waiting: BinaryHeap<Reverse<WindowPlace>>,
    held: Vec<Option<BufferedRecord>>,
    free: Vec<usize>,
    came: u64,
    bytes: usize,
    bytes_max: usize,
    /// The interface that a file had last with each number.
    interfaces: Vec<Vec<Arc<Interface>>>,
    /// The record that was given last, and its file.
    given: Option<(usize, BufferedRecord)>,
    given_ns: i64,
    late: u64,
}

/// The position of a record in the order, and its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct WindowPlace {
    time_ns: i64,
    came: u64,
    file: usize,
    slot: usize,
}

/// A record with bytes of its own.
#[derive(Debug)]
struct BufferedRecord {
    number: u64,
    offset: u64,
    time_ns: Option<i64>,
    wire_len: u32,
    flags: Option<u32>,
    interface: Arc<Interface>,
    data: Box<[u8]>,
    comment: Option<Box<str>>,
}

impl Window {
    /// Holds records of `files` files, of up to `bytes_max` bytes.
    pub(super) fn new(files: usize, bytes_max: usize) -> Self {
        Self {
            waiting: BinaryHeap::new(),
            held: Vec::new(),
            free: Vec::new(),
            came: 0,
            bytes: 0,
            bytes_max,
            interfaces: vec![Vec::new(); files],
            given: None,
            given_ns: i64::MIN,
            late: 0,
        }
    }

    /// Holds a record of a file, whose place in the order is that of `time_ns`.
    pub(super) fn push(&mut self, file: usize, time_ns: i64, record: &Record<'_>) {
        let held = BufferedRecord {
            number: record.number,
            offset: record.offset,
            time_ns: record.time_ns,
            wire_len: record.wire_len,
            flags: record.flags,
            interface: self.interface(file, record.interface),
            data: record.data.into(),
            comment: record.comment.map(Into::into),
        };
        self.bytes = self.bytes.saturating_add(held.bytes());
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.held.push(None);
                self.held.len().saturating_sub(1)
            }
        };
        if let Some(place) = self.held.get_mut(slot) {
            *place = Some(held);
        }
        self.came = self.came.saturating_add(1);
        self.waiting.push(Reverse(WindowPlace {
            time_ns,
            came: self.came,
            file,
            slot,
        }));
    }

    /// Whether the earliest record has to be returned before more are stored.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= self.bytes_max
    }

    /// Whether no record is held.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The earliest record and its file.
    pub(super) fn pop(&mut self) -> Option<(usize, Record<'_>)> {
        let Reverse(place) = self.waiting.pop()?;
        let held = self.held.get_mut(place.slot)?.take()?;
        self.free.push(place.slot);
        self.bytes = self.bytes.saturating_sub(held.bytes());
        self.late = self
            .late
            .saturating_add(u64::from(place.time_ns < self.given_ns));
        self.given_ns = self.given_ns.max(place.time_ns);
        let (file, held) = self.given.insert((place.file, held));
        Some((*file, held.record()))
    }

    /// The number of records that came after a later one had been returned.
    pub(super) const fn late(&self) -> u64 {
        self.late
    }

    /// The interface as records that are held share it.
    fn interface(&mut self, file: usize, found: &Interface) -> Arc<Interface> {
        let number = found.id as usize;
        let Some(known) = self.interfaces.get_mut(file) else {
            return Arc::new(found.clone());
        };
        match known.get_mut(number) {
            Some(shared) if **shared == *found => Arc::clone(shared),
            // Another section of the file has another interface of the number.
            Some(shared) => {
                *shared = Arc::new(found.clone());
                Arc::clone(shared)
            }
            None => {
                let shared = Arc::new(found.clone());
                if number == known.len() && number < INTERFACES_MAX {
                    known.push(Arc::clone(&shared));
                }
                shared
            }
        }
    }
}

impl BufferedRecord {
    fn bytes(&self) -> usize {
        let comment = self.comment.as_ref().map_or(0, |comment| comment.len());
        HELD_BYTES
            .saturating_add(self.data.len())
            .saturating_add(comment)
    }

    fn record(&self) -> Record<'_> {
        Record {
            number: self.number,
            offset: self.offset,
            time_ns: self.time_ns,
            wire_len: self.wire_len,
            link_type: self.interface.link_type,
            interface: &self.interface,
            data: &self.data,
            comment: self.comment.as_deref(),
            flags: self.flags,
        }
    }
}

/// The approximate memory of a record besides its bytes.
const HELD_BYTES: usize = 160;
/// The maximum number of interfaces of a file that records share; records of further ones have one each.
const INTERFACES_MAX: usize = 256;
