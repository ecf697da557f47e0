//! The interpreter, which defines the meaning of programs.

use crate::program::{Bytes, Instruction, Label, Operand, Program, Register, Space, Terminator};
use crate::state::{AT_WORD, LEFT_WORD, PAUSED};

/// Runs a program over a window from where the state says; gives why it ended. The spaces are as large as the
/// program says. Notes which blocks it came through.
pub(crate) fn run(
    program: &Program,
    window: &[u8],
    given: &mut [&mut [u64]],
    visited: &mut [bool],
) -> u64 {
    let mut registers = vec![0; usize::from(program.registers)];
    let (mut left, at) = match given.first() {
        Some(state) => (state[LEFT_WORD], state[AT_WORD]),
        None => return PAUSED,
    };
    registers[Register::AT.index()] = at;
    registers[Register::WINDOW_LEN.index()] = window.len() as u64;
    for carried in &program.carried {
        registers[carried.register.index()] = given[0][carried.word as usize];
    }
    let mut machine = Machine {
        program,
        window,
        given,
        registers,
    };
    let mut block = 0;
    let why = loop {
        let Some(here) = program.blocks.get(block) else {
            break PAUSED;
        };
        if let Some(visited) = visited.get_mut(block) {
            *visited = true;
        }
        for step in &here.steps {
            machine.step(step);
        }
        block = match machine.end(&here.end) {
            LeadsTo::Block(to) => to.index(),
            LeadsTo::Record => {
                left -= 1;
                if left == 0 {
                    break PAUSED;
                }
                0
            }
            LeadsTo::Leave(why) => break why.into(),
        };
    };
    let Machine {
        given, registers, ..
    } = machine;
    given[0][AT_WORD] = registers[Register::AT.index()];
    given[0][LEFT_WORD] = left;
    for carried in &program.carried {
        given[0][carried.word as usize] = registers[carried.register.index()];
    }
    why
}

/// The target of a block.
enum LeadsTo {
    Block(Label),
    /// The first block, with the next record.
    Record,
    Leave(u8),
}

struct Machine<'m, 's> {
    program: &'m Program,
    window: &'m [u8],
    given: &'m mut [&'s mut [u64]],
    registers: Vec<u64>,
}

impl Machine<'_, '_> {
    #[inline]
    fn get(&self, register: Register) -> u64 {
        self.registers[register.index()]
    }

    #[inline]
    fn operand(&self, operand: Operand) -> u64 {
        match operand {
            Operand::Register(register) => self.get(register),
            Operand::Constant(constant) => constant,
        }
    }

    fn space(&self, space: usize) -> &[u64] {
        match (self.given.get(space), self.program.spaces.get(space)) {
            (Some(words), _) => words,
            (None, Some(Space::Constant(words))) => words,
            _ => &[],
        }
    }

    fn place(&self, at: Option<Register>, offset: u32) -> usize {
        let at = at.map_or(0, |at| self.get(at));
        usize::try_from(at.saturating_add(offset.into())).unwrap_or(usize::MAX)
    }

    #[inline]
    fn end(&mut self, end: &Terminator) -> LeadsTo {
        let to = match *end {
            Terminator::Jump(to) => to,
            Terminator::If {
                relation,
                left,
                right,
                then,
                otherwise,
            } => match relation.holds(self.get(left), self.operand(right)) {
                true => then,
                false => otherwise,
            },
            Terminator::Within {
                at,
                bytes,
                end,
                then,
                otherwise,
            } => match self.get(at).saturating_add(bytes.into()) <= self.get(end) {
                true => then,
                false => otherwise,
            },
            Terminator::Reach {
                to,
                at,
                bytes,
                end,
                then,
                otherwise,
            } => {
                let reached = self.get(at).saturating_add(self.get(bytes));
                match reached <= self.get(end) {
                    true => {
                        self.registers[to.index()] = reached;
                        then
                    }
                    false => otherwise,
                }
            }
            Terminator::WithinSpace {
                at,
                words,
                space,
                then,
                otherwise,
            } => {
                let len = self.space(space.index()).len() as u64;
                match self.get(at).saturating_add(words.into()) <= len {
                    true => then,
                    false => otherwise,
                }
            }
            Terminator::Next => return LeadsTo::Record,
            Terminator::Leave(why) => return LeadsTo::Leave(why),
        };
        LeadsTo::Block(to)
    }

    #[inline]
    fn step(&mut self, step: &Instruction) {
        let (to, value) = match *step {
            Instruction::Set { to, from } => (to, self.operand(from)),
            Instruction::Compute {
                to,
                operation,
                left,
                right,
            } => (to, operation.apply(self.get(left), self.operand(right))),
            Instruction::Select {
                to,
                relation,
                left,
                right,
                then,
                otherwise,
            } => match relation.holds(self.get(left), self.operand(right)) {
                true => (to, self.operand(then)),
                false => (to, self.operand(otherwise)),
            },
            Instruction::Load {
                to,
                at,
                offset,
                bytes,
                is_little,
            } => {
                let at = self.place(Some(at), offset);
                (to, load(self.window, at, bytes, is_little))
            }
            Instruction::Read {
                to,
                space,
                at,
                offset,
            } => {
                let at = self.place(at, offset);
                let word = self.space(space.index()).get(at);
                debug_assert!(word.is_some(), "checked programs stay within their spaces");
                (to, word.copied().unwrap_or_default())
            }
            Instruction::Write {
                from,
                space,
                at,
                offset,
            } => {
                let (at, value) = (self.place(at, offset), self.operand(from));
                let words = self.given.get_mut(space.index());
                let word = words.and_then(|words| words.get_mut(at));
                debug_assert!(word.is_some(), "checked programs stay within their spaces");
                if let Some(word) = word {
                    *word = value;
                }
                return;
            }
        };
        self.registers[to.index()] = value;
    }
}

#[inline]
fn load(window: &[u8], at: usize, bytes: Bytes, is_little: bool) -> u64 {
    let rest = window.get(at..).unwrap_or_default();
    let number = match (bytes, is_little) {
        (Bytes::One, _) => rest.first().copied().map(u64::from),
        (Bytes::Two, false) => rest
            .first_chunk()
            .map(|bytes| u16::from_be_bytes(*bytes).into()),
        (Bytes::Two, true) => rest
            .first_chunk()
            .map(|bytes| u16::from_le_bytes(*bytes).into()),
        (Bytes::Four, false) => rest
            .first_chunk()
            .map(|bytes| u32::from_be_bytes(*bytes).into()),
        (Bytes::Four, true) => rest
            .first_chunk()
            .map(|bytes| u32::from_le_bytes(*bytes).into()),
        (Bytes::Eight, false) => rest.first_chunk().map(|bytes| u64::from_be_bytes(*bytes)),
        (Bytes::Eight, true) => rest.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)),
    };
    debug_assert!(number.is_some(), "checked programs stay within the window");
    number.unwrap_or_default()
}
