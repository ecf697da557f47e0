//! Checks whether a program may be run: every access is within its bounds, whatever the bytes are.

use std::fmt;

use crate::program::{
    Block, Carried, Instruction, Label, Operand, Operation, Program, Register, Relation, Space,
    SpaceId, Terminator,
};
use crate::state::STATE_WORDS;

/// The reason why a program is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The program exceeds the limits of [`Program`].
    TooLarge,
    /// A block leads to one that does not follow it.
    Backwards,
    /// A register is read that may not be set, or set that must not be.
    Register,
    /// A byte or a word is accessed that may not be there.
    Bounds,
    /// A divisor or another constant is not allowed.
    Constant,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "larger than the limit of a program",
            Self::Backwards => "a block jumps to one that does not come after it",
            Self::Register => "a register is read before it is set",
            Self::Bounds => "an access that may be out of bounds",
            Self::Constant => "a constant that is not allowed",
        })
    }
}

impl std::error::Error for Fault {}

/// A fact about a register that is true of every record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fact {
    /// The largest value that it can have.
    max: u64,
    /// The register is a position in the window, with at least so many bytes after it.
    bytes: Option<u64>,
    /// The register is a position in this space, with at least so many words after it.
    words: Option<(SpaceId, u64)>,
}

impl Fact {
    const fn at_most(max: u64) -> Self {
        Self {
            max,
            bytes: None,
            words: None,
        }
    }

    /// The fact where it is, say, less than another register.
    fn where_holds(self, relation: Relation, other: Self) -> Self {
        let max = match relation {
            Relation::Equal | Relation::LessOrEqual => other.max,
            Relation::Less => other.max.saturating_sub(1),
            _ => u64::MAX,
        };
        Self {
            max: self.max.min(max),
            ..self
        }
    }

    /// The fact of a position in the window with so many bytes after it.
    fn with_bytes(self, bytes: u32) -> Self {
        Self {
            max: self.max.min(Program::WINDOW_LEN_MAX),
            bytes: Some(self.bytes.unwrap_or(0).max(u64::from(bytes))),
            ..self
        }
    }

    /// A place in the window.
    const fn place(bytes: u64) -> Self {
        Self {
            max: Program::WINDOW_LEN_MAX,
            bytes: Some(bytes),
            words: None,
        }
    }

    /// The fact that is true of both.
    fn or(self, other: Self) -> Self {
        let words = match (self.words, other.words) {
            (Some((space, ours)), Some((other, theirs))) if space == other => {
                Some((space, ours.min(theirs)))
            }
            _ => None,
        };
        Self {
            max: self.max.max(other.max),
            bytes: self
                .bytes
                .zip(other.bytes)
                .map(|(ours, theirs)| ours.min(theirs)),
            words,
        }
    }
}

/// The fact of each register: `None` where it may not be set.
type Facts = Vec<Option<Fact>>;

impl Program {
    /// Checks what becomes a program.
    pub(crate) fn new(
        blocks: Vec<Block>,
        registers: u16,
        carried: Vec<Carried>,
        spaces: Vec<Space>,
    ) -> Result<Self, Fault> {
        let program = Self {
            blocks,
            registers,
            carried,
            spaces,
        };
        check(&program)?;
        Ok(program)
    }
}

fn check(program: &Program) -> Result<(), Fault> {
    check_size(program)?;
    let first = given(program)?;
    let mut entries: Vec<Option<Facts>> = vec![None; program.blocks.len()];
    entries[0] = Some(first);
    for (number, block) in program.blocks.iter().enumerate() {
        // A block without facts is not reachable, but its steps have to be valid all the same.
        let Some(facts) = entries[number].take() else {
            return Err(Fault::Register);
        };
        let mut checker = Checker { program, facts };
        for step in &block.steps {
            checker.step(step)?;
        }
        let mut lead = |to: Label, facts: &Facts, more: Option<(Register, Fact)>| {
            if to.index() <= number {
                return Err(Fault::Backwards);
            }
            let entry = entries.get_mut(to.index()).ok_or(Fault::Backwards)?;
            meet(entry, facts, more);
            Ok(())
        };
        checker.end(&block.end, &mut lead)?;
    }
    Ok(())
}

fn check_size(program: &Program) -> Result<(), Fault> {
    let steps = program
        .blocks
        .iter()
        .map(|block| block.steps.len())
        .sum::<usize>();
    if program.blocks.is_empty()
        || program.blocks.len() > Program::BLOCKS_MAX
        || steps > Program::STEPS_MAX
        || usize::from(program.registers) > Program::REGISTERS_MAX
        || program.registers < Register::GIVEN
        || program.spaces.is_empty()
        || program.spaces.len() > Program::SPACES_MAX
    {
        return Err(Fault::TooLarge);
    }
    Ok(())
}

/// The facts of registers before the first block: those that are given, and those that are carried.
fn given(program: &Program) -> Result<Facts, Fault> {
    let Space::Given { words_min } = program.spaces[0] else {
        return Err(Fault::Bounds);
    };
    let mut first: Facts = vec![None; usize::from(program.registers)];
    first[Register::AT.index()] = Some(Fact::place(0));
    first[Register::WINDOW_LEN.index()] = Some(Fact::place(0));
    if words_min < STATE_WORDS {
        return Err(Fault::Bounds);
    }
    for (number, carried) in program.carried.iter().enumerate() {
        let twice =
            |other: &Carried| other.register == carried.register || other.word == carried.word;
        if u64::from(carried.word) >= words_min
            || u64::from(carried.word) < STATE_WORDS
            || program.carried.iter().skip(number + 1).any(twice)
        {
            return Err(Fault::Bounds);
        }
        match first.get_mut(carried.register.index()) {
            Some(fact @ None) => *fact = Some(Fact::at_most(u64::MAX)),
            _ => return Err(Fault::Register),
        }
    }
    Ok(first)
}

/// Continues to a block with the known facts, and with one more fact about a register. Facts that are not known on another
/// way to the block are not known in it.
fn meet(entry: &mut Option<Facts>, facts: &Facts, more: Option<(Register, Fact)>) {
    let more_of = |index: usize| match more {
        Some((register, fact)) if register.index() == index => Some(fact),
        _ => None,
    };
    match entry {
        None => {
            let mut facts = facts.clone();
            if let Some((register, fact)) = more {
                facts[register.index()] = Some(fact);
            }
            *entry = Some(facts);
        }
        Some(entry) => {
            for (index, (known, arriving)) in entry.iter_mut().zip(facts).enumerate() {
                let arriving = more_of(index).or(*arriving);
                *known = known
                    .zip(arriving)
                    .map(|(known, arriving)| known.or(arriving));
            }
        }
    }
}

struct Checker<'p> {
    program: &'p Program,
    facts: Facts,
}

impl Checker<'_> {
    fn get(&self, register: Register) -> Result<Fact, Fault> {
        self.facts
            .get(register.index())
            .copied()
            .flatten()
            .ok_or(Fault::Register)
    }

    fn operand(&self, operand: Operand) -> Result<Fact, Fault> {
        match operand {
            Operand::Register(register) => self.get(register),
            Operand::Constant(constant) => Ok(Fact::at_most(constant)),
        }
    }

    fn set(&mut self, register: Register, fact: Fact) -> Result<(), Fault> {
        if register == Register::WINDOW_LEN {
            return Err(Fault::Register);
        }
        *self
            .facts
            .get_mut(register.index())
            .ok_or(Fault::Register)? = Some(fact);
        Ok(())
    }

    fn step(&mut self, step: &Instruction) -> Result<(), Fault> {
        match *step {
            Instruction::Set { to, from } => {
                let fact = self.operand(from)?;
                self.set(to, fact)
            }
            Instruction::Compute {
                to,
                operation,
                left,
                right,
            } => {
                let fact = computed(operation, self.get(left)?, self.operand(right)?, right)?;
                self.set(to, fact)
            }
            Instruction::Select {
                to,
                left,
                right,
                then,
                otherwise,
                ..
            } => {
                self.get(left)?;
                self.operand(right)?;
                let fact = self.operand(then)?.or(self.operand(otherwise)?);
                self.set(to, fact)
            }
            Instruction::Load {
                to,
                at,
                offset,
                bytes,
                ..
            } => {
                let room = self.get(at)?.bytes.ok_or(Fault::Bounds)?;
                if u64::from(offset) + bytes.count() > room {
                    return Err(Fault::Bounds);
                }
                self.set(to, Fact::at_most(bytes.max()))
            }
            Instruction::Read {
                to,
                space,
                at,
                offset,
            } => {
                self.access(space, at, offset)?;
                self.set(to, Fact::at_most(u64::MAX))
            }
            Instruction::Write {
                from,
                space,
                at,
                offset,
            } => {
                self.operand(from)?;
                match self.program.spaces.get(space.index()) {
                    Some(Space::Given { .. }) => self.access(space, at, offset),
                    _ => Err(Fault::Bounds),
                }
            }
        }
    }

    fn access(&self, space: SpaceId, at: Option<Register>, offset: u32) -> Result<(), Fault> {
        let words_min = self
            .program
            .spaces
            .get(space.index())
            .ok_or(Fault::Bounds)?
            .words_min();
        let fact = match at {
            Some(at) => self.get(at)?,
            None => Fact::at_most(0),
        };
        let is_small = fact
            .max
            .checked_add(u64::from(offset))
            .is_some_and(|last| last < words_min);
        let is_tested = matches!(fact.words, Some((tested, words))
            if tested == space && u64::from(offset) < words);
        if is_small || is_tested {
            Ok(())
        } else {
            Err(Fault::Bounds)
        }
    }

    fn end(
        &self,
        end: &Terminator,
        lead: &mut impl FnMut(Label, &Facts, Option<(Register, Fact)>) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let facts = &self.facts;
        match *end {
            Terminator::Jump(to) => lead(to, facts, None),
            Terminator::If {
                relation,
                left,
                right,
                then,
                otherwise,
            } => {
                let fact = self.get(left)?;
                let other = self.operand(right)?;
                let narrowed = |relation| Some((left, fact.where_holds(relation, other)));
                lead(then, facts, narrowed(relation))?;
                lead(otherwise, facts, narrowed(relation.negated()))
            }
            Terminator::Within {
                at,
                bytes,
                end,
                then,
                otherwise,
            } => {
                let within = self.place(at, end)?.with_bytes(bytes);
                lead(then, facts, Some((at, within)))?;
                lead(otherwise, facts, None)
            }
            Terminator::Reach {
                to,
                at,
                bytes,
                end,
                then,
                otherwise,
            } => {
                self.place(at, end)?;
                if self.get(bytes)?.max > PLACE_MAX
                    || to == Register::WINDOW_LEN
                    || to.index() >= self.facts.len()
                {
                    return Err(Fault::Register);
                }
                lead(then, facts, Some((to, Fact::place(0))))?;
                lead(otherwise, facts, None)
            }
            Terminator::WithinSpace {
                at,
                words,
                space,
                then,
                otherwise,
            } => {
                let fact = self.get(at)?;
                if fact.max > PLACE_MAX || space.index() >= self.program.spaces.len() {
                    return Err(Fault::Bounds);
                }
                let within = Fact {
                    words: Some((space, u64::from(words))),
                    ..fact
                };
                lead(then, facts, Some((at, within)))?;
                lead(otherwise, facts, None)
            }
            Terminator::Next => match self.get(Register::AT)?.bytes {
                Some(_) => self.carried(),
                None => Err(Fault::Bounds),
            },
            Terminator::Leave(why) => match (self.get(Register::AT)?.bytes, why) {
                (Some(_), ..Terminator::LEAVE_MAX) => self.carried(),
                _ => Err(Fault::Bounds),
            },
        }
    }

    /// Checks that carried registers are always set.
    fn carried(&self) -> Result<(), Fault> {
        self.program
            .carried
            .iter()
            .try_for_each(|carried| self.get(carried.register).map(|_| ()))
    }

    /// A number that can be compared with a place in the window, without wrapping around.
    fn place(&self, at: Register, end: Register) -> Result<Fact, Fault> {
        let fact = self.get(at)?;
        if fact.max > PLACE_MAX || self.get(end)?.bytes.is_none() {
            return Err(Fault::Bounds);
        }
        Ok(fact)
    }
}

fn computed(
    operation: Operation,
    left: Fact,
    right: Fact,
    operand: Operand,
) -> Result<Fact, Fault> {
    let constant = match operand {
        Operand::Constant(constant) => Some(constant),
        Operand::Register(_) => None,
    };
    // All bits up to the highest one.
    let filled = |max: u64| u64::MAX.checked_shr(max.leading_zeros()).unwrap_or(0);
    let shift = constant.map(|constant| (constant & 63) as u32);
    Ok(match operation {
        Operation::Add => {
            let bytes = constant.and_then(|more| left.bytes?.checked_sub(more));
            match bytes {
                // Neither wraps around, nor leaves the window.
                Some(bytes) => Fact::place(bytes),
                None => Fact::at_most(left.max.saturating_add(right.max)),
            }
        }
        Operation::Multiply => Fact::at_most(left.max.saturating_mul(right.max)),
        Operation::Divide => match constant {
            Some(divisor @ 1..) => Fact::at_most(left.max / divisor),
            _ => return Err(Fault::Constant),
        },
        Operation::Remainder => match constant {
            Some(divisor @ 1..) => Fact::at_most(left.max.min(divisor - 1)),
            _ => return Err(Fault::Constant),
        },
        Operation::DivideSigned | Operation::RemainderSigned => match constant {
            Some(1..=I64_MAX) => Fact::at_most(u64::MAX),
            _ => return Err(Fault::Constant),
        },
        Operation::And => Fact::at_most(left.max.min(right.max)),
        Operation::Or | Operation::ExclusiveOr => Fact::at_most(filled(left.max.max(right.max))),
        Operation::ShiftLeft => match shift {
            Some(shift) if left.max.leading_zeros() >= shift => Fact::at_most(left.max << shift),
            _ => Fact::at_most(u64::MAX),
        },
        Operation::ShiftRight => Fact::at_most(left.max >> shift.unwrap_or(0)),
        Operation::Minimum => Fact {
            max: left.max.min(right.max),
            // A number that is at most a place in the window is one, too, with at least as many bytes behind it.
            bytes: left.bytes.max(right.bytes),
            words: None,
        },
        Operation::Maximum => Fact::at_most(left.max.max(right.max)),
        Operation::AddSaturating => Fact::at_most(left.max.saturating_add(right.max)),
        Operation::Subtract
        | Operation::ShiftRightSigned
        | Operation::MinimumSigned
        | Operation::MaximumSigned => Fact::at_most(u64::MAX),
    })
}

/// Numbers that may be compared with places: a sum of two does not wrap around.
const PLACE_MAX: u64 = 1 << 61;
const I64_MAX: u64 = i64::MAX as u64;
