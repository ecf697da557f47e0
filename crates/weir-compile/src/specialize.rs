//! A program for records that go the ways of a sample: ways that none of them went lead out of it, several tests of bytes that
//! lie together become one, and what is known of a record on a way is not asked again.
//!
//! Blocks are walked in their order, with what is known on each way that leads to them. A block is written once for each of
//! these ways, while they are few and tests are still to come. The program that comes out is checked like any other: that it
//! stays within its bounds does not hang on what is concluded here.

use std::collections::BTreeMap;

use crate::builder::Builder;
use crate::check::Fault;
use crate::known::{DEPTH, Known, Number, Numbers};
use crate::program::{
    Block, Bytes, End, Label, Operand, Operation, Program, Register, Relation, Step,
};

/// Of each block, how often records left it by the first and by the second of the ways that its end has.
pub(crate) type Taken<'t> = &'t [[u64; 2]];

/// The program for records like those that were `taken` its ways; others end it with the number `why`.
pub(crate) fn specialize(program: &Program, taken: Taken<'_>, why: u8) -> Result<Program, Fault> {
    let mut builder = Builder::like(program);
    let rare = builder.label();
    let count = program.blocks.len();
    let has_changed = program.changed();
    let mut is_open = vec![false; count];
    for (index, block) in program.blocks.iter().enumerate().rev() {
        let mut open = matches!(
            block.end,
            End::If { .. } | End::Within { .. } | End::Reach { .. }
        );
        block.end.each(&mut |label| open |= is_open[label.index()]);
        is_open[index] = open && !has_changed[index] && !program.changes(block);
    }
    let is_gone = |taken: &&[u64; 2]| **taken != [0; 2];
    let variants = match taken.iter().filter(is_gone).count() {
        ..=BLOCKS_APART => VARIANTS_MAX,
        _ => 1,
    };
    let mut numbers = Numbers::default();
    let first = Known::new(program, &mut numbers);
    let mut specializer = Specializer {
        program,
        taken,
        has_changed,
        numbers,
        builder,
        rare,
        variants,
        arrivals: std::iter::repeat_with(Vec::new).take(count).collect(),
    };
    for (index, is_open) in is_open.into_iter().enumerate() {
        let arrivals = std::mem::take(&mut specializer.arrivals[index]);
        let here = match index {
            0 => vec![(None, first.clone())],
            _ => specializer.meet(arrivals, is_open),
        };
        for (label, known) in here {
            if let Some(label) = label {
                specializer.builder.write(label);
            }
            specializer.block(index, known);
        }
    }
    let Specializer { mut builder, .. } = specializer;
    builder.write(rare);
    builder.end(End::Leave(why));
    builder.drop_unused();
    builder.finish()
}

struct Specializer<'p> {
    program: &'p Program,
    taken: Taken<'p>,
    /// Of each block, whether something was done in front of it that outlives the record.
    has_changed: Vec<bool>,
    numbers: Numbers,
    builder: Builder,
    /// Where records go that go a way that none of the sample went.
    rare: Label,
    /// How many ways to a block are written apart at most.
    variants: usize,
    /// Of each block, the ways that lead to it, with what is known there.
    arrivals: Vec<Vec<(Label, Known)>>,
}

/// A way out of a block.
#[derive(Clone, Copy)]
struct Way {
    to: Label,
    /// No record of the sample went it, and a record can still be left as it was.
    is_cold: bool,
}

impl Specializer<'_> {
    /// Which ways to a block are written apart: those that are many, or behind which nothing is tested, become one.
    fn meet(
        &mut self,
        arrivals: Vec<(Label, Known)>,
        is_open: bool,
    ) -> Vec<(Option<Label>, Known)> {
        if arrivals.len() <= 1 || is_open && arrivals.len() <= self.variants {
            let apart = arrivals.into_iter();
            return apart.map(|(label, known)| (Some(label), known)).collect();
        }
        let all = self.builder.label();
        let Some(mut known) = arrivals.first().map(|(_, known)| known.clone()) else {
            return Vec::new();
        };
        let mut differing = Vec::new();
        for (_, other) in &arrivals[1..] {
            known.or(other);
        }
        for index in 0..known.numbers.len() {
            let mut of = arrivals.iter().map(|(_, known)| known.numbers[index]);
            let first = of.next().flatten();
            if of.any(|other| other != first) {
                differing.push(index);
            }
        }
        for index in differing {
            let register = Register(index as u16);
            let of: Option<Vec<Number>> = arrivals
                .iter()
                .map(|(_, known)| known.get(register))
                .collect();
            let Some(of) = of else {
                known.numbers[index] = None;
                continue;
            };
            let ranges = arrivals
                .iter()
                .zip(&of)
                .map(|((_, known), number)| known.range(*number, &self.numbers, DEPTH));
            let range = ranges.fold((u64::MAX, 0), |(low, high), (least, most)| {
                (low.min(least), high.max(most))
            });
            let number = self.numbers.opaque(range);
            known.set(register, number);
        }
        // As many bytes are known behind a place as on each of the ways.
        let mut covered: Option<BTreeMap<Register, u64>> = None;
        for (label, theirs) in arrivals {
            self.builder.write(label);
            let here = self.cover(&theirs, &known);
            covered = Some(match covered {
                None => here,
                Some(all) => {
                    let both = all.into_iter();
                    both.filter_map(|(register, bytes)| {
                        Some((register, bytes.min(*here.get(&register)?)))
                    })
                    .collect()
                }
            });
            self.builder.jump(all);
        }
        known.covered.extend(covered.unwrap_or_default());
        vec![(Some(all), known)]
    }

    /// Makes places anew that are not the same on another way, so that the program's tests have how many bytes follow them. Gives how
    /// many these are.
    fn cover(&mut self, theirs: &Known, known: &Known) -> BTreeMap<Register, u64> {
        let mut places = BTreeMap::new();
        for (index, number) in theirs.numbers.iter().enumerate() {
            let register = Register(index as u16);
            let Some(number) = *number else { continue };
            if known.get(register) == Some(number) || index < usize::from(Register::GIVEN) {
                continue;
            }
            let (root, more) = self.numbers.root(number);
            let Some(holder) = theirs.holder(root, &self.numbers) else {
                continue;
            };
            let bytes = theirs.covered.get(&holder).copied().unwrap_or(0);
            if bytes <= more {
                continue;
            }
            places.insert(register, bytes - more);
            // What holds a root is its own holder, so that nothing is made of what was made anew.
            if holder != register {
                self.builder.step(Step::Compute {
                    to: register,
                    operation: Operation::Add,
                    left: holder,
                    right: Operand::Constant(more),
                });
            }
        }
        places
    }

    fn way(&self, index: usize, which: usize, to: Label) -> Way {
        let block = &self.program.blocks[index];
        let taken = self.taken.get(index).map_or(1, |taken| taken[which]);
        let is_cold = taken == 0 && !self.has_changed[index] && !self.program.changes(block);
        Way { to, is_cold }
    }

    /// Where a way goes on.
    fn arrive(&mut self, way: Way, known: Known) -> Label {
        if way.is_cold {
            return self.rare;
        }
        let label = self.builder.label();
        self.arrivals[way.to.index()].push((label, known));
        label
    }

    fn go(&mut self, way: Way, known: Known) {
        let label = self.arrive(way, known);
        self.builder.jump(label);
    }

    /// Writes a block as it is on a way.
    fn block(&mut self, index: usize, mut known: Known) {
        let program = self.program;
        let block = &program.blocks[index];
        for step in &block.steps {
            let written = self.step(step, &mut known);
            self.builder.step(written);
        }
        match block.end {
            End::Jump(to) => self.go(Way { to, is_cold: false }, known),
            End::If { .. } => self.choices(index, known),
            End::Within {
                at,
                bytes,
                end,
                then,
                otherwise,
            } => {
                let ways = (self.way(index, 0, then), self.way(index, 1, otherwise));
                self.within((at, bytes, end), ways, known);
            }
            End::Reach {
                to,
                at,
                bytes,
                end,
                then,
                otherwise,
            } => {
                let (then, otherwise) = (self.way(index, 0, then), self.way(index, 1, otherwise));
                let otherwise = self.arrive(otherwise, known.clone());
                self.reach(&mut known, to, at, bytes);
                let then = self.arrive(then, known);
                self.builder.end(End::Reach {
                    to,
                    at,
                    bytes,
                    end,
                    then,
                    otherwise,
                });
            }
            End::WithinSpace {
                at,
                words,
                space,
                then,
                otherwise,
            } => {
                let (then, otherwise) = (self.way(index, 0, then), self.way(index, 1, otherwise));
                let otherwise = self.arrive(otherwise, known.clone());
                let then = self.arrive(then, known);
                self.builder.end(End::WithinSpace {
                    at,
                    words,
                    space,
                    then,
                    otherwise,
                });
            }
            end @ (End::Next | End::Leave(_)) => self.builder.end(end),
        }
    }

    fn reach(&mut self, known: &mut Known, to: Register, at: Register, bytes: Register) {
        let number = match known.get(at).zip(known.get(bytes)) {
            Some((at, bytes)) => self.numbers.reached(at, bytes),
            None => self.numbers.opaque((0, Program::WINDOW_LEN_MAX)),
        };
        known.set(to, number);
    }

    /// Takes up what a step does, and gives it as it is to be written here.
    fn step(&mut self, step: &Step, known: &mut Known) -> Step {
        let numbers = &mut self.numbers;
        let any = (0, u64::MAX);
        let mut written = *step;
        let (to, number) = match step {
            Step::Write { .. } => return written,
            Step::Set { to, from } => (*to, known.operand(*from, numbers)),
            Step::Read { to, .. } => (*to, Some(numbers.opaque(any))),
            Step::Compute {
                to,
                operation,
                left,
                right,
            } => {
                let of = known.get(*left).zip(known.operand(*right, numbers));
                let number =
                    of.map(|(left, right)| known.computed(*operation, left, right, numbers));
                (*to, number)
            }
            Step::Select {
                to,
                relation,
                left,
                right,
                then,
                otherwise,
            } => {
                let of = [(*left).into(), *right, *then, *otherwise];
                let of = of.map(|operand| known.operand(operand, numbers));
                let number = match of {
                    [Some(left), Some(right), Some(then), Some(otherwise)] => {
                        Some(known.selected(*relation, [left, right, then, otherwise], numbers))
                    }
                    _ => None,
                };
                (*to, number)
            }
            Step::Load {
                to,
                at,
                offset,
                bytes,
                is_little,
            } => {
                let at = known.get(*at);
                let number = at.map(|at| known.loaded(at, *offset, *bytes, *is_little, numbers));
                if let Some((holder, before)) = at.and_then(|at| self.holder(at, known)) {
                    let end = before + u64::from(*offset) + bytes.count();
                    let covered = known.covered.get(&holder).copied().unwrap_or(0);
                    if end <= covered {
                        written = Step::Load {
                            to: *to,
                            at: holder,
                            offset: *offset + before as u32,
                            bytes: *bytes,
                            is_little: *is_little,
                        };
                    }
                }
                (*to, number)
            }
        };
        let number = number.unwrap_or_else(|| self.numbers.opaque(any));
        if let Some(constant) = self.numbers.as_constant(number) {
            written = Step::Set {
                to,
                from: Operand::Constant(constant),
            };
        } else if let Step::Compute {
            operation: Operation::Add,
            ..
        } = step
            && let Some((left, more @ 1..)) = self.holder(number, known)
            && left != to
        {
            written = Step::Compute {
                to,
                operation: Operation::Add,
                left,
                right: Operand::Constant(more),
            };
        } else if let Step::Compute { .. } | Step::Select { .. } | Step::Load { .. } = step
            && let Some(from) = known.holder(number, &self.numbers)
            && from != to
        {
            written = Step::Set {
                to,
                from: Operand::Register(from),
            };
        }
        known.set(to, number);
        written
    }

    fn number(&mut self, of: Operand, known: &Known) -> Number {
        let number = known.operand(of, &mut self.numbers);
        number.unwrap_or_else(|| self.numbers.opaque((0, u64::MAX)))
    }

    /// A register, and how far behind it a place lies.
    fn holder(&self, number: Number, known: &Known) -> Option<(Register, u64)> {
        let (root, more) = known.place(number, &self.numbers)?;
        Some((known.holder(root, &self.numbers)?, more))
    }

    /// Goes on where so many bytes are there: where other tests of the same end follow, as many as the largest of them needs.
    fn within(
        &mut self,
        (at, bytes, end): (Register, u32, Register),
        (then, otherwise): (Way, Way),
        mut known: Known,
    ) {
        let of = known.get(at).zip(known.get(end));
        let place = of.and_then(|(number, end)| {
            let (root, more) = known.place(number, &self.numbers)?;
            Some((root, known.holder(root, &self.numbers)?, more, end))
        });
        let Some((root, holder, more, end_number)) = place else {
            let otherwise = self.arrive(otherwise, known.clone());
            let then = self.arrive(then, known);
            return self.builder.end(End::Within {
                at,
                bytes,
                end,
                then,
                otherwise,
            });
        };
        let mut needed = more + u64::from(bytes);
        let covered = known.covered.get(&holder).copied().unwrap_or(0);
        let room = known.room(root, end_number, &self.numbers, DEPTH);
        if room >= needed && covered >= needed {
            return self.go(then, known);
        }
        if otherwise.is_cold && !then.is_cold {
            let mut ahead = known.clone();
            ahead.assume_room(root, end_number, needed, &self.numbers, DEPTH);
            let ahead = self.look_ahead(ahead, then.to);
            needed = needed.max(ahead.room(root, end_number, &self.numbers, 0));
        }
        let otherwise = self.arrive(otherwise, known.clone());
        known.assume_room(root, end_number, needed, &self.numbers, DEPTH);
        let covered = known.covered.entry(holder).or_default();
        *covered = needed.max(*covered);
        let then = self.arrive(then, known);
        self.builder.end(End::Within {
            at: holder,
            bytes: u32::try_from(needed).unwrap_or(u32::MAX),
            end,
            then,
            otherwise,
        });
    }

    /// The comparisons of one number with constants that a block begins, and where the last of them leads otherwise.
    fn chain(&self, index: usize) -> (Vec<Choice>, Way) {
        let mut choices = Vec::new();
        let mut at = index;
        while let End::If {
            relation,
            left,
            right,
            then,
            otherwise,
        } = self.program.blocks[at].end
        {
            choices.push(Choice {
                relation,
                left,
                right,
                way: self.way(at, 0, then),
                taken: self.taken.get(at).map_or(0, |taken| taken[0]),
            });
            let last = self.way(at, 1, otherwise);
            let next = &self.program.blocks[otherwise.index()];
            let is_one_of = |of: Register, is: Operand| {
                let is_new = !choices.iter().any(|choice| choice.right == is);
                of == left && matches!(is, Operand::Constant(_)) && is_new
            };
            match (right, relation, next) {
                (
                    Operand::Constant(_),
                    Relation::Equal,
                    Block {
                        steps,
                        end:
                            End::If {
                                relation: Relation::Equal,
                                left,
                                right,
                                ..
                            },
                    },
                ) if steps.is_empty() && is_one_of(*left, *right) && !last.is_cold => {
                    at = otherwise.index();
                }
                _ => {
                    choices.sort_by_key(|choice| std::cmp::Reverse(choice.taken));
                    return (choices, last);
                }
            }
        }
        (
            choices,
            Way {
                to: self.rare,
                is_cold: true,
            },
        )
    }

    /// Blocks that tell ranges of a number apart, one after the other, from this one on, and the one that all of them lead to but
    /// for records that the sample has none of.
    fn ranges(&self, index: usize) -> Option<(Vec<usize>, Label)> {
        let program = self.program;
        let (mut of, mut goal) = (Vec::new(), None);
        let mut at = index;
        while of.len() < RANGES_MAX {
            let block = &program.blocks[at];
            let End::If {
                then, otherwise, ..
            } = block.end
            else {
                return None;
            };
            if *goal.get_or_insert(then) != then || self.has_changed[at] || program.changes(block) {
                return None;
            }
            of.push(at);
            if self.way(at, 1, otherwise).is_cold {
                break;
            }
            at = otherwise.index();
        }
        let is_whole = of.len() > 1 && of.len() < RANGES_MAX;
        is_whole.then_some((of, goal?))
    }

    /// Where a block leads that tells ranges of a byte apart; `None` unless tests behind it on the only way on see to it that the byte
    /// is in one of them.
    fn range_of_a_byte(&mut self, index: usize, known: &Known) -> Option<Label> {
        let program = self.program;
        let (blocks, goal) = self.ranges(index)?;
        let mut here = known.clone();
        let mut ranges = Vec::new();
        for at in blocks {
            if at != index {
                for step in &program.blocks[at].steps {
                    self.step(step, &mut here);
                }
            }
            let End::If {
                relation,
                left,
                right: Operand::Constant(right),
                ..
            } = program.blocks[at].end
            else {
                return None;
            };
            ranges.push((relation, self.number(left.into(), &here), right));
        }
        let &(_, byte, _) = ranges.first()?;
        let ahead = self.look_ahead(known.clone(), goal);
        let mut possible = ahead.bytes_possible(byte, &self.numbers)?.into_iter();
        let is_in_one = possible.all(|is| {
            ranges.iter().any(|(relation, left, right)| {
                let left = self.numbers.where_it_is(*left, byte, is);
                left.is_some_and(|left| relation.holds(left, *right))
            })
        });
        is_in_one.then_some(goal)
    }

    /// Writes the comparisons that end a block, those that most records of the sample met first.
    fn choices(&mut self, index: usize, mut known: Known) {
        if let Some(to) = self.range_of_a_byte(index, &known) {
            return self.go(Way { to, is_cold: false }, known);
        }
        let (choices, last) = self.chain(index);
        for (place, choice) in choices.iter().enumerate() {
            let rest = &choices[place + 1..];
            let is_last = rest.is_empty();
            let left = self.number(choice.left.into(), &known);
            let right = self.number(choice.right, &known);
            match known.decide(choice.relation, left, right, &self.numbers) {
                Some(true) => return self.go(choice.way, known),
                Some(false) => continue,
                None => {}
            }
            let otherwise_is_cold = last.is_cold && rest.iter().all(|choice| choice.way.is_cold);
            let sole = match (choice.way.is_cold, otherwise_is_cold) {
                (false, true) => Some((choice.way, choice.relation)),
                (true, false) if is_last => Some((last, choice.relation.negated())),
                _ => None,
            };
            if let Some((way, relation)) = sole {
                known = self.guard(known, (relation, left, right), way.to);
                if known.decide(relation, left, right, &self.numbers) == Some(true) {
                    return self.go(way, known);
                }
                let ahead = self.look_ahead(known.clone(), way.to);
                if ahead.decide(relation, left, right, &self.numbers) == Some(true) {
                    return self.go(way, known);
                }
            }
            let mut met = known.clone();
            met.assume(choice.relation, left, right, &self.numbers);
            let then = self.arrive(choice.way, met);
            known.assume(choice.relation.negated(), left, right, &self.numbers);
            let otherwise = match otherwise_is_cold {
                true => self.rare,
                false => self.builder.label(),
            };
            self.builder.end(End::If {
                relation: choice.relation,
                left: choice.left,
                right: choice.right,
                then,
                otherwise,
            });
            if otherwise_is_cold {
                return;
            }
            self.builder.write(otherwise);
        }
        self.go(last, known);
    }

    /// Compares bytes that lie together in one go, where this test and those behind it on the only way that leads on ask for several of
    /// them.
    fn guard(
        &mut self,
        mut known: Known,
        (relation, left, right): (Relation, Number, Number),
        to: Label,
    ) -> Known {
        let mut ahead = known.clone();
        ahead.assume(relation, left, right, &self.numbers);
        let ahead = self.look_ahead(ahead, to);
        let mut asked: BTreeMap<(Number, u64), (u8, u8)> = BTreeMap::new();
        for (at, (mask, value)) in &ahead.bits {
            let before = known.bits.get(at).map_or(0, |(mask, _)| *mask);
            if mask & !before != 0 {
                asked.insert(*at, (mask & !before, *value));
            }
        }
        let bits_alone = {
            let mut alone = known.clone();
            alone.assume(relation, left, right, &self.numbers);
            alone.bits
        };
        while let Some((&(root, first), _)) = asked.first_key_value() {
            let near: Vec<_> = asked
                .range((root, first)..(root, first + 8))
                .map(|(at, bits)| (*at, *bits))
                .collect();
            asked.retain(|at, _| near.iter().all(|(other, _)| other != at));
            let by_this = near.iter().filter(|(at, _)| {
                let before = known.bits.get(at).map(|bits| bits.0);
                bits_alone.get(at).map(|bits| bits.0) != before
            });
            // One test alone is as good as its guard.
            if by_this.count() == near.len() {
                continue;
            }
            let Some(holder) = known.holder(root, &self.numbers) else {
                continue;
            };
            let covered = known.covered.get(&holder).copied().unwrap_or(0);
            let near: Vec<_> = near
                .into_iter()
                .filter(|((_, offset), _)| *offset < covered)
                .collect();
            let Some(((_, last), _)) = near.last() else {
                continue;
            };
            let bytes = match last + 1 - first {
                1 => Bytes::One,
                2 => Bytes::Two,
                3 | 4 => Bytes::Four,
                _ => Bytes::Eight,
            };
            let Some(start) = covered.checked_sub(bytes.count()).map(|it| it.min(first)) else {
                continue;
            };
            let (mut mask, mut value) = (0, 0);
            for ((_, offset), (known, bits)) in &near {
                let shift = 8 * (offset - start);
                mask |= u64::from(*known) << shift;
                value |= u64::from(bits & known) << shift;
            }
            let offset = u32::try_from(start).unwrap_or(u32::MAX);
            let mut word = self.builder.load_in_order(holder, offset, bytes, true);
            if mask != bytes.max() {
                word = self.builder.compute(Operation::And, word, mask);
            }
            let rare = self.rare;
            self.builder.require(Relation::Equal, word, value, rare);
            for (at, bits) in near {
                known.learn_byte(at, bits);
            }
        }
        known
    }

    /// What is known where the only way that records of the sample went on from a block forks, or something is changed.
    fn look_ahead(&mut self, mut known: Known, from: Label) -> Known {
        let program = self.program;
        let mut at = from.index();
        for _ in 0..AHEAD_MAX {
            let Some(block) = program.blocks.get(at) else {
                break;
            };
            if self.has_changed[at] || program.changes(block) {
                break;
            }
            for step in &block.steps {
                self.step(step, &mut known);
            }
            match block.end {
                End::Jump(to) => at = to.index(),
                End::If { .. } => match self.sole(at, &mut known) {
                    Some(to) => at = to.index(),
                    None => match self.ranges(at) {
                        Some((_, to)) => at = to.index(),
                        None => break,
                    },
                },
                End::Within {
                    at: place,
                    bytes,
                    end,
                    then,
                    otherwise,
                } => {
                    let of = known.get(place).zip(known.get(end));
                    let place = of.and_then(|(number, end)| {
                        let (root, more) = known.place(number, &self.numbers)?;
                        Some((root, more + u64::from(bytes), end))
                    });
                    let Some((root, needed, end)) = place else {
                        break;
                    };
                    if known.room(root, end, &self.numbers, DEPTH) < needed {
                        if !self.way(at, 1, otherwise).is_cold {
                            break;
                        }
                        known.assume_room(root, end, needed, &self.numbers, DEPTH);
                    }
                    at = then.index();
                }
                End::Reach {
                    to,
                    at: place,
                    bytes,
                    then,
                    otherwise,
                    ..
                } => {
                    if !self.way(at, 1, otherwise).is_cold {
                        break;
                    }
                    self.reach(&mut known, to, place, bytes);
                    at = then.index();
                }
                End::WithinSpace { .. } | End::Next | End::Leave(_) => break,
            }
        }
        known
    }

    /// Where the comparisons that end a block lead, when that is known or all records of the sample went there.
    fn sole(&mut self, index: usize, known: &mut Known) -> Option<Label> {
        let (choices, last) = self.chain(index);
        let mut open = Vec::new();
        let mut certain = last;
        for choice in &choices {
            let left = self.number(choice.left.into(), known);
            let right = self.number(choice.right, known);
            match known.decide(choice.relation, left, right, &self.numbers) {
                Some(true) => {
                    certain = choice.way;
                    break;
                }
                Some(false) => {}
                None => open.push((choice, left, right)),
            }
        }
        let mut ways = open.iter().filter(|(choice, ..)| !choice.way.is_cold);
        let (way, of) = match (ways.next(), certain.is_cold) {
            (None, false) => (certain, None),
            (Some(of), true) => (of.0.way, Some(of)),
            _ => return None,
        };
        if ways.next().is_some() {
            return None;
        }
        match of {
            Some((choice, left, right)) => {
                known.assume(choice.relation, *left, *right, &self.numbers);
            }
            None => {
                for (choice, left, right) in &open {
                    known.assume(choice.relation.negated(), *left, *right, &self.numbers);
                }
            }
        }
        Some(way.to)
    }
}

/// One of the comparisons that a block ends with.
struct Choice {
    relation: Relation,
    left: Register,
    right: Operand,
    way: Way,
    /// How many records of the sample met it.
    taken: u64,
}

/// A block is written for so many ways at most.
const VARIANTS_MAX: usize = 6;
/// Where records of a sample went through more blocks than these, each is written once.
const BLOCKS_APART: usize = 200;
/// A byte is told apart by so many ranges at most.
const RANGES_MAX: usize = 8;
/// So many blocks ahead are looked at.
const AHEAD_MAX: usize = 48;
