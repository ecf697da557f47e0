//! Programs without the blocks that a sample of records did not visit.

use crate::builder::Builder;
use crate::check::Fault;
use crate::program::{Block, Instruction, Program, Register, Terminator};

impl Program {
    /// The program for records that go the ways of a sample, whose blocks are those that were `visited`. Where a
    /// record goes another way, the run ends with the number `why` and the record untouched; but for what
    /// lies behind the first change, which has to be done to its end.
    ///
    /// # Errors
    /// None for a program and a number below [`Terminator::LEAVE_MAX`].
    pub fn narrowed(&self, visited: &[bool], why: u8) -> Result<Self, Fault> {
        let is_visited = |index: usize| visited.get(index).copied().unwrap_or(true);
        let mut has_changed = vec![false; self.blocks.len()];
        for (index, block) in self.blocks.iter().enumerate() {
            let changes = has_changed[index] || self.changes(block);
            block.end.each(&mut |label| {
                if let Some(has_changed) = has_changed.get_mut(label.index()) {
                    *has_changed |= changes;
                }
            });
        }
        let is_kept = |index: usize| {
            let is_end = self.blocks[index].steps.is_empty()
                && matches!(self.blocks[index].end, Terminator::Leave(_));
            is_visited(index) || has_changed[index] || is_end || index == 0
        };
        let kept: Vec<bool> = (0..self.blocks.len()).map(is_kept).collect();
        Builder::narrowed(self, &kept, why).finish()
    }

    /// Whether a block has effects beyond the current record.
    fn changes(&self, block: &Block) -> bool {
        let is_kept = |register: Register| {
            register == Register::AT
                || self
                    .carried
                    .iter()
                    .any(|carried| carried.register == register)
        };
        let by_steps = block.steps.iter().any(|step| match *step {
            Instruction::Write { .. } => true,
            Instruction::Set { to, .. }
            | Instruction::Compute { to, .. }
            | Instruction::Select { to, .. }
            | Instruction::Load { to, .. }
            | Instruction::Read { to, .. } => is_kept(to),
        });
        by_steps || matches!(block.end, Terminator::Reach { to, .. } if is_kept(to))
    }
}
