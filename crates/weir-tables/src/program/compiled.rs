//! The compiled programs of this process, which the parts and files of a statement share, and repeated statements.
//!
//! A program does not depend on where its records lie, so each thread, each file and each piece that a cluster's
//! executor reads would compile the same code. Compiling takes milliseconds, in which some ten megabytes are read.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_compile::{CompileError, Program, Runner};

use super::lower::LEAVE_RARE;

/// The compiled blocks of a program.
#[derive(Clone, Debug)]
pub(super) struct Compiled {
    /// True for each block of the whole program that was compiled.
    pub(super) visited: Arc<[bool]>,
    pub(super) runner: Arc<Runner>,
}

impl Compiled {
    /// Returns whether it has all the blocks that these records have entered.
    fn has(&self, visited: &[bool]) -> bool {
        let mut both = self.visited.iter().zip(visited);
        self.visited.len() == visited.len() && both.all(|(own, wanted)| *own || !wanted)
    }
}

/// A whole program, and its latest compilation.
struct Slot {
    whole: Program,
    compiled: Mutex<Option<Compiled>>,
}

/// The slots, with the least recently used one first.
static SLOTS: Mutex<Vec<Arc<Slot>>> = Mutex::new(Vec::new());

/// The number of programs that are stored.
const SLOTS_MAX: usize = 32;
/// The maximum number of words of the constants of a cached program: more are those of long lists, whose copies would
/// be large.
const CONSTANT_WORDS_MAX: usize = 4096;

/// The latest compilation of this program.
pub(super) fn latest(whole: &Program) -> Option<Compiled> {
    let slot = slot(whole, false)?;
    let compiled = locked(&slot.compiled);
    compiled.clone()
}

/// Returns the blocks that records entered, compiled now or by another thread before.
pub(super) fn compiled(whole: &Program, visited: &[bool]) -> Result<Compiled, CompileError> {
    let Some(slot) = slot(whole, true) else {
        return compile(whole, visited);
    };
    // Another thread that needs the same program waits here, instead of compiling it, too.
    let mut latest = locked(&slot.compiled);
    if let Some(found) = latest.as_ref().filter(|it| it.has(visited)) {
        return Ok(found.clone());
    }
    let made = compile(whole, visited)?;
    *latest = Some(made.clone());
    Ok(made)
}

fn compile(whole: &Program, visited: &[bool]) -> Result<Compiled, CompileError> {
    let program = whole.narrowed(visited, LEAVE_RARE);
    let mut runner = Runner::interpreted(program.map_err(CompileError::new)?);
    runner.compile()?;
    Ok(Compiled {
        visited: visited.into(),
        runner: Arc::new(runner),
    })
}

/// Returns the slot of a program, which is created if it is wanted and does not exist.
fn slot(whole: &Program, is_wanted: bool) -> Option<Arc<Slot>> {
    if whole.constant_words() > CONSTANT_WORDS_MAX {
        return None;
    }
    let mut slots = locked(&SLOTS);
    if let Some(place) = slots.iter().rposition(|slot| slot.whole == *whole) {
        let slot = slots.remove(place);
        slots.push(Arc::clone(&slot));
        return Some(slot);
    }
    if !is_wanted {
        return None;
    }
    if slots.len() >= SLOTS_MAX {
        slots.remove(0);
    }
    let slot = Arc::new(Slot {
        whole: whole.clone(),
        compiled: Mutex::new(None),
    });
    slots.push(Arc::clone(&slot));
    Some(slot)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use weir_compile::{Builder, Bytes, Operation, Register, Relation, Terminator};

    use super::*;

    /// The records have one byte; those that are `rare` enter another block.
    fn program(rare: u64) -> Program {
        let mut b = Builder::new(3);
        let (count, cut) = (b.carry(2), b.label());
        b.require_bytes(Register::AT, 1, Register::WINDOW_LEN, cut);
        let byte = b.load(Register::AT, 0, Bytes::One);
        let is_rare = b.label();
        b.require(Relation::NotEqual, byte, rare, is_rare);
        let next = b.compute(Operation::Add, Register::AT, 1);
        b.update(Operation::Add, count, 1);
        b.set(Register::AT, next);
        b.end(Terminator::Next);
        b.write(is_rare);
        let next = b.compute(Operation::Add, Register::AT, 1);
        b.update(Operation::Add, count, 100);
        b.set(Register::AT, next);
        b.end(Terminator::Next);
        b.write(cut);
        b.end(Terminator::Leave(1));
        b.finish().unwrap()
    }

    fn visited(program: &Program, window: &[u8]) -> Vec<bool> {
        let mut visited = vec![false; program.blocks()];
        let runner = Runner::interpreted(program.clone());
        runner.sample(window, 0, 100, &mut [&mut [0; 3]], &mut visited);
        visited
    }

    #[test]
    fn records_that_go_the_same_ways_share_code() {
        let whole = program(7);
        let (few, all) = (visited(&whole, &[1, 2]), visited(&whole, &[1, 7]));
        assert!(latest(&whole).is_none());
        let first = compiled(&whole, &few).unwrap();
        // The same statement writes its program anew.
        let again = compiled(&program(7), &few).unwrap();
        assert!(Arc::ptr_eq(&first.runner, &again.runner));
        assert!(Arc::ptr_eq(&first.runner, &latest(&whole).unwrap().runner));
        // Records that enter more blocks need more code, which then serves both.
        let wider = compiled(&whole, &all).unwrap();
        assert!(!Arc::ptr_eq(&first.runner, &wider.runner));
        let narrow = compiled(&whole, &few).unwrap();
        assert!(Arc::ptr_eq(&wider.runner, &narrow.runner));
        // Another program has code of its own.
        let other = compiled(&program(9), &few).unwrap();
        assert!(!Arc::ptr_eq(&other.runner, &narrow.runner));
        let mut state = [0; 3];
        let run = wider.runner.run(&[1, 7, 9], 0, 100, &mut [&mut state]);
        assert_eq!((run.records, state[2]), (3, 102));
        let mut state = [0; 3];
        other.runner.run(&[1, 7], 0, 100, &mut [&mut state]);
        assert_eq!(state[2], 2);
    }

    #[test]
    fn no_more_programs_are_kept_than_there_are_slots() {
        for rare in 1000..1000 + 2 * SLOTS_MAX as u64 {
            let whole = program(rare);
            compiled(&whole, &visited(&whole, &[1])).unwrap();
        }
        assert!(locked(&SLOTS).len() <= SLOTS_MAX);
        assert!(latest(&program(1000)).is_none());
    }
}
