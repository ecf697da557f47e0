//! Adds records to their groups.

use weir_compile::{Builder, Label, Operation, Register, Relation, SpaceId};

use super::lower::{Lowering, Path};
use super::output::{Mode, Output, WaitingColumn};
use super::plan::RequestedBranch;
use crate::aggregate::ROWS;
use crate::groups::PlaceHash;

impl Lowering<'_> {
    /// Adds the record to the groups of each branch that selects it.
    pub(super) fn give(&mut self, path: &Path) {
        self.builder.update(Operation::Add, self.taken, 1);
        let plan = self.plan;
        for (index, branch) in plan.branches.iter().enumerate() {
            if path.alive >> index & 1 == 0 {
                continue;
            }
            let behind = self.builder.label();
            if path.alive.count_ones() > 1 {
                self.builder
                    .require(Relation::NotEqual, self.flags[index], 0, behind);
            }
            self.give_of(branch, path);
            self.builder.jump(behind);
            self.builder.write(behind);
        }
        self.builder.jump(self.next);
    }

    fn give_of(&mut self, branch: &RequestedBranch, path: &Path) {
        let output = &self.outputs[branch.aggregate];
        let arguments: Vec<Option<Register>> = branch
            .arguments
            .iter()
            .map(|argument| self.value(argument.as_ref()?, path))
            .collect();
        if output.mode == Mode::One {
            let words = self.words[branch.aggregate].clone();
            return self.add(
                output,
                &arguments,
                |_, word| words[word],
                |b, word, value| {
                    b.set(words[word], value);
                },
            );
        }
        let keys = self.key(branch, output, path);
        let behind = self.builder.label();
        if let Some((places, entries)) = self.spaces[branch.aggregate] {
            let fresh = self.builder.label();
            let at = self.find(output, &keys, (places, entries), fresh);
            let first = output.key_words;
            let offset = move |word: usize| (first + word) as u32;
            self.add(
                output,
                &arguments,
                |b, word| b.read(entries, Some(at), offset(word)),
                |b, word, value| b.put(value, entries, Some(at), offset(word)),
            );
            self.builder.jump(behind);
            self.builder.write(fresh);
        }
        // The branch stores a row that waits to be added.
        if let Some(rows) = self.rows[branch.aggregate] {
            for (column, from) in output.columns.iter().enumerate() {
                let column_at = output.first_word + (column * ROWS) as u32;
                let put = |b: &mut Builder, from: Option<Register>| match from {
                    Some(from) => b.put(from, SpaceId::STATE, Some(rows), column_at),
                    None => b.put(0, SpaceId::STATE, Some(rows), column_at),
                };
                match *from {
                    WaitingColumn::Key(word) => put(&mut self.builder, keys.get(word).copied()),
                    WaitingColumn::Value(measure) => put(&mut self.builder, arguments[measure]),
                    WaitingColumn::Validity(measure) => {
                        let is_there = u64::from(arguments[measure].is_some());
                        self.builder
                            .put(is_there, SpaceId::STATE, Some(rows), column_at);
                    }
                }
            }
            self.builder.update(Operation::Add, rows, 1);
        }
        self.builder.jump(behind);
        self.builder.write(behind);
    }

    /// Finds the group of a key among the entries; jumps to `fresh` for a group that has no place, or has lost it to
    /// another one.
    fn find(
        &mut self,
        output: &Output,
        keys: &[Register],
        (places, entries): (SpaceId, SpaceId),
        fresh: Label,
    ) -> Register {
        let place = match (output.mode, keys) {
            (Mode::Hashed, _) => self.place(output, keys, fresh),
            (_, [key]) => *key,
            _ => self.builder.copy(0),
        };
        let b = &mut self.builder;
        // Zero, the complement of the largest number, is no group.
        let number = b.read(places, Some(place), 0);
        let number = b.compute(Operation::And, number, u64::from(u32::MAX));
        let number = b.compute(Operation::ExclusiveOr, number, u64::from(u32::MAX));
        let stride = (output.key_words + output.state_len) as u64;
        let at = b.compute(Operation::Multiply, number, stride);
        b.require_words(at, stride as u32, entries, fresh);
        if output.mode == Mode::Hashed {
            for (word, key) in (0..).zip(keys) {
                let known = b.read(entries, Some(at), word);
                b.require(Relation::Equal, known, *key, fresh);
            }
        }
        at
    }

    /// Computes the place of a key, as [`PlaceHash`] does; jumps to `fresh` where groups have given up their places.
    fn place(&mut self, output: &Output, keys: &[Register], fresh: Label) -> Register {
        let b = &mut self.builder;
        let multiplier = b.read(SpaceId::STATE, None, output.multiplier_word);
        b.require(Relation::NotEqual, multiplier, 0, fresh);
        let mut product = None;
        for key in keys {
            let word = match product {
                None => *key,
                Some(before) => {
                    let folded =
                        b.compute(Operation::ShiftRight, before, u64::from(PlaceHash::FOLD));
                    let folded = b.compute(Operation::ExclusiveOr, before, folded);
                    b.compute(Operation::ExclusiveOr, folded, *key)
                }
            };
            product = Some(b.compute(Operation::Multiply, word, multiplier));
        }
        let product = product.unwrap_or_else(|| b.copy(0));
        b.compute(
            Operation::ShiftRight,
            product,
            u64::from(u64::BITS - PlaceHash::BITS),
        )
    }

    /// The words of the key of a record.
    fn key(&mut self, branch: &RequestedBranch, output: &Output, path: &Path) -> Vec<Register> {
        let mut words: Vec<Option<Register>> = vec![None; output.key_words];
        let mut constants = vec![0_u64; output.key_words];
        for (part, value) in branch.keys.iter().enumerate() {
            let Some(number) = self.value(value, path) else {
                continue;
            };
            let (place, there) = output.key.places(part);
            let mut number = number;
            if place.mask() != u64::MAX {
                number = self.builder.compute(Operation::And, number, place.mask());
            }
            if place.shift != 0 {
                number = self
                    .builder
                    .compute(Operation::ShiftLeft, number, u64::from(place.shift));
            }
            words[place.word] = Some(match words[place.word] {
                None => number,
                Some(word) => self.builder.compute(Operation::Or, word, number),
            });
            constants[there.word] |= 1 << there.shift;
        }
        words
            .into_iter()
            .zip(constants)
            .map(|(word, constant)| match (word, constant) {
                (Some(word), 0) => word,
                (Some(word), constant) => self.builder.compute(Operation::Or, word, constant),
                (None, constant) => self.builder.copy(constant),
            })
            .collect()
    }

    /// Adds the arguments of a record to the state of a group.
    fn add(
        &mut self,
        output: &Output,
        arguments: &[Option<Register>],
        mut read: impl FnMut(&mut Builder, usize) -> Register,
        mut write: impl FnMut(&mut Builder, usize, Register),
    ) {
        let b = &mut self.builder;
        let mut seen = 0;
        for (measure, argument) in output.measures.iter().zip(arguments) {
            let (operation, value) = match (measure.operation, argument) {
                (None, None) if measure.counts_rows => (Operation::Add, None),
                (None, Some(_)) => (Operation::Add, None),
                (Some(operation), Some(argument)) => {
                    seen |= measure.flag;
                    (operation, Some(*argument))
                }
                _ => continue,
            };
            let word = read(b, measure.at);
            let word = match value {
                Some(value) => b.compute(operation, word, value),
                None => b.compute(operation, word, 1),
            };
            write(b, measure.at, word);
        }
        if seen != 0 {
            let flags = read(b, output.flags_at);
            let flags = b.compute(Operation::Or, flags, seen);
            write(b, output.flags_at, flags);
        }
    }
}
