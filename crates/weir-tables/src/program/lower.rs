//! Writes the program of a question: the framing of records, the walk from header to header as their shapes
//! have it, conditions as soon as their field is known, then what the record gives to its groups.
//!
//! What is known of a record is known of the place in the program: which headers were found and which
//! fields they have is never asked twice. Where two ways through the headers come to know the same, they
//! go on as one.

use std::collections::HashMap;
use std::sync::Arc;

use weir_bytes::{Bits, Endian};
use weir_compile::{
    Builder, Bytes, End, Fault, Label, Operation, Program, Register, Relation, SpaceId,
};
use weir_packet::{
    BitsTest, HeaderLen, HeaderShape, Layer, LinkType, NextHeader, NextTable, Options, PayloadEnd,
    known_udp_ports,
};

use super::ask::{Asked, Comparison, Condition, From, Value};
use super::condition::{NumberRange, Test};
use super::facts::{LINKS, bit, decided, has_number, is_last, is_link, is_possible};
use super::framing::Framing;
use super::output::{Mode, Output};
use crate::Calculation;
use crate::aggregate::ROWS;

/// Words of the state.
pub(super) const PORTS_WORD: u32 = 2;
pub(super) const NUMBER_WORD: u32 = 3;
pub(super) const TAKEN_WORD: u32 = 4;
pub(super) const FIRST_FREE_WORD: u32 = 5;

/// Why a program ends.
pub(super) const LEAVE_RECORD: u8 = 0;
pub(super) const LEAVE_FULL: u8 = 1;
/// The record goes a way that no record of the sample went.
pub(super) const LEAVE_RARE: u8 = 2;

/// What is known of a record at a place of the program.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Path {
    /// Headers that were found.
    layers: u128,
    /// Of each field, at which of its locations it is; `None` where that is not known yet, or the record
    /// has none.
    fields: Vec<Option<u8>>,
    /// Conditions that were put.
    done: u64,
    /// Branches that may still take the record.
    pub(super) alive: u32,
}

/// Where a way through the headers goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Header(Layer),
    /// What the record gives.
    Rows,
}

struct Pending {
    target: Target,
    path: Path,
    label: Label,
}

/// A header of a shape, for what is asked behind its tests.
struct Here<'h> {
    layer: Layer,
    shape: &'h HeaderShape,
    at: Register,
    /// Where the bytes end that the headers in front of it leave.
    end: Register,
    /// Behind the header.
    payload: Register,
    payload_end: Register,
}

pub(super) struct Lowering<'l> {
    pub(super) builder: Builder,
    pub(super) asked: &'l Asked,
    pub(super) outputs: &'l [Output],
    options: &'l Options,
    pub(super) framing: Framing,
    pub(super) rows: Vec<Option<Register>>,
    pub(super) words: Vec<Vec<Register>>,
    pub(super) spaces: Vec<Option<(SpaceId, SpaceId)>>,
    pub(super) taken: Register,
    number: Option<Register>,
    pub(super) record_end: Register,
    /// The header at which a way goes on, and its end.
    at: Register,
    end: Register,
    /// Of each branch, where there are several: 1 while its conditions hold.
    pub(super) flags: Vec<Register>,
    starts: HashMap<Layer, Register>,
    sets: HashMap<Set, SpaceId>,
    pub(super) next: Label,
    /// The record is left to the decoder, or to the reader.
    pub(super) leave: Label,
    pending: Vec<Pending>,
}

/// What is known of a condition at a place of the program.
enum Outcome<'o> {
    Decided(bool),
    /// It holds when one of these numbers is what it must be.
    Open(Vec<(&'o Test, Register)>),
}

/// Tags of virtual LANs, which stand behind each other.
const TAGS: u128 = bit(Layer::Vlan) | bit(Layer::ServiceVlan);

/// Numbers of a kind that lead to a header.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Set {
    Table(NextTable),
    UdpPorts,
}

/// The program of what is asked of records of a link type, and how many words its state has.
pub(super) fn lower(
    asked: &Asked,
    outputs: &[Output],
    state_words: u32,
    framing: Framing,
    link_type: LinkType,
    options: &Options,
) -> Result<Program, Fault> {
    let mut builder = Builder::new(state_words.into());
    let spaces = outputs
        .iter()
        .map(|output| match output.mode {
            Mode::Direct { bits } => Some((builder.space(1 << bits), builder.space(0))),
            _ => None,
        })
        .collect();
    let taken = builder.carry(TAKEN_WORD);
    let number = asked.asks(From::Number).then(|| builder.carry(NUMBER_WORD));
    let rows = outputs
        .iter()
        .map(|output| (output.mode != Mode::One).then(|| builder.carry(output.rows_word)))
        .collect();
    let words = outputs
        .iter()
        .map(|output| match output.mode {
            Mode::One => (output.first_word..)
                .take(output.state_len)
                .map(|word| builder.carry(word))
                .collect(),
            _ => Vec::new(),
        })
        .collect();
    let flags = asked.branches.iter().map(|_| builder.register()).collect();
    let lowering = Lowering {
        asked,
        outputs,
        options,
        framing,
        rows,
        words,
        spaces,
        taken,
        number,
        record_end: builder.register(),
        at: builder.register(),
        end: builder.register(),
        flags,
        starts: HashMap::new(),
        sets: HashMap::new(),
        next: builder.label(),
        leave: builder.label(),
        pending: Vec::new(),
        builder,
    };
    lowering.program(link_type)
}

impl Lowering<'_> {
    fn program(mut self, link_type: LinkType) -> Result<Program, Fault> {
        let full = self.builder.label();
        for (rows, output) in self.rows.iter().zip(self.outputs) {
            if let Some(rows) = rows {
                let most = (ROWS - output.branches.min(ROWS)) as u64;
                self.builder
                    .require(Relation::LessOrEqual, *rows, most, full);
            }
        }
        let (data, data_end) = self.frame();
        let mut path = Path {
            layers: 0,
            fields: vec![None; self.asked.fields.len()],
            done: 0,
            alive: u32::MAX >> (u32::BITS - self.asked.branches.len() as u32),
        };
        if self.asked.branches.len() > 1 {
            for flag in self.flags.clone() {
                self.builder.set(flag, 1);
            }
        }
        let first = match self.framing {
            Framing::Capture(_) => NextTable::LinkType.layer(link_type.0.into()),
            Framing::Fixed(_) => None,
        };
        if self.decide(&mut path, false) {
            match first {
                _ if !self.is_open(&path) => self.go(Target::Rows, path),
                Some(layer) => {
                    self.builder.set(self.at, data);
                    self.builder.set(self.end, data_end);
                    self.go(Target::Header(layer), path);
                }
                None => self.leaf(path),
            }
        }
        while let Some(pending) = self.next_pending() {
            self.builder.write(pending.label);
            match pending.target {
                Target::Header(layer) => self.header(layer, &pending.path),
                // Rows are made of decoded records.
                Target::Rows if self.outputs.is_empty() => self.builder.jump(self.leave),
                Target::Rows => self.give(&pending.path),
            }
        }
        self.builder.write(self.next);
        if let Some(number) = self.number {
            self.builder.update(Operation::Add, number, 1);
        }
        self.builder.set(Register::AT, self.record_end);
        self.builder.end(End::Next);
        self.builder.write(self.leave);
        self.builder.end(End::Leave(LEAVE_RECORD));
        self.builder.write(full);
        self.builder.end(End::Leave(LEAVE_FULL));
        self.builder.finish()
    }

    /// What is to be written next: headers in the order of their protocols, so that ways that come to the
    /// same one from several others meet.
    fn next_pending(&mut self) -> Option<Pending> {
        let rank = |target: &Target| match target {
            // In front of what they carry, whatever their place in the list.
            Target::Header(Layer::Erf) => 0,
            Target::Header(Layer::ServiceVlan) => 2 * Layer::Vlan as u16,
            Target::Header(layer) => 1 + 2 * *layer as u16,
            Target::Rows => u16::MAX,
        };
        let first =
            (0..self.pending.len()).min_by_key(|index| rank(&self.pending[*index].target))?;
        Some(self.pending.remove(first))
    }

    /// Goes on elsewhere, with all that is known.
    fn go(&mut self, target: Target, path: Path) {
        let label = self.label_of(target, path);
        self.builder.jump(label);
    }

    fn label_of(&mut self, target: Target, mut path: Path) -> Label {
        // Which headers stand in front of what networks carry matters no more there: behind it, none like them is
        // looked for. Behind a last header, and behind all, none is at all.
        match target {
            Target::Header(layer) if is_last(layer) => path.layers = 0,
            Target::Header(layer) if !is_link(layer) => path.layers |= LINKS,
            Target::Header(Layer::Vlan) => path.layers |= LINKS & !bit(Layer::Vlan),
            // A provider's tag stands in front of a customer's.
            Target::Header(Layer::ServiceVlan) => path.layers |= LINKS & !TAGS,
            Target::Header(_) => {}
            Target::Rows => path.layers = 0,
        }
        if matches!(target, Target::Header(_)) {
            self.forget_fields(&mut path);
        }
        let known = self
            .pending
            .iter()
            .find(|pending| pending.target == target && pending.path == path);
        if let Some(pending) = known {
            return pending.label;
        }
        let label = self.builder.label();
        self.pending.push(Pending {
            target,
            path,
            label,
        });
        label
    }

    /// Where no branch can take the record any more, as a field that it asks for was in no header and no plain
    /// one that comes has it, forgets all else: the headers that come only say whether the decoder looks for it.
    fn forget_fields(&self, path: &mut Path) {
        let mut failing = 0;
        for (index, branch) in self.asked.branches.iter().enumerate() {
            if path.alive >> index & 1 == 0 {
                continue;
            }
            let mut conditions = branch.conditions.iter();
            let Some(condition) = conditions.find(|condition| self.will_fail(**condition, path))
            else {
                return;
            };
            failing |= 1 << condition;
        }
        path.done = !failing;
        path.fields.fill(Some(0));
        for (index, condition) in self.asked.conditions.iter().enumerate() {
            if failing >> index & 1 == 1 {
                condition
                    .fields()
                    .for_each(|field| path.fields[field] = None);
            }
        }
    }

    fn will_fail(&self, condition: usize, path: &Path) -> bool {
        let fails = |one: &Comparison| {
            let From::Field(field) = one.value.from else {
                return false;
            };
            let mut locations = self.asked.fields[field].locations.iter();
            path.fields[field].is_none()
                && one.test != Test::IsMissing
                && !locations.any(|location| self.is_plain(location.layer, path))
        };
        let asked = &self.asked.conditions[condition];
        path.done >> condition & 1 == 0 && asked.any_of.iter().all(fails)
    }

    /// No header follows.
    fn leaf(&mut self, mut path: Path) {
        if self.decide(&mut path, true) {
            self.go(Target::Rows, path);
        }
    }

    /// Something is asked that is not known yet.
    fn is_open(&self, path: &Path) -> bool {
        let is_open = |value: &Value| match value.from {
            From::Field(field) => path.fields[field].is_none(),
            _ => false,
        };
        let branches = self.asked.branches.iter().enumerate();
        let alive = branches.filter(|(branch, _)| path.alive >> branch & 1 == 1);
        alive.into_iter().any(|(_, branch)| {
            let conditions = branch.conditions.iter();
            let open = conditions.filter(|condition| path.done >> **condition & 1 == 0);
            open.flat_map(|condition| &self.asked.conditions[*condition].any_of)
                .map(|one| &one.value)
                .chain(&branch.keys)
                .chain(branch.arguments.iter().flatten())
                .any(is_open)
        })
    }

    /// Puts the conditions whose fields are known, or at the last header all; false when no branch takes the
    /// record any more, which is then done.
    fn decide(&mut self, path: &mut Path, is_last: bool) -> bool {
        let asked = self.asked;
        let mut ready: Vec<usize> = (0..asked.conditions.len())
            .filter(|index| path.done >> index & 1 == 0)
            .filter(|index| {
                let mut fields = asked.conditions[*index].fields();
                is_last || fields.all(|field| path.fields[field].is_some())
            })
            .collect();
        ready.sort_by_key(|index| asked.conditions[*index].selectivity());
        let mut has_changed = false;
        for index in ready {
            path.done |= 1 << index;
            let before = path.alive;
            let of = self.branches_with(index) & before;
            if of == 0 {
                continue;
            }
            match self.outcome(&asked.conditions[index], path) {
                Outcome::Decided(true) => {}
                Outcome::Decided(false) => path.alive &= !of,
                Outcome::Open(any_of) if of == path.alive => self.require(&any_of),
                Outcome::Open(any_of) => {
                    let holds = self.holds(&any_of);
                    for branch in 0..asked.branches.len() {
                        if of >> branch & 1 == 1 {
                            let flag = self.flags[branch];
                            self.builder.update(Operation::And, flag, holds);
                        }
                    }
                    has_changed = true;
                }
            }
            has_changed |= of != before && path.alive != before;
            if path.alive == 0 {
                self.builder.jump(self.next);
                return false;
            }
        }
        // Those that live on may all have failed.
        if has_changed && asked.branches.len() > 1 {
            let alive = (0..asked.branches.len()).filter(|branch| path.alive >> branch & 1 == 1);
            let mut flags = alive
                .map(|branch| self.flags[branch])
                .collect::<Vec<_>>()
                .into_iter();
            if let Some(first) = flags.next() {
                let any = flags.fold(first, |any, flag| {
                    self.builder.compute(Operation::Or, any, flag)
                });
                self.builder.require(Relation::NotEqual, any, 0, self.next);
            }
        }
        true
    }

    /// What is known of a condition, as all its fields are; what is not is to be asked of the record.
    fn outcome<'a>(&mut self, condition: &'a Condition, path: &Path) -> Outcome<'a> {
        let mut open = Vec::new();
        for Comparison { value, test } in &condition.any_of {
            let decided = match self.fixed_number(value, path) {
                Some(number) => test.accepts(number),
                None => match (test, self.value(value, path)) {
                    (Test::IsThere, value) => value.is_some(),
                    (Test::IsMissing, value) => value.is_none(),
                    (_, None) => false,
                    (test, Some(value)) => {
                        open.push((test, value));
                        continue;
                    }
                },
            };
            if decided {
                return Outcome::Decided(true);
            }
        }
        match open.is_empty() {
            true => Outcome::Decided(false),
            false => Outcome::Open(open),
        }
    }

    /// The number that a field has in every header that is plain, such as the version of IP.
    fn fixed_number(&self, value: &Value, path: &Path) -> Option<u64> {
        let From::Field(field) = value.from else {
            return None;
        };
        let location = usize::from(path.fields[field]?);
        let location = self.asked.fields[field].locations.get(location)?;
        let [shape] = location.layer.shapes() else {
            return None;
        };
        let bits = location.at.bits()?;
        let mut tests = shape.tests.iter();
        let test = tests.find(|test| test.bits == bits && !test.when_cut)?;
        match test.ranges {
            [(low, high)] if low == high && value.steps.is_empty() && !value.is_flag => Some(*low),
            _ => None,
        }
    }

    fn branches_with(&self, condition: usize) -> u32 {
        let branches = self.asked.branches.iter().enumerate();
        branches.fold(0, |all, (index, branch)| {
            all | u32::from(branch.conditions.contains(&condition)) << index
        })
    }

    /// The record is done unless one of the tests holds.
    fn require(&mut self, any_of: &[(&Test, Register)]) {
        let next = self.next;
        match any_of {
            [(Test::Within(range), value)] => {
                let (relation, left, right) = self.relation(range, *value);
                self.builder.require(relation, left, right, next);
            }
            any_of => {
                let holds = self.holds(any_of);
                self.builder.require(Relation::NotEqual, holds, 0, next);
            }
        }
    }

    /// 1 when one of the tests holds.
    fn holds(&mut self, any_of: &[(&Test, Register)]) -> Register {
        let mut all = self.builder.copy(0);
        for (test, value) in any_of {
            let ranges: &[NumberRange] = match test {
                Test::Within(range) => std::slice::from_ref(range),
                Test::IsOneOf(ranges) => ranges,
                Test::IsThere | Test::IsMissing => &[],
            };
            for range in ranges {
                let relation = self.relation(range, *value);
                all = self.builder.select(relation, 1, all);
            }
        }
        all
    }

    fn relation(&mut self, range: &NumberRange, value: Register) -> (Relation, Register, u64) {
        let (first, more, negated) = range.parts();
        let (relation, left, right) = match (first, more) {
            (_, 0) => (Relation::Equal, value, first),
            (0, _) => (Relation::LessOrEqual, value, more),
            _ => {
                let from = self.builder.compute(Operation::Subtract, value, first);
                (Relation::LessOrEqual, from, more)
            }
        };
        match negated {
            true => (relation.negated(), left, right),
            false => (relation, left, right),
        }
    }

    /// A header of a protocol: the first of its shapes that it has, or the decoder reads the record.
    fn header(&mut self, layer: Layer, path: &Path) {
        let is_first = path.layers >> layer as u32 & 1 == 0;
        let at = match is_first && self.is_wanted(layer, path) {
            true => {
                let at = self.start(layer);
                self.builder.set(at, self.at);
                at
            }
            false => self.builder.copy(self.at),
        };
        let end = self.builder.copy(self.end);
        let shapes = layer.shapes().iter();
        let shapes: Vec<_> = shapes
            .filter(|shape| shape.is_enabled(self.options))
            .collect();
        self.shapes(layer, &shapes, (at, end), path, &[], 0);
    }

    /// A header of the first of these shapes that it has. `known` are tests of it that were decided on the way
    /// here, and so many of its bytes are known to be there. One that is shorter than the shape at hand is left to the decoder, whatever other shape it has.
    fn shapes(
        &mut self,
        layer: Layer,
        shapes: &[&HeaderShape],
        (at, end): (Register, Register),
        path: &Path,
        known: &[(BitsTest, bool)],
        room: u32,
    ) {
        let Some((shape, others)) = shapes.split_first() else {
            return self.builder.jump(self.leave);
        };
        if !is_possible(shape, known) {
            return self.shapes(layer, others, (at, end), path, known, room);
        }
        let mut known = known.to_vec();
        // Where to go on with the other shapes, with what is known there.
        let mut elsewhere = Vec::new();
        let mut go_elsewhere = |builder: &mut Builder, leave: Label, known: Vec<_>| {
            if !others.iter().any(|other| is_possible(other, &known)) {
                return leave;
            }
            let label = builder.label();
            elsewhere.push((label, known));
            label
        };
        if shape.len_min > room {
            self.builder
                .require_bytes(at, shape.len_min, end, self.leave);
        }
        let least = room.max(shape.len_min);
        let mut room = least;
        for test in shape.tests {
            if decided(test, &known, None) == Some(true) {
                continue;
            }
            let mut without = known.clone();
            without.push((*test, false));
            let fail = go_elsewhere(&mut self.builder, self.leave, without);
            self.test(test, at, end, room, fail);
            if !test.when_cut {
                room = room.max(test.bits.end());
            }
            known.push((*test, true));
        }
        let fail = go_elsewhere(&mut self.builder, self.leave, known.clone());
        self.shape(layer, shape, (at, end), path, &mut known, fail);
        for (label, known) in elsewhere {
            self.builder.write(label);
            self.shapes(layer, others, (at, end), path, &known, least);
        }
    }

    fn start(&mut self, layer: Layer) -> Register {
        let builder = &mut self.builder;
        *self
            .starts
            .entry(layer)
            .or_insert_with(|| builder.register())
    }

    fn is_wanted(&self, layer: Layer, path: &Path) -> bool {
        let fields = self.asked.fields.iter().zip(&path.fields);
        fields.into_iter().any(|(field, known)| {
            known.is_none()
                && field
                    .locations
                    .iter()
                    .any(|location| location.layer == layer)
        })
    }

    fn shape(
        &mut self,
        layer: Layer,
        shape: &HeaderShape,
        (at, end): (Register, Register),
        path: &Path,
        known: &mut Vec<(BitsTest, bool)>,
        fail: Label,
    ) {
        let (payload, len) = match shape.len {
            HeaderLen::Fixed => {
                let len = u64::from(shape.len_min);
                (self.builder.compute(Operation::Add, at, len), None)
            }
            HeaderLen::Field { bits, unit, base } => {
                let mut len = self.bits(at, &bits);
                if unit != 1 {
                    len = self
                        .builder
                        .compute(Operation::Multiply, len, u64::from(unit));
                }
                if base != 0 {
                    len = self.builder.compute(Operation::Add, len, u64::from(base));
                }
                let least = shape.len_min.saturating_sub(base).div_ceil(unit.max(1));
                let is_long = known.iter().any(|(test, holds)| {
                    *holds
                        && test.bits == bits
                        && !test.when_cut
                        && test.ranges.iter().all(|(low, _)| *low >= u64::from(least))
                });
                if !is_long {
                    let least = u64::from(shape.len_min);
                    self.builder
                        .require(Relation::GreaterOrEqual, len, least, fail);
                }
                (self.builder.reach(at, len, end, fail), Some(len))
            }
        };
        let payload_end = match shape.end {
            PayloadEnd::Outer => end,
            PayloadEnd::Field {
                bits,
                base,
                zero_is_outer,
            } => {
                let value = self.bits(at, &bits);
                if !zero_is_outer {
                    self.builder.require(Relation::NotEqual, value, 0, fail);
                }
                let total = match base {
                    0 => value,
                    base => self.builder.compute(Operation::Add, value, u64::from(base)),
                };
                // What stands for no length is longer than any header here.
                let total = match zero_is_outer {
                    true => {
                        self.builder
                            .select((Relation::Equal, value, 0), u64::from(u32::MAX), total)
                    }
                    false => total,
                };
                match len {
                    Some(len) => self
                        .builder
                        .require(Relation::GreaterOrEqual, total, len, fail),
                    None => self.builder.require(
                        Relation::GreaterOrEqual,
                        total,
                        u64::from(shape.len_min),
                        fail,
                    ),
                }
                let stated = self.builder.compute(Operation::Add, at, total);
                self.builder.compute(Operation::Minimum, stated, end)
            }
        };
        let mut path = path.clone();
        let is_first = path.layers >> layer as u32 & 1 == 0;
        path.layers |= match layer {
            // Behind either, no other IP is looked for.
            Layer::Ipv4 | Layer::Ipv6 => 1 << Layer::Ipv4 as u32 | 1 << Layer::Ipv6 as u32,
            layer => 1 << layer as u32,
        };
        let here = Here {
            layer,
            shape,
            at,
            end,
            payload,
            payload_end,
        };
        match is_first {
            true => self.resolve(&here, path, 0, 0, known),
            false => self.go_on(&here, path),
        }
    }

    /// Goes elsewhere unless the test holds.
    fn test(&mut self, test: &BitsTest, at: Register, end: Register, known: u32, fail: Label) {
        let behind = self.builder.label();
        if test.bits.end() > known {
            let cut = if test.when_cut { behind } else { fail };
            self.builder.require_bytes(at, test.bits.end(), end, cut);
        }
        let value = self.bits(at, &test.bits);
        let Some((last, others)) = test.ranges.split_last() else {
            self.builder.jump(fail);
            self.builder.write(behind);
            return;
        };
        for (low, high) in others {
            let next = self.builder.label();
            let range = NumberRange::from_to(*low, *high);
            let (relation, left, right) = self.relation(&range, value);
            self.builder.branch(relation, left, right, behind, next);
            self.builder.write(next);
        }
        let range = NumberRange::from_to(last.0, last.1);
        let (relation, left, right) = self.relation(&range, value);
        self.builder.branch(relation, left, right, behind, fail);
        self.builder.write(behind);
    }

    /// Finds out which of the fields from `field` on the header has, trying the locations of the first from
    /// `location` on. `known` are tests that are decided.
    fn resolve(
        &mut self,
        here: &Here<'_>,
        mut path: Path,
        field: usize,
        location: usize,
        known: &mut Vec<(BitsTest, bool)>,
    ) {
        let mut location = location;
        for field in field..self.asked.fields.len() {
            let locations = self.asked.fields[field].locations;
            let from = std::mem::take(&mut location);
            if path.fields[field].is_some() {
                continue;
            }
            for (index, place) in locations.iter().enumerate().skip(from) {
                if place.layer != here.layer {
                    continue;
                }
                let decided = |test: &BitsTest| decided(test, known, Some(here.shape));
                if place.when.iter().any(|test| decided(test) == Some(false)) {
                    continue;
                }
                let open: Vec<BitsTest> = place
                    .when
                    .iter()
                    .filter(|test| decided(test).is_none())
                    .copied()
                    .collect();
                let is_there = place.at.end() <= here.shape.len_min;
                if open.is_empty() && is_there {
                    path.fields[field] = u8::try_from(index).ok();
                    break;
                }
                // Two ways from here on: with the field at this place, and without.
                let without = self.builder.label();
                for test in &open {
                    self.test(test, here.at, here.end, here.shape.len_min, without);
                }
                if !is_there {
                    self.builder
                        .require_bytes(here.at, place.at.end(), here.end, without);
                }
                let decided_before = known.len();
                known.extend(open.iter().map(|test| (*test, true)));
                let mut with = path.clone();
                with.fields[field] = u8::try_from(index).ok();
                self.resolve(here, with, field + 1, 0, known);
                known.truncate(decided_before);
                if let ([test], true) = (&open[..], is_there) {
                    known.push((*test, false));
                }
                self.builder.write(without);
            }
        }
        self.go_on(here, path);
    }

    /// Goes on behind a header.
    fn go_on(&mut self, here: &Here<'_>, mut path: Path) {
        if !self.decide(&mut path, false) {
            return;
        }
        if !self.is_open(&path) {
            return self.go(Target::Rows, path);
        }
        let mut leaf = None;
        if !here.shape.no_next.is_empty() {
            let label = self.builder.label();
            for test in here.shape.no_next {
                let on = self.builder.label();
                self.test(test, here.at, here.end, here.shape.len_min, on);
                self.builder.jump(label);
                self.builder.write(on);
            }
            leaf = Some(label);
        }
        self.builder.set(self.at, here.payload);
        self.builder.set(self.end, here.payload_end);
        match here.shape.next {
            NextHeader::Payload => self.leaf(path.clone()),
            NextHeader::Layer(layer) => self.go_to_header(layer, path.clone()),
            NextHeader::IpVersion => self.by_version(here, &path),
            NextHeader::Number { bits, table } => self.by_number(here, bits, table, &path),
            NextHeader::UdpPorts {
                source,
                destination,
            } => {
                let known = self.set(Set::UdpPorts);
                for bits in [source, destination] {
                    let port = self.bits(here.at, &bits);
                    self.leave_if_in(port, known);
                }
                self.leaf(path.clone());
            }
        }
        if let Some(label) = leaf {
            self.builder.write(label);
            self.leaf(path);
        }
    }

    fn go_to_header(&mut self, layer: Layer, path: Path) {
        match self.is_plain(layer, &path) {
            true => self.go(Target::Header(layer), path),
            false => self.builder.jump(self.leave),
        }
    }

    /// It has shapes, and no header like it was found before: what repeats is a tunnel, which the decoder
    /// reads. So is a link's header behind another's, but for tags and behind what a card puts in front.
    fn is_plain(&self, layer: Layer, path: &Path) -> bool {
        let is_ip = |layers: u128| layers & (bit(Layer::Ipv4) | bit(Layer::Ipv6)) != 0;
        let is_in_another = path.layers & LINKS & !bit(Layer::Erf) != 0;
        let is_tunnelled = is_link(layer) && TAGS & bit(layer) == 0 && is_in_another;
        path.layers & bit(layer) == 0
            && !(is_ip(bit(layer)) && is_ip(path.layers))
            && !is_tunnelled
            && layer
                .shapes()
                .iter()
                .any(|shape| shape.is_enabled(self.options))
    }

    fn by_version(&mut self, here: &Here<'_>, path: &Path) {
        let leaf = self.builder.label();
        self.builder
            .require_bytes(here.payload, 1, here.payload_end, leaf);
        let version = self.bits(here.payload, &Bits::byte(0).part(4, 4));
        for (number, layer) in [(4, Layer::Ipv4), (6, Layer::Ipv6)] {
            let (is_it, other) = (self.builder.label(), self.builder.label());
            self.builder
                .branch(Relation::Equal, version, number, is_it, other);
            self.builder.write(is_it);
            self.go_to_header(layer, path.clone());
            self.builder.write(other);
        }
        self.builder.jump(leaf);
        self.builder.write(leaf);
        self.leaf(path.clone());
    }

    fn by_number(&mut self, here: &Here<'_>, bits: Bits, table: NextTable, path: &Path) {
        if bits.width() > 16 {
            return self.builder.jump(self.leave);
        }
        let number = self.bits(here.at, &bits);
        let mut entries: Vec<(u32, Layer)> = table
            .entries()
            .filter(|(number, layer)| {
                u64::from(*number) <= bits.mask()
                    && has_number(here.shape, &bits, (*number).into())
                    && self.is_plain(*layer, path)
            })
            .collect();
        // What most traffic is made of is asked for first.
        entries.sort_by_key(|(_, layer)| match layer {
            Layer::Ipv4 | Layer::Tcp => 0,
            Layer::Udp => 1,
            Layer::Ipv6 | Layer::Vlan => 2,
            _ => 3,
        });
        for (entry, layer) in entries {
            let target = self.label_of(Target::Header(layer), path.clone());
            let other = self.builder.label();
            self.builder
                .branch(Relation::Equal, number, u64::from(entry), target, other);
            self.builder.write(other);
        }
        let known = self.set(Set::Table(table));
        self.leave_if_in(number, known);
        self.leaf(path.clone());
    }

    /// The record is left to the decoder when a number is in the set.
    fn leave_if_in(&mut self, number: Register, set: SpaceId) {
        let word = self.builder.compute(Operation::ShiftRight, number, 6);
        let word = self.builder.read(set, Some(word), 0);
        let bit = self.builder.compute(Operation::ShiftRight, word, number);
        let bit = self.builder.compute(Operation::And, bit, 1);
        self.builder.require(Relation::Equal, bit, 0, self.leave);
    }

    fn set(&mut self, set: Set) -> SpaceId {
        if let Some(space) = self.sets.get(&set) {
            return *space;
        }
        // A bit for each number of 16 bits.
        let mut words = vec![0_u64; 1024];
        let mut add = |number: u32| {
            if let Some(word) = words.get_mut(number as usize >> 6) {
                *word |= 1 << (number & 63);
            }
        };
        match set {
            Set::Table(table) => table.entries().for_each(|(number, _)| add(number)),
            Set::UdpPorts => known_udp_ports().for_each(|port| add(port.into())),
        }
        let space = self.builder.constants(Arc::from(words));
        self.sets.insert(set, space);
        space
    }

    /// Some bits of what begins at a place, behind which they are known to be.
    fn bits(&mut self, at: Register, bits: &Bits) -> Register {
        let is_little = bits.endian() == Endian::Little;
        let offset = bits.offset();
        let b = &mut self.builder;
        let word = match bits.bytes() {
            1 => b.load(at, offset, Bytes::One),
            2 => b.load_in_order(at, offset, Bytes::Two, is_little),
            3 => {
                let (high_at, low_at) = if is_little { (1, 0) } else { (0, 2) };
                let high = b.load_in_order(at, offset + high_at, Bytes::Two, is_little);
                let low = b.load(at, offset + low_at, Bytes::One);
                let high = b.compute(Operation::ShiftLeft, high, 8);
                b.compute(Operation::Or, high, low)
            }
            4 => b.load_in_order(at, offset, Bytes::Four, is_little),
            // `Asked` takes no others, and shapes have none.
            _ => b.load_in_order(at, offset, Bytes::Eight, is_little),
        };
        let word = match bits.shift() {
            0 => word,
            shift => b.compute(Operation::ShiftRight, word, u64::from(shift)),
        };
        match bits.shift() + bits.width() < bits.bytes() * 8 {
            true => b.compute(Operation::And, word, bits.mask()),
            false => word,
        }
    }

    /// The number of the record at hand; `None` where it has none.
    pub(super) fn value(&mut self, value: &Value, path: &Path) -> Option<Register> {
        let mut number = match value.from {
            From::Field(field) => {
                let location = path.fields[field]?;
                let location = self.asked.fields[field]
                    .locations
                    .get(usize::from(location))?;
                let start = self.start(location.layer);
                let bits = location.at.bits()?;
                self.bits(start, &bits)
            }
            From::Record(bits) => self.bits(Register::AT, &bits),
            From::Number => self.number?,
            From::Len => self.wire_len()?,
            From::Time => self.time()?,
        };
        if value.is_flag {
            number = self.builder.select((Relation::NotEqual, number, 0), 1, 0);
        }
        for step in &value.steps {
            number = self.calculate(step.calculation, number, step.constant, step.signed);
        }
        Some(number)
    }

    fn calculate(
        &mut self,
        calculation: Calculation,
        left: Register,
        constant: u64,
        signed: bool,
    ) -> Register {
        let b = &mut self.builder;
        let divisor = match signed {
            true => (constant as i64).max(1) as u64,
            false => constant.max(1),
        };
        let (operation, constant) = match calculation {
            Calculation::Add => (Operation::Add, constant),
            Calculation::Subtract => (Operation::Subtract, constant),
            Calculation::Multiply => (Operation::Multiply, constant),
            Calculation::And => (Operation::And, constant),
            Calculation::Or => (Operation::Or, constant),
            Calculation::ExclusiveOr => (Operation::ExclusiveOr, constant),
            Calculation::ShiftLeft => (Operation::ShiftLeft, constant),
            Calculation::ShiftRight if signed => (Operation::ShiftRightSigned, constant),
            Calculation::ShiftRight => (Operation::ShiftRight, constant),
            Calculation::Divide if signed => (Operation::DivideSigned, divisor),
            Calculation::Divide => (Operation::Divide, divisor),
            Calculation::Remainder if signed => (Operation::RemainderSigned, divisor),
            Calculation::Remainder => (Operation::Remainder, divisor),
            Calculation::Floor => {
                let rest = match signed {
                    true => {
                        let rest = b.compute(Operation::RemainderSigned, left, divisor);
                        let positive = b.compute(Operation::Add, rest, divisor);
                        b.select((Relation::Greater, rest, i64::MAX as u64), positive, rest)
                    }
                    false => b.compute(Operation::Remainder, left, divisor),
                };
                return b.compute(Operation::Subtract, left, rest);
            }
        };
        b.compute(operation, left, constant)
    }
}
