//! Packets whose rows wait, in the order of the capture, until it is known which flow the fragments among them are of.

use std::collections::{BTreeSet, VecDeque};

use weir_packet::KeptPacket;

use super::PacketFlow;
use crate::Row;
use crate::files::Files;
use crate::row::Times;
use crate::rows::Rows;

/// The packets from the first fragment on whose flow is not known: the fragments, and of others those that become rows.
#[derive(Default)]
pub(super) struct WaitingPackets {
    /// In the order of the capture, the first a fragment whose flow is not known; `None` for what becomes no row.
    waiting: VecDeque<Option<Box<WaitingPacket>>>,
    /// The number of packets that left before the first of these.
    passed: u64,
    /// The fragments whose flow is not known: the number of the record, and how many packets precede it.
    unknown: BTreeSet<(u64, u64)>,
    /// Bytes that `waiting` takes.
    bytes: usize,
    /// Packets in front of these, which become rows as soon as there is room.
    ready: VecDeque<Box<WaitingPacket>>,
    given_up: u64,
}

/// A packet that becomes a row, or may become one.
struct WaitingPacket {
    /// The number of its record among those of all files.
    number: u64,
    packet: KeptPacket,
    times: Option<Times>,
    counted: PacketFlow,
    is_known: bool,
}

/// Bytes of packets that wait, at most: as many as fragments take that wait to be put together.
const BYTES_MAX: usize = 64 << 20;
/// Bytes of a place among those that wait.
const PLACE_BYTES: usize = size_of::<Option<Box<WaitingPacket>>>() + size_of::<(u64, u64)>();

impl WaitingPacket {
    fn new(row: &Row<'_>, number: u64, counted: PacketFlow, is_known: bool) -> Box<Self> {
        Box::new(Self {
            number,
            packet: KeptPacket::of(row.packet),
            times: row.times.copied(),
            counted,
            is_known,
        })
    }

    fn held_bytes(&self) -> usize {
        size_of::<Self>().saturating_add(self.packet.held_bytes())
    }

    /// Calls with the row.
    fn with_row<T>(&self, files: &Files, call: impl FnOnce(&Row<'_>) -> T) -> T {
        let (file, record) = files.place(self.number);
        let packet = self.packet.packet().with_number(record);
        let row = Row::new(file, &packet).with_item(&self.counted);
        match &self.times {
            Some(times) => call(&row.with_times(times)),
            None => call(&row),
        }
    }
}

impl WaitingPackets {
    /// Adds a fragment that waits for others.
    pub(super) fn wait(&mut self, row: &Row<'_>, number: u64, counted: PacketFlow) {
        let place = self.passed.saturating_add(self.waiting.len() as u64);
        self.unknown.insert((number, place));
        self.push(WaitingPacket::new(row, number, counted, false));
    }

    /// Adds a packet whose flow is known, or which has none: it is a row at once where nothing waits.
    pub(super) fn follow(
        &mut self,
        row: &Row<'_>,
        number: u64,
        counted: PacketFlow,
        rows: &mut Rows,
    ) {
        let with_item = row.with_item(&counted);
        if self.is_empty() {
            rows.push_row(&with_item);
        } else if rows.passes(&with_item) {
            let packet = WaitingPacket::new(row, number, counted, true);
            match self.waiting.is_empty() {
                true => self.ready.push_back(packet),
                false => self.push(packet),
            }
        }
    }

    fn push(&mut self, packet: Box<WaitingPacket>) {
        let bytes = packet.held_bytes().saturating_add(PLACE_BYTES);
        self.bytes = self.bytes.saturating_add(bytes);
        self.waiting.push_back(Some(packet));
    }

    /// The flow of the fragment in a record is known; with `None`, that it has none. False when no such fragment waits.
    pub(super) fn know(
        &mut self,
        number: u64,
        counted: Option<PacketFlow>,
        files: &Files,
        rows: &Rows,
    ) -> bool {
        // Several fragments may come side by side in one record.
        let mut is_any = false;
        let of_record = (number, 0)..=(number, u64::MAX);
        while let Some(known) = self.unknown.range(of_record.clone()).next().copied() {
            self.unknown.remove(&known);
            self.know_at(known.1, counted, files, rows);
            is_any = true;
        }
        self.promote();
        is_any
    }

    /// What is known of the fragment at a place: it becomes a row, or nothing.
    fn know_at(&mut self, place: u64, counted: Option<PacketFlow>, files: &Files, rows: &Rows) {
        let index = usize::try_from(place.saturating_sub(self.passed)).unwrap_or(usize::MAX);
        let Some(waiting) = self.waiting.get_mut(index) else {
            return;
        };
        let Some(packet) = waiting else {
            return;
        };
        packet.counted = counted.unwrap_or(packet.counted);
        packet.is_known = true;
        if !packet.with_row(files, |row| rows.passes(row)) {
            self.bytes = self.bytes.saturating_sub(packet.held_bytes());
            *waiting = None;
        }
    }

    /// Hands on what no fragment precedes whose flow is not known.
    fn promote(&mut self) {
        while let Some(first) = self.waiting.front_mut() {
            if first.as_ref().is_some_and(|packet| !packet.is_known) {
                return;
            }
            let held = first.as_ref().map_or(0, |packet| packet.held_bytes());
            self.bytes = self.bytes.saturating_sub(held.saturating_add(PLACE_BYTES));
            self.ready.extend(first.take());
            self.waiting.pop_front();
            self.passed = self.passed.saturating_add(1);
        }
    }

    /// Gives up the oldest fragments whose flow is not known while more waits than may.
    pub(super) fn give_up_beyond_limit(&mut self, files: &Files, rows: &Rows) {
        while self.bytes > BYTES_MAX && self.give_up_first(files, rows) {
            self.given_up = self.given_up.saturating_add(1);
        }
    }

    /// Ends the capture; returns the number of fragments without a flow.
    pub(super) fn give_up_all(&mut self, files: &Files, rows: &Rows) -> u64 {
        let unknown = self.unknown.len() as u64;
        while self.give_up_first(files, rows) {}
        unknown
    }

    /// Gives up the fragment that all others wait for; false when none waits.
    fn give_up_first(&mut self, files: &Files, rows: &Rows) -> bool {
        let Some(Some(first)) = self.waiting.front() else {
            return false;
        };
        self.unknown.remove(&(first.number, self.passed));
        self.know_at(self.passed, None, files, rows);
        self.promote();
        true
    }

    /// Makes rows of what is known, as far as there is room.
    pub(super) fn give_out(&mut self, files: &Files, rows: &mut Rows) {
        while !rows.is_full()
            && let Some(packet) = self.ready.pop_front()
        {
            packet.with_row(files, |row| rows.push_passed(row));
        }
    }

    /// True when nothing waits, and all rows were given out.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.ready.is_empty()
    }

    /// The number of fragments that were given up for the limit.
    pub(super) const fn given_up(&self) -> u64 {
        self.given_up
    }
}
