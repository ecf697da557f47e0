//! Writes the program of a query: the framing of records, the walk from header to header by their shapes, conditions as
//! soon as their field is known, then the addition of the record to its groups.
//!
//! A fact about a record is a fact about a place in the program: the headers that were found and the fields that they
//! have are never tested twice. Where two paths through the headers have the same facts, they continue as one.

use std::collections::HashMap;

use weir_compile::{
    Builder, Fault, Label, Operation, Program, Register, Relation, SpaceId, Terminator,
};
use weir_packet::{Layer, LinkType, NextTable, Options};

use super::condition::Test;
use super::facts::{LINKS, TAGS, bit, is_last, is_link};
use super::output::{Mode, Output};
use super::plan::{Comparison, From, PlannedValue, ProgramPlan};
use super::records::ProgramFraming;
use crate::aggregate::ROWS;

/// The indices of the words of the state.
pub(super) const PORTS_WORD: u32 = 2;
pub(super) const NUMBER_WORD: u32 = 3;
pub(super) const TAKEN_WORD: u32 = 4;
pub(super) const FIRST_FREE_WORD: u32 = 5;

/// The reasons for which a program ends.
pub(super) const LEAVE_RECORD: u8 = 0;
pub(super) const LEAVE_FULL: u8 = 1;
/// The record enters a block that no record of the sample entered.
pub(super) const LEAVE_RARE: u8 = 2;

/// The facts about a record at a place of the program.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Path {
    /// The headers that were found.
    pub(super) layers: u128,
    /// The location of each field; `None` where it is not known yet, or the record has none.
    pub(super) fields: Vec<Option<u8>>,
    /// The conditions that were tested.
    pub(super) done: u64,
    /// The branches that may still select the record.
    pub(super) alive: u32,
}

/// The continuation of a path through the headers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Header(Layer),
    /// The record is added to its groups.
    Rows,
}

/// The numbers of one kind that lead to a header.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Set {
    Table(NextTable),
    UdpPorts,
}

struct Pending {
    target: Target,
    path: Path,
    label: Label,
}

pub(super) struct Lowering<'l> {
    pub(super) builder: Builder,
    pub(super) plan: &'l ProgramPlan,
    pub(super) outputs: &'l [Output],
    pub(super) options: &'l Options,
    pub(super) framing: ProgramFraming,
    pub(super) rows: Vec<Option<Register>>,
    pub(super) words: Vec<Vec<Register>>,
    pub(super) spaces: Vec<Option<(SpaceId, SpaceId)>>,
    pub(super) taken: Register,
    pub(super) number: Option<Register>,
    pub(super) record_end: Register,
    /// The header with which a path continues, and its end.
    pub(super) at: Register,
    pub(super) end: Register,
    /// The flag of each branch, if there are several: 1 while its conditions are true.
    pub(super) flags: Vec<Register>,
    pub(super) starts: HashMap<Layer, Register>,
    pub(super) sets: HashMap<Set, SpaceId>,
    pub(super) next: Label,
    /// The label at which the record is left to the decoder, or to the reader.
    pub(super) leave: Label,
    pending: Vec<Pending>,
}

/// Writes the program of a plan for records of a link type, whose state has this number of words.
pub(super) fn lower(
    plan: &ProgramPlan,
    outputs: &[Output],
    state_words: u32,
    framing: ProgramFraming,
    link_type: LinkType,
    options: &Options,
) -> Result<Program, Fault> {
    let mut builder = Builder::new(state_words.into());
    let spaces = outputs
        .iter()
        .map(|output| {
            let bits = output.mode.place_bits()?;
            Some((builder.space(1 << bits), builder.space(0)))
        })
        .collect();
    let taken = builder.carry(TAKEN_WORD);
    let number = plan.needs(From::Number).then(|| builder.carry(NUMBER_WORD));
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
    let flags = plan.branches.iter().map(|_| builder.register()).collect();
    let lowering = Lowering {
        plan,
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
            fields: vec![None; self.plan.fields.len()],
            done: 0,
            alive: u32::MAX >> (u32::BITS - self.plan.branches.len() as u32),
        };
        if self.plan.branches.len() > 1 {
            for flag in self.flags.clone() {
                self.builder.set(flag, 1);
            }
        }
        let first = match self.framing {
            ProgramFraming::Capture(_) => NextTable::LinkType.layer(link_type.0.into()),
            ProgramFraming::Fixed(_) => None,
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
        self.builder.end(Terminator::Next);
        self.builder.write(self.leave);
        self.builder.end(Terminator::Leave(LEAVE_RECORD));
        self.builder.write(full);
        self.builder.end(Terminator::Leave(LEAVE_FULL));
        self.builder.finish()
    }

    /// Returns the next block: headers in the order of their protocols, so that paths to the same one meet.
    fn next_pending(&mut self) -> Option<Pending> {
        let rank = |target: &Target| match target {
            // The record header comes before its contents, whatever its place in the list.
            Target::Header(Layer::Erf) => 0,
            Target::Header(Layer::ServiceVlan) => 2 * Layer::Vlan as u16,
            Target::Header(layer) => 1 + 2 * *layer as u16,
            Target::Rows => u16::MAX,
        };
        let first =
            (0..self.pending.len()).min_by_key(|index| rank(&self.pending[*index].target))?;
        Some(self.pending.remove(first))
    }

    /// Continues at a target, with all facts of the path.
    pub(super) fn go(&mut self, target: Target, path: Path) {
        let label = self.label_of(target, path);
        self.builder.jump(label);
    }

    pub(super) fn label_of(&mut self, target: Target, mut path: Path) -> Label {
        // The headers before the network layer do not matter after it, as no further ones of their kind are read. After
        // the last header, and at the end, none do.
        match target {
            Target::Header(layer) if is_last(layer) => path.layers = 0,
            Target::Header(layer) if !is_link(layer) => path.layers |= LINKS,
            Target::Header(Layer::Vlan) => path.layers |= LINKS & !bit(Layer::Vlan),
            // A service VLAN tag stands in front of a customer VLAN tag.
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

    /// Forgets all other fields once no branch can select the record any more, because a field that it needs was in no
    /// header and is in no plain one that follows: the following headers only decide whether the decoder reads the
    /// record.
    fn forget_fields(&self, path: &mut Path) {
        let mut failing = 0;
        for (index, branch) in self.plan.branches.iter().enumerate() {
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
        for (index, condition) in self.plan.conditions.iter().enumerate() {
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
            let mut locations = self.plan.fields[field].locations.iter();
            path.fields[field].is_none()
                && one.test != Test::IsMissing
                && !locations.any(|location| self.is_plain(location.layer, path))
        };
        let open = &self.plan.conditions[condition];
        path.done >> condition & 1 == 0 && open.any_of.iter().all(fails)
    }

    /// Ends a path after which no header follows.
    pub(super) fn leaf(&mut self, mut path: Path) {
        if self.decide(&mut path, true) {
            self.go(Target::Rows, path);
        }
    }

    /// Returns whether some field that a branch needs is not known yet.
    pub(super) fn is_open(&self, path: &Path) -> bool {
        let is_open = |value: &PlannedValue| match value.from {
            From::Field(field) => path.fields[field].is_none(),
            _ => false,
        };
        let branches = self.plan.branches.iter().enumerate();
        let alive = branches.filter(|(branch, _)| path.alive >> branch & 1 == 1);
        alive.into_iter().any(|(_, branch)| {
            let conditions = branch.conditions.iter();
            let open = conditions.filter(|condition| path.done >> **condition & 1 == 0);
            open.flat_map(|condition| &self.plan.conditions[*condition].any_of)
                .map(|one| &one.value)
                .chain(&branch.keys)
                .chain(branch.arguments.iter().flatten())
                .any(is_open)
        })
    }
}
