//! Puts programs together.

use std::sync::Arc;

use crate::check::Fault;
use crate::program::{
    Block, Bytes, Carried, Instruction, Label, Operand, Operation, Program, Register, Relation,
    Space, SpaceId, Terminator,
};

/// Builds a program block by block. Blocks are created before they are referred to and written later; unreachable ones are left
/// out.
#[derive(Debug)]
pub struct Builder {
    blocks: Vec<Draft>,
    /// The order in which the blocks are written, which is that of the program.
    order: Vec<Label>,
    current: Option<Label>,
    registers: u16,
    carried: Vec<Carried>,
    spaces: Vec<Space>,
    /// A limit of registers, spaces or blocks was reached: the program is refused when it is finished.
    is_full: bool,
}

#[derive(Debug, Default)]
struct Draft {
    steps: Vec<Instruction>,
    end: Option<Terminator>,
}

impl Builder {
    /// A program whose state has so many words; it begins in its first block.
    #[must_use]
    pub fn new(state_words: u64) -> Self {
        let mut builder = Self {
            blocks: Vec::new(),
            order: Vec::new(),
            current: None,
            registers: Register::GIVEN,
            carried: Vec::new(),
            spaces: vec![Space::Given {
                words_min: state_words,
            }],
            is_full: false,
        };
        let first = builder.label();
        builder.write(first);
        builder
    }

    /// A program again, whose blocks that are not `kept` end the run with the number `why`.
    pub(crate) fn narrowed(program: &Program, kept: &[bool], why: u8) -> Self {
        let drafts = program.blocks.iter().map(|block| Draft {
            steps: block.steps.clone(),
            end: Some(block.end),
        });
        let mut builder = Self {
            blocks: drafts.collect(),
            order: Vec::new(),
            current: None,
            registers: program.registers,
            carried: program.carried.clone(),
            spaces: program.spaces.clone(),
            is_full: false,
        };
        let leave = builder.label();
        for (index, is_kept) in kept.iter().enumerate() {
            let label = Label(u16::try_from(index).unwrap_or(u16::MAX));
            builder.write(label);
            if !is_kept {
                builder.blocks[index] = Draft {
                    steps: Vec::new(),
                    end: Some(Terminator::Jump(leave)),
                };
            }
        }
        builder.write(leave);
        builder.end(Terminator::Leave(why));
        builder
    }

    /// A space that is given with so many words at least. All of them are made before the first
    /// constant.
    pub fn space(&mut self, words_min: u64) -> SpaceId {
        self.add_space(Space::Given { words_min })
    }

    /// A space that is the same in each run.
    pub fn constants(&mut self, words: Arc<[u64]>) -> SpaceId {
        self.add_space(Space::Constant(words))
    }

    fn add_space(&mut self, space: Space) -> SpaceId {
        let id = SpaceId(u8::try_from(self.spaces.len()).unwrap_or(u8::MAX));
        self.is_full |= self.spaces.len() >= Program::SPACES_MAX;
        self.spaces.push(space);
        id
    }

    /// A register that is kept in this word of the state from record to record.
    pub fn carry(&mut self, word: u32) -> Register {
        let register = self.register();
        self.carried.push(Carried { register, word });
        register
    }

    /// A register of its own.
    pub const fn register(&mut self) -> Register {
        let register = Register(self.registers);
        match self.registers.checked_add(1) {
            Some(more) => self.registers = more,
            None => self.is_full = true,
        }
        register
    }

    /// A block to be written later.
    pub fn label(&mut self) -> Label {
        self.is_full |= self.blocks.len() >= Program::BLOCKS_MAX;
        let label = Label(u16::try_from(self.blocks.len()).unwrap_or(u16::MAX));
        self.blocks.push(Draft::default());
        label
    }

    /// Continues to write in this block, behind all that were written before.
    pub fn write(&mut self, label: Label) {
        self.order.push(label);
        self.current = Some(label);
    }

    /// Continues to write in a block of its own.
    fn write_next(&mut self, end: impl FnOnce(Label) -> Terminator) {
        let next = self.label();
        self.end(end(next));
        self.write(next);
    }

    /// Adds a step.
    pub fn step(&mut self, step: Instruction) {
        let draft = self
            .current
            .and_then(|label| self.blocks.get_mut(label.index()));
        if let Some(draft) = draft {
            draft.steps.push(step);
        }
    }

    /// Ends the block; what is written before the next [`Builder::write`] is left out.
    pub fn end(&mut self, end: Terminator) {
        let label = self.current.take();
        if let Some(draft) = label.and_then(|label| self.blocks.get_mut(label.index())) {
            draft.end = Some(end);
        }
    }

    /// Ends the block with a jump to another one.
    pub fn jump(&mut self, to: Label) {
        self.end(Terminator::Jump(to));
    }

    /// Ends the block with a branch to one of two.
    pub fn branch(
        &mut self,
        relation: Relation,
        left: Register,
        right: impl Into<Operand>,
        then: Label,
        otherwise: Label,
    ) {
        self.end(Terminator::If {
            relation,
            left,
            right: right.into(),
            then,
            otherwise,
        });
    }

    /// Continues only when the relation holds, and branches elsewhere otherwise.
    pub fn require(
        &mut self,
        relation: Relation,
        left: Register,
        right: impl Into<Operand>,
        otherwise: Label,
    ) {
        let right = right.into();
        self.write_next(|then| Terminator::If {
            relation,
            left,
            right,
            then,
            otherwise,
        });
    }

    /// Continues only when `bytes` bytes from `at` on end at `end` or before.
    pub fn require_bytes(&mut self, at: Register, bytes: u32, end: Register, otherwise: Label) {
        self.write_next(|then| Terminator::Within {
            at,
            bytes,
            end,
            then,
            otherwise,
        });
    }

    /// The place behind as many bytes from `at` on as a register says, when it is `end` or before.
    pub fn reach(
        &mut self,
        at: Register,
        bytes: Register,
        end: Register,
        otherwise: Label,
    ) -> Register {
        let to = self.register();
        self.write_next(|then| Terminator::Reach {
            to,
            at,
            bytes,
            end,
            then,
            otherwise,
        });
        to
    }

    /// Continues only when a space has `words` words from `at` on.
    pub fn require_words(&mut self, at: Register, words: u32, space: SpaceId, otherwise: Label) {
        self.write_next(|then| Terminator::WithinSpace {
            at,
            words,
            space,
            then,
            otherwise,
        });
    }

    /// A copy.
    pub fn copy(&mut self, from: impl Into<Operand>) -> Register {
        let to = self.register();
        self.set(to, from);
        to
    }

    /// Sets a register.
    pub fn set(&mut self, to: Register, from: impl Into<Operand>) {
        let from = from.into();
        self.step(Instruction::Set { to, from });
    }

    /// The result of an operation on two numbers.
    pub fn compute(
        &mut self,
        operation: Operation,
        left: Register,
        right: impl Into<Operand>,
    ) -> Register {
        let to = self.register();
        let right = right.into();
        self.step(Instruction::Compute {
            to,
            operation,
            left,
            right,
        });
        to
    }

    /// Changes a register to what is computed of it and another number.
    pub fn update(&mut self, operation: Operation, to: Register, right: impl Into<Operand>) {
        let right = right.into();
        self.step(Instruction::Compute {
            to,
            operation,
            left: to,
            right,
        });
    }

    /// One of two numbers.
    pub fn select(
        &mut self,
        (relation, left, right): (Relation, Register, impl Into<Operand>),
        then: impl Into<Operand>,
        otherwise: impl Into<Operand>,
    ) -> Register {
        let to = self.register();
        self.step(Instruction::Select {
            to,
            relation,
            left,
            right: right.into(),
            then: then.into(),
            otherwise: otherwise.into(),
        });
        to
    }

    /// A number of the window, whose most significant byte comes first.
    pub fn load(&mut self, at: Register, offset: u32, bytes: Bytes) -> Register {
        self.load_in_order(at, offset, bytes, false)
    }

    /// A number of the window, in either order of its bytes.
    pub fn load_in_order(
        &mut self,
        at: Register,
        offset: u32,
        bytes: Bytes,
        is_little: bool,
    ) -> Register {
        let to = self.register();
        self.step(Instruction::Load {
            to,
            at,
            offset,
            bytes,
            is_little,
        });
        to
    }

    /// A word of a space.
    pub fn read(&mut self, space: SpaceId, at: Option<Register>, offset: u32) -> Register {
        let to = self.register();
        self.step(Instruction::Read {
            to,
            space,
            at,
            offset,
        });
        to
    }

    /// Writes a word of a space.
    pub fn put(
        &mut self,
        from: impl Into<Operand>,
        space: SpaceId,
        at: Option<Register>,
        offset: u32,
    ) {
        let from = from.into();
        self.step(Instruction::Write {
            from,
            space,
            at,
            offset,
        });
    }

    /// The program, checked.
    ///
    /// # Errors
    /// The first [`Fault`] that was found: a program that was put together wrongly, or is too large.
    pub fn finish(mut self) -> Result<Program, Fault> {
        if self.is_full {
            return Err(Fault::TooLarge);
        }
        self.skip_empty();
        // Unreachable blocks are left out, and the others get their numbers in order.
        let mut is_reached = vec![false; self.blocks.len()];
        let mut numbers = vec![None; self.blocks.len()];
        let mut kept = 0_u16;
        for (index, label) in self.order.iter().enumerate() {
            if index > 0 && !is_reached[label.index()] {
                continue;
            }
            if numbers[label.index()].is_some() {
                return Err(Fault::Backwards);
            }
            numbers[label.index()] = Some(Label(kept));
            kept += 1;
            let end = self.blocks[label.index()].end.ok_or(Fault::Backwards)?;
            end.each(&mut |label| is_reached[label.index()] = true);
        }
        let mut blocks = Vec::with_capacity(usize::from(kept));
        for label in &self.order {
            if numbers[label.index()].is_none() {
                continue;
            }
            let draft = std::mem::take(&mut self.blocks[label.index()]);
            let end = draft.end.ok_or(Fault::Backwards)?;
            let end = end.map(&mut |label| numbers[label.index()]);
            blocks.push(Block {
                steps: draft.steps,
                end: end.ok_or(Fault::Backwards)?,
            });
        }
        Program::new(blocks, self.registers, self.carried, self.spaces)
    }

    /// Replaces labels of blocks that only jump elsewhere by their targets.
    fn skip_empty(&mut self) {
        let mut goes_on: Vec<Label> = (0..self.blocks.len())
            .filter_map(|index| u16::try_from(index).ok().map(Label))
            .collect();
        for label in self.order.iter().rev() {
            let draft = &self.blocks[label.index()];
            if let (true, Some(Terminator::Jump(to))) = (draft.steps.is_empty(), draft.end) {
                goes_on[label.index()] = goes_on[to.index()];
            }
        }
        for draft in &mut self.blocks {
            let end = draft.end.take();
            draft.end =
                end.and_then(|end| end.map(&mut |label| goes_on.get(label.index()).copied()));
        }
    }
}
