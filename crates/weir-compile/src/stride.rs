//! Programs whose records are all of one length, so that one test finds room for many of them.

use crate::program::{Instruction, Operand, Operation, Program, Register, Terminator};

/// The facts about a program that advances by the same number of bytes at every [`Terminator::Next`].
pub(crate) struct Stride {
    /// The number of bytes.
    pub(crate) bytes: u32,
    /// Whether each block ends with a test of bytes in the window that cannot fail where so many bytes follow the beginning of the
    /// record.
    pub(crate) holds: Vec<bool>,
}

/// The distance of each register from the beginning of the record, in bytes; `None` where it is unknown, or not always the same.
type Distances = Vec<Option<u32>>;

impl Stride {
    /// The stride of a program; `None` for one whose records differ in length, or without tests that follow from it.
    ///
    /// A test that [`Stride::holds`] names may be left out where `n` strides follow the first of `n` records: `check` ensures
    /// that the record begins within the window at every [`Terminator::Next`], and here each one is `bytes` behind the one before. So
    /// the record with the number `i`, from 0 on, has `(n - i) * bytes` bytes behind its beginning, which are `bytes` at least; and the
    /// test requires bytes that end at `bytes` behind its beginning or before.
    pub(crate) fn of(program: &Program) -> Option<Self> {
        let mut entries: Vec<Option<Distances>> = vec![None; program.blocks.len()];
        let mut first = vec![None; usize::from(program.registers)];
        first[Register::AT.index()] = Some(0);
        entries[0] = Some(first);
        let mut stride = None;
        let mut needed = Vec::with_capacity(program.blocks.len());
        for (number, block) in program.blocks.iter().enumerate() {
            let mut distances = entries[number].take()?;
            block
                .steps
                .iter()
                .for_each(|step| follow(step, &mut distances));
            needed.push(match block.end {
                Terminator::Within { at, bytes, end, .. } if end == Register::WINDOW_LEN => {
                    distances[at.index()].and_then(|distance| distance.checked_add(bytes))
                }
                _ => None,
            });
            match block.end {
                Terminator::Next => {
                    let here = distances[Register::AT.index()]?;
                    if *stride.get_or_insert(here) != here {
                        return None;
                    }
                }
                // The position differs on the two paths, so its distance is unknown.
                Terminator::Reach { to, .. } => distances[to.index()] = None,
                _ => {}
            }
            block
                .end
                .each(&mut |label| meet(&mut entries[label.index()], &distances));
        }
        let bytes = stride.filter(|bytes| *bytes > 0)?;
        let holds = needed
            .iter()
            .map(|needed| needed.is_some_and(|needed| needed <= bytes));
        let holds: Vec<bool> = holds.collect();
        holds.contains(&true).then_some(Self { bytes, holds })
    }
}

fn follow(step: &Instruction, distances: &mut Distances) {
    let (to, distance) = match *step {
        Instruction::Set {
            to,
            from: Operand::Register(from),
        } => (to, distances[from.index()]),
        Instruction::Compute {
            to,
            operation: Operation::Add,
            left,
            right: Operand::Constant(more),
        } => {
            let more = u32::try_from(more).ok();
            let sum = distances[left.index()].zip(more);
            (
                to,
                sum.and_then(|(distance, more)| distance.checked_add(more)),
            )
        }
        Instruction::Set { to, .. }
        | Instruction::Compute { to, .. }
        | Instruction::Select { to, .. }
        | Instruction::Load { to, .. }
        | Instruction::Read { to, .. } => (to, None),
        Instruction::Write { .. } => return,
    };
    distances[to.index()] = distance;
}

/// Keeps the distances that are the same on every path to a block.
fn meet(entry: &mut Option<Distances>, distances: &Distances) {
    match entry {
        None => *entry = Some(distances.clone()),
        Some(entry) => {
            for (ours, theirs) in entry.iter_mut().zip(distances) {
                *ours = (*ours).filter(|_| *ours == *theirs);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Builder, Bytes, Relation};

    /// A program that begins with a test of `room` bytes, of which `more` writes the rest, up to a record of 8.
    fn program(room: u32, more: impl FnOnce(&mut Builder, crate::Label)) -> Program {
        let mut b = Builder::new(2);
        let leave = b.label();
        b.require_bytes(Register::AT, room, Register::WINDOW_LEN, leave);
        more(&mut b, leave);
        let end = b.compute(Operation::Add, Register::AT, 8);
        b.set(Register::AT, end);
        b.end(Terminator::Next);
        b.write(leave);
        b.end(Terminator::Leave(0));
        b.finish().unwrap()
    }

    fn held(program: &Program) -> Option<usize> {
        let stride = Stride::of(program)?;
        assert_eq!(stride.bytes, 8);
        Some(stride.holds.iter().filter(|holds| **holds).count())
    }

    #[test]
    fn tests_hold_that_follow_from_the_length_of_records() {
        assert_eq!(held(&program(8, |_, _| {})), Some(1));
        // The position follows the first bytes, within the record.
        let inner = |bytes| {
            program(8, move |b, leave| {
                let at = b.compute(Operation::Add, Register::AT, 3);
                b.require_bytes(at, bytes, Register::WINDOW_LEN, leave);
            })
        };
        assert_eq!(held(&inner(5)), Some(2));
        assert_eq!(held(&inner(6)), Some(1));
        // A place that hangs on a number of the record, or that two ways set differently.
        let at_a_number = program(8, |b, leave| {
            let len = b.load(Register::AT, 0, Bytes::One);
            let at = b.compute(Operation::Add, Register::AT, len);
            b.require_bytes(at, 1, Register::WINDOW_LEN, leave);
        });
        assert_eq!(held(&at_a_number), Some(1));
        let at_two = program(8, |b, leave| {
            let at = b.copy(Register::AT);
            let (one, both) = (b.label(), b.label());
            let kind = b.load(Register::AT, 0, Bytes::One);
            b.branch(Relation::Equal, kind, 1, one, both);
            b.write(one);
            let further = b.compute(Operation::Add, Register::AT, 1);
            b.set(at, further);
            b.jump(both);
            b.write(both);
            b.require_bytes(at, 1, Register::WINDOW_LEN, leave);
        });
        assert_eq!(held(&at_two), Some(1));
        // Another end than the window's.
        let to_an_end = program(8, |b, leave| {
            let end = b.compute(Operation::Add, Register::AT, 4);
            b.require_bytes(Register::AT, 2, end, leave);
        });
        assert_eq!(held(&to_an_end), Some(1));
    }

    #[test]
    fn records_that_differ_in_length_have_no_stride() {
        let by_kind = program(9, |b, _| {
            let other = b.label();
            let kind = b.load(Register::AT, 0, Bytes::One);
            b.require(Relation::Equal, kind, 1, other);
            let end = b.compute(Operation::Add, Register::AT, 9);
            b.set(Register::AT, end);
            b.end(Terminator::Next);
            b.write(other);
        });
        assert_eq!(held(&by_kind), None);
        let by_number = program(8, |b, leave| {
            let len = b.load(Register::AT, 0, Bytes::One);
            let end = b.reach(Register::AT, len, Register::WINDOW_LEN, leave);
            b.set(Register::AT, end);
            b.end(Terminator::Next);
            let unreached = b.label();
            b.write(unreached);
        });
        assert_eq!(held(&by_number), None);
        // The test is of no record's length.
        assert_eq!(held(&program(9, |_, _| {})), None);
    }
}
